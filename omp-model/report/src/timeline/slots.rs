//! The columns of a thread's row.

use std::ops::Range;

use experiment::ids::ThreadId;
use experiment::rows::{Interval, SLICE, Sample};
use experiment::state::Scheduling;

use super::activity::Activity;
use super::rows::Timeline;
use super::spells::{Spell, main_activity};
use super::window::Window;

/// What a thread did in one column's range of time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Slot {
    /// Nanoseconds by [`Activity`].
    pub times: [f64; Activity::COUNT],
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
    /// Samples within time that is too finely cut to be listed.
    Sampled,
    /// The rest of a slice's sums, in proportion.
    Shared,
}

impl Slot {
    /// The activity that most of the time went to; `None` where the thread did not live.
    pub fn main(&self) -> Option<Activity> {
        let all = Activity::ALL.iter().zip(&self.times);
        let most = all.max_by(|(_, left), (_, right)| left.total_cmp(right));
        most.filter(|(_, time)| **time > 0.0)
            .map(|(activity, _)| *activity)
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

    fn add(&mut self, activity: Activity, scheduling: Scheduling, time: f64) {
        self.times[activity.number()] += time;
        self.scheduling[scheduling as usize] += time;
    }

    fn sink(&mut self, precision: Precision) {
        self.precision = self.precision.max(precision);
    }
}

/// The time of a slice by activity and scheduling state.
#[derive(Clone, Copy, Default)]
struct Rest {
    times: [f64; Activity::COUNT],
    scheduling: [f64; Scheduling::ALL.len()],
}

impl Timeline {
    /// A thread's row: `range` cut into `columns` equal slots.
    pub fn slots(
        &self,
        thread: ThreadId,
        range: &Range<u64>,
        columns: usize,
        window: &Window,
    ) -> Vec<Slot> {
        let row = self.row(thread, window);
        let mut sweep = Sweep::new(&row, range.start);
        let mut slots = vec![Slot::default(); columns];
        for (at, slot) in slots.iter_mut().enumerate() {
            let part = column(range, columns, at);
            let mut start = part.start.max(row.life.start);
            let end = part.end.min(row.life.end);
            while start < end {
                let slice = start / SLICE.0;
                let stop = end.min((slice + 1) * SLICE.0);
                sweep.fill(slot, slice, start..stop);
                start = stop;
            }
        }
        slots
    }

    /// The rows of one thread.
    pub(super) fn row<'a>(&'a self, thread: ThreadId, window: &'a Window) -> Row<'a> {
        Row {
            timeline: self,
            life: self.life(thread),
            spells: self.spells.of(thread),
            intervals: self.intervals.of(thread),
            samples: window.of(thread),
            activities: window.activities(thread),
        }
    }
}

/// The first row from a place on that is not `before`, by steps that double: rows nearby are found
/// soon.
fn advance<T>(rows: &[T], from: usize, before: impl Fn(&T) -> bool) -> usize {
    let (mut at, mut step) = (from, 1);
    while rows.get(at + step - 1).is_some_and(&before) {
        at += step;
        step *= 2;
    }
    let end = (at + step).min(rows.len());
    at + rows[at..end].partition_point(before)
}

/// The range of time of a column.
pub fn column(range: &Range<u64>, columns: usize, at: usize) -> Range<u64> {
    let length = u128::from(range.end - range.start);
    let edge = |at: usize| range.start + (length * at as u128 / columns.max(1) as u128) as u64;
    edge(at)..edge(at + 1)
}

/// A thread's rows.
pub(super) struct Row<'a> {
    pub(super) timeline: &'a Timeline,
    pub(super) life: Range<u64>,
    spells: &'a [Spell],
    intervals: &'a [Interval],
    pub(super) samples: &'a [Sample],
    /// What each sample shows the thread to do.
    activities: &'a [Activity],
}

/// A walk over a thread's rows by time: slots are filled from the earliest to the latest, so each
/// row is passed once.
struct Sweep<'a> {
    row: &'a Row<'a>,
    /// The first interval that is not over.
    interval: usize,
    /// The first sample that is not passed.
    sample: usize,
    slice: Slice,
}

/// A slice of time in passing.
struct Slice {
    number: u64,
    spells: Range<usize>,
    rest: Option<Rest>,
}

impl Slice {
    fn new(row: &Row<'_>, number: u64) -> Slice {
        Slice {
            number,
            spells: row.spells_in(number),
            rest: None,
        }
    }
}

