//! The accounting by value: slices, counts, lists, times out of order.

use experiment::ids::{ContextId, Nanos, ThreadId, ThreadStateId};
use experiment::rows::{Interval, RegionWork, SLICE, Sum, TaskSum, Within};
use experiment::state::{Scheduling, State};

use super::driver::total;
use crate::omp::{LISTED_PER_SECOND, RegionRun, TaskRun, TeamWork, TimeAccounting};

const T: ThreadId = ThreadId(0);
const SECOND: u64 = SLICE.0;

fn accounting() -> TimeAccounting {
    let mut accounting = TimeAccounting::new(Nanos(1_000_000));
    accounting.birth(T, Nanos(0), Scheduling::Running);
    accounting
}

/// From `time` on the thread is in that state, in no instance.
fn set_state(accounting: &mut TimeAccounting, time: u64, thread_state: u32, state: State) {
    let thread_state = ThreadStateId(thread_state);
    accounting.thread_state(T, Nanos(time), thread_state, state, Within::default());
}

fn region(start: u64, end: u64, work: TeamWork) -> RegionRun {
    RegionRun {
        context: ContextId(1),
        within: Within::default(),
        start: Nanos(start),
        end: Nanos(end),
        work,
    }
}

fn sum(slice: u32, thread_state: u32, scheduling: Scheduling, time: u64, count: u32) -> Sum {
    Sum {
        slice,
        thread: T,
        thread_state: ThreadStateId(thread_state),
        scheduling,
        time: Nanos(time),
        count,
    }
}

fn sorted(mut sums: Vec<Sum>) -> Vec<Sum> {
    sums.sort_by_key(|sum| (sum.slice, sum.thread, sum.thread_state, sum.scheduling));
    sums
}

#[test]
fn an_interval_across_slices_is_parted_and_counts_where_it_ends() {
    let mut accounting = accounting();
    set_state(&mut accounting, SECOND - 10, 5, State::Overhead);
    set_state(&mut accounting, 3 * SECOND + 7, 6, State::Overhead);
    accounting.exit(T, Nanos(3 * SECOND + 8));
    let on = Scheduling::Running;
    assert_eq!(
        sorted(accounting.take().sums),
        [
            sum(0, 0, on, SECOND - 10, 1),
            sum(0, 5, on, 10, 0),
            sum(1, 5, on, SECOND, 0),
            sum(2, 5, on, SECOND, 0),
            sum(3, 5, on, 7, 1),
            sum(3, 6, on, 1, 1),
        ]
    );
}

#[test]
fn an_interval_that_ends_with_its_slice_stays_in_it() {
    let mut accounting = accounting();
    set_state(&mut accounting, SECOND, 5, State::Overhead);
    accounting.exit(T, Nanos(2 * SECOND));
    let on = Scheduling::Running;
    assert_eq!(
        sorted(accounting.take().sums),
        [sum(0, 0, on, SECOND, 1), sum(1, 5, on, SECOND, 1)]
    );
}

#[test]
fn scheduling_parts_intervals_as_thread_states_do() {
    let mut accounting = accounting();
    accounting.scheduling(T, Nanos(10), Scheduling::Blocked);
    set_state(&mut accounting, 30, 5, State::Overhead);
    accounting.scheduling(T, Nanos(60), Scheduling::Running);
    accounting.scheduling(T, Nanos(70), Scheduling::Preempted);
    accounting.exit(T, Nanos(100));
    assert_eq!(
        sorted(accounting.take().sums),
        [
            sum(0, 0, Scheduling::Running, 10, 1),
            sum(0, 0, Scheduling::Blocked, 20, 1),
            sum(0, 5, Scheduling::Running, 10, 1),
            sum(0, 5, Scheduling::Preempted, 30, 1),
            sum(0, 5, Scheduling::Blocked, 30, 1),
        ]
    );
}

#[test]
fn the_same_thread_state_again_does_not_part_an_interval() {
    let mut accounting = accounting();
    for time in 1..100 {
        set_state(&mut accounting, time, 5, State::Overhead);
    }
    accounting.exit(T, Nanos(100));
    let on = Scheduling::Running;
    assert_eq!(
        sorted(accounting.take().sums),
        [sum(0, 0, on, 1, 1), sum(0, 5, on, 99, 1)]
    );
}

