//! The time and the samples of every distinct stack of each thread, while they are summed up.

use std::hash::{Hash, Hasher};

use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use rustc_hash::FxHasher;

use super::blame::Role;
use super::{Group, Seen};
use crate::ids::{StackId, TagId, ThreadId};
use crate::state::Presence;

/// Where a thread was seen, in one state, on or off its CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Spot {
    pub(super) thread: ThreadId,
    pub(super) tag: TagId,
    pub(super) presence: Presence,
    pub(super) stack: StackId,
    pub(super) kernel: bool,
}

impl Spot {
    /// Of a group's samples at one stack.
    pub(super) fn of(group: Group, seen: &Seen) -> Spot {
        Spot {
            thread: group.thread,
            tag: group.tag,
            presence: group.presence,
            stack: seen.stack,
            kernel: seen.kernel,
        }
    }

    /// Its group, of no one slice.
    pub(super) fn group(&self) -> Group {
        Group {
            thread: self.thread,
            tag: self.tag,
            slice: 0,
            presence: self.presence,
        }
    }

    /// As many samples at its stack.
    pub(super) fn seen(&self, count: u32) -> Seen {
        Seen {
            stack: self.stack,
            kernel: self.kernel,
            count,
            plain: count,
            brief: 0,
            long: 0,
        }
    }

    fn hash(&self) -> u64 {
        let mut hasher = FxHasher::default();
        let place = u64::from(self.tag.0) << 32 | u64::from(self.stack.0);
        let side = u64::from(self.kernel) << 2 | self.presence as u64;
        (place, u64::from(self.thread.0) << 3 | side).hash(&mut hasher);
        hasher.finish()
    }
}

/// All time and all samples at a spot.
#[derive(Clone, Debug)]
pub(super) struct Sum {
    pub(super) spot: Spot,
    pub(super) role: Option<Role>,
    pub(super) nanos: u64,
    pub(super) blame: f64,
    /// Samples of groups that have time.
    pub(super) count: u32,
    /// All samples.
    pub(super) seen: u32,
}

/// The sums by spot. There is one for each distinct stack of each thread and state, so the table
/// holds no spots of its own.
#[derive(Default)]
pub(super) struct Spots {
    pub(super) sums: Vec<Sum>,
    by_spot: HashTable<u32>,
}

impl Spots {
    /// The number of a spot's sum; a new one begins with nothing, and the role that is made for it.
    pub(super) fn at(&mut self, spot: Spot, role: impl FnOnce() -> Option<Role>) -> u32 {
        let sums = &mut self.sums;
        let same = |&at: &u32| sums[at as usize].spot == spot;
        let hash = |&at: &u32| sums[at as usize].spot.hash();
        match self.by_spot.entry(spot.hash(), same, hash) {
            Entry::Occupied(known) => *known.get(),
            Entry::Vacant(free) => {
                let at = sums.len() as u32;
                free.insert(at);
                sums.push(Sum {
                    spot,
                    role: role(),
                    nanos: 0,
                    blame: 0.0,
                    count: 0,
                    seen: 0,
                });
                at
            }
        }
    }

    /// The sums in the order of spots.
    pub(super) fn sorted(self) -> Vec<Sum> {
        drop(self.by_spot);
        let mut sums = self.sums;
        sums.sort_unstable_by_key(|sum| sum.spot);
        sums
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_spot_has_one_sum_and_its_role_is_asked_for_once() {
        let spot = |thread, tag, stack, presence, kernel| Spot {
            thread: ThreadId(thread),
            tag: TagId(tag),
            presence,
            stack: StackId(stack),
            kernel,
        };
        let mut all = Vec::new();
        for (thread, tag) in [(0, 0), (0, 1), (1, 0)] {
            for stack in 0..500 {
                all.push(spot(thread, tag, stack, Presence::Running, false));
                all.push(spot(thread, tag, stack, Presence::Running, true));
                all.push(spot(thread, tag, stack, Presence::Blocked, false));
            }
        }
        let mut spots = Spots::default();
        let first: Vec<u32> = all
            .iter()
            .map(|&spot| spots.at(spot, || Some(Role::Works)))
            .collect();
        assert!(first.iter().copied().eq(0..all.len() as u32));
        let again = |&spot: &Spot| spots.at(spot, || panic!("it is known"));
        assert!(all.iter().map(again).eq(first));
        let sorted = spots.sorted();
        assert!(sorted.is_sorted_by_key(|sum| sum.spot));
        assert_eq!(sorted.len(), all.len());
    }
}
