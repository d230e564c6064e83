//! Regions passed to their threads as two words in registers.
//!
//! A block that the forking thread writes and a worker reads is a cache line that moves to another
//! CPU and back for each region. That costs several times as much as all records of the region. The
//! runtime passes two words to each thread anyway: a function and a pointer. So each outlined
//! function gets an entry of its own, which finds the function in a table that hardly ever changes.
//! The region's instance id goes into unused bits of the program's pointer.

use std::ffi::c_void;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicPtr, AtomicUsize};

use omp_ring::record::{COUNT_BITS, InstanceId};

use super::provider::Provider;
use super::region;
use super::state::Body;

/// Number of outlined functions that can have an entry. Some programs have a thousand.
const ENTRIES: usize = 2048;
/// Distance between two entries, in bytes.
const STRIDE: usize = 16;

core::arch::global_asm!(
    ".pushsection .text.parallax_entries,\"ax\",@progbits",
    ".p2align 4",
    ".globl parallax_entries",
    ".hidden parallax_entries",
    ".type parallax_entries,@function",
    "parallax_entries:",
    ".cfi_startproc",
    ".set parallax_entry, 0",
    ".rept {entries}",
    ".p2align 4",
    "mov esi, parallax_entry",
    "jmp {enter}",
    ".set parallax_entry, parallax_entry + 1",
    ".endr",
    ".cfi_endproc",
    ".size parallax_entries, . - parallax_entries",
    ".popsection",
    entries = const ENTRIES,
    enter = sym enter,
);

/// An outlined function. Its index is the hash of its address, or one of the next indices.
struct Entry {
    /// 0: free.
    body: AtomicUsize,
    /// The runtime that runs it; NULL while the entry is being written.
    provider: AtomicPtr<Provider>,
}

static TABLE: [Entry; ENTRIES] = [const {
    Entry {
        body: AtomicUsize::new(0),
        provider: AtomicPtr::new(std::ptr::null_mut()),
    }
}; ENTRIES];

/// Number of table entries that may hold a function.
const PROBES: usize = 8;

/// The number of the function's entry, which is created if it has none. `None` if no entry is free,
/// or if the address belonged to a function of another runtime before.
#[inline]
fn entry_of(body: usize, provider: &'static Provider) -> Option<usize> {
    let hash = body.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
    for probe in 0..PROBES {
        let index = (hash + probe) % ENTRIES;
        let entry = TABLE.get(index)?;
        let mut known = entry.body.load(Acquire);
        if known == 0 {
            match entry.body.compare_exchange(0, body, AcqRel, Acquire) {
                Ok(_) => {
                    let provider = std::ptr::from_ref(provider).cast_mut();
                    entry.provider.store(provider, Release);
                    known = body;
                }
                Err(other) => known = other,
            }
        }
        if known == body {
            let same = std::ptr::eq(entry.provider.load(Acquire), provider);
            return same.then_some(index);
        }
    }
    None
}

/// Bits of a region's number. Regions passed this way are never open at the same time on one
/// thread. With this many bits, a late event is still distinguished from those of later regions.
const NUMBER_BITS: u32 = 8;
/// Bits of a slot's index.
const SLOT_BITS: u32 = 11;
/// Low bits of a pointer to aligned data, which are 0.
const LOW_BITS: u32 = 2;
/// Bits of the program's pointer that are kept.
const POINTER_BITS: u32 = 64 - NUMBER_BITS - SLOT_BITS;
/// The first count of such regions. They use the last counts of a slot, which other regions take in
/// ascending order and do not reach.
const FIRST: u32 = (1 << COUNT_BITS) - (1 << NUMBER_BITS);

/// The instance id of the next region that the thread with this slot passes this way, after
/// `number`.
#[inline]
pub(super) fn next(slot: u32, number: &mut u8) -> Option<InstanceId> {
    *number = number.wrapping_add(1);
    (slot < 1 << SLOT_BITS).then(|| InstanceId::new(slot, FIRST | u32::from(*number)))
}

/// The function and pointer to pass to the runtime in place of `body` and `data`. Its threads
/// decode the region's `id` from them. `id` comes from [`next`].
#[inline]
pub(super) fn hand_over(
    id: InstanceId,
    provider: &'static Provider,
    (body, data): (usize, usize),
) -> Option<(Body, *mut c_void)> {
    let fits = data.trailing_zeros() >= LOW_BITS && data >> (POINTER_BITS + LOW_BITS) == 0;
    if !fits {
        return None;
    }
    let index = entry_of(body, provider)?;
    let name = id.0 >> COUNT_BITS << NUMBER_BITS | id.0 & ((1 << NUMBER_BITS) - 1);
    let word = data >> LOW_BITS | (name as usize) << POINTER_BITS;
    // SAFETY: the entry with that number; it takes a pointer, as every outlined function does.
    let entry = unsafe {
        std::mem::transmute::<usize, Body>(&raw const parallax_entries as usize + index * STRIDE)
    };
    Some((entry, word as *mut c_void))
}

unsafe extern "C" {
    static parallax_entries: u8;
}

/// The code behind all entries: `word` is from [`hand_over`], `index` is the entry's number.
unsafe extern "C-unwind" fn enter(word: usize, index: u32) {
    let Some(entry) = TABLE.get(index as usize) else {
        return;
    };
    let body = entry.body.load(Relaxed);
    // SAFETY: the entry was passed to the runtime after it was written, and never changes. It holds
    // a function and a provider, which is never freed.
    let (body, provider) = unsafe {
        (
            std::mem::transmute::<usize, Option<Body>>(body),
            entry.provider.load(Relaxed).as_ref(),
        )
    };
    let (Some(body), Some(provider)) = (body, provider) else {
        return;
    };
    let data = (word << (64 - POINTER_BITS)) >> (64 - POINTER_BITS - LOW_BITS);
    let name = (word >> POINTER_BITS) as u32;
    let number = name & ((1 << NUMBER_BITS) - 1);
    let id = InstanceId::new(name >> NUMBER_BITS, FIRST | number);
    // SAFETY: the program's function and its data.
    unsafe { region::run_named(body, data as *mut c_void, provider, id) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_go_round_and_stay_apart_from_counts() {
        let mut number = 0;
        let first = next(3, &mut number).unwrap();
        assert_eq!(first, InstanceId::new(3, 0xfff_ff01));
        let mut seen = vec![first];
        for _ in 0..255 {
            seen.push(next(3, &mut number).unwrap());
        }
        let distinct: std::collections::BTreeSet<_> = seen.iter().collect();
        assert_eq!(distinct.len(), 256);
        assert_eq!(next(3, &mut number), Some(first));
        assert_eq!(
            next(2047, &mut number),
            Some(InstanceId::new(2047, 0xfff_ff02))
        );
        assert_eq!(next(2048, &mut number), None);
    }
}
