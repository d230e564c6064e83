use omp_model::metrics::{self, Flavour, Metric, Quantity};

use super::{Layout, render};
use crate::document::{Block, Column, Document, Row, Table, Value};

fn column(quantity: Quantity, value: bool, percent: bool) -> Column {
    Column::metric(metrics::Column {
        quantity,
        value,
        percent,
    })
}

#[test]
fn points_stand_in_one_column_and_zero_is_bare() {
    let work = |flavour| Quantity::Time(flavour, Metric::OmpWork);
    let row = |exclusive, inclusive, size, name: &str| Row {
        name: name.to_owned(),
        values: vec![vec![
            Value::Number(exclusive),
            Value::Number(inclusive),
            Value::Count(size),
            Value::Absent,
        ]],
        ..Row::default()
    };
    let table = Table {
        columns: vec![
            column(work(Flavour::Exclusive), true, true),
            column(work(Flavour::Inclusive), true, false),
            column(Quantity::Size, true, false),
            column(Quantity::Name, true, false),
        ],
        rows: vec![row(12.5, 12.5, 0, "<Total>"), row(0.0, 0.0004, 1234, "foo")],
        whole: vec![vec![12.5, 12.5]],
        ..Table::default()
    };
    let document = Document {
        blocks: vec![Block::Table(table)],
        ..Document::default()
    };
    let expected = "\
Excl. OMP      Incl.      Size   Name
Work           OMP
  sec.      %  Work sec.
12.500 100.00  12.500        0   <Total>
 0.      0.     0.000     1234   foo

";
    assert_eq!(render(&document, Layout::Aligned), expected);
}
