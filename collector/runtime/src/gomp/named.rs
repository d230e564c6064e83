//! Regions that are handed to their threads by two words in registers.
//!
//! A block that the forking thread fills and a worker reads is a cache line that travels to
//! another CPU and back, once a region: several times what all its records cost. The runtime hands
//! two words to each thread anyway, a function and a pointer. So each outlined function has an
//! entry of its own, which finds its body in a table that hardly ever changes; and what names the
//! region goes into the bits of the program's pointer that are not in use.

use std::ffi::c_void;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicPtr, AtomicUsize};

use omp_ring::record::{COUNT_BITS, InstanceId};

use super::provider::Provider;
use super::region::{self, Body};

/// Outlined functions that have an entry; there are programs with a thousand.
const ENTRIES: usize = 2048;
/// The distance between two entries, in bytes.
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

/// An outlined function, at the place that its address hashes to or one of the next.
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

/// How many places a function may have.
const PROBES: usize = 8;

/// The number of the function's entry, made now if it has none; `None` where there is no place,
/// or where the function is one of another runtime than the one that lay at its address before.
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

/// Bits of the regions' numbers: no two that are handed over like this are open on one thread,
/// and by this many an event that comes late is told from those of the regions after.
const NUMBER_BITS: u32 = 8;
/// Bits of the slots' numbers.
const SLOT_BITS: u32 = 11;
/// Low bits of a pointer to aligned data, which are 0.
const LOW_BITS: u32 = 2;
/// Bits of what is left of a pointer of a program.
const POINTER_BITS: u32 = 64 - NUMBER_BITS - SLOT_BITS;
/// The counts of such regions: the last ones of a slot's, which are given out in turn to those
/// that are not named like this, and not reached.
const FIRST: u32 = (1 << COUNT_BITS) - (1 << NUMBER_BITS);

/// The name of the next region that the thread with this slot hands over so, after `number`.
#[inline]
pub(super) fn next(slot: u32, number: &mut u8) -> Option<InstanceId> {
    *number = number.wrapping_add(1);
    (slot < 1 << SLOT_BITS).then(|| InstanceId::new(slot, FIRST | u32::from(*number)))
}

/// What to hand to the runtime in place of `body` and `data`, so that its threads know the region
/// `id`, which is from [`next`].
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
    // SAFETY: the entry with that number: it takes a pointer, as every outlined function does.
    let entry = unsafe {
        std::mem::transmute::<usize, Body>(&raw const parallax_entries as usize + index * STRIDE)
    };
    Some((entry, word as *mut c_void))
}

unsafe extern "C" {
    static parallax_entries: u8;
}

/// All entries lead here: `word` is from [`hand_over`], `index` the entry's number.
unsafe extern "C-unwind" fn enter(word: usize, index: u32) {
    let Some(entry) = TABLE.get(index as usize) else {
        return;
    };
    let body = entry.body.load(Relaxed);
    // SAFETY: handed over after it was written, and never changed: a function, and a provider,
    // which stays.
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
