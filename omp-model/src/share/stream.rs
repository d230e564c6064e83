//! All thread time shared out in one pass over the samples, slice by slice, and summed over
//! slices as it goes: what is kept grows with the number of distinct stacks, not of samples.
//!
//! A slice is *open* until no sample can fall into it any more, which the times that frames begin
//! at tell. Then its groups are shared out over their own stacks, as [`super::Shares::new`] does
//! it, and forgotten. A group without a sample of its own is put aside until all samples were
//! seen, and of the groups that it may borrow from only those nearest in time are kept.
//!
//! Blame is charged as a slice is closed, when the places of borrowed time are not known yet: that
//! time counts as what its state alone says, work or waiting. Nor is known what the recording as a
//! whole tells of its constructs, and so of a sample. Where either says otherwise in the end, a
//! second pass charges by what they say.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::ops::Range;

use rustc_hash::{FxHashMap, FxHashSet};

use super::blame::{self, Causes, Role};
use super::digest::Digest;
use super::lane::{Lane, Spot, Sum};
use super::open::{Open, Times};
use super::places::{Places, Survey, Wanted, is_outside};
use super::sleeps::{MARGIN, Sleeps, Slept};
use super::timed::Timed;
use super::{
    Group, Origin, Recording, Seen, Share, Shares, Time, borrowed_parts, is_placed_in, kind_of,
    own_parts, tag_of,
};
use crate::experiment::Samples;
use crate::ids::{Nanos, StackId, TagId, ThreadId};
use crate::profile::{Shown, ViewMode};
use crate::rewrite::{Moment, Rewriter};
use crate::rows::{SLICE, Sight};
use crate::state::Presence;
use crate::tables::ThreadKind;

/// One pass over the samples; the shares have no slices, and their blame is charged.
pub(super) fn shares(recording: &Recording<'_>, samples: &Samples) -> Shares {
    let mut known = Known::default();
    loop {
        match pass(recording, samples, known) {
            Ok(shares) => return shares,
            Err(found) => known = found,
        }
    }
}

/// Seconds whose place is inferred in a mode, and all seconds. That hangs on which groups have
/// samples and not on where those stand, so stacks are taken for one and the same.
pub(super) fn inferred(recording: &Recording<'_>, samples: &Samples, mode: ViewMode) -> (f64, f64) {
    scan(recording, samples, Known::default(), Digest::of_states).inferred(mode)
}

/// The shares, or what has to be known for them of time that borrows its places.
fn pass(recording: &Recording<'_>, samples: &Samples, known: Known) -> Result<Shares, Known> {
    scan(recording, samples, known, Digest::of).finish()
}

/// Goes through all samples.
fn scan<'a>(
    recording: &'a Recording<'a>,
    samples: &Samples,
    known: Known,
    digest: fn(&[Sight]) -> Digest,
) -> Stream<'a> {
    let mut stream = Stream::new(recording, known);
    let index = samples.index();
    // The earliest time that this frame or a later one begins at.
    let mut begins = vec![u64::MAX; index.len() + 1];
    for (at, frame) in index.iter().enumerate().rev() {
        begins[at] = begins[at + 1].min(frame.first.0);
    }
    samples.in_order(digest, |frame, digest| {
        stream.add(digest);
        stream.close_before(begins[frame + 1]);
    });
    if stream.late {
        // Times within a thread's frame went backwards, which no recording of ours has: nothing is
        // closed before everything was seen.
        stream = Stream::new(recording, stream.known);
        samples.in_order(digest, |_, digest| stream.add(digest));
    }
    stream.close_all();
    stream
}

/// What only a pass over all samples tells.
#[derive(Default)]
struct Known {
    /// Of groups that borrow their places, what those say and their state alone does not.
    groups: FxHashMap<Group, Roles>,
    /// Every distinct thing that a thread was seen at.
    evidence: Vec<Moment>,
}

/// Time by what it is to the other threads, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Roles {
    works: u64,
    waits: u64,
    contends: u64,
}

