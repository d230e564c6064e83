//! `collect -r compare`: programs that are right, errors planted in others, and what cannot be repeated.
#![allow(clippy::unwrap_used)]

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use end_to_end::{compiler, findings, folder, source, tools};
use fixtures::Family;
use serde_json::Value;

const FAMILIES: [Family; 2] = [Family::Gcc, Family::Clang];

fn build(family: Family, name: &str, options: &[&str]) -> PathBuf {
    let compiler = compiler(family);
    let id = std::process::id();
    let program = folder().join(format!(
        "compare-{name}-{}-{}-{id}",
        compiler.name,
        options.concat()
    ));
    let mut command = match (family, name.ends_with(".cc")) {
        (Family::Gcc, true) => Command::new("g++"),
        _ => Command::new(&compiler.path),
    };
    command.args(["-O2", "-g", "-fopenmp"]).args(options);
    command.args(compiler.header()).arg(source(name));
    command.arg("-o").arg(&program).arg("-lm");
    if name.ends_with(".cc") {
        command.arg("-lstdc++");
    }
    assert!(command.status().unwrap().success(), "{command:?}");
    program
}

/// Runs a command with four threads and this input.
fn run(mut command: Command, input: &str) -> Output {
    command.env("OMP_NUM_THREADS", "4");
    command.env("OMP_DYNAMIC", "false");
    command.env("OMP_WAIT_POLICY", "passive");
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(input.as_bytes())
        .unwrap();
    child.wait_with_output().unwrap()
}

/// Compares every instance of a program's regions, and checks that it ends as it does alone.
fn compared(program: &Path, input: &str) -> Value {
    let alone = run(Command::new(program), input);
    let experiment = PathBuf::from(format!("{}.er", program.display()));
    let mut command = Command::new(&tools().collect);
    command
        .args(["-q", "-r", "compare=all", "-O"])
        .arg(&experiment)
        .arg(program);
    let with = run(command, input);
    let out = |output: &Output| String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(out(&with), out(&alone), "{}", program.display());
    assert_eq!(with.status.code(), alone.status.code(), "{with:?}");
    findings(&experiment).unwrap().0
}

/// The line of a source file with this comment.
fn line(name: &str, comment: &str) -> u64 {
    let text = std::fs::read_to_string(source(name)).unwrap();
    let at = text
        .lines()
        .position(|line| line.contains(&format!("/* {comment} */")));
    at.unwrap() as u64 + 1
}

/// The words of a finding: class, region's line, variable.
fn words(finding: &Value) -> (String, u64, String) {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    (
        text(&finding["class"]),
        finding["stack"][0]["line"].as_u64().unwrap_or_default(),
        text(&finding["variable"]["name"]),
    )
}

fn all_words(findings: &Value) -> Vec<(String, u64, String)> {
    findings["divergences"]
        .as_array()
        .unwrap()
        .iter()
        .map(words)
        .collect()
}

/// Instances that were compared, and all.
fn instances(findings: &Value) -> (u64, u64) {
    let constructs = findings["comparison"]["constructs"].as_array().unwrap();
    let sum = |key: &str| constructs.iter().map(|it| it[key].as_u64().unwrap()).sum();
    (sum("compared"), sum("instances"))
}

#[test]
fn a_right_program_has_no_findings_and_its_sum_differs_within_rounding() {
    for family in FAMILIES {
        let found = compared(&build(family, "diverging.c", &["-DBUG=0"]), "");
        assert_eq!(all_words(&found), [], "{family:?}");
        assert_eq!(instances(&found), (18, 18), "{found}");
        let constructs = found["comparison"]["constructs"].as_array().unwrap();
        let rounded: u64 = constructs
            .iter()
            .map(|it| it["rounded"].as_u64().unwrap())
            .sum();
        assert!(rounded > 0, "{found}");
    }
}

#[test]
fn a_right_program_that_is_hard_to_repeat_ends_as_alone_and_has_no_findings() {
    for family in FAMILIES {
        let found = compared(&build(family, "repeatable.cc", &[]), "");
        assert_eq!(all_words(&found), [], "{family:?} {found}");
        let (compared, all) = instances(&found);
        assert!(compared * 10 >= all * 9, "{found}");
    }
}

