//! Experiments: made by one collect alone, locked while it records, fresh when it is killed, and of any
//! name.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use end_to_end::{finish, tools};

use crate::{collect, command, header, is_readable, notes, place, program, shell, text};

fn experiments(place: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(place).unwrap().flatten();
    let mut found: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    found.retain(|path| path.extension().is_some_and(|extension| extension == "er"));
    found
}

#[test]
fn eight_at_once_make_eight() {
    let place = place("eight");
    for round in 1..=3 {
        let script = "for i in 1 2 3 4 5 6 7 8; do $C sh -c 'exit 3' & all=\"$all $!\"; done; \
                      for one in $all; do wait $one; echo $?; done";
        let outcome = shell(script, &place);
        assert_eq!(outcome.stdout, "3\n".repeat(8), "{}", outcome.stderr);
        assert_eq!(experiments(&place).len(), 8 * round);
    }
    experiments(&place).iter().for_each(|it| is_readable(it));
    fs::remove_dir_all(place).unwrap();
}

#[test]
fn one_that_is_being_recorded_is_not_replaced() {
    let place = place("live");
    let script = "$C -O run.er sh -c 'touch going; sleep 1; exit 6' & \
                  until [ -e going ]; do sleep 0.01; done; \
                  $C -O run.er true; echo $?; $C -o run.er true; echo $?; wait %1; echo $?";
    let outcome = shell(script, &place);
    assert_eq!(outcome.stdout, "1\n1\n6\n", "{}", outcome.stderr);
    assert!(outcome.stderr.contains("is being recorded at this moment"));
    assert_eq!(header(&place.join("run.er"))["header"]["exit_status"], 6);
    // Now that it has ended it can be.
    assert_eq!(shell("$C -O run.er true", &place).status, 0);
    assert_eq!(experiments(&place).len(), 1);
    fs::remove_dir_all(place).unwrap();
}

#[test]
fn of_those_that_replace_the_same_one_wins() {
    let place = place("same");
    // The one that wins goes on until the others have ended, at most 20 s.
    let script = "$C -O run.er true; i=0; \
                  for one in 1 2 3 4 5 6 7 8; do \
                  ($C -O run.er sh -c 'until [ -e go ]; do sleep 0.01; done; exit 5'; echo $? >> all) & \
                  done; \
                  until [ $(cat all | wc -l) = 7 ] || [ $i = 2000 ]; do i=$((i+1)); sleep 0.01; done; \
                  touch go; wait; cat all; rm all go";
    let outcome = shell(script, &place);
    let mut statuses: Vec<&str> = outcome.stdout.split_whitespace().collect();
    statuses.sort_unstable();
    let expected = ["1", "1", "1", "1", "1", "1", "1", "5"];
    assert_eq!(statuses, expected, "{}", outcome.stderr);
    assert_eq!(header(&place.join("run.er"))["header"]["exit_status"], 5);
    let left: Vec<_> = fs::read_dir(&place).unwrap().flatten().collect();
    assert_eq!(left.len(), 1, "{left:?}");
    fs::remove_dir_all(place).unwrap();
}

/// collect is killed at forty moments: the program goes on, and what was recorded can be read.
#[test]
fn forty_kills() {
    let place = place("kills");
    let busy = program("busy", &[]);
    for moment in 0..40 {
        let experiment = place.join(format!("run{moment}.er"));
        // The program says when it has begun, and later when it ends.
        let words = ["sh", "-c", "echo begun; exec \"$0\" 400", text(&busy)];
        let mut collect = command(&[&collect(&experiment)[..], &words].concat())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut output = BufReader::new(collect.stdout.take().unwrap());
        // The first few before it has begun, or at once.
        let mut begun = String::new();
        if moment >= 5 {
            output.read_line(&mut begun).unwrap();
            std::thread::sleep(Duration::from_millis(12 * (moment - 5)));
        } else {
            std::thread::sleep(Duration::from_millis(4 * moment));
        }
        let _ = collect.kill();
        collect.wait().unwrap();
        // Held before its start it ends with collect, else it goes on to its end.
        let mut rest = String::new();
        output.read_to_string(&mut rest).unwrap();
        let printed = begun + &rest;
        assert!(
            printed == "begun\ndone\n" || printed.is_empty() && moment < 5,
            "{moment}: {printed}"
        );
        if moment >= 5 {
            is_readable(&experiment);
        } else if experiment.exists() {
            let out = tools().try_print(&experiment, &["-functions"]);
            assert!(
                matches!(out.status.code(), Some(0 | 1)),
                "{moment}: {out:?}"
            );
        }
    }
    fs::remove_dir_all(place).unwrap();
}

