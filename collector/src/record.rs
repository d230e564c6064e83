//! A recording, from the launch of the program to the last row.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::time::Duration;

use omp_ring::consumer::{ArenaOptions, Consumer};
use omp_ring::control::SIGNALS_VARIABLE;
use omp_ring::samples::SampleReader;

use crate::attach::Target;
use crate::cli::Request;
use crate::clock::{self, Line, Pair};
use crate::dump::Dump;
use crate::launch::{self, ExecError, Held};
use crate::merge::Merge;
use crate::no_events::Cause;
use crate::openmp::OpenMp;
use crate::own_samples::OwnSamples;
use crate::perf::counters::{self, Counter};
use crate::perf::open::{Rings, try_counter};
use crate::perf::plan::{Plan, Situation};
use crate::say::{print_line, say};
use crate::session::{self, Session};
use crate::signals::{Inherited, Signals};
use crate::source::Source;
use crate::sys::{self, Ended};
use crate::{closing, experiment, header, launcher, library, python};
use processes::{LoadObjects, Processes};

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

/// Runs the program and records it. Returns its exit status. `local_ranks` is the number of recordings
/// that run on this machine at the same time, for ranks of one program.
///
/// # Errors
/// [`RecordError`] if the program did not run. No experiment is left then.
pub fn record(request: &Request, local_ranks: usize) -> Result<i32, RecordError> {
    // Reports an unusable name before anything starts. The directory is created when all else is
    // ready.
    experiment::choose(&request.target).map_err(other)?;
    // The ranks of a job do not wait for each other: where one replaces the whole of an older job, its program must
    // be there.
    if request.target.replace && request.target.rank_in_job().is_some() {
        is_there(&request.command[0])?;
    }
    let dump = request.dump_events.as_deref().map(Dump::create);
    let dump = dump.transpose().map_err(other)?;
    let mut signals = Signals::block().map_err(|error| other(format!("signalfd: {error}")))?;
    let (found, arena) = library_and_arena(request);
    let without = found.as_ref().err().map(without_events);
    without.iter().for_each(say);
    let library = found.as_deref().ok();
    let first_pair = Pair::read(arena.as_ref().map_or(clock::RAW, Consumer::clock));
    let options = &request.control;
    if options.begins_paused()
        && let Some(arena) = &arena
    {
        arena.set_paused(true);
    }
    let arena_path = arena.as_ref().map(Consumer::path);
    let prepared = prepare(
        request,
        found.as_deref(),
        arena_path.as_deref(),
        signals.inherited(),
        local_ranks,
    )?;
    let Prepared {
        held,
        environment,
        source,
        mut notes,
        start,
    } = prepared;
    // After the fork, so that the program keeps the priority that its user gave it.
    sys::raise_priority();
    let pid = held.pid;

    let mut header = header::initial(request, &environment, start);
    if let Source::Own { .. } = &source {
        notes.iter().for_each(say);
    }
    notes.extend(without);
    header.notes = notes;
    header.sampling = header::sampling(&source.plan(), &Default::default(), (0, 0));
    let (writer, made) = experiment::make(&request.target, &header).map_err(other)?;
    if request.verbose {
        say(describe(&source.plan(), &request.counters, library));
    }
    let program = request.command[0].to_string_lossy().into_owned();
    if let Err(cause) = held.release() {
        return Err(RecordError::Program { program, cause });
    }
    made.keep();
    print_creating(writer.directory(), pid);

    let objects = LoadObjects::new(library.map(Path::to_owned), sys::vdso().as_deref());
    let processes = Processes::new(objects, !request.follow);
    let mut openmp = OpenMp::new(arena, Line::new(first_pair));
    openmp.dump = dump;
    let mut merge = Merge::new(processes, openmp, start);
    merge.control.begin(options);
    let library = found.map(|_| ());
    let mut session = Session::new(pid, merge, writer, header, library, options.clone());
    session.python = request.python;
    session.recorded_calls = request.calls;
    let ended = run_session(&mut session, source, &mut signals, request.verbose);
    let status = ended.unwrap_or_else(|| session::wait(pid, &mut signals));
    closing::say_result(request, session.directory(), &mut signals);
    Ok(status.status())
}

/// Checks that a word of the command line names a program.
fn is_there(word: &OsStr) -> Result<(), RecordError> {
    if launcher::program(word).is_some() {
        return Ok(());
    }
    let is_file = Path::new(word).is_file();
    let errno = if is_file { libc::EACCES } else { libc::ENOENT };
    Err(RecordError::Program {
        program: word.to_string_lossy().into_owned(),
        cause: ExecError(std::io::Error::from_raw_os_error(errno)),
    })
}

/// A program that waits to be run, and what will record it.
struct Prepared {
    held: Held,
    environment: Vec<(OsString, OsString)>,
    source: Source,
    /// What cannot be recorded, and why.
    notes: Vec<String>,
    /// CLOCK_MONOTONIC_RAW at the start, in nanoseconds.
    start: u64,
}

