use super::*;
use crate::ids::{FrameId, Nanos};

use crate::profile::{Callee, Path, PathId, Pseudo};
use crate::rewrite::world::World;
use crate::rows::Sum;
use crate::tables::{Interner, Process, Thread};

const WORK: &str = "work foo.omp_outlined+12 R:__kmp_invoke_microtask R:?+1 start_thread clone3";
const SPIN: &str = "sched_yield R:?+4 R:?+7 start_thread clone3";

/// A recording fed by hand.
struct Fed {
    world: World,
    sums: Sums,
    intervals: Vec<Interval>,
    samples: Vec<Sample>,
    header: Header,
}

impl Fed {
    /// An initial thread and workers after it.
    fn new(threads: usize) -> Fed {
        let mut world = World::new();
        world.tables.processes.push(Process {
            pid: 7,
            parent: None,
            name: "app".to_owned(),
            executable: "/home/u/app".to_owned(),
        });
        for index in 0..threads {
            world.tables.threads.push(Thread {
                process: crate::ids::ProcessId(0),
                tid: 7 + index as i32,
                birth: Nanos(0),
                death: None,
                kind: if index == 0 {
                    ThreadKind::Initial
                } else {
                    ThreadKind::Worker
                },
            });
        }
        Fed {
            world,
            sums: Sums::default(),
            intervals: Vec::new(),
            samples: Vec::new(),
            header: Header::default(),
        }
    }

    fn region(&mut self) -> ContextId {
        self.world.symbol("foo.omp_outlined", 9);
        self.world
            .region(ContextId::ROOT, "foo+9 main __libc_start_main _start")
    }

    fn sum(&mut self, thread: u32, slice: u32, tag: TagId, presence: Presence, nanos: u64) {
        self.sums.push(Sum {
            slice,
            thread: ThreadId(thread),
            tag,
            presence,
            time: Nanos(nanos),
            count: 1,
        });
    }

    fn sample(&mut self, thread: u32, slice: u32, tag: TagId, kind: SampleKind, stack: &str) {
        let stack = self.world.stack(stack);
        self.samples.push(Sample {
            time: Nanos(u64::from(slice) * SLICE.0 + self.samples.len() as u64),
            thread: ThreadId(thread),
            cpu: 0,
            kind,
            stack,
            tag,
        });
    }

    /// A listed sleep, with a stack taken a little before it begins.
    fn sleep(&mut self, tag: TagId, (start, length): (u64, u64), stack: &str) {
        self.intervals.push(Interval {
            thread: ThreadId(0),
            start: Nanos(start),
            length: Nanos(length),
            tag,
            presence: Presence::Blocked,
        });
        self.sample(0, 0, tag, SampleKind::Blocked, stack);
        self.samples.last_mut().expect("just pushed").time = Nanos(start - 7_000);
    }

    fn profile(&self, mode: ViewMode) -> Profile {
        let recording = Recording {
            tables: &self.world.tables,
            symbols: &self.world.symbols,
            sums: &self.sums,
            intervals: &self.intervals,
            header: &self.header,
        };
        profile(&recording, self.samples.iter().copied(), mode)
    }

    fn name(&self, paths: &Interner<Path>, path: PathId) -> String {
        let mut words = Vec::new();
        let mut at = path;
        while at != PathId::EMPTY {
            let row = paths.get(at.0).expect("paths are whole");
            words.push(match row.frame.callee {
                Callee::Function(f) => self.world.symbols.functions[f.0 as usize].name.clone(),
                Callee::Pseudo(pseudo) => format!("<{pseudo:?}>"),
                _ => "?".to_owned(),
            });
            at = row.callers;
        }
        words.join(" ")
    }

    /// (stack, nanoseconds, samples, inferred) of each item.
    fn rows(&self, mode: ViewMode) -> Vec<(String, u64, u32, bool)> {
        let profile = self.profile(mode);
        let items = profile.items.iter();
        items
            .map(|i| {
                (
                    self.name(&profile.paths, i.path),
                    nanos(i),
                    i.samples,
                    i.inferred,
                )
            })
            .collect()
    }
}

fn nanos(item: &Item) -> u64 {
    (item.seconds * 1e9).round() as u64
}

