//! Deadlocks and misuse, from the events of locks, barriers and worksharing constructs.
//!
//! Threads' events come in their order by number, with what the program is then ([`Program`]). Rules
//! that need no more than a state are in modules of their own: [`holders`](crate::holders),
//! [`lock_order`](crate::lock_order), [`teams`](crate::teams), [`hang`](crate::hang).

use std::collections::BTreeMap;
use std::ops::Range;

use hashbrown::{HashMap, HashSet};
use ompt::numbers::mutex::{CRITICAL, LOCK, NEST_LOCK, ORDERED, TEST_LOCK, TEST_NEST_LOCK};
use ompt::numbers::parallel::LEAGUE;
use ompt::numbers::sync_region::{EXPLICIT, TEAMS};
use ompt::numbers::task_status::{CANCEL, COMPLETE};
use ompt::numbers::work::{LOOP, LOOP_OTHER, LOOP_STATIC, SECTIONS};
use race_stream::record::{Event, MUTEX_DECLARED, MUTEX_POSIX, WORK_MASKED, is_shared};

use crate::hang::{self, Waits};
use crate::holders::{Holders, Owner, Release};
use crate::lock_order::{Edge, Lock, LockOrder};
use crate::locksets::Held;
use crate::misuse::{Inside, Kind, Misuse, Misuses};
use crate::position::Position;
use crate::site::Call;
use crate::strands::StrandId;
use crate::teams::{JOIN, Meeting, Team};

/// What the rules ask about the program at an event.
pub trait Program {
    /// The task in which the thread is; `None` outside the program's code.
    fn task(&self, slot: u32) -> Option<Task>;
    /// The call in that task.
    fn call(&self, slot: u32, code: u64, context: u32) -> Call;
    /// The place of that task among all regions.
    fn position(&self, slot: u32) -> Position;
    /// Whether two places can be reached at one time.
    fn may_coincide(&self, one: &Position, other: &Position) -> bool;
    /// Locks that stand for an order without a lock of the program's.
    fn exclusions(&self, slot: u32) -> Vec<Held>;
    /// Whether what lies at an address lives as long as its memory is told of: it is in no stack's frame, and
    /// in no block of the heap but one for itself.
    fn is_lasting(&self, address: u64) -> bool;
}

/// A task.
#[derive(Clone, Copy, Debug)]
pub struct Task {
    /// As the owner of locks.
    pub owner: Owner,
    /// The number of an explicit task; 0: an implicit one.
    pub explicit: u64,
    /// The number of the thread in its team.
    pub index: u32,
    /// It is in a single whose end will be told.
    pub is_in_single: bool,
}

/// A thread's wait that has not ended.
#[derive(Clone, Debug)]
struct Wait {
    wants: Held,
    call: Call,
}

/// A construct in an explicit task, of which it is not certain yet that it is the task's.
#[derive(Debug)]
struct Unsure {
    task: u64,
    kind: Kind,
    call: Call,
    around: Option<Call>,
}

/// A thread that waits forever, or may.
#[derive(Clone, Debug)]
pub struct Waiter {
    /// The call by which it waits, with the number of the thread.
    pub wanted: Call,
    /// A lock; `None`: a barrier.
    pub wants: Option<Lock>,
    /// The barrier's kind.
    pub barrier: Option<u8>,
    /// The lock that it holds and another one waits for.
    pub holds: Option<(Lock, Call)>,
    /// For which threads it waits, by their numbers in its team.
    pub waits_for: Vec<u32>,
    /// Its lock was taken by a task or thread that is over.
    pub is_left: bool,
}

/// A deadlock.
#[derive(Clone, Debug)]
pub struct Deadlock {
    /// The program hangs in it; else it is possible with other timing.
    pub happened: bool,
    /// The threads; in a cycle each waits for the next one.
    pub waiters: Vec<Waiter>,
    /// Other threads that wait forever because of them.
    pub others: u32,
}

impl Deadlock {
    /// Nothing but locks is waited for, and their holders are still there.
    pub fn is_of_locks(&self) -> bool {
        let mut waiters = self.waiters.iter();
        waiters.all(|waiter| waiter.wants.is_some() && !waiter.is_left)
    }
}

