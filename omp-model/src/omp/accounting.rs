//! Exact time by slice, thread, thread state, and on or off the CPU.

use experiment::ids::{ContextId, Nanos, ThreadId, ThreadStateId};
use experiment::rows::{Blame, RegionSpan, SLICE, TaskSpan, Within};
use experiment::state::{Scheduling, State};

use super::account::{Account, Doing, Life, Rows, TaskRun, TeamWork, key};
use super::listing::Listing;

/// Accounts for how long each thread was in which state, on or off the CPU.
///
/// Each thread's life is cut into intervals of one thread state and one scheduling state. Each is
/// added to the [`Sum`](experiment::rows::Sum) of its slice, and divided where it crosses into the
/// next; so the sums of a thread add up to its life exactly. Long intervals are listed too, at a bounded rate
/// ([`super::LISTED_PER_SECOND`]): their number does not grow with the number of events. So are
/// those that a stack stands for, of which there are no more than stacks.
///
/// Times may run backwards within a thread by what merging could not order: such a moment is
/// taken to be the latest one known of that thread, and counted in [`TimeAccounting::late`].
#[derive(Debug)]
pub struct TimeAccounting {
    accounts: Vec<Account>,
    /// Threads that are born and not dead, in no order.
    alive: Vec<ThreadId>,
    intervals: Listing,
    spans: Listing,
    pieces: Listing,
    rows: Rows,
    late: u64,
}

/// The account of a thread that is born and not dead.
#[inline]
fn living(accounts: &mut [Account], thread: ThreadId) -> Option<&mut Account> {
    let account = accounts.get_mut(thread.index())?;
    (account.life == Life::Alive).then_some(account)
}

impl TimeAccounting {
    /// A accounting that lists intervals, region instances and pieces of tasks from `least` on (1 ms
    /// is good for a timeline), and only longer ones while those would be too many.
    pub fn new(least: Nanos) -> Self {
        TimeAccounting {
            accounts: Vec::new(),
            alive: Vec::new(),
            intervals: Listing::new(least),
            spans: Listing::new(least),
            pieces: Listing::new(least),
            rows: Rows::default(),
            late: 0,
        }
    }

    /// The thread begins to live, outside OpenMP ([`ThreadStateId::OUTSIDE`]). Returns the time that
    /// its life is accounted for from: `time`, unless it had been alive already.
    pub fn birth(&mut self, thread: ThreadId, time: Nanos, scheduling: Scheduling) -> Nanos {
        let index = thread.index();
        if self.accounts.len() <= index {
            self.accounts.resize_with(index + 1, Account::default);
        }
        let alive_index = self.alive.len() as u32;
        let account = &mut self.accounts[index];
        if account.life == Life::Unborn {
            self.alive.push(thread);
            account.begin(time, scheduling, alive_index);
        }
        Nanos(account.accounted)
    }

    /// Whether the thread is born and not dead.
    pub fn is_alive(&self, thread: ThreadId) -> bool {
        self.accounts
            .get(thread.index())
            .is_some_and(|account| account.life == Life::Alive)
    }

    /// The thread ends. Returns the end of what is accounted for of it: `time`, unless later moments of
    /// it were known; `None` if it was not alive.
    pub fn exit(&mut self, thread: ThreadId, time: Nanos) -> Option<Nanos> {
        if !self.is_alive(thread) {
            return None;
        }
        let account = &mut self.accounts[thread.index()];
        self.late += u64::from(time.0 < account.accounted);
        let end = time.0.max(account.accounted);
        if end != account.since {
            account.close(thread, end, &mut self.rows, &mut self.intervals);
        }
        account.settle(thread, &mut self.rows);
        account.end();
        let alive_index = account.alive_index;
        self.alive.swap_remove(alive_index as usize);
        if let Some(moved) = self.alive.get(alive_index as usize) {
            self.accounts[moved.index()].alive_index = alive_index;
        }
        Some(Nanos(end))
    }

    /// From `time` on the thread is in this thread state, in these instances.
    /// Nothing happens to one that is not alive.
    ///
    /// The instances are those of listed intervals: where one follows another in the same state,
    /// the interval is listed in pieces.
    #[inline]
    pub fn thread_state(
        &mut self,
        thread: ThreadId,
        time: Nanos,
        (thread_state, state): (ThreadStateId, State),
        within: Within,
    ) {
        let Some(account) = living(&mut self.accounts, thread) else {
            return;
        };
        let doing = Doing {
            useful: state == State::Work,
            answers: !state.is_wait() && !matches!(state, State::Idle | State::Unknown),
        };
        let (rows, listing) = (&mut self.rows, &mut self.intervals);
        if thread_state.0 != account.thread_state {
            let to = (thread_state.0, account.scheduling, doing);
            self.late += u64::from(account.change(thread, time.0, to, (rows, listing)));
        } else if account.within != within {
            let end = time.0.max(account.accounted);
            account.advance(thread, end, rows);
            account.list(thread, end, rows, listing);
            account.unlisted = end;
        }
        account.within = within;
    }

    /// From `time` on so many threads wait for this one to give a mutex back. Their time is added
    /// to its own while it is at work, on a CPU or off.
    #[inline]
    pub(super) fn dependents(&mut self, thread: ThreadId, time: Nanos, dependents: u32) {
        let Some(account) = living(&mut self.accounts, thread) else {
            return;
        };
        if account.dependents != dependents {
            account.advance(thread, time.0, &mut self.rows);
            account.dependents = dependents;
        }
    }

