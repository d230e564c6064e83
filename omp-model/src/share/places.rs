//! Where time stands: by the samples of its own group, or by those of the nearest one.
//!
//! A group without a sample takes the first of these that has any:
//!
//! 1. the same thread and tag at another moment or presence, the nearest. A thread waits at the
//!    same place asleep or spinning, so for waits the time is nearer than the presence; off-CPU
//!    work stands where the thread switches out, so for work the presence is nearer. Long sleeps
//!    that are work stand where long ones do, else where the thread ran, but not where it dozed.
//! 2. inside constructs (and idle): the same tag on other threads of the same kind, whose machine
//!    stacks begin alike;
//! 3. the same state and context at no other known place, on such threads;
//! 4. outside constructs: the same thread outside constructs, whatever its state, else what all
//!    stacks and fork points of the thread have in common;
//! 5. nothing: the construct's own place.

use std::collections::BTreeMap;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::ids::{ContextId, FrameId, StackId, TagId, ThreadId};
use crate::state::{Presence, State};
use crate::tables::{Tables, Tag, ThreadKind};

use super::near::Kind;
use super::roots::Roots;
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
#[derive(Clone, Debug)]
pub(super) struct Donor {
    pub(super) slice: u32,
    pub(super) presence: Presence,
    /// Whether the stacks are those of long sleeps.
    pub(super) long: bool,
    pub(super) stacks: Vec<Seen>,
}

impl Donor {
    /// So many kinds of them there are.
    pub(super) const KINDS: usize = 2 * Presence::ALL.len();

    /// Of a group's samples: those of long sleeps and others, where there are any.
    pub(super) fn of(group: Group, stacks: &[Seen]) -> impl Iterator<Item = Donor> + use<> {
        let (long, other): (Vec<Seen>, Vec<Seen>) = stacks.iter().partition(|seen| seen.long > 0);
        let donors = [(false, other), (true, long)];
        let donors = donors.into_iter().filter(|(_, stacks)| !stacks.is_empty());
        donors.map(move |(long, stacks)| Donor {
            slice: group.slice,
            presence: group.presence,
            long,
            stacks: heaviest(stacks),
        })
    }

    /// The number of a kind: of a presence, and whether of long sleeps.
    pub(super) const fn number((presence, long): Kind) -> usize {
        presence as usize + if long { Presence::ALL.len() } else { 0 }
    }

    /// The kind of a number.
    pub(super) const fn kind_of(number: usize) -> Kind {
        let all = Presence::ALL;
        (all[number % all.len()], number >= all.len())
    }
}

/// Time that borrows its places.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wanted {
    pub(super) group: Group,
    /// Whether it is long sleeps.
    pub(super) long: bool,
}

/// Donors by the number of their kind, each list in the order of time.
#[derive(Debug, Default)]
struct Donors([Vec<Donor>; Donor::KINDS]);

impl Donors {
    /// The nearest donor in time and presence, whichever counts more for this kind of time.
    fn nearest(&self, Wanted { group, long }: Wanted, wait: bool) -> Option<&Donor> {
        let nearest_in_time = self.0.iter().filter_map(|donors| {
            let after = donors.partition_point(|d| d.slice < group.slice);
            let around = &donors[after.saturating_sub(1)..donors.len().min(after + 1)];
            around.iter().min_by_key(|d| d.slice.abs_diff(group.slice))
        });
        nearest_in_time.min_by_key(|donor| {
            let distance = donor.slice.abs_diff(group.slice);
            let off_cpu = donor.presence != Presence::Running;
            let unlike = match long && off_cpu && !donor.long {
                // Where it dozed tells nothing of where it slept: that it ran there tells more.
                true => 3,
                false => u32::from(unlike(group.presence, donor.presence)),
            };
            if wait {
                (distance, unlike)
            } else {
                (unlike, distance)
            }
        })
    }

    /// Adds a donor that is none before another's time.
    fn add(&mut self, donor: Donor) {
        self.0[Donor::number((donor.presence, donor.long))].push(donor);
    }
}