/// The state of all locks and teams.
#[derive(Debug, Default)]
pub struct Synchronisation {
    holders: Holders,
    order: LockOrder,
    misuses: Misuses,
    /// Locks of new findings, which are to be named.
    found: Vec<Lock>,
    /// Locks of OpenMP that are initialised: where, if it is certain that none of them has gone with its
    /// memory.
    initialised: BTreeMap<u64, Option<Call>>,
    /// Where locks of OpenMP were destroyed, and where those that are initialised were released last.
    destroyed: HashMap<u64, Call>,
    released: HashMap<u64, Call>,
    teams: HashMap<u64, Team>,
    /// Threads that wait for a lock, by slot.
    waits: BTreeMap<u32, Wait>,
    /// Constructs in explicit tasks, by slot.
    unsure: HashMap<u32, Vec<Unsure>>,
    /// Threads of a team may come to different constructs, for its region can be cancelled.
    may_cancel: bool,
    /// The constructs that each task is in, by its strand.
    open: HashMap<StrandId, Vec<(Inside, Call)>>,
    /// Loops with an `ordered` clause, by their code, and whether a thread came to an ordered region.
    ordered: BTreeMap<u64, (Call, bool)>,
    /// The code of the loop that each task has met last.
    in_ordered: HashMap<StrandId, u64>,
    /// Tasks that have asked for another number of threads, and neither forked a region nor asked for that
    /// number since then.
    sets_threads: HashMap<StrandId, (u64, Call)>,
    /// Calls that have set a number which is of use.
    uses_threads: HashSet<u64>,
}

impl Synchronisation {
    /// Nothing has happened. `may_cancel`: constructs can be cancelled.
    pub fn new(may_cancel: bool) -> Synchronisation {
        Synchronisation {
            may_cancel,
            ..Synchronisation::default()
        }
    }

    /// The misuse found.
    pub fn misuses(&self) -> &[Misuse] {
        self.misuses.all()
    }

    /// The locks of what has been found since the last call.
    pub fn take_found(&mut self) -> Vec<Lock> {
        std::mem::take(&mut self.found)
    }

    fn misused(&mut self, kind: Kind, lock: Lock, call: Call, other: Option<Call>) {
        self.found.push(lock);
        self.misuses.add(kind, Some(lock), call, other);
    }

    /// An event, before the program's own state changes by it.
    pub fn event(&mut self, program: &dyn Program, slot: u32, event: &Event) {
        self.waits.remove(&slot);
        match *event {
            Event::Switch { from, .. } => self.confirm(slot, from),
            Event::Implicit { .. } | Event::ImplicitEnd { .. } | Event::ThreadEnd {} => {
                self.unsure.remove(&slot);
            }
            _ => {}
        }
        match *event {
            Event::ThreadEnd {} => {
                let is_its = |lock: Lock, owner: Owner| owner.slot == slot && lock.0 == MUTEX_POSIX;
                self.holders.end(is_its, |_| ());
                for team in self.teams.values_mut() {
                    for member in team.members.values_mut() {
                        member.is_over |= member.slot == slot;
                    }
                }
            }
            Event::Alloc { address, bytes, .. } => {
                self.forget(address..address.saturating_add(bytes));
                let inside = self
                    .initialised
                    .range_mut(address..address.saturating_add(bytes));
                inside.for_each(|(_, at)| *at = None);
            }
            Event::Fork {
                region,
                flags,
                threads,
                code,
                context,
                body,
                ..
            } => {
                let mut nested = None;
                if let Some(task) = program.task(slot) {
                    self.use_threads(task.owner.task);
                    let call = program.call(slot, code, context);
                    let around = self.teams.get(&task.owner.region);
                    if around.is_some_and(Team::is_active) {
                        nested = Some((call.clone(), threads));
                    }
                    let kind = Kind::RegionBegins(body);
                    self.misuses.add(kind, None, call, None);
                }
                let team = Team::forked(flags & LEAGUE != 0, nested);
                self.teams.insert(region, team);
            }
            Event::Join { region } => {
                self.teams.remove(&region);
                self.end_calls(region);
                let found = &mut self.found;
                self.holders.end(
                    |lock, owner| owner.region == region && lock.0 != MUTEX_POSIX,
                    |lock| found.push(lock),
                );
            }
            Event::Implicit {
                region,
                index,
                size,
                ..
            } => {
                if let Some(team) = self.teams.get_mut(&region) {
                    team.size = size;
                    team.members.entry(index).or_default().slot = slot;
                    if let Some((call, threads)) = team.refused() {
                        let kind = Kind::NestingRefused(*threads);
                        self.misuses.add(kind, None, call.clone(), None);
                    }
                }
            }
            _ => {
                if let Some(task) = program.task(slot) {
                    self.task_event(program, slot, task, event);
                }
            }
        }
    }

