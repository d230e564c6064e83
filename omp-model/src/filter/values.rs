//! An expression's values, by which time is grouped: user-defined index objects.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use super::cpus::{NOWHERE, OfThreads, Own, own_of_item, own_of_sample};
use super::expression::Filter;
use super::moment::{Moment, second};
use super::weigh::{Source, Weigher};
use crate::profile::{Item, Profile};
use experiment::rows::Sample;
use experiment::state::Presence;

/// An item's values, each with the part of its time that has it; the parts add up to 1.
pub type Parts = Vec<(i64, f64)>;

/// The values of an expression, item by item.
///
/// Time whose value hangs on `TSTAMP`, `CPUID`, `CPRID` or `TSKID` is divided by the item's own
/// samples; without any it is spread evenly over its second, on the CPUs where its thread was then,
/// in instances that nothing tells (-1).
pub fn values(
    expression: &Filter,
    profile: &Profile,
    source: &Source<'_>,
    samples: impl IntoIterator<Item = Sample>,
) -> Vec<Parts> {
    let weigher = Weigher::new(expression, profile, source);
    let whole = profile.items.iter().map(|item| {
        let value = weigher.number(item, Moment::of_item(item));
        value.map_or_else(Parts::new, |value| vec![(value, 1.0)])
    });
    let mut parts: Vec<Parts> = whole.collect();
    if parts.iter().all(|parts| !parts.is_empty()) {
        return parts;
    }
    let mut open = FxHashMap::<Own, usize>::default();
    let mut seconds = Vec::new();
    for (at, item) in profile.items.iter().enumerate() {
        if parts[at].is_empty() {
            if let Some(own) = own_of_item(item) {
                open.insert(own, at);
            }
            seconds.push((item.thread, item.slice));
        }
    }
    let mut threads = OfThreads::new(seconds.into_iter());
    let mut votes = FxHashMap::<usize, BTreeMap<i64, f64>>::default();
    for sample in samples {
        threads.count(&sample);
        let Some(&at) = open.get(&own_of_sample(&sample)) else {
            continue;
        };
        let value = weigher.number(&profile.items[at], Moment::of_sample(&sample));
        *votes
            .entry(at)
            .or_default()
            .entry(value.unwrap_or(0))
            .or_default() += 1.0;
    }
    for (at, (parts, item)) in parts.iter_mut().zip(&profile.items).enumerate() {
        if parts.is_empty() {
            let cpus = match item.presence {
                Presence::Running => threads.parts(item),
                _ => vec![(NOWHERE, 1.0)],
            };
            *parts = match votes.get(&at) {
                Some(votes) => shares(votes),
                None => shares(&spread(&weigher, item, &cpus)),
            };
        }
    }
    parts
}

fn shares(votes: &BTreeMap<i64, f64>) -> Parts {
    let all: f64 = votes.values().sum();
    let share = |(&value, &count): (&i64, &f64)| (value, count / all);
    votes.iter().map(share).collect()
}

/// The values at moments spread over an item's second, on these CPUs.
fn spread(weigher: &Weigher<'_>, item: &Item, cpus: &[(i64, f64)]) -> BTreeMap<i64, f64> {
    const MOMENTS: i64 = 256;
    let (start, end) = second(item);
    let mut counts = BTreeMap::new();
    for &(cpu, part) in cpus {
        for moment in 0..MOMENTS {
            let time = start + (2 * moment + 1) * (end - start) / (2 * MOMENTS);
            let value = weigher.number(item, Moment::somewhere(cpu).at(time));
            *counts.entry(value.unwrap_or(0)).or_default() += part;
        }
    }
    counts
}
