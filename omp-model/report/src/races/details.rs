//! Findings in detail: stacks, constructs, locks, memory, and the lines of source.

use std::collections::HashMap;

use experiment::findings::{
    Access, Construct, Content, Deadlock, Declaration, Divergence, Frame, Misuse, Origin, Race,
    Uninitialised, Variable,
};
use omp_model::profile::ViewMode;
use omp_model::views::names::base_name;
use serde_json::{Value as Json, json};
use unicode_width::UnicodeWidthChar;

use super::finding::{Finding, NO_LINE, at, line_of, origin_words, stack_in};
use super::kind::FindingKind;
use super::list::{fields_of, list, nothing};
use super::rows::{Row, found, sources};
use super::summary::{not_checked, notices_of};
use crate::document::{Block, Document, Finding as Detail, Line};
use crate::error::Error;
use crate::json;
use crate::query::Query;
use crate::sources::SourceFile;

/// Lines of source on both sides of an access.
const AROUND: usize = 2;

/// Ranges of differing bytes that are shown.
const MOST_RANGES: usize = 4;

/// The widest line of source that stands beside another.
const WIDEST: usize = 60;

/// A finding that can be told in detail.
pub(super) trait Detailed: Finding {
    /// The text, without the line that names it.
    fn text(&self, mode: ViewMode, sources: &mut Sources<'_, '_>) -> Vec<String>;

    /// The same with both sides apart.
    fn finding(&self, mode: ViewMode, sources: &mut Sources<'_, '_>) -> Detail {
        Detail {
            head: Vec::new(),
            sides: [self.text(mode, sources), Vec::new()],
            foot: Vec::new(),
        }
    }
}

/// Source files, each read once.
pub(super) struct Sources<'q, 'a> {
    query: &'q Query<'a>,
    known: HashMap<String, SourceFile>,
    /// Whether any are read.
    are_read: bool,
}

impl<'q, 'a> Sources<'q, 'a> {
    /// None of them is read yet.
    pub(super) fn new(query: &'q Query<'a>) -> Sources<'q, 'a> {
        Sources {
            query,
            known: HashMap::new(),
            are_read: true,
        }
    }

    /// No file is read.
    pub(super) fn none(query: &'q Query<'a>) -> Sources<'q, 'a> {
        Sources {
            are_read: false,
            ..Sources::new(query)
        }
    }

    fn file(&mut self, path: &str) -> &SourceFile {
        let query = self.query;
        self.known.entry(path.to_owned()).or_insert_with(|| {
            let files = sources(query).map(|source| SourceFile::of_finding(source, path));
            let mut files: Vec<SourceFile> = files.collect();
            let at = files.iter().position(|file| file.path.is_some());
            files.swap_remove(at.unwrap_or(0))
        })
    }

    /// The lines around a place; none if its source is not readable.
    fn around(&mut self, frame: Option<&Frame>) -> Vec<String> {
        let is_known = |frame: &&Frame| frame.line > 0 && !frame.file.is_empty();
        let Some(frame) = frame.filter(is_known).filter(|_| self.are_read) else {
            return Vec::new();
        };
        let file = self.file(&frame.file);
        let line = frame.line as usize;
        if file.path.is_none() || line > file.lines.len() {
            return Vec::new();
        }
        let from = line.saturating_sub(AROUND).max(1);
        let to = (line + AROUND).min(file.lines.len());
        let width = to.to_string().len();
        let numbered = (from..=to).map(|number| {
            let mark = if number == line { '>' } else { ' ' };
            let text = file.lines[number - 1].trim_end();
            cut(&format!("{mark} {number:>width$}  {text}"))
        });
        std::iter::once(base_name(&frame.file).to_owned())
            .chain(numbered)
            .collect()
    }
}

/// A line up to [`WIDEST`] cells.
fn cut(line: &str) -> String {
    let mut width = 0;
    let mut kept = String::new();
    for letter in line.chars() {
        width += letter.width().unwrap_or(0);
        if width > WIDEST {
            return kept + "…";
        }
        kept.push(letter);
    }
    kept
}

/// Two columns, with a line between them.
fn beside(left: Vec<String>, right: Vec<String>) -> Vec<String> {
    if left.is_empty() || right.is_empty() {
        return if left.is_empty() { right } else { left };
    }
    let width_of = |text: &str| {
        text.chars()
            .map(|it| it.width().unwrap_or(0))
            .sum::<usize>()
    };
    let width = left.iter().map(|line| width_of(line)).max().unwrap_or(0);
    let line = |at: usize| {
        let (left, right) = (left.get(at), right.get(at));
        let left = left.map_or("", String::as_str);
        let gap = " ".repeat(width - width_of(left));
        let line = format!("{left}{gap} | {}", right.map_or("", String::as_str));
        line.trim_end().to_owned()
    };
    (0..left.len().max(right.len())).map(line).collect()
}

