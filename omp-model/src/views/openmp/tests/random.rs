//! Invariants of sums, checked on runs generated from a seed.

use experiment::ids::ContextId;
use experiment::rows::{Blame, Sum};
use experiment::state::{Scheduling, State};
use experiment::tables::ContextKind;
use fastrand::Rng;

use super::super::efficiency::{Efficiency, efficiency};
use super::super::regions::regions;
use super::super::test_run::{MS, TestRun};
use crate::filter;
use crate::metrics::Metric;
use crate::profile::Profile;
use crate::states::RefinedState;
use crate::views::indexes;

const INSIDE: [State; 9] = [
    State::Work,
    State::Overhead,
    State::ImplicitBarrier,
    State::ExplicitBarrier,
    State::Critical,
    State::Ordered,
    State::Atomic,
    State::TaskWait,
    State::Reduction,
];

/// Serial code and regions in turn, some with a nested region on the first thread. Every thread is
/// in the same region for the same time, in any state.
fn random(seed: u64) -> TestRun {
    let mut random = Rng::with_seed(seed);
    let threads = 2 + random.u64(..3) as u32;
    let mut test = TestRun::new(threads, 0);
    for phase in 0..1 + random.u64(..6) {
        let serial = random.u64(..700);
        test.run(0, State::Serial, ContextId::ROOT, serial);
        for thread in 1..threads {
            test.run(thread, State::Idle, ContextId::ROOT, serial);
        }
        let region = test.construct(ContextId::ROOT, ContextKind::Region, 0x40 + phase % 3);
        let length = 1 + random.u64(..900);
        let mut work = vec![0; threads as usize];
        for thread in 0..threads {
            let mut left = length;
            if thread == 0 && random.u64(..2) == 0 {
                // A nested team of one.
                let inner = test.construct(region, ContextKind::Region, 0x80);
                let part = random.u64(..left + 1);
                test.run(0, State::Work, inner, part);
                test.instance(inner, 0, part, &[part]);
                work[0] += part;
                left -= part;
            }
            while left > 0 {
                let part = 1 + random.u64(..left);
                let state = INSIDE[random.u64(..9) as usize];
                let scheduling = match random.u64(..4) {
                    0 => Scheduling::Preempted,
                    _ => Scheduling::Running,
                };
                test.be(thread, (state, scheduling), region, part);
                if state == State::Work && scheduling == Scheduling::Running {
                    work[thread as usize] += part;
                }
                left -= part;
            }
        }
        test.instance(region, 0, length, &work);
    }
    test.end = test.at[0];
    for thread in &mut test.tables.threads {
        thread.death = Some(experiment::ids::Nanos(test.end * MS));
    }
    test
}

#[track_caller]
fn close(left: f64, right: f64, seed: u64) {
    let scale = 1.0_f64.max(left.abs());
    assert!(
        (left - right).abs() < 1e-9 * scale,
        "seed {seed}: {left} is not {right}"
    );
}

fn children_sum_up(node: &Efficiency, seed: u64) {
    assert!(
        (-1e-9..=1.0 + 1e-9).contains(&node.loss),
        "seed {seed}: {node:?}"
    );
    if !node.children.is_empty() {
        let sum = node.children.iter().map(|child| child.loss).sum();
        close(node.loss, sum, seed);
    }
    for child in &node.children {
        children_sum_up(child, seed);
    }
}

#[test]
fn the_sums_hold() {
    for seed in 0..300 {
        let test = random(seed);
        let (profile, names, measured) = (test.profile(), test.names(), test.measured());
        let rows = regions(&profile, &names, &measured);
        let total: f64 = profile.items.iter().map(|item| item.seconds).sum();
        let outside = |state: &[RefinedState]| -> f64 {
            let outside = profile
                .items
                .iter()
                .filter(|item| item.context == ContextId::ROOT && state.contains(&item.state));
            outside.map(|item| item.seconds).sum()
        };
        // Regions, serial code and idle time add up to all time.
        let exclusive: f64 = rows.iter().map(|row| row.exclusive[0]).sum();
        let rest = outside(&[RefinedState::Serial, RefinedState::Idle]);
        close(exclusive + rest, total, seed);
        for row in &rows {
            // The parts of the gain add up to the gain.
            let useful: f64 = row.work.iter().map(|(_, seconds)| seconds).sum();
            let team = f64::from(row.threads);
            close(row.own.total(), row.own.elapsed - useful / team, seed);
            assert!(
                row.own.parts.iter().all(|&part| part > -1e-9),
                "seed {seed}"
            );
            assert!(row.whole.total() <= row.whole.elapsed + 1e-9, "seed {seed}");
            assert!(row.load_balance() <= 1.0 + 1e-9, "seed {seed}");
            let waits: f64 = [Metric::OmpWork, Metric::OmpWait]
                .map(|it| row.time(it))
                .iter()
                .sum();
            close(waits, row.time(Metric::Total), seed);
        }
        // The gains of outermost regions add up to the loss inside regions.
        let Some(run) = efficiency(&profile, &test.tables, &measured, &rows) else {
            continue;
        };
        children_sum_up(&run.efficiency, seed);
        let useful = profile.items.iter().filter(|item| {
            item.scheduling == Scheduling::Running
                && matches!(item.state, RefinedState::Work | RefinedState::Serial)
        });
        let useful: f64 = useful.map(|item| item.seconds).sum();
        close(
            run.efficiency.value(),
            useful / (run.wall * run.threads as f64),
            seed,
        );
    }
}

