//! How the tables of a text are laid out.

use crate::document::{Column, Mark, Row, Style, Table, TablePart, Unit};

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
    /// As Markdown.
    Markdown,
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
    let position = |id: &String| table.columns.iter().position(|column| column.id == *id);
    part.columns.iter().filter_map(position).collect()
}

/// The same table in one part: each column once under its full name, names last.
pub(super) fn in_one_part(table: &Table) -> Table {
    let mut shown: Vec<&str> = Vec::new();
    for id in table.parts.iter().flat_map(|part| &part.columns) {
        let id = id.as_str();
        shown.retain(|known| *known != id || id != "name");
        if !shown.contains(&id) {
            shown.push(id);
        }
    }
    let named = |column: &Column| {
        let unit = match column.unit {
            Unit::Seconds if !table.has_sides() => "sec.",
            _ => "",
        };
        Column {
            heading: match (column.is_name(), column.heading.as_slice()) {
                (false, [_, ..]) => vec![column.label.clone(), unit.to_owned()],
                (_, heading) => heading.to_vec(),
            },
            ..column.clone()
        }
    };
    Table {
        columns: table.columns.iter().map(named).collect(),
        parts: vec![TablePart::new("", shown)],
        ..table.clone()
    }
}

/// A name has the branches of so many levels before it at most.
const DEEPEST: usize = 200;

/// What stands before the names of a table's rows.
pub(super) fn leads(table: &Table) -> Vec<String> {
    let mut open: Vec<&str> = Vec::new();
    let lead = |row: &Row| match row.node {
        Some(node) if table.is_facts() => "  ".repeat(node.depth as usize),
        Some(node) => {
            open.truncate(node.depth as usize);
            // The branches of a very deep stack would be longer than all else together.
            let hidden = open.len().saturating_sub(DEEPEST);
            let lead = match (hidden, open.get(hidden..).unwrap_or_default()) {
                (0, all) => format!(" {}+-", all.concat()),
                (hidden, inner) => format!(" [{hidden} more levels] {}+-", inner.concat()),
            };
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

/// A text in HTML.
pub(super) fn html(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

/// A text in Markdown, in which no name makes a link (`operator[](int)`), emphasis (`__main__`), a formula
/// or a tag.
pub(super) fn markdown(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    let mut letters = text.chars().peekable();
    let mut is_in_word = false;
    while let Some(letter) = letters.next() {
        let is_mark = match letter {
            // Within a word it is no mark.
            '_' => !is_in_word || !letters.peek().is_some_and(|next| next.is_alphanumeric()),
            _ => matches!(
                letter,
                '\\' | '|' | '<' | '*' | '`' | '&' | '[' | ']' | '~' | '$'
            ),
        };
        if is_mark {
            escaped.push('\\');
        }
        escaped.push(letter);
        is_in_word = letter.is_alphanumeric();
    }
    escaped
}

/// What encloses lines that Markdown shows as they are: more backticks than any of them begins with.
pub(super) fn fence(lines: &[&str]) -> String {
    let ticks = |line: &&str| {
        let rest = line.trim_start().trim_start_matches('`');
        line.trim_start().len() - rest.len()
    };
    let longest = lines.iter().map(ticks).max().unwrap_or(0);
    "`".repeat(longest.max(2) + 1)
}

/// A text of HTML or Markdown in a cell, where runs of spaces indent.
pub(super) fn indented(text: &str) -> String {
    text.replace("  ", "&nbsp; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_make_no_markup_of_markdown() {
        assert_eq!(markdown("omp_get_thread_num"), "omp_get_thread_num");
        assert_eq!(markdown("operator[](int)"), r"operator\[\](int)");
        assert_eq!(markdown("![a](http://b)"), r"!\[a\](http://b)");
        assert_eq!(
            markdown("__main__ a*b* `c` $d$ ~~e~~"),
            r"\_\_main\_\_ a\*b\* \`c\` \$d\$ \~\~e\~\~"
        );
        assert_eq!(
            markdown(r"<img src=x> | &lt; \"),
            r"\<img src=x> \| \&lt; \\"
        );
        assert_eq!(fence(&["a ``` b"]), "```");
        assert_eq!(fence(&["```", "  ````sh"]), "`````");
    }
}
