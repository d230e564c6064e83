//! A table as cells of text, and how they stand.

use omp_model::metrics::Quantity;
use omp_model::views::openmp::bars::Use;
use unicode_width::UnicodeWidthStr;

use super::cells::{aligned, compared, percent, rounded, seconds};
use super::layout::{Layout, html, indented, leads, markdown, style};
use crate::document::{Bar, Cell, Column, Role, Row, Style, Table, Unit, Value, address};
use crate::settings::Compare;

/// A column of cells.
#[derive(Clone, Default)]
pub(super) struct Cells {
    pub(super) heading: Vec<String>,
    pub(super) rows: Vec<String>,
    pub(super) is_name: bool,
    /// Whether it has what a further experiment has of the column before it.
    pub(super) is_further: bool,
}

/// The cells of a table.
pub(super) struct Grid {
    pub(super) columns: Vec<Cells>,
    pub(super) rows: usize,
    /// What aligns names, if they have no star.
    pub(super) lead: &'static str,
}

/// The cells of some columns of a table.
pub(super) fn cells(table: &Table, shown: &[usize], layout: Layout) -> Grid {
    let leads = leads(table);
    let mut columns = Vec::new();
    for &at in shown {
        let column = &table.columns[at];
        if column.is_name() {
            let names = table.rows.iter().zip(&leads);
            columns.push(Cells {
                heading: name_heading(table, Some(column)),
                rows: names
                    .map(|(row, lead)| {
                        format!("{lead}{}{}", name(row, at), row.tail(&table.columns))
                    })
                    .collect(),
                is_name: true,
                ..Cells::default()
            });
        } else if table.has_sides() {
            columns.extend(sides(table, at, layout));
        } else if matches!(
            table.style,
            Style::Metrics | Style::Records | Style::Annotated
        ) {
            columns.extend(metric(table, at, layout));
        } else {
            columns.push(Cells {
                heading: column.heading.clone(),
                rows: table
                    .rows
                    .iter()
                    .map(|row| plain(row, at, column))
                    .collect(),
                ..Cells::default()
            });
        }
    }
    if is_right(table.style) {
        let height = columns.iter().map(|cells| cells.heading.len()).max();
        let names = columns.iter_mut().filter(|cells| cells.is_name);
        names.for_each(|cells| cells.sink(height.unwrap_or(0)));
    }
    Grid {
        columns,
        rows: table.rows.len(),
        lead: if table.is_facts() { "" } else { " " },
    }
}

/// Whether numbers stand to the right and the heading of names stands lowest.
pub(super) const fn is_right(style: Style) -> bool {
    matches!(style, Style::Right | Style::Facts(_))
}

/// What a text calls a row: the value of the column of names, where it has one.
fn name(row: &Row, at: usize) -> &str {
    match value(row, at) {
        Value::Text(text) => text,
        _ => &row.name,
    }
}

/// The heading of names; `column` is theirs, if they have one of their own.
pub(super) fn name_heading(table: &Table, column: Option<&Column>) -> Vec<String> {
    match (style(table), column) {
        (Style::Metrics | Style::Records, _) => vec![" Name".to_owned()],
        (Style::Right, _) if table.has_sides() => match table.style {
            // Nothing else puts the heading of lines lowest.
            Style::Annotated => vec![String::new(), String::new(), "Name".to_owned()],
            _ => vec!["Name".to_owned()],
        },
        (Style::Facts(_) | Style::Annotated, _) | (_, None) => vec!["Name".to_owned()],
        (Style::Sparse | Style::Right | Style::Ruled | Style::Cards, Some(column)) => {
            column.heading.clone()
        }
    }
}

/// The value of a row for the experiment, or the first of them.
fn value(row: &Row, at: usize) -> &Value {
    let first = row.values.first().and_then(|values| values.get(at));
    first.unwrap_or(&Value::Absent)
}

