//! Experiments made by hand, and the items of their profiles.

mod arbitrary;
mod blame;
mod events;
mod locations;
mod sleeping;
mod waits;

use experiment::Packed;
use experiment::header::Header;
use experiment::ids::{ContextId, FrameId, NameId, Nanos, ThreadId, ThreadStateId};
use experiment::rows::{Blame, Interval, SLICE, Sample, SampleKind, Sum, Within};
use experiment::state::{Scheduling, State};
use experiment::tables::{Interner, Process, Thread, ThreadKind};
use experiment::{Samples, Sums};

use super::*;
use crate::profile::{Callee, Item, Path, PathId};
use crate::rewrite::test_program::TestProgram;
use crate::states::Pseudo;

const WORK: &str = "work foo.omp_outlined+12 R:__kmp_invoke_microtask R:?+1 start_thread clone3";
const SPIN: &str = "sched_yield R:?+4 R:?+7 start_thread clone3";

/// An experiment made by hand.
struct TestExperiment {
    program: TestProgram,
    sums: Sums,
    intervals: Vec<Interval>,
    samples: Vec<Sample>,
    header: Header,
}

impl TestExperiment {
    /// An initial thread and workers after it.
    fn new(threads: usize) -> TestExperiment {
        let mut program = TestProgram::new();
        program.tables.processes.push(Process {
            pid: 7,
            parent: None,
            name: "app".to_owned(),
            executable: "/home/u/app".to_owned(),
        });
        for index in 0..threads {
            program.tables.threads.push(Thread {
                process: experiment::ids::ProcessId(0),
                tid: 7 + index as i32,
                name: NameId::NONE,
                birth: Nanos(0),
                death: None,
                kind: if index == 0 {
                    ThreadKind::Initial
                } else {
                    ThreadKind::Worker
                },
            });
        }
        TestExperiment {
            program,
            sums: Sums::default(),
            intervals: Vec::new(),
            samples: Vec::new(),
            header: Header::default(),
        }
    }

    fn region(&mut self) -> ContextId {
        self.program.symbol("foo.omp_outlined", 9);
        self.program
            .region(ContextId::ROOT, "foo+9 main __libc_start_main _start")
    }

    fn sum(
        &mut self,
        thread: u32,
        slice: u32,
        thread_state: ThreadStateId,
        scheduling: Scheduling,
        nanos: u64,
    ) {
        self.sums.push(Sum {
            slice,
            thread: ThreadId(thread),
            thread_state,
            scheduling,
            time: Nanos(nanos),
            count: 1,
        });
    }

    fn sample(
        &mut self,
        thread: u32,
        slice: u32,
        thread_state: ThreadStateId,
        kind: SampleKind,
        stack: &str,
    ) {
        let stack = self.program.stack(stack);
        self.samples.push(Sample {
            time: Nanos(u64::from(slice) * SLICE.0 + self.samples.len() as u64),
            thread: ThreadId(thread),
            cpu: 0,
            kind,
            stack,
            thread_state,
            within: Within::default(),
        });
    }

    /// A listed sleep, with a stack taken shortly before it begins.
    fn sleep(&mut self, thread_state: ThreadStateId, (start, length): (u64, u64), stack: &str) {
        self.intervals.push(Interval {
            thread: ThreadId(0),
            start: Nanos(start),
            length: Nanos(length),
            thread_state,
            scheduling: Scheduling::Blocked,
            within: Within::default(),
        });
        self.sample(0, 0, thread_state, SampleKind::Blocked, stack);
        self.samples.last_mut().expect("just pushed").time = Nanos(start - 7_000);
    }

    fn profile(&self, mode: ViewMode) -> Profile {
        let source = self.source(Default::default());
        let samples = Samples::pack(&self.samples).unwrap();
        Attribution::new(&source, &samples, Slices::Apart).profile(&source, mode)
    }

    fn source<'a>(&'a self, blames: &'a Packed<Blame>) -> Source<'a> {
        Source {
            tables: &self.program.tables,
            symbols: &self.program.symbols,
            sums: &self.sums,
            counters: &[],
            blames,
            intervals: &self.intervals,
            header: &self.header,
        }
    }

    fn name(&self, paths: &Interner<Path>, path: PathId) -> String {
        let mut words = Vec::new();
        let mut at = path;
        while at != PathId::EMPTY {
            let row = paths.get(at.0).expect("paths are whole");
            words.push(match row.frame.callee {
                Callee::Function(f) => self.program.symbols.functions[f.0 as usize].name.clone(),
                Callee::Pseudo(Pseudo::State(state)) => format!("<{state:?}>"),
                Callee::Pseudo(pseudo) => format!("<{pseudo:?}>"),
                _ => "?".to_owned(),
            });
            at = row.callers;
        }
        words.join(" ")
    }

    /// (stack, nanoseconds, samples, inferred) of each item.
    fn rows(&self, mode: ViewMode) -> Vec<(String, u64, u32, bool)> {
        let profile = self.profile(mode);
        let items = profile.items.iter();
        items
            .map(|i| {
                (
                    self.name(&profile.paths, i.path),
                    nanos(i),
                    i.samples,
                    i.inferred,
                )
            })
            .collect()
    }
}

fn nanos(item: &Item) -> u64 {
    (item.seconds * 1e9).round() as u64
}

fn row(name: &str, nanos: u64, samples: u32, inferred: bool) -> (String, u64, u32, bool) {
    (name.to_owned(), nanos, samples, inferred)
}

const REGION: &str = "foo.omp_outlined foo main __libc_start_main _start";
