//! The input of the views of OpenMP, under the filter in force.

use omp_model::analysis::Analysis;
use omp_model::metrics::Metric;
use omp_model::profile::{Profile, ViewMode};
use omp_model::views::openmp::Measured;
use omp_model::views::openmp::crowd::cpus_had;
use omp_model::views::openmp::first::First;
use omp_model::views::openmp::regions::regions;
use omp_model::views::warnings;

use crate::query::Source;

/// The number of CPUs that the program's threads can have had.
pub(crate) fn cpus(analysis: &Analysis) -> u32 {
    let experiment = &analysis.experiment;
    cpus_had(&experiment.cpu_uses, experiment.header.cpus)
}

/// The instances of all of an experiment's constructs.
pub(crate) fn measured(analysis: &Analysis) -> Measured<'_> {
    let experiment = &analysis.experiment;
    Measured {
        duration: experiment.duration(),
        cpus: cpus(analysis),
        asks_to_spin: warnings::asks_to_spin(&experiment.header.environment),
        sums: &experiment.sums,
        region_sums: &experiment.region_sums,
        region_works: &experiment.region_works,
        task_sums: &experiment.task_sums,
        loop_sums: &experiment.loop_sums,
        lock_sums: &experiment.lock_sums,
        lock_waits: &experiment.lock_waits,
    }
}

impl<'a> Source<'a> {
    /// The time and the instances of constructs.
    ///
    /// They are about directives, which machine mode does not show: they are the same in all
    /// modes. A filter leaves time, but no instances, which are counted for whole seconds.
    pub fn measured(&self) -> (&'a Profile, Measured<'a>) {
        let (profile, _) = self.profile_in(ViewMode::User);
        let all = measured(self.analysis);
        let some = Measured {
            region_sums: &[],
            region_works: &[],
            task_sums: &[],
            loop_sums: &[],
            lock_sums: &[],
            lock_waits: &[],
            ..all
        };
        let is_filtered = self.settings.filter.is_some();
        (profile, if is_filtered { some } else { all })
    }

    /// The losses of a run and its efficiencies; `None` without OpenMP, or under a filter, which
    /// leaves no whole run.
    pub fn first(&self) -> Option<First> {
        if self.settings.filter.is_some() {
            return None;
        }
        let (profile, measured) = self.measured();
        let names = self.names();
        let regions = regions(profile, &names, &measured);
        let kernel = self.analysis.available().has(Metric::System);
        First::of(profile, &names, &measured, &regions, kernel)
    }
}
