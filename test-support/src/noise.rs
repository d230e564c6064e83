//! Random numbers with the distributions that programs have.

use fastrand::Rng;

/// Nearly normal with mean 0: the sum of four uniform numbers.
pub(crate) fn normal(random: &mut Rng, deviation: f64) -> f64 {
    let sum: f64 = (0..4).map(|_| random.f64()).sum();
    (sum - 2.0) * deviation * 3_f64.sqrt()
}

/// A whole number below `limit`, of which the small ones are frequent, as addresses of a program
/// are: 1/x over `0..limit`.
pub fn skewed(random: &mut Rng, limit: u64) -> u64 {
    let value = (limit as f64 + 1.0).powf(random.f64()) - 1.0;
    (value as u64).min(limit - 1)
}
