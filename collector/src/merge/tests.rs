//! The merge without a kernel: streams put in by hand.

use experiment::ids::{StackId, ThreadStateId};
use experiment::state::State;
use experiment::tables::ThreadKind;
use omp_ring::consumer::{ArenaOptions, Consumer};
use omp_ring::producer::Producer;
use omp_ring::record::Kind;
use omp_ring::{Arena, ClockSource};
use std::ffi::CString;

use super::*;
use crate::clock::{Line, Pair};
use crate::perf::plan::Plan;
use processes::LoadObjects;
use processes::records::Side;

fn merge() -> Merge {
    let options = ArenaOptions {
        slots: 8,
        ring_records: 64,
        clock: ClockSource::MonotonicRaw,
        short_ns: 0,
        calls: u32::MAX,
        python: true,
    };
    let arena = Consumer::create(&options).expect("a memory file");
    let line = Line::new(Pair {
        ticks: 0,
        raw_ns: 0,
    });
    Merge::new(
        Processes::new(LoadObjects::recorded(None), false),
        OpenMp::new(Some(arena), line),
        0,
    )
}

fn side(merge: &mut Merge, time: u64, tid: i32, what: Side) {
    let record = SideRecord {
        cpu: 0,
        time,
        pid: 10,
        tid,
        what,
    };
    let Merge {
        processes,
        tables,
        events,
        ..
    } = merge;
    processes.apply(tables, record, &mut |event| events.push_back(event));
}

fn sample(merge: &mut Merge, ring: usize, time: u64, tid: i32, kind: SampleKind) {
    let thread = thread_of(&mut merge.processes, &mut merge.tables, (10, tid), time);
    merge
        .waiting
        .resize_with(merge.waiting.len().max(ring + 1), VecDeque::new);
    merge.makers.resize(merge.waiting.len(), Maker::Clock);
    merge.waiting[ring].push_back(Sample {
        time: Nanos(time),
        thread,
        cpu: 0,
        kind,
        stack: StackId::EMPTY,
        thread_state: ThreadStateId::OUTSIDE,
        within: experiment::rows::Within::default(),
    });
}

#[test]
fn samples_of_two_rings_come_out_by_time_and_only_up_to_the_cutoff() {
    let mut merge = merge();
    for (ring, time) in [(0, 10), (0, 30), (0, 50), (1, 20), (1, 40), (1, 60)] {
        sample(&mut merge, ring, time, 10 + ring as i32, SampleKind::User);
    }
    merge.merge(45);
    let times = |merge: &mut Merge| -> Vec<u64> {
        merge
            .take_samples_out()
            .0
            .iter()
            .map(|sample| sample.time.0)
            .collect()
    };
    assert_eq!(times(&mut merge), [10, 20, 30, 40]);
    merge.merge(u64::MAX);
    assert_eq!(times(&mut merge), [50, 60]);
}

#[test]
fn samples_of_counters_come_out_by_counter_and_by_time_among_those_of_the_clock() {
    let mut merge = merge();
    for (ring, time) in [(0, 10), (1, 20), (2, 15), (1, 40), (0, 30)] {
        sample(&mut merge, ring, time, 10, SampleKind::User);
    }
    merge.makers = vec![Maker::Clock, Maker::Counter(1), Maker::Counter(0)];
    merge.merged_of_counters = vec![Vec::new(); 2];
    let thread = thread_of(&mut merge.processes, &mut merge.tables, (10, 10), 20);
    merge.dropped.taken(1, Some((1, thread, Nanos(20))));
    assert_eq!(merge.dropped.lost(1, 2), 2);
    merge.merge(35);
    assert_eq!(merge.samples_waiting(), 4);
    let times =
        |samples: &[Sample]| -> Vec<u64> { samples.iter().map(|sample| sample.time.0).collect() };
    let (clock, counters) = merge.take_samples_out();
    assert_eq!(times(&clock), [10, 30]);
    assert_eq!(
        [0, 1].map(|at| times(&counters[at])),
        [vec![15], vec![20; 3]]
    );
    merge.merge(u64::MAX);
    let (clock, counters) = merge.take_samples_out();
    assert_eq!((times(&clock), times(&counters[1])), (vec![], vec![40]));
}

#[test]
fn a_switch_out_sample_waits_for_its_switch_record() {
    let mut merge = merge();
    side(
        &mut merge,
        1,
        10,
        Side::Comm {
            exec: true,
            name: "app".into(),
        },
    );
    sample(&mut merge, 0, 20, 10, SampleKind::Blocked);
    side(&mut merge, 21, 10, Side::SwitchOut { preempted: true });
    side(&mut merge, 25, 10, Side::SwitchIn);
    sample(&mut merge, 0, 30, 10, SampleKind::Blocked);
    side(&mut merge, 31, 10, Side::SwitchOut { preempted: false });
    merge.merge(25);
    assert_eq!(merge.take_samples_out().0[0].kind, SampleKind::Preempted);
    merge.merge(u64::MAX);
    assert_eq!(merge.take_samples_out().0[0].kind, SampleKind::Blocked);
    assert_eq!(merge.on_cpu(), (20 + 6, 0));
}

