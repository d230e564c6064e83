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

/// Records a program with a critical section on two threads, as it was and as it became.
fn record(place: &Path) -> [PathBuf; 2] {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("browser/program.c");
    let program = place.join("program");
    let mut gcc = Command::new("gcc");
    gcc.args(["-O2", "-g", "-fopenmp", "-o"])
        .args([&program, &source]);
    assert!(gcc.status().unwrap().success());
    [(NAME, &[][..]), ("later.er", &["changed"])].map(|(name, words)| {
        let experiment = place.join(name);
        let mut collect = Command::new(&tools().collect);
        collect
            .arg("-O")
            .args([&experiment, &program])
            .args(words)
            .envs([("OMP_NUM_THREADS", "2"), ("OMP_WAIT_POLICY", "passive")]);
        assert!(collect.status().unwrap().success());
        experiment
    })
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

/// The stacks of a call tree, from the outermost frame in as an address has them, each with its seconds in each
/// experiment.
fn stacks(rows: &Value, above: &[[String; 2]], found: &mut Vec<Value>) {
    let rows = rows.as_array().unwrap();
    for (at, row) in rows.iter().enumerate() {
        let alike = rows[..at]
            .iter()
            .filter(|other| other["name"] == row["name"]);
        let word = match alike.count() {
            0 => "frame".to_owned(),
            before => format!("frame{}", before + 1),
        };
        let mut stack = above.to_vec();
        stack.push([word, row["name"].as_str().unwrap().to_owned()]);
        let seconds = |values: &Value| values["a.total"].as_f64().unwrap_or(0.0);
        let seconds: Vec<f64> = match &row["values"] {
            Value::Array(sides) => sides.iter().map(seconds).collect(),
            one => vec![seconds(one)],
        };
        found.push(json!({"stack": &stack[1..], "name": row["name"], "seconds": seconds}));
        stacks(&row["children"], &stack, found);
    }
}

/// The call tree of some experiments.
fn call_tree(experiments: &[PathBuf], words: &[&str]) -> Vec<Value> {
    let mut er_print = Command::new(&tools().er_print);
    er_print.args(["-printmode", "json", "-metrics", "e.total"]);
    er_print.args(words).arg("-calltree").args(experiments);
    let said = er_print.output().unwrap().stdout;
    let report: Value = serde_json::from_slice(&said).unwrap();
    let mut found = Vec::new();
    stacks(&report["rows"], &[], &mut found);
    found
}

/// What the script expects of the pages.
fn expected(experiments: &[PathBuf; 2]) -> Value {
    let [experiment, _] = experiments;
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
        "stacks": call_tree(&experiments[..1], &[]),
        "compared": call_tree(experiments, &["-compare", "on"]),
    })
}

#[test]
#[ignore = "installs browsers and their driver"]
fn a_page_works_in_chromium_and_firefox() {
    let place = driver();
    let experiments = record(&place);
    let pages = ["page.html", "compared.html"].map(|name| place.join(name));
    for (page, experiments) in pages.iter().zip([&experiments[..1], &experiments[..]]) {
        let mut er_print = Command::new(&tools().er_print);
        er_print.arg("-report").arg(page).args(experiments);
        assert!(er_print.status().unwrap().success());
    }
    let file = place.join("expected.json");
    fs::write(&file, expected(&experiments).to_string()).unwrap();
    for (name, program) in [("chromium", "chromium"), ("firefox", "firefox-esr")] {
        let found = Command::new("which").arg(program).output().unwrap().stdout;
        let program = String::from_utf8(found).unwrap();
        let mut node = Command::new("node");
        node.current_dir(&place)
            .args(["page.mjs", name, program.trim()])
            .args([&pages[0], &pages[1], &file]);
        let out = node.output().unwrap();
        let said = String::from_utf8_lossy(&out.stderr);
        assert!(out.status.success(), "{name}: {said}");
    }
}
