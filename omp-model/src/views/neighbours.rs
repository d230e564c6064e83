//! Callers and callees of each function.
//!
//! In a recursion, time is attributed at the innermost call: to the caller of that call and to its
//! callees, as in Sun's manual ("How Recursion Affects Function-Level Metrics"). So the callers'
//! attributed times add up to the function's inclusive time, as do its exclusive time and its
//! callees' attributed times.

use std::hash::Hash;

use rustc_hash::FxHashMap;

use super::functions::{self, Sums};
use super::names::Names;
use super::tree::{self, GroupId, NodeId, Tree};
use super::{Code, ListRow, Marks, Request, Seconds, SortFields, TOTAL, order};
use crate::profile::Profile;

/// A function with its callers and callees.
#[derive(Clone, Debug, PartialEq)]
pub struct Neighbours {
    /// The function.
    pub row: ListRow,
    /// Its callers, in the requested order.
    pub callers: Vec<Neighbour>,
    /// Its callees, in the requested order.
    pub callees: Vec<Neighbour>,
}

/// A caller or callee.
#[derive(Clone, Debug, PartialEq)]
pub struct Neighbour {
    /// The name shown.
    pub name: String,
    /// Its code, if it has any.
    pub code: Option<Code>,
    /// The part of the function's inclusive time that is attributed to this caller or callee.
    pub attributed: Seconds,
    /// How it came to be on its stacks.
    pub marks: Marks,
}

/// Seconds by (function, neighbour).
type Edges = FxHashMap<(GroupId, GroupId), Seconds>;

/// Every function with its callers and callees, `<Total>` first, then in the order of the list of
/// functions.
pub fn callers_callees(profile: &Profile, names: &Names<'_>, request: &Request) -> Vec<Neighbours> {
    let tree = functions::tree(profile, names, request);
    blocks(&tree, request, |&callee| {
        (names.name(callee), names.code(callee))
    })
}

/// The groups of a tree with their neighbours; `describe` gives a group's name and code.
pub(super) fn blocks<K: Copy + Eq + Hash>(
    tree: &Tree<K>,
    request: &Request,
    describe: impl Fn(&K) -> (String, Option<Code>),
) -> Vec<Neighbours> {
    let (callers, callees) = edges(tree);
    let mut blocks: Vec<Neighbours> = Vec::with_capacity(tree.groups.len());
    let marks = tree.group_marks();
    let sums = Sums::new(tree).zip(tree).zip(&marks);
    for ((group, exclusive, inclusive), &marks) in sums {
        let (name, code) = describe(group);
        blocks.push(Neighbours {
            row: ListRow {
                name,
                code,
                exclusive,
                inclusive,
                marks,
            },
            callers: Vec::new(),
            callees: Vec::new(),
        });
    }
    // `<Total>` has no exclusive time of its own.
    let mut total = Neighbours {
        row: functions::total_row(tree),
        callers: Vec::new(),
        callees: Vec::new(),
    };
    total.row.exclusive.fill(0.0);

    let neighbour = |group: GroupId, attributed: Seconds| {
        let known = tree.groups.get(group as usize).map(&describe);
        let (name, code) = known.unwrap_or_else(|| (TOTAL.to_owned(), None));
        Neighbour {
            name,
            code,
            attributed,
            marks: marks.get(group as usize).copied().unwrap_or_default(),
        }
    };
    for ((function, caller), seconds) in callers {
        blocks[function as usize]
            .callers
            .push(neighbour(caller, seconds));
    }
    for ((function, callee), seconds) in callees {
        let block = blocks.get_mut(function as usize).unwrap_or(&mut total);
        block.callees.push(neighbour(callee, seconds));
    }
    blocks.sort_by(|left, right| order(request, left.row.fields(), right.row.fields()));
    blocks.insert(0, total);
    for block in &mut blocks {
        sort_neighbours(&mut block.callers, request);
        sort_neighbours(&mut block.callees, request);
    }
    blocks
}

pub(super) fn sort_neighbours(neighbours: &mut [Neighbour], request: &Request) {
    fn fields(neighbour: &Neighbour) -> SortFields<'_> {
        SortFields {
            name: &neighbour.name,
            code: neighbour.code,
            exclusive: &neighbour.attributed,
            inclusive: &neighbour.attributed,
        }
    }
    neighbours.sort_by(|left, right| order(request, fields(left), fields(right)));
}

/// The callers and the callees of each function, with their attributed times.
fn edges<K: Copy + Eq + Hash>(tree: &Tree<K>) -> (Edges, Edges) {
    // For each node: its time less that of the function's inner calls below it; and the same for
    // the time that reaches it from its parent, less the parent's function's inner calls.
    let width = tree.width();
    let mut innermost: Vec<f64> = (0..tree.len() as NodeId)
        .flat_map(|node| tree.below(node).iter().copied())
        .collect();
    let mut reaching = innermost.clone();
    tree.walk(|node, recursion| {
        if let Some(recursion) = recursion {
            subtract(
                &mut innermost[recursion.outer as usize * width..],
                tree.below(node),
            );
            subtract(
                &mut reaching[recursion.toward as usize * width..],
                tree.below(node),
            );
        }
    });

    let mut callers = Edges::default();
    let mut callees = Edges::default();
    for node in 1..tree.len() as NodeId {
        let (group, parent) = (tree.group(node), tree.group(tree.parent(node)));
        let at = node as usize * width..(node as usize + 1) * width;
        let zero = || Seconds::from(vec![0.0; width]);
        let caller = callers.entry((group, parent)).or_insert_with(zero);
        tree::add(caller, &innermost[at.clone()]);
        let callee = callees.entry((parent, group)).or_insert_with(zero);
        tree::add(callee, &reaching[at]);
    }
    for seconds in callers.values_mut().chain(callees.values_mut()) {
        for (value, total) in seconds.iter_mut().zip(tree.total()) {
            if value.abs() < HALF_NANOSECOND.max(ROUNDING * total) {
                *value = 0.0;
            }
        }
    }
    (callers, callees)
}

/// The rounding error of subtracting equal sums is below this, and any measured time is above it.
const HALF_NANOSECOND: f64 = 0.5e-9;

/// The same as a part of the total, for the events of counters, of which there may be billions.
const ROUNDING: f64 = 1e-12;

fn subtract(sums: &mut [f64], less: &[f64]) {
    for (sum, less) in sums.iter_mut().zip(less) {
        *sum -= less;
    }
}
