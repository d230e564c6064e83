//! A column's numbers by their sizes: Huffman codes of classes, and the bits below plain.
//!
//! A class holds the numbers of one width with the same bit below their highest one, so that any
//! smooth distribution, whatever its shape, comes close to its entropy. Before the bits stand the
//! number of classes and the length of each one's code, two a byte; codes are canonical.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::coding::{BitReader, BitWriter, Corrupt};

/// The numbers below are classes of their own.
const PLAIN: u64 = 4;

/// Classes of all numbers that 64 bits hold.
const CLASSES: usize = 128;

/// Bits of the longest code: what a table of all codes can have.
const LONGEST: u8 = 11;

const fn class_of(value: u64) -> usize {
    if value < PLAIN {
        return value as usize;
    }
    let width = value.ilog2();
    PLAIN as usize + 2 * (width as usize - 2) + (value >> (width - 1) & 1) as usize
}

/// The least number of a class, and how many bits tell it from the others.
const fn range_of(class: usize) -> (u64, u32) {
    match class.checked_sub(PLAIN as usize) {
        None => (class as u64, 0),
        Some(above) => {
            let bits = above as u32 / 2 + 1;
            ((2 | above as u64 & 1) << bits, bits)
        }
    }
}

/// How a column's numbers are coded.
pub(super) struct Code {
    /// By class; 0 where no number is of it.
    lengths: Vec<u8>,
    /// Bits of all numbers.
    bits: u64,
}

impl Code {
    /// The best one for these values, of which there is one at least.
    pub(super) fn of(values: &[u64]) -> Code {
        let mut counts = [0_u32; CLASSES];
        for &value in values {
            counts[class_of(value)] += 1;
        }
        let classes = counts.iter().rposition(|&count| count > 0).unwrap_or(0) + 1;
        let lengths = lengths(&counts[..classes]);
        let bits = counts.iter().zip(&lengths).enumerate();
        let bits = bits.map(|(class, (&count, &length))| {
            u64::from(count) * u64::from(u32::from(length) + range_of(class).1)
        });
        Code {
            bits: bits.sum(),
            lengths,
        }
    }

    /// Bytes before the bits but for their count, and bytes of bits.
    pub(super) fn bytes(&self) -> [usize; 2] {
        let before = 1 + self.lengths.len().div_ceil(2);
        [before, self.bits.div_ceil(8) as usize]
    }

    pub(super) fn push_lengths(&self, out: &mut Vec<u8>) {
        out.push(self.lengths.len() as u8);
        let pairs = self.lengths.chunks(2);
        out.extend(pairs.map(|pair| pair[0] | pair.get(1).copied().unwrap_or(0) << 4));
    }

    pub(super) fn push(&self, out: &mut Vec<u8>, values: &[u64]) {
        let codes = codes(&self.lengths);
        let mut bits = BitWriter::new(out);
        for &value in values {
            let class = class_of(value);
            bits.push(u64::from(codes[class]), self.lengths[class].into());
            let (least, width) = range_of(class);
            let below = value - least;
            bits.push(below & 0xffff_ffff, width.min(32));
            bits.push(below >> 32, width.saturating_sub(32));
        }
        bits.finish();
    }
}

/// The lengths of Huffman's codes, none longer than [`LONGEST`].
fn lengths(counts: &[u32]) -> Vec<u8> {
    let mut counts = counts.to_vec();
    loop {
        let lengths = unbounded(&counts);
        if lengths.iter().all(|&length| length <= LONGEST) {
            return lengths;
        }
        // Rare classes become less rare, and their codes shorter.
        counts
            .iter_mut()
            .for_each(|count| *count = count.div_ceil(2));
    }
}

fn unbounded(counts: &[u32]) -> Vec<u8> {
    let mut lengths = vec![0; counts.len()];
    let seen = counts.iter().zip(0..).filter(|&(&count, _)| count > 0);
    // A tree is the classes below it.
    let mut trees: BinaryHeap<Reverse<(u64, Vec<u8>)>> = seen
        .map(|(&count, class)| Reverse((u64::from(count), vec![class])))
        .collect();
    if let (1, Some(Reverse((_, only)))) = (trees.len(), trees.peek()) {
        lengths[usize::from(only[0])] = 1;
    }
    while trees.len() > 1
        && let Some(Reverse((one, mut below))) = trees.pop()
        && let Some(Reverse((other, more))) = trees.pop()
    {
        below.extend(more);
        below
            .iter()
            .for_each(|&class| lengths[usize::from(class)] += 1);
        trees.push(Reverse((one + other, below)));
    }
    lengths
}

/// Canonical codes: shorter ones first, of one length by class; the first bit is the lowest.
fn codes(lengths: &[u8]) -> Vec<u16> {
    let mut codes = vec![0; lengths.len()];
    let mut next = 0_u32;
    for length in 1..=LONGEST {
        next <<= 1;
        for (code, _) in codes
            .iter_mut()
            .zip(lengths)
            .filter(|(_, own)| **own == length)
        {
            *code = (next as u16).reverse_bits() >> (16 - length);
            next += 1;
        }
    }
    codes
}

/// Reads codes.
#[derive(Debug, Default)]
pub(super) struct Table {
    /// By the next bits: the code that they begin with.
    entries: Vec<Entry>,
}

