//! The OpenMP state machine: what each event does.
//!
//! The constructs' rules are those of the OMPT chapter of the OpenMP specification (5.2, chapter
//! 19), bent to what runtimes really send: ends may come late, without their region, or not at
//! all, so that every end pops to its match and nothing is asserted.

use experiment::ids::{ContextId, FrameId, ProcessId, ThreadId, ThreadStateId};
use experiment::rows::Within;
use experiment::state::{Scheduling, State};
use experiment::tables::{Context, ContextKind, Tables, ThreadKind};

use super::accounting::TimeAccounting;
use super::joins::is_fork;
use super::locks::{LockId, LockSlot};
use super::machine::{Machine, Step};
use super::regions::{Member, Slot};
use super::thread::{Cause, DEEPEST, Entry, Stack, is_barrier, may_join, waiting};
use crate::stream::{Event, Instance, Lock, Mutex, Site, Sync, What};

impl Machine {
    /// One event. `tables` and `accounting` must be the same at each call: contexts and thread
    /// states are added to the tables.
    ///
    /// The thread's row in the tables gets its kind, and its birth and death as they are accounted
    /// for. A thread without [`What::Birth`] is born, running, at its first event; after its
    /// [`What::Exit`] its events are ignored.
    pub fn apply(&mut self, tables: &mut Tables, accounting: &mut TimeAccounting, event: &Event) {
        let thread = event.thread;
        if self.threads.len() <= thread.index() {
            self.threads.resize_with(thread.index() + 1, Stack::default);
        }
        let now = &mut Step {
            tables,
            accounting,
            time: event.time,
            thread,
        };
        if !now.accounting.is_alive(thread) && !now.birth(event.what) {
            return;
        }
        match event.what {
            What::Birth(scheduling) | What::SwitchOut(scheduling) => {
                now.accounting.scheduling(thread, now.time, scheduling);
            }
            What::SwitchIn => now
                .accounting
                .scheduling(thread, now.time, Scheduling::Running),
            What::Exit => self.exit(now),
            _ => self.openmp(now, event.what),
        }
    }

    fn openmp(&mut self, now: &mut Step<'_>, what: What) {
        let thread = now.thread;
        let stack = &mut self.threads[thread.index()];
        // Acquired or not (a nest lock re-acquired, a failed test): the thread is past waiting.
        let mut waited = ThreadStateId::OUTSIDE;
        if stack.top().cause == Cause::Mutex {
            waited = stack.pop().thread_state;
            self.locks.wait_is_over(&mut now.accounting_now(), thread);
        }
        match what {
            What::ThreadBegin(kind) => self.thread_begin(now, kind),
            // A nested team's thread of libgomp's ends on its way out of the join barrier, which is
            // over when the region is, or with the thread.
            What::ThreadEnd if matches!(stack.top().cause, Cause::Sync(Sync::BarrierParallel)) => {}
            What::ThreadEnd => {
                self.locks.forget(&mut now.accounting_now(), thread);
                self.unwind(now.thread, 1);
            }
            What::ParallelBegin {
                region,
                site,
                teams,
            } => self.parallel_begin(now, region, site, teams),
            What::ParallelEnd { region } => self.parallel_end(now, region),
            What::ImplicitBegin {
                region,
                size,
                index,
            } => self.implicit_begin(now, region, (size, index)),
            What::ImplicitEnd { region } => self.implicit_end(now, region),
            What::SyncBegin { kind, region, call } => self.sync_begin(now, kind, region, call),
            What::SyncEnd { kind } => self.end_of(now, Cause::Sync(kind)),
            What::MutexAcquire { kind, lock, call } => {
                stack.drop_waits();
                self.push(now, Cause::Mutex, kind.state(), call);
                let slot = self.lock(now, kind, lock);
                self.locks.wait(&mut now.accounting_now(), thread, slot);
            }
            What::ReductionBegin { call } => {
                if stack.top().cause == Cause::Reduction {
                    stack.pop();
                }
                self.push(now, Cause::Reduction, State::Reduction, call);
            }
            What::ReductionEnd => self.end_of(now, Cause::Reduction),
            What::OverheadBegin { call } => {
                stack.drop_waits();
                self.push(now, Cause::Overhead, State::Overhead, call);
            }
            What::OverheadEnd => self.end_of(now, Cause::Overhead),
            What::TaskCreate { task, site } => {
                self.task_create(now, task, site);
                return;
            }
            What::TaskSchedule { next, prior_done } => self.task_schedule(now, next, prior_done),
            What::Lost => self.lost(now),
            What::MutexAcquired { kind, lock } => self.hold(now, waited, (kind, lock)),
            What::MutexReleased { kind, lock } => self.release(now, kind, lock),
            What::MutexAsked => {}
            What::Birth(_) | What::Exit | What::SwitchOut(_) | What::SwitchIn => {}
        }
        if self.threads[now.thread.index()].depth() > DEEPEST {
            self.locks.forget(&mut now.accounting_now(), thread);
            self.unwind(now.thread, 1);
            self.push(now, Cause::Lost, State::Unknown, FrameId::NONE);
        }
        self.settle(now);
        now.tell(now.thread, self.threads[now.thread.index()].top());
    }

