//! The views as tables: what a screen shows and a file gets.

use omp_model::metrics::{Column as Spec, Flavour, Metric, Quantity};
use omp_model::profile::ViewMode;
use omp_model::views::neighbours::{Neighbour, Neighbours};
use omp_model::views::threads::kind_name;
use omp_model::views::{Code, Row as FunctionRow};

use crate::compare::{self, Beside};
use crate::data::Data;
use crate::recording::Recording;
use crate::report::{Column, Mark, Row, Table, Value};
use crate::tree::Tree;
use report::timeline::Activity;

/// A mode's word.
pub const fn mode_name(mode: ViewMode) -> &'static str {
    match mode {
        ViewMode::User => "user",
        ViewMode::Expert => "expert",
        ViewMode::Machine => "machine",
    }
}

/// The columns of times; the name is none of them.
pub(crate) fn times(columns: &[Spec]) -> Vec<Column> {
    let visible = columns.iter().filter(|column| column.visible());
    visible
        .filter_map(|column| match column.quantity {
            Quantity::Time(flavour, metric) => Some(time_column(flavour, metric, column.percent)),
            _ => None,
        })
        .collect()
}

fn time_column(flavour: Flavour, metric: Metric, percent: bool) -> Column {
    let quantity = Quantity::Time(flavour, metric);
    let words = metric.words();
    let head = if percent {
        let (first, rest) = words.split_once(' ').unwrap_or((words, ""));
        [format!("{} {first}", flavour.heading()), rest.to_owned()]
    } else {
        let short = words.strip_prefix("OMP ").unwrap_or(words);
        match short.split_once(' ') {
            Some((first, second)) => [first.to_owned(), second.to_owned()],
            None => [flavour.heading().to_owned(), short.to_owned()],
        }
    };
    Column {
        id: quantity.id(),
        label: quantity.label(),
        unit: "s",
        head,
        quantity: Some(quantity),
    }
}

fn plain(id: &str, label: &str, head: [&str; 2]) -> Column {
    Column {
        id: id.to_owned(),
        label: label.to_owned(),
        unit: "",
        head: head.map(str::to_owned),
        quantity: None,
    }
}

/// The values of times; `seconds` gives those of a flavour and place in the request.
pub(crate) fn values(
    data: &Data,
    columns: &[Spec],
    seconds: impl Fn(Flavour, usize) -> (f64, f64),
) -> Vec<Value> {
    let visible = columns.iter().filter(|column| column.visible());
    visible
        .filter_map(|column| match column.quantity {
            Quantity::Time(flavour, metric) => {
                let at = data.request.index(metric)?;
                let (part, whole) = seconds(flavour, at);
                Some(match column.percent {
                    true => Value::Share(part, whole),
                    false => Value::Seconds(part),
                })
            }
            _ => None,
        })
        .collect()
}

fn of_function(row: &FunctionRow, flavour: Flavour, at: usize) -> f64 {
    match flavour {
        Flavour::Exclusive => row.exclusive[at],
        Flavour::Inclusive | Flavour::Attributed => row.inclusive[at],
    }
}

/// The list of functions, `<Total>` first.
pub fn functions(data: &Data, recording: &Recording) -> Table {
    if let Some(beside) = Beside::of(data, recording) {
        return compare::functions(&beside);
    }
    let list = data.functions(recording);
    let all = std::iter::once(&list.total).chain(&list.rows);
    let rows = all.map(|row| Row {
        values: values(data, &data.columns, |flavour, at| {
            (
                of_function(row, flavour, at),
                of_function(&list.total, flavour, at),
            )
        }),
        tint: Activity::of_name(&row.name),
        name: row.name.clone(),
        ..Row::default()
    });
    Table {
        title: format!("Functions by {}", order(data)),
        columns: times(&data.columns),
        rows: rows.collect(),
    }
}

/// The order in words.
pub fn order(data: &Data) -> String {
    let sort = data.request.sort;
    let back = if sort.reversed {
        ", smallest first"
    } else {
        ""
    };
    format!("{}{back}", sort.quantity.label())
}

/// A function between its callers (above) and callees (below).
pub fn neighbours(data: &Data, block: &Neighbours) -> Table {
    let columns = data.attributed();
    let whole: &[f64] = &block.row.inclusive;
    let side = |edge: &Neighbour, lead: &str| Row {
        values: values(data, &columns, |_, at| (edge.attributed[at], whole[at])),
        lead: lead.to_owned(),
        tint: Activity::of_name(&edge.name),
        name: edge.name.clone(),
        ..Row::default()
    };
    let own = Row {
        values: values(data, &columns, |_, at| (block.row.exclusive[at], whole[at])),
        lead: "* ".to_owned(),
        name: block.row.name.clone(),
        mark: Mark::Strong,
        ..Row::default()
    };
    let callers = block.callers.iter().map(|edge| side(edge, "  "));
    let callees = block.callees.iter().map(|edge| side(edge, "    "));
    Table {
        title: format!("Callers and callees of {}", block.row.name),
        columns: times(&columns),
        rows: callers.chain([own]).chain(callees).collect(),
    }
}

