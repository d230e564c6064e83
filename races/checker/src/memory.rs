//! Pieces of memory: blocks of one width at one distance.

use std::ops::Range;

/// `count` blocks of `width` bytes, the first at `first`, each `stride` bytes behind the one before.
/// A single block has a `stride` of 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Piece {
    /// What memory it is: recycled memory at one address is not the same. 0 for most.
    pub space: u32,
    /// The address of the first byte.
    pub first: u64,
    /// Bytes of a block, at least 1.
    pub width: u64,
    /// At least `width`, where there are several blocks.
    pub stride: u64,
    /// Blocks, at least 1.
    pub count: u32,
}

/// A run of so few blocks has its distance by chance.
pub const SHORT: u32 = 3;

impl Piece {
    /// A run of `count` accesses of `width` bytes, `stride` bytes apart.
    pub fn of_run(space: u32, first: u64, width: u64, stride: i64, count: u32) -> Piece {
        let single = |first: u64, width: u64| Piece {
            space,
            first,
            width: width.max(1),
            stride: 0,
            count: 1,
        };
        if count <= 1 || stride == 0 {
            return single(first, width);
        }
        let distance = stride.unsigned_abs();
        let length = distance.saturating_mul(u64::from(count) - 1);
        let lowest = if stride < 0 {
            first.saturating_sub(length)
        } else {
            first
        };
        if distance <= width {
            return single(lowest, length.saturating_add(width));
        }
        Piece {
            space,
            first: lowest,
            width: width.max(1),
            stride: distance,
            count,
        }
    }

    /// The blocks of a short run each for itself: two or three accesses make a distance by chance,
    /// and so a series that reaches over memory of others.
    pub fn parts(self) -> impl Iterator<Item = Piece> {
        let is_short = (2..=SHORT).contains(&self.count);
        let number = if is_short { self.count } else { 1 };
        (0..number).map(move |at| Piece {
            first: self.first + u64::from(at) * self.stride,
            stride: if is_short { 0 } else { self.stride },
            count: if is_short { 1 } else { self.count },
            ..self
        })
    }

    /// The address behind the last byte.
    pub fn end(&self) -> u64 {
        let length = self.stride.saturating_mul(u64::from(self.count) - 1);
        self.first.saturating_add(length).saturating_add(self.width)
    }

    /// The lowest address that both have, if there is one.
    pub fn common(&self, other: &Piece) -> Option<u64> {
        if self.space != other.space || self.first >= other.end() || other.first >= self.end() {
            return None;
        }
        match (self.count, other.count) {
            (1, 1) => Some(self.first.max(other.first)),
            (1, _) => other.common_with_block(self.first, self.end()),
            (_, 1) => self.common_with_block(other.first, other.end()),
            _ if self.stride == other.stride => self.common_of_one_stride(other),
            _ => {
                let numbers = self.blocks_within(other.first, other.end());
                let begin = (self.block(numbers.start) + self.width - 1) - other.first;
                let touching = self.width + other.width - 1;
                let steps = first_below(begin, self.stride, other.stride, touching)?;
                let number = u128::from(numbers.start) + steps;
                let number = u64::try_from(number).ok().filter(|it| *it < numbers.end)?;
                let block = self.block(number);
                other.common_with_block(block, block + self.width)
            }
        }
    }

    /// The address of a block.
    fn block(&self, number: u64) -> u64 {
        self.first + number * self.stride
    }

    /// The numbers of the blocks that may reach into `begin..end`.
    fn blocks_within(&self, begin: u64, end: u64) -> Range<u64> {
        let low = begin
            .saturating_sub(self.width - 1)
            .saturating_sub(self.first);
        let high = end.saturating_sub(self.first).div_ceil(self.stride);
        low.div_ceil(self.stride)..high.min(self.count.into())
    }

    /// The blocks that may reach into `begin..end`, if there are any.
    pub fn within(&self, begin: u64, end: u64) -> Option<Piece> {
        if self.count == 1 {
            let is_within = self.first < end && begin < self.end();
            return is_within.then_some(*self);
        }
        let numbers = self.blocks_within(begin, end);
        let count = numbers.end.checked_sub(numbers.start)? as u32;
        let stride = if count > 1 { self.stride } else { 0 };
        (count > 0).then(|| Piece {
            first: self.block(numbers.start),
            stride,
            count,
            ..*self
        })
    }

