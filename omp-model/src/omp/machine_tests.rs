//! Each construct, and each trap that runtimes lay around it, by value.

use super::scene::*;
use crate::ids::{ContextId, FrameId, Nanos, StackId, TagId, ThreadId};
use crate::rows::{RegionSpan, RegionSum};
use crate::state::{Presence, State};
use crate::stream::{Instance, Mutex, Sync, What};
use crate::tables::{ContextKind, ThreadKind};

use State::*;

const JOIN: Sync = Sync::BarrierParallel;

#[test]
fn a_region_on_two_threads() {
    let mut scene = Scene::new(2);
    let site = scene.site(&[1, 2]);
    assert_eq!(scene.states(), [Serial, Idle]);
    assert_eq!(scene.tag(1).context, ContextId::ROOT);

    scene.at(100, PRIMARY, parallel(7, site));
    assert_eq!(scene.states(), [Overhead, Idle]);
    let region = scene.known(ContextId::ROOT, ContextKind::Region, site);
    assert_eq!(scene.tag(PRIMARY).context, region, "the new region's");

    scene.at(110, PRIMARY, implicit(7, 2, 0));
    scene.at(120, 1, implicit(7, 2, 1));
    assert_eq!(scene.states(), [Work, Work]);
    assert_eq!(scene.tag(1).context, region);

    scene.at(150, PRIMARY, sync(JOIN, 7));
    assert_eq!(scene.states(), [ImplicitBarrier, Work]);
    scene.at(200, 1, sync(JOIN, 7));
    assert_eq!(scene.states(), [ImplicitBarrier, ImplicitBarrier]);
    assert_eq!(scene.tag(1).context, region);

    scene.at(210, PRIMARY, sync_end(JOIN));
    assert_eq!(scene.states(), [Work, ImplicitBarrier]);
    scene.at(211, PRIMARY, late_end());
    assert_eq!(scene.states(), [Overhead, ImplicitBarrier]);
    scene.at(212, PRIMARY, parallel_end(7));
    assert_eq!(scene.states(), [Serial, Idle]);
    assert_eq!(scene.tag(PRIMARY).context, ContextId::ROOT);
    assert_eq!(scene.tag(1).context, ContextId::ROOT);

    scene.time = 300;
    let on = Presence::Running;
    assert_eq!(
        scene.booked(1),
        [(Work, on, 80), (ImplicitBarrier, on, 12), (Idle, on, 208)]
    );
}

#[test]
fn a_workers_late_ends_come_at_its_next_region_and_change_nothing() {
    let mut scene = Scene::new(2);
    let site = scene.site(&[1]);
    scene.fork(7, site, &[0, 1]);
    scene.on(1, sync(JOIN, 7));
    scene.on(PRIMARY, sync(JOIN, 7));
    scene.join(7, PRIMARY, JOIN);
    scene.at(50, PRIMARY, parallel(8, site));
    scene.on(1, sync_end(JOIN));
    assert_eq!(scene.state(1), Idle);
    scene.on(1, late_end());
    assert_eq!(scene.state(1), Idle);
    scene.on(1, implicit(8, 2, 1));
    assert_eq!(scene.state(1), Work);
}

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
        let work = scene.tag(PRIMARY);
        let place = FrameId(55);
        scene.on(
            PRIMARY,
            What::SyncBegin {
                kind,
                region: Instance::NONE,
                place,
            },
        );
        let tag = scene.tag(PRIMARY);
        assert_eq!(
            (tag.state, tag.context, tag.place),
            (state, work.context, place)
        );
        scene.on(PRIMARY, sync_end(kind));
        assert_eq!(scene.tag(PRIMARY), work);
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
        scene.on(PRIMARY, What::MutexAcquired { kind });
        assert_eq!(scene.state(PRIMARY), Work);
        scene.on(PRIMARY, What::MutexReleased { kind });
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
        let place = FrameId(3);
        scene.on(PRIMARY, What::OverheadBegin { place });
        let tag = scene.tag(PRIMARY);
        assert_eq!((tag.state, tag.place), (Overhead, place));
        scene.on(PRIMARY, end);
        assert_eq!(scene.state(PRIMARY), then, "{end:?}");
        assert_ne!(scene.tag(PRIMARY).place, place);
    }
    let mut scene = Scene::new(1);
    scene.fork(7, StackId::EMPTY, &[0]);
    scene.on(PRIMARY, What::OverheadEnd);
    assert_eq!(scene.state(PRIMARY), Work);
}

