//! Chooses stacks for time without samples of its own.
//!
//! The first of these that has any stacks gives them:
//!
//! 1. the same thread and thread state in another slice or scheduling state, the nearest. A thread
//!    waits in the same code asleep or spinning, so for waits nearness in time counts more;
//!    off-CPU work is where the thread switches out, so for work the scheduling state counts
//!    more. Long sleeps that are work take the stacks of long ones, else those of running time,
//!    but not those of short sleeps.
//! 2. inside constructs (and idle): the same thread state on other threads of the same kind, whose
//!    machine stacks begin alike;
//! 3. in a call into the runtime that the event names: any stack in the same context (outside
//!    constructs: of the same thread) with a frame in the function that made the call, from that
//!    frame outward;
//! 4. inside constructs, in no such call: the same state and context with no known critical section,
//!    on threads of the same kind;
//! 5. outside constructs, in no call: the same thread outside constructs, whatever its state;
//! 6. outside constructs: what all stacks and fork points of the thread have in common; in a call,
//!    no more of it than `main` and its callers;
//! 7. nothing: inside constructs what the samples of the directive's other contexts leave
//!    ([`super::directives`]), else the construct itself.
//!
//! Stacks from before `main` are lent to nobody ([`super::nearest`]).

use std::collections::BTreeMap;
use std::hash::Hash;

use rustc_hash::{FxHashMap, FxHashSet};

use experiment::ids::{ContextId, FrameId, StackId, ThreadId, ThreadStateId};
use experiment::state::{Scheduling, State};
use experiment::symbols::{FunctionId, SymbolTable};
use experiment::tables::{Tables, ThreadKind, ThreadState};

use super::accumulator::Sum;
use super::group::{Group, Sampled, kind_of, thread_state_of};
use super::nearest::{Candidate, Candidates, Nearest, Wanted, is_outside};
use super::phase::from_frame;
use super::roots::{Root, Roots};
use super::share::Origin;
use super::source::Source;

/// A state and context, on threads of a kind.
type Construct = (State, ContextId, ThreadKind);

/// Where a call can be made: in a construct, or by a thread outside of constructs.
type Place = (ContextId, Option<ThreadId>);

/// All stacks that time without samples may take.
#[derive(Debug)]
pub(super) struct Inference<'a> {
    tables: &'a Tables,
    symbols: &'a SymbolTable,
    nearest: Nearest,
    by_kind: FxHashMap<(ThreadStateId, ThreadKind), Candidates>,
    by_caller: FxHashMap<(Place, FunctionId), Candidates>,
    by_construct: FxHashMap<Construct, Candidates>,
    roots: FxHashMap<ThreadId, Root>,
}

impl<'a> Inference<'a> {
    /// From all samples, summed up, for all time that has none. What no other sample of its thread
    /// and state tells of is rare, and only for that the samples of several threads are pooled.
    pub(super) fn new(
        source: &Source<'a>,
        nearest: Nearest,
        sums: &[Sum],
        all_wanted: impl Iterator<Item = Wanted> + Clone,
    ) -> Inference<'a> {
        let Source {
            tables, symbols, ..
        } = *source;
        let mut constructs = FxHashSet::default();
        let mut threads = FxHashSet::default();
        let mut callers = FxHashMap::<Place, FxHashSet<FunctionId>>::default();
        for wanted in all_wanted.clone() {
            let group = wanted.group;
            let thread_state = thread_state_of(tables, group.thread_state);
            let own = nearest.of_state(group);
            if own.is_some_and(|own| own.nearest(wanted, false).is_some()) {
                continue;
            }
            if let Some(function) = caller(symbols, thread_state) {
                let place = place(thread_state, group.thread);
                callers.entry(place).or_default().insert(function);
            }
            if is_outside(thread_state) {
                threads.insert(group.thread);
            } else {
                constructs.insert((thread_state.state, thread_state.context));
            }
        }
        let mut by_kind = Pool::default();
        let mut by_caller = Pool::default();
        let mut by_construct = Pool::default();
        let mut roots = Roots::new(tables, symbols);
        for sum in sums {
            let thread_state = thread_state_of(tables, sum.thread_state);
            if threads.contains(&sum.thread) {
                roots.add(sum.thread, sum.stack);
                if sum.nanos > 0 {
                    roots.add_context(sum.thread, thread_state.context);
                }
            }
            let place = place(thread_state, sum.thread);
            for &function in callers.get(&place).into_iter().flatten() {
                let is_caller = |frame| symbols.frame(frame).function == Some(function);
                if let Some(stack) = from_frame(tables, sum.stack, is_caller) {
                    by_caller.add((place, function), sum, stack);
                }
            }
            if !is_outside(thread_state)
                && constructs.contains(&(thread_state.state, thread_state.context))
            {
                let kind = kind_of(tables, sum.thread);
                by_kind.add((sum.thread_state, kind), sum, sum.stack);
                if thread_state.call == FrameId::NONE {
                    let construct = (thread_state.state, thread_state.context, kind);
                    by_construct.add(construct, sum, sum.stack);
                }
            }
        }
        for Wanted { group, .. } in all_wanted {
            if threads.contains(&group.thread) {
                roots.add_context(
                    group.thread,
                    thread_state_of(tables, group.thread_state).context,
                );
            }
        }
        Inference {
            tables,
            symbols,
            nearest,
            by_kind: by_kind.candidates(),
            by_caller: by_caller.candidates(),
            by_construct: by_construct.candidates(),
            roots: roots.finish(),
        }
    }

    /// The stacks that a group without samples takes, none for the construct itself; and where they
    /// are from.
    pub(super) fn stacks(&self, wanted: Wanted) -> (&[Sampled], Origin) {
        let group = wanted.group;
        let thread_state = thread_state_of(self.tables, group.thread_state);
        let is_wait = thread_state.state.is_wait();
        let own = self.nearest.of_state(group);
        if let Some(own) = own.and_then(|own| own.nearest(wanted, is_wait)) {
            let origin = if is_wait && own.slice == group.slice {
                Origin::Alike
            } else {
                Origin::Inferred
            };
            return (&own.stacks, origin);
        }
        let (others, origin) = self.others(group, thread_state);
        match others.and_then(|others| others.nearest(wanted, is_wait)) {
            Some(other) => (&other.stacks, origin),
            None => match self.roots.get(&group.thread) {
                Some(root) if is_outside(thread_state) => {
                    let in_call = thread_state.state.is_in_call();
                    let stack = if in_call { &root.main } else { &root.common };
                    (stack, Origin::Inferred)
                }
                _ => (&[], Origin::Construct),
            },
        }
    }

    /// The candidates from other states and threads.
    fn others(&self, group: Group, thread_state: ThreadState) -> (Option<&Candidates>, Origin) {
        let outside = is_outside(thread_state);
        let kind = kind_of(self.tables, group.thread);
        let of_kind = self.by_kind.get(&(group.thread_state, kind));
        if of_kind.is_some() && !outside {
            return (of_kind, Origin::Inferred);
        }
        if let Some(function) = caller(self.symbols, thread_state) {
            let place = place(thread_state, group.thread);
            return (self.by_caller.get(&(place, function)), Origin::AtCall);
        }
        let others = if !outside {
            let construct = (thread_state.state, thread_state.context, kind);
            self.by_construct.get(&construct)
        } else if thread_state.state.is_in_call() {
            None
        } else {
            self.nearest.outside(group.thread)
        };
        (others, Origin::Inferred)
    }
}