    /// What lies at these addresses from now on is no lock that was there before.
    fn forget(&mut self, addresses: Range<u64>) {
        self.holders.forget(addresses.clone());
        self.order.forget(addresses);
    }

    fn task_event(&mut self, program: &dyn Program, slot: u32, task: Task, event: &Event) {
        let owner = task.owner;
        match *event {
            Event::Arrive {
                kind,
                code,
                context,
            } => self.arrive(task, kind, program.call(slot, code, context)),
            Event::Leave { .. } => {
                let team = self.teams.get_mut(&owner.region);
                if let Some(member) = team.and_then(|team| team.members.get_mut(&task.index)) {
                    member.at = None;
                }
            }
            Event::Work {
                kind,
                code,
                context,
                count,
            } => {
                self.work(task, kind, program.call(slot, code, context));
                // Without iterations, nothing is known of it.
                if count == 0 {
                    self.meet_ordered(owner.task);
                }
            }
            Event::WorkEnd { kind } => self.leave(owner.task, kind),
            Event::OrderedClause { code, context } => {
                self.in_ordered.insert(owner.task, code);
                let call = program.call(slot, code, context);
                self.ordered.entry(code).or_insert((call, false));
            }
            Event::SetsThreads { code, context } if owner.region != 0 => {
                let call = program.call(slot, code, context);
                self.sets_threads.insert(owner.task, (owner.region, call));
            }
            Event::AsksThreads {} => self.use_threads(owner.task),
            Event::Switch {
                from,
                status: COMPLETE | CANCEL,
                ..
            } if from != 0 && task.explicit == from => {
                let found = &mut self.found;
                self.holders.end(
                    |lock, its| its.task == owner.task && lock.0 != MUTEX_POSIX,
                    |lock| found.push(lock),
                );
            }
            Event::Want {
                kind,
                lock,
                code,
                context,
            } => {
                let call = program.call(slot, code, context);
                if kind == ORDERED {
                    self.meet_ordered(owner.task);
                }
                self.want(program, slot, owner, (kind, lock), call);
            }
            Event::Acquired {
                kind,
                lock,
                code,
                context,
            } => {
                let call = program.call(slot, code, context);
                self.holders.acquire(held(kind, lock), owner, call);
            }
            Event::Released {
                kind,
                lock,
                code,
                context,
            } => self.release(slot, owner, (kind, lock), program.call(slot, code, context)),
            // A library was unloaded.
            Event::LockInit { lock: 0, .. } => {
                self.initialised.values_mut().for_each(|at| *at = None);
            }
            Event::LockInit {
                kind,
                lock,
                code,
                context,
            } => {
                let call = program.call(slot, code, context);
                self.initialise((kind, lock), program.is_lasting(lock), call);
            }
            Event::LockDestroy {
                kind,
                lock,
                code,
                context,
            } => self.destroy((kind, lock), program.call(slot, code, context)),
            _ => {}
        }
    }

