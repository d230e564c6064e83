//! `callers-callees`: each function between its callers and callees.

use omp_model::metrics::{Flavour, Quantity};
use omp_model::views::compare::join::Joined;
use omp_model::views::neighbours::{self, Neighbour, Neighbours};

use crate::document::{Block, Column, Document, InJson, Role, Row, Table, Value};
use crate::functions::{marks, quantities, seconds};
use crate::list::{self, by_name};
use crate::query::Query;

/// Each function between its callers and callees.
pub fn callers_callees(query: &Query<'_>) -> Document {
    let mut blocks = joined(query);
    blocks.truncate(query.limited(blocks.len()));
    let columns = columns(query);
    let blocks = blocks.into_iter().map(|block| {
        Block::Table(Table {
            whole: whole(query, &columns, &block),
            ..query.table(columns.clone(), rows(query, &columns, block))
        })
    });
    Document {
        title: format!(
            "Functions sorted by {}\nCallers and callees sorted by {}",
            query.by(&query.request.sort.quantity.label()),
            query.by(&query.attributed_sort().quantity.label())
        ),
        blocks: blocks.collect(),
        ..query.document("callers-callees")
    }
}

/// The blocks of all sides joined by name, that of `<Total>` first.
fn joined(query: &Query<'_>) -> Vec<Joined<Neighbours>> {
    let request = &query.request;
    let sides = query.by_side(
        |source| neighbours::callers_callees(source.profile(), &source.names(), request),
        |shared, side| shared.callers_callees(side, request),
    );
    let mut blocks = by_name(query, sides, |block: &Neighbours| block.row.name.clone());
    if let [_, rest @ ..] = blocks.as_mut_slice() {
        let by = |block: &Neighbours| seconds(request, &block.row, request.sort.quantity);
        list::sort(query, rest, by);
    }
    blocks
}

/// The attributed times; before them, for JSON, the columns of lists, of which callers and callees
/// have no times.
fn columns(query: &Query<'_>) -> Vec<Column> {
    let attributed = query.attributed();
    let attributed: Vec<Column> = query.shown(&attributed).collect();
    if query.is_comparison() {
        return attributed;
    }
    let own = query.columns().filter(|column| !column.is_name());
    let own: Vec<Column> = own.map(Column::without_heading).collect();
    let told = |column: &Column| own.iter().any(|known| known.id == column.id);
    let attributed = attributed.into_iter().map(|column| Column {
        json: if told(&column) {
            InJson::Nowhere
        } else {
            column.json
        },
        ..column
    });
    let attributed: Vec<Column> = attributed.collect();
    own.into_iter().chain(attributed).collect()
}

/// The function's inclusive times, by experiment, are what its callers and callees have parts of.
fn whole(query: &Query<'_>, columns: &[Column], block: &Joined<Neighbours>) -> Vec<Vec<f64>> {
    let inclusive = |block: &Option<Neighbours>, column: &Column| match (column.quantity, block) {
        (Some(Quantity::Time(_, metric)), Some(block)) => {
            let inclusive = Quantity::Time(Flavour::Inclusive, metric);
            seconds(&query.request, &block.row, inclusive)
        }
        _ => 0.0,
    };
    let of = |block| columns.iter().map(|it| inclusive(block, it)).collect();
    block.rows.iter().map(of).collect()
}

/// Its callers, the function, its callees.
fn rows(query: &Query<'_>, columns: &[Column], block: Joined<Neighbours>) -> Vec<Row> {
    let own = |block: &Option<Neighbours>| {
        let row = block.as_ref().map(|block| &block.row);
        quantities(columns, row.and_then(|row| row.code), |flavour, metric| {
            // What is attributed to the function itself is what it spends at the leaf.
            let flavour = match flavour {
                Flavour::Attributed => Flavour::Exclusive,
                other => other,
            };
            let seconds = row.map_or(&[][..], |row| match flavour {
                Flavour::Exclusive => &row.exclusive,
                Flavour::Inclusive | Flavour::Attributed => &row.inclusive,
            });
            query.placed(seconds, metric)
        })
    };
    let centre = Row {
        role: Role::Centre,
        marks: marks(&block.rows, |block| block.row.marks),
        values: block.rows.iter().map(own).collect(),
        ..Row::function(block.name)
    };
    let (callers, callees): (Vec<_>, Vec<_>) = block
        .rows
        .into_iter()
        .map(|block| block.map_or_else(Default::default, |it| (it.callers, it.callees)))
        .unzip();
    let mut rows = edges(query, columns, Role::Caller, callers);
    rows.push(centre);
    rows.extend(edges(query, columns, Role::Callee, callees));
    rows
}

/// The callers or callees that each side has.
pub(crate) fn edges(
    query: &Query<'_>,
    columns: &[Column],
    role: Role,
    sides: Vec<Vec<Neighbour>>,
) -> Vec<Row> {
    let mut edges = by_name(query, sides, |edge: &Neighbour| edge.name.clone());
    list::sort(query, &mut edges, |edge| {
        match query.request.sort.quantity {
            Quantity::Time(_, metric) => query.seconds(&edge.attributed, metric),
            _ => 0.0,
        }
    });
    let values = |edge: &Option<Neighbour>| {
        let code = edge.as_ref().and_then(|edge| edge.code);
        let seconds = edge.as_ref().map_or(&[][..], |edge| &edge.attributed);
        quantities(columns, code, |flavour, metric| match flavour {
            Flavour::Attributed => query.placed(seconds, metric),
            Flavour::Exclusive | Flavour::Inclusive => Value::Omitted,
        })
    };
    let row = |edge: Joined<Neighbour>| Row {
        role,
        values: edge.rows.iter().map(values).collect(),
        marks: marks(&edge.rows, |edge| edge.marks),
        ..Row::function(edge.name)
    };
    edges.into_iter().map(row).collect()
}
