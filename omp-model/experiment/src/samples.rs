//! Samples. They are by far the most of a recording, so they stay in their file, and each pass over
//! them unpacks them frame by frame.

use std::ops::Range;
use std::sync::Arc;

use crate::TICK;
use crate::column::{Corrupt, Decoder, Encoder, MAX_ROWS, Scratch, push_number};
use crate::ids::Nanos;
use crate::packed::RecordedRow;
use crate::rows::Sample;
use crate::store::{Source, Store};
use crate::stored::{self, Known, nanos, ticks};
use crate::union::Ids;

/// The samples of a recording, packed.
///
/// They come in the frames in which they were written, about one a second. Within a frame they are
/// grouped by thread, and within a thread sorted by time. Times are rounded down to whole ticks: in
/// memory to [`TICK`], in files to [`sample_tick`](crate::sample_tick).
#[derive(Clone, Debug, Default)]
pub struct Samples {
    sources: Vec<Source>,
    frames: Vec<SampleFrame>,
}

/// A frame of samples.
#[derive(Clone, Debug)]
pub struct SampleFrame {
    /// Index into the sources.
    source: usize,
    /// Where its payload lies.
    range: Range<u64>,
    /// The number of its samples.
    pub rows: u32,
    /// The time of its first sample.
    pub first: Nanos,
}

/// The unpacked head of a frame of samples: their number, and the time of the first.
fn head(decoder: &mut Decoder<'_>) -> Result<(usize, Nanos), Corrupt> {
    let rows = usize::try_from(decoder.number()?).ok();
    let rows = rows.filter(|&rows| rows <= MAX_ROWS);
    let rows = rows.ok_or(Corrupt("more samples than a frame can hold"))?;
    Ok((rows, nanos(decoder.number()?)?))
}

/// The payload of a frame of at most [`MAX_ROWS`] samples; times are kept to whole ticks.
pub(crate) fn encode(encoder: &mut Encoder, samples: &[Sample], tick: Nanos) -> Vec<u8> {
    let kept = |sample: &Sample| Sample {
        time: Nanos(sample.time.0 / tick.0 * tick.0),
        ..*sample
    };
    let mut rows: Vec<Sample> = samples.iter().map(kept).collect();
    rows.sort_by_key(|sample| sample.thread);
    let first = rows.iter().map(|sample| sample.time).min();
    let mut payload = Vec::new();
    push_number(&mut payload, rows.len() as u64);
    push_number(&mut payload, ticks(first.unwrap_or_default()));
    stored::encode(encoder, &rows, 0);
    payload.extend(encoder.take());
    payload
}

impl SampleFrame {
    /// Reads only the head of a payload.
    fn of(payload: &[u8], range: Range<u64>) -> Result<SampleFrame, Corrupt> {
        let (rows, first) = head(&mut Decoder::of(payload))?;
        Ok(SampleFrame {
            source: 0,
            range,
            rows: rows as u32,
            first,
        })
    }
}

/// Appends the samples of a frame to `out`, which is empty.
fn decode(
    source: &Source,
    payload: &[u8],
    scratch: &mut Scratch,
    out: &mut Vec<Sample>,
) -> Result<(), Corrupt> {
    let mut outer = Decoder::of(payload);
    let (rows, begin) = head(&mut outer)?;
    let mut decoder = scratch.unpack(outer.rest())?;
    out.reserve(rows);
    stored::decode(&mut decoder, 0, &source.known, |sample: Sample| {
        let own = source.ids.iter();
        out.push(own.fold(sample, |sample, ids| sample.among(ids)));
        Ok(())
    })?;
    decoder.finish()?;
    let first = out.iter().map(|sample| sample.time).min();
    if (out.len(), first.unwrap_or_default()) == (rows, begin) {
        Ok(())
    } else {
        Err(Corrupt("other samples than their frame says"))
    }
}

