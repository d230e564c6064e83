//! A table by handle that threads share without a lock.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

/// `N` entries of `W` words, `N` a power of two. An entry is found within [`PROBES`] places of where its handle's
/// begin, so that a full table costs entries and no time.
pub(super) struct Table<const N: usize, const W: usize>([Entry<W>; N]);

struct Entry<const W: usize> {
    /// The handle, or one of the numbers below, which are no handles.
    key: AtomicU64,
    words: [AtomicU64; W],
}

const EMPTY: u64 = 0;
/// The entry was taken out: others that were put in after it may lie behind it.
const GONE: u64 = 1;
/// A thread puts one in.
const BUSY: u64 = 2;

const PROBES: usize = 128;

/// Why an entry was not put in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refused {
    /// There is one with this handle.
    Known,
    /// There is no room.
    Full,
}

impl<const N: usize, const W: usize> Table<N, W> {
    /// Without entries.
    pub(super) const fn new() -> Table<N, W> {
        Table(
            [const {
                Entry {
                    key: AtomicU64::new(EMPTY),
                    words: [const { AtomicU64::new(0) }; W],
                }
            }; N],
        )
    }

    fn places(handle: u64) -> impl Iterator<Item = usize> {
        let first = (handle.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize;
        (first..first + PROBES).map(|at| at % N)
    }

    fn entries(&self, handle: u64) -> impl Iterator<Item = (usize, &Entry<W>)> {
        Self::places(handle).filter_map(|at| Some((at, self.0.get(at)?)))
    }

    fn entry(&self, handle: u64) -> Option<(usize, &Entry<W>)> {
        if handle <= BUSY {
            return None;
        }
        for (at, entry) in self.entries(handle) {
            match entry.key.load(Acquire) {
                EMPTY => return None,
                key if key == handle => return Some((at, entry)),
                _ => {}
            }
        }
        None
    }

    /// Where the handle's entry is, and its words.
    pub(super) fn find(&self, handle: u64) -> Option<(usize, [u64; W])> {
        let (at, entry) = self.entry(handle)?;
        Some((at, std::array::from_fn(|word| entry.word(word))))
    }

    /// Takes the handle's entry out.
    pub(super) fn take(&self, handle: u64) -> Option<[u64; W]> {
        let (at, entry) = self.entry(handle)?;
        let words = std::array::from_fn(|word| entry.word(word));
        let next = self.0.get((at + 1) % N);
        let is_last = next.is_some_and(|next| next.key.load(Relaxed) == EMPTY);
        entry.key.store(if is_last { EMPTY } else { GONE }, Release);
        Some(words)
    }

    /// Changes a word of the handle's entry.
    pub(super) fn set(&self, handle: u64, word: usize, value: u64) {
        if let Some((_, entry)) = self.entry(handle)
            && let Some(word) = entry.words.get(word)
        {
            word.store(value, Release);
        }
    }

    /// Puts an entry in. Returns where.
    pub(super) fn put(&self, handle: u64, words: [u64; W]) -> Result<usize, Refused> {
        if handle <= BUSY {
            return Err(Refused::Full);
        }
        if self.entry(handle).is_some() {
            return Err(Refused::Known);
        }
        for (at, entry) in self.entries(handle) {
            let key = entry.key.load(Relaxed);
            let is_free = key == EMPTY || key == GONE;
            let claim = || entry.key.compare_exchange(key, BUSY, AcqRel, Relaxed);
            if is_free && claim().is_ok() {
                for (to, word) in entry.words.iter().zip(words) {
                    to.store(word, Relaxed);
                }
                entry.key.store(handle, Release);
                return Ok(at);
            }
        }
        Err(Refused::Full)
    }
}

impl<const W: usize> Entry<W> {
    fn word(&self, at: usize) -> u64 {
        self.words.get(at).map_or(0, |word| word.load(Acquire))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_come_and_go_by_their_handles() {
        static TABLE: Table<256, 2> = Table::new();
        for handle in 3..100 {
            assert!(TABLE.put(handle, [handle * 2, 7]).is_ok());
        }
        assert_eq!(TABLE.put(50, [0, 0]), Err(Refused::Known));
        for handle in (3..100).step_by(2) {
            assert_eq!(TABLE.take(handle), Some([handle * 2, 7]));
            assert_eq!(TABLE.take(handle), None);
        }
        TABLE.set(4, 1, 9);
        assert_eq!(TABLE.find(4).map(|it| it.1), Some([8, 9]));
        for handle in (6..100).step_by(2) {
            assert_eq!(TABLE.find(handle).map(|it| it.1), Some([handle * 2, 7]));
        }
        // Constants that are no handles, and a full table.
        assert_eq!(TABLE.find(1), None);
        assert_eq!(TABLE.put(0, [0, 0]), Err(Refused::Full));
        let refused = (1_000..2_000).filter(|&handle| TABLE.put(handle, [0, 0]).is_err());
        assert!(refused.count() >= 1_000 - 256);
    }
}
