//! Streams with holes: what is known after them, and what must not grow.

use experiment::ids::{ContextId, StackId};
use experiment::state::State;

use super::scene::*;
use crate::stream::{Mutex, Sync, What};

use State::*;

const JOIN: Sync = Sync::BarrierParallel;

#[test]
fn a_worker_is_unknown_until_its_region_ends() {
    let mut scene = Scene::new(2);
    let site = scene.site(&[1]);
    scene.fork(7, site, &[0, 1]);
    let region = scene.thread_state(1).context;
    scene.on(1, What::Lost);
    assert_eq!(
        (scene.state(1), scene.thread_state(1).context),
        (Unknown, region)
    );
    // What it waits for is told, and where it goes back to is not.
    scene.on(1, acquire(Mutex::Critical));
    assert_eq!(
        (scene.state(1), scene.thread_state(1).context),
        (Critical, region)
    );
    let kind = Mutex::Critical;
    scene.on(1, released(kind));
    assert_eq!(scene.state(1), Unknown);
    scene.on(PRIMARY, sync(JOIN, 7));
    scene.join(7, PRIMARY, JOIN);
    assert_eq!(scene.states(), [Serial, Idle]);
}

#[test]
fn a_worker_is_known_again_at_its_next_region_and_at_a_join() {
    let mut scene = Scene::new(2);
    let site = scene.site(&[1]);
    scene.on(1, What::Lost);
    assert_eq!(scene.state(1), Unknown);
    scene.fork(7, site, &[0, 1]);
    assert_eq!(scene.state(1), Work);
    scene.on(1, What::Lost);
    scene.on(1, sync(JOIN, 7));
    assert_eq!(scene.state(1), ImplicitBarrier);
    scene.on(PRIMARY, sync(JOIN, 7));
    scene.join(7, PRIMARY, JOIN);
    assert_eq!(scene.states(), [Serial, Idle]);
}

#[test]
fn a_join_of_a_region_whose_begin_was_lost_on_the_worker_is_in_that_region() {
    let mut scene = Scene::new(2);
    let site = scene.site(&[1]);
    scene.on(PRIMARY, parallel(7, site));
    scene.on(PRIMARY, implicit(7, 2, 0));
    scene.on(1, What::Lost);
    scene.on(1, sync(JOIN, 7));
    assert_eq!(scene.state(1), ImplicitBarrier);
    assert_eq!(scene.context(1).stack, site);
    scene.on(PRIMARY, sync(JOIN, 7));
    scene.join(7, PRIMARY, JOIN);
    assert_eq!(scene.states(), [Serial, Idle]);
}

#[test]
fn a_loss_in_serial_code_is_over_at_the_next_region() {
    let mut scene = Scene::new(2);
    let site = scene.site(&[1]);
    scene.on(PRIMARY, What::Lost);
    assert_eq!(scene.state(PRIMARY), Unknown);
    scene.on(PRIMARY, parallel(7, site));
    assert_eq!(scene.context(PRIMARY).parent, ContextId::ROOT);
    scene.join(7, PRIMARY, JOIN);
    assert_eq!(scene.state(PRIMARY), Serial);
}

#[test]
fn a_lost_end_is_found_by_the_next_fork_from_elsewhere() {
    let mut scene = Scene::new(2);
    let (first, second) = (scene.site(&[1, 2]), scene.site(&[1, 3]));
    scene.fork(7, first, &[0, 1]);
    scene.on(1, sync(JOIN, 7));
    scene.on(PRIMARY, What::Lost);
    assert_eq!(scene.states(), [Unknown, ImplicitBarrier]);
    // The site does not go on from that of region 7: so that one is over.
    scene.on(PRIMARY, parallel(8, second));
    assert_eq!(scene.states(), [Overhead, Idle]);
    assert_eq!(scene.context(PRIMARY).parent, ContextId::ROOT);
    scene.join(8, PRIMARY, JOIN);
    assert_eq!(scene.state(PRIMARY), Serial);
}

#[test]
fn the_same_directive_again_is_another_instance_and_not_a_nested_one() {
    let mut scene = Scene::new(2);
    let site = scene.site(&[1, 2]);
    scene.fork(7, site, &[0, 1]);
    scene.on(PRIMARY, What::Lost);
    scene.fork(8, site, &[0, 1]);
    assert_eq!(scene.context(PRIMARY).parent, ContextId::ROOT);
    assert_eq!(scene.states(), [Work, Work]);
}

