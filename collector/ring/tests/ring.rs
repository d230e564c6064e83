//! Both ends of the ring, with real threads and a real process that is killed.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use omp_ring::consumer::{ArenaOptions, Consumer};
use omp_ring::layout::{Control, MAX_FRAMES, RuntimeKind};
use omp_ring::producer::Producer;
use omp_ring::record::{InstanceId, Kind, Record, SiteId};
use omp_ring::{Arena, ArenaError, ClockSource};

fn options() -> ArenaOptions {
    ArenaOptions {
        slots: 4,
        ring_records: 64,
        site_words: 4096,
        clock: ClockSource::best(),
    }
}

fn pair(options: &ArenaOptions) -> (Consumer, Arena) {
    let consumer = Consumer::create(options).unwrap();
    let arena = Arena::attach(Path::new(&consumer.path())).unwrap();
    (consumer, arena)
}

fn drained(consumer: &Consumer, index: u32) -> Vec<(Kind, u64)> {
    let mut all = Vec::new();
    consumer.drain(index, usize::MAX, |r| {
        all.push((r.kind().unwrap(), r.payload))
    });
    all
}

#[test]
fn two_threads_pass_every_record_in_order() {
    const RECORDS: u64 = 1_000_000;
    let (consumer, arena) = pair(&ArenaOptions {
        ring_records: 1024,
        ..options()
    });
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut producer = Producer::claim(&arena, 1, 2).unwrap();
            for payload in 0..RECORDS {
                producer.push(Kind::MutexAcquire, payload);
            }
        });
        let (mut next, mut lost, mut time) = (0, 0, 0);
        loop {
            let done = consumer.slots().any(|slot| slot.closed);
            let count = consumer.drain(0, 100, |record: Record| {
                assert!(record.time() >= time, "time runs backwards");
                time = record.time();
                match record.kind() {
                    Some(Kind::Lost) => {
                        lost += record.payload;
                        next += record.payload;
                    }
                    kind => {
                        assert_eq!((kind, record.payload), (Some(Kind::MutexAcquire), next));
                        next += 1;
                    }
                }
            });
            if done && count == 0 {
                break;
            }
        }
        let dropped = consumer.slots().next().unwrap().dropped;
        assert!(lost <= dropped);
        assert_eq!(next + (dropped - lost), RECORDS);
    });
}

#[test]
fn a_full_ring_says_how_much_it_lost_once_there_is_room() {
    let (consumer, arena) = pair(&options());
    let mut producer = Producer::claim(&arena, 1, 2).unwrap();
    for payload in 0..70 {
        producer.push(Kind::SyncWaitEnd, payload);
    }
    assert_eq!(consumer.slots().next().unwrap().dropped, 6);
    // Fewer than a quarter is free: the gap stays open.
    assert_eq!(consumer.drain(0, 10, |_| ()), 10);
    producer.push_at(producer.now(), Some((Kind::Code, 1)), Kind::SyncWaitEnd, 70);
    assert_eq!(consumer.slots().next().unwrap().pending, 54);
    assert_eq!(consumer.drain(0, 10, |_| ()), 10);
    producer.push(Kind::SyncWaitEnd, 71);
    let rest = drained(&consumer, 0);
    assert_eq!(
        rest[43..],
        [
            (Kind::SyncWaitEnd, 63),
            (Kind::Lost, 8),
            (Kind::SyncWaitEnd, 71)
        ]
    );
}

#[test]
fn a_thread_whose_records_are_read_goes_round_a_little_of_its_ring() {
    let (consumer, arena) = pair(&ArenaOptions {
        ring_records: 1 << 16,
        ..options()
    });
    let touched = || {
        use std::os::unix::fs::MetadataExt;
        std::fs::metadata(consumer.path()).unwrap().blocks() * 512
    };
    let mut producer = Producer::claim(&arena, 1, 2).unwrap();
    let before = touched();
    let mut next = 0;
    let check = |next: &mut u64| {
        consumer.drain(0, usize::MAX, |record| {
            assert_eq!(record.payload, *next);
            *next += 1;
        });
    };
    for payload in 0..500_000 {
        producer.push(Kind::MutexAcquire, payload);
        if payload % 1000 == 0 {
            check(&mut next);
        }
    }
    check(&mut next);
    // Two parts of 32 KiB; all of the ring is 1 MiB.
    assert_eq!((next, touched() - before), (500_000, 64 << 10));
    // The rest is there where the reader is late.
    for payload in 500_000..560_000 {
        producer.push(Kind::MutexAcquire, payload);
    }
    check(&mut next);
    assert_eq!(next, 560_000);
    assert_eq!(consumer.slots().next().unwrap().dropped, 0);
}

