//! Two small experiments made by hand, with times that add up in the head.
//!
//! `openmp`: `main` works alone, then calls `foo`, whose region (line 9) calls `bar`.
//!
//! | thread | what | seconds | scheduling state |
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

use std::path::Path;

use experiment::findings::{Check, Findings};
use experiment::header::{Counter, Losses, Runtime, Sampling};
use experiment::ids::{
    ContextId, FrameId, NameId, Nanos, PhaseId, ProcessId, StackId, ThreadId, ThreadStateId,
};
use experiment::losses::{LossKind, Stretch, Stretches};
use experiment::rows::{
    CpuUse, LockSum, LockWait, LoopSum, PhaseSum, PointKind, RegionSum, RegionWork, Sample,
    SampleKind, SamplePoint, Span, SpanKind, Sum, TaskSum, Within,
};
use experiment::state::{Scheduling, State};
use experiment::symbols::{Construct, Directive, Workshare};
use experiment::tables::{
    ContextKind, Frame, Lock, Loop, LoopClause, Mutex, Phase, RuntimeKind, Schedule, ThreadKind,
};
use test_support::{Builder, Job, Message};

/// An experiment of `/home/ann/app/EXECUTABLE`, and of one source file.
fn builder(executable: &str) -> Builder {
    let command = format!("./{executable}");
    let mut make = Builder::new(&[&command, "12"], "/home/ann/app/foo.c");
    make.process(100, "app", &format!("/home/ann/app/{executable}"));
    make
}

/// Time in a state, shared out over stacks by their numbers of samples.
fn time(
    make: &mut Builder,
    thread: ThreadId,
    (thread_state, scheduling): (ThreadStateId, Scheduling),
    milliseconds: u64,
    samples: &[(StackId, SampleKind, usize)],
) {
    make.sums.push(Sum {
        slice: 0,
        thread,
        thread_state,
        scheduling,
        time: Nanos(milliseconds * 1_000_000),
        count: 1,
    });
    for &(stack, kind, count) in samples {
        for _ in 0..count {
            make.samples.push(Sample {
                time: Nanos(1_000_000 * make.samples.len() as u64),
                thread,
                cpu: 0,
                kind,
                stack,
                thread_state,
                within: Within::default(),
            });
        }
    }
}

/// Writes the experiment of a program with OpenMP.
pub(crate) fn openmp(path: &Path) {
    program_with_openmp().write(path);
}

/// Writes the same with counters. A sample of cycles and of instructions is 0.1 billion.
///
/// | counter | samples | events |
/// |---|---|---|
/// | `cycles` | one for each of the clock | 2.8 billion |
/// | `instructions` | two for each of the clock on the initial thread, one on the worker | 4.7 billion |
/// | `cache-misses` | one for each of the clock on the worker | 9000, of which half were counted |
/// | `page-faults` | three in `main` alone, of which one was dropped | 36 |
/// | `cpu-migrations` | none | 1 |
pub(crate) fn counted(path: &Path) {
    let mut make = program_with_openmp();
    let on_cpu = |sample: &&Sample| sample.kind.scheduling() == Scheduling::Running;
    let clock: Vec<Sample> = make.samples.iter().filter(on_cpu).copied().collect();
    let of = |times: [usize; 2]| -> Vec<Sample> {
        let each = |sample: &Sample| std::iter::repeat_n(*sample, times[sample.thread.index()]);
        clock.iter().flat_map(each).collect()
    };
    let mut counter = |name: &str, interval, events, counted, samples: Vec<Sample>| {
        make.header.counters.push(Counter {
            name: name.to_owned(),
            interval,
            events,
            counted,
            samples: samples.len() as u64,
            lost: Stretches::default(),
        });
        make.counters.push(samples);
    };
    counter("cycles", 100_000_007, 2_800_000_000, 1.0, of([1, 1]));
    counter("instructions", 100_000_007, 4_700_000_000, 1.0, of([2, 1]));
    counter("cache-misses", 503, 9_000, 0.5, of([0, 1]));
    counter("page-faults", 11, 36, 1.0, clock[..3].to_vec());
    counter("cpu-migrations", 11, 1, 1.0, Vec::new());
    make.header.counters[3].lost.add(Stretch {
        from_ns: 1_200_000_000,
        to_ns: 1_250_000_000,
        count: 1,
    });
    make.write(path);
}

