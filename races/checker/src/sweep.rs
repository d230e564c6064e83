//! Which accesses of an interval touch the same memory.

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

/// Goes through the spans once, and keeps those that reach beyond the current one's begin.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sweep;

impl Overlaps for Sweep {
    fn visit(&self, spans: &[Span], visit: &mut dyn FnMut(usize, usize, u64)) {
        // Reads are compared with writes only.
        let mut open: [Vec<(u64, usize)>; 2] = [Vec::new(), Vec::new()];
        let mut space = None;
        for (at, span) in spans.iter().enumerate() {
            if space.replace(span.piece.space) != Some(span.piece.space) {
                open.iter_mut().for_each(Vec::clear);
            }
            for (written, spans_open) in open.iter_mut().enumerate() {
                spans_open.retain(|(end, _)| *end > span.piece.first);
                if written == 0 && !span.writes {
                    continue;
                }
                for (_, other) in spans_open.iter() {
                    let earlier = &spans[*other];
                    if earlier.conflicts(span)
                        && let Some(address) = earlier.piece.common(&span.piece)
                    {
                        visit(*other, at, address);
                    }
                }
            }
            open[usize::from(span.writes)].push((span.piece.end(), at));
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
