//! The cost of an event in the state machine and the accounting, in nanoseconds, on a stream like
//! that of LULESH: many short regions, each with a join barrier, some critical sections and
//! switches.
//!
//! `cargo bench -p omp-model --bench machine`

use std::time::Instant;

use experiment::ids::{FrameId, ModuleId, NameId, Nanos, ProcessId, StackId, ThreadId};
use experiment::state::Scheduling;
use experiment::tables::{Frame, Process, Stack, StackEntry, Tables, Thread, ThreadKind};
use omp_model::omp::{Machine, TimeAccounting};
use omp_model::stream::{Event, Instance, Lock, Mutex, Sync, What};

/// The number of constructs in the program.
const SITES: u64 = 30;

struct Stream {
    events: Vec<Event>,
    time: u64,
}

impl Stream {
    fn push(&mut self, thread: u32, what: What) {
        // A million events a second, as from LULESH on two threads.
        self.time += 700 + self.events.len() as u64 % 7 * 100;
        self.events.push(Event {
            time: Nanos(self.time),
            thread: ThreadId(thread),
            what,
        });
    }

    /// Adds a region of `threads` threads, with the workers' late ends of the one before.
    fn region(&mut self, id: u64, threads: u32, site: StackId, switches: bool) {
        let region = Instance(id);
        let none = Instance::NONE;
        let call = FrameId(site.0);
        let kind = Sync::BarrierParallel;
        let teams = false;
        self.push(
            0,
            What::ParallelBegin {
                region,
                site: site.into(),
                teams,
            },
        );
        for thread in (0..threads).rev() {
            if thread > 0 && id > 1 {
                self.push(thread, What::SyncEnd { kind });
                self.push(thread, What::ImplicitEnd { region: none });
            }
            let (size, index) = (threads as u16, thread as u16);
            self.push(
                thread,
                What::ImplicitBegin {
                    region,
                    size,
                    index,
                },
            );
        }
        if id.is_multiple_of(8) {
            for thread in 0..threads {
                let kind = Mutex::Critical;
                let lock = Lock(0x1000);
                self.push(thread, What::MutexAcquire { kind, lock, call });
                self.push(thread, What::MutexAcquired { kind, lock });
                self.push(thread, What::MutexReleased { kind, lock });
            }
        }
        for thread in (0..threads).rev() {
            self.push(thread, What::SyncBegin { kind, region, call });
            if switches {
                self.push(thread, What::SwitchOut(Scheduling::Blocked));
                self.push(thread, What::SwitchIn);
            }
        }
        self.push(0, What::SyncEnd { kind });
        self.push(0, What::ImplicitEnd { region: none });
        self.push(0, What::ParallelEnd { region });
    }
}

fn tables(threads: u32) -> (Tables, Vec<StackId>) {
    let mut tables = Tables::default();
    for tid in 0..threads {
        tables.threads.push(Thread {
            process: ProcessId(0),
            tid: tid as i32,
            name: NameId::NONE,
            birth: Nanos(0),
            death: None,
            kind: ThreadKind::Outside,
        });
    }
    tables.processes.push(Process {
        pid: 0,
        parent: None,
        name: String::new(),
        executable: String::new(),
    });
    let sites = (1..=SITES)
        .map(|address| {
            let module = ModuleId::NONE;
            let frame = tables.frame(Frame { module, address });
            tables.stack(Stack {
                callers: StackId::EMPTY,
                entry: StackEntry::Frame(frame),
            })
        })
        .collect();
    (tables, sites)
}

/// The number of chunks in a measurement. A chunk fits into the cache, as a batch of `collect`
/// does.
const CHUNKS: u64 = 200;
const CHUNK: usize = 10_000;

fn measure(threads: u32, switches: bool) {
    let (mut tables, sites) = tables(threads);
    let mut machine = Machine::new();
    let mut accounting = TimeAccounting::new(Nanos(1_000_000));
    let mut stream = Stream {
        events: Vec::new(),
        time: 0,
    };
    let (mut rows, mut listed, mut events, mut id) = (0, 0, 0, 0);
    let mut costs = Vec::new();
    for _ in 0..CHUNKS {
        stream.events.clear();
        while stream.events.len() < CHUNK {
            id += 1;
            stream.region(id, threads, sites[(id % SITES) as usize], switches);
        }
        let start = Instant::now();
        for event in &stream.events {
            machine.apply(&mut tables, &mut accounting, event);
        }
        accounting.advance(Nanos(stream.time));
        let elapsed = start.elapsed().as_secs_f64() * 1e9;
        let taken = accounting.take();
        rows += taken.sums.len() + taken.region_sums.len();
        listed += taken.intervals.len() + taken.region_spans.len();
        events += stream.events.len();
        costs.push(elapsed / stream.events.len() as f64);
    }
    costs.sort_by(f64::total_cmp);
    println!(
        "{threads:3} threads{}: {:5.1} ns an event (best chunk {:.1}); \
         {events} events, {rows} sums, {listed} listed",
        if switches { ", sleeping" } else { ", spinning" },
        costs[costs.len() / 2],
        costs[0],
    );
}

fn main() {
    for threads in [2, 8, 64] {
        measure(threads, false);
        measure(threads, true);
    }
}
