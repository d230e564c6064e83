//! The outermost frames of stacks that are too deep to be unwound as a whole with each sample.
//!
//! A walk over a hundred thousand frames takes ten milliseconds. But the outermost frames hardly change:
//! those that a thread had are looked for in its memory, and only if they are not there is its stack
//! walked over, for a bounded share of the time.

use std::cell::RefCell;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::time::{Duration, Instant};

use rustc_hash::FxHashMap;
use unwinder::{AddressSpace, Regs, StackBytes, StackMemory, UnwindCache};

/// The most outermost frames that are kept.
const OUTERMOST: usize = 100;

/// Walks may take a twentieth of the time.
const SHARE: u32 = 20;
/// The time that walks may take at once.
const AT_ONCE: Duration = Duration::from_millis(50);

/// The outermost frames of at most this many threads are kept.
const MOST: usize = 1 << 10;

/// The outermost frames of deep stacks, by process and thread.
pub(crate) struct DeepStacks {
    known: FxHashMap<(i32, i32), Outermost>,
    begun: Instant,
    spent: Duration,
}

/// The outermost frames of a thread.
struct Outermost {
    /// The stack pointer in the first of them.
    sp: u64,
    /// Return addresses, inner ones first.
    addresses: Vec<u64>,
}

impl Default for DeepStacks {
    fn default() -> Self {
        DeepStacks {
            known: FxHashMap::default(),
            begun: Instant::now(),
            spent: Duration::ZERO,
        }
    }
}

impl DeepStacks {
    /// The outermost return addresses of a thread's stack, inner ones first, from its memory. `None`
    /// if they could not be found in the time that is left for that.
    pub(crate) fn outermost(
        &mut self,
        (space, cache): (&AddressSpace, &mut UnwindCache),
        thread: (i32, i32),
        regs: &Regs,
        memory: &File,
    ) -> Option<&[u64]> {
        let memory = Pieces::new(memory);
        let known = self.known.get(&thread);
        if !known.is_some_and(|known| known.sp > regs.sp() && known.are_in(&memory)) {
            self.known.remove(&thread);
            if self.spent > AT_ONCE + self.begun.elapsed() / SHARE {
                return None;
            }
            let stack = StackBytes {
                sp: regs.sp(),
                bytes: &[],
                beyond: Some(&memory),
            };
            let begun = Instant::now();
            let found = space.outermost(cache, regs, &stack, OUTERMOST);
            self.spent += begun.elapsed();
            let (sp, addresses) = found?;
            if self.known.len() >= MOST {
                self.known.clear();
            }
            self.known.insert(thread, Outermost { sp, addresses });
        }
        let known = self.known.get(&thread)?;
        Some(&known.addresses)
    }
}

impl Outermost {
    /// Whether the addresses still lie on the stack, in their order.
    fn are_in(&self, memory: &Pieces<'_>) -> bool {
        let mut at = self.sp;
        self.addresses.iter().skip(1).all(|address| {
            while let Some(word) = memory.read(at) {
                at += 8;
                if word == *address {
                    return true;
                }
            }
            false
        })
    }
}

/// Bytes that are read at once.
const PIECE: u64 = 64 << 10;
/// Most pieces that are read of one stack: 256 MiB.
const MOST_PIECES: u32 = 4096;

/// A process's memory, read piece by piece, of which the last one is kept.
struct Pieces<'a> {
    file: &'a File,
    last: RefCell<(u64, Vec<u8>)>,
    left: RefCell<u32>,
}

impl<'a> Pieces<'a> {
    fn new(file: &'a File) -> Pieces<'a> {
        Pieces {
            file,
            last: RefCell::default(),
            left: RefCell::new(MOST_PIECES),
        }
    }
}

impl StackMemory for Pieces<'_> {
    fn read(&self, address: u64) -> Option<u64> {
        let mut last = self.last.borrow_mut();
        let (start, bytes) = &mut *last;
        let is_in = |start: u64, bytes: &[u8]| {
            address >= start && address.saturating_sub(start) + 8 <= bytes.len() as u64
        };
        if !is_in(*start, bytes) {
            let mut left = self.left.borrow_mut();
            *left = left.checked_sub(1)?;
            *start = address;
            bytes.resize(PIECE as usize, 0);
            let length = self.file.read_at(bytes, address).unwrap_or(0);
            bytes.truncate(length);
            if !is_in(*start, bytes) {
                return None;
            }
        }
        let offset = (address - *start) as usize;
        let word = bytes.get(offset..)?.first_chunk()?;
        Some(u64::from_le_bytes(*word))
    }
}
