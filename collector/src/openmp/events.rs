//! Turns the OpenMP records of a thread into events.

use std::collections::BTreeMap;
use std::ops::Range;

use experiment::ids::{FrameId, Nanos, ObjectId, StackId, ThreadId};
use experiment::losses::{LossKind, Lost};
use experiment::state::State;
use experiment::tables::{Object, StackEntry, Tables, ThreadKind};
use mpi::Interface;
use mpi::pgas::Class;
use omp_model::stream::{Instance, Lock, Mutex, Site, Sync, TaskOf, Waits, What};
use omp_ring::context::Context;
use omp_ring::record::{
    CallingContextId, CodePayload, HoldPayload, InstanceId, JoinPayload, Kind, MPI_DONE,
    MpiPayload, MutexPayload, OriginPayload, Record, RegionPayload, ShortPayload, TASK_ALL,
    TASK_DIVISION, TASK_LOOP, TaskPayload,
};
use ompt::numbers::{mutex, sync_region, thread};
use processes::Processes;
use rustc_hash::FxHashMap;

use super::mpi::{Current, Mpi, Of};
use super::objects::Objects;
use super::queue::Queue;
use crate::contexts::ContextUnwinder;
use crate::stacks;
use crate::truncated::Activation;

/// `ompt_task_complete`, `ompt_task_cancel` and `ompt_task_detach` of `ompt_task_status_t` (OpenMP
/// 5.2, section 19.4.4.20): the prior task does not resume.
const TASK_DONE: [u32; 3] = [1, 3, 4];

/// `test_lock` and `test_nest_lock` of `ompt_mutex_t`: the caller does not wait for the lock. If
/// another thread owns it, no event marks the end of the attempt.
const MUTEX_TESTS: [u8; 2] = [2, 4];

/// Entries in a thread's cache of frames.
const FRAMES: usize = 1 << FRAMES_BITS;
const FRAMES_BITS: u32 = 6;

/// What the records of a thread refer to: earlier records, and return addresses.
pub(super) struct References {
    /// The payload of the prefix that precedes the next record.
    prefix: Option<u64>,
    /// The payload of the prefix [`Kind::Short`] of the next record; its length is in nanoseconds.
    short: Option<u64>,
    /// The call of MPI that the thread is in.
    mpi: Current,
    /// The calling contexts that the thread has sent.
    contexts: FxHashMap<CallingContextId, CallingContext>,
    /// Cache of frames by return address: a thread has few different calls into the runtime.
    frames: [(u64, FrameId); FRAMES],
    /// [`Processes::changes`] at which the cache was valid.
    frames_at: u64,
}

/// A calling context of a thread.
enum CallingContext {
    /// As sent by the thread. It can be unwound once the side band is known up to its first use.
    Sent(Box<Context>),
    /// The unwound call path, and where its large frames are among those of all contexts.
    Unwound(Site, Range<usize>),
}

impl References {
    /// Of a thread without records.
    pub(super) fn new() -> References {
        References {
            prefix: None,
            short: None,
            mpi: Current::default(),
            contexts: FxHashMap::default(),
            frames: [(0, FrameId::NONE); FRAMES],
            frames_at: 0,
        }
    }

    /// Resets for the records of another thread.
    pub(super) fn reset(&mut self) {
        (self.prefix, self.short) = (None, None);
        self.mpi = Current::default();
        self.contexts.clear();
    }

    /// Adds a calling context to which later records refer.
    pub(super) fn add_context(&mut self, id: CallingContextId, context: Box<Context>) {
        self.contexts.insert(id, CallingContext::Sent(context));
    }
}

/// The calls that initialised locks.
#[derive(Default)]
pub(super) struct Inits {
    /// By process id and address.
    calls: FxHashMap<(i32, u64), FrameId>,
}

/// The most locks whose initialisation is known.
const MOST_INITS: usize = 1 << 20;

impl Inits {
    fn add(&mut self, pid: i32, lock: u64, call: FrameId) {
        if self.calls.len() < MOST_INITS {
            self.calls.insert((pid, lock), call);
        }
    }

    /// The last one of this lock; [`FrameId::NONE`] if unknown.
    pub(super) fn call(&self, pid: i32, lock: u64) -> FrameId {
        let call = self.calls.get(&(pid, lock));
        call.copied().unwrap_or(FrameId::NONE)
    }
}

