//! Parallel regions and tasks side by side.

use omp_model::metrics::{Flavour, Metric, Quantity};
use omp_model::views::compare::join::{Joined, join_adding};
use omp_model::views::compare::scaling::region_name;
use omp_model::views::openmp::gain::Cause;
use omp_model::views::openmp::regions::{RegionRow, regions as region_rows};
use omp_model::views::openmp::tasks::{TaskRow, tasks as task_rows};

use super::scaling::{self, Of};
use super::table::{Column, Row, Table, key};
use super::{Beside, scaling_of_others};
use crate::commands::openmp::measured;
use crate::failure::Stop;
use report::settings::Compare;

/// What a column shows of a row, if it has that.
type Get<T> = fn(&T) -> Option<f64>;

fn column(
    id: &str,
    label: &str,
    heading: [&str; 2],
    (unit, decimals): (&'static str, usize),
) -> Column {
    Column {
        id: id.to_owned(),
        label: label.to_owned(),
        heading: heading.map(str::to_owned),
        unit,
        decimals,
        shown: true,
        group: 0,
    }
}

const SECONDS: (&str, usize) = ("s", 3);
const COUNT: (&str, usize) = ("", 0);

fn time(metric: Metric) -> Column {
    let quantity = Quantity::Time(Flavour::Exclusive, metric);
    let mut column = Column::of(quantity);
    column.id = key(quantity);
    column.heading = [String::new(), metric.words().to_owned()];
    column
}

fn region_columns() -> Vec<(Column, Get<RegionRow>)> {
    vec![
        (
            column("gain", "Potential Gain", ["", "Gain"], SECONDS),
            |row| Some(row.own.total()),
        ),
        (
            column("elapsed", "Elapsed Time", ["", "Elapsed"], SECONDS),
            |row| Some(row.own.elapsed),
        ),
        (
            column("instances", "Instances", ["", "Instances"], COUNT),
            |row| (row.instances > 0).then_some(row.instances as f64),
        ),
        (
            column("threads", "Threads", ["", "Threads"], COUNT),
            |row| (row.threads > 0).then_some(f64::from(row.threads)),
        ),
        (
            column("load_balance", "Load Balance", ["Load", "balance"], ("", 2)),
            |row| (row.instances > 0).then(|| row.load_balance()),
        ),
        (time(Metric::OmpWork), |row| Some(row.time(Metric::OmpWork))),
        (time(Metric::OmpWait), |row| Some(row.time(Metric::OmpWait))),
    ]
}

/// Parallel regions, by the gain of the first experiment.
pub(in crate::commands) fn regions(beside: &Beside<'_>) -> Result<String, Stop> {
    if beside.mode == Compare::Scaling {
        return scaling::report(beside, Of::Regions);
    }
    let shared = beside.shared();
    let sides = beside.scenes.iter().map(|scene| {
        let (profile, measured) = measured(scene);
        region_rows(profile, &scene.names, &measured)
    });
    let sides = sides.enumerate().map(|(side, rows)| {
        let named = |row| (region_name(&shared, side, &row), row);
        rows.into_iter().map(named).collect::<Vec<_>>()
    });
    let joined = join_adding(
        sides.collect(),
        |row: &(String, RegionRow)| row.0.clone(),
        |row, other| row.1.absorb(other.1),
    );
    let (mut columns, mut gets): (Vec<Column>, Vec<Get<RegionRow>>) =
        region_columns().into_iter().unzip();
    let causes: [Get<RegionRow>; Cause::ALL.len()] = [
        |row| Some(row.own.part(Cause::Imbalance)),
        |row| Some(row.own.part(Cause::Lock)),
        |row| Some(row.own.part(Cause::Ordered)),
        |row| Some(row.own.part(Cause::Scheduling)),
        |row| Some(row.own.part(Cause::Reduction)),
        |row| Some(row.own.part(Cause::Atomic)),
        |row| Some(row.own.part(Cause::Tasks)),
        |row| Some(row.own.part(Cause::OffCpu)),
    ];
    for (cause, get) in Cause::ALL.into_iter().zip(causes) {
        let label = format!("Gain Lost to {}", cause.words());
        let mut part = column(cause.id(), &label, ["of gain", cause.id()], SECONDS);
        // The causes that no region has would only make the table wide.
        let rows = joined.iter().flat_map(|it| it.rows.iter().flatten());
        part.group = 1;
        part.shown = rows.clone().any(|(_, row)| row.own.part(cause) >= 5e-4);
        columns.push(part);
        gets.push(get);
    }
    Ok(report(
        beside,
        ("OMP_preg", "Parallel regions sorted by potential gain"),
        (columns, gets),
        joined,
    ))
}

fn task_columns() -> Vec<(Column, Get<TaskRow>)> {
    vec![
        (time(Metric::OmpWork), |row| Some(row.time(Metric::OmpWork))),
        (time(Metric::OmpWait), |row| Some(row.time(Metric::OmpWait))),
        (
            column("instances", "Instances", ["", "Instances"], COUNT),
            |row| row.runs.map(|runs| runs.instances as f64),
        ),
        (column("mean", "Mean Time", ["", "Mean"], ("s", 9)), |row| {
            row.runs.map(|runs| runs.mean())
        }),
        (
            column(
                "deviation",
                "Standard Deviation",
                ["", "Deviation"],
                ("s", 9),
            ),
            |row| row.runs.map(|runs| runs.deviation()),
        ),
        (
            column(
                "elsewhere",
                "By Another Thread",
                ["By another", "thread"],
                COUNT,
            ),
            |row| row.runs.map(|runs| runs.elsewhere as f64),
        ),
    ]
}

/// Task constructs, by the time of the first experiment.
pub(in crate::commands) fn tasks(beside: &Beside<'_>) -> Result<String, Stop> {
    if beside.mode == Compare::Scaling {
        return Err(scaling_of_others("OMP_task"));
    }
    let shared = beside.shared();
    let sides = beside.scenes.iter().enumerate().map(|(side, scene)| {
        let (profile, measured) = measured(scene);
        let rows = task_rows(profile, &scene.names, &measured).into_iter();
        let named = |row: TaskRow| (shared.name_of(side, &row.name).to_owned(), row);
        rows.map(named).collect::<Vec<_>>()
    });
    let joined = join_adding(
        sides.collect(),
        |row: &(String, TaskRow)| row.0.clone(),
        |row, other| row.1.absorb(other.1),
    );
    let columns = task_columns().into_iter().unzip();
    Ok(report(
        beside,
        ("OMP_task", "Tasks sorted by their time"),
        columns,
        joined,
    ))
}

fn report<T>(
    beside: &Beside<'_>,
    (view, title): (&str, &str),
    (columns, gets): (Vec<Column>, Vec<Get<T>>),
    mut joined: Vec<Joined<(String, T)>>,
) -> String {
    joined.truncate(beside.first().limited(joined.len()));
    let of = |row: &Option<(String, T)>| -> Vec<Option<f64>> {
        let value = |get: &Get<T>| row.as_ref().and_then(|(_, row)| get(row));
        gets.iter().map(value).collect()
    };
    let rows: Vec<Row> = joined
        .into_iter()
        .map(|joined| Row {
            lead: " ".to_owned(),
            values: joined.rows.iter().map(of).collect(),
            name: joined.name,
            ..Row::default()
        })
        .collect();
    let table = Table {
        beside,
        view,
        title: title.to_owned(),
        columns,
    };
    table.report(&rows)
}
