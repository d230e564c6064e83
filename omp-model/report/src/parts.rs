//! Rows of what ranks did, and where: what `causes` and `critical` are made of.

use omp_model::mpi::causes::Charged;
use omp_model::mpi::meanwhile::Does;
use omp_model::mpi::parts::{Part, Place};
use omp_model::mpi::ranks::Ranks;
use omp_model::views::TOTAL;
use omp_model::views::compare::join::Joined;

use crate::document::{Column, InJson, Role, Style, Table, TablePart, Value};
use crate::list::{self, Field};
use crate::mpi::{at, place};
use crate::query::Query;

/// A part of a time, or all of it.
#[derive(Clone)]
pub(crate) struct PartRow {
    /// `None` for all.
    pub(crate) part: Option<Part>,
    /// Seconds.
    pub(crate) seconds: f64,
    /// The waits for it.
    pub(crate) charged: Charged,
}

/// A column of parts.
pub(crate) type PartField<'a> = Field<'a, PartRow>;

/// What a rank does, for JSON.
pub(crate) const fn id(does: Does) -> &'static str {
    match does {
        Does::Computes => "computes",
        Does::Ready => "ready",
        Does::Asleep => "asleep",
        Does::Omp => "ompwait",
        Does::Waits => "mpi_wait",
        Does::Mpi => "mpi",
        Does::Unknown => "not_recorded",
    }
}

/// What a rank does at the end of a chain, and where, as a predicate: `computes in flux (flux.c:88)`.
pub(crate) fn predicate(does: Does, place: Option<&Place>) -> String {
    let call = || match place {
        Some(Place {
            mpi: Some(mpi),
            at: site,
        }) => at(mpi, site),
        _ => "MPI".to_owned(),
    };
    match does {
        Does::Computes => match place {
            Some(place) => format!("computes in {}", function(place)),
            None => "computes".to_owned(),
        },
        Does::Ready => "is ready to run without a CPU".to_owned(),
        Does::Asleep => "sleeps outside of MPI".to_owned(),
        Does::Omp => match place {
            Some(it) => format!("waits in OpenMP, region at {}", self::place(&it.at)),
            None => "waits in OpenMP".to_owned(),
        },
        Does::Waits => format!("is in {}: transfer, or not known", call()),
        Does::Mpi => format!("is in {}", call()),
        Does::Unknown => "is not recorded".to_owned(),
    }
}

/// `flux (flux.c:88)`.
pub(crate) fn function(place: &Place) -> String {
    let short = place.at.short();
    match (&place.at.function, place.at.line) {
        (Some(function), Some(_)) => format!("{function} ({short})"),
        _ => short,
    }
}

/// The part of all time below which a part has no row.
const LEAST: f64 = 0.001;

/// The table of parts, under the sum of all, and a sentence on those that are too small for a row. `elapsed` is 100 %.
pub(crate) fn table<'a>(
    query: &Query<'_>,
    ranks: &'a Ranks<'a>,
    mut rows: Vec<PartRow>,
    (elapsed, share): (f64, [&str; 2]),
    more: Vec<PartField<'a>>,
) -> (Table, Option<String>) {
    let mut fields = fields(elapsed, share);
    let of_text = |field: &PartField<'_>| !field.column.heading.is_empty();
    let columns: Vec<String> = fields
        .iter()
        .chain(&more)
        .filter(|it| of_text(it))
        .map(|it| it.column.id.clone())
        .collect();
    fields.extend(more);
    fields.push(Field::of(Column::name(), |_| Value::Absent));
    let seconds = |rows: &[PartRow]| rows.iter().map(|it| it.seconds).sum::<f64>();
    let all = PartRow {
        part: None,
        seconds: seconds(&rows),
        charged: Charged::default(),
    };
    let large = rows.partition_point(|it| it.seconds >= LEAST * all.seconds);
    let small = rows.split_off(large);
    let told = seconds(&small);
    let small = match small.len() {
        0 => None,
        1 => Some(format!("1 part of {told:.3} s has no row")),
        count => Some(format!(
            "{count} parts of less than {} % each, {told:.3} s together, have no row",
            100.0 * LEAST
        )),
    };
    let count = rows.len();
    let all = Joined {
        name: TOTAL.to_owned(),
        rows: vec![Some(all)],
    };
    let mut shown = if rows.is_empty() {
        Vec::new()
    } else {
        list::rows(&[all], &fields)
    };
    for row in &mut shown {
        row.role = Role::Sum;
    }
    let joined = rows.into_iter().take(query.limited(count)).map(|row| {
        let part = row.part.as_ref();
        let name = part.map(|it| {
            let predicate = predicate(it.does, it.place.as_ref());
            format!("{} {predicate}", ranks.name(it.rank))
        });
        Joined {
            name: name.unwrap_or_default(),
            rows: vec![Some(row)],
        }
    });
    shown.extend(list::rows(&joined.collect::<Vec<_>>(), &fields));
    let columns = columns.iter().map(String::as_str).chain(["name"]);
    let table = Table {
        style: Style::Sparse,
        parts: vec![TablePart::new("", columns)],
        columns: fields.into_iter().map(|field| field.column).collect(),
        rows: shown,
        ..Table::default()
    };
    (table, small)
}

/// The columns of every table of parts, in the order of JSON.
fn fields<'a>(elapsed: f64, share: [&str; 2]) -> Vec<PartField<'a>> {
    fn of(row: &PartRow, value: impl Fn(&Part) -> Value) -> Value {
        row.part.as_ref().map_or(Value::Omitted, value)
    }
    fn at(row: &PartRow, value: impl Fn(&Place) -> Option<Value>) -> Value {
        of(row, |part| {
            part.place.as_ref().and_then(&value).unwrap_or_default()
        })
    }
    vec![
        PartField::new("rank", "Rank", |row| {
            of(row, |it| Value::Count(it.rank.number.into()))
        }),
        PartField::new("job", "Job", |row| {
            of(row, |it| Value::Count(u64::from(it.rank.job) + 1))
        }),
        PartField::new("does", "Does", |row| {
            of(row, |it| Value::Text(id(it.does).to_owned()))
        }),
        PartField::new("mpi_function", "MPI function", |row| {
            at(row, |it| it.mpi.clone().map(Value::Text))
        }),
        PartField::new("function", "Function", |row| {
            at(row, |it| it.at.function.clone().map(Value::Text))
        }),
        PartField::new("file", "File", |row| {
            at(row, |it| it.at.file.clone().map(Value::Text))
        }),
        PartField::new("line", "Line", |row| {
            at(row, |it| it.at.line.map(|line| Value::Count(line.into())))
        }),
        PartField::number("seconds", "Time", |row| Value::Number(row.seconds))
            .seconds()
            .heading(["Time", "sec."]),
        PartField::number("share", "Share", move |row| {
            Value::known((elapsed > 0.0).then(|| 100.0 * row.seconds / elapsed))
        })
        .heading(share)
        .decimals(2),
        PartField::new("samples", "Samples", |row| {
            let samples = row.part.as_ref().and_then(|it| it.samples);
            samples.map_or(Value::Absent, Value::Count)
        })
        .heading(["Samples", ""])
        .json(InJson::Values),
    ]
}
