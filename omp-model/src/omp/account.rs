//! One thread's measured time: its intervals, summed slice by slice.

use experiment::ids::{ContextId, Nanos, PhaseId, ThreadId, ThreadStateId};
use experiment::rows::{
    Blame, Interval, PhaseSum, RegionSpan, RegionSum, RegionWork, SLICE, Sum, TaskSpan, TaskSum,
    Within,
};
use experiment::state::{Scheduling, State};

use super::keyed_sums::KeyedSums;
use super::listing::Listing;
use super::untimed::Untimed;

/// The rows that a [`TimeAccounting`](super::TimeAccounting) has made since they were last taken.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rows {
    /// Thread time. A key may repeat: its rows add up.
    pub sums: Vec<Sum>,
    /// Waiting time of others. A key may repeat: its rows add up.
    pub blames: Vec<Blame>,
    /// Long intervals, for each thread sorted by end.
    pub intervals: Vec<Interval>,
    /// Region instances. A key may repeat: its rows add up.
    pub region_sums: Vec<RegionSum>,
    /// How the work of regions was spread over their teams; a row for each of `region_sums`.
    pub region_works: Vec<RegionWork>,
    /// Long region instances, sorted by end.
    pub region_spans: Vec<RegionSpan>,
    /// Completed tasks. A key may repeat: its rows add up.
    pub task_sums: Vec<TaskSum>,
    /// Long pieces of tasks, for each thread sorted by end.
    pub task_spans: Vec<TaskSpan>,
    /// Time in phases. A key may repeat: its rows add up.
    pub phase_sums: Vec<PhaseSum>,
}

/// Useful work of a team in one instance of a region.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TeamWork {
    /// The team's size.
    pub team: u16,
    /// The work of the thread that worked longest.
    pub longest: Nanos,
    /// The work of all threads.
    pub total: Nanos,
}

/// An instance of a region that ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RegionRun {
    /// Its context.
    pub context: ContextId,
    /// Its instance id, and that of the task that forked it.
    pub within: Within,
    /// When it began on the encountering thread.
    pub start: Nanos,
    /// When it ended on the encountering thread.
    pub end: Nanos,
    /// The useful work of its team.
    pub work: TeamWork,
}

/// A task that was completed, or will not be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TaskRun {
    /// Its context.
    pub context: ContextId,
    /// Its work.
    pub work: Nanos,
    /// Whether another thread had created it.
    pub elsewhere: bool,
    /// Whether it had begun, and will not complete.
    pub unfinished: bool,
}

/// Time in one thread state and scheduling state.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Spent {
    /// Nanoseconds.
    pub(super) time: u64,
    intervals: u32,
}

/// Sums over instances of one region.
#[derive(Clone, Copy, Debug, Default)]
struct Instances {
    count: u32,
    team: u16,
    elapsed: u64,
    capacity: u64,
    longest: u64,
    mean: u64,
}

/// Sums over completed tasks of one construct.
#[derive(Clone, Copy, Debug, Default)]
struct Completed {
    count: u32,
    unfinished: u32,
    elsewhere: u32,
    work: u64,
    least: u64,
    most: u64,
    squares: u128,
}

/// The time of one thread. Times are in nanoseconds since the recording began.
#[derive(Debug, Default)]
pub(super) struct Account {
    pub(super) life: Life,
    pub(super) activity: Activity,
    pub(super) within: Within,
    /// The number of threads that wait for this one to release a mutex.
    pub(super) dependents: u32,
    /// Nanoseconds of useful work on a CPU so far.
    pub(super) worked: u64,
    /// Its index in `alive`.
    pub(super) alive_index: u32,
    /// The time up to which everything is added to the sums.
    pub(super) accounted: u64,
    /// The start of the running interval.
    pub(super) since: u64,
    /// The time from which the running interval is not listed yet.
    pub(super) unlisted: u64,
    /// Whether the running interval is listed however short it is.
    pub(super) sampled: bool,
    /// The end of the open slice: the sums hold time up to and including it.
    pub(super) border: u64,
    pub(super) spent: KeyedSums<Spent>,
    /// Without switch records: time that counts as on a CPU, of which some may turn out to be off one.
    pub(super) untimed: Option<Box<Untimed>>,
    /// Waiting time of dependents, by thread state and scheduling state.
    pub(super) blames: KeyedSums<u64>,
    regions: KeyedSums<Instances>,
    tasks: KeyedSums<Completed>,
    /// A thread that MPI started for its own purposes. While it sleeps, no thread of the program does: that time is
    /// added to no sum.
    pub(super) is_helper: bool,
    /// Whether recording is paused: the time of the running interval is not added to any sum.
    pub(super) paused: bool,
    /// The thread's process.
    pub(super) process: u32,
    /// The innermost phase of its process.
    pub(super) phase: u32,
    /// Time in phases, by phase, state and scheduling state.
    pub(super) phases: KeyedSums<u64>,
}

