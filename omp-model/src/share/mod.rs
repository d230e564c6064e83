//! Time in a state is measured; samples only say where within it.
//!
//! The recording has the sum of time that each thread spent in each (slice of time, state and
//! context, presence on the CPU): a *group*. Its samples share it out over their stacks, in whole
//! nanoseconds and to the last one. A group without a sample borrows the places of the nearest
//! one ([`places`] has the order), or stands at the construct itself, and is marked as inferred.
//!
//! Shares are the same in both modes, only their display stacks differ: that is why totals in
//! user mode equal totals in machine mode, thread by thread.

pub mod blame;
mod digest;
mod evidence;
mod items;
mod lane;
mod near;
mod open;
mod part;
mod places;
mod roles;
mod roots;
mod sleeps;
mod stream;
#[cfg(test)]
mod tests;
mod timed;

use std::collections::BTreeMap;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::experiment::{Samples, Sums};
use crate::header::Header;
use crate::ids::{ContextId, FrameId, Nanos, StackId, TagId, ThreadId};
use crate::profile::{Item, PathId, Profile, Shown, ViewMode};
use crate::rewrite::{Learnt, Moment, Rewriter};
use crate::rows::{Blame, Interval, SLICE, Sample, SampleKind, Sight};
use crate::state::{Presence, State};
use crate::symbols::SymbolTable;
use crate::tables::{Tables, Tag, ThreadKind};

use evidence::ByMoment;
use places::{Donor, Source, Survey, Wanted, is_outside};
use sleeps::{Sleeps, Slept};

/// What a profile is made of.
#[derive(Clone, Copy, Debug)]
pub struct Recording<'a> {
    /// Its tables.
    pub tables: &'a Tables,
    /// Names for its addresses.
    pub symbols: &'a SymbolTable,
    /// Measured time.
    pub sums: &'a Sums,
    /// Waiting time that is known to be owed to a thread.
    pub blames: &'a [Blame],
    /// Long intervals, listed one by one.
    pub intervals: &'a [Interval],
    /// How it was made.
    pub header: &'a Header,
}

/// One profile, when only one mode is wanted. [`Shares`] makes both from one pass over samples.
pub fn profile(
    recording: &Recording<'_>,
    samples: impl IntoIterator<Item = Sample>,
    mode: ViewMode,
) -> Profile {
    Shares::new(recording, samples).profile(recording, mode)
}

/// A thread's time of one kind: what a sum measures and what samples fall into.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Group {
    thread: ThreadId,
    tag: TagId,
    slice: u32,
    presence: Presence,
}

/// Samples of one group with one stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Seen {
    stack: StackId,
    kernel: bool,
    count: u32,
    /// How many of them stand for no time of known length.
    plain: u32,
    /// The time that the others stand for, in nanoseconds: short sleeps and long ones.
    brief: u64,
    long: u64,
}

impl Seen {
    /// A stack without samples.
    const fn none(stack: StackId, kernel: bool) -> Seen {
        Seen {
            stack,
            kernel,
            count: 0,
            plain: 0,
            brief: 0,
            long: 0,
        }
    }
}

/// A part of a group's time at one stack. There are as many as distinct stacks of each thread, so
/// it is small.
#[derive(Clone, Copy, Debug)]
struct Share {
    thread: ThreadId,
    tag: TagId,
    slice: u32,
    /// [`StackId::EMPTY`] at the construct's own place.
    stack: StackId,
    /// Samples at it.
    count: u32,
    presence: Presence,
    kernel: bool,
    origin: Origin,
    nanos: u64,
    /// Seconds that other threads waited because of it, if the share is of no one slice; else
    /// they are charged to the profile.
    blame: f64,
}

/// Whose the place of a share is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Origin {
    /// Samples of its own group.
    Own,
    /// Those of another group that tell as much.
    Alike,
    /// Those of another group.
    Inferred,
    /// No samples: it stands at the construct itself.
    Construct,
}

impl Origin {
    /// Of samples.
    const fn of(source: &Source<'_>) -> Origin {
        match (source.own, source.inferred) {
            (true, _) => Origin::Own,
            (false, false) => Origin::Alike,
            (false, true) => Origin::Inferred,
        }
    }
}

impl Share {
    /// Of a group at one stack, with as many samples; nothing at the construct itself.
    fn at(group: Group, at: Option<(&Seen, Origin)>, nanos: u64) -> Share {
        Share {
            thread: group.thread,
            tag: group.tag,
            slice: group.slice,
            stack: at.map_or(StackId::EMPTY, |(seen, _)| seen.stack),
            count: at.map_or(0, |(seen, _)| seen.count),
            presence: group.presence,
            kernel: at.is_some_and(|(seen, _)| seen.kernel),
            origin: at.map_or(Origin::Construct, |(_, origin)| origin),
            nanos,
            blame: 0.0,
        }
    }

