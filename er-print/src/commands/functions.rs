//! `functions`, `lines`, `fsingle`.

use omp_model::metrics::{Flavour, Metric, Quantity};
use omp_model::spelling::nearest;
use omp_model::views::functions::List;
use omp_model::views::names::{NameForm, NameStyle, Names};
use omp_model::views::{Request, Row, functions as view, lines as line_view};
use serde_json::{Value, json};

use super::compare::{self, Beside};
use super::lists::footer;
use crate::failure::Stop;
use crate::json;
use crate::session::{PrintMode, Scene, Session};
use crate::text::{self, Line};

/// The list of functions.
pub(crate) fn functions(session: &mut Session<'_>, _: &[String]) -> Result<(), Stop> {
    let text = match Beside::of(session)? {
        Some(beside) => compare::functions(&beside)?,
        None => {
            let scene = session.scene()?;
            let list = view::functions(scene.profile, &scene.names, &scene.request);
            report(&scene, "functions", "Functions", &list)
        }
    };
    session.print(&text)
}

/// The list of source lines.
pub(crate) fn lines(session: &mut Session<'_>, _: &[String]) -> Result<(), Stop> {
    let text = match Beside::of(session)? {
        Some(beside) => compare::lines(&beside)?,
        None => {
            let scene = session.scene()?;
            let list = line_view::lines(scene.profile, &scene.names, &scene.request);
            report(&scene, "lines", "Lines", &list)
        }
    };
    session.print(&text)
}

/// Every function in detail.
pub(crate) fn fsummary(session: &mut Session<'_>, _: &[String]) -> Result<(), Stop> {
    let report = {
        let scene = session.scene()?.with_all_metrics();
        let list = view::functions(scene.profile, &scene.names, &scene.request);
        summary_report(&scene, "fsummary", "Functions", &list)
    };
    session.print(&report)
}

/// Every line in detail.
pub(crate) fn lsummary(session: &mut Session<'_>, _: &[String]) -> Result<(), Stop> {
    let report = {
        let scene = session.scene()?.with_all_metrics();
        let list = line_view::lines(scene.profile, &scene.names, &scene.request);
        summary_report(&scene, "lsummary", "Lines", &list)
    };
    session.print(&report)
}

/// Every row of a list in detail.
pub(crate) fn summary_report(scene: &Scene<'_>, view: &str, title: &str, list: &List) -> String {
    let all = std::iter::once(&list.total).chain(&list.rows);
    let rows = all.take(scene.limited(list.rows.len() + 1));
    match scene.settings.print {
        PrintMode::Json => {
            let quantities = both_flavours(&scene.request);
            let object = |row: &Row| {
                let time = |quantity| seconds(&scene.request, row, quantity);
                detail_object(scene, row, |_| json::values(&quantities, row.code, time))
            };
            json::report(scene, view, &quantities, rows.map(object).collect())
        }
        PrintMode::Text => {
            let by = scene.request.sort.quantity.label();
            let details: String = rows
                .map(|row| entries(scene, &scene.request, row, &list.total) + "\n")
                .collect();
            format!(
                "{title} sorted by metric: {by}\n\n{details}{}",
                footer(scene)
            )
        }
    }
}

/// The seconds of a quantity in a row.
pub(crate) fn seconds(request: &Request, row: &Row, quantity: Quantity) -> f64 {
    let Quantity::Time(flavour, metric) = quantity else {
        return 0.0;
    };
    let values = match flavour {
        Flavour::Exclusive => &row.exclusive,
        Flavour::Inclusive | Flavour::Attributed => &row.inclusive,
    };
    request.index(metric).map_or(0.0, |at| values[at])
}

/// A list in the current form.
pub(crate) fn report(scene: &Scene<'_>, view: &str, title: &str, list: &List) -> String {
    let all = std::iter::once(&list.total).chain(&list.rows);
    let rows = all.take(scene.limited(list.rows.len() + 1));
    match scene.settings.print {
        PrintMode::Json => {
            let metrics = json::quantities(&scene.columns);
            let rows: Vec<Value> = rows
                .map(|row| {
                    let time = |quantity| seconds(&scene.request, row, quantity);
                    json!({
                        "name": row.name,
                        "values": json::values(&metrics, row.code, time),
                    })
                })
                .collect();
            json::report(scene, view, &metrics, rows)
        }
        PrintMode::Text => {
            let lines: Vec<Line<'_>> = rows.map(|row| line(scene, row, &list.total)).collect();
            let by = scene.request.sort.quantity.label();
            let table = scene.table(&scene.columns, &lines);
            format!(
                "{title} sorted by metric: {by}\n\n{table}\n{}",
                footer(scene)
            )
        }
    }
}

