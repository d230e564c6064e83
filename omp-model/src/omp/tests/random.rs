//! Properties that hold for every order of events.

use std::collections::BTreeMap;

use experiment::ids::{ContextId, FrameId, Nanos, StackId};
use experiment::rows::SLICE;
use experiment::state::{Scheduling, State};
use experiment::tables::ThreadKind;

use super::scene::*;
use crate::stream::{Instance, Lock, Mutex, Sync, What};

/// Marsaglia's xorshift64: a stream of numbers by seed, the same everywhere.
struct Dice(u64);

impl Dice {
    fn new(seed: u64) -> Self {
        Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// Below `sides`.
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % sides
    }

    fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.roll(of.len() as u64) as usize]
    }
}

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

/// Any event at all.
fn anything(dice: &mut Dice, sites: &[StackId]) -> What {
    let id = Instance(dice.roll(9));
    let site = dice.pick(sites);
    let call = FrameId(dice.roll(3) as u32);
    match dice.roll(24) {
        0 => What::Birth(dice.pick(&Scheduling::ALL)),
        1 if dice.roll(40) == 0 => What::Exit,
        1..=3 => What::SwitchOut(dice.pick(&Scheduling::ALL)),
        4 => What::SwitchIn,
        5 => What::ThreadBegin(dice.pick(&[
            ThreadKind::Initial,
            ThreadKind::Worker,
            ThreadKind::Other,
            ThreadKind::Outside,
        ])),
        6 if dice.roll(10) == 0 => What::ThreadEnd,
        6 | 7 => What::ParallelBegin {
            region: id,
            site: site.into(),
            teams: dice.roll(8) == 0,
        },
        8 | 9 => What::ParallelEnd { region: id },
        10..=12 => What::ImplicitBegin {
            region: id,
            size: dice.roll(5) as u16,
            index: dice.roll(5) as u16,
        },
        13 => What::ImplicitEnd {
            region: if dice.roll(2) == 0 {
                id
            } else {
                Instance::NONE
            },
        },
        14 | 15 => What::SyncBegin {
            kind: dice.pick(&SYNCS),
            region: id,
            call,
        },
        16 => What::SyncEnd {
            kind: dice.pick(&SYNCS),
        },
        17 => What::MutexAcquire {
            kind: dice.pick(&MUTEXES),
            lock: Lock(dice.roll(4)),
            call,
        },
        18 => What::MutexAcquired {
            kind: dice.pick(&MUTEXES),
            lock: Lock(dice.roll(4)),
        },
        19 => match dice.roll(5) {
            0 => What::MutexAsked,
            _ => What::MutexReleased {
                kind: dice.pick(&MUTEXES),
                lock: Lock(dice.roll(4)),
            },
        },
        20 => What::TaskCreate {
            task: id,
            site: site.into(),
        },
        21 => What::TaskSchedule {
            next: id,
            prior_done: dice.roll(2) == 0,
        },
        22 => match dice.roll(4) {
            0 => What::ReductionBegin { call },
            1 => What::ReductionEnd,
            2 => What::OverheadBegin { call },
            _ => What::OverheadEnd,
        },
        _ => What::Lost,
    }
}

fn some_sites(scene: &mut Scene) -> Vec<StackId> {
    vec![
        StackId::EMPTY,
        scene.site(&[1]),
        scene.site(&[1, 2]),
        scene.site(&[1, 2, 3]),
        scene.site(&[4]),
    ]
}

