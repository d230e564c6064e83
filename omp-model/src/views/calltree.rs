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

/// The most nodes of a call tree. Nobody reads more, and each takes a kilobyte until it is drawn.
pub const MOST_NODES: usize = 1 << 17;

/// The nodes of a call tree in preorder: a node's children follow it, siblings in the requested order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CallTree {
    /// The nodes; the largest if there are more than [`MOST_NODES`].
    pub rows: Vec<TreeRow>,
    /// How many are left out.
    pub left_out: usize,
    /// None of these has more than this share of the whole by any metric, 0 to 1.
    pub smaller: f64,
}

/// The call tree with recursion folded, in preorder: a node's children follow it, siblings in the requested order. An
/// exclusive order uses attributed time, which is what the tree shows.
pub fn calltree(profile: &Profile, names: &Names<'_>, request: &Request) -> CallTree {
    let tree = functions::folded_tree(profile, names, request);
    let jumps = names.symbols.jumps.iter().flat_map(|jump| &jump.frames);
    let jumps: FxHashSet<FrameId> = jumps
        .copied()
        .filter(|jump| *jump != FrameId::NONE)
        .collect();
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
) -> CallTree {
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

    let share = |node: NodeId| {
        let parts = tree.below(node).iter().zip(tree.total());
        let shares = parts.map(|(part, whole)| if *whole > 0.0 { part / whole } else { 0.0 });
        shares.fold(0.0, f64::max)
    };
    let too_many = tree.len().saturating_sub(MOST_NODES);
    let smaller = (too_many > 0).then(|| {
        let mut shares: Vec<f64> = (0..tree.len() as NodeId).map(share).collect();
        *shares
            .select_nth_unstable_by(too_many - 1, f64::total_cmp)
            .1
    });
    // No node has less than those below it.
    let is_shown = |node: NodeId| smaller.is_none_or(|smaller| share(node) > smaller);

    let mut rows = Vec::with_capacity(tree.len() - too_many);
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
        children.retain(|&child| is_shown(child));
        children.sort_by(|&left, &right| order(request, fields(left), fields(right)));
        let children = children.into_iter().rev().enumerate();
        pending.extend(children.map(|(from_last, child)| (child, depth + 1, from_last == 0)));
    }
    CallTree {
        // Without a bound, nodes that are no rows are those without time that folding leaves.
        left_out: smaller.map_or(0, |_| tree.len() - rows.len()),
        rows,
        smaller: smaller.unwrap_or(0.0),
    }
}
