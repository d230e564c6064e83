//! Random recordings with the properties of real ones: two threads sampled at 1 kHz with the
//! timer's jitter, stacks that recur, states that follow each other, sums for each region and state
//! in every second.

use std::fs;
use std::path::Path;

use experiment::header::{Counter, FORMAT_VERSION, Header};
use experiment::ids::*;
use experiment::rows::*;
use experiment::state::{Scheduling, State};
use experiment::symbols::Barrier;
use experiment::symbols::*;
use experiment::tables::*;
use experiment::{Batch, Writer};
use fastrand::Rng;

use crate::noise::{normal, skewed};

/// A recording before it is written. Each kind of rows is a list of batches.
#[derive(Debug, Default)]
pub struct Recording {
    /// The header.
    pub header: Header,
    /// The tables at the end.
    pub tables: Tables,
    /// The tables at each batch.
    tables_at: Vec<Tables>,
    /// By batch.
    pub samples: Vec<Vec<Sample>>,
    /// By batch, then by counter.
    pub counters: Vec<Vec<Vec<Sample>>>,
    /// By batch.
    pub sums: Vec<Vec<Sum>>,
    /// By batch.
    pub blames: Vec<Vec<Blame>>,
    /// By batch.
    pub intervals: Vec<Vec<Interval>>,
    /// By batch.
    pub region_sums: Vec<Vec<RegionSum>>,
    /// By batch.
    pub region_works: Vec<Vec<RegionWork>>,
    /// By batch.
    pub region_spans: Vec<Vec<RegionSpan>>,
    /// By batch.
    pub task_sums: Vec<Vec<TaskSum>>,
    /// By batch.
    pub task_spans: Vec<Vec<TaskSpan>>,
    /// Worksharing loops.
    pub loop_sums: Vec<Vec<LoopSum>>,
    /// Mutexes.
    pub lock_sums: Vec<Vec<LockSum>>,
    /// Who waited for whom.
    pub lock_waits: Vec<Vec<LockWait>>,
    /// By batch.
    pub mpi_calls: Vec<Vec<MpiCall>>,
    /// By batch.
    pub mpi_messages: Vec<Vec<MpiMessage>>,
    /// By batch.
    pub cpu_uses: Vec<Vec<CpuUse>>,
    /// By batch.
    pub spans: Vec<Vec<Span>>,
    /// By batch.
    pub phase_sums: Vec<Vec<PhaseSum>>,
    /// By batch.
    pub sample_points: Vec<Vec<SamplePoint>>,
    /// Symbols of some frames.
    pub symbols: SymbolTable,
}

const REGIONS: u64 = 30;

const STATES: [State; 6] = [
    State::Work,
    State::Work,
    State::Work,
    State::ImplicitBarrier,
    State::Overhead,
    State::Critical,
];

impl Recording {
    /// A recording of two threads at 1 kHz, with a batch for each second.
    #[must_use]
    pub fn generate(seed: u64, seconds: u32) -> Recording {
        Generator::new(seed).run(seconds, 1000)
    }

    /// A recording so small that a test can cut it at every byte.
    #[must_use]
    pub fn small(seed: u64) -> Recording {
        Generator::new(seed).run(2, 10)
    }

    /// Removes all rows, and keeps the tables.
    pub fn forget_rows(&mut self) {
        self.samples.iter_mut().for_each(Vec::clear);
        let counters = self.counters.iter_mut().flatten();
        counters.for_each(Vec::clear);
        self.sums.iter_mut().for_each(Vec::clear);
        self.blames.iter_mut().for_each(Vec::clear);
        self.intervals.iter_mut().for_each(Vec::clear);
        self.region_sums.iter_mut().for_each(Vec::clear);
        self.region_works.iter_mut().for_each(Vec::clear);
        self.region_spans.iter_mut().for_each(Vec::clear);
        self.task_sums.iter_mut().for_each(Vec::clear);
        self.task_spans.iter_mut().for_each(Vec::clear);
        self.loop_sums.iter_mut().for_each(Vec::clear);
        self.lock_sums.iter_mut().for_each(Vec::clear);
        self.lock_waits.iter_mut().for_each(Vec::clear);
        self.mpi_calls.iter_mut().for_each(Vec::clear);
        self.mpi_messages.iter_mut().for_each(Vec::clear);
        self.cpu_uses.iter_mut().for_each(Vec::clear);
        self.spans.iter_mut().for_each(Vec::clear);
        self.phase_sums.iter_mut().for_each(Vec::clear);
        self.sample_points.iter_mut().for_each(Vec::clear);
    }

