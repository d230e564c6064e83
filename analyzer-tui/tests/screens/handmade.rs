//! An experiment made by hand, with times that add up in the head.
//!
//! `main` works alone, then calls `foo`, whose region (line 9) calls `bar`, where a task is made.
//!
//! | thread | from, to (ms) | what | scheduling state | listed |
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
//!
//! In the region stands a loop, `schedule(dynamic, 4)`, of whose 40 iterations the initial thread
//! executed 24 in 1.2 s and the worker 16 in 0.8 s.

use std::path::Path;
use std::sync::Arc;

use analyzer::experiments::Experiments;
use experiment::header::{Losses, Runtime};
use experiment::ids::{ContextId, Nanos, ProcessId, StackId, ThreadId, ThreadStateId};
use experiment::rows::{
    Interval, LockSum, LoopSum, RegionSpan, RegionSum, SLICE, Sample, SampleKind, Sum, TaskSpan,
    Within,
};
use experiment::state::{Scheduling, State};
use experiment::symbols::Construct;
use experiment::tables::{
    ContextKind, Frame, Lock, Loop, LoopClause, Mutex, RuntimeKind, Schedule, Tables, ThreadKind,
    ThreadState,
};
use test_support::Builder;

/// Nanoseconds of a millisecond.
const MS: u64 = 1_000_000;

/// The instances that the task runs in.
const IN_TASK: Within = Within {
    region: 3,
    task: 17,
};

/// Milliseconds between samples.
const PERIOD: u64 = 100;

/// The experiment, opened; `damage` changes its record file first.
pub(crate) fn recording(damage: impl FnOnce(&Path)) -> Arc<Experiments> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("omp.er");
    write(&path, Variant::First);
    damage(&path.join("records"));
    let mut recording =
        omp_model::analysis::Analysis::open(&path, 1, symbolize::from_files).unwrap();
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
pub(crate) fn two() -> Arc<Experiments> {
    let folder = tempfile::tempdir().unwrap();
    let paths = [("a.er", Variant::First), ("b.er", Variant::Second)].map(|(name, variant)| {
        let path = folder.path().join(name);
        write(&path, variant);
        path
    });
    Arc::new(Experiments::open(&paths).unwrap())
}

/// What a thread does for a while.
struct Phase {
    thread: ThreadId,
    from: u64,
    to: u64,
    thread_state: ThreadStateId,
    scheduling: Scheduling,
    stack: StackId,
    listed: bool,
}

impl Phase {
    fn add_to(&self, make: &mut Builder) {
        let (from, to) = (self.from * MS, self.to * MS);
        let mut start = from;
        while start < to {
            let slice = start / SLICE.0;
            let end = to.min((slice + 1) * SLICE.0);
            make.sums.push(Sum {
                slice: slice as u32,
                thread: self.thread,
                thread_state: self.thread_state,
                scheduling: self.scheduling,
                time: Nanos(end - start),
                count: u32::from(end == to),
            });
            start = end;
        }
        if self.listed {
            make.intervals.push(Interval {
                thread: self.thread,
                start: Nanos(from),
                length: Nanos(to - from),
                thread_state: self.thread_state,
                scheduling: self.scheduling,
                within: self.within(&make.tables),
            });
        }
        let (kind, times): (_, Vec<u64>) = match self.scheduling {
            Scheduling::Running => {
                let times = (self.from..self.to).filter(|time| time % PERIOD == PERIOD / 2);
                (SampleKind::User, times.collect())
            }
            Scheduling::Preempted => (SampleKind::Preempted, vec![self.from]),
            Scheduling::Stolen => (SampleKind::User, Vec::new()),
            Scheduling::Blocked => (SampleKind::Blocked, vec![self.from]),
        };
        let within = self.within(&make.tables);
        make.samples.extend(times.into_iter().map(|time| Sample {
            time: Nanos(time * MS),
            thread: self.thread,
            cpu: self.thread.0 as u16 + 2,
            kind,
            stack: self.stack,
            thread_state: self.thread_state,
            within,
        }));
    }

    /// The region is its process's third one, and the task its 17th.
    fn within(&self, tables: &Tables) -> Within {
        let context = tables
            .thread_states
            .get(self.thread_state.0)
            .unwrap()
            .context;
        let kind = tables.contexts.get(context.0).unwrap().kind;
        match kind {
            ContextKind::Root => Within::default(),
            ContextKind::Region | ContextKind::Teams => Within { region: 3, task: 0 },
            ContextKind::Task | ContextKind::Taskloop => IN_TASK,
        }
    }
}

