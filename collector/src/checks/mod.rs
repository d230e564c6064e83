//! `collect -r`: runs a program and checks it, instead of sampling it.
//!
//! The library in the program writes streams ([`race_stream`]), the checkers read them here
//! ([`race_checker`]), and what they found is named ([`race_names`]) and stored beside an
//! experiment without samples. `-r compare` has a library of its own (`compare`).

mod compare;
mod program;

use std::ffi::OsString;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::time::{Duration, Instant};

use ::experiment::findings::{Check, Coverage, Findings};
use ::experiment::{ExperimentError, Writer};

use omp_ring::address_space_limit;
use processes::files::MappedFiles;
use processes::records::Mapping;
use race_checker::misuse::Misuse;
use race_checker::replay::Replay;
use race_checker::streams::Streams;
use race_checker::synchronisation::{Deadlock, Synchronisation};
use race_names::{GoesOn, Places};
use race_stream::consumer::{Consumer, SlotState};
use race_stream::record::Checks;
use symbolize::Files;

use crate::after::After;
use crate::cli::{Checked, Request};
use crate::dump::Dump;
use crate::library::{SANITIZER_OPTION, SANITIZER_VARIABLE};
use crate::record::RecordError;
use crate::say::say;
use crate::signals::Signals;
use crate::sys::{self, Ended};
use crate::{clock, closing, experiment, header, launch, library, proc};

/// File name of the library that is loaded into the program.
pub const LIBRARY: &str = "libparallax_races.so";

/// The names of the compilers' own runtimes, whose place the library takes.
const REPLACED: [&str; 5] = [
    "libclang_rt.tsan-x86_64.so",
    "libclang_rt.tsan.so",
    "libtsan.so.2",
    "libtsan.so.1",
    "libtsan.so.0",
];

/// Where the dynamic linker looks for libraries first (ld.so(8)).
const PATH_VARIABLE: &str = "LD_LIBRARY_PATH";

fn other(what: impl ToString) -> RecordError {
    RecordError::Other(what.to_string())
}

/// Runs the program under the checks, or compares its regions. Returns its exit status.
///
/// # Errors
/// [`RecordError`] if the program did not run. No experiment is left then.
pub fn record(request: &Request, checked: Checked) -> Result<i32, RecordError> {
    match checked {
        Checked::For(checks) => check(request, checks),
        Checked::Compared { all } => compare::record(request, all),
    }
}

fn check(request: &Request, checks: Checks) -> Result<i32, RecordError> {
    let limit = limit(request).map_err(other)?;
    experiment::choose(&request.target).map_err(other)?;
    let facts = program::check(&request.command[0], checks).map_err(other)?;
    let dump = request.dump_events.as_deref().map(Dump::create);
    let dump = dump.transpose().map_err(other)?;
    let mut signals = Signals::block().map_err(|error| other(format!("signalfd: {error}")))?;
    let library = library::find_beside(LIBRARY).map_err(other)?;
    let links = links(&library).map_err(|error| {
        other(format!(
            "no folder for the library can be made in {}: {error}",
            std::env::temp_dir().display()
        ))
    })?;
    let consumer = match library::obstacle(&request.command[0]) {
        Some(obstacle) => Err(format!(
            "{LIBRARY} cannot be loaded into the program: {obstacle}"
        )),
        None => shared_memory(checks).map_err(|error| no_memory(&error)),
    };
    let environment = match &consumer {
        Ok(consumer) => environment(&library, links.path(), &consumer.path(), request.follow),
        Err(_) => std::env::vars_os().collect(),
    };
    let ready = || {
        let presence = consumer.as_ref().ok().map(Consumer::stay).transpose();
        presence.map_err(|error| other(format!("cannot start a thread: {error}")))
    };
    let (begun, _presence) = begin(request, &environment, words(checks), &signals, ready)?;
    let Begun {
        pid,
        start,
        mut header,
        writer,
    } = begun;

    let mut session = Session {
        consumer,
        streams: Streams::default(),
        replay: Replay::default(),
        places: Places::new(),
        files: MappedFiles::default(),
        words: Vec::new(),
        hang: None,
        is_told: false,
        checks,
        facts,
        dump,
        writer,
        is_stored: true,
        begin: Instant::now(),
        store_at: Instant::now() + STORE_EVERY,
    };
    if checks.has(Checks::DEADLOCK) {
        session.replay.watch(Synchronisation::new(can_cancel()));
    }
    if let Some(bytes) = crate::header::memory() {
        session.replay.limit(bytes / 8);
        session.streams.limit(bytes / 8);
    }
    let ended = session.run(pid, &mut signals, limit);
    header.duration_ns = clock::raw_now().saturating_sub(start);
    header::end(&mut header, ended);
    let mut after = After::new(&mut signals, None);
    let losses = session.finish(!matches!(ended, Ended::Exited(_)), &mut after);
    let findings = session.named_findings(losses, &mut after);
    drop(after);
    if let Some(said) = findings.coverage.shortfall() {
        say(said.replacen('N', "n", 1));
    }
    if !session.is_told {
        let happened = findings.deadlocks.iter().filter(|it| it.happened);
        happened.for_each(|deadlock| say(&deadlock.detail));
    }
    let stored = write(&mut session.writer, &findings);
    if let Err(error) = stored.and_then(|()| session.writer.finish(&header)) {
        say(error);
    }
    closing::say_result(request, session.writer.directory(), &mut signals);
    Ok(ended.status())
}

