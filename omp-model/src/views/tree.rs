//! Display stacks merged by a view's grouping key, with time summed at each node.

use std::hash::Hash;

use rustc_hash::FxHashMap;

use crate::metrics::Metric;
use crate::profile::{Item, Path, PathId, Profile};

/// A node of a [`Tree`].
pub type NodeId = u32;

/// A group of a [`Tree`]: index into [`Tree::groups`].
pub type GroupId = u32;

/// The group of the root, `<Total>`.
pub const NO_GROUP: GroupId = GroupId::MAX;

/// A prefix tree of groups, with the time at and below each node. Parents come before their
/// children; node 0 is the root.
#[derive(Clone, Debug)]
pub struct Tree<K> {
    /// The keys that paths were merged by.
    pub groups: Vec<K>,
    nodes: Vec<Node>,
    width: usize,
    own: Vec<f64>,
    below: Vec<f64>,
    child_starts: Vec<u32>,
    child_ids: Vec<NodeId>,
}

#[derive(Clone, Copy, Debug)]
struct Node {
    parent: NodeId,
    group: GroupId,
}

impl<K: Copy + Eq + Hash> Tree<K> {
    /// Merges the profile's paths by `group` and sums its items' time by `metrics`. Time at the
    /// empty path goes into the group `pathless` under the root.
    ///
    /// Linear in paths plus items; no item's stack is walked.
    pub fn new(
        profile: &Profile,
        metrics: &[Metric],
        pathless: K,
        mut group: impl FnMut(&Path) -> K,
    ) -> Tree<K> {
        let mut merge = Merge::default();
        let mut node_of = Vec::with_capacity(profile.paths.len());
        node_of.push(0);
        for path in profile.paths.rows().iter().skip(1) {
            // Interning a path needs the id of its callers, so they precede it.
            let parent = node_of[path.callers.0 as usize];
            node_of.push(merge.node(parent, group(path)));
        }
        let stands_nowhere = |item: &Item| item.path == PathId::EMPTY && item.seconds > 0.0;
        if profile.items.iter().any(stands_nowhere) {
            node_of[0] = merge.node(0, pathless);
        }

        let Merge { nodes, groups, .. } = merge;
        let width = metrics.len();
        let mut own = vec![0.0; nodes.len() * width];
        for item in &profile.items {
            let node = node_of[item.path.0 as usize] as usize;
            add_item(&mut own[node * width..][..width], item, metrics);
        }
        let mut tree = Tree {
            groups,
            nodes,
            width,
            below: own.clone(),
            own,
            child_starts: Vec::new(),
            child_ids: Vec::new(),
        };
        tree.sum_up();
        tree.list_children();
        tree
    }

    fn sum_up(&mut self) {
        for node in (1..self.nodes.len()).rev() {
            let parent = self.nodes[node].parent as usize;
            let (above, from) = self.below.split_at_mut(node * self.width);
            add(
                &mut above[parent * self.width..][..self.width],
                &from[..self.width],
            );
        }
    }

    fn list_children(&mut self) {
        let mut starts = vec![0_u32; self.nodes.len() + 1];
        for node in &self.nodes[1..] {
            starts[node.parent as usize + 1] += 1;
        }
        for at in 1..starts.len() {
            starts[at] += starts[at - 1];
        }
        let mut next = starts.clone();
        let mut ids = vec![0; self.nodes.len() - 1];
        for (id, node) in self.nodes.iter().enumerate().skip(1) {
            let at = &mut next[node.parent as usize];
            ids[*at as usize] = id as NodeId;
            *at += 1;
        }
        self.child_starts = starts;
        self.child_ids = ids;
    }

    /// The group of a node; [`NO_GROUP`] for the root.
    pub fn group(&self, node: NodeId) -> GroupId {
        self.nodes[node as usize].group
    }

