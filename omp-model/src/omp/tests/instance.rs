//! The numbers of instances: who is in which, in every order that events come in.

use experiment::ids::{Nanos, ProcessId, StackId, ThreadId, ThreadStateId};
use experiment::rows::Within;
use experiment::state::Scheduling;

use super::scene::{Scene, implicit, parallel, parallel_end, sync, sync_end};
use crate::stream::{Instance, Sync, What};

impl Scene {
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
    let mut scene = Scene::new(4);
    let (outer, inner) = (scene.site(&[1]), scene.site(&[1, 2]));
    scene.fork(70, outer, &[0, 1]);
    assert_eq!(scene.within(), [(1, 0), (1, 0), (0, 0), (0, 0)]);
    // Both threads fork the same region; a worker of the second one is heard of before its fork.
    scene.on(0, parallel(71, inner));
    scene.on(3, implicit(72, 2, 1));
    scene.on(1, parallel(72, inner));
    scene.on(0, implicit(71, 2, 0));
    scene.on(1, implicit(72, 2, 0));
    scene.on(2, implicit(71, 2, 1));
    assert_eq!(scene.thread_state(2).context, scene.thread_state(3).context);
    assert_eq!(scene.within(), [(2, 0), (3, 0), (2, 0), (3, 0)]);
    // Waits are within as well; behind the region its thread is in the outer one again.
    scene.on(0, sync(Sync::BarrierExplicit, 0));
    assert_eq!(scene.within()[0], (2, 0));
    scene.on(0, parallel_end(71));
    assert_eq!(scene.within()[0], (1, 0));
    scene.on(0, parallel_end(70));
    assert_eq!(scene.within()[0], (0, 0));
    // The next instance of the same region counts on.
    scene.fork(70, outer, &[0, 1]);
    assert_eq!(scene.within()[0], (4, 0));
}

#[test]
fn tasks_count_as_they_are_created_and_know_the_region_of_that() {
    let mut scene = Scene::new(2);
    let site = scene.site(&[1]);
    scene.fork(70, site, &[0, 1]);
    scene.on(0, create(11));
    scene.on(0, create(12));
    // A deferred task runs on another thread, the one created last first.
    scene.on(1, sync(Sync::BarrierExplicit, 0));
    scene.on(1, schedule(12, false));
    scene.on(0, schedule(11, false));
    assert_eq!(scene.within(), [(1, 1), (1, 2)]);
    // In a task: another task, and a region that the task forks.
    scene.on(0, create(13));
    scene.on(0, sync(Sync::TaskWait, 0));
    scene.on(0, schedule(13, false));
    assert_eq!(scene.within()[0], (1, 3));
    scene.on(0, parallel(71, site));
    scene.on(0, implicit(71, 1, 0));
    assert_eq!(scene.within()[0], (2, 3));
    scene.on(0, parallel_end(71));
    assert_eq!(scene.within()[0], (1, 3));
    scene.on(0, schedule(11, true));
    assert_eq!(scene.within()[0], (1, 1));
    scene.on(0, sync_end(Sync::TaskWait));
    scene.on(0, schedule(0, true));
    assert_eq!(scene.within()[0], (1, 0));
    // One whose creation was lost is none of its own.
    scene.on(0, schedule(99, false));
    assert_eq!(scene.within()[0], (1, 0));
    scene.on(0, What::Lost);
    assert_eq!(scene.within()[0], (0, 0));
}

#[test]
fn each_process_counts_by_itself() {
    let mut scene = Scene::unborn(2);
    scene.tables.threads[1].process = ProcessId(1);
    let site = scene.site(&[1]);
    for thread in 0..2 {
        scene.on(thread, What::Birth(Scheduling::Running));
    }
    for (id, thread) in [(70, 0), (80, 0), (71, 1)] {
        scene.on(thread, parallel(id, site));
    }
    assert_eq!(scene.within(), [(2, 0), (1, 0)]);
}

#[test]
fn listed_rows_name_their_instances() {
    const MS: u64 = 1_000_000;
    let mut scene = Scene::new(1);
    let site = scene.site(&[1]);
    scene.fork(70, site, &[0]);
    for task in 11..=12 {
        scene.on(0, create(task));
    }
    // One task follows another in one state: two pieces, and one interval in the sums.
    scene.at(2 * MS, 0, schedule(11, false));
    scene.at(5 * MS, 0, schedule(12, true));
    scene.at(9 * MS, 0, schedule(0, true));
    scene.at(11 * MS, 0, parallel_end(70));
    scene.accounting.finish(Nanos(scene.time));
    let rows = scene.accounting.take();
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
