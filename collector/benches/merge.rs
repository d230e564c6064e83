//! What an OpenMP record costs `collect`: drained, timed, merged, fed to the state machine.
//!
//! Two threads run regions with a barrier each, as tight as real runtimes do; LULESH makes about
//! a million such records a second.

use std::ffi::CString;
use std::time::Instant;

use omp_ring::consumer::{ArenaOptions, Consumer};
use omp_ring::context::Head;
use omp_ring::producer::Producer;
use omp_ring::record::{
    CallingContextId, CodePayload, JoinPayload, Kind, OriginPayload, RegionPayload,
};
use omp_ring::{Arena, ClockSource};
use processes::records::{Side, SideRecord};
use processes::{LoadObjects, Processes};
use recording::clock::{Line, Pair};
use recording::merge::Merge;
use recording::openmp::OpenMp;
use recording::perf::open::Rings;
use recording::perf::plan::Plan;
use recording::source::Source;

const PID: i32 = 100;
const REGIONS: u64 = 4000;
const BATCHES: u64 = 50;

/// One region on its primary thread and its worker, from `time` on. Returns its records.
fn region(
    primary: &mut Producer<'_>,
    worker: &mut Producer<'_>,
    time: u64,
    context: CallingContextId,
) -> u64 {
    let region = primary.instance();
    let team = |index| {
        RegionPayload {
            region,
            index,
            size: 2,
        }
        .pack()
    };
    let code = CodePayload {
        code: 0x40_1234,
        kind: 3,
    }
    .pack();
    let join = JoinPayload { region, kind: 9 }.pack();
    let origin = OriginPayload::new(region, 2, context);
    primary.push_at(time, None, Kind::ParallelBegin, origin.pack());
    primary.push_at(time + 100, None, Kind::ImplicitBegin, team(0));
    primary.push_at(time + 300, None, Kind::SyncWaitBegin, code);
    primary.push_at(time + 500, None, Kind::SyncWaitEnd, 3);
    primary.push_at(time + 700, None, Kind::JoinWaitBegin, join);
    primary.push_at(time + 910, None, Kind::ImplicitEnd, team(0));
    primary.push_at(time + 950, None, Kind::ParallelEnd, team(0));
    worker.push_at(time + 130, None, Kind::ImplicitBegin, team(1));
    worker.push_at(time + 320, None, Kind::SyncWaitBegin, code);
    worker.push_at(time + 510, None, Kind::SyncWaitEnd, 3);
    worker.push_at(time + 720, None, Kind::JoinWaitBegin, join);
    7 + 4
}

fn main() {
    let clock = ClockSource::MonotonicRaw;
    let options = ArenaOptions {
        clock,
        ..ArenaOptions::default()
    };
    let consumer = Consumer::create(&options).expect("a memory file");
    let path = CString::new(consumer.path()).expect("no zero byte");
    let arena = Arena::attach(&path).expect("just made");
    let mut primary = Producer::claim(&arena, PID, PID).expect("a free slot");
    let mut worker = Producer::claim(&arena, PID, PID + 1).expect("a free slot");
    let head = Head {
        code: 0x40_1234,
        ..Head::default()
    };
    let context = primary.context(&head, &[], &[]);

    let processes = Processes::new(LoadObjects::new(None, None), false);
    let line = Line::new(Pair {
        ticks: 0,
        raw_ns: 0,
    });
    let mut merge = Merge::new(processes, OpenMp::new(Some(consumer), line), 0);
    let exec = Side::Comm {
        exec: true,
        name: "bench".into(),
    };
    merge.side_band(SideRecord {
        cpu: 0,
        time: 0,
        pid: PID,
        tid: PID,
        what: exec,
    });
    let fork = Side::Fork {
        parent: PID,
        creator: PID,
    };
    merge.side_band(SideRecord {
        cpu: 0,
        time: 0,
        pid: PID,
        tid: PID + 1,
        what: fork,
    });
    let mut source = Source::Perf(Box::new(Rings {
        plan: Plan::wished(None, true, 2),
        notes: Vec::new(),
        samples: Vec::new(),
        side_band: Vec::new(),
        switch_stacks: Vec::new(),
        major_faults: Vec::new(),
        counters: Vec::new(),
        unshared: Vec::new(),
    }));

    let (mut records, mut seconds, mut time) = (0, 0.0, 1000);
    for _ in 0..BATCHES {
        for _ in 0..REGIONS {
            records += region(&mut primary, &mut worker, time, context);
            time += 1000;
        }
        let start = Instant::now();
        merge.last_round(&mut source);
        seconds += start.elapsed().as_secs_f64();
    }
    assert_eq!(merge.openmp.taken, records, "nothing was dropped");
    println!(
        "{records} records, {:.1} ns each",
        seconds * 1e9 / records as f64
    );
}