/// What a thread does in an interval.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Activity {
    pub(super) thread_state: u32,
    pub(super) scheduling: u8,
    /// The [`State`] of the thread state.
    pub(super) state: u8,
    /// Whether the thread state is useful work.
    pub(super) useful: bool,
    /// Whether the thread is blamed for the time that dependents wait in this thread state.
    pub(super) takes_blame: bool,
}

impl Activity {
    pub(super) const fn key(self) -> u64 {
        key(self.thread_state, self.scheduling)
    }

    pub(super) const fn phase_key(self, phase: u32) -> u64 {
        (phase as u64) << 16 | (self.state as u64) << 8 | self.scheduling as u64
    }
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

pub(super) fn scheduling_of(key: u64) -> Scheduling {
    Scheduling::from_u8((key & 3) as u8).expect("keys are made from a scheduling")
}

impl Account {
    /// The thread is born.
    pub(super) fn begin(&mut self, time: Nanos, scheduling: Scheduling, alive_index: u32) {
        self.life = Life::Alive;
        self.activity.scheduling = scheduling as u8;
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
        self.spent = KeyedSums::default();
        self.untimed = None;
        self.blames = KeyedSums::default();
        self.regions = KeyedSums::default();
        self.tasks = KeyedSums::default();
        self.phases = KeyedSums::default();
    }

    /// Adds an instance of a region that lasted `length`. Teams of different sizes make rows of their
    /// own.
    pub(super) fn add_instance(&mut self, context: ContextId, length: Nanos, work: TeamWork) {
        let team = work.team.max(1);
        let region = self
            .regions
            .at(u64::from(context.0) | u64::from(team) << 32);
        region.count += 1;
        region.team = team;
        region.elapsed += length.0;
        region.capacity += length.0 * u64::from(team);
        // Events out of order may add up to more work than there was time.
        let longest = work.longest.min(length).0;
        region.longest += longest;
        region.mean += (work.total.0 / u64::from(team)).min(longest);
    }

