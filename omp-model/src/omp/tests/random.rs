//! Properties that hold for every order of events.

use std::collections::BTreeMap;

use experiment::ids::{ContextId, FrameId, Nanos, StackId};
use experiment::rows::SLICE;
use experiment::state::{Scheduling, State};
use experiment::tables::ThreadKind;
use fastrand::Rng;

use super::driver::*;
use crate::omp::thread::waiting_for;
use crate::stream::{Instance, Lock, Mutex, Sync, TaskOf, Waits, What};

fn pick<T: Copy>(random: &mut Rng, of: &[T]) -> T {
    of[random.usize(..of.len())]
}

const TASKS: [TaskOf; 3] = [TaskOf::Directive, TaskOf::Taskloop, TaskOf::WholeTaskloop];

const SYNCS: [Sync; 8] = [
    Sync::BarrierImplicit,
    Sync::BarrierExplicit,
    Sync::BarrierImplementation,
    Sync::TaskWait,
    Sync::TaskGroup,
    Sync::BarrierWorkshare,
    Sync::BarrierParallel,
    Sync::BarrierTeams,
];
const MUTEXES: [Mutex; 5] = [
    Mutex::Lock,
    Mutex::NestLock,
    Mutex::Critical,
    Mutex::Atomic,
    Mutex::Ordered,
];

/// An event of any kind.
fn anything(random: &mut Rng, sites: &[StackId]) -> What {
    let id = Instance(random.u64(..9));
    let site = pick(random, sites);
    let call = FrameId(random.u64(..3) as u32);
    match random.u64(..26) {
        0 => What::Birth(pick(random, &Scheduling::ALL)),
        1 if random.u64(..40) == 0 => What::Exit,
        1..=3 => What::SwitchOut(pick(random, &Scheduling::ALL)),
        4 => What::SwitchIn,
        5 => What::ThreadBegin(pick(
            random,
            &[
                ThreadKind::Initial,
                ThreadKind::Worker,
                ThreadKind::Other,
                ThreadKind::Outside,
            ],
        )),
        6 if random.u64(..10) == 0 => What::ThreadEnd,
        6 | 7 => What::ParallelBegin {
            region: id,
            site: site.into(),
            teams: random.u64(..8) == 0,
        },
        8 | 9 => What::ParallelEnd { region: id },
        10..=12 => What::ImplicitBegin {
            region: id,
            size: random.u64(..5) as u16,
            index: random.u64(..5) as u16,
        },
        13 => What::ImplicitEnd {
            region: if random.u64(..2) == 0 {
                id
            } else {
                Instance::NONE
            },
        },
        14 | 15 => What::SyncBegin {
            kind: pick(random, &SYNCS),
            region: id,
            call,
        },
        16 => What::SyncEnd {
            kind: pick(random, &SYNCS),
        },
        17 => What::MutexAcquire {
            kind: pick(random, &MUTEXES),
            lock: Lock(random.u64(..4)),
            call,
        },
        18 => What::MutexAcquired {
            kind: pick(random, &MUTEXES),
            lock: Lock(random.u64(..4)),
        },
        19 => match random.u64(..5) {
            0 => What::MutexAsked,
            _ => What::MutexReleased {
                kind: pick(random, &MUTEXES),
                lock: Lock(random.u64(..4)),
            },
        },
        20 => match random.u64(..5) {
            0 => What::TaskDivide { task: id },
            _ => What::TaskCreate {
                task: id,
                site: site.into(),
                of: pick(random, &TASKS),
            },
        },
        21 => What::TaskSchedule {
            next: id,
            prior_done: random.u64(..2) == 0,
        },
        22 => match random.u64(..4) {
            0 => What::ReductionBegin { call },
            1 => What::ReductionEnd,
            2 => What::OverheadBegin { call },
            _ => What::OverheadEnd,
        },
        23 => What::ShortSync {
            kind: pick(random, &SYNCS),
            call,
            waits: some_waits(random),
        },
        24 => match random.u64(..2) {
            0 => What::ShortHold {
                call,
                acquiring: some_waits(random).time,
                held: some_waits(random).time,
            },
            _ => What::ShortMutex {
                kind: pick(random, &MUTEXES),
                lock: Lock(random.u64(..4)),
                call,
                waits: some_waits(random),
            },
        },
        _ => match random.u64(..4) {
            0 => What::LostWaits,
            _ => What::Lost,
        },
    }
}

