//! Efficiencies of runs whose values are known by construction.

use experiment::state::{Scheduling, State};
use experiment::tables::ContextKind;

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
    close(run.serial.seconds, 0.1);
    close(run.serial.bound(4.0), 0.5 / (0.1 + 0.4 / 4.0));
    close(run.serial.limit(), 5.0);
    close(run.serial.without(0.225), 0.5 / 0.275);
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
    close(row.time(Metric::Critical) / row.exclusive[0], 3.0 / 4.0);
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
    test.region_sums.clear();
    test.region_works.clear();
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
    close(run.serial.seconds, 0.1);
}
