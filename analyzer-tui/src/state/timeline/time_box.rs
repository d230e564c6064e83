//! A part of the timeline that is selected: a box of threads and time.

use experiment::ids::ThreadId;

use super::state::TimeBox;
use crate::state::app::App;

impl App {
    /// The box between the anchor and the cursor.
    pub fn selected_box(&self) -> Option<TimeBox> {
        let (row, time) = self.timeline.anchor?;
        let (rows, times) = (
            [row, self.timeline.row],
            [time, self.timeline.time].map(|time| self.column_range(time)),
        );
        let [one, other] = times;
        Some(TimeBox {
            rows: rows[0].min(rows[1])..rows[0].max(rows[1]) + 1,
            time: one.start.min(other.start)..one.end.max(other.end),
        })
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

/// Threads' numbers from 1, as filters count them, neighbours as ranges.
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
