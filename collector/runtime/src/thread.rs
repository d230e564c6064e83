//! A thread's state. The front-ends report OpenMP events to it, and it pushes records.
//!
//! It is the same for all runtimes. Enumerated values are the OpenMP specification's. Records that
//! other records imply are not pushed: see [`omp_ring::record`].

use ::ompt::numbers::{sync_region, task};
use inside::Forked;
use inside::context::{Call, Contexts};
use omp_ring::producer::Producer;
use omp_ring::record::{
    BytesPayload, CallingContextId, CodePayload, InstanceId, JoinPayload, Kind, MpiPayload,
    MutexPayload, OriginPayload, PeerPayload, RegionPayload, ShortPayload, TASK_DIVISION,
    TASK_LOOP, TASK_UNDEFERRED, TaskPayload,
};

use crate::locks::Locks;
use crate::loops::{Loop, Loops};
use crate::passed::{Origin, Passed};
use crate::short::{ShortWaits, Wait};

/// The state of one thread.
pub(crate) struct Thread {
    producer: Producer<'static>,
    contexts: &'static mut Contexts,
    /// Only OMPT's front-end tells.
    pub(crate) forked: Forked,
    /// A runtime has announced the thread, with its kind.
    is_announced: bool,
    /// It has forked a region or created a task.
    has_instances: bool,
    /// The thread has come to a join barrier, and has not begun an implicit task since.
    is_joining: bool,
    /// Something is to be pushed before the next record: one of the following.
    is_unsettled: bool,
    /// The end of a worker's implicit task is not pushed yet: the begin of its next one would imply
    /// it.
    is_end_pending: bool,
    /// The wait whose records are held back.
    held: Held,
    /// The return address of the call that forked the thread's last region.
    fork: u64,
    /// Short waits that are not pushed yet.
    short: ShortWaits,
    /// The worksharing loops that it is in.
    loops: Loops,
    /// The mutexes that it waits for and holds.
    locks: Locks,
    /// The call of a lock routine that is forwarded to a runtime with OMPT.
    pub(crate) forwarded: ForwardedCall,
    /// The variable of the critical section that the thread is about to enter or leave in a runtime
    /// with OMPT; 0 if unknown.
    pub(crate) critical: u64,
    /// When the thread called the runtime to release a mutex; 0 if that call was not seen. The runtime
    /// wakes a waiting thread, which may get the CPU before the call returns.
    releases: u64,
    /// The calls into LLVM's runtime that pass bodies of regions and tasks.
    pub(crate) passed: Passed,
    /// Polls of MPI that are not pushed yet.
    polls: Polls,
    /// The calls of MPI.
    #[cfg(target_arch = "x86_64")]
    pub(crate) mpi: crate::mpi::State,
    /// The events of UPC's runtimes.
    #[cfg(target_arch = "x86_64")]
    pub(crate) gasp: crate::gasp::State,
    /// The state of libgomp's interposer.
    #[cfg(target_arch = "x86_64")]
    pub(crate) gomp: crate::gomp::state::State,
}

/// Calls of MPI that asked in one place, and found nothing.
#[derive(Clone, Copy, Debug, Default)]
struct Polls {
    /// The [`MpiPayload`].
    payload: u64,
    /// Their number, and how long they took in units of the clock.
    count: u32,
    length: u64,
    /// When the first one began.
    since: u64,
}

/// The longest time between a poll and the push of its sum, while polls go on.
const POLLS_NS: u64 = 1_000_000;

/// A sum has a number of 24 bits.
const MOST_POLLS: u32 = 1 << 20;

/// What is held back: the begin of a wait; for a mutex also that of its hold. If it turns out to be
/// short, it becomes part of a sum.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Held {
    #[default]
    Nothing,
    /// A wait in a barrier or for tasks, in this call.
    Sync(u64),
    /// A wait for a mutex, with its id and the call.
    Acquire { lock: u64, code: u64 },
    /// That wait and the begin of the hold.
    Acquired { lock: u64, code: u64 },
}

/// A call of a lock routine that the interposer forwards to another runtime.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ForwardedCall {
    /// Its return address in the program; 0: no call is being forwarded.
    pub(crate) code: u64,
    /// `ompt_mutex_t` of the routine. Older runtimes report a test like a wait.
    pub(crate) kind: u32,
}

