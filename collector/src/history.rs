//! The meanings of a process or thread number over time: the kernel uses numbers again.

/// What a number meant, since when.
#[derive(Clone, Debug)]
pub struct History<T> {
    /// By time; never empty.
    meanings: Vec<(u64, T)>,
}

impl<T> History<T> {
    /// A number with its first meaning.
    pub fn new(since: u64, meaning: T) -> Self {
        History {
            meanings: vec![(since, meaning)],
        }
    }

    /// Gives it another meaning from `since` on.
    pub fn change(&mut self, since: u64, meaning: T) {
        self.meanings.push((since, meaning));
    }

    #[inline]
    fn place(&self, time: u64) -> usize {
        match self.meanings.last() {
            Some((since, _)) if *since <= time => self.meanings.len() - 1,
            _ => self.place_before_last(time),
        }
    }

    #[cold]
    fn place_before_last(&self, time: u64) -> usize {
        let later = self
            .meanings
            .iter()
            .rev()
            .take_while(|(since, _)| *since > time)
            .count();
        (self.meanings.len() - later).saturating_sub(1)
    }

    /// What it meant at `time`; before its first meaning, that one.
    pub fn at(&self, time: u64) -> &T {
        &self.meanings[self.place(time)].1
    }

    /// The same, to be changed.
    pub fn at_mut(&mut self, time: u64) -> &mut T {
        let place = self.place(time);
        &mut self.meanings[place].1
    }

    /// Its meanings, newest first.
    pub fn all(&self) -> impl Iterator<Item = &T> {
        self.meanings.iter().rev().map(|(_, meaning)| meaning)
    }

    /// Forgets the meanings before that at `time`.
    pub fn forget_before(&mut self, time: u64) {
        let place = self.place(time);
        self.meanings.drain(..place);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_has_the_meaning_of_its_time() {
        let mut history = History::new(10, 'a');
        history.change(20, 'b');
        history.change(20, 'c');
        history.change(30, 'd');
        let said: String = [5, 10, 19, 20, 29, 30, 99]
            .map(|time| *history.at(time))
            .iter()
            .collect();
        assert_eq!(said, "aaaccdd");
        history.forget_before(25);
        assert_eq!((*history.at(0), *history.at(30)), ('c', 'd'));
    }
}
