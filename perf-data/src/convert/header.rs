//! What the header says of a file: how it was recorded, what it lacks, and what to record instead.

use std::fs;
use std::time::UNIX_EPOCH;

use experiment::header::{Header, Losses, MOST_COUNTERS, Runtime, Sampling};
use experiment::ids::Nanos;
use experiment::tables::Cut;
use processes::stacks::description;

use super::Conversion;
use crate::file::PerfFile;
use crate::sample::CHAIN_ENDS;

impl Conversion<'_> {
    /// The header of what was converted.
    pub(super) fn header(&self, file: &PerfFile, has_trace: bool) -> Header {
        let about = &file.about;
        let stacks = &self.stacks;
        let modified = fs::metadata(self.path).and_then(|it| it.modified()).ok();
        let modified = modified.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        let duration = self.latest;
        let ended = modified.map_or(0.0, |time| time.as_secs_f64());
        let cuts = Cut::ALL.iter().filter_map(|reason| {
            let count = stacks.endings.cut[*reason as usize];
            let count = match reason {
                Cut::NoUnwindInfo => count - stacks.chains_cut,
                _ => count,
            };
            (count > 0).then(|| (description(*reason).to_owned(), count))
        });
        let chains = (stacks.chains_cut > 0).then(|| (CHAIN_ENDS.to_owned(), stacks.chains_cut));
        let version = match about.version.as_str() {
            "" => "of an unknown version",
            version => version,
        };
        let clock = self.clock.map(|at| &file.events[at]);
        Header {
            perf: Some(version.to_owned()),
            command: about.command.clone(),
            host: about.host.clone(),
            system: format!("Linux {} {}", about.release, about.machine),
            cpu_model: about.cpu.clone(),
            cpus: about.cpus,
            // perf closes the file at its end.
            started_unix: (ended - Nanos(duration).seconds()).max(0.0),
            duration_ns: duration.max(1),
            sampling: Sampling {
                event: clock.map_or(String::new(), |_| "cpu-clock".to_owned()),
                period_us: self.clock_period as f64 / 1e3,
                stack_bytes: file
                    .events
                    .iter()
                    .map(|it| it.stack_bytes)
                    .max()
                    .unwrap_or(0),
                kernel_frames: stacks.has_kernel,
                switches: self.has_switches,
                samples: self.clock_samples,
                cpu_ns: self.on_cpu_ns,
                ..Sampling::default()
            },
            runtimes: self.runtimes(),
            losses: Losses {
                lost: self.lost.clone(),
                omp_late: 0,
                stacks_complete: stacks.endings.complete,
                stacks_cut: cuts.chain(chains).collect(),
                ..Losses::default()
            },
            notes: self.notes(file, has_trace),
            ..Header::default()
        }
    }

    fn runtimes(&self) -> Vec<Runtime> {
        let mapped = self.processes.mapped.iter();
        let rows = mapped.map(|runtime| Runtime {
            pid: runtime.pid,
            path: runtime.path.clone(),
            build_id: runtime.build_id.clone(),
            version: String::new(),
            interface: "none: perf records none, so states come from stacks".to_owned(),
        });
        rows.collect()
    }

    /// What cannot be told, and why.
    fn notes(&self, file: &PerfFile, has_trace: bool) -> Vec<String> {
        let mut notes = Vec::new();
        let mut note = |is: bool, text: String| notes.extend(is.then_some(text));
        let damage = file.damage.clone().unwrap_or_default();
        note(
            file.damage.is_some(),
            format!("the file is not whole: {damage}; what could be read is shown"),
        );
        note(
            has_trace,
            "data of a processor's trace (Intel PT, ARM SPE and the like) are left out: only samples are shown".to_owned(),
        );
        note(
            self.clock.is_none(),
            "no clock was recorded, so events are counted and no seconds are shown: record with -e cpu-clock".to_owned(),
        );
        note(
            self.clock.is_some() && !self.has_switches,
            "perf recorded no context switches, so time off CPUs is unknown and waits that sleep are missing: record with --switch-events".to_owned(),
        );
        note(
            self.throttled > 0,
            format!(
                "the kernel throttled sampling {} times: choose a lower rate",
                self.throttled
            ),
        );
        note(
            self.without_cpu,
            "the samples do not say on which CPU they were taken, and all count for CPU 0: record with --sample-cpu".to_owned(),
        );
        note(
            self.other_abi > 0,
            format!("{} samples of 32-bit code have no stacks", self.other_abi),
        );
        note(
            self.start.is_none(),
            "the records have no times: nothing by time can be shown".to_owned(),
        );
        note(
            self.late > 0,
            format!(
                "{} records came out of order, and were taken as they came",
                self.late
            ),
        );
        note(
            self.left_out > 0,
            format!("{} records make no sense and are left out", self.left_out),
        );
        let sampled = self.counters.iter().filter(|it| !it.samples.is_empty());
        for counter in sampled.filter(|it| file.events[it.event].period().is_none()) {
            let name = &counter.name;
            if !file.events[counter.event].is_sampled() {
                note(
                    true,
                    format!(
                        "{name} was read at the samples of its group's leader (:S): what it counted between two of them stands at the second, and samples were repeated so that each stands for as many events"
                    ),
                );
                continue;
            }
            note(
                true,
                format!(
                    "perf chose the periods of {name} itself: its samples were left out or repeated so that each stands for the mean; record with -c for a fixed one"
                ),
            );
        }
        note(
            self.uncounted > 0,
            format!(
                "only {MOST_COUNTERS} events are shown: {} samples of others are left out",
                self.uncounted
            ),
        );
        notes
    }
}