impl Roles {
    fn add(&mut self, role: Option<Role>, nanos: u64) {
        match role {
            Some(Role::Works) => self.works += nanos,
            Some(Role::Waits) => self.waits += nanos,
            Some(Role::Contends) => self.contends += nanos,
            None => {}
        }
    }

    /// The same parts of a time.
    fn of(self, nanos: u64, count: u64) -> Roles {
        let part =
            |samples: u64| (u128::from(nanos) * u128::from(samples) / u128::from(count)) as u64;
        Roles {
            works: part(self.works),
            waits: part(self.waits),
            contends: part(self.contends),
        }
    }

    fn each(self) -> [(Option<Role>, u64); 3] {
        [
            (Some(Role::Works), self.works),
            (Some(Role::Waits), self.waits),
            (Some(Role::Contends), self.contends),
        ]
    }
}

/// Time of a group of which no samples of its own tell.
#[derive(Clone, Copy, Debug)]
struct Borrower {
    wanted: Wanted,
    nanos: u64,
    /// What it was taken to be when its slice was closed.
    roles: Roles,
    charge: Charge,
}

/// What a second of a group's time is charged with, in seconds.
#[derive(Clone, Copy, Debug, Default)]
struct Charge {
    /// Of what is work.
    work: f64,
    /// Of all of it: by those that waited for this thread.
    owed: f64,
}

impl Charge {
    fn of(self, role: Option<Role>) -> f64 {
        match role {
            Some(Role::Works) => self.work + self.owed,
            _ => self.owed,
        }
    }
}

/// The pass.
struct Stream<'a> {
    recording: &'a Recording<'a>,
    /// Only for what a thread did.
    rewriter: Rewriter<'a>,
    causes: Causes<'a>,
    sleeps: Sleeps<'a>,
    timed: Timed<'a>,
    /// The states that threads have time in.
    states: FxHashSet<(ThreadId, TagId)>,
    open: BTreeMap<u32, Open>,
    /// By thread.
    lanes: Vec<Lane>,
    /// Slices below are closed.
    closed: u32,
    /// Whether a sample came for a closed slice.
    late: bool,
    /// The clock samples of the slice that is being closed, as numbers of sums.
    numbers: Vec<u32>,
    borrowers: Vec<Borrower>,
    /// What a state alone is shown as.
    roles: FxHashMap<(TagId, ThreadKind), Shown>,
    known: Known,
}

