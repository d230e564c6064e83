//! The program as its users run it.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

use crate::handmade;

/// What came of a command line.
pub(crate) struct Ended {
    /// The exit status.
    pub(crate) code: Option<i32>,
    /// What it printed.
    pub(crate) stdout: String,
    /// What it complained of.
    pub(crate) stderr: String,
}

impl Ended {
    /// Of what the program has printed.
    pub(crate) fn of(output: Output) -> Ended {
        Ended {
            code: output.status.code(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

/// Runs it in a folder.
pub(crate) fn er_print(folder: &Path, words: &[&str]) -> Ended {
    let mut command = Command::new(env!("CARGO_BIN_EXE_er_print"));
    let command = command.args(words).current_dir(folder).stdin(Stdio::null());
    Ended::of(command.output().unwrap())
}

/// The same with something on its standard input.
pub(crate) fn er_print_reading(folder: &Path, words: &[&str], input: &str) -> Ended {
    let mut command = Command::new(env!("CARGO_BIN_EXE_er_print"));
    let command = command.args(words).current_dir(folder);
    let command = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // A program that has ended already does not read: that is no error of the test.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    Ended::of(child.wait_with_output().unwrap())
}

/// A folder with every experiment made by hand.
pub(crate) fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    handmade::openmp(&folder.path().join("omp.er"));
    handmade::counted(&folder.path().join("cnt.er"));
    handmade::plain(&folder.path().join("plain.er"));
    handmade::single(&folder.path().join("one.er"));
    handmade::marked(&folder.path().join("marked.er"));
    handmade::checked(folder.path());
    handmade::jobs(folder.path());
    handmade::source(&folder.path().join("src"));
    folder
}