fn some_waits(random: &mut Rng) -> Waits {
    Waits {
        count: random.u64(..5) as u32,
        time: Nanos(random.u64(..2_000)),
    }
}

fn some_sites(driver: &mut Driver) -> Vec<StackId> {
    vec![
        StackId::EMPTY,
        driver.site(&[1]),
        driver.site(&[1, 2]),
        driver.site(&[1, 2, 3]),
        driver.site(&[4]),
    ]
}

#[test]
fn the_sums_of_every_thread_are_its_life_for_any_stream() {
    for seed in 0..300 {
        let mut random = Rng::with_seed(seed);
        let threads = 1 + random.u64(..5) as u32;
        let mut driver = Driver::unborn(threads);
        let sites = some_sites(&mut driver);
        let mut rows = crate::omp::Rows::default();
        let mut take = |driver: &mut Driver| {
            let taken = driver.accounting.take();
            rows.sums.extend(taken.sums);
            rows.blames.extend(taken.blames);
            rows.intervals.extend(taken.intervals);
            rows.region_sums.extend(taken.region_sums);
            rows.region_works.extend(taken.region_works);
            rows.task_sums.extend(taken.task_sums);
        };
        let mut born = BTreeMap::new();
        // From nanoseconds to a large part of a slice between events.
        let step = 10u64.pow(random.u64(..9) as u32 + 1);
        for _ in 0..1_000 {
            driver.time += random.u64(..step);
            let thread = random.u64(..u64::from(threads)) as u32;
            let what = anything(&mut random, &sites);
            // One in ten comes late.
            let now = driver.time;
            if random.u64(..10) == 0 {
                driver.time = driver.time.saturating_sub(random.u64(..2 * step));
            }
            born.entry(thread).or_insert(driver.time);
            driver.on(thread, what);
            assert!(driver.machine.locks.is_consistent(), "seed {seed}");
            driver.time = now;
            if random.u64(..50) == 0 {
                driver.accounting.advance(Nanos(driver.time));
                take(&mut driver);
            }
        }
        driver.accounting.finish(Nanos(driver.time));
        take(&mut driver);
        for (thread, birth) in born {
            let row = &driver.tables.threads[thread as usize];
            assert_eq!(row.birth.0, birth, "seed {seed}, thread {thread}");
            let end = row.death.map_or(driver.time, |death| death.0);
            assert_eq!(total(&rows, thread), end - birth, "seed {seed}, {thread}");
            let mut listed: Vec<_> = rows
                .intervals
                .iter()
                .filter(|it| it.thread.0 == thread)
                .map(|it| (it.start.0, it.start.0 + it.length.0))
                .collect();
            listed.push((end, end));
            let mut at = birth;
            for (from, to) in listed {
                assert!(at <= from && to <= end, "seed {seed}, thread {thread}");
                at = to;
            }
        }
        for (sum, work) in rows.region_sums.iter().zip(&rows.region_works) {
            assert!(work.mean <= work.longest, "seed {seed}");
            assert!(work.longest <= sum.elapsed, "seed {seed}");
            assert!(sum.elapsed <= work.capacity, "seed {seed}");
        }
        for sum in &rows.task_sums {
            assert!(sum.least <= sum.most && sum.most <= sum.work, "seed {seed}");
            assert!(sum.elsewhere <= sum.instances, "seed {seed}");
            assert!(sum.work.0 <= driver.time, "seed {seed}");
        }
        let mut by_slice: BTreeMap<(u32, u32), u64> = BTreeMap::new();
        for sum in &rows.sums {
            *by_slice.entry((sum.slice, sum.thread.0)).or_default() += sum.time.0;
        }
        assert!(
            by_slice.values().all(|&time| time <= SLICE.0),
            "seed {seed}"
        );
    }
}

