//! Notes for the header on what an experiment lacks, and one line at the end of the run if it
//! matters.

use std::collections::BTreeSet;

use experiment::header::Header;
use experiment::losses::LossKind;

use crate::header::Silent;
use crate::library;
use crate::merge::Merge;
use crate::no_events::Cause;
use processes::Unrecorded;

use crate::sys;

/// The share of lost records from which the end of the run reports the loss.
const SHARE: f64 = 0.01;

/// CPU time in which any timer of a thread fires, in nanoseconds.
const LONG_NS: u64 = 100_000_000;

/// All that an experiment can lack.
#[derive(Debug, Default)]
pub struct Shortfall {
    /// Samples of the clock: taken and lost.
    pub samples: (u64, u64),
    /// Samples at context switches: taken and lost.
    pub switch_stacks: (u64, u64),
    /// Side-band records: read and lost.
    pub side_band: (u64, u64),
    /// OpenMP records: read and lost.
    pub records: (u64, u64),
    /// Calls that control the recording for which their queue had no room.
    pub calls_lost: u64,
    /// Threads whose OpenMP records were invalid.
    pub given_up: u64,
    /// Number of threads that had no ring for their OpenMP records.
    pub refused: u64,
    /// Processes still alive when the recording ended: process id and name.
    pub went_on: Vec<(i32, String)>,
    /// Processes that the kernel does not permit to record.
    pub unrecorded: Vec<Unrecorded>,
    /// Programs that other ones started and that cannot load the library: name, and what keeps it out.
    pub unloadable: Vec<(String, String)>,
    /// Number of processes not recorded because of `-F off`.
    pub passed_over: u64,
    /// Number of times that the kernel throttled sampling by the clock.
    pub throttled: u64,
    /// Whether samples were asked for.
    pub has_clock: bool,
    /// Where threads sample themselves: samples taken, periods of CPU time without one, and threads
    /// that could not.
    pub own_samples: Option<(u64, u64, u64)>,
    /// The environment of a process does not name the library any more.
    pub is_cleared: bool,
    /// CPU time of all threads, in nanoseconds.
    pub cpu_ns: u64,
    /// CPU time that no record tells of, in nanoseconds.
    pub missing_cpu_ns: u64,
    /// Likewise by counters.
    pub throttled_counters: u64,
    /// Runtimes that sent no events.
    pub silent: Vec<Silent>,
}

impl Shortfall {
    /// Collects the counts at the end of recording.
    pub fn of(header: &Header, merge: &Merge, silent: Vec<Silent>) -> Shortfall {
        let losses = &header.losses;
        let lost = |kind| losses.lost.count(kind);
        let processes = &merge.processes;
        Shortfall {
            samples: (header.sampling.samples, lost(LossKind::Samples)),
            switch_stacks: (header.sampling.switch_samples, lost(LossKind::SwitchStacks)),
            side_band: (merge.counts.side_band, lost(LossKind::SideBand)),
            records: (losses.omp_taken, losses.lost.omp_records()),
            calls_lost: lost(LossKind::Calls),
            given_up: lost(LossKind::ThreadsGivenUp),
            refused: lost(LossKind::ThreadsRefused),
            went_on: processes.still_running(&merge.tables, merge.merged_to(), sys::is_running),
            unrecorded: processes.unrecorded.clone(),
            unloadable: unloadable_programs(merge),
            passed_over: processes.passed_over,
            throttled: merge.counts.throttled,
            has_clock: !header.sampling.event.is_empty(),
            is_cleared: merge
                .states
                .iter()
                .any(|state| state.names_library == Some(false)),
            cpu_ns: header.sampling.cpu_ns,
            missing_cpu_ns: 0,
            own_samples: header.sampling.off_cpu_inferred.then_some((
                merge.counts.samples,
                merge.counts.missed_periods,
                lost(LossKind::ThreadsUnsampled),
            )),
            throttled_counters: merge.counts.throttled_counters,
            silent,
        }
    }

    /// Notes on the samples that threads take of themselves where perf events are forbidden.
    fn notes_on_own_samples(&self) -> Vec<String> {
        let mut notes = Vec::new();
        let Some((taken, missed, refused)) = self.own_samples else {
            return notes;
        };
        if taken + refused == 0 && self.has_clock && self.cpu_ns > LONG_NS {
            let why = if self.is_cleared {
                Cause::Cleared.to_string()
            } else {
                "libcollector.so was not loaded into it, as into one that is linked statically or is \
                 set-user-id, or whose environment was cleared, or valgrind executes it"
                    .into()
            };
            notes.push(format!(
                "no thread of the program has sampled itself: {why}"
            ));
        }
        if missed > taken / 10 {
            notes.push(format!(
                "one sample for {:.1} periods of CPU time: the kernel looks at timers less often \
                 than they were asked to fire",
                (taken + missed) as f64 / taken.max(1) as f64
            ));
        }
        if refused > 0 {
            notes.push(format!(
                "{} could not be sampled: there are too many threads, the kernel permits no more \
                 timers (ulimit -i), the process has set a filter of system calls or is traced, or the \
                 thread's stack has no room for a signal (64 KiB, or an alternate stack of 4 KiB and the \
                 kernel's frame)",
                counted(refused, "thread", "threads")
            ));
        }
        notes
    }

