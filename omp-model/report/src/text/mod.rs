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
mod records;

use omp_model::views::Code;

use crate::document::{Block, Document, Line, Part, Row, Style, Table};

pub use cells::{compared, number, percent, rounded, seconds};
pub use drawn::{Drawn, drawn, facts, shown};

/// How the tables of a text are laid out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Layout {
    /// Under each other.
    #[default]
    Aligned,
    /// With a character between cells, for other programs.
    Delimited(char),
    /// As HTML.
    Html,
}

/// The document in a layout.
pub fn render(document: &Document, layout: Layout) -> String {
    let mut page = Page::new(layout);
    if !document.title.is_empty() {
        page.text(&format!("{}\n", document.title));
        if let Some(about) = &document.about {
            let named = about.numbers.iter().zip(&about.experiments);
            named.for_each(|(number, name)| page.text(&format!("  {number} {name}\n")));
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

/// What limits the trust in a document; nothing if nothing does.
fn footer(document: &Document) -> String {
    let warnings = document.warnings.iter();
    let warnings = warnings.map(|warning| format!("Warning: {warning}\n"));
    let notices = document.notices.iter();
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
        let whole = Part {
            caption: String::new(),
            columns: Vec::new(),
        };
        let parts = match table.parts.is_empty() {
            true => std::slice::from_ref(&whole),
            false => table.parts.as_slice(),
        };
        for part in parts {
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
                (Layout::Aligned, _) => self.text(&cells().aligned(annotated::style(table))),
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

/// The columns of a part, by their position in the table.
fn columns(table: &Table, part: &Part) -> Vec<usize> {
    if part.columns.is_empty() {
        let all = table.columns.iter().enumerate();
        let visible = all.filter(|(_, column)| column.is_visible());
        return visible.map(|(at, _)| at).collect();
    }
    let position = |id: &&str| table.columns.iter().position(|column| column.id == **id);
    part.columns.iter().filter_map(position).collect()
}

/// What stands before the names of a table's rows.
fn leads(table: &Table) -> Vec<String> {
    let mut open: Vec<&str> = Vec::new();
    let lead = |row: &Row| match row.node {
        Some(node) if table.is_facts() => "  ".repeat(node.depth as usize),
        Some(node) => {
            open.truncate(node.depth as usize);
            let lead = format!(" {}+-", open.concat());
            open.push(if node.last { "  " } else { "|  " });
            lead
        }
        None if matches!(table.style, Style::Sparse | Style::Ruled | Style::Facts(_)) => {
            String::new()
        }
        None if table.style == Style::Right && !table.has_sides() => String::new(),
        None if table.style == Style::Annotated => match table.has_sides() {
            true => format!("{} ", annotated::mark(row)),
            false => String::new(),
        },
        None => row.lead().to_owned(),
    };
    table.rows.iter().map(lead).collect()
}

/// `2:0x00001139`: the number of the load object and the offset in it; 0 for what has no code.
pub fn address(code: Option<Code>) -> String {
    let (module, address) = code.map_or((0, 0), |code| (code.module.0, code.address));
    format!("{module}:0x{address:08x}")
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

#[cfg(test)]
mod tests;
