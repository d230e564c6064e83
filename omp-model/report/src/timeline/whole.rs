//! The timeline of all of a run, at a width that a page bears, with a stack for each column.

use std::cmp::Reverse;
use std::ops::Range;

use experiment::ids::ThreadId;
use experiment::rows::SLICE;
use omp_model::profile::{PathId, ViewMode};
use omp_model::views::names::Names;
use omp_model::views::threads::thread_name;
use rustc_hash::FxHashMap;
use serde_json::{Map, Value as Json, json};

use super::document::{Columns, Runs, TimelineRow, document};
use super::rows::Timeline;
use super::slot::Slot;
use super::slots::{column, touched};
use super::stacks::Stacks;
use super::window::Window;
use crate::Settings;
use crate::document::Document;
use crate::json::{fields, mode_name};
use crate::query::{Query, Source};

/// The columns of all threads together.
const MOST_CELLS: usize = 400_000;
/// The columns of a thread: about those of a wide screen.
const MOST_COLUMNS: usize = 2_000;
/// Samples are unpacked for about so many parts of the run, one after the other.
const PARTS: u64 = 16;

/// The timeline of a query's experiments, with the stack that most samples of each column have, in both modes:
/// `stacks` has names, and frames with the number of their caller, name and line (0: none); `stacks` of a thread
/// the number of each column's leaf. Number 0 is no stack. `experiment` of a thread is its experiment's number.
pub fn of_run(query: &Query<'_>) -> Document {
    let source = &query.all;
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
    let mut rows: Vec<Columns> = vec![Columns::default(); threads.len()];
    let mut paths: [Vec<Vec<PathId>>; 2] = std::array::from_fn(|_| vec![Vec::new(); threads.len()]);
    // The last column of each thread, of which the next part has some, too.
    let mut open: Vec<Option<Slot>> = vec![None; threads.len()];
    for part in parts(&range) {
        let window = Window::unpack(source.analysis, (&timeline, Some(user)), &part, || true);
        let window = window.unwrap_or_default();
        let numbers = touched(&range, columns, &part);
        for (at, &thread) in threads.iter().enumerate() {
            let mut slots = timeline.slots_of_part(thread, (&range, columns), &part, &window);
            if let (Some(before), Some(first)) = (open[at].take(), slots.first_mut()) {
                first.merge(&before);
            }
            let goes_on = column(&range, columns, numbers.end - 1).end > part.end;
            open[at] = if goes_on { slots.pop() } else { None };
            slots.iter().for_each(|slot| rows[at].push(slot));
            for ((_, stacks), paths) in modes.iter().zip(&mut paths) {
                for number in paths[at].len()..numbers.end {
                    let column = column(&range, columns, number);
                    paths[at].push(path(&timeline, stacks, (thread, &window), &column));
                }
            }
        }
    }
    let names = source.names();
    let mut stacks = Map::new();
    let mut of_threads: Vec<Map<String, Json>> = vec![Map::new(); threads.len()];
    for ((mode, of_mode), paths) in modes.iter().zip(&paths) {
        let mut frames = Frames::default();
        for (thread, paths) in of_threads.iter_mut().zip(paths) {
            let mut runs = Runs::default();
            paths
                .iter()
                .for_each(|&path| runs.push(json!(frames.leaf(of_mode, &names, path))));
            thread.insert(mode_name(*mode).to_owned(), runs.json());
        }
        let known = json!({"names": frames.texts, "frames": frames.rows});
        stacks.insert(mode_name(*mode).to_owned(), known);
    }
    let rows = threads.iter().zip(rows).zip(of_threads);
    let rows = rows.map(|((&thread, columns), stacks)| TimelineRow {
        thread,
        name: full_name(source, thread),
        group: None,
        columns,
        more: fields([
            ("experiment", json!(origin(source, thread))),
            ("stacks", Json::Object(stacks)),
        ]),
    });
    let mut document = document(query, &timeline, (&range, columns), rows.collect());
    document
        .facts
        .insert("stacks".to_owned(), Json::Object(stacks));
    document
}

/// Parts of a run that are whole slices, so that the columns of each slice add up.
fn parts(range: &Range<u64>) -> impl Iterator<Item = Range<u64>> + use<> {
    let slices = range.end.div_ceil(SLICE.0);
    let step = slices.div_ceil(PARTS).max(1) * SLICE.0;
    let end = range.end;
    (0..end.div_ceil(step)).map(move |at| at * step..end.min((at + 1) * step))
}

/// The number of a thread's experiment, from 1.
fn origin(source: &Source<'_>, thread: ThreadId) -> u32 {
    let origin = source.analysis.origins.get(thread.index());
    origin.copied().unwrap_or(1)
}

/// What a thread is called beside those of other processes and experiments.
fn full_name(source: &Source<'_>, thread: ThreadId) -> String {
    let tables = &source.analysis.experiment.tables;
    let Some(row) = tables.threads.get(thread.index()) else {
        return String::new();
    };
    let own = thread_name(tables, row);
    match tables.processes.get(row.process.index()) {
        _ if source.analysis.names.len() > 1 => {
            format!("({}) {own}", origin(source, thread))
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

/// The frames of stacks, each with the numbers of its caller and name, and its line.
struct Frames {
    texts: Vec<String>,
    text_numbers: FxHashMap<String, usize>,
    rows: Vec<[usize; 3]>,
    numbers: FxHashMap<[usize; 3], usize>,
    known: FxHashMap<PathId, usize>,
}

impl Default for Frames {
    fn default() -> Frames {
        Frames {
            texts: vec![String::new()],
            text_numbers: FxHashMap::default(),
            rows: vec![[0; 3]],
            numbers: FxHashMap::default(),
            known: FxHashMap::default(),
        }
    }
}

impl Frames {
    /// The number of a stack's leaf.
    fn leaf(&mut self, stacks: &Stacks, names: &Names<'_>, path: PathId) -> usize {
        if let Some(&known) = self.known.get(&path) {
            return known;
        }
        let walked: Vec<_> = stacks.walk(path).collect();
        let mut caller = 0;
        for row in walked.into_iter().rev() {
            let line = names.source_of(row.frame);
            let line = line.map_or(0, |line| line.line as usize);
            let texts = &mut self.texts;
            let name = names.name(row.frame.callee);
            let text = *self.text_numbers.entry(name).or_insert_with_key(|name| {
                texts.push(name.clone());
                texts.len() - 1
            });
            let rows = &mut self.rows;
            let frame = [caller, text, line];
            caller = *self.numbers.entry(frame).or_insert_with(|| {
                rows.push(frame);
                rows.len() - 1
            });
        }
        self.known.insert(path, caller);
        caller
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_whole_slices_and_have_all_of_a_run() {
        for end in [1, 999, 1_000_000_000, 2_200_000_000, 100_500_000_000] {
            let all: Vec<Range<u64>> = parts(&(0..end)).collect();
            assert!(all.len() as u64 <= PARTS, "{end}");
            assert_eq!((all[0].start, all[all.len() - 1].end), (0, end));
            for (one, next) in all.iter().zip(&all[1..]) {
                assert_eq!((one.end, one.end % SLICE.0), (next.start, 0));
            }
        }
    }
}
