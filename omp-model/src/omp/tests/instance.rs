//! Instance ids of regions and tasks, for every order of events.

use experiment::ids::{Nanos, ProcessId, StackId, ThreadId, ThreadStateId};
use experiment::rows::Within;
use experiment::state::Scheduling;

use super::driver::{Driver, implicit, parallel, parallel_end, sync, sync_end};
use crate::stream::{Instance, Sync, TaskOf, What};

impl Driver {
    /// The instances that each thread is in: region and task.
    fn within(&self) -> Vec<(u64, u64)> {
        let threads = 0..self.tables.threads.len() as u32;
        let within = threads.map(|thread| self.machine.within_of(ThreadId(thread)));
        within.map(|it| (it.region, it.task)).collect()
    }
}

fn create(task: u64) -> What {
    What::TaskCreate {
        task: Instance(task),
        site: StackId::EMPTY.into(),
        of: TaskOf::Directive,
    }
}

const fn schedule(next: u64, prior_done: bool) -> What {
    What::TaskSchedule {
        next: Instance(next),
        prior_done,
    }
}

#[test]
fn two_teams_of_one_nested_region_are_two_instances() {
    let mut driver = Driver::new(4);
    let (outer, inner) = (driver.site(&[1]), driver.site(&[1, 2]));
    driver.fork(70, outer, &[0, 1]);
    assert_eq!(driver.within(), [(1, 0), (1, 0), (0, 0), (0, 0)]);
    // Both threads fork the same region. The first event of the second one is a worker's.
    driver.on(0, parallel(71, inner));
    driver.on(3, implicit(72, 2, 1));
    driver.on(1, parallel(72, inner));
    driver.on(0, implicit(71, 2, 0));
    driver.on(1, implicit(72, 2, 0));
    driver.on(2, implicit(71, 2, 1));
    assert_eq!(
        driver.thread_state(2).context,
        driver.thread_state(3).context
    );
    assert_eq!(driver.within(), [(2, 0), (3, 0), (2, 0), (3, 0)]);
    // Waits are inside as well. After the region its thread is in the outer one again.
    driver.on(0, sync(Sync::BarrierExplicit, 0));
    assert_eq!(driver.within()[0], (2, 0));
    driver.on(0, parallel_end(71));
    assert_eq!(driver.within()[0], (1, 0));
    driver.on(0, parallel_end(70));
    assert_eq!(driver.within()[0], (0, 0));
    // The next instance of the same region has the next id.
    driver.fork(70, outer, &[0, 1]);
    assert_eq!(driver.within()[0], (4, 0));
}

#[test]
fn tasks_count_as_they_are_created_and_know_the_region_of_that() {
    let mut driver = Driver::new(2);
    let site = driver.site(&[1]);
    driver.fork(70, site, &[0, 1]);
    driver.on(0, create(11));
    driver.on(0, create(12));
    // A deferred task runs on another thread, the one created last first.
    driver.on(1, sync(Sync::BarrierExplicit, 0));
    driver.on(1, schedule(12, false));
    driver.on(0, schedule(11, false));
    assert_eq!(driver.within(), [(1, 1), (1, 2)]);
    // In a task: another task, and a region that the task forks.
    driver.on(0, create(13));
    driver.on(0, sync(Sync::TaskWait, 0));
    driver.on(0, schedule(13, false));
    assert_eq!(driver.within()[0], (1, 3));
    driver.on(0, parallel(71, site));
    driver.on(0, implicit(71, 1, 0));
    assert_eq!(driver.within()[0], (2, 3));
    driver.on(0, parallel_end(71));
    assert_eq!(driver.within()[0], (1, 3));
    driver.on(0, schedule(11, true));
    assert_eq!(driver.within()[0], (1, 1));
    driver.on(0, sync_end(Sync::TaskWait));
    driver.on(0, schedule(0, true));
    assert_eq!(driver.within()[0], (1, 0));
    // A task whose creation was lost has no id.
    driver.on(0, schedule(99, false));
    assert_eq!(driver.within()[0], (1, 0));
    driver.on(0, What::Lost);
    assert_eq!(driver.within()[0], (0, 0));
}

#[test]
fn each_process_counts_by_itself() {
    let mut driver = Driver::unborn(2);
    driver.tables.threads[1].process = ProcessId(1);
    let site = driver.site(&[1]);
    for thread in 0..2 {
        driver.on(thread, What::Birth(Scheduling::Running));
    }
    for (id, thread) in [(70, 0), (80, 0), (71, 1)] {
        driver.on(thread, parallel(id, site));
    }
    assert_eq!(driver.within(), [(2, 0), (1, 0)]);
}

#[test]
fn listed_rows_name_their_instances() {
    const MS: u64 = 1_000_000;
    let mut driver = Driver::new(1);
    let site = driver.site(&[1]);
    driver.fork(70, site, &[0]);
    for task in 11..=12 {
        driver.on(0, create(task));
    }
    // One task follows another in one state: two pieces, and one interval in the sums.
    driver.at(2 * MS, 0, schedule(11, false));
    driver.at(5 * MS, 0, schedule(12, true));
    driver.at(9 * MS, 0, schedule(0, true));
    driver.at(11 * MS, 0, parallel_end(70));
    driver.accounting.finish(Nanos(driver.time));
    let rows = driver.accounting.take();
    let within = |region, task| Within { region, task };
    let listed: Vec<_> = rows
        .intervals
        .iter()
        .map(|row| (row.start.0 / MS, row.length.0 / MS, row.within))
        .collect();
    assert_eq!(
        listed,
        [
            (0, 2, within(1, 0)),
            (2, 3, within(1, 1)),
            (5, 4, within(1, 2)),
            (9, 2, within(1, 0))
        ]
    );
    let thread_state = rows.intervals[1].thread_state;
    assert_eq!(rows.intervals[2].thread_state, thread_state);
    assert_ne!(thread_state, ThreadStateId::OUTSIDE);
    let spans: Vec<_> = rows.task_spans.iter().map(|span| span.within).collect();
    assert_eq!(spans, [within(1, 1), within(1, 2)]);
    assert_eq!(rows.region_spans[0].within, within(1, 0));
    let all: u64 = rows.sums.iter().map(|sum| sum.time.0).sum();
    assert_eq!(all, 11 * MS);
}
