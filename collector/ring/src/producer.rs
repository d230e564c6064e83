//! The program's side: claims a slot, pushes records and calling contexts. No function here blocks
//! or allocates, and only [`Producer::claim`] makes a system call.

use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicU32, AtomicU64};

use crate::arena::Arena;
use crate::clock::ClockSource;
use crate::context::{Head, MAX_WORDS, Word, pairs};
use crate::layout::{
    Control, MAX_HELD, MAX_RUNTIMES, RuntimeKind, SlotHeader, SlotState, VERSION_BYTES,
};
use crate::locks::{LockEntry, LockKey};
use crate::loops::{LoopEntry, LoopKey};
use crate::mapped::{self, Ring};
use crate::python::MAX_PYTHON;
use crate::record::{
    CONTEXT_BITS, COUNT_BITS, CallingContextId, ContextPayload, InstanceId, Kind, Record,
};

/// How far ahead of the records cache lines are prefetched, in bytes. The consumer has read these
/// lines since they were last written, and fetching one back takes as long as several records. An
/// atomic instruction of the runtime, such as a lock's, would wait for it. Each record prefetches:
/// that costs less than checking which record is the first in a line.
const AHEAD: usize = 4 * 64;

/// The writing side of one thread's ring. Not `Sync`: pushing needs `&mut`.
///
/// The first cache line holds all fields that pushing a structural record reads or writes. Spread
/// over three lines they made a region of LLVM's runtime with one thread 10 ns slower, of 225 ns.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct Producer<'a> {
    /// The position of the next record; the slot's head is its published copy.
    head: u64,
    /// The end of the open part. Equal to `head` while records are lost, so that the one comparison
    /// of a push covers that case too.
    limit: u64,
    /// The time of the last record pushed or dropped; 0: none.
    last: u64,
    control: &'a AtomicU32,
    slot: &'a SlotHeader,
    clock: ClockSource,
    index: u32,
    /// Its open part holds the position of the next record, or ends before it.
    ring: Ring<'a>,
    /// As `limit`, for records that are not structural. Not above it.
    waits_limit: u64,
    /// Dropped records that no [`Kind::Lost`] counts yet.
    lost: u64,
    /// Dropped records that no [`Kind::LostWaits`] counts yet.
    lost_waits: u64,
    /// Contexts pushed so far.
    contexts: u32,
    /// The stream has a gap. Records may or may not have been lost in it.
    gap: bool,
    /// Records that are not structural are dropped, since only the reserve is left.
    in_reserve: bool,
    arena: &'a Arena,
}

