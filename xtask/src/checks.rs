//! `cargo xtask test`: every check of this repository.

use std::io::{BufRead, BufReader};
use std::process::{Command, ExitCode, Stdio};

use crate::Outcome;
use crate::command::{cannot_start, cargo, run, typed, works};
use crate::counts::Counts;
use crate::packages;

/// Runs every check to its end, whatever fails, and ends with one line: `N passed, N failed`. A
/// check other than a test (format, lints, build) counts only when it fails.
pub(crate) fn test() -> ExitCode {
    let mut failures: Vec<String> = Vec::new();
    let mut note = |outcome: Outcome| {
        if let Err(sentence) = outcome {
            eprintln!("\nxtask: {sentence}");
            failures.push(sentence);
        }
    };
    note(packages::clang("the tests' OpenMP programs").map(|clang| {
        println!("OpenMP by {} {}", clang.name, clang.version);
    }));
    if let Err(sentence) = packages::gfortran("the tests' Fortran programs") {
        // Its tests pass over a language that has no compiler.
        println!("Without Fortran: {sentence}");
    }
    note(packages::cxx("the tests' C++ programs"));
    if let Err(sentence) = packages::tmux("the analyzer's walk in a terminal") {
        println!("Without the walk: {sentence}");
    }
    note(component("rustfmt", "fmt"));
    note(component("clippy", "clippy"));
    note(run(cargo().args(["fmt", "--all", "--check"])));
    note(run(cargo().args([
        "clippy",
        "--workspace",
        "--all-targets",
        "--",
        "-D",
        "warnings",
    ])));
    // The tests of programs use what stands beside them: libcollector.so too, which no test
    // program links and cargo would not build for them.
    note(run(cargo().args(["build", "--workspace"])));
    let mut counts = Counts::default();
    note(tests(&mut counts));
    for sentence in &failures {
        eprintln!("failed: {sentence}");
    }
    if counts.failed == 0 {
        counts.failed = failures.len() as u64;
    }
    println!("\n{counts}");
    if counts.failed == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

/// Installs a part of the Rust toolchain that minimal installations leave out.
fn component(name: &str, subcommand: &str) -> Outcome {
    if works(cargo().args([subcommand, "--version"])) {
        return Ok(());
    }
    run(Command::new("rustup").args(["component", "add", name]))
}

/// Runs `cargo test`, passes its output on, and counts.
fn tests(counts: &mut Counts) -> Outcome {
    let mut command = cargo();
    command
        .args(["test", "--workspace", "--no-fail-fast"])
        .stdout(Stdio::piped());
    println!("\n$ {}", typed(&command));
    let mut child = command.spawn().map_err(|e| cannot_start(&command, &e))?;
    let stdout = child.stdout.take().expect("it was asked to be piped");
    for line in BufReader::new(stdout).split(b'\n') {
        let line = line.map_err(|e| format!("the output of cargo test cannot be read: {e}"))?;
        let line = String::from_utf8_lossy(&line);
        println!("{line}");
        counts.add_line(&line);
    }
    let status = child
        .wait()
        .map_err(|e| format!("cargo test cannot be waited for: {e}"))?;
    if status.success() {
        Ok(())
    } else {
        Err(format!("`{}`: {status}", typed(&command)))
    }
}
