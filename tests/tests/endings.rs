//! Recordings that end otherwise than they should: what was measured until then can be read, and
//! holds together.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::Duration;

use end_to_end::{compiler, folder, tools};
use fixtures::{Family, Opt, Run, WaitPolicy, program};
use serde_json::Value;

/// A program with OpenMP that runs for more than two seconds on any machine.
fn long() -> Run {
    let program = program("moments").expect("in the catalogue");
    let compiler = compiler(Family::Clang);
    let exe = fixtures::build(program, compiler, Opt::O2, &folder().join("built"));
    let exe = exe.unwrap_or_else(|e| panic!("{e}"));
    Run::new(program, &exe)
        .threads(2)
        .policy(WaitPolicy::Passive)
}

fn experiment(name: &str) -> PathBuf {
    let path = folder().join(format!("{name}-{}.er", std::process::id()));
    let _ = fs::remove_dir_all(&path);
    path
}

/// Starts `collect` on the program, and waits until it has written something.
fn start(experiment: &Path) -> Child {
    let collect = tools().collect.as_os_str();
    let mut command = long().under(&[collect, "-o".as_ref(), experiment.as_os_str()]);
    let child = command.spawn().expect("collect was built");
    let records = experiment.join("records");
    let begin = std::time::Instant::now();
    while fs::metadata(&records).map_or(0, |m| m.len()) == 0 {
        assert!(
            begin.elapsed() < Duration::from_secs(60),
            "nothing was written"
        );
        std::thread::sleep(Duration::from_millis(20));
    }
    // Time is written by the second, when that is over.
    std::thread::sleep(Duration::from_millis(1400));
    child
}

/// The program that a process started last.
fn child_of(parent: u32) -> u32 {
    let path = format!("/proc/{parent}/task/{parent}/children");
    let text = fs::read_to_string(path).expect("the kernel lists children");
    let last = text.split_whitespace().last().expect("collect has a child");
    last.parse().expect("a process's number")
}

fn kill(process: u32) {
    let status = Command::new("sh")
        .args(["-c", "kill -9 $0", &process.to_string()])
        .status();
    assert!(status.expect("there is a shell").success());
}

/// The function list, and total, work and wait of `<Total>`.
fn totals(experiment: &Path) -> (Value, f64, f64, f64) {
    let metrics = "e.total:e.ompwork:e.ompwait:name";
    let commands = ["-printmode", "json", "-metrics", metrics, "-functions"];
    let text = tools().print(experiment, &commands);
    let report: Value = serde_json::from_str(&text).expect("reports are JSON");
    let value = |metric: &str| {
        report["rows"][0]["values"][metric]
            .as_f64()
            .expect("a number")
    };
    let (total, work, wait) = (value("e.total"), value("e.ompwork"), value("e.ompwait"));
    (report, total, work, wait)
}

fn warnings(report: &Value) -> Vec<String> {
    let list = report["warnings"]
        .as_array()
        .expect("reports have warnings");
    list.iter()
        .map(|w| w.as_str().expect("a sentence").to_owned())
        .collect()
}

#[test]
fn a_program_that_is_killed_leaves_a_whole_recording() {
    let path = experiment("killed-program");
    let mut collect = start(&path);
    kill(child_of(collect.id()));
    let status = collect.wait().expect("it ends with its program");
    assert_eq!((status.code(), status.signal()), (Some(128 + 9), None));
    let (report, total, work, wait) = totals(&path);
    assert!(
        (work + wait - total).abs() < 1e-6,
        "{work} + {wait} is not {total}"
    );
    assert!(total > 1.0, "it ran for more than a second, not {total} s");
    assert_eq!(warnings(&report), [""; 0]);
    fs::remove_dir_all(path).expect("it is ours");
}

#[test]
fn a_collect_that_is_killed_leaves_what_it_had_written() {
    let path = experiment("killed-collect");
    let mut collect = start(&path);
    let program = child_of(collect.id());
    kill(collect.id());
    collect.wait().expect("it was killed");
    kill(program);
    let (report, total, work, wait) = totals(&path);
    assert!(
        (work + wait - total).abs() < 1e-6,
        "{work} + {wait} is not {total}"
    );
    assert!(total > 0.5, "{total}");
    let said = warnings(&report).join("\n");
    assert!(said.contains("was not finished"), "{said}");
    let header = tools().print(&path, &["-header"]);
    let duration = header.lines().find_map(|line| {
        let line = line.strip_prefix("Data Collection Duration: ")?;
        line.strip_suffix(" seconds up to the last record (it was not finished)")
    });
    let seconds: f64 = duration.expect(&header).parse().expect("a number");
    assert!(seconds > 0.5, "{seconds}");
    fs::remove_dir_all(path).expect("it is ours");
}

#[test]
fn a_recording_cut_anywhere_is_read_up_to_there_or_refused_in_one_sentence() {
    let whole = experiment("cut");
    let collect = tools().collect.as_os_str();
    let run = long();
    let command = run.under(&[collect, "-o".as_ref(), whole.as_os_str()]);
    run.finish(command).unwrap_or_else(|e| panic!("{e}"));
    let bytes = fs::read(whole.join("records")).expect("an experiment has records");
    let (_, complete, ..) = totals(&whole);
    for part in 0..12 {
        let length = bytes.len() * part / 12;
        fs::write(whole.join("records"), &bytes[..length]).expect("it is ours");
        let metrics = "e.total:name";
        let commands = ["-printmode", "json", "-metrics", metrics, "-functions"];
        let out = tools().try_print(&whole, &commands);
        let said = String::from_utf8_lossy(&out.stderr);
        assert!(!said.contains("panicked"), "cut at {length}: {said}");
        match out.status.code() {
            Some(0) => {
                let report: Value = serde_json::from_slice(&out.stdout).expect("JSON");
                let total = report["rows"][0]["values"]["e.total"]
                    .as_f64()
                    .expect("a number");
                assert!(
                    total <= complete + 1e-6,
                    "cut at {length}: {total} of {complete} s"
                );
                assert!(
                    !warnings(&report).is_empty(),
                    "cut at {length} without a word"
                );
            }
            Some(1) => assert_eq!(
                said.trim_end().lines().count(),
                1,
                "cut at {length}: {said}"
            ),
            code => panic!("cut at {length}: {code:?}: {said}"),
        }
    }
    fs::remove_dir_all(whole).expect("it is ours");
}
