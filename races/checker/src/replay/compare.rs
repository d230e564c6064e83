//! Comparison of an interval's accesses.

use race_stream::record::{ATOMIC, WRITE};

use super::Replay;
use super::accesses::owner_of;
use crate::comparison::{Comparison, Conflict};
use crate::interval::{Access, Interval};
use crate::memory::Piece;
use crate::site::{Site, StrandKind};
use crate::strands::{END, Order, Point, StrandId};
use crate::sweep::Sweep;

/// A part of what an implicit task does on its thread: the task's own code; a chunk, section or single; or a
/// task that it has created.
#[derive(Clone, Copy, Debug)]
struct Part {
    strand: StrandId,
    /// Segments of the implicit task. What is no code of its own comes right after the one that ended for it.
    begins: (u32, bool),
    ends: (u32, bool),
}

impl Replay {
    pub(super) fn check(&mut self, interval: &mut Interval) {
        let mut races = std::mem::take(&mut self.races);
        let known = races.all().len();
        let comparison = Comparison {
            sources: &self.sources,
            locksets: &self.locksets,
            strands: &self.strands,
            is_own: &|one, other, address| self.is_own(one, other, address),
        };
        interval.check(&Sweep, comparison, &mut |conflict| {
            let place = self.place(&conflict.accesses, conflict.address);
            let sites = || conflict.accesses.map(|access| self.site(&access));
            let sources = conflict.accesses.map(|access| access.source);
            races.add(&conflict, sources, place, sites);
        });
        self.races = races;
        self.note_locks(known);
    }

    /// Compares the iterations of static loops that one thread executed.
    pub(super) fn check_rounds(&mut self, strand: StrandId) {
        let info = self.infos.get_mut(&strand);
        let Some((mut rounds, slot)) = info.and_then(|it| Some((it.rounds.take()?, it.thread)))
        else {
            return;
        };
        let has_asked = self.threads.get(&slot).is_none_or(|thread| thread.asked);
        if rounds.is_full() && !has_asked {
            self.rounds_left_out += 1;
        }
        let mut races = std::mem::take(&mut self.races);
        let known = races.all().len();
        let kind = |source: u32| {
            let kind = self.sources[source as usize].kind;
            (kind & WRITE != 0, kind & ATOMIC != 0)
        };
        rounds.check(&Sweep, kind, &mut |meeting| {
            let access = |source: u32| Access {
                piece: Piece::of_run(0, meeting.address, 1, 0, 1),
                source,
                strand,
                thread: slot,
                first: 0,
                last: 0,
                is_own: false,
                base: 0,
            };
            let accesses = meeting.sources.map(access);
            let [one, other] = meeting.sources.map(|it| self.sources[it as usize].locks);
            if has_asked
                || self.locksets.exclude(one, other)
                || self.is_own(&accesses[0], &accesses[1], meeting.address)
            {
                return;
            }
            let conflict = Conflict {
                accesses,
                address: meeting.address,
                order: Order::None,
                count: 1,
            };
            let place = self.place(&accesses, meeting.address);
            let sites = || {
                let [one, other] = accesses.map(|access| self.site(&access));
                let [first, second] = meeting.rounds.map(StrandKind::Round);
                [
                    Site {
                        strand: first,
                        ..one
                    },
                    Site {
                        strand: second,
                        ..other
                    },
                ]
            };
            races.add(&conflict, meeting.sources, place, sites);
        });
        self.races = races;
        self.note_locks(known);
        // How often each source was executed stays known.
        if let Some(info) = self.infos.get_mut(&strand) {
            info.rounds = Some(rounds);
        }
    }

    /// Whether an address that a task accessed is in the frames of the implicit task around the single, or
    /// the like, that created it, and that one itself accessed it, too.
    fn is_creators(&self, task: &Access, other: &Access, address: u64) -> bool {
        let born = self.infos.get(&task.strand).and_then(|info| info.born);
        born == Some(other.strand) && self.stack_owner(address).map(|(_, owner)| owner) == born
    }

