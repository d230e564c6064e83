//! Who waited for whom in MPI, and what that rank did meanwhile.
//!
//! The kinds are those of Scalasca (its pattern documentation: Late Sender, Late Receiver, Wait at Barrier, Wait at N x N,
//! Late Broadcast, Early Reduce, Wait at Fence, Late Post, Early Wait, Lock Contention). A call waits from its start until the last thing has happened elsewhere without which it
//! could not end; it is charged to that one alone.

use std::collections::BTreeMap;

use ::mpi::{Form, Wait as WaitsFor};
use experiment::Experiment;
use experiment::ids::{FrameId, Nanos, ThreadId};
use experiment::rows::MessageEnd;
use rustc_hash::FxHashMap;

use super::access::accesses;
use super::calls::{ByEnd, Call, calls};
use super::collectives::{Collected, Pattern, collected};
use super::functions::name;
use super::matching::{Matched, Pair, matched};
use super::meanwhile::{Activity, Meanwhile};
use super::ranks::{RankId, Ranks};
use crate::views::names::Names;
use crate::views::openmp::locations::ConstructLocation;

/// Why a rank waited.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// A receive, until its message was sent.
    LateSender,
    /// A send, until its receive was posted.
    LateReceiver,
    /// A barrier, until the last rank came.
    Barrier,
    /// An operation in which each rank needs all others, until the last rank came.
    Collective,
    /// A broadcast or scatter, until the root came.
    LateRoot,
    /// The root of a reduction or gather, until the last of the others came.
    EarlyRoot,
    /// A fence of one-sided operations, until the last rank came.
    Fence,
    /// Access to a window of another rank, until that one granted it.
    LatePost,
    /// The end of access to the own window, until the last rank with access gave it up.
    LateComplete,
    /// A lock of a window, until another rank gave it up.
    Lock,
}

/// A wait of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wait {
    /// Why.
    pub kind: Kind,
    /// The thread that waited.
    pub thread: ThreadId,
    /// The function's number.
    pub function: u16,
    /// The call in the program.
    pub site: FrameId,
    /// The thread that it waited for.
    pub peer: ThreadId,
    /// When the call began, on the ranks' common clock in nanoseconds.
    pub start: u64,
    /// From there to what it waited for, in nanoseconds.
    pub length: u64,
    /// What the other thread did meanwhile.
    pub meanwhile: Meanwhile,
}

/// All waits whose cause is known.
#[derive(Clone, Debug, Default)]
pub struct Waits {
    /// Each call that waited.
    pub all: Vec<Wait>,
    /// How many messages were matched.
    pub matched: Matched,
    /// How many collective operations were put together.
    pub collected: Collected,
    /// Of these, those over several hosts, whose clocks cannot be compared.
    pub apart: u64,
    /// Waits for ranks with another clock that are shorter than what is known of the clocks. They are not among all.
    pub uncertain: u64,
}

/// What a call waits for last: when it happened, why, and who did it.
pub(super) type Last = (u64, Kind, ThreadId);

impl Wait {
    /// When what it waited for happened, on the same clock.
    pub const fn until(&self) -> u64 {
        self.start + self.length
    }
}

/// The waits of all ranks, and what they were found in.
#[derive(Debug)]
pub(super) struct Search<'a> {
    /// The waits, sorted by thread and start.
    pub(super) waits: Waits,
    /// The calls, sorted likewise.
    pub(super) calls: Vec<Call>,
    /// What the threads did.
    pub(super) activity: Activity<'a>,
}

/// The waits of all ranks.
pub fn waits(experiment: &Experiment, ranks: &Ranks<'_>) -> Waits {
    search(experiment, ranks).waits
}

