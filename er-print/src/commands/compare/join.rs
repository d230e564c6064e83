//! The rows of several experiments under the names that they share.

use std::cmp::Ordering;
use std::collections::HashMap;

use omp_model::metrics::{Quantity, SortKey};

/// What the experiments have under one name.
#[derive(Clone, Debug)]
pub(super) struct Joined<T> {
    /// The name.
    pub(super) name: String,
    /// By experiment.
    pub(super) rows: Vec<Option<T>>,
}

/// Joins rows by name, in the order of their first appearance. A name comes once in an experiment;
/// of several the first stands for all.
pub(super) fn join<T>(sides: Vec<Vec<T>>, name: impl Fn(&T) -> String) -> Vec<Joined<T>> {
    let count = sides.len();
    let mut joined: Vec<Joined<T>> = Vec::new();
    let mut index = HashMap::<String, usize>::new();
    for (number, rows) in sides.into_iter().enumerate() {
        for row in rows {
            let name = name(&row);
            let at = *index.entry(name.clone()).or_insert_with(|| {
                let rows = (0..count).map(|_| None).collect();
                joined.push(Joined { name, rows });
                joined.len() - 1
            });
            joined[at].rows[number].get_or_insert(row);
        }
    }
    joined
}

/// The order of two rows, the one with the largest value in any experiment first.
pub(super) fn order<T>(
    sort: SortKey,
    value: impl Fn(&T) -> f64,
    left: &Joined<T>,
    right: &Joined<T>,
) -> Ordering {
    let largest = |joined: &Joined<T>| {
        let values = joined.rows.iter().flatten().map(&value);
        values.fold(0.0, f64::max)
    };
    let by_time = match sort.quantity {
        Quantity::Time(..) => largest(right).total_cmp(&largest(left)),
        _ => Ordering::Equal,
    };
    let asked = by_time.then_with(|| left.name.cmp(&right.name));
    match sort.reversed {
        true => asked.reverse(),
        false => asked,
    }
}

#[cfg(test)]
mod tests {
    use super::join;

    #[test]
    fn rows_of_one_name_stand_beside_each_other() {
        let sides = vec![vec![("a", 1), ("b", 2)], vec![("c", 3), ("a", 4), ("a", 5)]];
        let joined = join(sides, |row| row.0.to_owned());
        let found: Vec<_> = joined
            .into_iter()
            .map(|it| {
                (
                    it.name,
                    it.rows[0].map(|row| row.1),
                    it.rows[1].map(|row| row.1),
                )
            })
            .collect();
        assert_eq!(
            found,
            [
                ("a".to_owned(), Some(1), Some(4)),
                ("b".to_owned(), Some(2), None),
                ("c".to_owned(), None, Some(3)),
            ]
        );
    }
}