/// Writes experiments of `collect -r`, which have no samples: one with the findings of `test_support`, one
/// recorded later, and one that looked for deadlocks alone and found none.
pub(crate) fn checked(folder: &Path) {
    let write = |name: &str, findings: &Findings| {
        let mut make = builder("app");
        make.module("/home/ann/app/app", RuntimeKind::None);
        make.thread(100, ThreadKind::Initial);
        make.header.sampling = Sampling::default();
        make.header.losses = Losses::default();
        let path = folder.join(name);
        make.findings = Some(findings.clone());
        make.write(&path);
    };
    write("race.er", &test_support::findings());
    write("later.er", &test_support::later_findings());
    write("compare.er", &test_support::divergences());
    let clean = Findings {
        checks: vec![Check::Deadlock],
        ..Findings::default()
    };
    write("clean.er", &clean);
    let sources = folder.join("checked");
    std::fs::create_dir(&sources).unwrap();
    std::fs::write(sources.join("foo.c"), test_support::SOURCE).unwrap();
    let known = "race variable:sum  # the sum is printed only\nmisuse function:nobody # x\n";
    std::fs::write(folder.join("known.txt"), known).unwrap();
}

fn program_with_openmp() -> Builder {
    let mut make = builder("app");
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
    let mut code = |module, address, name, line| make.function(module, address, name, line);
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
    make.outlined(region, Construct::Parallel, "foo", 9);

    let site = make.stack(&[caller, main, start]);
    let inside = make.context(ContextId::ROOT, ContextKind::Region, site);
    let serial = make.thread_state(State::Serial, ContextId::ROOT);
    let idle = make.thread_state(State::Idle, ContextId::ROOT);
    let work = make.thread_state(State::Work, inside);
    let barrier = make.thread_state(State::ImplicitBarrier, inside);
    let section = make.thread_state(State::Critical, inside);

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

    use Scheduling::{Blocked, Preempted, Running};
    let user = SampleKind::User;
    time(
        &mut make,
        initial,
        (serial, Running),
        500,
        &[(alone, user, 5)],
    );
    time(
        &mut make,
        initial,
        (work, Running),
        1200,
        &[(in_bar, user, 9), (in_region, user, 3)],
    );
    time(
        &mut make,
        initial,
        (section, Blocked),
        300,
        &[(in_critical, SampleKind::Blocked, 1)],
    );
    time(
        &mut make,
        initial,
        (barrier, Running),
        200,
        &[(at_end, user, 2)],
    );
    time(
        &mut make,
        worker,
        (idle, Blocked),
        500,
        &[(worker_waits, SampleKind::Blocked, 1)],
    );
    time(
        &mut make,
        worker,
        (work, Running),
        900,
        &[(worker_bar, user, 8), (worker_bar, SampleKind::Kernel, 1)],
    );
    time(
        &mut make,
        worker,
        (work, Preempted),
        100,
        &[(worker_bar, SampleKind::Preempted, 1)],
    );
    time(
        &mut make,
        worker,
        (barrier, Blocked),
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
    let construct = make.tables.loop_id(Loop {
        call: bar,
        schedule: Schedule::Dynamic,
        clause: LoopClause::Plain,
    });
    // 100 calls for chunks were measured, 0.2 us each.
    for (thread, iterations, time) in [(initial, 3_000_000, 900), (worker, 1_000_000, 400)] {
        make.loop_sums.push(LoopSum {
            slice: 0,
            thread,
            construct,
            chunk: 1,
            instances: 4,
            iterations,
            chunks: iterations,
            time: Nanos(time * 1_000_000),
            calls_time: Nanos(10_000),
            calls: 50,
        });
    }
    let variable = make.tables.frame(Frame {
        module: app,
        address: 0x9000,
    });
    make.symbols.lock_names = vec![(variable, "update".to_owned())];
    let update = make.tables.lock(Lock {
        variable,
        address: 0x5555_0000_9000,
        ..Lock::of_several(ProcessId(0), Mutex::Critical)
    });
    // The worker holds it for 280 ms, for which the initial thread waits.
    for (thread, contended, wait, held, longest) in
        [(initial, 30, 300, 90, 4), (worker, 2, 10, 1300, 280)]
    {
        make.lock_sums.push(LockSum {
            slice: 0,
            thread,
            lock: update,
            call: region,
            acquisitions: 400,
            contended,
            wait: Nanos(wait * 1_000_000),
            held: Nanos(held * 1_000_000),
            longest: Nanos(longest * 1_000_000),
        });
    }
    for (waiter, holder, count, time) in [(region, bar, 20, 280), (region, FrameId::NONE, 1, 20)] {
        make.lock_waits.push(LockWait {
            lock: update,
            waiter,
            holder,
            count,
            time: Nanos(time * 1_000_000),
        });
    }
    let task = make.context(inside, ContextKind::Task, in_bar);
    // 20 and 60 ms.
    make.task_sums.push(TaskSum {
        slice: 0,
        context: task,
        thread: worker,
        instances: 2,
        unfinished: 1,
        elsewhere: 1,
        work: Nanos(80_000_000),
        least: Nanos(20_000_000),
        most: Nanos(60_000_000),
        squares: 4_000_000_000_000_000,
    });
    make
}

/// Writes the experiment of a program without OpenMP.
pub(crate) fn plain(path: &Path) {
    let mut make = builder("plain");
    let app = make.module("/home/ann/app/plain", RuntimeKind::None);
    let libc = make.module("/usr/lib/libc.so.6", RuntimeKind::None);
    make.header.sampling.samples = 1_500;
    make.header.sampling.cpu_ns = 2_000_000_000;
    make.header.losses = Losses {
        stacks_complete: 1_400,
        stacks_cut: vec![("the copied piece of the stack ended".to_owned(), 100)],
        ..Losses::default()
    };
    let lost = &mut make.header.losses.lost;
    lost.add(LossKind::Samples, (300_000_000, 350_000_000), 290);
    lost.add(LossKind::Samples, (1_250_000_000, 1_250_000_100), 10);
    make.header.notes = vec!["a note on what was not permitted, and how to mend it".to_owned()];
    let main = make.function(app, 0x1000, "main", Some(30));
    let fib = make.function(app, 0x1100, "fib(int)", Some(12));
    make.symbols.functions[1].linkage = "_Z3fibi".to_owned();
    let nap = make.function(libc, 0x2000, "clock_nanosleep", None);
    let thread = make.thread(100, ThreadKind::Outside);
    let shallow = make.stack(&[fib, main]);
    let deep = make.stack(&[fib, fib, main]);
    let asleep = make.stack(&[nap, main]);
    let (user, kernel) = (SampleKind::User, SampleKind::Kernel);
    let samples = [(shallow, user, 10), (deep, user, 8), (deep, kernel, 2)];
    time(
        &mut make,
        thread,
        (ThreadStateId::OUTSIDE, Scheduling::Running),
        2000,
        &samples,
    );
    let samples = [(asleep, SampleKind::Blocked, 1)];
    time(
        &mut make,
        thread,
        (ThreadStateId::OUTSIDE, Scheduling::Blocked),
        200,
        &samples,
    );
    for (cpu, voluntary, minor_faults) in [(0, 9, 1_200), (1, 3, 34)] {
        make.cpu_uses.push(CpuUse {
            thread,
            cpu,
            migrations: u64::from(cpu),
            voluntary,
            involuntary: 1,
            minor_faults,
            major_faults: 0,
        });
    }
    make.write(path);
}

/// Writes the experiment of a program with phases: `solve` twice for 0.4 s, in the first `inner` for
/// 0.1 s, in the second a pause of 0.1 s; `rest`, left open at the end. One thread works in all of them,
/// and waits for 0.05 s in `inner`.
pub(crate) fn marked(path: &Path) {
    let mut make = builder("app");
    let app = make.module("/home/ann/app/app", RuntimeKind::None);
    let main = make.function(app, 0x1000, "main", Some(20));
    let thread = make.thread(100, ThreadKind::Initial);
    let alone = make.stack(&[main]);
    let serial = make.thread_state(State::Serial, ContextId::ROOT);
    for (slice, milliseconds) in [(0, 900), (1, 1000), (2, 200)] {
        make.sums.push(Sum {
            slice,
            thread,
            thread_state: serial,
            scheduling: Scheduling::Running,
            time: Nanos(milliseconds * 1_000_000),
            count: 1,
        });
    }
    for millisecond in (0..2200).filter(|at| !(600..700).contains(at)) {
        make.samples.push(Sample {
            time: Nanos(millisecond * 1_000_000),
            thread,
            cpu: 0,
            kind: SampleKind::User,
            stack: alone,
            thread_state: serial,
            within: Within::default(),
        });
    }
    let mut phase = |parent, name: &str| {
        let name = make.tables.name(name.to_owned());
        make.tables.phase(Phase { parent, name })
    };
    let solve = phase(PhaseId::NONE, "solve");
    let inner = phase(solve, "inner");
    let rest = phase(PhaseId::NONE, "rest");
    let span = |kind, phase, start: u64, end: u64| Span {
        process: ProcessId(0),
        kind,
        phase,
        start: Nanos(start * 1_000_000),
        length: Nanos((end - start) * 1_000_000),
    };
    make.spans = vec![
        span(SpanKind::Phase, inner, 100, 200),
        span(SpanKind::Phase, solve, 0, 400),
        span(SpanKind::Phase, solve, 500, 900),
        span(SpanKind::Pause, PhaseId::NONE, 600, 700),
        span(SpanKind::OpenPhase, rest, 1000, 2200),
    ];
    let sum = |slice, phase, state, milliseconds: u64| PhaseSum {
        slice,
        thread,
        phase,
        state,
        scheduling: Scheduling::Running,
        time: Nanos(milliseconds * 1_000_000),
    };
    make.phase_sums = vec![
        sum(0, solve, State::Serial, 600),
        sum(0, inner, State::Serial, 50),
        sum(0, inner, State::Critical, 50),
        sum(1, rest, State::Serial, 1000),
        sum(2, rest, State::Serial, 200),
    ];
    let halfway = make.tables.name("halfway".to_owned());
    let point = |milliseconds: u64, kind, name| SamplePoint {
        time: Nanos(milliseconds * 1_000_000),
        process: ProcessId(0),
        kind,
        name,
        user: Nanos(milliseconds * 900_000),
        system: Nanos(10_000_000),
        minor_faults: milliseconds / 10,
        major_faults: 1,
    };
    make.sample_points = vec![
        point(1000, PointKind::Period, NameId::NONE),
        point(1100, PointKind::Call, halfway),
        point(1500, PointKind::Signal, NameId::NONE),
    ];
    make.header.paused_ns = 100_000_000;
    make.header.limit = Some("-t: its time is over".to_owned());
    let lost = &mut make.header.losses.lost;
    lost.add(LossKind::Calls, (800_000_000, 850_000_000), 7);
    make.header.losses.phases_unbegun = 1;
    make.write(path);
}

/// How often the function of [`recursion`] calls itself.
pub(crate) const DEEP: usize = 5_000;

/// Writes the experiment of a program that calls itself very often.
pub(crate) fn recursion(path: &Path) {
    let mut make = builder("deep");
    let module = make.module("/home/ann/app/deep", RuntimeKind::None);
    let dig = make.function(module, 0x1000, "dig", Some(3));
    let thread = make.thread(100, ThreadKind::Outside);
    let stack = make.stack(&[dig; DEEP]);
    let samples = [(stack, SampleKind::User, 3)];
    time(
        &mut make,
        thread,
        (ThreadStateId::OUTSIDE, Scheduling::Running),
        300,
        &samples,
    );
    make.write(path);
}

/// Writes the experiment of [`openmp`]'s program on one thread, built by gcc: 0.5 s in `main`,
/// 1.6 s in `bar`, 0.2 s in the region. The directive of a loop in `main` is not in its call's line.
pub(crate) fn single(path: &Path) {
    let mut make = builder("app");
    let app = make.module("/home/ann/app/app.gcc", RuntimeKind::None);
    let mut code = |address, name, line| make.function(app, address, name, line);
    let start = code(0x1000, "_start", None);
    let main = code(0x1110, "main", Some(20));
    let caller = code(0x1220, "foo", Some(9));
    let region = code(0x1330, "foo._omp_fn.0", Some(11));
    let bar = code(0x1440, "bar", Some(4));
    make.outlined(region, Construct::Parallel, "foo", 9);
    let stack = make.stack(&[caller, main, start]);
    let inside = make.context(ContextId::ROOT, ContextKind::Region, stack);
    let serial = make.thread_state(State::Serial, ContextId::ROOT);
    let work = make.thread_state(State::Work, inside);
    let thread = make.thread(100, ThreadKind::Initial);
    let alone = make.stack(&[main, start]);
    let in_bar = make.stack(&[bar, region, caller, main, start]);
    let in_region = make.stack(&[region, caller, main, start]);
    let (running, user) = (Scheduling::Running, SampleKind::User);
    time(
        &mut make,
        thread,
        (serial, running),
        500,
        &[(alone, user, 5)],
    );
    let samples = [(in_bar, user, 8), (in_region, user, 1)];
    time(&mut make, thread, (work, running), 1800, &samples);
    let construct = make.tables.loop_id(Loop {
        call: main,
        schedule: Schedule::Guided,
        clause: LoopClause::Plain,
    });
    make.loop_sums.push(LoopSum {
        slice: 0,
        thread,
        construct,
        chunk: 0,
        instances: 1,
        iterations: 1000,
        chunks: 10,
        time: Nanos(100_000_000),
        calls_time: Nanos(2_000),
        calls: 2,
    });
    // Line 20 is the call's.
    let directive = Directive {
        line: 23,
        last: 24,
        construct: Workshare::Loop,
        level: 0,
        is_nearest: true,
    };
    make.symbols.directives.push((main, directive));
    make.write(path);
}

/// Writes a recording of a program that works so many milliseconds in each function, each with a line
/// of its own, with a sample every 10 ms.
pub(crate) fn repeated(path: &Path, functions: &[(&str, u64)]) {
    let mut make = builder("app");
    let app = make.module("/home/ann/app/app", RuntimeKind::None);
    let main = make.function(app, 0x1110, "main", Some(90));
    let serial = make.thread_state(State::Serial, ContextId::ROOT);
    let thread = make.thread(100, ThreadKind::Initial);
    let (all, mut samples) = (functions.iter().map(|it| it.1).sum(), Vec::new());
    for (number, &(name, milliseconds)) in (1..).zip(functions) {
        let line = u32::try_from(number).ok();
        let code = make.function(app, 0x2000 + 0x100 * number, name, line);
        let stack = make.stack(&[code, main]);
        samples.push((stack, SampleKind::User, milliseconds as usize / 10));
    }
    let state = (serial, Scheduling::Running);
    time(&mut make, thread, state, all, &samples);
    make.header.sampling.period_us = 10_000.0;
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
    let mut make = builder("plain");
    make.header.duration_ns = 0;
    make.header.exit_status = None;
    let app = make.module("/home/ann/app/plain", RuntimeKind::None);
    let main = make.function(app, 0x1000, "main", Some(30));
    let thread = make.thread(100, ThreadKind::Outside);
    let stack = make.stack(&[main]);
    let samples = [(stack, SampleKind::User, 1500)];
    let state = (ThreadStateId::OUTSIDE, Scheduling::Running);
    time(&mut make, thread, state, 1500, &samples);
    make.write_unfinished(path);
}

/// What the names of [`hostile`] have in them: they clear the screen, colour it, go back in the line,
/// begin another line, set the window's title, and turn the direction of what follows.
pub(crate) const OBEYED: &str =
    "\u{1b}[2J\u{9b}31m\r0.000 none\n\u{7}\u{1b}]0;title\u{7}\u{202e}\u{7f}";

/// Writes an experiment and its source. A terminal would obey all of their names.
pub(crate) fn hostile(path: &Path, source: &Path) {
    named(path, source, OBEYED);
}

/// The same with another text in each name.
pub(crate) fn named(path: &Path, source: &Path, text: &str) {
    let name = |name: &str| format!("{name}{text}");
    let mut make = Builder::new(&[&name("./app"), text], &source.to_string_lossy());
    make.process(100, &name("app"), &name("/home/ann/app"));
    make.header.notes = vec![name("a note")];
    make.header.environment = vec![("OMP_SCHEDULE".to_owned(), name("static"))];
    make.header.host = name("node");
    make.header.directory = name("/home/ann");
    make.header.cpu_model = name("CPU");
    let app = make.module(&name("/home/ann/app"), RuntimeKind::None);
    let main = make.function(app, 0x1110, &name("main"), Some(1));
    let body = make.function(app, 0x1220, &name("main._omp_fn.0"), Some(2));
    make.outlined(body, Construct::Parallel, &name("main"), 2);
    make.symbols
        .misses
        .push((app, name("no debug information")));
    let thread = make.thread(100, ThreadKind::Initial);
    let stack = make.stack(&[main]);
    let inside = make.context(ContextId::ROOT, ContextKind::Region, stack);
    let work = make.thread_state(State::Work, inside);
    let in_region = make.stack(&[body, main]);
    let samples = [(in_region, SampleKind::User, 5)];
    time(
        &mut make,
        thread,
        (work, Scheduling::Running),
        500,
        &samples,
    );
    make.write(path);
    let lines = [name("int main(void)"), name("#pragma omp parallel")];
    std::fs::write(source, lines.join("\n")).unwrap();
}

/// A second of work outside of OpenMP at a stack.
pub(crate) fn work(make: &mut Builder, thread: ThreadId, stack: StackId) {
    let samples = [(stack, SampleKind::User, 10)];
    let state = (ThreadStateId::OUTSIDE, Scheduling::Running);
    time(make, thread, state, 1_000, &samples);
}

/// A job of three ranks, and what is known of its waits:
///
/// | call | rank | waits | for |
/// |---|---|---|---|
/// | `MPI_Recv`, line 20 | 1 | 300 ms | rank 0, which sends late: it computes |
/// | `MPI_Recv`, line 20 | 2 | 100 ms | rank 1, which sends late: it is in `MPI_Recv` for 50 ms of that, and computes |
/// | `MPI_Ssend`, line 30 | 0 | 150 ms | rank 2, which posts its receive late |
/// | `MPI_Barrier`, line 40 | 0, 1 | 100 ms, 200 ms | rank 2 |
/// | `MPI_Bcast`, line 50 | 1, 2 | 50 ms each | rank 0, the root |
/// | `MPI_Reduce`, line 60 | 0, the root | 80 ms | rank 1 |
pub(crate) fn job() -> Job {
    use mpi::Function::{MPI_Barrier, MPI_Bcast, MPI_Recv, MPI_Reduce, MPI_Send, MPI_Ssend};
    let mut job = Job::new(3, 2_500);
    // Late senders.
    job.call(0, MPI_Send, 21, [300, 310]).sent = 1_000;
    job.call(1, MPI_Recv, 20, [0, 320]).received = 1_000;
    job.message(&Message {
        from: 0,
        to: 1,
        sent: Some([300, 310]),
        received: Some([0, 320]),
    });
    job.call(1, MPI_Send, 21, [370, 380]).sent = 1_000;
    job.call(2, MPI_Recv, 20, [270, 390]).received = 1_000;
    job.message(&Message {
        from: 1,
        to: 2,
        sent: Some([370, 380]),
        received: Some([270, 390]),
    });
    // A late receiver.
    job.call(0, MPI_Ssend, 30, [450, 610]).sent = 1_000;
    job.call(2, MPI_Recv, 31, [600, 620]).received = 1_000;
    job.message(&Message {
        from: 0,
        to: 2,
        sent: Some([450, 610]),
        received: Some([600, 620]),
    });
    for (rank, times) in [(0, [800, 910]), (1, [700, 910]), (2, [900, 910])] {
        job.call(rank, MPI_Barrier, 40, times);
    }
    for (rank, times) in [
        (0, [1_050, 1_060]),
        (1, [1_000, 1_060]),
        (2, [1_000, 1_070]),
    ] {
        job.call(rank, MPI_Bcast, 50, times).peer = 1;
    }
    for (rank, times) in [
        (0, [1_100, 1_190]),
        (1, [1_180, 1_185]),
        (2, [1_150, 1_160]),
    ] {
        job.call(rank, MPI_Reduce, 60, times).peer = 1;
    }
    job
}

/// A job of four ranks, in which rank 3 is late. Rank 0 waits for a message from rank 1, that for one from rank 2, that for
/// one from rank 3, which computes until 500 ms, 40 ms of which it has no CPU. Then all wait for rank 2 at a barrier.
fn late() -> Job {
    use mpi::Function::{MPI_Barrier, MPI_Recv, MPI_Send};
    let mut job = Job::new(4, 1_000);
    for (from, received, sent) in [(3, 100, 500), (2, 50, 530), (1, 20, 560)] {
        job.call(from, MPI_Send, 21, [sent, sent + 5]).sent = 1_000;
        let call = job.call(from - 1, MPI_Recv, 20, [received, sent + 10]);
        call.received = 1_000;
        job.message(&Message {
            from,
            to: from - 1,
            sent: Some([sent, sent + 5]),
            received: Some([received, sent + 10]),
        });
    }
    for (rank, came) in [(0, 600), (1, 610), (2, 650), (3, 640)] {
        job.call(rank, MPI_Barrier, 40, [came, 660]);
    }
    job.interval(3, (State::Serial, Scheduling::Preempted), [400, 440]);
    job.samples(3, ("flux", 88), [0, 400]);
    job.samples(3, ("flux", 88), [440, 500]);
    job.samples(2, ("exchange", 10), [540, 650]);
    job
}

/// The job, as `job.r0.er` and so on; the late one, as `late.r0.er` and so on; as `far.r0.er` and so on where rank 2 is on another host; as `part.r0.er` and so on where rank 1 was killed before it received and sent, and
/// rank 2 has no recording.
pub(crate) fn jobs(folder: &Path) {
    job().write(folder, "job");
    late().write(folder, "late");
    let mut far = job();
    far.ranks[2].header.host = "elm".to_owned();
    far.write(folder, "far");
    let mut part = job();
    let killed = &mut part.ranks[1];
    killed.header.killed_by = Some("SIGKILL".to_owned());
    killed.header.duration_ns = 350_000_000;
    killed.sums.truncate(1);
    killed.sums[0].time = Nanos(350_000_000);
    killed.mpi_calls.truncate(0);
    killed.mpi_messages.truncate(0);
    part.ranks.truncate(2);
    part.write(folder, "part");
}
