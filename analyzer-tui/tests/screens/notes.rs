//! What limits the trust in numbers: said in every view if something was lost, else in the overview.

use std::sync::Arc;

use analyzer::experiments::Experiments;
use analyzer::state::app::App;
use experiment::ids::{ContextId, Nanos, StackId, ThreadId};
use experiment::losses::LossKind;
use experiment::rows::{Sample, SampleKind, Sum, Within};
use experiment::state::{Scheduling, State};
use experiment::tables::ThreadKind;
use test_support::Builder;

use super::{press, text};

const MS: u64 = 1_000_000;

/// A thread of which half of the time has no sample.
fn half_inferred(lost: u64) -> Arc<Experiments> {
    let mut make = Builder::default();
    make.header.duration_ns = 100 * MS;
    make.header.sampling.samples = 1;
    if lost > 0 {
        let when = (10 * MS, 30 * MS);
        make.header.losses.lost.add(LossKind::Samples, when, lost);
    }
    make.process(100, "app", "/app");
    make.thread(100, ThreadKind::Initial);
    let states = [State::Serial, State::Critical];
    let states = states.map(|state| make.thread_state(state, ContextId::ROOT));
    make.samples.push(Sample {
        time: Nanos(20 * MS),
        thread: ThreadId(0),
        cpu: 0,
        kind: SampleKind::User,
        stack: StackId::EMPTY,
        thread_state: states[0],
        within: Within::default(),
    });
    make.sums.extend(states.map(|thread_state| Sum {
        slice: 0,
        thread: ThreadId(0),
        thread_state,
        scheduling: Scheduling::Running,
        time: Nanos(50 * MS),
        count: 1,
    }));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("inferred.er");
    make.write(&path);
    Arc::new(Experiments::open(&[path]).unwrap())
}

#[test]
fn how_much_is_inferred_stands_in_the_overview_alone() {
    const NOTE: &str = "has no sample of its own";
    let mut app = App::new(half_inferred(0), (200, 60));
    assert!(
        text(&app).contains("Note: 50.0 % of the time"),
        "{}",
        text(&app)
    );
    for key in "2345678d".chars() {
        press(&mut app, &key.to_string());
        assert!(!text(&app).contains(NOTE), "{key}: {}", text(&app));
    }
    press(&mut app, "2?");
    assert!(text(&app).contains("~"), "{}", text(&app));
}

#[test]
fn what_was_lost_stands_in_every_view() {
    let mut app = App::new(half_inferred(1), (200, 60));
    for key in "12345678".chars() {
        press(&mut app, &key.to_string());
        let mut said = app.documents.known_notices().iter();
        assert!(said.any(|text| text.contains("samples (1) were lost")));
        assert!(app.notice().is_some());
    }
}

#[test]
fn the_timeline_marks_the_times_of_losses_on_its_axis() {
    // From 10 to 30 of 100 ms.
    let mut app = App::new(half_inferred(1), (200, 60));
    press(&mut app, "9");
    let screen = text(&app);
    let axis = screen.lines().nth(2).unwrap();
    assert!(axis.contains("┆10??????????┆20?????????┆30"), "{screen}");
    assert_eq!(axis.matches('?').count(), 19, "{screen}");
    assert!(screen.contains("? something was lost"), "{screen}");
    let mut whole = App::new(half_inferred(0), (200, 60));
    press(&mut whole, "9");
    assert!(!text(&whole).contains("something was lost"));
}