fn indented(lines: Vec<String>, by: usize) -> Vec<String> {
    let gap = " ".repeat(by);
    lines
        .into_iter()
        .map(|line| format!("{gap}{line}"))
        .collect()
}

/// A stack, a line for each frame.
fn stack_lines(stack: &[Frame]) -> Vec<String> {
    let width = stack
        .iter()
        .map(|frame| frame.function.chars().count())
        .max()
        .unwrap_or(0);
    let line = |frame: &Frame| {
        let place = line_of(&frame.file, frame.line).unwrap_or_default();
        format!("{:<width$}  {place}", frame.function)
            .trim_end()
            .to_owned()
    };
    stack.iter().map(line).collect()
}

/// `in for (a.c:9), parallel (a.c:8)`.
fn within(constructs: &[Construct]) -> Option<String> {
    let word = |it: &Construct| match line_of(&it.file, it.line) {
        Some(line) => format!("{} ({line})", it.name),
        None => it.name.clone(),
    };
    let words: Vec<String> = constructs.iter().map(word).collect();
    (!words.is_empty()).then(|| format!("in {}", words.join(", ")))
}

/// The variable, and where it comes from.
fn memory(variable: &Variable) -> Vec<String> {
    let Variable {
        address,
        size,
        whole,
        origin,
        ..
    } = variable;
    let bytes = |count: u64| {
        if count == 1 {
            "1 byte".to_owned()
        } else {
            format!("{count} bytes")
        }
    };
    let of = match whole {
        0 => String::new(),
        whole if whole == size => String::new(),
        whole => format!(" of {}", bytes(*whole)),
    };
    let mut lines = vec![format!(
        "Memory: {}{of} at {address:#x}, {}",
        bytes(*size),
        origin_words(origin)
    )];
    match origin {
        Origin::Unknown => {}
        Origin::Global(it) | Origin::Thread(it) | Origin::Stack(it) => {
            let Declaration {
                function,
                file,
                line,
            } = it.clone();
            let frame = Frame {
                function,
                file,
                line,
            };
            lines.push(format!("Declared: {}", at(Some(&frame))));
        }
        Origin::Heap(stack) => {
            lines.push(format!("Allocated: {}", at(stack.first())));
            lines.extend(indented(stack_lines(stack), 2));
        }
    }
    lines
}

impl Detailed for Race {
    fn text(&self, mode: ViewMode, sources: &mut Sources<'_, '_>) -> Vec<String> {
        let mut lines = memory(&self.variable);
        for (access, which) in self.accesses.iter().zip(["First", "Second"]) {
            let (place, rest) = told(access, mode);
            lines.push(format!("{which} access: {place}"));
            lines.extend(indented(rest, 2));
        }
        let [left, right] = &self.accesses;
        let [left, right] = [left, right].map(|access| sources.around(access.stack.first()));
        lines.extend(beside(left, right));
        lines.extend(self.advice.iter().map(|advice| format!("Advice: {advice}")));
        lines
    }

    fn finding(&self, mode: ViewMode, sources: &mut Sources<'_, '_>) -> Detail {
        let [first, second] = &self.accesses;
        let sides = [first, second].map(|access| {
            let (place, rest) = told(access, mode);
            let mut lines = vec![place];
            // The file stands in the line above.
            lines.extend(sources.around(access.stack.first()).into_iter().skip(1));
            lines.extend(rest);
            lines
        });
        Detail {
            head: self
                .advice
                .iter()
                .map(|advice| format!("Advice: {advice}"))
                .collect(),
            sides,
            foot: memory(&self.variable),
        }
    }
}

/// The place of an access, and what is known about it.
fn told(access: &Access, mode: ViewMode) -> (String, Vec<String>) {
    let stack = stack_in(access, mode);
    let place = format!("{} at {}", access.kind.words(), at(stack.first()));
    let thread = format!("thread {}", access.thread);
    let strand = (!access.strand.is_empty()).then(|| access.strand.clone());
    let who: Vec<String> = [Some(thread), strand].into_iter().flatten().collect();
    let locks = match access.locks.as_slice() {
        [] => "holds no lock".to_owned(),
        locks => format!("holds {}", locks.join(", ")),
    };
    let facts = [
        access.is_line_inferred.then(|| NO_LINE.to_owned()),
        Some(who.join(", ")),
        within(&access.constructs),
        Some(locks),
    ];
    let mut lines: Vec<String> = facts.into_iter().flatten().collect();
    lines.extend(stack_lines(stack));
    (place, lines)
}

