//! The call tree as rows, with parents and children.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use omp_model::metrics::{Flavour, Metric, Quantity};
use report::Document;
use report::document::{Block, Row, Table};
use rustc_hash::{FxHashSet, FxHasher};

/// A call tree in preorder.
#[derive(Debug, Default)]
pub struct Tree {
    document: Arc<Document>,
    /// A hash of each row's path of names: the same in another mode or order.
    pub keys: Vec<u64>,
    /// The caller of each row; the root is its own.
    pub parents: Vec<usize>,
    /// The end of each row's subtree.
    pub ends: Vec<usize>,
}

/// The number of branches drawn before a deep row's name.
const MOST_BRANCHES: usize = 48;

impl Tree {
    pub(crate) fn new(document: Arc<Document>) -> Tree {
        let rows = table(&document).map_or(&[][..], |table| &table.rows);
        let mut keys: Vec<u64> = Vec::with_capacity(rows.len());
        let mut parents = Vec::with_capacity(rows.len());
        let mut ends = vec![rows.len(); rows.len()];
        let mut path: Vec<usize> = Vec::new();
        for (at, row) in rows.iter().enumerate() {
            for left in path.drain((depth(row) as usize).min(path.len())..) {
                ends[left] = at;
            }
            let parent = path.last().copied().unwrap_or(0);
            let above = keys.get(parent).copied().unwrap_or(0);
            keys.push(key(above, &row.name));
            parents.push(parent);
            path.push(at);
        }
        Tree {
            document,
            keys,
            parents,
            ends,
        }
    }

    /// The document that it is of.
    pub fn document(&self) -> &Arc<Document> {
        &self.document
    }

    /// The rows.
    pub fn rows(&self) -> &[Row] {
        table(&self.document).map_or(&[], |table| &table.rows)
    }

    /// The name of a row.
    pub fn name(&self, row: usize) -> &str {
        self.rows().get(row).map_or("", |row| &row.name)
    }

    /// The name of a row and its marks.
    pub fn label(&self, row: usize) -> String {
        let row = table(&self.document).and_then(|table| Some((table, table.rows.get(row)?)));
        row.map_or_else(String::new, |(table, row)| {
            format!("{}{}", row.name, row.tail(&table.columns))
        })
    }

    /// How far a row is below the root.
    pub fn depth(&self, row: usize) -> usize {
        self.rows().get(row).map_or(0, |row| depth(row) as usize)
    }

    /// The column of a metric.
    pub fn column(&self, metric: Metric) -> usize {
        let wanted = Some(Quantity::Time(Flavour::Attributed, metric));
        let columns = table(&self.document).map_or(&[][..], |table| &table.columns);
        let found = columns.iter().position(|column| column.quantity == wanted);
        found.unwrap_or(0)
    }

    /// A number of a column with its unit.
    pub fn amount(&self, column: usize, value: f64) -> String {
        let columns = table(&self.document).map_or(&[][..], |table| &table.columns);
        let column = columns.get(column);
        column.map_or_else(String::new, |column| column.amount(value))
    }

    /// The seconds or events that each experiment has in a column of a row; one if none are compared.
    pub fn sides(&self, row: usize, column: usize) -> Vec<f64> {
        let sides = self.rows().get(row).map_or(&[][..], |row| &row.values);
        let seconds = |side: &Vec<_>| {
            let value: Option<&report::document::Value> = side.get(column);
            value.and_then(|value| value.number()).unwrap_or(0.0)
        };
        sides.iter().map(seconds).collect()
    }

    /// The seconds of all experiments in a column of a row.
    pub fn time(&self, row: usize, column: usize) -> f64 {
        self.sides(row, column).iter().sum()
    }

    /// The seconds of a row that no row below it has.
    pub fn own_time(&self, row: usize, column: usize) -> f64 {
        let below: f64 = self.children(row).map(|row| self.time(row, column)).sum();
        (self.time(row, column) - below).max(0.0)
    }

