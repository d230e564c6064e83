//! `functions`, `lines`, `pcs`: lists by the metrics in force.

use omp_model::metrics::{Flavour, Metric, Quantity};
use omp_model::views::compare::Shared;
use omp_model::views::compare::join::Joined;
use omp_model::views::functions::{self, List};
use omp_model::views::{Code, ListRow, Marks, Request, TOTAL, annotated, lines};

use crate::document::{Block, Column, Document, Role, Row, Style, Table, Value};
use crate::list::{self, by_name};
use crate::query::{Query, Source};

/// What a list has a row for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Each function.
    Functions,
    /// Each source line.
    Lines,
    /// Each instruction.
    Instructions,
}

impl Kind {
    /// The command.
    const fn view(self) -> &'static str {
        match self {
            Kind::Functions => "functions",
            Kind::Lines => "lines",
            Kind::Instructions => "pcs",
        }
    }

    /// What a title calls them.
    pub(crate) const fn title(self) -> &'static str {
        match self {
            Kind::Functions => "Functions",
            Kind::Lines => "Lines",
            Kind::Instructions => "PCs",
        }
    }

    /// The list of one experiment under its own names.
    pub fn list(self, source: &Source<'_>, request: &Request) -> List {
        let (profile, names) = (source.profile(), source.names());
        match self {
            Kind::Functions => functions::functions(profile, &names, request),
            Kind::Lines => lines::lines(profile, &names, request),
            Kind::Instructions => annotated::pcs(profile, &names, request),
        }
    }

    /// The same of a compared experiment, under the names that all share.
    pub(crate) fn shared(self, shared: &Shared<'_>, side: usize, request: &Request) -> List {
        match self {
            Kind::Functions => shared.functions(side, request),
            Kind::Lines => shared.lines(side, request),
            Kind::Instructions => shared.pcs(side, request),
        }
    }
}

/// The list of functions, lines or instructions.
pub fn list(query: &Query<'_>, kind: Kind) -> Document {
    let mut rows = joined(query, kind);
    rows.truncate(query.limited(rows.len()));
    let columns: Vec<Column> = query.columns().collect();
    let row = |joined: Joined<ListRow>| {
        let sides = joined.rows.iter();
        let values = sides.map(|row| values(query, &columns, row.as_ref()));
        Row {
            values: values.collect(),
            marks: marks(&joined.rows, |row| row.marks),
            role: match joined.name.as_str() {
                TOTAL => Role::Total,
                _ => Role::Any,
            },
            ..Row::function(joined.name)
        }
    };
    let rows: Vec<Row> = rows.into_iter().map(row).collect();
    let by = query.by(&query.request.sort.quantity.label());
    Document {
        title: format!("{} sorted by {by}", kind.title()),
        blocks: vec![Block::Table(Table {
            whole: whole(&rows),
            ..query.table(columns.clone(), rows)
        })],
        ..query.document(kind.view())
    }
}

/// The lists of all sides joined by name, `<Total>` first.
pub fn joined(query: &Query<'_>, kind: Kind) -> Vec<Joined<ListRow>> {
    let request = &query.request;
    let lists = query.by_side(
        |source| kind.list(source, request),
        |shared, side| kind.shared(shared, side, request),
    );
    let rows = |list: List| std::iter::once(list.total).chain(list.rows).collect();
    let sides = lists.into_iter().map(rows).collect();
    let mut all = by_name(query, sides, |row: &ListRow| row.name.clone());
    if let [_, rest @ ..] = all.as_mut_slice() {
        list::sort(query, rest, |row| {
            seconds(request, row, request.sort.quantity)
        });
    }
    all
}

/// The seconds of a quantity in a row.
pub fn seconds(request: &Request, row: &ListRow, quantity: Quantity) -> f64 {
    let Quantity::Time(flavour, metric) = quantity else {
        return 0.0;
    };
    let values = match flavour {
        Flavour::Exclusive => &row.exclusive,
        Flavour::Inclusive | Flavour::Attributed => &row.inclusive,
    };
    request.index(metric).map_or(0.0, |at| values[at])
}

