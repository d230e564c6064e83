//! How many of some intervals cover a moment.

use experiment::ids::ThreadId;
use rustc_hash::FxHashMap;

/// Intervals of threads, which may overlap, as a number over time.
#[derive(Debug, Default)]
pub(super) struct Coverage(FxHashMap<ThreadId, Vec<Step>>);

/// From here on so many.
#[derive(Clone, Copy, Debug)]
struct Step {
    at: u64,
    number: u64,
    /// The time covered before, each interval's by itself.
    before: u128,
}

impl Step {
    fn until(&self, time: u64) -> u128 {
        self.before + u128::from(self.number) * u128::from(time - self.at)
    }
}

impl Coverage {
    /// That of intervals: thread, begin and end. It holds 32 bytes for each end of one.
    pub(super) fn of(intervals: &[(ThreadId, u64, u64)]) -> Coverage {
        let mut coverage = Coverage::default();
        for &(thread, from, to) in intervals.iter().filter(|it| it.1 < it.2) {
            let steps = coverage.0.entry(thread).or_default();
            // A step's number is first how many intervals begin there, or end.
            for (at, number) in [(from, 1), (to, u64::MAX)] {
                steps.push(Step {
                    at,
                    number,
                    before: 0,
                });
            }
        }
        for steps in coverage.0.values_mut() {
            steps.sort_unstable_by_key(|it| it.at);
            steps.dedup_by(|step, last| {
                let is_same = step.at == last.at;
                if is_same {
                    last.number = last.number.wrapping_add(step.number);
                }
                is_same
            });
            let mut last: Option<Step> = None;
            for step in steps.iter_mut() {
                if let Some(last) = last {
                    step.number = last.number.wrapping_add(step.number);
                    step.before = last.until(step.at);
                }
                last = Some(*step);
            }
            steps.shrink_to_fit();
        }
        coverage
    }

    /// How many cover a moment of a thread.
    pub(super) fn at(&self, thread: ThreadId, time: u64) -> u64 {
        self.last(thread, time).map_or(0, |it| it.number)
    }

    /// How long they cover a time of a thread, each by itself, in nanoseconds.
    pub(super) fn over(&self, thread: ThreadId, from: u64, to: u64) -> f64 {
        let until = |time| self.last(thread, time).map_or(0, |it| it.until(time));
        until(to).saturating_sub(until(from)) as f64
    }

    fn last(&self, thread: ThreadId, time: u64) -> Option<&Step> {
        let steps = self.0.get(&thread)?;
        let after = steps.partition_point(|it| it.at <= time);
        steps[..after].last()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_that_overlap_count_each_by_itself() {
        let [one, other, none] = [1, 2, 3].map(ThreadId);
        let covered = Coverage::of(&[
            (one, 10, 20),
            (one, 15, 40),
            (other, 0, 5),
            (one, 20, 30),
            (one, 7, 7),
        ]);
        let at = |time| covered.at(one, time);
        assert_eq!([9, 10, 15, 20, 29, 30, 40].map(at), [0, 1, 2, 2, 2, 1, 0]);
        assert_eq!(covered.over(one, 0, 100), 45.0);
        assert_eq!(covered.over(one, 12, 18), 9.0);
        assert_eq!(covered.over(other, 3, 9), 2.0);
        assert_eq!((covered.at(none, 3), covered.over(none, 0, 9)), (0, 0.0));
    }
}
