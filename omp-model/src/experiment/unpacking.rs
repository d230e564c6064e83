//! How a frame of samples is read: what `packing` wrote.

use super::coding::{Corrupt, unzigzag};
use super::column::{Decoder, Scratch};
use super::instances::Track;
use super::laps::Laps;
use super::rows::Known;
use super::uses::{Uses, kind_of};
use crate::ids::{Nanos, StackId, TagId, ThreadId};
use crate::rows::{Sample, SampleKind, Sight, Within};

pub(super) const TOO_LATE: Corrupt = Corrupt("a time beyond 64 bits");

/// What unpacking keeps between frames.
#[derive(Default)]
pub(super) struct Columns {
    numbers: [Vec<u64>; 7],
    seen: Vec<Seen>,
    laps: Laps,
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
pub(super) struct Run {
    pub(super) thread: u32,
    pub(super) rows: u64,
    /// Of the first sample, in ticks.
    pub(super) first: u64,
    /// What the time between samples is near to, in ticks.
    pub(super) period: u64,
    /// Of the numbers of regions and of tasks.
    pub(super) paces: [u64; 2],
    /// Of the frame's stacks those that no thread before showed.
    pub(super) own: u64,
}

pub(super) fn decode_runs(
    decoder: &mut Decoder<'_, '_>,
    known: &Known,
    rows: usize,
) -> Result<Vec<Run>, Corrupt> {
    let count = decoder.rows()?;
    let mut runs = Vec::with_capacity(count);
    let (mut thread, mut first, mut total) = (0_u64, 0_u64, 0_u64);
    for [thread_step, run_rows, first_step, period, region, task, own] in decoder.table(count)? {
        thread = thread.wrapping_add(unzigzag(thread_step) as u64);
        first = first.wrapping_add(unzigzag(first_step) as u64);
        total = total.saturating_add(run_rows);
        runs.push(Run {
            thread: known.thread(thread)?.0,
            rows: run_rows,
            first,
            period,
            paces: [region, task],
            own,
        });
    }
    if total != rows as u64 {
        return Err(Corrupt("the threads' samples do not add up"));
    }
    Ok(runs)
}

/// What a frame of samples begins with.
struct Head {
    rows: usize,
    /// Nanoseconds.
    tick: u64,
    runs: Vec<Run>,
}

impl Head {
    /// Reads it, with how each sample's time differs from its thread's pace, and the stacks.
    fn decode(
        decoder: &mut Decoder<'_, '_>,
        (known, uses): (&Known, &Uses),
        noise: &mut Vec<u64>,
        seen: &mut Vec<Seen>,
    ) -> Result<Head, Corrupt> {
        let rows = decoder.rows()?;
        let tick = decoder.number()?;
        decoder.dense(rows, noise)?;
        let runs = decode_runs(decoder, known, rows)?;
        decode_stacks(decoder, (known, uses), &runs, seen)?;
        Ok(Head { rows, tick, runs })
    }
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
pub(super) fn decode_cpus(
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
        laps,
    }: &mut Columns,
    out: &mut Vec<Sample>,
) -> Result<(), Corrupt> {
    let Head { rows, tick, runs } = Head::decode(decoder, (known, uses), noise, seen)?;
    for column in [&mut *stacks, tags, cpus, kinds] {
        decoder.column(rows, column)?;
    }
    laps.begin(decoder.number()?);
    for column in [&mut *regions, tasks] {
        decoder.column(rows, column)?;
    }
    decoder.finish()?;
    out.reserve(rows);
    let others = stacks.iter().zip(&*tags).zip(cpus.iter().zip(&*kinds));
    let instances = regions.iter().zip(&*tasks);
    let mut numbers = noise.iter().zip(others.zip(instances));
    let (mut region, mut task) = (Track::default(), Track::default());
    let mut spots = Spots::new(seen);
    for run in runs {
        let mut ticks = run.before();
        region.turn(run.paces[0]);
        task.turn(run.paces[1]);
        let rows = numbers.by_ref().take(run.rows as usize);
        for (&noise, (((&stack, &tag), (&cpu, &kind)), (&of_region, &of_task))) in rows {
            let (stack, tag, kind) = spots.next(known, [stack, tag, kind])?;
            ticks = run.next(ticks, noise);
            let task = task.load(of_task, ticks, task.expected(ticks));
            let expected = laps.nearest(tag.0, region.expected(ticks));
            let region = region.load(of_region, ticks, expected);
            if region != 0 {
                laps.note(tag.0, region);
            }
            out.push(Sample {
                time: Nanos(ticks.checked_mul(tick).ok_or(TOO_LATE)?),
                thread: ThreadId(run.thread),
                cpu: u16::try_from(cpu).map_err(|_| Corrupt("a CPU beyond 16 bits"))?,
                kind,
                stack,
                tag,
                within: Within { region, task },
            });
        }
        spots.base += run.own;
    }
    Ok(())
}

/// Goes past the columns of CPUs and instances.
pub(super) fn decode_sights(
    decoder: &mut Decoder<'_, '_>,
    (known, uses): (&Known, &Uses),
    Columns {
        numbers: [noise, stacks, tags, _, kinds, _, _],
        seen,
        ..
    }: &mut Columns,
    out: &mut Vec<Sight>,
) -> Result<(), Corrupt> {
    let Head { rows, tick, runs } = Head::decode(decoder, (known, uses), noise, seen)?;
    decoder.column(rows, stacks)?;
    decoder.column(rows, tags)?;
    decoder.skip()?;
    decoder.column(rows, kinds)?;
    decoder.number()?;
    decoder.skip()?;
    decoder.skip()?;
    decoder.finish()?;
    out.reserve(rows);
    let others = stacks.iter().zip(&*tags).zip(&*kinds);
    let mut numbers = noise.iter().zip(others);
    let mut spots = Spots::new(seen);
    for run in runs {
        let mut ticks = run.before();
        let rows = numbers.by_ref().take(run.rows as usize);
        for (&noise, ((&stack, &tag), &kind)) in rows {
            let (stack, tag, kind) = spots.next(known, [stack, tag, kind])?;
            ticks = run.next(ticks, noise);
            out.push(Sight {
                time: Nanos(ticks.checked_mul(tick).ok_or(TOO_LATE)?),
                thread: ThreadId(run.thread),
                stack,
                tag,
                kind,
            });
        }
        spots.base += run.own;
    }
    Ok(())
}

/// Where the threads of a frame are seen, sample by sample.
struct Spots<'a> {
    seen: &'a mut [Seen],
    /// The first stack of its thread's own.
    base: u64,
    tag: TagId,
}