#[test]
fn a_region_that_goes_on_after_a_loss_keeps_its_nested_regions() {
    let mut scene = Scene::new(3);
    let outer = scene.site(&[1, 2]);
    let inner = scene.site(&[1, 2, 40, 41, 3]);
    scene.fork(7, outer, &[0, 1]);
    let region = scene.thread_state(PRIMARY).context;
    scene.on(PRIMARY, What::Lost);
    scene.fork(8, inner, &[0, 2]);
    assert_eq!(scene.context(2).parent, region);
    scene.on(2, sync(JOIN, 8));
    scene.on(PRIMARY, sync(JOIN, 8));
    scene.join(8, PRIMARY, JOIN);
    assert_eq!(
        (scene.state(PRIMARY), scene.thread_state(PRIMARY).context),
        (Work, region)
    );
    scene.on(1, sync(JOIN, 7));
    scene.on(PRIMARY, sync(JOIN, 7));
    scene.join(7, PRIMARY, JOIN);
    assert_eq!(scene.states(), [Serial, Idle, Idle]);
}

#[test]
fn a_lost_end_is_found_when_a_worker_is_released() {
    let mut scene = Scene::new(3);
    scene.fork(7, StackId::EMPTY, &[0, 1, 2]);
    scene.on(1, sync(JOIN, 7));
    scene.on(2, sync(JOIN, 7));
    scene.on(PRIMARY, What::Lost);
    scene.at(10, 1, sync_end(JOIN));
    scene.at(10, 1, late_end());
    assert_eq!(scene.states(), [Unknown, Idle, Idle]);
    // What remains of the initial thread is its serial code.
    scene.on(PRIMARY, parallel(8, StackId::EMPTY));
    assert_eq!(scene.context(PRIMARY).parent, ContextId::ROOT);
}

#[test]
fn a_worker_released_a_moment_before_the_parallel_end_does_not_end_the_region() {
    // libomp frees a nested team before the callback of its end.
    let mut scene = Scene::new(2);
    scene.fork(7, StackId::EMPTY, &[0, 1]);
    scene.on(1, sync(JOIN, 7));
    scene.on(PRIMARY, sync(JOIN, 7));
    scene.on(1, sync_end(JOIN));
    scene.on(1, late_end());
    assert_eq!(scene.states(), [ImplicitBarrier, Idle]);
    scene.join(7, PRIMARY, JOIN);
    assert_eq!(scene.states(), [Serial, Idle]);
}

#[test]
fn a_fork_that_was_lost_is_known_by_its_primarys_implicit_task() {
    let mut scene = Scene::new(2);
    scene.on(PRIMARY, What::Lost);
    scene.on(PRIMARY, implicit(7, 2, 0));
    scene.on(1, implicit(7, 2, 1));
    assert_eq!(scene.states(), [Work, Work]);
    scene.on(1, sync(JOIN, 7));
    scene.on(PRIMARY, sync(JOIN, 7));
    scene.join(7, PRIMARY, JOIN);
    assert_eq!(scene.states(), [Serial, Idle]);
}

#[test]
fn ends_that_are_missing_pop_with_the_next_that_comes() {
    let mut scene = Scene::new(2);
    let site = scene.site(&[1]);
    scene.fork(7, site, &[0, 1]);
    scene.on(PRIMARY, sync(Sync::BarrierExplicit, 0));
    scene.on(PRIMARY, schedule(90, false));
    scene.on(PRIMARY, parallel(8, StackId::EMPTY));
    scene.on(PRIMARY, implicit(8, 1, 0));
    scene.on(PRIMARY, sync(Sync::TaskGroup, 0));
    scene.on(PRIMARY, parallel_end(7));
    assert_eq!(scene.states(), [Serial, Idle]);
}

#[test]
fn a_thread_that_ends_takes_its_regions_with_it() {
    let mut scene = Scene::new(2);
    scene.fork(7, StackId::EMPTY, &[0, 1]);
    scene.on(1, sync(JOIN, 7));
    scene.on(PRIMARY, What::Exit);
    assert_eq!(scene.state(1), Idle);
}

#[test]
fn lost_ends_leave_nothing_behind() {
    let mut scene = Scene::new(3);
    for id in 1..50_000u64 {
        let site = scene.site(&[1, 2 + id % 7]);
        scene.time += 10;
        scene.fork(id, site, &[0, 1, 2]);
        scene.on(1, sync(JOIN, id));
        scene.on(2, What::Lost);
        scene.on(PRIMARY, What::Lost);
    }
    assert!(scene.machine.regions.slots() < 200);
    for stack in &scene.machine.threads {
        assert!(stack.depth() <= 8, "{}", stack.depth());
    }
    assert!(scene.tables.contexts.len() < 20);
    assert!(scene.tables.thread_states.len() < 100);
}

#[test]
fn ends_that_never_come_do_not_pile_up_without_limit() {
    let mut scene = Scene::new(1);
    for id in 1..20_000 {
        scene.on(PRIMARY, parallel(id, StackId::EMPTY));
        scene.on(PRIMARY, schedule(id, false));
    }
    assert!(scene.machine.threads[0].depth() <= crate::omp::thread::DEEPEST);
    assert!(scene.machine.regions.slots() <= crate::omp::thread::DEEPEST + 200);
}
