//! A document as JSON: one object on one line.
//!
//! The form is a contract with scripts: fields may be added, none is renamed.

use omp_model::profile::ViewMode;
use serde_json::{Map, Value as Json, json};

use crate::caveats;
use crate::document::address;
use crate::document::{Block, Column, Document, InJson, Mean, Role, Row, Style, Table, Value};
use crate::settings::Compare;

/// The document on one line.
pub fn render(document: &Document) -> String {
    let said = [
        ("warnings", json!(document.warnings)),
        ("notices", json!(document.notices)),
    ];
    let tail = document.about.as_ref().map(|_| fields(said));
    object_of(document, tail.unwrap_or_default()) + "\n"
}

/// The document as an object that ends with some fields.
fn object_of(document: &Document, tail: Map<String, Json>) -> String {
    let mut head = fields([("view", json!(document.view))]);
    if let Some(about) = &document.about {
        head.extend(fields([
            ("viewmode", json!(mode_name(about.mode))),
            ("experiments", json!(about.experiments)),
        ]));
        if about.compare != Compare::Off {
            head.insert("compare".to_owned(), json!(about.compare.word()));
        }
        if let Some(groups) = &about.groups {
            let sides = groups.sides().iter().map(|side| side + 1);
            head.insert("sides".to_owned(), sides.collect());
        }
    }
    if !document.caveats.is_empty() {
        head.insert("caveats".to_owned(), caveats::json(&document.caveats));
    }
    head.extend(document.facts.clone());
    let tables: Vec<&Table> = document
        .blocks
        .iter()
        .filter_map(|block| match block {
            Block::Table(table) if is_told(table) => Some(table),
            Block::Table(_) | Block::Lines(_) => None,
        })
        .collect();
    let mut rows = None;
    if let Some(table) = tables.first() {
        let values = table.columns.iter().any(|it| it.json == InJson::Values);
        if document.about.is_some() && (values || !table.is_facts()) {
            // A document may tell its own.
            head.entry("metrics").or_insert_with(|| metrics(table));
        }
        if let (Style::Annotated, Some(whole)) = (table.style, table.whole.first()) {
            head.insert("total".to_owned(), total(table, whole));
        }
        if let Some(sum) = table.rows.iter().find(|row| row.role == Role::Sum) {
            head.insert(
                "total".to_owned(),
                json!(object(table, sum, table.has_means())),
            );
        }
        rows = Some(rows_of(&tables));
    }
    let others: Vec<String> = document
        .others
        .iter()
        .map(|other| object_of(other, Map::new()))
        .collect();
    let others = (!others.is_empty()).then(|| format!("[{}]", others.join(",")));
    let mut more = document.more.clone();
    more.extend(tail);
    let arrays = [("rows", rows), ("others", others)];
    join(&head, &arrays, &more)
}

/// Whether JSON has anything of a table.
fn is_told(table: &Table) -> bool {
    let mut columns = table.columns.iter();
    columns.any(|column| column.json != InJson::Nowhere)
}

/// An object of fields, arrays that are JSON already, and further fields.
fn join(
    head: &Map<String, Json>,
    arrays: &[(&str, Option<String>)],
    tail: &Map<String, Json>,
) -> String {
    let mut text = json!(head).to_string();
    text.pop();
    for (key, array) in arrays {
        if let Some(array) = array {
            text.push_str(&format!(",\"{key}\":{array}"));
        }
    }
    if !tail.is_empty() {
        text.push(',');
        text.push_str(&json!(tail).to_string()[1..]);
    } else {
        text.push('}');
    }
    text
}

/// What is 100 % of each of the columns of `values`.
fn total(table: &Table, whole: &[f64]) -> Json {
    let columns = table.columns.iter().zip(whole);
    let values = columns.filter(|(column, _)| column.json == InJson::Values);
    let pairs = values.map(|(column, whole)| (column.id.clone(), json!(whole)));
    Json::Object(pairs.collect())
}

/// `[{"id":"e.ompwork","label":"Exclusive OMP Work Time","unit":"s"}]`.
fn metrics(table: &Table) -> Json {
    let columns = table.columns.iter();
    let values = columns.filter(|column| column.json == InJson::Values);
    values.map(metric).collect()
}