    fn release(&mut self, slot: u32, owner: Owner, (kind, lock): (u8, u64), call: Call) {
        let lock = held(kind, lock).lock;
        let released = self.holders.release(lock, owner);
        if !matches!(lock.0, LOCK | MUTEX_DECLARED) {
            return;
        }
        if lock.0 == LOCK && !self.require_initialised(lock, &call) {
            return;
        }
        let before = self.released.insert(lock.1, call.clone());
        match released {
            Release::Owned => {}
            // One thread's tasks are not told apart with certainty.
            Release::Other(holder) if holder.owner.slot == slot => {}
            Release::Other(holder) => {
                self.misused(Kind::ReleasedByOther, lock, call, Some(holder.call));
            }
            Release::Free => self.misused(Kind::ReleasedFree, lock, call, before),
        }
    }

    /// `is_lasting`: the lock is at its address for good.
    fn initialise(&mut self, (kind, lock): (u8, u64), is_lasting: bool, call: Call) {
        let certain = is_lasting.then(|| call.clone());
        let before = self.initialised.insert(lock, certain);
        if let Some(before) = before.flatten() {
            let lock = held(kind, lock).lock;
            self.misused(Kind::InitialisedTwice, lock, call, Some(before));
        }
        self.released.remove(&lock);
        self.forget(lock..lock + 1);
    }

    fn destroy(&mut self, (kind, lock): (u8, u64), call: Call) {
        let lock = held(kind, lock).lock;
        self.require_initialised(lock, &call);
        self.initialised.remove(&lock.1);
        self.destroyed.insert(lock.1, call.clone());
        if let [holder, ..] = self.holders.of(lock) {
            let other = Some(holder.call.clone());
            self.misused(Kind::DestroyedHeld, lock, call, other);
        }
        self.forget(lock.1..lock.1 + 1);
    }

    /// A lock of OpenMP is used. `false` if it is not initialised, which is told of once.
    fn require_initialised(&mut self, lock: Lock, call: &Call) -> bool {
        let is_initialised = self.initialised.contains_key(&lock.1);
        if !is_initialised {
            self.initialised.insert(lock.1, None);
            let destroyed = self.destroyed.get(&lock.1).cloned();
            self.misused(Kind::NotInitialised, lock, call.clone(), destroyed);
        }
        is_initialised
    }

    fn arrive(&mut self, task: Task, kind: u8, call: Call) {
        let kind = if kind == TEAMS { JOIN } else { kind };
        let region = task.owner.region;
        if kind == JOIN {
            self.open.remove(&task.owner.task);
            self.in_ordered.remove(&task.owner.task);
        } else if kind != EXPLICIT
            && task.explicit == 0
            && let Some(open) = self.open.get_mut(&task.owner.task)
        {
            // The barrier of a loop or of sections is after them.
            open.retain(|(inside, _)| *inside == Inside::Masked);
        }
        if kind != JOIN {
            if let Some((inside, around)) = self.inside(task) {
                self.add_inside(task, Kind::BarrierInside(inside), call.clone(), around);
            }
            if task.explicit != 0 {
                return;
            }
        }
        let Some(team) = self.teams.get_mut(&region).filter(|team| team.size > 1) else {
            return;
        };
        let meeting = Meeting { kind, call };
        let other = team.arrive(task.index, meeting.clone());
        // A thread that leaves a region early, as by cancellation, is no error of the others'. Two
        // barriers of one kind may be one construct: a call of it can be compiled as a jump, and then
        // its place is that of the function around it.
        if let Some(other) = other
            && kind != JOIN
            && other.kind != JOIN
            && other.kind != kind
            && !self.may_cancel
        {
            self.misuses.add(
                Kind::DifferentBarriers,
                None,
                meeting.call,
                Some(other.call),
            );
        }
    }

    /// A construct in a task is told of once it is certain that it is the task's.
    fn add_inside(&mut self, task: Task, kind: Kind, call: Call, around: Option<Call>) {
        match task.explicit {
            0 => self.misuses.add(kind, None, call, around),
            number => {
                let unsure = self.unsure.entry(task.owner.slot).or_default();
                unsure.push(Unsure {
                    task: number,
                    kind,
                    call,
                    around,
                });
            }
        }
    }

