//! Reads OpenMP records from the arena's rings, and turns them into events of the merged stream.

use experiment::ids::{FrameId, ThreadId};
use experiment::tables::{Tables, ThreadKind};
use omp_model::stream::{Instance, Lock, Mutex, Site, Sync, What};
use omp_ring::consumer::{Consumer, Item, SlotView};
use omp_ring::context::Context as Piece;
use omp_ring::layout::Control;
use omp_ring::record::{
    CodePayload, InstanceId, JoinPayload, Kind, MutexPayload, OriginPayload, Record, RegionPayload,
    SiteId, TaskPayload,
};
use rustc_hash::FxHashMap;

use crate::clock::{self, Line, Pair};
use crate::contexts::Contexts;
use crate::processes::Processes;
use crate::stacks;

/// `ompt_task_complete`, `ompt_task_cancel` and `ompt_task_detach` of `ompt_task_status_t` (OpenMP
/// 5.2, section 19.4.4.20): the prior task does not resume.
const TASK_DONE: [u32; 3] = [1, 3, 4];

/// A thread's records between ring and merge.
pub struct Slot {
    index: u32,
    generation: u32,
    /// The thread's process.
    pub pid: i32,
    /// The kernel's thread id.
    pub tid: i32,
    /// The thread, known once the side band has been applied up to the thread's first record.
    pub thread: Option<ThreadId>,
    /// Their times are already converted: [`Line::raw_ns`] minus the start, in nanoseconds.
    records: Vec<Record>,
    /// Index of the next record to merge.
    at: usize,
    /// Time of the last record read.
    last: u64,
    /// Cache of frames by return address: calls into the runtime have few different ones.
    frames: [(u64, FrameId); FRAMES],
    /// [`Processes::changes`] at which the cache was valid.
    frames_at: u64,
    /// The calling contexts that the thread has sent, by name.
    contexts: FxHashMap<SiteId, Sent>,
    /// The payload of the prefix that precedes the next record.
    code: Option<u64>,
    /// Return addresses by [`MutexPayload::place`].
    mutex_places: Box<[u64; 1 << u8::BITS]>,
    closed: bool,
    /// The ring held invalid records; no more are read.
    given_up: bool,
}

/// A calling context.
enum Sent {
    /// As sent by the thread. It can be unwound once the side band is known up to its first use.
    Stack(Box<Piece>),
    /// The unwound call path.
    Site(Site),
}

impl Slot {
    /// The slot of a thread that has not claimed it yet.
    fn new(index: u32) -> Slot {
        Slot {
            index,
            generation: 0,
            pid: 0,
            tid: 0,
            thread: None,
            records: Vec::new(),
            at: 0,
            last: 0,
            frames: [(0, FrameId::NONE); FRAMES],
            frames_at: 0,
            contexts: FxHashMap::default(),
            code: None,
            mutex_places: Box::new([0; _]),
            closed: false,
            given_up: false,
        }
    }

    /// Marks the rest of the thread's time as a gap, and reads no more of its records.
    fn give_up(&mut self, now: u64) {
        self.given_up = true;
        self.records.push(Record::new(Kind::Lost, now, 0));
    }

    /// Resets the slot for another thread that has claimed it.
    fn begin(&mut self, view: &SlotView) {
        self.generation = view.generation;
        (self.pid, self.tid, self.thread) = (view.pid, view.tid, None);
        self.last = 0;
        self.mutex_places.fill(0);
        self.contexts.clear();
    }

    /// Time of the next record, in nanoseconds since the start.
    #[inline]
    pub fn next_time(&self) -> Option<u64> {
        self.records.get(self.at).map(|record| record.time())
    }
}

/// Records of all threads, and counts of the calling contexts.
pub struct OpenMp {
    source: Source,
    line: Line,
    /// Unordered; a slot's index in the arena is [`Slot::index`].
    slots: Vec<Slot>,
    /// By the arena's index: 1 + the index in `slots`; 0 for none.
    positions: Vec<u32>,
    /// Number of records read.
    pub taken: u64,
    /// Number of calling contexts read.
    pub contexts: u64,
    /// Number of rings given up because of invalid records: the program has written into the shared
    /// memory.
    pub given_up: u64,
}

