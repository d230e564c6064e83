//! Experiments beside each other: the rows of a view under the names that they share, as
//! `er_print`'s `compare` joins them.

mod about;

use std::collections::BTreeMap;

use omp_model::metrics::{Column as Spec, Flavour, Metric, Quantity};
use omp_model::views::calltree::TreeRow;
use omp_model::views::compare::Shared;
use omp_model::views::compare::join::{self, Joined, join, order};
use omp_model::views::compare::scaling::region_name;
use omp_model::views::neighbours::{Neighbour, Neighbours};
use omp_model::views::openmp::regions::RegionRow;
use omp_model::views::openmp::tasks::TaskRow;
use omp_model::views::threads::{kind_name, threads};
use omp_model::views::{Request, Row as FunctionRow};

use crate::data::Data;
use crate::recording::Recording;
use crate::regions::Directives;
use crate::report::{Column, Mark, Row, Table, Value};
use crate::tables;
use crate::tree::Tree;
use report::timeline::Activity;

pub use about::{experiments, overview};

/// How values of further experiments are told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compare {
    /// As they are.
    On,
    /// Less the first experiment's.
    Delta,
    /// As so many times the first one's.
    Ratio,
}

impl Compare {
    /// Its word in the command language.
    pub const fn word(self) -> &'static str {
        match self {
            Compare::On => "on",
            Compare::Delta => "delta",
            Compare::Ratio => "ratio",
        }
    }

    /// The next way; after the last one they are added up again.
    pub const fn next(now: Option<Compare>) -> Option<Compare> {
        match now {
            None => Some(Compare::Delta),
            Some(Compare::Delta) => Some(Compare::Ratio),
            Some(Compare::Ratio) => Some(Compare::On),
            Some(Compare::On) => None,
        }
    }

    /// A value of an experiment beside the first one's; nothing where it has none.
    fn value(self, first: Option<f64>, other: Option<f64>, decimals: usize) -> Value {
        let known = |value: Option<f64>| match decimals {
            0 => Value::Count(value.map(|value| value as u64)),
            _ => Value::Maybe(value),
        };
        match self {
            Compare::On => known(other),
            Compare::Delta => match (first, other) {
                (None, None) => Value::Maybe(None),
                (first, other) => {
                    let difference = other.unwrap_or(0.0) - first.unwrap_or(0.0);
                    Value::Delta(difference, decimals)
                }
            },
            Compare::Ratio => Value::Ratio(first.unwrap_or(0.0), other.unwrap_or(0.0)),
        }
    }
}

/// What every view of a comparison has: the experiments' sides under the settings in force.
pub struct Beside<'a> {
    data: &'a Data,
    recording: &'a Recording,
    how: Compare,
    count: usize,
}

