//! What `collect -r` found: the list, and both sides of the selected finding below it.

use std::sync::Arc;

use analyzer::experiments::Experiments;
use analyzer::settings::Settings;
use analyzer::state::app::App;
use analyzer::view::View;
use experiment::header::{Losses, Sampling};
use experiment::tables::ThreadKind;
use omp_model::analysis::Analysis;
use test_support::{Builder, SOURCE, findings};

use super::{app, is_golden, press, text};

/// An experiment of `collect -r`, and the app that shows it.
fn checked(size: (u16, u16)) -> App {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("race.er");
    let mut make = Builder::new(&["./app"], "/home/ann/app/foo.c");
    make.header.sampling = Sampling::default();
    make.header.losses = Losses::default();
    make.process(100, "app", "/home/ann/app/app");
    make.thread(100, ThreadKind::Initial);
    make.findings = Some(findings());
    make.write(&path);
    std::fs::write(folder.path().join("foo.c"), SOURCE).unwrap();
    let mut analysis = Analysis::open(&path, 1, symbolize::from_files).unwrap();
    analysis.name = "race.er".to_owned();
    analysis.names = vec!["race.er".to_owned()];
    let mut settings = Settings::default();
    let sources = folder.path().to_str().unwrap();
    settings.report.annotation.search.set(sources);
    let mut app = App::opening(Arc::new(Experiments::from(analysis)), settings, size);
    app.finish_jobs();
    app
}

#[test]
fn races_stand_above_their_two_sides() {
    let mut app = checked((120, 40));
    assert_eq!(app.view, View::Races, "there is nothing else to show");
    is_golden("races.txt", &text(&app));
    press(&mut app, "j");
    is_golden("races_second.txt", &text(&app));
    press(&mut app, "m");
    press(&mut app, "m");
    let machine = text(&app);
    assert!(machine.contains("add.omp_outlined"), "{machine}");
}

#[test]
fn deadlocks_misuse_and_uninitialised_reads_stand_below() {
    let mut app = checked((110, 36));
    press(&mut app, "/x, y⏎");
    is_golden("deadlocks.txt", &text(&app));
    press(&mut app, "/lock released⏎");
    is_golden("misuse.txt", &text(&app));
}

#[test]
fn on_a_narrow_screen_the_sides_stand_below_each_other() {
    let app = checked((60, 30));
    is_golden("races_narrow.txt", &text(&app));
    for size in [(20, 5), (40, 8), (70, 12)] {
        let mut app = checked(size);
        press(&mut app, "jjGg⇥⏎");
    }
}

#[test]
fn an_experiment_without_findings_has_no_such_tab() {
    let mut app = app(160, 30);
    assert!(!text(&app).contains("Races"));
    press(&mut app, "R");
    assert_ne!(app.view, View::Races);
    assert!(text(&app).contains("collect -r race"), "{}", text(&app));
    for _ in View::ALL {
        press(&mut app, "⇥");
        assert_ne!(app.view, View::Races);
    }
}
