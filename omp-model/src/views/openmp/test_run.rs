//! Runs described by intervals, for tests: the values of rows and profile are known by
//! construction.

use experiment::Packed;
use experiment::header::Header;
use experiment::ids::{
    ContextId, FrameId, ModuleId, NameId, Nanos, ProcessId, StackId, ThreadId, ThreadStateId,
};
use experiment::rows::{
    Blame, Interval, LockSum, LockWait, LoopSum, RegionSum, RegionWork, SLICE, Sum, TaskSum, Within,
};
use experiment::state::{Scheduling, State};
use experiment::symbols::{
    FileId, FrameSymbol, Function, FunctionId, InlinedLine, SourceLine, SymbolTable,
};
use experiment::tables::{
    Context, ContextKind, Frame, Process, Stack, StackEntry, Tables, Thread, ThreadKind,
    ThreadState,
};
use experiment::{Samples, Sums};

use crate::attribution::{Attribution, Slices, Source};
use crate::profile::{Callee, DisplayFrame, FrameKind, Item, Path, PathId, Profile, ViewMode};
use crate::states::RefinedState;
use crate::views::names::{NameStyle, Names};
use crate::views::openmp::Measured;
use crate::views::openmp::crowd::Cpus;
use crate::views::openmp::efficiency::{Run, efficiency};
use crate::views::openmp::regions::{RegionRow, regions};

/// Milliseconds, the unit of a test run.
pub(crate) const MS: u64 = 1_000_000;

/// A run of one process.
pub(crate) struct TestRun {
    pub(crate) tables: Tables,
    pub(crate) symbols: SymbolTable,
    pub(crate) sums: Sums,
    pub(crate) blames: Packed<Blame>,
    pub(crate) intervals: Vec<Interval>,
    pub(crate) region_sums: Packed<RegionSum>,
    pub(crate) region_works: Packed<RegionWork>,
    pub(crate) loop_sums: Packed<LoopSum>,
    pub(crate) lock_sums: Packed<LockSum>,
    pub(crate) lock_waits: Packed<LockWait>,
    pub(crate) task_sums: Packed<TaskSum>,
    pub(crate) end: u64,
    pub(crate) cpus: u32,
    /// Where each thread's last interval ended, in milliseconds.
    pub(crate) at: Vec<u64>,
}

impl TestRun {
    /// Threads that live from 0 to `end` milliseconds, the first of them initial.
    pub(crate) fn new(threads: u32, end: u64) -> TestRun {
        let mut tables = Tables::default();
        tables.processes.push(Process {
            pid: 100,
            parent: None,
            name: "prog".to_owned(),
            executable: "/app/prog".to_owned(),
        });
        for thread in 0..threads {
            tables.threads.push(Thread {
                process: ProcessId(0),
                tid: 100 + thread as i32,
                name: NameId::NONE,
                birth: Nanos(0),
                death: Some(Nanos(end * MS)),
                kind: match thread {
                    0 => ThreadKind::Initial,
                    _ => ThreadKind::Worker,
                },
            });
        }
        TestRun {
            tables,
            symbols: SymbolTable::default(),
            sums: Sums::default(),
            blames: Packed::default(),
            intervals: Vec::new(),
            region_sums: Packed::default(),
            region_works: Packed::default(),
            loop_sums: Packed::default(),
            lock_sums: Packed::default(),
            lock_waits: Packed::default(),
            task_sums: Packed::default(),
            end,
            cpus: 0,
            at: vec![0; threads as usize],
        }
    }

    /// Adds a construct at its own address.
    pub(crate) fn construct(
        &mut self,
        parent: ContextId,
        kind: ContextKind,
        address: u64,
    ) -> ContextId {
        let frame = self.tables.frame(Frame {
            module: ModuleId::NONE,
            address,
        });
        let stack = self.tables.stack(Stack {
            callers: StackId::EMPTY,
            entry: StackEntry::Frame(frame),
        });
        self.tables.context(Context {
            parent,
            kind,
            stack,
            python: StackId::EMPTY,
            body: FrameId::NONE,
        })
    }

