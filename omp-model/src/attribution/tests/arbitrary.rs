//! Properties that hold for every experiment, including those that no program could make.

use std::collections::BTreeMap;

use experiment::Packed;
use fastrand::Rng;

use super::*;
use crate::views::notices::inferred_seconds;

fn pick<T: Copy>(random: &mut Rng, values: &[T]) -> T {
    values[random.usize(..values.len())]
}

/// An experiment with arbitrary sums and samples.
fn arbitrary(seed: u64) -> TestExperiment {
    let mut random = Rng::with_seed(seed * 2 + 1);
    let mut test = TestExperiment::new(4);
    let region = test.region();
    let site = format!("foo.omp_outlined+13 {}", &WORK[22..]);
    let nested = test.program.region(region, &site);
    let lost_site = test.program.region(nested, "");
    let call = test.program.frame("step+40");
    let mut thread_states = vec![ThreadStateId::OUTSIDE];
    for state in experiment::state::STATES {
        for context in [ContextId::ROOT, region, nested, lost_site] {
            thread_states.push(test.program.thread_state_at(
                state,
                context,
                pick(&mut random, &[FrameId::NONE, call]),
            ));
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
    let schedulings = [
        Scheduling::Running,
        Scheduling::Preempted,
        Scheduling::Blocked,
    ];
    let kinds = [
        SampleKind::User,
        SampleKind::Kernel,
        SampleKind::Preempted,
        SampleKind::Blocked,
    ];
    for _ in 0..random.u64(..60) {
        let (thread, slice) = (random.u64(..4) as u32, random.u64(..5) as u32);
        let (thread_state, scheduling, time) = (
            pick(&mut random, &thread_states),
            pick(&mut random, &schedulings),
            random.u64(..1 << 40),
        );
        test.sum(thread, slice, thread_state, scheduling, time);
    }
    for _ in 0..random.u64(..80) {
        let (thread, slice) = (random.u64(..4) as u32, random.u64(..5) as u32);
        let (thread_state, kind, stack) = (
            pick(&mut random, &thread_states),
            pick(&mut random, &kinds),
            pick(&mut random, &stacks),
        );
        test.sample(thread, slice, thread_state, kind, stack);
    }
    test
}

#[test]
fn totals_equal_the_sums_and_each_other_in_both_modes() {
    for seed in 1..200 {
        let test = arbitrary(seed);
        let user = test.profile(ViewMode::User);
        let machine = test.profile(ViewMode::Machine);
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
            for scheduling in [
                Scheduling::Running,
                Scheduling::Preempted,
                Scheduling::Blocked,
            ] {
                let of_sums: u64 = test
                    .sums
                    .iter()
                    .filter(|s| s.thread.0 == thread && s.scheduling == scheduling)
                    .map(|s| s.time.0)
                    .sum();
                let of_items: u64 = user
                    .items
                    .iter()
                    .filter(|i| i.thread.0 == thread && i.scheduling == scheduling)
                    .map(nanos)
                    .sum();
                let measured = test.sums.iter().any(|s| s.thread.0 == thread);
                assert!(
                    !measured || of_sums == of_items,
                    "seed {seed}, thread {thread}: {of_sums} {of_items}"
                );
            }
        }
    }
}

#[test]
fn idle_is_alone_and_machine_stacks_have_no_pseudo_functions() {
    for seed in 1..100 {
        let test = arbitrary(seed);
        let user = test.profile(ViewMode::User);
        for item in user.items.iter().filter(|i| i.state == RefinedState::Idle) {
            assert_eq!(test.name(&user.paths, item.path), "<Idle>", "seed {seed}");
        }
        let machine = test.profile(ViewMode::Machine);
        for path in machine.paths.rows().iter().skip(1) {
            let pseudo = matches!(path.frame.callee, Callee::Pseudo(p) if p != Pseudo::Unknown);
            assert!(!pseudo, "seed {seed}");
        }
    }
}

/// Seconds, samples and blame of each kind of item, over all slices.
fn over_slices(test: &TestExperiment, profile: &Profile) -> BTreeMap<String, (f64, u32, f64)> {
    let mut sums = BTreeMap::<String, (f64, u32, f64)>::new();
    for item in &profile.items {
        let name = test.name(&profile.paths, item.path);
        let key = format!(
            "{:?} {:?} {:?} {:?} {:?} {} {} {name}",
            item.thread,
            item.thread_state,
            item.stack,
            item.state,
            item.scheduling,
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
fn folded_slices_are_the_sums_of_slices_apart() {
    for seed in 1..200 {
        let mut test = arbitrary(seed);
        let mut random = Rng::with_seed(seed);
        for sample in &mut test.samples {
            sample.time.0 += random.u64(..SLICE.0);
        }
        for at in 0..random.u64(..20) {
            let sample = test.samples.get(at as usize * 3).copied();
            let Some(sample) = sample.filter(|at| at.kind.scheduling() != Scheduling::Running)
            else {
                continue;
            };
            test.intervals.push(Interval {
                thread: sample.thread,
                start: Nanos(sample.time.0 / 1000 * 1000 + 1000 * random.u64(..90)),
                length: Nanos(1000 * random.u64(..3_000_000)),
                thread_state: sample.thread_state,
                scheduling: sample.kind.scheduling(),
                within: sample.within,
            });
        }
        test.samples.sort_by_key(|sample| sample.time);
        let blame = |sum: Sum| Blame {
            slice: sum.slice,
            thread: sum.thread,
            thread_state: sum.thread_state,
            scheduling: sum.scheduling,
            time: Nanos(sum.time.0 / 2),
        };
        let blames = test.sums.iter().filter(|_| random.u64(..3) == 0);
        let blames: Packed<Blame> = blames.map(blame).collect();
        let source = test.source(&blames);
        // Times are kept to microseconds.
        let packed = test.samples.chunks(7).map(|chunk| chunk.to_vec());
        let samples = Samples::of_frames(packed).unwrap();
        for mode in [ViewMode::User, ViewMode::Machine] {
            let of = |slices| Attribution::new(&source, &samples, slices);
            let apart = of(Slices::Apart).profile(&source, mode);
            let folded = of(Slices::Folded).profile(&source, mode);
            let expected = over_slices(&test, &apart);
            let got = over_slices(&test, &folded);
            let computed = of(Slices::Folded).inferred(&source, mode);
            let both = inferred_seconds(&folded);
            assert!(
                (computed.0 - both.0).abs() < 1e-6,
                "seed {seed}: {computed:?} {both:?}"
            );
            assert!(
                (computed.1 - both.1).abs() < 1e-6,
                "seed {seed}: {computed:?} {both:?}"
            );
            let differ = |one: &BTreeMap<String, _>, other: &BTreeMap<String, _>| {
                let only = one.keys().filter(|key| !other.contains_key(*key));
                only.cloned().collect::<Vec<String>>()
            };
            let (lacks, has) = (differ(&expected, &got), differ(&got, &expected));
            assert_eq!(lacks, has, "seed {seed}");
            for ((name, expected), got) in expected.iter().zip(got.values()) {
                // Each sample has its part to the nanosecond, whichever way it was divided.
                let near = 1e-9 * (1.0 + f64::from(expected.1));
                assert!((expected.0 - got.0).abs() < near, "seed {seed}: {name}");
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

/// An experiment in which every group has its own samples, and none of them began a sleep.
fn sampled(seed: u64) -> TestExperiment {
    let mut random = Rng::with_seed(seed * 2 + 1);
    let mut test = TestExperiment::new(4);
    let region = test.region();
    let mut thread_states = vec![ThreadStateId::OUTSIDE];
    for state in experiment::state::STATES {
        thread_states.extend(
            [ContextId::ROOT, region].map(|context| test.program.thread_state(state, context)),
        );
    }
    for _ in 0..20 {
        let (thread, slice) = (random.u64(..4) as u32, random.u64(..3) as u32);
        let thread_state = pick(&mut random, &thread_states);
        let schedulings = [
            (Scheduling::Running, SampleKind::User),
            (Scheduling::Blocked, SampleKind::Blocked),
        ];
        let (scheduling, kind) = pick(&mut random, &schedulings);
        test.sum(
            thread,
            slice,
            thread_state,
            scheduling,
            1 + random.u64(..1 << 30),
        );
        for _ in 0..1 + random.u64(..5) {
            let stack = pick(&mut random, &[WORK, SPIN, "work main _start", "R:?+1"]);
            test.sample(thread, slice, thread_state, kind, stack);
        }
    }
    test
}

#[test]
fn each_stack_has_as_much_of_a_group_as_it_has_of_its_samples() {
    type Group = (ThreadId, u32, ThreadStateId, Scheduling);
    for seed in 1..100 {
        let test = sampled(seed);
        let mut times = BTreeMap::<Group, u64>::new();
        for sum in test.sums.iter() {
            let group = (sum.thread, sum.slice, sum.thread_state, sum.scheduling);
            *times.entry(group).or_default() += sum.time.0;
        }
        let group = |sample: &Sample| {
            let slice = (sample.time.0 / SLICE.0) as u32;
            let scheduling = sample.kind.scheduling();
            (sample.thread, slice, sample.thread_state, scheduling)
        };
        let profile = test.profile(ViewMode::Machine);
        for item in &profile.items {
            let of_item = (item.thread, item.slice, item.thread_state, item.scheduling);
            let all = test.samples.iter().filter(|it| group(it) == of_item);
            let here = all.clone().filter(|it| it.stack == item.stack);
            let part = here.count() as f64 / all.count() as f64;
            let expected = times[&of_item] as f64 / 1e9 * part;
            assert!(
                (item.seconds - expected).abs() <= 1e-9 && !item.inferred,
                "seed {seed}: {item:?}, expected {expected}"
            );
        }
        let items = profile.items.len();
        let mut stacks: Vec<_> = test
            .samples
            .iter()
            .map(|it| (group(it), it.stack))
            .collect();
        stacks.sort_unstable();
        stacks.dedup();
        assert_eq!(items, stacks.len(), "seed {seed}");
    }
}

#[test]
fn each_second_of_work_is_blamed_for_the_waiting_by_the_second_of_work_in_its_slice() {
    use crate::metrics::Metric;
    for seed in 1..100 {
        let test = sampled(seed);
        let profile = test.profile(ViewMode::User);
        let waits = [
            Metric::State(RefinedState::ImplicitBarrier),
            Metric::State(RefinedState::ExplicitBarrier),
            Metric::State(RefinedState::Idle),
            Metric::State(RefinedState::Lock),
            Metric::State(RefinedState::Critical),
            Metric::State(RefinedState::Ordered),
            Metric::State(RefinedState::Atomic),
        ];
        for slice in 0..3 {
            let items = profile.items.iter().filter(|item| item.slice == slice);
            let of = |metric: Metric| items.clone().map(|item| metric.value(item)).sum::<f64>();
            let waiting: f64 = waits.map(of).iter().sum();
            let working = of(Metric::OmpWork);
            for item in items.clone() {
                let expected = if working > 0.0 {
                    Metric::OmpWork.value(item) * waiting / working
                } else {
                    0.0
                };
                let blame = item.blame;
                assert!(
                    (blame - expected).abs() <= 1e-6 * (1.0 + expected),
                    "seed {seed}: {blame}, expected {expected}"
                );
            }
        }
    }
}
