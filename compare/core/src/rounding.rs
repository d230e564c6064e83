//! Whether differences are rounding: another order of the same additions.
//!
//! No tolerance is known beforehand: a sum of values that cancel each other loses all its digits. So the region is
//! repeated with one thread, rounding up and rounding down, and what that changes shows how far rounding reaches
//! in each array.

use crate::words::Difference;

/// A difference up to so many times the spread of the repetitions is rounding.
const ACCEPTED: f64 = 10.0;

/// With so many words, what an array holds is told by its values.
const ENOUGH: usize = 8;

/// What a repeated execution left in the words of differences.
#[derive(Clone, Debug, Default)]
pub struct Repeated {
    /// Rounding up.
    pub up: Vec<u64>,
    /// Rounding down.
    pub down: Vec<u64>,
}

/// Which of the differences in an array are rounding, and how far that reaches: the largest change by another
/// direction of rounding, 0 if there is none.
pub fn rounding(differences: &[Difference], repeated: &Repeated) -> (Vec<bool>, f64) {
    let doubles = of_kind(differences, repeated, doubles);
    let singles = of_kind(differences, repeated, singles);
    if are_singles(differences) {
        return singles;
    }
    if differences.len() >= ENOUGH || singles.1 == 0.0 {
        return doubles;
    }
    // Two numbers of 4 bytes look like one of 8: of few words, either explains a difference.
    let either = doubles.0.iter().zip(&singles.0);
    let either = either.map(|(one, other)| *one || *other).collect();
    (
        either,
        if doubles.1 > 0.0 {
            doubles.1
        } else {
            singles.1
        },
    )
}

/// The numbers that a word may hold.
type Numbers = [f64; 2];

fn doubles(word: u64) -> Numbers {
    [f64::from_bits(word), 0.0]
}

fn singles(word: u64) -> Numbers {
    [word as u32, (word >> 32) as u32].map(|half| f64::from(f32::from_bits(half)))
}

fn of_kind(
    differences: &[Difference],
    repeated: &Repeated,
    numbers: fn(u64) -> Numbers,
) -> (Vec<bool>, f64) {
    let distance = |one: u64, other: u64| {
        let pairs = numbers(one).into_iter().zip(numbers(other));
        // A NaN or an infinity on one side only is no rounding.
        let each = pairs.map(|(one, other)| {
            if one.to_bits() == other.to_bits() {
                0.0
            } else {
                (one - other).abs()
            }
        });
        each.fold(
            0.0,
            |most, it| if it > most || it.is_nan() { it } else { most },
        )
    };
    let mut spread = 0.0_f64;
    let repeats = repeated.up.iter().zip(&repeated.down);
    for (difference, (up, down)) in differences.iter().zip(repeats) {
        for repeat in [*up, *down] {
            let one = distance(difference.reference, repeat);
            if one.is_finite() && one > spread && is_sane(numbers(repeat)) {
                spread = one;
            }
        }
    }
    let is_rounding = |difference: &Difference| {
        let distance = distance(difference.reference, difference.result);
        distance.is_finite() && spread > 0.0 && distance <= ACCEPTED * spread
    };
    (differences.iter().map(is_rounding).collect(), spread)
}

/// Numbers that programs compute with, as opposed to other data that are read as numbers.
fn is_sane(numbers: Numbers) -> bool {
    let is_sane = |number: f64| number == 0.0 || (1e-200..1e200).contains(&number.abs());
    numbers.into_iter().all(is_sane)
}

/// Whether the words hold numbers of 4 bytes each.
fn are_singles(differences: &[Difference]) -> bool {
    let is_usual = |number: f64| number == 0.0 || (1e-12..1e12).contains(&number.abs());
    let are = |word: u64| singles(word).into_iter().all(is_usual);
    let usual = differences
        .iter()
        .filter(|it| are(it.reference) && are(it.result));
    differences.len() >= ENOUGH && usual.count() * 10 >= differences.len() * 9
}

/// A number in as many digits as it takes to know it.
pub fn text(number: f64) -> String {
    let is_plain = number == 0.0 || (1e-4..1e15).contains(&number.abs()) || !number.is_finite();
    if is_plain {
        format!("{number}")
    } else {
        format!("{number:e}")
    }
}

/// The value of a word, or of half a word, as the numbers around it suggest.
pub fn shown(value: u64, bytes: u64) -> String {
    if bytes == 4 {
        let half = value as u32;
        let single = f32::from_bits(half);
        let is_number = (1e-12..1e12).contains(&single.abs());
        return if is_number {
            format!("{single}")
        } else {
            (half as i32).to_string()
        };
    }
    let double = f64::from_bits(value);
    if (1e-100..1e100).contains(&double.abs()) || double.is_nan() && value >> 52 & 0x7ff == 0x7ff {
        text(double)
    } else {
        (value as i64).to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn difference(reference: f64, result: f64) -> Difference {
        Difference {
            reference: reference.to_bits(),
            result: result.to_bits(),
            ..Difference::default()
        }
    }

    fn repeated(up: f64, down: f64) -> Repeated {
        Repeated {
            up: vec![up.to_bits()],
            down: vec![down.to_bits()],
        }
    }

    #[test]
    fn a_sum_in_another_order_is_rounding_and_a_lost_addend_is_not() {
        let repeat = repeated(1.0 + 1e-12, 1.0 - 1e-12);
        let is = |result| rounding(&[difference(1.0, result)], &repeat).0;
        assert_eq!(is(1.0 + 5e-12), [true]);
        assert_eq!(is(1.0 + 5e-11), [false]);
        assert_eq!(is(f64::NAN), [false]);
        let (_, spread) = rounding(&[difference(1.0, 1.5)], &repeat);
        assert!((spread - 1e-12).abs() < 1e-15, "{spread}");
    }

    #[test]
    fn what_rounding_does_not_change_is_none() {
        let same = repeated(1.0, 1.0);
        assert_eq!(
            rounding(&[difference(1.0, 1.0 + 1e-16)], &same),
            (vec![false], 0.0)
        );
        let (kept, spread) = rounding(&[difference(1.0, 2.0)], &same);
        assert_eq!((kept, spread), (vec![false], 0.0));
    }

    #[test]
    fn numbers_of_four_bytes_are_told_by_their_array() {
        let pair = |low: f32, high: f32| u64::from(low.to_bits()) | u64::from(high.to_bits()) << 32;
        let of = |low: f32| Difference {
            reference: pair(1.0, 2.0),
            result: pair(low, 2.0),
            ..Difference::default()
        };
        let all: Vec<Difference> = (0..10).map(|_| of(1.000_001)).chain([of(1.5)]).collect();
        let repeat = Repeated {
            up: vec![pair(1.000_000_5, 2.0); 11],
            down: vec![pair(1.0, 2.0); 11],
        };
        let (is, _) = rounding(&all, &repeat);
        assert_eq!(is.iter().filter(|it| **it).count(), 10);
        assert!(!is[10]);
    }

    #[test]
    fn values_are_shown_as_what_they_are() {
        assert_eq!(shown(1.5_f64.to_bits(), 8), "1.5");
        assert_eq!(shown(17, 8), "17");
        assert_eq!(shown(u64::from(2.5_f32.to_bits()), 4), "2.5");
        assert_eq!(shown(u64::from(7_u32.wrapping_neg()), 4), "-7");
    }
}
