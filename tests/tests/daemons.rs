//! What outlives the program is recorded until it ends.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use end_to_end::{Outcome, finish, folder, reports, rows, tools, without_perf};

fn place(name: &str) -> PathBuf {
    let place = folder().join(format!("daemons-{name}-{}", std::process::id()));
    let _ = fs::remove_dir_all(&place);
    fs::create_dir_all(&place).unwrap();
    place
}

/// Records `programs/daemon.c` as `run.er`.
fn record(place: &Path, options: &[&str]) -> Outcome {
    record_by(Command::new(&tools().collect), place, options)
}

/// The same by a command line that ends in `collect`.
fn record_by(mut collect: Command, place: &Path, options: &[&str]) -> Outcome {
    let program = place.join("daemon");
    let built = Command::new("gcc")
        .args(["-O2", "-g", "-fopenmp", "-o"])
        .arg(&program)
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("programs/daemon.c"))
        .status()
        .unwrap();
    assert!(built.success());
    collect
        .args(options)
        .arg("-O")
        .arg(place.join("run.er"))
        .arg(program)
        .arg(place.join("measured"))
        .env("OMP_WAIT_POLICY", "passive");
    finish(collect)
}

#[test]
fn a_daemon_is_recorded_after_the_program_s_end() {
    let place = place("whole");
    let outcome = record(&place, &[]);
    assert_eq!(outcome.status, 3, "{}", outcome.stderr);
    let said: Vec<&str> = outcome.said_by_collect().collect();
    let [line] = said[..] else {
        panic!("one line: {said:?}");
    };
    assert!(line.contains("the program has ended and left"), "{line}");
    // The daemon has ended before collect has.
    let measured = fs::read_to_string(place.join("measured")).unwrap();
    let (spent, pid) = measured.trim().split_once(' ').unwrap();
    let spent: f64 = spent.parse().unwrap();
    let experiment = place.join("run.er");
    let views = reports(&experiment, "user", &["-header", "-functions", "-OMP_preg"]);
    assert_eq!(views[0]["header"]["exit_status"], 3);
    let row = |view: &serde_json::Value, name: &str| {
        let row = rows(view).iter().find(|row| row["name"] == name).cloned();
        row.unwrap_or_else(|| panic!("there is no {name}"))
    };
    let found = row(&views[1], "spin")["values"]["i.ompwork"]
        .as_f64()
        .unwrap();
    assert!(
        (found - spent).abs() < 0.03 * spent + 0.01,
        "{found} s of work, {spent} s by the daemon's own clock"
    );
    let regions = rows(&views[2]);
    let region = regions
        .iter()
        .find(|row| row["function"] == "main")
        .unwrap();
    assert_eq!(
        (&region["instances"], &region["threads"]),
        (&1.into(), &2.into())
    );
    let text = tools().print(&experiment, &["-header"]);
    assert!(text.contains(&format!("Process pid {pid}:")), "{text}");
    assert!(!text.contains("went on"), "{text}");
}

#[test]
fn with_children_off_the_recording_ends_with_the_program() {
    let place = place("off");
    let outcome = record(&place, &["-F", "off"]);
    assert_eq!(outcome.status, 3, "{}", outcome.stderr);
    let has_waited = outcome.stderr.contains("the program has ended");
    assert!(!has_waited, "{}", outcome.stderr);
    assert!(!place.join("measured").exists(), "collect did not wait");
    let functions = reports(&place.join("run.er"), "user", &["-functions"]);
    assert!(rows(&functions[0]).iter().all(|row| row["name"] != "spin"));
}

/// Its parent exits as soon as it has made it: most often before it has run.
#[test]
fn a_daemon_is_waited_for_without_perf_events_too() {
    let place = place("own");
    let mut collect = Command::new(without_perf());
    collect.arg(&tools().collect);
    let outcome = record_by(collect, &place, &[]);
    assert_eq!(outcome.status, 3, "{}", outcome.stderr);
    let said = "the program has ended and left a process that is recorded until it ends";
    assert!(outcome.stderr.contains(said), "{}", outcome.stderr);
    let measured = fs::read_to_string(place.join("measured")).unwrap();
    let (spent, _) = measured.trim().split_once(' ').unwrap();
    let spent: f64 = spent.parse().unwrap();
    let views = reports(&place.join("run.er"), "user", &["-functions"]);
    let row = rows(&views[0]).iter().find(|row| row["name"] == "spin");
    let found = row.unwrap()["values"]["i.totalcpu"].as_f64().unwrap();
    assert!(
        (found - spent).abs() < 0.1 * spent + 0.03,
        "{found} s of CPU time, {spent} s by the daemon's own clock"
    );
}