/// What the conversion of all threads' records shares.
#[derive(Default)]
pub(super) struct Shared {
    unwinder: ContextUnwinder,
    pub(super) inits: Inits,
    pub(super) mpi: Mpi,
    objects: Objects,
    /// Where the large frames of the last event's context are among those of all contexts.
    last_large: Range<usize>,
    /// What was lost, but for what the tables of loops and mutexes had no room for.
    pub(super) lost: Lost,
}

impl Shared {
    /// The interpreters of Python that contexts told of ([`ContextUnwinder::pythons`]).
    pub(super) fn pythons(&self) -> &BTreeMap<u32, bool> {
        self.unwinder.pythons()
    }

    /// Counts the records that a thread dropped and that no record of it tells of.
    pub(super) fn lose_untold(&mut self, queue: &mut Queue, untold: u64, now: u64) {
        if untold > 0 {
            queue.tell(untold);
            let when = (queue.last(), now);
            self.lost.add(LossKind::OmpConstructs, when, untold);
        }
    }

    /// The large frames of the last event's context, and their callers. The next call has none.
    #[inline]
    pub(super) fn take_large_frames(&mut self) -> &[(Activation, StackId)] {
        let last = std::mem::take(&mut self.last_large);
        self.unwinder.large_frames().get(last).unwrap_or_default()
    }
}

/// Converts a record to an event.
pub(super) struct Conversion<'a> {
    pub(super) references: &'a mut References,
    pub(super) shared: &'a mut Shared,
    pub(super) tables: &'a mut Tables,
    pub(super) processes: &'a mut Processes,
    /// The index of the thread's slot.
    pub(super) slot: u32,
    /// The thread, if it is known.
    pub(super) thread: Option<ThreadId>,
    /// The thread's process.
    pub(super) pid: i32,
    /// The time of the event, in nanoseconds since the start.
    pub(super) time: u64,
}

