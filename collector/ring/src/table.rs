//! A table of counts by key that lies beside a thread's ring.
//!
//! What happens too often for a record is counted: the thread adds to the counts of an entry, and the
//! consumer reads them when it likes. An entry's counts are each right, and together right but for
//! the event that is added while they are read.

use std::sync::atomic::Ordering::{Relaxed, Release};
use std::sync::atomic::{AtomicU32, AtomicU64};

/// Number of entries of a table.
pub const ENTRIES: usize = 256;

/// A count that one thread adds to and others read.
#[derive(Debug, Default)]
#[repr(transparent)]
pub struct Count(AtomicU64);

impl Count {
    /// Adds, as the only thread that does.
    #[inline(always)]
    pub fn add(&self, more: u64) {
        self.set(self.0.load(Relaxed).wrapping_add(more));
    }

    /// Replaces it, as the only thread that does.
    #[inline(always)]
    pub fn set(&self, count: u64) {
        self.0.store(count, Relaxed);
    }

    /// Makes it at least `count`, as the only thread that does.
    #[inline(always)]
    pub fn raise(&self, count: u64) {
        if self.get() < count {
            self.set(count);
        }
    }

    #[inline(always)]
    pub(crate) fn get(&self) -> u64 {
        self.0.load(Relaxed)
    }
}

/// The counts of one key.
pub(crate) trait Entry: Default {
    /// What distinguishes entries.
    type Key: Copy;

    /// Number of entries that may hold a key.
    const PROBES: usize;

    /// A number that differs between most keys.
    fn hash(key: Self::Key) -> u64;

    /// Whether it is this key's.
    fn has(&self, key: Self::Key) -> bool;

    /// Whether it is no key's.
    fn is_free(&self) -> bool;

    /// Makes a free entry this key's, for other threads too.
    fn take(&self, key: Self::Key);

    /// Makes it free, with counts of 0.
    fn clear(&self);
}

/// A thread's entries, found by their keys.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Table<E>([E; ENTRIES]);

impl<E: Entry> Default for Table<E> {
    fn default() -> Self {
        Table(std::array::from_fn(|_| E::default()))
    }
}

impl<E: Entry> Table<E> {
    /// The entry of a key. A new one is counted in `asked`; one for which there is no room makes that
    /// more than [`ENTRIES`].
    #[inline]
    pub(crate) fn entry(&self, key: E::Key, asked: &AtomicU32) -> Option<&E> {
        match self.known(key) {
            Some(entry) => Some(entry),
            None => self.probe(key, asked),
        }
    }

    /// The entry of a key if it is the first one that may hold it.
    #[inline]
    pub(crate) fn known(&self, key: E::Key) -> Option<&E> {
        self.0.get(first::<E>(key)).filter(|entry| entry.has(key))
    }

    #[cold]
    #[inline(never)]
    fn probe(&self, key: E::Key, asked: &AtomicU32) -> Option<&E> {
        let found = self.find(key);
        match found {
            Some(entry) if entry.is_free() => {
                entry.take(key);
                asked.store(asked.load(Relaxed) + 1, Release);
            }
            Some(_) => {}
            None => asked.store(ENTRIES as u32 + 1, Release),
        }
        found
    }

    /// The entry of a key, or the free one that it would take.
    pub(crate) fn find(&self, key: E::Key) -> Option<&E> {
        let first = first::<E>(key);
        let mut probes = (first..first + E::PROBES).filter_map(|at| self.0.get(at % ENTRIES));
        probes.find(|entry| entry.has(key) || entry.is_free())
    }

    /// All entries.
    pub(crate) fn entries(&self) -> impl Iterator<Item = &E> {
        self.0.iter()
    }

    /// Makes a table that another thread used one for a new owner. Touches none of its pages if it is
    /// unused.
    pub(crate) fn clear(&self, asked: &AtomicU32) {
        if asked.swap(0, Relaxed) != 0 {
            self.0.iter().for_each(E::clear);
        }
    }
}

/// The first entry that may hold a key.
#[inline]
fn first<E: Entry>(key: E::Key) -> usize {
    (E::hash(key).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as usize % ENTRIES
}
