//! What the kernel does for a program, and who had its CPUs: for each rule a run that deserves the
//! advice, and one that nearly does.

use experiment::Experiment;
use experiment::ids::{FrameId, Nanos, ProcessId, StackId, ThreadId};
use experiment::rows::LoopSum;
use experiment::state::{Scheduling, State};
use experiment::tables::{ContextKind, Loop, LoopClause, Schedule, Thread, ThreadKind};

use super::super::advice::{Loss, Reason};
use super::super::crowd::{Cpus, Crowd};
use super::super::first::First;
use super::super::gain::Cause;
use super::super::regions::regions;
use super::super::test_run::{ROOT, TestRun, close, put_into_kernel};
use crate::states::RefinedState;

const FAULT: [&str; 2] = ["asm_exc_page_fault", "clear_page"];
const BRK: [&str; 3] = ["do_syscall_64", "__do_sys_brk", "unmap_region"];
const WRITE: [&str; 2] = ["do_syscall_64", "__x64_sys_write"];

/// Time in the kernel: thread, state, milliseconds, functions.
type InKernel<'a> = (u32, RefinedState, u64, &'a [&'a str]);

fn first(mut test: TestRun, in_kernel: &[InKernel<'_>]) -> First {
    let stacks = in_kernel
        .iter()
        .map(|(.., functions)| test.kernel_stack(functions));
    let stacks: Vec<StackId> = stacks.collect();
    let mut profile = test.profile();
    for (&(thread, state, length, _), stack) in in_kernel.iter().zip(stacks) {
        put_into_kernel(&mut profile, (thread, state), length, stack);
    }
    let rows = regions(&profile, &test.names(), &test.measured());
    First::of(&profile, &test.names(), &test.measured(), &rows, true).unwrap()
}

fn loss(first: &First, reason: Reason) -> Option<&Loss> {
    first.losses.iter().find(|loss| loss.reason == reason)
}

/// 100 ms of serial code, then a region in which both threads work for 100 ms.
fn serial_and_parallel() -> TestRun {
    let mut test = TestRun::new(2, 200);
    let region = test.construct(ROOT, ContextKind::Region, 0x40);
    test.run(0, State::Serial, ROOT, 100);
    test.run(1, State::Idle, ROOT, 100);
    for thread in 0..2 {
        test.run(thread, State::Work, region, 100);
    }
    test.instance(region, 0, 100, &[100, 100]);
    test
}

/// A region in which both threads wait for a lock, are in the runtime and work.
fn locking(wait: u64, overhead: u64) -> TestRun {
    let mut test = TestRun::new(2, 100);
    let region = test.construct(ROOT, ContextKind::Region, 0x40);
    let work = 100 - wait - overhead;
    for thread in 0..2 {
        test.run(thread, State::Lock, region, wait);
        test.run(thread, State::Overhead, region, overhead);
        test.run(thread, State::Work, region, work);
    }
    test.instance(region, 0, 100, &[work, work]);
    test
}

#[test]
fn taking_and_releasing_locks_is_not_called_scheduling() {
    const RELEASE: [&str; 3] = ["omp_unset_lock", "do_syscall_64", "__x64_sys_futex"];
    const TEAM: [&str; 3] = ["GOMP_parallel", "do_syscall_64", "__x64_sys_futex"];
    let found = |wait: u64, functions: &[&str]| {
        let overhead = RefinedState::Overhead;
        let both = [0, 1].map(|thread| (thread, overhead, 40, functions));
        first(locking(wait, 40), &both)
    };
    let [lock, scheduling] = [Cause::Lock, Cause::Scheduling].map(Reason::Region);

    // Threads that wait for a lock are woken by the release.
    let woken = found(30, &RELEASE);
    let loss_of_lock = loss(&woken, lock).unwrap();
    close(loss_of_lock.seconds, 0.07);
    assert_eq!(
        loss_of_lock.finding,
        "0.060 s on 2 threads, and 0.080 s to take and release them"
    );
    let hint = &loss_of_lock.hint;
    assert!(hint.starts_with("take them less often"), "{hint}");
    assert_eq!(loss(&woken, scheduling), None);

    // Mostly waits, and the same time spent on waking a team.
    let waits = found(50, &RELEASE);
    let hint = &loss(&waits, lock).unwrap().hint;
    assert!(hint.starts_with("do less while holding it"), "{hint}");
    let forks = found(30, &TEAM);
    close(loss(&forks, lock).unwrap().seconds, 0.03);
    let hint = &loss(&forks, scheduling).unwrap().hint;
    assert!(hint.contains("OMP_WAIT_POLICY=active"), "{hint}");
}

const WORK: RefinedState = RefinedState::Work;
const SERIAL: RefinedState = RefinedState::Serial;

#[test]
fn page_faults_are_said_to_be_page_faults() {
    // Freed memory goes back to the kernel and faults in again.
    let found = first(
        serial_and_parallel(),
        &[
            (0, WORK, 20, &FAULT),
            (1, WORK, 20, &FAULT),
            (0, SERIAL, 10, &BRK),
        ],
    );
    let memory = loss(&found, Reason::Memory).unwrap();
    close(memory.seconds, 0.025);
    assert_eq!(
        memory.finding,
        "by samples, 17 % of all useful work, the largest part here: page faults 0.040 s, brk 0.010 s"
    );
    assert!(memory.hint.contains("MALLOC_TOP_PAD_"), "{}", memory.hint);

    // The heap only grows.
    let found = first(
        serial_and_parallel(),
        &[
            (0, WORK, 20, &FAULT),
            (1, WORK, 20, &FAULT),
            (0, SERIAL, 5, &BRK),
        ],
    );
    let memory = loss(&found, Reason::Memory).unwrap();
    assert!(
        memory.hint.contains("touched for the first time"),
        "{}",
        memory.hint
    );

    // Less than a hundredth of the run.
    let found = first(serial_and_parallel(), &[(0, WORK, 3, &FAULT)]);
    assert_eq!(loss(&found, Reason::Memory), None);

    // The kernel writes a file: that is not memory.
    let found = first(serial_and_parallel(), &[(0, WORK, 50, &WRITE)]);
    assert_eq!(loss(&found, Reason::Memory), None);
}

#[test]
fn serial_code_in_the_kernel_is_not_told_to_become_a_region() {
    let found = first(serial_and_parallel(), &[(0, SERIAL, 60, &BRK)]);
    let serial = loss(&found, Reason::Serial).unwrap();
    close(serial.seconds, 0.05);
    let words = "works outside every region for 0.100 s, 0.060 s of it in the kernel by samples \
                 (brk 0.060 s)";
    assert!(serial.finding.contains(words), "{}", serial.finding);
    assert!(serial.hint.contains("MALLOC_TOP_PAD_"), "{}", serial.hint);

    let found = first(serial_and_parallel(), &[(0, SERIAL, 60, &WRITE)]);
    let serial = loss(&found, Reason::Serial).unwrap();
    assert!(
        serial.hint.contains("fewer and larger system calls"),
        "{}",
        serial.hint
    );

    // Most of it is the program's own code.
    let found = first(serial_and_parallel(), &[(0, SERIAL, 45, &BRK)]);
    let serial = loss(&found, Reason::Serial).unwrap();
    assert!(serial.hint.contains("parallel region"), "{}", serial.hint);
}

/// Thread 0 works 160 ms, the other 40.
fn uneven() -> TestRun {
    let mut test = TestRun::new(2, 160);
    let region = test.construct(ROOT, ContextKind::Region, 0x40);
    test.run(0, State::Work, region, 160);
    test.run(1, State::Work, region, 40);
    test.run(1, State::ImplicitBarrier, region, 120);
    test.instance(region, 0, 160, &[160, 40]);
    test
}

#[test]
fn no_schedule_is_advised_against_system_time() {
    let imbalance = Reason::Region(Cause::Imbalance);
    let found = first(uneven(), &[(0, WORK, 80, &FAULT)]);
    let uneven_faults = loss(&found, imbalance).unwrap();
    assert_eq!(
        uneven_faults.finding,
        "thread 100 works 1.6 times the mean, 0.080 s of it in the kernel by samples (all threads \
         0.080 s of 0.200 s)"
    );
    assert!(
        !uneven_faults.hint.contains("schedule("),
        "{}",
        uneven_faults.hint
    );

    // Both threads are in the kernel for as long: the rest is uneven.
    let found = first(uneven(), &[(0, WORK, 30, &FAULT), (1, WORK, 30, &FAULT)]);
    let uneven = loss(&found, imbalance).unwrap();
    assert!(
        uneven.hint.contains("try schedule(dynamic)"),
        "{}",
        uneven.hint
    );

    let in_runtime = |kernel: u64, schedule: Schedule| {
        let mut test = TestRun::new(2, 100);
        let construct = test.tables.loop_id(Loop {
            call: FrameId::NONE,
            schedule,
            clause: LoopClause::Plain,
        });
        test.loop_sums.push(LoopSum {
            slice: 0,
            thread: ThreadId(0),
            construct,
            chunk: 1,
            instances: 1,
            iterations: 100,
            chunks: 50,
            time: Nanos(0),
            calls_time: Nanos(0),
            calls: 0,
        });
        let region = test.construct(ROOT, ContextKind::Region, 0x40);
        for thread in 0..2 {
            test.run(thread, State::Overhead, region, 40);
            test.run(thread, State::Work, region, 60);
        }
        test.instance(region, 0, 100, &[60, 60]);
        let overhead = RefinedState::Overhead;
        let futex: &[&str] = &["do_syscall_64", "__x64_sys_futex"];
        let found = first(
            test,
            &[(0, overhead, kernel, futex), (1, overhead, kernel, futex)],
        );
        let lost = loss(&found, Reason::Region(Cause::Scheduling)).unwrap();
        lost.hint.clone()
    };
    let hint = in_runtime(30, Schedule::Dynamic);
    assert!(hint.contains("OMP_WAIT_POLICY=active"), "{hint}");
    let hint = in_runtime(15, Schedule::Dynamic);
    assert!(hint.contains("schedule(static)"), "{hint}");
    // Loops of one chunk for each thread have no larger ones.
    let hint = in_runtime(15, Schedule::Static);
    assert!(hint.contains("nowait"), "{hint}");
}

#[test]
fn useful_work_is_divided_into_user_code_and_the_kernel() {
    let found = first(
        serial_and_parallel(),
        &[
            (0, WORK, 20, &FAULT),
            (1, WORK, 20, &FAULT),
            (0, SERIAL, 10, &BRK),
        ],
    );
    let parts = found.parts();
    let lines: Vec<(u32, &str)> = parts.iter().map(|it| (it.0, it.1.as_str())).collect();
    assert_eq!(
        lines,
        [
            (0, "useful work"),
            (1, "user code"),
            (1, "kernel, by samples"),
            (2, "page faults"),
            (2, "brk"),
            (0, "serial code, others idle"),
        ]
    );
    let seconds = |at: usize| parts[at].2;
    close(seconds(0), 0.15);
    close(seconds(1) + seconds(2), seconds(0));
    close(seconds(2), 0.025);
    close(seconds(3) + seconds(4), seconds(2));
    // Where the kernel could not be sampled, nothing is known to be user code.
    assert!(
        first(serial_and_parallel(), &[])
            .parts()
            .iter()
            .all(|part| part.0 == 0)
    );
}

/// Two threads that are ready to run for half of a second each, on two CPUs. `own` lets threads of
/// the program use these CPUs meanwhile, in a state.
fn crowded(own: Option<State>, threads: u32) -> TestRun {
    let mut test = TestRun::new(threads, 1_000);
    test.cpus = 2;
    for thread in 0..2 {
        test.run(thread, State::Serial, ROOT, 500);
        test.be(thread, (State::Serial, Scheduling::Preempted), ROOT, 500);
    }
    for thread in 2..threads {
        let sleeps = (State::Idle, Scheduling::Blocked);
        match own {
            Some(state) => {
                test.be(thread, sleeps, ROOT, 500);
                test.run(thread, state, ROOT, 500);
            }
            None => test.be(thread, sleeps, ROOT, 1_000),
        }
    }
    test
}

/// Who had the CPUs then.
fn crowd(own: Option<State>, threads: u32) -> Crowd {
    let test = crowded(own, threads);
    let crowd = Crowd::of(&test.tables, &test.measured());
    close(crowd.ready, 1.0);
    crowd
}

#[test]
fn those_who_had_the_cpus_are_named() {
    let others = crowd(None, 2);
    close(others.others, 1.0);
    let words = others.words().unwrap();
    assert!(
        words.contains(
            "the CPUs ran other programs (or none, by a limit of the container) for about 1.000 s"
        ),
        "{words}"
    );

    // Six more threads than CPUs, but they sleep.
    assert_eq!(crowd(None, 8).others, others.others);

    // Two of the program's own threads have the CPUs: they work, as the other two did before.
    let own = crowd(Some(State::Serial), 4);
    close(own.working, 1.0);
    assert!(
        own.hint().starts_with("use no more threads than CPUs"),
        "{}",
        own.hint()
    );
    assert!(own.words().unwrap().contains("own threads at work"));

    // They are threads that the program made itself.
    let mut test = crowded(Some(State::Serial), 4);
    for thread in [2, 3] {
        test.tables.threads[thread].kind = ThreadKind::Other;
    }
    let own = Crowd::of(&test.tables, &test.measured());
    close(own.outside, 0.5);
    close(own.working, 0.5);
    assert!(
        own.words()
            .unwrap()
            .contains("threads that OpenMP did not make for about 0.500 s")
    );

    // They spin in barriers: half of all time on CPUs.
    let spin = crowd(Some(State::ImplicitBarrier), 4);
    close(spin.spinning, 0.5);
    close(spin.working, 0.5);

    // A little more than nothing is not worth a sentence before all others.
    let mut test = TestRun::new(1, 1_000);
    test.cpus = 2;
    test.run(0, State::Serial, ROOT, 950);
    test.be(0, (State::Serial, Scheduling::Preempted), ROOT, 50);
    assert_eq!(Crowd::of(&test.tables, &test.measured()).words(), None);
}

/// The CPUs that an experiment's threads had, all together and those of a process, of `given` ones. `processes`
/// has the machine of each, the CPUs that it could have, and the kind of its thread.
fn had(given: u32, processes: &[(u32, &[u32], ThreadKind)]) -> (u32, u32) {
    let mut experiment = Experiment::default();
    experiment.header.cpus = given;
    let one = TestRun::new(1, 1);
    for (&(machine, cpus, kind), process) in processes.iter().zip((0..).map(ProcessId)) {
        experiment.machines.push(machine);
        experiment.header.process_cpus.push(cpus.to_vec());
        experiment.tables.threads.push(Thread {
            process,
            kind,
            ..one.tables.threads[0].clone()
        });
    }
    let Cpus { all, each } = Cpus::had(&experiment);
    (all, each)
}

#[test]
fn threads_that_are_bound_have_only_their_cpus() {
    let initial = ThreadKind::Initial;
    assert_eq!(had(4, &[(0, &[3], initial)]), (1, 1));
    assert_eq!(had(4, &[(0, &[0, 3], initial)]), (2, 2));
    // The ranks of a program, and the shell that started them.
    let (zero, one) = ((0, &[0][..], initial), (0, &[1][..], initial));
    let shell = (0, &[][..], ThreadKind::Outside);
    assert_eq!(had(2, &[shell, zero, one]), (2, 1));
    assert_eq!(had(2, &[zero, zero]), (1, 1));
    // CPUs of the same number on two machines.
    let both = &[0, 1][..];
    assert_eq!(had(4, &[(0, both, initial), (1, both, initial)]), (4, 2));
    // Of what is not known nothing is said.
    assert_eq!(had(4, &[zero, (0, &[], initial)]), (4, 4));
    assert_eq!(had(4, &[]), (4, 4));
}
