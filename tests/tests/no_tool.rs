//! Runtimes that cannot be heard: linked into the program, told not to load a tool, or bound past
//! our library. States come from the stacks then.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Command;

use end_to_end::{Cell, Recorded, check, check_by_stacks, compiler, folder, library_folder, tools};
use fixtures::{Compiler, Family, Opt, WaitPolicy, build_with, library, program};

/// Programs whose waits have entry points of their own.
const PROGRAMS: [&str; 3] = ["lock", "critical", "barrier"];

fn cell(name: &str, compiler: &Compiler) -> Cell {
    Cell {
        program: program(name).expect("it is in the catalogue"),
        compiler: compiler.clone(),
        library: None,
        threads: 2,
        policy: WaitPolicy::Passive,
        perf: true,
    }
}

fn header(recorded: &Recorded) -> String {
    tools().print(&recorded.experiment, &["-header"])
}

/// Builds and records each program, holds it against its truth by stacks alone, and gives the
/// headers. What a loaded machine did is not the profile's fault: a second run decides.
fn by_stacks(
    compiler: &Compiler,
    words: &[String],
    environment: &[(&str, &OsStr)],
    variant: &str,
) -> Vec<String> {
    let mut headers = Vec::new();
    for name in PROGRAMS {
        let cell = cell(name, compiler);
        let exe = build_with(cell.program, compiler, Opt::O2, words, &built());
        let exe = exe.unwrap_or_else(|error| panic!("{error}"));
        let mut wrong = String::new();
        for _ in 0..3 {
            let recorded = cell.record_built(&exe, environment, variant);
            let recorded = recorded.unwrap_or_else(|error| panic!("{error}"));
            let verdict = check_by_stacks(&recorded);
            let experiment = recorded.experiment.display().to_string();
            if verdict.holds() {
                headers.push(header(&recorded));
                recorded.discard();
                wrong.clear();
                break;
            }
            wrong = format!("{name} {variant}: {experiment}\n{verdict}");
        }
        assert!(wrong.is_empty(), "{wrong}");
    }
    headers
}

fn says(headers: &[String], what: &str) {
    for header in headers {
        assert!(header.contains(what), "{what:?} is not in\n{header}");
    }
}

#[test]
fn gnu_s_runtime_within_the_program() {
    let gcc = compiler(Family::Gcc);
    for (variant, words) in [
        ("-static", &["-static"][..]),
        ("-bstatic", &["-Wl,-Bstatic", "-lgomp", "-Wl,-Bdynamic"]),
    ] {
        let words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
        let headers = by_stacks(gcc, &words, &[], variant);
        says(
            &headers,
            "no OpenMP events from the runtime that is linked into",
        );
        says(
            &headers,
            "Events by: none: not called, or states come from stacks only",
        );
    }
}

#[test]
#[ignore = "needs Intel's runtime of the Python package index"]
fn intel_s_runtime_within_the_program() {
    let clang = compiler(Family::Clang);
    let archive = library("libiomp5").expect("it is in the list");
    let folder = library_folder(archive).unwrap_or_else(|why| panic!("no libiomp5.a: {why}"));
    let search = format!("-L{}", folder.display());
    let words = ["-fopenmp=libiomp5", "-static-openmp", &search, "-ldl"];
    let mut words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
    // In an executable that loads libraries, it finds the tool as a shared one does.
    let heard = cell("lock", clang);
    let exe = build_with(heard.program, clang, Opt::O2, &words, &built());
    let exe = exe.unwrap_or_else(|error| panic!("{error}"));
    let recorded = heard.record_built(&exe, &[], "-heard");
    let recorded = recorded.unwrap_or_else(|error| panic!("{error}"));
    let verdict = check(&heard, &recorded);
    assert!(verdict.faults.is_empty(), "{verdict}");
    assert!(header(&recorded).contains("Events by: OMPT"));
    recorded.discard();
    words.push("-static".to_owned());
    let headers = by_stacks(clang, &words, &[], "-static-kmp");
    says(
        &headers,
        "no OpenMP events from the runtime that is linked into",
    );
}

fn built() -> PathBuf {
    folder().join("built")
}

#[test]
fn a_runtime_told_to_load_no_tool() {
    let clang = compiler(Family::Clang);
    let disabled: &OsStr = "disabled".as_ref();
    let headers = by_stacks(clang, &[], &[("OMP_TOOL", disabled)], "-disabled");
    says(&headers, "OMP_TOOL=disabled");
}

/// The library that a program of clang's loads.
fn libomp(exe: &Path) -> PathBuf {
    let out = Command::new("ldd").arg(exe).output().expect("ldd runs");
    let text = String::from_utf8_lossy(&out.stdout).into_owned();
    let line = text.lines().find(|line| line.contains("libomp.so"));
    let path = line.and_then(|line| line.split_whitespace().nth(2));
    PathBuf::from(path.expect("the program was linked to libomp"))
}

#[test]
fn a_private_copy_under_another_name() {
    let clang = compiler(Family::Clang);
    let cell = cell("lock", clang);
    let exe = build_with(cell.program, clang, Opt::O2, &[], &built());
    let exe = exe.unwrap_or_else(|error| panic!("{error}"));
    let copy = folder().join("libsolver-0f3a.so");
    let status = Command::new("strip")
        .arg("-o")
        .arg(&copy)
        .arg(libomp(&exe))
        .status();
    assert!(status.is_ok_and(|status| status.success()), "strip");
    let preload = OsString::from(&copy);
    let disabled: &OsStr = "disabled".as_ref();
    let environment = [("LD_PRELOAD", preload.as_os_str()), ("OMP_TOOL", disabled)];
    let headers = by_stacks(clang, &[], &environment, "-renamed");
    says(&headers, "no OpenMP events from libsolver-0f3a.so");
    // Heard, it is as any other.
    let recorded = cell.record_built(&exe, &environment[..1], "-renamed-heard");
    let recorded = recorded.unwrap_or_else(|error| panic!("{error}"));
    let verdict = check(&cell, &recorded);
    assert!(verdict.faults.is_empty(), "{verdict}");
    let header = header(&recorded);
    assert!(header.contains("libsolver-0f3a.so") && header.contains("Events by: OMPT"));
    recorded.discard();
}
