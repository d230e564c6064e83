//! An experiment, and what every view of it starts from.

use std::ops::Deref;
use std::path::PathBuf;
use std::sync::OnceLock;

use omp_model::experiment::{Experiment, Ran};
use omp_model::ids::ContextId;
use omp_model::metrics::Metric;
use omp_model::profile::{Callee, ViewMode};
use omp_model::recording;
use omp_model::symbols::FunctionId;
use omp_model::views::names::{NameStyle, Names};
use omp_model::views::warnings::warnings;
use rustc_hash::FxHashMap;

use crate::regions::Directives;
use report::timeline::Stacks;
use report::timeline::{MOST_REFINED, Timeline};

/// An experiment, or several as one, and its derived forms, each made when it is first asked for.
/// Shared between the thread that draws and the one that works ahead.
#[derive(Debug)]
pub struct Recording {
    whole: recording::Recording,
    /// Each experiment by itself, if there are several.
    parts: Vec<recording::Recording>,
    metric_sets: OnceLock<Vec<String>>,
    user_moments: OnceLock<Stacks>,
    machine_moments: OnceLock<Stacks>,
    timeline: OnceLock<Timeline>,
    directives: OnceLock<Directives>,
    remarks: OnceLock<Vec<String>>,
    functions: OnceLock<FxHashMap<String, FunctionId>>,
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
            parts: Vec::new(),
            metric_sets: OnceLock::new(),
            user_moments: OnceLock::new(),
            machine_moments: OnceLock::new(),
            timeline: OnceLock::new(),
            directives: OnceLock::new(),
            remarks: OnceLock::new(),
            functions: OnceLock::new(),
        }
    }
}

impl Recording {
    /// Opens an experiment as far as it is whole; several are added up.
    ///
    /// # Errors
    /// One sentence, if nothing of one of them can be read.
    pub fn open(paths: &[PathBuf]) -> Result<Recording, String> {
        let opened = (1..).zip(paths).map(|(number, path)| {
            let opened = recording::Recording::open(path, number, symbolize::from_files);
            opened.map_err(|why| why.to_string())
        });
        let mut parts: Vec<recording::Recording> = opened.collect::<Result<_, _>>()?;
        if parts.len() == 1 {
            return Ok(parts.remove(0).into());
        }
        let whole = recording::Recording::unite(&parts);
        Ok(Recording {
            parts,
            ..whole.into()
        })
    }

    /// Takes over an experiment that was read.
    pub fn of(experiment: Experiment) -> Recording {
        recording::Recording::of(experiment, 1).into()
    }

    /// The experiments by themselves, if there are several.
    pub fn parts(&self) -> &[recording::Recording] {
        &self.parts
    }

    /// The display stacks of its single samples and intervals.
    pub fn moments(&self, mode: ViewMode) -> &Stacks {
        let cell = match mode {
            ViewMode::User | ViewMode::Expert => &self.user_moments,
            ViewMode::Machine => &self.machine_moments,
        };
        cell.get_or_init(|| Stacks::new(&self.whole, mode))
    }

    /// Who did what when.
    pub fn timeline(&self) -> &Timeline {
        self.timeline.get_or_init(|| Timeline::new(&self.whole))
    }

    /// Whether [`Recording::moments`] are made.
    pub fn has_moments(&self, mode: ViewMode) -> bool {
        self.known_moments(ViewMode::User).is_some() && self.known_moments(mode).is_some()
    }

    /// The display stacks of single samples, if they are made.
    pub fn known_moments(&self, mode: ViewMode) -> Option<&Stacks> {
        match mode {
            ViewMode::User | ViewMode::Expert => self.user_moments.get(),
            ViewMode::Machine => self.machine_moments.get(),
        }
    }

    /// Whether [`Recording::timeline`] is made.
    pub fn has_timeline(&self) -> bool {
        self.timeline.get().is_some()
    }

    /// Whether [`Recording::function`] answers at once.
    pub fn has_functions(&self) -> bool {
        self.functions.get().is_some()
    }

    /// What a region or task is called, as far as that is known by now.
    pub fn construct_name(&self, context: ContextId) -> &str {
        match self.directives.get() {
            Some(directives) => directives.construct_name(context),
            None => "…",
        }
    }

    /// Its regions and tasks, and what they could save.
    pub fn directives(&self) -> &Directives {
        let profile = || self.profile(ViewMode::User);
        self.directives
            .get_or_init(|| Directives::new(&self.whole, profile(), true))
    }

    /// What the recorder noted, and what spinning cost: each sample must be read for it.
    pub fn remarks(&self) -> &[String] {
        self.remarks.get_or_init(|| remarks(&self.whole))
    }

    /// The lists of metrics that a key goes round, as they would be typed: the first is
    /// `er_print`'s.
    pub fn metric_sets(&self) -> &[String] {
        self.metric_sets.get_or_init(|| metric_sets(self))
    }

    /// The function that views call so, or whose symbol it is; of several the first one whose
    /// source is known.
    pub fn function(&self, name: &str) -> Option<FunctionId> {
        let functions = self.functions.get_or_init(|| {
            let names = self.names();
            let mut known: FxHashMap<String, FunctionId> = FxHashMap::default();
            let all = || (0..).map(FunctionId).zip(&self.symbols.functions);
            for placed in [true, false] {
                let some = all().filter(|(_, function)| function.place.is_some() == placed);
                for (id, function) in some {
                    let shown = names.name(Callee::Function(id));
                    // Beside others it is called without its symbol.
                    if let Some((words, _)) = shown.split_once(" [") {
                        known.entry(words.to_owned()).or_insert(id);
                    }
                    known.entry(shown).or_insert(id);
                    known.entry(function.name.clone()).or_insert(id);
                }
            }
            known
        });
        functions.get(name).copied()
    }

    /// What its functions are called.
    pub fn names(&self) -> Names<'_> {
        self.whole.names(NameStyle::default())
    }

    /// Makes all that a view can ask for, what the first screens need first.
    pub fn work_ahead(&self) {
        if self.experiment.samples.len() > MOST_REFINED {
            // It needs no sample, and can be looked at while they are read.
            self.timeline();
        }
        self.metric_sets();
        self.directives();
        self.timeline();
        self.moments(ViewMode::User);
        self.function(omp_model::views::TOTAL);
        self.profile(ViewMode::Machine);
        self.moments(ViewMode::Machine);
    }
}

/// What the recorder of an experiment noted, and what spinning cost.
pub(crate) fn remarks(recording: &recording::Recording) -> Vec<String> {
    let experiment = &recording.experiment;
    let ran = Ran::of(&experiment.samples);
    let found = warnings(
        &experiment.tables,
        &experiment.sums,
        &ran,
        &experiment.header,
    );
    let notes = experiment.header.notes.iter().cloned();
    notes.chain(found.iter().map(ToString::to_string)).collect()
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