    /// Adds a task that was completed, or will not be.
    pub(super) fn add_task(&mut self, task: TaskRun) {
        let work = task.work.0;
        let tasks = self.tasks.at(u64::from(task.context.0));
        if task.unfinished {
            tasks.unfinished += 1;
            return;
        }
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

    /// Ends the running interval at `time` and begins one of `activity`. Returns whether `time` is
    /// before what is accounted for.
    #[inline]
    pub(super) fn change(
        &mut self,
        thread: ThreadId,
        time: u64,
        activity: Activity,
        rows: &mut Rows,
        listing: &mut Listing,
    ) -> bool {
        let end = time.max(self.accounted);
        if end != self.since {
            self.close(thread, end, rows, listing);
        }
        self.activity = activity;
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
        let counts = u32::from(!self.paused);
        self.spend(end).intervals += counts;
        self.list(thread, end, rows, listing);
        self.since = end;
        self.unlisted = end;
        self.sampled = false;
    }

    /// Adds the running interval's time up to `time`, which is in the open slice, to its sum.
    #[inline]
    fn spend(&mut self, time: u64) -> &mut Spent {
        let passed = time - self.accounted;
        let more = if self.paused { 0 } else { passed };
        self.accounted = time;
        self.worked += self.useful_part(more);
        if self.dependents > 0 && self.activity.takes_blame && more > 0 {
            *self.blames.at(self.activity.key()) += more * u64::from(self.dependents);
        }
        if let Some(untimed) = &mut self.untimed
            && self.activity.scheduling == Scheduling::Running as u8
        {
            untimed.spend((self.activity, self.phase), more);
            return self.spent.at(self.activity.key());
        }
        if self.phase != 0 && more > 0 {
            *self.phases.at(self.activity.phase_key(self.phase)) += more;
        }
        let spent = self.spent.at(self.activity.key());
        spent.time += more;
        spent
    }

    /// The part of `nanos` of the running interval that is useful work on a CPU: all or nothing.
    #[inline]
    pub(super) const fn useful_part(&self, nanos: u64) -> u64 {
        let counts = self.activity.useful
            && self.activity.scheduling == Scheduling::Running as u8
            && !self.paused;
        nanos * counts as u64
    }

    /// Recording pauses at `time`.
    pub(super) fn pause(
        &mut self,
        thread: ThreadId,
        time: u64,
        rows: &mut Rows,
        listing: &mut Listing,
    ) {
        let end = time.max(self.accounted);
        if end != self.since {
            self.close(thread, end, rows, listing);
        }
        self.paused = true;
    }

    /// Recording goes on at `time`.
    pub(super) fn resume(&mut self, thread: ThreadId, time: u64, rows: &mut Rows) {
        self.advance(thread, time, rows);
        self.since = self.accounted;
        self.unlisted = self.accounted;
        self.sampled = false;
        self.paused = false;
    }

    /// Moves time from the running interval's sum in the open slice to that of `to`, and adds `count`
    /// intervals to it. Returns how much was moved: no more than is there, since the rest is in the
    /// slice before.
    /// Moves nothing while recording is paused.
    pub(super) fn move_time(
        &mut self,
        (to, state): (ThreadStateId, State),
        nanos: u64,
        count: u32,
    ) -> u64 {
        if self.paused {
            return 0;
        }
        let activity = Activity {
            scheduling: Scheduling::Running as u8,
            ..self.activity
        };
        let to = Activity {
            thread_state: to.0,
            state: state as u8,
            ..activity
        };
        if let Some(untimed) = &mut self.untimed {
            self.spent.at(to.key()).intervals += count;
            return untimed.move_time((activity, to), self.phase, nanos);
        }
        let spent = self.spent.at(activity.key());
        let moved = spent.time.min(nanos);
        spent.time -= moved;
        if self.phase != 0 {
            let from = self.phases.at(activity.phase_key(self.phase));
            let in_phase = moved.min(*from);
            *from -= in_phase;
            *self.phases.at(to.phase_key(self.phase)) += in_phase;
        }
        let spent = self.spent.at(to.key());
        spent.time += moved;
        spent.intervals += count;
        moved
    }

    /// So much of the running interval was no work after all.
    pub(super) fn waited(&mut self, nanos: u64) {
        if self.activity.useful {
            self.worked = self.worked.saturating_sub(nanos);
        }
    }

    /// Adds the running interval's time up to `time` to its sum, slice by slice. The interval goes
    /// on.
    #[inline(never)]
    pub(super) fn advance(&mut self, thread: ThreadId, time: u64, rows: &mut Rows) {
        if time <= self.accounted {
            return;
        }
        while self.border < time {
            if self.border > self.accounted {
                self.spend(self.border);
            }
            self.next_slice(thread, rows);
        }
        self.spend(time);
    }

    /// Lists the unlisted part of the running interval, if it is long enough.
    #[inline]
    pub(super) fn list(
        &mut self,
        thread: ThreadId,
        end: u64,
        rows: &mut Rows,
        listing: &mut Listing,
    ) {
        let is_asleep = scheduling_of(self.activity.key()) == Scheduling::Blocked;
        if self.paused || self.is_helper && is_asleep {
            return;
        }
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
            thread_state: ThreadStateId(self.activity.thread_state),
            scheduling: scheduling_of(self.activity.key()),
            within: self.within,
        });
        self.unlisted = end;
    }

    /// The number of the open slice.
    pub(super) const fn open_slice(&self) -> u32 {
        (self.border / SLICE.0 - 1) as u32
    }

    /// Makes the open slice's rows and opens the next slice.
    pub(super) fn next_slice(&mut self, thread: ThreadId, rows: &mut Rows) {
        let open = self.open_slice();
        let untimed = self.untimed.as_mut();
        if untimed.is_some_and(|untimed| untimed.next_slice(open)) {
            self.settle(thread, rows);
        }
        self.make_rows(thread, rows);
        self.border += SLICE.0;
    }

    /// Makes the open slice's rows.
    pub(super) fn make_rows(&mut self, thread: ThreadId, rows: &mut Rows) {
        let slice = self.open_slice();
        let is_helper = self.is_helper;
        let leaves_out = |key| is_helper && scheduling_of(key) == Scheduling::Blocked;
        self.spent.drain(|key, spent| {
            if spent.time == 0 && spent.intervals == 0 || leaves_out(key) {
                return;
            }
            rows.sums.push(Sum {
                slice,
                thread,
                thread_state: ThreadStateId((key >> 2) as u32),
                scheduling: scheduling_of(key),
                time: Nanos(spent.time),
                count: spent.intervals,
            });
        });
        self.phases.drain(|key, time| {
            if leaves_out(key) {
                return;
            }
            rows.phase_sums.push(PhaseSum {
                slice,
                thread,
                phase: PhaseId((key >> 16) as u32),
                state: State::from_u8((key >> 8) as u8).expect("keys are made from a state"),
                scheduling: scheduling_of(key),
                time: Nanos(time),
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
                unfinished: tasks.unfinished,
                elsewhere: tasks.elsewhere,
                work: Nanos(tasks.work),
                least: Nanos(tasks.least),
                most: Nanos(tasks.most),
                squares: tasks.squares,
            });
        });
    }
}
