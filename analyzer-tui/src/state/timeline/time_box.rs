//! The selected box of threads and time.

use experiment::ids::ThreadId;

use super::state::TimeBox;
use crate::state::app::App;
use crate::view::View;

impl App {
    /// The box between the anchor and the cursor.
    pub fn selected_box(&self) -> Option<TimeBox> {
        let (row, time) = self.timeline.anchor?;
        let anchor = self.column_range(time);
        let cursor = self.column_range(self.timeline.time);
        let other_row = self.timeline.row;
        Some(TimeBox {
            rows: row.min(other_row)..row.max(other_row) + 1,
            time: anchor.start.min(cursor.start)..anchor.end.max(cursor.end),
        })
    }

    /// Drops the box on the timeline; `false` if there is none.
    pub(crate) fn drop_box(&mut self) -> bool {
        self.view == View::Timeline && self.timeline.anchor.take().is_some()
    }

    /// A box as a filter's expression.
    pub(crate) fn filter_of(&self, part: &TimeBox) -> String {
        let time = format!("TSTAMP>={} && TSTAMP<{}", part.time.start, part.time.end);
        let threads = self.threads();
        if part.rows.len() >= threads.len() {
            return time;
        }
        let rows = threads.get(part.rows.clone()).unwrap_or(&[]);
        format!("{time} && THRID IN ({})", numbers(rows))
    }
}

/// Threads' numbers, from 1 as in filters, with ranges.
fn numbers(threads: &[ThreadId]) -> String {
    let mut numbers: Vec<u32> = threads.iter().map(|thread| thread.0 + 1).collect();
    numbers.sort_unstable();
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    for number in numbers {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == number => *last = number,
            _ => ranges.push((number, number)),
        }
    }
    let words = ranges.into_iter().map(|(first, last)| match last - first {
        0 => first.to_string(),
        _ => format!("{first}-{last}"),
    });
    words.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbouring_threads_are_a_range() {
        let threads = [4, 0, 1, 2, 8].map(ThreadId);
        assert_eq!(numbers(&threads), "1-3, 5, 9");
    }
}