/// The marks of a row that several experiments have: those of all of them.
pub(crate) fn marks<T>(rows: &[Option<T>], of: impl Fn(&T) -> Marks) -> Marks {
    let known = || rows.iter().flatten().map(&of);
    let some = known().next().is_some();
    Marks {
        inlined: some && known().all(|marks| marks.inlined),
        recursive: known().any(|marks| marks.recursive),
    }
}

/// The values of a row; what an experiment does not have took no time in it.
pub(crate) fn values(query: &Query<'_>, columns: &[Column], row: Option<&ListRow>) -> Vec<Value> {
    match row {
        Some(row) => query.values(columns, row.code, &row.exclusive, &row.inclusive),
        None => query.values(columns, None, &[], &[]),
    }
}

/// The values of columns of quantities; `time` gives those of times. Other columns are left out.
pub(crate) fn quantities(
    columns: &[Column],
    code: Option<Code>,
    time: impl Fn(Flavour, Metric) -> Value,
) -> Vec<Value> {
    let value = |column: &Column| match column.quantity {
        Some(Quantity::Time(flavour, metric)) => time(flavour, metric),
        Some(Quantity::Size) => Value::Count(code.map_or(0, |code| code.size)),
        Some(Quantity::Address) => Value::Address(code),
        Some(Quantity::Name) | None => Value::Omitted,
    };
    columns.iter().map(value).collect()
}

/// The values of the first row, which is that of everything, by experiment.
pub(crate) fn whole(rows: &[Row]) -> Vec<Vec<f64>> {
    let first = rows.first().map_or(&[][..], |row| &row.values);
    first.iter().map(|values| numbers(values)).collect()
}

/// Values as numbers; 0 for those that are none.
pub(crate) fn numbers(values: &[Value]) -> Vec<f64> {
    let numbers = values.iter().map(|value| value.number().unwrap_or(0.0));
    numbers.collect()
}

impl<'a> Query<'a> {
    /// The columns of a list: those in force, or the visible times of them where experiments are
    /// compared, and the name.
    pub(crate) fn columns(&self) -> impl Iterator<Item = Column> + '_ {
        self.shown(&self.columns)
    }

    /// The same of other columns.
    pub(crate) fn shown<'c>(
        &self,
        columns: &'c [omp_model::metrics::Column],
    ) -> impl Iterator<Item = Column> + use<'c> {
        let is_compared = self.is_comparison();
        let is_shown = move |column: &&omp_model::metrics::Column| {
            let is_time = matches!(column.quantity, Quantity::Time(..));
            !is_compared || (is_time && column.visible())
        };
        let name = is_compared.then(Column::name);
        columns
            .iter()
            .filter(is_shown)
            .map(|column| Column::metric(*column))
            .chain(name)
    }

    /// The values of a row by its seconds: those at the leaf, and those with callees.
    pub(crate) fn values(
        &self,
        columns: &[Column],
        code: Option<Code>,
        exclusive: &[f64],
        inclusive: &[f64],
    ) -> Vec<Value> {
        quantities(columns, code, |flavour, metric| {
            let seconds = match flavour {
                Flavour::Exclusive => exclusive,
                Flavour::Inclusive | Flavour::Attributed => inclusive,
            };
            self.placed(seconds, metric)
        })
    }

    /// The seconds of a metric in a view of stacks, with those of them that are inferred; nothing
    /// where the recording has no data for it.
    pub(crate) fn placed(&self, seconds: &[f64], metric: Metric) -> Value {
        if !self.all.analysis.available().has(metric) {
            return Value::Absent;
        }
        let inferred = self.request.inferred(metric);
        let inferred = inferred.and_then(|at| seconds.get(at)).copied();
        Value::placed(self.seconds(seconds, metric), inferred.unwrap_or(0.0))
    }

    /// The seconds of a metric; 0 where they are not known.
    pub(crate) fn seconds(&self, seconds: &[f64], metric: Metric) -> f64 {
        let at = self.request.index(metric);
        at.and_then(|at| seconds.get(at)).copied().unwrap_or(0.0)
    }

    /// A table of metrics of all sides.
    pub(crate) fn table(&self, columns: Vec<Column>, rows: Vec<Row>) -> Table {
        Table {
            style: if self.is_comparison() {
                Style::Right
            } else {
                Style::Metrics
            },
            compare: self.compare,
            columns,
            rows,
            ..Table::default()
        }
    }
}
