//! Which instances of a construct are compared.

/// The first instances of each construct.
const FIRST: u64 = 3;

/// Nanoseconds that comparing may take beyond the program's own time: short programs are compared as a whole.
const GRACE: u64 = 300_000_000;

/// Of the program's own time, in hundredths: the most that comparing may take. Memory that is shared with the
/// reference costs the program something, too, which is not measured.
const SHARE: u64 = 40;

/// What has been spent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Budget {
    /// Nanoseconds that the program took for itself.
    pub own: u64,
    /// Nanoseconds spent on comparing.
    pub spent: u64,
    /// Nanoseconds that the next comparison of this construct may take: what the last one took.
    pub next: u64,
}

/// Whether an instance, counted from 1, is compared: the first ones, then those whose number is a power of two, as
/// long as the budget lasts.
pub fn is_chosen(instance: u64, budget: Budget) -> bool {
    let is_one_of_few = instance <= FIRST || instance.is_power_of_two();
    let allowed = GRACE.saturating_add(budget.own / 100 * SHARE);
    is_one_of_few && budget.spent.saturating_add(budget.next) <= allowed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_instances_and_powers_of_two_are_compared() {
        let chosen = |instance: &u64| is_chosen(*instance, Budget::default());
        let all: Vec<u64> = (1..=40).filter(chosen).collect();
        assert_eq!(all, [1, 2, 3, 4, 8, 16, 32]);
    }

    #[test]
    fn comparing_takes_no_longer_than_the_program() {
        let second = 1_000_000_000;
        let budget = |own, spent, next| Budget { own, spent, next };
        assert!(is_chosen(1, budget(10 * second, 4 * second, 0)));
        assert!(!is_chosen(1, budget(10 * second, 4 * second, second)));
        assert!(is_chosen(1, budget(0, 0, GRACE)));
    }
}
