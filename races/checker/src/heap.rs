//! Heap blocks: who allocated them, and which memory is recycled.

use std::collections::BTreeMap;

use crate::site::Block;

/// A block with the thread that allocated it.
#[derive(Debug)]
struct Entry {
    block: Block,
    thread: u32,
    is_in_region: bool,
}

/// The blocks of the program.
#[derive(Debug, Default)]
pub struct Heap {
    /// By address; those that are given back stay until their memory is another block's.
    blocks: BTreeMap<u64, Entry>,
    /// Memory that was given back since all accesses were compared: its end, and its space.
    recycled: BTreeMap<u64, (u64, u32)>,
    spaces: u32,
}

/// The first of the numbers of spaces of recycled memory.
const RECYCLED: u32 = 1 << 31;

impl Heap {
    /// The thread in slot `thread` has allocated a block, in a parallel region or outside all.
    pub fn allocate(&mut self, block: Block, thread: u32, is_in_region: bool) {
        let (begin, end) = (block.address, block.address.saturating_add(block.bytes));
        // A block whose end was not told: its memory is recycled, too.
        let is_known = self
            .blocks
            .range(..end)
            .next_back()
            .is_some_and(|(_, entry)| entry.block.address + entry.block.bytes > begin);
        if is_known {
            self.recycle(begin, end);
            let old: Vec<u64> = self
                .blocks
                .range(..end)
                .rev()
                .take_while(|(_, entry)| entry.block.address + entry.block.bytes > begin)
                .map(|(address, _)| *address)
                .collect();
            for address in old {
                self.blocks.remove(&address);
            }
        }
        self.blocks.insert(
            begin,
            Entry {
                block,
                thread,
                is_in_region,
            },
        );
    }

    /// The block is given back.
    pub fn free(&mut self, address: u64) {
        if let Some(entry) = self.blocks.get(&address) {
            let end = address.saturating_add(entry.block.bytes);
            self.recycle(address, end);
        }
    }

    /// From now on the memory is another one.
    fn recycle(&mut self, begin: u64, end: u64) {
        let old: Vec<u64> = self
            .recycled
            .range(..end)
            .rev()
            .take_while(|(_, (other_end, _))| *other_end > begin)
            .map(|(address, _)| *address)
            .collect();
        for address in old {
            if let Some((other_end, space)) = self.recycled.remove(&address) {
                if address < begin {
                    self.recycled.insert(address, (begin, space));
                }
                if other_end > end {
                    self.recycled.insert(end, (other_end, space));
                }
            }
        }
        self.spaces += 1;
        self.recycled.insert(begin, (end, RECYCLED | self.spaces));
    }

    /// All accesses so far have been compared.
    pub fn end_interval(&mut self) {
        self.recycled.clear();
    }

    /// The number of the space of an address; 0 for memory that was not recycled.
    pub fn space(&self, address: u64) -> u32 {
        if self.recycled.is_empty() {
            return 0;
        }
        match self.recycled.range(..=address).next_back() {
            Some((_, (end, space))) if *end > address => *space,
            _ => 0,
        }
    }

    fn entry(&self, address: u64) -> Option<&Entry> {
        let (_, entry) = self.blocks.range(..=address).next_back()?;
        let end = entry.block.address.saturating_add(entry.block.bytes.max(1));
        (address < end).then_some(entry)
    }

    /// The block at an address.
    pub fn block(&self, address: u64) -> Option<&Block> {
        self.entry(address).map(|entry| &entry.block)
    }

    /// Whether this thread has allocated the block at an address in a region, be it an earlier one: a
    /// thread may keep a block for itself by a threadprivate pointer.
    pub fn is_of(&self, address: u64, thread: u32) -> bool {
        self.entry(address)
            .is_some_and(|entry| entry.thread == thread && entry.is_in_region)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(address: u64, bytes: u64) -> Block {
        Block {
            address,
            bytes,
            code: 0,
            caller: 0,
            context: 0,
            base: None,
        }
    }

    #[test]
    fn recycled_memory_is_another_space() {
        let mut heap = Heap::default();
        heap.allocate(block(100, 50), 0, true);
        assert_eq!((heap.space(100), heap.space(149)), (0, 0));
        heap.free(100);
        heap.allocate(block(100, 20), 1, true);
        let first = heap.space(100);
        assert!(first != 0 && heap.space(149) != 0 && heap.space(150) == 0);
        heap.free(100);
        assert_ne!(heap.space(119), first);
        assert_eq!(heap.space(120), heap.space(149));
        heap.end_interval();
        assert_eq!(heap.space(119), 0);
    }

    #[test]
    fn memory_that_is_allocated_again_without_a_word_is_recycled() {
        let mut heap = Heap::default();
        heap.allocate(block(100, 50), 0, true);
        heap.allocate(block(120, 10), 0, true);
        assert_ne!(heap.space(125), 0);
        assert_eq!(heap.block(125).map(|block| block.address), Some(120));
        assert_eq!(heap.block(105), None);
    }

    #[test]
    fn a_block_that_was_allocated_in_a_region_is_its_thread_s() {
        let mut heap = Heap::default();
        heap.allocate(block(100, 50), 2, true);
        heap.allocate(block(200, 50), 2, false);
        assert!(heap.is_of(149, 2) && !heap.is_of(149, 1));
        assert!(!heap.is_of(150, 2) && !heap.is_of(200, 2));
    }
}
