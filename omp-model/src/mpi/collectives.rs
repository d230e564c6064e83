//! Which calls are one collective operation.
//!
//! All ranks of a communicator call its collective operations in the same order (MPI 4.1, 6.14): the n-th call of each
//! rank belongs to the n-th of the others. So does any kind of them taken by itself.

use std::collections::{BTreeMap, BTreeSet};

use ::mpi::pgas::{Bytes, pgas};
use ::mpi::{Form, Function, Wait};

use super::calls::Call;
use super::ranks::{RankId, Ranks};

/// Who waits for whom in a collective operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// Each rank for all others.
    All,
    /// Each rank for the root.
    FromRoot,
    /// The root for all others.
    ToRoot,
}

impl Pattern {
    /// That of a function, or of the call that completes it; `None` if it is not known by the function, as which
    /// neighbours a rank waits for, or if neither waits.
    pub fn of(function: u16) -> Option<Pattern> {
        if function == Function::MPI_Win_fence as u16 {
            return Some(Pattern::All);
        }
        let waits = matches!(::mpi::wait(function), Wait::Barrier | Wait::Collective);
        if !waits && !::mpi::is_later(function) {
            return None;
        }
        if let Some(row) = pgas(function) {
            return match row.bytes {
                // By the image that gets the result, all wait or that one.
                Bytes::ReduceImage(..) => None,
                Bytes::Broadcast(..) | Bytes::BroadcastImage(..) => Some(Pattern::FromRoot),
                _ => Some(Pattern::All),
            };
        }
        // Only the ranks of the group call it, not all of the communicator.
        if function == Function::MPI_Comm_create_group as u16 {
            return None;
        }
        match ::mpi::form(function) {
            Form::Barrier
            | Form::Allreduce
            | Form::Allgather
            | Form::Allgatherv
            | Form::Alltoall
            | Form::Alltoallv
            | Form::Alltoallw
            | Form::ReduceScatter
            | Form::ReduceScatterBlock
            | Form::Communicator2
            | Form::Communicator3
            | Form::Communicator4
            | Form::Communicator5
            | Form::Communicator6
            | Form::Communicator9
            | Form::Communicator10
            | Form::WindowCreate
            | Form::WindowAllocate
            | Form::WindowDynamic
            | Form::Finalize => Some(Pattern::All),
            Form::Broadcast | Form::Scatter | Form::Scatterv => Some(Pattern::FromRoot),
            Form::Reduce | Form::Gather | Form::Gatherv => Some(Pattern::ToRoot),
            _ => None,
        }
    }
}

/// Whether no rank leaves the function before it has what it needs of the others. A fence may be told that there is
/// nothing to wait for, one that is begun is completed by another call, and windows need not be made together.
pub fn is_synchronous(function: u16) -> bool {
    let is_window = matches!(
        ::mpi::form(function),
        Form::Fence | Form::WindowCreate | Form::WindowAllocate | Form::WindowDynamic
    );
    !is_window && !::mpi::is_later(function)
}

/// How many collective operations were put together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Collected {
    /// Those with a call of each rank that uses the communicator.
    pub whole: u64,
    /// Those that lack calls of such ranks.
    pub partial: u64,
    /// Those on communicators from where on the ranks' functions differ: which calls belong together is not known.
    pub doubtful: u64,
}

/// Puts the calls of each operation together, and passes the numbers of those of each whole one, in the order of
/// ranks, to `each`.
pub fn collected(
    calls: &[Call],
    ranks: &Ranks<'_>,
    mut each: impl FnMut(Pattern, &[usize]),
) -> Collected {
    /// A job's communicator.
    type Comm = (u32, u32);
    let mut entries: Vec<(Comm, u32, RankId, u64, usize)> = Vec::new();
    for (at, call) in calls.iter().enumerate() {
        let is_everywhere = call.comm != 0 || ::mpi::form(call.function) == Form::Finalize;
        if is_everywhere
            && Pattern::of(call.function).is_some()
            && ranks.knows_until(call.thread, call.start)
        {
            let rank = ranks.of_thread(call.thread);
            entries.push(((rank.job, call.comm), 0, rank, call.start, at));
        }
    }
    // First by rank and time, to number each rank's calls; then by that number.
    entries.sort_unstable_by_key(|&(comm, _, rank, start, _)| (comm, rank, start));
    let mut members = BTreeMap::<Comm, usize>::new();
    for of_rank in entries.chunk_by_mut(|one, other| (one.0, one.2) == (other.0, other.2)) {
        *members.entry(of_rank[0].0).or_default() += 1;
        for (entry, number) in of_rank.iter_mut().zip(0..) {
            entry.1 = number;
        }
    }
    entries.sort_unstable_by_key(|&(comm, number, rank, ..)| (comm, number, rank));
    let mut collected = Collected::default();
    let mut doubtful = BTreeSet::<Comm>::new();
    let mut together = Vec::new();
    for operation in entries.chunk_by(|one, other| (one.0, one.1) == (other.0, other.1)) {
        let comm = operation[0].0;
        let function = |entry: &(Comm, u32, RankId, u64, usize)| calls[entry.4].function;
        let first = function(&operation[0]);
        if operation.iter().any(|entry| function(entry) != first) {
            doubtful.insert(comm);
        }
        if doubtful.contains(&comm) {
            collected.doubtful += 1;
        } else if operation.len() < members[&comm] {
            collected.partial += 1;
        } else if let Some(pattern) = Pattern::of(first) {
            collected.whole += 1;
            together.clear();
            together.extend(operation.iter().map(|entry| entry.4));
            each(pattern, &together);
        }
    }
    collected
}