impl Samples {
    /// Packs samples in memory.
    pub fn pack(samples: &[Sample]) -> std::io::Result<Samples> {
        Samples::of_frames(samples.chunks(MAX_ROWS))
    }

    /// Packs samples in memory that are divided into frames, each at most as large as in a
    /// file.
    pub fn of_frames(
        frames_of_samples: impl IntoIterator<Item = impl AsRef<[Sample]>>,
    ) -> std::io::Result<Samples> {
        let mut encoder = Encoder::new()?;
        let (mut bytes, mut frames) = (Vec::new(), Vec::new());
        for samples in frames_of_samples {
            let start = bytes.len() as u64;
            bytes.extend(encode(&mut encoder, samples.as_ref(), TICK));
            let frame = SampleFrame::of(&bytes[start as usize..], start..bytes.len() as u64);
            frames.push(frame.map_err(|Corrupt(what)| std::io::Error::other(what))?);
        }
        Ok(Samples {
            sources: vec![Source::new(Store::Memory(bytes), Known::ANY)],
            frames,
        })
    }

    /// The samples of a record file, whose frames are added later.
    pub(crate) fn of_file(store: Store) -> Samples {
        Samples {
            sources: vec![Source::new(store, Known::default())],
            frames: Vec::new(),
        }
    }

    /// Adds a frame of the record file.
    pub(crate) fn add_frame(&mut self, payload: &[u8], range: Range<u64>) -> Result<(), Corrupt> {
        self.frames.push(SampleFrame::of(payload, range)?);
        Ok(())
    }

    /// Sets how many rows the tables have, against which references are checked.
    pub(crate) fn may_point_to(&mut self, known: Known) {
        for source in &mut self.sources {
            source.known = known;
        }
    }

    /// The samples of several experiments as one, with the ids of each mapped. Frames are merged by
    /// the time of their first sample; those of one experiment keep their order.
    pub(crate) fn unite<'a>(
        parts: impl IntoIterator<Item = (&'a Samples, &'a Arc<Ids>)>,
    ) -> Samples {
        let mut all = Samples::default();
        let mut waiting = Vec::new();
        for (part, ids) in parts {
            let before = all.sources.len();
            let sources = part.sources.iter();
            all.sources.extend(sources.map(|source| source.among(ids)));
            let frames = part.frames.iter().map(move |frame| SampleFrame {
                source: before + frame.source,
                ..frame.clone()
            });
            waiting.push(frames.peekable());
        }
        loop {
            let left = waiting.iter_mut();
            let next = left
                .filter_map(|frames| Some((frames.peek()?.first, frames)))
                .min_by_key(|(first, _)| *first);
            match next {
                Some((_, frames)) => all.frames.extend(frames.next()),
                None => return all,
            }
        }
    }

    /// The number of samples.
    pub fn len(&self) -> u64 {
        self.frames.iter().map(|frame| u64::from(frame.rows)).sum()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The time of the last sample.
    pub(crate) fn last(&self) -> Nanos {
        // Times of neighbouring frames may overlap.
        let mut rows = Vec::new();
        let near = self.frames.len().saturating_sub(2)..self.frames.len();
        let last = near.filter_map(|frame| {
            self.frame(frame, &mut rows);
            rows.iter().map(|sample| sample.time).max()
        });
        last.max().unwrap_or_default()
    }

    /// The frames' heads, which need no unpacking.
    pub fn index(&self) -> &[SampleFrame] {
        &self.frames
    }

    /// The number of frames.
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

    pub(crate) fn unpack(&self, frame: usize, scratch: &mut Scratch, out: &mut Vec<Sample>) {
        out.clear();
        let Some(frame) = self.frames.get(frame) else {
            return;
        };
        let source = &self.sources[frame.source];
        let Some(payload) = source.store.bytes(&frame.range) else {
            return;
        };
        // The checksum was right when the file was opened, which has counted it: this is a fault of the
        // writer, or of the disk since then.
        if decode(source, &payload, scratch, out).is_err() {
            out.clear();
        }
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
