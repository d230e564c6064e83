//! Where the threads of a region wait or sleep: the call, and what stands before it.

use experiment::ids::{ContextId, FrameId};
use experiment::state::State;
use experiment::symbols::Workshare;
use rustc_hash::{FxHashMap, FxHashSet};

use super::Measured;
use super::gain::Cause;
use super::innermost_regions;
use super::locations::ConstructLocation;
use super::loops::{LoopRow, counted};
use super::own_code::{OwnCode, OwnPlace, heaviest};
use super::regions::RegionRow;
use crate::profile::{PathId, Profile};
use crate::views::names::Names;

/// What stands before the barrier in which a region's threads wait longest.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) enum Before {
    /// No barrier has most of the waits, or nothing tells what stands before it.
    #[default]
    Unknown,
    /// `single`: one thread works.
    Single,
    /// A loop with so many iterations each time, as far as a runtime was asked for them.
    Loop(Option<f64>),
    /// Anything: it is a `barrier` directive.
    Directive,
}

/// The longest wait for a cause.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Longest {
    /// Its place; `None` if the region says more.
    pub(super) location: Option<ConstructLocation>,
    /// What the threads waited for, if it is a barrier.
    pub(super) before: Before,
}

/// Waiting time by call into the runtime.
pub(super) struct WaitingCalls<'a> {
    names: &'a Names<'a>,
    seconds: FxHashMap<(ContextId, Cause), FxHashMap<FrameId, f64>>,
    /// The calls of `barrier` directives.
    directives: FxHashSet<FrameId>,
    loops: Vec<LoopRow>,
}

impl<'a> WaitingCalls<'a> {
    pub(super) fn new(names: &'a Names<'a>, measured: &Measured<'_>) -> WaitingCalls<'a> {
        let innermost = innermost_regions(names.tables);
        let mut calls = WaitingCalls {
            names,
            seconds: FxHashMap::default(),
            directives: FxHashSet::default(),
            loops: counted(names, measured),
        };
        for sum in measured.sums.iter() {
            let thread_state = names.tables.thread_states.get(sum.thread_state.0);
            let Some(thread_state) = thread_state.filter(|it| names.is_user(it.call)) else {
                continue;
            };
            let state = names.symbols.state_of(*thread_state);
            let Some(cause) = cause_of(state) else {
                continue;
            };
            if state == State::ExplicitBarrier {
                calls.directives.insert(thread_state.call);
            }
            let region = innermost.get(thread_state.context.index());
            let region = region.copied().unwrap_or(ContextId::ROOT);
            let by_call = calls.seconds.entry((region, cause)).or_default();
            *by_call.entry(thread_state.call).or_default() += sum.time.seconds();
        }
        calls
    }

    /// The call that waited longest. A region has many barriers: one of them stands for all only if it has more
    /// than half of their time. The barrier at the region's end is in no call.
    pub(super) fn longest(&self, row: &RegionRow, cause: Cause) -> Longest {
        let mut all = FxHashMap::<FrameId, f64>::default();
        for context in &row.contexts {
            let here = self.seconds.get(&(*context, cause));
            for (&call, seconds) in here.into_iter().flatten() {
                *all.entry(call).or_default() += seconds;
            }
        }
        let named: f64 = all.values().sum();
        let longest = heaviest(all);
        if cause != Cause::Imbalance {
            return Longest {
                location: longest
                    .and_then(|(call, _)| self.place(call, ConstructLocation::of_frame)),
                before: Before::Unknown,
            };
        }
        let half = 0.5 * row.lost[cause as usize];
        let Some((call, _)) = longest.filter(|(_, seconds)| *seconds > half) else {
            // Most of it is at the region's end, in no call, or in no barrier more than in others.
            let construct = row.loop_of(self.names).filter(|_| named < half);
            return self.before(construct, row.location.clone());
        };
        match self.names.symbols.directive_of(call) {
            Some(directive) => self.before(
                Some(directive.construct),
                ConstructLocation::of_call(self.names, call),
            ),
            None if self.directives.contains(&call) => Longest {
                location: self.place(call, ConstructLocation::of_frame),
                before: Before::Directive,
            },
            None => self.before(row.loop_of(self.names), row.location.clone()),
        }
    }

    /// A body without a known line or function says less than the region.
    fn place(
        &self,
        call: FrameId,
        location: fn(&Names<'_>, FrameId) -> ConstructLocation,
    ) -> Option<ConstructLocation> {
        let location = location(self.names, call);
        let says = location.line.is_some() || self.names.written_holder(call).is_some();
        says.then_some(location)
    }

    fn before(&self, construct: Option<Workshare>, location: ConstructLocation) -> Longest {
        let before = match construct {
            Some(Workshare::Single) => Before::Single,
            Some(Workshare::Loop) => {
                let here = self.loops.iter().filter(|row| row.is_at(&location));
                let trips = here.map(LoopRow::trip).filter(|trip| *trip > 0.0);
                Before::Loop(trips.reduce(f64::max))
            }
            _ => Before::Unknown,
        };
        Longest {
            location: Some(location),
            before,
        }
    }
}

/// The cause of waits that have their own code location inside a region.
const fn cause_of(state: State) -> Option<Cause> {
    match state {
        State::Lock | State::NestLock | State::Critical => Some(Cause::Lock),
        State::Ordered => Some(Cause::Ordered),
        State::Atomic => Some(Cause::Atomic),
        State::TaskWait | State::TaskGroup => Some(Cause::Tasks),
        State::ImplicitBarrier | State::ExplicitBarrier => Some(Cause::Imbalance),
        _ => None,
    }
}

/// The sleeps of a region's threads in the middle of their work.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Asleep {
    /// Where most of them are.
    pub(super) place: OwnPlace,
    /// Seconds that other threads waited meanwhile for mutexes that the sleepers held.
    pub(super) blame: f64,
}

impl Asleep {
    /// `None` if there is no such place in the program's own code, or samples show less than half of it.
    pub(super) fn of(
        profile: &Profile,
        names: &Names<'_>,
        row: &RegionRow,
        own: &OwnCode<'_>,
    ) -> Option<Asleep> {
        let innermost = innermost_regions(names.tables);
        let is_here = |context: ContextId| {
            let region = innermost.get(context.index());
            region.is_some_and(|region| row.contexts.contains(region))
        };
        let items = profile.items.iter().filter(|item| {
            let sleeps = Cause::of(item) == Some(Cause::OffCpu) && !item.scheduling.wants_cpu();
            sleeps && is_here(item.context)
        });
        let items: Vec<_> = items.collect();
        // Where a sleep without a sample of its own stands is a guess.
        let seen = items.iter().filter(|item| !item.inferred);
        let times: Vec<(PathId, f64)> = seen.map(|it| (it.path, it.seconds)).collect();
        let all: f64 = items.iter().map(|item| item.seconds).sum();
        if times.iter().map(|(_, seconds)| seconds).sum::<f64>() < 0.5 * all {
            return None;
        }
        let place = own.place(&times);
        place.location.line?;
        Some(Asleep {
            place,
            blame: items.iter().map(|item| item.blame).sum(),
        })
    }
}
