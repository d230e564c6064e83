//! A thread's state: accesses and events in, records out.

use std::mem::MaybeUninit;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use ::ompt::numbers::sync_region::PARALLEL as JOIN_BARRIER;
use ::ompt::numbers::task_status::SWITCH;
use inside::context::{self, Sender};
use inside::memory::Zeroed;
use inside::provider::Provider;
use inside::{At, Forked};
use omp_ring::context::{Head, Word};
use omp_ring::record::CallingContextId;
use race_stream::producer::{Producer, Shared};
use race_stream::record::{
    Checks, Event, FLUSH, IS_STACK, MOST_CONTEXTS, Run, UNWRITTEN, WRITTEN_ELSEWHERE,
};

use crate::contexts::{Contexts, Found};
use crate::runs::Runs;
use crate::unwritten::{self, Unwritten};
use crate::{looked_for, objects, own_memory};

/// Deepest stack of instrumented functions whose calls are kept. Deeper calls have the context of
/// the last one kept.
const DEPTH: usize = 4096;

/// Threads that have been recorded. A slot's number would not do: it is another thread's later.
static THREADS: AtomicU64 = AtomicU64::new(0);

/// Bits of an instance's number that are its thread's own.
const INSTANCE_BITS: u32 = 40;

/// Most tasks that a thread is in at one time, one within the other. A stack of 8 MiB holds no more:
/// each takes half a kilobyte of it. Memory that no task needs is never touched.
const TASKS: usize = 16_384;

/// A call of the program's, of a function that this library or a runtime has.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Site {
    /// Where it returns to.
    pub(crate) code: u64,
    /// The address below the word of the stack that says so; 0: not known.
    pub(crate) frame: u64,
}

impl Site {
    /// A call of which only this is known.
    pub(crate) fn of_code(code: u64) -> Site {
        Site { code, frame: 0 }
    }
}

impl From<At> for Site {
    fn from(at: At) -> Site {
        Site {
            code: at.code(),
            frame: at.frame(),
        }
    }
}

/// A call of an instrumented function.
#[derive(Clone, Copy, Debug)]
struct Call {
    /// The calling context of the caller.
    caller: u32,
    /// The return address of the call in it.
    code: u64,
    /// The stack and frame pointers in the function called.
    stack: u64,
    base: u64,
}

/// The function that a thread is about to have called once in the program.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Once {
    pub(crate) control: u64,
    pub(crate) function: u64,
}

/// Where a thread is in the program's constructs.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Place {
    /// The parallel region, 0: none. Only libgomp's front-end tells.
    pub(crate) region: u64,
    /// The explicit task, 0: an implicit one.
    pub(crate) task: u64,
    /// The runtime of that region, likewise.
    pub(crate) provider: Option<&'static Provider>,
    /// `region` is a league in a target region, whose teams the host executes one after the other.
    pub(crate) is_team: bool,
    /// Stack frames from this address on belong to what was there before the task; 0: the whole stack is the
    /// task's.
    end: u64,
    /// The region at whose join barrier the implicit task has arrived, 0: none.
    ending: u64,
    /// The worksharing construct met last.
    pub(crate) work: crate::gomp::state::Work,
}

/// What a thread goes back to when a task ends.
#[derive(Clone, Copy, Debug)]
struct Suspended {
    place: Place,
    context: u32,
    depth: usize,
    asked: Option<u64>,
    is_active: bool,
    is_ignoring: bool,
}

/// Whether accesses to memory are recorded.
fn records_accesses() -> bool {
    looked_for::checks().has(Checks::RACE)
}

/// All of a thread's memory.
#[repr(C)]
pub(crate) struct Block {
    thread: MaybeUninit<Thread>,
    runs: Runs,
    contexts: Contexts,
    stacks: context::Contexts,
    calls: [Call; DEPTH],
    tasks: [Suspended; TASKS],
}

