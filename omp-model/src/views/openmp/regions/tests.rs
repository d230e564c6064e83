//! Rows of regions, and their gains, of runs whose values are known by construction.

use experiment::Packed;
use experiment::ids::{Nanos, ThreadId};
use experiment::state::{Scheduling, State};
use experiment::symbols::{FrameSymbol, Function, FunctionId};
use experiment::tables::ContextKind;

use crate::metrics::Metric;
use crate::states::RefinedState;
use crate::views::openmp::advice::{Reason, losses};
use crate::views::openmp::crowd::Crowd;
use crate::views::openmp::gain::Cause;
use crate::views::openmp::regions::{regions, total};
use crate::views::openmp::test_run::{ROOT, TestRun, close, rows, run, unbalanced};

#[test]
fn one_thread_of_four_with_four_times_the_work() {
    let test = unbalanced();
    let [row] = &rows(&test)[..] else {
        panic!("one region");
    };
    close(row.load_balance(), 0.4375);
    assert_eq!((row.instances, row.threads, row.nesting), (1, 4, 1));
    close(row.own.elapsed, 0.4);
    close(row.own.total(), 0.4 - 0.7 / 4.0);
    close(row.own.part(Cause::Imbalance), 0.9 / 4.0);
    close(row.time(Metric::OmpWork), 0.7);
    close(row.time(Metric::State(RefinedState::ImplicitBarrier)), 0.9);
    assert_eq!(row.work[0].0, ThreadId(0));
    close(row.work[0].1, 0.4);
}

#[test]
fn without_the_spread_by_instance_the_sums_over_the_run_give_the_balance() {
    let mut test = unbalanced();
    test.region_works = Packed::default();
    let [row] = &rows(&test)[..] else {
        panic!("one region");
    };
    close(row.load_balance(), 0.4375);
    close(row.own.total(), 0.4 - 0.7 / 4.0);
}

/// What more threads than CPUs wait for is no loss while the CPUs are at work.
#[test]
fn two_cpus_cannot_gain_what_four_threads_lose() {
    // In the first half each of four threads has a CPU for half of the time, in the second one works.
    let mut test = TestRun::new(4, 400);
    let region = test.construct(ROOT, ContextKind::Region, 0x40);
    for thread in 0..4 {
        test.run(thread, State::Work, region, 100);
        let ready = (State::Work, Scheduling::Preempted);
        test.be(thread, ready, region, 100);
        let state = match thread {
            0 => State::Work,
            _ => State::ImplicitBarrier,
        };
        test.run(thread, state, region, 200);
    }
    test.instance(region, 0, 400, &[300, 100, 100, 100]);
    let on = |test: &mut TestRun, cpus: u32| {
        test.cpus = cpus;
        rows(test).swap_remove(0)
    };
    let four = on(&mut test, 4);
    close(four.own.part(Cause::OffCpu), 0.1);
    close(four.own.part(Cause::Imbalance), 0.15);
    assert_eq!(four.usable, four.lost);

    let two = on(&mut test, 2);
    close(two.own.elapsed, 0.4);
    close(two.own.part(Cause::OffCpu), 0.0);
    close(two.own.part(Cause::Imbalance), 0.1);
    assert_eq!(two.lost, four.lost);
    // The other CPU shares the work of the second half.
    let run = run(&test);
    assert_eq!((run.threads, run.at_once), (4, 2));
    let (profile, measured) = (test.profile(), test.measured());
    let found = losses(
        &profile,
        &test.names(),
        &measured,
        &[two],
        (&run, &Crowd::default()),
        &[],
    );
    let [loss] = found.as_slice() else {
        panic!("{found:?}");
    };
    assert_eq!(loss.reason, Reason::Region(Cause::Imbalance));
    close(loss.seconds, 0.1);
}

#[test]
fn late_threads_are_lost_to_scheduling() {
    let mut test = TestRun::new(2, 100);
    let region = test.construct(ROOT, ContextKind::Region, 0x40);
    test.run(0, State::Work, region, 100);
    // Idle time is outside of the region, so 40 ms of the team's time are not accounted to it.
    test.run(1, State::Idle, ROOT, 40);
    test.run(1, State::Work, region, 60);
    test.instance(region, 0, 100, &[100, 60]);
    let [row] = &rows(&test)[..] else {
        panic!("one region");
    };
    close(row.own.part(Cause::Scheduling), 0.02);
    close(row.own.total(), 0.1 - 0.16 / 2.0);
}