fn row(name: &str, nanos: u64, samples: u32, inferred: bool) -> (String, u64, u32, bool) {
    (name.to_owned(), nanos, samples, inferred)
}

const REGION: &str = "foo.omp_outlined foo main __libc_start_main _start";

#[test]
fn samples_share_a_sum_to_the_last_nanosecond() {
    let mut fed = Fed::new(2);
    let region = fed.region();
    let tag = fed.world.tag(State::Work, region);
    fed.sum(1, 0, tag, Presence::Running, 600);
    fed.sum(1, 0, tag, Presence::Running, 400);
    for stack in [
        WORK,
        WORK,
        "foo.omp_outlined+12 R:__kmp_invoke_microtask R:?+1 start_thread clone3",
    ] {
        fed.sample(1, 0, tag, SampleKind::User, stack);
    }
    assert_eq!(
        fed.rows(ViewMode::User),
        [
            row(REGION, 333, 1, false),
            row(&format!("work {REGION}"), 667, 2, false)
        ]
    );
}

#[test]
fn a_sleeping_wait_stands_where_the_spinning_one_was_seen() {
    let mut fed = Fed::new(2);
    let region = fed.region();
    let place = fed.world.frame("step+40");
    let tag = fed.world.tag_at(State::ExplicitBarrier, region, place);
    fed.sum(1, 3, tag, Presence::Running, 10);
    fed.sum(1, 3, tag, Presence::Blocked, 5000);
    fed.sum(1, 4, tag, Presence::Blocked, 7000);
    let stack = format!("sched_yield R:?+4 R:__kmpc_barrier step+40 {}", &WORK[5..]);
    fed.sample(1, 3, tag, SampleKind::User, &stack);
    let name = format!("<ExplicitBarrier> step {REGION}");
    assert_eq!(
        fed.rows(ViewMode::User),
        [
            row(&name, 10, 1, false),
            row(&name, 5000, 0, false),
            row(&name, 7000, 0, true)
        ]
    );
}

#[test]
fn work_off_the_cpu_stands_where_it_switched_out() {
    let mut fed = Fed::new(1);
    let tag = fed.world.tag(State::Serial, ContextId::ROOT);
    let (read, spin) = ("nanosleep work main _start", "work main _start");
    fed.sum(0, 0, tag, Presence::Running, 100);
    fed.sum(0, 0, tag, Presence::Blocked, 900);
    fed.sum(0, 0, tag, Presence::Preempted, 50);
    fed.sum(0, 9, tag, Presence::Blocked, 800);
    fed.sample(0, 0, tag, SampleKind::User, spin);
    fed.sample(0, 0, tag, SampleKind::Blocked, read);
    fed.sample(0, 9, tag, SampleKind::Kernel, spin);
    assert_eq!(
        fed.rows(ViewMode::User),
        [
            row(spin, 100, 1, false),
            row(spin, 50, 0, true),
            row(read, 900, 0, false),
            row(read, 800, 0, true),
        ]
    );
    let profile = fed.profile(ViewMode::User);
    assert!(
        profile.items.iter().all(|item| !item.kernel),
        "no clock sample of a summed group was in the kernel"
    );
}

#[test]
fn places_come_from_threads_alike_then_from_the_construct() {
    let mut fed = Fed::new(3);
    let region = fed.region();
    let work = fed.world.tag(State::Work, region);
    let join = fed.world.tag(State::ImplicitBarrier, region);
    fed.sum(0, 0, work, Presence::Running, 5);
    fed.sum(1, 0, work, Presence::Running, 100);
    fed.sum(2, 0, work, Presence::Running, 7);
    fed.sum(2, 0, join, Presence::Blocked, 9);
    fed.sample(1, 0, work, SampleKind::User, WORK);
    let name = format!("work {REGION}");
    assert_eq!(
        fed.rows(ViewMode::User),
        [
            // The primary's machine stacks do not begin as the workers' do.
            row(REGION, 5, 0, true),
            row(&name, 100, 1, false),
            row(&name, 7, 0, true),
            // A join barrier stands at its region: there is nothing to infer.
            row(&format!("<ImplicitBarrier> {REGION}"), 9, 0, false),
        ]
    );
    let machine = fed.rows(ViewMode::Machine);
    assert_eq!(machine[0].0, "foo main __libc_start_main _start");
    assert_eq!(
        machine[2].0,
        "work foo.omp_outlined __kmp_invoke_microtask ? start_thread clone3"
    );
}

