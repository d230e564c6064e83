//! Useful work of teams and tasks, on event sequences whose values are known by construction.

use experiment::ids::{Nanos, StackId};
use experiment::rows::{RegionWork, TaskSpan, TaskSum};
use experiment::state::Scheduling;
use experiment::tables::ContextKind;

use super::driver::*;
use crate::stream::{Instance, Sync, TaskOf, What};

const JOIN: Sync = Sync::BarrierParallel;

fn works(driver: &mut Driver) -> Vec<RegionWork> {
    driver.accounting.finish(Nanos(driver.time));
    driver.accounting.take().region_works
}

fn tasks(driver: &mut Driver) -> Vec<TaskSum> {
    driver.accounting.finish(Nanos(driver.time));
    let mut sums = driver.accounting.take().task_sums;
    sums.sort_by_key(|sum| (sum.context, sum.thread));
    sums
}

#[test]
fn one_of_four_threads_has_four_times_the_work() {
    let mut driver = Driver::new(4);
    for instance in 0..3 {
        let start = instance * 1_000;
        driver.time = start;
        driver.fork(7 + instance, StackId::EMPTY, &[0, 1, 2, 3]);
        for thread in 1..4 {
            driver.at(start + 100, thread, sync(JOIN, 7 + instance));
        }
        driver.at(start + 400, PRIMARY, sync(JOIN, 7 + instance));
        driver.time = start + 410;
        driver.join(7 + instance, PRIMARY, JOIN);
    }
    let [work] = works(&mut driver)[..] else {
        panic!("one region");
    };
    assert_eq!(work.capacity, Nanos(3 * 4 * 410));
    assert_eq!(work.longest, Nanos(3 * 400));
    assert_eq!(work.mean, Nanos(3 * 175));
    assert_eq!(work.mean.seconds() / work.longest.seconds(), 0.4375);
}

#[test]
fn teams_of_different_sizes_have_rows_of_their_own() {
    let mut driver = Driver::new(4);
    for (id, team, length) in [(7, &[0, 1, 2, 3][..], 20), (8, &[0, 1], 1_000)] {
        driver.fork(id, StackId::EMPTY, team);
        driver.time += length;
        driver.join(id, PRIMARY, JOIN);
    }
    driver.accounting.finish(Nanos(driver.time));
    let rows = driver.accounting.take();
    let mut found: Vec<(u16, u64, u64)> = rows
        .region_sums
        .iter()
        .zip(&rows.region_works)
        .map(|(sum, work)| (sum.team, sum.elapsed.0, work.capacity.0))
        .collect();
    found.sort_unstable();
    assert_eq!(found, [(2, 1_000, 2_000), (4, 20, 80)]);
}

#[test]
fn a_heavy_thread_that_changes_is_unbalanced_all_the_same() {
    let mut driver = Driver::new(2);
    for instance in 0..2_u64 {
        let start = instance * 1_000;
        driver.time = start;
        driver.fork(7 + instance, StackId::EMPTY, &[0, 1]);
        let light = 1 - instance as u32;
        driver.at(start + 100, light, sync(JOIN, 7 + instance));
        driver.at(start + 300, 1 - light, sync(JOIN, 7 + instance));
        driver.join(7 + instance, PRIMARY, JOIN);
    }
    let [work] = works(&mut driver)[..] else {
        panic!("one region");
    };
    // Over the run both threads work 400 ns.
    assert_eq!((work.longest, work.mean), (Nanos(600), Nanos(400)));
}

#[test]
fn work_off_the_cpu_is_not_useful() {
    let mut driver = Driver::new(2);
    driver.fork(7, StackId::EMPTY, &[0, 1]);
    driver.at(100, 1, What::SwitchOut(Scheduling::Preempted));
    driver.at(400, 1, What::SwitchIn);
    driver.at(500, 1, sync(JOIN, 7));
    driver.at(500, PRIMARY, sync(JOIN, 7));
    driver.join(7, PRIMARY, JOIN);
    let [work] = works(&mut driver)[..] else {
        panic!("one region");
    };
    assert_eq!((work.longest, work.mean), (Nanos(500), Nanos(350)));
}

#[test]
fn a_tasks_work_is_its_own_and_not_that_of_tasks_in_its_waits() {
    let mut driver = Driver::new(1);
    driver.fork(7, StackId::EMPTY, &[0]);
    let (outer, inner) = (driver.site(&[4]), driver.site(&[5]));
    let create = |task, site: StackId| What::TaskCreate {
        task: Instance(task),
        site: site.into(),
        of: TaskOf::Directive,
    };
    driver.on(PRIMARY, create(90, outer));
    driver.at(10, PRIMARY, schedule(90, false));
    driver.at(30, PRIMARY, create(91, inner));
    driver.at(40, PRIMARY, sync(Sync::TaskWait, 0));
    driver.at(45, PRIMARY, schedule(91, false));
    driver.at(145, PRIMARY, schedule(90, true));
    driver.at(150, PRIMARY, sync_end(Sync::TaskWait));
    driver.at(155, PRIMARY, schedule(0, true));
    let sums = tasks(&mut driver);
    let of = |sum: &TaskSum| (sum.instances, sum.elsewhere, sum.work.0, sum.squares);
    assert_eq!(
        sums.iter().map(of).collect::<Vec<_>>(),
        [(1, 0, 30 + 5, 35 * 35), (1, 0, 100, 100 * 100)]
    );
}

