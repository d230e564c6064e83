//! The views that only OpenMP has: regions, tasks, efficiencies, and what to do first.
//!
//! Formulas and their sources: `docs/metrics.md`.

pub mod advice;
pub mod bars;
pub mod contended;
pub mod crowd;
mod diagnosis;
pub mod efficiency;
pub mod first;
pub mod gain;
pub mod kernel_work;
pub mod locations;
pub mod locks;
pub mod loops;
mod mutex_calls;
pub(crate) mod own_code;
pub mod recorder;
pub mod regions;
pub mod spins;
pub mod tasks;
mod waits;

#[cfg(test)]
pub(crate) mod test_run;
#[cfg(test)]
mod tests;

use experiment::Packed;
use experiment::ids::{ContextId, Nanos};
use experiment::losses::LossKind;
use experiment::rows::{LockSum, LockWait, LoopSum, RegionSum, RegionWork, TaskSum};
use experiment::tables::{ContextKind, Tables};
use experiment::{CounterSamples, Experiment, Sums};

use super::caveats::is_whole;
use super::warnings::asks_to_spin;
use crowd::Cpus;

/// Losses that may be of loops.
const UNCOUNTED: [LossKind; 3] = [
    LossKind::Loops,
    LossKind::ThreadsRefused,
    LossKind::ThreadsGivenUp,
];

/// Measurements of constructs that the profile does not hold.
#[derive(Clone, Copy, Debug, Default)]
pub struct Measured<'a> {
    /// Wall time of the experiment.
    pub duration: Nanos,
    /// CPUs that its threads could have at one time; 0 if that is not known, which counts as one for each
    /// thread.
    pub cpus: Cpus,
    /// Whether the program asked its runtime to spin in waits.
    pub asks_to_spin: bool,
    /// Whether the recording may have ended or paused inside constructs, whose sums are then unknown.
    pub is_cut: bool,
    /// Whether each loop that a runtime was asked for, and that ended, is among [`Measured::loop_sums`].
    pub has_all_loops: bool,
    /// Exact time by thread state.
    pub sums: &'a Sums,
    /// The samples of counters.
    pub counters: &'a [CounterSamples],
    /// Sums over the instances of regions.
    pub region_sums: &'a Packed<RegionSum>,
    /// How regions' work was spread over their teams; empty in experiments of earlier versions.
    pub region_works: &'a Packed<RegionWork>,
    /// Sums over completed tasks; empty in experiments of earlier versions.
    pub task_sums: &'a Packed<TaskSum>,
    /// Sums over worksharing loops; empty in experiments of earlier versions.
    pub loop_sums: &'a Packed<LoopSum>,
    /// Sums over acquisitions of mutexes.
    pub lock_sums: &'a Packed<LockSum>,
    /// Who waited for whom.
    pub lock_waits: &'a Packed<LockWait>,
}

impl<'a> Measured<'a> {
    /// Those of a recording.
    pub fn of(experiment: &'a Experiment) -> Measured<'a> {
        let header = &experiment.header;
        Measured {
            duration: experiment.recorded(),
            cpus: Cpus::had(experiment),
            asks_to_spin: asks_to_spin(&header.environment),
            is_cut: header.killed_by.is_some()
                || header.losses.regions_open > 0
                || header.paused_ns > 0
                || !is_whole(experiment),
            has_all_loops: !UNCOUNTED
                .iter()
                .any(|kind| header.losses.lost.of(*kind).is_some()),
            sums: &experiment.sums,
            counters: &experiment.counters,
            region_sums: &experiment.region_sums,
            region_works: &experiment.region_works,
            task_sums: &experiment.task_sums,
            loop_sums: &experiment.loop_sums,
            lock_sums: &experiment.lock_sums,
            lock_waits: &experiment.lock_waits,
        }
    }
}

/// For each context, the innermost region that it is or lies in; the root if there is none.
pub fn innermost_regions(tables: &Tables) -> Vec<ContextId> {
    let contexts = tables.contexts.rows();
    let mut regions: Vec<ContextId> = Vec::with_capacity(contexts.len());
    for (context, id) in contexts.iter().zip(0..) {
        // A context's parent precedes it.
        regions.push(match context.kind {
            ContextKind::Root => ContextId::ROOT,
            ContextKind::Region | ContextKind::Teams => ContextId(id),
            ContextKind::Task | ContextKind::Taskloop => regions[context.parent.index()],
        });
    }
    regions
}
