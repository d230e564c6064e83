//! One thread's stack of constructs: what it does, and what it goes back to when that ends.

use experiment::ids::{ContextId, Nanos, ThreadStateId};
use experiment::rows::Within;
use experiment::state::State;

use super::locks::LockSlot;
use super::regions::Slot;
use crate::stream::{Instance, Mutex, Sync};

/// What made an entry, and so what ends it.
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
    Mutex,
    /// In possession of a mutex.
    Held(LockSlot),
    /// Combining of a reduction.
    Reduction,
    /// A call in which the runtime works.
    Overhead,
    /// Events were lost here: what lies below may be over.
    Lost,
}

/// A construct that the thread is in.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    pub(super) cause: Cause,
    pub(super) state: State,
    /// The context of the task that is current while this is the top.
    pub(super) context: ContextId,
    /// The label of that state in that context.
    pub(super) thread_state: ThreadStateId,
    /// The region or explicit task.
    pub(super) id: Instance,
    /// The numbers of the instances that it is in, itself included.
    pub(super) within: Within,
}

/// A thread in OpenMP's terms. Explicit tasks stack up as the runtime's own calls do: a task that
/// is scheduled runs on top of the one that waits, so one stack holds all tasks of the thread.
#[derive(Debug)]
pub(super) struct Stack {
    entries: Vec<Entry>,
    /// The explicit tasks among the entries, as far as they are known to run.
    pub(super) pieces: Vec<Piece>,
}

/// A piece of an explicit task's life: from where it was scheduled on this thread.
#[derive(Clone, Copy, Debug)]
pub(super) struct Piece {
    pub(super) task: Instance,
    /// Where its entry stands.
    pub(super) depth: usize,
    /// When it began.
    pub(super) since: Nanos,
    /// Useful work of the thread's life before it.
    pub(super) worked: Nanos,
    /// Useful work of the tasks that ran on top of it.
    pub(super) inner: Nanos,
}

/// Deeper than any program nests. Ends that never come may not pile up without limit.
pub(super) const DEEPEST: usize = 4096;

impl Default for Stack {
    fn default() -> Self {
        let base = Entry {
            cause: Cause::Base,
            state: State::Outside,
            context: ContextId::ROOT,
            thread_state: ThreadStateId::OUTSIDE,
            id: Instance::NONE,
            within: Within::default(),
        };
        Stack {
            entries: vec![base],
            pieces: Vec::new(),
        }
    }
}

impl Stack {
    #[inline]
    pub(super) fn top(&self) -> &Entry {
        self.entries.last().expect("the base is never popped")
    }

    pub(super) fn base(&self) -> &Entry {
        &self.entries[0]
    }

    pub(super) fn set_base(&mut self, state: State, thread_state: ThreadStateId) {
        self.entries[0].state = state;
        self.entries[0].thread_state = thread_state;
    }

    #[inline]
    pub(super) fn push(&mut self, entry: Entry) {
        self.entries.push(entry);
    }

    /// Pops the top, which is not the base.
    #[inline]
    pub(super) fn pop(&mut self) -> Entry {
        debug_assert!(self.entries.len() > 1);
        self.entries.pop().expect("the base is never popped")
    }

    /// Gives back the room of a stack that will not grow again.
    pub(super) fn shrink(&mut self) {
        self.entries.shrink_to_fit();
        self.pieces = Vec::new();
    }

    #[inline]
    pub(super) fn depth(&self) -> usize {
        self.entries.len()
    }

    pub(super) fn entries_mut(&mut self) -> &mut Vec<Entry> {
        &mut self.entries
    }

    pub(super) fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Ends waits and calls on top: whatever the thread does now, in this task it waits no more.
    #[inline]
    pub(super) fn drop_waits(&mut self) {
        while matches!(
            self.top().cause,
            Cause::Sync(_) | Cause::Mutex | Cause::Overhead
        ) {
            self.entries.pop();
        }
    }

    /// The innermost entry that `fits`.
    #[inline]
    pub(super) fn find(&self, fits: impl Fn(&Entry) -> bool) -> Option<usize> {
        self.entries.iter().rposition(fits)
    }

    /// Where the thread's current task got the mutex that it holds.
    #[inline]
    pub(super) fn held(&self, slot: LockSlot) -> Option<usize> {
        let held = |cause: &Cause| *cause == Cause::Held(slot);
        let of_task = self.entries.iter().rposition(|entry| {
            held(&entry.cause)
                || matches!(
                    entry.cause,
                    Cause::Task | Cause::Implicit(_) | Cause::Fork(_) | Cause::Lost
                )
        });
        of_task.filter(|&at| held(&self.entries[at].cause))
    }

    /// The innermost team's region.
    pub(super) fn team(&self) -> Instance {
        let implicit = |entry: &&Entry| matches!(entry.cause, Cause::Implicit(_));
        let innermost = self.entries.iter().rfind(implicit);
        innermost.map_or(Instance::NONE, |entry| entry.id)
    }

    /// The innermost entry that `fits`, down to and including the innermost implicit task.
    #[inline]
    pub(super) fn find_inside(&self, mut fits: impl FnMut(&Cause) -> bool) -> Option<usize> {
        for (index, entry) in self.entries.iter().enumerate().rev() {
            if fits(&entry.cause) {
                return Some(index);
            }
            if matches!(entry.cause, Cause::Implicit(_)) {
                return None;
            }
        }
        None
    }
}

impl Mutex {
    /// The recorded state of a wait for it.
    pub(super) const fn state(self) -> State {
        match self {
            Mutex::Lock => State::Lock,
            Mutex::NestLock => State::NestLock,
            Mutex::Critical => State::Critical,
            Mutex::Atomic => State::Atomic,
            Mutex::Ordered => State::Ordered,
        }
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

/// Whether a wait of this kind is for all threads of a team. Teams of a league are no threads.
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
