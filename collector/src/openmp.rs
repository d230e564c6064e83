//! The OpenMP side: from records in the arena's rings to events of the merged stream.

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

/// `ompt_task_complete`, `ompt_task_cancel` and `ompt_task_detach` of `ompt_task_status_t`
/// (OpenMP 5.2, section 19.4.4.20): the prior task does not come back.
const TASK_DONE: [u32; 3] = [1, 3, 4];

/// A thread's records on their way to the merge.
pub struct Slot {
    index: u32,
    generation: u32,
    /// The thread's process.
    pub pid: i32,
    /// The thread's kernel number.
    pub tid: i32,
    /// The thread, once the side band is known up to its first record.
    pub thread: Option<ThreadId>,
    /// Its times are already [`Line::raw_ns`] less the start, in nanoseconds.
    records: Vec<Record>,
    /// Those before are merged.
    at: usize,
    /// Time of the last record taken.
    last: u64,
    /// Frames of the last calls into the runtime, which are few and recur.
    places: [(u64, FrameId); PLACES],
    /// [`Processes::changes`] when `places` were good.
    places_at: u64,
    /// The calling contexts that it has sent, by their names.
    contexts: FxHashMap<SiteId, Sent>,
    /// The prefix of the record that comes next.
    code: Option<u64>,
    /// What the numbers of [`MutexPayload::place`] stand for.
    mutex_places: Box<[u64; 1 << u8::BITS]>,
    closed: bool,
    /// Its records were invalid, and no more are read.
    given_up: bool,
}

/// A calling context.
enum Sent {
    /// As it was sent. It can be unwound once the side band is known up to its first use.
    Stack(Box<Piece>),
    /// Unwound.
    Site(Site),
}

impl Slot {
    /// One of a thread of which nothing is known yet.
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
            places: [(0, FrameId::NONE); PLACES],
            places_at: 0,
            contexts: FxHashMap::default(),
            code: None,
            mutex_places: Box::new([0; _]),
            closed: false,
            given_up: false,
        }
    }

    /// What its thread does is not known from now on.
    fn give_up(&mut self, now: u64) {
        self.given_up = true;
        self.records.push(Record::new(Kind::Lost, now, 0));
    }

    /// Another thread has claimed it.
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

/// All threads' records, and what was said of calling contexts.
pub struct OpenMp {
    source: Source,
    line: Line,
    /// In no order; a slot's index in the arena is [`Slot::index`].
    slots: Vec<Slot>,
    /// By the arena's index, one more than the place in `slots`; 0 for none.
    places: Vec<u32>,
    /// Records taken.
    pub taken: u64,
    /// Calling contexts taken.
    pub contexts: u64,
    /// Rings that were given up because their records were invalid: the program has written into the
    /// shared memory.
    pub given_up: u64,
}

/// The arena, and what is known of what lies in it.
struct Source {
    /// `None` where there is no shared memory: nothing of OpenMP is recorded.
    arena: Option<Consumer>,
    contexts: Contexts,
    /// Records that the program could not push.
    lost: u64,
    /// Contexts that could not be taken.
    sites_lost: u64,
}

/// How far a record's time may lie before the one before it, or ahead of now, in nanoseconds: as far
/// as the clocks of two CPUs can be apart, and the line that ties them to ours can be off.
const CLOCK_ERROR_NS: u64 = 1_000_000;

impl OpenMp {
    /// Reads from this arena, if there is one; `line` tells its clock.
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
            places: Vec::new(),
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

    /// Threads that found no ring for their records.
    pub fn refused(&self) -> u32 {
        self.arena().map_or(0, Consumer::refused_slots)
    }

    /// Records that the program could not push.
    pub fn lost(&self) -> u64 {
        self.source.lost
    }

    /// Contexts that could not be taken.
    pub fn sites_lost(&self) -> u64 {
        self.source.sites_lost
    }

    /// Reads both clocks: the records from here to the next call are timed by this pair and the
    /// one before.
    pub fn tie_clocks(&mut self) {
        if let Some(arena) = &self.source.arena {
            self.line.extend(Pair::read(arena.clock()));
        }
    }

    /// Takes what waits in the rings of recorded threads. Times become nanoseconds since `start`, a
    /// raw time. A thread that the side band has not announced has to wait for that, unless
    /// announcements were lost and it is to be `adopted`. Returns how many records the fullest ring
    /// held.
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
            let place = self.place_of(view.index);
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

    /// Gives up the threads whose slots are not among `views`, though we have not given them back.
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

    /// Records in rings of threads that nobody has announced.
    pub fn unclaimed(&self, processes: &Processes, adopted: bool) -> u64 {
        let slots = self.arena().into_iter().flat_map(Consumer::slots);
        let unclaimed = slots.filter(|view| !is_expected(processes, view, adopted));
        let recorded = unclaimed.filter(|view| processes.is_recorded(view.pid));
        recorded.map(|view| view.pending as u64).sum()
    }

