//! Pauses and phases, by value.

use experiment::ids::{ContextId, Nanos, PhaseId, ProcessId, ThreadId, ThreadStateId};
use experiment::rows::{SLICE, Within};
use experiment::state::{Scheduling, State};

use crate::omp::{RegionRun, TeamWork, TimeAccounting};
use crate::stream::Waits;

const T: ThreadId = ThreadId(0);
const MS: u64 = 1_000_000;

fn accounting() -> TimeAccounting {
    let mut accounting = TimeAccounting::new(Nanos(MS));
    accounting.birth(T, Nanos(0), Scheduling::Running);
    accounting
}

fn set(accounting: &mut TimeAccounting, ms: u64, thread_state: u32, state: State) {
    let (time, thread_state) = (Nanos(ms * MS), ThreadStateId(thread_state));
    accounting.thread_state(T, time, thread_state, state, Within::default());
}

#[test]
fn time_in_a_pause_is_in_no_row() {
    let mut accounting = accounting();
    set(&mut accounting, 0, 1, State::Work);
    accounting.pause(Nanos(100 * MS));
    accounting.pause(Nanos(110 * MS));
    set(&mut accounting, 120, 2, State::Critical);
    accounting.advance(Nanos(SLICE.0 + 150 * MS));
    assert_eq!(
        accounting.worked(T, Nanos(SLICE.0 + 160 * MS)),
        Nanos(100 * MS)
    );
    // Born and gone within it.
    accounting.birth(ThreadId(1), Nanos(SLICE.0 + 155 * MS), Scheduling::Running);
    accounting.exit(ThreadId(1), Nanos(SLICE.0 + 156 * MS));
    accounting.resume(Nanos(SLICE.0 + 200 * MS));
    set(&mut accounting, 1230, 1, State::Work);
    accounting.finish(Nanos(SLICE.0 + 300 * MS));
    let rows = accounting.take();
    let sums: Vec<_> = rows
        .sums
        .iter()
        .map(|sum| (sum.slice, sum.thread_state.0, sum.time.0 / MS, sum.count))
        .collect();
    assert_eq!(sums.len(), 3, "{sums:?}");
    assert!(sums.contains(&(0, 1, 100, 1)) && sums.contains(&(1, 2, 30, 1)));
    assert!(sums.contains(&(1, 1, 70, 0)));
    let listed: Vec<_> = rows
        .intervals
        .iter()
        .map(|it| (it.start.0 / MS, it.length.0 / MS))
        .collect();
    assert_eq!(listed, [(0, 100), (1200, 30), (1230, 70)]);
}

#[test]
fn instances_count_with_their_time_outside_of_pauses() {
    let mut accounting = accounting();
    let run = |start: u64, end: u64| RegionRun {
        context: ContextId(1),
        within: Within::default(),
        start: Nanos(start * MS),
        end: Nanos(end * MS),
        work: TeamWork {
            team: 2,
            ..TeamWork::default()
        },
    };
    accounting.pause(Nanos(10 * MS));
    accounting.region(T, run(11, 12));
    accounting.region(T, run(5, 15));
    accounting.resume(Nanos(20 * MS));
    accounting.pause(Nanos(30 * MS));
    accounting.resume(Nanos(40 * MS));
    accounting.region(T, run(2, 50));
    accounting.finish(Nanos(60 * MS));
    let rows = accounting.take();
    assert_eq!(rows.region_sums.len(), 1);
    assert_eq!(rows.region_sums[0].instances, 2);
    // 5 ms, and 48 ms less two pauses of 10 ms.
    assert_eq!(rows.region_sums[0].elapsed, Nanos(33 * MS));
}

#[test]
fn phases_have_the_time_of_their_process_s_threads_by_state() {
    let mut accounting = accounting();
    accounting.join(T, ProcessId(0));
    set(&mut accounting, 0, 1, State::Work);
    accounting.phase(ProcessId(0), Nanos(10 * MS), PhaseId(1));
    accounting.birth(ThreadId(1), Nanos(15 * MS), Scheduling::Blocked);
    accounting.join(ThreadId(1), ProcessId(0));
    accounting.birth(ThreadId(2), Nanos(15 * MS), Scheduling::Running);
    accounting.join(ThreadId(2), ProcessId(1));
    let waits = Waits {
        count: 3,
        time: Nanos(2 * MS),
    };
    let wait = (ThreadStateId(7), State::ExplicitBarrier);
    accounting.waited_shortly(T, Nanos(20 * MS), wait, waits);
    accounting.phase(ProcessId(0), Nanos(30 * MS), PhaseId(2));
    accounting.pause(Nanos(32 * MS));
    accounting.resume(Nanos(34 * MS));
    accounting.phase(ProcessId(0), Nanos(35 * MS), PhaseId::NONE);
    accounting.finish(Nanos(50 * MS));
    let mut sums: Vec<_> = accounting
        .take()
        .phase_sums
        .iter()
        .map(|sum| {
            (
                sum.thread.0,
                sum.phase.0,
                sum.state,
                sum.scheduling,
                sum.time.0 / MS,
            )
        })
        .collect();
    sums.sort_unstable();
    let (on, off) = (Scheduling::Running, Scheduling::Blocked);
    assert_eq!(
        sums,
        [
            (0, 1, State::Work, on, 18),
            (0, 1, State::ExplicitBarrier, on, 2),
            (0, 2, State::Work, on, 3),
            (1, 1, State::Outside, off, 15),
            (1, 2, State::Outside, off, 3),
        ]
    );
}
