//! Tables as text, in the manner of Sun's er_print.
//!
//! ```text
//! Excl. OMP     Incl. OMP      Name
//! Work          Work
//!  sec.      %   sec.      %
//! 2.922 100.00  2.922 100.00   <Total>
//! ```
//!
//! Cells stand under the left end of their headings, numbers aligned by their decimal points, a
//! true zero as `0.`; names are never cut.

use omp_model::metrics::{Column, Quantity};
use omp_model::views::Code;
use report::text::Layout;

/// What a row offers to the columns.
pub(crate) struct Line<'a> {
    /// Seconds of a quantity, and the seconds that are 100 %.
    pub(crate) times: Vec<(f64, f64)>,
    /// The row's code.
    pub(crate) code: Option<Code>,
    /// A mark (a space, or `*`) and what stands before the name.
    pub(crate) lead: String,
    /// The name.
    pub(crate) name: &'a str,
}

const HEADING_LINES: usize = 3;
const NAME: &str = " Name";

struct Cells {
    heading: [String; HEADING_LINES],
    rows: Vec<String>,
}

/// A table as it stands in a text; see [`table_in`].
#[cfg(test)]
pub(crate) fn table(columns: &[Column], lines: &[Line<'_>]) -> String {
    table_in(Layout::Aligned, columns, lines)
}

/// A table; [`Line::times`] has an entry for each column that is a time, hidden or not.
pub(crate) fn table_in(layout: Layout, columns: &[Column], lines: &[Line<'_>]) -> String {
    let mut cells: Vec<Cells> = Vec::new();
    let mut time = 0;
    for column in columns {
        let at = time;
        time += usize::from(matches!(column.quantity, Quantity::Time(..)));
        if !column.visible() {
            continue;
        }
        let of_column = match column.quantity {
            Quantity::Time(..) => {
                let times: Vec<(f64, f64)> = lines.iter().map(|line| line.times[at]).collect();
                // Other programs want one number in a cell.
                let apart = layout != Layout::Aligned && column.value && column.percent;
                if apart {
                    let value = Column {
                        percent: false,
                        ..*column
                    };
                    cells.push(time_cells(&value, &times));
                }
                let value = column.value && !apart;
                time_cells(&Column { value, ..*column }, &times)
            }
            Quantity::Size => size_cells(lines),
            Quantity::Address => Cells {
                heading: ["PC Addr.".to_owned(), String::new(), String::new()],
                rows: lines.iter().map(|line| address(line.code)).collect(),
            },
            Quantity::Name => Cells {
                heading: [NAME.to_owned(), String::new(), String::new()],
                rows: lines
                    .iter()
                    .map(|line| format!("{}{}", line.lead, line.name))
                    .collect(),
            },
        };
        cells.push(of_column);
    }
    match layout {
        Layout::Aligned => join(&cells, lines.len()),
        Layout::Delimited(mark) => delimited(mark, &headings(&cells), &rows(&cells, lines.len())),
        Layout::Html => table_html(&headings(&cells), &rows(&cells, lines.len())),
    }
}

/// A heading on one line.
fn headings(cells: &[Cells]) -> Vec<String> {
    let words = |cells: &Cells| {
        let words = cells
            .heading
            .iter()
            .flat_map(|line| line.split_whitespace());
        words.collect::<Vec<_>>().join(" ")
    };
    cells.iter().map(words).collect()
}

fn rows(cells: &[Cells], rows: usize) -> Vec<Vec<String>> {
    let row = |row: usize| {
        cells
            .iter()
            .map(|cells| {
                // A name keeps its place in a tree; a number is no longer padded.
                let cell = &cells.rows[row];
                let bare = match cells.heading[0] == NAME {
                    true => cell.strip_prefix(' ').unwrap_or(cell),
                    false => cell.trim(),
                };
                bare.to_owned()
            })
            .collect()
    };
    (0..rows).map(row).collect()
}

/// Rows with a mark between cells; a cell that holds it stands in quotation marks.
pub(crate) fn delimited(mark: char, headings: &[String], rows: &[Vec<String>]) -> String {
    let quoted = |cell: &String| match cell.contains([mark, '"', '\n']) {
        true => format!("\"{}\"", cell.replace('"', "\"\"")),
        false => cell.clone(),
    };
    let line = |cells: &[String]| {
        let cells: Vec<String> = cells.iter().map(quoted).collect();
        cells.join(&mark.to_string()) + "\n"
    };
    let rows = rows.iter().map(|row| line(row));
    line(headings) + &rows.collect::<String>()
}

/// What marks HTML inside a report that is text: no name holds it, since [`html`] escapes others.
const HTML_MARK: char = '\u{1}';

/// Rows as an HTML table.
pub(crate) fn table_html(headings: &[String], rows: &[Vec<String>]) -> String {
    let line = |cells: &[String], tag: &str| {
        let cells = cells
            .iter()
            .map(|cell| format!("<{tag}>{}</{tag}>", escape(&cell.replace(HTML_MARK, " "))));
        format!("<tr>{}</tr>\n", cells.collect::<String>())
    };
    let rows: String = rows.iter().map(|row| line(row, "td")).collect();
    format!(
        "{HTML_MARK}<table>\n{}{rows}</table>\n{HTML_MARK}",
        line(headings, "th")
    )
}

/// A report as HTML: its tables as they are, all else as preformatted text.
pub(crate) fn html(report: &str) -> String {
    let mut page = String::new();
    for (at, part) in report.split(HTML_MARK).enumerate() {
        if at % 2 == 1 {
            page.push_str(part);
        } else if !part.trim().is_empty() {
            page.push_str(&format!("<pre>{}</pre>\n", escape(part.trim_matches('\n'))));
        }
    }
    page
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

fn join(cells: &[Cells], rows: usize) -> String {
    let width = |cells: &Cells| {
        let all = cells.heading.iter().chain(&cells.rows);
        all.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = cells.iter().map(width).collect();
    let mut text = String::new();
    let mut push = |row: &mut dyn Iterator<Item = &String>| {
        let start = text.len();
        for (cell, width) in row.zip(&widths) {
            text.push_str(cell);
            let padding = width - cell.chars().count() + 2;
            text.extend(std::iter::repeat_n(' ', padding));
        }
        text.truncate(start + text[start..].trim_end().len());
        text.push('\n');
    };
    for line in 0..HEADING_LINES {
        if cells.iter().any(|cells| !cells.heading[line].is_empty()) {
            push(&mut cells.iter().map(|cells| &cells.heading[line]));
        }
    }
    for row in 0..rows {
        push(&mut cells.iter().map(|cells| &cells.rows[row]));
    }
    text
}

fn time_cells(column: &Column, times: &[(f64, f64)]) -> Cells {
    let values = aligned(times.iter().map(|&(seconds, _)| seconds), 3, 1);
    let percents = aligned(
        times
            .iter()
            .map(|&(seconds, whole)| percent(seconds, whole)),
        2,
        3,
    );
    let Quantity::Time(flavour, metric) = column.quantity else {
        return Cells {
            heading: Default::default(),
            rows: Vec::new(),
        };
    };
    let (flavour, words) = (flavour.heading(), metric.words());
    match (column.value, column.percent) {
        (true, true) => {
            let width = values
                .iter()
                .map(String::len)
                .max()
                .unwrap_or(0)
                .max(" sec.".len());
            let (first, rest) = words.split_once(' ').unwrap_or((words, ""));
            let units = format!("{:>width$} {:>6}", "sec.", "%");
            Cells {
                heading: [format!("{flavour} {first}"), rest.to_owned(), units],
                rows: values
                    .iter()
                    .zip(&percents)
                    .map(|(value, percent)| format!("{value:>width$} {percent}"))
                    .collect(),
            }
        }
        (true, false) => {
            let (most, last) = words.rsplit_once(' ').unwrap_or((words, ""));
            let last = format!("{last} sec.").trim_start().to_owned();
            Cells {
                heading: [flavour.to_owned(), most.to_owned(), last],
                rows: values,
            }
        }
        (false, _) => Cells {
            heading: [flavour.to_owned(), words.to_owned(), format!("{:>6}", "%")],
            rows: percents,
        },
    }
}

fn size_cells(lines: &[Line<'_>]) -> Cells {
    let sizes: Vec<String> = lines
        .iter()
        .map(|line| line.code.map_or(0, |code| code.size).to_string())
        .collect();
    let width = sizes.iter().map(String::len).max().unwrap_or(0);
    Cells {
        heading: ["Size".to_owned(), String::new(), String::new()],
        rows: sizes.iter().map(|size| format!("{size:>width$}")).collect(),
    }
}

/// `2:0x00001139`: the number of the load object and the offset in it; 0 for what has no code.
pub(crate) fn address(code: Option<Code>) -> String {
    let (module, address) = code.map_or((0, 0), |code| (code.module.0, code.address));
    format!("{module}:0x{address:08x}")
}

/// A part of a whole in percent; 0 of nothing.
pub(crate) fn percent(part: f64, whole: f64) -> f64 {
    if whole > 0.0 {
        100.0 * part / whole
    } else {
        0.0
    }
}

/// A table of cells that are text already, numbers to the right, the last column to the left.
/// Headings have lines.
pub(crate) fn grid(layout: Layout, headings: &[String], rows: &[Vec<String>]) -> String {
    let flat: Vec<String> = headings
        .iter()
        .map(|heading| heading.split_whitespace().collect::<Vec<_>>().join(" "))
        .collect();
    match layout {
        Layout::Aligned => {}
        Layout::Delimited(mark) => return delimited(mark, &flat, rows),
        Layout::Html => return table_html(&flat, rows),
    }
    let width = |at: usize| {
        let heading = headings[at].lines().map(|line| line.chars().count());
        let cells = rows.iter().map(|row| row[at].chars().count());
        heading.chain(cells).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..headings.len()).map(width).collect();
    let last = headings.len().saturating_sub(1);
    let line = |cells: &mut dyn Iterator<Item = &str>, right: bool| {
        let mut text = String::new();
        for (at, cell) in cells.enumerate() {
            let width = widths[at];
            match at == last {
                true => text.push_str(&format!(" {cell}")),
                false if right => text.push_str(&format!("{cell:>width$}  ")),
                false => text.push_str(&format!("{cell:<width$}  ")),
            }
        }
        text.trim_end().to_owned() + "\n"
    };
    let height = headings.iter().map(|heading| heading.lines().count()).max();
    let mut text = String::new();
    for at in 0..height.unwrap_or(0) {
        let cells = headings
            .iter()
            .map(|heading| heading.lines().nth(at).unwrap_or(""));
        if cells.clone().any(|cell| !cell.is_empty()) {
            text.push_str(&line(&mut cells.into_iter(), false));
        }
    }
    for row in rows {
        text.push_str(&line(&mut row.iter().map(String::as_str), true));
    }
    text
}

/// A number with so many decimals; a true zero is `0.`.
pub(crate) fn number(value: f64, decimals: usize) -> String {
    if value == 0.0 {
        "0.".to_owned()
    } else {
        format!("{value:.decimals$}")
    }
}

/// Numbers of one width with their points in one column.
fn aligned(
    values: impl Iterator<Item = f64>,
    decimals: usize,
    least_integers: usize,
) -> Vec<String> {
    let numbers: Vec<String> = values.map(|value| number(value, decimals)).collect();
    let integers = |number: &String| number.find('.').unwrap_or(number.len());
    let before = numbers
        .iter()
        .map(integers)
        .max()
        .unwrap_or(0)
        .max(least_integers);
    let after = decimals + 1;
    numbers
        .iter()
        .map(|number| {
            let (integer, fraction) = number.split_at(integers(number));
            format!("{integer:>before$}{fraction:<after$}")
        })
        .collect()
}

/// Seconds with three decimals, for running text.
pub(crate) fn seconds(value: f64) -> String {
    format!("{value:.3}")
}
