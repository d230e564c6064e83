//! Wrong words and wrong data: one line that says how to mend it, and the right exit status.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use crate::handmade::{self, Folder};

/// What came of a command line.
struct Ended {
    code: Option<i32>,
    stdout: String,
    stderr: String,
}

impl Ended {
    fn of(output: Output) -> Ended {
        Ended {
            code: output.status.code(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

fn er_print(folder: &Path, words: &[&str]) -> Ended {
    let mut command = Command::new(env!("CARGO_BIN_EXE_er_print"));
    let command = command.args(words).current_dir(folder).stdin(Stdio::null());
    Ended::of(command.output().unwrap())
}

fn er_print_reading(folder: &Path, words: &[&str], input: &str) -> Ended {
    let mut command = Command::new(env!("CARGO_BIN_EXE_er_print"));
    let command = command.args(words).current_dir(folder);
    let command = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // A program that has ended already does not read: that is no error of the test.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    Ended::of(child.wait_with_output().unwrap())
}

fn folder(test: &str) -> Folder {
    let folder = Folder::new(test);
    handmade::openmp(&folder.path().join("omp.er"));
    handmade::plain(&folder.path().join("plain.er"));
    handmade::single(&folder.path().join("one.er"));
    folder
}

#[test]
fn wrong_words_get_one_line_and_status_2() {
    let folder = folder("wrong-words");
    let cases: [(&[&str], &str); 26] = [
        (&["-fucntions", "omp.er"], "did you mean \"functions\"?"),
        (&["-xyzzy", "omp.er"], "er_print -help lists the commands"),
        (&["-f", "omp.er"], "type more of it"),
        (&["-functions"], "which experiment?"),
        (
            &["-object_hide", "libcc.so.6", "omp.er"],
            "did you mean \"libc.so.6\"?",
        ),
        (
            &["-source", "fooo.c", "omp.er"],
            "no function or source file is called \"fooo.c\": did you mean \"foo.c\"?",
        ),
        (
            &["-filters", "THRIDD==2", "omp.er"],
            "at character 1 of the filter (\"THRIDD\"): there is no such word: did you mean THRID?",
        ),
        (&["-leaks", "omp.er"], "leaks is not supported yet"),
        (
            &["-metrics"],
            "metrics needs an argument: write metrics SPEC",
        ),
        (
            &["-metrics", "e.ompwrok", "omp.er"],
            "did you mean \"ompwork\"?",
        ),
        (
            &["-metrics", "e.ompwork", "plain.er"],
            "no data for \"ompwork\"",
        ),
        (
            &["-metrics", "a.ompwork", "omp.er"],
            "write e.ompwork or i.ompwork",
        ),
        (&["-metrics", "e.total:e.total", "omp.er"], "twice"),
        (&["-metrics", "", "omp.er"], "empty entry"),
        (&["-sort", "all", "omp.er"], "sort by one of metric_list"),
        (
            &["-sort", "e.nothing", "omp.er"],
            "there is no metric \"nothing\"",
        ),
        (
            &["-limit", "some", "omp.er"],
            "takes a whole number from 0, not \"some\"",
        ),
        (&["-limit", "-functions", "omp.er"], "not \"-functions\""),
        (
            &["-viewmode", "usr", "omp.er"],
            "viewmode takes one of user, expert, machine",
        ),
        (
            &["-name", "tall", "omp.er"],
            "name takes one of long, short, mangled",
        ),
        (
            &["-name", "long:so", "omp.er", "-viewmode", ""],
            "viewmode takes one of",
        ),
        (
            &["-name", "long:x", "omp.er"],
            "takes one of soname, nosoname",
        ),
        (&["-printmode", "x", "omp.er"], "or a sign such as ,"),
        (
            &["-printmode", "yaml", "omp.er"],
            "printmode takes one of text, json, html",
        ),
        (&["-fsingle", "baz", "omp.er"], "did you mean \"bar\"?"),
        (
            &["-fsingle", "bar", "4", "omp.er"],
            "numbered 1 to 1: there is no 4",
        ),
    ];
    for (words, hint) in cases {
        let ended = er_print(folder.path(), words);
        assert_eq!(ended.code, Some(2), "{words:?}: {}", ended.stderr);
        assert_eq!(
            ended.stderr.lines().count(),
            1,
            "{words:?}: {}",
            ended.stderr
        );
        assert!(
            ended.stderr.starts_with("er_print: "),
            "{words:?}: {}",
            ended.stderr
        );
        assert!(ended.stderr.contains(hint), "{words:?}: {}", ended.stderr);
        assert!(
            !ended.stdout.contains("sorted by"),
            "{words:?}: nothing is shown"
        );
    }
}

/// Files nearer to the user win; a mistake in one is told and passed over.
#[test]
fn defaults_come_from_rc_files() {
    let folder = folder("rc");
    let home = folder.path().join("home");
    std::fs::create_dir(&home).unwrap();
    let own = "limit 1\ndmetrics e.total # mine\ndsort name\ntabs functions\n";
    std::fs::write(home.join(".parallax.rc"), own).unwrap();
    std::fs::write(folder.path().join(".parallax.rc"), "limit 2\nfunctions\n").unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_er_print"));
    let command = command.args(["-functions", "omp.er"]);
    let command = command.current_dir(folder.path()).env("HOME", &home);
    let ended = Ended::of(command.output().unwrap());
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert_eq!(
        ended.stderr,
        "er_print: warning: .parallax.rc, line 2: functions is no default: put it in a script\n"
    );
    let lines: Vec<&str> = ended.stdout.lines().collect();
    assert_eq!(lines[0], "Functions sorted by metric: Name");
    assert!(lines[2].starts_with("Excl."), "{}", ended.stdout);
    assert_eq!(
        lines[5..7],
        [
            "4.400         <Total>",
            "0.300         <OMP critical section wait>"
        ]
    );
    assert_eq!(lines.len(), 8);
}

/// A condition that fails is no mistake: its verdict is printed, and the exit status tells.
#[test]
fn a_condition_that_fails_gives_status_1() {
    let folder = folder("checks");
    let words = [
        "-check",
        "ompwait < 10%",
        "-check",
        "e.total(main) < 2",
        "omp.er",
    ];
    let ended = er_print(folder.path(), &words);
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(1), ""));
    assert_eq!(
        ended.stdout,
        "FAIL ompwait < 10%: 1.800 s (40.91 % of all), limit 0.440 s\n\
         PASS e.total(main) < 2: 0.500 s (11.36 % of all), limit 2.000 s\n"
    );
    for (words, hint) in [
        (
            ["-check", "total < base", "omp.er"],
            "name the base experiment",
        ),
        (
            ["-check", "total", "omp.er"],
            "there is no comparison in it",
        ),
        (["-check", "size < 3", "omp.er"], "\"size\" is none"),
        (
            ["-check", "total(mian) < 3", "omp.er"],
            "did you mean \"main\"?",
        ),
    ] {
        let ended = er_print(folder.path(), &words);
        assert_eq!(ended.code, Some(2), "{words:?}");
        assert!(ended.stderr.contains(hint), "{words:?}: {}", ended.stderr);
    }
}

#[test]
fn data_that_cannot_be_read_get_one_line_and_status_1() {
    let folder = folder("wrong-data");
    std::fs::create_dir(folder.path().join("empty.er")).unwrap();
    std::fs::write(folder.path().join("file.er"), "text").unwrap();
    std::fs::create_dir(folder.path().join("foreign.er")).unwrap();
    std::fs::write(
        folder.path().join("foreign.er/records"),
        "not a recording at all",
    )
    .unwrap();
    let cases: [&[&str]; 6] = [
        &["-functions", "missing.er"],
        &["-functions", "empty.er"],
        &["-functions", "file.er"],
        &["-functions", "foreign.er"],
        &["-script", "missing.txt", "omp.er"],
        &["-outfile", "missing/folder/out.txt", "-functions", "omp.er"],
    ];
    for words in cases {
        let ended = er_print(folder.path(), words);
        assert_eq!(ended.code, Some(1), "{words:?}: {}", ended.stderr);
        assert_eq!(
            ended.stderr.lines().count(),
            1,
            "{words:?}: {}",
            ended.stderr
        );
        assert_eq!(ended.stdout, "", "{words:?}");
    }
}

#[test]
fn a_truncated_experiment_is_shown_as_far_as_it_is_whole() {
    let folder = folder("truncated");
    let records = folder.path().join("omp.er/records");
    let bytes = std::fs::read(&records).unwrap();
    let mut shown = 0;
    for length in (0..bytes.len()).step_by(37) {
        std::fs::write(&records, &bytes[..length]).unwrap();
        let ended = er_print(folder.path(), &["-functions", "-header", "omp.er"]);
        assert!(
            matches!(ended.code, Some(0 | 1)),
            "{length}: {}",
            ended.stderr
        );
        assert!(
            !ended.stderr.contains("panicked"),
            "{length}: {}",
            ended.stderr
        );
        if ended.code == Some(0) {
            shown += 1;
            assert!(
                ended.stderr.contains("warning"),
                "{length}: {}",
                ended.stderr
            );
            assert!(
                ended.stdout.contains("Warning: "),
                "{length}: {}",
                ended.stdout
            );
        } else {
            assert_eq!(
                ended.stderr.lines().count(),
                1,
                "{length}: {}",
                ended.stderr
            );
        }
    }
    assert!(shown > 0);
}

#[test]
fn commands_come_from_scripts_and_standard_input_alike() {
    let folder = folder("scripts");
    let commands = "# metrics first\nmetrics e.total\n\nLIM 2\n-functions\nquit\nxyzzy\n";
    std::fs::write(folder.path().join("script.txt"), commands).unwrap();
    let expected = "\
Current metrics: e.total:name
Current Sort Metric: Exclusive Total Thread Time ( e.total )
Functions sorted by metric: Exclusive Total Thread Time

Excl.         Name
Total
Thread sec.
4.400         <Total>
1.900         bar

";
    let by_file = er_print(folder.path(), &["-script", "script.txt", "omp.er"]);
    let by_stdin = er_print_reading(folder.path(), &["omp.er"], commands);
    for ended in [by_file, by_stdin] {
        assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));
        assert_eq!(ended.stdout, expected);
    }
}

