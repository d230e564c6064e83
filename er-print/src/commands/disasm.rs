//! `disasm`: the instructions of a function with their time.

use std::collections::BTreeMap;

use disassembly::{Code, Listing, Missing, Row};
use omp_model::ids::ModuleId;
use omp_model::profile::Callee;
use omp_model::symbols::{FunctionId, InlinedPlace};
use omp_model::views::names::base_name;
use serde_json::{Map, Value, json};

use super::lists::footer;
use super::source::{self, Hot};
use crate::failure::Stop;
use crate::json;
use crate::session::{PrintMode, Scene, Session};
use crate::text::{self, Annotated};
use report::settings::Compare;

/// The annotated instructions of a function.
pub(crate) fn disasm(session: &mut Session<'_>, arguments: &[String]) -> Result<(), Stop> {
    let number = match arguments.get(1) {
        Some(word) => Some(super::count("disasm", word)?),
        None => None,
    };
    let report = {
        let each = in_each(session, &arguments[0], number)?;
        let reports = each
            .iter()
            .map(|(scene, id)| (scene, Report::new(scene, *id)));
        match session.settings.print {
            PrintMode::Text => reports.map(|(scene, it)| it.text(scene)).collect(),
            PrintMode::Json => {
                // One object: the further listings stand in the first.
                let mut objects = reports.map(|(scene, it)| (scene, it.json(scene)));
                let (scene, mut first) = objects
                    .next()
                    .ok_or_else(|| Stop::words("disasm has nothing to show"))?;
                let others: Vec<Value> = objects.map(|(_, object)| object.into()).collect();
                if !others.is_empty() {
                    first.insert("others".to_owned(), json!(others));
                }
                json::finish(scene, first)
            }
        }
    };
    session.print(&report)
}

/// The function in all experiments together; in each by itself if its load object was built anew
/// between them, or if they are compared: instructions of two builds have nothing in common.
fn in_each<'s>(
    session: &'s Session<'_>,
    name: &str,
    number: Option<usize>,
) -> Result<Vec<(Scene<'s>, FunctionId)>, Stop> {
    let recordings = session.recordings();
    let together = |session: &'s Session<'_>| {
        let scene = session.scene()?;
        let id = find(&scene, name, number)?;
        Ok(vec![(scene, id)])
    };
    if recordings.len() < 2 {
        return together(session);
    }
    let mut each = Vec::new();
    let mut why = None;
    for recording in recordings {
        let scene = session.scene_of(recording)?;
        match find(&scene, name, number) {
            Ok(id) => each.push((scene, id)),
            Err(stop) => {
                why.get_or_insert(stop);
            }
        }
    }
    if each.is_empty() {
        return Err(why.unwrap_or_else(|| Stop::words("disasm needs an experiment")));
    }
    let build = |(scene, id): &(Scene<'s>, FunctionId)| {
        let function = &scene.names.symbols.functions[id.0 as usize];
        let module = scene.names.tables.modules.get(function.module.0);
        module.map(|module| match module.build_id.as_str() {
            "" => module.path.clone(),
            id => id.to_owned(),
        })
    };
    let one_build = each
        .windows(2)
        .all(|pair| build(&pair[0]) == build(&pair[1]));
    match one_build && session.settings.compare == Compare::Off {
        true => together(session),
        false => Ok(each),
    }
}

fn find(scene: &Scene<'_>, name: &str, number: Option<usize>) -> Result<FunctionId, Stop> {
    let symbols = scene.names.symbols;
    let found = source::functions_named(scene, name);
    if found.is_empty() {
        let known = symbols
            .functions
            .iter()
            .map(|function| omp_model::views::names::without_parameters(&function.name));
        let hint = match omp_model::spelling::nearest(name, known) {
            Some(near) => format!("did you mean \"{near}\"?"),
            None => "the command functions lists those that have any time".to_owned(),
        };
        return Err(Stop::Words(format!(
            "there is no function \"{name}\" with code: {hint}"
        )));
    }
    source::choose_one("disasm", name, &found, number, |id| {
        let function = &symbols.functions[id.0 as usize];
        format!(
            "{} at {}:0x{:08x}",
            scene.names.object_name(function.module),
            function.module.0,
            function.address
        )
    })
}

/// A function's instructions, and what is said of them.
struct Report {
    name: String,
    object: String,
    found: Option<String>,
    warning: Option<String>,
    module: ModuleId,
    start: u64,
    listing: Listing,
    /// Of each row, whether it is hot.
    hot: Vec<bool>,
}

