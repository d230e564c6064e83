//! The OpenMP side: from records in the arena's rings to events of the merged stream.

use omp_model::ids::{FrameId, Nanos, StackId, ThreadId};
use omp_model::stream::{Event, Instance, Mutex, Sync, What};
use omp_model::tables::{Tables, ThreadKind};
use omp_ring::consumer::Consumer;
use omp_ring::record::{
    CodePayload, InstanceId, JoinPayload, Kind, Record, RegionPayload, SiteId, TaskPayload,
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
    /// Prefixes of the record that comes next.
    site: SiteId,
    code: u64,
    closed: bool,
}

impl Slot {
    /// Time of the next record, in nanoseconds since the start.
    #[inline]
    pub fn next_time(&self) -> Option<u64> {
        self.records.get(self.at).map(|record| record.time())
    }

    /// Takes the next record.
    #[inline]
    pub fn pop(&mut self) -> Option<Record> {
        let record = self.records.get(self.at).copied();
        self.at += usize::from(record.is_some());
        record
    }
}

/// All threads' records, and what was said of calling contexts.
pub struct OpenMp {
    arena: Consumer,
    line: Line,
    /// In no order; a slot's index in the arena is [`Slot::index`].
    slots: Vec<Slot>,
    /// By the arena's index, one more than the place in `slots`; 0 for none.
    places: Vec<u32>,
    sites: FxHashMap<u32, StackId>,
    /// Records taken.
    pub taken: u64,
    /// Records that the program could not push.
    pub lost: u64,
    /// Contexts that could not be taken.
    pub sites_lost: u64,
}

impl OpenMp {
    /// Reads from this arena; `line` tells its clock.
    pub fn new(arena: Consumer, line: Line) -> Self {
        OpenMp {
            arena,
            line,
            slots: Vec::new(),
            places: Vec::new(),
            sites: FxHashMap::default(),
            taken: 0,
            lost: 0,
            sites_lost: 0,
        }
    }

    /// The arena.
    pub fn arena(&self) -> &Consumer {
        &self.arena
    }

    /// Reads both clocks: the records from here to the next call are timed by this pair and the
    /// one before.
    pub fn tie_clocks(&mut self) {
        self.line
            .extend(crate::clock::Pair::read(self.arena.clock()));
    }

    /// Takes what waits in the rings of recorded processes. Times become nanoseconds since
    /// `start`, a raw time. Returns whether a ring was more than half full.
    pub fn drain(&mut self, processes: &Processes, start: u64) -> bool {
        let mut pressed = false;
        let views: Vec<_> = self.arena.slots().collect();
        for view in views {
            if !processes.is_recorded(view.pid) {
                continue;
            }
            let place = self.place_of(view.index);
            let slot = &mut self.slots[place];
            if slot.generation != view.generation || slot.tid == 0 {
                slot.generation = view.generation;
                (slot.pid, slot.tid, slot.thread) = (view.pid, view.tid, None);
            }
            slot.closed = view.closed;
            pressed |= view.pending > PRESSED;
            let line = self.line;
            slot.records.drain(..slot.at);
            slot.at = 0;
            let records = &mut slot.records;
            records.reserve(view.pending);
            self.taken += self.arena.drain(view.index, usize::MAX, |record| {
                let time = line.raw_ns(record.time()).saturating_sub(start);
                records.push(Record {
                    head: time << 8 | record.head & 0xff,
                    ..record
                });
            }) as u64;
        }
        pressed
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
                site: SiteId::NONE,
                code: 0,
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

    /// One thread's queue.
    pub fn slot_mut(&mut self, place: usize) -> &mut Slot {
        &mut self.slots[place]
    }

    /// Gives back the slots of threads that ended and whose records were all merged.
    pub fn recycle(&mut self, processes: &Processes) {
        for slot in &mut self.slots {
            let over = slot
                .thread
                .map_or(slot.closed, |thread| !processes.is_alive(thread));
            if slot.tid != 0 && over && slot.next_time().is_none() {
                self.arena.recycle(slot.index);
                slot.tid = 0;
                slot.thread = None;
            }
        }
    }

    /// The event of a record that is merged at `time`, or nothing for a prefix: that is kept for
    /// the record behind it.
    #[inline]
    pub fn translate(
        &mut self,
        tables: &mut Tables,
        processes: &mut Processes,
        (place, thread, time): (usize, ThreadId, Nanos),
        record: Record,
    ) -> Option<Event> {
        let kind = record.kind()?;
        let slot = &mut self.slots[place];
        match kind {
            Kind::Site => {
                slot.site = SiteId(record.payload as u32);
                return None;
            }
            Kind::Code => {
                slot.code = record.payload;
                return None;
            }
            _ => {}
        }
        let mut context = Context {
            openmp: self,
            tables,
            processes,
            place,
            time: record.time(),
        };
        // Handed on by reference, since a copy of what was just written piecemeal stalls.
        let event = context
            .what(kind, record.payload)
            .map(|what| Event { time, thread, what });
        let slot = &mut self.slots[place];
        (slot.site, slot.code) = (SiteId::NONE, 0);
        event
    }
}

/// A ring this full, of 65,536 records, wants the next round soon.
const PRESSED: usize = 1 << 14;

/// Remembered places of a thread: a power of two.
const PLACES: usize = 8;

/// A record's surroundings while it is translated.
struct Context<'a> {
    openmp: &'a mut OpenMp,
    tables: &'a mut Tables,
    processes: &'a mut Processes,
    place: usize,
    /// In nanoseconds since the start.
    time: u64,
}

