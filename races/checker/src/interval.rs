//! The accesses between two barriers of a team, and the races among them.

use race_stream::record::{ATOMIC, WRITE};

use crate::locksets::{LocksetId, Locksets};
use crate::memory::{self, Piece};
use crate::strands::{Order, Point, StrandId, Strands};
use crate::sweep::{Overlaps, Span};

/// How memory was accessed: the instruction in its calling context, with these locks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Source {
    /// The return address of the call that reported it.
    pub code: u64,
    /// The calling context: see [`Contexts`](crate::contexts::Contexts).
    pub context: u32,
    /// `WRITE` and `ATOMIC` of the stream's records.
    pub kind: u8,
    /// Bytes of one access.
    pub size: u32,
    /// The locks held.
    pub locks: LocksetId,
}

/// Accesses of one source by one strand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// The memory.
    pub piece: Piece,
    /// The number of the source.
    pub source: u32,
    /// Who.
    pub strand: StrandId,
    /// The slot of the thread that executed it.
    pub thread: u32,
    /// The first and the last segment of the strand in which all of `piece` was accessed.
    pub first: u32,
    /// See `first`.
    pub last: u32,
}

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

/// All accesses of an interval.
#[derive(Clone, Debug, Default)]
pub struct Interval {
    accesses: Vec<Access>,
    /// Accesses that there were after the last compaction.
    compacted: usize,
}

/// Accesses that are added before they are made compact: 64 MB.
const BATCH: usize = 1 << 20;

/// Strands on one side of a comparison. Of more, as many are taken at even distances.
const MOST_STRANDS: usize = 64;

impl Interval {
    /// Adds an access.
    pub fn add(&mut self, access: Access) {
        self.accesses.push(access);
    }

    /// Whether it is time to make the accesses compact.
    pub fn is_due(&self) -> bool {
        self.accesses.len() > 2 * self.compacted + BATCH
    }

    /// Takes out those of memory that nobody can access any more.
    pub fn take(&mut self, is_dead: impl Fn(&Piece) -> bool) -> Interval {
        let mut taken = Interval::default();
        self.accesses.retain(|access| {
            let is_dead = is_dead(&access.piece);
            if is_dead {
                taken.accesses.push(*access);
            }
            !is_dead
        });
        taken
    }

    /// The strands that made them.
    pub fn strands(&self) -> impl Iterator<Item = StrandId> {
        self.accesses.iter().map(|access| access.strand)
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.accesses.is_empty()
    }

    /// The accesses, as if `strand` had made all of them in its current segment.
    pub fn into_accesses_of(self, here: Point) -> impl Iterator<Item = Access> {
        self.accesses.into_iter().map(move |access| Access {
            strand: here.strand,
            first: here.segment,
            last: here.segment,
            ..access
        })
    }

    /// Joins what one strand did by one source.
    pub fn compact(&mut self) {
        let order = |access: &Access| (access.source, access.strand, access.first, access.last);
        self.accesses.sort_unstable_by_key(order);
        let mut compacted = Vec::with_capacity(self.accesses.len() / 4);
        let mut pieces = Vec::new();
        for same in self
            .accesses
            .chunk_by(|one, other| order(one) == order(other))
        {
            pieces.clear();
            pieces.extend(same.iter().map(|access| access.piece));
            memory::compact(&mut pieces);
            compacted.extend(pieces.iter().map(|piece| Access {
                piece: *piece,
                ..same[0]
            }));
        }
        // Memory that is accessed in several segments.
        compacted.sort_unstable_by_key(|access| (access.source, access.strand, access.piece));
        compacted.dedup_by(|next, kept| {
            let is_same =
                (next.source, next.strand, next.piece) == (kept.source, kept.strand, kept.piece);
            if is_same {
                kept.first = kept.first.min(next.first);
                kept.last = kept.last.max(next.last);
            }
            is_same
        });
        self.accesses = compacted;
        self.compacted = self.accesses.len();
    }

    /// Finds the conflicts. `is_own` says of two accesses by different strands whether the address
    /// is another one for another thread, so that they have no conflict.
    pub fn check(
        &mut self,
        overlaps: &dyn Overlaps,
        context: Comparison<'_>,
        found: &mut dyn FnMut(Conflict),
    ) {
        self.compact();
        self.accesses
            .sort_unstable_by_key(|access| (access.piece, access.source, access.strand));
        let groups: Vec<&[Access]> = self
            .accesses
            .chunk_by(|one, other| (one.piece, one.source) == (other.piece, other.source))
            .collect();
        let spans: Vec<Span> = groups
            .iter()
            .map(|group| {
                let kind = context.sources[group[0].source as usize].kind;
                Span {
                    piece: group[0].piece,
                    writes: kind & WRITE != 0,
                    is_atomic: kind & ATOMIC != 0,
                }
            })
            .collect();
        for (span, group) in spans.iter().zip(&groups) {
            if group.len() > 1 && span.conflicts(span) {
                context.compare(group, None, span.piece.first, found);
            }
        }
        overlaps.visit(&spans, &mut |one, other, address| {
            context.compare(groups[one], Some(groups[other]), address, found);
        });
    }
}

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
    fn compare(
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
                if worst.is_none_or(|worst| order < worst.order) {
                    worst = Some(Conflict {
                        accesses: [*one, *other],
                        address,
                        order,
                        count: 0,
                    });
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