    /// The implicit task in whose frames the address of an access is, or whose thread has allocated the
    /// block there in a region.
    fn owner(&self, access: &Access, address: u64) -> Option<StrandId> {
        owner_of(access.piece.space).or_else(|| {
            let mut next = access.strand;
            let implicit = loop {
                let implicit = self.infos.get(&next)?.implicit;
                if implicit != next {
                    break implicit;
                }
                next = self.strands.created(next)?.strand;
            };
            let thread = self.infos.get(&implicit)?.thread;
            self.heap.is_of(address, thread).then_some(implicit)
        })
    }

    /// In which part of an implicit task an access is.
    fn part_of(&self, implicit: StrandId, access: &Access) -> Option<Part> {
        if access.strand == implicit {
            return Some(Part {
                strand: implicit,
                begins: (access.first, false),
                ends: (access.last, false),
            });
        }
        let part = |strand, after| Part {
            strand,
            begins: (after, true),
            ends: (after, true),
        };
        let mut next = access.strand;
        loop {
            let info = self.infos.get(&next)?;
            if info.implicit == implicit && next != implicit {
                return Some(part(next, info.after));
            }
            let created = self.strands.created(next)?;
            if created.strand == implicit {
                return Some(part(next, created.segment));
            }
            next = created.strand;
        }
    }

    /// Whether two accesses to memory of one implicit task's thread, in different parts of that task, are one
    /// after the other on this thread. Had another thread executed one of the parts, it had other memory.
    fn are_parts_in_order(&self, one: &Access, other: &Access, address: u64) -> bool {
        let owner = self.owner(one, address);
        let owner = owner.or_else(|| self.owner(other, address));
        let Some(owner) = owner else {
            return false;
        };
        let parts = [one, other].map(|access| Some((access, self.part_of(owner, access)?)));
        let [Some(one), Some(other)] = parts else {
            return false;
        };
        let (early, late) = if one.1.ends < other.1.begins {
            (one, other)
        } else if other.1.ends < one.1.begins {
            (other, one)
        } else {
            return false;
        };
        let ((access, early), (_, late)) = (early, late);
        let is_chunk = |part: Part| {
            let info = self.infos.get(&part.strand);
            part.strand != owner && info.is_some_and(|it| it.implicit == owner)
        };
        // A chunk is over before the implicit task goes on.
        let before = if is_chunk(early) {
            Point {
                strand: early.strand,
                segment: END,
            }
        } else if is_chunk(late) {
            Point {
                strand: owner,
                segment: late.begins.0,
            }
        } else {
            return false;
        };
        let last = Point {
            strand: access.strand,
            segment: access.last,
        };
        early.strand == owner || self.strands.order(last, before) == Order::Certain
    }

    /// Whether two strands accessed this address only because one thread executed both. The verdict must not
    /// depend on which thread executed a strand.
    pub(super) fn is_own(&self, one: &Access, other: &Access, address: u64) -> bool {
        if self.are_parts_in_order(one, other, address) {
            return true;
        }
        if self.is_creators(one, other, address) || self.is_creators(other, one, address) {
            return true;
        }
        if one.thread != other.thread {
            return false;
        }
        let (Some(first), Some(second)) =
            (self.infos.get(&one.strand), self.infos.get(&other.strand))
        else {
            return false;
        };
        let Some(thread) = self.threads.get(&one.thread) else {
            return false;
        };
        if (thread.tls.0..thread.tls.1).contains(&address) || first.asked || second.asked {
            return true;
        }
        if first.implicit != second.implicit {
            return false;
        }
        let implicit = self.infos.get(&first.implicit);
        if implicit.is_some_and(|implicit| implicit.asked) {
            return true;
        }
        let is_own_frame = self.stack_owner(address) == Some((one.thread, first.implicit));
        is_own_frame || one.is_own || other.is_own
    }
}
