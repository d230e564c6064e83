//! One recording, from the launch to the last row.

use std::ffi::OsString;
use std::os::fd::AsRawFd;
use std::path::Path;
use std::time::{Duration, Instant};

use omp_model::experiment::{Batch, ExperimentError, Writer};
use omp_model::header::Header;
use omp_model::ids::Nanos;
use omp_model::kallsyms::Cache;
use omp_model::symbolize::{self, Files};
use omp_ring::consumer::{ArenaOptions, Consumer};

use crate::cli::Request;
use crate::clock::{self, Line, Pair};
use crate::launch::{self, ExecError};
use crate::merge::Merge;
use crate::openmp::OpenMp;
use crate::perf::open::Rings;
use crate::perf::plan::{Plan, Situation};
use crate::processes::{Libraries, Processes};
use crate::progress::Watched;
use crate::rhythm::{HASTE, Round, flush_after, wait_after};
use crate::sys::{self, Ended, Signals};
use crate::{experiment, facts, library};

/// How often the header goes there: it is a kilobyte.
const HEADER: Duration = Duration::from_secs(10);

/// Why there is no recording.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// The program could not be started.
    #[error("cannot run {program}: {error}", error = .cause.0)]
    Program {
        /// Its name as it was given.
        program: String,
        /// Why.
        cause: ExecError,
    },
    /// Anything else, in one sentence.
    #[error("{0}")]
    Other(String),
}

impl RecordError {
    /// The exit status of collect.
    pub fn status(&self) -> i32 {
        match self {
            RecordError::Program { cause, .. } => cause.status(),
            RecordError::Other(_) => 1,
        }
    }
}

fn other(what: impl ToString) -> RecordError {
    RecordError::Other(what.to_string())
}

/// Runs the program and records it. Gives its exit status.
///
/// # Errors
/// [`RecordError`]; no experiment is left then.
pub fn record(request: &Request) -> Result<i32, RecordError> {
    let library = library::find();
    if let Err(reason) = &library {
        eprintln!("collect: recording without OpenMP states: {reason}");
    }
    // Before anything is started; it is made when all else is ready.
    experiment::choose(&request.target).map_err(other)?;
    let signals = Signals::block().map_err(|error| other(format!("signalfd: {error}")))?;
    let arena = Consumer::create(&ArenaOptions::default()).map_err(|error| {
        other(format!(
            "the shared memory for OpenMP events cannot be made: {error}"
        ))
    })?;
    let first_pair = Pair::read(arena.clock());
    let environment = environment(&arena, library.as_deref().ok());
    let held = launch::hold(&request.command, &environment, signals.mask_before())
        .map_err(|error| other(format!("cannot start a process: {error}")))?;
    // Not before: the program has the priority that its user gave it.
    sys::hurry();
    let pid = held.pid;
    let situation = Situation {
        paranoid: paranoid(),
        root: sys::is_root(),
    };
    let plan = Plan::wished(
        request.period_us,
        request.follow,
        sys::allowed_cpus() as usize,
    );
    let mut rings = Rings::open(pid, plan, situation).map_err(other)?;

    let start = clock::raw_now();
    let mut header = facts::header(request, &environment, start);
    header.notes = rings.notes.clone();
    header.sampling = facts::sampling(&rings.plan, &Default::default(), (0, 0));
    let (writer, made) = experiment::make(&request.target, &header).map_err(other)?;
    if request.verbose {
        eprintln!(
            "collect: {}",
            describe(&rings.plan, library.as_deref().ok())
        );
    }
    let program = request.command[0].to_string_lossy().into_owned();
    if let Err(cause) = held.release() {
        return Err(RecordError::Program { program, cause });
    }
    made.keep();
    eprintln!(
        "Creating experiment directory {} (Process ID: {pid}) ...",
        writer.directory().display()
    );

    let libraries = Libraries::new(library.as_deref().ok().map(Path::to_owned));
    let processes = Processes::new(libraries, !request.follow);
    let merge = Merge::new(processes, OpenMp::new(arena, Line::new(first_pair)), start);
    let mut session = Session {
        pid,
        merge,
        writer: Some(writer),
        header,
        flushed: Instant::now(),
        headed: Instant::now(),
        library: library.map(|_| ()),
    };
    let ended = session.follow(&mut rings, &signals).map_err(other)?;
    session.end(rings, ended, request.verbose);
    Ok(ended.status())
}

/// The program's environment: ours, the arena, and the library before the user's tools and
/// preloaded libraries. LLVM's and Intel's runtimes find it as a tool, also where preloading is
/// not to be had; GNU's needs it preloaded.
fn environment(arena: &Consumer, library: Option<&Path>) -> Vec<(OsString, OsString)> {
    let mut variables: Vec<_> = std::env::vars_os()
        .filter(|(name, _)| name != omp_ring::ARENA_VARIABLE)
        .collect();
    let Some(library) = library else {
        return variables;
    };
    for list in [library::TOOLS_VARIABLE, library::PRELOAD_VARIABLE] {
        let before = std::env::var_os(list);
        variables.retain(|(name, _)| name != list);
        variables.push((list.into(), library::listed(library, before.as_deref())));
    }
    variables.push((omp_ring::ARENA_VARIABLE.into(), arena.path().into()));
    variables
}

