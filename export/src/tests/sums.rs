//! Formats of sums: folded, speedscope, Hatchet.

use expect_test::expect;
use omp_model::metrics::{Column, Metric};
use omp_model::states::RefinedState;
use report::Settings;
use serde_json::Value as Json;

use super::made::{Made, assert_close, settings};

#[test]
fn folded_stacks_are_lines_with_microseconds() {
    let mut made = Made::new();
    expect![[r#"
        <OMP idle> 500000
        _start;main 600000
        _start;main;foo;foo -- OMP parallel region from line 9 [foo.omp_outlined] 200000
        _start;main;foo;foo -- OMP parallel region from line 9 [foo.omp_outlined];<OMP critical section wait> 200000
        _start;main;foo;foo -- OMP parallel region from line 9 [foo.omp_outlined];<OMP implicit barrier> 900000
        _start;main;foo;foo -- OMP parallel region from line 9 [foo.omp_outlined];bar;tiny 1600000
    "#]]
    .assert_eq(&made.text("folded", &Settings::default()));
    let columns = Column::parse_list("e.ompwait:name", made.analysis.available()).unwrap();
    let wait = Settings {
        columns: Some(columns),
        ..Settings::default()
    };
    expect![[r#"
        <OMP idle> 500000
        _start;main 100000
        _start;main;foo;foo -- OMP parallel region from line 9 [foo.omp_outlined];<OMP critical section wait> 200000
        _start;main;foo;foo -- OMP parallel region from line 9 [foo.omp_outlined];<OMP implicit barrier> 900000
    "#]]
    .assert_eq(&made.text("folded", &wait));
}

#[test]
fn the_sum_of_folded_stacks_is_that_of_the_reports() {
    let mut made = Made::new();
    for settings in settings() {
        let text = made.text("folded", &settings);
        let counts = text.lines().map(|line| line.rsplit_once(' ').unwrap().1);
        let sum: u64 = counts.map(|count| count.parse::<u64>().unwrap()).sum();
        let seconds = made.seconds(Metric::Total, &settings);
        assert_close(sum as f64 / 1e6, seconds, &format!("{:?}", settings.filter));
    }
}

#[test]
fn speedscope_has_a_profile_for_each_metric_and_each_thread() {
    let mut made = Made::new();
    for settings in settings() {
        let file: Json = serde_json::from_str(&made.text("speedscope", &settings)).unwrap();
        assert_eq!(
            file["$schema"],
            "https://www.speedscope.app/file-format-schema.json"
        );
        let frames = file["shared"]["frames"].as_array().unwrap();
        let profiles = file["profiles"].as_array().unwrap();
        let mut by_thread = 0.0;
        for profile in profiles {
            let name = profile["name"].as_str().unwrap();
            let weights = profile["weights"].as_array().unwrap();
            let samples = profile["samples"].as_array().unwrap();
            assert_eq!(samples.len(), weights.len());
            let sum: f64 = weights.iter().map(|it| it.as_f64().unwrap()).sum();
            assert_close(sum, profile["endValue"].as_f64().unwrap(), name);
            for stack in samples {
                let stack = stack.as_array().unwrap();
                assert!(!stack.is_empty());
                let within = |it: &Json| it.as_u64().unwrap() < frames.len() as u64;
                assert!(stack.iter().all(within), "{stack:?}");
            }
            let metric = match name {
                "Total Thread Time" => Metric::Total,
                "OMP Work Time" => Metric::OmpWork,
                "OMP Wait Time" => Metric::OmpWait,
                _ => {
                    assert!(name.ends_with("): Total Thread Time"), "{name}");
                    by_thread += sum;
                    continue;
                }
            };
            assert_close(sum, made.seconds(metric, &settings), name);
        }
        if by_thread > 0.0 {
            assert_close(by_thread, made.seconds(Metric::Total, &settings), "threads");
        }
    }
}

#[test]
fn speedscope_names_lines_and_limits() {
    let file: Json =
        serde_json::from_str(&Made::new().text("speedscope", &Settings::default())).unwrap();
    let name = file["name"].as_str().unwrap();
    assert!(name.contains("made.er: ./app 12"), "{name}");
    assert!(
        name.contains("lost: 2 samples, from 0.210 to 0.220 s"),
        "{name}"
    );
    assert!(name.contains("is inferred"), "{name}");
    let frames = file["shared"]["frames"].as_array().unwrap();
    let main = frames.iter().find(|it| it["name"] == "main").unwrap();
    assert_eq!(main["file"], "/home/ann/app/foo.c");
    assert_eq!(main["line"], 20);
    let names: Vec<&str> = file["profiles"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["name"].as_str().unwrap())
        .collect();
    assert_eq!(
        names,
        [
            "Total Thread Time",
            "OMP Work Time",
            "OMP Wait Time",
            "Thread 100 (initial): Total Thread Time",
            "Thread 101 (worker): Total Thread Time"
        ]
    );
}

/// Adds the own values of a tree up, and checks each node's sum with its callees.
fn added_up(node: &Json, name: &str) -> f64 {
    let metrics = &node["metrics"];
    let own = metrics[name].as_f64().unwrap();
    let children = node["children"].as_array();
    let below: f64 = children.map_or(0.0, |children| {
        assert!(!children.is_empty());
        children.iter().map(|child| added_up(child, name)).sum()
    });
    let inclusive = metrics[&format!("{name} (inc)")].as_f64().unwrap();
    assert_close(own + below, inclusive, &node["frame"].to_string());
    inclusive
}

#[test]
fn hatchet_has_a_tree_with_inclusive_sums() {
    let mut made = Made::new();
    for settings in settings() {
        let roots: Json = serde_json::from_str(&made.text("hatchet", &settings)).unwrap();
        let [root] = roots.as_array().unwrap().as_slice() else {
            panic!("one root");
        };
        assert_eq!(root["frame"]["name"], "<Total>");
        let metrics = [
            ("time", Metric::Total),
            ("ompwork", Metric::OmpWork),
            ("ompwait", Metric::OmpWait),
            ("ompctwt", Metric::State(RefinedState::Critical)),
        ];
        for (name, metric) in metrics {
            assert_close(added_up(root, name), made.seconds(metric, &settings), name);
        }
        let inferred = added_up(root, "inferred");
        if settings == Settings::default() {
            assert_close(inferred, 0.1, "inferred");
        }
    }
}