#[cfg(test)]
mod tests {
    use experiment::ids::{FrameId, Nanos, ThreadId};

    use super::*;
    use crate::mpi::ranks::Recording;
    use crate::mpi::ranks::tests::recording;

    fn call(thread: u32, function: Function, comm: u32, start: u64) -> Call {
        Call {
            thread: ThreadId(thread),
            function: function as u16,
            site: FrameId::NONE,
            comm,
            root: 0,
            start,
            end: start + 5,
        }
    }

    fn of(recordings: &[Recording], calls: &[Call]) -> (Vec<Vec<u64>>, Collected) {
        let origins: Vec<u32> = (1..=recordings.len() as u32).collect();
        let ranks = Ranks::of(recordings, &origins);
        let mut found = Vec::new();
        let collected = collected(calls, &ranks, |_, together| {
            found.push(together.iter().map(|&at| calls[at].start).collect());
        });
        (found, collected)
    }

    #[test]
    fn the_n_th_calls_of_each_rank_on_a_communicator_are_one_operation() {
        use Function::{MPI_Allreduce, MPI_Barrier, MPI_Finalize, MPI_Iallreduce, MPI_Scan};
        let recordings = [0, 1].map(|number| recording("a", number, 2, 0));
        let calls = [
            call(0, MPI_Barrier, 7, 10),
            call(0, MPI_Iallreduce, 7, 20),
            call(0, MPI_Allreduce, 8, 25),
            call(0, MPI_Scan, 7, 27),
            call(0, MPI_Barrier, 7, 30),
            call(0, MPI_Finalize, 0, 90),
            call(1, MPI_Barrier, 7, 11),
            call(1, MPI_Iallreduce, 7, 21),
            call(1, MPI_Barrier, 7, 31),
            call(1, MPI_Allreduce, 8, 41),
            call(1, MPI_Allreduce, 9, 51),
            call(1, MPI_Finalize, 0, 95),
        ];
        let (found, collected) = of(&recordings, &calls);
        // That on communicator 9 has no other rank.
        let expected = [
            vec![90, 95],
            vec![10, 11],
            vec![20, 21],
            vec![30, 31],
            vec![25, 41],
            vec![51],
        ];
        assert_eq!(found, expected);
        assert_eq!(
            (collected.whole, collected.partial, collected.doubtful),
            (6, 0, 0)
        );
    }

    #[test]
    fn operations_without_a_call_of_each_rank_are_counted_and_so_are_those_that_differ() {
        use Function::{MPI_Allreduce, MPI_Barrier};
        let mut recordings = [0, 1].map(|number| recording("a", number, 2, 0));
        let mut calls = vec![
            call(0, MPI_Barrier, 7, 10),
            call(0, MPI_Barrier, 7, 20),
            call(0, MPI_Barrier, 7, 30),
            call(1, MPI_Barrier, 7, 11),
            call(1, MPI_Barrier, 7, 21),
        ];
        let (found, collected) = of(&recordings, &calls);
        assert_eq!((found.len(), collected.partial), (2, 1));
        recordings[1].lost_from = Some(Nanos(15));
        let (found, collected) = of(&recordings, &calls);
        assert_eq!((found.len(), collected.partial), (1, 2), "after a loss");
        recordings[1].lost_from = None;
        calls[1].function = MPI_Allreduce as u16;
        let (found, collected) = of(&recordings, &calls);
        assert_eq!(
            (found.len(), collected.partial, collected.doubtful),
            (1, 0, 2)
        );
    }

    #[test]
    fn patterns_are_known_by_the_function() {
        use Function::*;
        let of = |function: Function| Pattern::of(function as u16);
        assert_eq!(of(MPI_Barrier), Some(Pattern::All));
        assert_eq!(of(MPI_Scatterv), Some(Pattern::FromRoot));
        assert_eq!(of(MPI_Gather_c), Some(Pattern::ToRoot));
        assert_eq!(of(MPI_Ireduce), Some(Pattern::ToRoot));
        assert_eq!(of(MPI_Win_fence), Some(Pattern::All));
        let none = [MPI_Send, MPI_Win_lock_all, MPI_Scan, MPI_Comm_create_group];
        assert_eq!(none.map(of), [None; 4]);
        let is_synchronous = |function: Function| is_synchronous(function as u16);
        assert!(is_synchronous(MPI_Allreduce));
        assert!(
            ![MPI_Win_fence, MPI_Ibarrier, MPI_Win_create]
                .iter()
                .any(|it| is_synchronous(*it))
        );
    }
}
