//! The closing of slices: several at a time, each thread's part of them by its own lane, on all CPUs.

use std::num::NonZero;
use std::panic::resume_unwind;
use std::sync::{Mutex, PoisonError};
use std::thread;

use rustc_hash::FxHashMap;

use super::{Borrower, Stream};
use crate::ids::{Nanos, TagId, ThreadId};
use crate::rows::SLICE;
use crate::share::blame::{self, Causes, Role};
use crate::share::lane::Lane;
use crate::share::part::{Borrowing, Facts, Measured, Part, Switches};
use crate::share::roles::{Charge, Roles};
use crate::share::{Group, kind_of};

/// Slices are closed when they have so many samples and groups together, or at the end: enough that
/// threads for it cost nothing beside it.
const TOGETHER: usize = 1 << 17;

/// Fewer are not worth a thread.
const WORTH_THREADS: usize = 1 << 14;

impl Stream<'_> {
    /// Gives each thread its part of a slice.
    pub(super) fn gather(&mut self, slice: u32) {
        let end = Nanos((u64::from(slice) + 1) * SLICE.0);
        let open = &mut self.open;
        self.sleeps.parts_before(end, |sample, group, slept| {
            let open = open.entry(group.slice).or_default();
            open.add(group, sample.stack, slept);
        });
        let listed = self.sleeps.listed_upto(slice);
        let listed_of = |group: Group| listed.get(&group).copied().unwrap_or(0);
        let mut parts = Parts {
            lanes: &mut self.lanes,
            closing: Closing {
                slice,
                parts: Vec::new(),
            },
        };
        let mut open = self.open.remove(&slice).unwrap_or_default();
        for (thread, keys) in std::mem::take(&mut open.clock) {
            self.gathered += keys.len();
            parts.of(thread).clock.push(keys);
        }
        for (group, stacks) in open.take_off() {
            let group = Group { slice, ..group };
            self.gathered += stacks.len();
            parts.of(group.thread).switches.push(Switches {
                group,
                stacks,
                listed: listed_of(group),
            });
        }
        let times = self.timed.take(slice);
        self.gathered += times.len();
        for (group, nanos) in times {
            self.states.insert((group.thread, group.tag));
            parts.of(group.thread).times.push(Measured {
                group,
                nanos,
                listed: listed_of(group),
            });
        }
        let mut closing = parts.closing;
        closing.parts.sort_unstable();
        self.closing.push(closing);
        self.closed = self.closed.max(slice + 1);
        if self.gathered >= TOGETHER {
            self.close();
        }
    }

    /// Closes the slices that were gathered. What a thread has of them its lane sorts and shares
    /// out by itself; only what threads are to each other is told slice by slice.
    pub(super) fn close(&mut self) {
        let facts = Facts {
            recording: self.recording,
            rewriter: &self.rewriter,
            causes: &self.causes,
        };
        let gathered = std::mem::take(&mut self.gathered);
        each_lane(&mut self.lanes, gathered, |lane| {
            let mut parts = std::mem::take(&mut lane.parts);
            parts.iter_mut().for_each(|part| part.sort(lane, facts));
            lane.parts = parts;
        });
        for closing in std::mem::take(&mut self.closing) {
            self.charge(&closing);
        }
        let facts = Facts {
            recording: self.recording,
            rewriter: &self.rewriter,
            causes: &self.causes,
        };
        each_lane(&mut self.lanes, gathered, |lane| {
            let parts = std::mem::take(&mut lane.parts).into_iter();
            parts.for_each(|part| part.share_out(lane, facts));
        });
    }

    /// What a second of each group of a slice is charged with.
    fn charge(&mut self, closing: &Closing) {
        let slice = closing.slice;
        let mut moments = FxHashMap::<u32, blame::Moment>::default();
        for part in closing.of(&self.lanes) {
            for ticks in &part.ticks {
                let time = (ticks.group, ticks.nanos, ticks.charge.owed);
                add_to(&mut moments, &self.causes, time, ticks.roles);
            }
        }
        for part in closing.of(&self.lanes) {
            for away in &part.away {
                let time = (away.group, away.nanos, away.charge.owed);
                add_to(&mut moments, &self.causes, time, away.roles);
            }
        }
        let borrowing = |is_unseen| {
            let parts = closing.of(&self.lanes);
            let all = parts.flat_map(|part| &part.borrowing).copied();
            all.filter(move |one| one.is_unseen == is_unseen)
        };
        let borrowing: Vec<Borrowing> = borrowing(true).chain(borrowing(false)).collect();
        let first = self.borrowers.len();
        for Borrowing {
            wanted,
            nanos,
            owed,
            ..
        } in borrowing
        {
            let roles = self.roles_of(wanted.group, nanos);
            add_to(
                &mut moments,
                &self.causes,
                (wanted.group, nanos, owed),
                roles,
            );
            self.borrowers.push(Borrower {
                wanted,
                nanos,
                roles,
                charge: Charge::owed(owed),
            });
        }
        let mut rates = FxHashMap::<(ThreadId, TagId), f64>::default();
        for moment in moments.values() {
            let of_moment = self.causes.rates(slice, moment);
            rates.extend(of_moment.map(|(thread, tag, rate)| ((thread, tag), rate)));
        }
        let causes = &self.causes;
        let charge = |group: Group, owed: f64| {
            let work = rates.get(&(group.thread, group.tag));
            let moment = moments.get(&causes.process(group.thread));
            Charge {
                work: work.copied().unwrap_or(0.0),
                owed: owed * moment.map_or(0.0, blame::Moment::part_of_owed),
            }
        };
        for &(thread, at) in &closing.parts {
            let part = &mut self.lanes[thread.index()].parts[at];
            for ticks in &mut part.ticks {
                ticks.charge = charge(ticks.group, ticks.charge.owed);
            }
            for away in &mut part.away {
                away.charge = charge(away.group, away.charge.owed);
            }
        }
        for borrower in &mut self.borrowers[first..] {
            borrower.charge = charge(borrower.wanted.group, borrower.charge.owed);
        }
    }

    /// What time of a group without samples is to the others, as far as is known by now.
    fn roles_of(&mut self, group: Group, nanos: u64) -> Roles {
        if let Some(&known) = self.known.groups.get(&group) {
            return known;
        }
        let kind = kind_of(self.recording.tables, group.thread);
        let shown = match self.roles.get(&(group.tag, kind)) {
            Some(&shown) => shown,
            None => {
                let (_, shown) = self.rewriter.user_place(group.tag, kind);
                self.roles.insert((group.tag, kind), shown);
                shown
            }
        };
        let mut roles = Roles::default();
        roles.add(Role::of(group.presence, shown), nanos);
        roles
    }
}

