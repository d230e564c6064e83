//! A view as rows and columns, before it is drawn on a screen or written to a file.

use std::cmp::Ordering;

use omp_model::metrics::Quantity;

use report::timeline::Activity;

/// A table.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// What it shows, in one line.
    pub title: String,
    /// The columns before the name.
    pub columns: Vec<Column>,
    /// The rows.
    pub rows: Vec<Row>,
}

/// A column.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// The key in JSON, as in the command language.
    pub id: String,
    /// The full name in JSON.
    pub label: String,
    /// The unit in JSON.
    pub unit: &'static str,
    /// The heading's two lines.
    pub head: [String; 2],
    /// What it sorts by, if it is a quantity of the command language.
    pub quantity: Option<Quantity>,
}

/// A row.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Row {
    /// Its values, one a column.
    pub values: Vec<Value>,
    /// Its depth in a tree; 0 in a list.
    pub depth: u32,
    /// What stands before the name: the branches of a tree, a mark.
    pub lead: String,
    /// The name.
    pub name: String,
    /// How much it matters.
    pub mark: Mark,
    /// The function that it leads to, if its name is more than that.
    pub link: Option<String>,
    /// The state that colours it, if it is of one.
    pub tint: Option<Activity>,
    /// What it is of a source file, if it is of one.
    pub source: Option<Part>,
    /// Which of the recording's regions and tasks it is of, if it is of one.
    pub construct: Option<usize>,
}

/// An order of rows by a column that is no quantity of the command language.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowOrder {
    /// The column's key, or [`RowOrder::NAME`].
    pub column: String,
    /// Least first (names: last first).
    pub reversed: bool,
}

impl RowOrder {
    /// Stands for the names.
    pub const NAME: &str = "name";
}

/// A row of a source file.
#[derive(Clone, Debug, PartialEq)]
pub enum Part {
    /// A line.
    Line {
        /// Whether much of the file's time is there.
        hot: bool,
    },
    /// Something that happened at the line before.
    Note {
        /// `inlined` or `wait`.
        kind: &'static str,
        /// The function that was inlined, or the wait.
        name: String,
        /// Thread time.
        seconds: f64,
    },
}

/// How a row is drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mark {
    /// As any other.
    #[default]
    Plain,
    /// A heading or the row that others are about.
    Strong,
    /// A warning.
    Warning,
}

/// A value of a row.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Seconds, and the seconds that are 100 %: both are shown.
    Share(f64, f64),
    /// Seconds.
    Seconds(f64),
    /// A count; nothing if it is not known.
    Count(Option<u64>),
    /// Seconds; nothing if they are not known.
    Maybe(Option<f64>),
    /// A word.
    Word(String),
    /// A difference, and its decimals.
    Delta(f64, usize),
    /// A first value and another one, told as so many times the first.
    Ratio(f64, f64),
}

impl Value {
    /// As a cell of a table whose seconds have so many digits before the point. A true zero is
    /// `0.`, as in `er_print`.
    pub fn text(&self, digits: usize) -> String {
        match self {
            Value::Share(part, whole) => {
                let percent = if *whole > 0.0 {
                    100.0 * part / whole
                } else {
                    0.0
                };
                format!("{} {}", aligned(*part, 3, digits), aligned(percent, 2, 3))
            }
            Value::Seconds(seconds) | Value::Maybe(Some(seconds)) => aligned(*seconds, 3, digits),
            Value::Count(Some(count)) => count.to_string(),
            Value::Count(None) | Value::Maybe(None) => "-".to_owned(),
            Value::Word(word) => word.clone(),
            // Sums of the same times in another order differ by less.
            Value::Delta(difference, _) if difference.abs() < 1e-9 => "0.".to_owned(),
            Value::Delta(difference, decimals) => format!("{difference:+.decimals$}"),
            Value::Ratio(first, other) => match (*first == 0.0, *other == 0.0) {
                (true, true) => "-".to_owned(),
                (true, false) => "new".to_owned(),
                (false, _) => format!("x{:.3}", other / first),
            },
        }
    }

    /// What rows are put in order by; nothing where it is not known, or is a word.
    fn rank(&self) -> Option<f64> {
        match self {
            Value::Share(seconds, _) | Value::Seconds(seconds) => Some(*seconds),
            Value::Maybe(seconds) => *seconds,
            Value::Count(count) => count.map(|count| count as f64),
            Value::Delta(difference, _) => Some(*difference),
            Value::Ratio(first, other) if *first == 0.0 && *other == 0.0 => None,
            Value::Ratio(first, other) => Some(other / first),
            Value::Word(_) => None,
        }
    }

    /// The same without its part of a whole.
    #[must_use]
    pub fn bare(&self) -> Value {
        match self {
            Value::Share(part, _) => Value::Seconds(*part),
            other => other.clone(),
        }
    }

    /// The digits before the point of its seconds.
    fn digits(&self) -> usize {
        match self {
            Value::Share(seconds, _) | Value::Seconds(seconds) | Value::Maybe(Some(seconds)) => {
                let whole = seconds.abs() as u64;
                whole.checked_ilog10().map_or(1, |log| log as usize + 1)
            }
            _ => 1,
        }
    }

    /// As a value of JSON.
    pub fn json(&self) -> serde_json::Value {
        match self {
            Value::Share(seconds, _) | Value::Seconds(seconds) => (*seconds).into(),
            Value::Maybe(seconds) => (*seconds).into(),
            Value::Count(count) => (*count).into(),
            Value::Word(word) => word.as_str().into(),
            Value::Delta(difference, _) => (*difference).into(),
            Value::Ratio(first, other) => match *first == 0.0 {
                true => serde_json::Value::Null,
                false => (other / first).into(),
            },
        }
    }
}

