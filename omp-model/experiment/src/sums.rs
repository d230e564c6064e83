//! Time accounting: a row for each thread state of each thread in each slice. On a long run the
//! rows are larger than all tables, so they stay packed, as samples do.

use std::ops::Range;
use std::sync::{Arc, LazyLock};

use rustc_hash::FxHashSet;

use crate::column::{Corrupt, Decoder, Encoder, Scratch};
use crate::ids::ThreadId;
use crate::rows::Sum;
use crate::store::{Source, Store};
use crate::stored::{self, Known};
use crate::union::Ids;

/// The number of rows that are packed together in memory.
const CHUNK: usize = 1 << 14;

/// The measured time of a recording, packed. The rows of each frame of a file are sorted by
/// thread, slice, thread state and scheduling state.
#[derive(Clone, Debug, Default)]
pub struct Sums {
    sources: Vec<Source>,
    frames: Vec<SumFrame>,
    /// Rows that were added in memory and are not packed yet.
    tail: Vec<Sum>,
    threads: FxHashSet<ThreadId>,
}

/// Rows that were written together.
#[derive(Clone, Debug)]
pub struct SumFrame {
    /// Index into the sources.
    source: usize,
    range: Range<u64>,
    /// Their number.
    pub rows: u32,
    /// The earliest slice of any of them.
    pub first: u32,
}

impl Sums {
    /// Adds the frame of a file, and returns the latest slice of its rows.
    pub(crate) fn add_frame(
        &mut self,
        decoder: &mut Decoder<'_>,
        range: Range<u64>,
        known: &Known,
    ) -> Result<u32, Corrupt> {
        let mut frame = SumFrame {
            source: 0,
            range,
            rows: 0,
            first: u32::MAX,
        };
        let (mut last, mut thread) = (0, None);
        let threads = &mut self.threads;
        stored::decode(decoder, 0, known, |row: Sum| {
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

    /// The sums of a record file, whose frames are added later.
    pub(crate) fn of_file(store: Store) -> Sums {
        Sums {
            sources: vec![Source::new(store, Known::default())],
            ..Sums::default()
        }
    }

    /// Sets how many rows the tables have, against which references are checked.
    pub(crate) fn may_point_to(&mut self, known: Known) {
        for source in &mut self.sources {
            source.known = known;
        }
    }

    /// The sums of several experiments one after the other, with the ids of each mapped.
    pub(crate) fn unite<'a>(parts: impl IntoIterator<Item = (&'a Sums, &'a Arc<Ids>)>) -> Sums {
        let mut all = Sums::default();
        for (part, ids) in parts {
            let before = all.sources.len();
            let sources = part.sources.iter();
            all.sources.extend(sources.map(|source| source.among(ids)));
            let frames = part.frames.iter();
            all.frames.extend(frames.map(|frame| SumFrame {
                source: before + frame.source,
                ..frame.clone()
            }));
            all.tail.extend(part.tail.iter().map(|&row| ids.sum(row)));
            let threads = part.threads.iter();
            all.threads
                .extend(threads.map(|&thread| ids.thread(thread)));
        }
        all
    }

    /// Adds a row to a recording in memory.
    pub fn push(&mut self, row: Sum) {
        self.threads.insert(row.thread);
        self.tail.push(row);
        if self.tail.len() >= CHUNK {
            self.pack();
        }
    }

    /// Packs the tail, if this is a recording in memory.
    fn pack(&mut self) {
        if self.sources.is_empty() {
            let source = Source::new(Store::default(), Known::ANY);
            self.sources.push(source);
        }
        if let [source] = self.sources.as_mut_slice()
            && let Store::Memory(bytes) = &mut source.store
            && let Ok(mut encoder) = Encoder::new()
        {
            encoder.number(0);
            stored::encode(&mut encoder, &self.tail, 0);
            let start = bytes.len() as u64;
            bytes.extend(encoder.take());
            self.frames.push(SumFrame {
                source: 0,
                range: start..bytes.len() as u64,
                rows: self.tail.len() as u32,
                first: self.tail.iter().map(|row| row.slice).min().unwrap_or(0),
            });
            self.tail.clear();
        }
    }

    /// The number of rows.
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
        let mut unpacking = self.unpacking();
        let frames = 0..self.frames.len();
        let packed = frames.flat_map(move |frame| unpacking.frame(frame).to_vec());
        packed.chain(self.tail.iter().copied())
    }

    /// The frames; [`Sums::tail`] is not among them.
    pub fn frames(&self) -> &[SumFrame] {
        &self.frames
    }

    /// The rows that are in no frame.
    pub fn tail(&self) -> &[Sum] {
        &self.tail
    }

    /// Reads frames in any order.
    pub fn unpacking(&self) -> Unpacking<'_> {
        Unpacking {
            sums: self,
            scratch: Scratch::new(),
            rows: Vec::new(),
        }
    }

    fn unpack(&self, frame: usize, scratch: &mut Scratch, out: &mut Vec<Sum>) {
        out.clear();
        let frame = &self.frames[frame];
        let source = &self.sources[frame.source];
        let Some(payload) = source.store.bytes(&frame.range) else {
            return;
        };
        let add = |row| {
            let own = source.ids.iter();
            out.push(own.fold(row, |row, ids| ids.sum(row)));
            Ok(())
        };
        let decoded = scratch.unpack(&payload).and_then(|mut decoder| {
            decoder.number()?;
            stored::decode(&mut decoder, 0, &source.known, add)
        });
        // The frame was right when the file was opened: this is a fault of the disk since
        // then.
        if decoded.is_err() {
            out.clear();
        }
    }
}

/// Unpacks frame after frame.
pub struct Unpacking<'a> {
    sums: &'a Sums,
    scratch: Scratch,
    rows: Vec<Sum>,
}

impl Unpacking<'_> {
    /// The rows of a frame.
    pub fn frame(&mut self, frame: usize) -> &[Sum] {
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
        assert_eq!((sums.len(), sums.frames().len()), (count as usize, 2));
        assert!(sums.iter().eq((0..count).map(row)));
        assert_eq!(sums.frames()[1].first, CHUNK as u32 / 7);
        assert_eq!(sums.tail().len(), 5);
        assert_eq!(sums.threads().len(), 3);
        assert!(Sums::default().is_empty());
    }
}
