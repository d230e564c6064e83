//! Nanoseconds per frame, for recorded stacks of real programs, one "name value" per line:
//! `cargo bench -p unwinder`.
//!
//! "Warm" is the case of a profile: the same call sites many times. "Stepped" has every
//! instruction of the program as its leaf, so that the rule cache misses at each leaf.

#[path = "../tests/capture/mod.rs"]
mod capture;

use std::hint::black_box;
use std::time::Instant;

use capture::{Recording, Sample, record};
use unwinder::UnwindCache;

const ROUNDS: usize = 7;

fn main() {
    for (shape, what) in [
        ("shallow", "recursion, 45 frames deep"),
        ("realigned", "realigned frames"),
        ("qsort", "qsort with a callback"),
    ] {
        let recording = record("-O2", shape);
        let stepped: Vec<&Sample> = recording.within().collect();
        let repeated: Vec<&Sample> = stepped.iter().step_by(97).copied().collect();
        let (warm, frames) = nanos_a_frame(&recording, &repeated, 100);
        let (cold, _) = nanos_a_frame(&recording, &stepped, 1);
        println!("{what}, {frames:.0} frames a stack, warm {warm:.1}");
        println!("{what}, {frames:.0} frames a stack, stepped {cold:.1}");
    }
}

/// The median over the rounds of the time a frame, and the mean depth.
fn nanos_a_frame(recording: &Recording, samples: &[&Sample], repeats: usize) -> (f64, f64) {
    let mut cache = UnwindCache::new();
    let mut frames = Vec::with_capacity(256);
    let mut times = Vec::new();
    let mut depth = 0.0;
    for _ in 0..ROUNDS {
        let mut count = 0;
        let start = Instant::now();
        for _ in 0..repeats {
            for sample in samples {
                frames.clear();
                let ending =
                    recording
                        .space
                        .unwind(&mut cache, &sample.regs, &sample.bytes(), &mut frames);
                black_box(ending);
                count += frames.len();
            }
        }
        times.push(start.elapsed().as_nanos() as f64 / count as f64);
        depth = count as f64 / (repeats * samples.len()) as f64;
    }
    times.sort_by(f64::total_cmp);
    (times[ROUNDS / 2], depth)
}
