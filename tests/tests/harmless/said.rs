//! What was missed is said: in the header, and where it matters in one line on standard error, each
//! time with the right cause.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use end_to_end::{Outcome, compiler, folder, lost};
use fixtures::Family;

use crate::{has_records, header, notes, place, program, ran_to_its_end, shell, text};

/// The one line that collect says at the end.
#[track_caller]
fn line(outcome: &Outcome) -> &str {
    let lines: Vec<&str> = outcome.said_by_collect().collect();
    let [line] = lines.as_slice() else {
        panic!("one line: {}", outcome.stderr)
    };
    line
}

/// Records `busy` by `$C` with these words before it; the line and the header give the cause.
#[track_caller]
fn says(name: &str, before: &str, busy: &Path, cause: &str) {
    let place = place(name);
    let script = format!("exec $C -O run.er {before} {} 150", text(busy));
    let outcome = shell(&script, &place);
    ran_to_its_end(&outcome);
    assert!(line(&outcome).contains(cause), "{}", outcome.stderr);
    let experiment = place.join("run.er");
    assert!(!has_records(&experiment));
    let notes = notes(&experiment);
    assert!(notes.iter().any(|note| note.contains(cause)), "{notes:?}");
    fs::remove_dir_all(place).unwrap();
}

/// `busy`, by gcc and by clang.
fn by_both() -> [PathBuf; 2] {
    static CLANG: OnceLock<PathBuf> = OnceLock::new();
    let by_clang = CLANG.get_or_init(|| {
        let clang = compiler(Family::Clang);
        let product = folder().join(format!("built-busy-clang-{}", std::process::id()));
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("programs/busy.c");
        let mut build = Command::new(&clang.path);
        build.args(["-O2", "-g", "-fopenmp"]).arg(source);
        let built = build.arg("-o").arg(&product).status();
        assert!(built.unwrap().success());
        product
    });
    [program("busy", &[]), by_clang.clone()]
}

#[test]
fn an_environment_that_was_cleared() {
    for busy in by_both() {
        let before = "env -i PATH=\"$PATH\" OMP_NUM_THREADS=2";
        says("cleared", before, &busy, "its environment was cleared");
        says("cleared", "env -i", &busy, "its environment was cleared");
    }
}

#[test]
fn a_namespace_of_its_own() {
    for busy in by_both() {
        says("namespace", "unshare -r", &busy, "a namespace of its own");
        let before = "unshare -rpf --mount-proc";
        says("namespace", before, &busy, "a namespace of its own");
    }
}

/// Other processes' numbers alone are no obstacle.
#[test]
fn numbers_of_its_own() {
    let place = place("numbers");
    for busy in by_both() {
        let script = format!(
            "exec unshare -r $C -O run.er unshare -pf {} 150",
            text(&busy)
        );
        let outcome = shell(&script, &place);
        ran_to_its_end(&outcome);
        assert!(has_records(&place.join("run.er")), "{}", outcome.stderr);
    }
    fs::remove_dir_all(place).unwrap();
}

#[test]
fn a_runtime_that_is_told_to_load_no_tool() {
    let [_, clang] = by_both();
    says(
        "disabled",
        "env OMP_TOOL=disabled",
        &clang,
        "OMP_TOOL=disabled",
    );
}

/// A set-user-id program, made without the superuser: by a group of the user's other than the first.
#[test]
fn a_program_with_rights_of_its_own() {
    let place = place("setgid");
    let busy = program("busy", &[]);
    let script = format!(
        "cp {} own; others=$(id -G | cut -s -d' ' -f2-); [ $(id -u) = 0 ] && others=65534; \
         for group in $others; do chgrp $group own && chmod g+s own && exec $C -O run.er ./own 150; \
         done; exit 77",
        text(&busy)
    );
    let outcome = shell(&script, &place);
    assert_ne!(
        outcome.status, 77,
        "this test needs a second group to be a member of"
    );
    ran_to_its_end(&outcome);
    assert!(line(&outcome).contains("own ("), "{}", outcome.stderr);
    let notes = notes(&place.join("run.er"));
    assert!(
        notes.iter().any(|note| note.contains("was not recorded")),
        "{notes:?}"
    );
    fs::remove_dir_all(place).unwrap();
}

#[test]
fn processes_that_go_on() {
    let place = place("daemon");
    // A signal ends the recording, not the process.
    let script = "$C -O run.er sh -c 'setsid sh -c \"echo \\$\\$ > pid; exec sleep 100\" \
                  >/dev/null 2>&1 & exit 3' & \
                  until [ -s pid ]; do sleep 0.01; done; sleep 1; kill -TERM $!; wait $!; echo $?; \
                  kill $(cat pid) && echo alive";
    let outcome = shell(script, &place);
    assert_eq!(outcome.stdout, "3\nalive\n", "{}", outcome.stderr);
    let said: Vec<&str> = outcome.said_by_collect().collect();
    assert_eq!(said.len(), 2, "{said:?}");
    assert!(said[0].contains("left a process that is recorded until it ends or you press"));
    assert!(said[1].contains("went on"), "{said:?}");
    let noted = notes(&place.join("run.er"));
    assert!(
        noted
            .iter()
            .any(|note| note.contains("went on after the recording")),
        "{noted:?}"
    );
    // As asked, and so not worth a line.
    let outcome = shell(
        "exec $C -F off -O run.er sh -c 'sh -c \"exit 3\"; exit 3'",
        &place,
    );
    assert_eq!(outcome.status, 3);
    assert_eq!(outcome.said_by_collect().count(), 0, "{}", outcome.stderr);
    let noted = notes(&place.join("run.er"));
    assert!(
        noted
            .iter()
            .any(|note| note.contains("-F off: 1 child process")),
        "{noted:?}"
    );
    fs::remove_dir_all(place).unwrap();
}

/// While collect is stopped its rings run over.
#[test]
fn samples_that_were_lost() {
    let place = place("lost");
    let busy = program("busy", &[]);
    let script = format!(
        "$C -p 100u -O run.er {} 2500 2 & sleep 0.4; kill -STOP $!; sleep 1.7; kill -CONT $!; wait $!",
        text(&busy)
    );
    let outcome = shell(&script, &place);
    ran_to_its_end(&outcome);
    let line = line(&outcome);
    // The program's own rings are large enough for what it records meanwhile.
    assert!(line.contains("% of the samples"), "{line}");
    let header = header(&place.join("run.er"));
    let lost = lost(&header["header"]["losses"], "samples");
    assert!(lost.iter().any(|(_, _, count)| *count > 0), "{header}");
    fs::remove_dir_all(place).unwrap();
}

/// Nothing was missed, and nothing is said.
#[test]
fn a_whole_recording_is_not_worth_a_word() {
    let place = place("whole");
    for busy in by_both() {
        let script = format!("exec $C -O run.er {} 150", text(&busy));
        let outcome = shell(&script, &place);
        assert_eq!(outcome.said_by_collect().count(), 0, "{}", outcome.stderr);
    }
    fs::remove_dir_all(place).unwrap();
}

/// A list of tools with one that is not there is as none.
#[test]
fn a_tool_that_is_not_there() {
    let place = place("no-tool");
    let [_, clang] = by_both();
    let script = format!(
        "OMP_TOOL_LIBRARIES=/nowhere/tool.so:: exec $C -O run.er {} 150",
        text(&clang)
    );
    let outcome = shell(&script, &place);
    ran_to_its_end(&outcome);
    assert!(has_records(&place.join("run.er")));
    fs::remove_dir_all(place).unwrap();
}
