//! Filters by instance, held against a program whose instances say for how long each worked.
#![allow(clippy::unwrap_used)]

use std::path::Path;
use std::process::Command;

use end_to_end::{compiler, folder, reports, rows, tools, value};
use fixtures::{Compiler, Family};

/// Records the program; returns what it said, as expressions with seconds.
fn record(compiler: &Compiler, experiment: &Path) -> Vec<(String, f64)> {
    let exe = experiment.with_extension("exe");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("programs/instances.c");
    let mut build = Command::new(&compiler.path);
    build.args(["-O2", "-g", "-fopenmp"]);
    build.args(compiler.header());
    let built = build.arg(source).arg("-o").arg(&exe).status().unwrap();
    assert!(built.success(), "{build:?}");
    let mut collect = Command::new(&tools().collect);
    collect.args(["-p", "1", "-O"]).arg(experiment).arg(&exe);
    let output = collect.env("OMP_WAIT_POLICY", "passive").output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let _ = std::fs::remove_file(exe);
    let text = String::from_utf8(output.stdout).unwrap();
    let line = |line: &str| {
        let words: Vec<&str> = line.split(' ').collect();
        (
            format!("{}=={}", words[0], words[1]),
            words[2].parse().unwrap(),
        )
    };
    text.lines().map(line).collect()
}

/// Seconds of work on a CPU that a filter keeps.
fn kept(experiment: &Path, filter: &str) -> f64 {
    let work = format!("({filter}) && OMPSTATE==WORK && MSTATE IN (0, 1)");
    let found = reports(experiment, "user", &["-filters", &work, "-functions"]);
    let total = rows(&found[0]).iter().find(|row| row["name"] == "<Total>");
    total.map_or(0.0, |total| value(total, "e", "total"))
}

/// Seconds that a hypervisor took from the program. The kernel does not say from which instance.
fn stolen(experiment: &Path) -> f64 {
    let header = &reports(experiment, "user", &["-header"])[0]["header"];
    header["sampling"]["stolen_ns"].as_f64().unwrap() / 1e9
}

#[test]
fn a_filter_by_instance_keeps_what_that_instance_did() {
    for family in [Family::Clang, Family::Gcc] {
        let compiler = compiler(family);
        let name = format!("instances-{}-{}", compiler.name, std::process::id());
        let experiment = folder().join(name).with_extension("er");
        let said = record(compiler, &experiment);
        assert_eq!(said.len(), 4 + 2 + 1 + 6, "{said:?}");
        let stolen = stolen(&experiment);
        let mut wrong = Vec::new();
        for (filter, seconds) in &said {
            let found = kept(&experiment, filter);
            println!(
                "{}: {filter} worked {seconds:.3} s, {found:.3} s",
                compiler.name
            );
            // A sample stands for a millisecond: each thread's first and last one may be in the
            // instance beside, and its second divides what is not listed.
            if (found - seconds).abs() > 0.006 + 0.04 * seconds + stolen {
                wrong.push(format!(
                    "{filter} worked {seconds:.3} s, found {found:.3} s"
                ));
            }
        }
        assert!(wrong.is_empty(), "{}: {wrong:#?}", experiment.display());
        // All of them together are what no filter takes, but for code around them.
        let alone: f64 = said.iter().map(|(_, seconds)| seconds).sum();
        let all = kept(&experiment, "CPRID>0");
        assert!(all > 0.98 * alone, "{all} of {alone}");
        let (one, other) = ("CPRID IN (1-3)", "!(CPRID IN (1-3))");
        let parts = kept(&experiment, one) + kept(&experiment, other);
        assert!((parts - kept(&experiment, "1")).abs() < 1e-6);
        std::fs::remove_dir_all(experiment).unwrap();
    }
}
