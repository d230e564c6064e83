//! The numbers of regions along rows that are sorted by thread and time.
//!
//! The threads of a program go through the same regions at about the same time: a number is stored
//! as its difference to what lies between two others that are known, of an earlier thread or of
//! other rows, or to what follows from the last one of its own.

use super::coding::{unzigzag, zigzag};

/// Bits of a pace below one instance a tick.
const FRACTION: u32 = 16;

/// What numbers are expected.
#[derive(Clone, Debug, Default)]
pub(super) struct Passage {
    /// Times in ticks with their numbers, sorted by time.
    points: Vec<(u64, u64)>,
    thread: Option<u64>,
    /// Whether this thread's rows are the points.
    is_first: bool,
    /// The last time and number of this thread, or of one before.
    last: (u64, u64),
    /// How far from the last number it was between points, and from the one before: programs that
    /// run at the same time count by themselves.
    off: [u64; 2],
}

impl Passage {
    /// Between such points, in any order.
    pub(super) fn between(points: impl Iterator<Item = (u64, u64)>) -> Passage {
        let mut points: Vec<(u64, u64)> = points.filter(|&(_, number)| number != 0).collect();
        points.sort_unstable();
        Passage {
            points,
            ..Passage::default()
        }
    }

    /// A number as it is stored; none, 0, is 0.
    pub(super) fn store(&mut self, thread: u64, ticks: u64, number: u64) -> u64 {
        if number == 0 {
            return 0;
        }
        let expected = self.expected(thread, ticks);
        let stored = zigzag(number.wrapping_sub(self.choice(expected)) as i64);
        self.note(ticks, number, expected);
        // A difference of -2^63, which no count of instances has, comes back as none.
        stored.wrapping_add(1)
    }

    /// The number that is stored so.
    pub(super) fn load(&mut self, thread: u64, ticks: u64, stored: u64) -> u64 {
        if stored == 0 {
            return 0;
        }
        let expected = self.expected(thread, ticks);
        let more = unzigzag(stored.wrapping_sub(1)) as u64;
        let number = self.choice(expected).wrapping_add(more);
        self.note(ticks, number, expected);
        number
    }

    fn choice(&self, [between, after]: [u64; 2]) -> u64 {
        if self.off[0] <= self.off[1] {
            between
        } else {
            after
        }
    }

    /// What lies between points, and what follows from the last number.
    fn expected(&mut self, thread: u64, ticks: u64) -> [u64; 2] {
        if self.thread != Some(thread) {
            self.thread = Some(thread);
            self.is_first = self.points.is_empty();
            self.off = [0; 2];
        }
        let (at, number) = self.last;
        let since = ticks.wrapping_sub(at) as i64;
        let more = since.wrapping_mul(self.pace() as i64) >> FRACTION;
        let after = number.wrapping_add(more as u64);
        match self.is_first {
            true => [after; 2],
            false => [self.interpolated(ticks).unwrap_or(after), after],
        }
    }

    fn pace(&self) -> u64 {
        let (Some(&(from, first)), Some(&(to, last))) = (self.points.first(), self.points.last())
        else {
            return 0;
        };
        let way = u128::from(last.saturating_sub(first)) << FRACTION;
        let pace = way.checked_div(to.saturating_sub(from).into());
        pace.and_then(|pace| u64::try_from(pace).ok()).unwrap_or(0)
    }

    fn interpolated(&self, ticks: u64) -> Option<u64> {
        let at = self.points.partition_point(|&(at, _)| at <= ticks);
        let &(from, first) = self.points.get(at.checked_sub(1)?)?;
        let Some(&(to, last)) = self.points.get(at) else {
            return (from == ticks).then_some(first);
        };
        // What overflows is no program's.
        let way = last.wrapping_sub(first);
        let way = way.wrapping_mul(ticks.wrapping_sub(from));
        Some(first.wrapping_add(way.checked_div(to.wrapping_sub(from))?))
    }

    fn note(&mut self, ticks: u64, number: u64, expected: [u64; 2]) {
        self.off = expected.map(|expected| expected.abs_diff(number));
        self.last = (ticks, number);
        if self.is_first && self.points.last().is_none_or(|&(last, _)| last <= ticks) {
            self.points.push(self.last);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_later_thread_goes_where_the_first_went() {
        let mut passage = Passage::default();
        // Not at a steady pace.
        for at in 1..100 {
            passage.store(0, at * 1000, at * at);
        }
        for at in 1..99 {
            let stored = passage.store(1, at * 1000 + 500, at * at + at);
            assert!(stored <= 3, "{at}: {stored}");
        }
    }

    #[test]
    fn a_thread_of_another_program_goes_by_itself() {
        let mut passage = Passage::default();
        for at in 1..100 {
            passage.store(0, at * 1000, at * 70);
        }
        let far = 1 << 40;
        let stored = |at: u64| passage.store(1, at * 1000, far + at * 70);
        let stored: Vec<u64> = (1..100).map(stored).collect();
        // The first numbers tell that it is none of the same.
        assert!(stored[2..].iter().all(|&stored| stored <= 3), "{stored:?}");
    }

    #[test]
    fn numbers_come_back_whatever_they_are() {
        let odd = [5, 0, u64::MAX, 1, u64::MAX / 3, 7, 7, 0, 1 << 62, 3];
        let times = [9, 3, u64::MAX, 4, 4, 5, 1 << 40, 0, 2, 1];
        let all = || odd.into_iter().zip(times);
        for mut there in [
            Passage::default(),
            Passage::between(times.into_iter().zip(odd)),
        ] {
            let mut back = there.clone();
            for (at, (number, ticks)) in all().chain(all()).enumerate() {
                let thread = at as u64 / 7;
                let stored = there.store(thread, ticks, number);
                if number == 0 || stored != 0 {
                    assert_eq!(back.load(thread, ticks, stored), number);
                } else {
                    back = there.clone();
                }
            }
        }
    }
}
