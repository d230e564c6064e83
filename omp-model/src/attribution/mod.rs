//! Time in a thread state is measured; samples only say where within it.
//!
//! The experiment has the sum of time that each thread spent in each thread state, in each slice
//! of time, on and off the CPU: a *group*. Its samples divide it among their stacks, in whole
//! nanoseconds and to the last one. A group without samples takes the stacks of the nearest one
//! ([`inference`] has the order), those of its directive's other contexts ([`directives`]), or stands at
//! the construct itself. It is marked as inferred,
//! unless the events alone tell where it stands.
//!
//! One pass over the samples does it, slice by slice ([`pass`]). Shares are the same in both modes,
//! only their display stacks differ: that is why totals in user mode equal totals in machine mode,
//! thread by thread.

mod accumulator;
mod blame;
mod directives;
mod division;
mod events;
mod group;
mod inference;
mod measured;
mod nearest;
mod open;
mod pass;
mod phase;
mod roots;
mod share;
mod sleeps;
mod source;
#[cfg(test)]
mod tests;

use experiment::Samples;

use crate::profile::{Item, Profile, ViewMode};
use crate::rewrite::{Rewriter, SampledStack};
use crate::states::RefinedState;
use events::Events;
use group::kind_of;
use pass::Attributed;
use share::{Origin, Share};

pub use source::{Slices, Source};

/// All thread time of a recording, attributed to measured stacks, and the events of its counters.
#[derive(Debug)]
pub struct Attribution {
    time: Attributed,
    events: Vec<Events>,
    /// Every distinct stack that was sampled in a state, in the order of stacks.
    sampled_stacks: Vec<SampledStack>,
}

impl Attribution {
    /// One pass over the samples, which are unpacked on all CPUs.
    pub fn new(source: &Source<'_>, samples: &Samples, slices: Slices) -> Attribution {
        let mut time = pass::run(source, samples, slices);
        let counters = source.counters.iter();
        let events: Vec<Events> = counters.map(|it| Events::of(it, slices)).collect();
        let mut sampled_stacks = std::mem::take(&mut time.evidence);
        sampled_stacks.extend(events.iter().flat_map(|it| it.stacks(source)));
        sampled_stacks.sort_unstable_by_key(|m| (m.stack, m.thread_state, m.thread as u8));
        sampled_stacks.dedup();
        Attribution {
            time,
            events,
            sampled_stacks,
        }
    }

    /// Every distinct stack that was sampled in a state, in the order of stacks.
    pub fn sampled_stacks(&self) -> &[SampledStack] {
        &self.sampled_stacks
    }

    /// Seconds whose stack is inferred in a mode, and all seconds.
    pub fn inferred(&self, source: &Source<'_>, mode: ViewMode) -> (f64, f64) {
        let inferred = |share: &&Share| share.is_inferred(source, mode);
        let inferred = self.time.shares.iter().filter(inferred);
        let seconds = |nanos: u64| nanos as f64 / 1e9;
        (
            seconds(inferred.map(|share| share.nanos).sum()),
            seconds(self.time.shares.iter().map(|share| share.nanos).sum()),
        )
    }

    /// The shares and the events over the display stacks of a mode. `source` is the one that they were made from.
    pub fn profile(&self, source: &Source<'_>, mode: ViewMode) -> Profile {
        let tables = source.tables;
        let mut rewriter = Rewriter::new(
            tables,
            source.symbols,
            self.sampled_stacks().iter().copied(),
        );
        let mut path_of = |share: &Share| {
            let thread = kind_of(tables, share.thread);
            let sampled = |stack| SampledStack {
                stack,
                thread_state: share.thread_state,
                thread,
            };
            match (mode, share.origin) {
                (ViewMode::Machine, Origin::Construct) => {
                    let (path, state) = rewriter.machine_without_stack(share.thread_state, thread);
                    match self.time.idle.get(&thread) {
                        Some(&stack) if state == RefinedState::Idle => {
                            (rewriter.machine(sampled(stack)).0, state)
                        }
                        _ => (path, state),
                    }
                }
                (ViewMode::Machine, Origin::AtCall) => {
                    rewriter.machine_at_call(sampled(share.stack))
                }
                (ViewMode::Machine, _) => rewriter.machine(sampled(share.stack)),
                (_, Origin::AtCall) => rewriter.user_at_call(sampled(share.stack)),
                (_, Origin::Construct) => rewriter.user_without_stack(share.thread_state, thread),
                _ => rewriter.user(sampled(share.stack)),
            }
        };
        let shares = self.time.shares.iter();
        let time = shares.map(|share| share.item(source, mode, path_of(share)));
        let mut items: Vec<Item> = time.collect();
        for events in &self.events {
            items.extend(events.shares.iter().map(|share| Item {
                samples: 0,
                counter: Some(events.counter),
                events: f64::from(share.count) * events.each,
                ..share.item(source, mode, path_of(share))
            }));
        }
        let mut paths = rewriter.into_paths();
        paths.close();
        Profile { mode, paths, items }
    }
}
