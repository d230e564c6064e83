//! Exact time by slice, thread, thread state, and on or off the CPU.

use experiment::ids::{ContextId, Nanos, PhaseId, ProcessId, ThreadId, ThreadStateId};
use experiment::rows::{Blame, RegionSpan, SLICE, TaskSpan, Within};
use experiment::state::{Scheduling, State};

use super::account::{Account, Activity, Life, RegionRun, Rows, TaskRun, key};
use super::listing::Listing;
use crate::stream::Waits;

/// Measures how long each thread was in each thread state, on or off the CPU.
///
/// A thread's lifetime is divided into intervals of one thread state and one scheduling state. Each
/// is added to the [`Sum`](experiment::rows::Sum) of its slice, and divided where it crosses into
/// the next, so that the sums of a thread add up to its lifetime exactly. Long intervals are also
/// listed, at a bounded rate ([`super::LISTED_PER_SECOND`]), and so are intervals that began with a
/// sample.
///
/// Merging cannot always order the times of one thread. A time before the latest one known of its
/// thread is replaced by that one, and counted in [`TimeAccounting::late`].
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
    pauses: Pauses,
    /// The innermost phase of each process, by [`ProcessId`].
    phases: Vec<PhaseId>,
}

/// The stretches of time in which recording was paused, in nanoseconds.
#[derive(Debug, Default)]
struct Pauses {
    ended: Vec<(u64, u64)>,
    since: Option<u64>,
}

impl Pauses {
    /// How much of a stretch of time was recorded.
    fn recorded(&self, start: u64, end: u64) -> u64 {
        let mut recorded = end.saturating_sub(start);
        let running = self.since.map(|since| (since, u64::MAX));
        let latest_first = running.into_iter().chain(self.ended.iter().rev().copied());
        for (from, to) in latest_first.take_while(|(_, to)| *to > start) {
            recorded -= end.min(to).saturating_sub(start.max(from)).min(recorded);
        }
        recorded
    }
}

/// The account of a thread that is born and not dead.
#[inline]
fn living(accounts: &mut [Account], thread: ThreadId) -> Option<&mut Account> {
    let account = accounts.get_mut(thread.index())?;
    (account.life == Life::Alive).then_some(account)
}

impl TimeAccounting {
    /// Lists intervals, region instances and pieces of tasks of at least `least` (1 ms suits a
    /// timeline), and only longer ones while those would be too many.
    pub fn new(least: Nanos) -> Self {
        TimeAccounting {
            accounts: Vec::new(),
            alive: Vec::new(),
            intervals: Listing::new(least),
            spans: Listing::new(least),
            pieces: Listing::new(least),
            rows: Rows::default(),
            late: 0,
            pauses: Pauses::default(),
            phases: Vec::new(),
        }
    }

