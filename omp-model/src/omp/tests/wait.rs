//! Barriers, locks and the other waits, with the peculiarities of runtimes, by value.

use experiment::ids::{FrameId, StackId};
use experiment::state::{Scheduling, State};

use super::driver::*;
use crate::stream::{self, Instance, Mutex, Sync, TaskOf, What};

use State::*;

const JOIN: Sync = Sync::BarrierParallel;

#[test]
fn kind_2_is_a_workshare_barrier_when_it_ends_and_the_join_when_it_does_not() {
    let mut driver = Driver::new(2);
    let kind = Sync::BarrierImplicit;
    driver.fork(7, StackId::EMPTY, &[0, 1]);
    for _ in 0..3 {
        driver.on(1, sync(kind, 7));
        assert_eq!(driver.state(1), ImplicitBarrier);
        driver.on(1, sync_end(kind));
        assert_eq!(driver.state(1), Work);
    }
    driver.on(1, sync(kind, 7));
    driver.on(PRIMARY, sync(kind, 7));
    driver.join(7, PRIMARY, kind);
    assert_eq!(driver.states(), [Serial, Idle]);
}

#[test]
fn barriers_by_kind_and_call() {
    let kinds = [
        (Sync::BarrierExplicit, ExplicitBarrier),
        (Sync::BarrierImplementation, ImplementationBarrier),
        (Sync::BarrierWorkshare, ImplicitBarrier),
        (Sync::BarrierImplicit, ImplicitBarrier),
        (Sync::TaskWait, TaskWait),
        (Sync::TaskGroup, TaskGroup),
    ];
    for (kind, state) in kinds {
        let mut driver = Driver::new(2);
        driver.fork(7, StackId::EMPTY, &[0, 1]);
        let work = driver.thread_state(PRIMARY);
        let call = FrameId(55);
        driver.on(
            PRIMARY,
            What::SyncBegin {
                kind,
                region: Instance::NONE,
                call,
            },
        );
        let thread_state = driver.thread_state(PRIMARY);
        assert_eq!(
            (thread_state.state, thread_state.context, thread_state.call),
            (state, work.context, call)
        );
        driver.on(PRIMARY, sync_end(kind));
        assert_eq!(driver.thread_state(PRIMARY), work);
    }
}

#[test]
fn mutexes_by_kind() {
    let kinds = [
        (Mutex::Lock, Lock),
        (Mutex::NestLock, NestLock),
        (Mutex::Critical, Critical),
        (Mutex::Ordered, Ordered),
        (Mutex::Atomic, Atomic),
    ];
    for (kind, state) in kinds {
        let mut driver = Driver::new(1);
        driver.fork(7, StackId::EMPTY, &[0]);
        driver.on(PRIMARY, acquire(kind));
        assert_eq!(driver.state(PRIMARY), state);
        driver.on(PRIMARY, acquired(kind));
        assert_eq!(driver.state(PRIMARY), Work);
        driver.on(PRIMARY, released(kind));
        assert_eq!(driver.state(PRIMARY), Work);
    }
}

#[test]
fn a_call_that_works_is_overhead_at_its_place_until_it_ends_or_the_thread_goes_on() {
    let ends = [
        (What::OverheadEnd, Work),
        (acquire(Mutex::Ordered), Ordered),
        (late_end(), Overhead),
    ];
    for (end, then) in ends {
        let mut driver = Driver::new(1);
        driver.fork(7, StackId::EMPTY, &[0]);
        let call = FrameId(3);
        driver.on(PRIMARY, What::OverheadBegin { call });
        let thread_state = driver.thread_state(PRIMARY);
        assert_eq!((thread_state.state, thread_state.call), (Overhead, call));
        driver.on(PRIMARY, end);
        assert_eq!(driver.state(PRIMARY), then, "{end:?}");
        assert_ne!(driver.thread_state(PRIMARY).call, call);
    }
    let mut driver = Driver::new(1);
    driver.fork(7, StackId::EMPTY, &[0]);
    driver.on(PRIMARY, What::OverheadEnd);
    assert_eq!(driver.state(PRIMARY), Work);
}

#[test]
fn a_lock_in_serial_code_goes_back_to_serial() {
    let mut driver = Driver::new(1);
    driver.on(PRIMARY, acquire(Mutex::Lock));
    assert_eq!(driver.state(PRIMARY), Lock);
    let kind = Mutex::Lock;
    driver.on(PRIMARY, acquired(kind));
    assert_eq!(driver.state(PRIMARY), Serial);
}

