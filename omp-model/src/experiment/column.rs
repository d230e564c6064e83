//! Columns of whole numbers, each stored in the shortest of four ways.
//!
//! A column is written by itself, since its neighbours' statistics would spoil its own: constant,
//! Golomb-Rice with an escape (noise around a mean: times), bytes of LEB128 in planes (all first
//! bytes, then all second bytes …), or those planes packed by zstd (what repeats: stacks, tags).
//!
//! The first column of every set of rows is *dense*: it takes at least one bit a row, so a
//! reader can hold any count of rows against the bytes that claim to hold them.

use std::io;

use zstd::bulk::{Compressor, Decompressor};

use super::samples::Columns;

/// Rows in one frame at most: bounds what a few bytes can make a reader allocate.
pub(super) const MAX_ROWS: usize = 1 << 18;

/// Bytes of all strings of one frame at most.
pub(super) const MAX_TEXT: usize = 1 << 26;

const CONSTANT: u8 = 0;
const RICE: u8 = 1;
const PLANES: u8 = 2;
const PACKED: u8 = 3;

/// The zstd level of columns and text.
const LEVEL: i32 = 3;

/// Below this many bytes the header of a zstd block costs more than it saves.
const WORTH_PACKING: usize = 24;

/// Golomb-Rice quotients from here on are written as a length and the plain value.
const ESCAPE: u32 = 24;

/// The most low bits that Golomb-Rice keeps plain: with the quotient they fit one peek.
const MAX_LOW_BITS: u32 = 32;

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

/// Writes columns one after the other.
pub(super) struct Encoder {
    out: Vec<u8>,
    zstd: Compressor<'static>,
    planes: Vec<u8>,
    packed: Vec<u8>,
    sorted: Vec<u64>,
}

impl Encoder {
    /// An empty payload.
    pub(super) fn new() -> io::Result<Encoder> {
        Ok(Encoder {
            out: Vec::new(),
            zstd: Compressor::new(LEVEL)?,
            planes: Vec::new(),
            packed: Vec::new(),
            sorted: Vec::new(),
        })
    }

    /// The payload so far; the encoder is empty again.
    pub(super) fn take(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.out)
    }

    /// One number.
    pub(super) fn number(&mut self, value: u64) {
        push_leb(&mut self.out, value);
    }

    /// A column that may vanish where it is constant.
    pub(super) fn column(&mut self, values: &[u64]) {
        match values {
            [first, rest @ ..] if rest.iter().all(|value| value == first) => {
                self.out.push(CONSTANT);
                push_leb(&mut self.out, *first);
            }
            _ => self.varied(values, true),
        }
    }

    /// A column of at least one bit a row.
    pub(super) fn dense(&mut self, values: &[u64]) {
        self.varied(values, false);
    }

    /// Strings: their lengths (dense), then their bytes.
    pub(super) fn strings<'a>(&mut self, strings: impl Iterator<Item = &'a str> + Clone) {
        let lengths: Vec<u64> = strings.clone().map(|text| text.len() as u64).collect();
        self.dense(&lengths);
        let bytes: Vec<u8> = strings.flat_map(str::bytes).collect();
        self.text(&bytes);
    }

    /// Bytes of known length.
    pub(super) fn text(&mut self, bytes: &[u8]) {
        if self.pack(bytes) {
            self.out.push(PACKED);
            push_leb(&mut self.out, self.packed.len() as u64);
            self.out.extend_from_slice(&self.packed);
        } else {
            self.out.push(PLANES);
            self.out.extend_from_slice(bytes);
        }
    }

    fn varied(&mut self, values: &[u64], may_pack: bool) {
        let mut planes = std::mem::take(&mut self.planes);
        planes.clear();
        push_planes(&mut planes, values);
        let (low_bits, rice_bits) = self.best_rice(values);
        let rice_bytes = rice_bits.div_ceil(8) as usize;
        let packed = may_pack && self.pack(&planes) && self.packed.len() < rice_bytes;
        if packed {
            self.out.push(PACKED);
            push_leb(&mut self.out, planes.len() as u64);
            push_leb(&mut self.out, self.packed.len() as u64);
            self.out.extend_from_slice(&self.packed);
        } else if rice_bytes < planes.len() {
            self.out.push(RICE);
            self.out.push(low_bits as u8);
            push_leb(&mut self.out, rice_bytes as u64);
            push_rice(&mut self.out, values, low_bits);
        } else {
            self.out.push(PLANES);
            push_leb(&mut self.out, planes.len() as u64);
            self.out.extend_from_slice(&planes);
        }
        self.planes = planes;
    }

    /// Packs into `self.packed`; false if that does not help.
    fn pack(&mut self, bytes: &[u8]) -> bool {
        if bytes.len() < WORTH_PACKING {
            return false;
        }
        self.packed.clear();
        self.packed
            .reserve(zstd::zstd_safe::compress_bound(bytes.len()));
        self.zstd
            .compress_to_buffer(bytes, &mut self.packed)
            .is_ok_and(|length| length < bytes.len())
    }

    /// The number of low bits that makes the values shortest, and how many bits they then take.
    /// The best one lies near the median's width.
    fn best_rice(&mut self, values: &[u64]) -> (u32, u64) {
        if values.is_empty() {
            return (0, 0);
        }
        self.sorted.clear();
        self.sorted.extend_from_slice(values);
        let middle = values.len() / 2;
        let (_, median, _) = self.sorted.select_nth_unstable(middle);
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
}

