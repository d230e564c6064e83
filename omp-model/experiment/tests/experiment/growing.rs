//! An experiment that is read while it grows: each reading gives what opening it then would.

use std::fs::{self, OpenOptions};
use std::io::Write;

use experiment::rows::Sample;
use experiment::{Experiment, Growing, OpenError, RECORDS, Warning};
use test_support::{Recording, TempExperiment, assert_same_tables};

/// Holds two readings against each other.
fn assert_same(grown: &Experiment, opened: &Experiment) {
    assert_same_tables(&grown.tables, &opened.tables);
    let samples = |read: &Experiment| read.samples.iter().collect::<Vec<Sample>>();
    assert_eq!(samples(grown), samples(opened));
    assert!(grown.sums.iter().eq(opened.sums.iter()));
    assert!(grown.blames.iter().eq(opened.blames.iter()));
    assert_eq!(grown.intervals, opened.intervals);
    assert!(grown.region_sums.iter().eq(opened.region_sums.iter()));
    assert!(grown.cpu_uses.iter().eq(opened.cpu_uses.iter()));
    assert!(grown.region_works.iter().eq(opened.region_works.iter()));
    assert_eq!(grown.region_spans, opened.region_spans);
    assert!(grown.task_sums.iter().eq(opened.task_sums.iter()));
    assert_eq!(grown.task_spans, opened.task_spans);
    assert_eq!(grown.symbols, opened.symbols);
    assert_eq!(grown.header, opened.header);
    assert_eq!(
        (grown.finished, grown.last, &grown.warnings),
        (opened.finished, opened.last, &opened.warnings)
    );
}

#[test]
fn pieces_of_any_length_add_up_to_the_whole() {
    let folder = TempExperiment::new("growing");
    Recording::generate(11, 4).write(&folder.path, true);
    let records = folder.path.join(RECORDS);
    let bytes = fs::read(&records).unwrap();
    // Lengths that end within marks, lengths and payloads alike.
    for step in [97, 1013, bytes.len() / 3] {
        let first = 64.min(bytes.len());
        fs::write(&records, &bytes[..first]).unwrap();
        let mut growing = Growing::open(&folder.path).unwrap();
        growing.read().unwrap();
        let mut file = OpenOptions::new().append(true).open(&records).unwrap();
        let mut added = 0;
        for piece in bytes[first..].chunks(step) {
            file.write_all(piece).unwrap();
            added += usize::from(growing.read().unwrap());
            assert_same(
                &growing.experiment(),
                &Experiment::open(&folder.path).unwrap(),
            );
        }
        assert!(added > 1, "{added} of the pieces ended a frame");
        assert!(growing.experiment().finished);
        assert_eq!(growing.experiment().warnings, []);
        assert!(!growing.read().unwrap(), "nothing was added");
    }
}

#[test]
fn what_is_damaged_for_good_is_not_read_again() {
    let folder = TempExperiment::new("growing-damaged");
    Recording::generate(12, 3).write(&folder.path, true);
    let records = folder.path.join(RECORDS);
    let mut bytes = fs::read(&records).unwrap();
    let middle = crate::inside_a_payload(&bytes);
    bytes[middle] ^= 0x10;
    fs::write(&records, &bytes).unwrap();
    let mut growing = Growing::open(&folder.path).unwrap();
    growing.read().unwrap();
    let opened = Experiment::open(&folder.path).unwrap();
    assert!(matches!(opened.warnings[0], Warning::Damaged { .. }));
    assert_same(&growing.experiment(), &opened);
    assert!(!growing.read().unwrap());
    assert_same(&growing.experiment(), &opened);
}

#[test]
fn what_is_not_there_yet_can_be_told_from_what_never_will_be() {
    let folder = TempExperiment::new("growing-none");
    fs::create_dir_all(&folder.path).unwrap();
    assert!(matches!(
        Growing::open(&folder.path),
        Err(OpenError::NoRecords(_))
    ));
    fs::write(folder.path.join(RECORDS), b"").unwrap();
    assert!(matches!(
        Growing::open(&folder.path),
        Err(OpenError::Empty(_))
    ));
    fs::write(folder.path.join(RECORDS), b"something else entirely").unwrap();
    assert!(matches!(
        Growing::open(&folder.path),
        Err(OpenError::Foreign(_))
    ));
}
