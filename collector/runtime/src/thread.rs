//! A thread's state. The front-ends report OpenMP events to it, and it pushes records.
//!
//! It is the same for all runtimes. Enumerated values are the OpenMP specification's. Records that
//! other records imply are not pushed: see [`omp_ring::record`].

use omp_ring::producer::Producer;
use omp_ring::record::{
    CallingContextId, CodePayload, InstanceId, JoinPayload, Kind, MutexPayload, OriginPayload,
    RegionPayload, TASK_UNDEFERRED, TaskPayload,
};

use crate::context::{Call, Contexts};
use crate::process;

/// The state of one thread.
pub(crate) struct Thread {
    producer: Producer<'static>,
    contexts: &'static mut Contexts,
    /// A runtime has announced the thread, with its kind.
    is_announced: bool,
    /// The thread has come to a join barrier, and has not begun an implicit task since.
    is_joining: bool,
    /// The end of a worker's implicit task is not pushed yet: the begin of its next one would imply
    /// it.
    is_end_pending: bool,
    /// The call of a lock routine that is forwarded to a runtime with OMPT.
    pub(crate) forwarded: ForwardedCall,
    /// Return addresses of calls that asked for a mutex, by [`MutexPayload::call`].
    mutex_calls: [u64; MUTEX_CALLS],
    /// The state of libgomp's interposer.
    #[cfg(target_arch = "x86_64")]
    pub(crate) gomp: crate::gomp::State,
}

/// The number of values of [`MutexPayload::call`].
const MUTEX_CALLS: usize = 1 << MUTEX_CALLS_BITS;
const MUTEX_CALLS_BITS: u32 = 8;

/// A call of a lock routine that the interposer forwards to another runtime.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ForwardedCall {
    /// Its return address in the program; 0: no call is being forwarded.
    pub(crate) code: u64,
    /// `ompt_mutex_t` of the routine. Older runtimes report a test like a wait.
    pub(crate) kind: u32,
}

impl Thread {
    /// Claims a slot for the calling thread. `contexts` must be zeroed. `None` without an arena or a
    /// free slot.
    pub(crate) fn new(contexts: &'static mut Contexts) -> Option<Thread> {
        let arena = process::attached()?;
        process::register_again();
        let (pid, tid) = process::numbers();
        let producer = Producer::claim(arena, pid, tid)?;
        contexts.begin(tid == pid);
        Some(Thread {
            producer,
            contexts,
            is_announced: false,
            is_joining: false,
            is_end_pending: false,
            forwarded: ForwardedCall::default(),
            mutex_calls: [0; MUTEX_CALLS],
            #[cfg(target_arch = "x86_64")]
            gomp: crate::gomp::State::new(),
        })
    }

    /// Whether [`thread_begin`](Self::thread_begin) has been called.
    #[inline]
    pub(crate) fn is_announced(&self) -> bool {
        self.is_announced
    }

    /// Distinguishes this state from a later one of the same thread, such as that of a fork's child.
    /// Never 0.
    #[inline]
    pub(crate) fn token(&self) -> usize {
        std::ptr::from_ref(self) as usize
    }