/// All places that samples showed.
#[derive(Debug)]
pub(super) struct Places<'a> {
    tables: &'a Tables,
    by_thread: FxHashMap<(ThreadId, TagId), Donors>,
    by_kind: FxHashMap<(TagId, ThreadKind), Donors>,
    by_context: FxHashMap<(State, ContextId, FrameId, ThreadKind), Donors>,
    outside: FxHashMap<ThreadId, Donors>,
    roots: FxHashMap<ThreadId, [Seen; 1]>,
    idle: FxHashMap<ThreadKind, StackId>,
}

/// What places are made of.
#[derive(Debug)]
pub(super) struct Survey<'a> {
    tables: &'a Tables,
    by_thread: FxHashMap<(ThreadId, TagId), Donors>,
    by_kind: Pool<(TagId, ThreadKind)>,
    by_context: Pool<(State, ContextId, FrameId, ThreadKind)>,
    outside: FxHashMap<ThreadId, Donors>,
    roots: Roots<'a>,
    idle: BTreeMap<(u8, StackId), (ThreadKind, u64)>,
    /// What is asked of it, if that is known.
    needs: Option<Needs>,
}

/// Time that its own thread's state has no places for: few recordings have any, and to pool all
/// stacks for it takes much of what a report may take.
#[derive(Debug, Default)]
pub(super) struct Needs {
    constructs: FxHashSet<(State, ContextId)>,
    threads: FxHashSet<ThreadId>,
}

impl<'a> Survey<'a> {
    pub(super) fn new(tables: &'a Tables) -> Survey<'a> {
        Survey {
            tables,
            by_thread: FxHashMap::default(),
            by_kind: Pool(FxHashMap::default()),
            by_context: Pool(FxHashMap::default()),
            outside: FxHashMap::default(),
            roots: Roots::new(tables),
            idle: BTreeMap::new(),
            needs: None,
        }
    }

    /// Learns what it will be asked for, when all donors are known and before samples are added.
    pub(super) fn asked(&mut self, wanted: impl Iterator<Item = Wanted>) {
        let mut needs = Needs::default();
        for Wanted { group, .. } in wanted {
            if self.by_thread.contains_key(&(group.thread, group.tag)) {
                continue;
            }
            let tag = tag_of(self.tables, group.tag);
            if is_outside(tag) {
                needs.threads.insert(group.thread);
            } else {
                needs.constructs.insert((tag.state, tag.context));
            }
        }
        self.needs = Some(needs);
    }

    fn pools(&self, tag: Tag) -> bool {
        let asked = |needs: &Needs| needs.constructs.contains(&(tag.state, tag.context));
        !is_outside(tag) && self.needs.as_ref().is_none_or(asked)
    }

    fn has_root(&self, thread: ThreadId) -> bool {
        let asked = |needs: &Needs| needs.threads.contains(&thread);
        self.needs.as_ref().is_none_or(asked)
    }

    /// Adds a group as one that others of its thread may borrow from, in the order of time.
    pub(super) fn donor(&mut self, thread: ThreadId, tag: TagId, donor: Donor) {
        self.by_thread.entry((thread, tag)).or_default().add(donor);
    }

    /// Adds one that is outside of all constructs, in the order of time, and of tags within a
    /// slice: its thread's other such time may borrow from it, too.
    pub(super) fn outside(&mut self, thread: ThreadId, donor: Donor) {
        self.outside.entry(thread).or_default().add(donor);
    }

    /// Adds samples of a thread's state, of one group or of several.
    pub(super) fn samples(
        &mut self,
        thread: ThreadId,
        tag: TagId,
        presence: Presence,
        stacks: &[Seen],
    ) {
        let row = tag_of(self.tables, tag);
        let kind = kind_of(self.tables, thread);
        if self.has_root(thread) {
            let roots = &mut self.roots;
            stacks.iter().for_each(|seen| roots.add(thread, seen.stack));
        }
        if row.state == State::Idle {
            for seen in stacks {
                let count = self.idle.entry((kind as u8, seen.stack));
                count.or_insert((kind, 0)).1 += u64::from(seen.count);
            }
        }
        if self.pools(row) {
            self.by_kind.add((tag, kind), presence, stacks);
            let key = (row.state, row.context, row.place, kind);
            self.by_context.add(key, presence, stacks);
        }
    }

    /// Adds a thread's state that has time.
    pub(super) fn time(&mut self, thread: ThreadId, tag: TagId) {
        if self.has_root(thread) {
            let context = tag_of(self.tables, tag).context;
            self.roots.add_context(thread, context);
        }
    }

    /// What all of that comes to.
    pub(super) fn places(mut self) -> Places<'a> {
        for donors in self.outside.values_mut() {
            for donors in &mut donors.0 {
                donors.sort_by_key(|d| d.slice);
            }
        }
        let mut best = FxHashMap::<ThreadKind, (u64, StackId)>::default();
        for ((_, stack), (kind, count)) in self.idle {
            let entry = best.entry(kind).or_insert((0, stack));
            if count > entry.0 {
                *entry = (count, stack);
            }
        }
        Places {
            tables: self.tables,
            by_thread: self.by_thread,
            by_kind: self.by_kind.donors(),
            by_context: self.by_context.donors(),
            outside: self.outside,
            roots: self.roots.finish(),
            idle: best
                .into_iter()
                .map(|(kind, (_, stack))| (kind, stack))
                .collect(),
        }
    }
}

