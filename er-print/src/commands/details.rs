//! `fsummary`, `lsummary`, `psummary`, `fsingle`: rows with all their metrics, and where they come
//! from.

use std::collections::HashMap;

use omp_model::ids::{FrameId, ModuleId};
use omp_model::metrics::{Flavour, Metric, Quantity};
use omp_model::profile::Callee;
use omp_model::spelling::nearest;
use omp_model::symbols::{Function, FunctionId, Place};
use omp_model::views::functions::List;
use omp_model::views::names::{NameForm, NameStyle, Names, unqualified};
use omp_model::views::{Request, Row, annotated, functions as view, lines as line_view};
use serde_json::{Map, Value, json};

use super::compare::{self, Beside};
use super::functions::seconds;
use super::lists::footer;
use crate::failure::Stop;
use crate::json;
use crate::session::{PrintMode, Scene, Session};
use crate::text;

/// What rows of a summary are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Of {
    /// Functions.
    Functions,
    /// Source lines.
    Lines,
    /// Instructions.
    Pcs,
}

impl Of {
    /// The command.
    pub(super) const fn view(self) -> &'static str {
        match self {
            Of::Functions => "fsummary",
            Of::Lines => "lsummary",
            Of::Pcs => "psummary",
        }
    }

    /// What the text calls them.
    pub(super) const fn title(self) -> &'static str {
        match self {
            Of::Functions => "Functions",
            Of::Lines => "Lines",
            Of::Pcs => "PCs",
        }
    }

    fn list(self, scene: &Scene<'_>) -> List {
        let (profile, names, request) = (scene.profile(), &scene.names, &scene.request);
        match self {
            Of::Functions => view::functions(profile, names, request),
            Of::Lines => line_view::lines(profile, names, request),
            Of::Pcs => annotated::pcs(profile, names, request),
        }
    }
}

/// Every function in detail.
pub(crate) fn fsummary(session: &mut Session<'_>, _: &[String]) -> Result<(), Stop> {
    summary(session, Of::Functions)
}

/// Every line in detail.
pub(crate) fn lsummary(session: &mut Session<'_>, _: &[String]) -> Result<(), Stop> {
    summary(session, Of::Lines)
}

/// Every instruction in detail.
pub(crate) fn psummary(session: &mut Session<'_>, _: &[String]) -> Result<(), Stop> {
    summary(session, Of::Pcs)
}

fn summary(session: &mut Session<'_>, of: Of) -> Result<(), Stop> {
    let report = match Beside::of(session)? {
        Some(beside) => compare::summary(&beside.with_all_metrics(), of)?,
        None => {
            let scene = session.scene()?.with_all_metrics();
            summary_report(&scene, of, &of.list(&scene))
        }
    };
    session.print(&report)
}

/// Every row of a list in detail.
fn summary_report(scene: &Scene<'_>, of: Of, list: &List) -> String {
    let facts = Facts::new(scene, of);
    let all = std::iter::once(&list.total).chain(&list.rows);
    let rows = all.take(scene.limited(list.rows.len() + 1));
    match scene.settings.print {
        PrintMode::Json => {
            let quantities = both_flavours(&scene.request);
            let object = |row: &Row| object(&facts, &scene.request, row);
            let rows = rows.map(object).collect();
            json::report(scene, of.view(), &quantities, rows)
        }
        PrintMode::Text => {
            let by = scene.request.sort.quantity.label();
            let details: String = rows
                .map(|row| entries(&facts, &scene.request, row, &list.total) + "\n")
                .collect();
            let title = of.title();
            format!(
                "{title} sorted by metric: {by}\n\n{details}{}",
                footer(scene)
            )
        }
    }
}

