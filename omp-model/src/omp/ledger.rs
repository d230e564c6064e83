//! Measured time, booked by slice, thread, tag and presence.

use super::cells::Cells;
use super::listing::Listing;
use crate::ids::{ContextId, Nanos, TagId, ThreadId};
use crate::rows::{
    Blame, Interval, RegionSpan, RegionSum, RegionWork, SLICE, Sum, TaskSpan, TaskSum, Within,
};
use crate::state::{Presence, State};

/// What a [`Ledger`] has booked since it was last asked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rows {
    /// Thread time; one key may come several times, to be added up.
    pub sums: Vec<Sum>,
    /// Waiting time of others; one key may come several times, to be added up.
    pub blames: Vec<Blame>,
    /// Long intervals, by their end for each thread.
    pub intervals: Vec<Interval>,
    /// Region instances; one key may come several times, to be added up.
    pub region_sums: Vec<RegionSum>,
    /// How their work was spread, beside each of `region_sums`.
    pub region_works: Vec<RegionWork>,
    /// Long region instances, by their end.
    pub region_spans: Vec<RegionSpan>,
    /// Completed tasks; one key may come several times, to be added up.
    pub task_sums: Vec<TaskSum>,
    /// Long pieces of tasks, by their end for each thread.
    pub task_spans: Vec<TaskSpan>,
}

/// Useful work of a team in one instance of a region.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TeamWork {
    /// The team's size.
    pub team: u16,
    /// Of the thread that worked longest.
    pub longest: Nanos,
    /// Of all threads.
    pub total: Nanos,
}

/// A task that was completed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TaskRun {
    /// Its context.
    pub context: ContextId,
    /// Its work.
    pub work: Nanos,
    /// Whether another thread had created it.
    pub elsewhere: bool,
}

/// Time under one tag and presence.
#[derive(Clone, Copy, Debug, Default)]
struct Spent {
    /// Nanoseconds.
    time: u64,
    intervals: u32,
}

/// Instances of one region.
#[derive(Clone, Copy, Debug, Default)]
struct Instances {
    count: u32,
    team: u16,
    elapsed: u64,
    capacity: u64,
    longest: u64,
    mean: u64,
}

/// Completed tasks of one construct.
#[derive(Clone, Copy, Debug, Default)]
struct Completed {
    count: u32,
    elsewhere: u32,
    work: u64,
    least: u64,
    most: u64,
    squares: u128,
}

/// Books how long each thread was in which state, on or off the CPU.
///
/// Each thread's life is cut into intervals of one tag and one presence. Each is added to the
/// [`Sum`] of its slice, and parted where it crosses into the next; so the sums of a thread add up
/// to its life exactly. Long intervals are listed too, at a bounded rate
/// ([`super::LISTED_PER_SECOND`]): their number does not grow with the number of events. So are
/// those that a stack stands for, of which there are no more than stacks.
///
/// Times may run backwards within a thread by what merging could not order: such a moment is
/// taken to be the latest one known of that thread, and counted in [`Ledger::late`].
#[derive(Debug)]
pub struct Ledger {
    accounts: Vec<Account>,
    /// Threads that are born and not dead, in no order.
    alive: Vec<ThreadId>,
    intervals: Listing,
    spans: Listing,
    pieces: Listing,
    rows: Rows,
    late: u64,
}

/// One thread's book.
#[derive(Debug, Default)]
struct Account {
    life: Life,
    tag: u32,
    presence: u8,
    within: Within,
    /// Whether the tag is of useful work.
    useful: bool,
    /// Whether the tag is of one that others wait for, if they do.
    answers: bool,
    /// How many threads wait for this one to give a mutex back.
    dependents: u32,
    /// Nanoseconds of useful work on a CPU, booked so far.
    worked: u64,
    /// Where in `alive` it stands.
    place: u32,
    /// Everything before is in the cells.
    booked: u64,
    /// Where the running interval began.
    since: u64,
    /// From where the running interval is not yet listed.
    unlisted: u64,
    /// Whether the running interval is listed however short it is.
    sampled: bool,
    /// End of the slice that the cells are of: they hold time up to and including it.
    border: u64,
    cells: Cells<Spent>,
    /// Waiting time of dependents, by tag and presence.
    blames: Cells<u64>,
    regions: Cells<Instances>,
    tasks: Cells<Completed>,
}

