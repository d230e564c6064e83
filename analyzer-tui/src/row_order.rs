//! Sorts the rows of a document.

use std::cmp::Ordering;
use std::sync::Arc;

use report::Document;
use report::document::{Block, Role, Row, Table};

/// An order of rows by any column, including those that `er_print`'s `sort` does not know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowOrder {
    /// The column's key, or [`RowOrder::NAME`].
    pub column: String,
    /// The experiment in a comparison, from 0.
    pub side: usize,
    /// Smallest first; for names, last first.
    pub reversed: bool,
}

impl RowOrder {
    /// The key of the column of names.
    pub const NAME: &str = "name";

    /// The order by a column of the first experiment, largest first.
    pub fn by(column: &str) -> RowOrder {
        RowOrder {
            column: column.to_owned(),
            side: 0,
            reversed: false,
        }
    }

    /// Whether both are by the same column.
    pub fn is_by(&self, other: &RowOrder) -> bool {
        self.column == other.column && self.side == other.side
    }

    /// The document with the rows of each table in this order.
    pub fn apply(&self, document: &Document) -> Arc<Document> {
        let mut document = document.clone();
        let mut label = (self.column == RowOrder::NAME).then(|| "name".to_owned());
        for block in &mut document.blocks {
            if let Block::Table(table) = block {
                self.sort(table);
                let column = table.columns.iter().find(|column| column.id == self.column);
                label = label.or_else(|| Some(column?.label.clone()));
            }
        }
        if let Some(label) = label {
            let reversed = if self.reversed {
                ", the other way round"
            } else {
                ""
            };
            let title = document
                .title
                .split(" sorted by ")
                .next()
                .unwrap_or_default();
            document.title = format!("{title} sorted by {label}{reversed}");
        }
        Arc::new(document)
    }

    /// Sorts stably. Rows without a value come last in both directions; sums stay first.
    fn sort(&self, table: &mut Table) {
        let turned = |way: Ordering| if self.reversed { way.reverse() } else { way };
        let column = table.columns.iter().position(|it| it.id == self.column);
        let number = |row: &Row| row.values.get(self.side)?.get(column?)?.number();
        let is_sum = |row: &&Row| matches!(row.role, Role::Total | Role::Sum);
        let sums = table.rows.iter().take_while(is_sum).count();
        table.rows[sums..].sort_by(|left, right| {
            if self.column == RowOrder::NAME {
                return turned(left.name.cmp(&right.name));
            }
            match (number(left), number(right)) {
                (Some(left), Some(right)) => turned(right.total_cmp(&left)),
                (left, right) => left.is_none().cmp(&right.is_none()),
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use report::document::{Column, Value};

    use super::*;

    #[test]
    fn rows_are_ordered_by_values_and_what_is_unknown_comes_last() {
        let row = |name: &str, value: Option<u64>| Row {
            name: name.to_owned(),
            values: vec![vec![Value::counted(value)]],
            ..Row::default()
        };
        let instances = Column {
            id: "instances".to_owned(),
            ..Column::name()
        };
        let document = Document {
            blocks: vec![Block::Table(Table {
                columns: vec![instances],
                rows: vec![row("b", None), row("c", Some(1)), row("a", Some(7))],
                ..Table::default()
            })],
            ..Document::default()
        };
        let names = |column: &str, reversed| -> String {
            let order = RowOrder {
                reversed,
                ..RowOrder::by(column)
            };
            let ordered = order.apply(&document);
            match &ordered.blocks[0] {
                Block::Table(table) => table.rows.iter().map(|row| row.name.as_str()).collect(),
                Block::Lines(_) => String::new(),
            }
        };
        assert_eq!(names("instances", false), "acb");
        assert_eq!(names("instances", true), "cab");
        assert_eq!(names(RowOrder::NAME, false), "abc");
        assert_eq!(names(RowOrder::NAME, true), "cba");
        assert_eq!(names("gain", false), "bca");
    }
}
