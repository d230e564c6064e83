//! What programs of GCC say, executed by libgomp.
#![allow(clippy::unwrap_used)]

mod support;

use std::collections::BTreeMap;
use std::process::Command;

use race_stream::consumer::Consumer;
use race_stream::record::{Checks, Event, Record, WRITE};
use support::structure::check;
use support::{Recording, compile, record};

/// Programs of the profiler's own tests.
const OTHERS: &str = "../../../../collector/runtime/tests/programs/gomp";

fn run(source: &str) -> Recording {
    let recording = record(&compile(source, &[]));
    recording.check();
    recording
}

/// The addresses that a program printed as `name=0x…`.
fn addresses(recording: &Recording) -> BTreeMap<String, u64> {
    let parse = |word: &str| {
        let (name, value) = word.split_once("=0x")?;
        Some((name.to_owned(), u64::from_str_radix(value, 16).ok()?))
    };
    recording
        .stdout
        .split_whitespace()
        .filter_map(parse)
        .collect()
}

#[test]
fn every_construct_is_told_in_an_order_that_makes_sense() {
    for source in ["loops.c", "tasks.c", "sync.c", "constructs.f90"] {
        check(&run(source).in_order(), false);
    }
    for source in [
        "constructs.c",
        "doacross.c",
        "old.c",
        "ordered.c",
        "fork.c",
        "tasks.cpp",
        "locks.f90",
    ] {
        check(&run(&format!("{OTHERS}/{source}")).in_order(), false);
    }
}

#[test]
fn cancelled_and_nested_regions_and_targets_are_told() {
    let program = compile("regions.c", &[]);
    for cancellation in ["false", "true"] {
        let consumer = Consumer::create(Checks::RACE).unwrap();
        let child = support::command(&program)
            .env(race_stream::VARIABLE, consumer.path())
            .env("OMP_CANCELLATION", cancellation)
            .spawn()
            .unwrap();
        let recording = support::record_child(&consumer, child);
        recording.check();
        let events = recording.in_order();
        check(&events, true);
        let count = |wanted: fn(&Event) -> bool| events.iter().filter(|it| wanted(&it.1)).count();
        let is_target =
            |event: &Event| matches!(event, Event::Create { flags, .. } if flags & 8 != 0);
        assert_eq!(count(is_target), 4);
        let is_team =
            |event: &Event| matches!(event, Event::Fork { flags, .. } if flags & 0x4000_0000 != 0);
        // One of the host, one in a target region.
        assert_eq!(count(is_team), 2);
    }
}

#[test]
fn a_program_that_is_not_recorded_goes_on_unharmed() {
    let names = ["loops.c", "tasks.c", "sync.c", "regions.c"].map(str::to_owned);
    let others = ["doacross.c", "old.c", "tasks.cpp"].map(|it| format!("{OTHERS}/{it}"));
    for source in names.iter().chain(&others) {
        let status = support::command(&compile(source, &[]))
            .output()
            .unwrap()
            .status;
        assert!(status.success(), "{source}: {status}");
    }
}

#[test]
fn programs_that_are_not_instrumented_say_the_same() {
    for source in ["loops.c", "tasks.c", "sync.c"] {
        let recording = record(&compile(source, &["-fno-sanitize=thread"]));
        check(&recording.check().in_order(), false);
    }
}

#[test]
fn each_iteration_that_libgomp_schedules_is_in_one_chunk() {
    let recording = run("loops.c");
    let events = recording.in_order();
    let works: Vec<(u8, u64)> = events
        .iter()
        .filter_map(|(thread, event)| match *event {
            Event::Work { kind, count, .. } if *thread == 0 => Some((kind, count)),
            _ => None,
        })
        .collect();
    let expected = [
        (11, 100),
        (12, 34),
        (13, 12),
        (11, 10),
        (11, 3),
        (10, 18),
        (11, 10),
        (12, 25),
        (2, 3),
    ];
    assert_eq!(works, expected);
    let chunks = events.iter().filter_map(|(_, event)| match event {
        Event::Chunk { count, .. } => Some(*count),
        _ => None,
    });
    assert_eq!(
        chunks.sum::<u64>(),
        100 + 34 + 12 + 10 + 3 + 18 + 10 + 25 + 3
    );
    let turns: Vec<u64> = events
        .iter()
        .filter_map(|(_, event)| match event {
            Event::Acquired { kind: 7, lock, .. } => Some(*lock),
            _ => None,
        })
        .collect();
    assert_eq!(turns.len(), 18);
    assert!(turns.iter().all(|turn| *turn == turns[0]), "{turns:x?}");
}

