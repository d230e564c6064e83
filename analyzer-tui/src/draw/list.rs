//! Rows and columns.

use omp_model::metrics::{Flavour, Quantity};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use super::theme::Theme;
use super::{fit, fit_name, from, put};
use crate::app::{App, View};
use crate::compare::Beside;
use crate::layout;
use crate::report::{Column, Mark, Row};
use crate::tables;

/// Cells that a name should have at least.
const NAME: usize = 40;

/// Cells that a line of code should have at least, its number included.
const CODE: usize = 64;

/// Cells that a name has at least beside other experiments.
const LEAST: usize = 28;

/// The rows in sight, and the columns that have room.
struct Fitted<'a> {
    rows: Vec<&'a Row>,
    /// The columns, each with its place among the table's.
    columns: Vec<(usize, &'a Column)>,
    widths: Vec<usize>,
    /// Each row's cells.
    texts: Vec<Vec<String>>,
}

fn is_code(view: View) -> bool {
    matches!(view, View::Source | View::Disassembly)
}

/// Cells before the names.
fn name_of(widths: &[usize]) -> usize {
    widths.iter().map(|width| width + 2).sum()
}

/// Fits the table in sight into a body.
fn fitted(app: &App, body: Rect) -> Fitted<'_> {
    let table = &app.table;
    let parts = layout::list(body, !table.columns.is_empty());
    let height = usize::from(parts.rows.height);
    let shown: Vec<&Row> = table
        .rows
        .iter()
        .skip(app.cursor().top)
        .take(height)
        .collect();
    let rows = || shown.iter().copied();
    let (mut texts, mut widths) = table.cells(rows(), |_| false);
    let least = if is_code(app.view) { CODE } else { NAME };
    let narrow = |widths: &[usize]| usize::from(body.width) < name_of(widths) + least;
    if narrow(&widths) {
        // Names matter more than percentages, of which the first column keeps its own.
        (texts, widths) = table.cells(rows(), |at| at > 0);
    }
    let columns: Vec<&Column> = table.columns.iter().collect();
    let keep = match narrow(&widths) {
        true => kept_columns(app, &columns, &widths, usize::from(body.width)),
        false => vec![true; columns.len()],
    };
    Fitted {
        rows: shown,
        columns: kept(columns.into_iter().enumerate().collect(), &keep),
        widths: kept(widths, &keep),
        texts: texts.into_iter().map(|texts| kept(texts, &keep)).collect(),
    }
}

/// The place of the column whose heading is drawn at a cell among the table's; that of the names
/// is behind the last one.
pub(crate) fn column_at(app: &App, x: u16) -> Option<usize> {
    let body = app.parts().body;
    let fitted = fitted(app, body);
    let mut end = body.x;
    for ((at, _), width) in fitted.columns.iter().zip(&fitted.widths) {
        end += *width as u16 + 2;
        if x < end {
            return Some(*at);
        }
    }
    (x < body.right()).then_some(app.table.columns.len())
}

/// Draws the table in sight.
pub(super) fn draw(app: &App, theme: &Theme, body: Rect, cells: &mut Buffer) {
    let parts = layout::list(body, !app.table.columns.is_empty());
    let cursor = app.cursor();
    let Fitted {
        rows,
        columns,
        widths,
        texts,
    } = fitted(app, body);
    let columns: Vec<&Column> = columns.into_iter().map(|(_, column)| column).collect();
    let name_at = name_of(&widths);
    head(app, theme, (parts.head, &columns), &widths, cells);
    for (at, (row, texts)) in rows.iter().zip(&texts).enumerate() {
        let line = Rect::new(parts.rows.x, parts.rows.y + at as u16, parts.rows.width, 1);
        let selected = cursor.top + at == cursor.selected;
        values(theme, line, texts, &widths, cells);
        name(app, theme, from(line, name_at as u16), row, cells);
        if selected {
            cells.set_style(line, theme.selected());
        }
    }
    detail(app, theme, parts.detail, cells);
}

/// Which columns there is room for. Of a line, what its calls took matters least; beside other
/// experiments the last metrics make room for names, and other metrics are a key away.
fn kept_columns(app: &App, columns: &[&Column], widths: &[usize], room: usize) -> Vec<bool> {
    let compared = Beside::of(&app.data, &app.recording).is_some();
    let hidden = |column: &&Column| match column.quantity {
        Some(Quantity::Time(flavour, _)) => flavour == Flavour::Inclusive,
        _ => false,
    };
    let mut keep = vec![true; columns.len()];
    if (is_code(app.view) || compared) && !columns.iter().all(hidden) {
        keep = columns.iter().map(|column| !hidden(column)).collect();
    }
    if compared {
        let group = app.recording.parts().len();
        let taken = |keep: &[bool]| {
            let kept = widths.iter().zip(keep).filter(|(_, keep)| **keep);
            kept.map(|(width, _)| width + 2).sum::<usize>()
        };
        while taken(&keep) + LEAST > room {
            let shown: Vec<usize> = (0..keep.len()).filter(|&at| keep[at]).collect();
            if shown.len() <= group + 1 {
                break;
            }
            shown[shown.len() - group..]
                .iter()
                .for_each(|&at| keep[at] = false);
        }
    }
    keep
}

