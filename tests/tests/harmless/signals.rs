//! Signals to collect and to its group.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use end_to_end::{finish, reports, tools, without_perf};

use crate::{collect, command, is_readable, place, program, text};

/// A program under collect that counts its signals.
struct Counting {
    child: Child,
    output: BufReader<std::process::ChildStdout>,
    stop: std::path::PathBuf,
}

impl Counting {
    /// Started, and ready to count. It leads a process group of its own, with collect.
    fn start(place: &Path) -> Counting {
        let stop = place.join("stop");
        let _ = fs::remove_file(&stop);
        let counting = program("counts_signals", &[]);
        let experiment = place.join("run.er");
        let words = [&collect(&experiment)[..], &[text(&counting), text(&stop)]].concat();
        let mut child = command(&words)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
            .unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        assert_eq!(line, "ready\n");
        Counting {
            child,
            output,
            stop,
        }
    }

    fn kill(&self, signal: &str, whom: &str) {
        let pid = self.child.id();
        let line = format!("kill -s {signal} -- {whom}{pid}");
        let status = Command::new("bash").args(["-c", &line]).status();
        assert!(status.unwrap().success(), "{line}");
    }

    /// What the program counted, and the status of collect.
    fn end(mut self) -> (String, Option<i32>) {
        // What was sent last may be on its way through collect.
        std::thread::sleep(std::time::Duration::from_millis(100));
        fs::write(&self.stop, "").unwrap();
        let mut counted = String::new();
        self.output.read_to_string(&mut counted).unwrap();
        (counted, self.child.wait().unwrap().code())
    }
}

const EACH: [(&str, u32); 20] = [
    ("HUP", 1),
    ("INT", 2),
    ("QUIT", 3),
    ("ILL", 4),
    ("TRAP", 5),
    ("ABRT", 6),
    ("BUS", 7),
    ("FPE", 8),
    ("USR1", 10),
    ("SEGV", 11),
    ("USR2", 12),
    ("PIPE", 13),
    ("ALRM", 14),
    ("TERM", 15),
    ("XCPU", 24),
    ("XFSZ", 25),
    ("VTALRM", 26),
    ("PROF", 27),
    ("IO", 29),
    ("SYS", 31),
];

#[test]
fn what_is_sent_to_collect_reaches_the_program_once() {
    let place = place("directed");
    for (signal, number) in EACH {
        let counting = Counting::start(&place);
        counting.kill(signal, "");
        let (counted, status) = counting.end();
        assert_eq!(
            (counted, status),
            (format!("{number}: 1\n"), Some(5)),
            "{signal}"
        );
    }
    is_readable(&place.join("run.er"));
    fs::remove_dir_all(place).unwrap();
}

#[test]
fn what_is_sent_to_the_group_reaches_the_program_once() {
    let place = place("group");
    for (signal, number) in EACH {
        let counting = Counting::start(&place);
        counting.kill(signal, "-");
        let (counted, status) = counting.end();
        assert_eq!(
            (counted, status),
            (format!("{number}: 1\n"), Some(5)),
            "{signal}"
        );
    }
    fs::remove_dir_all(place).unwrap();
}

#[test]
fn signals_to_one_and_to_all_are_told_apart_again_and_again() {
    let place = place("in-turn");
    let counting = Counting::start(&place);
    for _ in 0..4 {
        for whom in ["", "-"] {
            counting.kill("USR1", whom);
            // The program is to count each: two that are pending are one.
            std::thread::sleep(std::time::Duration::from_millis(100));
        }
    }
    assert_eq!(counting.end(), ("10: 8\n".to_owned(), Some(5)));
    fs::remove_dir_all(place).unwrap();
}

#[test]
fn nothing_is_left_behind_when_collect_is_killed() {
    let place = place("left");
    let counting = Counting::start(&place);
    let group = counting.child.id();
    counting.kill("KILL", "");
    // The program alone, counting, and nobody else of the group.
    std::thread::sleep(std::time::Duration::from_millis(200));
    let members = members_of(group);
    assert_eq!(members, ["built-counts_si"], "{members:?}");
    let (counted, status) = counting.end();
    assert_eq!((counted.as_str(), status), ("", None));
    fs::remove_dir_all(place).unwrap();
}

/// The names of the processes of a group that live.
pub(crate) fn members_of(group: u32) -> Vec<String> {
    let mut members = Vec::new();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let stat = fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
        let Some((name, rest)) = stat.rsplit_once(") ") else {
            continue;
        };
        let words: Vec<&str> = rest.split(' ').collect();
        if words[2] == group.to_string() && words[0] != "Z" {
            let (_, name) = name.split_once('(').unwrap();
            members.push(name.to_owned());
        }
    }
    members
}

#[test]
fn a_parent_that_ignores_its_children_still_gets_the_status() {
    let place = place("ignored");
    let script = "trap '' CHLD; exec $C -O run.er sh -c 'exit 7'";
    assert_eq!(crate::shell(script, &place).status, 7);
    is_readable(&place.join("run.er"));
    fs::remove_dir_all(place).unwrap();
}

/// An alarm that was set before collect took the place of the process that set it.
#[test]
fn an_alarm_of_the_caller_s_ends_the_program() {
    let place = place("alarm");
    let script = "exec perl -e 'alarm 1; exec @ARGV' $C -O run.er sleep 20";
    assert_eq!(crate::shell(script, &place).status, 128 + 14);
    fs::remove_dir_all(place).unwrap();
}

#[test]
fn a_program_notices_nothing_of_threads_that_sample_themselves() {
    let place = place("own-samples");
    let signalled = program("signalled", &[]);
    let words = [text(&signalled), "40"];
    let bare = finish(command(&words));
    assert_eq!(bare.status, 7, "{}", bare.stdout);
    let experiment = place.join("run.er");
    let collect = text(&tools().collect).to_owned();
    let recorded = [text(without_perf()), &collect, "-O", text(&experiment)];
    let recorded = finish(command(&[&recorded[..], &words].concat()));
    assert_eq!(
        (recorded.status, &recorded.stdout),
        (7, &bare.stdout),
        "{}",
        recorded.stderr
    );
    // It was sampled while it counted.
    let header = &reports(&experiment, "user", &["-header"])[0]["header"];
    let samples = header["sampling"]["samples"].as_u64();
    assert!(samples.is_some_and(|samples| samples > 100), "{header}");
    fs::remove_dir_all(place).unwrap();
}