impl<'a> Stream<'a> {
    fn new(recording: &'a Recording<'a>, known: Known) -> Stream<'a> {
        Stream {
            recording,
            rewriter: Rewriter::new(
                recording.tables,
                recording.symbols,
                known.evidence.iter().copied(),
            ),
            causes: Causes::new(recording),
            sleeps: Sleeps::new(recording.intervals),
            timed: Timed::new(recording.sums),
            states: FxHashSet::default(),
            open: BTreeMap::new(),
            lanes: Vec::new(),
            closed: 0,
            late: false,
            numbers: Vec::new(),
            borrowers: Vec::new(),
            roles: FxHashMap::default(),
            known,
        }
    }

    fn add(&mut self, digest: Digest) {
        let mut start = 0;
        for run in &digest.runs {
            self.late |= run.slice < self.closed;
            let keys = digest.keys[start..run.end].to_vec();
            let open = self.open.entry(run.slice).or_default();
            open.clock.push((run.thread, keys));
            start = run.end;
        }
        for sample in digest.switches {
            if let Some(plain) = self.sleeps.note(sample) {
                let group = group_of(&plain);
                self.late |= group.slice < self.closed;
                let open = self.open.entry(group.slice).or_default();
                open.add(group, plain.stack, Slept::Unknown);
            }
        }
    }

    /// Closes the slices that no sample from this moment on can change.
    fn close_before(&mut self, moment: u64) {
        let end = (moment.saturating_sub(MARGIN) / SLICE.0).min(u64::from(u32::MAX)) as u32;
        while let Some(slice) = self.next_slice().filter(|&slice| slice < end) {
            self.close(slice);
        }
        self.closed = self.closed.max(end);
    }

    /// The first slice that has samples or time and is not closed.
    fn next_slice(&self) -> Option<u32> {
        let sampled = self.open.keys().next().copied();
        match (sampled, self.timed.next()) {
            (Some(sampled), Some(timed)) => Some(sampled.min(timed)),
            (one, other) => one.or(other),
        }
    }

    fn close(&mut self, slice: u32) {
        let end = Nanos((u64::from(slice) + 1) * SLICE.0);
        let open = &mut self.open;
        self.sleeps.parts_before(end, |sample, group, slept| {
            let open = open.entry(group.slice).or_default();
            open.add(group, sample.stack, slept);
        });
        let listed = self.sleeps.listed_upto(slice);
        let listed_of = |group: Group| listed.get(&group).copied().unwrap_or(0);
        let mut borrowing: Vec<(Wanted, u64, f64)> = Vec::new();
        let mut times = self.timed.take(slice);
        let states = times.0.iter().map(|(group, _)| (group.thread, group.tag));
        self.states.extend(states);
        let mut open = self.open.remove(&slice).unwrap_or_default();
        let mut moments = FxHashMap::<u32, blame::Moment>::default();
        let mut placed: Vec<Placed> = Vec::new();
        let mut off: Vec<Off> = Vec::new();
        for ticks in self.clock_groups(slice, std::mem::take(&mut open.clock)) {
            let group = ticks.group;
            let count = ticks.numbers.len();
            let nanos = self.time_of(group, count, &mut times);
            let owed = self.causes.owed(group, nanos as f64 / 1e9);
            let roles = ticks.roles.of(nanos, count as u64);
            add_to(&mut moments, &self.causes, (group, nanos, owed), roles);
            placed.push(Placed {
                nanos,
                owed,
                ..ticks
            });
        }
        for (group, stacks) in open.take_off() {
            let group = Group { slice, ..group };
            let nanos = times.of(group).map_or(0, std::mem::take);
            let listed = listed_of(group);
            let owed = self.causes.owed(group, nanos as f64 / 1e9);
            let mut time = Time { nanos, listed };
            let unseen = time.take_unseen(tag_of(self.recording.tables, group.tag), &stacks);
            if unseen > 0 {
                borrowing.push((Wanted { group, long: true }, unseen, owed));
            }
            let (roles, parts) = self.place(group, time, &stacks);
            add_to(&mut moments, &self.causes, (group, time.nanos, owed), roles);
            if owed > 0.0 {
                off.push(Off { group, parts, owed });
            }
        }
        borrowing.extend(times.left().map(|(group, nanos)| {
            let listed = listed_of(group);
            let long = Time { nanos, listed }.is_long();
            let owed = self.causes.owed(group, nanos as f64 / 1e9);
            (Wanted { group, long }, nanos, owed)
        }));
        let first = self.borrowers.len();
        for (wanted, nanos, owed) in borrowing {
            let group = wanted.group;
            let roles = self.roles_of(group, nanos);
            add_to(&mut moments, &self.causes, (group, nanos, owed), roles);
            let is_outside = self.is_outside(group);
            self.lane(group.thread).ask(slice, group.tag, is_outside);
            self.borrowers.push(Borrower {
                wanted,
                nanos,
                roles,
                charge: Charge { work: 0.0, owed },
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
        for ticks in &placed {
            let charge = charge(ticks.group, ticks.owed);
            let lane = &mut self.lanes[ticks.group.thread.index()];
            let numbers = &self.numbers[ticks.numbers.clone()];
            lane.share_out(numbers, ticks.nanos, |role| charge.of(role));
        }
        for stacks in &off {
            let charge = charge(stacks.group, stacks.owed);
            let lane = &mut self.lanes[stacks.group.thread.index()];
            for &(number, nanos) in &stacks.parts {
                let sum = &mut lane.sums[number as usize];
                sum.blame += nanos as f64 / 1e9 * charge.of(sum.role);
            }
        }
        for borrower in &mut self.borrowers[first..] {
            borrower.charge = charge(borrower.wanted.group, borrower.charge.owed);
        }
        self.closed = self.closed.max(slice + 1);
    }

    fn is_outside(&self, group: Group) -> bool {
        is_outside(tag_of(self.recording.tables, group.tag))
    }

    /// Whether each clock sample of a group counts its period: no sums tell of its thread (no
    /// switch records were permitted).
    fn is_counted(&self, group: Group) -> bool {
        let measured = self.recording.sums.threads();
        !measured.contains(&group.thread) && group.presence == Presence::Running
    }

    fn lane(&mut self, thread: ThreadId) -> &mut Lane {
        if self.lanes.len() <= thread.index() {
            self.lanes.resize_with(thread.index() + 1, Lane::default);
        }
        &mut self.lanes[thread.index()]
    }

    /// The groups of a slice's clock samples, which are offered to time without any; those of each
    /// thread in the order of states.
    fn clock_groups(&mut self, slice: u32, mut clock: Vec<(ThreadId, Vec<u64>)>) -> Vec<Placed> {
        clock.sort_by_key(|&(thread, _)| thread);
        self.numbers.clear();
        let tables = self.recording.tables;
        let mut groups = Vec::new();
        for of_thread in clock.chunk_by(|one, other| one.0 == other.0) {
            let thread = of_thread[0].0;
            self.lane(thread);
            let (lane, rewriter) = (&mut self.lanes[thread.index()], &mut self.rewriter);
            let keys = of_thread.iter().flat_map(|(_, keys)| keys.iter().copied());
            let role = role_in(rewriter, kind_of(tables, thread));
            let mut start = self.numbers.len();
            for ticks in lane.sort((thread, slice), keys, role, &mut self.numbers) {
                let numbers = start..start + ticks.count as usize;
                start = numbers.end;
                let group = Group {
                    thread,
                    tag: ticks.tag,
                    slice,
                    presence: Presence::Running,
                };
                let is_outside = is_outside(tag_of(tables, ticks.tag));
                let places = self.numbers[numbers.clone()].iter();
                let places = places.map(|&number| (number, 1));
                lane.offer(group, false, is_outside, places);
                let mut roles = Roles::default();
                for (role, count) in ticks.roles {
                    roles.add(role, u64::from(count));
                }
                groups.push(Placed {
                    group,
                    numbers,
                    roles,
                    nanos: 0,
                    owed: 0.0,
                });
            }
        }
        groups
    }

    /// The time of a group of so many clock samples, which is taken.
    fn time_of(&self, group: Group, samples: usize, times: &mut Times) -> u64 {
        match times.of(group) {
            Some(known) => std::mem::take(known),
            None if self.is_counted(group) => {
                let period = self.recording.header.sampling.period_us * 1000.0;
                (samples as f64 * period).round() as u64
            }
            None => 0,
        }
    }

    /// Adds time off the CPU to the sums of its stacks, and offers them to time without any. None
    /// of it is work. Returns what it is to the others, and the part of each sum.
    fn place(&mut self, group: Group, time: Time, stacks: &[Seen]) -> (Roles, Vec<(u32, u64)>) {
        let parts = match time.nanos {
            0 => vec![0; stacks.len()],
            _ => own_parts(time, stacks),
        };
        let mut roles = Roles::default();
        let tables = self.recording.tables;
        self.lane(group.thread);
        let lane = &mut self.lanes[group.thread.index()];
        let mut role = role_in(&mut self.rewriter, kind_of(tables, group.thread));
        let mut placed = Vec::with_capacity(stacks.len());
        for (seen, part) in stacks.iter().zip(parts) {
            let number = lane.at(group.thread, Spot::of(group, seen), &mut role);
            let sum = &mut lane.sums[number as usize];
            sum.samples += seen.count;
            if time.nanos > 0 {
                sum.count += seen.count;
            }
            sum.nanos += part;
            roles.add(sum.role, part);
            placed.push((number, part));
        }
        let is_outside = is_outside(tag_of(tables, group.tag));
        for long in [false, true] {
            let both = stacks.iter().zip(&placed);
            let places = both.filter(|(seen, _)| (seen.long > 0) == long);
            let mut places = places
                .map(|(seen, &(number, _))| (number, seen.count))
                .peekable();
            if places.peek().is_some() {
                lane.offer(group, long, is_outside, places);
            }
        }
        (roles, placed)
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

    /// From now on what a thread did is told by all of the evidence. Returns whether that makes no
    /// difference to what was charged.
    fn learn(&mut self, evidence: &[Moment], sums: &[Sum]) -> bool {
        let tables = self.recording.tables;
        let differs = self.rewriter.relearn(evidence);
        let mut concerned = sums.iter().filter(|sum| differs(sum.tag));
        concerned.all(|sum| {
            let shown = self.rewriter.shown(Moment {
                stack: sum.stack,
                tag: sum.tag,
                thread: kind_of(tables, sum.thread),
            });
            sum.role == Role::of(sum.presence, shown)
        })
    }

    /// The time of groups without samples, at the places that they borrow; or, if those say
    /// otherwise than was taken when their slices were closed, what they say.
    fn borrowed(&mut self, places: &Places<'_>) -> Result<Vec<Share>, FxHashMap<Group, Roles>> {
        type Key = (Group, Option<(StackId, bool)>, bool);
        let mut sums = FxHashMap::<Key, (u64, f64)>::default();
        let mut found = std::mem::take(&mut self.known.groups);
        let mut wrong = false;
        for &Borrower {
            wanted,
            nanos,
            roles: taken,
            charge,
        } in &self.borrowers
        {
            let source = places.of(wanted);
            let group = wanted.group;
            let folded = Group { slice: 0, ..group };
            let thread = kind_of(self.recording.tables, group.thread);
            let mut roles = Roles::default();
            let mut add = |at, shown, part: u64| {
                let role = Role::of(group.presence, shown);
                roles.add(role, part);
                let sum = sums.entry((folded, at, source.inferred)).or_default();
                sum.0 += part;
                sum.1 += part as f64 / 1e9 * charge.of(role);
            };
            if source.stacks.is_empty() {
                let (_, shown) = self.rewriter.user_place(group.tag, thread);
                add(None, shown, nanos);
            }
            let parts = borrowed_parts(nanos, source.stacks);
            for (seen, part) in source.stacks.iter().zip(parts) {
                let shown = self.rewriter.shown(Moment {
                    stack: seen.stack,
                    tag: group.tag,
                    thread,
                });
                add(Some((seen.stack, seen.kernel)), shown, part);
            }
            if roles != taken {
                wrong = true;
                found.insert(group, roles);
            }
        }
        if wrong {
            return Err(found);
        }
        self.known.groups = found;
        let mut sums: Vec<_> = sums.into_iter().collect();
        sums.sort_unstable_by_key(|&((group, at, inferred), _)| (group, at, Reverse(inferred)));
        let share = |((group, at, inferred), (nanos, blame)): (Key, (u64, f64))| {
            let origin = match inferred {
                true => Origin::Inferred,
                false => Origin::Alike,
            };
            let seen = at.map(|(stack, kernel)| Seen::none(stack, kernel));
            Share {
                blame,
                ..Share::at(group, seen.as_ref().map(|seen| (seen, origin)), nanos)
            }
        };
        Ok(sums.into_iter().map(share).collect())
    }

    fn close_all(&mut self) {
        while let Some(slice) = self.next_slice() {
            self.close(slice);
        }
    }

    /// What places borrowed time stands at.
    fn survey(&mut self) -> Survey<'a> {
        let mut survey = Survey::new(self.recording.tables);
        for (thread, lane) in (0..).map(ThreadId).zip(&mut self.lanes) {
            for (tag, near) in lane.take_near() {
                let kept = near.into_kept();
                kept.for_each(|donor| survey.donor(thread, tag, donor));
            }
            let kept = std::mem::take(&mut lane.outside).into_kept();
            kept.for_each(|donor| survey.outside(thread, donor));
        }
        survey.asked(self.borrowers.iter().map(|borrower| borrower.wanted));
        let mut states: Vec<_> = std::mem::take(&mut self.states).into_iter().collect();
        states.sort_unstable();
        for (thread, tag) in states {
            survey.time(thread, tag);
        }
        survey
    }

    fn inferred(mut self, mode: ViewMode) -> (f64, f64) {
        let places = self.survey().places();
        let sums = self.lanes.iter().flat_map(|lane| &lane.sums);
        let measured: u64 = sums.map(|sum| sum.nanos).sum();
        let (mut inferred, mut total) = (0, measured);
        for borrower in &self.borrowers {
            let tag = tag_of(self.recording.tables, borrower.wanted.group.tag);
            total += borrower.nanos;
            if places.of(borrower.wanted).inferred && !is_placed_in(mode, tag) {
                inferred += borrower.nanos;
            }
        }
        (inferred as f64 / 1e9, total as f64 / 1e9)
    }

    fn finish(mut self) -> Result<Shares, Known> {
        let tables = self.recording.tables;
        let mut survey = self.survey();
        let count = self.lanes.iter().map(|lane| lane.sums.len()).sum();
        let mut sums: Vec<Sum> = Vec::with_capacity(count);
        // Each thread's are freed before the next one's are moved.
        for lane in std::mem::take(&mut self.lanes) {
            sums.extend(lane.into_sums());
        }
        let state = |sum: &Sum| (sum.thread, sum.tag, sum.presence);
        let mut stacks: Vec<Seen> = Vec::new();
        let mut evidence: Vec<Moment> = Vec::with_capacity(sums.len());
        for of_state in sums.chunk_by(|one, other| state(one) == state(other)) {
            let (thread, tag, presence) = state(&of_state[0]);
            stacks.clear();
            stacks.extend(of_state.iter().map(|sum| sum.seen(sum.samples)));
            survey.samples(thread, tag, presence, &stacks);
            evidence.extend(stacks.iter().map(|seen| Moment {
                stack: seen.stack,
                tag,
                thread: kind_of(tables, thread),
            }));
        }
        let places = survey.places();
        evidence.sort_unstable_by_key(|m| (m.stack, m.tag, m.thread as u8));
        evidence.dedup();
        let right = self.learn(&evidence, &sums);
        let borrowed = match self.borrowed(&places) {
            Ok(borrowed) if right => borrowed,
            Ok(_) => {
                let groups = std::mem::take(&mut self.known.groups);
                return Err(Known { groups, evidence });
            }
            Err(groups) => return Err(Known { groups, evidence }),
        };
        // In the memory of the sums.
        let mut shares: Vec<Share> = sums
            .into_iter()
            .filter(|sum| sum.nanos > 0 || sum.count > 0)
            .map(Sum::share)
            .collect();
        shares.extend(borrowed);
        Ok(Shares {
            shares,
            evidence,
            idle: places.idle().clone(),
            learnt: Some(self.rewriter.what_was_learnt()),
        })
    }
}

/// Clock samples of a group, and its time.
struct Placed {
    group: Group,
    /// Which of [`Stream::numbers`].
    numbers: Range<usize>,
    /// How many are of each role.
    roles: Roles,
    nanos: u64,
    /// What a second of it is owed.
    owed: f64,
}

/// Time of a group off the CPU, during which others waited for its thread.
struct Off {
    group: Group,
    /// Sums, and how many nanoseconds of it each has.
    parts: Vec<(u32, u64)>,
    /// What a second of it is owed.
    owed: f64,
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

/// Tells what a thread of a kind is to the others at a spot.
fn role_in(rewriter: &mut Rewriter<'_>, thread: ThreadKind) -> impl FnMut(Spot) -> Option<Role> {
    move |spot| {
        let shown = rewriter.shown(Moment {
            stack: spot.stack(),
            tag: spot.tag(),
            thread,
        });
        Role::of(spot.presence(), shown)
    }
}

fn group_of(sample: &Sight) -> Group {
    Group {
        thread: sample.thread,
        tag: sample.tag,
        slice: (sample.time.0 / SLICE.0) as u32,
        presence: sample.kind.presence(),
    }
}
