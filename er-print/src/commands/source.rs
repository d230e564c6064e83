//! `source`: a file with the time of its lines.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use omp_model::metrics::{Column, Flavour, Metric, Quantity};
use omp_model::places::ARCHIVE;
use omp_model::profile::Callee;
use omp_model::spelling::nearest;
use omp_model::symbols::{FileId, FunctionId};
use omp_model::views::annotated::{FileTimes, Happened, LineTimes, Note, file_times};
use omp_model::views::names::{base_name, pseudo, unqualified, without_parameters};
use serde_json::{Value, json};

use super::compare::{self, Beside};
use super::lists::footer;
use crate::failure::Stop;
use crate::json;
use crate::session::{PrintMode, Scene, Session};
use crate::text::{self, Annotated};
use report::settings::Comments;

/// A file as it is found now.
pub(crate) struct Source {
    /// Its path as recorded.
    pub(crate) recorded: String,
    /// Where it was found.
    pub(crate) path: Option<PathBuf>,
    /// Its lines; none if it was not found.
    pub(crate) lines: Vec<String>,
    /// What is not as it should be with it.
    pub(crate) warning: Option<String>,
}

/// The annotated source of a file or of the file of a function.
pub(crate) fn source(session: &mut Session<'_>, arguments: &[String]) -> Result<(), Stop> {
    let number = match arguments.get(1) {
        Some(word) => Some(super::count("source", word)?),
        None => None,
    };
    let report = if let Some(beside) = Beside::of(session)? {
        compare::source(&beside, &arguments[0], number)?
    } else {
        let scene = session.scene()?;
        let (file, object) = find(&scene, &arguments[0], number)?;
        let source = read(&scene, file);
        let times = file_times(scene.profile(), &scene.names, &scene.request.metrics, file);
        let rows = rows(&scene, &source, &times);
        match scene.settings.print {
            PrintMode::Text => source_text(&scene, &source, object.as_deref(), &rows, &times),
            PrintMode::Json => source_json(&scene, &source, &rows, &times),
        }
    };
    session.print(&report)
}

/// The functions of a name in any form, those that have a symbol; if there is none, those that
/// have that name in some scope.
pub(crate) fn functions_named(scene: &Scene<'_>, name: &str) -> Vec<FunctionId> {
    let called = |id: &FunctionId| {
        let forms = scene.names.forms(Callee::Function(*id));
        forms.iter().any(|form| form == name)
    };
    let all = || {
        let ids = (0..).map(FunctionId);
        ids.take(scene.names.symbols.functions.len())
    };
    let found: Vec<FunctionId> = all().filter(called).collect();
    if !found.is_empty() {
        return found;
    }
    let function = |id: &FunctionId| &scene.names.symbols.functions[id.0 as usize];
    let bare = |id: &FunctionId| {
        let function = function(id);
        function.outlined.is_none() && unqualified(&function.name) == name
    };
    all().filter(bare).collect()
}

/// The files of functions of a name that were inlined wherever they are called.
fn files_of_inlined(scene: &Scene<'_>, name: &str) -> Vec<FileId> {
    let frames = scene.names.symbols.frames.iter();
    let called = |function: &str| function == name || unqualified(function) == name;
    let mut files: Vec<FileId> = frames
        .flat_map(|frame| &frame.places)
        .filter(|at| at.function.as_deref().is_some_and(called))
        .map(|at| at.place.file)
        .collect();
    files.sort_unstable();
    files.dedup();
    files
}

/// One of several; an error that lists them if it is not clear which.
pub(crate) fn choose_one<T: Clone>(
    command: &str,
    name: &str,
    found: &[T],
    number: Option<usize>,
    shown: impl Fn(&T) -> String,
) -> Result<T, Stop> {
    match (found, number) {
        ([only], None) => Ok(only.clone()),
        (several, None) => {
            let choices = several.iter().zip(1..);
            let choices: Vec<String> = choices
                .map(|(one, at)| format!("{at} ({})", shown(one)))
                .collect();
            Err(Stop::Words(format!(
                "{} are called \"{name}\": write {command} NAME N with N from {}",
                several.len(),
                choices.join(", ")
            )))
        }
        (several, Some(number)) => {
            let at = number.checked_sub(1).and_then(|at| several.get(at));
            at.cloned().ok_or_else(|| {
                Stop::Words(format!(
                    "what is called \"{name}\" is numbered 1 to {}: there is no {number}",
                    several.len()
                ))
            })
        }
    }
}

