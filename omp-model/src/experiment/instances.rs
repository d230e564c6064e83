//! The numbers of instances along a thread's samples.
//!
//! A program goes through its regions, or its tasks, at a pace that changes little from one sample
//! to the next: a number is stored as its difference to what the last one and the pace say.

use super::coding::{unzigzag, zigzag};

/// Bits of a pace below one instance a tick.
const FRACTION: u32 = 16;

/// Numbers of one kind of instance, as they go on along the samples of one thread after another.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Track {
    /// The last one, and its time in ticks.
    last: (u64, u64),
    /// The first one of the thread: where the next thread's begin, of the same program as a rule.
    first: Option<(u64, u64)>,
    /// Instances a tick, with [`FRACTION`] bits below one.
    pace: u64,
}

impl Track {
    /// Goes on with another thread, whose numbers have this pace.
    pub(super) fn turn(&mut self, pace: u64) {
        self.last = self.first.unwrap_or(self.last);
        self.first = None;
        self.pace = pace;
    }

    /// What the last number and the pace say.
    #[inline]
    pub(super) fn expected(&self, ticks: u64) -> u64 {
        let since = ticks.wrapping_sub(self.last.1) as i64;
        let more = since.wrapping_mul(self.pace as i64) >> FRACTION;
        self.last.0.wrapping_add(more as u64)
    }

    #[inline]
    fn note(&mut self, number: u64, ticks: u64) {
        self.last = (number, ticks);
        self.first.get_or_insert(self.last);
    }

    /// A number as it is stored where such a one is expected; none, 0, is 0.
    #[inline]
    pub(super) fn store(&mut self, number: u64, ticks: u64, expected: u64) -> u64 {
        if number == 0 {
            return 0;
        }
        let stored = zigzag(number.wrapping_sub(expected) as i64);
        self.note(number, ticks);
        stored.wrapping_add(1)
    }

    /// The number that is stored so. The last of all that 64 bits can hold comes back as none.
    #[inline]
    pub(super) fn load(&mut self, stored: u64, ticks: u64, expected: u64) -> u64 {
        if stored == 0 {
            return 0;
        }
        let more = unzigzag(stored.wrapping_sub(1)) as u64;
        let number = expected.wrapping_add(more);
        self.note(number, ticks);
        number
    }
}

/// The numbers that the first thread went through, and when: the others of its program go through
/// the same ones at about the same time. Between two of its samples that is nearer than what
/// another thread's last number and its pace say.
#[derive(Clone, Debug, Default)]
pub(super) struct Course {
    points: Vec<(u64, u64)>,
    /// Whether the points are those of a thread before.
    is_known: bool,
    /// The first point that is not before the last time asked for.
    at: usize,
}

impl Course {
    /// Begins anew.
    pub(super) fn clear(&mut self) {
        self.points.clear();
        self.is_known = false;
        self.at = 0;
    }

    /// Goes on with another thread.
    pub(super) fn turn(&mut self) {
        self.is_known = !self.points.is_empty();
        self.at = 0;
    }

    /// Whether a thread before has shown numbers.
    pub(super) fn is_known(&self) -> bool {
        self.is_known
    }

    /// A number is seen at a time, of this thread later than the one before.
    #[inline]
    pub(super) fn note(&mut self, ticks: u64, number: u64) {
        if !self.is_known {
            self.points.push((ticks, number));
        }
    }

    /// The number that the course leads to, or beyond its ends the track, or if not `by_course`.
    #[inline]
    pub(super) fn expected(&mut self, by_course: bool, track: &Track, ticks: u64) -> u64 {
        let between = by_course && self.is_known;
        let found = if between { self.between(ticks) } else { None };
        found.unwrap_or_else(|| track.expected(ticks))
    }

    fn between(&mut self, ticks: u64) -> Option<u64> {
        while self.points.get(self.at).is_some_and(|&(at, _)| at < ticks) {
            self.at += 1;
        }
        let &(to, last) = self.points.get(self.at)?;
        let &(from, first) = self.points.get(self.at.checked_sub(1)?)?;
        // What overflows is no program's.
        let way = last
            .wrapping_sub(first)
            .wrapping_mul(ticks.wrapping_sub(from));
        Some(first.wrapping_add(way.checked_div(to.wrapping_sub(from))?))
    }
}

