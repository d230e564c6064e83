//! The deviations of a profile from its truth.

use std::fmt;

use fixtures::{Bounds, Truth};

use crate::report::Seconds;

/// The allowed deviation of a sum: these seconds, or this share of the truth if that is more.
pub(crate) const ALLOWED: f64 = 0.020;
pub(crate) const SHARE: f64 = 0.03;

/// The share that a function's time may be off where it is known by samples alone.
pub(crate) const SAMPLED: f64 = 0.1;

/// Kinds of waiting, by metric and by the pseudo-function that has their time.
pub(crate) const WAITS: [(&str, &str); 8] = [
    ("ompibar", "<OMP implicit barrier>"),
    ("ompebar", "<OMP explicit barrier>"),
    ("ompidle", "<OMP idle>"),
    ("omplkwt", "<OMP lock wait>"),
    ("ompctwt", "<OMP critical section wait>"),
    ("ompodwt", "<OMP ordered section wait>"),
    ("ompatwt", "<OMP atomic wait>"),
    ("omptskwt", "<OMP task wait>"),
];

/// A sum of the profile beside that of the program.
#[derive(Debug, Clone)]
pub struct Deviation {
    /// Of which thread, in which region; the kind is its first word.
    pub what: String,
    /// What the program measured.
    pub truth: Bounds,
    /// What the profile says.
    pub measured: f64,
    /// How far it may be off, in seconds.
    pub allowed: f64,
    /// Why it cannot be known, if it cannot.
    pub excused: Option<&'static str>,
}

/// The result of a check.
#[derive(Debug, Default)]
pub struct Verdict {
    /// All sums that were compared.
    pub deviations: Vec<Deviation>,
    /// Faults other than deviations of sums.
    pub faults: Vec<String>,
}

impl Deviation {
    /// Seconds between the profile and the nearest value that the truth allows.
    pub fn off(&self) -> f64 {
        self.truth.distance(self.measured)
    }

    /// Whether that is too much.
    pub fn fails(&self) -> bool {
        self.excused.is_none() && self.off() > self.allowed
    }
}

impl fmt::Display for Deviation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mark = if self.fails() { "WRONG" } else { "" };
        write!(
            f,
            "{:>9.4} {:>9.4} {:>9.4} {:>9.4} {:>8.4} {mark:<5} {}",
            self.measured,
            self.truth.seconds,
            self.truth.least,
            self.truth.most,
            self.off(),
            self.what
        )
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, " measured     truth     least      most      off")?;
        for deviation in &self.deviations {
            writeln!(f, "{deviation}")?;
        }
        for fault in &self.faults {
            writeln!(f, "FAULT: {fault}")?;
        }
        Ok(())
    }
}

impl Verdict {
    /// Whether the profile tells the truth.
    pub fn holds(&self) -> bool {
        self.faults.is_empty() && self.deviations.iter().all(|d| !d.fails())
    }

    /// Notes a sum with the usual allowance.
    pub(crate) fn compare(&mut self, what: String, truth: Bounds, measured: f64) {
        let allowed = (SHARE * truth.seconds).max(ALLOWED);
        self.compare_within(what, truth, measured, allowed);
    }

    pub(crate) fn compare_within(
        &mut self,
        what: String,
        truth: Bounds,
        measured: f64,
        allowed: f64,
    ) {
        self.deviations.push(Deviation {
            what,
            truth,
            measured,
            allowed,
            excused: None,
        });
    }

    /// Excuses the sums of some kinds, for a reason.
    pub fn excuse(&mut self, kinds: &[&str], reason: &'static str) {
        for deviation in &mut self.deviations {
            let kind = deviation.what.split(' ').next().unwrap_or_default();
            if kinds.contains(&kind) {
                deviation.excused = Some(reason);
            }
        }
    }

    /// Allows for the seconds in which other programs had the CPUs, where they are more than a sum may
    /// be off anyway.
    pub fn allow_crowding(&mut self, seconds: f64) {
        for deviation in &mut self.deviations {
            if seconds > deviation.allowed {
                deviation.allowed += seconds;
            }
        }
    }

    pub(crate) fn fault(&mut self, sentence: String) {
        self.faults.push(sentence);
    }

    pub(crate) fn equal(&mut self, what: &str, left: f64, right: f64) {
        // Sums of some thousand addends in another order.
        if (left - right).abs() > 1e-6 {
            self.fault(format!("{what}: {left} is not {right}"));
        }
    }
}

/// The time of a kind in all processes.
pub(crate) fn sum(truths: &[Truth], choose: impl Fn(&fixtures::Entry) -> bool) -> Bounds {
    let mut sum = Bounds::default();
    for truth in truths {
        let part = truth.sum(&choose);
        sum.seconds += part.seconds;
        sum.least += part.least;
        sum.most += part.most;
    }
    sum
}

pub(crate) fn get(seconds: &Seconds, metric: &str) -> f64 {
    seconds.get(metric).copied().unwrap_or(0.0)
}
