//! What threads did when, as the page draws it at any zoom.
//!
//! A grid of columns over the whole run has each thread's states and its stack, as the timeline of
//! `analyzer` would show it at that width. Where the reader zooms in so that a column is wider than a
//! pixel, intervals are drawn over it exactly where they were: as many as a file of bearable size has room
//! for, the longest first. What is shorter stays merged in its column, and the page says so.

use std::cmp::Reverse;
use std::ops::Range;

use experiment::ids::{ContextId, ThreadId};
use experiment::rows::{Interval, SpanKind};
use omp_model::profile::{PathId, ViewMode};
use omp_model::views::names::Names;
use omp_model::views::threads::thread_name;
use rustc_hash::FxHashMap;
use serde_json::{Value as Json, json};

use crate::json::mode_name;
use crate::lost;
use crate::query::Source;
use crate::settings::Settings;
use crate::timeline::{
    Activity, Band, Precision, Slot, Stacks, Timeline, Window, column, construct_names,
};

/// The columns of all threads together.
const MOST_CELLS: usize = 400_000;
/// The columns of a thread: about those of a wide screen.
const MOST_COLUMNS: usize = 2_000;
/// The intervals that are drawn exactly.
const MOST_INTERVALS: usize = 40_000;
/// The instances of regions, and the pieces of tasks.
const MOST_BANDS: usize = 20_000;
/// Samples are unpacked for so many parts of the run, one after the other.
const PARTS: usize = 16;

/// The timeline of one experiment, or of several added up.
pub(super) fn timeline(source: &Source<'_>) -> Json {
    let timeline = Timeline::new(source.analysis);
    let threads = &timeline.threads;
    let columns = (MOST_CELLS / threads.len().max(1)).clamp(1, MOST_COLUMNS);
    let range = 0..timeline.end.0.max(1);
    let modes = [ViewMode::User, ViewMode::Machine].map(|mode| {
        let settings = Settings {
            mode,
            ..source.settings.clone()
        };
        (mode, Stacks::new(source.analysis, &settings))
    });
    let [(_, user), _] = &modes;
    let mut slots: Vec<Vec<Slot>> = vec![Vec::new(); threads.len()];
    let mut paths: [Vec<Vec<PathId>>; 2] = std::array::from_fn(|_| vec![Vec::new(); threads.len()]);
    for part in 0..PARTS {
        let (first, last) = (columns * part / PARTS, columns * (part + 1) / PARTS);
        if first == last {
            continue;
        }
        let part = column(&range, columns, first).start..column(&range, columns, last - 1).end;
        let window = Window::unpack(source.analysis, (&timeline, Some(user)), &part, || true);
        let window = window.unwrap_or_default();
        for (at, &thread) in threads.iter().enumerate() {
            slots[at].extend(timeline.slots(thread, &part, last - first, &window));
            for ((_, stacks), paths) in modes.iter().zip(&mut paths) {
                let seen = (first..last).map(|at| {
                    let column = column(&range, columns, at);
                    path(&timeline, stacks, (thread, &window), &column)
                });
                paths[at].extend(seen);
            }
        }
    }
    let names = source.names();
    let constructs = construct_names(source.analysis);
    let stacks: serde_json::Map<String, Json> = modes
        .iter()
        .zip(&paths)
        .map(|((mode, stacks), paths)| {
            let shown = stacks_of(stacks, &names, paths);
            (mode_name(*mode).to_owned(), shown)
        })
        .collect();
    let (intervals, shortest) = intervals(&timeline);
    let header = &source.analysis.experiment.header;
    let losses = lost::within(header, &range);
    let losses = losses.iter().flat_map(|loss| {
        let line = lost::line(loss);
        let stretches = loss.stretches.iter();
        stretches.map(move |it| json!([it.from_ns, it.to_ns, line]))
    });
    json!({
        "end": range.end,
        "columns": columns,
        "activities": Activity::ALL.map(|it| json!([it.words(), it.letter().to_string(), it.family().colour()])),
        "threads": threads.iter().map(|&it| full_name(source, it)).collect::<Vec<_>>(),
        "lives": threads.iter().map(|&it| timeline.life(it)).map(|it| json!([it.start, it.end])).collect::<Vec<_>>(),
        "slots": slots.iter().map(|it| run_lengths(it.iter().map(slot))).collect::<Vec<_>>(),
        "stacks": stacks,
        "intervals": intervals,
        "shortest": shortest,
        "regions": bands(timeline.regions().within(range.clone()).copied(), threads, &constructs),
        "tasks": bands(tasks(&timeline), threads, &constructs),
        "spans": spans(source, &timeline, &range),
        "losses": losses.collect::<Vec<Json>>(),
    })
}

/// What a thread is called beside those of other processes and experiments.
fn full_name(source: &Source<'_>, thread: ThreadId) -> String {
    let tables = &source.analysis.experiment.tables;
    let Some(row) = tables.threads.get(thread.index()) else {
        return String::new();
    };
    let own = thread_name(tables, row);
    let origin = source.analysis.origins.get(thread.index());
    match tables.processes.get(row.process.index()) {
        _ if source.analysis.names.len() > 1 => {
            format!("({}) {own}", origin.copied().unwrap_or(1))
        }
        Some(process) if tables.processes.len() > 1 => format!("{}/{own}", process.pid),
        _ => own,
    }
}