    /// Thread `slot` leaves task `from`: what was found in it is certain. A runtime does not tell of all
    /// ends of an untied task's parts: what was found in another one was the task's around it.
    fn confirm(&mut self, slot: u32, from: u64) {
        for unsure in self.unsure.remove(&slot).unwrap_or_default() {
            if unsure.task == from {
                self.misuses
                    .add(unsure.kind, None, unsure.call, unsure.around);
            }
        }
    }

    /// In what the task is that permits no barrier, and where it has entered that.
    fn inside(&self, task: Task) -> Option<(Inside, Option<Call>)> {
        let held = self.holders.held(task.owner);
        let around = held
            .into_iter()
            .find(|(held, _)| matches!(held.lock.0, CRITICAL | ORDERED));
        match around {
            Some((held, holder)) if held.lock.0 == CRITICAL => {
                return Some((Inside::Critical, Some(holder.call.clone())));
            }
            Some((_, holder)) => return Some((Inside::Ordered, Some(holder.call.clone()))),
            None => {}
        }
        if task.explicit != 0 {
            return Some((Inside::Task, None));
        }
        if task.is_in_single {
            return Some((Inside::Single, None));
        }
        let open = self.open.get(&task.owner.task)?;
        let (inside, call) = open.last()?;
        let is_certain = *inside == Inside::Masked || !self.may_cancel;
        is_certain.then(|| (*inside, Some(call.clone())))
    }

    /// The task leaves a construct of this kind.
    fn leave(&mut self, task: StrandId, kind: u8) {
        if let Some(open) = self.open.get_mut(&task)
            && let Some(left) = around(kind)
            && let Some(at) = open.iter().rposition(|(inside, _)| *inside == left)
        {
            open.remove(at);
        }
    }

    /// The task comes to an ordered region.
    fn meet_ordered(&mut self, task: StrandId) {
        let code = self.in_ordered.get(&task);
        if let Some((_, is_met)) = code.and_then(|code| self.ordered.get_mut(code)) {
            *is_met = true;
        }
    }

    /// The number of threads that the task has set last is of use.
    fn use_threads(&mut self, task: StrandId) {
        if let Some((_, call)) = self.sets_threads.remove(&task) {
            self.uses_threads.insert(call.code);
        }
    }

    /// The region has ended: a number of threads that its tasks have set, and none has used, is of no use.
    fn end_calls(&mut self, region: u64) {
        let misuses = &mut self.misuses;
        self.sets_threads.retain(|_, (of, call)| {
            let is_over = *of == region;
            if is_over && !self.uses_threads.contains(&call.code) {
                misuses.add(Kind::ThreadsInside, None, call.clone(), None);
            }
            !is_over
        });
    }

    fn work(&mut self, task: Task, kind: u8, call: Call) {
        const SINGLE: u8 = 3;
        const SINGLE_OTHER: u8 = 4;
        const LOOPS_AND_SECTIONS: [u8; 6] = [1, 2, 10, 11, 12, 13];
        if kind == WORK_MASKED {
            let open = self.open.entry(task.owner.task).or_default();
            open.push((Inside::Masked, call));
            return;
        }
        let kind = match kind {
            SINGLE_OTHER => SINGLE,
            SINGLE => SINGLE,
            kind if LOOPS_AND_SECTIONS.contains(&kind) => kind,
            _ => return,
        };
        if around(kind) == Some(Inside::Loop) {
            self.misuses.add(Kind::LoopBegins, None, call.clone(), None);
        }
        if let Some((inside, around)) = self.inside(task) {
            self.add_inside(task, Kind::WorkInside(inside), call, around);
            return;
        }
        if let Some(entered) = around(kind) {
            let open = self.open.entry(task.owner.task).or_default();
            open.push((entered, call.clone()));
        }
        let team = self.teams.get_mut(&task.owner.region);
        let Some(team) = team.filter(|team| team.size > 1 && task.explicit == 0) else {
            return;
        };
        let meeting = Meeting { kind, call };
        // LLVM's runtime does not tell every call.
        let is_elsewhere = |other: u64, call: u64| other != call && other != 0 && call != 0;
        if let Some(other) = team.work(task.index, &meeting)
            && (other.kind != kind || is_elsewhere(other.call.code, meeting.call.code))
            && !self.may_cancel
        {
            self.misuses
                .add(Kind::DifferentWork, None, meeting.call, Some(other.call));
        }
    }

