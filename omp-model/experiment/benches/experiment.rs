//! How fast an experiment is opened (read, checked, unpacked once) and its samples are iterated.
#![allow(clippy::unwrap_used)]

use std::hint::black_box;
use std::time::Instant;

use experiment::Experiment;
use test_support::{Recording, TempExperiment};

fn main() {
    let folder = TempExperiment::new("bench");
    let recording = Recording::generate(1, 600);
    let bytes = recording.write(&folder.path, true);
    let mut best = [f64::MAX; 2];
    let mut samples = 0;
    for _ in 0..5 {
        let start = Instant::now();
        let read = Experiment::open(&folder.path).unwrap();
        best[0] = best[0].min(start.elapsed().as_secs_f64());
        let start = Instant::now();
        let sum = read
            .samples
            .iter()
            .map(|sample| sample.time.0 ^ u64::from(sample.stack.0))
            .fold(0, u64::wrapping_add);
        black_box(sum);
        best[1] = best[1].min(start.elapsed().as_secs_f64());
        samples = read.samples.len();
    }
    let rate = |seconds: f64| samples as f64 / seconds / 1e6;
    println!(
        "{samples} samples, {:.2} bytes each all told; million samples a second: opened {:.1}, iterated {:.1}",
        bytes as f64 / samples as f64,
        rate(best[0]),
        rate(best[1]),
    );
}
