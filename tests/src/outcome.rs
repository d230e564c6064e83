//! Commands that are run to their end, by themselves or under `collect`.

use std::fs::{self, File};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::folder;

/// A command that takes longer is taken to hang. Each takes a few seconds where the CPUs are free.
const LIMIT: Duration = Duration::from_secs(180);

/// How a command ended, and what it printed.
#[derive(Debug)]
pub struct Outcome {
    /// The exit status; 128 and the signal if one ended it.
    pub status: i32,
    /// Its standard output.
    pub stdout: String,
    /// Its standard error output.
    pub stderr: String,
}

impl Outcome {
    /// What `collect` reported, but for the name of the experiment.
    pub fn said_by_collect(&self) -> impl Iterator<Item = &str> {
        let lines = self.stderr.lines();
        lines.filter(|line| line.starts_with("collect:"))
    }

    /// What the program wrote to its standard error output.
    #[must_use]
    pub fn said_by_program(&self) -> String {
        let is_collects = |line: &&str| {
            line.starts_with("collect:") || line.starts_with("Creating experiment directory")
        };
        let lines = self.stderr.split_inclusive('\n');
        lines.filter(|line| !is_collects(line)).collect()
    }
}

/// Runs a command to its end, as the leader of a process group of its own.
///
/// # Panics
/// When it cannot be started, or hangs.
#[must_use]
pub fn finish(command: Command) -> Outcome {
    let watched = watch(command, |_| Ok(()));
    watched.unwrap_or_else(|never: String| panic!("{never}"))
}

/// As [`finish`], and calls `watch` every few milliseconds. An error of `watch` kills the command and
/// all that it started.
///
/// # Errors
/// That of `watch`.
///
/// # Panics
/// As [`finish`].
pub fn watch(
    mut command: Command,
    mut watch: impl FnMut(&Child) -> Result<(), String>,
) -> Result<Outcome, String> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    // Files and no pipes: what outlives the command does not keep us waiting.
    let file =
        |name: &str| folder().join(format!("outcome-{}-{number}.{name}", std::process::id()));
    let create = |name: &str| File::create(file(name)).expect("the folder is ours");
    let mut child = command
        .stdout(create("stdout"))
        .stderr(create("stderr"))
        .process_group(0)
        .spawn()
        .unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let begin = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().expect("it is our child") {
            break status;
        }
        let late = begin.elapsed() > LIMIT;
        let watched = watch(&child);
        if late || watched.is_err() {
            let group = format!("kill -KILL -{}", child.id());
            let _ = Command::new("sh").args(["-c", &group]).status();
            let _ = child.wait();
            assert!(!late, "{command:?} has not ended after {LIMIT:?}");
            watched?;
        }
        sleep(Duration::from_millis(5));
    };
    let read = |name: &str| {
        let bytes = fs::read(file(name)).expect("it was created");
        let _ = fs::remove_file(file(name));
        String::from_utf8_lossy(&bytes).into_owned()
    };
    Ok(Outcome {
        status: status.code().unwrap_or(128 + status.signal().unwrap_or(0)),
        stdout: read("stdout"),
        stderr: read("stderr"),
    })
}