/// A code, and its class as a reader wants it.
#[derive(Clone, Copy, Debug, Default)]
struct Entry {
    /// 0 is none.
    length: u8,
    /// How many bits tell the number from others of its class.
    width: u8,
    /// What stands above those.
    top: u8,
}

impl Entry {
    fn new(class: usize, length: u8) -> Entry {
        let (least, width) = range_of(class);
        Entry {
            length,
            width: width as u8,
            top: (least >> width) as u8,
        }
    }

    /// How many bits a number has, its code among them. More than are left if there is no code:
    /// what is beyond those is not known.
    fn bits(self) -> u32 {
        match self.length {
            0 => u32::MAX,
            length => u32::from(length) + u32::from(self.width),
        }
    }
}

/// As many bits as [`BitReader::peek`] gives wherever it stands.
const PEEKED: u32 = 57;

impl Table {
    /// Takes the lengths of codes, two a byte.
    pub(super) fn fill(&mut self, classes: usize, packed: &[u8]) -> Result<(), Corrupt> {
        const WRONG: Corrupt = Corrupt("a column's codes are none");
        let nibbles = packed.iter().flat_map(|pair| [pair & 15, pair >> 4]);
        let lengths: Vec<u8> = nibbles.take(classes).collect();
        let longest = lengths.iter().copied().max().unwrap_or(0);
        let size = 1_usize << longest;
        let taken = lengths.iter().filter(|&&length| length > 0);
        let taken: usize = taken.map(|&length| size >> length).sum();
        if classes > CLASSES || longest > LONGEST || taken > size {
            return Err(WRONG);
        }
        self.entries.clear();
        self.entries.resize(size, Entry::default());
        let codes = codes(&lengths);
        for (class, (&length, &code)) in lengths.iter().zip(&codes).enumerate() {
            let own = self.entries.iter_mut().skip(code.into());
            let own = own.step_by(1 << length).filter(|_| length > 0);
            let read = Entry::new(class, length);
            own.for_each(|entry| *entry = read);
        }
        Ok(())
    }

    /// Appends so many numbers, which are all that the bytes hold.
    pub(super) fn take(
        &self,
        bytes: &[u8],
        rows: usize,
        out: &mut Vec<u64>,
    ) -> Result<(), Corrupt> {
        let mut bits = BitReader::new(bytes);
        let mask = self.entries.len() as u64 - 1;
        let start = out.len();
        out.resize(start + rows, 0);
        // Bits at hand: to ask for them once in several numbers is what makes this fast.
        let (mut ahead, mut left) = (0, 0);
        for number in &mut out[start..] {
            let mut entry = self.entries[(ahead & mask) as usize];
            if entry.bits() > left {
                (ahead, left) = (bits.peek(), PEEKED);
                entry = self.entries[(ahead & mask) as usize];
            }
            let Entry { length, width, top } = entry;
            if length == 0 {
                return Err(Corrupt("a column holds too few bits for its rows"));
            }
            let (length, width) = (u32::from(length), u32::from(width));
            bits.skip(length + width);
            let below = if length + width <= PEEKED {
                let below = ahead >> length & ((1 << width) - 1);
                ahead >>= length + width;
                left -= length + width;
                below
            } else {
                left = 0;
                bits.before(width)
            };
            *number = u64::from(top) << width | below;
        }
        bits.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn there_and_back(values: &[u64]) -> usize {
        let code = Code::of(values);
        let (mut lengths, mut bits) = (Vec::new(), Vec::new());
        code.push_lengths(&mut lengths);
        code.push(&mut bits, values);
        assert_eq!(code.bytes(), [lengths.len(), bits.len()]);
        let (mut table, mut back) = (Table::default(), Vec::new());
        table.fill(lengths[0].into(), &lengths[1..]).unwrap();
        table.take(&bits, values.len(), &mut back).unwrap();
        assert_eq!(back, values);
        bits.len()
    }

    #[test]
    fn every_number_is_in_its_class() {
        let powers = (0..64).map(|bit| 1_u64 << bit);
        for value in powers.flat_map(|power| [power - 1, power, power + power / 2]) {
            let (least, bits) = range_of(class_of(value));
            assert!(value >= least && (value - least) >> bits == 0, "{value}");
        }
        assert_eq!(class_of(u64::MAX), CLASSES - 1);
    }

    #[test]
    fn numbers_come_back_and_take_what_they_tell() {
        there_and_back(&[7]);
        there_and_back(&[0, u64::MAX, 1 << 63, 5, 5, 5]);
        // So uneven that codes would be longer than they may be.
        let uneven: Vec<u64> = (0..20).flat_map(|bit| vec![1 << bit; 1 << bit]).collect();
        there_and_back(&uneven);
        let even: Vec<u64> = (0..8192).map(|at| at * 7919 % 1024).collect();
        assert!(there_and_back(&even) < 8192 * 10 / 8 * 101 / 100);
    }

    #[test]
    fn damaged_codes_are_refused() {
        let mut table = Table::default();
        assert!(table.fill(3, &[0x11, 0x01]).is_err());
        assert!(table.fill(2, &[0xff]).is_err());
        table.fill(0, &[]).unwrap();
        assert!(table.take(&[0; 9], 1, &mut Vec::new()).is_err());
        table.fill(2, &[0x11]).unwrap();
        assert!(table.take(&[0], 9, &mut Vec::new()).is_err());
        assert!(table.take(&[0, 0], 8, &mut Vec::new()).is_err());
    }
}
