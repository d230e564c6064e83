//! The chain of jumps that leads from a function to another.

use std::collections::{BTreeMap, BTreeSet};

use experiment::ids::ModuleId;
use rustc_hash::FxHashMap;

use super::exits::{Exit, Exits, Target, is_one_source};
use crate::code::BodyArguments;
use crate::symbols::{ElfFunction, Symbols};

/// A function: its load object and the svma of its first byte.
pub(super) type Node = (ModuleId, u64);

/// The end of a chain.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Goal {
    /// This function.
    Function(Node),
    /// The runtime, by an entry point that makes a construct of this body.
    Runtime(Option<Node>),
    /// A function of another file, with this linkage name or an unknown one.
    Elsewhere(String),
}

/// A step of a chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// A function: its load object, and the svma of the last byte of its jump to the next one or, if there are
    /// several of them, of its first byte.
    Function(ModuleId, u64),
    /// Functions that are not known, if there were any: there are several ways on.
    Unknown,
}

/// More functions than any chain can go through.
const MOST: usize = 64;

/// The load objects that a chain can lead through.
pub(super) struct Scope<'s> {
    pub(super) files: Vec<(ModuleId, &'s Symbols)>,
}

impl Scope<'_> {
    fn symbols(&self, module: ModuleId) -> Option<&Symbols> {
        let mut files = self.files.iter();
        files
            .find(|file| file.0 == module)
            .map(|(_, symbols)| *symbols)
    }

    fn code(&self, (module, start): Node) -> Option<ElfFunction> {
        self.symbols(module)?.code(start)
    }

    /// The function that a call or jump in a load object leads to.
    pub(super) fn function(&self, from: ModuleId, target: &Target) -> Option<Node> {
        let name = match target {
            Target::Own(start) => return Some((from, *start)),
            Target::Other(name) => name,
        };
        let mut others = self.files.iter().filter(|file| file.0 != from);
        others.find_map(|(module, symbols)| Some((*module, symbols.named(name)?.start)))
    }
}

/// The jumps out of the functions of load objects.
pub(super) type AllExits = FxHashMap<ModuleId, Exits>;

/// The functions from `first`, which was called, to the goal, which is not among them; none if `first` is the goal.
/// `None` if no chain of jumps leads there. Of several, what is common to them.
pub(super) fn chain(
    scope: &Scope<'_>,
    exits: &mut AllExits,
    first: Node,
    goal: &Goal,
) -> Option<Vec<Step>> {
    if let Goal::Function(node) = goal {
        let (called, own) = (scope.code(*node)?, scope.code(first)?);
        if node.0 == first.0 && (called.start == own.start || is_one_source(&called, &own)) {
            return Some(Vec::new());
        }
    }
    let graph = Graph::of(scope, exits, first, goal)?;
    let functions = if graph.returns {
        vec![(first, true)]
    } else {
        common(first, &graph.edges, &graph.ends)?
    };
    let mut steps = Vec::new();
    let mut before: Option<(ModuleId, ElfFunction)> = None;
    for (at, &(node, is_open)) in functions.iter().enumerate() {
        let (module, start) = node;
        let next = functions.get(at + 1).map(|next| next.0);
        let is_jump = |exit: &&Exit| match next {
            Some(next) => scope.function(module, &exit.to) == Some(next),
            None => graph.last.contains(&(module, exit.last)),
        };
        let code = scope.code(node)?;
        let of_function = exits_of(scope, exits, node);
        let mut jumps = of_function.iter().filter(is_jump);
        let address = match (jumps.next(), jumps.next()) {
            (Some(only), None) if !is_open => only.last,
            _ => start,
        };
        // A clone or part of the function before is the same function to its author.
        let is_part = before
            .is_some_and(|(object, before)| object == module && is_one_source(&before, &code));
        if !is_part {
            steps.push(Step::Function(module, address));
        }
        if is_open {
            steps.push(Step::Unknown);
        }
        before = Some((module, code));
    }
    Some(steps)
}

fn exits_of(scope: &Scope<'_>, exits: &mut AllExits, node: Node) -> std::rc::Rc<[Exit]> {
    let function = scope.code(node).filter(|it| it.start == node.1);
    match function.zip(scope.symbols(node.0)) {
        Some((function, symbols)) => exits.entry(node.0).or_default().of(symbols, &function),
        None => [].into(),
    }
}

/// The functions that jumps lead to.
struct Graph {
    /// The functions that each one jumps to.
    edges: BTreeMap<Node, BTreeSet<Node>>,
    /// The functions with a jump to the goal.
    ends: BTreeSet<Node>,
    /// The last bytes of these jumps.
    last: BTreeSet<Node>,
    /// The goal itself may jump on, and come back.
    returns: bool,
}

