//! Divides sums among pieces of time.

/// How much the sums alone count in a piece, in samples: every sum has a place then, if few samples were taken.
const PRIOR: f64 = 0.1;

/// After so many rounds the sums are met within a thousandth, where samples permit it at all.
const ROUNDS: usize = 16;

/// Nanoseconds of each kind in each piece, so that every piece has its time and every kind its sum, and both as near as
/// that permits to the weights: how often each kind was seen in each piece. Iterative proportional fitting
/// (Deming and Stephan, 1940). Sums that are not those of the pieces are scaled to them.
///
/// The rows of the result are pieces, as those of `weights`.
pub(super) fn balanced(mut weights: Vec<Vec<f64>>, pieces: &[f64], sums: &[f64]) -> Vec<Vec<f64>> {
    let (time, sum): (f64, f64) = (pieces.iter().sum(), sums.iter().sum());
    if sum <= 0.0 {
        return weights;
    }
    for (parts, piece) in weights.iter_mut().zip(pieces) {
        for (part, of_kind) in parts.iter_mut().zip(sums) {
            *part += PRIOR * of_kind / sum;
        }
        scale(parts, *piece);
    }
    for _ in 0..ROUNDS {
        for (kind, of_kind) in sums.iter().enumerate() {
            let all: f64 = weights.iter().map(|parts| parts[kind]).sum();
            if all > 0.0 {
                let factor = of_kind * time / sum / all;
                weights.iter_mut().for_each(|parts| parts[kind] *= factor);
            }
        }
        for (parts, piece) in weights.iter_mut().zip(pieces) {
            scale(parts, *piece);
        }
    }
    weights
}

/// Scales values to a sum.
fn scale(values: &mut [f64], to: f64) {
    let all: f64 = values.iter().sum();
    if all > 0.0 {
        values.iter_mut().for_each(|value| *value *= to / all);
    }
}

#[cfg(test)]
mod tests {
    use super::balanced;

    fn is_near(found: &[f64], expected: &[f64]) -> bool {
        let pairs = found.iter().zip(expected);
        found.len() == expected.len() && pairs.into_iter().all(|(one, two)| (one - two).abs() < 0.5)
    }

    /// The sums by kind.
    fn sums(divided: &[Vec<f64>]) -> Vec<f64> {
        let kinds = 0..divided[0].len();
        kinds
            .map(|kind| divided.iter().map(|it| it[kind]).sum())
            .collect()
    }

    #[test]
    fn pieces_have_their_time_and_kinds_their_sums() {
        // Work was seen in the first piece, a barrier in the last, and the one between says nothing.
        let weights = vec![vec![9.0, 1.0], vec![0.0, 0.0], vec![0.0, 10.0]];
        let pieces = [100.0, 50.0, 100.0];
        let divided = balanced(weights, &pieces, &[120.0, 130.0]);
        for (parts, piece) in divided.iter().zip(pieces) {
            assert!((parts.iter().sum::<f64>() - piece).abs() < 1e-6);
        }
        assert!(is_near(&sums(&divided), &[120.0, 130.0]), "{divided:?}");
        assert!(divided[0][0] > 85.0 && divided[2][1] > 85.0, "{divided:?}");
    }

    #[test]
    fn what_no_sample_shows_has_its_sum() {
        let divided = balanced(
            vec![vec![5.0, 0.0], vec![5.0, 0.0]],
            &[50.0, 50.0],
            &[90.0, 10.0],
        );
        assert!(is_near(&sums(&divided), &[90.0, 10.0]), "{divided:?}");
        assert!(is_near(&divided[0], &[45.0, 5.0]), "{divided:?}");
    }

    #[test]
    fn a_sum_without_samples_is_where_there_are_none() {
        let divided = balanced(
            vec![vec![10.0, 0.0], vec![0.0, 0.0]],
            &[50.0, 50.0],
            &[50.0, 50.0],
        );
        assert!(divided[0][0] > 45.0 && divided[1][1] > 45.0, "{divided:?}");
    }

    #[test]
    fn sums_of_another_length_are_scaled_and_none_are_none() {
        let divided = balanced(vec![vec![1.0, 1.0]], &[10.0], &[1.0, 3.0]);
        assert!(is_near(&divided[0], &[2.5, 7.5]), "{divided:?}");
        assert_eq!(balanced(vec![vec![0.0]], &[10.0], &[0.0]), [[0.0]]);
        assert_eq!(balanced(vec![vec![]], &[10.0], &[]), [[0.0; 0]]);
    }
}
