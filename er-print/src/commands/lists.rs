//! `Threads`, `thread_list`, `object_list`, `metric_list`, and the lines under every view.

use omp_model::ids::Nanos;
use omp_model::metrics::{Column, Flavour, Metric, Quantity};
use omp_model::tables::RuntimeKind;
use omp_model::views::objects::{ObjectRow, objects};
use omp_model::views::threads::{ThreadRow, kind_name, threads as thread_view};
use serde_json::{Value, json};

use super::compare::{self, Beside};
use super::settings::{current_sort, spec};
use crate::failure::Stop;
use crate::json;
use crate::session::{PrintMode, Scene, Session};
use crate::text::{self, Line};
use report::text::Layout;

/// What limits the trust in a view, under its table: nothing if nothing does.
pub(crate) fn footer(scene: &Scene<'_>) -> String {
    let warnings = scene
        .recording
        .warnings
        .iter()
        .map(|warning| format!("Warning: {warning}\n"));
    let notices = scene.notices().into_iter();
    let notices = notices.map(|notice| format!("Note: {notice}\n"));
    let lines: String = warnings.chain(notices).collect();
    if lines.is_empty() {
        lines
    } else {
        format!("{lines}\n")
    }
}

/// Rows of columns: a heading, a rule, the rows.
pub(crate) fn ruled(layout: Layout, headings: &[&str], rows: &[Vec<String>]) -> String {
    let owned: Vec<String> = headings
        .iter()
        .map(|heading| (*heading).to_owned())
        .collect();
    match layout {
        Layout::Aligned => {}
        Layout::Delimited(mark) => return text::delimited(mark, &owned, rows),
        Layout::Html => return text::table_html(&owned, rows),
    }
    let width = |at: usize| {
        let cells = rows.iter().map(|row| row[at].chars().count());
        cells.chain([headings[at].len()]).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..headings.len()).map(width).collect();
    let line = |cells: &[&str]| {
        let padded = cells.iter().zip(&widths);
        let padded: Vec<String> = padded
            .map(|(cell, width)| format!("{cell:<width$}"))
            .collect();
        format!("{}\n", padded.join(" ").trim_end())
    };
    let rules: Vec<String> = widths.iter().map(|&width| "=".repeat(width)).collect();
    let rules: Vec<&str> = rules.iter().map(String::as_str).collect();
    let mut text = line(headings) + &line(&rules);
    for row in rows {
        let cells: Vec<&str> = row.iter().map(String::as_str).collect();
        text.push_str(&line(&cells));
    }
    text
}

/// Threads by the current metrics.
pub(crate) fn threads(session: &mut Session<'_>, _: &[String]) -> Result<(), Stop> {
    let report = if let Some(beside) = Beside::of(session)? {
        compare::threads(&beside)?
    } else {
        let scene = session.scene()?;
        let rows = thread_rows(&scene, &scene.request.metrics);
        match scene.settings.print {
            PrintMode::Text => threads_text(&scene, &rows),
            PrintMode::Json => threads_json(&scene, "Threads", &scene.request.metrics, &rows),
        }
    };
    session.print(&report)
}

/// Threads with their lifetimes.
pub(crate) fn thread_list(session: &mut Session<'_>, _: &[String]) -> Result<(), Stop> {
    let report = if let Some(beside) = Beside::of(session)? {
        compare::thread_list(&beside, "thread_list", &LIST_TIMES)?
    } else {
        let scene = session.scene()?;
        let available = scene.recording.available();
        let metrics = available.metrics();
        let rows = thread_rows(&scene, metrics);
        match scene.settings.print {
            PrintMode::Text => {
                format!(
                    "{}\n{}",
                    thread_list_text(scene.settings.layout, metrics, &rows),
                    footer(&scene)
                )
            }
            PrintMode::Json => threads_json(&scene, "thread_list", metrics, &rows),
        }
    };
    session.print(&report)
}

fn thread_rows(scene: &Scene<'_>, metrics: &[Metric]) -> Vec<ThreadRow> {
    let mut rows = thread_view(scene.profile(), scene.names.tables, metrics);
    rows.truncate(scene.limited(rows.len()));
    rows
}