/// A column as `metrics` lists it.
pub(crate) fn metric(column: &Column) -> Json {
    json!({"id": column.id, "label": column.label, "unit": column.unit.word()})
}

/// An object of these fields.
pub(crate) fn fields<const N: usize>(fields: [(&str, Json); N]) -> Map<String, Json> {
    Map::from_iter(fields.map(|(key, value)| (key.to_owned(), value)))
}

/// The rows of all tables: nested in `children` if they are a tree's, in `callers` and `callees`
/// if a table is about one of its rows.
fn rows_of(tables: &[&Table]) -> String {
    let is_tree =
        |table: &&Table| !table.is_facts() && table.rows.iter().any(|row| row.node.is_some());
    let mut rows = Vec::new();
    for table in tables {
        if is_tree(table) {
            return nested(table);
        }
        match table.rows.iter().position(|row| row.role == Role::Centre) {
            Some(_) => rows.push(json!(neighbours(table))),
            None => {
                let has_means = table.has_means();
                let told = table.rows.iter().filter(|row| row.role != Role::Sum);
                rows.extend(told.map(|row| json!(object(table, row, has_means))));
            }
        }
    }
    Json::Array(rows).to_string()
}

/// A tree's rows are nested as deep as stacks are: they are written one by one, without recursion.
fn nested(table: &Table) -> String {
    let mut text = String::from("[");
    let mut open = 0;
    let has_means = table.has_means();
    for row in &table.rows {
        let depth = row.node.unwrap_or_default().depth;
        if open > depth {
            text.push_str(&"]}".repeat((open - depth) as usize));
            text.push(',');
        }
        let object = json!(object(table, row, has_means)).to_string();
        text.push_str(&object[..object.len() - 1]);
        text.push_str(",\"children\":[");
        open = depth + 1;
    }
    text.push_str(&"]}".repeat(open as usize));
    text.push(']');
    text
}

/// The row that a table is about, with those around it.
fn neighbours(table: &Table) -> Map<String, Json> {
    let has_means = table.has_means();
    let of = |role: Role| -> Json {
        let rows = table.rows.iter().filter(|row| row.role == role);
        rows.map(|row| json!(object(table, row, has_means)))
            .collect()
    };
    let centre = table.rows.iter().find(|row| row.role == Role::Centre);
    let mut fields = centre.map_or_else(Map::new, |row| object(table, row, has_means));
    fields.insert("callers".to_owned(), of(Role::Caller));
    fields.insert("callees".to_owned(), of(Role::Callee));
    fields
}

/// A row. `has_means`: [`Table::has_means`] of its table.
fn object(table: &Table, row: &Row, has_means: bool) -> Map<String, Json> {
    let mut fields = Map::new();
    // A name that no column tells is the first field.
    let is_first = |column: &Column| column.is_name() && column.json == InJson::Nowhere;
    if table.columns.iter().any(is_first) {
        fields.insert("name".to_owned(), json!(row.name));
    }
    let first = row.values.first().map_or(&[][..], Vec::as_slice);
    for (at, column) in table.columns.iter().enumerate() {
        let value = || first.get(at).map_or(Json::Null, plain);
        match column.json {
            InJson::Nowhere => {}
            InJson::Row if column.is_name() => {
                drop(fields.insert("name".to_owned(), json!(row.name)))
            }
            InJson::Row | InJson::Each | InJson::Under(_)
                if first.get(at) == Some(&Value::Omitted) => {}
            InJson::Row => drop(fields.insert(column.id.clone(), value())),
            InJson::Each => {
                let sides = row.values.iter();
                let each = sides.map(|values| values.get(at).map_or(Json::Null, plain));
                fields.insert(column.id.clone(), each.collect());
            }
            InJson::Under(path) => insert(&mut fields, path, &column.id, value()),
            InJson::Values => {
                fields.entry("values").or_insert_with(|| values(table, row));
            }
        }
    }
    let marks = [
        ("inlined", row.marks.inlined),
        ("recursive", row.marks.recursive),
    ];
    for (key, _) in marks.into_iter().filter(|(_, is)| *is) {
        fields.insert(key.to_owned(), json!(true));
    }
    let inferred = inferred(table, row);
    if inferred.iter().any(|side| !side.is_empty()) {
        let inferred = match (table.has_sides(), inferred.as_slice()) {
            (false, [only]) => json!(only),
            _ => json!(inferred),
        };
        fields.insert("inferred".to_owned(), inferred);
    }
    if has_means {
        fields.extend(means(table, row));
    }
    fields
}