#[test]
fn idle_time_is_one_leaf_in_user_mode_and_a_workers_stack_in_machine_mode() {
    let mut fed = Fed::new(3);
    let idle = fed.world.tag(State::Idle, ContextId::ROOT);
    fed.sum(1, 0, idle, Presence::Blocked, 40);
    fed.sum(2, 0, TagId::OUTSIDE, Presence::Blocked, 60);
    fed.sample(1, 0, idle, SampleKind::User, SPIN);
    // Events were recorded, so that a worker without any is idle.
    fed.region();
    assert_eq!(
        fed.rows(ViewMode::User),
        [row("<Idle>", 40, 0, false), row("<Idle>", 60, 0, true)]
    );
    let spin = "sched_yield ? ? start_thread clone3";
    assert_eq!(
        fed.rows(ViewMode::Machine),
        [row(spin, 40, 0, false), row(spin, 60, 0, true)]
    );
}

#[test]
fn without_sums_a_clock_sample_counts_its_period() {
    let mut fed = Fed::new(1);
    fed.header.sampling.period_us = 1000.25;
    let tag = fed.world.tag(State::Serial, ContextId::ROOT);
    fed.sample(0, 0, tag, SampleKind::User, "work main _start");
    fed.sample(0, 0, tag, SampleKind::User, "work main _start");
    fed.sample(0, 0, tag, SampleKind::Blocked, "nanosleep main _start");
    assert_eq!(
        fed.rows(ViewMode::User),
        [row("work main _start", 2_000_500, 2, false)]
    );
}

#[test]
fn where_records_were_lost_each_samples_stack_gives_its_state() {
    let mut fed = Fed::new(2);
    let region = fed.region();
    let tag = fed.world.tag(State::Unknown, region);
    fed.sum(1, 0, tag, Presence::Running, 300);
    fed.sample(1, 0, tag, SampleKind::User, WORK);
    fed.sample(1, 0, tag, SampleKind::User, SPIN);
    fed.sample(
        1,
        0,
        tag,
        SampleKind::User,
        &format!("R:?+1 R:__kmpc_set_lock {}", &WORK[5..]),
    );
    let profile = fed.profile(ViewMode::User);
    let shown: Vec<(Shown, u64, ContextId)> = profile
        .items
        .iter()
        .map(|i| (i.shown, nanos(i), i.context))
        .collect();
    assert_eq!(
        shown,
        [
            (Shown::Work, 100, ContextId::ROOT),
            (Shown::Idle, 100, ContextId::ROOT),
            (Shown::Lock, 100, ContextId::ROOT),
        ]
    );
}

/// A small generator of numbers, so that failures can be repeated (Marsaglia's xorshift).
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % end
    }

    fn of<T: Copy>(&mut self, values: &[T]) -> T {
        values[self.below(values.len() as u64) as usize]
    }
}

/// A recording with arbitrary sums and samples, also such as no program could give.
fn arbitrary(seed: u64) -> Fed {
    let mut random = Random(seed * 2 + 1);
    let mut fed = Fed::new(4);
    let region = fed.region();
    let site = format!("foo.omp_outlined+13 {}", &WORK[22..]);
    let nested = fed.world.region(region, &site);
    let lost_site = fed.world.region(nested, "");
    let place = fed.world.frame("step+40");
    let mut tags = vec![TagId::OUTSIDE];
    for state in crate::state::STATES {
        for context in [ContextId::ROOT, region, nested, lost_site] {
            tags.push(
                fed.world
                    .tag_at(state, context, random.of(&[FrameId::NONE, place])),
            );
        }
    }
    let stacks = [
        "",
        "!",
        WORK,
        SPIN,
        "work main _start",
        "K:schedule",
        "R:?+1 !",
        "R:?+1",
        "work foo.omp_outlined+12 R:__kmp_invoke_microtask R:__kmpc_fork_call foo+9 main __libc_start_main _start",
        "R:?+1 R:__kmpc_fork_call foo+9 main __libc_start_main _start",
        "work .omp_task_entry. R:?+1 R:__kmpc_barrier foo.omp_outlined+12 R:__kmp_invoke_microtask start_thread clone3",
    ];
    let presences = [Presence::Running, Presence::Preempted, Presence::Blocked];
    let kinds = [
        SampleKind::User,
        SampleKind::Kernel,
        SampleKind::Preempted,
        SampleKind::Blocked,
    ];
    for _ in 0..random.below(60) {
        let (thread, slice) = (random.below(4) as u32, random.below(5) as u32);
        let (tag, presence, time) = (
            random.of(&tags),
            random.of(&presences),
            random.below(1 << 40),
        );
        fed.sum(thread, slice, tag, presence, time);
    }
    for _ in 0..random.below(80) {
        let (thread, slice) = (random.below(4) as u32, random.below(5) as u32);
        let (tag, kind, stack) = (random.of(&tags), random.of(&kinds), random.of(&stacks));
        fed.sample(thread, slice, tag, kind, stack);
    }
    fed
}

