//! A flame graph's boxes: rows of the call tree as wide as their time, callees under their callers.

use crate::change::Change;
use crate::tree::Tree;

/// A box.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Flame {
    /// The row of the tree.
    pub row: usize,
    /// How far below the graph's root.
    pub depth: usize,
    /// Where it begins, 0 to 1 of the whole width.
    pub start: f64,
    /// Where it ends.
    pub end: f64,
}

/// The boxes of everything below a row that is at least `least` of the width, in preorder.
pub fn flames(tree: &Tree, root: usize, metric: usize, least: f64) -> Vec<Flame> {
    let time = |row: usize| {
        let row = tree.rows.get(row);
        row.and_then(|row| row.attributed.get(metric))
            .copied()
            .unwrap_or(0.0)
    };
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

/// What each of the experiments that are compared has at a row.
pub fn sides(tree: &Tree, row: usize, metric: usize) -> Vec<f64> {
    let sides = tree.sides.get(row).map_or(&[][..], Vec::as_slice);
    let seconds = |side: &Option<_>| -> f64 {
        let seconds: Option<&omp_model::views::Seconds> = side.as_ref();
        seconds
            .and_then(|all| all.get(metric))
            .copied()
            .unwrap_or(0.0)
    };
    sides.iter().map(seconds).collect()
}

/// How the other experiments differ from the first one at a row.
pub fn change(tree: &Tree, row: usize, metric: usize) -> Change {
    Change::of(&sides(tree, row, metric))
}

impl Flame {
    /// The cells that it takes of a width; none if it is too narrow for one.
    pub fn cells(&self, width: u16) -> std::ops::Range<u16> {
        let edge = |at: f64| (at * f64::from(width)).round() as u16;
        edge(self.start)..edge(self.end)
    }
}