pub(super) fn search<'a>(experiment: &Experiment, ranks: &'a Ranks<'a>) -> Search<'a> {
    let calls = calls(&experiment.mpi_calls, ranks);
    let mut found = Found {
        ranks,
        by_end: ByEnd::new(&calls, ranks, |call| {
            let waits = ::mpi::wait(call.function);
            matches!(
                waits,
                WaitsFor::Receive | WaitsFor::Send | WaitsFor::Request
            )
        }),
        last: vec![None; calls.len()],
        calls: &calls,
        completes: FxHashMap::default(),
    };
    found.operations(experiment);
    let matched = matched(experiment.mpi_messages.iter(), ranks, |pair| {
        if ranks.are_comparable(pair.channel.from, pair.channel.to) {
            found.message(pair);
        }
    });
    let mut apart = 0;
    let collected = collected(&calls, ranks, |pattern, together| {
        apart += u64::from(!found.operation(pattern, together));
    });
    accesses(&experiment.mpi_messages, &calls, ranks, |at, last| {
        found.happened(at, last);
    });
    let activity = Activity::new(&calls, &experiment.intervals, &experiment.tables, ranks);
    let mut uncertain = 0;
    let all = calls.iter().zip(found.last).filter_map(|(call, last)| {
        let (until, kind, peer) = last?;
        let both = [call.thread, peer].map(|it| ranks.of_thread(it));
        let error = ranks.clock_error(both[0], both[1], call.start);
        if error > 0 && until - call.start <= error {
            uncertain += 1;
            return None;
        }
        Some(Wait {
            kind,
            thread: call.thread,
            function: call.function,
            site: call.site,
            peer,
            start: call.start,
            length: until - call.start,
            meanwhile: activity.during(peer, call.start, until),
        })
    });
    let all = all.collect();
    let waits = Waits {
        all,
        matched,
        collected,
        apart,
        uncertain,
    };
    Search {
        waits,
        calls,
        activity,
    }
}

/// What each call waited for last, as far as it is found.
struct Found<'a> {
    ranks: &'a Ranks<'a>,
    calls: &'a [Call],
    by_end: ByEnd,
    last: Vec<Option<Last>>,
    /// The calls that complete collective operations which others have begun.
    completes: FxHashMap<usize, usize>,
}

