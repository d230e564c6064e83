//! Somebody makes an experiment to do harm.

use std::fs::File;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use experiment::ids::FrameId;
use experiment::symbols::FileId;
use experiment::tables::{RuntimeKind, ThreadKind};
use rustix::fs::{CWD, FileType, Mode, mknodat};
use tempfile::tempdir;
use test_support::Builder;

use crate::handmade;
use crate::program::{Ended, er_print};

/// Every report, in every format: what is in a name never reaches the terminal as anything but text.
#[test]
fn names_are_printed_as_text() {
    let folder = tempdir().unwrap();
    let source = folder
        .path()
        .join(format!("app{}.c", handmade::OBEYED.replace('/', "")));
    // Another user can make a folder of any name, and `*.er` on the command line is all of them.
    let experiment = format!("hostile{}.er", handmade::OBEYED);
    handmade::hostile(&folder.path().join(&experiment), &source);
    let commands = [
        "-overview",
        "-header",
        "-functions",
        "-calltree",
        "-callers-callees",
        "-gprof",
        "-lines",
        "-pcs",
        "-fsummary",
        "-lsummary",
        "-psummary",
        "-object_list",
        "-thread_list",
        "-Threads",
        "-Processes",
        "-CPUs",
        "-OMP_preg",
        "-OMP_task",
        "-OMP_loop",
        "-OMP_lock",
        "-experiment_list",
        "-statistics",
        "-metric_list",
    ];
    for mode in ["text", "json", "html", "markdown", ","] {
        let mut words = vec!["-printmode", mode];
        words.extend(commands);
        // A line with the source, found by the name of its function.
        words.extend([
            "-source",
            "main",
            "-name",
            "long",
            "-functions",
            &experiment,
        ]);
        let ended = er_print(folder.path(), &words);
        assert_shows_text_only(&ended);
        let name = match mode {
            "markdown" => "main\u{241b}\\[2J",
            _ => "main\u{241b}[2J",
        };
        assert!(
            ended.stdout.contains(name),
            "{mode}: {} {}",
            ended.stdout,
            ended.stderr
        );
    }
}

fn assert_shows_text_only(ended: &Ended) {
    let obeyed = |letter: char| {
        !matches!(letter, '\n' | '\t')
            && (letter.is_control() || ('\u{2028}'..='\u{202e}').contains(&letter))
    };
    for printed in [&ended.stdout, &ended.stderr] {
        assert_eq!(printed.lines().find(|line| line.contains(obeyed)), None);
    }
}

#[test]
fn names_in_messages_are_printed_as_text() {
    let folder = tempdir().unwrap();
    with_source(folder.path(), "/home/ann/app.c", None);
    let name = format!("a{}", handmade::OBEYED);
    std::fs::create_dir(folder.path().join(&name)).unwrap();
    let missing = format!("{name}.er");
    let wrong: [&[&str]; 7] = [
        &["-functions", &missing],
        &["-functions", &name],
        &[&format!("-{name}"), "a.er"],
        &["-script", &missing, "a.er"],
        &["-source", &name, "a.er"],
        &["-metrics", &name, "a.er"],
        &["-filters", &name, "a.er"],
    ];
    for words in wrong {
        let ended = er_print(folder.path(), words);
        assert_shows_text_only(&ended);
        assert_ne!(ended.code, Some(0), "{words:?}");
        assert_eq!(ended.stderr.lines().count(), 1, "{}", ended.stderr);
    }
}

/// Shells pass a few megabytes.
#[test]
fn a_command_of_a_million_arguments_is_cut() {
    let folder = tempdir().unwrap();
    let mut make = Builder::new(&vec!["a"; 1_000_000], "/home/ann/app.c");
    make.process(100, "app", "/home/ann/app");
    make.write(&folder.path().join("a.er"));
    for report in ["-header", "-overview", "-experiment_list"] {
        let ended = er_print(folder.path(), &[report, "a.er"]);
        assert_eq!(ended.code, Some(0), "{report}: {}", ended.stderr);
        assert!(ended.stdout.contains("a a a"), "{report}");
        assert!(ended.stdout.len() < 20_000, "{report}");
    }
}

