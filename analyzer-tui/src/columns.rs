//! The columns of a list as they fit a screen, for drawing and for clicks.

use omp_model::metrics::{Flavour, Quantity};
use report::document::{Column, Style, Table, Value};
use report::text::{Drawn, drawn, shown};

use crate::list::{Line, is_code};
use crate::state::app::App;

/// The width that a name should have, in cells.
const NAME: usize = 40;

/// The width that a line of code should have, its number included.
const CODE: usize = 64;

/// The width below which columns are dropped; other keys show them.
const LEAST: usize = 28;

/// Cells between columns.
const GAP: usize = 2;

/// The columns of a table that fit, with the cells of the rows in sight.
#[derive(Debug)]
pub struct Fitted {
    /// The rows in sight.
    rows: Vec<usize>,
    /// Each column with its width.
    columns: Vec<(Drawn, usize)>,
}

impl Fitted {
    /// Fits a table into a width.
    pub fn new(table: &Table, rows: Vec<usize>, width: usize) -> Fitted {
        let shown = nonempty(table);
        let columns = |columns: &[Column]| -> Vec<(Drawn, usize)> {
            let some = rows.iter().filter_map(|&at| table.rows.get(at));
            let drawn = drawn(table, columns, &shown, some).into_iter();
            drawn.map(|cells| (cells.clone(), cells.width())).collect()
        };
        let least = if is_code(table) { CODE } else { NAME };
        let mut fitted = columns(&table.columns);
        if taken(&fitted) + least > width {
            // Names matter more than percentages. Only the first column keeps its percentage.
            fitted = columns(&without_percentages(table, &shown));
        }
        if taken(&fitted) + least > width {
            make_room(table, &mut fitted, width);
        }
        Fitted {
            rows,
            columns: fitted,
        }
    }

    /// The columns with their first cells, from the left.
    pub fn columns(&self) -> impl Iterator<Item = (usize, &Drawn)> {
        let starts = self.columns.iter().scan(0, |at, (_, width)| {
            let start = *at;
            *at += width + GAP;
            Some(start)
        });
        starts.zip(self.columns.iter().map(|(drawn, _)| drawn))
    }

    /// The first cell of names.
    pub fn name_at(&self) -> usize {
        taken(&self.columns)
    }

    /// The index of a table's row among the rows in sight.
    pub fn index(&self, row: usize) -> Option<usize> {
        self.rows.iter().position(|&known| known == row)
    }
}

/// The visible columns that have a value in any row. Columns of metrics always count.
pub fn nonempty(table: &Table) -> Vec<usize> {
    let is_metrics = matches!(table.style, Style::Metrics | Style::Annotated);
    let tells = |at: &usize| {
        let values = table.rows.iter().flat_map(|row| &row.values);
        let mut values = values.filter_map(|values| values.get(*at));
        is_metrics || values.any(Value::is_told)
    };
    shown(table).into_iter().filter(tells).collect()
}

fn without_percentages(table: &Table, shown: &[usize]) -> Vec<Column> {
    let mut columns = table.columns.clone();
    for &at in shown.iter().skip(1) {
        let column = &mut columns[at];
        column.percent &= !column.value;
    }
    columns
}

/// The width of all columns with their gaps.
fn taken(columns: &[(Drawn, usize)]) -> usize {
    columns.iter().map(|(_, width)| width + GAP).sum()
}

/// Drops columns until names have room: first inclusive times, for code and in comparisons, then
/// from the right.
fn make_room(table: &Table, columns: &mut Vec<(Drawn, usize)>, width: usize) {
    let is_inclusive = |drawn: &Drawn| {
        let quantity = table.columns.get(drawn.column).and_then(|it| it.quantity);
        matches!(quantity, Some(Quantity::Time(Flavour::Inclusive, _)))
    };
    if (is_code(table) || table.has_sides()) && !columns.iter().all(|(it, _)| is_inclusive(it)) {
        columns.retain(|(drawn, _)| !is_inclusive(drawn));
    }
    while taken(columns) + LEAST > width {
        let last = columns.last().map(|(drawn, _)| drawn.column);
        let rest = columns
            .iter()
            .filter(|(drawn, _)| Some(drawn.column) != last);
        if rest.count() == 0 {
            break;
        }
        columns.retain(|(drawn, _)| Some(drawn.column) != last);
    }
}

/// A column's heading on the screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Heading {
    /// The table, among the document's blocks.
    pub block: usize,
    /// The table's column; none: the names.
    pub column: Option<usize>,
    /// The experiment, from 0, where several are compared.
    pub side: usize,
}

/// The tables in sight, with their blocks' numbers.
pub fn fitted(app: &App) -> Vec<(usize, Fitted)> {
    let parts = app.list_parts();
    let lines = app.list.lines().iter();
    let in_sight = lines
        .skip(app.cursor().top)
        .take(usize::from(parts.rows.height));
    let mut blocks: Vec<(usize, Vec<usize>)> = Vec::new();
    let mut note = |block: usize, row: Option<usize>| {
        let known = blocks.iter().position(|(known, _)| *known == block);
        let at = known.unwrap_or_else(|| {
            blocks.push((block, Vec::new()));
            blocks.len() - 1
        });
        blocks[at].1.extend(row);
    };
    for line in in_sight {
        match *line {
            Line::Row { block, row } => note(block, Some(row)),
            Line::Heading { block, .. } | Line::Note { block, .. } => note(block, None),
            Line::Text(_) | Line::Fact { .. } => {}
        }
    }
    let width = usize::from(parts.rows.width);
    let tables = blocks.into_iter().filter_map(|(block, rows)| {
        let table = app.list.table(block)?;
        Some((block, Fitted::new(table, rows, width)))
    });
    tables.collect()
}

/// The heading at a column of the screen, among the headings above the list.
pub fn heading_at(app: &App, x: u16) -> Option<Heading> {
    let head = app.list_parts().head;
    let block = app.list.head_of(app.cursor().top)?;
    let fitted = fitted(app);
    let (_, fitted) = fitted.iter().find(|(known, _)| *known == block)?;
    let at = usize::from(x.checked_sub(head.x)?);
    let mut before = fitted.columns().take_while(|(start, _)| *start <= at);
    match before.by_ref().last() {
        Some((_, drawn)) if at < fitted.name_at() => Some(Heading {
            block,
            column: Some(drawn.column),
            side: drawn.side,
        }),
        _ => Some(Heading {
            block,
            column: None,
            side: 0,
        }),
    }
}
