//! Rows by themselves: a name, and a line for each column.
//!
//! ```text
//! bar
//!         Exclusive OMP Work Time:    1.800 ( 69.23%)
//!                     Source File: /home/ann/app/foo.c:4
//! ```

use std::collections::HashSet;

use omp_model::metrics::{Metric, Quantity};

use super::cells::{compared, percent, rounded, seconds};
use crate::document::{Column, Row, Table, Value};
use crate::settings::Compare;

/// The rows, an empty line between them.
pub(super) fn aligned(table: &Table) -> String {
    let rows = table.rows.iter().map(|row| record(table, row));
    rows.collect::<Vec<_>>().join("\n")
}

/// A name, and labels to the right before their values.
fn record(table: &Table, row: &Row) -> String {
    let spent = spent(table, row);
    let columns = table.columns.iter().enumerate();
    let visible = columns.filter(|(_, column)| column.is_visible() && !column.is_name());
    let entries: Vec<(&str, String)> = visible
        .filter_map(|(at, column)| {
            let value = match column.quantity {
                Some(Quantity::Time(_, metric)) => {
                    spent.contains(&metric).then(|| times(table, row, at))?
                }
                _ => words(row, at)?,
            };
            Some((column.label.as_str(), value))
        })
        .collect();
    let width = entries.iter().map(|(label, _)| label.len()).max();
    let width = width.unwrap_or(0);
    let lines = entries
        .iter()
        .map(|(label, value)| format!("\t{label:>width$}: {value}\n"));
    let tail = row.tail(&table.columns);
    format!("{}{tail}\n{}", row.name, lines.collect::<String>())
}

/// The metrics that any experiment has time of; others say nothing of the row.
fn spent(table: &Table, row: &Row) -> HashSet<Metric> {
    let metric = |(column, value): (&Column, &Value)| match column.quantity {
        Some(Quantity::Time(_, metric)) => value
            .number()
            .is_some_and(|seconds| seconds != 0.0)
            .then_some(metric),
        _ => None,
    };
    let sides = row.values.iter();
    let values = sides.flat_map(|values| table.columns.iter().zip(values));
    values.filter_map(metric).collect()
}

/// A time with its part of the whole, by experiment.
fn times(table: &Table, row: &Row, at: usize) -> String {
    let number = |values: &[Vec<Value>], side: usize| values.get(side)?.get(at)?.number();
    let whole = |side: usize| {
        let whole = table.whole.get(side).and_then(|whole| whole.get(at));
        whole.copied().unwrap_or(0.0)
    };
    let of = |side: usize| number(&row.values, side).unwrap_or(0.0);
    if !table.has_sides() {
        let part = percent(of(0), whole(0));
        return format!("{:>8} ({part:6.2}%)", seconds(of(0)));
    }
    let decimals = table.columns[at].decimals;
    let cell = |side: usize| {
        let number = side + 1;
        if side > 0 && table.compare != Compare::On {
            let cell = compared(table.compare, Some(of(0)), Some(of(side)), decimals);
            return format!("({number}) {cell:>8}");
        }
        let part = percent(of(side), whole(side));
        let cell = rounded(Some(of(side)), decimals);
        format!("({number}) {cell:>8} ({part:6.2}%)")
    };
    let cells = (0..row.values.len()).map(cell);
    cells.collect::<Vec<_>>().join("  ")
}

/// A word that all experiments share, or each one's; nothing where none has the column.
fn words(row: &Row, at: usize) -> Option<String> {
    let word = |values: &Vec<Value>| match values.get(at) {
        Some(Value::Text(text)) => Some(text.clone()),
        _ => None,
    };
    let words: Vec<Option<String>> = row.values.iter().map(word).collect();
    let first = words.iter().flatten().next()?;
    if words.iter().all(|word| word.as_ref() == Some(first)) {
        return Some(first.clone());
    }
    let words = words.iter().zip(1..).map(|(word, number)| {
        let word = word.as_deref().unwrap_or("-");
        format!("({number}) {word}")
    });
    Some(words.collect::<Vec<_>>().join("  "))
}
