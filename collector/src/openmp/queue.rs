//! The OpenMP records of a thread between its ring and the merge.

use experiment::ids::{StackId, ThreadId};
use experiment::losses::LossKind;
use experiment::tables::Tables;
use omp_model::stream::What;
use omp_ring::consumer::{Consumer, Held, Item, SlotView};
use omp_ring::record::{HoldPayload, Kind, Record, ShortPayload, TIME_BITS};

use super::events::{Conversion, References, Shared};
use crate::clock::Line;
use crate::truncated::Activation;
use processes::Processes;

/// By how much a record's time may precede the record before it, or exceed now, in nanoseconds. It
/// covers the offset between the clocks of two CPUs, and the error of the fitted line between the
/// arena's clock and ours.
const CLOCK_ERROR_NS: u64 = 1_000_000;

/// Bits of the kind in a record's head, below the time.
const TIME_SHIFT: u32 = u64::BITS - TIME_BITS;

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
    /// The number of records that the thread dropped and that are counted.
    told: u64,
    /// The raw time of the last record read, or held back and taken.
    last_raw: u64,
    /// The records held back that were taken, by their raw heads: their thread pushes them later.
    taken: Vec<u64>,
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
            told: 0,
            last_raw: 0,
            taken: Vec::new(),
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

    /// The number of records that wait.
    pub(super) fn len(&self) -> usize {
        self.records.len() - self.next
    }

    /// Prepares to read the ring of a slot. `line` converts its clock; times count from `start`.
    pub(super) fn receive<'a>(
        &'a mut self,
        view: &SlotView,
        line: &'a Line,
        start: u64,
    ) -> Reception<'a> {
        if self.generation != view.generation || self.tid == 0 {
            self.begin(view);
        }
        self.is_closed = view.closed;
        // What is left is moved only if it is less than what was merged.
        if self.next >= self.len() {
            self.records.drain(..self.next);
            self.next = 0;
        }
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
            lost: Vec::new(),
        }
    }

    /// Time of the last record read, in nanoseconds since the start; 0 for none.
    pub(super) fn last(&self) -> u64 {
        self.last
    }

    /// So many dropped records are counted.
    pub(super) fn tell(&mut self, count: u64) {
        self.told = self.told.saturating_add(count);
    }

    /// The number of records that the thread dropped since it pushed the last one, if all that it pushed
    /// are read; it is `now`. The program may have written any number there, but a thread makes no more
    /// than a record in a nanosecond.
    pub(super) fn untold(&self, arena: &Consumer, now: u64) -> u64 {
        let untold = arena.dropped(self.index).saturating_sub(self.told);
        untold.min(now.saturating_sub(self.last))
    }

    /// Resets the queue for another thread, which has claimed the slot.
    fn begin(&mut self, view: &SlotView) {
        self.generation = view.generation;
        (self.pid, self.tid, self.thread) = (view.pid, view.tid, None);
        (self.last, self.last_raw, self.told) = (0, 0, 0);
        self.taken.clear();
        self.references.reset();
    }

    /// Whether the record, or the one whose prefix it is, was taken while it was held back.
    #[cold]
    fn is_taken(&mut self, record: Record) -> bool {
        let is_prefix = record.kind() == Some(Kind::Code);
        let mut taken = self.taken.iter();
        let is_taken = taken
            .any(|&head| head == record.head || is_prefix && head >> TIME_SHIFT == record.time());
        self.taken
            .retain(|&head| head >> TIME_SHIFT >= record.time() && head != record.head);
        is_taken
    }

    /// Marks the rest of the thread's time as a gap, and reads no more of its records.
    pub(super) fn give_up(&mut self, now: u64) {
        self.is_given_up = true;
        self.last = now;
        self.records.push(Record::new(Kind::Lost, now, 0));
    }
}

/// Receives the records of a ring for the thread's queue.
pub(super) struct Reception<'a> {
    queue: &'a mut Queue,
    /// The number of records that the queue had before.
    before: usize,
    line: &'a Line,
    start: u64,
    /// The latest time so far.
    newest: u64,
    /// Times do not decrease by more than [`CLOCK_ERROR_NS`].
    is_ordered: bool,
    /// The number of records received.
    pub(super) records: u64,
    /// The number of calling contexts received.
    pub(super) contexts: u64,
    /// What records tell of those before them that were dropped.
    lost: Vec<Dropped>,
}