    /// In a mode, at its display stack there.
    fn item(&self, tag: Tag, mode: ViewMode, (path, shown): (PathId, Shown)) -> Item {
        let running = self.presence == Presence::Running;
        let inferred = matches!(self.origin, Origin::Inferred | Origin::Construct);
        Item {
            path,
            thread: self.thread,
            slice: self.slice,
            tag: self.tag,
            context: if tag.state == State::Unknown {
                ContextId::ROOT
            } else {
                tag.context
            },
            stack: self.stack,
            shown,
            presence: self.presence,
            kernel: running && self.kernel,
            inferred: inferred && !is_placed_in(mode, tag),
            seconds: self.nanos as f64 / 1e9,
            blame: self.blame,
            samples: match self.origin {
                Origin::Own if running => self.count,
                _ => 0,
            },
        }
    }
}

/// All thread time of a recording, shared out over its measured stacks.
#[derive(Debug)]
pub struct Shares {
    shares: Vec<Share>,
    evidence: Vec<Moment>,
    /// The stack that idle threads of a kind are usually seen at.
    idle: FxHashMap<ThreadKind, StackId>,
    /// What the evidence tells, if it was asked already.
    learnt: Option<Learnt>,
}

impl Shares {
    /// One pass over the samples on all CPUs; what is kept grows with distinct stacks alone. The
    /// shares are of no one slice of time, and what they are blamed for is charged
    /// ([`blame`]).
    pub fn folded(recording: &Recording<'_>, samples: &Samples) -> Shares {
        stream::shares(recording, samples)
    }

    /// Seconds whose place is inferred in a mode, and all seconds, without the shares themselves.
    pub fn inferred(recording: &Recording<'_>, samples: &Samples, mode: ViewMode) -> (f64, f64) {
        stream::inferred(recording, samples, mode)
    }

    /// Shares of each slice of time by itself: as many as there are distinct stacks in each, which
    /// may be nearly as many as there are samples.
    pub fn new(recording: &Recording<'_>, samples: impl IntoIterator<Item = Sample>) -> Shares {
        let mut sleeps = Sleeps::new(recording.intervals);
        let seen = count(samples, &mut sleeps);
        let listed = sleeps.listed_upto(u32::MAX);
        let mut times = BTreeMap::<Group, u64>::new();
        let mut measured = FxHashSet::default();
        for sum in recording.sums.iter() {
            measured.insert(sum.thread);
            let group = Group {
                thread: sum.thread,
                tag: sum.tag,
                slice: sum.slice,
                presence: sum.presence,
            };
            *times.entry(group).or_default() += sum.time.0;
        }
        // Without sums (no switch records were permitted) each clock sample counts its period.
        let period = recording.header.sampling.period_us * 1000.0;
        for (group, stacks) in &seen {
            if !measured.contains(&group.thread) && group.presence == Presence::Running {
                let samples: u64 = stacks.iter().map(|s| u64::from(s.count)).sum();
                times.insert(*group, (samples as f64 * period).round() as u64);
            }
        }
        let mut survey = Survey::new(recording.tables);
        for (group, stacks) in &seen {
            for donor in Donor::of(*group, stacks) {
                if is_outside(tag_of(recording.tables, group.tag)) {
                    survey.outside(group.thread, donor.clone());
                }
                survey.donor(group.thread, group.tag, donor);
            }
            survey.samples(group.thread, group.tag, group.presence, stacks);
        }
        for group in times.keys() {
            survey.time(group.thread, group.tag);
        }
        let places = survey.places();
        let mut shares = Vec::new();
        for (&group, &nanos) in times.iter().filter(|(_, nanos)| **nanos > 0) {
            let mut time = Time {
                nanos,
                listed: listed.get(&group).copied().unwrap_or(0),
            };
            let mut left = Some((nanos, time.is_long()));
            if let Some(stacks) = seen.get(&group) {
                let unseen = time.take_unseen(tag_of(recording.tables, group.tag), stacks);
                left = (unseen > 0).then_some((unseen, true));
                let own = Source {
                    stacks,
                    inferred: false,
                    own: true,
                };
                share_out(group, time, &own, &mut shares);
            }
            if let Some((nanos, long)) = left {
                let time = Time { nanos, listed: 0 };
                let source = places.of(Wanted { group, long });
                share_out(group, time, &source, &mut shares);
            }
        }
        let mut evidence = FxHashSet::default();
        for (group, stacks) in &seen {
            let thread = places.kind(group.thread);
            evidence.extend(stacks.iter().map(|s| Moment {
                stack: s.stack,
                tag: group.tag,
                thread,
            }));
        }
        let mut evidence: Vec<Moment> = evidence.into_iter().collect();
        evidence.sort_unstable_by_key(|m| (m.stack, m.tag, m.thread as u8));
        let idle = places.idle().clone();
        Shares {
            shares,
            evidence,
            idle,
            learnt: None,
        }
    }

