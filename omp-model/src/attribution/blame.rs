//! Blame: charges waiting time to what other threads did meanwhile.
//!
//! A thread that waits for a mutex waits for the thread that holds it. The recording says what the
//! holder did meanwhile, and that is charged: HPCToolkit's directed blame (Tallent, Mellor-Crummey and
//! Porterfield, "Analyzing lock contention in multithreaded applications", 2010), measured instead
//! of sampled.
//!
//! Idle workers and threads in barriers wait for no thread in particular: HPCToolkit's undirected
//! blame (Tallent and Mellor-Crummey, "Effective performance measurement and analysis of
//! multithreaded applications", 2009), computed after the run instead of in a signal handler. At a
//! moment with `w` threads of a process waiting and `a` at work, each of the latter is charged
//! `w / a` seconds a second. So is the waiting for a mutex that nobody is known to hold.
//!
//! Listed intervals give those moments exactly. Time too short to be listed is charged in
//! proportion within its slice. In a slice in which no thread of a process worked, none is charged.

use experiment::Packed;
use experiment::ids::{ThreadId, ThreadStateId};
use experiment::rows::{Blame, Interval, SLICE};
use experiment::state::{Scheduling, State};
use experiment::tables::{Tables, ThreadKind};
use rustc_hash::FxHashMap;

use super::group::{Group, kind_of};
use crate::states::RefinedState;

/// A thread and its state.
type WorkKey = (ThreadId, ThreadStateId);

/// What a thread does for the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// It is at work, and may be blamed.
    Works,
    /// It waits for them.
    Waits,
    /// It waits for a mutex.
    Contends,
}

impl Role {
    /// Of time that is shown so. An idle helper of the runtime waits for no thread of the program.
    pub(super) fn of(
        kind: ThreadKind,
        scheduling: Scheduling,
        state: RefinedState,
    ) -> Option<Role> {
        match state {
            RefinedState::Idle if kind == ThreadKind::Other => None,
            RefinedState::Idle | RefinedState::ImplicitBarrier | RefinedState::ExplicitBarrier => {
                Some(Role::Waits)
            }
            RefinedState::Lock
            | RefinedState::Critical
            | RefinedState::Ordered
            | RefinedState::Atomic => Some(Role::Contends),
            state if scheduling == Scheduling::Running && state.can_work() => Some(Role::Works),
            _ => None,
        }
    }
}

/// Nanoseconds of each role.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Roles {
    works: u64,
    waits: u64,
    contends: u64,
}

impl Roles {
    pub(super) fn add(&mut self, role: Option<Role>, nanos: u64) {
        match role {
            Some(Role::Works) => self.works += nanos,
            Some(Role::Waits) => self.waits += nanos,
            Some(Role::Contends) => self.contends += nanos,
            None => {}
        }
    }
}

/// What a second of a group's time is charged with, in seconds.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Charge {
    /// Of what is work.
    work: f64,
    /// Of all of it: waits for a mutex that the thread is known to have held.
    caused: f64,
}

impl Charge {
    pub(super) fn of(self, role: Option<Role>) -> f64 {
        match role {
            Some(Role::Works) => self.work + self.caused,
            _ => self.caused,
        }
    }
}

/// What a thread did in a slice: the time of one group.
#[derive(Clone, Copy, Debug)]
pub(super) struct GroupRoles {
    pub(super) group: Group,
    /// All of its time.
    pub(super) nanos: u64,
    pub(super) roles: Roles,
}

/// What a process's threads did in a slice, in seconds.
#[derive(Debug, Default)]
struct ProcessTime {
    waiting: f64,
    /// For a mutex.
    contending: f64,
    /// Of that, the time of which the holder is known.
    caused: f64,
    working: FxHashMap<WorkKey, f64>,
}

impl ProcessTime {
    /// The part of [`ProcessTime::caused`] that is charged. Samples may say that a thread did not
    /// wait where its events say that it did, and no more is charged than there was.
    fn charged_part(&self) -> f64 {
        if self.caused > self.contending {
            self.contending / self.caused
        } else {
            1.0
        }
    }
}

/// What tells whom to charge.
#[derive(Debug)]
pub(super) struct Causes<'a> {
    tables: &'a Tables,
    listed: Listed<'a>,
    /// Nanoseconds of waiting that each group caused, where the holder of the mutex is known.
    caused: FxHashMap<Group, u64>,
}