    /// Creates the experiment, without rows.
    ///
    /// # Panics
    /// If the experiment cannot be created.
    pub fn begin(&self, path: &Path) -> Writer {
        Writer::create(path, &self.header).unwrap()
    }

    /// Writes a batch.
    ///
    /// # Panics
    /// When it cannot be written.
    pub fn append(&self, writer: &mut Writer, at: usize) {
        let batch = Batch {
            samples: &self.samples[at],
            counters: &self.counters[at],
            sums: &self.sums[at],
            blames: &self.blames[at],
            intervals: &self.intervals[at],
            region_sums: &self.region_sums[at],
            region_works: &self.region_works[at],
            region_spans: &self.region_spans[at],
            task_sums: &self.task_sums[at],
            task_spans: &self.task_spans[at],
            loop_sums: &self.loop_sums[at],
            lock_sums: &self.lock_sums[at],
            lock_waits: &self.lock_waits[at],
            mpi_calls: &self.mpi_calls[at],
            mpi_messages: &self.mpi_messages[at],
            cpu_uses: &self.cpu_uses[at],
            spans: &self.spans[at],
            phase_sums: &self.phase_sums[at],
            sample_points: &self.sample_points[at],
        };
        writer.append(&self.tables_at[at], &batch).unwrap();
    }

    /// Writes all of it and returns the length of the record file.
    ///
    /// # Panics
    /// When it cannot be written.
    pub fn write(&self, path: &Path, symbols: bool) -> u64 {
        let mut writer = self.begin(path);
        for at in 0..self.samples.len() {
            self.append(&mut writer, at);
        }
        if symbols {
            writer.symbols(&self.symbols).unwrap();
        }
        writer.finish(&self.header).unwrap();
        fs::metadata(path.join("records")).unwrap().len()
    }
}

/// Checks that two sets of tables are equal.
///
/// # Panics
/// If they differ.
pub fn assert_same_tables(read: &Tables, written: &Tables) {
    assert_eq!(read.processes, written.processes);
    assert_eq!(read.threads, written.threads);
    assert_eq!(read.modules.rows(), written.modules.rows());
    assert_eq!(read.frames.rows(), written.frames.rows());
    assert_eq!(read.stacks.rows(), written.stacks.rows());
    assert_eq!(read.contexts.rows(), written.contexts.rows());
    assert_eq!(read.thread_states.rows(), written.thread_states.rows());
    assert_eq!(read.loops.rows(), written.loops.rows());
    assert_eq!(read.locks.rows(), written.locks.rows());
}

fn region_work(sum: &RegionSum) -> RegionWork {
    RegionWork {
        slice: sum.slice,
        context: sum.context,
        thread: sum.thread,
        capacity: Nanos(2 * sum.elapsed.0),
        longest: Nanos(sum.elapsed.0 * 7 / 8),
        mean: Nanos(sum.elapsed.0 / 2),
    }
}

fn task_sum(sum: &RegionSum) -> TaskSum {
    TaskSum {
        slice: sum.slice,
        context: sum.context,
        thread: sum.thread,
        instances: sum.instances,
        unfinished: 0,
        elsewhere: sum.instances / 3,
        work: sum.elapsed,
        least: Nanos(7),
        most: sum.elapsed,
        // Beyond 64 bits in one row of two.
        squares: u128::from(sum.elapsed.0) << (64 * (sum.context.0 % 2)),
    }
}

/// Number of mutexes in the tables.
const LOCKS: u32 = 4;

fn lock_sum(sum: &RegionSum) -> LockSum {
    let acquisitions = u64::from(sum.instances) * 30;
    LockSum {
        slice: sum.slice,
        thread: sum.thread,
        lock: LockId(sum.context.0.min(LOCKS - 1)),
        call: FrameId(sum.context.0),
        acquisitions,
        contended: acquisitions / 9,
        wait: Nanos(sum.elapsed.0 / 11),
        held: Nanos(sum.elapsed.0 / 13),
        longest: Nanos(sum.elapsed.0 / 500),
    }
}

