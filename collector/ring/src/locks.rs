//! A thread's mutexes: acquisitions, waits and holds by mutex and call, in a [table](crate::table).
//!
//! A program may take a lock ten million times a second, and have a million locks. Its first few
//! hundred locks have entries of their own in each thread that takes them; others share an entry by
//! call.

use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicU32, AtomicU64};

use crate::record::MutexPayload;
use crate::table::{Count, ENTRIES, Entry, Table};

/// The number of entries from which on new mutexes share one by call.
const OWN: u32 = ENTRIES as u32 * 3 / 4;

/// What distinguishes the entries of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LockKey {
    /// The mutex. The kinds of tests are those of waits; a `lock` of 0 stands for several mutexes.
    pub mutex: MutexPayload,
    /// The return address of the call that acquires it; 0 if unknown.
    pub code: u64,
}

impl LockKey {
    /// The entry of all mutexes of the kind that the call acquires and that have none.
    const fn shared(self) -> LockKey {
        let mutex = MutexPayload {
            lock: 0,
            kind: self.mutex.kind,
        };
        LockKey { mutex, ..self }
    }
}

/// The sums of one mutex and call of one thread. Times are in units of the clock.
#[derive(Debug, Default)]
#[repr(C, align(64))]
pub struct LockEntry {
    /// A packed [`MutexPayload`], whose kind is never 0; 0: free.
    mutex: AtomicU64,
    code: AtomicU64,
    /// How often it was acquired, or asked for.
    pub acquisitions: Count,
    /// The acquisitions that waited.
    pub contended: Count,
    /// The time of waits.
    pub wait: Count,
    /// The time from acquisitions to releases.
    pub held: Count,
    /// The longest time from an acquisition to its release.
    pub longest: Count,
}

/// An entry as read: its fields are those of [`LockEntry`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LockView {
    /// The mutex and the call.
    pub key: LockKey,
    /// See [`LockEntry::acquisitions`].
    pub acquisitions: u64,
    /// See [`LockEntry::contended`].
    pub contended: u64,
    /// See [`LockEntry::wait`].
    pub wait: u64,
    /// See [`LockEntry::held`].
    pub held: u64,
    /// See [`LockEntry::longest`].
    pub longest: u64,
}

impl LockView {
    /// Of a mutex of which nothing was counted yet.
    pub const fn none(key: LockKey) -> LockView {
        LockView {
            key,
            acquisitions: 0,
            contended: 0,
            wait: 0,
            held: 0,
            longest: 0,
        }
    }
}

impl LockEntry {
    /// What it holds; `None` if it is free.
    fn view(&self) -> Option<LockView> {
        let mutex = self.mutex.load(Acquire);
        (mutex != 0).then(|| LockView {
            key: LockKey {
                mutex: MutexPayload::unpack(mutex),
                code: self.code.load(Relaxed),
            },
            acquisitions: self.acquisitions.get(),
            contended: self.contended.get(),
            wait: self.wait.get(),
            held: self.held.get(),
            longest: self.longest.get(),
        })
    }
}

impl Entry for LockEntry {
    type Key = LockKey;

    /// Few: a thread with thousands of locks looks for an entry each time that it takes one.
    const PROBES: usize = 8;

    #[inline]
    fn hash(key: LockKey) -> u64 {
        key.mutex.pack() ^ key.code.rotate_left(32)
    }

    #[inline]
    fn has(&self, key: LockKey) -> bool {
        self.mutex.load(Relaxed) == key.mutex.pack() && self.code.load(Relaxed) == key.code
    }

    fn is_free(&self) -> bool {
        self.mutex.load(Relaxed) == 0
    }

    fn take(&self, key: LockKey) {
        self.code.store(key.code, Relaxed);
        self.mutex.store(key.mutex.pack(), Release);
    }

    fn clear(&self) {
        for count in [
            &self.acquisitions,
            &self.contended,
            &self.wait,
            &self.held,
            &self.longest,
        ] {
            count.set(0);
        }
        self.mutex.store(0, Relaxed);
    }
}

/// A thread's mutexes.
pub(crate) type LockTable = Table<LockEntry>;

impl LockTable {
    /// The entry of a mutex and call, or the shared one of the call. `None` if there is no room.
    #[inline]
    pub(crate) fn lock(&self, key: LockKey, asked: &AtomicU32) -> Option<&LockEntry> {
        match self.known(key) {
            Some(entry) => Some(entry),
            None => self.other(key, asked),
        }
    }

    #[inline(never)]
    fn other(&self, key: LockKey, asked: &AtomicU32) -> Option<&LockEntry> {
        let has_room = asked.load(Relaxed) < OWN;
        match self.find(key) {
            Some(entry) if has_room || !entry.is_free() => self.entry(key, asked),
            _ => self.entry(key.shared(), asked),
        }
    }

    /// The entries in use.
    pub(crate) fn views(&self) -> impl Iterator<Item = LockView> {
        self.entries().filter_map(LockEntry::view)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(lock: u64, code: u64) -> LockKey {
        let mutex = MutexPayload { lock, kind: 1 };
        LockKey { mutex, code }
    }

    #[test]
    fn mutexes_have_entries_of_their_own_until_there_are_many() {
        let (table, asked) = (LockTable::default(), AtomicU32::new(0));
        for lock in 1..=1000 {
            for code in [0x10, 0x20] {
                let entry = table.lock(key(lock * 4, code), &asked);
                entry.expect("there is room").acquisitions.add(1);
            }
        }
        let views: Vec<LockView> = table.views().collect();
        let own = views.iter().filter(|view| view.key.mutex.lock != 0);
        let own: Vec<u64> = own.map(|view| view.acquisitions).collect();
        assert!((100..=OWN as usize).contains(&own.len()), "{}", own.len());
        assert!(own.iter().all(|&acquisitions| acquisitions == 1));
        let all: u64 = views.iter().map(|view| view.acquisitions).sum();
        assert_eq!(all, 2000);
        assert_eq!(views.len(), own.len() + 2);
        assert!(asked.load(Relaxed) as usize <= ENTRIES);
        table.clear(&asked);
        assert_eq!(table.views().count(), 0);
    }

    #[test]
    fn too_many_calls_are_refused_and_told() {
        let (table, asked) = (LockTable::default(), AtomicU32::new(0));
        let found = (1..=1000).filter(|&code| table.lock(key(4, code), &asked).is_some());
        assert!(found.count() <= ENTRIES);
        assert!(asked.load(Relaxed) as usize > ENTRIES);
    }

    #[test]
    fn an_entry_fills_a_cache_line() {
        assert_eq!(size_of::<LockEntry>(), 64);
    }
}
