//! The program's side: claims a slot, pushes records and calling contexts. No function here blocks
//! or allocates, and only [`Producer::claim`] makes a system call.

use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use crate::arena::Arena;
use crate::clock::ClockSource;
use crate::context::{Head, MAX_WORDS, Word, pairs};
use crate::layout::{Control, MAX_RUNTIMES, RuntimeKind, SlotHeader, SlotState, VERSION_BYTES};
use crate::record::{
    CONTEXT_BITS, COUNT_BITS, CallingContextId, ContextPayload, InstanceId, Kind, Record,
};
use crate::shm::{self, Ring};

/// How far ahead of the records cache lines are prefetched, in bytes. The consumer has read these
/// lines since they were last written, and fetching one back takes as long as several records. An
/// atomic instruction of the runtime, such as a lock's, would wait for it. Each record prefetches:
/// that costs less than checking which record is the first in a line.
const AHEAD: usize = 4 * 64;

/// The writing side of one thread's ring. Not `Sync`: pushing needs `&mut`.
///
/// The first cache line holds all fields that pushing a record reads or writes. Spread over three
/// lines they made a region of LLVM's runtime with one thread 10 ns slower, of 225 ns.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct Producer<'a> {
    /// The position of the next record; the slot's head is its published copy.
    head: u64,
    /// The end of the open part. Equal to `head` while records are lost, so that the one comparison
    /// of a push covers that case too.
    limit: u64,
    /// The time of the last record pushed; 0: none.
    last: u64,
    control: &'a AtomicU32,
    slot: &'a SlotHeader,
    clock: ClockSource,
    index: u32,
    /// Its open part holds the position of the next record, or ends before it.
    ring: Ring,
    /// Dropped records that no [`Kind::Lost`] counts yet.
    lost: u64,
    /// Contexts pushed so far.
    contexts: u32,
    /// The stream has a gap. Records may or may not have been lost in it.
    gap: bool,
    arena: &'a Arena,
}

