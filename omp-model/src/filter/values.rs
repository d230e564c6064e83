//! An expression's values, by which time is grouped: user-defined index objects.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use super::Filter;
use super::weigh::{Source, Weigher, second};
use crate::profile::{Item, Profile};
use crate::rows::{SLICE, Sample, SampleKind};
use crate::state::Presence;

/// An item's values, each with the part of its time that has it; the parts add up to 1.
pub type Parts = Vec<(i64, f64)>;

/// The values of an expression, item by item.
///
/// Time whose value hangs on `TSTAMP` or `CPUID` is divided by the item's own samples; without
/// any it is spread evenly over its second, on CPU -1.
pub fn values(
    expression: &Filter,
    profile: &Profile,
    source: &Source<'_>,
    samples: impl IntoIterator<Item = Sample>,
) -> Vec<Parts> {
    let weigher = Weigher::new(expression, profile, source);
    let whole = profile.items.iter().map(|item| {
        let value = weigher.number(item, None, None);
        value.map_or_else(Parts::new, |value| vec![(value, 1.0)])
    });
    let mut parts: Vec<Parts> = whole.collect();
    if parts.iter().all(|parts| !parts.is_empty()) {
        return parts;
    }
    let mut open = FxHashMap::default();
    for (at, item) in profile.items.iter().enumerate() {
        if parts[at].is_empty() && !(item.inferred && item.samples == 0) {
            let kernel = item.kernel && item.presence == Presence::Running;
            let state = (item.thread, item.slice, item.tag, item.presence);
            open.insert((state, item.stack, kernel), at);
        }
    }
    let mut votes = FxHashMap::<usize, BTreeMap<i64, u32>>::default();
    for sample in samples {
        let slice = (sample.time.0 / SLICE.0) as u32;
        let kernel = sample.kind == SampleKind::Kernel;
        let state = (sample.thread, slice, sample.tag, sample.kind.presence());
        let Some(&at) = open.get(&(state, sample.stack, kernel)) else {
            continue;
        };
        let (time, cpu) = (sample.time.0 as i64, i64::from(sample.cpu));
        let value = weigher.number(&profile.items[at], Some(time), Some(cpu));
        *votes
            .entry(at)
            .or_default()
            .entry(value.unwrap_or(0))
            .or_default() += 1;
    }
    for (at, parts) in parts.iter_mut().enumerate() {
        if parts.is_empty() {
            *parts = match votes.get(&at) {
                Some(votes) => shares(votes),
                None => shares(&spread(&weigher, &profile.items[at])),
            };
        }
    }
    parts
}

fn shares(votes: &BTreeMap<i64, u32>) -> Parts {
    let all: u32 = votes.values().sum();
    let share = |(&value, &count)| (value, f64::from(count) / f64::from(all));
    votes.iter().map(share).collect()
}

/// The values at moments spread over an item's second.
fn spread(weigher: &Weigher<'_>, item: &Item) -> BTreeMap<i64, u32> {
    const MOMENTS: i64 = 256;
    let (start, end) = second(item);
    let mut counts = BTreeMap::new();
    for moment in 0..MOMENTS {
        let time = start + (2 * moment + 1) * (end - start) / (2 * MOMENTS);
        let value = weigher.number(item, Some(time), Some(-1));
        *counts.entry(value.unwrap_or(0)).or_default() += 1;
    }
    counts
}
