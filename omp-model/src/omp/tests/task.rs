//! Explicit tasks: who runs them, where, and what they interrupt, by value.

use experiment::ids::StackId;
use experiment::state::{Scheduling, State};
use experiment::tables::ContextKind;

use super::driver::*;
use crate::stream::{Instance, Sync, TaskOf, What};

use State::*;

const JOIN: Sync = Sync::BarrierParallel;

#[test]
fn a_task_inside_a_barrier_is_work_of_the_task_and_not_waiting() {
    let mut driver = Driver::new(2);
    let site = driver.site(&[1]);
    let create = driver.site(&[1, 9]);
    driver.fork(7, site, &[0, 1]);
    let region = driver.thread_state(PRIMARY).context;
    let task = Instance(90);
    driver.on(
        PRIMARY,
        What::TaskCreate {
            task,
            site: create.into(),
            of: TaskOf::Directive,
        },
    );
    assert_eq!(driver.state(PRIMARY), Work, "deferred");
    driver.at(10, 1, sync(JOIN, 7));
    driver.at(30, 1, schedule(90, false));
    let thread_state = driver.thread_state(1);
    assert_eq!(thread_state.state, Work);
    assert_eq!(
        thread_state.context,
        driver.known(region, ContextKind::Task, create),
        "created in the region, not in the barrier"
    );
    driver.at(70, 1, schedule(0, true));
    assert_eq!(driver.state(1), ImplicitBarrier);
    assert_eq!(driver.thread_state(1).context, region);
    driver.at(75, PRIMARY, sync(JOIN, 7));
    driver.time = 80;
    driver.join(7, PRIMARY, JOIN);
    let on = Scheduling::Running;
    assert_eq!(
        driver.accounted(1),
        [(Work, on, 10 + 40), (ImplicitBarrier, on, 20 + 10)]
    );
}

#[test]
fn a_task_that_waits_for_its_children_runs_them_on_top() {
    let mut driver = Driver::new(1);
    driver.fork(7, StackId::EMPTY, &[0]);
    let (site, inside) = (driver.site(&[4]), driver.site(&[5]));
    let create = |id, site: StackId| What::TaskCreate {
        task: Instance(id),
        site: site.into(),
        of: TaskOf::Directive,
    };
    driver.on(PRIMARY, create(90, site));
    driver.on(PRIMARY, sync(Sync::TaskWait, 0));
    driver.on(PRIMARY, schedule(90, false));
    let outer = driver.thread_state(PRIMARY).context;
    driver.on(PRIMARY, create(91, inside));
    driver.on(PRIMARY, create(92, inside));
    driver.on(PRIMARY, sync(Sync::TaskWait, 0));
    assert_eq!(
        (driver.state(PRIMARY), driver.thread_state(PRIMARY).context),
        (TaskWait, outer)
    );
    driver.on(PRIMARY, schedule(91, false));
    let inner = driver.thread_state(PRIMARY).context;
    assert_eq!(driver.context(PRIMARY).parent, outer, "its creator's");
    assert_eq!(driver.state(PRIMARY), Work);
    // From one child straight to the next.
    driver.on(PRIMARY, schedule(92, true));
    assert_eq!(
        (driver.state(PRIMARY), driver.thread_state(PRIMARY).context),
        (Work, inner)
    );
    driver.on(PRIMARY, schedule(90, true));
    assert_eq!(
        (driver.state(PRIMARY), driver.thread_state(PRIMARY).context),
        (TaskWait, outer)
    );
    driver.on(PRIMARY, sync_end(Sync::TaskWait));
    assert_eq!(
        (driver.state(PRIMARY), driver.thread_state(PRIMARY).context),
        (Work, outer)
    );
    driver.on(PRIMARY, schedule(0, true));
    assert_eq!(driver.state(PRIMARY), TaskWait);
    assert_eq!(driver.context(PRIMARY).kind, ContextKind::Region);
    driver.on(PRIMARY, sync_end(Sync::TaskWait));
    assert_eq!(driver.state(PRIMARY), Work);
}

