//! A thread's state, and what the front-ends call: OpenMP constructs in, records out.
//!
//! It is the same for all runtimes. Enumerated values are the OpenMP specification's.
//! What a reader of the records knows without a record is not recorded: see [`omp_ring::record`].

use omp_ring::producer::Producer;
use omp_ring::record::{
    CallingContextId, CodePayload, InstanceId, JoinPayload, Kind, MutexPayload, OriginPayload,
    RegionPayload, TASK_UNDEFERRED, TaskPayload,
};

use crate::context::{Call, Contexts};
use crate::process;

/// What one thread needs to record.
pub(crate) struct Thread {
    producer: Producer<'static>,
    contexts: &'static mut Contexts,
    /// A runtime has announced it, with its kind.
    known: bool,
    /// Came last to a join barrier, and has not begun an implicit task since.
    joining: bool,
    /// The end of a worker's implicit task is not recorded yet: the begin of its next one implies it.
    left: bool,
    /// The call of a lock routine that is passed on to a runtime with events of its own.
    pub(crate) passes: Passing,
    /// Return addresses of the last calls that asked for a mutex, by their number in the records.
    mutex_calls: [u64; MUTEX_CALLS],
    /// What libgomp's interposer keeps.
    #[cfg(target_arch = "x86_64")]
    pub(crate) gomp: crate::gomp::State,
}

/// Numbers of [`MutexPayload::call`].
const MUTEX_CALLS: usize = 1 << MUTEX_CALLS_BITS;
const MUTEX_CALLS_BITS: u32 = 8;

/// A call of a lock routine on its way to another runtime.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Passing {
    /// Its return address in the program; 0: there is none on its way.
    pub(crate) code: u64,
    /// `ompt_mutex_t` of the routine: older runtimes report a test as if it waited.
    pub(crate) kind: u32,
}

impl Thread {
    /// The calling thread's state, with a slot claimed for it and with `contexts` zeroed;
    /// `None` where there is no arena or no free slot.
    pub(crate) fn new(contexts: &'static mut Contexts) -> Option<Thread> {
        let arena = process::attached()?;
        process::register_again();
        let (pid, tid) = process::numbers();
        let producer = Producer::claim(arena, pid, tid)?;
        contexts.begin(tid == pid);
        Some(Thread {
            producer,
            contexts,
            known: false,
            joining: false,
            left: false,
            passes: Passing::default(),
            mutex_calls: [0; MUTEX_CALLS],
            #[cfg(target_arch = "x86_64")]
            gomp: crate::gomp::State::new(),
        })
    }

    /// Whether [`thread_begin`](Self::thread_begin) has been called.
    #[inline]
    pub(crate) fn is_known(&self) -> bool {
        self.known
    }

    /// Distinguishes this state from a later one of the same thread, as in the child of a fork; never
    /// 0.
    #[inline]
    pub(crate) fn token(&self) -> usize {
        std::ptr::from_ref(self) as usize
    }