impl Context<'_> {
    #[inline(always)]
    fn what(&mut self, kind: Kind, payload: u64) -> Option<What> {
        let region = RegionPayload::unpack(payload);
        Some(match kind {
            Kind::Lost => {
                self.openmp.lost += payload;
                What::Lost
            }
            Kind::ThreadBegin => What::ThreadBegin(match payload {
                1 => ThreadKind::Initial,
                2 => ThreadKind::Worker,
                _ => ThreadKind::Other,
            }),
            Kind::ThreadEnd => What::ThreadEnd,
            Kind::ParallelBegin => What::ParallelBegin {
                region: instance(region.region),
                site: self.site(),
                teams: region.index == 1,
            },
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
                    place: self.code(self.openmp.slots[self.place].code),
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
                let code = CodePayload::unpack(payload);
                let kind = mutex(code.kind)?;
                if MUTEX_TESTS.contains(&code.kind) {
                    return Some(What::MutexReleased { kind });
                }
                What::MutexAcquire {
                    kind,
                    place: self.code(code.code),
                }
            }
            Kind::MutexAcquired => What::MutexAcquired {
                kind: mutex(payload as u8)?,
            },
            Kind::MutexReleased => What::MutexReleased {
                kind: mutex(payload as u8)?,
            },
            Kind::NestLock => What::MutexReleased {
                kind: Mutex::NestLock,
            },
            Kind::TaskCreate => {
                let task = TaskPayload::unpack(payload);
                What::TaskCreate {
                    task: instance(task.task),
                    site: self.site(),
                }
            }
            Kind::TaskSchedule => {
                let task = TaskPayload::unpack(payload);
                What::TaskSchedule {
                    next: instance(task.task),
                    prior_done: TASK_DONE.contains(&task.info),
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

    /// The machine stack of the prefix: a site, or a lone return address.
    fn site(&mut self) -> StackId {
        let slot = &self.openmp.slots[self.place];
        let (id, code, pid) = (slot.site, slot.code, slot.pid);
        if let Some(stack) = self.openmp.sites.get(&id.0) {
            return *stack;
        }
        if let Some(site) = self.openmp.arena.site(id) {
            let stack = stacks::of_site(self.tables, self.processes, &site, self.time);
            self.openmp.sites.insert(id.0, stack);
            return stack;
        }
        self.openmp.sites_lost += 1;
        stacks::of_code(self.tables, self.processes, pid, (code, self.time))
    }

    fn code(&mut self, code: u64) -> FrameId {
        let slot = &mut self.openmp.slots[self.place];
        if slot.places_at != self.processes.changes() {
            slot.places_at = self.processes.changes();
            slot.places = [(0, FrameId::NONE); PLACES];
        }
        let at = (code.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize % PLACES;
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
