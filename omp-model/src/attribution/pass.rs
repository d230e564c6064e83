//! The pass over all samples, slice by slice.
//!
//! A slice is *open* until no sample can fall into it any more, which the times that frames begin
//! at tell. Then the time of its groups is divided among their own stacks, and its samples are
//! forgotten. A group without samples waits until all samples were seen.
//!
//! Blame is charged as a slice is closed. Time of groups without samples counts there as what its
//! thread state alone says, for its stacks are not known yet.

use std::collections::BTreeMap;
use std::ops::Range;

use experiment::Samples;
use experiment::ids::{Nanos, StackId};
use experiment::rows::SLICE;
use experiment::state::Scheduling;
use experiment::tables::{Tables, ThreadKind};
use rustc_hash::FxHashMap;

use super::accumulator::{Accumulators, Known, Sum};
use super::blame::{Causes, Charge, GroupRoles, Role, Roles};
use super::directives::{Directive, Directives};
use super::division::{Time, divide_inferred};
use super::group::{Group, Sampled, kind_of, thread_state_of};
use super::inference::{Inference, idle_stacks};
use super::measured::Measured;
use super::nearest::{Nearest, Wanted};
use super::open::{Open, Sorted, sort};
use super::share::{Origin, Share};
use super::sleeps::{MARGIN, Sleeps};
use super::source::{Slices, Source};
use crate::rewrite::{Rewriter, SampledStack};
use crate::states::RefinedState;

/// All thread time, attributed.
#[derive(Debug)]
pub(super) struct Attributed {
    pub(super) shares: Vec<Share>,
    /// Every stack that was sampled in a state.
    pub(super) evidence: Vec<SampledStack>,
    /// The stack that idle threads of a kind are usually seen at.
    pub(super) idle: FxHashMap<ThreadKind, StackId>,
}

/// Goes through all samples.
pub(super) fn run(source: &Source<'_>, samples: &Samples, slices: Slices) -> Attributed {
    let mut pass = Pass::new(source, slices);
    let index = samples.index();
    // The earliest time that this frame or a later one begins at.
    let mut begins = vec![Nanos(u64::MAX); index.len() + 1];
    for (at, frame) in index.iter().enumerate().rev() {
        begins[at] = begins[at + 1].min(frame.first);
    }
    samples.in_order(sort, |frame, sorted| {
        pass.add(sorted);
        pass.close_before(begins[frame + 1]);
    });
    pass.finish()
}

/// A group of a slice that is being closed.
struct Closing {
    group: Group,
    /// All of its time.
    nanos: u64,
    roles: Roles,
    /// The number of its accumulator.
    accumulator: u32,
    /// Which parts are at its own stacks.
    parts: Range<usize>,
    /// Its time of which its samples tell nothing, if it has any.
    unsampled: Option<(Wanted, u64)>,
}

/// What a group has at one of its own stacks.
struct Part {
    at: Known,
    samples: u32,
    nanos: u64,
}

/// Time of a group of which no samples of its own tell.
#[derive(Clone, Copy, Debug)]
struct Unsampled {
    wanted: Wanted,
    nanos: u64,
    /// What a second of it is charged with.
    charge: f64,
}

struct Pass<'a> {
    source: &'a Source<'a>,
    slices: Slices,
    /// Only for what a thread did.
    rewriter: Rewriter<'a>,
    /// What threads did at the stacks that it was asked for: those of a team share most of theirs.
    state: FxHashMap<SampledStack, RefinedState>,
    causes: Causes<'a>,
    sleeps: Sleeps<'a>,
    measured: Measured<'a>,
    open: BTreeMap<u32, Open>,
    /// Slices below take no samples any more.
    closed: u32,
    accumulators: Accumulators,
    nearest: Nearest,
    unsampled: Vec<Unsampled>,
    /// Those of closed slices, if each is wanted by itself.
    shares: Vec<Share>,
}

