//! `OMP_preg`, `OMP_task`, and what `overview` says of them.

use omp_model::ids::{ContextId, ThreadId};
use omp_model::metrics::{Flavour, Metric, Quantity};
use omp_model::profile::{Profile, ViewMode};
use omp_model::views::openmp::Measured;
use omp_model::views::openmp::gain::{Cause, Gain, REGION_METRICS};
use omp_model::views::openmp::regions::{RegionRow, regions as region_rows};
use omp_model::views::openmp::spots::Spot;
use omp_model::views::openmp::tasks::{TaskRow, tasks as task_rows};
use serde_json::{Map, Value, json};

use super::compare::{self, Beside};
use super::lists::footer;
use super::order::{self, Ordered};
use crate::failure::Stop;
use crate::json;
use crate::session::{PrintMode, Scene, Session};
use crate::text;

/// What OpenMP's views are computed from, under the filter in force.
///
/// They are about directives, which machine mode does not show: they are the same in all modes. A
/// filter leaves time, but no instances, which are counted for whole seconds.
pub(super) fn measured<'s>(scene: &Scene<'s>) -> (&'s Profile, Measured<'s>) {
    let recording = scene.recording;
    let experiment = &recording.experiment;
    let filter = scene.settings.filter.as_ref();
    let (profile, _) = scene.source.profile_in(ViewMode::User);
    let all = Measured {
        duration: experiment.duration(),
        sums: &experiment.sums,
        region_sums: &experiment.region_sums,
        region_works: &experiment.region_works,
        task_sums: &experiment.task_sums,
    };
    let some = Measured {
        region_sums: &[],
        region_works: &[],
        task_sums: &[],
        ..all
    };
    (profile, if filter.is_some() { some } else { all })
}

/// Rows of numbers with a name at their end; columns without a value are left out.
struct Grid {
    headings: Vec<[&'static str; 2]>,
    rows: Vec<Vec<String>>,
}

impl Grid {
    fn text(&self) -> String {
        let last = self.headings.len() - 1;
        let says = |at: usize| self.rows.iter().any(|row| !matches!(&*row[at], "0." | "-"));
        let shown: Vec<usize> = (0..=last).filter(|&at| at == last || says(at)).collect();
        let point = |cell: &str| cell.find('.').unwrap_or(cell.len());
        let cells = |at: usize| self.rows.iter().map(move |row| row[at].as_str());
        let before = |at: usize| cells(at).map(point).max().unwrap_or(0);
        let after = |at: usize| {
            cells(at)
                .map(|cell| cell.len() - point(cell))
                .max()
                .unwrap_or(0)
        };
        let longest = |at: usize| match at == last {
            true => cells(at)
                .map(|cell| cell.chars().count())
                .max()
                .unwrap_or(0),
            false => before(at) + after(at),
        };
        let width = |at: usize| {
            let headings = self.headings[at].iter().map(|line| line.chars().count());
            headings.chain([longest(at)]).max().unwrap_or(0)
        };
        let line = |cell: &dyn Fn(usize) -> String| {
            let cells: Vec<String> = shown
                .iter()
                .map(|&at| match at == last {
                    true => format!(" {}", cell(at)),
                    false => format!("{:<width$}", cell(at), width = width(at)),
                })
                .collect();
            format!("{}\n", cells.join("  ").trim_end())
        };
        let mut text = line(&|at| self.headings[at][0].to_owned());
        text.push_str(&line(&|at| self.headings[at][1].to_owned()));
        for row in &self.rows {
            // Under the left end of the heading, with the decimal points in one column.
            text.push_str(&line(&|at| match at == last {
                true => row[at].clone(),
                false => {
                    let (whole, fraction) = row[at].split_at(point(&row[at]));
                    format!("{whole:>0$}{fraction:<1$}", before(at), after(at))
                }
            }));
        }
        text
    }
}

fn seconds(value: f64) -> String {
    // What rounds to nothing, and rounding errors, are shown as what they are.
    text::number(if value.abs() < 5e-10 { 0.0 } else { value }, 3)
}

fn placed(name: &str, spot: &Spot) -> String {
    match (&spot.file, spot.line) {
        (Some(_), Some(_)) => format!("{name}, {}", spot.short()),
        _ => name.to_owned(),
    }
}

impl Ordered for RegionRow {
    fn name(&self) -> &str {
        &self.name
    }

    fn seconds(&self, flavour: Flavour) -> Option<&[f64]> {
        match flavour {
            Flavour::Exclusive => Some(&self.exclusive),
            Flavour::Inclusive => Some(&self.inclusive),
            Flavour::Attributed => None,
        }
    }
}

impl Ordered for TaskRow {
    fn name(&self) -> &str {
        &self.name
    }

