//! Sets of locks, numbered.

use hashbrown::HashMap;

/// A lock as a strand holds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Held {
    /// What distinguishes it from others: its kind, and its address or number.
    pub lock: (u8, u64),
    /// Others may hold it at the same time, as readers do.
    pub is_shared: bool,
}

/// The number of a set of locks; 0 is the empty one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LocksetId(pub u32);

/// All sets that were held.
#[derive(Clone, Debug)]
pub struct Locksets {
    sets: Vec<Vec<Held>>,
    numbers: HashMap<Vec<Held>, LocksetId>,
}

impl Default for Locksets {
    fn default() -> Self {
        Locksets {
            sets: vec![Vec::new()],
            numbers: HashMap::from_iter([(Vec::new(), LocksetId(0))]),
        }
    }
}

impl Locksets {
    /// The set's locks.
    pub fn locks(&self, set: LocksetId) -> &[Held] {
        self.sets.get(set.0 as usize).map_or(&[], Vec::as_slice)
    }

    /// The set with one lock more. A lock that is held twice is in it twice.
    pub fn with(&mut self, set: LocksetId, held: Held) -> LocksetId {
        let mut locks = self.locks(set).to_vec();
        let at = locks.partition_point(|other| *other <= held);
        locks.insert(at, held);
        self.number(locks)
    }

    /// The set with one lock less.
    pub fn without(&mut self, set: LocksetId, lock: (u8, u64)) -> LocksetId {
        let mut locks = self.locks(set).to_vec();
        if let Some(at) = locks.iter().position(|held| held.lock == lock) {
            locks.remove(at);
        }
        self.number(locks)
    }

    fn number(&mut self, locks: Vec<Held>) -> LocksetId {
        if let Some(known) = self.numbers.get(&locks) {
            return *known;
        }
        let new = LocksetId(self.sets.len() as u32);
        self.sets.push(locks.clone());
        self.numbers.insert(locks, new);
        new
    }

    /// Whether both have a lock that only one strand can hold at a time.
    pub fn exclude(&self, one: LocksetId, other: LocksetId) -> bool {
        let (one, other) = (self.locks(one), self.locks(other));
        one.iter().any(|held| {
            other
                .iter()
                .any(|its| held.lock == its.lock && !(held.is_shared && its.is_shared))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn held(lock: u64, is_shared: bool) -> Held {
        Held {
            lock: (1, lock),
            is_shared,
        }
    }

    #[test]
    fn sets_are_numbered_whatever_the_order() {
        let mut sets = Locksets::default();
        let empty = LocksetId::default();
        let one = sets.with(empty, held(1, false));
        let two = sets.with(one, held(2, false));
        let other = sets.with(empty, held(2, false));
        assert_eq!(sets.with(other, held(1, false)), two);
        assert_eq!(sets.without(two, (1, 1)), other);
        assert_eq!(sets.without(other, (1, 2)), empty);
        assert_eq!(sets.without(empty, (1, 2)), empty);
    }

    #[test]
    fn a_common_lock_excludes_unless_both_share_it() {
        let mut sets = Locksets::default();
        let empty = LocksetId::default();
        let reader = sets.with(empty, held(1, true));
        let writer = sets.with(empty, held(1, false));
        let other = sets.with(empty, held(2, false));
        assert!(sets.exclude(reader, writer) && sets.exclude(writer, writer));
        assert!(!sets.exclude(reader, reader) && !sets.exclude(writer, other));
        assert!(!sets.exclude(empty, empty));
    }
}