fn plain(row: &Row, at: usize, column: &Column) -> String {
    match value(row, at) {
        Value::Absent => "-".to_owned(),
        Value::Omitted => String::new(),
        Value::Number(number)
        | Value::Placed {
            seconds: number, ..
        } => rounded(Some(*number), row.decimals.unwrap_or(column.decimals)),
        Value::Mean(it) => rounded(Some(it.mean), row.decimals.unwrap_or(column.decimals)),
        Value::Count(count) => count.to_string(),
        Value::Clock(reading) => seconds(*reading),
        Value::Text(text) => text.clone(),
        Value::Address(code) => address(*code),
        Value::Bar(bar) => bar.letters(),
        Value::Json(value) => value.to_string(),
    }
}

/// The advice of a table: for each row its number and name, and its sentences under it.
pub(super) fn cards(table: &Table, shown: &[usize]) -> Vec<Vec<String>> {
    let card = |(number, row): (usize, &Row)| {
        let mut lines = vec![format!("  {number}. {}", row.name)];
        for &at in shown.iter().filter(|&&at| !table.columns[at].is_name()) {
            if let Value::Text(text) = value(row, at) {
                lines.push(format!("     {text}"));
            }
        }
        lines
    };
    (1..).zip(&table.rows).map(card).collect()
}

/// The facts of a table, each a line; bars in colours, if the screen has them.
pub(super) fn facts(table: &Table, shown: &[usize], cells: &[Cell], has_colours: bool) -> String {
    let leads = leads(table);
    let rows = table.rows.iter().zip(&leads);
    let rows = rows.filter(|(row, _)| row.role != Role::Total);
    let line = |(row, lead): (&Row, &String)| {
        let written = shown.iter().zip(cells).map(|(&at, cell)| {
            let column = &table.columns[at];
            let Cell {
                before,
                width,
                after,
            } = cell;
            match value(row, at) {
                _ if column.is_name() => {
                    format!(
                        "{before}{:<width$}{after}",
                        format!("{lead}{}", name(row, at))
                    )
                }
                Value::Absent => String::new(),
                Value::Bar(bar) if has_colours => {
                    let drawn = bar.letters().len();
                    let room = " ".repeat(width.saturating_sub(drawn));
                    format!("{before}{}{room}{after}", coloured(bar))
                }
                Value::Bar(bar) => format!("{before}{:<width$}{after}", bar.letters()),
                Value::Number(number)
                | Value::Placed {
                    seconds: number, ..
                } => {
                    let decimals = row.decimals.unwrap_or(column.decimals);
                    format!("{before}{number:>width$.decimals$}{after}")
                }
                _ => format!("{before}{:>width$}{after}", plain(row, at, column)),
            }
        });
        format!("{}\n", written.collect::<String>())
    };
    rows.map(line).collect()
}

/// A bar in colours of a terminal (ECMA-48, SGR; xterm's 256 colours).
fn coloured(bar: &Bar) -> String {
    let cells = bar.cells(Bar::WIDTH).into_iter();
    let part = |(what, count): (Use, usize)| {
        let (colour, has_dark_text) = what.family().terminal_colour();
        let text = if has_dark_text { 16 } else { 231 };
        let letters = what.letter().to_string().repeat(count);
        format!("\x1b[48;5;{colour};38;5;{text}m{letters}\x1b[0m")
    };
    cells.map(part).collect()
}

