//! `collect -r deadlock`: programs that are not instrumented, with errors planted and without.
#![allow(clippy::unwrap_used)]

use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use end_to_end::{compiler, findings, finish, folder, source, tools};
use fixtures::Family;
use serde_json::Value;

const FAMILIES: [Family; 2] = [Family::Clang, Family::Gcc];

/// The program, built by this compiler.
fn program(family: Family) -> PathBuf {
    build(family, "deadlocks")
}

/// The program of this name, built by this compiler.
fn build(family: Family, name: &str) -> PathBuf {
    build_with(family, name, &[])
}

/// As [`build`], with more options.
fn build_with(family: Family, name: &str, options: &[&str]) -> PathBuf {
    let compiler = compiler(family);
    let program = folder().join(format!(
        "{name}-{}-{:?}",
        compiler.name,
        std::thread::current().id()
    ));
    let mut command = Command::new(&compiler.path);
    command.args(["-O2", "-g", "-fopenmp"]).args(options);
    command.args(compiler.header());
    let source = source(&format!("{name}.c"));
    let status = command.arg(source).arg("-o").arg(&program).status();
    assert!(status.unwrap().success());
    program
}

/// What is found in a case: deadlocks with their locks, and kinds of misuse, as words.
fn found(program: &Path, case: &str, seconds: u32) -> (Vec<String>, i32, Value) {
    let experiment = program.with_extension(format!("{case}.er"));
    let mut command = Command::new(&tools().collect);
    command.args(["-r", "deadlock", "-t", &seconds.to_string(), "-O"]);
    command.arg(&experiment).arg(program).arg(case);
    command.env("OMP_WAIT_POLICY", "passive");
    let outcome = finish(command);
    let (findings, sources) =
        findings(&experiment).unwrap_or_else(|| panic!("{case}: {outcome:?}"));
    let list = |name: &str| findings[name].as_array().unwrap().clone();
    let mut words: Vec<String> = list("deadlocks")
        .iter()
        .map(|deadlock| {
            let edges = deadlock["edges"].as_array().unwrap();
            let mut wants: Vec<&str> = edges
                .iter()
                .map(|edge| edge["wants"].as_str().unwrap())
                .collect();
            wants.sort_unstable();
            let happened = deadlock["happened"].as_bool().unwrap();
            let word = if happened { "happened" } else { "possible" };
            format!("{word}: {}", wants.join(", "))
        })
        .collect();
    words.extend(
        list("misuse")
            .iter()
            .map(|misuse| misuse["kind"].as_str().unwrap().to_owned()),
    );
    // Else reports would not show its lines.
    let own = list("deadlocks").len() + list("misuse").len() > 0;
    let has_own = sources.iter().any(|it| it.contains("/programs/"));
    assert_eq!(has_own, own, "{findings:#}");
    std::fs::remove_dir_all(&experiment).unwrap();
    (words, outcome.status, findings)
}

