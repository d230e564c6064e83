//! `source`: a file with the time of its lines.

use std::collections::BTreeSet;

use omp_model::metrics::{Flavour, Metric, Quantity};
use omp_model::states::Pseudo;
use omp_model::states::RefinedState;
use omp_model::views::annotated::{self, FileTimes, Happened, LineTimes, file_times};
use serde_json::{Map, Value as Json, json};

use crate::annotated::{Hot, mark, times, values, warning};
use crate::document::{
    Block, CodeLocation, Column, Document, Line, Note, Row, Style, Table, Target, Value,
};
use crate::error::Error;
use crate::find::{self, Named};
use crate::functions::numbers;
use crate::json;
use crate::query::{Query, Source};
use crate::sources::SourceFile;
use crate::text::seconds;

/// The annotated source of a file or of the file of a function. Of compared experiments the text is
/// that of the first that has it.
///
/// # Errors
/// [`Error`] if it is not found.
pub fn source(query: &Query<'_>, named: &Named) -> Result<Document, Error> {
    let found: Vec<_> = query
        .sides()
        .iter()
        .map(|side| find::file(&side.names(), named))
        .collect();
    let both = query.sides().iter().zip(&found);
    let mut here = both.filter_map(|(side, found)| Some((side, found.as_ref().ok()?)));
    let Some((side, (file, object))) = here.next() else {
        let why = found.into_iter().find_map(Result::err);
        return Err(why.unwrap_or_else(|| Error::new("there is nothing to compare")));
    };
    let text = SourceFile::read(side, *file);
    let times = query.sides().iter().zip(&found).map(|(side, found)| {
        let (file, _) = found.as_ref().ok()?;
        Some(times_of(query, side, *file))
    });
    let listing = SourceListing {
        query,
        columns: columns(query),
        text: &text,
        times: times.collect(),
    };
    let document = query.document("source");
    let mut head = head(&text, object.as_deref().filter(|_| !query.is_comparison()));
    if query.is_comparison() {
        let numbered = document.about.iter().flat_map(|about| about.numbered());
        head.push(Line::default());
        head.extend(numbered.map(Line::plain));
    }
    let table = Table {
        style: Style::Annotated,
        whole: listing.whole(),
        ..query.table(listing.columns.clone(), listing.rows())
    };
    Ok(Document {
        facts: if query.is_comparison() {
            Map::new()
        } else {
            facts(&text)
        },
        blocks: vec![Block::Lines(head), Block::Table(table)],
        ..document
    })
}

fn times_of(query: &Query<'_>, side: &Source<'_>, file: experiment::symbols::FileId) -> FileTimes {
    let (profile, names) = (side.profile(), side.names());
    file_times(profile, &names, &query.request.metrics, file)
}

/// The file, and whether it is the one that was compiled.
fn head(text: &SourceFile, object: Option<&str>) -> Vec<Line> {
    let found = text.path.as_ref().map(|path| path.display().to_string());
    let found = found.as_deref().unwrap_or("(not found)");
    let mut lines = vec![
        Line::strong(format!("Source file: {}", text.recorded)),
        Line::plain(format!("Found as: {found}")),
    ];
    lines.extend(object.map(|object| Line::plain(format!("Load Object: {object}"))));
    lines.extend(text.warning.iter().map(warning));
    lines
}

fn facts(text: &SourceFile) -> Map<String, Json> {
    let found = text.path.as_ref().map(|path| path.display().to_string());
    json::fields([
        ("file", json!(text.recorded)),
        ("found", json!(found)),
        ("warning", json!(text.warning)),
    ])
}

/// The times, and the fields of JSON of a line.
fn columns(query: &Query<'_>) -> Vec<Column> {
    let (before, after): (&[&str], &[&str]) = if query.is_comparison() {
        (&["name", "line", "hot"], &[])
    } else {
        (&["line", "text", "hot"], &["notes"])
    };
    let fact = |id: &&str| Column::fact(id);
    let times = times(query.shown(&query.columns));
    let before = before.iter().map(fact).chain(times);
    before.chain(after.iter().map(fact)).collect()
}

/// The data of the rows.
struct SourceListing<'q, 'a> {
    query: &'q Query<'a>,
    columns: Vec<Column>,
    text: &'q SourceFile,
    /// By experiment; `None` for one that has no such file.
    times: Vec<Option<FileTimes>>,
}

