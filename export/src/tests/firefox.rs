//! The Firefox Profiler's format.

use experiment::ids::ThreadId;
use omp_model::metrics::Metric;
use report::Settings;
use serde_json::Value as Json;

use super::made::{Made, assert_close, settings, unzipped};

pub(super) fn read(made: &mut Made, settings: &Settings) -> Json {
    serde_json::from_slice(&unzipped(&made.export("firefox", settings))).unwrap()
}

pub(super) fn list<'a>(table: &'a Json, name: &str) -> &'a [Json] {
    let rows = table[name].as_array().unwrap();
    assert_eq!(
        rows.len() as u64,
        table["length"].as_u64().unwrap(),
        "{name}"
    );
    rows
}

pub(super) fn sum(rows: &[Json]) -> f64 {
    rows.iter().map(|it| it.as_f64().unwrap()).sum()
}

/// The functions of a thread's stack, leaf first, and category and subcategory of the leaf.
fn stack(thread: &Json, number: &Json) -> (Vec<String>, u64, u64) {
    let (stacks, frames) = (&thread["stackTable"], &thread["frameTable"]);
    let mut names = Vec::new();
    let mut at = number.as_u64();
    let leaf = &list(stacks, "frame")[at.unwrap() as usize];
    let of_leaf = |name: &str| {
        list(frames, name)[leaf.as_u64().unwrap() as usize]
            .as_u64()
            .unwrap()
    };
    while let Some(number) = at {
        let frame = list(stacks, "frame")[number as usize].as_u64().unwrap();
        let function = list(frames, "func")[frame as usize].as_u64().unwrap();
        let name = list(&thread["funcTable"], "name")[function as usize]
            .as_u64()
            .unwrap();
        names.push(
            thread["stringArray"][name as usize]
                .as_str()
                .unwrap()
                .to_owned(),
        );
        at = list(stacks, "prefix")[number as usize].as_u64();
        assert!(
            at.is_none_or(|callers| callers < number),
            "callers come first"
        );
    }
    (names, of_leaf("category"), of_leaf("subcategory"))
}

#[test]
fn weights_and_cpu_use_add_up_to_the_reports() {
    let mut made = Made::new();
    for settings in settings() {
        let profile = read(&mut made, &settings);
        let (mut weights, mut cpu) = (0.0, 0.0);
        for thread in profile["threads"].as_array().unwrap() {
            let samples = &thread["samples"];
            weights += sum(list(samples, "weight"));
            cpu += sum(list(samples, "threadCPUDelta"));
            let deltas = list(samples, "timeDeltas");
            assert!(deltas.iter().all(|it| it.as_f64().unwrap() >= 0.0));
            assert!(sum(deltas) <= 2_000.0);
            for table in ["frameTable", "funcTable", "resourceTable"] {
                for (name, column) in thread[table].as_object().unwrap() {
                    if column.is_array() {
                        list(&thread[table], name);
                    }
                }
            }
        }
        let what = format!("{:?}", settings.filter);
        assert_close(weights / 1e3, made.seconds(Metric::Total, &settings), &what);
        assert_close(cpu / 1e9, made.seconds(Metric::TotalCpu, &settings), &what);
    }
}

#[test]
fn a_filter_on_time_leaves_no_sample_outside() {
    let mut made = Made::new();
    let settings = settings();
    for (settings, kept) in [
        (&settings[4], 0.0..700.0),
        (&settings[5], 1_100.0..2_000.0),
        // Nothing was sampled then.
        (&settings[7], 1_950.0..2_000.0),
    ] {
        let profile = read(&mut made, settings);
        let threads = profile["threads"].as_array().unwrap();
        assert_eq!(threads.len(), 2);
        for thread in threads {
            let mut time = 0.0;
            for delta in list(&thread["samples"], "timeDeltas") {
                time += delta.as_f64().unwrap();
                assert!(kept.contains(&time), "{time} {kept:?}");
            }
            assert!(time > 0.0);
        }
    }
}