/// The items that are to be kept.
fn kept<T>(items: Vec<T>, keep: &[bool]) -> Vec<T> {
    let pairs = items.into_iter().zip(keep);
    pairs
        .filter_map(|(item, keep)| keep.then_some(item))
        .collect()
}

fn head(
    app: &App,
    theme: &Theme,
    (area, columns): (Rect, &[&Column]),
    widths: &[usize],
    cells: &mut Buffer,
) {
    let sorted = app.data.request.sort.quantity;
    let order = app.order_of_directives.as_ref();
    let is_sorted = |column: &Column| match (app.view, order) {
        (View::Regions, Some(order)) => column.id == order.column,
        // Beside each other the first experiment's order.
        (View::Regions, None) => matches!(column.id.as_str(), "gain" | "gain.1"),
        _ => column.quantity == Some(sorted),
    };
    let mut at = 0;
    for (column, width) in columns.iter().zip(widths) {
        for (line, text) in column.head.iter().enumerate() {
            let mut style = theme.strong();
            if line == 0 && is_sorted(column) {
                style = style.patch(theme.found());
            }
            let place = Rect::new(area.x, area.y + line as u16, area.width, 1);
            if (line as u16) < area.height {
                put(cells, from(place, at), text, style);
            }
        }
        at += *width as u16 + 2;
    }
    if area.height > 0 {
        put(
            cells,
            from(Rect { height: 1, ..area }, at),
            "Name",
            theme.strong(),
        );
    }
}

fn values(theme: &Theme, line: Rect, texts: &[String], widths: &[usize], cells: &mut Buffer) {
    let mut at = 0;
    for (text, width) in texts.iter().zip(widths) {
        let is_zero = text.trim_start().starts_with("0. ");
        let style = if is_zero { theme.faint() } else { Style::new() };
        put(cells, from(line, at), text, style);
        at += *width as u16 + 2;
    }
}

fn name(app: &App, theme: &Theme, place: Rect, row: &Row, cells: &mut Buffer) {
    let mut style = match row.mark {
        Mark::Plain => Style::new(),
        Mark::Strong => theme.strong(),
        Mark::Warning => theme.warning(),
    };
    if let Some(activity) = row.tint {
        style = style.patch(theme.ink(activity.family()));
    }
    let wanted = app.wanted.to_lowercase();
    if !wanted.is_empty() && row.name.to_lowercase().contains(&wanted) {
        style = style.patch(theme.found());
    }
    let lead = lead(&row.lead, usize::from(place.width));
    put(cells, place, &lead, theme.faint());
    let room = from(place, lead.chars().count() as u16);
    let width = usize::from(room.width);
    let text = match app.view {
        View::Overview | View::Experiment | View::Source | View::Disassembly => {
            fit(&row.name, width)
        }
        _ => fit_name(&row.name, width),
    };
    put(cells, room, &text, style);
}

/// The branches before a name, of which a deep tree's outer ones make room for the name.
fn lead(branches: &str, width: usize) -> String {
    let (length, most) = (branches.chars().count(), width.saturating_sub(LEAST));
    if length <= most.max(width / 2) {
        return branches.to_owned();
    }
    let inner: String = branches.chars().skip(length + 1 - width / 2).collect();
    format!("…{inner}")
}

/// What does not fit into the selected row: its whole name, and where its code is.
fn detail(app: &App, theme: &Theme, area: Rect, cells: &mut Buffer) {
    if matches!(app.view, View::Overview | View::Experiment) {
        let row = app.table.rows.get(app.cursor().selected);
        let width = usize::from(area.width);
        let cut = row.filter(|row| row.name.chars().count() > width);
        let rest = cut.map(|row| {
            let rest = row.name.chars().skip(width.saturating_sub(2));
            format!(" …{}", rest.collect::<String>())
        });
        // That there is more than what is in sight.
        let count = format!("{}/{}", app.cursor().selected + 1, app.table.rows.len());
        let text = format!("{count}{}", rest.unwrap_or_default());
        put(cells, area, &text, theme.faint());
        return;
    }
    let Some(row) = app.table.rows.get(app.cursor().selected) else {
        put(cells, area, "nothing is left to show", theme.faint());
        return;
    };
    if app.view == View::Regions {
        let directives = app.data.directives(&app.recording);
        let detail = row.construct.map(|construct| directives.detail(construct));
        let text = detail.unwrap_or_default();
        put(cells, area, &text, theme.faint());
        return;
    }
    // Only in these views is a row a function, and the list of all functions made beforehand.
    let list = matches!(app.view, View::Functions | View::Callers | View::Tree)
        .then(|| app.data.functions(&app.recording));
    let functions = list.map_or(&[][..], |list| &list.rows);
    let function = functions.iter().find(|function| function.name == row.name);
    let place = function.and_then(|function| function.code);
    let place = place.map_or_else(String::new, |code| {
        format!("  {}", tables::place(&app.recording, code))
    });
    let count = format!("{}/{} ", app.cursor().selected + 1, app.table.rows.len());
    put(
        cells,
        area,
        &format!("{count}{}{place}", row.name),
        theme.faint(),
    );
}
