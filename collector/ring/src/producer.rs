//! The program's end: claim a slot, push records and calling contexts. No function here blocks or
//! allocates, and none but [`Producer::claim`] makes a system call.

use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use crate::arena::Arena;
use crate::clock::ClockSource;
use crate::context::{Head, MAX_WORDS, Word, pairs};
use crate::layout::{Control, MAX_RUNTIMES, RuntimeKind, SlotHeader, SlotState, VERSION_BYTES};
use crate::record::{COUNT_BITS, ContextPayload, InstanceId, Kind, Record, SITE_BITS, SiteId};
use crate::shm::{self, Ring};

/// How far ahead of the records lines are asked for, in bytes. The consumer has read them since
/// they were written last, and to have them back takes as long as several records do; an atomic
/// instruction of the runtime's, such as a lock's, would wait for that. Each is asked for by all
/// of its records: that takes less than to find out which is the first.
const AHEAD: usize = 4 * 64;

/// One thread's ring, writing side. Not `Sync`: pushing needs `&mut`.
///
/// All that pushing a record reads and writes here lies in the first cache line. Spread over three it
/// cost a region of LLVM's on one thread 10 ns of 225 more.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct Producer<'a> {
    /// The position of the next record; the slot's head is its published copy.
    head: u64,
    /// The end of the part that is being filled. Equal to `head` while records are lost, so that
    /// the one comparison of a push covers that case too.
    limit: u64,
    /// The time of the record pushed last; 0: none.
    last: u64,
    control: &'a AtomicU32,
    slot: &'a SlotHeader,
    clock: ClockSource,
    index: u32,
    /// Open is the part that holds the position of the next record, or ends before it.
    ring: Ring,
    /// Records that were dropped and are not yet counted in the stream.
    lost: u64,
    /// Contexts pushed so far.
    contexts: u32,
    /// The stream has a gap, whether or not records were lost in it.
    gap: bool,
    arena: &'a Arena,
}

impl<'a> Producer<'a> {
    /// Takes a free slot for thread `tid` of process `pid` and maps its ring; `None`, and counted,
    /// where there is no slot or the ring cannot be mapped. The slot is closed when the value is
    /// dropped.
    pub fn claim(arena: &'a Arena, pid: i32, tid: i32) -> Option<Producer<'a>> {
        let header = arena.header();
        let (free, claiming) = (SlotState::Free as u32, SlotState::Claiming as u32);
        let taken = arena.slots().iter().position(|slot| {
            // The load keeps the search from taking every busy slot's line for itself.
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

    /// The time of the record pushed last, now where there is none: for a record of which only
    /// the order matters. To read the clock takes half as long as all of a record.
    #[inline]
    pub fn last(&self) -> u64 {
        match self.last {
            0 => self.now(),
            last => last,
        }
    }

    /// Pushes one record, stamped now. Drops and counts it where the ring is full.
    #[inline]
    pub fn push(&mut self, kind: Kind, payload: u64) {
        let time = self.clock.now();
        if self.has_room(1) || self.make_room(1, time) {
            self.write(Record::new(kind, time, payload));
            self.last = time;
            self.slot.head.store(self.head, Release);
        }
    }

    /// Pushes a prefix, where there is one, and its record: both or neither, stamped `time`,
    /// which must not lie before that of an earlier record. Returns whether they were pushed.
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
        let place = self.ring.place(self.head);
        shm::prefetch_to_write(place, AHEAD);
        let [head, payload] = place;
        head.store(record.head, Relaxed);
        payload.store(record.payload, Relaxed);
        self.head += 1;
    }

    /// Goes on to the next part of the ring; counts the records as lost where the consumer is
    /// too far behind. `time` is that of the records.
    ///
    /// After a loss the ring must be a quarter empty before records flow again: one gap of known
    /// length is worth more to the state machine than every tenth record.
    #[cold]
    #[inline(never)]
    fn make_room(&mut self, records: u64, time: u64) -> bool {
        if self.control.load(Relaxed) != Control::Recording as u32 {
            self.gap = true;
            self.limit = self.head;
            return false;
        }
        // A prefix that would be parted from its record leaves its place empty.
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

    /// How many records fit into what is left of the present part and those that are wholly read.
    fn room(&self) -> u64 {
        let part = u64::from(self.arena.geometry().part_records());
        let tail = self.slot.tail.load(Acquire);
        // A tail ahead of the head is not the consumer's work; treat it as a full ring.
        if self.head.wrapping_sub(tail) > self.capacity() {
            return 0;
        }
        let used = self.head.next_multiple_of(part) - tail / part * part;
        let left = self.head.next_multiple_of(part) - self.head;
        left + self.capacity().saturating_sub(used)
    }

    /// Makes the part that holds the next position the present one; where it begins with that
    /// position, the first part that is wholly read, of which there must be one.
    fn open_part(&mut self) {
        let geometry = self.arena.geometry();
        let part = u64::from(geometry.part_records());
        let number = self.head / part;
        let parts = u64::from(geometry.parts());
        let place = |number: u64| self.slot.parts.get((number & (parts - 1)) as usize);
        let known = |number: u64| place(number).map_or(0, |part| part.load(Relaxed));
        if self.head.is_multiple_of(part) {
            let oldest = self.slot.tail.load(Acquire) / part;
            let oldest = oldest.max(number.saturating_sub(parts));
            let waiting = (oldest..number).fold(0u32, |set, at| set | 1 << (known(at) & 31));
            let first = waiting.trailing_ones() as u8;
            if let Some(place) = place(number) {
                place.store(first, Relaxed);
            }
        }
        let known = known(number);
        self.ring.open(known);
        self.limit = (number + 1) * part;
    }

    /// The slot's number.
    pub fn index(&self) -> u32 {
        self.index
    }

    /// A new identifier for an instance of a region or a task, unique in the recording.
    #[inline]
    pub fn instance(&mut self) -> InstanceId {
        let mut count = self.slot.instances.load(Relaxed).wrapping_add(1);
        if count & ((1 << COUNT_BITS) - 1) == 0 {
            count = count.wrapping_add(1);
        }
        self.slot.instances.store(count, Relaxed);
        InstanceId::new(self.index, count)
    }

    /// Pushes a calling context: what is said of it, and the `words` of the stack from its stack
    /// pointer up, in that order. [`SiteId::NONE`] where there is no room for all of it, or the
    /// thread has no names left; the next records go on as without.
    #[cold]
    #[inline(never)]
    pub fn context(&mut self, head: &Head, words: &[Word]) -> SiteId {
        let records = 1 + pairs(words.len()) as u64;
        let is_recording = self.control.load(Relaxed) == Control::Recording as u32;
        let has_name = self.contexts + 1 < 1 << SITE_BITS && words.len() <= MAX_WORDS;
        if self.gap || !is_recording || !has_name || self.room() < records {
            return SiteId::NONE;
        }
        self.contexts += 1;
        let payload = ContextPayload {
            site: SiteId(self.contexts),
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
        // All of it is seen, or nothing.
        self.slot.head.store(self.head, Release);
        payload.site
    }

    /// Writes to the next place, for which there is room, and goes on to the next part if need be.
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
    /// Enters a runtime into the table: its `kind`, the process, an `address` in its image, the
    /// callbacks that it `refused` (bit n: number n of the specification) and its version, cut
    /// at [`VERSION_BYTES`]. Nothing where the table is full.
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
        assert!(offset_of!(Producer<'_>, ring) + Ring::PLACE_BYTES <= 64);
        assert!(offset_of!(Producer<'_>, clock) < 64);
    }
}
