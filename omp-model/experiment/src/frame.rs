//! The outer layer of the record file: a mark with the format's version, then checksummed frames.
//!
//! All numbers are little-endian, whatever the machine.
//!
//! | file | bytes | | frame | bytes |
//! |---|---|---|---|---|
//! | `PARALLAX` | 8 | | kind | 1 |
//! | version | 4 | | flags | 1 |
//! | CRC-32 of these 12 | 4 | | payload's length | 4 |
//! | | | | CRC-32 of these 6 and the payload | 4 |
//! | | | | payload | |

use std::ops::Range;

use crate::numbered::numbered;

/// The first bytes of a record file.
const MAGIC: &[u8; 8] = b"PARALLAX";

/// Length of the file's mark.
pub(crate) const FILE_MARK: usize = 16;

/// Length of a frame before its payload.
pub(crate) const FRAME_MARK: usize = 10;

/// Flag of frames that a reader may skip if it does not know their kind. No kind of this version
/// has it.
const SKIPPABLE: u8 = 1;

numbered! {
    /// The kinds of frame of this version.
    pub(crate) enum Kind {
        /// The header as JSON; the last one counts.
        Header = 1,
        Modules = 2,
        Frames = 3,
        Stacks = 4,
        Contexts = 5,
        ThreadStates = 6,
        Processes = 7,
        Threads = 8,
        Samples = 9,
        Sums = 10,
        Blames = 11,
        Intervals = 12,
        RegionSums = 13,
        RegionWorks = 14,
        RegionSpans = 15,
        TaskSums = 16,
        TaskSpans = 17,
        /// A whole symbol table; the last one counts.
        Symbols = 18,
        /// The recording was finished.
        End = 19,
        LoopSums = 20,
        Loops = 21,
        CpuUses = 22,
        Locks = 23,
        LockSums = 24,
        LockWaits = 25,
        Names = 26,
        Phases = 27,
        Spans = 28,
        PhaseSums = 29,
        SamplePoints = 30,
        /// Samples of a counter, behind its number among those of the header.
        CounterSamples = 31,
        /// What `collect -r` found, as JSON; the last one counts.
        Findings = 32,
        MpiCalls = 33,
        MpiMessages = 34,
        Objects = 35,
    }
}

/// The mark at the start of a record file.
pub(crate) fn file_mark(version: u32) -> [u8; FILE_MARK] {
    let mut mark = [0; FILE_MARK];
    mark[..8].copy_from_slice(MAGIC);
    mark[8..12].copy_from_slice(&version.to_le_bytes());
    let sum = crc32fast::hash(&mark[..12]);
    mark[12..].copy_from_slice(&sum.to_le_bytes());
    mark
}

/// The version of a record file; `None` if the bytes are not the beginning of one.
pub(crate) fn file_version(bytes: &[u8]) -> Option<u32> {
    let mark: &[u8; FILE_MARK] = bytes.first_chunk()?;
    let version = u32_at(mark, 8)?;
    (*mark == file_mark(version)).then_some(version)
}

/// Appends a frame.
pub(crate) fn push_frame(out: &mut Vec<u8>, kind: Kind, payload: &[u8]) {
    let start = out.len();
    out.extend_from_slice(&[kind as u8, 0]);
    out.extend_from_slice(&(payload.len() as u32).to_le_bytes());
    let mut sum = crc32fast::Hasher::new();
    sum.update(&out[start..]);
    sum.update(payload);
    out.extend_from_slice(&sum.finalize().to_le_bytes());
    out.extend_from_slice(payload);
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

/// What stands at an offset of a record file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// A frame of a known kind, and where in the file its payload lies.
    Frame(Kind, Range<u64>),
    /// A frame of a newer version that may be skipped, and where the next one begins.
    Skippable(u8, u64),
    /// A frame of a newer version that may not be skipped.
    Unknown(u8),
    /// The file ends inside this frame.
    Cut,
    /// The checksum does not fit.
    Damaged,
}

/// The length of the frame that begins with these bytes, its mark included; `None` if they are too
/// few to tell.
pub(crate) fn length_at(bytes: &[u8]) -> Option<u64> {
    Some(FRAME_MARK as u64 + u64::from(u32_at(bytes, 2)?))
}

/// The frame that begins with these bytes, which stand at `offset` of a file.
pub(crate) fn frame_at(frame: &[u8], offset: u64) -> Found {
    let (Some(&kind), Some(&flags), Some(length), Some(sum)) = (
        frame.first(),
        frame.get(1),
        u32_at(frame, 2),
        u32_at(frame, 6),
    ) else {
        return Found::Cut;
    };
    let Some(payload) = frame[FRAME_MARK..].get(..length as usize) else {
        return Found::Cut;
    };
    let mut got = crc32fast::Hasher::new();
    got.update(&frame[..6]);
    got.update(payload);
    if got.finalize() != sum {
        return Found::Damaged;
    }
    let start = offset + FRAME_MARK as u64;
    let end = start + payload.len() as u64;
    match Kind::from_u8(kind) {
        Some(kind) if flags & !SKIPPABLE == 0 => Found::Frame(kind, start..end),
        _ if flags & SKIPPABLE != 0 => Found::Skippable(kind, end),
        _ => Found::Unknown(kind),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_is_found_whole_cut_or_damaged() {
        let mut file = file_mark(7).to_vec();
        assert_eq!(file_version(&file), Some(7));
        assert_eq!(file_version(&file[..15]), None);
        push_frame(&mut file, Kind::ThreadStates, b"payload");
        let whole = Found::Frame(Kind::ThreadStates, 26..33);
        assert_eq!(frame_at(&file[16..], 16), whole);
        for end in 17..33 {
            assert_eq!(frame_at(&file[16..end], 16), Found::Cut);
        }
        file[30] ^= 1;
        assert_eq!(frame_at(&file[16..], 16), Found::Damaged);
        file[30] ^= 1;
        file[12] ^= 1;
        assert_eq!(file_version(&file), None);
    }

    #[test]
    fn frames_of_the_future_are_skipped_only_where_they_allow_it() {
        let mut file = Vec::new();
        for flags in [0, SKIPPABLE] {
            file.clear();
            push_frame(&mut file, Kind::End, b"x");
            (file[0], file[1]) = (200, flags);
            let mut sum = crc32fast::Hasher::new();
            sum.update(&file[..6]);
            sum.update(b"x");
            file[6..10].copy_from_slice(&sum.finalize().to_le_bytes());
            let expected = match flags {
                0 => Found::Unknown(200),
                _ => Found::Skippable(200, 11),
            };
            assert_eq!(frame_at(&file, 0), expected);
        }
    }
}
