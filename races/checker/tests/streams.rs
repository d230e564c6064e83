//! Streams of a program that make no sense, as one writes that overwrites the memory of its rings: the checker
//! neither panics nor loses itself, and says so.
#![allow(clippy::unwrap_used)]

use omp_ring::context::Context;
use race_checker::code::Code;
use race_checker::replay::Replay;
use race_checker::streams::Streams;
use race_checker::synchronisation::Synchronisation;

/// A program with loops wherever a number has certain bits.
struct Looping;

impl Code for Looping {
    fn loop_around(&mut self, code: u64) -> Option<u64> {
        (code & 1 == 0).then_some(code & !0xf)
    }

    fn is_of_directive(&mut self, code: u64) -> bool {
        code & 7 == 3
    }

    fn calls(&mut self, stack: &Context) -> Vec<u64> {
        vec![stack.head.code]
    }
}

/// A program under checks, as `collect` reads it.
struct Run {
    streams: Streams,
    replay: Replay,
    number: u64,
}

impl Run {
    fn new() -> Run {
        let mut replay = Replay::default();
        replay.watch(Synchronisation::new(false));
        Run {
            streams: Streams::default(),
            replay,
            number: 0,
        }
    }

    fn words(&mut self, slot: usize, words: &[u64]) {
        self.streams.add(slot, words);
        self.drain();
    }

    fn drain(&mut self) {
        let replay = &mut self.replay;
        self.streams
            .drain(&mut |slot, record| replay.record(slot, record, &mut Looping));
    }

    /// An event with the next number.
    fn event(&mut self, slot: usize, kind: u64, fields: &[u64]) {
        let mut words = vec![kind | (fields.len() as u64) << 8, self.number];
        words.extend(fields);
        self.number += 1;
        self.words(slot, &words);
    }

    /// The program has ended. Returns whether all of its streams made sense.
    fn end(mut self) -> bool {
        while self.streams.waiting() > 0 {
            self.streams.skip();
            self.drain();
        }
        self.replay.hang();
        self.replay.finish();
        self.replay.synchronisation().unwrap().finish();
        self.streams.broken() == 0
    }
}

const THREAD_BEGIN: u64 = 3;
const FORK: u64 = 5;
const JOIN: u64 = 6;
const IMPLICIT: u64 = 7;
const CREATE: u64 = 11;
const SWITCH: u64 = 13;
const WANT: u64 = 20;
const ACQUIRED: u64 = 21;
const LOCK_INIT: u64 = 23;

/// The number of fields of each kind of event, from that of kind 3 on; the last are of kinds 40 to 43.
const FIELDS: [u64; 34] = [
    6, 0, 8, 1, 4, 1, 3, 1, 5, 3, 4, 1, 1, 1, 4, 1, 2, 4, 4, 4, 4, 4, 1, 1, 5, 3, 1, 1, 1, 4, 2, 2,
    0, 3,
];

fn fields(at: usize) -> (u64, u64) {
    let kind = if at < 30 { at + 3 } else { at + 10 };
    (kind as u64, FIELDS[at])
}

/// Numbers that are small, at the ends, powers of two, addresses, or anything.
fn word(random: &mut fastrand::Rng) -> u64 {
    match random.u8(..10) {
        0 => 0,
        1 => u64::MAX,
        2 => u64::MAX - random.u64(..64),
        3 => 1 << random.u32(..64),
        4 => random.u64(..),
        5 => 0x7fff_0000 + random.u64(..4096),
        _ => random.u64(..9),
    }
}

/// What a run of three threads says of itself by chance.
fn at_random(seed: u64) -> Run {
    let random = &mut fastrand::Rng::with_seed(seed);
    let mut run = Run::new();
    for _ in 0..random.usize(50..400) {
        let slot = random.usize(..3);
        match random.u8(..10) {
            0..=3 => {
                let head = 1 | random.u64(..256) << 8 | word(random) << 16;
                let words = [head, word(random), word(random), word(random)];
                run.words(slot, &words);
            }
            4 => {
                let words = [2 | word(random) << 32, word(random), word(random)];
                run.words(slot, &words);
            }
            _ => {
                let (kind, count) = fields(random.usize(..FIELDS.len()));
                let fields: Vec<u64> = (0..count).map(|_| word(random)).collect();
                run.event(slot, kind, &fields);
            }
        }
    }
    run
}

#[test]
fn streams_at_random_end() {
    let senseless = (0..4000).filter(|seed| !at_random(*seed).end()).count();
    assert!(senseless > 3000, "{senseless}");
}

