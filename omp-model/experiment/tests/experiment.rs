//! The experiment on disk: what is written comes back, and what is broken is said and survived.
#![allow(clippy::unwrap_used)]

mod growing;

use std::fs;

use experiment::ids::{ContextId, Nanos, StackId, ThreadId, ThreadStateId};
use experiment::rows::{Interval, RegionSpan, Sample, SampleKind, Sum, TaskSpan, TaskSum, Within};
use experiment::state::Scheduling;
use experiment::symbols::SymbolTable;
use experiment::tables::{StackEntry, ThreadState};
use experiment::union::unite;
use experiment::{Batch, Experiment, OpenError, RECORDS, TICK, Warning, sample_tick};
use test_support::{Recording, TempExperiment, assert_same_tables};

fn ticked(time: Nanos, tick: Nanos) -> Nanos {
    Nanos(time.0 / tick.0 * tick.0)
}

/// As the samples come back: whole ticks, grouped by thread within each batch.
fn stored(batches: &[Vec<Sample>]) -> Vec<Sample> {
    stored_by(TICK, batches)
}

fn stored_by(tick: Nanos, batches: &[Vec<Sample>]) -> Vec<Sample> {
    let mut all = Vec::new();
    for batch in batches {
        let mut batch = batch.clone();
        batch.sort_by_key(|sample| sample.thread);
        for sample in &mut batch {
            sample.time = ticked(sample.time, tick);
        }
        all.extend(batch);
    }
    all
}

#[test]
fn a_recording_comes_back_by_value() {
    let folder = TempExperiment::new("by-value");
    let recording = Recording::generate(7, 5);
    recording.write(&folder.path, true);
    let read = Experiment::open(&folder.path).unwrap();
    assert_eq!(read.warnings, []);
    assert!(read.finished);
    assert_eq!(read.header, recording.header);
    assert_eq!(read.name, "by-value.er");
    assert_same_tables(&read.tables, &recording.tables);
    let samples: Vec<Sample> = read.samples.iter().collect();
    assert_eq!(samples, stored(&recording.samples));
    assert_eq!(read.samples.len(), samples.len() as u64);
    let mut sums = recording.sums.concat();
    let mut read_sums: Vec<_> = read.sums.iter().collect();
    let by =
        |sum: &experiment::rows::Sum| (sum.slice, sum.thread, sum.thread_state, sum.scheduling);
    sums.sort_by_key(by);
    read_sums.sort_by_key(by);
    assert_eq!(read_sums, sums);
    let (mut blames, mut read_blames) = (recording.blames.concat(), read.blames.clone());
    let by = |blame: &experiment::rows::Blame| {
        (
            blame.slice,
            blame.thread,
            blame.thread_state,
            blame.scheduling,
        )
    };
    blames.sort_by_key(by);
    read_blames.sort_by_key(by);
    assert_eq!(read_blames, blames);
    assert_eq!(read.intervals, recording.intervals.concat());
    assert_eq!(read.region_sums, recording.region_sums.concat());
    assert_eq!(read.region_works, recording.region_works.concat());
    assert_eq!(read.task_sums, recording.task_sums.concat());
    // From tick to tick: what begins within one begins with it, and likewise ends.
    let spans = recording.region_spans.concat().into_iter().map(|span| {
        let end = Nanos(span.start.0 + span.length.0);
        RegionSpan {
            start: ticked(span.start, TICK),
            length: ticked(end, TICK).since(ticked(span.start, TICK)),
            ..span
        }
    });
    assert_eq!(read.region_spans, spans.collect::<Vec<_>>());
    let pieces = recording.task_spans.concat().into_iter().map(|piece| {
        let end = Nanos(piece.start.0 + piece.length.0);
        TaskSpan {
            start: ticked(piece.start, TICK),
            length: ticked(end, TICK).since(ticked(piece.start, TICK)),
            ..piece
        }
    });
    assert_eq!(read.task_spans, pieces.collect::<Vec<_>>());
    assert_eq!(read.symbols.as_ref(), Some(&recording.symbols));
}

/// Numbers of all widths.
struct Numbers(fastrand::Rng);

impl Numbers {
    fn any(&mut self) -> u64 {
        let width = self.0.u32(..64);
        self.0.u64(..) >> width
    }

    fn below(&mut self, limit: usize) -> u32 {
        self.0.u32(..limit as u32)
    }

    /// Whole ticks, which a length can be added to.
    fn time(&mut self) -> Nanos {
        Nanos(self.any() / 4 / TICK.0 * TICK.0)
    }

    /// A count of instances, of which some are none.
    fn within(&mut self) -> Within {
        Within {
            region: self.any() / 2 * u64::from(self.below(3) > 0),
            task: self.any() / 2 * u64::from(self.below(3) > 0),
        }
    }
}

