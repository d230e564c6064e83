//! Documents as the page's script reads them.
//!
//! JSON for scripts has each row by itself; here columns are lists, which are half as long and packed
//! together a third. A block whose text has a layout of its own is written as that text.

use omp_model::views::openmp::bars::Use;
use serde_json::{Map, Value as Json, json};

use crate::document::address;
use crate::document::{
    Block, Column, Document, Line, Mark, Role, Row, Style, Table, TablePart, Target, Unit, Value,
};
use crate::json;
use crate::settings::Compare;
use crate::text::{self, Layout};

/// How the values of compared experiments can be shown: one table of them serves all.
pub(super) const COMPARED: [Compare; 3] = [Compare::On, Compare::Delta, Compare::Ratio];

/// A document as scripts have it, too.
pub(super) fn whole(document: &Document) -> Json {
    serde_json::from_str(&json::render(document)).expect("JSON is JSON")
}

/// A document.
pub(super) fn document(document: &Document) -> Json {
    let blocks: Vec<Vec<Json>> = document.blocks.iter().map(block).collect();
    // A block of the document may be several of the page.
    let before = document.details.map(|at| &blocks[..at.min(blocks.len())]);
    let details = before.map(|before| before.iter().map(Vec::len).sum::<usize>());
    let blocks = blocks.concat();
    json!({
        "view": document.view,
        "title": document.title,
        "blocks": blocks,
        "details": details,
        "warnings": document.warnings,
        "notices": document.notices,
    })
}

fn block(block: &Block) -> Vec<Json> {
    match block {
        Block::Lines(lines) => vec![json!({"lines": lines_of(lines)})],
        Block::Table(table) if table.style == Style::Cards => {
            let cards: Vec<Json> = table.rows.iter().map(|row| card(table, row)).collect();
            vec![json!({"caption": caption(table), "cards": cards})]
        }
        Block::Table(table) if table.has_bars() => vec![json!({"bars": bars_of(table)})],
        Block::Table(table) if has_own_layout(table) => vec![json!({"texts": texts_of(table)})],
        Block::Table(table) if table.parts.is_empty() => {
            let is_shown = |column: &&Column| column.is_visible();
            let columns = table
                .columns
                .iter()
                .filter(is_shown)
                .map(|it| it.id.clone());
            vec![table_of(table, &TablePart::new("", columns))]
        }
        Block::Table(table) => {
            let parts = table.parts.iter();
            parts.map(|part| table_of(table, part)).collect()
        }
    }
}

/// Whether a text does not show it as rows of cells.
fn has_own_layout(table: &Table) -> bool {
    table.is_facts() || table.style == Style::Records
}

/// Advice: what to do, its sentences, and what it leads to.
fn card(table: &Table, row: &Row) -> Json {
    let told = table.columns.iter().zip(row.values.iter().flatten());
    let text = |value: &Value| match value {
        Value::Text(text) => Some(text.clone()),
        _ => None,
    };
    let (shown, hidden): (Vec<_>, Vec<_>) = told.partition(|(column, _)| column.is_visible());
    let sentences: Vec<String> = shown.iter().filter_map(|(_, value)| text(value)).collect();
    let view = hidden.iter().find_map(|(_, value)| text(value));
    let (function, line) = match &row.target {
        Some(Target::Line(place)) => (place.function.as_deref(), Some(place.line)),
        Some(Target::Function(name)) => (Some(name.as_str()), None),
        _ => (None, None),
    };
    let file = match &row.target {
        Some(Target::Line(place)) => place.file.as_deref(),
        _ => None,
    };
    json!({
        "name": row.name,
        "lines": sentences,
        "view": view,
        "function": function,
        "file": file,
        "line": line,
    })
}

/// Bars, and what their parts stand for.
fn bars_of(table: &Table) -> Json {
    let mut uses: Vec<Use> = Vec::new();
    let rows: Vec<Json> = table
        .rows
        .iter()
        .map(|row| {
            let bar = row.values.iter().flatten().find_map(|value| match value {
                Value::Bar(bar) => Some(bar),
                _ => None,
            });
            let parts = bar.into_iter().flat_map(|bar| &bar.parts);
            let parts: Vec<Json> = parts
                .map(|&(what, seconds)| {
                    let known = uses.iter().position(|it| *it == what);
                    let at = known.unwrap_or_else(|| {
                        uses.push(what);
                        uses.len() - 1
                    });
                    json!([at, rounded(seconds)])
                })
                .collect();
            let function = match &row.target {
                Some(Target::Function(name)) => Some(name),
                _ => None,
            };
            let whole = bar.map(|bar| rounded(bar.whole));
            json!({"name": row.name, "parts": parts, "whole": whole, "function": function})
        })
        .collect();
    let uses: Vec<Json> = uses
        .into_iter()
        .map(|it| json!({"id": it.id(), "words": it.words(), "colour": it.family().colour(), "is_off_cpu": it.is_off_cpu()}))
        .collect();
    json!({"caption": caption(table), "rows": rows, "uses": uses})
}

