//! Lists with a row for each thread, load object, CPU or construct.

use std::cmp::Ordering;

use omp_model::metrics::{Flavour, Metric, Quantity, SortKey};
use omp_model::views::compare::join::{Joined, Ranking, join, order};

use crate::document::{Block, Column, Document, InJson, Row, Style, Table, Unit, Value};
use crate::query::{Query, Source};

/// A column of a list, and the value of a row in it.
pub(crate) struct Field<'f, T> {
    pub(crate) column: Column,
    value: Box<dyn Fn(&T) -> Value + 'f>,
}

impl<'f, T> Field<'f, T> {
    /// A value in a column.
    pub(crate) fn of(column: Column, value: impl Fn(&T) -> Value + 'f) -> Self {
        let value = Box::new(value);
        Field { column, value }
    }

    /// A fact that JSON has in the row and a text does not show.
    pub(crate) fn new(id: &str, label: &str, value: impl Fn(&T) -> Value + 'f) -> Self {
        Field::of(Column::word(id, label), value)
    }

    /// A fact under a heading of a text.
    pub(crate) fn fact(id: &str, heading: &str, value: impl Fn(&T) -> Value + 'f) -> Self {
        Field::new(id, "", value).heading([heading]).decimals(3)
    }

    /// A number that compared experiments have under `values`.
    pub(crate) fn number(id: &str, heading: &str, value: impl Fn(&T) -> Value + 'f) -> Self {
        let field = Field::new(id, heading, value).json(InJson::Values);
        field.heading([heading]).decimals(3)
    }

    /// The name of the row under a heading.
    pub(crate) fn name(heading: &str) -> Self {
        Field::hidden_name().heading([heading])
    }

    /// The name of the row for JSON alone.
    pub(crate) fn hidden_name() -> Self {
        Field::of(Column::hidden_name(), |_| Value::Absent)
    }

    /// Sets the lines of the heading.
    pub(crate) fn heading<const N: usize>(mut self, heading: [&str; N]) -> Self {
        self.column.heading = heading.map(str::to_owned).into();
        self
    }

    /// Sets the number of decimals.
    pub(crate) fn decimals(mut self, decimals: usize) -> Self {
        self.column.decimals = decimals;
        self
    }

    /// Makes it a time.
    pub(crate) fn seconds(mut self) -> Self {
        self.column.unit = Unit::Seconds;
        self.decimals(3)
    }

    /// Sets where JSON has it.
    pub(crate) fn json(mut self, at: InJson) -> Self {
        self.column.json = at;
        self
    }
}

