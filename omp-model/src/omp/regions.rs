//! The instances of regions that exist.

use std::collections::VecDeque;

use experiment::ids::{ContextId, Nanos, ThreadId};
use experiment::rows::Within;
use rustc_hash::FxHashMap;

use crate::stream::Instance;

/// Index of a region's slot. Slots are reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Slot(pub(super) u32);

/// An instance of a parallel or teams region.
#[derive(Debug)]
pub(super) struct Region {
    pub(super) id: Instance,
    pub(super) context: ContextId,
    /// Its instance id, and that of the task that forked it.
    pub(super) within: Within,
    /// The encountering thread; none while the region's begin has not been seen.
    pub(super) owner: Option<ThreadId>,
    pub(super) begin: Nanos,
    /// Whether its parallel_begin was seen, so that its fork point is known.
    pub(super) begin_seen: bool,
    /// The team's size, as its implicit tasks report it.
    pub(super) team: u16,
    pub(super) ended: bool,
    /// Whether it is a construct of the program, whose instances are counted.
    pub(super) counts: bool,
    /// The threads, other than the owner, that began an implicit task of it.
    pub(super) members: Vec<Member>,
    /// The owner's [`Member::worked`], once it began its implicit task.
    pub(super) primary: Option<Nanos>,
}

impl Region {
    /// Whether its team are helper threads of the runtime. They wait for tasks of the program, and
    /// their region is no construct of the program: it has no context.
    pub(super) fn is_of_helpers(&self) -> bool {
        self.context == ContextId::ROOT
    }
}

/// A thread of a team.
#[derive(Clone, Copy, Debug)]
pub(super) struct Member {
    pub(super) thread: ThreadId,
    /// Its useful work before its implicit task.
    pub(super) worked: Nanos,
}

/// The number of ended regions that stay known, for events that come after their region's end.
const KNOWN_ENDED: usize = 128;

/// The open regions, and the last ones that ended.
#[derive(Debug, Default)]
pub(super) struct Regions {
    slots: Vec<Region>,
    by_id: FxHashMap<Instance, Slot>,
    /// The region that began last, to which most events belong.
    last: Option<(Instance, Slot)>,
    /// Ended regions, oldest first, whose slots are reused.
    ended: VecDeque<Slot>,
}

impl Regions {
    /// The slot of an instance that is open or ended recently.
    #[inline]
    pub(super) fn find(&self, id: Instance) -> Option<Slot> {
        match self.last {
            Some((last, slot)) if last == id => Some(slot),
            _ => self.by_id.get(&id).copied(),
        }
    }

    #[inline]
    pub(super) fn at(&self, slot: Slot) -> &Region {
        &self.slots[slot.0 as usize]
    }

    #[inline]
    pub(super) fn at_mut(&mut self, slot: Slot) -> &mut Region {
        &mut self.slots[slot.0 as usize]
    }

    /// The region in `slot` if it is still the instance `id` and open.
    #[inline]
    pub(super) fn open(&self, slot: Slot, id: Instance) -> Option<&Region> {
        let region = self.at(slot);
        (region.id == id && !region.ended).then_some(region)
    }

    /// Begins an instance, and forgets a known one with the same id.
    pub(super) fn begin(
        &mut self,
        id: Instance,
        context: ContextId,
        within: Within,
        owner: Option<ThreadId>,
        begin: Nanos,
    ) -> Slot {
        let slot = if self.ended.len() > KNOWN_ENDED {
            self.ended.pop_front()
        } else {
            None
        };
        let slot = match slot {
            Some(slot) => {
                let old = self.at(slot).id;
                if self.by_id.get(&old) == Some(&slot) {
                    self.by_id.remove(&old);
                }
                slot
            }
            None => {
                self.slots.push(Region {
                    id,
                    context,
                    within,
                    owner,
                    begin,
                    begin_seen: owner.is_some(),
                    team: 0,
                    ended: false,
                    counts: true,
                    members: Vec::new(),
                    primary: None,
                });
                Slot(self.slots.len() as u32 - 1)
            }
        };
        // The members' allocation stays with the slot.
        let region = self.at_mut(slot);
        region.id = id;
        region.context = context;
        region.within = within;
        region.owner = owner;
        region.begin = begin;
        region.begin_seen = owner.is_some();
        region.team = 0;
        region.ended = false;
        region.counts = context != ContextId::ROOT;
        region.members.clear();
        region.primary = None;
        self.by_id.insert(id, slot);
        self.last = Some((id, slot));
        slot
    }

    /// Adds the thread to the members.
    #[inline]
    pub(super) fn join(&mut self, slot: Slot, member: Member) {
        let members = &mut self.at_mut(slot).members;
        if members.len() == members.capacity() {
            // Events out of order may add a thread many times. Removing duplicates only here
            // costs nothing in the normal case.
            members.sort_unstable_by_key(|member| (member.thread, member.worked));
            members.dedup_by_key(|member| member.thread);
        }
        members.push(member);
    }

    /// Ends the region. Its slot is reused later.
    pub(super) fn end(&mut self, slot: Slot) {
        let region = self.at_mut(slot);
        debug_assert!(!region.ended, "a region ends once");
        region.ended = true;
        self.ended.push_back(slot);
    }

    /// The number of slots: of open regions and of ended ones that are known.
    #[cfg(test)]
    pub(super) fn slots(&self) -> usize {
        self.slots.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn begin(regions: &mut Regions, id: u64) -> Slot {
        let (context, within) = (ContextId::ROOT, Within::default());
        regions.begin(Instance(id), context, within, None, Nanos(0))
    }

    #[test]
    fn slots_are_used_again_and_ended_regions_stay_known_for_a_while() {
        let mut regions = Regions::default();
        for id in 1..=10_000 {
            let slot = begin(&mut regions, id);
            regions.end(slot);
        }
        assert_eq!(regions.slots(), KNOWN_ENDED + 1);
        assert!(regions.at(regions.find(Instance(9_900)).unwrap()).ended);
        assert_eq!(regions.find(Instance(9_000)), None);
        assert!(regions.by_id.len() <= KNOWN_ENDED + 1);
    }

    #[test]
    fn a_thread_that_joins_for_ever_takes_no_room() {
        let mut regions = Regions::default();
        let slot = begin(&mut regions, 1);
        for i in 0..100_000 {
            let thread = ThreadId(i % 3);
            let worked = Nanos(u64::from(i));
            regions.join(slot, Member { thread, worked });
        }
        assert!(regions.at(slot).members.capacity() <= 16);
    }
}