#[test]
fn a_mistake_in_a_script_names_its_line() {
    let folder = folder("script-line");
    std::fs::write(folder.path().join("s.txt"), "limit 3\nfunctoins\nlines\n").unwrap();
    let ended = er_print(folder.path(), &["-script", "s.txt", "omp.er"]);
    assert_eq!(ended.code, Some(2));
    assert_eq!(
        ended.stderr,
        "er_print: s.txt, line 2: there is no command \"functoins\": did you mean \"functions\"?\n"
    );
    std::fs::write(folder.path().join("loop.txt"), "script loop.txt\n").unwrap();
    let ended = er_print(folder.path(), &["-script", "loop.txt", "omp.er"]);
    assert_eq!(ended.code, Some(2));
    assert!(ended.stderr.contains("16 deep"), "{}", ended.stderr);
}

#[test]
fn output_goes_to_files_and_back() {
    let folder = folder("outfile");
    let words = [
        "-outfile",
        "out.txt",
        "-functions",
        "-outfile",
        "-",
        "-version",
        "-appendfile",
        "out.txt",
        "-lines",
        "omp.er",
    ];
    let ended = er_print(folder.path(), &words);
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));
    assert!(
        ended.stdout.starts_with("er_print: Parallax "),
        "{}",
        ended.stdout
    );
    assert_eq!(ended.stdout.lines().count(), 1);
    let written = std::fs::read_to_string(folder.path().join("out.txt")).unwrap();
    assert!(written.starts_with("Functions sorted by metric: Exclusive OMP Work Time\n"));
    assert!(written.contains("\nLines sorted by metric: Exclusive OMP Work Time\n"));
}

