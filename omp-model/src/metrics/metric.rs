//! The metrics: the time that each one counts, and those for which an experiment has data.

use experiment::header::Sampling;

use crate::profile::{Item, RefinedState};

/// A kind of time. All are in seconds of thread time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Metric {
    /// A thread's lifetime within the experiment.
    Total,
    /// On a CPU.
    TotalCpu,
    /// On a CPU in user mode.
    User,
    /// On a CPU in the kernel.
    System,
    /// Switched out, for whatever reason.
    OffCpu,
    /// On a CPU, serial or at work in a region or task, overhead and reductions included.
    OmpWork,
    /// All other thread time: waiting (spinning or asleep), or switched out with work to do.
    OmpWait,
    /// Switched out with work to do: the part of [`Metric::OmpWait`] that is no OpenMP wait.
    OffCpuWork,
    /// On a CPU inside the runtime, not waiting: a part of [`Metric::OmpWork`].
    Overhead,
    /// On a CPU combining a reduction: a part of [`Metric::OmpWork`].
    Reduction,
    /// In an implicit barrier.
    ImplicitBarrier,
    /// In an explicit barrier.
    ExplicitBarrier,
    /// A worker between regions.
    Idle,
    /// Waiting for a lock.
    Lock,
    /// Waiting to enter a critical section.
    Critical,
    /// Waiting for an ordered section's turn.
    Ordered,
    /// Waiting in an atomic.
    Atomic,
    /// Waiting for tasks.
    Task,
    /// Waiting time of other threads, blamed on what the thread did meanwhile
    /// ([`crate::attribution`]). It is not part of the thread's own time.
    Blame,
}

/// A metric's names, and the time that it counts.
struct Definition {
    metric: Metric,
    /// The name in the command language.
    id: &'static str,
    /// The words of a heading.
    words: &'static str,
    /// Whether it has a meaning only in a program that uses OpenMP.
    is_openmp: bool,
    /// Whether an item's time counts.
    counts: fn(&Item) -> bool,
}

const fn any(
    metric: Metric,
    id: &'static str,
    words: &'static str,
    counts: fn(&Item) -> bool,
) -> Definition {
    let is_openmp = false;
    Definition {
        metric,
        id,
        words,
        is_openmp,
        counts,
    }
}

const fn openmp(
    metric: Metric,
    id: &'static str,
    words: &'static str,
    counts: fn(&Item) -> bool,
) -> Definition {
    Definition {
        is_openmp: true,
        ..any(metric, id, words, counts)
    }
}

/// Every metric, in the order of its number, which is that of lists. Not formatted, to be read as a
/// table.
#[rustfmt::skip]
const DEFINITIONS: &[Definition] = &[
    any(Metric::Total, "total", "Total Thread", |_| true),
    any(Metric::TotalCpu, "totalcpu", "Total CPU", Item::is_on_cpu),
    any(Metric::User, "user", "User CPU", |item| item.is_on_cpu() && !item.kernel),
    any(Metric::System, "system", "System CPU", |item| item.is_on_cpu() && item.kernel),
    any(Metric::OffCpu, "offcpu", "Off-CPU", |item| !item.is_on_cpu()),
    openmp(Metric::OmpWork, "ompwork", "OMP Work", |item| item.is_on_cpu() && item.state.can_work()),
    openmp(Metric::OmpWait, "ompwait", "OMP Wait", |item| !(item.is_on_cpu() && item.state.can_work())),
    openmp(Metric::OffCpuWork, "offcpuwork", "Off-CPU Work", |item| !item.is_on_cpu() && item.state.can_work()),
    openmp(Metric::Overhead, "ompovhd", "OMP Overhead", |item| item.is_on_cpu() && item.state == RefinedState::Overhead),
    openmp(Metric::Reduction, "omprduc", "OMP Reduction", |item| item.is_on_cpu() && item.state == RefinedState::Reduction),
    openmp(Metric::ImplicitBarrier, "ompibar", "OMP Implicit Barrier", |item| item.state == RefinedState::ImplicitBarrier),
    openmp(Metric::ExplicitBarrier, "ompebar", "OMP Explicit Barrier", |item| item.state == RefinedState::ExplicitBarrier),
    openmp(Metric::Idle, "ompidle", "OMP Idle", |item| item.state == RefinedState::Idle),
    openmp(Metric::Lock, "omplkwt", "OMP Lock Wait", |item| item.state == RefinedState::Lock),
    openmp(Metric::Critical, "ompctwt", "OMP Critical Wait", |item| item.state == RefinedState::Critical),
    openmp(Metric::Ordered, "ompodwt", "OMP Ordered Wait", |item| item.state == RefinedState::Ordered),
    openmp(Metric::Atomic, "ompatwt", "OMP Atomic Wait", |item| item.state == RefinedState::Atomic),
    openmp(Metric::Task, "omptskwt", "OMP Task Wait", |item| item.state == RefinedState::Task),
    openmp(Metric::Blame, "blame", "OMP Blame", |_| false),
];

