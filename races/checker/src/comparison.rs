//! Which accesses of one address race.

use crate::interval::{Access, Source};
use crate::locksets::Locksets;
use crate::strands::{Order, Point, Strands};

/// Two strands that access one address without a certain order.
#[derive(Clone, Copy, Debug)]
pub struct Conflict {
    /// The accesses.
    pub accesses: [Access; 2],
    /// An address in both.
    pub address: u64,
    /// `None` or `Chance`.
    pub order: Order,
    /// How many pairs of strands are like that.
    pub count: u64,
}

impl Conflict {
    /// What is worse, and then what is easier to understand, is less.
    pub fn rank(&self) -> Rank {
        let [one, other] = self.accesses.map(|access| access.thread);
        Rank {
            order: self.order,
            is_one_thread: one == other,
        }
    }
}

/// How clear a race is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rank {
    /// The order of its strands.
    pub order: Order,
    /// One thread executed both.
    pub is_one_thread: bool,
}

/// Strands on one side of a comparison. Of more, as many are taken at even distances.
const MOST_STRANDS: usize = 64;

/// What decides whether two accesses of one address conflict.
#[derive(Clone, Copy)]
pub struct Comparison<'a> {
    /// The sources by number.
    pub sources: &'a [Source],
    /// The locks.
    pub locksets: &'a Locksets,
    /// The order.
    pub strands: &'a Strands,
    /// Whether the address is another one for another thread.
    pub is_own: &'a dyn Fn(&Access, &Access, u64) -> bool,
}

impl Comparison<'_> {
    /// Compares each access of `group` with each of `others`, or with each other one of its own.
    pub(crate) fn compare(
        self,
        group: &[Access],
        others: Option<&[Access]>,
        address: u64,
        found: &mut dyn FnMut(Conflict),
    ) {
        let second = others.unwrap_or(group);
        let locks = |access: &Access| self.sources[access.source as usize].locks;
        if self.locksets.exclude(locks(&group[0]), locks(&second[0])) {
            return;
        }
        let mut worst: Option<Conflict> = None;
        let mut count = 0;
        for (at, one) in chosen(group) {
            for (other_at, other) in chosen(second) {
                if others.is_none() && other_at <= at {
                    continue;
                }
                let order = self.order(one, other);
                if order == Order::Certain || (self.is_own)(one, other, address) {
                    continue;
                }
                count += 1;
                let conflict = Conflict {
                    accesses: [*one, *other],
                    address,
                    order,
                    count: 0,
                };
                if worst.is_none_or(|worst| conflict.rank() < worst.rank()) {
                    worst = Some(conflict);
                }
            }
        }
        if let Some(worst) = worst {
            found(Conflict { count, ..worst });
        }
    }

    /// The weakest order between any two of the segments.
    fn order(self, one: &Access, other: &Access) -> Order {
        if one.strand == other.strand {
            return Order::Certain;
        }
        let points = |access: &Access| {
            [access.first, access.last].map(|segment| Point {
                strand: access.strand,
                segment,
            })
        };
        points(one)
            .into_iter()
            .flat_map(|first| points(other).map(move |second| (first, second)))
            .map(|(first, second)| self.strands.order(first, second))
            .min()
            .unwrap_or(Order::Certain)
    }
}

/// As many as are compared.
fn chosen(group: &[Access]) -> impl Iterator<Item = (usize, &Access)> {
    let step = group.len().div_ceil(MOST_STRANDS).max(1);
    group.iter().enumerate().step_by(step)
}
