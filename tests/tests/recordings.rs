//! Several recordings of a program before and after a change, compared.
#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use end_to_end::{finish, folder, tools};
use serde_json::Value;

fn place(name: &str) -> PathBuf {
    let folder = folder().join(format!("recordings-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    folder.join(name)
}

/// Three recordings of a program whose second function runs so many times, and the mean of the CPU
/// seconds that it measured there.
fn record(program: &Path, times: u32) -> (Vec<PathBuf>, f64) {
    let mut seconds = 0.0;
    let one = |number: u32| {
        let experiment = place(&format!("{times}-{number}.er"));
        let mut command = Command::new(&tools().collect);
        command.arg("-O").arg(&experiment).arg(program);
        command.arg(times.to_string());
        let outcome = finish(command);
        assert_eq!(outcome.status, 0, "{outcome:?}");
        let measured = outcome.stdout.split_whitespace().nth(1).unwrap();
        seconds += measured.parse::<f64>().unwrap() / 3.0;
        experiment
    };
    let experiments = (0..3).map(one).collect();
    (experiments, seconds)
}

fn er_print(words: &[&str], one: &[PathBuf], other: &[PathBuf]) -> Output {
    let mut command = Command::new(&tools().er_print);
    command.args(words).args(one).arg("--").args(other);
    command.output().unwrap()
}

#[test]
fn a_change_is_found_beyond_what_runs_differ() {
    let program = place("changed");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("programs/changed.c");
    let mut gcc = Command::new("gcc");
    gcc.args(["-O2", "-g"]).arg(source).arg("-o").arg(&program);
    assert!(gcc.status().unwrap().success());
    let (before, seconds_before) = record(&program, 1);
    let (after, seconds_after) = record(&program, 3);

    let limit = "e.totalcpu(each line) <= 1.5 * base";
    let words = ["-printmode", "json", "-check", limit];
    let out = er_print(&words, &after, &before);
    assert_eq!(out.status.code(), Some(1), "{out:?}");
    let verdict: Value = serde_json::from_slice(&out.stdout).unwrap();
    let failed = verdict["failed"].as_array().unwrap();
    let names: Vec<&str> = failed.iter().filter_map(|it| it["name"].as_str()).collect();
    let is_changed = |name: &&str| name.starts_with("changed, line ");
    assert!(
        !names.is_empty() && names.iter().all(is_changed),
        "{names:?}"
    );

    // Without a change nothing fails, whatever the machine did to the runs.
    let out = er_print(&words, &before, &after);
    assert_eq!(out.status.code(), Some(0), "{out:?}");

    let words = [
        "-printmode",
        "json",
        "-metrics",
        "e.totalcpu",
        "-compare",
        "on",
        "-functions",
    ];
    let out = er_print(&words, &before, &after);
    let table: Value = serde_json::from_slice(&out.stdout).unwrap();
    let mut rows = table["rows"].as_array().unwrap().iter();
    let row = rows.find(|row| row["name"] == "changed").unwrap();
    for (side, truth) in [seconds_before, seconds_after].into_iter().enumerate() {
        let mean = row["values"][side]["e.totalcpu"].as_f64().unwrap();
        assert!((mean - truth).abs() < 0.1 * truth + 0.02, "{mean} {truth}");
        assert_eq!(row["runs"][side]["e.totalcpu"].as_array().unwrap().len(), 3);
    }
    assert_eq!(row["differs"][1][0], "e.totalcpu", "{row}");
}