impl Found<'_> {
    /// Finds the calls that complete collective operations.
    fn operations(&mut self, experiment: &Experiment) {
        let rows = experiment.mpi_messages.iter();
        for row in rows.filter(|it| it.end == MessageEnd::Operation) {
            let posted = self.ranks.on_clock(row.thread, row.posted);
            let key = |call: &Call| (call.thread, call.start);
            let begun = self.calls.binary_search_by_key(&(row.thread, posted), key);
            let of = (self.ranks.of_thread(row.thread), row.thread);
            let end = posted.saturating_add(row.length.0);
            let done = self.by_end.find(self.calls, of, end);
            if let Some((begun, done)) = begun.ok().zip(done) {
                self.completes.insert(begun, done);
            }
        }
    }

    /// The call that waits for a collective operation, itself or one that completes it.
    fn waiting(&self, at: usize) -> Option<usize> {
        if ::mpi::is_later(self.calls[at].function) {
            self.completes.get(&at).copied()
        } else {
            Some(at)
        }
    }

    /// Something that a call waits for happened at a moment.
    fn happened(&mut self, at: usize, (when, kind, peer): Last) {
        let Call { start, end, .. } = self.calls[at];
        let when = when.min(end);
        let is_later = self.last[at].is_none_or(|last| last.0 < when);
        if when > start && is_later {
            self.last[at] = Some((when, kind, peer));
        }
    }

    /// A message between ranks of one clock.
    fn message(&mut self, pair: &Pair) {
        let (sent, received) = (pair.sent, pair.received);
        let sending = (sent.posted, Kind::LateSender, sent.thread);
        let receiving = (received.posted, Kind::LateReceiver, received.thread);
        let completed = |found: &Self, rank, thread, end: Option<u64>| {
            let at = found.by_end.find(found.calls, (rank, thread), end?)?;
            Some((at, ::mpi::wait(found.calls[at].function)))
        };
        let to = pair.channel.to;
        if let Some((at, WaitsFor::Receive | WaitsFor::Request)) =
            completed(self, to, received.thread, received.completed)
        {
            self.happened(at, sending)
        }
        if let Some(at) = self.probe_before(received.thread, received.posted) {
            self.happened(at, sending);
        }
        let from = pair.channel.from;
        if let Some((at, _)) = completed(self, from, sent.thread, sent.completed) {
            // A call that ended before did not wait for it: the message was buffered.
            if received.posted <= self.calls[at].end {
                self.happened(at, receiving);
            }
        }
    }

    /// The probe by which a thread knew of the message that it receives: the call before the one that began at `posted`, or
    /// that one itself.
    fn probe_before(&self, thread: ThreadId, posted: u64) -> Option<usize> {
        let after = self
            .calls
            .partition_point(|call| (call.thread, call.start) <= (thread, posted));
        let mut before = (0..after).rev().take(2);
        before.find(|&at| {
            let call = &self.calls[at];
            let is_probe = matches!(::mpi::form(call.function), Form::Probe | Form::Mprobe);
            call.thread == thread && is_probe
        })
    }

    /// A collective operation. Returns whether its ranks have one clock.
    fn operation(&mut self, pattern: Pattern, together: &[usize]) -> bool {
        let calls = self.calls;
        let ranks = self.ranks;
        let rank = |at: usize| ranks.of_thread(calls[at].thread);
        let first = rank(together[0]);
        if together
            .iter()
            .any(|&at| !ranks.are_comparable(first, rank(at)))
        {
            return false;
        }
        let came = |at: usize, kind| (calls[at].start, kind, calls[at].thread);
        let root = together.iter().copied();
        let root = root
            .clone()
            .find(|&at| calls[at].root == rank(at).number + 1);
        let last_but = |root: Option<usize>| {
            let others = together.iter().copied().filter(|&at| Some(at) != root);
            others.max_by_key(|&at| calls[at].start)
        };
        match pattern {
            Pattern::All => {
                let function = calls[together[0]].function;
                let kind = match ::mpi::form(function) {
                    Form::Barrier => Kind::Barrier,
                    Form::Fence => Kind::Fence,
                    _ if ::mpi::wait(function) == WaitsFor::Barrier => Kind::Barrier,
                    _ => Kind::Collective,
                };
                let Some(last) = last_but(None) else {
                    return true;
                };
                let others = together.iter().filter(|&&at| at != last);
                for at in others
                    .filter_map(|&at| self.waiting(at))
                    .collect::<Vec<_>>()
                {
                    self.happened(at, came(last, kind));
                }
            }
            Pattern::FromRoot => {
                let Some(root) = root else { return true };
                let others = together.iter().filter(|&&at| at != root);
                for at in others
                    .filter_map(|&at| self.waiting(at))
                    .collect::<Vec<_>>()
                {
                    self.happened(at, came(root, Kind::LateRoot));
                }
            }
            Pattern::ToRoot => {
                if let Some((root, last)) = root.zip(last_but(root))
                    && let Some(at) = self.waiting(root)
                {
                    self.happened(at, came(last, Kind::EarlyRoot));
                }
            }
        }
        true
    }
}

/// The waits of one kind in one place. Times are seconds.
#[derive(Clone, Debug, PartialEq)]
pub struct WaitRow {
    /// Why.
    pub kind: Kind,
    /// The function's name.
    pub function: String,
    /// The call in the program.
    pub site: ConstructLocation,
    /// Their number.
    pub count: u64,
    /// Their time.
    pub seconds: f64,
    /// By how much it may be more or less, because ranks have different clocks.
    pub error: f64,
    /// The longest.
    pub longest: Longest,
    /// Who waited, for whom, how long, and what that rank did meanwhile; longest first.
    pub pairs: Vec<(RankId, RankId, Waited)>,
}

/// How long one rank waited for another.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Waited {
    /// Seconds.
    pub seconds: f64,
    /// What the other did meanwhile.
    pub meanwhile: Meanwhile,
}