/// What a thread's state is to others.
#[derive(Clone, Copy, Debug)]
struct Doing {
    useful: bool,
    answers: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Life {
    #[default]
    Unborn,
    Alive,
    Dead,
}

const fn key(tag: u32, presence: u8) -> u64 {
    (tag as u64) << 2 | presence as u64
}

fn presence_of(key: u64) -> Presence {
    Presence::from_u8((key & 3) as u8).expect("keys are made from a presence")
}

/// The book of a thread that is born and not dead.
#[inline]
fn living(accounts: &mut [Account], thread: ThreadId) -> Option<&mut Account> {
    let account = accounts.get_mut(thread.index())?;
    (account.life == Life::Alive).then_some(account)
}

impl Ledger {
    /// A ledger that lists intervals, region instances and pieces of tasks from `least` on (1 ms
    /// is good for a timeline), and only longer ones while those would be too many.
    pub fn new(least: Nanos) -> Self {
        Ledger {
            accounts: Vec::new(),
            alive: Vec::new(),
            intervals: Listing::new(least),
            spans: Listing::new(least),
            pieces: Listing::new(least),
            rows: Rows::default(),
            late: 0,
        }
    }

    /// The thread begins to live, outside OpenMP ([`TagId::OUTSIDE`]). Returns the time that its
    /// life is booked from: `time`, unless it had been alive already.
    pub fn birth(&mut self, thread: ThreadId, time: Nanos, presence: Presence) -> Nanos {
        let index = thread.index();
        if self.accounts.len() <= index {
            self.accounts.resize_with(index + 1, Account::default);
        }
        let place = self.alive.len() as u32;
        let account = &mut self.accounts[index];
        if account.life == Life::Unborn {
            self.alive.push(thread);
            account.life = Life::Alive;
            account.presence = presence as u8;
            account.place = place;
            account.booked = time.0;
            account.since = time.0;
            account.unlisted = time.0;
            // A slice holds the time after its beginning, up to and including its end.
            account.border = (time.0 / SLICE.0 + 1) * SLICE.0;
        }
        Nanos(account.booked)
    }

    /// Whether the thread is born and not dead.
    pub fn is_alive(&self, thread: ThreadId) -> bool {
        self.accounts
            .get(thread.index())
            .is_some_and(|account| account.life == Life::Alive)
    }

    /// The thread ends. Returns the end of what is booked of it: `time`, unless later moments of
    /// it were known; `None` if it was not alive.
    pub fn exit(&mut self, thread: ThreadId, time: Nanos) -> Option<Nanos> {
        if !self.is_alive(thread) {
            return None;
        }
        let account = &mut self.accounts[thread.index()];
        self.late += u64::from(time.0 < account.booked);
        let end = time.0.max(account.booked);
        if end != account.since {
            account.close(thread, end, &mut self.rows, &mut self.intervals);
        }
        account.settle(thread, &mut self.rows);
        account.life = Life::Dead;
        account.dependents = 0;
        account.cells = Cells::default();
        account.blames = Cells::default();
        account.regions = Cells::default();
        account.tasks = Cells::default();
        let place = account.place;
        self.alive.swap_remove(place as usize);
        if let Some(moved) = self.alive.get(place as usize) {
            self.accounts[moved.index()].place = place;
        }
        Some(Nanos(end))
    }

    /// From `time` on the thread does what `tag` says, which is of this state, in these instances.
    /// Nothing happens to one that is not alive.
    ///
    /// The instances are those of listed intervals: where one follows another in the same state,
    /// the interval is listed in pieces.
    #[inline]
    pub fn tag(
        &mut self,
        thread: ThreadId,
        time: Nanos,
        (tag, state): (TagId, State),
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
        if tag.0 != account.tag {
            let to = (tag.0, account.presence, doing);
            self.late += u64::from(account.change(thread, time.0, to, (rows, listing)));
        } else if account.within != within {
            let end = time.0.max(account.booked);
            account.book(thread, end, rows);
            account.list(thread, end, rows, listing);
            account.unlisted = end;
        }
        account.within = within;
    }

    /// From `time` on so many threads wait for this one to give a mutex back. Their time is booked
    /// with its own while it is at work, on a CPU or off.
    #[inline]
    pub(super) fn dependents(&mut self, thread: ThreadId, time: Nanos, dependents: u32) {
        let Some(account) = living(&mut self.accounts, thread) else {
            return;
        };
        if account.dependents != dependents {
            account.book(thread, time.0, &mut self.rows);
            account.dependents = dependents;
        }
    }

