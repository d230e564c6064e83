//! The payload of a frame: numbers, columns of numbers and strings, compressed together by zstd.
//!
//! A column begins with the width of its widest number in bytes. Then follow the lowest bytes of
//! all numbers, the second bytes of all, and so on: bytes of one meaning lie side by side, which
//! zstd compresses best. Compressing each column by itself takes a tenth more space. So does pco,
//! which also takes twice the time to read (`docs/benchmarks.md`).

use std::io;

use untrusted::printable;
use zstd::bulk::{Compressor, Decompressor};

/// The most rows in one frame, except that of the symbols.
pub(crate) const MAX_ROWS: usize = 1 << 18;

/// The most bytes in one frame, unpacked.
pub(crate) const MAX_BYTES: usize = 1 << 28;

/// The most bytes that a byte of a file unpacks to, so that a short file cannot fill a reader's
/// memory. A frame that compresses better is padded with zeros.
const DENSEST: usize = 8;

/// The default level of zstd.
const LEVEL: i32 = 3;

/// What is wrong with a frame's contents, as a clause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Corrupt(pub(crate) &'static str);

/// Maps differences of either sign to unsigned numbers, small to small.
pub(crate) const fn zigzag(signed: i64) -> u64 {
    ((signed << 1) ^ (signed >> 63)) as u64
}

/// The inverse of [`zigzag`].
pub(crate) const fn unzigzag(coded: u64) -> i64 {
    (coded >> 1) as i64 ^ -((coded & 1) as i64)
}

/// Appends a number as LEB128.
pub(crate) fn push_number(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Writes the payload of a frame.
pub(crate) struct Encoder {
    plain: Vec<u8>,
    zstd: Compressor<'static>,
}

impl Encoder {
    pub(crate) fn new() -> io::Result<Encoder> {
        Ok(Encoder {
            plain: Vec::new(),
            zstd: Compressor::new(LEVEL)?,
        })
    }

    /// The payload written so far, compressed. The encoder is empty afterwards.
    pub(crate) fn take(&mut self) -> Vec<u8> {
        let plain = std::mem::take(&mut self.plain);
        let length = plain.len();
        // Equal lengths mean that the payload is not compressed.
        let packed = match self.zstd.compress(&plain) {
            Ok(packed) if packed.len() < length => packed,
            _ => plain,
        };
        let mut payload = Vec::new();
        push_number(&mut payload, length as u64);
        push_number(&mut payload, packed.len() as u64);
        payload.extend(packed);
        payload.resize(payload.len().max(length.div_ceil(DENSEST)), 0);
        payload
    }

    /// Bytes written so far.
    pub(crate) fn length(&self) -> usize {
        self.plain.len()
    }

    /// One number.
    pub(crate) fn number(&mut self, value: u64) {
        push_number(&mut self.plain, value);
    }

    /// A column, of one byte a row at least.
    pub(crate) fn column(&mut self, values: &[u64]) {
        let all = values.iter().fold(1, |all, value| all | value);
        let width = (u64::BITS - all.leading_zeros()).div_ceil(8);
        self.plain.push(width as u8);
        for plane in 0..width {
            let bytes = values.iter().map(|value| (value >> (8 * plane)) as u8);
            self.plain.extend(bytes);
        }
    }

    /// `N` columns.
    pub(crate) fn table<const N: usize>(&mut self, rows: impl Iterator<Item = [u64; N]>) {
        let mut columns: [Vec<u64>; N] = std::array::from_fn(|_| Vec::new());
        for row in rows {
            for (column, value) in columns.iter_mut().zip(row) {
                column.push(value);
            }
        }
        columns.iter().for_each(|column| self.column(column));
    }

    /// Strings: their lengths, then their bytes.
    pub(crate) fn strings<'a>(&mut self, strings: impl Iterator<Item = &'a str> + Clone) {
        let lengths: Vec<u64> = strings.clone().map(|text| text.len() as u64).collect();
        self.column(&lengths);
        strings.for_each(|text| self.text(text.as_bytes()));
    }

    /// Bytes of known length.
    pub(crate) fn text(&mut self, bytes: &[u8]) {
        self.plain.extend_from_slice(bytes);
    }
}

/// Buffers that are reused from frame to frame while unpacking.
pub(crate) struct Scratch {
    zstd: Decompressor<'static>,
    plain: Vec<u8>,
}

impl Scratch {
    pub(crate) fn new() -> Scratch {
        Scratch {
            zstd: Decompressor::new().expect("zstd refuses a context only when memory is out"),
            plain: Vec::new(),
        }
    }

    /// Unpacks what [`Encoder::take`] packed.
    pub(crate) fn unpack(&mut self, payload: &[u8]) -> Result<Decoder<'_>, Corrupt> {
        let mut outer = Decoder { rest: payload };
        let length = outer.length()?;
        if length > MAX_BYTES || length > DENSEST * payload.len() {
            return Err(Corrupt("more bytes than the frame can hold"));
        }
        let packed = outer.length()?;
        let packed = outer.text(packed)?;
        self.plain.clear();
        if packed.len() == length {
            self.plain.extend_from_slice(packed);
        } else {
            self.plain.reserve(length);
            let unpacked = self.zstd.decompress_to_buffer(packed, &mut self.plain);
            if unpacked.ok() != Some(length) {
                return Err(Corrupt("a frame does not unpack to its length"));
            }
        }
        Ok(Decoder { rest: &self.plain })
    }
}

/// Reads the payload of a frame, never beyond its end.
pub(crate) struct Decoder<'a> {
    rest: &'a [u8],
}

