//! The construct of outlined functions whose names do not tell it.
//!
//! gcc and flang give the bodies of all constructs the same form of name (`foo._omp_fn.1`). If the
//! machine code did not tell, the context that they run in distinguishes them.

use rustc_hash::{FxHashMap, FxHashSet};

use experiment::ids::{ContextId, StackId, ThreadStateId};
use experiment::state::State;
use experiment::symbols::{Construct, FunctionId, SymbolTable};
use experiment::tables::{ContextKind, Tables};

use super::frames::Facts;
use super::segment::{self, Body};
use super::walk::Walk;

/// The construct of a context's body.
const fn construct_of(kind: ContextKind) -> Option<Construct> {
    match kind {
        ContextKind::Region => Some(Construct::Parallel),
        ContextKind::Task => Some(Construct::Task),
        ContextKind::Taskloop => Some(Construct::Taskloop),
        ContextKind::Teams => Some(Construct::Teams),
        ContextKind::Root => None,
    }
}

/// Whether an experiment may have outlined functions whose names do not tell their construct: only
/// if it has tasks or teams.
pub fn is_unsettled(tables: &Tables) -> bool {
    let special = |kind| !matches!(kind, ContextKind::Root | ContextKind::Region);
    tables.contexts.rows().iter().any(|row| special(row.kind))
}

/// Sets the construct of each outlined function to that of most of its executions in `evidence`,
/// the machine stacks and thread states of samples. `evidence` is read only if [`is_unsettled`].
pub fn settle(
    symbols: &mut SymbolTable,
    tables: &Tables,
    evidence: impl IntoIterator<Item = (StackId, ThreadStateId)>,
) {
    if !is_unsettled(tables) {
        return;
    }
    for (function, construct) in decide(&Facts::unsettled(tables, symbols), evidence) {
        if let Some(outlined) = &mut symbols.functions[function.0 as usize].outlined {
            outlined.construct = construct;
        }
    }
}

fn decide(
    facts: &Facts<'_>,
    evidence: impl IntoIterator<Item = (StackId, ThreadStateId)>,
) -> Vec<(FunctionId, Construct)> {
    let mut votes = FxHashMap::<(FunctionId, Construct), u64>::default();
    // clang's names distinguish tasks from the rest, but not teams from parallel regions, nor the
    // tasks of taskloops from others.
    let undecided = |body: FunctionId, kind: ContextKind| {
        let fits = [true, false].map(|task| facts.can_be_body(Some(body), task));
        match kind {
            ContextKind::Taskloop => fits[0] == Some(true),
            ContextKind::Teams => fits[1] == Some(true),
            _ => fits == [Some(true); 2],
        }
    };
    let mut vote = |context: ContextId, walk: &Walk| {
        let kind = facts.context(context).kind;
        if let Some(construct) = construct_of(kind)
            && let Body::Frame(at) = segment::split(facts, walk, context).body
            && let Some(body) = walk.nodes[at].function
            && undecided(body, kind)
        {
            *votes.entry((facts.whole(body), construct)).or_default() += 1;
        }
    };
    let mut seen = FxHashSet::default();
    for (stack, thread_state) in evidence {
        let Some(thread_state) = facts.tables.thread_states.get(thread_state.0) else {
            continue;
        };
        let inside = thread_state.context != ContextId::ROOT && thread_state.state != State::Idle;
        if inside && seen.insert((stack, thread_state.context)) {
            vote(thread_state.context, &Walk::new(facts, stack));
        }
    }
    // A construct forks or creates others from within its body.
    for inner in facts.tables.contexts.rows() {
        if inner.parent != ContextId::ROOT {
            vote(inner.parent, &Walk::new(facts, inner.stack));
        }
    }
    // The machine code overrides any number of stacks.
    for at in (1..facts.tables.contexts.len()).map(|at| ContextId(at as u32)) {
        let kind = facts.context(at).kind;
        if let Some(construct) = construct_of(kind)
            && let Some(body) = facts.passed_body(at).filter(|&body| undecided(body, kind))
        {
            *votes.entry((body, construct)).or_default() += 1 << 32;
        }
    }
    let mut sorted: Vec<_> = votes.into_iter().map(|((f, c), n)| (f, n, c)).collect();
    sorted.sort_unstable_by_key(|&(function, count, construct)| (function, count, construct as u8));
    // The last entry of a function has most votes.
    let last = sorted.chunk_by(|one, other| one.0 == other.0);
    last.filter_map(|votes| {
        votes
            .last()
            .map(|&(function, _, construct)| (function, construct))
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rewrite::test_program::TestProgram;
    use experiment::tables::ThreadKind;

    #[test]
    fn bodies_of_gcc_are_called_what_they_ran_as() {
        let mut program = TestProgram::new();
        let team = "R:gomp_thread_start start_thread clone3";
        let region = program.region(ContextId::ROOT, "foo+9 main __libc_start_main _start");
        let site = format!("foo._omp_fn.0+12 {team}");
        let task = program.context(region, ContextKind::Task, &site);
        let samples = [
            (region, format!("work foo._omp_fn.0+12 {team}")),
            (
                task,
                format!("work foo._omp_fn.1+14 R:GOMP_barrier foo._omp_fn.0+12 {team}"),
            ),
            // The clocks of events and samples differ: the sample is slightly too early for the
            // task.
            (region, format!("foo._omp_fn.1+14 {team}")),
            (task, format!("leaf foo._omp_fn.1+14 R:GOMP_barrier {team}")),
        ];
        let evidence = samples.map(|(context, stack)| {
            let state = (State::Work, context);
            let sample = program.sample(&stack, state, ThreadKind::Worker);
            (sample.stack, sample.thread_state)
        });
        settle(&mut program.symbols, &program.tables, evidence);
        let construct = |name: &str| {
            let mut functions = program.symbols.functions.iter();
            let found = functions.find(|function| function.name == name);
            found.and_then(|function| Some(function.outlined.as_ref()?.construct))
        };
        assert_eq!(construct("foo._omp_fn.0"), Some(Construct::Parallel));
        assert_eq!(construct("foo._omp_fn.1"), Some(Construct::Task));
        // Once constructs are known, the body of the region below a task that is about to begin is
        // not taken for the task's.
        let early = format!("R:?+2 R:GOMP_barrier foo._omp_fn.0+12 {team}");
        let early = program.sample(&early, (State::Work, task), ThreadKind::Worker);
        let inside = format!("work foo._omp_fn.1+14 R:GOMP_barrier foo._omp_fn.0+12 {team}");
        let inside = program.sample(&inside, (State::Work, task), ThreadKind::Worker);
        let outward = "foo._omp_fn.1 foo._omp_fn.0 foo main __libc_start_main _start";
        assert_eq!(
            program.user(&[inside, early]),
            [format!("work {outward}"), format!("<Overhead> {outward}")]
        );
    }
}
