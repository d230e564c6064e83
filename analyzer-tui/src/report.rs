//! A view as rows and columns, before it is drawn on a screen or written to a file.

use omp_model::metrics::Quantity;

use crate::activity::Activity;

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
}

impl Value {
    /// As a cell of a table. A true zero is `0.`, as in `er_print`.
    pub fn text(&self) -> String {
        match self {
            Value::Share(part, whole) => {
                let percent = if *whole > 0.0 { 100.0 * part / whole } else { 0.0 };
                format!("{} {}", aligned(*part, 3, 4), aligned(percent, 2, 3))
            }
            Value::Seconds(seconds) | Value::Maybe(Some(seconds)) => aligned(*seconds, 3, 4),
            Value::Count(Some(count)) => count.to_string(),
            Value::Count(None) | Value::Maybe(None) => "-".to_owned(),
            Value::Word(word) => word.clone(),
        }
    }

    /// As a value of JSON.
    pub fn json(&self) -> serde_json::Value {
        match self {
            Value::Share(seconds, _) | Value::Seconds(seconds) => (*seconds).into(),
            Value::Maybe(seconds) => (*seconds).into(),
            Value::Count(count) => (*count).into(),
            Value::Word(word) => word.as_str().into(),
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
    /// The width of each column.
    pub fn widths(&self) -> Vec<usize> {
        let cells = |at: usize| {
            let texts = self.rows.iter().filter_map(move |row| row.values.get(at));
            texts.map(|value| value.text().chars().count())
        };
        let columns = self.columns.iter().enumerate();
        columns
            .map(|(at, column)| {
                let head = column.head.iter().map(|line| line.chars().count());
                head.chain(cells(at)).max().unwrap_or(0)
            })
            .collect()
    }

    /// As text, with its title, names whole.
    pub fn text(&self) -> String {
        let widths = self.widths();
        let mut text = format!("{}\n\n", self.title);
        let mut push = |cells: Vec<String>, name: &str| {
            let cells = cells.iter().zip(&widths);
            let line: String = cells.map(|(cell, width)| format!("{cell:<width$}  ")).collect();
            text.push_str(format!("{line}{name}").trim_end());
            text.push('\n');
        };
        if !self.columns.is_empty() {
            for line in 0..2 {
                let heads = self.columns.iter().map(|column| column.head[line].clone());
                push(heads.collect(), if line == 0 { "Name" } else { "" });
            }
        }
        for row in &self.rows {
            let cells = row.values.iter().map(Value::text).collect();
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
        assert_eq!(Value::Share(1.5, 2.0).text(), "   1.500  75.00");
        assert_eq!(Value::Share(0.0, 2.0).text(), "   0.      0.  ");
        assert_eq!(Value::Count(None).text(), "-");
        assert_eq!(Value::Maybe(None).json(), serde_json::Value::Null);
    }
}
