//! What collect cannot have: address space, files, memory to share, a reader of its messages, a disk.

use std::fs;
use std::path::Path;

use end_to_end::{reports, rows};

use crate::{has_records, header, is_readable, notes, place, program, ran_to_its_end, shell, text};

/// Runs `$C … busy` after `before`; the program ends as ever.
#[track_caller]
fn busy_after(before: &str, place: &Path) -> end_to_end::Outcome {
    let busy = program("busy", &[]);
    let script = format!("{before} exec $C -O run.er {} 150", text(&busy));
    let outcome = shell(&script, place);
    assert_eq!(
        (outcome.status, outcome.stdout.as_str()),
        (4, "done\n"),
        "{before}: {}",
        outcome.stderr
    );
    outcome
}

#[test]
fn little_address_space() {
    let place = place("address-space");
    for kilobytes in [6_000_000, 3_000_000, 1_000_000, 400_000] {
        busy_after(&format!("ulimit -v {kilobytes};"), &place);
        assert!(has_records(&place.join("run.er")), "{kilobytes} kB");
    }
    fs::remove_dir_all(place).unwrap();
}

#[test]
fn short_files() {
    let place = place("short-files");
    let experiment = place.join("run.er");
    // In kilobytes. OpenMP's records need a file of two megabytes and more.
    for (limit, listens) in [(1_000_000, true), (6000, true), (1000, false), (40, false)] {
        let outcome = busy_after(&format!("ulimit -f {limit};"), &place);
        assert_eq!(has_records(&experiment), listens, "{limit} kB");
        is_readable(&experiment);
        if !listens {
            let said = outcome
                .said_by_collect()
                .any(|line| line.contains("ulimit -f"));
            assert!(said, "{}", outcome.stderr);
            let noted = notes(&experiment)
                .iter()
                .any(|note| note.contains("ulimit -f"));
            assert!(noted, "{:?}", notes(&experiment));
        }
    }
    fs::remove_dir_all(place).unwrap();
}

#[test]
fn few_open_files() {
    let place = place("few-files");
    // Without perf events, which take some for each CPU, or with them and enough for the rest.
    for limit in 13..28 {
        busy_after(&format!("ulimit -n {limit};"), &place);
        is_readable(&place.join("run.er"));
    }
    fs::remove_dir_all(place).unwrap();
}

#[test]
fn no_memory_to_share() {
    let place = place("no-memfd");
    // memfd_create of x86-64 (asm/unistd_64.h), refused as a container's filter does.
    let launcher = program("../../fixtures/programs/cases/noperf", &[]);
    let busy = program("busy", &[]);
    let script = format!(
        "export PXNR=319; exec {} $C -O run.er {} 150",
        text(&launcher),
        text(&busy)
    );
    let outcome = shell(&script, &place);
    assert_eq!((outcome.status, outcome.stdout.as_str()), (4, "done\n"));
    let said = "the shared memory for OpenMP events cannot be made";
    assert!(
        outcome.said_by_collect().any(|line| line.contains(said)),
        "{}",
        outcome.stderr
    );
    let experiment = place.join("run.er");
    is_readable(&experiment);
    assert!(notes(&experiment).iter().any(|note| note.contains(said)));
    fs::remove_dir_all(place).unwrap();
}

#[test]
fn no_memory_to_share_for_checks() {
    let place = place("no-memory-for-checks");
    let busy = program("busy", &[]);
    // There is room for it in 700 MB, and then too little for the program's threads.
    let limits = [
        ("-f 43", "ulimit -f"),
        ("-v 400000", "ulimit -v"),
        ("-v 700000", "ulimit -v"),
    ];
    for (limit, why) in limits {
        let script = format!(
            "ulimit {limit}; exec $C -r deadlock -O run.er {} 150",
            text(&busy)
        );
        let outcome = shell(&script, &place);
        ran_to_its_end(&outcome);
        let said: Vec<_> = outcome.said_by_collect().collect();
        assert!(
            matches!(&said[..], [line] if line.contains("nothing was checked") && line.contains(why)),
            "{said:?}"
        );
        fs::remove_dir_all(place.join("run.er")).unwrap();
    }
    fs::remove_dir_all(place).unwrap();
}

/// The ways to record a program: with perf events, without, and for checks.
fn ways() -> [(String, bool); 3] {
    let without = program("../../fixtures/programs/cases/noperf", &[]);
    [
        ("$C".into(), true),
        (format!("{} $C", text(&without)), true),
        ("$C -r deadlock".into(), false),
    ]
}

/// The program runs as alone in each way, and its events are known.
#[track_caller]
fn is_recorded_in_each_way(place: &Path, case: &str, words: &str) {
    let case = program(case, &[]);
    let alone = shell(&format!("exec {} {words}", text(&case)), place);
    assert_eq!((alone.status, alone.stdout.as_str()), (3, "1\n"), "{words}");
    for (way, has_records) in ways() {
        let script = format!("exec {way} -O run.er {} {words}", text(&case));
        let outcome = shell(&script, place);
        let ended = (outcome.status, &outcome.stdout);
        assert_eq!(ended, (3, &alone.stdout), "{script} {}", outcome.stderr);
        let experiment = place.join("run.er");
        if has_records {
            let regions = reports(&experiment, "user", &["-OMP_preg"]);
            assert!(!rows(&regions[0]).is_empty(), "{script}");
        } else {
            assert_eq!(outcome.said_by_collect().next(), None, "{script}");
        }
        fs::remove_dir_all(experiment).unwrap();
    }
}

