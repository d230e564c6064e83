//! The critical path: the chain of work and messages that the run could not be shorter than.
//!
//! It is found backwards from the end of the last rank: where a thread waited for another one, the path goes on at that
//! one, at the moment that ended the wait (C.-Q. Yang, B. P. Miller: Critical path analysis for the execution of parallel
//! and distributed programs, ICDCS 1988).

use std::collections::BTreeMap;

use experiment::ids::{Nanos, ThreadId};

use super::chains::{Link, last_before};
use super::parts::{Job, Part, Times};
use super::ranks::{RankId, Ranks};
use super::waits::Search;

/// The critical path of a run. Times are seconds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Path {
    /// Its length: from the start of the first recording to the end of the last one.
    pub seconds: f64,
    /// The rank in which it begins.
    pub first: RankId,
    /// How much later than the first one its recording began. That time is on the path as not recorded.
    pub later: f64,
    /// The rank in which it ends.
    pub last: RankId,
    /// What it consists of, the longest first.
    pub parts: Vec<Part>,
    /// By rank: its time on the path, and how often the path comes to it; the longest first.
    pub by_rank: Vec<(RankId, f64, u64)>,
}

/// A thread's time on the path, on the ranks' common clock in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Step {
    pub(super) thread: ThreadId,
    pub(super) from: u64,
    pub(super) to: u64,
}

/// The path through several ranks of one job whose clocks can be compared; else `None`.
pub(super) fn path(job: &Job<'_>, search: &Search<'_>, links: &[Link]) -> Option<Path> {
    let ranks = job.ranks;
    let (start, end) = span(ranks)?;
    let ends = search.calls.iter().map(|call| (call.end, call.thread));
    let of_rank = |rank: RankId| {
        let ends = ends.clone().filter(|it| ranks.of_thread(it.1) == rank);
        ends.max().map(|it| it.1)
    };
    let ends_at = |id: &RankId| ranks.span(*id).map(|(_, end)| end);
    let last = ranks.all().map(|it| it.0).max_by_key(ends_at)?;
    let steps = steps(links, (of_rank(last)?, end), start);
    let mut times = Times::default();
    let mut by_rank = BTreeMap::<RankId, (u64, u64)>::new();
    let mut before = None;
    for step in &steps {
        let rank = ranks.of_thread(step.thread);
        let interval = (step.from, step.to);
        let did = search
            .activity
            .itself(step.thread, interval, std::iter::empty());
        times.add(rank, (step.thread, step.from, step.to), &did);
        let sum = by_rank.entry(rank).or_default();
        let comes = before.replace(rank) != Some(rank);
        *sum = (sum.0 + step.to - step.from, sum.1 + u64::from(comes));
    }
    let first = steps.first()?.thread;
    let (began, _) = ranks.span(ranks.of_thread(first))?;
    let by_rank = by_rank.into_iter();
    let mut by_rank: Vec<(RankId, f64, u64)> = by_rank
        .map(|(rank, (time, count))| (rank, Nanos(time).seconds(), count))
        .collect();
    by_rank.sort_by(|one, other| other.1.total_cmp(&one.1));
    Some(Path {
        seconds: Nanos(end - start).seconds(),
        first: ranks.of_thread(first),
        later: Nanos(began.saturating_sub(start)).seconds(),
        last,
        by_rank,
        parts: times.parts(job, &search.calls, links),
    })
}

/// When the first recording of a job began, and the last one ended; `None` of several jobs, of one recording, or if their
/// clocks cannot be compared.
fn span(ranks: &Ranks<'_>) -> Option<(u64, u64)> {
    let recorded: Vec<RankId> = ranks
        .all()
        .filter_map(|(id, recording)| recording.map(|_| id))
        .collect();
    let first = *recorded.first()?;
    let is_comparable = ranks.jobs() == 1 && recorded.len() > 1;
    if !is_comparable || !recorded.iter().all(|it| ranks.are_comparable(first, *it)) {
        return None;
    }
    let spans = || recorded.iter().filter_map(|it| ranks.span(*it));
    let start = spans().map(|it| it.0).min()?;
    Some((start, spans().map(|it| it.1).max()?))
}

/// The steps of the path in the order of time, which follow each other without a gap: from the end of a thread back to
/// the start of the run.
pub(super) fn steps(links: &[Link], end: (ThreadId, u64), start: u64) -> Vec<Step> {
    let (mut thread, mut to) = end;
    let mut steps: Vec<Step> = Vec::new();
    let mut push = |thread, from, to| {
        if from < to {
            steps.push(Step { thread, from, to });
        }
    };
    // Threads that the path came to without going back in time: of a ring of waits it would not leave.
    let mut seen: Vec<ThreadId> = Vec::new();
    // Where this thread's time begins that has no step yet.
    let mut moment = to;
    while let Some(wait) = last_before(links, thread, moment) {
        let until = wait.until.min(moment);
        if until < to {
            seen.clear();
        }
        seen.push(thread);
        if seen.contains(&wait.peer) {
            moment = wait.start;
            continue;
        }
        push(thread, until, to);
        (thread, to, moment) = (wait.peer, until, until);
    }
    push(thread, start, to);
    steps.reverse();
    steps
}

#[cfg(test)]
mod tests;
