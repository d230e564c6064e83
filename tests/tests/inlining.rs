//! Inlined functions as frames of their own, and recursion folded: `inlined.c`.
#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};
use std::process::Command;

use end_to_end::{compiler, folder, metrics, reports, rows, tools, value};
use fixtures::{Compiler, Family};
use serde_json::Value;

/// A recording of the program built by this compiler, for one of the tests.
fn recorded(compiler: &Compiler, test: &str) -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("programs/inlined.c");
    let name = format!("{test}-{}-{}", compiler.name, std::process::id());
    let experiment = folder().join(name).with_extension("er");
    let exe = experiment.with_extension("exe");
    let mut build = Command::new(&compiler.path);
    build.args(["-O2", "-g", "-fopenmp"]).arg(source);
    let built = build.arg("-o").arg(&exe).status().unwrap();
    assert!(built.success(), "{build:?}");
    let mut collect = Command::new(&tools().collect);
    collect.arg("-O").arg(&experiment).arg(&exe);
    collect.envs([("OMP_NUM_THREADS", "2"), ("OMP_WAIT_POLICY", "passive")]);
    let output = collect.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    std::fs::remove_file(exe).unwrap();
    experiment
}

/// Every node of a call tree with the names above it, outermost first. Inlined functions have `!`
/// before their names, and constructs no symbol.
fn paths(report: &Value) -> Vec<(Vec<String>, &Value)> {
    let mut found = Vec::new();
    let mut pending: Vec<(Vec<String>, &Value)> =
        rows(report).iter().map(|row| (Vec::new(), row)).collect();
    while let Some((mut path, row)) = pending.pop() {
        let name = row["name"].as_str().unwrap();
        let name = name.split_once(" [").map_or(name, |(name, _)| name);
        let mark = if row["inlined"] == true { "!" } else { "" };
        path.push(format!("{mark}{name}"));
        for child in row["children"].as_array().unwrap() {
            pending.push((path.clone(), child));
        }
        found.push((path, row));
    }
    found
}

fn work(row: &Value, flavour: &str) -> f64 {
    value(row, flavour, "ompwork")
}

#[test]
fn inlined_functions_are_frames_and_totals_stay() {
    for family in [Family::Gcc, Family::Clang] {
        let compiler = compiler(family);
        let name = &compiler.name;
        let experiment = recorded(compiler, "inlined");
        let [on, off] = ["on", "off"].map(|choice| {
            let commands = ["-inline", choice, "-calltree", "-functions", "-lines"];
            reports(&experiment, "user", &commands)
        });
        let region = "kernel -- OMP parallel region from line 15";
        let stack = ["main", "!step", "!kernel", region, "!innermost"];
        let tree = paths(&on[0]);
        let (_, node) = tree
            .iter()
            .find(|(path, _)| path.ends_with(&stack.map(str::to_owned)))
            .unwrap_or_else(|| {
                panic!(
                    "{name}: {:#?}",
                    tree.iter().map(|it| &it.0).collect::<Vec<_>>()
                )
            });
        // The loop that is inlined is nearly all the work of the region.
        let all = work(&rows(&on[0])[0], "i");
        assert!(work(node, "e") > 0.2 * all, "{name}: {node}");
        let is_inlined = |report: &Value| {
            let mut rows = rows(report).iter();
            rows.any(|row| row["name"] == "innermost" && row["inlined"] == true)
        };
        assert!(is_inlined(&on[1]), "{name}");
        let none = |report: &Value| {
            let text = report.to_string();
            !text.contains("innermost") && !text.contains("\"inlined\"")
        };
        assert!(off.iter().all(none), "{name}");
        for (on, off) in on.iter().zip(&off) {
            for metric in metrics(on) {
                let total = |report| value(&rows(report)[0], "i", &metric);
                let difference: f64 = total(on) - total(off);
                assert!(difference.abs() < 1e-9, "{name}: {metric}");
            }
        }
        // Each list adds up to its total in both settings.
        for report in on[1..].iter().chain(&off[1..]) {
            let all = rows(report);
            let sum: f64 = all[1..].iter().map(|row| work(row, "e")).sum();
            assert!((sum - work(&all[0], "e")).abs() < 1e-6, "{name}");
        }
        std::fs::remove_dir_all(experiment).unwrap();
    }
}

#[test]
fn a_recursion_through_tasks_is_folded() {
    for family in [Family::Gcc, Family::Clang] {
        let compiler = compiler(family);
        let name = &compiler.name;
        let experiment = recorded(compiler, "folded");
        let found = reports(&experiment, "user", &["-calltree"]);
        let tree = paths(&found[0]);
        let deepest = tree.iter().map(|(path, _)| path.len()).max().unwrap();
        assert!(deepest < 30, "{name}: {deepest} levels");
        let is_folded = |row: &Value| row["recursive"] == true;
        assert!(tree.iter().any(|(_, row)| is_folded(row)), "{name}");
        std::fs::remove_dir_all(experiment).unwrap();
    }
}
