//! `fsummary`, `lsummary`, `psummary`, `fsingle`: rows of lists with all their metrics, and where
//! they come from.

use omp_model::metrics::{Flavour, Metric, Quantity};
use omp_model::views::ListRow;
use omp_model::views::compare::join::Joined;
use serde_json::{Map, Value as Json, json};

use crate::document::{Block, Column, Document, InJson, Line, Row, Style, Table, Target, Value};
use crate::error::Error;
use crate::find::{self, Named};
use crate::functions::{Kind, joined, quantities, seconds};
use crate::origin::{Facts, Origin};
use crate::query::Query;

/// Every row of a list in detail.
///
/// # Errors
/// [`Error::Usage`] if it is asked how they scale.
pub fn summary(query: &Query<'_>, kind: Kind) -> Result<Document, Error> {
    let view = match kind {
        Kind::Functions => "fsummary",
        Kind::Lines => "lsummary",
        Kind::Instructions => "psummary",
    };
    query.refuse_scaling(view)?;
    let (query, document) = with_all_metrics(query, view);
    let details = Details::new(&query, kind);
    let all = joined(&query, kind);
    let shown = &all[..query.limited(all.len())];
    let rows = shown.iter().map(|row| details.row(row)).collect();
    let by = query.request.sort.quantity.label();
    Ok(Document {
        title: format!("{} sorted by metric: {by}", kind.title()),
        blocks: vec![details.table(&all, rows)],
        ..document
    })
}

/// The query for every metric, and its document without blocks. Under a comparison stands what must
/// be said of the metrics in force alone.
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
/// [`Error::Usage`] if it is not found, or it is asked how it scales.
pub fn single(query: &Query<'_>, named: &Named) -> Result<Document, Error> {
    query.refuse_scaling("fsingle")?;
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

/// What rows in detail are made of.
struct Details<'q, 'a> {
    query: &'q Query<'a>,
    columns: Vec<Column>,
    /// By experiment.
    facts: Vec<Facts<'a>>,
}

impl<'q, 'a> Details<'q, 'a> {
    fn new(query: &'q Query<'a>, kind: Kind) -> Details<'q, 'a> {
        let facts = query.sides().iter();
        Details {
            query,
            columns: columns(query, kind),
            facts: facts.map(|source| Facts::new(source, kind)).collect(),
        }
    }

    /// Rows of a list, of which the first one is that of everything.
    fn table(&self, list: &[Joined<ListRow>], rows: Vec<Row>) -> Block {
        let whole = |row: &Option<ListRow>| {
            let times = self.times(row.as_ref());
            times.iter().map(|it| it.number().unwrap_or(0.0)).collect()
        };
        let total = list.first().map_or(&[][..], |total| &total.rows);
        Block::Table(Table {
            style: Style::Records,
            whole: total.iter().map(whole).collect(),
            ..self.query.table(self.columns.clone(), rows)
        })
    }

    fn row(&self, joined: &Joined<ListRow>) -> Row {
        let sides = joined.rows.iter().zip(&self.facts);
        let origins = sides.map(|(row, facts)| row.as_ref().map(|row| facts.of(row)));
        let origins: Vec<Option<Origin>> = origins.collect();
        let facts = if self.query.is_comparison() {
            Map::from_iter([("places".to_owned(), places(&origins))])
        } else {
            fields(origins.first().and_then(Option::as_ref))
        };
        let values = |(row, origin): (&Option<ListRow>, &Option<Origin>)| {
            let words = origin.as_ref().and_then(Origin::words);
            let value = |(column, time): (&Column, Value)| match column.json {
                InJson::Row if column.id == "name" => Value::Text(joined.name.clone()),
                InJson::Row => Value::Json(facts[&column.id].clone()),
                InJson::Nowhere => {
                    let at = Origin::LABELS
                        .iter()
                        .position(|label| *label == column.label);
                    let word = words.as_ref().zip(at).map(|(words, at)| words[at].clone());
                    word.map_or(Value::Omitted, Value::Text)
                }
                _ => time,
            };
            let times = self.times(row.as_ref());
            self.columns.iter().zip(times).map(value).collect()
        };
        Row {
            name: joined.name.clone(),
            target: Some(Target::Function(joined.name.clone())),
            values: joined.rows.iter().zip(&origins).map(values).collect(),
            ..Row::default()
        }
    }

    /// What an experiment does not have took no time in it.
    fn times(&self, row: Option<&ListRow>) -> Vec<Value> {
        let request = &self.query.request;
        quantities(&self.columns, None, |flavour, metric| {
            let quantity = Quantity::Time(flavour, metric);
            Value::Number(row.map_or(0.0, |row| seconds(request, row, quantity)))
        })
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
        (vec![Column::fact("places")], Vec::new())
    } else {
        (Vec::new(), Origin::KEYS.map(Column::fact).to_vec())
    };
    let all = name.into_iter().chain(before).chain(times);
    all.chain(after).chain(words).collect()
}

/// The facts of a row by their keys.
fn fields(origin: Option<&Origin>) -> Map<String, Json> {
    let values = origin.map_or_else(Default::default, Origin::json);
    let pairs = Origin::KEYS.into_iter().zip(values);
    pairs.map(|(key, value)| (key.to_owned(), value)).collect()
}

/// The same by experiment; null where the row is not.
fn places(origins: &[Option<Origin>]) -> Json {
    let place = |origin: &Option<Origin>| origin.as_ref().map(|origin| fields(Some(origin)));
    json!(origins.iter().map(place).collect::<Vec<_>>())
}