/// What stands above a table of one part.
fn caption(table: &Table) -> &str {
    table.parts.first().map_or("", |part| &part.caption)
}

/// A table as text; of compared experiments in each kind of comparison.
fn texts_of(table: &Table) -> Map<String, Json> {
    let kinds = if table.has_sides() {
        &COMPARED[..]
    } else {
        &[Compare::Off]
    };
    let text = |&compare: &Compare| {
        let table = Table {
            compare,
            ..table.clone()
        };
        let document = Document {
            blocks: vec![Block::Table(table)],
            is_bare: true,
            ..Document::default()
        };
        let text = text::render(&document, Layout::Aligned);
        (compare.word().to_owned(), json!(text))
    };
    kinds.iter().map(text).collect()
}

/// Each line as its text and its mark.
fn lines_of(lines: &[Line]) -> Vec<Json> {
    let line = |line: &Line| match mark(line.mark) {
        "" => json!(line.text),
        mark => json!([line.text, mark]),
    };
    lines.iter().map(line).collect()
}

const fn mark(mark: Mark) -> &'static str {
    match mark {
        Mark::Plain => "",
        Mark::Strong => "strong",
        Mark::Warning => "warning",
    }
}

/// A part of a table.
fn table_of(table: &Table, part: &TablePart) -> Json {
    let at = |id: &String| table.columns.iter().position(|column| column.id == *id);
    let shown = part.columns.iter().filter_map(at);
    // What a text leaves out because no row has it.
    let says_something = |at: usize| {
        let mut values = table.rows.iter().flat_map(|row| &row.values);
        table.style != Style::Sparse || values.any(|it| it.get(at).is_some_and(Value::is_told))
    };
    let is_shown = |&at: &usize| !table.columns[at].is_name() && says_something(at);
    let shown: Vec<usize> = shown.filter(is_shown).collect();
    let columns: Vec<Json> = shown.iter().map(|&at| column(table, at)).collect();
    let sides = table.rows.iter().map(|row| row.values.len()).max();
    let values: Vec<Vec<Vec<Json>>> = (0..sides.unwrap_or(0))
        .map(|side| {
            let of = |&at: &usize| table.rows.iter().map(|row| cell(row, side, at)).collect();
            shown.iter().map(of).collect()
        })
        .collect();
    let whole: Vec<Vec<f64>> = table
        .whole
        .iter()
        .map(|side| {
            let of = |&at: &usize| rounded(side.get(at).copied().unwrap_or(0.0));
            shown.iter().map(of).collect()
        })
        .collect();
    let mut fields = Map::new();
    fields.insert("columns".to_owned(), json!(columns));
    fields.insert("heading".to_owned(), json!(heading_of_names(table)));
    let names: Vec<&str> = table.rows.iter().map(|row| name(table, row)).collect();
    fields.insert("names".to_owned(), json!(names));
    fields.insert("values".to_owned(), json!(values));
    fields.insert("whole".to_owned(), json!(whole));
    if table.rows.iter().any(|row| row.node.is_some()) {
        let depth = |row: &Row| row.node.map_or(0, |node| node.depth);
        let depths: Vec<u32> = table.rows.iter().map(depth).collect();
        fields.insert("depths".to_owned(), json!(depths));
    }
    let foot = lines_of(&table.foot);
    let sparse = [
        ("roles", by_row(table, |row| text_or_none(role(row.role)))),
        ("marks", by_row(table, |row| text_or_none(mark(row.mark)))),
        (
            "tails",
            by_row(table, |row| text_or_none(&row.tail(&table.columns))),
        ),
        (
            "decimals",
            by_row(table, |row| row.decimals.map(|it| json!(it))),
        ),
        ("notes", by_row(table, notes)),
        ("targets", by_row(table, target)),
    ];
    for (key, rows) in sparse {
        if !rows.is_empty() {
            fields.insert(key.to_owned(), Json::Object(rows));
        }
    }
    let flags = [
        ("annotated", table.style == Style::Annotated),
        ("sides", table.has_sides()),
    ];
    for (key, _) in flags.into_iter().filter(|(_, is)| *is) {
        fields.insert(key.to_owned(), json!(true));
    }
    let words = [
        ("caption", json!(part.caption)),
        ("empty", json!(table.empty)),
        ("foot", json!(foot)),
    ];
    fields.extend(words.map(|(key, value)| (key.to_owned(), value)));
    json!({ "table": fields })
}

/// The heading of the names.
fn heading_of_names(table: &Table) -> String {
    let name = table.columns.iter().find(|column| column.is_name());
    name.map_or_else(String::new, |column| column.heading.join(" "))
}

