//! What the program says about its recording: pause it, go on, name a sample point or a phase, end it.
//!
//! All threads of all processes push into one queue in the arena, since such calls are rare
//! and concern more than their thread. A push is lock-free and makes no system call but for the clock,
//! so that a signal handler may push, too. If the queue is full, the call is dropped and counted.

use std::ffi::CStr;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicI32, AtomicU32, AtomicU64};

use crate::time;

/// The environment variable that names the signals of `collect -y` and `-l` to the library in the
/// program: their numbers with a space between, 0 for none.
pub const SIGNALS_VARIABLE: &str = match SIGNALS_VARIABLE_C.to_str() {
    Ok(name) => name,
    Err(_) => panic!("ASCII is UTF-8"),
};
/// [`SIGNALS_VARIABLE`] as a C string.
pub const SIGNALS_VARIABLE_C: &CStr = c"PARALLAX_SIGNALS";

/// The number of calls that the queue holds. `collect` reads it each round, some 20 times a second.
pub(crate) const CALLS: usize = 4096;
/// The longest name in bytes; longer ones are cut.
pub const NAME_BYTES: usize = 64;
/// Readings, at least 10 ms apart, after which an incomplete call is given up.
const MOST_STOPS: u32 = 100;
/// Attempts to take an entry while other threads take theirs.
const ATTEMPTS: usize = 1000;

/// A kind of call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum ControlKind {
    /// Recording pauses.
    Pause = 1,
    /// Recording goes on.
    Resume = 2,
    /// A sample point, named or not.
    Sample = 3,
    /// Recording ends, the program goes on.
    Terminate = 4,
    /// A phase of the process begins.
    PhaseBegin = 5,
    /// The innermost phase of the process ends.
    PhaseEnd = 6,
    /// A sample point by the signal of `-l`.
    SampleSignal = 7,
    /// The program has replaced our handler of the signal with this number.
    HandlerReplaced = 8,
    /// The program, or what its compiler inserts, has misused an interface: [`Misuse`], with a name.
    Misuse = 9,
}

/// How events of GASP are wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub enum Misuse {
    /// It is not known which runtime's numbers they have.
    Numbers = 1,
    /// No event has this number.
    Unknown = 2,
    /// An event ends that has not started.
    Unbegun = 3,
    /// An event ends before others that started in it.
    Crossed = 4,
    /// Too many are open in a thread.
    TooDeep = 5,
    /// The program makes too many of its own.
    TooMany = 6,
    /// A description has a conversion that is not known.
    Description = 7,
}

impl Misuse {
    /// The one with a number.
    pub fn of(number: u64) -> Option<Misuse> {
        let all = [
            Misuse::Numbers,
            Misuse::Unknown,
            Misuse::Unbegun,
            Misuse::Crossed,
            Misuse::TooDeep,
            Misuse::TooMany,
            Misuse::Description,
        ];
        all.into_iter().find(|it| *it as u64 == number)
    }
}

impl ControlKind {
    fn from_word(word: u32) -> Option<ControlKind> {
        Some(match word {
            1 => ControlKind::Pause,
            2 => ControlKind::Resume,
            3 => ControlKind::Sample,
            4 => ControlKind::Terminate,
            5 => ControlKind::PhaseBegin,
            6 => ControlKind::PhaseEnd,
            7 => ControlKind::SampleSignal,
            8 => ControlKind::HandlerReplaced,
            9 => ControlKind::Misuse,
            _ => return None,
        })
    }
}

/// What a process had used when it called; zeros where that was not asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Used {
    /// CPU time in user mode, in nanoseconds. Of [`ControlKind::HandlerReplaced`], the signal; of
    /// [`ControlKind::Misuse`], which.
    pub user: u64,
    /// CPU time in the kernel, in nanoseconds.
    pub system: u64,
    /// Page faults without input.
    pub minor_faults: u64,
    /// Page faults that waited for input.
    pub major_faults: u64,
}

/// A call, as read from the queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ControlCall {
    /// `CLOCK_MONOTONIC_RAW`, in nanoseconds.
    pub time: u64,
    /// The process that called, as in `/proc`.
    pub pid: i32,
    /// The kind.
    pub kind: ControlKind,
    /// The process's resource use, of a sample point.
    pub used: Used,
    /// The name of a sample point or a phase; bytes that are not UTF-8 are replaced.
    pub name: String,
}

/// An entry of the queue.
#[derive(Debug)]
#[repr(C, align(128))]
pub(crate) struct Entry {
    /// Twice the round of the queue to which the entry belongs; one more once it is written.
    state: AtomicU64,
    time: AtomicU64,
    pid: AtomicI32,
    /// A [`ControlKind`] and, above it by 16 bits, the name's length.
    kind: AtomicU32,
    used: [AtomicU64; 4],
    name: [AtomicU64; NAME_BYTES / 8],
}