    fn seconds(&self, flavour: Flavour) -> Option<&[f64]> {
        (flavour == Flavour::Exclusive).then_some(&self.seconds)
    }
}

/// Lists parallel regions.
pub(crate) fn regions(session: &mut Session<'_>, _: &[String]) -> Result<(), Stop> {
    let report = if let Some(beside) = Beside::of(session)? {
        compare::regions(&beside)?
    } else {
        let scene = session.scene()?;
        let (profile, measured) = measured(&scene);
        let mut rows = region_rows(profile, &scene.names, &measured);
        let by = order::by(&mut rows, scene.settings.sort);
        rows.truncate(scene.limited(rows.len()));
        match scene.settings.print {
            PrintMode::Text => regions_text(&scene, &rows, by),
            PrintMode::Json => {
                let quantities = both_flavours();
                let rows = rows.iter().map(|row| region_json(&scene, row)).collect();
                json::report(&scene, "OMP_preg", &quantities, rows)
            }
        }
    };
    session.print(&report)
}

fn regions_text(scene: &Scene<'_>, rows: &[RegionRow], by: Option<String>) -> String {
    let by = by.map(|metric| format!("metric: {metric}"));
    let own = || "potential gain: wall time that even work without waits would save".to_owned();
    let title = format!("Parallel regions sorted by {}", by.unwrap_or_else(own));
    if rows.is_empty() {
        return format!("{title}\n\nNo parallel region\n\n{}", footer(scene));
    }
    let filtered = scene.settings.filter.is_some();
    let counted = |text: String| if filtered { "-".to_owned() } else { text };
    let nested = rows.iter().any(|row| row.nesting > 1);
    let whole = |value: f64| match nested {
        true => seconds(value),
        false => "-".to_owned(),
    };
    let name = |row: &RegionRow| placed(&row.name, &row.spot);
    let summary = Grid {
        headings: vec![
            ["Gain", "sec."],
            ["Incl.", "gain"],
            ["Elapsed", "sec."],
            ["Incl.", "elapsed"],
            ["Instances", ""],
            ["Threads", ""],
            ["Load", "balance"],
            ["OMP Work", "sec."],
            ["OMP Wait", "sec."],
            ["Level", ""],
            ["REGION", ""],
            ["Name", ""],
        ],
        rows: rows
            .iter()
            .map(|row| {
                vec![
                    seconds(row.own.total()),
                    whole(row.whole.total()),
                    seconds(row.own.elapsed),
                    whole(row.whole.elapsed),
                    counted(row.instances.to_string()),
                    counted(row.threads.to_string()),
                    counted(format!("{:.2}", row.load_balance())),
                    seconds(row.time(Metric::OmpWork)),
                    seconds(row.time(Metric::OmpWait)),
                    if nested {
                        row.nesting.to_string()
                    } else {
                        "-".to_owned()
                    },
                    contexts(&row.contexts),
                    name(row),
                ]
            })
            .collect(),
    };
    let parts = |row: &RegionRow| {
        let parts = row.own.parts.iter().map(|&part| seconds(part));
        parts.chain([name(row)]).collect()
    };
    let gains = Grid {
        headings: vec![
            ["Imbalance", "sec."],
            ["Locks", "sec."],
            ["Ordered", "sec."],
            ["Scheduling", "sec."],
            ["Reduction", "sec."],
            ["Atomics", "sec."],
            ["Tasks", "sec."],
            ["Off CPU", "sec."],
            ["Name", ""],
        ],
        rows: rows.iter().map(parts).collect(),
    };
    let waits = [
        (Metric::OmpWork, ["Work", "sec."]),
        (Metric::Overhead, ["of it", "overhead"]),
        (Metric::Reduction, ["of it", "reduction"]),
        (Metric::ImplicitBarrier, ["Implicit", "barrier"]),
        (Metric::ExplicitBarrier, ["Explicit", "barrier"]),
        (Metric::Lock, ["Lock", "sec."]),
        (Metric::Critical, ["Critical", "sec."]),
        (Metric::Ordered, ["Ordered", "sec."]),
        (Metric::Atomic, ["Atomic", "sec."]),
        (Metric::Task, ["Tasks", "sec."]),
        (Metric::OffCpuWork, ["Off CPU", "sec."]),
    ];
    let times = Grid {
        headings: waits
            .iter()
            .map(|&(_, heading)| heading)
            .chain([["Name", ""]])
            .collect(),
        rows: rows
            .iter()
            .map(|row| {
                let times = waits.iter().map(|&(metric, _)| seconds(row.time(metric)));
                times.chain([name(row)]).collect()
            })
            .collect(),
    };
    format!(
        "{title}\n\n{}\nThe gain by its causes\n\n{}\nTime of all threads in the region itself\n\n\
         {}\n{}",
        summary.text(),
        gains.text(),
        times.text(),
        footer(scene)
    )
}

/// The numbers that a filter knows a construct's contexts by.
fn numbers(contexts: &[ContextId]) -> Vec<u32> {
    contexts.iter().map(|context| context.0).collect()
}

/// The same in a text: the first few; JSON has all.
fn contexts(contexts: &[ContextId]) -> String {
    let numbers = numbers(contexts);
    let shown: Vec<String> = numbers
        .iter()
        .take(LONGEST)
        .map(ToString::to_string)
        .collect();
    let more = if numbers.len() > LONGEST { ",..." } else { "" };
    shown.join(",") + more
}

fn both_flavours() -> Vec<Quantity> {
    let flavours = [Flavour::Exclusive, Flavour::Inclusive];
    let metrics = REGION_METRICS.iter();
    metrics
        .flat_map(|&metric| flavours.map(|flavour| Quantity::Time(flavour, metric)))
        .collect()
}

fn spot_fields(object: &mut Map<String, Value>, spot: &Spot) {
    object.insert("function".to_owned(), json!(spot.function));
    object.insert("file".to_owned(), json!(spot.file));
    object.insert("line".to_owned(), json!(spot.line));
}

fn gain_json(gain: &Gain) -> Value {
    let parts: Map<_, _> = Cause::ALL
        .into_iter()
        .map(|cause| (cause.id().to_owned(), json!(gain.part(cause))))
        .collect();
    json!({"elapsed": gain.elapsed, "gain": gain.total(), "parts": parts})
}

fn region_json(scene: &Scene<'_>, row: &RegionRow) -> Value {
    let counted = |value: Value| match scene.settings.filter {
        Some(_) => Value::Null,
        None => value,
    };
    let times = [
        (Flavour::Exclusive, &row.exclusive),
        (Flavour::Inclusive, &row.inclusive),
    ];
    let values: Map<_, _> = times
        .iter()
        .flat_map(|(flavour, seconds)| {
            let metrics = REGION_METRICS.iter().zip(seconds.iter());
            metrics.map(|(&metric, &value)| (Quantity::Time(*flavour, metric).id(), json!(value)))
        })
        .collect();
    let tid = |thread: ThreadId| {
        scene
            .names
            .tables
            .threads
            .get(thread.index())
            .map(|it| it.tid)
    };
    let work: Vec<Value> = row
        .work
        .iter()
        .map(|&(thread, seconds)| json!({"tid": tid(thread), "seconds": seconds}))
        .collect();
    let mut object = Map::new();
    object.insert("name".to_owned(), json!(row.name));
    spot_fields(&mut object, &row.spot);
    object.insert("teams".to_owned(), json!(row.teams));
    object.insert("nesting".to_owned(), json!(row.nesting));
    object.insert("region".to_owned(), json!(numbers(&row.contexts)));
    object.insert("instances".to_owned(), counted(json!(row.instances)));
    object.insert("threads".to_owned(), counted(json!(row.threads)));
    object.insert(
        "load_balance".to_owned(),
        counted(json!(row.load_balance())),
    );
    object.insert(
        "preempted".to_owned(),
        json!(row.ready[Cause::OffCpu as usize]),
    );
    let spread = row.spread;
    object.insert(
        "longest_work".to_owned(),
        json!(spread.map(|it| it.longest)),
    );
    object.insert("mean_work".to_owned(), json!(spread.map(|it| it.mean)));
    object.insert("exclusive".to_owned(), gain_json(&row.own));
    object.insert("inclusive".to_owned(), gain_json(&row.whole));
    object.insert("work_by_thread".to_owned(), json!(work));
    object.insert("values".to_owned(), Value::Object(values));
    Value::Object(object)
}

/// Lists task constructs.
pub(crate) fn tasks(session: &mut Session<'_>, _: &[String]) -> Result<(), Stop> {
    let report = if let Some(beside) = Beside::of(session)? {
        compare::tasks(&beside)?
    } else {
        let scene = session.scene()?;
        let (profile, measured) = measured(&scene);
        let mut rows = task_rows(profile, &scene.names, &measured);
        let by = order::by(&mut rows, scene.settings.sort);
        rows.truncate(scene.limited(rows.len()));
        match scene.settings.print {
            PrintMode::Text => tasks_text(&scene, &rows, by),
            PrintMode::Json => {
                let metrics = REGION_METRICS.iter();
                let quantities: Vec<Quantity> = metrics
                    .map(|&metric| Quantity::Time(Flavour::Exclusive, metric))
                    .collect();
                let rows = rows.iter().map(task_json).collect();
                json::report(&scene, "OMP_task", &quantities, rows)
            }
        }
    };
    session.print(&report)
}

/// How many contexts a construct's text tells, and how many creators and waits a task's; JSON has
/// all.
const LONGEST: usize = 3;

/// Microseconds with one decimal.
fn micros(value: f64) -> String {
    text::number(value * 1e6, 1)
}

fn tasks_text(scene: &Scene<'_>, rows: &[TaskRow], by: Option<String>) -> String {
    let by = by.map_or_else(
        || "their time".to_owned(),
        |metric| format!("metric: {metric}"),
    );
    let title = format!("Tasks sorted by {by}");
    if rows.is_empty() {
        return format!("{title}\n\nNo explicit task\n\n{}", footer(scene));
    }
    let name = |row: &TaskRow| placed(&row.name, &row.spot);
    let of_runs =
        |row: &TaskRow, value: &dyn Fn(&omp_model::views::openmp::tasks::Runs) -> String| {
            row.runs.as_ref().map_or_else(|| "-".to_owned(), value)
        };
    let table = Grid {
        headings: vec![
            ["OMP Work", "sec."],
            ["OMP Wait", "sec."],
            ["Instances", ""],
            ["Mean", "us"],
            ["Deviation", "us"],
            ["Least", "us"],
            ["Most", "us"],
            ["By another", "thread"],
            ["TASK", ""],
            ["Name", ""],
        ],
        rows: rows
            .iter()
            .map(|row| {
                vec![
                    seconds(row.time(Metric::OmpWork)),
                    seconds(row.time(Metric::OmpWait)),
                    of_runs(row, &|runs| runs.instances.to_string()),
                    of_runs(row, &|runs| micros(runs.mean())),
                    of_runs(row, &|runs| micros(runs.deviation())),
                    of_runs(row, &|runs| micros(runs.least)),
                    of_runs(row, &|runs| micros(runs.most)),
                    of_runs(row, &|runs| runs.elsewhere.to_string()),
                    contexts(&row.contexts),
                    name(row),
                ]
            })
            .collect(),
    };
    let mut report = format!("{title}\n\n{}\n", table.text());
    for row in rows {
        report.push_str(&format!("{}\n", name(row)));
        for (creator, count) in row.created.iter().take(LONGEST) {
            report.push_str(&match count {
                0 => format!("    created in {creator}\n"),
                count => format!("    created in {creator} ({count})\n"),
            });
        }
        for waited in row.waited.iter().take(LONGEST) {
            report.push_str(&format!(
                "    waited for at {} ({}, {} sec.)\n",
                waited.spot.short(),
                waited.kind,
                seconds(waited.seconds)
            ));
        }
    }
    format!("{report}\n{}", footer(scene))
}

fn task_json(row: &TaskRow) -> Value {
    let metrics = REGION_METRICS.iter().zip(row.seconds.iter());
    let values: Map<_, _> = metrics
        .map(|(&metric, &value)| {
            let quantity = Quantity::Time(Flavour::Exclusive, metric);
            (quantity.id(), json!(value))
        })
        .collect();
    let created = row.created.iter();
    let created: Vec<Value> = created
        .map(|(name, count)| json!({"name": name, "instances": count}))
        .collect();
    let waited = row.waited.iter();
    let waited: Vec<Value> = waited
        .map(|waited| {
            let mut object = Map::new();
            spot_fields(&mut object, &waited.spot);
            object.insert("kind".to_owned(), json!(waited.kind));
            object.insert("seconds".to_owned(), json!(waited.seconds));
            Value::Object(object)
        })
        .collect();
    let runs = row.runs;
    let mut object = Map::new();
    object.insert("name".to_owned(), json!(row.name));
    spot_fields(&mut object, &row.spot);
    object.insert("task".to_owned(), json!(numbers(&row.contexts)));
    object.insert("instances".to_owned(), json!(runs.map(|it| it.instances)));
    object.insert("elsewhere".to_owned(), json!(runs.map(|it| it.elsewhere)));
    object.insert("work".to_owned(), json!(runs.map(|it| it.work)));
    object.insert("mean".to_owned(), json!(runs.map(|it| it.mean())));
    object.insert("deviation".to_owned(), json!(runs.map(|it| it.deviation())));
    object.insert("least".to_owned(), json!(runs.map(|it| it.least)));
    object.insert("most".to_owned(), json!(runs.map(|it| it.most)));
    object.insert("created".to_owned(), json!(created));
    object.insert("waited".to_owned(), json!(waited));
    object.insert("values".to_owned(), Value::Object(values));
    Value::Object(object)
}
