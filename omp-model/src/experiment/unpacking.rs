//! How a frame of samples is read: what `packing` wrote.

use std::slice::Iter;

use super::beat::{Beat, is_switch};
use super::coding::{Corrupt, unzigzag};
use super::column::{Decoder, Scratch};
use super::instances::{Course, Track};
use super::laps::Laps;
use super::rows::Known;
use super::tagging::Tags;
use super::uses::{Uses, kind_of};
use crate::ids::{Nanos, StackId, TagId, ThreadId};
use crate::rows::{Sample, SampleKind, Sight, Within};

pub(super) const TOO_LATE: Corrupt = Corrupt("a time beyond 64 bits");

/// What unpacking keeps between frames.
#[derive(Default)]
pub(super) struct Columns {
    times: Times,
    numbers: [Vec<u64>; 6],
    seen: Vec<Seen>,
    laps: Laps,
    course: Course,
}

/// A stack of a frame, while that is being unpacked.
struct Seen {
    stack: StackId,
    tags: Tags,
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
    /// Of the frame's stacks, but for the fresh ones, those that no thread before showed.
    pub(super) own: u64,
    /// Whether the first thread's course leads to its regions' numbers.
    pub(super) by_course: bool,
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
            own: own >> 1,
            by_course: own & 1 == 1,
        });
    }
    if total != rows as u64 {
        return Err(Corrupt("the threads' samples do not add up"));
    }
    Ok(runs)
}

/// What all of a frame's samples are seen by: the tables, what stacks were first seen with, and
/// the stacks that no frame before showed.
pub(super) type Context<'a> = (&'a Known, &'a Uses, &'a [StackId]);

/// What a frame of samples begins with.
struct Head {
    rows: usize,
    /// Nanoseconds.
    tick: u64,
    runs: Vec<Run>,
    /// Where the fresh ones begin among the stacks.
    fresh: usize,
}

impl Head {
    /// Reads it, with the samples' times, and the stacks.
    fn decode(
        decoder: &mut Decoder<'_, '_>,
        (known, uses, fresh): Context<'_>,
        times: &mut Times,
        seen: &mut Vec<Seen>,
    ) -> Result<Head, Corrupt> {
        let rows = decoder.rows()?;
        let tick = decoder.number()?;
        times.decode(decoder, rows)?;
        let runs = decode_runs(decoder, known, rows)?;
        decode_stacks(decoder, (known, uses), &runs, seen)?;
        let listed = seen.len();
        seen.extend(fresh.iter().map(|&stack| Seen::of(stack, uses)));
        Ok(Head {
            rows,
            tick,
            runs,
            fresh: listed,
        })
    }

    #[inline]
    fn time(&self, ticks: u64) -> Result<Nanos, Corrupt> {
        let nanos = ticks.checked_mul(self.tick);
        nanos.map(Nanos).ok_or(TOO_LATE)
    }
}

/// The columns that samples' times are made of.
#[derive(Default)]
struct Times {
    /// Of the clock's samples.
    noise: Vec<u64>,
    /// Of those at switches.
    steps: Vec<u64>,
    /// What [`Beat`] wants to be told beside the noise.
    periods: Vec<u64>,
}

impl Times {
    fn decode(&mut self, decoder: &mut Decoder<'_, '_>, rows: usize) -> Result<(), Corrupt> {
        let switches = usize::try_from(decoder.number()?).ok();
        let clock = switches.and_then(|switches| rows.checked_sub(switches));
        let clock = clock.ok_or(Corrupt("more switches than samples"))?;
        decoder.dense(clock, &mut self.noise)?;
        decoder.dense(rows - clock, &mut self.steps)
    }

    /// Those stand further on.
    fn decode_periods(&mut self, decoder: &mut Decoder<'_, '_>) -> Result<(), Corrupt> {
        let several = decoder.rows()?;
        decoder.dense(several, &mut self.periods)
    }

    fn begin(&self) -> Moments<'_> {
        Moments {
            noise: self.noise.iter(),
            steps: self.steps.iter(),
            periods: self.periods.iter(),
        }
    }
}

/// Goes past the times of a frame's samples.
pub(super) fn skip_times(decoder: &mut Decoder<'_, '_>) -> Result<(), Corrupt> {
    decoder.number()?;
    decoder.skip()?;
    decoder.skip()
}

/// The times of a frame's samples, one after the other.
struct Moments<'a> {
    noise: Iter<'a, u64>,
    steps: Iter<'a, u64>,
    periods: Iter<'a, u64>,
}

impl Moments<'_> {
    /// Of a sample of this kind, in ticks.
    #[inline]
    fn next(&mut self, beat: &mut Beat, kind: SampleKind) -> Result<u64, Corrupt> {
        let ticks = if is_switch(kind) {
            self.steps.next().map(|&step| beat.load_switch(step))
        } else {
            let noise = self.noise.next();
            noise.and_then(|&noise| beat.load_clock(noise, || self.periods.next().copied()))
        };
        ticks.ok_or(Corrupt("samples have too few times"))
    }

    /// None may be left over.
    fn finish(&self) -> Result<(), Corrupt> {
        let left = self.noise.len() + self.steps.len() + self.periods.len();
        match left {
            0 => Ok(()),
            _ => Err(Corrupt("samples have too many times")),
        }
    }
}