/// A program that runs, and the experiment of it.
struct Begun {
    pid: i32,
    /// When it was started.
    start: u64,
    header: ::experiment::header::Header,
    writer: Writer,
}

/// Starts the program with an experiment in which nothing is stored yet. `ready` is called before the program's own
/// code runs: until then there is one thread, which forks.
fn begin<T>(
    request: &Request,
    environment: &[(OsString, OsString)],
    checks: Vec<Check>,
    signals: &Signals,
    ready: impl FnOnce() -> Result<T, RecordError>,
) -> Result<(Begun, T), RecordError> {
    let held = launch::hold(&request.command, environment, signals.inherited())
        .map_err(|error| other(format!("cannot start a process: {error}")))?;
    let pid = held.pid;
    let start = clock::raw_now();
    let header = header::initial(request, environment, start);
    let (mut writer, made) = experiment::make(&request.target, &header).map_err(other)?;
    store_nothing(&mut writer, checks);
    let program = request.command[0].to_string_lossy().into_owned();
    let ready = ready()?;
    if let Err(cause) = held.release() {
        return Err(RecordError::Program { program, cause });
    }
    made.keep();
    crate::record::print_creating(writer.directory(), pid);
    let begun = Begun {
        pid,
        start,
        header,
        writer,
    };
    Ok((begun, ready))
}

/// The part of a limited address space that the shared memory may take: the program needs the rest.
const SHARE: u64 = 4;

/// The memory that the library shares with us.
///
/// # Errors
/// Those of the system; `ENOMEM` where the program would have too little left.
fn shared_memory(checks: Checks) -> std::io::Result<Consumer> {
    let is_small = |limit: u64| limit / SHARE < Consumer::mapped();
    if address_space_limit().is_some_and(is_small) {
        return Err(std::io::Error::from_raw_os_error(libc::ENOMEM));
    }
    Consumer::create(checks)
}

/// Why nothing is checked without the memory that the library shares with us.
fn no_memory(error: &std::io::Error) -> String {
    no_memory_for(LIBRARY, error)
}

/// Why a library has no memory to share with us.
fn no_memory_for(library: &str, error: &std::io::Error) -> String {
    let hint = match error.raw_os_error() {
        Some(libc::EFBIG) => "; files may not be as long (ulimit -f)",
        Some(libc::ENOMEM) => "; there is too little address space (ulimit -v)",
        _ => "",
    };
    format!("the memory that {library} shares with collect cannot be made: {error}{hint}")
}

/// Stores that nothing is stored yet, for the case that this process is killed before it stores more.
fn store_nothing(writer: &mut Writer, checks: Vec<Check>) {
    let nothing = Findings {
        checks,
        coverage: Coverage {
            losses: vec![
                "the recording was cut off before anything was stored: what the program did is unknown"
                    .into(),
            ],
            ..Coverage::default()
        },
        ..Findings::default()
    };
    // Where the file system refuses, the last store says so.
    let _ = write(writer, &nothing);
}

