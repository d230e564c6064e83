//! `cargo xtask test`: every check of this repository.

use std::io::{BufRead, BufReader};
use std::process::{Command, ExitCode, Stdio};

use crate::Outcome;
use crate::command::{cannot_start, cargo, run, typed, works};
use crate::counts::Counts;
use crate::packages;

/// Programs that tests start besides compilers: the program, its package in every manager, and its
/// purpose.
const PROGRAMS: [(&str, &str, &str); 8] = [
    ("tmux", "tmux", "the analyzer's walk in a terminal"),
    ("gdb", "gdb", "the test of gdb beside collect"),
    (
        "valgrind",
        "valgrind",
        "the test of valgrind beside collect",
    ),
    ("strace", "strace", "the test of strace beside collect"),
    ("perl", "perl", "the tests of limits and signals"),
    ("unshare", "util-linux", "the test of namespaces"),
    ("musl-gcc", "musl-tools", "the tests of another C library"),
    ("python3", "python3", "the tests of Python's functions"),
];

/// Programs and files for the long tests, with Debian's package names: compilers of other releases,
/// the runtime that the newest of them links to and the older ones run on, the client of the
/// Python package index, which has more runtimes, what unpacks packages, browsers with what drives them, and readers of
/// exported profiles.
const PROGRAMS_OF_ALL: [(&str, &str, &str); 16] = [
    ("clang-16", "clang-16", LONG),
    ("clang-22", "clang-22", LONG),
    ("/usr/lib/llvm-22/lib/libomp.so", "libomp-22-dev", LONG),
    (
        "/usr/lib/llvm-22/lib/clang/22/lib/linux/libclang_rt.tsan-x86_64.so",
        "libclang-rt-22-dev",
        LONG,
    ),
    ("ld.lld-22", "lld-22", LONG),
    ("flang-22", "flang-22", LONG),
    ("opt-22", "llvm-22", LONG),
    ("llc-22", "llvm-22", LONG),
    ("pip3", "python3-pip", LONG),
    ("rpm2cpio", "rpm2cpio", LONG),
    ("cpio", "cpio", LONG),
    ("chromium", "chromium", LONG),
    ("firefox-esr", "firefox-esr", LONG),
    ("node", "nodejs", LONG),
    ("npm", "npm", LONG),
    ("go", "golang-go", LONG),
];
const LONG: &str = "`cargo xtask test --all`";

/// Ignored tests that other tests start, and those that a person starts.
const NOT_BY_THEMSELVES: [&str; 2] = ["::children::", "by_hand"];

/// Which tests run.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Suite {
    /// Takes at most 15 minutes after the build, on two CPUs.
    Quick,
    /// Includes the ignored tests: every compiler and runtime, random faults.
    All,
}

/// Runs every check to its end, whatever fails, and prints one line at the end: `N passed, N
/// failed`. If no test fails, other failed checks (format, lints, build) are counted instead.
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
    note(packages::mpi("the tests' MPI programs"));
    note(packages::coarrays("the tests' programs with coarrays"));
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
    // Tests of programs use the files beside them. libcollector.so is one that no test links, so
    // cargo would not build it for them.
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

/// Installs a component of the Rust toolchain that minimal installations lack.
fn component(name: &str, subcommand: &str) -> Outcome {
    if works(cargo().args([subcommand, "--version"])) {
        return Ok(());
    }
    run(Command::new("rustup").args(["component", "add", name]))
}

/// Checks the dependencies against `deny.toml` with cargo-deny, which takes minutes to build; a test
/// checks licences and sources without it. Known vulnerabilities are checked only if their list can
/// be fetched.
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

/// Runs `cargo test`, prints its output, and counts the results.
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
