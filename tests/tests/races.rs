//! `collect -r race` on programs with planted races, and on correct ones that look like them.
#![allow(clippy::unwrap_used)]

use std::path::PathBuf;
use std::process::Command;

use end_to_end::{findings, finish, folder, planted, races, source, tools, watch};
use serde_json::Value;

/// The program, instrumented by this compiler. clang's own shared runtime need not be installed: the
/// program is linked to the library that takes its place.
fn build(compiler: &str, name: &str) -> PathBuf {
    let program = folder().join(format!("{name}-{compiler}-{}", std::process::id()));
    let mut command = Command::new(compiler);
    command.args(["-g", "-O1", "-fopenmp", "-fsanitize=thread"]);
    command.arg(source(name)).arg("-o").arg(&program);
    if compiler.starts_with("clang") {
        let libraries = tools().collect.parent().unwrap();
        command.arg("-fno-sanitize-link-runtime");
        command.arg("-L").arg(libraries).arg("-lparallax_races");
    }
    let out = command.args(["-lpthread", "-ldl"]).output().unwrap();
    assert!(out.status.success(), "{out:?}");
    program
}

fn check_racy(compiler: &str, threads: u32) {
    let program = build(compiler, "racy.c");
    let mut missing = planted("racy.c", "/* ", "*/");
    let all = missing.clone();
    for race in races(&program, threads) {
        let line = |side: usize| race["accesses"][side]["line"].as_u64().unwrap();
        let lines = [line(0), line(1)];
        let found = all
            .iter()
            .find(|(_, planted)| lines.iter().all(|line| planted.contains(line)));
        let (name, _) = found.unwrap_or_else(|| panic!("{compiler}: lines {lines:?}: {race}"));
        // Of reads that a compiler has put before a loop it is not certain.
        if race["class"] == "race" {
            missing.remove(name);
        }
    }
    assert!(missing.is_empty(), "{compiler}: {missing:?}");
}

fn check_race_free(compiler: &str, threads: u32) {
    let program = build(compiler, "race_free.c");
    let found = races(&program, threads);
    let certain: Vec<&Value> = found
        .iter()
        .filter(|race| race["class"] == "race")
        .collect();
    assert!(certain.is_empty(), "{compiler}: {certain:#?}");
}

#[test]
fn planted_races_are_found_in_programs_of_clang() {
    for threads in [2, 4] {
        check_racy("clang", threads);
    }
}

#[test]
fn planted_races_are_found_in_programs_of_gcc() {
    for threads in [2, 4] {
        check_racy("gcc", threads);
    }
}

#[test]
fn correct_programs_of_clang_have_no_race() {
    for threads in [2, 4] {
        check_race_free("clang", threads);
    }
}

#[test]
fn correct_programs_of_gcc_have_no_race() {
    for threads in [2, 4] {
        check_race_free("gcc", threads);
    }
}

#[test]
fn correct_programs_of_cpp_have_no_race() {
    for compiler in ["clang++", "g++"] {
        let program = build(compiler, "race_free.cc");
        for _ in 0..3 {
            let found = races(&program, 4);
            let is_certain = |race: &&Value| race["class"] == "race";
            let certain: Vec<&Value> = found.iter().filter(is_certain).collect();
            assert!(certain.is_empty(), "{compiler}: {certain:#?}");
        }
    }
}

/// Reductions by hand, queues, stacks of atomics, tasks with dependences.
#[test]
fn correct_programs_in_other_styles_have_no_race() {
    for (name, compilers) in [
        ("style_reduction.c", ["gcc", "clang"]),
        ("style_blocks.c", ["gcc", "clang"]),
        ("style_stack.cc", ["g++", "clang++"]),
        ("style_pipeline.cc", ["g++", "clang++"]),
        ("style_nested.c", ["gcc", "clang"]),
        ("style_scratch.c", ["gcc", "clang"]),
    ] {
        for compiler in compilers {
            let found = races(&build(compiler, name), 4);
            let is_certain = |race: &&Value| race["class"] == "race";
            let certain: Vec<&Value> = found.iter().filter(is_certain).collect();
            assert!(certain.is_empty(), "{compiler} {name}: {certain:#?}");
        }
    }
}