#[test]
fn the_sums_of_every_thread_are_its_life_for_any_stream() {
    for seed in 0..300 {
        let mut dice = Dice::new(seed);
        let threads = 1 + dice.roll(5) as u32;
        let mut scene = Scene::unborn(threads);
        let sites = some_sites(&mut scene);
        let mut rows = crate::omp::Rows::default();
        let mut take = |scene: &mut Scene| {
            let taken = scene.accounting.take();
            rows.sums.extend(taken.sums);
            rows.blames.extend(taken.blames);
            rows.intervals.extend(taken.intervals);
            rows.region_sums.extend(taken.region_sums);
            rows.region_works.extend(taken.region_works);
            rows.task_sums.extend(taken.task_sums);
        };
        let mut born = BTreeMap::new();
        // From nanoseconds to a large part of a slice between events.
        let step = 10u64.pow(dice.roll(9) as u32 + 1);
        for _ in 0..1_000 {
            scene.time += dice.roll(step);
            let thread = dice.roll(u64::from(threads)) as u32;
            let what = anything(&mut dice, &sites);
            // One in ten comes late.
            let now = scene.time;
            if dice.roll(10) == 0 {
                scene.time = scene.time.saturating_sub(dice.roll(2 * step));
            }
            born.entry(thread).or_insert(scene.time);
            scene.on(thread, what);
            assert!(scene.machine.locks.is_consistent(), "seed {seed}");
            scene.time = now;
            if dice.roll(50) == 0 {
                scene.accounting.advance(Nanos(scene.time));
                take(&mut scene);
            }
        }
        scene.accounting.finish(Nanos(scene.time));
        take(&mut scene);
        for (thread, birth) in born {
            let row = &scene.tables.threads[thread as usize];
            assert_eq!(row.birth.0, birth, "seed {seed}, thread {thread}");
            let end = row.death.map_or(scene.time, |death| death.0);
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
            assert!(sum.work.0 <= scene.time, "seed {seed}");
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
fn nothing_piles_up_in_any_stream() {
    for seed in 0..20 {
        let mut dice = Dice::new(1_000 + seed);
        let mut scene = Scene::new(4);
        let sites = some_sites(&mut scene);
        for _ in 0..20_000 {
            scene.time += 1;
            let what = anything(&mut dice, &sites);
            if !matches!(what, What::Exit) {
                scene.on(dice.roll(4) as u32, what);
            }
        }
        let depth: usize = scene.machine.threads.iter().map(|it| it.depth()).sum();
        assert!(scene.machine.locks.rows() <= 64, "seed {seed}");
        // Open regions stand on a stack each; of those that ended few are remembered.
        let slots = scene.machine.regions.slots();
        assert!(
            slots <= 4 * crate::omp::thread::DEEPEST + 200,
            "seed {seed}"
        );
        assert!(depth <= 4 * crate::omp::thread::DEEPEST, "seed {seed}");
        assert!(scene.machine.ending.is_empty());
    }
}

/// A program of regions of up to three threads, some nested, with barriers, locks and tasks
/// inside; every event is dropped with the odds given, as if a ring had been full.
struct Program<'a> {
    scene: &'a mut Scene,
    dice: Dice,
    /// One event in so many is dropped; none if 0.
    loss: u64,
    /// Threads that must say so at their next event.
    lost: [bool; 4],
    id: u64,
}

impl Program<'_> {
    fn send(&mut self, thread: u32, what: What) {
        self.scene.time += 1 + self.dice.roll(100);
        if self.loss > 0 && self.dice.roll(self.loss) == 0 {
            self.lost[thread as usize] = true;
            return;
        }
        if std::mem::take(&mut self.lost[thread as usize]) {
            self.scene.on(thread, What::Lost);
        }
        self.scene.on(thread, what);
    }

    fn region(&mut self, site: &[u64], team: &[u32], depth: u32) {
        self.id += 1;
        let id = self.id;
        let stack = self.scene.site(site);
        self.send(team[0], parallel(id, stack));
        for (index, &thread) in team.iter().enumerate() {
            if index > 0 {
                self.send(thread, sync_end(Sync::BarrierParallel));
                self.send(thread, late_end());
            }
            self.send(thread, implicit(id, team.len() as u16, index as u16));
        }
        for &thread in team {
            match self.dice.roll(3) {
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
        if depth > 0 && self.dice.roll(2) == 0 {
            let mut inner = site.to_vec();
            inner.extend([50, 60 + self.dice.roll(3)]);
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
fn after_losses_one_whole_region_sets_every_thread_right() {
    for seed in 0..200 {
        let mut scene = Scene::new(4);
        let mut program = Program {
            scene: &mut scene,
            dice: Dice::new(5_000 + seed),
            loss: 2 + seed % 20,
            lost: [false; 4],
            id: 0,
        };
        for _ in 0..60 {
            let site = [1, 2 + program.dice.roll(4)];
            program.region(&site, &[0, 1, 2], 1);
        }
        // The last losses are told, and then nothing is lost any more.
        program.loss = 0;
        program.region(&[1, 20], &[0, 1, 2, 3], 0);
        program.region(&[1, 21], &[0, 1, 2, 3], 0);
        let states = scene.states();
        assert_eq!(
            states,
            [State::Serial, State::Idle, State::Idle, State::Idle],
            "seed {seed}"
        );
        scene.fork(1 << 40, StackId::EMPTY, &[0, 1, 2, 3]);
        assert_eq!(scene.states(), [State::Work; 4], "seed {seed}");
        assert_eq!(scene.context(2).parent, ContextId::ROOT, "seed {seed}");
        for stack in &scene.machine.threads {
            assert!(stack.depth() <= 3, "seed {seed}: {}", stack.depth());
        }
    }
}

#[test]
fn without_losses_no_state_is_unknown_and_no_wait_is_left_open() {
    for seed in 0..50 {
        let mut scene = Scene::new(4);
        let mut program = Program {
            scene: &mut scene,
            dice: Dice::new(9_000 + seed),
            loss: 0,
            lost: [false; 4],
            id: 0,
        };
        for _ in 0..50 {
            program.region(&[1, 2], &[0, 1, 2], 1);
        }
        let expected = [State::Serial, State::Idle, State::Idle, State::Idle];
        assert_eq!(scene.states(), expected);
        assert!(
            scene
                .tables
                .thread_states
                .rows()
                .iter()
                .all(|thread_state| thread_state.state != State::Unknown)
        );
        assert!(scene.machine.threads.iter().all(|it| it.depth() == 1));
    }
}

#[test]
fn nobody_is_owed_more_than_was_waited_for_mutexes() {
    for seed in 0..300 {
        let mut dice = Dice::new(seed);
        let mut scene = Scene::new(4);
        let sites = some_sites(&mut scene);
        let step = 10u64.pow(dice.roll(9) as u32 + 1);
        let mut rows = crate::omp::Rows::default();
        for _ in 0..1_000 {
            scene.time += dice.roll(step);
            let what = anything(&mut dice, &sites);
            scene.on(dice.roll(4) as u32, what);
            if dice.roll(50) == 0 {
                scene.accounting.advance(Nanos(scene.time));
                let taken = scene.accounting.take();
                rows.sums.extend(taken.sums);
                rows.blames.extend(taken.blames);
            }
        }
        scene.accounting.finish(Nanos(scene.time));
        let taken = scene.accounting.take();
        rows.sums.extend(taken.sums);
        rows.blames.extend(taken.blames);
        let state = |thread_state: experiment::ids::ThreadStateId| {
            scene
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
                .any(|kind| kind.state() == state(sum.thread_state))
            {
                *waits.entry(sum.slice).or_default() += sum.time.0;
            }
        }
        let mut owed = BTreeMap::<u32, u64>::new();
        for blame in &rows.blames {
            assert!(!state(blame.thread_state).is_wait(), "seed {seed}");
            *owed.entry(blame.slice).or_default() += blame.time.0;
        }
        for (slice, owed) in owed {
            let waits = waits.get(&slice).copied().unwrap_or(0);
            assert!(owed <= waits, "seed {seed}: {owed} of {waits}");
        }
    }
}
