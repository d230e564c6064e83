//! Views that are made beside the loop that answers keys.

use std::sync::Arc;

use analyzer::live::Progress;
use analyzer::settings::Settings;
use analyzer::state::app::{App, Effect};
use analyzer::state::overlay::Overlay;
use analyzer::view::View;
use experiment::ids::Nanos;
use omp_model::profile::ViewMode;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::{app, handmade, press, text};

/// A key whose answer nobody has made yet.
fn key(app: &mut App, code: KeyCode) -> Effect {
    app.key(KeyEvent::new(code, KeyModifiers::NONE))
}

#[test]
fn the_old_view_answers_keys_while_another_is_made() {
    let mut app = app(100, 24);
    press(&mut app, "2");
    key(&mut app, KeyCode::Char('4'));
    let job = app.job().unwrap();
    assert!(app.job().is_none(), "it is begun once");
    assert_eq!(app.view, View::Functions);
    assert!(text(&app).contains("making Call Tree …, user mode"));
    key(&mut app, KeyCode::Down);
    assert_eq!(app.cursor().selected, 1, "the list goes on");
    app.take_result(job.run().unwrap());
    assert_eq!(app.view, View::Tree);
    assert_eq!(app.making(), None);
    key(&mut app, KeyCode::Char('2'));
    assert_eq!(app.view, View::Functions, "what is made is shown at once");
}

#[test]
fn what_is_wanted_adds_up_and_what_is_no_longer_wanted_is_forgotten() {
    let mut app = app(100, 24);
    key(&mut app, KeyCode::Char('m'));
    let first = app.job().unwrap();
    key(&mut app, KeyCode::Char('m'));
    key(&mut app, KeyCode::Char('4'));
    assert!(first.run().is_none(), "expert mode was left behind");
    assert_eq!(app.settings.report.mode, ViewMode::User);
    app.finish_jobs();
    assert_eq!(
        (app.settings.report.mode, app.view),
        (ViewMode::Machine, View::Tree)
    );
    key(&mut app, KeyCode::Char('m'));
    key(&mut app, KeyCode::Esc);
    app.finish_jobs();
    assert_eq!(app.settings.report.mode, ViewMode::Machine);
    // Round to where it was: nothing is left to do.
    for _ in 0..3 {
        key(&mut app, KeyCode::Char('m'));
    }
    assert_eq!(app.making(), None);
}

#[test]
fn while_samples_are_read_the_timeline_and_the_header_can_be_seen() {
    let recording = handmade::recording(|_| {});
    let mut app = App::opening(Arc::clone(&recording), Settings::default(), (100, 24));
    let first = app.job().unwrap();
    let screen = text(&app);
    assert!(screen.contains("Reading "), "{screen}");
    assert!(screen.contains("Target command: './app"), "{screen}");
    key(&mut app, KeyCode::Char('9'));
    let timeline = app.job().unwrap();
    app.take_result(timeline.run().unwrap());
    assert_eq!(app.view, View::Timeline);
    let screen = text(&app);
    assert!(screen.contains("callstacks follow"), "{screen}");
    for code in ['v', 'e', '+', '.', 'o', 't', 'b', 'f'] {
        key(&mut app, KeyCode::Char(code));
        app.overlay = Overlay::None;
        text(&app);
    }
    assert!(
        app.documents.is_blank(),
        "nothing of that needed what is not there"
    );
    assert!(first.run().is_none(), "the overview is no longer wanted");
    app.finish_jobs();
    assert!(!app.documents.is_blank());
    assert_eq!(app.view, View::Timeline);
    assert!(!text(&app).contains("callstacks follow"));
}

#[test]
fn the_timeline_answers_while_its_samples_are_unpacked() {
    let mut app = app(100, 24);
    key(&mut app, KeyCode::Char('9'));
    let job = app.job().unwrap();
    app.take_result(job.run().unwrap());
    assert_eq!(app.view, View::Timeline);
    assert!(app.lacks_samples());
    let coarse = text(&app);
    assert!(coarse.contains("100 initial"), "{coarse}");
    let all = app.unpacking().unwrap();
    assert!(app.unpacking().is_none(), "it is begun once");
    key(&mut app, KeyCode::Char('+'));
    assert!(all.unpack().is_none(), "another range is wanted by now");
    let part = app.unpacking().unwrap();
    app.take_samples(part.unpack().unwrap());
    assert!(!app.lacks_samples());
    let fine = text(&app);
    key(&mut app, KeyCode::Char('-'));
    app.finish_jobs();
    key(&mut app, KeyCode::Char('+'));
    assert!(!app.lacks_samples(), "what is there is not unpacked again");
    assert_eq!(text(&app), fine);
}

#[test]
fn a_recording_that_grows_does_not_undo_what_is_wanted() {
    let mut app = app(100, 24);
    let more = handmade::recording(|_| {});
    let progress = Progress {
        until: Nanos(1),
        finished: false,
    };
    key(&mut app, KeyCode::Char('m'));
    app.want_experiments(Arc::clone(&more), progress);
    key(&mut app, KeyCode::Esc);
    assert!(app.making().is_some(), "what has come is not sent back");
    app.finish_jobs();
    assert!(Arc::ptr_eq(&app.experiments, &more));
    assert_eq!(app.settings.report.mode, ViewMode::Expert);
}
