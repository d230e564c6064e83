//! Who holds a mutex is blamed for those that wait for it: `holders.c` by each runtime.

use end_to_end::{Cell, compiler, metrics, reports, rows, sum, value};
use fixtures::{Family, WaitPolicy, program};
use serde_json::Value;

/// A function's inclusive time by a metric; 0 without a row.
fn of(functions: &Value, name: &str, metric: &str) -> f64 {
    let row = rows(functions).iter().find(|row| row["name"] == name);
    row.map_or(0.0, |row| value(row, "i", metric))
}

fn check(family: Family, policy: WaitPolicy) {
    let compiler = compiler(family);
    let cell = Cell {
        program: program("holders").expect("it is in the catalogue"),
        compiler: compiler.clone(),
        library: None,
        threads: 4,
        policy,
        perf: true,
    };
    let recorded = cell.record().unwrap_or_else(|error| panic!("{error}"));
    let commands = [
        "-functions",
        "-Threads",
        "-filters",
        r#""crowd" IN STACK"#,
        "-functions",
    ];
    let all = reports(&recorded.experiment, "user", &commands);
    let [functions, threads, crowd] = &all[..] else {
        panic!("three reports");
    };
    let label = cell.label();
    let total = &rows(functions)[0];
    assert!(metrics(functions).iter().any(|metric| metric == "blame"));

    // All waiting is charged, once.
    let waits = ["ompidle", "ompibar", "ompebar", "omplkwt", "ompctwt"];
    let waits: f64 = waits.iter().map(|metric| value(total, "e", metric)).sum();
    let blame = value(total, "e", "blame");
    assert!(
        (blame - waits).abs() < 1e-3 * waits,
        "{label}: {blame} s of blame for {waits} s of waiting"
    );
    let by_thread = sum(rows(threads), "e", "blame");
    assert!(
        (by_thread - blame).abs() < 1e-6 * blame,
        "{label}: {by_thread}"
    );

    // The long critical section makes its own wait, and nobody waits for the other one: what that
    // is charged with is its share of the waiting in barriers.
    let contended = value(&rows(crowd)[0], "e", "ompctwt");
    let barriers = value(&rows(crowd)[0], "e", "ompibar");
    let hog = of(functions, "hog", "blame");
    assert!(
        hog > 0.95 * contended && hog < contended * 1.02 + barriers,
        "{label}: hog is blamed for {hog} s of {contended} s, and {barriers} s in barriers"
    );
    let lonely = of(functions, "lonely", "blame");
    assert!(
        lonely < 0.02 * contended + barriers,
        "{label}: lonely is blamed for {lonely} s; {barriers} s in barriers"
    );

    // Two threads wait for locks while deep() runs, one of them for the other, and both on its
    // account. They may come late: with four threads on two CPUs they must first get one.
    let deep = of(functions, "deep", "blame");
    let twice = 2.0 * of(functions, "deep", "total");
    let (locks, barriers) = (value(total, "e", "omplkwt"), value(total, "e", "ompebar"));
    assert!(
        deep > 0.9 * locks && deep < 1.05 * twice + barriers,
        "{label}: deep is blamed for {deep} s, twice its time is {twice} s; {locks} s of waiting for \
         locks, {barriers} s in barriers"
    );
    recorded.discard();
}

#[test]
fn who_holds_a_lock_is_blamed_on_llvm_s_runtime() {
    check(Family::Clang, WaitPolicy::Passive);
}

#[test]
fn who_holds_a_lock_is_blamed_on_gnu_s_runtime() {
    check(Family::Gcc, WaitPolicy::Passive);
}
