//! The OpenMP state machine: its data, and the steps of which events are made.

use experiment::ids::{ContextId, FrameId, Nanos, ProcessId, ThreadId, ThreadStateId};
use experiment::rows::Within;
use experiment::state::{Scheduling, State};
use experiment::tables::{Tables, ThreadState};

use super::account::TeamWork;
use super::accounting::TimeAccounting;
use super::id_cache::IdCache;
use super::locks::{AccountingNow, LockWaits, Locks};
use super::regions::{Member, Region, Regions, Slot};
use super::task_table::Tasks;
use super::thread::{Cause, ConstructStack, Level};
use crate::stream::{Instance, What};

/// What every thread of the recording does, at the time of the last event.
///
/// Its input is one stream of events, sorted by time over all threads and processes. Events of one
/// thread must be in that thread's order even if their times are equal, and instance ids unique
/// over all processes while the instances exist. Nothing else is assumed: any order of any events
/// is accepted, and makes states wrong at most until the next region.
#[derive(Debug)]
pub struct Machine {
    /// By [`ThreadId`].
    pub(super) threads: Vec<ConstructStack>,
    pub(super) regions: Regions,
    pub(super) tasks: Tasks,
    pub(super) locks: Locks,
    pub(super) ids: IdCache,
    /// The number of instances that each process has created, by [`experiment::ids::ProcessId`].
    pub(super) created: Vec<Within>,
    /// Regions found to be over, which have not ended on their threads yet.
    pub(super) ending: Vec<Slot>,
    /// The number of tasks that have begun without an id of their own.
    pub(super) nameless_tasks: u64,
    /// Regions that were left open.
    pub(super) left_open: u64,
    /// Threads that initialise MPI, with their processes.
    pub(super) mpi_starts: Vec<(ThreadId, ProcessId)>,
}

/// A region or task that a thread enters: its context, and its ids.
pub(super) struct InContext {
    pub(super) context: ContextId,
    pub(super) id: Instance,
    pub(super) within: Within,
}

/// The time and thread of an event, and where its consequences are written.
pub(super) struct Step<'a> {
    pub(super) tables: &'a mut Tables,
    pub(super) accounting: &'a mut TimeAccounting,
    pub(super) time: Nanos,
    pub(super) thread: ThreadId,
}

impl Default for Machine {
    fn default() -> Self {
        Machine::new()
    }
}

impl Machine {
    /// A machine that has seen no event.
    pub fn new() -> Self {
        Machine {
            threads: Vec::new(),
            regions: Regions::default(),
            tasks: Tasks::default(),
            locks: Locks::new(),
            ids: IdCache::new(),
            created: Vec::new(),
            ending: Vec::new(),
            nameless_tasks: 0,
            left_open: 0,
            mpi_starts: Vec::new(),
        }
    }

    /// The thread's state now; [`ThreadStateId::OUTSIDE`] for one without events.
    #[inline]
    pub fn thread_state_of(&self, thread: ThreadId) -> ThreadStateId {
        self.threads
            .get(thread.index())
            .map_or(ThreadStateId::OUTSIDE, |stack| stack.top().thread_state)
    }

    /// Regions that their threads have not ended, because their process or the recording did.
    pub const fn regions_left_open(&self) -> u64 {
        self.left_open
    }

    /// The recording ends: counts the instances that no thread has ended.
    pub fn finish(&mut self, tables: &mut Tables, accounting: &mut TimeAccounting, time: Nanos) {
        for at in 0..self.threads.len() {
            let thread = ThreadId(at as u32);
            if accounting.is_alive(thread) {
                let now = &mut Step {
                    tables,
                    accounting,
                    time,
                    thread,
                };
                self.leave_open(now);
            }
        }
    }

    /// Recording pauses at `time`, or goes on. States go on, and nothing is accounted for meanwhile.
    pub fn pause(&mut self, accounting: &mut TimeAccounting, time: Nanos, paused: bool) {
        if paused {
            self.locks.pause(&mut AccountingNow { accounting, time });
            accounting.pause(time);
        } else {
            accounting.resume(time);
            self.locks.resume(time);
        }
    }

    /// Who waited for whom until `time`, since the last call.
    pub fn take_lock_waits(&mut self, time: Nanos) -> Vec<LockWaits> {
        self.locks.take_waits(time)
    }

    /// The instances that the thread is in now.
    #[inline]
    pub fn within_of(&self, thread: ThreadId) -> Within {
        self.threads
            .get(thread.index())
            .map_or_else(Within::default, |stack| stack.top().within)
    }
}

/// The steps.
impl Machine {
    /// The thread enters a wait, a call or a reduction in its current task.
    #[inline]
    pub(super) fn push(&mut self, now: &mut Step<'_>, cause: Cause, state: State, call: FrameId) {
        let stack = &mut self.threads[now.thread.index()];
        let top = *stack.top();
        let (context, within) = (top.context, top.within);
        // Helper threads of the runtime are idle in every barrier outside of tasks.
        let state = match cause {
            Cause::Sync(_) if top.state == State::Idle && top.cause != Cause::Base => State::Idle,
            _ => state,
        };
        let thread_state = ThreadState {
            state,
            context,
            call,
        };
        stack.push(Level {
            cause,
            state,
            context,
            thread_state: self.ids.thread_state(now.tables, thread_state),
            id: Instance::NONE,
            within,
        });
    }

