//! `disasm`: the instructions of a function with their time.

use std::collections::BTreeMap;

use omp_model::ids::{FrameId, ModuleId};
use omp_model::profile::Callee;
use omp_model::symbolize::{self, Files};
use omp_model::symbols::{FileId, FunctionId, InlinedPlace, SymbolTable};
use omp_model::tables::{Frame, Tables};
use omp_model::views::annotated::{LineTimes, PcRow, merge, pcs};
use omp_model::views::names::base_name;
use serde_json::{Value, json};

use super::lists::footer;
use super::source::{self, Hot};
use crate::code::{Decoded, Image};
use crate::failure::Stop;
use crate::json;
use crate::session::{PrintMode, Scene, Session};
use crate::text::{self, Annotated};

/// The annotated instructions of a function.
pub(crate) fn disasm(session: &mut Session<'_>, arguments: &[String]) -> Result<(), Stop> {
    let number = match arguments.get(1) {
        Some(word) => Some(super::count("disasm", word)?),
        None => None,
    };
    let report = {
        let scene = session.scene()?;
        let id = find(&scene, &arguments[0], number)?;
        let listing = Listing::new(&scene, id)?;
        match scene.settings.print {
            PrintMode::Text => listing.text(&scene),
            PrintMode::Json => listing.json(&scene),
        }
    };
    session.print(&report)
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

/// A function's instructions.
struct Listing {
    name: String,
    object: String,
    found: Option<String>,
    warning: Option<String>,
    module: ModuleId,
    start: u64,
    total: LineTimes,
    rows: Vec<Row>,
}

struct Row {
    address: u64,
    text: String,
    times: Option<LineTimes>,
    hot: bool,
    places: Vec<InlinedPlace>,
}

impl Listing {
    fn new(scene: &Scene<'_>, id: FunctionId) -> Result<Listing, Stop> {
        let names = &scene.names;
        let function = &names.symbols.functions[id.0 as usize];
        let module = names.tables.modules.get(function.module.0);
        let object = module.map(|module| module.path.clone()).unwrap_or_default();
        let places = &scene.settings.places;
        let path = places.find(&object, &scene.recording.names);
        let image = match &path {
            Some(path) => Image::open(path),
            None => Err("there is no such file here".to_owned()),
        };
        let (image, mut warning) = match image {
            Ok(image) => (Some(image), None),
            Err(why) => (
                None,
                Some(format!(
                    "cannot read the load object {object}: {why}; setpath, addpath or pathmap \
                     tell where it is"
                )),
            ),
        };
        let mut code = Vec::new();
        if let Some(image) = &image {
            let (recorded, now) = (module.map(|module| &module.build_id), image.build_id());
            if recorded.is_some_and(|id| !id.is_empty() && Some(id) != now.as_ref()) {
                warning = Some(format!(
                    "{object} has changed since the recording (its build id is another): its \
                     instructions are not shown"
                ));
            } else {
                code = image.instructions(function.address, function.size);
                if code.is_empty() {
                    warning = Some(format!("{object} has no x86-64 code there"));
                }
            }
        }
        let (total, rows) = pcs(scene.profile, names, &scene.request);
        let here: Vec<PcRow> = rows
            .into_iter()
            .filter(|row| {
                row.row.code.is_some_and(|code| {
                    (code.module, code.address) == (function.module, function.address)
                })
            })
            .collect();
        let mut rows = times_of(&code, here);
        lines_of(scene, function.module, &mut rows);
        let times = rows.iter().filter_map(|row| row.times.as_ref());
        let hot = Hot::new(scene, times, places.instruction_hot);
        for row in &mut rows {
            row.hot = row.times.as_ref().is_some_and(|times| hot.is(times));
        }
        Ok(Listing {
            name: names.name(Callee::Function(id)),
            found: path.map(|path| path.display().to_string()),
            object,
            warning,
            module: function.module,
            start: function.address,
            total: LineTimes {
                exclusive: total.exclusive,
                inclusive: total.inclusive,
            },
            rows,
        })
    }
}

/// Instructions with the time of the addresses in them; without code, the addresses alone.
fn times_of(code: &[Decoded], times: Vec<PcRow>) -> Vec<Row> {
    let mut by_address = BTreeMap::<u64, LineTimes>::new();
    for pc in times {
        let Some((_, address)) = pc.at else {
            continue;
        };
        let inside = code.partition_point(|at| at.address <= address);
        let start = inside
            .checked_sub(1)
            .map(|at| &code[at])
            .filter(|at| address < at.address + at.length)
            .map_or(address, |at| at.address);
        match by_address.entry(start) {
            std::collections::btree_map::Entry::Occupied(mut sum) => merge(sum.get_mut(), &pc.row),
            std::collections::btree_map::Entry::Vacant(new) => {
                new.insert(LineTimes {
                    exclusive: pc.row.exclusive,
                    inclusive: pc.row.inclusive,
                });
            }
        }
    }
    let mut rows: BTreeMap<u64, Row> = BTreeMap::new();
    let row = |address, text: &str| Row {
        address,
        text: text.to_owned(),
        times: None,
        hot: false,
        places: Vec::new(),
    };
    for at in code {
        rows.insert(at.address, row(at.address, &at.text));
    }
    for (address, times) in by_address {
        rows.entry(address)
            .or_insert_with(|| row(address, "(not shown)"))
            .times = Some(times);
    }
    rows.into_values().collect()
}

/// Finds the source lines of instructions, inlined functions' too.
fn lines_of(scene: &Scene<'_>, module: ModuleId, rows: &mut [Row]) {
    let Some(object) = scene.names.tables.modules.get(module.0) else {
        return;
    };
    let mut tables = Tables::default();
    let own = tables.module(object.clone());
    let frames: Vec<FrameId> = rows
        .iter()
        .map(|row| {
            tables.frame(Frame {
                module: own,
                address: row.address,
            })
        })
        .collect();
    let table: SymbolTable = symbolize::resolve(&tables, &mut Files::default());
    // Files of this table have numbers of their own.
    let known: Vec<Option<FileId>> = table
        .files
        .iter()
        .map(|path| {
            let all = &scene.names.symbols.files;
            let at = all.iter().position(|known| known == path)?;
            Some(FileId(at as u32))
        })
        .collect();
    for (row, frame) in rows.iter_mut().zip(frames) {
        let places = table.frame(frame).places.iter();
        row.places = places
            .filter_map(|at| {
                let file = (*known.get(at.place.file.0 as usize)?)?;
                let mut at = at.clone();
                at.place.file = file;
                Some(at)
            })
            .collect();
    }
}

impl Listing {
    fn text(&self, scene: &Scene<'_>) -> String {
        let comments = scene.settings.places.instruction_comments;
        let mut sources = BTreeMap::new();
        let mut lines = Vec::new();
        let mut before: Option<&InlinedPlace> = None;
        let note = |text: String| Annotated {
            hot: false,
            times: None,
            text,
        };
        for row in &self.rows {
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
                hot: row.hot,
                times: row
                    .times
                    .as_ref()
                    .map(|times| source::cells(scene, times, &self.total.exclusive)),
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

    fn json(&self, scene: &Scene<'_>) -> String {
        let quantities = source::time_quantities(scene);
        let files = &scene.names.symbols.files;
        let place = |at: &InlinedPlace| {
            json!({
                "function": at.function,
                "file": files.get(at.place.file.0 as usize),
                "line": at.place.line,
            })
        };
        let row = |row: &Row| {
            let times = row.times.as_ref();
            json!({
                "address": row.address,
                "text": row.text,
                "hot": row.hot,
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
        let total = source::values(scene, &quantities, &self.total);
        object.insert("total".to_owned(), total);
        object.insert("rows".to_owned(), self.rows.iter().map(row).collect());
        json::finish(scene, object)
    }
}
