//! A folder of Parquet, read back by the crate that wrote it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use experiment::ids::{ContextId, Nanos};
use experiment::rows::{Sample, SampleKind, Within};
use experiment::state::State;
use experiment::tables::RuntimeKind;
use omp_model::metrics::{CounterName, Metric};
use omp_model::states::RefinedState;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::{Field, Row};
use parquet::schema::types::Type;
use report::Settings;
use serde_json::{Value as Json, json};

use super::made::{Given, MS, Made, assert_close, builder, settings};
use crate::parquet::FILES;
use crate::parquet::schema::{Kind, TABLES, VERSION};

/// The rows of a table: values by the names of their columns.
pub(super) type Rows = Vec<BTreeMap<String, Json>>;

/// The tables by name.
pub(super) type Tables = BTreeMap<String, Rows>;

/// What is written under some settings.
pub(super) fn tables(made: &mut Made, settings: &Settings) -> Tables {
    let folder = made.export_folder("parquet", settings);
    let names = TABLES.iter().map(|(name, _)| *name);
    let read = names.map(|name| {
        let file = folder.path().join(format!("{name}.parquet"));
        (name.to_owned(), rows(&file))
    });
    let read: Tables = read.collect();
    check(&read);
    read
}

fn rows(file: &Path) -> Rows {
    let mut rows = Rows::new();
    each_row(file, |row| rows.push(row));
    rows
}

/// Reads the rows of a file.
pub(super) fn each_row(file: &Path, mut take: impl FnMut(BTreeMap<String, Json>)) {
    let reader = SerializedFileReader::new(File::open(file).unwrap()).unwrap();
    let metadata = reader.metadata().file_metadata();
    let told = metadata.key_value_metadata().unwrap();
    let version = told.iter().find(|it| it.key == "parallax.schema");
    assert_eq!(version.unwrap().value, Some(VERSION.to_string()));
    let value = |(name, field): (&String, &Field)| (name.clone(), json_of(field));
    for row in reader.get_row_iter(None).unwrap() {
        take(row.unwrap().get_column_iter().map(value).collect());
    }
}

fn json_of(field: &Field) -> Json {
    match field {
        Field::Null => Json::Null,
        Field::Bool(it) => json!(it),
        Field::Int(it) => json!(it),
        Field::Long(it) | Field::TimestampMicros(it) => json!(it),
        Field::ULong(it) => json!(it),
        Field::Double(it) => json!(it),
        Field::Str(it) => json!(it),
        Field::ListInternal(list) => list.elements().iter().map(json_of).collect(),
        other => panic!("{other:?} is no value of ours"),
    }
}

/// All values of a column of numbers; what is null has none.
pub(super) fn numbers(file: &Path, column: &str) -> Vec<f64> {
    let reader = SerializedFileReader::new(File::open(file).unwrap()).unwrap();
    let schema = reader.metadata().file_metadata().schema();
    let mut fields = schema.get_fields().iter();
    let field = fields.find(|it| it.name() == column).unwrap();
    let projection = Type::group_type_builder(schema.name());
    let projection = projection.with_fields(vec![Arc::clone(field)]).build();
    let rows = reader.get_row_iter(Some(projection.unwrap())).unwrap();
    let value = |row: Row| json_of(row.get_column_iter().next().unwrap().1).as_f64();
    rows.filter_map(|row| value(row.unwrap())).collect()
}

/// The seconds of rows.
pub(super) fn sum<'r>(
    rows: impl IntoIterator<Item = &'r BTreeMap<String, Json>>,
    column: &str,
) -> f64 {
    let values = rows.into_iter().map(|row| row[column].as_f64());
    values.map(Option::unwrap_or_default).sum()
}

/// Every reference is to one row.
fn check(tables: &Tables) {
    let keys = |table: &str, key: &str| -> BTreeSet<i64> {
        let rows = tables[table].iter();
        let keys: BTreeSet<i64> = rows.map(|row| row[key].as_i64().unwrap()).collect();
        assert_eq!(keys.len(), tables[table].len(), "{table}");
        keys
    };
    let frames = keys("frames", "frame");
    let stacks = keys("stacks", "stack");
    let threads = keys("threads", "thread");
    let regions = keys("regions", "region");
    let recordings = keys("recording", "recording");
    let of = |row: &BTreeMap<String, Json>, key: &str| row[key].as_i64();
    for row in &tables["samples"] {
        assert!(stacks.contains(&of(row, "stack").unwrap()));
        assert!(threads.contains(&of(row, "thread").unwrap()));
        assert!(of(row, "region").is_none_or(|it| regions.contains(&it)));
        assert_eq!(row["kind"] == "no sample", row["time_ns"].is_null());
    }
    for row in &tables["stacks"] {
        let own = row["frames"].as_array().unwrap();
        assert!(!own.is_empty());
        let is_known = |it: &Json| frames.contains(&it.as_i64().unwrap());
        assert!(own.iter().all(is_known));
    }
    for row in tables["threads"].iter().chain(&tables["intervals"]) {
        assert!(recordings.contains(&of(row, "recording").unwrap()));
    }
}

