//! A timeline as a document: threads by state over time.
//!
//! It is what `analyzer` writes of what is in sight, and what the page draws. A text has a letter for the state
//! that most of each column went to. JSON has lists, as a script draws or reads them at once:
//!
//! - `slots` of a thread: columns as [`Columns`] writes them;
//! - `intervals` of a thread: lists of gaps since the last one's end, lengths, activities (numbers of `activities`),
//!   whether on a CPU (0) and else how not, and region instances. Nanoseconds;
//! - `holds`: mutexes held for a millisecond or longer: the row's number, the mutex, where it was acquired, start and
//!   length of each;
//! - `regions` and `tasks`: lists of the names' numbers, distances from the start before, lengths, instances, threads
//!   (numbers of rows) and lines of each.

use std::cmp::Reverse;
use std::ops::Range;

use experiment::ids::{ContextId, ThreadId};
use experiment::rows::{Interval, SpanKind};
use omp_model::analysis::Analysis;
use omp_model::views::names::NameStyle;
use omp_model::views::openmp::locations::ConstructLocation;
use rustc_hash::FxHashMap;
use serde_json::{Map, Value as Json, json};

use super::activity::Activity;
use super::bands::Band;
use super::holds::mutex_names;
use super::names::construct_names;
use super::rows::Timeline;
use super::slot::{Look, Precision, Slot};
use crate::document::{Block, Column, Document, InJson, Line, Row, Style, Table, Value};
use crate::json::fields;
use crate::lost;
use crate::query::Query;

/// The intervals that a document lists, the longest.
const MOST_INTERVALS: usize = 40_000;
/// The instances of regions, the pieces of tasks and the phases.
const MOST_BANDS: usize = 20_000;

/// A thread's row.
#[derive(Clone, Debug, PartialEq)]
pub struct TimelineRow {
    /// The thread.
    pub thread: ThreadId,
    /// What it is called.
    pub name: String,
    /// What it has in common with others, if rows are grouped.
    pub group: Option<String>,
    /// The columns of time.
    pub columns: Columns,
    /// More fields of JSON.
    pub more: Map<String, Json>,
}

/// The columns of a thread, as forms write them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Columns {
    letters: String,
    slots: Runs,
}

impl Columns {
    /// Adds the next column.
    ///
    /// In JSON it is the letter of each state and its thousandths of the column, in the order in which they are
    /// stacked, with `-` before what was off CPUs: `#640b210-b150`. Then `/s` where samples placed any of it, `/p`
    /// where the sums of a second are divided in proportion. Empty where the thread did not live.
    pub fn push(&mut self, slot: &Slot) {
        let letter = slot.main().map_or(' ', Activity::letter);
        self.letters.push(letter);
        let mut text = String::new();
        for share in slot.shares() {
            let thousandths = (1_000.0 * share.part).round() as u32;
            if thousandths > 0 {
                let sign = if share.look == Look::Solid { "" } else { "-" };
                let letter = share.activity.letter();
                text.push_str(&format!("{sign}{letter}{thousandths}"));
            }
        }
        if !text.is_empty() {
            text.push_str(match slot.precision {
                Precision::Exact => "",
                Precision::Sampled => "/s",
                Precision::Shared => "/p",
            });
        }
        self.slots.push(json!(text));
    }
}

impl<'a> FromIterator<&'a Slot> for Columns {
    fn from_iter<I: IntoIterator<Item = &'a Slot>>(slots: I) -> Columns {
        let mut columns = Columns::default();
        slots.into_iter().for_each(|slot| columns.push(slot));
        columns
    }
}

/// Values, those that are equal one after the other as one with how often: `["#1000", 37, "b500#500", 1]`.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Runs(Vec<(Json, usize)>);

impl Runs {
    pub(super) fn push(&mut self, value: Json) {
        match self.0.last_mut() {
            Some((last, count)) if *last == value => *count += 1,
            _ => self.0.push((value, 1)),
        }
    }

    pub(super) fn json(self) -> Json {
        let both = self.0.into_iter();
        both.flat_map(|(value, count)| [value, json!(count)])
            .collect()
    }
}

