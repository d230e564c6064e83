//! Files of `perf record` of a small program on two threads, and files made by hand.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::fs;
use std::path::{Path, PathBuf};

use experiment::Experiment;
use experiment::ids::{Nanos, StackId, ThreadId, ThreadStateId};
use experiment::losses::LossKind;
use experiment::rows::{Sample, SampleKind, Within};

use crate::convert::counters::{OfCounter, Weighed, evened};
use crate::event::Event;
use crate::file::Record;
use crate::sort::{Held, Sorter};
use crate::{is_perf_data, open};

/// Those of `-g`, `--call-graph dwarf`, the same with `-z`, and `-g --switch-events -o -`. Their program is nowhere.
const RECORDED: [&str; 4] = ["chains", "dwarf", "packed", "pipe"];

fn recorded(name: &str) -> PathBuf {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/corpus/perf-data");
    corpus.join(format!("{name}.data"))
}

/// Samples by name of the thread.
fn samples_by_thread(experiment: &Experiment) -> Vec<(String, usize)> {
    let tables = &experiment.tables;
    let threads = (0..).map(ThreadId).zip(&tables.threads);
    let counts = threads.map(|(id, thread)| {
        let samples = experiment.samples.iter();
        let own = tables.processes[thread.process.index()].name.as_str();
        let name = tables.names.get(thread.name.0).map_or("", |name| name);
        let name = if name.is_empty() { own } else { name };
        (
            name.to_owned(),
            samples.filter(|it| it.thread == id).count(),
        )
    });
    counts.filter(|(_, samples)| *samples > 0).collect()
}

/// What a file made by hand is refused with.
fn refusal(bytes: &[u8]) -> String {
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(&file, bytes).unwrap();
    let error = open(file.path()).unwrap_err().to_string();
    error.replace(&*file.path().to_string_lossy(), "FILE")
}

#[test]
fn each_kind_of_file_has_the_samples_that_perf_counts() {
    // As `perf script -F comm,tid` lists them.
    let expected = [[2, 5], [3, 3], [4, 2], [3, 3]];
    for (name, expected) in RECORDED.into_iter().zip(expected) {
        assert!(is_perf_data(&recorded(name)));
        let experiment = open(&recorded(name)).unwrap();
        let [main, helper] = expected;
        assert_eq!(
            samples_by_thread(&experiment),
            [("tiny".to_owned(), main), ("helper".to_owned(), helper)],
            "{name}"
        );
        assert_eq!(experiment.warnings, [], "{name}");
        let header = &experiment.header;
        assert_eq!(header.sampling.period_us, 5000.0, "{name}");
        assert_eq!(header.perf.as_deref(), Some("6.1.192"), "{name}");
        assert_eq!(header.sampling.switches, name == "pipe");
        assert_eq!(header.command[1], "record");
    }
}

#[test]
fn with_switches_the_sums_are_the_lives_of_the_threads() {
    let experiment = open(&recorded("pipe")).unwrap();
    let mut sums = [0; 2];
    let rows = experiment.sums.iter();
    rows.for_each(|sum| sums[sum.thread.index().min(1)] += sum.time.0);
    let lives: Vec<u64> = experiment
        .tables
        .threads
        .iter()
        .map(|thread| thread.death.unwrap().0 - thread.birth.0)
        .collect();
    assert_eq!(sums.to_vec(), lives);
    assert!(
        lives
            .iter()
            .all(|life| (50_000_000..1_000_000_000).contains(life))
    );
}

#[test]
fn a_file_that_is_cut_short_is_shown_up_to_there() {
    let whole = fs::read(recorded("chains")).unwrap();
    let file = tempfile::NamedTempFile::new().unwrap();
    let mut shown = Vec::new();
    for length in (0..whole.len()).step_by(61) {
        fs::write(&file, &whole[..length]).unwrap();
        match open(file.path()) {
            Ok(experiment) => {
                let samples: usize = samples_by_thread(&experiment).iter().map(|it| it.1).sum();
                let notes = experiment.header.notes.join("\n");
                let is_cut = notes.contains("the file is not whole");
                assert_eq!(samples < 7, is_cut && samples < 7, "{length}: {notes}");
                shown.push(samples);
            }
            Err(error) => assert!(
                error.to_string().contains("cannot be shown: it "),
                "{error}"
            ),
        }
    }
    // More of the file, more of the samples.
    assert!(shown.is_sorted(), "{shown:?}");
    assert!(shown.contains(&3) && shown.ends_with(&[7]), "{shown:?}");
}

#[test]
fn sizes_are_held_against_the_file_before_memory_is_reserved() {
    let mut bytes = fs::read(recorded("chains")).unwrap();
    // Those of the attributes, and the offset of the records.
    for at in [32, 40] {
        let mut bytes = bytes.clone();
        bytes[at..at + 8].copy_from_slice(&u64::MAX.to_le_bytes());
        assert!(refusal(&bytes).starts_with("FILE cannot be shown: "));
    }
    // That of the records: `perf record` writes it when it ends.
    bytes[48..56].copy_from_slice(&0u64.to_le_bytes());
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(&file, &bytes).unwrap();
    let experiment = open(file.path()).unwrap();
    let notes = experiment.header.notes.join("\n");
    assert!(notes.contains("`perf record` did not end"), "{notes}");
}