impl Graph {
    fn of(scope: &Scope<'_>, exits: &mut AllExits, first: Node, goal: &Goal) -> Option<Graph> {
        let mut edges: BTreeMap<Node, BTreeSet<Node>> = BTreeMap::new();
        let mut leaving: Vec<(Node, Exit)> = Vec::new();
        let mut pending = vec![first];
        while let Some(node) = pending.pop() {
            if edges.contains_key(&node) {
                continue;
            }
            if edges.len() == MOST {
                return None;
            }
            let mut next = BTreeSet::new();
            for exit in exits_of(scope, exits, node).iter() {
                match scope.function(node.0, &exit.to) {
                    Some(to) if *goal == Goal::Function(to) => {
                        leaving.push((node, exit.clone()));
                        pending.push(to);
                    }
                    Some(to) => {
                        next.insert(to);
                        pending.push(to);
                    }
                    None => leaving.push((node, exit.clone())),
                }
            }
            edges.insert(node, next);
        }
        let returns = match goal {
            Goal::Function(node) => {
                let to_goal = leaving
                    .iter()
                    .filter(|(at, exit)| scope.function(at.0, &exit.to) == Some(*node));
                let to_goal: BTreeSet<Node> = to_goal.map(|(at, _)| *at).collect();
                leading_to(&to_goal, &edges).contains(node)
            }
            _ => false,
        };
        let chosen = choose(scope, leaving, goal)?;
        let ends: BTreeSet<Node> = chosen.iter().map(|(function, _)| *function).collect();
        leading_to(&ends, &edges).contains(&first).then_some(Graph {
            edges,
            ends,
            last: chosen
                .iter()
                .map(|((module, _), exit)| (*module, exit.last))
                .collect(),
            returns,
        })
    }
}

/// The jumps that can be the one to the goal.
fn choose(scope: &Scope<'_>, leaving: Vec<(Node, Exit)>, goal: &Goal) -> Option<Vec<(Node, Exit)>> {
    let name = |exit: &Exit| match &exit.to {
        Target::Own(_) => None,
        Target::Other(name) => Some(name.clone()),
    };
    match goal {
        Goal::Function(node) => {
            let to_goal = |(at, exit): &(Node, Exit)| scope.function(at.0, &exit.to) == Some(*node);
            Some(leaving.into_iter().filter(to_goal).collect())
        }
        Goal::Runtime(body) => {
            let fits = |(at, exit): &(Node, Exit)| {
                let given = || {
                    let mut arguments = BodyArguments::new(scope.symbols(at.0)?);
                    Some((at.0, arguments.at(exit.last)?.0.start))
                };
                let is_fork = name(exit).is_some_and(|name| makes_construct(&name));
                is_fork && body.is_none_or(|body| given().is_none_or(|given| given == body))
            };
            Some(leaving.into_iter().filter(fits).collect())
        }
        Goal::Elsewhere(wanted) => {
            let other = leaving
                .into_iter()
                .filter_map(|(at, exit)| Some((name(&exit)?, (at, exit))));
            let other: Vec<_> = other.collect();
            let bare = wanted.split('@').next().unwrap_or_default();
            let names: BTreeSet<&str> = other.iter().map(|(name, _)| name.as_str()).collect();
            // Libraries have other names for their functions than programs (`memcpy` of the C
            // library is one of a dozen).
            let is_named = !bare.is_empty() && names.contains(bare);
            if !is_named && names.len() != 1 {
                return None;
            }
            let fits = other
                .into_iter()
                .filter(|(name, _)| !is_named || name == bare);
            Some(fits.map(|(_, exit)| exit).collect())
        }
    }
}

/// Whether an entry point of a runtime makes a region or task (`kmp.h` of LLVM, `libgomp_g.h` of GCC).
fn makes_construct(name: &str) -> bool {
    const NAMES: [&str; 11] = [
        "__kmpc_fork_call",
        "__kmpc_fork_call_if",
        "__kmpc_fork_teams",
        "__kmpc_omp_task",
        "__kmpc_omp_task_with_deps",
        "__kmpc_taskloop",
        "__kmpc_taskloop_5",
        "GOMP_task",
        "GOMP_taskloop",
        "GOMP_taskloop_ull",
        "GOMP_teams_reg",
    ];
    NAMES.contains(&name) || name.starts_with("GOMP_parallel")
}

