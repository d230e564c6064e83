//! The wall time that a region could save, by cause.

use experiment::state::Scheduling;

use super::Measured;
use crate::metrics::{Metric, counters_of};
use crate::profile::{Item, RefinedState};

/// Why threads of a region's team did no useful work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Cause {
    /// In implicit and explicit barriers: other threads had not arrived yet.
    Imbalance,
    /// Waiting for locks and critical sections.
    Lock,
    /// Waiting for an ordered section's turn.
    Ordered,
    /// Inside the runtime without waiting, or on the way into the team.
    Scheduling,
    /// Combining reductions.
    Reduction,
    /// Waiting in atomics.
    Atomic,
    /// Waiting for tasks.
    Tasks,
    /// Switched out with work to do.
    OffCpu,
}

impl Cause {
    /// Every cause, in the order of its number.
    pub const ALL: [Cause; 8] = [
        Cause::Imbalance,
        Cause::Lock,
        Cause::Ordered,
        Cause::Scheduling,
        Cause::Reduction,
        Cause::Atomic,
        Cause::Tasks,
        Cause::OffCpu,
    ];

    /// The key in JSON.
    pub const fn id(self) -> &'static str {
        match self {
            Cause::Imbalance => "imbalance",
            Cause::Lock => "lock",
            Cause::Ordered => "ordered",
            Cause::Scheduling => "scheduling",
            Cause::Reduction => "reduction",
            Cause::Atomic => "atomic",
            Cause::Tasks => "tasks",
            Cause::OffCpu => "offcpu",
        }
    }

    /// The cause, in words.
    pub const fn words(self) -> &'static str {
        match self {
            Cause::Imbalance => "imbalance",
            Cause::Lock => "locks and critical sections",
            Cause::Ordered => "ordered sections",
            Cause::Scheduling => "forking and scheduling",
            Cause::Reduction => "reductions",
            Cause::Atomic => "atomics",
            Cause::Tasks => "waiting for tasks",
            Cause::OffCpu => "threads off the CPU",
        }
    }

    /// The cause that an item's time in a region is charged to; `None` for useful work.
    pub const fn of(item: &Item) -> Option<Cause> {
        let running = matches!(item.scheduling, Scheduling::Running);
        match item.state {
            RefinedState::Serial | RefinedState::Work if running => None,
            RefinedState::Overhead if running => Some(Cause::Scheduling),
            RefinedState::Reduction if running => Some(Cause::Reduction),
            RefinedState::Serial
            | RefinedState::Work
            | RefinedState::Overhead
            | RefinedState::Reduction => Some(Cause::OffCpu),
            RefinedState::ImplicitBarrier | RefinedState::ExplicitBarrier => Some(Cause::Imbalance),
            RefinedState::Idle => Some(Cause::Scheduling),
            RefinedState::Lock | RefinedState::Critical => Some(Cause::Lock),
            RefinedState::Ordered => Some(Cause::Ordered),
            RefinedState::Atomic => Some(Cause::Atomic),
            RefinedState::Task => Some(Cause::Tasks),
        }
    }
}

/// The metrics of a construct's row: [`REGION_METRICS`] and the counters.
pub fn construct_metrics(measured: &Measured<'_>) -> Vec<Metric> {
    let mut metrics = REGION_METRICS.to_vec();
    metrics.extend(counters_of(measured.counters));
    metrics
}

/// The times of a construct: work, overhead, every wait, and their sum.
pub const REGION_METRICS: [Metric; 13] = [
    Metric::Total,
    Metric::OmpWork,
    Metric::OmpWait,
    Metric::OffCpuWork,
    Metric::Overhead,
    Metric::Reduction,
    Metric::ImplicitBarrier,
    Metric::ExplicitBarrier,
    Metric::Lock,
    Metric::Critical,
    Metric::Ordered,
    Metric::Atomic,
    Metric::Task,
];

/// Seconds by cause.
pub type Parts = [f64; Cause::ALL.len()];

/// Wall time of a region, and how much of it could be saved.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Gain {
    /// Wall seconds.
    pub elapsed: f64,
    /// Wall seconds, by cause, that would be saved if all work were spread evenly and no thread
    /// waited.
    pub parts: Parts,
}

impl Gain {
    /// The sum of the parts.
    pub fn total(&self) -> f64 {
        self.parts.iter().sum()
    }

    /// The part of one cause.
    pub fn part(&self, cause: Cause) -> f64 {
        self.parts[cause as usize]
    }

    /// Adds another gain, scaled.
    pub(super) fn add(&mut self, other: &Gain, scale: f64) {
        self.elapsed += other.elapsed * scale;
        for (part, more) in self.parts.iter_mut().zip(other.parts) {
            *part += more * scale;
        }
    }
}
