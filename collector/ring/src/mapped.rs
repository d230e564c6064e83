//! What lies in mapped memory: the headers, the tables and the rings of an arena. With [`crate::shm`] and
//! [`crate::time`], the only code of this crate that is unsafe.
#![allow(unsafe_code)]

use std::io;
use std::os::fd::AsRawFd;
use std::ptr::NonNull;
use std::sync::atomic::AtomicU64;

use crate::control::ControlQueue;
use crate::layout::{Header, SlotHeader, TABLES_BYTES, Tables};
use crate::samples::{SampleHeader, SampleSlot};
use crate::shm::{Mapping, Shared};

/// The mapped headers of an arena.
#[derive(Debug)]
pub(crate) struct Headers(Mapping<'static>);

impl Headers {
    /// Maps the first `bytes` bytes of `file`: at least a header.
    pub(crate) fn new(file: &impl AsRawFd, bytes: usize) -> io::Result<Headers> {
        if bytes < size_of::<Header>() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(Headers(Mapping::new(file, 0, bytes)?))
    }

    /// The arena's header, at the start.
    pub(crate) fn arena(&self) -> &Header {
        // SAFETY: `new` made the mapping at least as large as a header, and it is page aligned.
        // `Header` is `Shared`.
        unsafe { self.0.start().cast::<Header>().as_ref() }
    }

    /// The queue of calls at byte `at`; `None` if it is outside the mapping or misaligned.
    #[inline]
    pub(crate) fn calls(&self, at: usize) -> Option<&ControlQueue> {
        self.0.values(at, 1).first()
    }

    /// `count` slot headers from byte `at`; empty if the range is outside the mapping or misaligned.
    pub(crate) fn slots(&self, at: usize, count: usize) -> &[SlotHeader] {
        self.0.values(at, count)
    }
}

/// A record in a ring as two words.
pub(crate) type RecordWords = [AtomicU64; 2];

/// The mapped tables and ring of one slot, with one of its parts open.
///
/// The fields used to find a record come first: see [`Producer`](crate::producer::Producer).
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Ring<'a> {
    /// The open part's first record, within the mapping.
    part: NonNull<RecordWords>,
    /// Records of a part minus one; a part has a power of two of them.
    mask: usize,
    /// Records of the ring minus one.
    last: usize,
    mapping: Mapping<'a>,
}

// SAFETY: `part` points into the mapping, which is this value's own.
unsafe impl Send for Ring<'_> {}

impl<'a> Ring<'a> {
    /// Bytes from the start of the struct to the end of the fields used to find a record.
    #[cfg(test)]
    pub(crate) const ACCESS_BYTES: usize = std::mem::offset_of!(Ring<'static>, last);

    /// The ring in a mapping of the tables and `records` records, in parts of `part` records; both are
    /// powers of two, and a ring has at least one part.
    pub(crate) fn new(mapping: Mapping<'a>, records: u32, part: u32) -> io::Result<Ring<'a>> {
        let bytes = TABLES_BYTES as usize + records as usize * size_of::<RecordWords>();
        let is_valid = records.is_power_of_two() && part.is_power_of_two() && part <= records;
        if !is_valid || bytes > mapping.bytes() {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        Ok(Ring {
            part: first(&mapping),
            mask: part as usize - 1,
            last: records as usize - 1,
            mapping,
        })
    }

    /// Opens part `number`, modulo the number of parts.
    #[inline]
    pub(crate) fn open(&mut self, number: u8) {
        let first = (usize::from(number) * (self.mask + 1)) & self.last;
        // SAFETY: the mapping has `last + 1` records, a multiple of a part's; `first` begins a part.
        self.part = unsafe { self::first(&self.mapping).add(first) };
    }

    /// The record at position `at` of the open part; positions run on across parts.
    #[inline(always)]
    pub(crate) fn record(&self, at: u64) -> &RecordWords {
        // SAFETY: the open part lies in the mapping and has `mask + 1` records. Atomics: every
        // content is valid, and concurrent writes are no races.
        unsafe { self.part.add(at as usize & self.mask).as_ref() }
    }
}

impl Ring<'_> {
    /// The thread's tables.
    #[inline(always)]
    pub(crate) fn tables(&self) -> &Tables {
        // SAFETY: the mapping begins with them, and is page aligned. `Tables` is `Shared`.
        unsafe { self.mapping.start().cast::<Tables>().as_ref() }
    }
}

/// The first record of a mapped ring.
#[inline(always)]
fn first(mapping: &Mapping<'_>) -> NonNull<RecordWords> {
    // SAFETY: the mapping has the records behind the tables.
    unsafe { mapping.start().add(TABLES_BYTES as usize).cast() }
}

/// Prefetches for writing the cache line `bytes` beyond `record`. The address need not be mapped.
#[inline(always)]
pub(crate) fn prefetch_to_write(record: &RecordWords, bytes: usize) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a hint, without effect on memory, that faults at no address. The only exception that
    // manuals list for it is that of a LOCK prefix.
    unsafe {
        let ahead = record.as_ptr().wrapping_byte_add(bytes);
        core::arch::asm!("prefetchw [{}]", in(reg) ahead, options(nostack, preserves_flags));
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (record, bytes);
}

// SAFETY: all fields are atomics.
unsafe impl Shared for SampleHeader {}
// SAFETY: all fields are atomics.
unsafe impl Shared for SampleSlot {}
// SAFETY: all fields are atomics.
unsafe impl Shared for Header {}
// SAFETY: all fields are atomics.
unsafe impl Shared for SlotHeader {}
// SAFETY: all fields are atomics.
unsafe impl Shared for Tables {}
// SAFETY: all fields are atomics.
unsafe impl Shared for ControlQueue {}
const _: () = {
    const fn is_shared<T: Shared>() {}
    is_shared::<Header>();
    is_shared::<SlotHeader>();
    is_shared::<Tables>();
    is_shared::<SampleHeader>();
    is_shared::<SampleSlot>();
    is_shared::<ControlQueue>();
};
