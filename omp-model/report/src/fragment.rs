//! `csingle` and its like: a stack fragment, which is functions that call each other directly,
//! between its callers and callees.

use omp_model::metrics::Quantity;
use omp_model::views::fragment::{NamedCode, Piece, piece};
use serde_json::{Map, Value as Json, json};

use crate::document::address;
use crate::document::{Block, Column, Document, InJson, Role, Row, Table, Value};
use crate::error::Error;
use crate::find::{self, Named};
use crate::functions::Kind;
use crate::neighbours::edges;
use crate::query::Query;

/// A stack fragment, callers first, as a command shows it.
///
/// # Errors
/// [`Error`] if a function is not found, or it is asked how they scale.
pub fn fragment(query: &Query<'_>, view: &str, functions: &[Named]) -> Result<Document, Error> {
    query.refuse_scaling(view)?;
    let (functions, pieces) = find(query, functions)?;
    let columns = columns(query);
    let (callers, callees) = pieces
        .iter()
        .map(|piece| (piece.callers.clone(), piece.callees.clone()))
        .unzip();
    let mut rows = edges(query, &columns, Role::Caller, callers);
    for (at, function) in functions.iter().enumerate() {
        let is_last = at + 1 == functions.len();
        rows.push(Row {
            role: if is_last { Role::Centre } else { Role::Any },
            is_starred: true,
            values: if is_last {
                last(query, &columns, &functions, &pieces)
            } else {
                vec![query.values(&columns, function.1, &[], &[]); pieces.len()]
            },
            ..Row::function(function.0.clone())
        });
    }
    rows.extend(edges(query, &columns, Role::Callee, callees));
    let whole = pieces.first().map(|piece| {
        let of = |column: &Column| match column.quantity {
            Some(Quantity::Time(_, metric)) => query.seconds(&piece.whole, metric),
            _ => 0.0,
        };
        columns.iter().map(of).collect()
    });
    let by = query.attributed_sort().quantity.label();
    Ok(Document {
        title: format!("Callers and callees sorted by metric: {by}"),
        blocks: vec![Block::Table(Table {
            whole: whole.into_iter().collect(),
            ..query.table(columns, rows)
        })],
        ..query.document(view)
    })
}

/// The functions as lists show them, and the fragment in each side's stacks.
fn find(query: &Query<'_>, functions: &[Named]) -> Result<(Vec<NamedCode>, Vec<Piece>), Error> {
    let request = &query.request;
    if query.is_comparison() {
        let shared = query.shared();
        let names = functions
            .iter()
            .map(|function| find::shared(query, &shared, function));
        let names = names.collect::<Result<Vec<String>, Error>>()?;
        let sides = 0..query.sides().len();
        let pieces = sides.map(|side| shared.piece(side, request, &names));
        let pieces = pieces.collect();
        return Ok((names.into_iter().map(|name| (name, None)).collect(), pieces));
    }
    let (profile, names) = (query.all.profile(), query.all.names());
    let list = Kind::Functions.list(&query.all, request);
    let shown = functions.iter().map(|function| {
        let row = find::function(&names, &list, function)?;
        Ok((row.name.clone(), row.code))
    });
    let shown = shown.collect::<Result<Vec<NamedCode>, Error>>()?;
    let piece = piece(profile, &names, request, &shown);
    Ok((shown, vec![piece]))
}

/// The attributed times, and what JSON tells of the whole fragment in the row of its last function.
fn columns(query: &Query<'_>) -> Vec<Column> {
    let attributed = query.attributed();
    let mut columns: Vec<Column> = query.shown(&attributed).collect();
    let fragment = Column::fact("fragment");
    let mut whole = Column::fact("whole");
    if query.is_comparison() {
        whole.json = InJson::Each;
        columns.extend([fragment, whole]);
    } else {
        columns.insert(0, fragment);
        columns.push(whole);
    }
    columns
}

/// The values of the last function.
fn last(
    query: &Query<'_>,
    columns: &[Column],
    functions: &[NamedCode],
    pieces: &[Piece],
) -> Vec<Vec<Value>> {
    let names: Json = functions.iter().map(|(name, _)| json!(name)).collect();
    let code = functions.last().and_then(|last| last.1);
    let values = |piece: &Piece| {
        let own = query.values(columns, code, &piece.own, &piece.own);
        let value = |(column, own): (&Column, Value)| match column.id.as_str() {
            "fragment" => Value::Json(names.clone()),
            "whole" => Value::Json(whole(query, columns, piece)),
            _ => own,
        };
        columns.iter().zip(own).map(value).collect()
    };
    pieces.iter().map(values).collect()
}

/// The times of all stacks that hold the fragment, as JSON.
fn whole(query: &Query<'_>, columns: &[Column], piece: &Piece) -> Json {
    let value = |column: &Column| match column.quantity? {
        Quantity::Time(_, metric) => Some(json!(query.seconds(&piece.whole, metric))),
        Quantity::Size => Some(json!(0)),
        Quantity::Address => Some(json!(address(None))),
        Quantity::Name => None,
    };
    let values = columns
        .iter()
        .filter_map(|column| Some((column.id.clone(), value(column)?)));
    Json::Object(values.collect::<Map<_, _>>())
}
