//! Each formula on a run whose values are known by construction.

use experiment::ids::{ContextId, Nanos, ThreadId};
use experiment::rows::{Blame, TaskSum};
use experiment::state::{Scheduling, State};
use experiment::symbols::{FrameSymbol, Function, FunctionId};
use experiment::tables::ContextKind;

use super::efficiency::{Efficiency, Run, efficiency};
use super::gain::Cause;
use super::regions::{RegionRow, regions};
use super::stage::{MS, Stage};
use super::tasks::tasks;
use crate::metrics::Metric;

pub(super) const ROOT: ContextId = ContextId::ROOT;

pub(super) fn rows(stage: &Stage) -> Vec<RegionRow> {
    regions(&stage.profile(), &stage.names(), &stage.measured())
}

pub(super) fn run(stage: &Stage) -> Run {
    let regions = rows(stage);
    efficiency(&stage.profile(), &stage.tables, &stage.measured(), &regions).unwrap()
}

fn find<'a>(node: &'a Efficiency, id: &str) -> Option<&'a Efficiency> {
    if node.id == id {
        return Some(node);
    }
    node.children.iter().find_map(|child| find(child, id))
}

fn loss(run: &Run, id: &str) -> f64 {
    find(&run.efficiency, id).unwrap().loss
}

#[track_caller]
pub(super) fn close(left: f64, right: f64) {
    assert!((left - right).abs() < 1e-9, "{left} is not {right}");
}

/// 100 ms of serial code, then a region of four threads, the first of which works 400 ms and the
/// others 100 ms.
pub(super) fn unbalanced() -> Stage {
    let mut stage = Stage::new(4, 500);
    let region = stage.construct(ROOT, ContextKind::Region, 0x40);
    stage.run(0, State::Serial, ROOT, 100);
    stage.run(0, State::Work, region, 400);
    for thread in 1..4 {
        stage.run(thread, State::Idle, ROOT, 100);
        stage.run(thread, State::Work, region, 100);
        stage.run(thread, State::ImplicitBarrier, region, 300);
    }
    stage.instance(region, 0, 400, &[400, 100, 100, 100]);
    stage
}

#[test]
fn one_thread_of_four_with_four_times_the_work() {
    let stage = unbalanced();
    let [row] = &rows(&stage)[..] else {
        panic!("one region");
    };
    close(row.load_balance(), 0.4375);
    assert_eq!((row.instances, row.threads, row.nesting), (1, 4, 1));
    close(row.own.elapsed, 0.4);
    close(row.own.total(), 0.4 - 0.7 / 4.0);
    close(row.own.part(Cause::Imbalance), 0.9 / 4.0);
    close(row.time(Metric::OmpWork), 0.7);
    close(row.time(Metric::ImplicitBarrier), 0.9);
    assert_eq!(row.work[0].0, ThreadId(0));
    close(row.work[0].1, 0.4);
}

#[test]
fn without_the_spread_by_instance_the_sums_over_the_run_give_the_balance() {
    let mut stage = unbalanced();
    stage.region_works.clear();
    let [row] = &rows(&stage)[..] else {
        panic!("one region");
    };
    close(row.load_balance(), 0.4375);
    close(row.own.total(), 0.4 - 0.7 / 4.0);
}

#[test]
fn a_serialised_critical_section_waits_t_minus_one_of_t() {
    let mut stage = Stage::new(4, 1_000);
    let region = stage.construct(ROOT, ContextKind::Region, 0x40);
    // Each thread in turn holds the section for 250 ms, so one thread always holds it and three
    // wait.
    for thread in 0..4 {
        stage.run(thread, State::Critical, region, 750);
        stage.run(thread, State::Work, region, 250);
    }
    stage.instance(region, 0, 1_000, &[250; 4]);
    let [row] = &rows(&stage)[..] else {
        panic!("one region");
    };
    close(row.time(Metric::Critical) / row.exclusive[0], 3.0 / 4.0);
    close(row.own.total(), 0.75);
    close(row.own.part(Cause::Lock), 0.75);
    assert_eq!(row.load_balance(), 1.0);
    let run = run(&stage);
    close(run.efficiency.value(), 0.25);
    close(loss(&run, "scheduling"), 0.75);
    close(loss(&run, "load_balance"), 0.0);
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
    let mut stage = Stage::new(2, 1_000);
    let region = stage.construct(ROOT, ContextKind::Region, 0x40);
    stage.be(0, (State::Serial, Scheduling::Blocked), ROOT, 300);
    stage.run(0, State::Serial, ROOT, 200);
    stage.run(1, State::Idle, ROOT, 500);
    for thread in 0..2 {
        stage.run(thread, State::Work, region, 400);
        stage.run(thread, State::Overhead, region, 100);
    }
    stage.instance(region, 0, 500, &[400, 400]);
    let run = run(&stage);
    close(loss(&run, "process_communication"), 0.3);
    close(loss(&run, "serial"), 0.1);
    close(loss(&run, "overhead"), 0.1);
    close(loss(&run, "omp_region"), 0.1);
    close(run.efficiency.value(), 0.5);
}

