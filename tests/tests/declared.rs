//! Locks and hand-overs that a program has made itself, with `tha_interface.h` and without.
#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};
use std::process::Command;

use end_to_end::{findings, finish, folder, tools};
use serde_json::Value;

fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

/// The program, instrumented or not, with its synchronisation declared or not.
fn build(compiler: &str, is_instrumented: bool, is_declared: bool) -> PathBuf {
    let name = format!("declared-{compiler}-{is_instrumented}-{is_declared}");
    let program = folder().join(format!("{name}-{:?}", std::thread::current().id()));
    let mut command = Command::new(compiler);
    command.args(["-g", "-O1", "-fopenmp"]);
    command.arg(repository().join("tests/programs/declared.c"));
    if is_instrumented {
        command.arg("-fsanitize=thread");
    }
    if is_declared {
        command.arg("-DDECLARE").arg("-I");
        command.arg(repository().join("collector/runtime/include"));
    }
    if is_instrumented && compiler == "clang" {
        let libraries = tools().collect.parent().unwrap();
        command.arg("-fno-sanitize-link-runtime");
        command.arg("-L").arg(libraries).arg("-lparallax_races");
    }
    let out = command.arg("-o").arg(&program).output().unwrap();
    assert!(out.status.success(), "{out:?}");
    program
}

/// What is found in a case, and the exit status.
fn found(program: &Path, checks: &str, case: &str) -> (Value, i32) {
    let experiment = program.with_extension(format!("{case}.er"));
    let mut command = Command::new(&tools().collect);
    command.args(["-r", checks, "-t", "10", "-O"]);
    command.arg(&experiment).arg(program).arg(case);
    command.env("OMP_WAIT_POLICY", "passive");
    let outcome = finish(command);
    let (findings, _) = findings(&experiment).unwrap_or_else(|| panic!("{case}: {outcome:?}"));
    std::fs::remove_dir_all(&experiment).unwrap();
    (findings, outcome.status)
}

/// The variables of races, and what is misused.
fn words(findings: &Value) -> Vec<String> {
    let list = |name: &str| findings[name].as_array().unwrap().clone();
    let races = list("races").into_iter();
    let races = races.map(|race| race["variable"]["name"].as_str().unwrap().to_owned());
    let misuse = list("misuse").into_iter();
    let misuse = misuse.map(|misuse| misuse["kind"].as_str().unwrap().to_owned());
    let mut all: Vec<String> = races.chain(misuse).collect();
    all.sort_unstable();
    all.dedup();
    all
}

#[test]
fn a_race_is_none_once_its_synchronisation_is_declared() {
    for compiler in ["clang", "gcc"] {
        let bare = build(compiler, true, false);
        let declared = build(compiler, true, true);
        for (case, variable) in [
            ("spin", "sum"),
            ("handed", "message"),
            ("readers", "entries"),
        ] {
            let (findings, _) = found(&bare, "race,deadlock", case);
            let all = words(&findings);
            assert!(!all.is_empty(), "{compiler} {case}");
            assert!(
                all.iter().all(|name| name.starts_with(variable)),
                "{compiler} {case}: {all:?}"
            );
            let (findings, status) = found(&declared, "race,deadlock", case);
            assert!(
                words(&findings).is_empty(),
                "{compiler} {case}: {findings:#}"
            );
            assert_eq!(status, 0);
        }
    }
}

#[test]
fn declared_locks_make_deadlocks_and_misuse_in_programs_that_are_not_instrumented() {
    for compiler in ["clang", "gcc"] {
        let bare = build(compiler, false, false);
        let declared = build(compiler, false, true);
        for (case, happened) in [("order", false), ("hang", true)] {
            let (findings, _) = found(&declared, "deadlock", case);
            let deadlocks = findings["deadlocks"].as_array().unwrap();
            assert_eq!(deadlocks.len(), 1, "{compiler} {case}: {findings:#}");
            assert_eq!(deadlocks[0]["happened"], happened);
            let edges = deadlocks[0]["edges"].as_array().unwrap();
            let wants: Vec<&str> = edges
                .iter()
                .map(|edge| edge["wants"].as_str().unwrap())
                .collect();
            assert_eq!(wants, ["b", "a"], "{compiler} {case}");
        }
        let (findings, _) = found(&bare, "deadlock", "order");
        assert_eq!(findings["deadlocks"].as_array().unwrap().len(), 0);
        let (findings, _) = found(&declared, "deadlock", "other-releases");
        assert_eq!(
            words(&findings),
            ["lock released by another thread"],
            "{compiler}"
        );
    }
}

/// The calls of Fortran's module do nothing without `collect`, and reach the library with it.
#[test]
fn fortran_declares_as_c_does() {
    let source = folder().join("declared.f90");
    let text = "program p\n use tha_interface\n integer, target :: a, b\n\
        call take(1_tha_sobj_kind, 2_tha_sobj_kind)\n\
        call take(2_tha_sobj_kind, 3_tha_sobj_kind)\n\
        contains\n subroutine take(one, other)\n integer(tha_sobj_kind) :: one, other\n\
        call tha_notify_acquire_lock(one)\n call tha_notify_lock_acquired(one)\n\
        call tha_notify_acquire_lock(other)\n call tha_notify_lock_acquired(other)\n\
        call tha_notify_release_lock(other)\n call tha_notify_lock_released(other)\n\
        call tha_notify_release_lock(other)\n call tha_notify_release_lock(one)\n\
        end subroutine\n end program\n";
    std::fs::write(&source, text).unwrap();
    let program = folder().join("declared-fortran");
    let mut command = Command::new("gfortran");
    command.args(["-g", "-O1", "-fopenmp", "-J"]).arg(folder());
    command.arg(repository().join("collector/runtime/include/tha_interface.f90"));
    let out = command
        .arg(&source)
        .arg("-o")
        .arg(&program)
        .output()
        .unwrap();
    assert!(out.status.success(), "{out:?}");
    assert!(Command::new(&program).status().unwrap().success());
    let (findings, status) = found(&program, "deadlock", "-");
    assert_eq!(status, 0);
    assert_eq!(words(&findings), ["lock released that is not set"]);
    // One call in each of two subroutine calls, and not those that were told before.
    assert_eq!(findings["misuse"][0]["count"], 2, "{findings:#}");
}
