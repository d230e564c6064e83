//! Calls of MPI, and the threads that it starts.

use experiment::ids::{FrameId, Nanos};
use experiment::state::{Scheduling, State};
use experiment::tables::ThreadKind;

use super::driver::*;
use crate::stream::{Waits, What};

const OTHER: u32 = 1;
const CALL: FrameId = FrameId(7);

fn begin(waits: ::mpi::Wait, begins_mpi: bool) -> What {
    What::MpiBegin {
        state: State::in_mpi(waits),
        begins_mpi,
        call: CALL,
    }
}

#[test]
fn a_thread_waits_in_a_call_and_then_does_what_it_did_before() {
    let mut driver = Driver::new(2);
    let site = driver.site(&[1]);
    driver.fork(5, site, &[0, 1]);
    driver.time = 100;
    driver.on(PRIMARY, begin(::mpi::Wait::Barrier, false));
    assert_eq!(driver.states(), [State::MpiBarrier, State::Work]);
    assert_eq!(driver.thread_state(PRIMARY).call, CALL);
    driver.time = 160;
    driver.on(PRIMARY, What::MpiEnd);
    assert_eq!(driver.states(), [State::Work, State::Work]);
    driver.on(PRIMARY, begin(::mpi::Wait::Nothing, false));
    assert_eq!(driver.state(PRIMARY), State::Mpi);
    // Its end was lost.
    driver.on(PRIMARY, begin(::mpi::Wait::Receive, false));
    driver.on(PRIMARY, What::MpiEnd);
    assert_eq!(driver.states(), [State::Work, State::Work]);
}

#[test]
fn polls_take_their_time_from_what_the_thread_did() {
    let mut driver = Driver::new(1);
    let waits = Waits {
        count: 9,
        time: Nanos(40),
    };
    let polls = What::MpiPolls {
        state: State::Mpi,
        call: CALL,
        waits,
    };
    driver.at(100, PRIMARY, polls);
    driver.time = 200;
    let running = Scheduling::Running;
    let accounted = driver.accounted(PRIMARY);
    assert!(
        accounted.contains(&(State::Mpi, running, 40)),
        "{accounted:?}"
    );
    let all: u64 = accounted.iter().map(|it| it.2).sum();
    assert_eq!(all, 200, "{accounted:?}");
}

#[test]
fn the_sleep_of_threads_that_mpi_starts_is_in_no_sum() {
    let asleep = |is_of_mpi: bool, has_events: bool| {
        let mut driver = Driver::unborn(2);
        driver.on(PRIMARY, What::ThreadBegin(ThreadKind::Initial));
        driver.at(10, PRIMARY, begin(::mpi::Wait::Nothing, is_of_mpi));
        driver.at(20, OTHER, What::Birth(Scheduling::Running));
        driver.at(30, PRIMARY, What::MpiEnd);
        driver.at(50, OTHER, What::SwitchOut(Scheduling::Blocked));
        if has_events {
            driver.at(90, OTHER, begin(::mpi::Wait::Receive, false));
        }
        let kind = driver.tables.threads[OTHER as usize].kind;
        let rows = driver.finish(100);
        (kind, total(&rows, OTHER))
    };
    assert_eq!(asleep(true, false), (ThreadKind::Other, 30));
    assert_eq!(asleep(false, false), (ThreadKind::Outside, 80));
    // One of the program's was made meanwhile.
    assert_eq!(asleep(true, true), (ThreadKind::Outside, 80));
}
