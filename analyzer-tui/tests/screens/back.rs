//! The way back to places that were left.

use analyzer::state::app::App;
use analyzer::view::View;

use super::moves::selected;
use super::{app, press, text};

/// What a place is known by: the view, the subject of views of one function, the selected line and
/// the first in sight.
fn place(app: &App) -> (View, String, String, usize) {
    let function = match app.view {
        View::Callers | View::Source | View::Disassembly => app.function.clone(),
        _ => String::new(),
    };
    (app.view, function, selected(app), app.cursor().top)
}

#[test]
fn each_step_in_is_a_step_back_to_the_same_line_and_scroll_position() {
    let mut app = app(80, 10);
    press(&mut app, "1");
    // Keys that move in a place, and the key that leaves it.
    let steps = [
        ("G", "2"),
        ("/bar⏎", "⏎"),
        ("g", "⏎"),
        ("↓", "6"),
        ("G", "⏎"),
        ("↓", "7"),
        ("", "⏎"),
        ("", "0"),
        ("G↑", "8"),
        ("↓", "2"),
    ];
    let mut places = Vec::new();
    for (moves, leave) in steps {
        press(&mut app, moves);
        places.push(place(&app));
        press(&mut app, leave);
    }
    while let Some(place_before) = places.pop() {
        press(&mut app, if places.len() % 2 == 0 { "⌫" } else { "⎋" });
        assert_eq!(place(&app), place_before);
    }
    press(&mut app, "⌫");
    assert!(text(&app).contains("nothing before this"), "{}", text(&app));
}

#[test]
fn a_zoom_is_undone_before_its_view_is_left() {
    let mut app = app(80, 24);
    press(&mut app, "5g↓↓↓");
    let name = |app: &App, row| app.documents.tree(&app.experiments).name(row).to_owned();
    press(&mut app, "⏎↓⏎");
    assert_ne!(name(&app, app.tree.zoom), "foo");
    press(&mut app, "⎋");
    assert_eq!(name(&app, app.tree.zoom), "foo");
    press(&mut app, "⎋");
    assert_eq!(name(&app, app.tree.zoom), "<Total>");
    assert_eq!(name(&app, app.tree.selected), "foo");
    press(&mut app, "9↓..");
    let (range, time) = (app.timeline.range.clone(), app.timeline.time);
    press(&mut app, "⏎");
    assert_ne!(app.timeline.range, range);
    press(&mut app, "⎋");
    assert_eq!(
        (app.timeline.range.clone(), app.timeline.time),
        (range, time)
    );
    assert_eq!((app.view, app.timeline.row), (View::Timeline, 1));
    press(&mut app, "b⎋");
    assert_eq!(app.selected_box(), None, "a box is dropped first");
    press(&mut app, "⎋");
    assert_eq!(app.view, View::Flame);
}

#[test]
fn a_filter_is_undone_and_the_mode_kept() {
    let mut app = app(80, 24);
    press(&mut app, "8↓↓f⏎");
    let row = selected(&app);
    // To take the same filter again is no step.
    press(&mut app, "2mf⏎");
    press(&mut app, "⌫");
    assert_eq!((app.view, selected(&app)), (View::Threads, row));
    assert_eq!(app.settings.filter(), Some("LWPID==101"));
    press(&mut app, "⌫");
    assert_eq!((app.view, app.settings.filter()), (View::Threads, None));
    let mode = app.settings.report.mode;
    assert_eq!(mode, omp_model::profile::ViewMode::Expert);
}

/// A row that another order has moved is the one to come back to.
#[test]
fn the_row_is_found_by_its_name() {
    let mut app = app(80, 24);
    press(&mut app, "2/bar⏎⏎");
    press(&mut app, "s↓↓↓↓⏎⎋");
    assert_eq!(
        (app.view, selected(&app).as_str()),
        (View::Functions, "bar")
    );
}
