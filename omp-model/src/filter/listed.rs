//! The listed intervals, which divide time off CPU.

use experiment::ids::{ThreadId, ThreadStateId};
use experiment::rows::Interval;
use experiment::state::Scheduling;
use rustc_hash::FxHashMap;

use super::time_point::second;
use crate::profile::{Item, Profile};

/// Listed intervals off CPU by thread, state and scheduling state, in the order of time.
pub(super) struct Listed<'a> {
    by_state: FxHashMap<(ThreadId, ThreadStateId, Scheduling), Vec<&'a Interval>>,
    seconds: FxHashMap<(ThreadId, u32, ThreadStateId, Scheduling), f64>,
}

impl<'a> Listed<'a> {
    pub(super) fn new(intervals: &'a [Interval], profile: &Profile) -> Self {
        let mut by_state = FxHashMap::<_, Vec<&Interval>>::default();
        for interval in intervals {
            if interval.scheduling != Scheduling::Running {
                by_state
                    .entry((interval.thread, interval.thread_state, interval.scheduling))
                    .or_default()
                    .push(interval);
            }
        }
        for intervals in by_state.values_mut() {
            intervals.sort_unstable_by_key(|interval| interval.start);
        }
        let mut seconds = FxHashMap::<_, f64>::default();
        for item in &profile.items {
            if item.scheduling != Scheduling::Running {
                let key = (item.thread, item.slice, item.thread_state, item.scheduling);
                *seconds.entry(key).or_default() += item.seconds;
            }
        }
        Listed { by_state, seconds }
    }

    /// The intervals of an item's state within its second, clipped to it.
    pub(super) fn within(&self, item: &Item) -> impl Iterator<Item = ((i64, i64), &'a Interval)> {
        let key = (item.thread, item.thread_state, item.scheduling);
        let intervals = self.by_state.get(&key).map_or(&[][..], Vec::as_slice);
        let (low, high) = second(item);
        // Intervals of one thread and state do not overlap, so their ends ascend too.
        let first = intervals.partition_point(|interval| (interval.end().0 as i64) <= low);
        let inside = intervals[first..]
            .iter()
            .map(move |interval| {
                let start = (interval.start.0 as i64).max(low);
                ((start, (interval.end().0 as i64).min(high)), *interval)
            })
            .take_while(move |&((start, _), _)| start < high)
            .filter(|((start, end), _)| start < end);
        inside.collect::<Vec<_>>().into_iter()
    }

    /// Seconds of an item's state in its second, at all stacks: the time that its intervals
    /// describe.
    pub(super) fn seconds_of_state(&self, item: &Item) -> f64 {
        let key = (item.thread, item.slice, item.thread_state, item.scheduling);
        self.seconds.get(&key).copied().unwrap_or(0.0)
    }
}