/// What a row is called: the value of the column of names, where it has one.
fn name<'a>(table: &Table, row: &'a Row) -> &'a str {
    let at = table.columns.iter().position(Column::is_name);
    let value = at.and_then(|at| row.values.first()?.get(at));
    match value {
        Some(Value::Text(text)) => text,
        _ => &row.name,
    }
}

fn column(table: &Table, at: usize) -> Json {
    let column = &table.columns[at];
    // The script writes the unit of seconds itself.
    let lines = column.heading.iter().map(String::as_str);
    let lines = lines.filter(|line| column.unit != Unit::Seconds || *line != "sec.");
    // A text writes a count without decimals, whatever the column's are.
    let mut values = table.rows.iter().flat_map(|row| &row.values);
    let is_of_counts = values.all(|values| {
        let value = values.get(at);
        value.is_none_or(|it| matches!(it, Value::Count(_)) || it.number().is_none())
    });
    json!({
        "id": column.id,
        "label": column.label,
        "unit": column.unit.word(),
        "heading": lines.collect::<Vec<_>>().join(" "),
        "value": column.value,
        "percent": column.percent,
        "decimals": if is_of_counts { 0 } else { column.decimals },
        "metric": column.quantity.is_some(),
    })
}

/// What some rows have, by the number of the row.
fn by_row(table: &Table, of: impl Fn(&Row) -> Option<Json>) -> Map<String, Json> {
    let rows = table.rows.iter().enumerate();
    rows.filter_map(|(at, row)| Some((at.to_string(), of(row)?)))
        .collect()
}

fn text_or_none(text: &str) -> Option<Json> {
    (!text.is_empty()).then(|| json!(text))
}

const fn role(role: Role) -> &'static str {
    match role {
        Role::Any => "",
        Role::Total | Role::Sum => "total",
        Role::Centre => "centre",
        Role::Caller => "caller",
        Role::Callee => "callee",
    }
}

fn notes(row: &Row) -> Option<Json> {
    let notes: Vec<&str> = row.notes.iter().map(|note| note.text.as_str()).collect();
    (!notes.is_empty()).then(|| json!(notes))
}

/// What a row is about, where its name does not tell.
fn target(row: &Row) -> Option<Json> {
    match row.target.as_ref()? {
        Target::Function(name) if *name == row.name => None,
        Target::Function(name) => Some(json!({ "function": name })),
        Target::Line(place) => Some(json!({ "line": place.line })),
        Target::Construct(construct) => {
            let place = construct.location.short();
            let named = row.values.first().into_iter().flatten();
            let mut names = named.filter_map(|value| match value {
                Value::Text(text) => Some(text),
                _ => None,
            });
            let is_told = names.any(|name| name.ends_with(&place));
            let place = (!is_told).then_some(place);
            Some(json!({ "place": place, "detail": construct.detail }))
        }
        Target::Instruction { .. } | Target::Thread(_) | Target::Metric(_) | Target::Finding(_) => {
            None
        }
    }
}

/// A value: a number, a text, `null` where there is none, or nothing (`""`) where the column is not of
/// this row. A list is a number of which a part is inferred; an object's `clock` a moment, and its `mean`
/// that of several recordings, with how far the difference from the first side may be chance.
fn cell(row: &Row, side: usize, at: usize) -> Json {
    let value = row.values.get(side).and_then(|values| values.get(at));
    match value {
        None | Some(Value::Omitted) => json!(""),
        Some(Value::Absent) => Json::Null,
        Some(Value::Number(number)) => number_of(*number),
        Some(Value::Placed { seconds, inferred }) => {
            json!([rounded(*seconds), rounded(*inferred)])
        }
        Some(Value::Mean(it)) => {
            let chance = it.chance.map(rounded);
            json!({"mean": rounded(it.mean), "chance": chance, "differs": it.differs})
        }
        Some(Value::Count(count)) => json!(count),
        Some(Value::Clock(seconds)) => json!({"clock": rounded(*seconds)}),
        Some(Value::Text(text)) => json!(text),
        Some(Value::Address(code)) => json!(address(*code)),
        // A table with bars is drawn by itself.
        Some(Value::Bar(_)) => json!(""),
        Some(Value::Json(value)) => match value {
            Json::Bool(_) | Json::Number(_) | Json::String(_) => value.clone(),
            _ => json!(""),
        },
    }
}

fn number_of(number: f64) -> Json {
    let number = rounded(number);
    if number == number.trunc() && number.abs() < 1e15 {
        json!(number as i64)
    } else {
        json!(number)
    }
}

/// A number to nine decimals: times are measured in nanoseconds.
fn rounded(number: f64) -> f64 {
    (number * 1e9).round() / 1e9
}
