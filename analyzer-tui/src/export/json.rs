//! Views as JSON, in the form of `er_print`'s `printmode json`.

use serde_json::{Map, Value, json};

use crate::app::{App, View};
use crate::report::{Part, Row, Table, Value as Cell};
use crate::tables::{self, mode_name};
use report::timeline::Activity;

pub(super) fn report(app: &App) -> String {
    let mut object = Map::new();
    object.insert("view".to_owned(), json!(app.view.file_name()));
    object.insert("viewmode".to_owned(), json!(mode_name(app.settings.mode)));
    object.insert("experiments".to_owned(), json!(app.recording.names));
    if let Some(filter) = &app.settings.filter {
        object.insert("filter".to_owned(), json!(filter.text()));
    }
    if let Some(compare) = app.settings.compare {
        object.insert("compare".to_owned(), json!(compare.word()));
    }
    match app.view {
        View::Timeline => timeline(app, &mut object),
        View::Overview => overview(app, &mut object),
        View::Experiment => {
            let header = serde_json::to_value(&app.recording.experiment.header);
            object.insert("header".to_owned(), header.unwrap_or(Value::Null));
        }
        View::Tree | View::Flame => {
            let tree = app.data.tree(&app.recording);
            let all: Vec<usize> = (0..tree.rows.len()).collect();
            let table = tables::calltree(&app.data, &app.recording, &all, |_| true);
            metrics(&table, &mut object);
            return finish(app, object, Some(&nested(&table)));
        }
        View::Callers => {
            metrics(&app.table, &mut object);
            object.insert("rows".to_owned(), json!([block(&app.table)]));
        }
        View::Source => {
            metrics(&app.table, &mut object);
            object.insert("rows".to_owned(), json!(source(app)));
        }
        View::Disassembly => {
            metrics(&app.table, &mut object);
            object.insert("function".to_owned(), json!(app.centre));
            object.insert("rows".to_owned(), json!(instructions(app)));
        }
        View::Regions => {
            metrics(&app.table, &mut object);
            object.insert("rows".to_owned(), json!(directives(app)));
        }
        View::Threads if app.settings.compare.is_none() => {
            metrics(&app.table, &mut object);
            object.insert("rows".to_owned(), json!(threads(app)));
        }
        View::Functions | View::Threads => {
            metrics(&app.table, &mut object);
            let rows: Vec<Value> = app
                .table
                .rows
                .iter()
                .map(|row| object_of(&app.table, row))
                .collect();
            object.insert("rows".to_owned(), json!(rows));
        }
    }
    finish(app, object, None)
}

/// Adds what must be said under a view. Rows that nest are text already, however deep.
fn finish(app: &App, object: Map<String, Value>, rows: Option<&str>) -> String {
    let notices = app.data.notices(&app.recording);
    let mut tail = Map::new();
    tail.insert("warnings".to_owned(), json!(app.recording.warnings));
    tail.insert("notices".to_owned(), json!(notices));
    let head = Value::Object(object).to_string();
    let tail = Value::Object(tail).to_string();
    let rows = rows.map_or_else(String::new, |rows| format!(",\"rows\":{rows}"));
    format!("{}{rows},{}\n", &head[..head.len() - 1], &tail[1..])
}

fn metrics(table: &Table, object: &mut Map<String, Value>) {
    // Words are facts of a row beside its values.
    let first = table.rows.first();
    let is_word = |at: usize| {
        let value = first.and_then(|row| row.values.get(at));
        matches!(value, Some(Cell::Word(_)))
    };
    let columns = table.columns.iter().enumerate();
    let columns: Vec<Value> = columns
        .filter(|(at, _)| !is_word(*at))
        .map(|(_, column)| column)
        .map(|column| json!({"id": column.id, "label": column.label, "unit": column.unit}))
        .collect();
    object.insert("metrics".to_owned(), json!(columns));
}

fn values(table: &Table, row: &Row) -> Value {
    let pairs = table.columns.iter().zip(&row.values);
    let measured = pairs.filter(|(_, value)| !matches!(value, Cell::Word(_)));
    let measured = measured.map(|(column, value)| (column.id.clone(), value.json()));
    Value::Object(measured.collect())
}

/// A row; words are facts of it, beside its values.
fn object_of(table: &Table, row: &Row) -> Value {
    let mut object = Map::new();
    object.insert("name".to_owned(), json!(row.name));
    for (column, value) in table.columns.iter().zip(&row.values) {
        if let Cell::Word(word) = value {
            object.insert(column.id.clone(), json!(word));
        }
    }
    object.insert("values".to_owned(), values(table, row));
    Value::Object(object)
}

/// The rows of a tree, each with its `children`; written row by row, without recursion.
fn nested(table: &Table) -> String {
    let mut text = String::from("[");
    let mut open = 0;
    for row in &table.rows {
        if open > row.depth {
            text.push_str(&"]}".repeat((open - row.depth) as usize));
            text.push(',');
        }
        let name = Value::from(row.name.as_str());
        let values = values(table, row);
        text.push_str(&format!(
            "{{\"name\":{name},\"values\":{values},\"children\":["
        ));
        open = row.depth + 1;
    }
    text.push_str(&"]}".repeat(open as usize));
    text.push(']');
    text
}

/// The function in the middle with its callers and callees.
fn block(table: &Table) -> Value {
    let own = table
        .rows
        .iter()
        .position(|row| row.lead == "* ")
        .unwrap_or(0);
    let side =
        |rows: &[Row]| -> Vec<Value> { rows.iter().map(|row| object_of(table, row)).collect() };
    let Some(row) = table.rows.get(own) else {
        return Value::Null;
    };
    json!({
        "name": row.name,
        "values": values(table, row),
        "callers": side(&table.rows[..own]),
        "callees": side(&table.rows[own + 1..]),
    })
}

