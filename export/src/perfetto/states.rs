//! What a thread did at each time of its life, as far as the recording tells.
//!
//! Listed intervals are exact. Between them states are too short to be listed: there a sample tells the state
//! for a sampling period before it and after it, or up to halfway to the next one, and the rest is said to be
//! not listed.

use std::ops::Range;

use experiment::rows::Interval;
use report::timeline::Activity;

/// A part of a thread's life.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Piece<'a> {
    pub(super) start: u64,
    pub(super) end: u64,
    pub(super) shown: Shown<'a>,
}

/// What tells of a piece.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Shown<'a> {
    /// A listed interval.
    Listed(&'a Interval),
    /// Samples.
    Sampled(Activity),
    /// Nothing: several short states.
    NotListed,
}

/// What rounding to microseconds leaves between two listed intervals is no time of its own.
const ROUNDING: u64 = 2_000;

/// The pieces of a thread's life, each as soon as it is known.
pub(super) struct States<'a> {
    intervals: &'a [Interval],
    /// Up to when pieces were given.
    at: u64,
    end: u64,
    period: u64,
    /// A piece that samples tell, and the time of its last sample. Further samples move its end.
    run: Option<(Range<u64>, Activity, u64)>,
}

impl<'a> States<'a> {
    /// `intervals` are those of the thread by their start; `period` is that of its samples.
    pub(super) fn new(intervals: &'a [Interval], life: &Range<u64>, period: u64) -> States<'a> {
        States {
            intervals,
            at: life.start,
            end: life.end,
            period,
            run: None,
        }
    }

    /// Takes the next sample.
    pub(super) fn sample(
        &mut self,
        time: u64,
        activity: Activity,
        give: &mut impl FnMut(Piece<'a>),
    ) {
        self.intervals_until(time, give);
        if time < self.at || time >= self.end {
            return;
        }
        let from = time.saturating_sub(self.period).max(self.at);
        let until = (time + self.period).min(self.end);
        match &mut self.run {
            Some((range, known, last)) if from <= range.end => {
                if *known == activity {
                    range.end = range.end.max(until);
                    *last = time.max(*last);
                    return;
                }
                let middle = (*last + time.max(*last)) / 2;
                range.end = middle.max(range.start);
                let start = range.end;
                self.close_run(start, give);
                self.run = Some((start..until.max(start), activity, time));
            }
            _ => {
                self.close_run(from, give);
                self.not_listed(from, give);
                self.run = Some((from..until, activity, time));
            }
        }
    }

    /// Gives what is left at the end.
    pub(super) fn finish(mut self, give: &mut impl FnMut(Piece<'a>)) {
        self.intervals_until(u64::MAX, give);
        self.close_run(self.end, give);
        self.not_listed(self.end, give);
    }

    /// Gives the listed intervals that begin at a time or before it.
    fn intervals_until(&mut self, time: u64, give: &mut impl FnMut(Piece<'a>)) {
        while let Some((row, rest)) = self.intervals.split_first() {
            if row.start.0 > time {
                return;
            }
            self.intervals = rest;
            // Rounding may make neighbours overlap.
            let start = row.start.0.max(self.at).min(self.end);
            let end = row.end().0.min(self.end);
            self.close_run(start, give);
            let start = if start - self.at < ROUNDING {
                self.at
            } else {
                start
            };
            self.not_listed(start, give);
            self.give(end, Shown::Listed(row), give);
        }
    }

    /// Gives the piece that samples tell, which ends at a time or before it.
    fn close_run(&mut self, time: u64, give: &mut impl FnMut(Piece<'a>)) {
        if let Some((range, activity, _)) = self.run.take() {
            self.not_listed(range.start, give);
            self.give(range.end.min(time), Shown::Sampled(activity), give);
        }
    }

    fn not_listed(&mut self, until: u64, give: &mut impl FnMut(Piece<'a>)) {
        self.give(until, Shown::NotListed, give);
    }

    fn give(&mut self, end: u64, shown: Shown<'a>, give: &mut impl FnMut(Piece<'a>)) {
        if end > self.at {
            let start = self.at;
            give(Piece { start, end, shown });
            self.at = end;
        }
    }
}

#[cfg(test)]
mod tests {
    use experiment::ids::{Nanos, ThreadId, ThreadStateId};
    use experiment::rows::Within;
    use experiment::state::Scheduling;
    use omp_model::states::RefinedState;

    use super::*;

    const US: u64 = 1_000;

    fn listed(start: u64, length: u64) -> Interval {
        Interval {
            thread: ThreadId(0),
            start: Nanos(start * US),
            length: Nanos(length * US),
            thread_state: ThreadStateId(0),
            scheduling: Scheduling::Running,
            within: Within::default(),
        }
    }

    /// Pieces in microseconds: `l` listed, `w` work, `i` idle, `-` not listed.
    fn pieces(intervals: &[Interval], life: Range<u64>, samples: &[(u64, Activity)]) -> String {
        let life = life.start * US..life.end * US;
        let mut states = States::new(intervals, &life, 10 * US);
        let mut told = Vec::new();
        let mut give = |piece: Piece<'_>| {
            let letter = match piece.shown {
                Shown::Listed(_) => 'l',
                Shown::Sampled(Activity::State(RefinedState::Work)) => 'w',
                Shown::Sampled(_) => 'i',
                Shown::NotListed => '-',
            };
            told.push((letter, piece.start..piece.end));
        };
        for &(time, activity) in samples {
            states.sample(time * US, activity, &mut give);
        }
        states.finish(&mut give);
        // They are the whole life without holes.
        let mut at = life.start;
        for (_, range) in &told {
            assert_eq!(range.start, at);
            assert!(range.end > range.start);
            at = range.end;
        }
        assert_eq!(at, life.end);
        let told = told.iter();
        let told =
            told.map(|(letter, range)| format!("{letter}{}", (range.end - range.start) / US));
        told.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn a_life_is_divided_into_what_is_known_and_what_is_not() {
        let (work, idle) = (
            Activity::State(RefinedState::Work),
            Activity::State(RefinedState::Idle),
        );
        assert_eq!(pieces(&[], 5..5, &[]), "");
        assert_eq!(pieces(&[], 0..100, &[]), "-100");
        assert_eq!(pieces(&[], 0..100, &[(50, work)]), "-40 w20 -40");
        // Neighbours that are alike are one; others meet in the middle.
        let near = [(20, work), (30, work), (40, idle)];
        assert_eq!(pieces(&[], 0..100, &near), "-10 w25 i15 -50");
        // A sample in a listed interval tells nothing more.
        let both = [listed(30, 20), listed(51, 9)];
        let samples = [(25, work), (40, idle), (65, idle)];
        assert_eq!(pieces(&both, 0..100, &samples), "-15 w15 l20 l10 i15 -25");
        // Intervals that overlap by rounding, and end after the thread.
        let rounded = [listed(0, 11), listed(10, 200)];
        assert_eq!(pieces(&rounded, 0..100, &[(5, work)]), "l11 l89");
        // Samples out of order and outside of its life.
        let samples = [(60, work), (58, idle), (7, idle), (300, idle)];
        assert!(pieces(&[], 50..100, &samples).starts_with("w"));
    }
}