/// The arena, and the conversion of its clock.
struct Source {
    /// `None` without shared memory: no OpenMP records then.
    arena: Option<Consumer>,
    contexts: Contexts,
    /// Records that the program could not push, as counted so far.
    lost: u64,
    /// Calling contexts that were lost or could not be unwound.
    sites_lost: u64,
}

/// By how much a record's time may precede the record before it, or exceed now, in nanoseconds. It
/// covers the offset between the clocks of two CPUs, and the error of the fitted line between the
/// arena's clock and ours.
const CLOCK_ERROR_NS: u64 = 1_000_000;

impl OpenMp {
    /// Reads from this arena, if there is one; `line` converts its clock.
    pub fn new(arena: Option<Consumer>, line: Line) -> Self {
        OpenMp {
            source: Source {
                arena,
                contexts: Contexts::default(),
                lost: 0,
                sites_lost: 0,
            },
            line,
            slots: Vec::new(),
            positions: Vec::new(),
            taken: 0,
            contexts: 0,
            given_up: 0,
        }
    }

    /// The arena.
    pub fn arena(&self) -> Option<&Consumer> {
        self.source.arena.as_ref()
    }

    /// Stops the program's threads from pushing records.
    pub fn pause(&mut self) {
        if let Some(arena) = &mut self.source.arena {
            arena.set_control(Control::Paused);
        }
    }

    /// Number of threads that found no free ring.
    pub fn refused(&self) -> u32 {
        self.arena().map_or(0, Consumer::refused_slots)
    }

    /// Number of records that the program could not push.
    pub fn lost(&self) -> u64 {
        self.source.lost
    }

    /// Number of calling contexts that were lost or could not be unwound.
    pub fn sites_lost(&self) -> u64 {
        self.source.sites_lost
    }

    /// Reads both clocks. Records from here to the next call are converted by this pair and the
    /// previous one.
    pub fn tie_clocks(&mut self) {
        if let Some(arena) = &self.source.arena {
            self.line.extend(Pair::read(arena.clock()));
        }
    }

    /// Reads the rings of recorded threads. Converts times to nanoseconds since `start`, which is a
    /// raw time. Skips a thread that the side band has not announced yet, unless announcements were
    /// lost and it is to be `adopted`. Returns the number of records in the fullest ring.
    pub fn drain(&mut self, processes: &Processes, start: u64, adopted: bool) -> usize {
        let mut most = 0;
        let Some(arena) = &self.source.arena else {
            return most;
        };
        let is_intact = arena.is_intact();
        let slots = is_intact.then(|| arena.slots());
        let views: Vec<_> = slots.into_iter().flatten().collect();
        self.give_up_missing(&views, clock::raw_now().saturating_sub(start));
        if !is_intact {
            self.given_up = self.given_up.max(1);
        }
        for view in views {
            if !is_expected(processes, &view, adopted) {
                continue;
            }
            let place = self.position_of(view.index);
            let slot = &mut self.slots[place];
            if slot.given_up {
                continue;
            }
            if slot.generation != view.generation || slot.tid == 0 {
                slot.begin(&view);
            }
            slot.closed = view.closed;
            most = most.max(view.pending);
            slot.records.drain(..slot.at);
            slot.at = 0;
            let whole = slot.records.len();
            slot.records.reserve(view.pending);
            let mut arrived = Arrived {
                slot,
                line: self.line,
                start,
                newest: 0,
                is_ordered: true,
                records: 0,
                contexts: 0,
            };
            let Some(arena) = &mut self.source.arena else {
                break;
            };
            let drained = arena.drain(view.index, usize::MAX, |item| arrived.take(item));
            let (is_ordered, newest) = (arrived.is_ordered, arrived.newest);
            self.taken += arrived.records;
            self.contexts += arrived.contexts;
            let now = clock::raw_now().saturating_sub(start);
            match drained {
                Ok(_) if is_ordered && newest <= now + CLOCK_ERROR_NS => {}
                _ => {
                    arena.give_up(view.index);
                    slot.records.truncate(whole);
                    slot.give_up(now);
                    self.given_up += 1;
                }
            }
        }
        most
    }

