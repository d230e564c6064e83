//! The one chain of jumps that leads from a function to another.

use std::collections::{BTreeMap, BTreeSet};

use super::exits::{Exit, Exits, Target, is_one_source};
use crate::code::BodyArguments;
use crate::symbols::{ElfFunction, Symbols};

/// The end of a chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Goal {
    /// The function of the same file that starts here.
    Function(u64),
    /// The runtime, by an entry point that makes a construct of the body that starts at this svma.
    Runtime(Option<u64>),
    /// A function of another file, with this linkage name or an unknown one.
    Elsewhere(String),
}

/// A function of a chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Link {
    /// The svma of the last byte of its jump to the next one or, if there are several of them, of the
    /// function.
    pub(super) address: u64,
}

/// More functions than any chain can go through.
const MOST: usize = 64;

/// The functions from `first`, which was called, to the goal, which is not among them; empty if
/// `first` is the goal. `None` if no chain of jumps leads there, or more than one.
pub(super) fn chain(
    symbols: &Symbols,
    exits: &mut Exits,
    first: &ElfFunction,
    goal: &Goal,
) -> Option<Vec<Link>> {
    if let Goal::Function(start) = goal {
        let called = symbols.code(*start)?;
        if called.start == first.start || is_one_source(&called, first) {
            return Some(Vec::new());
        }
    }
    let graph = Graph::of(symbols, exits, first, goal)?;
    let functions = one_way(first.start, &graph.edges, &graph.ends)?;
    let mut links = Vec::new();
    let mut before: Option<ElfFunction> = None;
    for (at, &function) in functions.iter().enumerate() {
        let is_jump = |exit: &&Exit| match functions.get(at + 1) {
            Some(next) => exit.to == Target::Own(*next),
            None => graph.last.contains(&exit.last),
        };
        let code = symbols.code(function)?;
        let of_function = exits.of(symbols, &code);
        let mut jumps = of_function.iter().filter(is_jump);
        let address = match (jumps.next(), jumps.next()) {
            (Some(only), None) => only.last,
            _ => function,
        };
        // A clone or part of the function before is the same function to its author.
        let is_part = before.is_some_and(|before| is_one_source(&before, &code));
        if !is_part {
            links.push(Link { address });
        }
        before = Some(code);
    }
    Some(links)
}

/// The functions that jumps lead to.
struct Graph {
    /// The functions that each one jumps to.
    edges: BTreeMap<u64, BTreeSet<u64>>,
    /// The functions with a jump to the goal.
    ends: BTreeSet<u64>,
    /// The last bytes of these jumps.
    last: BTreeSet<u64>,
}

impl Graph {
    fn of(symbols: &Symbols, exits: &mut Exits, first: &ElfFunction, goal: &Goal) -> Option<Graph> {
        let mut edges: BTreeMap<u64, BTreeSet<u64>> = BTreeMap::new();
        let mut leaving: Vec<(u64, Exit)> = Vec::new();
        let mut pending = vec![first.start];
        while let Some(start) = pending.pop() {
            if edges.contains_key(&start) {
                continue;
            }
            if edges.len() == MOST {
                return None;
            }
            let mut next = BTreeSet::new();
            let function = symbols.code(start).filter(|it| it.start == start);
            let jumps = function.map(|function| exits.of(symbols, &function));
            for exit in jumps.iter().flat_map(|jumps| jumps.iter()) {
                match exit.to {
                    Target::Own(to) if *goal == Goal::Function(to) => {
                        leaving.push((start, exit.clone()));
                        pending.push(to);
                    }
                    Target::Own(to) => {
                        next.insert(to);
                        pending.push(to);
                    }
                    Target::Other(_) => leaving.push((start, exit.clone())),
                }
            }
            edges.insert(start, next);
        }
        // The goal itself may jump on, and come back.
        if let Goal::Function(start) = goal
            && reaches(*start, &edges, &leaving, goal)
        {
            return None;
        }
        let chosen = choose(symbols, leaving, goal)?;
        Some(Graph {
            edges,
            ends: chosen.iter().map(|(function, _)| *function).collect(),
            last: chosen.iter().map(|(_, exit)| exit.last).collect(),
        })
    }
}

