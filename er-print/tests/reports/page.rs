//! The page for browsers holds what the reports say, and nothing that a browser would obey.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::read::GzDecoder;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tempfile::tempdir;

use crate::handmade;
use crate::program::{Ended, er_print, folder};
use crate::recordings;

/// The text between the first of two marks and the next of the other.
fn between<'a>(text: &'a str, before: &str, after: &str) -> &'a str {
    let (_, rest) = text.split_once(before).unwrap();
    rest.split_once(after).unwrap().0
}

/// What the page's script reads.
fn data(page: &str) -> Value {
    let packed = STANDARD.decode(between(page, "id=\"data\">", "</script>"));
    let mut text = String::new();
    let mut unpacked = GzDecoder::new(packed.as_deref().unwrap());
    unpacked.read_to_string(&mut text).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// The page of experiments, by a command line before their names.
fn page(folder: &Path, words: &[&str], experiments: &[&str]) -> String {
    let mut words = words.to_vec();
    words.extend(["-report", "out.html"]);
    words.extend(experiments);
    let Ended {
        code,
        stdout,
        stderr,
    } = er_print(folder, &words);
    assert_eq!((code, stdout.as_str()), (Some(0), ""), "{stderr}");
    fs::read_to_string(folder.join("out.html")).unwrap()
}

/// The first table of a view.
fn table<'a>(data: &'a Value, mode: &str, view: &str) -> &'a Value {
    let blocks = &data["variants"][mode]["documents"][view]["blocks"];
    let mut tables = blocks.as_array().unwrap().iter();
    tables.find_map(|block| block.get("table")).unwrap()
}

/// A cell's number, of which a part may be inferred.
fn number(cell: &Value) -> f64 {
    let cell = cell.get(0).unwrap_or(cell);
    cell.as_f64().unwrap_or(0.0)
}

#[test]
fn its_numbers_are_those_of_json() {
    let folder = folder();
    let data = data(&page(folder.path(), &[], &["omp.er"]));
    for mode in ["user", "machine"] {
        let table = table(&data, mode, "functions");
        let ids = table["columns"].as_array().unwrap().iter();
        let ids: Vec<&str> = ids.map(|column| column["id"].as_str().unwrap()).collect();
        assert!(
            ids.contains(&"i.ompwait") && ids.contains(&"e.ompctwt"),
            "{ids:?}"
        );
        let metrics = format!("{}:name", ids.join(":"));
        let words = [
            "-viewmode",
            mode,
            "-printmode",
            "json",
            "-metrics",
            &metrics,
            "-functions",
            "omp.er",
        ];
        let said = er_print(folder.path(), &words).stdout;
        let report: Value = serde_json::from_str(&said).unwrap();
        let rows = report["rows"].as_array().unwrap();
        // Sorted by another metric.
        assert_eq!(rows.len(), table["names"].as_array().unwrap().len());
        for (row, name) in table["names"].as_array().unwrap().iter().enumerate() {
            let other = rows.iter().find(|row| row["name"] == *name).unwrap();
            for (at, id) in ids.iter().enumerate() {
                let found = number(&table["values"][0][at][row]);
                let expected = other["values"][id].as_f64().unwrap();
                assert!(
                    (found - expected).abs() < 1e-9,
                    "{mode} {name} {id}: {found}"
                );
            }
        }
    }
}

/// The bars of the overview are those of JSON, and add up to the run.
#[test]
fn its_bars_are_those_of_json() {
    let folder = folder();
    let data = data(&page(folder.path(), &[], &["omp.er"]));
    let blocks = &data["variants"]["user"]["documents"]["overview"]["blocks"];
    let mut blocks = blocks.as_array().unwrap().iter();
    let bars = blocks.find_map(|block| block.get("bars")).unwrap();
    let words = ["-printmode", "json", "-overview", "omp.er"];
    let said = er_print(folder.path(), &words).stdout;
    let report: Value = serde_json::from_str(&said).unwrap();
    let told = report["bars"].as_array().unwrap();
    let drawn = bars["rows"].as_array().unwrap();
    assert_eq!(drawn.len(), told.len());
    let mut sums = Vec::new();
    for (drawn, told) in drawn.iter().zip(told) {
        let told = told["seconds"].as_object().unwrap();
        let parts = drawn["parts"].as_array().unwrap();
        assert_eq!(parts.len(), told.len());
        let mut sum = 0.0;
        for part in parts {
            let what = &bars["uses"][part[0].as_u64().unwrap() as usize];
            let seconds = part[1].as_f64().unwrap();
            let expected = told[what["id"].as_str().unwrap()].as_f64().unwrap();
            assert!((seconds - expected).abs() < 1e-9, "{drawn} {what}");
            sum += seconds;
        }
        sums.push(sum);
    }
    let (run, parts) = sums.split_first().unwrap();
    assert!((run - parts.iter().sum::<f64>()).abs() < 1e-6, "{sums:?}");
    let wall = report["wall_time"].as_object().unwrap().values();
    let wall: f64 = wall.map(|seconds| seconds.as_f64().unwrap()).sum();
    assert!((run - wall).abs() < 1e-6, "{run} {wall}");
}

