//! A source file with the time of its lines.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use omp_model::metrics::Flavour;
use omp_model::symbols::FileId;
use omp_model::views::annotated::{FileTimes, Happened, LineTimes};
use omp_model::views::names::{base_name, pseudo};
use rustc_hash::FxHashMap;

use crate::compare::Beside;
use crate::data::Data;
use crate::recording::Recording;
use crate::report::{Mark, Part, Row, Table};
use crate::tables;
use report::timeline::Activity;

/// The part of the largest time of a line from which on a line is hot.
const HOT: f64 = 0.75;

/// A file as it was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Text {
    /// Its lines.
    pub lines: Vec<String>,
    /// Why it has none, or is not to be trusted.
    pub warning: Option<String>,
}

/// The times of the files that were looked at.
#[derive(Debug, Default)]
pub struct Times(Mutex<FxHashMap<Side, Arc<FileTimes>>>);

/// A file of an experiment by its number from 0, or of all of them added up.
pub(crate) type Side = (Option<usize>, FileId);

impl Times {
    /// Those of a file, made if they are not known.
    pub(crate) fn of(&self, file: Side, make: impl FnOnce() -> FileTimes) -> Arc<FileTimes> {
        if let Some(known) = self.known(file) {
            return known;
        }
        // Made without the lock: who asks whether they are there is not to wait.
        let made = Arc::new(make());
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(all.entry(file).or_insert(made))
    }

    /// Whether those of a file are known.
    pub(crate) fn has(&self, file: Side) -> bool {
        self.known(file).is_some()
    }

    fn known(&self, file: Side) -> Option<Arc<FileTimes>> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.get(&file).cloned()
    }
}

/// A function's place in the sources.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Written {
    /// The file.
    pub file: FileId,
    /// The line that it begins with.
    pub line: u32,
}

/// Where the function of a row is written, if it is known.
pub fn written(recording: &Recording, name: &str) -> Option<Written> {
    let function = recording.function(name)?;
    let place = recording
        .symbols
        .functions
        .get(function.0 as usize)?
        .place?;
    Some(Written {
        file: place.file,
        line: place.line,
    })
}

/// The file of a function; `line` of each row is told beside it.
pub fn table(
    data: &Data,
    recording: &Recording,
    (name, place): (&str, Option<Written>),
    text: Option<&Text>,
) -> (Table, Vec<u32>) {
    let Some(place) = place else {
        let why = match recording.function(name) {
            Some(_) => format!("no line is known (build it with debug information, -g) of {name}"),
            None => format!("{name} is no function with a source: select another one in 2, 4 or 7"),
        };
        let table = Table {
            title: format!("Source of {name}"),
            columns: Vec::new(),
            rows: vec![Row {
                mark: Mark::Warning,
                ..Row::line(why)
            }],
        };
        return (table, vec![0]);
    };
    let times = data.times(recording, (None, place.file));
    let beside = Beside::of(data, recording);
    let compared = beside
        .as_ref()
        .map(|beside| (beside, sides(data, recording, place.file)));
    let whole = Whole {
        data,
        times: &times,
        hottest: hottest(data, &times),
        compared: compared.as_ref(),
    };
    let path = recording.symbols.files.get(place.file.0 as usize);
    let path = path.map_or("", String::as_str);
    let mut rows = Vec::new();
    let mut lines = Vec::new();
    if let Some(warning) = text.and_then(|text| text.warning.as_ref()) {
        rows.push(Row {
            mark: Mark::Warning,
            ..Row::line(warning.clone())
        });
        lines.push(0);
    }
    let known = text.map_or(0, |text| text.lines.len() as u32);
    let all: BTreeSet<u32> = (1..=known).chain(times.lines.keys().copied()).collect();
    for line in all {
        let code = text.and_then(|text| text.lines.get(line as usize - 1));
        rows.push(row(&whole, line, code.map_or("", String::as_str)));
        lines.push(line);
        for note in times.notes.get(&line).into_iter().flatten() {
            let (kind, name) = match &note.what {
                Happened::Inlined(name) => ("inlined", name.clone()),
                Happened::Waited(kind) => ("wait", pseudo(*kind).to_owned()),
            };
            rows.push(Row {
                tint: Activity::of_name(&name),
                lead: "        ".to_owned(),
                source: Some(Part::Note {
                    kind,
                    name: name.clone(),
                    seconds: note.seconds,
                }),
                ..Row::line(format!("{kind}: {name} {:.3} s", note.seconds))
            });
            lines.push(line);
        }
    }
    let title = format!("Source of {name}: {}", base_name(path));
    let table = Table {
        title: match &beside {
            Some(beside) => beside.title(&title),
            None => title,
        },
        columns: match &beside {
            Some(beside) => beside.columns(&data.columns),
            None => tables::times(&data.columns),
        },
        rows,
    };
    (table, lines)
}

