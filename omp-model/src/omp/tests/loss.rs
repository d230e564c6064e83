//! Streams with losses: what is known after them, and what must not grow.

use experiment::ids::{ContextId, StackId};
use experiment::state::State;

use super::driver::*;
use crate::stream::{Mutex, Sync, What};

use State::*;

const JOIN: Sync = Sync::BarrierParallel;

#[test]
fn a_worker_is_unknown_until_its_region_ends() {
    let mut driver = Driver::new(2);
    let site = driver.site(&[1]);
    driver.fork(7, site, &[0, 1]);
    let region = driver.thread_state(1).context;
    driver.on(1, What::Lost);
    assert_eq!(
        (driver.state(1), driver.thread_state(1).context),
        (Unknown, region)
    );
    // What it waits for is known, and what it returns to is not.
    driver.on(1, acquire(Mutex::Critical));
    assert_eq!(
        (driver.state(1), driver.thread_state(1).context),
        (Critical, region)
    );
    let kind = Mutex::Critical;
    driver.on(1, released(kind));
    assert_eq!(driver.state(1), Unknown);
    driver.on(PRIMARY, sync(JOIN, 7));
    driver.join(7, PRIMARY, JOIN);
    assert_eq!(driver.states(), [Serial, Idle]);
}

#[test]
fn a_worker_is_known_again_at_its_next_region_and_at_a_join() {
    let mut driver = Driver::new(2);
    let site = driver.site(&[1]);
    driver.on(1, What::Lost);
    assert_eq!(driver.state(1), Unknown);
    driver.fork(7, site, &[0, 1]);
    assert_eq!(driver.state(1), Work);
    driver.on(1, What::Lost);
    driver.on(1, sync(JOIN, 7));
    assert_eq!(driver.state(1), ImplicitBarrier);
    driver.on(PRIMARY, sync(JOIN, 7));
    driver.join(7, PRIMARY, JOIN);
    assert_eq!(driver.states(), [Serial, Idle]);
}

#[test]
fn a_join_of_a_region_whose_begin_was_lost_on_the_worker_is_in_that_region() {
    let mut driver = Driver::new(2);
    let site = driver.site(&[1]);
    driver.on(PRIMARY, parallel(7, site));
    driver.on(PRIMARY, implicit(7, 2, 0));
    driver.on(1, What::Lost);
    driver.on(1, sync(JOIN, 7));
    assert_eq!(driver.state(1), ImplicitBarrier);
    assert_eq!(driver.context(1).stack, site);
    driver.on(PRIMARY, sync(JOIN, 7));
    driver.join(7, PRIMARY, JOIN);
    assert_eq!(driver.states(), [Serial, Idle]);
}

#[test]
fn a_loss_in_serial_code_is_over_at_the_next_region() {
    let mut driver = Driver::new(2);
    let site = driver.site(&[1]);
    driver.on(PRIMARY, What::Lost);
    assert_eq!(driver.state(PRIMARY), Unknown);
    driver.on(PRIMARY, parallel(7, site));
    assert_eq!(driver.context(PRIMARY).parent, ContextId::ROOT);
    driver.join(7, PRIMARY, JOIN);
    assert_eq!(driver.state(PRIMARY), Serial);
}

#[test]
fn a_lost_end_is_found_by_the_next_fork_from_elsewhere() {
    let mut driver = Driver::new(2);
    let (first, second) = (driver.site(&[1, 2]), driver.site(&[1, 3]));
    driver.fork(7, first, &[0, 1]);
    driver.on(1, sync(JOIN, 7));
    driver.on(PRIMARY, What::Lost);
    assert_eq!(driver.states(), [Unknown, ImplicitBarrier]);
    // The site does not extend that of region 7, so that one is over.
    driver.on(PRIMARY, parallel(8, second));
    assert_eq!(driver.states(), [Overhead, Idle]);
    assert_eq!(driver.context(PRIMARY).parent, ContextId::ROOT);
    driver.join(8, PRIMARY, JOIN);
    assert_eq!(driver.state(PRIMARY), Serial);
}

#[test]
fn the_same_directive_again_is_another_instance_and_not_a_nested_one() {
    let mut driver = Driver::new(2);
    let site = driver.site(&[1, 2]);
    driver.fork(7, site, &[0, 1]);
    driver.on(PRIMARY, What::Lost);
    driver.fork(8, site, &[0, 1]);
    assert_eq!(driver.context(PRIMARY).parent, ContextId::ROOT);
    assert_eq!(driver.states(), [Work, Work]);
}