/// Stores what was found, and digests of the sources that it names.
fn write(writer: &mut Writer, findings: &Findings) -> Result<(), ExperimentError> {
    writer.symbols(&symbolize::digests(findings.files(), &mut Files::default()))?;
    writer.findings(findings)
}

/// The time after which the program is ended: nothing is gained by letting one go on unchecked.
fn limit(request: &Request) -> Result<Option<Duration>, String> {
    match request.control.span {
        None => Ok(None),
        Some((Duration::ZERO, limit)) => Ok(limit),
        Some(_) => Err("-t FROM-TO is not supported with -r: give the time at which to end".into()),
    }
}

/// Whether the program may cancel constructs: nothing but its environment can permit that (OpenMP API
/// Specification 5.2, 21.2.6).
fn can_cancel() -> bool {
    std::env::var("OMP_CANCELLATION").is_ok_and(|value| {
        let value = value.trim();
        !(value.is_empty() || value == "0" || value.eq_ignore_ascii_case("false"))
    })
}

/// A folder in which the library has the names of the runtimes whose place it takes.
fn links(library: &Path) -> std::io::Result<tempfile::TempDir> {
    let folder = tempfile::Builder::new().prefix("parallax-").tempdir()?;
    for name in REPLACED {
        symlink(library, folder.path().join(name))?;
    }
    Ok(folder)
}

/// The program's environment.
fn environment(
    library: &Path,
    links: &Path,
    memory: &str,
    follow: bool,
) -> Vec<(OsString, OsString)> {
    let mut variables: Vec<(OsString, OsString)> = std::env::vars_os().collect();
    let entries = [
        (library::PRELOAD_VARIABLE, library.as_os_str()),
        (PATH_VARIABLE, links.as_os_str()),
        (SANITIZER_VARIABLE, SANITIZER_OPTION.as_ref()),
    ];
    library::add(&mut variables, &entries, follow);
    variables.retain(|(name, _)| name != race_stream::VARIABLE);
    variables.push((race_stream::VARIABLE.into(), memory.into()));
    variables
}

/// A run of a program under checks.
struct Session {
    /// The memory shared with the program, or why nothing is checked.
    consumer: Result<Consumer, String>,
    streams: Streams,
    replay: Replay,
    places: Places,
    /// The files of the program's mappings.
    files: MappedFiles,
    words: Vec<u64>,
    /// The deadlock in which the program hangs, as of the last time that nothing moved.
    hang: Option<Deadlock>,
    /// The user has been told of it.
    is_told: bool,
    checks: Checks,
    /// What the program's file tells.
    facts: program::Facts,
    /// Gets the threads' records as text, if it is asked for.
    dump: Option<Dump>,
    writer: Writer,
    /// Nothing was read since the findings were stored.
    is_stored: bool,
    begin: Instant,
    /// When the findings may be stored next.
    store_at: Instant,
}

/// Time between two stores of the findings, for the case that this process is killed.
const STORE_EVERY: Duration = Duration::from_secs(1);
/// As a multiple of the time that a store took: the least time until the next one.
const STORE_PAUSE: u32 = 50;
/// As a part of the time since the program's start: likewise. Stores stay in the file.
const STORE_PART: u32 = 50;
/// The most findings of a kind that are stored while the program runs.
const MOST_STORED: usize = 1000;
/// The time in which those are named.
const NAMING: Duration = Duration::from_millis(20);
/// The most bytes of load objects with which a store names anything: to read more takes longer.
const NAMED_BYTES: u64 = 64 << 20;

/// Time without a record after which a hang is told of.
const HANG_AFTER: Duration = Duration::from_secs(10);
/// Time between SIGTERM and SIGKILL.
const GRACE: Duration = Duration::from_secs(2);

/// Rounds without anything to read between two looks at what is mapped.
const LOOK_EVERY: u32 = 100;

