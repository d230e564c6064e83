//! Joins the rows of several experiments by shared names.

use std::cmp::Ordering;
use std::collections::HashMap;

use super::Shared;
use super::groups::Groups;
use crate::metrics::{Quantity, SortKey};
use crate::views::Request;
use crate::views::calltree::TreeRow;

/// The rows of the experiments with one name.
#[derive(Clone, Debug)]
pub struct Joined<T> {
    /// The name.
    pub name: String,
    /// By experiment.
    pub rows: Vec<Option<T>>,
}

/// Joins rows by name, in the order of their first appearance. A name is unique in an experiment.
pub fn join<T>(sides: Vec<Vec<T>>, name: impl Fn(&T) -> String) -> Vec<Joined<T>> {
    join_adding(sides, name, |_, _| {})
}

/// Joins rows by name. Rows of an experiment with equal names are merged by `add`.
pub fn join_adding<T>(
    sides: Vec<Vec<T>>,
    name: impl Fn(&T) -> String,
    add: impl Fn(&mut T, T),
) -> Vec<Joined<T>> {
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
            match &mut joined[at].rows[number] {
                Some(known) => add(known, row),
                none => *none = Some(row),
            }
        }
    }
    joined
}

/// What makes a row of several experiments come before another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rank {
    /// The largest value of any side.
    Largest,
    /// The largest difference from the first side, up or down.
    Change,
}

/// How rows of several experiments are ranked.
#[derive(Clone, Copy, Debug)]
pub struct Ranking<'g> {
    /// What counts.
    pub rank: Rank,
    /// The sides, of whose means it counts.
    pub groups: &'g Groups,
}

impl Ranking<'_> {
    /// The row's rank; what an experiment lacks is 0 there.
    pub fn of<T>(self, joined: &Joined<T>, value: impl Fn(&T) -> f64) -> f64 {
        /// Below this a sum of times differs from another only by the order of its terms.
        const NOTHING: f64 = 5e-10;
        let of_run = |row: &Option<T>| row.as_ref().map_or(0.0, &value);
        let means = self.groups.means(joined.rows.iter().map(of_run));
        let first = match self.rank {
            Rank::Largest => 0.0,
            Rank::Change => means.first().copied().unwrap_or(0.0),
        };
        let distances = means.into_iter().map(|mean| match self.rank {
            Rank::Largest => mean,
            Rank::Change => (mean - first).abs(),
        });
        let largest = distances.fold(0.0, f64::max);
        if largest < NOTHING { 0.0 } else { largest }
    }
}

/// The order of two rows: by rank, then by their largest values, then by name.
pub fn order<T>(
    sort: SortKey,
    ranking: Ranking<'_>,
    value: impl Fn(&T) -> f64,
    left: &Joined<T>,
    right: &Joined<T>,
) -> Ordering {
    let by = |rank: Rank| {
        let ranking = Ranking { rank, ..ranking };
        ranking
            .of(right, &value)
            .total_cmp(&ranking.of(left, &value))
    };
    let by_time = match sort.quantity {
        Quantity::Time(..) => by(ranking.rank).then_with(|| by(Rank::Largest)),
        _ => Ordering::Equal,
    };
    let asked = by_time.then_with(|| left.name.cmp(&right.name));
    if sort.reversed {
        asked.reverse()
    } else {
        asked
    }
}

/// A node of the joined call trees of all experiments.
#[derive(Clone, Debug)]
pub struct Branch {
    /// Its depth: 0 for the root.
    pub depth: u32,
    /// Whether it is the last of its siblings.
    pub last: bool,
    /// Each experiment's node.
    pub joined: Joined<TreeRow>,
}

