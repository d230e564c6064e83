//! Programs that must run as without `collect`, and environments that refuse it something.

use std::fs;
use std::path::Path;
use std::process::Child;
use std::time::Instant;

use end_to_end::{Outcome, finish, lost, reports, rows, value, watch};

use crate::run::Run;
use crate::shown::{Faults, header, notes};

/// The program ends as it does without `collect`, and prints the same. Of a program that crashes
/// only the status is compared: what it prints before that is not determined.
pub(crate) fn as_bare(run: &Run) -> Result<(), String> {
    as_bare_after(run, &[])
}

/// As [`as_bare`], where the shell limits the address space of all that it starts.
pub(crate) fn as_bare_limited(run: &Run) -> Result<(), String> {
    let limited = "ulimit -v 6000000; exec \"$@\"";
    as_bare_after(run, &["sh", "-c", limited, "sh"].map(Path::new))
}

fn as_bare_after(run: &Run, words: &[&Path]) -> Result<(), String> {
    let bare = finish(run.command(words));
    let outcome = finish(run.collected(words).0);
    let mut faults = Faults::default();
    let mut same = |what: &str, bare: &str, found: &str| {
        faults.unless(bare == found, || {
            let found: Vec<&str> = found.lines().take(4).collect();
            format!("{what} {found:?} instead of {bare:?}")
        });
    };
    let status = |outcome: &Outcome| outcome.status.to_string();
    same("status", &status(&bare), &status(&outcome));
    if bare.status < 128 {
        same("stdout", &bare.stdout, &outcome.stdout);
        same("stderr", &bare.stderr, &outcome.said_by_program());
    }
    faults.unless(!outcome.stderr.contains("panicked at"), || {
        "the library panicked in the program".into()
    });
    faults.found()
}

/// A tool of the user's, in a list that is this variable, sees what it sees without `collect`; or
/// `collect` or the header says that there is another tool, and it is not called.
fn own_tool(run: &Run, variable: &str) -> Result<(), String> {
    let name = "own_tool.so";
    let tool = run.build("own_tool.c", name, &["-shared", "-fPIC"]);
    let seen = |outcome: &Outcome| {
        let mut lines = outcome.stdout.lines();
        let line = lines.find(|line| line.starts_with("user tool saw"));
        line.map(str::to_owned)
    };
    let mut bare = run.command(&[]);
    bare.env(variable, &tool);
    let bare = finish(bare);
    let expected = seen(&bare);
    assert!(
        expected.is_some(),
        "the tool runs by itself: {}",
        bare.stderr
    );
    let (mut command, experiment) = run.collected(&[]);
    command.env(variable, &tool);
    let outcome = finish(command);
    assert_eq!(outcome.status, bare.status, "{}", outcome.stderr);
    let found = seen(&outcome);
    if found == expected {
        return Ok(());
    }
    let header = header(&experiment);
    let notes = notes(&header);
    let mut told = notes
        .iter()
        .map(String::as_str)
        .chain(outcome.said_by_collect());
    let told = told.any(|text| text.contains(name));
    match (found, told) {
        (None, true) => Ok(()),
        (found, _) => Err(format!(
            "by itself {:?}, under collect {:?}; nothing says that {name} is there: {notes:#?} {}",
            expected.unwrap_or_default(),
            found.unwrap_or_default(),
            outcome.stderr
        )),
    }
}

pub(crate) fn own_tool_by_variable(run: &Run) -> Result<(), String> {
    own_tool(run, "OMP_TOOL_LIBRARIES")
}

pub(crate) fn own_tool_preloaded(run: &Run) -> Result<(), String> {
    own_tool(run, "LD_PRELOAD")
}