#[test]
fn a_reader_that_leaves_is_no_error() {
    let folder = folder("pipe");
    let mut words = vec!["-functions"; 400];
    words.push("omp.er");
    let mut command = Command::new(env!("CARGO_BIN_EXE_er_print"));
    let command = command.args(&words).current_dir(folder.path());
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let ended = Ended::of(child.wait_with_output().unwrap());
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));
}

/// SplitMix64: a failing command line comes back with its seed.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % limit as u64) as usize
    }

    fn choose<'a>(&mut self, words: &[&'a str]) -> &'a str {
        words[self.below(words.len())]
    }
}

const COMMANDS: &[&str] = &[
    "functions",
    "calltree",
    "ctree",
    "callers-callees",
    "gprof",
    "fsingle main",
    "fsingle 'foo -- OMP'",
    "fsingle bar 1",
    "fsingle <Total> 0",
    "lines",
    "header",
    "overview",
    "thread_list",
    "Threads",
    "object_list",
    "metric_list",
    "version",
    "help",
    "limit 3",
    "limit 0",
    "limit 99999999999999999999",
    "viewmode user",
    "viewmode machine",
    "viewmode EXPERT",
    "name long",
    "name short:soname",
    "name mangled:nosoname",
    "printmode json",
    "printmode text",
    "metrics all",
    "metrics e.%all",
    "metrics default",
    "metrics name",
    "metrics !any",
    "metrics e!total:i%ompibar:size",
    "metrics ompwork:ompwait",
    "sort name",
    "sort -e.total",
    "sort size",
    "sort address",
    "sort i.omptskwt",
    "quit",
    "Seconds",
    "filters 1",
    "filters THRID==2 && \"bar\" IN STACK",
    "filters (TSTAMP < 3000000) || !CPUID",
    "filters THRID IN (1,",
    "filters ((((((1)",
    "describe",
    "thread_select 1,2-9",
    "lwp_select 101",
    "cpu_select 0",
    "sample_select all",
    "object_hide libc.so.6",
    "object_select app",
    "object_api all",
    "object_show <plain>",
    "objects_default",
    "pcs",
    "fsummary",
    "lsummary",
    "psummary",
    "source bar",
    "source foo.c",
    "source main 2",
    "disasm bar",
    "disasm <Total>",
    "sthresh 10",
    "dthresh 101",
    "setpath /:.",
    "addpath src",
    "pathmap / x",
    "scc basic:none",
    "cc parallel",
    "dcc xyz",
    "csingle main",
    "csingle bar 1",
    "cprepend main",
    "cappend bar",
    "crmfirst",
    "crmlast",
    "experiment_list",
    "lwp_list",
    "cpu_list",
    "sample_list",
    "cmetric_list",
    "indx_metric_list",
    "statistics",
    "objects",
    "sample_detail",
    "procstats",
    "printmode html",
    "printmode ,",
    "compare on",
    "compare delta",
    "compare ratio",
    "compare scaling",
    "compare off",
    "add_exp omp.er",
    "add_exp plain.er",
    "open_exp omp.er",
    "drop_exp omp.er",
    "drop_exp plain.er",
    "check ompwait < 90%",
    "check total(bar) < base",
    "dmetrics e.total",
    "dsort size",
    "en_desc on",
    "tabs x",
    "tlmode x",
    "tldata x",
    "ifreq",
    "leaks",
    "OMP_preg",
    "OMP_task",
    "CPUs",
    "Samples",
    "Processes",
    "Experiment_IDs",
    "indxobj Threads",
    "indxobj_list",
    "indxobj_define pairs THRID/2",
];

