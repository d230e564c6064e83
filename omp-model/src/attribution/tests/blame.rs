//! Blame of runs whose values are known by construction.

use experiment::ids::{ContextId, Nanos, ThreadId};
use experiment::rows::Blame;
use experiment::state::{Scheduling, State};
use experiment::tables::ContextKind;

use crate::views::openmp::test_run::{MS, ROOT, TestRun, close, unbalanced};

fn blame(test: &TestRun, context: ContextId, thread: u32) -> f64 {
    let profile = test.profile();
    let of =
        |item: &&crate::profile::Item| item.context == context && item.thread == ThreadId(thread);
    profile.items.iter().filter(of).map(|item| item.blame).sum()
}

#[test]
fn blame_goes_to_what_ran_while_others_waited() {
    let test = unbalanced();
    let region = test.region_sums.iter().next().unwrap().context;
    // Serial code kept three threads idle for 100 ms; in the region's first 100 ms no thread
    // waited.
    close(blame(&test, ROOT, 0), 0.3);
    close(blame(&test, region, 0), 0.9);
    close(blame(&test, region, 1), 0.0);
}

#[test]
fn what_is_not_listed_is_blamed_in_proportion() {
    let mut test = unbalanced();
    test.intervals.clear();
    let region = test.region_sums.iter().next().unwrap().context;
    // 1200 ms of waiting over 800 ms of work in that second.
    close(blame(&test, ROOT, 0), 1.5 * 0.1);
    close(blame(&test, region, 0), 1.5 * 0.4);
    close(blame(&test, region, 1), 1.5 * 0.1);
}

#[test]
fn waits_for_a_mutex_are_blamed_on_its_holder_and_other_waits_are_shared() {
    let mut test = TestRun::new(3, 900);
    let region = test.construct(ROOT, ContextKind::Region, 0x40);
    // Thread 0 holds it for 600 of 900 ms, the last 300 of them asleep. No holder is known while
    // thread 2 waits.
    test.run(0, State::Reduction, region, 300);
    test.be(0, (State::Work, Scheduling::Blocked), region, 300);
    test.run(0, State::Work, region, 300);
    test.run(1, State::Critical, region, 600);
    test.run(1, State::Work, region, 300);
    test.run(2, State::Lock, region, 100);
    test.run(2, State::Work, region, 800);
    for sum in test.sums.iter().filter(|sum| sum.thread.0 == 0) {
        let thread_state = test.tables.thread_states.get(sum.thread_state.0).unwrap();
        if thread_state.state == State::Reduction || sum.scheduling == Scheduling::Blocked {
            test.blames.push(Blame {
                slice: sum.slice,
                thread: sum.thread,
                thread_state: sum.thread_state,
                scheduling: sum.scheduling,
                time: Nanos(300 * MS),
            });
        }
    }
    // 100 ms without a holder, over 1700 ms of work on a CPU.
    let share = 0.1 / 1.7;
    close(blame(&test, region, 0), 0.6 + 0.6 * share);
    close(blame(&test, region, 1), 0.3 * share);
    close(blame(&test, region, 2), 0.8 * share);
    let profile = test.profile();
    let asleep = profile.items.iter();
    let asleep = asleep.filter(|item| item.scheduling == Scheduling::Blocked);
    close(asleep.map(|item| item.blame).sum(), 0.3);
}

#[test]
fn nobody_is_blamed_for_a_second_in_which_nobody_worked() {
    let mut test = TestRun::new(2, 2_000);
    test.be(0, (State::Serial, Scheduling::Blocked), ROOT, 1_000);
    test.run(0, State::Serial, ROOT, 1_000);
    test.run(1, State::Idle, ROOT, 2_000);
    let profile = test.profile();
    let total: f64 = profile.items.iter().map(|item| item.blame).sum();
    close(total, 1.0);
}
