//! The accesses between two barriers of a team, and the races among them.

use hashbrown::HashMap;
use race_stream::record::{ATOMIC, WRITE};

use crate::blocks::{self, Block};
use crate::comparison::{Comparison, Conflict};
use crate::locksets::LocksetId;
use crate::memory::Piece;
use crate::strands::{Point, StrandId};
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
    /// The memory is a block that the thread itself has allocated in a region.
    pub is_own: bool,
    /// Of an access in a region that has ended: the construct around it there, as
    /// [`Bases`](crate::site::Bases) numbers it; else 0.
    pub base: u32,
}

/// What the accesses of a group have in common: see [`Access`]. `space` is that of their pieces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Maker {
    source: u32,
    strand: StrandId,
    space: u32,
    first: u32,
    last: u32,
    thread: u32,
    is_own: bool,
    base: u32,
}

impl Maker {
    fn of(access: &Access) -> Maker {
        Maker {
            source: access.source,
            strand: access.strand,
            space: access.piece.space,
            first: access.first,
            last: access.last,
            thread: access.thread,
            is_own: access.is_own,
            base: access.base,
        }
    }

    fn access(&self, piece: Piece) -> Access {
        Access {
            piece,
            source: self.source,
            strand: self.strand,
            thread: self.thread,
            first: self.first,
            last: self.last,
            is_own: self.is_own,
            base: self.base,
        }
    }

    /// Groups of one source, strand, space and construct.
    fn whole(&self) -> (u32, StrandId, u32, u32, bool) {
        (self.source, self.strand, self.space, self.base, self.is_own)
    }

    fn segments(&self) -> (u32, u32) {
        (self.first, self.last)
    }
}

/// Memory of one space: single blocks, and what a block's word has no room for.
#[derive(Clone, Debug, Default)]
struct Memory {
    blocks: Vec<Block>,
    others: Vec<Piece>,
}

impl Memory {
    fn add(&mut self, piece: Piece) {
        match Block::of(&piece) {
            Some(block) => self.blocks.push(block),
            None => self.others.push(piece),
        }
    }
}

/// Accesses of one maker: parts of the interval's lists, each up to the next group's.
#[derive(Clone, Copy, Debug)]
struct Group {
    maker: Maker,
    blocks: usize,
    others: usize,
}

/// Groups, and the memory of all of them.
#[derive(Clone, Debug, Default)]
struct Groups {
    groups: Vec<Group>,
    blocks: Vec<Block>,
    others: Vec<Piece>,
}

impl Groups {
    /// Adds a group, and empties `memory`.
    fn push(&mut self, maker: Maker, memory: &mut Memory) {
        if memory.blocks.is_empty() && memory.others.is_empty() {
            return;
        }
        self.groups.push(Group {
            maker,
            blocks: self.blocks.len(),
            others: self.others.len(),
        });
        self.blocks.append(&mut memory.blocks);
        self.others.append(&mut memory.others);
    }

    fn len(&self) -> usize {
        self.groups.len()
    }

    /// A group's accesses.
    fn get(&self, at: usize) -> (Maker, &[Block], &[Piece]) {
        let group = &self.groups[at];
        let next = self.groups.get(at + 1);
        let ends = next.map_or((self.blocks.len(), self.others.len()), |next| {
            (next.blocks, next.others)
        });
        (
            group.maker,
            &self.blocks[group.blocks..ends.0],
            &self.others[group.others..ends.1],
        )
    }

    fn iter(&self) -> impl Iterator<Item = (Maker, &[Block], &[Piece])> {
        (0..self.len()).map(|at| self.get(at))
    }

    fn bytes(&self) -> usize {
        size_of_val(&self.groups[..])
            + size_of_val(&self.blocks[..])
            + size_of_val(&self.others[..])
    }
}

/// All accesses of an interval.
#[derive(Clone, Debug, Default)]
pub struct Interval {
    closed: Groups,
    /// By source, what its last maker accessed: belongs to no group yet.
    open: HashMap<u32, (Maker, Memory)>,
    /// Bytes of all that was added since the last compaction.
    added: usize,
    /// Bytes that there were after the last compaction.
    compacted: usize,
}

