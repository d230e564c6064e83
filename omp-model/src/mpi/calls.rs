//! All calls of MPI and other interfaces between ranks on the clocks of their hosts.

use experiment::Packed;
use experiment::ids::{FrameId, ThreadId};
use experiment::rows::MpiCall;

use ::mpi::Wait;

use super::ranks::{RankId, Ranks};

/// A call of MPI. Times are on the ranks' common clock, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call {
    /// The thread.
    pub thread: ThreadId,
    /// The function's number.
    pub function: u16,
    /// The call in the program.
    pub site: FrameId,
    /// The communicator; 0 if it has none.
    pub comm: u32,
    /// One more than the root's rank in `MPI_COMM_WORLD`; 0 if there is none.
    pub root: u32,
    /// Its start.
    pub start: u64,
    /// Its end; of several calls that asked in vain, as if they had followed each other.
    pub end: u64,
}

/// The calls, sorted by thread and start. They take 48 bytes each.
pub fn calls(rows: &Packed<MpiCall>, ranks: &Ranks<'_>) -> Vec<Call> {
    let mut calls: Vec<Call> = Vec::with_capacity(rows.len());
    // What is the program's own has calls within it.
    let rows = rows
        .iter()
        .filter(|row| ::mpi::wait(row.function) != Wait::Own);
    calls.extend(rows.map(|row| {
        let start = ranks.on_clock(row.thread, row.start);
        Call {
            thread: row.thread,
            function: row.function,
            site: row.call,
            comm: row.comm,
            root: row.peer,
            start,
            end: start.saturating_add(row.length.0),
        }
    }));
    calls.sort_by_key(|call| (call.thread, call.start));
    calls
}

/// Finds the calls that ended at a moment.
#[derive(Debug)]
pub(super) struct ByEnd(Vec<(RankId, u64, u32)>);

impl ByEnd {
    /// Those of which `is_asked` is true.
    pub(super) fn new(
        calls: &[Call],
        ranks: &Ranks<'_>,
        is_asked: impl Fn(&Call) -> bool,
    ) -> ByEnd {
        let numbered = (0..).zip(calls).filter(|(_, call)| is_asked(call));
        let ends = numbered.map(|(at, call)| (ranks.of_thread(call.thread), call.end, at));
        let mut ends: Vec<(RankId, u64, u32)> = ends.collect();
        ends.sort_unstable();
        ByEnd(ends)
    }

    /// The call of a rank that ended at this moment, of several preferably one of this thread.
    pub(super) fn find(
        &self,
        calls: &[Call],
        (rank, thread): (RankId, ThreadId),
        end: u64,
    ) -> Option<usize> {
        let first = self.0.partition_point(|it| (it.0, it.1) < (rank, end));
        let same = self.0[first..].iter();
        let same = same.take_while(|it| (it.0, it.1) == (rank, end));
        let at = same.map(|it| it.2 as usize);
        at.max_by_key(|&at| calls[at].thread == thread)
    }
}
