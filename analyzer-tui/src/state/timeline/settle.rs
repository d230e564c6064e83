//! Keeps the timeline's cursor valid and in sight after a change.

use std::sync::atomic::Ordering;

use super::samples::Unpacked;
use super::state::RowCache;
use crate::state::app::App;
use crate::view::View;

impl App {
    /// Keeps the cursor on a thread in sight, and requests missing samples.
    pub(crate) fn settle_timeline(&mut self) {
        if self.view != View::Timeline {
            return;
        }
        let threads = self.threads().len();
        let height = usize::from(self.timeline_parts().rows.height);
        let row = self.timeline.row.min(threads.saturating_sub(1));
        let mut top = self.timeline.top.min(row);
        top = top.max(row.saturating_sub(height));
        while top < row && self.lines_of(top..row + 1) > height {
            top += 1;
        }
        while top > 0 && self.lines_of(top - 1..threads) <= height {
            top -= 1;
        }
        (self.timeline.row, self.timeline.top) = (row, top);
        self.timeline.lane = self.timeline.lane.min(self.last_lane());
        self.want_samples();
    }

    /// Orders the rows again; the selected thread stays selected.
    pub(crate) fn reorder(&mut self) {
        let Some(before) = self.timeline.order.take() else {
            return;
        };
        let thread = before.threads.get(self.timeline.row).copied();
        if self.thread_order().threads != before.threads {
            // The rows of the box are other threads now.
            self.timeline.anchor = None;
        }
        if let Some(thread) = thread {
            let mut rows = self.thread_order().threads.iter();
            self.timeline.row = rows.position(|other| *other == thread).unwrap_or(0);
        }
    }

    /// The largest possible first lane in sight.
    pub(crate) fn last_lane(&self) -> u16 {
        let lanes = self.experiments.timeline().regions().lanes();
        lanes.saturating_sub(self.timeline_parts().bands.height)
    }

    /// Shows unpacked samples, if they are still wanted.
    pub fn take_samples(&mut self, unpacked: Unpacked) {
        let state = &mut self.timeline;
        if unpacked.number != state.wanted.newest.load(Ordering::Relaxed) {
            return;
        }
        state.window = unpacked.window;
        state.wanted.range = None;
        *state.cache.get_mut() = RowCache::default();
        // Stacks may have been computed meanwhile, which refine the samples.
        self.settle_timeline();
    }
}
