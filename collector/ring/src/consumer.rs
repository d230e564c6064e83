//! `collect`'s side: creates the arena, drains and recycles slots.
//!
//! Nothing in the arena is trusted: the program under test may have written anything anywhere.
//! Sizes come from the consumer's own copy, and counts are bounded before they are used. A ring
//! that holds something that no producer writes is given up.

use std::io;
use std::os::fd::AsRawFd;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicU32, AtomicU64};

use crate::arena::Arena;
use crate::clock::ClockSource;
use crate::context::{Context, PartialContext};
use crate::control::{ControlCall, ControlReader};
use crate::layout::{
    Control, Geometry, MAGIC, MAX_HELD, RuntimeKind, SlotHeader, SlotState, Tables, VERSION,
};
use crate::locks::LockView;
use crate::loops::LoopView;
use crate::mapped::Ring;
use crate::record::{CallingContextId, ContextPayload, Kind, Record};
use crate::table::ENTRIES;

/// The sizes of a new arena.
#[derive(Clone, Copy, Debug)]
pub struct ArenaOptions {
    /// How many threads can record at once, at most [`MAX_SLOTS`](crate::layout::MAX_SLOTS).
    pub slots: u32,
    /// Records of 16 bytes in each ring: a power of two from 8 to 2^24.
    pub ring_records: u32,
    /// The clock of the records.
    pub clock: ClockSource,
    /// Waits shorter than this are summed and are no records, in nanoseconds.
    pub short_ns: u32,
    /// Whether contexts have the frames of Python.
    pub python: bool,
    /// The interfaces whose calls between ranks are recorded, a bit for each (`mpi::Interface::bit`).
    pub calls: u32,
}

impl Default for ArenaOptions {
    /// 4096 threads, 4 MiB each, the best available clock, and records of waits from 5 µs on.
    fn default() -> Self {
        ArenaOptions {
            slots: 4096,
            ring_records: 1 << 18,
            clock: ClockSource::best(),
            short_ns: 5_000,
            python: true,
            calls: u32::MAX,
        }
    }
}

impl ArenaOptions {
    /// Reduces the number of threads to what fits in a file of `bytes`; `None` if not one fits.
    #[must_use]
    pub fn within(self, bytes: u64) -> Option<ArenaOptions> {
        let fits = |slots: u32| {
            Geometry::new(slots, self.ring_records).is_some_and(|it| it.bytes() <= bytes)
        };
        // The length grows with the slots.
        let (mut fitting, mut too_many) = (0, self.slots + 1);
        while too_many - fitting > 1 {
            let middle = fitting + (too_many - fitting) / 2;
            if fits(middle) {
                fitting = middle;
            } else {
                too_many = middle;
            }
        }
        (fitting > 0).then_some(ArenaOptions {
            slots: fitting,
            ..self
        })
    }
}

/// A slot that a thread has claimed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlotView {
    /// The slot's index: the argument of [`Consumer::drain`].
    pub index: u32,
    /// How often the slot has been recycled.
    pub generation: u32,
    /// Process id.
    pub pid: i32,
    /// Thread id.
    pub tid: i32,
    /// The thread has closed the slot: no more records will come. A killed thread never does.
    pub closed: bool,
    /// Records that this thread dropped because the ring was full, prefixes included.
    pub dropped: u64,
    /// Records waiting to be drained.
    pub pending: usize,
}

/// An item in a ring.
#[derive(Clone, Debug)]
pub enum Item {
    /// A record.
    Record(Record),
    /// A calling context, and the id by which later records of the ring refer to it.
    Context(CallingContextId, Box<Context>),
}

/// Records that a thread holds back, with a prefix, in order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Held {
    /// The prefix [`Kind::Code`] of the first one; 0 if it has none.
    pub code: u64,
    /// The records.
    pub records: [Option<Record>; MAX_HELD],
}

/// A ring holds something that no producer writes, or cannot be mapped. No more of it is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unreadable;

/// An OpenMP runtime that the library in a program has registered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuntimeView {
    /// How the library receives its events.
    pub kind: RuntimeKind,
    /// Its process id.
    pub pid: i32,
    /// An address in its image, which identifies its file in the process's maps.
    pub address: u64,
    /// Bit n: it refused the callback with the specification's number n (`ompt_callbacks_t`).
    pub refused: u64,
    /// Its version string.
    pub version: String,
}

