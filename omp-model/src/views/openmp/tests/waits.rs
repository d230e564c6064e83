//! Where threads wait, and what follows from what stands there.

use experiment::Packed;
use experiment::ids::{ContextId, FrameId, Nanos, StackId, ThreadId, ThreadStateId};
use experiment::rows::{LoopSum, Sum};
use experiment::state::{Scheduling, State};
use experiment::symbols::{CodeFact, Contention, Directive, Workshare};
use experiment::tables::{
    ContextKind, Frame, Loop, LoopClause, Module, RuntimeKind, Schedule, Stack, StackEntry,
    ThreadState,
};

use super::super::advice::{Loss, Reason};
use super::super::first::First;
use super::super::regions::regions;
use super::super::test_run::{MS, ROOT, TestRun, close};
use crate::profile::Item;

/// A call of the program's into the runtime, with the construct that the source has there.
fn call(test: &mut TestRun, construct: Option<Workshare>) -> FrameId {
    let module = test.tables.module(Module {
        path: "/app/prog".to_owned(),
        build_id: String::new(),
        runtime: RuntimeKind::None,
    });
    let address = 0x400 + test.symbols.directives.len() as u64;
    let call = test.tables.frame(Frame { module, address });
    let function = test.function(module, "solve");
    let frames = &mut test.symbols.frames;
    frames.resize(frames.len().max(call.index() + 1), Default::default());
    frames[call.index()].function = Some(function);
    if let Some(construct) = construct {
        let directive = Directive {
            line: 7,
            last: 9,
            construct,
            level: 0,
            is_nearest: false,
        };
        test.symbols.directives.push((call, directive));
    }
    call
}

/// Adds milliseconds that a thread waits in a call.
fn wait(test: &mut TestRun, thread: u32, at: (State, ContextId, FrameId), length: u64) {
    let (state, context, call) = at;
    test.run(thread, state, context, length);
    let thread_state = test.tables.thread_state(ThreadState {
        state,
        context,
        call,
    });
    let mut sums: Vec<Sum> = test.sums.iter().collect();
    let last = sums.last_mut().expect("it has just been added");
    last.thread_state = ThreadStateId(thread_state.0);
    let interval = test.intervals.last_mut().expect("it has just been added");
    interval.thread_state = ThreadStateId(thread_state.0);
    test.sums = sums.into_iter().collect();
}

fn first_loss(test: &TestRun) -> Loss {
    let (profile, names, measured) = (test.profile(), test.names(), test.measured());
    let rows = regions(&profile, &names, &measured);
    let first = First::of(&profile, &names, &measured, &rows, true).unwrap();
    first.losses.into_iter().next().expect("a loss")
}

/// A region in which `work` milliseconds of two threads end in a barrier.
fn until_barrier(construct: Option<Workshare>, state: State, work: [u64; 2]) -> TestRun {
    let mut test = TestRun::new(2, 100);
    let region = test.construct(ROOT, ContextKind::Region, 0x40);
    let call = call(&mut test, construct);
    for (thread, work) in (0..).zip(work) {
        test.run(thread, State::Work, region, work);
        if work < 100 {
            wait(&mut test, thread, (state, region, call), 100 - work);
        }
    }
    test.instance(region, 0, 100, &work);
    test
}

/// Whoever executes a single works while the others wait. Another thread may do so each time: then their
/// work is even in the sum.
#[test]
fn a_single_is_to_be_shared_out_whoever_executes_it() {
    let one = first_loss(&until_barrier(
        Some(Workshare::Single),
        State::ImplicitBarrier,
        [100, 40],
    ));
    assert!(
        one.hint.starts_with("share out what is in the single"),
        "{}",
        one.hint
    );

    let mut test = TestRun::new(2, 200);
    let region = test.construct(ROOT, ContextKind::Region, 0x40);
    let call = call(&mut test, Some(Workshare::Single));
    for (heavy, light) in [(0, 1), (1, 0)] {
        test.run(heavy, State::Work, region, 100);
        test.run(light, State::Work, region, 40);
        wait(&mut test, light, (State::ImplicitBarrier, region, call), 60);
    }
    test.instance(region, 0, 200, &[140, 140]);
    let turns = first_loss(&test);
    assert_eq!(
        turns.finding,
        "one thread executes a single, and the others wait for it: most of 0.120 s"
    );
    assert_eq!(turns.hint, one.hint);
}

