//! The rows of a recording: samples, sums of time, listed intervals, and counts of what was lost.

use crate::ids::{ContextId, Nanos, StackId, TagId, ThreadId};
use crate::state::Presence;

/// Length of a slice of time: sums are kept for each, so that a filter on time and a timeline
/// can tell one second from the next.
pub const SLICE: Nanos = Nanos(1_000_000_000);

/// What made a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
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

impl SampleKind {
    /// The kind of a stored number.
    pub const fn from_u8(number: u8) -> Option<SampleKind> {
        match number {
            0 => Some(SampleKind::User),
            1 => Some(SampleKind::Kernel),
            2 => Some(SampleKind::Preempted),
            3 => Some(SampleKind::Blocked),
            _ => None,
        }
    }

    /// Where the kernel had the thread during the time that such a sample stands for.
    pub const fn presence(self) -> Presence {
        match self {
            SampleKind::User | SampleKind::Kernel => Presence::Running,
            SampleKind::Preempted => Presence::Preempted,
            SampleKind::Blocked => Presence::Blocked,
        }
    }
}

/// One sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// When.
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
    pub tag: TagId,
}

/// Measured time: how long a thread was in a state within a slice of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sum {
    /// The slice: `time / SLICE`.
    pub slice: u32,
    /// Of which thread.
    pub thread: ThreadId,
    /// In which state, context and place.
    pub tag: TagId,
    /// On or off the CPU.
    pub presence: Presence,
    /// For how long altogether.
    pub time: Nanos,
    /// In how many intervals (one that spans slices counts where it ends).
    pub count: u32,
}

/// An interval long enough to be listed by itself, for the timeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interval {
    /// Of which thread.
    pub thread: ThreadId,
    /// From when.
    pub start: Nanos,
    /// For how long.
    pub length: Nanos,
    /// In which state, context and place.
    pub tag: TagId,
    /// On or off the CPU.
    pub presence: Presence,
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
}
