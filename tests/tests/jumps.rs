//! Constructs that no stack shows, because functions end by jumping into others: `split.c`,
//! `leaps.c`; and functions that no stack shows: `tail_chains.c`.
#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};
use std::process::Command;

use end_to_end::{Node, compiler, folder, reports, rows, tools};
use fixtures::{Compiler, Family};

/// A recording of a program built by this compiler.
fn recorded(compiler: &Compiler, program: &str) -> PathBuf {
    let programs = Path::new(env!("CARGO_MANIFEST_DIR")).join("programs");
    let name = format!("{program}-{}-{}", compiler.name, std::process::id());
    let experiment = folder().join(name).with_extension("er");
    let exe = experiment.with_extension("exe");
    let mut build = Command::new(&compiler.path);
    build.args(["-O2", "-g", "-fopenmp"]);
    build.arg(programs.join(program).with_extension("c"));
    let built = build.arg("-o").arg(&exe).status().unwrap();
    assert!(built.success(), "{build:?}");
    let mut collect = Command::new(&tools().collect);
    collect.arg("-O").arg(&experiment).arg(&exe);
    collect.envs([("OMP_NUM_THREADS", "3"), ("OMP_WAIT_POLICY", "passive")]);
    collect.env("OMP_MAX_ACTIVE_LEVELS", "2");
    let output = collect.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    std::fs::remove_file(exe).unwrap();
    experiment
}

#[test]
fn regions_have_their_lines_though_forks_and_bodies_are_on_no_stack() {
    let compiler = compiler(Family::Gcc);
    let experiment = recorded(compiler, "leaps");
    let found = reports(&experiment, "user", &["-OMP_preg"]);
    let mut regions: Vec<(String, u64)> = rows(&found[0])
        .iter()
        .map(|row| {
            let name = row["name"].as_str().unwrap();
            let (name, _) = name.split_once(" [").unwrap();
            (name.to_owned(), row["instances"].as_u64().unwrap())
        })
        .collect();
    regions.sort();
    let region = |name: &str, line: u32, instances: u64| {
        let name = format!("{name} -- OMP parallel region from line {line}");
        (name, instances)
    };
    let expected = [
        region("either", 16, 3),
        region("either", 19, 3),
        region("nested", 26, 1),
        region("nested", 29, 2),
    ];
    assert_eq!(regions, expected);
    std::fs::remove_dir_all(experiment).unwrap();
}

#[test]
fn tasks_have_their_lines_though_their_bodies_are_on_no_stack() {
    for family in [Family::Gcc, Family::Clang] {
        let compiler = compiler(family);
        let experiment = recorded(compiler, "split");

        let found = reports(&experiment, "user", &["-OMP_task"]);
        let names: Vec<&str> = rows(&found[0])
            .iter()
            .map(|row| row["name"].as_str().unwrap())
            .collect();
        let mut lines = Vec::new();
        for name in &names {
            let line = name.strip_prefix("split -- OMP task from line ");
            let line = line.unwrap_or_else(|| panic!("{}: {names:#?}", compiler.name));
            lines.push(line[..2].to_owned());
        }
        lines.sort();
        assert_eq!(lines, ["21", "23"], "{}: {names:#?}", compiler.name);
        let found_regions = reports(&experiment, "user", &["-OMP_preg"]);
        let region = rows(&found_regions[0])[0]["name"].as_str().unwrap();
        let line = "main -- OMP parallel region from line 31";
        assert!(region.starts_with(line), "{}: {region}", compiler.name);
        // Nor is a place in the runtime or in our library told as the program's.
        for row in rows(&found[0]) {
            let places = row["waited"].as_array().unwrap();
            for place in places {
                let file = place["file"].as_str();
                assert!(
                    file.is_none_or(|file| file.ends_with("split.c")),
                    "{}: {place}",
                    compiler.name
                );
            }
        }
        std::fs::remove_dir_all(experiment).unwrap();
    }
}

#[test]
fn chains_of_jumps_are_whole_and_what_is_ambiguous_is_marked() {
    let ends: [&[&str]; 4] = [
        &["inner", "inner -- OMP parallel region", "middle", "leaf"],
        &["outer", "outer -- OMP parallel region", "leaf"],
        &["tasks -- OMP task", "of_task", "leaf"],
        &[
            "several -- OMP parallel region",
            "either",
            "<tail call>",
            "leaf",
        ],
    ];
    for family in [Family::Gcc, Family::Clang] {
        let compiler = compiler(family);
        let experiment = recorded(compiler, "tail_chains");
        let mut seen = [false; 4];
        Node::load(&experiment, "user").walk(&mut |path, node| {
            let mut names = path.to_vec();
            names.push(&node.name);
            let shown = names.join(" / ");
            let mut once = names.clone();
            once.sort_unstable();
            once.dedup();
            let label = &compiler.name;
            // `clock_gettime` of the C library calls the kernel's, which has the same name.
            let is_twice = once.len() < names.len() && !shown.contains("clock_gettime");
            assert!(
                !is_twice && !shown.contains("(recursive)"),
                "{label}: {shown}"
            );
            if node.name == "leaf" {
                let is_end = |end: &&[&str]| {
                    names.len() >= end.len()
                        && names[names.len() - end.len()..]
                            .iter()
                            .zip(*end)
                            .all(|(name, start)| name.starts_with(start))
                };
                let at = ends.iter().position(is_end);
                seen[at.unwrap_or_else(|| panic!("{label}: {shown}"))] = true;
            }
        });
        assert_eq!(seen, [true; 4], "{}", compiler.name);
        std::fs::remove_dir_all(experiment).unwrap();
    }
}
