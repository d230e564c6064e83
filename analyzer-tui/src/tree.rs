//! The call tree as rows, and the ways about in it.

use std::hash::{Hash, Hasher};

use omp_model::views::{Seconds, calltree};
use rustc_hash::FxHasher;

/// A call tree in preorder, with what moving about in it needs.
#[derive(Debug)]
pub struct Tree {
    /// The rows.
    pub rows: Vec<calltree::TreeRow>,
    /// Of each row, what it and its callers are called: the same in another mode or order.
    pub keys: Vec<u64>,
    /// The row above; of the root itself.
    pub parents: Vec<usize>,
    /// The end of what is below each row.
    pub ends: Vec<usize>,
    /// If experiments are compared, what each has at each row; the row itself has their sum.
    pub sides: Vec<Vec<Option<Seconds>>>,
}

impl Tree {
    pub(crate) fn new(rows: Vec<calltree::TreeRow>) -> Tree {
        let mut keys: Vec<u64> = Vec::with_capacity(rows.len());
        let mut parents = Vec::with_capacity(rows.len());
        let mut ends = vec![rows.len(); rows.len()];
        let mut path: Vec<usize> = Vec::new();
        for (at, row) in rows.iter().enumerate() {
            for left in path.drain((row.depth as usize).min(path.len())..) {
                ends[left] = at;
            }
            let parent = path.last().copied().unwrap_or(0);
            let above = keys.get(parent).copied().unwrap_or(0);
            keys.push(key(above, &row.name));
            parents.push(parent);
            path.push(at);
        }
        Tree {
            rows,
            keys,
            parents,
            ends,
            sides: Vec::new(),
        }
    }

    /// The rows right below one, in order.
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

    /// The row with a key.
    pub fn find(&self, key: u64) -> Option<usize> {
        self.keys.iter().position(|&known| known == key)
    }

    /// The names of a row and its callers, from the root down.
    pub fn names(&self, row: usize) -> Vec<String> {
        let mut names = Vec::new();
        let mut at = row;
        while let Some(row) = self.rows.get(at) {
            names.push(row.name.clone());
            if at == 0 {
                break;
            }
            at = self.parents[at];
        }
        names.reverse();
        names
    }

    /// The row that stands for one of another tree, of which these are the names from the root
    /// down: that of the same path, else the longest one of the same name by a metric, else that
    /// of its nearest caller.
    pub fn counterpart(&self, names: &[String], metric: usize) -> usize {
        let key = names.iter().fold(0, |above, name| key(above, name));
        if let Some(same) = self.find(key) {
            return same;
        }
        let time = |at: usize| self.rows[at].attributed.get(metric).copied().unwrap_or(0.0);
        let found = names.iter().rev().find_map(|name| {
            let alike = (0..self.rows.len()).filter(|&at| self.rows[at].name == *name);
            alike.max_by(|&left, &right| time(left).total_cmp(&time(right)).then(right.cmp(&left)))
        });
        found.unwrap_or(0)
    }
}

/// The key of a row by that of its caller.
fn key(above: u64, name: &str) -> u64 {
    let mut hasher = FxHasher::default();
    above.hash(&mut hasher);
    name.hash(&mut hasher);
    hasher.finish()
}
