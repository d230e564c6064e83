use std::collections::BTreeMap;

use ::mpi::Function::*;
use experiment::ids::ThreadId;
use experiment::rows::MessageEnd::{Received, Sent};
use experiment::state::{Scheduling, State};

use super::*;
use crate::mpi::ranks::Ranks;
use crate::mpi::test_job::Job;
use crate::mpi::waits::search;

/// Who waited in the end for whom, what that one did, how long, and the most ranks on the chain.
type Charged = BTreeMap<(u32, u32, Does), (u64, usize)>;

fn charged(job: &Job) -> Charged {
    let origins = job.origins();
    let ranks = Ranks::of(&job.recordings, &origins);
    let search = search(&job.experiment, &ranks);
    let mut charged = Charged::new();
    let mut all = 0;
    let links = links(&search.waits.all, Vec::new());
    follow(&links, &search.activity, |link| {
        let (first, last) = (link.chain[0], link.chain[link.chain.len() - 1]);
        for does in Does::ALL {
            let time = link.did.time(does);
            if time > 0 {
                all += time;
                let sum = charged.entry((first.0, last.0, does)).or_default();
                *sum = (sum.0 + time, sum.1.max(link.chain.len()));
            }
        }
    });
    let waited: u64 = search.waits.all.iter().map(|it| it.length).sum();
    assert_eq!(all, waited, "each wait is charged once");
    charged
}

/// A message from one rank to another: when the receive began, the send began, and both ended.
fn message(job: &mut Job, [from, to]: [u32; 2], [receive, send, end]: [u64; 3]) {
    job.call(to, MPI_Recv, [receive, end], 0);
    job.end(Received, to, from, 5, [receive, end]);
    job.call(from, MPI_Send, [send, end], 0);
    job.end(Sent, from, to, 5, [send, end]);
}

#[test]
fn a_wait_for_a_rank_that_waits_itself_is_charged_to_the_one_at_the_end_of_the_chain() {
    let mut job = Job::new(4);
    message(&mut job, [3, 2], [200, 900, 905]);
    message(&mut job, [2, 1], [100, 930, 935]);
    message(&mut job, [1, 0], [300, 960, 965]);
    assert_eq!(
        charged(&job),
        Charged::from([
            ((0, 3, Does::Computes), (600, 4)),
            // Each needs 5 to receive, and sends 25 later.
            ((0, 2, Does::Waits), (5, 3)),
            ((0, 2, Does::Computes), (25, 3)),
            ((0, 1, Does::Waits), (5, 2)),
            ((0, 1, Does::Computes), (25, 2)),
            ((1, 3, Does::Computes), (700, 3)),
            // Before it received.
            ((1, 2, Does::Computes), (125, 2)),
            ((1, 2, Does::Waits), (5, 2)),
            ((2, 3, Does::Computes), (700, 2)),
        ])
    );
}

#[test]
fn a_rank_without_a_cpu_is_charged_for_that_in_the_program_and_in_calls_after_the_last_message_came()
 {
    let mut job = Job::new(3);
    message(&mut job, [2, 1], [200, 500, 700]);
    message(&mut job, [1, 0], [100, 1_000, 1_010]);
    // While it waited for rank 2 it did not need a CPU.
    let lost = |state| (state, Scheduling::Preempted);
    job.interval(1, lost(State::MpiReceive), [300, 650]);
    job.interval(1, lost(State::Serial), [720, 920]);
    assert_eq!(
        charged(&job),
        Charged::from([
            ((0, 2, Does::Computes), (300, 3)),
            ((0, 1, Does::Ready), (150 + 200, 2)),
            ((0, 1, Does::Waits), (50, 2)),
            ((0, 1, Does::Computes), (100 + 20 + 80, 2)),
            ((1, 2, Does::Computes), (300, 2)),
        ])
    );
}

#[test]
fn a_rank_that_was_killed_or_began_later_is_charged_as_not_recorded() {
    let mut job = Job::new(3);
    message(&mut job, [1, 0], [100, 600, 610]);
    job.recordings[1].started_raw_ns = 200;
    job.recordings[1].duration.0 = 300;
    let charged = charged(&job);
    // The times of rank 1 are 200 later on the host's clock: its send begins at 800, when its recording is over.
    assert_eq!(
        charged,
        Charged::from([
            ((0, 1, Does::Computes), (300, 2)),
            ((0, 1, Does::Unknown), (100 + 110, 2)),
        ])
    );
}

#[test]
fn a_ring_of_waits_is_followed_once() {
    let mut job = Job::new(3);
    for rank in 0..3 {
        job.call(rank, MPI_Sendrecv, [0, 100], 0);
    }
    let origins = job.origins();
    let ranks = Ranks::of(&job.recordings, &origins);
    let activity = search(&job.experiment, &ranks).activity;
    let wait = |rank| Link {
        thread: ThreadId(rank),
        peer: ThreadId((rank + 1) % 3),
        start: 0,
        until: 100,
        does: Does::Waits,
    };
    let waits = [0, 1, 2].map(wait);
    let mut found: Vec<(Vec<u32>, u64)> = Vec::new();
    follow(&waits, &activity, |link| {
        if link.did.waits > 0 {
            let chain = link.chain.iter().map(|it| it.0).collect();
            found.push((chain, link.did.waits));
        }
    });
    assert_eq!(
        found,
        [
            (vec![0, 1, 2], 100),
            (vec![1, 2, 0], 100),
            (vec![2, 0, 1], 100),
        ]
    );
}
