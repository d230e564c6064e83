//! Functions, lines, index objects, load objects and sources side by side.

use std::collections::BTreeMap;

use omp_model::metrics::{Flavour, Metric, Quantity};
use omp_model::views::annotated::{FileTimes, LineTimes, file_times};
use omp_model::views::compare::Shared;
use omp_model::views::compare::join::{Joined, join, order};
use omp_model::views::indexes::{IndexRow, Key};
use omp_model::views::objects::objects as object_rows;
use omp_model::views::threads::{kind_name, threads as thread_rows};
use omp_model::views::{List, Request, TOTAL};
use serde_json::{Map, Value, json};

use super::scaling::{self, Of};
use super::table::{Column, Row, Table, of_times};
use super::{Beside, scaling_of_others};
use crate::commands::functions::seconds;
use crate::commands::source::{self, Hot};
use crate::failure::Stop;
use crate::session::{Compare, PrintMode, Scene};

/// The functions of the experiments.
pub(in crate::commands) fn functions(beside: &Beside<'_>) -> Result<String, Stop> {
    if beside.mode == Compare::Scaling {
        return scaling::report(beside, Of::Functions);
    }
    Ok(list(
        beside,
        "functions",
        "Functions",
        |shared, side, request| shared.functions(side, request),
    ))
}

/// The lines of the experiments.
pub(in crate::commands) fn lines(beside: &Beside<'_>) -> Result<String, Stop> {
    if beside.mode == Compare::Scaling {
        return Err(scaling_of_others("lines"));
    }
    Ok(list(beside, "lines", "Lines", |shared, side, request| {
        shared.lines(side, request)
    }))
}

fn list(
    beside: &Beside<'_>,
    view: &str,
    title: &str,
    make: fn(&Shared<'_>, usize, &Request) -> List,
) -> String {
    let shared = beside.shared();
    let request = &beside.request;
    let sides = (0..beside.scenes.len()).map(|side| {
        let list = make(&shared, side, request);
        std::iter::once(list.total).chain(list.rows).collect()
    });
    let mut rows = join(sides.collect(), |row: &omp_model::views::Row| {
        row.name.clone()
    });
    let by = |row: &omp_model::views::Row| seconds(request, row, request.sort.quantity);
    if let [_, rest @ ..] = rows.as_mut_slice() {
        rest.sort_by(|left, right| order(request.sort, by, left, right));
    }
    rows.truncate(beside.first().limited(rows.len()));
    let quantities = beside.times();
    let row = |joined: Joined<omp_model::views::Row>| {
        let of = |row: &Option<omp_model::views::Row>| -> Vec<Option<f64>> {
            let value = |&quantity| match row {
                // What an experiment does not have took no time in it.
                None => 0.0,
                Some(row) => seconds(request, row, quantity),
            };
            quantities.iter().map(value).map(Some).collect()
        };
        Row {
            lead: " ".to_owned(),
            values: joined.rows.iter().map(of).collect(),
            name: joined.name,
            ..Row::default()
        }
    };
    let rows: Vec<Row> = rows.into_iter().map(row).collect();
    let table = Table {
        beside,
        view,
        title: format!(
            "{title} sorted by metric: {}",
            request.sort.quantity.label()
        ),
        columns: of_times(&quantities),
    };
    table.report(&rows)
}

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
        let rows = thread_rows(scene.profile, scene.names.tables, &beside.request.metrics);
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
        let row = |row: omp_model::views::objects::ObjectRow| {
            let name = scene.names.object_name(row.module);
            (format!("<{}>", name.trim_matches(['<', '>'])), row)
        };
        rows.into_iter().map(row).collect()
    });
    let mut joined = join(sides.collect(), |row: &(String, _)| row.0.clone());
    joined.truncate(beside.first().limited(joined.len()));
    let rows: Vec<Row> = joined
        .into_iter()
        .map(|joined| {
            let of = |row: &Option<(String, omp_model::views::objects::ObjectRow)>| {
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
            }
        })
        .collect();
    let table = Table {
        beside,
        view: "object_list",
        title: "Load objects and their functions; * has other builds".to_owned(),
        columns: vec![Column {
            id: "functions".to_owned(),
            label: "Functions".to_owned(),
            heading: ["".to_owned(), "Functions".to_owned()],
            unit: "",
            decimals: 0,
            shown: true,
            group: 0,
        }],
    };
    Ok(table.report(&rows))
}