impl Conversion<'_> {
    /// The event of a record. A prefix has none: it is kept for the record that follows.
    #[inline(always)]
    pub(super) fn event(&mut self, record: Record) -> Option<What> {
        let kind = record.kind()?;
        if kind == Kind::Code {
            self.references.prefix = Some(record.payload);
            return None;
        }
        if kind == Kind::Short {
            self.references.short = Some(record.payload);
            return None;
        }
        let event = self.event_of(kind, record.payload);
        self.references.prefix = None;
        event
    }

    #[inline(always)]
    fn event_of(&mut self, kind: Kind, payload: u64) -> Option<What> {
        Some(match kind {
            Kind::Lost => What::Lost,
            Kind::LostWaits => What::LostWaits,
            Kind::ShortSync => self.short_sync(payload)?,
            Kind::ShortMutex => self.short_mutex(payload)?,
            Kind::ShortHold => {
                let HoldPayload { acquiring, held } = HoldPayload::unpack(payload);
                What::ShortHold {
                    call: self.call(self.references.prefix.unwrap_or(0)),
                    acquiring: Nanos(acquiring),
                    held: Nanos(held),
                }
            }
            Kind::ThreadBegin => What::ThreadBegin(thread_kind(payload)),
            Kind::ThreadEnd => What::ThreadEnd,
            Kind::ParallelBegin => self.parallel_begin(payload, false),
            Kind::TeamsBegin => self.parallel_begin(payload, true),
            Kind::ParallelEnd => What::ParallelEnd {
                region: region_of(payload),
            },
            Kind::ImplicitBegin => {
                let part = RegionPayload::unpack(payload);
                What::ImplicitBegin {
                    region: instance(part.region),
                    size: part.size,
                    index: part.index,
                }
            }
            Kind::ImplicitEnd => What::ImplicitEnd {
                region: region_of(payload),
            },
            Kind::JoinWaitBegin => self.join_wait_begin(payload)?,
            Kind::SyncWaitBegin => self.sync_wait_begin(payload)?,
            Kind::SyncWaitEnd => What::SyncEnd {
                kind: sync(payload as u8)?,
            },
            Kind::MutexAcquire => self.mutex_acquire(payload)?,
            Kind::MutexAcquired => {
                let (kind, lock) = mutex_of(payload)?;
                What::MutexAcquired { kind, lock }
            }
            Kind::MutexReleased => {
                let (kind, lock) = mutex_of(payload)?;
                What::MutexReleased { kind, lock }
            }
            Kind::NestLock => What::MutexAsked,
            Kind::LockInit => {
                let call = self.call(self.references.prefix.unwrap_or(0));
                let lock = MutexPayload::unpack(payload).lock;
                self.shared.inits.add(self.pid, lock, call);
                return None;
            }
            Kind::TaskCreate => self.task_create(payload),
            Kind::TaskSchedule => task_schedule(payload),
            Kind::ReductionBegin => What::ReductionBegin {
                call: self.call_of(payload),
            },
            Kind::ReductionEnd => What::ReductionEnd,
            Kind::OverheadBegin => What::OverheadBegin {
                call: self.call_of(payload),
            },
            Kind::OverheadEnd => What::OverheadEnd,
            Kind::MpiBegin
            | Kind::MpiEnd
            | Kind::MpiPeer
            | Kind::MpiBytes
            | Kind::MpiSent
            | Kind::MpiReceived
            | Kind::MpiSendDone
            | Kind::MpiComm
            | Kind::MpiPolls
            | Kind::Subject
            | Kind::Span
            | Kind::MpiPosted
            | Kind::MpiOperationDone
            | Kind::MpiAccess => self.mpi(kind, payload)?,
            _ => return None,
        })
    }

    #[inline(always)]
    fn parallel_begin(&mut self, payload: u64, teams: bool) -> What {
        let origin = OriginPayload::unpack(payload);
        What::ParallelBegin {
            region: instance(origin.instance(self.slot)),
            site: self.site(origin.context),
            teams,
        }
    }

    #[inline(always)]
    fn join_wait_begin(&mut self, payload: u64) -> Option<What> {
        let join = JoinPayload::unpack(payload);
        Some(What::SyncBegin {
            kind: sync(join.kind)?,
            region: instance(join.region),
            call: self.call(self.references.prefix.unwrap_or(0)),
        })
    }

    #[inline(always)]
    fn sync_wait_begin(&mut self, payload: u64) -> Option<What> {
        Some(What::SyncBegin {
            kind: sync(CodePayload::unpack(payload).kind)?,
            region: Instance::NONE,
            call: self.call_of(payload),
        })
    }

    #[inline(always)]
    fn mutex_acquire(&mut self, payload: u64) -> Option<What> {
        let asked = MutexPayload::unpack(payload);
        let kind = mutex(asked.kind)?;
        if MUTEX_TESTS.contains(&asked.kind) {
            return Some(What::MutexAsked);
        }
        Some(What::MutexAcquire {
            kind,
            lock: Lock(asked.lock),
            call: self.call(self.references.prefix.unwrap_or(0)),
        })
    }

    fn short_sync(&mut self, payload: u64) -> Option<What> {
        let short = ShortPayload::unpack(self.references.short.take()?);
        Some(What::ShortSync {
            kind: sync(CodePayload::unpack(payload).kind)?,
            call: self.call_of(payload),
            waits: waits(short),
        })
    }

    fn short_mutex(&mut self, payload: u64) -> Option<What> {
        let short = ShortPayload::unpack(self.references.short.take()?);
        let (kind, lock) = mutex_of(payload)?;
        Some(What::ShortMutex {
            kind,
            lock,
            call: self.call(self.references.prefix.unwrap_or(0)),
            waits: waits(short),
        })
    }

    #[inline(always)]
    fn task_create(&mut self, payload: u64) -> What {
        let origin = OriginPayload::unpack(payload);
        let task = instance(origin.instance(self.slot));
        if origin.info & TASK_DIVISION != 0 {
            return What::TaskDivide { task };
        }
        What::TaskCreate {
            task,
            site: self.site(origin.context),
            of: match origin.info & (TASK_LOOP | TASK_ALL) {
                0 => TaskOf::Directive,
                TASK_LOOP => TaskOf::Taskloop,
                _ => TaskOf::WholeTaskloop,
            },
        }
    }

    /// The event of a record about MPI. Messages and communicators are kept for the rows.
    fn mpi(&mut self, kind: Kind, payload: u64) -> Option<What> {
        let of = Of {
            thread: self.thread?,
            pid: self.pid,
            time: self.time,
        };
        let (mpi, current) = (&mut self.shared.mpi, &mut self.references.mpi);
        let lost = mpi.take_lost();
        if lost > 0 {
            let when = (self.time, self.time);
            self.shared.lost.add(LossKind::OmpWaits, when, lost);
        }
        match kind {
            Kind::MpiPeer => current.peer(payload),
            Kind::MpiBytes => current.bytes(payload),
            Kind::MpiComm => mpi.communicator(current, self.pid, payload),
            Kind::MpiSent => {
                let is_done = payload & MPI_DONE != 0;
                mpi.sent(current, of, payload & !MPI_DONE, is_done);
            }
            Kind::MpiPosted => mpi.receive_posted(current, of, payload),
            Kind::MpiReceived => mpi.received(current, of, payload),
            Kind::MpiSendDone => mpi.send_done(current, of, payload),
            Kind::Subject => current.subject(payload),
            Kind::MpiOperationDone => mpi.operation_done(current, of, payload),
            Kind::MpiAccess => mpi.access(current, of, payload),
            Kind::MpiEnd => {
                let object = self.object(payload);
                let (mpi, current) = (&mut self.shared.mpi, &mut self.references.mpi);
                mpi.end(current, of, payload, object);
                return Some(What::MpiEnd);
            }
            Kind::Span => {
                let MpiPayload { function, context } = MpiPayload::unpack(current.take_subject()?);
                let call = self.mpi_call(context);
                self.shared.mpi.polled(of, (function, call), (1, payload));
            }
            Kind::MpiBegin => {
                let MpiPayload { function, context } = MpiPayload::unpack(payload);
                let call = self.mpi_call(context);
                self.references.mpi.begin(function, call, self.time);
                return Some(What::MpiBegin {
                    state: State::in_call(function),
                    begins_mpi: mpi::begins(function),
                    call,
                });
            }
            Kind::MpiPolls => {
                let short = ShortPayload::unpack(self.references.short.take()?);
                let MpiPayload { function, context } = MpiPayload::unpack(payload);
                let call = self.mpi_call(context);
                let of_polls = (short.count, short.length);
                self.shared.mpi.polled(of, (function, call), of_polls);
                return Some(What::MpiPolls {
                    state: State::in_call(function),
                    call,
                    waits: waits(short),
                });
            }
            _ => {}
        }
        None
    }

    /// The memory that the call which ends is about. An allocation's `bytes` are those that it made; 0: it freed some.
    fn object(&mut self, bytes: u64) -> ObjectId {
        let Some((function, call, address)) = self.references.mpi.take_about() else {
            return ObjectId::NONE;
        };
        let (pid, objects) = (self.pid, &mut self.shared.objects);
        let is_allocation =
            mpi::pgas::pgas(function).is_some_and(|it| it.class == Class::Allocation);
        if is_allocation && bytes == 0 {
            return objects.free(pid, address);
        }
        if is_allocation {
            let object = self.tables.object(Object {
                variable: FrameId::NONE,
                allocation: call,
            });
            // A coarray is known by a token, which has one address.
            let is_token = Interface::of(function) == Interface::Caf;
            let length = if is_token { 1 } else { bytes };
            objects.add(pid, [address, address.saturating_add(length)], object);
            return object;
        }
        if let Some(known) = objects.find(pid, address) {
            return known;
        }
        if !objects.has_room() {
            return ObjectId::NONE;
        }
        let program = self.processes.program_at(pid, self.time);
        let variable = program.map_or(FrameId::NONE, |(program, loaded)| {
            program.variable(self.tables, loaded, address)
        });
        let object = self.tables.object(Object {
            variable,
            allocation: FrameId::NONE,
        });
        objects.keep(pid, address, object)
    }

    /// The program's call of a function of MPI.
    fn mpi_call(&mut self, context: CallingContextId) -> FrameId {
        let stack = self.site(context).stack;
        match self.tables.walk(stack).next() {
            Some(StackEntry::Frame(call)) => call,
            _ => FrameId::NONE,
        }
    }

    /// The call path of a calling context. If the thread sent none, the prefix's return address as a
    /// stack of one frame; without a prefix, no stack.
    fn site(&mut self, id: CallingContextId) -> Site {
        let code = match self.references.contexts.get(&id) {
            Some(CallingContext::Unwound(site, large)) => {
                self.shared.last_large = large.clone();
                return *site;
            }
            Some(CallingContext::Sent(context)) => {
                let unwinder = &mut self.shared.unwinder;
                let when = (self.pid, self.time);
                let before = unwinder.large_frames().len();
                if let Some(site) = unwinder.site(self.tables, self.processes, context, when) {
                    let large = before..unwinder.large_frames().len();
                    self.shared.last_large = large.clone();
                    let unwound = CallingContext::Unwound(site, large);
                    self.references.contexts.insert(id, unwound);
                    return site;
                }
                context.head.code
            }
            None => match self.references.prefix {
                Some(code) => code,
                // The program made no call.
                None if id == CallingContextId::NONE => return StackId::EMPTY.into(),
                None => 0,
            },
        };
        let when = (self.time, self.time);
        self.shared.lost.add(LossKind::Contexts, when, 1);
        stacks::of_code(self.tables, self.processes, self.pid, (code, self.time)).into()
    }

    /// The frame of the call in a [`CodePayload`].
    #[inline]
    fn call_of(&mut self, payload: u64) -> FrameId {
        self.call(CodePayload::unpack(payload).code)
    }

    /// The frame of a call into the runtime, from its return address.
    #[inline]
    fn call(&mut self, code: u64) -> FrameId {
        if code == 0 {
            return FrameId::NONE;
        }
        let references = &mut *self.references;
        if references.frames_at != self.processes.changes() {
            references.frames_at = self.processes.changes();
            references.frames = [(0, FrameId::NONE); FRAMES];
        }
        let at = (code.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (u64::BITS - FRAMES_BITS)) as usize;
        if references.frames[at].0 != code {
            let frame =
                stacks::frame_of_call(self.tables, self.processes, self.pid, (code, self.time));
            references.frames[at] = (code, frame);
        }
        references.frames[at].1
    }
}

