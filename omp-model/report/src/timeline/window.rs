//! The samples of a range of time, unpacked. A large experiment has a million of them in a second.

use std::ops::Range;

use experiment::ids::ThreadId;
use experiment::rows::{SLICE, Sample};
use omp_model::analysis::Analysis;
use rustc_hash::FxHashMap;

use super::activity::Activity;
use super::frames::FrameOfSamples;
use super::rows::Timeline;
use super::stacks::Stacks;

/// So many samples are unpacked for a window; a wider one is drawn from intervals and sums, which
/// a column of it is long enough for.
const MOST_SAMPLES: u64 = 1_000_000;

/// The samples of a range of time.
#[derive(Debug, Default)]
pub struct Window {
    range: Range<u64>,
    by_thread: FxHashMap<ThreadId, Seen>,
    refined: bool,
    /// Whether the samples were too many to unpack.
    pub skipped: bool,
}

/// The samples of a thread by time, and what each shows the thread to do.
#[derive(Debug, Default)]
struct Seen {
    samples: Vec<Sample>,
    activities: Vec<Activity>,
}

impl Window {
    /// Unpacks the samples of the slices that a range lies in, and as many on both sides of the range, so that a
    /// step does not unpack them all again; only those of the range where these are too many. `None` if `is_wanted` says so meanwhile.
    pub fn unpack(
        experiment: &Analysis,
        (timeline, stacks): (&Timeline, Option<&Stacks>),
        range: &Range<u64>,
        is_wanted: impl Fn() -> bool,
    ) -> Option<Window> {
        let length = range.end - range.start;
        let wide = range.start.saturating_sub(length)..range.end + length;
        let wide = slices(&wide);
        let within = |range: &Range<u64>| -> Vec<FrameOfSamples> {
            let all = timeline.frames.iter();
            all.filter(|frame| frame.first < range.end && frame.last >= range.start)
                .copied()
                .collect()
        };
        let fit = |frames: &[FrameOfSamples]| {
            frames.iter().map(|frame| frame.count).sum::<u64>() <= MOST_SAMPLES
        };
        let sizes = [wide, slices(range), range.clone()];
        let sizes = sizes.map(|range| (within(&range), range));
        let fitting = sizes.iter().position(|(frames, _)| fit(frames));
        let [.., own] = &sizes;
        let (frames, range) = fitting.map_or(own, |at| &sizes[at]).clone();
        let mut window = Window {
            refined: stacks.is_some(),
            skipped: !fit(&frames),
            range,
            ..Window::default()
        };
        if window.skipped {
            return Some(window);
        }
        let mut rows = Vec::new();
        for frame in frames {
            if !is_wanted() {
                return None;
            }
            experiment.experiment.samples.frame(frame.frame, &mut rows);
            for sample in &rows {
                if window.range.contains(&sample.time.0) {
                    let own = window.by_thread.entry(sample.thread).or_default();
                    own.samples.push(*sample);
                }
            }
        }
        for seen in window.by_thread.values_mut() {
            seen.samples.sort_by_key(|sample| sample.time);
            let samples = seen.samples.iter();
            seen.activities = samples
                .map(|sample| timeline.refined(stacks, sample))
                .collect();
        }
        Some(window)
    }

    /// Of one thread, by time.
    pub fn of(&self, thread: ThreadId) -> &[Sample] {
        let seen = self.by_thread.get(&thread);
        seen.map_or(&[], |seen| seen.samples.as_slice())
    }

    /// What each of these samples shows the thread to do.
    pub(super) fn activities(&self, thread: ThreadId) -> &[Activity] {
        let seen = self.by_thread.get(&thread);
        seen.map_or(&[], |seen| seen.activities.as_slice())
    }

    /// Whether it holds all samples of a range.
    pub(super) fn has_all(&self, range: &Range<u64>) -> bool {
        !self.skipped && self.range.start <= range.start && range.end <= self.range.end
    }

    /// Whether it holds all samples of a range, and, if `has_stacks`, what stacks tell of them.
    pub fn suffices(&self, has_stacks: bool, range: &Range<u64>) -> bool {
        let covers = if self.skipped {
            self.range == *range
        } else {
            self.range.start <= range.start && range.end <= self.range.end
        };
        covers && (self.refined || !has_stacks)
    }
}

/// The whole slices that a range of time lies in.
fn slices(range: &Range<u64>) -> Range<u64> {
    range.start / SLICE.0 * SLICE.0..range.end.div_ceil(SLICE.0) * SLICE.0
}
