//! Samples: by far the most of a recording, so they stay packed and are unpacked in passing.

use std::ops::Range;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::TICK;
use super::coding::{Corrupt, unzigzag, zigzag};
use super::column::{Decoder, Encoder, MAX_ROWS, Scratch};
use super::instances::{Track, pace};
use super::rows::{Known, ticks};
use super::store::Store;
use super::uses::{Use, Uses, kind_of};
use crate::ids::{Nanos, StackId, ThreadId};
use crate::rows::{Sample, SampleKind, Within};

/// The samples of a recording, packed.
///
/// They come in frames, as they were written (one a second or so). Within a frame they are
/// grouped by thread; within a thread they are in the order in which they were recorded, which
/// is that of time. Times are whole [`TICK`]s, rounded down.
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
}

impl SampleFrame {
    /// Reads of a payload only what tells the number of its rows and when they begin.
    pub(super) fn of(
        payload: &[u8],
        range: Range<u64>,
        known: &Known,
        scratch: &mut Scratch,
    ) -> Result<SampleFrame, Corrupt> {
        let mut decoder = Decoder::new(payload, scratch);
        let rows = decoder.rows()?;
        let tick = decoder.number()?;
        decoder.skip()?;
        let runs = decode_runs(&mut decoder, known, rows)?;
        let first = runs.iter().map(|run| run.first).min().unwrap_or(0);
        Ok(SampleFrame {
            range,
            rows: rows as u32,
            first: Nanos(first.checked_mul(tick).ok_or(TOO_LATE)?),
        })
    }
}

