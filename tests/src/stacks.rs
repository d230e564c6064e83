//! The stacks of each thread of an experiment in a window of time.

use std::path::Path;

use experiment::Experiment;
use experiment::ids::{ModuleId, StackId, ThreadId};
use experiment::rows::{Interval, Sample};
use experiment::state::{Scheduling, State};
use experiment::symbols::SymbolTable;
use experiment::tables::{RuntimeKind, StackEntry, Thread};
use omp_model::profile::PathId;
use omp_model::rewrite::{Rewriter, SampledStack};
use omp_model::views::names::{NameStyle, Names};

/// An experiment, read by thread and window of time.
pub struct Stacks {
    experiment: Experiment,
    symbols: SymbolTable,
}

/// A thread at a moment, as text, leaf first.
#[derive(Debug, Clone, PartialEq)]
pub struct Seen {
    /// In user mode.
    pub user: String,
    /// In machine mode; nothing where the thread slept and no stack was taken.
    pub machine: Option<String>,
    /// How long it was there, in seconds.
    pub seconds: f64,
}

/// A window of time in nanoseconds of `CLOCK_MONOTONIC_RAW`.
#[derive(Debug, Clone, Copy)]
pub struct Window {
    /// Its begin.
    pub begin: u64,
    /// Its end.
    pub end: u64,
}

impl Stacks {
    /// Opens an experiment.
    ///
    /// # Panics
    /// When it cannot be read.
    pub fn open(path: &Path) -> Stacks {
        let mut experiment = Experiment::open(path).unwrap_or_else(|e| panic!("{e}"));
        let symbols = experiment.symbols.take().expect("collect stores symbols");
        Stacks {
            experiment,
            symbols,
        }
    }

    /// What a thread was seen at: by its samples on the CPU, and by its times off the CPU.
    ///
    /// # Panics
    /// When the recording has no such thread.
    pub fn of(&self, tid: u32, window: Window) -> Vec<Seen> {
        let tables = &self.experiment.tables;
        let thread = tables.threads.iter().position(|t| t.tid as u32 == tid);
        let thread = ThreadId(thread.expect("a thread of the recording") as u32);
        let row = &tables.threads[thread.index()];
        let samples = self.experiment.samples.iter();
        let samples: Vec<Sample> = samples.filter(|s| s.thread == thread).collect();
        let evidence = self.experiment.samples.iter().map(|s| SampledStack {
            stack: s.stack,
            thread_state: s.thread_state,
            thread: tables.threads[s.thread.index()].kind,
        });
        let mut rewriter = Rewriter::new(tables, &self.symbols, evidence);
        let start = self.experiment.header.started_raw_ns;
        let (begin, end) = (window.begin - start, window.end - start);
        let mut seen = Vec::new();
        for sample in &samples {
            if sample.kind.scheduling() != Scheduling::Running
                || !(begin..end).contains(&sample.time.0)
            {
                continue;
            }
            let moment = self.moment(row, sample);
            let user = rewriter.user(moment).0;
            seen.push(Seen {
                user: self.user(&rewriter, user),
                machine: Some(self.machine(sample.stack)),
                seconds: self.experiment.header.sampling.period_us / 1e6,
            });
        }
        let off = self.experiment.intervals.iter();
        for interval in off.filter(|i| i.thread == thread && i.scheduling != Scheduling::Running) {
            let from = interval.start.0.max(begin);
            let upto = (interval.start.0 + interval.length.0).min(end);
            if upto <= from {
                continue;
            }
            let left = left_at(&samples, interval);
            let state = tables
                .thread_states
                .get(interval.thread_state.0)
                .map(|thread_state| thread_state.state);
            let user = match left {
                Some(sample) => rewriter.user(self.moment(row, sample)).0,
                None if state.is_some_and(State::is_wait) => {
                    rewriter
                        .user_without_stack(interval.thread_state, row.kind)
                        .0
                }
                // A thread at work was wherever it was.
                None => continue,
            };
            seen.push(Seen {
                user: self.user(&rewriter, user),
                machine: left.map(|sample| self.machine(sample.stack)),
                seconds: (upto - from) as f64 / 1e9,
            });
        }
        seen
    }