/// A column once for each experiment that is compared.
fn sides(table: &Table, at: usize, layout: Layout) -> Vec<Cells> {
    let column = &table.columns[at];
    let sides = table.rows.iter().map(|row| row.values.len()).max();
    let has_means = table.has_means();
    let of = |side: usize| {
        let unit = match table.compare {
            Compare::Delta if side > 0 => "delta",
            Compare::Ratio if side > 0 => "ratio",
            _ if column.unit == Unit::Seconds => "sec.",
            _ => column.unit.word(),
        };
        let last = format!("({}) {unit}", side + 1);
        let mut heading = column.heading.clone();
        heading.resize(2, String::new());
        heading.push(last.trim_end().to_owned());
        let cell = |row: &Row| {
            let value = |side: usize| row.values.get(side)?.get(at);
            let number = |side: usize| value(side)?.number();
            let decimals = row.decimals.unwrap_or(column.decimals);
            match (value(side), side) {
                (Some(Value::Text(text)), _) => text.clone(),
                (Some(Value::Omitted), _) => String::new(),
                (_, 0) => rounded(number(0), decimals),
                _ => {
                    let cell = compared(table.compare, number(0), number(side), decimals);
                    let differs = matches!(value(side), Some(Value::Mean(it)) if it.differs);
                    match layout {
                        // Other programs want a number.
                        Layout::Delimited(_) => cell.trim_start_matches('x').to_owned(),
                        _ if differs => cell + "*",
                        _ if has_means => cell + " ",
                        _ => cell,
                    }
                }
            }
        };
        Cells {
            heading,
            rows: table.rows.iter().map(cell).collect(),
            is_name: false,
            is_further: side > 0,
        }
    };
    let with_chance = |side: usize| {
        let chance = (has_means && side > 0).then(|| chance(table, at, side));
        std::iter::once(of(side)).chain(chance)
    };
    (0..sides.unwrap_or(0)).flat_map(with_chance).collect()
}

/// How far the difference of a side from the first may be chance, as the difference is shown.
fn chance(table: &Table, at: usize, side: usize) -> Cells {
    let column = &table.columns[at];
    let mut heading = column.heading.clone();
    heading.resize(2, String::new());
    heading.push(format!("({}) ±", side + 1));
    let cell = |row: &Row| {
        let value = |side: usize| row.values.get(side)?.get(at);
        let decimals = row.decimals.unwrap_or(column.decimals);
        let Some(Value::Mean(mean)) = value(side) else {
            return String::new();
        };
        let first = value(0).and_then(Value::number).unwrap_or(0.0);
        match (mean.chance, table.compare) {
            (Some(chance), Compare::Ratio) if first != 0.0 => rounded(Some(chance / first), 3),
            (Some(_), Compare::Ratio) => "-".to_owned(),
            (chance, _) => rounded(chance, decimals.max(3)),
        }
    };
    Cells {
        heading,
        rows: table.rows.iter().map(cell).collect(),
        is_name: false,
        is_further: true,
    }
}

/// A metric as its value, its percentage, or both.
fn metric(table: &Table, at: usize, layout: Layout) -> Vec<Cells> {
    let column = &table.columns[at];
    match column.quantity {
        Some(Quantity::Time(..)) => {
            // Other programs want one number in a cell.
            let is_split = layout != Layout::Aligned && column.value && column.percent;
            let mut cells = Vec::new();
            if is_split {
                let value = Column {
                    percent: false,
                    ..column.clone()
                };
                cells.push(times(table, at, &value));
            }
            let rest = Column {
                value: column.value && !is_split,
                ..column.clone()
            };
            cells.push(times(table, at, &rest));
            cells
        }
        _ => vec![words(table, at)],
    }
}

/// Cells that are no times: sizes to the right, addresses as they are.
fn words(table: &Table, at: usize) -> Cells {
    let column = &table.columns[at];
    let rows = table.rows.iter().map(|row| plain(row, at, column));
    let rows: Vec<String> = rows.collect();
    let width = rows.iter().map(|cell| cell.width()).max().unwrap_or(0);
    let padded = |cell: &String| " ".repeat(width - cell.width()) + cell;
    Cells {
        heading: column.heading.clone(),
        rows: rows.iter().map(padded).collect(),
        ..Cells::default()
    }
}

