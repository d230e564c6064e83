//! The boxes of a flame graph: rows of the call tree, as wide as their time.

use crate::tree::Tree;
use report::change::Change;

/// A box.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Flame {
    /// The row of the tree.
    pub row: usize,
    /// Its depth below the graph's root.
    pub depth: usize,
    /// Its left edge, from 0 to 1 of the whole width.
    pub start: f64,
    /// Its right edge.
    pub end: f64,
}

/// How wide each row of a subtree is, from its root on: as the time in a column, of compared experiments
/// the largest, so that what only one of them has is drawn. What moved from one callee to another makes callees
/// together wider than any experiment's time: their caller is as wide as they are.
fn widths(tree: &Tree, root: usize, column: usize) -> Vec<f64> {
    let end = tree.ends.get(root).copied().unwrap_or(root);
    let mut widths: Vec<f64> = vec![0.0; end - root];
    // Callees come after their callers.
    for row in (root..end).rev() {
        let sides = tree.sides(row, column);
        let own = sides.into_iter().fold(widths[row - root], f64::max);
        widths[row - root] = own;
        if row > root {
            widths[tree.parents[row] - root] += own;
        }
    }
    widths
}

/// The boxes of a subtree in preorder, by the time in a column; without those narrower than `least`
/// of the whole width.
pub fn flames(tree: &Tree, root: usize, column: usize, least: f64) -> Vec<Flame> {
    let widths = widths(tree, root, column);
    let time = |row: usize| widths.get(row - root).copied().unwrap_or(0.0);
    let whole = time(root);
    if whole <= 0.0 {
        return Vec::new();
    }
    let mut flames = Vec::new();
    let mut pending = vec![Flame {
        row: root,
        depth: 0,
        start: 0.0,
        end: 1.0,
    }];
    while let Some(flame) = pending.pop() {
        flames.push(flame);
        let mut start = flame.start;
        let before = pending.len();
        for child in tree.children(flame.row) {
            let end = (start + time(child) / whole).min(flame.end);
            if end - start >= least {
                pending.push(Flame {
                    row: child,
                    depth: flame.depth + 1,
                    start,
                    end,
                });
            }
            start = end;
        }
        pending[before..].reverse();
    }
    flames
}

/// The difference between experiments at a row.
pub fn change(tree: &Tree, row: usize, column: usize) -> Change {
    Change::of(&tree.sides(row, column))
}

/// Sums the rows whose names contain a text, for each experiment. Letter case does not matter. The time of a row
/// includes that of the rows below it, so these are not added again.
pub fn found(tree: &Tree, column: usize, text: &str) -> Vec<f64> {
    let text = text.to_lowercase();
    let mut sums: Vec<f64> = vec![0.0; tree.sides(0, column).len()];
    let mut row = 0;
    while row < tree.rows().len() {
        if tree.name(row).to_lowercase().contains(&text) {
            for (sum, value) in sums.iter_mut().zip(tree.sides(row, column)) {
                *sum += value;
            }
            row = tree.ends[row];
        } else {
            row += 1;
        }
    }
    sums
}

/// A name after `new: ` or `gone: ` where not all experiments have the row.
pub fn label(tree: &Tree, row: usize, column: usize) -> String {
    let label = tree.label(row);
    match change(tree, row, column) {
        change @ (Change::New | Change::Gone) => format!("{}: {label}", change.word()),
        _ => label,
    }
}

/// A sentence with what each experiment has at a row in a column, and the differences to the first one.
pub fn sentence(tree: &Tree, row: usize, column: usize) -> String {
    let (sides, name) = (tree.sides(row, column), label(tree, row, column));
    let first = sides.first().copied().unwrap_or(0.0);
    let parts = sides.iter().zip(1..).map(|(&value, number)| {
        let amount = tree.amount(column, value);
        let more = value - first;
        let sign = if more < 0.0 { "-" } else { "+" };
        match number {
            1 => format!("(1) {amount}"),
            _ => format!(
                "({number}) {amount}, {sign}{}",
                tree.amount(column, more.abs())
            ),
        }
    });
    let parts: Vec<String> = parts.collect();
    format!("{}  {name}", parts.join("  "))
}

impl Flame {
    /// Its columns on a screen of this width; empty if it is too narrow.
    pub fn cells(&self, width: u16) -> std::ops::Range<u16> {
        let edge = |at: f64| (at * f64::from(width)).round() as u16;
        edge(self.start)..edge(self.end)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use omp_model::metrics::{Flavour, Metric, Quantity};
    use report::Document;
    use report::document::{Block, Column, Node, Row, Table, Value};

    use super::*;

    /// A tree with the values of two experiments.
    fn tree(rows: &[(u32, &str, [f64; 2])]) -> Tree {
        let rows = rows.iter().map(|&(depth, name, sides)| Row {
            node: Some(Node { depth, last: false }),
            values: sides.map(|value| vec![Value::Number(value)]).to_vec(),
            ..Row::function(name.to_owned())
        });
        let quantity = Quantity::Time(Flavour::Attributed, Metric::OmpWork);
        let table = Table {
            columns: vec![Column::time(quantity)],
            rows: rows.collect(),
            ..Table::default()
        };
        Tree::new(Arc::new(Document {
            blocks: vec![Block::Table(table)],
            ..Document::default()
        }))
    }

    #[test]
    fn what_one_experiment_lacks_is_as_wide_as_what_the_other_has() {
        let tree = tree(&[
            (0, "<Total>", [6.0, 5.0]),
            (1, "main", [6.0, 5.0]),
            (2, "old", [4.0, 0.0]),
            (2, "new", [0.0, 4.0]),
            (2, "both", [2.0, 1.0]),
        ]);
        let boxes = flames(&tree, 0, 0, 0.0);
        let found: Vec<_> = boxes
            .iter()
            .map(|it| (label(&tree, it.row, 0), 10.0 * it.start, 10.0 * it.end))
            .collect();
        // `main` holds its callees, of which no run has all.
        let expected = [
            ("<Total>", 0.0, 10.0),
            ("main", 0.0, 10.0),
            ("gone: old", 0.0, 4.0),
            ("new: new", 4.0, 8.0),
            ("both", 8.0, 10.0),
        ];
        for ((name, start, end), (expected, from, to)) in found.iter().zip(expected) {
            assert_eq!(name, expected);
            assert!(
                (start - from).abs() < 1e-9 && (end - to).abs() < 1e-9,
                "{name}"
            );
        }
        assert_eq!(found.len(), expected.len());
        let own = flames(&tree, 2, 0, 0.0);
        assert_eq!((own.len(), own[0].start, own[0].end), (1, 0.0, 1.0));
    }

    #[test]
    fn what_matches_below_a_match_is_counted_once() {
        let tree = tree(&[
            (0, "<Total>", [9.0, 9.0]),
            (1, "visit", [5.0, 2.0]),
            (2, "Visit again", [4.0, 1.0]),
            (1, "other", [4.0, 7.0]),
            (2, "visit", [1.0, 3.0]),
        ]);
        assert_eq!(found(&tree, 0, "VISIT"), [6.0, 5.0]);
        assert_eq!(found(&tree, 0, "nothing"), [0.0, 0.0]);
    }
}
