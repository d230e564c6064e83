//! What the mouse points at beyond rows and tabs, and the order of regions and tasks.

use analyzer::state::app::App;
use analyzer::state::overlay::Overlay;
use analyzer::view::View;
use ratatui::crossterm::event::{MouseButton, MouseEventKind};
use ratatui::style::Modifier;
use report::text::colours::Colours;
use serde_json::Value;

use super::instances::nested;
use super::moves::{mouse, selected};
use super::{app, app_of, cells, press, text};

const CLICK: MouseEventKind = MouseEventKind::Down(MouseButton::Left);

/// The line and column of a text on the screen.
fn place(app: &App, wanted: &str) -> (u16, u16) {
    let screen = text(app);
    let mut lines = screen.lines().zip(0..);
    let found = lines.find_map(|(line, y)| {
        let before = line.split_once(wanted)?.0.chars().count() as u16;
        Some((before, y))
    });
    found.unwrap_or_else(|| panic!("no {wanted:?} in {screen}"))
}

fn click(app: &mut App, wanted: &str) {
    let (column, line) = place(app, wanted);
    mouse(app, CLICK, column, line);
}

#[test]
fn threads_are_ordered_by_what_the_user_chooses() {
    let mut app = app(100, 24);
    press(&mut app, "8↓");
    let threads = |app: &App| [1, 2].map(|at| app.list.text(at).to_owned());
    let before = threads(&app);
    let first = app.list.target(1).cloned();
    // By their waits: what was first is still selected, further down.
    press(&mut app, "s");
    let Overlay::Choice(choice) = &app.overlay else {
        panic!("a choice was to be made");
    };
    let mut options = choice.options.iter();
    let by_wait = options.position(|(words, _)| words == "Exclusive OMP Wait Time");
    press(&mut app, &"↓".repeat(by_wait.unwrap()));
    press(&mut app, "⏎");
    assert!(
        app.list
            .title()
            .ends_with("sorted by Exclusive OMP Wait Time")
    );
    let turned = [before[1].clone(), before[0].clone()];
    assert_eq!(threads(&app), turned);
    assert_eq!(selected(&app), before[0]);
    // What is told of a row goes with it.
    assert_eq!(app.list.target(2).cloned(), first);
    // The order stays in other modes, is turned round, and goes with the first choice.
    press(&mut app, "mm");
    assert_eq!(threads(&app), turned);
    press(&mut app, "s");
    press(&mut app, &"↓".repeat(20));
    press(&mut app, "⏎");
    assert_eq!(threads(&app), before);
    press(&mut app, "s");
    press(&mut app, &"↑".repeat(20));
    press(&mut app, "⏎");
    assert_eq!(threads(&app), before);
    assert!(app.row_orders.is_empty());
}

#[test]
fn a_region_file_in_another_order_names_the_places_of_its_own_rows() {
    let mut app = app(100, 24);
    press(&mut app, "7");
    let lines = |app: &mut App| -> Vec<(String, Value)> {
        press(app, "e↓");
        let effect = press(app, "⏎");
        let analyzer::state::app::Effect::Write { contents, .. } = effect else {
            panic!("a file was to be written");
        };
        let report: Value = serde_json::from_str(&contents).unwrap();
        let rows = report["rows"].as_array().unwrap().clone();
        let named = rows.into_iter();
        let mut all: Vec<(String, Value)> = named
            .map(|row| (row["name"].to_string(), row["line"].clone()))
            .collect();
        all.sort_by(|left, right| left.0.cmp(&right.0));
        all
    };
    let before = lines(&mut app);
    click(&mut app, "Name");
    click(&mut app, "Name");
    assert_eq!(
        app.list.title(),
        "Parallel regions sorted by name, the other way round"
    );
    assert_eq!(lines(&mut app), before);
}

#[test]
fn a_click_on_a_heading_orders_by_it_and_a_second_one_turns_it_round() {
    let mut app = app(100, 24);
    press(&mut app, "2");
    let (_, heading) = place(&app, "Excl. OMP");
    mouse(&mut app, CLICK, 30, heading);
    assert_eq!(
        app.list.title(),
        "Functions sorted by metric: Exclusive OMP Wait Time"
    );
    assert_eq!(app.list.text(1), "<OMP implicit barrier>");
    mouse(&mut app, CLICK, 30, heading + 1);
    assert_ne!(app.list.text(1), "<OMP implicit barrier>");
    click(&mut app, "Name");
    assert_eq!(app.list.title(), "Functions sorted by metric: Name");
    press(&mut app, "7");
    click(&mut app, "Work");
    assert_eq!(
        app.list.title(),
        "Parallel regions sorted by Exclusive OMP Work Time"
    );
}

