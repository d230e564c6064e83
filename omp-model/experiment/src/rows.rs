//! The rows of a recording: samples, sums of time, listed intervals, and counts of what was lost.

use std::ops::Range;

use crate::ids::{
    ContextId, FrameId, LockId, LoopId, NameId, Nanos, ObjectId, PhaseId, ProcessId, StackId,
    ThreadId, ThreadStateId,
};
use crate::numbered::numbered;
use crate::state::{Scheduling, State};

/// Length of a time slice. Sums are kept by slice, so that a filter on time and a timeline can tell
/// one second from the next.
pub const SLICE: Nanos = Nanos(1_000_000_000);

/// The instance ids of the innermost region and task at a point in time. Regions and tasks of a
/// process are each numbered from 1 in the order of their creation. 0 is none or unknown.
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
                /// The thread left its CPU to wait for something.
        Blocked = 3,
    }
}

impl SampleKind {
    /// The thread's scheduling state in the time that such a sample stands for.
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
    /// The thread.
    pub thread: ThreadId,
    /// The CPU.
    pub cpu: u16,
    /// What made it.
    pub kind: SampleKind,
    /// The machine stack, kernel frames first where there are any.
    pub stack: StackId,
    /// What the thread did in OpenMP's terms.
    pub thread_state: ThreadStateId,
    /// The instances that it fell into.
    pub within: Within,
}

/// Measured time: how long a thread was in a thread state within a time slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sum {
    /// The slice: `time / SLICE`.
    pub slice: u32,
    /// The thread.
    pub thread: ThreadId,
    /// Its state, context and call.
    pub thread_state: ThreadStateId,
    /// On or off the CPU.
    pub scheduling: Scheduling,
    /// The time, summed.
    pub time: Nanos,
    /// The number of intervals; one that spans slices counts where it ends.
    pub count: u32,
}

/// Time that other threads waited for a mutex that this thread held, by what this thread did
/// meanwhile. If the holder itself waited for a mutex, its holder is blamed instead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Blame {
    /// The slice: `time / SLICE`.
    pub slice: u32,
    /// The holder.
    pub thread: ThreadId,
    /// Its state, context and call meanwhile.
    pub thread_state: ThreadStateId,
    /// Whether it was on or off the CPU.
    pub scheduling: Scheduling,
    /// The others' waiting time, summed.
    pub time: Nanos,
}

/// Intervals of at least this length are listed one by one, unless there are too many.
pub const LONG: Nanos = Nanos(1_000_000);

/// An interval that is listed: a [`LONG`] one, for the timeline, or the time off the CPU that a
/// sample's stack stands for, however short.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interval {
    /// The thread.
    pub thread: ThreadId,
    /// Its start.
    pub start: Nanos,
    /// Its length.
    pub length: Nanos,
    /// The thread's state, context and call.
    pub thread_state: ThreadStateId,
    /// On or off the CPU.
    pub scheduling: Scheduling,
    /// The instances that it lies in.
    pub within: Within,
}

impl Interval {
    /// Its end.
    pub const fn end(&self) -> Nanos {
        Nanos(self.start.0 + self.length.0)
    }

    /// How many nanoseconds of it lie in a range.
    pub fn overlap(&self, range: &Range<u64>) -> u64 {
        let end = self.end().0.min(range.end);
        end.saturating_sub(self.start.0.max(range.start))
    }
}

/// Sums over instances of a region that ended in a time slice, by calling context. An instance that
/// is left open, as by `exit`, ends with its encountering thread or with the recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RegionSum {
    /// The slice in which the instances ended.
    pub slice: u32,
    /// The region's context.
    pub context: ContextId,
    /// The encountering thread.
    pub thread: ThreadId,
    /// Their number.
    pub instances: u32,
    /// Time from begin to end on the encountering thread, summed.
    pub elapsed: Nanos,
    /// The largest team.
    pub team: u16,
}

/// How the useful work of a region's instances was spread over their teams; sums as in
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
    /// The encountering thread.
    pub thread: ThreadId,
    /// Thread time that the teams could have worked: each instance's time on the encountering
    /// thread, multiplied by its team's size, summed.
    pub capacity: Nanos,
    /// The longest useful work of a thread in each instance, summed.
    pub longest: Nanos,
    /// The mean useful work over the team in each instance, summed.
    pub mean: Nanos,
}

