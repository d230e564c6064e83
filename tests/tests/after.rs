//! What collect does after a program's end takes time in proportion to what was recorded, ends at a signal with
//! a whole experiment, and is shown on a terminal once it takes long.
#![allow(clippy::unwrap_used)]

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{Read, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use end_to_end::{Outcome, findings, finish, folder, reports, tools, watch};
use serde_json::Value;

/// A folder for the files of one test.
fn place(name: &str) -> PathBuf {
    let place = folder().join(format!("after-{name}-{}", std::process::id()));
    let _ = fs::remove_dir_all(&place);
    fs::create_dir_all(&place).unwrap();
    place
}

/// A program with that many functions of ten lines each, and that many lines that race with each other.
fn racy(place: &Path, functions: usize, lines: usize) -> PathBuf {
    // A compiler keeps what is not volatile in a register.
    let mut text = "volatile int shared;\n".to_owned();
    for number in 0..functions {
        write!(
            text,
            "int f{number}(int x)\n{{\n  int y = x;\n  if (y & 1)\n    y *= 3;\n  \
             for (int j = 0; j < 4; j++)\n    y += j ^ {number};\n  y++;\n  return y;\n}}\n"
        )
        .unwrap();
    }
    text += "int main(void)\n{\n#pragma omp parallel for schedule(dynamic, 5) num_threads(2)\n";
    text += "  for (int k = 0; k < 40; k++) {\n";
    for number in 0..lines {
        let called = number % functions;
        writeln!(text, "    shared += f{called}(k);").unwrap();
    }
    text += "  }\n  return 3;\n}\n";
    let program = place.join(format!("racy-{functions}-{lines}"));
    let source = program.with_extension("c");
    fs::write(&source, text).unwrap();
    let built = Command::new("gcc")
        .args(["-g", "-O1", "-fsanitize=thread", "-fopenmp", "-o"])
        .args([&program, &source])
        .status();
    assert!(built.unwrap().success());
    program
}

/// `collect -r race` of a program.
fn check(experiment: &Path, program: &Path) -> Command {
    let mut command = Command::new(&tools().collect);
    command.args(["-r", "race", "-O"]).arg(experiment);
    command.arg(program).env("OMP_WAIT_POLICY", "passive");
    command
}

fn signal(name: &str, to: &Child) {
    let line = format!("kill -s {name} {}", to.id());
    Command::new("sh").args(["-c", &line]).status().unwrap();
}

/// The races of an experiment, and what it says that was not checked.
fn races(experiment: &Path) -> (Vec<Value>, String) {
    let report = &reports(experiment, "user", &["-races"])[0];
    let rows = report["rows"].as_array().unwrap().clone();
    (rows, report.to_string())
}

#[test]
fn findings_are_named_in_time_that_does_not_grow_with_the_program() {
    let place = place("linear");
    let experiment = place.join("run.er");
    // Seconds of CPU of collect, with the program's few milliseconds.
    let [small, large] = [200, 1600].map(|functions| {
        let program = racy(&place, functions, 40);
        let seconds = (0..3).map(|_| {
            let mut command = Command::new("bash");
            let script = "TIMEFORMAT=%U; time \"$@\"";
            command.args(["-c", script, "bash"]).arg(&tools().collect);
            command.args(["-r", "race", "-O"]).arg(&experiment);
            command.arg(&program).env("OMP_WAIT_POLICY", "passive");
            let outcome = finish(command);
            assert_eq!(outcome.status, 3, "{outcome:?}");
            let seconds: f64 = outcome.stderr.lines().last().unwrap().parse().unwrap();
            seconds
        });
        seconds.fold(f64::MAX, f64::min)
    });
    let (rows, _) = races(&experiment);
    assert!(rows.len() >= 40 * 39 / 2, "{} races", rows.len());
    // The larger program has eight times as many lines, and the same findings.
    assert!(large < 4.0 * small, "{small} s, {large} s");
    fs::remove_dir_all(place).unwrap();
}

/// What is said of findings that a signal left without names.
const ENDED: &str = "how certain findings are that stand at addresses: a signal ended the naming";

#[test]
fn a_terminal_shows_the_naming_of_many_findings_and_ctrl_c_ends_it() {
    let place = place("terminal");
    let program = racy(&place, 10, 300);
    let experiment = place.join("run.er");
    let command = check(&experiment, &program);
    let words: Vec<&str> = std::iter::once(command.get_program())
        .chain(command.get_args())
        .map(|word| word.to_str().unwrap())
        .collect();
    let mut terminal = Command::new("script")
        .args(["-qec", &format!("exec {}", words.join(" ")), "/dev/null"])
        .env("OMP_WAIT_POLICY", "passive")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("these tests need script(1)");
    let (mut keys, mut output) = (
        terminal.stdin.take().unwrap(),
        terminal.stdout.take().unwrap(),
    );
    let mut shown = String::new();
    let mut piece = [0; 4096];
    while !shown.contains("naming findings") {
        let count = output.read(&mut piece).unwrap();
        assert!(count > 0, "{shown}");
        shown += &String::from_utf8_lossy(&piece[..count]);
    }
    keys.write_all(b"\x03").unwrap();
    output.read_to_string(&mut shown).unwrap();
    assert_eq!(terminal.wait().unwrap().code(), Some(3), "{shown}");
    let (rows, report) = races(&experiment);
    assert!(report.contains(ENDED) && shown.contains(ENDED), "{shown}");
    assert!(!rows.is_empty());
    // Nothing is called certain without a name.
    for row in rows {
        let is_named = row.to_string().contains("racy-10-300.c");
        assert!(is_named || row["class"] == "order by chance", "{row}");
    }
    fs::remove_dir_all(place).unwrap();
}

#[test]
fn a_collect_that_is_killed_at_once_says_what_it_had_stored() {
    let place = place("killed");
    let program = place.join("sleeps");
    fs::write(
        place.join("a.c"),
        "#include <unistd.h>\nint main(void) { sleep(100); }",
    )
    .unwrap();
    let built = Command::new("gcc")
        .args(["-g", "-fsanitize=thread", "-o"])
        .args([&program, &place.join("a.c")])
        .status();
    assert!(built.unwrap().success());
    let experiment = place.join("run.er");
    let outcome = watch(check(&experiment, &program), |collect| {
        if findings(&experiment).is_some() {
            signal("KILL", collect);
        }
        Ok::<(), String>(())
    });
    assert_eq!(outcome.unwrap().status, 128 + 9);
    let said = tools().print(&experiment, &["-races", "-header"]);
    assert!(
        said.contains("was cut off before anything was stored"),
        "{said}"
    );
    // It can be replaced, whatever was being written.
    fs::write(experiment.join("header.json.new"), "{").unwrap();
    let again = place.join("again");
    fs::write(place.join("b.c"), "int main(void) { return 3; }").unwrap();
    let built = Command::new("gcc")
        .args(["-g", "-fsanitize=thread", "-o"])
        .args([&again, &place.join("b.c")])
        .status();
    assert!(built.unwrap().success());
    let outcome = finish(check(&experiment, &again));
    assert_eq!(outcome.status, 3, "{outcome:?}");
    fs::remove_dir_all(place).unwrap();
}

/// A file that takes long to copy, although it takes no room.
fn enlarge(program: &Path) {
    const LENGTH: u64 = 4 << 30;
    let file = File::options().write(true).open(program).unwrap();
    file.set_len(LENGTH).unwrap();
}

#[test]
fn a_signal_ends_the_copying_of_files() {
    let place = place("archive");
    let program = place.join("large");
    // It is sampled: what no sample names is not copied.
    let text = "int main(void) { for (volatile long i = 0; i < 300000000; i++); return 3; }";
    fs::write(place.join("a.c"), text).unwrap();
    let built = Command::new("gcc")
        .args(["-g", "-o"])
        .args([&program, &place.join("a.c")])
        .status();
    assert!(built.unwrap().success());
    enlarge(&program);
    let experiment = place.join("run.er");
    let mut command = Command::new(&tools().collect);
    command.args(["-A", "copy", "-O"]).arg(&experiment);
    command.arg(&program);
    let archive = experiment.join("archives");
    let outcome: Outcome = watch(command, |collect| {
        if archive.exists() {
            signal("TERM", collect);
        }
        Ok::<(), String>(())
    })
    .unwrap();
    assert_eq!(outcome.status, 3, "{outcome:?}");
    let header = &reports(&experiment, "user", &["-header"])[0];
    let notes = header["header"]["notes"].to_string();
    assert!(notes.contains("a signal ended the copying"), "{notes}");
    let below = program.strip_prefix("/").unwrap();
    assert!(!archive.join(below).exists());
    fs::remove_dir_all(place).unwrap();
}
