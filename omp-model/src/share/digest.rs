//! The samples of one frame by thread and slice of time: what can be made of each frame by itself,
//! on any CPU.

use crate::ids::{StackId, TagId, ThreadId};
use crate::rows::{SLICE, SampleKind, Sight};
use crate::state::Presence;

/// A frame's samples.
#[derive(Debug, Default)]
pub(super) struct Digest {
    /// Stretches of [`Digest::keys`].
    pub(super) runs: Vec<Run>,
    /// Clock samples ([`key`]), in the order of time.
    pub(super) keys: Vec<u64>,
    /// Samples at switches, one by one: what each stands for hangs on when it was taken.
    pub(super) switches: Vec<Sight>,
}

/// Samples of one thread in one slice of time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Run {
    pub(super) thread: ThreadId,
    pub(super) slice: u32,
    /// Of its keys; they begin at the end of the run before.
    pub(super) end: usize,
}

/// State, stack and whether the clock fired in the kernel, as one number that sorts as they do. A
/// table of 2^31 tags does not fit any memory: the highest bit of a tag's number is free.
pub(super) const fn key(tag: TagId, stack: StackId, kernel: bool) -> u64 {
    (tag.0 as u64) << 33 | (stack.0 as u64) << 1 | kernel as u64
}

pub(super) const fn tag(key: u64) -> TagId {
    TagId((key >> 33) as u32)
}

/// State and kernel.
pub(super) const fn state(key: u64) -> u32 {
    (key >> 33 << 1) as u32 | (key & 1) as u32
}

pub(super) const fn stack(key: u64) -> StackId {
    StackId((key >> 1) as u32)
}

pub(super) const fn kernel(key: u64) -> bool {
    key & 1 != 0
}

impl Digest {
    pub(super) fn of(samples: &[Sight]) -> Digest {
        Digest::with(samples, |sample| {
            let kernel = sample.kind == SampleKind::Kernel;
            key(sample.tag, sample.stack, kernel)
        })
    }

    /// As if all of them had one stack.
    pub(super) fn of_states(samples: &[Sight]) -> Digest {
        let mut digest = Digest::with(samples, |sample| key(sample.tag, StackId::EMPTY, false));
        for sample in &mut digest.switches {
            sample.stack = StackId::EMPTY;
        }
        digest
    }

    fn with(samples: &[Sight], key: impl Fn(&Sight) -> u64) -> Digest {
        let mut digest = Digest {
            keys: Vec::with_capacity(samples.len()),
            ..Digest::default()
        };
        let mut rest = samples;
        while let Some(first) = rest.first() {
            let slice = first.time.0 / SLICE.0;
            let times = slice * SLICE.0..(slice + 1).saturating_mul(SLICE.0);
            let same =
                |sample: &Sight| sample.thread == first.thread && times.contains(&sample.time.0);
            let end = rest.iter().position(|sample| !same(sample));
            let (run, others) = rest.split_at(end.unwrap_or(rest.len()));
            rest = others;
            let before = digest.keys.len();
            for sample in run {
                match sample.kind.presence() {
                    Presence::Running => digest.keys.push(key(sample)),
                    _ => digest.switches.push(*sample),
                }
            }
            if digest.keys.len() > before {
                digest.runs.push(Run {
                    thread: first.thread,
                    slice: slice as u32,
                    end: digest.keys.len(),
                });
            }
        }
        digest
    }
}