/// The nodes from which one of `ends` is reached, these included.
fn leading_to<T: Copy + Ord>(ends: &BTreeSet<T>, edges: &BTreeMap<T, BTreeSet<T>>) -> BTreeSet<T> {
    let mut leading = ends.clone();
    loop {
        let more = edges
            .iter()
            .filter(|(from, to)| !leading.contains(from) && !to.is_disjoint(&leading));
        let more: Vec<T> = more.map(|(from, _)| *from).collect();
        if more.is_empty() {
            return leading;
        }
        leading.extend(more);
    }
}

/// The nodes that are on all ways from `first` to a node of `ends` and out of it, in their order, each with whether
/// there are several ways on. `None` if there is no way.
fn common<T: Copy + Ord>(
    first: T,
    edges: &BTreeMap<T, BTreeSet<T>>,
    ends: &BTreeSet<T>,
) -> Option<Vec<(T, bool)>> {
    let leading = leading_to(ends, edges);
    if !leading.contains(&first) {
        return None;
    }
    let next = |node: T| {
        let next = edges.get(&node).into_iter().flatten().copied();
        next.filter(|next| leading.contains(next))
    };
    // Where there is a loop, nobody knows how often it was gone through.
    let reached = |from: T, without: Option<T>| {
        let mut reached: BTreeSet<T> = BTreeSet::new();
        let mut pending: Vec<T> = next(from).filter(|to| Some(*to) != without).collect();
        while let Some(node) = pending.pop() {
            if reached.insert(node) {
                pending.extend(next(node).filter(|to| Some(*to) != without));
            }
        }
        reached
    };
    let mut inner = reached(first, None);
    if inner.contains(&first) || inner.iter().any(|node| reached(*node, None).contains(node)) {
        return Some(vec![(first, true)]);
    }
    let is_way_without = |node: T| {
        ends.contains(&first)
            || reached(first, Some(node))
                .iter()
                .any(|it| ends.contains(it))
    };
    inner.retain(|node| !is_way_without(*node));
    let mut way: Vec<T> = inner.into_iter().collect();
    // What more of them are reached from comes earlier.
    way.sort_by_key(|node| {
        let after = reached(*node, None);
        std::cmp::Reverse(after.len())
    });
    way.insert(0, first);
    let with_ways = way.iter().enumerate().map(|(at, &node)| {
        let mut on = next(node);
        let is_only = match way.get(at + 1) {
            Some(only) => on.all(|to| to == *only),
            None => on.next().is_none(),
        };
        (node, !is_only)
    });
    Some(with_ways.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is common to the ways from 1 out of one of `ends`, in a graph of these edges. 0: several ways on.
    fn way(edges: &[(u64, u64)], ends: &[u64]) -> Option<Vec<u64>> {
        let mut graph: BTreeMap<u64, BTreeSet<u64>> = BTreeMap::new();
        for &(from, to) in edges {
            graph.entry(from).or_default().insert(to);
            graph.entry(to).or_default();
        }
        let found = common(1, &graph, &ends.iter().copied().collect())?;
        let steps = found
            .into_iter()
            .flat_map(|(node, is_open)| [node].into_iter().chain(is_open.then_some(0)));
        Some(steps.collect())
    }

    #[test]
    fn a_single_way_is_found() {
        assert_eq!(way(&[], &[1]), Some(vec![1]));
        assert_eq!(way(&[(1, 2), (2, 3)], &[3]), Some(vec![1, 2, 3]));
        assert_eq!(way(&[(1, 9), (9, 2), (2, 5)], &[5]), Some(vec![1, 9, 2, 5]));
        // Jumps that lead elsewhere do not matter.
        let more = [(1, 2), (2, 3), (1, 8), (8, 9), (9, 8)];
        assert_eq!(way(&more, &[3]), Some(vec![1, 2, 3]));
        assert_eq!(way(&[(1, 2)], &[9]), None);
    }

    #[test]
    fn of_several_ways_what_is_common_is_found() {
        assert_eq!(
            way(&[(1, 2), (1, 3), (2, 4), (3, 4), (4, 5)], &[5]),
            Some(vec![1, 0, 4, 5])
        );
        assert_eq!(way(&[(1, 2), (2, 3), (2, 4)], &[3, 4]), Some(vec![1, 2, 0]));
        assert_eq!(way(&[(1, 2)], &[1, 2]), Some(vec![1, 0]));
        assert_eq!(way(&[(1, 2), (2, 1)], &[2]), Some(vec![1, 0]));
        assert_eq!(way(&[(1, 2), (2, 3), (3, 2)], &[3]), Some(vec![1, 0]));
    }
}
