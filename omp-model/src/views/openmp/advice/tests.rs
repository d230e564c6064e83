//! The advice for runs whose losses are known by construction.

use experiment::Packed;
use experiment::ids::{ContextId, Nanos, ThreadId};
use experiment::rows::TaskSum;
use experiment::state::{Scheduling, State};
use experiment::tables::ContextKind;

use super::{Loss, Reason, losses};
use crate::views::openmp::crowd::Crowd;
use crate::views::openmp::first::First;
use crate::views::openmp::gain::Cause;
use crate::views::openmp::regions::regions;
use crate::views::openmp::test_run::{MS, ROOT, TestRun, close, rows, run, unbalanced};

#[test]
fn the_largest_loss_is_said_first_with_what_follows_from_it() {
    let test = unbalanced();
    let (profile, measured) = (test.profile(), test.measured());
    let found = losses(
        &profile,
        &test.names(),
        &measured,
        &rows(&test),
        (&run(&test), &Crowd::default()),
        &[],
    );
    let reasons: Vec<Reason> = found.iter().map(|loss| loss.reason).collect();
    assert_eq!(reasons, [Reason::Region(Cause::Imbalance), Reason::Serial]);
    close(found[0].seconds, 0.225);
    close(found[0].share, 0.45);
    assert_eq!(found[0].finding, "thread 100 works 2.3 times the mean");
    assert!(found[0].hint.contains("try schedule(dynamic)"));
    // Three of four threads idle for 100 ms.
    close(found[1].seconds, 0.075);
}

fn first_loss(test: &TestRun) -> Loss {
    let (profile, measured) = (test.profile(), test.measured());
    let mut found = losses(
        &profile,
        &test.names(),
        &measured,
        &rows(test),
        (&run(test), &Crowd::default()),
        &[],
    );
    found.swap_remove(0)
}

fn first_finding(test: &TestRun) -> String {
    first_loss(test).finding
}

/// So many tasks of thread 1 that work for `work` milliseconds together.
fn tasks(context: ContextId, count: u32, work: u64) -> TaskSum {
    TaskSum {
        slice: 0,
        context,
        thread: ThreadId(1),
        instances: count,
        unfinished: 0,
        elsewhere: count,
        work: Nanos(work * MS),
        least: Nanos(0),
        most: Nanos(work * MS),
        squares: 0,
    }
}

/// Two threads that work and then wait, in instances that are all alike.
fn even(instances: u32) -> TestRun {
    waiting(instances, Scheduling::Running)
}

/// The same, with waits in which the threads spin or sleep.
fn waiting(instances: u32, wait: Scheduling) -> TestRun {
    let mut test = TestRun::new(2, 100);
    let region = test.construct(ROOT, ContextKind::Region, 0x40);
    for thread in 0..2 {
        test.run(thread, State::Work, region, 40);
        test.be(thread, (State::ImplicitBarrier, wait), region, 60);
    }
    test.instance(region, 0, 100, &[40, 40]);
    test.set_instances(0, instances);
    test
}

#[test]
fn serial_code_that_lost_its_cpu_is_not_told_to_block_elsewhere() {
    let serial = |scheduling: Scheduling| {
        let mut test = TestRun::new(2, 200);
        let region = test.construct(ROOT, ContextKind::Region, 0x40);
        test.run(0, State::Serial, ROOT, 20);
        test.be(0, (State::Serial, scheduling), ROOT, 80);
        test.run(1, State::Idle, ROOT, 100);
        for thread in 0..2 {
            test.run(thread, State::Work, region, 100);
        }
        test.instance(region, 0, 100, &[100, 100]);
        let loss = first_loss(&test);
        assert_eq!(loss.reason, Reason::SerialOffCpu);
        loss
    };
    let preempted = serial(Scheduling::Preempted);
    assert!(
        preempted
            .finding
            .starts_with("one of 2 threads has work to do but no CPU outside every region"),
        "{}",
        preempted.finding
    );
    assert!(
        preempted.hint.contains("OMP_NUM_THREADS"),
        "{}",
        preempted.hint
    );
    let blocked = serial(Scheduling::Blocked);
    assert!(
        blocked.hint.starts_with("do what blocks"),
        "{}",
        blocked.hint
    );
}

