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

mod closing;

use std::cmp::Reverse;
use std::collections::BTreeMap;

use rustc_hash::{FxHashMap, FxHashSet};

use super::blame::{Causes, Role};
use closing::{Closing, both, on_all_cpus};

use super::digest::Digest;
use super::evidence;
use super::lane::{Lane, Sum};
use super::open::Open;
use super::places::{Places, Survey, Wanted};
use super::roles::{Charge, Roles};
use super::sleeps::{MARGIN, Sleeps, Slept};
use super::timed::Timed;
use super::{
    Group, Origin, Recording, Seen, Share, Shares, borrowed_parts, is_placed_in, kind_of, tag_of,
};
use crate::experiment::Samples;
use crate::ids::{StackId, TagId, ThreadId};
use crate::profile::{Shown, ViewMode};
use crate::rewrite::{Moment, Rewriter};
use crate::rows::{SLICE, Sight};
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

/// Time of a group of which no samples of its own tell.
#[derive(Clone, Copy, Debug)]
struct Borrower {
    wanted: Wanted,
    nanos: u64,
    /// What it was taken to be when its slice was closed.
    roles: Roles,
    charge: Charge,
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
    /// Slices that no sample can change any more, to be closed together.
    closing: Vec<Closing>,
    /// How many samples and groups they have.
    gathered: usize,
    /// Slices below take no samples any more.
    closed: u32,
    /// Whether a sample came for a closed slice.
    late: bool,
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
            closing: Vec::new(),
            gathered: 0,
            closed: 0,
            late: false,
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

    /// Gathers the slices that no sample from this moment on can change.
    fn close_before(&mut self, moment: u64) {
        let end = (moment.saturating_sub(MARGIN) / SLICE.0).min(u64::from(u32::MAX)) as u32;
        while let Some(slice) = self.next_slice().filter(|&slice| slice < end) {
            self.gather(slice);
        }
        self.closed = self.closed.max(end);
    }

    fn close_all(&mut self) {
        while let Some(slice) = self.next_slice() {
            self.gather(slice);
        }
        self.close();
    }

    /// The first slice that has samples or time and was not gathered.
    fn next_slice(&self) -> Option<u32> {
        let sampled = self.open.keys().next().copied();
        match (sampled, self.timed.next()) {
            (Some(sampled), Some(timed)) => Some(sampled.min(timed)),
            (one, other) => one.or(other),
        }
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
        on_all_cpus(self.lanes.iter_mut(), count, Lane::settle);
        self.rewriter.forget();
        let mut sums: Vec<Sum> = Vec::with_capacity(count);
        // Each thread's are freed before the next one's are moved.
        for lane in std::mem::take(&mut self.lanes) {
            sums.extend(lane.sums);
        }
        let state = |sum: &Sum| (sum.thread, sum.tag, sum.presence);
        let distinct = || {
            evidence::distinct(sums.iter().map(|sum| Moment {
                stack: sum.stack,
                tag: sum.tag,
                thread: kind_of(tables, sum.thread),
            }))
        };
        let look_at_states = || {
            let mut stacks: Vec<Seen> = Vec::new();
            for of_state in sums.chunk_by(|one, other| state(one) == state(other)) {
                let (thread, tag, presence) = state(&of_state[0]);
                stacks.clear();
                stacks.extend(of_state.iter().map(|sum| sum.seen(sum.samples)));
                survey.samples(thread, tag, presence, &stacks);
            }
        };
        let (evidence, ()) = both(count, distinct, look_at_states);
        let places = survey.places();
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

fn group_of(sample: &Sight) -> Group {
    Group {
        thread: sample.thread,
        tag: sample.tag,
        slice: (sample.time.0 / SLICE.0) as u32,
        presence: sample.kind.presence(),
    }
}
