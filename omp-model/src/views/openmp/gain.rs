//! The wall time that a region could save, by cause.

use super::Measured;
use crate::metrics::{Metric, counters_of};
use crate::profile::Item;
use crate::states::RefinedState;

pub use crate::states::Cause;

impl Cause {
    /// The cause that an item's time in a region is charged to; `None` for useful work.
    pub const fn of(item: &Item) -> Option<Cause> {
        if item.state.can_work() && !item.is_on_cpu() {
            Some(Cause::OffCpu)
        } else {
            item.state.row().cause
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
pub const REGION_METRICS: [Metric; 3 + RefinedState::SHOWN.len()] = {
    let mut metrics = [Metric::Total; 3 + RefinedState::SHOWN.len()];
    metrics[1] = Metric::OmpWork;
    metrics[2] = Metric::OmpWait;
    metrics[3] = Metric::OffCpuWork;
    let (mut at, mut next) = (0, 4);
    while at < RefinedState::SHOWN.len() {
        let state = RefinedState::SHOWN[at];
        // Idle threads are in no region.
        if !matches!(state, RefinedState::Idle) {
            metrics[next] = Metric::State(state);
            next += 1;
        }
        at += 1;
    }
    metrics
};

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