#[test]
fn advance_makes_the_rows_of_what_is_over_and_finish_of_all() {
    let mut accounting = accounting();
    set_state(&mut accounting, 10, 5, State::Overhead);
    accounting.advance(Nanos(SECOND / 2));
    assert_eq!(accounting.take().sums, []);
    accounting.advance(Nanos(SECOND + 1));
    let on = Scheduling::Running;
    assert_eq!(
        sorted(accounting.take().sums),
        [sum(0, 0, on, 10, 1), sum(0, 5, on, SECOND - 10, 0)]
    );
    accounting.finish(Nanos(SECOND + 20));
    assert_eq!(accounting.take().sums, [sum(1, 5, on, 20, 0)]);
    // It may go on nevertheless.
    accounting.exit(T, Nanos(SECOND + 21));
    assert_eq!(accounting.take().sums, [sum(1, 5, on, 1, 1)]);
    accounting.finish(Nanos(SECOND + 30));
    assert_eq!(accounting.take(), Default::default());
}

#[test]
fn a_time_that_runs_backwards_is_moved_and_counted() {
    let mut accounting = accounting();
    set_state(&mut accounting, 100, 5, State::Overhead);
    set_state(&mut accounting, 90, 6, State::Overhead);
    set_state(&mut accounting, 120, 7, State::Overhead);
    assert_eq!(accounting.late(), 1);
    accounting.advance(Nanos(200));
    set_state(&mut accounting, 150, 8, State::Overhead);
    assert_eq!(accounting.late(), 2);
    assert_eq!(accounting.exit(T, Nanos(180)), Some(Nanos(200)));
    assert_eq!(accounting.late(), 3);
    let on = Scheduling::Running;
    assert_eq!(
        sorted(accounting.take().sums),
        [
            sum(0, 0, on, 100, 1),
            sum(0, 6, on, 20, 1),
            sum(0, 7, on, 80, 1),
        ]
    );
}

#[test]
fn a_life_is_booked_once() {
    let mut accounting = accounting();
    assert_eq!(
        accounting.birth(T, Nanos(50), Scheduling::Running),
        Nanos(0)
    );
    assert!(accounting.is_alive(T));
    assert_eq!(accounting.exit(T, Nanos(100)), Some(Nanos(100)));
    assert_eq!(accounting.exit(T, Nanos(200)), None);
    accounting.birth(T, Nanos(300), Scheduling::Running);
    set_state(&mut accounting, 400, 5, State::Overhead);
    accounting.region(T, region(0, 400, TeamWork::default()));
    accounting.finish(Nanos(500));
    let rows = accounting.take();
    assert_eq!(total(&rows, 0), 100);
    assert_eq!(rows.region_sums, []);
    assert!(!accounting.is_alive(T));
    // Threads that were never born have no account.
    accounting.thread_state(
        ThreadId(9),
        Nanos(400),
        ThreadStateId(5),
        State::Overhead,
        Within::default(),
    );
    assert_eq!(accounting.exit(ThreadId(9), Nanos(400)), None);
}

#[test]
fn long_intervals_are_listed_whole() {
    let mut accounting = accounting();
    set_state(&mut accounting, 999_999, 5, State::Overhead);
    set_state(&mut accounting, 1_999_999, 6, State::Overhead);
    accounting.scheduling(T, Nanos(2_000_000), Scheduling::Blocked);
    accounting.advance(Nanos(2_500_000));
    accounting.exit(T, Nanos(3_000_000));
    let listed = |start, length, thread_state, scheduling| Interval {
        thread: T,
        start: Nanos(start),
        length: Nanos(length),
        thread_state: ThreadStateId(thread_state),
        scheduling,
        within: Within::default(),
    };
    assert_eq!(
        accounting.take().intervals,
        [
            listed(999_999, 1_000_000, 5, Scheduling::Running),
            listed(2_000_000, 1_000_000, 6, Scheduling::Blocked),
        ]
    );
}

