//! Text on narrow screens: it is wrapped between words, and none of it is missing.

use analyzer::input::bindings::bindings;
use analyzer::list::Line;
use analyzer::state::app::App;
use analyzer::text_fit::width;

use super::{app, press, text};

/// The words of the lines of text.
fn words(app: &App) -> Vec<String> {
    let is_text = |line: &Line| matches!(line, Line::Text(_) | Line::Fact { .. });
    let lines = app.list.lines().iter().enumerate();
    let texts = lines.filter(|(_, line)| is_text(line));
    let words = texts.flat_map(|(at, _)| app.list.text(at).split_whitespace());
    words.map(str::to_owned).collect()
}

/// The words on the screen.
fn on_screen(app: &App) -> String {
    let screen = text(app).replace(['│', '┌', '┐', '└', '┘', '─'], " ");
    screen.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn every_word_of_a_text_stands_on_a_narrow_screen_too() {
    let (mut wide, mut narrow) = (app(300, 40), app(44, 40));
    for key in ["1", "7", "w", "0"] {
        press(&mut wide, key);
        press(&mut narrow, key);
        assert_eq!(words(&narrow), words(&wide), "{key}");
        for at in 0..narrow.list.lines().len() {
            let line = narrow.list.lines()[at].clone();
            let is_row = matches!(line, Line::Row { .. });
            assert!(is_row || width(narrow.list.text(at)) <= 44, "{line:?}");
        }
    }
}

#[test]
fn details_help_and_messages_are_wrapped() {
    let mut app = app(44, 80);
    press(&mut app, "7↓");
    let screen = on_screen(&app);
    assert!(screen.contains("threads off the CPU 0.050 s"), "{screen}");
    press(&mut app, "9↓...........");
    let screen = on_screen(&app);
    assert!(screen.contains("200 ms from 1.200000 s sample"), "{screen}");
    press(&mut app, "c");
    let screen = on_screen(&app);
    assert!(screen.ends_with("comparing needs two experiments: analyzer FIRST SECOND"));
    press(&mut app, "?");
    let screen = on_screen(&app);
    for binding in bindings(app.view) {
        assert!(screen.contains(binding.help), "{}: {screen}", binding.help);
    }
}

/// A long name below the rows took the last row in sight away.
#[test]
fn the_selected_row_stays_in_sight_above_long_details() {
    let mut app = app(44, 14);
    press(&mut app, "2");
    for _ in 0..app.list.lines().len() {
        press(&mut app, "↓");
        let (cursor, rows) = (app.cursor(), app.list_parts().rows);
        let last = cursor.top + usize::from(rows.height);
        assert!(
            (cursor.top..last).contains(&cursor.selected),
            "{}",
            text(&app)
        );
    }
}

/// The tabs of the last views were cut, and names in titles at the end, where the line stands.
#[test]
fn tabs_and_titles_fit_a_narrow_screen() {
    let mut app = app(50, 20);
    press(&mut app, "2/parallel⏎⏎");
    let screen = text(&app);
    let mut lines = screen.lines();
    assert_eq!(lines.next().unwrap(), "1 2 3 4 5 6 d 7 w u 8 9 0 r");
    assert_eq!(
        lines.next().unwrap(),
        "Callers and callees of foo… line 9      user mode"
    );
}
