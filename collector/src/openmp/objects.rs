//! The memory that calls between ranks are about: allocations that were seen, and variables.

use std::collections::BTreeMap;

use experiment::ids::ObjectId;
use rustc_hash::FxHashMap;

/// Memory by process and address.
#[derive(Default)]
pub(super) struct Objects {
    /// What is allocated, by its first address; with its end.
    allocated: BTreeMap<(i32, u64), (u64, ObjectId)>,
    /// Addresses in other memory.
    others: FxHashMap<(i32, u64), ObjectId>,
}

/// The most allocations, and addresses in variables, that are known at once. The memory of others is not.
const MOST: usize = 1 << 16;

impl Objects {
    /// Memory was allocated. What was there before is gone.
    pub(super) fn add(&mut self, pid: i32, [start, end]: [u64; 2], object: ObjectId) {
        let overlapping = self.allocated.range((pid, 0)..(pid, end)).rev();
        let gone = overlapping.take_while(|(_, (last, _))| *last > start);
        let gone: Vec<(i32, u64)> = gone.map(|(key, _)| *key).collect();
        for key in gone {
            self.allocated.remove(&key);
        }
        if self.allocated.len() < MOST {
            self.allocated.insert((pid, start), (end, object));
        }
    }

    /// Memory is freed. Returns what it was.
    pub(super) fn free(&mut self, pid: i32, start: u64) -> ObjectId {
        let freed = self.allocated.remove(&(pid, start));
        freed.map_or(ObjectId::NONE, |(_, object)| object)
    }

    /// What an address lies in, if that is known already.
    pub(super) fn find(&self, pid: i32, address: u64) -> Option<ObjectId> {
        let before = self.allocated.range((pid, 0)..=(pid, address)).next_back();
        match before {
            Some((_, (end, object))) if *end > address => Some(*object),
            _ => self.others.get(&(pid, address)).copied(),
        }
    }

    /// Keeps what an address lies in that is not allocated. Returns that; none where there is no room.
    pub(super) fn keep(&mut self, pid: i32, address: u64, object: ObjectId) -> ObjectId {
        if self.others.len() >= MOST {
            return ObjectId::NONE;
        }
        self.others.insert((pid, address), object);
        object
    }

    /// Whether another address can be kept.
    pub(super) fn has_room(&self) -> bool {
        self.others.len() < MOST
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_of_the_allocation_that_it_lies_in() {
        let mut objects = Objects::default();
        let [first, second, third] = [1, 2, 3].map(ObjectId);
        objects.add(7, [0x1000, 0x1100], first);
        objects.add(7, [0x2000, 0x2100], second);
        assert_eq!(objects.find(7, 0x1000), Some(first));
        assert_eq!(objects.find(7, 0x10ff), Some(first));
        assert_eq!(objects.find(7, 0x1100), None);
        assert_eq!(objects.find(8, 0x1000), None, "another process");
        // Memory that was freed unseen is allocated again.
        objects.add(7, [0x10f0, 0x2010], third);
        assert_eq!(objects.find(7, 0x1000), None);
        assert_eq!(objects.find(7, 0x2000), Some(third));
        assert_eq!(objects.free(7, 0x10f0), third);
        assert_eq!(objects.free(7, 0x10f0), ObjectId::NONE);
        assert_eq!(objects.keep(7, 0x9000, second), second);
        assert_eq!(objects.find(7, 0x9000), Some(second));
    }
}