impl Thread {
    /// The state of the calling thread, which has this ring. `contexts` must be those of the thread.
    pub(crate) fn new(contexts: &'static mut Contexts, producer: Producer<'static>) -> Thread {
        Thread {
            contexts,
            forked: Forked::default(),
            is_announced: false,
            has_instances: false,
            is_joining: false,
            is_unsettled: false,
            is_end_pending: false,
            held: Held::Nothing,
            fork: 0,
            short: ShortWaits::new(&producer),
            loops: Loops::new(),
            locks: Locks::new(),
            forwarded: ForwardedCall::default(),
            critical: 0,
            releases: 0,
            passed: Passed::default(),
            producer,
            polls: Polls::default(),
            #[cfg(target_arch = "x86_64")]
            mpi: crate::mpi::State::new(),
            #[cfg(target_arch = "x86_64")]
            gasp: crate::gasp::State::new(),
            #[cfg(target_arch = "x86_64")]
            gomp: crate::gomp::state::State::new(),
        }
    }

    /// Whether [`thread_begin`](Self::thread_begin) has been called.
    #[inline]
    pub(crate) fn is_announced(&self) -> bool {
        self.is_announced
    }

    /// Whether [`instance`](Self::instance) has been called.
    #[inline]
    pub(crate) fn has_instances(&self) -> bool {
        self.has_instances
    }

    /// Distinguishes this state from a later one of the same thread, such as that of a fork's child.
    /// Never 0.
    #[inline]
    pub(crate) fn token(&self) -> usize {
        std::ptr::from_ref(self) as usize
    }