    fn lock(&mut self, now: &Step<'_>, kind: Mutex, lock: Lock) -> LockSlot {
        if lock == Lock::NONE {
            return LockSlot::NONE;
        }
        let process = now.tables.threads.get(now.thread.index());
        let process = process.map_or(ProcessId(0), |row| row.process);
        let team = match kind {
            Mutex::Ordered => self.threads[now.thread.index()].team(),
            _ => Instance::NONE,
        };
        self.locks.slot(LockId::new(process, kind, lock, team.0))
    }

    /// The thread has the mutex that it has waited for as `waited` says. It goes on as before; the
    /// place tells a reader what it does while others may wait for it, and whether that is user
    /// code or, where compilers make reductions of critical sections, combining.
    fn hold(&mut self, now: &mut Step<'_>, waited: ThreadStateId, (kind, lock): (Mutex, Lock)) {
        let thread = now.thread;
        let slot = self.lock(now, kind, lock);
        self.locks.hold(&mut now.accounting_now(), thread, slot);
        // An atomic operation is over before anything else happens, and of some mutexes no end
        // comes.
        let ends = match kind {
            Mutex::Atomic => false,
            Mutex::Critical => true,
            Mutex::Lock | Mutex::NestLock | Mutex::Ordered => lock != Lock::NONE,
        };
        let stack = &self.threads[now.thread.index()];
        if !ends || stack.held(slot).is_some() {
            return;
        }
        let call = now
            .tables
            .thread_states
            .get(waited.0)
            .map(|thread_state| thread_state.call);
        let state = stack.top().state;
        let call = call.unwrap_or(FrameId::NONE);
        self.push(now, Cause::Held(slot), state, call);
    }

    fn release(&mut self, now: &mut Step<'_>, kind: Mutex, lock: Lock) {
        let thread = now.thread;
        let slot = self.lock(now, kind, lock);
        let thread_state = self.threads[thread.index()].top().thread_state;
        self.locks
            .release(&mut now.accounting_now(), (thread, thread_state), slot);
        // Mutexes may be given back in any order.
        let stack = &mut self.threads[now.thread.index()];
        if let Some(at) = stack.held(slot) {
            stack.entries_mut().remove(at);
        }
    }

    fn exit(&mut self, now: &mut Step<'_>) {
        let thread = now.thread;
        self.locks.forget(&mut now.accounting_now(), thread);
        self.unwind(now.thread, 1);
        // A recording may hold many short-lived threads: they keep their base alone.
        self.threads[now.thread.index()].shrink();
        let end = now.accounting.exit(now.thread, now.time);
        if let Some(row) = now.tables.threads.get_mut(now.thread.index()) {
            row.death = end;
        }
        self.settle(now);
    }

    fn thread_begin(&mut self, now: &mut Step<'_>, kind: ThreadKind) {
        let state = match kind {
            ThreadKind::Initial => State::Serial,
            ThreadKind::Worker => State::Idle,
            ThreadKind::Outside | ThreadKind::Other => State::Outside,
        };
        let thread_state = self.labels.without_call(now.tables, state, ContextId::ROOT);
        self.threads[now.thread.index()].set_base(state, thread_state);
        if let Some(row) = now.tables.threads.get_mut(now.thread.index()) {
            row.kind = kind;
        }
    }