#[test]
fn what_a_stack_stands_for_is_listed_however_short() {
    let mut accounting = accounting();
    accounting.scheduling(T, Nanos(100), Scheduling::Blocked);
    accounting.sampled(T);
    accounting.scheduling(T, Nanos(150), Scheduling::Running);
    accounting.scheduling(T, Nanos(200), Scheduling::Blocked);
    accounting.exit(T, Nanos(250));
    let listed = accounting.take().intervals;
    let spans: Vec<_> = listed.iter().map(|it| (it.start.0, it.length.0)).collect();
    assert_eq!(
        spans,
        [(100, 50)],
        "the running and the second sleep are not"
    );
}

#[test]
fn what_runs_for_longer_than_a_slice_is_listed_in_pieces() {
    let mut accounting = accounting();
    for tenth in 1..=35 {
        accounting.advance(Nanos(tenth * SECOND / 10));
    }
    accounting.finish(Nanos(7 * SECOND / 2));
    let pieces: Vec<_> = accounting
        .take()
        .intervals
        .iter()
        .map(|it| (it.start.0, it.length.0))
        .collect();
    assert_eq!(
        pieces,
        [
            (0, SECOND),
            (SECOND, SECOND),
            (2 * SECOND, SECOND),
            (3 * SECOND, SECOND / 2)
        ]
    );
}

#[test]
fn the_list_does_not_grow_with_the_number_of_intervals() {
    let mut accounting = TimeAccounting::new(Nanos(1_000));
    let threads = 64;
    for thread in 0..threads {
        accounting.birth(ThreadId(thread), Nanos(0), Scheduling::Running);
    }
    for step in 1..=40_000u64 {
        for thread in 0..threads {
            let thread_state = ThreadStateId(step as u32 % 2 + 1);
            let time = Nanos(step * 100_000);
            let (thread, within) = (ThreadId(thread), Within::default());
            accounting.thread_state(thread, time, thread_state, State::Overhead, within);
        }
    }
    accounting.finish(Nanos(4 * SECOND));
    // 2.5 million intervals of 100 us; the threshold starts at 1 us and doubles seven times, and
    // once more when a quiet slice has brought it back by one step.
    let listed = accounting.take().intervals.len();
    assert_eq!(listed, (7 + 1) * LISTED_PER_SECOND as usize);
}

#[test]
fn useful_work_counts_on_the_cpu_and_up_to_a_given_time() {
    let mut accounting = accounting();
    set_state(&mut accounting, 100, 5, State::Work);
    assert_eq!(accounting.worked(T, Nanos(100)), Nanos(0));
    assert_eq!(accounting.worked(T, Nanos(130)), Nanos(30));
    accounting.scheduling(T, Nanos(150), Scheduling::Preempted);
    assert_eq!(accounting.worked(T, Nanos(190)), Nanos(50));
    accounting.scheduling(T, Nanos(200), Scheduling::Running);
    // It does not end at slices.
    set_state(&mut accounting, SECOND + 200, 6, State::Overhead);
    assert_eq!(accounting.worked(T, Nanos(2 * SECOND)), Nanos(SECOND + 50));
    assert_eq!(accounting.worked(ThreadId(9), Nanos(5)), Nanos(0));
}

#[test]
fn the_spread_of_work_is_summed_over_instances() {
    let mut accounting = accounting();
    let work = |team, longest, total| TeamWork {
        team,
        longest: Nanos(longest),
        total: Nanos(total),
    };
    accounting.region(T, region(0, 1_000, work(4, 800, 1_400)));
    accounting.region(T, region(1_000, 1_500, work(4, 400, 1_600)));
    // More work than the region's time: by events out of order.
    accounting.region(T, region(1_500, 1_600, work(4, 500, 500)));
    accounting.finish(Nanos(2_000));
    let rows = accounting.take();
    assert_eq!(rows.region_sums[0].elapsed, Nanos(1_600));
    let expected = RegionWork {
        slice: 0,
        context: ContextId(1),
        thread: T,
        capacity: Nanos(4 * 1_600),
        longest: Nanos(800 + 400 + 100),
        // At most the longest.
        mean: Nanos(350 + 400 + 100),
    };
    assert_eq!(rows.region_works, [expected]);
}

