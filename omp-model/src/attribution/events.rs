//! The events of counters. Each sample of a counter stands for the same number of them, so there is
//! nothing to divide: its events are at its stack.

use experiment::CounterSamples;
use experiment::rows::{SLICE, Sample, SampleKind};
use experiment::state::Scheduling;
use rustc_hash::FxHashMap;

use super::group::{Group, kind_of};
use super::share::{Origin, Share};
use super::source::{Slices, Source};
use crate::metrics::CounterName;
use crate::rewrite::SampledStack;

/// The samples of a counter by group and stack.
#[derive(Debug)]
pub(super) struct Events {
    pub(super) counter: CounterName,
    /// The events that a sample stands for.
    pub(super) each: f64,
    /// How many samples were at each stack; without time.
    pub(super) shares: Vec<Share>,
}

impl Events {
    /// Counts the samples of a counter.
    pub(super) fn of(counter: &CounterSamples, slices: Slices) -> Events {
        let count = |samples: &[Sample]| {
            let mut counts = FxHashMap::default();
            for sample in samples {
                let slice = match slices {
                    Slices::Folded => 0,
                    Slices::Apart => (sample.time.0 / SLICE.0) as u32,
                };
                let group = Group {
                    thread: sample.thread,
                    thread_state: sample.thread_state,
                    slice,
                    // A counter fires on a CPU.
                    scheduling: Scheduling::Running,
                };
                let kernel = sample.kind == SampleKind::Kernel;
                *counts.entry((group, sample.stack, kernel)).or_default() += 1_u32;
            }
            counts
        };
        let mut counts = FxHashMap::<_, u32>::default();
        counter.samples.in_order(count, |_, of_frame| {
            for (key, count) in of_frame {
                let all = counts.entry(key).or_default();
                *all = all.saturating_add(count);
            }
        });
        let share = |((group, stack, kernel), count)| Share {
            count,
            ..Share::none(group, Origin::Own, stack, kernel)
        };
        let mut shares: Vec<Share> = counts.into_iter().map(share).collect();
        shares.sort_unstable_by_key(Share::key);
        Events {
            counter: CounterName::new(&counter.name),
            each: counter.events_each,
            shares,
        }
    }

    /// Its distinct stacks.
    pub(super) fn stacks<'a>(
        &'a self,
        source: &'a Source<'_>,
    ) -> impl Iterator<Item = SampledStack> + 'a {
        self.shares.iter().map(|share| SampledStack {
            stack: share.stack,
            thread_state: share.thread_state,
            thread: kind_of(source.tables, share.thread),
        })
    }
}
