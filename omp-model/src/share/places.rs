//! Where time stands: by the samples of its own group, or by those of the nearest one.
//!
//! A group without a sample takes the first of these that has any:
//!
//! 1. the same thread and tag at another moment or presence, the nearest. A thread waits at the
//!    same place asleep or spinning, so for waits the time is nearer than the presence; off-CPU
//!    work stands where the thread switches out, so for work the presence is nearer.
//! 2. inside constructs (and idle): the same tag on other threads of the same kind, whose machine
//!    stacks begin alike;
//! 3. the same state and context at no other known place, on such threads;
//! 4. outside constructs: the same thread outside constructs, whatever its state, else what all
//!    stacks and fork points of the thread have in common;
//! 5. nothing: the construct's own place.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use crate::ids::{ContextId, FrameId, StackId, TagId, ThreadId};
use crate::state::{Presence, State};
use crate::tables::{Tables, Tag, ThreadKind};

use super::roots::roots;
use super::{Group, Seen, kind_of, tag_of};

/// Borrowed places are at most this many: a group without samples is short, and detail in it
/// would be invented.
const BORROWED: usize = 8;

/// Stacks to share time over.
#[derive(Clone, Copy, Debug)]
pub(super) struct Source<'a> {
    pub(super) stacks: &'a [Seen],
    /// Whether no sample of this thread fell into this state in this slice.
    pub(super) inferred: bool,
    /// Whether the stacks are the group's own.
    pub(super) own: bool,
}

/// A group of samples as a place to borrow.
#[derive(Debug)]
struct Donor {
    slice: u32,
    presence: Presence,
    stacks: Vec<Seen>,
}

/// Donors by the number of their presence, each list in the order of time.
#[derive(Debug, Default)]
struct Donors([Vec<Donor>; 3]);

impl Donors {
    /// The nearest donor in time and presence, whichever counts more for this kind of time.
    fn nearest(&self, group: Group, wait: bool) -> Option<&Donor> {
        let nearest_in_time = self.0.iter().filter_map(|donors| {
            let after = donors.partition_point(|d| d.slice < group.slice);
            let around = &donors[after.saturating_sub(1)..donors.len().min(after + 1)];
            around.iter().min_by_key(|d| d.slice.abs_diff(group.slice))
        });
        nearest_in_time.min_by_key(|donor| {
            let distance = donor.slice.abs_diff(group.slice);
            let unlike = u32::from(unlike(group.presence, donor.presence));
            if wait {
                (distance, unlike)
            } else {
                (unlike, distance)
            }
        })
    }

    fn add(&mut self, donor: Donor) {
        self.0[donor.presence as usize].push(donor);
    }
}

/// All places that samples showed.
#[derive(Debug)]
pub(super) struct Places<'a> {
    tables: &'a Tables,
    seen: &'a BTreeMap<Group, Vec<Seen>>,
    by_thread: FxHashMap<(ThreadId, TagId), Donors>,
    by_kind: FxHashMap<(TagId, ThreadKind), Donors>,
    by_context: FxHashMap<(State, ContextId, FrameId, ThreadKind), Donors>,
    outside: FxHashMap<ThreadId, Donors>,
    roots: FxHashMap<ThreadId, [Seen; 1]>,
}

/// How far a donor's presence is from the wanted one.
fn unlike(wanted: Presence, has: Presence) -> u8 {
    use Presence::{Blocked, Preempted, Running};
    match (wanted, has) {
        (Running, Running) | (Preempted, Preempted) | (Blocked, Blocked) => 0,
        // A thread is preempted wherever it runs.
        (Preempted, Running) | (Running, Preempted) | (Blocked, Running) => 1,
        (Preempted, Blocked) | (Running, Blocked) | (Blocked, Preempted) => 2,
    }
}

fn in_construct(tag: Tag) -> bool {
    tag.context != ContextId::ROOT
}

/// The heaviest stacks, in the order of stacks.
fn heaviest(mut stacks: Vec<Seen>) -> Vec<Seen> {
    stacks.sort_unstable_by_key(|s| (std::cmp::Reverse(s.count), s.stack, s.kernel));
    stacks.truncate(BORROWED);
    stacks.sort_unstable();
    stacks
}

/// Sums samples under a key that has no slice: one donor for each presence.
struct Pool<K>(FxHashMap<(K, Presence), FxHashMap<(StackId, bool), u32>>);

impl<K: Copy + Eq + std::hash::Hash> Pool<K> {
    fn add(&mut self, key: K, presence: Presence, stacks: &[Seen]) {
        let pool = self.0.entry((key, presence)).or_default();
        for seen in stacks {
            *pool.entry((seen.stack, seen.kernel)).or_default() += seen.count;
        }
    }

