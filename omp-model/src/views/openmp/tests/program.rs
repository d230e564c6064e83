//! Programs generated from a seed, executed by the state machine.

use experiment::Sums;
use experiment::ids::{FrameId, ModuleId, NameId, Nanos, ProcessId, StackId, ThreadId};
use experiment::state::Scheduling;
use experiment::tables::{Frame, Process, Stack, StackEntry, Thread, ThreadKind};
use fastrand::Rng;

use super::super::test_run::{MS, TestRun};
use crate::omp::{Machine, TimeAccounting};
use crate::stream::{Event, Instance, Lock, Mutex, Sync, TaskOf, What};

const US: u64 = 1_000;

/// A thread of a pool, and when it is free.
struct Free {
    thread: u32,
    since: u64,
}

/// A program under construction: what each thread does, in the order of its own time.
pub(super) struct Program {
    random: Rng,
    events: Vec<(u64, u32, What)>,
    test: TestRun,
    sites: Vec<StackId>,
    process: ProcessId,
    pool: Vec<Free>,
    instances: u64,
    /// The largest team; 0: without a limit.
    limit: u16,
}

/// Runs a program of one or two processes, of all that OpenMP allows: teams of any size, nested
/// ones, tasks, locks, serial code, threads that die, sleep and wait for a CPU, threads of which
/// the runtime knows nothing, and helper threads of the runtime. Some end in the middle.
pub(super) fn program(seed: u64) -> TestRun {
    let mut program = Program {
        random: Rng::with_seed(seed),
        events: Vec::new(),
        test: TestRun::new(0, 0),
        sites: Vec::new(),
        process: ProcessId(0),
        pool: Vec::new(),
        instances: 0,
        limit: 0,
    };
    for address in 0..12 {
        let frame = program.test.tables.frame(Frame {
            module: ModuleId::NONE,
            address: 0x40 * (address + 1),
        });
        let site = program.test.tables.stack(Stack {
            callers: StackId::EMPTY,
            entry: StackEntry::Frame(frame),
        });
        program.sites.push(site);
    }
    program.process(0);
    if program.chance(8) {
        program.test.tables.processes.push(Process {
            pid: 200,
            parent: None,
            name: "child".to_owned(),
            executable: "/app/child".to_owned(),
        });
        program.process = ProcessId(1);
        program.pool.clear();
        let start = program.below(500) * MS;
        program.process(start);
    }
    program.finish()
}

impl Program {
    fn below(&mut self, limit: u64) -> u64 {
        self.random.u64(..limit.max(1))
    }

    /// Whether something of one in `n` happens.
    fn chance(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }

    fn site(&mut self) -> StackId {
        self.sites[self.random.usize(..self.sites.len())]
    }

    fn send(&mut self, time: u64, thread: u32, what: What) {
        self.events.push((time, thread, what));
    }

    /// A time of work, of up to 100 ms.
    fn some(&mut self, time: &mut u64) {
        let limit = [50 * US, 2 * MS, 100 * MS][self.random.usize(..3)];
        *time += 1 + self.below(limit);
    }

    fn born(&mut self, time: u64) -> u32 {
        let thread = self.test.tables.threads.len() as u32;
        self.test.tables.threads.push(Thread {
            process: self.process,
            tid: 100 + thread as i32,
            name: NameId::NONE,
            birth: Nanos(time),
            death: None,
            kind: ThreadKind::Outside,
        });
        let scheduling = Scheduling::ALL[self.random.usize(..Scheduling::ALL.len())];
        self.send(time, thread, What::Birth(scheduling));
        if scheduling != Scheduling::Running {
            self.send(time + 10, thread, What::SwitchIn);
        }
        thread
    }

    fn process(&mut self, start: u64) {
        self.limit = self.below(3) as u16 * 2;
        let first = self.born(start);
        let mut time = start;
        if self.chance(3) {
            self.some(&mut time);
        }
        self.send(time, first, What::ThreadBegin(ThreadKind::Initial));
        for _ in 0..self.below(3) {
            let at = time + self.below(50 * MS);
            self.outside(at);
        }
        if self.chance(4) {
            self.helpers(time, first);
        }
        if self.chance(6) {
            let other = self.born(time);
            let mut at = time + 5;
            self.send(at, other, What::ThreadBegin(ThreadKind::Initial));
            self.phases(other, &mut at);
            if self.chance(2) {
                self.send(at, other, What::Exit);
            }
        }
        self.phases(first, &mut time);
        if self.chance(3) {
            self.send(time, first, What::Exit);
        }
    }

