//! A program that controls its own recording, and options that record a part of a run.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::thread::sleep;
use std::time::Duration;

use end_to_end::{Outcome, compiler, finish, folder, lost, reports, rows, tools};
use fixtures::Family;
use serde_json::Value;

/// Held while a program runs: recordings at the same time would compete for the CPUs.
static RECORDING: Mutex<()> = Mutex::new(());

fn place(name: &str) -> PathBuf {
    let folder = folder().join(format!("control-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    folder.join(name)
}

fn root(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// The program, built by this compiler.
fn program(family: Family) -> PathBuf {
    let compiler = compiler(family);
    let program = place(&format!("control-{}", compiler.name));
    if !program.exists() {
        let fresh = program.with_extension(format!("{:?}", std::thread::current().id()));
        let mut command = Command::new(&compiler.path);
        command.args(["-O2", "-g", "-fopenmp", "-I"]);
        command.arg(root("../collector/runtime/include"));
        command.args(compiler.header());
        if family == Family::Clang {
            command.arg("-DHAS_TOOL");
        }
        let built = command
            .arg(root("programs/control.c"))
            .arg("-o")
            .arg(&fresh)
            .status();
        assert!(built.unwrap().success());
        std::fs::rename(fresh, &program).unwrap();
    }
    program
}

fn collect(experiment: &Path, options: &[&str], program: &Path, mode: &str) -> Command {
    let mut command = Command::new(&tools().collect);
    command.args(options).arg("-O").arg(experiment);
    command.arg(program).arg(mode);
    command.env("OMP_WAIT_POLICY", "passive");
    command
}

/// Records a mode of the program; what it printed, by name.
fn record(family: Family, mode: &str, options: &[&str]) -> (PathBuf, BTreeMap<String, Vec<f64>>) {
    let _alone = RECORDING.lock().unwrap_or_else(PoisonError::into_inner);
    let experiment = place(&format!("{family:?}-{mode}-{}.er", options.concat()));
    let outcome = finish(collect(&experiment, options, &program(family), mode));
    assert_eq!(outcome.status, 3, "{outcome:?}");
    (experiment, said(&outcome))
}

fn said(outcome: &Outcome) -> BTreeMap<String, Vec<f64>> {
    let line = |line: &str| {
        let mut words = line.split(' ').map(str::to_owned);
        let name = words.next().unwrap();
        (name, words.map(|word| word.parse().unwrap()).collect())
    };
    outcome.stdout.lines().map(line).collect()
}

fn header(experiment: &Path) -> Value {
    let text = std::fs::read_to_string(experiment.join("header.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

fn named<'a>(report: &'a Value, name: &str) -> Option<&'a Value> {
    rows(report).iter().find(|row| row["name"] == name)
}

/// Whether a value is another within 3 % and some milliseconds, in which a thread may lose its CPU
/// between the two readings.
fn is_near(found: f64, truth: f64) -> bool {
    (found - truth).abs() < 0.03 * truth + 0.015
}

fn phases_are_as_measured(family: Family) {
    let (experiment, said) = record(family, "phases", &[]);
    let report = &reports(&experiment, "user", &["-Phases"])[0];
    assert_eq!(rows(report).len(), 4, "{report}");
    for (name, truth) in &said {
        let values = &named(report, name).unwrap()["values"];
        let found = |id: &str| values[id].as_f64().unwrap();
        let [wall, work] = truth[..] else {
            panic!("{truth:?}");
        };
        assert!(is_near(found("wall"), wall), "{name}: {values} {truth:?}");
        assert!(is_near(found("work"), work), "{name}: {values} {truth:?}");
        // Two threads all the time: the rest is waiting.
        let wait = 2.0 * wall - work;
        assert!(is_near(found("wait"), wait), "{name}: {values} {truth:?}");
        let (count, open) = match name.as_str() {
            "solve" | "inner" => (20, 0),
            "rest" => (1, 1),
            _ => (1, 0),
        };
        assert_eq!(values["count"], count, "{name}");
        assert_eq!(values["open"], open, "{name}");
    }
    // Samples tell the same, less exactly.
    let expression = "\"inner\" IN PHASE";
    let filtered = reports(&experiment, "user", &["-filters", expression, "-functions"]);
    let functions = filtered.last().unwrap();
    let total = &named(functions, "<Total>").unwrap()["values"];
    let found = total["e.ompwork"].as_f64().unwrap();
    let truth = said["inner"][1];
    assert!(
        (found - truth).abs() < 0.15 * truth + 0.02,
        "{found} {truth}"
    );
    let serial = named(functions, "region");
    assert!(serial.is_none_or(|row| row["values"]["i.ompwork"].as_f64().unwrap() < 0.02));
    let opposite = reports(
        &experiment,
        "user",
        &["-filters", "!(\"inner\" IN PHASE)", "-functions"],
    );
    let rest = &named(opposite.last().unwrap(), "<Total>").unwrap()["values"];
    let whole = &reports(&experiment, "user", &["-functions"])[0];
    let whole = &named(whole, "<Total>").unwrap()["values"];
    let sum = found + rest["e.ompwork"].as_f64().unwrap();
    assert!((sum - whole["e.ompwork"].as_f64().unwrap()).abs() < 1e-6);
}

#[test]
fn phases_of_gcc_s_runtime_are_as_measured() {
    phases_are_as_measured(Family::Gcc);
}

#[test]
fn phases_of_llvm_s_runtime_are_as_measured() {
    phases_are_as_measured(Family::Clang);
}

fn a_pause_is_left_out(family: Family, mode: &str) {
    let (experiment, said) = record(family, mode, &[]);
    let all = reports(&experiment, "user", &["-functions", "-OMP_preg"]);
    let inclusive = |name: &str, metric: &str| {
        let row = named(&all[0], name);
        row.map_or(0.0, |row| row["values"][metric].as_f64().unwrap())
    };
    for name in ["before", "after"] {
        let (found, truth) = (inclusive(name, "i.ompwork"), said[name][0]);
        assert!(is_near(found, truth), "{name}: {found} {truth}");
    }
    // The call of the pause lies before it, and that of its end in it.
    assert!(inclusive("within", "i.total") < 0.01, "{}", all[0]);
    assert!(!rows(&all[1]).iter().any(|row| row["function"] == "within"));
    let header = header(&experiment);
    let seconds = |field: &str| header[field].as_f64().unwrap() / 1e9;
    assert!(is_near(seconds("paused_ns"), said["paused"][0]), "{header}");
    // Two threads, but for the first while of the program.
    let recorded = seconds("duration_ns") - seconds("paused_ns");
    let total = inclusive("<Total>", "i.total");
    assert!(total < 2.0 * recorded + 0.01, "{total} {recorded}");
    assert!(total > 1.8 * recorded - 0.1, "{total} {recorded}");
}

#[test]
fn a_pause_of_gcc_s_runtime_is_left_out() {
    a_pause_is_left_out(Family::Gcc, "pause");
}

#[test]
fn a_pause_of_llvm_s_runtime_is_left_out() {
    a_pause_is_left_out(Family::Clang, "pause");
}

#[test]
fn omp_control_tool_pauses_as_the_functions_do() {
    a_pause_is_left_out(Family::Clang, "tool");
}

#[test]
fn without_collect_the_calls_do_nothing() {
    for family in [Family::Gcc, Family::Clang] {
        for mode in ["phases", "pause", "end", "calls"] {
            let mut command = Command::new(program(family));
            command.arg(mode);
            let outcome = finish(command);
            assert_eq!((outcome.status, outcome.stderr.as_str()), (3, ""), "{mode}");
        }
    }
}

#[test]
fn the_program_ends_its_recording() {
    let (experiment, said) = record(Family::Gcc, "end", &["-S", "off"]);
    let all = reports(&experiment, "user", &["-functions", "-sample_list"]);
    let before = &named(&all[0], "before").unwrap()["values"]["i.ompwork"];
    assert!(
        is_near(before.as_f64().unwrap(), said["before"][0]),
        "{before}"
    );
    assert!(named(&all[0], "within").is_none());
    let names: Vec<&Value> = rows(&all[1]).iter().map(|row| &row["name"]).collect();
    assert_eq!(names, ["the end", "<end>"]);
    let header = header(&experiment);
    assert_eq!(header["exit_status"], 3);
    assert!(header["limit"].is_string() && header["stopped"].is_null());
}

#[test]
fn calls_that_are_too_many_are_dropped_and_counted() {
    let (experiment, _) = record(Family::Gcc, "calls", &[]);
    let report = &reports(&experiment, "user", &["-Phases"])[0];
    let counted = named(report, "x").unwrap()["values"]["count"]
        .as_u64()
        .unwrap();
    let header = header(&experiment);
    let lost = lost(&header["losses"], "calls");
    let lost: u64 = lost.iter().map(|(_, _, count)| count).sum();
    // Each phase is two calls; ends of lost begins do no harm.
    assert!(
        counted > 1000 && 2 * counted + lost >= 1_000_000,
        "{counted} {lost}"
    );
}

#[test]
fn a_limit_of_time_ends_the_recording_and_not_the_program() {
    let (experiment, _) = record(Family::Gcc, "run", &["-t", "0.7"]);
    let header = header(&experiment);
    assert_eq!(header["duration_ns"], 700_000_000);
    assert_eq!(
        (&header["exit_status"], &header["paused_ns"]),
        (&3.into(), &0.into())
    );
    let (experiment, _) = record(Family::Gcc, "run", &["-t", "0.5-1"]);
    let header = self::header(&experiment);
    assert_eq!(header["duration_ns"], 1_000_000_000);
    assert_eq!(header["paused_ns"], 500_000_000);
    let seconds = &reports(&experiment, "user", &["-Threads"])[0];
    let total: f64 = rows(seconds)
        .iter()
        .map(|row| row["values"]["e.total"].as_f64().unwrap())
        .sum();
    assert!(total < 1.01 && total > 0.9, "{seconds}");
}

#[test]
fn a_limit_of_size_ends_the_recording() {
    let (experiment, _) = record(Family::Gcc, "names", &["-L", "1"]);
    let header = header(&experiment);
    let limit = header["limit"].as_str().expect("it was reached");
    assert!(limit.starts_with("-L"), "{limit}");
    assert_eq!(header["exit_status"], 3);
    // What half a second adds, and the names of functions.
    let bytes = std::fs::metadata(experiment.join("records")).unwrap().len();
    assert!((1 << 20..4 << 20).contains(&bytes), "{bytes}");
    let said = tools().print(&experiment, &["-header"]);
    assert!(
        said.contains("Recording ended before the target did: -L"),
        "{said}"
    );
}

/// Records while signals are sent: each after so many seconds, to `collect` or to the program.
fn signalled(options: &[&str], mode: &str, signals: &[(f64, &str, bool)]) -> (PathBuf, Outcome) {
    let _alone = RECORDING.lock().unwrap_or_else(PoisonError::into_inner);
    let experiment = place(&format!("{}-{mode}.er", options.concat()));
    let mut command = collect(&experiment, options, &program(Family::Gcc), mode);
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    let mut said = String::new();
    stdout.read_line(&mut said).unwrap();
    let mut first = String::new();
    stderr.read_line(&mut first).unwrap();
    let pid = first.split("Process ID: ").nth(1).unwrap();
    let pid = pid.split(')').next().unwrap().to_owned();
    for (seconds, signal, to_program) in signals {
        sleep(Duration::from_secs_f64(*seconds));
        let pid = if *to_program {
            pid.clone()
        } else {
            child.id().to_string()
        };
        let sent = Command::new("kill")
            .arg(format!("-{signal}"))
            .arg(pid)
            .status();
        assert!(sent.unwrap().success());
    }
    stdout.read_to_string(&mut said).unwrap();
    stderr.read_to_string(&mut first).unwrap();
    let status = child.wait().unwrap();
    let outcome = Outcome {
        status: status.code().unwrap_or(128),
        stdout: said,
        stderr: first,
    };
    (experiment, outcome)
}

#[test]
fn signals_pause_and_sample_whoever_gets_them() {
    for to_program in [true, false] {
        let signals = [
            (0.3, "USR1", to_program),
            (0.3, "USR2", to_program),
            (0.3, "USR1", to_program),
        ];
        let options = ["-y", "USR1", "-l", "USR2", "-S", "off"];
        let (experiment, outcome) = signalled(&options, "run", &signals);
        assert_eq!(outcome.status, 3, "{outcome:?}");
        let header = header(&experiment);
        let seconds = |field: &str| header[field].as_f64().unwrap() / 1e9;
        let recorded = seconds("duration_ns") - seconds("paused_ns");
        // Recorded from the first signal to the third.
        assert!(recorded > 0.55 && recorded < 1.0, "{header}");
        let samples = &reports(&experiment, "user", &["-sample_list"])[0];
        let names: Vec<&Value> = rows(samples).iter().map(|row| &row["name"]).collect();
        assert_eq!(names, ["<signal>", "<end>"]);
    }
}

#[test]
fn a_program_with_a_handler_of_its_own_keeps_it() {
    let signals = [(0.3, "USR1", true)];
    let (experiment, outcome) = signalled(&["-y", "USR1,r"], "handler", &signals);
    assert_eq!(outcome.status, 3, "{outcome:?}");
    let header = header(&experiment);
    assert_eq!(header["paused_ns"], 0);
    let notes = header["notes"].to_string();
    assert!(
        notes.contains("-y SIGUSR1: the program has a handler of its own"),
        "{notes}"
    );
}

#[test]
fn sample_points_come_at_the_period_that_was_asked_for() {
    let (experiment, _) = record(Family::Gcc, "run", &["-S", "0.2"]);
    let report = &reports(&experiment, "user", &["-sample_detail"])[0];
    let samples = rows(report);
    assert!((5..=9).contains(&samples.len()), "{report}");
    // Reading the clock of a thread is a system call.
    let cpu = |row: &Value| Some(row["user"].as_f64()? + row["system"].as_f64()?);
    let cpu: f64 = samples.iter().filter_map(cpu).sum();
    assert!(cpu > 0.5, "{report}");
    let index = &reports(&experiment, "user", &["-Samples"])[0];
    assert_eq!(rows(index).len(), samples.len());
}

#[test]
fn an_archive_has_what_source_and_disasm_need() {
    let _alone = RECORDING.lock().unwrap_or_else(PoisonError::into_inner);
    let (copy, source) = (place("archived"), place("archived.c"));
    std::fs::copy(root("programs/control.c"), &source).unwrap();
    let built = Command::new("gcc")
        .args(["-O2", "-g", "-fopenmp", "-I"])
        .arg(root("../collector/runtime/include"))
        .args([&source, Path::new("-o"), &copy])
        .status();
    assert!(built.unwrap().success());
    let experiment = place("archived.er");
    let outcome = finish(collect(&experiment, &["-A", "on"], &copy, "pause"));
    assert_eq!(outcome.status, 3, "{outcome:?}");
    std::fs::remove_file(&source).unwrap();
    std::fs::remove_file(&copy).unwrap();
    let text = tools().print(&experiment, &["-source", "before"]);
    assert!(
        text.contains("static __attribute__((noinline)) double before(void)"),
        "{text}"
    );
    let text = tools().print(&experiment, &["-disasm", "before"]);
    assert!(text.contains("ret"), "{text}");
}