    /// So many threads have waited for this one from `start` to `end`, after what `tag` says.
    pub(super) fn blame(
        &mut self,
        (thread, tag): (ThreadId, TagId),
        (start, end): (Nanos, Nanos),
        dependents: u32,
    ) {
        let Some(account) = self.accounts.get_mut(thread.index()) else {
            return;
        };
        let key = key(tag.0, Presence::Running as u8);
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
                    tag,
                    presence: Presence::Running,
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
            account.worked + account.useful_part(time.0.saturating_sub(account.booked))
        }))
    }

    /// From `time` on the kernel has the thread there. Nothing happens to one that is not alive.
    #[inline]
    pub fn presence(&mut self, thread: ThreadId, time: Nanos, presence: Presence) {
        let Some(account) = living(&mut self.accounts, thread) else {
            return;
        };
        if presence as u8 == account.presence {
            return;
        }
        let doing = Doing {
            useful: account.useful,
            answers: account.answers,
        };
        let to = (account.tag, presence as u8, doing);
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
        account.book(thread, end.0, &mut self.rows);
        let length = end.since(start);
        let team = work.team.max(1);
        let region = account.regions.at(u64::from(context.0));
        region.count += 1;
        region.team = region.team.max(team);
        region.elapsed += length.0;
        region.capacity += length.0 * u64::from(team);
        // Events in disorder may credit a thread with more than there was.
        let longest = work.longest.min(length).0;
        region.longest += longest;
        region.mean += (work.total.0 / u64::from(team)).min(longest);
        if self.spans.admits(length.0, end.0) {
            self.rows.region_spans.push(RegionSpan {
                context,
                thread,
                start,
                length,
                team,
                within,
            });
        }
    }

    /// The thread completed a task.
    pub fn task(&mut self, thread: ThreadId, time: Nanos, task: TaskRun) {
        let Some(account) = living(&mut self.accounts, thread) else {
            return;
        };
        account.book(thread, time.0, &mut self.rows);
        let work = task.work.0;
        let tasks = account.tasks.at(u64::from(task.context.0));
        tasks.least = match tasks.count {
            0 => work,
            _ => tasks.least.min(work),
        };
        tasks.most = tasks.most.max(work);
        tasks.count += 1;
        tasks.elsewhere += u32::from(task.elsewhere);
        tasks.work += work;
        tasks.squares += u128::from(work) * u128::from(work);
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

    /// Books the running intervals up to `now`, before which no event will come any more, and
    /// makes the rows of every slice that is over. Call it about once a slice: if the recording
    /// dies, [`Ledger::take`]'s rows so far tell all but the last slice.
    ///
    /// An interval that runs for longer than a slice is listed in pieces, so that the list, too,
    /// is short of no more than that.
    pub fn advance(&mut self, now: Nanos) {
        for &thread in &self.alive {
            let account = &mut self.accounts[thread.index()];
            account.book(thread, now.0, &mut self.rows);
            if account.booked >= account.unlisted.saturating_add(SLICE.0) {
                account.list(thread, account.booked, &mut self.rows, &mut self.intervals);
            }
            if account.border <= account.booked {
                account.turn(thread, &mut self.rows);
            }
        }
    }

    /// Books the running intervals up to `now` and makes the rows of everything, the running
    /// slice and the running intervals included: the recording's end.
    pub fn finish(&mut self, now: Nanos) {
        for &thread in &self.alive {
            let account = &mut self.accounts[thread.index()];
            account.book(thread, now.0, &mut self.rows);
            account.list(thread, account.booked, &mut self.rows, &mut self.intervals);
            account.settle(thread, &mut self.rows);
        }
    }

    /// The rows made since the last call: of slices that were over at the last
    /// [`Ledger::advance`], of threads that ended, and all after [`Ledger::finish`].
    pub fn take(&mut self) -> Rows {
        std::mem::take(&mut self.rows)
    }

    /// How many moments came before the latest one known of their thread, and were moved there.
    pub const fn late(&self) -> u64 {
        self.late
    }
}

impl Account {
    /// From `time` on the thread is in another state, or elsewhere. Whether that is late.
    #[inline]
    fn change(
        &mut self,
        thread: ThreadId,
        time: u64,
        (tag, presence, doing): (u32, u8, Doing),
        (rows, listing): (&mut Rows, &mut Listing),
    ) -> bool {
        let end = time.max(self.booked);
        if end != self.since {
            self.close(thread, end, rows, listing);
        }
        self.tag = tag;
        self.presence = presence;
        self.useful = doing.useful;
        self.answers = doing.answers;
        time < end
    }

