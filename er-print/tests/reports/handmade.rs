//! Two small experiments made by hand, with times that add up in the head.
//!
//! `openmp`: `main` works alone, then calls `foo`, whose region (line 9) calls `bar`.
//!
//! | thread | what | seconds | presence |
//! |---|---|---|---|
//! | initial | serial, in `main` | 0.500 | on the CPU |
//! | initial | work: 3/4 in `bar`, 1/4 in the region's own code | 1.200 | on the CPU |
//! | initial | critical section | 0.300 | asleep |
//! | initial | implicit barrier | 0.200 | on the CPU |
//! | worker | idle | 0.500 | asleep |
//! | worker | work, all in `bar` | 0.900 | on the CPU |
//! | worker | work | 0.100 | preempted |
//! | worker | implicit barrier | 0.700 | asleep |
//!
//! `plain`: no OpenMP; `main` calls `fib(int)`, which calls itself, and sleeps.

use std::path::{Path, PathBuf};

use omp_model::experiment::{Batch, Writer};
use omp_model::header::{FORMAT_VERSION, Header, Losses, Runtime, Sampling};
use omp_model::ids::{ContextId, FrameId, ModuleId, Nanos, ProcessId, StackId, TagId, ThreadId};
use omp_model::rows::{RegionSum, RegionWork, Sample, SampleKind, Sum, TaskSum, Within};
use omp_model::state::{Presence, State};
use omp_model::symbols::{
    Construct, FileId, FrameSymbol, Function, FunctionId, InlinedPlace, Outlined, Place,
    SymbolTable,
};
use omp_model::tables::{
    Context, ContextKind, Frame, Module, Process, RuntimeKind, Stack, StackEntry, Tables, Tag,
    Thread, ThreadKind,
};

/// A folder of its own for each test, removed at the end.
pub(crate) struct Folder(PathBuf);