fn lock_wait(sum: &LockSum) -> LockWait {
    LockWait {
        lock: sum.lock,
        waiter: sum.call,
        holder: FrameId(sum.call.0 + 1),
        count: sum.contended,
        time: sum.wait,
    }
}

fn mpi_call(span: &RegionSpan) -> MpiCall {
    MpiCall {
        thread: span.thread,
        start: span.start,
        length: span.length,
        count: 1 + span.context.0 % 5,
        function: span.context.0 as u16,
        call: FrameId(span.context.0),
        comm: u32::MAX - span.context.0,
        peer: span.context.0 % 3,
        object: ObjectId::NONE,
        sent: span.length.0 * 8,
        received: span.start.0,
    }
}

fn mpi_message(call: &MpiCall) -> MpiMessage {
    let is_sent = call.function.is_multiple_of(2);
    MpiMessage {
        thread: call.thread,
        end: if is_sent {
            MessageEnd::Sent
        } else {
            MessageEnd::Received
        },
        posted: call.start,
        length: if call.peer == 0 {
            MpiMessage::NEVER
        } else {
            call.length
        },
        peer: call.peer,
        tag: u32::from(call.function) << 16,
        comm: call.comm,
        bytes: call.sent,
    }
}

/// Number of loops in the tables.
const LOOPS: u32 = 3;

fn loop_sum(sum: &RegionSum) -> LoopSum {
    let chunks = u64::from(sum.instances) * 8;
    LoopSum {
        slice: sum.slice,
        thread: sum.thread,
        construct: LoopId(sum.context.0.min(LOOPS - 1)),
        chunk: 16,
        instances: u64::from(sum.instances),
        iterations: chunks * 16,
        chunks,
        time: sum.elapsed,
        calls_time: Nanos(sum.elapsed.0 / 100),
        calls: chunks / 13,
    }
}

fn task_span(span: &RegionSpan) -> TaskSpan {
    TaskSpan {
        context: span.context,
        thread: ThreadId(1),
        start: Nanos(span.start.0 + 1_000_300),
        length: Nanos(2_000_900),
        within: Within {
            region: 7,
            task: 1 << 33 | u64::from(span.team),
        },
    }
}

fn blame(sum: &Sum) -> Blame {
    Blame {
        slice: sum.slice,
        thread: sum.thread,
        thread_state: sum.thread_state,
        scheduling: sum.scheduling,
        time: Nanos(sum.time.0 / 3),
    }
}

struct Generator {
    random: Rng,
    tables: Tables,
    contexts: Vec<ContextId>,
}

impl Generator {
    fn new(seed: u64) -> Generator {
        let mut tables = Tables::default();
        let program = tables.module(Module {
            path: "/home/someone/program".to_owned(),
            build_id: "0123456789abcdef0123456789abcdef01234567".to_owned(),
            runtime: RuntimeKind::None,
        });
        tables.module(Module {
            path: "/usr/lib/libomp.so.5".to_owned(),
            build_id: String::new(),
            runtime: RuntimeKind::Kmp,
        });
        tables.processes.push(Process {
            pid: 4_000_000,
            parent: None,
            name: "collect".to_owned(),
            executable: "/usr/bin/collect".to_owned(),
        });
        for tid in [4_000_000, 4_000_003] {
            tables.threads.push(Thread {
                process: ProcessId(0),
                tid,
                name: NameId::NONE,
                birth: Nanos(1_234_567),
                death: None,
                kind: ThreadKind::Outside,
            });
        }
        let mut generator = Generator {
            random: Rng::with_seed(seed),
            tables,
            contexts: Vec::new(),
        };
        for region in 0..REGIONS {
            let frame = generator.tables.frame(Frame {
                module: program,
                address: 0x40_1000 + region * 0x180,
            });
            let stack = generator.tables.stack(Stack {
                callers: StackId::EMPTY,
                entry: StackEntry::Frame(frame),
            });
            let context = generator.tables.context(Context {
                parent: ContextId::ROOT,
                kind: ContextKind::Region,
                stack,
                python: StackId::EMPTY,
                body: frame,
            });
            generator.contexts.push(context);
        }
        generator
    }

