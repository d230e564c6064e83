//! Tasks of taskloops, and instances that are left open, by value.

use experiment::ids::{Nanos, StackId, ThreadId};
use experiment::rows::TaskSum;
use experiment::state::State;
use experiment::tables::ContextKind;

use super::driver::*;
use crate::stream::{Instance, Sync, TaskOf, What};

fn tasks(driver: &mut Driver) -> Vec<TaskSum> {
    let time = driver.time;
    driver.finish(time).task_sums
}

/// Creates a taskloop whose tasks the runtime does not announce.
fn whole_taskloop(driver: &mut Driver, id: u64) {
    let site = driver.site(&[4]);
    let create = What::TaskCreate {
        task: Instance(id),
        site: site.into(),
        of: TaskOf::WholeTaskloop,
    };
    driver.on(PRIMARY, create);
}

#[test]
fn the_tasks_of_a_taskloop_that_share_an_id_are_counted_one_by_one() {
    let mut driver = Driver::new(2);
    driver.fork(7, StackId::EMPTY, &[0, 1]);
    whole_taskloop(&mut driver, 90);
    driver.at(10, PRIMARY, schedule(90, false));
    let taskloop = driver.thread_state(PRIMARY).context;
    assert_eq!(driver.context(PRIMARY).kind, ContextKind::Taskloop);
    let first = driver.machine.within_of(ThreadId(PRIMARY));
    // The other thread executes one at the same time, and waits in it, where it executes another.
    driver.at(20, 1, schedule(90, false));
    assert_ne!(driver.machine.within_of(ThreadId(1)), first);
    driver.at(30, 1, sync(Sync::TaskWait, 0));
    driver.at(40, 1, schedule(90, false));
    assert_eq!(driver.state(1), State::Work);
    driver.at(50, 1, schedule(90, true));
    assert_eq!(
        driver.state(1),
        State::TaskWait,
        "the outer one waits again"
    );
    driver.at(60, 1, sync_end(Sync::TaskWait));
    driver.at(70, 1, schedule(0, true));
    driver.at(100, PRIMARY, schedule(0, true));
    // All have ended.
    let before = driver.thread_state(PRIMARY);
    driver.at(110, PRIMARY, schedule(90, true));
    assert_eq!(driver.thread_state(PRIMARY), before);
    let sums = tasks(&mut driver);
    let of = |sum: &TaskSum| {
        assert_eq!(sum.context, taskloop);
        (
            sum.thread.0,
            sum.instances,
            sum.elsewhere,
            sum.least.0,
            sum.most.0,
        )
    };
    let mut sums: Vec<_> = sums.iter().map(of).collect();
    sums.sort_unstable();
    assert_eq!(sums, [(0, 1, 0, 90, 90), (1, 2, 2, 10, 20)]);
}

#[test]
fn an_explicit_task_goes_on_after_the_taskloop_that_it_encountered() {
    let mut driver = Driver::new(1);
    driver.fork(7, StackId::EMPTY, &[0]);
    let site = driver.site(&[3]);
    let create = What::TaskCreate {
        task: Instance(80),
        site: site.into(),
        of: TaskOf::Directive,
    };
    driver.on(PRIMARY, create);
    driver.at(10, PRIMARY, schedule(80, false));
    let task = driver.thread_state(PRIMARY);
    whole_taskloop(&mut driver, 90);
    for at in [20, 30] {
        driver.at(at, PRIMARY, schedule(90, false));
        driver.at(at + 5, PRIMARY, schedule(80, true));
        assert_eq!(driver.thread_state(PRIMARY), task);
    }
    driver.at(40, PRIMARY, schedule(90, true));
    assert_eq!(driver.thread_state(PRIMARY), task);
    driver.at(50, PRIMARY, schedule(0, true));
    let mut counts: Vec<_> = tasks(&mut driver)
        .iter()
        .map(|sum| (sum.instances, sum.work.0))
        .collect();
    counts.sort_unstable();
    assert_eq!(counts, [(1, 30), (2, 10)]);
}

#[test]
fn instances_that_the_program_leaves_by_its_end_are_counted() {
    // The threads of a process die in any order.
    for exits in [&[1, PRIMARY][..], &[PRIMARY, 1], &[]] {
        let mut driver = Driver::new(2);
        let site = driver.site(&[1]);
        driver.fork(7, site, &[0, 1]);
        let region = driver.thread_state(PRIMARY).context;
        let create = driver.site(&[1, 4]);
        for task in [90, 91, 92] {
            let task = What::TaskCreate {
                task: Instance(task),
                site: create.into(),
                of: TaskOf::Directive,
            };
            driver.on(PRIMARY, task);
        }
        // One is complete, one calls `exit`, one has not begun.
        driver.at(10, 1, schedule(90, false));
        driver.at(30, 1, schedule(0, true));
        driver.at(40, 1, schedule(91, false));
        driver.time = 100;
        for &thread in exits {
            driver.on(thread, What::Exit);
        }
        if exits.is_empty() {
            let end = Nanos(driver.time);
            driver
                .machine
                .finish(&mut driver.tables, &mut driver.accounting, end);
        }
        let rows = driver.finish(100);
        let [run] = rows.region_sums[..] else {
            panic!("{:?}", rows.region_sums)
        };
        assert_eq!((run.context, run.instances, run.team), (region, 1, 2));
        assert_eq!(run.elapsed, Nanos(100));
        let [tasks] = rows.task_sums[..] else {
            panic!("{:?}", rows.task_sums)
        };
        assert_eq!(
            (tasks.instances, tasks.unfinished, tasks.work.0),
            (1, 1, 20)
        );
    }
}
