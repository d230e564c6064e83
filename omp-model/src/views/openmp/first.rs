//! The first view of a run: what to do first, how its wall time was used, and whether its threads
//! got CPUs.

use experiment::symbols::Contention;

use super::Measured;
use super::advice::{LEAST, Loss, losses};
use super::bars::{self, Bar, bars};
use super::contended::Contended;
use super::crowd::Crowd;
use super::diagnosis::CROWDED as NO_CPU;
use super::efficiency::{Run, efficiency};
use super::kernel_work::{KernelPart, kernel_work, reason_words};
use super::own_code::OwnCode;
use super::recorder::Recorder;
use super::regions::RegionRow;
use super::spins::Spins;
use crate::profile::Profile;
use crate::views::names::Names;

/// The smallest share of the wall time that gets a line.
const WORTH_A_LINE: f64 = 5e-4;

/// The smallest share of a run for which a reason to be in the kernel gets a line of its own.
const OF_KERNEL: f64 = 0.005;

/// The least part of a loss without a CPU that makes a range of its gain.
const UNSURE: f64 = 0.05;

/// How many regions have a bar of their own.
const BARS: usize = 5;

/// The losses of a run and its efficiencies.
#[derive(Clone, Debug)]
pub struct First {
    /// How well the threads were used.
    pub run: Run,
    /// The losses, largest first.
    pub losses: Vec<Loss>,
    /// What the time went to: of the run, then of its regions and serial code.
    pub bars: Vec<Bar>,
    /// Useful work in the kernel, by the reason of entry; `None` where the kernel could not be
    /// sampled.
    pub kernel: Option<Vec<KernelPart>>,
    /// How long threads were ready to run without a CPU.
    pub crowd: Crowd,
    /// CPUs that the run could use.
    pub cpus: u32,
    /// Waiting that counts as work; `None` if it is negligible.
    pub spins: Option<Spins>,
    /// Stores to elements side by side; `None` if they take little.
    pub neighbours: Option<Contended>,
    /// What the recording took; `None` if that is little.
    pub recorder: Option<Recorder>,
}

impl First {
    /// The first view of an unfiltered run in user mode with the given `regions`; `None` without
    /// OpenMP. `kernel`: whether samples tell the kernel's time.
    pub fn of(
        profile: &Profile,
        names: &Names<'_>,
        measured: &Measured<'_>,
        regions: &[RegionRow],
        kernel: bool,
    ) -> Option<First> {
        let run = efficiency(profile, names.tables, measured, regions)?;
        let kernel = kernel.then(|| kernel_work(profile, names));
        let parts = kernel.as_deref().unwrap_or_default();
        let crowd = Crowd::of(names.tables, measured);
        let mut losses = losses(profile, names, measured, regions, (&run, &crowd), parts);
        for loss in losses.iter_mut().filter(|loss| loss.hint == NO_CPU) {
            loss.hint = crowd.hint().to_owned();
        }
        let own = OwnCode::of(profile, names);
        let kind = (Contention::Neighbours, &own);
        let neighbours = Contended::of(profile, names, &run, kind);
        Some(First {
            losses,
            bars: bars(&run, regions),
            kernel,
            crowd,
            cpus: measured.cpus.all,
            spins: Spins::of(profile, names),
            neighbours: neighbours.filter(Contended::is_large),
            recorder: Recorder::of(profile, names.tables),
            run,
        })
    }

    /// Sentences that precede all other advice, because they affect every time below.
    pub fn before(&self) -> impl Iterator<Item = String> {
        let spins = self.spins.as_ref().map(Spins::words);
        let run = &self.run;
        let few_cpus = (run.at_once < run.threads).then(|| {
            let cpus = match run.at_once {
                1 => "one CPU".to_owned(),
                several => format!("{several} CPUs"),
            };
            format!(
                "{} threads had {cpus}: what is said to be lost below is what {cpus} could save",
                run.threads
            )
        });
        let crowd = self.crowd.words();
        let recorder = self.recorder.as_ref().map(Recorder::words);
        crowd
            .into_iter()
            .chain(few_cpus)
            .chain(recorder)
            .chain(spins)
            .chain(self.neighbours.as_ref().map(Contended::hint))
    }

    /// How the wall time was used; `None` for several processes, which share none.
    pub fn wall_time(&self) -> Option<&Bar> {
        self.bars.first().filter(|_| self.run.processes == 1)
    }

    /// The bars that a picture has room for.
    pub fn shown_bars(&self) -> Vec<Bar> {
        bars::folded(&self.bars, BARS)
    }

    /// The sentence for a run without losses.
    pub fn nothing() -> String {
        let least = 100.0 * LEAST;
        format!("Nothing stands out: no loss takes {least:.0} % of the run")
    }

    /// The hint for a loss; `None` if it was already given for the whole run.
    pub fn hint<'a>(&self, loss: &'a Loss) -> Option<&'a str> {
        let given = self.crowd.is_large() && loss.hint == self.crowd.hint();
        (!given).then_some(&*loss.hint)
    }

    /// How much faster the run could be without a loss, in words.
    pub fn gain(&self, loss: &Loss) -> String {
        let most = self.run.without(loss.seconds);
        if loss.ready < UNSURE * loss.seconds {
            return format!("without it up to {most:.2} times as fast");
        }
        let least = self.run.without(loss.seconds - loss.ready);
        format!(
            "without it {least:.2} to {most:.2} times as fast: for {:.0} % of it threads had no CPU",
            100.0 * loss.ready / loss.seconds
        )
    }

    /// The parts of the wall time that get a line: depth, words, seconds, percent. Under the useful
    /// work stand its parts in user code and in the kernel.
    pub fn parts(&self) -> Vec<(u32, String, f64, f64)> {
        let wall = self.run.wall;
        let mut parts: Vec<(u32, String, f64)> = Vec::new();
        for (words, id, seconds) in self
            .wall_time()
            .map(Bar::useful_and_lost)
            .unwrap_or_default()
        {
            parts.push((0, words.to_owned(), seconds));
            if id == "useful" {
                parts.extend(self.useful_parts(seconds));
            }
        }
        parts
            .into_iter()
            .map(|(depth, words, seconds)| (depth, words, seconds, 100.0 * seconds / wall))
            .filter(|(.., percent)| *percent >= 100.0 * WORTH_A_LINE)
            .collect()
    }

    /// Useful work of `useful` wall seconds in user code and in the kernel: its large parts, and the
    /// rest of them.
    fn useful_parts(&self, useful: f64) -> Vec<(u32, String, f64)> {
        let wall = |seconds: f64| seconds / self.run.threads as f64;
        let kernel = self.kernel.as_deref().unwrap_or_default();
        let in_kernel = wall(kernel.iter().map(|part| part.seconds).sum());
        if in_kernel < WORTH_A_LINE * self.run.wall {
            return Vec::new();
        }
        let large = |part: &&KernelPart| wall(part.seconds) >= OF_KERNEL * self.run.wall;
        let told: Vec<(u32, String, f64)> = kernel
            .iter()
            .filter(large)
            .map(|part| {
                let words = reason_words(&part.reason).to_owned();
                (2, words, wall(part.seconds))
            })
            .collect();
        let rest = in_kernel - told.iter().map(|part| part.2).sum::<f64>();
        [
            (1, "user code".to_owned(), useful - in_kernel),
            (1, "kernel, by samples".to_owned(), in_kernel),
        ]
        .into_iter()
        .chain(told)
        .chain([(2, "other reasons".to_owned(), rest)])
        .collect()
    }
}
