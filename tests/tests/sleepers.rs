//! Threads that sleep stand where they sleep, also if none of their few switches had its stack taken.
#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};
use std::process::Command;

use end_to_end::{folder, reports, rows, tools};

/// What may be missing: the while before a thread is looked at, where a second ends within it.
const MISSING: f64 = 0.10;

#[test]
fn threads_that_went_to_sleep_once_are_where_they_sleep() {
    let place = |name: &str| -> PathBuf {
        let folder = folder().join(format!("sleepers-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        folder.join(name)
    };
    let program = place("doze");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("programs/doze.c");
    let built = Command::new("gcc")
        .args(["-O2", "-g", "-fopenmp", "-pthread"])
        .arg(source)
        .arg("-o")
        .arg(&program)
        .status()
        .unwrap();
    assert!(built.success());
    let experiment = place("doze.er");
    let output = Command::new(&tools().collect)
        .arg("-O")
        .arg(&experiment)
        .arg(&program)
        .env("OMP_WAIT_POLICY", "passive")
        .output()
        .unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    let slept: f64 = said.trim().parse().unwrap();

    let functions = reports(&experiment, "user", &["-functions"]);
    let seconds = |name: &str| {
        let row = rows(&functions[0]).iter().find(|row| row["name"] == name);
        row.map_or(0.0, |row| row["values"]["i.total"].as_f64().unwrap())
    };
    let (found, unknown) = (seconds("doze"), seconds("<Unknown>"));
    assert!(
        found > slept * (1.0 - MISSING) && found < slept * 1.02,
        "slept {slept} s, of which {found} are in doze and {unknown} unknown"
    );
    assert!(unknown < slept * MISSING, "{unknown} of {slept} s");
}
