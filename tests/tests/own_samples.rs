//! Where perf events are forbidden: programs go on unharmed, and what they do is found. Names of threads,
//! with perf events and without.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use end_to_end::{Outcome, finish, folder, reports, rows, tools, without_perf};
use serde_json::Value;

fn place(name: &str) -> PathBuf {
    let place = folder().join(format!("own-{name}-{}", std::process::id()));
    let _ = fs::remove_dir_all(&place);
    fs::create_dir_all(&place).unwrap();
    place
}

/// Builds `programs/NAME.c` in a folder.
fn build(place: &Path, name: &str, options: &[&str]) -> PathBuf {
    let program = place.join(name);
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("programs/{name}.c"));
    let mut gcc = Command::new("gcc");
    gcc.args(["-O2", "-g", "-pthread"]).args(options);
    let built = gcc.arg("-o").arg(&program).arg(source).status().unwrap();
    assert!(built.success());
    program
}

/// Records a command as `run.er`, with perf events or without.
fn record(place: &Path, perf: bool, command: &[&Path]) -> Outcome {
    let mut collect = if perf {
        Command::new(&tools().collect)
    } else {
        let mut collect = Command::new(without_perf());
        collect.arg(&tools().collect);
        collect
    };
    collect.arg("-O").arg(place.join("run.er")).args(command);
    finish(collect)
}

fn seconds(row: &Value, metric: &str) -> f64 {
    row["values"][metric].as_f64().unwrap()
}

#[test]
fn a_handler_on_a_small_alternate_stack_is_not_interrupted() {
    let place = place("alternate");
    let program = build(&place, "alternate", &[]);
    let alone = finish(Command::new(&program));
    assert_eq!(alone.stdout, "handled, 0 bytes harmed, urgent 0\n");
    let recorded = record(&place, false, &[&program]);
    assert_eq!((recorded.status, recorded.stdout), (0, alone.stdout));
}

#[test]
fn a_thread_that_samples_itself_can_be_cancelled_anywhere() {
    let place = place("cancelled");
    let program = build(&place, "async_cancel", &[]);
    let alone = finish(Command::new(&program));
    assert_eq!(
        (alone.status, alone.stdout.as_str()),
        (7, "300 cancelled\n")
    );
    let recorded = record(&place, false, &[&program]);
    assert_eq!(
        (recorded.status, &recorded.stdout),
        (alone.status, &alone.stdout),
        "{}",
        recorded.stderr
    );
}

/// The notes and warnings of `header`.
fn notes(place: &Path) -> Vec<String> {
    let header = reports(&place.join("run.er"), "user", &["-header"]).remove(0);
    let all = [&header["header"]["notes"], &header["warnings"]];
    let all = all.into_iter().flat_map(|it| it.as_array().unwrap());
    all.map(|note| note.as_str().unwrap().to_owned()).collect()
}

#[test]
fn signals_and_small_stacks_are_as_without_samples() {
    let place = place("ways");
    // Where processors have tiles (AMX), the loader of glibc before 2.42 takes 11 KB of stack to bind a function
    // at its first call: a thread with a small stack would end there, without `collect`, too.
    let words = ["-Wno-deprecated-declarations", "-Wl,-z,now"];
    let program = build(&place, "signal_ways", &words);
    let refused = "1 thread could not be sampled";
    let not_loaded = "no thread of the program has sampled itself";
    for (way, has_room) in [
        ("alternate", false),
        ("page", false),
        ("small", false),
        ("once", true),
        ("sigset", true),
        ("bsd", true),
        ("interrupts", true),
    ] {
        let way = Path::new(way);
        let mut command = Command::new(&program);
        command.arg(way);
        let alone = finish(command);
        assert_eq!(alone.status, 3, "{way:?}");
        let recorded = record(&place, false, &[&program, way]);
        let ended = (recorded.status, &recorded.stdout);
        assert_eq!(ended, (3, &alone.stdout), "{way:?} {}", recorded.stderr);
        let notes = notes(&place);
        let is_counted = notes.iter().any(|note| note.contains(refused));
        assert_eq!(is_counted, !has_room, "{way:?} {notes:?}");
        assert!(
            !notes.iter().any(|note| note.contains(not_loaded)),
            "{notes:?}"
        );
        fs::remove_dir_all(place.join("run.er")).unwrap();
    }
}

/// The CPU time of all threads by the experiment, and what the program says that the kernel's account is.
#[track_caller]
fn found_and_spent(place: &Path, words: &[&Path]) -> (f64, f64) {
    let recorded = record(place, false, words);
    assert_eq!(recorded.status, 0, "{}", recorded.stderr);
    let spent: f64 = recorded.stdout.trim().parse().unwrap();
    let views = reports(&place.join("run.er"), "user", &["-threads"]);
    let found: f64 = rows(&views[0])
        .iter()
        .map(|row| seconds(row, "e.totalcpu"))
        .sum();
    (found, spent)
}

