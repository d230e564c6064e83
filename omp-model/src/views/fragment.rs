//! The callers and callees of a piece of a stack: functions that call each other directly.
//!
//! As with single functions, a stack that holds the piece more than once counts where it holds it
//! innermost, so that callers add up to the whole, and the last function's own time and its
//! callees do too.

use std::hash::Hash;

use rustc_hash::FxHashMap;

use super::functions;
use super::names::Names;
use super::neighbours::{Neighbour, sort_neighbours};
use super::tree::{self, GroupId, NodeId, Tree};
use super::{Code, Request, Seconds, TOTAL};
use crate::profile::{Callee, Profile};

/// A piece of a stack between its callers and callees.
#[derive(Clone, Debug, PartialEq)]
pub struct Piece {
    /// Who calls its first function.
    pub callers: Vec<Neighbour>,
    /// What its last function calls.
    pub callees: Vec<Neighbour>,
    /// Time at its last function itself.
    pub own: Seconds,
    /// Time of all stacks that hold it.
    pub whole: Seconds,
}

/// A function as lists show it.
pub type Shown = (String, Option<Code>);

/// The piece's callers and callees. `functions`: callers first, as lists show them.
pub fn piece(
    profile: &Profile,
    names: &Names<'_>,
    request: &Request,
    functions: &[Shown],
) -> Piece {
    let tree = functions::tree(profile, names, request);
    let shown = |callee: &Callee| (names.name(*callee), names.code(*callee));
    piece_of(&tree, request, functions, shown)
}

/// The same of a tree; `describe` tells what a group is called, and its code.
pub(super) fn piece_of<K: Copy + Eq + Hash>(
    tree: &Tree<K>,
    request: &Request,
    functions: &[Shown],
    describe: impl Fn(&K) -> Shown,
) -> Piece {
    let groups: Vec<Shown> = tree.groups.iter().map(describe).collect();
    let wanted: Vec<Option<GroupId>> = functions
        .iter()
        .map(|function| {
            let found = groups.iter().position(|group| group == function);
            found.map(|at| at as GroupId)
        })
        .collect();
    let mut sums = Sums::new(tree, &wanted);
    sums.count();
    let neighbour = |(group, attributed): (GroupId, Seconds)| {
        let shown = groups.get(group as usize).cloned();
        let (name, code) = shown.unwrap_or_else(|| (TOTAL.to_owned(), None));
        Neighbour {
            name,
            code,
            attributed,
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
    /// Where the piece begins that ends at a node; `None`: none ends there.
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
        // Time below each node that no piece further in has.
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