/// The largest time of a line by the order's metric.
fn hottest(data: &Data, times: &FileTimes) -> f64 {
    let (_, at) = data.metric();
    let seconds = times.lines.values().map(|line| line.exclusive[at]);
    seconds.fold(0.0, f64::max)
}

/// What the rows of a file are made of.
struct Whole<'a> {
    data: &'a Data,
    /// Of all experiments.
    times: &'a FileTimes,
    hottest: f64,
    /// Of each, if they are compared; `None` for one that has no such file.
    compared: Option<&'a (&'a Beside<'a>, Vec<Option<Arc<FileTimes>>>)>,
}

/// The times that each experiment has in a file: the one of the same path, else of the same name.
/// Lines are matched by their number.
pub(crate) fn sides(
    data: &Data,
    recording: &Recording,
    file: FileId,
) -> Vec<Option<Arc<FileTimes>>> {
    let path = recording.symbols.files.get(file.0 as usize);
    let of_side = |(side, part): (usize, &omp_model::recording::Recording)| {
        let own = same_file(&part.symbols.files, path?)?;
        Some(data.times(recording, (Some(side), own)))
    };
    recording.parts().iter().enumerate().map(of_side).collect()
}

/// The file of the same path, or the only one of the same name.
fn same_file(files: &[String], path: &str) -> Option<FileId> {
    let all = || (0..).map(FileId).zip(files);
    if let Some((same, _)) = all().find(|(_, known)| *known == path) {
        return Some(same);
    }
    let mut alike = all().filter(|(_, known)| base_name(known) == base_name(path));
    match (alike.next(), alike.next()) {
        (Some((one, _)), None) => Some(one),
        _ => None,
    }
}

/// The time of a line, exclusive or with what it calls.
pub(crate) fn of_line(line: &LineTimes, flavour: Flavour, at: usize) -> f64 {
    match flavour {
        Flavour::Exclusive => line.exclusive[at],
        Flavour::Inclusive | Flavour::Attributed => line.inclusive[at],
    }
}

fn row(whole: &Whole<'_>, line: u32, code: &str) -> Row {
    let (data, times) = (whole.data, whole.times);
    let seconds = times.lines.get(&line);
    let (_, at) = data.metric();
    let is_hot = seconds.is_some_and(|seconds| {
        seconds.exclusive[at] > 0.0 && seconds.exclusive[at] >= HOT * whole.hottest
    });
    let values = match (seconds, whole.compared) {
        (None, _) => Vec::new(),
        (Some(_), Some((beside, sides))) => {
            let own = |side: &Option<Arc<FileTimes>>| side.as_ref()?.lines.get(&line).cloned();
            let lines: Vec<Option<LineTimes>> = sides.iter().map(own).collect();
            beside.times(&data.columns, &lines, of_line)
        }
        (Some(seconds), None) => tables::values(data, &data.columns, |flavour, at| {
            (of_line(seconds, flavour, at), times.total[at])
        }),
    };
    Row {
        values,
        lead: format!("{}{line:>5} ", if is_hot { "##" } else { "  " }),
        mark: if is_hot { Mark::Strong } else { Mark::Plain },
        name: code.replace('\t', "        "),
        source: Some(Part::Line { hot: is_hot }),
        ..Row::default()
    }
}