impl<'a> Producer<'a> {
    /// Claims a free slot for thread `tid` of process `pid` and maps its ring. If there is no slot
    /// or the ring cannot be mapped, counts that and returns `None`. Dropping the value closes the
    /// slot.
    pub fn claim(arena: &'a Arena, pid: i32, tid: i32) -> Option<Producer<'a>> {
        let header = arena.header();
        let (free, claiming) = (SlotState::Free as u32, SlotState::Claiming as u32);
        let taken = arena.slots().iter().position(|slot| {
            // The load avoids taking the cache lines of busy slots for writing.
            slot.state.load(Relaxed) == free
                && slot
                    .state
                    .compare_exchange(free, claiming, Acquire, Relaxed)
                    .is_ok()
        });
        let Some(index) = taken else {
            header.refused_slots.fetch_add(1, Relaxed);
            return None;
        };
        let slot = arena.slots().get(index)?;
        let index = index as u32;
        let Ok(ring) = arena.map_ring(index) else {
            slot.state.store(free, Release);
            header.refused_slots.fetch_add(1, Relaxed);
            return None;
        };
        slot.pid.store(pid, Relaxed);
        slot.tid.store(tid, Relaxed);
        slot.state.store(SlotState::Claimed as u32, Release);
        header.high_water.fetch_max(index + 1, Release);
        let head = slot.head.load(Relaxed);
        Some(Producer {
            ring,
            control: &header.control,
            slot,
            head,
            limit: head,
            last: 0,
            lost: 0,
            gap: false,
            clock: arena.clock(),
            index,
            contexts: 0,
            arena,
        })
    }

    /// The time now, for a record pushed later by [`push_at`](Self::push_at).
    #[inline]
    pub fn now(&self) -> u64 {
        self.clock.now()
    }

    /// The time of the last record pushed, or now if there is none: for a record of which only the
    /// order matters. Reading the clock takes half as long as a whole record.
    #[inline]
    pub fn last(&self) -> u64 {
        match self.last {
            0 => self.now(),
            last => last,
        }
    }

    /// Pushes one record with the time now. If the ring is full, drops and counts it.
    #[inline]
    pub fn push(&mut self, kind: Kind, payload: u64) {
        let time = self.clock.now();
        if self.has_room(1) || self.make_room(1, time) {
            self.write(Record::new(kind, time, payload));
            self.last = time;
            self.slot.head.store(self.head, Release);
        }
    }

    /// Pushes an optional prefix and its record, or neither, with time `time`, which must not
    /// precede that of an earlier record. Returns whether they were pushed.
    #[inline]
    pub fn push_at(
        &mut self,
        time: u64,
        prefix: Option<(Kind, u64)>,
        kind: Kind,
        payload: u64,
    ) -> bool {
        let records = 1 + prefix.is_some() as u64;
        let pushed = self.has_room(records) || self.make_room(records, time);
        if pushed {
            if let Some((kind, payload)) = prefix {
                self.write(Record::new(kind, time, payload));
            }
            self.write(Record::new(kind, time, payload));
            self.last = time;
            self.slot.head.store(self.head, Release);
        }
        pushed
    }

    #[inline]
    fn has_room(&self, records: u64) -> bool {
        self.head + records <= self.limit && self.control.load(Relaxed) == Control::Recording as u32
    }

    #[inline]
    fn write(&mut self, record: Record) {
        let words = self.ring.record(self.head);
        shm::prefetch_to_write(words, AHEAD);
        let [head, payload] = words;
        head.store(record.head, Relaxed);
        payload.store(record.payload, Relaxed);
        self.head += 1;
    }

    /// Opens the next part of the ring. If the consumer is too far behind, counts the records as
    /// lost. `time` is the time of the records.
    ///
    /// After a loss, recording resumes once a quarter of the ring is empty: one gap of known length
    /// is worth more to the state machine than every tenth record.
    #[cold]
    #[inline(never)]
    fn make_room(&mut self, records: u64, time: u64) -> bool {
        if self.control.load(Relaxed) != Control::Recording as u32 {
            self.gap = true;
            self.limit = self.head;
            return false;
        }
        // A prefix is never separated from its record: a position may stay unused at the end of a
        // part.
        let needed = match (self.gap, records) {
            (true, _) => (self.capacity() / 4).max(2 * records),
            (false, 1) => 1,
            (false, _) => 2 * records - 1,
        };
        if self.room() < needed {
            self.gap = true;
            self.lost += records;
            self.limit = self.head;
            let dropped = self.slot.dropped.load(Relaxed);
            self.slot.dropped.store(dropped + records, Relaxed);
            return false;
        }
        self.open_part();
        if self.gap {
            self.write(Record::new(Kind::Lost, time, self.lost));
            self.gap = false;
            self.lost = 0;
        }
        if self.head + records > self.limit {
            while self.head < self.limit {
                self.write(Record::new(Kind::Code, time, 0));
            }
            self.open_part();
        }
        true
    }

    fn capacity(&self) -> u64 {
        u64::from(self.arena.geometry().ring_records)
    }

    /// How many records fit in the rest of the open part and in the parts that are read completely.
    fn room(&self) -> u64 {
        let part = u64::from(self.arena.geometry().part_records());
        let tail = self.slot.tail.load(Acquire);
        // The consumer never moves the tail ahead of the head; treat that as a full ring.
        if self.head.wrapping_sub(tail) > self.capacity() {
            return 0;
        }
        let used = self.head.next_multiple_of(part) - tail / part * part;
        let left = self.head.next_multiple_of(part) - self.head;
        left + self.capacity().saturating_sub(used)
    }

    /// Opens the part that holds the next position. If that position begins a part, first chooses
    /// the first part that is read completely; there must be one.
    fn open_part(&mut self) {
        let geometry = self.arena.geometry();
        let part = u64::from(geometry.part_records());
        let number = self.head / part;
        let parts = u64::from(geometry.parts());
        let entry = |number: u64| self.slot.parts.get((number & (parts - 1)) as usize);
        let part_at = |number: u64| entry(number).map_or(0, |part| part.load(Relaxed));
        if self.head.is_multiple_of(part) {
            let unread = self.slot.tail.load(Acquire) / part;
            let oldest = unread.max(number.saturating_sub(parts));
            let waiting = (oldest..number).fold(0u32, |set, at| set | 1 << (part_at(at) & 31));
            let first = waiting.trailing_ones() as u8;
            if let Some(entry) = entry(number) {
                entry.store(first, Relaxed);
            }
        }
        self.ring.open(part_at(number));
        self.limit = (number + 1) * part;
    }

    /// The slot's index.
    pub fn index(&self) -> u32 {
        self.index
    }

    /// A new instance id for a region or a task, unique in the experiment.
    #[inline]
    pub fn instance(&mut self) -> InstanceId {
        let mut count = self.slot.instances.load(Relaxed).wrapping_add(1);
        if count & ((1 << COUNT_BITS) - 1) == 0 {
            count = count.wrapping_add(1);
        }
        self.slot.instances.store(count, Relaxed);
        InstanceId::new(self.index, count)
    }

    /// Pushes a calling context: its head, and the `words` of the stack from its stack pointer up,
    /// in that order. Returns [`CallingContextId::NONE`] if there is no room for all of it, or the thread has
    /// used all ids; the records that follow then have no context.
    #[cold]
    #[inline(never)]
    pub fn context(&mut self, head: &Head, words: &[Word]) -> CallingContextId {
        let records = 1 + pairs(words.len()) as u64;
        let is_recording = self.control.load(Relaxed) == Control::Recording as u32;
        let has_id = self.contexts + 1 < 1 << CONTEXT_BITS && words.len() <= MAX_WORDS;
        if self.gap || !is_recording || !has_id || self.room() < records {
            return CallingContextId::NONE;
        }
        self.contexts += 1;
        let payload = ContextPayload {
            context: CallingContextId(self.contexts),
            words: words.len() as u16,
            in_task: head.in_task,
        };
        self.put(Record::new(Kind::Context, self.last(), payload.pack()));
        for [head, payload] in head.pairs() {
            self.put(Record { head, payload });
        }
        for pair in words.chunks(2) {
            let word = |at: usize| pair.get(at).map_or(0, |word| word.packed());
            self.put(Record {
                head: word(0),
                payload: word(1),
            });
        }
        // Publishes the context as a whole.
        self.slot.head.store(self.head, Release);
        payload.context
    }

    /// Writes at the next position, for which there must be room, and opens the next part if
    /// needed.
    fn put(&mut self, record: Record) {
        if self.head == self.limit {
            self.open_part();
        }
        self.write(record);
    }
}

impl Drop for Producer<'_> {
    fn drop(&mut self) {
        self.slot.state.store(SlotState::Closed as u32, Release);
    }
}