#[test]
fn lifetimes_are_accounted_by_scheduling_state() {
    let mut merge = merge();
    side(
        &mut merge,
        100,
        10,
        Side::Comm {
            exec: true,
            name: "app".into(),
        },
    );
    side(
        &mut merge,
        200,
        11,
        Side::Fork {
            parent: 10,
            creator: 10,
        },
    );
    side(&mut merge, 250, 11, Side::SwitchIn);
    side(&mut merge, 300, 11, Side::SwitchOut { preempted: false });
    side(&mut merge, 700, 11, Side::SwitchIn);
    side(&mut merge, 800, 11, Side::Exit);
    merge.merge(u64::MAX);
    merge.close(Nanos(1000));
    let rows = merge.take_rows(Some(Nanos(1000)));
    let accounted = |thread, scheduling| -> u64 {
        rows.sums
            .iter()
            .filter(|sum| sum.thread == ThreadId(thread) && sum.scheduling == scheduling)
            .map(|sum| sum.time.0)
            .sum()
    };
    assert_eq!(accounted(0, Scheduling::Running), 900);
    assert_eq!(accounted(1, Scheduling::Preempted), 50);
    assert_eq!(accounted(1, Scheduling::Running), 150);
    assert_eq!(accounted(1, Scheduling::Blocked), 400);
    assert_eq!(merge.tables.threads[1].death, Some(Nanos(800)));
    assert_eq!(merge.on_cpu(), (900 + 150, 0));
}

#[test]
fn a_thread_that_was_there_is_on_or_off_its_cpu_as_its_first_switch_tells() {
    let mut merge = merge();
    let mut rings = Rings {
        plan: Plan::wished(None, true, 2),
        notes: Vec::new(),
        samples: Vec::new(),
        side_band: Vec::new(),
        switch_stacks: Vec::new(),
        major_faults: Vec::new(),
        counters: Vec::new(),
        unshared: Vec::new(),
    };
    let record = |time, tid, what| SideRecord {
        time,
        pid: 10,
        tid,
        cpu: 0,
        what,
    };
    let out = |preempted| Side::SwitchOut { preempted };
    let found = |tid, scheduling| record(0, tid, Side::Found { scheduling });
    for (time, tid, what) in [
        (100, 10, out(false)),
        (200, 11, Side::SwitchIn),
        (250, 12, Side::SwitchIn),
        (
            300,
            14,
            Side::Fork {
                parent: 10,
                creator: 10,
            },
        ),
    ] {
        merge.side_band(record(time, tid, what));
    }
    let looked_up = vec![
        found(10, Scheduling::Blocked),
        found(11, Scheduling::Running),
        found(12, Scheduling::Blocked),
        found(13, Scheduling::Running),
        // Its fork tells when it began.
        found(14, Scheduling::Running),
    ];
    merge.begin_with(&mut rings, looked_up);
    merge.round_until(&mut Source::Perf(Box::new(rings)), u64::MAX);
    merge.close(Nanos(1000));
    let rows = merge.take_rows(Some(Nanos(1000)));
    let mut sums: Vec<_> = rows
        .sums
        .iter()
        .map(|it| (it.thread.0, it.scheduling, it.time.0))
        .collect();
    sums.sort_unstable_by_key(|(thread, scheduling, _)| (*thread, *scheduling as u8));
    let expected = [
        (0, Scheduling::Running, 100),
        (0, Scheduling::Blocked, 900),
        (1, Scheduling::Running, 800),
        (1, Scheduling::Preempted, 200),
        (2, Scheduling::Running, 750),
        (2, Scheduling::Blocked, 250),
        (3, Scheduling::Running, 1000),
        (4, Scheduling::Preempted, 700),
    ];
    assert_eq!(sums, expected);
}

#[test]
fn a_sample_has_the_state_of_the_openmp_records_before_it() {
    let mut merge = merge();
    side(
        &mut merge,
        1,
        11,
        Side::Fork {
            parent: 10,
            creator: 10,
        },
    );
    let path =
        CString::new(merge.openmp.arena().expect("it has one").path()).expect("no zero byte");
    let arena = Arena::attach(&path).expect("just made");
    let mut producer = Producer::claim(&arena, 10, 11).expect("a free slot");
    producer.push_at(100, None, Kind::ThreadBegin, 1);
    producer.push_at(300, None, Kind::SyncWaitEnd, 3);
    merge.openmp.drain(&merge.processes, 0, false);
    for time in [50, 100, 200] {
        sample(&mut merge, 0, time, 11, SampleKind::User);
    }
    merge.merge(u64::MAX);
    let states: Vec<State> = merge
        .take_samples_out()
        .0
        .iter()
        .map(|sample| {
            merge
                .tables
                .thread_states
                .get(sample.thread_state.0)
                .expect("interned")
                .state
        })
        .collect();
    // At the same time as the record: after it.
    assert_eq!(states, [State::Outside, State::Serial, State::Serial]);
    assert_eq!(merge.openmp.taken, 2);
    assert!(
        merge
            .tables
            .threads
            .iter()
            .any(|thread| thread.kind == ThreadKind::Initial)
    );
}