/// Bytes of accesses that are added before they are made compact.
const BATCH: usize = 32 << 20;

/// Pieces of memory that are compared at once.
const WINDOW: usize = 1 << 19;

/// A place in memory: the space and the address.
type Place = (u32, u64);

impl Interval {
    /// Adds an access.
    pub fn add(&mut self, access: Access) {
        let maker = Maker::of(&access);
        let begin = || (maker, Memory::default());
        let (known, memory) = self.open.entry(access.source).or_insert_with(begin);
        if *known != maker {
            self.closed.push(*known, memory);
            self.added += size_of::<Group>();
            *known = maker;
        }
        let others = memory.others.len();
        memory.add(access.piece);
        self.added += match memory.others.len() - others {
            0 => size_of::<Block>(),
            _ => size_of::<Piece>(),
        };
    }

    /// Whether it is time to make the accesses compact.
    pub fn is_due(&self) -> bool {
        self.added > self.compacted + BATCH
    }

    /// Whether the accesses took more than so many bytes after the last compaction.
    pub fn is_full(&self, bytes: usize) -> bool {
        self.compacted > bytes
    }

    /// Takes out those of memory that nobody can access any more.
    pub fn take(&mut self, is_dead: impl Fn(&Piece) -> bool) -> Interval {
        self.close_all();
        let (mut taken, mut kept) = (Groups::default(), Groups::default());
        for (maker, blocks, others) in self.closed.iter() {
            let (mut dead, mut live) = (Memory::default(), Memory::default());
            let pieces = blocks.iter().map(|block| block.piece(maker.space));
            for piece in pieces.chain(others.iter().copied()) {
                let to = if is_dead(&piece) {
                    &mut dead
                } else {
                    &mut live
                };
                to.add(piece);
            }
            taken.push(maker, &mut dead);
            kept.push(maker, &mut live);
        }
        self.closed = kept;
        Interval {
            closed: taken,
            ..Interval::default()
        }
    }

    /// The strands that made them. Some come several times.
    pub fn strands(&self) -> impl Iterator<Item = StrandId> {
        let closed = self.closed.groups.iter().map(|group| group.maker);
        let open = self.open.values().map(|(maker, _)| *maker);
        closed.chain(open).map(|maker| maker.strand)
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.closed.len() == 0 && self.open.is_empty()
    }

    /// The accesses, as if a strand had made all of them in its segment `here`. `base` numbers the construct
    /// around one.
    pub fn into_accesses_of(
        self,
        here: Point,
        mut base: impl FnMut(&Access) -> u32,
    ) -> impl Iterator<Item = Access> {
        self.into_accesses().map(move |access| Access {
            strand: here.strand,
            first: here.segment,
            last: here.segment,
            base: base(&access),
            ..access
        })
    }

    fn into_accesses(mut self) -> impl Iterator<Item = Access> {
        self.close_all();
        (0..self.closed.len()).flat_map(move |at| {
            let (maker, blocks, others) = self.closed.get(at);
            let blocks = blocks.iter().map(|block| block.piece(maker.space));
            let pieces: Vec<Piece> = blocks.chain(others.iter().copied()).collect();
            pieces.into_iter().map(move |piece| maker.access(piece))
        })
    }

    /// All that is open becomes groups.
    fn close_all(&mut self) {
        for (maker, mut memory) in std::mem::take(&mut self.open).into_values() {
            self.closed.push(maker, &mut memory);
        }
    }