/// Where the kernel refuses perf events, the recording succeeds with samples by timers.
pub(crate) fn no_perf_events(run: &Run) -> Result<(), String> {
    let launcher = run.build("noperf.c", "noperf", &[]);
    let bare = run.bare();
    let (command, experiment) = run.collected(&[&launcher]);
    let outcome = finish(command);
    if outcome.status != bare.status {
        let (status, expected) = (outcome.status, bare.status);
        return Err(format!(
            "status {status} instead of {expected}: {}",
            outcome.stderr
        ));
    }
    let mut faults = Faults::default();
    faults.unless(outcome.stdout == bare.stdout, || {
        format!("it printed {:?} and not {:?}", outcome.stdout, bare.stdout)
    });
    // The program takes 0.5 s of CPU time; the kernel's slowest tick is 100 Hz.
    let samples = &header(&experiment)["header"]["sampling"]["samples"];
    faults.unless(
        samples.as_u64().is_some_and(|samples| samples >= 20),
        || format!("{samples} samples"),
    );
    let functions = reports(&experiment, "user", &["-functions"]);
    let mut functions = rows(&functions[0]).iter();
    let function = functions.find(|row| row["name"] == "run");
    let time = function.map_or(0.0, |row| value(row, "i", "total"));
    faults.unless(time > 0.0, || "no time in the function that works".into());
    faults.found()
}

/// What `collect` has used.
#[derive(Clone, Copy, Default)]
struct Used {
    /// CPU seconds.
    cpu: f64,
    /// Bytes of memory at its fullest.
    memory: u64,
}

impl Used {
    /// What it has used until now; `None` once it has ended.
    fn by(child: &Child) -> Option<Used> {
        let file = |name: &str| fs::read_to_string(format!("/proc/{}/{name}", child.id()));
        let stat = file("stat").ok()?;
        // The name stands in parentheses and may hold any character. Times are in ticks of 10 ms
        // (proc(5)).
        let (_, fields) = stat.rsplit_once(')')?;
        let ticks = |field: usize| -> Option<f64> {
            let word = fields.split_whitespace().nth(field - 3)?;
            word.parse().ok()
        };
        let status = file("status").ok()?;
        let line = status
            .lines()
            .find_map(|line| line.strip_prefix("VmHWM:"))?;
        let kibibytes: u64 = line.trim().strip_suffix(" kB")?.trim().parse().ok()?;
        Some(Used {
            cpu: (ticks(14)? + ticks(15)?) / 100.0,
            memory: kibibytes << 10,
        })
    }
}

/// Rings that the program overwrote cost `collect` at most 2 s and 200 MB more than others, and
/// `collect` or the header says so.
pub(crate) fn nonsense_in_rings(run: &Run) -> Result<(), String> {
    let plain = run.instead(run.build("main_jumps.c", "plain", &["-fopenmp"]));
    let mut usual = Used::default();
    let watched = watch(plain.collected(&[]).0, |collect| {
        usual = Used::by(collect).unwrap_or(usual);
        Ok(())
    });
    assert!(watched.is_ok_and(|it| it.status == 0), "the plain run");
    let (command, experiment) = run.collected(&[]);
    let begin = Instant::now();
    let outcome = watch(command, |collect| {
        let used = Used::by(collect).unwrap_or_default();
        let (cpu, memory) = (
            used.cpu - usual.cpu,
            used.memory.saturating_sub(usual.memory),
        );
        if cpu > 2.0 || memory > 200 << 20 {
            Err(format!(
                "collect uses {cpu:.1} s and {} MB more than for a plain run, at the least",
                memory >> 20
            ))
        } else {
            Ok(())
        }
    })?;
    let wall = begin.elapsed().as_secs_f64();
    let mut faults = Faults::default();
    faults.unless(outcome.status == 0, || {
        format!("status {}: {}", outcome.status, outcome.stderr)
    });
    let header = header(&experiment);
    let duration = header["header"]["duration_ns"].as_f64().unwrap_or(0.0) / 1e9;
    faults.unless(duration < wall, || {
        format!("{duration} s of recording in {wall} s")
    });
    let contexts = lost(&header["header"]["losses"], "contexts");
    let contexts: u64 = contexts.iter().map(|(_, _, count)| count).sum();
    faults.unless(contexts < 1 << 32, || {
        format!("{contexts} calling contexts are lost")
    });
    let mut told = notes(&header);
    told.extend(outcome.said_by_collect().map(str::to_owned));
    let words = ["ring", "rings", "arena", "records", "events"];
    let is_word = |word: &str| words.contains(&word);
    let said = told.iter().any(|text| text.split_whitespace().any(is_word));
    faults.unless(said, || format!("nothing is said of it: {told:#?}"));
    faults.found()
}
