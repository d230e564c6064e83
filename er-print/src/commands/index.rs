//! Index objects: `CPUs`, `Seconds`, `Processes`, `Experiment_IDs`, `Samples`, and `indxobj`, which
//! takes any of them by name.

use omp_model::filter::{self, Filter};
use omp_model::metrics::{Column, Flavour, Metric, Quantity};
use omp_model::recording::asks_when;
use omp_model::views::indexes::{self, IndexRow, Key};
use report::regions::regions;
use report::tasks::tasks;
use serde_json::{Map, Value, json};

use super::Action;
use super::compare::{self, Beside};
use super::lists::footer;
use crate::failure::Stop;
use crate::json;
use crate::session::{PrintMode, Scene, Session};
use crate::text::{self, Line};

/// A type of index object.
struct Type {
    name: &'static str,
    what: &'static str,
    action: Action,
}

const TYPES: [Type; 8] = [
    Type {
        name: "Threads",
        what: "a row for each thread",
        action: Action::Run(super::lists::threads),
    },
    Type {
        name: "CPUs",
        what: "a row for each CPU",
        action: Action::Run(cpus),
    },
    Type {
        name: "Samples",
        what: "a row for each sample point; this recorder takes none",
        action: Action::Run(samples),
    },
    Type {
        name: "Seconds",
        what: "a row for each second of the recording",
        action: Action::Run(seconds),
    },
    Type {
        name: "Processes",
        what: "a row for each process",
        action: Action::Run(processes),
    },
    Type {
        name: "Experiment_IDs",
        what: "a row for each experiment",
        action: Action::Run(experiments),
    },
    Type {
        name: "OMP_preg",
        what: "a row for each parallel region",
        action: Action::Show(|query, _| regions(query)),
    },
    Type {
        name: "OMP_task",
        what: "a row for each task construct",
        action: Action::Show(|query, _| tasks(query)),
    },
];

/// The names of the types that are built in.
pub(crate) fn index_types() -> impl Iterator<Item = &'static str> {
    TYPES.iter().map(|it| it.name)
}

/// Lists index objects of a type.
pub(crate) fn indxobj(session: &mut Session<'_>, arguments: &[String]) -> Result<(), Stop> {
    let word = arguments[0].to_lowercase();
    let defined = &session.settings.index_types;
    let known = TYPES.iter().map(|it| it.name);
    let names: Vec<String> = known
        .chain(defined.iter().map(|(name, _)| name.as_str()))
        .map(str::to_owned)
        .collect();
    let fits = |name: &&String| !word.is_empty() && name.to_lowercase().starts_with(&word);
    let exact = names.iter().find(|name| name.to_lowercase() == word);
    let found: Vec<&String> = names.iter().filter(fits).collect();
    let name = match (exact, found.as_slice()) {
        (Some(only), _) | (None, &[only]) => only,
        _ => {
            return Err(Stop::Words(format!(
                "indxobj takes one of {}, not \"{}\"",
                names.join(", "),
                arguments[0]
            )));
        }
    };
    match TYPES.iter().find(|it| it.name == name) {
        Some(known) => known.action.take(session, &[]),
        None => defined_objects(session, name),
    }
}

/// Time by the values of a user's expression.
fn defined_objects(session: &mut Session<'_>, name: &str) -> Result<(), Stop> {
    let types = &session.settings.index_types;
    let expression = types.iter().find(|(known, _)| known == name);
    let Some((_, expression)) = expression.cloned() else {
        return Err(Stop::Words(format!("indxobj has no type \"{name}\"")));
    };
    let title = format!("{name}: values of {}", expression.text());
    print(session, name, &title, |scene, metrics| {
        let source = scene.recording.facts(&scene.names);
        let samples = scene.recording.experiment.samples.iter();
        let profile = match asks_when(&expression) {
            true => scene.by_second(),
            false => scene.profile(),
        };
        let values = filter::values(&expression, profile, &source, samples);
        indexes::defined(profile, &values, metrics)
    })
}

/// Defines a type of index object.
pub(crate) fn indxobj_define(session: &mut Session<'_>, arguments: &[String]) -> Result<(), Stop> {
    let [name, expression] = arguments else {
        return Err(Stop::words("indxobj_define needs a TYPE and an EXPR"));
    };
    let plain = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    if !name.starts_with(|first: char| first.is_ascii_alphabetic()) || !name.chars().all(plain) {
        return Err(Stop::Words(format!(
            "indxobj_define takes a name of letters, digits and _, not \"{name}\""
        )));
    }
    if TYPES.iter().any(|it| it.name.eq_ignore_ascii_case(name)) {
        return Err(Stop::Words(format!(
            "indxobj_define cannot change {name}, which is built in: choose another name"
        )));
    }
    let expression = Filter::parse(expression)
        .map_err(|error| Stop::Words(format!("indxobj_define {name}: {error}")))?;
    let types = &mut session.settings.index_types;
    types.retain(|(known, _)| !known.eq_ignore_ascii_case(name));
    types.push((name.clone(), expression));
    Ok(())
}