/// The nodes of a call tree of JSON, by the names from the root to each.
fn nodes(rows: &Value, above: &[String], found: &mut BTreeMap<Vec<String>, Value>) {
    for row in rows.as_array().unwrap() {
        let mut stack = above.to_vec();
        stack.push(row["name"].as_str().unwrap().to_owned());
        nodes(&row["children"], &stack, found);
        assert!(found.insert(stack, row["values"].clone()).is_none());
    }
}

/// The flame graph draws the rows of the call tree: of one experiment, of two that share no function with
/// time, and of means.
#[test]
fn a_flame_graphs_numbers_are_those_of_json() {
    let alone = folder();
    let means = recordings::folder();
    let of_means = recordings::BEFORE_AFTER;
    for (folder, experiments) in [
        (alone.path(), &["omp.er"][..]),
        (alone.path(), &["omp.er", "cnt.er"]),
        (means.path(), &of_means[..]),
    ] {
        let data = data(&page(folder, &[], experiments));
        for mode in ["user", "machine"] {
            let table = table(&data, mode, "calltree");
            let ids = table["columns"].as_array().unwrap().iter();
            let ids: Vec<&str> = ids.map(|column| column["id"].as_str().unwrap()).collect();
            let metrics: Vec<String> = ids.iter().map(|id| id.replacen("a.", "e.", 1)).collect();
            let metrics = metrics.join(":");
            let mut words = vec![
                "-viewmode",
                mode,
                "-printmode",
                "json",
                "-metrics",
                &metrics,
            ];
            if experiments.len() > 1 {
                words.extend(["-compare", "on"]);
            }
            words.push("-calltree");
            words.extend(experiments);
            let said = er_print(folder, &words).stdout;
            let report: Value = serde_json::from_str(&said).unwrap();
            let mut expected = BTreeMap::new();
            nodes(&report["rows"], &[], &mut expected);
            let names = table["names"].as_array().unwrap();
            assert_eq!(names.len(), expected.len(), "{mode} {experiments:?}");
            let mut stack: Vec<String> = Vec::new();
            for (row, name) in names.iter().enumerate() {
                stack.truncate(table["depths"][row].as_u64().unwrap() as usize);
                stack.push(name.as_str().unwrap().to_owned());
                let values = &expected[&stack];
                for (side, columns) in table["values"].as_array().unwrap().iter().enumerate() {
                    let values = values.get(side).unwrap_or(values);
                    for (at, id) in ids.iter().enumerate() {
                        let found = &columns[at][row];
                        let found = found.get("mean").map_or_else(|| number(found), number);
                        let expected = values[id].as_f64().unwrap_or(0.0);
                        assert!(
                            (found - expected).abs() < 1e-9,
                            "{mode} {stack:?} {id} ({side}): {found} {expected}"
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn it_has_every_view_and_the_timeline() {
    let folder = folder();
    let data = data(&page(folder.path(), &[], &["omp.er"]));
    for mode in ["user", "machine"] {
        let documents = data["variants"][mode]["documents"].as_object().unwrap();
        for view in data["views"].as_array().unwrap() {
            let view = view[1].as_str().unwrap();
            let is_drawn = ["timeline", "flame", "source"].contains(&view);
            let blocks = documents
                .get(view)
                .map(|it| it["blocks"].as_array().unwrap());
            assert_eq!(blocks.is_none_or(|all| all.is_empty()), is_drawn, "{view}");
        }
        let regions = documents["OMP_preg"]["blocks"].as_array().unwrap();
        assert_eq!(regions.len(), 6, "the parts of regions, then tasks");
    }
    let timeline = &data["timeline"];
    let rows = timeline["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 2);
    for row in rows {
        let columns: u64 = runs(row).iter().map(|(_, count)| count).sum();
        assert_eq!(Some(columns), timeline["columns"].as_u64());
        let precision = |text: &str| text.split_once('/').map(|it| it.1.to_owned());
        let mut all = runs(row).into_iter().map(|(text, _)| precision(&text));
        assert!(all.all(|it| matches!(it.as_deref(), None | Some("s" | "p"))));
        for mode in ["user", "machine"] {
            let leaves = row["stacks"][mode].as_array().unwrap();
            let leaves: u64 = leaves
                .iter()
                .skip(1)
                .step_by(2)
                .filter_map(Value::as_u64)
                .sum();
            assert_eq!(leaves, columns);
        }
    }
    assert_eq!(timeline["shortest"], 0, "all intervals have room");
}

/// The columns of a thread of the timeline, those alike one after the other with how many they are.
fn runs(row: &Value) -> Vec<(String, u64)> {
    let runs = row["slots"].as_array().unwrap().chunks(2);
    runs.map(|run| {
        (
            run[0].as_str().unwrap().to_owned(),
            run[1].as_u64().unwrap(),
        )
    })
    .collect()
}

#[test]
fn compared_experiments_have_values_of_each() {
    let folder = folder();
    let data = data(&page(folder.path(), &[], &["omp.er", "cnt.er"]));
    assert_eq!(data["compares"], json!(["on", "delta", "ratio"]));
    let table = table(&data, "user", "functions");
    assert_eq!(table["values"].as_array().unwrap().len(), 2);
    let overview = &data["variants"]["user"]["documents"]["overview"]["blocks"];
    let texts = overview
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|it| it.get("texts"));
    for texts in texts {
        assert!(
            texts["on"].is_string() && texts["ratio"].is_string(),
            "{texts}"
        );
    }
}

#[test]
fn several_recordings_of_a_side_are_their_mean() {
    let folder = recordings::folder();
    let page = page(folder.path(), &[], &recordings::BEFORE_AFTER);
    let title = "<title>a.er, b.er, c.er -- d.er, e.er</title>";
    assert!(page.contains(title));
    let data = data(&page);
    let table = table(&data, "user", "functions");
    let sides = table["values"].as_array().unwrap();
    assert_eq!(sides.len(), 2);
    let names = table["names"].as_array().unwrap();
    let slower = names.iter().position(|name| name == "slower").unwrap();
    let cell = &sides[1][0][slower];
    assert_eq!(
        (&cell["mean"], &cell["differs"]),
        (&json!(2.01), &json!(true))
    );
    assert!(cell["chance"].is_number(), "{cell}");
    assert!(sides[0][0][slower]["chance"].is_null());
}

/// A browser runs the page's own script and style, and nothing that a name says.
#[test]
fn names_are_no_markup() {
    let folder = tempdir().unwrap();
    let markup = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\"'&";
    let experiment = format!("{}.er", markup.replace('/', ""));
    let source = folder.path().join("app.c");
    handmade::named(&folder.path().join(&experiment), &source, markup);
    let page = page(folder.path(), &[], &[&experiment]);
    assert_eq!(
        page.matches("<script").count(),
        2,
        "the data and the script"
    );
    assert_eq!(page.matches("</script").count(), 2);
    assert!(!page.contains("<img"));
    let policy = between(&page, "Content-Security-Policy\" content=\"", "\"");
    let digest = |text: &str| STANDARD.encode(Sha256::digest(text));
    let script = digest(between(&page, "</script>\n<script>", "</script>"));
    let style = digest(between(&page, "<style>", "</style>"));
    assert!(policy.starts_with("default-src 'none';"), "{policy}");
    assert!(policy.contains(&format!("script-src 'sha256-{script}';")));
    assert!(policy.contains(&format!("style-src 'sha256-{style}';")));
    // Nothing is lost either.
    let names = data(&page)["variants"]["user"]["documents"]["functions"].to_string();
    assert!(names.contains("onerror=alert(2)"), "{names}");
}

#[test]
fn sources_and_folders_can_be_left_out() {
    let folder = folder();
    handmade::source(folder.path());
    let whole = data(&page(folder.path(), &["-addpath", "."], &["omp.er"]));
    let sources = whole["variants"]["user"]["sources"].as_array().unwrap();
    assert!(!sources.is_empty());
    assert!(whole.to_string().contains("/home/"), "there are folders");
    let words = ["-addpath", ".", "-no_source", "-redact"];
    let short = data(&page(folder.path(), &words, &["omp.er"]));
    assert_eq!(short["variants"]["user"]["sources"], json!([]));
    assert!(!short.to_string().contains("/home/"), "{short}");
}

#[test]
fn a_page_that_cannot_be_written_leaves_nothing() {
    let folder = folder();
    let ended = er_print(folder.path(), &["-report", "none/out.html", "omp.er"]);
    assert_ne!(ended.code, Some(0));
    assert!(
        ended.stderr.contains("cannot write none/out.html"),
        "{}",
        ended.stderr
    );
    let ended = er_print(folder.path(), &["-report", "-", "omp.er"]);
    assert!(ended.stdout.starts_with("<!doctype html>"));
}

/// What `collect -r` found comes first, with the lines of source unless they are to be left out.
#[test]
fn a_page_of_findings_has_them_first() {
    let folder = folder();
    let whole = data(&page(folder.path(), &["-setpath", "checked"], &["race.er"]));
    assert_eq!(whole["views"][0], json!(["Races", "races"]));
    let rows = &table(&whole, "user", "races")["names"];
    assert_eq!(*rows, json!(["sum", "a[17]", "ready"]));
    let text = |data: &Value| data["variants"]["user"]["documents"]["races"].to_string();
    assert!(text(&whole).contains("sum += a[i];"), "{}", text(&whole));
    let bare = data(&page(
        folder.path(),
        &["-setpath", "checked", "-no_source"],
        &["race.er"],
    ));
    assert!(text(&bare).contains("Race 3: order by chance, ready, 3 times"));
    assert!(!text(&bare).contains("sum += a[i];"), "{}", text(&bare));
    let without = data(&page(folder.path(), &[], &["omp.er"]));
    assert_ne!(without["views"][0], json!(["Races", "races"]));
    let two = data(&page(
        folder.path(),
        &["-compare", "on"],
        &["race.er", "later.er"],
    ));
    assert!(text(&two).contains("gone"), "{}", text(&two));
}
