//! Races have the names of the program's own variables, and advice where the source proves it.
#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};
use std::process::Command;

use end_to_end::{findings, folder, tools};
use serde_json::Value;

/// What names, declares and advises each race of a program, by name.
struct Found(Vec<Value>);

impl Found {
    /// Compiles the program and records it.
    fn of(compiler: &str, options: &[&str], source: &str) -> Found {
        let name = format!("{source}-{compiler}-{}", options.concat());
        let source = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("programs")
            .join(source);
        let folder = folder().join(format!("race-names-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let place = |name: &str| -> PathBuf { folder.join(name) };
        let program = place("program");
        let built = Command::new(compiler)
            .args(["-g", "-fsanitize=thread", "-fopenmp"])
            .args(options)
            .arg(source)
            .arg("-o")
            .arg(&program)
            .current_dir(&folder)
            .status()
            .unwrap();
        assert!(built.success(), "{compiler} {options:?}");
        let experiment = place("race.er");
        let output = Command::new(&tools().collect)
            .args(["-r", "race", "-O"])
            .arg(&experiment)
            .arg(&program)
            .env("OMP_WAIT_POLICY", "passive")
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        let (findings, sources) = findings(&experiment).unwrap();
        let races = findings["races"].as_array().unwrap().clone();
        assert!(!sources.is_empty());
        Found(races)
    }

    /// The names are these and no others.
    #[track_caller]
    fn names_are(&self, expected: &[&str]) {
        let name = |race: &Value| race["variable"]["name"].as_str().map(str::to_owned);
        let mut names: Vec<_> = self.0.iter().map(name).collect();
        names.sort();
        names.dedup();
        let mut expected: Vec<_> = expected
            .iter()
            .map(|name| Some((*name).to_owned()))
            .collect();
        expected.sort();
        assert_eq!(names, expected);
    }

    #[track_caller]
    fn race(&self, name: &str) -> &Value {
        let race = self.0.iter().find(|race| race["variable"]["name"] == name);
        race.unwrap_or_else(|| panic!("no race for {name}"))
    }

    /// Races for a variable have this advice.
    #[track_caller]
    fn advises(&self, name: &str, advice: &str) {
        let of_it = self
            .0
            .iter()
            .filter(|race| race["variable"]["name"] == name);
        let advices: Vec<_> = of_it.map(|race| race["advice"].clone()).collect();
        assert!(advices.contains(&advice.into()), "{name}: {advices:?}");
    }
}

#[test]
fn a_loop_that_no_directive_divides_is_named() {
    let text = include_str!("../programs/undivided.c");
    let line = |of: &str| {
        let at = text.lines().position(|line| line.ends_with(of)).unwrap();
        at + 1
    };
    for level in ["-O0", "-O1"] {
        let found = Found::of("gcc", &[level], "undivided.c");
        let divide = |line: usize| {
            format!(
                "divide the loop at line {line} among the threads, each of which executes all of it"
            )
        };
        let first = line("/* first */");
        let add = format!("add for to the directive at line {}", first - 1);
        found.advises("first[1]", &format!("{}: {add}", divide(first)));
        let second = divide(line("/* second */"));
        found.advises("second[1]", &format!("{second}: omp for"));
        found.advises("sum", "make the update atomic");
    }
}

const OF_C: [&str; 23] = [
    "counter",
    "sum",
    "array[5]",
    "matrix[2][1]",
    "object.weights[2]",
    "variable",
    "heap[17]",
    "one->weights[1]",
    "many[2].value",
    "grid[3][4]",
    "head.weights[2]",
    "copies[3]",
    "calls",
    "local[5]",
    "by_team",
    "by_thread",
    "in[3]",
    "guarded",
    "named",
    "inner",
    "norm",
    "mine",
    "result",
];

fn check_c(compiler: &str, options: &[&str]) {
    let found = Found::of(compiler, options, "race_names.c");
    found.names_are(&OF_C);
    let declared = |name: &str, origin: &str| {
        let declaration = &found.race(name)["variable"]["origin"][origin];
        let function = declaration["function"].as_str().unwrap().to_owned();
        (function, declaration["line"].as_u64().unwrap())
    };
    let text = include_str!("../programs/race_names.c");
    let line = |of: &str| {
        let at = text.lines().position(|line| line.contains(of)).unwrap();
        at as u64 + 1
    };
    assert_eq!(
        declared("counter", "global"),
        (String::new(), line("int counter;"))
    );
    assert_eq!(
        declared("calls", "global"),
        ("work".into(), line("static int calls;"))
    );
    assert_eq!(
        declared("sum", "stack"),
        ("main".into(), line("int n = 10"))
    );
    assert_eq!(
        declared("local[5]", "stack"),
        ("work".into(), line("int local[32];"))
    );
    assert_eq!(
        declared("copies[3]", "thread"),
        (String::new(), line("double copies"))
    );
    let whole = |name: &str| found.race(name)["variable"]["whole"].as_u64().unwrap();
    let wholes = ["grid[3][4]", "local[5]", "copies[3]", "heap[17]"].map(whole);
    assert_eq!(wholes, [1024, 128, 80, 800]);
    found.advises(
        "norm",
        "let each thread have a part of the result: reduction(+:norm)",
    );
    found.advises(
        "inner",
        "give each thread its own index of the inner loop: private(inner)",
    );
    found.advises("mine", "give each thread its own variable: private(mine)");
    found.advises(
        "guarded",
        "hold locks[2] at both accesses: only one of them does",
    );
    found.advises("counter", "make the update atomic");
    let before = line("printf(\"%d\\n\", result)");
    found.advises("result", &format!("put a taskwait before line {before}"));
    found.advises(
        "named",
        "give both critical constructs one name: critical(first) does not exclude critical(second)",
    );
}

#[test]
fn variables_of_c_by_gcc_have_their_names() {
    for level in ["-O0", "-O1"] {
        check_c("gcc", &[level]);
    }
}

#[test]
#[ignore = "needs clang 22 and its shared sanitizer runtime"]
fn variables_of_c_by_clang_have_their_names() {
    for level in ["-O0", "-O1"] {
        check_c("clang-22", &[level, "-shared-libsan"]);
    }
}

/// Each construct stands at its directive, and accesses are in the innermost one around them.
fn check_constructs(compiler: &str, options: &[&str]) {
    let found = Found::of(compiler, options, "race_constructs.c");
    let text = include_str!("../programs/race_constructs.c");
    let line = |of: &str| {
        let at = text.lines().position(|line| line.contains(of));
        1 + at.unwrap_or_else(|| panic!("no line with {of}")) as u64
    };
    let accesses: Vec<&Value> = found
        .0
        .iter()
        .flat_map(|race| race["accesses"].as_array().unwrap())
        .collect();
    for (statement, name, directive) in [
        ("last[i % 3] += i;", "for", "// static"),
        ("value[i] = value[i - 1] + 1;", "for", "// dynamic"),
        ("last[0] = part + 2;", "sections", "// sections"),
        ("value[i] += i;", "single", "// single"),
    ] {
        let of_it = accesses
            .iter()
            .filter(|access| access["stack"][0]["line"] == line(statement));
        let constructs: Vec<_> = of_it.map(|access| &access["constructs"]).collect();
        assert!(!constructs.is_empty(), "{compiler}: {statement}");
        for all in constructs {
            let expected = [
                (name.into(), line(directive).into()),
                ("parallel".into(), line("// parallel").into()),
            ];
            let found = all.as_array().unwrap().iter();
            let found: Vec<(Value, Value)> = found
                .map(|it| (it["name"].clone(), it["line"].clone()))
                .collect();
            assert_eq!(found, expected, "{compiler}: {statement}");
        }
    }
    // At -O1 gcc moves these accesses out of the loop.
    if options.contains(&"-O0") {
        found.advises(
            "greatest",
            "let each thread have a part of the result: reduction(max:greatest)",
        );
    }
}

#[test]
fn constructs_of_gcc_stand_at_their_directives() {
    for level in ["-O0", "-O1"] {
        check_constructs("gcc", &[level]);
    }
}

#[test]
#[ignore = "needs clang 22 and its shared sanitizer runtime"]
fn constructs_of_clang_stand_at_their_directives() {
    for level in ["-O0", "-O1"] {
        check_constructs("clang-22", &[level, "-shared-libsan"]);
    }
}

const OF_CPP: [&str; 8] = [
    "numbers[5]",
    "array[2]",
    "thing.data[2]",
    "pointer[3]",
    "space::counter",
    "space::Thing::total",
    "target",
    "captured",
];

#[test]
fn variables_of_cpp_by_gcc_have_their_names() {
    for level in ["-O0", "-O1"] {
        Found::of("g++", &[level], "race_names.cc").names_are(&OF_CPP);
    }
}

#[test]
#[ignore = "needs clang 22 and its shared sanitizer runtime"]
fn variables_of_cpp_by_clang_have_their_names() {
    for level in ["-O0", "-O1"] {
        let options = [level, "-shared-libsan", "--driver-mode=g++"];
        Found::of("clang-22", &options, "race_names.cc").names_are(&OF_CPP);
    }
}

const OF_THREADS: [&str; 6] = [
    "captured",
    "total",
    "this->asked_",
    "this->weight_",
    "link->next->value",
    "rows[1][2]",
];

fn check_threads(compiler: &str, options: &[&str]) {
    let found = Found::of(compiler, options, "race_names_threads.cc");
    found.names_are(&OF_THREADS);
    let text = include_str!("../programs/race_names_threads.cc");
    let created = text.lines().position(|line| line.contains("captured++"));
    let access = &found.race("captured")["accesses"][0];
    // The creation stands in a function that both threads have in common.
    let last = access["stack"].as_array().unwrap().last().unwrap();
    assert_eq!(last["function"], "main");
    assert_eq!(last["line"], created.unwrap() + 1);
    assert_eq!(access["constructs"][0]["name"], "thread");
    for race in &found.0 {
        for access in race["accesses"].as_array().unwrap() {
            for frame in access["stack"].as_array().unwrap() {
                let file = frame["file"].as_str().unwrap();
                assert!(file.ends_with("race_names_threads.cc"), "{frame}");
            }
        }
    }
}

#[test]
fn variables_that_threads_of_cpp_share_have_their_names() {
    for level in ["-O0", "-O1"] {
        check_threads("g++", &[level]);
    }
}

#[test]
#[ignore = "needs clang 22 and its shared sanitizer runtime"]
fn variables_that_threads_of_cpp_by_clang_share_have_their_names() {
    for level in ["-O0", "-O1"] {
        let options = [level, "-shared-libsan", "--driver-mode=g++"];
        check_threads("clang-22", &options);
    }
}

#[test]
fn accesses_of_the_cpp_library_are_those_of_the_line_that_calls_it() {
    let found = Found::of("g++", &["-O1"], "race_library.cc");
    let text = include_str!("../programs/race_library.cc");
    let line = text.lines().position(|line| line.contains("counts[i"));
    assert!(
        found
            .0
            .iter()
            .any(|race| race["variable"]["name"] == "counts")
    );
    for race in &found.0 {
        for access in race["accesses"].as_array().unwrap() {
            assert_eq!(access["stack"][0]["line"], line.unwrap() + 1, "{access}");
        }
    }
}

#[test]
fn variables_of_fortran_have_their_names() {
    for level in ["-O0", "-O1"] {
        let found = Found::of("gfortran", &[level], "race_names.f90");
        found.names_are(&[
            "a(7)",
            "b(4,3)",
            "p%w(2)",
            "total",
            "field(2,2)",
            "common_count",
            "dummy(1)",
            "last",
        ]);
        found.advises(
            "last",
            "let each thread have a part of the result: reduction(+:last)",
        );
    }
}
