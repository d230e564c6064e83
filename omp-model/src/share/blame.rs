//! Waiting charged to its cause: while threads wait, what do the others do?
//!
//! Who waits for a mutex waits for the thread that holds it. That time is *owed* to what the holder
//! did meanwhile, as the recording says: HPCToolkit's directed blame (Tallent, Mellor-Crummey and
//! Porterfield, "Analyzing lock contention in multithreaded applications", 2010), measured instead
//! of sampled.
//!
//! Idle workers and threads in barriers wait for no thread in particular: HPCToolkit's undirected
//! blame (Tallent and Mellor-Crummey, "Effective performance measurement and analysis of
//! multithreaded applications", 2009), computed after the run instead of in a signal handler. At a
//! moment with `w` threads of a process waiting and `a` at work, each of the latter is charged
//! `w / a` seconds a second. So is the waiting for a mutex that nobody is known to hold.
//!
//! Listed intervals give those moments exactly. What is too short to be listed is charged within
//! its slice of time in proportion; a slice of a process in which nobody worked charges nobody.

use rustc_hash::FxHashMap;

use super::{Group, Recording};
use crate::ids::{TagId, ThreadId};
use crate::profile::{Item, Profile, Shown};
use crate::rows::{Interval, SLICE};
use crate::state::{Presence, State};
use crate::tables::Tables;

/// A process in a slice.
type Period = (u32, u32);

/// A thread's state in a slice.
type Doing = (ThreadId, TagId, u32);

/// Sets [`crate::profile::Item::blame`] of every item. The profile must be whole: not filtered.
pub fn charge(profile: &mut Profile, recording: &Recording<'_>) {
    let causes = Causes::new(recording);
    let mut periods = FxHashMap::<Period, Moment>::default();
    let mut groups = FxHashMap::<Group, f64>::default();
    for item in &profile.items {
        let period = (causes.process(item.thread), item.slice);
        let moment = periods.entry(period).or_default();
        moment.add(
            Role::of(item.presence, item.shown),
            item.thread,
            item.tag,
            item.seconds,
        );
        *groups.entry(group(item)).or_default() += item.seconds;
    }
    for (&group, &seconds) in groups.iter().filter(|(_, seconds)| **seconds > 0.0) {
        let period = (causes.process(group.thread), group.slice);
        let moment = periods.entry(period).or_default();
        moment.owed += causes.owed(group, seconds) * seconds;
    }
    let mut rates = FxHashMap::<Doing, f64>::default();
    for ((_, slice), moment) in &periods {
        for (thread, tag, rate) in causes.rates(*slice, moment) {
            rates.insert((thread, tag, *slice), rate);
        }
    }
    for item in &mut profile.items {
        let works = Role::of(item.presence, item.shown) == Some(Role::Works);
        let rate = match works {
            true => rates.get(&(item.thread, item.tag, item.slice)),
            false => None,
        };
        let group = group(item);
        let owed = causes.owed(group, groups.get(&group).copied().unwrap_or(0.0));
        let period = (causes.process(item.thread), item.slice);
        let part = periods.get(&period).map_or(0.0, Moment::part_of_owed);
        item.blame = item.seconds * (rate.copied().unwrap_or(0.0) + owed * part);
    }
}

const fn group(item: &Item) -> Group {
    Group {
        thread: item.thread,
        tag: item.tag,
        slice: item.slice,
        presence: item.presence,
    }
}

/// What a process's threads did in a slice, in seconds.
#[derive(Debug, Default)]
pub(super) struct Moment {
    waiting: f64,
    /// For a mutex.
    contending: f64,
    /// What of that is known to be owed to a thread.
    pub(super) owed: f64,
    working: FxHashMap<(ThreadId, TagId), f64>,
}

impl Moment {
    /// Adds time of a thread in a state.
    pub(super) fn add(&mut self, role: Option<Role>, thread: ThreadId, tag: TagId, seconds: f64) {
        match role {
            Some(Role::Works) => *self.working.entry((thread, tag)).or_default() += seconds,
            Some(Role::Waits) => self.waiting += seconds,
            Some(Role::Contends) => self.contending += seconds,
            None => {}
        }
    }

    /// What counts of what is owed: samples may say that a thread did not wait where its events
    /// say that it did, and nobody is charged for more than there was.
    pub(super) fn part_of_owed(&self) -> f64 {
        match self.owed > self.contending {
            true => self.contending / self.owed,
            false => 1.0,
        }
    }
}

/// What tells whom to charge.
#[derive(Debug)]
pub(super) struct Causes<'a> {
    tables: &'a Tables,
    listed: Listed,
    /// Nanoseconds that are owed.
    owed: FxHashMap<Group, u64>,
}

