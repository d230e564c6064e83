//! What regions and tasks are called.

use experiment::ids::ContextId;
use omp_model::analysis::Analysis;
use omp_model::profile::{Inline, ViewMode};
use omp_model::views::names::NameStyle;
use omp_model::views::openmp::Measured;
use omp_model::views::openmp::regions::regions;
use omp_model::views::openmp::tasks::tasks;
use rustc_hash::FxHashMap;

/// The name of each context of an experiment that is a region's or task's.
pub fn construct_names(recording: &Analysis) -> FxHashMap<ContextId, String> {
    let profile = recording.profile(ViewMode::User, Inline::On);
    let names = recording.names(NameStyle::default());
    let measured = Measured::of(&recording.experiment);
    let regions = regions(profile, &names, &measured).into_iter();
    let regions = regions.map(|row| (row.contexts, row.name));
    let tasks = tasks(profile, &names, &measured).into_iter();
    let tasks = tasks.map(|row| (row.contexts, row.name));
    regions
        .chain(tasks)
        .flat_map(|(contexts, name)| contexts.into_iter().map(move |id| (id, name.clone())))
        .collect()
}