#[test]
fn totals_equal_the_sums_and_each_other_in_both_modes() {
    for seed in 1..200 {
        let fed = arbitrary(seed);
        let user = fed.profile(ViewMode::User);
        let machine = fed.profile(ViewMode::Machine);
        for (user, machine) in user.items.iter().zip(&machine.items) {
            let same = |i: &Item| Item {
                path: PathId::EMPTY,
                inferred: machine.inferred,
                ..*i
            };
            assert_eq!(
                same(user),
                same(machine),
                "seed {seed}: only the display stack differs"
            );
            assert!(machine.inferred || !user.inferred, "seed {seed}");
        }
        assert_eq!(user.items.len(), machine.items.len(), "seed {seed}");
        for thread in 0..4 {
            for presence in [Presence::Running, Presence::Preempted, Presence::Blocked] {
                let of_sums: u64 = fed
                    .sums
                    .iter()
                    .filter(|s| s.thread.0 == thread && s.presence == presence)
                    .map(|s| s.time.0)
                    .sum();
                let of_items: u64 = user
                    .items
                    .iter()
                    .filter(|i| i.thread.0 == thread && i.presence == presence)
                    .map(nanos)
                    .sum();
                let measured = fed.sums.iter().any(|s| s.thread.0 == thread);
                assert!(
                    !measured || of_sums == of_items,
                    "seed {seed}, thread {thread}: {of_sums} {of_items}"
                );
            }
        }
    }
}

#[test]
fn idle_stands_alone_and_machine_stacks_have_no_pseudo_functions() {
    for seed in 1..100 {
        let fed = arbitrary(seed);
        let user = fed.profile(ViewMode::User);
        for item in user.items.iter().filter(|i| i.shown == Shown::Idle) {
            assert_eq!(fed.name(&user.paths, item.path), "<Idle>", "seed {seed}");
        }
        let machine = fed.profile(ViewMode::Machine);
        for path in machine.paths.rows().iter().skip(1) {
            let pseudo = matches!(path.frame.callee, Callee::Pseudo(p) if p != Pseudo::Unknown);
            assert!(!pseudo, "seed {seed}");
        }
    }
}

#[test]
fn a_long_sleep_is_not_outvoted_by_many_short_ones() {
    let mut fed = Fed::new(1);
    let tag = fed.world.tag(State::Serial, ContextId::ROOT);
    let (doze, join) = ("nanosleep doze main _start", "futex_wait join main _start");
    let second = SLICE.0;
    // Too short to be listed: the first one might be taken for the beginning of the long one.
    for at in [100_000_000, 300_000_000, 399_950_000] {
        fed.sample(0, 0, tag, SampleKind::Blocked, doze);
        fed.samples.last_mut().expect("just pushed").time = Nanos(at);
    }
    fed.sleep(tag, (400_000_000, 2 * second), join);
    fed.sum(0, 0, tag, Presence::Blocked, second * 6 / 10 + 3_000_000);
    fed.sum(0, 1, tag, Presence::Blocked, second);
    fed.sum(0, 2, tag, Presence::Blocked, second * 4 / 10);
    assert_eq!(
        fed.rows(ViewMode::User),
        [
            row(doze, 3_000_000, 0, false),
            row(join, second * 6 / 10, 0, false),
            row(join, second, 0, false),
            row(join, second * 4 / 10, 0, false),
        ]
    );
}

