//! Ties the clock of the OpenMP records to the clock of the kernel's records.
//!
//! perf uses CLOCK_MONOTONIC_RAW, and the library in the program the time stamp counter where it can.
//! Each round reads both as a pair.

use std::collections::VecDeque;

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

/// Least distance of the two pairs that tell the rate, in nanoseconds: a reading is exact to some 20
/// ns, so the rate between closer ones would be poor.
const SHORTEST_BASE: u64 = 200_000;

/// From this distance on, the rate is measured from the next pair, in nanoseconds.
const LONG_BASE: u64 = 500_000_000;

/// The time in which a piece makes up for being ahead of the clock, in nanoseconds.
const CATCH_UP: i64 = 1_000_000_000;

/// How many pieces are kept. Records wait in their rings for a few rounds at most.
const PIECES: usize = 64;

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

/// Converts the records' ticks to CLOCK_MONOTONIC_RAW, by pieces that each round adds to.
///
/// Ticks are always converted to the same time, and later ticks to a later time, whichever round
/// reads them: what one thread did after another one stays after it, though their rings are read in
/// different rounds. So a pair corrects only what comes after it.
#[derive(Debug)]
pub struct Line {
    /// The pairs from which the rate is measured, and the next one from which it will be.
    base: Pair,
    next_base: Pair,
    /// By time; the last one has no end.
    pieces: VecDeque<Piece>,
}

/// A part of the line.
#[derive(Clone, Copy, Debug)]
struct Piece {
    from: Pair,
    /// Nanoseconds a tick, times 2^32.
    slope: u64,
}

const ONE: u64 = 1 << 32;

impl Piece {
    /// The time of ticks on this piece.
    #[inline]
    fn raw_ns(&self, ticks: u64) -> u64 {
        let distance = distance(self.from.ticks, ticks);
        let ns = (i128::from(distance) * i128::from(self.slope)) >> 32;
        self.from.raw_ns.wrapping_add(ns as u64)
    }
}

impl Line {
    /// The line from a first pair, with one nanosecond a tick until there is a second one.
    pub fn new(first: Pair) -> Line {
        Line {
            base: first,
            next_base: first,
            pieces: VecDeque::from([Piece {
                from: first,
                slope: ONE,
            }]),
        }
    }

    /// Takes the next pair: corrects the rate, and the times from this pair on.
    pub fn extend(&mut self, next: Pair) {
        let ticks = distance(self.base.ticks, next.ticks);
        let raw = next.raw_ns.saturating_sub(self.base.raw_ns);
        // Nothing was converted before the first one.
        let is_first = self.pieces.len() == 1;
        if raw == 0 || ticks <= 0 || raw < SHORTEST_BASE && !is_first {
            return;
        }
        let slope = (u128::from(raw) * u128::from(ONE) / ticks as u128) as u64;
        if next.raw_ns.saturating_sub(self.next_base.raw_ns) >= LONG_BASE {
            self.base = std::mem::replace(&mut self.next_base, next);
        }
        if let Some(piece) = self.pieces.front_mut().filter(|_| is_first) {
            piece.slope = slope;
        }
        let reached = self.raw_ns(next.ticks);
        let ahead = reached.saturating_sub(next.raw_ns).min(CATCH_UP as u64 / 2);
        let slower = (u128::from(slope) * u128::from(ahead) / CATCH_UP as u128) as u64;
        if self.pieces.len() == PIECES {
            self.pieces.pop_front();
        }
        self.pieces.push_back(Piece {
            from: Pair {
                ticks: next.ticks,
                raw_ns: reached.max(next.raw_ns),
            },
            slope: slope - slower,
        });
    }

    /// A length in nanoseconds.
    pub fn length_ns(&self, ticks: u64) -> u64 {
        let slope = self.pieces.back().map_or(ONE, |last| last.slope);
        ((u128::from(ticks) * u128::from(slope)) >> 32) as u64
    }

    /// The time of a record, whose ticks have [`TIME_BITS`] bits.
    #[inline]
    pub fn raw_ns(&self, ticks: u64) -> u64 {
        let is_on = |piece: &&Piece| distance(piece.from.ticks, ticks) >= 0;
        let piece = self.pieces.iter().rev().find(is_on);
        let piece = piece.or(self.pieces.front());
        piece.map_or(ticks, |piece| piece.raw_ns(ticks))
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
    fn a_time_never_changes_and_keeps_its_place_whatever_the_pairs_say() {
        // Four ticks a nanosecond; readings are up to 3 µs off, and rounds irregular.
        let mut line = Line::new(pair(0, 0));
        let mut known: Vec<(u64, u64)> = Vec::new();
        let (mut ticks, mut random) = (0, 1_u64);
        for _ in 0..2_000 {
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            ticks += 1_000_000 + (random >> 33) % 80_000_000;
            line.extend(pair(ticks, ticks / 4 + (random >> 50) % 3_000));
            // Records from before the pair, and from after it.
            for ticks in (ticks - 900_000..ticks + 900_000).step_by(50_001) {
                known.push((ticks, line.raw_ns(ticks)));
                assert!(line.raw_ns(ticks).abs_diff(ticks / 4) <= 10_000, "{ticks}");
            }
            let recent = known.len().saturating_sub(200);
            let same = |&(ticks, time): &(u64, u64)| line.raw_ns(ticks) == time;
            assert!(known[recent..].iter().all(same));
        }
        known.sort_unstable();
        assert!(known.is_sorted_by_key(|(_, time)| time));
        let steps = known.windows(2).filter(|pair| pair[0].0 < pair[1].0);
        assert!(steps.clone().all(|pair| pair[0].1 < pair[1].1));
    }

    #[test]
    fn a_change_of_rate_is_followed() {
        let mut line = Line::new(pair(0, 0));
        let mut at = pair(0, 0);
        for rate in [1, 2] {
            for _ in 0..400 {
                at = pair(at.ticks + 10_000_000, at.raw_ns + 10_000_000 * rate);
                line.extend(at);
            }
            let later = line.raw_ns(at.ticks + 1_000_000);
            assert!(
                later.abs_diff(at.raw_ns + 1_000_000 * rate) < 10_000,
                "{later}"
            );
        }
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