impl<'a> Beside<'a> {
    /// If experiments are compared.
    pub fn of(data: &'a Data, recording: &'a Recording) -> Option<Beside<'a>> {
        let how = data.settings.compare?;
        let count = recording.parts().len();
        (count > 1).then_some(Beside {
            data,
            recording,
            how,
            count,
        })
    }

    fn request(&self) -> &Request {
        &self.data.request
    }

    /// Calls `view` with the shared names.
    fn shared<T>(&self, view: impl FnOnce(&Shared<'_>) -> T) -> T {
        let sides: Vec<_> = self
            .recording
            .parts()
            .iter()
            .enumerate()
            .map(|(side, part)| {
                (
                    self.data.side(self.recording, side),
                    part.names(Default::default()),
                )
            })
            .collect();
        view(&Shared::new(&sides))
    }

    /// The columns of `specs`' times, each once for each experiment.
    pub(crate) fn columns(&self, specs: &[Spec]) -> Vec<Column> {
        tables::times(specs)
            .into_iter()
            .flat_map(|column| self.columns_of(&column))
            .collect()
    }

    fn columns_of(&self, column: &Column) -> Vec<Column> {
        let of = |number: usize| {
            let mut column = column.clone();
            column.id = format!("{}.{}", column.id, number + 1);
            let number = number + 1;
            column.head = match (self.how, number) {
                (_, 1) => [column.head[0].clone(), format!("{} (1)", column.head[1])],
                (Compare::On, _) => [String::new(), format!("({number})")],
                (how, _) => [format!("({number})"), how.word().to_owned()],
            };
            column
        };
        (0..self.count).map(of).collect()
    }

    /// The cells of a value of every experiment.
    fn cells(&self, values: &[Option<f64>], decimals: usize) -> Vec<Value> {
        let first = values.first().copied().flatten();
        let cells = values.iter().enumerate();
        cells
            .map(|(number, &value)| match number {
                0 => Compare::On.value(None, value, decimals),
                _ => self.how.value(first, value, decimals),
            })
            .collect()
    }

    /// The cells of the times of `specs`; what an experiment does not have took no time in it.
    pub(crate) fn times<T>(
        &self,
        specs: &[Spec],
        rows: &[Option<T>],
        seconds: impl Fn(&T, Flavour, usize) -> f64,
    ) -> Vec<Value> {
        let visible = specs.iter().filter(|column| column.visible());
        visible
            .filter_map(|column| match column.quantity {
                Quantity::Time(flavour, metric) => Some((flavour, self.request().index(metric)?)),
                _ => None,
            })
            .flat_map(|(flavour, at)| {
                let of = |row: &Option<T>| {
                    Some(row.as_ref().map_or(0.0, |row| seconds(row, flavour, at)))
                };
                let values: Vec<Option<f64>> = rows.iter().map(of).collect();
                self.cells(&values, 3)
            })
            .collect()
    }

    /// What each experiment has of something, and the differences to the first one.
    pub(crate) fn sentence(&self, sides: &[f64], name: &str) -> String {
        let first = sides.first().copied().unwrap_or(0.0);
        let parts = sides.iter().zip(1..).map(|(seconds, number)| match number {
            1 => format!("(1) {seconds:.3} s"),
            _ => format!("({number}) {seconds:.3} s, {:+.3} s", seconds - first),
        });
        let parts: Vec<String> = parts.collect();
        format!("{}  {name}", parts.join("  "))
    }

    pub(crate) fn title(&self, what: &str) -> String {
        let names = self.recording.names.iter().zip(1..);
        let names: Vec<String> = names
            .map(|(name, number)| {
                let base = omp_model::views::names::base_name(name.trim_end_matches('/'));
                format!("({number}) {base}")
            })
            .collect();
        format!("{what}, {}: {}", self.how.word(), names.join(" "))
    }
}

fn of_function(row: &FunctionRow, flavour: Flavour, at: usize) -> f64 {
    match flavour {
        Flavour::Exclusive => row.exclusive[at],
        Flavour::Inclusive | Flavour::Attributed => row.inclusive[at],
    }
}

fn sort_value(request: &Request, row: &FunctionRow) -> f64 {
    match request.sort.quantity {
        Quantity::Time(flavour, metric) => {
            let at = request.index(metric);
            at.map_or(0.0, |at| of_function(row, flavour, at))
        }
        _ => 0.0,
    }
}

/// The functions.
pub fn functions(beside: &Beside<'_>) -> Table {
    let request = beside.request();
    let sides = beside.shared(|shared| {
        let sides = (0..shared.len()).map(|side| {
            let list = shared.functions(side, request);
            std::iter::once(list.total).chain(list.rows).collect()
        });
        sides.collect::<Vec<Vec<FunctionRow>>>()
    });
    let mut rows = join(sides, |row: &FunctionRow| row.name.clone());
    if let [_, rest @ ..] = rows.as_mut_slice() {
        let by = |row: &FunctionRow| sort_value(request, row);
        rest.sort_by(|left, right| order(request.sort, by, left, right));
    }
    let specs = &beside.data.columns;
    let row = |joined: Joined<FunctionRow>| Row {
        values: beside.times(specs, &joined.rows, of_function),
        tint: Activity::of_name(&joined.name),
        name: joined.name,
        ..Row::default()
    };
    let title = format!("Functions by {}", tables::order(beside.data));
    Table {
        title: beside.title(&title),
        columns: beside.columns(specs),
        rows: rows.into_iter().map(row).collect(),
    }
}

/// The trees of the experiments as one, and what each has at every row.
pub fn tree(beside: &Beside<'_>) -> Tree {
    let branches = beside.shared(|shared| join::calltree(shared, beside.request()));
    let mut rows = Vec::with_capacity(branches.len());
    let mut sides = Vec::with_capacity(branches.len());
    for branch in branches {
        let mut all = branch.joined.rows.iter().flatten();
        // Every branch is of some experiment.
        let Some(mut sum) = all.next().cloned() else {
            continue;
        };
        for more in all {
            add(&mut sum.attributed, &more.attributed);
            add(&mut sum.exclusive, &more.exclusive);
        }
        rows.push(TreeRow {
            depth: branch.depth,
            last: branch.last,
            ..sum
        });
        let seconds = branch.joined.rows.into_iter();
        sides.push(seconds.map(|row| Some(row?.attributed)).collect());
    }
    let mut tree = Tree::new(rows);
    tree.sides = sides;
    tree
}