impl Session {
    /// Reads while the program runs.
    fn run(&mut self, pid: i32, signals: &mut Signals, limit: Option<Duration>) -> Ended {
        let mut rounds = 0;
        let mut moved = Instant::now();
        let mut end = limit.map(|limit| (moved + limit, libc::SIGTERM));
        loop {
            let taken = self.round();
            if !self.is_stored && Instant::now() >= self.store_at {
                self.store();
            }
            if let Some((at, signal)) = end
                && Instant::now() >= at
            {
                if signal == libc::SIGTERM {
                    self.note_hang();
                }
                sys::send(pid, signal);
                end = Some((at + GRACE, libc::SIGKILL)).filter(|_| signal == libc::SIGTERM);
            }
            if self.consumer.as_ref().is_ok_and(Consumer::is_waiting) {
                self.look(pid);
                if let Ok(consumer) = &self.consumer {
                    consumer.let_go_on();
                }
            }
            if taken > 0 {
                moved = Instant::now();
                // Signals wait no longer than it takes to read a ring.
                for signal in signals.arrived().for_program {
                    sys::send(pid, signal);
                }
                continue;
            }
            if rounds % LOOK_EVERY == 0 {
                self.look(pid);
            }
            rounds += 1;
            if !self.is_told && moved.elapsed() > HANG_AFTER {
                self.is_told = self.tell_hang();
            }
            let arrived = signals.wait_for(1);
            if arrived.ending {
                self.note_hang();
            }
            for signal in arrived.for_program {
                sys::send(pid, signal);
            }
            match sys::try_wait(pid) {
                Ok(None) => {}
                Ok(Some(ended)) => return ended,
                Err(_) => return Ended::Unknown,
            }
        }
    }

    /// Notes the deadlock in which the program is now, for a signal may change that.
    fn note_hang(&mut self) {
        let now = self.replay.hang();
        self.hang = now.or(self.hang.take());
    }

    /// Says in which deadlock the program hangs. `false` if it is in none.
    fn tell_hang(&mut self) -> bool {
        self.note_hang();
        let hang = self.hang.clone();
        self.places.set_locks(self.replay.lock_places());
        let contexts = self.replay.contexts();
        let places = &mut self.places;
        let named = race_names::deadlocks(hang.as_slice(), contexts, places, &mut |_, _| true);
        for deadlock in &named {
            say(format!(
                "nothing has moved for {} s: {}; end the program with Ctrl-C to keep what was found",
                HANG_AFTER.as_secs(),
                deadlock.detail
            ));
        }
        !named.is_empty()
    }

    /// Reads what there is. Returns how many words.
    fn round(&mut self) -> usize {
        let Ok(consumer) = &self.consumer else {
            return 0;
        };
        let mut taken = 0;
        for slot in 0..consumer.slots() {
            let (state, _) = consumer.state(slot);
            if state == SlotState::Free {
                continue;
            }
            self.words.clear();
            consumer.take(slot, &mut self.words);
            taken += self.words.len();
            self.streams.add(slot, &self.words);
            if state == SlotState::Ended {
                consumer.release(slot);
            }
        }
        if taken > 0 {
            self.replay();
            self.is_stored = false;
        }
        taken
    }

    /// Stores what was found so far. Names take time, and the program waits meanwhile: what is not named
    /// soon stands at its addresses.
    fn store(&mut self) {
        let start = Instant::now();
        let has_time = self.places.bytes() <= NAMED_BYTES;
        let mut is_named = true;
        let losses = vec![
            "the recording was cut off: what came after the last of these findings is unknown"
                .into(),
        ];
        let mut findings = self.findings(losses, MOST_STORED, &mut |_, _| {
            is_named = has_time && start.elapsed() < NAMING;
            is_named
        });
        if !is_named {
            findings.coverage.losses.push(
                "how certain findings are that stand at addresses: the recording was cut off before they \
                 were named, and only the first thousand of each kind were stored"
                    .into(),
            );
        }
        // Where the file system refuses, the last store says so.
        let _ = write(&mut self.writer, &findings);
        self.is_stored = true;
        let pause = (STORE_PAUSE * start.elapsed()).max(self.begin.elapsed() / STORE_PART);
        self.store_at = Instant::now() + pause.max(STORE_EVERY);
    }

    /// Replays what is in order.
    fn replay(&mut self) {
        let (replay, places) = (&mut self.replay, &mut self.places);
        self.streams.drain(&mut |slot, record| {
            if let Some(dump) = &mut self.dump {
                dump.line(slot, format_args!("{record:x?}"));
            }
            replay.record(slot, record, places)
        });
    }