impl<'a> Causes<'a> {
    pub(super) fn new(
        tables: &'a Tables,
        blames: &Packed<Blame>,
        intervals: &'a [Interval],
    ) -> Causes<'a> {
        let mut caused = FxHashMap::<Group, u64>::default();
        for blame in blames.iter() {
            let group = Group {
                thread: blame.thread,
                thread_state: blame.thread_state,
                slice: blame.slice,
                scheduling: blame.scheduling,
            };
            *caused.entry(group).or_default() += blame.time.0;
        }
        Causes {
            tables,
            listed: Listed::new(tables, intervals),
            caused,
        }
    }

    /// What a second of each group of a slice is charged with, in their order. Slices are asked for in
    /// theirs.
    pub(super) fn charges(
        &mut self,
        slice: u32,
        groups: impl Iterator<Item = GroupRoles> + Clone,
    ) -> Vec<Charge> {
        self.listed.look_at(slice);
        let mut processes = FxHashMap::<u32, ProcessTime>::default();
        for GroupRoles {
            group,
            nanos,
            roles,
        } in groups.clone()
        {
            let times = processes.entry(process(self.tables, group.thread));
            let times = times.or_default();
            times.waiting += roles.waits as f64 / 1e9;
            times.contending += roles.contends as f64 / 1e9;
            if roles.works > 0 {
                let working = times.working.entry((group.thread, group.thread_state));
                *working.or_default() += roles.works as f64 / 1e9;
            }
            if nanos > 0 {
                times.caused += self.caused(group);
            }
        }
        let mut rates = FxHashMap::default();
        for times in processes.values() {
            self.add_rates(times, &mut rates);
        }
        let charge = |GroupRoles { group, nanos, .. }| {
            let work = rates.get(&(group.thread, group.thread_state));
            let caused = match (self.caused(group), nanos) {
                (0.0, _) | (_, 0) => 0.0,
                (caused, nanos) => {
                    let times = &processes[&process(self.tables, group.thread)];
                    caused * times.charged_part() * 1e9 / nanos as f64
                }
            };
            Charge {
                work: work.copied().unwrap_or(0.0),
                caused,
            }
        };
        groups.map(charge).collect()
    }

    /// Seconds that other threads waited for a mutex which this group is known to have held.
    fn caused(&self, group: Group) -> f64 {
        self.caused.get(&group).copied().unwrap_or(0) as f64 / 1e9
    }

    /// Adds what a second of each thread's work in a slice is charged with.
    fn add_rates(&self, times: &ProcessTime, rates: &mut FxHashMap<WorkKey, f64>) {
        let listed =
            |sums: &FxHashMap<WorkKey, f64>, key: WorkKey| sums.get(&key).copied().unwrap_or(0.0);
        let all = times.waiting;
        let working: f64 = times.working.values().sum();
        // What is listed may exceed what was measured only by rounding to ticks, or where samples
        // say otherwise than events: measured time is what the total is held to.
        let keys = times.working.keys();
        let exact: f64 = keys.map(|&key| listed(&self.listed.blame, key)).sum();
        let unlisted: f64 = times
            .working
            .iter()
            .map(|(&key, seconds)| (seconds - listed(&self.listed.work, key)).max(0.0))
            .sum();
        let scale = if exact > all { all / exact } else { 1.0 };
        let rest = all - exact * scale;
        let ownerless = times.contending - times.caused * times.charged_part();
        for (&key, &here) in &times.working {
            let known = listed(&self.listed.work, key);
            // A slice whose work is all listed has next to no rest.
            let share_of_rest = if unlisted > 1e-3 * working {
                (here - known).max(0.0) / unlisted
            } else {
                here / working
            };
            let direct = listed(&self.listed.blame, key) * scale;
            let all = direct + rest * share_of_rest + ownerless * here / working;
            rates.insert(key, all / here);
        }
    }
}

fn process(tables: &Tables, thread: ThreadId) -> u32 {
    let row = tables.threads.get(thread.index());
    row.map_or(u32::MAX, |row| row.process.0)
}