#[test]
fn a_prefix_and_its_record_lie_in_one_part() {
    let (consumer, arena) = pair(&options());
    let mut producer = Producer::claim(&arena, 1, 2).unwrap();
    producer.push(Kind::ThreadBegin, 1);
    for code in [7, 8] {
        producer.push_at(
            producer.now(),
            Some((Kind::Code, code)),
            Kind::JoinWaitBegin,
            0,
        );
    }
    assert_eq!(
        drained(&consumer, 0),
        [
            (Kind::ThreadBegin, 1),
            (Kind::Code, 0),
            (Kind::Code, 7),
            (Kind::JoinWaitBegin, 0),
            (Kind::Code, 8),
            (Kind::JoinWaitBegin, 0),
        ]
    );
}

#[test]
fn a_pause_leaves_a_gap_of_zero() {
    let (consumer, arena) = pair(&options());
    let mut producer = Producer::claim(&arena, 1, 2).unwrap();
    producer.push(Kind::ThreadBegin, 1);
    consumer.set_control(Control::Paused);
    producer.push(Kind::ThreadBegin, 2);
    consumer.set_control(Control::Recording);
    producer.push(Kind::ThreadBegin, 3);
    assert_eq!(
        drained(&consumer, 0),
        [
            (Kind::ThreadBegin, 1),
            (Kind::Lost, 0),
            (Kind::ThreadBegin, 3)
        ]
    );
    assert_eq!(consumer.slots().next().unwrap().dropped, 0);
}

#[test]
fn a_recycled_slot_is_a_new_generation_and_numbers_on() {
    let (consumer, arena) = pair(&options());
    let mut first = Producer::claim(&arena, 1, 2).unwrap();
    let region = first.instance();
    assert_eq!(region, InstanceId::new(0, 1));
    first.push(Kind::ThreadEnd, 0);
    assert_eq!(Producer::claim(&arena, 1, 3).unwrap().index(), 1);
    drop(first);
    let closed: Vec<_> = consumer
        .slots()
        .map(|s| (s.index, s.tid, s.closed, s.pending))
        .collect();
    assert_eq!(closed, [(0, 2, true, 1), (1, 3, true, 0)]);
    assert!(!consumer.recycle(0), "a record waits");
    assert_eq!(drained(&consumer, 0), [(Kind::ThreadEnd, 0)]);
    assert!(consumer.recycle(0));
    assert_eq!(consumer.slots().count(), 1);

    let mut second = Producer::claim(&arena, 1, 4).unwrap();
    assert_eq!(second.instance(), InstanceId::new(0, 2));
    second.push(Kind::ThreadBegin, 2);
    let view = consumer.slots().next().unwrap();
    assert_eq!(
        (view.index, view.generation, view.tid, view.pending),
        (0, 1, 4, 1)
    );
}

#[test]
fn a_thread_too_many_is_counted() {
    let (consumer, arena) = pair(&options());
    let held: Vec<_> = (0..4)
        .map(|tid| Producer::claim(&arena, 1, tid).unwrap())
        .collect();
    let slots: BTreeSet<u32> = held.iter().map(Producer::index).collect();
    assert_eq!(slots.len(), 4);
    assert!(Producer::claim(&arena, 1, 5).is_none());
    assert_eq!(consumer.refused_slots(), 1);
}

#[test]
fn equal_contexts_of_a_process_are_stored_once() {
    let (consumer, arena) = pair(&options());
    let a = Producer::claim(&arena, 1, 2).unwrap();
    let b = Producer::claim(&arena, 1, 3).unwrap();
    let other_process = Producer::claim(&arena, 7, 7).unwrap();
    let site = a.site((10, 0), &[10, 20, 30], true);
    assert_eq!(b.site((10, 0), &[10, 20, 30], true), site);
    assert_ne!(b.site((10, 0), &[10, 20], true), site);
    assert_ne!(b.site((10, 0), &[10, 20, 30], false), site);
    assert_ne!(other_process.site((10, 0), &[10, 20, 30], true), site);
    let told = a.site((10, 77), &[10, 20, 30], true);
    assert_ne!(told, site);
    assert_eq!(consumer.site(told).unwrap().body, 77);
    let read = consumer.site(site).unwrap();
    assert_eq!((read.pid, read.code, read.complete), (1, 10, true));
    assert_eq!(read.body, 0);
    assert_eq!(read.frames, [10, 20, 30]);
}

#[test]
fn a_context_too_deep_is_cut_and_says_so() {
    let (consumer, arena) = pair(&options());
    let producer = Producer::claim(&arena, 1, 2).unwrap();
    let deep: Vec<u64> = (1..3000).collect();
    let read = consumer.site(producer.site((1, 0), &deep, true)).unwrap();
    assert_eq!((read.frames.len(), read.complete), (MAX_FRAMES, false));
    // The second one does not fit the 4096 words any more.
    assert_eq!(producer.site((2, 0), &deep, true), SiteId::NONE);
    assert_eq!(consumer.refused_sites(), 1);
}

#[test]
fn no_word_of_the_site_area_makes_the_consumer_panic() {
    let (consumer, arena) = pair(&options());
    let producer = Producer::claim(&arena, 1, 2).unwrap();
    let hostile = [0x517e_0001_ffff_ffff, 0x517e_0001_0000_0800, u64::MAX];
    producer.site((1, 0), &hostile, true);
    for word in 0..5000 {
        let _ = consumer.site(SiteId(word));
    }
    assert_eq!(consumer.site(SiteId(u32::MAX)), None);
    assert_eq!(consumer.site(SiteId::NONE), None);
}

