//! Time off the CPU: which stack belongs to which sleep.

use super::*;

#[test]
fn a_long_sleep_is_not_outvoted_by_many_short_ones() {
    let mut test = TestExperiment::new(1);
    let thread_state = test.program.thread_state(State::Serial, ContextId::ROOT);
    let (doze, join) = ("nanosleep doze main _start", "futex_wait join main _start");
    let second = SLICE.0;
    // Too short to be listed. The last one might be taken for the beginning of the long one.
    for at in [100_000_000, 300_000_000, 399_950_000] {
        test.sample(0, 0, thread_state, SampleKind::Blocked, doze);
        test.samples.last_mut().expect("just pushed").time = Nanos(at);
    }
    test.sleep(thread_state, (400_000_000, 2 * second), join);
    test.sum(
        0,
        0,
        thread_state,
        Scheduling::Blocked,
        second * 6 / 10 + 3_000_000,
    );
    test.sum(0, 1, thread_state, Scheduling::Blocked, second);
    test.sum(0, 2, thread_state, Scheduling::Blocked, second * 4 / 10);
    assert_eq!(
        test.rows(ViewMode::User),
        [
            row(doze, 3_000_000, 0, false),
            row(join, second * 6 / 10, 0, false),
            row(join, second, 0, false),
            row(join, second * 4 / 10, 0, false),
        ]
    );
}

#[test]
fn a_long_sleep_without_a_stack_has_those_of_long_ones() {
    let mut test = TestExperiment::new(1);
    let thread_state = test.program.thread_state(State::Serial, ContextId::ROOT);
    let (doze, join) = ("nanosleep doze main _start", "futex_wait join main _start");
    // Many short sleeps, and two long ones, one of which has no stack.
    for at in [500_000_000, 600_000_000, 700_000_000] {
        test.sample(0, 0, thread_state, SampleKind::Blocked, doze);
        test.samples.last_mut().expect("just pushed").time = Nanos(at);
    }
    test.sleep(thread_state, (100_000_000, 5_000_000), join);
    test.sleep(thread_state, (200_000_000, 8_000_000), join);
    test.samples.pop();
    test.sum(0, 0, thread_state, Scheduling::Blocked, 13_000_000 + 60_000);
    let rows = test.rows(ViewMode::User);
    assert_eq!(
        rows,
        [row(doze, 60_000, 0, false), row(join, 13_000_000, 0, false)]
    );
}

#[test]
fn a_sleep_without_a_stack_has_those_of_sleeps_as_long_else_of_shorter_ones() {
    let mut test = TestExperiment::new(1);
    let thread_state = test.program.thread_state(State::Serial, ContextId::ROOT);
    let (some, join) = ("some main _start", "join main _start");
    test.sleep(thread_state, (100_000_000, 200_000_000), join);
    // One of ten sleeps of 5 ms has a stack; one seems longer, as the thread waited for a CPU after it.
    test.sleep(thread_state, (400_000_000, 5_000_000), some);
    for at in 1..10 {
        let length = if at == 9 { 24_000_000 } else { 5_000_000 };
        test.sleep(
            thread_state,
            (400_000_000 + at * 30_000_000, length),
            "unused main _start",
        );
        test.samples.pop();
    }
    test.sum(0, 0, thread_state, Scheduling::Blocked, 269_000_000);
    let rows = test.rows(ViewMode::User);
    assert_eq!(
        rows,
        [
            row(join, 200_000_000, 0, false),
            row(some, 69_000_000, 0, false)
        ]
    );
}

#[test]
fn a_long_sleep_among_short_ones_has_the_stack_of_the_running_thread() {
    let mut test = TestExperiment::new(1);
    let thread_state = test.program.thread_state(State::Serial, ContextId::ROOT);
    let (load, join) = ("read load main _start", "join main _start");
    test.sleep(thread_state, (1_000_000, 20_000), load);
    test.sleep(thread_state, (500_000_000, 400_000_000), join);
    test.samples.pop();
    test.sample(0, 0, thread_state, SampleKind::User, join);
    test.sum(0, 0, thread_state, Scheduling::Blocked, 400_020_000);
    test.sum(0, 0, thread_state, Scheduling::Running, 1_000_000);
    let rows = test.rows(ViewMode::User);
    assert_eq!(
        rows,
        [
            row(join, 1_000_000, 1, false),
            row(load, 20_000, 0, false),
            row(join, 400_000_000, 0, true),
        ]
    );
}

#[test]
fn short_sleeps_have_their_own_lengths() {
    let mut test = TestExperiment::new(1);
    let thread_state = test.program.thread_state(State::Serial, ContextId::ROOT);
    let (read, doze) = ("read load main _start", "nanosleep doze main _start");
    // One sleep in ten has a stack.
    for at in 1..5 {
        test.sleep(thread_state, (at * 1_000_000, 20_000), read);
        test.sleep(thread_state, (at * 1_000_000 + 500_000, 300_000), doze);
    }
    test.sum(0, 0, thread_state, Scheduling::Blocked, 40 * 320_000);
    let rows = test.rows(ViewMode::User);
    assert_eq!(
        rows,
        [
            row(read, 800_000, 0, false),
            row(doze, 12_000_000, 0, false)
        ]
    );
}

#[test]
fn a_sleep_without_a_stack_is_not_given_that_of_the_one_before() {
    let mut test = TestExperiment::new(1);
    let region = test.region();
    let short = test.program.thread_state(State::ImplicitBarrier, region);
    let long = test.program.thread_state(State::ExplicitBarrier, region);
    test.sleep(long, (1_000_000, 5_000_000), "unused main _start");
    test.samples[0].thread_state = short;
    test.sum(0, 0, short, Scheduling::Blocked, 10_000);
    test.sum(0, 0, long, Scheduling::Blocked, 5_000_000);
    let rows = test.rows(ViewMode::User);
    let inferred: Vec<(u64, bool)> = rows.iter().map(|row| (row.1, row.3)).collect();
    assert_eq!(inferred, [(10_000, false), (5_000_000, true)]);
}

#[test]
fn a_sleep_goes_on_when_its_thread_state_changes() {
    let mut test = TestExperiment::new(1);
    let outside = test.program.thread_state(State::Serial, ContextId::ROOT);
    let region = test.region();
    let inside = test.program.thread_state(State::Overhead, region);
    let stack = "futex_wait R:?+4 R:__kmpc_fork_call foo+9 main __libc_start_main _start";
    test.sleep(outside, (1_000_000, 5_000_000), stack);
    let mut rest = test.intervals[0];
    (rest.start, rest.thread_state) = (Nanos(6_000_000), inside);
    test.intervals.push(rest);
    test.sum(0, 0, outside, Scheduling::Blocked, 5_000_000);
    test.sum(0, 0, inside, Scheduling::Blocked, 5_000_000);
    let inferred: Vec<bool> = test.rows(ViewMode::User).iter().map(|row| row.3).collect();
    assert_eq!(inferred, [false, false]);
}

#[test]
fn time_without_samples_has_the_frames_that_all_stacks_of_its_thread_share() {
    let mut test = TestExperiment::new(1);
    let serial = test.program.thread_state(State::Serial, ContextId::ROOT);
    let fork = "request+9 connection start_thread clone3";
    let region = test.program.region(ContextId::ROOT, fork);
    let work = test.program.thread_state(State::Work, region);
    test.sum(0, 0, serial, Scheduling::Running, 300);
    test.sum(0, 0, work, Scheduling::Running, 700);
    let found = test.rows(ViewMode::User);
    assert_eq!(
        found[0],
        row("request connection start_thread clone3", 300, 0, true)
    );
}
