//! An experiment made by hand, and what is asked of it.
//!
//! `main` forks a region in `foo` (line 9), whose body calls `bar`, into which `tiny` is inlined.
//!
//! | thread | state | from, in ms | ms | scheduling | samples |
//! |---|---|---|---|---|---|
//! | initial | serial, in `main` | 0 | 500 | on the CPU | 5 |
//! | initial | work, 3/4 in `bar` | 500 | 800 | on the CPU | 8 |
//! | initial | critical section | 1300 | 200 | asleep | 1 |
//! | initial | implicit barrier | 1500 | 400 | on the CPU | none, and needs none |
//! | initial | serial | 1900 | 100 | preempted | none: its stack is inferred |
//! | worker | idle | 0 | 500 | asleep | none, and needs none |
//! | worker | work in `bar`, a task from 600 to 900 | 500 | 1000 | on the CPU | 10 |
//! | worker | implicit barrier | 1500 | 500 | asleep | 1 |
//!
//! Critical section, idleness and the worker's barrier are listed. Two samples and a record were lost.

use std::io::Read;

use experiment::ids::{ContextId, FrameId, Nanos, PhaseId, ThreadId, ThreadStateId};
use experiment::losses::LossKind;
use experiment::rows::{
    Interval, RegionSpan, Sample, SampleKind, Span, SpanKind, Sum, TaskSpan, Within,
};
use experiment::state::{Scheduling, State};
use experiment::symbols::{Construct, FileId, InlinedLine, SourceLine};
use experiment::tables::{ContextKind, Phase, RuntimeKind, ThreadKind};
use omp_model::analysis::Analysis;
use omp_model::filter::Filter;
use omp_model::metrics::{Column, Metric, SortKey};
use omp_model::profile::ViewMode;
use report::query::{Source, Subset};
use report::{Query, Settings};
use tempfile::TempDir;
use test_support::{Builder, TempExperiment};

use crate::{Format, Writer};

pub(super) const MS: u64 = 1_000_000;

/// The names that the experiment holds.
#[derive(Clone, Copy)]
pub(super) struct Given {
    pub(super) function: &'static str,
    pub(super) inlined: &'static str,
    pub(super) file: &'static str,
    pub(super) object: &'static str,
    pub(super) process: &'static str,
    pub(super) phase: &'static str,
}

impl Default for Given {
    fn default() -> Given {
        Given {
            function: "bar",
            inlined: "tiny",
            file: "/home/ann/app/foo.c",
            object: "/home/ann/app/app",
            process: "app",
            phase: "solve",
        }
    }
}

/// Adds time in a state, and samples evenly within it.
pub(super) struct Time<'m> {
    pub(super) make: &'m mut Builder,
    pub(super) thread: ThreadId,
}

impl Time<'_> {
    pub(super) fn add(
        &mut self,
        (state, scheduling): (ThreadStateId, Scheduling),
        (from, length): (u64, u64),
        samples: &[(experiment::ids::StackId, SampleKind)],
    ) {
        let thread = self.thread;
        let second = |at: u64| (at / 1000) as u32;
        for slice in second(from)..=second(from + length - 1) {
            let start = from.max(u64::from(slice) * 1000);
            let end = (from + length).min((u64::from(slice) + 1) * 1000);
            self.make.sums.push(Sum {
                slice,
                thread,
                thread_state: state,
                scheduling,
                time: Nanos((end - start) * MS),
                count: 1,
            });
        }
        for (at, &(stack, kind)) in samples.iter().enumerate() {
            self.make.samples.push(Sample {
                time: Nanos((from + length * at as u64 / samples.len() as u64) * MS),
                thread,
                cpu: thread.0 as u16,
                kind,
                stack,
                thread_state: state,
                within: Within { region: 1, task: 0 },
            });
        }
    }

    fn list(&mut self, state: (ThreadStateId, Scheduling), from: u64, length: u64) {
        self.make.intervals.push(Interval {
            thread: self.thread,
            start: Nanos(from * MS),
            length: Nanos(length * MS),
            thread_state: state.0,
            scheduling: state.1,
            within: Within { region: 1, task: 0 },
        });
    }
}

