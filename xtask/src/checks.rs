//! `cargo xtask test`: every check of this repository.

use std::io::{BufRead, BufReader};
use std::process::{Command, ExitCode, Stdio};

use crate::Outcome;
use crate::command::{cannot_start, cargo, run, typed, works};
use crate::counts::Counts;
use crate::packages;

/// What tests start besides compilers: a program, its package of every manager, and for what.
const PROGRAMS: [(&str, &str, &str); 5] = [
    ("tmux", "tmux", "the analyzer's walk in a terminal"),
    ("gdb", "gdb", "the test of gdb beside collect"),
    ("strace", "strace", "the test of strace beside collect"),
    ("perl", "perl", "the tests of limits and signals"),
    ("unshare", "util-linux", "the test of namespaces"),
];

/// What the long tests need, by Debian's names: compilers of other releases, the runtime that the
/// newest of them links to and the older ones run on, and the client of the Python package index,
/// which has more runtimes.
const PROGRAMS_OF_ALL: [(&str, &str, &str); 6] = [
    ("clang-16", "clang-16", LONG),
    ("clang-22", "clang-22", LONG),
    ("/usr/lib/llvm-22/lib/libomp.so", "libomp-22-dev", LONG),
    ("ld.lld-22", "lld-22", LONG),
    ("flang-22", "flang-22", LONG),
    ("pip3", "python3-pip", LONG),
];
const LONG: &str = "`cargo xtask test --all`";

/// Ignored tests that other tests start, and those for a person, with what they need.
const NOT_BY_THEMSELVES: [&str; 2] = ["::children::", "by_hand"];

/// Which tests run.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Suite {
    /// In at most 15 minutes after the build, on two CPUs.
    Quick,
    /// The ignored ones too: every compiler and runtime, faults at random.
    All,
}

/// Runs every check to its end, whatever fails, and ends with one line: `N passed, N failed`. A
/// check other than a test (format, lints, build) counts only when it fails.
pub(crate) fn test(suite: Suite) -> ExitCode {
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
    note(packages::gfortran("the tests' Fortran programs"));
    note(packages::cxx("the tests' C++ programs"));
    for (name, package, for_what) in PROGRAMS {
        note(packages::program(name, package, for_what));
    }
    if suite == Suite::All {
        for (name, package, for_what) in PROGRAMS_OF_ALL {
            note(packages::program(name, package, for_what));
        }
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
    if suite == Suite::All {
        note(dependencies());
    }
    // The tests of programs use what stands beside them: libcollector.so too, which no test
    // program links and cargo would not build for them.
    note(run(cargo().args(["build", "--workspace"])));
    let mut counts = Counts::default();
    note(tests(suite, &mut counts));
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

/// Holds the dependencies against `deny.toml` by cargo-deny, which takes minutes to be built; a test
/// checks licences and sources without it. What is known to be vulnerable is looked up where the
/// list of it can be fetched.
fn dependencies() -> Outcome {
    if !works(cargo().args(["deny", "--version"])) {
        run(cargo().args(["install", "--locked", "cargo-deny"]))?;
    }
    run(cargo().args(["deny", "check", "bans", "licenses", "sources"]))?;
    if works(cargo().args(["deny", "fetch", "db"])) {
        return run(cargo().args(["deny", "check", "--disable-fetch", "advisories"]));
    }
    println!("Advisories are not checked: their list cannot be fetched.");
    Ok(())
}

/// Runs `cargo test`, passes its output on, and counts.
fn tests(suite: Suite, counts: &mut Counts) -> Outcome {
    let mut command = cargo();
    command
        .args(["test", "--workspace", "--no-fail-fast"])
        .stdout(Stdio::piped());
    if suite == Suite::All {
        command.args(["--", "--include-ignored"]);
        command.args(NOT_BY_THEMSELVES.iter().flat_map(|name| ["--skip", name]));
    }
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
