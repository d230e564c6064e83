//! Several recordings of each side of a comparison.

use expect_test::expect;
use serde_json::Value;
use tempfile::TempDir;

use crate::handmade::repeated;
use crate::program::{Ended, er_print};

/// Five recordings: a, b and c before a change, d and e after it. `slower` takes twice the time, `noisy`
/// takes any time in any recording, `rare` has few samples, `gone` is no longer there.
pub(crate) fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, slower, noisy, rare, gone) in [
        ("a", 1000, 1000, 10, 500),
        ("b", 1010, 3000, 10, 510),
        ("c", 990, 2000, 20, 490),
        ("d", 2000, 4000, 30, 0),
        ("e", 2020, 2000, 20, 0),
    ] {
        let mut functions = vec![
            ("slower", slower),
            ("noisy", noisy),
            ("rare", rare),
            ("gone", gone),
        ];
        functions.retain(|it| it.1 > 0);
        repeated(&folder.path().join(format!("{name}.er")), &functions);
    }
    folder
}

/// Runs commands on three recordings before and two after, or the other way round.
fn on(words: &[&str], sides: &[&str]) -> Ended {
    let folder = folder();
    er_print(folder.path(), &[words, sides].concat())
}

pub(crate) const BEFORE_AFTER: [&str; 6] = ["a.er", "b.er", "c.er", "--", "d.er", "e.er"];
const AFTER_BEFORE: [&str; 6] = ["d.er", "e.er", "--", "a.er", "b.er", "c.er"];

