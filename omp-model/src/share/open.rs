//! A slice of time while samples may still fall into it.

use rustc_hash::FxHashMap;

use super::sleeps::Slept;
use super::{Group, Seen, Tally};
use crate::ids::{StackId, ThreadId};

/// What is known so far of a slice.
#[derive(Debug, Default)]
pub(super) struct Open {
    /// Clock samples ([`super::digest::key`]), by thread, in the order of time.
    pub(super) clock: Vec<(ThreadId, Vec<u64>)>,
    /// Samples at switches, and the sleeps that they began.
    off: FxHashMap<(Group, StackId), Tally>,
}

impl Open {
    pub(super) fn add(&mut self, group: Group, stack: StackId, slept: Slept) {
        self.off.entry((group, stack)).or_default().add(slept);
    }

    /// The groups of samples at switches with their stacks, in their order.
    pub(super) fn take_off(&mut self) -> Vec<(Group, Vec<Seen>)> {
        let mut off: Vec<_> = std::mem::take(&mut self.off).into_iter().collect();
        off.sort_unstable_by_key(|&(key, _)| key);
        let groups = off.chunk_by(|one, other| one.0.0 == other.0.0);
        let seen = |&((_, stack), tally): &((Group, StackId), Tally)| tally.seen(stack, false);
        groups
            .map(|of_group| (of_group[0].0.0, of_group.iter().map(seen).collect()))
            .collect()
    }
}