    /// One of a region's 300 stacks, some of them favourites: common prefix, a few levels of
    /// calls, a leaf address within the innermost function.
    /// The leaf mostly goes with a state: code of the program works, a barrier's code waits.
    fn stack(&mut self, region: u64) -> (StackId, State) {
        let mut stack = StackId((region + 1) as u32);
        let path = region * 1000 + skewed(&mut self.random, 300);
        let mut path = Rng::with_seed(path);
        let state = match self.random.u64(..10) {
            0 => STATES[self.random.u64(..6) as usize],
            _ => STATES[skewed(&mut path, 6) as usize],
        };
        let depth = 1 + skewed(&mut path, 6);
        for level in 0..depth {
            let function = skewed(&mut path, 8);
            let offset = if level + 1 == depth {
                skewed(&mut path, 60) * 4
            } else {
                0x3c
            };
            let module = ModuleId(2 + u32::from(function == 7));
            let frame = self.tables.frame(Frame {
                module,
                address: 0x40_8000 + (region % 10) * 0x1000 + function * 0x140 + offset,
            });
            stack = self.tables.stack(Stack {
                callers: stack,
                entry: StackEntry::Frame(frame),
            });
        }
        (stack, state)
    }

    fn thread_state(&mut self, region: u64, state: State) -> ThreadStateId {
        let call = match state {
            State::Work | State::Overhead => FrameId::NONE,
            _ => FrameId((region % 7) as u32),
        };
        self.tables.thread_state(ThreadState {
            state,
            context: self.contexts[region as usize],
            call,
        })
    }

    fn run(mut self, seconds: u32, rate: u64) -> Recording {
        let mut recording = Recording {
            header: Header {
                format: FORMAT_VERSION,
                writer: "test".to_owned(),
                command: vec!["./program".to_owned(), "-n".to_owned()],
                duration_ns: u64::from(seconds) * 1_000_000_000,
                exit_status: Some(0),
                counters: vec![Counter {
                    name: "page-faults".to_owned(),
                    interval: 11,
                    counted: 1.0,
                    ..Counter::default()
                }],
                ..Header::default()
            },
            ..Recording::default()
        };
        for frame in 0..LOOPS {
            self.tables.loop_id(Loop {
                call: FrameId(frame),
                schedule: Schedule::Dynamic,
                clause: LoopClause::Plain,
            });
        }
        for at in 0..LOCKS {
            self.tables.lock(Lock {
                process: ProcessId(0),
                kind: Mutex::ALL[at as usize],
                address: u64::from(at) * 64,
                variable: FrameId(at),
                init: FrameId::NONE,
            });
        }
        for second in 0..seconds {
            if second == 1 {
                self.tables.processes[0].name = "program".to_owned();
                self.tables.threads[1].kind = ThreadKind::Worker;
            }
            if second + 1 == seconds {
                self.tables.threads[1].death = Some(Nanos(u64::from(seconds) * SLICE.0));
            }
            let samples = self.samples(second, rate);
            let on_cpu = |sample: &&Sample| sample.kind.scheduling() == Scheduling::Running;
            let faults: Vec<Sample> = samples.iter().filter(on_cpu).step_by(9).copied().collect();
            recording.header.counters[0].samples += faults.len() as u64;
            recording.counters.push(vec![faults]);
            recording.samples.push(samples);
            recording.sums.push(self.sums(second, rate));
            let (sums, spans) = self.regions(second);
            let works = sums.iter().map(region_work);
            recording.region_works.push(works.collect());
            // Few constructs are tasks.
            let tasks = sums.iter().step_by(10).map(task_sum);
            recording.task_sums.push(tasks.collect());
            recording
                .loop_sums
                .push(sums.iter().step_by(7).map(loop_sum).collect());
            let held: Vec<LockSum> = sums.iter().step_by(5).map(lock_sum).collect();
            let waits = held.iter().step_by(3).map(lock_wait);
            recording.lock_waits.push(waits.collect());
            recording.lock_sums.push(held);
            let pieces = spans.iter().map(task_span);
            recording.task_spans.push(pieces.collect());
            let calls: Vec<MpiCall> = spans.iter().step_by(4).map(mpi_call).collect();
            let messages = calls.iter().step_by(2).map(mpi_message);
            recording.mpi_messages.push(messages.collect());
            recording.mpi_calls.push(calls);
            let uses = sums.iter().map(|sum| CpuUse {
                thread: sum.thread,
                cpu: (second % 8) as u16,
                migrations: 1,
                voluntary: u64::from(sum.instances),
                involuntary: 2,
                minor_faults: sum.elapsed.0 / 1_000,
                major_faults: 0,
            });
            recording.cpu_uses.push(uses.take(1).collect());
            self.marks(&mut recording, second);
            recording.region_sums.push(sums);
            recording.region_spans.push(spans);
            let sums = recording.sums[second as usize].iter();
            let blames = sums.step_by(20).map(blame).collect();
            recording.blames.push(blames);
            recording.intervals.push(self.intervals(second));
            recording.tables_at.push(self.tables.clone());
        }
        let faults = &mut recording.header.counters[0];
        faults.events = 12 * faults.samples;
        recording.symbols = self.symbols(rate.min(100) as u32);
        recording.tables = self.tables;
        recording
    }

