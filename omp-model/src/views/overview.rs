//! The overview of an experiment: how its time was spent.

use experiment::tables::{Tables, ThreadKind};

use super::names::Names;
use super::tree::add_item;
use super::{List, Request, Seconds};
use crate::metrics::{Available, Flavour, Metric, Quantity, SortKey};
use crate::profile::{Profile, RefinedState};

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

/// How the time of all threads was spent.
#[derive(Clone, Debug, PartialEq)]
pub struct Overview {
    /// Number of processes.
    pub processes: usize,
    /// Number of threads by kind; kinds without a thread are left out.
    pub threads: Vec<(ThreadKind, usize)>,
    /// Every metric that the experiment has, in seconds.
    pub times: Vec<(Metric, f64)>,
    /// The functions with most exclusive thread time, and their metrics ([`Overview::times`]).
    pub largest: List,
}

impl Overview {
    /// The value of one metric; 0 if the experiment does not have it.
    pub fn time(&self, metric: Metric) -> f64 {
        let found = self.times.iter().find(|(known, _)| *known == metric);
        found.map_or(0.0, |&(_, seconds)| seconds)
    }
}

/// Sums up a profile, with at most `largest` functions.
pub fn overview(
    profile: &Profile,
    names: &Names<'_>,
    available: &Available,
    largest: usize,
) -> Overview {
    let metrics = available.metrics();
    let mut sums = Seconds::from(vec![0.0; metrics.len()]);
    for item in &profile.items {
        add_item(&mut sums, item, metrics);
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
        metrics: metrics.to_vec(),
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
    Overview {
        processes: names.tables.processes.len(),
        threads: threads.collect(),
        times: metrics.iter().copied().zip(sums).collect(),
        largest: list,
    }
}
