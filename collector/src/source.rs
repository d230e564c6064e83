//! Where samples and the kernel's events come from.

use std::os::fd::RawFd;
use std::time::Duration;

use crate::own_samples::OwnSamples;
use crate::perf::open::Rings;
use crate::perf::plan::Plan;
use crate::sys;

/// Where samples and the kernel's events come from.
pub enum Source {
    /// Perf events.
    Perf(Box<Rings>),
    /// Samples that the program's threads take of themselves, and `/proc`.
    Own {
        /// What is recorded.
        plan: Plan,
        /// The samples.
        samples: Box<OwnSamples>,
    },
}

impl Source {
    /// What is recorded.
    pub fn plan(&self) -> Plan {
        match self {
            Source::Perf(rings) => rings.plan,
            Source::Own { plan, .. } => *plan,
        }
    }

    /// The file descriptors to poll: one is readable when its ring is half full.
    pub fn descriptors(&self) -> Vec<RawFd> {
        match self {
            Source::Perf(rings) => rings.descriptors().collect(),
            Source::Own { .. } => Vec::new(),
        }
    }

    /// Whether major page faults are counted.
    pub fn counts_major_faults(&self) -> bool {
        matches!(self, Source::Perf(rings) if !rings.major_faults.is_empty())
    }

    /// Whether page faults are counted at all.
    pub fn counts_faults(&self) -> bool {
        matches!(self, Source::Perf(_))
    }

    /// CPU time of the program, and of the processes that it waited for, that no record tells of, in
    /// nanoseconds. Known once the program has ended.
    pub fn missing_cpu_time(&self) -> u64 {
        match self {
            Source::Own { plan, samples } if plan.follow => {
                sys::children_cpu_time().saturating_sub(samples.cpu_time())
            }
            _ => 0,
        }
    }

    /// How long after the program's end the last process that it made is known.
    pub fn settles_after(&self) -> Duration {
        match self {
            Source::Perf(_) => Duration::ZERO,
            // It must have run: its own slot tells of it.
            Source::Own { .. } => Duration::from_millis(100),
        }
    }

    /// The longest time between two rounds.
    pub fn longest_round(&self) -> Duration {
        match self {
            Source::Perf(_) => Duration::MAX,
            Source::Own { samples, .. } => samples.longest_round(),
        }
    }
}
