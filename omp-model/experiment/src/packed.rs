//! Rows that stay in their file. On a long run they are larger than all tables, so each pass over them
//! unpacks them frame by frame.

#![allow(
    private_bounds,
    private_interfaces,
    reason = "the trait is not exported: its methods are this crate's"
)]

use std::ops::Range;
use std::sync::Arc;

use crate::column::{Corrupt, Decoder, Encoder, Scratch};
use crate::rows::{
    Blame, CpuUse, Interval, LockSum, LockWait, LoopSum, MpiCall, MpiMessage, PhaseSum, RegionSpan,
    RegionSum, RegionWork, Sample, SamplePoint, Span, Sum, TaskSpan, TaskSum,
};
use crate::store::{Source, Store};
use crate::stored::{self, Known};
use crate::union::Ids;

/// The number of rows that are packed together in memory.
pub(crate) const CHUNK: usize = 1 << 14;

/// A kind of row of a recording.
pub trait RecordedRow: Copy + 'static {
    /// Writes rows.
    fn encode(encoder: &mut Encoder, rows: &[Self]);

    /// Reads what [`RecordedRow::encode`] wrote, row by row.
    fn decode(
        decoder: &mut Decoder<'_>,
        known: &Known,
        each: impl FnMut(Self) -> Result<(), Corrupt>,
    ) -> Result<(), Corrupt>;

    /// The row as one of several experiments.
    fn among(self, ids: &Ids) -> Self;
}

macro_rules! recorded {
    ($($row:ident: $($field:ident by $map:ident),*;)*) => {$(
        impl RecordedRow for $row {
            fn encode(encoder: &mut Encoder, rows: &[Self]) {
                stored::encode(encoder, rows, 0);
            }

            fn decode(
                decoder: &mut Decoder<'_>,
                known: &Known,
                each: impl FnMut(Self) -> Result<(), Corrupt>,
            ) -> Result<(), Corrupt> {
                stored::decode(decoder, 0, known, each)
            }

            fn among(mut self, ids: &Ids) -> Self {
                $(self.$field = ids.$map(self.$field);)*
                self
            }
        }
    )*};
}

recorded! {
    Sample: thread by thread, stack by stack, thread_state by thread_state;
    Sum: thread by thread, thread_state by thread_state;
    Blame: thread by thread, thread_state by thread_state;
    Interval: thread by thread, thread_state by thread_state;
    RegionSum: thread by thread, context by context;
    RegionSpan: thread by thread, context by context;
    RegionWork: thread by thread, context by context;
    LoopSum: thread by thread, construct by construct;
    LockSum: thread by thread, lock by lock, call by frame;
    LockWait: lock by lock, waiter by frame, holder by frame;
    TaskSum: thread by thread, context by context;
    TaskSpan: thread by thread, context by context;
    MpiCall: thread by thread, call by frame, object by memory;
    MpiMessage: thread by thread;
    CpuUse: thread by thread;
    Span: process by process, phase by phase;
    PhaseSum: thread by thread, phase by phase;
    SamplePoint: process by process, name by name;
}

/// The rows of one kind, packed.
#[derive(Clone, Debug)]
pub struct Packed<R> {
    sources: Vec<Source>,
    frames: Vec<Frame>,
    /// Rows that were added in memory and are not packed yet.
    tail: Vec<R>,
}

/// Rows that were written together.
#[derive(Clone, Debug)]
struct Frame {
    /// Index into the sources.
    source: usize,
    range: Range<u64>,
    /// Their number.
    rows: u32,
}

impl<R: RecordedRow> Packed<R> {
    /// The rows of a record file, whose frames are added later.
    pub(crate) fn of_file(store: Store) -> Packed<R> {
        Packed {
            sources: vec![Source::new(store, Known::default())],
            ..Packed::default()
        }
    }

    /// Adds the frame of a file, and passes each of its rows to `each`.
    pub(crate) fn add_frame(
        &mut self,
        decoder: &mut Decoder<'_>,
        range: Range<u64>,
        known: &Known,
        mut each: impl FnMut(&R),
    ) -> Result<(), Corrupt> {
        let mut rows = 0;
        R::decode(decoder, known, |row| {
            rows += 1;
            each(&row);
            Ok(())
        })?;
        if rows > 0 {
            self.frames.push(Frame {
                source: 0,
                range,
                rows,
            });
        }
        Ok(())
    }

    /// Sets how many rows the tables have, against which references are checked.
    pub(crate) fn may_point_to(&mut self, known: Known) {
        for source in &mut self.sources {
            source.known = known;
        }
    }

