//! Helper threads of the runtime: LLVM's hidden helpers, which execute tasks of `target nowait`.

use experiment::ids::{ContextId, Nanos, StackId};
use experiment::state::{Scheduling, State};
use experiment::tables::{ContextKind, ThreadKind};

use super::driver::*;
use crate::stream::{Instance, Sync, TaskOf, What};

const JOIN: Sync = Sync::BarrierParallel;
const ROOT: u32 = 1;
const HELPER: u32 = 2;
const TEAM: u64 = 70;
const TASK: u64 = 71;

/// The initial thread, and a team of two helpers that has been forked and waits for tasks.
fn helpers() -> Driver {
    let mut driver = Driver::unborn(3);
    driver.on(PRIMARY, What::ThreadBegin(ThreadKind::Initial));
    driver.at(10, ROOT, What::Birth(Scheduling::Running));
    driver.at(20, ROOT, What::ThreadBegin(ThreadKind::Other));
    let site = driver.site(&[9]);
    driver.on(ROOT, parallel(TEAM, site));
    driver.on(ROOT, implicit(TEAM, 2, 0));
    driver.at(25, HELPER, What::ThreadBegin(ThreadKind::Worker));
    driver.on(HELPER, implicit(TEAM, 2, 1));
    driver.time = 30;
    for thread in [ROOT, HELPER] {
        driver.on(thread, sync(Sync::BarrierExplicit, 0));
    }
    assert_eq!(driver.states(), [State::Serial, State::Idle, State::Idle]);
    driver.time = 40;
    for thread in [ROOT, HELPER] {
        driver.on(thread, sync_end(Sync::BarrierExplicit));
        driver.on(thread, sync(JOIN, TEAM));
    }
    driver
}

fn create(driver: &mut Driver, thread: u32) {
    let site = driver.site(&[1]).into();
    let task = Instance(TASK);
    driver.on(
        thread,
        What::TaskCreate {
            task,
            site,
            of: TaskOf::Directive,
        },
    );
}

#[test]
fn helpers_are_idle_whatever_they_wait_in() {
    let mut driver = helpers();
    assert_eq!(driver.states(), [State::Serial, State::Idle, State::Idle]);
    driver.at(100, ROOT, sync_end(JOIN));
    driver.on(ROOT, late_end());
    driver.on(ROOT, parallel_end(TEAM));
    assert_eq!(driver.states(), [State::Serial, State::Idle, State::Idle]);
    let kinds: Vec<ThreadKind> = driver.tables.threads.iter().map(|it| it.kind).collect();
    use ThreadKind::{Initial, Other};
    assert_eq!(kinds, [Initial, Other, Other]);
    let running = Scheduling::Running;
    assert_eq!(driver.accounted(HELPER), [(State::Idle, running, 75)]);
}

#[test]
fn the_team_of_helpers_is_no_region() {
    let mut driver = helpers();
    driver.at(100, ROOT, parallel_end(TEAM));
    driver.accounting.finish(Nanos(driver.time));
    let rows = driver.accounting.take();
    assert_eq!(rows.region_sums, []);
    assert_eq!(driver.tables.contexts.len(), 1);
    // The program's own region is its first instance.
    driver.fork(90, StackId::EMPTY, &[PRIMARY]);
    let within = driver.machine.within_of(experiment::ids::ThreadId(PRIMARY));
    assert_eq!(within.region, 1);
}

#[test]
fn a_task_that_a_helper_executes_is_work_of_its_construct() {
    let mut driver = helpers();
    create(&mut driver, PRIMARY);
    driver.at(50, HELPER, schedule(TASK, false));
    assert_eq!(driver.state(HELPER), State::Work);
    let context = driver.context(HELPER);
    assert_eq!(context.kind, ContextKind::Task);
    assert_eq!(context.parent, ContextId::ROOT);
    // It may wait, and encounter a region.
    driver.at(60, HELPER, sync(Sync::TaskWait, 0));
    assert_eq!(driver.state(HELPER), State::TaskWait);
    driver.at(65, HELPER, sync_end(Sync::TaskWait));
    driver.fork(80, StackId::EMPTY, &[HELPER]);
    assert_eq!(driver.context(HELPER).kind, ContextKind::Region);
    driver.at(70, HELPER, parallel_end(80));
    driver.at(75, HELPER, schedule(0, true));
    assert_eq!(driver.state(HELPER), State::Idle);
    driver.accounting.finish(Nanos(driver.time));
    let rows = driver.accounting.take();
    assert_eq!(rows.task_sums.len(), 1);
    assert_eq!(rows.region_sums.len(), 1);
}

#[test]
fn a_worker_whose_announcement_was_lost_is_a_worker_from_its_first_team_on() {
    let mut driver = Driver::unborn(2);
    driver.on(PRIMARY, What::ThreadBegin(ThreadKind::Initial));
    driver.fork(7, StackId::EMPTY, &[PRIMARY, 1]);
    assert_eq!(driver.tables.threads[1].kind, ThreadKind::Worker);
}