/// Appends the samples of a frame to `out`.
pub(super) fn decode(
    payload: &[u8],
    context: Context<'_>,
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
    skip_times(&mut decoder)?;
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
    context: Context<'_>,
    Columns {
        times,
        numbers: [stacks, tags, cpus, kinds, regions, tasks],
        seen,
        laps,
        course,
    }: &mut Columns,
    out: &mut Vec<Sample>,
) -> Result<(), Corrupt> {
    let head = Head::decode(decoder, context, times, seen)?;
    for column in [&mut *stacks, tags, cpus, kinds] {
        decoder.column(head.rows, column)?;
    }
    times.decode_periods(decoder)?;
    laps.begin(decoder.number()?);
    for column in [&mut *regions, tasks] {
        decoder.column(head.rows, column)?;
    }
    decoder.finish()?;
    out.reserve(head.rows);
    let others = stacks.iter().zip(&*tags).zip(cpus.iter().zip(&*kinds));
    let mut numbers = others.zip(regions.iter().zip(&*tasks));
    let (mut region, mut task) = (Track::default(), Track::default());
    course.clear();
    let mut moments = times.begin();
    let mut spots = Spots::new(seen, head.fresh);
    for run in &head.runs {
        let mut beat = run.beat();
        region.turn(run.paces[0]);
        task.turn(run.paces[1]);
        course.turn();
        let rows = numbers.by_ref().take(run.rows as usize);
        for (((&stack, &tag), (&cpu, &kind)), (&of_region, &of_task)) in rows {
            let (stack, tag, kind) = spots.next(context.0, [stack, tag, kind])?;
            let ticks = moments.next(&mut beat, kind)?;
            let task = task.load(of_task, ticks, task.expected(ticks));
            let near = course.expected(run.by_course, &region, ticks);
            let region = region.load(of_region, ticks, laps.nearest(tag.0, near));
            if region != 0 {
                laps.note(tag.0, region);
                course.note(ticks, region);
            }
            out.push(Sample {
                time: head.time(ticks)?,
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
    moments.finish()
}

/// Goes past the columns of CPUs and instances.
pub(super) fn decode_sights(
    decoder: &mut Decoder<'_, '_>,
    context: Context<'_>,
    Columns {
        times,
        numbers: [stacks, tags, _, kinds, _, _],
        seen,
        ..
    }: &mut Columns,
    out: &mut Vec<Sight>,
) -> Result<(), Corrupt> {
    let head = Head::decode(decoder, context, times, seen)?;
    decoder.column(head.rows, stacks)?;
    decoder.column(head.rows, tags)?;
    decoder.skip()?;
    decoder.column(head.rows, kinds)?;
    times.decode_periods(decoder)?;
    decoder.number()?;
    decoder.skip()?;
    decoder.skip()?;
    decoder.finish()?;
    out.reserve(head.rows);
    let mut numbers = stacks.iter().zip(&*tags).zip(&*kinds);
    let mut moments = times.begin();
    let mut spots = Spots::new(seen, head.fresh);
    for run in &head.runs {
        let mut beat = run.beat();
        let rows = numbers.by_ref().take(run.rows as usize);
        for ((&stack, &tag), &kind) in rows {
            let (stack, tag, kind) = spots.next(context.0, [stack, tag, kind])?;
            let ticks = moments.next(&mut beat, kind)?;
            out.push(Sight {
                time: head.time(ticks)?,
                thread: ThreadId(run.thread),
                stack,
                tag,
                kind,
            });
        }
        spots.base += run.own;
    }
    moments.finish()
}

/// Where the threads of a frame are seen, sample by sample.
struct Spots<'a> {
    seen: &'a mut [Seen],
    /// The first stack of its thread's own.
    base: u64,
    /// The next stack that no frame before showed.
    fresh: u64,
    tag: TagId,
}

impl<'a> Spots<'a> {
    fn new(seen: &'a mut [Seen], fresh: usize) -> Spots<'a> {
        Spots {
            seen,
            base: 0,
            fresh: fresh as u64,
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
        let place = match stack.checked_sub(1) {
            None => {
                self.fresh += 1;
                self.fresh - 1
            }
            Some(place) if place < upto_end => self.base + place,
            Some(place) => place.wrapping_sub(upto_end),
        };
        let at = usize::try_from(place).ok();
        let seen = at.and_then(|at| self.seen.get_mut(at));
        let seen = seen.ok_or(Corrupt("a stack that is not in its frame's list"))?;
        self.tag = known.tag(seen.tags.load(tag, self.tag.0))?;
        seen.tags.see(self.tag.0);
        Ok((seen.stack, self.tag, kind_of(kind ^ seen.kind as u64)?))
    }
}

impl Run {
    fn beat(&self) -> Beat {
        Beat::new(self.first, self.period)
    }
}

impl Seen {
    fn of(stack: StackId, uses: &Uses) -> Seen {
        let first = uses.of(stack);
        Seen {
            stack,
            tags: Tags::new(first.map(|first| first.tag.0)),
            kind: first.map_or(SampleKind::User, |first| first.kind),
        }
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
            seen.push(Seen::of(known.stack(stack)?, uses));
        }
    }
    Ok(())
}