fn thread_name(row: &ThreadRow) -> String {
    format!("Process {}, Thread {}", row.pid, row.tid)
}

fn threads_text(scene: &Scene<'_>, rows: &[ThreadRow]) -> String {
    let columns: Vec<Column> = scene
        .attributed()
        .into_iter()
        .filter_map(|column| match column.quantity {
            Quantity::Time(_, metric) => Some(Column {
                quantity: Quantity::Time(Flavour::Exclusive, metric),
                ..column
            }),
            Quantity::Name => Some(column),
            Quantity::Size | Quantity::Address => None,
        })
        .collect();
    let all = thread_view(scene.profile(), scene.names.tables, &scene.request.metrics);
    let total = |at: usize| all.iter().map(|row| row.seconds[at]).sum::<f64>();
    let times = |values: &dyn Fn(usize) -> f64| -> Vec<(f64, f64)> {
        let indices = columns.iter().filter_map(|column| match column.quantity {
            Quantity::Time(_, metric) => scene.index(metric),
            _ => None,
        });
        indices.map(|at| (values(at), total(at))).collect()
    };
    let names: Vec<String> = rows.iter().map(thread_name).collect();
    let line = |times, name| Line {
        times,
        code: None,
        lead: " ".to_owned(),
        name,
    };
    let mut lines = vec![line(times(&total), omp_model::views::TOTAL)];
    for (row, name) in rows.iter().zip(&names) {
        lines.push(line(times(&|at| row.seconds[at]), name));
    }
    let table = scene.table(&columns, &lines);
    format!(
        "Threads in the order of their appearance\n\n{table}\n{}",
        footer(scene)
    )
}

fn threads_json(scene: &Scene<'_>, view: &str, metrics: &[Metric], rows: &[ThreadRow]) -> String {
    let times = metrics
        .iter()
        .map(|&metric| Quantity::Time(Flavour::Exclusive, metric));
    let times: Vec<Quantity> = times.collect();
    let rows: Vec<Value> = rows
        .iter()
        .map(|row| {
            let values = times.iter().zip(row.seconds.iter());
            let values: serde_json::Map<_, _> = values
                .map(|(quantity, &seconds)| (quantity.id(), json!(seconds)))
                .collect();
            json!({
                "name": thread_name(row),
                "thread": row.thread.0 + 1,
                "pid": row.pid,
                "tid": row.tid,
                "kind": kind_name(row.kind),
                "start": row.birth.seconds(),
                "end": row.death.map(Nanos::seconds),
                "values": values,
            })
        })
        .collect();
    json::report(scene, view, &times, rows)
}

/// The times of the list of threads.
const LIST_TIMES: [(Metric, &str); 4] = [
    (Metric::Total, "Thread s"),
    (Metric::TotalCpu, "CPU s"),
    (Metric::OmpWork, "OMP Work s"),
    (Metric::OmpWait, "OMP Wait s"),
];

fn thread_list_text(layout: Layout, metrics: &[Metric], rows: &[ThreadRow]) -> String {
    let index = |metric| metrics.iter().position(|&known| known == metric);
    let times: Vec<(usize, &str)> = LIST_TIMES
        .iter()
        .filter_map(|&(metric, heading)| Some((index(metric)?, heading)))
        .collect();
    let mut headings = vec!["THRID", "PID", "TID", "Kind", "Start", "End"];
    headings.extend(times.iter().map(|(_, heading)| heading));
    let end = |row: &ThreadRow| row.death.map(|end| text::seconds(end.seconds()));
    let rows: Vec<Vec<String>> = rows
        .iter()
        .map(|row| {
            let mut cells = vec![
                (row.thread.0 + 1).to_string(),
                row.pid.to_string(),
                row.tid.to_string(),
                kind_name(row.kind).to_owned(),
                text::seconds(row.birth.seconds()),
                end(row).unwrap_or_else(|| "-".to_owned()),
            ];
            cells.extend(
                times
                    .iter()
                    .map(|&(at, _)| text::number(row.seconds[at], 3)),
            );
            cells
        })
        .collect();
    ruled(layout, &headings, &rows)
}

