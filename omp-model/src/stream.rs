//! The merged stream: what `collect` feeds to the OpenMP state machine, and what recorded logs
//! feed to it in tests. Events come sorted by time over all threads.

use experiment::ids::{FrameId, Nanos, StackId, ThreadId};
use experiment::state::Presence;
use experiment::tables::ThreadKind;

/// One event of one thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// When.
    pub time: Nanos,
    /// Of which thread.
    pub thread: ThreadId,
    /// What.
    pub what: What,
}

/// An instance of a region or task: unique while alive; 0 is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Instance(pub u64);

impl Instance {
    /// None, or: the runtime did not say.
    pub const NONE: Instance = Instance(0);
}

/// Tells a mutex from others of its kind in its process; 0 is none: nobody is known to hold it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Lock(pub u64);

impl Lock {
    /// The runtime did not say, or there is nothing that a thread could hold.
    pub const NONE: Lock = Lock(0);
}

/// The place of a call that makes a construct.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Site {
    /// The machine stack at the call.
    pub stack: StackId,
    /// The first instruction of what the call gives the runtime to run; [`FrameId::NONE`] where
    /// that is not known.
    pub body: FrameId,
}

impl From<StackId> for Site {
    fn from(stack: StackId) -> Site {
        Site {
            stack,
            body: FrameId::NONE,
        }
    }
}

/// What happened. OpenMP's events are OMPT's (OpenMP 5.2, chapter 19), the enumerations
/// translated; the kernel's are perf's records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// The thread was created (or the recording began with it alive): on the CPU or not.
    Birth(Presence),
    /// The thread ended.
    Exit,
    /// It left its CPU.
    SwitchOut(Presence),
    /// It came back on a CPU.
    SwitchIn,
    /// The runtime knows the thread.
    ThreadBegin(ThreadKind),
    /// The runtime lets it go.
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
    /// It ended on its encountering thread.
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
    /// It ended; workers learn of it late and without the region.
    ImplicitEnd {
        /// The instance or none.
        region: Instance,
    },
    /// A wait in a synchronising construct begins.
    SyncBegin {
        /// Which.
        kind: Sync,
        /// For barriers that may be a join barrier: of this region.
        region: Instance,
        /// The call into the runtime.
        place: FrameId,
    },
    /// It ended.
    SyncEnd {
        /// Which.
        kind: Sync,
    },
    /// Waiting for a mutex begins.
    MutexAcquire {
        /// Of which kind.
        kind: Mutex,
        /// Which.
        lock: Lock,
        /// The call into the runtime.
        place: FrameId,
    },
    /// It is owned.
    MutexAcquired {
        /// Of which kind.
        kind: Mutex,
        /// Which.
        lock: Lock,
    },
    /// It was released.
    MutexReleased {
        /// Of which kind.
        kind: Mutex,
        /// Which.
        lock: Lock,
    },
    /// A nestable lock was got again by who holds it, or partly released; or a mutex was asked
    /// for without waiting, and may not have been got.
    MutexAsked,
    /// An explicit task was created.
    TaskCreate {
        /// The task.
        task: Instance,
        /// The construct.
        site: Site,
    },
    /// The thread goes from one task to another.
    TaskSchedule {
        /// The next task; none is the implicit task.
        next: Instance,
        /// The prior task is complete (or cancelled or detached): it does not come back.
        prior_done: bool,
    },
    /// A reduction's combining begins.
    ReductionBegin {
        /// The call into the runtime.
        place: FrameId,
    },
    /// It ended.
    ReductionEnd,
    /// The runtime works, in a call that waits for nobody.
    OverheadBegin {
        /// The call into the runtime.
        place: FrameId,
    },
    /// It has done so.
    OverheadEnd,
    /// OpenMP events of this thread were lost here.
    Lost,
}

/// `ompt_sync_region_t`, as the states need it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Sync {
    /// `barrier_implicit` (2): LLVM 14 and 16 give it to every implicit barrier, joins included.
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
    /// `barrier` (1): the runtime does not say which.
    Barrier,
    /// `barrier_teams` (10).
    BarrierTeams,
}

/// `ompt_mutex_t`, as the states need it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mutex {
    /// `lock` and `test_lock` (1, 2).
    Lock,
    /// `nest_lock` and `test_nest_lock` (3, 4).
    NestLock,
    /// `critical` (5).
    Critical,
    /// `atomic` (6).
    Atomic,
    /// `ordered` (7).
    Ordered,
}