/// The stack that most samples of a thread in a range of time have; [`PathId::EMPTY`] without any.
fn path(
    timeline: &Timeline,
    stacks: &Stacks,
    (thread, window): (ThreadId, &Window),
    range: &Range<u64>,
) -> PathId {
    let samples = window.of(thread);
    let start = samples.partition_point(|sample| sample.time.0 < range.start);
    let end = samples.partition_point(|sample| sample.time.0 < range.end);
    let kind = timeline.kind_of(thread);
    let mut counts = FxHashMap::<PathId, u32>::default();
    for sample in &samples[start..end] {
        if let Some((path, _)) = stacks.sample(sample.stack, sample.thread_state, kind) {
            *counts.entry(path).or_default() += 1;
        }
    }
    let most = counts
        .into_iter()
        .max_by_key(|&(path, count)| (count, Reverse(path.0)));
    most.map_or(PathId::EMPTY, |(path, _)| path)
}

/// The stacks of all threads' columns: frames with the number of their caller, and for each thread the
/// number of its stack's leaf by column, as run lengths. Number 0 is no stack.
fn stacks_of(stacks: &Stacks, names: &Names<'_>, of_threads: &[Vec<PathId>]) -> Json {
    let mut texts: Vec<String> = vec![String::new()];
    let mut text_numbers = FxHashMap::<String, usize>::default();
    let mut frames: Vec<[usize; 2]> = vec![[0, 0]];
    let mut frame_numbers = FxHashMap::<[usize; 2], usize>::default();
    let mut known = FxHashMap::<PathId, usize>::default();
    let mut number = |path: PathId| {
        *known.entry(path).or_insert_with(|| {
            let walked: Vec<_> = stacks.walk(path).collect();
            let outermost_first = walked.into_iter().rev();
            outermost_first.fold(0, |caller, row| {
                let name = names.name(row.frame.callee);
                let line = names.source_of(row.frame);
                let name = match line {
                    Some(line) => format!("{name}:{}", line.line),
                    None => name,
                };
                let text = *text_numbers.entry(name).or_insert_with_key(|name| {
                    texts.push(name.clone());
                    texts.len() - 1
                });
                *frame_numbers.entry([caller, text]).or_insert_with(|| {
                    frames.push([caller, text]);
                    frames.len() - 1
                })
            })
        })
    };
    let threads: Vec<Json> = of_threads
        .iter()
        .map(|paths| {
            let numbers: Vec<usize> = paths.iter().map(|&path| number(path)).collect();
            run_lengths(numbers.into_iter().map(|number| json!(number)))
        })
        .collect();
    json!({"names": texts, "frames": frames, "threads": threads})
}

/// Values that are equal one after the other, each once with how often: `["#100", 37, "b50#50", 1]`.
fn run_lengths(values: impl Iterator<Item = Json>) -> Json {
    let mut runs: Vec<(Json, usize)> = Vec::new();
    for value in values {
        match runs.last_mut() {
            Some((last, count)) if *last == value => *count += 1,
            _ => runs.push((value, 1)),
        }
    }
    let both = runs.into_iter();
    both.flat_map(|(value, count)| [value, json!(count)])
        .collect()
}

/// A column of a thread: the letter and percentage of each state, most first, and after `/` how much of
/// it was on a CPU, in percent. Then `s` where samples tell the parts, and `p` where the sums of a second are
/// divided in proportion: these are inferred. Empty where the thread does not live.
fn slot(slot: &Slot) -> Json {
    let all: f64 = slot.times.iter().sum();
    if all <= 0.0 {
        return json!("");
    }
    let states = Activity::ALL.into_iter().zip(slot.times);
    let percent = |time: f64| (100.0 * time / all).round() as u32;
    let mut states: Vec<(u32, char)> = states
        .map(|(activity, time)| (percent(time), activity.letter()))
        .filter(|(percent, _)| *percent > 0)
        .collect();
    states.sort_by_key(|(percent, _)| Reverse(*percent));
    let states = states.iter();
    let text: String = states
        .map(|(percent, letter)| format!("{letter}{percent}"))
        .collect();
    let precision = match slot.precision {
        Precision::Exact => "",
        Precision::Sampled => "s",
        Precision::Shared => "p",
    };
    json!(format!("{text}/{:.0}{precision}", 100.0 * slot.running()))
}

/// The longest intervals of each thread: lists of starts since the last one's end, lengths, states (as
/// numbers of activities), whether on a CPU (0) and else how not, and region instances. And the length of
/// the shortest one, if there are shorter ones that have no room.
fn intervals(timeline: &Timeline) -> (Json, u64) {
    let of = |thread: &ThreadId| timeline.intervals(*thread).iter();
    let mut lengths: Vec<u64> = timeline
        .threads
        .iter()
        .flat_map(of)
        .map(|it| it.length.0)
        .collect();
    let shortest = if lengths.len() > MOST_INTERVALS {
        let at = lengths.len() - MOST_INTERVALS;
        *lengths.select_nth_unstable(at).1
    } else {
        0
    };
    let threads = timeline.threads.iter().map(|thread| {
        let mut end = 0;
        let mut lists: [Vec<u64>; 5] = Default::default();
        for row in of(thread).filter(|row| row.length.0 > shortest) {
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
    });
    (threads.collect(), shortest)
}

/// The listed pieces of all threads' tasks.
fn tasks(timeline: &Timeline) -> impl Iterator<Item = Band> {
    let threads = timeline.threads.iter();
    let bands = threads.filter_map(|&thread| timeline.tasks(thread));
    bands.flat_map(|bands| bands.within(0..u64::MAX).copied())
}

/// The longest of some instances, by their start: the name's number, start, length, instance, thread and
/// line of each.
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

/// Phases and pauses.
fn spans(source: &Source<'_>, timeline: &Timeline, range: &Range<u64>) -> Json {
    let tables = &source.analysis.experiment.tables;
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
