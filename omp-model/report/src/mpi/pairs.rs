//! Messages by sender and receiver.

use omp_model::mpi::functions::{Messages, messages as view};
use omp_model::mpi::ranks::RankId;
use serde_json::{Value as Json, json};

use crate::document::{Column, InJson, Row, Style, Table, TablePart, Unit, Value};
use crate::query::Query;

/// The columns of a text.
const COLUMNS: [&str; 4] = ["messages", "bytes", "mean", "largest"];

/// A row for each pair, most bytes first, and the same for JSON; no table without messages.
pub(super) fn messages(query: &Query<'_>) -> (Option<Table>, Json) {
    let analysis = query.all.analysis;
    let ranks = analysis.ranks();
    let all = match query.settings.filter {
        Some(_) => Vec::new(),
        None => view(&analysis.experiment.mpi_messages, &ranks),
    };
    let rank = |id: RankId| json!({"rank": id.number, "job": id.job + 1});
    let in_json = all.iter().map(|([from, to], it)| {
        json!({
            "from": rank(*from),
            "to": rank(*to),
            "messages": it.count,
            "bytes": it.bytes,
            "largest": it.largest,
        })
    });
    let in_json = in_json.collect();
    let row = |([from, to], it): &([RankId; 2], Messages)| {
        row(format!("{} to {}", ranks.name(*from), ranks.name(*to)), it)
    };
    let rows = all.iter().take(query.limited(all.len())).map(row).collect();
    let column = |id: &str, heading: [&str; 2], unit| Column {
        heading: heading.map(str::to_owned).into(),
        unit,
        json: InJson::Nowhere,
        ..Column::fact(id)
    };
    let table = Table {
        style: Style::Sparse,
        columns: vec![
            column("messages", ["Messages", ""], Unit::None),
            column("bytes", ["Sent", "bytes"], Unit::Bytes),
            column("mean", ["A message", "bytes"], Unit::Bytes),
            column("largest", ["Largest", "bytes"], Unit::Bytes),
            Column {
                heading: vec![" Name".to_owned()],
                ..Column::name()
            },
        ],
        parts: vec![TablePart::new(
            "Messages by sender and receiver, by their bytes",
            COLUMNS.iter().copied().chain(["name"]),
        )],
        rows,
        ..Table::default()
    };
    ((!all.is_empty()).then_some(table), in_json)
}

fn row(name: String, it: &Messages) -> Row {
    Row {
        values: vec![vec![
            Value::Count(it.count),
            Value::Count(it.bytes),
            Value::Count(it.bytes / it.count.max(1)),
            Value::Count(it.largest),
            Value::Absent,
        ]],
        ..Row::named(name)
    }
}
