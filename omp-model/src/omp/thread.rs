//! One thread's stack of constructs: what it does now, and what it returns to when that ends.

use experiment::ids::{ContextId, Nanos, ThreadStateId};
use experiment::rows::Within;
use experiment::state::State;

use super::locks::LockSlot;
use super::regions::Slot;
use crate::stream::{Instance, Mutex, Sync};

/// The construct or event that made a level, which determines what ends it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cause {
    /// The bottom of every stack.
    Base,
    /// The thread encountered the region: from parallel_begin to parallel_end.
    Fork(Slot),
    /// Its implicit task in the region.
    Implicit(Slot),
    /// An explicit task.
    Task,
    /// A wait in a synchronising construct.
    Sync(Sync),
    /// A wait for a mutex.
    MutexWait,
    /// The thread holds a mutex.
    MutexHeld(LockSlot),
    /// Combining of a reduction.
    Reduction,
    /// A call in which the runtime works.
    Overhead,
    /// A call of MPI.
    Mpi,
    /// Events were lost here: the levels below may be over.
    Lost,
}

/// A level of the stack: a construct that the thread is in.
#[derive(Clone, Copy, Debug)]
pub(super) struct Level {
    pub(super) cause: Cause,
    pub(super) state: State,
    /// The context of the task that is current while this is the top.
    pub(super) context: ContextId,
    /// That state in that context.
    pub(super) thread_state: ThreadStateId,
    /// The region or explicit task.
    pub(super) id: Instance,
    /// The ids of the instances that it is in, itself included.
    pub(super) within: Within,
}

/// The constructs that a thread is in. A task that is scheduled runs on top of the one that waits,
/// as the runtime's own calls do, so one stack holds all tasks of the thread.
#[derive(Debug)]
pub(super) struct ConstructStack {
    levels: Vec<Level>,
    /// The explicit tasks among the levels, as far as they are known to run.
    pub(super) pieces: Vec<Piece>,
}

/// A piece of an explicit task's execution, from its start or resumption on this thread.
#[derive(Clone, Copy, Debug)]
pub(super) struct Piece {
    pub(super) task: Instance,
    /// The depth of its level.
    pub(super) depth: usize,
    /// Its start.
    pub(super) since: Nanos,
    /// Useful work of the thread before it.
    pub(super) worked: Nanos,
    /// Useful work of the tasks that ran on top of it.
    pub(super) inner: Nanos,
}

/// The deepest stack, beyond what any program nests. Lost ends must not make it grow forever.
pub(super) const DEEPEST: usize = 4096;

impl Default for ConstructStack {
    fn default() -> Self {
        let base = Level {
            cause: Cause::Base,
            state: State::Outside,
            context: ContextId::ROOT,
            thread_state: ThreadStateId::OUTSIDE,
            id: Instance::NONE,
            within: Within::default(),
        };
        ConstructStack {
            levels: vec![base],
            pieces: Vec::new(),
        }
    }
}

impl ConstructStack {
    #[inline]
    pub(super) fn top(&self) -> &Level {
        self.levels.last().expect("the base is never popped")
    }

    pub(super) fn base(&self) -> &Level {
        &self.levels[0]
    }

    pub(super) fn set_base(&mut self, state: State, thread_state: ThreadStateId) {
        self.levels[0].state = state;
        self.levels[0].thread_state = thread_state;
    }

    #[inline]
    pub(super) fn push(&mut self, level: Level) {
        self.levels.push(level);
    }

    /// Pops the top, which is not the base.
    #[inline]
    pub(super) fn pop(&mut self) -> Level {
        debug_assert!(self.levels.len() > 1);
        self.levels.pop().expect("the base is never popped")
    }

    /// Frees the memory of a stack that will not grow again.
    pub(super) fn shrink(&mut self) {
        self.levels.shrink_to_fit();
        self.pieces = Vec::new();
    }

    #[inline]
    pub(super) fn depth(&self) -> usize {
        self.levels.len()
    }

    pub(super) fn levels_mut(&mut self) -> &mut Vec<Level> {
        &mut self.levels
    }

    pub(super) fn levels(&self) -> &[Level] {
        &self.levels
    }

    /// Pops waits and calls on top: a new event in the same task means that they are over.
    #[inline]
    pub(super) fn drop_waits(&mut self) {
        while matches!(
            self.top().cause,
            Cause::Sync(_) | Cause::MutexWait | Cause::Overhead | Cause::Mpi
        ) {
            self.levels.pop();
        }
    }

    /// The innermost level that `fits`.
    #[inline]
    pub(super) fn find(&self, fits: impl Fn(&Level) -> bool) -> Option<usize> {
        self.levels.iter().rposition(fits)
    }

    /// The level at which the thread's current task acquired the mutex, if it holds it.
    #[inline]
    pub(super) fn held(&self, slot: LockSlot) -> Option<usize> {
        let held = |cause: &Cause| *cause == Cause::MutexHeld(slot);
        let of_task = self.levels.iter().rposition(|level| {
            held(&level.cause)
                || matches!(
                    level.cause,
                    Cause::Task | Cause::Implicit(_) | Cause::Fork(_) | Cause::Lost
                )
        });
        of_task.filter(|&at| held(&self.levels[at].cause))
    }

    /// The region of the innermost team.
    pub(super) fn team(&self) -> Instance {
        let implicit = |level: &&Level| matches!(level.cause, Cause::Implicit(_));
        let innermost = self.levels.iter().rfind(implicit);
        innermost.map_or(Instance::NONE, |level| level.id)
    }

    /// The innermost level that `fits`, down to and including the innermost implicit task.
    #[inline]
    pub(super) fn find_inside(&self, mut fits: impl FnMut(&Cause) -> bool) -> Option<usize> {
        for (index, level) in self.levels.iter().enumerate().rev() {
            if fits(&level.cause) {
                return Some(index);
            }
            if matches!(level.cause, Cause::Implicit(_)) {
                return None;
            }
        }
        None
    }
}

/// The recorded state of a wait for a mutex.
pub(super) const fn waiting_for(kind: Mutex) -> State {
    match kind {
        Mutex::Lock => State::Lock,
        Mutex::NestLock => State::NestLock,
        Mutex::Critical => State::Critical,
        Mutex::Atomic => State::Atomic,
        Mutex::Ordered => State::Ordered,
    }
}

/// The recorded state of a wait.
pub(super) const fn waiting(kind: Sync) -> State {
    match kind {
        Sync::BarrierImplicit | Sync::BarrierWorkshare | Sync::BarrierParallel => {
            State::ImplicitBarrier
        }
        Sync::BarrierExplicit => State::ExplicitBarrier,
        Sync::Barrier => State::Barrier,
        Sync::BarrierImplementation => State::ImplementationBarrier,
        Sync::TaskWait => State::TaskWait,
        Sync::TaskGroup => State::TaskGroup,
        Sync::BarrierTeams => State::TeamsBarrier,
    }
}

/// Whether a wait of this kind is for all threads of a team. `teams` waits for teams instead.
pub(super) const fn is_barrier(kind: Sync) -> bool {
    !matches!(kind, Sync::TaskWait | Sync::TaskGroup | Sync::BarrierTeams)
}

/// Whether a wait of this kind may be at the join of its region.
pub(super) const fn may_join(kind: Sync) -> bool {
    matches!(
        kind,
        Sync::BarrierImplicit | Sync::BarrierParallel | Sync::BarrierTeams
    )
}
