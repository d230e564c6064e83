//! The wall time, CPU time and memory of a command, including all processes that it waited for.
#![allow(unsafe_code)] // wait4, the only call that returns the usage of a child's whole process tree.

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::Outcome;
use crate::command::{cannot_start, typed};

/// The resources that a command has used.
#[derive(Clone, Debug, Default)]
pub(super) struct Usage {
    /// Wall time, in seconds.
    pub(super) wall: f64,
    /// User and system CPU time of all its processes, in seconds.
    pub(super) cpu: f64,
    /// The peak memory of the command or of one of the processes that it waited for, in MiB.
    pub(super) peak_mib: f64,
    /// The peak memory of the command itself, polled every 20 ms, in MiB.
    pub(super) own_mib: f64,
    /// Its standard output.
    pub(super) stdout: String,
    /// Its standard error.
    pub(super) stderr: String,
}

/// Runs a command to its end. Its output goes to files below `folder`.
pub(super) fn measure(command: &mut Command, folder: &Path) -> Outcome<Usage> {
    run(command, folder, None)
}

/// As [`measure`], and polls the command's own memory.
pub(super) fn watch(command: &mut Command, folder: &Path) -> Outcome<Usage> {
    run(command, folder, Some(Duration::from_millis(20)))
}

fn run(command: &mut Command, folder: &Path, every: Option<Duration>) -> Outcome<Usage> {
    let paths = ["stdout", "stderr"].map(|name| folder.join(name));
    let make = |path: &Path| File::create(path).map_err(|e| format!("{}: {e}", path.display()));
    command
        .stdin(Stdio::null())
        .stdout(make(&paths[0])?)
        .stderr(make(&paths[1])?);
    let start = Instant::now();
    let child = command.spawn().map_err(|e| cannot_start(command, &e))?;
    let pid = child.id() as libc::pid_t;
    let mut own_mib: f64 = 0.0;
    let (status, used) = loop {
        let (waited, status, used) = wait(pid, every.is_some());
        match (waited, every) {
            (0, Some(every)) => {
                own_mib = own_mib.max(high_water(pid).unwrap_or(0.0));
                std::thread::sleep(every);
            }
            (waited, _) if waited == pid => break (status, used),
            _ => return Err(format!("`{}` cannot be waited for", typed(command))),
        }
    };
    let wall = start.elapsed().as_secs_f64();
    let used = Usage {
        wall,
        own_mib,
        ..usage(status, &used, command, &paths[1])?
    };
    Ok(Usage {
        stdout: text_of(&paths[0])?,
        ..used
    })
}

/// Waits for a started child whose standard error is in a file. The wall time is unknown.
pub(super) fn reap(pid: u32, command: &Command, errors: &Path) -> Outcome<Usage> {
    let pid = pid as libc::pid_t;
    match wait(pid, false) {
        (waited, status, used) if waited == pid => usage(status, &used, command, errors),
        _ => Err(format!("`{}` cannot be waited for", typed(command))),
    }
}

/// The usage that the kernel reports for a process that has ended.
///
/// # Errors
/// If the process failed.
fn usage(
    status: libc::c_int,
    used: &libc::rusage,
    command: &Command,
    errors: &Path,
) -> Outcome<Usage> {
    let stderr = text_of(errors)?;
    if !libc::WIFEXITED(status) || libc::WEXITSTATUS(status) != 0 {
        let ended = if libc::WIFEXITED(status) {
            format!("ended with status {}", libc::WEXITSTATUS(status))
        } else {
            format!("was killed by signal {}", libc::WTERMSIG(status))
        };
        return Err(format!("`{}` {ended}: {}", typed(command), reason(&stderr)));
    }
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    Ok(Usage {
        cpu: seconds(used.ru_utime) + seconds(used.ru_stime),
        peak_mib: used.ru_maxrss as f64 / 1024.0,
        stderr,
        ..Usage::default()
    })
}

/// The reason for a failure in a program's output: the first error line, else the last line.
fn reason(stderr: &str) -> &str {
    let lines = || {
        stderr
            .lines()
            .map(str::trim)
            .filter(|line| !line.is_empty())
    };
    let error = lines().find(|line| line.to_lowercase().starts_with("error"));
    error
        .or_else(|| lines().next_back())
        .unwrap_or("it says nothing")
}

fn text_of(path: &Path) -> Outcome<String> {
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|mut file| file.read_to_end(&mut bytes));
    read.map_err(|e| format!("{}: {e}", path.display()))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Waits for a child. If `impatient`, returns at once, with 0 for the process while it runs.
fn wait(pid: libc::pid_t, impatient: bool) -> (libc::pid_t, libc::c_int, libc::rusage) {
    let mut status = 0;
    let options = if impatient { libc::WNOHANG } else { 0 };
    // SAFETY: rusage consists of integers, for which zero is a valid value.
    let mut used: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: both pointers are to variables of this function, which outlive the call. The child
    // is ours, and nothing else waits for it, since its `Child` is only dropped.
    let waited = unsafe { libc::wait4(pid, &mut status, options, &mut used) };
    (waited, status, used)
}

/// The peak memory of a process so far, in MiB.
fn high_water(pid: libc::pid_t) -> Option<f64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib: f64 = line.split_whitespace().next()?.parse().ok()?;
    Some(kib / 1024.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_s_output_and_cpu_time_with_its_children_are_counted() {
        let folder = tempfile::tempdir().unwrap();
        let mut shell = Command::new("sh");
        shell.args([
            "-c",
            "sh -c 'i=0; while [ $i -lt 30000 ]; do i=$((i+1)); done'; echo done; echo why >&2",
        ]);
        let used = watch(&mut shell, folder.path()).unwrap();
        assert_eq!(used.stdout, "done\n");
        assert_eq!(used.stderr, "why\n");
        assert!(used.cpu > 0.0 && used.wall > 0.0 && used.peak_mib > 0.5);
        let failed = measure(
            Command::new("sh").args(["-c", "echo no >&2; exit 3"]),
            folder.path(),
        );
        assert!(failed.unwrap_err().ends_with(": no"));
    }
}