    fn donors(self) -> FxHashMap<K, Donors> {
        let mut donors = FxHashMap::<K, Donors>::default();
        for ((key, presence), pool) in self.0 {
            let seen = pool.into_iter().map(|((stack, kernel), count)| Seen {
                stack,
                kernel,
                count,
                plain: count,
                nanos: 0,
            });
            let stacks = heaviest(seen.collect());
            donors.entry(key).or_default().add(Donor {
                slice: 0,
                presence,
                stacks,
            });
        }
        donors
    }
}

impl<'a> Places<'a> {
    /// `groups` are all that have time, `seen` those that have samples.
    pub(super) fn new<'g>(
        tables: &'a Tables,
        groups: impl Iterator<Item = &'g Group>,
        seen: &'a BTreeMap<Group, Vec<Seen>>,
    ) -> Self {
        let mut by_thread = FxHashMap::<_, Donors>::default();
        let mut by_kind = Pool(FxHashMap::default());
        let mut by_context = Pool(FxHashMap::default());
        let mut outside = FxHashMap::<_, Donors>::default();
        for (group, stacks) in seen {
            let tag = tag_of(tables, group.tag);
            let kind = kind_of(tables, group.thread);
            let donor = || Donor {
                slice: group.slice,
                presence: group.presence,
                stacks: heaviest(stacks.clone()),
            };
            by_thread
                .entry((group.thread, group.tag))
                .or_default()
                .add(donor());
            if in_construct(tag) || tag.state == State::Idle {
                by_kind.add((group.tag, kind), group.presence, stacks);
                by_context.add(
                    (tag.state, tag.context, tag.place, kind),
                    group.presence,
                    stacks,
                );
            } else {
                outside.entry(group.thread).or_default().add(donor());
            }
        }
        for donors in outside.values_mut() {
            for donors in &mut donors.0 {
                donors.sort_by_key(|d| d.slice);
            }
        }
        Places {
            tables,
            seen,
            by_thread,
            by_kind: by_kind.donors(),
            by_context: by_context.donors(),
            outside,
            roots: roots(tables, groups, seen),
        }
    }

    pub(super) fn kind(&self, thread: ThreadId) -> ThreadKind {
        kind_of(self.tables, thread)
    }

    /// The stack that idle threads of each kind are seen at most often.
    pub(super) fn idle(&self) -> FxHashMap<ThreadKind, StackId> {
        let mut counts = BTreeMap::<(u8, StackId), (ThreadKind, u64)>::new();
        for (group, stacks) in self.seen {
            if tag_of(self.tables, group.tag).state != State::Idle {
                continue;
            }
            let kind = self.kind(group.thread);
            for seen in stacks {
                let count = counts.entry((kind as u8, seen.stack)).or_insert((kind, 0));
                count.1 += u64::from(seen.count);
            }
        }
        let mut best = FxHashMap::<ThreadKind, (u64, StackId)>::default();
        for ((_, stack), (kind, count)) in counts {
            let entry = best.entry(kind).or_insert((0, stack));
            if count > entry.0 {
                *entry = (count, stack);
            }
        }
        best.into_iter()
            .map(|(kind, (_, stack))| (kind, stack))
            .collect()
    }

    /// The stacks that a group's time is shared over; none is the construct's own place.
    pub(super) fn of(&self, group: Group) -> Source<'_> {
        if let Some(stacks) = self.seen.get(&group) {
            return Source {
                stacks,
                inferred: false,
                own: true,
            };
        }
        let tag = tag_of(self.tables, group.tag);
        let kind = self.kind(group.thread);
        let wait = tag.state.is_wait();
        let own_thread = self.by_thread.get(&(group.thread, group.tag));
        if let Some(donor) = own_thread.and_then(|donors| donors.nearest(group, wait)) {
            return Source {
                stacks: &donor.stacks,
                inferred: !(wait && donor.slice == group.slice),
                own: false,
            };
        }
        let elsewhere = [tag.place, FrameId::NONE];
        let borrowed = if in_construct(tag) || tag.state == State::Idle {
            self.by_kind.get(&(group.tag, kind)).or_else(|| {
                elsewhere
                    .iter()
                    .find_map(|&place| self.by_context.get(&(tag.state, tag.context, place, kind)))
            })
        } else {
            self.outside.get(&group.thread)
        };
        let stacks: &[Seen] = match borrowed.and_then(|donors| donors.nearest(group, wait)) {
            Some(donor) => &donor.stacks,
            None if in_construct(tag) || tag.state == State::Idle => &[],
            None => self.roots.get(&group.thread).map_or(&[], |root| root),
        };
        Source {
            stacks,
            inferred: true,
            own: false,
        }
    }
}
