//! Parallel regions, teams and the threads that run them, by value.

use experiment::ids::{ContextId, Nanos, StackId, ThreadId, ThreadStateId};
use experiment::rows::{RegionSpan, RegionSum, Within};
use experiment::state::{Scheduling, State};
use experiment::tables::{ContextKind, ThreadKind};

use super::driver::*;
use crate::stream::{Instance, Sync, What};

use State::*;

const JOIN: Sync = Sync::BarrierParallel;

#[test]
fn a_region_on_two_threads() {
    let mut driver = Driver::new(2);
    let site = driver.site(&[1, 2]);
    assert_eq!(driver.states(), [Serial, Idle]);
    assert_eq!(driver.thread_state(1).context, ContextId::ROOT);

    driver.at(100, PRIMARY, parallel(7, site));
    assert_eq!(driver.states(), [Overhead, Idle]);
    let region = driver.known(ContextId::ROOT, ContextKind::Region, site);
    assert_eq!(
        driver.thread_state(PRIMARY).context,
        region,
        "the new region's"
    );

    driver.at(110, PRIMARY, implicit(7, 2, 0));
    driver.at(120, 1, implicit(7, 2, 1));
    assert_eq!(driver.states(), [Work, Work]);
    assert_eq!(driver.thread_state(1).context, region);

    driver.at(150, PRIMARY, sync(JOIN, 7));
    assert_eq!(driver.states(), [ImplicitBarrier, Work]);
    driver.at(200, 1, sync(JOIN, 7));
    assert_eq!(driver.states(), [ImplicitBarrier, ImplicitBarrier]);
    assert_eq!(driver.thread_state(1).context, region);

    driver.at(210, PRIMARY, sync_end(JOIN));
    assert_eq!(driver.states(), [Work, ImplicitBarrier]);
    driver.at(211, PRIMARY, late_end());
    assert_eq!(driver.states(), [Overhead, ImplicitBarrier]);
    driver.at(212, PRIMARY, parallel_end(7));
    assert_eq!(driver.states(), [Serial, Idle]);
    assert_eq!(driver.thread_state(PRIMARY).context, ContextId::ROOT);
    assert_eq!(driver.thread_state(1).context, ContextId::ROOT);

    driver.time = 300;
    let on = Scheduling::Running;
    assert_eq!(
        driver.accounted(1),
        [(Work, on, 80), (ImplicitBarrier, on, 12), (Idle, on, 208)]
    );
}

#[test]
fn a_workers_late_ends_come_at_its_next_region_and_change_nothing() {
    let mut driver = Driver::new(2);
    let site = driver.site(&[1]);
    driver.fork(7, site, &[0, 1]);
    driver.on(1, sync(JOIN, 7));
    driver.on(PRIMARY, sync(JOIN, 7));
    driver.join(7, PRIMARY, JOIN);
    driver.at(50, PRIMARY, parallel(8, site));
    driver.on(1, sync_end(JOIN));
    assert_eq!(driver.state(1), Idle);
    driver.on(1, late_end());
    assert_eq!(driver.state(1), Idle);
    driver.on(1, implicit(8, 2, 1));
    assert_eq!(driver.state(1), Work);
}

#[test]
fn a_thread_that_ends_in_its_join_barrier_waits_until_the_region_or_itself_is_over() {
    for over in [parallel_end(7), What::Exit] {
        let mut driver = Driver::new(2);
        driver.fork(7, StackId::EMPTY, &[0, 1]);
        driver.at(10, 1, sync(Sync::BarrierParallel, 7));
        driver.at(20, 1, What::ThreadEnd);
        assert_eq!(driver.state(1), ImplicitBarrier);
        let thread = u32::from(over == What::Exit);
        driver.at(30, thread, over);
        if thread == PRIMARY {
            assert_eq!(driver.state(1), Idle);
        }
        driver.at(40, PRIMARY, parallel_end(7));
        let waits = driver
            .accounted(1)
            .into_iter()
            .find(|row| row.0 == ImplicitBarrier);
        assert_eq!(waits.map(|row| row.2), Some(20));
    }
}

#[test]
fn a_serialized_region_has_no_barrier() {
    let mut driver = Driver::new(1);
    let site = driver.site(&[4]);
    driver.fork(7, site, &[0]);
    assert_eq!(driver.state(PRIMARY), Work);
    driver.on(PRIMARY, late_end());
    driver.on(PRIMARY, parallel_end(7));
    assert_eq!(driver.state(PRIMARY), Serial);
}