/// What listed intervals say of a slice, in seconds. Slices are asked for in their order, so an interval
/// takes no memory for the slices that it lasts.
#[derive(Debug)]
struct Listed<'a> {
    tables: &'a Tables,
    intervals: &'a [Interval],
    /// In the order of time.
    edges: Vec<Edge>,
    /// How many edges are behind.
    passed: usize,
    processes: FxHashMap<u32, Now>,
    /// Work.
    work: FxHashMap<WorkKey, f64>,
    /// What it is charged with.
    blame: FxHashMap<WorkKey, f64>,
}

/// An interval's begin or end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Edge {
    time: u64,
    /// Ends come before begins.
    begins: bool,
    interval: u32,
}

/// What a process's threads do at a moment.
#[derive(Debug, Default)]
struct Now {
    /// Up to which moment their time is in the sums.
    upto: u64,
    /// Intervals of threads that work.
    work: Vec<u32>,
    /// The number of threads that wait.
    waiting: u32,
}

impl Now {
    /// The time that passes up to a moment, and what a second of each thread's work is charged with then.
    fn pass(&mut self, to: u64) -> (f64, f64) {
        let seconds = to.saturating_sub(self.upto) as f64 / 1e9;
        self.upto = self.upto.max(to);
        (seconds, f64::from(self.waiting) / self.work.len() as f64)
    }
}

impl<'a> Listed<'a> {
    fn new(tables: &'a Tables, intervals: &'a [Interval]) -> Listed<'a> {
        let mut edges = Vec::new();
        for (interval, row) in (0..).zip(intervals) {
            if role(tables, row).is_some() && row.length.0 > 0 {
                let edge = |time, begins| Edge {
                    time,
                    begins,
                    interval,
                };
                edges.push(edge(row.start.0, true));
                edges.push(edge(row.end().0, false));
            }
        }
        edges.sort_unstable();
        Listed {
            tables,
            intervals,
            edges,
            passed: 0,
            processes: FxHashMap::default(),
            work: FxHashMap::default(),
            blame: FxHashMap::default(),
        }
    }

    /// Makes the sums those of a slice, a later one than before.
    fn look_at(&mut self, slice: u32) {
        self.work.clear();
        self.blame.clear();
        let start = u64::from(slice) * SLICE.0;
        let end = start + SLICE.0;
        for now in self.processes.values_mut() {
            now.upto = start;
        }
        while let Some(&edge) = self.edges.get(self.passed).filter(|it| it.time < end) {
            self.passed += 1;
            let interval = &self.intervals[edge.interval as usize];
            let process = process(self.tables, interval.thread);
            self.pass(process, start, edge.time);
            let now = self.processes.entry(process).or_default();
            let works = role(self.tables, interval) == Some(Role::Works);
            match (works, edge.begins) {
                (true, true) => now.work.push(edge.interval),
                (true, false) => now.work.retain(|&at| at != edge.interval),
                (false, true) => now.waiting += 1,
                (false, false) => now.waiting = now.waiting.saturating_sub(1),
            }
        }
        let processes: Vec<u32> = self.processes.keys().copied().collect();
        for process in processes {
            self.pass(process, start, end);
        }
    }

    /// Adds a process's time up to a moment of the slice that begins at `start`.
    fn pass(&mut self, process: u32, start: u64, to: u64) {
        let now = self.processes.entry(process).or_insert_with(|| Now {
            upto: start,
            ..Now::default()
        });
        let (seconds, charge) = now.pass(to);
        if seconds > 0.0 {
            for &at in &now.work {
                let interval = &self.intervals[at as usize];
                let key = (interval.thread, interval.thread_state);
                *self.work.entry(key).or_default() += seconds;
                *self.blame.entry(key).or_default() += seconds * charge;
            }
        }
    }
}

fn role(tables: &Tables, interval: &Interval) -> Option<Role> {
    let thread_state = tables.thread_states.get(interval.thread_state.0)?;
    match thread_state.state {
        State::Idle if kind_of(tables, interval.thread) == ThreadKind::Other => None,
        State::Idle
        | State::ImplicitBarrier
        | State::ExplicitBarrier
        | State::Barrier
        | State::ImplementationBarrier
        | State::TeamsBarrier => Some(Role::Waits),
        State::Outside | State::Serial | State::Work | State::Overhead | State::Reduction
            if interval.scheduling == Scheduling::Running =>
        {
            Some(Role::Works)
        }
        _ => None,
    }
}
