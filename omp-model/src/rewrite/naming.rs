//! Which outlined function is the body of which construct.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::ids::{ContextId, FrameId, StackId};
use crate::state::State;
use crate::symbols::{Construct, FunctionId};
use crate::tables::ContextKind;

use super::Moment;
use super::frames::{Facts, Role, Walk};
use super::functions::base_name;
use super::segment::{self, Body};

/// What an outlined function is called from, for stacks of which no context is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Home {
    /// It is the body of this context.
    Context(ContextId),
    /// It was once seen under this stack, on the thread that forked.
    Stack(StackId),
}

/// Bodies by construct, and the way back.
#[derive(Debug, Default)]
pub(super) struct Naming {
    bodies: Vec<Option<FunctionId>>,
    homes: FxHashMap<FunctionId, Home>,
    /// The places of critical sections in which reductions were seen to be combined.
    combining: FxHashSet<FrameId>,
    /// Whether any OpenMP event was recorded.
    pub(super) eventful: bool,
}

/// Votes of stacks for bodies.
struct Votes<K>(FxHashMap<(K, FunctionId), u32>);

impl<K: Copy + Eq + std::hash::Hash + Ord> Votes<K> {
    fn add(&mut self, key: K, body: FunctionId) {
        *self.0.entry((key, body)).or_default() += 1;
    }

    /// Each key's winner; of equals the one with the lower id, so that runs agree.
    fn winners(&self) -> FxHashMap<K, FunctionId> {
        let mut sorted: Vec<_> = self.0.iter().map(|(&(k, f), &n)| (k, n, f)).collect();
        sorted.sort_by(|a, b| (a.0, a.1).cmp(&(b.0, b.1)).then(b.2.cmp(&a.2)));
        sorted
            .into_iter()
            .map(|(key, _, body)| (key, body))
            .collect()
    }
}

impl Naming {
    pub(super) fn learn(facts: &Facts<'_>, evidence: impl IntoIterator<Item = Moment>) -> Naming {
        let tables = facts.tables;
        let eventful = tables.contexts.len() > 1
            || tables
                .tags
                .rows()
                .iter()
                .any(|tag| !matches!(tag.state, State::Outside | State::Unknown));
        let mut naming = Naming {
            bodies: vec![None; tables.contexts.len()],
            homes: FxHashMap::default(),
            combining: FxHashSet::default(),
            eventful,
        };
        let mut by_context = Votes(FxHashMap::default());
        let mut by_site = Votes(FxHashMap::default());
        let mut vote = |context: ContextId, walk: &Walk| {
            let context = facts.real_context(context);
            if let Body::Frame(at) = segment::split(facts, walk, context).body
                && let Some(body) = walk.nodes[at].function
            {
                let body = facts.whole(body);
                by_context.add(context, body);
                if let Some(site) = site_of(facts, context) {
                    by_site.add(site, body);
                }
            }
        };
        let mut seen = FxHashSet::default();
        for moment in evidence {
            let Some(tag) = tables.tags.get(moment.tag.0) else {
                continue;
            };
            if !seen.insert((moment.stack, tag.context, tag.place)) {
                continue;
            }
            let walk = Walk::new(facts, moment.stack);
            // Of states that do not wait, only the inside of a critical section has a place.
            if walk.leaf.reducing && tag.state == State::Work && tag.place != FrameId::NONE {
                naming.combining.insert(tag.place);
            }
            naming.learn_home(facts, &walk);
            if tag.context == ContextId::ROOT || tag.state == State::Idle {
                continue;
            }
            vote(tag.context, &walk);
        }
        // What a construct forks, it forks from within its body.
        for inner in tables.contexts.rows() {
            if inner.parent != ContextId::ROOT {
                vote(inner.parent, &Walk::new(facts, inner.stack));
            }
        }
        naming.settle(facts, &by_context.winners(), &by_site.winners());
        naming
    }

    /// The body of a construct.
    pub(super) fn of(&self, context: ContextId) -> Option<FunctionId> {
        *self.bodies.get(context.index())?
    }

    /// Whether the critical section at a place is a reduction's own, of which the program's author
    /// knows nothing (clang's way where the runtime chooses to combine by turns).
    pub(super) fn combines(&self, place: FrameId) -> bool {
        self.combining.contains(&place)
    }

    /// Where an outlined function is called from.
    pub(super) fn home(&self, body: FunctionId) -> Option<Home> {
        self.homes.get(&body).copied()
    }

    /// Sees which bodies stand above user code on the thread that forked.
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
                self.homes
                    .entry(facts.whole(body))
                    .or_insert(Home::Stack(outer.stack));
            }
        }
    }

    fn settle(
        &mut self,
        facts: &Facts<'_>,
        by_context: &FxHashMap<ContextId, FunctionId>,
        by_site: &FxHashMap<Site, FunctionId>,
    ) {
        let seen = by_site.values().chain(by_context.values());
        let claimed: FxHashSet<FunctionId> = seen.copied().collect();
        let mut by_symbol: FxHashMap<Site, Option<FunctionId>> = FxHashMap::default();
        for index in 1..self.bodies.len() {
            let context = ContextId(index as u32);
            let site = site_of(facts, context);
            let of_context = by_context.get(&context).copied();
            let of_site = || by_site.get(&site?).copied();
            // What the runtime called without a symbol may be a combiner in few of the stacks.
            let voted = of_context
                .filter(|&body| facts.is_named(body))
                .or_else(of_site)
                .or(of_context);
            let body = voted.or_else(|| {
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

/// A fork point's address, and whether a task was created there: where calls were made by tail
/// calls, a region and the tasks in it can have one address between them.
type Site = (FrameId, bool);

/// The fork point, if it is in the user's code: then it stands for one directive.
fn site_of(facts: &Facts<'_>, context: ContextId) -> Option<Site> {
    let row = facts.context(context);
    let (frame, _) = facts.top(row.stack)?;
    let task = row.kind == ContextKind::Task;
    facts.is_user(frame).then_some((frame, task))
}

/// The body that no stack showed, by the symbols: an outlined function of the function that
/// forked; of several the one with the directive at the line of the fork (clang's fork calls have
/// exactly that line).
fn body_by_symbol(
    facts: &Facts<'_>,
    kind: ContextKind,
    site: FrameId,
    claimed: &FxHashSet<FunctionId>,
) -> Option<FunctionId> {
    let forking = facts.whole(facts.function(site)?);
    let symbols = facts.symbols;
    let function = &symbols.functions[forking.0 as usize];
    let places = &symbols.frame(site).places;
    // Where clang names regions' bodies after the function, those without a name are tasks'.
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
                ContextKind::Task => outlined.construct == Construct::Task,
                ContextKind::Region | ContextKind::Teams => {
                    matches!(outlined.construct, Construct::Parallel | Construct::Teams)
                }
                ContextKind::Root => false,
            };
            let parent = outlined.parent.as_deref();
            let inlined = |p: &str| {
                places.iter().any(|place| {
                    place
                        .function
                        .as_deref()
                        .is_some_and(|f| base_name(f) == base_name(p))
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
    let line = places.first().map(|place| place.place.line);
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
