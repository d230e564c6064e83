//! Idleness charged to its cause: while threads wait, what do the others do?
//!
//! HPCToolkit's undirected blame (Tallent and Mellor-Crummey, "Effective performance measurement
//! and analysis of multithreaded applications", 2009), computed after the run instead of in a
//! signal handler: at a moment with `w` threads of a process waiting and `a` at work, each of the
//! latter is charged `w / a` seconds a second. Waiting are idle workers and threads in barriers:
//! waits that the events tie to no particular thread.
//!
//! Listed intervals give those moments exactly. What is too short to be listed is charged within
//! its slice of time in proportion; a slice of a process in which nobody worked charges nobody.

use rustc_hash::FxHashMap;

use crate::ids::{TagId, ThreadId};
use crate::profile::{Item, Profile, Shown};
use crate::rows::{Interval, SLICE};
use crate::state::{Presence, State};
use crate::tables::Tables;

/// A process in a slice.
type Period = (u32, u32);

/// A thread's state in a slice.
type Doing = (ThreadId, TagId, u32);

/// Whether an item's thread is at work, and may be blamed.
fn works(item: &Item) -> bool {
    item.presence == Presence::Running && item.shown.can_work()
}

/// Whether an item's thread waits for the others.
fn waits(item: &Item) -> bool {
    matches!(
        item.shown,
        Shown::Idle | Shown::ImplicitBarrier | Shown::ExplicitBarrier
    )
}

/// Sets [`Item::blame`] of every item. The profile must be whole: not filtered.
pub fn charge(profile: &mut Profile, tables: &Tables, intervals: &[Interval]) {
    let process = |thread: ThreadId| {
        let row = tables.threads.get(thread.index());
        row.map_or(u32::MAX, |row| row.process.0)
    };
    let period = |item: &Item| (process(item.thread), item.slice);
    let mut waiting = FxHashMap::<Period, f64>::default();
    let mut working = FxHashMap::<Period, f64>::default();
    let mut doing = FxHashMap::<Doing, f64>::default();
    for item in &profile.items {
        if works(item) {
            *working.entry(period(item)).or_default() += item.seconds;
            *doing
                .entry((item.thread, item.tag, item.slice))
                .or_default() += item.seconds;
        } else if waits(item) {
            *waiting.entry(period(item)).or_default() += item.seconds;
        }
    }
    let listed = Listed::sweep(tables, intervals, &process);
    // What is listed may exceed what was measured only by rounding to ticks, or where samples say
    // otherwise than events: measured time is what the total is held to.
    let mut charged = FxHashMap::<Period, f64>::default();
    for (&(thread, tag, slice), &seconds) in &listed.blame {
        if doing.contains_key(&(thread, tag, slice)) {
            *charged.entry((process(thread), slice)).or_default() += seconds;
        }
    }
    let mut unlisted = FxHashMap::<Period, f64>::default();
    for (&(thread, tag, slice), &seconds) in &doing {
        let known = listed.work.get(&(thread, tag, slice)).copied();
        *unlisted.entry((process(thread), slice)).or_default() +=
            (seconds - known.unwrap_or(0.0)).max(0.0);
    }
    for item in &mut profile.items {
        item.blame = 0.0;
        if !works(item) || item.seconds <= 0.0 {
            continue;
        }
        let key = (item.thread, item.tag, item.slice);
        let period = (process(item.thread), item.slice);
        let of = |sums: &FxHashMap<Period, f64>| sums.get(&period).copied().unwrap_or(0.0);
        let (all, exact) = (of(&waiting), of(&charged));
        let scale = if exact > all { all / exact } else { 1.0 };
        let rest = all - exact * scale;
        let here = doing.get(&key).copied().unwrap_or(item.seconds);
        let known = listed.work.get(&key).copied().unwrap_or(0.0);
        let share_of_rest = match of(&unlisted) {
            // A slice whose work is all listed has next to no rest.
            short if short > 1e-3 * of(&working) => (here - known).max(0.0) / short,
            _ => here / of(&working),
        };
        let direct = listed.blame.get(&key).copied().unwrap_or(0.0) * scale;
        item.blame = (direct + rest * share_of_rest) * item.seconds / here;
    }
}

/// What listed intervals say, in seconds.
#[derive(Default)]
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

#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    Works,
    Waits,
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
