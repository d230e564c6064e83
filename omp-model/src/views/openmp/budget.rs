//! How a run's wall time was used, and whether its threads got CPUs.

use experiment::tables::{Tables, ThreadKind};

use super::efficiency::Run;
use super::gain::{Cause, Parts};
use super::regions::RegionRow;
use crate::profile::Profile;

/// Wall time of a run by use: seconds of all threads divided by the number of threads. The parts
/// add up to the wall time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Budget {
    /// Useful work.
    pub useful: f64,
    /// Inside regions: the loss to each cause.
    pub causes: Parts,
    /// The other threads, while one thread ran serial code.
    pub serial: f64,
    /// All threads, while serial code was off the CPU or in the runtime, and before the team
    /// existed.
    pub rest: f64,
}

impl Budget {
    /// The budget of a run with one process; `None` for several, which do not share their wall
    /// time.
    pub fn of(run: &Run, regions: &[RegionRow], tables: &Tables) -> Option<Budget> {
        let initial = |thread: &&experiment::tables::Thread| thread.kind == ThreadKind::Initial;
        if tables.threads.iter().filter(initial).count() != 1 {
            return None;
        }
        let mut causes = Parts::default();
        for row in regions {
            let parts = causes.iter_mut().zip(row.of_run);
            parts.for_each(|(sum, part)| *sum += part);
        }
        let useful = run.efficiency.value() * run.wall;
        let serial = run.serial.useful * (1.0 - 1.0 / run.threads as f64);
        let rest = run.wall - useful - serial - causes.iter().sum::<f64>();
        Some(Budget {
            useful,
            causes,
            serial,
            rest,
        })
    }

    /// Each part with its key and words: useful work first, then the losses, largest first.
    pub fn parts(&self) -> Vec<(&'static str, &'static str, f64)> {
        let causes = Cause::ALL.into_iter().zip(self.causes);
        let mut parts: Vec<_> = causes
            .map(|(cause, seconds)| (cause.words(), cause.id(), seconds))
            .collect();
        parts.push(("serial code, others idle", "serial", self.serial));
        parts.push(("serial code off the CPU", "serial_offcpu", self.rest));
        parts.sort_by(|left, right| right.2.total_cmp(&left.2));
        parts.insert(0, ("useful work", "useful", self.useful));
        parts
    }
}

/// Time of OpenMP's threads, and how much of it they were ready to run without a CPU, in seconds.
pub fn ready(profile: &Profile, tables: &Tables) -> (f64, f64) {
    let (mut all, mut ready) = (0.0, 0.0);
    for item in &profile.items {
        let thread = tables.threads.get(item.thread.index());
        if thread.is_some_and(|thread| thread.kind != ThreadKind::Outside) {
            all += item.seconds;
            if item.scheduling.wants_cpu() {
                ready += item.seconds;
            }
        }
    }
    (all, ready)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::views::openmp::test_run::{close, rows, run, unbalanced};

    /// The parts of the budget add up to the wall time.
    #[test]
    fn the_parts_of_the_wall_time_are_all_of_it() {
        let test = unbalanced();
        let run = run(&test);
        let budget = Budget::of(&run, &rows(&test), &test.tables).unwrap();
        // 100 ms of serial code and 700 ms of work on four threads.
        close(budget.useful, 0.2);
        close(budget.serial, 0.075);
        close(budget.causes[Cause::Imbalance as usize], 0.225);
        close(budget.rest, 0.0);
        let parts = budget.parts();
        close(parts.iter().map(|part| part.2).sum(), run.wall);
        assert_eq!(parts[0].1, "useful");
        assert_eq!(parts[1].1, "imbalance");
    }
}
