//! The mutexes that a thread waits for and holds, and what is added to their counts once they are
//! released.

use omp_ring::locks::LockKey;
use omp_ring::producer::Producer;
use omp_ring::record::MutexPayload;

/// Number of mutexes that a thread holds at a time. Of more, the time that the first ones are held is
/// not counted.
const HELD: usize = 8;

/// `ompt_mutex_nest_lock` of `ompt_mutex_t`.
const NEST_LOCK: u8 = 3;

/// The mutexes of a thread.
#[derive(Debug)]
pub(crate) struct Locks {
    /// The mutex that it has asked for last, and when.
    asked: (LockKey, u64),
    held: [Hold; HELD],
    depth: usize,
}

/// A mutex that the thread holds.
#[derive(Clone, Copy, Debug)]
struct Hold {
    key: LockKey,
    /// How long it waited; 0 if it did not.
    wait: u64,
    /// When it acquired the mutex.
    since: u64,
    /// How often: more than once if it is a nestable lock.
    depth: u32,
}

impl Hold {
    const NONE: Hold = Hold {
        key: key(0, 0, 0),
        wait: 0,
        since: 0,
        depth: 1,
    };

    /// Counts the acquisition. `held` is the time until the release; `None` if unknown.
    #[inline]
    fn count(&self, ring: &Producer<'_>, held: Option<u64>) {
        if ring.is_paused() {
            return;
        }
        let Some(entry) = ring.lock_entry(self.key) else {
            return;
        };
        entry.acquisitions.add(1);
        if self.wait != 0 {
            entry.contended.add(1);
            entry.wait.add(self.wait);
        }
        if let Some(held) = held {
            entry.held.add(held);
            entry.longest.raise(held);
        }
    }
}

/// The key of a call that asks for a mutex of an `ompt_mutex_t`: a test asks for the same mutexes as a
/// wait.
#[inline]
const fn key(kind: u32, lock: u64, code: u64) -> LockKey {
    let kind = match kind {
        2 => 1,
        4 => 3,
        kind => kind as u8,
    };
    let mutex = MutexPayload { lock, kind };
    LockKey { mutex, code }
}

impl Locks {
    /// Without mutexes.
    pub(crate) const fn new() -> Locks {
        Locks {
            asked: (Hold::NONE.key, 0),
            held: [Hold::NONE; HELD],
            depth: 0,
        }
    }

    /// The thread may have to wait for a mutex.
    #[inline]
    pub(crate) fn asks(&mut self, (kind, lock): (u32, u64), code: u64, time: u64) {
        self.asked = (key(kind, lock, code), time);
    }

    /// The thread has acquired a mutex. `waited` gives how long it waited between two times. `code` is
    /// the call if it did not ask for the mutex before.
    #[inline]
    pub(crate) fn acquired(
        &mut self,
        ring: &Producer<'_>,
        (kind, lock): (u32, u64),
        code: u64,
        (time, waited): (u64, impl FnOnce(u64, u64) -> u64),
    ) {
        let (asked, since) = self.asked;
        let found = key(kind, lock, asked.code);
        let hold = if asked.mutex == found.mutex && since != 0 {
            Hold {
                key: asked,
                wait: waited(since, time),
                since: time,
                depth: 1,
            }
        } else {
            Hold {
                key: LockKey { code, ..found },
                wait: 0,
                since: time,
                depth: 1,
            }
        };
        self.asked.1 = 0;
        // Without a mutex there is no release.
        if lock == 0 {
            hold.count(ring, None);
            return;
        }
        self.hold(ring, hold);
    }

    #[inline]
    fn hold(&mut self, ring: &Producer<'_>, hold: Hold) {
        if let Some(mut before) = self.remove(hold.key.mutex) {
            if hold.key.mutex.kind == NEST_LOCK {
                before.depth += 1;
                return self.add(before);
            }
            // The event of an earlier release is missing.
            before.count(ring, None);
        }
        if self.depth == HELD {
            let [first, ..] = self.held;
            first.count(ring, None);
            self.held.copy_within(1.., 0);
            self.depth -= 1;
        }
        self.add(hold);
    }

    #[inline]
    fn add(&mut self, hold: Hold) {
        if let Some(place) = self.held.get_mut(self.depth) {
            *place = hold;
            self.depth += 1;
        }
    }

    /// The thread has released a mutex.
    #[inline]
    pub(crate) fn released(&mut self, ring: &Producer<'_>, (kind, lock): (u32, u64), time: u64) {
        let mutex = key(kind, lock, 0).mutex;
        if let Some(mut hold) = self.remove(mutex) {
            if hold.depth > 1 {
                hold.depth -= 1;
                return self.add(hold);
            }
            hold.count(ring, Some(time.saturating_sub(hold.since)));
        }
    }

    /// Forgets that the thread holds a mutex; mutexes may be released in any order.
    #[inline]
    fn remove(&mut self, mutex: MutexPayload) -> Option<Hold> {
        let held = self.held.get(..self.depth)?;
        let at = held.iter().rposition(|hold| hold.key.mutex == mutex)?;
        let hold = *held.get(at)?;
        self.held.copy_within(at + 1..self.depth, at);
        self.depth -= 1;
        Some(hold)
    }

    /// The thread ends: counts what it still holds.
    pub(crate) fn end(&mut self, ring: &Producer<'_>) {
        for hold in self.held.iter().take(self.depth) {
            hold.count(ring, None);
        }
        self.depth = 0;
    }
}
