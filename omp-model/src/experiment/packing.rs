//! Samples as columns: how a frame of them is written. `unpacking` reads it.

use rustc_hash::FxHashMap;

use super::beat::{Beat, is_switch};
use super::coding::zigzag;
use super::column::Encoder;
use super::instances::{Course, Track, pace};
use super::laps::{Laps, Ways};
use super::tagging::Tags;
use super::unpacking::Run;
use super::uses::Use;
use crate::ids::{Nanos, StackId};
use crate::rows::{Sample, SampleKind, Within};

/// Samples as a frame holds them: by thread, those of each in the order in which they come.
pub(super) struct InOrder<'a> {
    tick: Nanos,
    rows: Vec<Row<'a>>,
}

/// A sample, and its time in the frame's ticks.
struct Row<'a> {
    sample: &'a Sample,
    ticks: u64,
}

impl<'a> InOrder<'a> {
    /// Times are kept to whole ticks, rounded down.
    pub(super) fn of(samples: &'a [Sample], tick: Nanos) -> InOrder<'a> {
        let ticks = |sample: &Sample| sample.time.0 / tick.0;
        let rows = samples.iter();
        let rows = rows.map(|sample| Row {
            sample,
            ticks: ticks(sample),
        });
        let mut rows: Vec<Row<'a>> = rows.collect();
        rows.sort_by_key(|row| row.sample.thread);
        InOrder { tick, rows }
    }

    pub(super) fn samples(&self) -> impl Iterator<Item = &'a Sample> {
        self.rows.iter().map(|row| row.sample)
    }
}