/// The consumer and owner of an arena.
#[derive(Debug)]
pub struct Consumer {
    arena: Arena,
    control: Control,
    calls: ControlReader,
    /// By slot; only those drained so far.
    rings: Vec<State>,
}

/// The consumer's state of a ring.
#[derive(Debug, Default)]
enum State {
    #[default]
    Unmapped,
    Mapped(Ring<'static>),
    Unreadable,
}

impl Consumer {
    /// Creates an arena. Fails with `InvalidInput` for invalid sizes, else with the kernel's error.
    pub fn create(options: &ArenaOptions) -> io::Result<Consumer> {
        let geometry = Geometry::new(options.slots, options.ring_records).ok_or_else(|| {
            io::Error::new(io::ErrorKind::InvalidInput, "these sizes make no arena")
        })?;
        Ok(Consumer {
            arena: Arena::create(geometry, options)?,
            control: Control::Recording,
            calls: ControlReader::default(),
            rings: Vec::new(),
        })
    }

    /// The arena's path for [`ARENA_VARIABLE`](crate::ARENA_VARIABLE), valid for processes of the
    /// same user while this value lives.
    pub fn path(&self) -> String {
        let file = self.arena.file().map_or(-1, AsRawFd::as_raw_fd);
        format!("/proc/{}/fd/{file}", std::process::id())
    }

    /// The clock that stamps the records.
    pub fn clock(&self) -> ClockSource {
        self.arena.clock()
    }

    /// Permits or forbids producers to push. The initial state is [`Control::Recording`].
    pub fn set_control(&mut self, control: Control) {
        self.control = control;
        self.arena.header().control.store(control as u32, Relaxed);
    }

    /// Reads the program's calls that control the recording.
    pub fn calls(&mut self, each: impl FnMut(ControlCall)) {
        if let Some(calls) = self.arena.calls() {
            self.calls.read(calls, each);
        }
    }

    /// The number of such calls that were lost.
    pub fn calls_lost(&self) -> u64 {
        let calls = self.arena.calls();
        calls.map_or(0, |calls| self.calls.lost(calls))
    }

    /// Pauses recording, or lets it go on.
    pub fn set_paused(&self, paused: bool) {
        self.arena.set_paused(paused);
    }

    /// Whether the header is unchanged. If not, the program has written into it, and the producers'
    /// behaviour is undefined.
    pub fn is_intact(&self) -> bool {
        let geometry = self.arena.geometry();
        let header = self.arena.header();
        header.magic.load(Relaxed) == MAGIC
            && header.version.load(Relaxed) == VERSION
            && header.clock.load(Relaxed) == self.arena.clock() as u32
            && header.slots.load(Relaxed) == geometry.slots
            && header.ring_records.load(Relaxed) == geometry.ring_records
            && header.control.load(Relaxed) == self.control as u32
    }

    /// The claimed slots, closed ones included, ordered by index.
    pub fn slots(&self) -> impl Iterator<Item = SlotView> + '_ {
        let used = self.arena.header().high_water.load(Acquire) as usize;
        self.arena
            .slots()
            .iter()
            .take(used)
            .enumerate()
            .filter_map(|(index, slot)| {
                let closed = match slot.state.load(Acquire) {
                    state if state == SlotState::Claimed as u32 => false,
                    state if state == SlotState::Closed as u32 => true,
                    _ => return None,
                };
                let (head, tail) = (slot.head.load(Acquire), slot.tail.load(Relaxed));
                Some(SlotView {
                    index: index as u32,
                    generation: slot.generation.load(Relaxed),
                    pid: slot.pid.load(Relaxed),
                    tid: slot.tid.load(Relaxed),
                    closed,
                    dropped: slot.dropped.load(Relaxed),
                    pending: self.records_between(head, tail).unwrap_or(0),
                })
            })
    }

    /// Number of records between two positions; `None` if it exceeds the ring's length.
    fn records_between(&self, head: u64, tail: u64) -> Option<usize> {
        let apart = head.wrapping_sub(tail);
        let most = u64::from(self.arena.geometry().ring_records);
        (apart <= most).then_some(apart as usize)
    }

