//! Rows of regions, stored by what other rows tell of the same ones.
//!
//! Intervals and spans hold the numbers of regions as [`Passage`] says, spans by the intervals
//! written with them. The capacity of regions' work is mostly the time of the sums of the same
//! regions by their teams. Frames say how many rows, the last ones before them, tell it: each call
//! of a writer begins anew.

use rustc_hash::FxHashMap;

use super::coding::{Corrupt, unzigzag, zigzag};
use super::column::{Decoder, Encoder, MAX_ROWS};
use super::passage::Passage;
use super::rows::{self, Known, ticks};
use crate::ids::{ContextId, ThreadId};
use crate::rows::{Interval, RegionSpan, RegionSum, RegionWork};

pub(super) fn encode_intervals(encoder: &mut Encoder, rows: &[Interval], first: u64) {
    let mut passage = Passage::default();
    rows::encode_by(encoder, rows, first, |mut numbers: [u64; 7]| {
        let [start, thread, .., region, _] = numbers;
        numbers[5] = passage.store(thread, start, region);
        numbers
    });
}

pub(super) fn decode_intervals(
    decoder: &mut Decoder<'_, '_>,
    first: u64,
    known: &Known,
    each: impl FnMut(Interval) -> Result<(), Corrupt>,
) -> Result<(), Corrupt> {
    let mut passage = Passage::default();
    let loaded = |mut numbers: [u64; 7]| {
        let [start, thread, .., region, _] = numbers;
        numbers[5] = passage.load(thread, start, region);
        numbers
    };
    rows::decode_by(decoder, first, known, loaded, each)
}

/// Appends spans; the last intervals written are these.
pub(super) fn encode_spans(
    encoder: &mut Encoder,
    rows: &[RegionSpan],
    first: u64,
    intervals: &[Interval],
) {
    let intervals = nearest(intervals);
    encoder.number(intervals.len() as u64);
    let mut passage = along(intervals);
    rows::encode_by(encoder, rows, first, |mut numbers: [u64; 7]| {
        let [start, .., region, _] = numbers;
        numbers[5] = passage.store(0, start, region);
        numbers
    });
}

/// Reads spans after such intervals.
pub(super) fn decode_spans(
    decoder: &mut Decoder<'_, '_>,
    first: u64,
    known: &Known,
    intervals: &[Interval],
    each: impl FnMut(RegionSpan) -> Result<(), Corrupt>,
) -> Result<(), Corrupt> {
    let mut passage = along(last(decoder, intervals)?);
    let loaded = |mut numbers: [u64; 7]| {
        let [start, .., region, _] = numbers;
        numbers[5] = passage.load(0, start, region);
        numbers
    };
    rows::decode_by(decoder, first, known, loaded, each)
}

fn along(intervals: &[Interval]) -> Passage {
    let points = intervals.iter();
    Passage::between(points.map(|interval| (ticks(interval.start), interval.within.region)))
}

/// Appends how work was spread; the last sums written are these.
pub(super) fn encode_works(
    encoder: &mut Encoder,
    rows: &[RegionWork],
    first: u64,
    sums: &[RegionSum],
) {
    let sums = nearest(sums);
    encoder.number(sums.len() as u64);
    let capacities = Capacities::of(sums);
    rows::encode_by(encoder, rows, first, |mut numbers: [u64; 6]| {
        let less = numbers[3].wrapping_sub(capacities.expected(&numbers));
        numbers[3] = zigzag(less as i64);
        numbers
    });
}

/// Reads how work was spread, after such sums.
pub(super) fn decode_works(
    decoder: &mut Decoder<'_, '_>,
    first: u64,
    known: &Known,
    sums: &[RegionSum],
    each: impl FnMut(RegionWork) -> Result<(), Corrupt>,
) -> Result<(), Corrupt> {
    let capacities = Capacities::of(last(decoder, sums)?);
    let loaded = |mut numbers: [u64; 6]| {
        let more = unzigzag(numbers[3]) as u64;
        numbers[3] = capacities.expected(&numbers).wrapping_add(more);
        numbers
    };
    rows::decode_by(decoder, first, known, loaded, each)
}

/// The time of regions by their teams, by context, thread and slice.
struct Capacities(FxHashMap<(ContextId, ThreadId, u32), u64>);

impl Capacities {
    fn of(sums: &[RegionSum]) -> Capacities {
        let capacity = |sum: &RegionSum| sum.elapsed.0.wrapping_mul(sum.team.into());
        let rows = sums.iter();
        Capacities(
            rows.map(|sum| ((sum.context, sum.thread, sum.slice), capacity(sum)))
                .collect(),
        )
    }

    fn expected(&self, &[context, thread, slice, ..]: &[u64; 6]) -> u64 {
        // Numbers too wide for their columns are refused later.
        let key = (
            ContextId(context as u32),
            ThreadId(thread as u32),
            slice as u32,
        );
        self.0.get(&key).copied().unwrap_or(0)
    }
}

/// Of rows written before, those that others may be stored by: as many as a frame holds, so that a
/// few bytes cannot make a reader go through a whole recording.
fn nearest<R>(rows: &[R]) -> &[R] {
    &rows[rows.len().saturating_sub(MAX_ROWS)..]
}

/// So many of the last rows.
fn last<'a, R>(decoder: &mut Decoder<'_, '_>, rows: &'a [R]) -> Result<&'a [R], Corrupt> {
    let count = usize::try_from(decoder.number()?).ok();
    let count = count.filter(|&count| count <= MAX_ROWS);
    let from = count.and_then(|count| rows.len().checked_sub(count));
    let from = from.ok_or(Corrupt("more rows than stand before"))?;
    Ok(&rows[from..])
}