    /// So many threads have waited for this one from `start` to `end`, while it was in this state.
    pub(super) fn blame(
        &mut self,
        (thread, thread_state): (ThreadId, ThreadStateId),
        (start, end): (Nanos, Nanos),
        dependents: u32,
    ) {
        let Some(account) = self.accounts.get_mut(thread.index()) else {
            return;
        };
        let key = key(thread_state.0, Scheduling::Running as u8);
        let mut from = start.0;
        while from < end.0 && dependents > 0 {
            // A slice holds the time after its beginning, up to and including its end.
            let border = (from / SLICE.0 + 1) * SLICE.0;
            let to = end.0.min(border);
            let time = (to - from) * u64::from(dependents);
            if account.life == Life::Alive && account.border == border {
                *account.blames.at(key) += time;
            } else {
                self.rows.blames.push(Blame {
                    slice: (border / SLICE.0 - 1) as u32,
                    thread,
                    thread_state,
                    scheduling: Scheduling::Running,
                    time: Nanos(time),
                });
            }
            from = to;
        }
    }

    /// Useful work of the thread on a CPU from its birth to `time`; none of one that is unknown.
    #[inline]
    pub fn worked(&self, thread: ThreadId, time: Nanos) -> Nanos {
        let account = self.accounts.get(thread.index());
        Nanos(account.map_or(0, |account| {
            account.worked + account.useful_part(time.0.saturating_sub(account.accounted))
        }))
    }

    /// From `time` on the kernel has the thread there. Nothing happens to one that is not alive.
    #[inline]
    pub fn scheduling(&mut self, thread: ThreadId, time: Nanos, scheduling: Scheduling) {
        let Some(account) = living(&mut self.accounts, thread) else {
            return;
        };
        if scheduling as u8 == account.scheduling {
            return;
        }
        let doing = Doing {
            useful: account.useful,
            answers: account.answers,
        };
        let to = (account.thread_state, scheduling as u8, doing);
        let lists = (&mut self.rows, &mut self.intervals);
        self.late += u64::from(account.change(thread, time.0, to, lists));
    }

    /// A stack was taken as the thread's running interval began: the interval is listed, so that
    /// it is known for how long the stack stands.
    pub fn sampled(&mut self, thread: ThreadId) {
        if let Some(account) = self.accounts.get_mut(thread.index()) {
            account.sampled = true;
        }
    }

    /// An instance of a region ended on the thread that encountered it; `start` to `end` is its
    /// time there.
    pub fn region(
        &mut self,
        (context, within): (ContextId, Within),
        thread: ThreadId,
        (start, end): (Nanos, Nanos),
        work: TeamWork,
    ) {
        let Some(account) = living(&mut self.accounts, thread) else {
            return;
        };
        // The slice of the instance is that of its end, which must be the one that is open.
        account.advance(thread, end.0, &mut self.rows);
        let length = end.since(start);
        account.add_instance(context, length, work);
        if self.spans.admits(length.0, end.0) {
            self.rows.region_spans.push(RegionSpan {
                context,
                thread,
                start,
                length,
                team: work.team.max(1),
                within,
            });
        }
    }

    /// The thread completed a task.
    pub fn task(&mut self, thread: ThreadId, time: Nanos, task: TaskRun) {
        let Some(account) = living(&mut self.accounts, thread) else {
            return;
        };
        account.advance(thread, time.0, &mut self.rows);
        account.add_task(task);
    }

    /// The thread left a task that it had taken up at `start`.
    #[inline]
    pub fn piece(
        &mut self,
        (context, within): (ContextId, Within),
        thread: ThreadId,
        (start, end): (Nanos, Nanos),
    ) {
        let length = end.since(start);
        if self.pieces.admits(length.0, end.0) && self.is_alive(thread) {
            self.rows.task_spans.push(TaskSpan {
                context,
                thread,
                start,
                length,
                within,
            });
        }
    }

    /// Accounts for the running intervals up to `now`, before which no event will come any more, and
    /// makes the rows of every slice that is over. Call it about once a slice: if the recording
    /// dies, [`TimeAccounting::take`]'s rows so far tell all but the last slice.
    ///
    /// An interval that runs for longer than a slice is listed in pieces, so that the list, too,
    /// is short of no more than that.
    pub fn advance(&mut self, now: Nanos) {
        for &thread in &self.alive {
            let account = &mut self.accounts[thread.index()];
            account.advance(thread, now.0, &mut self.rows);
            if account.accounted >= account.unlisted.saturating_add(SLICE.0) {
                account.list(
                    thread,
                    account.accounted,
                    &mut self.rows,
                    &mut self.intervals,
                );
            }
            if account.border <= account.accounted {
                account.turn(thread, &mut self.rows);
            }
        }
    }

    /// Accounts for the running intervals up to `now` and makes the rows of everything, the running
    /// slice and the running intervals included: the recording's end.
    pub fn finish(&mut self, now: Nanos) {
        for &thread in &self.alive {
            let account = &mut self.accounts[thread.index()];
            account.advance(thread, now.0, &mut self.rows);
            account.list(
                thread,
                account.accounted,
                &mut self.rows,
                &mut self.intervals,
            );
            account.settle(thread, &mut self.rows);
        }
    }

    /// The rows made since the last call: of slices that were over at the last
    /// [`TimeAccounting::advance`], of threads that ended, and all after [`TimeAccounting::finish`].
    pub fn take(&mut self) -> Rows {
        std::mem::take(&mut self.rows)
    }

    /// How many moments came before the latest one known of their thread, and were moved there.
    pub const fn late(&self) -> u64 {
        self.late
    }
}
