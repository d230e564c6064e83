//! Sums by key for one thread and one slice of time: the innermost loop of the ledger.
//!
//! A thread goes round the same constructs again and again. So its sums lie in the order in which
//! their keys came first, and each remembers which key followed: where the sums of many threads are
//! more than a cache holds, a look-up costs the line of its sum, and mostly that was fetched
//! together with the one before.

/// What was added up under one key.
#[derive(Clone, Copy, Debug)]
struct Cell<T> {
    key: u64,
    /// The cell that followed this one, and the one that came after that, when that could last not
    /// be foretold. Of the keys A X B X C the one after X is known by the one before it.
    next: u32,
    after: u32,
    sum: T,
}

/// Sums by key, drained at each end of a slice.
#[derive(Debug)]
pub(super) struct Cells<T> {
    cells: Vec<Cell<T>>,
    /// An open-addressed table: one more than a cell's place by the hash of its key; 0 is free.
    index: Vec<u32>,
    /// `64 - log2(index.len())`.
    shift: u32,
    /// The cell that was asked for last, and the one before that.
    last: usize,
    before: usize,
}

impl<T> Default for Cells<T> {
    fn default() -> Self {
        Cells {
            cells: Vec::new(),
            index: Vec::new(),
            shift: 0,
            last: 0,
            before: 0,
        }
    }
}

impl<T: Copy + Default> Cells<T> {
    /// The sum of `key`; its default if it is new.
    #[inline]
    pub(super) fn at(&mut self, key: u64) -> &mut T {
        let at = match self.foretold(key) {
            Some(at) => at,
            None => self.find(key),
        };
        self.before = self.last;
        self.last = at;
        &mut self.cells[at].sum
    }

    /// The cell of `key` where it follows the last ones as it did before.
    #[inline]
    fn foretold(&self, key: u64) -> Option<usize> {
        let holds = |at: u32| self.cells.get(at as usize).is_some_and(|it| it.key == key);
        let next = self.cells.get(self.last)?.next;
        if holds(next) {
            return Some(next as usize);
        }
        let after = self.cells.get(self.before)?.after;
        holds(after).then_some(after as usize)
    }

    #[inline(never)]
    fn find(&mut self, key: u64) -> usize {
        // At most three quarters full, so that probing ends and stays short.
        if (self.cells.len() + 1) * 4 > self.index.len() * 3 {
            self.grow();
        }
        let place = self.place(key);
        let at = match self.index[place] {
            0 => {
                let at = self.cells.len() as u32;
                self.cells.push(Cell {
                    key,
                    next: at,
                    after: at,
                    sum: T::default(),
                });
                self.index[place] = at + 1;
                at
            }
            known => known - 1,
        };
        if let Some(last) = self.cells.get_mut(self.last) {
            last.next = at;
        }
        if let Some(before) = self.cells.get_mut(self.before) {
            before.after = at;
        }
        at as usize
    }

    /// Where the index has `key`, or may have it.
    fn place(&self, key: u64) -> usize {
        let mask = self.index.len() - 1;
        // Fibonacci hashing: the upper bits of the product depend on all bits of the key.
        let mut place = (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> self.shift) as usize;
        loop {
            let at = self.index[place & mask];
            if at == 0 || self.cells[at as usize - 1].key == key {
                return place & mask;
            }
            place += 1;
        }
    }

    #[cold]
    fn grow(&mut self) {
        let size = (self.index.len() * 2).max(16);
        self.index.clear();
        self.index.resize(size, 0);
        self.shift = 64 - size.trailing_zeros();
        for at in 0..self.cells.len() {
            let place = self.place(self.cells[at].key);
            self.index[place] = at as u32 + 1;
        }
    }

    /// Hands every key with its sum to `take`, in the order in which they came, and leaves none.
    pub(super) fn drain(&mut self, mut take: impl FnMut(u64, T)) {
        if self.cells.is_empty() {
            return;
        }
        let used = self.cells.len();
        for cell in self.cells.drain(..) {
            take(cell.key, cell.sum);
        }
        // A thread that once met many constructs must not clear a large index in every slice.
        if self.index.len() > 64 && used * 8 < self.index.len() {
            *self = Cells::default();
        } else {
            self.index.fill(0);
            (self.last, self.before) = (0, 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_add_up_by_key_through_growth_and_draining() {
        let mut cells = Cells::<(u64, u32)>::default();
        for round in 0..3 {
            for pass in 1..=4u64 {
                for key in 0..1000u64 {
                    let (time, count) = cells.at(key * 3);
                    *time += key + pass;
                    *count += 1;
                }
            }
            let mut drained = Vec::new();
            cells.drain(|key, (time, count)| drained.push((key, time, count)));
            drained.sort_unstable();
            let expected: Vec<_> = (0..1000).map(|key| (key * 3, 4 * key + 10, 4)).collect();
            assert_eq!(drained, expected, "round {round}");
        }
        cells.drain(|key, _| panic!("left over: {key}"));
    }

    #[test]
    fn keys_that_come_round_are_foretold() {
        let mut cells = Cells::<u32>::default();
        // Work and a barrier in each of some regions, and idle in between.
        let round: Vec<u64> = (1..=20)
            .flat_map(|region| [region, 100 + region, 0])
            .collect();
        for _ in 0..2 {
            for key in &round {
                *cells.at(*key) += 1;
            }
        }
        for key in &round {
            assert!(cells.foretold(*key).is_some(), "{key}");
            *cells.at(*key) += 1;
        }
        let mut drained = Vec::new();
        cells.drain(|key, count| drained.push((key, count)));
        assert_eq!(drained[..3], [(1, 3), (101, 3), (0, 60)]);
        assert_eq!(drained.len(), 41);
    }

    #[test]
    fn a_table_that_was_large_once_shrinks() {
        let mut cells = Cells::<u32>::default();
        for key in 0..10_000 {
            *cells.at(key) += 1;
        }
        cells.drain(|_, _| ());
        *cells.at(5) += 1;
        cells.drain(|_, _| ());
        assert!(cells.index.len() <= 16 && cells.cells.capacity() <= 16);
        assert_eq!(*cells.at(5), 0);
    }
}