/// A table's row with a value.
fn find<'r>(rows: &'r Rows, column: &str, value: &str) -> &'r BTreeMap<String, Json> {
    let mut found = rows.iter().filter(|row| row[column] == value);
    found
        .next()
        .unwrap_or_else(|| panic!("{value} in {rows:?}"))
}

#[test]
fn sums_are_those_of_the_reports() {
    let mut made = Made::new();
    for settings in settings() {
        let tables = tables(&mut made, &settings);
        let samples = &tables["samples"];
        let seconds = |keeps: &dyn Fn(&BTreeMap<String, Json>) -> bool| {
            sum(samples.iter().filter(|row| keeps(row)), "seconds")
        };
        let on_cpu = |row: &BTreeMap<String, Json>| row["scheduling"] == "on a CPU";
        let sums = [
            (Metric::Total, seconds(&|_| true)),
            (Metric::OmpWork, seconds(&|row| row["work"] == true)),
            (Metric::OmpWait, seconds(&|row| row["work"] == false)),
            (Metric::TotalCpu, seconds(&|row| on_cpu(row))),
            (Metric::OffCpu, seconds(&|row| !on_cpu(row))),
            (
                Metric::System,
                seconds(&|row| on_cpu(row) && row["kernel"] == true),
            ),
            (
                Metric::State(RefinedState::ImplicitBarrier),
                seconds(&|row| row["state"] == "implicit barrier"),
            ),
            (Metric::Blame, sum(samples, "blame_seconds")),
        ];
        for (metric, seconds) in sums {
            assert_close(seconds, made.seconds(metric, &settings), metric.id());
        }
        let threads = &tables["threads"];
        for (name, metric) in [
            ("total", Metric::Total),
            ("ompwork", Metric::OmpWork),
            ("ompwait", Metric::OmpWait),
        ] {
            assert_close(sum(threads, name), made.seconds(metric, &settings), name);
        }
        // Seconds are told apart.
        assert!(samples.iter().all(|row| row["second"].is_i64()));
        // The region's sums are those of its samples.
        for region in &tables["regions"] {
            let own = samples
                .iter()
                .filter(|row| row["region"] == region["region"]);
            let all = region["total"].as_f64().unwrap();
            if settings.mode == Settings::default().mode {
                assert_close(sum(own, "seconds"), all, "region");
            }
        }
    }
}

#[test]
fn rows_tell_what_is_known_of_a_sample() {
    let mut made = Made::new();
    let tables = tables(&mut made, &Settings::default());
    let samples = &tables["samples"];
    let of = |kind: &str| -> Rows {
        let own = samples.iter().filter(|row| row["kind"] == kind);
        own.cloned().collect()
    };
    assert_eq!(of("clock").len(), 23);
    assert_eq!(of("switch-out").len(), 2);
    assert_close(sum(&of("clock"), "seconds"), 2.3, "clock");
    // What has no sample: a barrier on the CPU, idleness, and preempted serial code, whose stack is inferred.
    assert_close(sum(&of("no sample"), "seconds"), 1.0, "no sample");
    let inferred = samples.iter().filter(|row| row["inferred"] == true);
    assert_close(sum(inferred, "seconds"), 0.1, "inferred");
    let critical = find(samples, "state", "critical");
    assert_eq!(critical["time_ns"], 1_300 * MS);
    assert_eq!(critical["second"], 1);
    assert_eq!(critical["scheduling"], "asleep");
    assert_eq!(critical["region_instance"], 1);
    assert_eq!(critical["task_instance"], Json::Null);
    assert_eq!(critical["cpu"], 0);
    assert_eq!(critical["counter"], Json::Null);
    let frames = &tables["frames"];
    let stack = tables["stacks"]
        .iter()
        .find(|row| row["stack"] == critical["stack"]);
    let stack = stack.unwrap()["frames"].as_array().unwrap();
    let names: Vec<&str> = stack
        .iter()
        .map(|it| {
            let row = frames.iter().find(|row| row["frame"] == *it).unwrap();
            row["function"].as_str().unwrap()
        })
        .collect();
    assert_eq!(
        names,
        [
            "<OMP critical section wait>",
            "foo -- OMP parallel region from line 9 [foo.omp_outlined]",
            "foo",
            "main",
            "_start"
        ]
    );
    let tiny = find(frames, "function", "tiny");
    assert_eq!(tiny["line"], 2);
    assert_eq!(tiny["file"], "/home/ann/app/foo.c");
    assert_eq!(tiny["load_object"], "/home/ann/app/app");
    assert_eq!(tiny["address"], 0x1408);
    assert_eq!(tiny["inlined"], true);
    assert_eq!(find(frames, "function", "main")["function_line"], 20);
}