fn times(table: &Table, at: usize, column: &Column) -> Cells {
    let whole = table.whole.first().and_then(|whole| whole.get(at));
    let whole = whole.copied().unwrap_or(0.0);
    let rows = table.rows.iter();
    let times = rows.map(|row| value(row, at).number().unwrap_or(0.0));
    let values = aligned(times.clone(), column.decimals, 1);
    let percents = aligned(times.map(|time| percent(time, whole)), 2, 3);
    let line = |at: usize| column.heading.get(at).map_or("", String::as_str);
    let (flavour, words) = (line(0), line(1));
    let unit = match column.unit {
        Unit::Seconds => "sec.",
        _ => "#",
    };
    let (heading, mut rows) = match (column.value, column.percent) {
        (true, true) => {
            let width = values.iter().map(String::len).max().unwrap_or(0);
            let width = width.max(" sec.".len());
            let (first, rest) = words.split_once(' ').unwrap_or((words, ""));
            let pairs = values.iter().zip(&percents);
            (
                [
                    format!("{flavour} {first}"),
                    rest.to_owned(),
                    format!("{unit:>width$} {:>6}", "%"),
                ],
                pairs
                    .map(|(value, percent)| format!("{value:>width$} {percent}"))
                    .collect(),
            )
        }
        (true, false) => {
            let (most, last) = words.rsplit_once(' ').unwrap_or((words, ""));
            let last = format!("{last} {unit}").trim_start().to_owned();
            ([flavour.to_owned(), most.to_owned(), last], values)
        }
        (false, _) => {
            let unit = format!("{:>6}", "%");
            ([flavour.to_owned(), words.to_owned(), unit], percents)
        }
    };
    for (cell, row) in rows.iter_mut().zip(&table.rows) {
        match value(row, at) {
            Value::Omitted => cell.clear(),
            Value::Absent => "-".clone_into(cell),
            _ => {}
        }
    }
    Cells {
        heading: heading.into(),
        rows,
        ..Cells::default()
    }
}

impl Cells {
    pub(super) fn line(&self, at: usize) -> &str {
        self.heading.get(at).map_or("", String::as_str)
    }

    /// Puts the heading's lines lowest of so many.
    fn sink(&mut self, height: usize) {
        while self.heading.len() < height {
            self.heading.insert(0, String::new());
        }
    }

    /// A heading on one line.
    fn words(&self) -> String {
        let words = self.heading.iter().flat_map(|line| line.split_whitespace());
        words.collect::<Vec<_>>().join(" ")
    }

    /// The cell of a row without what aligns it; a name keeps its place in a tree.
    fn bare(&self, row: usize, lead: &str) -> &str {
        let cell = &self.rows[row];
        if self.is_name {
            cell.strip_prefix(lead).unwrap_or(cell)
        } else {
            cell.trim()
        }
    }

    pub(super) fn width(&self) -> usize {
        let all = self.heading.iter().chain(&self.rows);
        all.map(|cell| cell.width()).max().unwrap_or(0)
    }

    /// Whether any cell has a value.
    pub(super) fn says_something(&self) -> bool {
        self.rows.iter().any(|cell| !matches!(&**cell, "0." | "-"))
    }

    /// Puts the decimal points of all rows into one column.
    pub(super) fn align_points(&mut self) {
        let point = |cell: &str| cell.find('.').unwrap_or(cell.len());
        let before = self.rows.iter().map(|cell| point(cell)).max().unwrap_or(0);
        let after = self.rows.iter().map(|cell| cell.len() - point(cell));
        let after = after.max().unwrap_or(0);
        for cell in &mut self.rows {
            let (whole, fraction) = cell.split_at(point(cell));
            *cell = format!("{whole:>before$}{fraction:<after$}");
        }
    }
}

impl Grid {
    /// The headings and rows of each column.
    pub(super) fn into_columns(self) -> impl Iterator<Item = (Vec<String>, Vec<String>)> {
        let columns = self.columns.into_iter();
        columns.map(|cells| (cells.heading, cells.rows))
    }

    /// Puts a column before others, or behind them all.
    pub(super) fn insert(&mut self, at: usize, cells: Cells) {
        self.columns.insert(at.min(self.columns.len()), cells);
    }