    /// A phase within another, a pause and a sample point of this second.
    fn marks(&mut self, recording: &mut Recording, second: u32) {
        let name = self.tables.name(format!("step {}", second % 3));
        let outer = self.tables.phase(Phase {
            parent: PhaseId::NONE,
            name,
        });
        let phase = self.tables.phase(Phase {
            parent: outer,
            name,
        });
        let at = |nanos: u64| Nanos(u64::from(second) * SLICE.0 + nanos);
        let span = |kind, phase, start, length| Span {
            process: ProcessId(0),
            kind,
            phase,
            start: at(start),
            length: Nanos(length),
        };
        recording.spans.push(vec![
            span(SpanKind::Phase, outer, 1, 999_999),
            span(SpanKind::OpenPhase, phase, 7, 500),
            span(SpanKind::Pause, PhaseId::NONE, 2_000_000, 3),
        ]);
        recording.phase_sums.push(vec![PhaseSum {
            slice: second,
            thread: ThreadId(0),
            phase,
            state: State::Work,
            scheduling: Scheduling::Running,
            time: Nanos(500),
        }]);
        recording.sample_points.push(vec![SamplePoint {
            time: at(5_000_000),
            process: ProcessId(0),
            kind: PointKind::Call,
            name,
            user: at(3),
            system: Nanos(4),
            minor_faults: 17,
            major_faults: u64::from(second),
        }]);
    }

    fn samples(&mut self, second: u32, rate: u64) -> Vec<Sample> {
        let mut samples = Vec::new();
        for thread in 0..2_u32 {
            let mut region = 0;
            for tick in 0..rate {
                // A region lasts some ticks; a tick falls into a state of it by chance.
                if self.random.u64(..8) == 0 {
                    region = skewed(&mut self.random, REGIONS);
                }
                let (stack, state) = self.stack(region);
                let jitter = normal(&mut self.random, JITTER_NS) + 20_000.0;
                let outlier = match self.random.u64(..200) {
                    0 => self.random.u64(..900_000),
                    _ => 0,
                };
                let step = SLICE.0 / rate;
                samples.push(Sample {
                    time: Nanos(
                        u64::from(second) * SLICE.0 + tick * step + jitter as u64 + outlier,
                    ),
                    thread: ThreadId(thread),
                    cpu: match self.random.u64(..300) {
                        0 => 1 - thread as u16,
                        _ => thread as u16,
                    },
                    kind: match self.random.u64(..40) {
                        0 => SampleKind::Kernel,
                        1 => SampleKind::Blocked,
                        _ => SampleKind::User,
                    },
                    stack,
                    thread_state: self.thread_state(region, state),
                    within: Within {
                        region: match region % 9 {
                            0 => 0,
                            _ => {
                                let whole = u64::from(second) * 70_000 + tick * 70_000 / rate;
                                1 + whole + self.random.u64(..8)
                            }
                        },
                        // One of a few tasks that were created together.
                        task: match region % 20 {
                            0 => 1 + u64::from(second) * 900 + tick * 900 / rate,
                            _ => 0,
                        },
                    },
                });
            }
        }
        samples.sort_by_key(|sample| sample.time);
        samples
    }