    fn moment(&self, row: &Thread, sample: &Sample) -> SampledStack {
        SampledStack {
            stack: sample.stack,
            thread_state: sample.thread_state,
            thread: row.kind,
        }
    }

    /// A display stack in the words of MOMENTS.md, without what the program's pieces of work call.
    fn user(&self, rewriter: &Rewriter<'_>, path: PathId) -> String {
        let names = Names {
            tables: &self.experiment.tables,
            symbols: &self.symbols,
            style: NameStyle::default(),
        };
        let mut words = Vec::new();
        let mut at = path;
        while at != PathId::EMPTY {
            let row = rewriter.paths().get(at.0).expect("paths are whole");
            words.push(word(&names.name(row.frame.callee)));
            at = row.callers;
        }
        tidy(words)
    }

    /// A machine stack in the words of MOMENTS.md: `R` for frames of the runtime and what it calls,
    /// `T` for a thread's first frames.
    fn machine(&self, stack: StackId) -> String {
        let tables = &self.experiment.tables;
        let executable = &tables.processes[0].executable;
        let mut words: Vec<String> = Vec::new();
        for entry in tables.walk(stack) {
            let StackEntry::Frame(frame) = entry else {
                words.push("!".to_owned());
                continue;
            };
            let row = tables.frames.get(frame.0).expect("the reader checked it");
            if row.module == ModuleId::KERNEL {
                continue;
            }
            let module = tables.modules.get(row.module.0);
            words.push(match module {
                Some(module) if module.runtime != RuntimeKind::None => "R".to_owned(),
                Some(module) if &module.path == executable => {
                    let function = self.symbols.function_of(frame).map(|(_, known)| known);
                    let outlined = function.and_then(|known| known.outlined.as_ref());
                    match outlined.and_then(|outlined| outlined.parent.as_deref()) {
                        Some(parent) => format!("{parent}-OMP"),
                        None => word(function.map_or("?", |known| &known.linkage)),
                    }
                }
                _ => "L".to_owned(),
            });
        }
        // The C library's frames belong to who called them; those that nobody called, to T.
        let last = words
            .iter()
            .rposition(|word| word != "L")
            .map_or(0, |at| at + 1);
        let thread = last < words.len();
        words.truncate(last);
        let mut callers = String::new();
        for word in words.iter_mut().rev() {
            if word == "L" {
                word.clone_from(&callers);
            }
            callers.clone_from(word);
        }
        words.extend(thread.then(|| "T".to_owned()));
        words.dedup();
        tidy(words)
    }
}

/// The sample at the switch that an interval began with.
fn left_at<'s>(samples: &'s [Sample], interval: &Interval) -> Option<&'s Sample> {
    let near = |s: &&Sample| {
        let from = s.time.0.saturating_sub(2_000);
        s.kind.scheduling() == interval.scheduling
            && s.thread_state == interval.thread_state
            && (from..s.time.0 + 100_000).contains(&interval.start.0)
    };
    samples.iter().rev().find(near)
}

/// `foo-OMP` for an outlined function of `foo`.
fn word(name: &str) -> String {
    if let Some((parent, _)) = name.split_once(" -- OMP parallel region from line ") {
        return format!("{parent}-OMP");
    }
    match name.find(".omp_outlined").or_else(|| name.find("._omp_fn")) {
        Some(at) => format!("{}-OMP", &name[..at]),
        None => name.to_owned(),
    }
}

/// Whether this names a local function of a C library without symbols.
pub(crate) fn is_c_library(name: &str) -> bool {
    name.starts_with("<static>@") && ["(<libc.", "(<ld-"].iter().any(|it| name.contains(it))
}

/// Drops what pieces of work call, and what the C library puts before `main`.
fn tidy(words: Vec<String>) -> String {
    const OWN: [&str; 6] = ["main", "foo", "foo-OMP", "bar", "bar-OMP", "R"];
    let own = |word: &str| OWN.contains(&word) || word.starts_with("<OMP");
    let first = words.iter().position(|word| own(word)).unwrap_or(0);
    let library =
        |word: &str| word.starts_with("__libc_start") || is_c_library(word) || word == "L";
    let kept = words[first..].iter().filter(|word| !library(word));
    let kept: Vec<&str> = kept.map(String::as_str).collect();
    kept.join(" ")
}