#[test]
fn an_iterations_accesses_follow_its_chunk() {
    let recording = run("loops.c");
    let a = addresses(&recording)["a"];
    let mut seen = 0;
    for records in &recording.threads {
        let mut work = None;
        let mut chunk = None;
        for record in records {
            match record {
                Record::Event(_, Event::Work { count, .. }) => work = Some(*count),
                Record::Event(_, Event::Chunk { first, count }) => chunk = Some((*first, *count)),
                Record::Event(_, Event::WorkEnd { .. }) => work = None,
                // The first loop: element i in iteration i.
                Record::Run(run) if work == Some(100) && run.kind & WRITE != 0 => {
                    let (first, count) = chunk.unwrap();
                    let element = (run.first - a) / 4;
                    let last = element + u64::from(run.count) - 1;
                    assert!(element >= first && last < first + count, "{run:x?}");
                    seen += run.count;
                }
                _ => {}
            }
        }
    }
    assert_eq!(seen, 100);
}

#[test]
fn tasks_have_their_flags_and_dependences() {
    const TASK: u32 = 4;
    const UNDEFERRED: u32 = 0x0800_0000;
    const UNTIED: u32 = 0x1000_0000;
    const FINAL: u32 = 0x2000_0000;
    const MERGEABLE: u32 = 0x4000_0000;
    const TASKWAIT: u32 = 0x10;
    let recording = run("tasks.c");
    let names: BTreeMap<u64, String> = addresses(&recording)
        .into_iter()
        .map(|(name, address)| (address, name))
        .collect();
    let mut tasks: Vec<(u32, Vec<(u8, &str)>)> = Vec::new();
    for (_, event) in recording.in_order() {
        match event {
            Event::Create { flags, .. } => tasks.push((flags, Vec::new())),
            Event::Depend { address, kind, .. } => {
                let (_, dependences) = tasks.last_mut().unwrap();
                dependences.push((kind, &names[&address]));
            }
            _ => {}
        }
    }
    let (dependent, rest) = tasks.split_at(6);
    let expected = [
        (TASK, vec![(3, "x")]),
        (TASK, vec![(3, "y"), (1, "x")]),
        (TASK, vec![(4, "z")]),
        (TASK, vec![(4, "z")]),
        (TASK, vec![(3, "done"), (1, "y")]),
        (TASKWAIT | UNDEFERRED | MERGEABLE, vec![(1, "done")]),
    ];
    assert_eq!(dependent, expected);
    let flags: Vec<u32> = rest.iter().map(|(flags, _)| *flags).collect();
    let mut expected = vec![
        TASK | UNDEFERRED | UNTIED,
        TASK | FINAL | MERGEABLE,
        TASK | UNDEFERRED,
    ];
    // The detached one, two of the group, four of the taskloop.
    expected.extend([TASK; 7]);
    expected.extend([TASK | UNDEFERRED; 4]);
    expected.extend([TASK; 4]);
    assert_eq!(flags, expected);
}

#[test]
fn a_detached_tasks_event_is_its_own() {
    let recording = run("tasks.c");
    let events = recording.in_order();
    let fulfilled: Vec<(u64, u8)> = events
        .iter()
        .filter_map(|(_, event)| match event {
            Event::Switch {
                from,
                status: status @ (5 | 6),
                ..
            } => Some((*from, *status)),
            _ => None,
        })
        .collect();
    let [(task, status)] = fulfilled[..] else {
        panic!("{fulfilled:?}");
    };
    let body_ends = events.iter().find_map(|(_, event)| match event {
        Event::Switch {
            from,
            status: status @ (1 | 4),
            ..
        } if *from == task => Some(*status),
        _ => None,
    });
    // Complete if it was fulfilled early, detached if late.
    assert_eq!(body_ends, Some(if status == 5 { 1 } else { 4 }));
}

/// What each thread does with one lock, in short words.
fn uses(records: &[Record], of: u64) -> Vec<(&'static str, u8)> {
    support::events(records)
        .into_iter()
        .filter_map(|event| match event {
            Event::Want { kind, lock, .. } if lock == of => Some(("want", kind)),
            Event::Acquired { kind, lock, .. } if lock == of => Some(("acquired", kind)),
            Event::Released { kind, lock, .. } if lock == of => Some(("released", kind)),
            Event::LockInit { kind, lock, .. } if lock == of => Some(("init", kind)),
            Event::LockDestroy { kind, lock, .. } if lock == of => Some(("destroy", kind)),
            _ => None,
        })
        .collect()
}

