//! Experiments of others, whose contents are chosen to do harm.

use tempfile::tempdir;

use crate::handmade;
use crate::program::er_print;

/// Every report, in every format: what is in a name never reaches the terminal as anything but text.
#[test]
fn names_are_printed_as_text() {
    let folder = tempdir().unwrap();
    let source = folder
        .path()
        .join(format!("app{}.c", handmade::OBEYED.replace('/', "")));
    handmade::hostile(&folder.path().join("hostile.er"), &source);
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
            "hostile.er",
        ]);
        let ended = er_print(folder.path(), &words);
        let obeyed = |letter: char| {
            !matches!(letter, '\n' | '\t')
                && (letter.is_control() || ('\u{2028}'..='\u{202e}').contains(&letter))
        };
        for printed in [&ended.stdout, &ended.stderr] {
            let line = printed.lines().find(|line| line.contains(obeyed));
            assert_eq!(line, None, "in mode {mode}");
        }
        assert!(
            ended.stdout.contains("main\u{241b}[2J"),
            "{mode}: {} {}",
            ended.stdout,
            ended.stderr
        );
    }
}
