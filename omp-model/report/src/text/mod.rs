//! A document as text, in the manner of Sun's er_print; with a sign between cells; as HTML or
//! Markdown.
//!
//! ```text
//! Excl. OMP     Incl. OMP      Name
//! Work          Work
//!  sec.      %   sec.      %
//! 2.922 100.00  2.922 100.00   <Total>
//! ```

mod aligned;
mod annotated;
mod cells;
pub mod colours;
mod drawn;
mod grid;
mod layout;
mod records;

use crate::document::{About, Block, Document, Style, Table};

use layout::{columns, fence, html, in_one_part, markdown, parts, style};

pub use aligned::Screen;
pub use cells::{compared, number, percent, rounded, seconds};
pub use drawn::{Drawn, drawn, sentences, shown};
pub use layout::{Layout, mark};

/// The document in a layout.
pub fn render(document: &Document, layout: Layout) -> String {
    write(document, layout, None)
}

/// The document as text on a screen: a table that is too wide for it is divided into several under
/// each other, which have all rows.
pub fn fitted(document: &Document, screen: Screen) -> String {
    write(document, Layout::Aligned, Some(screen))
}

fn write(document: &Document, layout: Layout, screen: Option<Screen>) -> String {
    let mut page = Page {
        layout,
        screen,
        written: String::new(),
    };
    let first = document.first_lines();
    if !first.is_empty() {
        page.words(Words::Notes, first.iter().map(String::as_str));
        page.gap();
    }
    if !document.title.is_empty() {
        page.words(Words::Title, document.title.lines());
        let about = document.about.iter();
        let numbered: Vec<String> = about.flat_map(About::numbered).collect();
        page.words(Words::Lines, numbered.iter().map(String::as_str));
        page.gap();
    }
    for block in &document.blocks {
        match block {
            Block::Lines(lines) => {
                page.words(Words::Lines, lines.iter().map(|line| line.text.as_str()));
                if !document.is_bare {
                    page.gap();
                }
            }
            Block::Table(table) => page.table(table),
        }
    }
    let footer = footer(document);
    if !document.is_bare && !footer.is_empty() {
        page.words(Words::Notes, footer.iter().map(String::as_str));
        page.gap();
    }
    let others = document.others.iter();
    let others = others.map(|other| {
        // What is said of all runs stands above the first.
        let other = Document {
            caveats: Vec::new(),
            ..other.clone()
        };
        write(&other, layout, screen)
    });
    page.written + &others.collect::<String>()
}

/// What the mark of inferred times says.
pub const INFERRED: &str =
    "of a row with ~, no sample shows where at least half of its time stands";

/// What limits the trust in a document; nothing if nothing does.
fn footer(document: &Document) -> Vec<String> {
    let warnings = document.warnings.iter();
    let warnings = warnings.map(|warning| format!("Warning: {warning}"));
    let mut blocks = document.blocks.iter();
    let is_marked =
        blocks.any(|block| matches!(block, Block::Table(table) if table.has_inferred()));
    let notices = document.notices.iter().map(String::as_str);
    let notices = notices.chain(is_marked.then_some(INFERRED));
    let notices = notices.map(|notice| format!("Note: {notice}"));
    warnings.chain(notices).collect()
}

/// What lines of text outside of tables are.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Words {
    /// The head of the document.
    Title,
    /// The head of a table.
    Caption,
    /// Lines whose spaces matter.
    Lines,
    /// Sentences under the document.
    Notes,
}

/// A report as it is written.
struct Page {
    layout: Layout,
    /// What tables are to fit, if anything.
    screen: Option<Screen>,
    written: String,
}

impl Page {
    /// Lines of text. Between delimited cells they are comments.
    fn words<'l>(&mut self, words: Words, lines: impl Iterator<Item = &'l str>) {
        let lines: Vec<&str> = lines.collect();
        if lines.is_empty() {
            return;
        }
        let each = |before: &str| {
            let line = |line: &&str| format!("{before}{line}\n");
            lines.iter().map(line).collect::<String>()
        };
        self.written += &match (self.layout, words) {
            (Layout::Aligned, _) => each(""),
            (Layout::Delimited(_), _) => {
                let told = lines.iter().filter(|line| !line.trim().is_empty());
                told.map(|line| format!("# {line}\n")).collect()
            }
            (Layout::Html, words) => {
                let tag = match words {
                    Words::Title => "h2",
                    Words::Caption => "h3",
                    Words::Lines | Words::Notes => "pre",
                };
                let text = lines.join("\n");
                format!("<{tag}>{}</{tag}>\n", html(text.trim_matches('\n')))
            }
            (Layout::Markdown, Words::Title) => format!("## {}\n\n", markdown(&lines.join(" "))),
            (Layout::Markdown, Words::Caption) => {
                format!("### {}\n\n", markdown(&lines.join(" ")))
            }
            (Layout::Markdown, Words::Lines) => {
                let fence = fence(&lines);
                format!("{fence}\n{}{fence}\n\n", each(""))
            }
            (Layout::Markdown, Words::Notes) => {
                let notes = lines.iter().map(|line| format!("{}\n\n", markdown(line)));
                notes.collect()
            }
        };
    }

    /// Whether bars can have colours.
    fn has_colours(&self) -> bool {
        self.screen.is_some_and(|screen| screen.has_colours)
    }

    /// An empty line between parts of a text.
    fn gap(&mut self) {
        if self.layout == Layout::Aligned {
            self.written.push('\n');
        }
    }

    fn table(&mut self, table: &Table) {
        if table.rows.is_empty() && !table.empty.is_empty() {
            self.words(Words::Notes, table.empty.lines());
            self.gap();
            return;
        }
        let whole;
        let table = match self.layout {
            // Other programs want one table.
            Layout::Delimited(_) if table.parts.len() > 1 => {
                whole = in_one_part(table);
                &whole
            }
            _ => table,
        };
        for part in parts(table) {
            if !part.caption.is_empty() {
                self.words(Words::Caption, part.caption.lines());
                if !table.is_facts() && table.style != Style::Cards {
                    self.gap();
                }
            }
            let shown = columns(table, part);
            let cells = || match table.style {
                Style::Annotated => annotated::cells(table, &shown, self.layout),
                _ => grid::cells(table, &shown, self.layout),
            };
            let rows = match (self.layout, table.style) {
                (Layout::Aligned, Style::Facts(facts)) if !table.has_sides() => {
                    grid::facts(table, &shown, facts, self.has_colours())
                }
                (Layout::Aligned, Style::Records) => records::aligned(table),
                (Layout::Aligned, Style::Cards) => {
                    let lines = grid::cards(table, &shown).concat();
                    lines.iter().map(|line| format!("{line}\n")).collect()
                }
                (Layout::Aligned, _) => cells().aligned(style(table), self.screen),
                (Layout::Delimited(mark), _) => cells().delimited(mark),
                (Layout::Html, _) => cells().html(),
                (Layout::Markdown, _) => cells().markdown(),
            };
            self.written += &rows;
            self.words(
                Words::Lines,
                table.foot.iter().map(|line| line.text.as_str()),
            );
            self.gap();
        }
    }
}
