//! Threads, other index objects, load objects and resources side by side.

use std::collections::BTreeMap;

use omp_model::metrics::{Flavour, Metric, Quantity};
use omp_model::views::TOTAL;
use omp_model::views::compare::join::{Joined, join, join_adding};
use omp_model::views::indexes::{IndexRow, Key};
use omp_model::views::objects::{ObjectRow, objects as object_rows};
use omp_model::views::threads::{kind_name, threads as thread_rows};
use serde_json::{Map, Value, json};

use super::table::{Column, Row, Table, of_times};
use super::{Beside, scaling_of_others};
use crate::commands::members::{self, Resource};
use crate::failure::Stop;
use crate::session::Scene;
use report::settings::Compare;

/// An index object of each experiment: its name in all of them, what JSON tells of it, its time.
type Object = (String, Value, Box<[f64]>);

/// Index objects. Processes have other numbers in every run: they are matched by their order.
pub(in crate::commands) fn index(
    beside: &Beside<'_>,
    (view, title): (&str, &str),
    rows: &dyn Fn(&Scene<'_>, &[Metric]) -> Vec<IndexRow>,
) -> Result<String, Stop> {
    let sides = beside.scenes.iter().map(|scene| {
        let rows = rows(scene, &beside.request.metrics);
        let row = |(at, row): (usize, IndexRow)| {
            let name = match row.key {
                Key::Process(_) => format!("Process {}", at + 1),
                key => key.name(),
            };
            (name, json!(row.key.number()), row.seconds)
        };
        rows.into_iter().enumerate().map(row).collect()
    });
    objects_of(beside, (view, title), sides.collect())
}

/// Threads, matched by their kind and order.
pub(in crate::commands) fn threads(beside: &Beside<'_>) -> Result<String, Stop> {
    let sides = beside.scenes.iter().map(|scene| {
        let rows = thread_rows(scene.profile(), scene.names.tables, &beside.request.metrics);
        let mut counts = BTreeMap::<&str, u32>::new();
        rows.into_iter()
            .map(|row| {
                let kind = kind_name(row.kind);
                let number = counts.entry(kind).or_default();
                *number += 1;
                let name = format!("Thread {number} ({kind})");
                (name, json!(row.tid), row.seconds)
            })
            .collect()
    });
    let title = "Threads in the order of their appearance";
    objects_of(beside, ("Threads", title), sides.collect())
}

fn objects_of(
    beside: &Beside<'_>,
    (view, title): (&str, &str),
    sides: Vec<Vec<Object>>,
) -> Result<String, Stop> {
    if beside.mode == Compare::Scaling {
        return Err(scaling_of_others(view));
    }
    let metrics = &beside.request.metrics;
    let zero = || vec![0.0; metrics.len()].into_boxed_slice();
    let sides: Vec<Vec<Object>> = sides
        .into_iter()
        .map(|rows| {
            let mut total = zero();
            for (.., seconds) in &rows {
                let sums = total.iter_mut().zip(seconds);
                sums.for_each(|(sum, more)| *sum += more);
            }
            let total = (TOTAL.to_owned(), Value::Null, total);
            std::iter::once(total).chain(rows).collect()
        })
        .collect();
    let mut joined = join(sides, |row: &Object| row.0.clone());
    joined.truncate(beside.first().limited(joined.len().saturating_sub(1)) + 1);
    let quantities: Vec<Quantity> = beside
        .attributed()
        .into_iter()
        .map(|quantity| match quantity {
            Quantity::Time(_, metric) => Quantity::Time(Flavour::Exclusive, metric),
            other => other,
        })
        .collect();
    let row = |joined: Joined<Object>| {
        let of = |row: &Option<Object>| -> Vec<Option<f64>> {
            let value = |quantity: &Quantity| match (row, quantity) {
                (Some((.., seconds)), Quantity::Time(_, metric)) => {
                    beside.request.index(*metric).map_or(0.0, |at| seconds[at])
                }
                _ => 0.0,
            };
            quantities.iter().map(|it| Some(value(it))).collect()
        };
        let numbers: Vec<Value> = joined
            .rows
            .iter()
            .map(|row| row.as_ref().map_or(Value::Null, |row| row.1.clone()))
            .collect();
        let mut fields = Map::new();
        fields.insert("numbers".to_owned(), json!(numbers));
        Row {
            lead: " ".to_owned(),
            values: joined.rows.iter().map(of).collect(),
            name: joined.name,
            fields,
            ..Row::default()
        }
    };
    let rows: Vec<Row> = joined.into_iter().map(row).collect();
    let table = Table {
        beside,
        view,
        title: title.to_owned(),
        columns: of_times(&quantities),
    };
    Ok(table.report(&rows))
}

/// Load objects, by their names: in which experiments they are, and how many of their functions
/// are known.
pub(in crate::commands) fn objects(beside: &Beside<'_>) -> Result<String, Stop> {
    let sides = beside.scenes.iter().map(|scene| {
        let rows = object_rows(scene.names.tables, scene.names.symbols);
        let row = |row: ObjectRow| {
            let name = scene.names.object_name(row.module);
            (format!("<{}>", name.trim_matches(['<', '>'])), row)
        };
        rows.into_iter().map(row).collect()
    });
    let mut joined = join_adding(
        sides.collect(),
        |row: &(String, ObjectRow)| row.0.clone(),
        |row, other| row.1.functions += other.1.functions,
    );
    joined.truncate(beside.first().limited(joined.len()));
    let rows: Vec<Row> = joined
        .into_iter()
        .map(|joined| {
            let of = |row: &Option<(String, ObjectRow)>| {
                vec![row.as_ref().map(|(_, row)| row.functions as f64)]
            };
            let ids = joined.rows.iter().flatten();
            let mut ids: Vec<&str> = ids.map(|(_, row)| row.build_id.as_str()).collect();
            ids.dedup();
            let mut fields = Map::new();
            fields.insert("same_build".to_owned(), json!(ids.len() < 2));
            Row {
                lead: if ids.len() < 2 { " " } else { "*" }.to_owned(),
                values: joined.rows.iter().map(of).collect(),
                name: joined.name,
                fields,
                ..Row::default()
            }
        })
        .collect();
    let table = Table {
        beside,
        view: "object_list",
        title: "Load objects and their functions; * has other builds".to_owned(),
        columns: vec![count("functions", "Functions")],
    };
    Ok(table.report(&rows))
}

/// A column of counts.
fn count(id: &str, label: &str) -> Column {
    Column {
        id: id.to_owned(),
        label: label.to_owned(),
        heading: [String::new(), label.to_owned()],
        unit: "",
        decimals: 0,
        shown: true,
        group: 0,
    }
}

/// The CPUs and the clock samples on each.
pub(in crate::commands) fn cpus(beside: &Beside<'_>) -> Result<String, Stop> {
    let sides = beside.scenes.iter().map(|scene| {
        let rows = members::cpu_samples(scene).into_iter();
        let named = |(cpu, samples): (u16, u64)| (format!("CPU {cpu}"), samples as f64, COUNT);
        rows.map(named).collect()
    });
    let (title, column) = ("CPUs by their numbers", count("samples", "Samples"));
    numbers(beside, ("cpu_list", title), column, sides.collect())
}

/// The resources that the runs used.
pub(in crate::commands) fn resources(beside: &Beside<'_>, view: &str) -> Result<String, Stop> {
    let sides = beside.scenes.iter().map(|scene| {
        let facts = members::resource_facts(scene).into_iter();
        let named = |fact: Resource| (fact.label, fact.value, fact.decimals);
        facts.map(named).collect()
    });
    let (title, column) = ("Resources", count("value", "Value"));
    numbers(beside, (view, title), column, sides.collect())
}

/// Decimals of a count.
const COUNT: usize = 0;

/// A number of each experiment by its name, with its decimals; in the order of their names where
/// only some have it.
fn numbers(
    beside: &Beside<'_>,
    (view, title): (&str, &str),
    column: Column,
    sides: Vec<Vec<(String, f64, usize)>>,
) -> Result<String, Stop> {
    if beside.mode == Compare::Scaling {
        return Err(scaling_of_others(view));
    }
    let mut joined = join(sides, |row: &(String, f64, usize)| row.0.clone());
    joined.truncate(beside.first().limited(joined.len()));
    let row = |joined: Joined<(String, f64, usize)>| {
        let all = joined.rows.iter();
        let of = |row: &Option<(String, f64, usize)>| vec![row.as_ref().map(|row| row.1)];
        Row {
            lead: " ".to_owned(),
            values: all.clone().map(of).collect(),
            decimals: all.flatten().map(|row| row.2).next(),
            name: joined.name,
            ..Row::default()
        }
    };
    let rows: Vec<Row> = joined.into_iter().map(row).collect();
    let table = Table {
        beside,
        view,
        title: title.to_owned(),
        columns: vec![column],
    };
    Ok(table.report(&rows))
}
