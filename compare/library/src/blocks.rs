//! The program's blocks of the heap, and its mappings.

use std::sync::Mutex;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use divergence::record::Memory;
use divergence::spans::{self, Pages};

/// A block that is in use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Block {
    /// Its first byte; 0: none.
    pub(crate) address: u64,
    pub(crate) bytes: u64,
    /// The return address of the call that allocated it.
    pub(crate) code: u64,
    /// The number of the instance in or after which that was.
    born: u64,
    is_mapping: bool,
}

impl Block {
    pub(crate) fn memory(&self) -> Memory {
        if self.is_mapping {
            Memory::Mapping
        } else {
            Memory::Heap
        }
    }
}

/// Blocks by address: a table with linear probing.
struct Table {
    blocks: Vec<Block>,
    used: usize,
}

const SHARDS: usize = 64;
static SHARD: [Mutex<Table>; SHARDS] = [const {
    Mutex::new(Table {
        blocks: Vec::new(),
        used: 0,
    })
}; SHARDS];

/// The number of the instance that is being compared, or was last; blocks are born in it.
static INSTANCE: AtomicU64 = AtomicU64::new(1);

fn hash(address: u64) -> u64 {
    (address >> 4).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

fn shard(address: u64) -> Option<std::sync::MutexGuard<'static, Table>> {
    SHARD
        .get(hash(address) as usize >> 8 & (SHARDS - 1))?
        .lock()
        .ok()
}

impl Table {
    fn first_place(&self, address: u64) -> usize {
        (hash(address) >> 20) as usize & (self.blocks.len() - 1)
    }

    /// Where the block is, or the free place where it would be.
    fn place(&self, address: u64) -> Option<usize> {
        if self.blocks.is_empty() {
            return None;
        }
        let first = self.first_place(address);
        let places = (0..self.blocks.len()).map(|step| (first + step) & (self.blocks.len() - 1));
        places.into_iter().find(|place| {
            let there = self.blocks.get(*place).map_or(0, |block| block.address);
            there == 0 || there == address
        })
    }

    fn add(&mut self, block: Block) {
        const LEAST: usize = 64;
        if (self.used + 1) * 4 > self.blocks.len() * 3 {
            let room = (self.blocks.len() * 2).max(LEAST);
            let old = std::mem::replace(&mut self.blocks, vec![Block::default(); room]);
            self.used = 0;
            old.into_iter()
                .filter(|block| block.address != 0)
                .for_each(|block| self.add(block));
        }
        if let Some(place) = self.place(block.address)
            && let Some(to) = self.blocks.get_mut(place)
        {
            self.used += usize::from(to.address == 0);
            *to = block;
        }
    }

    fn remove(&mut self, address: u64) {
        let Some(mut hole) = self.place(address).filter(|_| address != 0) else {
            return;
        };
        if self
            .blocks
            .get(hole)
            .is_none_or(|block| block.address != address)
        {
            return;
        }
        let mask = self.blocks.len() - 1;
        self.used -= 1;
        let mut next = hole;
        // Blocks behind it, up to a free place, move up if they may stand there.
        loop {
            next = (next + 1) & mask;
            let Some(block) = self.blocks.get(next).copied().filter(|it| it.address != 0) else {
                break;
            };
            let wanted = self.first_place(block.address);
            if (next.wrapping_sub(wanted) & mask) >= (next.wrapping_sub(hole) & mask) {
                if let Some(to) = self.blocks.get_mut(hole) {
                    *to = block;
                }
                hole = next;
            }
        }
        if let Some(to) = self.blocks.get_mut(hole) {
            *to = Block::default();
        }
    }
}

/// A block of the program has been allocated.
pub(crate) fn add(address: u64, bytes: u64, code: u64, is_mapping: bool) {
    if let Some(mut table) = shard(address) {
        table.add(Block {
            address,
            bytes,
            code,
            born: INSTANCE.load(Relaxed),
            is_mapping,
        });
    }
}

/// A block is about to be given back.
pub(crate) fn remove(address: u64) {
    if let Some(mut table) = shard(address) {
        table.remove(address);
    }
}

/// Begins an instance: blocks that are allocated from now on are its own.
pub(crate) fn begin_instance() {
    INSTANCE.fetch_add(1, Relaxed);
}

fn each(mut f: impl FnMut(&Block)) {
    for shard in &SHARD {
        if let Ok(table) = shard.lock() {
            table
                .blocks
                .iter()
                .filter(|block| block.address != 0)
                .for_each(&mut f);
        }
    }
}

/// Blocks of the instance, by address.
pub(crate) fn born() -> Vec<Block> {
    let now = INSTANCE.load(Relaxed);
    let mut all = Vec::new();
    each(|block| {
        if block.born == now {
            all.push(*block);
        }
    });
    all.sort_unstable();
    all
}

/// Blocks from before the instance that have a part in pages.
pub(crate) fn on(pages: &Pages) -> Vec<Block> {
    let now = INSTANCE.load(Relaxed);
    let mut all = Vec::new();
    each(|block| {
        let end = block.address.saturating_add(block.bytes);
        if block.born != now && spans::touches(pages, block.address, end) {
            all.push(*block);
        }
    });
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_that_are_given_back_leave_the_others() {
        let mut table = Table {
            blocks: Vec::new(),
            used: 0,
        };
        let block = |address| Block {
            address,
            bytes: 16,
            ..Block::default()
        };
        for number in 1..=1000 {
            table.add(block(number * 16));
        }
        for number in (1..=1000).filter(|number| number % 3 == 0) {
            table.remove(number * 16);
        }
        for number in 1..=1000 {
            let place = table.place(number * 16).unwrap();
            let is_there = table.blocks[place].address != 0;
            assert_eq!(is_there, number % 3 != 0, "{number}");
        }
        assert_eq!(table.used, 667);
    }
}
