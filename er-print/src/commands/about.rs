//! `overview`.

use omp_model::metrics::Flavour;
use omp_model::metrics::{Metric, Quantity};
use omp_model::views::overview::{Overview, overview as sum_up};
use omp_model::views::threads::kind_name;
use report::header::{calendar, remarks};
use serde_json::{Map, Value, json};

use super::compare::{self, Beside};
use super::first::First;
use super::lists::footer;
use crate::failure::Stop;
use crate::json;
use crate::session::{PrintMode, Scene, Session};
use crate::text;

/// How many functions an overview shows.
const LARGEST: usize = 10;

/// Tells where the time went.
pub(crate) fn overview(session: &mut Session<'_>, _: &[String]) -> Result<(), Stop> {
    let report = if let Some(beside) = Beside::of(session)? {
        compare::overview(&beside, session.scene()?.limited(LARGEST))?
    } else {
        let scene = session.scene()?;
        let available = scene.recording.available();
        let limit = scene.limited(LARGEST);
        let overview = sum_up(scene.profile(), &scene.names, available, limit);
        match scene.settings.print {
            PrintMode::Text => overview_text(&scene, &overview),
            PrintMode::Json => overview_json(&scene, &overview),
        }
    };
    session.print(&report)
}

fn overview_json(scene: &Scene<'_>, overview: &Overview) -> String {
    let header = &scene.recording.experiment.header;
    let times = |seconds: &dyn Fn(usize) -> f64| -> Value {
        let quantity = |metric| Quantity::Time(Flavour::Exclusive, metric).id();
        let entries = overview.times.iter().enumerate();
        entries
            .map(|(at, &(metric, _))| (quantity(metric), json!(seconds(at))))
            .collect::<Map<_, _>>()
            .into()
    };
    let quantities: Vec<Quantity> = overview
        .times
        .iter()
        .map(|&(metric, _)| Quantity::Time(Flavour::Exclusive, metric))
        .collect();
    let all = std::iter::once(&overview.largest.total).chain(&overview.largest.rows);
    let rows: Vec<Value> = all
        .map(|row| json!({"name": row.name, "values": times(&|at| row.exclusive[at])}))
        .collect();
    let threads: Map<_, _> = overview
        .threads
        .iter()
        .map(|&(kind, count)| (kind_name(kind).to_owned(), json!(count)))
        .collect();
    let mut object = json::envelope(scene, "overview");
    object.insert("command".to_owned(), json!(header.command));
    object.insert(
        "duration".to_owned(),
        json!(header.duration_ns as f64 / 1e9),
    );
    object.insert("processes".to_owned(), json!(overview.processes));
    object.insert("threads".to_owned(), Value::Object(threads));
    object.insert(
        "metrics".to_owned(),
        quantities.into_iter().map(json::metric).collect(),
    );
    object.insert("rows".to_owned(), json!(rows));
    object.extend(
        First::of(scene)
            .map(|first| first.json())
            .unwrap_or_default(),
    );
    let remarks: Vec<String> = remarks(&scene.source);
    if !remarks.is_empty() {
        object.insert("warnings".to_owned(), json!(remarks));
    }
    json::finish(scene, object)
}

fn overview_text(scene: &Scene<'_>, overview: &Overview) -> String {
    let header = &scene.recording.experiment.header;
    let kinds: Vec<String> = overview
        .threads
        .iter()
        .map(|&(kind, count)| format!("{count} {}", kind_name(kind)))
        .collect();
    let count: usize = overview.threads.iter().map(|(_, count)| count).sum();
    let duration = header.duration_ns as f64 / 1e9;
    let first = First::of(scene);
    let mut report = first.as_ref().map_or_else(String::new, |first| {
        format!("{}\n{}", first.losses_text(), first.budget_text())
    });
    let remarks = remarks(&scene.source).into_iter();
    let remarks: Vec<String> = remarks.map(|note| format!("  {note}\n")).collect();
    if !remarks.is_empty() {
        report.push_str(&format!("Warnings\n{}\n", remarks.concat()));
    }
    report.push_str(&format!(
        "Experiment: {}\n  Target: '{}'\n  Host: {} ({} CPUs)\n  Start: {}\n  Duration: {} \
         seconds\n  Processes: {}\n  Threads: {count} ({})\n\nTime of all threads\n",
        scene.recording.name,
        header.command.join(" "),
        header.host,
        header.cpus,
        calendar(header.started_unix),
        text::seconds(duration),
        overview.processes,
        kinds.join(", ")
    ));
    let total = overview.time(Metric::Total);
    for &(metric, seconds) in &overview.times {
        // Wait states that never came say nothing; the metrics that partition the time always do.
        // Blame is the others' time again.
        if metric == Metric::Blame || (seconds == 0.0 && metric.is_openmp()) {
            continue;
        }
        let name = format!("{}{}", indent(metric), metric.words());
        report.push_str(&format!(
            "  {name:<26}{:>12}{:>8.2}%\n",
            text::seconds(seconds),
            text::percent(seconds, total)
        ));
    }
    if let Some(first) = &first {
        report.push_str(&format!("\n{}", first.efficiency_text()));
    }
    report.push_str("\nFunctions with most thread time (seconds, % of all)\n");
    for row in &overview.largest.rows {
        let at = overview
            .times
            .iter()
            .position(|(metric, _)| *metric == Metric::Total);
        let seconds = at.map_or(0.0, |at| row.exclusive[at]);
        report.push_str(&format!(
            "  {:>10}{:>8.2}%  {}\n",
            text::seconds(seconds),
            text::percent(seconds, total),
            row.name
        ));
    }
    let footer = footer(scene);
    if footer.is_empty() {
        report
    } else {
        format!("{report}\n{footer}")
    }
}

/// A part stands under its whole.
const fn indent(metric: Metric) -> &'static str {
    match metric {
        Metric::Total => "",
        Metric::TotalCpu | Metric::OffCpu | Metric::OmpWork | Metric::OmpWait => "  ",
        _ => "    ",
    }
}
