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

use crate::profile::{Profile, RefinedState, ViewMode};
use crate::rewrite::{Rewriter, SampledStack};

use group::kind_of;
use pass::Attributed;
use share::{Origin, Share};

pub use source::{Slices, Source};

/// All thread time of a recording, attributed to measured stacks.
#[derive(Debug)]
pub struct Attribution(Attributed);

impl Attribution {
    /// One pass over the samples, which are unpacked on all CPUs.
    pub fn new(source: &Source<'_>, samples: &Samples, slices: Slices) -> Attribution {
        Attribution(pass::run(source, samples, slices))
    }

    /// Every distinct stack that was sampled in a state, in the order of stacks.
    pub fn sampled_stacks(&self) -> &[SampledStack] {
        &self.0.evidence
    }

    /// Seconds whose stack is inferred in a mode, and all seconds.
    pub fn inferred(&self, source: &Source<'_>, mode: ViewMode) -> (f64, f64) {
        let inferred = |share: &&Share| share.is_inferred(source, mode);
        let inferred = self.0.shares.iter().filter(inferred);
        let seconds = |nanos: u64| nanos as f64 / 1e9;
        (
            seconds(inferred.map(|share| share.nanos).sum()),
            seconds(self.0.shares.iter().map(|share| share.nanos).sum()),
        )
    }

    /// The shares over the display stacks of a mode. `source` is the one that they were made from.
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
                    match self.0.idle.get(&thread) {
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
        let items = self.0.shares.iter();
        let items = items.map(|share| share.item(source, mode, path_of(share)));
        let items = items.collect();
        let mut paths = rewriter.into_paths();
        paths.close();
        Profile { mode, paths, items }
    }
}
