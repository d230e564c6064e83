//! Barriers, locks and the other waits, and the traps that runtimes lay around them, by value.

use experiment::ids::{FrameId, StackId};
use experiment::state::{Scheduling, State};

use super::scene::*;
use crate::stream::{self, Instance, Mutex, Sync, What};

use State::*;

const JOIN: Sync = Sync::BarrierParallel;

#[test]
fn kind_2_is_a_workshare_barrier_when_it_ends_and_the_join_when_it_does_not() {
    let mut scene = Scene::new(2);
    let kind = Sync::BarrierImplicit;
    scene.fork(7, StackId::EMPTY, &[0, 1]);
    for _ in 0..3 {
        scene.on(1, sync(kind, 7));
        assert_eq!(scene.state(1), ImplicitBarrier);
        scene.on(1, sync_end(kind));
        assert_eq!(scene.state(1), Work);
    }
    scene.on(1, sync(kind, 7));
    scene.on(PRIMARY, sync(kind, 7));
    scene.join(7, PRIMARY, kind);
    assert_eq!(scene.states(), [Serial, Idle]);
}

#[test]
fn barriers_by_kind_and_place() {
    let kinds = [
        (Sync::BarrierExplicit, ExplicitBarrier),
        (Sync::BarrierImplementation, ImplementationBarrier),
        (Sync::BarrierWorkshare, ImplicitBarrier),
        (Sync::BarrierImplicit, ImplicitBarrier),
        (Sync::TaskWait, TaskWait),
        (Sync::TaskGroup, TaskGroup),
    ];
    for (kind, state) in kinds {
        let mut scene = Scene::new(2);
        scene.fork(7, StackId::EMPTY, &[0, 1]);
        let work = scene.thread_state(PRIMARY);
        let call = FrameId(55);
        scene.on(
            PRIMARY,
            What::SyncBegin {
                kind,
                region: Instance::NONE,
                call,
            },
        );
        let thread_state = scene.thread_state(PRIMARY);
        assert_eq!(
            (thread_state.state, thread_state.context, thread_state.call),
            (state, work.context, call)
        );
        scene.on(PRIMARY, sync_end(kind));
        assert_eq!(scene.thread_state(PRIMARY), work);
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
        let mut scene = Scene::new(1);
        scene.fork(7, StackId::EMPTY, &[0]);
        scene.on(PRIMARY, acquire(kind));
        assert_eq!(scene.state(PRIMARY), state);
        scene.on(PRIMARY, acquired(kind));
        assert_eq!(scene.state(PRIMARY), Work);
        scene.on(PRIMARY, released(kind));
        assert_eq!(scene.state(PRIMARY), Work);
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
        let mut scene = Scene::new(1);
        scene.fork(7, StackId::EMPTY, &[0]);
        let call = FrameId(3);
        scene.on(PRIMARY, What::OverheadBegin { call });
        let thread_state = scene.thread_state(PRIMARY);
        assert_eq!((thread_state.state, thread_state.call), (Overhead, call));
        scene.on(PRIMARY, end);
        assert_eq!(scene.state(PRIMARY), then, "{end:?}");
        assert_ne!(scene.thread_state(PRIMARY).call, call);
    }
    let mut scene = Scene::new(1);
    scene.fork(7, StackId::EMPTY, &[0]);
    scene.on(PRIMARY, What::OverheadEnd);
    assert_eq!(scene.state(PRIMARY), Work);
}

#[test]
fn a_lock_in_serial_code_goes_back_to_serial() {
    let mut scene = Scene::new(1);
    scene.on(PRIMARY, acquire(Mutex::Lock));
    assert_eq!(scene.state(PRIMARY), Lock);
    let kind = Mutex::Lock;
    scene.on(PRIMARY, acquired(kind));
    assert_eq!(scene.state(PRIMARY), Serial);
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
            },
            Work,
        ),
        (late_end(), Overhead),
        (parallel(8, StackId::EMPTY), Overhead),
    ];
    for (other, then) in others {
        let mut scene = Scene::new(2);
        scene.fork(7, StackId::EMPTY, &[0, 1]);
        scene.on(PRIMARY, acquire(Mutex::NestLock));
        scene.on(PRIMARY, other);
        assert_eq!(scene.state(PRIMARY), then, "{other:?}");
        if let What::TaskCreate { .. } = other {
            scene.at(10, PRIMARY, acquire(Mutex::Lock));
            assert_eq!(scene.state(PRIMARY), Lock);
        }
    }
}

