//! What is refused: rows that point nowhere, names that are taken, files that are no experiments.

use std::fs;

use experiment::header::FORMAT_VERSION;
use experiment::ids::{Nanos, ThreadId, ThreadStateId};
use experiment::rows::{Interval, Within};
use experiment::state::Scheduling;
use experiment::{Batch, Experiment, ExperimentError, Writer};
use test_support::{Recording, TempExperiment};

#[test]
fn a_row_that_points_nowhere_is_refused_before_it_is_written() {
    let folder = TempExperiment::new("dangling");
    let recording = Recording::generate(1, 1);
    let mut writer = recording.begin(&folder.path);
    let before = writer.bytes();
    let mut bad = recording.samples[0].clone();
    bad[0].thread = ThreadId(99);
    let batch = Batch {
        samples: &bad,
        ..Default::default()
    };
    let refused = writer.append(&recording.tables, &batch).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "a record has a thread that is not in its table"
    );
    assert_eq!(writer.bytes(), before);
    // The writer is as it was: the same rows without the fault are taken.
    let batch = Batch {
        samples: &recording.samples[0],
        ..Default::default()
    };
    writer.append(&recording.tables, &batch).unwrap();
    let read = Experiment::open(&folder.path).unwrap();
    assert_eq!(read.samples.len(), recording.samples[0].len() as u64);
}

#[test]
fn what_is_not_an_experiment_is_told_in_one_sentence() {
    let folder = TempExperiment::new("sentences");
    fs::create_dir(&folder.path).unwrap();
    let at = |name: &str| folder.path.join(name);
    let sentence = |name: &str| {
        let error = Experiment::open(at(name)).unwrap_err().to_string();
        error.replace(folder.path.to_str().unwrap(), "DIR")
    };
    assert_eq!(
        sentence("none.er"),
        "there is no experiment DIR/none.er: check the name, or record one with `collect`"
    );
    fs::write(at("file"), "x").unwrap();
    assert_eq!(
        sentence("file"),
        "DIR/file is a file, but an experiment is a directory: name the directory that `collect` made"
    );
    fs::create_dir(at("plain")).unwrap();
    assert_eq!(
        sentence("plain"),
        "DIR/plain is not an experiment: it has no file `records`; name the directory that `collect` made"
    );
    fs::write(at("plain/log.xml"), "").unwrap();
    assert_eq!(
        sentence("plain"),
        "DIR/plain was recorded by gprofng or Sun Studio: open it with `gprofng display text`"
    );
    fs::write(at("plain/records"), "").unwrap();
    assert_eq!(
        sentence("plain"),
        "DIR/plain is empty: its recording ended before anything was written; record it again"
    );
    fs::write(at("plain/records"), "something quite different").unwrap();
    assert_eq!(
        sentence("plain"),
        "DIR/plain/records is not an experiment of Parallax, or its beginning is damaged: restore it from a copy or record it again"
    );
    let recording = Recording::small(1);
    recording.write(&at("newer"), true);
    let mut bytes = fs::read(at("newer/records")).unwrap();
    let mut of_format = |format| {
        bytes[8] = format;
        let sum = crc32fast::hash(&bytes[..12]);
        bytes[12..16].copy_from_slice(&sum.to_le_bytes());
        fs::write(at("newer/records"), &bytes).unwrap();
        sentence("newer")
    };
    let newer = FORMAT_VERSION + 1;
    assert_eq!(
        of_format(newer as u8),
        format!(
            "DIR/newer/records has format {newer}, but this program reads format {FORMAT_VERSION}: use \
             a newer Parallax"
        )
    );
    assert_eq!(
        of_format(1),
        format!(
            "DIR/newer/records has format 1, but this program reads format {FORMAT_VERSION}: record it \
             again"
        )
    );
}

/// An interval of 2^63 ns would take memory for each of its seconds.
#[test]
fn no_time_is_longer_than_a_recording() {
    let folder = TempExperiment::new("long");
    let recording = Recording::generate(3, 1);
    let mut writer = recording.begin(&folder.path);
    let interval = Interval {
        thread: ThreadId(0),
        start: Nanos(0),
        length: Nanos(1 << 63),
        thread_state: ThreadStateId(0),
        scheduling: Scheduling::Blocked,
        within: Within::default(),
    };
    let mut refused = |batch: &Batch<'_>| {
        let refused = writer.append(&recording.tables, batch);
        refused.unwrap_err().to_string()
    };
    let long = "a time longer than any recording";
    let intervals = [interval];
    let batch = Batch {
        intervals: &intervals,
        ..Batch::default()
    };
    assert!(refused(&batch).contains(long));
    let mut samples = recording.samples[0].clone();
    samples[0].time = Nanos(400 * 86_400 * 1_000_000_000);
    let batch = Batch {
        samples: &samples,
        ..Batch::default()
    };
    assert!(refused(&batch).contains(long));
}

#[test]
fn a_counter_that_the_header_does_not_have_is_refused_before_it_is_written() {
    let folder = TempExperiment::new("counters");
    let recording = Recording::generate(3, 1);
    let mut writer = recording.begin(&folder.path);
    let counters = vec![recording.samples[0].clone(); 2];
    let batch = Batch {
        counters: &counters,
        ..Batch::default()
    };
    let refused = writer.append(&recording.tables, &batch).unwrap_err();
    let said = "a record has a counter that the header does not have";
    assert_eq!(refused.to_string(), said);
}

/// Names of counters are words of lists of metrics, and are printed.
#[test]
fn counters_with_names_that_none_has_are_not_read() {
    let long = "x".repeat(129);
    for name in [
        "",
        "a:b",
        "a.b",
        "-total",
        "e%x",
        "a\u{1b}[2J",
        "\u{e9}",
        &long,
    ] {
        let folder = TempExperiment::new("names");
        let mut recording = Recording::small(3);
        recording.header.counters[0].name = name.to_owned();
        recording.write(&folder.path, false);
        let read = Experiment::open(&folder.path).unwrap();
        assert!(read.counters.is_empty() && read.header.counters.is_empty());
        let said: Vec<String> = read.warnings.iter().map(ToString::to_string).collect();
        let is_told = |it: &String| it.contains("counters that no recording has");
        assert!(said.iter().any(is_told), "{name}: {said:?}");
    }
}

#[test]
fn an_existing_directory_is_not_overwritten() {
    let folder = TempExperiment::new("exists");
    Recording::small(1).write(&folder.path, true);
    let refused = Writer::create(&folder.path, &Default::default());
    assert!(matches!(
        refused,
        Err(ExperimentError::Exists(path)) if path == folder.path
    ));
}
