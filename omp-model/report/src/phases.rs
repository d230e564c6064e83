//! `Phases`: the phases that the program named.

use omp_model::views::phases::{PhaseRow, phases as view};

use crate::document::{Document, Value};
use crate::list::{self, Field};
use crate::query::{Query, Source};

/// The phases, the longest first.
pub(crate) fn phases(query: &Query<'_>) -> Document {
    let rows = |source: &Source<'_>| match source.settings.filter {
        Some(_) => Vec::new(),
        None => view(&source.analysis.experiment, source.analysis.marks()),
    };
    let fields: Vec<Field<'_, PhaseRow>> = vec![
        seconds("wall", "Wall", |row| row.wall),
        seconds("work", "OMP Work", |row| row.work),
        seconds("wait", "OMP Wait", |row| row.wait),
        seconds("total", "Total Thread", |row| row.total),
        seconds("longest", "Longest", |row| row.longest),
        count("count", "Count", |row| row.count),
        count("open", "Left open", |row| row.open),
        Field::new("number", "", |row: &PhaseRow| {
            Value::Count(row.number.into())
        }),
        Field::name("Name"),
    ];
    let joined = list::joined(query, rows, |row| row.name.clone());
    let mut table = list::table(query, &joined, fields);
    table.empty = match query.settings.filter {
        Some(_) => "No phase: they are measured over all threads, which the filter is not; filter by PHASE instead",
        None => "No phase: the program did not call collector_phase_begin",
    }
    .to_owned();
    let mut document = query.document_without_time("Phases");
    if joined
        .iter()
        .any(|it| it.rows.iter().flatten().any(|row| row.open > 0))
    {
        let said = "a phase that is left open ended with its process or with the recording";
        document.notices.push(said.to_owned());
    }
    list::titled(document, "Phases by wall time", table)
}

fn seconds<'a>(
    id: &str,
    heading: &str,
    value: impl Fn(&PhaseRow) -> f64 + 'a,
) -> Field<'a, PhaseRow> {
    let field = Field::number(id, heading, move |row| Value::Number(value(row)));
    field.heading([heading, "sec."]).seconds()
}

fn count<'a>(
    id: &str,
    heading: &str,
    value: impl Fn(&PhaseRow) -> u64 + 'a,
) -> Field<'a, PhaseRow> {
    Field::number(id, heading, move |row| Value::Count(value(row)))
        .heading([heading, ""])
        .decimals(0)
}
