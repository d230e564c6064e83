//! Recordings that were killed, cut or damaged.

use std::fs;

use experiment::header::Header;
use experiment::ids::FrameId;
use experiment::rows::Sample;
use experiment::{Experiment, HEADER, OpenError, RECORDS, Warning, Writer};
use fastrand::Rng;
use test_support::{Recording, TempExperiment};

use super::{inside_a_payload, replace, stored};

#[test]
fn a_kill_at_any_byte_leaves_a_smaller_recording() {
    let folder = TempExperiment::new("kill");
    let recording = Recording::small(2);
    recording.write(&folder.path, true);
    let records = folder.path.join(RECORDS);
    let whole = fs::read(&records).unwrap();
    let all = stored(&recording.samples);
    let mut seen_samples = 0;
    for end in 0..whole.len() {
        replace(&records, &whole[..end]);
        let read = match Experiment::open(&folder.path) {
            Ok(read) => read,
            Err(OpenError::Empty(_)) => {
                assert!(end < 16);
                continue;
            }
            Err(other) => panic!("{other}"),
        };
        assert!(end >= 16);
        assert!(!read.finished);
        // header.json stands in for a header frame that is cut.
        assert_eq!(read.header, recording.header);
        let samples: Vec<Sample> = read.samples.iter().collect();
        assert!(samples.len() >= seen_samples);
        seen_samples = samples.len();
        assert_eq!(samples, all[..seen_samples]);
        let unfinished = |warning: &Warning| matches!(warning, Warning::Unfinished { .. });
        assert!(read.warnings.iter().any(unfinished));
        for warning in &read.warnings {
            if let Warning::Cut { offset, bytes } = warning {
                assert_eq!(offset + bytes, end as u64);
            }
            assert!(!matches!(warning, Warning::Damaged { .. }), "{warning}");
        }
    }
    assert_eq!(seen_samples, all.len());
}

#[test]
fn a_full_disk_does_not_spoil_what_comes_after() {
    // /dev/full cannot stand in for a file that is written at an offset: a file whose end holds
    // garbage is what such a write leaves.
    let folder = TempExperiment::new("full");
    let recording = Recording::generate(9, 2);
    let mut writer = recording.begin(&folder.path);
    recording.append(&mut writer, 0);
    let records = folder.path.join(RECORDS);
    let mut bytes = fs::read(&records).unwrap();
    bytes.extend_from_slice(&[9, 0, 255, 255]);
    fs::write(&records, &bytes).unwrap();
    recording.append(&mut writer, 1);
    writer.finish(&recording.header).unwrap();
    let read = Experiment::open(&folder.path).unwrap();
    assert_eq!(read.warnings, []);
    assert_eq!(
        read.samples.iter().collect::<Vec<_>>(),
        stored(&recording.samples)
    );
}

/// Reads whatever the bytes make of a recording: anything but a panic is right, and what is read
/// points only to rows that are there.
fn survives(folder: &TempExperiment, bytes: &[u8]) {
    replace(&folder.path.join(RECORDS), bytes);
    let Ok(read) = Experiment::open(&folder.path) else {
        return;
    };
    for sample in &read.samples {
        assert!(sample.thread.index() < read.tables.threads.len());
        assert!(sample.thread_state.index() < read.tables.thread_states.len());
        assert!(read.tables.walk(sample.stack).count() <= read.tables.stacks.len());
    }
    for sum in read.sums.iter() {
        assert!(sum.thread_state.index() < read.tables.thread_states.len());
    }
    if let Some(symbols) = &read.symbols {
        for frame in 0..read.tables.frames.len() as u32 {
            let frame = FrameId(frame);
            assert!(
                symbols.frame(frame).function.is_none() || symbols.function_of(frame).is_some()
            );
        }
    }
}

/// Makes every checksum fit again, so that the damage reaches the decoders.
fn mend_checksums(bytes: &mut [u8]) {
    let mut at = 16;
    while let Some(mark) = bytes.get(at..at + 10) {
        let length = u32::from_le_bytes([mark[2], mark[3], mark[4], mark[5]]) as usize;
        let Some(payload) = bytes.get(at + 10..at + 10 + length) else {
            return;
        };
        let mut sum = crc32fast::Hasher::new();
        sum.update(&mark[..6]);
        sum.update(payload);
        let sum = sum.finalize().to_le_bytes();
        bytes[at + 6..at + 10].copy_from_slice(&sum);
        at += 10 + length;
    }
}