#[test]
fn an_untied_task_that_is_left_comes_back_at_work_on_any_thread() {
    let mut driver = Driver::new(2);
    driver.fork(7, StackId::EMPTY, &[0, 1]);
    let task = Instance(90);
    let site = driver.site(&[4]);
    driver.on(
        PRIMARY,
        What::TaskCreate {
            task,
            site: site.into(),
            of: TaskOf::Directive,
        },
    );
    driver.on(PRIMARY, schedule(90, false));
    let context = driver.thread_state(PRIMARY).context;
    driver.on(PRIMARY, sync(Sync::TaskWait, 0));
    driver.on(PRIMARY, schedule(0, false));
    assert_eq!(driver.context(PRIMARY).kind, ContextKind::Region);
    driver.on(1, sync(JOIN, 7));
    driver.on(1, schedule(90, false));
    assert_eq!(
        (driver.state(1), driver.thread_state(1).context),
        (Work, context)
    );
    // This ends its taskwait, not the barrier below.
    driver.on(1, sync_end(Sync::TaskWait));
    assert_eq!(
        (driver.state(1), driver.thread_state(1).context),
        (Work, context)
    );
    driver.on(1, schedule(0, true));
    assert_eq!(driver.state(1), ImplicitBarrier);
}

#[test]
fn a_wait_inside_a_task_is_not_taken_for_the_one_outside() {
    let mut driver = Driver::new(1);
    driver.fork(7, StackId::EMPTY, &[0]);
    driver.on(PRIMARY, sync(Sync::TaskWait, 0));
    driver.on(PRIMARY, schedule(90, false));
    driver.on(PRIMARY, sync_end(Sync::TaskWait));
    assert_eq!(driver.state(PRIMARY), Work, "still in the task");
    driver.on(PRIMARY, schedule(0, true));
    assert_eq!(driver.state(PRIMARY), TaskWait);
}

#[test]
fn tasks_in_serial_code() {
    let mut driver = Driver::new(1);
    let site = driver.site(&[4]);
    let task = Instance(90);
    driver.on(
        PRIMARY,
        What::TaskCreate {
            task,
            site: site.into(),
            of: TaskOf::Directive,
        },
    );
    driver.on(PRIMARY, schedule(90, false));
    assert_eq!(driver.state(PRIMARY), Work);
    assert_eq!(driver.context(PRIMARY).kind, ContextKind::Task);
    driver.on(PRIMARY, schedule(0, true));
    assert_eq!(driver.state(PRIMARY), Serial);
}

#[test]
fn tasks_of_a_recursion_have_the_context_of_the_first_of_their_construct() {
    let mut driver = Driver::new(1);
    let (left, right) = (driver.site(&[1, 4]), driver.site(&[1, 5]));
    driver.fork(7, StackId::EMPTY, &[0]);
    let region = driver.thread_state(PRIMARY).context;
    let mut seen = Vec::new();
    // Every path of a binary tree that is twelve calls deep.
    for path in 0..1_u64 << 12 {
        for level in 0..12 {
            let task = Instance(100 + level);
            let site = if path >> level & 1 == 0 { left } else { right };
            driver.on(
                PRIMARY,
                What::TaskCreate {
                    task,
                    site: site.into(),
                    of: TaskOf::Directive,
                },
            );
            driver.on(PRIMARY, sync(Sync::TaskWait, 0));
            driver.on(PRIMARY, schedule(100 + level, false));
            let context = driver.thread_state(PRIMARY).context;
            assert_eq!(driver.context(PRIMARY).stack, site);
            if !seen.contains(&context) {
                seen.push(context);
            }
        }
        for level in (0..12).rev() {
            let below = if level > 0 { 99 + level } else { 0 };
            driver.on(PRIMARY, schedule(below, true));
        }
    }
    // Left, right, one in the other.
    assert_eq!(seen.len(), 4);
    let outer = driver.known(region, ContextKind::Task, left);
    driver.known(outer, ContextKind::Task, right);
}
