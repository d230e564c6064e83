//! Explicit tasks: who runs them, where, and what they interrupt, by value.

use experiment::ids::StackId;
use experiment::state::{Scheduling, State};
use experiment::tables::ContextKind;

use super::scene::*;
use crate::stream::{Instance, Sync, What};

use State::*;

const JOIN: Sync = Sync::BarrierParallel;

#[test]
fn a_task_inside_a_barrier_is_work_of_the_task_and_not_waiting() {
    let mut scene = Scene::new(2);
    let site = scene.site(&[1]);
    let create = scene.site(&[1, 9]);
    scene.fork(7, site, &[0, 1]);
    let region = scene.thread_state(PRIMARY).context;
    let task = Instance(90);
    scene.on(
        PRIMARY,
        What::TaskCreate {
            task,
            site: create.into(),
        },
    );
    assert_eq!(scene.state(PRIMARY), Work, "deferred");
    scene.at(10, 1, sync(JOIN, 7));
    scene.at(30, 1, schedule(90, false));
    let thread_state = scene.thread_state(1);
    assert_eq!(thread_state.state, Work);
    assert_eq!(
        thread_state.context,
        scene.known(region, ContextKind::Task, create),
        "created in the region, not in the barrier"
    );
    scene.at(70, 1, schedule(0, true));
    assert_eq!(scene.state(1), ImplicitBarrier);
    assert_eq!(scene.thread_state(1).context, region);
    scene.at(75, PRIMARY, sync(JOIN, 7));
    scene.time = 80;
    scene.join(7, PRIMARY, JOIN);
    let on = Scheduling::Running;
    assert_eq!(
        scene.booked(1),
        [(Work, on, 10 + 40), (ImplicitBarrier, on, 20 + 10)]
    );
}

#[test]
fn a_task_that_waits_for_its_children_runs_them_on_top() {
    let mut scene = Scene::new(1);
    scene.fork(7, StackId::EMPTY, &[0]);
    let (site, inside) = (scene.site(&[4]), scene.site(&[5]));
    let create = |id, site: StackId| What::TaskCreate {
        task: Instance(id),
        site: site.into(),
    };
    scene.on(PRIMARY, create(90, site));
    scene.on(PRIMARY, sync(Sync::TaskWait, 0));
    scene.on(PRIMARY, schedule(90, false));
    let outer = scene.thread_state(PRIMARY).context;
    scene.on(PRIMARY, create(91, inside));
    scene.on(PRIMARY, create(92, inside));
    scene.on(PRIMARY, sync(Sync::TaskWait, 0));
    assert_eq!(
        (scene.state(PRIMARY), scene.thread_state(PRIMARY).context),
        (TaskWait, outer)
    );
    scene.on(PRIMARY, schedule(91, false));
    let inner = scene.thread_state(PRIMARY).context;
    assert_eq!(scene.context(PRIMARY).parent, outer, "its creator's");
    assert_eq!(scene.state(PRIMARY), Work);
    // From one child straight to the next.
    scene.on(PRIMARY, schedule(92, true));
    assert_eq!(
        (scene.state(PRIMARY), scene.thread_state(PRIMARY).context),
        (Work, inner)
    );
    scene.on(PRIMARY, schedule(90, true));
    assert_eq!(
        (scene.state(PRIMARY), scene.thread_state(PRIMARY).context),
        (TaskWait, outer)
    );
    scene.on(PRIMARY, sync_end(Sync::TaskWait));
    assert_eq!(
        (scene.state(PRIMARY), scene.thread_state(PRIMARY).context),
        (Work, outer)
    );
    scene.on(PRIMARY, schedule(0, true));
    assert_eq!(scene.state(PRIMARY), TaskWait);
    assert_eq!(scene.context(PRIMARY).kind, ContextKind::Region);
    scene.on(PRIMARY, sync_end(Sync::TaskWait));
    assert_eq!(scene.state(PRIMARY), Work);
}