/// What a team is late for once cannot be avoided by fewer regions.
#[test]
fn the_only_region_of_a_program_is_not_to_be_joined_with_others() {
    let late = |times: u64| {
        let mut test = TestRun::new(2, 200);
        let region = test.construct(ROOT, ContextKind::Region, 0x40);
        for thread in 0..2 {
            let late = 100 * thread as u64;
            if late > 0 {
                test.run(thread, State::Idle, ROOT, late);
            }
            test.run(thread, State::Work, region, 200 - late);
        }
        for _ in 0..times {
            test.instance(region, 0, 200 / times, &[100, 100]);
        }
        let losses = first_loss(&test);
        assert_eq!(losses.reason, Reason::Region(Cause::Scheduling));
        losses.hint
    };
    assert!(late(1).contains("once"), "{}", late(1));
    assert!(late(2).starts_with("make one region"), "{}", late(2));
}

#[test]
fn causes_of_imbalance_are_distinguished() {
    // One thread does everything, as in a single construct.
    let mut test = TestRun::new(4, 100);
    let region = test.construct(ROOT, ContextKind::Region, 0x40);
    test.run(0, State::Work, region, 100);
    for thread in 1..4 {
        test.run(thread, State::ImplicitBarrier, region, 100);
    }
    test.instance(region, 0, 100, &[100, 0, 0, 0]);
    assert_eq!(
        first_finding(&test),
        "thread 100 does 100 % of the work alone"
    );

    // A different thread is the heavy one in each instance.
    let mut test = TestRun::new(2, 200);
    let region = test.construct(ROOT, ContextKind::Region, 0x40);
    for (heavy, light) in [(0, 1), (1, 0)] {
        test.run(heavy, State::Work, region, 100);
        test.run(light, State::Work, region, 20);
        test.run(light, State::ImplicitBarrier, region, 80);
        test.instance(region, 0, 100, &[100, 20]);
    }
    assert_eq!(
        first_finding(&test),
        "the work is uneven (load balance 0.60), each time on another thread"
    );

    // Differences that come and go are small beside the work: a schedule hardly changes them.
    let mut test = TestRun::new(2, 200);
    let region = test.construct(ROOT, ContextKind::Region, 0x40);
    for (heavy, light) in [(0, 1), (1, 0)] {
        test.run(heavy, State::Work, region, 100);
        test.run(light, State::Work, region, 86);
        test.run(light, State::ImplicitBarrier, region, 14);
        test.instance(region, 0, 100, &[100, 86]);
    }
    let loss = first_loss(&test);
    assert_eq!(
        loss.finding,
        "the work is nearly even (load balance 0.93), each time on another thread"
    );
    assert!(loss.hint.starts_with("a schedule hardly"), "{}", loss.hint);

    // In a single instance nothing is known of other times. Tasks have no schedule.
    let mut test = TestRun::new(2, 100);
    let region = test.construct(ROOT, ContextKind::Region, 0x40);
    for (thread, work) in [(0, 100), (1, 70)] {
        test.run(thread, State::Work, region, work);
        test.run(thread, State::ImplicitBarrier, region, 100 - work);
    }
    test.instance(region, 0, 100, &[100, 70]);
    let said = |test: &TestRun| {
        let loss = first_loss(test);
        (loss.finding, loss.hint)
    };
    let (finding, hint) = said(&test);
    assert_eq!(finding, "the work is uneven (load balance 0.85)");
    assert!(hint.contains("if a static loop divides it"), "{hint}");
    let task = test.construct(region, ContextKind::Task, 0x50);
    test.task_sums = Packed::from_iter([tasks(task, 3, 170)]);
    let (_, hint) = said(&test);
    assert!(hint.starts_with("make more tasks than threads"), "{hint}");

    assert_eq!(
        first_finding(&even(1)),
        "the work is even (load balance 1.00), but not before each barrier: now one thread has more to do, now \
         another"
    );
    assert_eq!(
        first_finding(&even(5_000)),
        "entered 5000 times for 20.0 us each"
    );

    // The work is even, but the threads in the barrier get no CPU.
    let mut test = TestRun::new(2, 100);
    let region = test.construct(ROOT, ContextKind::Region, 0x40);
    let ready = (State::ImplicitBarrier, Scheduling::Preempted);
    for thread in 0..2 {
        test.run(thread, State::Work, region, 40);
        test.be(thread, ready, region, 60);
    }
    test.instance(region, 0, 100, &[40, 40]);
    assert_eq!(
        first_finding(&test),
        "the work is even (load balance 1.00); threads were ready to run for 0.120 s and had no CPU"
    );
    let crowd = Crowd::of(&test.tables, &test.measured());
    close(crowd.ready, 0.12);

    // Work is uneven, and others took the CPU of the thread with most of it: on an idle machine it lasts as
    // long as that thread is on a CPU.
    let mut test = TestRun::new(2, 100);
    let region = test.construct(ROOT, ContextKind::Region, 0x40);
    test.run(0, State::Work, region, 40);
    test.be(0, (State::Work, Scheduling::Preempted), region, 60);
    test.run(1, State::Work, region, 20);
    test.run(1, State::ImplicitBarrier, region, 80);
    test.instance(region, 0, 100, &[40, 20]);
    let profile = test.profile();
    let rows = regions(&profile, &test.names(), &test.measured());
    let first = First::of(&profile, &test.names(), &test.measured(), &rows, true).unwrap();
    let uneven = first
        .losses
        .iter()
        .find(|it| it.reason == Reason::Region(Cause::Imbalance));
    let uneven = uneven.unwrap();
    assert_eq!(
        uneven.finding,
        "thread 100 works 1.3 times the mean; threads had no CPU for a part of it: alone the work would take \
         0.040 s, even 0.030 s"
    );
    assert!(uneven.hint.contains("schedule(dynamic)"), "{}", uneven.hint);

    // The work is even, and threads that sleep are woken often: nobody knows what is late and what is waking.
    let mut test = TestRun::new(2, 1_000);
    let region = test.construct(ROOT, ContextKind::Region, 0x40);
    for thread in 0..2 {
        for _ in 0..500 {
            test.run(thread, State::Work, region, 1);
            let sleep = (State::ExplicitBarrier, Scheduling::Blocked);
            test.be(thread, sleep, region, 1);
        }
    }
    test.instance(region, 0, 1_000, &[500, 500]);
    let loss = first_loss(&test);
    assert!(
        loss.finding
            .contains("threads slept 1000 times in its barriers, for 1000 us each"),
        "{}",
        loss.finding
    );
    assert!(
        loss.hint.contains("OMP_WAIT_POLICY=active") && !loss.hint.contains("nowait"),
        "{}",
        loss.hint
    );

    // One thread does slightly more work, but that is not why the others wait.
    let mut test = TestRun::new(2, 100);
    let region = test.construct(ROOT, ContextKind::Region, 0x40);
    for (thread, work) in [(0, 16), (1, 10)] {
        test.run(thread, State::Work, region, work);
        test.run(thread, State::ImplicitBarrier, region, 100 - work);
    }
    test.instance(region, 0, 100, &[16, 10]);
    let found = first_finding(&test);
    assert!(found.contains("explains little of it"), "{found}");
}

