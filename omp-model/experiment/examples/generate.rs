//! Writes an experiment of any size through the real writer, for benchmarks and stress tests:
//!
//! `cargo run --release -p experiment --example generate -- DIR [--samples N] [--threads N]
//! [--regions N] [--stacks N] [--seed N]`
//!
//! The recording is of a program in time steps: every thread is sampled each 997 us and works
//! through the regions in turn, a tenth of its time in their barriers; the first thread has
//! serial time between them. Stacks of a region are drawn so that few are frequent and most are
//! rare, as in real programs. Memory does not grow with the number of samples.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use experiment::header::{FORMAT_VERSION, Header, Sampling};
use experiment::ids::{ContextId, FrameId, ModuleId, Nanos, StackId, ThreadId, ThreadStateId};
use experiment::rows::{SLICE, Sample, SampleKind, Sum, Within};
use experiment::state::{Scheduling, State};
use experiment::symbols::Construct;
use experiment::tables::{ContextKind, RuntimeKind, ThreadKind};
use experiment::{Batch, ExperimentError, Writer};
use fastrand::Rng;
use test_support::{Builder, skewed};

const USAGE: &str = "usage: generate DIR [--samples N] [--threads N] [--regions N] [--stacks N] \
                     [--seed N]; numbers may end in k or M";

/// Nanoseconds between samples of a thread: what `collect -p hi` asks for.
const PERIOD: u64 = 997_000;

