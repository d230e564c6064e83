//! The open experiments, with data that several views need.

use std::ops::Deref;
use std::path::PathBuf;
use std::sync::OnceLock;

use experiment::Experiment;
use experiment::ids::{ContextId, FrameId};
use experiment::symbols::FunctionId;
use omp_model::analysis::Analysis;
use omp_model::metrics::Metric;
use omp_model::profile::{Callee, Inline, ViewMode};
use omp_model::views::names::{NameStyle, Names};
use report::Settings;
use report::timeline::{MOST_REFINED, Stacks, Timeline};
use report::views::Recorded;
use rustc_hash::FxHashMap;

/// An experiment, or several added up. Derived data is computed on first use. Shared between the
/// thread that draws and the threads that compute views.
#[derive(Debug)]
pub struct Experiments {
    all: Analysis,
    /// The single experiments; empty if there is only one.
    parts: Vec<Analysis>,
    metric_sets: OnceLock<Vec<String>>,
    stacks: [OnceLock<Stacks>; 8],
    timeline: OnceLock<Timeline>,
    constructs: OnceLock<FxHashMap<ContextId, String>>,
    mutexes: OnceLock<FxHashMap<FrameId, String>>,
    functions: OnceLock<FxHashMap<String, FunctionId>>,
}

impl Deref for Experiments {
    type Target = Analysis;

    fn deref(&self) -> &Analysis {
        &self.all
    }
}

impl From<Analysis> for Experiments {
    fn from(all: Analysis) -> Experiments {
        Experiments {
            all,
            parts: Vec::new(),
            metric_sets: OnceLock::new(),
            stacks: Default::default(),
            timeline: OnceLock::new(),
            constructs: OnceLock::new(),
            mutexes: OnceLock::new(),
            functions: OnceLock::new(),
        }
    }
}

impl Experiments {
    /// Whether `collect -r` recorded any of them.
    pub fn has_findings(&self) -> bool {
        let mut all = std::iter::once(&self.all).chain(&self.parts);
        all.any(|it| it.experiment.findings.is_some())
    }

    /// What decides which views there are.
    pub fn recorded(&self) -> Recorded {
        Recorded {
            findings: self.has_findings(),
            mpi: !self.all.experiment.mpi_calls.is_empty(),
        }
    }

    /// Opens an experiment, or several and adds them up, such as a job's ranks. A damaged experiment is read up to the
    /// damage.
    ///
    /// # Errors
    /// One sentence, if nothing of one of them can be read.
    pub fn open(paths: &[PathBuf]) -> Result<Experiments, String> {
        let opened = perf_data::analyses(paths).map_err(|why| why.to_string())?;
        let mut parts: Vec<Analysis> = opened.into_iter().map(|(_, part)| part).collect();
        if parts.len() == 1 {
            return Ok(parts.remove(0).into());
        }
        let all = Analysis::unite(&parts);
        Ok(Experiments {
            parts,
            ..all.into()
        })
    }

    /// Wraps an experiment that was read already.
    pub fn of(experiment: Experiment) -> Experiments {
        Analysis::of(experiment, 1).into()
    }

    /// All of them added up.
    pub fn all(&self) -> &Analysis {
        &self.all
    }

    /// The single experiments; empty if there is only one.
    pub fn parts(&self) -> &[Analysis] {
        &self.parts
    }

    /// Whether they are recordings of several runs. The ranks of one launch are one.
    pub fn are_of_several_runs(&self) -> bool {
        let job = |part: &Analysis| {
            let rank = part.experiment.header.rank.as_ref();
            rank.map(|rank| rank.job.clone())
                .filter(|job| !job.is_empty())
        };
        let Some((first, others)) = self.parts.split_first() else {
            return false;
        };
        let job_of_first = job(first);
        job_of_first.is_none() || others.iter().any(|part| job(part) != job_of_first)
    }

    /// The display stacks of single samples and intervals. Computed on first use.
    pub fn stacks(&self, settings: &Settings) -> &Stacks {
        self.stacks[cell(settings)].get_or_init(|| Stacks::new(&self.all, settings))
    }

    /// The display stacks of single samples and intervals, if they are computed already.
    pub fn known_stacks(&self, settings: &Settings) -> Option<&Stacks> {
        self.stacks[cell(settings)].get()
    }

    /// The stacks that tell what threads did, if they are computed already.
    pub fn known_activities(&self) -> Option<&Stacks> {
        self.known_stacks(&Settings::default())
    }

    /// Whether [`Experiments::stacks`] under these settings and those of
    /// [`Experiments::known_activities`] are computed already.
    pub fn has_stacks(&self, settings: &Settings) -> bool {
        self.known_activities().is_some() && self.known_stacks(settings).is_some()
    }

    /// The timeline of all threads. Computed on first use.
    pub fn timeline(&self) -> &Timeline {
        self.timeline.get_or_init(|| Timeline::new(&self.all))
    }

