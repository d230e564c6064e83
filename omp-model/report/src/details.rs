//! `fsummary`, `lsummary`, `psummary`, `fsingle`: rows of lists with all their metrics, and where
//! they come from.

use omp_model::metrics::{Flavour, Metric, Quantity};
use omp_model::views::ListRow;
use omp_model::views::compare::join::Joined;
use serde_json::json;

use crate::document::{Block, Column, Document, InJson, Line, Row, Style, Table, Value};
use crate::error::Error;
use crate::find::{self, Named};
use crate::functions::{Kind, joined, marks, numbers, values};
use crate::origin::{Origin, Origins};
use crate::query::Query;

/// Every row of a list in detail.
pub fn summary(query: &Query<'_>, kind: Kind) -> Document {
    let view = match kind {
        Kind::Functions => "fsummary",
        Kind::Lines => "lsummary",
        Kind::Instructions => "psummary",
    };
    let (query, document) = with_all_metrics(query, view);
    let details = Details::new(&query, kind);
    let all = joined(&query, kind);
    let first = &all[..query.limited(all.len())];
    let rows = first.iter().map(|row| details.row(row)).collect();
    let by = query.by(&query.request.sort.quantity.label());
    Document {
        title: format!("{} sorted by {by}", kind.title()),
        blocks: vec![details.table(&all, rows)],
        ..document
    }
}

/// The query for every metric, and its document without blocks. A comparison has the notices of the
/// metrics in force alone.
fn with_all_metrics<'a>(query: &Query<'a>, view: &str) -> (Query<'a>, Document) {
    let all = query.clone().with_all_metrics();
    let document = if query.is_comparison() {
        query.document(view)
    } else {
        all.document(view)
    };
    (all, document)
}

/// One function in detail.
///
/// # Errors
/// [`Error`] if it is not found.
pub fn single(query: &Query<'_>, named: &Named) -> Result<Document, Error> {
    let (query, document) = with_all_metrics(query, "fsingle");
    let details = Details::new(&query, Kind::Functions);
    if query.is_comparison() {
        let name = find::shared(&query, &query.shared(), named)?;
        let all = joined(&query, Kind::Functions);
        let rows = all.iter().filter(|row| row.name == name);
        let rows = rows.map(|row| details.row(row)).collect();
        let numbered = document.about.iter().flat_map(|about| about.numbered());
        let numbered = Block::Lines(numbered.map(Line::plain).collect());
        return Ok(Document {
            blocks: vec![numbered, details.table(&all, rows)],
            ..document
        });
    }
    let list = Kind::Functions.list(&query.all, &query.request);
    let found = find::function(&query.all.names(), &list, named)?;
    let alone = |row: &ListRow| Joined {
        name: row.name.clone(),
        rows: vec![Some(row.clone())],
    };
    // In detail a function has its whole name, whatever lists show.
    let row = Row {
        name: details.facts[0].long_name(found),
        ..details.row(&alone(found))
    };
    Ok(Document {
        blocks: vec![details.table(&[alone(&list.total)], vec![row])],
        ..document
    })
}

/// The data of rows in detail.
struct Details<'q, 'a> {
    query: &'q Query<'a>,
    columns: Vec<Column>,
    /// By experiment.
    facts: Vec<Origins<'a>>,
}

impl<'q, 'a> Details<'q, 'a> {
    fn new(query: &'q Query<'a>, kind: Kind) -> Details<'q, 'a> {
        let facts = query.sides().iter();
        Details {
            query,
            columns: columns(query, kind),
            facts: facts.map(|source| Origins::new(source, kind)).collect(),
        }
    }

    /// Some rows of a list; the first row of `list` is the total.
    fn table(&self, list: &[Joined<ListRow>], rows: Vec<Row>) -> Block {
        let whole =
            |row: &Option<ListRow>| numbers(&values(self.query, &self.columns, row.as_ref()));
        let total = list.first().map_or(&[][..], |total| &total.rows);
        Block::Table(Table {
            style: Style::Records,
            whole: total.iter().map(whole).collect(),
            ..self.query.table(self.columns.clone(), rows)
        })
    }

    fn row(&self, joined: &Joined<ListRow>) -> Row {
        let values = |(row, facts): (&Option<ListRow>, &Origins<'_>)| {
            let origin = row.as_ref().map(|row| facts.of(row));
            let fields = origin.as_ref().map(Origin::fields);
            let words = origin.as_ref().and_then(Origin::words);
            let word = |column: &Column| {
                let mut labels = Origin::LABELS.iter();
                let at = labels.position(|label| *label == column.label)?;
                Some(Value::Text(words.as_ref()?[at].clone()))
            };
            let value = |(column, time): (&Column, Value)| match column.json {
                InJson::Row if column.id == "name" => Value::Text(joined.name.clone()),
                InJson::Row => Value::Json(json!(fields.as_ref().map(|it| &it[&column.id]))),
                InJson::Each => Value::Json(json!(fields)),
                InJson::Nowhere => word(column).unwrap_or(Value::Omitted),
                InJson::Values | InJson::Under(_) => time,
            };
            let times = values(self.query, &self.columns, row.as_ref());
            self.columns.iter().zip(times).map(value).collect()
        };
        Row {
            values: joined.rows.iter().zip(&self.facts).map(values).collect(),
            marks: marks(&joined.rows, |row| row.marks),
            ..Row::function(joined.name.clone())
        }
    }
}

/// The name, both flavours of each metric, and where the row comes from: in JSON by keys, or in
/// `places` by experiment; in a text in words.
fn columns(query: &Query<'_>, kind: Kind) -> Vec<Column> {
    let name = [Column::name(), Column::fact("name")];
    let flavours = [Flavour::Exclusive, Flavour::Inclusive];
    let time = |flavour: Flavour, metric: Metric| Column {
        percent: true,
        ..Column::time(Quantity::Time(flavour, metric))
    };
    let metrics = query.request.metrics.iter();
    let times = metrics.flat_map(|&metric| flavours.map(|flavour| time(flavour, metric)));
    let words = Origin::LABELS.iter().map(|label| Column {
        label: (*label).to_owned(),
        heading: vec![(*label).to_owned()],
        json: InJson::Nowhere,
        ..Column::fact(label)
    });
    // An instruction's size is no part of an experiment.
    let words = words.skip(usize::from(kind == Kind::Instructions));
    let (before, after) = if query.is_comparison() {
        let places = Column {
            json: InJson::Each,
            ..Column::fact("places")
        };
        (vec![places], Vec::new())
    } else {
        (Vec::new(), Origin::KEYS.map(Column::fact).to_vec())
    };
    let all = name.into_iter().chain(before).chain(times);
    all.chain(after).chain(words).collect()
}
