//! The OpenMP state machine: what each event does.
//!
//! The rules are those of the OMPT chapter of the OpenMP specification (5.2, chapter 19), relaxed
//! for what runtimes really send: an end may come late, without its region, or not at all. So every
//! end pops to its match, and nothing is asserted.

use experiment::ids::{ContextId, FrameId, Nanos, ProcessId, StackId, ThreadId, ThreadStateId};
use experiment::rows::Within;
use experiment::state::{Scheduling, State};
use experiment::tables::{Context, ContextKind, Tables, ThreadKind, ThreadState};

use super::account::RegionRun;
use super::accounting::TimeAccounting;
use super::joins::is_fork;
use super::locks::{LockId, LockSlot};
use super::machine::{InContext, Machine, Step};
use super::regions::{Member, Slot};
use super::thread::{
    Cause, ConstructStack, DEEPEST, Level, is_barrier, may_join, waiting, waiting_for,
};
use crate::stream::{Event, Instance, Lock, Mutex, Site, Sync, Waits, What};

/// Whether the event's thread is a helper of the runtime.
fn is_helper(now: &Step<'_>) -> bool {
    let thread = now.tables.threads.get(now.thread.index());
    thread.is_some_and(|row| row.kind == ThreadKind::Other)
}

impl Machine {
    /// Applies one event. `tables` and `accounting` must be the same at each call: contexts and
    /// thread states are added to the tables.
    ///
    /// Sets the kind, the birth and the death of the thread's row in the tables. A thread without
    /// [`What::Birth`] is born, running, at its first event. Events after its [`What::Exit`] are
    /// ignored.
    pub fn apply(&mut self, tables: &mut Tables, accounting: &mut TimeAccounting, event: &Event) {
        let thread = event.thread;
        if self.threads.len() <= thread.index() {
            self.threads
                .resize_with(thread.index() + 1, ConstructStack::default);
        }
        let now = &mut Step {
            tables,
            accounting,
            time: event.time,
            thread,
        };
        if !now.accounting.is_alive(thread) {
            if !now.birth(event.what) {
                return;
            }
            self.born(now);
        }
        match event.what {
            What::Birth(scheduling) | What::SwitchOut(scheduling) => {
                now.accounting.scheduling(thread, now.time, scheduling);
            }
            What::SwitchIn => now
                .accounting
                .scheduling(thread, now.time, Scheduling::Running),
            What::OffCpu {
                blocked,
                preempted,
                open,
            } => {
                let known = (blocked, preempted);
                now.accounting.off_cpu(thread, now.time, known, open);
            }
            What::Exit => self.exit(now),
            _ => self.openmp(now, event.what),
        }
    }

    /// The thread has begun: as a helper of MPI, if its process initialises that.
    fn born(&self, now: &mut Step<'_>) {
        if let Some(row) = now.tables.threads.get_mut(now.thread.index())
            && row.kind == ThreadKind::Outside
            && self
                .mpi_starts
                .iter()
                .any(|(_, process)| *process == row.process)
        {
            row.kind = ThreadKind::Other;
            now.accounting.set_helper(now.thread, true);
        }
    }