    fn parallel_begin(&mut self, now: &mut Step<'_>, id: Instance, site: Site, teams: bool) {
        self.threads[now.thread.index()].drop_waits();
        self.encounter(now, site.stack);
        let top = self.threads[now.thread.index()].top();
        let task = top.within.task;
        let context = Context {
            parent: top.context,
            kind: if teams {
                ContextKind::Teams
            } else {
                ContextKind::Region
            },
            stack: site.stack,
            body: site.body,
        };
        let context = self.labels.context(now.tables, context);
        let slot = match self.regions.find(id) {
            Some(slot) if self.is_placeholder(slot) => {
                self.relabel(now, slot, context, task);
                let region = self.regions.at_mut(slot);
                region.owner = Some(now.thread);
                region.begin = now.time;
                region.placed = true;
                slot
            }
            known => {
                // An open region whose id comes again has ended unseen.
                self.ending.extend(known);
                self.settle(now);
                let within = self.new_region(now, task);
                let whose = (context, within);
                self.regions.begin(id, whose, Some(now.thread), now.time)
            }
        };
        self.enter_region(now, Cause::Fork(slot), State::Overhead);
    }

    fn parallel_end(&mut self, now: &mut Step<'_>, id: Instance) {
        let found = self.threads[now.thread.index()]
            .find(|entry| entry.id == id && matches!(entry.cause, Cause::Fork(_)));
        let mut counted = None;
        match found {
            Some(at) => {
                if let Cause::Fork(slot) = self.threads[now.thread.index()].entries()[at].cause {
                    counted = Some(slot);
                }
                self.unwind(now.thread, at);
            }
            None => self.ending.extend(self.regions.find(id)),
        }
        let stack = &mut self.threads[now.thread.index()];
        if stack.depth() == 2
            && stack.top().cause == Cause::Lost
            && stack.base().state == State::Serial
        {
            // What the loss has left of the initial thread is serial code.
            stack.pop();
        }
        now.tell(now.thread, stack.top());
        if let Some(slot) = counted {
            let region = self.regions.at(slot);
            let (whose, span) = ((region.context, region.within), (region.begin, now.time));
            let work = now.team_work(region);
            now.accounting.region(whose, now.thread, span, work);
        }
    }

    fn implicit_begin(&mut self, now: &mut Step<'_>, id: Instance, (size, index): (u16, u16)) {
        if id == Instance::NONE {
            // The initial task of the program, or of a thread that it made by itself.
            if self.threads[now.thread.index()].base().state == State::Outside {
                self.thread_begin(now, ThreadKind::Initial);
            }
            return;
        }
        let slot = match self.regions.find(id) {
            Some(slot) => slot,
            None => self.placeholder(now, id, index == 0),
        };
        let region = self.regions.at_mut(slot);
        region.team = region.team.max(size);
        self.implicit(now, slot, index == 0);
    }

    /// The thread is in its implicit task of the region, whatever it was in before.
    fn implicit(&mut self, now: &mut Step<'_>, slot: Slot, primary: bool) {
        let thread = now.thread;
        let initial = self.threads[thread.index()].base().state == State::Serial;
        if (primary || initial) && self.is_placeholder(slot) {
            // The primary thread is the one that encountered the region, and an initial thread
            // is in no team but those that it forks.
            let region = self.regions.at_mut(slot);
            region.owner = Some(thread);
            region.begin = now.time;
            self.enter_region(now, Cause::Fork(slot), State::Overhead);
        }
        let region = self.regions.at(slot);
        let (id, owner) = (region.id, region.owner);
        let stack = &self.threads[thread.index()];
        if let Some(at) = stack.find(|entry| entry.cause == Cause::Implicit(slot) && entry.id == id)
        {
            self.unwind(thread, at + 1);
            return;
        }
        let fork = stack.find(|entry| entry.cause == Cause::Fork(slot) && entry.id == id);
        match fork {
            Some(at) => self.unwind(thread, at + 1),
            None => self.unwind(thread, 1),
        }
        let worked = now.accounting.worked(thread, now.time);
        if owner == Some(thread) {
            self.regions.at_mut(slot).primary = Some(worked);
        } else {
            self.regions.join(slot, Member { thread, worked });
        }
        self.enter_region(now, Cause::Implicit(slot), State::Work);
    }