#[test]
fn tables_beside_the_samples_hold_what_was_measured() {
    let mut made = Made::new();
    let tables = tables(&mut made, &Settings::default());
    let kinds = tables["intervals"].iter().map(|row| &row["kind"]);
    let kinds: Vec<&str> = kinds.map(|it| it.as_str().unwrap()).collect();
    assert_eq!(
        kinds,
        ["state", "state", "state", "region", "task", "phase"]
    );
    let phase = find(&tables["intervals"], "kind", "phase");
    assert_eq!(
        (&phase["name"], &phase["pid"]),
        (&json!("solve"), &json!(100))
    );
    assert_eq!(phase["start_ns"], 100 * MS);
    assert_eq!(phase["duration_ns"], 1_000 * MS);
    let region = find(&tables["intervals"], "kind", "region");
    assert_eq!((&region["team"], &region["region"]), (&json!(2), &json!(1)));
    let recording = &tables["recording"][0];
    assert_eq!(recording["command"], "./app 12");
    assert_eq!(recording["view_mode"], "user");
    assert_eq!(recording["weights"], "second");
    let lost = recording["lost"].as_array().unwrap();
    assert_eq!(lost.len(), 2);
    assert_eq!(lost[0], "lost: 2 samples, from 0.210 to 0.220 s");
    let worker = find(&tables["threads"], "kind", "worker");
    assert_eq!((&worker["tid"], &worker["pid"]), (&json!(101), &json!(100)));
    let region = &tables["regions"][0];
    assert_eq!(region["line"], 9);
    assert_eq!(region["function"], "foo");
}

#[test]
fn events_of_counters_are_rows() {
    let mut make = builder(Given::default());
    make.header.counters.push(experiment::header::Counter {
        name: "cache-misses".to_owned(),
        interval: 1_000,
        events: 30_600,
        samples: 30,
        ..experiment::header::Counter::default()
    });
    let app = make.module("/home/ann/app/app", RuntimeKind::None);
    let frame = make.function(app, 0x1500, "misses", Some(40));
    let stack = make.stack(&[frame]);
    let state = make.thread_state(State::Serial, ContextId::ROOT);
    let sample = |at: u64| Sample {
        time: Nanos(at * 60 * MS),
        thread: experiment::ids::ThreadId(0),
        cpu: 3,
        kind: SampleKind::User,
        stack,
        thread_state: state,
        within: Within::default(),
    };
    make.counters = vec![(0..30).map(sample).collect()];
    let mut made = Made::of(&make);
    let metric = Metric::Counter(CounterName::new("cache-misses"));
    for settings in settings() {
        let tables = tables(&mut made, &settings);
        let of_counter = tables["samples"].iter();
        let of_counter = of_counter.filter(|row| row["kind"] == "counter");
        let of_counter: Rows = of_counter.cloned().collect();
        assert_close(
            sum(&of_counter, "events"),
            made.seconds(metric, &settings),
            &format!("{:?}", settings.filter),
        );
        assert_close(sum(&of_counter, "seconds"), 0.0, "time");
        let seconds = sum(&tables["samples"], "seconds");
        assert_close(seconds, made.seconds(Metric::Total, &settings), "all");
        if settings == Settings::default() {
            assert_eq!(of_counter.len(), 30);
            let first = &of_counter[0];
            assert_eq!(first["counter"], "cache-misses");
            assert_eq!(first["cpu"], 3);
            assert_close(first["events"].as_f64().unwrap(), 1_020.0, "each");
        }
    }
}

#[test]
fn a_folder_has_the_files_that_it_says() {
    let mut made = Made::new();
    let folder = made.export_folder("parquet", &Settings::default());
    let entries = std::fs::read_dir(folder.path()).unwrap();
    let names: BTreeSet<String> = entries
        .map(|it| it.unwrap().file_name().into_string().unwrap())
        .collect();
    assert!(names.iter().eq(&BTreeSet::from_iter(
        FILES.iter().map(|it| (*it).to_owned())
    )));
}

/// `docs/parquet.md` has a section for each table with a row for each column.
#[test]
fn each_column_is_described() {
    let manual = include_str!("../../../docs/parquet.md");
    for (table, columns) in TABLES {
        let (_, section) = manual
            .split_once(&format!("\n### {table}\n"))
            .unwrap_or_else(|| panic!("no section on {table}"));
        let section = section.split("\n#").next().unwrap_or_default();
        let described = section.lines().filter(|line| line.starts_with("| `"));
        let described: Vec<String> = described
            .map(|line| {
                let cells: Vec<&str> = line.split('|').map(str::trim).collect();
                format!("{} {}", cells[1], cells[2])
            })
            .collect();
        let expected: Vec<String> = columns
            .iter()
            .map(|column| {
                let null = if column.is_nullable { ", null" } else { "" };
                format!("`{}` {}{null}", column.name, sql(column.kind))
            })
            .collect();
        assert_eq!(described, expected, "{table}");
    }
    assert!(
        manual.contains(&format!("Version {VERSION} ")),
        "its version"
    );
}

/// The type in SQL.
fn sql(kind: Kind) -> &'static str {
    match kind {
        Kind::Integer => "INTEGER",
        Kind::Long => "BIGINT",
        Kind::Unsigned => "UBIGINT",
        Kind::Double => "DOUBLE",
        Kind::Boolean => "BOOLEAN",
        Kind::Text => "VARCHAR",
        Kind::Timestamp => "TIMESTAMP",
        Kind::Integers => "INTEGER[]",
        Kind::Texts => "VARCHAR[]",
    }
}