#[test]
fn memory_is_bounded_in_any_stream() {
    for seed in 0..20 {
        let mut random = Rng::with_seed(1_000 + seed);
        let mut driver = Driver::new(4);
        let sites = some_sites(&mut driver);
        for _ in 0..20_000 {
            driver.time += 1;
            let what = anything(&mut random, &sites);
            if !matches!(what, What::Exit) {
                driver.on(random.u64(..4) as u32, what);
            }
        }
        let depth: usize = driver.machine.threads.iter().map(|it| it.depth()).sum();
        assert!(driver.machine.locks.rows() <= 64, "seed {seed}");
        // Each open region is on a stack, and few ended ones are kept.
        let slots = driver.machine.regions.slots();
        assert!(
            slots <= 4 * crate::omp::thread::DEEPEST + 200,
            "seed {seed}"
        );
        assert!(depth <= 4 * crate::omp::thread::DEEPEST, "seed {seed}");
        assert!(driver.machine.ending.is_empty());
    }
}

/// A program of regions of up to three threads, some nested, with barriers, locks and tasks
/// inside. Events are dropped at random, as if a ring were full.
struct Program<'a> {
    driver: &'a mut Driver,
    random: Rng,
    /// One event in `loss` is dropped; none if 0.
    loss: u64,
    /// Threads whose next event comes after a loss.
    lost: [bool; 4],
    id: u64,
}

impl Program<'_> {
    fn send(&mut self, thread: u32, what: What) {
        self.driver.time += 1 + self.random.u64(..100);
        if self.loss > 0 && self.random.u64(..self.loss) == 0 {
            self.lost[thread as usize] = true;
            return;
        }
        if std::mem::take(&mut self.lost[thread as usize]) {
            self.driver.on(thread, What::Lost);
        }
        self.driver.on(thread, what);
    }

    fn region(&mut self, site: &[u64], team: &[u32], depth: u32) {
        self.id += 1;
        let id = self.id;
        let stack = self.driver.site(site);
        self.send(team[0], parallel(id, stack));
        for (index, &thread) in team.iter().enumerate() {
            if index > 0 {
                self.send(thread, sync_end(Sync::BarrierParallel));
                self.send(thread, late_end());
            }
            self.send(thread, implicit(id, team.len() as u16, index as u16));
        }
        for &thread in team {
            match self.random.u64(..3) {
                0 => {
                    self.send(thread, acquire(Mutex::Critical));
                    let kind = Mutex::Critical;
                    self.send(thread, acquired(kind));
                    self.send(thread, released(kind));
                }
                1 => {
                    self.send(thread, sync(Sync::TaskWait, 0));
                    self.send(thread, schedule(id << 8, false));
                    self.send(thread, schedule(0, true));
                    self.send(thread, sync_end(Sync::TaskWait));
                }
                _ => {
                    self.send(thread, sync(Sync::BarrierWorkshare, 0));
                    self.send(thread, sync_end(Sync::BarrierWorkshare));
                }
            }
        }
        if depth > 0 && self.random.u64(..2) == 0 {
            let mut inner = site.to_vec();
            inner.extend([50, 60 + self.random.u64(..3)]);
            self.region(&inner, &[team[0], 3], depth - 1);
        }
        for &thread in team.iter().rev() {
            self.send(thread, sync(Sync::BarrierParallel, id));
        }
        self.send(team[0], sync_end(Sync::BarrierParallel));
        self.send(team[0], late_end());
        self.send(team[0], parallel_end(id));
    }
}

