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
mod near;
mod open;
mod places;
mod roots;
mod sleeps;
mod spots;
mod stream;
#[cfg(test)]
mod tests;
mod timed;

use std::collections::BTreeMap;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::experiment::{Samples, Sums};
use crate::header::Header;
use crate::ids::{ContextId, FrameId, Nanos, StackId, TagId, ThreadId};
use crate::profile::{Item, Profile, Shown, ViewMode};
use crate::rewrite::{Moment, Rewriter};
use crate::rows::{Interval, SLICE, Sample, SampleKind};
use crate::state::{Presence, State};
use crate::symbols::SymbolTable;
use crate::tables::{Tables, Tag, ThreadKind};

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

/// A part of a group's time at one stack.
#[derive(Clone, Copy, Debug)]
struct Share {
    group: Group,
    /// `None`: at the construct's own place.
    at: Option<Seen>,
    inferred: bool,
    /// Whether the samples in `at` are the group's own.
    own: bool,
    nanos: u64,
    /// Seconds that other threads waited because of it, if the share is of no one slice; else
    /// they are charged to the profile.
    blame: f64,
}

/// All thread time of a recording, shared out over its measured stacks.
#[derive(Debug)]
pub struct Shares {
    shares: Vec<Share>,
    evidence: Vec<Moment>,
    /// The stack that idle threads of a kind are usually seen at.
    idle: FxHashMap<ThreadKind, StackId>,
}

impl Shares {
    /// One pass over the samples on all CPUs; what is kept grows with distinct stacks alone. The
    /// shares are of no one slice of time, and what they are blamed for is charged
    /// ([`blame`]).
    pub fn folded(recording: &Recording<'_>, samples: &Samples) -> Shares {
        stream::shares(recording, samples)
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
        }
    }

    /// Every distinct moment that was seen, in their order.
    pub fn moments(&self) -> &[Moment] {
        &self.evidence
    }

    /// The shares over the display stacks of a mode. `recording` is the one they were made from.
    pub fn profile(&self, recording: &Recording<'_>, mode: ViewMode) -> Profile {
        let evidence = self.evidence.iter().copied();
        let mut rewriter = Rewriter::new(recording.tables, recording.symbols, evidence);
        let mut items = Vec::with_capacity(self.shares.len());
        for share in &self.shares {
            let thread = kind_of(recording.tables, share.group.thread);
            let tag = tag_of(recording.tables, share.group.tag);
            let moment = |stack| Moment {
                stack,
                tag: share.group.tag,
                thread,
            };
            let (path, shown) = match (mode, share.at) {
                (ViewMode::Machine, Some(at)) => rewriter.machine(moment(at.stack)),
                (ViewMode::Machine, None) => {
                    let (path, shown) = rewriter.machine_place(share.group.tag, thread);
                    match self.idle.get(&thread) {
                        Some(&stack) if shown == Shown::Idle => {
                            (rewriter.machine(moment(stack)).0, shown)
                        }
                        _ => (path, shown),
                    }
                }
                (_, Some(at)) => rewriter.user(moment(at.stack)),
                (_, None) => rewriter.user_place(share.group.tag, thread),
            };
            let running = share.group.presence == Presence::Running;
            items.push(Item {
                path,
                thread: share.group.thread,
                slice: share.group.slice,
                tag: share.group.tag,
                context: if tag.state == State::Unknown {
                    ContextId::ROOT
                } else {
                    tag.context
                },
                stack: share.at.map_or(StackId::EMPTY, |at| at.stack),
                shown,
                presence: share.group.presence,
                kernel: running && share.at.is_some_and(|at| at.kernel),
                inferred: share.inferred && !(mode != ViewMode::Machine && is_placed(tag)),
                seconds: share.nanos as f64 / 1e9,
                blame: share.blame,
                samples: match share.at {
                    Some(at) if share.own && running => at.count,
                    _ => 0,
                },
            });
        }
        Profile {
            mode,
            paths: rewriter.into_paths(),
            items,
        }
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
    let mut add = |group, sample: &Sample, slept: Slept| {
        let kernel = sample.kind == SampleKind::Kernel;
        let tally = counts.entry((group, sample.stack, kernel));
        tally.or_default().add(slept);
    };
    for sample in samples {
        let plain = match sample.kind.presence() {
            Presence::Running => Some(sample),
            Presence::Preempted | Presence::Blocked => sleeps.note(sample),
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
    let share = |at, nanos| Share {
        group,
        at,
        inferred: source.inferred,
        own: source.own,
        nanos,
        blame: 0.0,
    };
    if source.stacks.is_empty() {
        shares.push(share(None, time.nanos));
        return;
    }
    let parts = if source.own {
        own_parts(time, source.stacks)
    } else {
        borrowed_parts(time.nanos, source.stacks)
    };
    for (&seen, part) in source.stacks.iter().zip(parts) {
        // A stack that gets nothing still has its samples.
        shares.push(share(Some(seen), part));
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