    /// Joins what one strand did by one source.
    pub fn compact(&mut self) {
        self.close_all();
        let makers = self.closed.groups.iter().map(|group| group.maker);
        let mut order: Vec<(Maker, usize)> = makers.zip(0..).collect();
        let key = |(maker, _): &(Maker, usize)| (maker.whole(), maker.segments());
        // Those of the last compaction are in order, which a stable sort makes use of.
        order.sort_by_key(key);
        let mut compacted = Groups::default();
        for whole in order.chunk_by(|one, other| one.0.whole() == other.0.whole()) {
            let mut made: Vec<(Maker, Memory)> = whole
                .chunk_by(|one, other| key(one) == key(other))
                .map(|same| self.joined(same))
                .collect();
            if made.len() > 1 {
                made = across_segments(made);
            }
            for (maker, mut memory) in made {
                compacted.push(maker, &mut memory);
            }
        }
        self.closed = compacted;
        (self.added, self.compacted) = (0, self.closed.bytes());
    }

    /// The memory of groups with one maker.
    fn joined(&self, groups: &[(Maker, usize)]) -> (Maker, Memory) {
        let mut memory = Memory::default();
        for (_, at) in groups {
            let (_, blocks, others) = self.closed.get(*at);
            memory.blocks.extend_from_slice(blocks);
            memory.others.extend_from_slice(others);
        }
        let maker = groups[0].0;
        blocks::compact(maker.space, &mut memory.blocks, &mut memory.others);
        (maker, memory)
    }

    /// Finds the conflicts. [`Comparison::is_own`] says of two accesses by different strands whether the
    /// address is another one for another thread, so that they have no conflict.
    pub fn check(
        &mut self,
        overlaps: &dyn Overlaps,
        context: Comparison<'_>,
        found: &mut dyn FnMut(Conflict),
    ) {
        self.check_in(WINDOW, overlaps, context, found);
    }

    /// The same, `window` pieces at once.
    fn check_in(
        &mut self,
        window: usize,
        overlaps: &dyn Overlaps,
        context: Comparison<'_>,
        found: &mut dyn FnMut(Conflict),
    ) {
        self.compact();
        let cuts = self.cuts(window);
        let begins = [(0, 0)].into_iter().chain(cuts.iter().copied());
        let ends = cuts.iter().copied().chain([(u32::MAX, u64::MAX)]);
        for (begin, end) in begins.zip(ends) {
            let accesses = self.window(begin, end);
            let mut in_window = |conflict: Conflict| {
                let place = (conflict.accesses[0].piece.space, conflict.address);
                if (begin..end).contains(&place) {
                    found(conflict);
                }
            };
            check(accesses, overlaps, context, &mut in_window);
        }
    }

    /// Places that divide the accesses into parts of about `window` pieces.
    fn cuts(&self, window: usize) -> Vec<Place> {
        /// So many places in a window are looked at.
        const PLACES: usize = 64;
        let step = (window / PLACES).max(1);
        let mut places = Vec::new();
        let mut before = 0;
        for (maker, blocks, _) in self.closed.iter() {
            let skipped = (step - before % step) % step;
            before += blocks.len();
            let chosen = blocks.iter().skip(skipped).step_by(step);
            places.extend(chosen.map(|block| (maker.space, block.first())));
        }
        places.sort_unstable();
        let mut cuts: Vec<Place> = places.into_iter().step_by(PLACES).skip(1).collect();
        cuts.dedup();
        cuts
    }

    /// The accesses of memory that reaches into `begin..end`; of a series the blocks that do.
    fn window(&self, begin: Place, end: Place) -> Vec<Access> {
        let mut accesses = Vec::new();
        for (maker, blocks, others) in self.closed.iter() {
            if maker.space < begin.0 || maker.space > end.0 {
                continue;
            }
            let low = if maker.space == begin.0 { begin.1 } else { 0 };
            let high = if maker.space == end.0 {
                end.1
            } else {
                u64::MAX
            };
            let before = blocks.partition_point(|block| block.end() <= low);
            let within = blocks[before..]
                .iter()
                .take_while(|block| block.first() < high);
            let pieces = within.map(|block| block.piece(maker.space));
            let others = others.iter().filter_map(|piece| piece.within(low, high));
            accesses.extend(pieces.chain(others).map(|piece| maker.access(piece)));
        }
        accesses
    }
}