impl Detailed for Deadlock {
    fn text(&self, _: ViewMode, sources: &mut Sources<'_, '_>) -> Vec<String> {
        let mut lines = vec![self.detail.clone()];
        for edge in &self.edges {
            let thread = edge.thread;
            if !edge.holds.is_empty() {
                lines.push(format!(
                    "Thread {thread} holds {}, taken at {}",
                    edge.holds,
                    at(edge.held.first())
                ));
                lines.extend(indented(stack_lines(&edge.held), 2));
            }
            lines.push(format!(
                "Thread {thread} waits for {} at {}",
                edge.wants,
                at(edge.wanted.first())
            ));
            lines.extend(indented(stack_lines(&edge.wanted), 2));
            let [left, right] = [&edge.held, &edge.wanted].map(|it| sources.around(it.first()));
            lines.extend(beside(left, right));
        }
        lines
    }

    fn finding(&self, _: ViewMode, sources: &mut Sources<'_, '_>) -> Detail {
        let mut sides = [Vec::new(), Vec::new()];
        for (at_edge, edge) in self.edges.iter().enumerate() {
            let lines = &mut sides[at_edge % 2];
            let thread = edge.thread;
            if !edge.holds.is_empty() {
                lines.push(format!(
                    "thread {thread} holds {}, taken at {}",
                    edge.holds,
                    at(edge.held.first())
                ));
                lines.extend(stack_lines(&edge.held));
            }
            lines.push(format!(
                "thread {thread} waits for {} at {}",
                edge.wants,
                at(edge.wanted.first())
            ));
            lines.extend(sources.around(edge.wanted.first()).into_iter().skip(1));
            lines.extend(stack_lines(&edge.wanted));
        }
        Detail {
            head: vec![self.detail.clone()],
            sides,
            foot: Vec::new(),
        }
    }
}

impl Detailed for Misuse {
    fn text(&self, _: ViewMode, sources: &mut Sources<'_, '_>) -> Vec<String> {
        let mut lines = vec![
            self.detail.clone(),
            format!("At {}", at(self.stack.first())),
        ];
        lines.extend(indented(stack_lines(&self.stack), 2));
        lines.extend(sources.around(self.stack.first()));
        lines
    }
}

impl Detailed for Uninitialised {
    fn text(&self, _: ViewMode, sources: &mut Sources<'_, '_>) -> Vec<String> {
        let mut lines = memory(&self.variable);
        if self.class == Content::Initial {
            lines.push("Nothing has written it before: it holds its initial value, 0".to_owned());
        }
        lines.push(format!("Read at {}", at(self.stack.first())));
        lines.extend(indented(within(&self.constructs).into_iter().collect(), 2));
        lines.extend(indented(stack_lines(&self.stack), 2));
        lines.extend(sources.around(self.stack.first()));
        lines
    }
}

impl Detailed for Divergence {
    fn text(&self, _: ViewMode, sources: &mut Sources<'_, '_>) -> Vec<String> {
        let mut lines = memory(&self.variable);
        let least = if self.is_cut { "at least " } else { "" };
        let unit = match (self.element_bytes, self.elements) {
            (0, 1) => "word of 8 bytes",
            (0, _) => "words of 8 bytes",
            (_, 1) => "element",
            _ => "elements",
        };
        let until = self
            .last
            .as_ref()
            .map(|last| format!(", {} to {last}", self.name()));
        lines.push(format!(
            "Differs: {least}{} {unit}{}",
            self.elements,
            until.unwrap_or_default()
        ));
        let range = |(begin, bytes): &(u64, u64)| format!("{begin} to {}", begin + bytes - 1);
        let ranges: Vec<String> = self.ranges.iter().take(MOST_RANGES).map(range).collect();
        let more = if self.ranges.len() > MOST_RANGES {
            ", ..."
        } else {
            ""
        };
        lines.push(format!("Bytes: {}{more}", ranges.join(", ")));
        for value in &self.values {
            let name = value.name.as_deref().unwrap_or("Value");
            lines.push(format!(
                "{name}: {} before, {} with one thread, {} with {} threads",
                value.before, value.one, value.several, self.threads
            ));
        }
        lines.push(if self.spread > 0.0 {
            format!(
                "Rounding in another direction changes the variable by {:.3e} at most",
                self.spread
            )
        } else {
            "Rounding in another direction does not change the variable".to_owned()
        });
        lines.push(format!(
            "Region at {}, first in instance {}",
            at(self.stack.first()),
            self.instance
        ));
        lines.extend(indented(within(&self.constructs).into_iter().collect(), 2));
        lines.extend(sources.around(self.stack.first()));
        lines.extend(self.advice.iter().map(|advice| format!("Advice: {advice}")));
        lines
    }
}

