//! Chains of waits: a rank that is waited for may wait for a third one itself, or a thread of it for others of its team.

use experiment::ids::ThreadId;

use super::meanwhile::{Activity, Does, Meanwhile};
use super::waits::Wait;

/// A thread that waits for another one. Times are on the ranks' common clock, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Link {
    /// Who waits.
    pub(super) thread: ThreadId,
    /// For whom.
    pub(super) peer: ThreadId,
    /// From when on.
    pub(super) start: u64,
    /// When what it waited for happened.
    pub(super) until: u64,
    /// [`Does::Waits`] in MPI, [`Does::Omp`] for its team.
    pub(super) does: Does,
}

/// The waits of MPI and those for teams, by thread and start. Those of a thread do not overlap.
pub(super) fn links(waits: &[Wait], mut teams: Vec<Link>) -> Vec<Link> {
    teams.reserve(waits.len());
    teams.extend(waits.iter().map(|wait| Link {
        thread: wait.thread,
        peer: wait.peer,
        start: wait.start,
        until: wait.until(),
        does: Does::Waits,
    }));
    teams.sort_by_key(|link| (link.thread, link.start));
    let mut last: Option<Link> = None;
    teams.retain_mut(|link| {
        // Intervals may reach into a call by as much as clocks are apart.
        let before = last.filter(|it| it.thread == link.thread);
        link.start = link.start.max(before.map_or(0, |it| it.until));
        let is_left = link.start < link.until;
        if is_left {
            last = Some(*link);
        }
        is_left
    });
    teams
}

/// A part of a wait, and what the thread at the end of the chain did in it. Times are on the ranks' common clock, in
/// nanoseconds.
#[derive(Debug)]
pub(super) struct Charge<'c> {
    /// The thread that waits, the one that it waits for, and so on to the one that this part is charged to.
    pub(super) chain: &'c [ThreadId],
    /// From when on.
    pub(super) from: u64,
    /// Until when.
    pub(super) to: u64,
    /// What the last one did, without its waits for others on the chain.
    pub(super) did: Meanwhile,
}

/// A thread whose time is charged with others' waits.
enum Visit {
    Enter {
        thread: ThreadId,
        from: u64,
        to: u64,
    },
    Leave,
}

/// Follows each wait of MPI, and passes the threads that it is charged to to `each`. What these did adds up to the wait.
///
/// While the thread that is waited for waits itself, the next one is asked about that time alone. A thread is on a chain
/// once: of a ring of waits, as differences of clocks can make one, the time stays with the thread that closes it.
pub(super) fn follow(links: &[Link], activity: &Activity<'_>, mut each: impl FnMut(&Charge<'_>)) {
    let mut chain: Vec<ThreadId> = Vec::new();
    let mut visits: Vec<Visit> = Vec::new();
    let mut followed: Vec<(Does, u64, u64)> = Vec::new();
    let threads = links.iter().map(|link| link.thread.max(link.peer));
    let threads = threads.max().map_or(0, |it| it.index() + 1);
    let mut is_on_chain = vec![false; threads];
    for wait in links.iter().filter(|it| it.does == Does::Waits) {
        chain.push(wait.thread);
        is_on_chain[wait.thread.index()] = true;
        visits.push(Visit::Leave);
        visits.push(Visit::Enter {
            thread: wait.peer,
            from: wait.start,
            to: wait.until,
        });
        while let Some(visit) = visits.pop() {
            let Visit::Enter { thread, from, to } = visit else {
                if let Some(left) = chain.pop() {
                    is_on_chain[left.index()] = false;
                }
                continue;
            };
            chain.push(thread);
            is_on_chain[thread.index()] = true;
            visits.push(Visit::Leave);
            followed.clear();
            for own in within(links, thread, (from, to)) {
                if is_on_chain[own.peer.index()] {
                    continue;
                }
                let (from, to) = (own.start.max(from), own.until.min(to));
                followed.push((own.does, from, to));
                visits.push(Visit::Enter {
                    thread: own.peer,
                    from,
                    to,
                });
            }
            each(&Charge {
                chain: &chain,
                from,
                to,
                did: activity.itself(thread, (from, to), followed.iter().copied()),
            });
        }
    }
}

/// The links of a thread that touch a time.
fn within(links: &[Link], thread: ThreadId, (from, to): (u64, u64)) -> impl Iterator<Item = &Link> {
    let first = links.partition_point(|it| (it.thread, it.until) <= (thread, from));
    let later = links[first..].iter();
    later.take_while(move |it| it.thread == thread && it.start < to)
}

/// Until when a wait that began at a moment was for a thread that is known; that moment if none is.
pub(super) fn known_until(links: &[Link], thread: ThreadId, start: u64) -> u64 {
    let at = links.binary_search_by_key(&(thread, start), |it| (it.thread, it.start));
    at.map_or(start, |at| links[at].until)
}

/// The last link of a thread that began before a moment.
pub(super) fn last_before(links: &[Link], thread: ThreadId, moment: u64) -> Option<&Link> {
    let after = links.partition_point(|it| (it.thread, it.start) < (thread, moment));
    let last = links[..after].last();
    last.filter(|it| it.thread == thread)
}

#[cfg(test)]
mod tests;