/// A name of 100,000 letters, at each of 1,000 instructions.
#[test]
fn a_long_name_is_cut_and_not_multiplied() {
    const PLACES: u64 = 1_000;
    let folder = tempdir().unwrap();
    let mut make = Builder::new(&["./app"], "/home/ann/app.c");
    make.process(100, "app", "/home/ann/app");
    let app = make.module("/home/ann/app", RuntimeKind::None);
    let thread = make.thread(100, ThreadKind::Initial);
    let name = format!("begin{}end", "a".repeat(100_000));
    let function = make.unframed_function(app, 0x1000, PLACES, &name, Some(1));
    for at in 0..PLACES {
        let frame = make.frame(function, 0x1000 + at, Some(1));
        let stack = make.stack(&[frame]);
        handmade::work(&mut make, thread, stack);
    }
    make.write(&folder.path().join("a.er"));
    for mode in ["text", "html", "markdown", "json"] {
        for report in ["-functions", "-pcs", "-lines", "-fsummary"] {
            let ended = er_print(folder.path(), &["-printmode", mode, report, "a.er"]);
            assert_eq!(ended.code, Some(0), "{mode} {report}: {}", ended.stderr);
            assert!(ended.stdout.contains("beginaaa"), "{mode} {report}");
            assert!(ended.stdout.contains("aaaend"), "{mode} {report}");
            assert!(ended.stdout.len() < 20_000_000, "{mode} {report}");
        }
    }
}

/// An experiment of one function, in this source file.
fn with_source(folder: &Path, source: &str, digest: Option<[u8; 16]>) {
    let mut make = Builder::new(&["./app"], source);
    make.process(100, "app", "/home/ann/app");
    let app = make.module("/home/ann/app", RuntimeKind::None);
    let main = make.function(app, 0x1110, "main", Some(1));
    let thread = make.thread(100, ThreadKind::Initial);
    let stack = make.stack(&[main]);
    make.symbols.digests = digest.map(|it| (FileId(0), it)).into_iter().collect();
    handmade::work(&mut make, thread, stack);
    let path = folder.join("a.er");
    if path.exists() {
        std::fs::remove_dir_all(&path).unwrap();
    }
    make.write(&path);
}

fn source_of(folder: &Path, before: &[&str]) -> String {
    let words = [before, &["-source", "main", "a.er"]].concat();
    let ended = er_print(folder, &words);
    ended.stdout + &ended.stderr
}

#[test]
fn a_source_is_shown_if_it_is_the_recorded_one_or_the_user_names_its_folder() {
    let folder = tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    std::fs::create_dir(at("here")).unwrap();
    let secret = at("here/secret.c");
    std::fs::write(&secret, "the secret\n").unwrap();
    let path = secret.to_str().unwrap();

    // The experiment alone names it.
    with_source(folder.path(), path, None);
    let shown = source_of(folder.path(), &[]);
    assert!(!shown.contains("the secret"), "{shown}");
    assert!(shown.contains("so it may be another file"), "{shown}");
    let given = source_of(folder.path(), &["-addpath", "here"]);
    assert!(given.contains("the secret"), "{given}");

    // Whoever made the experiment knew its contents.
    with_source(
        folder.path(),
        path,
        Some(untrusted::digest(b"the secret\n")),
    );
    let shown = source_of(folder.path(), &[]);
    assert!(shown.contains("the secret"), "{shown}");
    std::fs::write(&secret, "another secret\n").unwrap();
    let changed = source_of(folder.path(), &[]);
    assert!(!changed.contains("another secret"), "{changed}");
    assert!(
        changed.contains("has changed since the recording"),
        "{changed}"
    );
    let given = source_of(folder.path(), &["-setpath", "here"]);
    assert!(given.contains("another secret"), "{given}");
    assert!(given.contains("has changed since the recording"), "{given}");
}

#[test]
fn an_experiment_shows_its_own_sources_and_no_others() {
    let folder = tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    with_source(folder.path(), "/home/ann/app.c", None);
    std::fs::create_dir_all(at("a.er/archives/home/ann")).unwrap();
    std::fs::write(at("secret"), "the secret\n").unwrap();
    symlink(at("secret"), at("a.er/archives/home/ann/app.c")).unwrap();
    let linked = source_of(folder.path(), &[]);
    assert!(!linked.contains("the secret"), "{linked}");
    std::fs::remove_file(at("a.er/archives/home/ann/app.c")).unwrap();
    std::fs::write(at("a.er/archives/home/ann/app.c"), "int main(void)\n").unwrap();
    let own = source_of(folder.path(), &[]);
    assert!(own.contains("int main(void)"), "{own}");

    // A path that leads out of the folder that the user names.
    with_source(folder.path(), "/home/../../secret", None);
    std::fs::create_dir_all(at("given/deep")).unwrap();
    let led = source_of(folder.path(), &["-setpath", "given/deep"]);
    assert!(!led.contains("the secret"), "{led}");
}

