//! Samples as columns: how a frame of them is written. `unpacking` reads it.

use rustc_hash::FxHashMap;

use super::TICK;
use super::coding::zigzag;
use super::column::Encoder;
use super::instances::{Track, pace};
use super::laps::{Laps, Ways};
use super::rows::ticks;
use super::unpacking::Run;
use super::uses::Use;
use crate::ids::StackId;
use crate::rows::{Sample, SampleKind, Within};

/// Appends at most [`MAX_ROWS`](super::column::MAX_ROWS) samples.
///
/// Stacks are stored as places in the list of those that the frame shows, from the first one that
/// no thread before showed: the first thread and the others have few stacks in common. A stack
/// mostly goes with one state: a tag is stored as its difference to the last one that was seen with
/// the same stack in this frame, else to that which the stack was `first` seen with, else to the
/// one before; so are kinds. Numbers of instances are stored as [`Track`] says, those of regions
/// as the nearest that [`Laps`] allow.
pub(super) fn encode(
    encoder: &mut Encoder,
    samples: &[Sample],
    first: &dyn Fn(StackId) -> Option<Use>,
) {
    let mut order: Vec<&Sample> = samples.iter().collect();
    order.sort_by_key(|sample| sample.thread);
    let threads: Vec<&[&Sample]> = order
        .chunk_by(|one, other| one.thread == other.thread)
        .collect();
    let listed = Listed::of(&threads);
    let mut runs = Vec::with_capacity(threads.len());
    let mut noise = Vec::with_capacity(order.len());
    for (run, &own) in threads.iter().zip(&listed.own) {
        runs.push(push_times(run, own, &mut noise));
    }
    encoder.number(order.len() as u64);
    encoder.number(TICK.0);
    encoder.dense(&noise);
    encode_runs(encoder, &runs);
    listed.encode(encoder);
    encoder.column(&listed.places(&threads));
    let mut column = noise;
    let mut put = |number: &mut dyn FnMut(&Sample) -> u64| {
        column.clear();
        column.extend(order.iter().map(|sample| number(sample)));
        encoder.column(&column);
    };
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
    let (lap, regions) = regions(&threads, &runs);
    encoder.number(lap);
    encoder.column(&regions);
    encoder.column(&tasks(&threads, &runs));
}

/// What is the same for all samples of a thread, and appends each one's time.
fn push_times(run: &[&Sample], own: u64, noise: &mut Vec<u64>) -> Run {
    let ticks = |sample: &Sample| ticks(sample.time);
    let pairs = run.windows(2);
    let mut steps: Vec<u64> = pairs
        .map(|pair| ticks(pair[1]).wrapping_sub(ticks(pair[0])))
        .collect();
    let mut sorted = steps.clone();
    let middle = sorted.len() / 2;
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
    Run {
        thread: run[0].thread.0,
        rows: run.len() as u64,
        first: ticks(run[0]),
        period,
        paces,
        own,
    }
}

/// The stacks that a frame shows, by the first thread that does.
struct Listed {
    stacks: Vec<StackId>,
    /// How many of them each thread is the first to show.
    own: Vec<u64>,
    places: FxHashMap<StackId, u64>,
}

impl Listed {
    fn of(threads: &[&[&Sample]]) -> Listed {
        let mut listed = Listed {
            stacks: Vec::new(),
            own: Vec::with_capacity(threads.len()),
            places: FxHashMap::default(),
        };
        for run in threads {
            let from = listed.stacks.len();
            for sample in *run {
                if listed.places.insert(sample.stack, 0).is_none() {
                    listed.stacks.push(sample.stack);
                }
            }
            listed.stacks[from..].sort_unstable();
            listed.own.push((listed.stacks.len() - from) as u64);
        }
        for (&stack, place) in listed.stacks.iter().zip(0..) {
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

    /// Each sample's stack: how far behind the first of its thread's own it stands, the list's end
    /// followed by its beginning.
    fn places(&self, threads: &[&[&Sample]]) -> Vec<u64> {
        let count = self.stacks.len() as u64;
        let mut base = 0;
        let mut places = Vec::new();
        for (run, own) in threads.iter().zip(&self.own) {
            places.extend(run.iter().map(|sample| {
                let place = self.places[&sample.stack];
                if place >= base {
                    place - base
                } else {
                    place + count - base
                }
            }));
            base += own;
        }
        places
    }
}

/// The numbers of regions, with what makes them short: the length of laps, or 0.
fn regions(threads: &[&[&Sample]], runs: &[Run]) -> (u64, Vec<u64>) {
    let mut ways = Ways::default();
    for run in threads {
        ways.turn();
        run.iter()
            .for_each(|sample| ways.add(sample.tag.0, sample.within.region));
    }
    let plain = regions_by(0, threads, runs);
    match ways.lap() {
        0 => (0, plain),
        lap => {
            let by_laps = regions_by(lap, threads, runs);
            let bits = |stored: &[u64]| -> u64 {
                let bits = stored.iter().map(|&stored| stored.checked_ilog2());
                bits.map(|bits| bits.map_or(0, u64::from)).sum()
            };
            match bits(&by_laps) < bits(&plain) {
                true => (lap, by_laps),
                false => (0, plain),
            }
        }
    }
}

fn regions_by(lap: u64, threads: &[&[&Sample]], runs: &[Run]) -> Vec<u64> {
    let mut laps = Laps::default();
    laps.begin(lap);
    let mut track = Track::default();
    let mut stored = Vec::new();
    for (samples, run) in threads.iter().zip(runs) {
        track.turn(run.paces[0]);
        for sample in *samples {
            let (ticks, number) = (ticks(sample.time), sample.within.region);
            let expected = laps.nearest(sample.tag.0, track.expected(ticks));
            stored.push(track.store(number, ticks, expected));
            if number != 0 {
                laps.note(sample.tag.0, number);
            }
        }
    }
    stored
}

fn tasks(threads: &[&[&Sample]], runs: &[Run]) -> Vec<u64> {
    let mut track = Track::default();
    let mut stored = Vec::new();
    for (samples, run) in threads.iter().zip(runs) {
        track.turn(run.paces[1]);
        stored.extend(samples.iter().map(|sample| {
            let ticks = ticks(sample.time);
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
            run.own,
        ];
        (thread, first) = (i64::from(run.thread), run.first);
        stored
    }));
}