    /// A thread without OpenMP.
    fn outside(&mut self, mut time: u64) {
        let thread = self.born(time);
        self.some(&mut time);
        if self.chance(2) {
            self.send(time, thread, What::Exit);
        }
    }

    /// Serial code and regions in turn.
    fn phases(&mut self, thread: u32, time: &mut u64) {
        for _ in 0..1 + self.below(6) {
            for _ in 0..self.below(3) {
                self.anything(thread, time);
            }
            if !self.chance(5) {
                self.region(thread, time, 1);
            }
        }
        self.some(time);
    }

    /// Helper threads of the runtime. They execute tasks of the initial thread.
    fn helpers(&mut self, mut time: u64, creator: u32) {
        let root = self.born(time);
        self.instances += 1;
        let region = Instance(self.instances);
        time += 2;
        self.send(time, root, What::ThreadBegin(ThreadKind::Other));
        let fork = What::ParallelBegin {
            region,
            site: self.sites[0].into(),
            teams: false,
        };
        self.send(time, root, fork);
        for index in 0..3 {
            let helper = match index {
                0 => root,
                _ => {
                    let helper = self.born(time);
                    self.send(time, helper, What::ThreadBegin(ThreadKind::Worker));
                    helper
                }
            };
            let mut at = time + 1 + self.below(MS);
            let begin = What::ImplicitBegin {
                region,
                size: 3,
                index,
            };
            self.send(at, helper, begin);
            at += 3;
            self.wait(&mut at, helper, Sync::BarrierExplicit, Instance::NONE);
            let wait = What::SyncBegin {
                kind: Sync::BarrierParallel,
                region,
                call: FrameId::NONE,
            };
            self.send(at, helper, wait);
            if index > 0 && self.chance(2) {
                self.instances += 1;
                let task = Instance(self.instances);
                let site = self.site().into();
                self.send(
                    at,
                    creator,
                    What::TaskCreate {
                        task,
                        site,
                        of: TaskOf::Directive,
                    },
                );
                self.task(helper, &mut at, task);
            }
        }
    }

    /// The thread executes a task that exists.
    fn task(&mut self, thread: u32, time: &mut u64, task: Instance) {
        let schedule = |next, prior_done| What::TaskSchedule { next, prior_done };
        self.send(*time, thread, schedule(task, false));
        self.some(time);
        self.send(*time, thread, schedule(Instance::NONE, true));
    }

    fn wait(&mut self, time: &mut u64, thread: u32, kind: Sync, region: Instance) {
        let call = FrameId::NONE;
        self.send(*time, thread, What::SyncBegin { kind, region, call });
        self.some(time);
        self.send(*time, thread, What::SyncEnd { kind });
    }

    /// A piece of code, inside or outside of a region.
    fn anything(&mut self, thread: u32, time: &mut u64) {
        let call = FrameId::NONE;
        match self.below(9) {
            0 | 1 => {}
            2 => {
                let kind = [Mutex::Lock, Mutex::Critical, Mutex::Atomic, Mutex::Ordered]
                    [self.random.usize(..4)];
                let lock = Lock(1 + self.below(2));
                self.send(*time, thread, What::MutexAcquire { kind, lock, call });
                self.some(time);
                self.send(*time, thread, What::MutexAcquired { kind, lock });
                self.some(time);
                self.send(*time, thread, What::MutexReleased { kind, lock });
            }
            3 => self.wait(time, thread, Sync::TaskWait, Instance::NONE),
            4 => self.wait(time, thread, Sync::BarrierExplicit, Instance::NONE),
            5 => {
                self.instances += 1;
                let task = Instance(self.instances);
                let site = self.site().into();
                self.send(
                    *time,
                    thread,
                    What::TaskCreate {
                        task,
                        site,
                        of: TaskOf::Directive,
                    },
                );
                self.task(thread, time, task);
            }
            6 => {
                self.send(*time, thread, What::ReductionBegin { call });
                self.some(time);
                self.send(*time, thread, What::ReductionEnd);
            }
            7 => {
                self.send(*time, thread, What::OverheadBegin { call });
                self.some(time);
                self.send(*time, thread, What::OverheadEnd);
            }
            _ => {
                let state = Scheduling::ALL[self.random.usize(..Scheduling::ALL.len())];
                self.send(*time, thread, What::SwitchOut(state));
                self.some(time);
                self.send(*time, thread, What::SwitchIn);
            }
        }
        self.some(time);
    }

