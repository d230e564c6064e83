//! Which task or nested region a thread was in, column by column.

use std::ops::Range;

use experiment::ids::{ContextId, ThreadId};
use experiment::rows::SLICE;

use super::rows::Timeline;
use super::slots::column;
use super::window::Window;

impl Timeline {
    /// The context that most of each column's time was spent in; `None` where the thread did not
    /// live. Placed as its states are: by whole slices, listed intervals and samples;
    /// between samples by the nearest one.
    pub fn contexts(
        &self,
        thread: ThreadId,
        range: &Range<u64>,
        columns: usize,
        window: &Window,
    ) -> Vec<Option<ContextId>> {
        let row = self.row(thread, window);
        let mut weights: Vec<(ContextId, f64)> = Vec::new();
        let mut found = Vec::with_capacity(columns);
        for at in 0..columns {
            weights.clear();
            let mut add = |context, time| match weights.iter_mut().find(|(id, _)| *id == context) {
                Some((_, sum)) => *sum += time,
                None => weights.push((context, time)),
            };
            let part = column(range, columns, at);
            let mut start = part.start.max(row.life.start);
            let end = part.end.min(row.life.end);
            while start < end {
                let slice = start / SLICE.0;
                let stop = end.min((slice + 1) * SLICE.0);
                if stop - start == SLICE.0 {
                    for spell in row.spells_of(slice) {
                        add(self.context(spell.thread_state), spell.time);
                    }
                } else {
                    let piece = start..stop;
                    let mut left = (stop - start) as f64;
                    for interval in row.intervals_in(&piece) {
                        let time = interval.overlap(&piece) as f64;
                        left -= time;
                        add(self.context(interval.thread_state), time);
                    }
                    // Samples of listed time say the same once more, and so change nothing.
                    let samples = row.samples_in(&piece);
                    let share = left.max(0.0) / samples.len().max(1) as f64;
                    for sample in samples {
                        add(self.context(sample.thread_state), share);
                    }
                    if let Some(near) = row.nearest(&piece).filter(|_| samples.is_empty()) {
                        add(self.context(near.thread_state), left);
                    }
                }
                start = stop;
            }
            let most = weights
                .iter()
                .max_by(|left, right| left.1.total_cmp(&right.1));
            found.push(most.map(|&(context, _)| context));
        }
        found
    }
}
