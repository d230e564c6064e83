//! Which groups of samples to keep for those that have none, while time is gone through.

use super::places::Donor;

/// The groups that others may borrow from: of one thread's state, or of all that it did outside
/// of constructs. They come in the order of time, those of a slice before its borrowers.
#[derive(Debug, Default)]
pub(super) struct Near([NearOne; Donor::KINDS]);

/// Those of one kind.
#[derive(Debug, Default)]
struct NearOne {
    kept: Vec<Donor>,
    /// The first and the last one of the last slice that has any, each until it is kept.
    first: Option<Donor>,
    last: Option<Donor>,
    /// The last slice that has any.
    slice: u32,
    /// Whether a borrower came since then, to which the next one may be the nearest.
    wanted: bool,
}

impl Near {
    /// What was kept, each kind's in the order of time.
    pub(super) fn into_kept(self) -> impl Iterator<Item = Donor> {
        self.0.into_iter().flat_map(|one| one.kept)
    }

    pub(super) fn donor(&mut self, donor: Donor) {
        let one = &mut self.0[donor.kind()];
        let begins = one.slice != donor.slice || (one.first.is_none() && one.last.is_none());
        one.slice = donor.slice;
        if std::mem::take(&mut one.wanted) {
            (one.first, one.last) = (None, None);
            one.kept.push(donor);
        } else if begins {
            (one.first, one.last) = (Some(donor), None);
        } else {
            one.last = Some(donor);
        }
    }

    /// Keeps what is nearest to a borrower. Of a slice, the first one is nearest to its own
    /// borrowers, and the last one to later ones.
    pub(super) fn borrower(&mut self, slice: u32) {
        for one in &mut self.0 {
            let own = one.slice == slice;
            if own || one.last.is_none() {
                one.kept.extend(one.first.take());
            } else {
                one.first = None;
                one.kept.extend(one.last.take());
            }
            one.wanted = true;
        }
    }
}