    /// The rows of several experiments one after the other, with the ids of each mapped.
    pub(crate) fn unite<'a>(
        parts: impl IntoIterator<Item = (&'a Packed<R>, &'a Arc<Ids>)>,
    ) -> Packed<R> {
        let mut all = Packed::default();
        for (part, ids) in parts {
            let before = all.sources.len();
            let sources = part.sources.iter();
            all.sources.extend(sources.map(|source| source.among(ids)));
            let frames = part.frames.iter();
            all.frames.extend(frames.map(|frame| Frame {
                source: before + frame.source,
                ..frame.clone()
            }));
            all.tail.extend(part.tail.iter().map(|row| row.among(ids)));
        }
        all
    }

    /// Adds a row to a recording in memory.
    pub fn push(&mut self, row: R) {
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
            R::encode(&mut encoder, &self.tail);
            let start = bytes.len() as u64;
            bytes.extend(encoder.take());
            self.frames.push(Frame {
                source: 0,
                range: start..bytes.len() as u64,
                rows: self.tail.len() as u32,
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

    /// All rows, frame by frame.
    pub fn iter(&self) -> impl Iterator<Item = R> + '_ {
        let mut unpacking = self.unpacking();
        let frames = 0..self.frames.len();
        let packed = frames.flat_map(move |frame| unpacking.frame(frame).to_vec());
        packed.chain(self.tail.iter().copied())
    }

    /// The number of frames; [`Packed::tail`] is not among them.
    pub(crate) fn frames(&self) -> usize {
        self.frames.len()
    }

    /// The rows that are in no frame.
    pub(crate) fn tail(&self) -> &[R] {
        &self.tail
    }

    /// Reads frames in any order.
    pub(crate) fn unpacking(&self) -> Unpacking<'_, R> {
        Unpacking {
            packed: self,
            scratch: Scratch::new(),
            rows: Vec::new(),
        }
    }

    fn unpack(&self, frame: usize, scratch: &mut Scratch, out: &mut Vec<R>) {
        out.clear();
        let frame = &self.frames[frame];
        let source = &self.sources[frame.source];
        let Some(payload) = source.store.bytes(&frame.range) else {
            return;
        };
        let add = |row| {
            out.push(source.ids.iter().fold(row, |row: R, ids| row.among(ids)));
            Ok(())
        };
        let decoded = scratch.unpack(&payload).and_then(|mut decoder| {
            decoder.number()?;
            R::decode(&mut decoder, &source.known, add)
        });
        // The frame was right when the file was opened: this is a fault of the disk since then.
        if decoded.is_err() {
            out.clear();
        }
    }
}

/// Unpacks frame after frame.
pub struct Unpacking<'a, R> {
    packed: &'a Packed<R>,
    scratch: Scratch,
    rows: Vec<R>,
}

impl<R: RecordedRow> Unpacking<'_, R> {
    /// The rows of a frame.
    pub fn frame(&mut self, frame: usize) -> &[R] {
        self.packed.unpack(frame, &mut self.scratch, &mut self.rows);
        &self.rows
    }
}

impl<R> Packed<R> {
    const NONE: Packed<R> = Packed {
        sources: Vec::new(),
        frames: Vec::new(),
        tail: Vec::new(),
    };
}

impl<R> Default for Packed<R> {
    fn default() -> Self {
        Packed::NONE
    }
}

impl<R: 'static> Default for &Packed<R> {
    fn default() -> Self {
        const { &Packed::NONE }
    }
}

impl<R: RecordedRow> FromIterator<R> for Packed<R> {
    fn from_iter<I: IntoIterator<Item = R>>(rows: I) -> Packed<R> {
        let mut packed = Packed::default();
        rows.into_iter().for_each(|row| packed.push(row));
        packed
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::ThreadId;

    #[test]
    fn rows_that_were_added_in_memory_come_back_in_their_order() {
        let row = |at: u32| CpuUse {
            thread: ThreadId(at % 3),
            cpu: (at % 7) as u16,
            migrations: u64::from(at),
            voluntary: 0,
            involuntary: u64::from(at) * 17,
            minor_faults: 0,
            major_faults: u64::MAX,
        };
        let count = 2 * CHUNK as u32 + 5;
        let packed: Packed<CpuUse> = (0..count).map(row).collect();
        assert_eq!((packed.len(), packed.frames()), (count as usize, 2));
        assert_eq!(packed.tail().len(), 5);
        assert!(packed.iter().eq((0..count).map(row)));
        assert!(<&Packed<CpuUse>>::default().is_empty());
        assert!(Packed::<Interval>::default().iter().next().is_none());
    }
}