// SAFETY: integers, and `MaybeUninit`, which permits any bytes.
#[allow(unsafe_code)]
unsafe impl Zeroed for Block {}

/// The state of one thread.
pub(crate) struct Thread {
    /// [`RECORDS`]: accesses are recorded, for the thread is in a parallel region, or the program has
    /// other threads. [`CHECKS_WRITES`]: reads of unwritten memory are looked for.
    mode: u8,
    /// The state is in use; a signal handler that finds it so is not recorded.
    is_busy: bool,
    /// Nobody reads any more, or too many threads: nothing is recorded.
    is_off: bool,
    /// The last `flush`: its code, and the access before it if there was but one.
    flushed: Option<(u64, Option<(u64, u64)>)>,
    /// Where the task asked for its thread's number last, if it did.
    asked: Option<u64>,
    /// Accesses are the runtime's own, as within a reduction.
    is_ignoring: bool,
    context: u32,
    depth: usize,
    /// Calls up to this depth are known to the reader.
    told: usize,
    /// The calls that the reader has, of which those beyond `told` are over.
    listed: usize,
    /// Tasks that are suspended beneath the current one.
    suspended: usize,
    /// The instance made last.
    instances: u64,
    /// Where the thread left to the runtime at its last fork.
    fork_frame: u64,
    /// Only OMPT's front-end tells.
    pub(crate) forked: Forked,
    pub(crate) place: Place,
    /// Its last call of LLVM's runtime that may lead to a callback, which is not told of the frame.
    pub(crate) noted: Site,
    /// The variable of the critical section that it begins or ends now; 0 if unknown.
    pub(crate) critical: u64,
    /// The lock with which it calls a routine of the OpenMP runtime now; 0: none.
    pub(crate) lock_call: u64,
    /// The declared lock of which it has told last that it will release it; 0: none.
    pub(crate) released: u64,
    /// Mutexes that it has told of and holds, if it gave back each of them itself.
    pub(crate) held: u32,
    /// What it has called once last.
    pub(crate) once: Once,
    /// Where the C++ library, which creates a thread now, was called to do so; 0: it does not.
    pub(crate) starts: Site,
    /// Regions that one call began and another one will end.
    pub(crate) opened: crate::gomp::state::Opened,
    /// The thread's stack and its block of thread-local memory.
    stack: Range<u64>,
    tls: Range<u64>,
    /// The stack from here up to its pointer may hold what functions have left there.
    used: u64,
    runs: &'static mut Runs,
    contexts: &'static mut Contexts,
    /// Calling contexts of code that tells nothing of its calls, and how many were sent.
    stacks: &'static mut context::Contexts,
    stacks_sent: u32,
    calls: &'static mut [Call; DEPTH],
    tasks: &'static mut [Suspended; TASKS],
    producer: Producer,
}

/// Sends stacks to the reader, and numbers them.
struct ToReader<'a> {
    producer: &'a mut Producer,
    sent: &'a mut u32,
}

impl Sender for ToReader<'_> {
    fn context(&mut self, head: &Head, words: &[Word], _python: &[u64]) -> CallingContextId {
        let id = *self.sent + 1;
        if id as usize >= MOST_CONTEXTS || !self.producer.stack(id | IS_STACK, head, words) {
            return CallingContextId::NONE;
        }
        *self.sent = id;
        CallingContextId(id)
    }
}

/// The thread records accesses; alone, it does nothing else at them.
pub(crate) const RECORDS: u8 = 1;
/// The thread looks for reads of unwritten memory.
const CHECKS_WRITES: u8 = 2;
/// Where the state has these.
pub(crate) const MODE_AT: usize = std::mem::offset_of!(Thread, mode);
/// Where the state says from where on the stack is used.
pub(crate) const USED_AT: usize = std::mem::offset_of!(Thread, used);

