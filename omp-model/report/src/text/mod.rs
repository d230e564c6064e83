//! A document as text, in the manner of Sun's er_print; with a sign between cells; or as HTML.
//!
//! ```text
//! Excl. OMP     Incl. OMP      Name
//! Work          Work
//!  sec.      %   sec.      %
//! 2.922 100.00  2.922 100.00   <Total>
//! ```

mod annotated;
mod cells;
mod drawn;
mod grid;
mod layout;
mod records;

use crate::document::{Block, Document, Line, Style, Table};

use layout::{columns, escape, parts, style};

pub use cells::{compared, number, percent, rounded, seconds};
pub use drawn::{Drawn, drawn, facts, shown};
pub use layout::{Layout, address, mark};

/// The document in a layout.
pub fn render(document: &Document, layout: Layout) -> String {
    let mut page = Page::new(layout);
    if !document.title.is_empty() {
        page.text(&format!("{}\n", document.title));
        if let Some(about) = &document.about {
            let numbered = about.numbered();
            numbered.for_each(|line| page.text(&format!("{line}\n")));
        }
        page.text("\n");
    }
    for block in &document.blocks {
        match block {
            Block::Lines(lines) => {
                page.lines(lines);
                if !document.is_bare {
                    page.text("\n");
                }
            }
            Block::Table(table) => page.table(table),
        }
    }
    if !document.is_bare {
        page.text(&footer(document));
    }
    let others = document.others.iter().map(|other| render(other, layout));
    page.finish() + &others.collect::<String>()
}

/// What the mark of inferred times says.
pub const INFERRED: &str =
    "of a row with ~, no sample shows where at least half of its time stands";

/// What limits the trust in a document; nothing if nothing does.
fn footer(document: &Document) -> String {
    let warnings = document.warnings.iter();
    let warnings = warnings.map(|warning| format!("Warning: {warning}\n"));
    let mut blocks = document.blocks.iter();
    let is_marked =
        blocks.any(|block| matches!(block, Block::Table(table) if table.has_inferred()));
    let notices = document.notices.iter().map(String::as_str);
    let notices = notices.chain(is_marked.then_some(INFERRED));
    let notices = notices.map(|notice| format!("Note: {notice}\n"));
    let lines: String = warnings.chain(notices).collect();
    if lines.is_empty() {
        lines
    } else {
        format!("{lines}\n")
    }
}

/// A report as it is written: text, and between it tables that may be HTML.
struct Page {
    layout: Layout,
    written: String,
    /// Text that is not written yet, because HTML keeps it together in one element.
    pending: String,
}

impl Page {
    fn new(layout: Layout) -> Page {
        Page {
            layout,
            written: String::new(),
            pending: String::new(),
        }
    }

    fn text(&mut self, text: &str) {
        self.pending.push_str(text);
    }

    fn lines(&mut self, lines: &[Line]) {
        lines
            .iter()
            .for_each(|line| self.text(&format!("{}\n", line.text)));
    }

    fn table(&mut self, table: &Table) {
        if table.rows.is_empty() && !table.empty.is_empty() {
            self.text(&format!("{}\n\n", table.empty));
            return;
        }
        for part in parts(table) {
            if !part.caption.is_empty() {
                let gap = if table.is_facts() { "" } else { "\n" };
                self.text(&format!("{}\n{gap}", part.caption));
            }
            let shown = columns(table, part);
            let cells = || match table.style {
                Style::Annotated => annotated::cells(table, &shown, self.layout),
                _ => grid::cells(table, &shown, self.layout),
            };
            match (self.layout, table.style) {
                (Layout::Aligned, Style::Facts(facts)) if !table.has_sides() => {
                    self.text(&grid::facts(table, &shown, facts));
                }
                (Layout::Aligned, Style::Records) => self.text(&records::aligned(table)),
                (Layout::Aligned, _) => self.text(&cells().aligned(style(table))),
                (Layout::Delimited(mark), _) => self.text(&cells().delimited(mark)),
                (Layout::Html, _) => {
                    let html = cells().html();
                    self.flush();
                    self.written.push_str(&html);
                }
            }
            self.lines(&table.foot);
            self.text("\n");
        }
    }

    fn flush(&mut self) {
        let text = std::mem::take(&mut self.pending);
        if self.layout != Layout::Html {
            self.written.push_str(&text);
        } else if !text.trim().is_empty() {
            let text = escape(text.trim_matches('\n'));
            self.written.push_str(&format!("<pre>{text}</pre>\n"));
        }
    }

    fn finish(mut self) -> String {
        self.flush();
        self.written
    }
}
