//! Programs end and print as they do without collect.

use std::fs;
use std::path::Path;

use end_to_end::{Outcome, finish};

use crate::{collect, command, has_records, is_readable, place, program, record, text};

/// Both runs of a command line, without collect and with it. Of a program that a signal ends, what
/// it printed before is not determined.
#[track_caller]
fn as_bare(name: &str, words: &[&str]) -> Outcome {
    let experiment = place(name).join("run.er");
    let bare = finish(command(words));
    let recorded = record(&experiment, words);
    assert_eq!(
        recorded.status, bare.status,
        "{words:?}: {}",
        recorded.stderr
    );
    assert_eq!(recorded.stdout, bare.stdout, "{words:?}");
    assert_eq!(recorded.said_by_program(), bare.stderr, "{words:?}");
    is_readable(&experiment);
    fs::remove_dir_all(experiment.parent().unwrap()).unwrap();
    recorded
}

#[test]
fn every_way_to_end() {
    let ends = program("ends", &[]);
    let ends = text(&ends);
    for status in ["0", "1", "77", "255"] {
        for way in [
            "return",
            "exit",
            "_exit",
            "quick_exit",
            "thread",
            "main thread",
            "exec",
        ] {
            as_bare("ends", &[ends, way, status]);
        }
    }
    as_bare("ends", &[ends, "region", "9"]);
    as_bare("ends", &[ends, "abort"]);
    as_bare("ends", &[ends, "overflow"]);
    for signal in [
        "1", "2", "3", "4", "6", "8", "9", "11", "13", "14", "15", "24", "31",
    ] {
        let recorded = as_bare("ends", &[ends, "signal", signal]);
        assert_eq!(recorded.status, 128 + signal.parse::<i32>().unwrap());
    }
}

#[test]
fn every_way_to_make_a_process() {
    let ways = program("ways", &[]);
    let recorded = as_bare("ways", &[text(&ways)]);
    assert_eq!(recorded.status, 12, "{}", recorded.stdout);
}

#[test]
fn pipes_and_streams() {
    let place = place("pipes");
    let busy = program("busy", &[]);
    let scripts = [
        // Whoever reads goes away.
        "$X yes | head -1; echo ${PIPESTATUS[0]}",
        "head -c 100000 /dev/zero | $X cat | wc -c; echo ${PIPESTATUS[1]}",
        "echo word | $X cat - /dev/null; echo $?",
        "$X sh -c 'echo out; echo err >&2' 2>/dev/null; echo $?",
        "$X sh -c 'read line; echo $line' <<<'a line'; echo $?",
        "$X cat <&-; echo $?",
        "$X BUSY 50 >&-; echo $?",
    ];
    for script in scripts {
        let script = script.replace("BUSY", text(&busy));
        let bare = crate::shell(&script.replace("$X", ""), &place);
        let with = crate::shell(&script.replace("$X", "$C -O run.er"), &place);
        assert_eq!(with.stdout, bare.stdout, "{script}");
        assert_eq!(with.said_by_program(), bare.stderr, "{script}");
    }
    fs::remove_dir_all(place).unwrap();
}

/// What a process has from whoever started it.
#[test]
fn descriptors_environment_and_limits() {
    let place = place("state");
    let state = program("state", &[]);
    let prepared = [
        "exec \"$@\"",
        "exec 7<>/dev/null 9</dev/zero; exec \"$@\"",
        "ulimit -n 300 -s 4096 -c 0; umask 077; exec \"$@\"",
        "trap '' HUP USR1 CHLD PIPE; exec \"$@\"",
        "exec nice -n 5 \"$@\"",
        "exec 0<&- 2>&-; exec \"$@\"",
        "export LD_PRELOAD=libpthread.so.0 OMP_TOOL_LIBRARIES=/none.so ASAN_OPTIONS=verbosity=0; \
         exec \"$@\"",
        "export ODD=$'a\\nb\\xff=' EMPTY=; exec \"$@\"",
    ];
    let experiment = place.join("run.er");
    for script in prepared {
        let shell = ["bash", "-c", script, "bash"];
        let own = [text(&state), "a", "", "b c"];
        let bare = finish(command(&[&shell[..], &own].concat()));
        let recording = collect(&experiment);
        let with = finish(command(&[&shell[..], &recording, &own].concat()));
        assert_eq!(with.status, 0, "{script}: {}", with.stderr);
        assert_eq!(
            without_ours(&with.stdout),
            without_ours(&bare.stdout),
            "{script}"
        );
        assert!(bare.stdout.contains("descriptor") && bare.stdout.contains("limit 0"));
    }
    fs::remove_dir_all(place).unwrap();
}

/// What a program has, but for the words that lead to the library and the shell's name of what it
/// has started last.
fn without_ours(state: &str) -> Vec<String> {
    let is_ours = |line: &&str| {
        let variables = ["PARALLAX_", "_="];
        let is_one = |name: &&str| line.starts_with(&format!("variable {name}"));
        !variables.iter().any(is_one)
    };
    let lists = ["LD_PRELOAD=", "OMP_TOOL_LIBRARIES=", "ASAN_OPTIONS="];
    let shortened = |line: &str| {
        let Some(list) = lists.iter().find_map(|list| {
            let value = line.strip_prefix("variable ")?.strip_prefix(list)?;
            Some((list, value))
        }) else {
            return Some(line.to_owned());
        };
        let (name, value) = list;
        let ours =
            |word: &&str| word.ends_with("/libcollector.so") || *word == "verify_asan_link_order=0";
        let rest: Vec<&str> = value.split(':').filter(|word| !ours(word)).collect();
        (!rest.is_empty()).then(|| format!("{name}{}", rest.join(":")))
    };
    state
        .lines()
        .filter(is_ours)
        .filter_map(shortened)
        .collect()
}