    /// The parent of a node; the root is its own parent.
    pub fn parent(&self, node: NodeId) -> NodeId {
        self.nodes[node as usize].parent
    }

    /// The children of a node, in no particular order.
    pub fn children(&self, node: NodeId) -> &[NodeId] {
        let range = self.child_starts[node as usize]..self.child_starts[node as usize + 1];
        &self.child_ids[range.start as usize..range.end as usize]
    }

    /// Seconds at the node itself.
    pub fn own(&self, node: NodeId) -> &[f64] {
        &self.own[node as usize * self.width..][..self.width]
    }

    /// Seconds at the node and below it.
    pub fn below(&self, node: NodeId) -> &[f64] {
        &self.below[node as usize * self.width..][..self.width]
    }

    /// Seconds of the whole profile.
    pub fn total(&self) -> &[f64] {
        self.below(0)
    }

    /// The number of nodes, the root included.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether there is only the root.
    pub fn is_empty(&self) -> bool {
        self.nodes.len() == 1
    }

    /// The number of metrics summed.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Walks the tree depth first. `enter` is called with each node except the root, and with its
    /// nearest ancestor of the same group: a recursion's inner call with its outer one.
    pub fn walk(&self, mut enter: impl FnMut(NodeId, Option<Recursion>)) {
        let mut innermost: Vec<Vec<(NodeId, usize)>> = vec![Vec::new(); self.groups.len()];
        let mut path: Vec<NodeId> = Vec::new();
        let mut pending: Vec<(NodeId, usize)> = Vec::new();
        pending.extend(self.children(0).iter().rev().map(|&child| (child, 0)));
        while let Some((node, depth)) = pending.pop() {
            for left in path.drain(depth..).rev() {
                innermost[self.group(left) as usize].pop();
            }
            let outer = &mut innermost[self.group(node) as usize];
            let recursion = outer.last().map(|&(outer, at)| Recursion {
                outer,
                toward: path.get(at + 1).copied().unwrap_or(node),
            });
            outer.push((node, depth));
            path.push(node);
            enter(node, recursion);
            pending.extend(
                self.children(node)
                    .iter()
                    .rev()
                    .map(|&child| (child, depth + 1)),
            );
        }
    }
}

/// A node's nearest ancestor of the same group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recursion {
    /// The ancestor.
    pub outer: NodeId,
    /// The ancestor's child on the way to the node; the node itself if it is that child.
    pub toward: NodeId,
}

/// Adds `more` to `sums`, metric by metric.
pub(super) fn add(sums: &mut [f64], more: &[f64]) {
    for (sum, more) in sums.iter_mut().zip(more) {
        *sum += more;
    }
}

/// Adds an item's time to each metric that it counts in.
pub(super) fn add_item(sums: &mut [f64], item: &Item, metrics: &[Metric]) {
    for (sum, metric) in sums.iter_mut().zip(metrics) {
        *sum += metric.seconds(item);
    }
}

struct Merge<K> {
    nodes: Vec<Node>,
    node_index: FxHashMap<(NodeId, GroupId), NodeId>,
    groups: Vec<K>,
    group_index: FxHashMap<K, GroupId>,
}

impl<K> Default for Merge<K> {
    fn default() -> Self {
        Merge {
            nodes: vec![Node {
                parent: 0,
                group: NO_GROUP,
            }],
            node_index: FxHashMap::default(),
            groups: Vec::new(),
            group_index: FxHashMap::default(),
        }
    }
}

impl<K: Copy + Eq + Hash> Merge<K> {
    fn node(&mut self, parent: NodeId, key: K) -> NodeId {
        let group = *self.group_index.entry(key).or_insert_with(|| {
            self.groups.push(key);
            (self.groups.len() - 1) as GroupId
        });
        *self.node_index.entry((parent, group)).or_insert_with(|| {
            self.nodes.push(Node { parent, group });
            (self.nodes.len() - 1) as NodeId
        })
    }
}
