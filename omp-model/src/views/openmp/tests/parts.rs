//! The parts of a diagnosis add up to their whole, and say the same wherever they stand.

use experiment::ids::{ContextId, Nanos};
use experiment::tables::ThreadKind;

use super::super::advice::{LEAST, Loss, Reason};
use super::super::bars::Use;
use super::super::efficiency::Efficiency;
use super::super::first::First;
use super::super::gain::Cause;
use super::super::regions::{RegionRow, regions};
use super::super::test_run::{MS, TestRun};
use super::program::program;
use crate::metrics::Metric;
use crate::profile::{Profile, ViewMode};
use crate::states::RefinedState;

/// A program, and what the reports say of it.
struct Told {
    seed: u64,
    test: TestRun,
    profile: Profile,
    rows: Vec<RegionRow>,
    first: Option<First>,
}

fn told(seed: u64) -> Told {
    let test = program(seed);
    let profile = test.profile();
    let rows = regions(&profile, &test.names(), &test.measured());
    let first = First::of(&profile, &test.names(), &test.measured(), &rows, true);
    Told {
        seed,
        test,
        profile,
        rows,
        first,
    }
}

const ROUNDING: f64 = 1e-7;

impl Told {
    #[track_caller]
    fn close(&self, what: &str, left: f64, right: f64) {
        assert!(
            (left - right).abs() < ROUNDING,
            "seed {}: {what}: {left} is not {right}",
            self.seed
        );
    }

    /// The value is from 0 to `whole`.
    #[track_caller]
    fn part(&self, what: &str, value: f64, whole: f64) {
        assert!(
            (-ROUNDING..=whole + ROUNDING).contains(&value),
            "seed {}: {what}: {value} of {whole}",
            self.seed
        );
    }

    fn node(&self, node: &Efficiency) {
        self.part(node.id, node.loss, 1.0);
        if !node.children.is_empty() {
            let sum = node.children.iter().map(|child| child.loss).sum();
            self.close(node.id, node.loss, sum);
        }
        node.children.iter().for_each(|child| self.node(child));
    }
}

const SEEDS: u64 = 600;

fn find<'a>(node: &'a Efficiency, id: &str) -> Option<&'a Efficiency> {
    let below = || node.children.iter().find_map(|child| find(child, id));
    if node.id == id { Some(node) } else { below() }
}

/// `overview`: the wall time, the efficiencies and the advice.
#[test]
fn the_parts_of_the_overview_agree() {
    let mut alone = 0;
    for seed in 0..SEEDS {
        let told = told(seed);
        let Some(first) = &told.first else { continue };
        let run = &first.run;
        told.node(&run.efficiency);
        let loss = |id: &str| find(&run.efficiency, id).unwrap().loss;
        let threads = run.threads as f64;
        let lost: f64 = told.rows.iter().flat_map(|row| row.lost).sum();
        told.close(
            "regions",
            loss("omp_region") * run.wall * threads,
            lost + run.spent.no_team,
        );
        // The advice.
        let sum = |of: &dyn Fn(&Loss) -> bool| -> f64 {
            let losses = first.losses.iter().filter(|loss| of(loss));
            losses.map(|loss| loss.seconds).sum()
        };
        for loss in &first.losses {
            told.part("advice", loss.seconds, run.wall);
            told.close("share", loss.share * run.wall, loss.seconds);
        }
        let useful = run.efficiency.value() * run.wall;
        let leaves_useful = |loss: &Loss| !matches!(loss.reason, Reason::Memory | Reason::Atomics);
        told.part("advice in all", sum(&leaves_useful), run.wall - useful);
        // The bars: those of regions and serial code are parts of the run's, and all of it.
        let (all, others) = first.bars.split_first().unwrap();
        let whole = match run.processes {
            1 => run.wall,
            _ => run.wall * threads,
        };
        told.close("bars", all.seconds(), whole);
        for (what, seconds) in &all.parts {
            let sum = others.iter().map(|bar| bar.of_use(*what)).sum();
            told.close(what.words(), sum, *seconds);
        }
        for bar in &first.bars {
            for (what, seconds) in &bar.parts {
                told.part(what.words(), *seconds, whole);
            }
        }
        let Some(wall_time) = first.wall_time() else {
            continue;
        };
        alone += 1;
        let parts = wall_time.useful_and_lost();
        let all: f64 = parts.iter().map(|(.., seconds)| seconds).sum();
        told.close("wall time", all, run.wall);
        for (words, _, seconds) in &parts {
            told.part(words, *seconds, run.wall);
        }
        told.close("useful work", wall_time.useful(), useful);
        told.close(
            "no team",
            wall_time.of_use(Use::NoTeam),
            loss("no_team") * run.wall,
        );
        told.close(
            "serial",
            wall_time.of_use(Use::Serial),
            loss("serial") * run.wall,
        );
        told.close(
            "serial code not at work",
            wall_time.of_use(Use::SerialRuntime) + wall_time.of_use(Use::SerialOffCpu),
            loss("process_communication") * run.wall,
        );
        for cause in Cause::ALL {
            let advised = sum(&|loss| loss.reason == Reason::Region(cause));
            told.part("advised", advised, wall_time.of_use(Use::Lost(cause)));
        }
        let advised = sum(&|loss| loss.reason == Reason::NoTeam);
        told.part(
            "advised for no team",
            advised,
            wall_time.of_use(Use::NoTeam),
        );
        for (reason, part) in [
            (Reason::Serial, wall_time.of_use(Use::Serial)),
            (Reason::SerialRuntime, wall_time.of_use(Use::SerialRuntime)),
            (Reason::SerialOffCpu, wall_time.of_use(Use::SerialOffCpu)),
        ] {
            told.part(reason.words(), sum(&|loss| loss.reason == reason), part);
        }
        if first.losses.is_empty() && run.serial.is_some() {
            // Nothing stands out: no part is a loss of a hundredth.
            let part = |part: &f64| told.part("unadvised", *part, LEAST * run.wall);
            [
                wall_time.of_use(Use::Serial),
                wall_time.of_use(Use::SerialRuntime),
            ]
            .iter()
            .for_each(part);
        }
    }
    assert!(alone > SEEDS / 2, "{alone} programs have one process");
}