#[test]
fn a_region_that_goes_on_after_a_loss_keeps_its_nested_regions() {
    let mut driver = Driver::new(3);
    let outer = driver.site(&[1, 2]);
    let inner = driver.site(&[1, 2, 40, 41, 3]);
    driver.fork(7, outer, &[0, 1]);
    let region = driver.thread_state(PRIMARY).context;
    driver.on(PRIMARY, What::Lost);
    driver.fork(8, inner, &[0, 2]);
    assert_eq!(driver.context(2).parent, region);
    driver.on(2, sync(JOIN, 8));
    driver.on(PRIMARY, sync(JOIN, 8));
    driver.join(8, PRIMARY, JOIN);
    assert_eq!(
        (driver.state(PRIMARY), driver.thread_state(PRIMARY).context),
        (Work, region)
    );
    driver.on(1, sync(JOIN, 7));
    driver.on(PRIMARY, sync(JOIN, 7));
    driver.join(7, PRIMARY, JOIN);
    assert_eq!(driver.states(), [Serial, Idle, Idle]);
}

#[test]
fn a_lost_end_is_found_when_a_worker_is_released() {
    let mut driver = Driver::new(3);
    driver.fork(7, StackId::EMPTY, &[0, 1, 2]);
    driver.on(1, sync(JOIN, 7));
    driver.on(2, sync(JOIN, 7));
    driver.on(PRIMARY, What::Lost);
    driver.at(10, 1, sync_end(JOIN));
    driver.at(10, 1, late_end());
    assert_eq!(driver.states(), [Unknown, Idle, Idle]);
    // The initial thread is in its serial code.
    driver.on(PRIMARY, parallel(8, StackId::EMPTY));
    assert_eq!(driver.context(PRIMARY).parent, ContextId::ROOT);
}

#[test]
fn a_worker_released_a_moment_before_the_parallel_end_does_not_end_the_region() {
    // libomp frees a nested team before the callback of its end.
    let mut driver = Driver::new(2);
    driver.fork(7, StackId::EMPTY, &[0, 1]);
    driver.on(1, sync(JOIN, 7));
    driver.on(PRIMARY, sync(JOIN, 7));
    driver.on(1, sync_end(JOIN));
    driver.on(1, late_end());
    assert_eq!(driver.states(), [ImplicitBarrier, Idle]);
    driver.join(7, PRIMARY, JOIN);
    assert_eq!(driver.states(), [Serial, Idle]);
}

#[test]
fn a_fork_that_was_lost_is_known_by_its_primarys_implicit_task() {
    let mut driver = Driver::new(2);
    driver.on(PRIMARY, What::Lost);
    driver.on(PRIMARY, implicit(7, 2, 0));
    driver.on(1, implicit(7, 2, 1));
    assert_eq!(driver.states(), [Work, Work]);
    driver.on(1, sync(JOIN, 7));
    driver.on(PRIMARY, sync(JOIN, 7));
    driver.join(7, PRIMARY, JOIN);
    assert_eq!(driver.states(), [Serial, Idle]);
}

#[test]
fn ends_that_are_missing_pop_with_the_next_that_comes() {
    let mut driver = Driver::new(2);
    let site = driver.site(&[1]);
    driver.fork(7, site, &[0, 1]);
    driver.on(PRIMARY, sync(Sync::BarrierExplicit, 0));
    driver.on(PRIMARY, schedule(90, false));
    driver.on(PRIMARY, parallel(8, StackId::EMPTY));
    driver.on(PRIMARY, implicit(8, 1, 0));
    driver.on(PRIMARY, sync(Sync::TaskGroup, 0));
    driver.on(PRIMARY, parallel_end(7));
    assert_eq!(driver.states(), [Serial, Idle]);
}

#[test]
fn a_thread_that_ends_takes_its_regions_with_it() {
    let mut driver = Driver::new(2);
    driver.fork(7, StackId::EMPTY, &[0, 1]);
    driver.on(1, sync(JOIN, 7));
    driver.on(PRIMARY, What::Exit);
    assert_eq!(driver.state(1), Idle);
}

#[test]
fn lost_ends_leave_nothing_behind() {
    let mut driver = Driver::new(3);
    for id in 1..50_000u64 {
        let site = driver.site(&[1, 2 + id % 7]);
        driver.time += 10;
        driver.fork(id, site, &[0, 1, 2]);
        driver.on(1, sync(JOIN, id));
        driver.on(2, What::Lost);
        driver.on(PRIMARY, What::Lost);
    }
    assert!(driver.machine.regions.slots() < 200);
    for stack in &driver.machine.threads {
        assert!(stack.depth() <= 8, "{}", stack.depth());
    }
    assert!(driver.tables.contexts.len() < 20);
    assert!(driver.tables.thread_states.len() < 100);
}

#[test]
fn ends_that_never_come_do_not_pile_up_without_limit() {
    let mut driver = Driver::new(1);
    for id in 1..20_000 {
        driver.on(PRIMARY, parallel(id, StackId::EMPTY));
        driver.on(PRIMARY, schedule(id, false));
    }
    assert!(driver.machine.threads[0].depth() <= crate::omp::thread::DEEPEST);
    assert!(driver.machine.regions.slots() <= crate::omp::thread::DEEPEST + 200);
}
