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
//! 3. the same state and context with no other known call, on such threads;
//! 4. outside constructs: the same thread outside constructs, whatever its state, else what all
//!    stacks and fork points of the thread have in common;
//! 5. nothing: the construct itself.

use std::collections::BTreeMap;
use std::hash::Hash;

use rustc_hash::{FxHashMap, FxHashSet};

use experiment::ids::{ContextId, FrameId, StackId, ThreadId, ThreadStateId};
use experiment::state::{Scheduling, State};
use experiment::tables::{Tables, ThreadKind};

use super::accumulator::Sum;
use super::group::{Sampled, kind_of, thread_state_of};
use super::nearest::{Candidate, Candidates, Nearest, Wanted, is_outside};
use super::roots::Roots;

/// A state, context and call, on threads of a kind.
type Construct = (State, ContextId, FrameId, ThreadKind);

/// All stacks that time without samples may take.
#[derive(Debug)]
pub(super) struct Inference<'a> {
    tables: &'a Tables,
    nearest: Nearest,
    by_kind: FxHashMap<(ThreadStateId, ThreadKind), Candidates>,
    by_construct: FxHashMap<Construct, Candidates>,
    roots: FxHashMap<ThreadId, [Sampled; 1]>,
}

impl<'a> Inference<'a> {
    /// From all samples, summed up, for all time that has none. What no other sample of its thread
    /// and state tells of is rare, and only for that the samples of several threads are pooled.
    pub(super) fn new(
        tables: &'a Tables,
        nearest: Nearest,
        sums: &[Sum],
        all_wanted: impl Iterator<Item = Wanted> + Clone,
    ) -> Inference<'a> {
        let mut constructs = FxHashSet::default();
        let mut threads = FxHashSet::default();
        for Wanted { group, long } in all_wanted.clone() {
            let thread_state = thread_state_of(tables, group.thread_state);
            let wanted = Wanted { group, long };
            let own = nearest.of_state(group);
            if own.is_some_and(|own| own.nearest(wanted, false).is_some()) {
                continue;
            }
            if is_outside(thread_state) {
                threads.insert(group.thread);
            } else {
                constructs.insert((thread_state.state, thread_state.context));
            }
        }
        let mut by_kind = Pool::default();
        let mut by_construct = Pool::default();
        let mut roots = Roots::new(tables);
        for sum in sums {
            let thread_state = thread_state_of(tables, sum.thread_state);
            if threads.contains(&sum.thread) {
                roots.add(sum.thread, sum.stack);
                if sum.nanos > 0 {
                    roots.add_context(sum.thread, thread_state.context);
                }
            }
            if !is_outside(thread_state)
                && constructs.contains(&(thread_state.state, thread_state.context))
            {
                let kind = kind_of(tables, sum.thread);
                by_kind.add((sum.thread_state, kind), sum);
                by_construct.add(
                    (
                        thread_state.state,
                        thread_state.context,
                        thread_state.call,
                        kind,
                    ),
                    sum,
                );
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
            nearest,
            by_kind: by_kind.candidates(),
            by_construct: by_construct.candidates(),
            roots: roots.finish(),
        }
    }

    /// The stacks that a group without samples takes, none for the construct itself; and whether
    /// those tell as much as samples of its own would.
    pub(super) fn stacks(&self, wanted: Wanted) -> (&[Sampled], bool) {
        let group = wanted.group;
        let thread_state = thread_state_of(self.tables, group.thread_state);
        let is_wait = thread_state.state.is_wait();
        let own = self.nearest.of_state(group);
        if let Some(own) = own.and_then(|own| own.nearest(wanted, is_wait)) {
            return (&own.stacks, is_wait && own.slice == group.slice);
        }
        let others = if is_outside(thread_state) {
            self.nearest.outside(group.thread)
        } else {
            let kind = kind_of(self.tables, group.thread);
            let at = |place| (thread_state.state, thread_state.context, place, kind);
            let of_state = self.by_kind.get(&(group.thread_state, kind));
            of_state
                .or_else(|| self.by_construct.get(&at(thread_state.call)))
                .or_else(|| self.by_construct.get(&at(FrameId::NONE)))
        };
        let stacks: &[Sampled] = match others.and_then(|others| others.nearest(wanted, is_wait)) {
            Some(other) => &other.stacks,
            None if is_outside(thread_state) => {
                self.roots.get(&group.thread).map_or(&[], |root| root)
            }
            None => &[],
        };
        (stacks, false)
    }
}

/// Samples of several threads and slices, summed by key: one candidate for each scheduling state.
struct Pool<K>(FxHashMap<(K, Scheduling), FxHashMap<(StackId, bool), u32>>);

impl<K> Default for Pool<K> {
    fn default() -> Self {
        Pool(FxHashMap::default())
    }
}

impl<K: Eq + Hash> Pool<K> {
    fn add(&mut self, key: K, sum: &Sum) {
        let stacks = self.0.entry((key, sum.scheduling)).or_default();
        *stacks.entry((sum.stack, sum.kernel)).or_default() += sum.samples;
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
