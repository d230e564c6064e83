//! One thread's measured time: its intervals, summed slice by slice.

use experiment::ids::{ContextId, Nanos, ThreadId, ThreadStateId};
use experiment::rows::{
    Blame, Interval, RegionSpan, RegionSum, RegionWork, SLICE, Sum, TaskSpan, TaskSum, Within,
};
use experiment::state::Scheduling;

use super::cells::Cells;
use super::listing::Listing;

/// What a [`TimeAccounting`](super::TimeAccounting) has accounted for since it was last asked.
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

/// Time under one thread state and scheduling state.
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

/// The time of one thread.
#[derive(Debug, Default)]
pub(super) struct Account {
    pub(super) life: Life,
    pub(super) thread_state: u32,
    pub(super) scheduling: u8,
    pub(super) within: Within,
    /// Whether the thread state is of useful work.
    pub(super) useful: bool,
    /// Whether the thread state is of one that others wait for, if they do.
    pub(super) answers: bool,
    /// How many threads wait for this one to give a mutex back.
    pub(super) dependents: u32,
    /// Nanoseconds of useful work on a CPU so far.
    pub(super) worked: u64,
    /// Where in `alive` it stands.
    pub(super) alive_index: u32,
    /// Everything before is in the cells.
    pub(super) accounted: u64,
    /// Where the running interval began.
    pub(super) since: u64,
    /// From where the running interval is not yet listed.
    pub(super) unlisted: u64,
    /// Whether the running interval is listed however short it is.
    pub(super) sampled: bool,
    /// End of the slice that the cells are of: they hold time up to and including it.
    pub(super) border: u64,
    cells: Cells<Spent>,
    /// Waiting time of dependents, by thread state and scheduling state.
    pub(super) blames: Cells<u64>,
    regions: Cells<Instances>,
    tasks: Cells<Completed>,
}

/// What a thread's state is to others.
#[derive(Clone, Copy, Debug)]
pub(super) struct Doing {
    pub(super) useful: bool,
    pub(super) answers: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Life {
    #[default]
    Unborn,
    Alive,
    Dead,
}

pub(super) const fn key(thread_state: u32, scheduling: u8) -> u64 {
    (thread_state as u64) << 2 | scheduling as u64
}

fn scheduling_of(key: u64) -> Scheduling {
    Scheduling::from_u8((key & 3) as u8).expect("keys are made from a scheduling")
}

impl Account {
    /// The thread begins to live; `place` is where it stands among those that do.
    pub(super) fn begin(&mut self, time: Nanos, scheduling: Scheduling, alive_index: u32) {
        self.life = Life::Alive;
        self.scheduling = scheduling as u8;
        self.alive_index = alive_index;
        self.accounted = time.0;
        self.since = time.0;
        self.unlisted = time.0;
        // A slice holds the time after its beginning, up to and including its end.
        self.border = (time.0 / SLICE.0 + 1) * SLICE.0;
    }

    /// The thread is dead, and all of its rows are made.
    pub(super) fn end(&mut self) {
        self.life = Life::Dead;
        self.dependents = 0;
        self.cells = Cells::default();
        self.blames = Cells::default();
        self.regions = Cells::default();
        self.tasks = Cells::default();
    }

    /// Adds an instance of a region that lasted `length`.
    pub(super) fn add_instance(&mut self, context: ContextId, length: Nanos, work: TeamWork) {
        let team = work.team.max(1);
        let region = self.regions.at(u64::from(context.0));
        region.count += 1;
        region.team = region.team.max(team);
        region.elapsed += length.0;
        region.capacity += length.0 * u64::from(team);
        // Events in disorder may credit a thread with more than there was.
        let longest = work.longest.min(length).0;
        region.longest += longest;
        region.mean += (work.total.0 / u64::from(team)).min(longest);
    }

    /// Adds a task that was completed.
    pub(super) fn add_task(&mut self, task: TaskRun) {
        let work = task.work.0;
        let tasks = self.tasks.at(u64::from(task.context.0));
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

    /// From `time` on the thread is in another state, or elsewhere. Whether that is late.
    #[inline]
    pub(super) fn change(
        &mut self,
        thread: ThreadId,
        time: u64,
        (thread_state, scheduling, doing): (u32, u8, Doing),
        (rows, listing): (&mut Rows, &mut Listing),
    ) -> bool {
        let end = time.max(self.accounted);
        if end != self.since {
            self.close(thread, end, rows, listing);
        }
        self.thread_state = thread_state;
        self.scheduling = scheduling;
        self.useful = doing.useful;
        self.answers = doing.answers;
        time < end
    }

    /// Ends the running interval at `end`, which is after its beginning and not before what is
    /// accounted for.
    #[inline]
    pub(super) fn close(
        &mut self,
        thread: ThreadId,
        end: u64,
        rows: &mut Rows,
        listing: &mut Listing,
    ) {
        if end > self.border {
            self.advance(thread, end, rows);
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
        let more = time - self.accounted;
        self.accounted = time;
        self.worked += self.useful_part(more);
        if self.dependents > 0 && self.answers {
            let key = key(self.thread_state, self.scheduling);
            *self.blames.at(key) += more * u64::from(self.dependents);
        }
        let spent = self.cells.at(key(self.thread_state, self.scheduling));
        spent.time += more;
        spent
    }

    /// What of so much of the running interval is useful work on a CPU: all or nothing.
    #[inline]
    pub(super) const fn useful_part(&self, nanos: u64) -> u64 {
        let counts = self.useful && self.scheduling == Scheduling::Running as u8;
        nanos * counts as u64
    }

    /// Adds the running interval's time up to `time` to its sum, turning over slices; the
    /// interval goes on.
    #[inline(never)]
    pub(super) fn advance(&mut self, thread: ThreadId, time: u64, rows: &mut Rows) {
        if time <= self.accounted {
            return;
        }
        while self.border < time {
            if self.border > self.accounted {
                self.spend(self.border);
            }
            self.turn(thread, rows);
        }
        self.spend(time);
    }

    /// Lists what is not yet listed of the running interval, if it is long enough.
    #[inline]
    pub(super) fn list(
        &mut self,
        thread: ThreadId,
        end: u64,
        rows: &mut Rows,
        listing: &mut Listing,
    ) {
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
            thread_state: ThreadStateId(self.thread_state),
            scheduling: scheduling_of(key(self.thread_state, self.scheduling)),
            within: self.within,
        });
        self.unlisted = end;
    }

    /// Makes the open slice's rows and opens the next slice.
    pub(super) fn turn(&mut self, thread: ThreadId, rows: &mut Rows) {
        self.settle(thread, rows);
        self.border += SLICE.0;
    }

    /// Makes the open slice's rows.
    pub(super) fn settle(&mut self, thread: ThreadId, rows: &mut Rows) {
        let slice = (self.border / SLICE.0 - 1) as u32;
        self.cells.drain(|key, spent| {
            rows.sums.push(Sum {
                slice,
                thread,
                thread_state: ThreadStateId((key >> 2) as u32),
                scheduling: scheduling_of(key),
                time: Nanos(spent.time),
                count: spent.intervals,
            });
        });
        self.blames.drain(|key, time| {
            rows.blames.push(Blame {
                slice,
                thread,
                thread_state: ThreadStateId((key >> 2) as u32),
                scheduling: scheduling_of(key),
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
