//! Experiments that grow while they are looked at.

use std::sync::Arc;

use analyzer::live::{Follower, Progress};
use analyzer::state::app::{App, Effect};
use analyzer::view::View;
use experiment::ids::{ContextId, Nanos};
use experiment::rows::{Interval, Within};
use experiment::state::{Scheduling, State};
use experiment::tables::ThreadKind;
use experiment::{Batch, HEADER, RECORDS};
use test_support::Builder;

use super::handmade::{self, Variant};
use super::{app_of, press, text};

const SO_FAR: Progress = Progress {
    until: Nanos(1_500_000_000),
    finished: false,
};

#[test]
fn what_is_selected_and_zoomed_stays_when_the_recording_grows() {
    let mut app = app_of(handmade::recording(|_| {}), (100, 24));
    app.set_progress(SO_FAR, false);
    assert!(
        text(&app).contains("recording: 1.5 s, user mode"),
        "{}",
        text(&app)
    );
    press(&mut app, "2/critical⏎");
    let name = |app: &App| app.list.text(app.cursor().selected).to_owned();
    let selected = name(&app);
    app.want_experiments(handmade::recording(|_| {}), SO_FAR);
    app.finish_jobs();
    assert_eq!((app.view, name(&app)), (View::Functions, selected));
    press(&mut app, "9→→→→→→→→→→↓++");
    let (range, time, row) = (
        app.timeline.range.clone(),
        app.timeline.time,
        app.timeline.row,
    );
    app.want_experiments(handmade::recording(|_| {}), SO_FAR);
    app.finish_jobs();
    assert_eq!(
        (app.timeline.range.clone(), app.timeline.time),
        (range, time)
    );
    assert_eq!(app.timeline.row, row);
    press(&mut app, "f");
    let prompt = app.overlay.clone();
    let done = Progress {
        finished: true,
        ..SO_FAR
    };
    app.want_experiments(handmade::recording(|_| {}), done);
    app.finish_jobs();
    assert_eq!(app.overlay, prompt, "a line that is edited is left alone");
    assert_eq!(app.live, None);
    press(&mut app, "⎋");
    assert!(!text(&app).contains("recording:"));
}

#[test]
fn a_timeline_that_shows_all_goes_on_to_show_all() {
    let two = handmade::two();
    let mut app = app_of(handmade::recording(|_| {}), (100, 24));
    press(&mut app, "9");
    let end = app.timeline.range.end;
    app.want_experiments(Arc::clone(&two), SO_FAR);
    app.finish_jobs();
    assert_eq!(app.timeline.range, 0..end, "both are as long");
    assert_eq!(app.threads().len(), 4);
}

#[test]
fn leaving_asks_what_becomes_of_the_program() {
    let mut app = app_of(handmade::recording(|_| {}), (100, 24));
    app.set_progress(SO_FAR, true);
    assert_eq!(press(&mut app, "q"), Effect::None);
    assert!(text(&app).contains("The program is still running"));
    assert_eq!(
        press(&mut app, "⏎"),
        Effect::None,
        "to stay is the first choice"
    );
    assert_eq!(press(&mut app, "q↓⏎"), Effect::Stop);
    assert_eq!(press(&mut app, "q↓↓⏎"), Effect::Quit);
}

#[test]
fn a_follower_reads_up_to_the_last_whole_frame_and_ends_with_the_whole() {
    let folder = tempfile::tempdir().unwrap();
    let whole = folder.path().join("whole.er");
    handmade::write(&whole, Variant::First);
    let records = std::fs::read(whole.join(RECORDS)).unwrap();
    let path = folder.path().join("growing.er");
    std::fs::create_dir(&path).unwrap();
    std::fs::copy(whole.join(HEADER), path.join(HEADER)).unwrap();
    let mut follower = Follower::new(&path);
    assert!(follower.poll().unwrap().is_none(), "there is nothing yet");
    std::fs::write(path.join(RECORDS), &records[..records.len() - 40]).unwrap();
    let (recording, progress) = follower.poll().unwrap().unwrap();
    assert!(!progress.finished);
    assert_eq!(
        recording.warnings,
        Vec::<String>::new(),
        "to be unfinished is no damage"
    );
    assert_eq!(progress.until, Nanos(2_200_000_000));
    assert!(follower.poll().unwrap().is_none(), "nothing was added");
    std::fs::write(path.join(RECORDS), &records).unwrap();
    let (recording, progress) = follower.poll().unwrap().unwrap();
    assert!(progress.finished);
    assert_eq!(recording.experiment.tables.threads.len(), 2);
}

/// Shares of the first records were above 100 %.
#[test]
fn the_first_half_second_is_not_shown_unless_the_recording_ends_in_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("short.er");
    let mut make = Builder::default();
    make.process(100, "app", "/app");
    let thread = make.thread(100, ThreadKind::Initial);
    let thread_state = make.thread_state(State::Serial, ContextId::ROOT);
    let interval = |start: u64| Interval {
        thread,
        start: Nanos(start * 1_000_000),
        length: Nanos(240_000_000),
        thread_state,
        scheduling: Scheduling::Running,
        within: Within::default(),
    };
    make.intervals.push(interval(0));
    let mut writer = make.write_unfinished(&path);
    let mut follower = Follower::new(&path);
    assert!(follower.poll().unwrap().is_none(), "0.24 s");
    let mut append = |start: u64| {
        let batch = Batch {
            intervals: &[interval(start)],
            ..Batch::default()
        };
        writer.append(&make.tables, &batch).unwrap();
    };
    append(240);
    assert!(follower.poll().unwrap().is_none(), "0.48 s");
    append(480);
    let (_, progress) = follower.poll().unwrap().unwrap();
    assert_eq!(progress.until, Nanos(720_000_000));
    let short = folder.path().join("whole.er");
    make.write(&short);
    let (_, progress) = Follower::new(&short).poll().unwrap().unwrap();
    assert!(progress.finished, "a program of 0.24 s is shown");
}

/// It was waited for without end.
#[test]
fn what_cannot_be_followed_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file.er");
    std::fs::write(&path, "text").unwrap();
    let why = Follower::new(&path).poll().unwrap_err();
    assert!(why.contains("is a file"), "{why}");
    let missing = folder.path().join("later.er");
    assert!(Follower::new(&missing).poll().unwrap().is_none());
}
