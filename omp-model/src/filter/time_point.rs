//! What is known of a moment beyond the item of time that it belongs to.

use super::cpus::{NOWHERE, cpu_of};
use super::parse::Parsed;
use super::words::Word;
use crate::profile::Item;
use crate::rows::{Interval, SLICE, Sample, Within};
use crate::state::Presence;

/// The number of an instance of which nothing is known but that there is one.
pub(super) const UNKNOWN: i64 = -1;

/// A moment, as far as it is known; `None`: it is not given.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Moment {
    pub(super) time: Option<i64>,
    pub(super) cpu: Option<i64>,
    /// Instances, as [`Within`]; [`UNKNOWN`] where no sample tells.
    pub(super) region: Option<i64>,
    pub(super) task: Option<i64>,
}

impl Moment {
    /// All that an item says of its moments: off the CPU they are on none.
    pub(super) fn of_item(item: &Item) -> Moment {
        Moment {
            cpu: (item.presence != Presence::Running).then_some(NOWHERE),
            ..Moment::default()
        }
    }

    pub(super) fn of_sample(sample: &Sample) -> Moment {
        let at = Moment {
            time: Some(sample.time.0 as i64),
            cpu: Some(cpu_of(sample)),
            ..Moment::default()
        };
        at.within(sample.within)
    }

    /// Off the CPU, in a listed interval.
    pub(super) fn of_interval(interval: &Interval) -> Moment {
        let at = Moment {
            cpu: Some(NOWHERE),
            ..Moment::default()
        };
        at.within(interval.within)
    }

    /// On a CPU, in instances of which no sample tells.
    pub(super) fn somewhere(cpu: i64) -> Moment {
        Moment {
            time: None,
            cpu: Some(cpu),
            region: Some(UNKNOWN),
            task: Some(UNKNOWN),
        }
    }

    pub(super) fn at(self, time: i64) -> Moment {
        Moment {
            time: Some(time),
            ..self
        }
    }

    /// A construct has an instance: where its number is 0, that was lost.
    fn within(self, within: Within) -> Moment {
        let number = |number: u64| match number {
            0 => UNKNOWN,
            known => i64::try_from(known).unwrap_or(i64::MAX),
        };
        Moment {
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

/// Numbers of instances so that any other one makes comparisons with a filter's numbers come out
/// as one of these does. Of a filter with very many numbers there are none: nothing is tried.
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
