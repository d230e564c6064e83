//! `cargo xtask demo`: builds what it needs on a fresh machine, records a program and shows three views.

use std::path::{Path, PathBuf};
use std::process::Command;

use fixtures::Opt;
use tempfile::TempDir;

use crate::command::{cargo, run};
use crate::{Outcome, packages, target};

/// The three views: what they show, and er_print's arguments.
const VIEWS: [(&str, &[&str]); 3] = [
    (
        "Functions, in user mode: waiting has names, so that the cost of an imbalance, of a \
         critical section and of serial code stands in the list beside the functions.",
        &["-functions", "demo.er"],
    ),
    (
        "Call tree, in user mode: every thread of a team is called from the function that holds \
         the directive, under main, and each wait stands under the region that caused it.",
        &["-calltree", "demo.er"],
    ),
    (
        "Call tree, in machine mode: the same samples as they were measured; the workers never \
         passed through main, and waiting is frames of the runtime.",
        &["-viewmode", "machine", "-calltree", "demo.er"],
    ),
];

/// Builds `collect`, its library and `er_print`, records the program and shows the views.
pub(crate) fn demo() -> Outcome {
    let recorded = Recorded::new()?;
    for (what_to_see, words) in VIEWS {
        println!("\n{what_to_see}");
        run(tool("er_print", &recorded.folder).args(words))?;
    }
    Ok(())
}

/// The recorded demo program; its folder is removed on drop.
pub(crate) struct Recorded {
    folder: TempDir,
}

impl Recorded {
    /// Builds `collect` and `er_print`, and records the program.
    pub(crate) fn new() -> Outcome<Recorded> {
        let compiler = packages::clang("the demo's OpenMP program")?;
        build()?;
        check_permission(&std::fs::read_to_string(PARANOID).unwrap_or_default())?;
        let program = fixtures::program("demo").expect("the catalogue has the demo");
        let folder = tempfile::Builder::new()
            .prefix("parallax-demo-")
            .tempdir()
            .map_err(|e| format!("a temporary folder cannot be made: {e}"))?;
        println!("\n$ {} -O2 -g -fopenmp demo.c -o demo -lm", compiler.name);
        let exe = fixtures::build(program, &compiler, Opt::O2, &target().join("fixtures"))
            .map_err(|e| e.to_string())?;
        std::fs::copy(&exe, folder.path().join("demo"))
            .map_err(|e| format!("{} cannot be copied: {e}", exe.display()))?;
        let threads = std::thread::available_parallelism().map_or(2, |n| n.get().clamp(2, 4));
        println!("\n$ export OMP_NUM_THREADS={threads}");
        let mut collect = tool("collect", &folder);
        collect
            .args(["-O", "demo.er", "./demo"])
            .env("OMP_NUM_THREADS", threads.to_string());
        run(&mut collect).map_err(|sentence| {
            format!("{sentence}; what collect said above tells what it lacks on this machine")
        })?;
        Ok(Recorded { folder })
    }

    /// The experiment.
    pub(crate) fn experiment(&self) -> PathBuf {
        self.folder.path().join("demo.er")
    }
}

/// Builds what records the program and reads the recording, in the profile of tests, which takes less time to build
/// than a release. Incremental builds would take a third more: they pay once a file is changed.
fn build() -> Outcome {
    let packages = ["collector", "collector-runtime", "er-print"];
    let words = packages.iter().flat_map(|package| ["--package", package]);
    run(cargo()
        .arg("build")
        .args(words)
        .env("CARGO_INCREMENTAL", "0"))
}

const PARANOID: &str = "/proc/sys/kernel/perf_event_paranoid";

/// Whether the kernel lets this user sample; at 3 and above, which some distributions set, only
/// root may.
fn check_permission(paranoid: &str) -> Outcome {
    let level: i32 = paranoid.trim().parse().unwrap_or(2);
    if level <= 2 || packages::is_root() {
        return Ok(());
    }
    Err(format!(
        "this kernel permits profiling to root only (perf_event_paranoid is {level}); \
         permit it until the next boot with one command, then run the demo again:\n\n    \
         sudo sysctl kernel.perf_event_paranoid=2\n"
    ))
}

/// A command for a tool of this build, run in a folder.
fn tool(name: &str, folder: &TempDir) -> Command {
    let mut command = Command::new(absolute(&target().join("debug").join(name)));
    command.current_dir(folder.path());
    command
}

fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ordinary_kernel_permits() {
        for text in ["2\n", "1\n", "-1\n", ""] {
            assert_eq!(check_permission(text), Ok(()), "{text:?}");
        }
    }

    #[test]
    fn a_strict_kernel_is_explained_to_users_other_than_root() {
        let outcome = check_permission("4\n");
        if packages::is_root() {
            assert_eq!(outcome, Ok(()));
        } else {
            let sentence = outcome.unwrap_err();
            assert!(sentence.contains("perf_event_paranoid is 4"), "{sentence}");
            assert!(sentence.contains("sudo sysctl"), "{sentence}");
        }
    }
}
