//! Lists of findings, a row each.

use experiment::findings::{
    Access, Deadlock, Divergence, Edge, Misuse, Race, Uninitialised, Values,
};
use omp_model::metrics::Quantity;
use omp_model::profile::ViewMode;
use serde_json::{Map, Value as Json, json};

use super::finding::{Finding, NO_LINE, at, stack_in};
use super::kind::FindingKind;
use super::rows::{Found, Row as Numbered, found};
use super::summary::{instances, not_checked, notices_of};
use crate::document::{Block, Column, Document, InJson, Row, Style, Table, TablePart, Value};
use crate::error::Error;
use crate::json;
use crate::query::Query;

/// A finding as a text lists it.
pub(super) trait Listed: Finding {
    /// The columns before the name that JSON has not, or has under the same key: keys and headings.
    const COLUMNS: &'static [(&'static str, &'static str)];
    /// The heading of names.
    const NAME: &'static str;
    /// The columns behind the name.
    const AFTER: &'static [(&'static str, &'static str)] = &[];

    /// Cells that JSON has not, by key.
    fn cells(&self, mode: ViewMode) -> Vec<(&'static str, String)>;
}

impl Listed for Race {
    const COLUMNS: &'static [(&'static str, &'static str)] = &[
        ("class", "Class"),
        ("count", "Count"),
        ("first", "First access"),
        ("second", "Second access"),
    ];
    const NAME: &'static str = "Variable";

    fn cells(&self, mode: ViewMode) -> Vec<(&'static str, String)> {
        let words = |access: &Access| {
            let place = at(stack_in(access, mode).first());
            let mark = if access.is_line_inferred { " ~" } else { "" };
            format!("{} {place}{mark}", access.kind.words())
        };
        let [first, second] = &self.accesses;
        vec![("first", words(first)), ("second", words(second))]
    }
}

impl Listed for Deadlock {
    const COLUMNS: &'static [(&'static str, &'static str)] = &[("state", "State")];
    const NAME: &'static str = "Locks";
    const AFTER: &'static [(&'static str, &'static str)] = &[("waits", "Waits")];

    fn cells(&self, _: ViewMode) -> Vec<(&'static str, String)> {
        let wait = |edge: &Edge| {
            format!(
                "thread {} for {} at {}",
                edge.thread,
                edge.wants,
                at(edge.wanted.first())
            )
        };
        let waits: Vec<String> = self.edges.iter().map(wait).collect();
        vec![
            ("state", self.class().to_owned()),
            ("waits", waits.join("; ")),
        ]
    }
}

impl Listed for Misuse {
    const COLUMNS: &'static [(&'static str, &'static str)] = &[("count", "Count"), ("at", "Place")];
    const NAME: &'static str = "Misuse";
    const AFTER: &'static [(&'static str, &'static str)] = &[("detail", "Detail")];

    fn cells(&self, _: ViewMode) -> Vec<(&'static str, String)> {
        vec![("at", at(self.stack.first()))]
    }
}

impl Listed for Uninitialised {
    const COLUMNS: &'static [(&'static str, &'static str)] = &[
        ("class", "Class"),
        ("count", "Count"),
        ("at", "Read at"),
        ("origin", "Memory"),
    ];
    const NAME: &'static str = "Variable";

    fn cells(&self, _: ViewMode) -> Vec<(&'static str, String)> {
        vec![("at", at(self.stack.first()))]
    }
}

impl Listed for Divergence {
    const COLUMNS: &'static [(&'static str, &'static str)] = &[
        ("class", "Class"),
        ("count", "Count"),
        ("at", "Region"),
        ("elements", "Elements"),
        ("one", "One thread"),
        ("several", "N threads"),
    ];
    const NAME: &'static str = "Variable";
    const AFTER: &'static [(&'static str, &'static str)] = &[("until", "Until")];

    fn cells(&self, _: ViewMode) -> Vec<(&'static str, String)> {
        let value = |of: fn(&Values) -> &String| {
            let first = self.values.first();
            first.map(of).cloned().unwrap_or_default()
        };
        vec![
            ("at", at(self.stack.first())),
            ("one", value(|it| &it.one)),
            ("several", value(|it| &it.several)),
            ("until", self.last.clone().unwrap_or_default()),
        ]
    }
}

/// The title of a list.
const fn title(kind: FindingKind) -> &'static str {
    match kind {
        FindingKind::Race => "Data races",
        FindingKind::Deadlock => "Deadlocks",
        FindingKind::Misuse => "Misuse of OpenMP",
        FindingKind::Uninit => "Uninitialised reads",
        FindingKind::Divergence => "Differences from executions with one thread",
    }
}