    /// Passes the records that wait in slot `index` to `each`, oldest first, and frees their room.
    /// Passes up to `limit` records, and more to complete a context. Returns how many record
    /// positions were freed. Records pushed meanwhile are left for the next call.
    ///
    /// # Errors
    /// [`Unreadable`] on the first call that finds the ring invalid; later calls find nothing.
    pub fn drain(
        &mut self,
        index: u32,
        limit: usize,
        each: impl FnMut(Item),
    ) -> Result<usize, Unreadable> {
        let at = index as usize;
        if at >= self.arena.slots().len() {
            return Ok(0);
        }
        if self.rings.len() <= at {
            self.rings.resize_with(at + 1, State::default);
        }
        if matches!(self.rings[at], State::Unreadable) {
            return Ok(0);
        }
        let drained = self.read(index, limit, each);
        if drained.is_err() {
            self.give_up(index);
        }
        drained
    }

    /// The records that the thread of slot `index` holds back now. It may push them or drop them.
    pub fn held(&self, index: u32) -> Held {
        let Some(slot) = self.arena.slots().get(index as usize) else {
            return Held::default();
        };
        let words = &slot.held;
        let [first, second] = &words.records;
        let read = |[head, payload]: &[AtomicU64; 2]| {
            let head = head.load(Acquire);
            let payload = payload.load(Acquire);
            (head != 0).then_some(Record { head, payload })
        };
        let known = read(first);
        let held = Held {
            code: words.code.load(Acquire),
            records: [known, read(second)],
        };
        // Each record has a time of its own, so the words belong together if the first is the same.
        if known.is_some() && read(first) == known {
            held
        } else {
            Held::default()
        }
    }

    /// How many records the thread of slot `index` has dropped because the ring was full.
    pub fn dropped(&self, index: u32) -> u64 {
        let slot = self.arena.slots().get(index as usize);
        slot.map_or(0, |slot| slot.dropped.load(Relaxed))
    }

    /// Stops reading slot `index` for good, and never recycles it.
    pub fn give_up(&mut self, index: u32) {
        if let Some(state) = self.rings.get_mut(index as usize) {
            *state = State::Unreadable;
        }
    }

    /// [`Consumer::drain`] for a slot that was not given up.
    fn read(
        &mut self,
        index: u32,
        limit: usize,
        each: impl FnMut(Item),
    ) -> Result<usize, Unreadable> {
        let slot = &self.arena.slots()[index as usize];
        let (head, tail) = (slot.head.load(Acquire), slot.tail.load(Relaxed));
        let waiting = self.records_between(head, tail).ok_or(Unreadable)?;
        if waiting == 0 {
            return Ok(0);
        }
        let state = &mut self.rings[index as usize];
        if let State::Unmapped = state {
            *state = State::Mapped(self.arena.map_ring(index).map_err(|_| Unreadable)?);
        }
        let State::Mapped(ring) = state else {
            return Err(Unreadable);
        };
        let count = take(&self.arena, ring, slot, (tail, waiting, limit), each)?;
        slot.tail.store(tail.wrapping_add(count as u64), Release);
        Ok(count)
    }

    /// Recycles slot `index` for another thread to claim. Only for a slot that is closed, or whose
    /// thread has ended according to the kernel. Does nothing and returns `false` while records
    /// wait in it: a thread may have pushed its last ones after the drain and before its end was
    /// noticed. A ring that was given up is never recycled.
    pub fn recycle(&self, index: u32) -> bool {
        let Some(slot) = self.arena.slots().get(index as usize) else {
            return false;
        };
        let given_up = matches!(self.rings.get(index as usize), Some(State::Unreadable));
        let (head, tail) = (slot.head.load(Acquire), slot.tail.load(Relaxed));
        if given_up || head != tail {
            return false;
        }
        slot.dropped.store(0, Relaxed);
        slot.generation
            .store(slot.generation.load(Relaxed).wrapping_add(1), Relaxed);
        slot.state.store(SlotState::Free as u32, Release);
        true
    }

