//! Writes an experiment of any size through the real writer, for benchmarks and stress tests:
//!
//! `cargo run --release -p experiment --example generate -- DIR [--samples N] [--threads N]
//! [--regions N] [--stacks N] [--seed N]`
//!
//! The recording is of a program in time steps: every thread is sampled each 997 us and works
//! through the regions in turn, a tenth of its time in their barriers; the first thread has
//! serial time between them. Stacks of a region are drawn so that few are frequent and most are
//! rare, as places in a program are. Memory does not grow with the number of samples.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use experiment::header::{FORMAT_VERSION, Header, Sampling};
use experiment::ids::{ContextId, FrameId, ModuleId, Nanos, ProcessId, StackId, TagId, ThreadId};
use experiment::rows::{SLICE, Sample, SampleKind, Sum, Within};
use experiment::state::{Presence, State};
use experiment::symbols::{
    Construct, FileId, FrameSymbol, Function, FunctionId, InlinedPlace, Outlined, Place,
    SymbolTable,
};
use experiment::tables::{
    Context, ContextKind, Frame, Module, Process, RuntimeKind, Stack, StackEntry, Tables, Tag,
    Thread, ThreadKind,
};
use experiment::{Batch, ExperimentError, Writer};

const USAGE: &str = "usage: generate DIR [--samples N] [--threads N] [--regions N] [--stacks N] \
                     [--seed N]; numbers may end in k or M";

/// Nanoseconds between samples of a thread: what `collect -p hi` asks for.
const PERIOD: u64 = 997_000;

/// Of how many functions each distinct stack is made beyond its region's body.
const DEPTH: u64 = 12;

/// The shape of a recording.
struct Shape {
    samples: u64,
    threads: u32,
    regions: u64,
    /// Distinct stacks of all regions together, by their number on one thread.
    stacks: u64,
    seed: u64,
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let Some((directory, shape)) = parse(&words) else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    match write(&directory, &shape) {
        Ok(bytes) => {
            println!("{} samples in {bytes} bytes", shape.samples);
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("generate: {error}");
            ExitCode::FAILURE
        }
    }
}

fn parse(words: &[String]) -> Option<(PathBuf, Shape)> {
    let (directory, options) = words.split_first()?;
    let mut shape = Shape {
        samples: 1_000_000,
        threads: 8,
        regions: 30,
        stacks: 2_000,
        seed: 1,
    };
    for pair in options.chunks(2) {
        let [option, number] = pair else {
            return None;
        };
        let number = parse_number(number)?;
        match option.as_str() {
            "--samples" => shape.samples = number,
            "--threads" => shape.threads = u32::try_from(number).ok()?.max(1),
            "--regions" => shape.regions = number.max(1),
            "--stacks" => shape.stacks = number.max(1),
            "--seed" => shape.seed = number.max(1),
            _ => return None,
        }
    }
    Some((PathBuf::from(directory), shape))
}

fn parse_number(word: &str) -> Option<u64> {
    let (digits, unit) = match word.strip_suffix('k') {
        Some(digits) => (digits, 1_000),
        None => match word.strip_suffix('M') {
            Some(digits) => (digits, 1_000_000),
            None => (word, 1),
        },
    };
    digits.parse::<u64>().ok()?.checked_mul(unit)
}

fn write(directory: &Path, shape: &Shape) -> Result<u64, ExperimentError> {
    let mut program = Program::new(shape);
    let seconds = (shape.samples * PERIOD / u64::from(shape.threads)).div_ceil(SLICE.0);
    let header = Header {
        format: FORMAT_VERSION,
        writer: "generate".to_owned(),
        command: vec!["./generated".to_owned()],
        duration_ns: seconds * SLICE.0,
        exit_status: Some(0),
        sampling: Sampling {
            event: "cpu-clock".to_owned(),
            period_us: PERIOD as f64 / 1e3,
            switches: true,
            samples: shape.samples,
            ..Sampling::default()
        },
        ..Header::default()
    };
    let mut writer = Writer::create(directory, &header)?;
    let mut noise = Noise(shape.seed);
    let mut left = shape.samples;
    let mut next: Vec<u64> = (0..shape.threads).map(|_| noise.below(PERIOD)).collect();
    let (mut samples, mut sums) = (Vec::new(), Vec::new());
    for slice in 0..seconds as u32 {
        // Half a second a batch, as `collect` writes them.
        for half in 1..=2 {
            samples.clear();
            sums.clear();
            let upto = u64::from(slice) * SLICE.0 + half * SLICE.0 / 2;
            for (thread, next) in (0..).map(ThreadId).zip(&mut next) {
                while *next < upto && left > 0 {
                    samples.push(program.sample(thread, *next, &mut noise));
                    *next += PERIOD - 2_000 + noise.below(4_000);
                    left -= 1;
                }
                if half == 2 {
                    program.sums(slice, thread, &mut sums);
                }
            }
            let batch = Batch {
                samples: &samples,
                sums: &sums,
                ..Batch::default()
            };
            writer.append(&program.tables, &batch)?;
        }
    }
    writer.symbols(&program.symbols)?;
    let bytes = writer.bytes();
    writer.finish(&header)?;
    Ok(bytes)
}