    /// Gives up threads whose slots are not in `views` although we have not recycled them.
    fn give_up_missing(&mut self, views: &[SlotView], now: u64) {
        let missing = |slot: &&mut Slot| {
            let is_there = views
                .binary_search_by_key(&slot.index, |view| view.index)
                .is_ok();
            slot.tid != 0 && !slot.given_up && !is_there
        };
        for slot in self.slots.iter_mut().filter(missing) {
            slot.give_up(now);
            self.given_up += 1;
        }
    }

    /// Number of records in rings of threads that the side band has not announced.
    pub fn unclaimed(&self, processes: &Processes, adopted: bool) -> u64 {
        let slots = self.arena().into_iter().flat_map(Consumer::slots);
        let unclaimed = slots.filter(|view| !is_expected(processes, view, adopted));
        let recorded = unclaimed.filter(|view| processes.is_recorded(view.pid));
        recorded.map(|view| view.pending as u64).sum()
    }

    fn position_of(&mut self, index: u32) -> usize {
        let at = index as usize;
        if self.positions.len() <= at {
            self.positions.resize(at + 1, 0);
        }
        if self.positions[at] == 0 {
            self.slots.push(Slot::new(index));
            self.positions[at] = self.slots.len() as u32;
        }
        self.positions[at] as usize - 1
    }

    /// The threads' queues.
    pub fn slots(&self) -> &[Slot] {
        &self.slots
    }

    /// One thread's queue, with what the conversion to events needs.
    pub fn queue(&mut self, place: usize) -> Queue<'_> {
        Queue {
            slot: &mut self.slots[place],
            source: &mut self.source,
        }
    }

    /// Recycles the slots of threads that have ended and whose records are all merged.
    pub fn recycle(&mut self, processes: &Processes) {
        let Some(arena) = &self.source.arena else {
            return;
        };
        for slot in &mut self.slots {
            let over = slot
                .thread
                .map_or(slot.closed, |thread| !processes.is_alive(thread));
            let done = slot.tid != 0 && over && slot.next_time().is_none();
            // Refused while records wait that were pushed after the drain: the next round reads
            // them.
            if done && arena.recycle(slot.index) {
                slot.tid = 0;
                slot.thread = None;
            }
        }
    }
}

/// Whether a slot belongs to a recorded thread.
fn is_expected(processes: &Processes, view: &SlotView, adopted: bool) -> bool {
    let is_known = processes.has_thread((view.pid, view.tid));
    (is_known || adopted && processes.has_process(view.pid)) && processes.is_recorded(view.pid)
}

/// Receives the records of a ring for the thread's queue.
struct Arrived<'a> {
    slot: &'a mut Slot,
    line: Line,
    start: u64,
    /// The latest time so far.
    newest: u64,
    /// Lower bound for the next time: times never decrease.
    is_ordered: bool,
    records: u64,
    contexts: u64,
}

impl Arrived<'_> {
    #[inline]
    fn take(&mut self, item: Item) {
        let slot = &mut *self.slot;
        let record = match item {
            Item::Record(record) => record,
            Item::Context(name, context) => {
                self.contexts += 1;
                slot.contexts.insert(name, Sent::Stack(context));
                return;
            }
        };
        self.records += 1;
        let time = self.line.raw_ns(record.time()).saturating_sub(self.start);
        self.is_ordered &= time + CLOCK_ERROR_NS >= slot.last;
        self.newest = self.newest.max(time);
        slot.last = time;
        let record = Record {
            head: time << 8 | record.head & 0xff,
            ..record
        };
        match slot.records.last_mut() {
            Some(last) if is_implied_by(*last, record) => *last = record,
            _ => slot.records.push(record),
        }
    }
}

/// Whether `next` implies `last`: an implicit task ends a few nanoseconds after its join barrier.
#[inline]
fn is_implied_by(last: Record, next: Record) -> bool {
    next.head as u8 == Kind::ImplicitEnd as u8 && last.head as u8 == Kind::SyncWaitEnd as u8
}

/// Entries in a thread's cache of frames.
const FRAMES: usize = 1 << FRAMES_BITS;
const FRAMES_BITS: u32 = 6;