    /// The loops of slot `index` so far, since its thread claimed it, and whether there was no room
    /// for others.
    pub fn loops(&self, index: u32) -> (impl Iterator<Item = LoopView>, bool) {
        let (tables, is_full) = self.tables(index, |slot| &slot.loops);
        let views = tables.map(|tables| tables.loops.views());
        (views.into_iter().flatten(), is_full)
    }

    /// The mutexes of slot `index` so far, since its thread claimed it, and whether there was no room
    /// for others.
    pub fn locks(&self, index: u32) -> (impl Iterator<Item = LockView>, bool) {
        let (tables, is_full) = self.tables(index, |slot| &slot.locks);
        let views = tables.map(|tables| tables.locks.views());
        (views.into_iter().flatten(), is_full)
    }

    /// The tables of slot `index`, if the one with this count of entries is in use; and whether that
    /// one is full.
    fn tables(
        &self,
        index: u32,
        asked: impl Fn(&SlotHeader) -> &AtomicU32,
    ) -> (Option<&Tables>, bool) {
        let slot = self.arena.slots().get(index as usize);
        let asked = slot.map_or(0, |slot| asked(slot).load(Acquire));
        let tables = match self.rings.get(index as usize) {
            Some(State::Mapped(ring)) if asked > 0 => Some(ring.tables()),
            _ => None,
        };
        (tables, asked as usize > ENTRIES)
    }

    /// The runtimes registered so far, in order.
    pub fn runtimes(&self) -> impl Iterator<Item = RuntimeView> + '_ {
        self.arena.header().runtimes.iter().filter_map(|entry| {
            let kind = RuntimeKind::from_word(entry.kind.load(Acquire))?;
            Some(RuntimeView {
                kind,
                pid: entry.pid.load(Relaxed),
                address: entry.address.load(Relaxed),
                refused: entry.refused.load(Relaxed),
                version: text(&entry.version),
            })
        })
    }

    /// Threads that found no free slot or could not map its ring. None of their events were
    /// recorded.
    pub fn refused_slots(&self) -> u32 {
        self.arena.header().refused_slots.load(Relaxed)
    }
}

/// Passes up to `limit` of the `waiting` records from position `tail` on to `each`, and completes a
/// context that one of them begins. Returns the number of positions read.
#[inline]
fn take(
    arena: &Arena,
    ring: &mut Ring<'_>,
    slot: &SlotHeader,
    (tail, waiting, limit): (u64, usize, usize),
    mut each: impl FnMut(Item),
) -> Result<usize, Unreadable> {
    let part = u64::from(arena.geometry().part_records());
    let parts = u64::from(arena.geometry().parts());
    let mut partial: Option<PartialContext> = None;
    let mut done = 0;
    while done < waiting && (done < limit || partial.is_some()) {
        let at = tail.wrapping_add(done as u64);
        if done == 0 || at.is_multiple_of(part) {
            let number = slot.parts.get(((at / part) & (parts - 1)) as usize);
            ring.open(number.map_or(0, |number| number.load(Relaxed)));
        }
        let [head, payload] = ring.record(at);
        let record = Record {
            head: head.load(Relaxed),
            payload: payload.load(Relaxed),
        };
        done += 1;
        if let Some(context) = &mut partial {
            let id = context.payload().context;
            if let Some(whole) = context.add([record.head, record.payload]) {
                partial = None;
                each(Item::Context(id, Box::new(whole)));
            }
            continue;
        }
        match record.kind() {
            Some(Kind::Context) => {
                let payload = ContextPayload::unpack(record.payload);
                partial = Some(PartialContext::new(payload).ok_or(Unreadable)?);
            }
            Some(_) => each(Item::Record(record)),
            None => return Err(Unreadable),
        }
    }
    // The producer publishes a context as a whole, so an incomplete one is invalid.
    if partial.is_some() {
        return Err(Unreadable);
    }
    Ok(done)
}

fn text(words: &[AtomicU64]) -> String {
    let bytes: Vec<u8> = words
        .iter()
        .flat_map(|word| word.load(Relaxed).to_ne_bytes())
        .collect();
    let end = bytes
        .iter()
        .position(|byte| *byte == 0)
        .unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}