/// The joined call trees of the experiments, in preorder, and how many nodes each leaves out, as in
/// [`CallTree`].
pub fn calltree(
    shared: &Shared<'_>,
    request: &Request,
    ranking: Ranking<'_>,
) -> (Vec<Branch>, Vec<(usize, f64)>) {
    let mut left_out = Vec::new();
    let sides = 0..shared.len();
    let mut nodes: Vec<Branch> = Vec::new();
    let mut children: Vec<Vec<usize>> = Vec::new();
    let mut index = HashMap::<(usize, String), usize>::new();
    for side in sides.clone() {
        let mut path: Vec<usize> = Vec::new();
        let tree = shared.calltree(side, request);
        left_out.push((tree.left_out, tree.smaller));
        for row in tree.rows {
            path.truncate(row.depth as usize);
            let parent = path.last().copied();
            let key = (parent.map_or(0, |parent| parent + 1), row.name.clone());
            let next = nodes.len();
            let at = *index.entry(key).or_insert_with(|| {
                if let Some(parent) = parent {
                    children[parent].push(next);
                }
                children.push(Vec::new());
                nodes.push(Branch {
                    depth: row.depth,
                    last: true,
                    joined: Joined {
                        name: row.name.clone(),
                        rows: vec![None; sides.len()],
                    },
                });
                next
            });
            nodes[at].joined.rows[side].get_or_insert(row);
            path.push(at);
        }
    }
    let attributed = |row: &TreeRow| match request.sort.quantity {
        Quantity::Time(_, metric) => request.index(metric).map_or(0.0, |at| row.attributed[at]),
        _ => 0.0,
    };
    for siblings in &mut children {
        siblings.sort_by(|&left, &right| {
            order(
                request.sort,
                ranking,
                attributed,
                &nodes[left].joined,
                &nodes[right].joined,
            )
        });
        for &at in siblings.iter().rev().skip(1) {
            nodes[at].last = false;
        }
    }
    let mut taken: Vec<Option<Branch>> = nodes.into_iter().map(Some).collect();
    let mut sorted = Vec::with_capacity(taken.len());
    let mut pending = if taken.is_empty() {
        Vec::new()
    } else {
        vec![0]
    };
    while let Some(at) = pending.pop() {
        sorted.extend(taken[at].take());
        pending.extend(children[at].iter().rev());
    }
    (sorted, left_out)
}

#[cfg(test)]
mod tests {
    use super::{Joined, Rank, Ranking, join_adding};
    use crate::views::compare::groups::Groups;

    #[test]
    fn a_change_may_be_up_or_down_or_of_what_one_side_lacks() {
        let rank_of = |rank: Rank, groups: &Groups, rows: &[Option<f64>]| {
            let rows = rows.to_vec();
            let name = String::new();
            Ranking { rank, groups }.of(&Joined { name, rows }, |value| *value)
        };
        let rank = |rank, rows: &[Option<f64>]| rank_of(rank, &Groups::alone(rows.len()), rows);
        let rows = [Some(3.0), Some(1.0), Some(4.0)];
        assert_eq!(rank(Rank::Largest, &rows), 4.0);
        assert_eq!(rank(Rank::Change, &rows), 2.0);
        assert_eq!(rank(Rank::Change, &[None, Some(1.5)]), 1.5);
        assert_eq!(rank(Rank::Change, &[Some(1.5), None]), 1.5);
        assert_eq!(rank(Rank::Change, &[Some(0.1 + 0.2), Some(0.3)]), 0.0);
        let pairs = Groups::new([0, 0, 1, 1]);
        let rows = [Some(1.0), Some(3.0), None, Some(9.0)];
        assert_eq!(rank_of(Rank::Change, &pairs, &rows), 2.5);
    }

    #[test]
    fn rows_of_one_name_stand_beside_each_other() {
        let sides = vec![vec![("a", 1), ("b", 2)], vec![("c", 3), ("a", 4), ("a", 5)]];
        let joined = join_adding(sides, |row| row.0.to_owned(), |row, other| row.1 += other.1);
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
                ("a".to_owned(), Some(1), Some(9)),
                ("b".to_owned(), Some(2), None),
                ("c".to_owned(), None, Some(3)),
            ]
        );
    }
}
