//! Sums by key for one thread and one slice of time: the innermost loop of time accounting.

/// The sum of one key.
#[derive(Clone, Copy, Debug)]
struct KeyedSum<T> {
    key: u64,
    sum: T,
}

const FREE: u64 = u64::MAX;

/// An open-addressed table of sums by key. Unlike a general hash map it finds a sum with one
/// multiplication and usually one probe, and is drained in place at the end of each slice.
#[derive(Debug)]
pub(super) struct KeyedSums<T> {
    slots: Vec<KeyedSum<T>>,
    used: usize,
    /// `64 - log2(slots.len())`.
    shift: u32,
}

impl<T> Default for KeyedSums<T> {
    fn default() -> Self {
        KeyedSums {
            slots: Vec::new(),
            used: 0,
            shift: 0,
        }
    }
}

impl<T: Copy + Default> KeyedSums<T> {
    fn vacant() -> KeyedSum<T> {
        KeyedSum {
            key: FREE,
            sum: T::default(),
        }
    }

    /// The sum of `key`, which must not be `u64::MAX`; its default if it is new.
    #[inline]
    pub(super) fn at(&mut self, key: u64) -> &mut T {
        // At most three quarters full, so that probing ends and stays short.
        if (self.used + 1) * 4 > self.slots.len() * 3 {
            self.grow();
        }
        let found = self.find(key);
        let row = &mut self.slots[found];
        if row.key == FREE {
            row.key = key;
            self.used += 1;
        }
        &mut row.sum
    }

    #[inline]
    fn find(&self, key: u64) -> usize {
        let mask = self.slots.len() - 1;
        // Fibonacci hashing: the upper bits of the product depend on all bits of the key.
        let mut at = (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> self.shift) as usize;
        loop {
            let found = self.slots[at & mask].key;
            if found == key || found == FREE {
                return at & mask;
            }
            at += 1;
        }
    }

    #[cold]
    fn grow(&mut self) {
        let size = (self.slots.len() * 2).max(16);
        let old = std::mem::replace(&mut self.slots, vec![Self::vacant(); size]);
        self.shift = 64 - size.trailing_zeros();
        for row in old {
            if row.key != FREE {
                let found = self.find(row.key);
                self.slots[found] = row;
            }
        }
    }

    /// Calls `take` with every key and its sum, and empties the table.
    pub(super) fn drain(&mut self, mut take: impl FnMut(u64, T)) {
        if self.used == 0 {
            return;
        }
        for row in &mut self.slots {
            if row.key != FREE {
                let KeyedSum { key, sum } = std::mem::replace(row, Self::vacant());
                take(key, sum);
            }
        }
        // A table that was large once must not make draining slow in later slices.
        if self.slots.len() > 64 && self.used * 8 < self.slots.len() {
            *self = KeyedSums::default();
        }
        self.used = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_add_up_by_key_through_growth_and_draining() {
        let mut sums = KeyedSums::<(u64, u32)>::default();
        for round in 0..3 {
            for pass in 1..=4u64 {
                for key in 0..1000u64 {
                    let (time, count) = sums.at(key * 3);
                    *time += key + pass;
                    *count += 1;
                }
            }
            let mut drained = Vec::new();
            sums.drain(|key, (time, count)| drained.push((key, time, count)));
            drained.sort_unstable();
            let expected: Vec<_> = (0..1000).map(|key| (key * 3, 4 * key + 10, 4)).collect();
            assert_eq!(drained, expected, "round {round}");
        }
        sums.drain(|key, _| panic!("left over: {key}"));
    }

    #[test]
    fn a_table_that_was_large_once_shrinks() {
        let mut sums = KeyedSums::<u32>::default();
        for key in 0..10_000 {
            *sums.at(key) += 1;
        }
        sums.drain(|_, _| ());
        *sums.at(5) += 1;
        sums.drain(|_, _| ());
        assert!(sums.slots.len() <= 16);
        assert_eq!(*sums.at(5), 0);
    }
}
