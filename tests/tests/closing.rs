//! What `collect` says at the end of a run, at a terminal.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use end_to_end::{folder, reports, tools};

/// A program whose last thread works four times as long as the others, in a folder of its own.
fn unbalanced(name: &str) -> (PathBuf, PathBuf) {
    tools();
    let place = folder().join(format!("closing-{name}-{}", std::process::id()));
    fs::create_dir_all(&place).unwrap();
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/programs");
    let program = place.join("imbalance");
    let mut build = Command::new("gcc");
    build.args(["-O2", "-g", "-fopenmp", "-o"]);
    build.arg(&program);
    build.args(["imbalance.c", "truth.c"].map(|name| sources.join(name)));
    build.arg("-lm");
    assert!(build.status().unwrap().success(), "{build:?}");
    (place, program)
}

/// Runs `collect` in a folder, at a terminal of its own or with pipes.
fn collect(place: &Path, words: &str, is_terminal: bool) -> Output {
    let line = format!("exec {} {words}", tools().collect.display());
    let words = if is_terminal {
        ["script", "-qec", &line, "/dev/null"].to_vec()
    } else {
        ["sh", "-c", &line].to_vec()
    };
    let mut command = Command::new(words[0]);
    command.args(&words[1..]);
    command
        .current_dir(place)
        .env("OMP_NUM_THREADS", "2")
        .env("OMP_WAIT_POLICY", "passive");
    command.output().expect("these tests need script(1)")
}

/// Both streams of what was printed.
fn printed(output: &Output) -> String {
    [&output.stdout, &output.stderr]
        .map(|bytes| String::from_utf8_lossy(bytes).replace('\r', ""))
        .concat()
}

#[test]
fn a_terminal_shows_what_the_overview_says_and_the_next_command() {
    let (place, _) = unbalanced("terminal");
    let output = collect(&place, "-o 'my run.er' ./imbalance", true);
    assert_eq!(output.status.code(), Some(0));
    let text = printed(&output);
    let overview = &reports(&place.join("my run.er"), "user", &["-overview"])[0];
    let lines: Vec<&str> = text.lines().collect();
    let [.., did, first, next] = lines[..] else {
        panic!("{text}");
    };
    let work = 100.0 * overview["efficiency"]["efficiency"].as_f64().unwrap();
    assert!(
        did.contains(&format!(" s on 2 threads: {work:.1} % useful work")),
        "{did}"
    );
    if text.contains("The run was crowded") {
        // Other programs have disturbed the test: then that is the advice.
        assert!(
            first.starts_with("First: measure on a machine that is idle"),
            "{first}"
        );
    } else {
        let loss = &overview["losses"][0];
        let place = loss["place"].as_str().unwrap();
        assert!(first.starts_with(&format!("First: {place}: ")), "{first}");
        let gain = loss["speedup_without"].as_f64().unwrap();
        assert!(
            first.contains(&format!("{gain:.2} times as fast")),
            "{first}"
        );
    }
    assert_eq!(next, "Next: er_print 'my run.er', or analyzer 'my run.er'");
    fs::remove_dir_all(place).unwrap();
}

#[test]
fn nothing_is_said_to_pipes_nor_with_q_and_the_status_is_the_program_s() {
    let (place, _) = unbalanced("quiet");
    for (words, is_terminal) in [
        ("-o a.er ./imbalance", false),
        ("-q -o b.er ./imbalance", true),
    ] {
        let output = collect(&place, words, is_terminal);
        let text = printed(&output);
        assert!(text.contains("Creating experiment directory"), "{text}");
        assert!(!text.contains("Next: "), "{text}");
    }
    let output = collect(&place, "-o c.er sh -c 'exit 7'", true);
    assert_eq!(output.status.code(), Some(7));
    assert!(
        printed(&output).contains("Next: er_print c.er"),
        "{output:?}"
    );
    fs::remove_dir_all(place).unwrap();
}

/// Of the ranks of a job one speaks.
#[test]
fn the_first_rank_speaks_for_all() {
    let (place, _) = unbalanced("ranks");
    for (rank, speaks) in [("0", true), ("1", false)] {
        let launched = format!("OMPI_COMM_WORLD_RANK={rank} OMPI_COMM_WORLD_SIZE=2");
        let line = format!(
            "env {launched} {} -o job.er ./imbalance",
            tools().collect.display()
        );
        let mut command = Command::new("script");
        command
            .args(["-qec", &line, "/dev/null"])
            .current_dir(&place);
        command
            .env("OMP_NUM_THREADS", "2")
            .env("OMP_WAIT_POLICY", "passive");
        let output = command.output().unwrap();
        assert_eq!(printed(&output).contains("Next: "), speaks, "{output:?}");
    }
    fs::remove_dir_all(place).unwrap();
}
