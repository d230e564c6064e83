//! Lists of what an experiment is made of, and what is known of the resources that it used.

use std::collections::BTreeMap;

use omp_model::experiment::Ran;
use omp_model::metrics::{Flavour, Metric, Quantity};
use omp_model::views::threads::{kind_name, threads};
use serde_json::{Value, json};

use super::compare::{self, Beside};
use super::lists::{footer, ruled};
use super::settings::spec;
use crate::failure::Stop;
use crate::json;
use crate::session::{PrintMode, Scene, Session};
use crate::text;

/// A list: its headings, and its rows as cells and as JSON.
struct Listing {
    headings: Vec<&'static str>,
    rows: Vec<(Vec<String>, Value)>,
}

/// Prints what an experiment is made of, whatever time a filter keeps of it.
fn print_facts(
    session: &mut Session<'_>,
    view: &str,
    make: impl Fn(&Scene<'_>) -> Listing,
) -> Result<(), Stop> {
    let report = {
        let mut scene = session.scene()?;
        scene.timeless = true;
        report(&scene, view, make(&scene))
    };
    session.print(&report)
}

/// Prints times, under the filter in force.
fn print_times(
    session: &mut Session<'_>,
    view: &str,
    make: impl Fn(&Scene<'_>) -> Listing,
) -> Result<(), Stop> {
    let report = {
        let scene = session.scene()?;
        report(&scene, view, make(&scene))
    };
    session.print(&report)
}

fn report(scene: &Scene<'_>, view: &str, mut listing: Listing) -> String {
    listing.rows.truncate(scene.limited(listing.rows.len()));
    match scene.settings.print {
        PrintMode::Text => {
            let rows: Vec<Vec<String>> = listing.rows.into_iter().map(|(cells, _)| cells).collect();
            let table = ruled(scene.settings.layout, &listing.headings, &rows);
            format!("{table}\n{}", footer(scene))
        }
        PrintMode::Json => {
            let rows = listing.rows.into_iter().map(|(_, row)| row).collect();
            json::report(scene, view, &[], rows)
        }
    }
}

/// The experiments.
pub(crate) fn experiment_list(session: &mut Session<'_>, _: &[String]) -> Result<(), Stop> {
    let facts: Vec<(Vec<String>, Value)> = session
        .recordings()
        .iter()
        .zip(1..)
        .map(|(recording, number)| {
            let experiment = &recording.experiment;
            let pid = experiment.tables.processes.first().map(|first| first.pid);
            let seconds = experiment.duration().seconds();
            let command = experiment.header.command.join(" ");
            let cells = vec![
                number.to_string(),
                pid.map_or_else(|| "-".to_owned(), |pid| pid.to_string()),
                text::seconds(seconds),
                recording.name.clone(),
                command.clone(),
            ];
            let row = json!({
                "name": recording.name,
                "number": number,
                "pid": pid,
                "duration": seconds,
                "command": command,
                "finished": experiment.finished,
            });
            (cells, row)
        })
        .collect();
    print_facts(session, "experiment_list", |_| Listing {
        headings: vec!["ID", "PID", "Seconds", "Experiment", "Command"],
        rows: facts.clone(),
    })
}

/// The sample points: none is recorded, so that all of a run is the interval of the first.
pub(crate) fn sample_list(session: &mut Session<'_>, _: &[String]) -> Result<(), Stop> {
    print_facts(session, "sample_list", |scene| {
        let seconds = scene.recording.experiment.duration().seconds();
        let cells = ["1", "0.000", &text::seconds(seconds), "whole run"];
        Listing {
            headings: vec!["Sample", "Start", "End", "Label"],
            rows: vec![(
                cells.map(str::to_owned).to_vec(),
                json!({"name": "whole run", "sample": 1, "start": 0.0, "end": seconds}),
            )],
        }
    })
}

/// The kernel's threads.
pub(crate) fn lwp_list(session: &mut Session<'_>, _: &[String]) -> Result<(), Stop> {
    if let Some(beside) = Beside::of(session)? {
        let times = [(Metric::Total, "Thread s")];
        let report = compare::thread_list(&beside, "lwp_list", &times)?;
        return session.print(&report);
    }
    print_times(session, "lwp_list", |scene| {
        let rows = threads(scene.profile(), scene.names.tables, &[Metric::Total]);
        let row = |row: &omp_model::views::threads::ThreadRow| {
            let experiment = scene.recording.origins.get(row.thread.index());
            let experiment = experiment.copied().unwrap_or(1);
            let cells = vec![
                row.tid.to_string(),
                row.pid.to_string(),
                experiment.to_string(),
                (row.thread.0 + 1).to_string(),
                kind_name(row.kind).to_owned(),
                text::number(row.seconds[0], 3),
            ];
            let fields = json!({
                "name": format!("LWP {}", row.tid),
                "lwp": row.tid,
                "pid": row.pid,
                "experiment": experiment,
                "thread": row.thread.0 + 1,
                "kind": kind_name(row.kind),
                "values": {"e.total": row.seconds[0]},
            });
            (cells, fields)
        };
        Listing {
            headings: vec!["LWP", "PID", "EXPID", "THRID", "Kind", "Thread s"],
            rows: rows.iter().map(row).collect(),
        }
    })
}

/// The CPUs that clock samples saw, and how many on each.
pub(super) fn cpu_samples(scene: &Scene<'_>) -> BTreeMap<u16, u64> {
    Ran::of(&scene.recording.experiment.samples).by_cpu
}

/// The same as a list.
pub(crate) fn cpu_list(session: &mut Session<'_>, _: &[String]) -> Result<(), Stop> {
    if let Some(beside) = Beside::of(session)? {
        let report = compare::cpus(&beside)?;
        return session.print(&report);
    }
    print_facts(session, "cpu_list", |scene| {
        let counts = cpu_samples(scene);
        let all: u64 = counts.values().sum();
        let row = |(cpu, count): (&u16, &u64)| {
            let share = text::percent(*count as f64, all as f64);
            let cells = vec![cpu.to_string(), count.to_string(), format!("{share:.2}")];
            let fields = json!({"name": format!("CPU {cpu}"), "cpu": cpu, "samples": count});
            (cells, fields)
        };
        Listing {
            headings: vec!["CPU", "Samples", "%"],
            rows: counts.iter().map(row).collect(),
        }
    })
}

/// Load objects whose symbols are missing.
pub(crate) fn objects(session: &mut Session<'_>, _: &[String]) -> Result<(), Stop> {
    print_facts(session, "objects", |scene| {
        let row = |(module, why): &(omp_model::ids::ModuleId, String)| {
            let name = scene.names.object_name(*module);
            let path = scene.names.tables.modules.get(module.0);
            let path = path.map(|row| row.path.clone()).unwrap_or_default();
            let cells = vec![format!("<{name}>"), why.clone(), path.clone()];
            (cells, json!({"name": name, "why": why, "path": path}))
        };
        Listing {
            headings: vec!["Load Object", "What is missing", "Path"],
            rows: scene.names.symbols.misses.iter().map(row).collect(),
        }
    })
}

/// The resources that the run used, as far as they were recorded.
pub(crate) fn statistics(session: &mut Session<'_>, _: &[String]) -> Result<(), Stop> {
    resources(session, "statistics")
}

/// The same by sample point: all of a run is one.
pub(crate) fn sample_detail(session: &mut Session<'_>, _: &[String]) -> Result<(), Stop> {
    resources(session, "sample_detail")
}

/// A resource and how much of it a run used.
pub(super) struct Resource {
    pub(super) label: String,
    id: &'static str,
    pub(super) value: f64,
    /// In a text.
    pub(super) decimals: usize,
}

/// What is known of the resources that a run used.
pub(super) fn resource_facts(scene: &Scene<'_>) -> Vec<Resource> {
    let header = &scene.recording.experiment.header;
    let available = scene.recording.available();
    let metrics: Vec<Metric> = [
        Metric::Total,
        Metric::TotalCpu,
        Metric::User,
        Metric::System,
        Metric::OffCpu,
    ]
    .into_iter()
    .filter(|&metric| available.has(metric))
    .collect();
    let rows = threads(scene.profile(), scene.names.tables, &metrics);
    let sum = |at: usize| rows.iter().map(|row| row.seconds[at]).sum::<f64>();
    let wall = scene.recording.experiment.duration().seconds();
    let measured = |label: String, id, value| Resource {
        label,
        id,
        value,
        decimals: 3,
    };
    let mut facts = vec![measured("Elapsed (sec.)".to_owned(), "elapsed", wall)];
    for (at, metric) in metrics.iter().enumerate() {
        let label = format!("{} (sec.)", metric.label());
        facts.push(measured(label, metric.id(), sum(at)));
    }
    let cpu = metrics
        .iter()
        .position(|&metric| metric == Metric::TotalCpu);
    if let Some(at) = cpu
        && wall > 0.0
    {
        let label = "CPUs used on average".to_owned();
        facts.push(measured(label, "cpus_used", sum(at) / wall));
    }
    let counts = [
        ("Threads", "threads", rows.len() as u64),
        ("Clock samples", "samples", header.sampling.samples),
        (
            "Context-switch samples",
            "switch_samples",
            header.sampling.switch_samples,
        ),
        ("OpenMP records", "omp_records", header.losses.omp_taken),
    ];
    facts.extend(counts.map(|(label, id, count)| Resource {
        label: label.to_owned(),
        id,
        value: count as f64,
        decimals: 0,
    }));
    facts
}

fn resources(session: &mut Session<'_>, view: &str) -> Result<(), Stop> {
    if let Some(beside) = Beside::of(session)? {
        let report = compare::resources(&beside, view)?;
        return session.print(&report);
    }
    print_times(session, view, |scene| {
        let row = |fact: Resource| {
            let shown = match fact.decimals {
                0 => format!("{}", fact.value),
                decimals => text::number(fact.value, decimals),
            };
            let fields = json!({"name": fact.label, "id": fact.id, "value": fact.value});
            (vec![fact.label, shown], fields)
        };
        Listing {
            headings: vec!["Resource", "Value"],
            rows: resource_facts(scene).into_iter().map(row).collect(),
        }
    })
}

/// What er_print itself has used, by the kernel's word.
pub(crate) fn procstats(session: &mut Session<'_>, _: &[String]) -> Result<(), Stop> {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let wanted = [
        ("VmPeak", "Peak virtual memory"),
        ("VmHWM", "Peak resident memory"),
        ("VmRSS", "Resident memory"),
        ("Threads", "Threads"),
        ("voluntary_ctxt_switches", "Voluntary context switches"),
        ("nonvoluntary_ctxt_switches", "Involuntary context switches"),
    ];
    let value = |key: &str| {
        let line = status
            .lines()
            .find_map(|line| line.strip_prefix(key)?.strip_prefix(':'));
        line.map(|value| value.trim().to_owned())
    };
    let found: Vec<(&str, String)> = wanted
        .iter()
        .filter_map(|(key, label)| Some((*label, value(key)?)))
        .collect();
    let report = match session.settings.print {
        PrintMode::Json => {
            let rows: Vec<Value> = found
                .iter()
                .map(|(name, value)| json!({"name": name, "value": value}))
                .collect();
            format!("{}\n", json!({"view": "procstats", "rows": rows}))
        }
        PrintMode::Text => {
            let rows: Vec<Vec<String>> = found
                .into_iter()
                .map(|(label, value)| vec![label.to_owned(), value])
                .collect();
            let table = ruled(
                session.settings.layout,
                &["er_print itself", "Value"],
                &rows,
            );
            format!("{table}\n")
        }
    };
    session.print(&report)
}

/// The metrics of callers and callees.
pub(crate) fn cmetric_list(session: &mut Session<'_>, _: &[String]) -> Result<(), Stop> {
    metrics_of(session, "cmetric_list", Flavour::Attributed)
}

/// The metrics of index objects.
pub(crate) fn indx_metric_list(session: &mut Session<'_>, _: &[String]) -> Result<(), Stop> {
    metrics_of(session, "indx_metric_list", Flavour::Exclusive)
}

fn metrics_of(session: &mut Session<'_>, view: &str, flavour: Flavour) -> Result<(), Stop> {
    let report = {
        let scene = session.scene()?;
        let mut current = scene.attributed();
        for column in &mut current {
            if let Quantity::Time(_, metric) = column.quantity {
                column.quantity = Quantity::Time(flavour, metric);
            }
        }
        let available = scene.recording.available();
        let times = available.metrics().iter();
        let all: Vec<Quantity> = times
            .map(|&metric| Quantity::Time(flavour, metric))
            .chain([Quantity::Name])
            .collect();
        match scene.settings.print {
            PrintMode::Json => {
                let mut object = json::envelope(&scene, view);
                let metrics = all.iter().copied().map(json::metric).collect();
                object.insert("metrics".to_owned(), metrics);
                object.insert("rows".to_owned(), json!([]));
                object.insert("current".to_owned(), json!(spec(&current)));
                json::finish(&scene, object)
            }
            PrintMode::Text => {
                let width = all.iter().map(|quantity| quantity.label().len());
                let width = width.max().unwrap_or(0);
                let lines: String = all
                    .iter()
                    .map(|quantity| format!("{:>width$}: {}\n", quantity.label(), quantity.id()))
                    .collect();
                let current = spec(&current);
                format!("Current metrics: {current}\nAvailable metrics:\n{lines}")
            }
        }
    };
    session.print(&report)
}