/// Runs that end by themselves.
#[test]
fn errors_are_found_whether_or_not_they_happen_and_nothing_else_is() {
    let cases: [(&str, &[&str]); 29] = [
        ("right", &[]),
        (
            "critical-order",
            &["possible: critical(left), critical(right)"],
        ),
        ("critical-order-right", &[]),
        ("lock-order", &["possible: a, b"]),
        ("lock-order-right", &[]),
        ("gate", &[]),
        ("three", &["possible: a, b, c"]),
        ("intervals", &[]),
        ("tested", &[]),
        ("tasks", &["possible: a, b"]),
        ("depending-tasks", &[]),
        ("posix-order", &["possible: first, second"]),
        ("posix-order-right", &[]),
        ("readers", &[]),
        ("nested-locks", &[]),
        ("other-releases", &["lock released by another thread"]),
        ("never-released", &["lock never released"]),
        ("destroyed", &["lock destroyed while set"]),
        ("uninitialised", &["lock not initialised"]),
        (
            "work-in-critical",
            &[
                "barrier inside a critical section",
                "worksharing inside a critical section",
            ],
        ),
        (
            "different-loops",
            &["threads at different worksharing constructs"],
        ),
        ("different-barriers", &["threads at different barriers"]),
        ("barrier-in-master", &["barrier inside a master region"]),
        ("barrier-in-loop", &["barrier inside a loop"]),
        ("work-in-section", &["worksharing inside a section"]),
        (
            "nothing-ordered",
            &["ordered clause without an ordered region"],
        ),
        ("threads-set", &["number of threads set inside a region"]),
        ("nesting-refused", &["nested region refused"]),
        ("free-release", &["lock released that is not set"]),
    ];
    for family in FAMILIES {
        let program = program(family);
        for (case, expected) in cases {
            let (words, status, findings) = found(&program, case, 20);
            // LLVM's runtime aborts within the call.
            if (case, family) != ("free-release", Family::Clang) {
                assert_eq!(status, 0, "{case} {family:?}");
            }
            // GCC compiles `master` as a question for the thread's number.
            if (case, family) == ("barrier-in-master", Family::Gcc) {
                assert!(words.is_empty(), "{findings:#}");
                continue;
            }
            assert_eq!(words, expected, "{case} {family:?}: {findings:#}");
        }
    }
}

/// Whether the runtime goes on or aborts within the call.
#[test]
fn each_wrong_call_with_a_lock_is_misuse_and_no_right_one_is() {
    let text = std::fs::read_to_string(source("lock_misuse.c")).unwrap();
    let lines = (1..).zip(text.lines());
    let (mut name, mut cases) = ("", Vec::new());
    for (line, text) in lines {
        if let Some(rest) = text.strip_prefix("static void ") {
            name = rest.split_once('(').unwrap().0;
            cases.push((name, None));
        }
        if let Some((_, kind)) = text.split_once("; // ") {
            *cases.last_mut().unwrap() = (name, Some((line, kind)));
        }
    }
    assert_eq!(cases.len(), 18);
    for family in FAMILIES {
        let program = build(family, "lock_misuse");
        for (case, expected) in &cases {
            let (_, status, findings) = found(&program, case, 20);
            let misuse = findings["misuse"].as_array().unwrap().iter();
            let told: Vec<(u64, &str)> = misuse
                .map(|it| {
                    let line = it["stack"][0]["line"].as_u64().unwrap();
                    (line, it["kind"].as_str().unwrap())
                })
                .collect();
            let expected = Vec::from_iter(*expected);
            assert_eq!(told, expected, "{case} {family:?}: {findings:#}");
            assert!(status == 0 || !expected.is_empty(), "{case} {family:?}");
        }
    }
}

/// Such a program was not checked at all.
#[test]
fn a_program_without_openmp_is_checked() {
    let program = build(Family::Gcc, "posix_only");
    let (words, status, findings) = found(&program, "none", 20);
    assert_eq!(status, 0);
    let losses = findings["coverage"]["losses"].as_array().unwrap();
    assert!(losses.is_empty(), "{findings:#}");
    assert_eq!(words, ["possible: first, second"], "{findings:#}");
}

/// Runs that hang until `-t` ends them.
#[test]
fn a_hang_is_diagnosed_when_the_program_is_ended() {
    let cases: [(&str, &[&str]); 6] = [
        ("hang", &["happened: a, b"]),
        ("own-hang", &["happened: a", "lock taken twice"]),
        ("left-hang", &["happened: a, end of parallel"]),
        ("branch-hang", &["happened: barrier, end of parallel"]),
        (
            "critical-hang",
            &[
                "happened: barrier, critical",
                "barrier inside a critical section",
            ],
        ),
        // A thread that runs may yet come.
        ("slow", &[]),
    ];
    for family in FAMILIES {
        let program = program(family);
        for (case, expected) in cases {
            let (words, status, findings) = found(&program, case, 2);
            assert_eq!(words, expected, "{case} {family:?}: {findings:#}");
            assert_eq!(status, 128 + 15, "{case} {family:?}");
        }
    }
}

