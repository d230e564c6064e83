//! Ranges of addresses, and what holds an address.

use std::ops::Range;

/// Ranges of addresses, each with something. Ranges may lie within others.
#[derive(Clone, Debug)]
pub struct Ranges<T> {
    /// By the begins of their ranges.
    all: Vec<Ranged<T>>,
}

#[derive(Clone, Debug)]
struct Ranged<T> {
    range: Range<u64>,
    /// The number of the last range before that ends behind this one's begin.
    around: Option<u32>,
    what: T,
}

impl<T> Default for Ranges<T> {
    fn default() -> Self {
        Ranges { all: Vec::new() }
    }
}

impl<T> FromIterator<(Range<u64>, T)> for Ranges<T> {
    fn from_iter<I: IntoIterator<Item = (Range<u64>, T)>>(found: I) -> Self {
        let ranged = |(range, what)| Ranged {
            range,
            around: None,
            what,
        };
        let mut all: Vec<Ranged<T>> = found.into_iter().map(ranged).collect();
        all.sort_by_key(|it| it.range.start);
        let mut last = None;
        for at in 0..all.len() {
            let start = all[at].range.start;
            while let Some(before) = last.map(|last: u32| &all[last as usize])
                && before.range.end <= start
            {
                last = before.around;
            }
            all[at].around = last;
            last = Some(at as u32);
        }
        Ranges { all }
    }
}

impl<T> Ranges<T> {
    /// What holds an address: those first that begin last, and of those that begin together, those first that
    /// were collected last.
    pub fn holding(&self, address: u64) -> impl Iterator<Item = (&Range<u64>, &T)> {
        let after = self.all.partition_point(|it| it.range.start <= address);
        let mut next = after.checked_sub(1);
        let around = std::iter::from_fn(move || {
            let ranged = &self.all[next?];
            next = ranged.around.map(|around| around as usize);
            Some(ranged)
        });
        around
            .filter(move |it| it.range.end > address)
            .map(|it| (&it.range, &it.what))
    }

    /// All, by the begins of their ranges.
    pub fn iter(&self) -> impl Iterator<Item = (&Range<u64>, &T)> {
        self.all.iter().map(|it| (&it.range, &it.what))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_holds_an_address_is_found_from_within() {
        let ranges: Ranges<char> = [(10..40, 'a'), (20..30, 'b'), (0..5, 'c'), (20..21, 'd')]
            .into_iter()
            .collect();
        let at = |address| -> String { ranges.holding(address).map(|(_, it)| *it).collect() };
        let found = [0, 5, 10, 20, 21, 30, 39, 40].map(at);
        assert_eq!(found, ["c", "", "a", "dba", "ba", "a", "a", ""]);
    }
}
