//! Which accesses of an interval touch the same memory.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use hashbrown::HashSet;

use crate::memory::Piece;

/// A piece of memory and how it was accessed.
#[derive(Clone, Copy, Debug)]
pub struct Span {
    /// The memory.
    pub piece: Piece,
    /// Some access writes.
    pub writes: bool,
    /// All accesses are atomic.
    pub is_atomic: bool,
}

impl Span {
    /// Whether two accesses of these kinds can race.
    pub fn conflicts(&self, other: &Span) -> bool {
        (self.writes || other.writes) && !(self.is_atomic && other.is_atomic)
    }
}

/// A way to find the pairs of spans that touch the same memory and can race.
pub trait Overlaps {
    /// Calls `visit` with the indices of each such pair, the lower one first, and with an address
    /// that both touch. `spans` are sorted by space and first address.
    fn visit(&self, spans: &[Span], visit: &mut dyn FnMut(usize, usize, u64));
}

/// Goes through the spans once by their first addresses, and keeps those that reach beyond the current
/// one's begin. Series of blocks far apart reach beyond many others that they do not touch: where that
/// takes more steps, it goes through the blocks.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sweep;

impl Overlaps for Sweep {
    fn visit(&self, spans: &[Span], visit: &mut dyn FnMut(usize, usize, u64)) {
        let mut first = 0;
        for spans in spans.chunk_by(|one, other| one.piece.space == other.piece.space) {
            let mut visit =
                |one: usize, other: usize, address| visit(first + one, first + other, address);
            if open_spans(spans) > STEPS * count_blocks(spans) {
                visit_blocks(spans, &mut visit);
            } else {
                visit_spans(spans, &mut visit);
            }
            first += spans.len();
        }
    }
}

/// To go through one block takes about as long as to look at so many open spans.
const STEPS: u64 = 8;

fn count_blocks(spans: &[Span]) -> u64 {
    spans.iter().map(|span| u64::from(span.piece.count)).sum()
}

/// How many spans are open at the begins of all spans together.
fn open_spans(spans: &[Span]) -> u64 {
    let mut ends: Vec<u64> = spans.iter().map(|span| span.piece.end()).collect();
    ends.sort_unstable();
    let mut ended = 0;
    let mut open = 0;
    for (begun, span) in spans.iter().enumerate() {
        while ends.get(ended).is_some_and(|end| *end <= span.piece.first) {
            ended += 1;
        }
        open += (begun - ended) as u64;
    }
    open
}

/// The spans that reach beyond an address, with their ends: those that only read, and the others. Reads
/// are compared with writes only.
#[derive(Default)]
struct Open([Vec<(u64, usize)>; 2]);

impl Open {
    /// Adds what begins at `first`, and passes the spans on with which it can race.
    fn add(
        &mut self,
        spans: &[Span],
        first: u64,
        (end, at): (u64, usize),
        mut found: impl FnMut(usize),
    ) {
        let span = &spans[at];
        for (written, open) in self.0.iter_mut().enumerate() {
            open.retain(|(end, _)| *end > first);
            if written == 0 && !span.writes {
                continue;
            }
            let others = open
                .iter()
                .filter(|(_, other)| spans[*other].conflicts(span));
            others.for_each(|(_, other)| found(*other));
        }
        self.0[usize::from(span.writes)].push((end, at));
    }
}

fn visit_spans(spans: &[Span], visit: &mut dyn FnMut(usize, usize, u64)) {
    let mut open = Open::default();
    for (at, span) in spans.iter().enumerate() {
        let piece = &span.piece;
        open.add(spans, piece.first, (piece.end(), at), |other| {
            if let Some(address) = spans[other].piece.common(piece) {
                visit(other, at, address);
            }
        });
    }
}

