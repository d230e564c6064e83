//! Both ends of the ring, with real threads and a real process that is killed.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;
use std::ffi::CString;
use std::io::Write;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use omp_ring::consumer::{ArenaOptions, Consumer, Held, Item, Unreadable};
use omp_ring::context::{Context, Head, MAX_WORDS, Registers, Word};
use omp_ring::layout::{Control, RuntimeKind};
use omp_ring::producer::Producer;
use omp_ring::record::{CallingContextId, InstanceId, Kind, Record};
use omp_ring::{Arena, ArenaError, ClockSource};

fn options() -> ArenaOptions {
    ArenaOptions {
        slots: 4,
        ring_records: 64,
        clock: ClockSource::best(),
        short_ns: 0,
        python: true,
        calls: u32::MAX,
    }
}

fn attach(path: &str) -> Result<Arena, ArenaError> {
    Arena::attach(&CString::new(path).unwrap())
}

fn pair(options: &ArenaOptions) -> (Consumer, Arena) {
    let consumer = Consumer::create(options).unwrap();
    let arena = attach(&consumer.path()).unwrap();
    (consumer, arena)
}

/// Drains up to `limit` records, of which none is a context.
fn records(consumer: &mut Consumer, limit: usize, mut each: impl FnMut(Record)) -> usize {
    let drained = consumer.drain(0, limit, |item| match item {
        Item::Record(record) => each(record),
        Item::Context(..) => panic!("{item:?}"),
    });
    drained.unwrap()
}

fn drained(consumer: &mut Consumer) -> Vec<(Kind, u64)> {
    let mut all = Vec::new();
    records(consumer, usize::MAX, |r| {
        all.push((r.kind().unwrap(), r.payload))
    });
    all
}