impl Arena {
    /// Adds a runtime to the table: its `kind`, the process, an `address` in its image, the
    /// callbacks that it `refused` (bit n: number n of the specification) and its version, cut at
    /// [`VERSION_BYTES`]. Does nothing if the table is full.
    pub fn register_runtime(
        &self,
        kind: RuntimeKind,
        pid: i32,
        address: u64,
        refused: u64,
        version: &[u8],
    ) {
        let header = self.header();
        if header.runtime_count.load(Relaxed) as usize >= MAX_RUNTIMES {
            return;
        }
        let at = header.runtime_count.fetch_add(1, Relaxed) as usize;
        let Some(entry) = header.runtimes.get(at) else {
            return;
        };
        entry.pid.store(pid, Relaxed);
        entry.address.store(address, Relaxed);
        entry.refused.store(refused, Relaxed);
        let version = version.get(..VERSION_BYTES).unwrap_or(version);
        for (word, bytes) in entry.version.iter().zip(version.chunks(8)) {
            let mut padded = [0; 8];
            padded
                .iter_mut()
                .zip(bytes)
                .for_each(|(to, from)| *to = *from);
            word.store(u64::from_ne_bytes(padded), Relaxed);
        }
        entry.kind.store(kind as u32, Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::offset_of;

    #[test]
    fn what_a_record_takes_is_in_the_first_cache_line() {
        assert!(offset_of!(Producer<'_>, ring) + Ring::ACCESS_BYTES <= 64);
        assert!(offset_of!(Producer<'_>, clock) < 64);
    }
}