/// Load objects.
pub(crate) fn object_list(session: &mut Session<'_>, _: &[String]) -> Result<(), Stop> {
    let report = if let Some(beside) = Beside::of(session)? {
        compare::objects(&beside)?
    } else {
        let scene = session.scene()?;
        let mut rows = objects(scene.names.tables, scene.names.symbols);
        rows.truncate(scene.limited(rows.len()));
        match scene.settings.print {
            PrintMode::Text => objects_text(&scene, &rows),
            PrintMode::Json => objects_json(&scene, &rows),
        }
    };
    session.print(&report)
}

fn objects_text(scene: &Scene<'_>, rows: &[ObjectRow]) -> String {
    let line = |row: &ObjectRow| {
        let name = scene.names.object_name(row.module);
        let path = if row.path.is_empty() { name } else { &row.path };
        let missing = row.missing.as_ref();
        let note = missing.map_or_else(String::new, |why| format!(" (no symbols: {why})"));
        vec![
            format!("<{}>", name.trim_matches(['<', '>'])),
            row.module.0.to_string(),
            row.functions.to_string(),
            runtime_name(row.runtime).unwrap_or("-").to_owned(),
            format!("{path}{note}"),
        ]
    };
    let rows: Vec<Vec<String>> = rows.iter().map(line).collect();
    let headings = ["Load Object", "Index", "Functions", "OpenMP", "Path"];
    let table = ruled(scene.settings.layout, &headings, &rows);
    format!("{table}\n{}", footer(scene))
}

fn objects_json(scene: &Scene<'_>, rows: &[ObjectRow]) -> String {
    let object = |row: &ObjectRow| {
        json!({
            "name": scene.names.object_name(row.module),
            "index": row.module.0,
            "path": row.path,
            "build_id": row.build_id,
            "runtime": runtime_name(row.runtime),
            "functions": row.functions,
            "missing": row.missing,
        })
    };
    let rows: Vec<Value> = rows.iter().map(object).collect();
    json::report(scene, "object_list", &[], rows)
}

const fn runtime_name(runtime: RuntimeKind) -> Option<&'static str> {
    match runtime {
        RuntimeKind::None => None,
        RuntimeKind::Kmp => Some("LLVM"),
        RuntimeKind::Gomp => Some("GNU"),
        RuntimeKind::Collector => Some("Parallax"),
    }
}

/// The metrics of this experiment.
pub(crate) fn metric_list(session: &mut Session<'_>, _: &[String]) -> Result<(), Stop> {
    let report = {
        let scene = session.scene()?;
        let available = scene.recording.available();
        let flavours = [Flavour::Exclusive, Flavour::Inclusive];
        let times = available.metrics().iter();
        let times =
            times.flat_map(|&metric| flavours.map(|flavour| Quantity::Time(flavour, metric)));
        let plain = [Quantity::Size, Quantity::Address, Quantity::Name];
        let all: Vec<Quantity> = times.chain(plain).collect();
        match scene.settings.print {
            PrintMode::Text => metrics_text(&scene, &all),
            PrintMode::Json => metrics_json(&scene, &all),
        }
    };
    session.print(&report)
}

fn metrics_text(scene: &Scene<'_>, all: &[Quantity]) -> String {
    let typed = |quantity: Quantity| match quantity {
        Quantity::Time(flavour, metric) => format!("{}.%{}", flavour.letter(), metric.id()),
        other => other.id(),
    };
    let labels = all.iter().map(|quantity| quantity.label());
    let width = labels.map(|label| label.len()).max().unwrap_or(0);
    let lines: String = all
        .iter()
        .map(|&quantity| format!("{:>width$}: {}\n", quantity.label(), typed(quantity)))
        .collect();
    format!(
        "Current metrics: {}\n{}Available metrics:\n{lines}",
        spec(&scene.columns),
        current_sort(scene.request.sort, &scene.columns)
    )
}

fn metrics_json(scene: &Scene<'_>, all: &[Quantity]) -> String {
    let mut object = json::envelope(scene, "metric_list");
    object.insert(
        "metrics".to_owned(),
        all.iter().copied().map(json::metric).collect(),
    );
    object.insert("rows".to_owned(), json!([]));
    object.insert("current".to_owned(), json!(spec(&scene.columns)));
    object.insert("sort".to_owned(), json!(scene.request.sort.quantity.id()));
    json::finish(scene, object)
}
