//! Samples: by far the most of a recording, so they stay packed and are unpacked in passing.

use std::ops::Range;
use std::sync::Arc;

use super::TICK;
use super::coding::Corrupt;
use super::column::{Decoder, Encoder, MAX_ROWS, Scratch};
use super::packing::{InOrder, encode};
use super::rows::{Known, ticks};
use super::store::Store;
use super::unpacking::{TOO_LATE, decode, decode_cpus, decode_runs, decode_sights, skip_times};
use super::uses::Uses;
use crate::ids::{Nanos, StackId, ThreadId};
use crate::rows::{Sample, Sight};

/// The samples of a recording, packed.
///
/// They come in frames, as they were written (one a second or so). Within a frame they are
/// grouped by thread; within a thread they are in the order in which they were recorded, which
/// is that of time. Times are rounded down to whole ticks: [`TICK`]s in memory, and in files what
/// [`sample_tick`](super::sample_tick) says.
#[derive(Clone, Debug, Default)]
pub struct Samples {
    store: Store,
    frames: Vec<SampleFrame>,
    known: Known,
    uses: Arc<Uses>,
}

/// A frame of samples.
#[derive(Clone, Debug)]
pub struct SampleFrame {
    /// Where its payload lies.
    range: Range<u64>,
    /// How many samples it holds.
    pub rows: u32,
    /// The time of its first sample.
    pub first: Nanos,
    /// The stacks that no frame before showed, in the order in which they come.
    fresh: Arc<[StackId]>,
}

impl SampleFrame {
    /// Reads of a payload only what tells the number of its rows and when they begin.
    pub(super) fn of(
        payload: &[u8],
        (range, fresh): (Range<u64>, Vec<StackId>),
        known: &Known,
        scratch: &mut Scratch,
    ) -> Result<SampleFrame, Corrupt> {
        let mut decoder = Decoder::new(payload, scratch);
        let rows = decoder.rows()?;
        let tick = decoder.number()?;
        skip_times(&mut decoder)?;
        let runs = decode_runs(&mut decoder, known, rows)?;
        let first = runs.iter().map(|run| run.first).min().unwrap_or(0);
        Ok(SampleFrame {
            range,
            rows: rows as u32,
            first: Nanos(first.checked_mul(tick).ok_or(TOO_LATE)?),
            fresh: fresh.into(),
        })
    }
}

impl Samples {
    /// Packs samples in memory, for a recording that never was a file.
    pub fn pack(samples: &[Sample]) -> std::io::Result<Samples> {
        Samples::of_frames(samples.chunks(MAX_ROWS))
    }

    /// Packs samples that are in frames already, each at most as large as a file's.
    pub fn of_frames(
        frames_of_samples: impl IntoIterator<Item = impl AsRef<[Sample]>>,
    ) -> std::io::Result<Samples> {
        let mut encoder = Encoder::new()?;
        let (mut bytes, mut frames) = (Vec::new(), Vec::new());
        for frame in frames_of_samples {
            let frame = frame.as_ref();
            encode(&mut encoder, &InOrder::of(frame, TICK), &[], &|_| None);
            let start = bytes.len() as u64;
            bytes.extend(encoder.take());
            let first = frame.iter().map(|sample| sample.time).min();
            frames.push(SampleFrame {
                range: start..bytes.len() as u64,
                rows: frame.len() as u32,
                first: Nanos(ticks(first.unwrap_or_default()) * TICK.0),
                fresh: Arc::default(),
            });
        }
        Ok(Samples {
            store: Store::Memory(bytes),
            frames,
            known: Known::ANY,
            uses: Arc::default(),
        })
    }

    /// Of a record file, and where in it lie the samples.
    pub(super) fn of_file(
        store: Store,
        frames: Vec<SampleFrame>,
        known: Known,
        uses: Arc<Uses>,
    ) -> Samples {
        Samples {
            store,
            frames,
            known,
            uses,
        }
    }

    pub(super) fn into_frames(self) -> Vec<SampleFrame> {
        self.frames
    }