/// The queue. Zeros are an empty one.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct ControlQueue {
    /// Whether recording is paused: 1, or 0.
    paused: AtomicU32,
    /// Calls that found no room.
    dropped: AtomicU32,
    /// The next position to take.
    head: AtomicU64,
    entries: [Entry; CALLS],
}

/// The program's side.
impl ControlQueue {
    /// Whether recording is paused.
    #[inline]
    pub(crate) fn is_paused(&self) -> bool {
        self.paused.load(Relaxed) != 0
    }

    /// Pauses recording, or lets it go on.
    pub(crate) fn set_paused(&self, paused: bool) {
        self.paused.store(u32::from(paused), Relaxed);
    }

    /// Pauses recording, or lets it go on if it is paused. Returns whether it is paused now.
    pub(crate) fn toggle(&self) -> bool {
        self.paused.fetch_xor(1, AcqRel) == 0
    }

    /// Adds a call of process `pid` with the time now.
    pub(crate) fn push(&self, pid: i32, kind: ControlKind, used: Used, name: &[u8]) {
        let Some((entry, round)) = self.take() else {
            self.dropped.fetch_add(1, Relaxed);
            return;
        };
        let name = name.get(..NAME_BYTES).unwrap_or(name);
        entry.time.store(time::monotonic_raw(), Relaxed);
        entry.pid.store(pid, Relaxed);
        entry
            .kind
            .store(kind as u32 | (name.len() as u32) << 16, Relaxed);
        let numbers = [used.user, used.system, used.minor_faults, used.major_faults];
        for (to, from) in entry.used.iter().zip(numbers) {
            to.store(from, Relaxed);
        }
        for (to, from) in entry.name.iter().zip(name.chunks(8)) {
            let mut word = [0; 8];
            word.iter_mut().zip(from).for_each(|(to, from)| *to = *from);
            to.store(u64::from_le_bytes(word), Relaxed);
        }
        // `collect` may have given the entry up.
        let _ = entry
            .state
            .compare_exchange(2 * round, 2 * round + 1, Release, Relaxed);
    }

    /// An entry of the caller's own, and its round.
    fn take(&self) -> Option<(&Entry, u64)> {
        let mut at = self.head.load(Relaxed);
        for _ in 0..ATTEMPTS {
            let entry = self.entries.get(at as usize % CALLS)?;
            let round = at / CALLS as u64;
            let state = entry.state.load(Acquire);
            if state == 2 * round {
                match self
                    .head
                    .compare_exchange_weak(at, at.wrapping_add(1), Relaxed, Relaxed)
                {
                    Ok(_) => return Some((entry, round)),
                    Err(head) => at = head,
                }
            } else if state < 2 * round {
                // Not read yet.
                return None;
            } else {
                at = self.head.load(Relaxed);
            }
        }
        None
    }
}

/// The reading side of the queue.
#[derive(Debug, Default)]
pub(crate) struct ControlReader {
    next: u64,
    /// How often in a row the reading stopped at this position although it was taken.
    stops: u32,
    /// Calls that were given up.
    lost: u64,
}

impl ControlReader {
    /// Reads what has been pushed since the last call. A thread that is killed between taking an entry
    /// and writing it leaves one that is never written, which is given up in time.
    pub(crate) fn read(&mut self, queue: &ControlQueue, mut each: impl FnMut(ControlCall)) {
        for _ in 0..CALLS {
            let entry = &queue.entries[self.next as usize % CALLS];
            let round = self.next / CALLS as u64;
            let state = entry.state.load(Acquire);
            if state == 2 * round + 1 {
                each_of(entry, &mut each);
            } else {
                if queue.head.load(Relaxed) <= self.next {
                    return;
                }
                self.stops += 1;
                if self.stops < MOST_STOPS {
                    return;
                }
                self.lost += 1;
            }
            self.stops = 0;
            entry.state.store(2 * round + 2, Release);
            self.next += 1;
        }
    }

    /// The number of calls that were dropped.
    pub(crate) fn lost(&self, queue: &ControlQueue) -> u64 {
        self.lost + u64::from(queue.dropped.load(Relaxed))
    }
}