fn add(sum: &mut [f64], more: &[f64]) {
    let pairs = sum.iter_mut().zip(more);
    pairs.for_each(|(sum, more)| *sum += more);
}

/// The rows in sight of such a tree get the values of every experiment.
pub fn of_tree(beside: &Beside<'_>, mut table: Table, tree: &Tree, shown: &[usize]) -> Table {
    let specs = beside.data.attributed();
    for (row, &at) in table.rows.iter_mut().zip(shown) {
        if let Some(sides) = tree.sides.get(at) {
            row.values = beside.times(&specs, sides, |seconds, _, metric| seconds[metric]);
        }
    }
    table.columns = beside.columns(&specs);
    table.title = beside.title(&table.title);
    table
}

/// Every function between its callers and callees, by experiment.
pub fn blocks(beside: &Beside<'_>) -> Vec<Joined<Neighbours>> {
    let request = beside.request();
    let sides = beside.shared(|shared| {
        let sides = (0..shared.len()).map(|side| shared.callers_callees(side, request));
        sides.collect::<Vec<_>>()
    });
    let mut blocks = join(sides, |block: &Neighbours| block.row.name.clone());
    let by = |block: &Neighbours| sort_value(request, &block.row);
    if let [_, rest @ ..] = blocks.as_mut_slice() {
        rest.sort_by(|left, right| order(request.sort, by, left, right));
    }
    blocks
}

/// A function between its callers (above) and callees (below).
pub fn neighbours(beside: &Beside<'_>, block: &Joined<Neighbours>) -> Table {
    let specs = beside.data.attributed();
    let request = beside.request();
    let metric = match request.sort.quantity {
        Quantity::Time(_, metric) => request.index(metric),
        _ => None,
    };
    let edges = |of: fn(&Neighbours) -> &[Neighbour], lead: &str| -> Vec<Row> {
        let sides = block.rows.iter().map(|row| {
            let edges = row.as_ref().map_or(&[][..], of);
            edges.to_vec()
        });
        let mut edges = join(sides.collect(), |edge: &Neighbour| edge.name.clone());
        let by = |edge: &Neighbour| metric.map_or(0.0, |at| edge.attributed[at]);
        edges.sort_by(|left, right| order(request.sort, by, left, right));
        let row = |edge: Joined<Neighbour>| Row {
            values: beside.times(&specs, &edge.rows, |edge, _, at| edge.attributed[at]),
            lead: lead.to_owned(),
            tint: Activity::of_name(&edge.name),
            name: edge.name,
            ..Row::default()
        };
        edges.into_iter().map(row).collect()
    };
    let own = Row {
        values: beside.times(&specs, &block.rows, |block, _, at| block.row.exclusive[at]),
        lead: "* ".to_owned(),
        name: block.name.clone(),
        mark: Mark::Strong,
        ..Row::default()
    };
    let callers = edges(|block| &block.callers, "  ");
    let callees = edges(|block| &block.callees, "    ");
    Table {
        title: beside.title(&format!("Callers and callees of {}", block.name)),
        columns: beside.columns(&specs),
        rows: callers.into_iter().chain([own]).chain(callees).collect(),
    }
}

/// The threads, matched by their kind and order.
pub fn of_threads(beside: &Beside<'_>) -> Table {
    let specs = tables::exclusive_times(beside.data);
    let parts = beside.recording.parts().iter().enumerate();
    let sides = parts.map(|(side, part)| {
        let profile = beside.data.side(beside.recording, side);
        let rows = threads(profile, &part.experiment.tables, &beside.request().metrics);
        let mut counts = BTreeMap::<&str, u32>::new();
        let named = |row: omp_model::views::threads::ThreadRow| {
            let kind = kind_name(row.kind);
            let number = counts.entry(kind).or_default();
            *number += 1;
            (format!("Thread {number} ({kind})"), row.seconds)
        };
        rows.into_iter().map(named).collect::<Vec<_>>()
    });
    let joined = join(sides.collect(), |row| row.0.clone());
    let row = |joined: Joined<(String, omp_model::views::Seconds)>| Row {
        values: beside.times(&specs, &joined.rows, |(_, seconds), _, at| seconds[at]),
        name: joined.name,
        ..Row::default()
    };
    Table {
        title: beside.title("Threads by kind and order"),
        columns: beside.columns(&specs),
        rows: joined.into_iter().map(row).collect(),
    }
}