/// A number whose point stands in one column with those of other rows.
fn aligned(value: f64, decimals: usize, integers: usize) -> String {
    let width = integers + 1 + decimals;
    if value == 0.0 {
        format!("{:>integers$}.{:decimals$}", 0, "")
    } else {
        format!("{value:>width$.decimals$}")
    }
}

impl Row {
    /// A line of text.
    pub fn line(text: impl Into<String>) -> Row {
        Row {
            name: text.into(),
            ..Row::default()
        }
    }
}

impl Table {
    /// The same rows in an order, largest first; what is not known comes last either way. Rows
    /// that are alike keep the order that they have.
    #[must_use]
    pub fn ordered(&self, order: &RowOrder) -> Table {
        let mut table = self.clone();
        let column = self.columns.iter().position(|one| one.id == order.column);
        let turned = |way: Ordering| if order.reversed { way.reverse() } else { way };
        table.rows.sort_by(|left, right| match column {
            Some(at) => {
                let rank = |row: &Row| row.values.get(at).and_then(Value::rank);
                match (rank(left), rank(right)) {
                    (Some(left), Some(right)) => turned(right.total_cmp(&left)),
                    (left, right) => left.is_none().cmp(&right.is_none()),
                }
            }
            None if order.column == RowOrder::NAME => turned(left.name.cmp(&right.name)),
            // The column is of another way to compare.
            None => Ordering::Equal,
        });
        table
    }

    /// Each row's cells, and the width of each column; `bare` leaves out parts of wholes in the
    /// columns that it is true for.
    pub fn cells<'a>(
        &self,
        rows: impl Iterator<Item = &'a Row> + Clone,
        bare: impl Fn(usize) -> bool,
    ) -> (Vec<Vec<String>>, Vec<usize>) {
        let mut texts: Vec<Vec<String>> = rows.clone().map(|_| Vec::new()).collect();
        let mut widths = Vec::new();
        for (at, column) in self.columns.iter().enumerate() {
            let values = rows.clone().map(|row| row.values.get(at));
            let digits = values
                .clone()
                .flatten()
                .map(Value::digits)
                .max()
                .unwrap_or(1);
            let head = column.head.iter().map(|line| line.chars().count());
            let mut width = head.max().unwrap_or(0);
            for (texts, value) in texts.iter_mut().zip(values) {
                let text = match (value, bare(at)) {
                    (Some(value), true) => value.bare().text(digits),
                    (Some(value), false) => value.text(digits),
                    (None, _) => String::new(),
                };
                width = width.max(text.chars().count());
                texts.push(text);
            }
            widths.push(width);
        }
        (texts, widths)
    }

    /// As text, with its title, names whole.
    pub fn text(&self) -> String {
        let (texts, widths) = self.cells(self.rows.iter(), |_| false);
        let mut text = format!("{}\n\n", self.title);
        let mut push = |cells: Vec<String>, name: &str| {
            let cells = cells.iter().zip(&widths);
            let line: String = cells
                .map(|(cell, width)| format!("{cell:<width$}  "))
                .collect();
            text.push_str(format!("{line}{name}").trim_end());
            text.push('\n');
        };
        if !self.columns.is_empty() {
            for line in 0..2 {
                let heads = self.columns.iter().map(|column| column.head[line].clone());
                push(heads.collect(), if line == 0 { "Name" } else { "" });
            }
        }
        for (row, cells) in self.rows.iter().zip(texts) {
            push(cells, &format!("{}{}", row.lead, row.name));
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_stand_under_each_other_and_zero_is_bare() {
        assert_eq!(Value::Share(1.5, 2.0).text(2), " 1.500  75.00");
        assert_eq!(Value::Share(0.0, 2.0).text(2), " 0.      0.  ");
        assert_eq!(Value::Share(12.5, 2.0).digits(), 2);
        assert_eq!(Value::Count(None).text(1), "-");
        assert_eq!(Value::Delta(-0.25, 3).text(1), "-0.250");
        assert_eq!(Value::Delta(2.0, 0).text(1), "+2");
        assert_eq!(Value::Ratio(2.0, 3.0).text(1), "x1.500");
        assert_eq!(Value::Ratio(0.0, 3.0).text(1), "new");
        assert_eq!(Value::Maybe(None).json(), serde_json::Value::Null);
    }

    #[test]
    fn rows_are_ordered_by_values_and_what_is_unknown_comes_last() {
        let row = |name: &str, value: Option<u64>| Row {
            values: vec![Value::Count(value)],
            ..Row::line(name)
        };
        let table = Table {
            columns: vec![Column {
                id: "instances".to_owned(),
                label: "Instances".to_owned(),
                unit: "",
                head: Default::default(),
                quantity: None,
            }],
            rows: vec![row("b", None), row("c", Some(1)), row("a", Some(7))],
            ..Table::default()
        };
        let names = |column: &str, reversed| -> String {
            let column = column.to_owned();
            let rows = table.ordered(&RowOrder { column, reversed }).rows;
            rows.into_iter().map(|row| row.name).collect()
        };
        assert_eq!(names("instances", false), "acb");
        assert_eq!(names("instances", true), "cab");
        assert_eq!(names(RowOrder::NAME, false), "abc");
        assert_eq!(names(RowOrder::NAME, true), "cba");
        assert_eq!(names("gain.2", false), "bca");
    }
}
