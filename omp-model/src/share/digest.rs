//! The samples of one frame, counted: what can be made of each frame by itself, on any CPU.

use crate::ids::{StackId, TagId, ThreadId};
use crate::rows::{SLICE, Sample, SampleKind};
use crate::state::Presence;

/// A frame's samples.
#[derive(Debug, Default)]
pub(super) struct Digest {
    /// Stretches of [`Digest::counts`].
    pub(super) runs: Vec<Run>,
    /// Clock samples; those of each run are sorted and distinct.
    pub(super) counts: Vec<Count>,
    /// Samples at switches, one by one: what each stands for hangs on when it was taken.
    pub(super) switches: Vec<Sample>,
}

/// Counts of one thread in one slice of time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Run {
    pub(super) thread: ThreadId,
    pub(super) slice: u32,
    /// Of its counts; they begin at the end of the run before.
    pub(super) end: usize,
}

/// Clock samples in one state at one stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Count {
    /// State, stack and whether the clock fired in the kernel, as one number that sorts as they do.
    pub(super) key: u64,
    pub(super) count: u32,
}

impl Count {
    /// A table of 2^31 tags does not fit any memory: the highest bit of a tag's number is free.
    const fn key(tag: TagId, stack: StackId, kernel: bool) -> u64 {
        (tag.0 as u64) << 33 | (stack.0 as u64) << 1 | kernel as u64
    }

    pub(super) const fn tag(self) -> TagId {
        TagId((self.key >> 33) as u32)
    }

    pub(super) const fn stack(self) -> StackId {
        StackId((self.key >> 1) as u32)
    }

    pub(super) const fn kernel(self) -> bool {
        self.key & 1 != 0
    }
}

impl Digest {
    pub(super) fn of(samples: &[Sample]) -> Digest {
        let mut digest = Digest::default();
        let mut keys: Vec<u64> = Vec::new();
        let slice = |sample: &Sample| sample.time.0 / SLICE.0;
        let same =
            |one: &Sample, other: &Sample| one.thread == other.thread && slice(one) == slice(other);
        for run in samples.chunk_by(same) {
            keys.clear();
            for sample in run {
                match sample.kind.presence() {
                    Presence::Running => {
                        let kernel = sample.kind == SampleKind::Kernel;
                        keys.push(Count::key(sample.tag, sample.stack, kernel));
                    }
                    Presence::Preempted | Presence::Blocked => digest.switches.push(*sample),
                }
            }
            if keys.is_empty() {
                continue;
            }
            keys.sort_unstable();
            let counts = keys.chunk_by(|one, other| one == other).map(|alike| Count {
                key: alike[0],
                count: alike.len() as u32,
            });
            digest.counts.extend(counts);
            digest.runs.push(Run {
                thread: run[0].thread,
                slice: slice(&run[0]) as u32,
                end: digest.counts.len(),
            });
        }
        digest
    }
}