#[test]
fn two_threads_pass_every_record_in_order() {
    const RECORDS: u64 = 1_000_000;
    let (mut consumer, arena) = pair(&ArenaOptions {
        ring_records: 1024,
        ..options()
    });
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut producer = Producer::claim(&arena, 1, 2).unwrap();
            for payload in 0..RECORDS {
                producer.push(Kind::TaskSchedule, payload);
            }
        });
        let (mut next, mut lost, mut time) = (0, 0, 0);
        loop {
            let done = consumer.slots().any(|slot| slot.closed);
            let count = records(&mut consumer, 100, |record| {
                assert!(record.time() >= time, "time runs backwards");
                time = record.time();
                match record.kind() {
                    Some(Kind::Lost) => {
                        lost += record.payload;
                        next += record.payload;
                    }
                    kind => {
                        assert_eq!((kind, record.payload), (Some(Kind::TaskSchedule), next));
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
    let (mut consumer, arena) = pair(&options());
    let mut producer = Producer::claim(&arena, 1, 2).unwrap();
    for payload in 0..70 {
        producer.push(Kind::TaskSchedule, payload);
    }
    assert_eq!(consumer.slots().next().unwrap().dropped, 6);
    // Fewer than a quarter is free: the gap stays open.
    assert_eq!(records(&mut consumer, 10, |_| ()), 10);
    producer.push_at(
        producer.now(),
        Some((Kind::Code, 1)),
        Kind::TaskSchedule,
        70,
    );
    assert_eq!(consumer.slots().next().unwrap().pending, 54);
    assert_eq!(records(&mut consumer, 10, |_| ()), 10);
    producer.push(Kind::TaskSchedule, 71);
    let rest = drained(&mut consumer);
    assert_eq!(
        rest[43..],
        [
            (Kind::TaskSchedule, 63),
            (Kind::Lost, 8),
            (Kind::TaskSchedule, 71)
        ]
    );
}

/// A record of which only the order matters has the time of the one before it, which may be lost.
#[test]
fn the_last_time_goes_on_while_records_are_lost() {
    let (mut consumer, arena) = pair(&options());
    let mut producer = Producer::claim(&arena, 1, 2).unwrap();
    for time in 1..=70 {
        producer.push_at(time, None, Kind::TaskSchedule, 0);
    }
    assert_eq!(producer.last(), 70);
    records(&mut consumer, usize::MAX, |_| ());
    producer.push_at(producer.last(), None, Kind::TaskCreate, 0);
    let mut found = Vec::new();
    records(&mut consumer, usize::MAX, |record| {
        found.push((record.kind().unwrap(), record.time()));
    });
    assert_eq!(found, [(Kind::Lost, 70), (Kind::TaskCreate, 70)]);
}

#[test]
fn a_thread_whose_records_are_read_goes_round_a_little_of_its_ring() {
    let (mut consumer, arena) = pair(&ArenaOptions {
        ring_records: 1 << 18,
        ..options()
    });
    let path = consumer.path();
    let touched = || {
        use std::os::unix::fs::MetadataExt;
        std::fs::metadata(&path).unwrap().blocks() * 512
    };
    let mut producer = Producer::claim(&arena, 1, 2).unwrap();
    let before = touched();
    let mut next = 0;
    let mut check = |next: &mut u64| {
        records(&mut consumer, usize::MAX, |record| {
            assert_eq!(record.payload, *next);
            *next += 1;
        });
    };
    for payload in 0..500_000 {
        producer.push(Kind::TaskSchedule, payload);
        if payload % 1000 == 0 {
            check(&mut next);
        }
    }
    check(&mut next);
    // Two parts of 32 KiB; all of the ring is 4 MiB.
    assert_eq!((next, touched() - before), (500_000, 64 << 10));
    // A late reader gets the rest, too.
    for payload in 500_000..560_000 {
        producer.push(Kind::TaskSchedule, payload);
    }
    check(&mut next);
    assert_eq!(next, 560_000);
    assert_eq!(consumer.slots().next().unwrap().dropped, 0);
}

#[test]
fn a_prefix_and_its_record_lie_in_one_part() {
    let (mut consumer, arena) = pair(&options());
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
        drained(&mut consumer),
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
fn waits_leave_half_of_the_ring_to_regions_and_tasks() {
    let (mut consumer, arena) = pair(&options());
    let mut producer = Producer::claim(&arena, 1, 2).unwrap();
    for payload in 0..40 {
        producer.push(Kind::MutexReleased, payload);
    }
    producer.push_sum(producer.now(), &[(Kind::Short, 1), (Kind::ShortSync, 2)]);
    for payload in 0..20 {
        producer.push(Kind::TaskSchedule, payload);
    }
    let dropped = consumer.slots().next().unwrap().dropped;
    let all = drained(&mut consumer);
    let (waits, tasks) = all.split_at(42 - dropped as usize);
    // Half of 64, but for the rest of a part.
    assert!((32..=34).contains(&waits.len()), "{waits:?}");
    // The count of what was lost precedes the next record.
    assert_eq!(tasks[0], (Kind::LostWaits, dropped));
    assert!(waits.iter().all(|it| it.0 == Kind::MutexReleased));
    assert_eq!(tasks[1..].len(), 20);
    assert!(tasks[1..].iter().all(|it| it.0 == Kind::TaskSchedule));
    // The ring is empty again.
    producer.push(Kind::MutexReleased, 7);
    assert_eq!(drained(&mut consumer), [(Kind::MutexReleased, 7)]);
}

#[test]
fn a_record_held_back_is_seen_until_it_is_pushed_or_dropped() {
    let (mut consumer, arena) = pair(&options());
    let mut producer = Producer::claim(&arena, 1, 2).unwrap();
    assert_eq!(consumer.held(0), Held::default());
    producer.hold_back(1000, 77, Kind::MutexAcquire, 5);
    let wait = Record::new(Kind::MutexAcquire, 1000, 5);
    let held = consumer.held(0);
    assert_eq!((held.code, held.records), (77, [Some(wait), None]));
    producer.hold_back(2000, 0, Kind::MutexAcquired, 5);
    assert_eq!(producer.held_times(), [1000, 2000]);
    let hold = Record::new(Kind::MutexAcquired, 2000, 5);
    assert_eq!(consumer.held(0).records, [Some(wait), Some(hold)]);
    assert_eq!(drained(&mut consumer), []);
    producer.drop_held();
    assert_eq!(consumer.held(0), Held::default());
    producer.hold_back(3000, 78, Kind::MutexAcquire, 6);
    assert_eq!(consumer.held(0).records[1], None);
    producer.push_held();
    assert_eq!(consumer.held(0), Held::default());
    assert_eq!(
        drained(&mut consumer),
        [(Kind::Code, 78), (Kind::MutexAcquire, 6)]
    );
}

#[test]
fn a_pause_leaves_a_gap_of_zero() {
    let (mut consumer, arena) = pair(&options());
    let mut producer = Producer::claim(&arena, 1, 2).unwrap();
    producer.push(Kind::ThreadBegin, 1);
    consumer.set_control(Control::Paused);
    producer.push(Kind::ThreadBegin, 2);
    consumer.set_control(Control::Recording);
    producer.push(Kind::ThreadBegin, 3);
    assert_eq!(
        drained(&mut consumer),
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
    let (mut consumer, arena) = pair(&options());
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
    assert_eq!(drained(&mut consumer), [(Kind::ThreadEnd, 0)]);
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

/// A stack of `words` words, each with its own value.
fn stack(words: usize) -> (Head, Vec<Word>) {
    let head = Head {
        code: 0x1000,
        body: 0x2000,
        registers: Registers {
            ip: 0x3000,
            sp: 0x7fff_0000,
            bp: 0x7fff_0040,
        },
        end: 0x7fff_0000 + (1 << 20),
        in_task: true,
    };
    let word = |at: u64| Word {
        bytes: at * 8,
        value: at + 1,
    };
    (head, (0..words as u64).map(word).collect())
}

fn contexts(consumer: &mut Consumer) -> Vec<(CallingContextId, Context)> {
    let mut found = Vec::new();
    let drained = consumer.drain(0, usize::MAX, |item| {
        if let Item::Context(id, context) = item {
            found.push((id, *context));
        }
    });
    drained.unwrap();
    found
}

#[test]
fn a_context_comes_whole_also_over_the_ends_of_parts() {
    let (mut consumer, arena) = pair(&options());
    let mut producer = Producer::claim(&arena, 1, 2).unwrap();
    for number in 1..40 {
        let (head, words) = stack(1 + number as usize % 30);
        producer.push(Kind::ThreadBegin, 1);
        assert_eq!(
            producer.context(&head, &words, &[]),
            CallingContextId(number)
        );
        let found = contexts(&mut consumer);
        let [(id, context)] = found.as_slice() else {
            panic!("{found:?}")
        };
        assert_eq!((*id, context.head), (CallingContextId(number), head));
        let sent: Vec<u64> = context.words.iter().map(|(_, value)| *value).collect();
        assert_eq!(sent, (1..=words.len() as u64).collect::<Vec<_>>());
        let sp = head.registers.sp;
        assert_eq!(context.read(sp), Some(1));
        assert_eq!(context.read(head.end - 8), Some(0));
        assert_eq!(context.read(head.end), None);
    }
}

#[test]
fn a_context_without_room_leaves_the_ring_as_it_was() {
    let (mut consumer, arena) = pair(&options());
    let mut producer = Producer::claim(&arena, 1, 2).unwrap();
    let (head, words) = stack(50);
    for payload in 0..20 {
        producer.push(Kind::TaskSchedule, payload);
    }
    // It needs 54 positions, and 44 are left.
    assert_eq!(producer.context(&head, &words, &[]), CallingContextId::NONE);
    producer.push(Kind::TaskSchedule, 20);
    let all = drained(&mut consumer);
    assert!(all.iter().map(|(_, payload)| *payload).eq(0..=20));
    assert_eq!(producer.context(&head, &words, &[]), CallingContextId(1));
    let (_, too_many) = stack(MAX_WORDS + 1);
    assert_eq!(
        producer.context(&head, &too_many, &[]),
        CallingContextId::NONE
    );
    assert_eq!(contexts(&mut consumer).len(), 1);
}

/// Bytes of the queue of calls that control the recording: 4096 entries and its head, in whole pages.
const CALLS: u64 = 4096 * 128 + 4096;

#[test]
fn a_ring_that_makes_no_sense_is_given_up() {
    /// Bytes of the tables before each ring.
    const TABLES: u64 = 8 * 4096;
    type Spoil = fn(&std::fs::File, u64);
    let cases: [(&str, Spoil); 3] = [
        ("an unknown kind", |file, ring| {
            write_at(file, ring + 16, 0xff);
        }),
        ("a context that goes on beyond the end", |file, ring| {
            write_at(file, ring + 16, Kind::Context as u64);
            write_at(file, ring + 24, 1 | 100 << 32);
        }),
        ("a head beyond the ring", |file, ring| {
            // The first of the four slots, before the queue of calls and the first tables; its head lies
            // 128 bytes into it.
            let slots = ring - TABLES - CALLS - 4 * 384;
            let slots = slots / 4096 * 4096;
            write_at(file, slots + 128, 1 << 40);
        }),
    ];
    for (what, spoil) in cases {
        let (mut consumer, arena) = pair(&options());
        let mut producer = Producer::claim(&arena, 1, 2).unwrap();
        for payload in 0..5 {
            producer.push(Kind::TaskSchedule, payload);
        }
        let file = std::fs::File::options()
            .write(true)
            .open(consumer.path())
            .unwrap();
        let rings = 4 * (TABLES + 4096);
        let first = file.metadata().unwrap().len() - rings;
        spoil(&file, first + TABLES);
        let mut seen = 0;
        let drained = consumer.drain(0, usize::MAX, |_| seen += 1);
        assert_eq!(drained, Err(Unreadable), "{what}");
        assert!(seen <= 1, "{what}");
        let again = consumer.drain(0, usize::MAX, |item| panic!("{what}: {item:?}"));
        assert_eq!(again, Ok(0), "{what}");
        drop(producer);
        assert!(!consumer.recycle(0), "{what}");
    }
}

fn write_at(file: &std::fs::File, at: u64, word: u64) {
    use std::os::unix::fs::FileExt;
    file.write_all_at(&word.to_le_bytes(), at).unwrap();
}

#[test]
fn an_arena_is_made_to_fit_a_limit() {
    let options = ArenaOptions::default();
    let whole = Consumer::create(&options).unwrap();
    let bytes = std::fs::metadata(whole.path()).unwrap().len();
    assert_eq!(options.within(bytes).unwrap().slots, 4096);
    assert_eq!(options.within(bytes - 1).unwrap().slots, 4095);
    let few = options.within(20 << 20).unwrap();
    assert_eq!(few.slots, 4);
    let small = Consumer::create(&few).unwrap();
    assert!(std::fs::metadata(small.path()).unwrap().len() <= 20 << 20);
    assert!(options.within(4 << 20).is_none());
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
        let mut consumer = Consumer::create(&options()).unwrap();
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
            let drained = consumer.drain(index, 1000, |_| seen += 1);
            assert!(seen <= 64 && drained.is_ok_and(|count| count <= 64) || drained.is_err());
            consumer.recycle(index);
        }
        assert!(consumer.runtimes().count() <= 32);
    }
}

#[test]
fn a_registered_runtime_is_read_back() {
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
    assert!(matches!(attach("/nonexistent"), Err(ArenaError::Io(_))));
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("no-arena");
    std::fs::write(&file, vec![7u8; 1 << 16]).unwrap();
    let result = attach(file.to_str().unwrap());
    std::fs::write(&file, b"short").unwrap();
    let short = attach(file.to_str().unwrap());
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

/// Not a test by itself: the next test runs it as a process, and kills it.
#[test]
fn child_that_records_until_killed() {
    let Ok(path) = std::env::var("RING_TEST_ARENA") else {
        return;
    };
    let arena = attach(&path).unwrap();
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
    let mut consumer = Consumer::create(&options()).unwrap();
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
        records(&mut consumer, usize::MAX, |record| check(record, &mut next));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    records(&mut consumer, usize::MAX, |record| check(record, &mut next));
    let left = consumer.slots().next().unwrap();
    assert_eq!(
        (left.pid, left.closed, left.pending),
        (child.id() as i32, false, 0)
    );
    assert!(consumer.recycle(0));
    assert_eq!(consumer.slots().count(), 0);
}
