//! The values of a kernel's process or thread id over time: the kernel uses ids again.

/// The values of an id, each with the time since which it holds.
#[derive(Clone, Debug)]
pub struct History<T> {
    /// Sorted by time; never empty.
    values: Vec<(u64, T)>,
}

impl<T> History<T> {
    /// An id with its first value.
    pub fn new(since: u64, value: T) -> Self {
        History {
            values: vec![(since, value)],
        }
    }

    /// Gives it another value from `since` on.
    pub fn change(&mut self, since: u64, value: T) {
        self.values.push((since, value));
    }

    #[inline]
    fn index(&self, time: u64) -> usize {
        match self.values.last() {
            Some((since, _)) if *since <= time => self.values.len() - 1,
            _ => self.index_before_last(time),
        }
    }

    #[cold]
    fn index_before_last(&self, time: u64) -> usize {
        let later = self
            .values
            .iter()
            .rev()
            .take_while(|(since, _)| *since > time)
            .count();
        (self.values.len() - later).saturating_sub(1)
    }

    /// Its value at `time`; before the first value's time, the first value.
    pub fn at(&self, time: u64) -> &T {
        &self.values[self.index(time)].1
    }

    /// As [`History::at`], to be changed.
    pub fn at_mut(&mut self, time: u64) -> &mut T {
        let index = self.index(time);
        &mut self.values[index].1
    }

    /// Its values, newest first.
    pub fn all(&self) -> impl Iterator<Item = &T> {
        self.values.iter().rev().map(|(_, value)| value)
    }

    /// Forgets the values before that at `time`.
    pub fn forget_before(&mut self, time: u64) {
        let index = self.index(time);
        self.values.drain(..index);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_has_the_value_of_the_time() {
        let mut history = History::new(10, 'a');
        history.change(20, 'b');
        history.change(20, 'c');
        history.change(30, 'd');
        let found: String = [5, 10, 19, 20, 29, 30, 99]
            .map(|time| *history.at(time))
            .iter()
            .collect();
        assert_eq!(found, "aaaccdd");
        history.forget_before(25);
        assert_eq!((*history.at(0), *history.at(30)), ('c', 'd'));
    }
}