/// The pace of a thread's numbers, each with its time in ticks: the median from one to the next.
pub(super) fn pace(numbers: impl Iterator<Item = (u64, u64)>, steps: &mut Vec<u64>) -> u64 {
    steps.clear();
    let mut last: Option<(u64, u64)> = None;
    for (number, ticks) in numbers.filter(|&(number, _)| number != 0) {
        if let Some((before, at)) = last
            && ticks > at
            && number >= before
        {
            let more = u128::from(number - before) << FRACTION;
            let step = more / u128::from(ticks - at);
            steps.push(u64::try_from(step).unwrap_or(0));
        }
        last = Some((number, ticks));
    }
    let middle = steps.len() / 2;
    match steps.is_empty() {
        true => 0,
        false => *steps.select_nth_unstable(middle).1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stored(numbers: &[(u64, u64)]) -> Vec<u64> {
        let mut track = Track::default();
        track.turn(pace(numbers.iter().copied(), &mut Vec::new()));
        let stored = numbers
            .iter()
            .map(|&(number, ticks)| track.store(number, ticks, track.expected(ticks)));
        stored.collect()
    }

    #[test]
    fn numbers_at_a_steady_pace_cost_nothing() {
        // 70 regions a millisecond, seen once a millisecond, and none now and then.
        let seen: Vec<(u64, u64)> = (1..=1000)
            .map(|at| (if at % 100 == 0 { 0 } else { 70 * at }, 1000 * at))
            .collect();
        let stored = stored(&seen);
        assert!(stored[1..].iter().all(|&stored| stored <= 3), "{stored:?}");
        assert_eq!(stored[99], 0);
    }

    #[test]
    fn a_course_leads_between_its_points_and_no_further() {
        let track = Track::default();
        let mut course = Course::default();
        course.turn();
        assert!(!course.is_known());
        for at in 1..=10 {
            course.note(1000 * at, 70 * at);
        }
        course.turn();
        course.note(0, 9);
        assert_eq!(course.expected(true, &track, 500), track.expected(500));
        assert_eq!(course.expected(true, &track, 2500), 175);
        assert_eq!(course.expected(false, &track, 2500), track.expected(2500));
        assert_eq!(course.expected(true, &track, 9100), 637);
        assert_eq!(
            course.expected(true, &track, 10_001),
            track.expected(10_001)
        );
        course.clear();
        for (ticks, number) in [(5, 1 << 63), (5, 7), (3, 0), (u64::MAX, u64::MAX)] {
            course.note(ticks, number);
        }
        course.turn();
        for ticks in [0, 4, 5, 6, 1 << 63, u64::MAX, 3] {
            course.expected(true, &track, ticks);
        }
    }

    #[test]
    fn numbers_come_back_whatever_they_are() {
        let odd = [5, 0, u64::MAX, 1, u64::MAX / 2, 7, 7, 0, 1 << 63, 3];
        for times in [[0; 10], [9, 3, u64::MAX, 4, 4, 5, 1 << 40, 0, 2, 1]] {
            let rows: Vec<(u64, u64)> = odd.into_iter().zip(times).collect();
            let paces = [pace(rows.iter().copied(), &mut Vec::new()), u64::MAX, 12345];
            for pace in paces {
                let (mut there, mut back) = (Track::default(), Track::default());
                for &(number, ticks) in &rows {
                    there.turn(pace);
                    back.turn(pace);
                    let stored = there.store(number, ticks, there.expected(ticks));
                    // A difference of -2^63, which no count of instances has, has no room beside
                    // none.
                    if number == 0 || stored != 0 {
                        let expected = back.expected(ticks);
                        assert_eq!(back.load(stored, ticks, expected), number);
                    } else {
                        back.note(number, ticks);
                    }
                }
            }
        }
    }
}