#[test]
fn after_losses_one_whole_region_makes_every_state_right() {
    for seed in 0..200 {
        let mut driver = Driver::new(4);
        let mut program = Program {
            driver: &mut driver,
            random: Rng::with_seed(5_000 + seed),
            loss: 2 + seed % 20,
            lost: [false; 4],
            id: 0,
        };
        for _ in 0..60 {
            let site = [1, 2 + program.random.u64(..4)];
            program.region(&site, &[0, 1, 2], 1);
        }
        // The last losses are reported, and then no event is lost any more.
        program.loss = 0;
        program.region(&[1, 20], &[0, 1, 2, 3], 0);
        program.region(&[1, 21], &[0, 1, 2, 3], 0);
        let states = driver.states();
        assert_eq!(
            states,
            [State::Serial, State::Idle, State::Idle, State::Idle],
            "seed {seed}"
        );
        driver.fork(1 << 40, StackId::EMPTY, &[0, 1, 2, 3]);
        assert_eq!(driver.states(), [State::Work; 4], "seed {seed}");
        assert_eq!(driver.context(2).parent, ContextId::ROOT, "seed {seed}");
        for stack in &driver.machine.threads {
            assert!(stack.depth() <= 3, "seed {seed}: {}", stack.depth());
        }
    }
}

#[test]
fn without_losses_no_state_is_unknown_and_no_wait_is_left_open() {
    for seed in 0..50 {
        let mut driver = Driver::new(4);
        let mut program = Program {
            driver: &mut driver,
            random: Rng::with_seed(9_000 + seed),
            loss: 0,
            lost: [false; 4],
            id: 0,
        };
        for _ in 0..50 {
            program.region(&[1, 2], &[0, 1, 2], 1);
        }
        let expected = [State::Serial, State::Idle, State::Idle, State::Idle];
        assert_eq!(driver.states(), expected);
        assert!(
            driver
                .tables
                .thread_states
                .rows()
                .iter()
                .all(|thread_state| thread_state.state != State::Unknown)
        );
        assert!(driver.machine.threads.iter().all(|it| it.depth() == 1));
    }
}

#[test]
fn blame_is_at_most_the_time_waited_for_mutexes() {
    for seed in 0..300 {
        let mut random = Rng::with_seed(seed);
        let mut driver = Driver::new(4);
        let sites = some_sites(&mut driver);
        let step = 10u64.pow(random.u64(..9) as u32 + 1);
        let mut rows = crate::omp::Rows::default();
        for _ in 0..1_000 {
            driver.time += random.u64(..step);
            let what = anything(&mut random, &sites);
            driver.on(random.u64(..4) as u32, what);
            if random.u64(..50) == 0 {
                driver.accounting.advance(Nanos(driver.time));
                let taken = driver.accounting.take();
                rows.sums.extend(taken.sums);
                rows.blames.extend(taken.blames);
            }
        }
        driver.accounting.finish(Nanos(driver.time));
        let taken = driver.accounting.take();
        rows.sums.extend(taken.sums);
        rows.blames.extend(taken.blames);
        let state = |thread_state: experiment::ids::ThreadStateId| {
            driver
                .tables
                .thread_states
                .get(thread_state.0)
                .unwrap()
                .state
        };
        let mut waits = BTreeMap::<u32, u64>::new();
        for sum in &rows.sums {
            if MUTEXES
                .iter()
                .any(|kind| waiting_for(*kind) == state(sum.thread_state))
            {
                *waits.entry(sum.slice).or_default() += sum.time.0;
            }
        }
        let mut blames = BTreeMap::<u32, u64>::new();
        for blame in &rows.blames {
            assert!(!state(blame.thread_state).is_wait(), "seed {seed}");
            *blames.entry(blame.slice).or_default() += blame.time.0;
        }
        for (slice, blames) in blames {
            let waits = waits.get(&slice).copied().unwrap_or(0);
            assert!(blames <= waits, "seed {seed}: {blames} of {waits}");
        }
    }
}
