//! The first view of a run: what to do first, how its wall time was used, and whether its threads
//! got CPUs.

use experiment::tables::Tables;

use super::Measured;
use super::advice::{LEAST, Loss, losses};
use super::budget::{Budget, ready};
use super::diagnosis::CROWDED as NO_CPU;
use super::efficiency::{Run, efficiency};
use super::regions::RegionRow;
use super::spins::Spins;
use crate::profile::Profile;
use crate::views::names::Names;

/// The share of thread time spent ready without a CPU from which the machine is too crowded for
/// reliable measurements.
const CROWDED: f64 = 0.1;

/// The smallest share of the wall time that gets a line.
const WORTH_A_LINE: f64 = 5e-4;

/// Time of OpenMP's threads, and how much of it they were ready to run without a CPU, in seconds, if
/// that is too much.
pub fn crowded(profile: &Profile, tables: &Tables) -> Option<(f64, f64)> {
    Some(ready(profile, tables)).filter(is_crowded)
}

fn is_crowded(&(all, ready): &(f64, f64)) -> bool {
    all > 0.0 && ready >= CROWDED * all
}

/// The losses of a run and its efficiencies.
#[derive(Clone, Debug)]
pub struct First {
    /// How well the threads were used.
    pub run: Run,
    /// The losses, largest first.
    pub losses: Vec<Loss>,
    /// How the wall time was used; `None` for several processes.
    pub budget: Option<Budget>,
    /// Seconds of thread time, and how many of them threads were ready to run without a CPU.
    pub ready: (f64, f64),
    /// CPUs of the machine.
    pub cpus: u32,
    /// Waiting that counts as work; `None` if it is negligible.
    pub spins: Option<Spins>,
}

impl First {
    /// The first view of an unfiltered run in user mode with the given `regions`; `None` without
    /// OpenMP.
    pub fn of(
        profile: &Profile,
        names: &Names<'_>,
        measured: &Measured<'_>,
        regions: &[RegionRow],
        cpus: u32,
    ) -> Option<First> {
        let run = efficiency(profile, names.tables, measured, regions)?;
        Some(First {
            losses: losses(profile, names, measured, regions, &run),
            budget: Budget::of(&run, regions),
            ready: ready(profile, names.tables),
            cpus,
            spins: Spins::of(profile, names),
            run,
        })
    }

    /// Sentences that precede all other advice, because they affect every time below.
    pub fn before(&self) -> impl Iterator<Item = String> {
        let spins = self.spins.as_ref().map(Spins::words);
        self.crowd().into_iter().chain(spins)
    }

    /// The sentence on threads that get no CPU.
    fn crowd(&self) -> Option<String> {
        let (all, ready) = Some(self.ready).filter(is_crowded)?;
        let (who, hint) = if self.run.threads > self.cpus as usize {
            (
                format!("{} threads had {} CPUs", self.run.threads, self.cpus),
                "use no more threads than CPUs (OMP_NUM_THREADS)",
            )
        } else {
            (
                "other programs had the CPUs".to_owned(),
                "measure on a machine that is idle, or with fewer threads",
            )
        };
        Some(format!(
            "The machine was crowded: {who}, and threads were ready to run for {ready:.3} s of \
             {all:.3} s ({:.1} %) without one; {hint}: every time below has this in it",
            100.0 * ready / all
        ))
    }

    /// The sentence for a run without losses.
    pub fn nothing() -> String {
        let least = 100.0 * LEAST;
        format!("Nothing stands out: no loss takes {least:.0} % of the run")
    }

    /// The hint for a loss; `None` if it was already given for the whole run.
    pub fn hint<'a>(&self, loss: &'a Loss) -> Option<&'a str> {
        (loss.hint != NO_CPU || self.crowd().is_none()).then_some(&*loss.hint)
    }

    /// The parts of the wall time that get a line: words, seconds, percent.
    pub fn parts(&self) -> Vec<(&'static str, f64, f64)> {
        let wall = self.run.wall;
        let parts = self.budget.map_or_else(Vec::new, |budget| budget.parts());
        parts
            .into_iter()
            .map(|(words, _, seconds)| (words, seconds, 100.0 * seconds / wall))
            .filter(|(.., percent)| *percent >= 100.0 * WORTH_A_LINE)
            .collect()
    }
}
