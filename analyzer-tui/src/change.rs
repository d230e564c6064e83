//! Classes of differences between experiments, for colours and letters.

/// The difference of the other experiments to the first one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Change {
    /// Less than a third of it.
    MuchLess,
    /// Less.
    Less,
    /// Within a tenth of it.
    Same,
    /// More.
    More,
    /// More than three times it.
    MuchMore,
}

impl Change {
    /// Classifies a value of each experiment. Several others count by their mean.
    pub fn of(sides: &[f64]) -> Change {
        let Some((&first, others)) = sides.split_first().filter(|(_, others)| !others.is_empty())
        else {
            return Change::Same;
        };
        let other = others.iter().sum::<f64>() / others.len() as f64;
        match other {
            other if other < first / 3.0 => Change::MuchLess,
            other if other < first * 0.9 => Change::Less,
            other if other > first * 3.0 => Change::MuchMore,
            other if other > first * 1.1 => Change::More,
            _ => Change::Same,
        }
    }

    /// Its letter.
    pub const fn mark(self) -> char {
        match self {
            Change::MuchLess => '≪',
            Change::Less => '<',
            Change::Same => '▏',
            Change::More => '>',
            Change::MuchMore => '≫',
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_symmetric_and_small_differences_are_none() {
        let of = |first, other| Change::of(&[first, other]);
        assert_eq!(of(1.0, 1.0), Change::Same);
        assert_eq!(of(1.0, 1.05), Change::Same);
        assert_eq!(of(1.0, 2.0), Change::More);
        assert_eq!(of(2.0, 1.0), Change::Less);
        assert_eq!(of(1.0, 3.5), Change::MuchMore);
        assert_eq!(of(3.5, 1.0), Change::MuchLess);
        assert_eq!(of(0.0, 0.1), Change::MuchMore);
        assert_eq!(of(0.1, 0.0), Change::MuchLess);
        assert_eq!(of(0.0, 0.0), Change::Same);
        assert_eq!(
            Change::of(&[1.0, 1.5, 2.5]),
            Change::More,
            "their mean is 2"
        );
        assert_eq!(
            Change::of(&[1.0]),
            Change::Same,
            "there is nothing beside it"
        );
    }
}
