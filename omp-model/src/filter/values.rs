//! Values of an expression, to group time by: user-defined index objects.

use std::collections::BTreeMap;

use experiment::state::Scheduling;
use rustc_hash::FxHashMap;

use super::cpus::{AnySample, NOWHERE, OfThreads, Own, own_of_item, own_of_sample};
use super::expression::Filter;
use super::time_point::{TimePoint, second};
use super::weigh::{Source, Weigher};
use crate::profile::{Item, Profile};

/// An item's values, each with its part of the item's time; the parts add up to 1.
pub type Parts = Vec<(i64, f64)>;

/// The values of an expression, item by item.
///
/// Time whose value depends on `TSTAMP`, `CPUID`, `CPRID` or `TSKID` is divided in proportion to
/// the item's own samples. Without any, it is spread evenly over its second, on the CPUs of its
/// thread in that second, in unknown instances (-1).
pub fn values(
    expression: &Filter,
    profile: &Profile,
    source: &Source<'_>,
    samples: impl IntoIterator<Item = AnySample>,
) -> Vec<Parts> {
    let weigher = Weigher::new(expression, profile, source);
    let whole = profile.items.iter().map(|item| {
        let value = weigher.number(item, TimePoint::of_item(item));
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
        let value = weigher.number(&profile.items[at], TimePoint::of_sample(&sample.1));
        *votes
            .entry(at)
            .or_default()
            .entry(value.unwrap_or(0))
            .or_default() += 1.0;
    }
    for (at, (parts, item)) in parts.iter_mut().zip(&profile.items).enumerate() {
        if parts.is_empty() {
            let cpus = match item.scheduling {
                Scheduling::Running => threads.parts(item),
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

/// The values at points in time spread over an item's second, on the given CPUs.
fn spread(weigher: &Weigher<'_>, item: &Item, cpus: &[(i64, f64)]) -> BTreeMap<i64, f64> {
    const POINTS: i64 = 256;
    let (start, end) = second(item);
    let mut counts = BTreeMap::new();
    for &(cpu, part) in cpus {
        for point in 0..POINTS {
            let time = start + (2 * point + 1) * (end - start) / (2 * POINTS);
            let value = weigher.number(item, TimePoint::somewhere(cpu).at(time));
            *counts.entry(value.unwrap_or(0)).or_default() += part;
        }
    }
    counts
}
