//! Draws instances of regions above the rows, and of tasks below each row.

use std::ops::Range;

use experiment::ids::{ProcessId, ThreadId};
use experiment::rows::{PointKind, SpanKind};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use report::timeline::Band;

use super::super::theme::Theme;
use super::super::{from, put};
use crate::layout::TimelineParts;
use crate::state::app::App;
use crate::text_fit::fit_name;

/// The width from which the beginning of a name is useful.
const LEGIBLE: usize = 8;

/// Draws the phases of the selected thread's process, inner ones over outer ones, pauses, and the sample
/// points that the program or a signal made.
pub(super) fn marks(app: &App, theme: &Theme, parts: &TimelineParts, cells: &mut Buffer) {
    let Some(own) = app.threads().get(app.timeline.row).copied() else {
        return;
    };
    if parts.marks.height == 0 {
        return;
    }
    let all = app.experiments.all();
    let tables = &all.experiment.tables;
    let own = tables.threads.get(own.index());
    let own = own.map_or(ProcessId(0), |thread| thread.process);
    let origin = all.marks().experiment_of(own);
    put(cells, parts.marks, "phases", theme.faint());
    let line = from(parts.marks, parts.label);
    let timeline = app.experiments.timeline();
    for span in timeline.spans_within(&app.timeline.range) {
        let (name, style) = match span.kind {
            SpanKind::Pause if all.marks().experiment_of(span.process) == origin => {
                ("paused", theme.faint())
            }
            SpanKind::Phase | SpanKind::OpenPhase if span.process == own => {
                (tables.phase_name(span.phase), Style::new())
            }
            _ => continue,
        };
        let columns = columns(app, span.start.0..span.end().0, line.width);
        bar(name, part_of(line, columns), style, cells);
    }
    for point in &all.experiment.sample_points {
        let is_shown =
            point.kind != PointKind::Period && all.marks().experiment_of(point.process) == origin;
        if is_shown && let Some(column) = app.column_of(point.time.0) {
            let cell = from(line, column as u16);
            put(cells, Rect { width: 1, ..cell }, "•", Style::new());
        }
    }
}

/// Draws region instances, nested ones below their parents: a name where there is room, else a
/// line.
pub(super) fn regions(app: &App, theme: &Theme, parts: &TimelineParts, cells: &mut Buffer) {
    let room = parts.bands.height;
    if room == 0 {
        return;
    }
    let timeline = app.experiments.timeline();
    let lanes = timeline.regions().lanes();
    let experiment_of_bands = app.experiment_of_bands();
    let first = app.timeline.lane;
    let mut words = experiment_of_bands
        .map_or_else(|| "regions".to_owned(), |side| format!("regions ({side})"));
    if lanes > room {
        // The wheel, a click on the label and `i` scroll to hidden lanes.
        match room {
            1 => words = format!("{words} {}/{lanes}", first + 1),
            _ => {
                let last = Rect::new(parts.bands.x, parts.bands.bottom() - 1, parts.label, 1);
                let text = hidden_lanes(first, lanes.saturating_sub(first + room));
                put(cells, last, &text, theme.faint());
            }
        }
    }
    let own = Rect::new(parts.bands.x, parts.bands.y, parts.label, 1);
    put(cells, own, &words, theme.faint());
    let bands = from(parts.bands, parts.label);
    let within = timeline.regions().within(app.timeline.range.clone());
    for (number, band) in within.enumerate() {
        let in_sight = (first..first.saturating_add(room)).contains(&band.lane);
        if !in_sight || experiment_of_bands.is_some_and(|side| app.origin(band.thread) != side) {
            continue;
        }
        let line = Rect {
            y: bands.y + band.lane - first,
            height: 1,
            ..bands
        };
        let style = match number % 2 {
            _ if app.selected_instance() == Some(band) => theme.selected(),
            0 => Style::new(),
            _ => theme.faint(),
        };
        let columns = columns(app, band.start..band.end, line.width);
        let name = app.experiments.construct_name(band.context);
        bar(name, part_of(line, columns), style, cells);
    }
}

