//! Several experiments as one.

use experiment::Experiment;
use experiment::ids::{ContextId, StackId, ThreadId, ThreadStateId};
use experiment::rows::Sample;
use experiment::symbols::SymbolTable;
use experiment::tables::{StackEntry, ThreadState};
use experiment::union::unite;
use test_support::{Recording, TempExperiment};

/// A sample with what its ids stand for.
fn without_ids(
    experiment: &Experiment,
    sample: &Sample,
) -> (Sample, Vec<(String, u64)>, ThreadState) {
    let tables = &experiment.tables;
    let frames = tables.walk(sample.stack).map(|entry| {
        let StackEntry::Frame(frame) = entry else {
            panic!("the generator cuts no stack");
        };
        let frame = tables.frames.get(frame.0).unwrap();
        let module = tables.modules.get(frame.module.0).unwrap();
        (module.path.clone(), frame.address)
    });
    let anonymous = Sample {
        thread: ThreadId(0),
        stack: StackId::EMPTY,
        thread_state: ThreadStateId::OUTSIDE,
        ..*sample
    };
    let thread_state = *tables.thread_states.get(sample.thread_state.0).unwrap();
    let thread_state = ThreadState {
        context: ContextId::ROOT,
        ..thread_state
    };
    (anonymous, frames.collect(), thread_state)
}

#[test]
fn several_experiments_are_read_as_one_from_their_files() {
    let folders = [
        TempExperiment::new("one-of-two"),
        TempExperiment::new("other-of-two"),
    ];
    let opened = folders.iter().zip([7, 8]).map(|(folder, seed)| {
        Recording::generate(seed, 3).write(&folder.path, true);
        Experiment::open(&folder.path).unwrap()
    });
    let parts: Vec<Experiment> = opened.collect();
    let none = SymbolTable::default();
    let sources: Vec<_> = parts.iter().map(|part| (part, &none)).collect();
    let union = unite(&sources);
    let whole = &union.experiment;
    assert_eq!(union.origins, [1, 1, 2, 2]);
    // Both begin at once, and so do their seconds.
    let begins = || whole.samples.index().iter().map(|frame| frame.first);
    assert_eq!(begins().count(), 6);
    assert!(begins().is_sorted());
    for (number, part) in (0..).zip(&parts) {
        let own = |thread: ThreadId| thread.index() / 2 == number;
        let among = whole.samples.iter().filter(|sample| own(sample.thread));
        let alone = part.samples.iter();
        assert!(
            among
                .map(|sample| (sample.thread.index() % 2, without_ids(whole, &sample)))
                .eq(alone.map(|sample| (sample.thread.index(), without_ids(part, &sample))))
        );
        let among = whole.sums.iter().filter(|sum| own(sum.thread));
        let alone = part.sums.iter();
        assert!(
            among
                .map(|sum| (sum.slice, sum.time, sum.count))
                .eq(alone.map(|sum| (sum.slice, sum.time, sum.count)))
        );
    }
    // One of several may itself be several.
    let nested = unite(&[(&parts[0], &none), (whole, &none)]).experiment;
    let last = nested
        .samples
        .iter()
        .filter(|sample| sample.thread.index() / 2 == 2);
    let alone = parts[1].samples.iter();
    assert!(
        last.map(|sample| without_ids(&nested, &sample))
            .eq(alone.map(|sample| without_ids(&parts[1], &sample)))
    );
}