/// Some threads in a range of time, in nanoseconds, that is cut into so many columns.
pub fn document(
    query: &Query<'_>,
    timeline: &Timeline,
    (range, columns): (&Range<u64>, usize),
    rows: Vec<TimelineRow>,
) -> Document {
    let (from, to) = (range.start as f64 / 1e9, range.end as f64 / 1e9);
    let recording = query.all.analysis;
    let losses = lost::within(&recording.experiment.header, range);
    let lines = losses.iter().flat_map(|loss| {
        let line = lost::line(loss);
        let stretches = loss.stretches.iter();
        stretches.map(move |it| json!([it.from_ns, it.to_ns, line]))
    });
    let constructs = construct_names(recording);
    let threads: Vec<ThreadId> = rows.iter().map(|row| row.thread).collect();
    let regions = timeline.regions().within(range.clone()).copied();
    let tasks = threads.iter().filter_map(|&it| timeline.tasks(it));
    let tasks = tasks.flat_map(|bands| bands.within(range.clone()).copied());
    let shortest = shortest_listed(timeline, &threads, range);
    let facts = fields([
        ("from", json!(from)),
        ("to", json!(to)),
        ("lost", json!(losses)),
        ("range", json!([range.start, range.end])),
        ("columns", json!(columns)),
        ("activities", json!(Activity::ALL.map(activity))),
        ("shortest", json!(shortest)),
        ("regions", bands(regions, &threads, &constructs)),
        ("tasks", bands(tasks, &threads, &constructs)),
        ("phases", phases(recording, timeline, range)),
        ("holds", holds(recording, timeline, &threads, range)),
        ("losses", lines.collect::<Vec<Json>>().into()),
    ]);
    let mut blocks = Vec::new();
    for group in rows.chunk_by(|left, right| left.group == right.group) {
        if let Some(label) = &group[0].group {
            blocks.push(Block::Lines(vec![Line::strong(label)]));
        }
        blocks.push(Block::Table(table(timeline, (range, shortest), group)));
    }
    if !losses.is_empty() {
        let lines = losses.iter().map(lost::line).map(Line::warning);
        blocks.push(Block::Lines(lines.collect()));
    }
    let legend = Activity::ALL.map(|it| Line::plain(format!("  {} {}", it.letter(), it.words())));
    blocks.push(Block::Lines(legend.to_vec()));
    Document {
        title: format!("Timeline from {from:.6} to {to:.6} s"),
        facts,
        blocks,
        ..query.document("timeline")
    }
}

fn table(
    timeline: &Timeline,
    (range, shortest): (&Range<u64>, u64),
    rows: &[TimelineRow],
) -> Table {
    let name = Column {
        heading: vec!["Thread".to_owned()],
        ..Column::name()
    };
    let states = Column {
        heading: vec!["States".to_owned()],
        json: InJson::Nowhere,
        ..Column::word("states", "States")
    };
    let mut columns = vec![name, states];
    columns.extend(["life", "slots", "intervals"].map(Column::fact));
    let more = rows.iter().flat_map(|row| row.more.keys());
    let mut more: Vec<&String> = more.collect();
    more.sort();
    more.dedup();
    columns.extend(more.iter().map(|key| Column::fact(key)));
    let row = |row: &TimelineRow| {
        let life = timeline.life(row.thread);
        let mut values = vec![
            Value::Absent,
            Value::Text(row.columns.letters.trim_end().to_owned()),
            Value::Json(json!([life.start, life.end])),
            Value::Json(row.columns.slots.clone().json()),
            Value::Json(intervals(timeline, row.thread, range, shortest)),
        ];
        let more = more.iter().map(|key| match row.more.get(*key) {
            Some(value) => Value::Json(value.clone()),
            None => Value::Absent,
        });
        values.extend(more);
        Row {
            name: row.name.clone(),
            values: vec![values],
            ..Row::default()
        }
    };
    Table {
        style: Style::Ruled,
        columns,
        rows: rows.iter().map(row).collect(),
        ..Table::default()
    }
}

/// An activity: its words, letter and colour, and how it is drawn off CPUs.
fn activity(activity: Activity) -> Json {
    let off_cpu = match Look::of(activity, false) {
        Look::Solid => "solid",
        Look::Pale => "pale",
        Look::Hatched => "hatched",
    };
    let (words, colour) = (activity.words(), activity.family().colour());
    json!([words, activity.letter().to_string(), colour, off_cpu])
}

/// The listed intervals of a thread that overlap a range of time.
fn within<'a>(
    timeline: &'a Timeline,
    thread: ThreadId,
    range: &Range<u64>,
) -> impl Iterator<Item = &'a Interval> {
    let rows = timeline.intervals(thread);
    let first = rows.partition_point(|row| row.end().0 <= range.start);
    let last = rows.partition_point(|row| row.start.0 < range.end);
    rows.get(first..last).unwrap_or_default().iter()
}

/// The length up to which intervals are left out, as there are too many; 0 if none is.
fn shortest_listed(timeline: &Timeline, threads: &[ThreadId], range: &Range<u64>) -> u64 {
    let all = threads.iter().flat_map(|&it| within(timeline, it, range));
    let mut lengths: Vec<u64> = all.map(|it| it.length.0).collect();
    let Some(at) = lengths.len().checked_sub(MOST_INTERVALS + 1) else {
        return 0;
    };
    *lengths.select_nth_unstable(at).1
}