/// One experiment, or several, which are added up or compared.
const EXPERIMENTS: &[&str] = &[
    "omp.er",
    "plain.er",
    "omp.er one.er",
    "one.er plain.er omp.er",
];

const NOISE: &[&str] = &[
    "", "-", "--", "é", "e.", "%", ":", "name:", "-1", "0", "\"", "'", "#", "<Total>", "…",
    "metrics", "sort", "limit", "e.%", "any:any", "\u{0}x", "a b", "fsingle", "script", "x",
];

fn random_line(random: &mut Random) -> String {
    let mut line = random.choose(COMMANDS).to_owned();
    match random.below(6) {
        0 => {
            // One letter more, less or other.
            let at = random.below(line.chars().count());
            let noise = random.choose(NOISE);
            let letters = line.chars().enumerate();
            line = letters
                .map(|(i, letter)| {
                    if i == at {
                        noise.to_owned()
                    } else {
                        letter.to_string()
                    }
                })
                .collect();
        }
        1 => {
            line.push(' ');
            line.push_str(random.choose(NOISE));
        }
        2 => line.truncate(
            line.char_indices()
                .nth(random.below(9))
                .map_or(line.len(), |(at, _)| at),
        ),
        _ => {}
    }
    line
}

/// What may come of random commands: they work, or end with one line and status 2.
fn check_random(ended: &Ended, what: &str) {
    match ended.code {
        Some(0) => assert_eq!(ended.stderr, "", "{what}"),
        Some(2) => assert_eq!(ended.stderr.lines().count(), 1, "{what}: {}", ended.stderr),
        other => panic!("{what}: status {other:?}: {}", ended.stderr),
    }
}

