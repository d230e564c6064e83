//! The boxes of a flame graph: rows of the call tree, as wide as their time.

use crate::change::Change;
use crate::tree::Tree;

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

/// The boxes of a subtree in preorder, by the time in a column; without those narrower than `least`
/// of the whole width.
pub fn flames(tree: &Tree, root: usize, column: usize, least: f64) -> Vec<Flame> {
    let time = |row: usize| tree.time(row, column);
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

/// A sentence with what each experiment has at a row in a column, and the differences to the first one.
pub fn sentence(tree: &Tree, row: usize, column: usize) -> String {
    let (sides, name) = (tree.sides(row, column), tree.label(row));
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