#[test]
fn what_cannot_be_shown_is_said_in_a_sentence() {
    let refusals = [
        refusal(b"2ELIFREP and more"),
        refusal(b"PERFFILE and more"),
        refusal(b"PERFILE2"),
        refusal(b"no magic at all"),
    ];
    expect(
        &refusals,
        &[
            "FILE cannot be shown: it was recorded on a machine with the other byte order, whose stacks this program cannot unwind",
            "FILE cannot be shown: it has perf's format of before 2009: record it again",
            "FILE cannot be shown: it ends within its header: record it again",
            "FILE cannot be shown: it is no file of `perf record`",
        ],
    );
    // A stream: an attribute, and data of a trace behind their record.
    let mut stream = b"PERFILE2\x10\0\0\0\0\0\0\0".to_vec();
    let mut record = |kind: u32, body: &[u8]| {
        stream.extend(kind.to_le_bytes());
        stream.extend([0, 0]);
        stream.extend((body.len() as u16 + 8).to_le_bytes());
        stream.extend(body);
    };
    let mut attribute = [0; 64];
    attribute[4] = 64;
    record(64, &attribute);
    record(71, &3u64.to_le_bytes());
    stream.extend([1, 2, 3]);
    assert!(refusal(&stream).contains("a trace of the processor"));
    // Of a trace that is longer than the file.
    let at = stream.len() - 11;
    stream[at..at + 8].copy_from_slice(&u64::MAX.to_le_bytes());
    assert!(refusal(&stream).contains("it is cut short at byte 104"));
}

fn expect(found: &[String], expected: &[&str]) {
    assert_eq!(found, expected);
}

/// An attribute of 112 bytes.
fn event(kind: u32, config: u64, rate: u64, is_rate: bool) -> Event {
    let mut attribute = [0; 112];
    attribute[..4].copy_from_slice(&kind.to_le_bytes());
    attribute[8..16].copy_from_slice(&config.to_le_bytes());
    attribute[16..24].copy_from_slice(&rate.to_le_bytes());
    attribute[40..48].copy_from_slice(&(u64::from(is_rate) << 10).to_le_bytes());
    Event::of(&attribute)
}

#[test]
fn clocks_and_periods_are_told_apart() {
    let clock = event(1, 0, 1000, true);
    assert!(clock.is_clock() && clock.period().is_none());
    assert_eq!(clock.clock_period(), 1_000_000);
    assert_eq!(event(1, 1, 250_000, false).clock_period(), 250_000);
    let faults = event(1, 2, 1, false);
    assert!(!faults.is_clock() && faults.period() == Some(1));
    assert!(!event(0, 0, 4000, true).is_clock(), "cycles");
    assert!(event(1, 9, 0, false).is_dummy());
    let name = |name: &str| {
        let mut named = clock.clone();
        named.name = name.to_owned();
        named.metric_name(3)
    };
    assert_eq!(name("cycles:u"), "cycles");
    assert_eq!(name("sched:sched_switch"), "sched/sched_switch");
    assert_eq!(name("cpu/event=0x3c/"), "cpu/event=0x3c/");
    assert_eq!(
        (name(":é"), name("")),
        ("event3".to_owned(), "event3".to_owned())
    );
}

#[test]
fn samples_of_unequal_periods_are_repeated_or_left_out() {
    let sample = |thread, stack| Sample {
        time: Nanos(0),
        thread: ThreadId(thread),
        cpu: 0,
        kind: SampleKind::User,
        stack: StackId(stack),
        thread_state: ThreadStateId::OUTSIDE,
        within: Within::default(),
    };
    let weighed = [(0, 1, 1), (0, 2, 1), (0, 3, 300), (0, 3, 98), (1, 4, 100)];
    let counter = OfCounter {
        event: 0,
        name: "cycles".to_owned(),
        samples: weighed
            .map(|(thread, stack, events)| Weighed {
                sample: sample(thread, stack),
                events,
            })
            .into(),
    };
    let (row, samples) = evened(&event(0, 0, 4000, true), &counter);
    assert_eq!((row.interval, row.events, row.samples), (100, 500, 5));
    let stacks: Vec<u32> = samples.iter().map(|it| it.stack.0).collect();
    assert_eq!(stacks, [3, 3, 3, 3, 4]);
}

#[test]
fn records_of_all_cpus_are_in_order() {
    let mut sorter = Sorter::default();
    let mut given = Vec::new();
    let add = |sorter: &mut Sorter, times: &[u64]| {
        for time in times {
            let record = Record {
                kind: 9,
                misc: 0,
                body: Vec::new(),
            };
            let due = sorter.add(Held {
                time: *time,
                event: 0,
                record,
            });
            assert!(due.is_empty());
        }
    };
    // The times of perf's own example: two CPUs, three rounds.
    for times in [[1, 2, 2, 3, 4, 4], [3, 4, 5, 5, 6, 7], [6, 7, 8, 8, 9, 10]] {
        add(&mut sorter, &times);
        given.push(sorter.round().iter().map(|it| it.time).collect::<Vec<_>>());
    }
    given.push(sorter.end().iter().map(|it| it.time).collect());
    let expected: [&[u64]; 4] = [
        &[],
        &[1, 2, 2, 3, 3, 4, 4, 4],
        &[5, 5, 6, 6, 7, 7],
        &[8, 8, 9, 10],
    ];
    assert_eq!(given, expected);
}