/// The same without what no record can say: addresses beyond all memory, contexts without end. What is left
/// makes no sense as a whole.
#[test]
fn records_at_random_that_can_be_end() {
    let mut whole = 0;
    for seed in 0..1000 {
        let random = &mut fastrand::Rng::with_seed(seed);
        let mut run = Run::new();
        for slot in 0..3 {
            run.event(slot, THREAD_BEGIN, &[1, 4096, 8192, 0, 0, 0]);
        }
        for _ in 0..400 {
            let (kind, count) = fields(random.usize(..FIELDS.len()));
            let slot = random.usize(..3);
            let fields: Vec<u64> = match kind {
                THREAD_BEGIN => continue,
                // Numbers of regions are new.
                FORK => {
                    let mut fields: Vec<u64> = (0..count).map(|_| random.u64(..9)).collect();
                    fields[0] = run.number + 9;
                    fields
                }
                IMPLICIT => vec![random.u64(..=run.number) + 9, random.u64(..4), 3, 0],
                _ => (0..count).map(|_| random.u64(..9)).collect(),
            };
            run.event(slot, kind, &fields);
            let code = random.u64(..40);
            let access = [
                1 | random.u64(..2) << 8 | 8 << 16,
                random.u64(..9000),
                code,
                1,
            ];
            run.words(slot, &access);
        }
        whole += u64::from(run.end());
    }
    assert_eq!(whole, 1000);
}

/// The thread holds one lock and wants another.
fn take_two_locks(run: &mut Run) {
    run.event(0, ACQUIRED, &[1, 8, 0, 0]);
    run.event(0, WANT, &[1, 16, 0, 0]);
}

#[test]
fn a_lock_at_the_last_address_is_given_up() {
    let mut run = Run::new();
    run.event(0, THREAD_BEGIN, &[1, 0, 0, 0, 0, 0]);
    take_two_locks(&mut run);
    run.event(0, LOCK_INIT, &[1, u64::MAX, 0, 0]);
    assert!(!run.end());
}

#[test]
fn a_region_within_itself_is_given_up() {
    let mut run = Run::new();
    run.event(0, THREAD_BEGIN, &[1, 0, 0, 0, 0, 0]);
    for _ in 0..2 {
        run.event(0, FORK, &[5, 0, 2, 0, 0, 0, 0, 0]);
        run.event(0, IMPLICIT, &[5, 0, 2, 0]);
    }
    take_two_locks(&mut run);
    assert!(!run.end());
}

#[test]
fn nothing_is_passed_on_after_what_makes_no_sense() {
    let mut run = Run::new();
    run.event(0, THREAD_BEGIN, &[1, 0, 0, 0, 0, 0]);
    run.event(1, THREAD_BEGIN, &[2, 0, 0, 0, 0, 0]);
    run.words(0, &[0xff]);
    assert_eq!(run.streams.broken(), 1);
    run.event(2, THREAD_BEGIN, &[3, 0, 0, 0, 0, 0]);
    run.words(1, &[1 | 8 << 16, 64, 1, 1]);
    assert_eq!((run.replay.threads(), run.replay.accesses()), (2, 0));
    assert_eq!(run.streams.waiting(), 0);
}

#[test]
fn what_waits_for_an_event_takes_no_more_memory_than_it_may() {
    let mut run = Run::new();
    run.streams.limit(8000);
    run.event(0, THREAD_BEGIN, &[1, 0, 0, 0, 0, 0]);
    // Of another thread, which has taken a number and writes no more.
    run.number += 1;
    for _ in 0..2000 {
        run.event(0, WANT, &[1, 8, 0, 0]);
        assert!(run.streams.waiting() <= 1000);
    }
    assert!(run.streams.is_overfull());
}

/// Each task creates the next one, as on the way through a list.
#[test]
fn tasks_one_within_the_other_end() {
    let mut run = Run::new();
    run.event(0, THREAD_BEGIN, &[1, 0, 1 << 40, 0, 0, 0]);
    run.event(0, FORK, &[9, 0, 1, 0, 0, 0, 0, 0]);
    run.event(0, IMPLICIT, &[9, 0, 1, 0]);
    for task in 10..200_000 {
        run.event(0, CREATE, &[task, 4, 0, 0, 0]);
        run.event(0, SWITCH, &[task - 1, task, 7, 0]);
    }
    run.event(0, JOIN, &[9]);
    assert!(run.end());
}
