use ::mpi::Function::*;
use experiment::rows::MessageEnd::{LockExclusive, LockShared, Post, Start};

use super::*;
use crate::mpi::calls::calls;
use crate::mpi::test_job::Job;

const MS: u64 = 1_000_000;

impl Job {
    /// Which call, by its thread and start, waits for what of whom, and when that happened.
    fn accesses(&self) -> Vec<(u32, u64, Kind, u32, u64)> {
        let origins = self.origins();
        let ranks = Ranks::of(&self.recordings, &origins);
        let calls = calls(&self.experiment.mpi_calls, &ranks);
        let mut found = Vec::new();
        accesses(
            &self.experiment.mpi_messages,
            &calls,
            &ranks,
            |at, (when, kind, peer)| {
                found.push((calls[at].thread.0, calls[at].start, kind, peer.0, when));
            },
        );
        found
    }
}

#[test]
fn access_is_granted_by_a_post_and_over_with_complete() {
    let mut job = Job::new(2);
    for at in [0u64, 1_000] {
        // Rank 0 accesses the window of rank 1.
        job.call(0, MPI_Win_start, [at + 10, at + 310], 0);
        job.end(Start, 0, 1, 0, [at + 10, at + 310]);
        job.call(0, MPI_Win_complete, [at + 500, at + 510], 0);
        job.call(1, MPI_Win_post, [at + 300, at + 305], 0);
        job.end(Post, 1, 0, 0, [at + 300, at + 305]);
        job.call(1, MPI_Win_wait, [at + 310, at + 512], 0);
    }
    // The post was there before complete began: that is passed on, and no wait.
    let of = |at: u64| {
        [
            (0, at + 10, Kind::LatePost, 1, at + 300),
            (0, at + 500, Kind::LatePost, 1, at + 300),
            (1, at + 310, Kind::LateComplete, 0, at + 500),
        ]
    };
    assert_eq!(job.accesses(), [of(0), of(1_000)].concat());
}

#[test]
fn a_lock_is_had_once_the_last_other_rank_gave_it_up() {
    let mut job = Job::new(4);
    let mut lock = |rank, end, [from, to]: [u64; 2], unlock: [u64; 2]| {
        // In milliseconds.
        let [lock, unlock] = [[from, to], unlock].map(|it| it.map(|at| at * MS));
        job.call(rank, MPI_Win_lock, lock, 4);
        job.end(end, rank, 3, 0, lock);
        job.call(rank, MPI_Win_unlock, unlock, 4);
    };
    lock(0, LockExclusive, [0, 1], [100, 102]);
    // They queue: rank 1 has it after rank 0, rank 2 after rank 1.
    lock(1, LockExclusive, [10, 102], [200, 203]);
    lock(2, LockShared, [20, 203], [300, 301]);
    // With another shared lock, nobody waits.
    lock(3, LockShared, [290, 310], [320, 321]);
    // One that is taken when it is needed: the unlock waits.
    lock(0, LockExclusive, [305, 306], [308, 324]);
    assert_eq!(
        job.accesses(),
        [
            (1, 10, Kind::Lock, 0, 100),
            (2, 20, Kind::Lock, 1, 200),
            (0, 308, Kind::Lock, 3, 320),
        ]
        .map(|(rank, at, kind, peer, when)| (rank, at * MS, kind, peer, when * MS))
    );
}