/// The source of a file or function, with the times of every experiment that has it. The text is
/// the first one's.
pub(in crate::commands) fn source(
    beside: &Beside<'_>,
    name: &str,
    number: Option<usize>,
) -> Result<String, Stop> {
    if beside.mode == Compare::Scaling {
        return Err(scaling_of_others("source"));
    }
    let mut found = Vec::new();
    let mut why = None;
    for scene in &beside.scenes {
        match source::find(scene, name, number) {
            Ok((file, _)) => found.push(Some(file)),
            Err(stop) => {
                why.get_or_insert(stop);
                found.push(None);
            }
        }
    }
    let first = found.iter().position(Option::is_some);
    let Some((first, Some(file))) = first.map(|at| (at, found[at])) else {
        return Err(why.unwrap_or_else(|| Stop::words("there is nothing to compare")));
    };
    let text = source::read(&beside.scenes[first], file);
    let times: Vec<Option<FileTimes>> = beside
        .scenes
        .iter()
        .zip(&found)
        .map(|(scene, file)| {
            let metrics = &beside.request.metrics;
            file.map(|file| file_times(scene.profile, &scene.names, metrics, file))
        })
        .collect();
    let all = times.iter().flatten();
    let timed = all.clone().flat_map(|times| times.lines.keys().copied());
    let mut lines: Vec<u32> = (1..=text.lines.len() as u32).chain(timed).collect();
    lines.sort_unstable();
    lines.dedup();
    let share = beside.first().settings.places.source_hot;
    let hot: Vec<Option<Hot>> = times
        .iter()
        .zip(&beside.scenes)
        .map(|(times, scene)| Some(Hot::new(scene, times.as_ref()?.lines.values(), share)))
        .collect();
    let quantities = beside.times();
    let rows: Vec<Row> = lines
        .into_iter()
        .filter(|&line| line > 0)
        .map(|line| {
            let at = |times: &Option<FileTimes>| times.as_ref()?.lines.get(&line).cloned();
            let of_line: Vec<Option<LineTimes>> = times.iter().map(at).collect();
            let is_hot = |(times, hot): (&Option<LineTimes>, &Option<Hot>)| {
                let (Some(times), Some(hot)) = (times, hot) else {
                    return false;
                };
                hot.is(times)
            };
            let is_hot = of_line.iter().zip(&hot).any(is_hot);
            let value = |times: &Option<LineTimes>, quantity: Quantity| match quantity {
                Quantity::Time(_, metric) => {
                    let at = beside.request.index(metric)?;
                    Some(source::of(times.as_ref()?, quantity, at))
                }
                _ => None,
            };
            let written = text.lines.get(line as usize - 1);
            let written = written.map_or("", String::as_str);
            let mut fields = Map::new();
            fields.insert("line".to_owned(), json!(line));
            fields.insert("hot".to_owned(), json!(is_hot));
            let name = match beside.first().settings.print {
                PrintMode::Text => format!("{line:>4}. {written}"),
                PrintMode::Json => written.to_owned(),
            };
            Row {
                lead: if is_hot { "## " } else { "   " }.to_owned(),
                name,
                values: of_line
                    .iter()
                    .map(|times| quantities.iter().map(|&it| value(times, it)).collect())
                    .collect(),
                fields,
            }
        })
        .collect();
    let place = text.path.map(|path| path.display().to_string());
    let warning = text.warning.map(|why| format!("Warning: {why}\n"));
    let table = Table {
        beside,
        view: "source",
        title: format!(
            "Source file: {}\nFound as: {}\n{}",
            text.recorded,
            place.as_deref().unwrap_or("(not found)"),
            warning.unwrap_or_default()
        ),
        columns: of_times(&quantities),
    };
    Ok(table.report(&rows))
}