/// `collect -r deadlock` on the case that hangs.
fn hang(family: Family, experiment: &Path, limit: &[&str]) -> Command {
    // What runs in the background of a script ignores the signal.
    let mut command = Command::new("env");
    command.arg("--default-signal=INT").arg(&tools().collect);
    command.args(["-r", "deadlock"]).args(limit);
    command.arg("-O").arg(experiment);
    command.env("OMP_WAIT_POLICY", "passive");
    command.arg(program(family)).arg("hang");
    command
}

/// Who waits for whom, as the experiment has it.
fn diagnosis(experiment: &Path) -> String {
    let (findings, _) = findings(experiment).unwrap();
    std::fs::remove_dir_all(experiment).unwrap();
    let deadlocks = findings["deadlocks"].as_array().unwrap();
    assert_eq!(deadlocks.len(), 1, "{findings:#}");
    assert_eq!(deadlocks[0]["happened"], true);
    deadlocks[0]["detail"].as_str().unwrap().to_owned()
}

/// The line of the program with a comment at its end.
fn line_of(comment: &str) -> usize {
    let text = std::fs::read_to_string(source("deadlocks.c")).unwrap();
    let found = text.lines().position(|line| line.ends_with(comment));
    found.unwrap() + 1
}

#[test]
fn a_lock_on_the_heap_is_known_by_its_allocation() {
    let place = format!("allocated at deadlocks.c:{}>", line_of("// pair"));
    for family in FAMILIES {
        let program = program(family);
        let (words, ..) = found(&program, "heap-order", 20);
        let [word] = &words[..] else {
            panic!("{words:?}");
        };
        assert!(word.contains(&format!("<lock {place}")), "{word}");
        let other = format!(" of the block {place}");
        assert!(
            word.contains("<lock at byte ") && word.contains(&other),
            "{word}"
        );
        // Without the calls of functions, nothing is known of the stack.
        let (words, ..) = found(&program, "stack-order", 20);
        let [word] = &words[..] else {
            panic!("{words:?}");
        };
        assert_eq!(word.matches("lock 0x").count(), 2, "{word}");
    }
}

#[test]
fn a_lock_on_the_stack_has_the_name_of_its_variable_if_calls_are_known() {
    let program = folder().join("deadlocks-instrumented");
    let mut gcc = Command::new("gcc");
    gcc.args(["-O1", "-g", "-fopenmp", "-fsanitize=thread"]);
    gcc.arg(source("deadlocks.c"));
    let status = gcc.arg("-o").arg(&program).status();
    assert!(status.unwrap().success());
    let experiment = program.with_extension("er");
    let mut command = Command::new(&tools().collect);
    command.args(["-r", "race,deadlock", "-O"]).arg(&experiment);
    command.env("OMP_WAIT_POLICY", "passive");
    command.arg(&program).arg("stack-order");
    assert_eq!(finish(command).status, 0);
    let (findings, _) = findings(&experiment).unwrap();
    std::fs::remove_dir_all(&experiment).unwrap();
    let edges = findings["deadlocks"][0]["edges"].as_array().unwrap();
    let wants: Vec<&Value> = edges.iter().map(|edge| &edge["wants"]).collect();
    assert_eq!(wants, ["its", "own"], "{findings:#}");
}

#[test]
fn ctrl_c_on_a_program_that_hangs_leaves_who_waits_for_whom() {
    for family in FAMILIES {
        let experiment = folder().join(format!("ctrl-c-{family:?}.er"));
        let mut command = hang(family, &experiment, &[]);
        command.stderr(Stdio::piped()).process_group(0);
        let mut child = command.spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        // It is said while the program hangs, and then the user ends both.
        let said = lines
            .by_ref()
            .map(|line| line.unwrap())
            .find(|line| line.contains("nothing has moved"));
        let said = said.expect("collect says that nothing moves");
        let group = format!("-{}", child.id());
        let mut kill = Command::new("kill");
        let status = kill.args(["-INT", "--", &group]).status();
        assert!(status.unwrap().success());
        let rest: Vec<String> = lines.map(|line| line.unwrap()).collect();
        assert_eq!(child.wait().unwrap().code(), Some(128 + 2), "{rest:?}");
        let detail = diagnosis(&experiment);
        assert!(said.contains(&detail), "{said}: {detail}");
        assert!(
            detail.contains("thread 0 holds a since") && detail.contains("which thread 1 holds"),
            "{detail}"
        );
        // Once is enough.
        assert!(!rest.iter().any(|line| line.contains(&detail)), "{rest:?}");
    }
}