/// One function in detail: all metrics that it has any time of.
pub(crate) fn fsingle(session: &mut Session<'_>, arguments: &[String]) -> Result<(), Stop> {
    let name = &arguments[0];
    let number = match arguments.get(1) {
        Some(word) => Some(super::count("fsingle", word)?),
        None => None,
    };
    let report = match Beside::of(session)? {
        Some(beside) => compare::single(&beside.with_all_metrics(), name, number)?,
        None => {
            let scene = session.scene()?.with_all_metrics();
            let list = Of::Functions.list(&scene);
            let row = choose(&scene, &list, name, number)?;
            let facts = Facts::new(&scene, Of::Functions);
            match scene.settings.print {
                PrintMode::Text => {
                    // In detail a function has its whole name, whatever lists show.
                    let row = Row {
                        name: facts.long_name(row),
                        ..row.clone()
                    };
                    entries(&facts, &scene.request, &row, &list.total) + "\n" + &footer(&scene)
                }
                PrintMode::Json => {
                    let quantities = both_flavours(&scene.request);
                    let rows = vec![object(&facts, &scene.request, row)];
                    json::report(&scene, "fsingle", &quantities, rows)
                }
            }
        }
    };
    session.print(&report)
}

/// Both flavours of each metric.
pub(super) fn both_flavours(request: &Request) -> Vec<Quantity> {
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
            .filter(|row| is_called(&scene.names, row, name))
            .collect();
    }
    if found.is_empty() {
        // A function of that name in some scope.
        let bare = |row: &&Row| {
            symbol(&scene.names, row).is_some_and(|(_, function)| {
                function.outlined.is_none() && unqualified(&function.name) == name
            })
        };
        found = list.rows.iter().filter(bare).collect();
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
                .map(|(at, row)| format!("{} ({})", at + 1, origin(&scene.names, row)))
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
fn is_called(names: &Names<'_>, row: &Row, name: &str) -> bool {
    symbol(names, row).is_some_and(|(id, _)| {
        let forms = names.forms(Callee::Function(id));
        forms.iter().any(|form| form == name)
    })
}

/// The function that begins at a row's address, else the one that it lies in; of several names of
/// one address the first stands for all.
fn symbol<'a>(names: &Names<'a>, row: &Row) -> Option<(FunctionId, &'a Function)> {
    let code = row.code?;
    let functions = (0..).map(FunctionId).zip(&names.symbols.functions);
    let mut around = None;
    for (id, function) in functions.filter(|(_, it)| it.module == code.module) {
        if function.address == code.address {
            return Some((id, function));
        }
        let inside = code.address.checked_sub(function.address);
        if around.is_none() && inside.is_some_and(|offset| offset < function.size) {
            around = Some((id, function));
        }
    }
    around
}

fn origin(names: &Names<'_>, row: &Row) -> String {
    match row.code {
        Some(code) => format!(
            "{} at {}",
            names.object_name(code.module),
            text::address(row.code)
        ),
        None => "no code".to_owned(),
    }
}

/// Where rows come from.
pub(super) struct Facts<'a> {
    names: Names<'a>,
    /// Of instructions: their lines.
    lines: Option<HashMap<(ModuleId, u64), Place>>,
}

