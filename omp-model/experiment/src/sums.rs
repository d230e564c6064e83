//! Time accounting: a row for each thread state of each thread in each slice.

use std::ops::Range;
use std::sync::{Arc, LazyLock};

use rustc_hash::FxHashSet;

use crate::column::{Corrupt, Decoder};
use crate::ids::ThreadId;
use crate::packed::{CHUNK, Packed, Unpacking};
use crate::rows::Sum;
use crate::store::Store;
use crate::stored::Known;
use crate::union::Ids;

/// The measured time of a recording, packed. The rows of each frame of a file are sorted by
/// thread, slice, thread state and scheduling state.
#[derive(Clone, Debug, Default)]
pub struct Sums {
    rows: Packed<Sum>,
    /// By frame: the earliest slice of any of its rows.
    firsts: Vec<u32>,
    threads: FxHashSet<ThreadId>,
}

impl Sums {
    /// Adds the frame of a file, and returns the latest slice of its rows.
    pub(crate) fn add_frame(
        &mut self,
        decoder: &mut Decoder<'_>,
        range: Range<u64>,
        known: &Known,
    ) -> Result<u32, Corrupt> {
        let (mut first, mut last, mut thread) = (u32::MAX, 0, None);
        let threads = &mut self.threads;
        self.rows.add_frame(decoder, range, known, |row| {
            first = first.min(row.slice);
            last = last.max(row.slice);
            // Rows of a thread follow each other.
            if thread != Some(row.thread) {
                thread = Some(row.thread);
                threads.insert(row.thread);
            }
        })?;
        self.note_first(first);
        Ok(last)
    }

    /// Notes the earliest slice of a frame that may have been added.
    fn note_first(&mut self, first: u32) {
        if self.rows.frames() > self.firsts.len() {
            self.firsts.push(first);
        }
    }

    /// The sums of a record file, whose frames are added later.
    pub(crate) fn of_file(store: Store) -> Sums {
        Sums {
            rows: Packed::of_file(store),
            ..Sums::default()
        }
    }

    /// Sets how many rows the tables have, against which references are checked.
    pub(crate) fn may_point_to(&mut self, known: Known) {
        self.rows.may_point_to(known);
    }

    /// The sums of several experiments one after the other, with the ids of each mapped.
    pub(crate) fn unite<'a>(
        parts: impl IntoIterator<Item = (&'a Sums, &'a Arc<Ids>)> + Clone,
    ) -> Sums {
        let mut all = Sums::default();
        for (part, ids) in parts.clone() {
            all.firsts.extend(&part.firsts);
            let threads = part.threads.iter();
            all.threads
                .extend(threads.map(|&thread| ids.thread(thread)));
        }
        let rows = parts.into_iter().map(|(part, ids)| (&part.rows, ids));
        all.rows = Packed::unite(rows);
        all
    }

    /// Adds a row to a recording in memory.
    pub fn push(&mut self, row: Sum) {
        self.threads.insert(row.thread);
        // This row may be the last of a frame.
        let first = match self.rows.tail() {
            most if most.len() + 1 == CHUNK => most.iter().map(|row| row.slice).min(),
            _ => None,
        };
        let first = first.unwrap_or(row.slice).min(row.slice);
        self.rows.push(row);
        self.note_first(first);
    }

    /// The number of rows.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The threads whose time was measured.
    pub fn threads(&self) -> &FxHashSet<ThreadId> {
        &self.threads
    }

    /// All rows, frame by frame.
    pub fn iter(&self) -> impl Iterator<Item = Sum> + '_ {
        self.rows.iter()
    }

    /// By frame: the earliest slice of any of its rows. [`Sums::tail`] is in no frame.
    pub fn firsts(&self) -> &[u32] {
        &self.firsts
    }

    /// The rows that are in no frame.
    pub fn tail(&self) -> &[Sum] {
        self.rows.tail()
    }

    /// Reads frames in any order.
    pub fn unpacking(&self) -> Unpacking<'_, Sum> {
        self.rows.unpacking()
    }
}

impl Default for &Sums {
    fn default() -> Self {
        static NONE: LazyLock<Sums> = LazyLock::new(Sums::default);
        &NONE
    }
}

impl FromIterator<Sum> for Sums {
    fn from_iter<I: IntoIterator<Item = Sum>>(rows: I) -> Sums {
        let mut sums = Sums::default();
        rows.into_iter().for_each(|row| sums.push(row));
        sums
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::{Nanos, ThreadStateId};
    use crate::state::Scheduling;

    #[test]
    fn rows_that_were_added_in_memory_come_back_in_their_order() {
        let row = |at: u32| Sum {
            slice: at / 7,
            thread: ThreadId(at % 3),
            thread_state: ThreadStateId(at % 11),
            scheduling: Scheduling::Running,
            time: Nanos(u64::from(at) * 17),
            count: at,
        };
        let count = 2 * CHUNK as u32 + 5;
        let sums: Sums = (0..count).map(row).collect();
        assert_eq!((sums.len(), sums.firsts().len()), (count as usize, 2));
        assert!(sums.iter().eq((0..count).map(row)));
        assert_eq!(sums.firsts()[1], CHUNK as u32 / 7);
        assert_eq!(sums.tail().len(), 5);
        assert_eq!(sums.threads().len(), 3);
        assert!(Sums::default().is_empty());
    }
}