    /// The ring, after the record that is still due, if any.
    #[inline]
    fn ring(&mut self) -> &mut Producer<'static> {
        if self.left {
            self.leave();
        }
        &mut self.producer
    }

    #[cold]
    fn leave(&mut self) {
        self.left = false;
        self.producer
            .push(Kind::ImplicitEnd, region_payload(InstanceId::NONE, 0, 0));
    }

    /// The runtime knows the thread; `kind` is `ompt_thread_t`.
    #[inline]
    pub(crate) fn thread_begin(&mut self, kind: u32) {
        self.known = true;
        self.ring().push(Kind::ThreadBegin, kind as u64);
    }

    /// The thread leaves the runtime, and with it whatever it was in.
    #[inline]
    pub(crate) fn thread_end(&mut self) {
        self.left = false;
        self.producer.push(Kind::ThreadEnd, 0);
    }

    /// The number of its ring, which is in the identifiers of its instances.
    #[inline]
    pub(crate) fn slot(&self) -> u32 {
        self.producer.index()
    }

    /// An identifier for a region or task that it will encounter.
    #[inline]
    pub(crate) fn instance(&mut self) -> InstanceId {
        self.producer.instance()
    }

    /// The thread forks `region`, for which `size` threads are asked. `region` names its slot.
    #[inline]
    pub(crate) fn parallel_begin(
        &mut self,
        region: InstanceId,
        call: &Call,
        size: u32,
        league: bool,
    ) {
        let kind = if league {
            Kind::TeamsBegin
        } else {
            Kind::ParallelBegin
        };
        let time = self.ring().now();
        self.originate(time, (kind, size.min(0xfff) as u16), region, call);
    }

    /// The region has ended; the thread that forked it is alone again.
    #[inline]
    pub(crate) fn parallel_end(&mut self, region: InstanceId) {
        self.ring()
            .push(Kind::ParallelEnd, region_payload(region, 0, 0));
    }

    /// The thread's implicit task in `region` begins, as number `index` of `size`.
    #[inline]
    pub(crate) fn implicit_begin(&mut self, region: InstanceId, index: u32, size: u32) {
        self.joining = false;
        self.left = false;
        self.producer
            .push(Kind::ImplicitBegin, region_payload(region, index, size));
    }

    /// That task ends, perhaps long after its work.
    #[inline]
    pub(crate) fn implicit_end(&mut self, region: InstanceId, index: u32, size: u32) {
        if self.joining && index != 0 {
            self.left = true;
            return;
        }
        self.ring()
            .push(Kind::ImplicitEnd, region_payload(region, index, size));
    }

    /// The thread waits in a barrier that may be the join of `region`; `kind` is
    /// `ompt_sync_region_t`.
    #[inline]
    pub(crate) fn join_wait_begin(&mut self, kind: u32, region: InstanceId, code: u64) {
        self.joining |= kind == JOIN_BARRIER;
        let ring = self.ring();
        let time = ring.now();
        let prefix = (kind == AMBIGUOUS_BARRIER && code != 0).then_some((Kind::Code, code));
        let payload = JoinPayload {
            region,
            kind: kind as u8,
        }
        .pack();
        ring.push_at(time, prefix, Kind::JoinWaitBegin, payload);
    }

    /// The thread waits otherwise; `kind` is `ompt_sync_region_t`.
    #[inline]
    pub(crate) fn sync_wait_begin(&mut self, kind: u32, code: u64) {
        self.ring()
            .push(Kind::SyncWaitBegin, code_payload(kind, code));
    }

    /// Either wait ends. That of a join barrier ends the implicit task at the same time.
    #[inline]
    pub(crate) fn sync_wait_end(&mut self, kind: u32) {
        if kind != JOIN_BARRIER {
            self.ring().push(Kind::SyncWaitEnd, kind as u64);
        }
    }

    /// The thread may have to wait for a mutex; `kind` is `ompt_mutex_t`, and `lock` tells the
    /// mutex from others of its kind, 0 where nobody is known to hold it.
    #[inline]
    pub(crate) fn mutex_acquire(&mut self, kind: u32, lock: u64, code: u64) {
        let Passing {
            code: passing,
            kind: passed,
        } = self.passes;
        let (kind, code) = match passing {
            0 => (kind, code),
            code => (passed, code),
        };
        let hash = code.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let number = (hash >> (u64::BITS - MUTEX_CALLS_BITS)) as usize;
        let ring = self.ring();
        let time = ring.now();
        let Some(known) = self.mutex_calls.get_mut(number) else {
            return;
        };
        let prefix = (*known != code).then_some((Kind::Code, code));
        let payload = MutexPayload {
            lock,
            call: number as u8,
            kind: kind as u8,
        };
        let kind = Kind::MutexAcquire;
        if self.producer.push_at(time, prefix, kind, payload.pack()) {
            *known = code;
        }
    }

    /// It has the mutex.
    #[inline]
    pub(crate) fn mutex_acquired(&mut self, kind: u32, lock: u64) {
        self.ring()
            .push(Kind::MutexAcquired, mutex_payload(kind, lock));
    }

    /// It has given it back.
    #[inline]
    pub(crate) fn mutex_released(&mut self, kind: u32, lock: u64) {
        self.ring()
            .push(Kind::MutexReleased, mutex_payload(kind, lock));
    }

    /// It owned the nestable lock already, or still does; `endpoint` is `ompt_scope_endpoint_t`.
    #[inline]
    pub(crate) fn nest_lock(&mut self, endpoint: u32) {
        self.ring().push(Kind::NestLock, endpoint as u64);
    }

    /// The thread creates an explicit task; `flags` are `ompt_task_flag_t`.
    #[inline]
    pub(crate) fn task_create(&mut self, call: &Call, flags: u32) -> InstanceId {
        let undeferred = if flags & SPEC_UNDEFERRED != 0 {
            TASK_UNDEFERRED
        } else {
            0
        };
        let task = self.instance();
        // The thread goes on with what it was at: nothing is told by when exactly.
        let time = self.ring().last();
        self.originate(time, (Kind::TaskCreate, undeferred), task, call);
        task
    }

    /// The thread goes on with `next`, [`InstanceId::NONE`] for its implicit task; `status` is
    /// the prior task's `ompt_task_status_t`.
    #[inline]
    pub(crate) fn task_schedule(&mut self, next: InstanceId, status: u32) {
        let payload = TaskPayload { task: next, status };
        self.ring().push(Kind::TaskSchedule, payload.pack());
    }

    /// The runtime works for the thread, waiting for nobody, and that may take long.
    #[inline]
    pub(crate) fn overhead_begin(&mut self, code: u64) {
        self.ring().push(Kind::OverheadBegin, code_payload(0, code));
    }

    /// It has done so.
    #[inline]
    pub(crate) fn overhead_end(&mut self) {
        self.ring().push(Kind::OverheadEnd, 0);
    }

    /// The thread combines its part of a reduction with others.
    #[inline]
    pub(crate) fn reduction_begin(&mut self, kind: u32, code: u64) {
        self.ring()
            .push(Kind::ReductionBegin, code_payload(kind, code));
    }

    /// It has done so.
    #[inline]
    pub(crate) fn reduction_end(&mut self) {
        self.ring().push(Kind::ReductionEnd, 0);
    }

    /// The instance is made, where `call` comes from.
    #[inline]
    fn originate(&mut self, time: u64, record: (Kind, u16), instance: InstanceId, call: &Call) {
        let (kind, info) = record;
        let context = self.contexts.id_of(call, &mut self.producer);
        let prefix = (context == CallingContextId::NONE && call.code != 0)
            .then_some((Kind::Code, call.code));
        let payload = OriginPayload {
            instance,
            info,
            context,
        };
        self.producer.push_at(time, prefix, kind, payload.pack());
    }
}

/// `ompt_task_undeferred` of `ompt_task_flag_t`.
const SPEC_UNDEFERRED: u32 = 0x0800_0000;
/// `ompt_sync_region_barrier_implicit_parallel`.
const JOIN_BARRIER: u32 = 9;
/// `ompt_sync_region_barrier_implicit`, which older runtimes report for every implicit barrier.
const AMBIGUOUS_BARRIER: u32 = 2;

#[inline]
fn region_payload(region: InstanceId, index: u32, size: u32) -> u64 {
    let (index, size) = (index.min(0xfff) as u16, size.min(0xfff) as u16);
    RegionPayload {
        region,
        index,
        size,
    }
    .pack()
}

#[inline]
fn mutex_payload(kind: u32, lock: u64) -> u64 {
    MutexPayload {
        lock,
        call: 0,
        kind: kind as u8,
    }
    .pack()
}

#[inline]
fn code_payload(kind: u32, code: u64) -> u64 {
    CodePayload {
        code,
        kind: kind as u8,
    }
    .pack()
}