impl<'a> Decoder<'a> {
    /// A decoder of bytes that are not packed.
    pub(crate) const fn of(plain: &'a [u8]) -> Decoder<'a> {
        Decoder { rest: plain }
    }

    /// What is not read yet.
    pub(crate) const fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// Checks that nothing is left over.
    pub(crate) fn finish(&self) -> Result<(), Corrupt> {
        match self.rest {
            [] => Ok(()),
            _ => Err(Corrupt("bytes after the last column")),
        }
    }

    /// One number.
    pub(crate) fn number(&mut self) -> Result<u64, Corrupt> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.text(1)?[0];
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

    fn length(&mut self) -> Result<usize, Corrupt> {
        usize::try_from(self.number()?).map_err(|_| Corrupt("a length beyond memory"))
    }

    /// A count of rows, checked against the bytes that are left.
    pub(crate) fn rows(&mut self) -> Result<usize, Corrupt> {
        let rows = self.length()?;
        if rows <= self.rest.len() {
            Ok(rows)
        } else {
            Err(Corrupt("more rows than the frame can hold"))
        }
    }

    /// A column written by [`Encoder::column`].
    pub(crate) fn column(&mut self, rows: usize) -> Result<Vec<u64>, Corrupt> {
        let width = usize::from(self.text(1)?[0]);
        if !(1..=8).contains(&width) {
            return Err(Corrupt("a column's numbers have 1 to 8 bytes"));
        }
        let lowest = self.text(rows)?;
        let mut values: Vec<u64> = lowest.iter().copied().map(u64::from).collect();
        for plane in 1..width {
            for (value, &byte) in values.iter_mut().zip(self.text(rows)?) {
                *value |= u64::from(byte) << (8 * plane);
            }
        }
        Ok(values)
    }

    /// `N` columns, row by row.
    pub(crate) fn table<const N: usize>(
        &mut self,
        rows: usize,
    ) -> Result<impl Iterator<Item = [u64; N]> + use<N>, Corrupt> {
        let mut columns: [Vec<u64>; N] = std::array::from_fn(|_| Vec::new());
        for column in &mut columns {
            *column = self.column(rows)?;
        }
        Ok((0..rows).map(move |row| std::array::from_fn(|column| columns[column][row])))
    }

    /// Strings written by [`Encoder::strings`], as text that a terminal does not obey.
    pub(crate) fn strings(&mut self, rows: usize) -> Result<Vec<String>, Corrupt> {
        let lengths = self.column(rows)?;
        let string = |&length: &u64| {
            let length = usize::try_from(length).unwrap_or(usize::MAX);
            let text = str::from_utf8(self.text(length)?);
            text.map(|text| printable(text).into_owned())
                .map_err(|_| Corrupt("a string is not UTF-8"))
        };
        lengths.iter().map(string).collect()
    }

    /// Bytes written by [`Encoder::text`].
    pub(crate) fn text(&mut self, length: usize) -> Result<&'a [u8], Corrupt> {
        let (taken, rest) = self
            .rest
            .split_at_checked(length)
            .ok_or(Corrupt("a column is longer than its frame"))?;
        self.rest = rest;
        Ok(taken)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round_trip(values: &[u64]) -> usize {
        let mut encoder = Encoder::new().unwrap();
        encoder.column(values);
        let payload = encoder.take();
        let mut scratch = Scratch::new();
        let mut decoder = scratch.unpack(&payload).unwrap();
        assert_eq!(decoder.column(values.len()).unwrap(), values);
        decoder.finish().unwrap();
        payload.len()
    }

    #[test]
    fn columns_come_back_whatever_their_shape() {
        round_trip(&[]);
        round_trip(&[0]);
        round_trip(&[u64::MAX]);
        round_trip(&[u64::MAX, 0, 1 << 63, u64::from(u32::MAX), 127, 128]);
        round_trip(&(0..3000).map(|i| 1 << (i % 64)).collect::<Vec<_>>());
        round_trip(&(0..3000).map(|i| i * i * 77).collect::<Vec<_>>());
    }

    #[test]
    fn repeated_values_shrink_to_the_densest_allowed_and_noise_keeps_its_size() {
        assert_eq!(round_trip(&[5; 64_000]), 64_000 / DENSEST + 1);
        let mut random = fastrand::Rng::with_seed(1);
        let noise: Vec<u64> = (0..10_000).map(|_| random.u64(..256)).collect();
        assert!(round_trip(&noise) < 10_000 + 100);
    }

    #[test]
    fn a_frame_that_claims_too_much_is_refused_before_memory_is_taken() {
        let mut scratch = Scratch::new();
        let mut refused = |length: u64, packed: &[u8]| {
            let mut payload = Vec::new();
            push_number(&mut payload, length);
            push_number(&mut payload, packed.len() as u64);
            payload.extend_from_slice(packed);
            let refused = scratch.unpack(&payload).err();
            refused.map(|Corrupt(what)| what)
        };
        let zeros = zstd::bulk::compress(&[0; 1 << 20], LEVEL).unwrap();
        let too_dense = Some("more bytes than the frame can hold");
        assert_eq!(refused(1 << 20, &zeros), too_dense);
        assert_eq!(refused(u64::MAX, &zeros), too_dense);
        // A plausible length, and more bytes than that behind it.
        let other = Some("a frame does not unpack to its length");
        assert_eq!(refused(300, &zeros), other);
        let mut rows = Decoder::of(&[9, 1, 2, 3]);
        assert_eq!(
            rows.rows(),
            Err(Corrupt("more rows than the frame can hold"))
        );
    }

    #[test]
    fn zigzag_is_its_own_way_back() {
        for signed in [0, 1, -1, 63, -64, i64::MAX, i64::MIN] {
            assert_eq!(unzigzag(zigzag(signed)), signed);
        }
        assert_eq!([zigzag(0), zigzag(-1), zigzag(1)], [0, 1, 2]);
    }
}
