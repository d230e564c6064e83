//! The times of a thread's samples: the clock's come at a beat.
//!
//! A timer goes off after whole periods, some late and some missed where the machine was taken
//! away, and a switch between two of its samples does not move it. So the clock's samples are
//! stored by the last one of theirs, and those at switches, which come at any time, by themselves.

use super::coding::{unzigzag, zigzag};
use crate::rows::SampleKind;

/// What is nearer than this to whole periods after the last sample is at the beat.
const NEAR: u64 = 32;
const BEYOND: u64 = 2 * NEAR;

/// Stands for what has no room above [`BEYOND`].
const FAREST: u64 = u64::MAX;

/// Whether a switch made the sample, not the clock.
#[inline]
pub(super) const fn is_switch(kind: SampleKind) -> bool {
    matches!(kind, SampleKind::Preempted | SampleKind::Blocked)
}

/// Where in its beat a thread is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Beat {
    period: u64,
    /// The last sample of the clock, in ticks.
    clock: u64,
    /// The last sample.
    last: u64,
}

impl Beat {
    /// Of a thread whose first sample comes at this time.
    pub(super) fn new(first: u64, period: u64) -> Beat {
        Beat {
            period,
            clock: first.wrapping_sub(period),
            last: first,
        }
    }

    /// How far a sample of the clock is from a period after the last one; or from several, which
    /// are told beside it. Those that are near are apart from those of several periods: numbers
    /// below [`NEAR`], and the next as many.
    pub(super) fn store_clock(&mut self, ticks: u64) -> (u64, Option<u64>) {
        let since = ticks.wrapping_sub(self.clock);
        (self.clock, self.last) = (ticks, ticks);
        let periods = match self.period {
            0 => 1,
            period => since / period + u64::from(since % period > period / 2),
        };
        let from = |periods: u64| {
            let noise = since.wrapping_sub(periods.wrapping_mul(self.period));
            zigzag(noise as i64)
        };
        let several = from(periods);
        match from(1) {
            near if near < NEAR => (near, None),
            _ if several < NEAR => (several + NEAR, Some(periods)),
            far if far >= u64::MAX - NEAR => (FAREST, Some(far)),
            far => (far + NEAR, None),
        }
    }

    /// The sample that is stored so; `several` gives what is told beside it.
    #[inline]
    pub(super) fn load_clock(
        &mut self,
        noise: u64,
        several: impl FnOnce() -> Option<u64>,
    ) -> Option<u64> {
        let mut periods = 1;
        let mut apart = noise - if noise < NEAR { 0 } else { NEAR };
        if (NEAR..BEYOND).contains(&noise) {
            periods = several()?;
        } else if noise == FAREST {
            apart = several()?;
        }
        let whole = self.period.wrapping_mul(periods);
        let ticks = self.clock.wrapping_add(whole);
        let ticks = ticks.wrapping_add(unzigzag(apart) as u64);
        (self.clock, self.last) = (ticks, ticks);
        Some(ticks)
    }

    /// How long after the last sample one at a switch stands.
    pub(super) fn store_switch(&mut self, ticks: u64) -> u64 {
        ticks.wrapping_sub(std::mem::replace(&mut self.last, ticks))
    }

    #[inline]
    pub(super) fn load_switch(&mut self, step: u64) -> u64 {
        self.last = self.last.wrapping_add(step);
        self.last
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missed_periods_and_switches_do_not_move_the_beat() {
        let mut beat = Beat::new(5_000, 997);
        assert_eq!(beat.store_clock(5_000), (0, None));
        assert_eq!(beat.store_clock(5_000 + 997 + 2), (zigzag(2), None));
        assert_eq!(beat.store_switch(6_399), 400);
        let missed = (NEAR + zigzag(-1), Some(3));
        assert_eq!(beat.store_clock(5_999 + 3 * 997 - 1), missed);
    }

    #[test]
    fn times_come_back_whatever_they_are() {
        let odd = [
            7,
            7,
            0,
            u64::MAX,
            1 << 63,
            8_000,
            6_000,
            1 << 40,
            3,
            0,
            1 << 63,
        ];
        for period in [0, 1, 997, u64::MAX, 1 << 63] {
            let mut there = Beat::new(odd[0], period);
            let mut back = there;
            for (at, &ticks) in odd.iter().enumerate() {
                if at % 3 == 1 {
                    let step = there.store_switch(ticks);
                    assert_eq!(back.load_switch(step), ticks);
                } else {
                    let (noise, several) = there.store_clock(ticks);
                    assert_eq!(back.load_clock(noise, || several), Some(ticks));
                }
            }
        }
    }
}