impl<'a> Causes<'a> {
    pub(super) fn new(recording: &Recording<'a>) -> Causes<'a> {
        let tables = recording.tables;
        let process = |thread: ThreadId| process(tables, thread);
        let mut owed = FxHashMap::<Group, u64>::default();
        for blame in recording.blames {
            let group = Group {
                thread: blame.thread,
                tag: blame.tag,
                slice: blame.slice,
                presence: blame.presence,
            };
            *owed.entry(group).or_default() += blame.time.0;
        }
        Causes {
            tables,
            listed: Listed::sweep(tables, recording.intervals, &process),
            owed,
        }
    }

    /// What a second of a group of so many seconds is owed by those that waited for its thread.
    pub(super) fn owed(&self, group: Group, seconds: f64) -> f64 {
        match self.owed.get(&group) {
            Some(&nanos) if seconds > 0.0 => nanos as f64 / 1e9 / seconds,
            _ => 0.0,
        }
    }

    /// A thread's process, as part of a period's name.
    pub(super) fn process(&self, thread: ThreadId) -> u32 {
        process(self.tables, thread)
    }

    /// What a second of each thread's work in a slice is charged with.
    pub(super) fn rates<'m>(
        &'m self,
        slice: u32,
        moment: &'m Moment,
    ) -> impl Iterator<Item = (ThreadId, TagId, f64)> + 'm {
        let listed = move |sums: &FxHashMap<Doing, f64>, (thread, tag): (ThreadId, TagId)| {
            sums.get(&(thread, tag, slice)).copied().unwrap_or(0.0)
        };
        let all = moment.waiting;
        let working: f64 = moment.working.values().sum();
        // What is listed may exceed what was measured only by rounding to ticks, or where samples
        // say otherwise than events: measured time is what the total is held to.
        let keys = moment.working.keys();
        let exact: f64 = keys.map(|&doing| listed(&self.listed.blame, doing)).sum();
        let unlisted: f64 = moment
            .working
            .iter()
            .map(|(&doing, seconds)| (seconds - listed(&self.listed.work, doing)).max(0.0))
            .sum();
        let scale = if exact > all { all / exact } else { 1.0 };
        let rest = all - exact * scale;
        let ownerless = moment.contending - moment.owed * moment.part_of_owed();
        moment
            .working
            .iter()
            .filter(|(_, here)| **here > 0.0)
            .map(move |(&doing, &here)| {
                let known = listed(&self.listed.work, doing);
                // A slice whose work is all listed has next to no rest.
                let share_of_rest = match unlisted > 1e-3 * working {
                    true => (here - known).max(0.0) / unlisted,
                    false => here / working,
                };
                let direct = listed(&self.listed.blame, doing) * scale;
                let all = direct + rest * share_of_rest + ownerless * here / working;
                (doing.0, doing.1, all / here)
            })
    }
}

fn process(tables: &Tables, thread: ThreadId) -> u32 {
    let row = tables.threads.get(thread.index());
    row.map_or(u32::MAX, |row| row.process.0)
}

/// What listed intervals say, in seconds.
#[derive(Debug, Default)]
struct Listed {
    /// Work.
    work: FxHashMap<Doing, f64>,
    /// What it is charged with.
    blame: FxHashMap<Doing, f64>,
}

/// An interval's begin or end.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Edge {
    process: u32,
    time: u64,
    /// Ends come before begins.
    begins: bool,
    interval: u32,
}

impl Listed {
    /// Goes through each process's time from edge to edge.
    fn sweep(
        tables: &Tables,
        intervals: &[Interval],
        process: &impl Fn(ThreadId) -> u32,
    ) -> Listed {
        let mut edges = Vec::new();
        for (at, interval) in intervals.iter().enumerate() {
            if role(tables, interval).is_none() {
                continue;
            }
            let (start, end) = (interval.start.0, interval.start.0 + interval.length.0);
            // Each slice's part by itself.
            let mut from = start;
            while from < end {
                let to = end.min((from / SLICE.0 + 1) * SLICE.0);
                let edge = |time, begins| Edge {
                    process: process(interval.thread),
                    time,
                    begins,
                    interval: at as u32,
                };
                edges.extend([edge(from, true), edge(to, false)]);
                from = to;
            }
        }
        edges.sort_unstable();
        let mut listed = Listed::default();
        let mut active: Vec<u32> = Vec::new();
        let (mut waiting, mut before) = (0_u32, 0);
        for edge in edges {
            let seconds = edge.time.saturating_sub(before) as f64 / 1e9;
            if !active.is_empty() && seconds > 0.0 {
                let each = seconds * f64::from(waiting) / active.len() as f64;
                for &at in &active {
                    let Interval { thread, tag, .. } = intervals[at as usize];
                    let doing = (thread, tag, (before / SLICE.0) as u32);
                    *listed.work.entry(doing).or_default() += seconds;
                    *listed.blame.entry(doing).or_default() += each;
                }
            }
            before = edge.time;
            let works = role(tables, &intervals[edge.interval as usize]) == Some(Role::Works);
            match (works, edge.begins) {
                (true, true) => active.push(edge.interval),
                (true, false) => active.retain(|&at| at != edge.interval),
                (false, true) => waiting += 1,
                (false, false) => waiting = waiting.saturating_sub(1),
            }
        }
        listed
    }
}

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
    /// Of time that is shown so.
    pub(super) fn of(presence: Presence, shown: Shown) -> Option<Role> {
        match shown {
            Shown::Idle | Shown::ImplicitBarrier | Shown::ExplicitBarrier => Some(Role::Waits),
            Shown::Lock | Shown::Critical | Shown::Ordered | Shown::Atomic => Some(Role::Contends),
            shown if presence == Presence::Running && shown.can_work() => Some(Role::Works),
            _ => None,
        }
    }
}

fn role(tables: &Tables, interval: &Interval) -> Option<Role> {
    let tag = tables.tags.get(interval.tag.0)?;
    match tag.state {
        State::Idle
        | State::ImplicitBarrier
        | State::ExplicitBarrier
        | State::Barrier
        | State::ImplementationBarrier
        | State::TeamsBarrier => Some(Role::Waits),
        State::Outside | State::Serial | State::Work | State::Overhead | State::Reduction
            if interval.presence == Presence::Running =>
        {
            Some(Role::Works)
        }
        _ => None,
    }
}