#[test]
fn a_long_sleep_without_a_stack_is_told_by_long_ones() {
    let mut fed = Fed::new(1);
    let tag = fed.world.tag(State::Serial, ContextId::ROOT);
    let (doze, join) = ("nanosleep doze main _start", "futex_wait join main _start");
    // Of many short ones and of two long ones, one has no stack.
    for at in [500_000_000, 600_000_000, 700_000_000] {
        fed.sample(0, 0, tag, SampleKind::Blocked, doze);
        fed.samples.last_mut().expect("just pushed").time = Nanos(at);
    }
    fed.sleep(tag, (100_000_000, 5_000_000), join);
    fed.sleep(tag, (200_000_000, 8_000_000), join);
    fed.samples.pop();
    fed.sum(0, 0, tag, Presence::Blocked, 13_000_000 + 60_000);
    let rows = fed.rows(ViewMode::User);
    assert_eq!(
        rows,
        [row(doze, 60_000, 0, false), row(join, 13_000_000, 0, false)]
    );
}

#[test]
fn a_long_sleep_of_which_only_dozing_was_seen_stands_where_its_thread_ran() {
    let mut fed = Fed::new(1);
    let tag = fed.world.tag(State::Serial, ContextId::ROOT);
    let (load, join) = ("read load main _start", "join main _start");
    fed.sleep(tag, (1_000_000, 20_000), load);
    fed.sleep(tag, (500_000_000, 400_000_000), join);
    fed.samples.pop();
    fed.sample(0, 0, tag, SampleKind::User, join);
    fed.sum(0, 0, tag, Presence::Blocked, 400_020_000);
    fed.sum(0, 0, tag, Presence::Running, 1_000_000);
    let rows = fed.rows(ViewMode::User);
    assert_eq!(
        rows,
        [
            row(join, 1_000_000, 1, false),
            row(load, 20_000, 0, false),
            row(join, 400_000_000, 0, true),
        ]
    );
}

#[test]
fn short_sleeps_have_their_own_lengths() {
    let mut fed = Fed::new(1);
    let tag = fed.world.tag(State::Serial, ContextId::ROOT);
    let (read, doze) = ("read load main _start", "nanosleep doze main _start");
    // One in ten has a stack.
    for at in 1..5 {
        fed.sleep(tag, (at * 1_000_000, 20_000), read);
        fed.sleep(tag, (at * 1_000_000 + 500_000, 300_000), doze);
    }
    fed.sum(0, 0, tag, Presence::Blocked, 40 * 320_000);
    let rows = fed.rows(ViewMode::User);
    assert_eq!(
        rows,
        [
            row(read, 800_000, 0, false),
            row(doze, 12_000_000, 0, false)
        ]
    );
}

#[test]
fn a_sleep_without_a_stack_is_not_given_that_of_the_one_before() {
    let mut fed = Fed::new(1);
    let region = fed.region();
    let short = fed.world.tag(State::ImplicitBarrier, region);
    let long = fed.world.tag(State::ExplicitBarrier, region);
    fed.sleep(long, (1_000_000, 5_000_000), "unused main _start");
    fed.samples[0].tag = short;
    fed.sum(0, 0, short, Presence::Blocked, 10_000);
    fed.sum(0, 0, long, Presence::Blocked, 5_000_000);
    let rows = fed.rows(ViewMode::User);
    let inferred: Vec<(u64, bool)> = rows.iter().map(|row| (row.1, row.3)).collect();
    assert_eq!(inferred, [(10_000, false), (5_000_000, true)]);
}

#[test]
fn a_sleep_goes_on_where_what_is_waited_for_changes() {
    let mut fed = Fed::new(1);
    let outside = fed.world.tag(State::Serial, ContextId::ROOT);
    let region = fed.region();
    let inside = fed.world.tag(State::Overhead, region);
    let stack = "futex_wait R:?+4 R:__kmpc_fork_call foo+9 main __libc_start_main _start";
    fed.sleep(outside, (1_000_000, 5_000_000), stack);
    let mut rest = fed.intervals[0];
    (rest.start, rest.tag) = (Nanos(6_000_000), inside);
    fed.intervals.push(rest);
    fed.sum(0, 0, outside, Presence::Blocked, 5_000_000);
    fed.sum(0, 0, inside, Presence::Blocked, 5_000_000);
    let inferred: Vec<bool> = fed.rows(ViewMode::User).iter().map(|row| row.3).collect();
    assert_eq!(inferred, [false, false]);
}