#[test]
fn rows_of_any_numbers_come_back() {
    let folder = TempExperiment::new("any-numbers");
    let recording = Recording::generate(4, 1);
    let tables = &recording.tables;
    let mut any = Numbers(fastrand::Rng::with_seed(77));
    let rows = 0..3000;
    let samples = rows.clone().map(|_| Sample {
        time: any.time(),
        thread: ThreadId(any.below(2)),
        cpu: any.any() as u16,
        kind: SampleKind::from_u8(any.below(4) as u8).unwrap(),
        stack: StackId(any.below(tables.stacks.len())),
        thread_state: ThreadStateId(any.below(tables.thread_states.len())),
        within: any.within(),
    });
    let mut samples: Vec<Sample> = samples.collect();
    let intervals = rows.clone().map(|_| Interval {
        thread: ThreadId(any.below(2)),
        start: any.time(),
        length: any.time(),
        thread_state: ThreadStateId(any.below(tables.thread_states.len())),
        scheduling: Scheduling::ALL[any.below(4) as usize],
        within: any.within(),
    });
    let mut intervals: Vec<Interval> = intervals.collect();
    let sums = rows.clone().map(|_| Sum {
        slice: any.any() as u32,
        thread: ThreadId(any.below(2)),
        thread_state: ThreadStateId(any.below(tables.thread_states.len())),
        scheduling: Scheduling::ALL[any.below(4) as usize],
        time: Nanos(any.any()),
        count: any.any() as u32,
    });
    let mut sums: Vec<Sum> = sums.collect();
    let task_sums = rows.map(|_| TaskSum {
        slice: any.any() as u32,
        context: ContextId(any.below(tables.contexts.len())),
        thread: ThreadId(any.below(2)),
        instances: any.any() as u32,
        elsewhere: any.any() as u32,
        work: Nanos(any.any()),
        least: Nanos(any.any()),
        most: Nanos(any.any()),
        squares: u128::from(any.any()) * u128::from(any.any()),
    });
    let mut task_sums: Vec<TaskSum> = task_sums.collect();
    let batch = Batch {
        samples: &samples,
        intervals: &intervals,
        sums: &sums,
        task_sums: &task_sums,
        ..Batch::default()
    };
    let mut writer = recording.begin(&folder.path);
    writer.append(tables, &batch).unwrap();
    let read = Experiment::open(&folder.path).unwrap();
    samples.sort_by_key(|row| row.thread);
    assert_eq!(read.samples.iter().collect::<Vec<_>>(), samples);
    intervals.sort_by_key(|row| (row.thread, row.start));
    assert_eq!(read.intervals, intervals);
    sums.sort_by_key(|row| (row.thread, row.slice, row.thread_state, row.scheduling));
    assert_eq!(read.sums.iter().collect::<Vec<_>>(), sums);
    task_sums.sort_by_key(|row| (row.thread, row.slice, row.context));
    assert_eq!(read.task_sums, task_sums);
}

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

/// What a sample shows, whatever the ids of its experiment are.
fn shown(experiment: &Experiment, sample: &Sample) -> (Sample, Vec<(String, u64)>, ThreadState) {
    let tables = &experiment.tables;
    let frames = tables.walk(sample.stack).map(|entry| {
        let StackEntry::Frame(frame) = entry else {
            panic!("the generator cuts no stack");
        };
        let frame = tables.frames.get(frame.0).unwrap();
        let module = tables.modules.get(frame.module.0).unwrap();
        (module.path.clone(), frame.address)
    });
    let without_ids = Sample {
        thread: ThreadId(0),
        stack: StackId::EMPTY,
        thread_state: ThreadStateId::OUTSIDE,
        ..*sample
    };
    let thread_state = *tables.thread_states.get(sample.thread_state.0).unwrap();
    let thread_state = ThreadState {
        context: ContextId::ROOT,
        ..thread_state
    };
    (without_ids, frames.collect(), thread_state)
}

