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
use super::near::Near;
use super::open::Open;
use super::places::{Donor, Places, Survey, Wanted, is_outside};
use super::sleeps::{MARGIN, Sleeps, Slept};
use super::spots::{Spot, Spots, Sum};
use super::timed::Timed;
use super::{
    Group, Recording, Seen, Share, Shares, Time, borrowed_parts, kind_of, own_parts, tag_of,
};
use crate::experiment::Samples;
use crate::ids::{Nanos, StackId, TagId, ThreadId};
use crate::profile::Shown;
use crate::rewrite::{Moment, Rewriter};
use crate::rows::{SLICE, Sample};
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

/// The shares, or what has to be known for them of time that borrows its places.
fn pass(recording: &Recording<'_>, samples: &Samples, known: Known) -> Result<Shares, Known> {
    let mut stream = Stream::new(recording, known);
    let index = samples.index();
    // The earliest time that this frame or a later one begins at.
    let mut begins = vec![u64::MAX; index.len() + 1];
    for (at, frame) in index.iter().enumerate().rev() {
        begins[at] = begins[at + 1].min(frame.first.0);
    }
    samples.in_order(Digest::of, |frame, digest| {
        stream.add(digest);
        stream.close_before(begins[frame + 1]);
    });
    if !stream.late {
        return stream.finish();
    }
    // Times within a thread's frame went backwards, which no recording of ours has: nothing is
    // closed before everything was seen.
    let mut stream = Stream::new(recording, stream.known);
    samples.in_order(Digest::of, |_, digest| stream.add(digest));
    stream.finish()
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
}

impl Roles {
    fn add(&mut self, role: Option<Role>, nanos: u64) {
        match role {
            Some(Role::Works) => self.works += nanos,
            Some(Role::Waits) => self.waits += nanos,
            None => {}
        }
    }

    fn each(self) -> [(Option<Role>, u64); 2] {
        [
            (Some(Role::Works), self.works),
            (Some(Role::Waits), self.waits),
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
    /// What a second of its work is charged with, in seconds.
    rate: f64,
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
    /// Slices below are closed.
    closed: u32,
    /// Whether a sample came for a closed slice.
    late: bool,
    spots: Spots,
    /// The parts of the groups of the slice that is being closed: at which sum, and how much.
    parts: Vec<(u32, u64)>,
    near: FxHashMap<(ThreadId, TagId), Near>,
    outside: FxHashMap<ThreadId, Near>,
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
            causes: Causes::new(recording.tables, recording.intervals),
            sleeps: Sleeps::new(recording.intervals),
            timed: Timed::new(recording.sums),
            states: FxHashSet::default(),
            open: BTreeMap::new(),
            closed: 0,
            late: false,
            spots: Spots::default(),
            parts: Vec::new(),
            near: FxHashMap::default(),
            outside: FxHashMap::default(),
            borrowers: Vec::new(),
            roles: FxHashMap::default(),
            known,
        }
    }

