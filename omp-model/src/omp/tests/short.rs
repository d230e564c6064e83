//! Sums of short waits, and losses that leave regions and tasks known.

use experiment::ids::{FrameId, Nanos};
use experiment::state::State;

use super::driver::*;
use crate::stream::{Lock, Mutex, Sync, Waits, What};

use State::*;

const CALL: FrameId = FrameId(77);

fn barriers(count: u32, time: u64) -> What {
    What::ShortSync {
        kind: Sync::BarrierExplicit,
        call: CALL,
        waits: Waits {
            count,
            time: Nanos(time),
        },
    }
}

fn locks(lock: u64, count: u32, time: u64) -> What {
    What::ShortMutex {
        kind: Mutex::Lock,
        lock: Lock(lock),
        call: CALL,
        waits: Waits {
            count,
            time: Nanos(time),
        },
    }
}

#[test]
fn short_waits_are_taken_out_of_the_state_in_which_they_happened() {
    let mut driver = Driver::new(2);
    let site = driver.site(&[1]);
    driver.fork(7, site, &[0, 1]);
    let region = driver.thread_state(1).context;
    driver.at(10_000, 1, barriers(3, 2_000));
    driver.at(11_000, 1, locks(5, 2, 500));
    assert_eq!(driver.state(1), Work);
    driver.at(20_000, 1, sync(Sync::BarrierParallel, 7));
    let rows = driver.finish(20_000);
    let of = |state: State| {
        let sums = rows.sums.iter().filter(|sum| {
            let row = driver.tables.thread_states.get(sum.thread_state.0).unwrap();
            sum.thread.0 == 1 && row.state == state
        });
        let found: Vec<_> = sums
            .map(|sum| {
                let row = driver.tables.thread_states.get(sum.thread_state.0).unwrap();
                (row.context, row.call, sum.time.0, sum.count)
            })
            .collect();
        found
    };
    assert_eq!(of(ExplicitBarrier), [(region, CALL, 2_000, 3)]);
    assert_eq!(of(State::Lock), [(region, CALL, 500, 2)]);
    assert_eq!(of(Work)[0].2, 17_500);
}

#[test]
fn short_holds_are_work_in_the_state_in_which_samples_find_the_thread() {
    let mut driver = Driver::new(2);
    let site = driver.site(&[1]);
    driver.fork(7, site, &[0, 1]);
    driver.at(10_000, 1, locks(5, 40, 500));
    let (acquiring, held) = (Nanos(300), Nanos(8_000));
    let short = What::ShortHold {
        call: CALL,
        acquiring,
        held,
    };
    driver.at(10_000, 1, short);
    // A sample makes one of the holds long.
    let (kind, lock) = (Mutex::Lock, Lock(5));
    let call = CALL;
    driver.at(11_000, 1, What::MutexAcquire { kind, lock, call });
    driver.at(11_010, 1, What::MutexAcquired { kind, lock });
    let held = driver.machine.thread_state_of(experiment::ids::ThreadId(1));
    driver.at(17_010, 1, What::MutexReleased { kind, lock });
    driver.at(20_000, 1, sync(Sync::BarrierParallel, 7));
    let rows = driver.finish(20_000);
    let of = |state: State, call: FrameId| -> u64 {
        let sums = rows.sums.iter().filter(|sum| {
            let row = driver.tables.thread_states.get(sum.thread_state.0).unwrap();
            (sum.thread.0, row.state, row.call) == (1, state, call)
        });
        sums.map(|sum| sum.time.0).sum()
    };
    let row = driver.tables.thread_states.get(held.0).unwrap();
    assert_eq!((row.state, row.call), (Work, CALL));
    assert_eq!(
        [of(Work, CALL), of(Overhead, CALL), of(Work, FrameId::NONE)],
        [14_000, 300, 5_190]
    );
}

#[test]
fn no_more_is_taken_than_there_was() {
    let mut driver = Driver::new(2);
    let site = driver.site(&[1]);
    driver.fork(7, site, &[0, 1]);
    driver.at(1_000, 1, barriers(1, 5_000));
    driver.at(1_500, 1, sync(Sync::BarrierParallel, 7));
    let rows = driver.finish(2_000);
    let time: u64 = rows
        .sums
        .iter()
        .filter(|sum| sum.thread.0 == 1)
        .map(|sum| sum.time.0)
        .sum();
    assert_eq!(time, 2_000);
}

#[test]
fn who_held_a_lock_shortly_is_blamed_from_then_on() {
    let mut driver = Driver::new(3);
    let site = driver.site(&[1]);
    driver.fork(7, site, &[0, 1, 2]);
    let of_two = driver.machine.thread_state_of(experiment::ids::ThreadId(2));
    driver.at(
        1_000,
        1,
        What::MutexAcquire {
            kind: Mutex::Lock,
            lock: Lock(5),
            call: CALL,
        },
    );
    // Nobody is known to hold it. Then thread 2 had it a few times.
    driver.at(3_000, 2, locks(5, 4, 0));
    driver.at(
        9_000,
        1,
        What::MutexAcquired {
            kind: Mutex::Lock,
            lock: Lock(5),
        },
    );
    let rows = driver.finish(10_000);
    let blamed: Vec<_> = rows
        .blames
        .iter()
        .map(|blame| (blame.thread.0, blame.thread_state, blame.time.0))
        .collect();
    assert_eq!(blamed, [(2, of_two, 6_000)]);
}

#[test]
fn lost_waits_leave_the_region_and_the_task() {
    let mut driver = Driver::new(2);
    let site = driver.site(&[1]);
    driver.fork(7, site, &[0, 1]);
    let work = driver.machine.thread_state_of(experiment::ids::ThreadId(1));
    driver.on(1, sync(Sync::BarrierExplicit, 0));
    assert_eq!(driver.state(1), ExplicitBarrier);
    driver.on(1, What::LostWaits);
    let now = driver.machine.thread_state_of(experiment::ids::ThreadId(1));
    assert_eq!(now, work);
}

#[test]
fn a_sampled_stack_ends_the_regions_that_its_thread_has_left() {
    let mut driver = Driver::new(2);
    let (first, second) = (driver.site(&[1, 2]), driver.site(&[1, 3]));
    let inside = driver.site(&[1, 2, 40]);
    driver.fork(7, first, &[0, 1]);
    driver.on(1, sync(Sync::BarrierParallel, 7));
    driver.sampled(PRIMARY, second);
    assert_eq!(driver.states(), [Work, ImplicitBarrier], "nothing was lost");
    driver.on(PRIMARY, What::Lost);
    driver.sampled(PRIMARY, inside);
    assert_eq!(driver.states(), [Unknown, ImplicitBarrier]);
    driver.sampled(PRIMARY, second);
    assert_eq!(driver.states(), [Serial, Idle]);
}