#[test]
fn acquire_without_acquired_ends_with_any_other_event_of_the_thread() {
    // A nest lock acquired again sends nest_lock; a failed omp_test_lock sends nothing.
    let others = [
        (What::MutexAsked, Work),
        (acquire(Mutex::Critical), Critical),
        (sync(Sync::BarrierExplicit, 0), ExplicitBarrier),
        (
            What::TaskCreate {
                task: Instance(90),
                site: StackId::EMPTY.into(),
                of: TaskOf::Directive,
            },
            Work,
        ),
        (late_end(), Overhead),
        (parallel(8, StackId::EMPTY), Overhead),
    ];
    for (other, then) in others {
        let mut driver = Driver::new(2);
        driver.fork(7, StackId::EMPTY, &[0, 1]);
        driver.on(PRIMARY, acquire(Mutex::NestLock));
        driver.on(PRIMARY, other);
        assert_eq!(driver.state(PRIMARY), then, "{other:?}");
        if let What::TaskCreate { .. } = other {
            driver.at(10, PRIMARY, acquire(Mutex::Lock));
            assert_eq!(driver.state(PRIMARY), Lock);
        }
    }
}

#[test]
fn another_threads_events_and_switches_do_not_end_a_wait_for_a_mutex() {
    let mut driver = Driver::new(2);
    driver.fork(7, StackId::EMPTY, &[0, 1]);
    driver.at(10, 1, acquire(Mutex::Critical));
    let kind = Mutex::Critical;
    driver.at(20, PRIMARY, released(kind));
    driver.at(20, 1, What::SwitchOut(Scheduling::Blocked));
    driver.at(50, 1, What::SwitchIn);
    assert_eq!(driver.state(1), Critical);
    driver.at(60, 1, acquired(Mutex::Critical));
    assert_eq!(
        driver.accounted(1),
        [
            (Work, Scheduling::Running, 10),
            (Critical, Scheduling::Running, 20),
            (Critical, Scheduling::Blocked, 30)
        ]
    );
}

#[test]
fn a_reduction_inside_the_join_barrier() {
    let mut driver = Driver::new(2);
    driver.fork(7, StackId::EMPTY, &[0, 1]);
    driver.on(1, sync(JOIN, 7));
    let call = FrameId(3);
    driver.on(1, What::ReductionBegin { call });
    assert_eq!(
        (driver.state(1), driver.thread_state(1).call),
        (Reduction, call)
    );
    // A wait for the lock of the combination is a wait.
    driver.on(1, acquire(Mutex::Critical));
    assert_eq!(driver.state(1), Critical);
    driver.on(1, acquired(Mutex::Critical));
    assert_eq!(driver.state(1), Reduction);
    driver.on(1, What::ReductionEnd);
    assert_eq!(driver.state(1), ImplicitBarrier);
}

#[test]
fn the_inside_of_a_critical_section_goes_on_as_before_and_has_its_call() {
    let mut driver = Driver::new(1);
    driver.fork(7, StackId::EMPTY, &[0]);
    let (kind, call) = (Mutex::Critical, FrameId(3));
    driver.on(PRIMARY, acquire_at(kind, stream::Lock(0x1000), call));
    driver.on(PRIMARY, acquired(kind));
    assert_eq!(
        (driver.state(PRIMARY), driver.thread_state(PRIMARY).call),
        (Work, call)
    );
    // A release of another lock inside changes nothing.
    let lock = Mutex::Lock;
    driver.on(PRIMARY, released(lock));
    assert_eq!(driver.thread_state(PRIMARY).call, call);
    driver.on(PRIMARY, released(kind));
    assert_eq!(
        (driver.state(PRIMARY), driver.thread_state(PRIMARY).call),
        (Work, FrameId::NONE)
    );
}

#[test]
fn a_team_of_one_waits_for_nobody_in_a_barrier_of_which_no_end_comes() {
    let mut driver = Driver::new(2);
    driver.fork(7, StackId::EMPTY, &[0, 1]);
    driver.on(PRIMARY, parallel(8, StackId::EMPTY));
    driver.on(PRIMARY, implicit(8, 1, 0));
    for kind in [
        Sync::BarrierExplicit,
        Sync::BarrierWorkshare,
        Sync::BarrierImplicit,
    ] {
        driver.on(PRIMARY, sync(kind, 8));
        assert_eq!(driver.state(PRIMARY), Work, "{kind:?}");
    }
    driver.on(PRIMARY, sync(Sync::TaskWait, 0));
    assert_eq!(driver.state(PRIMARY), TaskWait);
    driver.on(PRIMARY, sync_end(Sync::TaskWait));
    driver.on(PRIMARY, parallel_end(8));
    // The team around it has another thread.
    driver.on(PRIMARY, sync(Sync::BarrierExplicit, 0));
    assert_eq!(driver.state(PRIMARY), ExplicitBarrier);
}