const TOO_LATE: Corrupt = Corrupt("a time beyond 64 bits");

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
            encode(&mut encoder, frame, &|_| None);
            let start = bytes.len() as u64;
            bytes.extend(encoder.take());
            let first = frame.iter().map(|sample| sample.time).min();
            frames.push(SampleFrame {
                range: start..bytes.len() as u64,
                rows: frame.len() as u32,
                first: Nanos(ticks(first.unwrap_or_default()) * TICK.0),
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
        let frame = self.frames.get(frame);
        let Some(payload) = frame.and_then(|frame| self.store.bytes(&frame.range)) else {
            return;
        };
        // Its checksum was right when it was opened: only a fault of its writer, or of the disk
        // since then, leads here, and nothing can be said of its samples.
        if decode(&payload, (&self.known, &self.uses), scratch, out).is_err() {
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

/// What unpacking keeps between frames.
#[derive(Default)]
pub(super) struct Columns {
    numbers: [Vec<u64>; 7],
    seen: Vec<Seen>,
}

/// A stack of a frame, while that is being unpacked.
struct Seen {
    stack: StackId,
    /// The last tag that it was seen with; `None` if neither this frame nor any before it showed
    /// the stack.
    tag: Option<u32>,
    /// The kind that it was first seen with.
    kind: SampleKind,
}

/// One thread's samples within a frame.
struct Run {
    thread: u32,
    rows: u64,
    /// Of the first sample, in ticks.
    first: u64,
    /// What the time between samples is near to, in ticks.
    period: u64,
    /// Of the numbers of regions and of tasks.
    paces: [u64; 2],
}

/// Appends at most [`MAX_ROWS`] samples.
///
/// Stacks are stored as places in the list of those that the frame shows. A stack mostly goes with
/// one state: a tag is stored as its difference to the last one that was seen with the same stack
/// in this frame, else to that which the stack was `first` seen with, else to the one before; so
/// are kinds. Numbers of instances are stored as [`Track`] says.
pub(super) fn encode(
    encoder: &mut Encoder,
    samples: &[Sample],
    first: &dyn Fn(StackId) -> Option<Use>,
) {
    let mut order: Vec<&Sample> = samples.iter().collect();
    order.sort_by_key(|sample| sample.thread);
    let ticks = |sample: &Sample| ticks(sample.time);
    let mut runs: Vec<Run> = Vec::new();
    let mut noise = Vec::with_capacity(order.len());
    let mut steps = Vec::new();
    let (mut regions, mut tasks) = (Vec::new(), Vec::new());
    let (mut region, mut task) = (Track::default(), Track::default());
    for run in order.chunk_by(|one, other| one.thread == other.thread) {
        steps.clear();
        let pairs = run.windows(2);
        steps.extend(pairs.map(|pair| ticks(pair[1]).wrapping_sub(ticks(pair[0]))));
        let middle = steps.len() / 2;
        let mut sorted = steps.clone();
        let period = match sorted.is_empty() {
            true => 0,
            false => *sorted.select_nth_unstable(middle).1,
        };
        noise.push(0);
        noise.extend(
            steps
                .iter()
                .map(|step| zigzag(step.wrapping_sub(period) as i64)),
        );
        let of = |number: fn(&Within) -> u64| {
            run.iter()
                .map(move |sample| (number(&sample.within), ticks(sample)))
        };
        let paces = [
            pace(of(|within| within.region), &mut steps),
            pace(of(|within| within.task), &mut steps),
        ];
        region.turn(paces[0]);
        task.turn(paces[1]);
        for sample in run {
            regions.push(region.store(sample.within.region, ticks(sample)));
            tasks.push(task.store(sample.within.task, ticks(sample)));
        }
        runs.push(Run {
            thread: run[0].thread.0,
            rows: run.len() as u64,
            first: ticks(run[0]),
            period,
            paces,
        });
    }
    encoder.number(order.len() as u64);
    encoder.number(TICK.0);
    encoder.dense(&noise);
    encode_runs(encoder, &runs);
    let mut stacks: Vec<u32> = order.iter().map(|sample| sample.stack.0).collect();
    stacks.sort_unstable();
    stacks.dedup();
    let mut last = 0;
    encoder.number(stacks.len() as u64);
    encoder.table(stacks.iter().map(|&stack| {
        let step = stack - last;
        last = stack;
        [u64::from(step)]
    }));
    let mut column = noise;
    let mut put = |number: &mut dyn FnMut(&Sample) -> u64| {
        column.clear();
        column.extend(order.iter().map(|sample| number(sample)));
        encoder.column(&column);
    };
    put(&mut |sample| stacks.partition_point(|&stack| stack < sample.stack.0) as u64);
    let mut tags: FxHashMap<StackId, u32> = FxHashMap::default();
    let mut before = 0;
    put(&mut |sample| {
        let tag = sample.tag.0;
        let seen = tags.insert(sample.stack, tag);
        let seen = seen.or_else(|| first(sample.stack).map(|first| first.tag.0));
        let expected = seen.unwrap_or(before);
        before = tag;
        zigzag(i64::from(tag) - i64::from(expected))
    });
    put(&mut |sample| u64::from(sample.cpu));
    put(&mut |sample| {
        let usual = first(sample.stack).map_or(SampleKind::User, |first| first.kind);
        sample.kind as u64 ^ usual as u64
    });
    encoder.column(&regions);
    encoder.column(&tasks);
}

fn encode_runs(encoder: &mut Encoder, runs: &[Run]) {
    let (mut thread, mut first) = (0, 0);
    encoder.number(runs.len() as u64);
    encoder.table(runs.iter().map(|run| {
        let stored = [
            zigzag(i64::from(run.thread) - thread),
            run.rows,
            zigzag(run.first.wrapping_sub(first) as i64),
            run.period,
            run.paces[0],
            run.paces[1],
        ];
        (thread, first) = (i64::from(run.thread), run.first);
        stored
    }));
}

fn decode_runs(
    decoder: &mut Decoder<'_, '_>,
    known: &Known,
    rows: usize,
) -> Result<Vec<Run>, Corrupt> {
    let count = decoder.rows()?;
    let mut runs = Vec::with_capacity(count);
    let (mut thread, mut first, mut total) = (0_u64, 0_u64, 0_u64);
    for [thread_step, run_rows, first_step, period, region, task] in decoder.table(count)? {
        thread = thread.wrapping_add(unzigzag(thread_step) as u64);
        first = first.wrapping_add(unzigzag(first_step) as u64);
        total = total.saturating_add(run_rows);
        runs.push(Run {
            thread: known.thread(thread)?.0,
            rows: run_rows,
            first,
            period,
            paces: [region, task],
        });
    }
    if total != rows as u64 {
        return Err(Corrupt("the threads' samples do not add up"));
    }
    Ok(runs)
}

/// Appends the samples of a frame to `out`.
pub(super) fn decode(
    payload: &[u8],
    context: (&Known, &Uses),
    scratch: &mut Scratch,
    out: &mut Vec<Sample>,
) -> Result<(), Corrupt> {
    let mut columns = std::mem::take(&mut scratch.samples);
    let decoded = decode_into(
        &mut Decoder::new(payload, scratch),
        context,
        &mut columns,
        out,
    );
    scratch.samples = columns;
    decoded
}

/// Of a frame only which thread ran on which CPU.
fn decode_cpus(
    payload: &[u8],
    known: &Known,
    scratch: &mut Scratch,
) -> Result<(Vec<Run>, Vec<u64>), Corrupt> {
    let mut cpus = Vec::new();
    let mut decoder = Decoder::new(payload, scratch);
    let rows = decoder.rows()?;
    decoder.number()?;
    decoder.skip()?;
    let runs = decode_runs(&mut decoder, known, rows)?;
    let stacks = decoder.rows()?;
    let _ = decoder.table::<1>(stacks)?;
    // Which of them, and tags.
    decoder.skip()?;
    decoder.skip()?;
    decoder.column(rows, &mut cpus)?;
    match cpus.iter().all(|&cpu| cpu <= u64::from(u16::MAX)) {
        true => Ok((runs, cpus)),
        false => Err(Corrupt("a CPU beyond 16 bits")),
    }
}

fn decode_into(
    decoder: &mut Decoder<'_, '_>,
    (known, uses): (&Known, &Uses),
    Columns {
        numbers: [noise, stacks, tags, cpus, kinds, regions, tasks],
        seen,
    }: &mut Columns,
    out: &mut Vec<Sample>,
) -> Result<(), Corrupt> {
    let rows = decoder.rows()?;
    let tick = decoder.number()?;
    decoder.dense(rows, noise)?;
    let runs = decode_runs(decoder, known, rows)?;
    decode_stacks(decoder, (known, uses), seen)?;
    for column in [&mut *stacks, tags, cpus, kinds, regions, tasks] {
        decoder.column(rows, column)?;
    }
    decoder.finish()?;
    out.reserve(rows);
    let mut tag_before = 0;
    let others = stacks.iter().zip(&*tags).zip(cpus.iter().zip(&*kinds));
    let instances = regions.iter().zip(&*tasks);
    let mut numbers = noise.iter().zip(others.zip(instances));
    let (mut region, mut task) = (Track::default(), Track::default());
    for run in runs {
        // The first sample's noise is 0: it stands one period after this.
        let mut ticks = run.first.wrapping_sub(run.period);
        region.turn(run.paces[0]);
        task.turn(run.paces[1]);
        let rows = numbers.by_ref().take(run.rows as usize);
        for (&noise, (((&stack, &tag), (&cpu, &kind)), (&of_region, &of_task))) in rows {
            let seen = usize::try_from(stack).ok().and_then(|at| seen.get_mut(at));
            let seen = seen.ok_or(Corrupt("a stack that is not in its frame's list"))?;
            let expected = seen.tag.unwrap_or(tag_before);
            let tag = known.tag(u64::from(expected).wrapping_add(unzigzag(tag) as u64))?;
            seen.tag = Some(tag.0);
            tag_before = tag.0;
            ticks = ticks
                .wrapping_add(run.period)
                .wrapping_add(unzigzag(noise) as u64);
            out.push(Sample {
                time: Nanos(ticks.checked_mul(tick).ok_or(TOO_LATE)?),
                thread: ThreadId(run.thread),
                cpu: u16::try_from(cpu).map_err(|_| Corrupt("a CPU beyond 16 bits"))?,
                kind: kind_of(kind ^ seen.kind as u64)?,
                stack: seen.stack,
                tag,
                within: Within {
                    region: region.load(of_region, ticks),
                    task: task.load(of_task, ticks),
                },
            });
        }
    }
    Ok(())
}

/// The stacks that a frame shows, and what they were first seen with.
fn decode_stacks(
    decoder: &mut Decoder<'_, '_>,
    (known, uses): (&Known, &Uses),
    seen: &mut Vec<Seen>,
) -> Result<(), Corrupt> {
    seen.clear();
    let count = decoder.rows()?;
    let mut stack = 0_u64;
    for [step] in decoder.table(count)? {
        stack = stack.wrapping_add(step);
        let stack = known.stack(stack)?;
        let first = uses.of(stack);
        seen.push(Seen {
            stack,
            tag: first.map(|first| first.tag.0),
            kind: first.map_or(SampleKind::User, |first| first.kind),
        });
    }
    Ok(())
}