/// Appends at most [`MAX_ROWS`](super::column::MAX_ROWS) samples.
///
/// Times are stored as [`Beat`] says. Stacks are stored as places in the list of those that the
/// frame shows, from the first one that no thread before showed: the first thread and the others
/// have few stacks in common. Those that no frame before showed, `fresh`, stand at the list's end
/// in the order in which they come, so that the next one of them needs no place. A stack
/// mostly goes with one state or two: a tag is stored as [`Tags`] says, where the stack is not in
/// this frame yet by that which it was `first` seen with; so are kinds. Numbers of instances are
/// stored as [`Track`] says, those of regions as the nearest that [`Laps`] allow, of threads
/// after the first by its [`Course`] where that is nearer.
pub(super) fn encode(
    encoder: &mut Encoder,
    order: &InOrder<'_>,
    fresh: &[StackId],
    first: &dyn Fn(StackId) -> Option<Use>,
) {
    let InOrder { tick, rows } = order;
    let threads = rows.chunk_by(|one, other| one.sample.thread == other.sample.thread);
    let threads: Vec<&[Row<'_>]> = threads.collect();
    let listed = Listed::of(&threads, fresh);
    let mut runs = Vec::with_capacity(threads.len());
    let mut times = Times::default();
    for (run, &own) in threads.iter().zip(&listed.own) {
        runs.push(times.push(run, own));
    }
    let (lap, regions) = regions(&threads, &mut runs);
    encoder.number(rows.len() as u64);
    encoder.number(tick.0);
    encoder.number(times.steps.len() as u64);
    encoder.dense(&times.noise);
    encoder.dense(&times.steps);
    encode_runs(encoder, &runs);
    listed.encode(encoder);
    encoder.column(&listed.places(&threads));
    let mut column = Vec::with_capacity(rows.len());
    let mut put = |number: &mut dyn FnMut(&Sample) -> u64| {
        column.clear();
        column.extend(order.samples().map(&mut *number));
        encoder.column(&column);
    };
    let mut tags: FxHashMap<StackId, Tags> = FxHashMap::default();
    let mut before = 0;
    put(&mut |sample| {
        let seen = tags
            .entry(sample.stack)
            .or_insert_with(|| Tags::new(first(sample.stack).map(|first| first.tag.0)));
        let stored = seen.store(sample.tag.0, before);
        before = sample.tag.0;
        stored
    });
    put(&mut |sample| u64::from(sample.cpu));
    put(&mut |sample| {
        let usual = first(sample.stack).map_or(SampleKind::User, |first| first.kind);
        sample.kind as u64 ^ usual as u64
    });
    encoder.number(times.periods.len() as u64);
    encoder.dense(&times.periods);
    encoder.number(lap);
    encoder.column(&regions);
    encoder.column(&tasks(&threads, &runs));
}

/// The times of samples, as columns.
#[derive(Default)]
struct Times {
    /// Of the clock's: how far they are from whole periods since the one before.
    noise: Vec<u64>,
    /// How many those are, where [`Beat`] does not tell.
    periods: Vec<u64>,
    /// Of those at switches: since the sample before.
    steps: Vec<u64>,
}

impl Times {
    /// Appends the samples of a thread; returns what is the same for all of them.
    fn push(&mut self, run: &[Row<'_>], own: u64) -> Run {
        let first = run[0].ticks;
        let clock = run.iter().filter(|row| !is_switch(row.sample.kind));
        let clock: Vec<u64> = clock.map(|row| row.ticks).collect();
        let pairs = clock.windows(2);
        let mut steps: Vec<u64> = pairs.map(|pair| pair[1].wrapping_sub(pair[0])).collect();
        let middle = steps.len() / 2;
        let period = match steps.is_empty() {
            true => 0,
            false => *steps.select_nth_unstable(middle).1,
        };
        let mut beat = Beat::new(first, period);
        for &Row { sample, ticks } in run {
            if is_switch(sample.kind) {
                self.steps.push(beat.store_switch(ticks));
            } else {
                let (noise, periods) = beat.store_clock(ticks);
                self.noise.push(noise);
                self.periods.extend(periods);
            }
        }
        let of = |number: fn(&Within) -> u64| {
            run.iter()
                .map(move |row| (number(&row.sample.within), row.ticks))
        };
        let paces = [
            pace(of(|within| within.region), &mut steps),
            pace(of(|within| within.task), &mut steps),
        ];
        Run {
            thread: run[0].sample.thread.0,
            rows: run.len() as u64,
            first,
            period,
            paces,
            own,
            by_course: false,
        }
    }
}

/// The stacks that a frame shows, by the first thread that does.
struct Listed {
    /// But for the fresh ones.
    stacks: Vec<StackId>,
    /// How many of them each thread is the first to show.
    own: Vec<u64>,
    places: FxHashMap<StackId, u64>,
    fresh: usize,
}

impl Listed {
    fn of(threads: &[&[Row<'_>]], fresh: &[StackId]) -> Listed {
        let mut listed = Listed {
            stacks: Vec::new(),
            own: Vec::with_capacity(threads.len()),
            places: fresh.iter().map(|&stack| (stack, 0)).collect(),
            fresh: fresh.len(),
        };
        for run in threads {
            let from = listed.stacks.len();
            for Row { sample, .. } in *run {
                if listed.places.insert(sample.stack, 0).is_none() {
                    listed.stacks.push(sample.stack);
                }
            }
            listed.stacks[from..].sort_unstable();
            listed.own.push((listed.stacks.len() - from) as u64);
        }
        for (&stack, place) in listed.stacks.iter().chain(fresh).zip(0..) {
            listed.places.insert(stack, place);
        }
        listed
    }

    fn encode(&self, encoder: &mut Encoder) {
        let mut rest = self.stacks.as_slice();
        let mut steps = Vec::with_capacity(rest.len());
        for &own in &self.own {
            let (of_thread, others) = rest.split_at(own as usize);
            rest = others;
            let mut last = 0;
            steps.extend(of_thread.iter().map(|stack| {
                let step = u64::from(stack.0 - last);
                last = stack.0;
                [step]
            }));
        }
        encoder.number(steps.len() as u64);
        encoder.table(steps.into_iter());
    }

    /// Each sample's stack: 0 for the next fresh one, else 1 more than how far behind the first of
    /// its thread's own it stands, the list's end followed by its beginning.
    fn places(&self, threads: &[&[Row<'_>]]) -> Vec<u64> {
        let mut next = self.stacks.len() as u64;
        let count = next + self.fresh as u64;
        let mut base = 0;
        let mut places = Vec::new();
        for (run, own) in threads.iter().zip(&self.own) {
            places.extend(run.iter().map(|Row { sample, .. }| {
                let place = self.places[&sample.stack];
                if place == next {
                    next += 1;
                    0
                } else if place >= base {
                    place - base + 1
                } else {
                    place + count - base + 1
                }
            }));
            base += own;
        }
        places
    }
}

/// The numbers of regions, with what makes them short: the length of laps, or 0. Says of each
/// thread whether the first one's course leads to them.
fn regions(threads: &[&[Row<'_>]], runs: &mut [Run]) -> (u64, Vec<u64>) {
    let mut ways = Ways::default();
    for run in threads {
        ways.turn();
        run.iter()
            .for_each(|Row { sample, .. }| ways.add(sample.tag.0, sample.within.region));
    }
    let plain = regions_by(0, threads, runs);
    match ways.lap() {
        0 => (0, plain),
        lap => {
            let by_course: Vec<bool> = runs.iter().map(|run| run.by_course).collect();
            let by_laps = regions_by(lap, threads, runs);
            if bits(&by_laps) < bits(&plain) {
                return (lap, by_laps);
            }
            for (run, by_course) in runs.iter_mut().zip(by_course) {
                run.by_course = by_course;
            }
            (0, plain)
        }
    }
}

fn bits(stored: &[u64]) -> u64 {
    let bits = stored.iter().map(|&stored| stored.checked_ilog2());
    bits.map(|bits| bits.map_or(0, u64::from)).sum()
}

fn regions_by(lap: u64, threads: &[&[Row<'_>]], runs: &mut [Run]) -> Vec<u64> {
    let mut laps = Laps::default();
    laps.begin(lap);
    let mut track = Track::default();
    let mut course = Course::default();
    let mut stored = Vec::new();
    for (samples, run) in threads.iter().zip(runs) {
        track.turn(run.paces[0]);
        course.turn();
        let before = (laps.clone(), track);
        let from = stored.len();
        run.by_course = false;
        let own = stored_regions(samples, false, (&mut laps, &mut track, &mut course));
        stored.extend(own);
        if course.is_known() {
            course.turn();
            let (mut laps, mut track) = before;
            let models = (&mut laps, &mut track, &mut course);
            let by_course = stored_regions(samples, true, models);
            if bits(&by_course) < bits(&stored[from..]) {
                run.by_course = true;
                stored.truncate(from);
                stored.extend(by_course);
            }
        }
    }
    stored
}

fn stored_regions(
    samples: &[Row<'_>],
    by_course: bool,
    (laps, track, course): (&mut Laps, &mut Track, &mut Course),
) -> Vec<u64> {
    let numbers = samples.iter().map(|&Row { sample, ticks }| {
        let number = sample.within.region;
        let near = course.expected(by_course, track, ticks);
        let stored = track.store(number, ticks, laps.nearest(sample.tag.0, near));
        if number != 0 {
            laps.note(sample.tag.0, number);
            course.note(ticks, number);
        }
        stored
    });
    numbers.collect()
}

fn tasks(threads: &[&[Row<'_>]], runs: &[Run]) -> Vec<u64> {
    let mut track = Track::default();
    let mut stored = Vec::new();
    for (samples, run) in threads.iter().zip(runs) {
        track.turn(run.paces[1]);
        stored.extend(samples.iter().map(|&Row { sample, ticks }| {
            track.store(sample.within.task, ticks, track.expected(ticks))
        }));
    }
    stored
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
            run.own << 1 | u64::from(run.by_course),
        ];
        (thread, first) = (i64::from(run.thread), run.first);
        stored
    }));
}