/// The hint for waits depends on what the threads wait for.
#[test]
fn causes_of_other_losses_are_distinguished() {
    // A thread waits for tasks: a few long ones, then so many that their overhead exceeds their
    // work.
    let waiting = |count: u32, work: u64| {
        let mut test = TestRun::new(2, 100);
        let region = test.construct(ROOT, ContextKind::Region, 0x40);
        let task = test.construct(region, ContextKind::Task, 0x50);
        test.run(0, State::TaskWait, region, 100);
        test.run(1, State::Work, task, 100);
        test.instance(region, 0, 100, &[0, 100]);
        test.task_sums = Packed::from_iter([tasks(task, count, work)]);
        first_finding(&test)
    };
    assert_eq!(waiting(2, 100), "0.100 s on 2 threads");
    assert_eq!(
        waiting(20_000, 100),
        "20000 tasks do 5.0 us of work each, and to make one takes 1 to 3 us"
    );
    // Too few tasks to cause such a loss.
    assert_eq!(waiting(200, 1), "0.100 s on 2 threads");

    // In the runtime, or not in the team yet.
    let [inside, late] = [State::Overhead, State::Idle].map(|state| {
        let mut test = TestRun::new(2, 100);
        let region = test.construct(ROOT, ContextKind::Region, 0x40);
        test.run(0, State::Work, region, 100);
        let context = if state == State::Idle { ROOT } else { region };
        test.run(1, state, context, 40);
        test.run(1, State::Work, region, 60);
        test.instance(region, 0, 100, &[100, 60]);
        first_finding(&test)
    });
    assert_eq!(inside, "0.040 s of thread time inside the runtime");
    assert_eq!(late, "threads came 0.040 s late to their team");

    // A thread that sleeps beside one that works all the time delays nobody.
    let asleep = |other: u64| {
        let mut test = TestRun::new(2, 100);
        let region = test.construct(ROOT, ContextKind::Region, 0x40);
        test.run(0, State::Work, region, other);
        test.run(0, State::ImplicitBarrier, region, 100 - other);
        test.run(1, State::Work, region, 50);
        test.be(1, (State::Work, Scheduling::Blocked), region, 50);
        test.instance(region, 0, 100, &[other, 50]);
        let found = first_loss(&test);
        assert_eq!(
            found.finding,
            "threads slept for 0.050 s in the middle of their work"
        );
        found.hint.contains("the first alone")
    };
    assert!(asleep(100));
    assert!(!asleep(60));

    // A thread that waits for a lock without a CPU would not get another lock any sooner.
    let mut test = TestRun::new(2, 100);
    let region = test.construct(ROOT, ContextKind::Region, 0x40);
    test.run(0, State::Work, region, 100);
    test.be(1, (State::Lock, Scheduling::Preempted), region, 80);
    test.run(1, State::Work, region, 20);
    test.instance(region, 0, 100, &[100, 20]);
    assert_eq!(
        first_finding(&test),
        "0.080 s on 2 threads; threads were ready to run for 0.080 s and had no CPU"
    );
}