#[test]
fn nested_regions_stand_under_the_thread_that_forked_them() {
    let mut driver = Driver::new(4);
    let (outer, inner) = (driver.site(&[1]), driver.site(&[2]));
    driver.fork(7, outer, &[0, 1]);
    driver.fork(8, inner, &[0, 2]);
    driver.fork(9, inner, &[1, 3]);
    assert_eq!(driver.states(), [Work; 4]);
    let region = driver.known(ContextId::ROOT, ContextKind::Region, outer);
    let nested = driver.known(region, ContextKind::Region, inner);
    for thread in 0..4 {
        assert_eq!(driver.thread_state(thread).context, nested);
    }
    driver.on(3, sync(JOIN, 9));
    driver.on(1, sync(JOIN, 9));
    driver.join(9, 1, JOIN);
    // Worker 1 works on in the outer region; its nested worker is idle until the program ends.
    assert_eq!(driver.states(), [Work, Work, Work, Idle]);
    assert_eq!(driver.thread_state(1).context, region);
    driver.on(1, sync(JOIN, 7));
    assert_eq!(driver.states(), [Work, ImplicitBarrier, Work, Idle]);
    driver.on(0, sync(JOIN, 8));
    driver.on(2, sync(JOIN, 8));
    driver.join(8, PRIMARY, JOIN);
    assert_eq!(driver.states(), [Work, ImplicitBarrier, Idle, Idle]);
    driver.on(PRIMARY, sync(JOIN, 7));
    driver.join(7, PRIMARY, JOIN);
    assert_eq!(driver.states(), [Serial, Idle, Idle, Idle]);
}

#[test]
fn a_league_of_teams() {
    let mut driver = Driver::new(2);
    let site = driver.site(&[1]);
    driver.on(
        PRIMARY,
        What::ParallelBegin {
            region: Instance(7),
            site: site.into(),
            teams: true,
        },
    );
    driver.on(PRIMARY, implicit(7, 2, 0));
    driver.on(1, implicit(7, 2, 1));
    assert_eq!(driver.context(1).kind, ContextKind::Teams);
    let league = driver.thread_state(PRIMARY).context;
    let inner = driver.site(&[1, 2]);
    // To make each thread a team, LLVM's runtimes fork a region without a call of the program.
    for (thread, id) in [(0, 8), (1, 9)] {
        driver.fork(id, StackId::EMPTY, &[thread]);
        assert_eq!(driver.thread_state(thread).context, league);
        // The program's own region in the team.
        driver.fork(id + 10, inner, &[thread]);
        assert_eq!(driver.context(thread).kind, ContextKind::Region);
        assert_eq!(driver.context(thread).parent, league);
        driver.on(thread, late_end());
        driver.on(thread, parallel_end(id + 10));
        assert_eq!(driver.thread_state(thread).context, league);
        driver.on(thread, late_end());
        driver.on(thread, parallel_end(id));
        assert_eq!(driver.context(thread).kind, ContextKind::Teams);
        driver.on(thread, sync(Sync::BarrierTeams, 7));
    }
    assert_eq!(driver.states(), [TeamsBarrier, TeamsBarrier]);
    driver.join(7, PRIMARY, Sync::BarrierTeams);
    assert_eq!(driver.states(), [Serial, Idle]);
    let rows = driver.finish(1_000);
    // One instance of the league of two teams, and two of the region, each with a team of one.
    let counts = rows
        .region_sums
        .iter()
        .map(|sum| (sum.context == league, sum.instances, sum.team));
    let mut counts: Vec<_> = counts.collect();
    counts.sort_unstable();
    assert_eq!(counts, [(false, 1, 1), (false, 1, 1), (true, 1, 2)]);
}

#[test]
fn a_league_of_one_team_is_entered_though_the_runtime_names_another_region() {
    let mut driver = Driver::new(1);
    let first = driver.site(&[1]);
    driver.fork(6, first, &[PRIMARY]);
    driver.on(PRIMARY, late_end());
    driver.on(PRIMARY, parallel_end(6));
    // LLVM's runtimes: none before the first such league, an ended region later.
    for (id, stale, frame) in [(7, 0, 2), (9, 6, 3)] {
        let site = driver.site(&[frame]);
        let begin = What::ParallelBegin {
            region: Instance(id),
            site: site.into(),
            teams: true,
        };
        driver.on(PRIMARY, begin);
        driver.on(PRIMARY, implicit(stale, 1, 0));
        driver.on(PRIMARY, parallel(id + 1, StackId::EMPTY));
        driver.on(PRIMARY, implicit(id + 1, 2, 0));
        assert_eq!(driver.states(), [Work]);
        assert_eq!(driver.context(PRIMARY).stack, site);
        driver.on(PRIMARY, late_end());
        driver.on(PRIMARY, parallel_end(id + 1));
        driver.on(PRIMARY, late_end());
        driver.on(PRIMARY, parallel_end(id));
        assert_eq!(driver.states(), [Serial]);
    }
    let rows = driver.finish(1_000);
    let counts = rows.region_sums.iter().map(|sum| (sum.instances, sum.team));
    assert_eq!(counts.collect::<Vec<_>>(), [(1, 1); 3]);
}

