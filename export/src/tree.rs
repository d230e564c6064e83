//! A profile's stacks as a tree of functions.

use omp_model::profile::{Item, PathId, Profile};
use rustc_hash::FxHashMap;

use crate::functions::{FunctionNumber, Functions};

/// The tree: node 0 is the root, and a node's callers precede it.
pub(crate) struct Tree {
    nodes: Vec<Node>,
    of_path: Vec<u32>,
}

/// A function on a stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Node {
    /// The node of its callers.
    pub(crate) callers: u32,
    pub(crate) function: FunctionNumber,
}

impl Tree {
    /// Frames of a function at different addresses are one node.
    pub(crate) fn new(profile: &Profile, functions: &mut Functions<'_>) -> Tree {
        let unknown = functions.unknown();
        let root = Node {
            callers: 0,
            function: unknown,
        };
        let mut tree = Tree {
            // Time without a stack stands below the root, too.
            nodes: vec![root, root],
            of_path: vec![1],
        };
        let mut known = FxHashMap::from_iter([(root, 1)]);
        for path in profile.paths.rows().iter().skip(1) {
            let node = Node {
                callers: match path.callers {
                    PathId::EMPTY => 0,
                    callers => tree.of_path[callers.0 as usize],
                },
                function: functions.number(path.frame.callee),
            };
            let at = *known.entry(node).or_insert_with(|| {
                tree.nodes.push(node);
                tree.nodes.len() as u32 - 1
            });
            tree.of_path.push(at);
        }
        tree
    }

    /// The node of a stack.
    pub(crate) fn node_of(&self, path: PathId) -> u32 {
        self.of_path[path.0 as usize]
    }

    pub(crate) fn len(&self) -> usize {
        self.nodes.len()
    }

    pub(crate) fn get(&self, node: u32) -> Node {
        self.nodes[node as usize]
    }

    /// By node: the sum of a value over the items at it.
    pub(crate) fn sums(&self, profile: &Profile, value: impl Fn(&Item) -> f64) -> Vec<f64> {
        let mut sums = vec![0.0; self.nodes.len()];
        for item in &profile.items {
            sums[self.node_of(item.path) as usize] += value(item);
        }
        sums
    }

    /// Adds each node's sum to those of its callers.
    pub(crate) fn add_up(&self, sums: &mut [f64]) {
        for at in (1..self.nodes.len()).rev() {
            sums[self.nodes[at].callers as usize] += sums[at];
        }
    }

    /// The nodes below the root in preorder, callees of a function by their names, with their depths from 1.
    pub(crate) fn preorder(&self, functions: &Functions<'_>) -> Vec<(u32, u32)> {
        let mut callees: Vec<Vec<u32>> = vec![Vec::new(); self.nodes.len()];
        for (at, node) in self.nodes.iter().enumerate().skip(1) {
            callees[node.callers as usize].push(at as u32);
        }
        let name = |node: &u32| functions.get(self.get(*node).function).name.as_str();
        for callees in &mut callees {
            callees.sort_by(|left, right| name(left).cmp(name(right)));
        }
        let mut order = Vec::with_capacity(self.nodes.len() - 1);
        let mut pending = vec![(0, 0)];
        while let Some((node, depth)) = pending.pop() {
            if node != 0 {
                order.push((node, depth));
            }
            let callees = std::mem::take(&mut callees[node as usize]);
            pending.extend(callees.into_iter().rev().map(|callee| (callee, depth + 1)));
        }
        order
    }
}