    /// The ring. What is not pushed yet is pushed first.
    #[inline]
    fn ring(&mut self) -> &mut Producer<'static> {
        if self.is_unsettled {
            self.settle();
        }
        &mut self.producer
    }

    #[cold]
    #[inline(never)]
    fn settle(&mut self) {
        if self.polls.count > 0 {
            self.push_polls();
        }
        if self.short.have_length() {
            let [held, _] = self.producer.held_times();
            let time = if held == 0 { self.producer.now() } else { held };
            self.short.push(&mut self.producer, time);
        }
        if self.held != Held::Nothing {
            self.held = Held::Nothing;
            self.producer.push_held();
        }
        if self.is_end_pending {
            self.is_end_pending = false;
            self.producer
                .push(Kind::ImplicitEnd, region_payload(InstanceId::NONE, 0, 0));
        }
        self.is_unsettled = false;
    }

    /// Holds back the begin of a wait. Returns its time.
    #[inline]
    fn hold_back(&mut self, held: Held, record: (Kind, u64), code: u64) -> u64 {
        // Sums go on: the state is the same.
        if self.held != Held::Nothing || self.is_end_pending {
            self.settle();
        }
        let (ring, (kind, payload)) = (&mut self.producer, record);
        let time = ring.now();
        ring.hold_back(time, code, kind, payload);
        self.held = held;
        self.is_unsettled = true;
        time
    }

    /// What is held back has ended and was short: makes it part of a sum.
    #[inline]
    fn add_short(&mut self, code: u64, wait: Wait, span: (u64, u64), now: u64) {
        self.producer.drop_held();
        self.held = Held::Nothing;
        self.short.add(code, wait, span, now);
        if self.short.are_due(now) {
            self.short.push(&mut self.producer, now);
        }
        self.is_unsettled = self.short.have_length() || self.is_end_pending || self.polls.count > 0;
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
        self.ring().push(Kind::ThreadEnd, 0);
        self.locks.end(&self.producer);
    }

    /// The index of its slot, which is part of the ids of its instances.
    #[inline]
    pub(crate) fn slot(&self) -> u32 {
        self.producer.index()
    }

    /// An id for a region or task that the thread is about to create.
    #[inline]
    pub(crate) fn instance(&mut self) -> InstanceId {
        self.has_instances = true;
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
        self.fork = call.code;
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
        self.ring()
            .push(Kind::ImplicitBegin, region_payload(region, index, size));
    }

    /// That task ends. Runtimes may report this long after its work has ended.
    #[inline]
    pub(crate) fn implicit_end(&mut self, region: InstanceId, index: u32, size: u32) {
        if self.is_joining && index != 0 {
            (self.is_end_pending, self.is_unsettled) = (true, true);
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
        let payload = JoinPayload {
            region,
            kind: kind as u8,
        };
        let record = (Kind::JoinWaitBegin, payload.pack());
        let code = if kind == AMBIGUOUS_BARRIER { code } else { 0 };
        // Threads come to the join barrier without a call, but for the one that forked them.
        if code != 0 && code != self.fork {
            self.hold_back(Held::Sync(code), record, code);
            return;
        }
        let ring = self.ring();
        let prefix = (code != 0).then_some((Kind::Code, code));
        ring.push_at(ring.now(), prefix, record.0, record.1);
    }

    /// The thread begins another wait; `kind` is `ompt_sync_region_t`.
    #[inline]
    pub(crate) fn sync_wait_begin(&mut self, kind: u32, code: u64) {
        let record = (Kind::SyncWaitBegin, code_payload(kind, code));
        self.hold_back(Held::Sync(code), record, 0);
    }

    /// A wait ends. The end of a join barrier's is not pushed: the end of the implicit task follows.
    #[inline]
    pub(crate) fn sync_wait_end(&mut self, kind: u32) {
        if kind == JOIN_BARRIER {
            return;
        }
        if let Held::Sync(code) = self.held {
            let [begin, _] = self.producer.held_times();
            let end = self.producer.now();
            if self.short.is_short(begin, end) {
                return self.add_short(code, Wait::Sync(kind), (begin, end), end);
            }
        }
        self.ring().push(Kind::SyncWaitEnd, kind as u64);
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
        let record = (Kind::MutexAcquire, mutex_payload(kind, lock));
        let time = self.hold_back(Held::Acquire { lock, code }, record, code);
        self.locks.asks((kind, lock), code, time);
    }

    /// The thread has acquired the mutex, by this call if it did not ask for it before.
    #[inline]
    pub(crate) fn mutex_acquired(&mut self, kind: u32, lock: u64, code: u64) {
        let payload = mutex_payload(kind, lock);
        let time = match self.held {
            Held::Acquire { lock: held, code } if held == lock => {
                let ring = &mut self.producer;
                let time = ring.now();
                ring.hold_back(time, 0, Kind::MutexAcquired, payload);
                self.held = Held::Acquired { lock, code };
                time
            }
            _ => {
                let ring = self.ring();
                let time = ring.now();
                ring.push_at(time, None, Kind::MutexAcquired, payload);
                time
            }
        };
        let (ring, short) = (&self.producer, &self.short);
        let waited = |since, until| short.waited(since, until);
        self.locks
            .acquired(ring, (kind, lock), code, (time, waited));
    }

    /// The thread has acquired a mutex that was free.
    #[inline]
    pub(crate) fn mutex_entered(&mut self, kind: u32, lock: u64, code: u64) {
        let payload = mutex_payload(kind, lock);
        let record = (Kind::MutexAcquire, payload);
        let time = self.hold_back(Held::Acquire { lock, code }, record, code);
        // The consumer takes a record that is held back only if it is later than the one before.
        self.producer
            .hold_back(time + 1, 0, Kind::MutexAcquired, payload);
        self.held = Held::Acquired { lock, code };
        self.locks
            .acquired(&self.producer, (kind, lock), code, (time, |_, _| 0));
    }

    /// The thread enters another `ordered` region in the same turn: an acquisition without an event.
    #[inline]
    pub(crate) fn turn_continues(&mut self, kind: u32, lock: u64, code: u64) {
        let ring = &self.producer;
        let time = ring.now();
        self.locks
            .acquired(ring, (kind, lock), code, (time, |_, _| 0));
    }

    /// The thread is about to release a mutex.
    #[inline]
    pub(crate) fn mutex_releases(&mut self) {
        self.releases = self.producer.now();
    }

    /// The thread has released the mutex.
    #[inline]
    pub(crate) fn mutex_released(&mut self, kind: u32, lock: u64) {
        let end = match std::mem::take(&mut self.releases) {
            0 => self.producer.now(),
            end => end,
        };
        self.locks.released(&self.producer, (kind, lock), end);
        if let Held::Acquired { lock: held, code } = self.held
            && held == lock
        {
            let [begin, acquired] = self.producer.held_times();
            if self.short.is_short(begin, end) {
                let wait = Wait::Mutex(kind, lock);
                return self.add_short(code, wait, (begin, acquired), end);
            }
        }
        self.ring()
            .push(Kind::MutexReleased, mutex_payload(kind, lock));
    }

    /// The thread initialises a lock.
    #[inline]
    pub(crate) fn lock_init(&mut self, kind: u32, lock: u64, code: u64) {
        let code = (code != 0).then_some((Kind::Code, code));
        let ring = self.ring();
        let time = ring.now();
        ring.push_at(time, code, Kind::LockInit, mutex_payload(kind, lock));
    }

    /// The thread acquires a nestable lock again, or releases it in part; `endpoint` is
    /// `ompt_scope_endpoint_t`.
    #[inline]
    pub(crate) fn nest_lock(&mut self, endpoint: u32) {
        self.ring().push(Kind::NestLock, endpoint as u64);
    }

    /// The thread creates an explicit task; `flags` are `ompt_task_flag_t`, `kind` is 0, [`TASK_LOOP`]
    /// or that and [`TASK_ALL`].
    #[inline]
    pub(crate) fn task_create(&mut self, call: &Call, flags: u32, kind: u16) -> InstanceId {
        let undeferred = if flags & SPEC_UNDEFERRED != 0 {
            TASK_UNDEFERRED
        } else {
            0
        };
        let task = self.instance();
        // The thread continues with what it did, so the exact time of the creation does not matter.
        let time = self.ring().last();
        self.originate(time, (Kind::TaskCreate, undeferred | kind), task, call);
        task
    }

    /// The runtime divides the taskloop's task that the thread executes. Returns the new task.
    #[inline]
    fn task_divide(&mut self) -> InstanceId {
        let instance = self.instance();
        let time = self.ring().last();
        let payload = OriginPayload::new(instance, TASK_DIVISION, CallingContextId::NONE);
        self.ring()
            .push_at(time, None, Kind::TaskCreate, payload.pack());
        instance
    }

    /// LLVM's runtime creates an explicit task. Returns it, and whether it is one of a taskloop's.
    #[inline]
    pub(crate) fn task_created(&mut self, mut call: Call, flags: u32) -> (InstanceId, bool) {
        match self.passed.complete_task(&mut call) {
            Origin::Directive => (self.task_create(&call, flags, 0), false),
            Origin::Taskloop => (self.task_create(&call, flags, TASK_LOOP), true),
            Origin::Division => (self.task_divide(), true),
        }
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

    /// The thread comes to a loop in the function with this frame. Returns what
    /// [`loop_got`](Self::loop_got) takes, for the call that gives the first chunk.
    #[inline]
    pub(crate) fn loop_begin(&mut self, frame: u64, it: Loop) -> u64 {
        self.loops.begin(&self.producer, frame, it);
        self.loops.asks(&self.producer)
    }

    /// Whether the function with this frame is in a loop.
    #[inline]
    pub(crate) fn is_in_loop(&mut self, frame: u64) -> bool {
        self.loops.is_in(frame)
    }

    /// The thread is about to ask for a chunk. Returns what [`loop_got`](Self::loop_got) takes.
    #[inline]
    pub(crate) fn loop_asks(&mut self) -> u64 {
        self.loops.asks(&self.producer)
    }

    /// The thread has got a chunk: the distance between its bounds, or 0 if none was left.
    #[inline]
    pub(crate) fn loop_got(&mut self, frame: u64, asked: u64, distance: u64) {
        self.loops.got(&self.producer, frame, asked, distance);
    }

    /// The thread has got all its chunks of the loop at once.
    #[inline]
    pub(crate) fn loop_got_all(&mut self, frame: u64, chunks: u64, iterations: u64) {
        self.loops.got_all(frame, chunks, iterations);
    }

    /// The thread leaves the loop of the function with this frame.
    #[inline]
    pub(crate) fn loop_end(&mut self, frame: u64) {
        self.loops.end(&self.producer, frame);
    }

    /// The single that was passed last ends: of the function with this frame, or of any.
    #[inline]
    pub(crate) fn single_end(&mut self, frame: Option<u64>) {
        self.loops.end_single(&self.producer, frame);
    }

    /// The thread passes a construct of which it sees no end.
    #[inline]
    pub(crate) fn loop_passed(&mut self, it: Loop, iterations: u64) {
        self.loops.passed(&self.producer, it, iterations);
    }

    /// The thread enters a function of MPI. Returns when, and what tells of the call. That a call asks, `is_poll`, is
    /// told only if it finds something.
    pub(crate) fn mpi_begin(&mut self, function: u16, call: &Call, is_poll: bool) -> (u64, u64) {
        let context = self.contexts.id_of(call, true, &mut self.producer);
        let payload = MpiPayload { function, context }.pack();
        if is_poll {
            return (self.producer.now(), payload);
        }
        let time = self.ring().now();
        self.push_mpi_begin(time, payload, call.code);
        (time, payload)
    }

    fn push_mpi_begin(&mut self, time: u64, payload: u64, code: u64) {
        let is_known = MpiPayload::unpack(payload).context != CallingContextId::NONE;
        let prefix = (!is_known).then_some((Kind::Code, code));
        self.producer.push_at(time, prefix, Kind::MpiBegin, payload);
    }

    /// The time now.
    pub(crate) fn mpi_now(&self) -> u64 {
        self.producer.now()
    }

    /// A call that asks, and began at `began`, has found something.
    pub(crate) fn mpi_found(&mut self, payload: u64, began: u64, code: u64) {
        if self.is_unsettled {
            self.settle();
        }
        let time = began.max(self.producer.last());
        self.push_mpi_begin(time, payload, code);
    }

    /// A call that asks has found nothing.
    pub(crate) fn mpi_polled(&mut self, payload: u64, began: u64, ended: u64) {
        let polls = &mut self.polls;
        if polls.count > 0 && polls.payload != payload {
            self.push_polls();
        }
        let polls = &mut self.polls;
        if polls.count == 0 {
            (polls.payload, polls.since) = (payload, began);
        }
        polls.count += 1;
        polls.length += ended.saturating_sub(began);
        let is_due = ended.saturating_sub(polls.since) > self.producer.units(POLLS_NS);
        if is_due || polls.count >= MOST_POLLS {
            self.push_polls();
        }
        self.is_unsettled |= self.polls.count > 0;
    }

    #[cold]
    fn push_polls(&mut self) {
        let Polls {
            payload,
            count,
            length,
            ..
        } = std::mem::take(&mut self.polls);
        let short = ShortPayload { length, count }.pack();
        let time = self.producer.now();
        self.producer
            .push_sum(time, &[(Kind::Short, short), (Kind::MpiPolls, payload)]);
    }

    /// Pushes records of the call of MPI that the thread is in.
    pub(crate) fn mpi_push(&mut self, time: u64, records: &[(Kind, u64)]) {
        self.producer.push_group(time, records);
    }

    /// So many records about MPI cannot be made.
    #[cold]
    pub(crate) fn mpi_lose(&mut self, count: u64) {
        self.producer.lose(count);
    }

    /// A communicator is known from now on.
    pub(crate) fn mpi_communicator(&mut self, time: u64, known: PeerPayload, size: BytesPayload) {
        let prefix = Some((Kind::MpiPeer, known.pack()));
        self.producer
            .push_at(time, prefix, Kind::MpiComm, size.pack());
    }

    /// Pushes the record of a new instance, with the calling context of `call`.
    #[inline]
    fn originate(&mut self, time: u64, record: (Kind, u16), instance: InstanceId, call: &Call) {
        let (kind, info) = record;
        // Without a call of the program, the runtime makes a team of a league's thread.
        let context = match (kind, call.code) {
            (Kind::ParallelBegin, 0) => CallingContextId::NONE,
            _ => self.contexts.id_of(call, true, &mut self.producer),
        };
        let prefix = (context == CallingContextId::NONE && call.code != 0)
            .then_some((Kind::Code, call.code));
        let payload = OriginPayload::new(instance, info, context);
        self.producer.push_at(time, prefix, kind, payload.pack());
    }
}

/// `ompt_task_undeferred` of `ompt_task_flag_t`.
const SPEC_UNDEFERRED: u32 = task::UNDEFERRED;
/// `ompt_sync_region_barrier_implicit_parallel`.
const JOIN_BARRIER: u32 = sync_region::PARALLEL as u32;
/// `ompt_sync_region_barrier_implicit`, which older runtimes report for every implicit barrier.
const AMBIGUOUS_BARRIER: u32 = sync_region::IMPLICIT as u32;

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