#[test]
fn a_task_that_changes_its_thread_is_one_task_and_ran_elsewhere() {
    let mut driver = Driver::new(2);
    driver.fork(7, StackId::EMPTY, &[0, 1]);
    let (task, site) = (Instance(90), driver.site(&[4]));
    driver.on(
        PRIMARY,
        What::TaskCreate {
            task,
            site: site.into(),
            of: TaskOf::Directive,
        },
    );
    driver.at(10, PRIMARY, schedule(90, false));
    // A task yield.
    driver.at(30, PRIMARY, schedule(0, false));
    driver.at(50, 1, schedule(90, false));
    driver.at(120, 1, schedule(0, true));
    let sums = tasks(&mut driver);
    assert_eq!(sums.len(), 1);
    assert_eq!((sums[0].thread.0, sums[0].elsewhere), (1, 1));
    assert_eq!((sums[0].least, sums[0].most), (Nanos(90), Nanos(90)));
}

#[test]
fn long_pieces_of_tasks_are_listed_where_they_ran() {
    const MS: u64 = 1_000_000;
    let mut driver = Driver::new(2);
    driver.fork(7, StackId::EMPTY, &[0, 1]);
    let (outer, inner) = (driver.site(&[4]), driver.site(&[5]));
    let create = |task, site: StackId| What::TaskCreate {
        task: Instance(task),
        site: site.into(),
        of: TaskOf::Directive,
    };
    driver.on(PRIMARY, create(90, outer));
    driver.at(MS, PRIMARY, schedule(90, false));
    driver.at(2 * MS, PRIMARY, create(91, inner));
    // In the outer one's wait the inner one runs on top; too short a one is summed only.
    driver.at(3 * MS, PRIMARY, schedule(91, false));
    driver.at(8 * MS, PRIMARY, schedule(90, true));
    driver.at(9 * MS, PRIMARY, create(92, inner));
    driver.at(9 * MS, PRIMARY, schedule(92, false));
    driver.at(9 * MS + 1, PRIMARY, schedule(90, true));
    // Suspended, to be resumed on another thread.
    driver.at(10 * MS, PRIMARY, schedule(0, false));
    driver.at(12 * MS, 1, schedule(90, false));
    driver.at(20 * MS, 1, schedule(0, true));
    let (outer, inner) = {
        let region = driver.thread_state(PRIMARY).context;
        let outer = driver.known(region, ContextKind::Task, outer);
        (outer, driver.known(outer, ContextKind::Task, inner))
    };
    let spans = driver.accounting.take().task_spans;
    let of = |span: &TaskSpan| {
        let (start, length) = (span.start.0 / MS, span.length.0 / MS);
        (span.context, span.thread.0, start, length)
    };
    assert_eq!(
        spans.iter().map(of).collect::<Vec<_>>(),
        [(inner, 0, 3, 5), (outer, 0, 1, 9), (outer, 1, 12, 8)]
    );
}

#[test]
fn the_parts_of_a_divided_taskloop_are_counted_at_its_directive() {
    let mut driver = Driver::new(2);
    driver.fork(7, StackId::EMPTY, &[0, 1]);
    let site = driver.site(&[4]);
    let create = What::TaskCreate {
        task: Instance(90),
        site: site.into(),
        of: TaskOf::Taskloop,
    };
    driver.on(PRIMARY, create);
    // The other thread takes the task, gives half of it away, and does the rest as two tasks.
    driver.at(10, 1, schedule(90, false));
    let directive = driver.thread_state(1).context;
    for task in [91, 92, 93] {
        let task = Instance(task);
        driver.at(20, 1, What::TaskDivide { task });
    }
    driver.at(30, 1, schedule(0, true));
    for (task, end) in [(91, 40), (92, 60), (93, 90)] {
        driver.on(1, schedule(task, false));
        assert_eq!(driver.thread_state(1).context, directive);
        driver.at(end, 1, schedule(0, true));
    }
    let sums = tasks(&mut driver);
    assert_eq!(sums.len(), 1);
    let sum = &sums[0];
    assert_eq!((sum.context, sum.instances), (directive, 3));
    assert_eq!((sum.least, sum.most), (Nanos(10), Nanos(30)));
}

#[test]
fn what_is_divided_outside_of_all_tasks_is_no_task() {
    let mut driver = Driver::new(1);
    driver.fork(7, StackId::EMPTY, &[0]);
    let before = driver.thread_state(PRIMARY);
    let task = Instance(90);
    driver.at(10, PRIMARY, What::TaskDivide { task });
    assert_eq!(driver.thread_state(PRIMARY), before);
    assert_eq!(tasks(&mut driver), []);
}
