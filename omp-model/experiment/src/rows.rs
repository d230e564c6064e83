//! The rows of a recording: samples, sums of time, listed intervals, and counts of what was lost.

use crate::ids::{ContextId, Nanos, StackId, ThreadId, ThreadStateId};
use crate::numbered::numbered;
use crate::state::Scheduling;

/// Length of a slice of time: sums are kept for each, so that a filter on time and a timeline
/// can tell one second from the next.
pub const SLICE: Nanos = Nanos(1_000_000_000);

/// The instances that a moment lies in, by their numbers: those of a process count from 1 in the
/// order in which they were created, regions and tasks each by themselves. 0 is none, or one of
/// which nothing is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Within {
    /// The innermost parallel or teams region.
    pub region: u64,
    /// The innermost explicit task; in a region that a task forked, that task.
    pub task: u64,
}

numbered! {
    /// What made a sample.
    pub enum SampleKind {
        /// The clock (or counter) fired in user code.
        User = 0,
        /// It fired in the kernel, on behalf of the user code below.
        Kernel = 1,
        /// The thread left its CPU by preemption.
        Preempted = 2,
        /// The thread left its CPU to wait.
        Blocked = 3,
    }
}

impl SampleKind {
    /// Where the kernel had the thread during the time that such a sample stands for.
    pub const fn scheduling(self) -> Scheduling {
        match self {
            SampleKind::User | SampleKind::Kernel => Scheduling::Running,
            SampleKind::Preempted => Scheduling::Preempted,
            SampleKind::Blocked => Scheduling::Blocked,
        }
    }
}

/// One sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// When it was taken.
    pub time: Nanos,
    /// Of which thread.
    pub thread: ThreadId,
    /// On which CPU.
    pub cpu: u16,
    /// By what.
    pub kind: SampleKind,
    /// Its machine stack, kernel frames first where there are any.
    pub stack: StackId,
    /// What the thread did in OpenMP's terms at that moment.
    pub thread_state: ThreadStateId,
    /// In which instances.
    pub within: Within,
}

/// Measured time: how long a thread was in a state within a slice of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sum {
    /// The slice: `time / SLICE`.
    pub slice: u32,
    /// Of which thread.
    pub thread: ThreadId,
    /// In which state, context and place.
    pub thread_state: ThreadStateId,
    /// On or off the CPU.
    pub scheduling: Scheduling,
    /// For how long altogether.
    pub time: Nanos,
    /// In how many intervals (one that spans slices counts where it ends).
    pub count: u32,
}

/// Waiting time of other threads that is known to be owed to this one: they waited for a mutex that
/// it held, in this state and at this place, or that one of whom it waited for in turn did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Blame {
    /// The slice: `time / SLICE`.
    pub slice: u32,
    /// Who held it.
    pub thread: ThreadId,
    /// In which state, context and place meanwhile.
    pub thread_state: ThreadStateId,
    /// On or off the CPU.
    pub scheduling: Scheduling,
    /// How long the others waited altogether.
    pub time: Nanos,
}

/// Intervals from this length on are listed by themselves, as far as there are not too many.
pub const LONG: Nanos = Nanos(1_000_000);

/// An interval that is listed by itself: a [`LONG`] one, for the timeline, or the time off the CPU
/// that a sample's stack stands for, however short.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interval {
    /// Of which thread.
    pub thread: ThreadId,
    /// From when.
    pub start: Nanos,
    /// For how long.
    pub length: Nanos,
    /// In which state, context and place.
    pub thread_state: ThreadStateId,
    /// On or off the CPU.
    pub scheduling: Scheduling,
    /// In which instances.
    pub within: Within,
}

/// Instances of a region within a slice of time, summed by calling context.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RegionSum {
    /// The slice in which the instances ended.
    pub slice: u32,
    /// The region's context.
    pub context: ContextId,
    /// On which thread they were encountered.
    pub thread: ThreadId,
    /// How many.
    pub instances: u32,
    /// From begin to end on the encountering thread, summed.
    pub elapsed: Nanos,
    /// The largest team.
    pub team: u16,
}

/// How the useful work of a region's instances was spread over their teams, summed like
/// [`RegionSum`].
///
/// A thread's useful work is its time on a CPU in [`crate::state::State::Work`] between its
/// implicit task's begin and the region's end, nested regions' and tasks' included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RegionWork {
    /// The slice in which the instances ended.
    pub slice: u32,
    /// The region's context.
    pub context: ContextId,
    /// On which thread they were encountered.
    pub thread: ThreadId,
    /// Thread time that the teams could have worked: each instance's time on the encountering
    /// thread by its team's size, summed.
    pub capacity: Nanos,
    /// The longest useful work of a thread in each instance, summed.
    pub longest: Nanos,
    /// The mean useful work over the team in each instance, summed.
    pub mean: Nanos,
}

/// Explicit tasks of one construct that were completed in a slice of time.
///
/// A task's work is its thread's time on a CPU in [`crate::state::State::Work`] while it was the
/// current task: neither its waits nor the tasks that ran inside them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TaskSum {
    /// The slice in which they were completed.
    pub slice: u32,
    /// The task's context: where it was created.
    pub context: ContextId,
    /// On which thread they were completed.
    pub thread: ThreadId,
    /// How many.
    pub instances: u32,
    /// How many of them were created by another thread.
    pub elsewhere: u32,
    /// Their work.
    pub work: Nanos,
    /// The shortest one's.
    pub least: Nanos,
    /// The longest one's.
    pub most: Nanos,
    /// The sum of their squares, in square nanoseconds.
    pub squares: u128,
}

/// Instances of a region that are long enough to be listed by themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RegionSpan {
    /// The region's context.
    pub context: ContextId,
    /// On which thread it was encountered.
    pub thread: ThreadId,
    /// From when.
    pub start: Nanos,
    /// For how long.
    pub length: Nanos,
    /// The team's size.
    pub team: u16,
    /// Its number, and the task that forked it.
    pub within: Within,
}

/// A piece of an explicit task's execution that is long enough to be listed by itself: from where
/// a thread took the task up to where it left it, complete or to go on later. Tasks that ran on
/// top of it meanwhile, in its waits, lie within.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TaskSpan {
    /// The task's context: where it was created.
    pub context: ContextId,
    /// On which thread it ran.
    pub thread: ThreadId,
    /// From when.
    pub start: Nanos,
    /// For how long.
    pub length: Nanos,
    /// Its number, and the region that it was created in.
    pub within: Within,
}
