//! Wrong words and wrong data: one line that says how to mend it, and the right exit status.

use std::process::{Command, Stdio};

use crate::handmade;
use crate::program::{Ended, er_print, er_print_reading, folder};

#[test]
fn wrong_words_get_one_line_and_status_2() {
    let folder = folder();
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
            &["-check", "e.ompwork < 1", "plain.er"],
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

/// `compare` with one experiment is a mistake only where there is something to compare.
#[test]
fn compare_with_one_experiment_is_refused_by_reports_that_compare() {
    let folder = folder();
    let refused: [&[&str]; 4] = [
        &["-functions"],
        &["-overview"],
        &["-thread_list"],
        &["-csingle", "main"],
    ];
    for report in refused {
        let words = [&["-compare", "on"], report, &["omp.er"]].concat();
        let ended = er_print(folder.path(), &words);
        let sentence = "compare needs two experiments or more";
        assert!(
            ended.stderr.contains(sentence),
            "{words:?}: {}",
            ended.stderr
        );
        assert_eq!(ended.code, Some(2), "{words:?}");
    }
    let shown = [
        "header",
        "objects",
        "experiment_list",
        "Experiment_IDs",
        "sample_list",
        "metric_list",
        "cmetric_list",
        "indx_metric_list",
    ];
    for name in shown {
        let report = format!("-{name}");
        let alone = er_print(folder.path(), &[&report, "omp.er"]);
        let compared = er_print(folder.path(), &["-compare", "on", &report, "omp.er"]);
        assert_eq!(compared.stdout, alone.stdout, "{name}");
        assert_eq!(compared.code, Some(0), "{name}: {}", compared.stderr);
    }
}

/// `compare scaling` is refused by reports that cannot show how they scale.
#[test]
fn what_cannot_scale_is_refused_by_name() {
    let folder = folder();
    let refused: [&[&str]; 15] = [
        &["-lines"],
        &["-pcs"],
        &["-fsummary"],
        &["-fsingle", "bar"],
        &["-csingle", "bar"],
        &["-calltree"],
        &["-callers-callees"],
        &["-source", "foo.c"],
        &["-Threads"],
        &["-CPUs"],
        &["-OMP_task"],
        &["-overview"],
        &["-thread_list"],
        &["-statistics"],
        &["-object_list"],
    ];
    for report in refused {
        let words = [&["-compare", "scaling"], report, &["omp.er", "one.er"]].concat();
        let ended = er_print(folder.path(), &words);
        let name = &report[0][1..];
        let sentence = format!(
            "compare scaling is for functions and OMP_preg: for {name} choose compare on, delta or \
             ratio"
        );
        assert!(
            ended.stderr.contains(&sentence),
            "{words:?}: {}",
            ended.stderr
        );
        assert_eq!(ended.code, Some(2), "{words:?}");
    }
    for report in ["-functions", "-OMP_preg", "-header", "-experiment_list"] {
        let words = ["-compare", "scaling", report, "omp.er", "one.er"];
        let ended = er_print(folder.path(), &words);
        assert_eq!(ended.code, Some(0), "{words:?}: {}", ended.stderr);
    }
}

/// Files nearer to the user win; a mistake in one is told and passed over.
#[test]
fn defaults_come_from_rc_files() {
    let folder = folder();
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

/// Defaults are for all experiments: what one of them does not have is passed over.
#[test]
fn defaults_that_an_experiment_does_not_have_are_no_error() {
    let folder = folder();
    let own = "compare on\ndmetrics i.ompwait:e.user\ndsort e.ompwait\n";
    std::fs::write(folder.path().join(".parallax.rc"), own).unwrap();
    let run = |words: &[&str]| {
        let ended = er_print(folder.path(), words);
        assert_eq!(
            (ended.code, ended.stderr.as_str()),
            (Some(0), ""),
            "{words:?}"
        );
        ended.stdout
    };
    let plain = run(&["-functions", "-OMP_preg", "plain.er"]);
    assert!(plain.starts_with("Functions sorted by metric: Exclusive User CPU Time\n"));
    assert!(plain.contains("No parallel region"), "{plain}");
    let omp = run(&["-functions", "omp.er"]);
    assert!(omp.starts_with("Functions sorted by metric: Exclusive OMP Wait Time\n"));
    let both = run(&["-functions", "omp.er", "one.er"]);
    assert!(both.contains("(2) one.er"), "{both}");
    let asked = er_print(folder.path(), &["-compare", "on", "-functions", "omp.er"]);
    assert_eq!(asked.code, Some(2));
}

/// A condition that fails is no mistake: its verdict is printed, and the exit status tells.
#[test]
fn a_condition_that_fails_gives_status_1() {
    let folder = folder();
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
    let folder = folder();
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
    let folder = folder();
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

/// The header of a killed recording says 0 s: how long it is, its records tell.
#[test]
fn a_killed_recording_has_the_duration_of_its_records() {
    let folder = folder();
    handmade::killed(&folder.path().join("killed.er"));
    let words = ["-header", "-experiment_list", "-overview", "killed.er"];
    let ended = er_print(folder.path(), &words);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let lines: Vec<&str> = ended.stdout.lines().collect();
    let line =
        "Data Collection Duration: 1.499 seconds up to the last record (it was not finished)";
    assert!(lines.contains(&line), "{}", ended.stdout);
    let overview = "  Duration: 1.499 seconds up to the last record (it was not finished)";
    assert!(lines.contains(&overview), "{}", ended.stdout);
    assert!(
        lines.contains(&"1  100 1.499   killed.er  ./plain 12"),
        "{}",
        ended.stdout
    );
}

#[test]
fn commands_come_from_scripts_and_standard_input_alike() {
    let folder = folder();
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
    let folder = folder();
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

/// A type of index object is a command, as those that are built in are.
#[test]
fn a_type_that_was_defined_is_a_command() {
    let folder = folder();
    let words = ["-indxobj_define", "couples", "THRID/2", "-limit", "1"];
    let line = |last| {
        words
            .into_iter()
            .chain([last, "omp.er"])
            .collect::<Vec<_>>()
    };
    let ended = er_print(folder.path(), &line("-Couples"));
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));
    assert!(
        ended.stdout.starts_with("couples: values of THRID/2\n"),
        "{}",
        ended.stdout
    );
    let script = "limit 1\nindxobj_define couples THRID/2\nCOUPLES\n";
    let by_stdin = er_print_reading(folder.path(), &["omp.er"], script);
    assert_eq!(by_stdin.stdout, ended.stdout);
    let ended = er_print(folder.path(), &["-couples", "omp.er"]);
    assert_eq!(ended.code, Some(2));
}

#[test]
fn output_goes_to_files_and_back() {
    let folder = folder();
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
    let folder = folder();
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

#[test]
fn without_commands_the_overview_is_shown() {
    let folder = folder();
    let expected = er_print(folder.path(), &["-overview", "omp.er"]).stdout;
    assert!(expected.contains("What to do first"), "{expected}");
    assert_eq!(er_print(folder.path(), &["omp.er"]).stdout, expected);
    for (input, shows) in [("", true), ("\n  \n", true), ("version\n", false)] {
        let ended = er_print_reading(folder.path(), &["omp.er"], input);
        assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));
        assert_eq!(ended.stdout == expected, shows, "{input:?}");
    }
}

#[test]
fn the_short_forms_of_help_and_version_are_those_of_other_programs() {
    let folder = folder();
    for (short, long) in [("-V", "--version"), ("-h", "--help")] {
        let [short, long] = [short, long].map(|word| er_print(folder.path(), &[word]));
        assert_eq!((short.code, short.stdout), (Some(0), long.stdout));
    }
}
