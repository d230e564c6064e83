//! The columns of a thread's row.

use std::ops::Range;

use experiment::ids::ThreadId;
use experiment::rows::{Interval, SLICE, Sample};

use super::activity::Activity;
use super::balance::balanced;
use super::rows::Timeline;
use super::slot::{Kind, Precision, Slot};
use super::spells::{Spell, main_activity};
use super::window::Window;

impl Timeline {
    /// A thread's row: `range` cut into `columns` equal slots.
    ///
    /// A slice that is in several columns has the same sums in them together as in the tables, where its samples
    /// are all in the window.
    pub fn slots(
        &self,
        thread: ThreadId,
        range: &Range<u64>,
        columns: usize,
        window: &Window,
    ) -> Vec<Slot> {
        self.slots_of_part(thread, (range, columns), range, window)
    }

    /// What a part of the range has of the slots that it touches, see [`touched`].
    pub(super) fn slots_of_part(
        &self,
        thread: ThreadId,
        (range, columns): (&Range<u64>, usize),
        part: &Range<u64>,
        window: &Window,
    ) -> Vec<Slot> {
        let row = self.row(thread, window);
        let mut sweep = Sweep::new(&row, part);
        let numbers = touched(range, columns, part);
        let mut slots = vec![Slot::default(); numbers.len()];
        for (at, number) in numbers.enumerate() {
            let column = column(range, columns, number);
            slots[at].length = (column.end - column.start) as f64;
            let mut start = column.start.max(part.start).max(row.life.start);
            let end = column.end.min(part.end).min(row.life.end);
            while start < end {
                let slice = start / SLICE.0;
                let stop = end.min((slice + 1) * SLICE.0);
                if sweep.slice.number != slice {
                    sweep.settle(&mut slots);
                    sweep.enter(slice);
                }
                sweep.fill((at, &mut slots[at]), start..stop);
                start = stop;
            }
        }
        sweep.settle(&mut slots);
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
            window,
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

/// The numbers of the columns that a part of a range touches.
pub(super) fn touched(range: &Range<u64>, columns: usize, part: &Range<u64>) -> Range<usize> {
    let begins_before = |time: u64| {
        let (mut low, mut high) = (0, columns);
        while low < high {
            let middle = (low + high) / 2;
            if column(range, columns, middle).start < time {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    };
    let end = begins_before(part.end);
    begins_before(part.start + 1).saturating_sub(1).min(end)..end
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
    window: &'a Window,
}

/// A walk over a thread's rows by time: slots are filled from the earliest to the latest, so each
/// row is passed once.
struct Sweep<'a> {
    row: &'a Row<'a>,
    /// The time of all columns.
    range: Range<u64>,
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
    /// What listed intervals have of it.
    listed: Vec<(Kind, f64)>,
    /// Its pieces with time that is not listed.
    open: Vec<Piece>,
}

/// What is not listed of a column in a slice.
struct Piece {
    /// The column; `None`: what is out of sight.
    column: Option<usize>,
    /// Nanoseconds.
    time: f64,
    /// What its samples show.
    seen: Vec<Kind>,
}

impl<'a> Sweep<'a> {
    fn new(row: &'a Row<'a>, range: &Range<u64>) -> Sweep<'a> {
        let over = |row: &Interval| row.end().0 <= range.start;
        let number = range.start / SLICE.0;
        Sweep {
            row,
            range: range.clone(),
            interval: row.intervals.partition_point(over),
            sample: row
                .samples
                .partition_point(|sample| sample.time.0 < range.start),
            slice: Slice {
                number,
                spells: row.spells_in(number),
                listed: Vec::new(),
                open: Vec::new(),
            },
        }
    }

    /// Goes on to a later slice.
    fn enter(&mut self, number: u64) {
        // What follows is near, while a search of a long recording's would miss the cache at every step.
        self.slice.spells = self.row.spells_from(self.slice.spells.end, number);
        self.slice.number = number;
        self.slice.listed.clear();
    }

    /// Adds the time of a range of a column that lies within the slice, but for what
    /// [`Sweep::settle`] adds.
    fn fill(&mut self, (column, slot): (usize, &mut Slot), range: Range<u64>) {
        let row = self.row;
        let samples = self.samples_until(&range);
        if slot.cpu.is_none() {
            slot.cpu = row.samples[samples.clone()].first().map(|first| first.cpu);
        }
        if range == row.life_in(self.slice.number) {
            for spell in &row.spells[self.slice.spells.clone()] {
                slot.add((spell.activity, spell.scheduling), spell.time);
            }
            return;
        }
        let intervals = self.intervals_until(&range);
        let first = self.slice.listed.len();
        let mut piece = self.piece(intervals, samples, &range);
        let listed = &mut self.slice.listed[first..];
        let covered: f64 = listed.iter().map(|(_, time)| time).sum();
        // What rounding to microseconds leaves between two listed intervals is no time of its own.
        if piece.time < 2_000.0 && covered > 0.0 {
            let stretch = 1.0 + piece.time / covered;
            listed.iter_mut().for_each(|(_, time)| *time *= stretch);
            piece.time = 0.0;
        }
        for &(kind, time) in listed.iter() {
            slot.add(kind, time);
        }
        if piece.time > 0.0 {
            piece.column = Some(column);
            self.slice.open.push(piece);
        }
    }

    /// Adds what intervals have of a range to what is listed. Returns what is left of it.
    fn piece(
        &mut self,
        intervals: &[Interval],
        samples: Range<usize>,
        range: &Range<u64>,
    ) -> Piece {
        let row = self.row;
        let spells = &row.spells[self.slice.spells.clone()];
        let mut covered = 0;
        for interval in intervals {
            let time = interval.overlap(range);
            covered += time;
            let own = row.own_samples(interval, samples.clone());
            row.listed(&mut self.slice.listed, (spells, interval), own, time as f64);
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
        let kind = |at: usize| (row.activities[at], row.samples[at].kind.scheduling());
        Piece {
            column: None,
            time: (range.end - range.start).saturating_sub(covered) as f64,
            seen: samples.filter(unlisted).map(kind).collect(),
        }
    }

    /// Divides what the slice's sums leave over after its listed intervals among its pieces without
    /// them, as their samples say.
    fn settle(&mut self, slots: &mut [Slot]) {
        let mut pieces = std::mem::take(&mut self.slice.open);
        if pieces.is_empty() {
            return;
        }
        pieces.extend(self.out_of_sight());
        let spells = self.row.spells[self.slice.spells.clone()].iter();
        let sums = spells.map(|it| ((it.activity, it.scheduling), it.time));
        let listed = self.slice.listed.iter().map(|&(kind, time)| (kind, -time));
        let mut rest: Vec<(Kind, f64)> = Vec::new();
        for (kind, time) in sums.chain(listed) {
            match rest.iter_mut().find(|(known, _)| *known == kind) {
                Some((_, sum)) => *sum += time,
                None => rest.push((kind, time)),
            }
        }
        rest.retain(|(_, time)| *time > 0.0);
        if rest.is_empty() {
            // Sums may follow, of a recording that grows: samples alone say something.
            for &kind in pieces.iter().flat_map(|piece| &piece.seen) {
                match rest.iter_mut().find(|(known, _)| *known == kind) {
                    Some((_, sum)) => *sum += 1.0,
                    None => rest.push((kind, 1.0)),
                }
            }
        }
        let times: Vec<f64> = pieces.iter().map(|piece| piece.time).collect();
        let mut sums: Vec<f64> = rest.iter().map(|(_, sum)| *sum).collect();
        // A thread has no sums while recording is paused: as the last kind, that is drawn as nothing.
        let (time, known): (f64, f64) = (times.iter().sum(), sums.iter().sum());
        sums.push(
            if self.slice.spells.is_empty() || time - known < 0.001 * time {
                0.0
            } else {
                time - known
            },
        );
        let weights = pieces.iter().map(|piece| {
            let seen = |kind: Kind| piece.seen.iter().filter(|seen| **seen == kind).count();
            let of_kinds = rest.iter().map(|&(kind, _)| seen(kind) as f64);
            of_kinds.chain([0.0]).collect()
        });
        let divided = balanced(weights.collect(), &times, &sums);
        for (piece, parts) in pieces.iter().zip(divided) {
            let Some(column) = piece.column else {
                continue;
            };
            slots[column].sink(if piece.seen.is_empty() {
                Precision::Shared
            } else {
                Precision::Sampled
            });
            for (&(kind, _), time) in rest.iter().zip(parts) {
                slots[column].add(kind, time);
            }
        }
    }

    /// What the slice has before and behind the columns.
    fn out_of_sight(&mut self) -> Vec<Piece> {
        let row = self.row;
        let life = row.life_in(self.slice.number);
        let knows_samples = row.window.has_all(&life);
        let before = life.start..self.range.start.min(life.end);
        let after = self.range.end.max(life.start)..life.end;
        let parts = [before, after].into_iter().filter(|part| !part.is_empty());
        let pieces = parts.map(|part| {
            let intervals = row.intervals_in(&part);
            let samples = row.numbers_of_samples(&part);
            let mut piece = self.piece(intervals, samples, &part);
            if !knows_samples {
                piece.seen.clear();
            }
            piece
        });
        pieces.filter(|piece| piece.time > 0.0).collect()
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
}

impl<'a> Row<'a> {
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
        to: &mut Vec<(Kind, f64)>,
        (spells, row): (&[Spell], &Interval),
        own: impl Iterator<Item = usize> + Clone,
        time: f64,
    ) {
        let seen = own.clone().count();
        if seen == 0 {
            let main = main_activity(spells, row.thread_state, row.scheduling);
            let activity = main.unwrap_or_else(|| self.timeline.activity(row.thread_state));
            to.push(((activity, row.scheduling), time));
            return;
        }
        let each = time / seen as f64;
        to.extend(own.map(|at| ((self.activities[at], row.scheduling), each)));
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
    pub(super) fn intervals_in(&self, range: &Range<u64>) -> &'a [Interval] {
        // They follow each other.
        let start = self
            .intervals
            .partition_point(|row| row.end().0 <= range.start);
        let stop = self
            .intervals
            .partition_point(|row| row.start.0 < range.end);
        &self.intervals[start..stop.max(start)]
    }

    pub(super) fn samples_in(&self, range: &Range<u64>) -> &[Sample] {
        &self.samples[self.numbers_of_samples(range)]
    }

    fn numbers_of_samples(&self, range: &Range<u64>) -> Range<usize> {
        let before = |time: u64| self.samples.partition_point(|it| it.time.0 < time);
        before(range.start)..before(range.end)
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
            self.intervals_in(&between).is_empty()
        };
        let both = [before, self.samples.get(after)];
        let both = both.into_iter().flatten().filter(near);
        both.min_by_key(|sample| sample.time.0.abs_diff(range.start))
    }
}

#[cfg(test)]
mod tests {
    use super::{advance, column, touched};

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

    #[test]
    fn a_part_touches_the_columns_that_have_any_of_it() {
        for (range, columns) in [(0..100, 7), (5..1_000, 400), (0..3, 5)] {
            for (start, end) in [(0, 1), (3, 50), (6, 7), (14, 15), (20, 100)] {
                let part = range.start.max(start)..range.end.min(end);
                let has_any = |at: &usize| {
                    let column = column(&range, columns, *at);
                    column.start.max(part.start) < column.end.min(part.end)
                };
                let expected: Vec<usize> = (0..columns).filter(has_any).collect();
                let found: Vec<usize> = touched(&range, columns, &part).filter(has_any).collect();
                assert_eq!(found, expected, "{range:?} {columns} {part:?}");
            }
        }
        assert_eq!(touched(&(0..100), 10, &(0..100)), 0..10);
        assert_eq!(touched(&(0..100), 10, &(30..40)), 3..4);
    }
}
