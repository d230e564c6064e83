//! The way from a construct's body to the leaf of the last stack that was rewritten: of the next
//! one, which as a rule differs by its innermost frames, only those are new.

use super::frames::Facts;
use super::walk::{Role, Walk};
use crate::ids::StackId;
use crate::profile::PathId;

/// The last way.
#[derive(Default)]
pub(super) struct Trail {
    /// The path that it began at, and how many nodes lie outward of there.
    start: Option<(PathId, usize)>,
    /// Nodes of the stack, outermost first.
    nodes: Vec<(StackId, Role)>,
    /// The paths that were made on it, each with the number of nodes that it is of.
    steps: Vec<(usize, PathId)>,
}

impl Trail {
    /// Goes on another way from a path, inward of node `inner`, as far as the last one leads:
    /// returns the path there and the node that it begins at, not inward of `stop`.
    pub(super) fn follow(
        &mut self,
        facts: &Facts<'_>,
        walk: &Walk,
        (path, inner): (PathId, usize),
        stop: usize,
    ) -> (PathId, usize) {
        let count = walk.nodes.len();
        let start = (path, count - inner);
        if self.start != Some(start) {
            self.start = Some(start);
            self.nodes.clear();
            self.steps.clear();
        }
        // What is of the start itself is the same, if its path is.
        let outward = walk.nodes.iter().rev().map(|node| (node.stack, node.role));
        let known = self.nodes.iter().skip(start.1);
        let own = outward.clone().skip(start.1);
        let alike = own.zip(known).take_while(|(own, known)| own == *known);
        let alike = start.1 + alike.count();
        self.nodes.truncate(alike);
        self.nodes.extend(outward.skip(self.nodes.len()));
        while let Some(&(depth, path)) = self.steps.last() {
            // What lies inward of a step may belong to it on this stack.
            if depth <= alike && depth + stop <= count {
                let inner = count - depth;
                if facts.first_part(walk, inner) == inner {
                    return (path, inner);
                }
            }
            self.steps.pop();
        }
        (path, inner)
    }

    /// Notes the path that was made of the nodes from `inner` outward.
    pub(super) fn step(&mut self, walk: &Walk, inner: usize, path: PathId) {
        self.steps.push((walk.nodes.len() - inner, path));
    }
}