/// By experiment or side, what each column of `values` with numbers tells beside them, if it does.
fn beside(table: &Table, row: &Row, of: impl Fn(&Value) -> Option<Json>) -> Vec<Map<String, Json>> {
    let of_side = |values: &Vec<Value>| {
        let columns = table.columns.iter().zip(values);
        let told =
            columns.filter(|(column, _)| matches!(column.json, InJson::Values | InJson::Each));
        let told = told.filter_map(|(column, value)| Some((column.id.clone(), of(value)?)));
        told.collect()
    };
    row.values.iter().map(of_side).collect()
}

/// By experiment or side, the inferred seconds of each of the columns of `values` that has any.
fn inferred(table: &Table, row: &Row) -> Vec<Map<String, Json>> {
    beside(table, row, |value| match value {
        Value::Placed { inferred, .. } => Some(json!(inferred)),
        Value::Mean(it) => (it.inferred > 0.0).then(|| json!(it.inferred)),
        _ => None,
    })
}

/// The recordings of each side, how far its difference from the first may be chance, and the columns
/// in which it is larger.
fn means(table: &Table, row: &Row) -> Map<String, Json> {
    let of = |field: fn(&Mean) -> Option<Json>| {
        beside(table, row, |value| match value {
            Value::Mean(it) => field(it),
            _ => None,
        })
    };
    let differs = of(|it| it.differs.then_some(Json::Null)).into_iter();
    let differs: Json = differs
        .map(|side| side.into_iter().map(|(id, _)| id).collect::<Json>())
        .collect();
    fields([
        ("runs", json!(of(|it| Some(json!(it.runs))))),
        ("chance", json!(of(|it| it.chance.map(|it| json!(it))))),
        ("differs", differs),
    ])
}

/// Puts a value into objects within objects.
fn insert(fields: &mut Map<String, Json>, path: &[&str], key: &str, value: Json) {
    let Some((first, rest)) = path.split_first() else {
        fields.insert(key.to_owned(), value);
        return;
    };
    let inner = fields.entry(*first).or_insert_with(|| json!({}));
    if let Json::Object(inner) = inner {
        insert(inner, rest, key, value);
    }
}

/// The columns of `values`: an object, or one for each experiment that is compared; null where
/// all are left out.
fn values(table: &Table, row: &Row) -> Json {
    let of = |values: &Vec<Value>| -> Json {
        let pairs = table.columns.iter().zip(values);
        let pairs = pairs
            .filter(|(column, value)| column.json == InJson::Values && **value != Value::Omitted);
        let pairs = pairs.map(|(column, value)| {
            let value = if table.has_sides() {
                json!(value.number())
            } else {
                plain(value)
            };
            (column.id.clone(), value)
        });
        let object: Map<String, Json> = pairs.collect();
        if object.is_empty() {
            Json::Null
        } else {
            Json::Object(object)
        }
    };
    if table.has_sides() {
        return row.values.iter().map(of).collect();
    }
    row.values.first().map_or_else(|| json!({}), of)
}

fn plain(value: &Value) -> Json {
    match value {
        Value::Absent | Value::Omitted | Value::Bar(_) => Json::Null,
        Value::Number(number) | Value::Clock(number) => json!(number),
        Value::Placed { seconds, .. } => json!(seconds),
        Value::Mean(it) => json!(it.mean),
        Value::Count(count) => json!(count),
        Value::Text(text) => json!(text),
        Value::Address(code) => json!(address(*code)),
        Value::Json(value) => value.clone(),
    }
}

/// The word of `viewmode`.
pub const fn mode_name(mode: ViewMode) -> &'static str {
    match mode {
        ViewMode::User => "user",
        ViewMode::Expert => "expert",
        ViewMode::Machine => "machine",
    }
}

#[cfg(test)]
mod tests {
    use omp_model::metrics::{Flavour, Metric, Quantity};
    use omp_model::views::Marks;
    use serde_json::json;

    use super::render;
    use crate::document::{About, Block, Column, Document, Role, Row, Table, Value};
    use crate::text::Layout;