pub(super) fn builder(given: Given) -> Builder {
    let mut make = Builder::new(&["./app", "12"], given.file);
    make.header.duration_ns = 2_000 * MS;
    make.header.sampling.period_us = 100_000.0;
    make.process(100, given.process, given.object);
    let app = make.module(given.object, RuntimeKind::None);
    let omp = make.module("/usr/lib/libomp.so.5", RuntimeKind::Kmp);
    let mut code = |module, address, name, line| make.function(module, address, name, line);
    let start = code(app, 0x1000, "_start", None);
    let main = code(app, 0x1100, "main", Some(20));
    let caller = code(app, 0x1200, "foo", Some(9));
    let region = code(app, 0x1300, "foo.omp_outlined", Some(11));
    let bar = code(app, 0x1400, given.function, Some(4));
    let fork = code(omp, 0x2000, "__kmpc_fork_call", None);
    let invoke = code(omp, 0x2100, "__kmp_invoke_microtask", None);
    let critical = code(omp, 0x2400, "__kmpc_critical", None);
    let wait = code(omp, 0x2500, "__kmp_hyper_barrier_release", None);
    make.outlined(region, Construct::Parallel, "foo", 9);
    make.symbols.frames[bar.index()].lines.insert(
        0,
        InlinedLine {
            function: Some(given.inlined.to_owned()),
            source: SourceLine {
                file: FileId(0),
                line: 2,
            },
        },
    );
    let site = make.stack(&[caller, main, start]);
    let inside = make.context(ContextId::ROOT, ContextKind::Region, site);
    let at_task = make.stack(&[region, invoke, fork, caller, main, start]);
    let in_task = make.context(inside, ContextKind::Task, at_task);
    let serial = make.thread_state(State::Serial, ContextId::ROOT);
    let idle = make.thread_state(State::Idle, ContextId::ROOT);
    let work = make.thread_state(State::Work, inside);
    let barrier = make.thread_state(State::ImplicitBarrier, inside);
    let section = make.thread_state(State::Critical, inside);
    let initial = make.thread(100, ThreadKind::Initial);
    let worker = make.thread(101, ThreadKind::Worker);
    let outer = [fork, caller, main, start];
    let with = |inner: &[FrameId]| [inner, &outer].concat();
    let alone = make.stack(&[main, start]);
    let in_bar = make.stack(&with(&[bar, region, invoke]));
    let in_region = make.stack(&with(&[region, invoke]));
    let in_critical = make.stack(&with(&[critical, region, invoke]));
    let worker_bar = make.stack(&[bar, region, invoke]);
    let worker_waits = make.stack(&[wait]);

    use Scheduling::{Blocked, Running};
    let user = SampleKind::User;
    let mut time = Time {
        make: &mut make,
        thread: initial,
    };
    time.add((serial, Running), (0, 500), &[(alone, user); 5]);
    let mut samples = [(in_bar, user); 8];
    samples[..2].fill((in_region, user));
    time.add((work, Running), (500, 800), &samples);
    time.add(
        (section, Blocked),
        (1300, 200),
        &[(in_critical, SampleKind::Blocked)],
    );
    time.list((section, Blocked), 1300, 200);
    time.add((barrier, Running), (1500, 400), &[]);
    time.add((serial, Scheduling::Preempted), (1900, 100), &[]);
    time.thread = worker;
    time.add((idle, Blocked), (0, 500), &[]);
    time.list((idle, Blocked), 0, 500);
    time.add((work, Running), (500, 1000), &[(worker_bar, user); 10]);
    time.add(
        (barrier, Blocked),
        (1500, 500),
        &[(worker_waits, SampleKind::Blocked)],
    );
    time.list((barrier, Blocked), 1500, 500);

    make.region_spans.push(RegionSpan {
        context: inside,
        thread: initial,
        start: Nanos(500 * MS),
        length: Nanos(1_500 * MS),
        team: 2,
        within: Within { region: 1, task: 0 },
    });
    make.task_spans.push(TaskSpan {
        context: in_task,
        thread: worker,
        start: Nanos(600 * MS),
        length: Nanos(300 * MS),
        within: Within { region: 1, task: 7 },
    });
    let name = make.tables.name(given.phase.to_owned());
    let phase = make.tables.phase(Phase {
        parent: PhaseId::NONE,
        name,
    });
    make.spans.push(Span {
        process: experiment::ids::ProcessId(0),
        kind: SpanKind::Phase,
        phase,
        start: Nanos(100 * MS),
        length: Nanos(1_000 * MS),
    });
    make.header.losses.omp_taken = 1_000;
    let lost = &mut make.header.losses.lost;
    lost.add(LossKind::Samples, (210 * MS, 220 * MS), 2);
    lost.add(LossKind::OmpWaits, (900 * MS, 950 * MS), 1);
    make
}

