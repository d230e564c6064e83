//! Open experiments: one, or several united, with their profiles in each mode.
//!
//! The starting point of both readers. Each derived form is computed on first use and cached.
//! Several threads may request them concurrently.

use std::borrow::Cow;
use std::fs;
use std::path::Path;
use std::sync::OnceLock;

use experiment::ids::{StackId, ThreadStateId};
use experiment::rows::Sample;
use experiment::symbols::SymbolTable;
use experiment::tables::Tables;
use experiment::union;
use experiment::{Experiment, OpenError};
use rustc_hash::FxHashSet;
use untrusted::printable;

use crate::alike;
use crate::attribution::{self, Attribution, Slices};
use crate::filter::{self, AnySample, Filter, Filtered};
use crate::inlining;
use crate::metrics::{Available, CounterName};
use crate::mpi::clocks::Clocks;
use crate::mpi::ranks::{Ranks, Recording};
use crate::profile::{Inline, Profile, ViewMode};
use crate::rewrite::{SampledStack, constructs};
use crate::time_marks::TimeMarks;
use crate::views::caveats::Caveat;
use crate::views::names::{NameStyle, Names};
use crate::views::overview::uses_openmp;

/// An experiment, or several united, and its profiles.
#[derive(Debug)]
pub struct Analysis {
    /// Its name; of several their job's, or all, separated by commas.
    pub name: String,
    /// The names of its experiments, as a terminal may show them.
    pub names: Vec<String>,
    /// Their directories without symbolic links, as they were when they were opened.
    pub directories: Vec<String>,
    /// How each of its experiments was recorded.
    pub recordings: Vec<Recording>,
    /// The recorded data, without the symbols, which are in [`Analysis::symbols`].
    pub experiment: Experiment,
    /// Symbols of its addresses.
    pub symbols: SymbolTable,
    /// Problems found in its files.
    pub warnings: Vec<String>,
    /// The number of the experiment, from 1, by thread.
    pub origins: Vec<u32>,
    attribution: OnceLock<Attribution>,
    profiles: [OnceLock<Profile>; 4],
    by_second: [OnceLock<Profile>; 4],
    available: OnceLock<Available>,
    caveats: OnceLock<Vec<Caveat>>,
    marks: OnceLock<TimeMarks>,
    clocks: OnceLock<Clocks>,
}

impl Analysis {
    /// Opens the intact part of an experiment, the `number`-th of those opened, from 1. `resolve`
    /// finds the symbols of an experiment that was stored without them.
    ///
    /// # Errors
    /// If nothing of it can be read.
    pub fn open(
        path: &Path,
        number: u32,
        resolve: impl FnOnce(&Tables) -> SymbolTable,
    ) -> Result<Analysis, OpenError> {
        let mut experiment = Experiment::open(path)?;
        let nameless = experiment.symbols.is_none();
        if nameless {
            experiment.symbols = Some(resolve(&experiment.tables));
        }
        let mut recording = Analysis::of(experiment, number);
        if nameless {
            recording.warnings.push(
                "it holds no symbols: they were taken from the files as they are on this machine now"
                    .to_owned(),
            );
        }
        Ok(recording)
    }

    /// Wraps an experiment that was already read, with its symbols: the `number`-th, from 1.
    pub fn of(mut experiment: Experiment, number: u32) -> Analysis {
        let warnings = experiment.warnings.iter();
        let warnings: Vec<String> = warnings.map(ToString::to_string).collect();
        let mut symbols = experiment.symbols.take().unwrap_or_default();
        if constructs::is_unsettled(&experiment.tables) {
            let evidence = evidence(&experiment);
            constructs::settle(&mut symbols, &experiment.tables, evidence);
        }
        let path = &experiment.path;
        let name = printable(&path.to_string_lossy()).into_owned();
        let directory = fs::canonicalize(path).unwrap_or_else(|_| path.clone());
        let origins = vec![number; experiment.tables.threads.len()];
        Analysis {
            names: vec![name.clone()],
            directories: vec![directory.to_string_lossy().into_owned()],
            recordings: vec![Recording::of(&experiment)],
            name,
            warnings,
            ..Analysis::with(experiment, symbols, origins)
        }
    }