    /// The thread is born, outside OpenMP ([`ThreadStateId::OUTSIDE`]). Returns the time from which
    /// it is accounted for: `time`, unless it was alive already.
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
            account.paused = self.pauses.since.is_some();
        }
        Nanos(account.accounted)
    }

    /// The living thread belongs to this process, in whose phase it is.
    pub(super) fn join(&mut self, thread: ThreadId, process: ProcessId) {
        if let Some(account) = living(&mut self.accounts, thread) {
            account.process = process.0;
            account.phase = self.phases.get(process.index()).map_or(0, |phase| phase.0);
        }
    }

    /// Whether the living thread is a helper of MPI: its sleep is not accounted for, in the slice that is open and later.
    /// Returns whether it was.
    #[inline]
    pub(super) fn set_helper(&mut self, thread: ThreadId, is_helper: bool) -> bool {
        let account = living(&mut self.accounts, thread);
        account.is_some_and(|it| std::mem::replace(&mut it.is_helper, is_helper))
    }

    /// From `time` on nothing is accounted for; states and lives of threads go on.
    pub(super) fn pause(&mut self, time: Nanos) {
        if self.pauses.since.is_some() {
            return;
        }
        self.pauses.since = Some(time.0);
        for &thread in &self.alive {
            let account = &mut self.accounts[thread.index()];
            account.pause(thread, time.0, &mut self.rows, &mut self.intervals);
        }
    }

    /// From `time` on all is accounted for again.
    pub(super) fn resume(&mut self, time: Nanos) {
        let Some(since) = self.pauses.since.take() else {
            return;
        };
        self.pauses.ended.push((since, time.0));
        for &thread in &self.alive {
            let account = &mut self.accounts[thread.index()];
            account.resume(thread, time.0, &mut self.rows);
        }
    }

    /// From `time` on the process is in this phase; [`PhaseId::NONE`] for none.
    pub fn phase(&mut self, process: ProcessId, time: Nanos, phase: PhaseId) {
        let at = process.index();
        if self.phases.len() <= at {
            self.phases.resize(at + 1, PhaseId::NONE);
        }
        self.phases[at] = phase;
        for &thread in &self.alive {
            let account = &mut self.accounts[thread.index()];
            if account.process == process.0 {
                account.advance(thread, time.0, &mut self.rows);
                account.phase = phase.0;
            }
        }
    }

    /// Whether the thread is born and not dead.
    pub fn is_alive(&self, thread: ThreadId) -> bool {
        self.accounts
            .get(thread.index())
            .is_some_and(|account| account.life == Life::Alive)
    }

    /// The thread ends. Returns the time up to which it is accounted for: `time`, unless a later
    /// time of it was known; `None` if it was not alive.
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
        account.make_rows(thread, &mut self.rows);
        account.end();
        let alive_index = account.alive_index;
        self.alive.swap_remove(alive_index as usize);
        if let Some(moved) = self.alive.get(alive_index as usize) {
            self.accounts[moved.index()].alive_index = alive_index;
        }
        Some(Nanos(end))
    }

    /// From `time` on the thread, if it is alive, is in this thread state, whose state is `state`,
    /// and in these instances.
    ///
    /// Listed intervals are divided where the instances change.
    #[inline]
    pub fn thread_state(
        &mut self,
        thread: ThreadId,
        time: Nanos,
        thread_state: ThreadStateId,
        state: State,
        within: Within,
    ) {
        let Some(account) = living(&mut self.accounts, thread) else {
            return;
        };
        let (rows, listing) = (&mut self.rows, &mut self.intervals);
        if thread_state.0 != account.activity.thread_state {
            let activity = Activity {
                thread_state: thread_state.0,
                scheduling: account.activity.scheduling,
                state: state as u8,
                useful: state == State::Work,
                takes_blame: !state.is_wait() && !matches!(state, State::Idle | State::Unknown),
            };
            self.late += u64::from(account.change(thread, time.0, activity, rows, listing));
        } else if account.within != within {
            let end = time.0.max(account.accounted);
            account.advance(thread, end, rows);
            account.list(thread, end, rows, listing);
            account.unlisted = end;
        }
        account.within = within;
    }

    /// The thread was in `wait` for a part of its running interval, which began before `time`.
    pub(super) fn waited_shortly(
        &mut self,
        thread: ThreadId,
        time: Nanos,
        wait: (ThreadStateId, State),
        waits: Waits,
    ) {
        let Some(account) = living(&mut self.accounts, thread) else {
            return;
        };
        account.advance(thread, time.0, &mut self.rows);
        let waited = account.move_time(wait, waits.time.0, waits.count);
        account.waited(waited);
    }

    /// The thread was in these two thread states for parts of its running interval: in the runtime to
    /// acquire mutexes, and at work while it held them.
    pub(super) fn acquired_shortly(
        &mut self,
        thread: ThreadId,
        time: Nanos,
        (overhead, acquiring): (ThreadStateId, Nanos),
        (hold, held): ((ThreadStateId, State), Nanos),
    ) {
        let Some(account) = living(&mut self.accounts, thread) else {
            return;
        };
        account.advance(thread, time.0, &mut self.rows);
        let in_runtime = account.move_time((overhead, State::Overhead), acquiring.0, 0);
        account.waited(in_runtime);
        account.move_time(hold, held.0, 0);
    }

    /// From `time` on `dependents` threads wait for this one to release a mutex. Their time is
    /// blamed on it while it does not wait itself, on a CPU or off.
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

    /// `dependents` threads waited for this one from `start` to `end`. Their time is blamed on its
    /// thread state `thread_state`.
    pub(super) fn blame(
        &mut self,
        thread: ThreadId,
        thread_state: ThreadStateId,
        start: Nanos,
        end: Nanos,
        dependents: u32,
    ) {
        let Some(account) = self.accounts.get_mut(thread.index()) else {
            return;
        };
        if account.paused {
            return;
        }
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

    /// Useful work of the thread on a CPU from its birth to `time`; 0 for an unknown thread.
    #[inline]
    pub fn worked(&self, thread: ThreadId, time: Nanos) -> Nanos {
        let account = self.accounts.get(thread.index());
        Nanos(account.map_or(0, |account| {
            account.worked + account.useful_part(time.0.saturating_sub(account.accounted))
        }))
    }

    /// From `time` on the thread, if it is alive, is in this scheduling state.
    #[inline]
    pub fn scheduling(&mut self, thread: ThreadId, time: Nanos, scheduling: Scheduling) {
        let Some(account) = living(&mut self.accounts, thread) else {
            return;
        };
        if scheduling as u8 == account.activity.scheduling {
            return;
        }
        let activity = Activity {
            scheduling: scheduling as u8,
            ..account.activity
        };
        let (rows, listing) = (&mut self.rows, &mut self.intervals);
        self.late += u64::from(account.change(thread, time.0, activity, rows, listing));
    }

    /// Up to `time` the thread was asleep for `blocked` and preempted for `preempted` since the last
    /// call, while it counted as on a CPU. A later call may tell of `open` more. The first call tells that
    /// such calls will follow.
    pub(super) fn off_cpu(
        &mut self,
        thread: ThreadId,
        time: Nanos,
        (blocked, preempted): (Nanos, Nanos),
        open: Nanos,
    ) {
        if let Some(account) = living(&mut self.accounts, thread) {
            account.advance(thread, time.0, &mut self.rows);
            let known = (blocked.0, preempted.0);
            account.off_cpu(thread, known, open.0, &mut self.rows);
        }
    }

    /// A sample was taken at the start of the thread's running interval: the interval is listed, so
    /// that the time that the sample stands for is known.
    pub fn sampled(&mut self, thread: ThreadId) {
        if let Some(account) = self.accounts.get_mut(thread.index()) {
            account.sampled = true;
        }
    }

    /// An instance of a region ended on the thread that encountered it.
    pub fn region(&mut self, thread: ThreadId, run: RegionRun) {
        let Some(account) = living(&mut self.accounts, thread) else {
            return;
        };
        // The slice of the instance is that of its end, which must be the one that is open.
        account.advance(thread, run.end.0, &mut self.rows);
        let length = run.end.since(run.start);
        let recorded = Nanos(self.pauses.recorded(run.start.0, run.end.0));
        if recorded == Nanos(0) && account.paused {
            return;
        }
        account.add_instance(run.context, recorded, run.work);
        if self.spans.admits(recorded.0, run.end.0) {
            self.rows.region_spans.push(RegionSpan {
                context: run.context,
                thread,
                start: run.start,
                length,
                team: run.work.team.max(1),
                within: run.within,
            });
        }
    }

    /// The thread completed a task, or left one for good.
    pub fn task(&mut self, thread: ThreadId, time: Nanos, task: TaskRun) {
        let Some(account) = living(&mut self.accounts, thread) else {
            return;
        };
        account.advance(thread, time.0, &mut self.rows);
        if task.work > Nanos(0) || !account.paused {
            account.add_task(task);
        }
    }

    /// The thread suspended or completed a task at `end`, which it had begun or resumed at `start`.
    #[inline]
    pub fn piece(
        &mut self,
        thread: ThreadId,
        context: ContextId,
        within: Within,
        start: Nanos,
        end: Nanos,
    ) {
        let length = end.since(start);
        let recorded = self.pauses.recorded(start.0, end.0);
        if self.pieces.admits(recorded, end.0) && self.is_alive(thread) {
            self.rows.task_spans.push(TaskSpan {
                context,
                thread,
                start,
                length,
                within,
            });
        }
    }

    /// Accounts for the running intervals up to `now`, before which no more events will come, and
    /// makes the rows of every slice that is over. Call it about once a slice: a killed recording
    /// then lacks only the last slice.
    ///
    /// An interval that runs for longer than a slice is listed in pieces, for the same reason.
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
                account.next_slice(thread, &mut self.rows);
            }
        }
    }

    /// Accounts for the running intervals up to `now`, the end of the recording, and makes all
    /// rows, those of the open slice and of the running intervals included.
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
            account.make_rows(thread, &mut self.rows);
        }
    }

    /// The rows made since the last call: of slices that were over at the last
    /// [`TimeAccounting::advance`] (where switches are not recorded, at the last call of
    /// [`TimeAccounting::off_cpu`] of their thread), of threads that ended, and all after
    /// [`TimeAccounting::finish`].
    pub fn take(&mut self) -> Rows {
        std::mem::take(&mut self.rows)
    }

    /// The number of times that were before the latest one known of their thread.
    pub const fn late(&self) -> u64 {
        self.late
    }
}
