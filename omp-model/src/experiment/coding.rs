//! How one column of numbers becomes bytes: LEB128 in planes, or Golomb-Rice.

use std::cmp::Ordering;

/// Golomb-Rice quotients from here on are written as a length and the plain value.
const ESCAPE: u32 = 24;

/// The most low bits that Golomb-Rice keeps plain: with the quotient they fit one peek.
pub(super) const MAX_LOW_BITS: u32 = 32;

/// What is wrong with a frame's contents, in a clause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Corrupt(pub(super) &'static str);

/// A difference as a small number whatever its sign.
pub(super) const fn zigzag(signed: i64) -> u64 {
    ((signed << 1) ^ (signed >> 63)) as u64
}

/// The inverse of [`zigzag`].
pub(super) const fn unzigzag(coded: u64) -> i64 {
    (coded >> 1) as i64 ^ -((coded & 1) as i64)
}

pub(super) fn push_leb(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

pub(super) fn push_planes(out: &mut Vec<u8>, values: &[u64]) {
    let mut plane = values.to_vec();
    while !plane.is_empty() {
        plane.retain_mut(|value| {
            let goes_on = *value >= 0x80;
            out.push(*value as u8 & 0x7f | u8::from(goes_on) << 7);
            *value >>= 7;
            goes_on
        });
    }
}

fn rice_width(value: u64, low_bits: u32) -> u64 {
    let quotient = value >> low_bits;
    if quotient < u64::from(ESCAPE) {
        quotient + 1 + u64::from(low_bits)
    } else {
        u64::from(ESCAPE + 6 + (64 - value.leading_zeros()))
    }
}

/// Bits from the lowest of each byte up: `quotient` ones, a zero, the low bits; or [`ESCAPE`]
/// ones, the value's width less one in six bits, the value.
pub(super) fn push_rice(out: &mut Vec<u8>, values: &[u64], low_bits: u32) {
    let mut bits = BitWriter::new(out);
    for &value in values {
        let quotient = value >> low_bits;
        if quotient < u64::from(ESCAPE) {
            bits.push((1 << quotient) - 1, quotient as u32 + 1);
            bits.push(value & ((1 << low_bits) - 1), low_bits);
        } else {
            let width = 64 - value.leading_zeros();
            bits.push((1 << ESCAPE) - 1, ESCAPE);
            bits.push(u64::from(width - 1), 6);
            bits.push(value & 0xffff_ffff, width.min(32));
            bits.push(value >> 32, width.saturating_sub(32));
        }
    }
    bits.finish();
}

/// Bits from the lowest of each byte up.
pub(super) struct BitWriter<'a> {
    out: &'a mut Vec<u8>,
    held: u64,
    width: u32,
}