    fn openmp(&mut self, now: &mut Step<'_>, what: What) {
        let thread = now.thread;
        // A thread with events is one of the program's: it was made while another one initialised MPI.
        if now.accounting.set_helper(thread, false)
            && let Some(row) = now.tables.threads.get_mut(thread.index())
        {
            row.kind = ThreadKind::Outside;
        }
        let stack = &mut self.threads[thread.index()];
        // Any event ends a wait for a mutex, acquired or not (a nestable lock, a failed test).
        let mut waited = ThreadStateId::OUTSIDE;
        if stack.top().cause == Cause::MutexWait {
            waited = stack.pop().thread_state;
            self.locks.wait_is_over(&mut now.accounting_now(), thread);
        }
        match what {
            What::ThreadBegin(kind) => self.thread_begin(now, kind),
            // A thread of a nested team of libgomp ends while it leaves the join barrier, whose end
            // is that of the region or of the thread.
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
            } => self.implicit_begin(now, region, size, index),
            What::ImplicitEnd { region } => self.implicit_end(now, region),
            What::SyncBegin { kind, region, call } => self.sync_begin(now, kind, region, call),
            What::SyncEnd { kind } => self.end_of(now, Cause::Sync(kind)),
            What::MutexAcquire { kind, lock, call } => {
                stack.drop_waits();
                self.push(now, Cause::MutexWait, waiting_for(kind), call);
                let slot = self.lock(now, kind, lock);
                self.locks
                    .wait(&mut now.accounting_now(), thread, (slot, call));
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
            What::MpiBegin {
                state,
                begins_mpi,
                call,
            } => {
                stack.drop_waits();
                self.push(now, Cause::Mpi, state, call);
                if begins_mpi {
                    self.begins_mpi(now, true);
                }
            }
            What::MpiEnd => {
                self.begins_mpi(now, false);
                self.end_of(now, Cause::Mpi);
            }
            What::MpiPolls { state, call, waits } => {
                self.waited_shortly(now, state, call, waits);
            }
            What::TaskCreate { task, site, of } => {
                self.task_create(now, task, site, of);
                return;
            }
            What::TaskDivide { task } => {
                self.task_divide(now, task);
                return;
            }
            What::TaskSchedule { next, prior_done } => self.task_schedule(now, next, prior_done),
            What::ShortSync { kind, call, waits } => {
                self.waited_shortly(now, waiting(kind), call, waits);
            }
            What::ShortMutex {
                kind,
                lock,
                call,
                waits,
            } => self.mutex_was_short(now, (kind, lock), call, waits),
            What::ShortHold {
                call,
                acquiring,
                held,
            } => self.held_shortly(now, call, acquiring, held),
            What::Lost => self.lost(now),
            What::LostWaits => {
                self.locks.forget(&mut now.accounting_now(), thread);
                self.drop_calls(thread);
            }
            What::MutexAcquired { kind, lock } => self.hold(now, waited, kind, lock),
            What::MutexReleased { kind, lock } => self.release(now, kind, lock),
            What::MutexAsked => {}
            What::Birth(_)
            | What::Exit
            | What::SwitchOut(_)
            | What::SwitchIn
            | What::OffCpu { .. } => {}
        }
        if self.threads[now.thread.index()].depth() > DEEPEST {
            self.locks.forget(&mut now.accounting_now(), thread);
            self.unwind(now.thread, 1);
            self.push(now, Cause::Lost, State::Unknown, FrameId::NONE);
        }
        self.settle(now);
        now.set_state(now.thread, self.threads[now.thread.index()].top());
    }

    /// The thread begins to initialise MPI, or ends that. Threads that its process starts meanwhile are MPI's.
    fn begins_mpi(&mut self, now: &Step<'_>, begins: bool) {
        let thread = now.thread;
        self.mpi_starts
            .retain(|(initialising, _)| *initialising != thread);
        if let Some(row) = now.tables.threads.get(thread.index()).filter(|_| begins) {
            self.mpi_starts.push((thread, row.process));
        }
    }

