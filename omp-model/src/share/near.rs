//! Which groups of samples to keep for those that have none, while time is gone through.

use super::Seen;
use super::lane::Sum;
use super::places::{Donor, heaviest};
use crate::state::Presence;

/// The groups that others may borrow from: of one thread's state, or of all that it did outside
/// of constructs. They come in the order of time, those of a slice before its borrowers.
#[derive(Debug, Default)]
pub(super) struct Near([NearOne; Donor::KINDS]);

/// Those of one kind.
#[derive(Debug, Default)]
struct NearOne {
    kept: Vec<Donor>,
    /// The first and the last one of the last slice that has any, each until it is kept.
    first: Held,
    last: Held,
    /// The last slice that has any.
    slice: u32,
    /// Whether a borrower came since then, to which the next one may be the nearest.
    wanted: bool,
}

/// Samples of a group, of which nobody may ever ask.
#[derive(Debug, Default)]
struct Held {
    is_held: bool,
    slice: u32,
    /// Numbers of sums, each with a count; one may come several times.
    places: Vec<(u32, u32)>,
}

/// What a group's samples are of: presence, and whether of long sleeps.
pub(super) type Kind = (Presence, bool);

impl Held {
    fn hold(&mut self, slice: u32, places: impl Iterator<Item = (u32, u32)>) {
        self.is_held = true;
        self.slice = slice;
        self.places.clear();
        self.places.extend(places);
    }

    /// What was held, for good.
    fn take(&mut self, (presence, long): Kind, sums: &[Sum]) -> Option<Donor> {
        if !std::mem::take(&mut self.is_held) {
            return None;
        }
        self.places.sort_unstable();
        let same = |one: &(u32, u32), other: &(u32, u32)| one.0 == other.0;
        let stacks = self.places.chunk_by(same).map(|alike| {
            let count = alike.iter().map(|(_, count)| count).sum();
            sums[alike[0].0 as usize].seen(count)
        });
        let stacks: Vec<Seen> = stacks.collect();
        Some(Donor {
            slice: self.slice,
            presence,
            long,
            stacks: heaviest(stacks),
        })
    }
}

impl Near {
    /// What was kept, each kind's in the order of time.
    pub(super) fn into_kept(self) -> impl Iterator<Item = Donor> {
        self.0.into_iter().flat_map(|one| one.kept)
    }

    /// A group with samples at `places`: numbers of sums, each with a count.
    pub(super) fn donor(
        &mut self,
        slice: u32,
        kind: Kind,
        places: impl Iterator<Item = (u32, u32)>,
        sums: &[Sum],
    ) {
        let one = &mut self.0[Donor::number(kind)];
        let begins = one.slice != slice || !(one.first.is_held || one.last.is_held);
        one.slice = slice;
        if std::mem::take(&mut one.wanted) {
            one.last.is_held = false;
            one.first.hold(slice, places);
            one.kept.extend(one.first.take(kind, sums));
        } else if begins {
            one.first.hold(slice, places);
            one.last.is_held = false;
        } else {
            one.last.hold(slice, places);
        }
    }

    /// Keeps what is nearest to a borrower. Of a slice, the first one is nearest to its own
    /// borrowers, and the last one to later ones.
    pub(super) fn borrower(&mut self, slice: u32, sums: &[Sum]) {
        for (number, one) in self.0.iter_mut().enumerate() {
            let kind = Donor::kind_of(number);
            let own = one.slice == slice;
            if own || !one.last.is_held {
                one.kept.extend(one.first.take(kind, sums));
            } else {
                one.first.is_held = false;
                one.kept.extend(one.last.take(kind, sums));
            }
            one.wanted = true;
        }
    }
}
