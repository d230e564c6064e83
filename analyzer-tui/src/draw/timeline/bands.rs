//! Instances of regions over the rows, and of tasks under each.

use std::ops::Range;

use experiment::ids::ThreadId;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use report::timeline::Band;

use super::super::theme::Theme;
use super::super::{from, put};
use crate::layout::TimelineParts;
use crate::state::app::App;
use crate::text_fit::fit_name;

/// From this width on the beginning of a name tells something.
const LEGIBLE: usize = 8;

/// Region instances, nested ones below those around them: a name where there is room, a line
/// where not.
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
        // What has no room is told of: the wheel, a click there and `i` bring it in sight.
        match room {
            1 => words = format!("{words} {}/{lanes}", first + 1),
            _ => {
                let last = Rect::new(parts.bands.x, parts.bands.bottom() - 1, parts.label, 1);
                let (above, below) = (first, lanes.saturating_sub(first + room));
                let text = match (above, below) {
                    (0, below) => format!("({below} more)"),
                    (above, 0) => format!("({above} above)"),
                    (above, below) => format!("({above} up {below} more)"),
                };
                put(cells, last, &text, theme.faint());
            }
        }
    }
    let own = Rect::new(parts.bands.x, parts.bands.y, parts.label, 1);
    put(cells, own, &words, theme.faint());
    let place = from(parts.bands, parts.label);
    let within = timeline.regions().within(app.timeline.range.clone());
    for (number, band) in within.enumerate() {
        let in_sight = (first..first.saturating_add(room)).contains(&band.lane);
        if !in_sight || experiment_of_bands.is_some_and(|side| app.origin(band.thread) != side) {
            continue;
        }
        let line = Rect {
            y: place.y + band.lane - first,
            height: 1,
            ..place
        };
        let style = match number % 2 {
            _ if app.selected_instance() == Some(band) => theme.selected(),
            0 => Style::new(),
            _ => theme.faint(),
        };
        let columns = columns(app, band, line.width);
        let room = Rect {
            width: columns.end.saturating_sub(columns.start),
            ..from(line, columns.start)
        };
        instance(app, band, room, style, cells);
    }
}

/// The columns of a band.
fn columns(app: &App, band: &Band, columns: u16) -> Range<u16> {
    let range = &app.timeline.range;
    let at = |time: u64| {
        let part = u128::from(time.clamp(range.start, range.end) - range.start);
        (part * u128::from(columns) / u128::from(range.end - range.start)) as u16
    };
    let start = at(band.start);
    start..at(band.end).max(start + 1).min(columns)
}

/// Draws a band over the whole of a line.
fn instance(app: &App, band: &Band, line: Rect, style: Style, cells: &mut Buffer) {
    let width = usize::from(line.width);
    let text = match width {
        0 => return,
        1..3 => "─".repeat(width),
        _ => {
            let name = match width {
                0..LEGIBLE => "",
                _ => app.experiments.construct_name(band.context),
            };
            let name = fit_name(name, width - 2);
            format!("├{name:─<fill$}┤", fill = width - 2)
        }
    };
    put(cells, line, &text, style);
}

/// The tasks and nested regions that a thread was in: pieces of tasks that are listed as they
/// were, and where there are too many, what most of each column's time was spent in.
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
        // Of tasks that run on top of others the innermost is in sight.
        let mut within: Vec<&Band> = pieces.within(range.clone()).collect();
        within.sort_by_key(|band| band.lane);
        let mut owners: Vec<Option<usize>> = vec![None; usize::from(line.width)];
        for (number, band) in within.iter().enumerate() {
            let place = columns(app, band, line.width);
            if let Some(owned) = owners.get_mut(usize::from(place.start)..usize::from(place.end)) {
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
                instance(app, within[number], room, style, cells);
            }
            at += run.len() as u16;
        }
    }
}
