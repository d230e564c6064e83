//! The samples in their frames, and how much space they take.

use experiment::ids::{Nanos, StackId, ThreadId};
use experiment::rows::Sample;
use experiment::{Batch, Experiment, sample_tick};
use test_support::{Recording, TempExperiment};

use super::{stored, stored_by};

#[test]
fn samples_are_reached_by_frame_as_by_iteration() {
    let folder = TempExperiment::new("by-frame");
    let recording = Recording::generate(3, 4);
    recording.write(&folder.path, true);
    let read = Experiment::open(&folder.path).unwrap();
    assert_eq!(read.samples.frames(), 4);
    let mut all = Vec::new();
    let mut frame = Vec::new();
    for at in 0..read.samples.frames() {
        read.samples.frame(at, &mut frame);
        all.extend_from_slice(&frame);
    }
    assert_eq!(all, read.samples.iter().collect::<Vec<_>>());
    read.samples.frame(4, &mut frame);
    assert_eq!(frame, []);
}

#[test]
fn times_of_samples_are_kept_to_a_small_part_of_the_period() {
    for (name, period_us, tick) in [
        ("tick-slow", 10_007.0, 8_000),
        ("tick-kilohertz", 997.0, 4_000),
        ("tick-fast", 100.0, 1_000),
    ] {
        let folder = TempExperiment::new(name);
        let mut recording = Recording::generate(5, 3);
        recording.header.sampling.period_us = period_us;
        recording.write(&folder.path, true);
        let read = Experiment::open(&folder.path).unwrap();
        assert_eq!(read.warnings, []);
        let tick = Nanos(tick);
        assert_eq!(sample_tick(&read.header.sampling), tick);
        let samples: Vec<Sample> = read.samples.iter().collect();
        assert_eq!(samples, stored_by(tick, &recording.samples));
        // A frame begins no later than its samples, which are in the order of time.
        for (frame, at) in read.samples.index().iter().zip(0..) {
            let mut rows = Vec::new();
            read.samples.frame(at, &mut rows);
            assert_eq!(rows.iter().map(|row| row.time).min(), Some(frame.first));
            assert!(rows.is_sorted_by_key(|row| (row.thread, row.time)));
        }
        // What is no sample keeps its own ticks.
        assert_eq!(read.intervals, recording.intervals.concat());
        assert_eq!(read.sums.len(), recording.sums.concat().len());
    }
}

#[test]
fn a_batch_of_more_samples_than_a_frame_holds_comes_back() {
    let folder = TempExperiment::new("several-frames");
    let recording = Recording::generate(4, 2);
    let stacks = recording.tables.stacks.len() as u32;
    assert!(stacks > 100);
    // More than a frame holds, and the stacks one after the other until the end.
    const ROWS: u32 = 280_000;
    let one = recording.samples[0][0];
    let samples: Vec<Sample> = (0..ROWS)
        .map(|at| Sample {
            time: Nanos(u64::from(at) * 1_000_000),
            stack: StackId(1 + (at / (ROWS / (stacks - 1) + 1) + at % 3) % (stacks - 1)),
            thread: ThreadId(at % 2),
            ..one
        })
        .collect();
    let mut writer = recording.begin(&folder.path);
    let batch = Batch {
        samples: &samples,
        ..Default::default()
    };
    writer.append(&recording.tables, &batch).unwrap();
    writer.append(&recording.tables, &batch).unwrap();
    writer.finish(&recording.header).unwrap();
    let read = Experiment::open(&folder.path).unwrap();
    assert_eq!(read.warnings, []);
    assert_eq!(read.samples.frames(), 4);
    let (first, last) = samples.split_at(1 << 18);
    let frames = [first, last, first, last].map(<[Sample]>::to_vec);
    assert_eq!(read.samples.iter().collect::<Vec<_>>(), stored(&frames));
}

#[test]
fn a_sample_takes_at_most_six_bytes_beside_the_tables() {
    let mut recording = Recording::generate(11, 60);
    let counters = recording.counters.iter_mut().flatten();
    counters.for_each(Vec::clear);
    let count = recording.samples.iter().map(Vec::len).sum::<usize>();
    assert_eq!(count, 120_000);
    let each = |bytes: u64| bytes as f64 / count as f64;
    let written = |recording: &Recording, name: &str| {
        let folder = TempExperiment::new(name);
        each(recording.write(&folder.path, false))
    };
    let whole = written(&recording, "size");
    recording.forget_rows();
    let tables = written(&recording, "size-tables");
    println!(
        "{whole:.2} bytes a sample, of which {tables:.2} are {} stacks and other tables",
        recording.tables.stacks.len(),
    );
    assert!(whole - tables <= 6.0);
}
