//! The OpenMP records of a thread between its ring and the merge.

use experiment::ids::ThreadId;
use experiment::tables::Tables;
use omp_model::stream::What;
use omp_ring::consumer::{Item, SlotView};
use omp_ring::record::{Kind, Record};

use super::events::{Conversion, References, Shared};
use crate::clock::Line;
use crate::processes::Processes;

/// By how much a record's time may precede the record before it, or exceed now, in nanoseconds. It
/// covers the offset between the clocks of two CPUs, and the error of the fitted line between the
/// arena's clock and ours.
const CLOCK_ERROR_NS: u64 = 1_000_000;

/// The records of one thread that are read and not merged yet.
pub struct Queue {
    /// The index of the thread's slot.
    pub(super) index: u32,
    generation: u32,
    /// The thread's process.
    pub(super) pid: i32,
    /// The kernel's thread id; 0 while no thread has claimed the slot.
    pub(super) tid: i32,
    /// The thread, known once the side band has been applied up to its first record.
    pub(super) thread: Option<ThreadId>,
    /// Their times are already converted: [`Line::raw_ns`] minus the start, in nanoseconds.
    records: Vec<Record>,
    /// Index of the next record to merge.
    next: usize,
    /// Time of the last record read.
    last: u64,
    references: References,
    /// The thread has closed its slot.
    pub(super) is_closed: bool,
    /// The ring held invalid records; no more are read.
    pub(super) is_given_up: bool,
}

impl Queue {
    /// Of a slot that no thread has claimed yet.
    pub(super) fn new(index: u32) -> Queue {
        Queue {
            index,
            generation: 0,
            pid: 0,
            tid: 0,
            thread: None,
            records: Vec::new(),
            next: 0,
            last: 0,
            references: References::new(),
            is_closed: false,
            is_given_up: false,
        }
    }

    /// Time of the next record, in nanoseconds since the start.
    #[inline]
    pub fn next_time(&self) -> Option<u64> {
        self.records.get(self.next).map(|record| record.time())
    }

    /// Prepares to read the ring of a slot. `line` converts its clock; times count from `start`.
    pub(super) fn receive(&mut self, view: &SlotView, line: Line, start: u64) -> Reception<'_> {
        if self.generation != view.generation || self.tid == 0 {
            self.begin(view);
        }
        self.is_closed = view.closed;
        self.records.drain(..self.next);
        self.next = 0;
        self.records.reserve(view.pending);
        Reception {
            before: self.records.len(),
            queue: self,
            line,
            start,
            newest: 0,
            is_ordered: true,
            records: 0,
            contexts: 0,
        }
    }

    /// Resets the queue for another thread, which has claimed the slot.
    fn begin(&mut self, view: &SlotView) {
        self.generation = view.generation;
        (self.pid, self.tid, self.thread) = (view.pid, view.tid, None);
        self.last = 0;
        self.references.reset();
    }

    /// Marks the rest of the thread's time as a gap, and reads no more of its records.
    pub(super) fn give_up(&mut self, now: u64) {
        self.is_given_up = true;
        self.records.push(Record::new(Kind::Lost, now, 0));
    }
}

/// Receives the records of a ring for the thread's queue.
pub(super) struct Reception<'a> {
    queue: &'a mut Queue,
    /// The number of records that the queue had before.
    before: usize,
    line: Line,
    start: u64,
    /// The latest time so far.
    newest: u64,
    /// Times do not decrease by more than [`CLOCK_ERROR_NS`].
    is_ordered: bool,
    /// The number of records received.
    pub(super) records: u64,
    /// The number of calling contexts received.
    pub(super) contexts: u64,
}

impl Reception<'_> {
    /// Takes the next item of the ring.
    #[inline]
    pub(super) fn take(&mut self, item: Item) {
        let queue = &mut *self.queue;
        let record = match item {
            Item::Record(record) => record,
            Item::Context(id, context) => {
                self.contexts += 1;
                queue.references.add_context(id, context);
                return;
            }
        };
        self.records += 1;
        let time = self.line.raw_ns(record.time()).saturating_sub(self.start);
        self.is_ordered &= time + CLOCK_ERROR_NS >= queue.last;
        self.newest = self.newest.max(time);
        queue.last = time;
        let record = Record {
            head: time << 8 | record.head & 0xff,
            ..record
        };
        match queue.records.last_mut() {
            Some(last) if is_implied_by(*last, record) => *last = record,
            _ => queue.records.push(record),
        }
    }

    /// Whether the times received are possible, `now` being the time.
    pub(super) fn is_plausible(&self, now: u64) -> bool {
        self.is_ordered && self.newest <= now + CLOCK_ERROR_NS
    }

    /// Drops what was received, and gives up the queue.
    pub(super) fn give_up(self, now: u64) {
        self.queue.records.truncate(self.before);
        self.queue.give_up(now);
    }
}

/// Whether `next` implies `last`: an implicit task ends a few nanoseconds after its join barrier.
#[inline]
fn is_implied_by(last: Record, next: Record) -> bool {
    next.head as u8 == Kind::ImplicitEnd as u8 && last.head as u8 == Kind::SyncWaitEnd as u8
}

/// The events of one thread, in order.
pub struct ThreadEvents<'a> {
    pub(super) queue: &'a mut Queue,
    pub(super) shared: &'a mut Shared,
}

impl ThreadEvents<'_> {
    /// The thread, if it is known yet.
    pub fn thread(&mut self) -> &mut Option<ThreadId> {
        &mut self.queue.thread
    }

    /// The kernel's process id and thread id.
    pub fn numbers(&self) -> (i32, i32) {
        (self.queue.pid, self.queue.tid)
    }

    /// Time of the next record, in nanoseconds since the start.
    #[inline]
    pub fn next_time(&self) -> Option<u64> {
        self.queue.next_time()
    }

    /// Takes the next record, at `time` in nanoseconds since the start, and returns its event. A
    /// prefix has none.
    #[inline]
    pub fn pop(
        &mut self,
        time: u64,
        tables: &mut Tables,
        processes: &mut Processes,
    ) -> Option<What> {
        let queue = &mut *self.queue;
        let record = *queue.records.get(queue.next)?;
        queue.next += 1;
        let mut conversion = Conversion {
            references: &mut queue.references,
            shared: self.shared,
            tables,
            processes,
            slot: queue.index,
            pid: queue.pid,
            time,
        };
        conversion.event(record)
    }
}