/// Converts one thread's records to events.
pub struct Queue<'a> {
    slot: &'a mut Slot,
    source: &'a mut Source,
}

impl Queue<'_> {
    /// The thread, if it is known yet.
    pub fn thread(&mut self) -> &mut Option<ThreadId> {
        &mut self.slot.thread
    }

    /// The kernel's process id and thread id.
    pub fn numbers(&self) -> (i32, i32) {
        (self.slot.pid, self.slot.tid)
    }

    /// Time of the next record, in nanoseconds since the start.
    #[inline]
    pub fn next_time(&self) -> Option<u64> {
        self.slot.next_time()
    }

    /// Takes the next record, at `time` in nanoseconds since the start, and returns its event. A
    /// prefix has none: it is kept for the record that follows.
    #[inline]
    pub fn pop(
        &mut self,
        time: u64,
        tables: &mut Tables,
        processes: &mut Processes,
    ) -> Option<What> {
        let record = *self.slot.records.get(self.slot.at)?;
        self.slot.at += 1;
        let kind = record.kind()?;
        if kind == Kind::Code {
            self.slot.code = Some(record.payload);
            return None;
        }
        let mut context = Context {
            slot: self.slot,
            source: self.source,
            tables,
            processes,
            time,
        };
        let what = context.what(kind, record.payload);
        self.slot.code = None;
        what
    }
}

/// What the conversion of a record reads and updates.
struct Context<'a> {
    slot: &'a mut Slot,
    source: &'a mut Source,
    tables: &'a mut Tables,
    processes: &'a mut Processes,
    /// In nanoseconds since the start.
    time: u64,
}