    /// The lowest address in common with `begin..end`.
    fn common_with_block(&self, begin: u64, end: u64) -> Option<u64> {
        if self.count == 1 {
            let low = self.first.max(begin);
            return (low < end && low < self.end()).then_some(low);
        }
        let number = self.blocks_within(begin, end).next()?;
        Some(self.block(number).max(begin)).filter(|low| *low < end)
    }

    /// Both have blocks at one distance: two neighbours decide.
    fn common_of_one_stride(&self, other: &Piece) -> Option<u64> {
        let (low, high) = if self.first <= other.first {
            (self, other)
        } else {
            (other, self)
        };
        let offset = (high.first - low.first) % low.stride;
        let number = (high.first - low.first) / low.stride;
        let block = low.first + number * low.stride;
        if number < low.count.into() && offset < low.width {
            return Some(high.first.max(block));
        }
        let is_next = number + 1 < low.count.into() && offset + high.width > low.stride;
        is_next.then_some(block + low.stride)
    }
}

/// The least number of steps after which `begin` has a remainder below `bound` by `modulus`.
fn first_below(begin: u64, step: u64, modulus: u64, bound: u64) -> Option<u128> {
    let remainder = begin % modulus;
    if remainder < bound {
        return Some(0);
    }
    let low = modulus - remainder;
    first_within(
        step.into(),
        modulus.into(),
        low.into(),
        (low + bound - 1).into(),
    )
}

/// The least number of steps from 0 on whose remainder by `modulus` is in `low..=high`, where `low` is not
/// 0 and `high` is less than `modulus`: as Euclid would look for it, for there may be billions of them.
fn first_within(step: u128, modulus: u128, low: u128, high: u128) -> Option<u128> {
    let step = step % modulus;
    if step == 0 {
        return None;
    }
    let steps = low.div_ceil(step);
    if steps * step <= high {
        return Some(steps);
    }
    // No multiple of the step lies in between: the number of times that they pass the modulus decides.
    let passes = first_within(modulus, step, step - high % step, step - low % step)?;
    Some((low + passes * modulus).div_ceil(step))
}

/// Joins pieces of the same accesses into as few as it can: neighbours, rows of a matrix, columns.
pub fn compact(pieces: &mut Vec<Piece>) {
    let before = pieces.len();
    join_neighbours(pieces);
    if pieces.len() > 1 {
        join_columns(pieces);
        join_rows(pieces);
    }
    if pieces.len() > 1 && pieces.len() < before {
        join_neighbours(pieces);
    }
}

/// Blocks that touch or overlap become one.
fn join_neighbours(pieces: &mut Vec<Piece>) {
    pieces.sort_unstable();
    join(pieces, |last, next| {
        let is_same = last == next;
        let are_blocks = last.count == 1 && next.count == 1 && last.space == next.space;
        if are_blocks && next.first <= last.end() {
            last.width = next.end().max(last.end()) - last.first;
            return true;
        }
        is_same
    });
}

/// Series of blocks that lie beside each other become one of wider blocks.
fn join_columns(pieces: &mut Vec<Piece>) {
    pieces.sort_unstable_by_key(|piece| (piece.space, piece.count, piece.stride, piece.first));
    join(pieces, |last, next| {
        let fits = last.count > 1
            && (last.space, last.count, last.stride) == (next.space, next.count, next.stride)
            && next.first <= last.first + last.width;
        if fits {
            last.width = last.width.max(next.first + next.width - last.first);
            if last.width >= last.stride {
                let end = last.end();
                (last.width, last.stride, last.count) = (end - last.first, 0, 1);
            }
        }
        fits
    });
}

/// Blocks of one width at one distance become a series.
fn join_rows(pieces: &mut Vec<Piece>) {
    pieces.sort_unstable_by_key(|piece| (piece.space, piece.width, piece.first));
    join(pieces, |last, next| {
        if (last.space, last.width) != (next.space, next.width) {
            return false;
        }
        let distance = next.first - last.first;
        match (last.count, next.count) {
            (1, 1) if distance > last.width => {
                (last.stride, last.count) = (distance, 2);
                true
            }
            (1, _) => false,
            _ => {
                let follows = (next.count == 1 || last.stride == next.stride)
                    && distance == last.stride * u64::from(last.count);
                let count = last.count.checked_add(next.count).filter(|_| follows);
                last.count = count.unwrap_or(last.count);
                count.is_some()
            }
        }
    });
}

