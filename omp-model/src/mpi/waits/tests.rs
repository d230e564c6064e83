use ::mpi::Function::{self, *};
use experiment::rows::MessageEnd::{Received, Sent};
use experiment::rows::{Interval, MessageEnd, MpiCall, MpiMessage, Within};
use experiment::state::{Scheduling, State};
use experiment::tables::ThreadState;

use super::*;
use crate::mpi::ranks::Recording;
use crate::mpi::ranks::tests::recording;

/// A job on one host, of ranks with a thread each, whose recordings all began at the same time.
struct Job {
    recordings: Vec<Recording>,
    experiment: Experiment,
}

impl Job {
    fn new(size: u32) -> Job {
        let made = test_support::TempExperiment::new("job");
        test_support::Builder::new(&["./a"], "a.c").write(&made.path);
        Job {
            recordings: (0..size).map(|it| recording("a", it, size, 0)).collect(),
            experiment: Experiment::open(&made.path).expect("it was written"),
        }
    }

    fn call(&mut self, rank: u32, function: Function, [from, to]: [u64; 2], root: u32) {
        self.experiment.mpi_calls.push(MpiCall {
            thread: ThreadId(rank),
            start: Nanos(from),
            length: Nanos(to - from),
            count: 1,
            function: function as u16,
            call: FrameId::NONE,
            comm: 7,
            peer: root,
            sent: 0,
            received: 0,
        });
    }

    fn end(&mut self, end: MessageEnd, rank: u32, peer: u32, tag: u32, [from, to]: [u64; 2]) {
        self.experiment.mpi_messages.push(MpiMessage {
            thread: ThreadId(rank),
            end,
            posted: Nanos(from),
            length: Nanos(to - from),
            peer,
            tag,
            comm: 7,
            bytes: 8,
        });
    }

    /// Who waited in which function for whom, how long, and what that one did.
    fn waits(&self) -> Vec<(u32, Kind, u32, u64)> {
        let origins: Vec<u32> = (1..=self.recordings.len() as u32).collect();
        let ranks = Ranks::of(&self.recordings, &origins);
        let waits = waits(&self.experiment, &ranks);
        let of = |it: &Wait| (it.thread.0, it.kind, it.peer.0, it.length);
        waits.all.iter().map(of).collect()
    }

    fn meanwhile(&self) -> Vec<Meanwhile> {
        let origins: Vec<u32> = (1..=self.recordings.len() as u32).collect();
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
    let thread_state = job.experiment.tables.thread_state(ThreadState {
        state: State::Serial,
        context: experiment::ids::ContextId::ROOT,
        call: FrameId::NONE,
    });
    let interval = |start: u64, length: u64, scheduling| Interval {
        thread: ThreadId(1),
        start: Nanos(start),
        length: Nanos(length),
        thread_state,
        scheduling,
        within: Within::default(),
    };
    job.experiment.intervals = vec![
        interval(4_000, 700, Scheduling::Preempted),
        interval(6_000, 400, Scheduling::Blocked),
        interval(7_000, 900, Scheduling::Running),
    ];
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