#[test]
fn short_children_that_call_exit_have_their_cpu_time() {
    let place = place("short");
    let program = build(&place, "short_children", &[]);
    let (found, spent) = found_and_spent(&place, &[&program]);
    // What the kernel does for a process after its last instruction, only its parent is told.
    let (children, end) = (100.0, 0.0003);
    assert!(
        found < 1.05 * spent && found > 0.95 * spent - children * end,
        "{found} s of CPU time, {spent} s by the kernel's account"
    );
}

#[test]
fn a_tracer_sees_no_signal_of_ours() {
    let place = place("traced");
    let program = build(&place, "traced", &[]);
    for (way, said) in [
        ("asks", "end\n"),
        ("calls", "end\n"),
        ("child", "stopped by 19\nexited with 4\n"),
        ("exec", "stopped by 5\nend\nexited with 3\n"),
    ] {
        let recorded = record(&place, false, &[&program, Path::new(way)]);
        let ended = (recorded.status, recorded.stdout.as_str());
        assert_eq!(ended, (3, said), "{way} {}", recorded.stderr);
        let notes = notes(&place);
        let is_counted = |note: &String| note.contains("could not be sampled");
        assert!(notes.iter().any(is_counted), "{way} {notes:?}");
        fs::remove_dir_all(place.join("run.er")).unwrap();
    }
}

#[test]
fn a_program_whose_environment_was_cleared_is_said_to_be_one() {
    let place = place("cleared");
    let program = build(&place, "busy", &["-fopenmp"]);
    // Nothing is said of a tenth of a second of CPU time.
    let [env, cleared, milliseconds] = ["env", "-i", "1000"].map(Path::new);
    let recorded = record(&place, false, &[env, cleared, &program, milliseconds]);
    assert_eq!(
        (recorded.status, recorded.stdout.as_str()),
        (4, "done\n"),
        "{}",
        recorded.stderr
    );
    let notes = notes(&place);
    let says = |note: &String| note.contains("sampled itself: its environment was cleared");
    assert!(notes.iter().any(says), "{notes:?}");
}

/// Checks the CPU time of `child_ends`, of which no more than the share `unknown` may be missing.
#[track_caller]
fn check_ends(way: &str, unknown: f64) {
    let place = place(way);
    let program = build(&place, "child_ends", &[]);
    let (found, spent) = found_and_spent(&place, &[&program, Path::new(way)]);
    assert!(
        found < 1.05 * spent && found > (1.0 - unknown) * spent,
        "{way}: {found} s of CPU time, {spent} s by the kernel's account"
    );
}

#[test]
fn children_that_end_all_at_once_have_their_cpu_time() {
    check_ends("exit_group", 0.1);
}

#[test]
fn children_whose_parents_have_ended_have_their_cpu_time() {
    check_ends("orphans", 0.05);
}

#[test]
fn children_that_are_killed_have_the_cpu_time_that_is_known_of_them() {
    check_ends("killed", 0.15);
}

#[test]
fn threads_that_end_by_a_system_call_have_the_cpu_time_that_is_known_of_them() {
    check_ends("threads", 0.3);
}

#[test]
fn a_child_without_the_library_is_recorded_by_its_cpu_time() {
    let place = place("static");
    let parent = build(&place, "parent", &[]);
    let child = build(&place, "names", &["-static"]);
    let outcome = record(&place, false, &[&parent, &child]);
    assert_eq!(outcome.status, 0, "{}", outcome.stderr);
    let spent = outcome.stdout.split_whitespace();
    let spent: f64 = spent.map(|it| it.parse::<f64>().unwrap()).sum();
    let views = reports(&place.join("run.er"), "user", &["-threads"]);
    let threads = rows(&views[0]).iter();
    let found: f64 = threads.map(|row| seconds(row, "e.totalcpu")).sum();
    assert!(
        (found - spent).abs() < 0.1 * spent + 0.05,
        "{found} s of CPU time, {spent} s by the child's own clock"
    );
}

#[track_caller]
fn check_names(perf: bool) {
    let place = place(if perf { "names" } else { "names-own" });
    let program = build(&place, "names", &[]);
    let outcome = record(&place, perf, &[&program]);
    assert_eq!(outcome.status, 0, "{}", outcome.stderr);
    let spent = outcome.stdout.split_whitespace();
    let spent: Vec<f64> = spent.map(|it| it.parse().unwrap()).collect();
    let experiment = place.join("run.er");
    let views = reports(&experiment, "user", &["-threads", "-Processes"]);
    let threads = rows(&views[0]);
    let names: Vec<Option<&str>> = threads
        .iter()
        .map(|it| it["thread_name"].as_str())
        .collect();
    // The second one has the name of the thread that made it.
    let name = "reads␛input";
    assert_eq!(names, [None, Some(name), Some(name)]);
    for (row, spent) in threads[1..].iter().zip(spent) {
        let found = seconds(row, "e.totalcpu");
        assert!(
            (found - spent).abs() < 0.1 * spent + 0.03,
            "{found} s of CPU time, {spent} s by its own clock"
        );
        let shown = row["name"].as_str().unwrap();
        assert!(shown.ends_with(&format!(" ({name})")), "{shown}");
    }
}

#[test]
fn threads_have_the_names_that_the_program_gave_them() {
    check_names(true);
}

#[test]
fn threads_have_their_names_without_perf_events_too() {
    check_names(false);
}