impl<'a> BitWriter<'a> {
    pub(super) fn new(out: &'a mut Vec<u8>) -> BitWriter<'a> {
        BitWriter {
            out,
            held: 0,
            width: 0,
        }
    }

    /// At most 32 bits; those above `width` are clear.
    pub(super) fn push(&mut self, bits: u64, width: u32) {
        self.held |= bits << self.width;
        self.width += width;
        while self.width >= 8 {
            self.out.push(self.held as u8);
            self.held >>= 8;
            self.width -= 8;
        }
    }

    pub(super) fn finish(self) {
        if self.width > 0 {
            self.out.push(self.held as u8);
        }
    }
}

/// The number of low bits that makes the values shortest, and how many bits they then take.
/// The best one lies near the median's width.
pub(super) fn best_rice(values: &[u64], sorted: &mut Vec<u64>) -> (u32, u64) {
    if values.is_empty() {
        return (0, 0);
    }
    sorted.clear();
    sorted.extend_from_slice(values);
    let middle = values.len() / 2;
    let (_, median, _) = sorted.select_nth_unstable(middle);
    let width = 64 - median.leading_zeros();
    let candidates = width.saturating_sub(2)..=(width + 2);
    candidates
        .map(|low_bits| low_bits.min(MAX_LOW_BITS))
        .map(|low_bits| {
            let bits = values.iter().map(|&value| rice_width(value, low_bits));
            (low_bits, bits.sum())
        })
        .min_by_key(|&(_, bits): &(u32, u64)| bits)
        .expect("the range of candidates is not empty")
}

pub(super) fn take_planes(
    bytes: &[u8],
    rows: usize,
    open: &mut Vec<u32>,
    out: &mut Vec<u64>,
) -> Result<(), Corrupt> {
    const SHORT: Corrupt = Corrupt("a column holds too few bytes for its rows");
    let (first, mut rest) = bytes.split_at_checked(rows).ok_or(SHORT)?;
    out.extend(first.iter().map(|&byte| u64::from(byte & 0x7f)));
    open.clear();
    // Of most columns no number does.
    let any = first.iter().fold(0, |any, byte| any | byte) & 0x80 != 0;
    let first = if any { first } else { &[] };
    let goes_on = |&(_, &byte): &(usize, &u8)| byte & 0x80 != 0;
    open.extend(
        first
            .iter()
            .enumerate()
            .filter(goes_on)
            .map(|(row, _)| row as u32),
    );
    let mut shift = 7;
    while !open.is_empty() {
        let (plane, more) = rest.split_at_checked(open.len()).ok_or(SHORT)?;
        rest = more;
        if shift > 63 || (shift == 63 && plane.iter().any(|&byte| byte > 1)) {
            return Err(Corrupt("a number is wider than 64 bits"));
        }
        let mut kept = 0;
        for (at, &byte) in plane.iter().enumerate() {
            let row = open[at];
            out[row as usize] |= u64::from(byte & 0x7f) << shift;
            open[kept] = row;
            kept += usize::from(byte >> 7);
        }
        open.truncate(kept);
        shift += 7;
    }
    match rest {
        [] => Ok(()),
        _ => Err(Corrupt("a column holds more bytes than its rows")),
    }
}

pub(super) fn take_rice(
    bytes: &[u8],
    low_bits: u32,
    rows: usize,
    out: &mut Vec<u64>,
) -> Result<(), Corrupt> {
    let mut bits = BitReader::new(bytes);
    out.reserve(rows);
    let low_mask = (1_u64 << low_bits) - 1;
    for _ in 0..rows {
        let ahead = bits.peek();
        let quotient = ahead.trailing_ones().min(ESCAPE);
        if quotient < ESCAPE {
            let low = ahead >> (quotient + 1) & low_mask;
            bits.at += (quotient + 1 + low_bits) as usize;
            out.push(u64::from(quotient) << low_bits | low);
        } else {
            bits.at += ESCAPE as usize;
            let width = (bits.take(6) + 1) as u32;
            let low = bits.take(width.min(32));
            let high = bits.take(width.saturating_sub(32));
            out.push(high << 32 | low);
        }
        if bits.is_beyond() {
            return Err(Corrupt("a column holds too few bits for its rows"));
        }
    }
    bits.finish()
}

/// The last bytes, of which there are fewer than a word has.
#[cold]
fn last(bytes: &[u8]) -> u64 {
    let mut word = [0; 8];
    word[..bytes.len()].copy_from_slice(bytes);
    u64::from_le_bytes(word)
}

/// Reads what a [`BitWriter`] wrote.
pub(super) struct BitReader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> BitReader<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> BitReader<'a> {
        BitReader { bytes, at: 0 }
    }

    /// Whether more bits were taken than there are.
    #[inline]
    pub(super) fn is_beyond(&self) -> bool {
        self.at > 8 * self.bytes.len()
    }

    /// All bytes must have been taken, and no more.
    pub(super) fn finish(&self) -> Result<(), Corrupt> {
        match self.at.div_ceil(8).cmp(&self.bytes.len()) {
            Ordering::Less => Err(Corrupt("a column holds more bytes than its rows")),
            Ordering::Equal => Ok(()),
            Ordering::Greater => Err(Corrupt("a column holds too few bits for its rows")),
        }
    }

    #[inline]
    pub(super) fn skip(&mut self, width: u32) {
        self.at += width as usize;
    }

    /// The next 57 bits or more; zeros beyond the end.
    #[inline]
    pub(super) fn peek(&self) -> u64 {
        let from = self.bytes.get(self.at / 8..).unwrap_or(&[]);
        let word = match from.first_chunk::<8>() {
            Some(word) => u64::from_le_bytes(*word),
            None => last(from),
        };
        word >> (self.at % 8)
    }

    /// So many bits before where it stands.
    #[cold]
    pub(super) fn before(&self, width: u32) -> u64 {
        let mut bits = BitReader {
            bytes: self.bytes,
            at: self.at - width as usize,
        };
        let low = bits.take(width.min(32));
        bits.take(width.saturating_sub(32)) << 32 | low
    }

    /// At most 32 bits.
    #[inline]
    pub(super) fn take(&mut self, width: u32) -> u64 {
        let bits = self.peek() & ((1 << width) - 1);
        self.at += width as usize;
        bits
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zigzag_is_its_own_way_back() {
        for signed in [0, 1, -1, 63, -64, i64::MAX, i64::MIN] {
            assert_eq!(unzigzag(zigzag(signed)), signed);
        }
        assert_eq!([zigzag(0), zigzag(-1), zigzag(1)], [0, 1, 2]);
    }
}