/// `ompt_thread_t` (OpenMP 5.2, section 19.4.4.10).
const fn thread_kind(payload: u64) -> ThreadKind {
    const INITIAL: u64 = thread::INITIAL as u64;
    const WORKER: u64 = thread::WORKER as u64;
    match payload {
        INITIAL => ThreadKind::Initial,
        WORKER => ThreadKind::Worker,
        _ => ThreadKind::Other,
    }
}

const fn instance(id: InstanceId) -> Instance {
    Instance(id.0)
}

/// The region of a [`RegionPayload`].
#[inline]
fn region_of(payload: u64) -> Instance {
    instance(RegionPayload::unpack(payload).region)
}

const fn waits(short: ShortPayload) -> Waits {
    Waits {
        count: short.count,
        time: Nanos(short.length),
    }
}

/// The mutex of a [`MutexPayload`].
#[inline]
fn mutex_of(payload: u64) -> Option<(Mutex, Lock)> {
    let payload = MutexPayload::unpack(payload);
    Some((mutex(payload.kind)?, Lock(payload.lock)))
}

#[inline]
fn task_schedule(payload: u64) -> What {
    let payload = TaskPayload::unpack(payload);
    What::TaskSchedule {
        next: instance(payload.task),
        prior_done: TASK_DONE.contains(&payload.status),
    }
}

