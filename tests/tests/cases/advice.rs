//! Checks the overview's advice on a program that deserves each piece, and on one that nearly does.

use std::collections::HashMap;

use end_to_end::reports;
use serde_json::Value;

use crate::run::{Recorded, Run};
use crate::shown::Faults;

/// The functions of `advice.c`, each with the reason for which it loses time.
const REASONS: [(&str, &str); 9] = [
    ("imbalance", "imbalance"),
    ("lock", "lock"),
    ("critical", "lock"),
    ("ordered", "ordered"),
    ("small", "small"),
    ("no_team", "no_team"),
    ("offcpu", "offcpu"),
    ("serial", "serial"),
    ("serial_offcpu", "serial_offcpu"),
];

/// The share of a run from which on a loss is told.
const LEAST: f64 = 0.01;

/// A loss as the overview tells it.
struct Told {
    function: String,
    reason: String,
    seconds: f64,
    finding: String,
}

impl Told {
    /// Threads had no CPU: where other programs want the CPUs, that takes the place of other reasons.
    fn is_crowded(&self) -> bool {
        self.finding.contains("had no CPU")
    }

    /// Threads were woken late: on a busy machine small regions lose most of their time to that, in their barriers and
    /// before their work.
    fn is_late(&self) -> bool {
        self.finding.contains("to wake") || self.finding.contains("late to their team")
    }
}

/// The losses that the overview tells, the length of the run, and what each function lost by its own
/// clock.
fn told(run: &Run) -> (Vec<Told>, f64, HashMap<String, f64>) {
    let Recorded {
        outcome,
        experiment,
    } = run.record();
    let overview = reports(&experiment, "user", &["-overview"]).swap_remove(0);
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let losses = overview["losses"].as_array().into_iter().flatten();
    let losses = losses.map(|loss| Told {
        function: text(&loss["function"]),
        reason: text(&loss["reason"]),
        seconds: loss["seconds"].as_f64().unwrap_or_default(),
        finding: text(&loss["finding"]),
    });
    let truth = outcome.stdout.lines().filter_map(|line| {
        let (name, seconds) = line.split_once(' ')?;
        Some((name.to_owned(), seconds.parse().ok()?))
    });
    let wall = overview["duration"].as_f64().expect("it has a duration");
    (losses.collect(), wall, truth.collect())
}

/// What of the overview's losses concerns a function and a reason, and what of it the machine caused.
fn seconds(losses: &[Told], function: &str, reason: &str) -> (f64, f64) {
    // Serial code is told by the function in which it works.
    let is_serial = reason.starts_with("serial");
    let here = |loss: &&Told| is_serial || loss.function == function;
    let all = losses.iter().filter(here);
    let sum = |is: &dyn Fn(&Told) -> bool| -> f64 {
        all.clone().filter(|it| is(it)).map(|it| it.seconds).sum()
    };
    let own = |it: &Told| it.reason == reason;
    let by_machine = |it: &Told| (it.is_crowded() || it.is_late()) && !own(it);
    (sum(&own), sum(&by_machine))
}

/// Each function loses what its own clock says, for the reason that the source gives it.
pub(crate) fn deserved(run: &Run) -> Result<(), String> {
    let (losses, _, truth) = told(run);
    let mut faults = Faults::default();
    // The innermost function of the program has the loop, or what is inlined into it.
    let serial = losses.iter().find(|loss| loss.reason == "serial");
    let serial = serial.map(|loss| loss.finding.as_str()).unwrap_or_default();
    faults.unless(
        serial.contains("most of it in now, which calls clock_gettime, called from work, line 3"),
        || format!("serial code: {serial}"),
    );
    for (function, reason) in REASONS {
        let lost = truth[function];
        let (own, crowd) = seconds(&losses, function, reason);
        faults.unless(own + crowd >= 0.6 * lost, || {
            format!(
                "{function} lost {lost} s; told are {own} s by {reason}, {crowd} s by the machine"
            )
        });
    }
    faults.found()
}

/// No function loses so much for its reason that it were told, beyond what its own clock says.
pub(crate) fn nearly_deserved(run: &Run) -> Result<(), String> {
    let (losses, wall, truth) = told(run);
    let mut faults = Faults::default();
    for (function, reason) in REASONS {
        let lost = truth[function];
        let (own, _) = seconds(&losses, function, reason);
        // Threads without a CPU lose time within their work, too, which the program counts as work.
        let has_cpus = !losses
            .iter()
            .any(|it| it.is_crowded() && it.reason == reason);
        faults.unless(own <= lost + LEAST * wall || !has_cpus, || {
            format!("{function} lost {lost} s, and {own} s of {wall} s are told by {reason}")
        });
    }
    faults.found()
}