/// A row of a region or task: its kind, and what is known of it.
struct Construct {
    name: String,
    kind: String,
    /// Gain, elapsed, work and wait, in seconds.
    seconds: [Option<f64>; 4],
    instances: Option<f64>,
    threads: Option<f64>,
    balance: Option<f64>,
}

fn of_region(name: String, row: &RegionRow, counted: bool) -> Construct {
    let known = |value: f64| Some(value).filter(|_| counted);
    Construct {
        name,
        kind: crate::regions::kind(row),
        seconds: [
            known(row.own.total()),
            known(row.own.elapsed),
            Some(row.time(Metric::OmpWork)),
            Some(row.time(Metric::OmpWait)),
        ],
        instances: known(row.instances as f64),
        threads: known(f64::from(row.threads)),
        balance: Some(row.load_balance()),
    }
}

fn of_task(name: String, row: &TaskRow, counted: bool) -> Construct {
    let runs = row.runs.as_ref().filter(|_| counted);
    Construct {
        name,
        kind: "task".to_owned(),
        seconds: [
            None,
            None,
            Some(row.time(Metric::OmpWork)),
            Some(row.time(Metric::OmpWait)),
        ],
        instances: runs.map(|runs| runs.instances as f64),
        threads: None,
        balance: None,
    }
}

/// The regions, then the tasks: `plain` gives the columns.
pub fn directives(beside: &Beside<'_>, plain: &Table) -> Table {
    let counted = beside.data.settings.filter.is_none();
    let parts = beside.recording.parts().iter().enumerate();
    let parts: Vec<Directives> = parts
        .map(|(side, _)| beside.data.side_directives(beside.recording, side))
        .collect();
    let sides = beside.shared(|shared| {
        let of = |(side, directives): (usize, &Directives)| {
            let regions = directives.regions.iter();
            let regions =
                regions.map(move |row| of_region(region_name(shared, side, row), row, counted));
            let tasks = directives.tasks.iter().map(move |row| {
                let name = shared.name_of(side, &row.name).to_owned();
                of_task(name, row, counted)
            });
            regions.chain(tasks).collect::<Vec<_>>()
        };
        parts.iter().enumerate().map(of).collect::<Vec<_>>()
    });
    let joined = join(sides, |row: &Construct| row.name.clone());
    let row = |joined: Joined<Construct>| {
        let kind = joined.rows.iter().flatten().next();
        let kind = kind.map_or_else(String::new, |row| row.kind.clone());
        let is_task = kind == "task";
        let mut cells = vec![Value::Word(kind)];
        let mut push = |get: &dyn Fn(&Construct) -> Option<f64>, decimals| {
            let of = |row: &Option<Construct>| row.as_ref().and_then(get);
            let values: Vec<Option<f64>> = joined.rows.iter().map(of).collect();
            cells.extend(beside.cells(&values, decimals));
        };
        push(&|row| row.seconds[0], 3);
        push(&|row| row.seconds[1], 3);
        push(&|row| row.instances, 0);
        push(&|row| row.threads, 0);
        push(&|row| row.balance, 3);
        push(&|row| row.seconds[2], 3);
        push(&|row| row.seconds[3], 3);
        // What is told of it beyond its numbers is of all experiments together.
        let mut added = plain.rows.iter();
        let added = added.find(|row| {
            row.values.first() == cells.first() && stem(&row.name) == stem(&joined.name)
        });
        let row = Row {
            values: cells,
            construct: added.and_then(|row| row.construct),
            name: joined.name,
            ..Row::default()
        };
        (is_task, row)
    };
    let mut rows: Vec<(bool, Row)> = joined.into_iter().map(row).collect();
    // The first experiment's order; what others alone have follows, regions before tasks.
    rows.sort_by_key(|(is_task, _)| *is_task);
    let (kind, rest) = plain.columns.split_at(1);
    let rest = rest.iter().flat_map(|column| beside.columns_of(column));
    Table {
        title: beside.title("Regions and tasks"),
        columns: kind.iter().cloned().chain(rest).collect(),
        rows: rows.into_iter().map(|(_, row)| row).collect(),
    }
}

/// A construct's name without its symbol and level, which its kind tells.
fn stem(name: &str) -> &str {
    let words = name.split_once(" [").map_or(name, |(words, _)| words);
    words
        .split_once(" (level ")
        .map_or(words, |(words, _)| words)
}