#[test]
fn differences_beyond_the_recordings_own_spread_are_marked() {
    let told = on(&["-metrics", "e.total:name", "-compare"], &BEFORE_AFTER);
    assert_eq!((told.code, told.stderr.as_str()), (Some(0), ""));
    expect![[r#"
        Current metrics: e.total:name
        Current Sort Metric: Exclusive Total Thread Time ( e.total )
        Functions sorted by change of metric: Exclusive Total Thread Time
          (1) a.er
          (1) b.er
          (1) c.er
          (2) d.er
          (2) e.er

        No change beyond chance: (2) took 2.200 s, (1) 2.200 s (+0.0 %); up to 0.022 s may be chance

        Excl.         Excl.         Excl.
        Total Thread  Total Thread  Total Thread
        (1) sec.      (2) delta     (2) ±          Name
               3.513       +1.522          6.173    <Total>
               1.000       +1.010*         0.230    slower
               2.000       +1.000          6.157    noisy
               0.500       -0.500*         0.114    gone
               0.013       +0.012          0.033    rare

        Note: values are means of the recordings of a side; ± is how far the difference from the first side may be chance (of 100 values that did not change, 1 differs by more), * marks differences beyond it
        Note: 1 row is left out, each too short for a digit (limit 0 shows all)

    "#]].assert_eq(&told.stdout);
    let asked = on(
        &[
            "-metrics",
            "e.total:name",
            "-compare",
            "delta",
            "-functions",
        ],
        &BEFORE_AFTER,
    );
    // Without a mode, the verdict stands before the functions.
    let (head, rest) = told.stdout.split_once("\n\n").unwrap();
    let (verdict, table) = rest.split_once("\n\n").unwrap();
    assert!(
        verdict.starts_with("No change beyond chance: (2) took "),
        "{verdict}"
    );
    assert_eq!(asked.stdout, format!("{head}\n\n{table}"));
    let ratio = on(
        &[
            "-metrics",
            "e.total:name",
            "-printmode",
            ",",
            "-compare",
            "ratio",
            "-functions",
        ],
        &BEFORE_AFTER,
    );
    let slower = ratio.stdout.lines().find(|line| line.ends_with("slower"));
    assert_eq!(slower, Some("1.000,2.010,0.230,slower"));
}

#[test]
fn json_tells_what_differs() {
    let told = on(
        &[
            "-printmode",
            "json",
            "-metrics",
            "e.total",
            "-compare",
            "on",
            "-functions",
        ],
        &BEFORE_AFTER,
    );
    let json: Value = serde_json::from_str(&told.stdout).unwrap();
    assert_eq!(json["sides"], serde_json::json!([1, 1, 1, 2, 2]));
    assert_eq!(json["experiments"][4], "e.er");
    let row = |name: &str| {
        let mut rows = json["rows"].as_array().unwrap().iter();
        rows.find(|row| row["name"] == name).unwrap()
    };
    let differs = |name: &str| row(name)["differs"][1].as_array().unwrap().len();
    assert!(differs("slower") > 0 && differs("gone") > 0);
    assert_eq!((differs("noisy"), differs("rare")), (0, 0));
    assert_eq!(
        row("gone")["runs"][1]["e.total"],
        serde_json::json!([0.0, 0.0])
    );
    assert_eq!(row("slower")["values"][1]["e.total"], 2.01);
}

/// Every comparison has the means of the sides.
#[test]
fn every_report_compares_sides() {
    let folder = folder();
    for report in [
        "functions",
        "lines",
        "pcs",
        "fsummary",
        "calltree",
        "callers-callees",
        "overview",
        "Threads",
        "thread_list",
        "objects",
        "statistics",
        "cpu_list",
        "OMP_preg",
        "header",
        "Processes",
    ] {
        for mode in ["on", "delta", "ratio"] {
            let command = format!("-{report}");
            let words = [&["-compare", mode, &command][..], &BEFORE_AFTER].concat();
            let ended = er_print(folder.path(), &words);
            assert_eq!(
                (ended.code, ended.stderr.as_str()),
                (Some(0), ""),
                "{words:?}"
            );
            assert!(!ended.stdout.contains("(3)"), "{words:?}: {}", ended.stdout);
        }
    }
}

#[test]
fn a_check_fails_beyond_the_spread_alone() {
    for (condition, passes) in [
        ("e.total(slower) <= 1.05 * base", false),
        ("e.total(slower) <= 2.1 * base", true),
        ("e.total(noisy) <= 1.05 * base", true),
        ("e.total(rare) <= 1.05 * base", true),
        ("e.total(slower) < 1 s", false),
        ("e.total(slower) < 2.005 s", true),
        ("e.total(noisy) < 10%", true),
        ("e.total(slower) < 10%", true),
        ("e.total(slower) > 90%", true),
    ] {
        let ended = on(&["-check", condition], &AFTER_BEFORE);
        let code = if passes { 0 } else { 1 };
        assert_eq!(
            ended.code,
            Some(code),
            "{condition}: {}{}",
            ended.stdout,
            ended.stderr
        );
        assert!(ended.stdout.contains(" by chance"), "{}", ended.stdout);
    }
}

#[test]
fn a_check_of_each_line_names_those_that_became_slower() {
    let ended = on(
        &["-check", "e.total(each line) <= 1.05 * base"],
        &AFTER_BEFORE,
    );
    assert_eq!(ended.code, Some(1));
    expect![[r#"
        FAIL e.total(each line) <= 1.05 * base: 1 of 3 lines of 1 % or more
          2.010 s, limit 1.050 s, ± 0.243 s by chance: slower, line 1 in "foo.c"
    "#]]
    .assert_eq(&ended.stdout);
    let ended = on(
        &[
            "-printmode",
            "json",
            "-check",
            "e.total(each function) <= 1.05*base",
        ],
        &AFTER_BEFORE,
    );
    let json: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(
        (&json["passed"], &json["tested"]),
        (&Value::from(false), &Value::from(3))
    );
    assert_eq!(json["failed"].as_array().unwrap().len(), 1);
    assert_eq!(json["failed"][0]["name"], "slower");
    let ended = on(
        &["-check", "e.total(each function) <= 3*base"],
        &AFTER_BEFORE,
    );
    assert_eq!(ended.code, Some(0), "{}", ended.stdout);
    // A single recording is judged by how those of the base vary; two single ones by nothing.
    let single = ["e.er", "--", "a.er", "b.er", "c.er"];
    let ended = on(&["-check", "e.total(each function) <= 1.05*base"], &single);
    assert!(ended.stdout.starts_with("FAIL"), "{}", ended.stdout);
    let ended = on(
        &["-check", "e.total(each function) <= 1.05*base"],
        &["e.er", "a.er"],
    );
    assert_eq!(ended.code, Some(2));
    assert!(
        ended.stderr.contains("NEW1 NEW2 -- BASE1 BASE2"),
        "{}",
        ended.stderr
    );
}

#[test]
fn budgets_are_conditions_of_a_file() {
    let folder = folder();
    let with = |text: &str| {
        std::fs::write(folder.path().join("budgets"), text).unwrap();
        let words = [&["-budgets", "budgets"][..], &AFTER_BEFORE].concat();
        er_print(folder.path(), &words)
    };
    let ended = with("# the solver\n\n  e.total(slower) <= 2.1 * base  # twice\ntotal < 100 s\n");
    assert_eq!((ended.code, ended.stdout.lines().count()), (Some(0), 2));
    let ended = with("e.total(slower) <= base\ntotal < 100 s\n");
    assert_eq!((ended.code, ended.stdout.lines().count()), (Some(1), 2));
    let ended = with("total < 100 s\ntotal < hundred\n");
    assert_eq!(ended.code, Some(2));
    assert!(
        ended
            .stderr
            .contains("budgets, line 2: check \"total < hundred\""),
        "{}",
        ended.stderr
    );
    let ended = with("# nothing\n");
    assert_eq!(ended.code, Some(2));
    assert!(
        ended.stderr.contains("hold no condition"),
        "{}",
        ended.stderr
    );
}

#[test]
fn a_mark_stands_between_experiments() {
    for sides in [
        &["--", "a.er", "b.er"][..],
        &["a.er", "b.er", "--"],
        &["a.er", "--", "--", "b.er"],
    ] {
        let ended = on(&["-functions"], sides);
        assert_eq!(ended.code, Some(2), "{sides:?}");
        assert!(ended.stderr.contains("A1 A2 -- B1 B2"), "{}", ended.stderr);
    }
    let ended = on(&["-compare", "scaling", "-functions"], &BEFORE_AFTER);
    assert_eq!(ended.code, Some(2));
    assert!(ended.stderr.contains("leave out --"), "{}", ended.stderr);
}
