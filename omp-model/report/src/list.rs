//! Lists of what experiments are made of: a row for each thread, load object or CPU.

use omp_model::views::compare::join::{Joined, join};

use crate::document::{Block, Column, Document, InJson, Row, Style, Table, Unit, Value};
use crate::query::{Query, Source};

/// What a list tells of each row.
pub(crate) struct Field<'f, T> {
    pub(crate) column: Column,
    value: Box<dyn Fn(&T) -> Value + 'f>,
}

impl<'f, T> Field<'f, T> {
    /// What a text shows under a heading, and JSON in the row.
    pub(crate) fn fact(id: &str, heading: &str, value: impl Fn(&T) -> Value + 'f) -> Self {
        Field::of(
            Column {
                id: id.to_owned(),
                heading: vec![heading.to_owned()],
                value: true,
                decimals: 3,
                json: InJson::Row,
                ..Column::default()
            },
            value,
        )
    }

    /// The same in a text alone.
    pub(crate) fn shown(id: &str, heading: &str, value: impl Fn(&T) -> Value + 'f) -> Self {
        Field::fact(id, heading, value).at(InJson::Nowhere)
    }

    /// What JSON alone tells, in the row.
    pub(crate) fn told(id: &str, value: impl Fn(&T) -> Value + 'f) -> Self {
        let mut field = Field::fact(id, "", value);
        field.column.heading.clear();
        field
    }

    /// The same as a list of what compared experiments have.
    pub(crate) fn each(id: &str, value: impl Fn(&T) -> Value + 'f) -> Self {
        Field::told(id, value).at(InJson::Each)
    }

    /// A number of each compared experiment.
    pub(crate) fn number(id: &str, heading: &str, value: impl Fn(&T) -> Value + 'f) -> Self {
        let mut field = Field::fact(id, heading, value).at(InJson::Values);
        heading.clone_into(&mut field.column.label);
        field
    }

    /// A number of each compared experiment, in seconds.
    pub(crate) fn seconds(id: &str, heading: &str, value: impl Fn(&T) -> Value + 'f) -> Self {
        let mut field = Field::number(id, heading, value);
        field.column.unit = Unit::Seconds;
        field
    }

    /// A value in a column.
    pub(crate) fn of(column: Column, value: impl Fn(&T) -> Value + 'f) -> Self {
        let value = Box::new(value);
        Field { column, value }
    }

    /// What rows are called, under a heading.
    pub(crate) fn name(heading: &str) -> Self {
        let heading = vec![heading.to_owned()];
        let column = Column {
            heading,
            ..Column::name()
        };
        Field::of(column, |_| Value::Absent)
    }

    /// The same where JSON alone tells it.
    pub(crate) fn hidden_name() -> Self {
        Field::of(Column::hidden_name(), |_| Value::Absent)
    }

    fn at(mut self, place: InJson) -> Self {
        self.column.json = place;
        self
    }
}

/// What each side has under one name, as many as the limit leaves.
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
pub(crate) fn table<T>(query: &Query<'_>, fields: Vec<Field<'_, T>>, rows: Vec<Row>) -> Table {
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

/// Adds a list to a document. A comparison has a title, which tells its experiments.
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
