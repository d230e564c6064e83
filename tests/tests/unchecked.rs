//! Programs of which `collect -r` cannot see all: the first line of each report says what was not checked, and
//! the status of `check` does.
#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};
use std::process::Command;

use end_to_end::{finish, folder, source, tools};

fn gcc(name: &str, options: &[&str]) -> PathBuf {
    let program = folder().join(format!("{name}-{}", options.len()));
    let mut gcc = Command::new("gcc");
    gcc.args(["-g", "-O1", "-fopenmp"]);
    gcc.arg(source(name)).arg("-o").arg(&program).args(options);
    let out = gcc.output().unwrap();
    assert!(out.status.success(), "{out:?}");
    program
}

/// Records the program, and returns the first line of its list of races, that of the verdict, and the status of
/// `check`.
fn checked(program: &Path, arguments: &[&str], checks: &str) -> (String, String, i32) {
    let experiment = program.with_extension("er");
    let mut collect = Command::new(&tools().collect);
    collect.args(["-r", checks, "-O"]).arg(&experiment);
    collect.arg(program).args(arguments);
    collect.env("OMP_WAIT_POLICY", "passive");
    let outcome = finish(collect);
    assert_eq!(outcome.status, 0, "{outcome:?}");
    let view = if checks == "race" {
        "races"
    } else {
        "deadlocks"
    };
    let first = |text: String| text.lines().next().unwrap_or_default().to_owned();
    let list = first(tools().print(&experiment, &[&format!("-{view}")]));
    let check = tools().try_print(&experiment, &["-check", view]);
    let verdict = first(String::from_utf8(check.stdout).unwrap());
    std::fs::remove_dir_all(&experiment).unwrap();
    (list, verdict, check.status.code().unwrap())
}

#[test]
fn a_program_that_was_checked_as_a_whole_passes() {
    let program = gcc("unchecked.c", &["-fsanitize=thread"]);
    let (list, verdict, status) = checked(&program, &[], "race");
    assert_eq!((list.as_str(), status), ("Data races", 0), "{verdict}");
    let (list, _, status) = checked(&program, &[], "deadlock");
    assert_eq!((list.as_str(), status), ("Deadlocks", 0));
}

#[test]
fn the_runtime_within_the_program_is_told() {
    let library = Command::new("gcc")
        .arg("-print-file-name=libgomp.a")
        .output();
    let library = String::from_utf8(library.unwrap().stdout).unwrap();
    let program = gcc(
        "unchecked.c",
        &["-fsanitize=thread", library.trim(), "-lpthread", "-ldl"],
    );
    for checks in ["race", "deadlock"] {
        let (list, verdict, status) = checked(&program, &[], checks);
        assert!(
            list.contains("GCC's OpenMP runtime is linked into"),
            "{list}"
        );
        assert_eq!((&verdict, status), (&list, 2));
    }
}

#[test]
fn a_child_process_is_told_if_there_was_anything_to_check() {
    let program = gcc("unchecked_child.c", &["-fsanitize=thread"]);
    let (list, verdict, status) = checked(&program, &[], "race");
    assert!(list.contains("1 child process"), "{list}");
    assert_eq!((&verdict, status), (&list, 2));
    let (list, _, status) = checked(&program, &["ends"], "race");
    assert_eq!((list.as_str(), status), ("Data races", 0));
}

#[test]
fn a_program_into_which_nothing_can_be_loaded_is_told() {
    let program = gcc("unchecked.c", &["-static"]);
    let (list, verdict, status) = checked(&program, &[], "deadlock");
    assert!(
        list.starts_with("Nothing was checked: the program is linked statically"),
        "{list}"
    );
    assert_eq!((&verdict, status), (&list, 2));
}

#[test]
fn a_runtime_that_was_told_to_be_silent_is_told() {
    let compiler = end_to_end::compiler(fixtures::Family::Clang);
    let program = folder().join("unchecked-silent");
    let mut clang = Command::new(&compiler.path);
    clang
        .args(["-g", "-O1", "-fopenmp"])
        .arg(source("unchecked.c"));
    assert!(clang.arg("-o").arg(&program).status().unwrap().success());
    let experiment = program.with_extension("er");
    let mut collect = Command::new(&tools().collect);
    collect.args(["-r", "deadlock", "-O"]).arg(&experiment);
    collect.arg(&program).env("OMP_TOOL", "disabled");
    assert_eq!(finish(collect).status, 0);
    let check = tools().try_print(&experiment, &["-check", "deadlocks"]);
    let text = String::from_utf8(check.stdout).unwrap();
    assert!(
        text.starts_with("Nothing was checked: OpenMP's runtime"),
        "{text}"
    );
    assert_eq!(check.status.code(), Some(2));
    std::fs::remove_dir_all(&experiment).unwrap();
}