#[test]
fn time_that_no_sample_tells_of_stands_on_what_all_stacks_of_its_thread_share() {
    let mut fed = Fed::new(1);
    let serial = fed.world.tag(State::Serial, ContextId::ROOT);
    let fork = "request+9 connection start_thread clone3";
    let region = fed.world.region(ContextId::ROOT, fork);
    let work = fed.world.tag(State::Work, region);
    fed.sum(0, 0, serial, Presence::Running, 300);
    fed.sum(0, 0, work, Presence::Running, 700);
    let found = fed.rows(ViewMode::User);
    assert_eq!(
        found[0],
        row("request connection start_thread clone3", 300, 0, true)
    );
}

/// What a profile says of each place, over all slices: seconds, samples, blame.
fn over_slices(fed: &Fed, profile: &Profile) -> BTreeMap<String, (f64, u32, f64)> {
    let mut sums = BTreeMap::<String, (f64, u32, f64)>::new();
    for item in &profile.items {
        let name = fed.name(&profile.paths, item.path);
        let key = format!(
            "{:?} {:?} {:?} {:?} {:?} {} {} {name}",
            item.thread,
            item.tag,
            item.stack,
            item.shown,
            item.presence,
            item.kernel,
            item.inferred
        );
        let sum = sums.entry(key).or_default();
        sum.0 += item.seconds;
        sum.1 += item.samples;
        sum.2 += item.blame;
    }
    sums.retain(|_, &mut (seconds, samples, _)| seconds > 0.0 || samples > 0);
    sums
}

#[test]
fn one_pass_over_the_samples_gives_the_sums_of_all_slices() {
    for seed in 1..200 {
        let mut fed = arbitrary(seed);
        let mut random = Random(seed);
        for sample in &mut fed.samples {
            sample.time.0 += random.below(SLICE.0);
        }
        for at in 0..random.below(20) {
            let sample = fed.samples.get(at as usize * 3).copied();
            let Some(sample) = sample.filter(|at| at.kind.presence() != Presence::Running) else {
                continue;
            };
            fed.intervals.push(Interval {
                thread: sample.thread,
                start: Nanos(sample.time.0 / 1000 * 1000 + 1000 * random.below(90)),
                length: Nanos(1000 * random.below(3_000_000)),
                tag: sample.tag,
                presence: sample.kind.presence(),
            });
        }
        fed.samples.sort_by_key(|sample| sample.time);
        let recording = Recording {
            tables: &fed.world.tables,
            symbols: &fed.world.symbols,
            sums: &fed.sums,
            intervals: &fed.intervals,
            header: &fed.header,
        };
        // Times are kept to microseconds.
        let packed = fed.samples.chunks(7).map(|chunk| chunk.to_vec());
        let samples = Samples::of_frames(packed).unwrap();
        for mode in [ViewMode::User, ViewMode::Machine] {
            let mut sliced = profile(&recording, samples.iter(), mode);
            blame::charge(&mut sliced, recording.tables, recording.intervals);
            let streamed = Shares::folded(&recording, &samples).profile(&recording, mode);
            let expected = over_slices(&fed, &sliced);
            let got = over_slices(&fed, &streamed);
            let differ = |one: &BTreeMap<String, _>, other: &BTreeMap<String, _>| {
                let only = one.keys().filter(|key| !other.contains_key(*key));
                only.cloned().collect::<Vec<String>>()
            };
            let (lacks, has) = (differ(&expected, &got), differ(&got, &expected));
            assert_eq!(lacks, has, "seed {seed}");
            for ((name, expected), got) in expected.iter().zip(got.values()) {
                assert!((expected.0 - got.0).abs() < 1e-9, "seed {seed}: {name}");
                assert_eq!(expected.1, got.1, "seed {seed}: {name}");
                let (expected, got) = (expected.2, got.2);
                assert!(
                    (expected - got).abs() < 1e-6,
                    "seed {seed}: {name} is blamed for {expected} {got}"
                );
            }
        }
    }
}
