//! Selects the intervals to list: the long ones, at a bounded rate.

use experiment::ids::Nanos;
use experiment::rows::SLICE;

/// The number of intervals that are listed in a time slice (a second), over all threads, before the
/// threshold doubles. The same holds for region spans and for pieces of tasks.
///
/// An interval of at least the threshold `d` takes a thread at least `d`, so `n` threads list at
/// most `n / d`: the rows of a slice are at most `LISTED_PER_SECOND * log2(n * 1 s / (d *
/// LISTED_PER_SECOND))` and a remainder of the same size, however many events come.
pub const LISTED_PER_SECOND: u32 = 4096;

/// A threshold of length that rises while many intervals are listed, and falls back when few are.
#[derive(Debug)]
pub(super) struct Listing {
    least: u64,
    threshold: u64,
    /// The number listed since the slice began or the threshold was doubled.
    listed: u32,
    slice_end: u64,
    /// Whether the threshold was doubled in this slice.
    raised: bool,
}

impl Listing {
    /// Lists intervals of at least `least`, unless there are too many.
    pub(super) fn new(least: Nanos) -> Self {
        Listing {
            least: least.0.max(1),
            threshold: least.0.max(1),
            listed: 0,
            slice_end: SLICE.0,
            raised: false,
        }
    }

    /// Whether to list an interval of `length` that ended at `end`; counts it if so.
    #[inline]
    pub(super) fn admits(&mut self, length: u64, end: u64) -> bool {
        length >= self.least && self.decide(length, end)
    }

    fn decide(&mut self, length: u64, end: u64) -> bool {
        if end > self.slice_end {
            if !self.raised && self.listed < LISTED_PER_SECOND / 2 {
                self.threshold = (self.threshold / 2).max(self.least);
            }
            self.raised = false;
            self.listed = 0;
            self.slice_end = end.div_ceil(SLICE.0).saturating_mul(SLICE.0);
        }
        if length < self.threshold {
            return false;
        }
        self.listed += 1;
        if self.listed >= LISTED_PER_SECOND {
            self.threshold = self.threshold.saturating_mul(2);
            self.listed = 0;
            self.raised = true;
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_is_bounded_and_the_threshold_comes_back() {
        let mut listing = Listing::new(Nanos(1_000));
        // 100 threads list intervals of 10 us back to back: 10 million in a second.
        let mut listed = 0;
        for end in 1..=10_000_000u64 {
            listed += u32::from(listing.admits(10_000, end * 100));
        }
        // 1 us doubles to 16 us in four steps, and then nothing passes.
        assert_eq!(listed, 4 * LISTED_PER_SECOND);
        // Quiet slices halve it back to the least.
        for slice in 1..8u64 {
            listing.admits(1_000, slice * SLICE.0 + 1);
        }
        assert!(listing.admits(1_000, 9 * SLICE.0));
        assert!(!listing.admits(999, 9 * SLICE.0));
    }
}
