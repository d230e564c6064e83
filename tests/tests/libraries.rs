//! Programs that bring OpenMP by libraries which they open: several runtimes at once, and one whose
//! calls do not reach ours.
#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};
use std::process::Command;

use end_to_end::{compiler, folder, tools};
use fixtures::{Compiler, Family};
use serde_json::Value;

fn run(command: &mut Command) {
    let output = command.output().unwrap();
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {message}");
}

fn source(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("programs");
    folder.join(name)
}

fn place(name: &str) -> PathBuf {
    let folder = folder().join(format!("libraries-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    folder.join(name)
}

/// The library of a compiler, with its function `part`.
fn library(compiler: &Compiler, part: &str) -> PathBuf {
    let path = place(&format!("lib{part}.so"));
    let mut command = Command::new(&compiler.path);
    command.args(["-O2", "-g", "-fPIC", "-shared", "-fopenmp"]);
    command
        .arg(format!("-DPART={part}"))
        .arg(source("part.c"))
        .arg("-o")
        .arg(&path);
    run(&mut command);
    path
}

/// Records the host with these libraries.
fn record(compiler: &Compiler, name: &str, parts: &[(&Path, &str, &str)]) -> PathBuf {
    let host = place(&format!("host-{name}"));
    let mut build = Command::new(&compiler.path);
    build.args(["-O2", "-g"]).arg(source("host.c"));
    run(build.arg("-o").arg(&host).arg("-ldl"));
    let experiment = host.with_extension("er");
    let mut command = Command::new(&tools().collect);
    command
        .arg("-O")
        .arg(&experiment)
        .arg(&host)
        .env("OMP_WAIT_POLICY", "passive");
    for (library, part, how) in parts {
        command.arg(library).args([part, how]);
    }
    run(&mut command);
    experiment
}

/// Each path of the call tree in user mode with its own seconds, outermost first.
fn paths(experiment: &Path) -> Vec<(Vec<String>, f64)> {
    let text = tools().print(
        experiment,
        &[
            "-printmode",
            "json",
            "-viewmode",
            "user",
            "-metrics",
            "e.total:name",
            "-calltree",
        ],
    );
    let view: Value = serde_json::from_str(&text).unwrap();
    let mut found = Vec::new();
    let mut pending = vec![(Vec::new(), &view["rows"][0])];
    while let Some((callers, row)) = pending.pop() {
        let name = row["name"].as_str().unwrap();
        assert!(
            !["GOMP_", "gomp_", "__kmp"]
                .iter()
                .any(|start| name.starts_with(start))
                && !name.contains("libgomp")
                && !name.contains("libomp"),
            "user mode shows {name}"
        );
        let mut path: Vec<String> = callers;
        path.push(name.to_owned());
        let children = row["children"].as_array().into_iter().flatten();
        let time = |row: &Value| row["values"]["a.total"].as_f64().unwrap();
        let inner: f64 = children.clone().map(time).sum();
        pending.extend(children.map(|child| (path.clone(), child)));
        found.push((path, time(row) - inner));
    }
    found
}

/// Seconds on paths of the region of `part`, all of which must come from `main`.
fn in_region(paths: &[(Vec<String>, f64)], part: &str) -> f64 {
    let region = format!("{part} -- OMP parallel region");
    let inside = paths
        .iter()
        .filter(|(path, _)| path.iter().any(|name| name.starts_with(&region)));
    let mut sum = 0.0;
    for (path, seconds) in inside {
        let at = path.iter().position(|name| name == "main");
        let part = path.iter().position(|name| name == part);
        assert!(at.is_some() && at < part, "{path:?}");
        sum += seconds;
    }
    sum
}

/// Seconds of a leaf.
fn leaf(paths: &[(Vec<String>, f64)], name: &str) -> f64 {
    let own = paths
        .iter()
        .filter(|(path, _)| path.last().is_some_and(|last| last == name));
    own.map(|(_, seconds)| seconds).sum()
}

fn header(experiment: &Path) -> String {
    tools().print(experiment, &["-header"])
}

#[test]
fn two_runtimes_in_one_process_are_kept_apart_and_told_with_their_paths() {
    let (gcc, clang) = (compiler(Family::Gcc), compiler(Family::Clang));
    let (gnu, llvm) = (library(gcc, "with_gnu"), library(clang, "with_llvm"));
    let parts = [
        (gnu.as_path(), "with_gnu", "plain"),
        (&llvm, "with_llvm", "plain"),
    ];
    let experiment = record(gcc, "two", &parts);
    let paths = paths(&experiment);
    let (gnu, llvm) = (
        in_region(&paths, "with_gnu"),
        in_region(&paths, "with_llvm"),
    );
    // The same steps: less than three times the time even where other programs want the CPUs.
    assert!(gnu > 0.1 && llvm > 0.1, "{gnu} s and {llvm} s");
    assert!(leaf(&paths, "<OMP implicit barrier>") > 0.05);
    let text = header(&experiment);
    let rows = text
        .lines()
        .filter(|line| line.starts_with("OpenMP runtime of process"));
    assert_eq!(rows.count(), 2, "{text}");
    assert!(
        text.contains("Events by: interposed") && text.contains("Events by: OMPT"),
        "{text}"
    );
    let note = text
        .lines()
        .find(|line| line.contains("has 2 OpenMP runtimes"))
        .unwrap();
    assert!(
        note.contains("libgomp.so") && note.contains("libomp.so"),
        "{note}"
    );
}

#[test]
fn a_library_bound_to_its_own_dependencies_is_told_by_its_stacks() {
    let gcc = compiler(Family::Gcc);
    let library = library(gcc, "deeply");
    let experiment = record(gcc, "deep", &[(library.as_path(), "deeply", "deep")]);
    let text = header(&experiment);
    assert!(text.contains("Events by: none"), "{text}");
    assert!(text.contains("loaded with RTLD_DEEPBIND"), "{text}");
    let paths = paths(&experiment);
    let work: f64 = paths
        .iter()
        .filter(|(path, _)| {
            path.last()
                .is_some_and(|last| last.starts_with("deeply -- OMP"))
        })
        .map(|(_, seconds)| seconds)
        .sum();
    let waits = leaf(&paths, "<OMP implicit barrier>") + leaf(&paths, "<OMP idle>");
    assert!(
        work > 0.1 && in_region(&paths, "deeply") >= work,
        "{work} s of work"
    );
    // The second thread works a third of the first one's time, and waits for the rest.
    assert!(
        waits > 0.2 * work && waits < 2.0 * work,
        "{waits} s beside {work} s"
    );
}
