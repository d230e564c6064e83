//! A recording, from the launch of the program to the last row.

use std::os::unix::ffi::OsStrExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use omp_ring::consumer::{ArenaOptions, Consumer};

use crate::cli::Request;
use crate::clock::{self, Line, Pair};
use crate::launch::{self, ExecError};
use crate::merge::Merge;
use crate::openmp::OpenMp;
use crate::perf::counters::{self, Counter};
use crate::perf::open::{Rings, try_counter};
use crate::perf::plan::{Plan, Situation};
use crate::processes::{LoadObjects, Processes};
use crate::say::{print_line, say};
use crate::session::{self, Session};
use crate::signals::Signals;
use crate::sys::{self, Ended};
use crate::{experiment, header, library};

/// Why there is no recording.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// The program could not be started.
    #[error("cannot run {program}: {error}", error = .cause.0)]
    Program {
        /// Its name as it was given.
        program: String,
        /// The error of `exec`.
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

/// Runs the program and records it. Returns its exit status.
///
/// # Errors
/// [`RecordError`] if the program did not run. No experiment is left then.
pub fn record(request: &Request) -> Result<i32, RecordError> {
    // Reports an unusable name before anything starts. The directory is created when all else is
    // ready.
    experiment::choose(&request.target).map_err(other)?;
    let mut signals = Signals::block().map_err(|error| other(format!("signalfd: {error}")))?;
    let (found, arena) = library_and_arena();
    if let Err(reason) = &found {
        say(format!("recording without OpenMP states: {reason}"));
    }
    let library = found.as_deref().ok();
    let first_pair = Pair::read(arena.as_ref().map_or(clock::RAW, Consumer::clock));
    let environment = library::environment(library.zip(arena.as_ref().map(Consumer::path)));
    let held = launch::hold(&request.command, &environment, signals.inherited())
        .map_err(|error| other(format!("cannot start a process: {error}")))?;
    // After the fork, so that the program keeps the priority that its user gave it.
    sys::raise_priority();
    let pid = held.pid;
    let plan = wished(request);
    let rings = Rings::open(pid, plan, &request.counters, situation()).map_err(other)?;

    let start = clock::raw_now();
    let mut header = header::initial(request, &environment, start);
    header.notes = rings.notes.clone();
    header.sampling = header::sampling(&rings.plan, &Default::default(), (0, 0));
    let (writer, made) = experiment::make(&request.target, &header).map_err(other)?;
    if request.verbose {
        say(describe(&rings.plan, &request.counters, library));
    }
    let program = request.command[0].to_string_lossy().into_owned();
    if let Err(cause) = held.release() {
        return Err(RecordError::Program { program, cause });
    }
    made.keep();
    let mut creating = b"Creating experiment directory ".to_vec();
    creating.extend(writer.directory().as_os_str().as_bytes());
    creating.extend(format!(" (Process ID: {pid}) ...").into_bytes());
    print_line(creating);

    let objects = LoadObjects::new(library.map(Path::to_owned));
    let processes = Processes::new(objects, !request.follow);
    let merge = Merge::new(processes, OpenMp::new(arena, Line::new(first_pair)), start);
    let mut session = Session::new(pid, merge, writer, header, found.map(|_| ()));
    let ended = run_session(&mut session, rings, &mut signals, request.verbose);
    Ok(ended
        .unwrap_or_else(|| session::wait(pid, &mut signals))
        .status())
}

/// Records until the program has ended. Returns how it ended, if that is known: the program runs, and
/// its end must be awaited even if the recording fails.
fn run_session(
    session: &mut Session,
    rings: Rings,
    signals: &mut Signals,
    verbose: bool,
) -> Option<Ended> {
    let run = || session.run(rings, signals, verbose);
    match catch_unwind(AssertUnwindSafe(run)) {
        Ok(Ok(ended)) => Some(ended),
        Ok(Err(error)) => {
            say(format!(
                "{error}; the program goes on, the recording ends here"
            ));
            session.ended()
        }
        // The panic has printed its message.
        Err(_) => {
            say("this is a fault of collect; the program goes on, the recording ends here");
            session.ended()
        }
    }
}

/// The library and the arena that record OpenMP events, or why there are none.
fn library_and_arena() -> (Result<PathBuf, String>, Option<Consumer>) {
    match library::find().and_then(|library| Ok((library, arena()?))) {
        Ok((library, arena)) => (Ok(library), Some(arena)),
        Err(reason) => (Err(reason), None),
    }
}

/// The shared memory for OpenMP events, for as many threads as the limit of file sizes permits.
fn arena() -> Result<Consumer, String> {
    let options = ArenaOptions::default();
    let options = match sys::file_size_limit() {
        None => options,
        Some(limit) => options.within(limit).ok_or_else(|| {
            format!(
                "a file of {limit} bytes, the longest that is allowed, holds no thread's OpenMP \
                 events: raise the limit with `ulimit -f unlimited`"
            )
        })?,
    };
    Consumer::create(&options)
        .map_err(|error| format!("the shared memory for OpenMP events cannot be made: {error}"))
}

fn wished(request: &Request) -> Plan {
    let cpus = sys::allowed_cpus() as usize;
    Plan::wished(request.period_us, request.follow, cpus)
}

/// Bare `-h`: what can be counted on this machine.
pub fn list_counters() -> String {
    counters::list(try_counter, situation())
}

fn situation() -> Situation {
    let paranoid = std::fs::read_to_string("/proc/sys/kernel/perf_event_paranoid");
    Situation {
        paranoid: paranoid.ok().and_then(|text| text.trim().parse().ok()),
        root: sys::is_root(),
    }
}

/// What is recorded, in one line.
pub fn describe(plan: &Plan, counters: &[Counter], library: Option<&Path>) -> String {
    let clock = match plan.event {
        Some(event) => format!(
            "a sample with {} KiB of stack each {} ms of CPU time by {}",
            plan.stack_bytes >> 10,
            plan.period_us / 1000.0,
            event.name()
        ),
        None => "no samples of the clock".into(),
    };
    let counters = counters.iter().map(|it| match it.interval {
        1 => format!("a sample at each of {}; ", it.name),
        interval => format!("a sample each {interval} {}; ", it.name),
    });
    let counters: String = counters.collect();
    let openmp = match library {
        Some(path) => format!("OpenMP events by {}", path.display()),
        None => "no OpenMP events".into(),
    };
    let scope = if plan.follow {
        "the program and its children"
    } else {
        "the program alone"
    };
    format!("records {scope}: {clock}; {counters}context switches; {openmp}")
}

/// `-n`: prints what would be recorded with what the kernel permits, and runs nothing.
///
/// # Errors
/// [`RecordError`].
pub fn dry_run(request: &Request) -> Result<(), RecordError> {
    let directory = experiment::choose(&request.target).map_err(other)?;
    let signals = Signals::block().map_err(|error| other(format!("signalfd: {error}")))?;
    let (found, _) = library_and_arena();
    // A child that is never released shows which events can be opened.
    let held = launch::hold(&request.command, &[], signals.inherited())
        .map_err(|error| other(format!("cannot start a process: {error}")))?;
    let rings = Rings::open(held.pid, wished(request), &request.counters, situation());
    let rings = rings.map_err(other)?;
    say(format!("would make {}", directory.display()));
    say(describe(
        &rings.plan,
        &request.counters,
        found.as_deref().ok(),
    ));
    rings.notes.iter().for_each(say);
    if let Err(reason) = found {
        say(reason);
    }
    Ok(())
}
