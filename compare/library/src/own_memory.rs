//! The allocator of this library: mappings of its own, apart from the program's heap.
#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout};
use std::cell::UnsafeCell;
use std::ptr::null_mut;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use inside::memory::{map_bytes, unmap_bytes};

/// Blocks from this size on are mappings of their own.
const LARGE: usize = 1 << 16;
/// The smallest block, as a power of two.
const SMALLEST: u32 = 4;
const CLASSES: usize = 13;
/// Bytes from which blocks are cut.
const CHUNK: usize = 1 << 20;

struct Own {
    is_locked: AtomicBool,
    state: UnsafeCell<State>,
}

struct State {
    /// Free blocks by size, each with the address of the next one in it.
    free: [*mut u8; CLASSES],
    rest: *mut u8,
    left: usize,
}

// SAFETY: `state` is only reached with the lock held.
unsafe impl Sync for Own {}

#[cfg_attr(not(test), global_allocator)]
static OWN: Own = Own {
    is_locked: AtomicBool::new(false),
    state: UnsafeCell::new(State {
        free: [null_mut(); CLASSES],
        rest: null_mut(),
        left: 0,
    }),
};

/// The number of the size class, and the bytes of its blocks.
fn class_of(layout: Layout) -> (usize, usize) {
    let bytes = layout
        .size()
        .max(layout.align())
        .max(1 << SMALLEST)
        .next_power_of_two();
    ((bytes.trailing_zeros() - SMALLEST) as usize, bytes)
}

fn is_large(layout: Layout) -> bool {
    layout.size().max(layout.align()) >= LARGE
}

impl Own {
    fn with<T>(&self, f: impl FnOnce(&mut State) -> T) -> T {
        while self
            .is_locked
            .compare_exchange_weak(false, true, Acquire, Relaxed)
            .is_err()
        {
            std::hint::spin_loop();
        }
        // SAFETY: the lock is held, and `f` does not allocate.
        let result = f(unsafe { &mut *self.state.get() });
        self.is_locked.store(false, Release);
        result
    }
}

impl State {
    fn take(&mut self, class: usize, bytes: usize) -> *mut u8 {
        let Some(first) = self.free.get_mut(class) else {
            return null_mut();
        };
        if !first.is_null() {
            let block = *first;
            // SAFETY: a free block holds the next one.
            *first = unsafe { block.cast::<*mut u8>().read() };
            return block;
        }
        if self.left < bytes {
            // What is left of the last chunk is lost: less than a block.
            let Some(chunk) = map_bytes(CHUNK) else {
                return null_mut();
            };
            (self.rest, self.left) = (chunk, CHUNK);
        }
        // Sizes are powers of two: at multiples of its size, each block is aligned.
        let before = (self.rest as usize).next_multiple_of(bytes) - self.rest as usize;
        if before + bytes > self.left {
            self.left = 0;
            return self.take(class, bytes);
        }
        let block = self.rest.wrapping_add(before);
        self.rest = block.wrapping_add(bytes);
        self.left -= before + bytes;
        block
    }

    fn give_back(&mut self, class: usize, block: *mut u8) {
        if let Some(first) = self.free.get_mut(class) {
            // SAFETY: the block is free, and has at least 16 bytes.
            unsafe { block.cast::<*mut u8>().write(*first) };
            *first = block;
        }
    }
}

// SAFETY: blocks are disjoint parts of mappings, aligned as asked, and stay until they are given back.
unsafe impl GlobalAlloc for Own {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if is_large(layout) {
            return map_bytes(layout.size()).unwrap_or(null_mut());
        }
        let (class, bytes) = class_of(layout);
        self.with(|state| state.take(class, bytes))
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        if is_large(layout) {
            // SAFETY: `alloc` mapped it.
            unsafe { unmap_bytes(block, layout.size()) };
        } else {
            let (class, _) = class_of(layout);
            self.with(|state| state.give_back(class, block));
        }
    }
}