#[test]
fn a_thread_that_ends_in_its_join_barrier_waits_until_the_region_or_itself_is_over() {
    for over in [parallel_end(7), What::Exit] {
        let mut scene = Scene::new(2);
        scene.fork(7, StackId::EMPTY, &[0, 1]);
        scene.at(10, 1, sync(Sync::BarrierParallel, 7));
        scene.at(20, 1, What::ThreadEnd);
        assert_eq!(scene.state(1), ImplicitBarrier);
        let thread = u32::from(over == What::Exit);
        scene.at(30, thread, over);
        if thread == PRIMARY {
            assert_eq!(scene.state(1), Idle);
        }
        scene.at(40, PRIMARY, parallel_end(7));
        let waits = scene
            .booked(1)
            .into_iter()
            .find(|row| row.0 == ImplicitBarrier);
        assert_eq!(waits.map(|row| row.2), Some(20));
    }
}

#[test]
fn a_lock_in_serial_code_goes_back_to_serial() {
    let mut scene = Scene::new(1);
    scene.on(PRIMARY, acquire(Mutex::Lock));
    assert_eq!(scene.state(PRIMARY), Lock);
    let kind = Mutex::Lock;
    scene.on(PRIMARY, What::MutexAcquired { kind });
    assert_eq!(scene.state(PRIMARY), Serial);
}