    /// The callees of a row, in order.
    pub fn children(&self, row: usize) -> impl Iterator<Item = usize> + '_ {
        let end = self.ends.get(row).copied().unwrap_or(0);
        let mut next = row + 1;
        std::iter::from_fn(move || {
            let child = next;
            (child < end).then(|| {
                next = self.ends[child];
                child
            })
        })
    }

    /// The callee with the most time in a column, if any has some.
    pub fn largest_child(&self, row: usize, column: usize) -> Option<usize> {
        let time = |row: usize| self.time(row, column);
        let callees = self.children(row).filter(|&row| time(row) > 0.0);
        callees.max_by(|&left, &right| time(left).total_cmp(&time(right)).then(right.cmp(&left)))
    }

    /// Whether anything is below a row.
    pub fn has_children(&self, row: usize) -> bool {
        self.ends.get(row).is_some_and(|&end| end > row + 1)
    }

    /// The row with a key.
    pub fn find(&self, key: u64) -> Option<usize> {
        self.keys.iter().position(|&known| known == key)
    }

    /// The rows with all their callers unfolded.
    pub fn visible(&self, open: &FxHashSet<u64>) -> Vec<usize> {
        let mut shown = Vec::new();
        let mut at = 0;
        while at < self.keys.len() {
            shown.push(at);
            at = if open.contains(&self.keys[at]) {
                at + 1
            } else {
                self.ends[at]
            };
        }
        shown
    }

    /// The names of a row and its callers, from the root down.
    pub fn names(&self, row: usize) -> Vec<String> {
        let mut names = Vec::new();
        let mut at = row;
        while let Some(row) = self.rows().get(at) {
            names.push(row.name.clone());
            if at == 0 {
                break;
            }
            at = self.parents[at];
        }
        names.reverse();
        names
    }

    /// The counterpart of a row of another tree, given by its path of names: the row of the same
    /// path, else the row of the same name with the most time, else its nearest caller's counterpart.
    pub fn counterpart(&self, names: &[String], column: usize) -> usize {
        let key = names.iter().fold(0, |above, name| key(above, name));
        if let Some(same) = self.find(key) {
            return same;
        }
        let found = names.iter().rev().find_map(|name| {
            let alike = (0..self.keys.len()).filter(|&at| self.name(at) == name);
            alike.max_by(|&left, &right| {
                let times = (self.time(left, column), self.time(right, column));
                times.0.total_cmp(&times.1).then(right.cmp(&left))
            })
        });
        found.unwrap_or(0)
    }

    /// The branches before a row's name, as box-drawing characters.
    pub fn branches(&self, row: usize) -> String {
        let is_last = |at: usize| {
            let node = self.rows().get(at).and_then(|row| row.node);
            node.is_none_or(|node| node.last)
        };
        let mut marks = Vec::new();
        let mut at = row;
        while at != 0 && marks.len() < MOST_BRANCHES {
            marks.push(match (at == row, is_last(at)) {
                (true, true) => "└ ",
                (true, false) => "├ ",
                (false, true) => "  ",
                (false, false) => "│ ",
            });
            at = self.parents[at];
        }
        let more = if at != 0 { "… " } else { "" };
        let marks: String = marks.into_iter().rev().collect();
        format!("{more}{marks}")
    }
}

fn table(document: &Document) -> Option<&Table> {
    let tables = document.blocks.iter().filter_map(|block| match block {
        Block::Table(table) => Some(table),
        Block::Lines(_) => None,
    });
    tables.into_iter().next()
}

fn depth(row: &Row) -> u32 {
    row.node.unwrap_or_default().depth
}

/// The key of a row, from its caller's key and its name.
fn key(above: u64, name: &str) -> u64 {
    let mut hasher = FxHasher::default();
    above.hash(&mut hasher);
    name.hash(&mut hasher);
    hasher.finish()
}