/// Each line of a source is a row, and a file of line ends is nothing but lines.
#[test]
fn of_a_source_without_end_the_beginning_is_shown() {
    const LINES: usize = 1 << 18;
    let folder = tempdir().unwrap();
    with_source(folder.path(), "/home/ann/app.c", None);
    let archive = folder.path().join("a.er/archives/home/ann");
    std::fs::create_dir_all(&archive).unwrap();
    std::fs::write(archive.join("app.c"), "\n".repeat(2 * LINES)).unwrap();
    let shown = source_of(folder.path(), &[]);
    assert!(shown.contains("its last 262144 lines are not shown"));
    assert!(shown.lines().count() < LINES + 20);
}

/// A FIFO without a writer blocks who opens it, and `/dev/zero` has no end.
#[test]
fn what_is_no_regular_file_is_refused_in_one_sentence() {
    let folder = tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let fifo = |name: &str| mknodat(CWD, at(name), FileType::Fifo, Mode::RUSR, 0).unwrap();
    std::fs::create_dir(at("b.er")).unwrap();
    fifo("b.er/records");
    let refused = er_print(folder.path(), &["-functions", "b.er"]);
    assert_eq!(refused.code, Some(1));
    assert!(
        refused.stderr.contains("not a regular file"),
        "{}",
        refused.stderr
    );
    assert_eq!(refused.stderr.lines().count(), 1, "{}", refused.stderr);

    with_source(folder.path(), "/dev/zero", None);
    let shown = source_of(folder.path(), &[]);
    assert!(shown.contains("/dev/zero"), "{shown}");
    with_source(folder.path(), at("fifo.c").to_str().unwrap(), None);
    fifo("fifo.c");
    let shown = source_of(folder.path(), &["-addpath", "."]);
    assert!(shown.contains("fifo.c"), "{shown}");

    fifo(".parallax.rc");
    let ended = er_print(folder.path(), &["-functions", "a.er"]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert!(ended.stderr.contains(".parallax.rc"), "{}", ended.stderr);
}

/// A full disk under standard error.
#[test]
fn complaints_that_cannot_be_written_end_nothing() {
    let folder = tempdir().unwrap();
    with_source(folder.path(), "/home/ann/app.c", None);
    let full = File::options().write(true).open("/dev/full").unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_er_print"));
    let words = ["-functions", "-sort", "nonsense", "a.er"];
    let output = command
        .args(words)
        .current_dir(folder.path())
        .stderr(full)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert!(
        String::from_utf8_lossy(&output.stdout).contains("main"),
        "{output:?}"
    );
}

/// Stacks of thousands of functions: the branches of a tree are not longer than all else together.
#[test]
fn a_deep_tree_takes_space_in_proportion_to_its_levels() {
    const LEVELS: usize = 20_000;
    let folder = tempdir().unwrap();
    let mut make = Builder::new(&["./app"], "/home/ann/app.c");
    make.process(100, "app", "/home/ann/app");
    let app = make.module("/home/ann/app", RuntimeKind::None);
    let thread = make.thread(100, ThreadKind::Initial);
    let functions: Vec<FrameId> = (0..LEVELS)
        .map(|at| {
            make.function(
                app,
                0x1000 + 16 * at as u64,
                &format!("level_{at}"),
                Some(1),
            )
        })
        .collect();
    let stack = make.stack(&functions);
    handmade::work(&mut make, thread, stack);
    make.write(&folder.path().join("a.er"));
    for mode in ["text", "html", "markdown", "json"] {
        let ended = er_print(folder.path(), &["-printmode", mode, "-calltree", "a.er"]);
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
        assert!(ended.stdout.contains("level_0"), "{mode}");
        assert!(
            ended.stdout.len() < 2_000 * LEVELS,
            "{mode}: {}",
            ended.stdout.len()
        );
    }
}
