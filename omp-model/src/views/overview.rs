//! The overview of an experiment: how its time was spent.

use experiment::tables::{Tables, ThreadKind};

use super::names::Names;
use super::tree::add_item;
use super::{List, Request, Seconds};
use crate::metrics::{Available, Flavour, Metric, Quantity, SortKey};
use crate::profile::Profile;
use crate::states::RefinedState;

/// Whether the program used OpenMP: a runtime registered a thread, or a stack lies in a runtime.
pub fn uses_openmp<'a>(tables: &Tables, profile: impl FnOnce() -> &'a Profile) -> bool {
    tables
        .threads
        .iter()
        .any(|thread| thread.kind != ThreadKind::Outside)
        || profile()
            .items
            .iter()
            .any(|item| item.state != RefinedState::Serial)
}

/// The depth of a metric among the times of all threads: a part is one level below its whole.
pub const fn depth(metric: Metric) -> usize {
    match metric {
        Metric::Total => 0,
        Metric::TotalCpu | Metric::OffCpu | Metric::OmpWork | Metric::OmpWait => 1,
        _ => 2,
    }
}

/// The metric that a part follows in the order of lists: overhead and reductions are work of the
/// runtime, no wait. Counters come last, in their own order.
const fn whole(metric: Metric) -> Metric {
    match metric {
        Metric::State(state) if state.can_work() => Metric::OmpWork,
        Metric::Counter(_) => Metric::Blame,
        metric => metric,
    }
}

/// A ratio of two counters. Of the names of each, the first that there is counts.
#[derive(Debug)]
pub struct Rate {
    /// Its key in JSON.
    pub id: &'static str,
    /// What it is.
    pub words: &'static str,
    /// Its unit, or nothing.
    pub unit: &'static str,
    of: &'static [&'static str],
    to: &'static [&'static str],
    times: f64,
}

/// What counters say together.
const RATES: &[Rate] = &[
    Rate {
        id: "ipc",
        words: "Instructions per cycle",
        unit: "",
        of: &["instructions"],
        to: &["cycles"],
        times: 1.0,
    },
    Rate {
        id: "memory_bound",
        words: "Cycles stalled for memory or execution units",
        unit: "%",
        of: &["stalled-cycles-backend"],
        to: &["cycles"],
        times: 100.0,
    },
    Rate {
        id: "frontend_bound",
        words: "Cycles stalled for instructions to decode",
        unit: "%",
        of: &["stalled-cycles-frontend"],
        to: &["cycles"],
        times: 100.0,
    },
    Rate {
        id: "cache_misses_per_1000",
        words: "Last-level cache misses per 1000 instructions",
        unit: "",
        of: &["LLC-load-misses", "cache-misses"],
        to: &["instructions"],
        times: 1000.0,
    },
    Rate {
        id: "cache_miss_percent",
        words: "Cache misses of cache references",
        unit: "%",
        of: &["cache-misses"],
        to: &["cache-references"],
        times: 100.0,
    },
    Rate {
        id: "branch_miss_percent",
        words: "Mispredicted branches",
        unit: "%",
        of: &["branch-misses"],
        to: &["branches"],
        times: 100.0,
    },
];

/// How the time of all threads was spent.
#[derive(Clone, Debug, PartialEq)]
pub struct Overview {
    /// Number of processes.
    pub processes: usize,
    /// Number of threads by kind; kinds without a thread are left out.
    pub threads: Vec<(ThreadKind, usize)>,
    /// Every metric that the experiment has, in seconds; parts follow their whole.
    pub times: Vec<(Metric, f64)>,
    /// The events of every counter.
    pub counters: Vec<(Metric, f64)>,
    /// The functions with most exclusive thread time, and their metrics ([`Overview::times`], then
    /// [`Overview::counters`]).
    pub largest: List,
}

impl Overview {
    /// What the counters say together, as far as there are those that it takes.
    pub fn rates(&self) -> Vec<(&'static Rate, f64)> {
        rates(&self.counters)
    }

    /// The value of one metric; 0 if the experiment does not have it.
    pub fn time(&self, metric: Metric) -> f64 {
        let found = self.times.iter().find(|(known, _)| *known == metric);
        found.map_or(0.0, |&(_, seconds)| seconds)
    }
}

fn rates(counters: &[(Metric, f64)]) -> Vec<(&'static Rate, f64)> {
    let events = |names: &[&str]| {
        let of = |name: &&str| counters.iter().find(|(it, _)| it.id() == *name);
        let some = |&(_, events): &(Metric, f64)| (events > 0.0).then_some(events);
        names.iter().find_map(|name| of(name).and_then(some))
    };
    let value = |rate: &'static Rate| {
        let (of, to) = (events(rate.of)?, events(rate.to)?);
        Some((rate, rate.times * of / to))
    };
    RATES.iter().filter_map(value).collect()
}