    /// Whether [`Experiments::timeline`] is computed already.
    pub fn has_timeline(&self) -> bool {
        self.timeline.get().is_some()
    }

    /// The name of a region or task; `…` before [`Experiments::name_constructs`] has run.
    pub fn construct_name(&self, context: ContextId) -> &str {
        let known = self.constructs.get();
        known.map_or("…", |known| {
            known
                .get(&context)
                .map_or("a construct without time", String::as_str)
        })
    }

    /// Computes the names for [`Experiments::construct_name`] and [`Experiments::mutex_name`].
    pub fn name_constructs(&self) {
        self.constructs
            .get_or_init(|| report::timeline::construct_names(&self.all));
        self.mutexes
            .get_or_init(|| report::timeline::mutex_names(&self.all));
    }

    /// The name of the mutex that a call acquires; `…` before [`Experiments::name_constructs`] has run.
    pub fn mutex_name(&self, call: FrameId) -> &str {
        let known = self.mutexes.get();
        known.map_or("…", |known| {
            known.get(&call).map_or("a mutex", String::as_str)
        })
    }

    /// The lists of metrics that a key cycles through, in `er_print`'s notation. The first is
    /// `er_print`'s default.
    pub fn metric_sets(&self) -> &[String] {
        self.metric_sets.get_or_init(|| metric_sets(&self.all))
    }

    /// The function with this display name or symbol, preferably one with a known source line.
    pub fn function(&self, name: &str) -> Option<FunctionId> {
        let functions = self.functions.get_or_init(|| {
            let names = self.names();
            let mut known: FxHashMap<String, FunctionId> = FxHashMap::default();
            let all = || (0..).map(FunctionId).zip(&self.symbols.functions);
            for has_source in [true, false] {
                let some = all().filter(|(_, function)| function.source.is_some() == has_source);
                for (id, function) in some {
                    let shown = names.name(Callee::Function(id));
                    // A comparison shows the name without the symbol.
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

    /// Whether the index of [`Experiments::function`] is computed already.
    pub fn has_functions(&self) -> bool {
        self.functions.get().is_some()
    }

    /// A function's location as `file:line (load object)`; `None` if it is unknown, or not
    /// computed yet.
    pub fn location(&self, name: &str) -> Option<String> {
        let function = self.function(name).filter(|_| self.has_functions())?;
        let function = self.symbols.functions.get(function.0 as usize)?;
        let names = self.names();
        let object = names.object_name(function.module);
        let source = function.source.and_then(|source| {
            let file = self.symbols.files.get(source.file.0 as usize)?;
            Some(format!("{file}:{}", source.line))
        });
        Some(match source {
            Some(source) => format!("{source} ({object})"),
            None => format!("{object} at {:#x}", function.address),
        })
    }

    /// The display names of its functions.
    pub fn names(&self) -> Names<'_> {
        self.all.names(NameStyle::default())
    }

    /// Computes everything that views share, the data of the first screens first.
    pub fn work_ahead(&self) {
        if self.experiment.samples.len() > MOST_REFINED {
            // It needs no samples and can be shown while they are read.
            self.timeline();
        }
        self.metric_sets();
        self.name_constructs();
        self.timeline();
        self.stacks(&Settings::default());
        self.function(omp_model::views::TOTAL);
        self.profile(ViewMode::Machine, Inline::On);
        self.stacks(&Settings {
            mode: ViewMode::Machine,
            ..Settings::default()
        });
    }
}

/// The index of the cache of display stacks. Load objects are all shown, or as by default.
fn cell(settings: &Settings) -> usize {
    let mode = match settings.mode {
        ViewMode::User | ViewMode::Expert => 0,
        ViewMode::Machine => 1,
    };
    4 * usize::from(!settings.objects.is_default()) + 2 * mode + settings.inline as usize
}

/// The lists of metrics that a key cycles through.
fn metric_sets(all: &Analysis) -> Vec<String> {
    let available = all.available();
    let mut sets = vec![available.default_spec()];
    if available.openmp() {
        let mut cpu = "e.%total:i.%total".to_owned();
        for part in [Metric::User, Metric::System, Metric::OffCpu] {
            if available.has(part) {
                cpu.push_str(&format!(":e.{}", part.id()));
            }
        }
        sets.push(cpu + ":name");
        let profile = all.profile(ViewMode::User, Inline::On);
        let kinds = available.metrics().iter().filter(|metric| {
            let is_kind = !matches!(metric, Metric::OmpWork | Metric::OmpWait);
            let counts = |item| metric.value(item) > 0.0;
            is_kind && metric.is_openmp() && profile.items.iter().any(counts)
        });
        let kinds: Vec<String> = kinds.map(|metric| format!("e.{}", metric.id())).collect();
        if !kinds.is_empty() {
            sets.push(format!("{}:name", kinds.join(":")));
        }
    }
    sets
}