#[test]
fn a_program_that_permits_itself_few_system_calls() {
    let place = place("filtered");
    for words in ["", "early syscall", "late", "late syscall"] {
        is_recorded_in_each_way(&place, "filtered", words);
    }
    fs::remove_dir_all(place).unwrap();
}

#[test]
fn a_program_that_changes_its_root() {
    let place = place("chrooted");
    fs::create_dir(place.join("empty")).unwrap();
    is_recorded_in_each_way(&place, "chrooted", "empty");
    fs::remove_dir_all(place).unwrap();
}

#[test]
fn a_program_that_valgrind_executes() {
    let place = place("valgrind");
    let busy = program("busy", &[]);
    for (way, _) in ways() {
        let script = format!(
            "exec {way} -O run.er valgrind -q --error-exitcode=9 {} 20",
            text(&busy)
        );
        let outcome = shell(&script, &place);
        ran_to_its_end(&outcome);
        assert_eq!(outcome.said_by_program(), "", "{script}");
        fs::remove_dir_all(place.join("run.er")).unwrap();
    }
    fs::remove_dir_all(place).unwrap();
}

#[test]
fn nobody_reads_what_collect_says() {
    let place = place("unread");
    let busy = program("busy", &[]);
    let full = format!(
        "mkfifo full; exec 3<>full; dd if=/dev/zero of=full bs=64K count=1 oflag=nonblock 2>/dev/null; \
         $C -v -O run.er {} 150 2>full; exit $?",
        text(&busy)
    );
    let closed = format!("$C -v -O run.er {} 150 2>&-; exit $?", text(&busy));
    let device = format!("$C -v -O run.er {} 150 2>/dev/full; exit $?", text(&busy));
    let gone = format!(
        "$C -v -O run.er {} 150 2> >(exec true); exit $?",
        text(&busy)
    );
    for script in [full, closed, device, gone] {
        let outcome = shell(&script, &place);
        let ended = (outcome.status, outcome.stdout.as_str());
        assert_eq!(ended, (4, "done\n"), "{script}");
        assert!(has_records(&place.join("run.er")), "{script}");
    }
    fs::remove_dir_all(place).unwrap();
}

#[test]
fn a_file_that_may_not_grow_any_further() {
    let place = place("full-file");
    let busy = program("busy", &[]);
    // Records of some seconds are more than that.
    let script = format!(
        "ulimit -f 16; exec $C -p 100u -O run.er {} 3000",
        text(&busy)
    );
    let outcome = shell(&script, &place);
    ran_to_its_end(&outcome);
    stopped(&place.join("run.er"), &outcome, "File too large");
    fs::remove_dir_all(place).unwrap();
}

#[test]
fn a_disk_that_fills_up() {
    let place = place("full-disk");
    let busy = program("busy", &[]);
    // A file system of its own, which goes with the namespace.
    let script = format!(
        "exec unshare -rm bash -c 'mkdir disk && mount -t tmpfs -o size=84k none disk && \
         $C -p 100u -O disk/run.er {} 3000; status=$?; cp -r disk/run.er .; exit $status'",
        text(&busy)
    );
    let outcome = shell(&script, &place);
    ran_to_its_end(&outcome);
    stopped(&place.join("run.er"), &outcome, "No space left");
    fs::remove_dir_all(place).unwrap();
}

/// The recording ended before the program, said so at once and says so to every reader.
fn stopped(experiment: &Path, outcome: &end_to_end::Outcome, why: &str) {
    let said = |line: &str| line.contains(why) && line.contains("the recording ends here");
    assert!(outcome.said_by_collect().any(said), "{}", outcome.stderr);
    is_readable(experiment);
    let header = header(experiment);
    let stopped = header["header"]["stopped"].as_str().unwrap_or_default();
    assert!(stopped.contains(why), "{header}");
    assert_eq!(header["header"]["exit_status"], 4);
    let warned = notes(experiment);
    let warned = warned
        .iter()
        .any(|warning| warning.contains("ended before the program") && warning.contains(why));
    assert!(warned, "{:?}", notes(experiment));
}

/// What the library holds came out of the program's own limit: it got no memory, no thread and no process.
#[test]
fn a_program_that_limits_its_own_address_space() {
    let place = place("own-limit");
    let program = program("own_limit", &[]);
    let alone = shell(text(&program), &place);
    assert_eq!(
        (alone.status, alone.stdout.as_str()),
        (3, "1 0 5 3 2 400 shell\n")
    );
    for options in ["", "-F off", "-r deadlock"] {
        let script = format!("exec $C {options} -O run.er {}", text(&program));
        let outcome = shell(&script, &place);
        assert_eq!(
            (outcome.status, &outcome.stdout),
            (3, &alone.stdout),
            "{options}: {}",
            outcome.stderr
        );
    }
    fs::remove_dir_all(place).unwrap();
}