/// A slice that is being closed.
pub(super) struct Closing {
    slice: u32,
    /// The threads that have a part of it, and which of their lanes' parts.
    parts: Vec<(ThreadId, usize)>,
}

impl Closing {
    /// Its parts, in the order of threads.
    fn of<'l>(&self, lanes: &'l [Lane]) -> impl Iterator<Item = &'l Part> {
        let parts = self.parts.iter();
        parts.map(|&(thread, at)| &lanes[thread.index()].parts[at])
    }
}

/// The parts of a slice, while they are made.
struct Parts<'l> {
    lanes: &'l mut Vec<Lane>,
    closing: Closing,
}

impl Parts<'_> {
    /// A thread's.
    fn of(&mut self, thread: ThreadId) -> &mut Part {
        if self.lanes.len() <= thread.index() {
            self.lanes.resize_with(thread.index() + 1, Lane::default);
        }
        let slice = self.closing.slice;
        let parts = &mut self.lanes[thread.index()].parts;
        if parts.last().is_none_or(|part| part.slice != slice) {
            self.closing.parts.push((thread, parts.len()));
            parts.push(Part::new(thread, slice));
        }
        let last = parts.len() - 1;
        &mut parts[last]
    }
}

/// Does something with each lane that has parts, of so many samples.
fn each_lane(lanes: &mut [Lane], samples: usize, work: impl Fn(&mut Lane) + Sync) {
    let with_parts = lanes.iter_mut().filter(|lane| !lane.parts.is_empty());
    on_all_cpus(with_parts, samples, work);
}

/// Does something with each of several things: on all CPUs if they are so large together that it
/// is worth it.
pub(super) fn on_all_cpus<T: Send>(
    things: impl Iterator<Item = T> + Send,
    size: usize,
    work: impl Fn(T) + Sync,
) {
    if size < WORTH_THREADS {
        return things.for_each(work);
    }
    let queue = Mutex::new(things);
    let next = || queue.lock().unwrap_or_else(PoisonError::into_inner).next();
    let worker = || {
        while let Some(thing) = next() {
            work(thing);
        }
    };
    let others = thread::available_parallelism().map_or(1, NonZero::get) - 1;
    thread::scope(|scope| {
        (0..others).for_each(|_| drop(scope.spawn(worker)));
        worker();
    });
}

/// Does two things with so many others, at a time if it is worth it.
pub(super) fn both<A: Send, B>(
    size: usize,
    beside: impl FnOnce() -> A + Send,
    here: impl FnOnce() -> B,
) -> (A, B) {
    if size < WORTH_THREADS {
        return (beside(), here());
    }
    thread::scope(|scope| {
        let beside = scope.spawn(beside);
        let here = here();
        let beside = beside.join();
        (beside.unwrap_or_else(|panic| resume_unwind(panic)), here)
    })
}

/// Adds a group's time, and what a second of it is owed, to what its process did in its slice.
fn add_to(
    moments: &mut FxHashMap<u32, blame::Moment>,
    causes: &Causes<'_>,
    (group, nanos, owed): (Group, u64, f64),
    roles: Roles,
) {
    let moment = moments.entry(causes.process(group.thread)).or_default();
    moment.owed += owed * nanos as f64 / 1e9;
    for (role, nanos) in roles.each() {
        moment.add(role, group.thread, group.tag, nanos as f64 / 1e9);
    }
}
