//! `resymbolize`: names an old recording anew, and asks debuginfod for files that are not here.

use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use experiment::Experiment;
use experiment::ids::ModuleId;
use experiment::tables::{Module, Tables};
use report::Document;
use report::document::{Block, Line};
use serde_json::{Map, Value as Json, json};
use symbolize::{Files, KernelFunction, Renewed, SymbolSource, Symbols};

use super::experiments;
use crate::output::say;
use crate::session::Session;
use crate::stop::Stop;

/// The client of debuginfod (elfutils), which keeps what it gets in its cache.
const CLIENT: &str = "debuginfod-find";
/// The servers that it asks; none without it.
const SERVERS: &str = "DEBUGINFOD_URLS";

/// Names the frames of all open experiments anew, and stores the names.
pub(crate) fn resymbolize(session: &mut Session<'_>, _: &[String]) -> Result<(), Stop> {
    let all = session.experiments().iter();
    let all: Vec<(PathBuf, usize)> = all
        .map(|it| (it.experiment.path.clone(), it.side))
        .collect();
    if let Some((file, _)) = all.iter().find(|(path, _)| perf_data::is_perf_data(path)) {
        return Err(Stop::Usage(format!(
            "{} is a file of perf record, whose names are looked up each time that it is opened: \
             resymbolize is for experiments of collect",
            file.display()
        )));
    }
    let mut rows = Vec::new();
    let mut lines = Vec::new();
    for (path, _) in &all {
        let (tables, renewed) = renew(path)?;
        let name = path.display().to_string();
        tell(&name, &tables, &renewed, &mut lines);
        rows.push(row(&name, &tables, &renewed));
    }
    session.set_experiments(experiments::open(&all)?);
    session.show(&Document {
        view: "resymbolize".to_owned(),
        facts: Map::from_iter([("rows".to_owned(), Json::Array(rows))]),
        blocks: vec![Block::Lines(lines)],
        is_bare: true,
        ..Document::default()
    })
}

/// Names one experiment anew.
fn renew(path: &Path) -> Result<(Tables, Renewed), Stop> {
    let failed = |error: &dyn std::fmt::Display| Stop::Data(error.to_string());
    let opened = Experiment::open(path).map_err(|error| failed(&error))?;
    let old = opened.symbols.unwrap_or_default();
    let mut tables = opened.tables;
    let frames = tables.frames.len() as u32;
    let mut source = Source::of(&tables);
    source.download();
    let (symbols, renewed) = symbolize::renew(&mut tables, &old, &mut source);
    experiment::replace_symbols(path, frames, &tables, &symbols).map_err(|error| failed(&error))?;
    Ok((tables, renewed))
}

/// The last part of a load object's path.
fn name_of(tables: &Tables, module: ModuleId) -> &str {
    let path = tables.modules.get(module.0).map(|row| row.path.as_str());
    match module {
        ModuleId::KERNEL => "the kernel",
        _ => path
            .and_then(|path| path.rsplit('/').next())
            .unwrap_or_default(),
    }
}

fn tell(name: &str, tables: &Tables, renewed: &Renewed, lines: &mut Vec<Line>) {
    let better: Vec<&str> = renewed
        .better
        .iter()
        .map(|id| name_of(tables, *id))
        .collect();
    lines.push(Line::plain(match better.as_slice() {
        [] => format!("{name}: no load object has more names than before"),
        better => format!("{name}: more names than before: {}", better.join(", ")),
    }));
    for (module, why) in &renewed.misses {
        let object = name_of(tables, *module);
        lines.push(Line::warning(format!("  {object}: {why}")));
    }
}

fn row(name: &str, tables: &Tables, renewed: &Renewed) -> Json {
    let better: Vec<&str> = renewed
        .better
        .iter()
        .map(|id| name_of(tables, *id))
        .collect();
    let missing = renewed.misses.iter();
    let missing: Json = missing
        .map(|(module, why)| json!({"object": name_of(tables, *module), "why": why}))
        .collect();
    json!({"experiment": name, "better": better, "missing": missing})
}