fn each_of(entry: &Entry, each: &mut impl FnMut(ControlCall)) {
    let word = entry.kind.load(Relaxed);
    let Some(kind) = ControlKind::from_word(word & 0xffff) else {
        return;
    };
    let mut name: Vec<u8> = Vec::with_capacity(NAME_BYTES);
    for word in &entry.name {
        name.extend(word.load(Relaxed).to_le_bytes());
    }
    name.truncate((word >> 16) as usize);
    let [user, system, minor_faults, major_faults] =
        [0, 1, 2, 3].map(|at: usize| entry.used[at].load(Relaxed));
    each(ControlCall {
        time: entry.time.load(Relaxed),
        pid: entry.pid.load(Relaxed),
        kind,
        used: Used {
            user,
            system,
            minor_faults,
            major_faults,
        },
        name: String::from_utf8_lossy(&name)
            .trim_end_matches('\u{fffd}')
            .to_owned(),
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queue() -> Box<ControlQueue> {
        let entry = || Entry {
            state: AtomicU64::new(0),
            time: AtomicU64::new(0),
            pid: AtomicI32::new(0),
            kind: AtomicU32::new(0),
            used: [const { AtomicU64::new(0) }; 4],
            name: [const { AtomicU64::new(0) }; NAME_BYTES / 8],
        };
        Box::new(ControlQueue {
            paused: AtomicU32::new(0),
            dropped: AtomicU32::new(0),
            head: AtomicU64::new(0),
            entries: std::array::from_fn(|_| entry()),
        })
    }

    fn read(reader: &mut ControlReader, queue: &ControlQueue) -> Vec<ControlCall> {
        let mut calls = Vec::new();
        reader.read(queue, |call| calls.push(call));
        calls
    }

    #[test]
    fn calls_come_in_order_and_a_full_queue_drops_and_counts() {
        let (queue, mut reader) = (queue(), ControlReader::default());
        let long = "é".repeat(NAME_BYTES);
        queue.push(7, ControlKind::PhaseBegin, Used::default(), long.as_bytes());
        queue.push(7, ControlKind::PhaseEnd, Used::default(), b"");
        let calls = read(&mut reader, &queue);
        assert_eq!(calls.len(), 2);
        assert_eq!(calls[0].name, "é".repeat(NAME_BYTES / 2));
        assert_eq!((calls[1].pid, calls[1].kind), (7, ControlKind::PhaseEnd));
        assert!(calls[0].time > 0 && calls[0].time <= calls[1].time);
        for _ in 0..3 {
            for _ in 0..CALLS + 5 {
                queue.push(1, ControlKind::Sample, Used::default(), b"x");
            }
            assert_eq!(read(&mut reader, &queue).len(), CALLS);
        }
        assert_eq!(reader.lost(&queue), 15);
    }

    #[test]
    fn a_toggle_changes_what_was_set() {
        let queue = queue();
        queue.set_paused(true);
        assert!(queue.is_paused());
        assert!(!queue.toggle() && queue.toggle());
    }

    #[test]
    fn calls_of_many_threads_arrive_once_each() {
        const THREADS: u64 = 4;
        const EACH: u64 = 20_000;
        let (queue, mut reader) = (queue(), ControlReader::default());
        let mut seen = vec![0; THREADS as usize];
        std::thread::scope(|scope| {
            let pushers: Vec<_> = (0..THREADS as i32)
                .map(|pid| {
                    let queue = &queue;
                    scope.spawn(move || {
                        for number in 0..EACH {
                            let used = Used {
                                user: number,
                                ..Used::default()
                            };
                            queue.push(pid, ControlKind::Sample, used, b"x");
                        }
                    })
                })
                .collect();
            let mut last = [None; THREADS as usize];
            loop {
                let are_done = pushers.iter().all(|pusher| pusher.is_finished());
                reader.read(&queue, |call| {
                    let at = call.pid as usize;
                    assert!(last[at] < Some(call.used.user), "in order, and once");
                    last[at] = Some(call.used.user);
                    seen[at] += 1;
                });
                if are_done {
                    break;
                }
                std::thread::sleep(std::time::Duration::from_millis(1));
            }
        });
        // How many are dropped depends on which threads get a CPU.
        let seen: u64 = seen.iter().sum();
        assert!(seen >= CALLS as u64, "{seen}");
        assert_eq!(seen + reader.lost(&queue), THREADS * EACH);
    }

    #[test]
    fn an_entry_that_is_never_written_is_given_up() {
        let (queue, mut reader) = (queue(), ControlReader::default());
        let (entry, round) = queue.take().expect("room");
        queue.push(1, ControlKind::Sample, Used::default(), b"x");
        for _ in 1..MOST_STOPS {
            assert_eq!(read(&mut reader, &queue), []);
        }
        assert_eq!(read(&mut reader, &queue).len(), 1);
        assert_eq!(reader.lost(&queue), 1);
        // Its thread does write it in the end.
        assert_eq!((entry.state.load(Relaxed), round), (2, 0));
    }
}
