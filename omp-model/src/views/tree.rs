//! Display stacks merged by a view's grouping key, with time summed at each node.

use std::hash::Hash;

use rustc_hash::FxHashMap;

use crate::metrics::Metric;
use crate::profile::{FrameKind, Item, Path, PathId, Profile};

use super::Marks;

/// A node of a [`Tree`].
pub type NodeId = u32;

/// A group of a [`Tree`]: index into [`Tree::groups`].
pub type GroupId = u32;

/// The group of the root, `<Total>`.
pub const NO_GROUP: GroupId = GroupId::MAX;

/// A prefix tree of groups, with the time at and below each node. Parents come before their
/// children; node 0 is the root.
///
/// Times have twice as many values as metrics: seconds by metric, then, in the same order, the
/// seconds among them of which no sample shows where they stand.
#[derive(Clone, Debug)]
pub struct Tree<K> {
    /// The keys that paths were merged by.
    pub groups: Vec<K>,
    nodes: Vec<Node>,
    /// By path: its node.
    node_of: Vec<NodeId>,
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
    /// Whether one of its frames stands there by a call, not by inlining.
    called: bool,
    /// Whether it begins frames that repeat on the stack, which stand here once.
    recursive: bool,
    /// Whether it or a node below it has time of any kind.
    timed: bool,
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
        Tree::build(profile, metrics, pathless, false, |path| Some(group(path)))
    }

    /// The same with recursion folded: where a sequence of frames repeats directly behind itself
    /// (`a a`, `a b a b`), it stands once. Every frame of a stack keeps a node on its path, so a
    /// group has the same inclusive time in the folded tree.
    pub fn folded(
        profile: &Profile,
        metrics: &[Metric],
        pathless: K,
        mut group: impl FnMut(&Path) -> K,
    ) -> Tree<K> {
        Tree::build(profile, metrics, pathless, true, |path| Some(group(path)))
    }

    /// The same; a frame for which `group` has none is its caller's.
    pub fn of_some(
        profile: &Profile,
        metrics: &[Metric],
        pathless: K,
        group: impl FnMut(&Path) -> Option<K>,
    ) -> Tree<K> {
        Tree::build(profile, metrics, pathless, false, group)
    }

    fn build(
        profile: &Profile,
        metrics: &[Metric],
        pathless: K,
        fold: bool,
        mut group: impl FnMut(&Path) -> Option<K>,
    ) -> Tree<K> {
        let mut merge = Merge {
            fold,
            ..Merge::default()
        };
        let mut node_of = Vec::with_capacity(profile.paths.len());
        node_of.push(0);
        for path in profile.paths.rows().iter().skip(1) {
            // Interning a path needs the id of its callers, so they precede it.
            let parent = node_of[path.callers.0 as usize];
            let node = group(path).map_or(parent, |group| merge.node(parent, group));
            merge.nodes[node as usize].called |= path.frame.kind == FrameKind::Called;
            node_of.push(node);
        }
        let stands_nowhere = |item: &Item| item.path == PathId::EMPTY && item.is_some();
        if profile.items.iter().any(stands_nowhere) {
            node_of[0] = merge.node(0, pathless);
            merge.nodes[node_of[0] as usize].called = true;
        }

        let Merge {
            mut nodes, groups, ..
        } = merge;
        let width = 2 * metrics.len();
        let mut own = vec![0.0; nodes.len() * width];
        for item in &profile.items {
            let node = node_of[item.path.0 as usize] as usize;
            nodes[node].timed = true;
            let (all, inferred) = own[node * width..][..width].split_at_mut(metrics.len());
            add_item(all, item, metrics);
            if item.inferred {
                add_item(inferred, item, metrics);
            }
        }
        for node in (1..nodes.len()).rev() {
            let parent = nodes[node].parent as usize;
            nodes[parent].timed |= nodes[node].timed;
        }
        let mut tree = Tree {
            groups,
            nodes,
            node_of,
            width,
            below: own.clone(),
            own,
            child_starts: Vec::new(),
            child_ids: Vec::new(),
        };
        tree.sum_up();
        tree.list_children(fold);
        tree
    }

    /// By node: whether it has paths of the profile, and all of them satisfy a condition.
    pub fn all_satisfy(&self, profile: &Profile, condition: impl Fn(&Path) -> bool) -> Vec<bool> {
        let mut has = vec![(false, true); self.nodes.len()];
        for (path, &node) in profile.paths.rows().iter().zip(&self.node_of).skip(1) {
            let (some, all) = &mut has[node as usize];
            *some = true;
            *all &= condition(path);
        }
        has.into_iter().map(|(some, all)| some && all).collect()
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

    /// Folding leaves nodes without time, where a repetition began that was folded later.
    fn list_children(&mut self, fold: bool) {
        let is_child = |node: &Node| node.timed || !fold;
        let mut starts = vec![0_u32; self.nodes.len() + 1];
        for node in self.nodes[1..].iter().filter(|node| is_child(node)) {
            starts[node.parent as usize + 1] += 1;
        }
        for at in 1..starts.len() {
            starts[at] += starts[at - 1];
        }
        let mut next = starts.clone();
        let mut ids = vec![0; starts[self.nodes.len()] as usize];
        let children = self.nodes.iter().enumerate().skip(1);
        for (id, node) in children.filter(|(_, node)| is_child(node)) {
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

    /// The number of values of a node: two for each metric.
    pub fn width(&self) -> usize {
        self.width
    }

    /// The marks of a node.
    pub fn marks(&self, node: NodeId) -> Marks {
        let Node {
            called, recursive, ..
        } = self.nodes[node as usize];
        Marks {
            inlined: node != 0 && !called,
            recursive,
        }
    }

    /// The marks of each group.
    pub fn group_marks(&self) -> Vec<Marks> {
        let mut marks = vec![
            Marks {
                inlined: true,
                recursive: false
            };
            self.groups.len()
        ];
        for node in &self.nodes[1..] {
            marks[node.group as usize].inlined &= !node.called;
        }
        marks
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
        *sum += metric.value(item);
    }
}

struct Merge<K> {
    /// Whether recursion is folded.
    fold: bool,
    nodes: Vec<Node>,
    /// By a node and the group of a frame that it calls: the frame's node.
    node_index: FxHashMap<(NodeId, GroupId), NodeId>,
    groups: Vec<K>,
    group_index: FxHashMap<K, GroupId>,
}

impl<K> Default for Merge<K> {
    fn default() -> Self {
        Merge {
            fold: false,
            nodes: vec![Node::new(0, NO_GROUP)],
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
        if let Some(&known) = self.node_index.get(&(parent, group)) {
            return known;
        }
        let repetition = self.fold.then(|| self.repetition(parent, group));
        let node = match repetition.flatten() {
            Some((node, begin)) => {
                self.nodes[begin as usize].recursive = true;
                node
            }
            None => {
                self.nodes.push(Node::new(parent, group));
                (self.nodes.len() - 1) as NodeId
            }
        };
        self.node_index.insert((parent, group), node);
        node
    }

    /// If the frames that end with `group` under `leaf` repeat those before them: the last node of
    /// those before, and their first. The shortest such sequence counts.
    fn repetition(&self, leaf: NodeId, group: GroupId) -> Option<(NodeId, NodeId)> {
        let node = |at: NodeId| self.nodes[at as usize];
        let mut last = leaf;
        // Frames behind `last`, besides the new one.
        let mut behind = 0;
        while last != 0 {
            if node(last).group == group {
                let (mut begin, mut later) = (last, leaf);
                let mut left = behind;
                while left > 0 {
                    begin = node(begin).parent;
                    if begin == 0 || node(begin).group != node(later).group {
                        break;
                    }
                    later = node(later).parent;
                    left -= 1;
                }
                if left == 0 {
                    return Some((last, begin));
                }
            }
            last = node(last).parent;
            behind += 1;
        }
        None
    }
}

impl Node {
    const fn new(parent: NodeId, group: GroupId) -> Node {
        Node {
            parent,
            group,
            called: false,
            recursive: false,
            timed: false,
        }
    }
}
