//! `collect -r compare`: runs a program whose library repeats regions with one thread, and names what they left
//! different.

use std::ffi::OsString;
use std::fs::File;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::{Duration, Instant};

use ::experiment::findings::{Check, Construct, Coverage, Findings};
use divergence::record::{
    self as told, CONSTRUCT_WORDS, CONSTRUCTS, CONSTRUCTS_AT, Cause, FINDING_WORDS, FINDINGS,
    FINDINGS_AT, Finding, Head, MAGIC, MAPS_AT, MAPS_BYTES, VARIABLE, WORDS,
};
use omp_ring::shm;
use processes::files::MappedFiles;
use processes::maps;
use processes::records::Mapping;
use race_names::Places;
use race_stream::record::Checks;

use super::{Begun, GRACE, begin, limit, no_memory_for, other, program, write};
use crate::after::After;
use crate::cli::Request;
use crate::record::RecordError;
use crate::say::say;
use crate::signals::Signals;
use crate::sys::{self, Ended};
use crate::{clock, closing, experiment, header, library};

/// File name of the library that is loaded into the program.
const LIBRARY: &str = "libparallax_compare.so";

/// Runs the program, with every instance of its regions compared or a sample. Returns its exit status.
///
/// # Errors
/// [`RecordError`] if the program did not run. No experiment is left then.
pub(super) fn record(request: &Request, all: bool) -> Result<i32, RecordError> {
    let limit = limit(request).map_err(other)?;
    experiment::choose(&request.target).map_err(other)?;
    let facts = program::check(&request.command[0], Checks::DEADLOCK).map_err(other)?;
    let mut signals = Signals::block().map_err(|error| other(format!("signalfd: {error}")))?;
    let library = library::find_beside(LIBRARY).map_err(other)?;
    let memory = match library::obstacle(&request.command[0]) {
        Some(obstacle) => Err(format!(
            "{LIBRARY} cannot be loaded into the program: {obstacle}"
        )),
        None => Memory::create(all).map_err(|error| no_memory_for(LIBRARY, &error)),
    };
    let environment = match &memory {
        Ok(memory) => environment(&library, &memory.path(), request.follow),
        Err(_) => std::env::vars_os().collect(),
    };
    let checks = vec![Check::Compare];
    let (begun, ()) = begin(request, &environment, checks, &signals, || Ok(()))?;
    let Begun {
        pid,
        start,
        mut header,
        mut writer,
    } = begun;
    let ended = wait(pid, &mut signals, limit);
    header.duration_ns = clock::raw_now().saturating_sub(start);
    header::end(&mut header, ended);
    let mut after = After::new(&mut signals, None);
    let findings = match &memory {
        Ok(memory) => findings(memory, pid, &facts, &mut after),
        Err(why) => nothing(why),
    };
    drop(after);
    if let Some(said) = findings.coverage.shortfall() {
        say(said.replacen('N', "n", 1));
    }
    let stored = write(&mut writer, &findings);
    if let Err(error) = stored.and_then(|()| writer.finish(&header)) {
        say(error);
    }
    closing::say_result(request, writer.directory(), &mut signals);
    Ok(ended.status())
}

/// The program's environment.
fn environment(library: &Path, memory: &str, follow: bool) -> Vec<(OsString, OsString)> {
    let mut variables: Vec<(OsString, OsString)> = std::env::vars_os().collect();
    let entries = [
        (library::PRELOAD_VARIABLE, library.as_os_str()),
        (
            library::SANITIZER_VARIABLE,
            library::SANITIZER_OPTION.as_ref(),
        ),
    ];
    library::add(&mut variables, &entries, follow);
    variables.retain(|(name, _)| name != VARIABLE);
    variables.push((VARIABLE.into(), memory.into()));
    variables
}

/// Waits until the program has ended, and passes signals on to it. After the time limit it is ended.
fn wait(pid: i32, signals: &mut Signals, limit: Option<Duration>) -> Ended {
    const SLICE_MS: i32 = 50;
    let mut end = limit.map(|limit| (Instant::now() + limit, libc::SIGTERM));
    loop {
        if let Some((at, signal)) = end
            && Instant::now() >= at
        {
            sys::send(pid, signal);
            end = Some((at + GRACE, libc::SIGKILL)).filter(|_| signal == libc::SIGTERM);
        }
        for signal in signals.wait_for(SLICE_MS).for_program {
            sys::send(pid, signal);
        }
        match sys::try_wait(pid) {
            Ok(None) => {}
            Ok(Some(ended)) => return ended,
            Err(_) => return Ended::Unknown,
        }
    }
}

/// The file of memory in which the library writes.
struct Memory(File);

impl Memory {
    fn create(all: bool) -> std::io::Result<Memory> {
        let memory = Memory(shm::memory_file(c"parallax-compare", (WORDS * 8) as u64)?);
        memory.set(Head::Magic, MAGIC)?;
        memory.set(Head::All, all.into())?;
        Ok(memory)
    }

    /// Its path, for the program.
    fn path(&self) -> String {
        format!("/proc/{}/fd/{}", std::process::id(), self.0.as_raw_fd())
    }

