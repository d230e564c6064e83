//! Drives the machine in tests: events of threads, and the state of each after them.

use experiment::ids::{ContextId, FrameId, ModuleId, NameId, Nanos, ProcessId, StackId, ThreadId};
use experiment::rows::Sum;
use experiment::state::{Scheduling, State};
use experiment::tables::{
    Context, ContextKind, Frame, Stack, StackEntry, Tables, Thread, ThreadKind, ThreadState,
};

use crate::omp::{Machine, Rows, TimeAccounting};
use crate::stream::{Event, Instance, Lock, Mutex, Sync, What};

/// The machine and its accounting, with the time of the last event. Times are in nanoseconds.
pub(super) struct Driver {
    pub(super) tables: Tables,
    pub(super) accounting: TimeAccounting,
    pub(super) machine: Machine,
    pub(super) time: u64,
}

pub(super) const PRIMARY: u32 = 0;

impl Driver {
    /// Threads born at time 0, running: the initial one and workers.
    pub(super) fn new(threads: u32) -> Self {
        let mut driver = Driver::unborn(threads);
        for thread in 0..threads {
            driver.on(thread, What::Birth(Scheduling::Running));
            let kind = match thread {
                PRIMARY => ThreadKind::Initial,
                _ => ThreadKind::Worker,
            };
            driver.on(thread, What::ThreadBegin(kind));
        }
        driver
    }

    /// Rows for threads, and no event yet.
    pub(super) fn unborn(threads: u32) -> Self {
        let mut tables = Tables::default();
        for thread in 0..threads {
            tables.threads.push(Thread {
                process: ProcessId(0),
                tid: 100 + thread as i32,
                name: NameId::NONE,
                birth: Nanos(0),
                death: None,
                kind: ThreadKind::Outside,
            });
        }
        Driver {
            tables,
            accounting: TimeAccounting::new(Nanos(1_000_000)),
            machine: Machine::new(),
            time: 0,
        }
    }

    /// An event of the thread, now.
    pub(super) fn on(&mut self, thread: u32, what: What) {
        let event = Event {
            time: Nanos(self.time),
            thread: ThreadId(thread),
            what,
        };
        self.machine
            .apply(&mut self.tables, &mut self.accounting, &event);
    }

    /// An event of the thread at a later time.
    pub(super) fn at(&mut self, time: u64, thread: u32, what: What) {
        assert!(time >= self.time);
        self.time = time;
        self.on(thread, what);
    }

    pub(super) fn thread_state(&self, thread: u32) -> ThreadState {
        *self
            .tables
            .thread_states
            .get(self.machine.thread_state_of(ThreadId(thread)).0)
            .unwrap()
    }

    pub(super) fn state(&self, thread: u32) -> State {
        self.thread_state(thread).state
    }

    /// What all threads do, in order.
    pub(super) fn states(&self) -> Vec<State> {
        (0..self.tables.threads.len() as u32)
            .map(|thread| self.state(thread))
            .collect()
    }

    pub(super) fn context(&self, thread: u32) -> Context {
        *self
            .tables
            .contexts
            .get(self.thread_state(thread).context.0)
            .unwrap()
    }

    /// The context of a construct, which must be known.
    pub(super) fn known(&mut self, parent: ContextId, kind: ContextKind, at: StackId) -> ContextId {
        let before = self.tables.contexts.len();
        let context = self.tables.context(Context {
            parent,
            kind,
            stack: at,
            python: StackId::EMPTY,
            body: FrameId::NONE,
        });
        assert_eq!(self.tables.contexts.len(), before, "no such context");
        context
    }

    /// A stack of these addresses, the outermost first.
    pub(super) fn site(&mut self, addresses: &[u64]) -> StackId {
        let mut stack = StackId::EMPTY;
        for &address in addresses {
            let frame = self.tables.frame(Frame {
                module: ModuleId::NONE,
                address,
            });
            stack = self.tables.stack(Stack {
                callers: stack,
                entry: StackEntry::Frame(frame),
            });
        }
        stack
    }