    /// The ring. A pending record is pushed first.
    #[inline]
    fn ring(&mut self) -> &mut Producer<'static> {
        if self.is_end_pending {
            self.push_pending_end();
        }
        &mut self.producer
    }

    #[cold]
    fn push_pending_end(&mut self) {
        self.is_end_pending = false;
        self.producer
            .push(Kind::ImplicitEnd, region_payload(InstanceId::NONE, 0, 0));
    }

    /// The runtime announces the thread; `kind` is `ompt_thread_t`.
    #[inline]
    pub(crate) fn thread_begin(&mut self, kind: u32) {
        self.is_announced = true;
        self.ring().push(Kind::ThreadBegin, kind as u64);
    }

    /// The thread leaves the runtime, and all constructs that it was in.
    #[inline]
    pub(crate) fn thread_end(&mut self) {
        self.is_end_pending = false;
        self.producer.push(Kind::ThreadEnd, 0);
    }

    /// The index of its slot, which is part of the ids of its instances.
    #[inline]
    pub(crate) fn slot(&self) -> u32 {
        self.producer.index()
    }

    /// An id for a region or task that the thread is about to create.
    #[inline]
    pub(crate) fn instance(&mut self) -> InstanceId {
        self.producer.instance()
    }

    /// The thread forks `region`, for which `size` threads are requested. `region` is an id of this
    /// thread's slot.
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

    /// The thread's implicit task in `region` begins, with thread number `index` in a team of `size`.
    #[inline]
    pub(crate) fn implicit_begin(&mut self, region: InstanceId, index: u32, size: u32) {
        self.is_joining = false;
        self.is_end_pending = false;
        self.producer
            .push(Kind::ImplicitBegin, region_payload(region, index, size));
    }

    /// That task ends. Runtimes may report this long after its work has ended.
    #[inline]
    pub(crate) fn implicit_end(&mut self, region: InstanceId, index: u32, size: u32) {
        if self.is_joining && index != 0 {
            self.is_end_pending = true;
            return;
        }
        self.ring()
            .push(Kind::ImplicitEnd, region_payload(region, index, size));
    }

    /// The thread waits in a barrier that may be the join barrier of `region`; `kind` is
    /// `ompt_sync_region_t`.
    #[inline]
    pub(crate) fn join_wait_begin(&mut self, kind: u32, region: InstanceId, code: u64) {
        self.is_joining |= kind == JOIN_BARRIER;
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

    /// The thread begins another wait; `kind` is `ompt_sync_region_t`.
    #[inline]
    pub(crate) fn sync_wait_begin(&mut self, kind: u32, code: u64) {
        self.ring()
            .push(Kind::SyncWaitBegin, code_payload(kind, code));
    }

    /// A wait ends. The end of a join barrier's is not pushed: the end of the implicit task follows.
    #[inline]
    pub(crate) fn sync_wait_end(&mut self, kind: u32) {
        if kind != JOIN_BARRIER {
            self.ring().push(Kind::SyncWaitEnd, kind as u64);
        }
    }

    /// The thread may have to wait for a mutex. `kind` is `ompt_mutex_t`; `lock` distinguishes the
    /// mutex from others of its kind, and is 0 if its holder is unknown.
    #[inline]
    pub(crate) fn mutex_acquire(&mut self, kind: u32, lock: u64, code: u64) {
        let forwarded = self.forwarded;
        let (kind, code) = match forwarded.code {
            0 => (kind, code),
            code => (forwarded.kind, code),
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

    /// The thread has acquired the mutex.
    #[inline]
    pub(crate) fn mutex_acquired(&mut self, kind: u32, lock: u64) {
        self.ring()
            .push(Kind::MutexAcquired, mutex_payload(kind, lock));
    }

    /// The thread has released the mutex.
    #[inline]
    pub(crate) fn mutex_released(&mut self, kind: u32, lock: u64) {
        self.ring()
            .push(Kind::MutexReleased, mutex_payload(kind, lock));
    }

    /// The thread acquires a nestable lock again, or releases it in part; `endpoint` is
    /// `ompt_scope_endpoint_t`.
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
        // The thread continues with what it did, so the exact time of the creation does not matter.
        let time = self.ring().last();
        self.originate(time, (Kind::TaskCreate, undeferred), task, call);
        task
    }

    /// The thread switches to task `next`, [`InstanceId::NONE`] for its implicit task; `status` is the
    /// prior task's `ompt_task_status_t`.
    #[inline]
    pub(crate) fn task_schedule(&mut self, next: InstanceId, status: u32) {
        let payload = TaskPayload { task: next, status };
        self.ring().push(Kind::TaskSchedule, payload.pack());
    }

    /// A call begins in which the runtime works, perhaps for long, without waiting for other threads.
    #[inline]
    pub(crate) fn overhead_begin(&mut self, code: u64) {
        self.ring().push(Kind::OverheadBegin, code_payload(0, code));
    }

    /// That call ends.
    #[inline]
    pub(crate) fn overhead_end(&mut self) {
        self.ring().push(Kind::OverheadEnd, 0);
    }

    /// The thread begins to combine its part of a reduction with those of others.
    #[inline]
    pub(crate) fn reduction_begin(&mut self, kind: u32, code: u64) {
        self.ring()
            .push(Kind::ReductionBegin, code_payload(kind, code));
    }

    /// That step ends.
    #[inline]
    pub(crate) fn reduction_end(&mut self) {
        self.ring().push(Kind::ReductionEnd, 0);
    }

    /// Pushes the record of a new instance, with the calling context of `call`.
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
