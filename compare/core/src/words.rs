//! Differing words.

/// Bytes of a word.
pub const WORD: usize = 8;

/// A word that the two executions left with different values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Difference {
    /// Where it is; a multiple of 8.
    pub address: u64,
    /// Its value before the region.
    pub before: u64,
    /// Its value after the execution with one thread.
    pub reference: u64,
    /// Its value after the execution with several threads.
    pub result: u64,
}

/// How two executions differ in a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    /// Both changed it, to different values.
    Different,
    /// One thread changed it, several threads did not.
    Unwritten,
    /// Several threads changed it, one thread did not.
    Extra,
    /// The variable holds the same values, in another order.
    Order,
}

impl Class {
    /// All of them.
    pub const ALL: [Class; 4] = [
        Class::Different,
        Class::Unwritten,
        Class::Extra,
        Class::Order,
    ];

    /// Its words.
    pub const fn words(self) -> &'static str {
        match self {
            Class::Different => "different",
            Class::Unwritten => "written by nobody",
            Class::Extra => "written only with N threads",
            Class::Order => "in another order",
        }
    }
}

impl Difference {
    /// How the executions differ here.
    pub fn class(&self) -> Class {
        if self.before == self.reference {
            Class::Extra
        } else if self.before == self.result {
            Class::Unwritten
        } else {
            Class::Different
        }
    }

    /// Whether the word holds the size of the team: 1 and `threads`, in 8 bytes or in 4 of them.
    pub fn is_team_size(&self, threads: u64) -> bool {
        let halves = |word: u64| [word & 0xffff_ffff, word >> 32];
        let [low, high] = halves(self.reference);
        let [result_low, result_high] = halves(self.result);
        let is_it = |reference: u64, result: u64| reference == 1 && result == threads;
        is_it(self.reference, self.result)
            || is_it(low, result_low) && (high == result_high || is_it(high, result_high))
            || is_it(high, result_high) && low == result_low
    }

    /// The bytes that differ, as halves of the word: the first byte, and how many.
    pub fn bytes(&self) -> (u64, u64) {
        let differing = self.reference ^ self.result;
        match (differing & 0xffff_ffff != 0, differing >> 32 != 0) {
            (true, false) => (self.address, 4),
            (false, true) => (self.address + 4, 4),
            _ => (self.address, 8),
        }
    }
}

/// Whether the differences of a variable are the same values in another order, as a list has them that threads fill
/// one after the other: of 8 bytes, or of 4.
pub fn are_reordered(differences: &[Difference]) -> bool {
    let is_same = |mut one: Vec<u64>, mut other: Vec<u64>| {
        one.sort_unstable();
        other.sort_unstable();
        one == other
    };
    let halves = |word: u64| [word & 0xffff_ffff, word >> 32];
    let of = |value: fn(&Difference) -> u64| differences.iter().map(value);
    let (reference, result) = (of(|it| it.reference), of(|it| it.result));
    differences.len() > 1
        && (is_same(reference.clone().collect(), result.clone().collect())
            || is_same(
                reference.flat_map(halves).collect(),
                result.flat_map(halves).collect(),
            ))
}

/// Calls `found` with the address and both values of each word in which two pieces of memory differ, which begin
/// at `address`. A last word of fewer than 8 bytes is filled with zeros.
pub fn differing(
    address: u64,
    reference: &[u8],
    result: &[u8],
    mut found: impl FnMut(u64, u64, u64),
) {
    // Most pages are equal, and comparing bytes is fastest.
    if reference == result {
        return;
    }
    let words = reference.chunks(WORD).zip(result.chunks(WORD));
    let mut at = address;
    for (one, other) in words {
        if one != other {
            found(at, word(one), word(other));
        }
        at += WORD as u64;
    }
}

/// Up to 8 bytes as a word.
pub fn word(bytes: &[u8]) -> u64 {
    let mut word = [0; WORD];
    for (to, from) in word.iter_mut().zip(bytes) {
        *to = *from;
    }
    u64::from_le_bytes(word)
}

/// Joins addresses with lengths, in ascending order, to ranges without gaps.
pub fn ranges(pieces: impl IntoIterator<Item = (u64, u64)>) -> Vec<(u64, u64)> {
    let mut all: Vec<(u64, u64)> = Vec::new();
    for (begin, bytes) in pieces {
        match all.last_mut() {
            Some((start, length)) if *start + *length == begin => *length += bytes,
            _ => all.push((begin, bytes)),
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn difference(before: u64, reference: u64, result: u64) -> Difference {
        Difference {
            address: 0,
            before,
            reference,
            result,
        }
    }

    #[test]
    fn a_word_is_of_the_class_that_its_writers_tell() {
        assert_eq!(difference(0, 1, 2).class(), Class::Different);
        assert_eq!(difference(0, 1, 0).class(), Class::Unwritten);
        assert_eq!(difference(0, 0, 1).class(), Class::Extra);
    }

    #[test]
    fn the_size_of_a_team_is_told_in_words_and_halves() {
        let two = |low: u64, high: u64| low | high << 32;
        for (reference, result, is_size) in [
            (1, 4, true),
            (1, 3, false),
            (two(7, 1), two(7, 4), true),
            (two(1, 7), two(4, 7), true),
            (two(1, 7), two(4, 8), false),
            (two(1, 1), two(4, 4), true),
        ] {
            let found = difference(0, reference, result).is_team_size(4);
            assert_eq!(found, is_size, "{reference:#x} {result:#x}");
        }
    }

    #[test]
    fn words_that_differ_are_found_with_their_addresses() {
        let reference: Vec<u8> = (0..20).collect();
        let mut result = reference.clone();
        result[9] = 99;
        result[19] = 98;
        let mut found = Vec::new();
        differing(0x1000, &reference, &result, |at, one, other| {
            found.push((at, one ^ other))
        });
        assert_eq!(found, [(0x1008, (9 ^ 99) << 8), (0x1010, (19 ^ 98) << 24)]);
    }

    #[test]
    fn the_same_values_in_another_order_are_known() {
        let of = |pairs: &[(u64, u64)]| {
            let all = pairs.iter().map(|(one, other)| difference(0, *one, *other));
            are_reordered(&all.collect::<Vec<_>>())
        };
        assert!(of(&[(1, 2), (2, 3), (3, 1)]));
        assert!(of(&[(1, 2 << 32), (2 << 32, 1)]));
        assert!(!of(&[(1, 2), (2, 2)]));
        assert!(!of(&[]));
    }

    #[test]
    fn elements_of_four_bytes_stand_apart() {
        let bytes = |reference, result| {
            Difference {
                address: 16,
                ..difference(0, reference, result)
            }
            .bytes()
        };
        assert_eq!(bytes(1, 2), (16, 4));
        assert_eq!(bytes(1 << 40, 2 << 40), (20, 4));
        assert_eq!(bytes(0, u64::MAX), (16, 8));
        assert_eq!(ranges([(0, 8), (8, 4), (16, 8)]), [(0, 12), (16, 8)]);
    }
}