impl Folder {
    /// Makes it.
    pub(crate) fn new(test: &str) -> Folder {
        let name = format!("parallax-er-print-{test}-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    /// Its path.
    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A recording while it is made up.
struct Making {
    header: Header,
    tables: Tables,
    symbols: SymbolTable,
    samples: Vec<Sample>,
    sums: Vec<Sum>,
    region_sums: Vec<RegionSum>,
    region_works: Vec<RegionWork>,
    task_sums: Vec<TaskSum>,
}

/// A function of the made-up program: its one frame is at the line given.
struct Code {
    module: ModuleId,
    address: u64,
    name: &'static str,
    linkage: &'static str,
    line: Option<u32>,
}

impl Making {
    fn new(command: &str) -> Making {
        let header = Header {
            format: FORMAT_VERSION,
            writer: "0.1.0".to_owned(),
            command: vec![command.to_owned(), "12".to_owned()],
            directory: "/home/ann/app".to_owned(),
            host: "fir".to_owned(),
            system: "Linux 6.1.0 x86_64".to_owned(),
            cpu_model: "a processor".to_owned(),
            cpus: 2,
            started_unix: 1_700_000_000.0,
            started_raw_ns: 1,
            duration_ns: 2_200_000_000,
            exit_status: Some(0),
            sampling: Sampling {
                event: "cpu-clock".to_owned(),
                period_us: 997.0,
                stack_bytes: 16_384,
                kernel_frames: true,
                switches: true,
                switch_stacks: true,
                samples: 2_800,
                switch_samples: 12,
                cpu_ns: 2_800_000_000,
                stolen_ns: 0,
            },
            losses: Losses {
                stacks_complete: 2_800,
                ..Losses::default()
            },
            ..Header::default()
        };
        Making {
            header,
            tables: Tables::default(),
            symbols: SymbolTable {
                files: vec!["/home/ann/app/foo.c".to_owned()],
                frames: vec![FrameSymbol::default()],
                ..SymbolTable::default()
            },
            samples: Vec::new(),
            sums: Vec::new(),
            region_sums: Vec::new(),
            region_works: Vec::new(),
            task_sums: Vec::new(),
        }
    }

    fn module(&mut self, path: &str, runtime: RuntimeKind) -> ModuleId {
        let build_id = format!("{:04x}", path.len());
        self.tables.module(Module {
            path: path.to_owned(),
            build_id,
            runtime,
        })
    }

    fn code(&mut self, code: &Code) -> FrameId {
        let function = FunctionId(self.symbols.functions.len() as u32);
        let place = code.line.map(|line| Place {
            file: FileId(0),
            line,
        });
        self.symbols.functions.push(Function {
            module: code.module,
            address: code.address,
            size: 0x40,
            linkage: code.linkage.to_owned(),
            name: code.name.to_owned(),
            place,
            outlined: None,
        });
        let places = place.into_iter();
        let places = places
            .map(|place| InlinedPlace {
                function: None,
                place,
            })
            .collect();
        self.symbols.frames.push(FrameSymbol {
            function: Some(function),
            places,
        });
        let frame = Frame {
            module: code.module,
            address: code.address + 8,
        };
        let id = self.tables.frame(frame);
        assert_eq!(
            id.index() + 1,
            self.symbols.frames.len(),
            "frames and symbols in step"
        );
        id
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
            death: Some(Nanos(2_200_000_000)),
            kind,
        });
        ThreadId(self.tables.threads.len() as u32 - 1)
    }

    fn process(&mut self, executable: &str) {
        self.tables.processes.push(Process {
            pid: 100,
            parent: None,
            name: "app".to_owned(),
            executable: executable.to_owned(),
        });
    }

    fn tag(&mut self, state: State, context: ContextId) -> TagId {
        self.tables.tag(Tag {
            state,
            context,
            place: FrameId::NONE,
        })
    }

    /// Time in a state, shared out over stacks by their numbers of samples.
    fn time(
        &mut self,
        thread: ThreadId,
        tag: TagId,
        presence: Presence,
        milliseconds: u64,
        samples: &[(StackId, SampleKind, u64)],
    ) {
        let time = Nanos(milliseconds * 1_000_000);
        self.sums.push(Sum {
            slice: 0,
            thread,
            tag,
            presence,
            time,
            count: 1,
        });
        for &(stack, kind, count) in samples {
            for _ in 0..count {
                let time = Nanos(1_000_000 * self.samples.len() as u64);
                self.samples.push(Sample {
                    time,
                    thread,
                    cpu: 0,
                    kind,
                    stack,
                    tag,
                    within: Within::default(),
                });
            }
        }
    }

    fn write(self, path: &Path) {
        let mut writer = self.write_rows(path);
        writer.symbols(&self.symbols).unwrap();
        writer.finish(&self.header).unwrap();
    }

    /// What a program that is killed leaves: the header of its start, and rows.
    fn write_rows(&self, path: &Path) -> Writer {
        let mut writer = Writer::create(path, &self.header).unwrap();
        let batch = Batch {
            samples: &self.samples,
            sums: &self.sums,
            region_sums: &self.region_sums,
            region_works: &self.region_works,
            task_sums: &self.task_sums,
            ..Batch::default()
        };
        writer.append(&self.tables, &batch).unwrap();
        writer
    }
}

/// Writes the experiment of a program with OpenMP.
pub(crate) fn openmp(path: &Path) {
    let mut make = Making::new("./app");
    make.process("/home/ann/app/app");
    let app = make.module("/home/ann/app/app", RuntimeKind::None);
    let omp = make.module("/usr/lib/libomp.so.5", RuntimeKind::Kmp);
    let libc = make.module("/usr/lib/libc.so.6", RuntimeKind::None);
    make.header.runtimes = vec![Runtime {
        pid: 100,
        path: "/usr/lib/libomp.so.5".to_owned(),
        build_id: "0014".to_owned(),
        version: "LLVM OMP version: 5.0.20140926".to_owned(),
        interface: "OMPT".to_owned(),
    }];
    make.header.environment = vec![("OMP_NUM_THREADS".to_owned(), "2".to_owned())];
    make.header.losses.omp_taken = 64;
    make.symbols.misses = vec![(libc, "the file has no symbol table".to_owned())];
    let mut code = |module, address, name, line| {
        make.code(&Code {
            module,
            address,
            name,
            linkage: name,
            line,
        })
    };
    let start = code(app, 0x1000, "_start", None);
    let main = code(app, 0x1100, "main", Some(20));
    let caller = code(app, 0x1200, "foo", Some(9));
    let region = code(app, 0x1300, "foo.omp_outlined", Some(11));
    let bar = code(app, 0x1400, "bar", Some(4));
    let fork = code(omp, 0x2000, "__kmpc_fork_call", None);
    let invoke = code(omp, 0x2100, "__kmp_invoke_microtask", None);
    let launch = code(omp, 0x2200, "__kmp_launch_thread", None);
    let wait = code(omp, 0x2300, "__kmp_hyper_barrier_release", None);
    let critical = code(omp, 0x2400, "__kmpc_critical_with_hint", None);
    let first = code(libc, 0x3000, "clone3", None);
    let outlined = Outlined {
        construct: Construct::Parallel,
        parent: Some("foo".to_owned()),
        line: Some(9),
    };
    make.symbols.functions[3].outlined = Some(outlined);

    let site = make.stack(&[caller, main, start]);
    let kind = ContextKind::Region;
    let inside = make.tables.context(Context {
        parent: ContextId::ROOT,
        kind,
        stack: site,
        body: FrameId::NONE,
    });
    let serial = make.tag(State::Serial, ContextId::ROOT);
    let idle = make.tag(State::Idle, ContextId::ROOT);
    let work = make.tag(State::Work, inside);
    let barrier = make.tag(State::ImplicitBarrier, inside);
    let section = make.tag(State::Critical, inside);

    let initial = make.thread(100, ThreadKind::Initial);
    let worker = make.thread(101, ThreadKind::Worker);
    let outer = [fork, caller, main, start];
    let with = |inner: &[FrameId], outer: &[FrameId]| [inner, outer].concat();
    let alone = make.stack(&[main, start]);
    let in_bar = make.stack(&with(&[bar, region, invoke], &outer));
    let in_region = make.stack(&with(&[region, invoke], &outer));
    let in_critical = make.stack(&with(&[critical, region, invoke], &outer));
    let at_end = make.stack(&with(&[wait], &outer));
    let worker_bar = make.stack(&[bar, region, invoke, launch, first]);
    let worker_waits = make.stack(&[wait, launch, first]);

    use Presence::{Blocked, Preempted, Running};
    let user = SampleKind::User;
    make.time(initial, serial, Running, 500, &[(alone, user, 5)]);
    make.time(
        initial,
        work,
        Running,
        1200,
        &[(in_bar, user, 9), (in_region, user, 3)],
    );
    make.time(
        initial,
        section,
        Blocked,
        300,
        &[(in_critical, SampleKind::Blocked, 1)],
    );
    make.time(initial, barrier, Running, 200, &[(at_end, user, 2)]);
    make.time(
        worker,
        idle,
        Blocked,
        500,
        &[(worker_waits, SampleKind::Blocked, 1)],
    );
    make.time(
        worker,
        work,
        Running,
        900,
        &[(worker_bar, user, 8), (worker_bar, SampleKind::Kernel, 1)],
    );
    make.time(
        worker,
        work,
        Preempted,
        100,
        &[(worker_bar, SampleKind::Preempted, 1)],
    );
    make.time(
        worker,
        barrier,
        Blocked,
        700,
        &[(worker_waits, SampleKind::Blocked, 1)],
    );
    make.region_sums.push(RegionSum {
        slice: 0,
        context: inside,
        thread: initial,
        instances: 4,
        elapsed: Nanos(1_700_000_000),
        team: 2,
    });
    make.region_works.push(RegionWork {
        slice: 0,
        context: inside,
        thread: initial,
        capacity: Nanos(3_400_000_000),
        longest: Nanos(1_400_000_000),
        mean: Nanos(1_050_000_000),
    });
    let task = make.tables.context(Context {
        parent: inside,
        kind: ContextKind::Task,
        stack: in_bar,
        body: FrameId::NONE,
    });
    // 20 and 60 ms.
    make.task_sums.push(TaskSum {
        slice: 0,
        context: ContextId(task.0),
        thread: worker,
        instances: 2,
        elsewhere: 1,
        work: Nanos(80_000_000),
        least: Nanos(20_000_000),
        most: Nanos(60_000_000),
        squares: 4_000_000_000_000_000,
    });
    make.write(path);
}

/// Writes the experiment of a program without OpenMP.
pub(crate) fn plain(path: &Path) {
    let mut make = Making::new("./plain");
    make.process("/home/ann/app/plain");
    let app = make.module("/home/ann/app/plain", RuntimeKind::None);
    let libc = make.module("/usr/lib/libc.so.6", RuntimeKind::None);
    make.header.sampling.samples = 1_500;
    make.header.sampling.cpu_ns = 2_000_000_000;
    make.header.losses = Losses {
        samples: 300,
        stacks_complete: 1_400,
        stacks_cut: vec![("the copied piece of the stack ended".to_owned(), 100)],
        ..Losses::default()
    };
    make.header.notes = vec!["a note on what was not permitted, and how to mend it".to_owned()];
    let main = make.code(&Code {
        module: app,
        address: 0x1000,
        name: "main",
        linkage: "main",
        line: Some(30),
    });
    let fib = make.code(&Code {
        module: app,
        address: 0x1100,
        name: "fib(int)",
        linkage: "_Z3fibi",
        line: Some(12),
    });
    let nap = make.code(&Code {
        module: libc,
        address: 0x2000,
        name: "clock_nanosleep",
        linkage: "clock_nanosleep",
        line: None,
    });
    let thread = make.thread(100, ThreadKind::Outside);
    let shallow = make.stack(&[fib, main]);
    let deep = make.stack(&[fib, fib, main]);
    let asleep = make.stack(&[nap, main]);
    let (user, kernel) = (SampleKind::User, SampleKind::Kernel);
    let samples = [(shallow, user, 10), (deep, user, 8), (deep, kernel, 2)];
    make.time(thread, TagId::OUTSIDE, Presence::Running, 2000, &samples);
    let samples = [(asleep, SampleKind::Blocked, 1)];
    make.time(thread, TagId::OUTSIDE, Presence::Blocked, 200, &samples);
    make.write(path);
}

/// How often the function of [`recursion`] calls itself.
pub(crate) const DEEP: usize = 5_000;

/// Writes the experiment of a program that calls itself very often.
pub(crate) fn recursion(path: &Path) {
    let mut make = Making::new("./deep");
    make.process("/home/ann/app/deep");
    let module = make.module("/home/ann/app/deep", RuntimeKind::None);
    let (name, linkage, line) = ("dig", "dig", Some(3));
    let dig = make.code(&Code {
        module,
        address: 0x1000,
        name,
        linkage,
        line,
    });
    let thread = make.thread(100, ThreadKind::Outside);
    let stack = make.stack(&[dig; DEEP]);
    let samples = [(stack, SampleKind::User, 3)];
    make.time(thread, TagId::OUTSIDE, Presence::Running, 300, &samples);
    make.write(path);
}

/// Writes the experiment of [`openmp`]'s program on one thread, built by gcc: 0.5 s in `main`,
/// 1.6 s in `bar`, 0.2 s in the region.
pub(crate) fn single(path: &Path) {
    let mut make = Making::new("./app");
    make.process("/home/ann/app/app");
    let app = make.module("/home/ann/app/app.gcc", RuntimeKind::None);
    let mut code = |address, name, line| {
        make.code(&Code {
            module: app,
            address,
            name,
            linkage: name,
            line,
        })
    };
    let start = code(0x1000, "_start", None);
    let main = code(0x1110, "main", Some(20));
    let caller = code(0x1220, "foo", Some(9));
    let region = code(0x1330, "foo._omp_fn.0", Some(11));
    let bar = code(0x1440, "bar", Some(4));
    let outlined = Outlined {
        construct: Construct::Parallel,
        parent: Some("foo".to_owned()),
        line: Some(9),
    };
    make.symbols.functions[3].outlined = Some(outlined);
    let stack = make.stack(&[caller, main, start]);
    let inside = make.tables.context(Context {
        parent: ContextId::ROOT,
        kind: ContextKind::Region,
        stack,
        body: FrameId::NONE,
    });
    let serial = make.tag(State::Serial, ContextId::ROOT);
    let work = make.tag(State::Work, inside);
    let thread = make.thread(100, ThreadKind::Initial);
    let alone = make.stack(&[main, start]);
    let in_bar = make.stack(&[bar, region, caller, main, start]);
    let in_region = make.stack(&[region, caller, main, start]);
    let (running, user) = (Presence::Running, SampleKind::User);
    make.time(thread, serial, running, 500, &[(alone, user, 5)]);
    let samples = [(in_bar, user, 8), (in_region, user, 1)];
    make.time(thread, work, running, 1800, &samples);
    make.write(path);
}

/// Writes `foo.c`, the source of [`openmp`], in a folder; it is older than the recording.
pub(crate) fn source(folder: &Path) {
    std::fs::create_dir_all(folder).unwrap();
    let path = folder.join("foo.c");
    let lines: Vec<String> = (1..=24)
        .map(|line| match line {
            4 => "\tx += bar;".to_owned(),
            9 => "#pragma omp parallel".to_owned(),
            11 => "    bar();".to_owned(),
            20 => "    foo();".to_owned(),
            line => format!("line {line}"),
        })
        .collect();
    std::fs::write(&path, lines.join("\n") + "\n").unwrap();
    let old = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_600_000_000);
    let file = std::fs::File::options().append(true).open(&path).unwrap();
    file.set_modified(old).unwrap();
}

/// Writes what is there of an experiment whose recording program was killed: samples of every
/// millisecond up to the last at 1.499 s, and the header of the start.
pub(crate) fn killed(path: &Path) {
    let mut make = Making::new("./plain");
    make.header.duration_ns = 0;
    make.header.exit_status = None;
    make.process("/home/ann/app/plain");
    let app = make.module("/home/ann/app/plain", RuntimeKind::None);
    let main = make.code(&Code {
        module: app,
        address: 0x1000,
        name: "main",
        linkage: "main",
        line: Some(30),
    });
    let thread = make.thread(100, ThreadKind::Outside);
    let stack = make.stack(&[main]);
    let samples = [(stack, SampleKind::User, 1500)];
    make.time(thread, TagId::OUTSIDE, Presence::Running, 1500, &samples);
    make.write_rows(path);
}