    /// Every distinct moment that was seen, in their order.
    pub fn moments(&self) -> &[Moment] {
        &self.evidence
    }

    /// The shares over the display stacks of a mode. `recording` is the one they were made from.
    pub fn profile(&self, recording: &Recording<'_>, mode: ViewMode) -> Profile {
        let Recording {
            tables, symbols, ..
        } = *recording;
        let mut rewriter = match &self.learnt {
            Some(learnt) => Rewriter::learnt(tables, symbols, learnt),
            None => Rewriter::new(tables, symbols, self.evidence.iter().copied()),
        };
        rewriter.expect(self.evidence.len());
        let mut seen = ByMoment::new(&self.evidence);
        let place = |share: &Share| {
            let thread = kind_of(tables, share.thread);
            let moment = |stack| Moment {
                stack,
                tag: share.tag,
                thread,
            };
            match (mode, share.origin) {
                (ViewMode::Machine, Origin::Construct) => {
                    let (path, shown) = rewriter.machine_place(share.tag, thread);
                    match self.idle.get(&thread) {
                        Some(&stack) if shown == Shown::Idle => {
                            (rewriter.machine(moment(stack)).0, shown)
                        }
                        _ => (path, shown),
                    }
                }
                (ViewMode::Machine, _) => rewriter.machine(moment(share.stack)),
                (_, Origin::Construct) => rewriter.user_place(share.tag, thread),
                _ => match seen.of(moment(share.stack)) {
                    Some(known) => {
                        *known.get_or_insert_with(|| rewriter.rewritten(moment(share.stack)))
                    }
                    None => rewriter.user(moment(share.stack)),
                },
            }
        };
        let items = items::of(&self.shares, place, |share, place| {
            share.item(tag_of(tables, share.tag), mode, place)
        });
        let mut paths = rewriter.into_paths();
        paths.close();
        Profile { mode, paths, items }
    }
}

fn kind_of(tables: &Tables, thread: ThreadId) -> ThreadKind {
    tables
        .threads
        .get(thread.index())
        .map_or(ThreadKind::Outside, |t| t.kind)
}

fn tag_of(tables: &Tables, tag: TagId) -> Tag {
    *tables.tags.get(tag.0).unwrap_or(&tables.tags.rows()[0])
}

/// Whether the event alone says the place in a mode.
fn is_placed_in(mode: ViewMode, tag: Tag) -> bool {
    mode != ViewMode::Machine && is_placed(tag)
}

/// Whether the event alone says the place in user mode: idleness has none, and the join barrier
/// stands at its region.
fn is_placed(tag: Tag) -> bool {
    match tag.state {
        State::Idle => true,
        State::ImplicitBarrier | State::TeamsBarrier => {
            tag.place == FrameId::NONE && tag.context != ContextId::ROOT
        }
        _ => false,
    }
}

/// Samples of one group with one stack, being counted.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    count: u32,
    plain: u32,
    brief: u64,
    long: u64,
}

impl Tally {
    /// A sample more, and what it stands for.
    fn add(&mut self, slept: Slept) {
        self.count += 1;
        match slept {
            Slept::Unknown => self.plain += 1,
            Slept::Brief(nanos) => self.brief += nanos,
            Slept::Long(nanos) => self.long += nanos,
        }
    }

    fn seen(self, stack: StackId, kernel: bool) -> Seen {
        Seen {
            stack,
            kernel,
            count: self.count,
            plain: self.plain,
            brief: self.brief,
            long: self.long,
        }
    }
}

/// The samples of each group by stack, in the order of stacks.
fn count(
    samples: impl IntoIterator<Item = Sample>,
    sleeps: &mut Sleeps<'_>,
) -> BTreeMap<Group, Vec<Seen>> {
    let mut counts = FxHashMap::<(Group, StackId, bool), Tally>::default();
    let mut add = |group, sample: &Sight, slept: Slept| {
        let kernel = sample.kind == SampleKind::Kernel;
        let tally = counts.entry((group, sample.stack, kernel));
        tally.or_default().add(slept);
    };
    for sample in samples {
        let plain = match sample.kind.presence() {
            Presence::Running => Some(sample),
            _ => sleeps.note(sample),
        };
        if let Some(sample) = plain {
            let group = Group {
                thread: sample.thread,
                tag: sample.tag,
                slice: (sample.time.0 / SLICE.0) as u32,
                presence: sample.kind.presence(),
            };
            add(group, &sample, Slept::Unknown);
        }
    }
    sleeps.parts_before(Nanos(u64::MAX), |sample, group, slept| {
        add(group, sample, slept);
    });
    let mut seen = BTreeMap::<Group, Vec<Seen>>::new();
    for ((group, stack, kernel), tally) in counts {
        seen.entry(group)
            .or_default()
            .push(tally.seen(stack, kernel));
    }
    for stacks in seen.values_mut() {
        stacks.sort_unstable();
    }
    seen
}

