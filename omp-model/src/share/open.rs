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
    /// Clock samples, by thread and whether in the kernel.
    pub(super) counts: Vec<(ThreadId, bool, Vec<Count>)>,
    /// Samples at switches, and the sleeps that they began.
    off: FxHashMap<(Group, StackId), Tally>,
}

impl Open {
    pub(super) fn add(&mut self, group: Group, stack: StackId, slept: Slept) {
        self.off.entry((group, stack)).or_default().add(slept);
    }

    /// The groups with their stacks, both in their order.
    pub(super) fn groups(self) -> Vec<(Group, Vec<Seen>)> {
        let mut all: Vec<(Group, Seen)> = Vec::new();
        let mut counts = self.counts;
        counts.sort_by_key(|&(thread, ..)| thread);
        for of_thread in counts.chunk_by(|one, other| one.0 == other.0) {
            let first = all.len();
            for (thread, kernel, counts) in of_thread {
                all.extend(counts.iter().map(|count| {
                    let group = Group {
                        thread: *thread,
                        tag: count.tag(),
                        slice: 0,
                        presence: Presence::Running,
                    };
                    let seen = Seen {
                        stack: count.stack(),
                        kernel: *kernel,
                        count: count.count,
                        plain: count.count,
                        brief: 0,
                        long: 0,
                    };
                    (group, seen)
                }));
            }
            // A few stretches that are sorted already.
            all[first..].sort_by_key(|(group, seen)| (group.tag, seen.stack, seen.kernel));
        }
        let mut groups: Vec<(Group, Vec<Seen>)> = Vec::new();
        let mut push = |group: Group, seen: Seen| match groups.last_mut() {
            Some((known, stacks)) if *known == group => match stacks.last_mut() {
                Some(last) if (last.stack, last.kernel) == (seen.stack, seen.kernel) => {
                    last.count += seen.count;
                    last.plain += seen.plain;
                }
                _ => stacks.push(seen),
            },
            _ => groups.push((group, vec![seen])),
        };
        all.into_iter().for_each(|(group, seen)| push(group, seen));
        let mut off: Vec<_> = self.off.into_iter().collect();
        off.sort_unstable_by_key(|&(key, _)| key);
        for ((group, stack), tally) in off {
            push(group, tally.seen(stack, false));
        }
        groups
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
