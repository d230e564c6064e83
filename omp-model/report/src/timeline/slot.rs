//! A column of a thread's row, and how it is drawn.

use experiment::state::Scheduling;

use super::activity::{Activity, Family};

/// What a thread did in one column's range of time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Slot {
    /// The length of the column, in nanoseconds.
    pub length: f64,
    /// Nanoseconds on a CPU by [`Activity`].
    pub on_cpu: [f64; Activity::COUNT],
    /// Nanoseconds off CPUs.
    pub off_cpu: [f64; Activity::COUNT],
    /// Nanoseconds by [`Scheduling`].
    pub scheduling: [f64; Scheduling::ALL.len()],
    /// Where the time was placed by.
    pub precision: Precision,
    /// The CPU that the first sample in it was taken on.
    pub cpu: Option<u16>,
}

/// The least exact source that a column's time was placed by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Precision {
    /// Listed intervals and whole slices: exact.
    #[default]
    Exact,
    /// Samples say where in its slice time is that is too finely cut to be listed.
    Sampled,
    /// The rest of a slice's sums, in proportion.
    Shared,
}

/// A part of a column, as a picture stacks them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Share {
    /// What the thread did.
    pub activity: Activity,
    /// How it is drawn.
    pub look: Look,
    /// The part of the column's time, 0 to 1.
    pub part: f64,
}

/// How time is drawn. Only a thread on a CPU is shown at work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    /// On a CPU: in its state's colour.
    Solid,
    /// Waiting off CPUs: in its state's colour, pale.
    Pale,
    /// Off CPUs in a state of work: hatched, in no state's colour.
    Hatched,
}

impl Look {
    /// Of time in a state.
    pub const fn of(activity: Activity, is_on_cpu: bool) -> Look {
        match activity.family() {
            _ if is_on_cpu => Look::Solid,
            Family::Serial | Family::Work | Family::Runtime => Look::Hatched,
            _ => Look::Pale,
        }
    }
}

impl Slot {
    /// Nanoseconds by [`Activity`], on CPUs and off.
    pub fn times(&self) -> [f64; Activity::COUNT] {
        std::array::from_fn(|at| self.on_cpu[at] + self.off_cpu[at])
    }

    /// The activity that most of the time went to; `None` where the thread did not live.
    pub fn main(&self) -> Option<Activity> {
        let times = self.times();
        let all = Activity::ALL.iter().zip(&times);
        let most = all.max_by(|(_, left), (_, right)| left.total_cmp(right));
        most.filter(|(_, time)| **time > 0.0)
            .map(|(activity, _)| *activity)
    }

    /// The parts of the column that have any time, as they are stacked: what was on a CPU first, each in the
    /// legend's order. They are less than 1 together where the thread did not live all the time.
    pub fn shares(&self) -> impl Iterator<Item = Share> + '_ {
        let of = |times: &'_ [f64; Activity::COUNT], is_on_cpu| {
            let all = Activity::ALL.into_iter().zip(*times);
            all.map(move |(activity, time)| Share {
                activity,
                look: Look::of(activity, is_on_cpu),
                part: time / self.length,
            })
        };
        let all = of(&self.on_cpu, true).chain(of(&self.off_cpu, false));
        all.filter(|share| share.part > 0.0)
    }

    /// The part of the time that the thread was on a CPU, 0 to 1.
    pub fn running(&self) -> f64 {
        let all: f64 = self.scheduling.iter().sum();
        if all > 0.0 {
            self.scheduling[Scheduling::Running as usize] / all
        } else {
            0.0
        }
    }

    /// Where the kernel had it for most of its time; `None` where it did not live.
    pub fn main_scheduling(&self) -> Option<Scheduling> {
        let most = Scheduling::ALL
            .into_iter()
            .max_by(|left, right| self.time(*left).total_cmp(&self.time(*right)));
        most.filter(|scheduling| self.time(*scheduling) > 0.0)
    }

    fn time(&self, scheduling: Scheduling) -> f64 {
        self.scheduling[scheduling as usize]
    }

    pub(super) fn add(&mut self, (activity, scheduling): Kind, time: f64) {
        let times = match scheduling {
            Scheduling::Running => &mut self.on_cpu,
            _ => &mut self.off_cpu,
        };
        times[activity.number()] += time;
        self.scheduling[scheduling as usize] += time;
    }

    /// Adds what another part of the run has of the same column.
    pub(super) fn merge(&mut self, other: &Slot) {
        let pairs = [
            (&mut self.on_cpu[..], &other.on_cpu[..]),
            (&mut self.off_cpu, &other.off_cpu),
            (&mut self.scheduling, &other.scheduling),
        ];
        for (to, from) in pairs {
            to.iter_mut().zip(from).for_each(|(to, from)| *to += from);
        }
        self.sink(other.precision);
        self.cpu = self.cpu.or(other.cpu);
    }

    pub(super) fn sink(&mut self, precision: Precision) {
        self.precision = self.precision.max(precision);
    }
}

/// What time is summed by.
pub(super) type Kind = (Activity, Scheduling);
