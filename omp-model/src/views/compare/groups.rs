//! Several recordings of each side of a comparison: their means, and how far two means may differ by
//! chance.

use std::f64::consts::{FRAC_2_PI, FRAC_PI_2};

/// Which of the compared experiments are recordings of one side.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Groups {
    /// By experiment: its side, from 0.
    of: Vec<usize>,
}

impl Groups {
    /// The sides of experiments, by any number that each side has alone. Sides are numbered from 0 in
    /// the order of their first experiments.
    pub fn new(sides: impl IntoIterator<Item = usize>) -> Groups {
        let mut known = Vec::new();
        let number = |side: usize| {
            known.iter().position(|it| *it == side).unwrap_or_else(|| {
                known.push(side);
                known.len() - 1
            })
        };
        Groups {
            of: sides.into_iter().map(number).collect(),
        }
    }

    /// So many experiments, each a side of its own.
    pub fn alone(experiments: usize) -> Groups {
        Groups::new(0..experiments)
    }

    /// The side of each experiment, from 0.
    pub fn sides(&self) -> &[usize] {
        &self.of
    }

    /// The number of sides.
    pub fn len(&self) -> usize {
        self.of.iter().max().map_or(0, |last| last + 1)
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.of.is_empty()
    }

    /// Whether a side has several experiments.
    pub fn have_several(&self) -> bool {
        self.len() < self.of.len()
    }

    /// What each experiment has, by side. What is beyond the experiments is left out.
    pub fn split<T>(&self, each: impl IntoIterator<Item = T>) -> Vec<Vec<T>> {
        let mut sides: Vec<Vec<T>> = (0..self.len()).map(|_| Vec::new()).collect();
        for (&side, it) in self.of.iter().zip(each) {
            sides[side].push(it);
        }
        sides
    }

    /// The mean of each side.
    pub fn means(&self, each: impl IntoIterator<Item = f64>) -> Vec<f64> {
        let sides = self.split(each).into_iter();
        sides.map(|runs| mean(&runs)).collect()
    }
}

/// The mean of some values; 0 of none.
pub fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

/// The values of one quantity in the recordings of a side, and by what their mean is multiplied.
#[derive(Clone, Copy, Debug)]
pub struct Term<'a> {
    /// The values.
    pub runs: &'a [f64],
    /// The factor.
    pub times: f64,
}

/// How far a sum of terms may be from its true value by chance, in one direction: it is farther with
/// the probability `level`. `None` if no term has two recordings, so that nothing is known of chance.
///
/// This is Student's t: all sides are taken to vary alike, so that a side with a single recording is
/// judged by the others. Few recordings can be equal by chance: the sum varies at least as the normal
/// distribution does with `least` as the variance of one recording, which is that of its measurement.
pub fn chance(terms: &[Term<'_>], least: f64, level: f64) -> Option<f64> {
    let known = || terms.iter().filter(|term| !term.runs.is_empty());
    let freedom: usize = known().map(|term| term.runs.len() - 1).sum();
    if freedom == 0 {
        return None;
    }
    /// With so many degrees of freedom Student's t is the normal distribution.
    const MANY: usize = 10_000;
    let squares = |term: &Term<'_>| -> f64 {
        let mean = mean(term.runs);
        term.runs.iter().map(|run| (run - mean).powi(2)).sum()
    };
    let variance = known().map(squares).sum::<f64>() / freedom as f64;
    let weight = |term: &Term<'_>| term.times * term.times / term.runs.len() as f64;
    let weight: f64 = known().map(weight).sum();
    let of_measurement = student(MANY, level) * (least * weight).sqrt();
    Some(of_measurement.max(student(freedom, level) * (variance * weight).sqrt()))
}

/// The variance of a time that is measured by samples: their number among those of the whole varies as
/// that of draws does, and each stands for `period` seconds. The whole itself is measured by clocks.
pub fn of_sampling(seconds: f64, whole: f64, period: f64) -> f64 {
    let share = if whole > 0.0 { seconds / whole } else { 1.0 };
    period * seconds * (1.0 - share).max(0.0)
}

/// The value that Student's t with so many degrees of freedom exceeds with the probability `level`,
/// which is below one half.
fn student(freedom: usize, level: f64) -> f64 {
    // The distribution is a finite sum in the angle whose tangent is t / √freedom. Halving its range
    // finds the angle.
    let (mut low, mut high) = (0.0, FRAC_PI_2);
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if 0.5 * (1.0 - within(freedom, middle)) > level {
            low = middle;
        } else {
            high = middle;
        }
    }
    (freedom as f64).sqrt() * low.tan()
}

