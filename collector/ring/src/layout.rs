//! The layout of the arena.
//!
//! ```text
//! header page(s) │ slot headers │ control queue │ ring 0 │ ring 1 │ …
//! ```
//!
//! A ring is preceded by its thread's tables of loops and locks ([`crate::table`]).
//!
//! Each of these starts on a page. The file is sparse: a page costs memory once it is touched.
//! Producers and the consumer map the headers as a whole. A producer maps the rings at once while the
//! program starts, and may access one once a thread has claimed it; the consumer maps each separately.
//! 4096 rings of 4 MiB only set the file's length and take addresses; they take no memory. A thread whose
//! records are read in time fills at most two of its ring's 128 parts.
//!
//! The consumer writes the header once, then [`Control`] and each slot's tail. Producers write all
//! else. The consumer keeps its own copy of the sizes and never reads them back, because the
//! program under test may have written anything anywhere.

use std::sync::atomic::{AtomicI32, AtomicU8, AtomicU32, AtomicU64};

use crate::control::ControlQueue;
use crate::locks::LockTable;
use crate::loops::LoopTable;

/// The first eight bytes of an arena.
pub const MAGIC: u64 = u64::from_le_bytes(*b"PLXARENA");
/// The version of the layout and of the records. Producer and consumer must have the same.
pub const VERSION: u32 = 13;
/// The maximum number of slots: limited by [`crate::record::SLOT_BITS`].
pub const MAX_SLOTS: u32 = 1 << crate::record::SLOT_BITS;
/// Number of entries in the runtimes table.
pub const MAX_RUNTIMES: usize = 32;
/// The maximum length of a runtime's version string, in bytes.
pub const VERSION_BYTES: usize = 128;

/// The maximum number of parts of a ring. A thread fills one after the other, in the order of
/// [`SlotHeader::parts`].
pub(crate) const MAX_PARTS: usize = 128;
/// A part has room for a prefix and its record.
const LEAST_PART: u32 = 2;

const PAGE: u64 = 4096;

/// A thread's tables.
#[derive(Debug, Default)]
#[repr(C)]
pub(crate) struct Tables {
    pub(crate) loops: LoopTable,
    pub(crate) locks: LockTable,
}

/// Bytes of a thread's tables: whole pages.
pub(crate) const TABLES_BYTES: u64 = page_up(size_of::<Tables>() as u64);

/// Whether producers push. Written by the consumer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Control {
    /// Events are recorded.
    Recording = 0,
    /// Events are ignored. The first record afterwards is preceded by a
    /// [`Lost`](crate::record::Kind::Lost) of 0.
    Paused = 1,
}

/// The state of a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum SlotState {
    /// No owner, and drained.
    Free = 0,
    /// A thread has claimed it and is writing its ids.
    Claiming = 1,
    /// A thread pushes records into it.
    Claimed = 2,
    /// Its thread has closed it: no more records will come.
    Closed = 3,
}

/// A zero-sized field that starts the next field on a new pair of cache lines, away from fields
/// that another thread writes. x86 fetches lines in pairs.
#[derive(Debug)]
#[repr(C, align(128))]
pub(crate) struct NewLine;

/// The start of the arena.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Header {
    pub(crate) magic: AtomicU64,
    pub(crate) version: AtomicU32,
    pub(crate) clock: AtomicU32,
    pub(crate) slots: AtomicU32,
    pub(crate) ring_records: AtomicU32,
    /// Waits shorter than this are summed.
    pub(crate) short_ns: AtomicU32,
    /// Whether contexts have the frames of Python: 0 or 1.
    pub(crate) reads_python: AtomicU32,
    /// The interfaces whose calls between ranks are recorded, a bit for each.
    pub(crate) recorded_calls: AtomicU32,
    /// Units of the clock in a millisecond.
    pub(crate) units_per_ms: AtomicU64,
    _control_line: NewLine,
    /// A [`Control`].
    pub(crate) control: AtomicU32,
    _high_water_line: NewLine,
    /// One more than the highest slot index ever claimed.
    pub(crate) high_water: AtomicU32,
    /// Threads that found no free slot.
    pub(crate) refused_slots: AtomicU32,
    _runtime_count_line: NewLine,
    /// Number of entries of `runtimes` claimed; may exceed the size of the table.
    pub(crate) runtime_count: AtomicU32,
    pub(crate) runtimes: [RuntimeEntry; MAX_RUNTIMES],
}

/// An OpenMP runtime in a process, registered by the library there.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct RuntimeEntry {
    /// A [`RuntimeKind`], written last; 0 until then.
    pub(crate) kind: AtomicU32,
    pub(crate) pid: AtomicI32,
    /// An address in the image of the runtime.
    pub(crate) address: AtomicU64,
    /// Bit n: the runtime refused the callback with the specification's number n.
    pub(crate) refused: AtomicU64,
    /// UTF-8, zero padded, eight bytes to a word.
    pub(crate) version: [AtomicU64; VERSION_BYTES / 8],
}

/// How the library receives events from a runtime.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum RuntimeKind {
    /// It called our OMPT tool.
    Ompt = 1,
    /// Its entry points are interposed (GCC's libgomp).
    Gomp = 2,
    /// It serves another OMPT tool, so ours has declined. The entry's address lies in that tool.
    /// The version is the tool's name, where its file's name does not tell.
    OtherTool = 3,
}

impl RuntimeKind {
    pub(crate) fn from_word(word: u32) -> Option<RuntimeKind> {
        match word {
            1 => Some(RuntimeKind::Ompt),
            2 => Some(RuntimeKind::Gomp),
            3 => Some(RuntimeKind::OtherTool),
            _ => None,
        }
    }
}