#[test]
fn a_shared_temporary_is_found_with_its_region() {
    let expected = line("diverging.c", "private");
    for family in FAMILIES {
        let program = build(family, "diverging.c", &["-DBUG=1"]);
        // The value that the last thread leaves there is the right one in one of four instances.
        let found = compared(&program, "");
        let words = all_words(&found);
        let temporary = (
            "different".to_owned(),
            expected,
            "shared_temporary".to_owned(),
        );
        assert!(words.contains(&temporary), "{family:?} {found}");
        assert!(
            words.iter().all(|(_, line, _)| *line == expected),
            "{words:?}"
        );
    }
}

#[test]
fn elements_that_no_thread_writes_are_told_exactly() {
    let expected = line("diverging.c", "boundary");
    for family in FAMILIES {
        let found = compared(&build(family, "diverging.c", &["-DBUG=2"]), "");
        let unwritten = (
            "written by nobody".to_owned(),
            expected,
            "b[49][1]".to_owned(),
        );
        assert_eq!(all_words(&found), [unwritten], "{family:?} {found}");
        let finding = &found["divergences"][0];
        assert_eq!(finding["elements"], 198);
        assert_eq!(finding["last"], "b[49][198]");
        assert_eq!(
            finding["ranges"],
            serde_json::json!([[(49 * 200 + 1) * 8, 198 * 8]])
        );
        assert_eq!(finding["count"], 6);
        assert_eq!(finding["values"][0]["several"], "0");
    }
}

#[test]
fn a_dependence_between_iterations_is_found() {
    let expected = line("diverging.c", "carried");
    for family in FAMILIES {
        let found = compared(&build(family, "diverging.c", &["-DBUG=3"]), "");
        let words = all_words(&found);
        assert!(!words.is_empty(), "{family:?}");
        for (class, line, name) in words {
            assert_eq!((class.as_str(), line), ("different", expected), "{found}");
            assert!(name.starts_with("b["), "{name}");
        }
    }
}

#[test]
fn what_only_several_threads_write_is_found() {
    let expected = line("diverging.c", "last");
    for family in FAMILIES {
        let found = compared(&build(family, "diverging.c", &["-DBUG=4"]), "");
        let extra = ("written only with N threads", expected, "histogram[5]");
        let words = all_words(&found);
        let words: Vec<_> = words
            .iter()
            .map(|(class, line, name)| (&class[..], *line, &name[..]))
            .collect();
        assert_eq!(words, [extra], "{family:?} {found}");
        let values = &found["divergences"][0]["values"][0];
        assert_eq!(
            (&values["one"], &values["several"]),
            (&"0".into(), &"7".into())
        );
    }
}

#[test]
fn what_cannot_be_repeated_is_counted_by_its_cause() {
    for family in FAMILIES {
        let found = compared(&build(family, "refused.c", &[]), "hello");
        assert_eq!(all_words(&found), []);
        assert_eq!(instances(&found), (0, 4), "{found}");
        let constructs = found["comparison"]["constructs"].as_array().unwrap();
        let causes: Vec<&str> = constructs
            .iter()
            .map(|it| it["not"][0][0].as_str().unwrap())
            .collect();
        let expected = [
            "reads from a file, a pipe or a terminal",
            "starts threads of its own",
            "with one thread it did not end in time",
            "runs with one thread anyway",
        ];
        assert_eq!(causes, expected, "{family:?}");
        let losses = found["coverage"]["losses"].to_string();
        assert!(
            losses.contains("nothing was checked: no instance"),
            "{losses}"
        );
    }
}

#[test]
fn a_sample_is_compared_by_default_and_er_print_says_how_much() {
    let program = build(Family::Gcc, "diverging.c", &["-DBUG=0", "-DSAMPLED"]);
    let experiment = PathBuf::from(format!("{}.er", program.display()));
    let mut command = Command::new(&tools().collect);
    command
        .args(["-q", "-r", "compare", "-O"])
        .arg(&experiment)
        .arg(&program);
    let output = run(command, "");
    assert!(output.status.success(), "{output:?}");
    let (found, _) = findings(&experiment).unwrap();
    let (compared, all) = instances(&found);
    assert!(compared > 0 && compared < all, "{found}");
    let text = tools().print(&experiment, &["-divergence"]);
    let said = format!("{compared} of {all} instances of parallel constructs were compared");
    assert!(
        text.contains("No difference was found") && text.contains(&said),
        "{text}"
    );
    let check = tools().try_print(&experiment, &["-check", "divergence == 0"]);
    assert!(check.status.success(), "{check:?}");
}