    /// Waits for a mutex that were short, and so were its holds.
    fn mutex_was_short(
        &mut self,
        now: &mut Step<'_>,
        (kind, lock): (Mutex, Lock),
        call: FrameId,
        waits: Waits,
    ) {
        if let Some(state) = self.waited_shortly(now, waiting_for(kind), call, waits) {
            let slot = self.lock(now, kind, lock);
            let thread = now.thread;
            self.locks
                .held_shortly(&mut now.accounting_now(), thread, state, (slot, call));
        }
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

    /// The thread has acquired the mutex that it waited for in the thread state `waited`. Its state
    /// is as before the wait. The call is kept: it lets a reader find what the thread does while
    /// others may wait for it, and whether that is user code or, where compilers implement
    /// reductions by critical sections, combining.
    fn hold(&mut self, now: &mut Step<'_>, waited: ThreadStateId, kind: Mutex, lock: Lock) {
        let thread = now.thread;
        let slot = self.lock(now, kind, lock);
        let call = now
            .tables
            .thread_states
            .get(waited.0)
            .map(|thread_state| thread_state.call);
        let call = call.unwrap_or(FrameId::NONE);
        self.locks
            .hold(&mut now.accounting_now(), thread, (slot, call));
        // An atomic operation ends before the next event, and some mutexes have no release event.
        let ends = match kind {
            Mutex::Atomic => false,
            Mutex::Critical => true,
            Mutex::Lock | Mutex::NestLock | Mutex::Ordered => lock != Lock::NONE,
        };
        let stack = &self.threads[now.thread.index()];
        if !ends || stack.held(slot).is_some() {
            return;
        }
        let state = stack.top().state;
        self.push(now, Cause::MutexHeld(slot), state, call);
    }

    /// The thread has waited shortly in its state, which is therefore shorter. Returns that state;
    /// `None` if it is itself a wait, since then events were lost.
    fn waited_shortly(
        &mut self,
        now: &mut Step<'_>,
        state: State,
        call: FrameId,
        waits: Waits,
    ) -> Option<ThreadStateId> {
        let top = *self.threads[now.thread.index()].top();
        if top.state.is_wait() {
            return None;
        }
        if waits.time > Nanos(0) {
            let wait = ThreadState {
                state,
                context: top.context,
                call,
            };
            let wait = self.ids.thread_state(now.tables, wait);
            now.set_state(now.thread, &top);
            now.accounting
                .waited_shortly(now.thread, now.time, (wait, state), waits);
        }
        Some(top.thread_state)
    }

    /// The thread has acquired mutexes without waiting, and held them shortly. While it held one its
    /// state was that of a hold.
    fn held_shortly(&mut self, now: &mut Step<'_>, call: FrameId, acquiring: Nanos, held: Nanos) {
        let top = *self.threads[now.thread.index()].top();
        if top.state.is_wait() {
            return;
        }
        now.set_state(now.thread, &top);
        let mut state = |state: State| {
            let thread_state = ThreadState {
                state,
                context: top.context,
                call,
            };
            self.ids.thread_state(now.tables, thread_state)
        };
        let (overhead, hold) = (state(State::Overhead), state(top.state));
        now.accounting.acquired_shortly(
            now.thread,
            now.time,
            (overhead, acquiring),
            ((hold, top.state), held),
        );
    }

    /// Pops what the thread does in its task: waits, mutexes, calls. Their ends may be lost.
    fn drop_calls(&mut self, thread: ThreadId) {
        let levels = self.threads[thread.index()].levels_mut();
        let is_call = |level: &Level| {
            !matches!(
                level.cause,
                Cause::Base | Cause::Fork(_) | Cause::Implicit(_) | Cause::Task | Cause::Lost
            )
        };
        let first = levels.iter().rposition(|level| !is_call(level));
        levels.truncate(first.map_or(1, |at| at + 1));
    }

    fn release(&mut self, now: &mut Step<'_>, kind: Mutex, lock: Lock) {
        let thread = now.thread;
        let slot = self.lock(now, kind, lock);
        let top = self.threads[thread.index()].top();
        let thread_state = (!top.state.is_wait()).then_some(top.thread_state);
        self.locks
            .release(&mut now.accounting_now(), thread, thread_state, slot);
        // Mutexes may be released in any order.
        let stack = &mut self.threads[now.thread.index()];
        if let Some(at) = stack.held(slot) {
            stack.levels_mut().remove(at);
        }
    }

    fn exit(&mut self, now: &mut Step<'_>) {
        let thread = now.thread;
        self.locks.forget(&mut now.accounting_now(), thread);
        self.leave_open(now);
        self.unwind(now.thread, 1);
        // A recording may have many short-lived threads.
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
            ThreadKind::Worker | ThreadKind::Other => State::Idle,
            ThreadKind::Outside => State::Outside,
        };
        let thread_state = self.ids.without_call(now.tables, state, ContextId::ROOT);
        self.threads[now.thread.index()].set_base(state, thread_state);
        if let Some(row) = now.tables.threads.get_mut(now.thread.index()) {
            row.kind = kind;
        }
    }

