//! Finds the outlined function that is the body of each construct.

use rustc_hash::{FxHashMap, FxHashSet};

use experiment::ids::{ContextId, FrameId, StackId};
use experiment::linkage::without_clone;
use experiment::state::State;
use experiment::symbols::{Construct, FunctionId};
use experiment::tables::{ContextKind, ThreadState};

use super::frames::{Facts, Role};
use super::sampled::SampledStack;
use super::segment::{self, Body, Split};
use super::walk::Walk;

/// The callers of an outlined function, for stacks whose context is unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Home {
    /// The function is the body of this context.
    Context(ContextId),
    /// The function was sampled with this calling stack, on the thread that forked.
    Stack(StackId),
}

/// Bodies by construct, and the callers of each body.
#[derive(Debug, Default)]
pub(super) struct Naming {
    bodies: Vec<Option<FunctionId>>,
    homes: FxHashMap<FunctionId, Home>,
    /// Call sites of critical sections that combine reductions.
    combining: FxHashSet<FrameId>,
    /// Whether any OpenMP event was recorded.
    pub(super) eventful: bool,
}

/// Votes of stacks for the body of a `K`.
struct Votes<K>(FxHashMap<(K, FunctionId), u32>);

impl<K> Default for Votes<K> {
    fn default() -> Self {
        Votes(FxHashMap::default())
    }
}

impl<K: Copy + Eq + std::hash::Hash + Ord> Votes<K> {
    fn add(&mut self, key: K, body: FunctionId) {
        *self.0.entry((key, body)).or_default() += 1;
    }

    /// The winner for each key. Ties go to the lower id, so that the result is deterministic.
    fn winners(&self) -> FxHashMap<K, FunctionId> {
        let mut sorted: Vec<_> = self.0.iter().map(|(&(k, f), &n)| (k, n, f)).collect();
        sorted.sort_by(|a, b| (a.0, a.1).cmp(&(b.0, b.1)).then(b.2.cmp(&a.2)));
        sorted
            .into_iter()
            .map(|(key, _, body)| (key, body))
            .collect()
    }
}

/// The evidence from stacks, before bodies are chosen.
#[derive(Default)]
struct Ballot {
    by_context: Votes<ContextId>,
    by_site: Votes<Site>,
    homes: FxHashMap<FunctionId, Home>,
    combining: FxHashSet<FrameId>,
}

impl Ballot {
    fn of(facts: &Facts<'_>, evidence: &[SampledStack]) -> Ballot {
        let mut ballot = Ballot::default();
        let mut seen: Vec<(ContextId, FrameId)> = Vec::new();
        for of_stack in evidence.chunk_by(|one, other| one.stack == other.stack) {
            seen.clear();
            let mut walk = None;
            for sample in of_stack {
                let Some(thread_state) = facts.tables.thread_states.get(sample.thread_state.0)
                else {
                    continue;
                };
                let construct = (thread_state.context, thread_state.call);
                if seen.contains(&construct) {
                    continue;
                }
                seen.push(construct);
                let walk = walk.get_or_insert_with(|| Walk::new(facts, sample.stack));
                if walk.leaf.reducing
                    && thread_state.state == State::Work
                    && thread_state.call != FrameId::NONE
                {
                    ballot.combining.insert(thread_state.call);
                }
                ballot.learn_home(facts, walk);
                if thread_state.context != ContextId::ROOT && thread_state.state != State::Idle {
                    ballot.vote(facts, thread_state.context, walk);
                }
            }
        }
        ballot
    }

    /// Adds a stack's vote for the body of a context.
    fn vote(&mut self, facts: &Facts<'_>, context: ContextId, walk: &Walk) {
        let split = segment::split(facts, walk, context);
        if let Some(body) = body_of(facts, walk, &split) {
            self.by_context.add(context, body);
            if let Some(site) = site_of(facts, context) {
                self.by_site.add(site, body);
            }
        }
    }