    /// Sums of each region, in several states on each thread, on and off the CPU.
    fn sums(&mut self, slice: u32, rate: u64) -> Vec<Sum> {
        let mut sums = Vec::new();
        for thread in 0..2 {
            for region in 0..REGIONS.min(rate) {
                for state in [
                    State::Work,
                    State::Overhead,
                    State::ImplicitBarrier,
                    State::Critical,
                ] {
                    let thread_state = self.thread_state(region, state);
                    let mut schedulings = vec![Scheduling::Running];
                    if self.random.u64(..4) == 0 {
                        schedulings.push(Scheduling::Blocked);
                    }
                    for scheduling in schedulings {
                        sums.push(Sum {
                            slice,
                            thread: ThreadId(thread),
                            thread_state,
                            scheduling,
                            time: Nanos(
                                1 << (12 + self.random.u64(..12)) | self.random.u64(..4096),
                            ),
                            count: 1 + skewed(&mut self.random, 3000) as u32,
                        });
                    }
                }
            }
        }
        sums
    }

    fn intervals(&mut self, second: u32) -> Vec<Interval> {
        let mut intervals = Vec::new();
        for thread in 0..2 {
            for at in 0..5 {
                let region = skewed(&mut self.random, REGIONS);
                intervals.push(Interval {
                    thread: ThreadId(thread),
                    start: Nanos(u64::from(second) * SLICE.0 + at * 100_000_000),
                    length: Nanos(1_000_000 + self.random.u64(..90_000) * 1_000),
                    thread_state: self.thread_state(region, State::ImplicitBarrier),
                    scheduling: Scheduling::Blocked,
                    within: Within {
                        region: 1 + u64::from(second) * 70_000 + self.random.u64(..70_000),
                        task: self.random.u64(..3),
                    },
                });
            }
        }
        intervals
    }

    fn regions(&mut self, slice: u32) -> (Vec<RegionSum>, Vec<RegionSpan>) {
        let sums = self.contexts.iter().map(|&context| RegionSum {
            slice,
            context,
            thread: ThreadId(0),
            instances: 1 + skewed(&mut self.random, 3000) as u32,
            elapsed: Nanos(1 << (14 + self.random.u64(..10)) | self.random.u64(..4096)),
            team: 2,
        });
        let spans = vec![RegionSpan {
            context: self.contexts[3],
            thread: ThreadId(0),
            start: Nanos(u64::from(slice) * SLICE.0 + 1_777),
            length: Nanos(33_000_500),
            team: 2,
            within: Within {
                region: 70 * u64::from(slice) + 3,
                task: 1,
            },
        }];
        (sums.collect(), spans)
    }

    fn symbols(&mut self, functions: u32) -> SymbolTable {
        let mut symbols = SymbolTable {
            files: vec!["/home/someone/solver.cpp".to_owned(), "mesh.h".to_owned()],
            misses: vec![(ModuleId(3), "its file is gone".to_owned())],
            barriers: vec![
                (FrameId(1), Barrier::Explicit),
                (FrameId(2), Barrier::Unknown),
                (FrameId(4), Barrier::Implicit),
            ],
            ..SymbolTable::default()
        };
        for function in 0..functions {
            let name = format!("Solver<{}>::step(double*, int)", function / 3);
            symbols.functions.push(Function {
                module: ModuleId(2),
                address: 0x40_8000 + u64::from(function) * 0x140,
                size: 0x140,
                linkage: format!("_ZN6SolverILi{}EE4stepEPdi", function / 3),
                source: (function % 5 != 0).then_some(SourceLine {
                    file: FileId(function % 2),
                    line: 10 + 17 * function,
                }),
                outlined: (function % 4 == 0).then(|| Outlined {
                    construct: [Construct::Parallel, Construct::Task][function as usize / 4 % 2],
                    parent: (function % 8 == 0).then(|| name.clone()),
                    line: (function % 3 == 0).then_some(9),
                }),
                name,
            });
        }
        for frame in 0..(self.tables.frames.len() as u32).min(20 * functions) {
            let lines = (0..frame % 3).map(|depth| InlinedLine {
                function: (frame % 4 != 0).then(|| format!("inlined_{}", frame % 11)),
                source: SourceLine {
                    file: FileId(depth % 2),
                    line: frame + depth,
                },
            });
            symbols.frames.push(FrameSymbol {
                function: (frame % 6 != 0).then_some(FunctionId(frame % functions)),
                lines: lines.collect(),
            });
        }
        symbols
    }
}

/// Standard deviation of the sampling timer's interrupt around its due time, on a virtual machine.
pub const JITTER_NS: f64 = 2_500.0;
