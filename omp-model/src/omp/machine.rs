//! The OpenMP state machine: what it knows, and the steps that it is made of.

use experiment::ids::{ContextId, FrameId, Nanos, ThreadId, ThreadStateId};
use experiment::rows::Within;
use experiment::state::{Scheduling, State};
use experiment::tables::{Tables, ThreadState};

use super::account::TeamWork;
use super::accounting::TimeAccounting;
use super::labels::Labels;
use super::locks::{AccountingNow, Locks};
use super::regions::{Member, Region, Regions, Slot, Tasks};
use super::thread::{Cause, Entry, Stack};
use crate::stream::{Instance, What};

/// What every thread of the recording does, at the time of the last event.
///
/// Fed with one stream of events sorted by time over all threads and processes; events of one
/// thread must be in that thread's order even where their times are equal. Instances must be
/// unique over all processes while they are alive. Nothing is assumed beyond that: any order of
/// any events is taken, and makes states that are wrong at most until the next region.
#[derive(Debug)]
pub struct Machine {
    /// By [`ThreadId`].
    pub(super) threads: Vec<Stack>,
    pub(super) regions: Regions,
    pub(super) tasks: Tasks,
    pub(super) locks: Locks,
    pub(super) labels: Labels,
    /// How many instances each process has created, by [`experiment::ids::ProcessId`].
    pub(super) created: Vec<Within>,
    /// Regions found to be over, whose end is still to be told to their threads.
    pub(super) ending: Vec<Slot>,
}

/// Where an event happens, and where its consequences are written.
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
            labels: Labels::new(),
            created: Vec::new(),
            ending: Vec::new(),
        }
    }

    /// What the thread does now; [`ThreadStateId::OUTSIDE`] for one that no event came from.
    #[inline]
    pub fn thread_state_of(&self, thread: ThreadId) -> ThreadStateId {
        self.threads
            .get(thread.index())
            .map_or(ThreadStateId::OUTSIDE, |stack| stack.top().thread_state)
    }

    /// The instances that the thread is in now.
    #[inline]
    pub fn within_of(&self, thread: ThreadId) -> Within {
        self.threads
            .get(thread.index())
            .map_or_else(Within::default, |stack| stack.top().within)
    }
}

/// What the steps are made of.
impl Machine {
    /// The thread waits, or reduces, in its current task.
    #[inline]
    pub(super) fn push(&mut self, now: &mut Step<'_>, cause: Cause, state: State, call: FrameId) {
        let stack = &mut self.threads[now.thread.index()];
        let Entry {
            context, within, ..
        } = *stack.top();
        let thread_state = ThreadState {
            state,
            context,
            call,
        };
        stack.push(Entry {
            cause,
            state,
            context,
            thread_state: self.labels.thread_state(now.tables, thread_state),
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
        (state, context): (State, ContextId),
        (id, within): (Instance, Within),
    ) {
        self.threads[now.thread.index()].push(Entry {
            cause,
            state,
            context,
            thread_state: self.labels.without_call(now.tables, state, context),
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
        let (state, whose) = ((state, region.context), (region.id, region.within));
        self.enter(now, cause, state, whose);
    }

    /// The numbers of a region that is created now, in this task.
    pub(super) fn new_region(&mut self, now: &Step<'_>, task: u64) -> Within {
        let created = self.created(now);
        created.region += 1;
        Within {
            region: created.region,
            task,
        }
    }

    /// How many instances the process of the event's thread has created.
    pub(super) fn created(&mut self, now: &Step<'_>) -> &mut Within {
        let thread = now.tables.threads.get(now.thread.index());
        let process = thread.map_or(0, |thread| thread.process.index());
        if self.created.len() <= process {
            self.created.resize(process + 1, Within::default());
        }
        &mut self.created[process]
    }

    /// Pops a thread's entries down to `depth`, and finds which regions are over by that.
    #[inline]
    pub(super) fn unwind(&mut self, thread: ThreadId, depth: usize) {
        let mut stack = &mut self.threads[thread.index()];
        while stack.depth() > depth {
            let entry = stack.pop();
            match entry.cause {
                Cause::Fork(slot) if self.regions.open(slot, entry.id).is_some() => {
                    self.ending.push(slot);
                }
                Cause::Implicit(slot) => {
                    let open = self.regions.open(slot, entry.id);
                    if open.is_some_and(|region| region.owner != Some(thread)) {
                        self.left(slot, entry.id);
                        stack = &mut self.threads[thread.index()];
                    }
                }
                _ => {}
            }
        }
    }

    /// A worker has left the open region, and is released only after its region's join: where
    /// the region's end may have been lost, that tells it.
    #[cold]
    fn left(&mut self, slot: Slot, id: Instance) {
        let over = match self.regions.at(slot).owner {
            None => true,
            Some(owner) => {
                let owner = &self.threads[owner.index()];
                let fork = owner.find(|entry| entry.cause == Cause::Fork(slot) && entry.id == id);
                fork.is_none_or(|at| {
                    let above = &owner.entries()[at..];
                    above.iter().any(|entry| entry.cause == Cause::Lost)
                })
            }
        };
        if over {
            self.ending.push(slot);
        }
    }
}

impl Step<'_> {
    /// From now on the thread does what its innermost entry says.
    #[inline]
    pub(super) fn tell(&mut self, thread: ThreadId, top: &Entry) {
        let what = (top.thread_state, top.state);
        self.accounting
            .thread_state(thread, self.time, what, top.within);
    }

    /// Where waiting for mutexes is accounted for, now.
    #[inline]
    pub(super) fn accounting_now(&mut self) -> AccountingNow<'_> {
        AccountingNow {
            accounting: self.accounting,
            time: self.time,
        }
    }

    /// How much the threads of the region's team have worked in it until now.
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

    /// Whether the thread lives at the end of this: it is born unless it is dead already.
    pub(super) fn birth(&mut self, what: What) -> bool {
        let scheduling = match what {
            What::Birth(scheduling) => scheduling,
            _ => Scheduling::Running,
        };
        self.accounting.birth(self.thread, self.time, scheduling);
        let alive = self.accounting.is_alive(self.thread);
        if alive && let Some(row) = self.tables.threads.get_mut(self.thread.index()) {
            row.birth = self.time;
        }
        alive
    }
}
