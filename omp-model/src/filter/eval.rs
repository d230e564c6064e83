//! The value of an expression; unknown if it depends on an unknown word.

use super::parse::{Binary, Expr, Unary};
use super::words::Word;

/// The known values for a piece of time.
pub(super) trait KnownValues {
    /// The number of a word; `None` if unknown.
    fn word(&self, word: Word) -> Option<i64>;
    /// The result of a test of the stack; `None` if unknown.
    fn path(&self, test: usize) -> Option<bool>;
    /// The result of a test of the phases; `None` if unknown.
    fn phase(&self, test: usize) -> Option<bool>;
}

/// The value, or `None` if it depends on unknown words. Division by zero gives 0, shifts take the
/// count modulo 64, and sums wrap, so every expression has a value.
pub(super) fn value(node: &Expr, known: &impl KnownValues) -> Option<i64> {
    match node {
        Expr::Number(number) => Some(*number),
        Expr::Word(word) => known.word(*word),
        Expr::Path(test) => known.path(*test).map(i64::from),
        Expr::Phase(test) => known.phase(*test).map(i64::from),
        Expr::Among(inner, ranges) => {
            let value = value(inner, known)?;
            let among = |&(low, high): &(i64, i64)| (low..=high).contains(&value);
            Some(i64::from(ranges.iter().any(among)))
        }
        Expr::Unary(operator, inner) => {
            let value = value(inner, known)?;
            Some(match operator {
                Unary::Not => i64::from(value == 0),
                Unary::Negate => value.wrapping_neg(),
                Unary::Invert => !value,
            })
        }
        Expr::Binary(operator, left, right) => {
            let (left, right) = (value(left, known), value(right, known));
            match (operator, left, right) {
                (Binary::And, Some(0), _) | (Binary::And, _, Some(0)) => Some(0),
                (Binary::Or, Some(truth), _) | (Binary::Or, _, Some(truth)) if truth != 0 => {
                    Some(1)
                }
                (_, Some(left), Some(right)) => Some(binary(*operator, left, right)),
                _ => None,
            }
        }
    }
}

fn binary(operator: Binary, left: i64, right: i64) -> i64 {
    match operator {
        Binary::Or => i64::from(left != 0 || right != 0),
        Binary::And => i64::from(left != 0 && right != 0),
        Binary::BitOr => left | right,
        Binary::BitXor => left ^ right,
        Binary::BitAnd => left & right,
        Binary::Equal => i64::from(left == right),
        Binary::Unequal => i64::from(left != right),
        Binary::Less => i64::from(left < right),
        Binary::AtMost => i64::from(left <= right),
        Binary::More => i64::from(left > right),
        Binary::AtLeast => i64::from(left >= right),
        Binary::Left => left.wrapping_shl(right as u32),
        Binary::Right => left.wrapping_shr(right as u32),
        Binary::Add => left.wrapping_add(right),
        Binary::Subtract => left.wrapping_sub(right),
        Binary::Multiply => left.wrapping_mul(right),
        Binary::Divide => left.checked_div(right).unwrap_or(0),
        Binary::Remainder => left.checked_rem(right).unwrap_or(0),
    }
}
