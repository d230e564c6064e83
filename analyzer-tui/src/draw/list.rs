//! Draws lists of lines and tables.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use report::document::{Bar, Mark, Role, Row, Table, Target, Value};
use report::timeline::Activity;

use super::theme::Theme;
use super::{from, put};
use crate::columns::{Fitted, fitted};
use crate::list::{Line, is_code};
use crate::state::app::App;
use crate::text_fit::{fit, fit_name, width};
use crate::view::{View, has_own_order};

/// The width that a name should have beside its branches.
const LEAST: usize = 28;

/// Draws the current list.
pub(super) fn draw(app: &App, theme: &Theme, cells: &mut Buffer) {
    let parts = app.list_parts();
    let cursor = app.cursor();
    let tables = fitted(app);
    let find = |block: usize| {
        let table = tables.iter().find(|(known, _)| *known == block);
        table.map(|(_, fitted)| fitted)
    };
    if let Some(block) = app.list.head_of(cursor.top)
        && let Some(fitted) = find(block)
    {
        for at in 0..parts.head.height {
            let line = row_of(parts.head, at);
            let heading = Heading {
                block,
                fitted,
                at: usize::from(at),
            };
            draw_heading(app, theme, heading, line, cells);
        }
    }
    let lines = app.list.lines().iter().enumerate().skip(cursor.top);
    for (y, (at, line)) in lines.take(usize::from(parts.rows.height)).enumerate() {
        let area = row_of(parts.rows, y as u16);
        match line {
            Line::Heading { block, at } => {
                if let Some(fitted) = find(*block) {
                    let heading = Heading {
                        block: *block,
                        fitted,
                        at: *at,
                    };
                    draw_heading(app, theme, heading, area, cells);
                }
            }
            Line::Row { block, row } => {
                if let (Some(table), Some(fitted)) = (app.list.table(*block), find(*block)) {
                    let row = TableRow {
                        table,
                        fitted,
                        at: *row,
                    };
                    draw_row(app, theme, row, area, cells);
                }
            }
            Line::Note { block, .. } => {
                let start = find(*block).map_or(0, Fitted::name_at) as u16;
                let area = from(area, start);
                let text = fit(app.list.text(at), usize::from(area.width));
                put(cells, area, &text, theme.faint());
            }
            Line::Text(line) => {
                let style = style_of(app, theme, &line.text, line.mark, line.target.as_ref());
                put(cells, area, &line.text, style);
            }
            Line::Fact { text, .. } => {
                let row = app.list.row(at);
                let mark = row.map_or(Mark::Plain, |row| row.mark);
                let style = style_of(app, theme, text, mark, app.list.target(at));
                put(cells, area, text, style);
                if let Some(row) = row {
                    draw_bars(theme, row, text, area, cells);
                }
            }
        }
        if at == cursor.selected {
            cells.set_style(area, theme.selected());
        }
    }
    for (y, text) in app.detail_lines().iter().enumerate() {
        if y < usize::from(parts.detail.height) {
            let style = match app.view {
                View::Races => Style::new(),
                _ => theme.faint(),
            };
            put(cells, row_of(parts.detail, y as u16), text, style);
        }
    }
}

/// Colours the bars of a row where its text has their letters.
fn draw_bars(theme: &Theme, row: &Row, text: &str, area: Rect, cells: &mut Buffer) {
    for value in row.values.iter().flatten() {
        let Value::Bar(bar) = value else { continue };
        let letters = bar.letters();
        let Some(start) = text.find(&letters).filter(|_| !letters.is_empty()) else {
            continue;
        };
        let mut area = from(area, width(&text[..start]) as u16);
        for (what, count) in bar.cells(Bar::WIDTH) {
            let count = (count as u16).min(area.width);
            let part = Rect {
                width: count,
                ..area
            };
            cells.set_style(part, theme.family(what.family()));
            area = from(area, count);
        }
    }
}

/// A line of an area.
fn row_of(area: Rect, line: u16) -> Rect {
    Rect::new(area.x, area.y + line, area.width, 1)
}

/// A line of a table's heading.
struct Heading<'a> {
    block: usize,
    fitted: &'a Fitted,
    /// The line, from 0.
    at: usize,
}