#[test]
fn a_click_takes_an_option_or_does_what_a_hint_says() {
    let mut app = app(80, 24);
    press(&mut app, "2");
    click(&mut app, "s sort  v");
    assert!(matches!(app.overlay, Overlay::Choice(_)));
    let (column, line) = place(&app, "Name   ");
    let option = (0..line).rev().find(|&y| {
        let screen = text(&app);
        screen
            .lines()
            .nth(usize::from(y))
            .unwrap()
            .contains("Exclusive OMP Wait")
    });
    mouse(&mut app, CLICK, column, option.unwrap());
    assert_eq!(app.overlay, Overlay::None);
    assert_eq!(
        app.list.title(),
        "Functions sorted by metric: Exclusive OMP Wait Time"
    );
    // Beside a choice a click leaves all as it was.
    press(&mut app, "s");
    mouse(&mut app, CLICK, 0, 12);
    assert_eq!(app.overlay, Overlay::None);
    assert_eq!(
        app.list.title(),
        "Functions sorted by metric: Exclusive OMP Wait Time"
    );
    // Help goes up and down by the wheel.
    press(&mut app, "?");
    mouse(&mut app, MouseEventKind::ScrollDown, 40, 12);
    assert_eq!(app.overlay, Overlay::Help { top: 1 });
    mouse(&mut app, CLICK, 40, 12);
    click(&mut app, "m mode");
    assert!(text(&app).contains("expert mode"));
    // An answer stands where the hints were: it does nothing but go.
    let (column, line) = (2, 23);
    mouse(&mut app, CLICK, column, line);
    assert!(text(&app).contains("m mode"), "{}", text(&app));
    assert_eq!(app.view, View::Functions);
}

#[test]
fn the_cursor_leaves_the_times_of_the_axis_legible() {
    let mut app = app(80, 24);
    press(&mut app, "9");
    let axis = |app: &App| text(app).lines().nth(2).unwrap().replace('▼', "┆");
    let before = axis(&app);
    assert!(text(&app).contains('▼'));
    for _ in 0..40 {
        press(&mut app, "→");
        let now = axis(&app);
        let digits = |line: &str| line.replace(['┆', ' '], "");
        assert_eq!(digits(&now), digits(&before));
        // The column is marked all the same.
        let cells = cells(&app, Colours::Many);
        let marked = (0..80).filter(|&x| {
            let cell = &cells[(x, 2)];
            cell.symbol() == "▼" || cell.modifier.contains(Modifier::REVERSED)
        });
        assert_eq!(marked.count(), 1);
    }
}

#[test]
fn bands_without_room_come_in_sight_by_wheel_click_and_key() {
    let mut app = app_of(nested(), (110, 24));
    press(&mut app, "9");
    press(&mut app, &"l".repeat(30));
    let bands = |app: &App| {
        let screen = text(app);
        let lines = screen.lines().skip(3).take(2);
        lines.map(str::to_owned).collect::<Vec<_>>()
    };
    let top = bands(&app);
    assert!(
        top[0].starts_with("regions ") && top[1].starts_with("(1 more)"),
        "{top:?}"
    );
    mouse(&mut app, MouseEventKind::ScrollDown, 60, 3);
    let below = bands(&app);
    assert!(below[1].starts_with("(1 above)"), "{below:?}");
    assert_ne!(top[0], below[0]);
    // A click on what came in sight selects it.
    mouse(&mut app, CLICK, 60, 4);
    assert!(
        text(&app).contains("selected: instance 18 of"),
        "{}",
        text(&app)
    );
    mouse(&mut app, MouseEventKind::ScrollUp, 60, 3);
    assert_eq!(app.timeline.lane, 0);
    click(&mut app, "(1 more)");
    assert_eq!(app.timeline.lane, 1);
    click(&mut app, "(1 above)");
    assert_eq!(app.timeline.lane, 0);
    // The keys bring the selected one in sight.
    let mut lanes = Vec::new();
    for _ in 0..6 {
        press(&mut app, "i");
        let selected_instance = app.selected_instance().map(|band| band.lane);
        let first = app.timeline.lane;
        assert!(selected_instance.is_none_or(|lane| (first..first + 2).contains(&lane)));
        lanes.extend(selected_instance);
    }
    assert!(lanes.contains(&2) && lanes.contains(&0), "{lanes:?}");
}
