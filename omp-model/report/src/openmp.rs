//! The input of the views of OpenMP, under the filter in force.

use omp_model::metrics::Metric;
use omp_model::profile::{Profile, ViewMode};
use omp_model::views::openmp::Measured;
use omp_model::views::openmp::first::First;
use omp_model::views::openmp::regions::regions;

use crate::query::Source;

impl<'a> Source<'a> {
    /// The time and the instances of constructs.
    ///
    /// They are about directives, which machine mode does not show: they are the same in all
    /// modes. A filter leaves time, but no instances, which are counted for whole seconds.
    pub fn measured(&self) -> (&'a Profile, Measured<'a>) {
        let (profile, _) = self.profile_in(ViewMode::User);
        let all = Measured::of(&self.analysis.experiment);
        let some = Measured {
            region_sums: Default::default(),
            region_works: Default::default(),
            task_sums: Default::default(),
            loop_sums: Default::default(),
            lock_sums: Default::default(),
            lock_waits: Default::default(),
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