/// A file that came through a pipe, of one event with these types of samples and values.
fn stream(
    (rate, sample_type, read_format): (u64, u64, u64),
    records: &[(u32, u16, &[u64])],
) -> tempfile::NamedTempFile {
    let mut bytes = b"PERFILE2\x10\0\0\0\0\0\0\0".to_vec();
    let mut record = |kind: u32, misc: u16, body: &[u8]| {
        bytes.extend(kind.to_le_bytes());
        bytes.extend(misc.to_le_bytes());
        bytes.extend((body.len() as u16 + 8).to_le_bytes());
        bytes.extend(body);
    };
    let words = [1 | 64 << 32, 0, rate, sample_type, read_format, 0, 0, 0];
    let attribute: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    record(64, 0, &attribute);
    for (kind, misc, words) in records {
        let body: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        record(*kind, *misc, &body);
    }
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(&file, bytes).unwrap();
    file
}

/// PERF_SAMPLE_TID and PERF_SAMPLE_TIME.
const TID_AND_TIME: u64 = 6;

#[test]
fn what_lost_and_lost_samples_both_tell_is_counted_once() {
    const LOST: u32 = 2;
    const SAMPLE: u32 = 9;
    const LOST_SAMPLES: u32 = 13;
    /// PERF_FORMAT_LOST: perf writes the kernel's number of lost samples at its end.
    const COUNTS_LOST: u64 = 16;
    let ids = 7 | 7 << 32;
    let sample: (u32, u16, &[u64]) = (SAMPLE, 2, &[ids, 1000]);
    let by_filter = 1 << 15;
    for (read_format, records, lost) in [
        (
            COUNTS_LOST,
            &[(LOST, 0, &[1, 40][..]), (LOST_SAMPLES, 0, &[45])][..],
            45,
        ),
        // perf was killed.
        (COUNTS_LOST, &[(LOST, 0, &[1, 40])], 40),
        // An older kernel: those of LOST_SAMPLES are others, which the processor dropped.
        (0, &[(LOST, 0, &[1, 40]), (LOST_SAMPLES, 0, &[5])], 45),
        (0, &[(LOST_SAMPLES, by_filter, &[5])], 0),
    ] {
        let records = [&[sample], records].concat();
        let file = stream((1000, TID_AND_TIME, read_format), &records);
        let experiment = open(file.path()).unwrap();
        assert_eq!(experiment.header.losses.lost.count(LossKind::Samples), lost);
        assert_eq!(experiment.samples.len(), 1);
    }
}

#[test]
fn values_read_at_samples_are_those_of_every_form() {
    const READ: u64 = 1 << 4;
    let (enabled, running, id, group, lost) = (1, 2, 4, 8, 16);
    let values = |read_format: u64, words: &[u64]| -> Vec<(u64, u64)> {
        let mut attribute = [0; 112];
        attribute[24..32].copy_from_slice(&READ.to_le_bytes());
        attribute[32..40].copy_from_slice(&read_format.to_le_bytes());
        let event = Event::of(&attribute);
        let body: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let sample = event.sample(&body);
        sample.values.all().collect()
    };
    assert_eq!(values(id, &[70, 1]), [(1, 70)]);
    assert_eq!(
        values(id | enabled | running | lost, &[70, 8, 9, 1, 3]),
        [(1, 70)]
    );
    assert_eq!(values(id | group, &[2, 70, 1, 80, 2]), [(1, 70), (2, 80)]);
    let all = id | group | lost | enabled | running;
    let words = [2, 8, 9, 70, 1, 0, 80, 2, 5];
    assert_eq!(values(all, &words), [(1, 70), (2, 80)]);
    // Nobody says whose they are.
    assert_eq!(values(group, &[2, 70, 80]), []);
    // More members than there are bytes.
    assert_eq!(values(id | group, &[u64::MAX, 70, 1]), [(1, 70)]);
}

#[test]
fn folders_and_packed_files_are_refused_with_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    fs::copy(recorded("chains"), folder.path().join("data")).unwrap();
    let refusal = |path: &Path| crate::analysis(path, 1).err().unwrap().to_string();
    let said = refusal(folder.path());
    assert!(said.contains("record without --threads"), "{said}");
    let magics: [(&[u8], &str); 3] = [
        (b"\x1f\x8b\x08\0", "gunzip"),
        (b"\x28\xb5\x2f\xfd", "unzstd"),
        (b"\xfd7zXZ", "unxz"),
    ];
    for (magic, tool) in magics {
        let file = folder.path().join("packed");
        fs::write(&file, magic).unwrap();
        let said = refusal(&file);
        assert!(said.ends_with(&format!("unpack it by {tool}")), "{said}");
    }
}