    /// Notes what is mapped in the process that records: the one that was started as `pid`, or one that
    /// this has started.
    fn look(&mut self, pid: i32) {
        let Ok(consumer) = &self.consumer else {
            return;
        };
        let own = consumer.process().map(u32::cast_signed);
        // In a container of its own, a process has another number for itself.
        let all = own.into_iter().chain([pid]);
        let found = all.map(|process| (process, proc::mappings(process).1));
        let has_library = |(_, mappings): &(i32, Vec<Mapping>)| {
            let mut paths = mappings.iter().map(|mapping| &mapping.path);
            paths.any(|path| String::from_utf8_lossy(path).contains(LIBRARY))
        };
        let Some((process, mappings)) = found.into_iter().find(has_library) else {
            return;
        };
        for mapping in mappings {
            if !self.places.is_mapped(mapping.start) {
                let path = self.files.name(&mapping);
                let image = self.files.image(process, &mapping);
                let range = (mapping.start, mapping.length, mapping.offset);
                self.places.map(range, &path, image);
            }
        }
    }

    /// Checks what is left when the program has ended. Returns what was not checked.
    ///
    /// `has_hung`: the program did not end by itself. One that does may leave threads at a barrier.
    fn finish(&mut self, has_hung: bool, after: &mut After<'_>) -> Vec<String> {
        let mut goes_on = || after.goes_on(|| "checking what the program did last".to_owned());
        while goes_on() && self.round() > 0 {}
        let mut missing = 0;
        while goes_on() && self.streams.waiting() > 0 {
            missing += self.streams.skip().max(1);
            self.replay();
        }
        if !goes_on() {
            return vec![
                "what the program did last: a signal ended the checking after the program's end"
                    .to_owned(),
            ];
        }
        if let Some(hang) = self.replay.hang()
            && (has_hung || hang.is_of_locks())
        {
            self.hang = Some(hang);
        }
        self.replay.finish();
        if let Some(state) = self.replay.synchronisation() {
            state.finish();
        }
        let mut losses = Vec::new();
        if missing > 0 {
            losses.push(format!(
                "events are missing, {missing} of them: the program ended within them"
            ));
        }
        losses
    }

    /// What was not checked so far.
    fn losses(&mut self) -> Vec<String> {
        let consumer = match &self.consumer {
            Ok(consumer) => consumer,
            Err(why) => return vec![format!("nothing was checked: {why}")],
        };
        if consumer.process().is_none() {
            return vec![self.facts.why_nothing()];
        }
        let mut losses: Vec<String> = self.facts.why_silent().into_iter().collect();
        let within = self.places.with_runtime();
        if !within.is_empty() {
            losses.push(format!(
                "GCC's OpenMP runtime is linked into {}, and so tells of nothing that OpenMP does: link it as a \
                 shared library",
                within.join(", ")
            ));
        }
        match consumer.unchecked() {
            0 => {}
            1 => losses.push("1 child process, for the first process alone is checked".into()),
            count => losses.push(format!(
                "{count} child processes, for the first process alone is checked"
            )),
        }
        if self.streams.broken() > 0 {
            losses.push(
                "the checks ended early: what a thread had written for them makes no sense, as if the \
                 program had overwritten it"
                    .into(),
            );
        }
        if self.streams.is_overfull() {
            losses.push(
                "the checks ended early: what threads had written after an event that is missing took more \
                 than an eighth of the machine's memory"
                    .into(),
            );
        }
        let mut lose = |count: u64, what: &str| {
            if count > 0 {
                losses.push(format!("{count} {what}"));
            }
        };
        lose(
            consumer.refused(),
            "threads were not checked: there is room for 512 at a time",
        );
        lose(
            self.replay.given_up(),
            "pairs of accesses were not compared: their order would take too long to find",
        );
        lose(
            self.replay.rounds_left_out(),
            "times the iterations of one thread were not compared with each other: they were too many",
        );
        lose(
            self.replay.accesses_left_out(),
            "accesses were not compared: those between two barriers took more than an eighth of the \
             machine's memory",
        );
        match consumer.unmarked() {
            Some(bytes) => lose(
                bytes,
                "bytes of the heap were not checked for uninitialised reads: filling them would take more \
                 than half of the machine's memory",
            ),
            None => losses.push(
                "uninitialised reads were not looked for: the system has no room for marks of the \
                 program's memory; try without a limit on address space (ulimit -v)"
                    .into(),
            ),
        }
        losses
    }