    /// A document of one row, which has a field of its own alone if it is about that row.
    fn document(name: &str, role: Role, own: Value) -> Document {
        let row = |name: &str, role, own| Row {
            name: name.to_owned(),
            role,
            values: vec![vec![Value::Absent, own]],
            ..Row::default()
        };
        Document {
            view: "disasm".to_owned(),
            about: Some(About::default()),
            blocks: vec![Block::Table(Table {
                columns: vec![Column::name(), Column::fact("own")],
                rows: vec![
                    row(name, role, own),
                    row("called", Role::Callee, Value::Omitted),
                ],
                ..Table::default()
            })],
            ..Document::default()
        }
    }

    #[test]
    fn a_column_that_is_not_of_a_row_is_no_field_of_it() {
        let json = render(&document("main", Role::Centre, Value::Absent));
        let json: serde_json::Value = serde_json::from_str(&json).unwrap();
        assert_eq!(
            json["rows"],
            serde_json::json!([{
                "name": "main", "own": null, "callers": [], "callees": [{"name": "called"}]
            }])
        );
    }

    #[test]
    fn marks_and_inferred_times_are_told_in_the_row_and_in_the_text() {
        let metric = Quantity::Time(Flavour::Exclusive, Metric::OmpWork);
        let hidden = Quantity::Time(Flavour::Inclusive, Metric::OmpWork);
        let row = |name: &str, marks, inferred: [f64; 2]| Row {
            name: name.to_owned(),
            marks,
            values: vec![vec![
                Value::placed(1.0, inferred[0]),
                Value::placed(3.0, inferred[1]),
                Value::Absent,
            ]],
            ..Row::default()
        };
        let plain = Marks::default();
        let inlined = Marks {
            inlined: true,
            ..plain
        };
        let recursive = Marks {
            recursive: true,
            ..plain
        };
        let rows = vec![
            row("half", plain, [0.5, 0.5]),
            row("less", inlined, [0.4, 0.4]),
            // The rounding of sums is no inferred time.
            row("hidden", recursive, [1e-12, 3.0]),
        ];
        let document = Document {
            about: Some(About::default()),
            blocks: vec![Block::Table(Table {
                columns: vec![
                    Column::time(metric),
                    Column::time(hidden).without_heading(),
                    Column::name(),
                ],
                rows,
                ..Table::default()
            })],
            ..Document::default()
        };
        let json: serde_json::Value = serde_json::from_str(&render(&document)).unwrap();
        let inferred = |at: usize| json["rows"][at].get("inferred").cloned();
        let told = |own: f64, all: f64| Some(json!({"e.ompwork": own, "i.ompwork": all}));
        assert_eq!(inferred(0), told(0.5, 0.5));
        assert_eq!(inferred(1), told(0.4, 0.4));
        assert_eq!(inferred(2), Some(json!({"i.ompwork": 3.0})));
        assert_eq!(json["rows"][0]["values"]["e.ompwork"], 1.0);
        assert_eq!(json["rows"][1]["inlined"], true);
        assert_eq!(json["rows"][1].get("recursive"), None);
        assert_eq!(json["rows"][2]["recursive"], true);

        let text = crate::text::render(&document, Layout::Aligned);
        let names: Vec<&str> = text
            .lines()
            .filter_map(|line| line.split_once("   "))
            .map(|it| it.1.trim_start())
            .collect();
        assert_eq!(
            names[names.len() - 3..],
            ["half ~", "less (inlined)", "hidden (recursive)"]
        );
        assert!(
            text.ends_with(&format!("Note: {}\n\n", crate::text::INFERRED)),
            "{text}"
        );
    }

    #[test]
    fn further_documents_stand_in_the_first_without_what_is_said_once() {
        let other = document("foo", Role::Any, Value::Count(2));
        let document = Document {
            others: vec![other],
            ..document("main", Role::Any, Value::Count(1))
        };
        let json: serde_json::Value = serde_json::from_str(&render(&document)).unwrap();
        let keys: Vec<&str> = json
            .as_object()
            .unwrap()
            .keys()
            .map(String::as_str)
            .collect();
        assert_eq!(keys[5..], ["others", "warnings", "notices"]);
        let other = &json["others"][0];
        assert_eq!(other["rows"][0]["name"], "foo");
        assert_eq!(other.get("warnings"), None);
    }
}