impl Context<'_> {
    #[inline(always)]
    fn what(&mut self, kind: Kind, payload: u64) -> Option<What> {
        let region = RegionPayload::unpack(payload);
        Some(match kind {
            Kind::Lost => {
                self.source.lost += payload;
                What::Lost
            }
            Kind::ThreadBegin => What::ThreadBegin(match payload {
                1 => ThreadKind::Initial,
                2 => ThreadKind::Worker,
                _ => ThreadKind::Other,
            }),
            Kind::ThreadEnd => What::ThreadEnd,
            Kind::ParallelBegin | Kind::TeamsBegin => {
                let origin = self.origin(payload);
                What::ParallelBegin {
                    region: instance(origin.instance),
                    site: self.site(origin.site),
                    teams: kind == Kind::TeamsBegin,
                }
            }
            Kind::ParallelEnd => What::ParallelEnd {
                region: instance(region.region),
            },
            Kind::ImplicitBegin => What::ImplicitBegin {
                region: instance(region.region),
                size: region.size,
                index: region.index,
            },
            Kind::ImplicitEnd => What::ImplicitEnd {
                region: instance(region.region),
            },
            Kind::JoinWaitBegin => {
                let join = JoinPayload::unpack(payload);
                What::SyncBegin {
                    kind: sync(join.kind)?,
                    region: instance(join.region),
                    call: self.code(self.slot.code.unwrap_or(0)),
                }
            }
            Kind::SyncWaitBegin => {
                let code = CodePayload::unpack(payload);
                What::SyncBegin {
                    kind: sync(code.kind)?,
                    region: Instance::NONE,
                    call: self.code(code.code),
                }
            }
            Kind::SyncWaitEnd => What::SyncEnd {
                kind: sync(payload as u8)?,
            },
            Kind::MutexAcquire => {
                let asked = MutexPayload::unpack(payload);
                let place = &mut self.slot.mutex_places[usize::from(asked.place)];
                let code = self.slot.code.unwrap_or(*place);
                *place = code;
                let kind = mutex(asked.kind)?;
                if MUTEX_TESTS.contains(&asked.kind) {
                    return Some(What::MutexAsked);
                }
                What::MutexAcquire {
                    kind,
                    lock: Lock(asked.lock),
                    call: self.code(code),
                }
            }
            Kind::MutexAcquired => {
                let got = MutexPayload::unpack(payload);
                What::MutexAcquired {
                    kind: mutex(got.kind)?,
                    lock: Lock(got.lock),
                }
            }
            Kind::MutexReleased => {
                let left = MutexPayload::unpack(payload);
                What::MutexReleased {
                    kind: mutex(left.kind)?,
                    lock: Lock(left.lock),
                }
            }
            Kind::NestLock => What::MutexAsked,
            Kind::TaskCreate => {
                let origin = self.origin(payload);
                What::TaskCreate {
                    task: instance(origin.instance),
                    site: self.site(origin.site),
                }
            }
            Kind::TaskSchedule => {
                let task = TaskPayload::unpack(payload);
                What::TaskSchedule {
                    next: instance(task.task),
                    prior_done: TASK_DONE.contains(&task.status),
                }
            }
            Kind::ReductionBegin => {
                let code = CodePayload::unpack(payload);
                What::ReductionBegin {
                    call: self.code(code.code),
                }
            }
            Kind::ReductionEnd => What::ReductionEnd,
            Kind::OverheadBegin => {
                let code = CodePayload::unpack(payload);
                What::OverheadBegin {
                    call: self.code(code.code),
                }
            }
            Kind::OverheadEnd => What::OverheadEnd,
            _ => return None,
        })
    }

    fn origin(&self, payload: u64) -> OriginPayload {
        OriginPayload::unpack(payload, self.slot.index)
    }

    /// The call path of the calling context with that name. If there is none, the prefix's return
    /// address as a stack of one frame.
    fn site(&mut self, name: SiteId) -> Site {
        let code = match self.slot.contexts.get(&name) {
            Some(Sent::Site(site)) => return *site,
            Some(Sent::Stack(stack)) => {
                let when = (self.slot.pid, self.time);
                let contexts = &mut self.source.contexts;
                if let Some(site) = contexts.site(self.tables, self.processes, stack, when) {
                    self.slot.contexts.insert(name, Sent::Site(site));
                    return site;
                }
                stack.head.code
            }
            None => self.slot.code.unwrap_or(0),
        };
        self.source.sites_lost += 1;
        let code = (code, self.time);
        stacks::of_code(self.tables, self.processes, self.slot.pid, code).into()
    }

    /// The frame of a call into the runtime, from its return address.
    #[inline]
    fn code(&mut self, code: u64) -> FrameId {
        if code == 0 {
            return FrameId::NONE;
        }
        let slot = &mut *self.slot;
        if slot.frames_at != self.processes.changes() {
            slot.frames_at = self.processes.changes();
            slot.frames = [(0, FrameId::NONE); FRAMES];
        }
        let at = (code.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (u64::BITS - FRAMES_BITS)) as usize;
        if slot.frames[at].0 != code {
            let frame =
                stacks::frame_of_call(self.tables, self.processes, slot.pid, (code, self.time));
            slot.frames[at] = (code, frame);
        }
        slot.frames[at].1
    }
}

const fn instance(id: InstanceId) -> Instance {
    Instance(id.0)
}

/// `ompt_sync_region_t` (OpenMP 5.2, section 19.4.4.14).
const fn sync(kind: u8) -> Option<Sync> {
    Some(match kind {
        1 => Sync::Barrier,
        2 => Sync::BarrierImplicit,
        3 => Sync::BarrierExplicit,
        4 => Sync::BarrierImplementation,
        5 => Sync::TaskWait,
        6 => Sync::TaskGroup,
        8 => Sync::BarrierWorkshare,
        9 => Sync::BarrierParallel,
        10 => Sync::BarrierTeams,
        _ => return None,
    })
}

/// `test_lock` and `test_nest_lock` of `ompt_mutex_t`: the caller does not wait for the lock. If
/// another thread owns it, no event marks the end of the attempt.
const MUTEX_TESTS: [u8; 2] = [2, 4];

/// `ompt_mutex_t` (OpenMP 5.2, section 19.4.4.17).
const fn mutex(kind: u8) -> Option<Mutex> {
    Some(match kind {
        1 | 2 => Mutex::Lock,
        3 | 4 => Mutex::NestLock,
        5 => Mutex::Critical,
        6 => Mutex::Atomic,
        7 => Mutex::Ordered,
        _ => return None,
    })
}