fn intervals(timeline: &Timeline, thread: ThreadId, range: &Range<u64>, shortest: u64) -> Json {
    let mut end = 0;
    let mut lists: [Vec<u64>; 5] = Default::default();
    for row in within(timeline, thread, range).filter(|row| row.length.0 > shortest) {
        let Interval { start, length, .. } = *row;
        let row = [
            start.0.saturating_sub(end),
            length.0,
            timeline.activity(row.thread_state).number() as u64,
            row.scheduling as u64,
            row.within.region,
        ];
        end = start.0.saturating_add(length.0).max(end);
        for (list, value) in lists.iter_mut().zip(row) {
            list.push(value);
        }
    }
    json!(lists)
}

/// The longest of some instances, by their start.
fn bands(
    bands: impl Iterator<Item = Band>,
    threads: &[ThreadId],
    constructs: &FxHashMap<ContextId, String>,
) -> Json {
    let mut bands: Vec<Band> = bands.collect();
    let all = bands.len();
    if all > MOST_BANDS {
        bands.sort_unstable_by_key(|band| Reverse(band.end - band.start));
        bands.truncate(MOST_BANDS);
    }
    bands.sort_unstable_by_key(|band| (band.start, Reverse(band.end)));
    let at: FxHashMap<ThreadId, usize> = threads.iter().copied().zip(0..).collect();
    let mut names: Vec<&str> = Vec::new();
    let mut numbers = FxHashMap::<ContextId, usize>::default();
    let mut start = 0;
    let mut rows: [Vec<u64>; 6] = Default::default();
    for band in &bands {
        let name = *numbers.entry(band.context).or_insert_with(|| {
            let name = constructs.get(&band.context).map_or("", String::as_str);
            names.push(name);
            names.len() - 1
        });
        let thread = at.get(&band.thread).copied().unwrap_or(0);
        let row = [
            name as u64,
            band.start - start,
            band.end - band.start,
            band.number(),
            thread as u64,
            u64::from(band.lane),
        ];
        start = band.start;
        for (list, value) in rows.iter_mut().zip(row) {
            list.push(value);
        }
    }
    json!({"names": names, "rows": rows, "left_out": all - bands.len()})
}

/// Mutexes that were held long.
fn holds(
    recording: &Analysis,
    timeline: &Timeline,
    threads: &[ThreadId],
    range: &Range<u64>,
) -> Json {
    let names = recording.names(NameStyle::default());
    let mutexes = mutex_names(recording);
    let of_row = |(row, &thread): (usize, &ThreadId)| {
        let all = timeline.holds(thread, range).iter();
        all.map(move |hold| (row, hold))
    };
    let mut holds: Vec<_> = threads.iter().enumerate().flat_map(of_row).collect();
    holds.sort_by_key(|(_, hold)| Reverse(hold.end - hold.start));
    holds.truncate(MOST_BANDS);
    let rows = holds.into_iter().map(|(row, hold)| {
        let mutex = mutexes.get(&hold.call).map_or("", String::as_str);
        let place = ConstructLocation::of_frame(&names, hold.call).short();
        json!([row, mutex, place, hold.start, hold.end - hold.start])
    });
    rows.collect()
}

/// Phases and pauses: name, start and length.
fn phases(recording: &Analysis, timeline: &Timeline, range: &Range<u64>) -> Json {
    let tables = &recording.experiment.tables;
    let name = |span: &experiment::rows::Span| {
        let phase = tables.phases.get(span.phase.0);
        let name = phase.and_then(|phase| tables.names.get(phase.name.0));
        match span.kind {
            SpanKind::Phase => name.cloned().unwrap_or_default(),
            _ => "paused".to_owned(),
        }
    };
    let spans = timeline.spans_within(range).take(MOST_BANDS);
    spans
        .map(|span| json!([name(span), span.start.0, span.length.0]))
        .collect()
}

#[cfg(test)]
mod tests {
    use experiment::state::Scheduling;
    use omp_model::states::RefinedState;

    use super::*;

    #[test]
    fn a_column_has_its_states_in_the_order_in_which_they_are_stacked() {
        let mut slot = Slot {
            length: 1_000.0,
            ..Slot::default()
        };
        let work = Activity::State(RefinedState::Work);
        let barrier = Activity::State(RefinedState::ImplicitBarrier);
        slot.on_cpu[barrier.number()] = 100.0;
        slot.on_cpu[work.number()] = 600.0;
        slot.off_cpu[work.number()] = 50.0;
        slot.off_cpu[barrier.number()] = 150.0;
        slot.scheduling[Scheduling::Running as usize] = 700.0;
        let looks: Vec<Look> = slot.shares().map(|share| share.look).collect();
        // Without a CPU a thread is not shown at work.
        assert_eq!(looks, [Look::Solid, Look::Solid, Look::Hatched, Look::Pale]);
        let sampled = Slot {
            precision: Precision::Sampled,
            ..slot
        };
        let columns: Columns = [&slot, &slot, &sampled, &Slot::default()]
            .into_iter()
            .collect();
        assert_eq!(columns.letters, "### ");
        let text = "#600b100-#50-b150";
        let sampled = format!("{text}/s");
        assert_eq!(columns.slots.json(), json!([text, 2, sampled, 1, "", 1]));
    }
}
