//! An experiment, or several as one, and what the settings leave of it.

use std::ops::Deref;
use std::path::Path;

use omp_model::analysis::Analysis;
use report::Settings;
use report::query::{Source, Subset};

use crate::failure::Stop;

/// Experiments added up, or one, as the settings in force show it.
pub(crate) struct Opened {
    whole: Analysis,
    subset: Subset,
}

impl Deref for Opened {
    type Target = Analysis;

    fn deref(&self) -> &Analysis {
        &self.whole
    }
}

impl From<Analysis> for Opened {
    fn from(whole: Analysis) -> Opened {
        Opened {
            whole,
            subset: Subset::default(),
        }
    }
}

impl Opened {
    /// Opens an experiment, the `number`-th of the session, from 1.
    pub(crate) fn open(path: &Path, number: u32) -> Result<Opened, Stop> {
        let opened = Analysis::open(path, number, symbolize::from_files);
        let opened = opened.map_err(|error| Stop::Data(error.to_string()))?;
        Ok(opened.into())
    }

    /// Adds several up.
    pub(crate) fn unite(parts: &[Opened]) -> Opened {
        Analysis::unite(parts.iter().map(|part| &part.whole)).into()
    }

    /// As the settings show it.
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

    /// Forgets what filters left, because they have changed.
    pub(crate) fn forget(&mut self) {
        self.subset = Subset::default();
    }
}