/// The rows of all sides joined by name, as many as the limit leaves.
pub(crate) fn joined<T>(
    query: &Query<'_>,
    rows: impl Fn(&Source<'_>) -> Vec<T>,
    name: impl Fn(&T) -> String,
) -> Vec<Joined<T>> {
    let sides = query.sides().iter().map(rows).collect();
    let mut joined = by_name(query, sides, name);
    joined.truncate(query.limited(joined.len()));
    joined
}

/// The order of a list.
pub(crate) enum Order {
    /// Its own.
    Own,
    /// As the user asked: by the quantity with this label.
    By(String),
    /// Its own, for its rows have nothing of this label, which the user asked for.
    Without(String),
}

/// The same in the order that the user asked for. `time` is a row's by any metric; `None` if such rows
/// have none.
pub(crate) fn joined_in_order<T>(
    query: &Query<'_>,
    rows: impl Fn(&Source<'_>) -> Vec<T>,
    name: impl Fn(&T) -> String,
    time: impl Fn(&T, Metric) -> Option<f64>,
) -> (Vec<Joined<T>>, Order) {
    let sides = query.sides().iter().map(rows).collect();
    let mut joined = by_name(query, sides, name);
    let order = sort_list(query, &mut joined, time);
    joined.truncate(query.limited(joined.len()));
    (joined, order)
}

/// Sorts a list whose rows have all time or none, whatever the stacks, as the user asked.
pub(crate) fn sort_list<T>(
    query: &Query<'_>,
    rows: &mut [Joined<T>],
    time: impl Fn(&T, Metric) -> Option<f64>,
) -> Order {
    let Some(key) = query.settings.sort else {
        return Order::Own;
    };
    let time = |row: &T, _, metric| time(row, metric);
    match sort_as_asked(rows, Some(exclusive(key)), query.ranking(), time) {
        Some(label) => Order::By(label),
        None => Order::Without(key.quantity.label()),
    }
}

/// The same order by exclusive times: time without stacks is of either flavour.
pub(crate) fn exclusive(key: SortKey) -> SortKey {
    let quantity = match key.quantity {
        Quantity::Time(_, metric) => Quantity::Time(Flavour::Exclusive, metric),
        other => other,
    };
    SortKey { quantity, ..key }
}

/// Joins rows by name where experiments are compared. Rows of one experiment may have the same
/// name, and stay apart.
pub(crate) fn by_name<T>(
    query: &Query<'_>,
    sides: Vec<Vec<T>>,
    name: impl Fn(&T) -> String,
) -> Vec<Joined<T>> {
    if query.is_comparison() {
        return join(sides, name);
    }
    let alone = |row: T| Joined {
        name: name(&row),
        rows: vec![Some(row)],
    };
    sides.into_iter().flatten().map(alone).collect()
}

/// Sorts rows of compared experiments: by their largest value or its change. Rows of one experiment
/// are sorted already.
pub(crate) fn sort<T>(query: &Query<'_>, rows: &mut [Joined<T>], value: impl Fn(&T) -> f64) {
    if query.is_comparison() {
        let (sort, ranking) = (query.request.sort, query.ranking());
        rows.sort_by(|left, right| order(sort, ranking, &value, left, right));
    }
}

/// Sorts rows that have an order of their own as `sort` asks, stably: largest first, names from A to
/// Z. Returns the key's label; `None` where nothing is asked or rows have no such value, and the
/// order stays. Several experiments are ranked.
pub(crate) fn sort_as_asked<T>(
    rows: &mut [Joined<T>],
    key: Option<SortKey>,
    ranking: Ranking<'_>,
    value: impl Fn(&T, Flavour, Metric) -> Option<f64>,
) -> Option<String> {
    let key = key?;
    let turned = |order: Ordering| if key.reversed { order.reverse() } else { order };
    match key.quantity {
        Quantity::Name => {
            rows.sort_by(|left, right| turned(parts(&left.name).cmp(&parts(&right.name))));
        }
        Quantity::Time(flavour, metric) => {
            let value = |row: &T| value(row, flavour, metric);
            let known = || rows.iter().flat_map(|row| row.rows.iter().flatten());
            if known().any(|row| value(row).is_none()) {
                return None;
            }
            let rank = |joined: &Joined<T>| ranking.of(joined, |row| value(row).unwrap_or(0.0));
            rows.sort_by(|left, right| turned(rank(right).total_cmp(&rank(left))));
        }
        Quantity::Size | Quantity::Address => return None,
    }
    Some(key.quantity.label())
}

/// A name by its numbers, each with the words behind it: `CPU 2` comes before `CPU 10`.
fn parts(name: &str) -> Vec<(u64, &str)> {
    let mut parts = Vec::new();
    let mut rest = name;
    while !rest.is_empty() {
        let words = rest.trim_start_matches(|letter: char| letter.is_ascii_digit());
        let number = rest[..rest.len() - words.len()].parse().unwrap_or(0);
        let next = words.find(|letter: char| letter.is_ascii_digit());
        let (words, next) = words.split_at(next.unwrap_or(words.len()));
        parts.push((number, words));
        rest = next;
    }
    parts
}

/// The rows of a list.
pub(crate) fn rows<T>(joined: &[Joined<T>], fields: &[Field<'_, T>]) -> Vec<Row> {
    let values = |side: &Option<T>| {
        let value = |field: &Field<'_, T>| match side {
            Some(row) => (field.value)(row),
            None => Value::Absent,
        };
        fields.iter().map(value).collect()
    };
    let row = |joined: &Joined<T>| Row {
        name: joined.name.clone(),
        values: joined.rows.iter().map(values).collect(),
        ..Row::default()
    };
    joined.iter().map(row).collect()
}

/// The table of a list.
pub(crate) fn table<T>(
    query: &Query<'_>,
    joined: &[Joined<T>],
    fields: Vec<Field<'_, T>>,
) -> Table {
    let rows = rows(joined, &fields);
    let columns = fields.into_iter().map(|field| field.column).collect();
    if query.is_comparison() {
        query.table(columns, rows)
    } else {
        Table {
            style: Style::Ruled,
            columns,
            rows,
            ..Table::default()
        }
    }
}

impl Order {
    /// Adds a list in this order to a document.
    pub(crate) fn titled(
        &self,
        query: &Query<'_>,
        base: Document,
        own: &str,
        table: Table,
    ) -> Document {
        let mut document = match self {
            Order::By(label) => {
                let title = format!("{} sorted by {}", base.view, query.by(label));
                titled(base, &title, table)
            }
            Order::Own | Order::Without(_) => titled(base, own, table),
        };
        if let Order::Without(label) = self {
            let view = &document.view;
            let notice = format!("{view} has no {label}, and stays in its own order");
            document.notices.push(notice);
        }
        document
    }
}

/// Adds a list to a document. Only a comparison has a title.
pub(crate) fn titled(base: Document, title: &str, table: Table) -> Document {
    Document {
        title: if table.has_sides() {
            title.to_owned()
        } else {
            String::new()
        },
        blocks: vec![Block::Table(table)],
        ..base
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_in_the_order_of_their_numbers() {
        let mut names = ["CPU 10", "CPU 2", "LWP 3", "CPU 2a", "", "<Off CPU>"];
        names.sort_by_key(|name| parts(name));
        assert_eq!(
            names,
            ["", "<Off CPU>", "CPU 2", "CPU 2a", "CPU 10", "LWP 3"]
        );
        assert_eq!(parts("12 of 99999999999999999999"), [(12, " of "), (0, "")]);
    }
}