/// Sums up a profile, with at most `largest` functions.
pub fn overview(
    profile: &Profile,
    names: &Names<'_>,
    available: &Available,
    largest: usize,
) -> Overview {
    let mut metrics = available.metrics().to_vec();
    metrics.sort_by_key(|metric| whole(*metric));
    let mut sums = Seconds::from(vec![0.0; metrics.len()]);
    for item in &profile.items {
        add_item(&mut sums, item, &metrics);
    }
    let kinds = [
        ThreadKind::Initial,
        ThreadKind::Worker,
        ThreadKind::Other,
        ThreadKind::Outside,
    ];
    let count = |kind| {
        names
            .tables
            .threads
            .iter()
            .filter(|thread| thread.kind == kind)
            .count()
    };
    let threads = kinds
        .into_iter()
        .map(|kind| (kind, count(kind)))
        .filter(|(_, n)| *n > 0);
    let request = Request {
        metrics: metrics.clone(),
        sort: SortKey {
            quantity: Quantity::Time(Flavour::Exclusive, Metric::Total),
            reversed: false,
        },
    };
    let mut list = super::functions::functions(profile, names, &request);
    let total = metrics.iter().position(|&metric| metric == Metric::Total);
    list.rows
        .retain(|row| total.is_none_or(|at| row.exclusive[at] > 0.0));
    list.rows.truncate(largest);
    let of_metrics = metrics.into_iter().zip(sums);
    Overview {
        processes: names.tables.processes.len(),
        threads: threads.collect(),
        times: of_metrics
            .clone()
            .filter(|(it, _)| !it.is_counter())
            .collect(),
        counters: of_metrics.filter(|(it, _)| it.is_counter()).collect(),
        largest: list,
    }
}

#[cfg(test)]
mod tests {
    use experiment::header::Sampling;

    use super::*;
    use crate::views::test_profile::TestProfile;

    #[test]
    fn rates_follow_from_the_counters_that_there_are() {
        let of = |counters: &[(&str, f64)]| -> Vec<(&str, f64)> {
            let named = counters.iter().map(|&(name, events)| {
                let name = crate::metrics::CounterName::new(name);
                (Metric::Counter(name), events)
            });
            let rates = rates(&named.collect::<Vec<_>>());
            rates
                .into_iter()
                .map(|(rate, value)| (rate.id, value))
                .collect()
        };
        let cycles = ("cycles", 4e9);
        let instructions = ("instructions", 6e9);
        assert_eq!(of(&[cycles]), []);
        assert_eq!(of(&[cycles, instructions]), [("ipc", 1.5)]);
        assert_eq!(
            of(&[cycles, ("stalled-cycles-backend", 1e9)]),
            [("memory_bound", 25.0)]
        );
        // The misses of loads tell more than all misses, where there are both.
        let misses = [
            ("cache-misses", 6e7),
            ("LLC-load-misses", 3e7),
            instructions,
        ];
        assert_eq!(of(&misses), [("cache_misses_per_1000", 5.0)]);
        assert_eq!(of(&misses[..1]), []);
        assert_eq!(
            of(&[misses[0], instructions, ("cache-references", 6e8)]),
            [
                ("cache_misses_per_1000", 10.0),
                ("cache_miss_percent", 10.0)
            ]
        );
        // Of events that never came there is no rate.
        assert_eq!(of(&[("cycles", 0.0), instructions]), []);
        assert_eq!(
            of(&[("branches", 1e9), ("branch-misses", 2e7)]),
            [("branch_miss_percent", 2.0)]
        );
    }

    /// They stood below OMP Wait.
    #[test]
    fn overhead_and_reductions_are_below_work() {
        let mut test = TestProfile::new();
        test.add(&["main"], RefinedState::Overhead, 1.0);
        test.add(&["main"], RefinedState::Lock, 2.0);
        let available = Available::new(&Sampling::default(), &[], true);
        let made = overview(&test.profile, &test.names(), &available, 1);
        let seconds = [
            Metric::State(RefinedState::Overhead),
            Metric::OmpWait,
            Metric::State(RefinedState::Lock),
        ]
        .map(|it| made.time(it));
        assert_eq!(seconds, [1.0, 2.0, 2.0]);
        let order: Vec<Metric> = made.times.iter().map(|(metric, _)| *metric).collect();
        let at = |wanted| order.iter().position(|metric| *metric == wanted).unwrap();
        assert_eq!(
            order[at(Metric::OmpWork)..][..3],
            [
                Metric::OmpWork,
                Metric::State(RefinedState::Overhead),
                Metric::State(RefinedState::Reduction)
            ]
        );
        assert!(at(Metric::OmpWait) < at(Metric::State(RefinedState::Lock)));
    }
}
