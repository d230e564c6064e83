//! Names of code whose file is gone, was replaced, or never was: `files.c`, recorded with and without perf.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use end_to_end::{compiler, finish, folder, reports, rows, tools, value, without_perf};
use fixtures::Family;
use serde_json::Value;

/// A folder for a test's files.
fn place(test: &str) -> PathBuf {
    let place = folder().join(format!("files-{test}-{}", std::process::id()));
    let _ = fs::remove_dir_all(&place);
    fs::create_dir_all(&place).unwrap();
    place
}

/// Builds `files.c`, or `copy_text.c` as a library.
fn build(family: Family, source: &str, flags: &[&str], to: &Path) {
    let programs = Path::new(env!("CARGO_MANIFEST_DIR")).join("programs");
    let mut command = Command::new(&compiler(family).path);
    command.args(["-O2", "-g", "-fopenmp", "-rdynamic"]);
    command.args(flags).arg(programs.join(source)).arg("-o");
    assert!(command.arg(to).status().unwrap().success(), "{command:?}");
}

struct Run {
    seconds: f64,
    functions: Vec<Value>,
}

/// Records a program and removes its folder.
fn run(place: &Path, words: &[&str], has_perf: bool) -> Run {
    let experiment = place.join("run.er");
    let collect = &tools().collect;
    let mut command = Command::new(if has_perf { collect } else { without_perf() });
    if !has_perf {
        command.arg(collect);
    }
    command.arg("-O").arg(&experiment).args(words);
    command.current_dir(place).env("OMP_WAIT_POLICY", "passive");
    if place.join("libcopy.so").is_file() {
        command.env("LD_PRELOAD", place.join("libcopy.so"));
    }
    let outcome = finish(command);
    assert_eq!(outcome.status, 0, "{outcome:?}");
    let seconds = outcome.stdout.trim().parse().unwrap();
    let report = reports(&experiment, "user", &["-functions"]).remove(0);
    fs::remove_dir_all(place).unwrap();
    Run {
        seconds,
        functions: rows(&report).to_vec(),
    }
}

impl Run {
    /// Inclusive seconds of work of the functions of a name.
    fn inclusive(&self, name: &str) -> f64 {
        let named = self.functions.iter().filter(|row| row["name"] == name);
        named.map(|row| value(row, "i", "ompwork")).sum()
    }

    /// The region's work is in `work` below `main`, and all of it has names.
    fn assert_named(&self, label: &str) {
        for name in ["main", "work", "burn"] {
            let off = self.inclusive(name) - self.seconds;
            assert!(
                off.abs() < 0.1,
                "{label}: {name} is off by {off}: {:#?}",
                self.functions
            );
        }
        for row in &self.functions {
            let name = row["name"].as_str().unwrap();
            let is_nameless = name.starts_with("<static>") || name.starts_with("<Stack-unwind");
            assert!(
                !is_nameless || value(row, "i", "ompwork") < 0.05,
                "{label}: {row}"
            );
        }
    }
}

/// Each way with both compilers and both sources of samples. Files without a build id are told apart by inodes.
fn named_by(way: &str, flags: &[&str]) {
    for (family, has_perf) in [(Family::Gcc, true), (Family::Clang, false)] {
        let place = place(way);
        build(family, "files.c", flags, &place.join("program"));
        let mut other = flags.to_vec();
        other.push("-DOTHER");
        build(family, "files.c", &other, &place.join("other"));
        let words = ["./program", way, "./other"];
        run(&place, &words, has_perf).assert_named(&format!("{way} {family:?}"));
    }
}

#[test]
fn a_program_that_deletes_its_file_has_names() {
    named_by("delete", &[]);
}

#[test]
fn a_program_whose_file_is_replaced_has_its_own_names() {
    named_by("replace", &["-Wl,--build-id=none"]);
}

#[test]
fn a_program_in_memory_has_names() {
    named_by("memory", &[]);
}

#[test]
fn a_library_whose_file_is_gone_has_names_or_those_of_what_it_exports() {
    for family in [Family::Gcc, Family::Clang] {
        let place = place("library");
        build(family, "files.c", &[], &place.join("program"));
        let library = place.join("library.so");
        build(
            family,
            "files.c",
            &["-DLIBRARY", "-shared", "-fPIC"],
            &library,
        );
        let words = ["./program", "library", "./library.so"];
        run(&place, &words, true).assert_named(&format!("library {family:?}"));
    }
}

#[test]
fn text_that_was_copied_to_other_memory_has_its_names() {
    for (family, has_perf) in [(Family::Gcc, true), (Family::Clang, false)] {
        let place = place("copy");
        build(family, "files.c", &[], &place.join("program"));
        let library = place.join("libcopy.so");
        build(family, "copy_text.c", &["-shared", "-fPIC"], &library);
        let run = run(&place, &["./program", "copy"], has_perf);
        // Without perf the mapping is found at a look, and the code before it is unnamed.
        let slack = if has_perf { 0.0 } else { 0.3 };
        let off = (run.inclusive("burn") - run.seconds).abs();
        assert!(off < 0.1 + slack, "{off}: {:#?}", run.functions);
    }
}

#[test]
fn generated_code_has_the_names_of_its_map_and_else_one_for_each_piece() {
    for (family, has_perf) in [(Family::Gcc, true), (Family::Clang, false)] {
        let place = place("generate");
        build(family, "files.c", &[], &place.join("program"));
        let run = run(&place, &["./program", "generate"], has_perf);
        let half = run.seconds / 2.0;
        let told = run.inclusive("told");
        assert!(
            (told - half).abs() < 0.15,
            "{told} of {half}: {:#?}",
            run.functions
        );
        let names = run.functions.iter().filter_map(|row| row["name"].as_str());
        let pieces: Vec<&str> = names
            .filter(|name| name.starts_with("<code in memory at 0x"))
            .collect();
        let [piece] = pieces[..] else {
            panic!("{pieces:?}: {:#?}", run.functions);
        };
        let rest = run.inclusive(piece);
        assert!(
            (rest - half).abs() < 0.15,
            "{rest} of {half}: {:#?}",
            run.functions
        );
        assert!((run.inclusive("main") - run.seconds).abs() < 0.1);
    }
}
