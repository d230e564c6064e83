//! An experiment, or several as one, and what filters and hidden objects leave of it.

use std::cell::OnceCell;
use std::ops::Deref;
use std::path::Path;

use omp_model::filter::Filter;
use omp_model::profile::{Profile, ViewMode};
use omp_model::recording;
use omp_model::views::names::NameStyle;
use omp_model::views::visibility;

use crate::failure::Stop;
use crate::objects::Objects;

/// A recording as the settings in force show it.
pub(crate) struct Recording {
    whole: recording::Recording,
    seen: [OnceCell<Seen>; 2],
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
    pub(crate) fn open(name: &str, number: u32) -> Result<Recording, Stop> {
        let opened = recording::Recording::open(Path::new(name), number);
        let opened = opened.map_err(|error| Stop::Data(error.to_string()))?;
        Ok(opened.into())
    }

    /// Adds several up.
    pub(crate) fn unite(parts: &[Recording]) -> Result<Recording, Stop> {
        let united = recording::Recording::unite(parts.iter().map(|part| &part.whole));
        let united = united.map_err(|error| Stop::Data(error.to_string()))?;
        Ok(united.into())
    }

    /// What filters and hidden objects leave of it, and how many seconds of that are estimated;
    /// the same until [`Recording::forget`].
    pub(crate) fn seen(
        &self,
        mode: ViewMode,
        filter: Option<&Filter>,
        objects: &Objects,
    ) -> (&Profile, f64) {
        let whole = self.whole.profile(mode);
        if filter.is_none() && objects.is_default() {
            return (whole, 0.0);
        }
        let cell = match mode {
            ViewMode::User | ViewMode::Expert => &self.seen[0],
            ViewMode::Machine => &self.seen[1],
        };
        let seen = cell.get_or_init(|| {
            let kept = filter.map(|filter| self.whole.filtered(mode, filter));
            let kept_profile = kept.as_ref().map_or(whole, |kept| &kept.profile);
            let profile = match objects.is_default() {
                true => kept_profile.clone(),
                false => {
                    let names = self.names(NameStyle::default());
                    let visible = |module| objects.visibility(names.object_name(module));
                    visibility::apply(kept_profile, &names, visible)
                }
            };
            Seen {
                profile,
                estimated: kept.map_or(0.0, |kept| kept.estimated),
            }
        });
        (&seen.profile, seen.estimated)
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