/// Memory that is accessed in several segments is from then on of one maker, from the first of them to
/// the last.
fn across_segments(made: Vec<(Maker, Memory)>) -> Vec<(Maker, Memory)> {
    let mut parts: Vec<(Piece, Maker)> = Vec::new();
    for (maker, memory) in made {
        let blocks = memory.blocks.iter().map(|block| block.piece(maker.space));
        parts.extend(blocks.chain(memory.others).map(|piece| (piece, maker)));
    }
    parts.sort_unstable_by_key(|(piece, maker)| (*piece, maker.segments()));
    parts.dedup_by(|next, kept| {
        let is_same = next.0 == kept.0;
        if is_same {
            kept.1.last = kept.1.last.max(next.1.last);
        }
        is_same
    });
    parts.sort_unstable_by_key(|(piece, maker)| (maker.segments(), *piece));
    let same = parts.chunk_by(|one, other| one.1.segments() == other.1.segments());
    same.map(|parts| {
        let mut memory = Memory::default();
        parts.iter().for_each(|(piece, _)| memory.add(*piece));
        (parts[0].1, memory)
    })
    .collect()
}

/// Compares accesses.
fn check(
    mut accesses: Vec<Access>,
    overlaps: &dyn Overlaps,
    context: Comparison<'_>,
    found: &mut dyn FnMut(Conflict),
) {
    // What each maker did is in order: a stable sort goes through it once for each halving.
    accesses.sort_by_key(|access| (access.piece, access.source, access.strand));
    let groups: Vec<&[Access]> = accesses
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::locksets::Locksets;
    use crate::strands::Strands;
    use crate::sweep::Sweep;

    /// Three strands without an order, and three sources: a write, a read, and an atomic write.
    struct Case {
        strands: Strands,
        ids: Vec<StrandId>,
        sources: Vec<Source>,
        locksets: Locksets,
    }

    impl Case {
        fn new() -> Case {
            let mut strands = Strands::default();
            let main = strands.begin(None, 0);
            let from = strands.here(main);
            let ids = (1..4).map(|number| strands.begin(Some(from), number));
            let source = |kind| Source {
                code: 1,
                context: 0,
                kind,
                size: 1,
                locks: LocksetId::default(),
            };
            Case {
                ids: ids.collect(),
                strands,
                sources: [WRITE, 0, WRITE | ATOMIC].map(source).into(),
                locksets: Locksets::default(),
            }
        }

        /// A write to one block.
        fn write(&self, by: usize, first: u64, width: u64, segment: u32) -> Access {
            Access {
                piece: Piece::of_run(0, first, width, 0, 1),
                source: 0,
                strand: self.ids[by],
                thread: by as u32,
                first: segment,
                last: segment,
                is_own: false,
                base: 0,
            }
        }

        fn accesses(&self, number: usize, random: &mut fastrand::Rng) -> Vec<Access> {
            let access = |random: &mut fastrand::Rng| {
                let by = random.usize(..3);
                let (stride, count) = match random.u8(..4) {
                    0 => (random.i64(-9..30), random.u32(1..12)),
                    _ => (0, 1),
                };
                let first = 1000 + random.u64(..2000);
                Access {
                    piece: Piece::of_run(random.u32(..2), first, random.u64(1..5), stride, count),
                    source: random.u32(..3),
                    strand: self.ids[by],
                    thread: by as u32,
                    first: 0,
                    last: random.u32(..2),
                    is_own: false,
                    base: 0,
                }
            };
            (0..number).map(|_| access(random)).collect()
        }

        /// Every byte that two strands access so that it is a race, with the sources.
        fn races(&self, accesses: &[Access]) -> BTreeSet<(u32, u32)> {
            let mut races = BTreeSet::new();
            for (at, one) in accesses.iter().enumerate() {
                for other in &accesses[..at] {
                    let kinds = [one, other].map(|it| self.sources[it.source as usize].kind);
                    let writes = (kinds[0] | kinds[1]) & WRITE != 0;
                    let are_atomic = kinds[0] & kinds[1] & ATOMIC != 0;
                    let is_race = writes && !are_atomic && one.strand != other.strand;
                    if is_race && one.piece.common(&other.piece).is_some() {
                        let (low, high) = (one.source, other.source);
                        races.insert((low.min(high), low.max(high)));
                    }
                }
            }
            races
        }

        /// The same by an interval that is compared in windows.
        fn found(&self, mut interval: Interval, window: usize) -> (BTreeSet<(u32, u32)>, usize) {
            let comparison = Comparison {
                sources: &self.sources,
                locksets: &self.locksets,
                strands: &self.strands,
                is_own: &|_, _, _| false,
            };
            let (mut races, mut number) = (BTreeSet::new(), 0);
            interval.check_in(window, &Sweep, comparison, &mut |conflict| {
                let [one, other] = conflict.accesses.map(|access| access.source);
                let common = conflict.accesses[0]
                    .piece
                    .common(&conflict.accesses[1].piece);
                assert!(common.is_some(), "{conflict:?}");
                races.insert((one.min(other), one.max(other)));
                number += 1;
            });
            (races, number)
        }
    }

    #[test]
    fn windows_find_what_every_pair_of_accesses_shows() {
        let case = Case::new();
        let random = &mut fastrand::Rng::with_seed(5);
        for round in 0..400 {
            let accesses = case.accesses(2 + round % 150, random);
            let mut interval = Interval::default();
            for access in &accesses {
                interval.add(*access);
                if random.u8(..50) == 0 {
                    interval.compact();
                }
            }
            let expected = case.races(&accesses);
            for window in [usize::MAX, 64, 1] {
                let found = case.found(interval.clone(), window).0;
                assert_eq!(found, expected, "in windows of {window}: {accesses:?}");
            }
        }
    }

    #[test]
    fn a_block_in_two_windows_is_found_once() {
        let case = Case::new();
        let mut interval = Interval::default();
        for at in 0..200 {
            // At growing distances: they are no series.
            let first = 1000 * at + at * at;
            interval.add(case.write(0, first, 900, 0));
            interval.add(case.write(1, first + 100, 900, 0));
        }
        let all = case.found(interval.clone(), usize::MAX).1;
        assert_eq!((all, case.found(interval, 1).1), (200, 200));
    }

    #[test]
    fn memory_of_many_segments_has_one_maker() {
        let case = Case::new();
        let mut interval = Interval::default();
        for segment in 0..1000 {
            interval.add(case.write(0, 16 * u64::from(segment % 3), 8, segment));
        }
        interval.compact();
        let mut makers: Vec<_> = interval
            .closed
            .groups
            .iter()
            .map(|it| it.maker.segments())
            .collect();
        makers.sort_unstable();
        assert_eq!(makers, [(0, 999), (1, 997), (2, 998)]);
    }

    #[test]
    fn an_interval_is_full_by_what_is_left_after_compaction() {
        let case = Case::new();
        let mut interval = Interval::default();
        for at in 0..1000 {
            interval.add(case.write(0, at * at, 1, 0));
        }
        assert!(!interval.is_full(0));
        interval.compact();
        assert!(interval.is_full(7000) && !interval.is_full(9000));
    }

    #[test]
    fn what_is_taken_and_what_stays_is_all() {
        let case = Case::new();
        let accesses = case.accesses(500, &mut fastrand::Rng::with_seed(9));
        let mut interval = Interval::default();
        accesses.iter().for_each(|access| interval.add(*access));
        let taken = interval.take(|piece| piece.first < 2000);
        let key = |access: &Access| (access.piece, access.source, access.strand, access.last);
        let mut all: Vec<Access> = taken.into_accesses().collect();
        assert!(all.iter().all(|access| access.piece.first < 2000));
        all.extend(interval.into_accesses());
        all.sort_unstable_by_key(key);
        let mut expected = accesses;
        expected.sort_unstable_by_key(key);
        assert_eq!(all, expected);
    }
}