    /// Records the user code that calls each body on the thread that forked.
    fn learn_home(&mut self, facts: &Facts<'_>, walk: &Walk) {
        for (at, node) in walk.nodes.iter().enumerate() {
            let called = walk
                .nodes
                .get(at + 1)
                .is_some_and(|n| n.role == Role::Runtime);
            if node.role != Role::Code || !called {
                continue;
            }
            let region = matches!(
                facts.construct(node.function),
                Some(Construct::Parallel | Construct::Teams)
            );
            if region
                && let Some(body) = node.function
                && let Some(outer) = walk.code_from(at + 1)
            {
                let home = self.homes.entry(facts.whole(body));
                home.or_insert(Home::Stack(outer.stack));
            }
        }
    }
}

/// The body of the construct that a stack was cut at.
fn body_of(facts: &Facts<'_>, walk: &Walk, split: &Split) -> Option<FunctionId> {
    match split.body {
        Body::Frame(at) => walk.nodes[at].function.map(|body| facts.whole(body)),
        Body::Missing(inlined) => facts.inlined_target_task(inlined),
    }
}

impl Naming {
    /// Finds bodies from all sampled stacks. Consecutive repetitions of a stack with one construct
    /// count once.
    pub(super) fn learn(facts: &Facts<'_>, evidence: &[SampledStack]) -> Naming {
        let tables = facts.tables;
        let eventful =
            tables.contexts.len() > 1
                || tables.thread_states.rows().iter().any(|thread_state| {
                    !matches!(thread_state.state, State::Outside | State::Unknown)
                });
        let mut naming = Naming {
            bodies: vec![None; tables.contexts.len()],
            homes: FxHashMap::default(),
            combining: FxHashSet::default(),
            eventful,
        };
        let mut ballot = Ballot::of(facts, evidence);
        // A construct forks others from within its body.
        for inner in tables.contexts.rows() {
            if inner.parent != ContextId::ROOT {
                ballot.vote(facts, inner.parent, &Walk::new(facts, inner.stack));
            }
        }
        naming.homes = std::mem::take(&mut ballot.homes);
        // While a thread holds a mutex, its work has a call site: that of the acquisition.
        let critical = |thread_state: &&ThreadState| thread_state.state == State::Critical;
        let criticals = tables.thread_states.rows().iter().filter(critical);
        let criticals: FxHashSet<FrameId> =
            criticals.map(|thread_state| thread_state.call).collect();
        naming.combining = std::mem::take(&mut ballot.combining);
        naming.combining.retain(|call| criticals.contains(call));
        // The machine code identifies combiners without a name.
        let in_machine_code = |call: &FrameId| {
            facts
                .symbols
                .code_of(*call)
                .is_some_and(|fact| fact.combines)
        };
        naming
            .combining
            .extend(criticals.into_iter().filter(in_machine_code));
        let Ballot {
            by_context,
            by_site,
            ..
        } = ballot;
        naming.settle(facts, &by_context.winners(), &by_site.winners());
        naming
    }

    /// The body of a construct.
    pub(super) fn of(&self, context: ContextId) -> Option<FunctionId> {
        *self.bodies.get(context.index())?
    }

    /// Whether the critical section at a call site is compiler-generated for a reduction (clang's
    /// code for runtimes that choose to combine one thread at a time).
    pub(super) fn combines(&self, call: FrameId) -> bool {
        self.combining.contains(&call)
    }

    /// The callers of an outlined function.
    pub(super) fn home(&self, body: FunctionId) -> Option<Home> {
        self.homes.get(&body).copied()
    }

    fn settle(
        &mut self,
        facts: &Facts<'_>,
        by_context: &FxHashMap<ContextId, FunctionId>,
        by_site: &FxHashMap<Site, FunctionId>,
    ) {
        let seen = by_site.values().chain(by_context.values());
        let mut claimed: FxHashSet<FunctionId> = seen.copied().collect();
        let contexts = (1..self.bodies.len()).map(|index| ContextId(index as u32));
        claimed.extend(contexts.filter_map(|context| facts.passed_body(context)));
        let by_call = bodies_by_call(facts);
        let mut by_symbol: FxHashMap<Site, Option<FunctionId>> = FxHashMap::default();
        for index in 1..self.bodies.len() {
            let context = ContextId(index as u32);
            let site = site_of(facts, context);
            let of_context = by_context.get(&context).copied();
            let of_site = || by_site.get(&site?).copied();
            // A function without a symbol that the runtime called may be a combiner in a few of the
            // stacks.
            let voted = of_context
                .filter(|&body| facts.is_named(body))
                .or_else(of_site)
                .or(of_context);
            let known = facts.event_body(context).or(voted);
            let known = known.or_else(|| facts.passed_body(context));
            let known = known.or_else(|| by_call.get(&context).copied());
            let body = known.or_else(|| {
                let kind = facts.context(context).kind;
                *by_symbol
                    .entry(site?)
                    .or_insert_with(|| body_by_symbol(facts, kind, site?.0, &claimed))
            });
            self.bodies[index] = body;
        }
        for (index, body) in self.bodies.iter().enumerate().rev() {
            if let Some(body) = body {
                self.homes
                    .insert(*body, Home::Context(ContextId(index as u32)));
            }
        }
    }
}