impl<'a> Facts<'a> {
    pub(super) fn new(scene: &Scene<'a>, of: Of) -> Facts<'a> {
        let names = scene.names;
        let lines = || {
            let frames = (0..).map(FrameId).zip(names.tables.frames.rows());
            let line = |(id, frame): (FrameId, &omp_model::tables::Frame)| {
                let place = names.symbols.frame(id).places.first()?.place;
                Some(((frame.module, frame.address), place))
            };
            frames.filter_map(line).collect()
        };
        Facts {
            names,
            lines: (of == Of::Pcs).then(lines),
        }
    }

    /// What is known of a row, by its key in JSON; null for what is not.
    pub(super) fn of(&self, row: &Row) -> Map<String, Value> {
        let function = symbol(&self.names, row).map(|(_, function)| function);
        let place = match &self.lines {
            Some(lines) => row
                .code
                .and_then(|code| lines.get(&(code.module, code.address)).copied()),
            None => function.and_then(|function| function.place),
        };
        let file = place.and_then(|place| self.names.symbols.files.get(place.file.0 as usize));
        let object = row
            .code
            .and_then(|code| self.names.tables.modules.get(code.module.0));
        // Symbols of assembly tell no size.
        let size = row.code.map(|code| code.size).filter(|&size| size > 0);
        let facts = [
            ("size", json!(size)),
            ("address", json!(row.code.map(|_| text::address(row.code)))),
            ("file", json!(file)),
            ("line", json!(place.map(|place| place.line))),
            ("object", json!(object.map(|object| &object.path))),
            (
                "mangled",
                json!(function.filter(|it| it.has_symbol()).map(|it| &it.linkage)),
            ),
        ];
        let facts = facts.map(|(key, value)| (key.to_owned(), value));
        facts.into_iter().collect()
    }

    /// The same as a text has it: labels and values; nothing for what has no code.
    pub(super) fn lines(&self, row: &Row) -> Vec<(&'static str, String)> {
        if row.code.is_none() {
            return Vec::new();
        }
        let facts = self.of(row);
        let fact = |key: &str| match &facts[key] {
            Value::Null => None,
            Value::String(text) => Some(text.clone()),
            other => Some(other.to_string()),
        };
        let source = fact("file").zip(fact("line"));
        let source = source.map(|(file, line)| format!("{file}:{line}"));
        let lines = [
            ("Size", fact("size")),
            ("PC Address", fact("address")),
            ("Source File", source),
            ("Load Object", fact("object")),
            ("Mangled Name", fact("mangled")),
        ];
        let known = |value: Option<String>| value.unwrap_or_else(|| "(unknown)".to_owned());
        // An instruction's size is no part of a recording.
        let skipped = usize::from(self.lines.is_some());
        lines
            .into_iter()
            .skip(skipped)
            .map(|(label, value)| (label, known(value)))
            .collect()
    }

    /// The whole name of a row's function, whatever lists show.
    fn long_name(&self, row: &Row) -> String {
        let style = NameStyle {
            form: NameForm::Long,
            soname: false,
        };
        let names = Names {
            style,
            ..self.names
        };
        match symbol(&names, row) {
            Some((id, _)) => names.name(Callee::Function(id)),
            None => row.name.clone(),
        }
    }
}

/// A row with where it comes from.
fn object(facts: &Facts<'_>, request: &Request, row: &Row) -> Value {
    let time = |quantity| seconds(request, row, quantity);
    let mut object = Map::new();
    object.insert("name".to_owned(), json!(row.name));
    let values = json::values(&both_flavours(request), row.code, time);
    object.insert("values".to_owned(), values);
    object.extend(facts.of(row));
    Value::Object(object)
}

/// A name and a line for each metric that the row has time of, and for each fact.
fn entries(facts: &Facts<'_>, request: &Request, row: &Row, total: &Row) -> String {
    let mut entries: Vec<(String, String)> = Vec::new();
    for quantity in both_flavours(request) {
        let Quantity::Time(_, metric) = quantity else {
            continue;
        };
        if seconds(request, row, Quantity::Time(Flavour::Inclusive, metric)) == 0.0 {
            continue;
        }
        let part = seconds(request, row, quantity);
        let percent = text::percent(part, seconds(request, total, quantity));
        entries.push((
            quantity.label(),
            format!("{:>8} ({percent:6.2}%)", text::seconds(part)),
        ));
    }
    let known = facts.lines(row).into_iter();
    entries.extend(known.map(|(label, value)| (label.to_owned(), value)));
    labelled(&row.name, &entries)
}

/// Labels right-aligned before their values, under a name.
pub(super) fn labelled(name: &str, entries: &[(String, String)]) -> String {
    let width = entries.iter().map(|(label, _)| label.len()).max();
    let width = width.unwrap_or(0);
    let lines: String = entries
        .iter()
        .map(|(label, value)| format!("\t{label:>width$}: {value}\n"))
        .collect();
    format!("{name}\n{lines}")
}