    /// Adds the thread's next `length` milliseconds, on the CPU.
    pub(crate) fn run(&mut self, thread: u32, state: State, context: ContextId, length: u64) {
        self.be(thread, (state, Scheduling::Running), context, length);
    }

    /// Adds the thread's next `length` milliseconds.
    pub(crate) fn be(
        &mut self,
        thread: u32,
        (state, scheduling): (State, Scheduling),
        context: ContextId,
        length: u64,
    ) {
        let thread_state = self.tables.thread_state(ThreadState {
            state,
            context,
            call: FrameId::NONE,
        });
        let thread_state = ThreadStateId(thread_state.0);
        let from = self.at[thread as usize] * MS;
        let to = from + length * MS;
        self.at[thread as usize] += length;
        self.intervals.push(Interval {
            thread: ThreadId(thread),
            start: Nanos(from),
            length: Nanos(to - from),
            thread_state,
            scheduling,
            within: Within::default(),
        });
        let mut at = from;
        while at < to {
            let slice = at / SLICE.0;
            let end = to.min((slice + 1) * SLICE.0);
            self.sums.push(Sum {
                slice: slice as u32,
                thread: ThreadId(thread),
                thread_state,
                scheduling,
                time: Nanos(end - at),
                count: 1,
            });
            at = end;
        }
    }

    /// Adds an instance of a region: its length and its threads' useful work, in milliseconds.
    pub(crate) fn instance(&mut self, context: ContextId, thread: u32, length: u64, work: &[u64]) {
        let team = work.len() as u64;
        let longest = work.iter().copied().max().unwrap_or(0);
        self.region_sums.push(RegionSum {
            slice: 0,
            context,
            thread: ThreadId(thread),
            instances: 1,
            elapsed: Nanos(length * MS),
            team: team as u16,
        });
        self.region_works.push(RegionWork {
            slice: 0,
            context,
            thread: ThreadId(thread),
            capacity: Nanos(length * team * MS),
            longest: Nanos(longest * MS),
            mean: Nanos(work.iter().sum::<u64>() * MS / team),
        });
    }

    /// Adds the machine stack of a thread in these functions of the kernel, outermost first.
    pub(crate) fn kernel_stack(&mut self, functions: &[&str]) -> StackId {
        let mut callers = StackId::EMPTY;
        for name in functions {
            let id = self.symbols.functions.len() as u32;
            let address = 0x1000 * u64::from(id + 1);
            self.symbols.functions.push(Function {
                module: ModuleId::KERNEL,
                address,
                size: 0x100,
                linkage: (*name).to_owned(),
                name: (*name).to_owned(),
                source: None,
                outlined: None,
            });
            let module = ModuleId::KERNEL;
            let frame = self.tables.frame(Frame { module, address });
            let frames = &mut self.symbols.frames;
            frames.resize(frames.len().max(frame.index() + 1), FrameSymbol::default());
            frames[frame.index()].function = Some(FunctionId(id));
            let entry = StackEntry::Frame(frame);
            callers = self.tables.stack(Stack { callers, entry });
        }
        callers
    }

    /// Adds a function of a load object.
    pub(crate) fn function(&mut self, module: ModuleId, name: &str) -> FunctionId {
        let id = self.symbols.functions.len() as u32;
        self.symbols.functions.push(Function {
            module,
            address: 0x400,
            size: 0x100,
            linkage: name.to_owned(),
            name: name.to_owned(),
            source: None,
            outlined: None,
        });
        FunctionId(id)
    }

    /// Gives an address a line of the first file.
    pub(crate) fn line(&mut self, frame: FrameId, line: u32) {
        let lines = &mut self.symbols.frames[frame.index()].lines;
        lines.push(InlinedLine {
            function: None,
            source: SourceLine {
                file: FileId(0),
                line,
            },
        });
    }