/// xorshift64*: repeatable noise, not good noise.
struct Noise(u64);

impl Noise {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 11) % limit
    }
}

/// Numbers of which the small ones are frequent: 1/x over `0..limit`.
struct Skewed {
    limit: u64,
    /// The inverse of their distribution at even steps.
    steps: Vec<f64>,
}

impl Skewed {
    const STEPS: u64 = 4096;

    fn new(limit: u64) -> Skewed {
        let step = |at: u64| at as f64 / Skewed::STEPS as f64;
        let inverse = |at| (limit as f64 + 1.0).powf(step(at)) - 1.0;
        Skewed {
            limit,
            steps: (0..=Skewed::STEPS).map(inverse).collect(),
        }
    }

    fn draw(&self, noise: &mut Noise) -> u64 {
        let uniform = noise.below(Skewed::STEPS << 20);
        let (step, within) = ((uniform >> 20) as usize, uniform & ((1 << 20) - 1));
        let (low, high) = (self.steps[step], self.steps[step + 1]);
        let value = low + (high - low) * within as f64 / f64::from(1 << 20);
        (value as u64).min(self.limit - 1)
    }
}

/// A region of the program: its tags, and its stacks on the first thread and on the others.
struct Region {
    work: TagId,
    barrier: TagId,
    stacks: [Vec<StackId>; 2],
    waiting: [StackId; 2],
}

struct Program {
    tables: Tables,
    symbols: SymbolTable,
    regions: Vec<Region>,
    /// Of threads in one second, the time of each tag so far, in samples, by the tag's number.
    counts: Vec<Vec<u32>>,
    /// Which of a region's stacks is seen.
    skewed: Skewed,
    serial: (TagId, StackId),
}

impl Program {
    fn new(shape: &Shape) -> Program {
        let mut program = Program {
            tables: Tables::default(),
            symbols: SymbolTable {
                files: vec!["generated.c".to_owned()],
                frames: vec![FrameSymbol::default()],
                ..SymbolTable::default()
            },
            regions: Vec::new(),
            counts: Vec::new(),
            skewed: Skewed::new(shape.stacks.div_ceil(shape.regions)),
            serial: (TagId::OUTSIDE, StackId::EMPTY),
        };
        program.threads(shape.threads);
        let own = program.module("/generated", RuntimeKind::None);
        let runtime = program.module("/libomp.so", RuntimeKind::Kmp);
        let libc = program.module("/libc.so.6", RuntimeKind::None);
        let start = program.code(libc, "_start", 1);
        let main = program.code(own, "main", 1);
        let clone = program.code(libc, "clone3", 1);
        let launch = program.code(runtime, "__kmp_launch_worker", 1);
        let fork = program.code(runtime, "__kmp_fork_call", 1);
        let barrier = program.code(runtime, "__kmp_join_barrier", 1);
        let bottom = program.stack(StackId::EMPTY, start[0]);
        let bottom = program.stack(bottom, main[0]);
        let pool = program.stack(StackId::EMPTY, clone[0]);
        let pool = program.stack(pool, launch[0]);
        let serial = Tag {
            state: State::Serial,
            context: ContextId::ROOT,
            place: FrameId::NONE,
        };
        program.serial = (program.tables.tag(serial), bottom);
        let each = shape.stacks.div_ceil(shape.regions);
        for number in 0..shape.regions {
            let holder = program.code(own, &format!("step_{number}"), 1);
            let body = program.code(own, &format!("step_{number}.omp_outlined"), 4);
            program.outlined(body[0], number);
            let site = program.stack(bottom, holder[0]);
            let context = program.tables.context(Context {
                parent: ContextId::ROOT,
                kind: ContextKind::Region,
                stack: site,
                body: FrameId::NONE,
            });
            let mut tag = |state| {
                program.tables.tag(Tag {
                    state,
                    context,
                    place: FrameId::NONE,
                })
            };
            let (work, waits) = (tag(State::Work), tag(State::ImplicitBarrier));
            let forked = program.stack(site, fork[0]);
            let bases = [forked, pool];
            let waiting = bases.map(|base| program.stack(base, barrier[0]));
            let functions: Vec<Vec<FrameId>> = (0..DEPTH)
                .map(|level| program.code(own, &format!("kernel_{number}_{level}"), 16))
                .collect();
            let stacks = bases.map(|base| {
                let base = program.stack(base, body[0]);
                (0..each)
                    .map(|which| program.distinct(base, &functions, which))
                    .collect()
            });
            program.regions.push(Region {
                work,
                barrier: waits,
                stacks,
                waiting,
            });
        }
        program.counts = vec![vec![0; program.tables.tags.len()]; shape.threads as usize];
        program
    }

