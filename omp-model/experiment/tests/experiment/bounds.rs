//! What is kept in memory has a bound, whatever a file holds.

use experiment::header::Header;
use experiment::ids::{NameId, Nanos, StackId, ThreadId, ThreadStateId};
use experiment::rows::{Interval, Sample, SampleKind, Within};
use experiment::state::Scheduling;
use experiment::tables::{Cut, Stack, StackEntry, Tables, ThreadKind};
use experiment::{Batch, Experiment, Warning, Writer};
use test_support::{Builder, TempExperiment};

/// A recording of a thread: its tables, and its writer.
fn recording(path: &TempExperiment) -> (Tables, Writer) {
    let mut builder = Builder::new(&["./app"], "/src/app.c");
    builder.process(100, "app", "/bin/app");
    let thread: ThreadId = builder.thread(100, ThreadKind::Initial);
    assert_eq!(thread, ThreadId(0));
    let writer = Writer::create(&path.path, &Header::default()).unwrap();
    (builder.tables, writer)
}

#[test]
fn of_too_many_intervals_the_longer_half_is_kept() {
    let folder = TempExperiment::new("intervals");
    let (tables, mut writer) = recording(&folder);
    let most = 1 << 20;
    let interval = |at: u64| Interval {
        thread: ThreadId(0),
        start: Nanos(at * 1_000),
        // Any order of lengths, each once.
        length: Nanos((at * 7_919 % 1_100_003) * 1_000),
        thread_state: ThreadStateId::OUTSIDE,
        scheduling: Scheduling::Running,
        within: Within::default(),
    };
    let intervals: Vec<Interval> = (0..=most).map(interval).collect();
    let append = |writer: &mut Writer, intervals: &[Interval]| {
        let batch = Batch {
            intervals,
            ..Batch::default()
        };
        writer.append(&tables, &batch).unwrap();
    };
    append(&mut writer, &intervals[..most as usize]);
    let all = Experiment::open(&folder.path).unwrap();
    assert_eq!(all.intervals.len(), most as usize);
    append(&mut writer, &intervals[most as usize..]);
    let half = Experiment::open(&folder.path).unwrap().intervals;
    let shortest = half.iter().map(|row| row.length).min().unwrap();
    let longer = intervals.iter().filter(|row| row.length >= shortest);
    assert_eq!(half.len(), longer.count());
    assert!((most / 2 - 1..=most / 2).contains(&(half.len() as u64)));
}

#[test]
fn stacks_beyond_those_that_are_kept_are_unknown() {
    let folder = TempExperiment::new("stacks");
    let (mut tables, mut writer) = recording(&folder);
    let most = 1 << 21;
    while tables.stacks.len() < most + 2 {
        let last = tables.stacks.len() as u32 - 1;
        tables.stacks.intern(Stack {
            callers: StackId(last),
            entry: StackEntry::Cut(Cut::BadStack),
        });
    }
    let sample = |stack: usize| Sample {
        time: Nanos(1_000),
        thread: ThreadId(0),
        cpu: 0,
        kind: SampleKind::User,
        stack: StackId(stack as u32),
        thread_state: ThreadStateId::OUTSIDE,
        within: Within::default(),
    };
    let batch = Batch {
        samples: &[sample(most - 1), sample(most), sample(most + 1)],
        ..Batch::default()
    };
    writer.append(&tables, &batch).unwrap();
    let read = Experiment::open(&folder.path).unwrap();
    let stacks: Vec<u32> = read.samples.iter().map(|sample| sample.stack.0).collect();
    assert_eq!(stacks, [most as u32 - 1, 0, 0]);
    assert_eq!(read.tables.stacks.len(), most);
    let told = Warning::TooManyStacks {
        kept: most,
        left_out: 2,
    };
    assert!(read.warnings.contains(&told), "{:?}", read.warnings);
}

#[test]
fn a_short_file_cannot_fill_the_memory_with_names() {
    let folder = TempExperiment::new("names");
    let (mut tables, mut writer) = recording(&folder);
    let name = |at: u32| format!("{at:0>4000}");
    for at in 0..40_000 {
        tables.names.intern(name(at));
    }
    writer.append(&tables, &Batch::default()).unwrap();
    let read = Experiment::open(&folder.path).unwrap();
    assert!(read.tables.names.len() < 40_000);
    assert_eq!(read.tables.names.get(NameId(1).0), Some(&name(0)));
    let is_told = |warning: &Warning| matches!(warning, Warning::Damaged { what, .. } if what.contains("more rows than"));
    assert!(read.warnings.iter().any(is_told), "{:?}", read.warnings);
}