#[test]
fn a_limit_on_a_program_that_hangs_says_who_waits_for_whom() {
    let experiment = folder().join("limit.er");
    let outcome = finish(hang(Family::Gcc, &experiment, &["-t", "2"]));
    assert_eq!(outcome.status, 128 + 15, "{outcome:?}");
    let detail = diagnosis(&experiment);
    let mut said = outcome.said_by_collect();
    assert!(said.any(|line| line.contains(&detail)), "{outcome:?}");
}

#[test]
fn a_deadlock_has_the_places_at_which_its_locks_were_taken() {
    for family in FAMILIES {
        let program = program(family);
        let (_, _, findings) = found(&program, "lock-order", 20);
        let edges = findings["deadlocks"][0]["edges"].as_array().unwrap();
        assert_eq!(edges.len(), 2);
        for (edge, [holds, wants]) in edges.iter().zip([["a", "b"], ["b", "a"]]) {
            assert_eq!(
                (&edge["holds"], &edge["wants"]),
                (&holds.into(), &wants.into())
            );
            let lines = ["held", "wanted"].map(|side| edge[side][0]["line"].as_u64().unwrap());
            assert_eq!(lines[0] + 1, lines[1], "{edge:#}");
            let functions = |side: &str| {
                let stack = edge[side].as_array().unwrap().iter();
                stack
                    .map(|frame| frame["function"].as_str().unwrap().to_owned())
                    .collect::<Vec<_>>()
            };
            let expected = ["both", "lock_order", "main"];
            assert_eq!(functions("held"), expected, "{family:?}");
        }
        assert_eq!(edges[0]["thread"], 0);
        assert_eq!(edges[1]["thread"], 1);
    }
}

/// Code that is not instrumented tells of no calls: the threads' stacks do.
#[test]
fn a_deadlock_has_whole_stacks_in_programs_that_were_not_recompiled() {
    let cases: [(&str, &[&str]); 2] = [
        (
            "tasks",
            &["take", "take_both", "create_task", "tasks", "main"],
        ),
        ("posix", &["enter", "enter_both", "body", "posix", "main"]),
    ];
    for family in FAMILIES {
        let program = build(family, "deep_locks");
        for (case, expected) in cases {
            let (_, _, findings) = found(&program, case, 20);
            let edges = findings["deadlocks"][0]["edges"].as_array().unwrap();
            assert_eq!(edges.len(), 2, "{findings:#}");
            for (edge, side) in edges
                .iter()
                .flat_map(|edge| [(edge, "held"), (edge, "wanted")])
            {
                let stack = edge[side].as_array().unwrap().iter();
                let functions: Vec<&str> = stack
                    .map(|frame| frame["function"].as_str().unwrap())
                    .collect();
                assert_eq!(functions, expected, "{family:?} {case} {side}");
            }
        }
    }
}