#[test]
fn tasks_are_summed_with_their_spread() {
    let mut accounting = accounting();
    let run = |context, work, elsewhere| TaskRun {
        context: ContextId(context),
        work: Nanos(work),
        elsewhere,
        unfinished: false,
    };
    accounting.task(T, Nanos(10), run(3, 5, false));
    accounting.task(T, Nanos(20), run(3, 0, true));
    accounting.task(T, Nanos(30), run(3, 1 << 40, true));
    accounting.task(T, Nanos(SECOND + 1), run(3, 7, false));
    accounting.finish(Nanos(SECOND + 2));
    let first = TaskSum {
        slice: 0,
        context: ContextId(3),
        thread: T,
        instances: 3,
        unfinished: 0,
        elsewhere: 2,
        work: Nanos((1 << 40) + 5),
        least: Nanos(0),
        most: Nanos(1 << 40),
        squares: (1 << 80) + 25,
    };
    let second = TaskSum {
        slice: 1,
        instances: 1,
        unfinished: 0,
        elsewhere: 0,
        work: Nanos(7),
        least: Nanos(7),
        most: Nanos(7),
        squares: 49,
        ..first
    };
    assert_eq!(accounting.take().task_sums, [first, second]);
}

#[test]
fn an_interval_is_listed_in_pieces_where_instances_follow_each_other() {
    const LONG: u64 = 2_000_000;
    let mut accounting = accounting();
    let mut turn = |at: u64, thread_state: u32, region: u64| {
        let (thread_state, within) = (ThreadStateId(thread_state), Within { region, task: 0 });
        accounting.thread_state(T, Nanos(at * LONG), thread_state, State::Work, within);
    };
    turn(1, 5, 1);
    // The same state in another instance, and nothing new.
    turn(2, 5, 2);
    turn(3, 5, 2);
    // Another state of the same instance, and both at once.
    turn(4, 6, 2);
    turn(5, 5, 3);
    accounting.finish(Nanos(6 * LONG));
    let rows = accounting.take();
    let piece = |it: &Interval| {
        let (start, length) = (it.start.0 / LONG, it.length.0 / LONG);
        (start, length, it.thread_state.0, it.within.region)
    };
    let outside = ThreadStateId::OUTSIDE.0;
    assert_eq!(
        rows.intervals.iter().map(piece).collect::<Vec<_>>(),
        [
            (0, 1, outside, 0),
            (1, 1, 5, 1),
            (2, 2, 5, 2),
            (4, 1, 6, 2),
            (5, 1, 5, 3)
        ]
    );
    // The sum counts the first two pieces as one interval.
    let worked = rows
        .sums
        .iter()
        .find(|sum| sum.thread_state == ThreadStateId(5));
    let worked = worked.map(|sum| (sum.time.0 / LONG, sum.count));
    assert_eq!(worked, Some((4, 1)));
}

#[test]
fn time_off_cpus_without_switches_is_taken_from_waits_first() {
    let mut accounting = accounting();
    let off_cpu = |accounting: &mut TimeAccounting, time, blocked, preempted| {
        accounting.off_cpu(T, Nanos(time), (Nanos(blocked), Nanos(preempted)), Nanos(0));
    };
    off_cpu(&mut accounting, 0, 0, 0);
    set_state(&mut accounting, 0, 5, State::Work);
    set_state(&mut accounting, 600, 6, State::ImplicitBarrier);
    set_state(&mut accounting, 700, 7, State::Serial);
    // Asleep for all of the wait, and for a seventh of the rest; then a third of what is left.
    off_cpu(&mut accounting, 800, 100 + 100, 200);
    assert_eq!(accounting.worked(T, Nanos(800)), Nanos(344));
    // Nothing twice. What exceeds the time since the last call waits for the next one.
    off_cpu(&mut accounting, 900, 50, 70);
    off_cpu(&mut accounting, 1000, 0, 0);
    accounting.exit(T, Nanos(1000));
    let rows = accounting.take();
    assert_eq!(total(&rows, 0), 1000);
    let rows = rows.sums;
    let time = |state, scheduling| {
        let of = rows
            .iter()
            .filter(|row| (row.thread_state, row.scheduling) == (ThreadStateId(state), scheduling));
        of.map(|row| row.time.0).sum::<u64>()
    };
    let of = |state| Scheduling::ALL.map(|scheduling| time(state, scheduling));
    // On a CPU, preempted, asleep, stolen. Shares are rounded down, and the rest is made up later.
    assert_eq!(of(5), [344, 171, 85, 0]);
    assert_eq!(of(6), [0, 0, 100, 0]);
    assert_eq!(of(7).iter().sum::<u64>(), 300);
}

