//! The list of functions, and the sums by group that the list of lines shares.

use std::hash::Hash;

use super::names::Names;
use super::tree::{self, Tree};
use super::{Code, ListRow, Marks, Request, Seconds, TOTAL, sort_rows};
use crate::profile::{Callee, Profile};
use crate::states::Pseudo;

/// A list of rows with their total.
#[derive(Clone, Debug, PartialEq)]
pub struct List {
    /// The row of all time: exclusive and inclusive time are equal.
    pub total: ListRow,
    /// The rows, in the requested order.
    pub rows: Vec<ListRow>,
}

/// The profile's stacks merged by function.
pub fn tree(profile: &Profile, names: &Names<'_>, request: &Request) -> Tree<Callee> {
    let mut canonical = names.canonical();
    Tree::new(profile, &request.metrics, UNKNOWN, |path| {
        canonical.of(path.frame.callee)
    })
}

/// The same with recursion folded.
pub fn folded_tree(profile: &Profile, names: &Names<'_>, request: &Request) -> Tree<Callee> {
    let mut canonical = names.canonical();
    Tree::folded(profile, &request.metrics, UNKNOWN, |path| {
        canonical.of(path.frame.callee)
    })
}

/// The row of time without a stack.
const UNKNOWN: Callee = Callee::Pseudo(Pseudo::Unknown);

/// The list of functions.
pub fn functions(profile: &Profile, names: &Names<'_>, request: &Request) -> List {
    let tree = tree(profile, names, request);
    list(&tree, request, |&callee| {
        (names.name(callee), names.code(callee))
    })
}

/// A row for each group of a tree; `describe` gives a group's name and code.
pub(super) fn list<K: Copy + Eq + Hash>(
    tree: &Tree<K>,
    request: &Request,
    describe: impl Fn(&K) -> (String, Option<Code>),
) -> List {
    let mut rows: Vec<ListRow> = Sums::new(tree)
        .zip(tree)
        .zip(tree.group_marks())
        .map(|((group, exclusive, inclusive), marks)| {
            let (name, code) = describe(group);
            ListRow {
                name,
                code,
                exclusive,
                inclusive,
                marks,
            }
        })
        .collect();
    sort_rows(&mut rows, request);
    List {
        total: total_row(tree),
        rows,
    }
}

/// The row of all time.
pub(super) fn total_row<K: Copy + Eq + Hash>(tree: &Tree<K>) -> ListRow {
    ListRow {
        name: TOTAL.to_owned(),
        code: None,
        exclusive: tree.total().into(),
        inclusive: tree.total().into(),
        marks: Marks::default(),
    }
}

/// Exclusive and inclusive time by group.
pub(super) struct Sums {
    pub(super) exclusive: Vec<Seconds>,
    pub(super) inclusive: Vec<Seconds>,
}

impl Sums {
    /// Inclusive time counts each sample once, however often a recursion has its function on the
    /// stack: only outermost calls add the time below them.
    pub(super) fn new<K: Copy + Eq + Hash>(tree: &Tree<K>) -> Sums {
        let zero = || vec![Seconds::from(vec![0.0; tree.width()]); tree.groups.len()];
        let mut sums = Sums {
            exclusive: zero(),
            inclusive: zero(),
        };
        tree.walk(|node, recursion| {
            let group = tree.group(node) as usize;
            tree::add(&mut sums.exclusive[group], tree.own(node));
            if recursion.is_none() {
                tree::add(&mut sums.inclusive[group], tree.below(node));
            }
        });
        sums
    }

    /// Each group with its exclusive and inclusive sums.
    pub(super) fn zip<K>(self, tree: &Tree<K>) -> impl Iterator<Item = (&K, Seconds, Seconds)> {
        let sums = self.exclusive.into_iter().zip(self.inclusive);
        tree.groups
            .iter()
            .zip(sums)
            .map(|(group, (exclusive, inclusive))| (group, exclusive, inclusive))
    }
}