/// Prepares to run the program, recorded by perf events, or without them where they are forbidden.
fn prepare(
    request: &Request,
    library: Result<&Path, &Cause>,
    arena: Option<&str>,
    inherited: Inherited,
    local_ranks: usize,
) -> Result<Prepared, RecordError> {
    let hold = |samples: Option<&str>| {
        let mut environment =
            library::environment(library.ok().zip(arena), samples, request.follow);
        let signals = request.control.signals();
        let signals = signals.map(|signals| (SIGNALS_VARIABLE.into(), signals.into()));
        environment.retain(|(name, _)| name != SIGNALS_VARIABLE);
        environment.extend(signals);
        if request.python == python::Recorded::All {
            environment.retain(|(name, _)| name != python::SUPPORT_VARIABLE);
            environment.push((python::SUPPORT_VARIABLE.into(), "1".into()));
        }
        let held = launch::hold(&request.command, &environment, inherited)
            .map_err(|error| other(format!("cannot start a process: {error}")))?;
        Ok((held, environment))
    };
    let (held, environment) = hold(None)?;
    let plan = wished(request, local_ranks);
    let impossible = match Rings::open(&[held.pid], plan, &request.counters, situation()) {
        Ok(mut rings) => {
            let notes = std::mem::take(&mut rings.notes);
            return Ok(Prepared {
                held,
                environment,
                source: Source::Perf(Box::new(rings)),
                notes,
                start: clock::raw_now(),
            });
        }
        // The library samples in its stead, if the program can load it. It runs as alone if not.
        Err(impossible)
            if matches!(library, Ok(_) | Err(Cause::CannotLoad(_)))
                && request.counters.is_empty() =>
        {
            impossible
        }
        Err(impossible) => return Err(other(impossible)),
    };
    // It ends without running the program.
    drop(held);
    let period_ns = request
        .period_us
        .map_or(0, |period| (period * 1000.0) as u64);
    let reader = SampleReader::create(period_ns, sys::file_size_limit()).map_err(|error| {
        other(format!(
            "{impossible}; nor is there memory for samples: {error}"
        ))
    })?;
    let (held, environment) = hold(Some(&reader.path()))?;
    let start = clock::raw_now();
    let samples = OwnSamples::new(reader, held.pid, request.follow, start);
    Ok(Prepared {
        held,
        environment,
        source: Source::Own {
            plan: plan.without_perf(),
            samples: Box::new(samples),
        },
        notes: vec![format!("{impossible}. {WITHOUT_PERF}")],
        start,
    })
}

/// What a recording without perf events lacks.
const WITHOUT_PERF: &str = "Until then the program's threads sample themselves, without kernel frames \
                            and page faults, and what they did while off a CPU is inferred";

/// Records a process that runs already, until it ends or a signal arrives. Returns the status of success:
/// that of the process is not known to a process that is not its parent.
///
/// # Errors
/// [`RecordError`] if the process cannot be recorded. No experiment is left then.
pub fn attach(request: &Request, pid: i32) -> Result<i32, RecordError> {
    let target = Target::of(pid, request.follow).map_err(other)?;
    experiment::choose(&request.target).map_err(other)?;
    let mut signals = Signals::block().map_err(|error| other(format!("signalfd: {error}")))?;
    sys::raise_file_limit();
    sys::raise_priority();
    let (mut rings, note) = open_on_threads(request, &target)?;

    let start = rings.enable().map_err(other)?;
    let cpu_time_before = sys::cpu_time(pid).unwrap_or(0);
    let found = target.records();
    let mut header = header::initial(request, &target.environment, start);
    let text = |word: &OsString| word.to_string_lossy().into_owned();
    header.command = target.command.iter().map(text).collect();
    header.directory.clone_from(&target.directory);
    header.attached = true;
    header.notes = rings.notes.clone();
    header
        .notes
        .extend(target.notes.iter().cloned().chain(note));
    header.sampling = header::sampling(&rings.plan, &Default::default(), (0, 0));
    if request.dry_run {
        let directory = experiment::choose(&request.target).map_err(other)?;
        say(format!("would make {}", directory.display()));
        say(describe(&rings.plan, &request.counters, None));
        header.notes.iter().for_each(say);
        return Ok(0);
    }
    let (writer, made) = experiment::make(&request.target, &header).map_err(other)?;
    if request.verbose {
        say(describe(&rings.plan, &request.counters, None));
    }
    made.keep();
    print_creating(writer.directory(), pid);
    target.notes.iter().for_each(say);

    let objects = LoadObjects::new(None, sys::vdso().as_deref());
    let mut processes = Processes::new(objects, !request.follow);
    processes.cpu_time_before = cpu_time_before;
    let first_pair = Pair::read(clock::RAW);
    let mut merge = Merge::new(processes, OpenMp::new(None, Line::new(first_pair)), start);
    std::thread::sleep(FIRST_SWITCHES);
    merge.begin_with(&mut rings, found);
    let library = Err(Cause::Attached);
    merge.control.begin(&request.control);
    let options = request.control.clone();
    let mut session = Session::new(pid, merge, writer, header, library, options);
    let ended = run_session(
        &mut session,
        Source::Perf(Box::new(rings)),
        &mut signals,
        request.verbose,
    );
    closing::say_result(request, session.directory(), &mut signals);
    Ok(ended.map_or(1, Ended::status))
}

