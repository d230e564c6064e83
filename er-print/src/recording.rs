//! An experiment, or several as one, and what the settings leave of it.

use std::ops::Deref;
use std::path::Path;

use omp_model::recording;
use report::Settings;
use report::query::{Source, Subset};

use crate::failure::Stop;

/// A recording as the settings in force show it.
pub(crate) struct Recording {
    whole: recording::Recording,
    subset: Subset,
}

impl Deref for Recording {
    type Target = recording::Recording;

    fn deref(&self) -> &recording::Recording {
        &self.whole
    }
}

impl From<recording::Recording> for Recording {
    fn from(whole: recording::Recording) -> Recording {
        Recording {
            whole,
            subset: Subset::default(),
        }
    }
}

impl Recording {
    /// Opens an experiment, the `number`-th of the session, from 1.
    pub(crate) fn open(path: &Path, number: u32) -> Result<Recording, Stop> {
        let opened = recording::Recording::open(path, number, symbolize::from_files);
        let opened = opened.map_err(|error| Stop::Data(error.to_string()))?;
        Ok(opened.into())
    }

    /// Adds several up.
    pub(crate) fn unite(parts: &[Recording]) -> Recording {
        recording::Recording::unite(parts.iter().map(|part| &part.whole)).into()
    }

    /// As the settings show it.
    pub(crate) fn source<'a>(&'a self, settings: &'a Settings) -> Source<'a> {
        Source {
            experiment: &self.whole,
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