impl Metric {
    /// Every metric, in the order of lists.
    pub const ALL: [Metric; DEFINITIONS.len()] = {
        let mut all = [Metric::Total; DEFINITIONS.len()];
        let mut at = 0;
        while at < all.len() {
            all[at] = DEFINITIONS[at].metric;
            assert!(
                all[at] as usize == at,
                "the table is in the order of numbers"
            );
            at += 1;
        }
        all
    };

    const fn definition(self) -> &'static Definition {
        &DEFINITIONS[self as usize]
    }

    /// The name in the command language.
    pub const fn id(self) -> &'static str {
        self.definition().id
    }

    /// The words of a heading; a title adds `Time`.
    pub const fn words(self) -> &'static str {
        self.definition().words
    }

    /// The full name: `OMP Work Time`.
    pub fn label(self) -> String {
        format!("{} Time", self.words())
    }

    /// Whether it has a meaning only in a program that uses OpenMP.
    pub const fn is_openmp(self) -> bool {
        self.definition().is_openmp
    }

    /// Whether an item's own time counts. Blame is not its own time.
    pub fn counts(self, item: &Item) -> bool {
        (self.definition().counts)(item)
    }

    /// Seconds of an item.
    pub fn seconds(self, item: &Item) -> f64 {
        match self {
            Metric::Blame => item.blame,
            _ if self.counts(item) => item.seconds,
            _ => 0.0,
        }
    }
}

/// The metrics for which an experiment has data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Available {
    metrics: Vec<Metric>,
}

impl Available {
    /// The metrics by how the program was sampled and whether it used OpenMP. Without
    /// context-switch records, off-CPU time is unknown; without samples from the kernel, system
    /// time is.
    pub fn new(sampling: &Sampling, openmp: bool) -> Available {
        let metrics = Metric::ALL
            .into_iter()
            .filter(|metric| match metric {
                Metric::User | Metric::System => {
                    !sampling.event.is_empty() && sampling.kernel_frames
                }
                Metric::OffCpu | Metric::OffCpuWork => {
                    (sampling.switches || sampling.off_cpu_inferred)
                        && (openmp || !metric.is_openmp())
                }
                metric => openmp || !metric.is_openmp(),
            })
            .collect();
        Available { metrics }
    }

    /// The metrics, in the order of lists.
    pub fn metrics(&self) -> &[Metric] {
        &self.metrics
    }

    /// Whether the experiment has the metric.
    pub fn has(&self, metric: Metric) -> bool {
        self.metrics.contains(&metric)
    }

    /// Whether the program used OpenMP.
    pub fn openmp(&self) -> bool {
        self.has(Metric::OmpWork)
    }

    /// The default list of tables, as the user would type it.
    pub fn default_spec(&self) -> String {
        if self.openmp() {
            return "e.%ompwork:i.%ompwork:e.%ompwait:i.%ompwait:name".to_owned();
        }
        let mut spec = "e.%total:i.%total".to_owned();
        let on_cpu = if self.has(Metric::System) {
            [Metric::User, Metric::System].as_slice()
        } else {
            &[Metric::TotalCpu]
        };
        for part in on_cpu.iter().chain(&[Metric::OffCpu]) {
            if self.has(*part) {
                spec.push_str(&format!(":e.{}", part.id()));
            }
        }
        spec + ":name"
    }
}
