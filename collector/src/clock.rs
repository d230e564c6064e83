//! Ties the clock of the OpenMP records to the clock of the kernel's records.
//!
//! perf uses CLOCK_MONOTONIC_RAW, and the library in the program the time stamp counter where it can.
//! Each round reads both as a pair. Between two pairs the relation is taken as linear.

use omp_ring::ClockSource;
use omp_ring::record::TIME_BITS;

/// A reading of both clocks at one time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pair {
    /// The records' clock, in its own ticks.
    pub ticks: u64,
    /// CLOCK_MONOTONIC_RAW, in nanoseconds.
    pub raw_ns: u64,
}

/// Number of readings for a pair. The one that took least time is kept: interrupts disturb the others.
const READINGS: u32 = 5;

/// Least distance of two pairs, in nanoseconds: a reading is exact to some 20 ns, so the slope between
/// closer ones would be poor.
const SHORTEST_LINE: u64 = 200_000;

/// CLOCK_MONOTONIC_RAW.
pub const RAW: ClockSource = ClockSource::MonotonicRaw;

/// CLOCK_MONOTONIC_RAW now, in nanoseconds.
pub fn raw_now() -> u64 {
    ClockSource::MonotonicRaw.now()
}

impl Pair {
    /// Reads both clocks, as nearly at the same time as possible.
    pub fn read(source: ClockSource) -> Pair {
        if source == ClockSource::MonotonicRaw {
            let now = raw_now();
            return Pair {
                ticks: now,
                raw_ns: now,
            };
        }
        let reading = || {
            let before = source.now();
            let raw_ns = raw_now();
            let after = source.now();
            let apart = after.wrapping_sub(before);
            (
                apart,
                Pair {
                    ticks: before.wrapping_add(apart / 2),
                    raw_ns,
                },
            )
        };
        let mut best = reading();
        for _ in 1..READINGS {
            let next = reading();
            if next.0 < best.0 {
                best = next;
            }
        }
        best.1
    }
}

/// Converts the records' ticks to CLOCK_MONOTONIC_RAW.
#[derive(Clone, Copy, Debug)]
pub struct Line {
    from: Pair,
    last: Pair,
    /// Nanoseconds a tick, times 2^32.
    slope: u64,
}

const ONE: u64 = 1 << 32;

impl Line {
    /// The line from a first pair, with one nanosecond a tick until there is a second one.
    pub fn new(first: Pair) -> Line {
        Line {
            from: first,
            last: first,
            slope: ONE,
        }
    }

    /// Takes the next pair. The line then goes through the last two pairs.
    pub fn extend(&mut self, next: Pair) {
        let ticks = distance(self.last.ticks, next.ticks);
        let raw = next.raw_ns.saturating_sub(self.last.raw_ns);
        if raw < SHORTEST_LINE && self.slope != ONE || ticks <= 0 || raw == 0 {
            return;
        }
        self.slope = (u128::from(raw) * u128::from(ONE) / ticks as u128) as u64;
        self.from = self.last;
        self.last = next;
    }

    /// A length in nanoseconds.
    pub fn length_ns(&self, ticks: u64) -> u64 {
        ((u128::from(ticks) * u128::from(self.slope)) >> 32) as u64
    }

    /// The time of a record, whose ticks have [`TIME_BITS`] bits.
    #[inline]
    pub fn raw_ns(&self, ticks: u64) -> u64 {
        let distance = distance(self.from.ticks, ticks);
        let ns = (i128::from(distance) * i128::from(self.slope)) >> 32;
        self.from.raw_ns.wrapping_add(ns as u64)
    }
}

/// The distance between two readings of [`TIME_BITS`] bits. It is right even if the counter wrapped
/// between them.
#[inline]
fn distance(from: u64, to: u64) -> i64 {
    const SPARE: u32 = 64 - TIME_BITS;
    (to.wrapping_sub(from) << SPARE) as i64 >> SPARE
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(ticks: u64, raw_ns: u64) -> Pair {
        Pair { ticks, raw_ns }
    }

    #[test]
    fn a_time_between_two_pairs_lies_on_the_line_through_them() {
        let mut line = Line::new(pair(1_000_000, 500));
        line.extend(pair(4_000_000, 1_000_500));
        assert_eq!(line.raw_ns(1_000_000), 500);
        assert!(line.raw_ns(2_500_000).abs_diff(500_500) <= 1);
        assert!(line.raw_ns(4_000_000).abs_diff(1_000_500) <= 1);
        // Later than the last pair, and earlier than the first.
        assert!(line.raw_ns(4_300_000).abs_diff(1_100_500) <= 1);
        assert!(line.raw_ns(998_500) <= 1);
    }

    #[test]
    fn a_change_of_rate_bends_the_line_at_a_pair() {
        let mut line = Line::new(pair(0, 0));
        line.extend(pair(1_000_000, 1_000_000));
        line.extend(pair(2_000_000, 3_000_000));
        assert_eq!(line.raw_ns(1_000_000), 1_000_000);
        assert_eq!(line.raw_ns(1_500_000), 2_000_000);
    }

    #[test]
    fn pairs_too_close_leave_the_line_alone() {
        let mut line = Line::new(pair(0, 0));
        line.extend(pair(1_000_000, 500_000));
        line.extend(pair(1_000_010, 500_900));
        assert_eq!(line.raw_ns(2_000_000), 1_000_000);
    }

    #[test]
    fn the_counter_may_wrap() {
        let top = (1 << TIME_BITS) - 1_000_000;
        let mut line = Line::new(pair(top, 0));
        line.extend(pair(top + 2_000_000, 1_000_000));
        assert!(line.raw_ns(500_000).abs_diff(750_000) <= 1);
    }

    #[test]
    fn real_pairs_agree_with_the_clock() {
        let source = ClockSource::best();
        let mut line = Line::new(Pair::read(source));
        std::thread::sleep(std::time::Duration::from_millis(5));
        line.extend(Pair::read(source));
        let before = raw_now();
        let ticks = source.now();
        let after = raw_now();
        let converted = line.raw_ns(ticks & ((1 << TIME_BITS) - 1));
        let slack = 10_000;
        assert!(
            converted + slack >= before && converted <= after + slack,
            "{before} {converted} {after}"
        );
    }
}