    fn threads(&mut self, threads: u32) {
        self.tables.processes.push(Process {
            pid: 4000,
            parent: None,
            name: "generated".to_owned(),
            executable: "/generated".to_owned(),
        });
        for number in 0..threads {
            self.tables.threads.push(Thread {
                process: ProcessId(0),
                tid: 4000 + number as i32,
                birth: Nanos(0),
                death: None,
                kind: match number {
                    0 => ThreadKind::Initial,
                    _ => ThreadKind::Worker,
                },
            });
        }
    }

    fn module(&mut self, path: &str, runtime: RuntimeKind) -> ModuleId {
        self.tables.module(Module {
            path: path.to_owned(),
            build_id: String::new(),
            runtime,
        })
    }

    /// A function, and the frames of so many of its instructions.
    fn code(&mut self, module: ModuleId, name: &str, instructions: u64) -> Vec<FrameId> {
        let id = FunctionId(self.symbols.functions.len() as u32);
        let address = 0x1000 + 0x1000 * u64::from(id.0);
        let line = 10 + 100 * id.0;
        let place = |line| Place {
            file: FileId(0),
            line,
        };
        self.symbols.functions.push(Function {
            module,
            address,
            size: 0x1000,
            linkage: name.to_owned(),
            name: name.to_owned(),
            place: Some(place(line)),
            outlined: None,
        });
        (0..instructions)
            .map(|at| {
                self.symbols.frames.push(FrameSymbol {
                    function: Some(id),
                    places: vec![InlinedPlace {
                        function: Some(name.to_owned()),
                        place: place(line + at as u32),
                    }],
                });
                self.tables.frame(Frame {
                    module,
                    address: address + 0x10 * at,
                })
            })
            .collect()
    }

    fn outlined(&mut self, body: FrameId, number: u64) {
        let function = self.symbols.frame(body).function;
        let function = function.and_then(|id| self.symbols.functions.get_mut(id.0 as usize));
        if let Some(function) = function {
            function.outlined = Some(Outlined {
                construct: Construct::Parallel,
                parent: Some(format!("step_{number}")),
                line: function.place.map(|place| place.line),
            });
        }
    }

    fn stack(&mut self, callers: StackId, frame: FrameId) -> StackId {
        self.tables.stack(Stack {
            callers,
            entry: StackEntry::Frame(frame),
        })
    }

    /// The `which`-th way through a region's functions: each digit of the number, to the base of
    /// the instructions of a function, is an instruction, the leaf's first.
    fn distinct(&mut self, base: StackId, functions: &[Vec<FrameId>], which: u64) -> StackId {
        let mut rest = which;
        let mut path = Vec::new();
        for function in functions.iter().rev() {
            path.push(function[(rest % function.len() as u64) as usize]);
            rest /= function.len() as u64;
        }
        let mut stack = base;
        for frame in path.into_iter().rev() {
            stack = self.stack(stack, frame);
        }
        stack
    }

    /// What a thread is seen at.
    fn sample(&mut self, thread: ThreadId, time: u64, noise: &mut Noise) -> Sample {
        // Twenty milliseconds a region, so that neighbouring samples are alike.
        let region = &self.regions[(time / 20_000_000) as usize % self.regions.len()];
        let side = usize::from(thread.0 > 0);
        let (tag, stack) = match noise.below(100) {
            0..10 => (region.barrier, region.waiting[side]),
            10..13 if side == 0 => self.serial,
            _ => {
                let stacks = &region.stacks[side];
                (region.work, stacks[self.skewed.draw(noise) as usize])
            }
        };
        self.counts[thread.index()][tag.index()] += 1;
        Sample {
            time: Nanos(time),
            thread,
            cpu: (thread.0 % 64) as u16,
            kind: match noise.below(50) {
                0 => SampleKind::Kernel,
                _ => SampleKind::User,
            },
            stack,
            tag,
            // Some 70,000 regions a second, as a program of short loops has them.
            within: Within {
                region: match tag == self.serial.0 {
                    true => 0,
                    false => 1 + time / 14_286 + noise.below(4),
                },
                task: 0,
            },
        }
    }

    /// A thread's second, divided as its samples were.
    fn sums(&mut self, slice: u32, thread: ThreadId, sums: &mut Vec<Sum>) {
        let counts = &mut self.counts[thread.index()];
        let all: u64 = counts.iter().map(|count| u64::from(*count)).sum();
        for (tag, count) in (0..).map(TagId).zip(counts) {
            let count = std::mem::take(count);
            if count == 0 {
                continue;
            }
            sums.push(Sum {
                slice,
                thread,
                tag,
                presence: Presence::Running,
                time: Nanos(SLICE.0 * u64::from(count) / all),
                count,
            });
        }
    }
}
