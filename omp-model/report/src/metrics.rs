//! Which metrics there are, and which are in force.

use omp_model::metrics::{self, Flavour, Metric, Quantity, SortKey};
use serde_json::{Map, Value as Json, json};

use crate::document::{Block, Column, Document, Line};
use crate::json::{fields, metric};
use crate::query::Query;

/// The metrics of the experiment.
pub fn metric_list(query: &Query<'_>) -> Document {
    let query = query.added_up();
    let flavours = [Flavour::Exclusive, Flavour::Inclusive];
    let times = query.all.analysis.available().metrics().iter();
    let times = times.flat_map(|&metric| flavours.map(|flavour| Quantity::Time(flavour, metric)));
    let plain = [Quantity::Size, Quantity::Address, Quantity::Name];
    let all: Vec<Quantity> = times.chain(plain).collect();
    let typed = |quantity: Quantity| match quantity {
        Quantity::Time(flavour, metric) => format!("{}.%{}", flavour.letter(), metric.id()),
        other => other.id(),
    };
    let (sort, columns) = (query.request.sort, &query.columns);
    let mut lines = vec![
        current_metrics(columns),
        Line::plain(current_sort(sort, columns)),
    ];
    lines.extend(available(&all, typed));
    if query.all.analysis.available().has(Metric::Blame) {
        let blame = "blame is the waiting of other threads that code caused, beside its own time";
        lines.extend(["", blame].map(Line::plain));
    }
    let mut facts = facts(&all, columns);
    facts.insert("sort".to_owned(), json!(sort.quantity.id()));
    document(&query, "metric_list", lines, facts)
}

/// The metrics of callers and callees.
pub fn cmetric_list(query: &Query<'_>) -> Document {
    of_flavour(query, "cmetric_list", Flavour::Attributed)
}

/// The metrics of index objects.
pub fn indx_metric_list(query: &Query<'_>) -> Document {
    of_flavour(query, "indx_metric_list", Flavour::Exclusive)
}

/// The metrics of a report that has them in one flavour.
fn of_flavour(query: &Query<'_>, view: &str, flavour: Flavour) -> Document {
    let query = query.added_up();
    let mut current = query.attributed();
    for column in &mut current {
        if let Quantity::Time(_, metric) = column.quantity {
            column.quantity = Quantity::Time(flavour, metric);
        }
    }
    let times = query.all.analysis.available().metrics().iter();
    let times = times.map(|&metric| Quantity::Time(flavour, metric));
    let all: Vec<Quantity> = times.chain([Quantity::Name]).collect();
    let mut lines = vec![current_metrics(&current)];
    lines.extend(available(&all, Quantity::id));
    document(&query, view, lines, facts(&all, &current))
}

fn document(query: &Query<'_>, view: &str, lines: Vec<Line>, facts: Map<String, Json>) -> Document {
    Document {
        facts,
        blocks: vec![Block::Lines(lines)],
        is_bare: true,
        ..query.document(view)
    }
}

/// What there is and what is in force, as JSON tells it.
fn facts(all: &[Quantity], current: &[metrics::Column]) -> Map<String, Json> {
    let all = all.iter().map(|&quantity| metric(&Column::time(quantity)));
    fields([
        ("metrics", all.collect()),
        ("rows", json!([])),
        ("current", json!(spec(current))),
    ])
}

/// What there is, by its full name and as it is typed.
fn available(all: &[Quantity], typed: impl Fn(Quantity) -> String) -> Vec<Line> {
    let widths = all.iter().map(|quantity| quantity.label().len());
    let width = widths.max().unwrap_or(0);
    let line = |&quantity: &Quantity| {
        let label = quantity.label();
        Line::plain(format!("{label:>width$}: {}", typed(quantity)))
    };
    let heading = Line::plain("Available metrics:");
    std::iter::once(heading)
        .chain(all.iter().map(line))
        .collect()
}

/// `Current metrics: e.%ompwork:name`.
fn current_metrics(columns: &[metrics::Column]) -> Line {
    Line::plain(format!("Current metrics: {}", spec(columns)))
}

/// A list of columns as it is typed.
pub fn spec(columns: &[metrics::Column]) -> String {
    let columns: Vec<String> = columns.iter().map(ToString::to_string).collect();
    columns.join(":")
}

/// `Current Sort Metric: Exclusive OMP Work Time ( e.%ompwork )`.
pub fn current_sort(key: SortKey, columns: &[metrics::Column]) -> String {
    let column = columns
        .iter()
        .find(|column| column.quantity == key.quantity);
    let typed = column.map_or_else(|| key.quantity.id(), ToString::to_string);
    let sign = if key.reversed { "-" } else { "" };
    let label = key.quantity.label();
    format!("Current Sort Metric: {label} ( {sign}{typed} )")
}
