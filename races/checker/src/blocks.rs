//! Blocks of memory in one word each, for accesses at scattered addresses: there are many of them.

use crate::memory::{self, Piece};

/// A block of memory: its address in the upper 48 bits, its bytes in the lower 16. Ordered by
/// address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Block(u64);

const WIDTH_BITS: u32 = 16;
const MOST_BYTES: u64 = (1 << WIDTH_BITS) - 1;

impl Block {
    /// The block, if a word has room for it.
    pub fn new(first: u64, width: u64) -> Option<Block> {
        let fits = first >> (64 - WIDTH_BITS) == 0 && width <= MOST_BYTES;
        fits.then_some(Block(first << WIDTH_BITS | width))
    }

    /// That of a piece, if it is one block and a word has room for it.
    pub fn of(piece: &Piece) -> Option<Block> {
        Block::new(piece.first, piece.width).filter(|_| piece.count == 1)
    }

    /// The address of the first byte.
    pub fn first(self) -> u64 {
        self.0 >> WIDTH_BITS
    }

    fn width(self) -> u64 {
        self.0 & MOST_BYTES
    }

    /// The address behind the last byte.
    pub fn end(self) -> u64 {
        self.first() + self.width()
    }

    /// The same as a piece.
    pub fn piece(self, space: u32) -> Piece {
        Piece::of_run(space, self.first(), self.width(), 0, 1)
    }
}

/// So many blocks of one width at one distance are a series.
const ROWS: usize = 8;

/// Joins memory of the same accesses into as few blocks and other pieces as it can: `others` are pieces
/// of `space` that are no [`Block`]s. The blocks are sorted after that, and do not touch.
pub fn compact(space: u32, blocks: &mut Vec<Block>, others: &mut Vec<Piece>) {
    if blocks.len() + others.len() < 2 {
        return;
    }
    join(space, blocks, others);
    make_series(space, blocks, others);
    if others.len() > 1 {
        memory::compact(others);
    }
}

/// Blocks that touch or overlap become one.
fn join(space: u32, blocks: &mut Vec<Block>, others: &mut Vec<Piece>) {
    blocks.sort_unstable();
    let (mut wide, series): (Vec<Piece>, Vec<Piece>) =
        others.drain(..).partition(|piece| piece.count == 1);
    *others = series;
    wide.sort_unstable();
    let mut wide = wide
        .iter()
        .map(|piece| (piece.first, piece.end()))
        .peekable();
    let mut joined = Vec::with_capacity(blocks.len());
    let mut keep = |(first, end): (u64, u64)| match Block::new(first, end - first) {
        Some(block) => joined.push(block),
        None => others.push(Piece::of_run(space, first, end - first, 0, 1)),
    };
    let mut narrow = blocks.iter().map(|it| (it.first(), it.end())).peekable();
    let mut open: Option<(u64, u64)> = None;
    loop {
        let is_wide = match (narrow.peek(), wide.peek()) {
            (Some(one), Some(other)) => other < one,
            (None, None) => break,
            (one, _) => one.is_none(),
        };
        let next = if is_wide { wide.next() } else { narrow.next() };
        let Some((first, end)) = next else { break };
        match &mut open {
            Some(open) if first <= open.1 => open.1 = open.1.max(end),
            _ => {
                if let Some(open) = open.replace((first, end)) {
                    keep(open);
                }
            }
        }
    }
    if let Some(open) = open {
        keep(open);
    }
    *blocks = joined;
}

/// Takes out blocks of one width at one distance, such as rows of a matrix: each becomes a series.
fn make_series(space: u32, blocks: &mut Vec<Block>, others: &mut Vec<Piece>) {
    let mut kept = 0;
    let mut at = 0;
    while at < blocks.len() {
        let block = blocks[at];
        let distance = |at: usize| blocks[at + 1].first() - blocks[at].first();
        let mut end = at + 1;
        while end < blocks.len()
            && blocks[end].width() == block.width()
            && distance(end - 1) == distance(at)
        {
            end += 1;
        }
        let count = end - at;
        if count >= ROWS {
            let stride = distance(at);
            others.push(Piece {
                space,
                first: block.first(),
                width: block.width(),
                stride,
                count: count as u32,
            });
            at = end;
        } else {
            blocks[kept] = block;
            kept += 1;
            at += 1;
        }
    }
    blocks.truncate(kept);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(first: u64, width: u64) -> Block {
        Block::new(first, width).expect("it fits")
    }

    fn bytes(blocks: &[Block], others: &[Piece]) -> Vec<u64> {
        let singles = blocks.iter().map(|block| block.piece(0));
        let pieces = singles.chain(others.iter().copied());
        let mut all: Vec<u64> = pieces
            .flat_map(|piece| {
                (0..u64::from(piece.count)).flat_map(move |number| {
                    let first = piece.first + number * piece.stride;
                    first..first + piece.width
                })
            })
            .collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    #[test]
    fn a_word_holds_48_bits_of_address_and_16_of_width() {
        let most = block((1 << 48) - 1, 65535);
        assert_eq!(
            (most.first(), most.end()),
            ((1 << 48) - 1, (1 << 48) + 65534)
        );
        assert_eq!(Block::new(1 << 48, 1), None);
        assert_eq!(Block::new(0, 65536), None);
    }

    #[test]
    fn compaction_keeps_the_bytes() {
        let random = &mut fastrand::Rng::with_seed(3);
        for _ in 0..2000 {
            let mut blocks: Vec<Block> = (0..random.usize(..40))
                .map(|_| block(random.u64(..200), random.u64(1..4)))
                .collect();
            let mut others: Vec<Piece> = (0..random.usize(..4))
                .map(|_| {
                    let (stride, count) = (random.i64(0..9), random.u32(1..9));
                    Piece::of_run(0, random.u64(..200), random.u64(1..4), stride, count)
                })
                .collect();
            let before = bytes(&blocks, &others);
            let number = blocks.len() + others.len();
            compact(0, &mut blocks, &mut others);
            assert_eq!(bytes(&blocks, &others), before);
            assert!(blocks.len() + others.len() <= number);
            assert!(blocks.windows(2).all(|two| two[0].end() < two[1].first()));
        }
    }

    #[test]
    fn blocks_that_become_too_wide_for_a_word_are_pieces() {
        let mut blocks: Vec<Block> = (0..10).map(|at| block(at * 60_000, 60_000)).collect();
        let mut others = vec![Piece::of_run(0, 600_000, 1_000_000, 0, 1)];
        compact(0, &mut blocks, &mut others);
        assert_eq!(blocks, []);
        assert_eq!(others, [Piece::of_run(0, 0, 1_600_000, 0, 1)]);
    }

    #[test]
    fn rows_are_a_series() {
        let mut blocks: Vec<Block> = (0..100).map(|row| block(8000 * row, 800)).collect();
        blocks.push(block(4000, 8));
        let mut others = Vec::new();
        compact(0, &mut blocks, &mut others);
        // The block within the rows divides them.
        assert_eq!((blocks.len(), others.len()), (2, 1));
        blocks = (0..100).map(|row| block(8000 * row, 800)).collect();
        others.clear();
        compact(0, &mut blocks, &mut others);
        assert_eq!(blocks, []);
        assert_eq!(others, [Piece::of_run(0, 0, 800, 8000, 100)]);
    }
}
