//! The making of a profile's items: where shares stand is found one after the other, and what was
//! found is made items of beside.

use std::panic::resume_unwind;
use std::sync::mpsc::sync_channel;
use std::thread;

use super::Share;
use crate::profile::{Item, PathId, Shown};

/// So many are handed on at a time; fewer are not worth a thread.
const PART: usize = 1 << 14;

/// The display stack of a share, and what the thread did there.
type Place = (PathId, Shown);

/// Makes an item of each share, in their order.
pub(super) fn of(
    shares: &[Share],
    mut place: impl FnMut(&Share) -> Place,
    item: impl Fn(&Share, Place) -> Item + Sync,
) -> Vec<Item> {
    if shares.len() <= PART {
        return shares.iter().map(|it| item(it, place(it))).collect();
    }
    let (sender, receiver) = sync_channel::<Vec<Place>>(2);
    thread::scope(|scope| {
        let maker = scope.spawn(|| {
            let mut items = Vec::with_capacity(shares.len());
            for (part, places) in shares.chunks(PART).zip(receiver) {
                let placed = part.iter().zip(places);
                items.extend(placed.map(|(share, place)| item(share, place)));
            }
            items
        });
        for part in shares.chunks(PART) {
            // Only a maker that has panicked takes no more.
            if sender.send(part.iter().map(&mut place).collect()).is_err() {
                break;
            }
        }
        drop(sender);
        maker.join().unwrap_or_else(|panic| resume_unwind(panic))
    })
}
