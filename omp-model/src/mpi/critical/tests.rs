use ::mpi::Function::*;
use experiment::rows::MessageEnd::{Received, Sent};

use super::*;
use crate::mpi::chains::links;
use crate::mpi::meanwhile::Does;
use crate::mpi::test_job::Job;
use crate::mpi::waits::search;

fn of(job: &Job, end: (u32, u64)) -> Vec<(u32, u64, u64)> {
    let origins = job.origins();
    let ranks = Ranks::of(&job.recordings, &origins);
    let links = links(&search(&job.experiment, &ranks).waits.all, Vec::new());
    let steps = steps(&links, (ThreadId(end.0), end.1), 0);
    assert!(steps.windows(2).all(|it| it[0].to == it[1].from));
    steps
        .iter()
        .map(|it| (it.thread.0, it.from, it.to))
        .collect()
}

#[test]
fn the_path_goes_back_over_each_wait_to_the_rank_that_ended_it() {
    let mut job = Job::new(3);
    job.call(1, MPI_Recv, [100, 410], 0);
    job.end(Received, 1, 0, 5, [100, 410]);
    job.call(0, MPI_Send, [400, 405], 0);
    job.end(Sent, 0, 1, 5, [400, 405]);
    for (rank, times) in [(0, [500, 810]), (1, [800, 810]), (2, [700, 815])] {
        job.call(rank, MPI_Barrier, times, 0);
    }
    job.call(2, MPI_Recv, [820, 830], 0);
    assert_eq!(
        of(&job, (2, 1_000)),
        [(0, 0, 400), (1, 400, 800), (2, 800, 1_000)]
    );
    // It ends in the rank that waited for none.
    assert_eq!(of(&job, (1, 900)), [(0, 0, 400), (1, 400, 900)]);
}

#[test]
fn the_path_of_a_rank_without_waits_is_its_own_time() {
    assert_eq!(of(&Job::new(2), (1, 70)), [(1, 0, 70)]);
}

#[test]
fn a_ring_of_waits_is_left_through_the_time_before_it() {
    let wait = |rank: u32, peer: u32, [start, until]: [u64; 2]| Link {
        thread: ThreadId(rank),
        peer: ThreadId(peer),
        start,
        until,
        does: Does::Waits,
    };
    // Each waits for the next one until the same moment, as differences of clocks can make it seem; before, rank 2 for
    // rank 0.
    let waits = [
        wait(0, 1, [50, 100]),
        wait(1, 2, [50, 100]),
        wait(2, 0, [10, 20]),
        wait(2, 0, [50, 100]),
    ];
    let steps = steps(&waits, (ThreadId(0), 120), 0);
    let steps: Vec<(u32, u64, u64)> = steps
        .iter()
        .map(|it| (it.thread.0, it.from, it.to))
        .collect();
    assert_eq!(steps, [(0, 0, 20), (2, 20, 100), (0, 100, 120)]);
}