/// How far a donor's presence is from the wanted one.
fn unlike(wanted: Presence, has: Presence) -> u8 {
    use Presence::{Blocked, Running};
    match (wanted, has) {
        _ if wanted == has => 0,
        // A thread loses its CPU wherever it runs.
        (off, Running) | (Running, off) if off != Blocked => 1,
        _ if wanted.wants_cpu() && has.wants_cpu() => 1,
        (Blocked, Running) => 1,
        _ => 2,
    }
}

/// Whether time of a state may stand wherever its thread was seen outside of constructs.
pub(super) fn is_outside(tag: Tag) -> bool {
    !in_construct(tag) && tag.state != State::Idle
}

fn in_construct(tag: Tag) -> bool {
    tag.context != ContextId::ROOT
}

/// The heaviest stacks, in the order of stacks.
pub(super) fn heaviest(mut stacks: Vec<Seen>) -> Vec<Seen> {
    if stacks.len() > BORROWED {
        stacks.select_nth_unstable_by_key(BORROWED, |s| {
            (std::cmp::Reverse(s.count), s.stack, s.kernel)
        });
        stacks.truncate(BORROWED);
    }
    stacks.sort_unstable();
    stacks
}

/// Sums samples under a key that has no slice: one donor for each presence.
#[derive(Debug)]
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
                brief: 0,
                long: 0,
            });
            let stacks = heaviest(seen.collect());
            donors.entry(key).or_default().add(Donor {
                slice: 0,
                presence,
                long: false,
                stacks,
            });
        }
        donors
    }
}

impl Places<'_> {
    pub(super) fn kind(&self, thread: ThreadId) -> ThreadKind {
        kind_of(self.tables, thread)
    }

    /// The stack that idle threads of each kind are seen at most often.
    pub(super) fn idle(&self) -> &FxHashMap<ThreadKind, StackId> {
        &self.idle
    }

    /// The stacks that the time of a group without samples is shared over; none is the
    /// construct's own place.
    pub(super) fn of(&self, wanted: Wanted) -> Source<'_> {
        let group = wanted.group;
        let tag = tag_of(self.tables, group.tag);
        let kind = self.kind(group.thread);
        let wait = tag.state.is_wait();
        let own_thread = self.by_thread.get(&(group.thread, group.tag));
        if let Some(donor) = own_thread.and_then(|donors| donors.nearest(wanted, wait)) {
            return Source {
                stacks: &donor.stacks,
                inferred: !(wait && donor.slice == group.slice),
                own: false,
            };
        }
        let elsewhere = [tag.place, FrameId::NONE];
        let borrowed = if !is_outside(tag) {
            self.by_kind.get(&(group.tag, kind)).or_else(|| {
                elsewhere
                    .iter()
                    .find_map(|&place| self.by_context.get(&(tag.state, tag.context, place, kind)))
            })
        } else {
            self.outside.get(&group.thread)
        };
        let stacks: &[Seen] = match borrowed.and_then(|donors| donors.nearest(wanted, wait)) {
            Some(donor) => &donor.stacks,
            None if !is_outside(tag) => &[],
            None => self.roots.get(&group.thread).map_or(&[], |root| root),
        };
        Source {
            stacks,
            inferred: true,
            own: false,
        }
    }
}
