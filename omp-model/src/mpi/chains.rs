//! Chains of waits: a rank that is waited for may wait for a third one itself.

use experiment::ids::ThreadId;

use super::meanwhile::{Activity, Meanwhile};
use super::waits::Wait;

/// A part of a wait, and what the thread at the end of the chain did in it. Times are on the clock of the host, in
/// nanoseconds.
#[derive(Debug)]
pub(super) struct Link<'c> {
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

/// Follows each wait, and passes the threads that it is charged to to `each`. What these did adds up to the wait.
///
/// While the thread that is waited for waits itself, the next one is asked about that time alone. A thread is on a chain
/// once: of a ring of waits, as differences of clocks can make one, the time stays with the thread that closes it.
/// `waits` are sorted by thread and start; those of a thread do not overlap.
pub(super) fn follow(waits: &[Wait], activity: &Activity<'_>, mut each: impl FnMut(&Link<'_>)) {
    let mut chain: Vec<ThreadId> = Vec::new();
    let mut visits: Vec<Visit> = Vec::new();
    let mut followed: Vec<(u64, u64)> = Vec::new();
    let threads = waits.iter().map(|wait| wait.thread.max(wait.peer));
    let threads = threads.max().map_or(0, |it| it.index() + 1);
    let mut is_on_chain = vec![false; threads];
    for wait in waits {
        chain.push(wait.thread);
        is_on_chain[wait.thread.index()] = true;
        visits.push(Visit::Leave);
        visits.push(Visit::Enter {
            thread: wait.peer,
            from: wait.start,
            to: wait.until(),
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
            for own in within(waits, thread, (from, to)) {
                if is_on_chain[own.peer.index()] {
                    continue;
                }
                let (from, to) = (own.start.max(from), own.until().min(to));
                followed.push((from, to));
                visits.push(Visit::Enter {
                    thread: own.peer,
                    from,
                    to,
                });
            }
            each(&Link {
                chain: &chain,
                from,
                to,
                did: activity.itself(thread, (from, to), followed.iter().copied()),
            });
        }
    }
}

/// The waits of a thread that touch a time.
fn within(waits: &[Wait], thread: ThreadId, (from, to): (u64, u64)) -> impl Iterator<Item = &Wait> {
    let first = waits.partition_point(|it| (it.thread, it.until()) <= (thread, from));
    let later = waits[first..].iter();
    later.take_while(move |it| it.thread == thread && it.start < to)
}

/// The last wait of a thread that began before a moment.
pub(super) fn last_before(waits: &[Wait], thread: ThreadId, moment: u64) -> Option<&Wait> {
    let after = waits.partition_point(|it| (it.thread, it.start) < (thread, moment));
    let last = waits[..after].last();
    last.filter(|it| it.thread == thread)
}

#[cfg(test)]
mod tests;