    /// Notes on what the header's counts do not show, each with its remedy. Silent runtimes have
    /// notes of their own.
    pub fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if !self.went_on.is_empty() {
            let (they, were) = match self.went_on.as_slice() {
                [_] => ("it", "was"),
                _ => ("they", "were"),
            };
            notes.push(format!(
                "{} went on after the recording had ended; {they} {were} recorded until then",
                named(&self.went_on)
            ));
        }
        let are_forbidden = self.own_samples.is_none();
        if !are_forbidden && !self.unrecorded.is_empty() {
            notes.push(format!(
                "{} over before their load objects could be seen: their functions have no names",
                counted(
                    self.unrecorded.len() as u64,
                    "process was",
                    "processes were"
                )
            ));
        }
        for Unrecorded { pid, name } in self.unrecorded.iter().filter(|_| are_forbidden) {
            notes.push(format!(
                "{name} (process {pid}) was not recorded from its start on: it is set-user-id, \
                 set-group-id, has capabilities or may not be read, and the kernel lets nobody look \
                 into it but its owner; run collect as that user, or on a copy without the bit"
            ));
        }
        notes.extend(self.unloadable.iter().map(unloadable));
        if self.passed_over > 0 {
            notes.push(format!(
                "-F off: {} of the program left out",
                counted(self.passed_over, "child process", "child processes")
            ));
        }
        if self.throttled > 0 {
            notes.push(format!(
                "the kernel slowed sampling down {}: raise kernel.perf_event_max_sample_rate or \
                 choose a longer period with -p",
                counted(self.throttled, "time", "times")
            ));
        }
        notes.extend(self.notes_on_own_samples());
        if let Some(seconds) = self.missing_cpu_seconds() {
            notes.push(format!(
                "{seconds:.3} s of CPU time are missing: of processes without libcollector.so (linked \
                 statically, set-user-id) that were over before they were found, or of the last 20 ms of \
                 processes and threads that were killed or made the system call of their end themselves"
            ));
        }
        if self.throttled_counters > 0 {
            notes.push(format!(
                "the kernel slowed the samples of counters down {}, so that those which it took count for \
                 more: raise kernel.perf_event_max_sample_rate or choose longer intervals with -h",
                counted(self.throttled_counters, "time", "times")
            ));
        }
        if self.refused > 0 {
            notes.push(format!(
                "{} found no ring for OpenMP events: there are too many threads, little address space \
                 (ulimit -v), files may not be as long (ulimit -f), or the process has changed its user \
                 or its root",
                counted(self.refused, "thread", "threads")
            ));
        }
        if self.given_up > 0 {
            notes.push(format!(
                "the OpenMP events of {} made no sense and were given up: the program wrote into \
                 memory that it shares with collect; look for a stray pointer",
                counted(self.given_up, "thread", "threads")
            ));
        }
        notes
    }

    /// CPU time that no record tells of, in seconds, where it matters.
    fn missing_cpu_seconds(&self) -> Option<f64> {
        let is_much = self.missing_cpu_ns as f64 > SHARE * self.cpu_ns as f64;
        (is_much && self.missing_cpu_ns > LONG_NS).then(|| self.missing_cpu_ns as f64 / 1e9)
    }

    /// What the user should know at once; `None` if nothing matters.
    pub fn line(&self) -> Option<String> {
        let mut parts = Vec::new();
        let lost = [
            (self.samples, "samples"),
            (self.switch_stacks, "stacks at context switches"),
            (self.side_band, "kernel's records"),
            (self.records, "OpenMP records"),
        ];
        for ((taken, lost), what) in lost {
            let share = lost as f64 / (taken + lost).max(1) as f64;
            if share > SHARE {
                parts.push(format!("lost {:.0} % of the {what}", 100.0 * share));
            }
        }
        if let Some(seconds) = self.missing_cpu_seconds() {
            parts.push(format!(
                "missed {seconds:.2} s of CPU time of short processes or of ends of threads"
            ));
        }
        if self.calls_lost > 0 {
            let calls = counted(self.calls_lost, "call", "calls");
            parts.push(format!("lost {calls} of collector_* functions"));
        }
        if self.given_up > 0 {
            let threads = counted(self.given_up, "thread", "threads");
            parts.push(format!("gave up the senseless OpenMP records of {threads}"));
        }
        if self.refused > 0 {
            let threads = counted(self.refused, "thread", "threads");
            parts.push(format!("no room for the OpenMP records of {threads}"));
        }
        if !self.went_on.is_empty() {
            let were = if self.went_on.len() == 1 {
                "was"
            } else {
                "were"
            };
            let processes = named(&self.went_on);
            parts.push(format!(
                "{processes} went on and {were} not recorded to the end"
            ));
        }
        let are_forbidden = self.own_samples.is_none();
        for Unrecorded { pid, name } in self.unrecorded.iter().filter(|_| are_forbidden) {
            parts.push(format!(
                "{name} ({pid}) could not be recorded: it is set-user-id, set-group-id or has \
                 capabilities"
            ));
        }
        parts.extend(self.unloadable.iter().map(unloadable));
        for Silent { name, cause } in &self.silent {
            parts.push(match cause {
                Some(cause) => format!("no OpenMP events from {name}: {cause}"),
                None => format!("no OpenMP events from the runtime that is linked into {name}"),
            });
        }
        (!parts.is_empty()).then(|| format!("{}; `er_print -header` says more", parts.join("; ")))
    }
}

