//! Differences between experiments as a few steps, which colours and letters tell.

/// How much more or less than the first experiment the others have, as a colour tells it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Change {
    /// Less than a third of it.
    MuchLess,
    /// Less.
    Less,
    /// The same but for a tenth.
    Same,
    /// More.
    More,
    /// More than three times of it.
    MuchMore,
}

impl Change {
    /// Of what each experiment has, the first one's first; several others by their mean.
    pub fn of(sides: &[f64]) -> Change {
        let Some((&first, others)) = sides.split_first().filter(|(_, others)| !others.is_empty())
        else {
            return Change::Same;
        };
        let other = others.iter().sum::<f64>() / others.len() as f64;
        match (first, other) {
            _ if other < first / 3.0 => Change::MuchLess,
            _ if other < first * 0.9 => Change::Less,
            _ if other > first * 3.0 => Change::MuchMore,
            _ if other > first * 1.1 => Change::More,
            _ => Change::Same,
        }
    }

    /// A letter for it.
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
