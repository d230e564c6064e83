//! Who grants access to windows of other ranks, and when.
//!
//! `MPI_Win_start` and `MPI_Win_complete` wait until their targets have called `MPI_Win_post`, `MPI_Win_wait` until those
//! to whom it was granted have called `MPI_Win_complete` (MPI 4.1, 12.5.2). Of a window and two ranks, the n-th start
//! belongs to the n-th post. A lock is had once no other rank has it any more; which call waits for that, the lock, a
//! flush or the unlock, is left to implementations.

use ::mpi::Function;
use experiment::Packed;
use experiment::ids::ThreadId;
use experiment::rows::{MessageEnd, MpiMessage};

use super::calls::Call;
use super::clocks::SLACK;
use super::ranks::{RankId, Ranks};
use super::waits::{Kind, Last};

/// A row about a window.
#[derive(Clone, Copy)]
struct Asked {
    /// The job and the window.
    window: (u32, u32),
    /// Who asks for access, and of whose window.
    ranks: [RankId; 2],
    end: MessageEnd,
    thread: ThreadId,
    /// When its call began.
    at: u64,
}

/// Passes what calls about windows wait for: the number of the call and what happened. A call that ended before did not
/// wait for it.
pub(super) fn accesses(
    messages: &Packed<MpiMessage>,
    calls: &[Call],
    ranks: &Ranks<'_>,
    mut happened: impl FnMut(usize, Last),
) {
    let rows = messages.iter().filter_map(|row| asked(&row, ranks));
    let mut rows: Vec<Asked> = rows.collect();
    rows.sort_by_key(|it| (it.window, it.ranks, it.at));
    let numbers = (0..calls.len()).filter(|&at| Form::of(&calls[at]).is_some());
    let mut about: Vec<usize> = numbers.collect();
    about.sort_by_key(|&at| by_window(&calls[at], ranks));
    let search = Search {
        calls,
        ranks,
        about,
    };
    for pair in rows.chunk_by(|one, other| (one.window, one.ranks) == (other.window, other.ranks)) {
        let of = |end: MessageEnd| pair.iter().filter(move |it| it.end == end);
        for (start, post) in of(MessageEnd::Start).zip(of(MessageEnd::Post)) {
            search.granted(start, post, &mut happened);
        }
    }
    rows.retain(|it| matches!(it.end, MessageEnd::LockShared | MessageEnd::LockExclusive));
    let target = |it: &Asked| (it.window, it.ranks[1]);
    rows.sort_by_key(|it| (target(it), it.at));
    for of_target in rows.chunk_by(|one, other| target(one) == target(other)) {
        search.locks(of_target, &mut happened);
    }
}

fn asked(row: &MpiMessage, ranks: &Ranks<'_>) -> Option<Asked> {
    let own = ranks.of_thread(row.thread);
    let peer = RankId {
        number: row.peer,
        ..own
    };
    let ends = match row.end {
        MessageEnd::Sent | MessageEnd::Received | MessageEnd::Operation => return None,
        MessageEnd::Start | MessageEnd::LockShared | MessageEnd::LockExclusive => [own, peer],
        MessageEnd::Post => [peer, own],
    };
    let at = ranks.on_clock(row.thread, row.posted);
    let is_known = ranks.knows_until(row.thread, at) && ranks.are_comparable(own, peer);
    is_known.then_some(Asked {
        window: (own.job, row.comm),
        ranks: ends,
        end: row.end,
        thread: row.thread,
        at,
    })
}

/// What a call about a window does.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Start,
    Complete,
    Post,
    Wait,
    Lock,
    Flush,
    Unlock,
}

impl Form {
    fn of(call: &Call) -> Option<Form> {
        let is = |function: Function| call.function == function as u16;
        let flushes = [
            Function::MPI_Win_flush,
            Function::MPI_Win_flush_all,
            Function::MPI_Win_flush_local,
            Function::MPI_Win_flush_local_all,
        ];
        let forms = [
            (Function::MPI_Win_start, Form::Start),
            (Function::MPI_Win_complete, Form::Complete),
            (Function::MPI_Win_post, Form::Post),
            (Function::MPI_Win_wait, Form::Wait),
            (Function::MPI_Win_lock, Form::Lock),
            (Function::MPI_Win_unlock, Form::Unlock),
        ];
        let flushes = flushes.map(|function| (function, Form::Flush));
        let mut all = forms.into_iter().chain(flushes);
        all.find(|(function, _)| is(*function)).map(|it| it.1)
    }
}

/// The order of calls about windows.
fn by_window(call: &Call, ranks: &Ranks<'_>) -> (u32, RankId, u64) {
    (call.comm, ranks.of_thread(call.thread), call.start)
}

