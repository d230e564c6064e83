//! `collect -r race` on programs of Fortran: planted races have their lines and names, and correct programs
//! have none.
#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};
use std::process::Command;

use end_to_end::{folder, planted, races, source, tools};

/// A folder of its own for what a compiler makes of a program.
fn place(compiler: &str, name: &str) -> PathBuf {
    let place = folder().join(format!("{name}-{compiler}-{}", std::process::id()));
    std::fs::create_dir_all(&place).unwrap();
    place
}

fn run(place: &Path, program: &str, arguments: &[&str]) {
    let mut command = Command::new(program);
    let out = command.args(arguments).current_dir(place).output().unwrap();
    assert!(out.status.success(), "{program}: {out:?}");
}

fn by_gfortran(name: &str) -> PathBuf {
    let (place, source) = (place("gfortran", name), source(name));
    let source = source.to_str().unwrap();
    let flags = ["-g", "-O0", "-fopenmp", "-fsanitize=thread", source];
    run(&place, "gfortran", &[&flags[..], &["-o", "app"]].concat());
    place.join("app")
}

/// As docs/races.md says.
fn by_flang(name: &str) -> PathBuf {
    let (place, source) = (place("flang", name), source(name));
    let source = source.to_str().unwrap();
    let to_text = ["-g", "-O0", "-fopenmp", "-S", "-emit-llvm", source];
    run(
        &place,
        "flang-22",
        &[&to_text[..], &["-o", "f.ll"]].concat(),
    );
    let attributes = r"s/^attributes #\([0-9]*\) = {/attributes #\1 = { sanitize_thread/";
    run(&place, "sed", &["-i", attributes, "f.ll"]);
    let passes = "-passes=function(sroa,dce),tsan-module,function(tsan)";
    run(&place, "opt-22", &[passes, "f.ll", "-o", "f.bc"]);
    let object = ["-O1", "-relocation-model=pic", "-filetype=obj", "f.bc"];
    run(&place, "llc-22", &[&object[..], &["-o", "f.o"]].concat());
    // The library that takes the place of the sanitizer's runtime.
    let libraries = tools().collect.parent().unwrap();
    let libraries = format!("-L{}", libraries.display());
    let link = ["-fopenmp", "f.o", &libraries, "-lparallax_races"];
    run(&place, "flang-22", &[&link[..], &["-o", "app"]].concat());
    place.join("app")
}

#[track_caller]
fn check_racy(program: &Path) {
    let planted = planted("racy.f90", "!=", "");
    for threads in [2, 4] {
        let mut missing = planted.clone();
        for race in races(program, threads) {
            assert_eq!(race["class"], "race", "{race}");
            let name = race["variable"].as_str().unwrap();
            let whole = name.split(['(', '%']).next().unwrap();
            let lines = planted.get(whole).unwrap_or_else(|| panic!("{race}"));
            for side in 0..2 {
                let line = race["accesses"][side]["line"].as_u64().unwrap();
                assert!(lines.contains(&line), "{race}");
            }
            missing.remove(whole);
        }
        assert!(missing.is_empty(), "{threads} threads: {missing:?}");
    }
}

#[track_caller]
fn check_race_free(program: &Path) {
    // Reductions of LLVM's runtime have one way for teams of up to four, and one for greater ones.
    for threads in [2, 4, 6] {
        let found = races(program, threads);
        assert!(found.is_empty(), "{threads} threads: {found:#?}");
    }
}

#[test]
fn planted_races_are_found_in_programs_of_gfortran() {
    check_racy(&by_gfortran("racy.f90"));
}

#[test]
#[ignore = "needs flang 22 and its LLVM"]
fn planted_races_are_found_in_programs_of_flang() {
    check_racy(&by_flang("racy.f90"));
}

#[test]
fn correct_programs_of_gfortran_have_no_race() {
    check_race_free(&by_gfortran("race_free.f90"));
}

#[test]
#[ignore = "needs flang 22 and its LLVM"]
fn correct_programs_of_flang_have_no_race() {
    check_race_free(&by_flang("race_free.f90"));
}

#[test]
fn correct_programs_of_gfortran_in_other_styles_have_no_race() {
    for name in ["copyin_common.f90", "style_module.f90"] {
        check_race_free(&by_gfortran(name));
    }
}

#[test]
#[ignore = "needs flang 22 and its LLVM"]
fn correct_programs_of_flang_in_other_styles_have_no_race() {
    for name in ["copyin_common.f90", "style_module.f90"] {
        check_race_free(&by_flang(name));
    }
}

/// A finding has the line of the directive, not of a statement below it, and advice that needs it.
#[test]
#[ignore = "needs flang 22 and its LLVM"]
fn a_region_of_flang_has_the_line_of_its_directive() {
    let program = by_flang("racy.f90");
    let found = races(&program, 4);
    let text = std::fs::read_to_string(source("racy.f90")).unwrap();
    let directive = text
        .lines()
        .position(|line| line.contains("copyin(own)"))
        .unwrap();
    let race = found
        .iter()
        .find(|race| race["variable"] == "total")
        .unwrap();
    let construct = &race["accesses"][0]["constructs"][0];
    assert_eq!(construct["line"].as_u64(), Some(directive as u64 + 1));
    assert_eq!(
        race["advice"],
        "let each thread have a part of the result: reduction(+:total)"
    );
}