impl Thread {
    /// Claims a slot for the calling thread. `None` if there is none.
    pub(crate) fn new(
        shared: &'static Shared,
        block: &'static mut Block,
        created: u64,
    ) -> Option<&'static mut Thread> {
        let ends = own_memory::own_memory();
        let producer = Producer::claim(shared, ends.thread)?;
        let Block {
            thread,
            runs,
            contexts,
            stacks,
            calls,
            tasks,
        } = block;
        let is_initial = own_memory::is_initial(ends.thread);
        stacks.begin(is_initial, false);
        let thread = thread.write(Thread {
            mode: 0,
            is_busy: false,
            is_off: false,
            flushed: None,
            asked: None,
            is_ignoring: false,
            context: 0,
            depth: 0,
            told: 0,
            listed: 0,
            suspended: 0,
            instances: THREADS.fetch_add(1, Relaxed) << INSTANCE_BITS,
            fork_frame: 0,
            forked: Forked::default(),
            place: Place::default(),
            critical: 0,
            lock_call: 0,
            released: 0,
            held: 0,
            once: Once::default(),
            starts: Site::default(),
            noted: Site::default(),
            opened: crate::gomp::state::Opened::NONE,
            stack: ends.stack.clone(),
            tls: ends.tls.clone(),
            used: 0,
            runs,
            contexts,
            stacks,
            stacks_sent: 0,
            calls,
            tasks,
            producer,
        });
        thread.set_active(records_accesses() && (created != 0 || looked_for::is_concurrent()));
        thread.event(&Event::ThreadBegin {
            thread: ends.thread,
            stack: ends.stack.start,
            stack_end: ends.stack.end,
            tls: ends.tls.start,
            tls_end: ends.tls.end,
            created,
        });
        unwritten::begin_thread(ends.tls.end, is_initial);
        Some(thread)
    }

    /// The block that the state lies in, at its start.
    pub(crate) fn block(&mut self) -> *mut Block {
        std::ptr::from_mut(self).cast()
    }

    /// The thread's last event.
    pub(crate) fn end(&mut self) {
        self.leave_join_barrier();
        self.event(&Event::ThreadEnd {});
        self.producer.end();
    }

    /// Calls `f` unless the state is in use.
    #[inline]
    pub(crate) fn enter<R>(&mut self, f: impl FnOnce(&mut Thread) -> R) -> Option<R> {
        if self.is_busy || self.is_off {
            return None;
        }
        self.is_busy = true;
        let result = f(self);
        self.is_busy = false;
        Some(result)
    }

    /// An access of `kind >> 8` bytes by the instruction before `code`, which is to be recorded.
    #[inline(always)]
    pub(crate) fn access(&mut self, address: u64, code: u64, kind: u32) {
        if !self.runs.extend(address, code, self.context) {
            self.begin_run(address, code, kind);
        }
    }

    /// Not inlined, so that most accesses use no stack.
    #[inline(never)]
    extern "C" fn begin_run(&mut self, address: u64, code: u64, kind: u32) {
        if let Some(run) = self.runs.begin(address, code, self.context, kind) {
            self.write(&run);
        }
    }

    /// An access of any size, which is no part of a run.
    pub(crate) fn block_access(&mut self, address: u64, size: u64, code: u64, kind: u8) {
        if !self.is_active() || self.is_ignoring || size == 0 {
            return;
        }
        self.write(&Run {
            first: address,
            stride: 0,
            count: 1,
            size: u32::try_from(size).unwrap_or(u32::MAX),
            code,
            context: self.context,
            kind,
        });
    }

    /// A read of `size` marked bytes: tells of it, if nothing has written them.
    #[cold]
    #[inline(never)]
    #[allow(unsafe_code)]
    pub(crate) fn read_marked(&mut self, address: u64, size: u64, code: u64) {
        let is_tls = self.tls.contains(&address);
        // SAFETY: the program reads them after this call.
        let kind = match unsafe { unwritten::read(address, size, self.tls.end, is_tls) } {
            Unwritten::No => return,
            Unwritten::Yes => UNWRITTEN,
            Unwritten::Elsewhere => UNWRITTEN | WRITTEN_ELSEWHERE,
        };
        self.enter(|thread| {
            if thread.stack.contains(&address) {
                thread.tell_frames();
            }
            let run = Run {
                first: address,
                stride: 0,
                count: 1,
                size: size as u32,
                code,
                context: thread.context,
                kind,
            };
            if !thread.producer.run(&run) {
                thread.turn_off();
            }
        });
    }

    /// Marks what functions have left below `stack`, the stack pointer, at least `least` bytes of it, and
    /// returns where that begins; 0: nowhere. The caller fills it.
    pub(crate) fn undefine_below(&mut self, stack: u64, least: u64) -> u64 {
        /// No more is filled at once: a function with a great frame need not use all of it.
        const MOST: u64 = 1 << 16;
        /// Bytes at the stack's end that stay as they are.
        const END: u64 = 1 << 14;
        if !self.stack.contains(&stack) {
            return 0;
        }
        let used = std::mem::replace(&mut self.used, stack).min(stack.saturating_sub(least));
        let lowest = stack.saturating_sub(MOST).max(self.stack.start + END);
        let begin = used.max(lowest).next_multiple_of(8);
        if begin >= stack {
            return 0;
        }
        unwritten::mark(begin, stack);
        begin
    }

    /// Whether the last call lies below `stack`: it was left by a jump, or waits for a handler on another
    /// stack.
    pub(crate) fn is_above_calls(&self, stack: u64) -> bool {
        let last = self.depth.checked_sub(1).and_then(|at| self.calls.get(at));
        last.is_some_and(|call| call.stack <= stack)
    }

    /// What lies below `stack` is not filled: it may be in use.
    pub(crate) fn leave_as_used(&mut self, stack: u64) {
        self.used = stack;
    }

    /// Functions have left something on the stack from `lowest` on.
    pub(crate) fn note_use_from(&mut self, lowest: u64) {
        if self.stack.contains(&lowest) {
            self.used = self.used.min(lowest);
        }
    }

    #[inline(never)]
    fn write(&mut self, run: &Run) {
        self.enter(|thread| {
            if !thread.is_ignoring && !thread.producer.run(run) {
                thread.turn_off();
            }
        });
    }

    /// An event: what stands before it in the stream came before it in the program.
    #[inline]
    pub(crate) fn event(&mut self, event: &Event) {
        self.end_runs();
        if !self.producer.event(event) {
            self.turn_off();
        }
    }

    /// A `flush` by a call that returns to `code`. What stands before it comes before what stands behind
    /// later ones, by chance.
    pub(crate) fn flush(&mut self, code: u64) {
        if !self.is_active() {
            return;
        }
        // A loop that waits for a flag does nothing else between two of them.
        let only = self.runs.only();
        let is_waiting = self.flushed.replace((code, only)) == Some((code, only));
        if is_waiting && only.is_some() {
            return;
        }
        self.event(&Event::Notice { object: FLUSH });
        self.event(&Event::Offer { object: FLUSH });
    }

    /// An event before which no accesses need to be written.
    #[inline]
    pub(crate) fn unordered_event(&mut self, event: &Event) {
        if !self.producer.event(event) {
            self.turn_off();
        }
    }

    /// Writes the accesses so far.
    #[inline]
    pub(crate) fn end_runs(&mut self) {
        let (producer, is_ignoring) = (&mut self.producer, self.is_ignoring);
        let mut is_read = true;
        self.runs.end(|run| {
            if !is_ignoring {
                is_read = is_read && producer.run(run);
            }
        });
        if !is_read {
            self.turn_off();
        }
    }

    #[cold]
    fn turn_off(&mut self) {
        self.is_off = true;
        self.set_active(false);
    }

    /// Accesses outside parallel regions are recorded, too, from now on.
    pub(crate) fn activate(&mut self) {
        self.set_active(!self.is_off && records_accesses());
    }

    /// An access that is a run of its own.
    pub(crate) fn plain_access(&mut self, address: u64, code: u64, kind: u32) {
        if !self.is_ignoring {
            let run = Run {
                first: address,
                stride: 0,
                count: 1,
                size: kind >> 8,
                code,
                context: self.context,
                kind: kind as u8,
            };
            if !self.producer.run(&run) {
                self.turn_off();
            }
        }
    }

    /// Whether the thread records accesses.
    #[inline]
    pub(crate) fn is_active(&self) -> bool {
        self.mode & RECORDS != 0
    }

    #[inline]
    fn set_active(&mut self, is_active: bool) {
        let checks = if unwritten::is_on() { CHECKS_WRITES } else { 0 };
        self.mode = checks | if is_active { RECORDS } else { 0 };
    }

    /// Accesses are the runtime's own from now on, or are not.
    pub(crate) fn set_ignoring(&mut self, is_ignoring: bool) {
        self.end_runs();
        self.is_ignoring = is_ignoring;
    }

    /// The calling context.
    #[inline]
    pub(crate) fn context(&self) -> u32 {
        self.context
    }

    /// The calling context of a call. Code that is not instrumented tells of no calls: there the stack says where
    /// the thread is.
    pub(crate) fn context_of(&mut self, site: Site) -> u32 {
        let Site { code, frame } = site;
        let needs_stack =
            looked_for::takes_stacks() && frame != 0 && !objects::is_instrumented(code);
        if !needs_stack {
            return self.context;
        }
        let mut sender = ToReader {
            producer: &mut self.producer,
            sent: &mut self.stacks_sent,
        };
        let call = context::Call {
            code,
            frame,
            body: 0,
            in_task: false,
            task_end: self.place.end,
        };
        // Somebody may wait for a mutex while he has the loader's lock.
        let may_call_loader = self.held == 0;
        match self.stacks.id_of(&call, may_call_loader, &mut sender) {
            CallingContextId::NONE => self.context,
            CallingContextId(id) => id | IS_STACK,
        }
    }

    /// The call of a runtime that returns to `code`, as it was noted when it began.
    pub(crate) fn site_of(&self, code: u64) -> Site {
        let is_it = self.noted.code == code;
        Site {
            code,
            frame: if is_it { self.noted.frame } else { 0 },
        }
    }

    /// Where the innermost function that told of its begin has called what runs now: it calls all from one
    /// place of its stack, as it told of its begin. 0 if it is not known.
    #[allow(unsafe_code)]
    pub(crate) fn running_call(&self) -> u64 {
        let last = self.depth.checked_sub(1).and_then(|at| self.calls.get(at));
        let is_own =
            |call: &&Call| self.stack.contains(&call.stack) && call.stack.is_multiple_of(8);
        // SAFETY: a word of this thread's stack, which that function has written.
        last.filter(is_own)
            .map_or(0, |call| unsafe { (call.stack as *const u64).read() })
    }

    /// A number for a region or a task, never 0.
    pub(crate) fn instance(&mut self) -> u64 {
        self.instances += 1;
        self.instances
    }

    /// An instrumented function begins: called from before `code`, with these registers.
    #[inline]
    pub(crate) fn enter_function(&mut self, code: u64, stack: u64, base: u64) {
        // Calls that lie lower on the stack were left by `longjmp`.
        while let Some(last) = self.depth.checked_sub(1)
            && let Some(call) = self.calls.get(last)
            && call.stack <= stack
        {
            self.leave_function();
        }
        let caller = self.context;
        if let Some(call) = self.calls.get_mut(self.depth) {
            *call = Call {
                caller,
                code,
                stack,
                base,
            };
            self.context = match self.contexts.find(caller, code) {
                Found::Known(id) => id,
                Found::New(id) => self.new_context(id, code),
                Found::Full => caller,
            };
        }
        self.depth += 1;
    }

    #[cold]
    #[inline(never)]
    fn new_context(&mut self, id: u32, code: u64) -> u32 {
        let parent = self.context;
        self.enter(|thread| {
            if !thread.producer.context(id, parent, code) {
                thread.turn_off();
            }
        });
        id
    }

    /// It ends.
    #[inline]
    pub(crate) fn leave_function(&mut self) {
        self.depth = self.depth.saturating_sub(1);
        if self.depth < self.told {
            self.told = self.depth;
        }
        if let Some(call) = self.calls.get(self.depth) {
            self.context = call.caller;
        }
    }

    /// Tells the frames that the reader does not know yet.
    fn tell_frames(&mut self) {
        let depth = self.depth.min(DEPTH);
        // Telling the innermost frame again takes away those below it.
        let is_shorter = self.told == depth && self.listed > depth;
        let first = if is_shorter {
            depth.saturating_sub(1)
        } else {
            self.told
        };
        for at in first..depth {
            let Some(call) = self.calls.get(at).copied() else {
                break;
            };
            self.unordered_event(&Event::Frame {
                depth: at as u32,
                code: call.code,
                stack: call.stack,
                base: call.base,
            });
        }
        self.told = depth;
        self.listed = depth;
    }

    /// The current task forks a region of this many threads, if it gets them; `frame` lies below the
    /// frames of the code that forks it. The threads call `body` with `data`; 0 if unknown.
    pub(crate) fn fork(
        &mut self,
        region: u64,
        flags: u32,
        threads: u32,
        (site, frame): (Site, u64),
        (body, data): (u64, u64),
    ) {
        if looked_for::checks().0 & !Checks::DEADLOCK.0 != 0 {
            self.tell_frames();
        }
        self.fork_frame = frame;
        let context = self.context_of(site);
        self.event(&Event::Fork {
            region,
            flags,
            threads,
            code: site.code,
            context,
            frame,
            body,
            data,
        });
    }

    /// The region has ended.
    pub(crate) fn join(&mut self, region: u64) {
        self.event(&Event::Join { region });
    }

    /// The current task creates task `task`.
    pub(crate) fn create(&mut self, task: u64, flags: u32, site: Site, frame: u64) {
        looked_for::set_concurrent();
        self.activate();
        if looked_for::checks().0 & !Checks::DEADLOCK.0 != 0 {
            self.tell_frames();
        }
        let context = self.context_of(site);
        self.event(&Event::Create {
            task,
            flags,
            code: site.code,
            context,
            frame,
        });
    }

    /// The current task creates a thread by this call. Returns the number by which the thread is known.
    pub(crate) fn create_thread(&mut self, site: Site) -> u64 {
        looked_for::set_concurrent();
        self.end_runs();
        self.activate();
        if looked_for::checks().0 & !Checks::DEADLOCK.0 != 0 {
            self.tell_frames();
        }
        let starts = std::mem::take(&mut self.starts);
        let site = if starts.code == 0 { site } else { starts };
        let (object, context) = (self.instance(), self.context_of(site));
        self.event(&Event::CreatesThread {
            object,
            code: site.code,
            context,
        });
        object
    }

    /// Begins a task on top of the current one, whose frames lie below `frame`.
    fn suspend(&mut self) {
        let is_active = self.is_active();
        if let Some(task) = self.tasks.get_mut(self.suspended) {
            *task = Suspended {
                place: self.place,
                context: self.context,
                depth: self.depth,
                asked: self.asked,
                is_active,
                is_ignoring: self.is_ignoring,
            };
        }
        self.suspended += 1;
        self.place = Place {
            region: self.place.region,
            provider: self.place.provider,
            ..Place::default()
        };
        self.context = 0;
        self.asked = None;
        self.is_ignoring = false;
    }

    /// Goes on with the task beneath the current one.
    fn resume(&mut self) {
        self.suspended = self.suspended.saturating_sub(1);
        if let Some(task) = self.tasks.get(self.suspended).copied() {
            self.place = task.place;
            self.context = task.context;
            self.depth = task.depth;
            self.told = self.told.min(task.depth);
            self.asked = task.asked;
            self.is_ignoring = task.is_ignoring;
            self.set_active(task.is_active || records_accesses() && looked_for::is_concurrent());
        }
    }

    /// An implicit task begins.
    pub(crate) fn begin_implicit(&mut self, region: u64, index: u32, size: u32) {
        // The thread that forks the region goes on below its own frames; another one has nothing of
        // the program above.
        let frame = if index == 0 { self.fork_frame } else { 0 };
        self.begin_implicit_below(region, index, size, frame);
    }

    /// An implicit task begins, whose frames lie below `frame`; 0: the whole stack is its own.
    pub(crate) fn begin_implicit_below(&mut self, region: u64, index: u32, size: u32, frame: u64) {
        self.leave_join_barrier();
        self.event(&Event::Implicit {
            region,
            index,
            size,
            frame,
        });
        self.suspend();
        self.place.region = region;
        self.place.end = frame;
        self.activate();
    }

    /// The implicit task has come to the join barrier. There the thread may still execute the
    /// region's explicit tasks.
    pub(crate) fn arrive_at_join_barrier(&mut self, region: u64, code: u64) {
        let context = self.context;
        self.event(&Event::Arrive {
            kind: JOIN_BARRIER,
            code,
            context,
        });
        self.place.ending = region;
    }

    /// If the implicit task was there, it ends.
    pub(crate) fn leave_join_barrier(&mut self) {
        let region = self.place.ending;
        if region != 0 {
            self.event(&Event::Leave { kind: JOIN_BARRIER });
            self.end_implicit(region);
        }
    }

    /// It ends.
    pub(crate) fn end_implicit(&mut self, region: u64) {
        self.event(&Event::ImplicitEnd { region });
        self.resume();
    }

    /// The thread leaves task `from`, 0: its implicit task, with this `ompt_task_status_t`, and goes
    /// on with `to`. `is_end`: it does not come back to `from`.
    pub(crate) fn switch(&mut self, from: u64, to: u64, status: u8, is_end: bool, frame: u64) {
        self.event(&Event::Switch {
            from,
            to,
            status,
            frame,
        });
        if is_end && from != self.place.task {
            // It has left the task before.
            return;
        }
        // An untied task is left for the one beneath it, too.
        let beneath = self.beneath();
        let is_return =
            from != 0 && beneath.is_some_and(|it| (it.task, it.region) == (to, self.place.region));
        if is_end || is_return {
            self.resume();
        } else {
            self.suspend();
            self.place.end = frame;
            self.activate();
        }
        self.place.task = to;
    }

    /// The program comes to a loop with an `ordered` clause.
    pub(crate) fn meet_ordered_clause(&mut self, site: Site) {
        let context = self.context_of(site);
        self.event(&Event::OrderedClause {
            code: site.code,
            context,
        });
    }

    /// The program asks for another number of threads.
    pub(crate) fn sets_threads(&mut self, site: Site) {
        let context = self.context_of(site);
        self.event(&Event::SetsThreads {
            code: site.code,
            context,
        });
    }

    /// Where the thread is when it leaves its current task.
    fn beneath(&self) -> Option<Place> {
        let at = self.suspended.checked_sub(1)?;
        self.tasks.get(at).map(|task| task.place)
    }

    /// A part of the untied task `task` has ended. If the thread is still in it, it leaves it.
    pub(crate) fn leave_part(&mut self, task: u64) {
        if task != 0
            && task == self.place.task
            && let Some(beneath) = self.beneath()
        {
            self.switch(task, beneath.task, SWITCH, false, 0);
        }
    }

    /// The program asks for the number of its thread by a call that returns to `code`; 0: for
    /// something else that each thread has for itself.
    pub(crate) fn asks_thread(&mut self, code: u64) {
        if self.asked.replace(code) != Some(code) {
            self.event(&Event::AsksThread { code });
        }
    }
}
