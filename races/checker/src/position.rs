//! Where a strand stands among all regions, and whether two such places can be reached at one time.

use crate::strands::{Order, Point, Strands};

/// A region around a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Level {
    /// The region; 0: the program.
    pub region: u64,
    /// Barriers that its team had passed.
    pub phase: u32,
    /// The place in it: of an outer region, where the inner one was forked.
    pub point: Point,
    /// Strands of it can run at the same time.
    pub is_concurrent: bool,
}

/// A place with the regions around it, innermost first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Position {
    /// The slot of the thread.
    pub slot: u32,
    /// What is done there may depend on the thread's number.
    pub asked: bool,
    /// The regions.
    pub levels: Vec<Level>,
}

impl Position {
    /// Whether other timing could have both places reached at one time. `phase` is the number of
    /// barriers that a region's team has passed, `None` once it has ended. What is over is not known any
    /// more: two places in one region whose interval has ended are taken as ordered.
    pub fn may_coincide(
        &self,
        other: &Position,
        strands: &Strands,
        phase: impl Fn(u64) -> Option<u32>,
    ) -> bool {
        if self.slot == other.slot && (self.asked || other.asked) {
            return false;
        }
        let common = self.levels.iter().find_map(|level| {
            let its = other.levels.iter().find(|its| its.region == level.region)?;
            Some((level, its))
        });
        common.is_some_and(|(level, its)| {
            level.is_concurrent
                && level.phase == its.phase
                && phase(level.region) == Some(level.phase)
                && level.point.strand != its.point.strand
                && strands.order(level.point, its.point) != Order::Certain
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_of_one_interval_coincide_unless_they_are_ordered() {
        let mut strands = Strands::default();
        let root = strands.begin(None, 0);
        let fork = strands.divide(root);
        let (a, b) = (strands.begin(Some(fork), 1), strands.begin(Some(fork), 2));
        let place = |slot, region, phase, point| Position {
            slot,
            asked: false,
            levels: vec![
                Level {
                    region,
                    phase,
                    point,
                    is_concurrent: region != 0,
                },
                Level {
                    region: 0,
                    phase: 0,
                    point: fork,
                    is_concurrent: false,
                },
            ],
        };
        let one = place(0, 1, 0, strands.here(a));
        let other = place(1, 1, 0, strands.here(b));
        let now = |region| (region < 2).then_some(0);
        assert!(one.may_coincide(&other, &strands, now));
        // One strand, another interval, another region one after the other.
        assert!(!one.may_coincide(&one, &strands, now));
        assert!(!one.may_coincide(&place(1, 1, 1, strands.here(b)), &strands, now));
        assert!(!one.may_coincide(&place(1, 2, 0, strands.here(b)), &strands, now));
        // The interval is over.
        assert!(!one.may_coincide(&other, &strands, |_| Some(1)));
        // The thread's number decides what one thread does.
        let mut asking = place(0, 1, 0, strands.here(b));
        assert!(one.may_coincide(&asking, &strands, now));
        asking.asked = true;
        assert!(!one.may_coincide(&asking, &strands, now));
        asking.slot = 1;
        assert!(one.may_coincide(&asking, &strands, now));
    }
}
