//! Useful work of teams and tasks, on scenes whose values are known by construction.

use experiment::ids::{Nanos, StackId};
use experiment::rows::{RegionWork, TaskSpan, TaskSum};
use experiment::state::Scheduling;
use experiment::tables::ContextKind;

use super::scene::*;
use crate::stream::{Instance, Sync, What};

const JOIN: Sync = Sync::BarrierParallel;

fn works(scene: &mut Scene) -> Vec<RegionWork> {
    scene.accounting.finish(Nanos(scene.time));
    scene.accounting.take().region_works
}

fn tasks(scene: &mut Scene) -> Vec<TaskSum> {
    scene.accounting.finish(Nanos(scene.time));
    let mut sums = scene.accounting.take().task_sums;
    sums.sort_by_key(|sum| (sum.context, sum.thread));
    sums
}

#[test]
fn one_of_four_threads_has_four_times_the_work() {
    let mut scene = Scene::new(4);
    for instance in 0..3 {
        let start = instance * 1_000;
        scene.time = start;
        scene.fork(7 + instance, StackId::EMPTY, &[0, 1, 2, 3]);
        for thread in 1..4 {
            scene.at(start + 100, thread, sync(JOIN, 7 + instance));
        }
        scene.at(start + 400, PRIMARY, sync(JOIN, 7 + instance));
        scene.time = start + 410;
        scene.join(7 + instance, PRIMARY, JOIN);
    }
    let [work] = works(&mut scene)[..] else {
        panic!("one region");
    };
    assert_eq!(work.capacity, Nanos(3 * 4 * 410));
    assert_eq!(work.longest, Nanos(3 * 400));
    assert_eq!(work.mean, Nanos(3 * 175));
    assert_eq!(work.mean.seconds() / work.longest.seconds(), 0.4375);
}

#[test]
fn a_heavy_thread_that_changes_is_unbalanced_all_the_same() {
    let mut scene = Scene::new(2);
    for instance in 0..2_u64 {
        let start = instance * 1_000;
        scene.time = start;
        scene.fork(7 + instance, StackId::EMPTY, &[0, 1]);
        let light = 1 - instance as u32;
        scene.at(start + 100, light, sync(JOIN, 7 + instance));
        scene.at(start + 300, 1 - light, sync(JOIN, 7 + instance));
        scene.join(7 + instance, PRIMARY, JOIN);
    }
    let [work] = works(&mut scene)[..] else {
        panic!("one region");
    };
    // Over the run both threads work 400 ns.
    assert_eq!((work.longest, work.mean), (Nanos(600), Nanos(400)));
}

#[test]
fn work_off_the_cpu_is_not_useful() {
    let mut scene = Scene::new(2);
    scene.fork(7, StackId::EMPTY, &[0, 1]);
    scene.at(100, 1, What::SwitchOut(Scheduling::Preempted));
    scene.at(400, 1, What::SwitchIn);
    scene.at(500, 1, sync(JOIN, 7));
    scene.at(500, PRIMARY, sync(JOIN, 7));
    scene.join(7, PRIMARY, JOIN);
    let [work] = works(&mut scene)[..] else {
        panic!("one region");
    };
    assert_eq!((work.longest, work.mean), (Nanos(500), Nanos(350)));
}

#[test]
fn a_tasks_work_is_its_own_and_not_that_of_tasks_in_its_waits() {
    let mut scene = Scene::new(1);
    scene.fork(7, StackId::EMPTY, &[0]);
    let (outer, inner) = (scene.site(&[4]), scene.site(&[5]));
    let create = |task, site: StackId| What::TaskCreate {
        task: Instance(task),
        site: site.into(),
    };
    scene.on(PRIMARY, create(90, outer));
    scene.at(10, PRIMARY, schedule(90, false));
    scene.at(30, PRIMARY, create(91, inner));
    scene.at(40, PRIMARY, sync(Sync::TaskWait, 0));
    scene.at(45, PRIMARY, schedule(91, false));
    scene.at(145, PRIMARY, schedule(90, true));
    scene.at(150, PRIMARY, sync_end(Sync::TaskWait));
    scene.at(155, PRIMARY, schedule(0, true));
    let sums = tasks(&mut scene);
    let of = |sum: &TaskSum| (sum.instances, sum.elsewhere, sum.work.0, sum.squares);
    assert_eq!(
        sums.iter().map(of).collect::<Vec<_>>(),
        [(1, 0, 30 + 5, 35 * 35), (1, 0, 100, 100 * 100)]
    );
}

#[test]
fn a_task_that_changes_its_thread_is_one_task_and_ran_elsewhere() {
    let mut scene = Scene::new(2);
    scene.fork(7, StackId::EMPTY, &[0, 1]);
    let (task, site) = (Instance(90), scene.site(&[4]));
    scene.on(
        PRIMARY,
        What::TaskCreate {
            task,
            site: site.into(),
        },
    );
    scene.at(10, PRIMARY, schedule(90, false));
    // A task yield.
    scene.at(30, PRIMARY, schedule(0, false));
    scene.at(50, 1, schedule(90, false));
    scene.at(120, 1, schedule(0, true));
    let sums = tasks(&mut scene);
    assert_eq!(sums.len(), 1);
    assert_eq!((sums[0].thread.0, sums[0].elsewhere), (1, 1));
    assert_eq!((sums[0].least, sums[0].most), (Nanos(90), Nanos(90)));
}

#[test]
fn long_pieces_of_tasks_are_listed_where_they_ran() {
    const MS: u64 = 1_000_000;
    let mut scene = Scene::new(2);
    scene.fork(7, StackId::EMPTY, &[0, 1]);
    let (outer, inner) = (scene.site(&[4]), scene.site(&[5]));
    let create = |task, site: StackId| What::TaskCreate {
        task: Instance(task),
        site: site.into(),
    };
    scene.on(PRIMARY, create(90, outer));
    scene.at(MS, PRIMARY, schedule(90, false));
    scene.at(2 * MS, PRIMARY, create(91, inner));
    // In the outer one's wait the inner one runs on top; too short a one is summed only.
    scene.at(3 * MS, PRIMARY, schedule(91, false));
    scene.at(8 * MS, PRIMARY, schedule(90, true));
    scene.at(9 * MS, PRIMARY, create(92, inner));
    scene.at(9 * MS, PRIMARY, schedule(92, false));
    scene.at(9 * MS + 1, PRIMARY, schedule(90, true));
    // Left to go on later, on another thread.
    scene.at(10 * MS, PRIMARY, schedule(0, false));
    scene.at(12 * MS, 1, schedule(90, false));
    scene.at(20 * MS, 1, schedule(0, true));
    let (outer, inner) = {
        let region = scene.thread_state(PRIMARY).context;
        let outer = scene.known(region, ContextKind::Task, outer);
        (outer, scene.known(outer, ContextKind::Task, inner))
    };
    let spans = scene.accounting.take().task_spans;
    let of = |span: &TaskSpan| {
        let (start, length) = (span.start.0 / MS, span.length.0 / MS);
        (span.context, span.thread.0, start, length)
    };
    assert_eq!(
        spans.iter().map(of).collect::<Vec<_>>(),
        [(inner, 0, 3, 5), (outer, 0, 1, 9), (outer, 1, 12, 8)]
    );
}
