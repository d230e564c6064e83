//! Rows and tables are read back by value.

use experiment::findings::Findings;
use experiment::ids::{ContextId, Nanos, StackId, ThreadId, ThreadStateId};
use experiment::rows::{
    Blame, Interval, RegionSpan, SLICE, Sample, SampleKind, Sum, TaskSpan, TaskSum, Within,
};
use experiment::state::Scheduling;
use experiment::{Batch, Experiment, TICK};
use test_support::{Builder, Recording, TempExperiment, assert_same_tables};

use super::{stored, ticked};

#[test]
fn findings_come_back_as_written_last_and_printable() {
    let folder = TempExperiment::new("findings");
    let mut findings = test_support::findings();
    let make = Builder::default();
    let mut writer = make.write_unfinished(&folder.path);
    writer.findings(&Findings::default()).unwrap();
    findings.coverage.losses = vec!["a\u{1b}[2Jb".to_owned()];
    writer.findings(&findings).unwrap();
    findings.coverage.losses = vec!["a\u{241b}[2Jb".to_owned()];
    let read = Experiment::open(&folder.path).unwrap();
    assert_eq!(read.findings.as_deref(), Some(&findings));
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
    let [faults] = &read.counters[..] else {
        panic!("{:?}", read.counters);
    };
    let of_counter: Vec<Vec<Sample>> = recording.counters.iter().flatten().cloned().collect();
    assert_eq!(
        faults.samples.iter().collect::<Vec<_>>(),
        stored(&of_counter)
    );
    assert_eq!(
        (faults.name.as_str(), faults.events_each),
        ("page-faults", 12.0)
    );
    let mut sums = recording.sums.concat();
    let mut read_sums: Vec<_> = read.sums.iter().collect();
    let by = |sum: &Sum| (sum.slice, sum.thread, sum.thread_state, sum.scheduling);
    sums.sort_by_key(by);
    read_sums.sort_by_key(by);
    assert_eq!(read_sums, sums);
    let mut blames = recording.blames.concat();
    let mut read_blames: Vec<Blame> = read.blames.iter().collect();
    let by = |blame: &Blame| {
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
    assert_eq!(
        read.region_sums.iter().collect::<Vec<_>>(),
        recording.region_sums.concat()
    );
    assert_eq!(
        read.region_works.iter().collect::<Vec<_>>(),
        recording.region_works.concat()
    );
    assert_eq!(
        read.loop_sums.iter().collect::<Vec<_>>(),
        recording.loop_sums.concat()
    );
    assert_eq!(
        read.lock_sums.iter().collect::<Vec<_>>(),
        recording.lock_sums.concat()
    );
    assert_eq!(
        read.lock_waits.iter().collect::<Vec<_>>(),
        recording.lock_waits.concat()
    );
    assert_eq!(
        read.mpi_calls.iter().collect::<Vec<_>>(),
        recording.mpi_calls.concat()
    );
    assert_eq!(
        read.mpi_messages.iter().collect::<Vec<_>>(),
        recording.mpi_messages.concat()
    );
    assert_eq!(
        read.cpu_uses.iter().collect::<Vec<_>>(),
        recording.cpu_uses.concat()
    );
    assert_eq!(read.spans, recording.spans.concat());
    assert_eq!(
        read.phase_sums.iter().collect::<Vec<_>>(),
        recording.phase_sums.concat()
    );
    assert_eq!(read.sample_points, recording.sample_points.concat());
    assert_eq!(
        read.task_sums.iter().collect::<Vec<_>>(),
        recording.task_sums.concat()
    );
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

/// Half of the longest recording, in seconds.
const HALF_A_YEAR: u64 = 183 * 86_400;

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
        Nanos(self.any() % (HALF_A_YEAR * SLICE.0) / TICK.0 * TICK.0)
    }

    /// The time of many threads together.
    fn sum(&mut self) -> Nanos {
        Nanos(self.any() >> 4)
    }

    fn slice(&mut self) -> u32 {
        (self.any() % HALF_A_YEAR) as u32
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
        slice: any.slice(),
        thread: ThreadId(any.below(2)),
        thread_state: ThreadStateId(any.below(tables.thread_states.len())),
        scheduling: Scheduling::ALL[any.below(4) as usize],
        time: any.sum(),
        count: any.any() as u32,
    });
    let mut sums: Vec<Sum> = sums.collect();
    let task_sums = rows.map(|_| TaskSum {
        slice: any.slice(),
        context: ContextId(any.below(tables.contexts.len())),
        thread: ThreadId(any.below(2)),
        instances: any.any() as u32,
        unfinished: any.any() as u32,
        elsewhere: any.any() as u32,
        work: any.sum(),
        least: any.sum(),
        most: any.sum(),
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
    assert_eq!(read.task_sums.iter().collect::<Vec<_>>(), task_sums);
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