#[test]
fn blame_is_the_waiting_of_seconds_in_which_someone_worked() {
    for seed in 0..300 {
        let mut test = random(seed);
        // Some intervals are too short to be listed.
        let mut choice = Rng::with_seed(seed);
        test.intervals.retain(|_| choice.u64(..3) > 0);
        // Some work is charged blame, occasionally more than any thread waited.
        let blame = |sum: Sum| Blame {
            slice: sum.slice,
            thread: sum.thread,
            thread_state: sum.thread_state,
            scheduling: sum.scheduling,
            time: sum.time,
        };
        for sum in test.sums.iter() {
            let thread_state = test.tables.thread_states.get(sum.thread_state.0).unwrap();
            if thread_state.state == State::Work && choice.u64(..4) == 0 {
                test.blames.push(blame(sum));
            }
        }
        let profile = test.profile();
        let slices = profile
            .items
            .iter()
            .map(|item| item.slice)
            .max()
            .unwrap_or(0);
        for slice in 0..=slices {
            let items = || profile.items.iter().filter(|item| item.slice == slice);
            let blame: f64 = items().map(|item| item.blame).sum();
            let sum = |metrics: &[Metric]| -> f64 {
                let of = |metric: &Metric| items().map(|item| metric.value(item)).sum::<f64>();
                metrics.iter().map(of).sum()
            };
            let waits = sum(&[
                Metric::State(RefinedState::Idle),
                Metric::State(RefinedState::ImplicitBarrier),
                Metric::State(RefinedState::ExplicitBarrier),
            ]);
            let contends = sum(&[
                Metric::State(RefinedState::Lock),
                Metric::State(RefinedState::Critical),
                Metric::State(RefinedState::Ordered),
                Metric::State(RefinedState::Atomic),
            ]);
            let blames = test.blames.iter().filter(|blame| blame.slice == slice);
            let blamed: f64 = blames.map(|blame| blame.time.0 as f64 / 1e9).sum();
            let worked = items().any(|item| Metric::OmpWork.value(item) > 0.0);
            let expected = if worked {
                waits + contends
            } else {
                contends.min(blamed)
            };
            close(blame, expected, seed);
            assert!(items().all(|item| item.blame > -1e-9), "seed {seed}");
        }
    }
}

fn values(test: &TestRun, profile: &Profile, expression: &str) -> Vec<filter::Parts> {
    let source = filter::Source {
        names: &test.names(),
        intervals: &test.intervals,
        experiments: &[],
        recordings: &[],
        marks: Box::leak(Box::default()),
    };
    let expression = filter::Filter::parse(expression).unwrap();
    filter::values(&expression, profile, &source, [])
}

#[test]
fn every_index_adds_up_to_the_total() {
    let metrics = [
        Metric::Total,
        Metric::OmpWork,
        Metric::OmpWait,
        Metric::Blame,
    ];
    for seed in 0..50 {
        let test = random(seed);
        let profile = test.profile();
        let kinds = [
            indexes::seconds(&profile, &metrics),
            indexes::processes(&profile, &test.tables, &metrics),
            indexes::experiments(&profile, &[], &metrics),
            indexes::cpus(&profile, &filter::on_cpus(&profile, None, []), &metrics),
            indexes::defined(
                &profile,
                &values(&test, &profile, "OMPSTATE * 2 + THRID"),
                &metrics,
            ),
            indexes::defined(
                &profile,
                &values(&test, &profile, "TSTAMP / 300000000"),
                &metrics,
            ),
        ];
        for rows in kinds {
            for (at, metric) in metrics.iter().enumerate() {
                let total: f64 = profile.items.iter().map(|item| metric.value(item)).sum();
                close(rows.iter().map(|row| row.seconds[at]).sum(), total, seed);
            }
        }
    }
}