/// The function that made the call in which a thread is, if its thread state names it.
fn caller(symbols: &SymbolTable, thread_state: ThreadState) -> Option<FunctionId> {
    let is_named = thread_state.state.is_in_call() && thread_state.call != FrameId::NONE;
    let function = is_named.then(|| symbols.frame(thread_state.call).function);
    function.flatten()
}

fn place(thread_state: ThreadState, thread: ThreadId) -> Place {
    let outside = is_outside(thread_state);
    (thread_state.context, outside.then_some(thread))
}

/// Samples of several threads and slices, summed by key: one candidate for each scheduling state.
struct Pool<K>(FxHashMap<(K, Scheduling), FxHashMap<(StackId, bool), u32>>);

impl<K> Default for Pool<K> {
    fn default() -> Self {
        Pool(FxHashMap::default())
    }
}

impl<K: Eq + Hash> Pool<K> {
    fn add(&mut self, key: K, sum: &Sum, stack: StackId) {
        let stacks = self.0.entry((key, sum.scheduling)).or_default();
        *stacks.entry((stack, sum.kernel)).or_default() += sum.samples;
    }

    fn candidates(self) -> FxHashMap<K, Candidates> {
        let mut candidates = FxHashMap::<K, Candidates>::default();
        for ((key, scheduling), stacks) in self.0 {
            let stacks = stacks.into_iter();
            let stacks =
                stacks.map(|((stack, kernel), count)| Sampled::plain(stack, kernel, count));
            let candidate = Candidate {
                slice: 0,
                scheduling,
                long: false,
                stacks: stacks.collect(),
            };
            candidates.entry(key).or_default().keep(candidate.cut());
        }
        candidates
    }
}

/// The stack that idle threads of each kind are seen at most often.
pub(super) fn idle_stacks(tables: &Tables, sums: &[Sum]) -> FxHashMap<ThreadKind, StackId> {
    let idle = |sum: &&Sum| thread_state_of(tables, sum.thread_state).state == State::Idle;
    let mut counts = BTreeMap::<(u8, StackId), (ThreadKind, u64)>::new();
    for sum in sums.iter().filter(idle) {
        let kind = kind_of(tables, sum.thread);
        let (_, count) = counts.entry((kind as u8, sum.stack)).or_insert((kind, 0));
        *count += u64::from(sum.samples);
    }
    let mut most = FxHashMap::<ThreadKind, (u64, StackId)>::default();
    for ((_, stack), (kind, count)) in counts {
        let known = most.entry(kind).or_insert((0, stack));
        if count > known.0 {
            *known = (count, stack);
        }
    }
    most.into_iter()
        .map(|(kind, (_, stack))| (kind, stack))
        .collect()
}
