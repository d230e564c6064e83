//! Of many samples, equal neighbours are merged.

use experiment::ids::{Nanos, StackId, ThreadId};
use experiment::rows::{Sample, SampleKind, Within};
use experiment::state::{Scheduling, State};
use experiment::tables::{RuntimeKind, ThreadKind};
use omp_model::metrics::Metric;
use report::Settings;
use test_support::Builder;

use super::firefox::{list, read, sum};
use super::made::{Made, Time, assert_close};
use super::parquet;
use super::perfetto::Read;
use crate::places::MOST_BY_SECOND;

#[test]
fn neighbours_of_many_samples_are_merged_and_the_profile_says_so() {
    let mut make = Builder::new(&["./app"], "/home/ann/app/foo.c");
    make.header.duration_ns = 4_000_000_000;
    make.process(100, "app", "/home/ann/app/app");
    let app = make.module("/home/ann/app/app", RuntimeKind::None);
    let frames = ["one", "two"].map(|name| {
        let address = 0x1000 + 0x100 * name.len() as u64 + u64::from(name.as_bytes()[0]);
        make.function(app, address, name, Some(1))
    });
    let stacks: [StackId; 2] = frames.map(|frame| make.stack(&[frame]));
    make.thread(100, ThreadKind::Initial);
    let state = make.thread_state(State::Serial, experiment::ids::ContextId::ROOT);
    let mut time = Time {
        make: &mut make,
        thread: ThreadId(0),
    };
    time.add((state, Scheduling::Running), (0, 4000), &[]);
    let count = MOST_BY_SECOND + 8;
    // A thousand of one, then a thousand of the other.
    make.samples = (0..count)
        .map(|at| Sample {
            time: Nanos(at * 1_000),
            thread: ThreadId(0),
            cpu: 0,
            kind: SampleKind::User,
            stack: stacks[at as usize / 1000 % 2],
            thread_state: state,
            within: Within::default(),
        })
        .collect();
    let mut made = Made::of(&make);
    let settings = Settings::default();
    let profile = read(&mut made, &settings);
    let notes = profile["meta"]["extra"][0]["entries"].to_string();
    assert!(notes.contains("equal neighbours are merged"), "{notes}");
    let samples = &profile["threads"][0]["samples"];
    assert!(samples["length"].as_u64().unwrap() <= count / 1000 + 2);
    let seconds = sum(list(samples, "weight")) / 1e3;
    assert_close(seconds, made.seconds(Metric::Total, &settings), "all");
    assert_close(seconds, 4.0, "all");
    assert_eq!(Read::of(&mut made, &settings).samples, count);
    let folder = made.export_folder("parquet", &settings);
    let file = folder.path().join("samples.parquet");
    assert_eq!(parquet::numbers(&file, "time_ns").len() as u64, count);
    let seconds = parquet::numbers(&file, "seconds");
    // The last two seconds have no sample.
    assert_eq!(seconds.len() as u64, count + 1);
    assert_close(seconds.iter().sum(), 4.0, "parquet");
    // The weights are means over the whole recording.
    parquet::each_row(&folder.path().join("recording.parquet"), |row| {
        assert_eq!(row["weights"], "recording");
    });
}
