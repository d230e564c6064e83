//! The OpenMP side: from records in the arena's rings to events of the merged stream.

use omp_model::ids::{FrameId, ThreadId};
use omp_model::stream::{Instance, Lock, Mutex, Site, Sync, What};
use omp_model::tables::{Tables, ThreadKind};
use omp_ring::consumer::Consumer;
use omp_ring::record::{
    CodePayload, InstanceId, JoinPayload, Kind, MutexPayload, OriginPayload, Record, RegionPayload,
    SiteId, TaskPayload,
};
use rustc_hash::FxHashMap;

use crate::clock::Line;
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
    /// Frames of the last calls into the runtime: there are few, and they come all the time.
    places: [(u64, FrameId); PLACES],
    /// [`Processes::changes`] when `places` were good.
    places_at: u64,
    /// The prefix of the record that comes next.
    code: Option<u64>,
    /// What the numbers of [`MutexPayload::place`] stand for.
    mutex_places: Box<[u64; 1 << u8::BITS]>,
    closed: bool,
}

impl Slot {
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
}

/// The arena, and what is known of what lies in it.
struct Source {
    arena: Consumer,
    sites: FxHashMap<SiteId, Site>,
    /// Records that the program could not push.
    lost: u64,
    /// Contexts that could not be taken.
    sites_lost: u64,
}

impl OpenMp {
    /// Reads from this arena; `line` tells its clock.
    pub fn new(arena: Consumer, line: Line) -> Self {
        OpenMp {
            source: Source {
                arena,
                sites: FxHashMap::default(),
                lost: 0,
                sites_lost: 0,
            },
            line,
            slots: Vec::new(),
            places: Vec::new(),
            taken: 0,
        }
    }

    /// The arena.
    pub fn arena(&self) -> &Consumer {
        &self.source.arena
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
        self.line
            .extend(crate::clock::Pair::read(self.source.arena.clock()));
    }

    /// Takes what waits in the rings of recorded processes. Times become nanoseconds since
    /// `start`, a raw time. Returns how many records the fullest ring held.
    pub fn drain(&mut self, processes: &Processes, start: u64) -> usize {
        let mut most = 0;
        let views: Vec<_> = self.source.arena.slots().collect();
        for view in views {
            if !processes.is_recorded(view.pid) {
                continue;
            }
            let place = self.place_of(view.index);
            let slot = &mut self.slots[place];
            if slot.generation != view.generation || slot.tid == 0 {
                slot.generation = view.generation;
                (slot.pid, slot.tid, slot.thread) = (view.pid, view.tid, None);
                slot.mutex_places.fill(0);
            }
            slot.closed = view.closed;
            most = most.max(view.pending);
            let line = self.line;
            slot.records.drain(..slot.at);
            slot.at = 0;
            let records = &mut slot.records;
            records.reserve(view.pending);
            self.taken += self.source.arena.drain(view.index, usize::MAX, |record| {
                let time = line.raw_ns(record.time()).saturating_sub(start);
                let record = Record {
                    head: time << 8 | record.head & 0xff,
                    ..record
                };
                match records.last_mut() {
                    Some(last) if is_said_by(*last, record) => *last = record,
                    _ => records.push(record),
                }
            }) as u64;
        }
        most
    }

    fn place_of(&mut self, index: u32) -> usize {
        let at = index as usize;
        if self.places.len() <= at {
            self.places.resize(at + 1, 0);
        }
        if self.places[at] == 0 {
            self.slots.push(Slot {
                index,
                generation: 0,
                pid: 0,
                tid: 0,
                thread: None,
                records: Vec::new(),
                at: 0,
                places: [(0, FrameId::NONE); PLACES],
                places_at: 0,
                code: None,
                mutex_places: Box::new([0; _]),
                closed: false,
            });
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
        for slot in &mut self.slots {
            let over = slot
                .thread
                .map_or(slot.closed, |thread| !processes.is_alive(thread));
            let done = slot.tid != 0 && over && slot.next_time().is_none();
            // Refused while last records wait that came after the drain: the next round has them.
            if done && self.source.arena.recycle(slot.index) {
                slot.tid = 0;
                slot.thread = None;
            }
        }
    }
}

/// Whether `next` says all that `last` says: an implicit task ends where its join barrier does,
/// a few nanoseconds later.
#[inline]
fn is_said_by(last: Record, next: Record) -> bool {
    next.head as u8 == Kind::ImplicitEnd as u8 && last.head as u8 == Kind::SyncWaitEnd as u8
}

/// Remembered places of a thread.
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

    /// A site; or else the machine stack of the prefix: a lone return address.
    fn site(&mut self, id: SiteId) -> Site {
        if let Some(site) = self.source.sites.get(&id) {
            return *site;
        }
        if let Some(site) = self.source.arena.site(id) {
            let site = stacks::of_site(self.tables, self.processes, &site, self.time);
            self.source.sites.insert(id, site);
            return site;
        }
        self.source.sites_lost += 1;
        let code = (self.slot.code.unwrap_or(0), self.time);
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