/// An experiment on disk, opened.
pub(super) struct Made {
    pub(super) analysis: Analysis,
    subset: Subset,
    _folder: TempExperiment,
}

impl Made {
    pub(super) fn of(builder: &Builder) -> Made {
        let folder = TempExperiment::new("made");
        builder.write(&folder.path);
        Made {
            analysis: Analysis::open(&folder.path, 1, |_| unreachable!("it has symbols")).unwrap(),
            subset: Subset::default(),
            _folder: folder,
        }
    }

    pub(super) fn new() -> Made {
        Made::of(&builder(Given::default()))
    }

    /// What a format writes under some settings.
    pub(super) fn export(&mut self, format: &str, settings: &Settings) -> Vec<u8> {
        // It belongs to one filter.
        self.subset = Subset::default();
        let query = self.query(settings);
        let mut out = Vec::new();
        match Format::by_name(format).unwrap().write {
            Writer::File(write) => write(&query, &mut out).unwrap(),
            Writer::Folder { .. } => panic!("{format} is a folder"),
        }
        out
    }

    /// The folder of a format under some settings.
    pub(super) fn export_folder(&mut self, format: &str, settings: &Settings) -> TempDir {
        self.subset = Subset::default();
        let query = self.query(settings);
        let folder = tempfile::tempdir().unwrap();
        match Format::by_name(format).unwrap().write {
            Writer::File(_) => panic!("{format} is a file"),
            Writer::Folder { write, .. } => write(&query, folder.path()).unwrap(),
        }
        folder
    }

    pub(super) fn text(&mut self, format: &str, settings: &Settings) -> String {
        String::from_utf8(self.export(format, settings)).unwrap()
    }

    /// The seconds of a metric under some settings, as reports have them.
    pub(super) fn seconds(&mut self, metric: Metric, settings: &Settings) -> f64 {
        self.subset = Subset::default();
        let query = self.query(settings);
        let items = query.all.profile().items.iter();
        items.map(|item| metric.value(item)).sum()
    }

    fn query<'a>(&'a self, settings: &'a Settings) -> Query<'a> {
        let all = Source {
            analysis: &self.analysis,
            subset: &self.subset,
            settings,
        };
        let columns = settings.columns.clone().unwrap_or_else(|| {
            Column::parse_list("e.total:name", self.analysis.available()).unwrap()
        });
        let sort = SortKey::of_list(&columns);
        Query::new(settings, all, &[all], columns, sort)
    }
}

/// Every setting that a format obeys.
pub(super) fn settings() -> Vec<Settings> {
    let filter = |text: &str| Settings {
        filter: Some(Filter::parse(text).unwrap()),
        ..Settings::default()
    };
    let machine = Settings {
        mode: ViewMode::Machine,
        ..Settings::default()
    };
    vec![
        Settings::default(),
        machine,
        filter("THRID==2"),
        filter("OMPSTATE==OMPIBAR"),
        filter("TSTAMP<700000000"),
        filter("\"bar\" IN STACK && TSTAMP>=1100000000"),
        filter("THRID==9"),
        filter("TSTAMP>=1950000000"),
    ]
}

/// The contents of a gzip file.
pub(super) fn unzipped(bytes: &[u8]) -> Vec<u8> {
    let mut contents = Vec::new();
    let mut reader = flate2::read::GzDecoder::new(bytes);
    reader.read_to_end(&mut contents).unwrap();
    contents
}

/// Asserts that two sums of seconds differ by less than a microsecond.
#[track_caller]
pub(super) fn assert_close(left: f64, right: f64, what: &str) {
    assert!((left - right).abs() < 1e-6, "{what}: {left} {right}");
}