/// The header of a killed recording tells what was lost until two seconds before.
#[test]
fn a_header_is_two_seconds_old_at_most() {
    let place = place("header");
    let experiment = place.join("run.er");
    let busy = program("busy", &[]);
    let words = [&collect(&experiment)[..], &[text(&busy), "7000"]].concat();
    let mut collect = command(&words)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let file = experiment.join("header.json");
    while !file.is_file() {
        std::thread::sleep(Duration::from_millis(5));
    }
    let begin = Instant::now();
    let mut oldest = Duration::ZERO;
    while begin.elapsed() < Duration::from_millis(6000) {
        let age = fs::metadata(&file).unwrap().modified().unwrap().elapsed();
        oldest = oldest.max(age.unwrap_or_default());
        std::thread::sleep(Duration::from_millis(50));
    }
    collect.kill().unwrap();
    collect.wait().unwrap();
    // The writing itself may have to wait for the CPU.
    assert!(oldest < Duration::from_millis(2500), "{oldest:?}");
    let header = header(&experiment);
    assert!(
        header["header"]["sampling"]["samples"].as_u64().unwrap() > 1000,
        "{header}"
    );
    assert!(
        notes(&experiment)
            .iter()
            .any(|note| note.contains("was killed"))
    );
    fs::remove_dir_all(place).unwrap();
}

#[test]
fn any_name_works() {
    let place = place("names");
    let busy = program("busy", &[]);
    let names = [
        "with space",
        "$a;b'c\"",
        "\u{fc}ml\u{e4}ut",
        "-dash",
        "new\nline",
    ];
    for name in names {
        let script = "mkdir -p -- \"./$N\"; cp $B \"./$N/$N\"; cd -- \"./$N\"; \
                      $C -O \"./$N.er\" \"./$N\" 50 && exit 1; $E -functions \"./$N.er\" | grep -c work";
        named(&place, &busy, name.as_ref(), script);
    }
    // No text at all.
    let odd: &std::ffi::OsStr = std::os::unix::ffi::OsStrExt::from_bytes(b"o\xffd\xfe");
    let script = "mkdir -p \"./$N\"; cp $B \"./$N/$N\"; cd \"./$N\"; $C -O \"./$N.er\" \"./$N\" 50; \
                  [ $? = 4 ] || exit 1; $E -functions \"./$N.er\" | grep -cE ' work( ~)?$'";
    named(&place, &busy, odd, script);
    fs::remove_dir_all(place).unwrap();
}

#[track_caller]
fn named(place: &Path, busy: &Path, name: &std::ffi::OsStr, script: &str) {
    let mut shell = Command::new("bash");
    shell
        .args(["-c", script])
        .current_dir(place)
        .env("C", &tools().collect)
        .env("E", &tools().er_print)
        .env("B", busy)
        .env("N", name)
        .envs(crate::OPENMP);
    let outcome = finish(shell);
    let found: u32 = outcome
        .stdout
        .lines()
        .last()
        .unwrap_or_default()
        .parse()
        .unwrap_or(0);
    assert!(
        found >= 1,
        "{name:?}: {} {}",
        outcome.stdout,
        outcome.stderr
    );
    let experiment = place
        .join(name)
        .join([name, ".er".as_ref()].join("".as_ref()));
    assert!(experiment.is_dir(), "{}", experiment.display());
}

/// A source that has changed since the recording is told, and not shown as the recorded one; nobody else
/// can read an experiment.
#[test]
fn the_recorded_source_is_shown_until_it_changes() {
    let place = place("source");
    let source = place.join("own.c");
    let text =
        "int main(void)\n{\n    volatile long n = 100000000;\n    while (n--)\n        ;\n}\n";
    fs::write(&source, text).unwrap();
    let built = Command::new("gcc")
        .args(["-O1", "-g", "own.c", "-o", "own"])
        .current_dir(&place)
        .status();
    assert!(built.unwrap().success());
    let outcome = shell("$C -O run.er ./own; stat -c %a run.er", &place);
    assert_eq!(outcome.stdout, "700\n", "{}", outcome.stderr);
    let shown = || {
        let out = tools().try_print(&place.join("run.er"), &["-source", "main"]);
        String::from_utf8_lossy(&out.stdout).into_owned()
    };
    let recorded = shown();
    assert!(recorded.contains("while (n--)"), "{recorded}");
    fs::write(&source, text.replace("while (n--)", "for (; n--;)")).unwrap();
    let changed = shown();
    assert!(
        changed.contains("has changed since the recording"),
        "{changed}"
    );
    assert!(!changed.contains("for (; n--;)"), "{changed}");
    fs::remove_dir_all(place).unwrap();
}

#[test]
fn one_with_an_archive_is_replaced() {
    let place = place("archive");
    assert_eq!(shell("$C -A on -O run.er true", &place).status, 0);
    assert!(place.join("run.er/archives").is_dir());
    let outcome = shell("$C -O run.er sh -c 'exit 4'", &place);
    assert_eq!(outcome.status, 4, "{}", outcome.stderr);
    assert!(!place.join("run.er/archives").exists());
    // What the user has put there is kept.
    let outcome = shell("touch run.er/mine; $C -O run.er true", &place);
    assert_eq!(outcome.status, 1, "{}", outcome.stderr);
    assert_eq!(experiments(&place).len(), 1);
    fs::remove_dir_all(place).unwrap();
}
