//! Runs of which a report could state what nobody knows, or what is not so.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use end_to_end::{folder, reports, rows, tools};
use serde_json::Value;

/// A program of `programs`, built in a folder of its own.
struct Program {
    place: PathBuf,
    file: PathBuf,
}

impl Program {
    fn build(source: &str, compiler: &str, options: &[&str]) -> Program {
        // Built before the program's time begins.
        tools();
        let (name, _) = source.split_once('.').unwrap();
        let place = format!("views-{name}-{compiler}-{}", std::process::id());
        let place = folder().join(place);
        fs::create_dir_all(&place).unwrap();
        let file = place.join(name);
        let cases = Path::new(env!("CARGO_MANIFEST_DIR")).join("programs");
        let mut build = Command::new(compiler);
        build
            .args(["-g", "-fopenmp"])
            .args(options)
            .arg("-o")
            .args([&file, &cases.join(source)])
            .arg("-lm");
        assert!(build.status().unwrap().success(), "{build:?}");
        Program { place, file }
    }

    /// Records it on two threads; `before` are the words before `collect`, `options` its own.
    fn record(&self, name: &str, before: &[&str], environment: &[(&str, &str)]) -> PathBuf {
        let experiment = self.place.join(format!("{name}.er"));
        let collect = tools().collect.to_str().unwrap();
        let words: Vec<&str> = before.iter().copied().chain([collect]).collect();
        let mut command = Command::new(words[0]);
        command
            .args(&words[1..])
            .arg("-O")
            .args([&experiment, &self.file])
            .current_dir(&self.place)
            .env("OMP_NUM_THREADS", "2")
            .env("OMP_WAIT_POLICY", "passive")
            .envs(environment.iter().copied());
        command.output().unwrap();
        experiment
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.place);
    }
}

fn report(experiment: &Path, command: &str) -> Value {
    reports(experiment, "user", &[command]).swap_remove(0)
}

/// The line of a source with a mark.
fn line_of(source: &str, mark: &str) -> u64 {
    let cases = Path::new(env!("CARGO_MANIFEST_DIR")).join("programs");
    let text = fs::read_to_string(cases.join(source)).unwrap();
    let at = text.lines().position(|line| line.contains(mark));
    at.unwrap() as u64 + 1
}

/// The loop was called static, and that the run was killed stood in `header` alone.
#[test]
fn a_killed_run_says_so_first_and_its_loop_s_schedule_is_not_known() {
    for compiler in ["gcc", "clang"] {
        let program = Program::build("killed_loop.c", compiler, &["-O2"]);
        let experiment = program.record("killed", &["timeout", "2"], &[]);
        for command in [
            "-overview",
            "-functions",
            "-header",
            "-OMP_loop",
            "-experiment_list",
        ] {
            let text = tools().print(&experiment, &[command]);
            let first = text.lines().next().unwrap();
            assert!(
                first.starts_with("The run was killed by SIGTERM after "),
                "{first}"
            );
            let caveat = &report(&experiment, command)["caveats"][0];
            assert_eq!(caveat["id"], "killed", "{command}");
        }
        let loops = report(&experiment, "-OMP_loop");
        let [row] = rows(&loops) else {
            panic!("one loop, not {loops}");
        };
        let unknown = ["schedule", "iterations", "chunks"];
        for field in unknown {
            let value = row.get(field).or(row["values"].get(field));
            assert!(
                value.is_none_or(Value::is_null),
                "{compiler}: {field} of {row}"
            );
        }
        let text = tools().print(&experiment, &["-OMP_loop"]);
        assert!(text.contains("not known"), "{text}");
    }
}

/// The advice named `main`, into which the functions are inlined.
#[test]
fn advice_on_serial_code_names_the_innermost_function_of_the_program_and_its_line() {
    let checks = [
        ("serial_inlined.c", "gcc", "-O3", "build_grid"),
        ("serial_inlined.c", "clang", "-O2", "build_grid"),
        ("serial_procedures.f90", "gfortran", "-O2", "norm"),
        ("serial_procedures.f90", "gfortran", "-O0", "norm"),
    ];
    for (source, compiler, level, function) in checks {
        let program = Program::build(source, compiler, &[level]);
        let experiment = program.record("serial", &[], &[]);
        let overview = report(&experiment, "-overview");
        let losses = overview["losses"].as_array().unwrap();
        // Where others take its CPU is chance.
        let is_serial = |loss: &&Value| loss["reason"] == "serial";
        let serial: Vec<&Value> = losses.iter().filter(is_serial).collect();
        assert!(
            !serial.is_empty(),
            "{source} {compiler} {level}: {losses:?}"
        );
        for loss in serial {
            let named = loss["function"].as_str().unwrap();
            assert!(
                named.contains(function),
                "{source} {compiler} {level}: {loss}"
            );
            let line = loss["line"].as_u64().unwrap();
            assert_eq!(
                line,
                line_of(source, "the hottest line"),
                "{compiler} {level}: {loss}"
            );
            let finding = loss["finding"].as_str().unwrap();
            assert!(finding.contains(&format!("{function},")), "{finding}");
        }
    }
}

/// The long sleep had no sample of its own, and stood in the function of the short ones; then what was
/// not sampled of the others stood in the function of the long one.
#[test]
fn sleeps_stand_in_their_functions_however_long_they_are() {
    let program = Program::build("sleeps.c", "gcc", &["-O2"]);
    let experiment = program.place.join("sleeps.er");
    let mut command = Command::new(&tools().collect);
    command.arg("-O").args([&experiment, &program.file]);
    let output = command.output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let numbers: Vec<f64> = text
        .split(' ')
        .map(|it| it.trim().parse().unwrap())
        .collect();
    let [slept @ .., delay] = &numbers[..] else {
        panic!("{text}");
    };
    let commands = ["-metrics", "i.total:name", "-functions"];
    let functions = reports(&experiment, "user", &commands).pop().unwrap();
    let &[brief, some, once] = slept else {
        panic!("{text}");
    };
    let told = ["brief", "some", "once"].map(|name| {
        let row = rows(&functions).iter().find(|row| row["name"] == name);
        row.map_or(0.0, |row| row["values"]["i.total"].as_f64().unwrap())
    });
    // A hundredth of a second are the samples that the clock takes of the work between the sleeps. A sleep
    // after which the thread waits for a CPU seems longer than it was.
    let is_near = |told: f64, slept: f64| (told - slept).abs() < 0.01 + 0.02 * slept + delay;
    assert!(
        is_near(told[2], once) && is_near(told[0] + told[1], brief + some),
        "{told:?} s of {slept:?} s in {functions:#}"
    );
    // Sleeps whose stacks were not read are divided by those of samples, one in some. After 500 short sleeps the
    // kernel takes one in up to 60, until it has seen that they are rarer now.
    assert!(
        told[0] > 0.6 * brief && told[1] > 0.6 * some,
        "{told:?} s of {slept:?} s in {functions:#}"
    );
}
