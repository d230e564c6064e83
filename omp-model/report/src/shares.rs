//! Tables of facts: numbers with their shares of a whole, each on a line.

use crate::document::{Cell, Column, InJson, Row, Style, Table, TablePart, Unit};

/// Facts under a line that says what they are. JSON has none of the columns of [`number`] and of
/// names.
pub(crate) fn table(
    cells: &'static [Cell],
    caption: String,
    columns: Vec<Column>,
    rows: Vec<Row>,
) -> Table {
    Table {
        style: Style::Facts(cells),
        columns,
        parts: vec![TablePart::new(&caption, [""; 0])],
        rows,
        ..Table::default()
    }
}

/// A column of a text alone.
pub(crate) fn number(id: &str, label: &str, unit: Unit, decimals: usize) -> Column {
    Column {
        heading: vec![label.to_owned()],
        unit,
        decimals,
        json: InJson::Nowhere,
        ..Column::word(id, label)
    }
}