/// The time in which most threads that do not sleep are switched in or out once.
const FIRST_SWITCHES: Duration = Duration::from_millis(20);

/// Opens the events of all threads of a process that runs. A thread that another one makes meanwhile may
/// inherit some of them: then all are opened anew. Also returns a note if such a thread remained.
fn open_on_threads(
    request: &Request,
    target: &Target,
) -> Result<(Rings, Option<String>), RecordError> {
    /// A program that makes threads faster than this is recorded without some of them.
    const TRIES: usize = 20;
    let plan = wished(request, 1);
    for _ in 1..TRIES {
        let tids = target.threads();
        let rings = Rings::open(&tids, plan, &request.counters, situation()).map_err(other)?;
        let is_new = |tid: &i32| tids.binary_search(tid).is_err();
        if !target.threads().iter().any(is_new) {
            return Ok((rings, None));
        }
    }
    let rings =
        Rings::open(&target.threads(), plan, &request.counters, situation()).map_err(other)?;
    let note = "the process made threads all the time: a thread that began while its events were being \
                opened may be recorded in part, or not at all";
    Ok((rings, Some(note.to_owned())))
}

/// Prints the experiment's name as gprofng does.
pub(crate) fn print_creating(directory: &Path, pid: i32) {
    let mut creating = b"Creating experiment directory ".to_vec();
    creating.extend(directory.as_os_str().as_bytes());
    creating.extend(format!(" (Process ID: {pid}) ...").into_bytes());
    print_line(creating);
}

/// Records until the program has ended. Returns how it ended, if that is known: the program runs, and
/// its end must be awaited even if the recording fails.
fn run_session(
    session: &mut Session,
    source: Source,
    signals: &mut Signals,
    verbose: bool,
) -> Option<Ended> {
    let run = || session.run(source, signals, verbose);
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

/// The library and the arena that record OpenMP events of a program, or why there are none.
fn library_and_arena(request: &Request) -> (Result<PathBuf, Cause>, Option<Consumer>) {
    if let Some(obstacle) = library::obstacle(&request.command[0]) {
        return (Err(Cause::CannotLoad(obstacle)), None);
    }
    match library::find().and_then(|library| Ok((library, arena(request)?))) {
        Ok((library, arena)) => (Ok(library), Some(arena)),
        Err(reason) => (Err(Cause::NoLibrary(reason)), None),
    }
}

/// What is said where the program's OpenMP events cannot be recorded.
fn without_events(cause: &Cause) -> String {
    format!("the program is recorded without OpenMP events: {cause}")
}

/// The shared memory for OpenMP events, for as many threads as the limit of file sizes permits.
fn arena(request: &Request) -> Result<Consumer, String> {
    let options = ArenaOptions {
        python: request.python != python::Recorded::Nothing,
        calls: request.calls,
        ..ArenaOptions::default()
    };
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

fn wished(request: &Request, local_ranks: usize) -> Plan {
    let cpus = sys::own_cpus().len() * local_ranks;
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
    let switches = if plan.switches {
        "context switches"
    } else {
        "time off CPUs by /proc"
    };
    format!("records {scope}: {clock}; {counters}{switches}; {openmp}")
}

/// `-n`: prints what would be recorded with what the kernel permits, and runs nothing.
///
/// # Errors
/// [`RecordError`].
pub fn dry_run(request: &Request, local_ranks: usize) -> Result<(), RecordError> {
    let directory = experiment::choose(&request.target).map_err(other)?;
    let signals = Signals::block().map_err(|error| other(format!("signalfd: {error}")))?;
    let (found, arena) = library_and_arena(request);
    // A child that is never released shows which events can be opened.
    let arena_path = arena.as_ref().map(Consumer::path);
    let library = found.as_deref().ok();
    let prepared = prepare(
        request,
        found.as_deref(),
        arena_path.as_deref(),
        signals.inherited(),
        local_ranks,
    )?;
    say(format!("would make {}", directory.display()));
    say(describe(
        &prepared.source.plan(),
        &request.counters,
        library,
    ));
    prepared.notes.iter().for_each(say);
    if let Err(cause) = &found {
        say(without_events(cause));
    }
    Ok(())
}
