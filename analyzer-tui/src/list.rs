//! A document as the lines of a list.

use std::sync::Arc;

use report::Document;
use report::document::{self, Block, Mark, Row, Style, Table, Target};
use report::settings::Compare;
use report::text;

use crate::text_fit::wrap;

/// A document, and its lines in the order of a list.
#[derive(Debug, Default)]
pub struct List {
    document: Arc<Document>,
    lines: Vec<Line>,
    /// Whether the current table's heading stands above the list and does not scroll.
    has_head: bool,
}

/// A line of a list. Blocks are those of the document.
#[derive(Clone, Debug)]
pub enum Line {
    /// Text.
    Text(document::Line),
    /// A line of a table's heading.
    Heading {
        /// The table.
        block: usize,
        /// The line, from 0.
        at: usize,
    },
    /// A line above a row of annotated code.
    Note {
        /// The table.
        block: usize,
        /// The row.
        row: usize,
        /// The line, from 0.
        at: usize,
    },
    /// A row that is written as a sentence, or a line of it.
    Fact {
        /// The table.
        block: usize,
        /// The row.
        row: usize,
        /// The line of the sentence.
        text: String,
    },
    /// A row.
    Row {
        /// The table.
        block: usize,
        /// The row.
        row: usize,
    },
}

impl List {
    /// All lines of a document, its text wrapped to a width. With `has_head`, the heading of the
    /// table in sight stands above the list and does not scroll.
    pub fn new(document: Arc<Document>, width: usize, has_head: bool) -> List {
        let mut lines = Vec::new();
        let mut head_stands_over = has_head;
        for (at, block) in document.blocks.iter().enumerate() {
            match block {
                Block::Lines(all) => lines.extend(all.iter().flat_map(|line| wrapped(line, width))),
                Block::Table(table) => {
                    table_lines(table, (at, !head_stands_over), width, &mut lines);
                    head_stands_over = false;
                }
            }
            if at + 1 < document.blocks.len() {
                lines.push(Line::Text(document::Line::default()));
            }
        }
        List {
            document,
            lines,
            has_head,
        }
    }

    /// Some rows of a document's first table.
    pub fn of_rows(document: Arc<Document>, rows: &[usize]) -> List {
        let row = |&row: &usize| Line::Row { block: 0, row };
        List {
            lines: rows.iter().map(row).collect(),
            document,
            has_head: true,
        }
    }

    /// The document's title, in one line.
    pub fn title(&self) -> &str {
        self.document.title.lines().last().unwrap_or_default()
    }

    /// How the document compares experiments, if it is about any.
    pub fn compare(&self) -> Option<Compare> {
        self.document.about.as_ref().map(|about| about.compare)
    }

    /// The lines.
    pub fn lines(&self) -> &[Line] {
        &self.lines
    }

    /// Whether a line is a row.
    pub fn is_row(&self, line: usize) -> bool {
        matches!(self.lines.get(line), Some(Line::Row { .. }))
    }

    /// The table with this block number.
    pub fn table(&self, block: usize) -> Option<&Table> {
        match self.document.blocks.get(block)? {
            Block::Table(table) => Some(table),
            Block::Lines(_) => None,
        }
    }

    /// The block and row of a line.
    fn block_and_row(&self, line: usize) -> Option<(usize, usize)> {
        match *self.lines.get(line)? {
            Line::Note { block, row, .. }
            | Line::Fact { block, row, .. }
            | Line::Row { block, row } => Some((block, row)),
            Line::Text(_) | Line::Heading { .. } => None,
        }
    }

    /// The row of a line.
    pub fn row(&self, line: usize) -> Option<&Row> {
        let (block, row) = self.block_and_row(line)?;
        self.table(block)?.rows.get(row)
    }

    /// The text of a line, without a row's values.
    pub fn text(&self, line: usize) -> &str {
        match self.lines.get(line) {
            Some(Line::Text(line)) => &line.text,
            Some(Line::Fact { text, .. }) => text,
            Some(Line::Note { at, .. }) => {
                let note = self.row(line).and_then(|row| row.notes.get(*at));
                note.map_or("", |note| &note.text)
            }
            Some(Line::Row { .. }) => self.row(line).map_or("", |row| &row.name),
            Some(Line::Heading { .. }) | None => "",
        }
    }

