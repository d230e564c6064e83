//! An experiment, and what every view of it starts from.

use std::path::PathBuf;
use std::sync::OnceLock;

use omp_model::experiment::Experiment;
use omp_model::filter::{self, Filter, Filtered};
use omp_model::metrics::{Available, Metric};
use omp_model::profile::{Profile, ViewMode};
use omp_model::rewrite::constructs;
use omp_model::share::{self, Shares, blame};
use omp_model::symbolize::{self, Files};
use omp_model::symbols::SymbolTable;
use omp_model::union::unite;
use omp_model::views::names::{NameStyle, Names};
use omp_model::views::overview::uses_openmp;

use crate::moments::Moments;
use crate::regions::Directives;
use crate::timeline::Timeline;

/// An experiment, and its derived forms, each made when it is first asked for. Shared between the
/// thread that draws and the one that works ahead.
#[derive(Debug)]
pub struct Recording {
    /// As it was named; several with commas between them.
    pub name: String,
    /// The names of its experiments.
    pub experiments: Vec<String>,
    /// What was recorded.
    pub experiment: Experiment,
    /// Names of its addresses.
    pub symbols: SymbolTable,
    /// What is not as it should be with its files.
    pub warnings: Vec<String>,
    /// Of which experiment, from 1, a thread is; empty for one experiment.
    origins: Vec<u32>,
    shares: OnceLock<Shares>,
    user: OnceLock<Profile>,
    machine: OnceLock<Profile>,
    available: OnceLock<Available>,
    metric_sets: OnceLock<Vec<String>>,
    user_moments: OnceLock<Moments>,
    machine_moments: OnceLock<Moments>,
    timeline: OnceLock<Timeline>,
    directives: OnceLock<Directives>,
}

impl Recording {
    /// Opens an experiment as far as it is whole; several are added up.
    ///
    /// # Errors
    /// One sentence, if nothing of one of them can be read.
    pub fn open(paths: &[PathBuf]) -> Result<Recording, String> {
        let mut parts = Vec::new();
        for path in paths {
            let experiment = Experiment::open(path).map_err(|why| why.to_string())?;
            parts.push(Recording::of(experiment));
        }
        if parts.len() == 1 {
            return Ok(parts.remove(0));
        }
        let sources: Vec<_> = parts
            .iter()
            .map(|part| (&part.experiment, &part.symbols))
            .collect();
        let union =
            unite(&sources).map_err(|error| format!("cannot add the experiments up: {error}"))?;
        let experiments: Vec<String> = parts.iter().map(|part| part.name.clone()).collect();
        let warnings = parts.iter().flat_map(|part| {
            let named = |warning: &String| format!("{}: {warning}", part.name);
            part.warnings.iter().map(named)
        });
        Ok(Recording {
            name: experiments.join(", "),
            warnings: warnings.collect(),
            experiments,
            origins: union.origins,
            ..Recording::with(union.experiment, union.symbols)
        })
    }

    /// Takes over an experiment that was read.
    pub fn of(mut experiment: Experiment) -> Recording {
        let warnings = experiment.warnings.iter();
        let mut warnings: Vec<String> = warnings.map(ToString::to_string).collect();
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
        let name = experiment.path.display().to_string();
        Recording {
            experiments: vec![name.clone()],
            name,
            warnings,
            ..Recording::with(experiment, symbols)
        }
    }

    fn with(experiment: Experiment, symbols: SymbolTable) -> Recording {
        Recording {
            name: String::new(),
            experiments: Vec::new(),
            experiment,
            symbols,
            warnings: Vec::new(),
            origins: Vec::new(),
            shares: OnceLock::new(),
            user: OnceLock::new(),
            machine: OnceLock::new(),
            available: OnceLock::new(),
            metric_sets: OnceLock::new(),
            user_moments: OnceLock::new(),
            machine_moments: OnceLock::new(),
            timeline: OnceLock::new(),
            directives: OnceLock::new(),
        }
    }

