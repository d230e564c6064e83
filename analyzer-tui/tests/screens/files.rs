//! What `e` writes.

use std::collections::BTreeMap;

use analyzer::state::app::Effect;
use serde_json::{Value, json};

use super::{app, is_golden, press};

/// Chooses the form at a place of the choice, and takes the file.
fn written(view: &str, form: usize) -> (String, &'static str, String) {
    let mut app = app(80, 24);
    press(&mut app, view);
    press(&mut app, "e");
    for _ in 0..form {
        press(&mut app, "↓");
    }
    match press(&mut app, "⏎") {
        Effect::Write {
            stem,
            ending,
            contents,
        } => (stem, ending, contents),
        other => panic!("a file was to be written, not {other:?}"),
    }
}

#[test]
fn functions_as_text_and_json() {
    let (stem, ending, contents) = written("2", 0);
    assert_eq!((stem.as_str(), ending), ("omp.er-functions", "txt"));
    is_golden("functions_file.txt", &contents);
    let (_, ending, contents) = written("2", 1);
    assert_eq!(ending, "json");
    let report: Value = serde_json::from_str(&contents).unwrap();
    assert_eq!(report["view"], "functions");
    assert_eq!(report["rows"][0]["name"], "<Total>");
    let work = report["rows"][0]["values"]["e.ompwork"].as_f64().unwrap();
    assert!((work - 2.6).abs() < 1e-9, "{work}");
    assert_eq!(report["metrics"][0]["id"], "e.ompwork");
}

#[test]
fn a_tree_nests_in_json() {
    let (_, _, contents) = written("4", 1);
    let report: Value = serde_json::from_str(&contents).unwrap();
    let root = &report["rows"][0];
    assert_eq!(root["name"], "<Total>");
    assert_eq!(root["children"][0]["name"], "_start");
    assert_eq!(root["children"][0]["children"][0]["name"], "main");
}

#[test]
fn every_view_is_written_in_every_form() {
    for view in ["1", "2", "3", "4", "5", "6", "7", "w", "8", "9", "0"] {
        let pictures = matches!(view, "5" | "9");
        let forms = if pictures { 4 } else { 3 };
        for form in 0..forms {
            let (_, ending, contents) = written(view, form);
            match ending {
                "json" => {
                    let report: Value = serde_json::from_str(&contents).unwrap();
                    assert_eq!(report["viewmode"], "user", "view {view}");
                    assert_eq!(report["experiments"][0], "omp.er");
                }
                "svg" => assert!(contents.starts_with("<svg ") && contents.ends_with("</svg>\n")),
                _ => assert!(!contents.trim().is_empty(), "view {view}"),
            }
        }
    }
}

#[test]
fn pictures_name_what_they_show() {
    let (stem, _, flame) = written("5", 0);
    assert_eq!(stem, "omp.er-flame");
    assert!(
        flame.contains("<title>&lt;OMP implicit barrier&gt; (0.900 s)</title>"),
        "{flame}"
    );
    let (_, _, timeline) = written("9", 0);
    assert!(timeline.contains("100 initial"));
    assert!(timeline.contains("<title>critical</title>"));
    assert!(
        timeline.contains(">0.5 s</text>"),
        "round times: {timeline}"
    );
}

/// The fields that the command language promises.
#[test]
fn rows_of_threads_and_constructs_say_what_they_are() {
    let (_, _, threads) = written("8", 1);
    let report: Value = serde_json::from_str(&threads).unwrap();
    let row = &report["rows"][1];
    assert_eq!((&row["tid"], &row["kind"]), (&101.into(), &"worker".into()));
    assert!(row["pid"].is_number() && row["start"].is_number());
    assert_eq!(
        report["metrics"][0]["id"], "e.ompwork",
        "a word is no metric"
    );
    let (_, _, regions) = written("7", 1);
    let report: Value = serde_json::from_str(&regions).unwrap();
    let row = &report["rows"][0];
    assert_eq!((&row["line"], &row["nesting"]), (&9.into(), &1.into()));
    assert_eq!(row["instances"], 1);
    assert_eq!(row["region"], serde_json::json!([1]));
    let (stem, _, loops) = written("w", 1);
    assert_eq!(stem, "omp.er-OMP_loop");
    let report: Value = serde_json::from_str(&loops).unwrap();
    let row = &report["rows"][0];
    assert_eq!(
        (&row["schedule"], &row["chunk"]),
        (&"dynamic".into(), &4.into())
    );
}

/// Seconds of each state in a thread's columns, by its letter, with `-` before those off CPUs.
fn pictured(row: &Value, column: f64) -> BTreeMap<String, f64> {
    let mut sums = BTreeMap::new();
    for run in row["slots"].as_array().unwrap().chunks(2) {
        let (text, count) = (run[0].as_str().unwrap(), run[1].as_f64().unwrap());
        let states = text.split('/').next().unwrap();
        let (mut state, mut digits) = (String::new(), String::new());
        for letter in states.chars().chain([' ']) {
            if letter.is_ascii_digit() {
                digits.push(letter);
                continue;
            }
            if let Ok(thousandths) = digits.parse::<f64>() {
                let time = thousandths / 1e3 * column * count;
                *sums.entry(std::mem::take(&mut state)).or_insert(0.0) += time;
                digits.clear();
            }
            state.push(letter);
        }
    }
    sums
}

#[test]
fn the_timelines_json_names_who_held_which_mutex() {
    let timeline: Value = serde_json::from_str(&written("9", 2).2).unwrap();
    let (start, length) = (880_000_000, 320_000_000);
    let hold = json!([1, "OMP critical section update", "foo.c:11", start, length]);
    assert_eq!(timeline["holds"], json!([hold]));
}

/// What is drawn of a thread is what the table of threads has: OMP Work is what is solid and no wait.
#[test]
fn the_timeline_adds_up_to_the_table_of_threads() {
    let report = |view, form| -> Value { serde_json::from_str(&written(view, form).2).unwrap() };
    // The timeline's first form is a picture.
    let (timeline, threads) = (report("9", 2), report("8", 1));
    let end = timeline["range"][1].as_f64().unwrap() / 1e9;
    let column = end / timeline["columns"].as_f64().unwrap();
    let rows = timeline["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 2);
    for row in rows {
        let sums = pictured(row, column);
        let (tid, _) = row["name"].as_str().unwrap().split_once(' ').unwrap();
        let mut all = threads["rows"].as_array().unwrap().iter();
        let tid: u64 = tid.parse().unwrap();
        let thread = all.find(|it| it["tid"] == tid).unwrap();
        let is_work = |state: &String| ["=", "#", "f", "v", "r"].contains(&state.as_str());
        let of = |is_wanted: bool| -> f64 {
            let kept = sums.iter().filter(|(state, _)| is_work(state) == is_wanted);
            kept.map(|(_, time)| time).sum()
        };
        for (metric, found) in [("e.ompwork", of(true)), ("e.ompwait", of(false))] {
            let expected = thread["values"][metric].as_f64().unwrap();
            assert!(
                (found - expected).abs() < 0.005,
                "{tid} {metric}: {found} {expected}"
            );
        }
    }
}