#[test]
fn no_content_of_the_arena_makes_the_consumer_panic() {
    let mut state = 0x2545_f491_4f6c_dd1du64;
    let mut random = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    for round in 0..20 {
        let consumer = Consumer::create(&options()).unwrap();
        let length = std::fs::metadata(consumer.path()).unwrap().len() as usize;
        let garbage: Vec<u8> = match round {
            0 => vec![0xff; length],
            // Small numbers, too, so that some pass for states, kinds and counts.
            round => (0..length / 8)
                .flat_map(|_| {
                    (random() >> (random() % 64))
                        .rotate_left(round * 8)
                        .to_ne_bytes()
                })
                .collect(),
        };
        // Overwrites in place; the size is sealed.
        std::fs::File::options()
            .write(true)
            .open(consumer.path())
            .unwrap()
            .write_all(&garbage)
            .unwrap();
        for slot in consumer.slots().collect::<Vec<_>>() {
            assert!(slot.index < 4 && slot.pending <= 64);
        }
        for index in 0..6 {
            let mut seen = 0;
            assert!(consumer.drain(index, 1000, |_| seen += 1) <= 64);
            assert!(seen <= 64);
            consumer.recycle(index);
        }
        for word in 0..4200 {
            let frames = consumer
                .site(SiteId(word))
                .map_or(0, |site| site.frames.len());
            assert!(frames <= MAX_FRAMES);
        }
        assert!(consumer.runtimes().count() <= 32);
    }
}

#[test]
fn a_runtime_introduces_itself() {
    let (consumer, arena) = pair(&options());
    arena.register_runtime(
        RuntimeKind::Ompt,
        5,
        0x7000,
        1 << 20,
        b"LLVM OMP version: 5.0",
    );
    arena.register_runtime(RuntimeKind::Gomp, 5, 0x8000, 0, &[b'x'; 1000]);
    let all: Vec<_> = consumer.runtimes().collect();
    assert_eq!(all[0].version, "LLVM OMP version: 5.0");
    assert_eq!(
        (all[0].kind, all[0].pid, all[0].address),
        (RuntimeKind::Ompt, 5, 0x7000)
    );
    assert_eq!(all[0].refused, 1 << 20);
    assert_eq!(
        (all[1].kind, all[1].version.len()),
        (RuntimeKind::Gomp, 128)
    );
}

#[test]
fn what_is_no_arena_is_refused() {
    assert!(matches!(
        Arena::attach(Path::new("/nonexistent")),
        Err(ArenaError::Io(_))
    ));
    let file = std::env::temp_dir().join(format!("no-arena-{}", std::process::id()));
    std::fs::write(&file, vec![7u8; 1 << 16]).unwrap();
    let result = Arena::attach(&file);
    std::fs::write(&file, b"short").unwrap();
    let short = Arena::attach(&file);
    std::fs::remove_file(&file).unwrap();
    assert!(matches!(result, Err(ArenaError::Foreign)));
    assert!(matches!(short, Err(ArenaError::Foreign)));
    assert!(
        Consumer::create(&ArenaOptions {
            ring_records: 100,
            ..options()
        })
        .is_err()
    );
}

/// Not a test by itself: the process that the next test kills.
#[test]
fn child_that_records_until_killed() {
    let Ok(path) = std::env::var("RING_TEST_ARENA") else {
        return;
    };
    let arena = Arena::attach(Path::new(&path)).unwrap();
    let mut producer = Producer::claim(&arena, std::process::id() as i32, 1).unwrap();
    for payload in 0.. {
        producer.push(Kind::ThreadBegin, payload);
        if payload % 16 == 0 {
            std::thread::sleep(Duration::from_micros(10));
        }
    }
}

#[test]
fn what_a_killed_process_recorded_is_whole() {
    let consumer = Consumer::create(&options()).unwrap();
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "child_that_records_until_killed"])
        .env("RING_TEST_ARENA", consumer.path())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let (mut next, start) = (0, Instant::now());
    let check = |record: Record, next: &mut u64| match record.kind() {
        Some(Kind::Lost) => *next += record.payload,
        Some(Kind::ThreadBegin) => {
            assert_eq!(record.payload, *next);
            *next += 1;
        }
        other => panic!("a torn record: {other:?}"),
    };
    while next < 10_000 {
        assert!(
            start.elapsed() < Duration::from_secs(60),
            "the child records nothing"
        );
        consumer.drain(0, usize::MAX, |record| check(record, &mut next));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    consumer.drain(0, usize::MAX, |record| check(record, &mut next));
    let left = consumer.slots().next().unwrap();
    assert_eq!(
        (left.pid, left.closed, left.pending),
        (child.id() as i32, false, 0)
    );
    assert!(consumer.recycle(0));
    assert_eq!(consumer.slots().count(), 0);
}