#[test]
fn kinds_of_threads_land_in_the_tables() {
    let mut driver = Driver::unborn(4);
    for (thread, kind) in [
        (0, ThreadKind::Initial),
        (1, ThreadKind::Worker),
        (2, ThreadKind::Other),
    ] {
        driver.on(thread, What::ThreadBegin(kind));
        assert_eq!(driver.tables.threads[thread as usize].kind, kind);
    }
    assert_eq!(driver.states(), [Serial, Idle, Idle, Outside]);
    assert_eq!(
        driver.machine.thread_state_of(ThreadId(3)),
        ThreadStateId::OUTSIDE
    );
    assert_eq!(
        driver.machine.thread_state_of(ThreadId(1000)),
        ThreadStateId::OUTSIDE
    );
}

#[test]
fn a_thread_whose_begin_was_not_seen_is_known_by_what_it_does() {
    let mut driver = Driver::unborn(3);
    driver.on(
        0,
        What::ImplicitBegin {
            region: Instance::NONE,
            size: 1,
            index: 1,
        },
    );
    assert_eq!(driver.state(0), Serial);
    assert_eq!(driver.tables.threads[0].kind, ThreadKind::Initial);
    driver.fork(7, StackId::EMPTY, &[0, 1]);
    driver.on(1, sync(JOIN, 7));
    driver.on(0, sync(JOIN, 7));
    driver.join(7, 0, JOIN);
    assert_eq!(driver.state(1), Idle);
    assert_eq!(driver.tables.threads[1].kind, ThreadKind::Worker);
}

#[test]
fn the_initial_tasks_own_end_leaves_serial_code() {
    let mut driver = Driver::new(1);
    driver.on(PRIMARY, late_end());
    assert_eq!(driver.state(PRIMARY), Serial);
    driver.on(PRIMARY, What::ThreadEnd);
    assert_eq!(driver.state(PRIMARY), Serial);
}

#[test]
fn a_worker_that_the_runtime_lets_go_is_idle_until_it_ends() {
    let mut driver = Driver::new(2);
    driver.fork(7, StackId::EMPTY, &[0, 1]);
    driver.at(10, 1, What::ThreadEnd);
    assert_eq!(driver.state(1), Idle);
    driver.at(15, 1, What::Exit);
    assert_eq!(driver.tables.threads[1].death, Some(Nanos(15)));
    driver.at(20, 1, implicit(7, 2, 1));
    let on = Scheduling::Running;
    assert_eq!(driver.accounted(1), [(Work, on, 10), (Idle, on, 5)]);
}

#[test]
fn workers_that_come_after_the_regions_end_are_understood() {
    let mut driver = Driver::new(2);
    let site = driver.site(&[1]);
    driver.on(PRIMARY, parallel(7, site));
    driver.on(PRIMARY, implicit(7, 2, 0));
    driver.on(PRIMARY, sync(JOIN, 7));
    driver.join(7, PRIMARY, JOIN);
    assert_eq!(driver.states(), [Serial, Idle]);
    // The merge moved them: they were in that region, and their wait is over.
    driver.on(1, implicit(7, 2, 1));
    assert_eq!(driver.state(1), Work);
    assert_eq!(driver.context(1).stack, site);
    driver.on(1, sync(JOIN, 7));
    assert_eq!(driver.state(1), Idle);
}

#[test]
fn workers_that_come_before_the_regions_begin_get_its_context_then() {
    let mut driver = Driver::new(2);
    let site = driver.site(&[1]);
    driver.at(10, 1, implicit(7, 2, 1));
    assert_eq!(driver.context(1).stack, StackId::EMPTY);
    driver.at(20, PRIMARY, parallel(7, site));
    assert_eq!(driver.context(1).stack, site);
    assert_eq!(driver.states(), [Overhead, Work]);
    driver.on(PRIMARY, implicit(7, 2, 0));
    driver.on(PRIMARY, sync(JOIN, 7));
    driver.on(1, sync(JOIN, 7));
    assert_eq!(driver.context(1).stack, site);
    driver.join(7, PRIMARY, JOIN);
    assert_eq!(driver.states(), [Serial, Idle]);
}

#[test]
fn instances_of_a_region_are_summed_and_long_ones_listed() {
    let mut driver = Driver::new(3);
    let site = driver.site(&[1]);
    for (id, threads) in [(7, &[0, 1][..]), (8, &[0, 1, 2])] {
        driver.time += 1_000;
        driver.fork(id, site, threads);
        driver.time += 2_000_000 * (id - 6);
        for &thread in threads {
            driver.on(thread, sync(JOIN, id));
        }
        driver.join(id, PRIMARY, JOIN);
    }
    let context = driver.known(ContextId::ROOT, ContextKind::Region, site);
    driver.accounting.finish(Nanos(driver.time));
    let rows = driver.accounting.take();
    let thread = ThreadId(PRIMARY);
    // Teams of different sizes are summed by themselves.
    let mut sums = rows.region_sums;
    sums.sort_by_key(|sum| sum.team);
    let sum = |elapsed, team| RegionSum {
        slice: 0,
        context,
        thread,
        instances: 1,
        elapsed: Nanos(elapsed),
        team,
    };
    assert_eq!(sums, [sum(2_000_000, 2), sum(4_000_000, 3)]);
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