/// `ompt_sync_region_t` (OpenMP 5.2, section 19.4.4.14).
const fn sync(kind: u8) -> Option<Sync> {
    Some(match kind {
        sync_region::BARRIER => Sync::Barrier,
        sync_region::IMPLICIT => Sync::BarrierImplicit,
        sync_region::EXPLICIT => Sync::BarrierExplicit,
        sync_region::IMPLEMENTATION => Sync::BarrierImplementation,
        sync_region::TASKWAIT => Sync::TaskWait,
        sync_region::TASKGROUP => Sync::TaskGroup,
        sync_region::WORKSHARE => Sync::BarrierWorkshare,
        sync_region::PARALLEL => Sync::BarrierParallel,
        sync_region::TEAMS => Sync::BarrierTeams,
        _ => return None,
    })
}

/// `ompt_mutex_t` (OpenMP 5.2, section 19.4.4.17).
pub(super) const fn mutex(kind: u8) -> Option<Mutex> {
    Some(match kind {
        mutex::LOCK | mutex::TEST_LOCK => Mutex::Lock,
        mutex::NEST_LOCK | mutex::TEST_NEST_LOCK => Mutex::NestLock,
        mutex::CRITICAL => Mutex::Critical,
        mutex::ATOMIC => Mutex::Atomic,
        mutex::ORDERED => Mutex::Ordered,
        _ => return None,
    })
}