/// A group's time, in nanoseconds.
#[derive(Clone, Copy, Debug)]
struct Time {
    nanos: u64,
    /// What of it is listed, one by one: long sleeps.
    listed: u64,
}

impl Time {
    /// Whether it is long sleeps for the most part.
    const fn is_long(self) -> bool {
        self.listed > self.nanos / 2
    }

    /// Takes away the long sleeps of a group of which its own stacks tell nothing. Waits are where
    /// they are, long or short.
    fn take_unseen(&mut self, tag: Tag, stacks: &[Seen]) -> u64 {
        if tag.state.is_wait() || stacks.iter().any(|seen| seen.long > 0) {
            return 0;
        }
        let unseen = self.listed.min(self.nanos);
        self.nanos -= unseen;
        self.listed = 0;
        unseen
    }
}

/// Adds a group's time to the shares, each stack's part by itself.
fn share_out(group: Group, time: Time, source: &Source<'_>, shares: &mut Vec<Share>) {
    if source.stacks.is_empty() {
        shares.push(Share::at(group, None, time.nanos));
        return;
    }
    let parts = if source.own {
        own_parts(time, source.stacks)
    } else {
        borrowed_parts(time.nanos, source.stacks)
    };
    let origin = Origin::of(source);
    for (seen, part) in source.stacks.iter().zip(parts) {
        // A stack that gets nothing still has its samples.
        shares.push(Share::at(group, Some((seen, origin)), part));
    }
}

/// Each of a group's own stacks' part of its time; the parts sum up exactly. Each has the time that
/// it is known to stand for. Other long sleeps are shared out by the long ones of those, and what is
/// left by the short ones, or by the number of samples that stand for no time of known length.
fn own_parts(time: Time, stacks: &[Seen]) -> Vec<u64> {
    let long = stacks.iter().map(|seen| seen.long);
    let brief = stacks.iter().map(|seen| seen.brief);
    let plain = stacks.iter().map(|seen| u64::from(seen.plain));
    let known: u64 = long.clone().sum();
    let mut parts = vec![0; stacks.len()];
    let mut left = time.nanos;
    if known > 0 {
        // Listed times are rounded, and may be more than the sum by as much.
        left -= spread(known.min(left), long.clone(), &mut parts);
        let unseen = time.listed.saturating_sub(known).min(left);
        left -= spread(unseen, long.clone(), &mut parts);
    }
    left -= spread(left, brief, &mut parts);
    left -= spread(left, plain, &mut parts);
    if left > 0 {
        left -= spread(left, long, &mut parts);
        let counts = stacks.iter().map(|seen| u64::from(seen.count));
        spread(left, counts, &mut parts);
    }
    parts
}

/// Each borrowed stack's part of `nanos`, to the last one: their numbers say where a thread
/// usually is.
fn borrowed_parts(nanos: u64, stacks: &[Seen]) -> Vec<u64> {
    let counts = stacks.iter().map(|seen| u64::from(seen.count));
    let mut parts = vec![0; stacks.len()];
    spread(nanos, counts, &mut parts);
    parts
}

/// Adds `nanos` to `parts` in proportion to the weights, to the last one; nothing if those are all
/// 0. Returns what was added.
fn spread(nanos: u64, weights: impl Iterator<Item = u64> + Clone, parts: &mut [u64]) -> u64 {
    let total: u128 = weights.clone().map(u128::from).sum();
    if total == 0 {
        return 0;
    }
    let small = u64::try_from(total)
        .ok()
        .filter(|&total| nanos.checked_mul(total).is_some());
    let upto = |weight: u128| match small {
        // Nearly always, and much faster.
        Some(total) => nanos * weight as u64 / total,
        None => (u128::from(nanos) * weight / total) as u64,
    };
    let (mut weight, mut before) = (0, 0);
    for (part, more) in parts.iter_mut().zip(weights) {
        weight += u128::from(more);
        let after = upto(weight);
        *part += after - before;
        before = after;
    }
    nanos
}