impl SourceListing<'_, '_> {
    fn rows(&self) -> Vec<Row> {
        let timed = self.times.iter().flatten();
        let timed = timed.flat_map(|times| times.lines.keys().copied());
        let lines = 1..=self.text.lines.len() as u32;
        let lines: BTreeSet<u32> = lines.chain(timed).filter(|&line| line > 0).collect();
        let share = self.query.settings.annotation.source_hot;
        let hot = self.times.iter().map(|times| {
            let lines = times.as_ref()?.lines.values();
            Some(Hot::new(self.query, lines, share))
        });
        let hot: Vec<Option<Hot>> = hot.collect();
        let digits = lines.last().map_or(1, |line| line.to_string().len());
        let width = if self.query.is_comparison() {
            4
        } else {
            digits.max(3)
        };
        let row = |line| self.row(line, width, &hot);
        lines.into_iter().map(row).collect()
    }

    fn row(&self, line: u32, width: usize, hot: &[Option<Hot>]) -> Row {
        let times: Vec<Option<&LineTimes>> = self
            .times
            .iter()
            .map(|times| times.as_ref()?.lines.get(&line))
            .collect();
        let is_hot = times.iter().zip(hot).any(|both| match both {
            (Some(times), Some(hot)) => hot.is(times),
            _ => false,
        });
        let written = self.text.line(line);
        let notes = self.notes(line);
        let fact = |id: &str| match id {
            "line" => Value::Count(line.into()),
            "hot" => Value::Json(json!(is_hot)),
            "notes" => Value::Json(notes.iter().map(note).collect()),
            _ => Value::Text(written.to_owned()),
        };
        let of_side = |times: &Option<&LineTimes>| -> Vec<Value> {
            let none = if self.query.is_comparison() {
                Value::Absent
            } else {
                Value::Omitted
            };
            let times = match times {
                Some(times) => values(self.query, &self.columns, times),
                None => vec![none; self.columns.len()],
            };
            let both = self.columns.iter().zip(times);
            both.map(|(column, time)| match column.quantity {
                Some(_) => time,
                None => fact(&column.id),
            })
            .collect()
        };
        let comments = self.query.settings.annotation.source_comments;
        let wanted = notes.iter().filter(|note| match note.what {
            Happened::Inlined(_) => comments.inlined,
            Happened::Waited(_) => comments.waits,
        });
        Row {
            name: format!("{line:>width$}. {written}"),
            mark: mark(is_hot),
            values: times.iter().map(of_side).collect(),
            target: Some(Target::Line(CodeLocation {
                function: None,
                file: Some(self.text.recorded.clone()),
                line,
            })),
            notes: wanted
                .map(|note| Note {
                    text: format!("{:width$}  {}", "", comment(note)),
                    happened: Some(note.what.clone()),
                })
                .collect(),
            ..Row::default()
        }
    }

    /// The notes on a line. Those of compared experiments are not joined.
    fn notes(&self, line: u32) -> &[annotated::Note] {
        match self.times.as_slice() {
            [Some(only)] => only.notes.get(&line).map_or(&[], Vec::as_slice),
            _ => &[],
        }
    }

    /// All time, of which lines have parts; parts of compared experiments are not shown.
    fn whole(&self) -> Vec<Vec<f64>> {
        let [Some(only)] = self.times.as_slice() else {
            return Vec::new();
        };
        let total = LineTimes {
            exclusive: only.total.clone(),
            inclusive: only.total.clone(),
        };
        vec![numbers(&values(self.query, &self.columns, &total))]
    }
}

/// A note as a sentence.
fn comment(note: &annotated::Note) -> String {
    let seconds = seconds(note.seconds);
    match &note.what {
        Happened::Inlined(name) => format!("{name} inlined here: {seconds} s"),
        Happened::Waited(kind) => format!("{}: {seconds} s", kind.name()),
    }
}

/// A note as JSON.
fn note(note: &annotated::Note) -> Json {
    let (kind, name) = match &note.what {
        Happened::Inlined(name) => ("inlined", name.as_str()),
        Happened::Waited(
            kind @ (Pseudo::State(RefinedState::Overhead) | Pseudo::State(RefinedState::Reduction)),
        ) => ("overhead", kind.name()),
        Happened::Waited(kind) => ("wait", kind.name()),
    };
    let id = Quantity::Time(Flavour::Inclusive, Metric::Total).id();
    json!({"kind": kind, "name": name, "values": {id: note.seconds}})
}