pub(crate) fn write(path: &Path, variant: Variant) {
    let mut make = Builder::new(&["./app", "12"], "/home/ann/app/foo.c");
    make.header.environment = vec![("OMP_NUM_THREADS".to_owned(), "2".to_owned())];
    make.header.sampling.period_us = PERIOD as f64 * 1e3;
    make.header.sampling.samples = 28;
    make.header.sampling.switch_samples = 4;
    make.header.runtimes = vec![Runtime {
        pid: 100,
        path: "/usr/lib/libomp.so.5".to_owned(),
        build_id: "0014".to_owned(),
        version: "LLVM OMP version: 5.0.20140926".to_owned(),
        interface: "OMPT".to_owned(),
    }];
    make.header.losses = Losses {
        omp_taken: 64,
        stacks_complete: 28,
        ..Losses::default()
    };
    make.process(100, "app", "/home/ann/app/app");
    let app = make.module("/home/ann/app/app", RuntimeKind::None);
    let omp = make.module("/usr/lib/libomp.so.5", RuntimeKind::Kmp);
    let libc = make.module("/usr/lib/libc.so.6", RuntimeKind::None);
    let start = make.function(app, 0x1000, "_start", None);
    let main = make.function(app, 0x1100, "main", Some(20));
    let caller = make.function(app, 0x1200, "foo", Some(9));
    let region = make.function(app, 0x1300, "foo.omp_outlined", Some(11));
    let bar = make.function(app, 0x1400, "bar", Some(4));
    let body = make.function(app, 0x1500, "bar.omp_task_entry", Some(6));
    let fork = make.function(omp, 0x2000, "__kmpc_fork_call", None);
    let invoke = make.function(omp, 0x2100, "__kmp_invoke_microtask", None);
    let launch = make.function(omp, 0x2200, "__kmp_launch_thread", None);
    let wait = make.function(omp, 0x2300, "__kmp_hyper_barrier_release", None);
    let critical = make.function(omp, 0x2400, "__kmpc_critical_with_hint", None);
    let run_task = make.function(omp, 0x2500, "__kmp_invoke_task", None);
    let clone = make.function(libc, 0x3000, "clone3", None);
    make.outlined(region, Construct::Parallel, "foo", 9);
    make.outlined(body, Construct::Task, "bar", 5);

    let site = make.stack(&[caller, main, start]);
    let inside = make.context(ContextId::ROOT, ContextKind::Region, site);
    let task_site = make.stack(&[bar, region, invoke, launch, clone]);
    let task = make.context(inside, ContextKind::Task, task_site);
    let serial = make.thread_state(State::Serial, ContextId::ROOT);
    let idle = make.thread_state(State::Idle, ContextId::ROOT);
    let work = make.thread_state(State::Work, inside);
    let barrier = make.thread_state(State::ImplicitBarrier, inside);
    let section = make.thread_state(State::Critical, inside);
    let tasking = make.thread_state(State::Work, task);

    // Work with the mutex that this call has acquired.
    let holding = make.tables.thread_state(ThreadState {
        state: State::Work,
        context: inside,
        call: region,
    });
    let holding = ThreadStateId(holding.0);

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
    use Scheduling::{Blocked, Preempted, Running};
    let phases = [
        (initial, 0, 500, serial, Running, alone, true),
        (initial, 500, 1100, work, Running, in_bar, true),
        (initial, 1100, 1700, work, Running, own, false),
        (initial, 1700, 2000, section, Blocked, in_critical, true),
        (initial, 2000, 2200, barrier, Running, at_end, true),
        (worker, 0, 500, idle, Blocked, worker_waits, true),
        (worker, 500, 880, work, Running, worker_bar, true),
        (worker, 880, 1200, holding, Running, worker_bar, true),
        (worker, 1200, 1400, tasking, Running, worker_task, true),
        (worker, 1400, 1500, work, Preempted, worker_bar, true),
        (worker, 1500, 2200, barrier, Blocked, worker_waits, true),
    ];
    for (thread, from, to, thread_state, scheduling, stack, listed) in phases {
        let phase = Phase {
            thread,
            from,
            to,
            thread_state,
            scheduling,
            stack,
            listed,
        };
        phase.add_to(&mut make);
    }
    let name = make.tables.frame(Frame {
        module: app,
        address: 0x9000,
    });
    make.symbols.lock_names = vec![(name, "update".to_owned())];
    let update = make.tables.lock(Lock {
        variable: name,
        address: 0x9000,
        ..Lock::of_several(ProcessId(0), Mutex::Critical)
    });
    // The initial thread waits while the worker holds it.
    for (thread, contended, wait, held) in [(initial, 3, 300, 40), (worker, 0, 0, 320)] {
        make.lock_sums.push(LockSum {
            slice: 2,
            thread,
            lock: update,
            call: region,
            acquisitions: 3,
            contended,
            wait: Nanos(wait * MS),
            held: Nanos(held * MS),
            longest: Nanos(held / 2 * MS),
        });
    }
    make.region_sums.push(RegionSum {
        slice: 2,
        context: inside,
        thread: initial,
        instances: 1,
        elapsed: Nanos(1700 * MS),
        team: 2,
    });
    make.region_spans.push(RegionSpan {
        context: inside,
        thread: initial,
        start: Nanos(500 * MS),
        length: Nanos(1700 * MS),
        team: 2,
        within: Within { region: 3, task: 0 },
    });
    let construct = make.tables.loop_id(Loop {
        call: region,
        schedule: Schedule::Dynamic,
        clause: LoopClause::Plain,
    });
    for (thread, chunks, time) in [(initial, 6, 1200), (worker, 4, 800)] {
        make.loop_sums.push(LoopSum {
            slice: 2,
            thread,
            construct,
            chunk: 4,
            instances: 1,
            iterations: 4 * chunks,
            chunks,
            time: Nanos(time * MS),
            calls_time: Nanos(0),
            calls: 0,
        });
    }
    make.task_spans.push(TaskSpan {
        context: task,
        thread: worker,
        start: Nanos(1200 * MS),
        length: Nanos(200 * MS),
        within: IN_TASK,
    });
    make.write(path);
}
