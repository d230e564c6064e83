//! Weights switch-out samples by the length of the sleep that each began.
//!
//! Sleeps differ in length by orders of magnitude. If samples were counted, a thread that sleeps a
//! thousand times for a microsecond and then once for an hour would have nearly all of the hour at
//! the short sleeps. The recording lists long sleeps one by one, and so every sleep that has a
//! sample: its whole time goes to that sample's stack.
//!
//! Samples are taken at a share of all switches: of a thousand short sleeps and ten long ones, a
//! hundredth of each. Long sleeps without a sample take the stacks of long ones with a sample, and
//! short ones those of short ones ([`super::division::Time::divide`]).

use std::collections::hash_map::Entry;

use rustc_hash::FxHashMap;

use experiment::LONGEST_TICK;
use experiment::ids::{Nanos, ThreadId, ThreadStateId};
use experiment::rows::{Interval, LONG, SLICE, Sample};
use experiment::state::Scheduling;

use super::group::{Group, Slept};

/// From a stack at a switch to the switch itself: the kernel copies the stack in between, and
/// listed times are whole microseconds, those of stacks a few of them rounded down.
const BEFORE: u64 = 100_000 + LONGEST_TICK.0;
const AFTER: u64 = 2_000;

/// How long after a moment samples may come that tell of a sleep which began before it.
pub(super) const MARGIN: u64 = BEFORE + AFTER;

/// The listed times off the CPU, and the samples that they began with.
pub(super) struct Sleeps<'a> {
    /// By thread, in the order of time.
    listed: FxHashMap<ThreadId, Vec<&'a Interval>>,
    /// By thread and place in its list: the last sample before the switch.
    begun: FxHashMap<(ThreadId, usize), Sample>,
    /// By thread: how much of its list is in `time`.
    summed: FxHashMap<ThreadId, usize>,
    /// Nanoseconds of the long ones of each group.
    time: FxHashMap<Group, u64>,
}

impl<'a> Sleeps<'a> {
    pub(super) fn new(intervals: &'a [Interval]) -> Self {
        let mut listed = FxHashMap::<ThreadId, Vec<&Interval>>::default();
        for interval in intervals {
            if interval.scheduling != Scheduling::Running {
                listed.entry(interval.thread).or_default().push(interval);
            }
        }
        for list in listed.values_mut() {
            list.sort_by_key(|interval| interval.start);
        }
        Sleeps {
            listed,
            begun: FxHashMap::default(),
            summed: FxHashMap::default(),
            time: FxHashMap::default(),
        }
    }

    /// The nanoseconds of long listed sleeps of each group, in the slices up to this one that were
    /// not asked for before.
    pub(super) fn listed_upto(&mut self, slice: u32) -> FxHashMap<Group, u64> {
        let end = (u64::from(slice) + 1).saturating_mul(SLICE.0);
        for (&thread, list) in &self.listed {
            let summed = self.summed.entry(thread).or_default();
            while let Some(interval) = list.get(*summed).filter(|row| row.start.0 < end) {
                *summed += 1;
                if interval.length < LONG {
                    continue;
                }
                slices(interval, |slice, nanos| {
                    let of = group(thread, interval.thread_state, slice, interval.scheduling);
                    *self.time.entry(of).or_default() += nanos;
                });
            }
        }
        self.time
            .extract_if(|group, _| group.slice <= slice)
            .collect()
    }

    /// Notes a sample at a switch. Returns one that stands for no listed sleep: the sample itself,
    /// or an earlier one that was taken for the beginning of what turns out to be this one's.
    pub(super) fn note(&mut self, sample: Sample) -> Option<Sample> {
        let Some(at) = self.first(&sample) else {
            return Some(sample);
        };
        match self.begun.entry((sample.thread, at)) {
            Entry::Vacant(free) => {
                free.insert(sample);
                None
            }
            // Of two at one tick the one that comes later is the later one.
            Entry::Occupied(mut known) if known.get().time <= sample.time => {
                Some(known.insert(sample))
            }
            Entry::Occupied(_) => Some(sample),
        }
    }

    fn first(&self, sample: &Sample) -> Option<usize> {
        let list = self.listed.get(&sample.thread)?;
        let from = Nanos(sample.time.0.saturating_sub(AFTER));
        let at = list.partition_point(|interval| interval.start < from);
        let interval = list.get(at)?;
        let near = interval.start.0 <= sample.time.0.saturating_add(BEFORE);
        // What it did as it left is what it did as its sleep began: else that is another sleep,
        // whose own stack was not taken.
        let same = (interval.scheduling, interval.thread_state)
            == (sample.kind.scheduling(), sample.thread_state);
        (near && same).then_some(at)
    }

    /// Each noted sample whose sleep began before a moment, with the parts of that sleep, which
    /// are then forgotten. No sample up to [`MARGIN`] after the moment may be noted later. What the
    /// thread waits for can change while it sleeps, and a sleep can last for many slices of time.
    pub(super) fn parts_before(&mut self, end: Nanos, mut take: impl FnMut(&Sample, Group, Slept)) {
        let listed = &self.listed;
        self.begun.retain(|&(thread, first), sample| {
            let list = &listed[&thread];
            let mut upto = list[first].start;
            if upto >= end {
                return true;
            }
            for interval in &list[first..] {
                if interval.start != upto || interval.scheduling != sample.kind.scheduling() {
                    break;
                }
                upto = Nanos(interval.start.0 + interval.length.0);
                slices(interval, |slice, nanos| {
                    let of = group(thread, interval.thread_state, slice, interval.scheduling);
                    let slept = if interval.length < LONG {
                        Slept::Brief(nanos)
                    } else {
                        Slept::Long(nanos)
                    };
                    take(sample, of, slept);
                });
            }
            false
        });
    }
}

fn group(
    thread: ThreadId,
    thread_state: ThreadStateId,
    slice: u32,
    scheduling: Scheduling,
) -> Group {
    Group {
        thread,
        thread_state,
        slice,
        scheduling,
    }
}

fn slices(interval: &Interval, mut take: impl FnMut(u32, u64)) {
    let end = interval.start.0 + interval.length.0;
    let mut at = interval.start.0;
    while at < end {
        let slice = at / SLICE.0;
        let border = end.min((slice + 1) * SLICE.0);
        take(slice as u32, border - at);
        at = border;
    }
}
