//! An experiment made by hand, with times that add up in the head.
//!
//! `main` works alone, then calls `foo`, whose region (line 9) calls `bar`, where a task is made.
//!
//! | thread | from, to (ms) | what | presence | listed |
//! |---|---|---|---|---|
//! | 100, initial | 0, 500 | serial, in `main` | on the CPU | yes |
//! | | 500, 1100 | work in `bar` | on the CPU | yes |
//! | | 1100, 1700 | work in the region's own code | on the CPU | no |
//! | | 1700, 2000 | critical section | asleep | yes |
//! | | 2000, 2200 | implicit barrier | on the CPU | yes |
//! | 101, worker | 0, 500 | idle | asleep | yes |
//! | | 500, 1200 | work in `bar` | on the CPU | yes |
//! | | 1200, 1400 | work in the task | on the CPU | yes |
//! | | 1400, 1500 | work in `bar` | preempted | yes |
//! | | 1500, 2200 | implicit barrier | asleep | yes |

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use analyzer::experiments::Experiments;
use omp_model::experiment::{Batch, Writer};
use omp_model::header::{FORMAT_VERSION, Header, Losses, Runtime, Sampling};
use omp_model::ids::{ContextId, FrameId, ModuleId, Nanos, ProcessId, StackId, TagId, ThreadId};
use omp_model::rows::{
    Interval, RegionSpan, RegionSum, SLICE, Sample, SampleKind, Sum, TaskSpan, Within,
};
use omp_model::state::{Presence, State};
use omp_model::symbols::{
    Construct, FileId, FrameSymbol, Function, FunctionId, InlinedPlace, Outlined, Place,
    SymbolTable,
};
use omp_model::tables::{
    Context, ContextKind, Frame, Module, Process, RuntimeKind, Stack, StackEntry, Tables, Tag,
    Thread, ThreadKind,
};

/// Nanoseconds of a millisecond.
const MS: u64 = 1_000_000;

/// The instances that the task runs in.
const IN_TASK: Within = Within {
    region: 3,
    task: 17,
};

/// Milliseconds between samples.
const PERIOD: u64 = 100;

/// A folder of its own for each test, removed at the end.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new(test: &str) -> Folder {
        static MADE: AtomicU32 = AtomicU32::new(0);
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        let name = format!("parallax-analyzer-{test}-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The experiment, opened; `damage` changes its record file first.
pub(crate) fn recording(test: &str, damage: impl FnOnce(&Path)) -> Arc<Experiments> {
    let folder = Folder::new(test);
    let path = folder.path().join("omp.er");
    write(&path, Variant::First);
    damage(&path.join("records"));
    let mut recording = omp_model::recording::Recording::open(&path, 1).unwrap();
    // Golden files hold no path of this machine.
    recording.name = "omp.er".to_owned();
    recording.names = vec!["omp.er".to_owned()];
    Arc::new(Experiments::from(recording))
}

/// Which of two runs.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Variant {
    /// As the table says.
    First,
    /// What the initial thread did in the region's own code it did in `bar`.
    Second,
}

/// Both runs beside each other.
pub(crate) fn two(test: &str) -> Arc<Experiments> {
    let folder = Folder::new(test);
    let paths = [("a.er", Variant::First), ("b.er", Variant::Second)].map(|(name, variant)| {
        let path = folder.path().join(name);
        write(&path, variant);
        path
    });
    Arc::new(Experiments::open(&paths).unwrap())
}

/// A recording while it is made up.
struct Making {
    tables: Tables,
    symbols: SymbolTable,
    samples: Vec<Sample>,
    sums: Vec<Sum>,
    intervals: Vec<Interval>,
}

/// What a thread does for a while.
struct Phase {
    thread: ThreadId,
    from: u64,
    to: u64,
    tag: TagId,
    presence: Presence,
    stack: StackId,
    listed: bool,
}

impl Making {
    fn code(&mut self, module: ModuleId, address: u64, name: &str, line: Option<u32>) -> FrameId {
        let function = FunctionId(self.symbols.functions.len() as u32);
        let place = line.map(|line| Place {
            file: FileId(0),
            line,
        });
        self.symbols.functions.push(Function {
            module,
            address,
            size: 0x40,
            linkage: name.to_owned(),
            name: name.to_owned(),
            place,
            outlined: None,
        });
        let place = place.map(|place| InlinedPlace {
            function: None,
            place,
        });
        self.symbols.frames.push(FrameSymbol {
            function: Some(function),
            places: place.into_iter().collect(),
        });
        self.tables.frame(Frame {
            module,
            address: address + 8,
        })
    }

    fn outlined(&mut self, name: &str, parent: &str, construct: Construct, line: u32) {
        let functions = self.symbols.functions.iter_mut();
        let mut named = functions.filter(|function| function.name == name);
        named.next().unwrap().outlined = Some(Outlined {
            construct,
            parent: Some(parent.to_owned()),
            line: Some(line),
        });
    }

