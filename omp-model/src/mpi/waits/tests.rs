use ::mpi::Function::*;
use experiment::rows::MessageEnd::{Received, Sent};
use experiment::state::{Scheduling, State};

use super::*;
use crate::mpi::test_job::Job;

impl Job {
    /// Who waited in which function for whom, how long, and what that one did.
    fn waits(&self) -> Vec<(u32, Kind, u32, u64)> {
        let origins = self.origins();
        let ranks = Ranks::of(&self.recordings, &origins);
        let waits = waits(&self.experiment, &ranks);
        let of = |it: &Wait| (it.thread.0, it.kind, it.peer.0, it.length);
        waits.all.iter().map(of).collect()
    }

    fn meanwhile(&self) -> Vec<Meanwhile> {
        let origins = self.origins();
        let ranks = Ranks::of(&self.recordings, &origins);
        let waits = waits(&self.experiment, &ranks);
        waits.all.iter().map(|it| it.meanwhile).collect()
    }
}

#[test]
fn a_receive_waits_until_its_message_is_sent_and_not_longer_than_it_takes() {
    let mut job = Job::new(2);
    job.call(0, MPI_Recv, [100, 460], 0);
    job.end(Received, 0, 1, 5, [100, 460]);
    job.call(1, MPI_Send, [400, 410], 0);
    job.end(Sent, 1, 0, 5, [400, 410]);
    // Sent before: it waits for nothing.
    job.call(1, MPI_Send, [420, 430], 0);
    job.end(Sent, 1, 0, 5, [420, 430]);
    job.call(0, MPI_Recv, [500, 510], 0);
    job.end(Received, 0, 1, 5, [500, 510]);
    assert_eq!(job.waits(), [(0, Kind::LateSender, 1, 300)]);
}

#[test]
fn a_call_that_completes_several_messages_waits_for_the_last_one_alone() {
    let mut job = Job::new(3);
    for (rank, at) in [(1, 300), (2, 700)] {
        job.call(
            0,
            MPI_Irecv,
            [10 * u64::from(rank), 10 * u64::from(rank) + 1],
            0,
        );
        job.end(Received, 0, rank, 5, [10 * u64::from(rank), 900]);
        job.call(rank, MPI_Send, [at, at + 10], 0);
        job.end(Sent, rank, 0, 5, [at, at + 10]);
    }
    job.call(0, MPI_Waitall, [100, 900], 0);
    assert_eq!(job.waits(), [(0, Kind::LateSender, 2, 600)]);
    job.recordings[2].host = "elm".to_owned();
    assert_eq!(
        job.waits(),
        [(0, Kind::LateSender, 1, 200)],
        "another clock"
    );
}

#[test]
fn a_send_waits_until_its_receive_is_posted_unless_it_was_buffered() {
    let mut job = Job::new(2);
    job.call(0, MPI_Ssend, [100, 820], 0);
    job.end(Sent, 0, 1, 5, [100, 820]);
    job.call(1, MPI_Recv, [800, 830], 0);
    job.end(Received, 1, 0, 5, [800, 830]);
    job.call(0, MPI_Send, [900, 910], 0);
    job.end(Sent, 0, 1, 5, [900, 910]);
    job.call(1, MPI_Recv, [1_800, 1_830], 0);
    job.end(Received, 1, 0, 5, [1_800, 1_830]);
    assert_eq!(job.waits(), [(0, Kind::LateReceiver, 1, 700)]);
}

#[test]
fn a_probe_waits_for_the_message_that_the_next_call_receives() {
    let mut job = Job::new(2);
    job.call(0, MPI_Probe, [100, 520], 0);
    job.call(0, MPI_Recv, [530, 540], 0);
    job.end(Received, 0, 1, 5, [530, 540]);
    job.call(1, MPI_Send, [500, 510], 0);
    job.end(Sent, 1, 0, 5, [500, 510]);
    assert_eq!(job.waits(), [(0, Kind::LateSender, 1, 400)]);
}

#[test]
fn a_message_that_a_test_found_waited_for_nothing() {
    let mut job = Job::new(2);
    job.call(0, MPI_Irecv, [10, 20], 0);
    job.call(0, MPI_Test, [490, 520], 0);
    job.end(Received, 0, 1, 5, [10, 520]);
    job.call(1, MPI_Send, [500, 510], 0);
    job.end(Sent, 1, 0, 5, [500, 510]);
    assert_eq!(job.waits(), []);
}