    /// Unites several; their threads belong to experiment 1, 2 … in the order given.
    pub fn unite<'a>(parts: impl IntoIterator<Item = &'a Analysis>) -> Analysis {
        let parts: Vec<&Analysis> = parts.into_iter().collect();
        let sources: Vec<_> = parts
            .iter()
            .map(|part| (&part.experiment, &part.symbols))
            .collect();
        let union = union::unite(&sources);
        let names: Vec<String> = parts.iter().map(|part| part.name.clone()).collect();
        let warnings = parts.iter().flat_map(|part| {
            let named = |warning: &String| format!("{}: {warning}", part.name);
            part.warnings.iter().map(named)
        });
        Analysis {
            name: experiment::job::name(&names),
            names,
            directories: parts.iter().flat_map(|it| it.directories.clone()).collect(),
            recordings: parts.iter().flat_map(|it| it.recordings.clone()).collect(),
            warnings: warnings.collect(),
            ..Analysis::with(union.experiment, union.symbols, union.origins)
        }
    }

    fn with(experiment: Experiment, mut symbols: SymbolTable, origins: Vec<u32>) -> Analysis {
        alike::distinguish(&mut symbols, &experiment.tables);
        Analysis {
            name: String::new(),
            names: Vec::new(),
            directories: Vec::new(),
            recordings: Vec::new(),
            experiment,
            symbols,
            warnings: Vec::new(),
            origins,
            attribution: OnceLock::new(),
            profiles: Default::default(),
            by_second: Default::default(),
            available: OnceLock::new(),
            caveats: OnceLock::new(),
            marks: OnceLock::new(),
            clocks: OnceLock::new(),
        }
    }

    /// The unfiltered profile. Expert mode equals user mode.
    pub fn profile(&self, mode: ViewMode, inline: Inline) -> &Profile {
        let profile =
            || self.with_inlined(self.attribution().profile(&self.source(), mode), inline);
        self.profiles[cell(mode, inline)].get_or_init(profile)
    }

    /// A profile with frames for inlined functions, if they are asked for.
    fn with_inlined(&self, mut profile: Profile, inline: Inline) -> Profile {
        if inline == Inline::On {
            inlining::expand(&mut profile, &self.experiment.tables, &self.symbols);
        }
        profile
    }

    /// Seconds whose stack was inferred, and all seconds, computed without a profile.
    pub fn inferred(&self, mode: ViewMode) -> (f64, f64) {
        self.attribution().inferred(&self.source(), mode)
    }

    /// The unfiltered profile by second, for filters on time and views by second. It has up to one
    /// item per sample, so nothing else should request it.
    pub fn by_second(&self, mode: ViewMode, inline: Inline) -> &Profile {
        self.by_second[cell(mode, inline)].get_or_init(|| {
            let source = self.source();
            let samples = &self.experiment.samples;
            let apart = Attribution::new(&source, samples, Slices::Apart);
            self.with_inlined(apart.profile(&source, mode), inline)
        })
    }

    /// The part of the profile that a filter keeps.
    pub fn filtered(&self, mode: ViewMode, inline: Inline, filter: &Filter) -> Filtered {
        let mut kept = if asks_when(filter) {
            self.filtered_by_second(mode, inline, filter)
        } else {
            self.kept(self.profile(mode, inline), filter)
        };
        kept.profile.fold();
        kept
    }

    /// The part of the profile by second that a filter keeps.
    pub fn filtered_by_second(&self, mode: ViewMode, inline: Inline, filter: &Filter) -> Filtered {
        self.kept(self.by_second(mode, inline), filter)
    }

    fn kept(&self, profile: &Profile, filter: &Filter) -> Filtered {
        let names = self.names(NameStyle::default());
        filter::apply(filter, profile, &self.facts(&names), self.samples())
    }

    /// All samples, with the counters that made them.
    pub fn samples(&self) -> impl Iterator<Item = AnySample> + '_ {
        let clock = self.experiment.samples.iter().map(|sample| (None, sample));
        let counters = self.experiment.counters.iter().flat_map(|counter| {
            let name = Some(CounterName::new(&counter.name));
            counter.samples.iter().map(move |sample| (name, sample))
        });
        clock.chain(counters)
    }

    /// Every distinct sampled stack, the evidence for the names of outlined functions.
    pub fn sampled_stacks(&self) -> &[SampledStack] {
        self.attribution().sampled_stacks()
    }

    fn attribution(&self) -> &Attribution {
        let samples = &self.experiment.samples;
        let attribution = || Attribution::new(&self.source(), samples, Slices::Folded);
        self.attribution.get_or_init(attribution)
    }

    fn source(&self) -> attribution::Source<'_> {
        let Experiment {
            tables,
            sums,
            counters,
            blames,
            intervals,
            header,
            ..
        } = &self.experiment;
        attribution::Source {
            tables,
            symbols: &self.symbols,
            sums,
            counters,
            blames,
            intervals,
            header,
        }
    }

    /// What a reader must know of the run before any of its numbers. Of several, ask each.
    pub fn caveats(&self) -> &[Caveat] {
        self.caveats.get_or_init(|| Caveat::of(&self.experiment))
    }

    /// Its phases and sample points by time.
    pub fn marks(&self) -> &TimeMarks {
        self.marks
            .get_or_init(|| TimeMarks::of(&self.experiment, &self.origins))
    }

    /// The data besides a profile that filters are evaluated on.
    pub fn facts<'a>(&'a self, names: &'a Names<'a>) -> filter::Source<'a> {
        filter::Source {
            names,
            intervals: &self.experiment.intervals,
            experiments: &self.origins,
            recordings: &self.recordings,
            marks: self.marks(),
        }
    }

    /// The ranks of its experiments. Their clocks are compared on first use.
    pub fn ranks(&self) -> Ranks<'_> {
        let clocks = self.clocks.get_or_init(|| {
            Clocks::compared(
                &self.experiment,
                &Ranks::of(&self.recordings, &self.origins),
            )
        });
        Ranks::with_clocks(&self.recordings, &self.origins, Cow::Borrowed(clocks))
    }

    /// The names of its functions and other rows.
    pub fn names(&self, style: NameStyle) -> Names<'_> {
        Names {
            tables: &self.experiment.tables,
            symbols: &self.symbols,
            style,
        }
    }

    /// The metrics that it has. They are the same in every mode, so any profile serves.
    pub fn available(&self) -> &Available {
        self.available.get_or_init(|| {
            let made = || self.profiles.iter().find_map(OnceLock::get);
            let profile = || made().unwrap_or_else(|| self.profile(ViewMode::User, Inline::On));
            let Experiment {
                tables,
                header,
                counters,
                mpi_calls,
                ..
            } = &self.experiment;
            let all = Available::new(&header.sampling, counters, uses_openmp(tables, profile));
            if mpi_calls.is_empty() {
                all.without_mpi()
            } else {
                all
            }
        })
    }
}

/// Whether a filter depends on the time, the CPU or the instance, which only samples have.
pub fn asks_when(filter: &Filter) -> bool {
    filter.divides()
}

/// Every distinct pair of stack and state.
fn evidence(experiment: &Experiment) -> FxHashSet<(StackId, ThreadStateId)> {
    let mut all = FxHashSet::default();
    let distinct = |samples: &[Sample]| -> FxHashSet<(StackId, ThreadStateId)> {
        samples
            .iter()
            .map(|sample| (sample.stack, sample.thread_state))
            .collect()
    };
    let counters = experiment.counters.iter().map(|counter| &counter.samples);
    for samples in counters.chain([&experiment.samples]) {
        samples.in_order(distinct, |_, of_frame| all.extend(of_frame));
    }
    all
}

/// The index of the cache of a profile.
const fn cell(mode: ViewMode, inline: Inline) -> usize {
    let mode = match mode {
        ViewMode::User | ViewMode::Expert => 0,
        ViewMode::Machine => 1,
    };
    2 * mode + inline as usize
}
