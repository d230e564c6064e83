//! The cells of a table for a program that places them itself.

use unicode_width::UnicodeWidthStr;

use super::{Layout, grid};
use crate::document::{Column, Row, Style, Table};

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

/// The cells of some rows, column by column, without names. `columns` are the table's, changed as
/// they are to be shown: one that is not visible is left out.
pub fn drawn<'a>(
    table: &Table,
    columns: &[Column],
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
    let all = columns.iter().enumerate();
    let shown = all.filter(|(_, column)| column.is_visible() && !column.is_name());
    shown
        .flat_map(|(at, _)| {
            let cells = grid::cells(&some, &[at], Layout::Aligned).into_columns();
            cells.enumerate().map(move |(side, (heading, rows))| Drawn {
                column: at,
                side,
                heading,
                rows,
            })
        })
        .map(|drawn| aligned(drawn, table.style))
        .collect()
}

/// Numbers under their headings as the table's style has them.
fn aligned(mut drawn: Drawn, style: Style) -> Drawn {
    if style == Style::Right {
        let width = drawn.width();
        for cell in &mut drawn.rows {
            *cell = format!("{:>1$}", "", width - cell.width()) + cell;
        }
    }
    drawn
}
