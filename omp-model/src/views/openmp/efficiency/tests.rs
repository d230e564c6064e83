//! Efficiencies of runs whose values are known by construction.

use crate::views::openmp::bars::Use;
use experiment::Packed;
use experiment::state::{Scheduling, State};
use experiment::tables::{ContextKind, Thread, ThreadKind};

use super::*;
use crate::metrics::Metric;
use crate::views::openmp::gain::Cause;
use crate::views::openmp::test_run::{ROOT, TestRun, close, rows, run, unbalanced};

fn find<'a>(node: &'a Efficiency, id: &str) -> Option<&'a Efficiency> {
    if node.id == id {
        return Some(node);
    }
    node.children.iter().find_map(|child| find(child, id))
}

fn loss(run: &Run, id: &str) -> f64 {
    find(&run.efficiency, id).unwrap().loss
}

#[test]
fn a_serial_share_bounds_the_speed_up() {
    let run = run(&unbalanced());
    let serial = run.serial.unwrap();
    close(serial.seconds, 0.1);
    close(serial.bound(4.0), 0.5 / (0.1 + 0.4 / 4.0));
    close(serial.limit(), 5.0);
    close(run.without(0.225), 0.5 / 0.275);
}

#[test]
fn the_efficiencies_of_an_unbalanced_run() {
    let run = run(&unbalanced());
    assert_eq!(run.threads, 4);
    close(run.wall, 0.5);
    // 800 ms of useful work in 4 x 500 ms.
    close(run.efficiency.value(), 0.4);
    close(loss(&run, "process_communication"), 0.0);
    close(loss(&run, "process_balance"), 0.0);
    close(loss(&run, "serial"), 0.3 / 2.0);
    close(loss(&run, "omp_region"), 0.9 / 2.0);
    // Longest less mean: 400 - 175 ms of 500.
    close(loss(&run, "load_balance"), 0.45);
    close(loss(&run, "scheduling"), 0.0);
}

#[test]
fn serial_code_off_the_cpu_is_lost_to_communication() {
    let mut test = TestRun::new(2, 1_000);
    let region = test.construct(ROOT, ContextKind::Region, 0x40);
    test.be(0, (State::Serial, Scheduling::Blocked), ROOT, 300);
    test.run(0, State::Serial, ROOT, 200);
    test.run(1, State::Idle, ROOT, 500);
    for thread in 0..2 {
        test.run(thread, State::Work, region, 400);
        test.run(thread, State::Overhead, region, 100);
    }
    test.instance(region, 0, 500, &[400, 400]);
    let run = run(&test);
    close(loss(&run, "process_communication"), 0.3);
    close(loss(&run, "serial"), 0.1);
    close(loss(&run, "overhead"), 0.1);
    close(loss(&run, "omp_region"), 0.1);
    close(run.efficiency.value(), 0.5);
}

#[test]
fn a_serialised_critical_section_waits_t_minus_one_of_t() {
    let mut test = TestRun::new(4, 1_000);
    let region = test.construct(ROOT, ContextKind::Region, 0x40);
    // Each thread in turn holds the section for 250 ms, so one thread always holds it and three
    // wait.
    for thread in 0..4 {
        test.run(thread, State::Critical, region, 750);
        test.run(thread, State::Work, region, 250);
    }
    test.instance(region, 0, 1_000, &[250; 4]);
    let [row] = &rows(&test)[..] else {
        panic!("one region");
    };
    close(
        row.time(Metric::State(RefinedState::Critical)) / row.exclusive[0],
        3.0 / 4.0,
    );
    close(row.own.total(), 0.75);
    close(row.own.part(Cause::Lock), 0.75);
    assert_eq!(row.load_balance(), 1.0);
    let run = run(&test);
    close(run.efficiency.value(), 0.25);
    close(loss(&run, "scheduling"), 0.75);
    close(loss(&run, "load_balance"), 0.0);
}