/// The threads, each with who it is and how long it lived.
fn threads(app: &App) -> Vec<Value> {
    let known = app.data.threads(&app.recording);
    let rows = app.table.rows.iter().zip(known);
    rows.map(|(row, thread)| {
        let mut object = object_of(&app.table, row);
        object["thread"] = json!(thread.thread.0 + 1);
        object["pid"] = json!(thread.pid);
        object["tid"] = json!(thread.tid);
        object["start"] = json!(thread.birth.seconds());
        object["end"] = json!(thread.death.map(|death| death.seconds()));
        object
    })
    .collect()
}

/// The regions and tasks, each with its place.
fn directives(app: &App) -> Vec<Value> {
    let directives = app.data.directives(&app.recording);
    let rows = app.table.rows.iter();
    rows.map(|row| {
        let mut object = object_of(&app.table, row);
        let spot = row.construct.and_then(|at| directives.spot(at));
        object["function"] = json!(spot.map(|spot| &spot.function));
        object["file"] = json!(spot.map(|spot| &spot.file));
        object["line"] = json!(spot.map(|spot| spot.line));
        let region = row.construct.and_then(|at| directives.regions.get(at));
        if let Some(region) = region {
            // Of a part of the time instances are not counted; beside other experiments each
            // has its own.
            let alone = app.settings.compare.is_none() && app.settings.filter.is_none();
            let counted = |count: u64| alone.then_some(count);
            object["teams"] = json!(region.teams);
            object["nesting"] = json!(region.nesting);
            object["instances"] = json!(counted(region.instances));
            object["threads"] = json!(counted(u64::from(region.threads)));
        }
        let contexts = row.construct.and_then(|at| directives.contexts(at));
        if let Some((word, contexts)) = contexts {
            let numbers: Vec<u32> = contexts.iter().map(|context| context.0).collect();
            object[word.to_lowercase().as_str()] = json!(numbers);
        }
        object
    })
    .collect()
}

/// The lines, each with what happened there.
fn source(app: &App) -> Vec<Value> {
    let mut rows: Vec<Value> = Vec::new();
    for (row, line) in app.table.rows.iter().zip(app.source_lines()) {
        match (&row.source, line) {
            (Some(Part::Line { hot }), line) => rows.push(json!({
                "line": line,
                "text": row.name,
                "hot": hot,
                "values": match row.values.is_empty() {
                    true => Value::Null,
                    false => values(&app.table, row),
                },
                "notes": [],
            })),
            (
                Some(Part::Note {
                    kind,
                    name,
                    seconds,
                }),
                _,
            ) => {
                let notes = rows.last_mut().and_then(|row| row["notes"].as_array_mut());
                if let Some(notes) = notes {
                    let values = json!({"i.total": seconds});
                    notes.push(json!({"kind": kind, "name": name, "values": values}));
                }
            }
            (None, _) => {}
        }
    }
    rows
}

/// The instructions, each with the lines that it came from.
fn instructions(app: &App) -> Vec<Value> {
    let files = &app.recording.symbols.files;
    let rows = app.table.rows.iter().zip(app.instructions());
    let rows = rows.filter_map(|(row, at)| {
        let hot = matches!(row.source, Some(Part::Line { hot: true }));
        let places = at.places.iter().map(|at| {
            json!({
                "function": at.function,
                "file": files.get(at.place.file.0 as usize),
                "line": at.place.line,
            })
        });
        Some(json!({
            "address": at.address?,
            "text": row.name,
            "hot": hot,
            "values": match row.values.is_empty() {
                true => Value::Null,
                false => values(&app.table, row),
            },
            "places": places.collect::<Vec<_>>(),
        }))
    });
    rows.collect()
}

fn overview(app: &App, object: &mut Map<String, Value>) {
    let overview = app.data.overview(&app.recording);
    let header = &app.recording.experiment.header;
    let largest = std::iter::once(&overview.largest.total).chain(&overview.largest.rows);
    let rows = largest.map(|row| {
        let times = overview.times.iter().zip(&row.exclusive);
        let times: Map<String, Value> = times
            .map(|((metric, _), seconds)| (format!("e.{}", metric.id()), json!(seconds)))
            .collect();
        json!({"name": row.name, "values": times})
    });
    object.insert("command".to_owned(), json!(header.command));
    let duration = app.recording.experiment.duration().seconds();
    object.insert("duration".to_owned(), json!(duration));
    object.insert("processes".to_owned(), json!(overview.processes));
    object.insert("rows".to_owned(), json!(rows.collect::<Vec<Value>>()));
}

/// The slots in sight: seconds by activity, for each thread and column.
fn timeline(app: &App, object: &mut Map<String, Value>) {
    let range = &app.timeline.range;
    object.insert("from".to_owned(), json!(range.start as f64 / 1e9));
    object.insert("to".to_owned(), json!(range.end as f64 / 1e9));
    let rows: Vec<Value> = app
        .threads()
        .iter()
        .map(|&thread| {
            let slots: Vec<Value> = app
                .slots(thread)
                .iter()
                .map(|slot| {
                    let times = Activity::ALL.iter().zip(&slot.times);
                    let times = times.filter(|(_, time)| **time > 0.0);
                    let times: Map<String, Value> = times
                        .map(|(activity, time)| (activity.words().to_owned(), json!(time / 1e9)))
                        .collect();
                    json!({"states": times, "running": slot.running()})
                })
                .collect();
            json!({"name": app.thread_label(thread), "slots": slots})
        })
        .collect();
    object.insert("rows".to_owned(), json!(rows));
}