impl<'a> Spots<'a> {
    fn new(seen: &'a mut [Seen]) -> Spots<'a> {
        Spots {
            seen,
            base: 0,
            tag: TagId(0),
        }
    }

    /// Stack, tag and kind, as they are stored.
    #[inline]
    fn next(
        &mut self,
        known: &Known,
        [stack, tag, kind]: [u64; 3],
    ) -> Result<(StackId, TagId, SampleKind), Corrupt> {
        // The list's end is followed by its beginning.
        let upto_end = self.seen.len() as u64 - self.base;
        let place = match stack < upto_end {
            true => self.base + stack,
            false => stack.wrapping_sub(upto_end),
        };
        let at = usize::try_from(place).ok();
        let seen = at.and_then(|at| self.seen.get_mut(at));
        let seen = seen.ok_or(Corrupt("a stack that is not in its frame's list"))?;
        let expected = seen.tag.unwrap_or(self.tag.0);
        self.tag = known.tag(u64::from(expected).wrapping_add(unzigzag(tag) as u64))?;
        seen.tag = Some(self.tag.0);
        Ok((seen.stack, self.tag, kind_of(kind ^ seen.kind as u64)?))
    }
}

impl Run {
    /// Where its time begins, in ticks: the first sample's noise is 0, so that it stands one period
    /// after this.
    fn before(&self) -> u64 {
        self.first.wrapping_sub(self.period)
    }

    /// The time of the next sample, in ticks.
    #[inline]
    fn next(&self, ticks: u64, noise: u64) -> u64 {
        ticks
            .wrapping_add(self.period)
            .wrapping_add(unzigzag(noise) as u64)
    }
}

/// The stacks that a frame shows, thread by thread, and what they were first seen with.
fn decode_stacks(
    decoder: &mut Decoder<'_, '_>,
    (known, uses): (&Known, &Uses),
    runs: &[Run],
    seen: &mut Vec<Seen>,
) -> Result<(), Corrupt> {
    seen.clear();
    let count = decoder.rows()?;
    let own = runs
        .iter()
        .try_fold(0_u64, |sum, run| sum.checked_add(run.own));
    if own != Some(count as u64) {
        return Err(Corrupt("the threads' stacks do not add up"));
    }
    let mut steps = decoder.table(count)?;
    for run in runs {
        let mut stack = 0_u64;
        for [step] in steps.by_ref().take(run.own as usize) {
            stack = stack.wrapping_add(step);
            let stack = known.stack(stack)?;
            let first = uses.of(stack);
            seen.push(Seen {
                stack,
                tag: first.map(|first| first.tag.0),
                kind: first.map_or(SampleKind::User, |first| first.kind),
            });
        }
    }
    Ok(())
}