#[test]
fn states_are_categories_and_inferred_stacks_are_marked() {
    let mut made = Made::new();
    let profile = read(&mut made, &Settings::default());
    let meta = &profile["meta"];
    assert_eq!(meta["preprocessedProfileVersion"], 55);
    let notes = meta["extra"][0]["entries"].as_array().unwrap();
    let said = |part: &str| {
        notes
            .iter()
            .any(|it| it["value"].as_str().unwrap().contains(part))
    };
    assert!(
        said("lost: 2 samples") && said("is inferred") && !said("merged"),
        "{notes:?}"
    );
    let categories = meta["categories"].as_array().unwrap();
    let thread = &profile["threads"][0];
    assert_eq!(thread["name"], "Thread 100 (initial)");
    assert_eq!(thread["isMainThread"], true);
    let samples = &thread["samples"];
    let rows = list(samples, "stack").iter().zip(list(samples, "weight"));
    let mut inferred = 0.0;
    let mut by_state = std::collections::BTreeMap::<(String, String), f64>::new();
    for (number, weight) in rows {
        let (names, category, subcategory) = stack(thread, number);
        let category = &categories[category as usize];
        let state = category["name"].as_str().unwrap();
        let weight = weight.as_f64().unwrap();
        match category["subcategories"][subcategory as usize]
            .as_str()
            .unwrap()
        {
            "Other" => {}
            "inferred stack" => inferred += weight,
            other => panic!("{other}"),
        }
        *by_state
            .entry((state.to_owned(), names[0].clone()))
            .or_default() += weight;
    }
    assert_close(inferred, 100.0, "inferred");
    let region = "foo -- OMP parallel region from line 9 [foo.omp_outlined]";
    let expected = [
        ("Critical", "<OMP critical section wait>", 200.0),
        ("Implicit barrier", "<OMP implicit barrier>", 400.0),
        ("Serial", "main", 600.0),
        ("Work", region, 200.0),
        ("Work", "tiny", 600.0),
    ];
    assert_eq!(by_state.len(), expected.len(), "{by_state:?}");
    for (state, leaf, weight) in expected {
        let sum = by_state[&(state.to_owned(), leaf.to_owned())];
        assert_close(sum, weight, leaf);
    }
}

#[test]
fn lines_and_files_are_there() {
    let mut made = Made::new();
    let profile = read(&mut made, &Settings::default());
    let thread = &profile["threads"][1];
    let (functions, frames) = (&thread["funcTable"], &thread["frameTable"]);
    let lines = |name: &str| -> Vec<Option<u64>> {
        let of_function = |at: usize| {
            let name = list(functions, "name")[at].as_u64().unwrap();
            thread["stringArray"][name as usize].as_str().unwrap()
        };
        let rows = list(frames, "func").iter().zip(list(frames, "line"));
        let rows = rows.filter(|(func, _)| of_function(func.as_u64().unwrap() as usize) == name);
        rows.map(|(_, line)| line.as_u64()).collect()
    };
    assert_eq!(lines("tiny"), [Some(2)]);
    assert_eq!(lines("bar"), [Some(4)]);
    assert_eq!(lines("_start"), [None]);
    let file = list(functions, "fileName")
        .iter()
        .find_map(Json::as_u64)
        .unwrap();
    assert_eq!(thread["stringArray"][file as usize], "/home/ann/app/foo.c");
}

#[test]
fn regions_tasks_waits_phases_and_losses_are_markers() {
    let mut made = Made::new();
    let profile = read(&mut made, &Settings::default());
    let of = |thread: usize| -> Vec<(String, f64, f64)> {
        let thread = &profile["threads"][thread];
        let markers = &thread["markers"];
        let times = list(markers, "startTime")
            .iter()
            .zip(list(markers, "endTime"));
        let rows = list(markers, "data").iter().zip(times);
        let number = |it: &Json| it.as_f64().unwrap();
        rows.map(|(data, (start, end))| {
            (
                data["type"].as_str().unwrap().to_owned(),
                number(start),
                number(end),
            )
        })
        .collect()
    };
    let named = |(name, start, end): (&str, f64, f64)| (name.to_owned(), start, end);
    let initial = [
        ("Phase", 100.0, 1100.0),
        ("Loss", 210.0, 220.0),
        ("OmpRegion", 500.0, 2000.0),
        ("Loss", 900.0, 950.0),
        ("OmpWait", 1300.0, 1500.0),
    ];
    assert_eq!(of(0), initial.map(named));
    let worker = [
        ("OmpWait", 0.0, 500.0),
        ("OmpTask", 600.0, 900.0),
        ("OmpWait", 1500.0, 2000.0),
    ];
    assert_eq!(of(1), worker.map(named));
    let data = list(&profile["threads"][1]["markers"], "data");
    assert_eq!(data[1]["instance"], 7);
    assert_eq!(data[1]["region"], 1);
    assert_eq!(data[2]["state"], "implicit barrier");
    assert_eq!(data[2]["scheduling"], "asleep");
    // Each kind of marker has its fields in the schema.
    let schemas = profile["meta"]["markerSchema"].as_array().unwrap();
    for thread in profile["threads"].as_array().unwrap() {
        for data in list(&thread["markers"], "data") {
            let schema = schemas
                .iter()
                .find(|it| it["name"] == data["type"])
                .unwrap();
            let known = |key: &str| {
                schema["fields"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .any(|it| it["key"] == key)
            };
            let mut keys = data.as_object().unwrap().keys();
            assert!(keys.all(|key| key == "type" || known(key)), "{data}");
        }
    }
    assert_eq!(
        made.analysis.experiment.tables.threads.len(),
        ThreadId(2).index()
    );
}
