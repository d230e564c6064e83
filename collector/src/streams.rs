//! Merges sorted streams: tells which one has the earliest item.

/// The next item of a stream: its time, and the stream. Compares by time, then by kind of stream,
/// then by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Next(u128);

impl Next {
    /// The item at `time` of stream `number` of a kind.
    #[inline]
    pub const fn new(time: u64, kind: u8, number: u32) -> Self {
        Next((time as u128) << 64 | (kind as u128) << 32 | number as u128)
    }

    /// Its time.
    #[inline]
    pub const fn time(self) -> u64 {
        (self.0 >> 64) as u64
    }

    /// The kind of its stream.
    #[inline]
    pub const fn kind(self) -> u8 {
        (self.0 >> 32) as u8
    }

    /// The number of its stream.
    #[inline]
    pub const fn number(self) -> u32 {
        self.0 as u32
    }
}

/// The next items of all streams, in a binary heap with the earliest on top. Unlike std's, it also
/// gives the second one, up to which the first stream needs no comparison with the others.
#[derive(Debug, Default)]
pub struct Streams {
    heap: Vec<Next>,
}

impl Streams {
    /// Replaces all items.
    pub fn fill(&mut self, items: impl IntoIterator<Item = Next>) {
        self.heap.clear();
        self.heap.extend(items);
        // A sorted array is a heap.
        self.heap.sort_unstable();
    }

    /// The earliest item.
    #[inline]
    pub fn first(&self) -> Option<Next> {
        self.heap.first().copied()
    }

    /// The second earliest item.
    #[inline]
    pub fn second(&self) -> Option<Next> {
        match (self.heap.get(1), self.heap.get(2)) {
            (Some(left), Some(right)) => Some(*left.min(right)),
            (left, _) => left.copied(),
        }
    }

    /// Replaces the earliest item by a later one, or removes it.
    #[inline]
    pub fn replace_first(&mut self, item: Option<Next>) {
        let Some(item) = item.or_else(|| self.heap.pop()) else {
            return;
        };
        // A hole sinks from the top: `item` is stored once, at its final index.
        let mut hole = 0;
        while let Some(left) = self.heap.get(2 * hole + 1).copied() {
            let right = self.heap.get(2 * hole + 2).copied();
            let (least, child) = match right {
                Some(right) if right < left => (right, 2 * hole + 2),
                _ => (left, 2 * hole + 1),
            };
            if item <= least {
                break;
            }
            self.heap[hole] = least;
            hole = child;
        }
        if let Some(entry) = self.heap.get_mut(hole) {
            *entry = item;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_item_keeps_its_parts_and_orders_by_time_first() {
        let item = Next::new(u64::MAX - 1, 2, u32::MAX);
        assert_eq!(
            (item.time(), item.kind(), item.number()),
            (u64::MAX - 1, 2, u32::MAX)
        );
        assert!(Next::new(1, 2, 9) < Next::new(2, 0, 0));
        assert!(Next::new(1, 0, 9) < Next::new(1, 1, 0));
    }

    #[test]
    fn streams_are_merged_by_time() {
        // Streams of every third, fifth and seventh number, and what they merge to.
        let steps = [3_u64, 5, 7];
        let mut streams = Streams::default();
        streams.fill(
            steps
                .iter()
                .zip(0..)
                .map(|(step, number)| Next::new(*step, 1, number)),
        );
        let mut found = Vec::new();
        while let Some(item) = streams.first() {
            assert!(streams.second().is_none_or(|second| item <= second));
            found.push(item.time());
            let step = steps[item.number() as usize];
            let next = Some(item.time() + step).filter(|time| *time <= 100);
            streams.replace_first(next.map(|time| Next::new(time, 1, item.number())));
        }
        let mut expected: Vec<u64> = steps
            .iter()
            .flat_map(|step| (1..).map(move |n| n * step).take_while(|t| *t <= 100))
            .collect();
        expected.sort_unstable();
        assert_eq!(found, expected);
    }
}