#[test]
fn time_off_cpus_without_switches_is_taken_from_slices_that_are_over_too() {
    let mut accounting = accounting();
    let off_cpu = |accounting: &mut TimeAccounting, time, blocked, preempted| {
        accounting.off_cpu(T, Nanos(time), (Nanos(blocked), Nanos(preempted)), Nanos(0));
    };
    off_cpu(&mut accounting, 0, 0, 0);
    set_state(&mut accounting, 0, 5, State::Work);
    accounting.advance(Nanos(SECOND));
    accounting.advance(Nanos(2 * SECOND));
    assert_eq!(accounting.take().sums, [], "nothing is certain yet");
    // For a tenth of three seconds and a half it was on a CPU.
    let (end, ran) = (3 * SECOND + SECOND / 2, SECOND / 10 * 7 / 2);
    off_cpu(&mut accounting, end, 0, end - ran);
    assert_eq!(accounting.worked(T, Nanos(end)), Nanos(ran));
    accounting.exit(T, Nanos(end));
    let (on, ready) = (Scheduling::Running, Scheduling::Preempted);
    let of_slice = |slice, time: u64, count| {
        [
            sum(slice, 5, on, time / 10, count),
            sum(slice, 5, ready, time / 10 * 9, 0),
        ]
    };
    let expected = [
        of_slice(0, SECOND, 0),
        of_slice(1, SECOND, 0),
        of_slice(2, SECOND, 0),
        of_slice(3, SECOND / 2, 1),
    ];
    assert_eq!(sorted(accounting.take().sums), expected.concat());
}

#[test]
fn time_off_cpus_that_a_look_left_open_is_taken_from_before_it() {
    let mut accounting = accounting();
    let off_cpu = |accounting: &mut TimeAccounting, time, preempted, open| {
        let known = (Nanos(0), Nanos(preempted));
        accounting.off_cpu(T, Nanos(time), known, Nanos(open));
    };
    off_cpu(&mut accounting, 0, 0, 0);
    set_state(&mut accounting, 0, 5, State::Work);
    // Looks that leave something open, in two slices. The numbers divide without a rest.
    off_cpu(&mut accounting, SECOND - 1000, 0, 0);
    off_cpu(&mut accounting, SECOND, 400, 500);
    off_cpu(&mut accounting, SECOND + 1000, 750, 450);
    // The thread ends soon after the last one.
    off_cpu(&mut accounting, SECOND + 1010, 460, 0);
    assert_eq!(
        accounting.worked(T, Nanos(SECOND + 1010)),
        Nanos(SECOND - 600)
    );
    accounting.exit(T, Nanos(SECOND + 1010));
    let rows = accounting.take();
    assert_eq!(total(&rows, 0), SECOND + 1010);
    let on_cpu = rows.sums.iter();
    let on_cpu = on_cpu.filter(|row| row.scheduling == Scheduling::Running);
    assert_eq!(on_cpu.map(|row| row.time.0).sum::<u64>(), SECOND - 600);
}

#[test]
fn time_that_nobody_looks_at_is_not_held_back_for_ever() {
    let mut accounting = accounting();
    accounting.off_cpu(T, Nanos(0), (Nanos(0), Nanos(0)), Nanos(0));
    let mut slices = 0;
    for slice in 1..10_000 {
        accounting.advance(Nanos(slice * SECOND));
        slices += accounting.take().sums.len();
    }
    assert!(slices > 5_000, "{slices}");
    accounting.finish(Nanos(10_000 * SECOND));
    let last = accounting.take();
    assert_eq!((slices + last.sums.len()) as u64, 10_000);
}