/// The programs that were started by others and cannot load the library, where there is one.
fn unloadable_programs(merge: &Merge) -> Vec<(String, String)> {
    if merge.processes.objects.collector().is_none() {
        return Vec::new();
    }
    let paths = merge.tables.processes.iter().map(|row| &row.executable);
    let paths: BTreeSet<&String> = paths.filter(|path| !path.is_empty()).collect();
    let judged = paths
        .into_iter()
        .map(|path| (path, library::obstacle(path.as_ref())));
    judged
        .filter_map(|(path, obstacle)| Some((path.clone(), obstacle?)))
        .collect()
}

/// What is said of a program that cannot load the library.
fn unloadable((name, obstacle): &(String, String)) -> String {
    format!(
        "no OpenMP events from {name}: {}",
        Cause::CannotLoad(obstacle.clone())
    )
}

/// `1 thread`, `2 threads`.
fn counted(count: u64, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

/// Process names, shortened to a few.
pub(crate) fn named(processes: &[(i32, String)]) -> String {
    const MOST: usize = 3;
    let name = |(pid, name): &(i32, String)| format!("{name} ({pid})");
    let shown: Vec<String> = processes.iter().take(MOST).map(name).collect();
    let shown = shown.join(", ");
    match processes.len().saturating_sub(MOST) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(shortfall: &Shortfall) -> String {
        shortfall.line().unwrap_or_default()
    }

    #[test]
    fn small_losses_get_no_line() {
        let whole = Shortfall {
            samples: (1000, 10),
            records: (100_000, 1000),
            side_band: (7, 0),
            ..Shortfall::default()
        };
        assert_eq!(whole.line(), None);
        assert_eq!(Shortfall::default().line(), None);
    }

    #[test]
    fn all_that_matters_is_in_one_line() {
        let short = Shortfall {
            samples: (880, 120),
            switch_stacks: (800, 200),
            records: (0, 5),
            calls_lost: 3,
            missing_cpu_ns: 250_000_000,
            given_up: 1,
            refused: 2,
            went_on: vec![(7, "sleep".to_owned())],
            unrecorded: vec![Unrecorded {
                pid: 9,
                name: "su".to_owned(),
            }],
            silent: vec![Silent {
                name: "libgomp.so.1".to_owned(),
                cause: Some(Cause::ToolsDisabled),
            }],
            ..Shortfall::default()
        };
        assert_eq!(
            line(&short),
            "lost 12 % of the samples; lost 20 % of the stacks at context switches; lost 100 % of the OpenMP records; missed 0.25 s of CPU time of short \
             processes or of ends of threads; lost 3 calls of collector_* functions; gave up the senseless OpenMP records of 1 \
             thread; no room for the OpenMP records of 2 threads; sleep (7) went on and \
             was not recorded to the end; su (9) could not be recorded: it is set-user-id, \
             set-group-id or has capabilities; no OpenMP events from libgomp.so.1: OMP_TOOL=disabled; \
             `er_print -header` says more"
        );
        assert_eq!(short.notes().len(), 5);
    }

    #[test]
    fn many_processes_are_not_all_named() {
        let went_on: Vec<_> = (1..=5).map(|pid| (pid, "job".to_owned())).collect();
        let short = Shortfall {
            went_on,
            ..Shortfall::default()
        };
        let said = line(&short);
        let expected = "job (1), job (2), job (3) and 2 more went on and were not";
        assert!(said.starts_with(expected), "{said}");
    }
}
