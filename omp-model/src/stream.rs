//! The merged event stream: the input of the OpenMP state machine, from `collect` or, in tests,
//! from recorded logs. Events are sorted by time over all threads.

use experiment::ids::{FrameId, Nanos, StackId, ThreadId};
use experiment::state::{Scheduling, State};
pub use experiment::tables::Mutex;
use experiment::tables::ThreadKind;

/// One event of one thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// Its time.
    pub time: Nanos,
    /// The thread that it is of.
    pub thread: ThreadId,
    /// Its kind and data.
    pub what: What,
}

/// The id of an instance of a region or task: unique while the instance exists; 0 is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Instance(pub u64);

impl Instance {
    /// No instance, or an instance that the runtime did not give.
    pub const NONE: Instance = Instance(0);
}

/// The id of a mutex, unique among mutexes of its kind in its process; 0 is none: its holder cannot
/// be known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Lock(pub u64);

impl Lock {
    /// The runtime did not give the mutex, or there is none that a thread could hold.
    pub const NONE: Lock = Lock(0);
}

/// A call that creates a construct.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Site {
    /// The machine stack at the call.
    pub stack: StackId,
    /// The same with the frames of Python ([`experiment::tables::Context::python`]).
    pub python: StackId,
    /// The first instruction of the outlined function that the call passes to the runtime;
    /// [`FrameId::NONE`] if unknown.
    pub body: FrameId,
}

impl From<StackId> for Site {
    fn from(stack: StackId) -> Site {
        Site {
            stack,
            python: StackId::EMPTY,
            body: FrameId::NONE,
        }
    }
}

/// The construct of an explicit task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaskOf {
    /// A `task` construct, or one that is unknown.
    Directive,
    /// A `taskloop` construct: one of its tasks.
    Taskloop,
    /// A `taskloop` construct: the id stands for all of its tasks, which the runtime does not announce.
    WholeTaskloop,
}