    /// The cells with a mark between them; a cell that holds it stands in quotation marks, one
    /// without a value is empty.
    pub(super) fn delimited(&self, mark: char) -> String {
        let quoted = |cell: &String| {
            if cell.contains([mark, '"', '\n']) || cell.starts_with('#') {
                format!("\"{}\"", cell.replace('"', "\"\""))
            } else if cell == "-" {
                String::new()
            } else {
                cell.clone()
            }
        };
        let line = |cells: Vec<String>| {
            let cells: Vec<String> = cells.iter().map(quoted).collect();
            cells.join(&mark.to_string()) + "\n"
        };
        let rows = (0..self.rows).map(|row| line(self.row(row)));
        line(self.headings()) + &rows.collect::<String>() + "\n"
    }

    /// The cells as an HTML table.
    pub(super) fn html(&self) -> String {
        let line = |tag: &str, cells: Vec<String>| {
            let cells = cells.iter();
            let cells = cells.map(|cell| format!("<{tag}>{}</{tag}>", indented(&html(cell))));
            format!("<tr>{}</tr>\n", cells.collect::<String>())
        };
        let rows = (0..self.rows).map(|row| line("td", self.row(row)));
        let rows = rows.collect::<String>();
        format!("<table>\n{}{rows}</table>\n", line("th", self.headings()))
    }

    /// The cells as a Markdown table: numbers to the right.
    pub(super) fn markdown(&self) -> String {
        let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
        let escaped = |cells: Vec<String>| {
            let cells = cells.iter();
            line(cells.map(|cell| indented(&markdown(cell))).collect())
        };
        let rule = |cells: &Cells| if cells.is_name { "---" } else { "---:" };
        let rules = self.columns.iter().map(|cells| rule(cells).to_owned());
        let rows = (0..self.rows).map(|row| escaped(self.row(row)));
        let rows = rows.collect::<String>();
        escaped(self.headings()) + &line(rules.collect()) + &rows + "\n"
    }

    /// The headings, each on one line.
    fn headings(&self) -> Vec<String> {
        self.columns.iter().map(Cells::words).collect()
    }

    /// The cells of a row.
    fn row(&self, row: usize) -> Vec<String> {
        let cells = self.columns.iter();
        cells
            .map(|cells| cells.bare(row, self.lead).to_owned())
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use omp_model::metrics::{Column as Metric, Flavour, Metric as Time, Quantity};

    use super::super::render;
    use super::*;
    use crate::document::{Block, Document, Role};

    #[test]
    fn points_stand_in_one_column_and_zero_is_bare() {
        let work = |flavour| Quantity::Time(flavour, Time::OmpWork);
        let column = |quantity, percent| {
            Column::metric(Metric {
                quantity,
                value: true,
                percent,
            })
        };
        let row = |exclusive, inclusive, size, name: &str| Row {
            name: name.to_owned(),
            role: Role::Any,
            values: vec![vec![
                Value::Number(exclusive),
                Value::Number(inclusive),
                Value::Count(size),
                Value::Absent,
            ]],
            ..Row::default()
        };
        let table = Table {
            columns: vec![
                column(work(Flavour::Exclusive), true),
                column(work(Flavour::Inclusive), false),
                column(Quantity::Size, false),
                column(Quantity::Name, false),
            ],
            rows: vec![row(12.5, 12.5, 0, "<Total>"), row(0.0, 0.0004, 1234, "foo")],
            whole: vec![vec![12.5, 12.5, 0.0, 0.0]],
            ..Table::default()
        };
        let document = Document {
            blocks: vec![Block::Table(table)],
            ..Document::default()
        };
        let expected = "\
Excl. OMP      Incl.      Size   Name
Work           OMP
  sec.      %  Work sec.
12.500 100.00  12.500        0   <Total>
 0.      0.     0.000     1234   foo

";
        assert_eq!(render(&document, Layout::Aligned), expected);
    }
}