#[test]
fn acquire_without_acquired_ends_with_any_other_event_of_the_thread() {
    // A nest lock acquired again sends nest_lock; a failed omp_test_lock sends nothing.
    let others = [
        (What::MutexReleased { kind: Mutex::Lock }, Work),
        (acquire(Mutex::Critical), Critical),
        (sync(Sync::BarrierExplicit, 0), ExplicitBarrier),
        (
            What::TaskCreate {
                task: Instance(90),
                site: StackId::EMPTY,
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
    scene.at(20, PRIMARY, What::MutexReleased { kind });
    scene.at(20, 1, What::SwitchOut(Presence::Blocked));
    scene.at(50, 1, What::SwitchIn);
    assert_eq!(scene.state(1), Critical);
    scene.at(
        60,
        1,
        What::MutexAcquired {
            kind: Mutex::Critical,
        },
    );
    assert_eq!(
        scene.booked(1),
        [
            (Work, Presence::Running, 10),
            (Critical, Presence::Running, 20),
            (Critical, Presence::Blocked, 30)
        ]
    );
}

#[test]
fn a_task_inside_a_barrier_is_work_of_the_task_and_not_waiting() {
    let mut scene = Scene::new(2);
    let site = scene.site(&[1]);
    let create = scene.site(&[1, 9]);
    scene.fork(7, site, &[0, 1]);
    let region = scene.tag(PRIMARY).context;
    let task = Instance(90);
    scene.on(PRIMARY, What::TaskCreate { task, site: create });
    assert_eq!(scene.state(PRIMARY), Work, "deferred");
    scene.at(10, 1, sync(JOIN, 7));
    scene.at(30, 1, schedule(90, false));
    let tag = scene.tag(1);
    assert_eq!(tag.state, Work);
    assert_eq!(
        tag.context,
        scene.known(region, ContextKind::Task, create),
        "created in the region, not in the barrier"
    );
    scene.at(70, 1, schedule(0, true));
    assert_eq!(scene.state(1), ImplicitBarrier);
    assert_eq!(scene.tag(1).context, region);
    scene.at(75, PRIMARY, sync(JOIN, 7));
    scene.time = 80;
    scene.join(7, PRIMARY, JOIN);
    let on = Presence::Running;
    assert_eq!(
        scene.booked(1),
        [(Work, on, 10 + 40), (ImplicitBarrier, on, 20 + 10)]
    );
}

#[test]
fn a_task_that_waits_for_its_children_runs_them_on_top() {
    let mut scene = Scene::new(1);
    scene.fork(7, StackId::EMPTY, &[0]);
    let site = scene.site(&[4]);
    let create = |id| What::TaskCreate {
        task: Instance(id),
        site,
    };
    scene.on(PRIMARY, create(90));
    scene.on(PRIMARY, sync(Sync::TaskWait, 0));
    scene.on(PRIMARY, schedule(90, false));
    let outer = scene.tag(PRIMARY).context;
    scene.on(PRIMARY, create(91));
    scene.on(PRIMARY, create(92));
    scene.on(PRIMARY, sync(Sync::TaskWait, 0));
    assert_eq!(
        (scene.state(PRIMARY), scene.tag(PRIMARY).context),
        (TaskWait, outer)
    );
    scene.on(PRIMARY, schedule(91, false));
    let inner = scene.tag(PRIMARY).context;
    assert_eq!(scene.context(PRIMARY).parent, outer, "its creator's");
    assert_eq!(scene.state(PRIMARY), Work);
    // From one child straight to the next.
    scene.on(PRIMARY, schedule(92, true));
    assert_eq!(
        (scene.state(PRIMARY), scene.tag(PRIMARY).context),
        (Work, inner)
    );
    scene.on(PRIMARY, schedule(90, true));
    assert_eq!(
        (scene.state(PRIMARY), scene.tag(PRIMARY).context),
        (TaskWait, outer)
    );
    scene.on(PRIMARY, sync_end(Sync::TaskWait));
    assert_eq!(
        (scene.state(PRIMARY), scene.tag(PRIMARY).context),
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
    scene.on(PRIMARY, What::TaskCreate { task, site });
    scene.on(PRIMARY, schedule(90, false));
    let context = scene.tag(PRIMARY).context;
    scene.on(PRIMARY, sync(Sync::TaskWait, 0));
    scene.on(PRIMARY, schedule(0, false));
    assert_eq!(scene.context(PRIMARY).kind, ContextKind::Region);
    scene.on(1, sync(JOIN, 7));
    scene.on(1, schedule(90, false));
    assert_eq!((scene.state(1), scene.tag(1).context), (Work, context));
    // The end of its taskwait comes here, and is not that of the barrier below.
    scene.on(1, sync_end(Sync::TaskWait));
    assert_eq!((scene.state(1), scene.tag(1).context), (Work, context));
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
    scene.on(PRIMARY, What::TaskCreate { task, site });
    scene.on(PRIMARY, schedule(90, false));
    assert_eq!(scene.state(PRIMARY), Work);
    assert_eq!(scene.context(PRIMARY).kind, ContextKind::Task);
    scene.on(PRIMARY, schedule(0, true));
    assert_eq!(scene.state(PRIMARY), Serial);
}

#[test]
fn a_serialized_region_has_no_barrier() {
    let mut scene = Scene::new(1);
    let site = scene.site(&[4]);
    scene.fork(7, site, &[0]);
    assert_eq!(scene.state(PRIMARY), Work);
    scene.on(PRIMARY, late_end());
    scene.on(PRIMARY, parallel_end(7));
    assert_eq!(scene.state(PRIMARY), Serial);
}

#[test]
fn nested_regions_stand_under_the_thread_that_forked_them() {
    let mut scene = Scene::new(4);
    let (outer, inner) = (scene.site(&[1]), scene.site(&[2]));
    scene.fork(7, outer, &[0, 1]);
    scene.fork(8, inner, &[0, 2]);
    scene.fork(9, inner, &[1, 3]);
    assert_eq!(scene.states(), [Work; 4]);
    let region = scene.known(ContextId::ROOT, ContextKind::Region, outer);
    let nested = scene.known(region, ContextKind::Region, inner);
    for thread in 0..4 {
        assert_eq!(scene.tag(thread).context, nested);
    }
    scene.on(3, sync(JOIN, 9));
    scene.on(1, sync(JOIN, 9));
    scene.join(9, 1, JOIN);
    // Worker 1 works on in the outer region; its nested worker is idle until the program ends.
    assert_eq!(scene.states(), [Work, Work, Work, Idle]);
    assert_eq!(scene.tag(1).context, region);
    scene.on(1, sync(JOIN, 7));
    assert_eq!(scene.states(), [Work, ImplicitBarrier, Work, Idle]);
    scene.on(0, sync(JOIN, 8));
    scene.on(2, sync(JOIN, 8));
    scene.join(8, PRIMARY, JOIN);
    assert_eq!(scene.states(), [Work, ImplicitBarrier, Idle, Idle]);
    scene.on(PRIMARY, sync(JOIN, 7));
    scene.join(7, PRIMARY, JOIN);
    assert_eq!(scene.states(), [Serial, Idle, Idle, Idle]);
}

#[test]
fn a_league_of_teams() {
    let mut scene = Scene::new(2);
    let site = scene.site(&[1]);
    scene.on(
        PRIMARY,
        What::ParallelBegin {
            region: Instance(7),
            site,
            teams: true,
        },
    );
    scene.on(PRIMARY, implicit(7, 2, 0));
    scene.on(1, implicit(7, 2, 1));
    assert_eq!(scene.context(1).kind, ContextKind::Teams);
    // Inside, each thread has a region of its own whose codeptr is NULL.
    for (thread, id) in [(0, 8), (1, 9)] {
        scene.fork(id, StackId::EMPTY, &[thread]);
        assert_eq!(scene.context(thread).kind, ContextKind::Region);
        scene.on(thread, late_end());
        scene.on(thread, parallel_end(id));
        assert_eq!(scene.context(thread).kind, ContextKind::Teams);
        scene.on(thread, sync(Sync::BarrierTeams, 7));
    }
    assert_eq!(scene.states(), [TeamsBarrier, TeamsBarrier]);
    scene.join(7, PRIMARY, Sync::BarrierTeams);
    assert_eq!(scene.states(), [Serial, Idle]);
}

#[test]
fn a_reduction_inside_the_join_barrier() {
    let mut scene = Scene::new(2);
    scene.fork(7, StackId::EMPTY, &[0, 1]);
    scene.on(1, sync(JOIN, 7));
    let place = FrameId(3);
    scene.on(1, What::ReductionBegin { place });
    assert_eq!((scene.state(1), scene.tag(1).place), (Reduction, place));
    // Waiting for the lock that guards the combination is waiting.
    scene.on(1, acquire(Mutex::Critical));
    assert_eq!(scene.state(1), Critical);
    scene.on(
        1,
        What::MutexAcquired {
            kind: Mutex::Critical,
        },
    );
    assert_eq!(scene.state(1), Reduction);
    scene.on(1, What::ReductionEnd);
    assert_eq!(scene.state(1), ImplicitBarrier);
}

#[test]
fn kinds_of_threads_land_in_the_tables() {
    let mut scene = Scene::unborn(4);
    for (thread, kind) in [
        (0, ThreadKind::Initial),
        (1, ThreadKind::Worker),
        (2, ThreadKind::Other),
    ] {
        scene.on(thread, What::ThreadBegin(kind));
        assert_eq!(scene.tables.threads[thread as usize].kind, kind);
    }
    assert_eq!(scene.states(), [Serial, Idle, Outside, Outside]);
    assert_eq!(scene.machine.tag_of(ThreadId(3)), TagId::OUTSIDE);
    assert_eq!(scene.machine.tag_of(ThreadId(1000)), TagId::OUTSIDE);
}

#[test]
fn a_thread_whose_begin_was_not_seen_is_known_by_what_it_does() {
    let mut scene = Scene::unborn(3);
    scene.on(
        0,
        What::ImplicitBegin {
            region: Instance::NONE,
            size: 1,
            index: 1,
        },
    );
    assert_eq!(scene.state(0), Serial);
    assert_eq!(scene.tables.threads[0].kind, ThreadKind::Initial);
    scene.fork(7, StackId::EMPTY, &[0, 1]);
    scene.on(1, sync(JOIN, 7));
    scene.on(0, sync(JOIN, 7));
    scene.join(7, 0, JOIN);
    assert_eq!(scene.state(1), Idle);
    assert_eq!(scene.tables.threads[1].kind, ThreadKind::Worker);
}

#[test]
fn the_initial_tasks_own_end_leaves_serial_code() {
    let mut scene = Scene::new(1);
    scene.on(PRIMARY, late_end());
    assert_eq!(scene.state(PRIMARY), Serial);
    scene.on(PRIMARY, What::ThreadEnd);
    assert_eq!(scene.state(PRIMARY), Serial);
}

#[test]
fn a_worker_that_the_runtime_lets_go_is_idle_until_it_ends() {
    let mut scene = Scene::new(2);
    scene.fork(7, StackId::EMPTY, &[0, 1]);
    scene.at(10, 1, What::ThreadEnd);
    assert_eq!(scene.state(1), Idle);
    scene.at(15, 1, What::Exit);
    assert_eq!(scene.tables.threads[1].death, Some(Nanos(15)));
    scene.at(20, 1, implicit(7, 2, 1));
    let on = Presence::Running;
    assert_eq!(scene.booked(1), [(Work, on, 10), (Idle, on, 5)]);
}

#[test]
fn workers_that_come_after_the_regions_end_are_understood() {
    let mut scene = Scene::new(2);
    let site = scene.site(&[1]);
    scene.on(PRIMARY, parallel(7, site));
    scene.on(PRIMARY, implicit(7, 2, 0));
    scene.on(PRIMARY, sync(JOIN, 7));
    scene.join(7, PRIMARY, JOIN);
    assert_eq!(scene.states(), [Serial, Idle]);
    // The merge moved them: still they were in that region, and have nothing to wait for now.
    scene.on(1, implicit(7, 2, 1));
    assert_eq!(scene.state(1), Work);
    assert_eq!(scene.context(1).stack, site);
    scene.on(1, sync(JOIN, 7));
    assert_eq!(scene.state(1), Idle);
}

#[test]
fn workers_that_come_before_the_regions_begin_get_its_context_then() {
    let mut scene = Scene::new(2);
    let site = scene.site(&[1]);
    scene.at(10, 1, implicit(7, 2, 1));
    assert_eq!(scene.context(1).stack, StackId::EMPTY);
    scene.at(20, PRIMARY, parallel(7, site));
    assert_eq!(scene.context(1).stack, site);
    assert_eq!(scene.states(), [Overhead, Work]);
    scene.on(PRIMARY, implicit(7, 2, 0));
    scene.on(PRIMARY, sync(JOIN, 7));
    scene.on(1, sync(JOIN, 7));
    assert_eq!(scene.context(1).stack, site);
    scene.join(7, PRIMARY, JOIN);
    assert_eq!(scene.states(), [Serial, Idle]);
}

#[test]
fn instances_of_a_region_are_summed_and_long_ones_listed() {
    let mut scene = Scene::new(3);
    let site = scene.site(&[1]);
    for (id, threads) in [(7, &[0, 1][..]), (8, &[0, 1, 2])] {
        scene.time += 1_000;
        scene.fork(id, site, threads);
        scene.time += 2_000_000 * (id - 6);
        for &thread in threads {
            scene.on(thread, sync(JOIN, id));
        }
        scene.join(id, PRIMARY, JOIN);
    }
    let context = scene.known(ContextId::ROOT, ContextKind::Region, site);
    scene.ledger.finish(Nanos(scene.time));
    let rows = scene.ledger.take();
    let thread = ThreadId(PRIMARY);
    assert_eq!(
        rows.region_sums,
        [RegionSum {
            slice: 0,
            context,
            thread,
            instances: 2,
            elapsed: Nanos(6_000_000),
            team: 3
        }]
    );
    let span = |start, length, team| RegionSpan {
        context,
        thread,
        start: Nanos(start),
        length: Nanos(length),
        team,
    };
    assert_eq!(
        rows.region_spans,
        [span(1_000, 2_000_000, 2), span(2_002_000, 4_000_000, 3)]
    );
}

#[test]
fn the_inside_of_a_critical_section_goes_on_as_before_and_has_its_place() {
    let mut scene = Scene::new(1);
    scene.fork(7, StackId::EMPTY, &[0]);
    let (kind, place) = (Mutex::Critical, FrameId(3));
    scene.on(PRIMARY, What::MutexAcquire { kind, place });
    scene.on(PRIMARY, What::MutexAcquired { kind });
    assert_eq!(
        (scene.state(PRIMARY), scene.tag(PRIMARY).place),
        (Work, place)
    );
    // A lock released inside is another matter.
    let lock = Mutex::Lock;
    scene.on(PRIMARY, What::MutexReleased { kind: lock });
    assert_eq!(scene.tag(PRIMARY).place, place);
    scene.on(PRIMARY, What::MutexReleased { kind });
    assert_eq!(
        (scene.state(PRIMARY), scene.tag(PRIMARY).place),
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
