//! Weights switch-out samples by the length of the sleep that each began.
//!
//! Sleeps differ in length by orders of magnitude. If samples were counted, a thread that sleeps a
//! thousand times for a microsecond and then once for an hour would have nearly all of the hour at
//! the short sleeps. The recording lists long sleeps one by one, and so every sleep that has a
//! sample: its whole time goes to that sample's stack.
//!
//! Samples are taken at a share of all switches: of a thousand short sleeps and ten long ones, a
//! hundredth of each. Sleeps without a sample take the stacks of those with a sample that were as long
//! ([`super::division::Time::divide`]).

use std::collections::hash_map::Entry;
use std::ops::Range;

use rustc_hash::FxHashMap;

use experiment::LONGEST_TICK;
use experiment::ids::{Nanos, ThreadId, ThreadStateId};
use experiment::rows::{Interval, LONG, SLICE, Sample};
use experiment::state::Scheduling;

use super::group::{ByLength, Group, Length, Slept};

/// From a stack at a switch to the switch itself: the kernel copies the stack in between, and
/// listed times are whole microseconds, those of stacks a few of them rounded down.
const BEFORE: u64 = 100_000 + LONGEST_TICK.0;
const AFTER: u64 = 2_000;

/// How long after a moment samples may come that tell of a sleep which began before it.
pub(super) const MARGIN: u64 = BEFORE + AFTER;

/// The listed times off the CPU, and the samples that they began with. Slices are asked for in their
/// order, so a sleep takes no memory for the slices that it lasts.
pub(super) struct Sleeps<'a> {
    /// By thread, in the order of time.
    listed: FxHashMap<ThreadId, Vec<&'a Interval>>,
    /// By thread and place in its list: the last sample before the switch.
    begun: FxHashMap<(ThreadId, usize), Sample>,
    /// Sleeps that go on into later slices: the sample, and the place in its thread's list.
    lasting: Vec<(Sample, usize)>,
    /// By thread: how much of its list is behind.
    passed: FxHashMap<ThreadId, usize>,
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
            lasting: Vec::new(),
            passed: FxHashMap::default(),
        }
    }

    /// The nanoseconds of long listed sleeps of each group of a slice.
    pub(super) fn listed_in(&mut self, slice: u32) -> FxHashMap<Group, ByLength> {
        let mut time = FxHashMap::<Group, ByLength>::default();
        let whole = whole(slice);
        for (&thread, list) in &self.listed {
            let passed = self.passed.entry(thread).or_default();
            while let Some(interval) = list.get(*passed).filter(|row| row.start.0 < whole.end) {
                if interval.length >= LONG {
                    let of = group(thread, interval.thread_state, slice, interval.scheduling);
                    let length = Length::of(interval.length);
                    time.entry(of).or_default()[length.index()] += interval.overlap(&whole);
                }
                if interval.end().0 > whole.end {
                    break;
                }
                *passed += 1;
            }
        }
        time
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

    /// The parts in a slice of the sleeps whose samples were noted. No sample up to [`MARGIN`] after the
    /// slice may be noted later. What the thread waits for can change while it sleeps.
    pub(super) fn parts_in(&mut self, slice: u32, mut take: impl FnMut(&Sample, Group, Slept)) {
        let whole = whole(slice);
        let listed = &self.listed;
        let begun = self
            .begun
            .extract_if(|&(thread, first), _| listed[&thread][first].start.0 < whole.end);
        self.lasting
            .extend(begun.map(|((_, first), sample)| (sample, first)));
        self.lasting.retain_mut(|(sample, at)| {
            let list = &listed[&sample.thread];
            loop {
                let interval = list[*at];
                let nanos = interval.overlap(&whole);
                if nanos > 0 {
                    let of = group(
                        sample.thread,
                        interval.thread_state,
                        slice,
                        interval.scheduling,
                    );
                    let length = Length::of(interval.length);
                    take(sample, of, Slept { length, nanos });
                }
                let end = interval.end().0;
                if end > whole.end {
                    return true;
                }
                let goes_on = list.get(*at + 1).is_some_and(|next| {
                    next.start.0 == end && next.scheduling == sample.kind.scheduling()
                });
                if !goes_on {
                    return false;
                }
                *at += 1;
                if end == whole.end {
                    return true;
                }
            }
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

/// A slice's nanoseconds.
fn whole(slice: u32) -> Range<u64> {
    let start = u64::from(slice) * SLICE.0;
    start..start + SLICE.0
}
