//! Which threads wait forever: a pure function of who waits for whom.

use std::collections::BTreeMap;

/// For what a thread waits, as far as others are concerned: their slots, and whether they can never do
/// their part. The thread goes on when all of them have.
pub type Waits = BTreeMap<u32, Vec<(u32, bool)>>;

/// The threads that wait forever: each waits for one that cannot do its part, or that waits forever
/// itself. A thread that waits for nobody, or for running threads alone, is none.
pub fn stuck(waits: &Waits) -> Vec<u32> {
    let mut stuck: Vec<u32> = waits.keys().copied().collect();
    loop {
        let kept: Vec<u32> = stuck
            .iter()
            .copied()
            .filter(|slot| {
                waits[slot]
                    .iter()
                    .any(|(other, never)| *never || stuck.contains(other))
            })
            .collect();
        if kept.len() == stuck.len() {
            return kept;
        }
        stuck = kept;
    }
}

/// Those of them that lie on a cycle, from one to the next; empty if none waits for itself through
/// others that all `fit`.
pub fn cycle(waits: &Waits, stuck: &[u32], fits: impl Fn(u32) -> bool) -> Vec<u32> {
    for first in stuck.iter().copied().filter(|slot| fits(*slot)) {
        let mut path = vec![first];
        while let Some(last) = path.last() {
            let next = waits[last]
                .iter()
                .map(|(other, _)| *other)
                .find(|other| stuck.contains(other) && fits(*other));
            match next {
                Some(next) if next == first => return path,
                Some(next) if !path.contains(&next) => path.push(next),
                _ => break,
            }
        }
    }
    Vec::new()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waits(of: &[(u32, &[(u32, bool)])]) -> Waits {
        of.iter()
            .map(|(slot, others)| (*slot, others.to_vec()))
            .collect()
    }

    #[test]
    fn a_cycle_and_those_behind_it_are_stuck() {
        let all = waits(&[
            (0, &[(1, false)]),
            (1, &[(0, false)]),
            (2, &[(3, false), (0, false)]),
        ]);
        assert_eq!(stuck(&all), [0, 1, 2]);
        assert_eq!(cycle(&all, &[0, 1, 2], |_| true), [0, 1]);
        assert!(cycle(&all, &[0, 1, 2], |slot| slot != 1).is_empty());
    }

    #[test]
    fn who_waits_for_a_running_thread_is_not_stuck() {
        assert!(stuck(&waits(&[(0, &[(1, false)]), (2, &[(0, false)])])).is_empty());
        assert!(stuck(&waits(&[(0, &[])])).is_empty());
    }

    #[test]
    fn who_waits_for_one_that_cannot_come_is_stuck() {
        let all = waits(&[(0, &[(1, true)]), (2, &[(0, false)])]);
        assert_eq!(stuck(&all), [0, 2]);
        // A thread that waits for itself.
        let own = waits(&[(5, &[(5, false)])]);
        assert_eq!(
            (stuck(&own), cycle(&own, &[5], |_| true)),
            (vec![5], vec![5])
        );
    }
}
