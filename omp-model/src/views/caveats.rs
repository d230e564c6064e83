//! What a reader must know of a run before any of its numbers: it was killed, it was recorded in part,
//! or its threads had to wait for CPUs.

use experiment::{Experiment, Warning};

use super::openmp::Measured;
use super::openmp::crowd::Crowd;

/// Something that sets a run apart from a whole and undisturbed one.
#[derive(Clone, Debug, PartialEq)]
pub enum Caveat {
    /// A signal killed the program.
    Killed {
        /// Its name.
        signal: String,
        /// The time of the end in seconds.
        seconds: f64,
    },
    /// The recording ended before the program did, or nobody knows whether it did.
    Partial {
        /// Why, as a clause; `None` if the recorder itself was killed.
        why: Option<String>,
    },
    /// Regions were not over when their process ended.
    Open {
        /// Their number.
        regions: u64,
    },
    /// `collect -r` checked the run and took no samples.
    Checked {
        /// What of the program was not checked, as a sentence.
        shortfall: Option<String>,
    },
    /// Recording was paused.
    Paused {
        /// For so long, in seconds.
        seconds: f64,
    },
    /// The program ran already when the recording began.
    Attached,
    /// Threads were ready to run without a CPU.
    Crowded {
        /// For so long, in seconds.
        ready: f64,
        /// Of so many seconds of thread time.
        all: f64,
        /// Whether that is inferred, because switches could not be recorded.
        inferred: bool,
    },
}

impl Caveat {
    /// The caveats of a run.
    pub fn of(experiment: &Experiment) -> Vec<Caveat> {
        let header = &experiment.header;
        let mut found = Vec::new();
        if let Some(signal) = &header.killed_by {
            found.push(Caveat::Killed {
                signal: signal.clone(),
                seconds: experiment.duration().seconds(),
            });
        }
        let regions = header.losses.regions_open;
        if regions > 0 && found.is_empty() && is_whole(experiment) && !header.attached {
            found.push(Caveat::Open { regions });
        }
        if let Some(findings) = &experiment.findings
            && experiment.samples.is_empty()
        {
            let shortfall = findings.coverage.shortfall();
            found.push(Caveat::Checked { shortfall });
        }
        if header.paused_ns > 0 {
            let seconds = header.paused_ns as f64 / 1e9;
            found.push(Caveat::Paused { seconds });
        }
        if header.attached {
            found.push(Caveat::Attached);
        }
        if !is_whole(experiment) {
            let why = header.stopped.as_ref().or(header.limit.as_ref());
            found.push(Caveat::Partial { why: why.cloned() });
        }
        let crowd = Crowd::of(&experiment.tables, &Measured::of(experiment));
        if crowd.is_large() {
            found.push(Caveat::Crowded {
                ready: crowd.ready,
                all: crowd.all,
                inferred: header.sampling.off_cpu_inferred,
            });
        }
        found
    }

    /// The key in JSON.
    pub const fn id(&self) -> &'static str {
        match self {
            Caveat::Killed { .. } => "killed",
            Caveat::Partial { .. } => "partial",
            Caveat::Open { .. } => "open",
            Caveat::Checked { .. } => "checked",
            Caveat::Paused { .. } => "paused",
            Caveat::Attached => "attached",
            Caveat::Crowded { .. } => "crowded",
        }
    }

    /// What happened, as a clause behind "the run was".
    pub fn words(&self) -> String {
        match self {
            Caveat::Killed { signal, seconds } => format!(
                "killed by {signal} after {seconds:.3} s (not known: loops and regions that had not ended)"
            ),
            Caveat::Open { regions } => {
                let inside = match regions {
                    1 => "a parallel region".to_owned(),
                    regions => format!("{regions} parallel regions"),
                };
                format!(
                    "ended inside {inside} (a process exited, was killed or started another program; not \
                     known: loops and regions that had not ended)"
                )
            }
            Caveat::Checked { shortfall } => {
                let shortfall = shortfall.as_ref().map(|sentence| {
                    let (first, rest) = sentence.split_at(1);
                    format!("; {}{rest}", first.to_lowercase())
                });
                format!(
                    "checked and not sampled (-r; not known: times, regions, tasks, loops and locks{})",
                    shortfall.unwrap_or_default()
                )
            }
            Caveat::Paused { seconds } => format!(
                "paused for {seconds:.3} s (not known: what ended meanwhile, as loops)"
            ),
            Caveat::Partial { why: Some(why) } => {
                format!("recorded in part ({why})")
            }
            Caveat::Partial { why: None } => {
                "recorded in part (the recording has no end: collect was killed, or is still running)"
                    .to_owned()
            }
            Caveat::Attached => {
                "attached to while it ran (-P; not known: its regions, tasks, loops and locks)".to_owned()
            }
            Caveat::Crowded {
                ready,
                all,
                inferred,
            } => {
                let inferred = if *inferred { ", inferred" } else { "" };
                format!(
                    "crowded (threads waited for CPUs for {ready:.3} s of {all:.3} s, {:.1} %{inferred})",
                    100.0 * ready / all
                )
            }
        }
    }

    /// All of them in a line; `None` if there are none.
    pub fn line(all: &[Caveat]) -> Option<String> {
        let words: Vec<String> = all.iter().map(Caveat::words).collect();
        let [others @ .., last] = words.as_slice() else {
            return None;
        };
        Some(match others {
            [] => format!("The run was {last}"),
            others => format!("The run was {}, and {last}", others.join(", ")),
        })
    }
}

/// Whether the recording went on to the program's end.
pub(super) fn is_whole(experiment: &Experiment) -> bool {
    let header = &experiment.header;
    let mut warnings = experiment.warnings.iter();
    let is_unfinished = warnings.any(|it| matches!(it, Warning::Unfinished { .. }));
    header.stopped.is_none() && header.limit.is_none() && !is_unfinished
}