/// Rows of the call tree; `shown` are those in sight, and `is_open` says whether what is below a
/// row is.
pub fn calltree(
    data: &Data,
    recording: &Recording,
    shown: &[usize],
    is_open: impl Fn(usize) -> bool,
) -> Table {
    let tree = data.tree(recording);
    let columns = data.attributed();
    let rows = shown.iter().map(|&at| {
        let row = &tree.rows[at];
        let fold = match (tree.ends[at] > at + 1, is_open(at)) {
            (false, _) => "  ",
            (true, true) => "- ",
            (true, false) => "+ ",
        };
        Row {
            values: values(data, &columns, |_, metric| {
                (row.attributed[metric], tree.rows[0].attributed[metric])
            }),
            depth: row.depth,
            lead: format!("{}{fold}", branches(tree, at)),
            tint: Activity::of_name(&row.name),
            name: row.name.clone(),
            ..Row::default()
        }
    });
    let table = Table {
        title: format!("Call tree by Attributed {}", data.metric().0.label()),
        columns: times(&columns),
        rows: rows.collect(),
    };
    match Beside::of(data, recording) {
        Some(beside) => compare::of_tree(&beside, table, tree, shown),
        None => table,
    }
}

/// At most so many branches are drawn before a deep row's name.
const MOST_BRANCHES: usize = 48;

/// What stands before a row of the tree: a line for each row above it that has more to come.
fn branches(tree: &Tree, row: usize) -> String {
    let mut marks = Vec::new();
    let mut at = row;
    while at != 0 && marks.len() < MOST_BRANCHES {
        let last = tree.rows[at].last;
        marks.push(match (at == row, last) {
            (true, true) => "└ ",
            (true, false) => "├ ",
            (false, true) => "  ",
            (false, false) => "│ ",
        });
        at = tree.parents[at];
    }
    let more = if at != 0 { "… " } else { "" };
    let marks: String = marks.into_iter().rev().collect();
    format!("{more}{marks}")
}

/// The threads.
pub fn threads(data: &Data, recording: &Recording) -> Table {
    if let Some(beside) = Beside::of(data, recording) {
        return compare::of_threads(&beside);
    }
    let rows = data.threads(recording);
    let metrics = exclusive_times(data);
    let mut columns = vec![plain("kind", "Kind", ["", "Kind"])];
    let total = |at: usize| rows.iter().map(|row| row.seconds[at]).sum::<f64>();
    let totals: Vec<f64> = (0..data.request.metrics.len()).map(total).collect();
    columns.extend(times(&metrics));
    let table_rows = rows.iter().map(|row| {
        let mut cells = vec![Value::Word(kind_name(row.kind).to_owned())];
        cells.extend(values(data, &metrics, |_, at| {
            (row.seconds[at], totals[at])
        }));
        Row {
            values: cells,
            name: format!("Process {}, Thread {}", row.pid, row.tid),
            ..Row::default()
        }
    });
    Table {
        title: "Threads".to_owned(),
        columns,
        rows: table_rows.collect(),
    }
}

/// Each metric of the columns once, exclusive.
pub(crate) fn exclusive_times(data: &Data) -> Vec<Spec> {
    let mut columns: Vec<Spec> = Vec::new();
    for column in data.attributed() {
        if let Quantity::Time(_, metric) = column.quantity {
            let quantity = Quantity::Time(Flavour::Exclusive, metric);
            columns.push(Spec { quantity, ..column });
        }
    }
    columns
}

/// Where a function's code is, for the line that tells of the selected row.
pub fn place(recording: &Recording, code: Code) -> String {
    let names = recording.names();
    let object = names.object_name(code.module);
    let functions = recording.symbols.functions.iter();
    let symbol = functions
        .filter(|function| function.module == code.module)
        .find(|function| function.address == code.address);
    let source = symbol.and_then(|function| {
        let place = function.place?;
        let file = recording.symbols.files.get(place.file.0 as usize)?;
        Some(format!("{file}:{}", place.line))
    });
    match source {
        Some(source) => format!("{source} ({object})"),
        None => format!("{object} at {:#x}", code.address),
    }
}
