//! What threads did at moments that were asked for before: a cache that several threads share.

use std::sync::atomic::{AtomicU64, Ordering};

use super::Moment;
use crate::profile::Shown;
use crate::tables::ThreadKind;

/// As many cells as this for a run.
const TAGS: usize = 8;

/// One cell for each moment of which few others have the same place. A cell holds tag, kind of
/// thread and what is shown, which with its place tell the run of stacks, too: no cell is ever half
/// written, and what it says of a moment is what anybody would find.
pub(super) struct Refined(Vec<AtomicU64>);

impl Refined {
    /// Of so many runs of so many stacks: some of a run's tags may have a cell of their own.
    pub(super) fn new(runs: usize, stacks: usize) -> Refined {
        let count = (TAGS * runs).min(stacks.max(runs)).next_power_of_two();
        let mut cells = Vec::new();
        cells.resize_with(count, AtomicU64::default);
        Refined(cells)
    }

    /// What is known of a moment, or is found by now.
    pub(super) fn of(&self, run: u32, moment: Moment, find: impl FnOnce() -> Shown) -> Shown {
        let key = u64::from(moment.tag.0) << 8 | (moment.thread as u64) << 6;
        let mixed = (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize;
        // The number of a run has no bits above those of a place.
        let place = run as usize ^ (mixed & (self.0.len() - 1));
        let Some(cell) = self.0.get(place) else {
            return find();
        };
        let known = cell.load(Ordering::Relaxed);
        if let Some(number) = (known ^ key).checked_sub(1)
            && let Some(&shown) = Shown::ALL.get(number as usize)
        {
            return shown;
        }
        let shown = find();
        cell.store(key | (1 + shown as u64), Ordering::Relaxed);
        shown
    }
}

const _: () = assert!(Shown::ALL.len() < 1 << 6 && (ThreadKind::Other as u64) < 1 << 2);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::{StackId, TagId};

    #[test]
    fn every_moment_is_told_what_was_found_of_it() {
        let refined = Refined::new(100, 100);
        let moments = || {
            let kinds = [ThreadKind::Initial, ThreadKind::Other];
            (0..130).flat_map(move |stack| {
                (0..40).flat_map(move |tag| {
                    kinds.map(|thread| Moment {
                        stack: StackId(stack),
                        tag: TagId(tag * tag),
                        thread,
                    })
                })
            })
        };
        let shown = |moment: Moment| {
            let mixed = moment.stack.0 + 3 * moment.tag.0 + moment.thread as u32;
            Shown::ALL[mixed as usize % Shown::ALL.len()]
        };
        for moment in moments().chain(moments()) {
            assert_eq!(
                refined.of(moment.stack.0, moment, || shown(moment)),
                shown(moment)
            );
            let again = refined.of(moment.stack.0, moment, || match moment.stack.0 < 100 {
                true => panic!("it was found a moment ago"),
                false => shown(moment),
            });
            assert_eq!(again, shown(moment));
        }
    }
}