    fn set(&self, word: Head, value: u64) -> std::io::Result<()> {
        self.0.write_all_at(&value.to_le_bytes(), word as u64 * 8)
    }

    fn bytes(&self, at_word: usize, bytes: usize) -> Vec<u8> {
        let mut all = vec![0; bytes];
        match self.0.read_exact_at(&mut all, at_word as u64 * 8) {
            Ok(()) => all,
            Err(_) => Vec::new(),
        }
    }

    fn words(&self, at: usize, count: usize) -> Vec<u64> {
        let bytes = self.bytes(at, count * 8);
        bytes.chunks(8).map(divergence::words::word).collect()
    }

    fn get(&self, word: Head) -> u64 {
        self.words(word as usize, 1)
            .first()
            .copied()
            .unwrap_or_default()
    }

    fn constructs(&self) -> Vec<told::Construct> {
        let count = (self.get(Head::Constructs) as usize).min(CONSTRUCTS);
        let words = self.words(CONSTRUCTS_AT, count * CONSTRUCT_WORDS);
        words
            .chunks(CONSTRUCT_WORDS)
            .map(told::Construct::from_words)
            .collect()
    }

    fn findings(&self) -> Vec<Finding> {
        let count = (self.get(Head::Findings) as usize).min(FINDINGS);
        let words = self.words(FINDINGS_AT, count * FINDING_WORDS);
        words
            .chunks(FINDING_WORDS)
            .filter_map(Finding::from_words)
            .collect()
    }

    /// What was mapped in the process. The files are open as long as `files` lives.
    fn places(&self, pid: i32, files: &mut MappedFiles) -> Places {
        let count = (self.get(Head::Maps) as usize).min(MAPS_BYTES);
        let mut places = Places::new();
        let areas = maps::parsed(&self.bytes(MAPS_AT, count)).into_iter();
        for mapping in areas.filter(|area| area.executable).map(Mapping::from) {
            let path = files.name(&mapping);
            let image = files.image(pid, &mapping);
            let range = (mapping.start, mapping.length, mapping.offset);
            places.map(range, &path, image);
        }
        places
    }
}

/// Nothing was compared.
fn nothing(why: &str) -> Findings {
    Findings {
        checks: vec![Check::Compare],
        coverage: Coverage {
            losses: vec![format!("nothing was checked: {why}")],
            ..Coverage::default()
        },
        ..Findings::default()
    }
}

/// What the library has found, with names.
fn findings(memory: &Memory, pid: i32, facts: &program::Facts, after: &mut After<'_>) -> Findings {
    let constructs = memory.constructs();
    if memory.get(Head::Process) == 0 {
        return nothing(facts.why_unloaded());
    }
    let mut files = MappedFiles::default();
    let mut places = memory.places(pid, &mut files);
    let found = memory.findings();
    let divergences =
        race_names::divergences(&found, &constructs, &mut places, &mut |named, all| {
            after.goes_on(|| format!("naming findings, {named} of {all}"))
        });
    let mut comparison = race_names::comparison(&constructs, &mut places);
    comparison.spent = memory.get(Head::Spent) as f64 / 1e9;
    comparison.elapsed = memory.get(Head::Elapsed) as f64 / 1e9;
    let mut losses = losses(memory, &constructs);
    if !constructs.is_empty() && comparison.instances().0 == 0 {
        losses.push(
            "nothing was checked: no instance of a parallel construct could be compared".to_owned(),
        );
    }
    for compared in &comparison.constructs {
        let Construct { name, file, line } = &compared.construct;
        let place = match file.rsplit('/').next() {
            Some(file) if !file.is_empty() => format!("{name} at {file}:{line}"),
            _ => format!("{name} in {}", compared.function),
        };
        let alone = Cause::Alone.words();
        let not = compared.not.iter().filter(|(cause, _)| cause != alone);
        losses.extend(not.map(|(cause, count)| {
            format!(
                "{count} of {} instances of {place}: {cause}",
                compared.instances
            )
        }));
    }
    Findings {
        checks: vec![Check::Compare],
        coverage: Coverage {
            losses,
            ..Coverage::default()
        },
        divergences,
        comparison: Some(comparison),
        ..Findings::default()
    }
}

/// What was not compared, besides instances that are not comparable.
fn losses(memory: &Memory, constructs: &[told::Construct]) -> Vec<String> {
    let mut losses = Vec::new();
    if constructs.is_empty() {
        losses.push(
            "nothing was checked: the program forked no parallel region that is known here (are OpenMP's \
             runtimes linked into it?)"
                .to_owned(),
        );
    }
    if memory.get(Head::Broken) != 0 {
        losses.push("the comparison ended early, by an error of its own".to_owned());
    }
    let mut lose = |word: Head, what: &str| {
        let count = memory.get(word);
        if count > 0 {
            losses.push(format!("{count} {what}"));
        }
    };
    lose(
        Head::Processes,
        "child processes, for the first process alone is compared",
    );
    lose(
        Head::Others,
        "leagues of teams, and forks in forms that are not repeated",
    );
    lose(
        Head::LostConstructs,
        "instances of constructs for which there was no room",
    );
    lose(Head::LostFindings, "findings for which there was no room");
    losses
}
