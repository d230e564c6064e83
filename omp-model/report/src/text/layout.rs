//! How the tables of a text are laid out.

use omp_model::views::Code;

use crate::document::{Mark, Row, Style, Table, TablePart};

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

/// The parts of a table; one of all columns if it has none.
pub(super) fn parts(table: &Table) -> &[TablePart] {
    const WHOLE: &[TablePart] = &[TablePart {
        caption: String::new(),
        columns: Vec::new(),
    }];
    if table.parts.is_empty() {
        WHOLE
    } else {
        &table.parts
    }
}

/// The columns of a part, by their position in the table.
pub(super) fn columns(table: &Table, part: &TablePart) -> Vec<usize> {
    if part.columns.is_empty() {
        let all = table.columns.iter().enumerate();
        let visible = all.filter(|(_, column)| column.is_visible());
        return visible.map(|(at, _)| at).collect();
    }
    let position = |id: &&str| table.columns.iter().position(|column| column.id == **id);
    part.columns.iter().filter_map(position).collect()
}

/// What stands before the names of a table's rows.
pub(super) fn leads(table: &Table) -> Vec<String> {
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
        None if table.style == Style::Annotated => {
            if table.has_sides() {
                format!("{} ", mark(table, row))
            } else {
                String::new()
            }
        }
        None => row.lead().to_owned(),
    };
    table.rows.iter().map(lead).collect()
}

/// What marks a line as hot, and as inferred.
pub fn mark(table: &Table, row: &Row) -> String {
    let mark = match (row.mark, row.is_inferred(&table.columns)) {
        (Mark::Strong, false) => "##",
        (Mark::Strong, true) => "#~",
        (Mark::Plain | Mark::Warning, false) => "  ",
        (Mark::Plain | Mark::Warning, true) => " ~",
    };
    mark.to_owned()
}

/// How a table stands; compared lines have numbers to the right, as any other comparison.
pub(super) fn style(table: &Table) -> Style {
    match table.style {
        Style::Annotated if table.has_sides() => Style::Right,
        style => style,
    }
}

/// `2:0x00001139`: the number of the load object and the offset in it; 0 for what has no code.
pub fn address(code: Option<Code>) -> String {
    let (module, address) = code.map_or((0, 0), |code| (code.module.0, code.address));
    format!("{module}:0x{address:08x}")
}

pub(super) fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}