/// Threads in no team are idle: what is lost to them, to threads that come late and to serial code
/// is the time in which the threads were idle or did not exist.
#[test]
fn threads_in_no_team_are_idle() {
    let mut teams = 0;
    for seed in 0..SEEDS {
        let told = told(seed);
        let Some(first) = &told.first else { continue };
        let run = &first.run;
        let Some(serial) = run.serial.filter(|_| run.processes == 1) else {
            continue;
        };
        let threads = run.threads as f64;
        let (mut present, mut inside) = (0.0, 0.0);
        for item in &told.profile.items {
            let kind = told.test.tables.threads[item.thread.index()].kind;
            let outside = item.context == ContextId::ROOT;
            if kind == ThreadKind::Initial || (kind == ThreadKind::Worker && !outside) {
                present += item.seconds;
            }
            if kind == ThreadKind::Worker && outside && item.state == RefinedState::Idle {
                inside += item.seconds;
            }
        }
        let off = run.spent.serial_runtime + run.spent.serial_off_cpu;
        let late: f64 = told
            .rows
            .iter()
            .map(|row| {
                row.lost[Cause::Scheduling as usize]
                    - row.time(Metric::State(RefinedState::Overhead))
            })
            .sum();
        let idle = run.spent.no_team + run.spent.serial + off * (threads - 1.0) / threads + late;
        // The initial thread may end before the others, or begin after them.
        let initial = &told.test.tables.threads[serial.thread.index()];
        let end = initial.death.unwrap_or(Nanos(told.test.end * MS));
        let absent = run.wall - end.since(initial.birth).seconds();
        told.close("idle", idle + absent, run.wall * threads - present);
        assert!(idle + absent >= inside - ROUNDING, "seed {seed}");
        // Each region says what its own teams leave.
        let outermost: f64 = told.rows.iter().map(|row| row.outermost).sum();
        told.close("inside regions", outermost, serial.wall - serial.seconds);
        let left: f64 = told
            .rows
            .iter()
            .filter(|row| row.nesting == 1)
            .map(|row| threads * row.outermost - row.occupied)
            .sum();
        told.close("in no team", left, run.spent.no_team);
        teams += u32::from(run.spent.no_team > 0.01);
    }
    assert!(teams > 100, "{teams} programs have threads in no team");
}

/// `OMP_preg`: the gain by its causes, and the time of all threads in the region.
#[test]
fn the_parts_of_a_region_add_up() {
    let mut count = 0;
    for seed in 0..SEEDS {
        let told = told(seed);
        for row in &told.rows {
            count += 1;
            told.part("gain", row.own.total(), row.own.elapsed);
            told.part("inclusive gain", row.whole.total(), row.whole.elapsed);
            told.part("load balance", row.load_balance(), 1.0);
            for cause in Cause::ALL {
                told.part(cause.id(), row.own.part(cause), row.own.total());
                told.part("inclusive", row.whole.part(cause), row.whole.total());
                told.part("ready", row.ready[cause as usize], row.lost[cause as usize]);
            }
            told.part("uneven work", row.uneven, row.occupied);
            let time = |metric| row.time(metric);
            let total = time(Metric::Total);
            told.close(
                "work and wait",
                time(Metric::OmpWork) + time(Metric::OmpWait),
                total,
            );
            let waits = [
                Metric::State(RefinedState::ImplicitBarrier),
                Metric::State(RefinedState::ExplicitBarrier),
                Metric::State(RefinedState::Lock),
                Metric::State(RefinedState::Critical),
                Metric::State(RefinedState::Ordered),
                Metric::State(RefinedState::Atomic),
                Metric::State(RefinedState::Task),
                Metric::OffCpuWork,
            ];
            let waits = waits.map(time).iter().sum();
            told.close("waits", waits, time(Metric::OmpWait));
            let runtime = time(Metric::State(RefinedState::Overhead))
                + time(Metric::State(RefinedState::Reduction));
            told.part("runtime", runtime, time(Metric::OmpWork));
        }
    }
    assert!(count > 1_000, "{count} regions");
}

/// Both modes have the same times of every thread.
#[test]
fn user_mode_equals_machine_mode() {
    for seed in 0..SEEDS {
        let told = told(seed);
        let machine = told.test.profile_in(ViewMode::Machine);
        for thread in 0..told.test.tables.threads.len() {
            for metric in [Metric::Total, Metric::OmpWork, Metric::OmpWait] {
                let of = |profile: &Profile| -> f64 {
                    let items = profile.items.iter();
                    let items = items.filter(|item| item.thread.index() == thread);
                    items.map(|item| metric.value(item)).sum()
                };
                told.close(metric.id(), of(&told.profile), of(&machine));
            }
        }
    }
}