fn paranoid() -> Option<i32> {
    std::fs::read_to_string("/proc/sys/kernel/perf_event_paranoid")
        .ok()?
        .trim()
        .parse()
        .ok()
}

/// What would be, or is, recorded, in one line.
pub fn describe(plan: &Plan, library: Option<&Path>) -> String {
    let clock = match plan.event {
        Some(event) => format!(
            "a sample with {} KiB of stack each {} ms of CPU time by {}",
            plan.stack_bytes >> 10,
            plan.period_us / 1000.0,
            event.name()
        ),
        None => "no samples".into(),
    };
    let openmp = match library {
        Some(path) => format!("OpenMP events by {}", path.display()),
        None => "no OpenMP events".into(),
    };
    let scope = if plan.follow {
        "the program and its children"
    } else {
        "the program alone"
    };
    format!("records {scope}: {clock}; context switches; {openmp}")
}

/// `-n`: says what would be recorded, with what the kernel permits, and runs nothing.
pub fn dry_run(request: &Request) -> Result<(), RecordError> {
    let directory = experiment::choose(&request.target).map_err(other)?;
    let library = library::find();
    let plan = Plan::wished(
        request.period_us,
        request.follow,
        sys::allowed_cpus() as usize,
    );
    let situation = Situation {
        paranoid: paranoid(),
        root: sys::is_root(),
    };
    // A child that is never released shows what can be opened.
    let signals = Signals::block().map_err(|error| other(format!("signalfd: {error}")))?;
    let held = launch::hold(&request.command, &[], signals.mask_before())
        .map_err(|error| other(format!("cannot start a process: {error}")))?;
    let rings = Rings::open(held.pid, plan, situation).map_err(other)?;
    eprintln!("collect: would make {}", directory.display());
    eprintln!(
        "collect: {}",
        describe(&rings.plan, library.as_deref().ok())
    );
    rings
        .notes
        .iter()
        .for_each(|note| eprintln!("collect: {note}"));
    if let Err(reason) = library {
        eprintln!("collect: {reason}");
    }
    Ok(())
}

/// A running recording.
struct Session {
    pid: i32,
    merge: Merge,
    /// `None` once writing failed: the program goes on, the recording does not.
    writer: Option<Writer>,
    header: Header,
    flushed: Instant,
    headed: Instant,
    library: Result<(), String>,
}

impl Session {
    /// Rounds until the program has ended.
    fn follow(&mut self, rings: &mut Rings, signals: &Signals) -> std::io::Result<Ended> {
        let mut polled: Vec<libc::pollfd> = [signals.as_raw_fd()]
            .into_iter()
            .chain(rings.descriptors())
            .map(sys::readable)
            .collect();
        let begun = Instant::now();
        let mut last = begun;
        let mut wait = HASTE;
        loop {
            sys::poll(&mut polled, wait.as_millis() as i32)?;
            // A ring hangs up for ever when its last thread has ended.
            polled.retain(|entry| entry.revents & (libc::POLLHUP | libc::POLLERR) == 0);
            let mut child_changed = polled.len() <= 1;
            while let Some(arrived) = signals.next() {
                match arrived.signal {
                    libc::SIGCHLD => child_changed = true,
                    signal if arrived.directed => sys::send(self.pid, signal),
                    _ => {}
                }
            }
            if child_changed {
                // Its last word, if it has ended: what is reaped is not accounted any more.
                let cpu_time = sys::cpu_time(self.pid);
                if let Some(ended) = sys::try_wait(self.pid)? {
                    if let Some(cpu_time) = cpu_time {
                        self.merge.ended(cpu_time);
                    }
                    return Ok(ended);
                }
            }
            let deep = self.merge.deep_stacks();
            let since = std::mem::replace(&mut last, Instant::now()).elapsed();
            let round = Round {
                records: self.merge.round(rings),
                since,
                took: last.elapsed(),
                deep: deep < self.merge.deep_stacks(),
            };
            wait = wait_after(round, begun.elapsed());
            let waiting = self.merge.samples_waiting();
            if self.flushed.elapsed() >= flush_after(waiting, begun.elapsed()) {
                self.flush(None);
                self.refresh_header(rings);
            }
        }
    }

    /// Writes the header anew now and then, so that a killed recording tells what it lost.
    fn refresh_header(&mut self, rings: &Rings) {
        let new_runtime = self.header.runtimes.len() < self.merge.runtimes.len();
        if !new_runtime && self.headed.elapsed() < HEADER {
            return;
        }
        self.headed = Instant::now();
        facts::update(&mut self.header, &rings.plan, &self.merge);
        let written = self
            .writer
            .as_mut()
            .map(|writer| writer.header(&self.header));
        if let Some(Err(error)) = written {
            self.give_up(&error);
        }
    }