#[test]
fn samples_that_do_not_decode_are_counted_whatever_their_checksum() {
    const SAMPLES: u8 = 9;
    let folder = TempExperiment::new("undecodable");
    let recording = Recording::generate(3, 4);
    recording.write(&folder.path, true);
    let records = folder.path.join(RECORDS);
    let mut bytes = fs::read(&records).unwrap();
    let whole = Experiment::open(&folder.path).unwrap();
    assert_eq!(whole.warnings, []);
    // The second frame of samples, and the last.
    let (mut at, mut frames) = (16, Vec::new());
    while at < bytes.len() {
        let length = u32::from_le_bytes(*bytes[at + 2..].first_chunk().unwrap()) as usize;
        if bytes[at] == SAMPLES {
            frames.push(at + 10..at + 10 + length);
        }
        at += 10 + length;
    }
    let chosen = [1, frames.len() - 1];
    for frame in chosen {
        // What follows the number of samples and the time of the first is packed.
        let payload = frames[frame].clone();
        let half = payload.start + payload.len() / 2;
        bytes[half..payload.end].fill(0xff);
    }
    mend_checksums(&mut bytes);
    replace(&records, &bytes);
    let read = Experiment::open(&folder.path).unwrap();
    let lost: u64 = chosen
        .map(|at| u64::from(whole.samples.index()[at].rows))
        .iter()
        .sum();
    let expected = Warning::Undecodable {
        frames: 2,
        samples: lost,
    };
    assert_eq!(read.warnings, [expected]);
    assert!(read.finished && read.symbols.is_some());
    assert_eq!(
        read.samples.iter().count() as u64,
        whole.samples.len() - lost
    );
}

#[test]
fn no_damage_makes_the_reader_panic() {
    let folder = TempExperiment::new("fuzz");
    let recording = Recording::small(5);
    recording.write(&folder.path, true);
    let whole = fs::read(folder.path.join(RECORDS)).unwrap();
    let mut random = Rng::with_seed(0x5eed);
    for case in 0..6000 {
        let mut bytes = whole.clone();
        for _ in 0..=random.u8(..4) {
            let at = random.usize(..bytes.len());
            match random.u8(..5) {
                0 => bytes.truncate(at.max(1)),
                1 => bytes[at] = random.u8(..),
                2 => bytes[at] ^= 1 << random.u8(..8),
                3 => {
                    let from = random.usize(..whole.len());
                    let length = random.usize(..200).min(whole.len() - from);
                    bytes.splice(at..at, whole[from..from + length].iter().copied());
                }
                _ => {
                    let end = (at + random.usize(..60)).min(bytes.len());
                    bytes.drain(at..end);
                }
            }
            if bytes.is_empty() {
                bytes.push(0);
            }
        }
        if case % 3 > 0 {
            mend_checksums(&mut bytes);
        }
        survives(&folder, &bytes);
    }
}

#[test]
fn a_flipped_bit_loses_what_follows_it_and_is_reported() {
    let folder = TempExperiment::new("flip");
    let recording = Recording::generate(2, 3);
    recording.write(&folder.path, true);
    let records = folder.path.join(RECORDS);
    let mut bytes = fs::read(&records).unwrap();
    let at = inside_a_payload(&bytes);
    bytes[at] ^= 0x10;
    fs::write(&records, &bytes).unwrap();
    let read = Experiment::open(&folder.path).unwrap();
    let all = stored(&recording.samples);
    let samples: Vec<Sample> = read.samples.iter().collect();
    assert!(samples.len() >= 1000 && samples.len() < all.len());
    assert_eq!(samples, all[..samples.len()]);
    assert!(!read.finished && read.symbols.is_none());
    let Some(Warning::Damaged {
        offset,
        bytes: lost,
        what,
        ..
    }) = read.warnings.first()
    else {
        panic!("{:?}", read.warnings);
    };
    assert!(*offset as usize <= at && offset + lost == bytes.len() as u64);
    assert_eq!(*what, "its checksum does not fit");
}

#[test]
fn the_status_of_a_program_that_outlived_its_recording_is_in_one_of_two_files() {
    let folder = TempExperiment::new("outlived");
    let mut header = Header::default();
    let mut writer = Writer::create(&folder.path, &header).unwrap();
    header.stopped = Some("No space left on device".to_owned());
    writer.stop(&header);
    let files = [RECORDS, HEADER].map(|name| folder.path.join(name));
    let stopped = files.each_ref().map(|file| fs::read(file).unwrap());
    header.exit_status = Some(4);
    writer.stop(&header);
    drop(writer);
    let both = files.each_ref().map(|file| fs::read(file).unwrap());
    // There is room for the second header in both files, or in one of them.
    for old in [None, Some(0), Some(1)] {
        for (at, file) in files.iter().enumerate() {
            let from = if old == Some(at) { &stopped } else { &both };
            fs::write(file, &from[at]).unwrap();
        }
        let read = Experiment::open(&folder.path).unwrap();
        assert_eq!(read.header, header, "{old:?}");
    }
}