/// Lists the types of index objects.
pub(crate) fn indxobj_list(session: &mut Session<'_>, _: &[String]) -> Result<(), Stop> {
    let known = TYPES.iter().map(|it| (it.name, it.what.to_owned()));
    let defined = session.settings.index_types.iter();
    let defined = defined.map(|(name, it)| (name.as_str(), format!("values of {}", it.text())));
    let types: Vec<(&str, String)> = known.chain(defined).collect();
    let report = match session.settings.print {
        PrintMode::Text => {
            let width = types.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
            let line = |(name, what): &(&str, String)| format!("    {name:<width$}  {what}\n");
            let lines: String = types.iter().map(line).collect();
            format!("Types of index objects\n\n{lines}\n")
        }
        PrintMode::Json => {
            let row = |(name, what): &(&str, String)| json!({"name": name, "help": what});
            let rows: Vec<Value> = types.iter().map(row).collect();
            format!("{}\n", json!({"view": "indxobj_list", "rows": rows}))
        }
    };
    session.print(&report)
}

/// Time by CPU.
pub(crate) fn cpus(session: &mut Session<'_>, _: &[String]) -> Result<(), Stop> {
    print(session, "CPUs", "CPUs by number", |scene, metrics| {
        let profile = scene.by_second();
        let source = scene.recording.facts(&scene.names);
        let filter = scene.settings.filter.as_ref().map(|it| (it, &source));
        let samples = scene.recording.experiment.samples.iter();
        let places = filter::on_cpus(profile, filter, samples);
        indexes::cpus(profile, &places, metrics)
    })
}

/// Time by second.
pub(crate) fn seconds(session: &mut Session<'_>, _: &[String]) -> Result<(), Stop> {
    let title = "Seconds since the recording began";
    print(session, "Seconds", title, |scene, metrics| {
        indexes::seconds(scene.by_second(), metrics)
    })
}

/// Time by process.
pub(crate) fn processes(session: &mut Session<'_>, _: &[String]) -> Result<(), Stop> {
    let title = "Processes by number";
    print(session, "Processes", title, |scene, metrics| {
        indexes::processes(scene.profile(), scene.names.tables, metrics)
    })
}

/// Time by experiment.
pub(crate) fn experiments(session: &mut Session<'_>, _: &[String]) -> Result<(), Stop> {
    let title = "Experiments in the order of their names";
    print(session, "Experiment_IDs", title, |scene, metrics| {
        indexes::experiments(scene.profile(), &scene.recording.origins, metrics)
    })
}

/// Time by sample point.
pub(crate) fn samples(session: &mut Session<'_>, _: &[String]) -> Result<(), Stop> {
    let title = "Sample points: none is recorded, all of a run is the first one's";
    print(session, "Samples", title, |scene, metrics| {
        indexes::samples(scene.profile(), metrics)
    })
}

fn print(
    session: &mut Session<'_>,
    view: &str,
    title: &str,
    rows: impl Fn(&Scene<'_>, &[Metric]) -> Vec<IndexRow>,
) -> Result<(), Stop> {
    // Experiments beside each other need no rows for experiments.
    let beside = match view {
        "Experiment_IDs" => None,
        _ => Beside::of(session)?,
    };
    let report = if let Some(beside) = beside {
        compare::index(&beside, (view, title), &rows)?
    } else {
        let scene = session.scene()?;
        let rows = rows(&scene, &scene.request.metrics);
        match scene.settings.print {
            PrintMode::Text => index_text(&scene, title, &rows),
            PrintMode::Json => index_json(&scene, view, &rows),
        }
    };
    session.print(&report)
}

fn index_text(scene: &Scene<'_>, title: &str, rows: &[IndexRow]) -> String {
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
    let total = |at: usize| rows.iter().map(|row| row.seconds[at]).sum::<f64>();
    let times = |values: &dyn Fn(usize) -> f64| -> Vec<(f64, f64)> {
        let indices = columns.iter().filter_map(|column| match column.quantity {
            Quantity::Time(_, metric) => scene.index(metric),
            _ => None,
        });
        indices.map(|at| (values(at), total(at))).collect()
    };
    let shown = &rows[..scene.limited(rows.len())];
    let names: Vec<String> = shown.iter().map(|row| row.key.name()).collect();
    let line = |times, name| Line {
        times,
        code: None,
        lead: " ".to_owned(),
        name,
    };
    let mut lines = vec![line(times(&total), omp_model::views::TOTAL)];
    for (row, name) in shown.iter().zip(&names) {
        lines.push(line(times(&|at| row.seconds[at]), name));
    }
    let table = text::table_in(scene.settings.layout, &columns, &lines);
    format!("{title}\n\n{table}\n{}", footer(scene))
}

fn index_json(scene: &Scene<'_>, view: &str, rows: &[IndexRow]) -> String {
    let metrics = &scene.request.metrics;
    let quantities: Vec<Quantity> = metrics
        .iter()
        .map(|&metric| Quantity::Time(Flavour::Exclusive, metric))
        .collect();
    let shown = &rows[..scene.limited(rows.len())];
    let rows = shown.iter().map(|row| {
        let values = quantities.iter().zip(row.seconds.iter());
        let values: Map<_, _> = values
            .map(|(quantity, &seconds)| (quantity.id(), json!(seconds)))
            .collect();
        let mut object = Map::new();
        object.insert("name".to_owned(), json!(row.key.name()));
        let field = match row.key {
            Key::Cpu(_) | Key::UnknownCpu | Key::OffCpu => "cpu",
            Key::Sample(_) => "sample",
            Key::Second(_) => "second",
            Key::Process(_) => "pid",
            Key::Experiment(_) => "experiment",
            Key::Value(_) => "value",
        };
        object.insert(field.to_owned(), json!(row.key.number()));
        object.insert("values".to_owned(), Value::Object(values));
        Value::Object(object)
    });
    json::report(scene, view, &quantities, rows.collect())
}