/// Small regions whose threads sleep lose most of it by waking them; those whose threads spin, or have
/// no CPU, do not.
#[test]
fn threads_that_sleep_between_small_regions_are_to_stay_awake() {
    let says_awake = |test: &TestRun| {
        let (profile, measured) = (test.profile(), test.measured());
        let (rows, run) = (rows(test), run(test));
        let found = losses(
            &profile,
            &test.names(),
            &measured,
            &rows,
            (&run, &Crowd::default()),
            &[],
        );
        assert_eq!(found[0].reason, Reason::Small);
        found[0].hint.contains("OMP_WAIT_POLICY=active")
    };
    assert!(says_awake(&waiting(5_000, Scheduling::Blocked)));
    assert!(!says_awake(&waiting(5_000, Scheduling::Running)));
    assert!(!says_awake(&waiting(5_000, Scheduling::Preempted)));
}

/// Two regions of 20 us make one loss that covers both.
#[test]
fn regions_that_are_too_small_are_one_loss() {
    let mut test = even(5_000);
    // Without symbols, only its kind distinguishes it from the other.
    let other = test.construct(ROOT, ContextKind::Teams, 0x80);
    for thread in 0..2 {
        test.run(thread, State::Work, other, 10);
        test.run(thread, State::ImplicitBarrier, other, 10);
    }
    test.instance(other, 0, 20, &[10, 10]);
    test.set_instances(1, 1_000);
    test.end = 120;
    let (profile, measured) = (test.profile(), test.measured());
    let found = losses(
        &profile,
        &test.names(),
        &measured,
        &rows(&test),
        (&run(&test), &Crowd::default()),
        &[],
    );
    let [small] = &found[..] else {
        panic!("one loss: {found:?}");
    };
    assert_eq!(small.reason, Reason::Small);
    close(small.seconds, 0.07);
    assert!(
        small
            .finding
            .contains("all 2 regions as small as that, entered 6000 times"),
        "{}",
        small.finding
    );
}