#[test]
fn a_region_that_never_ended_has_the_time_accounted_for() {
    let mut test = unbalanced();
    test.region_sums = Packed::default();
    test.region_works = Packed::default();
    let [row] = &rows(&test)[..] else {
        panic!("one region");
    };
    assert_eq!((row.instances, row.threads), (0, 4));
    close(row.own.elapsed, 0.4);
    close(row.own.total(), 0.9 / 4.0);
    close(row.load_balance(), 0.4375);
    // The run's efficiencies need no end either.
    let run = run(&test);
    close(run.efficiency.value(), 0.4);
    close(loss(&run, "omp_region"), 0.9 / 2.0);
    close(loss(&run, "load_balance"), 0.9 / 4.0 / 0.5);
    close(run.serial.unwrap().seconds, 0.1);
}

/// A team of four for 20 ms, then one of two for 980 ms.
fn small_team() -> TestRun {
    let mut test = TestRun::new(4, 1_000);
    let [large, small] = [0x40, 0x50].map(|at| test.construct(ROOT, ContextKind::Region, at));
    for thread in 0..4 {
        test.run(thread, State::Work, large, 20);
        match thread {
            0 | 1 => test.run(thread, State::Work, small, 980),
            _ => test.run(thread, State::Idle, ROOT, 980),
        }
    }
    test.instance(large, 0, 20, &[20; 4]);
    test.instance(small, 0, 980, &[980; 2]);
    test
}

#[test]
fn threads_in_no_team_are_lost_to_the_region_that_leaves_them_out() {
    let test = small_team();
    let run = run(&test);
    close(loss(&run, "no_team"), 0.49);
    close(loss(&run, "process_communication"), 0.0);
    close(loss(&run, "scheduling"), 0.0);
    close(run.efficiency.value(), 0.51);
    let rows = rows(&test);
    let all = &crate::views::openmp::bars::bars(&run, &rows)[0];
    close(all.of_use(Use::NoTeam), 0.49);
    close(all.of_use(Use::SerialOffCpu), 0.0);
    let (profile, measured) = (test.profile(), test.measured());
    let losses = super::super::advice::losses(
        &profile,
        &test.names(),
        &measured,
        &rows,
        (&run, &super::super::crowd::Crowd::default()),
        &[],
    );
    let [loss] = &losses[..] else {
        panic!("one loss: {losses:?}");
    };
    assert_eq!(loss.reason.id(), "no_team");
    close(loss.seconds, 0.49);
    // Regions without a line or a name are one row: 80 + 1960 ms of teams in 1 s.
    assert_eq!(loss.finding, "its teams have 2.0 of 4 threads on average");
}

#[test]
fn waits_of_serial_code_are_lost_to_the_runtime() {
    let mut test = TestRun::new(1, 1_000);
    test.run(0, State::Serial, ROOT, 100);
    test.run(0, State::TaskWait, ROOT, 600);
    test.be(0, (State::Serial, Scheduling::Blocked), ROOT, 300);
    // A helper of the runtime executes the task.
    let task = test.construct(ROOT, ContextKind::Task, 0x40);
    test.tables.threads.push(Thread {
        kind: ThreadKind::Other,
        ..test.tables.threads[0].clone()
    });
    test.at.push(0);
    test.run(1, State::Idle, ROOT, 100);
    test.run(1, State::Work, task, 600);
    test.run(1, State::Idle, ROOT, 300);
    let run = run(&test);
    assert_eq!(run.threads, 1);
    close(run.efficiency.value(), 0.1);
    close(run.spent.serial_runtime, 0.6);
    close(run.spent.serial_off_cpu, 0.3);
    let (profile, measured) = (test.profile(), test.measured());
    let losses = super::super::advice::losses(
        &profile,
        &test.names(),
        &measured,
        &[],
        (&run, &super::super::crowd::Crowd::default()),
        &[],
    );
    let found: Vec<(&str, f64)> = losses.iter().map(|it| (it.reason.id(), it.share)).collect();
    assert_eq!(found, [("serial_runtime", 0.6), ("serial_offcpu", 0.3)]);
}