#[test]
fn a_tool_of_the_user_s_beside() {
    let busy = program("busy", &[]);
    let busy = [text(&busy), "100"];
    let gdb = ["gdb", "-q", "-batch", "-ex", "run", "--args"];
    let place = place("beside");
    let experiment = place.join("run.er");
    let trace = place.join("trace");
    let strace = ["strace", "-f", "-o", text(&trace)];
    let recording = collect(&experiment);
    let lines: [(Vec<&str>, i32); 4] = [
        ([&recording[..], &gdb, &busy].concat(), 0),
        ([&gdb[..], &recording, &busy].concat(), 0),
        ([&recording[..], &strace, &busy].concat(), 4),
        ([&strace[..], &recording, &busy].concat(), 4),
    ];
    for (words, status) in lines {
        let outcome = finish(command(&words));
        assert_eq!(outcome.status, status, "{words:?}: {}", outcome.stderr);
        assert!(
            outcome.stdout.contains("done"),
            "{words:?}: {}",
            outcome.stdout
        );
        assert!(has_records(&experiment), "{words:?}");
    }
    fs::remove_dir_all(place).unwrap();
}

#[test]
fn a_library_that_the_user_preloads() {
    let place = place("preload");
    let source = place.join("mine.c");
    let library = place.join("mine.so");
    fs::write(
        &source,
        "#include <stdio.h>\n__attribute__((constructor)) static void here(void) { puts(\"mine\"); }\n",
    )
    .unwrap();
    let built = std::process::Command::new("gcc")
        .args(["-shared", "-fPIC", "-o"])
        .args([&library, &source])
        .status();
    assert!(built.unwrap().success());
    let busy = program("busy", &[]);
    let experiment = place.join("run.er");
    let script = format!(
        "exec env LD_PRELOAD=\"$LD_PRELOAD:{}\" {} 50",
        text(&library),
        text(&busy)
    );
    let outcome = record(&experiment, &["sh", "-c", &script]);
    assert_eq!(
        (outcome.status, outcome.stdout.as_str()),
        (4, "mine\ndone\n")
    );
    assert!(has_records(&experiment));
    let mut both = command(&[&collect(&experiment)[..], &[text(&busy), "50"]].concat());
    both.env("LD_PRELOAD", &library);
    let outcome = finish(both);
    assert_eq!(
        (outcome.status, outcome.stdout.as_str()),
        (4, "mine\ndone\nmine\n")
    );
    assert!(has_records(&experiment));
    fs::remove_dir_all(place).unwrap();
}

#[test]
fn sanitizers_of_gcc() {
    for sanitizer in ["address", "undefined", "leak"] {
        let flag = format!("-fsanitize={sanitizer}");
        let busy = program("busy", &[&flag]);
        let recorded = as_bare("sanitizer", &[text(&busy), "50"]);
        assert_eq!(recorded.status, 4, "{sanitizer}: {}", recorded.stderr);
    }
    // One that is started by another program.
    let busy = program("busy", &["-fsanitize=address"]);
    let experiment = place("sanitizer-launched").join("run.er");
    let outcome = record(
        &experiment,
        &["sh", "-c", "\"$0\" 50; exit $?", text(&busy)],
    );
    assert_eq!(outcome.status, 4, "{}", outcome.stderr);
    assert!(has_records(&experiment));
    fs::remove_dir_all(experiment.parent().unwrap()).unwrap();
}

/// What says how to unwind the program's own frames is overwritten: the program does not need it.
#[test]
fn unwind_information_that_is_noise() {
    let place = place("noise");
    let busy = program("busy", &[]);
    let file = fs::read(&busy).unwrap();
    let section = section(&busy, ".eh_frame");
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut random = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    for round in 0..12 {
        let mut bytes = file.clone();
        // A little of it, or all.
        let part = &mut bytes[section.clone()];
        for _ in 0..part.len() >> (round % 6) {
            let at = random() as usize % part.len();
            part[at] = random() as u8;
        }
        let mutant = place.join(format!("mutant{round}"));
        fs::write(&mutant, bytes).unwrap();
        fs::set_permissions(&mutant, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        let recorded = as_bare("mutant", &[text(&mutant), "60"]);
        assert_eq!((recorded.status, recorded.stdout.as_str()), (4, "done\n"));
    }
    fs::remove_dir_all(place).unwrap();
}

/// The bytes of a section in an ELF file, by `readelf`.
pub(crate) fn section(path: &Path, name: &str) -> std::ops::Range<usize> {
    let output = std::process::Command::new("readelf")
        .args(["-SW", text(path)])
        .output()
        .expect("binutils are installed with gcc");
    let listed = String::from_utf8(output.stdout).unwrap();
    let line = listed
        .lines()
        .find(|line| line.contains(&format!(" {name} ")));
    let (_, rest) = line
        .and_then(|line| line.split_once(']'))
        .expect("it is there");
    let words: Vec<&str> = rest.split_whitespace().collect();
    let hexadecimal = |word: &str| usize::from_str_radix(word, 16).unwrap();
    // Name, type, address, offset, size.
    let (offset, size) = (hexadecimal(words[3]), hexadecimal(words[4]));
    offset..offset + size
}