fn line<'a>(scene: &Scene<'_>, row: &'a Row, total: &Row) -> Line<'a> {
    let times = scene.columns.iter().map(|column| column.quantity);
    let times = times.filter(|quantity| matches!(quantity, Quantity::Time(..)));
    Line {
        times: times
            .map(|quantity| {
                let of = |row| seconds(&scene.request, row, quantity);
                (of(row), of(total))
            })
            .collect(),
        code: row.code,
        lead: " ".to_owned(),
        name: &row.name,
    }
}

/// One function in detail: all metrics that it has any time of.
pub(crate) fn fsingle(session: &mut Session<'_>, arguments: &[String]) -> Result<(), Stop> {
    let name = &arguments[0];
    let number = match arguments.get(1) {
        Some(word) => Some(super::count("fsingle", word)?),
        None => None,
    };
    let report = {
        let scene = session.scene()?;
        let available = scene.recording.available();
        let request = Request {
            metrics: available.metrics().to_vec(),
            sort: scene.request.sort,
        };
        let list = view::functions(scene.profile, &scene.names, &request);
        let row = choose(&scene, &list, name, number)?;
        match scene.settings.print {
            PrintMode::Text => detail(&scene, &request, row, &list.total),
            PrintMode::Json => {
                let quantities = both_flavours(&request);
                let time = |quantity| seconds(&request, row, quantity);
                let row_object =
                    detail_object(&scene, row, |_| json::values(&quantities, row.code, time));
                json::report(&scene, "fsingle", &quantities, vec![row_object])
            }
        }
    };
    session.print(&report)
}

fn both_flavours(request: &Request) -> Vec<Quantity> {
    let flavours = [Flavour::Exclusive, Flavour::Inclusive];
    let times = |&metric: &Metric| flavours.map(|flavour| Quantity::Time(flavour, metric));
    request.metrics.iter().flat_map(times).collect()
}

/// The row of a name: as shown, as long, short or mangled; the `number`-th of several, in the
/// order of their addresses.
pub(crate) fn choose<'a>(
    scene: &Scene<'_>,
    list: &'a List,
    name: &str,
    number: Option<usize>,
) -> Result<&'a Row, Stop> {
    let all = || std::iter::once(&list.total).chain(&list.rows);
    let mut found: Vec<&Row> = all().filter(|row| row.name == name).collect();
    if found.is_empty() {
        found = list
            .rows
            .iter()
            .filter(|row| is_called(scene, row, name))
            .collect();
    }
    found.sort_by_key(|row| row.code.map(|code| (code.module, code.address)));
    match (found.as_slice(), number) {
        ([], _) => {
            let known = all().map(|row| row.name.as_str());
            let hint = match nearest(name, known) {
                Some(near) => format!("did you mean \"{near}\"?"),
                None => "the command functions lists those that have any time".to_owned(),
            };
            Err(Stop::Words(format!(
                "there is no function \"{name}\": {hint}"
            )))
        }
        ([row], None) => Ok(row),
        (several, None) => {
            let choices: Vec<String> = several
                .iter()
                .enumerate()
                .map(|(at, row)| format!("{} ({})", at + 1, object(&scene.names, row)))
                .collect();
            let choices = choices.join(", ");
            Err(Stop::Words(format!(
                "{} functions are called \"{name}\": write fsingle NAME N with N from {choices}",
                several.len()
            )))
        }
        (several, Some(number)) => {
            let at = number.checked_sub(1);
            at.and_then(|at| several.get(at).copied()).ok_or_else(|| {
                Stop::Words(format!(
                    "functions called \"{name}\" are numbered 1 to {}: there is no {number}",
                    several.len()
                ))
            })
        }
    }
}