#[test]
fn several_experiments_are_read_as_one_from_their_files() {
    let folders = [
        TempExperiment::new("one-of-two"),
        TempExperiment::new("other-of-two"),
    ];
    let opened = folders.iter().zip([7, 8]).map(|(folder, seed)| {
        Recording::generate(seed, 3).write(&folder.path, true);
        Experiment::open(&folder.path).unwrap()
    });
    let parts: Vec<Experiment> = opened.collect();
    let none = SymbolTable::default();
    let sources: Vec<_> = parts.iter().map(|part| (part, &none)).collect();
    let union = unite(&sources);
    let whole = &union.experiment;
    assert_eq!(union.origins, [1, 1, 2, 2]);
    // Both begin at once, and so do their seconds.
    let begins = || whole.samples.index().iter().map(|frame| frame.first);
    assert_eq!(begins().count(), 6);
    assert!(begins().is_sorted());
    for (number, part) in (0..).zip(&parts) {
        let own = |thread: ThreadId| thread.index() / 2 == number;
        let among = whole.samples.iter().filter(|sample| own(sample.thread));
        let alone = part.samples.iter();
        assert!(
            among
                .map(|sample| (sample.thread.index() % 2, shown(whole, &sample)))
                .eq(alone.map(|sample| (sample.thread.index(), shown(part, &sample))))
        );
        let among = whole.sums.iter().filter(|sum| own(sum.thread));
        let alone = part.sums.iter();
        assert!(
            among
                .map(|sum| (sum.slice, sum.time, sum.count))
                .eq(alone.map(|sum| (sum.slice, sum.time, sum.count)))
        );
    }
    // One of several may itself be several.
    let nested = unite(&[(&parts[0], &none), (whole, &none)]).experiment;
    let last = nested
        .samples
        .iter()
        .filter(|sample| sample.thread.index() / 2 == 2);
    let alone = parts[1].samples.iter();
    assert!(
        last.map(|sample| shown(&nested, &sample))
            .eq(alone.map(|sample| shown(&parts[1], &sample)))
    );
}

#[test]
fn threads_and_processes_are_updated_in_place() {
    let folder = TempExperiment::new("updates");
    let recording = Recording::generate(1, 3);
    recording.write(&folder.path, true);
    let read = Experiment::open(&folder.path).unwrap();
    // The generator starts with a thread alive and lets it die in the last batch.
    assert_eq!(read.tables.threads[1].death, Some(Nanos(3_000_000_000)));
    assert_eq!(read.tables.processes[0].name, "program");
    assert_eq!(read.tables.threads.len(), recording.tables.threads.len());
}

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
        "a record points to a thread that is not in its table"
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
fn a_kill_at_any_byte_leaves_a_smaller_recording() {
    let folder = TempExperiment::new("kill");
    let recording = Recording::small(2);
    recording.write(&folder.path, true);
    let records = folder.path.join(RECORDS);
    let whole = fs::read(&records).unwrap();
    let all = stored(&recording.samples);
    let mut seen_samples = 0;
    for end in 0..whole.len() {
        replace(&records, &whole[..end]);
        let read = match Experiment::open(&folder.path) {
            Ok(read) => read,
            Err(OpenError::Empty(_)) => {
                assert!(end < 16);
                continue;
            }
            Err(other) => panic!("{other}"),
        };
        assert!(end >= 16);
        assert!(!read.finished);
        // header.json stands in for a header frame that is cut.
        assert_eq!(read.header, recording.header);
        let samples: Vec<Sample> = read.samples.iter().collect();
        assert!(samples.len() >= seen_samples);
        seen_samples = samples.len();
        assert_eq!(samples, all[..seen_samples]);
        let unfinished = |warning: &Warning| matches!(warning, Warning::Unfinished { .. });
        assert!(read.warnings.iter().any(unfinished));
        for warning in &read.warnings {
            if let Warning::Cut { offset, bytes } = warning {
                assert_eq!(offset + bytes, end as u64);
            }
            assert!(!matches!(warning, Warning::Damaged { .. }), "{warning}");
        }
    }
    assert_eq!(seen_samples, all.len());
}

#[test]
fn a_full_disk_does_not_spoil_what_comes_after() {
    // /dev/full cannot stand in for a file that is written at an offset: a file whose end holds
    // garbage is what such a write leaves.
    let folder = TempExperiment::new("full");
    let recording = Recording::generate(9, 2);
    let mut writer = recording.begin(&folder.path);
    recording.append(&mut writer, 0);
    let records = folder.path.join(RECORDS);
    let mut bytes = fs::read(&records).unwrap();
    bytes.extend_from_slice(&[9, 0, 255, 255]);
    fs::write(&records, &bytes).unwrap();
    recording.append(&mut writer, 1);
    writer.finish(&recording.header).unwrap();
    let read = Experiment::open(&folder.path).unwrap();
    assert_eq!(read.warnings, []);
    assert_eq!(
        read.samples.iter().collect::<Vec<_>>(),
        stored(&recording.samples)
    );
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
    assert_eq!(
        of_format(9),
        "DIR/newer/records has format 9, but this program reads format 6: use a newer Parallax"
    );
    assert_eq!(
        of_format(1),
        "DIR/newer/records has format 1, but this program reads format 6: record it again"
    );
}

#[test]
fn an_existing_directory_is_not_overwritten() {
    let folder = TempExperiment::new("exists");
    Recording::small(1).write(&folder.path, true);
    let refused = experiment::Writer::create(&folder.path, &Default::default());
    assert!(matches!(
        refused,
        Err(experiment::ExperimentError::Exists(path)) if path == folder.path
    ));
}