/// The kind of event with its data. OpenMP events are OMPT's (OpenMP 5.2, chapter 19), with the
/// enumerations translated; kernel events are perf records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// The thread was created, or existed when the experiment began: on or off CPU.
    Birth(Scheduling),
    /// The thread ended.
    Exit,
    /// The thread left its CPU.
    SwitchOut(Scheduling),
    /// The thread got a CPU again.
    SwitchIn,
    /// While it counted as on a CPU, the thread was off it for so long since its last such event. When
    /// is unknown. Threads without switch records have these events, from their birth on.
    OffCpu {
        /// Time asleep.
        blocked: Nanos,
        /// Time in which another thread had the CPU.
        preempted: Nanos,
        /// How much more time up to now may turn out, later, to have been off a CPU.
        open: Nanos,
    },
    /// The runtime registers the thread.
    ThreadBegin(ThreadKind),
    /// The runtime releases the thread.
    ThreadEnd,
    /// A region begins on its encountering thread.
    ParallelBegin {
        /// The instance.
        region: Instance,
        /// The fork point.
        site: Site,
        /// Whether this is a teams region rather than a parallel one.
        teams: bool,
    },
    /// A region ends on its encountering thread.
    ParallelEnd {
        /// The instance.
        region: Instance,
    },
    /// The thread's implicit task in the region begins; with no region: its initial task.
    ImplicitBegin {
        /// The instance.
        region: Instance,
        /// The team's size.
        size: u16,
        /// The thread's number in the team.
        index: u16,
    },
    /// The thread's implicit task ends. Workers get this event late and without the region.
    ImplicitEnd {
        /// The instance, or none.
        region: Instance,
    },
    /// A wait in a synchronising construct begins.
    SyncBegin {
        /// Its kind.
        kind: Sync,
        /// For barriers that may be join barriers: the region.
        region: Instance,
        /// The call into the runtime.
        call: FrameId,
    },
    /// The wait ends.
    SyncEnd {
        /// Its kind.
        kind: Sync,
    },
    /// Waiting for a mutex begins.
    MutexAcquire {
        /// The kind of mutex.
        kind: Mutex,
        /// The mutex.
        lock: Lock,
        /// The call into the runtime.
        call: FrameId,
    },
    /// The mutex was acquired.
    MutexAcquired {
        /// The kind of mutex.
        kind: Mutex,
        /// The mutex.
        lock: Lock,
    },
    /// The mutex was released.
    MutexReleased {
        /// The kind of mutex.
        kind: Mutex,
        /// The mutex.
        lock: Lock,
    },
    /// The holder of a nestable lock acquired it again or released it partly, or a thread tried to
    /// acquire a mutex without waiting, perhaps without success.
    MutexAsked,
    /// An explicit task was created.
    TaskCreate {
        /// The task.
        task: Instance,
        /// The call that created it.
        site: Site,
        /// What it is a task of.
        of: TaskOf,
    },
    /// The runtime gave a part of a taskloop's task, the current one, to a new task.
    TaskDivide {
        /// The new task.
        task: Instance,
    },
    /// The thread switches from one task to another.
    TaskSchedule {
        /// The next task; none for the implicit task. For an id of [`TaskOf::WholeTaskloop`]: one of
        /// the taskloop's tasks begins or, if the prior task is done, the innermost one on the thread
        /// resumes; all have ended if there is none.
        next: Instance,
        /// Whether the prior task is complete, cancelled or detached: it does not resume.
        prior_done: bool,
    },
    /// The thread begins to combine a reduction's values.
    ReductionBegin {
        /// The call into the runtime.
        call: FrameId,
    },
    /// The reduction's combining ends.
    ReductionEnd,
    /// A call into the runtime begins that works without waiting.
    OverheadBegin {
        /// The call into the runtime.
        call: FrameId,
    },
    /// The call into the runtime ends.
    OverheadEnd,
    /// A call of MPI begins, or of another interface between ranks.
    MpiBegin {
        /// The thread's state in it.
        state: State,
        /// The call initialises the interface, which may start threads of its own.
        begins_mpi: bool,
        /// The call.
        call: FrameId,
    },
    /// The call of MPI ends.
    MpiEnd,
    /// Calls of MPI that asked whether something had happened. A sum: they have no other events.
    MpiPolls {
        /// The thread's state in them.
        state: State,
        /// The call.
        call: FrameId,
        /// Their number and length.
        waits: Waits,
    },
    /// Short waits in a synchronising construct in the thread's state. A sum: they have no other
    /// events.
    ShortSync {
        /// Their kind.
        kind: Sync,
        /// The call into the runtime.
        call: FrameId,
        /// Their number and length.
        waits: Waits,
    },
    /// Short waits for a mutex, and short holds of it, in the thread's state. A sum, too.
    ShortMutex {
        /// The kind of mutex.
        kind: Mutex,
        /// The mutex; none if there were several.
        lock: Lock,
        /// The call into the runtime.
        call: FrameId,
        /// Their number, and how long the thread waited.
        waits: Waits,
    },
    /// How long short acquisitions and holds of mutexes in this call took. A sum, too.
    ShortHold {
        /// The call into the runtime.
        call: FrameId,
        /// The time of the acquisitions that did not wait.
        acquiring: Nanos,
        /// The time of the holds.
        held: Nanos,
    },
    /// OpenMP events of this thread were lost here.
    Lost,
    /// Events of this thread were lost here, but none of those of regions and tasks.
    LostWaits,
}

/// Waits that are not events by themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waits {
    /// Their number.
    pub count: u32,
    /// Their length in all.
    pub time: Nanos,
}

/// `ompt_sync_region_t`, reduced to what the thread states need.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Sync {
    /// `barrier_implicit` (2): LLVM 14 and 16 report every implicit barrier as this, join barriers
    /// included.
    BarrierImplicit,
    /// `barrier_explicit` (3).
    BarrierExplicit,
    /// `barrier_implementation` (4).
    BarrierImplementation,
    /// `taskwait` (5).
    TaskWait,
    /// `taskgroup` (6).
    TaskGroup,
    /// `barrier_implicit_workshare` (8).
    BarrierWorkshare,
    /// `barrier_implicit_parallel` (9): a join barrier.
    BarrierParallel,
    /// `barrier` (1): of unknown kind.
    Barrier,
    /// `barrier_teams` (10).
    BarrierTeams,
}