/// Whether jumps lead from the goal, a function, to itself.
fn reaches(
    from: u64,
    edges: &BTreeMap<u64, BTreeSet<u64>>,
    leaving: &[(u64, Exit)],
    goal: &Goal,
) -> bool {
    let to_goal: BTreeSet<u64> = leaving
        .iter()
        .filter(|(_, exit)| matches!(exit.to, Target::Own(to) if *goal == Goal::Function(to)))
        .map(|(function, _)| *function)
        .collect();
    leading_to(&to_goal, edges).contains(&from)
}

/// The jumps that can be the one to the goal.
fn choose(symbols: &Symbols, leaving: Vec<(u64, Exit)>, goal: &Goal) -> Option<Vec<(u64, Exit)>> {
    let name = |exit: &Exit| match &exit.to {
        Target::Own(_) => None,
        Target::Other(name) => Some(name.clone()),
    };
    match goal {
        Goal::Function(start) => {
            let own = |(_, exit): &(u64, Exit)| exit.to == Target::Own(*start);
            Some(leaving.into_iter().filter(own).collect())
        }
        Goal::Runtime(body) => {
            let mut arguments = BodyArguments::new(symbols);
            let mut fits = |(_, exit): &(u64, Exit)| {
                let mut given = || Some(arguments.at(exit.last)?.0.start);
                let is_fork = name(exit).is_some_and(|name| makes_construct(&name));
                is_fork && body.is_none_or(|body| given().is_none_or(|given| given == body))
            };
            Some(leaving.into_iter().filter(|it| fits(it)).collect())
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
fn leading_to(ends: &BTreeSet<u64>, edges: &BTreeMap<u64, BTreeSet<u64>>) -> BTreeSet<u64> {
    let mut leading = ends.clone();
    loop {
        let more = edges
            .iter()
            .filter(|(from, to)| !leading.contains(from) && !to.is_disjoint(&leading));
        let more: Vec<u64> = more.map(|(from, _)| *from).collect();
        if more.is_empty() {
            return leading;
        }
        leading.extend(more);
    }
}

/// The only way from `first` to a node of `ends` and out of it.
fn one_way(
    first: u64,
    edges: &BTreeMap<u64, BTreeSet<u64>>,
    ends: &BTreeSet<u64>,
) -> Option<Vec<u64>> {
    let leading = leading_to(ends, edges);
    let mut way = vec![first];
    let mut at = first;
    loop {
        let next = edges.get(&at).into_iter().flatten();
        let mut next = next.filter(|next| leading.contains(next));
        match (next.next(), next.next(), ends.contains(&at)) {
            (None, None, true) => return Some(way),
            (Some(only), None, false) if !way.contains(only) => {
                at = *only;
                way.push(at);
            }
            _ => return None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The way from 1 out of one of `ends`, in a graph of these edges.
    fn way(edges: &[(u64, u64)], ends: &[u64]) -> Option<Vec<u64>> {
        let mut graph: BTreeMap<u64, BTreeSet<u64>> = BTreeMap::new();
        for &(from, to) in edges {
            graph.entry(from).or_default().insert(to);
            graph.entry(to).or_default();
        }
        one_way(1, &graph, &ends.iter().copied().collect())
    }

    #[test]
    fn a_single_way_is_found() {
        assert_eq!(way(&[], &[1]), Some(vec![1]));
        assert_eq!(way(&[(1, 2), (2, 3)], &[3]), Some(vec![1, 2, 3]));
        // Jumps that lead elsewhere do not matter.
        let more = [(1, 2), (2, 3), (1, 8), (8, 9), (9, 8)];
        assert_eq!(way(&more, &[3]), Some(vec![1, 2, 3]));
    }

    #[test]
    fn two_ways_and_loops_give_nothing() {
        assert_eq!(way(&[(1, 2), (1, 3), (2, 4), (3, 4)], &[4]), None);
        assert_eq!(way(&[(1, 2)], &[1, 2]), None);
        assert_eq!(way(&[(1, 2), (2, 1)], &[2]), None);
        assert_eq!(way(&[(1, 2), (2, 3), (3, 2)], &[3]), None);
        assert_eq!(way(&[(1, 2)], &[9]), None);
    }
}