    /// A stack, innermost frame first.
    fn stack(&mut self, frames: &[FrameId]) -> StackId {
        frames.iter().rev().fold(StackId::EMPTY, |callers, &frame| {
            self.tables.stack(Stack {
                callers,
                entry: StackEntry::Frame(frame),
            })
        })
    }

    fn thread(&mut self, tid: i32, kind: ThreadKind) -> ThreadId {
        self.tables.threads.push(Thread {
            process: ProcessId(0),
            tid,
            birth: Nanos(0),
            death: Some(Nanos(2200 * MS)),
            kind,
        });
        ThreadId(self.tables.threads.len() as u32 - 1)
    }

    fn tag(&mut self, state: State, context: ContextId) -> TagId {
        self.tables.tag(Tag {
            state,
            context,
            place: FrameId::NONE,
        })
    }

    fn phase(&mut self, phase: &Phase) {
        let (from, to) = (phase.from * MS, phase.to * MS);
        let mut start = from;
        while start < to {
            let slice = start / SLICE.0;
            let end = to.min((slice + 1) * SLICE.0);
            self.sums.push(Sum {
                slice: slice as u32,
                thread: phase.thread,
                tag: phase.tag,
                presence: phase.presence,
                time: Nanos(end - start),
                count: u32::from(end == to),
            });
            start = end;
        }
        if phase.listed {
            self.intervals.push(Interval {
                thread: phase.thread,
                start: Nanos(from),
                length: Nanos(to - from),
                tag: phase.tag,
                presence: phase.presence,
                within: self.within(phase.tag),
            });
        }
        let (kind, times): (_, Vec<u64>) = match phase.presence {
            Presence::Running => {
                let times = (phase.from..phase.to).filter(|time| time % PERIOD == PERIOD / 2);
                (SampleKind::User, times.collect())
            }
            Presence::Preempted => (SampleKind::Preempted, vec![phase.from]),
            Presence::Stolen => (SampleKind::User, Vec::new()),
            Presence::Blocked => (SampleKind::Blocked, vec![phase.from]),
        };
        let within = self.within(phase.tag);
        self.samples.extend(times.into_iter().map(|time| Sample {
            time: Nanos(time * MS),
            thread: phase.thread,
            cpu: phase.thread.0 as u16 + 2,
            kind,
            stack: phase.stack,
            tag: phase.tag,
            within,
        }));
    }

    /// The region is its process's third one, and the task its 17th.
    fn within(&self, tag: TagId) -> Within {
        let context = self.tables.tags.get(tag.0).unwrap().context;
        let kind = self.tables.contexts.get(context.0).unwrap().kind;
        match kind {
            ContextKind::Root => Within::default(),
            ContextKind::Region | ContextKind::Teams => Within { region: 3, task: 0 },
            ContextKind::Task => IN_TASK,
        }
    }
}

fn header() -> Header {
    Header {
        format: FORMAT_VERSION,
        writer: "0.1.0".to_owned(),
        command: vec!["./app".to_owned(), "12".to_owned()],
        directory: "/home/ann/app".to_owned(),
        host: "fir".to_owned(),
        system: "Linux 6.1.0 x86_64".to_owned(),
        cpu_model: "a processor".to_owned(),
        cpus: 2,
        environment: vec![("OMP_NUM_THREADS".to_owned(), "2".to_owned())],
        started_unix: 1_700_000_000.0,
        started_raw_ns: 1,
        duration_ns: 2200 * MS,
        exit_status: Some(0),
        sampling: Sampling {
            event: "cpu-clock".to_owned(),
            period_us: PERIOD as f64 * 1e3,
            stack_bytes: 16_384,
            kernel_frames: true,
            switches: true,
            switch_stacks: true,
            samples: 28,
            switch_samples: 4,
            cpu_ns: 2800 * MS,
            stolen_ns: 0,
        },
        runtimes: vec![Runtime {
            pid: 100,
            path: "/usr/lib/libomp.so.5".to_owned(),
            build_id: "0014".to_owned(),
            version: "LLVM OMP version: 5.0.20140926".to_owned(),
            interface: "OMPT".to_owned(),
        }],
        losses: Losses {
            omp_taken: 64,
            stacks_complete: 28,
            ..Losses::default()
        },
        ..Header::default()
    }
}