impl<'a> Sweep<'a> {
    /// From a moment on.
    fn new(row: &'a Row<'a>, start: u64) -> Sweep<'a> {
        let over = |row: &Interval| row.end().0 <= start;
        Sweep {
            row,
            interval: row.intervals.partition_point(over),
            sample: row.samples.partition_point(|sample| sample.time.0 < start),
            slice: Slice::new(row, start / SLICE.0),
        }
    }

    /// Adds the time of a range that lies within a slice.
    fn fill(&mut self, slot: &mut Slot, number: u64, range: Range<u64>) {
        let row = self.row;
        let samples = self.samples_until(&range);
        if slot.cpu.is_none() {
            slot.cpu = row.samples[samples.clone()].first().map(|first| first.cpu);
        }
        let spells = self.slice(number).spells.clone();
        let spells = &row.spells[spells];
        if range == row.life_in(number) {
            for spell in spells {
                slot.add(spell.activity, spell.scheduling, spell.time);
            }
            return;
        }
        let intervals = self.intervals_until(&range);
        let mut covered = 0;
        for interval in intervals {
            let time = interval.overlap(&range);
            covered += time;
            let own = row.own_samples(interval, samples.clone());
            row.listed(slot, (spells, interval), own, time as f64);
        }
        let left = (range.end - range.start).saturating_sub(covered) as f64;
        // What rounding to microseconds leaves between two listed intervals is no time of its own.
        if left < 2_000.0 && covered > 0 {
            return;
        }
        let unlisted = |at: &usize| {
            let time = row.samples[*at].time.0;
            let covers = |row: &Interval| row.start.0 <= time && time < row.end().0;
            // Intervals follow each other.
            let after = intervals.partition_point(|row| row.start.0 <= time);
            !after
                .checked_sub(1)
                .is_some_and(|at| covers(&intervals[at]))
        };
        let seen = samples.clone().filter(unlisted).count();
        let share = left / seen as f64;
        for at in samples.filter(unlisted) {
            slot.times[row.activities[at].number()] += share;
        }
        let rest = self.rest(number);
        if seen == 0 {
            spread(&mut slot.times, &rest.times, left);
        }
        slot.sink(match seen {
            0 => Precision::Shared,
            _ => Precision::Sampled,
        });
        spread(&mut slot.scheduling, &rest.scheduling, left);
    }

    /// The samples of the next range.
    fn samples_until(&mut self, range: &Range<u64>) -> Range<usize> {
        let from = |at: usize, time: u64| {
            let rows = self.row.samples[at..].iter();
            at + rows.take_while(|sample| sample.time.0 < time).count()
        };
        let start = from(self.sample, range.start);
        let end = from(start, range.end);
        self.sample = end;
        start..end
    }

    /// The intervals that overlap the next range.
    fn intervals_until(&mut self, range: &Range<u64>) -> &'a [Interval] {
        let all = self.row.intervals;
        let over = |row: &&Interval| row.end().0 <= range.start;
        let passed = all[self.interval..].iter().take_while(over).count();
        self.interval += passed;
        let begun = |row: &&Interval| row.start.0 < range.end;
        let count = all[self.interval..].iter().take_while(begun).count();
        &all[self.interval..self.interval + count]
    }

    fn slice(&mut self, number: u64) -> &mut Slice {
        if self.slice.number != number {
            // Time goes on: what follows is near, while a search of a long recording's would miss
            // the cache at every step.
            let from = if number > self.slice.number {
                self.slice.spells.end
            } else {
                0
            };
            self.slice = Slice {
                number,
                spells: self.row.spells_from(from, number),
                rest: None,
            };
        }
        &mut self.slice
    }

    fn rest(&mut self, number: u64) -> Rest {
        let row = self.row;
        *self
            .slice(number)
            .rest
            .get_or_insert_with(|| row.rest(number))
    }
}

