//! An experiment, or several as one, and its time in the modes that were asked for.

use std::cell::OnceCell;
use std::path::Path;

use omp_model::experiment::Experiment;
use omp_model::filter::{self, Filter};
use omp_model::metrics::Available;
use omp_model::profile::{Profile, ViewMode};
use omp_model::rewrite::constructs;
use omp_model::share::{self, Shares, blame};
use omp_model::symbolize::{self, Files};
use omp_model::symbols::SymbolTable;
use omp_model::union::unite;
use omp_model::views::names::{NameStyle, Names};
use omp_model::views::overview::uses_openmp;
use omp_model::views::visibility;

use crate::failure::Stop;
use crate::objects::Objects;

/// An experiment, and its profile in the modes that were asked for.
pub(crate) struct Recording {
    /// As it was named; several with commas between them.
    pub(crate) name: String,
    /// The names of its experiments.
    pub(crate) names: Vec<String>,
    /// What was recorded.
    pub(crate) experiment: Experiment,
    /// Names of its addresses.
    pub(crate) symbols: SymbolTable,
    /// What is not as it should be with its files.
    pub(crate) warnings: Vec<String>,
    /// Of which experiment, from 1, a thread is, by the thread's number.
    pub(crate) origins: Vec<u32>,
    shares: OnceCell<Shares>,
    whole: [OnceCell<Profile>; 2],
    seen: [OnceCell<Seen>; 2],
}

/// What filters and hidden objects leave of a profile.
pub(crate) struct Seen {
    /// The profile.
    pub(crate) profile: Profile,
    /// Seconds that a filter on time or CPU kept by an estimate.
    pub(crate) estimated: f64,
}

impl Recording {
    /// Opens an experiment, the `number`-th of the session, from 1.
    pub(crate) fn open(name: &str, number: u32) -> Result<Recording, Stop> {
        let path = Path::new(name);
        let mut experiment =
            Experiment::open(path).map_err(|error| Stop::Data(error.to_string()))?;
        let mut warnings: Vec<String> = experiment
            .warnings
            .iter()
            .map(ToString::to_string)
            .collect();
        let mut symbols = experiment.symbols.take().unwrap_or_else(|| {
            warnings.push(
                "it holds no symbols: they were taken from the files as they are on this machine now"
                    .to_owned(),
            );
            symbolize::resolve(&experiment.tables, &mut Files::default())
        });
        let samples = experiment.samples.iter();
        let evidence = samples.map(|sample| (sample.stack, sample.tag));
        constructs::settle(&mut symbols, &experiment.tables, evidence);
        let name = path.display().to_string();
        let origins = vec![number; experiment.tables.threads.len()];
        Ok(Recording {
            names: vec![name.clone()],
            name,
            warnings,
            ..Recording::of(experiment, symbols, origins)
        })
    }

    /// Adds several up.
    pub(crate) fn unite(parts: &[Recording]) -> Result<Recording, Stop> {
        let sources: Vec<_> = parts
            .iter()
            .map(|part| (&part.experiment, &part.symbols))
            .collect();
        let union = unite(&sources)
            .map_err(|error| Stop::Data(format!("cannot add the experiments up: {error}")))?;
        let names: Vec<String> = parts.iter().map(|part| part.name.clone()).collect();
        let warnings = parts.iter().flat_map(|part| {
            let named = |warning: &String| format!("{}: {warning}", part.name);
            part.warnings.iter().map(named)
        });
        Ok(Recording {
            name: names.join(", "),
            names,
            warnings: warnings.collect(),
            ..Recording::of(union.experiment, union.symbols, union.origins)
        })
    }

    fn of(experiment: Experiment, symbols: SymbolTable, origins: Vec<u32>) -> Recording {
        Recording {
            name: String::new(),
            names: Vec::new(),
            experiment,
            symbols,
            warnings: Vec::new(),
            origins,
            shares: OnceCell::new(),
            whole: Default::default(),
            seen: Default::default(),
        }
    }

    /// All its time on display stacks, made when it is first asked for.
    pub(crate) fn profile(&self, mode: ViewMode) -> &Profile {
        self.whole[cell(mode)].get_or_init(|| {
            let source = share::Recording {
                tables: &self.experiment.tables,
                symbols: &self.symbols,
                sums: &self.experiment.sums,
                intervals: &self.experiment.intervals,
                header: &self.experiment.header,
            };
            let shares = self
                .shares
                .get_or_init(|| Shares::new(&source, self.experiment.samples.iter()));
            let mut profile = shares.profile(&source, mode);
            blame::charge(
                &mut profile,
                &self.experiment.tables,
                &self.experiment.intervals,
            );
            profile
        })
    }

    /// What filters and hidden objects leave of it; the same until [`Recording::forget`].
    pub(crate) fn seen(
        &self,
        mode: ViewMode,
        filter: Option<&Filter>,
        objects: &Objects,
    ) -> (&Profile, f64) {
        let whole = self.profile(mode);
        if filter.is_none() && objects.is_default() {
            return (whole, 0.0);
        }
        let seen = self.seen[cell(mode)].get_or_init(|| {
            let names = self.names(NameStyle::default());
            let mut seen = match filter {
                Some(filter) => {
                    let source = filter::Source {
                        names: &names,
                        intervals: &self.experiment.intervals,
                        experiments: &self.origins,
                    };
                    let kept =
                        filter::apply(filter, whole, &source, self.experiment.samples.iter());
                    Seen {
                        profile: kept.profile,
                        estimated: kept.estimated,
                    }
                }
                None => Seen {
                    profile: whole.clone(),
                    estimated: 0.0,
                },
            };
            if !objects.is_default() {
                let visible = |module| objects.visibility(names.object_name(module));
                seen.profile = visibility::apply(&seen.profile, &names, visible);
            }
            seen
        });
        (&seen.profile, seen.estimated)
    }

    /// Forgets what filters left, because they have changed.
    pub(crate) fn forget(&mut self) {
        self.seen = Default::default();
    }

    /// Names of what it holds.
    pub(crate) fn names(&self, style: NameStyle) -> Names<'_> {
        Names {
            tables: &self.experiment.tables,
            symbols: &self.symbols,
            style,
        }
    }

    /// The metrics that it has: the same in every mode, so any profile will do.
    pub(crate) fn available(&self) -> Available {
        let made = self.whole.iter().find_map(OnceCell::get);
        let profile = made.unwrap_or_else(|| self.profile(ViewMode::User));
        let openmp = uses_openmp(&self.experiment.tables, profile);
        Available::new(&self.experiment.header.sampling, openmp)
    }
}

const fn cell(mode: ViewMode) -> usize {
    match mode {
        ViewMode::User | ViewMode::Expert => 0,
        ViewMode::Machine => 1,
    }
}
