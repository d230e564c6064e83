//! Numbers as text. A true zero with decimals is `0.`, so that it is told from what is rounded to
//! nothing.

use crate::settings::Compare;

/// Below this a sum of times differs from another only by the order of its terms.
const NOTHING: f64 = 5e-10;

/// A number with so many decimals.
pub fn number(value: f64, decimals: usize) -> String {
    if value == 0.0 && decimals > 0 {
        "0.".to_owned()
    } else {
        format!("{value:.decimals$}")
    }
}

/// Seconds with three decimals, for running text.
pub fn seconds(value: f64) -> String {
    format!("{value:.3}")
}

/// A part of a whole in percent; 0 of nothing.
pub fn percent(part: f64, whole: f64) -> f64 {
    if whole > 0.0 {
        100.0 * part / whole
    } else {
        0.0
    }
}

/// A number that may be absent, without the rounding errors of sums.
pub fn rounded(value: Option<f64>, decimals: usize) -> String {
    match value {
        None => "-".to_owned(),
        // A count of none is no rounded time.
        Some(value) if decimals == 0 => format!("{value:.0}"),
        Some(value) if value.abs() < NOTHING => number(0.0, decimals),
        Some(value) => number(value, decimals),
    }
}

/// A value of a further experiment beside the first one's.
pub fn compared(mode: Compare, first: Option<f64>, other: Option<f64>, decimals: usize) -> String {
    match (mode, first, other) {
        (Compare::Delta, Some(first), Some(other)) => match other - first {
            difference if difference.abs() < NOTHING => "0.".to_owned(),
            difference => format!("{difference:+.decimals$}"),
        },
        (Compare::Ratio, first, other) => match (first.unwrap_or(0.0), other.unwrap_or(0.0)) {
            (0.0, 0.0) => "-".to_owned(),
            (0.0, _) => "new".to_owned(),
            (first, other) => format!("x{:.3}", other / first),
        },
        (_, _, other) => rounded(other, decimals),
    }
}

/// Numbers of one width with their points in one column.
pub(super) fn aligned(
    values: impl Iterator<Item = f64>,
    decimals: usize,
    least_integers: usize,
) -> Vec<String> {
    let numbers: Vec<String> = values.map(|value| number(value, decimals)).collect();
    let integers = |number: &String| number.find('.').unwrap_or(number.len());
    let before = numbers
        .iter()
        .map(integers)
        .max()
        .unwrap_or(0)
        .max(least_integers);
    let after = if decimals == 0 { 0 } else { decimals + 1 };
    numbers
        .iter()
        .map(|number| {
            let (integer, fraction) = number.split_at(integers(number));
            format!("{integer:>before$}{fraction:<after$}")
        })
        .collect()
}