/// The files of this machine, with those that debuginfod has.
struct Source {
    files: Files,
    /// The load objects in which something was measured.
    wanted: Vec<Module>,
}

impl Source {
    /// The files of the load objects in which something was measured.
    fn of(tables: &Tables) -> Source {
        let mut ids: Vec<ModuleId> = tables.frames.rows().iter().map(|it| it.module).collect();
        ids.sort_unstable();
        ids.dedup();
        let modules = ids.iter().filter_map(|id| tables.modules.get(id.0));
        let is_file =
            |module: &&Module| module.path.starts_with('/') && !module.build_id.is_empty();
        Source {
            files: Files::default(),
            wanted: modules.filter(is_file).cloned().collect(),
        }
    }

    /// Asks debuginfod for what is not here. What it does not have stays missing, and is told with the
    /// other misses.
    fn download(&mut self) {
        if std::env::var_os(SERVERS).is_none_or(|servers| servers.is_empty()) {
            return;
        }
        let count = self.wanted.len();
        for (module, number) in self.wanted.iter().zip(1..) {
            let name = module.path.rsplit('/').next().unwrap_or_default();
            let ask = |what: &str| {
                say(format!(
                    "asking debuginfod for the {what} of {name} ({number} of {count})"
                ));
                find(what, &module.build_id)
            };
            let mut opened = open(&self.files, module);
            if opened.is_err() {
                match ask("executable") {
                    Ok(Some(path)) => {
                        let row = (module.path.clone(), module.build_id.clone());
                        self.files.paths.insert(row, path);
                        opened = open(&self.files, module);
                    }
                    Ok(None) => {}
                    Err(why) => return say(why),
                }
            }
            if opened.is_ok_and(|symbols| symbols.lines_miss().is_some()) {
                match ask("debuginfo") {
                    Ok(Some(path)) => self
                        .files
                        .folders
                        .known
                        .push((module.build_id.clone(), path)),
                    Ok(None) => {}
                    Err(why) => return say(why),
                }
            }
        }
    }
}

fn open(files: &Files, module: &Module) -> Result<Symbols, String> {
    files.clone().symbols(module)
}

/// Asks for a file of a build. `None` if no server has it.
///
/// # Errors
/// If nobody can be asked, in a sentence.
fn find(what: &str, build_id: &str) -> Result<Option<PathBuf>, String> {
    let mut client = Command::new(CLIENT);
    client.args([what, build_id]).stdin(Stdio::null());
    // Its messages and, in a terminal, its progress are for the user.
    client.stderr(Stdio::inherit());
    if io::stderr().is_terminal() {
        client.env("DEBUGINFOD_PROGRESS", "1");
    }
    match client.output() {
        Ok(said) if said.status.success() => {
            let path = String::from_utf8_lossy(&said.stdout).trim_end().to_owned();
            Ok(Some(PathBuf::from(path)).filter(|path| path.is_absolute()))
        }
        Ok(_) => Ok(None),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err(format!(
            "{SERVERS} is set, but {CLIENT} is not installed: install debuginfod's client (elfutils), \
             or unset {SERVERS}; the names come from the files of this machine"
        )),
        Err(error) => Err(format!(
            "cannot run {CLIENT}: {error}; the names come from the files of this machine"
        )),
    }
}

impl SymbolSource for Source {
    fn symbols(&mut self, module: &Module) -> Result<Symbols, String> {
        self.files.symbols(module)
    }

    fn kernel(&mut self, _: &[u64]) -> Result<Vec<Option<KernelFunction>>, String> {
        Err("its functions are named while it is recorded: another kernel may run now".to_owned())
    }

    fn source(&mut self, path: &str) -> Option<Vec<u8>> {
        self.files.source(path)
    }
}