#[test]
fn late_threads_are_lost_to_scheduling() {
    let mut stage = Stage::new(2, 100);
    let region = stage.construct(ROOT, ContextKind::Region, 0x40);
    stage.run(0, State::Work, region, 100);
    // Idle time is outside of the region, so 40 ms of the team's time are not accounted to it.
    stage.run(1, State::Idle, ROOT, 40);
    stage.run(1, State::Work, region, 60);
    stage.instance(region, 0, 100, &[100, 60]);
    let [row] = &rows(&stage)[..] else {
        panic!("one region");
    };
    close(row.own.part(Cause::Scheduling), 0.02);
    close(row.own.total(), 0.1 - 0.16 / 2.0);
}

/// An outer team of two, in which the first thread forks an inner team of two for 60 of 100 ms.
fn nested() -> Stage {
    let mut stage = Stage::new(3, 100);
    let outer = stage.construct(ROOT, ContextKind::Region, 0x40);
    let inner = stage.construct(outer, ContextKind::Region, 0x50);
    stage.run(0, State::Work, outer, 40);
    stage.run(0, State::Work, inner, 60);
    stage.run(1, State::Work, outer, 80);
    stage.run(1, State::ImplicitBarrier, outer, 20);
    stage.run(2, State::Idle, ROOT, 40);
    stage.run(2, State::Work, inner, 20);
    stage.run(2, State::ImplicitBarrier, inner, 40);
    stage.instance(outer, 0, 100, &[100, 80]);
    stage.instance(inner, 0, 60, &[60, 20]);
    stage
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
    // A second of the inner region is half a second of the run.
    close(inner.of_run[Cause::Imbalance as usize], 0.01);
    close(outer.of_run[Cause::Imbalance as usize], 0.01);
}

#[test]
fn a_region_that_never_ended_has_what_was_booked() {
    let mut stage = unbalanced();
    stage.region_sums.clear();
    stage.region_works.clear();
    let [row] = &rows(&stage)[..] else {
        panic!("one region");
    };
    assert_eq!((row.instances, row.threads), (0, 4));
    close(row.own.elapsed, 0.4);
    close(row.own.total(), 0.9 / 4.0);
    close(row.load_balance(), 0.4375);
    // The run's efficiencies need no end either.
    let run = run(&stage);
    close(run.efficiency.value(), 0.4);
    close(loss(&run, "omp_region"), 0.9 / 2.0);
    close(loss(&run, "load_balance"), 0.9 / 4.0 / 0.5);
    close(run.serial.seconds, 0.1);
}