/// Explicit tasks of one construct that were completed in a time slice.
///
/// A task's work is its thread's time on a CPU in [`crate::state::State::Work`] while it was the
/// current task: neither its waits nor the tasks that ran inside them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TaskSum {
    /// The slice in which they were completed.
    pub slice: u32,
    /// The task's context: where it was created.
    pub context: ContextId,
    /// The thread that completed them.
    pub thread: ThreadId,
    /// Their number.
    pub instances: u32,
    /// The number of others that had begun, and had not completed when their thread or the recording
    /// ended. Only their number is in this row.
    pub unfinished: u32,
    /// The number of [`TaskSum::instances`] that another thread created.
    pub elsewhere: u32,
    /// Their work, summed.
    pub work: Nanos,
    /// The least work of one.
    pub least: Nanos,
    /// The most work of one.
    pub most: Nanos,
    /// The squares of their work, summed, in square nanoseconds.
    pub squares: u128,
}

/// A thread's part of the instances of a worksharing construct that ended in a time slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoopSum {
    /// The slice in which they were counted: some tenths of a second after their end.
    pub slice: u32,
    /// The thread.
    pub thread: ThreadId,
    /// The construct.
    pub construct: LoopId,
    /// The chunk's length as the program gave it last, in iterations; 0 if it gave none.
    pub chunk: u64,
    /// How often the thread came to the construct.
    pub instances: u64,
    /// Iterations that it executed; of a taskloop, those of the tasks that it created.
    pub iterations: u64,
    /// The pieces of the loop that it got; 0 for a taskloop.
    pub chunks: u64,
    /// Time from its begin to its end on the thread, without the barrier; 0 where no call marks the
    /// end.
    pub time: Nanos,
    /// Time in those calls for a chunk that were measured, one in some.
    pub calls_time: Nanos,
    /// The number of these calls. All calls are the chunks and one more for each instance.
    pub calls: u64,
}

/// A thread's acquisitions of a mutex in one call that ended in a time slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LockSum {
    /// The slice in which they were counted: some tenths of a second after their end.
    pub slice: u32,
    /// The thread.
    pub thread: ThreadId,
    /// The mutex.
    pub lock: LockId,
    /// The call that acquires it.
    pub call: FrameId,
    /// How often the thread acquired it; of a doacross loop, how often it asked for an iteration.
    pub acquisitions: u64,
    /// The acquisitions that took a microsecond or more: they waited.
    pub contended: u64,
    /// The time of these waits.
    pub wait: Nanos,
    /// The time from acquisitions to releases, where both are known.
    pub held: Nanos,
    /// The longest time from an acquisition to its release, if that is longer than all before; else 0.
    pub longest: Nanos,
}

/// Waits for a mutex in one call while it was held by threads that had acquired it in another, over a
/// part of the recording. Waits of a few microseconds are not among them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LockWait {
    /// The mutex.
    pub lock: LockId,
    /// The call that waited.
    pub waiter: FrameId,
    /// The call by which it was held, or had been until shortly before; [`FrameId::NONE`] if unknown.
    pub holder: FrameId,
    /// The waits that began meanwhile.
    pub count: u64,
    /// The time that they lasted meanwhile.
    pub time: Nanos,
}

/// A call of MPI or of another interface between ranks, or several calls that asked whether something has happened, when nothing had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MpiCall {
    /// The thread.
    pub thread: ThreadId,
    /// When it began.
    pub start: Nanos,
    /// How long it took; of several calls, how long they took together.
    pub length: Nanos,
    /// The number of calls.
    pub count: u32,
    /// The function's number (`mpi::name`).
    pub function: u16,
    /// The call in the program; [`FrameId::NONE`] if unknown.
    pub call: FrameId,
    /// The communicator, as in [`MpiMessage::comm`]; 0 if it has none.
    pub comm: u32,
    /// One more than the rank, in `MPI_COMM_WORLD`, of the root of a collective operation or the target of a
    /// one-sided one; 0 if there is none.
    pub peer: u32,
    /// The memory that it is about; [`ObjectId::NONE`] if there is none, or it is not known.
    pub object: ObjectId,
    /// Bytes that the call sent: of messages that begin in it, or of its part of a collective operation.
    pub sent: u64,
    /// Bytes that the call received; of an allocation, those that it allocated.
    pub received: u64,
}

numbered! {
    /// Which end of a message it is; or which other thing that ranks wait for, with the window for communicator.
    pub enum MessageEnd {
        /// The sender's.
        Sent = 0,
        /// The receiver's.
        Received = 1,
        /// A collective operation that is begun by one call and completed by another one.
        Operation = 2,
        /// Access to the window of a rank that will grant it is asked for (`MPI_Win_start`).
        Start = 3,
        /// Access to the own window is granted to a rank (`MPI_Win_post`).
        Post = 4,
        /// A lock on the window of a rank that others may have, too.
        LockShared = 5,
        /// A lock on the window of a rank for one alone.
        LockExclusive = 6,
    }
}

impl MessageEnd {
    /// Whether it is an end of a message.
    pub const fn is_message(self) -> bool {
        matches!(self, MessageEnd::Sent | MessageEnd::Received)
    }
}

