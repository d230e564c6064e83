//! `OMP_task`: task constructs with their tasks' times.

use experiment::ids::ContextId;
use omp_model::metrics::{Flavour, Metric};
use omp_model::views::compare::Shared;
use omp_model::views::compare::join::Rank;
use omp_model::views::openmp::locations::ConstructLocation;
use omp_model::views::openmp::tasks::{self as view, Runs, TaskRow};
use serde_json::{Value as Json, json};

use crate::constructs::{
    ConstructRow, contexts, counters, facts, located, location, location_fields, none, sorted,
    table, times,
};
use crate::document::{Block, Document, InJson, Line, Table, TablePart, Value};
use crate::json;
use crate::list::Field;
use crate::query::{Query, Source};
use crate::text;

/// The number of creators and waits of a task in a text; JSON has all.
const LONGEST: usize = 3;

/// A column of tasks.
type TaskField<'a> = Field<'a, TaskRow>;

/// The task constructs.
pub fn tasks(query: &Query<'_>) -> Document {
    let list = sorted::<TaskRow>(query);
    let by = match &list.by {
        Some(metric) => query.by(metric),
        None if query.rank() == Rank::Change => "change of their time".to_owned(),
        None => "their time".to_owned(),
    };
    let counters = counters(query);
    let counters = || counters.iter().map(String::as_str);
    let compared: Vec<&str> = COMPARED.into_iter().chain(counters()).collect();
    let table = table(query, fields(query), &compared, &list);
    let columns = if query.is_comparison() {
        compared[1..].to_vec()
    } else {
        COLUMNS.into_iter().chain(counters()).collect()
    };
    let mut blocks = vec![Block::Table(Table {
        parts: vec![TablePart::new("", columns.into_iter().chain(["name"]))],
        empty: none(query, "No explicit task"),
        ..table
    })];
    if !query.is_comparison() && !list.joined.is_empty() {
        blocks.push(Block::Lines(list.rows().flat_map(around).collect()));
    }
    Document {
        title: format!("Tasks sorted by {by}"),
        blocks,
        facts: facts(query),
        ..query.document("OMP_task")
    }
}

/// The columns of a comparison.
const COMPARED: [&str; 7] = [
    "kind",
    "e.ompwork",
    "e.ompwait",
    "instances",
    "mean",
    "deviation",
    "elsewhere",
];

/// The columns of a text.
const COLUMNS: [&str; 9] = [
    "e.ompwork",
    "e.ompwait",
    "instances",
    "mean_us",
    "deviation_us",
    "least_us",
    "most_us",
    "elsewhere",
    TaskRow::WORD,
];

/// Who created the tasks, and where they were waited for.
fn around(row: &TaskRow) -> Vec<Line> {
    let created = row.created.iter().take(LONGEST);
    let created = created.map(|(creator, count)| match count {
        0 => format!("    created in {creator}"),
        count => format!("    created in {creator} ({count})"),
    });
    let waited = row.waited.iter().take(LONGEST).map(|waited| {
        format!(
            "    waited for at {} ({}, {} sec.)",
            waited.location.short(),
            waited.kind,
            text::rounded(Some(waited.seconds), 3)
        )
    });
    let unfinished = row.runs.as_ref().map_or(0, |runs| runs.unfinished);
    let unfinished = (unfinished > 0).then(|| {
        let of = row.runs.as_ref().map_or(0, Runs::begun);
        format!("    {unfinished} of {of} began and did not complete: the times leave them out")
    });
    let more = |count: usize, what: &str| {
        let more = count.saturating_sub(LONGEST);
        (more > 0).then(|| format!("    {what} {more} more"))
    };
    let name = std::iter::once(located(row));
    name.chain(unfinished)
        .chain(created)
        .chain(more(row.created.len(), "created in"))
        .chain(waited)
        .chain(more(row.waited.len(), "waited for at"))
        .map(Line::plain)
        .collect()
}

