//! The metrics: the time or the events that each one counts, and those for which an experiment has
//! data.

use experiment::CounterSamples;
use experiment::header::Sampling;

use super::counter::CounterName;
use crate::profile::Item;
use crate::states::RefinedState;

/// A kind of time, in seconds of thread time, or the events of a counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
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
    /// In one of the states that are none of the program's own code ([`RefinedState::SHOWN`]); on a CPU, if
    /// the thread has work to do there: that is a part of [`Metric::OmpWork`], the others of
    /// [`Metric::OmpWait`].
    State(RefinedState),
    /// Waiting time of other threads, blamed on what the thread did meanwhile
    /// ([`crate::attribution`]). It is not part of the thread's own time.
    Blame,
    /// The events of a counter; seconds of one that counts time.
    Counter(CounterName),
}

/// A metric's names, and the time that it counts.
struct Definition {
    /// The name in the command language.
    id: &'static str,
    /// The words of a heading.
    words: &'static str,
    /// Whether it has a meaning only in a program that uses OpenMP.
    is_openmp: bool,
    /// Whether an item's time counts.
    counts: fn(&Item) -> bool,
}

const fn any(id: &'static str, words: &'static str, counts: fn(&Item) -> bool) -> Definition {
    let is_openmp = false;
    Definition {
        id,
        words,
        is_openmp,
        counts,
    }
}

const fn openmp(id: &'static str, words: &'static str, counts: fn(&Item) -> bool) -> Definition {
    Definition {
        is_openmp: true,
        ..any(id, words, counts)
    }
}

/// What each metric is. Not formatted, to be read as a table.
#[rustfmt::skip]
const fn definition(metric: Metric) -> Definition {
    match metric {
        Metric::Total => any("total", "Total Thread", |_| true),
        Metric::TotalCpu => any("totalcpu", "Total CPU", Item::is_on_cpu),
        Metric::User => any("user", "User CPU", |item| item.is_on_cpu() && !item.kernel),
        Metric::System => any("system", "System CPU", |item| item.is_on_cpu() && item.kernel),
        Metric::OffCpu => any("offcpu", "Off-CPU", |item| !item.is_on_cpu()),
        Metric::OmpWork => openmp("ompwork", "OMP Work", |item| item.is_on_cpu() && item.state.can_work()),
        Metric::OmpWait => openmp("ompwait", "OMP Wait", |item| !(item.is_on_cpu() && item.state.can_work())),
        Metric::OffCpuWork => openmp("offcpuwork", "Off-CPU Work", |item| !item.is_on_cpu() && item.state.can_work()),
        Metric::State(state) => match state.row().shown {
            Some(shown) => openmp(shown.metric, shown.words, |_| false),
            None => openmp("", "", |_| false),
        },
        Metric::Blame => openmp("blame", "OMP Blame", |_| false),
        Metric::Counter(name) => any(name.as_str(), name.as_str(), |_| false),
    }
}

impl Metric {
    /// Every metric but the counters, in the order of lists.
    pub const ALL: [Metric; 9 + RefinedState::SHOWN.len()] = {
        let mut all = [Metric::Blame; 9 + RefinedState::SHOWN.len()];
        let first = [
            Metric::Total,
            Metric::TotalCpu,
            Metric::User,
            Metric::System,
            Metric::OffCpu,
            Metric::OmpWork,
            Metric::OmpWait,
            Metric::OffCpuWork,
        ];
        let mut at = 0;
        while at < all.len() - 1 {
            all[at] = if at < first.len() {
                first[at]
            } else {
                Metric::State(RefinedState::SHOWN[at - first.len()])
            };
            at += 1;
        }
        all
    };

    /// The name in the command language.
    pub const fn id(self) -> &'static str {
        definition(self).id
    }

    /// The words of a heading; a title adds `Time` to those of a time.
    pub const fn words(self) -> &'static str {
        definition(self).words
    }

    /// The full name: `OMP Work Time`.
    pub fn label(self) -> String {
        match self {
            Metric::Counter(name) => name.as_str().to_owned(),
            _ => format!("{} Time", self.words()),
        }
    }

    /// Whether its values are seconds, not events.
    pub fn is_time(self) -> bool {
        match self {
            Metric::Counter(name) => name.is_clock(),
            _ => true,
        }
    }

    /// Whether it is a counter.
    pub const fn is_counter(self) -> bool {
        matches!(self, Metric::Counter(_))
    }

    /// Whether it has a meaning only in a program that uses OpenMP.
    pub const fn is_openmp(self) -> bool {
        definition(self).is_openmp
    }

    /// Whether an item's own time counts. Blame is not its own time, and events are none.
    pub fn counts(self, item: &Item) -> bool {
        match self {
            Metric::State(state) => item.state == state && (item.is_on_cpu() || !state.can_work()),
            _ => (definition(self).counts)(item),
        }
    }

    /// Seconds of an item, or its events.
    pub fn value(self, item: &Item) -> f64 {
        match self {
            Metric::Blame => item.blame,
            Metric::Counter(name) if item.counter == Some(name) => item.events,
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
    /// The metrics by how the program was sampled, its counters, and whether it used OpenMP. Without
    /// context-switch records, off-CPU time is unknown; without samples from the kernel, system
    /// time is.
    pub fn new(sampling: &Sampling, counters: &[CounterSamples], openmp: bool) -> Available {
        let times = Metric::ALL.into_iter().filter(|metric| match metric {
            Metric::User | Metric::System => !sampling.event.is_empty() && sampling.kernel_frames,
            Metric::OffCpu | Metric::OffCpuWork
                if !(sampling.switches || sampling.off_cpu_inferred) =>
            {
                false
            }
            metric => openmp || !metric.is_openmp(),
        });
        let mut metrics: Vec<Metric> = times.collect();
        metrics.extend(counters_of(counters));
        Available { metrics }
    }

    /// The same of a program that does not call MPI.
    #[must_use]
    pub fn without_mpi(mut self) -> Available {
        self.metrics.retain(|metric| match metric {
            Metric::State(state) => !state.is_mpi(),
            _ => true,
        });
        self
    }

    /// The metrics, in the order of lists.
    pub fn metrics(&self) -> &[Metric] {
        &self.metrics
    }

    /// The counters among them.
    pub fn counters(&self) -> impl Iterator<Item = Metric> + '_ {
        self.metrics.iter().copied().filter(|it| it.is_counter())
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
        let mut spec = "e.%total:i.%total".to_owned();
        let parts: &[Metric] = if self.openmp() {
            spec = "e.%ompwork:i.%ompwork:e.%ompwait:i.%ompwait".to_owned();
            &[]
        } else if self.has(Metric::System) {
            &[Metric::User, Metric::System, Metric::OffCpu]
        } else {
            &[Metric::TotalCpu, Metric::OffCpu]
        };
        for part in parts.iter().filter(|part| self.has(**part)) {
            spec.push_str(&format!(":e.{}", part.id()));
        }
        for counter in self.counters() {
            spec.push_str(&format!(":e.%{}", counter.id()));
        }
        spec + ":name"
    }
}

/// The counters of an experiment, each once: several experiments together have some of one name.
pub fn counters_of(counters: &[CounterSamples]) -> Vec<Metric> {
    let mut metrics = Vec::new();
    for counter in counters {
        let metric = Metric::Counter(CounterName::new(&counter.name));
        if !metrics.contains(&metric) {
            metrics.push(metric);
        }
    }
    metrics
}