    /// The thread enters a region or task.
    #[inline]
    pub(super) fn enter(
        &mut self,
        now: &mut Step<'_>,
        cause: Cause,
        state: State,
        instance: InContext,
    ) {
        let InContext {
            context,
            id,
            within,
        } = instance;
        self.threads[now.thread.index()].push(Level {
            cause,
            state,
            context,
            thread_state: self.ids.without_call(now.tables, state, context),
            id,
            within,
        });
    }

    /// The thread enters the region in the slot that `cause` names.
    #[inline]
    pub(super) fn enter_region(&mut self, now: &mut Step<'_>, cause: Cause, state: State) {
        let (Cause::Fork(slot) | Cause::Implicit(slot)) = cause else {
            return;
        };
        let region = self.regions.at(slot);
        let state = if region.is_of_helpers() {
            State::Idle
        } else {
            state
        };
        let instance = InContext {
            context: region.context,
            id: region.id,
            within: region.within,
        };
        self.enter(now, cause, state, instance);
    }

    /// The instance ids of a region that is created now, in this task.
    pub(super) fn new_region(&mut self, now: &Step<'_>, task: u64) -> Within {
        let created = self.created(now);
        created.region += 1;
        Within {
            region: created.region,
            task,
        }
    }

    /// The number of instances that the process of the event's thread has created.
    pub(super) fn created(&mut self, now: &Step<'_>) -> &mut Within {
        let thread = now.tables.threads.get(now.thread.index());
        let process = thread.map_or(0, |thread| thread.process.index());
        if self.created.len() <= process {
            self.created.resize(process + 1, Within::default());
        }
        &mut self.created[process]
    }

    /// Pops a thread's stack down to `depth`, and finds the regions that are over by that.
    #[inline]
    pub(super) fn unwind(&mut self, thread: ThreadId, depth: usize) {
        let mut stack = &mut self.threads[thread.index()];
        while stack.depth() > depth {
            let level = stack.pop();
            match level.cause {
                Cause::Fork(slot) if self.regions.open(slot, level.id).is_some() => {
                    self.ending.push(slot);
                }
                Cause::Implicit(slot) => {
                    let open = self.regions.open(slot, level.id);
                    if open.is_some_and(|region| region.owner != Some(thread)) {
                        self.worker_left(slot, level.id);
                        stack = &mut self.threads[thread.index()];
                    }
                }
                _ => {}
            }
        }
    }

    /// A worker has left the open region. Workers are released only after the join, so if the
    /// region's end may have been lost, the region is over.
    #[cold]
    fn worker_left(&mut self, slot: Slot, id: Instance) {
        let over = match self.regions.at(slot).owner {
            None => true,
            Some(owner) => {
                let owner = &self.threads[owner.index()];
                let fork = owner.find(|level| level.cause == Cause::Fork(slot) && level.id == id);
                fork.is_none_or(|at| {
                    let above = &owner.levels()[at..];
                    above.iter().any(|level| level.cause == Cause::Lost)
                })
            }
        };
        if over {
            self.ending.push(slot);
        }
    }
}

impl Step<'_> {
    /// From now on the thread does what its innermost level says.
    #[inline]
    pub(super) fn set_state(&mut self, thread: ThreadId, top: &Level) {
        self.accounting
            .thread_state(thread, self.time, top.thread_state, top.state, top.within);
    }

    /// The accounting at the time of this event.
    #[inline]
    pub(super) fn accounting_now(&mut self) -> AccountingNow<'_> {
        AccountingNow {
            accounting: self.accounting,
            time: self.time,
        }
    }

    /// The useful work of the region's team in it until now.
    pub(super) fn team_work(&self, region: &Region) -> TeamWork {
        let mut work = TeamWork {
            team: region.team,
            ..TeamWork::default()
        };
        let primary = region.owner.zip(region.primary);
        let primary = primary.map(|(thread, worked)| Member { thread, worked });
        for member in primary.iter().chain(&region.members) {
            let worked = self.accounting.worked(member.thread, self.time);
            let worked = worked.since(member.worked);
            work.longest = work.longest.max(worked);
            work.total.0 += worked.0;
        }
        work
    }

    /// The thread is born, unless it is dead. Returns whether it is alive.
    pub(super) fn birth(&mut self, what: What) -> bool {
        let scheduling = match what {
            What::Birth(scheduling) => scheduling,
            _ => Scheduling::Running,
        };
        self.accounting.birth(self.thread, self.time, scheduling);
        let alive = self.accounting.is_alive(self.thread);
        if alive && let Some(row) = self.tables.threads.get_mut(self.thread.index()) {
            row.birth = self.time;
            self.accounting.join(self.thread, row.process);
        }
        alive
    }
}