impl<'a> Pass<'a> {
    fn new(source: &'a Source<'a>, slices: Slices) -> Pass<'a> {
        let Source {
            tables,
            symbols,
            sums,
            blames,
            intervals,
            ..
        } = *source;
        Pass {
            source,
            slices,
            rewriter: Rewriter::new(tables, symbols, []),
            state: FxHashMap::default(),
            causes: Causes::new(tables, blames, intervals),
            sleeps: Sleeps::new(intervals),
            measured: Measured::new(sums),
            open: BTreeMap::new(),
            closed: 0,
            accumulators: Accumulators::default(),
            nearest: Nearest::default(),
            unsampled: Vec::new(),
            shares: Vec::new(),
        }
    }

    /// The samples of a slice; one that is closed already, which no experiment of ours has samples
    /// for, gives way to the first that is not.
    fn open(&mut self, slice: u32) -> &mut Open {
        self.open.entry(slice.max(self.closed)).or_default()
    }

    fn add(&mut self, sorted: Sorted) {
        for (thread, slice, clock) in sorted.clock {
            self.open(slice).add_clock(thread, clock);
        }
        for sample in sorted.switches {
            if let Some(plain) = self.sleeps.note(sample) {
                let group = Group::of(&plain);
                let open = self.open(group.slice);
                open.add_switch(group, plain.stack, None);
            }
        }
    }

    /// Closes the slices that no sample from this moment on can fall into.
    fn close_before(&mut self, moment: Nanos) {
        let end = moment.0.saturating_sub(MARGIN) / SLICE.0;
        while let Some(slice) = self.next_slice()
            && u64::from(slice) < end
        {
            self.close(slice);
        }
    }

    /// The first slice that has samples or time and is not closed.
    fn next_slice(&self) -> Option<u32> {
        let sampled = self.open.keys().next().copied();
        sampled.into_iter().chain(self.measured.next()).min()
    }

    fn close(&mut self, slice: u32) {
        self.closed = slice + 1;
        let mut open = self.open.remove(&slice).unwrap_or_default();
        self.sleeps.parts_in(slice, |sample, group, slept| {
            open.add_switch(group, sample.stack, Some(slept));
        });
        let listed = self.sleeps.listed_in(slice);
        let listed = |group: &Group| listed.get(group).copied().unwrap_or_default();
        let mut times = self.measured.take(slice);
        let mut closing = Vec::new();
        let groups = open.groups(slice);
        let mut parts = Vec::with_capacity(groups.sampled.len());
        for (group, stacks) in groups.each() {
            let nanos = match times.binary_search_by_key(&group, |&(group, _)| group) {
                Ok(at) => std::mem::take(&mut times[at].1),
                Err(_) => self.counted(group, stacks),
            };
            let listed = listed(&group);
            self.nearest.offer(self.source.tables, group, stacks);
            closing.push(self.sampled(group, Time { nanos, listed }, stacks, &mut parts));
        }
        for (group, nanos) in times.into_iter().filter(|&(_, nanos)| nanos > 0) {
            let listed = listed(&group);
            let long = Time { nanos, listed }.is_long();
            closing.push(Closing {
                group,
                nanos,
                roles: Roles::default(),
                accumulator: 0,
                parts: 0..0,
                unsampled: Some((Wanted { group, long }, nanos)),
            });
        }
        for closing in &mut closing {
            let Some((Wanted { group, .. }, nanos)) = closing.unsampled else {
                continue;
            };
            self.nearest.ask(self.source.tables, group);
            closing.roles.add(self.role_of_state(group), nanos);
        }
        let of_groups = closing.iter().map(|closing| GroupRoles {
            group: closing.group,
            nanos: closing.nanos,
            roles: closing.roles,
        });
        let charges = self.causes.charges(slice, of_groups);
        for (closing, charge) in closing.into_iter().zip(charges) {
            self.accumulate(&closing, &parts[closing.parts.clone()], charge);
        }
    }

    /// The time of a group with samples of which none was measured. Each clock sample counts its
    /// period where no sums tell of its thread (no switch records were permitted).
    fn counted(&self, group: Group, stacks: &[Sampled]) -> u64 {
        let source = self.source;
        if group.scheduling != Scheduling::Running || source.sums.threads().contains(&group.thread)
        {
            return 0;
        }
        let samples: u64 = stacks.iter().map(|s| u64::from(s.count)).sum();
        let period = source.header.sampling.period_us * 1000.0;
        (samples as f64 * period).round() as u64
    }

    /// A group with samples, whose parts are added to those of the others.
    fn sampled(
        &mut self,
        group: Group,
        mut time: Time,
        stacks: &[Sampled],
        parts: &mut Vec<Part>,
    ) -> Closing {
        let tables = self.source.tables;
        let nanos = time.nanos;
        let unseen = time.take_unseen(thread_state_of(tables, group.thread_state), stacks);
        let mut roles = Roles::default();
        let start = parts.len();
        let of_state = self.accumulators.number(group);
        for (sampled, nanos) in stacks.iter().zip(time.divide(stacks)) {
            let at = self.accumulators.sum_at(of_state, group, sampled, |stack| {
                let thread = kind_of(tables, group.thread);
                let stack = SampledStack {
                    stack,
                    thread_state: group.thread_state,
                    thread,
                };
                let state = self.state.entry(stack);
                let state = state.or_insert_with(|| self.rewriter.refined_state(stack));
                Role::of(thread, group.scheduling, *state)
            });
            roles.add(at.role, nanos);
            parts.push(Part {
                at,
                samples: sampled.count,
                nanos,
            });
        }
        let wanted = Wanted { group, long: true };
        Closing {
            group,
            nanos,
            roles,
            accumulator: of_state,
            parts: start..parts.len(),
            unsampled: (unseen > 0).then_some((wanted, unseen)),
        }
    }

    /// What time of a group without samples is to the other threads, as far as its state tells.
    fn role_of_state(&self, group: Group) -> Option<Role> {
        let kind = kind_of(self.source.tables, group.thread);
        Role::of(
            kind,
            group.scheduling,
            self.rewriter.state_without_stack(group.thread_state, kind),
        )
    }

    fn accumulate(&mut self, closing: &Closing, parts: &[Part], charge: Charge) {
        if !parts.is_empty() {
            let slice = closing.group.slice;
            let accumulator = self.accumulators.at(closing.accumulator);
            for part in parts {
                if closing.nanos == 0 {
                    accumulator.add_samples(part.at, part.samples);
                    continue;
                }
                let added = accumulator.add_time(part.at, part.samples, part.nanos, charge);
                if self.slices == Slices::Apart {
                    let share = added.share();
                    self.shares.push(Share { slice, ..share });
                }
            }
        }
        if let Some((wanted, nanos)) = closing.unsampled {
            let role = self.role_of_state(wanted.group);
            self.unsampled.push(Unsampled {
                wanted,
                nanos,
                charge: charge.of(role),
            });
        }
    }

    fn finish(mut self) -> Attributed {
        while let Some(slice) = self.next_slice() {
            self.close(slice);
        }
        let tables = self.source.tables;
        let sums = self.accumulators.into_sums();
        let wanted = self.unsampled.iter().map(|unsampled| unsampled.wanted);
        let inference = Inference::new(self.source, self.nearest, &sums, wanted);
        let mut shares = self.shares;
        if self.slices == Slices::Folded {
            let told = sums.iter().filter(|sum| sum.nanos > 0 || sum.count > 0);
            shares.extend(told.map(Sum::share));
        }
        let known = (tables, &sums[..]);
        shares.extend(inferred(known, &inference, &self.unsampled, self.slices));
        shares.sort_unstable_by_key(Share::key);
        let evidence: Vec<SampledStack> = sums
            .iter()
            .map(|sum| SampledStack {
                stack: sum.stack,
                thread_state: sum.thread_state,
                thread: kind_of(tables, sum.thread),
            })
            .collect();
        Attributed {
            shares,
            evidence,
            idle: idle_stacks(tables, &sums),
        }
    }
}