/// A queue of work and a flag with fences hand their objects over on many lines.
#[test]
fn what_is_ordered_by_chance_has_one_row_for_each_object() {
    for (name, compilers) in [
        ("pool.cc", ["g++", "clang++"]),
        ("fence.c", ["gcc", "clang"]),
        ("style_pipeline.cc", ["g++", "clang++"]),
    ] {
        for compiler in compilers {
            let found = races(&build(compiler, name), 2);
            let mut objects: Vec<&Value> = found.iter().map(|race| &race["variable"]).collect();
            for race in &found {
                assert_eq!(race["class"], "order by chance", "{compiler}: {race}");
            }
            let whole = |name: &&Value| {
                let name = name.as_str().unwrap();
                // The name of a block has that of a file in it.
                let ends: &[char] = if name.starts_with('<') {
                    &['[']
                } else {
                    &['[', '.']
                };
                name.split(ends).next().unwrap().to_owned()
            };
            objects.sort_by_key(whole);
            objects.dedup_by_key(|name| whole(&&**name));
            assert_eq!(objects.len(), found.len(), "{compiler} {name}: {found:#?}");
        }
    }
}

/// The inner regions have ended when their accesses are compared.
#[test]
fn an_access_in_an_inner_region_has_all_its_constructs() {
    for compiler in ["gcc", "clang"] {
        let found = races(&build(compiler, "nest_race.c"), 2);
        assert!(!found.is_empty());
        for race in found {
            for access in race["accesses"].as_array().unwrap() {
                let constructs = access["constructs"].as_array().unwrap();
                let lines = constructs.iter().map(|it| it["line"].as_u64().unwrap());
                assert_eq!(lines.collect::<Vec<_>>(), [9, 7], "{compiler}: {race}");
            }
        }
    }
}

#[test]
fn readers_of_one_lock_have_no_order() {
    let program = build("g++", "race_shared_lock.cc");
    let found = races(&program, 2);
    assert!(!found.is_empty());
    for race in found {
        assert_eq!(race["variable"], "hits", "{race}");
    }
}

/// Its mappings are gone when the findings get their names.
#[test]
fn races_in_a_library_that_is_unloaded_have_their_names() {
    let program = build("gcc", "race_plugin.c");
    let library = PathBuf::from(format!("{}.so", program.display()));
    let status = Command::new("gcc")
        .args([
            "-g",
            "-O1",
            "-fPIC",
            "-shared",
            "-fsanitize=thread",
            "-DPLUGIN",
        ])
        .arg(source("race_plugin.c"))
        .arg("-o")
        .arg(&library)
        .status();
    assert!(status.unwrap().success());
    let experiment = PathBuf::from(format!("{}.er", program.display()));
    let mut command = Command::new(&tools().collect);
    command.args(["-r", "race", "-O"]).arg(&experiment);
    command
        .arg(&program)
        .arg(&library)
        .env("OMP_NUM_THREADS", "4");
    let outcome = finish(command);
    assert_eq!(outcome.status, 0, "{outcome:?}");
    let text = tools().print(&experiment, &["-races"]);
    assert!(text.contains("race_plugin.c:8 (apply)"), "{text}");
    assert!(text.contains("scratch["), "{text}");
}

/// SIGKILL leaves `collect` no time to store anything.
#[test]
fn a_killed_collect_leaves_what_was_found() {
    let program = build("gcc", "endless.c");
    let experiment = PathBuf::from(format!("{}.er", program.display()));
    let mut command = Command::new(&tools().collect);
    command.args(["-r", "race", "-O"]).arg(&experiment);
    command.arg(&program).env("OMP_NUM_THREADS", "2");
    let has_race = || {
        let (findings, _) = findings(&experiment)?;
        Some(!findings["races"].as_array()?.is_empty())
    };
    let outcome = watch(command, |collect| {
        if has_race() == Some(true) {
            let kill = format!("kill -KILL {}", collect.id());
            Command::new("sh").args(["-c", &kill]).status().unwrap();
        }
        Ok::<(), String>(())
    });
    assert_eq!(outcome.unwrap().status, 128 + 9);
    let text = tools().print(&experiment, &["-races"]);
    assert!(text.contains("endless.c:11 (main)"), "{text}");
    assert!(text.contains("the recording was cut off"), "{text}");
}

/// No code of ours runs at its end.
#[test]
fn the_races_of_a_program_that_aborts_have_their_names() {
    let program = build("gcc", "aborts.c");
    let experiment = PathBuf::from(format!("{}.er", program.display()));
    for _ in 0..5 {
        let mut command = Command::new(&tools().collect);
        command.args(["-r", "race", "-O"]).arg(&experiment);
        command.arg(&program).env("OMP_NUM_THREADS", "2");
        assert_eq!(finish(command).status, 128 + 6);
        let text = tools().print(&experiment, &["-races"]);
        assert!(text.contains("aborts.c:8 (main)"), "{text}");
    }
}