/// Extensions with a runtime each: their constructs are executed by their own, and both are checked.
#[test]
fn private_copies_of_a_runtime_are_each_their_own() {
    let folder = folder().join(format!("private-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let fixtures::Private { host, extensions } = fixtures::private(&folder);
    let experiment = folder.join("private.er");
    let mut command = Command::new(&tools().collect);
    command.args(["-r", "deadlock", "-O"]).arg(&experiment);
    let outcome = finish({
        command.arg(host).args(extensions);
        command
    });
    assert_eq!(outcome.status, 0, "{outcome:?}");
    assert!(outcome.said_by_collect().next().is_none(), "{outcome:?}");
    std::fs::remove_dir_all(folder).unwrap();
}

/// With a limit, a program that waits forever ends with another status.
#[test]
fn nothing_is_asked_of_the_loader_while_a_mutex_is_held() {
    let program = build(Family::Gcc, "loader_lock");
    let experiment = program.with_extension("er");
    for round in 0..3 {
        let mut command = Command::new(&tools().collect);
        command.args(["-r", "deadlock", "-t", "30", "-O"]);
        command.arg(&experiment).arg(&program);
        let outcome = finish(command);
        assert_eq!(outcome.status, 4, "round {round}: {outcome:?}");
    }
    std::fs::remove_dir_all(&experiment).unwrap();
}

/// The program of this file, built by this compiler with these options.
fn built(compiler: &str, name: &str, options: &[&str]) -> PathBuf {
    let program = format!("{name}-{compiler}-{}", options.concat()).replace('.', "-");
    let program = folder().join(program);
    let mut command = Command::new(compiler);
    command.args(["-g", "-fopenmp"]).args(options);
    command.arg(source(name)).arg("-o").arg(&program);
    let out = command.current_dir(folder()).output().unwrap();
    assert!(out.status.success(), "{out:?}");
    program
}

/// The lines of a source file that end so.
fn lines_with(name: &str, end: &str) -> Vec<u64> {
    let text = std::fs::read_to_string(source(name)).unwrap();
    let lines = (1..).zip(text.lines());
    let lines = lines.filter(|(_, line)| line.trim_end().ends_with(end));
    lines.map(|(line, _)| line).collect()
}

#[test]
fn a_lock_that_is_unset_twice_is_told_with_both_places() {
    for compiler in ["g++", "clang++"] {
        let program = built(compiler, "double_unset.cc", &["-O2"]);
        let (_, _, findings) = found(&program, "", 20);
        let misuses = findings["misuse"].as_array().unwrap();
        assert_eq!(misuses.len(), 1, "{compiler}: {misuses:#?}");
        let place = &misuses[0]["stack"][0]["line"];
        let second = lines_with("double_unset.cc", "// second");
        assert_eq!(place.as_u64(), Some(second[0]), "{compiler}");
        let first = lines_with("double_unset.cc", "// first")[0];
        let detail = misuses[0]["detail"].as_str().unwrap();
        assert!(
            detail.ends_with(&format!("was unset at double_unset.cc:{first}")),
            "{detail}"
        );
    }
}

#[test]
fn a_loop_that_changes_its_variable_is_misuse() {
    for family in FAMILIES {
        let (words, status, findings) = found(&build(family, "loop_variables"), "", 20);
        assert_eq!(
            words, ["loop variable changed in its loop"; 2],
            "{family:?}"
        );
        assert_eq!(status, 0);
        let misuses = findings["misuse"].as_array().unwrap().iter();
        let lines: Vec<u64> = misuses
            .map(|misuse| misuse["stack"][0]["line"].as_u64().unwrap())
            .collect();
        assert_eq!(lines, lines_with("loop_variables.c", "/* planted */"));
    }
}

/// Threads wait at barriers of the program, at the end of its region, or no line is told.
fn check_skipped_barrier(program: &Path) {
    let (_, _, findings) = found(program, "", 2);
    let mut right = lines_with("skip_barrier.f90", "!$omp barrier");
    right.extend(lines_with("skip_barrier.f90", "num_threads(3)"));
    right.push(0);
    let deadlocks = findings["deadlocks"].as_array().unwrap();
    assert!(!deadlocks.is_empty());
    for edge in deadlocks
        .iter()
        .flat_map(|it| it["edges"].as_array().unwrap())
    {
        let line = edge["wanted"][0]["line"].as_u64().unwrap();
        assert!(right.contains(&line), "{edge:#}");
    }
}

#[test]
fn a_barrier_that_a_thread_skips_has_its_line_in_programs_of_gfortran() {
    for level in ["-O0", "-O1", "-O2"] {
        check_skipped_barrier(&built("gfortran", "skip_barrier.f90", &[level]));
    }
}

#[test]
#[ignore = "needs flang 22"]
fn a_barrier_that_a_thread_skips_has_its_line_in_programs_of_flang() {
    for level in ["-O0", "-O1", "-O2"] {
        check_skipped_barrier(&built("flang-22", "skip_barrier.f90", &[level]));
    }
}

#[test]
fn what_is_not_supported_is_refused() {
    let refused = |arguments: &[&str]| {
        let mut command = Command::new(&tools().collect);
        let outcome = finish({
            command.args(arguments).args(["-o", "never.er", "true"]);
            command
        });
        assert_ne!(outcome.status, 0, "{outcome:?}");
        outcome.stderr
    };
    assert!(refused(&["-r", "race,off"]).contains("expected race, deadlock, init"));
    assert!(refused(&["-r", "deadlock", "-t", "1-2"]).contains("not supported with -r"));
}

/// Runs a program under `collect -r`. Returns its status and output, and what `collect` said.
fn checked(checks: &str, program: &Path, words: &[&str]) -> end_to_end::Outcome {
    let mut command = Command::new(&tools().collect);
    command
        .args(["-r", checks, "-O"])
        .arg(program.with_extension("er"));
    command.arg(program).args(words);
    finish(command)
}

#[test]
fn a_thread_s_first_event_takes_no_lock_of_an_allocator() {
    for family in FAMILIES {
        let program = build_with(family, "locking_allocator", &[]);
        for _ in 0..5 {
            let outcome = checked("deadlock", &program, &[]);
            let ended = (outcome.status, outcome.stdout.as_str());
            assert_eq!(ended, (3, "4\n"), "{family:?} {}", outcome.stderr);
            assert_eq!(outcome.said_by_collect().next(), None);
        }
    }
}

#[test]
fn a_program_with_a_sanitizer_runs_or_is_refused_with_the_reason() {
    let address = build_with(Family::Gcc, "busy", &["-fsanitize=address"]);
    let alone = finish(Command::new(&address));
    let outcome = checked("deadlock", &address, &[]);
    assert_eq!(outcome.status, alone.status, "{}", outcome.stderr);
    assert_eq!(outcome.said_by_program(), alone.said_by_program());
    assert_eq!(outcome.said_by_collect().next(), None, "{}", outcome.stderr);

    let options = ["-fsanitize=thread", "-static-libtsan"];
    let within = build_with(Family::Gcc, "busy", &options);
    for checks in ["deadlock", "race"] {
        let outcome = checked(checks, &within, &[]);
        let said = "has the sanitizer's own runtime in it";
        assert_eq!((outcome.status, outcome.stdout.as_str()), (1, ""));
        assert!(outcome.stderr.contains(said), "{}", outcome.stderr);
    }
}

#[test]
fn a_program_goes_on_within_a_second_when_collect_is_killed() {
    let program = build_with(Family::Gcc, "standstill", &["-fsanitize=thread"]);
    let result = program.with_extension("result");
    let mut command = Command::new(&tools().collect);
    command
        .args(["-r", "race", "-O"])
        .arg(program.with_extension("er"));
    command.arg(&program).arg("3").arg(&result);
    let mut collect = command.spawn().unwrap();
    std::thread::sleep(std::time::Duration::from_secs(1));
    collect.kill().unwrap();
    collect.wait().unwrap();
    let begin = std::time::Instant::now();
    let longest: f64 = loop {
        let text = std::fs::read_to_string(&result).unwrap_or_default();
        if let Ok(longest) = text.trim().parse() {
            break longest;
        }
        assert!(begin.elapsed().as_secs() < 60, "the program has not ended");
        std::thread::sleep(std::time::Duration::from_millis(50));
    };
    assert!(longest < 1.0, "it stood still for {longest} s");
}
