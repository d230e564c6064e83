//! Where an experiment's packed samples are.

use experiment::Samples;
use experiment::rows::Sample;

/// The extent of a frame of packed samples.
#[derive(Clone, Copy, Debug)]
pub(super) struct FrameOfSamples {
    pub(super) frame: usize,
    pub(super) first: u64,
    pub(super) last: u64,
    pub(super) count: u64,
}

/// The extents of an experiment's frames of samples.
pub(super) fn frames(samples: &Samples) -> Vec<FrameOfSamples> {
    let mut frames = Vec::with_capacity(samples.frames());
    let range = |rows: &[Sample]| {
        let times = || rows.iter().map(|sample| sample.time.0);
        Some((times().min()?, times().max()?, rows.len() as u64))
    };
    samples.in_order(range, |frame, found| {
        frames.extend(found.map(|(first, last, count)| FrameOfSamples {
            frame,
            first,
            last,
            count,
        }));
    });
    frames
}
