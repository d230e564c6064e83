//! How much compared experiments differ at a place, in steps that pictures have colours and words for.

/// The difference of the other experiments to the first one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Change {
    /// The others have nothing.
    Gone,
    /// Less than a third.
    MuchLess,
    /// Less.
    Less,
    /// Within a tenth.
    Same,
    /// More.
    More,
    /// Three times as much or more.
    MuchMore,
    /// The first has nothing.
    New,
}

/// Below this a sum of times differs from nothing only by the order of its terms.
const NOTHING: f64 = 5e-10;

impl Change {
    /// Every step, from least to most.
    pub const ALL: [Change; 7] = [
        Change::Gone,
        Change::MuchLess,
        Change::Less,
        Change::Same,
        Change::More,
        Change::MuchMore,
        Change::New,
    ];

    /// Classifies a value of each experiment. Several others count by their mean.
    pub fn of(sides: &[f64]) -> Change {
        let Some((&first, others)) = sides.split_first().filter(|(_, others)| !others.is_empty())
        else {
            return Change::Same;
        };
        let other = others.iter().sum::<f64>() / others.len() as f64;
        match (first < NOTHING, other < NOTHING) {
            (true, true) => return Change::Same,
            (true, false) => return Change::New,
            (false, true) => return Change::Gone,
            (false, false) => {}
        }
        let fits = |step: &Change| step.below().is_some_and(|below| other < first * below);
        Change::ALL.into_iter().find(fits).unwrap_or(Change::Same)
    }

    /// The upper end of this step, as a multiple of the first value; the step below ends where this one begins.
    /// `None` where one of the two values is nothing.
    pub const fn below(self) -> Option<f64> {
        match self {
            Change::Gone | Change::New => None,
            Change::MuchLess => Some(1.0 / 3.0),
            Change::Less => Some(0.9),
            Change::Same => Some(1.1),
            Change::More => Some(3.0),
            Change::MuchMore => Some(f64::MAX),
        }
    }

    /// Its word, which stands before a name that not all experiments have.
    pub const fn word(self) -> &'static str {
        match self {
            Change::Gone => "gone",
            Change::MuchLess => "much less",
            Change::Less => "less",
            Change::Same => "same",
            Change::More => "more",
            Change::MuchMore => "much more",
            Change::New => "new",
        }
    }

    /// Its words in a legend.
    pub const fn legend(self) -> &'static str {
        match self {
            Change::Gone => "gone",
            Change::MuchLess => "less than a third",
            Change::Less => "less",
            Change::Same => "within a tenth",
            Change::More => "more",
            Change::MuchMore => "three times or more",
            Change::New => "new",
        }
    }

    /// Its letter, where there are no colours.
    pub const fn mark(self) -> char {
        match self {
            Change::Gone => '-',
            Change::MuchLess => '≪',
            Change::Less => '<',
            Change::Same => '▏',
            Change::More => '>',
            Change::MuchMore => '≫',
            Change::New => '+',
        }
    }

    /// Its colour as `#rrggbb`, on a light and on a dark page: from blue to orange, which all kinds of colour
    /// vision tell apart, and the further from the page's own the larger the change.
    pub const fn colours(self) -> [&'static str; 2] {
        match self {
            Change::Gone => ["#0b5c99", "#9ad0ff"],
            Change::MuchLess => ["#5aa4dc", "#4b9be0"],
            Change::Less => ["#b5d9f3", "#30648f"],
            Change::Same => ["#e6e6e6", "#484c52"],
            Change::More => ["#f9d59c", "#80581c"],
            Change::MuchMore => ["#f0a030", "#d9821a"],
            Change::New => ["#a35200", "#ffc67a"],
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
        assert_eq!(of(0.0, 0.1), Change::New);
        assert_eq!(of(0.1, 0.0), Change::Gone);
        assert_eq!(
            of(0.1 + 0.2 - 0.3, 0.1),
            Change::New,
            "a sum in another order"
        );
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

    /// A browser finds the step by its limit alone.
    #[test]
    fn limits_rise_from_step_to_step() {
        let limits: Vec<f64> = Change::ALL.into_iter().filter_map(Change::below).collect();
        assert_eq!(limits.len(), Change::ALL.len() - 2);
        assert!(limits.is_sorted());
    }
}