/// `Race 3: order by chance, a[], 12 times`.
fn head<T: Finding>(row: &Row<T>) -> String {
    let finding = &row.finding;
    let times = match finding.count() {
        1 => "once".to_owned(),
        count => format!("{count} times"),
    };
    let (id, name) = (row.id, finding.name());
    match T::KIND {
        FindingKind::Race => format!("Race {id}: {}, {name}, {times}", finding.class()),
        FindingKind::Deadlock => format!("Deadlock {id}: {}, {name}", finding.class()),
        FindingKind::Misuse => format!("Misuse {id}: {name}, {times}"),
        FindingKind::Divergence => {
            let instances = match finding.count() {
                1 => "1 instance".to_owned(),
                count => format!("{count} instances"),
            };
            format!(
                "Divergence {id}: {}, {name}, in {instances}",
                finding.class()
            )
        }
        FindingKind::Uninit if finding.is_certain() => {
            format!("Uninitialised read {id}: {name}, {times}")
        }
        FindingKind::Uninit => {
            format!(
                "Uninitialised read {id}: {}, {name}, {times}",
                finding.class()
            )
        }
    }
}

/// A finding in detail: a strong line that names it, then the others, which stand in.
pub(super) fn lines<T: Detailed>(
    row: &Row<T>,
    mode: ViewMode,
    sources: &mut Sources<'_, '_>,
) -> Vec<Line> {
    let text = row.finding.text(mode, sources);
    let text = indented(text, 2).into_iter().map(Line::plain);
    std::iter::once(Line::strong(head(row)))
        .chain(text)
        .collect()
}

/// Findings in detail: all that are shown, or the one with a number, even if it is suppressed.
///
/// # Errors
/// [`Error`] if there are no data on them, or no finding has the number.
#[expect(
    private_bounds,
    reason = "the kinds of findings are those of this crate"
)]
pub fn details<T: Detailed>(query: &Query<'_>, number: Option<usize>) -> Result<Document, Error> {
    let found = found::<T>(query)?;
    let rows: Vec<&Row<T>> = match number {
        None => {
            let mut rows: Vec<&Row<T>> = found.shown().collect();
            rows.truncate(query.limited(rows.len()));
            rows
        }
        Some(number) => {
            let row = number.checked_sub(1).and_then(|at| found.rows.get(at));
            vec![row.ok_or_else(|| no_such(T::KIND, number, found.rows.len()))?]
        }
    };
    let mut files = Sources::new(query);
    let mode = query.settings.mode;
    let mut blocks: Vec<Block> = rows
        .iter()
        .map(|row| Block::Lines(lines(row, mode, &mut files)))
        .collect();
    if blocks.is_empty() {
        let nothing = match T::KIND {
            FindingKind::Divergence => nothing(query, T::KIND).to_owned(),
            kind => format!("No {} was found", kind.noun(1)),
        };
        blocks.push(Block::Lines(vec![Line::plain(nothing)]));
    }
    let objects = rows
        .iter()
        .map(|row| Json::Object(fields_of(query, row, mode)));
    let not_checked = not_checked(query);
    let mut notices = notices_of(query, T::KIND);
    notices.extend(found.notices.iter().cloned());
    notices.extend(files.known.values().filter_map(|file| file.warning.clone()));
    notices.sort_by_key(|text| text.starts_with("the source "));
    let view = match T::KIND {
        FindingKind::Race => "rdetail",
        FindingKind::Deadlock => "ddetail",
        FindingKind::Misuse => "misuse",
        FindingKind::Uninit => "udetail",
        FindingKind::Divergence => "vdetail",
    };
    Ok(Document {
        facts: json::fields([
            ("not_checked", json!(not_checked)),
            ("rows", objects.collect()),
        ]),
        title: not_checked.join("\n"),
        blocks,
        notices,
        ..query.document_of_findings(view)
    })
}

/// The list of misuse, and each with its stack.
///
/// # Errors
/// [`Error`] if there are no data on it.
pub fn misuse(query: &Query<'_>) -> Result<Document, Error> {
    let mut document = list::<Misuse>(query)?;
    if found::<Misuse>(query)?.shown().next().is_some() {
        document
            .blocks
            .extend(details::<Misuse>(query, None)?.blocks);
    }
    Ok(document)
}

fn no_such(kind: FindingKind, number: usize, count: usize) -> Error {
    let (noun, view) = (kind.noun(1), kind.view());
    Error(match count {
        0 => format!("there is no {noun} {number}: none was found"),
        count => format!("there is no {noun} {number}: {view} lists {count}, from 1"),
    })
}