/// Goes through `pieces` once; `take` adds the second to the first, or returns `false`.
fn join(pieces: &mut Vec<Piece>, take: impl Fn(&mut Piece, &Piece) -> bool) {
    let mut kept = 0;
    for at in 1..pieces.len() {
        let next = pieces[at];
        if !take(&mut pieces[kept], &next) {
            kept += 1;
            pieces[kept] = next;
        }
    }
    pieces.truncate(kept + 1);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(first: u64, width: u64, stride: i64, count: u32) -> Piece {
        Piece::of_run(0, first, width, stride, count)
    }

    /// All bytes of the pieces.
    fn bytes(pieces: &[Piece]) -> Vec<u64> {
        let mut all: Vec<u64> = pieces
            .iter()
            .flat_map(|piece| {
                (0..u64::from(piece.count)).flat_map(move |number| {
                    let block = piece.first + number * piece.stride;
                    block..block + piece.width
                })
            })
            .collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    #[test]
    fn runs_without_gaps_are_blocks() {
        assert_eq!(run(100, 8, 8, 4), run(100, 32, 0, 1));
        assert_eq!(run(124, 8, -8, 4), run(100, 32, 0, 1));
        assert_eq!(run(100, 8, 4, 4), run(100, 20, 0, 1));
        let spread = run(100, 8, 24, 3);
        assert_eq!((spread.count, spread.stride, spread.end()), (3, 24, 156));
    }

    #[test]
    fn the_common_address_is_that_of_the_bytes() {
        let mut random = Random(7);
        for _ in 0..20_000 {
            let mut piece = || {
                let width = 1 + random.below(6);
                let stride = random.below(12) as i64 - 4;
                run(
                    50 + random.below(40),
                    width,
                    stride,
                    1 + random.below(5) as u32,
                )
            };
            let (one, two) = (piece(), piece());
            let (of_one, of_two) = (bytes(&[one]), bytes(&[two]));
            let expected = of_one.iter().find(|byte| of_two.contains(byte));
            assert_eq!(
                one.common(&two).is_some(),
                expected.is_some(),
                "{one:?} {two:?}"
            );
            if let Some(common) = one.common(&two) {
                assert!(
                    of_one.contains(&common) && of_two.contains(&common),
                    "{one:?} {two:?}"
                );
                let is_one_stride = one.stride == two.stride;
                assert!(
                    is_one_stride || Some(&common) == expected,
                    "{one:?} {two:?}"
                );
            }
            assert_eq!(one.common(&two).is_some(), two.common(&one).is_some());
        }
    }

    #[test]
    fn series_of_billions_of_blocks_are_compared_at_once() {
        let even = run(1 << 20, 8, 32, u32::MAX);
        let odd = run((1 << 20) + 16, 8, 48, u32::MAX);
        assert_eq!(even.common(&odd), Some((1 << 20) + 64));
        let between = run((1 << 20) + 8, 8, 64, u32::MAX);
        assert_eq!(even.common(&between), None);
        let within = even.within(1 << 30, 1 << 34);
        assert_eq!(within.map(|it| it.count), Some((1 << 29) - (1 << 25)));
    }

    #[test]
    fn compaction_keeps_the_bytes() {
        let mut random = Random(11);
        for _ in 0..3000 {
            let mut pieces: Vec<Piece> = (0..1 + random.below(12))
                .map(|_| {
                    let width = 1 + random.below(3);
                    let stride = random.below(8) as i64;
                    run(random.below(60), width, stride, 1 + random.below(4) as u32)
                })
                .collect();
            let before = bytes(&pieces);
            let count = pieces.len();
            compact(&mut pieces);
            assert_eq!(bytes(&pieces), before);
            assert!(pieces.len() <= count);
        }
    }

    #[test]
    fn a_matrix_is_one_piece_by_rows_and_by_columns() {
        let row = |number: u64| run(8000 * number + 8, 8, 8, 998);
        let mut rows: Vec<Piece> = (1..500).map(row).collect();
        compact(&mut rows);
        assert_eq!(rows.len(), 1, "{rows:?}");
        let column = |number: u64| run(8 * number, 8, 8000, 1000);
        let mut columns: Vec<Piece> = (0..900).map(column).collect();
        compact(&mut columns);
        assert_eq!(columns.len(), 1, "{columns:?}");
    }

    /// A generator of numbers that need not be good.
    struct Random(u64);

    impl Random {
        fn below(&mut self, bound: u64) -> u64 {
            self.0 = self
                .0
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (self.0 >> 33) % bound
        }
    }
}
