//! A slice of time while samples may still fall into it.

use rustc_hash::FxHashMap;

use super::digest::Count;
use super::sleeps::Slept;
use super::{Group, Seen, Tally};
use crate::ids::{StackId, TagId, ThreadId};
use crate::state::Presence;

/// What is known so far of a slice.
#[derive(Debug, Default)]
pub(super) struct Open {
    /// Clock samples, by thread; each list is in the order of its keys.
    pub(super) counts: Vec<(ThreadId, Vec<Count>)>,
    /// Samples at switches, and the sleeps that they began.
    off: FxHashMap<(Group, StackId), Tally>,
}

impl Open {
    pub(super) fn add(&mut self, group: Group, stack: StackId, slept: Slept) {
        self.off.entry((group, stack)).or_default().add(slept);
    }

    /// The groups with their stacks.
    pub(super) fn groups(self) -> Groups {
        let mut groups = Groups::default();
        let mut counts = self.counts;
        counts.sort_by_key(|&(thread, _)| thread);
        let mut of_one: Vec<Count> = Vec::new();
        for of_thread in counts.chunk_by(|one, other| one.0 == other.0) {
            let sorted: &[Count] = match of_thread {
                [(_, only)] => only,
                several => {
                    of_one.clear();
                    several.iter().for_each(|(_, list)| of_one.extend(list));
                    // A few stretches that are sorted already.
                    of_one.sort_by_key(|count| count.key);
                    &of_one
                }
            };
            for count in sorted {
                let group = Group {
                    thread: of_thread[0].0,
                    tag: count.tag(),
                    slice: 0,
                    presence: Presence::Running,
                };
                groups.push(
                    group,
                    Seen {
                        stack: count.stack(),
                        kernel: count.kernel(),
                        count: count.count,
                        plain: count.count,
                        brief: 0,
                        long: 0,
                    },
                );
            }
        }
        let mut off: Vec<_> = self.off.into_iter().collect();
        off.sort_unstable_by_key(|&(key, _)| key);
        for ((group, stack), tally) in off {
            groups.push(group, tally.seen(stack, false));
        }
        groups
    }
}

/// Groups of a slice, each with its stacks in their order.
#[derive(Debug, Default)]
pub(super) struct Groups {
    /// Each with where its stacks end; they begin at the end of the group before.
    ends: Vec<(Group, usize)>,
    seen: Vec<Seen>,
}

impl Groups {
    /// Adds to the last group or begins another one.
    fn push(&mut self, group: Group, seen: Seen) {
        match self.ends.last_mut() {
            Some((known, end)) if *known == group => {
                if let Some(last) = self.seen.last_mut()
                    && (last.stack, last.kernel) == (seen.stack, seen.kernel)
                {
                    last.count += seen.count;
                    last.plain += seen.plain;
                    return;
                }
                *end += 1;
            }
            _ => self.ends.push((group, self.seen.len() + 1)),
        }
        self.seen.push(seen);
    }

    /// Each group with its stacks.
    pub(super) fn iter(&self) -> impl Iterator<Item = (Group, &[Seen])> {
        let mut start = 0;
        self.ends.iter().map(move |&(group, end)| {
            let stacks = &self.seen[start..end];
            start = end;
            (group, stacks)
        })
    }
}

/// The measured time of the groups of a slice, in the order of groups; 0 where it was taken.
pub(super) struct Times(pub(super) Vec<(Group, u64)>);

impl Times {
    /// The time that is left.
    pub(super) fn left(&self) -> impl Iterator<Item = (Group, u64)> + '_ {
        self.0.iter().copied().filter(|&(_, nanos)| nanos > 0)
    }

    /// A group's time, to be taken.
    pub(super) fn of(&mut self, group: Group) -> Option<&mut u64> {
        let at = self
            .0
            .binary_search_by_key(&key(group), |&(group, _)| key(group));
        at.ok().map(|at| &mut self.0[at].1)
    }
}

/// The order of groups in a slice.
const fn key(group: Group) -> (ThreadId, TagId, Presence) {
    (group.thread, group.tag, group.presence)
}