/// The numbers of hidden lanes above and below, as a text.
fn hidden_lanes(above: u16, below: u16) -> String {
    match (above, below) {
        (0, below) => format!("({below} more)"),
        (above, 0) => format!("({above} above)"),
        (above, below) => format!("({above} up {below} more)"),
    }
}

/// The columns of a time.
pub(super) fn columns(app: &App, time: Range<u64>, columns: u16) -> Range<u16> {
    let range = &app.timeline.range;
    let at = |time: u64| {
        let part = u128::from(time.clamp(range.start, range.end) - range.start);
        (part * u128::from(columns) / u128::from(range.end - range.start)) as u16
    };
    let start = at(time.start);
    start..at(time.end).max(start + 1).min(columns)
}

/// These columns of a line.
fn part_of(line: Rect, columns: Range<u16>) -> Rect {
    Rect {
        width: columns.end.saturating_sub(columns.start),
        ..from(line, columns.start)
    }
}

/// Draws a bar with a name over the whole of a line.
fn bar(name: &str, line: Rect, style: Style, cells: &mut Buffer) {
    let width = usize::from(line.width);
    let text = match width {
        0 => return,
        1..3 => "─".repeat(width),
        _ => {
            let name = match width {
                0..LEGIBLE => "",
                _ => name,
            };
            let name = fit_name(name, width - 2);
            format!("├{name:─<fill$}┤", fill = width - 2)
        }
    };
    put(cells, line, &text, style);
}

/// Draws the tasks and nested regions of a thread: pieces of tasks where they are listed, else the
/// construct of most of each column's time.
pub(super) fn tasks(app: &App, theme: &Theme, thread: ThreadId, line: Rect, cells: &mut Buffer) {
    let timeline = app.experiments.timeline();
    let range = &app.timeline.range;
    let inner = app.contexts(thread);
    let mut at = 0;
    for run in inner.chunk_by(|left, right| left == right) {
        if let Some(context) = run[0] {
            let width = run.len();
            let name = match width {
                0..LEGIBLE => "",
                _ => app.experiments.construct_name(context),
            };
            let text = format!("{:╌<width$}", fit_name(name, width));
            put(cells, from(line, at), &text, theme.faint());
        }
        at += run.len() as u16;
    }
    if let Some(pieces) = timeline.tasks(thread) {
        // Innermost tasks are drawn over those that they interrupt.
        let mut within: Vec<&Band> = pieces.within(range.clone()).collect();
        within.sort_by_key(|band| band.lane);
        let mut owners: Vec<Option<usize>> = vec![None; usize::from(line.width)];
        for (number, band) in within.iter().enumerate() {
            let columns = columns(app, band.start..band.end, line.width);
            let columns = usize::from(columns.start)..usize::from(columns.end);
            if let Some(owned) = owners.get_mut(columns) {
                owned.fill(Some(number));
            }
        }
        let mut at = 0;
        for run in owners.chunk_by(|left, right| left == right) {
            if let Some(number) = run[0] {
                let room = Rect {
                    width: run.len() as u16,
                    ..from(line, at)
                };
                let style = match number % 2 {
                    _ if app.selected_instance() == Some(within[number]) => theme.selected(),
                    0 => Style::new(),
                    _ => theme.faint(),
                };
                let name = app.experiments.construct_name(within[number].context);
                bar(name, room, style, cells);
            }
            at += run.len() as u16;
        }
    }
}

/// Draws the long holds of mutexes of a thread.
pub(super) fn holds(app: &App, theme: &Theme, thread: ThreadId, line: Rect, cells: &mut Buffer) {
    let holds = app
        .experiments
        .timeline()
        .holds(thread, &app.timeline.range);
    for (number, hold) in holds.iter().enumerate() {
        let columns = columns(app, hold.start..hold.end, line.width);
        let style = match number % 2 {
            0 => Style::new(),
            _ => theme.faint(),
        };
        let name = app.experiments.mutex_name(hold.call);
        bar(name, part_of(line, columns), style, cells);
    }
}