impl Report {
    fn new(scene: &Scene<'_>, id: FunctionId) -> Report {
        let names = &scene.names;
        let function = &names.symbols.functions[id.0 as usize];
        let module = names.tables.modules.get(function.module.0);
        let object = module.map(|module| module.path.clone()).unwrap_or_default();
        let places = &scene.settings.annotation;
        let found = places.search.find(&object, &scene.recording.names);
        let code = Code::read(names, id, found.as_deref());
        let listing = Listing::new(scene.profile(), names, &scene.request, id, &code);
        let warning = code.missing.as_ref().map(|missing| match missing {
            Missing::File(why) => format!(
                "cannot read the load object {object}: {why}; setpath, addpath or pathmap tell \
                 where it is"
            ),
            missing => {
                let shown = found.as_ref().map(|path| path.display().to_string());
                format!("{} {missing}", shown.as_deref().unwrap_or(&object))
            }
        });
        let times = listing.rows.iter().filter_map(|row| row.times.as_ref());
        let hot = Hot::new(scene, times, places.instruction_hot);
        let is_hot = |row: &Row| row.times.as_ref().is_some_and(|times| hot.is(times));
        Report {
            name: names.name(Callee::Function(id)),
            found: found.map(|path| path.display().to_string()),
            object,
            warning,
            module: function.module,
            start: function.address,
            hot: listing.rows.iter().map(is_hot).collect(),
            listing,
        }
    }

    fn text(&self, scene: &Scene<'_>) -> String {
        let comments = scene.settings.annotation.instruction_comments;
        let mut sources = BTreeMap::new();
        let mut lines = Vec::new();
        let mut before: Option<&InlinedPlace> = None;
        let note = |text: String| Annotated {
            hot: false,
            times: None,
            text,
        };
        for (row, &hot) in self.listing.rows.iter().zip(&self.hot) {
            let at = row.places.first();
            if at.is_some() && at != before {
                if let (Some(at), true) = (at, comments.source) {
                    let source = sources
                        .entry(at.place.file)
                        .or_insert_with(|| source::read(scene, at.place.file));
                    let line = source.lines.get(at.place.line as usize - 1);
                    let line = line.map_or("", String::as_str);
                    lines.push(note(format!("{:>4}. {line}", at.place.line)));
                }
                if row.places.len() > 1 && comments.inlined {
                    lines.push(note(format!(
                        "      <{}>",
                        self.inlined(scene, &row.places)
                    )));
                }
                before = at;
            }
            let line = at.map_or_else(|| "?".to_owned(), |at| at.place.line.to_string());
            lines.push(Annotated {
                hot,
                times: row
                    .times
                    .as_ref()
                    .map(|times| source::cells(scene, times, &self.listing.total.exclusive)),
                text: format!("    [{line:>4}] {:>8x}:  {}", row.address, row.text),
            });
        }
        let found = self.found.as_deref().unwrap_or("(not found)");
        let warning = self.warning.iter();
        let warning: String = warning.map(|why| format!("Warning: {why}\n")).collect();
        format!(
            "Function: {}\nLoad Object: {} ({}:0x{:08x})\nFound as: {found}\n{warning}\n{}\n{}",
            self.name,
            self.object,
            self.module.0,
            self.start,
            text::annotated(&scene.columns, &lines),
            footer(scene)
        )
    }

    /// `bar, inlined at foo.c:12`.
    fn inlined(&self, scene: &Scene<'_>, places: &[InlinedPlace]) -> String {
        let file = |at: &InlinedPlace| {
            let path = scene.names.symbols.files.get(at.place.file.0 as usize);
            path.map_or("?", |path| base_name(path)).to_owned()
        };
        let chain = places.windows(2).map(|pair| {
            let name = pair[0].function.as_deref().unwrap_or("?");
            let place = format!("{}:{}", file(&pair[1]), pair[1].place.line);
            format!("{name}, inlined at {place}")
        });
        chain.collect::<Vec<_>>().join("; ")
    }

    fn json(&self, scene: &Scene<'_>) -> Map<String, Value> {
        let quantities = source::time_quantities(scene);
        let files = &scene.names.symbols.files;
        let place = |at: &InlinedPlace| {
            json!({
                "function": at.function,
                "file": files.get(at.place.file.0 as usize),
                "line": at.place.line,
            })
        };
        let row = |(row, hot): (&Row, &bool)| {
            let times = row.times.as_ref();
            json!({
                "address": row.address,
                "text": row.text,
                "hot": hot,
                "values": times.map(|times| source::values(scene, &quantities, times)),
                "places": row.places.iter().map(place).collect::<Vec<Value>>(),
            })
        };
        let mut object = json::envelope(scene, "disasm");
        object.insert("function".to_owned(), json!(self.name));
        object.insert("object".to_owned(), json!(self.object));
        object.insert("found".to_owned(), json!(self.found));
        object.insert("warning".to_owned(), json!(self.warning));
        object.insert(
            "metrics".to_owned(),
            quantities.iter().copied().map(json::metric).collect(),
        );
        let total = source::values(scene, &quantities, &self.listing.total);
        object.insert("total".to_owned(), total);
        let rows = self.listing.rows.iter().zip(&self.hot).map(row);
        object.insert("rows".to_owned(), rows.collect());
        object
    }
}