impl Row<'_> {
    /// The samples among some that an interval's time was taken by.
    fn own_samples(
        &self,
        row: &Interval,
        among: Range<usize>,
    ) -> impl Iterator<Item = usize> + Clone {
        let within = row.start.0..row.end().0;
        let (thread_state, scheduling) = (row.thread_state, row.scheduling);
        let samples = self.samples;
        among.filter(move |&at| {
            let sample = &samples[at];
            within.contains(&sample.time.0)
                && (sample.thread_state, sample.kind.scheduling()) == (thread_state, scheduling)
        })
    }

    /// Adds the time of a listed interval within a range: what its samples there show, else what
    /// most of its slice's time like it was.
    fn listed(
        &self,
        slot: &mut Slot,
        (spells, row): (&[Spell], &Interval),
        own: impl Iterator<Item = usize> + Clone,
        time: f64,
    ) {
        let seen = own.clone().count();
        if seen == 0 {
            let main = main_activity(spells, row.thread_state, row.scheduling);
            let activity = main.unwrap_or_else(|| self.timeline.activity(row.thread_state));
            slot.add(activity, row.scheduling, time);
            return;
        }
        for at in own {
            slot.add(self.activities[at], row.scheduling, time / seen as f64);
        }
    }

    fn life_in(&self, slice: u64) -> Range<u64> {
        self.life.start.max(slice * SLICE.0)..self.life.end.min((slice + 1) * SLICE.0)
    }

    fn spells_in(&self, slice: u64) -> Range<usize> {
        let start = self.spells.partition_point(|spell| spell.slice < slice);
        start..advance(self.spells, start, |spell| spell.slice <= slice)
    }

    /// The spells of a slice, if none of them stands before `from`.
    fn spells_from(&self, from: usize, slice: u64) -> Range<usize> {
        let start = advance(self.spells, from, |spell| spell.slice < slice);
        start..advance(self.spells, start, |spell| spell.slice <= slice)
    }

    pub(super) fn spells_of(&self, slice: u64) -> &[Spell] {
        &self.spells[self.spells_in(slice)]
    }

    /// The listed intervals that overlap a range.
    pub(super) fn intervals_in(&self, range: &Range<u64>) -> impl Iterator<Item = &Interval> {
        let start = self
            .intervals
            .partition_point(|row| row.start.0 < range.start);
        let stop = self
            .intervals
            .partition_point(|row| row.start.0 < range.end);
        let near = &self.intervals[start.saturating_sub(1)..stop];
        let range = range.clone();
        near.iter().filter(move |row| row.overlap(&range) > 0)
    }

    pub(super) fn samples_in(&self, range: &Range<u64>) -> &[Sample] {
        let start = self
            .samples
            .partition_point(|sample| sample.time.0 < range.start);
        let end = self
            .samples
            .partition_point(|sample| sample.time.0 < range.end);
        &self.samples[start..end]
    }

    /// The nearest sample to a range without one, if no listed interval lies between.
    pub(super) fn nearest(&self, range: &Range<u64>) -> Option<&Sample> {
        let after = self
            .samples
            .partition_point(|sample| sample.time.0 < range.start);
        let before = after.checked_sub(1).and_then(|at| self.samples.get(at));
        let near = |sample: &&Sample| {
            let between = if sample.time.0 < range.start {
                sample.time.0..range.end
            } else {
                range.start..sample.time.0 + 1
            };
            self.intervals_in(&between).next().is_none()
        };
        let both = [before, self.samples.get(after)];
        let both = both.into_iter().flatten().filter(near);
        both.min_by_key(|sample| sample.time.0.abs_diff(range.start))
    }

    /// What a slice's sums leave over after its listed intervals.
    fn rest(&self, slice: u64) -> Rest {
        let mut rest = Rest::default();
        for spell in self.spells_of(slice) {
            rest.times[spell.activity.number()] += spell.time;
            rest.scheduling[spell.scheduling as usize] += spell.time;
        }
        let range = slice * SLICE.0..(slice + 1) * SLICE.0;
        for row in self.intervals_in(&range) {
            let time = row.overlap(&range) as f64;
            let main = main_activity(self.spells_of(slice), row.thread_state, row.scheduling);
            let activity = main.unwrap_or_else(|| self.timeline.activity(row.thread_state));
            rest.times[activity.number()] -= time;
            rest.scheduling[row.scheduling as usize] -= time;
        }
        for left in rest.times.iter_mut().chain(&mut rest.scheduling) {
            *left = left.max(0.0);
        }
        rest
    }
}

/// Adds `time` in the proportions of `weights`; nothing if they are all zero.
fn spread<const N: usize>(to: &mut [f64; N], weights: &[f64; N], time: f64) {
    let all: f64 = weights.iter().sum();
    if all > 0.0 {
        for (to, weight) in to.iter_mut().zip(weights) {
            *to += time * weight / all;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::advance;

    #[test]
    fn a_search_from_a_place_finds_what_a_search_of_all_finds() {
        let rows = [0, 0, 1, 1, 1, 4, 4, 7, 9, 9, 9, 9];
        for wanted in 0..11 {
            let whole = rows.partition_point(|&row| row < wanted);
            for from in 0..=whole {
                assert_eq!(advance(&rows, from, |&row| row < wanted), whole);
            }
        }
        assert_eq!(advance(&[] as &[u8], 0, |_| true), 0);
    }
}