#[test]
fn another_threads_events_and_switches_do_not_end_a_wait_for_a_mutex() {
    let mut scene = Scene::new(2);
    scene.fork(7, StackId::EMPTY, &[0, 1]);
    scene.at(10, 1, acquire(Mutex::Critical));
    let kind = Mutex::Critical;
    scene.at(20, PRIMARY, released(kind));
    scene.at(20, 1, What::SwitchOut(Scheduling::Blocked));
    scene.at(50, 1, What::SwitchIn);
    assert_eq!(scene.state(1), Critical);
    scene.at(60, 1, acquired(Mutex::Critical));
    assert_eq!(
        scene.booked(1),
        [
            (Work, Scheduling::Running, 10),
            (Critical, Scheduling::Running, 20),
            (Critical, Scheduling::Blocked, 30)
        ]
    );
}

#[test]
fn a_reduction_inside_the_join_barrier() {
    let mut scene = Scene::new(2);
    scene.fork(7, StackId::EMPTY, &[0, 1]);
    scene.on(1, sync(JOIN, 7));
    let call = FrameId(3);
    scene.on(1, What::ReductionBegin { call });
    assert_eq!(
        (scene.state(1), scene.thread_state(1).call),
        (Reduction, call)
    );
    // Waiting for the lock that guards the combination is waiting.
    scene.on(1, acquire(Mutex::Critical));
    assert_eq!(scene.state(1), Critical);
    scene.on(1, acquired(Mutex::Critical));
    assert_eq!(scene.state(1), Reduction);
    scene.on(1, What::ReductionEnd);
    assert_eq!(scene.state(1), ImplicitBarrier);
}

#[test]
fn the_inside_of_a_critical_section_goes_on_as_before_and_has_its_place() {
    let mut scene = Scene::new(1);
    scene.fork(7, StackId::EMPTY, &[0]);
    let (kind, call) = (Mutex::Critical, FrameId(3));
    scene.on(PRIMARY, acquire_at(kind, stream::Lock(0x1000), call));
    scene.on(PRIMARY, acquired(kind));
    assert_eq!(
        (scene.state(PRIMARY), scene.thread_state(PRIMARY).call),
        (Work, call)
    );
    // A lock released inside is another matter.
    let lock = Mutex::Lock;
    scene.on(PRIMARY, released(lock));
    assert_eq!(scene.thread_state(PRIMARY).call, call);
    scene.on(PRIMARY, released(kind));
    assert_eq!(
        (scene.state(PRIMARY), scene.thread_state(PRIMARY).call),
        (Work, FrameId::NONE)
    );
}

#[test]
fn a_team_of_one_waits_for_nobody_in_a_barrier_of_which_no_end_comes() {
    let mut scene = Scene::new(2);
    scene.fork(7, StackId::EMPTY, &[0, 1]);
    scene.on(PRIMARY, parallel(8, StackId::EMPTY));
    scene.on(PRIMARY, implicit(8, 1, 0));
    for kind in [
        Sync::BarrierExplicit,
        Sync::BarrierWorkshare,
        Sync::BarrierImplicit,
    ] {
        scene.on(PRIMARY, sync(kind, 8));
        assert_eq!(scene.state(PRIMARY), Work, "{kind:?}");
    }
    scene.on(PRIMARY, sync(Sync::TaskWait, 0));
    assert_eq!(scene.state(PRIMARY), TaskWait);
    scene.on(PRIMARY, sync_end(Sync::TaskWait));
    scene.on(PRIMARY, parallel_end(8));
    // The team around it has another thread.
    scene.on(PRIMARY, sync(Sync::BarrierExplicit, 0));
    assert_eq!(scene.state(PRIMARY), ExplicitBarrier);
}