    /// What a line is about.
    pub fn target(&self, line: usize) -> Option<&Target> {
        match self.lines.get(line)? {
            Line::Text(line) => line.target.as_ref(),
            _ => self.row(line)?.target.as_ref(),
        }
    }

    /// The function or construct that a line is about, as stacks have it: of a construct without
    /// frames, the function that holds it.
    pub fn function(&self, line: usize) -> Option<&str> {
        match self.target(line)? {
            Target::Function(name) => Some(name),
            Target::Construct(it) if it.contexts.is_empty() => it.location.function.as_deref(),
            Target::Construct(_) => Some(&self.row(line)?.name),
            _ => None,
        }
    }

    /// Whether a line is a row with much of the time.
    pub fn is_hot(&self, line: usize) -> bool {
        self.is_row(line) && self.row(line).is_some_and(|row| row.mark == Mark::Strong)
    }

    /// The first line with a row that fits.
    pub fn position(&self, fits: impl Fn(&Row) -> bool) -> Option<usize> {
        let is_row = |at: &usize| matches!(self.lines[*at], Line::Row { .. } | Line::Fact { .. });
        let mut rows = (0..self.lines.len()).filter(is_row);
        rows.find(|&at| self.row(at).is_some_and(&fits))
    }

    /// The height of the heading above the list.
    pub fn head(&self) -> usize {
        let tables = (0..self.document.blocks.len()).filter_map(|at| self.table(at));
        let heights = tables.filter(|_| self.has_head).map(heading_height);
        heights.max().unwrap_or(0)
    }

    /// The table that has its heading above the list if `top` is the first line in sight.
    pub fn head_of(&self, top: usize) -> Option<usize> {
        let before = (0..=top).rev().filter_map(|line| self.block_and_row(line));
        let after = (top..self.lines.len()).filter_map(|line| self.block_and_row(line));
        before.chain(after).next().map(|(block, _)| block)
    }
}

/// The lines of a table's heading.
pub fn heading_height(table: &Table) -> usize {
    let rows = table.rows.first().into_iter();
    let drawn = text::drawn(table, &table.columns, &text::shown(table), rows);
    drawn
        .iter()
        .map(|cells| cells.heading.len())
        .max()
        .unwrap_or(0)
}

fn table_lines(
    table: &Table,
    (block, has_heading): (usize, bool),
    width: usize,
    lines: &mut Vec<Line>,
) {
    if table.rows.is_empty() && !table.empty.is_empty() {
        lines.extend(wrapped(&document::Line::plain(table.empty.clone()), width));
        return;
    }
    let captions = table.parts.first().into_iter().map(|part| &part.caption);
    let captions = captions.filter(|caption| !caption.is_empty());
    lines.extend(captions.flat_map(|text| wrapped(&document::Line::strong(text.clone()), width)));
    if table.style == Style::Cards || table.is_facts() && !table.has_sides() {
        let sentences = text::sentences(table).into_iter();
        lines.extend(sentences.flat_map(|(row, text)| {
            let pieces = wrap(&text, width).into_iter();
            pieces.map(move |text| Line::Fact { block, row, text })
        }));
    } else {
        if has_heading {
            lines.extend((0..heading_height(table)).map(|at| Line::Heading { block, at }));
        }
        for (row, of) in table.rows.iter().enumerate() {
            let notes = 0..of.notes.len();
            lines.extend(notes.map(|at| Line::Note { block, row, at }));
            lines.push(Line::Row { block, row });
        }
    }
    lines.extend(table.foot.iter().flat_map(|line| wrapped(line, width)));
}

/// Wraps a line of text.
fn wrapped(line: &document::Line, width: usize) -> Vec<Line> {
    let text = |text| {
        Line::Text(document::Line {
            text,
            ..line.clone()
        })
    };
    wrap(&line.text, width).into_iter().map(text).collect()
}

/// Whether a table is of source lines or instructions.
pub fn is_code(table: &Table) -> bool {
    table.style == Style::Annotated
}