fn draw_heading(app: &App, theme: &Theme, heading: Heading<'_>, area: Rect, cells: &mut Buffer) {
    let Heading { block, fitted, at } = heading;
    let Some(table) = app.list.table(block) else {
        return;
    };
    for (start, drawn) in fitted.columns() {
        let text = drawn.heading.get(at).map_or("", String::as_str);
        let column = &table.columns[drawn.column];
        let is_sorted = match app.row_orders.get(&app.view) {
            Some(order) => (column.id.as_str(), drawn.side) == (order.column.as_str(), order.side),
            None if has_own_order(app.view) => false,
            None => column.quantity == Some(app.documents.sort.quantity) && drawn.side == 0,
        };
        let style = if is_sorted && at == 0 {
            theme.strong().patch(theme.search_hit())
        } else {
            theme.strong()
        };
        put(cells, from(area, start as u16), text, style);
    }
    let is_named = !is_code(table) && table.columns.iter().any(|column| column.is_name());
    if at == 0 && is_named {
        let start = fitted.name_at() as u16;
        put(cells, from(area, start), "Name", theme.strong());
    }
}

/// A row of a table.
struct TableRow<'a> {
    table: &'a Table,
    fitted: &'a Fitted,
    /// The row's index in the table.
    at: usize,
}

fn draw_row(app: &App, theme: &Theme, row: TableRow<'_>, area: Rect, cells: &mut Buffer) {
    let TableRow { table, fitted, at } = row;
    let (Some(row), Some(index)) = (table.rows.get(at), fitted.index(at)) else {
        return;
    };
    for (start, drawn) in fitted.columns() {
        let text = drawn.rows.get(index).map_or("", String::as_str);
        let is_zero = matches!(text.trim_start().split(' ').next(), Some("0."));
        let style = if is_zero { theme.faint() } else { Style::new() };
        put(cells, from(area, start as u16), text, style);
    }
    let area = from(area, fitted.name_at() as u16);
    let lead = prefix(app, table, row, at, usize::from(area.width));
    put(cells, area, &lead, theme.faint());
    let area = from(area, width(&lead) as u16);
    let mark = match row.role {
        Role::Centre => Mark::Strong,
        _ => row.mark,
    };
    let style = style_of(app, theme, &row.name, mark, row.target.as_ref());
    let text = if is_code(table) {
        fit(&row.name.replace('\t', "        "), usize::from(area.width))
    } else {
        let name = format!("{}{}", row.name, row.tail(&table.columns));
        fit_name(&name, usize::from(area.width))
    };
    put(cells, area, &text, style);
}

/// The indentation, branches or mark before a row's name.
fn prefix(app: &App, table: &Table, row: &Row, at: usize, room: usize) -> String {
    match app.view {
        View::Tree => {
            let tree = app.documents.tree(&app.experiments);
            let is_open = tree
                .keys
                .get(at)
                .is_some_and(|key| app.tree.open.contains(key));
            let fold = match (tree.has_children(at), is_open) {
                (false, _) => "  ",
                (true, true) => "- ",
                (true, false) => "+ ",
            };
            cut_branches(&(tree.branches(at) + fold), room)
        }
        View::Callers => match row.role {
            Role::Centre => "* ".to_owned(),
            Role::Callee => "    ".to_owned(),
            _ => "  ".to_owned(),
        },
        _ if is_code(table) => format!("{} ", report::text::mark(table, row)),
        _ => row
            .node
            .map_or_else(String::new, |node| "  ".repeat(node.depth as usize)),
    }
}

/// The branches before a name, without the outer ones if the name would have no room.
fn cut_branches(branches: &str, room: usize) -> String {
    let (length, most) = (branches.chars().count(), room.saturating_sub(LEAST));
    if length <= most.max(room / 2) {
        return branches.to_owned();
    }
    let inner: String = branches.chars().skip(length + 1 - room / 2).collect();
    format!("…{inner}")
}

/// The style of a text: by its mark, by the state that it names, and underlined if it matches the
/// search.
fn style_of(app: &App, theme: &Theme, text: &str, mark: Mark, target: Option<&Target>) -> Style {
    let mut style = match mark {
        Mark::Plain => Style::new(),
        Mark::Strong => theme.strong(),
        Mark::Warning => theme.warning(),
    };
    let activity = match target {
        Some(Target::Function(name)) => Activity::of_name(name),
        Some(Target::Metric(metric)) => Activity::of_metric(*metric),
        _ => Activity::of_name(text),
    };
    if let Some(activity) = activity {
        style = style.patch(theme.text_colour(activity.family()));
    }
    let searched = app.searched.to_lowercase();
    if !searched.is_empty() && text.to_lowercase().contains(&searched) {
        style = style.patch(theme.search_hit());
    }
    style
}