#[test]
fn an_untied_task_that_is_left_comes_back_at_work_on_any_thread() {
    let mut scene = Scene::new(2);
    scene.fork(7, StackId::EMPTY, &[0, 1]);
    let task = Instance(90);
    let site = scene.site(&[4]);
    scene.on(
        PRIMARY,
        What::TaskCreate {
            task,
            site: site.into(),
        },
    );
    scene.on(PRIMARY, schedule(90, false));
    let context = scene.thread_state(PRIMARY).context;
    scene.on(PRIMARY, sync(Sync::TaskWait, 0));
    scene.on(PRIMARY, schedule(0, false));
    assert_eq!(scene.context(PRIMARY).kind, ContextKind::Region);
    scene.on(1, sync(JOIN, 7));
    scene.on(1, schedule(90, false));
    assert_eq!(
        (scene.state(1), scene.thread_state(1).context),
        (Work, context)
    );
    // The end of its taskwait comes here, and is not that of the barrier below.
    scene.on(1, sync_end(Sync::TaskWait));
    assert_eq!(
        (scene.state(1), scene.thread_state(1).context),
        (Work, context)
    );
    scene.on(1, schedule(0, true));
    assert_eq!(scene.state(1), ImplicitBarrier);
}

#[test]
fn a_wait_inside_a_task_is_not_taken_for_the_one_outside() {
    let mut scene = Scene::new(1);
    scene.fork(7, StackId::EMPTY, &[0]);
    scene.on(PRIMARY, sync(Sync::TaskWait, 0));
    scene.on(PRIMARY, schedule(90, false));
    scene.on(PRIMARY, sync_end(Sync::TaskWait));
    assert_eq!(scene.state(PRIMARY), Work, "still in the task");
    scene.on(PRIMARY, schedule(0, true));
    assert_eq!(scene.state(PRIMARY), TaskWait);
}

#[test]
fn tasks_in_serial_code() {
    let mut scene = Scene::new(1);
    let site = scene.site(&[4]);
    let task = Instance(90);
    scene.on(
        PRIMARY,
        What::TaskCreate {
            task,
            site: site.into(),
        },
    );
    scene.on(PRIMARY, schedule(90, false));
    assert_eq!(scene.state(PRIMARY), Work);
    assert_eq!(scene.context(PRIMARY).kind, ContextKind::Task);
    scene.on(PRIMARY, schedule(0, true));
    assert_eq!(scene.state(PRIMARY), Serial);
}

#[test]
fn tasks_of_a_recursion_stand_where_the_first_of_their_construct_does() {
    let mut scene = Scene::new(1);
    let (left, right) = (scene.site(&[1, 4]), scene.site(&[1, 5]));
    scene.fork(7, StackId::EMPTY, &[0]);
    let region = scene.thread_state(PRIMARY).context;
    let mut seen = Vec::new();
    // Every path of a binary tree that is twelve calls deep.
    for path in 0..1_u64 << 12 {
        for level in 0..12 {
            let task = Instance(100 + level);
            let site = if path >> level & 1 == 0 { left } else { right };
            scene.on(
                PRIMARY,
                What::TaskCreate {
                    task,
                    site: site.into(),
                },
            );
            scene.on(PRIMARY, sync(Sync::TaskWait, 0));
            scene.on(PRIMARY, schedule(100 + level, false));
            let context = scene.thread_state(PRIMARY).context;
            assert_eq!(scene.context(PRIMARY).stack, site);
            if !seen.contains(&context) {
                seen.push(context);
            }
        }
        for level in (0..12).rev() {
            let below = if level > 0 { 99 + level } else { 0 };
            scene.on(PRIMARY, schedule(below, true));
        }
    }
    // Left, right, one in the other.
    assert_eq!(seen.len(), 4);
    let outer = scene.known(region, ContextKind::Task, left);
    scene.known(outer, ContextKind::Task, right);
}