/// The columns of a task, in the order of JSON.
fn fields<'a>(query: &Query<'_>) -> Vec<TaskField<'a>> {
    let mut fields: Vec<TaskField<'a>> = location().into();
    fields.extend(contexts("task"));
    fields.extend([
        count("instances", "Instances", Runs::begun).heading(["Instances", ""]),
        count("unfinished", "Not Completed", |runs| runs.unfinished),
        count("elsewhere", "By Another Thread", |runs| runs.elsewhere)
            .heading(["By another", "thread"]),
        time("work", "Work", "Work", |runs| runs.work),
        time("mean", "Mean Time", "Mean", Runs::mean),
        time(
            "deviation",
            "Standard Deviation",
            "Deviation",
            Runs::deviation,
        ),
        time("least", "Shortest Time", "Least", |runs| runs.least),
        time("most", "Longest Time", "Most", |runs| runs.most),
        TaskField::new("created", "Created", |row| {
            let created = row.created.iter();
            let of = |(name, count): &(String, u64)| json!({"name": name, "instances": count});
            Value::Json(created.map(of).collect())
        }),
        TaskField::new("waited", "Waited For", |row| {
            Value::Json(row.waited.iter().map(waited).collect())
        }),
    ]);
    fields.extend(times(query, &[Flavour::Exclusive]));
    let shown: [TaskField<'a>; 5] = [
        TaskField::new("kind", "Kind", |_| Value::Text("task".to_owned())).heading(["Kind", ""]),
        micros("mean_us", "Mean", Runs::mean),
        micros("deviation_us", "Deviation", Runs::deviation),
        micros("least_us", "Least", |runs| runs.least),
        micros("most_us", "Most", |runs| runs.most),
    ];
    fields.extend(shown.map(|field| field.json(InJson::Nowhere)));
    fields
}

/// The runs of a row whose tasks have times: at least one has completed.
fn completed(row: &TaskRow) -> Option<&Runs> {
    row.runs.as_ref().filter(|runs| runs.instances > 0)
}

fn count<'a>(id: &str, label: &str, value: fn(&Runs) -> u64) -> TaskField<'a> {
    TaskField::new(id, label, move |row| {
        Value::counted(row.runs.as_ref().map(value))
    })
}

/// A time in seconds with nine decimals, because tasks are short.
fn time<'a>(id: &str, label: &str, heading: &str, value: fn(&Runs) -> f64) -> TaskField<'a> {
    let seconds = move |row: &TaskRow| Value::known(completed(row).map(value));
    TaskField::new(id, label, seconds)
        .heading([heading, "sec."])
        .seconds()
        .decimals(9)
}

/// The same in microseconds, for a text.
fn micros<'a>(id: &str, heading: &str, value: fn(&Runs) -> f64) -> TaskField<'a> {
    let micros = move |runs: &Runs| 1e6 * value(runs);
    TaskField::new(id, heading, move |row| {
        Value::known(completed(row).map(micros))
    })
    .heading([heading, "us"])
    .decimals(1)
}

fn waited(waited: &view::Waited) -> Json {
    let mut object = location_fields(&waited.location);
    object.extend(json::fields([
        ("kind", json!(waited.kind)),
        ("seconds", json!(waited.seconds)),
    ]));
    Json::Object(object)
}

impl ConstructRow for TaskRow {
    const WORD: &'static str = "TASK";

    fn all(source: &Source<'_>) -> Vec<TaskRow> {
        let (profile, measured) = source.measured();
        view::tasks(profile, &source.names(), &measured)
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn shared_name(&self, shared: &Shared<'_>, side: usize) -> String {
        shared.name_of(side, &self.name).to_owned()
    }

    fn location(&self) -> &ConstructLocation {
        &self.location
    }

    fn contexts(&self) -> &[ContextId] {
        &self.contexts
    }

    fn value(&self, flavour: Flavour, metric: Metric) -> Option<f64> {
        let at = self.metrics.iter().position(|known| *known == metric)?;
        (flavour == Flavour::Exclusive).then_some(self.seconds[at])
    }

    fn weight(&self) -> f64 {
        self.time(Metric::Total)
    }

    /// Its sizes.
    fn detail(&self) -> String {
        let sizes = |runs: &Runs| {
            format!(
                "work {:.3} s, mean {:.3} ms, from {:.3} to {:.3} ms, {} by another thread",
                runs.work,
                1e3 * runs.mean(),
                1e3 * runs.least,
                1e3 * runs.most,
                runs.elsewhere
            )
        };
        completed(self).map_or_else(String::new, sizes)
    }

    fn absorb(&mut self, other: TaskRow) {
        TaskRow::absorb(self, other);
    }

    fn total<'r>(rows: impl Iterator<Item = &'r TaskRow> + Clone) -> Option<TaskRow> {
        view::total(rows)
    }
}