/// The directive's place is told, and a master is one thing that may stand before it.
#[test]
fn one_thread_that_comes_last_to_a_barrier_directive_may_work_alone_before_it() {
    let loss = first_loss(&until_barrier(None, State::ExplicitBarrier, [100, 40]));
    assert!(loss.hint.contains("master, masked"), "{}", loss.hint);
    let implicit = first_loss(&until_barrier(None, State::ImplicitBarrier, [100, 40]));
    assert!(!implicit.hint.contains("master"), "{}", implicit.hint);
}

/// A loop of `trip` iterations, one thread of two with `work` of its 100 milliseconds.
fn loop_of(trip: [u64; 2]) -> Loss {
    let mut test = until_barrier(Some(Workshare::Loop), State::ImplicitBarrier, [100, 50]);
    let call = test.symbols.directives[0].0;
    let construct = test.tables.loop_id(Loop {
        call,
        schedule: Schedule::Static,
        clause: LoopClause::Plain,
    });
    let of = |(thread, iterations): (u32, u64)| LoopSum {
        slice: 0,
        thread: ThreadId(thread),
        construct,
        chunk: 0,
        instances: 1,
        iterations,
        chunks: 1,
        time: Nanos(50 * MS),
        calls_time: Nanos(0),
        calls: 0,
    };
    test.loop_sums = (0..).zip(trip).map(of).collect::<Packed<LoopSum>>();
    test.symbols.files.push("/app/prog.c".to_owned());
    test.line(call, 8);
    first_loss(&test)
}

/// No schedule divides three iterations evenly between two threads.
#[test]
fn a_loop_of_few_iterations_is_not_told_to_change_its_schedule() {
    let few = loop_of([2, 1]);
    assert!(
        few.hint
            .starts_with("3 iterations are too few for 2 threads: collapse"),
        "{}",
        few.hint
    );
    assert_eq!(few.location.line, Some(7), "the directive's");
    let many = loop_of([2, 2]);
    assert!(
        many.hint.starts_with("try schedule(dynamic)"),
        "{}",
        many.hint
    );
    assert!(!many.hint.contains("collapse"), "{}", many.hint);
}

/// Threads that share a CPU come to a barrier one after the other, although their work is even.
#[test]
fn more_threads_than_cpus_are_the_cause_of_their_waits() {
    let with = |cpus: u32| {
        let mut test = until_barrier(None, State::ImplicitBarrier, [40, 40]);
        test.cpus = cpus;
        first_loss(&test)
    };
    let shared = with(1);
    assert_eq!(
        shared.hint,
        "use no more threads than CPUs (OMP_NUM_THREADS)"
    );
    assert!(
        shared.finding.contains("2 threads share 1 CPUs"),
        "{}",
        shared.finding
    );
    assert!(!with(2).hint.contains("OMP_NUM_THREADS"));
}

/// Work that is even in the sum, and uneven before each barrier, is told from threads that are late for another
/// reason.
#[test]
fn work_that_is_uneven_in_turns_is_told_from_other_delays() {
    let turns = |between: State| {
        let mut test = TestRun::new(2, 200);
        let region = test.construct(ROOT, ContextKind::Region, 0x40);
        for (heavy, light) in [(0, 1), (1, 0)] {
            test.run(heavy, State::Work, region, 40);
            test.run(heavy, between, region, 60);
            test.run(light, State::Work, region, 40);
            test.run(light, State::ImplicitBarrier, region, 60);
        }
        let work = if between == State::Work { 140 } else { 80 };
        test.instance(region, 0, 200, &[work, work]);
        let loss = first_loss(&test);
        (loss.finding, loss.hint)
    };
    let (finding, hint) = turns(State::Work);
    assert_eq!(
        finding,
        "the work is even (load balance 1.00), but not before each barrier: now one thread has more to do, now \
         another"
    );
    assert!(hint.contains("nowait"), "{hint}");
    let (finding, _) = turns(State::Atomic);
    assert_eq!(finding, "the work is even (load balance 1.00)");
}

