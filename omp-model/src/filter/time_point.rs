//! Values at a point in time that may differ within an item.

use experiment::rows::{Interval, SLICE, Sample, Within};
use experiment::state::Scheduling;

use super::cpus::{NOWHERE, cpu_of};
use super::parse::Parsed;
use super::words::Word;
use crate::profile::Item;

/// The number of an instance that exists but is unknown.
pub(super) const UNKNOWN: i64 = -1;

/// A point in time; `None` for values that are not known.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct TimePoint {
    pub(super) time: Option<i64>,
    pub(super) cpu: Option<i64>,
    /// Instances, as [`Within`]; [`UNKNOWN`] if no sample tells.
    pub(super) region: Option<i64>,
    pub(super) task: Option<i64>,
}

impl TimePoint {
    /// The values that an item gives for all its points in time: off CPU, no CPU.
    pub(super) fn of_item(item: &Item) -> TimePoint {
        TimePoint {
            cpu: (item.scheduling != Scheduling::Running).then_some(NOWHERE),
            ..TimePoint::default()
        }
    }

    pub(super) fn of_sample(sample: &Sample) -> TimePoint {
        let at = TimePoint {
            time: Some(sample.time.0 as i64),
            cpu: Some(cpu_of(sample)),
            ..TimePoint::default()
        };
        at.within(sample.within)
    }

    /// Off CPU, in a listed interval.
    pub(super) fn of_interval(interval: &Interval) -> TimePoint {
        let at = TimePoint {
            cpu: Some(NOWHERE),
            ..TimePoint::default()
        };
        at.within(interval.within)
    }

    /// On a CPU, in unknown instances.
    pub(super) fn somewhere(cpu: i64) -> TimePoint {
        TimePoint {
            time: None,
            cpu: Some(cpu),
            region: Some(UNKNOWN),
            task: Some(UNKNOWN),
        }
    }

    pub(super) fn at(self, time: i64) -> TimePoint {
        TimePoint {
            time: Some(time),
            ..self
        }
    }

    /// Sets the instances. A construct has an instance, so the number 0 means that it was lost.
    fn within(self, within: Within) -> TimePoint {
        let number = |number: u64| match number {
            0 => UNKNOWN,
            known => i64::try_from(known).unwrap_or(i64::MAX),
        };
        TimePoint {
            region: Some(number(within.region)),
            task: Some(number(within.task)),
            ..self
        }
    }
}

/// The slice of an item, in nanoseconds.
pub(super) fn second(item: &Item) -> (i64, i64) {
    let length = SLICE.0 as i64;
    let start = i64::from(item.slice) * length;
    (start, start + length)
}

/// Representative numbers of instances: any other number compares with the filter's numbers like
/// one of these. Empty for a filter with very many numbers, which is not tested this way.
pub(super) fn typical(parsed: &Parsed, word: Word) -> Vec<i64> {
    const MOST: usize = 64;
    if !parsed.words.contains(&word) {
        return vec![UNKNOWN];
    }
    let near = |&at: &i64| [at.saturating_sub(1), at, at.saturating_add(1)];
    let near = parsed.numbers.iter().flat_map(near);
    let mut all: Vec<i64> = near.chain([1, i64::MAX]).filter(|&at| at >= 1).collect();
    all.sort_unstable();
    all.dedup();
    if all.len() > MOST { Vec::new() } else { all }
}