    /// Ends the running interval at `end`, which is after its beginning and not before what is
    /// booked.
    #[inline]
    fn close(&mut self, thread: ThreadId, end: u64, rows: &mut Rows, listing: &mut Listing) {
        if end > self.border {
            self.book(thread, end, rows);
        }
        self.spend(end).intervals += 1;
        self.list(thread, end, rows, listing);
        self.since = end;
        self.unlisted = end;
        self.sampled = false;
    }

    /// Adds the running interval's time up to `time`, which is in the open slice, to its sum.
    #[inline]
    fn spend(&mut self, time: u64) -> &mut Spent {
        let more = time - self.booked;
        self.booked = time;
        self.worked += self.useful_part(more);
        if self.dependents > 0 && self.answers {
            let key = key(self.tag, self.presence);
            *self.blames.at(key) += more * u64::from(self.dependents);
        }
        let spent = self.cells.at(key(self.tag, self.presence));
        spent.time += more;
        spent
    }

    /// What of so much of the running interval is useful work on a CPU: all or nothing.
    #[inline]
    const fn useful_part(&self, nanos: u64) -> u64 {
        let counts = self.useful && self.presence == Presence::Running as u8;
        nanos * counts as u64
    }

    /// Adds the running interval's time up to `time` to its sum, turning over slices; the
    /// interval goes on.
    #[inline(never)]
    fn book(&mut self, thread: ThreadId, time: u64, rows: &mut Rows) {
        if time <= self.booked {
            return;
        }
        while self.border < time {
            if self.border > self.booked {
                self.spend(self.border);
            }
            self.turn(thread, rows);
        }
        self.spend(time);
    }

    /// Lists what is not yet listed of the running interval, if it is long enough.
    #[inline]
    fn list(&mut self, thread: ThreadId, end: u64, rows: &mut Rows, listing: &mut Listing) {
        let length = end - self.unlisted;
        if listing.admits(length, end) || (self.sampled && length > 0) {
            self.list_now(thread, end, rows);
        }
    }

    #[cold]
    #[inline(never)]
    fn list_now(&mut self, thread: ThreadId, end: u64, rows: &mut Rows) {
        rows.intervals.push(Interval {
            thread,
            start: Nanos(self.unlisted),
            length: Nanos(end - self.unlisted),
            tag: TagId(self.tag),
            presence: presence_of(key(self.tag, self.presence)),
            within: self.within,
        });
        self.unlisted = end;
    }

    /// Makes the open slice's rows and opens the next slice.
    fn turn(&mut self, thread: ThreadId, rows: &mut Rows) {
        self.settle(thread, rows);
        self.border += SLICE.0;
    }

    /// Makes the open slice's rows.
    fn settle(&mut self, thread: ThreadId, rows: &mut Rows) {
        let slice = (self.border / SLICE.0 - 1) as u32;
        self.cells.drain(|key, spent| {
            rows.sums.push(Sum {
                slice,
                thread,
                tag: TagId((key >> 2) as u32),
                presence: presence_of(key),
                time: Nanos(spent.time),
                count: spent.intervals,
            });
        });
        self.blames.drain(|key, time| {
            rows.blames.push(Blame {
                slice,
                thread,
                tag: TagId((key >> 2) as u32),
                presence: presence_of(key),
                time: Nanos(time),
            });
        });
        self.regions.drain(|key, region| {
            let context = ContextId(key as u32);
            rows.region_sums.push(RegionSum {
                slice,
                context,
                thread,
                instances: region.count,
                elapsed: Nanos(region.elapsed),
                team: region.team,
            });
            rows.region_works.push(RegionWork {
                slice,
                context,
                thread,
                capacity: Nanos(region.capacity),
                longest: Nanos(region.longest),
                mean: Nanos(region.mean),
            });
        });
        self.tasks.drain(|key, tasks| {
            rows.task_sums.push(TaskSum {
                slice,
                context: ContextId(key as u32),
                thread,
                instances: tasks.count,
                elsewhere: tasks.elsewhere,
                work: Nanos(tasks.work),
                least: Nanos(tasks.least),
                most: Nanos(tasks.most),
                squares: tasks.squares,
            });
        });
    }
}