/// What is said where nothing was found.
pub(super) fn nothing(query: &Query<'_>, kind: FindingKind) -> &'static str {
    match kind {
        FindingKind::Race => "No data race was found",
        FindingKind::Deadlock => "No deadlock was found",
        FindingKind::Misuse => "No misuse of OpenMP was found",
        FindingKind::Uninit => "No uninitialised read was found",
        FindingKind::Divergence if instances(query).0 == 0 => "Nothing was compared",
        FindingKind::Divergence => "No difference was found",
    }
}

/// The findings of a kind, as many as the limit leaves. A comparison says which are new and which are gone.
///
/// # Errors
/// [`Error`] if there are no data on them.
#[expect(
    private_bounds,
    reason = "the kinds of findings are those of this crate"
)]
pub fn list<T: Listed>(query: &Query<'_>) -> Result<Document, Error> {
    let mut found = found::<T>(query)?;
    let mode = query.settings.mode;
    let (rows, notice) = in_order(query, &found);
    let shown = query.limited(rows.len());
    let fields = |row: &&Numbered<T>| fields_of(query, row, mode);
    let objects: Vec<Map<String, Json>> = rows[..shown].iter().map(fields).collect();
    let mut keys: Vec<String> = Vec::new();
    for key in objects.iter().flat_map(Map::keys) {
        if !keys.contains(key) {
            keys.push(key.clone());
        }
    }
    let text = text_columns::<T>(query);
    let heading = |key: &str| {
        let found = text.iter().find(|(known, _)| *known == key);
        found.map(|(_, heading)| vec![(*heading).to_owned()])
    };
    let of_json = keys.iter().map(|key| Column {
        heading: heading(key).unwrap_or_default(),
        ..Column::fact(key)
    });
    let others = text
        .iter()
        .filter(|(key, _)| !keys.iter().any(|it| it == key));
    let of_text = others
        .filter(|(key, _)| *key != "name")
        .map(|(key, heading)| Column {
            heading: vec![(*heading).to_owned()],
            json: InJson::Nowhere,
            ..Column::fact(key)
        });
    let name = Column {
        heading: vec![T::NAME.to_owned()],
        json: InJson::Row,
        ..Column::name()
    };
    let columns: Vec<Column> = of_json.chain(of_text).chain([name]).collect();
    let row = |(numbered, object): (&&Numbered<T>, &Map<String, Json>)| {
        let cells = numbered.finding.cells(mode);
        let value = |column: &Column| match (object.get(&column.id), &*column.id) {
            (Some(value), _) => value_of(value),
            (None, "by_side") => Value::Text(counts(numbered)),
            (None, id) => {
                let cell = cells.iter().find(|(key, _)| *key == id);
                cell.map_or(Value::Omitted, |(_, text)| Value::Text(text.clone()))
            }
        };
        Row {
            name: numbered.finding.name().into_owned(),
            values: vec![columns.iter().map(value).collect()],
            ..Row::default()
        }
    };
    let table = Table {
        style: Style::Ruled,
        rows: rows[..shown].iter().zip(&objects).map(row).collect(),
        parts: vec![TablePart::new("", text.iter().map(|(key, _)| *key))],
        columns,
        empty: nothing(query, T::KIND).to_owned(),
        ..Table::default()
    };
    let base = query.document_of_findings(T::KIND.view());
    let mut notices = notices_of(query, T::KIND);
    if rows[..shown].iter().any(|row| row.finding.is_inferred()) {
        notices.push(format!("of an access with ~, {NO_LINE}"));
    }
    notices.append(&mut found.notices);
    notices.extend(notice);
    let not_checked = not_checked(query);
    let lines = not_checked.iter().map(String::as_str);
    let lines: Vec<&str> = lines.chain([title(T::KIND)]).collect();
    Ok(Document {
        title: lines.join("\n"),
        facts: json::fields([("not_checked", json!(not_checked))]),
        blocks: vec![Block::Table(table)],
        notices,
        ..base
    })
}

/// The columns of a text, by their keys.
fn text_columns<T: Listed>(query: &Query<'_>) -> Vec<(&'static str, &'static str)> {
    let mut text = vec![("id", "Id")];
    if query.is_comparison() {
        text.push(("status", "Status"));
    }
    let own = T::COLUMNS.iter().map(|&(key, heading)| match key {
        "count" if query.is_comparison() => ("by_side", "Count"),
        key => (key, heading),
    });
    text.extend(own);
    text.push(("name", T::NAME));
    text.extend(T::AFTER);
    text
}

/// The rows that are shown, in the order that the user asked for; a sentence if they have none such.
fn in_order<'f, T: Finding>(
    query: &Query<'_>,
    found: &'f Found<T>,
) -> (Vec<&'f Numbered<T>>, Option<String>) {
    let mut rows: Vec<&Numbered<T>> = found.shown().collect();
    let Some(key) = query.settings.sort else {
        return (rows, None);
    };
    if key.quantity != Quantity::Name {
        let (view, label) = (T::KIND.view(), key.quantity.label());
        return (
            rows,
            Some(format!("{view} has no {label}, and stays in its own order")),
        );
    }
    rows.sort_by(|left, right| left.finding.name().cmp(&right.finding.name()));
    if key.reversed {
        rows.reverse();
    }
    (rows, None)
}

/// A finding's fields in JSON.
pub(super) fn fields_of<T: Finding>(
    query: &Query<'_>,
    row: &Numbered<T>,
    mode: ViewMode,
) -> Map<String, Json> {
    let mut object = Map::new();
    object.insert("id".to_owned(), json!(row.id));
    if query.is_comparison() {
        object.insert("status".to_owned(), json!(status(row)));
        object.insert("counts".to_owned(), json!(row.counts));
    }
    object.extend(row.finding.json(mode));
    object
}

/// What became of a finding from the first side to the last.
fn status<T>(row: &Numbered<T>) -> &'static str {
    let is_in = |count: Option<&Option<u64>>| count.is_some_and(Option::is_some);
    match (is_in(row.counts.first()), is_in(row.counts.last())) {
        (false, _) => "new",
        (true, false) => "gone",
        (true, true) => "both",
    }
}

/// `12, -`: how often each side has it.
fn counts<T>(row: &Numbered<T>) -> String {
    let count = |count: &Option<u64>| count.map_or_else(|| "-".to_owned(), |it| it.to_string());
    let counts: Vec<String> = row.counts.iter().map(count).collect();
    counts.join(", ")
}

fn value_of(value: &Json) -> Value {
    match value {
        Json::String(text) => Value::Text(text.clone()),
        Json::Number(number) if number.is_u64() => Value::Count(number.as_u64().unwrap_or(0)),
        other => Value::Json(other.clone()),
    }
}
