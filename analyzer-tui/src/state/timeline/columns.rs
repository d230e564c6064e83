//! Maps times to columns of the screen.

use std::ops::Range;

use experiment::ids::ThreadId;
use report::timeline::column;

use super::state::SecondLine;
use crate::layout::{self, TimelineParts};
use crate::state::app::App;

impl App {
    /// Whether experiments are compared.
    pub fn is_compared(&self) -> bool {
        self.settings.is_compared() && self.experiments.parts().len() > 1
    }

    /// The parts of the timeline's body.
    pub fn timeline_parts(&self) -> TimelineParts {
        let bands = self.experiments.timeline().regions().lanes();
        let number = if self.experiments.parts().len() > 1 {
            4
        } else {
            0
        };
        let has_marks = self.experiments.timeline().has_marks();
        layout::timeline(self.parts().body, bands, number, has_marks)
    }

    /// The number of lines of a thread.
    pub fn lines_per_thread(&self) -> usize {
        self.lines_of_states() + self.second_lines()
    }

    /// The number of lines that a thread's states are drawn in: few threads use the height.
    pub fn lines_of_states(&self) -> usize {
        /// More would tell no more: a line has eight steps of shares.
        const MOST: usize = 4;
        let order = self.thread_order();
        let height = usize::from(self.timeline_parts().rows.height);
        let room = height.saturating_sub(order.groups.len()) / order.threads.len().max(1);
        room.saturating_sub(self.second_lines()).clamp(1, MOST)
    }

    fn second_lines(&self) -> usize {
        usize::from(self.timeline.second != SecondLine::Hidden)
    }

    /// The column of a moment; `None` if it is out of sight.
    pub fn column_of(&self, time: u64) -> Option<usize> {
        let (range, columns) = (&self.timeline.range, self.timeline_parts().columns());
        if !range.contains(&time) || columns == 0 {
            return None;
        }
        let part = u128::from(time - range.start) * columns as u128;
        let at = (part / u128::from(range.end - range.start)) as usize;
        // A column begins at a whole nanosecond, rounded down.
        let next = column(range, columns, at + 1).start;
        Some(if at + 1 < columns && time >= next {
            at + 1
        } else {
            at
        })
    }

    /// The time range of a moment's column; the moment itself if it is out of sight.
    pub(crate) fn column_range(&self, time: u64) -> Range<u64> {
        let columns = self.timeline_parts().columns();
        match self.column_of(time) {
            Some(at) => column(&self.timeline.range, columns, at),
            None => time..time + 1,
        }
    }

    /// The number of a thread's experiment, from 1.
    pub fn origin(&self, thread: ThreadId) -> u32 {
        let origin = self.experiments.origins.get(thread.index());
        origin.copied().unwrap_or(1)
    }
}