impl<'a> Producer<'a> {
    /// Claims a free slot for thread `tid` of process `pid` and maps its ring. If there is no slot
    /// or the ring cannot be mapped, counts that and returns `None`. Dropping the value closes the
    /// slot.
    pub fn claim(arena: &'a Arena, pid: i32, tid: i32) -> Option<Producer<'a>> {
        let header = arena.header();
        let (free, claiming) = (SlotState::Free as u32, SlotState::Claiming as u32);
        let taken = arena.own_slots().find(|(_, slot)| {
            // The load avoids taking the cache lines of busy slots for writing.
            slot.state.load(Relaxed) == free
                && slot
                    .state
                    .compare_exchange(free, claiming, Acquire, Relaxed)
                    .is_ok()
        });
        let Some((index, slot)) = taken else {
            header.refused_slots.fetch_add(1, Relaxed);
            return None;
        };
        let Ok(ring) = arena.open_ring(index) else {
            slot.state.store(free, Release);
            header.refused_slots.fetch_add(1, Relaxed);
            return None;
        };
        for [head, _] in &slot.held.records {
            head.store(0, Relaxed);
        }
        ring.tables().loops.clear(&slot.loops);
        ring.tables().locks.clear(&slot.locks);
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
            waits_limit: head,
            last: 0,
            lost: 0,
            lost_waits: 0,
            gap: false,
            in_reserve: false,
            clock: arena.clock(),
            index,
            contexts: 0,
            arena,
        })
    }

    /// Whether the program has paused recording. Records go on, since they tell the state of the thread
    /// when it goes on; sums without times do not.
    #[inline]
    pub fn is_paused(&self) -> bool {
        self.arena.is_paused()
    }

    /// The time now, for a record pushed later by [`push_at`](Self::push_at).
    #[inline]
    pub fn now(&self) -> u64 {
        self.clock.now()
    }

    /// The time of the last record pushed or dropped, or now if there is none: for a record of which only
    /// the order matters. Reading the clock takes half as long as a whole record.
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
        if self.has_room(1, kind) || self.make_room(1, kind, time) {
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
        let pushed = self.has_room(records, kind) || self.make_room(records, kind, time);
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

    /// Pushes records that belong together, or none of them, with this time, which must not precede that of an
    /// earlier record. The last one is not structural, and the others are its prefixes and records before it.
    #[inline]
    pub fn push_group(&mut self, time: u64, records: &[(Kind, u64)]) {
        let Some(&(last, _)) = records.last() else {
            return;
        };
        let count = records.len() as u64;
        if self.has_room(count, last) || self.make_room(count, last, time) {
            for &(kind, payload) in records {
                self.write(Record::new(kind, time, payload));
            }
            self.last = time;
            self.slot.head.store(self.head, Release);
        }
    }

    #[inline]
    fn has_room(&self, records: u64, kind: Kind) -> bool {
        let limit = if kind.is_structural() {
            self.limit
        } else {
            self.waits_limit
        };
        self.head + records <= limit && self.control.load(Relaxed) == Control::Recording as u32
    }

    #[inline]
    fn write(&mut self, record: Record) {
        let words = self.ring.record(self.head);
        mapped::prefetch_to_write(words, AHEAD);
        let [head, payload] = words;
        head.store(record.head, Relaxed);
        payload.store(record.payload, Relaxed);
        self.head += 1;
    }

    /// Opens the next part of the ring. If the consumer is too far behind, counts the records as
    /// lost. `kind` and `time` are those of the records.
    ///
    /// After a loss, recording resumes once a quarter of the ring is empty: one gap of known length
    /// is worth more to the state machine than every tenth record. Records that are not structural
    /// leave half of the ring to the others.
    #[cold]
    #[inline(never)]
    fn make_room(&mut self, records: u64, kind: Kind, time: u64) -> bool {
        if self.control.load(Relaxed) != Control::Recording as u32 {
            self.gap = true;
            self.last = time;
            self.close();
            return false;
        }
        // A prefix is never separated from its record: a position may stay unused at the end of a
        // part. A count of lost records may precede them.
        let counts = self.gap || self.lost_waits > 0;
        let least = 2 * records - u64::from(!counts);
        let after = |is_gap: bool| if is_gap { self.capacity() / 4 } else { 0 };
        let room = self.room();
        if room < least.max(after(self.gap)) {
            self.gap = true;
            self.last = time;
            self.lost += records;
            self.count_dropped(records);
            self.close();
            return false;
        }
        self.in_reserve = room < self.capacity() / 2 + after(self.in_reserve);
        if self.in_reserve && !kind.is_structural() {
            self.lose_waits(records);
            return false;
        }
        self.open_part();
        if self.gap {
            self.write(Record::new(Kind::Lost, time, self.lost + self.lost_waits));
        } else if self.lost_waits > 0 {
            self.write(Record::new(Kind::LostWaits, time, self.lost_waits));
        }
        (self.gap, self.lost, self.lost_waits) = (false, 0, 0);
        if self.head + records > self.limit {
            while self.head < self.limit {
                self.write(Record::new(Kind::Code, time, 0));
            }
            self.open_part();
        }
        true
    }

    /// Counts records that cannot be made as lost, as those for which there is no room.
    pub fn lose(&mut self, count: u64) {
        self.lose_waits(count);
    }

    /// Counts records that are not structural as lost. The next structural record is preceded by the
    /// count.
    fn lose_waits(&mut self, records: u64) {
        self.lost_waits += records;
        self.count_dropped(records);
        self.close();
    }

    /// Lets the next push open a part, whatever its kind.
    fn close(&mut self) {
        (self.limit, self.waits_limit) = (self.head, self.head);
    }

    fn count_dropped(&self, records: u64) {
        let dropped = self.slot.dropped.load(Relaxed);
        self.slot.dropped.store(dropped + records, Relaxed);
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
            let waiting = (oldest..number).fold(0u128, |set, at| set | 1 << (part_at(at) & 127));
            let first = waiting.trailing_ones() as u8;
            if let Some(entry) = entry(number) {
                entry.store(first, Relaxed);
            }
        }
        self.ring.open(part_at(number));
        self.limit = (number + 1) * part;
        self.waits_limit = if self.in_reserve {
            self.head
        } else {
            self.limit
        };
    }

    /// Pushes the records of a sum, of which the last one is the sum itself and the others are its
    /// prefixes, with this time. If only the reserve is left, drops and counts them.
    #[cold]
    #[inline(never)]
    pub fn push_sum(&mut self, time: u64, records: &[(Kind, u64)]) {
        if self.control.load(Relaxed) != Control::Recording as u32 {
            return;
        }
        // With the count of those that were lost before.
        let count = records.len() as u64;
        if self.gap || self.room() < self.capacity() / 2 + count + 1 {
            self.lose_waits(count);
            return;
        }
        if self.lost_waits > 0 {
            let lost = std::mem::take(&mut self.lost_waits);
            self.put(Record::new(Kind::LostWaits, time, lost));
        }
        for &(kind, payload) in records {
            self.put(Record::new(kind, time, payload));
        }
        self.last = time;
        self.slot.head.store(self.head, Release);
    }

    /// Waits shorter than this are summed and are no records, in nanoseconds.
    pub fn short_ns(&self) -> u64 {
        u64::from(self.arena.header().short_ns.load(Relaxed))
    }

    /// Whether contexts are to have the frames of Python.
    pub fn reads_python(&self) -> bool {
        self.arena.header().reads_python.load(Relaxed) != 0
    }

    /// A length of `ns` nanoseconds in units of the clock.
    pub fn units(&self, ns: u64) -> u64 {
        let per_millisecond = self.arena.header().units_per_ms.load(Relaxed);
        (ns as u128 * per_millisecond as u128 / 1_000_000) as u64
    }

    /// Holds a record back that may turn out not to be needed, after those held back before, of
    /// which there is at most one ([`MAX_HELD`]). The first one may have a prefix [`Kind::Code`].
    /// Nothing else may be pushed before [`push_held`](Self::push_held) or
    /// [`drop_held`](Self::drop_held).
    ///
    /// The consumer sees records that are held back, so a wait that lasts is known before it ends.
    #[inline]
    pub fn hold_back(&mut self, time: u64, code: u64, kind: Kind, payload: u64) {
        let held = &self.slot.held;
        let [first, second] = &held.records;
        let record = Record::new(kind, time, payload);
        let [head, to] = if first[0].load(Relaxed) == 0 {
            held.code.store(code, Release);
            first
        } else {
            second
        };
        // Released, too: a consumer that sees them also sees that the head before them is gone.
        to.store(record.payload, Release);
        head.store(record.head, Release);
    }

    /// The times of the records that are held back: 0 if there is none.
    #[inline]
    pub fn held_times(&self) -> [u64; MAX_HELD] {
        let time = |[head, _]: &[AtomicU64; 2]| head.load(Relaxed) >> 8;
        let [first, second] = &self.slot.held.records;
        [time(first), time(second)]
    }

    /// Forgets the records that are held back.
    #[inline]
    pub fn drop_held(&mut self) {
        // The first one last: the consumer takes the second one only with the first.
        for [head, _] in self.slot.held.records.iter().rev() {
            head.store(0, Release);
        }
    }

    /// Pushes the records that are held back.
    #[cold]
    #[inline(never)]
    pub fn push_held(&mut self) {
        let slot = self.slot;
        let code = slot.held.code.load(Relaxed);
        let mut prefix = (code != 0).then_some((Kind::Code, code));
        for [head, payload] in &slot.held.records {
            let (head, payload) = (head.load(Relaxed), payload.load(Relaxed));
            let record = Record { head, payload };
            if let Some(kind) = record.kind() {
                self.push_at(record.time(), prefix.take(), kind, payload);
            }
        }
        self.drop_held();
    }

    /// The entry of a loop, which is new if it is the thread's first one of this key. `None` if the
    /// table is full.
    #[inline]
    pub fn loop_entry(&self, key: LoopKey) -> Option<&LoopEntry> {
        self.ring.tables().loops.entry(key, &self.slot.loops)
    }

    /// The entry of a mutex and call, or that of several mutexes if the thread has many. `None` if the
    /// table is full.
    #[inline]
    pub fn lock_entry(&self, key: LockKey) -> Option<&LockEntry> {
        self.ring.tables().locks.lock(key, &self.slot.locks)
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

    /// Pushes a calling context: its head, the `words` of the stack from its stack pointer up, and those about
    /// Python ([`crate::python`]), in that order. Returns [`CallingContextId::NONE`] if there is no room for all of
    /// it, or the thread has used all ids; the records that follow then have no context.
    #[cold]
    #[inline(never)]
    pub fn context(&mut self, head: &Head, words: &[Word], python: &[u64]) -> CallingContextId {
        let (python, _) = python.as_chunks();
        let payload = ContextPayload {
            context: CallingContextId(self.contexts.wrapping_add(1)),
            words: words.len() as u16,
            in_task: head.in_task,
            python: python.len() as u16,
        };
        let records = 1 + pairs(payload) as u64;
        let is_recording = self.control.load(Relaxed) == Control::Recording as u32;
        let has_id = self.contexts + 1 < 1 << CONTEXT_BITS
            && words.len() <= MAX_WORDS
            && python.len() <= MAX_PYTHON / 2;
        if self.gap || !is_recording || !has_id || self.room() < records {
            return CallingContextId::NONE;
        }
        self.contexts += 1;
        self.put(Record::new(Kind::Context, self.last(), payload.pack()));
        for [head, payload] in head.pairs() {
            self.put(Record { head, payload });
        }
        for &Word { bytes, value } in words {
            self.put(Record {
                head: bytes,
                payload: value,
            });
        }
        for &[head, payload] in python {
            self.put(Record { head, payload });
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
        assert!(offset_of!(Producer<'_>, ring) + Ring::<'_>::ACCESS_BYTES <= 64);
        assert!(offset_of!(Producer<'_>, clock) < 64);
    }
}