    fn place_of(&mut self, index: u32) -> usize {
        let at = index as usize;
        if self.places.len() <= at {
            self.places.resize(at + 1, 0);
        }
        if self.places[at] == 0 {
            self.slots.push(Slot::new(index));
            self.places[at] = self.slots.len() as u32;
        }
        self.places[at] as usize - 1
    }

    /// The threads' queues.
    pub fn slots(&self) -> &[Slot] {
        &self.slots
    }

    /// One thread's queue, and what turns its records into events.
    pub fn queue(&mut self, place: usize) -> Queue<'_> {
        Queue {
            slot: &mut self.slots[place],
            source: &mut self.source,
        }
    }

    /// Gives back the slots of threads that ended and whose records were all merged.
    pub fn recycle(&mut self, processes: &Processes) {
        let Some(arena) = &self.source.arena else {
            return;
        };
        for slot in &mut self.slots {
            let over = slot
                .thread
                .map_or(slot.closed, |thread| !processes.is_alive(thread));
            let done = slot.tid != 0 && over && slot.next_time().is_none();
            // Refused while last records wait that came after the drain: the next round has them.
            if done && arena.recycle(slot.index) {
                slot.tid = 0;
                slot.thread = None;
            }
        }
    }
}

/// Whether a slot is of a thread that is recorded.
fn is_expected(processes: &Processes, view: &SlotView, adopted: bool) -> bool {
    let is_known = processes.has_thread((view.pid, view.tid));
    (is_known || adopted && processes.has_process(view.pid)) && processes.is_recorded(view.pid)
}

/// What comes out of a ring, on its way into the thread's queue.
struct Arrived<'a> {
    slot: &'a mut Slot,
    line: Line,
    start: u64,
    /// The latest time so far.
    newest: u64,
    /// No time lies before an earlier one.
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
            Some(last) if is_said_by(*last, record) => *last = record,
            _ => slot.records.push(record),
        }
    }
}

/// Whether `next` says all that `last` says: an implicit task ends where its join barrier does,
/// a few nanoseconds later.
#[inline]
fn is_said_by(last: Record, next: Record) -> bool {
    next.head as u8 == Kind::ImplicitEnd as u8 && last.head as u8 == Kind::SyncWaitEnd as u8
}

/// Frames of a thread's last calls.
const PLACES: usize = 1 << PLACES_BITS;
const PLACES_BITS: u32 = 6;

/// One thread's records as events.
pub struct Queue<'a> {
    slot: &'a mut Slot,
    source: &'a mut Source,
}

impl Queue<'_> {
    /// The thread, once it is known.
    pub fn thread(&mut self) -> &mut Option<ThreadId> {
        &mut self.slot.thread
    }

    /// The kernel's numbers of its process and itself.
    pub fn numbers(&self) -> (i32, i32) {
        (self.slot.pid, self.slot.tid)
    }

    /// Time of the next record, in nanoseconds since the start.
    #[inline]
    pub fn next_time(&self) -> Option<u64> {
        self.slot.next_time()
    }

    /// Takes the next record; what happened by it at `time`, in nanoseconds since the start, unless
    /// it is a prefix: that is kept for the record behind it.
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

/// A record's surroundings while it is translated.
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
                    place: self.code(self.slot.code.unwrap_or(0)),
                }
            }
            Kind::SyncWaitBegin => {
                let code = CodePayload::unpack(payload);
                What::SyncBegin {
                    kind: sync(code.kind)?,
                    region: Instance::NONE,
                    place: self.code(code.code),
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
                    place: self.code(code),
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
                    place: self.code(code.code),
                }
            }
            Kind::ReductionEnd => What::ReductionEnd,
            Kind::OverheadBegin => {
                let code = CodePayload::unpack(payload);
                What::OverheadBegin {
                    place: self.code(code.code),
                }
            }
            Kind::OverheadEnd => What::OverheadEnd,
            _ => return None,
        })
    }

    fn origin(&self, payload: u64) -> OriginPayload {
        OriginPayload::unpack(payload, self.slot.index)
    }

    /// The calling context of that name; or else the machine stack of the prefix: a lone return
    /// address.
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

    /// The frame of a call into the runtime, by its return address.
    #[inline]
    fn code(&mut self, code: u64) -> FrameId {
        if code == 0 {
            return FrameId::NONE;
        }
        let slot = &mut *self.slot;
        if slot.places_at != self.processes.changes() {
            slot.places_at = self.processes.changes();
            slot.places = [(0, FrameId::NONE); PLACES];
        }
        let at = (code.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (u64::BITS - PLACES_BITS)) as usize;
        if slot.places[at].0 != code {
            let frame = stacks::place(self.tables, self.processes, slot.pid, (code, self.time));
            slot.places[at] = (code, frame);
        }
        slot.places[at].1
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

/// `test_lock` and `test_nest_lock` of `ompt_mutex_t`: who asks for a lock does not wait for it,
/// and if it is taken by another thread, no event tells that the asking is over.
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
