//! Functions of Python in the stacks of regions that extensions make, and in all stacks where the interpreter tells
//! perf of them: `python_calls.py` and `python_deep.py` with `python_calls.c`, `trampolines.c`.
#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use end_to_end::{Node, compiler, folder, reports, rows, tools, value};
use fixtures::Family;

fn program(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("programs")
        .join(name)
}

/// What gcc makes of a program, in a file of its own.
fn built(source: &str, options: &[&str]) -> PathBuf {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, Relaxed);
    let file = folder().join(format!("{source}-{}-{number}", std::process::id()));
    let mut build = Command::new(&compiler(Family::Gcc).path);
    build.args(["-O2", "-g"]).args(options).arg(program(source));
    let status = build.arg("-o").arg(&file).arg("-lm").status().unwrap();
    assert!(status.success(), "{build:?}");
    file
}

/// The experiment of a command, and the numbers that it prints.
fn recorded(name: &str, options: &[&str], command: &[&Path]) -> (PathBuf, Vec<f64>) {
    let experiment = folder().join(format!("{name}-{}.er", std::process::id()));
    let mut collect = Command::new(&tools().collect);
    collect
        .arg("-O")
        .arg(&experiment)
        .args(options)
        .args(command);
    collect.envs([("OMP_NUM_THREADS", "2"), ("OMP_WAIT_POLICY", "passive")]);
    let output = collect.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    let numbers = text.split_whitespace().map(|it| it.parse().unwrap());
    (experiment, numbers.collect())
}

/// The numbers of the lines of a program that hold a mark.
fn line(source: &str, mark: &str) -> u64 {
    let text = std::fs::read_to_string(program(source)).unwrap();
    let at = text.lines().position(|line| line.contains(mark)).unwrap();
    at as u64 + 1
}

#[test]
fn a_region_stands_under_the_lines_of_python_that_called_it() {
    let library = built("python_calls.c", &["-fopenmp", "-shared", "-fPIC"]);
    let script = program("python_calls.py");
    let command = [Path::new("python3"), &script, &library];
    let (experiment, seconds) = recorded("python", &[], &command);
    let mut chains = 0;
    // Functions of several files may have a name.
    let bare = |name: &str| name.split(" (in ").next().map(str::to_owned).unwrap();
    Node::load(&experiment, "user").walk(&mut |path, node| {
        if node.name.contains("-- OMP parallel region") {
            let mut names: Vec<String> = path.iter().map(|name| bare(name)).collect();
            let shown = names.join(" / ");
            let begin = names.iter().position(|name| name == "<module>");
            names.drain(..begin.unwrap_or_else(|| panic!("{shown}")));
            let python = &names[..4.min(names.len())];
            assert_eq!(python, ["<module>", "main", "λ", "Solver.run"], "{shown}");
            assert!(!shown.contains("_PyEval_EvalFrameDefault"), "{shown}");
            assert_eq!(names.last().unwrap(), "work", "{shown}");
            chains += 1;
        }
    });
    assert_eq!(chains, 1);
    // Its own time in the two calls, by the lines.
    let found = reports(&experiment, "user", &["-metrics", "i.total:name", "-lines"])
        .pop()
        .unwrap();
    let at = |mark: &str| {
        let name = format!(
            "Solver.run, line {} in \"python_calls.py\"",
            line("python_calls.py", mark)
        );
        let row = rows(&found).iter().find(|row| row["name"] == *name);
        value(row.unwrap_or_else(|| panic!("no {name}")), "i", "total")
    };
    for (mark, wall) in ["the short call", "the long call"]
        .into_iter()
        .zip(&seconds)
    {
        // Two threads.
        let told = at(mark) / 2.0;
        assert!(
            (told - wall).abs() < 0.1 * wall + 0.01,
            "{mark}: {told} of {wall}"
        );
    }
    let header = tools().print(&experiment, &["-header"]);
    assert!(header.contains("its frames are known"), "{header}");
    std::fs::remove_dir_all(experiment).unwrap();

    let (experiment, _) = recorded("python-off", &["-j", "off"], &command);
    Node::load(&experiment, "user").walk(&mut |_, node| {
        assert!(!node.name.starts_with("Solver.run"), "-j off");
    });
    std::fs::remove_dir_all(experiment).unwrap();
    std::fs::remove_file(library).unwrap();
}

/// `inner` had seemed to be called by the interpreter's first function.
#[test]
fn where_frames_are_not_known_the_interpreter_stands() {
    let library = built("python_calls.c", &["-fopenmp", "-shared", "-fPIC"]);
    let script = program("python_deep.py");
    let command = [Path::new("python3"), &script, &library];
    let (experiment, _) = recorded("python-deep", &[], &command);
    let mut is_there = false;
    Node::load(&experiment, "user").walk(&mut |path, node| {
        if node.name == "inner" {
            assert_eq!(
                *path.last().unwrap(),
                "_PyEval_EvalFrameDefault",
                "{path:?}"
            );
            is_there = true;
        }
    });
    assert!(is_there);
    std::fs::remove_dir_all(experiment).unwrap();
    std::fs::remove_file(library).unwrap();
}

#[test]
fn functions_that_the_interpreter_tells_perf_of_take_the_places_of_its_own() {
    let file = built("trampolines.c", &[]);
    let (experiment, seconds) = recorded("trampolines", &["-j", "on"], &[&file]);
    let mut inner = 0.0;
    Node::load(&experiment, "user").walk(&mut |path, node| {
        if node.name == "burn" {
            let names = &path[path.len() - 4..];
            assert_eq!(
                names,
                ["main", "<module>", "Model.outer", "inner"],
                "{path:?}"
            );
        }
    });
    let commands = ["-metrics", "i.total:name", "-functions"];
    let functions = reports(&experiment, "user", &commands).pop().unwrap();
    for row in rows(&functions) {
        assert_ne!(row["name"], "_PyEval_EvalFrameDefault");
        if row["name"] == "inner" {
            inner = value(row, "i", "total");
        }
    }
    let [wall] = seconds[..] else {
        panic!("{seconds:?}");
    };
    assert!((inner - wall).abs() < 0.05 * wall, "{inner} of {wall}");
    // What the machine did.
    let mut is_there = false;
    Node::load(&experiment, "machine").walk(&mut |path, node| {
        if node.name == "burn" {
            let functions = path
                .iter()
                .filter(|name| **name == "_PyEval_EvalFrameDefault");
            is_there |= functions.count() == 3 || path.join(" ").contains("(recursive)");
        }
    });
    assert!(is_there);
    // The map is gone, which Python would have left.
    let process = tools().print(&experiment, &["-header"]);
    let pid: u32 = process
        .split_once("Process pid ")
        .and_then(|(_, rest)| rest.split(':').next()?.parse().ok())
        .unwrap_or_else(|| panic!("{process}"));
    assert!(!Path::new(&format!("/tmp/perf-{pid}.map")).exists());
    std::fs::remove_dir_all(experiment).unwrap();
    std::fs::remove_file(file).unwrap();
}
