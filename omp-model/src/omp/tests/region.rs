//! Parallel regions, teams and the threads that run them, by value.

use experiment::ids::{ContextId, Nanos, StackId, ThreadId, ThreadStateId};
use experiment::rows::{RegionSpan, RegionSum, Within};
use experiment::state::{Scheduling, State};
use experiment::tables::{ContextKind, ThreadKind};

use super::scene::*;
use crate::stream::{Instance, Sync, What};

use State::*;

const JOIN: Sync = Sync::BarrierParallel;

#[test]
fn a_region_on_two_threads() {
    let mut scene = Scene::new(2);
    let site = scene.site(&[1, 2]);
    assert_eq!(scene.states(), [Serial, Idle]);
    assert_eq!(scene.thread_state(1).context, ContextId::ROOT);

    scene.at(100, PRIMARY, parallel(7, site));
    assert_eq!(scene.states(), [Overhead, Idle]);
    let region = scene.known(ContextId::ROOT, ContextKind::Region, site);
    assert_eq!(
        scene.thread_state(PRIMARY).context,
        region,
        "the new region's"
    );

    scene.at(110, PRIMARY, implicit(7, 2, 0));
    scene.at(120, 1, implicit(7, 2, 1));
    assert_eq!(scene.states(), [Work, Work]);
    assert_eq!(scene.thread_state(1).context, region);

    scene.at(150, PRIMARY, sync(JOIN, 7));
    assert_eq!(scene.states(), [ImplicitBarrier, Work]);
    scene.at(200, 1, sync(JOIN, 7));
    assert_eq!(scene.states(), [ImplicitBarrier, ImplicitBarrier]);
    assert_eq!(scene.thread_state(1).context, region);

    scene.at(210, PRIMARY, sync_end(JOIN));
    assert_eq!(scene.states(), [Work, ImplicitBarrier]);
    scene.at(211, PRIMARY, late_end());
    assert_eq!(scene.states(), [Overhead, ImplicitBarrier]);
    scene.at(212, PRIMARY, parallel_end(7));
    assert_eq!(scene.states(), [Serial, Idle]);
    assert_eq!(scene.thread_state(PRIMARY).context, ContextId::ROOT);
    assert_eq!(scene.thread_state(1).context, ContextId::ROOT);

    scene.time = 300;
    let on = Scheduling::Running;
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
        assert_eq!(scene.thread_state(thread).context, nested);
    }
    scene.on(3, sync(JOIN, 9));
    scene.on(1, sync(JOIN, 9));
    scene.join(9, 1, JOIN);
    // Worker 1 works on in the outer region; its nested worker is idle until the program ends.
    assert_eq!(scene.states(), [Work, Work, Work, Idle]);
    assert_eq!(scene.thread_state(1).context, region);
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
            site: site.into(),
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
    assert_eq!(
        scene.machine.thread_state_of(ThreadId(3)),
        ThreadStateId::OUTSIDE
    );
    assert_eq!(
        scene.machine.thread_state_of(ThreadId(1000)),
        ThreadStateId::OUTSIDE
    );
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
    let on = Scheduling::Running;
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
    scene.accounting.finish(Nanos(scene.time));
    let rows = scene.accounting.take();
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
        within: Within {
            region: u64::from(team) - 1,
            task: 0,
        },
    };
    assert_eq!(
        rows.region_spans,
        [span(1_000, 2_000_000, 2), span(2_002_000, 4_000_000, 3)]
    );
}