    fn give_up(&mut self, error: &ExperimentError) {
        eprintln!("collect: {error}; the program goes on, the recording ends here");
        self.writer = None;
    }

    /// Writes what is new.
    fn flush(&mut self, end: Option<Nanos>) {
        self.flushed = Instant::now();
        let rows = self.merge.take_rows(end);
        let samples = self.merge.take_samples_out();
        let Some(writer) = &mut self.writer else {
            return;
        };
        let batch = Batch {
            samples: &samples,
            sums: &rows.sums,
            blames: &rows.blames,
            intervals: &rows.intervals,
            region_sums: &rows.region_sums,
            region_works: &rows.region_works,
            region_spans: &rows.region_spans,
            task_sums: &rows.task_sums,
            task_spans: &rows.task_spans,
        };
        if let Err(error) = writer.append(&self.merge.tables, &batch) {
            self.give_up(&error);
        }
    }

    /// The last round, the symbols and the final header.
    fn end(mut self, mut rings: Rings, ended: Ended, verbose: bool) {
        self.merge.last_round(&mut rings);
        let end = clock::raw_now().saturating_sub(self.header.started_raw_ns);
        let end = Nanos(end.max(self.merge.merged_to()));
        self.merge.close(end);
        self.flush(Some(end));
        let plan = rings.plan;
        drop(rings);

        let header = &mut self.header;
        header.duration_ns = end.0;
        header.exit_status = Some(ended.status());
        facts::update(header, &plan, &self.merge);
        let library = self.library.as_ref().copied().map_err(String::as_str);
        facts::close_runtimes(header, &self.merge, library);
        let leftovers = self.leftovers();
        self.header.notes.extend(leftovers);
        let Some(mut writer) = self.writer.take() else {
            return;
        };
        let directory = writer.directory().to_owned();
        let recording_cpu = sys::own_cpu_seconds();
        let written = self
            .resolve(&mut writer)
            .and_then(|()| writer.finish(&self.header));
        if let Err(error) = written {
            eprintln!("collect: {error}; the experiment is readable, but its end is missing");
        }
        self.warn();
        if verbose {
            self.tell(&directory, recording_cpu);
        }
    }

    fn resolve(&self, writer: &mut Writer) -> Result<(), ExperimentError> {
        // Symbols can take seconds: whoever kills collect now has a whole recording without.
        writer.header(&self.header)?;
        let files = Files {
            vdso: sys::vdso().map(Into::into),
            kernel: Cache::of_user(),
        };
        let mut files = Watched::new(files, |path| {
            eprintln!("collect: reading the symbols of {path} ...");
        });
        writer.symbols(&symbolize::resolve(&self.merge.tables, &mut files))
    }

    /// Sentences on what went on, or went wrong, beyond counts.
    fn leftovers(&self) -> Vec<String> {
        let mut notes = Vec::new();
        let running = self.merge.processes.still_running();
        if running > 0 {
            notes.push(format!(
                "{running} child processes went on after the program had ended; they were \
                 recorded until then"
            ));
        }
        if self.merge.counts.throttled > 0 {
            notes.push(format!(
                "the kernel slowed sampling down {} times: raise \
                 kernel.perf_event_max_sample_rate or choose a longer period with -p",
                self.merge.counts.throttled
            ));
        }
        let refused = self.merge.openmp.arena().refused_slots();
        if refused > 0 {
            notes.push(format!(
                "{refused} threads found no ring for their OpenMP events"
            ));
        }
        notes
    }

    /// What the user should know at once; everything is in the header.
    fn warn(&self) {
        let losses = &self.header.losses;
        let lost = [
            (losses.samples, "samples"),
            (losses.side_band, "kernel records"),
            (losses.omp_lost, "OpenMP records"),
        ];
        let lost: Vec<String> = lost
            .iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, what)| format!("{count} {what}"))
            .collect();
        if !lost.is_empty() {
            eprintln!(
                "collect: lost {}; `er_print -header` says more",
                lost.join(", ")
            );
        }
    }

    /// The recording in a few lines, for `-v`.
    fn tell(&self, directory: &Path, recording_cpu: f64) {
        let Header {
            sampling,
            losses,
            notes,
            duration_ns,
            ..
        } = &self.header;
        eprintln!(
            "collect: {}: {} samples, {} at switch-out, {} OpenMP records in {:.3} s",
            directory.display(),
            sampling.samples,
            sampling.switch_samples,
            losses.omp_taken,
            Nanos(*duration_ns).seconds()
        );
        eprintln!(
            "collect: used {recording_cpu:.3} s of CPU time to record, {:.3} s to resolve symbols",
            sys::own_cpu_seconds() - recording_cpu
        );
        notes.iter().for_each(|note| eprintln!("collect: {note}"));
    }
}