    /// A region at a level of nesting, with a team of another size each time.
    fn region(&mut self, primary: u32, time: &mut u64, level: u32) {
        self.instances += 1;
        let region = Instance(self.instances);
        let most = if self.limit > 0 { self.limit } else { 5 };
        let size = 1 + self.below(u64::from(most)) as u16;
        let fork = What::ParallelBegin {
            region,
            site: self.site().into(),
            teams: false,
        };
        self.send(*time, primary, fork);
        let begun = *time;
        let mut end = begun;
        let mut workers = Vec::new();
        for index in 0..size {
            let thread = if index == 0 {
                primary
            } else {
                let thread = self.worker(begun);
                workers.push(thread);
                thread
            };
            let mut at = begun + 1 + self.below(3 * US);
            if index > 0 && self.chance(5) {
                // It sleeps, and comes late.
                self.some(&mut at);
            }
            let begin = What::ImplicitBegin {
                region,
                size,
                index,
            };
            self.send(at, thread, begin);
            for _ in 0..1 + self.below(3) {
                self.anything(thread, &mut at);
                if level < 3 && self.chance(6) {
                    self.region(thread, &mut at, level + 1);
                }
            }
            let arrive = What::SyncBegin {
                kind: Sync::BarrierParallel,
                region,
                call: FrameId::NONE,
            };
            self.send(at, thread, arrive);
            end = end.max(at);
        }
        end += 1;
        let kind = Sync::BarrierParallel;
        let none = Instance::NONE;
        self.send(end, primary, What::SyncEnd { kind });
        self.send(end, primary, What::ImplicitEnd { region: none });
        self.send(end, primary, What::ParallelEnd { region });
        for thread in workers {
            if self.chance(8) {
                self.send(end + 1, thread, What::Exit);
            } else {
                self.pool.push(Free {
                    thread,
                    since: end + 1,
                });
            }
        }
        *time = end + 1;
    }

    /// A worker that is free at this time, or a new one.
    fn worker(&mut self, time: u64) -> u32 {
        let free = self.pool.iter().position(|it| it.since <= time);
        if let Some(at) = free {
            return self.pool.swap_remove(at).thread;
        }
        let thread = self.born(time);
        self.send(time, thread, What::ThreadBegin(ThreadKind::Worker));
        thread
    }

    /// Executes all events.
    fn finish(mut self) -> TestRun {
        // Events of one thread keep their order.
        self.events.sort_by_key(|event| event.0);
        let last = self.events.last().map_or(0, |event| event.0);
        let end = match self.below(4) {
            // The recording, or the process, ends in the middle.
            0 => last / 2 / MS,
            _ => last / MS + 1,
        };
        let mut machine = Machine::new();
        let mut accounting = TimeAccounting::new(Nanos(MS));
        let mut test = self.test;
        for thread in &mut test.tables.threads {
            thread.birth = thread.birth.min(Nanos(end * MS));
        }
        for (time, thread, what) in self.events {
            if time <= end * MS {
                let event = Event {
                    time: Nanos(time),
                    thread: ThreadId(thread),
                    what,
                };
                machine.apply(&mut test.tables, &mut accounting, &event);
            }
        }
        accounting.finish(Nanos(end * MS));
        let rows = accounting.take();
        let mut sums = Sums::default();
        rows.sums.iter().for_each(|sum| sums.push(*sum));
        test.sums = sums;
        test.blames = rows.blames.into_iter().collect();
        test.intervals = rows.intervals;
        test.region_sums = rows.region_sums.into_iter().collect();
        test.region_works = rows.region_works.into_iter().collect();
        test.task_sums = rows.task_sums.into_iter().collect();
        test.end = end;
        test
    }
}