    fn want(
        &mut self,
        program: &dyn Program,
        slot: u32,
        owner: Owner,
        (kind, lock): (u8, u64),
        call: Call,
    ) {
        let wants = held(kind, lock);
        if wants.lock.0 == LOCK {
            self.require_initialised(wants.lock, &call);
        }
        // A test does not wait.
        if matches!(kind, TEST_LOCK | TEST_NEST_LOCK) {
            return;
        }
        let own = self.holders.own(wants.lock, owner);
        if own.is_some() && kind == NEST_LOCK {
            return;
        }
        let is_own = own.is_some();
        if let Some(own) = own
            && matches!(kind, LOCK | CRITICAL)
        {
            let other = Some(own.call.clone());
            self.misused(Kind::TakenTwice, wants.lock, call.clone(), other);
        }
        self.waits.insert(
            slot,
            Wait {
                wants,
                call: call.clone(),
            },
        );
        let others = self.holders.held(owner);
        if is_own || others.is_empty() {
            return;
        }
        let mut locks: Vec<Held> = others.iter().map(|(held, _)| *held).collect();
        locks.extend(program.exclusions(slot));
        let position = program.position(slot);
        let edges: Vec<Edge> = others
            .iter()
            .map(|(holds, holder)| Edge {
                holds: *holds,
                held: holder.call.clone(),
                wants,
                wanted: call.clone(),
                locks: locks.clone(),
                position: position.clone(),
            })
            .collect();
        let known = self.order.cycles().len();
        for edge in edges {
            self.order
                .add(edge, &|one, other| program.may_coincide(one, other));
        }
        let new = self.order.cycles().iter().skip(known).flatten();
        self.found.extend(new.map(|edge| edge.holds.lock));
    }

    /// Who waits for whom, now.
    fn waits(&self) -> Waits {
        let mut waits = Waits::new();
        for (slot, wait) in &self.waits {
            let holders = self.holders.of(wait.wants.lock).iter();
            let blockers = holders
                .filter(|holder| !(holder.is_shared && wait.wants.is_shared))
                .map(|holder| (holder.owner.slot, holder.is_over));
            waits.insert(*slot, blockers.collect());
        }
        for team in self.teams.values() {
            for (index, member) in &team.members {
                // A thread executes tasks while it waits at a barrier.
                if member.is_over || waits.contains_key(&member.slot) {
                    continue;
                }
                let Some(missing) = team.missing(*index) else {
                    continue;
                };
                let blockers = missing
                    .iter()
                    .filter_map(|(other, never)| Some((team.members.get(other)?.slot, *never)));
                let in_tasks = team.members.values().filter(|other| {
                    other.slot != member.slot && self.waits.contains_key(&other.slot)
                });
                let in_tasks = in_tasks.map(|other| (other.slot, false));
                waits.insert(member.slot, blockers.chain(in_tasks).collect());
            }
        }
        waits
    }

    /// The threads that wait forever, now: nothing that is still to come lets them go on.
    pub fn hang(&self) -> Option<Deadlock> {
        let waits = self.waits();
        let stuck = hang::stuck(&waits);
        if stuck.is_empty() {
            return None;
        }
        let cycle = hang::cycle(&waits, &stuck, |slot| self.waits.contains_key(&slot));
        let told = if cycle.is_empty() { &stuck } else { &cycle };
        let waiters: Vec<Waiter> = told
            .iter()
            .filter_map(|slot| self.waiter(*slot, &waits, told))
            .collect();
        Some(Deadlock {
            happened: true,
            others: (stuck.len() - told.len()) as u32,
            waiters,
        })
    }

    fn index(&self, slot: u32) -> Option<u32> {
        if let Some(wait) = self.waits.get(&slot) {
            return Some(wait.call.thread);
        }
        let mut members = self.teams.values().flat_map(|team| &team.members);
        let found = members.find(|(_, member)| member.slot == slot && member.at.is_some());
        found.map(|(index, _)| *index)
    }

