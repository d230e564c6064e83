//! An experiment, or several as one, and what filters and hidden objects leave of it.

use std::cell::OnceCell;
use std::ops::Deref;
use std::path::Path;

use omp_model::filter::{Filter, Filtered};
use omp_model::profile::{Profile, ViewMode};
use omp_model::recording;
use omp_model::views::names::NameStyle;
use omp_model::views::visibility;

use crate::failure::Stop;
use crate::objects::Objects;

/// A recording as the settings in force show it.
pub(crate) struct Recording {
    whole: recording::Recording,
    /// Of the whole recording, then second by second; by mode.
    seen: [[OnceCell<Seen>; 2]; 2],
}

/// What filters and hidden objects leave of a profile.
struct Seen {
    profile: Profile,
    /// Seconds that a filter on time or CPU kept by an estimate.
    estimated: f64,
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
            seen: Default::default(),
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

    /// What filters and hidden objects leave of it, and how many seconds of that are estimated;
    /// the same until [`Recording::forget`].
    pub(crate) fn seen(
        &self,
        mode: ViewMode,
        filter: Option<&Filter>,
        objects: &Objects,
    ) -> (&Profile, f64) {
        if filter.is_none() && objects.is_default() {
            return (self.whole.profile(mode), 0.0);
        }
        let seen = self.seen[0][cell(mode)].get_or_init(|| match filter {
            Some(filter) => self.left(self.whole.filtered(mode, filter), objects),
            None => self.shown(self.whole.profile(mode), objects),
        });
        (&seen.profile, seen.estimated)
    }

    /// The same, each second by itself.
    pub(crate) fn seen_by_second(
        &self,
        mode: ViewMode,
        filter: Option<&Filter>,
        objects: &Objects,
    ) -> &Profile {
        if filter.is_none() && objects.is_default() {
            return self.whole.by_second(mode);
        }
        let seen = self.seen[1][cell(mode)].get_or_init(|| match filter {
            Some(filter) => self.left(self.whole.filtered_by_second(mode, filter), objects),
            None => self.shown(self.whole.by_second(mode), objects),
        });
        &seen.profile
    }

    /// What hidden objects leave of what a filter has left.
    fn left(&self, kept: Filtered, objects: &Objects) -> Seen {
        let estimated = kept.estimated;
        match objects.is_default() {
            true => Seen {
                profile: kept.profile,
                estimated,
            },
            false => Seen {
                estimated,
                ..self.shown(&kept.profile, objects)
            },
        }
    }

    /// What hidden objects leave of a profile.
    fn shown(&self, profile: &Profile, objects: &Objects) -> Seen {
        let names = self.names(NameStyle::default());
        let visible = |module| objects.visibility(names.object_name(module));
        Seen {
            profile: visibility::apply(profile, &names, visible),
            estimated: 0.0,
        }
    }

    /// Makes it the `number`-th of the session, from 1.
    pub(crate) fn renumber(&mut self, number: u32) {
        self.whole.origins.fill(number);
        self.forget();
    }

    /// Forgets what filters left, because they have changed.
    pub(crate) fn forget(&mut self) {
        self.seen = Default::default();
    }
}

/// Where what is made for a mode is kept.
const fn cell(mode: ViewMode) -> usize {
    match mode {
        ViewMode::User | ViewMode::Expert => 0,
        ViewMode::Machine => 1,
    }
}
