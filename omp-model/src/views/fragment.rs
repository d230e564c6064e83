//! The callers and callees of a piece of a stack: a sequence of functions that call each other
//! directly.
//!
//! As with single functions, a stack that contains the piece more than once counts at the innermost
//! one. So the callers add up to the whole time, as do the last function's own time and its
//! callees.

use std::hash::Hash;

use rustc_hash::FxHashMap;

use super::functions;
use super::names::Names;
use super::neighbours::{Neighbour, sort_neighbours};
use super::tree::{self, GroupId, NodeId, Tree};
use super::{Code, Request, Seconds, TOTAL};
use crate::profile::{Callee, Profile};

/// A piece of a stack with its callers and callees.
#[derive(Clone, Debug, PartialEq)]
pub struct Piece {
    /// Callers of its first function.
    pub callers: Vec<Neighbour>,
    /// Callees of its last function.
    pub callees: Vec<Neighbour>,
    /// Time at its last function, without callees.
    pub own: Seconds,
    /// Time of all stacks that contain it.
    pub whole: Seconds,
}

/// A function as lists show it: name and code.
pub type NamedCode = (String, Option<Code>);

/// A piece with its callers and callees. `functions` are given callers first, as lists show them.
pub fn piece(
    profile: &Profile,
    names: &Names<'_>,
    request: &Request,
    functions: &[NamedCode],
) -> Piece {
    let tree = functions::tree(profile, names, request);
    let describe = |callee: &Callee| (names.name(*callee), names.code(*callee));
    piece_of(&tree, request, functions, describe)
}

/// A piece of a tree with its callers and callees; `describe` gives a group's name and code.
pub(super) fn piece_of<K: Copy + Eq + Hash>(
    tree: &Tree<K>,
    request: &Request,
    functions: &[NamedCode],
    describe: impl Fn(&K) -> NamedCode,
) -> Piece {
    let groups: Vec<NamedCode> = tree.groups.iter().map(describe).collect();
    let wanted: Vec<Option<GroupId>> = functions
        .iter()
        .map(|function| {
            let found = groups.iter().position(|group| group == function);
            found.map(|at| at as GroupId)
        })
        .collect();
    let marks = tree.group_marks();
    let mut sums = Sums::new(tree, &wanted);
    sums.count();
    let neighbour = |(group, attributed): (GroupId, Seconds)| {
        let known = groups.get(group as usize).cloned();
        let (name, code) = known.unwrap_or_else(|| (TOTAL.to_owned(), None));
        Neighbour {
            name,
            code,
            attributed,
            marks: marks.get(group as usize).copied().unwrap_or_default(),
        }
    };
    let mut piece = Piece {
        callers: sums.callers.into_iter().map(neighbour).collect(),
        callees: sums.callees.into_iter().map(neighbour).collect(),
        own: sums.own,
        whole: sums.whole,
    };
    sort_neighbours(&mut piece.callers, request);
    sort_neighbours(&mut piece.callees, request);
    piece
}

struct Sums<'a, K> {
    tree: &'a Tree<K>,
    /// By node: the first node of the piece that ends there, if one does.
    begins: Vec<Option<NodeId>>,
    callers: FxHashMap<GroupId, Seconds>,
    callees: FxHashMap<GroupId, Seconds>,
    own: Seconds,
    whole: Seconds,
}

impl<'a, K: Copy + Eq + Hash> Sums<'a, K> {
    fn new(tree: &'a Tree<K>, wanted: &[Option<GroupId>]) -> Sums<'a, K> {
        let begin = |node: NodeId| {
            let mut at = node;
            for (from_last, group) in wanted.iter().rev().enumerate() {
                if from_last > 0 {
                    at = tree.parent(at);
                }
                if at == 0 || Some(tree.group(at)) != *group {
                    return None;
                }
            }
            (!wanted.is_empty()).then_some(at)
        };
        let zero = || Seconds::from(vec![0.0; tree.width()]);
        Sums {
            tree,
            begins: (0..tree.len() as NodeId).map(begin).collect(),
            callers: FxHashMap::default(),
            callees: FxHashMap::default(),
            own: zero(),
            whole: zero(),
        }
    }

    fn count(&mut self) {
        let tree = self.tree;
        // Time at and below each node, without that of pieces that end further in.
        let mut reaching: Vec<Seconds> = (0..tree.len() as NodeId)
            .map(|node| tree.own(node).into())
            .collect();
        let zero = || Seconds::from(vec![0.0; tree.width()]);
        for node in (1..tree.len() as NodeId).rev() {
            let below = std::mem::take(&mut reaching[node as usize]);
            let parent = tree.parent(node);
            if self.begins[parent as usize].is_some() {
                let callee = self.callees.entry(tree.group(node)).or_insert_with(zero);
                if self.begins[node as usize].is_none() {
                    tree::add(callee, &below);
                }
            }
            match self.begins[node as usize] {
                Some(begin) => {
                    tree::add(&mut self.own, tree.own(node));
                    tree::add(&mut self.whole, &below);
                    let caller = tree.group(tree.parent(begin));
                    tree::add(self.callers.entry(caller).or_insert_with(zero), &below);
                }
                None => tree::add(&mut reaching[parent as usize], &below),
            }
        }
    }
}
