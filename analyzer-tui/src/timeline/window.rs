//! The samples of a range of time, unpacked: beside the loop that answers keys, since a large
//! recording has a million of them in a second.

use std::ops::Range;

use omp_model::ids::ThreadId;
use omp_model::profile::ViewMode;
use omp_model::rows::{Sample, Sight};
use rustc_hash::FxHashMap;

use crate::activity::Activity;
use crate::moments::Moments;
use crate::recording::Recording;

/// So many samples are unpacked for a window; a wider one is drawn from intervals and sums, which
/// a column of it is long enough for.
const MOST_SAMPLES: u64 = 1_000_000;

/// The extent of a frame of packed samples.
#[derive(Clone, Copy, Debug)]
pub(super) struct FrameOfSamples {
    frame: usize,
    first: u64,
    last: u64,
    count: u64,
}

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
    /// Unpacks the samples of a range, and as many on both sides of it, so that a step does not
    /// unpack them all again; `None` if `is_wanted` says so meanwhile.
    pub(crate) fn unpack(
        recording: &Recording,
        range: &Range<u64>,
        is_wanted: impl Fn() -> bool,
    ) -> Option<Window> {
        let length = range.end - range.start;
        let wide = range.start.saturating_sub(length)..range.end + length;
        let timeline = recording.timeline();
        let moments = recording.known_moments(ViewMode::User);
        let within = |range: &Range<u64>| -> Vec<FrameOfSamples> {
            let all = timeline.frames.iter();
            all.filter(|frame| frame.first < range.end && frame.last >= range.start)
                .copied()
                .collect()
        };
        let fit = |frames: &[FrameOfSamples]| {
            frames.iter().map(|frame| frame.count).sum::<u64>() <= MOST_SAMPLES
        };
        let (range, frames) = match within(&wide) {
            frames if fit(&frames) => (wide, frames),
            _ => (range.clone(), within(range)),
        };
        let mut window = Window {
            refined: moments.is_some(),
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
            recording.experiment.samples.frame(frame.frame, &mut rows);
            for sample in &rows {
                if window.range.contains(&sample.time.0) {
                    let own = window.by_thread.entry(sample.thread).or_default();
                    own.samples.push(*sample);
                }
            }
        }
        for seen in window.by_thread.values_mut() {
            seen.samples.sort_by_key(|sample| sample.time);
            let shown = seen.samples.iter();
            seen.activities = shown
                .map(|sample| refined(recording, moments, sample))
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

    /// Whether it holds all samples of a range, and what stacks tell of them if that is known.
    pub fn suffices(&self, recording: &Recording, range: &Range<u64>) -> bool {
        let covers = match self.skipped {
            // A smaller range may have fewer samples.
            true => self.range == *range,
            false => self.range.start <= range.start && range.end <= self.range.end,
        };
        covers && (self.refined || recording.known_moments(ViewMode::User).is_none())
    }
}

/// What a sample shows its thread to do, in every mode: its recorded state, and where stacks tell
/// more, what that is.
pub(crate) fn refined(
    recording: &Recording,
    moments: Option<&Moments>,
    sample: &Sample,
) -> Activity {
    let recorded = recording.timeline().activity(sample.tag);
    let Some(moments) = moments.filter(|_| recorded != Activity::Unknown) else {
        return recorded;
    };
    let kind = recording.kind_of(sample.thread);
    let seen = moments.sample(sample.stack, sample.tag, kind);
    seen.map_or(recorded, |(path, shown)| {
        Activity::of_leaf(moments.leaf(path), shown)
    })
}

/// The extents of a recording's frames of samples.
pub(super) fn frames(recording: &Recording) -> Vec<FrameOfSamples> {
    let samples = &recording.experiment.samples;
    let mut frames = Vec::with_capacity(samples.frames());
    let range = |rows: &[Sight]| {
        let times = || rows.iter().map(|sample| sample.time.0);
        Some((times().min()?, times().max()?, rows.len() as u64))
    };
    samples.in_order(range, |frame, found| {
        frames.extend(found.map(|(first, last, count)| FrameOfSamples {
            frame,
            first,
            last,
            count,
        }));
    });
    frames
}