    /// A region of that site begins on `threads`, the first of which encounters it.
    pub(super) fn fork(&mut self, id: u64, site: StackId, threads: &[u32]) {
        self.on(threads[0], parallel(id, site));
        for (index, &thread) in threads.iter().enumerate() {
            self.on(thread, implicit(id, threads.len() as u16, index as u16));
        }
    }

    /// The region's end on its primary thread, as every runtime sends it.
    pub(super) fn join(&mut self, id: u64, primary: u32, kind: Sync) {
        self.on(primary, sync_end(kind));
        self.on(primary, late_end());
        self.on(primary, parallel_end(id));
    }

    /// The thread's machine stack is `stack` now.
    pub(super) fn sampled(&mut self, thread: u32, stack: StackId) {
        let when = (ThreadId(thread), Nanos(self.time));
        self.machine
            .sampled(&mut self.tables, &mut self.accounting, when, stack);
    }

    /// All rows, of a recording that ends at `time`.
    pub(super) fn finish(&mut self, time: u64) -> Rows {
        self.accounting.finish(Nanos(time));
        self.accounting.take()
    }

    /// Time of one thread until now, by state and scheduling state.
    pub(super) fn accounted(&mut self, thread: u32) -> Vec<(State, Scheduling, u64)> {
        self.accounting.finish(Nanos(self.time));
        let rows = self.accounting.take();
        let mut accounted: Vec<(State, Scheduling, u64)> = Vec::new();
        for sum in rows.sums.iter().filter(|sum| sum.thread.0 == thread) {
            let state = self
                .tables
                .thread_states
                .get(sum.thread_state.0)
                .unwrap()
                .state;
            match accounted
                .iter_mut()
                .find(|row| (row.0, row.1) == (state, sum.scheduling))
            {
                Some(row) => row.2 += sum.time.0,
                None => accounted.push((state, sum.scheduling, sum.time.0)),
            }
        }
        accounted.sort_unstable();
        accounted
    }
}

/// All time of a thread.
pub(super) fn total(rows: &Rows, thread: u32) -> u64 {
    let of_thread = |sum: &&Sum| sum.thread.0 == thread;
    rows.sums
        .iter()
        .filter(of_thread)
        .map(|sum| sum.time.0)
        .sum()
}

pub(super) fn parallel(id: u64, site: StackId) -> What {
    What::ParallelBegin {
        region: Instance(id),
        site: site.into(),
        teams: false,
    }
}

pub(super) fn parallel_end(id: u64) -> What {
    What::ParallelEnd {
        region: Instance(id),
    }
}

pub(super) fn implicit(id: u64, size: u16, index: u16) -> What {
    What::ImplicitBegin {
        region: Instance(id),
        size,
        index,
    }
}

/// The end of an implicit task, without the region, which no runtime names.
pub(super) fn late_end() -> What {
    What::ImplicitEnd {
        region: Instance::NONE,
    }
}

/// A wait begins; `id` is the region if it may be the join.
pub(super) fn sync(kind: Sync, id: u64) -> What {
    What::SyncBegin {
        kind,
        region: Instance(id),
        call: FrameId::NONE,
    }
}

pub(super) fn sync_end(kind: Sync) -> What {
    What::SyncEnd { kind }
}

/// The lock of most tests.
const LOCK: Lock = Lock(0x1000);

pub(super) fn acquire(kind: Mutex) -> What {
    acquire_at(kind, LOCK, FrameId::NONE)
}

pub(super) fn acquire_at(kind: Mutex, lock: Lock, call: FrameId) -> What {
    What::MutexAcquire { kind, lock, call }
}

pub(super) fn acquired(kind: Mutex) -> What {
    What::MutexAcquired { kind, lock: LOCK }
}

pub(super) fn released(kind: Mutex) -> What {
    What::MutexReleased { kind, lock: LOCK }
}

pub(super) fn schedule(next: u64, prior_done: bool) -> What {
    What::TaskSchedule {
        next: Instance(next),
        prior_done,
    }
}