fn visit_blocks(spans: &[Span], visit: &mut dyn FnMut(usize, usize, u64)) {
    let mut open = Open::default();
    let mut visited = HashSet::new();
    // The next block of each span that has begun: its address, the span, and its number.
    let mut next: BinaryHeap<Reverse<(u64, usize, u32)>> = BinaryHeap::new();
    let mut begun = 0;
    loop {
        while let Some(span) = spans.get(begun)
            && next
                .peek()
                .is_none_or(|Reverse((address, ..))| span.piece.first <= *address)
        {
            next.push(Reverse((span.piece.first, begun, 0)));
            begun += 1;
        }
        let Some(Reverse((address, at, number))) = next.pop() else {
            return;
        };
        let piece = &spans[at].piece;
        open.add(spans, address, (address + piece.width, at), |other| {
            let pair = (other.min(at), other.max(at));
            // Two single blocks meet once.
            let are_series = piece.count > 1 || spans[other].piece.count > 1;
            if other != at && (!are_series || visited.insert(pair)) {
                visit(pair.0, pair.1, address);
            }
        });
        if number + 1 < piece.count {
            next.push(Reverse((address + piece.stride, at, number + 1)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(space: u32, first: u64, width: u64, writes: bool) -> Span {
        Span {
            piece: Piece::of_run(space, first, width, 0, 1),
            writes,
            is_atomic: false,
        }
    }

    fn pairs(spans: &[Span]) -> Vec<(usize, usize, u64)> {
        let mut found = Vec::new();
        Sweep.visit(spans, &mut |one, other, at| found.push((one, other, at)));
        found.sort_unstable();
        found
    }

    #[test]
    fn pairs_with_a_write_are_found() {
        let spans = [
            span(0, 0, 100, false),
            span(0, 10, 4, false),
            span(0, 12, 4, true),
            span(0, 50, 8, true),
            span(0, 100, 8, true),
            span(1, 12, 4, true),
        ];
        assert_eq!(pairs(&spans), [(0, 2, 12), (0, 3, 50), (1, 2, 12)]);
    }

    #[test]
    fn blocks_have_the_pairs_that_spans_have() {
        let random = &mut fastrand::Rng::with_seed(7);
        for _ in 0..500 {
            let mut spans: Vec<Span> = (0..random.usize(..12))
                .map(|_| {
                    let (first, width) = (random.u64(..60), random.u64(1..9));
                    let (stride, count) = (random.i64(1..30), random.u32(1..6));
                    Span {
                        piece: Piece::of_run(0, first, width, stride, count),
                        writes: random.bool(),
                        is_atomic: random.bool(),
                    }
                })
                .collect();
            spans.sort_by_key(|span| span.piece);
            type Visit = fn(&[Span], &mut dyn FnMut(usize, usize, u64));
            let pairs = |visit: Visit| {
                let mut found = Vec::new();
                visit(&spans, &mut |one, other, at| found.push((one, other, at)));
                found.sort_unstable();
                found
            };
            assert_eq!(pairs(visit_blocks), pairs(visit_spans), "{spans:?}");
        }
    }

    #[test]
    fn many_series_far_apart_take_time_in_proportion() {
        // Each reaches over all others, and touches none.
        let series = |at: u64| {
            let mut span = span(0, 16 * at, 8, true);
            span.piece = Piece::of_run(0, 16 * at, 8, 1 << 30, 10);
            span
        };
        let spans: Vec<Span> = (0..200_000).map(series).collect();
        assert!(open_spans(&spans) > STEPS * count_blocks(&spans));
        assert_eq!(pairs(&spans), []);
    }

    #[test]
    fn two_atomic_accesses_do_not_race() {
        let mut spans = [
            span(0, 0, 4, true),
            span(0, 0, 4, true),
            span(0, 0, 4, false),
        ];
        (spans[0].is_atomic, spans[1].is_atomic) = (true, true);
        assert_eq!(pairs(&spans), [(0, 2, 0), (1, 2, 0)]);
    }

    #[test]
    fn interleaved_blocks_do_not_touch() {
        let mut even = span(0, 0, 8, true);
        even.piece = Piece::of_run(0, 0, 8, 16, 50);
        let mut odd = even;
        odd.piece.first = 8;
        assert_eq!(pairs(&[even, odd]), []);
    }
}
