//! How a run's wall time was used.

use super::efficiency::Run;
use super::gain::{Cause, Parts};
use super::regions::RegionRow;

/// Wall time of a run by use: seconds of all threads divided by the number of threads. The parts
/// add up to the wall time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Budget {
    /// Useful work.
    pub useful: f64,
    /// Inside regions: the loss to each cause.
    pub causes: Parts,
    /// Inside regions: threads in no team.
    pub no_team: f64,
    /// The other threads, while one thread ran serial code.
    pub serial: f64,
    /// All threads, while serial code was in the runtime.
    pub serial_runtime: f64,
    /// All threads, while serial code was off the CPU.
    pub serial_off_cpu: f64,
}

impl Budget {
    /// The budget of a run with one process; `None` for several, which do not share their wall
    /// time.
    pub fn of(run: &Run, regions: &[RegionRow]) -> Option<Budget> {
        if run.processes != 1 {
            return None;
        }
        let share = |seconds: f64| seconds / run.threads as f64;
        let mut causes = Parts::default();
        for row in regions {
            let parts = causes.iter_mut().zip(row.lost);
            parts.for_each(|(sum, part)| *sum += share(part));
        }
        Some(Budget {
            useful: share(run.spent.useful),
            causes,
            no_team: share(run.spent.no_team),
            serial: share(run.spent.serial),
            serial_runtime: share(run.spent.serial_runtime),
            serial_off_cpu: share(run.spent.serial_off_cpu),
        })
    }

    /// Each part with its key and words: useful work first, then the losses, largest first.
    pub fn parts(&self) -> Vec<(&'static str, &'static str, f64)> {
        let causes = Cause::ALL.into_iter().zip(self.causes);
        let mut parts: Vec<_> = causes
            .map(|(cause, seconds)| (cause.words(), cause.id(), seconds))
            .collect();
        parts.extend([
            (NO_TEAM, "no_team", self.no_team),
            (SERIAL_OTHERS, "serial", self.serial),
            (SERIAL_RUNTIME, "serial_runtime", self.serial_runtime),
            (SERIAL_OFF_CPU, "serial_offcpu", self.serial_off_cpu),
        ]);
        parts.sort_by(|left, right| right.2.total_cmp(&left.2));
        parts.insert(0, ("useful work", "useful", self.useful));
        parts
    }
}

/// Threads that are idle while their process is in a region.
pub(super) const NO_TEAM: &str = "threads in no team";
/// The other threads, while one thread runs serial code.
pub(super) const SERIAL_OTHERS: &str = "serial code, others idle";
pub(super) const SERIAL_RUNTIME: &str = "serial code in the runtime";
pub(super) const SERIAL_OFF_CPU: &str = "serial code off the CPU";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::views::openmp::test_run::{close, rows, run, unbalanced};

    /// The parts of the budget add up to the wall time.
    #[test]
    fn the_parts_of_the_wall_time_are_all_of_it() {
        let test = unbalanced();
        let run = run(&test);
        let budget = Budget::of(&run, &rows(&test)).unwrap();
        // 100 ms of serial code and 700 ms of work on four threads.
        close(budget.useful, 0.2);
        close(budget.serial, 0.075);
        close(budget.causes[Cause::Imbalance as usize], 0.225);
        close(budget.no_team, 0.0);
        close(budget.serial_runtime, 0.0);
        close(budget.serial_off_cpu, 0.0);
        let parts = budget.parts();
        close(parts.iter().map(|part| part.2).sum(), run.wall);
        assert_eq!(parts[0].1, "useful");
        assert_eq!(parts[1].1, "imbalance");
    }
}