    /// How many samples there are.
    pub fn len(&self) -> u64 {
        self.frames.iter().map(|frame| u64::from(frame.rows)).sum()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The time of the last sample.
    pub(super) fn last(&self) -> Nanos {
        // A frame's samples may go on where the next one's have begun, not beyond the next one's.
        let mut rows = Vec::new();
        let near = self.frames.len().saturating_sub(2)..self.frames.len();
        let last = near.filter_map(|frame| {
            self.frame(frame, &mut rows);
            rows.iter().map(|sample| sample.time).max()
        });
        last.max().unwrap_or_default()
    }

    /// What is known of each frame without unpacking it.
    pub fn index(&self) -> &[SampleFrame] {
        &self.frames
    }

    /// How many frames there are.
    pub fn frames(&self) -> usize {
        self.frames.len()
    }

    /// Unpacks one frame, below [`Samples::frames`], into `out`, which is emptied first.
    pub fn frame(&self, frame: usize, out: &mut Vec<Sample>) {
        self.unpack(frame, &mut Scratch::new(), out);
    }

    /// All samples, frame by frame.
    pub fn iter(&self) -> Iter<'_> {
        Iter {
            samples: self,
            next_frame: 0,
            scratch: Scratch::new(),
            rows: Vec::new(),
            next_row: 0,
        }
    }

    /// The CPUs of a frame's samples, thread by thread: of a frame that cannot be read, none.
    pub(super) fn cpus(
        &self,
        frame: usize,
        scratch: &mut Scratch,
        mut take: impl FnMut(ThreadId, &[u64]),
    ) {
        let frame = self.frames.get(frame);
        let Some(payload) = frame.and_then(|frame| self.store.bytes(&frame.range)) else {
            return;
        };
        if let Ok((runs, cpus)) = decode_cpus(&payload, &self.known, scratch) {
            let mut rest = cpus.as_slice();
            for run in runs {
                let (own, others) = rest.split_at(run.rows as usize);
                rest = others;
                take(ThreadId(run.thread), own);
            }
        }
    }

    pub(super) fn unpack(&self, frame: usize, scratch: &mut Scratch, out: &mut Vec<Sample>) {
        out.clear();
        let Some(frame) = self.frames.get(frame) else {
            return;
        };
        let Some(payload) = self.store.bytes(&frame.range) else {
            return;
        };
        // Its checksum was right when it was opened: only a fault of its writer, or of the disk
        // since then, leads here, and nothing can be said of its samples.
        let context = (&self.known, &*self.uses, &*frame.fresh);
        if decode(&payload, context, scratch, out).is_err() {
            out.clear();
        }
    }

    /// The same of what the samples show of their threads.
    pub(super) fn sights(&self, frame: usize, scratch: &mut Scratch, out: &mut Vec<Sight>) {
        out.clear();
        let Some(frame) = self.frames.get(frame) else {
            return;
        };
        let Some(payload) = self.store.bytes(&frame.range) else {
            return;
        };
        let mut columns = std::mem::take(&mut scratch.samples);
        let mut decoder = Decoder::new(&payload, scratch);
        let context = (&self.known, &*self.uses, &*frame.fresh);
        if decode_sights(&mut decoder, context, &mut columns, out).is_err() {
            out.clear();
        }
        scratch.samples = columns;
    }
}

impl<'a> IntoIterator for &'a Samples {
    type Item = Sample;
    type IntoIter = Iter<'a>;

    fn into_iter(self) -> Iter<'a> {
        self.iter()
    }
}

/// Iterator over all samples of a recording; holds one frame unpacked.
pub struct Iter<'a> {
    samples: &'a Samples,
    next_frame: usize,
    scratch: Scratch,
    rows: Vec<Sample>,
    next_row: usize,
}

impl Iterator for Iter<'_> {
    type Item = Sample;

    fn next(&mut self) -> Option<Sample> {
        loop {
            if let Some(sample) = self.rows.get(self.next_row) {
                self.next_row += 1;
                return Some(*sample);
            }
            if self.next_frame >= self.samples.frames() {
                return None;
            }
            self.samples
                .unpack(self.next_frame, &mut self.scratch, &mut self.rows);
            self.next_frame += 1;
            self.next_row = 0;
        }
    }
}
