//! The CPUs that an item's time was spent on, as far as samples tell.
//!
//! Time off CPU is on no CPU: `CPUID` is -1. Time on CPU is divided in proportion to the CPUs of
//! its own samples; without any, in proportion to those of its thread in that second. If the thread
//! has no sample there either, the CPU is unknown, -1 as well.

use experiment::ids::{StackId, ThreadId, ThreadStateId};
use experiment::rows::{SLICE, Sample, SampleKind};
use experiment::state::Scheduling;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::metrics::CounterName;
use crate::profile::Item;

/// The number for no CPU or an unknown one.
pub(super) const NOWHERE: i64 = -1;

/// A sample, and the counter that made it; none: the clock or a switch did.
pub type AnySample = (Option<CounterName>, Sample);

/// The key by which samples belong to items.
pub(super) type Own = (
    Option<CounterName>,
    (ThreadId, u32, ThreadStateId, Scheduling),
    (StackId, bool),
);

/// The key of an item's samples; `None` if the item was inferred.
pub(super) fn own_of_item(item: &Item) -> Option<Own> {
    let kernel = item.kernel && item.scheduling == Scheduling::Running;
    let state = (item.thread, item.slice, item.thread_state, item.scheduling);
    let inferred = item.inferred && item.samples == 0;
    (!inferred).then_some((item.counter, state, (item.stack, kernel)))
}

/// The key of the items that a sample belongs to.
pub(super) fn own_of_sample((counter, sample): &AnySample) -> Own {
    let slice = (sample.time.0 / SLICE.0) as u32;
    let scheduling = sample.kind.scheduling();
    let state = (sample.thread, slice, sample.thread_state, scheduling);
    let kernel = sample.kind == SampleKind::Kernel;
    (*counter, state, (sample.stack, kernel))
}

/// The CPU of a sample: none for a switched-out thread.
pub(super) fn cpu_of(sample: &Sample) -> i64 {
    match sample.kind.scheduling() {
        Scheduling::Running => i64::from(sample.cpu),
        _ => NOWHERE,
    }
}

/// Samples by CPU: nearly always one or two.
#[derive(Clone, Debug, Default)]
pub(super) struct Cpus(Vec<(i64, u32)>);

impl Cpus {
    pub(super) fn count(&mut self, cpu: i64) {
        match self.0.iter_mut().find(|(known, _)| *known == cpu) {
            Some((_, samples)) => *samples += 1,
            None => self.0.push((cpu, 1)),
        }
    }

    /// Each CPU with its part of the samples.
    pub(super) fn parts(&self) -> impl Iterator<Item = (i64, f64)> {
        let all: u32 = self.0.iter().map(|(_, samples)| samples).sum();
        let part = move |&(cpu, samples)| (cpu, f64::from(samples) / f64::from(all));
        self.0.iter().map(part)
    }
}

/// Samples by CPU, for each thread and second.
#[derive(Debug, Default)]
pub(super) struct OfThreads {
    wanted: FxHashSet<(ThreadId, u32)>,
    seen: FxHashMap<(ThreadId, u32), Cpus>,
}

impl OfThreads {
    /// Empty counts for the given seconds of threads.
    pub(super) fn new(wanted: impl Iterator<Item = (ThreadId, u32)>) -> OfThreads {
        OfThreads {
            wanted: wanted.collect(),
            seen: FxHashMap::default(),
        }
    }

    /// Counts a clock sample of a running thread, if its second was requested.
    pub(super) fn count(&mut self, (counter, sample): &AnySample) {
        let key = (sample.thread, (sample.time.0 / SLICE.0) as u32);
        let is_clock = counter.is_none() && sample.kind.scheduling() == Scheduling::Running;
        if is_clock && self.wanted.contains(&key) {
            self.seen
                .entry(key)
                .or_default()
                .count(i64::from(sample.cpu));
        }
    }

    /// The CPUs of an item's thread in the item's second, each with its part.
    pub(super) fn parts(&self, item: &Item) -> Vec<(i64, f64)> {
        match self.seen.get(&(item.thread, item.slice)) {
            Some(cpus) => cpus.parts().collect(),
            None => vec![(NOWHERE, 1.0)],
        }
    }
}
