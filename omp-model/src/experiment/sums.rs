//! Measured time: a row for each state that a thread was in, in each second. On a long run they
//! are more than all tables, so they stay packed and are unpacked in passing, as samples are.

use std::ops::Range;
use std::sync::LazyLock;

use rustc_hash::FxHashSet;

use super::coding::Corrupt;
use super::column::{Decoder, Encoder, Scratch};
use super::rows::{self, Known};
use super::store::Store;
use crate::ids::ThreadId;
use crate::rows::Sum;

/// So many rows that are added in memory are packed at a time.
const CHUNK: usize = 1 << 14;

/// The measured time of a recording, packed. The rows of each frame of a file are sorted by
/// thread, slice, tag and presence.
#[derive(Clone, Debug, Default)]
pub struct Sums {
    store: Store,
    frames: Vec<SumFrame>,
    known: Known,
    /// What was added in memory and is not packed yet.
    tail: Vec<Sum>,
    threads: FxHashSet<ThreadId>,
}

/// Rows that were written together.
#[derive(Clone, Debug)]
pub struct SumFrame {
    range: Range<u64>,
    /// How many they are.
    pub rows: u32,
    /// The earliest slice of time that any of them is of.
    pub first: u32,
}

impl Sums {
    /// Adds the frame of a file; returns the latest slice that its rows are of.
    pub(super) fn add_frame(
        &mut self,
        decoder: &mut Decoder<'_, '_>,
        range: Range<u64>,
        known: &Known,
    ) -> Result<u32, Corrupt> {
        let mut frame = SumFrame {
            range,
            rows: 0,
            first: u32::MAX,
        };
        let (mut last, mut thread) = (0, None);
        let threads = &mut self.threads;
        rows::decode(decoder, 0, known, |row: Sum| {
            frame.rows += 1;
            frame.first = frame.first.min(row.slice);
            last = last.max(row.slice);
            // Rows of a thread follow each other.
            if thread != Some(row.thread) {
                thread = Some(row.thread);
                threads.insert(row.thread);
            }
            Ok(())
        })?;
        if frame.rows > 0 {
            self.frames.push(frame);
        }
        Ok(last)
    }

    /// The same rows, of which it is known now where they lie and what they may point to.
    pub(super) fn of_file(self, store: Store, known: Known) -> Sums {
        Sums {
            store,
            known,
            ..self
        }
    }

    /// Adds a row, in memory.
    pub fn push(&mut self, row: Sum) {
        self.threads.insert(row.thread);
        self.tail.push(row);
        if self.tail.len() >= CHUNK
            && let Store::Memory(bytes) = &mut self.store
            && let Ok(mut encoder) = Encoder::new()
        {
            encoder.number(0);
            rows::encode(&mut encoder, &self.tail, 0);
            let start = bytes.len() as u64;
            bytes.extend(encoder.take());
            self.frames.push(SumFrame {
                range: start..bytes.len() as u64,
                rows: self.tail.len() as u32,
                first: self.tail.iter().map(|row| row.slice).min().unwrap_or(0),
            });
            self.known = Known::ANY;
            self.tail.clear();
        }
    }

    /// How many rows there are.
    pub fn len(&self) -> usize {
        let packed: usize = self.frames.iter().map(|frame| frame.rows as usize).sum();
        packed + self.tail.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.frames.is_empty() && self.tail.is_empty()
    }

    /// The threads whose time was measured.
    pub fn threads(&self) -> &FxHashSet<ThreadId> {
        &self.threads
    }

    /// All rows, frame by frame.
    pub fn iter(&self) -> impl Iterator<Item = Sum> + '_ {
        let mut rows = Vec::new();
        let mut scratch = Scratch::new();
        let frames = 0..self.frames.len();
        let packed = frames.flat_map(move |frame| {
            self.unpack(frame, &mut scratch, &mut rows);
            std::mem::take(&mut rows)
        });
        packed.chain(self.tail.iter().copied())
    }

    /// The frames; [`Sums::tail`] is not among them.
    pub(crate) fn frames(&self) -> &[SumFrame] {
        &self.frames
    }

    /// What is in no frame.
    pub(crate) fn tail(&self) -> &[Sum] {
        &self.tail
    }

    /// To read frames in any order.
    pub(crate) fn unpacking(&self) -> Unpacking<'_> {
        Unpacking {
            sums: self,
            scratch: Scratch::new(),
            rows: Vec::new(),
        }
    }

    fn unpack(&self, frame: usize, scratch: &mut Scratch, out: &mut Vec<Sum>) {
        out.clear();
        let Some(payload) = self.store.bytes(&self.frames[frame].range) else {
            return;
        };
        let mut decoder = Decoder::new(&payload, scratch);
        let add = |row| {
            out.push(row);
            Ok(())
        };
        let decoded = decoder
            .number()
            .and_then(|_| rows::decode(&mut decoder, 0, &self.known, add));
        // It was right when the file was opened: only a fault of the disk since then leads here.
        if decoded.is_err() {
            out.clear();
        }
    }
}

/// Unpacks frame after frame.
pub(crate) struct Unpacking<'a> {
    sums: &'a Sums,
    scratch: Scratch,
    rows: Vec<Sum>,
}

impl Unpacking<'_> {
    /// The rows of a frame.
    pub(crate) fn frame(&mut self, frame: usize) -> &[Sum] {
        self.sums.unpack(frame, &mut self.scratch, &mut self.rows);
        &self.rows
    }
}

impl Default for &Sums {
    fn default() -> Self {
        static NONE: LazyLock<Sums> = LazyLock::new(Sums::default);
        &NONE
    }
}

impl Extend<Sum> for Sums {
    fn extend<I: IntoIterator<Item = Sum>>(&mut self, rows: I) {
        rows.into_iter().for_each(|row| self.push(row));
    }
}

impl FromIterator<Sum> for Sums {
    fn from_iter<I: IntoIterator<Item = Sum>>(rows: I) -> Sums {
        let mut sums = Sums::default();
        sums.extend(rows);
        sums
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::{Nanos, TagId};
    use crate::state::Presence;

    #[test]
    fn rows_that_were_added_in_memory_come_back_in_their_order() {
        let row = |at: u32| Sum {
            slice: at / 7,
            thread: ThreadId(at % 3),
            tag: TagId(at % 11),
            presence: Presence::Running,
            time: Nanos(u64::from(at) * 17),
            count: at,
        };
        let count = 2 * CHUNK as u32 + 5;
        let sums: Sums = (0..count).map(row).collect();
        assert_eq!((sums.len(), sums.frames().len()), (count as usize, 2));
        assert!(sums.iter().eq((0..count).map(row)));
        assert_eq!(sums.frames()[1].first, CHUNK as u32 / 7);
        assert_eq!(sums.tail().len(), 5);
        assert_eq!(sums.threads().len(), 3);
        assert!(Sums::default().is_empty());
    }
}