/// Two directives of one function whose lines and bodies are unknown.
#[test]
fn regions_without_lines_are_distinguished_by_their_calls() {
    let mut stage = Stage::new(2, 100);
    for address in [0x40, 0x90] {
        let region = stage.construct(ROOT, ContextKind::Region, address);
        for thread in 0..2 {
            stage.run(thread, State::Work, region, 50);
        }
        stage.instance(region, 0, 50, &[50, 50]);
    }
    stage.symbols.functions.push(Function {
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
    stage.symbols.frames = vec![of_main; stage.tables.frames.len()];
    let mut names: Vec<String> = rows(&stage).into_iter().map(|row| row.name).collect();
    names.sort_unstable();
    assert_eq!(
        names,
        [
            "main -- OMP parallel region [main + 0x00000010]",
            "main -- OMP parallel region [main + 0x00000060]",
        ]
    );
}

#[test]
fn tasks_have_their_spread_and_creators() {
    let mut stage = Stage::new(2, 100);
    let region = stage.construct(ROOT, ContextKind::Region, 0x40);
    let task = stage.construct(region, ContextKind::Task, 0x50);
    stage.run(0, State::TaskWait, region, 90);
    stage.run(1, State::Work, task, 90);
    let work = |thread, instances, elsewhere, (least, most): (u64, u64)| TaskSum {
        slice: 0,
        context: task,
        thread: ThreadId(thread),
        instances,
        elsewhere,
        work: Nanos((least + most) * MS),
        least: Nanos(least * MS),
        most: Nanos(most * MS),
        squares: u128::from((least * least + most * most) * MS) * u128::from(MS),
    };
    stage.task_sums = vec![work(0, 2, 0, (10, 20)), work(1, 2, 2, (30, 40))];
    let [row] = &tasks(&stage.profile(), &stage.names(), &stage.measured())[..] else {
        panic!("one task construct");
    };
    let runs = row.runs.unwrap();
    assert_eq!((runs.instances, runs.elsewhere), (4, 2));
    close(runs.mean(), 0.025);
    close(runs.least, 0.01);
    close(runs.most, 0.04);
    // 10, 20, 30, 40: the variance is 125.
    close(runs.deviation(), 125_f64.sqrt() * 1e-3);
    assert_eq!(row.created.len(), 1);
    assert_eq!(row.created[0].1, 4);
    assert_eq!(row.waited[0].kind, "taskwait");
    close(row.waited[0].seconds, 0.09);
}

fn blame(stage: &Stage, context: ContextId, thread: u32) -> f64 {
    let profile = stage.profile();
    let of =
        |item: &&crate::profile::Item| item.context == context && item.thread == ThreadId(thread);
    profile.items.iter().filter(of).map(|item| item.blame).sum()
}

#[test]
fn blame_goes_to_what_ran_while_others_waited() {
    let stage = unbalanced();
    let region = stage.region_sums[0].context;
    // Serial code kept three threads idle for 100 ms; in the region's first 100 ms no thread
    // waited.
    close(blame(&stage, ROOT, 0), 0.3);
    close(blame(&stage, region, 0), 0.9);
    close(blame(&stage, region, 1), 0.0);
}

#[test]
fn what_is_not_listed_is_blamed_in_proportion() {
    let mut stage = unbalanced();
    stage.intervals.clear();
    let region = stage.region_sums[0].context;
    // 1200 ms of waiting over 800 ms of work in that second.
    close(blame(&stage, ROOT, 0), 1.5 * 0.1);
    close(blame(&stage, region, 0), 1.5 * 0.4);
    close(blame(&stage, region, 1), 1.5 * 0.1);
}

#[test]
fn who_holds_a_mutex_is_owed_the_waits_for_it_and_the_rest_is_shared() {
    let mut stage = Stage::new(3, 900);
    let region = stage.construct(ROOT, ContextKind::Region, 0x40);
    // Thread 0 holds it for 600 of 900 ms, the last 300 of them asleep. No holder is known while
    // thread 2 waits.
    stage.run(0, State::Reduction, region, 300);
    stage.be(0, (State::Work, Scheduling::Blocked), region, 300);
    stage.run(0, State::Work, region, 300);
    stage.run(1, State::Critical, region, 600);
    stage.run(1, State::Work, region, 300);
    stage.run(2, State::Lock, region, 100);
    stage.run(2, State::Work, region, 800);
    for sum in stage.sums.iter().filter(|sum| sum.thread.0 == 0) {
        let thread_state = stage.tables.thread_states.get(sum.thread_state.0).unwrap();
        if thread_state.state == State::Reduction || sum.scheduling == Scheduling::Blocked {
            stage.blames.push(Blame {
                slice: sum.slice,
                thread: sum.thread,
                thread_state: sum.thread_state,
                scheduling: sum.scheduling,
                time: Nanos(300 * MS),
            });
        }
    }
    // 100 ms without a holder, over 1700 ms of work on a CPU.
    let share = 0.1 / 1.7;
    close(blame(&stage, region, 0), 0.6 + 0.6 * share);
    close(blame(&stage, region, 1), 0.3 * share);
    close(blame(&stage, region, 2), 0.8 * share);
    let profile = stage.profile();
    let asleep = profile.items.iter();
    let asleep = asleep.filter(|item| item.scheduling == Scheduling::Blocked);
    close(asleep.map(|item| item.blame).sum(), 0.3);
}

#[test]
fn nobody_is_blamed_for_a_second_in_which_nobody_worked() {
    let mut stage = Stage::new(2, 2_000);
    stage.be(0, (State::Serial, Scheduling::Blocked), ROOT, 1_000);
    stage.run(0, State::Serial, ROOT, 1_000);
    stage.run(1, State::Idle, ROOT, 2_000);
    let profile = stage.profile();
    let total: f64 = profile.items.iter().map(|item| item.blame).sum();
    close(total, 1.0);
}

/// The parts of the budget add up to the wall time.
#[test]
fn the_parts_of_the_wall_time_are_all_of_it() {
    let stage = unbalanced();
    let run = run(&stage);
    let budget = super::budget::Budget::of(&run, &rows(&stage), &stage.tables).unwrap();
    // 100 ms of serial code and 700 ms of work on four threads.
    close(budget.useful, 0.2);
    close(budget.serial, 0.075);
    close(budget.causes[Cause::Imbalance as usize], 0.225);
    close(budget.rest, 0.0);
    let parts = budget.parts();
    close(parts.iter().map(|part| part.2).sum(), run.wall);
    assert_eq!(parts[0].1, "useful");
    assert_eq!(parts[1].1, "imbalance");
}
