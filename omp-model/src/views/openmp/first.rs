//! The first look at a run: what to do first, what became of its wall time, and whether its
//! threads had CPUs at all.

use super::Measured;
use super::advice::{CROWDED as NO_CPU, LEAST, Loss, losses};
use super::budget::{Budget, ready};
use super::efficiency::{Run, efficiency};
use super::regions::RegionRow;
use super::spins::Spins;
use crate::profile::Profile;
use crate::views::names::Names;

/// From this share of the thread time on, a machine is too crowded for what is measured on it.
const CROWDED: f64 = 0.1;

/// A part of the wall time that is less than this share of it is not worth a line.
const WORTH_A_LINE: f64 = 5e-4;

/// The losses of a run and its efficiencies.
#[derive(Clone, Debug)]
pub struct First {
    /// How well the threads were used.
    pub run: Run,
    /// What it was lost to, largest first.
    pub losses: Vec<Loss>,
    /// What became of the wall time; `None` for several processes.
    pub budget: Option<Budget>,
    /// Seconds of thread time, and what of it threads were ready to run and had no CPU for.
    pub ready: (f64, f64),
    /// CPUs of the machine.
    pub cpus: u32,
    /// Waiting that counts as work; `None` where there is next to none.
    pub spins: Option<Spins>,
}

impl First {
    /// Of a whole run in user mode, of which `regions` are the regions; `None` without OpenMP.
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
            budget: Budget::of(&run, regions, names.tables),
            ready: ready(profile, names.tables),
            cpus,
            spins: Spins::of(profile, names),
            run,
        })
    }

    /// What comes before every other advice, in sentences: what every time below has in it.
    pub fn before(&self) -> impl Iterator<Item = String> {
        let spins = self.spins.as_ref().map(Spins::words);
        self.crowd().into_iter().chain(spins)
    }

    /// Threads that find no CPU.
    fn crowd(&self) -> Option<String> {
        let (all, ready) = self.ready;
        if all <= 0.0 || ready < CROWDED * all {
            return None;
        }
        let (who, hint) = match self.run.threads > self.cpus as usize {
            true => (
                format!("{} threads had {} CPUs", self.run.threads, self.cpus),
                "use no more threads than CPUs (OMP_NUM_THREADS)",
            ),
            false => (
                "other programs had the CPUs".to_owned(),
                "measure on a machine that is idle, or with fewer threads",
            ),
        };
        Some(format!(
            "The machine was crowded: {who}, and threads were ready to run for {ready:.3} s of \
             {all:.3} s ({:.1} %) without one; {hint}: every time below has this in it",
            100.0 * ready / all
        ))
    }

    /// What is said where there is no loss.
    pub fn nothing() -> String {
        let least = 100.0 * LEAST;
        format!("Nothing stands out: no loss takes {least:.0} % of the run")
    }

    /// What to do about a loss; nothing where that was said of the whole run.
    pub fn hint<'a>(&self, loss: &'a Loss) -> Option<&'a str> {
        (loss.hint != NO_CPU || self.crowd().is_none()).then_some(&*loss.hint)
    }

    /// The parts of the wall time that are worth a line: words, seconds, percent.
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
