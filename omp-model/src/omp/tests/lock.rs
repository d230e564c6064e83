//! Directed blame by value: who held what others waited for.

use experiment::ids::{FrameId, Nanos, StackId};
use experiment::rows::SLICE;
use experiment::state::{Scheduling, State};

use super::scene::*;
use crate::stream::{Lock, Mutex, Sync, What};

use State::*;

const A: Lock = Lock(0x1000);
const B: Lock = Lock(0x2000);
const NOWHERE: FrameId = FrameId::NONE;

/// A team of threads at work since time 0.
fn team(threads: u32) -> Scene {
    let mut scene = Scene::new(threads);
    let all: Vec<u32> = (0..threads).collect();
    scene.fork(7, StackId::EMPTY, &all);
    scene
}

fn ask(lock: Lock, call: u32) -> What {
    acquire_at(Mutex::Lock, lock, FrameId(call))
}

fn get(lock: Lock) -> What {
    let kind = Mutex::Lock;
    What::MutexAcquired { kind, lock }
}

fn give(lock: Lock) -> What {
    let kind = Mutex::Lock;
    What::MutexReleased { kind, lock }
}

/// The thread asks for a free lock and has it.
fn take(scene: &mut Scene, thread: u32, lock: Lock, call: u32) {
    scene.on(thread, ask(lock, call));
    scene.on(thread, get(lock));
}

/// What is owed: the holder, its state and place, on or off the CPU, nanoseconds.
fn owed(scene: &mut Scene) -> Vec<(u32, State, u32, Scheduling, u64)> {
    scene.accounting.finish(Nanos(scene.time));
    let rows = scene.accounting.take();
    let mut owed: Vec<(u32, State, u32, Scheduling, u64)> = Vec::new();
    for blame in &rows.blames {
        let thread_state = scene
            .tables
            .thread_states
            .get(blame.thread_state.0)
            .unwrap();
        let key = (
            blame.thread.0,
            thread_state.state,
            thread_state.call.0,
            blame.scheduling,
        );
        match owed.iter_mut().find(|it| (it.0, it.1, it.2, it.3) == key) {
            Some(known) => known.4 += blame.time.0,
            None => owed.push((key.0, key.1, key.2, key.3, blame.time.0)),
        }
    }
    owed.sort_unstable();
    owed
}

const ON: Scheduling = Scheduling::Running;

#[test]
fn each_wait_is_owed_to_who_holds_the_lock_meanwhile() {
    let mut scene = team(4);
    scene.time = 100;
    take(&mut scene, 0, A, 11);
    take(&mut scene, 3, B, 12);
    scene.at(200, 1, ask(A, 11));
    scene.at(250, 2, ask(A, 11));
    scene.at(300, 3, give(B));
    // From one holder to the next.
    scene.at(400, 0, give(A));
    scene.on(1, get(A));
    scene.at(1_000, 1, give(A));
    scene.on(2, get(A));
    scene.at(1_500, 2, give(A));
    assert_eq!(
        owed(&mut scene),
        [(0, Work, 11, ON, 200 + 150), (1, Work, 11, ON, 600)]
    );
}

#[test]
fn who_holds_a_lock_and_waits_for_another_passes_it_on() {
    let mut scene = team(3);
    take(&mut scene, 0, B, 12);
    take(&mut scene, 1, A, 11);
    scene.at(100, 1, ask(B, 12));
    scene.at(300, 2, ask(A, 11));
    scene.at(600, 0, give(B));
    scene.on(1, get(B));
    scene.at(700, 1, give(B));
    scene.at(1_000, 1, give(A));
    scene.on(2, get(A));
    assert_eq!(
        owed(&mut scene),
        [
            // Thread 1 all along, and thread 2 by way of it.
            (0, Work, 12, ON, 500 + 300),
            (1, Work, 11, ON, 300),
            (1, Work, 12, ON, 100),
        ]
    );
}

#[test]
fn handing_over_is_owed_to_where_the_lock_was_given_back() {
    let mut scene = team(2);
    take(&mut scene, 0, A, 11);
    scene.at(100, 1, ask(A, 11));
    scene.at(200, 0, give(A));
    scene.at(230, 1, get(A));
    scene.at(240, 1, give(A));
    // Of a wait that finds it free nobody is to blame.
    scene.at(300, 1, ask(A, 11));
    scene.at(310, 1, get(A));
    assert_eq!(owed(&mut scene), [(0, Work, 11, ON, 130)]);
}

#[test]
fn slices_of_time_are_kept_apart() {
    let mut scene = team(2);
    take(&mut scene, 0, A, 11);
    scene.at(SLICE.0 - 100, 1, ask(A, 11));
    scene.at(SLICE.0 + 50, 0, give(A));
    scene.at(2 * SLICE.0 + 30, 1, get(A));
    scene.accounting.finish(Nanos(scene.time));
    let rows = scene.accounting.take();
    let mut by_slice = [0; 3];
    for blame in &rows.blames {
        by_slice[blame.slice as usize] += blame.time.0;
    }
    assert_eq!(by_slice, [100, SLICE.0, 30]);
}