/// The bodies of constructs that called the runtime themselves. No stack need show them: threads
/// that only wait may have none.
fn bodies_by_call(facts: &Facts<'_>) -> FxHashMap<ContextId, FunctionId> {
    let thread_states = facts.tables.thread_states.rows().iter();
    let bodies = thread_states.rev().filter_map(|thread_state| {
        let context = thread_state.context;
        let kind = facts.context(context).kind;
        let body = facts.function(thread_state.call)?;
        let fits = facts.can_be_body(Some(body), kind.is_task()) == Some(true);
        let within = kind != ContextKind::Root && !facts.is_in_fork(context, thread_state.call);
        (fits && within).then(|| (context, facts.whole(body)))
    });
    bodies.collect()
}

/// A fork point's address, and whether a task was created there: with tail calls, a region and the
/// tasks in it can share one address.
type Site = (FrameId, bool);

/// The fork point, if it is in user code: then it identifies one directive.
fn site_of(facts: &Facts<'_>, context: ContextId) -> Option<Site> {
    let row = facts.context(context);
    let (frame, _) = facts.top(row.stack)?;
    let task = row.kind.is_task();
    facts.is_user(frame).then_some((frame, task))
}

/// The body of a construct that is on no stack, by the symbols: the one unclaimed outlined function
/// of the function that forked. Of several, the one whose directive is at the line of the fork:
/// clang's fork calls have exactly that line.
fn body_by_symbol(
    facts: &Facts<'_>,
    kind: ContextKind,
    site: FrameId,
    claimed: &FxHashSet<FunctionId>,
) -> Option<FunctionId> {
    let forking = facts.whole(facts.function(site)?);
    let symbols = facts.symbols;
    let function = &symbols.functions[forking.0 as usize];
    let lines = &symbols.frame(site).lines;
    // If clang names regions' bodies after the function, bodies without its name are those of
    // tasks.
    let named = symbols.functions.iter().any(|f| {
        f.module == function.module && f.linkage.find(".omp_outlined").is_some_and(|at| at > 0)
    });
    let candidates: Vec<FunctionId> = (0..symbols.functions.len() as u32)
        .map(FunctionId)
        .filter(|&id| {
            let candidate = &symbols.functions[id.0 as usize];
            let Some(outlined) = &candidate.outlined else {
                return false;
            };
            let fits = match kind {
                ContextKind::Task | ContextKind::Taskloop => outlined.construct.is_task(),
                ContextKind::Region | ContextKind::Teams => {
                    matches!(outlined.construct, Construct::Parallel | Construct::Teams)
                }
                ContextKind::Root => false,
            };
            let parent = outlined.parent.as_deref();
            let inlined = |p: &str| {
                lines.iter().any(|line| {
                    line.function
                        .as_deref()
                        .is_some_and(|f| without_clone(f) == without_clone(p))
                })
            };
            fits && candidate.module == function.module
                && id != forking
                && facts.whole(id) == id
                && !(named && facts.is_nameless(id))
                && !claimed.contains(&id)
                && parent.is_some_and(|p| facts.is_called(forking, p) || inlined(p))
        })
        .collect();
    let line = lines.first().map(|at| at.source.line);
    let at_line: Vec<FunctionId> = candidates
        .iter()
        .copied()
        .filter(|id| {
            let outlined = symbols.functions[id.0 as usize].outlined.as_ref();
            line.is_some() && outlined.and_then(|o| o.line) == line
        })
        .collect();
    match (at_line.as_slice(), candidates.as_slice()) {
        (&[one], _) | (&[], &[one]) => Some(one),
        _ => None,
    }
}
