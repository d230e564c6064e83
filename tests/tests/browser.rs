//! The page that `er_print -report` writes, in real browsers.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use end_to_end::{folder, reports, rows, tools};
use serde_json::{Value, json};

/// The driver: the last release that starts Firefox ESR.
const DRIVER: &str = "playwright-core@1.62.0";

/// The experiment's name, which a browser must not obey.
const NAME: &str = "<img src=x onerror=alert(1)>.er";

/// A folder with the driver and the script, made once.
fn driver() -> PathBuf {
    let place = folder().join("browser");
    fs::create_dir_all(&place).unwrap();
    let mut install = Command::new("npm");
    install
        .args(["install", "--no-audit", "--no-fund", "--prefix"])
        .arg(&place)
        .arg(DRIVER);
    assert!(install.status().unwrap().success(), "{install:?}");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("browser/page.mjs");
    fs::copy(script, place.join("page.mjs")).unwrap();
    place
}

/// Records a program with a critical section on two threads.
fn record(place: &Path) -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("browser/program.c");
    let program = place.join("program");
    let mut gcc = Command::new("gcc");
    gcc.args(["-O2", "-g", "-fopenmp", "-o"])
        .args([&program, &source]);
    assert!(gcc.status().unwrap().success());
    let experiment = place.join(NAME);
    let mut collect = Command::new(&tools().collect);
    collect
        .arg("-O")
        .arg(&experiment)
        .arg(&program)
        .envs([("OMP_NUM_THREADS", "2"), ("OMP_WAIT_POLICY", "passive")]);
    assert!(collect.status().unwrap().success());
    experiment
}

/// A row of functions as the page writes it.
fn row(row: &Value) -> Value {
    let work = row["values"]["e.ompwork"].as_f64().unwrap();
    let work = if work.abs() < 5e-10 {
        "0.".to_owned()
    } else {
        format!("{work:.3}")
    };
    json!({"name": row["name"], "work": work})
}

/// What the script expects of the page.
fn expected(experiment: &Path) -> Value {
    let functions = ["user", "machine"].map(|mode| {
        let views = reports(experiment, mode, &["-functions"]);
        let rows: Vec<Value> = rows(&views[0]).iter().map(row).collect();
        (mode.to_owned(), json!(rows))
    });
    let header = &reports(experiment, "user", &["-header"])[0]["header"];
    json!({
        "name": NAME,
        "search": "heavy",
        "seconds": header["duration_ns"].as_f64().unwrap() / 1e9,
        "functions": serde_json::Map::from_iter(functions),
    })
}

#[test]
#[ignore = "installs browsers and their driver"]
fn a_page_works_in_chromium_and_firefox() {
    let place = driver();
    let experiment = record(&place);
    let page = place.join("page.html");
    let words = ["-report", page.to_str().unwrap()];
    tools().print(&experiment, &words);
    let file = place.join("expected.json");
    fs::write(&file, expected(&experiment).to_string()).unwrap();
    for (name, program) in [("chromium", "chromium"), ("firefox", "firefox-esr")] {
        let found = Command::new("which").arg(program).output().unwrap().stdout;
        let program = String::from_utf8(found).unwrap();
        let mut node = Command::new("node");
        node.current_dir(&place)
            .args(["page.mjs", name, program.trim()])
            .args([&page, &file]);
        let out = node.output().unwrap();
        let said = String::from_utf8_lossy(&out.stderr);
        assert!(out.status.success(), "{name}: {said}");
    }
}