#[test]
fn a_holder_off_the_cpu_is_to_blame_too() {
    let mut scene = team(2);
    take(&mut scene, 0, A, 11);
    scene.at(100, 1, ask(A, 11));
    scene.at(200, 0, What::SwitchOut(Scheduling::Blocked));
    scene.at(900, 0, What::SwitchIn);
    scene.at(1_000, 0, give(A));
    scene.on(1, get(A));
    assert_eq!(
        owed(&mut scene),
        [
            (0, Work, 11, ON, 200),
            (0, Work, 11, Scheduling::Blocked, 700),
        ]
    );
}

#[test]
fn a_holder_in_a_barrier_waits_itself_and_is_owed_nothing() {
    let mut scene = team(2);
    take(&mut scene, 0, A, 11);
    scene.at(100, 1, ask(A, 11));
    scene.at(200, 0, sync(Sync::TaskWait, 0));
    scene.at(500, 0, sync_end(Sync::TaskWait));
    scene.at(600, 0, give(A));
    scene.on(1, get(A));
    assert_eq!(owed(&mut scene), [(0, Work, 11, ON, 200)]);
}

#[test]
fn who_asks_for_what_it_holds_itself_is_in_nobodys_way() {
    let kind = Mutex::NestLock;
    let mut scene = team(2);
    scene.on(0, acquire(kind));
    scene.on(0, acquired(kind));
    // LLVM's runtime asks once more, and says that the lock is nested.
    scene.at(100, 0, acquire(kind));
    scene.at(200, 0, What::MutexAsked);
    // libgomp's interposer tells of each level.
    scene.on(0, acquired(kind));
    scene.at(300, 1, acquire(kind));
    scene.at(400, 0, released(kind));
    scene.at(500, 0, released(kind));
    scene.on(1, acquired(kind));
    assert_eq!(owed(&mut scene), [(0, Work, 0, ON, 200)]);
}

#[test]
fn a_lock_that_the_next_has_before_it_is_said_to_be_free() {
    let mut scene = team(3);
    take(&mut scene, 0, A, 11);
    scene.at(100, 1, ask(A, 11));
    scene.at(200, 1, get(A));
    scene.at(210, 2, ask(A, 11));
    scene.at(220, 0, give(A));
    assert_eq!(scene.thread_state(0).call, NOWHERE);
    scene.at(310, 1, give(A));
    scene.on(2, get(A));
    assert_eq!(
        owed(&mut scene),
        [(0, Work, 11, ON, 100), (1, Work, 11, ON, 100)]
    );
}

#[test]
fn the_inside_of_a_lock_has_its_place_in_whatever_order_locks_are_given_back() {
    let mut scene = team(1);
    take(&mut scene, 0, A, 11);
    assert_eq!(
        (scene.state(0), scene.thread_state(0).call),
        (Work, FrameId(11))
    );
    take(&mut scene, 0, B, 12);
    assert_eq!(scene.thread_state(0).call, FrameId(12));
    scene.on(0, give(A));
    assert_eq!(scene.thread_state(0).call, FrameId(12));
    scene.on(0, give(B));
    assert_eq!(
        (scene.state(0), scene.thread_state(0).call),
        (Work, NOWHERE)
    );
}

#[test]
fn one_iteration_waits_for_another_and_not_for_a_holder() {
    let mut scene = team(2);
    let kind = Mutex::Ordered;
    let lock = Lock::NONE;
    for thread in [0, 1] {
        scene.on(thread, acquire_at(kind, lock, FrameId(11)));
        scene.at(100 + scene.time, thread, What::MutexAcquired { kind, lock });
        assert_eq!(
            (scene.state(thread), scene.thread_state(thread).call),
            (Work, NOWHERE)
        );
    }
    assert_eq!(owed(&mut scene), []);
}

#[test]
fn what_was_lost_is_held_no_more() {
    for what in [What::Lost, What::ThreadEnd, What::Exit] {
        let mut scene = team(2);
        take(&mut scene, 0, A, 11);
        scene.at(100, 1, ask(A, 11));
        scene.at(200, 0, what);
        scene.at(500, 1, get(A));
        assert_eq!(owed(&mut scene), [(0, Work, 11, ON, 100)], "{what:?}");
    }
}

#[test]
fn locks_that_nobody_wants_any_more_take_no_room() {
    let mut scene = team(1);
    for lock in 1..100_000 {
        take(&mut scene, 0, Lock(lock), 11);
        scene.on(0, give(Lock(lock)));
    }
    assert!(scene.machine.locks.rows() <= 4096);
    // A million cells that are locked for ever are no program, but must not break this one.
    for lock in 1..100_000 {
        take(&mut scene, 0, Lock(lock), 11);
    }
    assert!(scene.machine.locks.rows() <= 4096);
}
