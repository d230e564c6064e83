//! The input of the views of OpenMP, under the filter in force.

use experiment::Experiment;
use experiment::header::Runtime;
use experiment::tables::RuntimeKind;
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
            has_all_loops: false,
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

    /// Why the constructs of the program are not known, as a sentence: nothing told of them. `None` if
    /// a runtime did, or no stack lies in any.
    pub(crate) fn unknown_constructs(&self) -> Option<&'static str> {
        let Experiment { header, tables, .. } = &self.analysis.experiment;
        let is_silent = |runtime: &Runtime| runtime.interface.starts_with("none");
        if !header.runtimes.iter().all(is_silent) {
            return None;
        }
        let mut modules = tables.modules.rows().iter();
        let has_openmp =
            modules.any(|it| matches!(it.runtime, RuntimeKind::Kmp | RuntimeKind::Gomp));
        if header.attached {
            Some("Not known: a recording of a running process (-P) has no OpenMP events")
        } else if header.perf.is_some() {
            Some("Not known: a perf.data file has no OpenMP events")
        } else if has_openmp {
            Some("Not known: the OpenMP runtime sent no events (header says why)")
        } else {
            None
        }
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
