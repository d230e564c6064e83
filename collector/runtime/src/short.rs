//! Short waits of a thread: sums in place of records.
//!
//! A program may take a lock ten million times a second. Records of that would fill the ring, and
//! cost more than the lock. So a wait of less than 5 µs is no record, nor is the hold of a mutex that
//! follows it if both together are as short ([`Producer::short_ns`]). Their lengths are added up by call, and the
//! sums are pushed before the thread's next record, or once in [`PERIOD_NS`].
//!
//! A sample takes some microseconds, so what it falls into is not short: samples find a thread waiting for
//! the mutex or holding it. So the time of short acquisitions and holds must be known, too; else it would
//! be that of the samples around them.

use ::ompt::numbers::mutex;
use omp_ring::producer::Producer;
use omp_ring::record::{CodePayload, HoldPayload, Kind, MutexPayload, ShortPayload};

/// An acquisition of a mutex that takes this long has waited: a free mutex of LLVM's runtime takes half
/// as long if neither it nor the runtime's code is in a cache.
const CONTENDED_NS: u64 = 1_000;

/// The longest time between a wait and the push of its sum, while such waits go on.
const PERIOD_NS: u64 = 1_000_000;

/// `ompt_mutex_atomic`.
const ATOMIC: u32 = mutex::ATOMIC as u32;

/// Number of sums. They are pushed if there are more calls in a period.
const SUMS: usize = 16;

/// A wait that is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wait {
    /// In a barrier or for tasks: `ompt_sync_region_t`.
    Sync(u32),
    /// For a mutex: `ompt_mutex_t`, and its id among those of its kind.
    Mutex(u32, u64),
}

/// The short waits of one kind in one call.
#[derive(Clone, Copy, Debug)]
struct Sum {
    /// The call; 0 if unknown.
    code: u64,
    /// The kind; with a mutex, if all were for the same one, else with 0.
    wait: Wait,
    /// The waits, including acquisitions that did not wait.
    count: u32,
    /// Their length in units of the clock.
    length: u64,
    /// The length of acquisitions of mutexes that did not wait, and of holds.
    acquiring: u64,
    held: u64,
}

/// The sums of a thread.
#[derive(Debug)]
pub(crate) struct ShortWaits {
    sums: [Option<Sum>; SUMS],
    /// When the first wait was added; 0 if there are none.
    since: u64,
    /// One of them has a length, or acquisitions and holds that are together no longer short.
    have_length: bool,
    /// [`Producer::short_ns`] and the constants of this module in units of the clock.
    short: u64,
    contended: u64,
    period: u64,
    /// What reading the clock adds to each wait.
    reading: u64,
}

impl ShortWaits {
    /// Without waits, for this ring.
    pub(crate) fn new(ring: &Producer<'_>) -> ShortWaits {
        let reading = (0..16).map(|_| {
            let begin = ring.now();
            ring.now().wrapping_sub(begin)
        });
        ShortWaits {
            sums: [None; SUMS],
            since: 0,
            have_length: false,
            short: ring.units(ring.short_ns()),
            contended: ring.units(CONTENDED_NS),
            period: ring.units(PERIOD_NS),
            reading: reading.min().unwrap_or(0),
        }
    }

    /// Whether a wait from `begin` to `end` is short.
    #[inline]
    pub(crate) fn is_short(&self, begin: u64, end: u64) -> bool {
        end.wrapping_sub(begin) < self.short
    }

    /// How long an acquisition of a mutex from `begin` to `end` certainly waited; 0 if it may not have.
    #[inline]
    pub(crate) fn waited(&self, begin: u64, end: u64) -> u64 {
        let taken = self.taken(begin, end);
        if taken < self.contended { 0 } else { taken }
    }

    #[inline]
    fn taken(&self, begin: u64, end: u64) -> u64 {
        end.wrapping_sub(begin).saturating_sub(self.reading)
    }

    /// Adds a short wait in this call, and the hold of the mutex until `released`.
    #[inline]
    pub(crate) fn add(&mut self, code: u64, wait: Wait, (begin, end): (u64, u64), released: u64) {
        let taken = self.taken(begin, end);
        let (length, acquiring, held) = match wait {
            Wait::Sync(_) => (taken, 0, 0),
            Wait::Mutex(kind, _) => {
                let waited = self.waited(begin, end);
                // A thread's state does not tell that it is in an atomic operation.
                let held = if kind == ATOMIC {
                    0
                } else {
                    self.taken(end, released)
                };
                (waited, taken - waited, held)
            }
        };
        if self.since == 0 {
            self.since = begin;
        }
        let first = (code.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 60) as usize;
        for at in (first..first + SUMS).map(|at| at % SUMS) {
            let Some(slot) = self.sums.get_mut(at) else {
                return;
            };
            let sum = slot.get_or_insert(Sum {
                code,
                wait,
                count: 0,
                length: 0,
                acquiring: 0,
                held: 0,
            });
            if sum.code == code
                && let Some(wait) = sum.wait.joined(wait)
            {
                sum.wait = wait;
                sum.count = sum.count.saturating_add(1);
                sum.length += length;
                sum.acquiring += acquiring;
                sum.held += held;
                self.have_length |= length > 0 || sum.acquiring + sum.held >= self.short;
                return;
            }
        }
    }

    /// Whether the sums are to be pushed now.
    #[inline]
    pub(crate) fn are_due(&self, now: u64) -> bool {
        now.wrapping_sub(self.since) > self.period || self.sums.iter().all(Option::is_some)
    }

    /// Whether there are waits with a length. Their sums precede the next record, which may change
    /// the state that they are of.
    #[inline]
    pub(crate) fn have_length(&self) -> bool {
        self.have_length
    }

    /// Pushes the sums, with this time.
    #[cold]
    #[inline(never)]
    pub(crate) fn push(&mut self, ring: &mut Producer<'_>, time: u64) {
        let sums = std::mem::replace(&mut self.sums, [None; SUMS]);
        for sum in sums.into_iter().flatten() {
            let Sum { code, count, .. } = sum;
            let short = ShortPayload {
                count,
                length: sum.length,
            };
            let short = (Kind::Short, short.pack());
            match sum.wait {
                Wait::Sync(kind) => {
                    let kind = kind as u8;
                    let payload = CodePayload { code, kind }.pack();
                    ring.push_sum(time, &[short, (Kind::ShortSync, payload)]);
                }
                Wait::Mutex(kind, lock) => {
                    let kind = kind as u8;
                    let payload = MutexPayload { lock, kind }.pack();
                    let code = (Kind::Code, code);
                    ring.push_sum(time, &[code, short, (Kind::ShortMutex, payload)]);
                    let hold = HoldPayload {
                        acquiring: sum.acquiring,
                        held: sum.held,
                    };
                    ring.push_sum(time, &[code, (Kind::ShortHold, hold.pack())]);
                }
            }
        }
        self.since = 0;
        self.have_length = false;
    }
}

impl Wait {
    /// What both are, if they are of the same kind.
    #[inline]
    fn joined(self, other: Wait) -> Option<Wait> {
        match (self, other) {
            (Wait::Sync(kind), Wait::Sync(same)) if kind == same => Some(self),
            (Wait::Mutex(kind, lock), Wait::Mutex(same, other)) if kind == same => {
                Some(Wait::Mutex(kind, if lock == other { lock } else { 0 }))
            }
            _ => None,
        }
    }
}
