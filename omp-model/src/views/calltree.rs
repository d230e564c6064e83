//! The tree of calls from `<Total>` down.

use std::hash::Hash;

use experiment::ids::FrameId;
use rustc_hash::FxHashSet;

use super::names::Names;
use super::tree::{NodeId, Tree};
use super::{Code, Marks, Request, Seconds, SortFields, TOTAL, functions, order};
use crate::profile::Profile;

/// A node of the call tree.
#[derive(Clone, Debug, PartialEq)]
pub struct TreeRow {
    /// 0 for `<Total>`.
    pub depth: u32,
    /// Whether it is the last of its siblings.
    pub last: bool,
    /// The name shown.
    pub name: String,
    /// Its code, if it has any.
    pub code: Option<Code>,
    /// No sample shows it, because it ended in a jump: the machine code of the calls tells it.
    pub restored: bool,
    /// Time at the node itself.
    pub exclusive: Seconds,
    /// Time at the node and below it.
    pub attributed: Seconds,
    /// How it came to be on its stacks.
    pub marks: Marks,
}

/// The call tree with recursion folded, in preorder: a node's children follow it, siblings in the requested order. An
/// exclusive order uses attributed time, which is what the tree shows.
pub fn calltree(profile: &Profile, names: &Names<'_>, request: &Request) -> Vec<TreeRow> {
    let tree = functions::folded_tree(profile, names, request);
    let jumps = names.symbols.jumps.iter().flat_map(|jump| &jump.frames);
    let jumps: FxHashSet<FrameId> = jumps.copied().collect();
    let restored = tree.all_satisfy(profile, |path| jumps.contains(&path.frame.frame));
    rows(&tree, request, &restored, |&callee| {
        (names.name(callee), names.code(callee))
    })
}

/// The rows of a tree; `describe` gives a group's name and code, and `restored` by node whether all
/// its functions were restored.
pub(super) fn rows<K: Copy + Eq + Hash>(
    tree: &Tree<K>,
    request: &Request,
    restored: &[bool],
    describe: impl Fn(&K) -> (String, Option<Code>),
) -> Vec<TreeRow> {
    let groups: Vec<(String, Option<Code>)> = tree.groups.iter().map(describe).collect();
    let group = |node: NodeId| groups.get(tree.group(node) as usize);
    let name = |node: NodeId| group(node).map(|(name, _)| name);
    let code = |node: NodeId| group(node).and_then(|(_, code)| *code);
    let fields = |node: NodeId| SortFields {
        name: name(node).map_or(TOTAL, String::as_str),
        code: code(node),
        exclusive: tree.below(node),
        inclusive: tree.below(node),
    };

    let mut rows = Vec::with_capacity(tree.len());
    let mut pending = vec![(0, 0, true)];
    while let Some((node, depth, last)) = pending.pop() {
        rows.push(TreeRow {
            depth,
            last,
            name: name(node).map_or_else(|| TOTAL.to_owned(), String::clone),
            code: code(node),
            restored: restored.get(node as usize) == Some(&true),
            exclusive: tree.own(node).into(),
            attributed: tree.below(node).into(),
            marks: tree.marks(node),
        });
        let mut children = tree.children(node).to_vec();
        children.sort_by(|&left, &right| order(request, fields(left), fields(right)));
        let children = children.into_iter().rev().enumerate();
        pending.extend(children.map(|(from_last, child)| (child, depth + 1, from_last == 0)));
    }
    rows
}