/// Whether a row's function has this name in any form.
fn is_called(scene: &Scene<'_>, row: &Row, name: &str) -> bool {
    let Some(function) = symbol(&scene.names, row) else {
        return false;
    };
    // The body of a construct, without the symbol that only its compiler gives it.
    let words = row.name.split_once(" [").map(|(words, _)| words);
    if function.outlined.is_some() && words == Some(name) {
        return true;
    }
    let short = omp_model::views::names::without_parameters(&function.name);
    [function.linkage.as_str(), function.name.as_str(), short].contains(&name)
}

fn symbol<'a>(names: &Names<'a>, row: &Row) -> Option<&'a omp_model::symbols::Function> {
    let code = row.code?;
    let here = |function: &&omp_model::symbols::Function| {
        function.module == code.module && function.address == code.address
    };
    names.symbols.functions.iter().find(here)
}

fn object(names: &Names<'_>, row: &Row) -> String {
    match row.code {
        Some(code) => format!(
            "{} at {}",
            names.object_name(code.module),
            text::address(row.code)
        ),
        None => "no code".to_owned(),
    }
}

/// A row with where it comes from.
fn detail_object(scene: &Scene<'_>, row: &Row, values: impl Fn(&Row) -> Value) -> Value {
    let function = symbol(&scene.names, row);
    let place = function.and_then(|function| function.place);
    let file = place.and_then(|place| scene.names.symbols.files.get(place.file.0 as usize));
    let object = row
        .code
        .and_then(|code| scene.names.tables.modules.get(code.module.0));
    json!({
        "name": row.name,
        "values": values(row),
        "size": row.code.map(|code| code.size),
        "address": row.code.map(|_| text::address(row.code)),
        "file": file,
        "line": place.map(|place| place.line),
        "object": object.map(|object| &object.path),
        "mangled": function.filter(|it| it.has_symbol()).map(|it| &it.linkage),
    })
}

fn detail(scene: &Scene<'_>, request: &Request, row: &Row, total: &Row) -> String {
    let row = Row {
        name: long_name(scene, row),
        ..row.clone()
    };
    entries(scene, request, &row, total) + &footer(scene)
}

/// A name and a line for each fact.
fn entries(scene: &Scene<'_>, request: &Request, row: &Row, total: &Row) -> String {
    let facts = detail_object(scene, row, |_| Value::Null);
    let fact = |key: &str| match &facts[key] {
        Value::Null => "(unknown)".to_owned(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let mut entries: Vec<(String, String)> = Vec::new();
    for quantity in both_flavours(request) {
        let Quantity::Time(_, metric) = quantity else {
            continue;
        };
        if seconds(request, row, Quantity::Time(Flavour::Inclusive, metric)) == 0.0 {
            continue;
        }
        let (part, whole) = (
            seconds(request, row, quantity),
            seconds(request, total, quantity),
        );
        let percent = text::percent(part, whole);
        entries.push((
            quantity.label(),
            format!("{:>8} ({percent:6.2}%)", text::seconds(part)),
        ));
    }
    if row.code.is_some() {
        let source = match (&facts["file"], &facts["line"]) {
            (Value::String(file), line) => format!("{file}:{line}"),
            _ => "(unknown)".to_owned(),
        };
        entries.push(("Size".to_owned(), fact("size")));
        entries.push(("PC Address".to_owned(), fact("address")));
        entries.push(("Source File".to_owned(), source));
        entries.push(("Load Object".to_owned(), fact("object")));
        entries.push(("Mangled Name".to_owned(), fact("mangled")));
    }
    let width = entries
        .iter()
        .map(|(label, _)| label.len())
        .max()
        .unwrap_or(0);
    let lines: String = entries
        .iter()
        .map(|(label, value)| format!("\t{label:>width$}: {value}\n"))
        .collect();
    format!("{}\n{lines}", row.name)
}

/// In detail a function has its whole name, whatever lists show.
fn long_name(scene: &Scene<'_>, row: &Row) -> String {
    let style = NameStyle {
        form: NameForm::Long,
        soname: false,
    };
    let names = Names {
        style,
        ..scene.names
    };
    let id = symbol(&names, row).and_then(|function| {
        names
            .symbols
            .functions
            .iter()
            .position(|known| std::ptr::eq(known, function))
    });
    match id {
        Some(id) => {
            let id = omp_model::symbols::FunctionId(id as u32);
            names.name(omp_model::profile::Callee::Function(id))
        }
        None => row.name.clone(),
    }
}
