//! `collect -r init` on programs that read what nothing has written, and on correct ones that look like them.
#![allow(clippy::unwrap_used)]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use end_to_end::{compiler, finish, folder, tools};
use fixtures::Family;
use serde_json::Value;

fn source(name: &str) -> PathBuf {
    let programs = Path::new(env!("CARGO_MANIFEST_DIR")).join("programs");
    programs.join(name)
}

/// The program, instrumented by this compiler, with its optimisation.
fn build(family: Family, level: &str, name: &str) -> PathBuf {
    let compiler = compiler(family);
    let program = folder().join(format!(
        "{name}-{}{level}-{:?}",
        compiler.name,
        std::thread::current().id()
    ));
    let mut command = Command::new(&compiler.path);
    command.args(["-g", level, "-fopenmp", "-fsanitize=thread"]);
    command.args(compiler.header());
    command.arg(source(name)).arg("-o").arg(&program);
    if family == Family::Clang {
        // clang's own shared runtime need not be installed.
        let libraries = tools().collect.parent().unwrap();
        command.args(["-fno-sanitize-link-runtime", "-mllvm"]);
        command.arg("-tsan-instrument-read-before-write=1");
        command.arg("-L").arg(libraries).arg("-lparallax_races");
    }
    let out = command.args(["-lm", "-lpthread"]).output().unwrap();
    assert!(out.status.success(), "{out:?}");
    program
}

/// What `collect -r` with these checks finds with so many threads, as er_print lists it.
fn reads(program: &Path, checks: &str, threads: u32) -> Vec<Value> {
    let experiment = PathBuf::from(format!("{}.{threads}.er", program.display()));
    let mut command = Command::new(&tools().collect);
    command.args(["-r", checks, "-O"]).arg(&experiment);
    command.arg(program);
    command.env("OMP_NUM_THREADS", threads.to_string());
    command.env("OMP_WAIT_POLICY", "passive");
    let outcome = finish(command);
    assert_eq!(outcome.status, 0, "{outcome:?}");
    let text = tools().print(&experiment, &["-printmode", "json", "-uninit"]);
    let report: Value = serde_json::from_str(&text).unwrap();
    report["rows"].as_array().unwrap().clone()
}

/// The names of the reads in a source file, with their lines.
fn planted(name: &str) -> BTreeMap<String, BTreeSet<u64>> {
    let text = std::fs::read_to_string(source(name)).unwrap();
    let mark = if name.ends_with(".f90") { "! " } else { "/* " };
    let mut planted: BTreeMap<String, BTreeSet<u64>> = BTreeMap::new();
    for (line, text) in (1..).zip(text.lines()) {
        let Some((code, name)) = text.split_once(mark) else {
            continue;
        };
        if code.trim().is_empty() {
            continue;
        }
        let name = name.trim_end_matches("*/").trim().to_owned();
        planted.entry(name).or_default().insert(line);
    }
    planted
}

/// All planted reads are found, each in its class, and no others.
fn check_planted(family: Family, name: &str, at_least: usize) {
    let program = build(family, "-O1", name);
    let all = planted(name);
    assert!(all.len() >= at_least, "{all:?}");
    for threads in [1, 4] {
        let mut missing = all.clone();
        for read in reads(&program, "init", threads) {
            let line = read["line"].as_u64().unwrap();
            let found = all.iter().find(|(_, planted)| planted.contains(&line));
            let (name, _) = found.unwrap_or_else(|| panic!("{family:?}: {read}"));
            let is_initial = name.ends_with("initial value");
            assert_eq!(read["class"] == "initial value", is_initial, "{read}");
            missing.remove(name);
        }
        if threads == 1 {
            // No other thread has a copy.
            missing.remove("no copyin: initial value");
        }
        assert!(missing.is_empty(), "{family:?} {threads}: {missing:?}");
    }
}

/// A correct program has none, with all its threads and under both checks.
fn check_correct(family: Family, name: &str) {
    for level in ["-O0", "-O1"] {
        let program = build(family, level, name);
        for (checks, threads) in [("init", 2), ("race,init", 4)] {
            let found = reads(&program, checks, threads);
            let undefined = found.iter().filter(|read| read["class"] == "uninitialised");
            let undefined: Vec<&Value> = undefined.collect();
            assert!(undefined.is_empty(), "{family:?} {level}: {undefined:#?}");
        }
    }
}

#[test]
fn planted_reads_are_found_in_programs_of_clang() {
    check_planted(Family::Clang, "uninit.c", 20);
}

#[test]
fn planted_reads_are_found_in_programs_of_gcc() {
    check_planted(Family::Gcc, "uninit.c", 20);
}

#[test]
fn planted_reads_are_found_in_programs_of_gfortran() {
    check_planted(Family::Gfortran, "uninit.f90", 5);
}

/// At -O1, gfortran lets one write stand for the read and the write of an element.
#[test]
fn a_private_array_of_fortran_is_seen() {
    let program = build(Family::Gfortran, "-O0", "private_array.f90");
    let found = reads(&program, "init", 2);
    assert_eq!(found.len(), 1, "{found:#?}");
    let line = planted("private_array.f90")["w"].first().copied();
    assert_eq!(found[0]["line"].as_u64(), line);
    assert!(found[0]["variable"].as_str().unwrap().starts_with("w("));
}

#[test]
fn correct_programs_of_clang_read_what_they_have_written() {
    check_correct(Family::Clang, "initialised.c");
    check_correct(Family::Clang, "race_free.c");
}

#[test]
fn correct_programs_of_gcc_read_what_they_have_written() {
    check_correct(Family::Gcc, "initialised.c");
    check_correct(Family::Gcc, "race_free.c");
}

#[test]
fn correct_programs_of_gfortran_read_what_they_have_written() {
    check_correct(Family::Gfortran, "initialised.f90");
}

#[test]
fn names_and_places_are_those_of_the_source() {
    let program = build(Family::Gcc, "-O1", "uninit.c");
    // The second recording replaces the first one.
    assert!(!reads(&program, "init", 4).is_empty());
    let found = reads(&program, "init", 4);
    let of = |planted_name: &str| {
        let lines = &planted("uninit.c")[planted_name];
        let is_it = |read: &&Value| lines.contains(&read["line"].as_u64().unwrap());
        found.iter().find(is_it).unwrap().clone()
    };
    for (name, variable, origin, count) in [
        ("heap element", "a[9]", "heap", 1),
        ("heap block", "all", "heap", 64),
        ("field", "p[", "heap", 4),
        ("shared local array", "tmp[20]", "local", 1),
        ("private array", "mine[30]", "local", 4),
        ("escaped scalar", "s", "local", 1),
        ("global: initial value", "counter", "global", 1),
        ("global array: initial value", "weights", "global", 64),
    ] {
        let read = of(name);
        let told = read["variable"].as_str().unwrap();
        assert!(told.starts_with(variable), "{name}: {read}");
        assert_eq!(read["origin"], origin, "{name}: {read}");
        assert_eq!(read["count"], count, "{name}: {read}");
    }
    assert_eq!(of("heap element")["allocated"]["function"], "heap");
    assert_eq!(of("local of a call")["stack"][0], "called");
}
