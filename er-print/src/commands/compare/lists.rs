//! Lists of threads side by side.

use std::collections::BTreeMap;

use omp_model::metrics::Metric;
use omp_model::views::compare::join::{Joined, join};
use omp_model::views::threads::{ThreadRow, kind_name, threads};
use serde_json::{Map, Value};

use super::table::{Column, Row, Table};
use super::{Beside, scaling_of_others};
use crate::failure::Stop;
use report::settings::Compare;

/// What a list tells of a thread: its heading, and its value.
type Tells<'a> = (&'static str, Box<dyn Fn(&ThreadRow) -> Option<f64> + 'a>);

/// The threads, matched by their kind and order: from when to when each lived, and its time by
/// `times`, metrics with their headings.
pub(in crate::commands) fn thread_list(
    beside: &Beside<'_>,
    view: &str,
    times: &[(Metric, &'static str)],
) -> Result<String, Stop> {
    if beside.mode == Compare::Scaling {
        return Err(scaling_of_others(view));
    }
    let times: Vec<_> = times
        .iter()
        .filter(|(metric, _)| beside.available.contains(metric))
        .collect();
    let metrics: Vec<Metric> = times.iter().map(|(metric, _)| *metric).collect();
    let sides = beside.scenes.iter().map(|scene| {
        let mut counts = BTreeMap::<&str, u32>::new();
        let rows = threads(scene.profile(), scene.names.tables, &metrics);
        let named = rows.into_iter().map(|row| {
            let kind = kind_name(row.kind);
            let number = counts.entry(kind).or_default();
            *number += 1;
            (format!("Thread {number} ({kind})"), row)
        });
        named.collect::<Vec<_>>()
    });
    let sides: Vec<Vec<(String, ThreadRow)>> = sides.collect();
    let mut joined = join(sides, |row: &(String, ThreadRow)| row.0.clone());
    joined.truncate(beside.first().limited(joined.len()));
    let mut tells: Vec<Tells<'_>> = vec![
        ("Start", Box::new(|row| Some(row.birth.seconds()))),
        ("End", Box::new(|row| Some(row.death?.seconds()))),
    ];
    tells.extend((0..).zip(&times).map(|(at, (_, heading))| -> Tells<'_> {
        let value = move |row: &ThreadRow| row.seconds.get::<usize>(at).copied();
        (*heading, Box::new(value))
    }));
    let row = |joined: Joined<(String, ThreadRow)>| {
        let of = |row: &Option<(String, ThreadRow)>| {
            let value = |(_, tell): &Tells<'_>| tell(&row.as_ref()?.1);
            tells.iter().map(value).collect()
        };
        let number = |of: &dyn Fn(&ThreadRow) -> i64| -> Value {
            let each = joined.rows.iter();
            each.map(|row| row.as_ref().map(|(_, row)| of(row)))
                .collect()
        };
        let fields = Map::from_iter([
            ("numbers".to_owned(), number(&|row| row.tid.into())),
            ("pids".to_owned(), number(&|row| row.pid.into())),
            (
                "threads".to_owned(),
                number(&|row| i64::from(row.thread.0) + 1),
            ),
        ]);
        Row {
            lead: " ".to_owned(),
            values: joined.rows.iter().map(of).collect(),
            name: joined.name.clone(),
            fields,
            ..Row::default()
        }
    };
    let rows: Vec<Row> = joined.into_iter().map(row).collect();
    let ids = ["start", "end"].map(str::to_owned).into_iter();
    let ids = ids.chain(metrics.iter().map(|metric| format!("e.{}", metric.id())));
    let columns = ids.zip(&tells).map(|(id, (heading, _))| Column {
        id,
        label: (*heading).to_owned(),
        heading: [String::new(), (*heading).to_owned()],
        unit: "s",
        decimals: 3,
        shown: true,
        group: 0,
    });
    let table = Table {
        beside,
        view,
        title: "Threads in the order of their appearance".to_owned(),
        columns: columns.collect(),
    };
    Ok(table.report(&rows))
}
