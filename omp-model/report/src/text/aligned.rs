//! Cells under each other, on a screen or without end.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::grid::{Cells, Grid, is_right};
use crate::document::Style;

/// A screen that tables are to fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Screen {
    /// The cells of a line.
    pub width: usize,
    /// Whether names are cut in their middle.
    pub cuts_names: bool,
    /// Whether it shows colours.
    pub has_colours: bool,
}

/// The cells between two columns, at most.
const GAP: usize = 2;

/// Names have so many cells on a screen, or as many as the longest needs.
const LEAST: usize = 24;

impl Grid {
    /// The cells under each other. On a screen that is too narrow for all columns, as many as it has
    /// room for, with the names, and the others under them in the same way.
    pub(super) fn aligned(mut self, style: Style, screen: Option<Screen>) -> String {
        if style == Style::Sparse {
            let says = |cells: &Cells| cells.is_name || cells.says_something();
            self.columns.retain(says);
            let numbers = self.columns.iter_mut().filter(|cells| !cells.is_name);
            numbers.for_each(Cells::align_points);
        }
        let Some(screen) = screen else {
            return self.block(style);
        };
        let blocks = self.blocks(style, screen.width).into_iter();
        let blocks = blocks.map(|block| block.fitted(screen).block(style));
        blocks.collect::<Vec<_>>().join("\n")
    }

    /// The columns by screens, each with the names, or with the first column where rows have none.
    /// Source lines are not repeated.
    fn blocks(mut self, style: Style, width: usize) -> Vec<Grid> {
        let named = self.columns.iter().position(|cells| cells.is_name);
        if style == Style::Annotated || self.columns.len() < 2 {
            return vec![self];
        }
        let at = named.unwrap_or(0);
        let names = self.columns.remove(at);
        let room = width.saturating_sub(match named {
            Some(_) => names.width().min(LEAST),
            None => names.width() + GAP,
        });
        let mut blocks: Vec<Vec<Cells>> = Vec::new();
        for group in groups(self.columns) {
            match blocks.last_mut() {
                Some(block) if taken(block) + taken(&group) < room => block.extend(group),
                _ => blocks.push(group),
            }
        }
        let of = |mut columns: Vec<Cells>| {
            columns.insert(at.min(columns.len()), names.clone());
            Grid { columns, ..self }
        };
        blocks.into_iter().map(of).collect()
    }

    /// The same with names cut to what the other columns leave of the screen.
    fn fitted(mut self, screen: Screen) -> Grid {
        if screen.cuts_names {
            let room = screen.width.saturating_sub(taken(&self.columns) + 1);
            let names = self.columns.iter_mut().filter(|cells| cells.is_name);
            let names = names.flat_map(|cells| &mut cells.rows);
            names.for_each(|name| *name = cut(name, room.max(LEAST)));
        }
        self
    }

    /// The cells, a line for each row.
    fn block(self, style: Style) -> String {
        let height = self.columns.iter().map(|cells| cells.heading.len()).max();
        let mut lines = Lines {
            style,
            widths: self.columns.iter().map(Cells::width).collect(),
            columns: &self.columns,
            text: String::new(),
        };
        for at in 0..height.unwrap_or(0) {
            let any = self.columns.iter().any(|cells| !cells.line(at).is_empty());
            // The second line of a sparse heading holds its room.
            if any || style == Style::Sparse {
                lines.push(false, |cells| cells.line(at));
            }
        }
        if style == Style::Ruled {
            let rules: Vec<String> = lines
                .widths
                .iter()
                .map(|&width| "=".repeat(width))
                .collect();
            lines
                .text
                .push_str(&format!("{}\n", rules.join(" ").trim_end()));
        }
        for row in 0..self.rows {
            lines.push(true, |cells| &cells.rows[row]);
        }
        lines.text
    }
}

/// The cells of a line that columns take before the names.
fn taken(columns: &[Cells]) -> usize {
    let numbers = columns.iter().filter(|cells| !cells.is_name);
    numbers.map(|cells| cells.width() + GAP).sum()
}

/// Columns with what further experiments have of them.
fn groups(columns: Vec<Cells>) -> Vec<Vec<Cells>> {
    let mut groups: Vec<Vec<Cells>> = Vec::new();
    for cells in columns {
        match groups.last_mut() {
            Some(group) if cells.is_further => group.push(cells),
            _ => groups.push(vec![cells]),
        }
    }
    groups
}

/// A text cut in its middle to a width: both ends of a name tell it apart.
fn cut(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let tail_width = width / 3;
    let head_width = (width - tail_width).saturating_sub(1);
    let head: usize = fitting(text.chars(), head_width).map(char::len_utf8).sum();
    let tail: usize = fitting(text.chars().rev(), tail_width)
        .map(char::len_utf8)
        .sum();
    let (head, tail) = (&text[..head], &text[text.len() - tail..]);
    format!("{head}…{tail}")
}

/// As many letters as fit a width.
fn fitting(letters: impl Iterator<Item = char>, width: usize) -> impl Iterator<Item = char> {
    let mut taken = 0;
    letters.take_while(move |letter| {
        taken += letter.width().unwrap_or(0);
        taken <= width
    })
}

/// Lines of cells that stand under each other.
struct Lines<'a> {
    style: Style,
    /// Of each column.
    widths: Vec<usize>,
    columns: &'a [Cells],
    text: String,
}