struct Search<'a> {
    calls: &'a [Call],
    ranks: &'a Ranks<'a>,
    /// The numbers of the calls about windows, by window, rank and time.
    about: Vec<usize>,
}

/// A lock that a rank had.
struct Held<'a> {
    row: &'a Asked,
    /// The calls of its rank about this target, from the lock to the unlock.
    calls: Vec<usize>,
    /// When the unlock began, and when it ended.
    released: [u64; 2],
}

impl Held<'_> {
    /// Whether it may be this unlock that waits for another lock, whose call ended at `end`: it goes on after that one was
    /// given up, and nothing shows that its rank had the lock before.
    fn may_wait_for(&self, other: &Held<'_>, end: u64) -> bool {
        let [from, to] = self.released;
        let has_flushed = self.calls.len() > 2;
        let goes_on = to > end.saturating_add(SLACK);
        goes_on && !has_flushed && (from..to).contains(&other.released[0])
    }
}

impl Search<'_> {
    /// The calls of a rank about a window from a moment on.
    fn from(&self, window: u32, rank: RankId, at: u64) -> impl Iterator<Item = (usize, Form)> {
        let key = |at: usize| by_window(&self.calls[at], self.ranks);
        let first = self
            .about
            .partition_point(|&call| key(call) < (window, rank, at));
        let later = self.about[first..].iter().copied();
        later
            .take_while(move |&call| {
                let (of, by, _) = key(call);
                (of, by) == (window, rank)
            })
            .filter_map(|call| Some((call, Form::of(&self.calls[call])?)))
    }

    /// The next call of a form, before the next one of another form.
    fn next(&self, row: &Asked, by: RankId, [form, before]: [Form; 2]) -> Option<usize> {
        let later = self.from(row.window.1, by, row.at).skip(1);
        let mut until = later.take_while(|it| it.1 != before);
        until.find(|it| it.1 == form).map(|it| it.0)
    }

    /// A start and the post that it waits for.
    fn granted(&self, start: &Asked, post: &Asked, happened: &mut impl FnMut(usize, Last)) {
        let [origin, target] = start.ranks;
        let posted = (post.at, Kind::LatePost, post.thread);
        let started = self.from(start.window.1, origin, start.at).next();
        let complete = self.next(start, origin, [Form::Complete, Form::Start]);
        for at in started.map(|it| it.0).into_iter().chain(complete) {
            self.pass(at, posted, happened);
        }
        let wait = self.next(post, target, [Form::Wait, Form::Post]);
        if let Some((complete, wait)) = complete.zip(wait) {
            let call = &self.calls[complete];
            let completed = (call.start, Kind::LateComplete, call.thread);
            self.pass(wait, completed, happened);
        }
    }

    fn pass(&self, at: usize, last: Last, happened: &mut impl FnMut(usize, Last)) {
        if last.0 <= self.calls[at].end {
            happened(at, last);
        }
    }

    /// The locks of a rank's window.
    fn locks(&self, rows: &[Asked], happened: &mut impl FnMut(usize, Last)) {
        let mut all: Vec<Held<'_>> = rows.iter().filter_map(|row| self.held(row)).collect();
        all.sort_by_key(|held| held.released[0]);
        for held in &all {
            for &at in &held.calls {
                let Call { start, end, .. } = self.calls[at];
                let after = all.partition_point(|it| it.released[0] <= end);
                let earlier = all[..after].iter().rev();
                let mut within = earlier.take_while(|it| it.released[0] > start);
                let other = within.find(|it| {
                    let is_shared = |it: &Held<'_>| it.row.end == MessageEnd::LockShared;
                    let is_other = it.row.ranks[0] != held.row.ranks[0];
                    is_other && !(is_shared(it) && is_shared(held)) && !it.may_wait_for(held, end)
                });
                if let Some(other) = other {
                    happened(at, (other.released[0], Kind::Lock, other.row.thread));
                }
            }
        }
    }

    fn held<'r>(&self, row: &'r Asked) -> Option<Held<'r>> {
        let [origin, target] = row.ranks;
        let mut calls = Vec::new();
        for (at, form) in self.from(row.window.1, origin, row.at) {
            let is_about = [0, target.number + 1].contains(&self.calls[at].root);
            if !is_about || !matches!(form, Form::Lock | Form::Flush | Form::Unlock) {
                continue;
            }
            if form == Form::Lock && !calls.is_empty() {
                return None;
            }
            calls.push(at);
            if form == Form::Unlock {
                let Call { start, end, .. } = self.calls[at];
                let released = [start, end];
                return Some(Held {
                    row,
                    calls,
                    released,
                });
            }
        }
        None
    }
}

#[cfg(test)]
mod tests;