    fn add(&mut self, digest: Digest) {
        let mut start = 0;
        for run in &digest.runs {
            self.late |= run.slice < self.closed;
            let counts = digest.counts[start..run.end].to_vec();
            let open = self.open.entry(run.slice).or_default();
            open.counts.push((run.thread, counts));
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
        let mut borrowing: Vec<(Wanted, u64)> = Vec::new();
        let mut times = self.timed.take(slice);
        let states = times.0.iter().map(|(group, _)| (group.thread, group.tag));
        self.states.extend(states);
        let groups = self.open.remove(&slice).unwrap_or_default().groups();
        let mut moments = FxHashMap::<u32, blame::Moment>::default();
        let mut placed: Vec<Placed> = Vec::new();
        self.parts.clear();
        let period = self.recording.header.sampling.period_us * 1000.0;
        for (group, stacks) in groups.iter() {
            let group = Group { slice, ..group };
            let known = times.of(group);
            let nanos = match known {
                Some(known) => std::mem::take(known),
                None if self.is_counted(group) => {
                    let samples: u64 = stacks.iter().map(|seen| u64::from(seen.count)).sum();
                    (samples as f64 * period).round() as u64
                }
                None => 0,
            };
            let mut time = Time {
                nanos,
                listed: listed_of(group),
            };
            let unseen = time.take_unseen(tag_of(self.recording.tables, group.tag), stacks);
            if unseen > 0 {
                borrowing.push((Wanted { group, long: true }, unseen));
            }
            let rows = self.place(group, time, stacks);
            let moment = moments
                .entry(self.causes.process(group.thread))
                .or_default();
            for (role, nanos) in rows.roles.each() {
                moment.add(role, group.thread, group.tag, nanos as f64 / 1e9);
            }
            placed.push(rows);
            for donor in Donor::of(group, stacks) {
                if self.is_outside(group) {
                    let near = self.outside.entry(group.thread).or_default();
                    near.donor(donor.clone());
                }
                let near = self.near.entry((group.thread, group.tag)).or_default();
                near.donor(donor);
            }
        }
        borrowing.extend(times.left().map(|(group, nanos)| {
            let listed = listed_of(group);
            let long = Time { nanos, listed }.is_long();
            (Wanted { group, long }, nanos)
        }));
        let first = self.borrowers.len();
        for (wanted, nanos) in borrowing {
            let group = wanted.group;
            let roles = self.roles_of(group, nanos);
            let moment = moments
                .entry(self.causes.process(group.thread))
                .or_default();
            for (role, nanos) in roles.each() {
                moment.add(role, group.thread, group.tag, nanos as f64 / 1e9);
            }
            if self.is_outside(group) {
                self.outside
                    .entry(group.thread)
                    .or_default()
                    .borrower(slice);
            }
            let near = self.near.entry((group.thread, group.tag)).or_default();
            near.borrower(slice);
            self.borrowers.push(Borrower {
                wanted,
                nanos,
                roles,
                rate: 0.0,
            });
        }
        let mut rates = FxHashMap::<(ThreadId, TagId), f64>::default();
        for moment in moments.values() {
            let of_moment = self.causes.rates(slice, moment);
            rates.extend(of_moment.map(|(thread, tag, rate)| ((thread, tag), rate)));
        }
        let rate = |group: Group| {
            rates
                .get(&(group.thread, group.tag))
                .copied()
                .unwrap_or(0.0)
        };
        for rows in &placed {
            let rate = rate(rows.group);
            let parts = &self.parts[rows.parts.clone()];
            for &(at, nanos) in parts.iter().filter(|_| rate > 0.0) {
                let sum = &mut self.spots.sums[at as usize];
                if sum.role == Some(Role::Works) {
                    sum.blame += nanos as f64 / 1e9 * rate;
                }
            }
        }
        for borrower in &mut self.borrowers[first..] {
            borrower.rate = rate(borrower.wanted.group);
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

    /// Adds a group's time to the sums of its stacks.
    fn place(&mut self, group: Group, time: Time, stacks: &[Seen]) -> Placed {
        let parts = match time.nanos {
            0 => vec![0; stacks.len()],
            _ => own_parts(time, stacks),
        };
        let first = self.parts.len();
        let mut roles = Roles::default();
        let rewriter = &mut self.rewriter;
        let kind = kind_of(self.recording.tables, group.thread);
        for (seen, part) in stacks.iter().zip(parts) {
            let at = self.spots.at(Spot::of(group, seen), || {
                let shown = rewriter.shown(Moment {
                    stack: seen.stack,
                    tag: group.tag,
                    thread: kind,
                });
                Role::of(group.presence, shown)
            });
            let sum = &mut self.spots.sums[at as usize];
            sum.seen += seen.count;
            if time.nanos > 0 {
                sum.count += seen.count;
            }
            sum.nanos += part;
            roles.add(sum.role, part);
            self.parts.push((at, part));
        }
        Placed {
            group,
            parts: first..self.parts.len(),
            roles,
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

    /// From now on what a thread did is told by all of the evidence. Returns whether that makes no
    /// difference to what was charged.
    fn learn(&mut self, evidence: &[Moment], sums: &[Sum]) -> bool {
        let Recording {
            tables, symbols, ..
        } = *self.recording;
        self.rewriter = Rewriter::new(tables, symbols, evidence.iter().copied());
        sums.iter().all(|sum| {
            let shown = self.rewriter.shown(Moment {
                stack: sum.spot.stack,
                tag: sum.spot.tag,
                thread: kind_of(tables, sum.spot.thread),
            });
            sum.role == Role::of(sum.spot.presence, shown)
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
            rate,
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
                if role == Some(Role::Works) {
                    sum.1 += part as f64 / 1e9 * rate;
                }
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
        let share = |((group, at, inferred), (nanos, blame)): (Key, (u64, f64))| Share {
            group,
            at: at.map(|(stack, kernel)| Seen {
                stack,
                kernel,
                count: 0,
                plain: 0,
                brief: 0,
                long: 0,
            }),
            inferred,
            own: false,
            nanos,
            blame,
        };
        Ok(sums.into_iter().map(share).collect())
    }

    fn finish(mut self) -> Result<Shares, Known> {
        while let Some(slice) = self.next_slice() {
            self.close(slice);
        }
        let tables = self.recording.tables;
        let sums = std::mem::take(&mut self.spots).sorted();
        let mut survey = Survey::new(tables);
        let state = |sum: &Sum| (sum.spot.thread, sum.spot.tag, sum.spot.presence);
        let mut evidence = FxHashSet::default();
        for of_state in sums.chunk_by(|one, other| state(one) == state(other)) {
            let (thread, tag, presence) = state(&of_state[0]);
            let stacks: Vec<Seen> = of_state.iter().map(|sum| sum.spot.seen(sum.seen)).collect();
            survey.samples(thread, tag, presence, &stacks);
            evidence.extend(stacks.iter().map(|seen| Moment {
                stack: seen.stack,
                tag,
                thread: kind_of(tables, thread),
            }));
        }
        let mut states: Vec<_> = std::mem::take(&mut self.states).into_iter().collect();
        states.sort_unstable();
        for (thread, tag) in states {
            survey.time(thread, tag);
        }
        let mut near: Vec<_> = std::mem::take(&mut self.near).into_iter().collect();
        near.sort_unstable_by_key(|&(key, _)| key);
        for ((thread, tag), near) in near {
            for donor in near.into_kept() {
                survey.donor(thread, tag, donor);
            }
        }
        for (thread, near) in std::mem::take(&mut self.outside) {
            let kept = near.into_kept();
            kept.for_each(|donor| survey.outside(thread, donor));
        }
        let places = survey.places();
        let mut shares: Vec<Share> = sums
            .iter()
            .filter(|sum| sum.nanos > 0 || sum.count > 0)
            .map(|sum| Share {
                group: sum.spot.group(),
                at: Some(sum.spot.seen(sum.count)),
                inferred: false,
                own: true,
                nanos: sum.nanos,
                blame: sum.blame,
            })
            .collect();
        let mut evidence: Vec<Moment> = evidence.into_iter().collect();
        evidence.sort_unstable_by_key(|m| (m.stack, m.tag, m.thread as u8));
        let right = self.learn(&evidence, &sums);
        match self.borrowed(&places) {
            Ok(borrowed) if right => shares.extend(borrowed),
            Ok(_) => {
                let groups = std::mem::take(&mut self.known.groups);
                return Err(Known { groups, evidence });
            }
            Err(groups) => return Err(Known { groups, evidence }),
        }
        Ok(Shares {
            shares,
            evidence,
            idle: places.idle().clone(),
        })
    }
}

/// The parts of a group's time.
struct Placed {
    group: Group,
    /// Which of [`Stream::parts`].
    parts: Range<usize>,
    /// Its time by what it is to the others.
    roles: Roles,
}

fn group_of(sample: &Sample) -> Group {
    Group {
        thread: sample.thread,
        tag: sample.tag,
        slice: (sample.time.0 / SLICE.0) as u32,
        presence: sample.kind.presence(),
    }
}
