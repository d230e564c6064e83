//! Index objects: time by CPU, second, process, experiment, rank, host, sample point, or the values of an
//! expression.

use std::collections::BTreeSet;

use omp_model::analysis::asks_when;
use omp_model::filter::{self, Filter, Word};
use omp_model::metrics::{self, Flavour, Metric, Quantity};
use omp_model::profile::Profile;
use omp_model::views::compare::join::Joined;
use omp_model::views::indexes::{self, IndexRow, Key};
use omp_model::views::{Seconds, TOTAL};
use serde_json::json;

use crate::document::{Block, Column, Document, InJson, Role, Row, Table, Target, Value};
use crate::error::Error;
use crate::functions::whole;
use crate::list::{by_name, exclusive, sort_as_asked};
use crate::query::{Query, Source};

/// The head of a report on index objects.
pub(crate) struct Head<'h> {
    pub(crate) view: &'h str,
    pub(crate) title: &'h str,
    /// Fields of JSON of an object, in the order of [`IndexObject::facts`].
    pub(crate) facts: &'h [&'h str],
}

/// An index object and its time.
pub(crate) struct IndexObject {
    /// Its name: in a comparison the one that all experiments share.
    pub(crate) name: String,
    /// Its fields of JSON in a report of one experiment.
    pub(crate) facts: Vec<Value>,
    /// Its number, in JSON of a comparison.
    pub(crate) number: Value,
    /// Its target in a report of one experiment.
    pub(crate) target: Option<Target>,
    /// Its time by the metrics of the request.
    pub(crate) seconds: Seconds,
}

/// Time by CPU.
pub fn cpus(query: &Query<'_>) -> Document {
    let head = head("CPUs", "CPUs by number", &["cpu"]);
    keyed(query, &head, |source, metrics| {
        let (profile, names) = (source.by_second(), source.names());
        let facts = source.analysis.facts(&names);
        let filter = source.settings.filter.as_ref().map(|it| (it, &facts));
        let cpus = filter::on_cpus(profile, filter, source.analysis.samples());
        indexes::cpus(profile, &cpus, metrics)
    })
}

/// Time by second.
pub fn seconds(query: &Query<'_>) -> Document {
    let head = head("Seconds", "Seconds since the recording began", &["second"]);
    keyed(query, &head, |source, metrics| {
        indexes::seconds(source.by_second(), metrics)
    })
}

/// Time by process.
pub fn processes(query: &Query<'_>) -> Document {
    let head = head("Processes", "Processes by number", &["pid"]);
    keyed(query, &head, |source, metrics| {
        let tables = &source.analysis.experiment.tables;
        indexes::processes(source.profile(), tables, metrics)
    })
}

/// Time by experiment. There is nothing to compare by.
pub fn experiments(query: &Query<'_>) -> Document {
    let title = "Experiments in the order of their names";
    let head = head("Experiment_IDs", title, &["experiment"]);
    keyed(&query.added_up(), &head, |source, metrics| {
        indexes::experiments(source.profile(), &source.analysis.origins, metrics)
    })
}

/// Time by rank of MPI. In a comparison the same ranks of several jobs are one row.
pub fn ranks(query: &Query<'_>) -> Document {
    let head = head("Rank_IDs", "Ranks of MPI by number", &["rank"]);
    keyed(query, &head, |source, metrics| {
        let recordings = (&*source.analysis.recordings, &*source.analysis.origins);
        indexes::recordings(source.profile(), recordings, metrics, |it| {
            Key::Rank(it.rank.as_ref().map(|rank| rank.number))
        })
    })
}

/// Time by host.
pub fn hosts(query: &Query<'_>) -> Document {
    let head = head("Hosts", "Hosts by name", &["host"]);
    let all = query.all.analysis.recordings.iter();
    let names: BTreeSet<&str> = all.map(|it| it.host.as_str()).collect();
    let names: Vec<&str> = names.into_iter().collect();
    let rows = |source: &Source<'_>, metrics: &[Metric]| {
        let recordings = (&*source.analysis.recordings, &*source.analysis.origins);
        let rows = indexes::recordings(source.profile(), recordings, metrics, |it| {
            let at = names.binary_search(&it.host.as_str());
            Key::Host(at.map_or(0, |at| at as u32 + 1))
        });
        rows.into_iter()
            .map(|row| {
                let at = row.key.number().and_then(|it| usize::try_from(it - 1).ok());
                let name = at.and_then(|at| names.get(at)).filter(|it| !it.is_empty());
                let name = name.map_or_else(|| "<Unknown host>".to_owned(), |it| (*it).to_owned());
                IndexObject {
                    facts: vec![Value::Text(name.clone())],
                    number: Value::Text(name.clone()),
                    name,
                    target: None,
                    seconds: row.seconds,
                }
            })
            .collect()
    };
    document(query, &head, rows)
}

/// Time by sample.
pub fn samples(query: &Query<'_>) -> Document {
    let head = head(
        "Samples",
        "Samples: each ends at a sample point",
        &["sample"],
    );
    let number = Filter::parse(Word::Sample.name()).expect("a word is an expression");
    keyed(query, &head, |source, metrics| {
        let (profile, values) = values_of(source, &number);
        indexes::samples(profile, &values, metrics)
    })
}

/// The profile that an expression divides, and the values of its items.
fn values_of<'a>(source: &Source<'a>, expression: &Filter) -> (&'a Profile, Vec<filter::Parts>) {
    let names = source.names();
    let facts = source.analysis.facts(&names);
    let samples = source.analysis.samples();
    let profile = if asks_when(expression) {
        source.by_second()
    } else {
        source.profile()
    };
    let values = filter::values(expression, profile, &facts, samples);
    (profile, values)
}

