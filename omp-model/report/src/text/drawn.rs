//! The cells of a table for a program that places them itself.

use unicode_width::UnicodeWidthStr;

use super::grid;
use super::layout::{Layout, columns, parts};
use crate::document::{Column, Role, Row, Style, Table};

/// A column of cells: a table's, or what one of several experiments has of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Drawn {
    /// The table's column.
    pub column: usize,
    /// The experiment, from 0, where several are compared.
    pub side: usize,
    /// The lines of its heading.
    pub heading: Vec<String>,
    /// A cell a row.
    pub rows: Vec<String>,
}

impl Drawn {
    /// The cells that it takes on a screen.
    pub fn width(&self) -> usize {
        let all = self.heading.iter().chain(&self.rows);
        all.map(|cell| cell.width()).max().unwrap_or(0)
    }
}

/// The cells of some rows in some columns, without names. `columns` are all the table's, changed
/// as they are to be shown; `shown` are positions among them.
pub fn drawn<'a>(
    table: &Table,
    columns: &[Column],
    shown: &[usize],
    rows: impl Iterator<Item = &'a Row>,
) -> Vec<Drawn> {
    let some = Table {
        columns: columns.to_vec(),
        rows: rows.cloned().collect(),
        style: table.style,
        compare: table.compare,
        whole: table.whole.clone(),
        ..Table::default()
    };
    let mut all: Vec<Drawn> = shown
        .iter()
        .flat_map(|&at| {
            let cells = grid::cells(&some, &[at], Layout::Aligned).into_columns();
            cells.enumerate().map(move |(side, (heading, rows))| Drawn {
                column: at,
                side,
                heading,
                rows,
            })
        })
        .map(|drawn| aligned(drawn, table))
        .collect();
    // Lines of headings that are empty take no room.
    let height = all.iter().map(|drawn| drawn.heading.len()).max();
    for line in (0..height.unwrap_or(0)).rev() {
        let is_empty = |drawn: &Drawn| drawn.heading.get(line).is_none_or(String::is_empty);
        if all.iter().all(is_empty) {
            let long = all.iter_mut().filter(|drawn| drawn.heading.len() > line);
            long.for_each(|drawn| drop(drawn.heading.remove(line)));
        }
    }
    all
}

/// The sentences of a table of facts or of advice, each with its row; nothing for other tables.
pub fn sentences(table: &Table) -> Vec<(usize, String)> {
    let shown = columns(table, &parts(table)[0]);
    match table.style {
        Style::Facts(cells) if !table.has_sides() => {
            let text = grid::facts(table, &shown, cells, false);
            let rows = table.rows.iter().enumerate();
            let told = rows.filter(|(_, row)| row.role != Role::Total);
            let lines = text.lines().map(str::to_owned);
            told.map(|(at, _)| at).zip(lines).collect()
        }
        Style::Cards => {
            let cards = grid::cards(table, &shown).into_iter().enumerate();
            cards
                .flat_map(|(row, lines)| lines.into_iter().map(move |line| (row, line)))
                .collect()
        }
        _ => Vec::new(),
    }
}

/// The columns that a text shows, each once, in its order, without names.
pub fn shown(table: &Table) -> Vec<usize> {
    let mut shown = Vec::new();
    for at in parts(table).iter().flat_map(|part| columns(table, part)) {
        if !shown.contains(&at) && !table.columns[at].is_name() {
            shown.push(at);
        }
    }
    shown
}

/// Numbers under their headings as the table's style has them.
fn aligned(mut drawn: Drawn, table: &Table) -> Drawn {
    if table.has_sides() || table.style == Style::Right {
        let width = drawn.width();
        for cell in &mut drawn.rows {
            *cell = " ".repeat(width - cell.width()) + cell;
        }
    }
    drawn
}