fn push_leb(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

fn push_planes(out: &mut Vec<u8>, values: &[u64]) {
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
fn push_rice(out: &mut Vec<u8>, values: &[u64], low_bits: u32) {
    let mut bits = BitWriter {
        out,
        held: 0,
        width: 0,
    };
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

struct BitWriter<'a> {
    out: &'a mut Vec<u8>,
    held: u64,
    width: u32,
}

impl BitWriter<'_> {
    /// At most 32 bits; those above `width` are clear.
    fn push(&mut self, bits: u64, width: u32) {
        self.held |= bits << self.width;
        self.width += width;
        while self.width >= 8 {
            self.out.push(self.held as u8);
            self.held >>= 8;
            self.width -= 8;
        }
    }

    fn finish(self) {
        if self.width > 0 {
            self.out.push(self.held as u8);
        }
    }
}

/// What decoding keeps between frames: the zstd context and its buffers.
pub(super) struct Scratch {
    zstd: Decompressor<'static>,
    raw: Vec<u8>,
    open: Vec<u32>,
    /// Of the samples.
    pub(super) samples: Columns,
}

impl Scratch {
    pub(super) fn new() -> Scratch {
        Scratch {
            zstd: Decompressor::new().expect("zstd refuses a context only when memory is out"),
            raw: Vec::new(),
            open: Vec::new(),
            samples: Columns::default(),
        }
    }

    fn unpack(&mut self, packed: &[u8], length: usize) -> Result<(), Corrupt> {
        self.raw.clear();
        self.raw.reserve(length);
        match self.zstd.decompress_to_buffer(packed, &mut self.raw) {
            Ok(got) if got == length => Ok(()),
            _ => Err(Corrupt("a column does not unpack to its length")),
        }
    }
}

/// Reads columns one after the other; never beyond the payload.
pub(super) struct Decoder<'a, 's> {
    rest: &'a [u8],
    scratch: &'s mut Scratch,
}

impl<'a, 's> Decoder<'a, 's> {
    pub(super) fn new(payload: &'a [u8], scratch: &'s mut Scratch) -> Self {
        Decoder {
            rest: payload,
            scratch,
        }
    }

    /// Nothing may be left over.
    pub(super) fn finish(&self) -> Result<(), Corrupt> {
        match self.rest {
            [] => Ok(()),
            _ => Err(Corrupt("bytes after the last column")),
        }
    }

    fn bytes(&mut self, length: usize) -> Result<&'a [u8], Corrupt> {
        let (taken, rest) = self
            .rest
            .split_at_checked(length)
            .ok_or(Corrupt("a column is longer than its frame"))?;
        self.rest = rest;
        Ok(taken)
    }

    fn byte(&mut self) -> Result<u8, Corrupt> {
        Ok(self.bytes(1)?[0])
    }

    /// One number.
    pub(super) fn number(&mut self) -> Result<u64, Corrupt> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7f);
            if shift == 63 && bits > 1 {
                break;
            }
            value |= bits << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(Corrupt("a number is wider than 64 bits"))
    }

    /// A count of rows, believable for a frame of this length.
    pub(super) fn rows(&mut self) -> Result<usize, Corrupt> {
        let rows = self.number()?;
        if rows > MAX_ROWS as u64 || rows > 8 * self.rest.len() as u64 {
            return Err(Corrupt("more rows than the frame can hold"));
        }
        Ok(rows as usize)
    }

    fn length(&mut self) -> Result<usize, Corrupt> {
        usize::try_from(self.number()?).map_err(|_| Corrupt("a length beyond memory"))
    }

    /// A column written by [`Encoder::dense`].
    pub(super) fn dense(&mut self, rows: usize, out: &mut Vec<u64>) -> Result<(), Corrupt> {
        match self.rest.first() {
            Some(&(CONSTANT | PACKED)) => Err(Corrupt("a dense column is packed")),
            _ => self.column(rows, out),
        }
    }

    /// A column written by [`Encoder::column`]; `out` holds just its values afterwards.
    pub(super) fn column(&mut self, rows: usize, out: &mut Vec<u64>) -> Result<(), Corrupt> {
        out.clear();
        match self.byte()? {
            CONSTANT => {
                let value = self.number()?;
                out.resize(rows, value);
                Ok(())
            }
            RICE => {
                let low_bits = u32::from(self.byte()?);
                let length = self.length()?;
                let bytes = self.bytes(length)?;
                if low_bits > MAX_LOW_BITS || rows > 8 * length {
                    return Err(Corrupt("a column of bits cannot hold its rows"));
                }
                take_rice(bytes, low_bits, rows, out)
            }
            PLANES => {
                let length = self.length()?;
                let bytes = self.bytes(length)?;
                take_planes(bytes, rows, &mut self.scratch.open, out)
            }
            PACKED => {
                let raw_length = self.length()?;
                let length = self.length()?;
                let packed = self.bytes(length)?;
                if raw_length > rows.saturating_mul(10) {
                    return Err(Corrupt("a packed column is too long for its rows"));
                }
                self.scratch.unpack(packed, raw_length)?;
                let Scratch { raw, open, .. } = &mut *self.scratch;
                take_planes(raw, rows, open, out)
            }
            _ => Err(Corrupt("an unknown way of storing a column")),
        }
    }

    /// Strings written by [`Encoder::strings`].
    pub(super) fn strings(&mut self, rows: usize) -> Result<Vec<String>, Corrupt> {
        let mut lengths = Vec::new();
        self.dense(rows, &mut lengths)?;
        let total = lengths
            .iter()
            .try_fold(0_u64, |sum, &length| sum.checked_add(length))
            .filter(|&total| total <= MAX_TEXT as u64)
            .ok_or(Corrupt("strings of unbelievable length"))?;
        let text = self.text(total as usize)?;
        let mut rest = text.as_slice();
        lengths
            .iter()
            .map(|&length| {
                let (one, more) = rest.split_at(length as usize);
                rest = more;
                String::from_utf8(one.to_vec()).map_err(|_| Corrupt("a string is not UTF-8"))
            })
            .collect()
    }

    /// Bytes written by [`Encoder::text`].
    pub(super) fn text(&mut self, length: usize) -> Result<Vec<u8>, Corrupt> {
        if length > MAX_TEXT {
            return Err(Corrupt("text of unbelievable length"));
        }
        match self.byte()? {
            PLANES => Ok(self.bytes(length)?.to_vec()),
            PACKED => {
                let packed_length = self.length()?;
                let packed = self.bytes(packed_length)?;
                self.scratch.unpack(packed, length)?;
                Ok(std::mem::take(&mut self.scratch.raw))
            }
            _ => Err(Corrupt("an unknown way of storing text")),
        }
    }
}