pub(crate) fn write(path: &Path, variant: Variant) {
    let mut make = Making {
        tables: Tables::default(),
        symbols: SymbolTable {
            files: vec!["/home/ann/app/foo.c".to_owned()],
            frames: vec![FrameSymbol::default()],
            ..SymbolTable::default()
        },
        samples: Vec::new(),
        sums: Vec::new(),
        intervals: Vec::new(),
    };
    make.tables.processes.push(Process {
        pid: 100,
        parent: None,
        name: "app".to_owned(),
        executable: "/home/ann/app/app".to_owned(),
    });
    let module = |make: &mut Making, path: &str, runtime| {
        make.tables.module(Module {
            path: path.to_owned(),
            build_id: format!("{:04x}", path.len()),
            runtime,
        })
    };
    let app = module(&mut make, "/home/ann/app/app", RuntimeKind::None);
    let omp = module(&mut make, "/usr/lib/libomp.so.5", RuntimeKind::Kmp);
    let libc = module(&mut make, "/usr/lib/libc.so.6", RuntimeKind::None);
    let start = make.code(app, 0x1000, "_start", None);
    let main = make.code(app, 0x1100, "main", Some(20));
    let caller = make.code(app, 0x1200, "foo", Some(9));
    let region = make.code(app, 0x1300, "foo.omp_outlined", Some(11));
    let bar = make.code(app, 0x1400, "bar", Some(4));
    let body = make.code(app, 0x1500, "bar.omp_task_entry", Some(6));
    let fork = make.code(omp, 0x2000, "__kmpc_fork_call", None);
    let invoke = make.code(omp, 0x2100, "__kmp_invoke_microtask", None);
    let launch = make.code(omp, 0x2200, "__kmp_launch_thread", None);
    let wait = make.code(omp, 0x2300, "__kmp_hyper_barrier_release", None);
    let critical = make.code(omp, 0x2400, "__kmpc_critical_with_hint", None);
    let run_task = make.code(omp, 0x2500, "__kmp_invoke_task", None);
    let clone = make.code(libc, 0x3000, "clone3", None);
    make.outlined("foo.omp_outlined", "foo", Construct::Parallel, 9);
    make.outlined("bar.omp_task_entry", "bar", Construct::Task, 5);

    let site = make.stack(&[caller, main, start]);
    let inside = make.tables.context(Context {
        parent: ContextId::ROOT,
        kind: ContextKind::Region,
        stack: site,
        body: FrameId::NONE,
    });
    let task_site = make.stack(&[bar, region, invoke, launch, clone]);
    let task = make.tables.context(Context {
        parent: inside,
        kind: ContextKind::Task,
        stack: task_site,
        body: FrameId::NONE,
    });
    let serial = make.tag(State::Serial, ContextId::ROOT);
    let idle = make.tag(State::Idle, ContextId::ROOT);
    let work = make.tag(State::Work, inside);
    let barrier = make.tag(State::ImplicitBarrier, inside);
    let section = make.tag(State::Critical, inside);
    let tasking = make.tag(State::Work, task);

    let initial = make.thread(100, ThreadKind::Initial);
    let worker = make.thread(101, ThreadKind::Worker);
    let alone = make.stack(&[main, start]);
    let in_bar = make.stack(&[bar, region, invoke, fork, caller, main, start]);
    let in_region = make.stack(&[region, invoke, fork, caller, main, start]);
    let in_critical = make.stack(&[critical, region, invoke, fork, caller, main, start]);
    let at_end = make.stack(&[wait, fork, caller, main, start]);
    let worker_bar = make.stack(&[bar, region, invoke, launch, clone]);
    let worker_task = make.stack(&[body, run_task, wait, launch, clone]);
    let worker_waits = make.stack(&[wait, launch, clone]);

    let own = match variant {
        Variant::First => in_region,
        Variant::Second => in_bar,
    };
    use Presence::{Blocked, Preempted, Running};
    let phases = [
        (initial, 0, 500, serial, Running, alone, true),
        (initial, 500, 1100, work, Running, in_bar, true),
        (initial, 1100, 1700, work, Running, own, false),
        (initial, 1700, 2000, section, Blocked, in_critical, true),
        (initial, 2000, 2200, barrier, Running, at_end, true),
        (worker, 0, 500, idle, Blocked, worker_waits, true),
        (worker, 500, 1200, work, Running, worker_bar, true),
        (worker, 1200, 1400, tasking, Running, worker_task, true),
        (worker, 1400, 1500, work, Preempted, worker_bar, true),
        (worker, 1500, 2200, barrier, Blocked, worker_waits, true),
    ];
    for (thread, from, to, tag, presence, stack, listed) in phases {
        make.phase(&Phase {
            thread,
            from,
            to,
            tag,
            presence,
            stack,
            listed,
        });
    }
    let header = header();
    let mut writer = Writer::create(path, &header).unwrap();
    let batch = Batch {
        samples: &make.samples,
        sums: &make.sums,
        intervals: &make.intervals,
        region_sums: &[RegionSum {
            slice: 2,
            context: inside,
            thread: initial,
            instances: 1,
            elapsed: Nanos(1700 * MS),
            team: 2,
        }],
        region_spans: &[RegionSpan {
            context: inside,
            thread: initial,
            start: Nanos(500 * MS),
            length: Nanos(1700 * MS),
            team: 2,
            within: Within { region: 3, task: 0 },
        }],
        task_spans: &[TaskSpan {
            context: task,
            thread: worker,
            start: Nanos(1200 * MS),
            length: Nanos(200 * MS),
            within: IN_TASK,
        }],
        ..Batch::default()
    };
    writer.append(&make.tables, &batch).unwrap();
    writer.symbols(&make.symbols).unwrap();
    writer.finish(&header).unwrap();
}