    /// What was found, with names as far as a signal lets there be.
    fn named_findings(&mut self, losses: Vec<String>, after: &mut After<'_>) -> Findings {
        let mut findings = self.findings(losses, usize::MAX, &mut |named, all| {
            after.goes_on(|| format!("naming findings, {named} of {all}"))
        });
        if after.is_ended() {
            findings.coverage.losses.push(
                "how certain findings are that stand at addresses: a signal ended the naming"
                    .to_owned(),
            );
        }
        findings
    }

    /// What was found so far.
    ///
    /// `losses`: what was not checked, besides what the session knows. `most`: how many of each kind are taken.
    fn findings(&mut self, mut losses: Vec<String>, most: usize, goes_on: GoesOn<'_>) -> Findings {
        losses.extend(self.losses());
        let consumer = self.consumer.as_ref().ok();
        // The program can write to these counts.
        let waited = consumer.map_or(0, |consumer| {
            let each = (0..consumer.slots()).map(|slot| consumer.waited(slot));
            each.fold(0, u64::saturating_add)
        });
        let refused = consumer.map_or(0, Consumer::refused);
        self.places.set_locks(self.replay.lock_places());
        let (replay, places) = (&mut self.replay, &mut self.places);
        let races = replay.races().all();
        let races = &races[..races.len().min(most)];
        let races = race_names::races(races, replay.contexts(), places, &mut *goes_on);
        let unwritten = replay.unwritten().all();
        let unwritten = &unwritten[..unwritten.len().min(most)];
        let contexts = replay.contexts();
        let uninitialised = race_names::uninitialised(unwritten, contexts, places, &mut *goes_on);
        let (mut deadlocks, mut misuse) = (Vec::new(), Vec::new());
        if let Some(state) = replay.synchronisation() {
            let is_known = |it: &&Misuse| refused == 0 || !it.kind.rests_on_absence();
            let mut misuses: Vec<&Misuse> = state.misuses().iter().filter(is_known).collect();
            // What may be none comes last.
            misuses.sort_by_key(|it| it.kind.rests_on_text());
            let misuses: Vec<Misuse> = misuses.into_iter().take(most).cloned().collect();
            let stuck = state.deadlocks(self.hang.clone());
            let stuck = &stuck[..stuck.len().min(most)];
            let contexts = replay.contexts();
            deadlocks = race_names::deadlocks(stuck, contexts, places, &mut *goes_on);
            misuse = race_names::misuses(&misuses, contexts, places, &mut *goes_on);
        }
        let (uninstrumented, own_uninstrumented) = if sees_accesses(self.checks) {
            self.places.uninstrumented()
        } else {
            Default::default()
        };
        let mut findings = Findings {
            checks: words(self.checks),
            coverage: Coverage {
                accesses: self.replay.accesses(),
                threads: self.replay.threads(),
                waited: waited as f64 / 1e9,
                uninstrumented,
                own_uninstrumented,
                losses,
            },
            races,
            deadlocks,
            misuse,
            uninitialised,
            ..Findings::default()
        };
        // What few things were seen were not seen in their order.
        if findings.coverage.is_nothing_checked() {
            findings.races.clear();
            findings.deadlocks.clear();
            findings.misuse.clear();
            findings.uninitialised.clear();
        }
        findings
    }
}

/// Whether the checks see the program's accesses to memory.
fn sees_accesses(checks: Checks) -> bool {
    checks.has(Checks::RACE) || checks.has(Checks::INIT)
}

/// The checks by their words.
fn words(checks: Checks) -> Vec<Check> {
    [
        (Checks::RACE, Check::Race),
        (Checks::DEADLOCK, Check::Deadlock),
        (Checks::INIT, Check::Init),
    ]
    .into_iter()
    .filter(|(bit, _)| checks.has(*bit))
    .map(|(_, word)| word)
    .collect()
}