/// The number of functions in each distinct stack beyond its region's body.
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
            "--seed" => shape.seed = number,
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
    let mut random = Rng::with_seed(shape.seed);
    let mut left = shape.samples;
    let mut next: Vec<u64> = (0..shape.threads).map(|_| random.u64(..PERIOD)).collect();
    let (mut samples, mut sums) = (Vec::new(), Vec::new());
    for slice in 0..seconds as u32 {
        // Half a second a batch, as `collect` writes them.
        for half in 1..=2 {
            samples.clear();
            sums.clear();
            let upto = u64::from(slice) * SLICE.0 + half * SLICE.0 / 2;
            for (thread, next) in (0..).map(ThreadId).zip(&mut next) {
                while *next < upto && left > 0 {
                    samples.push(program.sample(thread, *next, &mut random));
                    *next += PERIOD - 2_000 + random.u64(..4_000);
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
            writer.append(&program.make.tables, &batch)?;
        }
    }
    writer.symbols(&program.make.symbols)?;
    let bytes = writer.bytes();
    writer.finish(&header)?;
    Ok(bytes)
}

/// A region: its thread states, and its stacks on the first thread and on the others.
struct Region {
    work: ThreadStateId,
    barrier: ThreadStateId,
    stacks: [Vec<StackId>; 2],
    waiting: [StackId; 2],
}

struct Program {
    make: Builder,
    regions: Vec<Region>,
    /// Samples in the current second, by thread and thread state.
    counts: Vec<Vec<u32>>,
    serial: (ThreadStateId, StackId),
}

impl Program {
    fn new(shape: &Shape) -> Program {
        let mut program = Program {
            make: Builder::new(&["./generated"], "generated.c"),
            regions: Vec::new(),
            counts: Vec::new(),
            serial: (ThreadStateId::OUTSIDE, StackId::EMPTY),
        };
        program.make.process(4000, "generated", "/generated");
        for number in 0..shape.threads {
            let kind = match number {
                0 => ThreadKind::Initial,
                _ => ThreadKind::Worker,
            };
            program.make.thread(4000 + number as i32, kind);
        }
        let own = program.make.module("/generated", RuntimeKind::None);
        let runtime = program.make.module("/libomp.so", RuntimeKind::Kmp);
        let libc = program.make.module("/libc.so.6", RuntimeKind::None);
        let start = program.code(libc, "_start", 1);
        let main = program.code(own, "main", 1);
        let clone = program.code(libc, "clone3", 1);
        let launch = program.code(runtime, "__kmp_launch_worker", 1);
        let fork = program.code(runtime, "__kmp_fork_call", 1);
        let barrier = program.code(runtime, "__kmp_join_barrier", 1);
        let bottom = program.make.stack(&[main[0], start[0]]);
        let pool = program.make.stack(&[launch[0], clone[0]]);
        let serial = program.make.thread_state(State::Serial, ContextId::ROOT);
        program.serial = (serial, bottom);
        let each = shape.stacks.div_ceil(shape.regions);
        for number in 0..shape.regions {
            let holder = program.code(own, &format!("step_{number}"), 1);
            let body = program.code(own, &format!("step_{number}.omp_outlined"), 4);
            let make = &mut program.make;
            let parent = format!("step_{number}");
            make.outlined(body[0], Construct::Parallel, &parent, 9);
            let site = make.call(bottom, holder[0]);
            let context = make.context(ContextId::ROOT, ContextKind::Region, site);
            let work = make.thread_state(State::Work, context);
            let waits = make.thread_state(State::ImplicitBarrier, context);
            let forked = make.call(site, fork[0]);
            let bases = [forked, pool];
            let waiting = bases.map(|base| make.call(base, barrier[0]));
            let functions: Vec<Vec<FrameId>> = (0..DEPTH)
                .map(|level| program.code(own, &format!("kernel_{number}_{level}"), 16))
                .collect();
            let stacks = bases.map(|base| {
                let base = program.make.call(base, body[0]);
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
        program.counts =
            vec![vec![0; program.make.tables.thread_states.len()]; shape.threads as usize];
        program
    }

    /// A function with `instructions` frames.
    fn code(&mut self, module: ModuleId, name: &str, instructions: u32) -> Vec<FrameId> {
        let number = self.make.symbols.functions.len() as u32;
        let address = 0x1000 + 0x1000 * u64::from(number);
        let line = 10 + 100 * number;
        let make = &mut self.make;
        let function = make.unframed_function(module, address, 0x1000, name, Some(line));
        let instructions = 0..instructions;
        instructions
            .map(|at| make.frame(function, address + 0x10 * u64::from(at), Some(line + at)))
            .collect()
    }

    /// The stack with number `which` through a region's functions. Each digit of the number, to
    /// the base of the instructions of a function, is an instruction, the leaf's first.
    fn distinct(&mut self, base: StackId, functions: &[Vec<FrameId>], which: u64) -> StackId {
        let mut rest = which;
        let mut path = Vec::new();
        for function in functions.iter().rev() {
            path.push(function[(rest % function.len() as u64) as usize]);
            rest /= function.len() as u64;
        }
        let mut stack = base;
        for frame in path.into_iter().rev() {
            stack = self.make.call(stack, frame);
        }
        stack
    }

    /// A sample of a thread.
    fn sample(&mut self, thread: ThreadId, time: u64, random: &mut Rng) -> Sample {
        // Regions last 20 ms, so that neighbouring samples have equal stacks.
        let region = &self.regions[(time / 20_000_000) as usize % self.regions.len()];
        let side = usize::from(thread.0 > 0);
        let (thread_state, stack) = match random.u64(..100) {
            0..10 => (region.barrier, region.waiting[side]),
            10..13 if side == 0 => self.serial,
            _ => {
                let stacks = &region.stacks[side];
                (
                    region.work,
                    stacks[skewed(random, stacks.len() as u64) as usize],
                )
            }
        };
        self.counts[thread.index()][thread_state.index()] += 1;
        Sample {
            time: Nanos(time),
            thread,
            cpu: (thread.0 % 64) as u16,
            kind: match random.u64(..50) {
                0 => SampleKind::Kernel,
                _ => SampleKind::User,
            },
            stack,
            thread_state,
            // Some 70,000 regions a second, as in a program of short loops.
            within: Within {
                region: if thread_state == self.serial.0 {
                    0
                } else {
                    1 + time / 14_286 + random.u64(..4)
                },
                task: 0,
            },
        }
    }

    /// A thread's second, divided as its samples were.
    fn sums(&mut self, slice: u32, thread: ThreadId, sums: &mut Vec<Sum>) {
        let counts = &mut self.counts[thread.index()];
        let all: u64 = counts.iter().map(|count| u64::from(*count)).sum();
        for (thread_state, count) in (0..).map(ThreadStateId).zip(counts) {
            let count = std::mem::take(count);
            if count == 0 {
                continue;
            }
            sums.push(Sum {
                slice,
                thread,
                thread_state,
                scheduling: Scheduling::Running,
                time: Nanos(SLICE.0 * u64::from(count) / all),
                count,
            });
        }
    }
}
