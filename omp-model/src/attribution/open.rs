//! A slice of time while samples may still fall into it.

use std::collections::BTreeMap;
use std::ops::Range;

use experiment::ids::{StackId, ThreadId, ThreadStateId};
use experiment::rows::{SLICE, Sample, SampleKind};
use experiment::state::Scheduling;
use rustc_hash::FxHashMap;

use super::group::{Group, Sampled, Slept};

/// A clock sample of a thread in a slice: thread state, stack and whether the clock fired in the
/// kernel, as one number that sorts as they do. A table of 2^31 thread states does not fit any
/// memory: the highest bit of a thread state's number is free.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ClockSample(u64);

impl ClockSample {
    fn of(sample: &Sample) -> ClockSample {
        let kernel = sample.kind == SampleKind::Kernel;
        let (thread_state, stack) = (u64::from(sample.thread_state.0), u64::from(sample.stack.0));
        ClockSample(thread_state << 33 | stack << 1 | u64::from(kernel))
    }

    const fn thread_state(self) -> ThreadStateId {
        ThreadStateId((self.0 >> 33) as u32)
    }

    /// So many that are alike.
    const fn times(self, count: u32) -> Sampled {
        Sampled::plain(StackId((self.0 >> 1) as u32), self.0 & 1 != 0, count)
    }
}

/// The samples of one frame.
pub(super) struct Sorted {
    /// Clock samples by thread and slice, each list sorted.
    pub(super) clock: Vec<(ThreadId, u32, Vec<ClockSample>)>,
    /// Samples at switches, in their order: what each stands for hangs on when it was taken.
    pub(super) switches: Vec<Sample>,
}

/// Sorts a frame's samples, on any CPU.
pub(super) fn sort(samples: &[Sample]) -> Sorted {
    let slice = |sample: &Sample| (sample.time.0 / SLICE.0) as u32;
    let mut sorted = Sorted {
        clock: Vec::new(),
        switches: Vec::new(),
    };
    for run in
        samples.chunk_by(|one, other| (one.thread, slice(one)) == (other.thread, slice(other)))
    {
        let mut clock = Vec::with_capacity(run.len());
        for sample in run {
            match sample.kind.scheduling() {
                Scheduling::Running => clock.push(ClockSample::of(sample)),
                _ => sorted.switches.push(*sample),
            }
        }
        clock.sort_unstable();
        sorted.clock.push((run[0].thread, slice(&run[0]), clock));
    }
    sorted
}

/// A slice that samples may still fall into.
#[derive(Default)]
pub(super) struct Open {
    clock: BTreeMap<ThreadId, Vec<ClockSample>>,
    /// Samples at switches, and the sleeps that they began.
    switches: FxHashMap<(Group, StackId), Sampled>,
}

impl Open {
    /// Adds clock samples of a thread.
    pub(super) fn add_clock(&mut self, thread: ThreadId, samples: Vec<ClockSample>) {
        self.clock.entry(thread).or_default().extend(samples);
    }

    /// Adds a sample at a switch, and the part of a sleep that it stands for, if that is known.
    pub(super) fn add_switch(&mut self, group: Group, stack: StackId, slept: Option<Slept>) {
        let sampled = self.switches.entry((group, stack));
        let sampled = sampled.or_insert(Sampled::plain(stack, false, 0));
        sampled.add(slept);
    }

    /// Its samples by group.
    pub(super) fn groups(self, slice: u32) -> Groups {
        let mut groups = Groups::default();
        for (thread, mut clock) in self.clock {
            // What each frame gave is sorted.
            clock.sort();
            for of_state in clock.chunk_by(|one, other| one.thread_state() == other.thread_state())
            {
                let group = Group {
                    thread,
                    thread_state: of_state[0].thread_state(),
                    slice,
                    scheduling: Scheduling::Running,
                };
                let alike = of_state.chunk_by(|one, other| one == other);
                let sampled = alike.map(|alike| alike[0].times(alike.len() as u32));
                groups.add(group, sampled);
            }
        }
        let mut switches: Vec<_> = self.switches.into_iter().collect();
        switches.sort_unstable_by_key(|&(key, _)| key);
        for of_group in switches.chunk_by(|one, other| one.0.0 == other.0.0) {
            let ((group, _), _) = of_group[0];
            let sampled = of_group.iter().map(|&(_, sampled)| sampled);
            groups.add(Group { slice, ..group }, sampled);
        }
        groups.ranges.sort_by_key(|&(group, _)| group);
        groups
    }
}

/// The groups of a slice that have samples, in their order.
#[derive(Default)]
pub(super) struct Groups {
    ranges: Vec<(Group, Range<usize>)>,
    /// Those of each group in the order of stacks.
    pub(super) sampled: Vec<Sampled>,
}

impl Groups {
    fn add(&mut self, group: Group, sampled: impl Iterator<Item = Sampled>) {
        let start = self.sampled.len();
        self.sampled.extend(sampled);
        self.ranges.push((group, start..self.sampled.len()));
    }

    pub(super) fn each(&self) -> impl Iterator<Item = (Group, &[Sampled])> {
        let ranges = self.ranges.iter();
        ranges.map(|(group, range)| (*group, &self.sampled[range.clone()]))
    }
}