    fn parallel_begin(&mut self, now: &mut Step<'_>, id: Instance, site: Site, teams: bool) {
        self.threads[now.thread.index()].drop_waits();
        self.encounter(now, site.stack);
        let top = *self.threads[now.thread.index()].top();
        let task = top.within.task;
        let is_team = !teams && site.stack == StackId::EMPTY && self.is_league(now.tables, &top);
        let context = if is_team || (top.context == ContextId::ROOT && is_helper(now)) {
            top.context
        } else {
            let context = Context {
                parent: top.context,
                kind: if teams {
                    ContextKind::Teams
                } else {
                    ContextKind::Region
                },
                stack: site.stack,
                python: site.python,
                body: site.body,
            };
            self.ids.context(now.tables, context)
        };
        let slot = match self.regions.find(id) {
            Some(slot) if self.is_placeholder(slot) => {
                self.relabel(now, slot, context, task);
                let region = self.regions.at_mut(slot);
                region.owner = Some(now.thread);
                region.begin = now.time;
                region.begin_seen = true;
                slot
            }
            known => {
                // An open region with the same id has ended, and its end was lost.
                self.ending.extend(known);
                self.settle(now);
                let within = match context {
                    _ if is_team => top.within,
                    ContextId::ROOT => Within::default(),
                    _ => self.new_region(now, task),
                };
                self.regions
                    .begin(id, context, within, Some(now.thread), now.time)
            }
        };
        if is_team {
            self.regions.at_mut(slot).counts = false;
        }
        self.enter_region(now, Cause::Fork(slot), State::Overhead);
    }

    /// Whether the level is an initial task of a league, outside of all that runs in it. There LLVM's
    /// runtimes fork a region, without a call of the program, that makes the task's thread a team.
    fn is_league(&self, tables: &Tables, level: &Level) -> bool {
        let Cause::Implicit(slot) = level.cause else {
            return false;
        };
        let context = tables.contexts.get(level.context.0);
        context.is_some_and(|context| context.kind == ContextKind::Teams)
            && self.regions.at(slot).counts
    }