/// Records that a thread dropped: what they tell of, since when and until when, and how many.
type Dropped = (LossKind, (u64, u64), u64);

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
        if queue.taken.is_empty() || !queue.is_taken(record) {
            self.add(record);
        }
    }

    /// Adds a record to the queue.
    #[inline]
    fn add(&mut self, record: Record) {
        let queue = &mut *self.queue;
        self.records += 1;
        queue.last_raw = record.time();
        let time = self.line.raw_ns(record.time()).saturating_sub(self.start);
        self.is_ordered &= time + CLOCK_ERROR_NS >= queue.last;
        self.newest = self.newest.max(time);
        let before = std::mem::replace(&mut queue.last, time);
        let mut record = Record {
            head: time << 8 | record.head & 0xff,
            ..record
        };
        match record.kind() {
            Some(Kind::Span) => record.payload = self.line.length_ns(record.payload),
            Some(Kind::Short) => record.payload = self.in_ns(record.payload),
            Some(Kind::ShortHold) => {
                let HoldPayload { acquiring, held } = HoldPayload::unpack(record.payload);
                let [acquiring, held] = [acquiring, held].map(|it| self.line.length_ns(it));
                record.payload = HoldPayload { acquiring, held }.pack();
            }
            Some(Kind::Lost) => self.lose(LossKind::OmpConstructs, (before, time), record.payload),
            Some(Kind::LostWaits) => self.lose(LossKind::OmpWaits, (before, time), record.payload),
            _ => {}
        }
        let queue = &mut *self.queue;
        match queue.records.last_mut() {
            Some(last) if is_implied_by(*last, record) => *last = record,
            _ => queue.records.push(record),
        }
    }

    /// Notes records that were dropped; none where recording was paused.
    #[cold]
    fn lose(&mut self, kind: LossKind, when: (u64, u64), count: u64) {
        if count > 0 {
            self.lost.push((kind, when, count));
        }
    }

    /// The payload of a [`Kind::Short`], its length in nanoseconds.
    fn in_ns(&self, payload: u64) -> u64 {
        let ShortPayload { count, length } = ShortPayload::unpack(payload);
        let length = self.line.length_ns(length);
        ShortPayload { count, length }.pack()
    }

    /// Takes the records that the thread holds back, as far as they are older than `ns`: none of
    /// them can be short any more, so the thread will push them.
    pub(super) fn take_held(&mut self, held: Held, older: u64) {
        let mut code = held.code;
        for record in held.records.into_iter().flatten() {
            let time = self.line.raw_ns(record.time()).saturating_sub(self.start);
            let prefix = std::mem::take(&mut code);
            let is_new = record.time() > self.queue.last_raw;
            if !is_new || time >= older {
                continue;
            }
            if prefix != 0 {
                self.add(Record::new(Kind::Code, record.time(), prefix));
            }
            self.add(record);
            self.queue.taken.push(record.head);
        }
    }

    /// Whether the times received are possible, `now` being the time.
    pub(super) fn is_plausible(&self, now: u64) -> bool {
        self.is_ordered && self.newest <= now + CLOCK_ERROR_NS
    }

    /// Keeps what was received. Returns what was dropped before it.
    pub(super) fn finish(self) -> Vec<Dropped> {
        for &(_, _, count) in &self.lost {
            self.queue.tell(count);
        }
        self.lost
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

    /// The large frames of the calling context of the event taken last, and their callers.
    #[inline]
    pub fn take_large_frames(&mut self) -> &[(Activation, StackId)] {
        self.shared.take_large_frames()
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
            thread: queue.thread,
            pid: queue.pid,
            time,
        };
        conversion.event(record)
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::CString;

    use omp_ring::Arena;
    use omp_ring::consumer::ArenaOptions;
    use omp_ring::producer::Producer;

    use super::*;
    use crate::clock::Pair;

    const SLOT: SlotView = SlotView {
        index: 0,
        generation: 1,
        pid: 10,
        tid: 11,
        closed: false,
        dropped: 0,
        pending: 0,
    };

    fn nanoseconds() -> Line {
        Line::new(Pair {
            ticks: 0,
            raw_ns: 0,
        })
    }

    fn kinds(queue: &Queue) -> Vec<(Kind, u64)> {
        let records = queue.records.iter();
        let kinds = records.map(|record| (record.kind().expect("a known kind"), record.time()));
        kinds.collect()
    }

    #[test]
    fn what_was_dropped_was_so_between_the_records_around_it() {
        let mut queue = Queue::new(0);
        let line = nanoseconds();
        let mut reception = queue.receive(&SLOT, &line, 0);
        let records = [
            (Kind::ThreadBegin, 1_000, 1),
            (Kind::Lost, 5_000, 7),
            (Kind::TaskSchedule, 5_000, 0),
            (Kind::LostWaits, 9_000, 3),
            // Recording was paused.
            (Kind::Lost, 9_500, 0),
        ];
        for (kind, time, payload) in records {
            reception.take(Item::Record(Record::new(kind, time, payload)));
        }
        let expected = [
            (LossKind::OmpConstructs, (1_000, 5_000), 7),
            (LossKind::OmpWaits, (5_000, 9_000), 3),
        ];
        assert_eq!(reception.finish(), expected);
        // In the next reading, too.
        let mut reception = queue.receive(&SLOT, &line, 0);
        reception.take(Item::Record(Record::new(Kind::Lost, 12_000, 2)));
        let expected = [(LossKind::OmpConstructs, (9_500, 12_000), 2)];
        assert_eq!(reception.finish(), expected);
        assert_eq!((queue.told, queue.last()), (12, 12_000));
    }

    #[test]
    fn what_a_thread_drops_after_its_last_record_is_counted_too() {
        const PUSHED: u64 = 100;
        let options = ArenaOptions {
            slots: 1,
            ring_records: 64,
            ..ArenaOptions::default()
        };
        let mut consumer = Consumer::create(&options).unwrap();
        let arena = Arena::attach(&CString::new(consumer.path()).unwrap()).unwrap();
        let mut producer = Producer::claim(&arena, 10, 11).unwrap();
        for time in 1..=PUSHED {
            producer.push_at(time, None, Kind::ThreadBegin, 1);
        }
        drop(producer);
        let (mut queue, line) = (Queue::new(0), nanoseconds());
        let view = consumer.slots().next().unwrap();
        let mut reception = queue.receive(&view, &line, 0);
        let read = consumer.drain(0, usize::MAX, |item| reception.take(item));
        assert_eq!(reception.finish(), []);
        let untold = queue.untold(&consumer, 10_000);
        assert!(untold > 0, "{read:?}");
        assert_eq!(read.unwrap() as u64 + untold, PUSHED);
        // The program can write any number there.
        assert_eq!(queue.untold(&consumer, queue.last() + 3), 3);
    }

    #[test]
    fn a_wait_that_lasts_is_taken_once_before_its_thread_pushes_it() {
        let wait = Record::new(Kind::MutexAcquire, 1_000, 5);
        let hold = Record::new(Kind::MutexAcquired, 2_000, 5);
        let held = |second| Held {
            code: 77,
            records: [Some(wait), second],
        };
        let mut queue = Queue::new(0);
        let line = nanoseconds();
        let mut reception = queue.receive(&SLOT, &line, 0);
        reception.take_held(held(None), 500);
        assert_eq!(kinds(reception.queue), [], "it may be short yet");
        reception.take_held(held(None), 1_500);
        reception.take_held(held(Some(hold)), 1_500);
        reception.take_held(held(Some(hold)), 9_000);
        let taken = [
            (Kind::Code, 1_000),
            (Kind::MutexAcquire, 1_000),
            (Kind::MutexAcquired, 2_000),
        ];
        assert_eq!(kinds(reception.queue), taken);
        // Then the thread pushes them, and goes on.
        let code = Record::new(Kind::Code, 1_000, 77);
        let release = Record::new(Kind::MutexReleased, 8_000, 5);
        for record in [code, wait, hold, release] {
            reception.take(Item::Record(record));
        }
        assert_eq!(kinds(reception.queue)[..3], taken);
        assert_eq!(kinds(reception.queue)[3..], [(Kind::MutexReleased, 8_000)]);
        assert!(reception.is_plausible(10_000));
        // What was held back before is not taken again.
        reception.take_held(held(Some(hold)), 9_000);
        assert_eq!(kinds(reception.queue).len(), 4);
    }
}
