//! Which of several sorted streams comes next.

/// The next item of a stream. Compares by time, then by kind of stream, then by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Head(u128);

impl Head {
    /// Of stream `number` of a kind, at `time`.
    #[inline]
    pub const fn new(time: u64, kind: u8, number: u32) -> Self {
        Head((time as u128) << 64 | (kind as u128) << 32 | number as u128)
    }

    /// Its time.
    #[inline]
    pub const fn time(self) -> u64 {
        (self.0 >> 64) as u64
    }

    /// Its kind of stream.
    #[inline]
    pub const fn kind(self) -> u8 {
        (self.0 >> 32) as u8
    }

    /// Its stream's number.
    #[inline]
    pub const fn number(self) -> u32 {
        self.0 as u32
    }
}

/// The heads of all streams: a binary heap with the earliest on top. Unlike std's, it also gives the
/// second one, up to which the first stream needs no comparison with the others.
#[derive(Debug, Default)]
pub struct Heads {
    heap: Vec<Head>,
}

impl Heads {
    /// Replaces all heads.
    pub fn fill(&mut self, heads: impl IntoIterator<Item = Head>) {
        self.heap.clear();
        self.heap.extend(heads);
        // A sorted array is a heap.
        self.heap.sort_unstable();
    }

    /// The earliest head.
    #[inline]
    pub fn first(&self) -> Option<Head> {
        self.heap.first().copied()
    }

    /// The earliest but one.
    #[inline]
    pub fn second(&self) -> Option<Head> {
        match (self.heap.get(1), self.heap.get(2)) {
            (Some(left), Some(right)) => Some(*left.min(right)),
            (left, _) => left.copied(),
        }
    }

    /// Replaces the first head by a later one, or removes it.
    #[inline]
    pub fn replace_first(&mut self, head: Option<Head>) {
        let Some(head) = head.or_else(|| self.heap.pop()) else {
            return;
        };
        // A hole sinks from the top: `head` itself is stored once, where it belongs.
        let mut hole = 0;
        while let Some(left) = self.heap.get(2 * hole + 1).copied() {
            let right = self.heap.get(2 * hole + 2).copied();
            let (least, child) = match right {
                Some(right) if right < left => (right, 2 * hole + 2),
                _ => (left, 2 * hole + 1),
            };
            if head <= least {
                break;
            }
            self.heap[hole] = least;
            hole = child;
        }
        if let Some(place) = self.heap.get_mut(hole) {
            *place = head;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_keeps_its_parts_and_orders_by_time_first() {
        let head = Head::new(u64::MAX - 1, 2, u32::MAX);
        assert_eq!(
            (head.time(), head.kind(), head.number()),
            (u64::MAX - 1, 2, u32::MAX)
        );
        assert!(Head::new(1, 2, 9) < Head::new(2, 0, 0));
        assert!(Head::new(1, 0, 9) < Head::new(1, 1, 0));
    }

    #[test]
    fn streams_come_out_merged() {
        // Streams of every third, fifth and seventh number, and what they merge to.
        let steps = [3_u64, 5, 7];
        let mut heads = Heads::default();
        heads.fill(
            steps
                .iter()
                .zip(0..)
                .map(|(step, number)| Head::new(*step, 1, number)),
        );
        let mut found = Vec::new();
        while let Some(head) = heads.first() {
            assert!(heads.second().is_none_or(|second| head <= second));
            found.push(head.time());
            let step = steps[head.number() as usize];
            let next = Some(head.time() + step).filter(|time| *time <= 100);
            heads.replace_first(next.map(|time| Head::new(time, 1, head.number())));
        }
        let mut expected: Vec<u64> = steps
            .iter()
            .flat_map(|step| (1..).map(move |n| n * step).take_while(|t| *t <= 100))
            .collect();
        expected.sort_unstable();
        assert_eq!(found, expected);
    }
}