    fn parallel_end(&mut self, now: &mut Step<'_>, id: Instance) {
        let found = self.threads[now.thread.index()]
            .find(|level| level.id == id && matches!(level.cause, Cause::Fork(_)));
        let mut counted = None;
        match found {
            Some(at) => {
                if let Cause::Fork(slot) = self.threads[now.thread.index()].levels()[at].cause {
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
            // Outside its last region, the initial thread runs serial code.
            stack.pop();
        }
        now.set_state(now.thread, stack.top());
        if let Some(slot) = counted {
            self.count_region(now, slot);
        }
    }

    /// An instance of the region ends now, on the thread that encountered it.
    pub(super) fn count_region(&self, now: &mut Step<'_>, slot: Slot) {
        let region = self.regions.at(slot);
        if !region.counts {
            return;
        }
        let run = RegionRun {
            context: region.context,
            within: region.within,
            start: region.begin,
            end: now.time,
            work: now.team_work(region),
        };
        now.accounting.region(now.thread, run);
    }

    fn implicit_begin(&mut self, now: &mut Step<'_>, id: Instance, size: u16, index: u16) {
        // LLVM's runtimes announce the initial task of a league of one team as one of no region, or of
        // one that has ended.
        let forked = match self.threads[now.thread.index()].top() {
            Level {
                cause: Cause::Fork(slot),
                id,
                ..
            } => self.regions.open(*slot, *id).map(|region| region.id),
            _ => None,
        };
        let id = forked.unwrap_or(id);
        if id == Instance::NONE {
            // The initial task of the program, or of a thread that the program created.
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

    /// The thread is in its implicit task of the region, whatever it did before.
    fn implicit(&mut self, now: &mut Step<'_>, slot: Slot, primary: bool) {
        let thread = now.thread;
        let initial = self.threads[thread.index()].base().state == State::Serial;
        if (primary || initial) && self.is_placeholder(slot) {
            // The primary thread is the one that encountered the region. An initial thread is only
            // in teams that it forks.
            let region = self.regions.at_mut(slot);
            region.owner = Some(thread);
            region.begin = now.time;
            self.enter_region(now, Cause::Fork(slot), State::Overhead);
        }
        let region = self.regions.at(slot);
        let (id, owner, is_of_helpers) = (region.id, region.owner, region.is_of_helpers());
        let stack = &self.threads[thread.index()];
        if let Some(at) = stack.find(|level| level.cause == Cause::Implicit(slot) && level.id == id)
        {
            self.unwind(thread, at + 1);
            return;
        }
        let fork = stack.find(|level| level.cause == Cause::Fork(slot) && level.id == id);
        match fork {
            Some(at) => self.unwind(thread, at + 1),
            None => self.unwind(thread, 1),
        }
        let worked = now.accounting.worked(thread, now.time);
        if owner == Some(thread) {
            self.regions.at_mut(slot).primary = Some(worked);
        } else {
            self.regions.join(slot, Member { thread, worked });
            if let Some(row) = now.tables.threads.get_mut(thread.index()) {
                row.kind = match row.kind {
                    _ if is_of_helpers => ThreadKind::Other,
                    // The event that announced it was lost.
                    ThreadKind::Outside => ThreadKind::Worker,
                    known => known,
                };
            }
        }
        self.enter_region(now, Cause::Implicit(slot), State::Work);
    }

    fn implicit_end(&mut self, now: &mut Step<'_>, id: Instance) {
        let stack = &self.threads[now.thread.index()];
        let found = stack.find(|level| {
            matches!(level.cause, Cause::Implicit(_)) && (id == Instance::NONE || level.id == id)
        });
        // The implicit task of a worker whose region ended has ended already.
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
                        // The event comes after the region's end, so the wait is over.
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

    /// Whether the thread's innermost team has no other thread. A barrier then waits for nobody,
    /// and LLVM's runtimes send only its begin.
    fn is_alone(&self, thread: ThreadId) -> bool {
        let stack = &self.threads[thread.index()];
        let implicit = |level: &Level| matches!(level.cause, Cause::Implicit(_) | Cause::Lost);
        let innermost = stack.find(implicit).map(|at| stack.levels()[at]);
        innermost.is_some_and(|level| match level.cause {
            Cause::Implicit(slot) => {
                let region = self.regions.open(slot, level.id);
                region.is_some_and(|region| region.team == 1)
            }
            _ => false,
        })
    }

    /// The end of a construct that is not a task: pops to its begin in this task. Without a begin
    /// it is the late end of a worker, whose region ended before.
    fn end_of(&mut self, now: &mut Step<'_>, cause: Cause) {
        let mut lost = false;
        let stack = &self.threads[now.thread.index()];
        let found = stack.find_inside(|it| {
            lost |= *it == Cause::Lost;
            *it == cause || (*it == Cause::Task && !lost)
        });
        if let Some(at) = found
            && stack.levels()[at].cause == cause
        {
            self.unwind(now.thread, at);
        }
    }

    fn lost(&mut self, now: &mut Step<'_>) {
        let thread = now.thread;
        self.locks.forget(&mut now.accounting_now(), thread);
        let last = self.threads[now.thread.index()].top().context;
        // The end of a team of one is visible on no other thread, and whether the next fork is
        // inside a region is visible only by that region's fork point. Without either, take the
        // region as ended.
        while let Some(at) = self.threads[now.thread.index()].find(is_fork) {
            let level = &self.threads[now.thread.index()].levels()[at];
            let Cause::Fork(slot) = level.cause else {
                break;
            };
            let region = self.regions.at(slot);
            if region.team > 1 && region.begin_seen {
                break;
            }
            self.unwind(now.thread, at);
        }
        // Tasks and waits may be over. Whether a region is over is found out later.
        let within = self.threads[now.thread.index()].find(|level| {
            matches!(
                level.cause,
                Cause::Base | Cause::Fork(_) | Cause::Implicit(_)
            )
        });
        self.unwind(now.thread, within.map_or(1, |at| at + 1));
        let instance = InContext {
            context: last,
            id: Instance::NONE,
            within: Within::default(),
        };
        self.enter(now, Cause::Lost, State::Unknown, instance);
    }
}