    /// Its time on display stacks. Expert mode equals user mode.
    pub fn profile(&self, mode: ViewMode) -> &Profile {
        let cell = match mode {
            ViewMode::User | ViewMode::Expert => &self.user,
            ViewMode::Machine => &self.machine,
        };
        cell.get_or_init(|| {
            let source = self.source();
            let samples = || self.experiment.samples.iter();
            let shares = self.shares.get_or_init(|| Shares::new(&source, samples()));
            let mut profile = shares.profile(&source, mode);
            let Experiment {
                tables, intervals, ..
            } = &self.experiment;
            blame::charge(&mut profile, tables, intervals);
            profile
        })
    }

    /// The part of its time that a filter keeps.
    pub fn filtered(&self, mode: ViewMode, filter: &Filter) -> Filtered {
        let names = self.names();
        let source = filter::Source {
            names: &names,
            intervals: &self.experiment.intervals,
            experiments: &self.origins,
        };
        let samples = self.experiment.samples.iter();
        filter::apply(filter, self.profile(mode), &source, samples)
    }

    /// The display stacks of its single samples and intervals.
    pub fn moments(&self, mode: ViewMode) -> &Moments {
        let cell = match mode {
            ViewMode::User | ViewMode::Expert => &self.user_moments,
            ViewMode::Machine => &self.machine_moments,
        };
        cell.get_or_init(|| Moments::new(self, mode))
    }

    /// Who did what when.
    pub fn timeline(&self) -> &Timeline {
        self.timeline.get_or_init(|| Timeline::new(self))
    }

    /// Its regions and tasks, and what they could save.
    pub fn directives(&self) -> &Directives {
        let profile = || self.profile(ViewMode::User);
        self.directives
            .get_or_init(|| Directives::new(self, profile(), true))
    }

    /// The metrics that it has: the same in every mode.
    pub fn available(&self) -> &Available {
        self.available.get_or_init(|| {
            let openmp = uses_openmp(&self.experiment.tables, self.profile(ViewMode::User));
            Available::new(&self.experiment.header.sampling, openmp)
        })
    }

    /// The lists of metrics that a key goes round, as they would be typed: the first is
    /// `er_print`'s.
    pub fn metric_sets(&self) -> &[String] {
        self.metric_sets.get_or_init(|| metric_sets(self))
    }

    /// What its functions are called.
    pub fn names(&self) -> Names<'_> {
        Names {
            tables: &self.experiment.tables,
            symbols: &self.symbols,
            style: NameStyle::default(),
        }
    }

    /// Makes all that a view can ask for, what the first screens need first.
    pub fn work_ahead(&self) {
        self.metric_sets();
        self.directives();
        self.timeline();
        self.moments(ViewMode::User);
        self.profile(ViewMode::Machine);
        self.moments(ViewMode::Machine);
    }

    fn source(&self) -> share::Recording<'_> {
        share::Recording {
            tables: &self.experiment.tables,
            symbols: &self.symbols,
            sums: &self.experiment.sums,
            intervals: &self.experiment.intervals,
            header: &self.experiment.header,
        }
    }
}

/// The lists of metrics that a key goes round.
fn metric_sets(recording: &Recording) -> Vec<String> {
    let available = recording.available();
    let mut sets = vec![available.default_spec()];
    if available.openmp() {
        let mut cpu = "e.%total:i.%total".to_owned();
        for part in [Metric::User, Metric::System, Metric::OffCpu] {
            if available.has(part) {
                cpu.push_str(&format!(":e.{}", part.id()));
            }
        }
        sets.push(cpu + ":name");
        let profile = recording.profile(ViewMode::User);
        let kinds = available.metrics().iter().filter(|metric| {
            let is_kind = !matches!(metric, Metric::OmpWork | Metric::OmpWait);
            let counts = |item| metric.seconds(item) > 0.0;
            is_kind && metric.is_openmp() && profile.items.iter().any(counts)
        });
        let kinds: Vec<String> = kinds.map(|metric| format!("e.{}", metric.id())).collect();
        if !kinds.is_empty() {
            sets.push(format!("{}:name", kinds.join(":")));
        }
    }
    sets
}