/// A slot without its ring. Positions count records since the arena was created and do not wrap.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct SlotHeader {
    _state_line: NewLine,
    /// A [`SlotState`].
    pub(crate) state: AtomicU32,
    pub(crate) pid: AtomicI32,
    pub(crate) tid: AtomicI32,
    /// How often the slot was recycled.
    pub(crate) generation: AtomicU32,
    _head_line: NewLine,
    /// The next position to write; written by the producer.
    pub(crate) head: AtomicU64,
    /// Records dropped by the current owner.
    pub(crate) dropped: AtomicU64,
    /// Number of instance ids given out. It survives a change of owner, so that a recycled slot
    /// never repeats an instance id.
    pub(crate) instances: AtomicU32,
    /// Number of entries of the table of loops that the current owner has asked for; may exceed
    /// the size of the table.
    pub(crate) loops: AtomicU32,
    /// The same of the table of locks.
    pub(crate) locks: AtomicU32,
    /// The order of the parts: element `n` modulo the number of parts names the part that holds
    /// positions `n * part` up to `(n + 1) * part`.
    ///
    /// A thread takes the first part that is read completely. While `collect` keeps up, it
    /// therefore alternates between a few parts, which stay in its cache, and never touches the
    /// rest of its ring.
    pub(crate) parts: [AtomicU8; MAX_PARTS],
    /// Records that the thread holds back.
    pub(crate) held: HeldWords,
    _tail_line: NewLine,
    /// The next position to read; written by the consumer.
    pub(crate) tail: AtomicU64,
}

/// The records that a thread holds back: see
/// [`Producer::hold_back`](crate::producer::Producer::hold_back). They fill a cache line.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct HeldWords {
    /// The head and the payload of each; a head is 0 if there is no such record.
    pub(crate) records: [[AtomicU64; 2]; MAX_HELD],
    /// The prefix [`Code`](crate::record::Kind::Code) of the first one; 0 if it has none.
    pub(crate) code: AtomicU64,
}

/// The most records that a thread holds back.
pub const MAX_HELD: usize = 2;

/// The sizes of an arena.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Geometry {
    pub(crate) slots: u32,
    /// A power of two.
    pub(crate) ring_records: u32,
}

impl Geometry {
    /// `None` if a size is zero, too large, or not a power of two where it must be one.
    pub(crate) fn new(slots: u32, ring_records: u32) -> Option<Geometry> {
        let fits = (1..=MAX_SLOTS).contains(&slots)
            && ring_records.is_power_of_two()
            && (8..=1 << 24).contains(&ring_records);
        fits.then_some(Geometry {
            slots,
            ring_records,
        })
    }

    /// Number of records in a part of a ring: a power of two.
    pub(crate) fn part_records(self) -> u32 {
        (self.ring_records / MAX_PARTS as u32).max(LEAST_PART)
    }

    /// Number of parts of a ring: a power of two, at most [`MAX_PARTS`].
    pub(crate) fn parts(self) -> u32 {
        self.ring_records / self.part_records()
    }

    pub(crate) fn slots_at(self) -> u64 {
        page_up(size_of::<Header>() as u64)
    }

    /// Where the queue of calls that control the recording begins.
    pub(crate) fn calls_at(self) -> u64 {
        page_up(self.slots_at() + self.slots as u64 * size_of::<SlotHeader>() as u64)
    }

    /// Bytes of the headers and of that queue, which are mapped as a whole.
    pub(crate) fn headers(self) -> u64 {
        page_up(self.calls_at() + size_of::<ControlQueue>() as u64)
    }

    /// Bytes of a slot's tables and ring.
    pub(crate) fn ring_bytes(self) -> u64 {
        TABLES_BYTES + page_up(self.ring_records as u64 * 16)
    }

    /// Where the tables of a slot begin, which are followed by the ring.
    pub(crate) fn ring_at(self, slot: u32) -> u64 {
        self.headers() + slot as u64 * self.ring_bytes()
    }

    /// Length of the file in bytes.
    pub(crate) fn bytes(self) -> u64 {
        self.ring_at(self.slots)
    }
}

pub(crate) const fn page_up(bytes: u64) -> u64 {
    bytes.next_multiple_of(PAGE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_of_different_writers_lie_on_different_cache_lines() {
        assert_eq!(std::mem::offset_of!(SlotHeader, head), 128);
        assert_eq!(std::mem::offset_of!(SlotHeader, held), 320);
        assert_eq!(std::mem::offset_of!(SlotHeader, tail), 384);
        assert_eq!(size_of::<SlotHeader>(), 512);
    }

    #[test]
    fn the_parts_do_not_overlap() {
        let g = Geometry::new(3, 256).expect("these sizes are allowed");
        assert!(g.slots_at() >= size_of::<Header>() as u64);
        assert!(g.ring_at(0) >= g.slots_at() + 3 * 512);
        assert_eq!(g.ring_at(2) - g.ring_at(1), TABLES_BYTES + 4096);
        assert_eq!(g.bytes(), g.ring_at(0) + 3 * (TABLES_BYTES + 4096));
    }

    #[test]
    fn a_ring_is_the_sum_of_its_parts() {
        for (records, part, parts) in [(8, 2, 4), (64, 2, 32), (1 << 18, 2048, 128)] {
            let g = Geometry::new(1, records).expect("these sizes are allowed");
            assert_eq!((g.part_records(), g.parts()), (part, parts));
        }
    }

    #[test]
    fn invalid_sizes_are_refused() {
        assert!(Geometry::new(0, 256).is_none());
        assert!(Geometry::new(MAX_SLOTS + 1, 256).is_none());
        assert!(Geometry::new(1, 100).is_none());
    }
}
