//! Memory by which the program and its copies talk: one asks, the other answers.
#![allow(unsafe_code)]

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::time::Duration;

use omp_ring::shm::{self, Mapping};

/// A mailbox: whose turn it is.
#[derive(Clone, Copy)]
pub(crate) enum Box {
    Keeper = 0,
    Peer = 1,
}

/// Whose turn it is, in a mailbox.
pub(crate) const ASKED: u64 = 1;
pub(crate) const ANSWERED: u64 = 2;

/// Other words of the board.
#[derive(Clone, Copy)]
pub(crate) enum Word {
    /// How many ranges are in the list.
    Count = 9,
    /// What the keeper is to do it with.
    Argument = 10,
}

/// Where the requests and the answers are, one for each mailbox: a copy that is slow must not read another one's.
const REQUESTS_AT: usize = 16;
const ANSWERS_AT: usize = 24;

/// Most ranges in the list, and where they are.
pub(crate) const MOST: usize = 1 << 17;
const RANGES_AT: usize = 4096;
/// Most bytes that are sent at once.
pub(crate) const ROOM: usize = 4 << 20;
const ROOM_AT: usize = RANGES_AT + MOST * 16;
const BYTES: usize = ROOM_AT + ROOM;

/// The memory, shared with all copies.
pub(crate) struct Board(Mapping<'static>);

impl Board {
    pub(crate) fn new() -> Option<Board> {
        let file = shm::memory_file(c"parallax-board", BYTES as u64).ok()?;
        Mapping::new(&file, 0, BYTES).ok().map(Board)
    }

    /// Where it is mapped, and its length.
    pub(crate) fn place(&self) -> (u64, u64) {
        (self.0.start().as_ptr() as u64, self.0.bytes() as u64)
    }

    fn word(&self, at: usize) -> &AtomicU64 {
        static NONE: AtomicU64 = AtomicU64::new(0);
        self.0
            .values::<AtomicU64>(at * 8, 1)
            .first()
            .unwrap_or(&NONE)
    }

    pub(crate) fn get(&self, word: Word) -> u64 {
        self.word(word as usize).load(Relaxed)
    }

    pub(crate) fn set(&self, word: Word, value: u64) {
        self.word(word as usize).store(value, Relaxed);
    }

    /// What a copy is asked.
    pub(crate) fn request(&self, of: Box) -> u64 {
        self.word(REQUESTS_AT + of as usize).load(Relaxed)
    }

    /// A copy is asked.
    pub(crate) fn set_request(&self, of: Box, request: u64) {
        self.word(REQUESTS_AT + of as usize).store(request, Relaxed);
        self.pass(of, ASKED);
    }

    /// What a copy has answered.
    pub(crate) fn answer(&self, of: Box) -> u64 {
        self.word(ANSWERS_AT + of as usize).load(Relaxed)
    }

    /// A copy answers.
    pub(crate) fn set_answer(&self, of: Box, answer: u64) {
        self.word(ANSWERS_AT + of as usize).store(answer, Relaxed);
        self.pass(of, ANSWERED);
    }

    pub(crate) fn turn(&self, of: Box) -> u64 {
        self.word(of as usize).load(Acquire)
    }

    /// It is the other side's turn.
    pub(crate) fn pass(&self, of: Box, turn: u64) {
        let word = self.word(of as usize);
        word.store(turn, Release);
        // SAFETY: wakes whoever waits at the word, which lies in the mapping.
        unsafe {
            let at = word.as_ptr().cast::<u32>();
            libc::syscall(libc::SYS_futex, at, libc::FUTEX_WAKE, i32::MAX);
        }
    }

    /// Waits until it is not `turn`'s turn any more, or for that time.
    pub(crate) fn wait(&self, of: Box, turn: u64, time: Duration) {
        let word = self.word(of as usize);
        // What is answered soon takes no system call.
        for _ in 0..2000 {
            if word.load(Acquire) != turn {
                return;
            }
            std::hint::spin_loop();
        }
        let time = libc::timespec {
            tv_sec: time.as_secs() as libc::time_t,
            tv_nsec: time.subsec_nanos().into(),
        };
        // SAFETY: waits at the low half of the word, which lies in the mapping, as long as that is `turn`.
        unsafe {
            let at = word.as_ptr().cast::<u32>();
            libc::syscall(
                libc::SYS_futex,
                at,
                libc::FUTEX_WAIT,
                turn as u32,
                &raw const time,
            );
        }
    }

    /// Writes a list of pairs of numbers. `false` if there is no room for all.
    pub(crate) fn set_ranges(&self, ranges: &[(u64, u64)]) -> bool {
        let words = self
            .0
            .values::<AtomicU64>(RANGES_AT, ranges.len().min(MOST) * 2);
        for (words, (begin, end)) in words.chunks_exact(2).zip(ranges) {
            if let [one, other] = words {
                one.store(*begin, Relaxed);
                other.store(*end, Relaxed);
            }
        }
        self.set(Word::Count, ranges.len().min(MOST) as u64);
        ranges.len() <= MOST
    }

    /// The list.
    pub(crate) fn ranges(&self) -> Vec<(u64, u64)> {
        let count = (self.get(Word::Count) as usize).min(MOST);
        let words = self.0.values::<AtomicU64>(RANGES_AT, count * 2);
        let pair = |words: &[AtomicU64]| match words {
            [one, other] => (one.load(Relaxed), other.load(Relaxed)),
            _ => (0, 0),
        };
        words.chunks_exact(2).map(pair).collect()
    }

    /// Copies the bytes of ranges, begin and end, behind each other into the room.
    ///
    /// # Safety
    /// They are mapped, and nothing writes to them.
    pub(crate) unsafe fn send(&self, ranges: &[(u64, u64)]) {
        let mut at = 0;
        for (begin, end) in ranges {
            let bytes = end.saturating_sub(*begin) as usize;
            if at + bytes > ROOM {
                return;
            }
            let to = self.0.start().as_ptr().wrapping_add(ROOM_AT + at);
            // SAFETY: the caller's promise; the room is in the mapping, and is the asked side's until it answers.
            unsafe { std::ptr::copy_nonoverlapping(*begin as *const u8, to, bytes) };
            at += bytes;
        }
    }

    /// The bytes that were sent.
    pub(crate) fn sent(&self, bytes: usize) -> &[u8] {
        let from = self.0.start().as_ptr().wrapping_add(ROOM_AT);
        // SAFETY: the room is in the mapping, and is the asking side's until it asks again.
        unsafe { std::slice::from_raw_parts(from, bytes.min(ROOM)) }
    }
}
