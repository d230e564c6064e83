//! The experiment on disk: what is written is read back, and damage is reported and survived.
#![allow(clippy::unwrap_used)]

mod bounds;
mod damage;
mod growing;
mod refusals;
mod replace;
mod samples;
mod union;
mod values;

use std::fs;
use std::path::Path;

use experiment::TICK;
use experiment::ids::Nanos;
use experiment::rows::Sample;

fn ticked(time: Nanos, tick: Nanos) -> Nanos {
    Nanos(time.0 / tick.0 * tick.0)
}

/// As the samples come back: whole ticks, grouped by thread within each batch.
fn stored(batches: &[Vec<Sample>]) -> Vec<Sample> {
    stored_by(TICK, batches)
}

fn stored_by(tick: Nanos, batches: &[Vec<Sample>]) -> Vec<Sample> {
    let mut all = Vec::new();
    for batch in batches {
        let mut batch = batch.clone();
        batch.sort_by_key(|sample| sample.thread);
        for sample in &mut batch {
            sample.time = ticked(sample.time, tick);
        }
        all.extend(batch);
    }
    all
}

/// A new file each time: some file systems wait for the disk when an old one is overwritten.
fn replace(path: &Path, bytes: &[u8]) {
    fs::remove_file(path).unwrap();
    fs::write(path, bytes).unwrap();
}

/// A byte in the payload of the frame that holds the middle of the file: damage to it is damage
/// wherever frames begin, and does not make one longer than the file.
fn inside_a_payload(bytes: &[u8]) -> usize {
    let mut at = 16;
    loop {
        let mark = &bytes[at..at + 10];
        let length = u32::from_le_bytes([mark[2], mark[3], mark[4], mark[5]]) as usize;
        let end = at + 10 + length;
        if end > bytes.len() / 2 && length > 0 {
            return at + 10 + length / 2;
        }
        at = end;
    }
}
