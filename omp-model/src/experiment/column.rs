//! Columns of whole numbers, each stored in the shortest of five ways.
//!
//! A column is written by itself, since its neighbours' statistics would spoil its own: constant,
//! Golomb-Rice with an escape (noise around a mean), codes of the numbers' sizes (smooth
//! distributions of other shapes: times, stacks), bytes of LEB128 in planes (all first bytes, then
//! all second bytes …), or those planes packed by zstd (what repeats: CPUs, tags).
//!
//! The first column of every set of rows is *dense*: it takes at least one bit a row, so a
//! reader can hold any count of rows against the bytes that claim to hold them.

use std::io;

use zstd::bulk::{Compressor, Decompressor};

use super::classes::{Code, Table};
use super::coding::{
    Corrupt, MAX_LOW_BITS, best_rice, push_leb, push_planes, push_rice, take_planes, take_rice,
};
use super::unpacking::Columns;
use crate::rows::Sight;

/// Rows in one frame at most: bounds what a few bytes can make a reader allocate.
pub(super) const MAX_ROWS: usize = 1 << 18;

/// Bytes of all strings of one frame at most.
pub(super) const MAX_TEXT: usize = 1 << 26;

const CONSTANT: u8 = 0;
const RICE: u8 = 1;
const PLANES: u8 = 2;
const PACKED: u8 = 3;
const CODED: u8 = 4;

/// The zstd level of columns and text. Twice as high, samples take half a percent fewer bytes and an
/// eighth of a microsecond more to write.
const LEVEL: i32 = 3;

/// Below this many bytes the header of a zstd block costs more than it saves.
const WORTH_PACKING: usize = 24;

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
            _ => self.varied(values, false),
        }
    }

    /// `N` columns, the first of them dense.
    pub(super) fn table<const N: usize>(&mut self, rows: impl Iterator<Item = [u64; N]>) {
        let mut columns: [Vec<u64>; N] = std::array::from_fn(|_| Vec::new());
        for row in rows {
            for (column, value) in columns.iter_mut().zip(row) {
                column.push(value);
            }
        }
        for (index, column) in columns.iter().enumerate() {
            match index {
                0 => self.dense(column),
                _ => self.column(column),
            }
        }
    }

    /// A column of at least one bit a row.
    pub(super) fn dense(&mut self, values: &[u64]) {
        self.varied(values, true);
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

    fn varied(&mut self, values: &[u64], dense: bool) {
        let mut planes = std::mem::take(&mut self.planes);
        planes.clear();
        push_planes(&mut planes, values);
        let (low_bits, rice_bits) = best_rice(values, &mut self.sorted);
        let rice_bytes = rice_bits.div_ceil(8) as usize;
        let packed = self.pack(&planes)
            && self.packed.len() < rice_bytes
            && (!dense || 8 * self.packed.len() >= values.len());
        let shortest = match packed {
            true => self.packed.len(),
            false => rice_bytes.min(planes.len()),
        };
        if let Some(code) = worth_coding(values, shortest) {
            let [_, bytes] = code.bytes();
            self.out.push(CODED);
            code.push_lengths(&mut self.out);
            push_leb(&mut self.out, bytes as u64);
            code.push(&mut self.out, values);
        } else if packed {
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
}

/// The code of these values, where it makes them shorter by what its tables cost a reader.
fn worth_coding(values: &[u64], otherwise: usize) -> Option<Code> {
    if otherwise < WORTH_PACKING {
        return None;
    }
    let code = Code::of(values);
    let bytes: usize = code.bytes().iter().sum();
    (bytes + bytes / 64 < otherwise).then_some(code)
}

/// What decoding keeps between frames: the zstd context and its buffers.
pub(super) struct Scratch {
    zstd: Decompressor<'static>,
    raw: Vec<u8>,
    open: Vec<u32>,
    codes: Table,
    /// Of the samples.
    pub(super) samples: Columns,
    sights: Vec<Sight>,
}

impl Scratch {
    pub(super) fn new() -> Scratch {
        Scratch {
            zstd: Decompressor::new().expect("zstd refuses a context only when memory is out"),
            raw: Vec::new(),
            open: Vec::new(),
            codes: Table::default(),
            samples: Columns::default(),
            sights: Vec::new(),
        }
    }

    /// Room for what samples show, to be given back.
    pub(super) fn sights(&mut self) -> Vec<Sight> {
        std::mem::take(&mut self.sights)
    }

    pub(super) fn give_back(&mut self, sights: Vec<Sight>) {
        self.sights = sights;
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
        if self.rest.first() == Some(&CONSTANT) {
            return Err(Corrupt("a dense column is constant"));
        }
        let before = self.rest.len();
        self.column(rows, out)?;
        match rows > 8 * (before - self.rest.len()) {
            true => Err(Corrupt("a dense column takes less than a bit a row")),
            false => Ok(()),
        }
    }

    /// Goes past a column.
    pub(super) fn skip(&mut self) -> Result<(), Corrupt> {
        match self.byte()? {
            CONSTANT => return self.number().map(|_| ()),
            RICE => {
                self.byte()?;
            }
            PLANES => {}
            PACKED => {
                self.length()?;
            }
            CODED => {
                self.lengths_of_codes()?;
            }
            _ => return Err(Corrupt("an unknown way of storing a column")),
        }
        let length = self.length()?;
        self.bytes(length).map(|_| ())
    }

    fn lengths_of_codes(&mut self) -> Result<(usize, &'a [u8]), Corrupt> {
        let classes = usize::from(self.byte()?);
        Ok((classes, self.bytes(classes.div_ceil(2))?))
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
            CODED => {
                let (classes, lengths) = self.lengths_of_codes()?;
                let length = self.length()?;
                let bytes = self.bytes(length)?;
                if rows > 8 * length {
                    return Err(Corrupt("a column of bits cannot hold its rows"));
                }
                self.scratch.codes.fill(classes, lengths)?;
                self.scratch.codes.take(bytes, rows, out)
            }
            _ => Err(Corrupt("an unknown way of storing a column")),
        }
    }

    /// `N` columns, the first of them dense, row by row.
    pub(super) fn table<const N: usize>(
        &mut self,
        rows: usize,
    ) -> Result<impl Iterator<Item = [u64; N]> + use<N>, Corrupt> {
        let mut columns: [Vec<u64>; N] = std::array::from_fn(|_| Vec::new());
        for (index, column) in columns.iter_mut().enumerate() {
            match index {
                0 => self.dense(rows, column)?,
                _ => self.column(rows, column)?,
            }
        }
        Ok((0..rows).map(move |row| std::array::from_fn(|column| columns[column][row])))
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
}