/// A single wait.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Longest {
    /// Its seconds.
    pub seconds: f64,
    /// Who waited.
    pub rank: RankId,
    /// For whom.
    pub peer: RankId,
    /// When it began, in seconds since the start of the waiting rank's recording.
    pub start: f64,
}

impl WaitRow {
    /// Seconds by the rank that waited, longest first.
    pub fn by_rank(&self) -> Vec<(RankId, f64)> {
        by(self.pairs.iter().map(|(rank, _, it)| (*rank, it.seconds)))
    }

    /// Seconds by the rank that was waited for, longest first.
    pub fn waited_for(&self) -> Vec<(RankId, f64)> {
        by(self.pairs.iter().map(|(_, peer, it)| (*peer, it.seconds)))
    }

    /// What those that were waited for did meanwhile.
    pub fn meanwhile(&self) -> Meanwhile {
        let mut all = Meanwhile::default();
        self.pairs.iter().for_each(|it| all += it.2.meanwhile);
        all
    }
}

/// Sums by rank, largest first.
fn by(parts: impl Iterator<Item = (RankId, f64)>) -> Vec<(RankId, f64)> {
    let mut sums = BTreeMap::<RankId, f64>::new();
    parts.for_each(|(rank, seconds)| *sums.entry(rank).or_default() += seconds);
    let mut sums: Vec<(RankId, f64)> = sums.into_iter().collect();
    sums.sort_by(|one, other| other.1.total_cmp(&one.1));
    sums
}

/// The waits by kind and place, those with most time first.
pub fn rows(waits: &[Wait], names: &Names<'_>, ranks: &Ranks<'_>) -> Vec<WaitRow> {
    let mut sites = FxHashMap::<FrameId, ConstructLocation>::default();
    type Sums = BTreeMap<(RankId, RankId), (u64, Meanwhile)>;
    let mut all = BTreeMap::<(Kind, u16, ConstructLocation), (u64, u64, Longest, Sums)>::new();
    for wait in waits {
        let site = sites.entry(wait.site);
        let site = site.or_insert_with(|| ConstructLocation::of_innermost(names, wait.site));
        let row = all.entry((wait.kind, wait.function, site.clone()));
        let (count, error, longest, sums) = row.or_default();
        let [rank, peer] = [wait.thread, wait.peer].map(|it| ranks.of_thread(it));
        let seconds = Nanos(wait.length).seconds();
        *count += 1;
        *error += ranks.clock_error(rank, peer, wait.start);
        if seconds > longest.seconds {
            let began = ranks.span(rank).map_or(0, |it| it.0);
            *longest = Longest {
                seconds,
                rank,
                peer,
                start: Nanos(wait.start.saturating_sub(began)).seconds(),
            };
        }
        let sum = sums.entry((rank, peer)).or_default();
        sum.0 += wait.length;
        sum.1 += wait.meanwhile;
    }
    let row = |((kind, function, site), sums): (_, (u64, u64, Longest, Sums))| {
        let (count, error, longest, sums) = sums;
        let all: u64 = sums.values().map(|it| it.0).sum();
        let pair = |((rank, peer), (length, meanwhile)): (_, (u64, Meanwhile))| {
            let seconds = Nanos(length).seconds();
            (rank, peer, Waited { seconds, meanwhile })
        };
        let mut pairs: Vec<(RankId, RankId, Waited)> = sums.into_iter().map(pair).collect();
        pairs.sort_by(|one, other| other.2.seconds.total_cmp(&one.2.seconds));
        WaitRow {
            kind,
            function: name(function),
            site,
            count,
            seconds: Nanos(all).seconds(),
            error: Nanos(error).seconds(),
            longest,
            pairs,
        }
    };
    let mut rows: Vec<WaitRow> = all.into_iter().map(row).collect();
    rows.sort_by(|one, other| other.seconds.total_cmp(&one.seconds));
    rows
}

#[cfg(test)]
mod tests;