#[test]
fn locks_are_told_at_their_first_and_last_level() {
    let recording = run("sync.c");
    let names = addresses(&recording);
    // The thread that does not make them.
    let lock = uses(&recording.threads[1], names["lock"]);
    let (set, rest) = lock.split_at(3);
    assert_eq!(set, [("want", 1), ("acquired", 1), ("released", 1)]);
    let (tests, last) = rest.split_at(rest.len() - 2);
    assert!(!tests.is_empty() && tests.iter().all(|it| *it == ("want", 2)));
    assert_eq!(last, [("acquired", 2), ("released", 1)]);
    let nest = uses(&recording.threads[1], names["nest"]);
    let (set, tested) = nest.split_at(4);
    let expected = [("want", 3), ("acquired", 3), ("want", 3), ("released", 3)];
    assert_eq!(set, expected);
    let got = [("want", 4), ("acquired", 4), ("want", 4), ("released", 3)];
    assert!(tested == got || tested == [("want", 4)], "{tested:?}");
    let initial = uses(&recording.threads[0], names["nest"]);
    assert_eq!(initial.first(), Some(&("init", 3)));
    assert_eq!(initial.last(), Some(&("destroy", 3)));
}

#[test]
fn accesses_stand_between_the_events_around_them() {
    let recording = run("sync.c");
    let names = addresses(&recording);
    let (before, after) = (names["before"], names["after"]);
    for records in &recording.threads {
        let at = |wanted: &dyn Fn(&Record) -> bool| records.iter().position(wanted).unwrap();
        let is_event = |record: &Record, wanted: &dyn Fn(&Event) -> bool| match record {
            Record::Event(_, event) => wanted(event),
            _ => false,
        };
        let arrive =
            at(&|it| is_event(it, &|event| matches!(event, Event::Arrive { kind: 3, .. })));
        let leave = at(&|it| is_event(it, &|event| matches!(event, Event::Leave { kind: 3 })));
        let acquired = at(&|it| {
            is_event(it, &|event| {
                matches!(event, Event::Acquired { kind: 1, .. })
            })
        });
        let released = at(&|it| {
            is_event(it, &|event| {
                matches!(event, Event::Released { kind: 1, .. })
            })
        });
        let touches = |address: u64, is_write: bool| {
            at(&|it| match it {
                Record::Run(run) => {
                    let is_it = (address..address + 8).contains(&run.first);
                    is_it && (run.kind & WRITE != 0) == is_write
                }
                _ => false,
            })
        };
        assert!(touches(before, true) < arrive && arrive < leave && leave < acquired);
        assert!((acquired..released).contains(&touches(before, false)));
        assert!((acquired..released).contains(&touches(after, true)));
    }
}

#[test]
fn threads_of_the_pool_are_no_threads_of_the_program() {
    let recording = run("sync.c");
    for records in &recording.threads {
        let events = support::events(records);
        let Some(Event::ThreadBegin { created, .. }) = events.first() else {
            panic!("{:?}", events.first());
        };
        assert_eq!(*created, 0);
    }
    let nested = run(&format!("{OTHERS}/old.c"));
    // Those of inner regions end with them.
    let ended = nested
        .events()
        .into_iter()
        .filter(|events| events.last() == Some(&Event::ThreadEnd {}));
    assert!(ended.count() >= 10);
}

#[test]
fn a_runtime_with_ompt_tells_its_events_itself() {
    // LLVM's runtime has libgomp's functions, too.
    let Some(libomp) = libomp() else {
        panic!("`apt install libomp5` brings LLVM's runtime");
    };
    let program = compile("sync.c", &[]);
    let consumer = Consumer::create(Checks::RACE).unwrap();
    let preload = format!("{}:{libomp}", support::library().display());
    let child = support::command(&program)
        .env("LD_PRELOAD", preload)
        .env(race_stream::VARIABLE, consumer.path())
        .spawn()
        .unwrap();
    let recording = support::record_child(&consumer, child);
    recording.check();
    let events = recording.in_order();
    let count = |wanted: fn(&Event) -> bool| events.iter().filter(|it| wanted(&it.1)).count();
    assert_eq!(count(|event| matches!(event, Event::Fork { .. })), 1);
    assert_eq!(count(|event| matches!(event, Event::Implicit { .. })), 2);
    let lock = addresses(&recording)["lock"];
    let set = uses(&recording.threads[1], lock);
    assert_eq!(set[..3], [("want", 1), ("acquired", 1), ("released", 1)]);
}

/// LLVM's runtime, where the loader finds it.
fn libomp() -> Option<String> {
    let output = Command::new("ldconfig")
        .env("PATH", "/usr/sbin:/sbin:/usr/bin:/bin")
        .arg("-p")
        .output()
        .ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let line = text
        .lines()
        .find(|line| line.trim().starts_with("libomp.so"))?;
    Some(line.split("=> ").nth(1)?.to_owned())
}