/// Threads that wait for a mutex whose holder sleeps wait for what it does: that is to leave the mutex.
#[test]
fn sleeps_that_others_wait_for_are_told() {
    let asleep = |blame: f64, inferred: bool| {
        let mut test = TestRun::new(2, 100);
        let region = test.construct(ROOT, ContextKind::Region, 0x40);
        test.run(0, State::Work, region, 20);
        test.be(0, (State::Work, Scheduling::Blocked), region, 80);
        test.run(1, State::Work, region, 100);
        test.instance(region, 0, 100, &[20, 100]);
        let at = call(&mut test, None);
        test.symbols.files.push("/app/prog.c".to_owned());
        test.line(at, 8);
        let (mut profile, names, measured) = (test.profile(), test.names(), test.measured());
        let path = test.path(&mut profile, at);
        for item in profile.items.iter_mut().filter(|item| !item.is_on_cpu()) {
            item.path = path;
            item.blame = blame;
            item.inferred = inferred;
        }
        let rows = regions(&profile, &names, &measured);
        let first = First::of(&profile, &names, &measured, &rows, true).unwrap();
        first.losses.into_iter().next().expect("a loss")
    };
    let (free, held) = (asleep(0.0, false), asleep(0.05, false));
    let guessed = asleep(0.05, true);
    assert_eq!(guessed.location.line, None, "no sample shows where");
    assert!(
        guessed.finding.ends_with("of their work"),
        "{}",
        guessed.finding
    );
    assert_eq!(held.location.line, Some(8), "where it sleeps");
    assert_eq!(
        held.finding,
        "threads slept for 0.080 s in the middle of their work, most of it in solve; meanwhile others waited \
         0.050 s for mutexes that they held"
    );
    assert!(held.hint.contains("critical sections"), "{}", held.hint);
    assert!(!free.hint.contains("critical sections"), "{}", free.hint);
}

/// Threads take a cache line from each other at atomic operations, which no event tells: that time is a loss. At
/// stores to elements side by side it may be, so that it is a hint without a gain.
#[test]
fn work_at_contended_instructions_is_told() {
    let found = |kind: Option<Contention>, at_it: u64| {
        let mut test = TestRun::new(2, 100);
        let region = test.construct(ROOT, ContextKind::Region, 0x40);
        for thread in 0..2 {
            test.run(thread, State::Work, region, at_it);
            test.run(thread, State::Work, region, 100 - at_it);
        }
        test.instance(region, 0, 100, &[100, 100]);
        let at = call(&mut test, None);
        test.symbols.files.push("/app/prog.c".to_owned());
        test.line(at, 8);
        let fact = CodeFact {
            contention: kind,
            ..CodeFact::default()
        };
        test.symbols.code.push((at, fact));
        let stack = test.tables.stack(Stack {
            callers: StackId::EMPTY,
            entry: StackEntry::Frame(at),
        });
        let mut profile = test.profile();
        let path = test.path(&mut profile, at);
        let works: Vec<Item> = profile.items.drain(..).collect();
        for item in works {
            let here = at_it as f64 / 1e3;
            let rest = item.seconds - here;
            profile.items.push(Item {
                seconds: rest,
                ..item
            });
            let seconds = here;
            profile.items.push(Item {
                path,
                stack,
                seconds,
                ..item
            });
        }
        let (names, measured) = (test.names(), test.measured());
        let rows = regions(&profile, &names, &measured);
        First::of(&profile, &names, &measured, &rows, true).unwrap()
    };
    let atomics = found(Some(Contention::Atomic), 80);
    let [loss] = &atomics.losses[..] else {
        panic!("one loss: {:?}", atomics.losses);
    };
    assert_eq!(
        (loss.reason, loss.location.line),
        (Reason::Atomics, Some(8))
    );
    close(loss.seconds, 0.08);
    assert!(
        loss.finding.starts_with(
            "by samples, 80 % of all useful work is at atomic operations, most of it in solve"
        ),
        "{}",
        loss.finding
    );
    assert_eq!(atomics.gain(loss), "without it up to 5.00 times as fast");
    assert_eq!(atomics.neighbours, None);

    let neighbours = found(Some(Contention::Neighbours), 20);
    assert_eq!(neighbours.losses, [], "what it costs is not known");
    let hint = neighbours.before().last().unwrap();
    assert!(
        hint.starts_with("A hint, inferred from the machine code: prog.c:8"),
        "{hint}"
    );
    assert!(hint.contains("20 % of the useful work"), "{hint}");
    assert_eq!(found(Some(Contention::Neighbours), 9).neighbours, None);
    assert_eq!(found(None, 80).losses, []);
}
