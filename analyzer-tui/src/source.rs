//! A source file with the time of its lines.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use omp_model::symbols::FileId;
use omp_model::views::annotated::{FileTimes, Happened};
use omp_model::views::names::{base_name, pseudo};
use rustc_hash::FxHashMap;

use crate::activity::Activity;
use crate::data::Data;
use crate::recording::Recording;
use crate::report::{Mark, Part, Row, Table};
use crate::tables;

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
pub struct Times(Mutex<FxHashMap<FileId, Arc<FileTimes>>>);

impl Times {
    /// Those of a file, made if they are not known.
    pub(crate) fn of(&self, file: FileId, make: impl FnOnce() -> FileTimes) -> Arc<FileTimes> {
        if let Some(known) = self.known(file) {
            return known;
        }
        // Made without the lock: who asks whether they are there is not to wait.
        let made = Arc::new(make());
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(all.entry(file).or_insert(made))
    }

    /// Whether those of a file are known.
    pub(crate) fn has(&self, file: FileId) -> bool {
        self.known(file).is_some()
    }

    fn known(&self, file: FileId) -> Option<Arc<FileTimes>> {
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
        let why = format!(
            "where {name} is written is not known: it was built without debug information (-g), \
             or is no function; select another one in 2 or 4"
        );
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
    let times = data.times(recording, place.file);
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
    let hottest = hottest(data, &times);
    for line in all {
        let code = text.and_then(|text| text.lines.get(line as usize - 1));
        rows.push(row(
            data,
            &times,
            line,
            (code.map_or("", String::as_str), hottest),
        ));
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
    let table = Table {
        title: format!("Source of {name}: {}", base_name(path)),
        columns: tables::times(&data.columns),
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

fn row(data: &Data, times: &FileTimes, line: u32, (code, hottest): (&str, f64)) -> Row {
    let seconds = times.lines.get(&line);
    let (_, at) = data.metric();
    let is_hot = seconds.is_some_and(|seconds| {
        seconds.exclusive[at] > 0.0 && seconds.exclusive[at] >= HOT * hottest
    });
    let values = match seconds {
        None => Vec::new(),
        Some(seconds) => tables::values(data, &data.columns, |flavour, at| {
            let part = match flavour {
                omp_model::metrics::Flavour::Exclusive => seconds.exclusive[at],
                _ => seconds.inclusive[at],
            };
            (part, times.total[at])
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