/// The probability that Student's t lies between two values of opposite sign, given as an angle.
/// See Abramowitz and Stegun, 26.7.3 and 26.7.4.
fn within(freedom: usize, angle: f64) -> f64 {
    let (sine, cosine) = angle.sin_cos();
    let is_odd = freedom % 2 == 1;
    // The terms begin with cos θ or 1. Each is the one before, times cos² θ and a fraction.
    let (mut term, first) = if is_odd { (cosine, 2) } else { (1.0, 1) };
    let mut sum = 0.0;
    for at in 0..freedom / 2 {
        sum += term;
        let over = (first + 2 * at) as f64;
        term *= cosine * cosine * over / (over + 1.0);
    }
    if is_odd {
        FRAC_2_PI * (angle + sine * sum)
    } else {
        sine * sum
    }
}

#[cfg(test)]
mod tests {
    use super::{Groups, Term, chance, of_sampling, student};

    #[test]
    fn experiments_stand_by_their_sides() {
        let groups = Groups::new([7, 7, 2, 7]);
        assert_eq!(groups.sides(), [0, 0, 1, 0]);
        assert_eq!(
            groups.split(["a", "b", "c", "d"]),
            [vec!["a", "b", "d"], vec!["c"]]
        );
        assert_eq!(groups.means([1.0, 2.0, 9.0, 6.0]), [3.0, 9.0]);
        assert!(groups.have_several());
        assert!(!Groups::alone(3).have_several());
        assert_eq!(Groups::alone(0).len(), 0);
    }

    #[test]
    fn student_has_the_values_of_tables() {
        for (freedom, level, expected) in [
            (1, 0.005, 63.657),
            (2, 0.025, 4.303),
            (2, 0.0005, 31.599),
            (3, 0.005, 5.841),
            (4, 0.005, 4.604),
            (5, 0.05, 2.015),
            (9, 0.0005, 4.781),
            (10, 0.025, 2.228),
            (120, 0.005, 2.617),
        ] {
            let found = student(freedom, level);
            assert!(
                (found - expected).abs() < 5e-4 * expected,
                "{freedom} {level}: {found}"
            );
        }
    }

    #[test]
    fn a_part_varies_by_its_samples_and_the_whole_does_not() {
        // 50 of 100 samples vary by 5.
        assert!((of_sampling(0.5, 1.0, 0.01).sqrt() - 0.05).abs() < 1e-12);
        assert_eq!(of_sampling(1.0, 1.0, 0.01), 0.0);
        assert_eq!(of_sampling(0.0, 0.0, 0.01), 0.0);
    }

    #[test]
    fn means_of_recordings_differ_by_chance() {
        let term = |runs, times| Term { runs, times };
        let (before, after) = ([1.0, 2.0, 3.0], [4.0, 5.0, 6.0]);
        // Both sides have the variance 1: √(1/3 + 1/3) times Student's t of 4.
        let found = chance(&[term(&before, -1.0), term(&after, 1.0)], 0.0, 0.005);
        assert!((found.unwrap() - 4.6041 * (2.0_f64 / 3.0).sqrt()).abs() < 1e-3);
        // A single recording is judged by the other side; a factor counts for its mean.
        let found = chance(&[term(&before, -2.0), term(&[9.0], 1.0)], 0.0, 0.025);
        assert!((found.unwrap() - 4.3027 * (4.0_f64 / 3.0 + 1.0).sqrt()).abs() < 1e-3);
        // Equal recordings vary by what is known of their measurement.
        let found = chance(&[term(&[1.0, 1.0], 1.0)], 0.25, 0.005).unwrap();
        assert!(
            (found - 2.576 * (0.25_f64 / 2.0).sqrt()).abs() < 0.01,
            "{found}"
        );
        assert_eq!(
            chance(&[term(&[1.0], -1.0), term(&[2.0], 1.0)], 0.1, 0.01),
            None
        );
        assert_eq!(chance(&[term(&[], 1.0)], 0.1, 0.01), None);
    }

    /// Of differences between recordings that differ by nothing but chance, as many are told as the
    /// level says.
    #[test]
    fn a_level_is_kept() {
        let mut state = 1_u64;
        let mut uniform = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (state >> 11) as f64 / (1_u64 << 53) as f64
        };
        let mut normal = || (0..12).map(|_| uniform()).sum::<f64>() - 6.0;
        let mut told = 0;
        let trials = 20_000;
        for _ in 0..trials {
            let (one, other) = ([normal(), normal(), normal()], [normal(), normal()]);
            let terms = [
                Term {
                    runs: &one,
                    times: 1.0,
                },
                Term {
                    runs: &other,
                    times: -1.0,
                },
            ];
            let difference = super::mean(&one) - super::mean(&other);
            told += u32::from(difference.abs() > chance(&terms, 0.0, 0.005).unwrap());
        }
        let share = f64::from(told) / f64::from(trials);
        assert!((0.008..0.012).contains(&share), "{share}");
    }
}