/// An outer team of two, in which the first thread forks an inner team of two for 60 of 100 ms.
fn nested() -> TestRun {
    let mut test = TestRun::new(3, 100);
    let outer = test.construct(ROOT, ContextKind::Region, 0x40);
    let inner = test.construct(outer, ContextKind::Region, 0x50);
    test.run(0, State::Work, outer, 40);
    test.run(0, State::Work, inner, 60);
    test.run(1, State::Work, outer, 80);
    test.run(1, State::ImplicitBarrier, outer, 20);
    test.run(2, State::Idle, ROOT, 40);
    test.run(2, State::Work, inner, 20);
    test.run(2, State::ImplicitBarrier, inner, 40);
    test.instance(outer, 0, 100, &[100, 80]);
    test.instance(inner, 0, 60, &[60, 20]);
    test
}

#[test]
fn nested_regions_are_exclusive_and_inclusive() {
    let found = rows(&nested());
    let row = |nesting| found.iter().find(|row| row.nesting == nesting).unwrap();
    let (outer, inner) = (row(1), row(2));
    close(inner.own.elapsed, 0.06);
    close(inner.own.total(), 0.02);
    assert_eq!(inner.own, inner.whole);
    // Its own thread time: 2 x 100 ms less the 60 ms that one thread was in the inner region.
    close(outer.own.elapsed, 0.07);
    close(outer.own.total(), (0.14 - 0.12) / 2.0);
    close(outer.whole.elapsed, 0.1);
    close(outer.whole.total(), 0.01 + 0.02 / 2.0);
    close(outer.inclusive[0], 0.14 + 0.12);
    close(outer.exclusive[0], 0.14);
    close(inner.lost[Cause::Imbalance as usize], 0.04);
    close(outer.lost[Cause::Imbalance as usize], 0.02);
    close(outer.occupied, 0.14 + 0.12);
    close(outer.outermost, 0.1);
    close(inner.outermost, 0.0);
}

#[test]
fn all_regions_take_the_wall_time_of_the_outermost_ones() {
    let found = rows(&nested());
    let all = total(found.iter()).unwrap();
    assert_eq!((&*all.name, all.nesting), ("<Total>", 0));
    assert_eq!((all.instances, all.threads), (2, 2));
    assert_eq!(all.own, all.whole);
    close(all.own.elapsed, 0.1);
    close(all.own.total(), 0.02);
    close(all.share(), 1.0);
    close(all.exclusive[0], 0.14 + 0.12);
    assert_eq!(all.exclusive, all.inclusive);
    let work: Vec<u32> = all.work.iter().map(|(thread, _)| thread.0).collect();
    assert_eq!(work, [0, 1, 2]);
    assert_eq!(total([].iter()), None);
}

#[test]
fn each_region_takes_its_part_of_the_run() {
    let test = unbalanced();
    let mut measured = test.measured();
    measured.duration = Nanos(800_000_000);
    let rows = regions(&test.profile(), &test.names(), &measured);
    close(rows[0].own.elapsed, 0.4);
    close(rows[0].share(), 0.5);
}

#[test]
fn a_thread_of_the_team_that_did_nothing_did_the_least() {
    let [row] = &mut rows(&unbalanced())[..] else {
        panic!("one region");
    };
    let [least, mean, most] = row.work_of_a_thread();
    close(least, 0.1);
    close(mean, 0.7 / 4.0);
    close(most, 0.4);
    row.work.pop();
    let [least, mean, _] = row.work_of_a_thread();
    close(least, 0.0);
    close(mean, 0.6 / 4.0);
}

/// Two directives of one function whose lines and bodies are unknown.
#[test]
fn regions_without_lines_are_distinguished_by_their_calls() {
    let mut test = TestRun::new(2, 100);
    for address in [0x40, 0x90] {
        let region = test.construct(ROOT, ContextKind::Region, address);
        for thread in 0..2 {
            test.run(thread, State::Work, region, 50);
        }
        test.instance(region, 0, 50, &[50, 50]);
    }
    test.symbols.functions.push(Function {
        module: experiment::ids::ModuleId::NONE,
        address: 0x30,
        size: 0x80,
        linkage: "main".to_owned(),
        name: "main".to_owned(),
        source: None,
        outlined: None,
    });
    let of_main = FrameSymbol {
        function: Some(FunctionId(0)),
        ..FrameSymbol::default()
    };
    test.symbols.frames = vec![of_main; test.tables.frames.len()];
    let mut names: Vec<String> = rows(&test).into_iter().map(|row| row.name).collect();
    names.sort_unstable();
    assert_eq!(
        names,
        [
            "main -- OMP parallel region [main + 0x00000010]",
            "main -- OMP parallel region [main + 0x00000060]",
        ]
    );
}