#[test]
fn a_sample_takes_at_most_six_bytes_beside_the_tables() {
    let mut recording = Recording::generate(11, 60);
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

/// A new file each time: some file systems wait for the disk when an old one is overwritten.
fn replace(path: &std::path::Path, bytes: &[u8]) {
    fs::remove_file(path).unwrap();
    fs::write(path, bytes).unwrap();
}

/// Reads whatever the bytes make of a recording: anything but a panic is right, and what is read
/// points only to rows that are there.
fn survives(folder: &TempExperiment, bytes: &[u8]) {
    replace(&folder.path.join(RECORDS), bytes);
    let Ok(read) = Experiment::open(&folder.path) else {
        return;
    };
    for sample in &read.samples {
        assert!(sample.thread.index() < read.tables.threads.len());
        assert!(sample.thread_state.index() < read.tables.thread_states.len());
        assert!(read.tables.walk(sample.stack).count() <= read.tables.stacks.len());
    }
    for sum in read.sums.iter() {
        assert!(sum.thread_state.index() < read.tables.thread_states.len());
    }
    if let Some(symbols) = &read.symbols {
        for frame in 0..read.tables.frames.len() as u32 {
            let frame = experiment::ids::FrameId(frame);
            assert!(
                symbols.frame(frame).function.is_none() || symbols.function_of(frame).is_some()
            );
        }
    }
}

/// A byte in the payload of the frame that holds the middle of the file: damage to it is damage
/// wherever frames begin, and does not make one longer than the file.
fn inside_a_payload(bytes: &[u8]) -> usize {
    let mut at = 16;
    loop {
        let mark = &bytes[at..at + 10];
        let length = u32::from_le_bytes([mark[2], mark[3], mark[4], mark[5]]) as usize;
        let end = at + 10 + length;
        if end > bytes.len() / 2 && length > 0 {
            return at + 10 + length / 2;
        }
        at = end;
    }
}

/// Makes every checksum fit again, so that the damage reaches the decoders.
fn mend_checksums(bytes: &mut [u8]) {
    let mut at = 16;
    while let Some(mark) = bytes.get(at..at + 10) {
        let length = u32::from_le_bytes([mark[2], mark[3], mark[4], mark[5]]) as usize;
        let Some(payload) = bytes.get(at + 10..at + 10 + length) else {
            return;
        };
        let mut sum = crc32fast::Hasher::new();
        sum.update(&mark[..6]);
        sum.update(payload);
        let sum = sum.finalize().to_le_bytes();
        bytes[at + 6..at + 10].copy_from_slice(&sum);
        at += 10 + length;
    }
}

#[test]
fn no_damage_makes_the_reader_panic() {
    let folder = TempExperiment::new("fuzz");
    let recording = Recording::small(5);
    recording.write(&folder.path, true);
    let whole = fs::read(folder.path.join(RECORDS)).unwrap();
    let mut random = fastrand::Rng::with_seed(0x5eed);
    for case in 0..6000 {
        let mut bytes = whole.clone();
        for _ in 0..=random.u8(..4) {
            let at = random.usize(..bytes.len());
            match random.u8(..5) {
                0 => bytes.truncate(at.max(1)),
                1 => bytes[at] = random.u8(..),
                2 => bytes[at] ^= 1 << random.u8(..8),
                3 => {
                    let from = random.usize(..whole.len());
                    let length = random.usize(..200).min(whole.len() - from);
                    bytes.splice(at..at, whole[from..from + length].iter().copied());
                }
                _ => {
                    let end = (at + random.usize(..60)).min(bytes.len());
                    bytes.drain(at..end);
                }
            }
            if bytes.is_empty() {
                bytes.push(0);
            }
        }
        if case % 3 > 0 {
            mend_checksums(&mut bytes);
        }
        survives(&folder, &bytes);
    }
}

#[test]
fn a_flipped_bit_costs_what_follows_it_and_is_told() {
    let folder = TempExperiment::new("flip");
    let recording = Recording::generate(2, 3);
    recording.write(&folder.path, true);
    let records = folder.path.join(RECORDS);
    let mut bytes = fs::read(&records).unwrap();
    let at = inside_a_payload(&bytes);
    bytes[at] ^= 0x10;
    fs::write(&records, &bytes).unwrap();
    let read = Experiment::open(&folder.path).unwrap();
    let all = stored(&recording.samples);
    let samples: Vec<Sample> = read.samples.iter().collect();
    assert!(samples.len() >= 1000 && samples.len() < all.len());
    assert_eq!(samples, all[..samples.len()]);
    assert!(!read.finished && read.symbols.is_none());
    let Some(Warning::Damaged {
        offset,
        bytes: lost,
        what,
        ..
    }) = read.warnings.first()
    else {
        panic!("{:?}", read.warnings);
    };
    assert!(*offset as usize <= at && offset + lost == bytes.len() as u64);
    assert_eq!(*what, "its checksum does not fit");
}