/// The file that a word means, and the load object if it names a function.
pub(super) fn find(
    scene: &Scene<'_>,
    word: &str,
    number: Option<usize>,
) -> Result<(FileId, Option<String>), Stop> {
    let symbols = scene.names.symbols;
    let functions = functions_named(scene, word);
    let file_of = |id: &FunctionId| {
        let function = symbols.functions.get(id.0 as usize)?;
        let object = scene.names.tables.modules.get(function.module.0);
        Some((
            function.place?.file,
            object.map(|object| object.path.clone()),
        ))
    };
    let mut files: Vec<_> = functions.iter().filter_map(file_of).collect();
    files.dedup();
    if files.is_empty() && !functions.is_empty() {
        return Err(Stop::Words(format!(
            "where \"{word}\" is written is not known: it was built without debug information (-g)"
        )));
    }
    if files.is_empty() {
        let ends = |path: &str| path == word || path.ends_with(&format!("/{word}"));
        let all = (0..).map(FileId).zip(&symbols.files);
        let named = all.filter(|(_, path)| ends(path));
        files = named.map(|(id, _)| (id, None)).collect();
    }
    if files.is_empty() {
        let inlined = files_of_inlined(scene, word).into_iter();
        files = inlined.map(|id| (id, None)).collect();
    }
    if files.is_empty() {
        let functions = symbols
            .functions
            .iter()
            .map(|function| without_parameters(&function.name));
        let known = functions.chain(symbols.files.iter().map(|path| base_name(path)));
        let hint = match nearest(word, known) {
            Some(near) => format!("did you mean \"{near}\"?"),
            None => "functions and lines list the names".to_owned(),
        };
        return Err(Stop::Words(format!(
            "no function or source file is called \"{word}\": {hint}"
        )));
    }
    choose_one("source", word, &files, number, |(file, _)| {
        symbols
            .files
            .get(file.0 as usize)
            .cloned()
            .unwrap_or_default()
    })
}

/// Reads a file, wherever it is found.
pub(crate) fn read(scene: &Scene<'_>, file: FileId) -> Source {
    let files = &scene.names.symbols.files;
    let recorded = files.get(file.0 as usize).cloned().unwrap_or_default();
    let places = &scene.settings.annotation;
    let path = places.search.find(&recorded, &scene.recording.names);
    let (text, warning) = match &path {
        None => (
            String::new(),
            Some(format!(
                "the source {recorded} is not here: setpath, addpath or pathmap tell where it is"
            )),
        ),
        Some(path) => match std::fs::read(path) {
            Ok(bytes) => (
                String::from_utf8_lossy(&bytes).into_owned(),
                changed(scene, path),
            ),
            Err(error) => (
                String::new(),
                Some(format!("cannot read {}: {error}", path.display())),
            ),
        },
    };
    Source {
        recorded,
        path,
        lines: text
            .lines()
            .map(|line| line.replace('\t', "        "))
            .collect(),
        warning,
    }
}

/// Whether a file was written after the recording began: its lines may be others. What the
/// experiment keeps was put there then, and is what was compiled.
fn changed(scene: &Scene<'_>, path: &Path) -> Option<String> {
    let experiments = scene.recording.names.iter();
    if experiments
        .map(|name| Path::new(name).join(ARCHIVE))
        .any(|archive| path.starts_with(archive))
    {
        return None;
    }
    let written = std::fs::metadata(path)
        .and_then(|data| data.modified())
        .ok()?;
    let written = written.duration_since(UNIX_EPOCH).ok()?.as_secs_f64();
    let began = scene.recording.experiment.header.started_unix;
    (began > 0.0 && written > began).then(|| {
        format!(
            "{} has changed since the recording: times may stand at other lines",
            path.display()
        )
    })
}

/// A line of the report.
struct SourceRow<'a> {
    line: u32,
    text: &'a str,
    times: Option<&'a LineTimes>,
    notes: &'a [Note],
    hot: bool,
}

fn rows<'a>(scene: &Scene<'_>, source: &'a Source, times: &'a FileTimes) -> Vec<SourceRow<'a>> {
    let lines = (1..=source.lines.len() as u32).chain(times.lines.keys().copied());
    let lines: BTreeSet<u32> = lines.chain(times.notes.keys().copied()).collect();
    let hot = Hot::new(
        scene,
        times.lines.values(),
        scene.settings.annotation.source_hot,
    );
    let row = |line: u32| {
        let times_here = times.lines.get(&line);
        let notes = times.notes.get(&line);
        SourceRow {
            line,
            text: source
                .lines
                .get(line as usize - 1)
                .map_or("", String::as_str),
            times: times_here,
            notes: notes.map_or(&[], Vec::as_slice),
            hot: times_here.is_some_and(|times| hot.is(times)),
        }
    };
    lines
        .into_iter()
        .filter(|&line| line > 0)
        .map(row)
        .collect()
}

/// What makes a line hot: the largest value of each column.
pub(crate) struct Hot {
    largest: Vec<(Quantity, usize, f64)>,
    share: f64,
}

impl Hot {
    /// From `percent` of a column's largest value on.
    pub(crate) fn new<'a>(
        scene: &Scene<'_>,
        lines: impl Iterator<Item = &'a LineTimes> + Clone,
        percent: f64,
    ) -> Hot {
        let visible = scene.columns.iter().filter(|column| column.visible());
        let largest = visible.filter_map(|column| match column.quantity {
            Quantity::Time(_, metric) => {
                let at = scene.index(metric)?;
                let values = lines.clone().map(|times| of(times, column.quantity, at));
                Some((column.quantity, at, values.fold(0.0, f64::max)))
            }
            _ => None,
        });
        Hot {
            largest: largest.collect(),
            share: percent / 100.0,
        }
    }

    /// Whether a line is hot.
    pub(crate) fn is(&self, times: &LineTimes) -> bool {
        self.largest.iter().any(|&(quantity, at, largest)| {
            largest > 0.0 && of(times, quantity, at) >= self.share * largest
        })
    }
}