fn take_planes(
    bytes: &[u8],
    rows: usize,
    open: &mut Vec<u32>,
    out: &mut Vec<u64>,
) -> Result<(), Corrupt> {
    const SHORT: Corrupt = Corrupt("a column holds too few bytes for its rows");
    let (first, mut rest) = bytes.split_at_checked(rows).ok_or(SHORT)?;
    out.extend(first.iter().map(|&byte| u64::from(byte & 0x7f)));
    open.clear();
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

fn take_rice(bytes: &[u8], low_bits: u32, rows: usize, out: &mut Vec<u64>) -> Result<(), Corrupt> {
    let mut bits = BitReader { bytes, at: 0 };
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
        if bits.at > 8 * bytes.len() {
            return Err(Corrupt("a column holds too few bits for its rows"));
        }
    }
    if bits.at.div_ceil(8) == bytes.len() {
        Ok(())
    } else {
        Err(Corrupt("a column holds more bytes than its rows"))
    }
}

struct BitReader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl BitReader<'_> {
    /// The next 57 bits or more; zeros beyond the end.
    fn peek(&self) -> u64 {
        let from = self.bytes.get(self.at / 8..).unwrap_or(&[]);
        let word = match from.first_chunk::<8>() {
            Some(word) => *word,
            None => {
                let mut word = [0; 8];
                word[..from.len()].copy_from_slice(from);
                word
            }
        };
        u64::from_le_bytes(word) >> (self.at % 8)
    }

    /// At most 32 bits.
    fn take(&mut self, width: u32) -> u64 {
        let bits = self.peek() & ((1 << width) - 1);
        self.at += width as usize;
        bits
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round_trip(values: &[u64]) -> usize {
        let mut encoder = Encoder::new().unwrap();
        encoder.column(values);
        let column = encoder.take();
        encoder.dense(values);
        let dense = encoder.take();
        let mut scratch = Scratch::new();
        let mut out = Vec::new();
        let mut decoder = Decoder::new(&column, &mut scratch);
        decoder.column(values.len(), &mut out).unwrap();
        decoder.finish().unwrap();
        assert_eq!(out, values);
        let mut decoder = Decoder::new(&dense, &mut scratch);
        decoder.dense(values.len(), &mut out).unwrap();
        decoder.finish().unwrap();
        assert_eq!(out, values);
        assert!(8 * dense.len() >= values.len());
        column.len()
    }

    #[test]
    fn columns_come_back_whatever_their_shape() {
        round_trip(&[]);
        round_trip(&[0]);
        round_trip(&[u64::MAX]);
        round_trip(&[u64::MAX, 0, 1 << 63, u64::from(u32::MAX), 127, 128]);
        round_trip(&(0..3000).map(|i| 1 << (i % 64)).collect::<Vec<_>>());
        round_trip(&(0..3000).map(|i| i * i * 77).collect::<Vec<_>>());
        // Mostly narrow, with outliers that the escape carries.
        let spiky: Vec<u64> = (0..3000)
            .map(|i| {
                if i % 500 == 7 {
                    u64::MAX - i
                } else {
                    i * 31 % 19
                }
            })
            .collect();
        round_trip(&spiky);
    }

    #[test]
    fn a_constant_column_costs_two_bytes_and_noise_costs_its_entropy() {
        assert_eq!(round_trip(&[5; 10_000]), 2);
        // 8 bits of noise, which LEB128 would write in two bytes half of the time.
        let mut seed = 1_u64;
        let noise: Vec<u64> = (0..10_000)
            .map(|_| {
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                seed >> 56
            })
            .collect();
        assert!(round_trip(&noise) < 10_000 * 17 / 16 + 100);
    }

    #[test]
    fn zigzag_is_its_own_way_back() {
        for signed in [0, 1, -1, 63, -64, i64::MAX, i64::MIN] {
            assert_eq!(unzigzag(zigzag(signed)), signed);
        }
        assert_eq!([zigzag(0), zigzag(-1), zigzag(1)], [0, 1, 2]);
    }
}
