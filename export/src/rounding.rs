//! Whole numbers whose sum is that of the fractions which they stand for.

/// Rounds a series of values so that the sum of the results differs from the sum of the values by no more
/// than a half.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Rounding {
    sum: f64,
    given: i64,
}

impl Rounding {
    /// The whole number that stands for the next value, which is not negative.
    pub(crate) fn next(&mut self, value: f64) -> i64 {
        self.sum += value;
        let upto = self.sum.round() as i64;
        let part = upto - self.given;
        self.given = upto;
        part
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sum_is_rounded_once() {
        let mut rounding = Rounding::default();
        let parts: Vec<i64> = (0..1000).map(|_| rounding.next(0.4)).collect();
        assert_eq!(parts.iter().sum::<i64>(), 400);
        assert!(parts.iter().all(|part| (0..=1).contains(part)));
        assert_eq!(Rounding::default().next(2.5), 3);
    }
}
