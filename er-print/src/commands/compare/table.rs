//! Rows of several experiments as a table or as JSON.

use omp_model::metrics::Quantity;
use serde_json::{Map, Value, json};

use super::Beside;
use crate::session::PrintMode;
use crate::text;
use report::settings::Compare;

/// A column: what every experiment has a value of.
#[derive(Clone, Debug)]
pub(super) struct Column {
    /// The key in JSON.
    pub(super) id: String,
    /// In words.
    pub(super) label: String,
    /// The heading's lines.
    pub(super) heading: [String; 2],
    /// `s`, or nothing for a count or a ratio.
    pub(super) unit: &'static str,
    /// Decimals in a text.
    pub(super) decimals: usize,
    /// Whether a text shows it.
    pub(super) shown: bool,
    /// Columns of one group stand in one table of a text, from 0.
    pub(super) group: usize,
}

impl Column {
    /// Of a time.
    pub(super) fn of(quantity: Quantity) -> Column {
        let heading = match quantity {
            Quantity::Time(flavour, metric) => [flavour.heading(), metric.words()],
            _ => ["", ""],
        };
        Column {
            id: quantity.id(),
            label: quantity.label(),
            heading: heading.map(str::to_owned),
            unit: "s",
            decimals: 3,
            shown: true,
            group: 0,
        }
    }

    fn json(&self) -> Value {
        json!({"id": self.id, "label": self.label, "unit": self.unit})
    }
}

/// A row's values: by experiment, then by column; nothing where there is none.
pub(super) type Values = Vec<Vec<Option<f64>>>;

/// A row.
#[derive(Clone, Debug, Default)]
pub(super) struct Row {
    /// What stands before the name in a text.
    pub(super) lead: String,
    /// The name that all have.
    pub(super) name: String,
    /// Its values.
    pub(super) values: Values,
    /// Decimals in a text, where they are not the column's.
    pub(super) decimals: Option<usize>,
    /// What else JSON tells.
    pub(super) fields: Map<String, Value>,
}

/// A report.
pub(super) struct Table<'a> {
    /// The experiments.
    pub(super) beside: &'a Beside<'a>,
    /// The command.
    pub(super) view: &'a str,
    /// The first line of the text.
    pub(super) title: String,
    /// The columns.
    pub(super) columns: Vec<Column>,
}

impl Table<'_> {
    /// A report of rows that stand under each other.
    pub(super) fn report(&self, rows: &[Row]) -> String {
        match self.beside.first().settings.print {
            PrintMode::Text => self.text(&[rows]),
            PrintMode::Json => {
                let rows: Vec<Value> = rows.iter().map(|row| self.object(row).into()).collect();
                self.json(&Value::Array(rows).to_string())
            }
        }
    }

    /// The text: a table for each block of rows.
    pub(super) fn text(&self, blocks: &[&[Row]]) -> String {
        let mut report = format!("{}\n{}\n", self.title, self.beside.experiments());
        let groups = self.columns.iter().map(|column| column.group).max();
        for group in 0..=groups.unwrap_or(0) {
            let shown: Vec<usize> = (0..self.columns.len())
                .filter(|&at| self.columns[at].shown && self.columns[at].group == group)
                .collect();
            if !shown.is_empty() {
                self.tables(blocks, &shown, &mut report);
            }
        }
        report + &self.beside.footer()
    }

    fn tables(&self, blocks: &[&[Row]], shown: &[usize], report: &mut String) {
        let headings = self.headings(shown);
        for rows in blocks {
            let rows: Vec<Vec<String>> = rows
                .iter()
                .map(|row| {
                    let numbers = 0..self.beside.scenes.len();
                    let cells = shown.iter().flat_map(|&at| {
                        let numbers = numbers.clone();
                        numbers.map(move |number| self.cell(row, number, at))
                    });
                    cells.chain([format!("{}{}", row.lead, row.name)]).collect()
                })
                .collect();
            let layout = self.beside.first().settings.layout;
            report.push_str(&text::grid(layout, &headings, &rows));
            report.push('\n');
        }
    }

    fn headings(&self, shown: &[usize]) -> Vec<String> {
        let mut headings = Vec::new();
        for &at in shown {
            let column = &self.columns[at];
            for number in 0..self.beside.scenes.len() {
                let unit = match self.beside.mode {
                    Compare::Delta if number > 0 => "delta",
                    Compare::Ratio if number > 0 => "ratio",
                    _ if column.unit == "s" => "sec.",
                    _ => column.unit,
                };
                let [first, second] = &column.heading;
                let last = format!("({}) {unit}", number + 1);
                headings.push(format!("{first}\n{second}\n{}", last.trim_end()));
            }
        }
        headings.push("\n\nName".to_owned());
        headings
    }

    fn cell(&self, row: &Row, number: usize, at: usize) -> String {
        let value = |number: usize| row.values.get(number)?.get(at).copied().flatten();
        let decimals = row.decimals.unwrap_or(self.columns[at].decimals);
        match number {
            0 => plain(value(0), decimals),
            _ => beside(self.beside.mode, (value(0), value(number)), decimals),
        }
    }

    /// A row as JSON.
    pub(super) fn object(&self, row: &Row) -> Map<String, Value> {
        let mut object = Map::new();
        object.insert("name".to_owned(), json!(row.name));
        object.extend(row.fields.clone());
        object.insert("values".to_owned(), self.values(&row.values));
        object
    }

    fn values(&self, values: &Values) -> Value {
        let one = |values: &Vec<Option<f64>>| -> Value {
            let pairs = self.columns.iter().zip(values);
            let pairs = pairs.map(|(column, value)| (column.id.clone(), json!(value)));
            Value::Object(pairs.collect())
        };
        values.iter().map(one).collect()
    }

    /// A report's JSON of rows that are JSON already.
    pub(super) fn json(&self, rows: &str) -> String {
        let mut object = self.beside.envelope(self.view);
        let metrics = self.columns.iter().map(Column::json).collect();
        object.insert("metrics".to_owned(), metrics);
        self.beside.json(object, rows)
    }
}

/// The columns of times.
pub(super) fn of_times(quantities: &[Quantity]) -> Vec<Column> {
    quantities.iter().copied().map(Column::of).collect()
}

/// A value by itself.
pub(super) fn plain(value: Option<f64>, decimals: usize) -> String {
    match value {
        None => "-".to_owned(),
        // A count of none is no rounded time.
        Some(value) if decimals == 0 => format!("{value:.0}"),
        Some(value) => text::number(if value.abs() < 5e-10 { 0.0 } else { value }, decimals),
    }
}

/// A value beside the first experiment's.
pub(super) fn beside(
    mode: Compare,
    (base, value): (Option<f64>, Option<f64>),
    decimals: usize,
) -> String {
    match (mode, base, value) {
        (Compare::Delta, Some(base), Some(value)) => match value - base {
            difference if difference.abs() < 5e-10 => "0.".to_owned(),
            difference => format!("{difference:+.decimals$}"),
        },
        (Compare::Ratio, base, value) => match (base.unwrap_or(0.0), value.unwrap_or(0.0)) {
            (0.0, 0.0) => "-".to_owned(),
            (0.0, _) => "new".to_owned(),
            (base, value) => format!("x{:.3}", value / base),
        },
        (_, _, value) => plain(value, decimals),
    }
}
