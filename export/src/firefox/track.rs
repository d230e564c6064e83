//! The samples of a thread.

use crate::places::PlaceNumber;

/// The samples of a thread: column by column, to take little memory.
#[derive(Debug, Default)]
pub(super) struct Track {
    pub(super) times: Vec<u64>,
    pub(super) places: Vec<PlaceNumber>,
    /// How many samples each row stands for.
    pub(super) counts: Vec<u32>,
}

impl Track {
    /// Adds a sample, to the last one if that is alike and neighbours are to be merged.
    pub(super) fn push(&mut self, time: u64, place: PlaceNumber, merge: bool) {
        if merge
            && self.places.last() == Some(&place)
            && let (Some(last), Some(count)) = (self.times.last_mut(), self.counts.last_mut())
        {
            *last = time.max(*last);
            *count += 1;
            return;
        }
        self.times.push(time);
        self.places.push(place);
        self.counts.push(1);
    }

    /// Sorts the samples by time.
    pub(super) fn sort(&mut self) {
        if self.times.is_sorted() {
            return;
        }
        let rows = self.times.iter().zip(&self.places).zip(&self.counts);
        let mut rows: Vec<(u64, PlaceNumber, u32)> = rows
            .map(|((time, place), count)| (*time, *place, *count))
            .collect();
        rows.sort_by_key(|row| row.0);
        self.times.clear();
        self.places.clear();
        self.counts.clear();
        for (time, place, count) in rows {
            self.times.push(time);
            self.places.push(place);
            self.counts.push(count);
        }
    }
}