/// The generator draws from every command of the table but those that write or read files of any
/// name.
#[test]
fn random_lines_have_every_command() {
    const APART: [&str; 3] = ["outfile", "appendfile", "script"];
    let folder = folder("every-command");
    let help = er_print(folder.path(), &["-printmode", "json", "-help"]);
    let help: serde_json::Value = serde_json::from_str(&help.stdout).unwrap();
    for command in help["rows"].as_array().unwrap() {
        let name = command["name"].as_str().unwrap();
        let drawn = |line: &&str| line.split(' ').next() == Some(name);
        assert!(
            COMMANDS.iter().any(drawn) || APART.contains(&name) || command["supported"] == false,
            "{name} is not drawn"
        );
    }
}

#[test]
fn random_scripts_work_or_end_with_one_line() {
    let folder = folder("random-scripts");
    for seed in 0..5000 {
        let mut random = Random(seed);
        let lines: Vec<String> = (0..=random.below(6))
            .map(|_| random_line(&mut random))
            .collect();
        let input = lines.join("\n");
        let experiments: Vec<&str> = random.choose(EXPERIMENTS).split(' ').collect();
        let ended = er_print_reading(folder.path(), &experiments, &input);
        // `script x` reads a file, which is not there.
        let names_a_file = ["script", "_exp"].iter().any(|word| input.contains(word));
        // A condition that does not hold has status 1 and its verdict on standard output.
        let unmet = ended.code == Some(1) && ended.stdout.contains("FAIL ")
            || ended.stdout.contains("\"passed\":false");
        if !(ended.code == Some(1) && names_a_file || unmet) {
            check_random(&ended, &format!("seed {seed}: {input:?}"));
        }
    }
}

#[test]
fn random_command_lines_work_or_end_with_one_line() {
    let folder = folder("random-lines");
    for seed in 0..5000 {
        let mut random = Random(seed);
        let mut words = Vec::new();
        for _ in 0..=random.below(4) {
            let line = random_line(&mut random).replace('\0', "");
            let split = line.split(' ').map(str::to_owned);
            words.extend(split.enumerate().map(|(at, word)| match at {
                0 => format!("-{word}"),
                _ => word,
            }));
        }
        // An experiment that is not there has status 1: only the last word may be one.
        let experiments = random.choose(EXPERIMENTS).split(' ');
        words.extend(experiments.map(str::to_owned));
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let ended = er_print(folder.path(), &words);
        let missing = ended.code == Some(1) && ended.stderr.contains(" experiment");
        let unmet = ended.code == Some(1) && ended.stderr.is_empty();
        if !missing && !unmet {
            check_random(&ended, &format!("seed {seed}: {words:?}"));
        }
    }
}
