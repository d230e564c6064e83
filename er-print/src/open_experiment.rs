//! An open experiment, or several added up, with its filtered part.

use std::ops::Deref;

use omp_model::analysis::Analysis;
use report::Settings;
use report::query::{Source, Subset};

/// An experiment, or several added up.
pub(crate) struct OpenExperiment {
    /// The side of comparisons that it is a recording of. Each side has a number of its own.
    pub(crate) side: usize,
    whole: Analysis,
    subset: Subset,
}

impl Deref for OpenExperiment {
    type Target = Analysis;

    fn deref(&self) -> &Analysis {
        &self.whole
    }
}

impl From<Analysis> for OpenExperiment {
    fn from(whole: Analysis) -> OpenExperiment {
        OpenExperiment {
            side: 0,
            whole,
            subset: Subset::default(),
        }
    }
}

impl OpenExperiment {
    /// Adds experiments up.
    pub(crate) fn unite(parts: &[OpenExperiment]) -> OpenExperiment {
        Analysis::unite(parts.iter().map(|part| &part.whole)).into()
    }

    /// The experiment under these settings.
    pub(crate) fn source<'a>(&'a self, settings: &'a Settings) -> Source<'a> {
        Source {
            analysis: &self.whole,
            subset: &self.subset,
            settings,
        }
    }

    /// Makes it the `number`-th of the session, from 1.
    pub(crate) fn renumber(&mut self, number: u32) {
        self.whole.origins.fill(number);
        self.forget();
    }

    /// Drops the filtered part, after a change of filters.
    pub(crate) fn forget(&mut self) {
        self.subset = Subset::default();
    }
}
