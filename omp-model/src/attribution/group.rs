//! The keys of attribution: groups of time, and the samples that fell into them.

use experiment::ids::{StackId, ThreadId, ThreadStateId};
use experiment::rows::{SLICE, Sample};
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

/// What a sample at a switch stands for, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Slept {
    /// Not known.
    Unknown,
    /// A part of a short sleep.
    Brief(u64),
    /// A part of a long one.
    Long(u64),
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
    /// Nanoseconds of the short sleeps that the others began.
    pub(super) brief: u64,
    /// Nanoseconds of the long ones.
    pub(super) long: u64,
}

impl Sampled {
    /// So many samples that stand for no time of known length.
    pub(super) const fn plain(stack: StackId, kernel: bool, count: u32) -> Sampled {
        Sampled {
            stack,
            kernel,
            count,
            plain: count,
            brief: 0,
            long: 0,
        }
    }

    /// Adds a sample.
    pub(super) fn add(&mut self, slept: Slept) {
        self.count += 1;
        match slept {
            Slept::Unknown => self.plain += 1,
            Slept::Brief(nanos) => self.brief += nanos,
            Slept::Long(nanos) => self.long += nanos,
        }
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