/// The time of groups without samples, at the stacks that it takes.
fn inferred(
    (tables, sums): (&Tables, &[Sum]),
    inference: &Inference<'_>,
    all_unsampled: &[Unsampled],
    slices: Slices,
) -> impl Iterator<Item = Share> + use<> {
    type Key = (Group, Origin, StackId, bool);
    let mut shares = FxHashMap::<Key, (u64, f64)>::default();
    let mut add = |unsampled: &Unsampled, origin, (stack, kernel), nanos: u64| {
        let group = match slices {
            Slices::Folded => Group {
                slice: 0,
                ..unsampled.wanted.group
            },
            Slices::Apart => unsampled.wanted.group,
        };
        let share = shares.entry((group, origin, stack, kernel)).or_default();
        share.0 += nanos;
        share.1 += nanos as f64 / 1e9 * unsampled.charge;
    };
    // What no context like it tells of is left to the other contexts of its directive.
    let mut left = BTreeMap::<Directive, Vec<&Unsampled>>::new();
    for unsampled in all_unsampled {
        let (stacks, _) = inference.stacks(unsampled.wanted);
        let directive = Directive::of(tables, unsampled.wanted.group);
        if let Some(directive) = directive.filter(|_| stacks.is_empty()) {
            left.entry(directive).or_default().push(unsampled);
        }
    }
    let mut directives = Directives::new(tables, left.keys().copied(), sums);
    for unsampled in all_unsampled {
        let group = unsampled.wanted.group;
        let (stacks, origin) = inference.stacks(unsampled.wanted);
        let parts = divide_inferred(unsampled.nanos, stacks);
        for (sampled, nanos) in stacks.iter().zip(parts) {
            let at = (sampled.stack, sampled.kernel);
            add(unsampled, origin, at, nanos);
            directives.add_given(tables, group, at, nanos);
        }
        if stacks.is_empty() && Directive::of(tables, group).is_none() {
            add(
                unsampled,
                Origin::Construct,
                (StackId::EMPTY, false),
                unsampled.nanos,
            );
        }
    }
    for (directive, groups) in left {
        let rest = groups.iter().map(|unsampled| unsampled.nanos).sum();
        let mut pieces = directives.hand_out(directive, rest).into_iter();
        let mut piece = pieces.next();
        for unsampled in groups {
            let mut nanos = unsampled.nanos;
            while let Some((at, has)) = piece.as_mut().filter(|_| nanos > 0) {
                let taken = nanos.min(*has);
                add(unsampled, Origin::Inferred, *at, taken);
                nanos -= taken;
                *has -= taken;
                if *has == 0 {
                    piece = pieces.next();
                }
            }
            if nanos > 0 {
                add(unsampled, Origin::Construct, (StackId::EMPTY, false), nanos);
            }
        }
    }
    shares
        .into_iter()
        .map(|((group, origin, stack, kernel), (nanos, blame))| Share {
            nanos,
            blame,
            ..Share::none(group, origin, stack, kernel)
        })
}