    /// The display stack of an address alone.
    pub(crate) fn path(&self, profile: &mut Profile, frame: FrameId) -> PathId {
        let function = self.symbols.frame(frame).function;
        let function = function.expect("a frame of a function");
        PathId(profile.paths.intern(Path {
            callers: PathId::EMPTY,
            frame: DisplayFrame {
                callee: Callee::Function(function),
                frame,
                kind: FrameKind::Called,
            },
        }))
    }

    pub(crate) fn names(&self) -> Names<'_> {
        Names {
            tables: &self.tables,
            symbols: &self.symbols,
            style: NameStyle::default(),
        }
    }

    /// Changes the number of instances of one row of [`TestRun::region_sums`].
    pub(crate) fn set_instances(&mut self, row: usize, instances: u32) {
        let mut rows: Vec<RegionSum> = self.region_sums.iter().collect();
        rows[row].instances = instances;
        self.region_sums = rows.into_iter().collect();
    }

    pub(crate) fn measured(&self) -> Measured<'_> {
        Measured {
            duration: Nanos(self.end * MS),
            cpus: Cpus {
                all: self.cpus,
                each: self.cpus,
            },
            asks_to_spin: false,
            is_cut: false,
            has_all_loops: true,
            sums: &self.sums,
            counters: &[],
            region_sums: &self.region_sums,
            region_works: &self.region_works,
            loop_sums: &self.loop_sums,
            lock_sums: &self.lock_sums,
            lock_waits: &self.lock_waits,
            task_sums: &self.task_sums,
        }
    }

    /// The profile in user mode, with blame.
    pub(crate) fn profile(&self) -> Profile {
        self.profile_in(ViewMode::User)
    }

    /// The profile in a mode.
    pub(crate) fn profile_in(&self, mode: ViewMode) -> Profile {
        let header = Header::default();
        let source = Source {
            tables: &self.tables,
            symbols: &self.symbols,
            sums: &self.sums,
            counters: &[],
            blames: &self.blames,
            intervals: &self.intervals,
            header: &header,
        };
        let attribution = Attribution::new(&source, &Samples::default(), Slices::Apart);
        attribution.profile(&source, mode)
    }
}

/// Takes milliseconds of a thread's time on the CPU in a state for the kernel's, at a machine stack.
pub(crate) fn put_into_kernel(
    profile: &mut Profile,
    (thread, state): (u32, RefinedState),
    length: u64,
    stack: StackId,
) {
    let seconds = length as f64 / 1e3;
    let is = |item: &&mut Item| {
        let long = item.seconds >= seconds && !item.kernel && item.is_on_cpu();
        item.thread == ThreadId(thread) && item.state == state && long
    };
    let item = profile.items.iter_mut().find(is).expect("so much time");
    item.seconds -= seconds;
    let part = Item {
        seconds,
        stack,
        kernel: true,
        ..*item
    };
    profile.items.push(part);
}

pub(crate) const ROOT: ContextId = ContextId::ROOT;

/// The rows of its regions.
pub(crate) fn rows(test: &TestRun) -> Vec<RegionRow> {
    regions(&test.profile(), &test.names(), &test.measured())
}

/// Its efficiencies.
pub(crate) fn run(test: &TestRun) -> Run {
    let regions = rows(test);
    efficiency(&test.profile(), &test.tables, &test.measured(), &regions).unwrap()
}

#[track_caller]
pub(crate) fn close(left: f64, right: f64) {
    assert!((left - right).abs() < 1e-9, "{left} is not {right}");
}

/// 100 ms of serial code, then a region of four threads, the first of which works 400 ms and the
/// others 100 ms.
pub(crate) fn unbalanced() -> TestRun {
    let mut test = TestRun::new(4, 500);
    let region = test.construct(ROOT, ContextKind::Region, 0x40);
    test.run(0, State::Serial, ROOT, 100);
    test.run(0, State::Work, region, 400);
    for thread in 1..4 {
        test.run(thread, State::Idle, ROOT, 100);
        test.run(thread, State::Work, region, 100);
        test.run(thread, State::ImplicitBarrier, region, 300);
    }
    test.instance(region, 0, 400, &[400, 100, 100, 100]);
    test
}