#[test]
fn in_collective_operations_ranks_wait_for_the_last_or_the_root_or_the_root_waits() {
    let mut job = Job::new(3);
    for (rank, times) in [(0, [10, 95]), (1, [90, 95]), (2, [50, 95])] {
        job.call(rank, MPI_Barrier, times, 0);
    }
    for (rank, times) in [(0, [110, 195]), (1, [150, 195]), (2, [190, 195])] {
        job.call(rank, MPI_Allreduce, times, 0);
    }
    // The root is rank 1. Rank 2 came later, and rank 0 left before the root came: the data were there.
    for (rank, times) in [(0, [200, 262]), (1, [260, 265]), (2, [280, 285])] {
        job.call(rank, MPI_Bcast, times, 2);
    }
    for (rank, times) in [(0, [300, 310]), (1, [305, 395]), (2, [390, 393])] {
        job.call(rank, MPI_Gather, times, 2);
    }
    let mut waits = job.waits();
    waits.sort_by_key(|wait| (wait.1, wait.0));
    assert_eq!(
        waits,
        [
            (0, Kind::Barrier, 1, 80),
            (2, Kind::Barrier, 1, 40),
            (0, Kind::Collective, 2, 80),
            (1, Kind::Collective, 2, 40),
            (0, Kind::LateRoot, 1, 60),
            (1, Kind::EarlyRoot, 2, 85),
        ]
    );
}

#[test]
fn what_the_other_rank_did_meanwhile_adds_up_to_the_wait() {
    let mut job = Job::new(3);
    job.call(0, MPI_Recv, [1_000, 9_010], 0);
    job.end(Received, 0, 1, 5, [1_000, 9_010]);
    job.call(1, MPI_Send, [9_000, 9_005], 0);
    job.end(Sent, 1, 0, 5, [9_000, 9_005]);
    // It waited itself, polled, lost its CPU and slept.
    job.call(1, MPI_Recv, [500, 3_000], 0);
    job.call(1, MPI_Iprobe, [3_500, 3_600], 0);
    let serial = |scheduling| (State::Serial, scheduling);
    job.interval(1, serial(Scheduling::Preempted), [4_000, 4_700]);
    job.interval(1, serial(Scheduling::Blocked), [6_000, 6_400]);
    job.interval(1, serial(Scheduling::Running), [7_000, 7_900]);
    let meanwhile = job.meanwhile();
    let expected = Meanwhile {
        waits: 2_000,
        mpi: 100,
        ready: 700,
        asleep: 400,
        computes: 4_800,
        ..Meanwhile::default()
    };
    assert_eq!(meanwhile, [expected]);
    // A recording that began later.
    let mut job = Job::new(2);
    job.recordings[1].started_raw_ns = 4_000;
    job.call(0, MPI_Recv, [1_000, 9_010], 0);
    job.end(Received, 0, 1, 5, [1_000, 9_010]);
    job.call(1, MPI_Send, [5_000, 5_005], 0);
    job.end(Sent, 1, 0, 5, [5_000, 5_005]);
    let expected = Meanwhile {
        unknown: 3_000,
        computes: 5_000,
        ..Meanwhile::default()
    };
    assert_eq!(job.meanwhile(), [expected]);
}

#[test]
fn the_call_that_completes_a_collective_operation_waits_for_the_last_to_begin_it() {
    let mut job = Job::new(2);
    job.call(0, MPI_Ibarrier, [10, 12], 0);
    job.end(MessageEnd::Operation, 0, 0, 0, [10, 700]);
    job.call(0, MPI_Wait, [200, 700], 0);
    job.call(1, MPI_Ibarrier, [600, 602], 0);
    job.end(MessageEnd::Operation, 1, 0, 0, [600, 705]);
    job.call(1, MPI_Wait, [650, 705], 0);
    // It is in one order with those that wait themselves.
    job.call(0, MPI_Barrier, [800, 905], 0);
    job.call(1, MPI_Barrier, [900, 906], 0);
    assert_eq!(
        job.waits(),
        [(0, Kind::Barrier, 1, 400), (0, Kind::Barrier, 1, 100)]
    );
}

#[test]
fn a_fence_waits_for_the_last_rank() {
    let mut job = Job::new(2);
    job.call(0, MPI_Win_fence, [10, 510], 0);
    job.call(1, MPI_Win_fence, [500, 512], 0);
    assert_eq!(job.waits(), [(0, Kind::Fence, 1, 490)]);
}