    fn implicit_end(&mut self, now: &mut Step<'_>, id: Instance) {
        let stack = &self.threads[now.thread.index()];
        let found = stack.find(|entry| {
            matches!(entry.cause, Cause::Implicit(_)) && (id == Instance::NONE || entry.id == id)
        });
        // A worker that was told of its region's end has nothing left to end.
        let Some(at) = found else { return };
        self.unwind(now.thread, at);
        if at == 1 {
            self.retire(now.tables, now.thread);
        }
    }

    fn sync_begin(&mut self, now: &mut Step<'_>, kind: Sync, id: Instance, call: FrameId) {
        let stack = &mut self.threads[now.thread.index()];
        stack.drop_waits();
        let top = *stack.top();
        if is_barrier(kind) && self.is_alone(now.thread) {
            return;
        }
        let known = match top.cause {
            Cause::Implicit(slot) => top.id == id && self.regions.open(slot, id).is_some(),
            _ => false,
        };
        if may_join(kind) && id != Instance::NONE && !known {
            match self.regions.find(id) {
                Some(slot) => {
                    let region = self.regions.at(slot);
                    if region.ended && region.owner != Some(now.thread) {
                        // It came after its region's end: there is nothing left to wait for.
                        self.unwind(now.thread, 1);
                        self.retire(now.tables, now.thread);
                        return;
                    }
                    if !region.ended {
                        self.implicit(now, slot, false);
                    }
                }
                None => {
                    let slot = self.placeholder(now, id, false);
                    self.implicit(now, slot, false);
                }
            }
        }
        self.push(now, Cause::Sync(kind), waiting(kind), call);
    }

    /// Whether the thread's innermost team has no other thread. Nobody is waited for in a barrier
    /// then, of which LLVM's runtimes tell the begin and not the end.
    fn is_alone(&self, thread: ThreadId) -> bool {
        let stack = &self.threads[thread.index()];
        let implicit = |entry: &Entry| matches!(entry.cause, Cause::Implicit(_) | Cause::Lost);
        let innermost = stack.find(implicit).map(|at| stack.entries()[at]);
        innermost.is_some_and(|entry| match entry.cause {
            Cause::Implicit(slot) => {
                let region = self.regions.open(slot, entry.id);
                region.is_some_and(|region| region.team == 1)
            }
            _ => false,
        })
    }

    /// The end of a construct that is not a task: pops to its begin in this task. Without one it
    /// is a worker's late end, and long dealt with.
    fn end_of(&mut self, now: &mut Step<'_>, cause: Cause) {
        let mut lost = false;
        let stack = &self.threads[now.thread.index()];
        let found = stack.find_inside(|it| {
            lost |= *it == Cause::Lost;
            *it == cause || (*it == Cause::Task && !lost)
        });
        if let Some(at) = found
            && stack.entries()[at].cause == cause
        {
            self.unwind(now.thread, at);
        }
    }

    fn lost(&mut self, now: &mut Step<'_>) {
        let thread = now.thread;
        self.locks.forget(&mut now.accounting_now(), thread);
        let last = self.threads[now.thread.index()].top().context;
        // The end of a team of one shows on no other thread, and whether the next fork is inside
        // a region shows by that region's place: without either, take the end as lost.
        while let Some(at) = self.threads[now.thread.index()].find(is_fork) {
            let entry = &self.threads[now.thread.index()].entries()[at];
            let Cause::Fork(slot) = entry.cause else {
                break;
            };
            let region = self.regions.at(slot);
            if region.team > 1 && region.placed {
                break;
            }
            self.unwind(now.thread, at);
        }
        // Tasks and waits may be over; of a region it is found out later.
        let within = self.threads[now.thread.index()].find(|entry| {
            matches!(
                entry.cause,
                Cause::Base | Cause::Fork(_) | Cause::Implicit(_)
            )
        });
        self.unwind(now.thread, within.map_or(1, |at| at + 1));
        let nowhere = (Instance::NONE, Within::default());
        self.enter(now, Cause::Lost, (State::Unknown, last), nowhere);
    }
}
