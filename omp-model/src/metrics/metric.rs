//! The metrics: which time each one counts, and what a recording has data for.

use crate::profile::{Item, Shown};
use experiment::header::Sampling;
use experiment::state::Presence;

/// A kind of time. All are in seconds of thread time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Metric {
    /// A thread's lifetime inside the recording.
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
    /// The others' idle and barrier time, charged to what the thread did meanwhile
    /// ([`crate::attribution`]): no part of its own time.
    Blame,
}

impl Metric {
    /// Every metric, in the order of lists.
    pub const ALL: [Metric; 19] = [
        Metric::Total,
        Metric::TotalCpu,
        Metric::User,
        Metric::System,
        Metric::OffCpu,
        Metric::OmpWork,
        Metric::OmpWait,
        Metric::OffCpuWork,
        Metric::Overhead,
        Metric::Reduction,
        Metric::ImplicitBarrier,
        Metric::ExplicitBarrier,
        Metric::Idle,
        Metric::Lock,
        Metric::Critical,
        Metric::Ordered,
        Metric::Atomic,
        Metric::Task,
        Metric::Blame,
    ];

    /// The name in the command language.
    pub const fn id(self) -> &'static str {
        match self {
            Metric::Total => "total",
            Metric::TotalCpu => "totalcpu",
            Metric::User => "user",
            Metric::System => "system",
            Metric::OffCpu => "offcpu",
            Metric::OmpWork => "ompwork",
            Metric::OmpWait => "ompwait",
            Metric::OffCpuWork => "offcpuwork",
            Metric::Overhead => "ompovhd",
            Metric::Reduction => "omprduc",
            Metric::ImplicitBarrier => "ompibar",
            Metric::ExplicitBarrier => "ompebar",
            Metric::Idle => "ompidle",
            Metric::Lock => "omplkwt",
            Metric::Critical => "ompctwt",
            Metric::Ordered => "ompodwt",
            Metric::Atomic => "ompatwt",
            Metric::Task => "omptskwt",
            Metric::Blame => "blame",
        }
    }

    /// The words of a heading; a title adds `Time`.
    pub const fn words(self) -> &'static str {
        match self {
            Metric::Total => "Total Thread",
            Metric::TotalCpu => "Total CPU",
            Metric::User => "User CPU",
            Metric::System => "System CPU",
            Metric::OffCpu => "Off-CPU",
            Metric::OmpWork => "OMP Work",
            Metric::OmpWait => "OMP Wait",
            Metric::OffCpuWork => "Off-CPU Work",
            Metric::Overhead => "OMP Overhead",
            Metric::Reduction => "OMP Reduction",
            Metric::ImplicitBarrier => "OMP Implicit Barrier",
            Metric::ExplicitBarrier => "OMP Explicit Barrier",
            Metric::Idle => "OMP Idle",
            Metric::Lock => "OMP Lock Wait",
            Metric::Critical => "OMP Critical Wait",
            Metric::Ordered => "OMP Ordered Wait",
            Metric::Atomic => "OMP Atomic Wait",
            Metric::Task => "OMP Task Wait",
            Metric::Blame => "OMP Blame",
        }
    }

    /// The full name: `OMP Work Time`.
    pub fn label(self) -> String {
        format!("{} Time", self.words())
    }

    /// Whether it means anything only in a program that uses OpenMP.
    pub const fn is_openmp(self) -> bool {
        !matches!(
            self,
            Metric::Total | Metric::TotalCpu | Metric::User | Metric::System | Metric::OffCpu
        )
    }

    /// Seconds of an item.
    pub fn seconds(self, item: &Item) -> f64 {
        match self {
            Metric::Blame => item.blame,
            _ if self.counts(item) => item.seconds,
            _ => 0.0,
        }
    }

    /// Whether an item's time counts; what it is blamed for is not its time.
    pub const fn counts(self, item: &Item) -> bool {
        let running = matches!(item.presence, Presence::Running);
        let able = item.shown.can_work();
        match self {
            Metric::Total => true,
            Metric::TotalCpu => running,
            Metric::User => running && !item.kernel,
            Metric::System => running && item.kernel,
            Metric::OffCpu => !running,
            Metric::OmpWork => running && able,
            Metric::OmpWait => !(running && able),
            Metric::OffCpuWork => !running && able,
            Metric::Overhead => running && matches!(item.shown, Shown::Overhead),
            Metric::Reduction => running && matches!(item.shown, Shown::Reduction),
            Metric::ImplicitBarrier => matches!(item.shown, Shown::ImplicitBarrier),
            Metric::ExplicitBarrier => matches!(item.shown, Shown::ExplicitBarrier),
            Metric::Idle => matches!(item.shown, Shown::Idle),
            Metric::Lock => matches!(item.shown, Shown::Lock),
            Metric::Critical => matches!(item.shown, Shown::Critical),
            Metric::Ordered => matches!(item.shown, Shown::Ordered),
            Metric::Atomic => matches!(item.shown, Shown::Atomic),
            Metric::Task => matches!(item.shown, Shown::Task),
            Metric::Blame => false,
        }
    }
}

/// The metrics that a recording has data for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Available {
    metrics: Vec<Metric>,
}

impl Available {
    /// By how the program was sampled and whether it used OpenMP. Without context-switch records
    /// off-CPU time is unknown; without samples from the kernel its part of CPU time is.
    pub fn new(sampling: &Sampling, openmp: bool) -> Available {
        let metrics = Metric::ALL
            .into_iter()
            .filter(|metric| match metric {
                Metric::User | Metric::System => {
                    !sampling.event.is_empty() && sampling.kernel_frames
                }
                Metric::OffCpu | Metric::OffCpuWork if !sampling.switches => false,
                metric => openmp || !metric.is_openmp(),
            })
            .collect();
        Available { metrics }
    }

    /// In the order of lists.
    pub fn metrics(&self) -> &[Metric] {
        &self.metrics
    }

    /// Whether the recording has it.
    pub fn has(&self, metric: Metric) -> bool {
        self.metrics.contains(&metric)
    }

    /// Whether the program used OpenMP.
    pub fn openmp(&self) -> bool {
        self.has(Metric::OmpWork)
    }

    /// The list that tables start with, as it would be typed.
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
