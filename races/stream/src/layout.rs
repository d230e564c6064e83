//! The layout of the shared memory: a page with the header, then the slots, then their rings.

use std::sync::atomic::{AtomicU32, AtomicU64};

/// `PLXRACE1`, little endian.
pub(crate) const MAGIC: u64 = u64::from_le_bytes(*b"PLXRACE1");

/// Threads that can record at one time. A thread beyond them is not checked, and counted.
pub(crate) const SLOTS: usize = 512;

/// Words of a ring: 1 MiB. Memory that no thread has used is not there.
pub(crate) const RING_WORDS: usize = 1 << 17;

/// Bytes before the slots.
pub(crate) const HEADER_BYTES: usize = 4096;

/// The state of a slot: nobody's.
pub(crate) const FREE: u32 = 0;
/// The state of a slot: a thread writes.
pub(crate) const LIVE: u32 = 1;
/// The state of a slot: its thread has written its last record.
pub(crate) const ENDED: u32 = 2;

/// The process goes on: see [`Header::look`].
pub(crate) const GOES_ON: u64 = 0;
/// It waits.
pub(crate) const WAITS: u64 = 1;
/// Nobody will look any more.
pub(crate) const CLOSED: u64 = 2;

/// The first bytes of the memory.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct Header {
    pub(crate) magic: AtomicU64,
    /// Threads that got no slot.
    pub(crate) refused: AtomicU64,
    /// What is looked for: see [`crate::record::Checks`].
    pub(crate) checks: AtomicU64,
    /// The process that records, as it sees itself; 0 before its library is ready.
    pub(crate) process: AtomicU64,
    /// Bytes of blocks in which unwritten memory was not looked for; all bits: nowhere.
    pub(crate) unmarked: AtomicU64,
    /// Processes that do what would be checked, and do not record.
    pub(crate) unchecked: AtomicU64,
    _pad: [AtomicU64; 2],
    /// The number of the next event.
    pub(crate) next: AtomicU64,
    _pad2: [AtomicU64; 7],
    /// The thread that lives as long as somebody reads; when it ends, however it does, the kernel notes that
    /// here: see [`crate::memory::OWNER_DIED`].
    pub(crate) reader: AtomicU32,
    _pad3: AtomicU32,
    /// Whether the process waits for the reader to look at it: [`WAITS`], [`GOES_ON`] or [`CLOSED`].
    pub(crate) look: AtomicU64,
}

/// One thread's place.
#[derive(Debug)]
#[repr(C, align(128))]
pub(crate) struct Slot {
    pub(crate) state: AtomicU32,
    /// The thread's id.
    pub(crate) thread: AtomicU32,
    /// Words written since the slot was taken.
    pub(crate) head: AtomicU64,
    /// Nanoseconds for which the thread waited for room.
    pub(crate) waited: AtomicU64,
    _pad: [AtomicU64; 5],
    /// Words read.
    pub(crate) tail: AtomicU64,
}

/// Bytes before the rings.
pub(crate) const RINGS_AT: usize = HEADER_BYTES + SLOTS * size_of::<Slot>();

/// Bytes of the whole.
pub(crate) const BYTES: usize = RINGS_AT + SLOTS * RING_WORDS * 8;

// A ring holds the longest record.
const _: () = assert!(crate::record::stack_words(omp_ring::context::MAX_WORDS) <= RING_WORDS);
const _: () = assert!(RINGS_AT.is_multiple_of(4096) && size_of::<Header>() <= HEADER_BYTES);