/// The seconds of a quantity that stands at `at` in the request.
pub(crate) fn of(times: &LineTimes, quantity: Quantity, at: usize) -> f64 {
    match quantity {
        Quantity::Time(Flavour::Exclusive, _) => times.exclusive[at],
        _ => times.inclusive[at],
    }
}

/// The cells of a line.
pub(crate) fn cells(scene: &Scene<'_>, times: &LineTimes, total: &[f64]) -> Vec<(f64, f64)> {
    let cell = |column: &Column| match column.quantity {
        Quantity::Time(_, metric) => {
            let at = scene.index(metric)?;
            Some((of(times, column.quantity, at), total[at]))
        }
        _ => None,
    };
    scene.columns.iter().filter_map(cell).collect()
}

/// A note as a comment.
pub(crate) fn comment(note: &Note) -> String {
    let seconds = text::seconds(note.seconds);
    match &note.what {
        Happened::Inlined(name) => format!("{name} inlined here: {seconds} s"),
        Happened::Waited(kind) => format!("{}: {seconds} s", pseudo(*kind)),
    }
}

/// Whether a note is wanted.
pub(crate) fn wanted(comments: Comments, note: &Note) -> bool {
    match note.what {
        Happened::Inlined(_) => comments.inlined,
        Happened::Waited(_) => comments.waits,
    }
}

fn source_text(
    scene: &Scene<'_>,
    source: &Source,
    object: Option<&str>,
    rows: &[SourceRow<'_>],
    times: &FileTimes,
) -> String {
    let width = rows
        .last()
        .map_or(1, |row| row.line.to_string().len())
        .max(3);
    let mut lines = Vec::new();
    for row in rows {
        for note in row.notes {
            if wanted(scene.settings.annotation.source_comments, note) {
                lines.push(Annotated {
                    hot: false,
                    times: None,
                    text: format!("{:width$}  {}", "", comment(note)),
                });
            }
        }
        lines.push(Annotated {
            hot: row.hot,
            times: row.times.map(|of_line| cells(scene, of_line, &times.total)),
            text: format!("{:>width$}. {}", row.line, row.text),
        });
    }
    let found = match &source.path {
        Some(path) => path.display().to_string(),
        None => "(not found)".to_owned(),
    };
    let mut head = format!("Source file: {}\nFound as: {found}\n", source.recorded);
    if let Some(object) = object {
        head.push_str(&format!("Load Object: {object}\n"));
    }
    if let Some(warning) = &source.warning {
        head.push_str(&format!("Warning: {warning}\n"));
    }
    format!(
        "{head}\n{}\n{}",
        text::annotated(&scene.columns, &lines),
        footer(scene)
    )
}

/// The values of a line by metric.
pub(crate) fn values(scene: &Scene<'_>, quantities: &[Quantity], times: &LineTimes) -> Value {
    json::values(quantities, None, |quantity| match quantity {
        Quantity::Time(_, metric) => scene
            .index(metric)
            .map_or(0.0, |at| of(times, quantity, at)),
        _ => 0.0,
    })
}

/// The times among the columns.
pub(crate) fn time_quantities(scene: &Scene<'_>) -> Vec<Quantity> {
    let all = json::quantities(&scene.columns).into_iter();
    all.filter(|quantity| matches!(quantity, Quantity::Time(..)))
        .collect()
}

/// A note as JSON.
pub(crate) fn note_json(note: &Note) -> Value {
    let (kind, name) = match &note.what {
        Happened::Inlined(name) => ("inlined", name.as_str()),
        Happened::Waited(kind) => ("wait", pseudo(*kind)),
    };
    let id = Quantity::Time(Flavour::Inclusive, Metric::Total).id();
    json!({"kind": kind, "name": name, "values": {id: note.seconds}})
}

fn source_json(
    scene: &Scene<'_>,
    source: &Source,
    rows: &[SourceRow<'_>],
    times: &FileTimes,
) -> String {
    let quantities = time_quantities(scene);
    let total = LineTimes {
        exclusive: times.total.clone(),
        inclusive: times.total.clone(),
    };
    let mut object = json::envelope(scene, "source");
    object.insert("file".to_owned(), json!(source.recorded));
    object.insert("found".to_owned(), json!(source.path));
    object.insert("warning".to_owned(), json!(source.warning));
    object.insert(
        "metrics".to_owned(),
        quantities.iter().copied().map(json::metric).collect(),
    );
    object.insert("total".to_owned(), values(scene, &quantities, &total));
    let row = |row: &SourceRow<'_>| {
        json!({
            "line": row.line,
            "text": row.text,
            "hot": row.hot,
            "values": row.times.map(|times| values(scene, &quantities, times)),
            "notes": row.notes.iter().map(note_json).collect::<Vec<_>>(),
        })
    };
    object.insert("rows".to_owned(), rows.iter().map(row).collect());
    json::finish(scene, object)
}