    fn waiter(&self, slot: u32, waits: &Waits, told: &[u32]) -> Option<Waiter> {
        // What another one of them waits for.
        let holds = told
            .iter()
            .filter_map(|other| self.waits.get(other))
            .find_map(|wait| {
                let lock = wait.wants.lock;
                let holder = self
                    .holders
                    .of(lock)
                    .iter()
                    .find(|holder| holder.owner.slot == slot && !holder.is_over)?;
                Some((lock, holder.call.clone()))
            });
        let mut waits_for: Vec<u32> = waits[&slot]
            .iter()
            .filter(|(other, never)| *never || told.contains(other))
            .filter_map(|(other, _)| self.index(*other))
            .collect();
        waits_for.sort_unstable();
        waits_for.dedup();
        if let Some(wait) = self.waits.get(&slot) {
            let holders = self.holders.of(wait.wants.lock);
            return Some(Waiter {
                wanted: wait.call.clone(),
                wants: Some(wait.wants.lock),
                barrier: None,
                holds,
                waits_for,
                is_left: holders.iter().any(|holder| holder.is_over),
            });
        }
        let members = self.teams.values().flat_map(|team| team.members.values());
        let at = members
            .filter(|member| member.slot == slot)
            .find_map(|member| member.at.clone())?;
        Some(Waiter {
            wanted: at.call,
            wants: None,
            barrier: Some(at.kind),
            holds,
            waits_for,
            is_left: false,
        })
    }

    /// All deadlocks: the one in which the program hangs, if there is one, and those that are possible.
    pub fn deadlocks(&self, hang: Option<Deadlock>) -> Vec<Deadlock> {
        let locks = |deadlock: &Deadlock| {
            let mut locks: Vec<Lock> = deadlock
                .waiters
                .iter()
                .filter_map(|waiter| waiter.wants)
                .collect();
            locks.sort_unstable();
            locks
        };
        let happened = hang.as_ref().map(locks);
        let possible = self.order.cycles().iter().map(|cycle| Deadlock {
            happened: false,
            others: 0,
            waiters: (0..cycle.len())
                .map(|at| {
                    let (edge, next) = (&cycle[at], &cycle[(at + 1) % cycle.len()]);
                    Waiter {
                        wanted: edge.wanted.clone(),
                        wants: Some(edge.wants.lock),
                        barrier: None,
                        holds: Some((edge.holds.lock, edge.held.clone())),
                        waits_for: vec![next.wanted.thread],
                        is_left: false,
                    }
                })
                .collect(),
        });
        let possible = possible.filter(|cycle| happened.as_ref() != Some(&locks(cycle)));
        let possible: Vec<Deadlock> = possible.collect();
        hang.into_iter().chain(possible).collect()
    }

    /// The program has ended: what is still held by tasks that are over is never released.
    pub fn finish(&mut self) {
        let left: Vec<(Lock, Call)> = self
            .holders
            .never_released()
            .into_iter()
            .filter(|(lock, _)| matches!(lock.0, LOCK | MUTEX_DECLARED))
            .map(|(lock, holder)| (lock, holder.call.clone()))
            .collect();
        for (lock, call) in left {
            self.misuses
                .add(Kind::NeverReleased, Some(lock), call, None);
        }
        for (call, is_met) in std::mem::take(&mut self.ordered).into_values() {
            if !is_met {
                self.misuses.add(Kind::NothingOrdered, None, call, None);
            }
        }
    }
}

/// The construct of this `ompt_work_t`, if no barrier may be in it and all runtimes tell of its end.
fn around(kind: u8) -> Option<Inside> {
    match kind {
        LOOP | LOOP_STATIC..=LOOP_OTHER => Some(Inside::Loop),
        SECTIONS => Some(Inside::Section),
        WORK_MASKED => Some(Inside::Masked),
        _ => None,
    }
}

/// A mutex of this kind, as a strand holds it.
fn held(kind: u8, lock: u64) -> Held {
    Held {
        lock: (crate::replay::family(kind), lock),
        is_shared: is_shared(kind),
    }
}