/// Time by the values of a user's expression.
///
/// # Errors
/// [`Error`] if it is asked how they scale.
pub fn defined(query: &Query<'_>, name: &str, expression: &Filter) -> Result<Document, Error> {
    query.refuse_scaling(name)?;
    let title = format!("{name}: values of {}", expression.text());
    let head = head(name, &title, &["value"]);
    Ok(keyed(query, &head, |source, metrics| {
        let (profile, values) = values_of(source, expression);
        indexes::defined(profile, &values, metrics)
    }))
}

const fn head<'h>(view: &'h str, title: &'h str, facts: &'h [&'h str]) -> Head<'h> {
    Head { view, title, facts }
}

/// A report on objects that are known by a key. Processes have other numbers in every run: a
/// comparison matches them by their order.
fn keyed(
    query: &Query<'_>,
    head: &Head<'_>,
    rows: impl Fn(&Source<'_>, &[Metric]) -> Vec<IndexRow>,
) -> Document {
    let object = |(at, row): (usize, IndexRow)| {
        let number = Value::Json(json!(row.key.number()));
        IndexObject {
            name: match row.key {
                Key::Process(_) if query.is_comparison() => format!("Process {}", at + 1),
                key => key.name(),
            },
            facts: vec![number.clone()],
            number,
            target: None,
            seconds: row.seconds,
        }
    };
    document(query, head, |source, metrics| {
        let rows = rows(source, metrics).into_iter().enumerate();
        rows.map(object).collect()
    })
}

/// A report on index objects of each side, with their sum above them.
pub(crate) fn document(
    query: &Query<'_>,
    head: &Head<'_>,
    objects: impl Fn(&Source<'_>, &[Metric]) -> Vec<IndexObject>,
) -> Document {
    let metrics = &query.request.metrics;
    let side = |source| {
        let objects = objects(source, metrics);
        let sum = |at| objects.iter().map(|object| object.seconds[at]).sum();
        let total = IndexObject {
            name: TOTAL.to_owned(),
            facts: Vec::new(),
            number: Value::Absent,
            target: None,
            seconds: (0..metrics.len()).map(sum).collect(),
        };
        std::iter::once(total).chain(objects).collect()
    };
    let sides: Vec<Vec<IndexObject>> = query.sides().iter().map(side).collect();
    let mut joined = by_name(query, sides, |object: &IndexObject| object.name.clone());
    // Time by an object is that of all stacks: either flavour means it.
    let key = query.settings.sort.map(exclusive);
    let by = sort_as_asked(
        &mut joined[1..],
        key,
        query.ranking(),
        |object, _, metric| Some(object.seconds[query.request.index(metric)?]),
    );
    joined.truncate(query.limited(joined.len() - 1) + 1);
    let facts = if query.is_comparison() {
        let numbers = Column::fact("numbers");
        vec![Column {
            json: InJson::Each,
            ..numbers
        }]
    } else {
        head.facts.iter().map(|id| Column::fact(id)).collect()
    };
    let times: Vec<Column> = query.shown(&query.exclusive()).collect();
    let row = |(at, joined): (usize, Joined<IndexObject>)| {
        let sides = joined.rows.iter();
        let values = sides.map(|object| values(query, facts.len(), &times, object.as_ref()));
        Row {
            role: match at {
                0 if query.is_comparison() => Role::Total,
                0 => Role::Sum,
                _ => Role::Any,
            },
            values: values.collect(),
            target: target(query, &joined),
            name: joined.name,
            ..Row::default()
        }
    };
    let rows: Vec<Row> = joined.into_iter().enumerate().map(row).collect();
    Document {
        title: match by {
            Some(metric) => format!("{} sorted by {}", head.view, query.by(&metric)),
            None => head.title.to_owned(),
        },
        blocks: vec![Block::Table(Table {
            whole: whole(&rows),
            ..query.table(facts.iter().chain(&times).cloned().collect(), rows)
        })],
        ..query.document(head.view)
    }
}

/// What a row is about; one of several experiments is of several objects.
fn target(query: &Query<'_>, joined: &Joined<IndexObject>) -> Option<Target> {
    let object = joined.rows.first()?.as_ref()?;
    object.target.clone().filter(|_| !query.is_comparison())
}

/// The facts and the times of an object; what an experiment does not have took no time in it.
fn values(
    query: &Query<'_>,
    facts: usize,
    times: &[Column],
    object: Option<&IndexObject>,
) -> Vec<Value> {
    let mut values = match object {
        Some(object) if query.is_comparison() => vec![object.number.clone()],
        Some(object) => object.facts.clone(),
        None => Vec::new(),
    };
    values.resize(facts, Value::Absent);
    let seconds = object.map_or(&[][..], |object| &object.seconds);
    values.extend(query.values(times, None, seconds, seconds));
    values
}

impl Query<'_> {
    /// Each metric of the columns and of the order once, exclusive, and the name.
    fn exclusive(&self) -> Vec<metrics::Column> {
        let exclusive = |metric| Quantity::Time(Flavour::Exclusive, metric);
        let columns = self.attributed().into_iter();
        let mut columns: Vec<metrics::Column> = columns
            .filter_map(|column| match column.quantity {
                Quantity::Time(_, metric) => Some(metrics::Column {
                    quantity: exclusive(metric),
                    ..column
                }),
                Quantity::Name => Some(column),
                Quantity::Size | Quantity::Address => None,
            })
            .collect();
        for &metric in &self.request.metrics {
            let quantity = exclusive(metric);
            if !columns.iter().any(|column| column.quantity == quantity) {
                columns.push(metrics::Column {
                    quantity,
                    value: false,
                    percent: false,
                });
            }
        }
        columns
    }
}
