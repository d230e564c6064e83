//! The keys of attribution: groups of time, and the samples that fell into them.

use experiment::ids::{Nanos, StackId, ThreadId, ThreadStateId};
use experiment::rows::{LONG, SLICE, Sample};
use experiment::state::Scheduling;
use experiment::tables::{Tables, ThreadKind, ThreadState};

/// Time of one thread in one thread state within a slice, on or off the CPU: what a sum measures
/// and what samples fall into.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Group {
    pub(super) thread: ThreadId,
    pub(super) thread_state: ThreadStateId,
    pub(super) slice: u32,
    pub(super) scheduling: Scheduling,
}

impl Group {
    /// The group that a sample falls into by itself.
    pub(super) fn of(sample: &Sample) -> Group {
        Group {
            thread: sample.thread,
            thread_state: sample.thread_state,
            slice: (sample.time.0 / SLICE.0) as u32,
            scheduling: sample.kind.scheduling(),
        }
    }
}

/// A part of a sleep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Slept {
    /// How long the whole sleep was.
    pub(super) length: Length,
    pub(super) nanos: u64,
}

/// How long a sleep was: shorter than [`LONG`], up to four times that, up to 16 times, and so on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Length(usize);

/// Nanoseconds by the length of the sleeps that they are of.
pub(super) type ByLength = [u64; Length::ALL];

impl Length {
    const ALL: usize = 6;

    pub(super) fn of(length: Nanos) -> Length {
        let times = length.0 / LONG.0;
        let fours = times.checked_ilog(4).map_or(0, |fours| fours as usize + 1);
        Length(fours.min(Self::ALL - 1))
    }

    pub(super) const fn index(self) -> usize {
        self.0
    }
}

/// Samples of one group with one stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Sampled {
    pub(super) stack: StackId,
    /// Whether the clock fired in the kernel.
    pub(super) kernel: bool,
    pub(super) count: u32,
    /// Samples that stand for no time of known length.
    pub(super) plain: u32,
    /// Nanoseconds of the sleeps that the others began.
    pub(super) slept: ByLength,
}

impl Sampled {
    /// So many samples that stand for no time of known length.
    pub(super) const fn plain(stack: StackId, kernel: bool, count: u32) -> Sampled {
        Sampled {
            stack,
            kernel,
            count,
            plain: count,
            slept: [0; Length::ALL],
        }
    }

    /// Adds a sample, and the part of a sleep that it stands for, if that is known.
    pub(super) fn add(&mut self, slept: Option<Slept>) {
        self.count += 1;
        match slept {
            None => self.plain += 1,
            Some(Slept { length, nanos }) => self.slept[length.index()] += nanos,
        }
    }

    /// Whether it has samples that began long sleeps.
    pub(super) fn has_long(&self) -> bool {
        self.slept[1..].iter().any(|&nanos| nanos > 0)
    }
}

pub(super) fn kind_of(tables: &Tables, thread: ThreadId) -> ThreadKind {
    tables
        .threads
        .get(thread.index())
        .map_or(ThreadKind::Outside, |row| row.kind)
}

pub(super) fn thread_state_of(tables: &Tables, thread_state: ThreadStateId) -> ThreadState {
    *tables
        .thread_states
        .get(thread_state.0)
        .unwrap_or(&tables.thread_states.rows()[0])
}
