//! Other names in an experiment that is there.

use std::fs;
use std::os::unix::fs::FileExt;

use experiment::ids::FrameId;
use experiment::symbols::{CodeFact, Contention};
use experiment::tables::Frame;
use experiment::{Experiment, ReplaceError, replace_symbols};

use test_support::{Recording, TempExperiment, assert_same_tables};

#[test]
fn names_are_replaced_and_the_rest_stays() {
    let recording = Recording::small(3);
    for has_symbols in [true, false] {
        let temp = TempExperiment::new("replace");
        recording.write(&temp.path, has_symbols);
        let before = Experiment::open(&temp.path).unwrap();
        let mut tables = before.tables.clone();
        let frames = tables.frames.len() as u32;
        let module = tables.frames.rows()[0].module;
        tables.frame(Frame {
            module,
            address: 0xdead_beef,
        });
        let mut symbols = recording.symbols.clone();
        symbols.files.push("new.c".to_owned());
        // Each kind of fact about machine code.
        let kinds = [None, Some(Contention::Atomic), Some(Contention::Neighbours)];
        let facts = kinds.into_iter().zip(1..).map(|(contention, frame)| {
            let fact = CodeFact {
                spins: frame == 1,
                combines: frame == 2,
                contention,
                ..CodeFact::default()
            };
            (FrameId(frame), fact)
        });
        symbols.code = facts.collect();
        replace_symbols(&temp.path, frames, &tables, &symbols).unwrap();
        let after = Experiment::open(&temp.path).unwrap();
        assert_eq!(after.warnings, []);
        assert!(after.finished);
        assert_eq!(after.symbols, Some(symbols));
        assert_same_tables(&after.tables, &tables);
        assert_eq!(after.header, before.header);
        assert!(before.samples.iter().eq(after.samples.iter()));
    }
}

#[test]
fn of_a_recording_that_was_killed_the_whole_frames_stay() {
    let recording = Recording::small(4);
    let temp = TempExperiment::new("replace-cut");
    let length = recording.write(&temp.path, false);
    let records = temp.path.join("records");
    let file = fs::File::options().write(true).open(&records).unwrap();
    file.set_len(length - 12).unwrap();
    let before = Experiment::open(&temp.path).unwrap();
    let (tables, frames) = (&before.tables, before.tables.frames.len() as u32);
    replace_symbols(&temp.path, frames, tables, &recording.symbols).unwrap();
    let after = Experiment::open(&temp.path).unwrap();
    assert!(!after.finished);
    assert_eq!(after.symbols.as_ref(), Some(&recording.symbols));
    assert!(before.samples.iter().eq(after.samples.iter()));
}

#[test]
fn a_damaged_or_growing_experiment_is_left_as_it_is() {
    let recording = Recording::small(5);
    let temp = TempExperiment::new("replace-damaged");
    let length = recording.write(&temp.path, true);
    let opened = Experiment::open(&temp.path).unwrap();
    let (tables, frames) = (&opened.tables, opened.tables.frames.len() as u32);
    let records = temp.path.join("records");
    let file = fs::File::options().write(true).open(&records).unwrap();
    file.write_all_at(b"x", length / 2).unwrap();
    let bytes = fs::read(&records).unwrap();
    let error = replace_symbols(&temp.path, frames, tables, &recording.symbols).unwrap_err();
    assert!(matches!(error, ReplaceError::Damaged { .. }), "{error}");
    assert_eq!(fs::read(&records).unwrap(), bytes);

    let live = TempExperiment::new("replace-live");
    let writer = recording.begin(&live.path);
    let error = replace_symbols(&live.path, frames, tables, &recording.symbols).unwrap_err();
    assert!(matches!(error, ReplaceError::Live(_)), "{error}");
    drop(writer);
}