impl<'a> Lines<'a> {
    /// Adds a line of one cell of each column.
    fn push(&mut self, is_row: bool, cell: impl Fn(&'a Cells) -> &'a str) {
        let (style, text) = (self.style, &mut self.text);
        let start = text.len();
        let gap = if style == Style::Ruled { 1 } else { GAP };
        for (at, (cells, width)) in self.columns.iter().zip(&self.widths).enumerate() {
            let cell = cell(cells);
            let gap = match style {
                // The mark of a hot line stands by its times.
                Style::Annotated if at == 0 => 1,
                _ => gap,
            };
            let gap = " ".repeat(gap);
            // A width of `format!` has 16 bits.
            let padding = " ".repeat(width - cell.width());
            let last_name = cells.is_name && (style == Style::Sparse || is_right(style));
            if last_name {
                text.push_str(&format!(" {cell}"));
            } else if is_row && is_right(style) {
                text.push_str(&format!("{padding}{cell}{gap}"));
            } else {
                text.push_str(&format!("{cell}{padding}{gap}"));
            }
        }
        text.truncate(start + text[start..].trim_end().len());
        text.push('\n');
    }
}

#[cfg(test)]
mod tests {
    use omp_model::metrics::{Flavour, Metric, Quantity};

    use super::*;
    use crate::document::{Block, Column, Document, Row, Table, Value};
    use crate::settings::Compare;
    use crate::text::{Layout, fitted, render};

    const NAME: &str = "solve -- OMP parallel region from line 9";

    /// A row with a second in each of some metrics, for so many experiments.
    fn document(metrics: &[Metric], sides: usize) -> Document {
        let times = metrics.iter().map(|&metric| {
            let quantity = Quantity::Time(Flavour::Exclusive, metric);
            Column::time(quantity)
        });
        let mut values = vec![Value::Number(1.0); metrics.len()];
        values.push(Value::Absent);
        let row = Row {
            name: NAME.to_owned(),
            values: vec![values; sides],
            ..Row::default()
        };
        Document {
            blocks: vec![Block::Table(Table {
                compare: match sides {
                    1 => Compare::Off,
                    _ => Compare::On,
                },
                columns: times.chain([Column::name()]).collect(),
                rows: vec![row],
                ..Table::default()
            })],
            ..Document::default()
        }
    }

    /// The document on a screen, with names cut or not.
    fn on(document: &Document, width: usize, cuts_names: bool) -> String {
        fitted(
            document,
            Screen {
                width,
                cuts_names,
                has_colours: false,
            },
        )
    }

    #[test]
    fn a_text_is_cut_in_its_middle() {
        assert_eq!(cut("main", 4), "main");
        assert_eq!(cut(NAME, 20), "solve -- OMP …line 9");
        assert_eq!(cut("日本語日本語", 8), "日本…語");
    }

    #[test]
    fn names_fit_a_screen_and_keep_both_ends() {
        let document = document(&[Metric::Total], 1);
        for width in 38..60 {
            let text = on(&document, width, true);
            let longest = text.lines().map(UnicodeWidthStr::width).max();
            assert!(longest <= Some(width), "{width}: {text}");
        }
        let whole = render(&document, Layout::Aligned);
        assert_eq!(on(&document, 200, true), whole);
        assert_eq!(on(&document, 40, false), whole);
    }

    #[test]
    fn a_table_too_wide_for_a_screen_is_divided() {
        let metrics = [Metric::Total, Metric::OmpWork, Metric::OmpWait];
        let document = document(&metrics, 1);
        let expected = "\
Excl.        Excl.       Name
Total        OMP
Thread sec.  Work sec.
1.000        1.000       solve -- OMP par…om line 9

Excl.       Name
OMP
Wait sec.
1.000       solve -- OMP parallel reg…n from line 9

";
        assert_eq!(on(&document, 52, true), expected);
    }

    #[test]
    fn rows_without_names_are_known_by_their_first_column() {
        let mut document = document(&[Metric::Total, Metric::OmpWork, Metric::OmpWait], 1);
        let Block::Table(table) = &mut document.blocks[0] else {
            panic!("a table");
        };
        table.columns.pop();
        table.style = Style::Ruled;
        for (column, heading) in table.columns.iter_mut().zip(["THRID", "Work s", "Wait s"]) {
            column.heading = vec![heading.to_owned()];
        }
        let expected = "\
THRID Work s
===== ======
1.000 1.000

THRID Wait s
===== ======
1.000 1.000

";
        assert_eq!(on(&document, 16, false), expected);
    }

    #[test]
    fn a_screen_has_all_columns_and_those_of_one_metric_beside_each_other() {
        let document = document(&Metric::ALL, 2);
        let words = |text: &str| {
            let words = text.split_whitespace();
            let mut words: Vec<String> = words.map(str::to_owned).collect();
            words.sort_unstable();
            words.dedup();
            words
        };
        let whole = render(&document, Layout::Aligned);
        for width in [80, 120] {
            let text = on(&document, width, true);
            let ones = text.split_whitespace().filter(|word| *word == "1.000");
            assert_eq!(ones.count(), 2 * Metric::ALL.len(), "{text}");
            for line in text.lines() {
                assert!(line.width() <= width, "{text}");
                let (first, second) = (line.matches("(1)"), line.matches("(2)"));
                assert_eq!(first.count(), second.count(), "{text}");
            }
            assert_eq!(words(&on(&document, width, false)), words(&whole));
        }
    }
}
