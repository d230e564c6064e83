//! The views that only OpenMP has: regions, tasks, efficiencies, and what to do first.
//!
//! Formulas and their sources: `docs/metrics.md`.

pub mod advice;
pub mod budget;
mod diagnosis;
pub mod efficiency;
pub mod first;
pub mod gain;
pub mod regions;
pub mod spins;
pub mod spots;
pub mod tasks;

#[cfg(test)]
mod advice_tests;
#[cfg(test)]
mod random_tests;
#[cfg(test)]
mod stage;
#[cfg(test)]
mod tests;

use experiment::Sums;
use experiment::ids::{ContextId, Nanos};
use experiment::rows::{RegionSum, RegionWork, TaskSum};
use experiment::tables::{ContextKind, Tables};

/// What was measured of constructs, beside the profile.
#[derive(Clone, Copy, Debug, Default)]
pub struct Measured<'a> {
    /// Wall time of the recording.
    pub duration: Nanos,
    /// Time in states.
    pub sums: &'a Sums,
    /// Instances of regions.
    pub region_sums: &'a [RegionSum],
    /// How their work was spread; empty in recordings of earlier versions.
    pub region_works: &'a [RegionWork],
    /// Completed tasks; empty in recordings of earlier versions.
    pub task_sums: &'a [TaskSum],
}

/// Of each context, the innermost region that it is or lies in; the root for none.
fn innermost_regions(tables: &Tables) -> Vec<ContextId> {
    let contexts = tables.contexts.rows();
    let mut regions: Vec<ContextId> = Vec::with_capacity(contexts.len());
    for (context, id) in contexts.iter().zip(0..) {
        // A context's parent stands before it.
        regions.push(match context.kind {
            ContextKind::Root => ContextId::ROOT,
            ContextKind::Region | ContextKind::Teams => ContextId(id),
            ContextKind::Task => regions[context.parent.index()],
        });
    }
    regions
}
