//! Directed blame by value: who held what others waited for.

use experiment::ids::{FrameId, Nanos, StackId};
use experiment::rows::SLICE;
use experiment::state::{Scheduling, State};

use super::driver::*;
use crate::stream::{Lock, Mutex, Sync, What};

use State::*;

const A: Lock = Lock(0x1000);
const B: Lock = Lock(0x2000);
const NOWHERE: FrameId = FrameId::NONE;

/// A team of threads at work since time 0.
fn team(threads: u32) -> Driver {
    let mut driver = Driver::new(threads);
    let all: Vec<u32> = (0..threads).collect();
    driver.fork(7, StackId::EMPTY, &all);
    driver
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
fn take(driver: &mut Driver, thread: u32, lock: Lock, call: u32) {
    driver.on(thread, ask(lock, call));
    driver.on(thread, get(lock));
}

/// Blamed time: the holder, its state and call, on or off the CPU, nanoseconds.
fn blames(driver: &mut Driver) -> Vec<(u32, State, u32, Scheduling, u64)> {
    driver.accounting.finish(Nanos(driver.time));
    let rows = driver.accounting.take();
    let mut blames: Vec<(u32, State, u32, Scheduling, u64)> = Vec::new();
    for blame in &rows.blames {
        let thread_state = driver
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
        match blames.iter_mut().find(|it| (it.0, it.1, it.2, it.3) == key) {
            Some(known) => known.4 += blame.time.0,
            None => blames.push((key.0, key.1, key.2, key.3, blame.time.0)),
        }
    }
    blames.sort_unstable();
    blames
}

const ON: Scheduling = Scheduling::Running;

#[test]
fn each_wait_is_blamed_on_the_holder_meanwhile() {
    let mut driver = team(4);
    driver.time = 100;
    take(&mut driver, 0, A, 11);
    take(&mut driver, 3, B, 12);
    driver.at(200, 1, ask(A, 11));
    driver.at(250, 2, ask(A, 11));
    driver.at(300, 3, give(B));
    // From one holder to the next.
    driver.at(400, 0, give(A));
    driver.on(1, get(A));
    driver.at(1_000, 1, give(A));
    driver.on(2, get(A));
    driver.at(1_500, 2, give(A));
    assert_eq!(
        blames(&mut driver),
        [(0, Work, 11, ON, 200 + 150), (1, Work, 11, ON, 600)]
    );
}

#[test]
fn the_blame_of_a_holder_that_waits_goes_to_the_holder_it_waits_for() {
    let mut driver = team(3);
    take(&mut driver, 0, B, 12);
    take(&mut driver, 1, A, 11);
    driver.at(100, 1, ask(B, 12));
    driver.at(300, 2, ask(A, 11));
    driver.at(600, 0, give(B));
    driver.on(1, get(B));
    driver.at(700, 1, give(B));
    driver.at(1_000, 1, give(A));
    driver.on(2, get(A));
    assert_eq!(
        blames(&mut driver),
        [
            // Thread 1 all the time, and thread 2 through it.
            (0, Work, 12, ON, 500 + 300),
            (1, Work, 11, ON, 300),
            (1, Work, 12, ON, 100),
        ]
    );
}

#[test]
fn a_handover_is_blamed_on_the_release() {
    let mut driver = team(2);
    take(&mut driver, 0, A, 11);
    driver.at(100, 1, ask(A, 11));
    driver.at(200, 0, give(A));
    driver.at(230, 1, get(A));
    driver.at(240, 1, give(A));
    // A wait for a free lock is blamed on nobody.
    driver.at(300, 1, ask(A, 11));
    driver.at(310, 1, get(A));
    assert_eq!(blames(&mut driver), [(0, Work, 11, ON, 130)]);
}

#[test]
fn slices_of_time_are_kept_apart() {
    let mut driver = team(2);
    take(&mut driver, 0, A, 11);
    driver.at(SLICE.0 - 100, 1, ask(A, 11));
    driver.at(SLICE.0 + 50, 0, give(A));
    driver.at(2 * SLICE.0 + 30, 1, get(A));
    driver.accounting.finish(Nanos(driver.time));
    let rows = driver.accounting.take();
    let mut by_slice = [0; 3];
    for blame in &rows.blames {
        by_slice[blame.slice as usize] += blame.time.0;
    }
    assert_eq!(by_slice, [100, SLICE.0, 30]);
}

#[test]
fn a_holder_off_the_cpu_is_to_blame_too() {
    let mut driver = team(2);
    take(&mut driver, 0, A, 11);
    driver.at(100, 1, ask(A, 11));
    driver.at(200, 0, What::SwitchOut(Scheduling::Blocked));
    driver.at(900, 0, What::SwitchIn);
    driver.at(1_000, 0, give(A));
    driver.on(1, get(A));
    assert_eq!(
        blames(&mut driver),
        [
            (0, Work, 11, ON, 200),
            (0, Work, 11, Scheduling::Blocked, 700),
        ]
    );
}

#[test]
fn a_holder_in_a_barrier_waits_itself_and_is_not_blamed() {
    let mut driver = team(2);
    take(&mut driver, 0, A, 11);
    driver.at(100, 1, ask(A, 11));
    driver.at(200, 0, sync(Sync::TaskWait, 0));
    driver.at(500, 0, sync_end(Sync::TaskWait));
    driver.at(600, 0, give(A));
    driver.on(1, get(A));
    assert_eq!(blames(&mut driver), [(0, Work, 11, ON, 200)]);
}

#[test]
fn who_asks_for_what_it_holds_itself_is_in_nobodys_way() {
    let kind = Mutex::NestLock;
    let mut driver = team(2);
    driver.on(0, acquire(kind));
    driver.on(0, acquired(kind));
    // LLVM's runtime acquires it once more, and reports that the lock is nested.
    driver.at(100, 0, acquire(kind));
    driver.at(200, 0, What::MutexAsked);
    // libgomp's interposer reports each level.
    driver.on(0, acquired(kind));
    driver.at(300, 1, acquire(kind));
    driver.at(400, 0, released(kind));
    driver.at(500, 0, released(kind));
    driver.on(1, acquired(kind));
    assert_eq!(blames(&mut driver), [(0, Work, 0, ON, 200)]);
}

#[test]
fn a_lock_that_the_next_has_before_it_is_said_to_be_free() {
    let mut driver = team(3);
    take(&mut driver, 0, A, 11);
    driver.at(100, 1, ask(A, 11));
    driver.at(200, 1, get(A));
    driver.at(210, 2, ask(A, 11));
    driver.at(220, 0, give(A));
    assert_eq!(driver.thread_state(0).call, NOWHERE);
    driver.at(310, 1, give(A));
    driver.on(2, get(A));
    assert_eq!(
        blames(&mut driver),
        [(0, Work, 11, ON, 100), (1, Work, 11, ON, 100)]
    );
}

#[test]
fn the_inside_of_a_lock_has_its_place_in_whatever_order_locks_are_given_back() {
    let mut driver = team(1);
    take(&mut driver, 0, A, 11);
    assert_eq!(
        (driver.state(0), driver.thread_state(0).call),
        (Work, FrameId(11))
    );
    take(&mut driver, 0, B, 12);
    assert_eq!(driver.thread_state(0).call, FrameId(12));
    driver.on(0, give(A));
    assert_eq!(driver.thread_state(0).call, FrameId(12));
    driver.on(0, give(B));
    assert_eq!(
        (driver.state(0), driver.thread_state(0).call),
        (Work, NOWHERE)
    );
}

#[test]
fn one_iteration_waits_for_another_and_not_for_a_holder() {
    let mut driver = team(2);
    let kind = Mutex::Ordered;
    let lock = Lock::NONE;
    for thread in [0, 1] {
        driver.on(thread, acquire_at(kind, lock, FrameId(11)));
        driver.at(
            100 + driver.time,
            thread,
            What::MutexAcquired { kind, lock },
        );
        assert_eq!(
            (driver.state(thread), driver.thread_state(thread).call),
            (Work, NOWHERE)
        );
    }
    assert_eq!(blames(&mut driver), []);
}

#[test]
fn what_was_lost_is_held_no_more() {
    for what in [What::Lost, What::ThreadEnd, What::Exit] {
        let mut driver = team(2);
        take(&mut driver, 0, A, 11);
        driver.at(100, 1, ask(A, 11));
        driver.at(200, 0, what);
        driver.at(500, 1, get(A));
        assert_eq!(blames(&mut driver), [(0, Work, 11, ON, 100)], "{what:?}");
    }
}

#[test]
fn locks_that_nobody_wants_any_more_take_no_room() {
    let mut driver = team(1);
    for lock in 1..100_000 {
        take(&mut driver, 0, Lock(lock), 11);
        driver.on(0, give(Lock(lock)));
    }
    assert!(driver.machine.locks.rows() <= 4096);
    // No program holds a million locks forever, but it must not exhaust memory.
    for lock in 1..100_000 {
        take(&mut driver, 0, Lock(lock), 11);
    }
    assert!(driver.machine.locks.rows() <= 4096);
}