/// One end of a message between ranks.
///
/// Messages of one communicator from one rank to another with the same tag are received in the order in which
/// their sends were posted, by the receives in the order in which these were posted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MpiMessage {
    /// The thread that posted it.
    pub thread: ThreadId,
    /// Which end it is.
    pub end: MessageEnd,
    /// When the call began that posted it: a send or receive, or its start.
    pub posted: Nanos,
    /// From there to the end of the call that completed it; [`MpiMessage::NEVER`] if none did.
    pub length: Nanos,
    /// The other end's rank in `MPI_COMM_WORLD`.
    pub peer: u32,
    /// The tag.
    pub tag: u32,
    /// The communicator: a number made of its ranks and of how many with the same ranks were made before, the
    /// same in all of its ranks.
    pub comm: u32,
    /// Its bytes.
    pub bytes: u64,
}

impl MpiMessage {
    /// The length of a message that no call completed.
    pub const NEVER: Nanos = Nanos(1 << 59);
}

/// Each sample of minor page faults stands for so many. A sample of every fault would make faults a
/// quarter slower.
pub const FAULTS_EACH: u64 = 16;

/// What the kernel counted for a thread on one CPU, over the whole recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CpuUse {
    /// The thread.
    pub thread: ThreadId,
    /// The CPU.
    pub cpu: u16,
    /// How often the thread came to this CPU from another one.
    pub migrations: u64,
    /// How often it left this CPU to wait.
    pub voluntary: u64,
    /// How often it was preempted there.
    pub involuntary: u64,
    /// Its page faults there that needed no input, by samples: a multiple of [`FAULTS_EACH`], and 0 if it
    /// had fewer.
    pub minor_faults: u64,
    /// Its page faults there that waited for input.
    pub major_faults: u64,
}

numbered! {
    /// What a [`Span`] is.
    pub enum SpanKind {
        /// A phase that the program began and ended.
        Phase = 0,
        /// A phase that ended with its process or with the recording.
        OpenPhase = 1,
        /// Recording was paused, in all processes. No sample, sum or count is of this time; long
        /// instances of regions and pieces of tasks may go on in it.
        Pause = 2,
    }
    /// What made a sample point.
    pub enum PointKind {
        /// A call of the program.
        Call = 1,
        /// A signal.
        Signal = 2,
        /// The time since the last one.
        Period = 3,
    }
}

/// A stretch of time that the program or the user marked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Its process; of a pause, the first one.
    pub process: ProcessId,
    /// What it is.
    pub kind: SpanKind,
    /// The phase; [`PhaseId::NONE`] of a pause.
    pub phase: PhaseId,
    /// Its start.
    pub start: Nanos,
    /// Its length.
    pub length: Nanos,
}

impl Span {
    /// Its end.
    pub const fn end(&self) -> Nanos {
        Nanos(self.start.0 + self.length.0)
    }
}

/// Measured time of a thread in a phase within a time slice. The innermost phase has all of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PhaseSum {
    /// The slice: `time / SLICE`.
    pub slice: u32,
    /// The thread.
    pub thread: ThreadId,
    /// The innermost phase of its process.
    pub phase: PhaseId,
    /// The thread's state.
    pub state: State,
    /// On or off the CPU.
    pub scheduling: Scheduling,
    /// The time, summed.
    pub time: Nanos,
}

/// A point between two of the stretches of time that the index `SAMPLE` numbers, and what the process
/// had used until then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SamplePoint {
    /// When.
    pub time: Nanos,
    /// The process that it was measured in.
    pub process: ProcessId,
    /// What made it.
    pub kind: PointKind,
    /// The name that the program gave it; [`NameId::NONE`] for none.
    pub name: NameId,
    /// CPU time in user mode.
    pub user: Nanos,
    /// CPU time in the kernel.
    pub system: Nanos,
    /// Page faults without input.
    pub minor_faults: u64,
    /// Page faults that waited for input.
    pub major_faults: u64,
}

/// An instance of a region that is [`LONG`] enough to be listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RegionSpan {
    /// The region's context.
    pub context: ContextId,
    /// The encountering thread.
    pub thread: ThreadId,
    /// Its start.
    pub start: Nanos,
    /// Its length.
    pub length: Nanos,
    /// The team's size.
    pub team: u16,
    /// Its instance id, and that of the task that forked it.
    pub within: Within,
}

/// A piece of an explicit task's execution that is [`LONG`] enough to be listed: from its start or
/// resumption on a thread to its suspension or completion. Tasks that the thread ran in its waits
/// lie within.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TaskSpan {
    /// The task's context: where it was created.
    pub context: ContextId,
    /// The thread that ran it.
    pub thread: ThreadId,
    /// Its start.
    pub start: Nanos,
    /// Its length.
    pub length: Nanos,
    /// The task's instance id, and that of the region in which it was created.
    pub within: Within,
}
