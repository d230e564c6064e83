//! Every view in both modes.

use super::{app, app_of, cells, handmade, is_golden, press, styles_of, text, text_of};
use analyzer::state::app::App;
use report::text::colours::Colours;

/// The views by their keys.
const VIEWS: [(char, &str); 13] = [
    ('1', "overview"),
    ('2', "functions"),
    ('3', "callers"),
    ('4', "tree"),
    ('5', "flame"),
    ('6', "source"),
    ('d', "disasm"),
    ('7', "regions"),
    ('w', "loops"),
    ('u', "locks"),
    ('8', "threads"),
    ('9', "timeline"),
    ('0', "experiment"),
];

#[test]
fn every_view_in_both_modes_at_80_by_24() {
    let mut app = app(80, 24);
    for mode in ["user", "machine"] {
        for (digit, name) in VIEWS {
            match name {
                "callers" => press(&mut app, "2g/bar⏎⏎"),
                "source" => press(&mut app, "2g/bar⏎6"),
                "disasm" => press(&mut app, "2g/bar⏎d"),
                _ => press(&mut app, &digit.to_string()),
            };
            // What was answered to the keys is not part of the view.
            app.message = None;
            is_golden(&format!("{name}_{mode}.txt"), &text(&app));
            let styles = styles_of(&cells(&app, Colours::Many));
            is_golden(&format!("{name}_{mode}.styles.txt"), &styles);
        }
        press(&mut app, "mm");
    }
}

#[test]
fn any_report_of_er_print_can_be_chosen() {
    let mut app = app(80, 24);
    press(&mut app, "r");
    is_golden("reports_choice.txt", &text(&app));
    press(&mut app, "jjjjjjj⏎");
    is_golden("reports_pcs.txt", &text(&app));
}

#[test]
fn a_wide_screen_has_the_stack_beside_the_rows_and_names_whole() {
    let mut app = app(160, 40);
    press(&mut app, "9→→→→→→→→→→→→→→→→→→→→→→→→→→→→→→→→→→→→→→→→→→→→");
    is_golden("timeline_wide.txt", &text(&app));
    press(&mut app, "2");
    is_golden("functions_wide.txt", &text(&app));
}

#[test]
fn tasks_stand_under_their_threads_and_threads_in_their_teams() {
    let mut app = app(100, 24);
    press(
        &mut app,
        "9→→→→→→→→→→→→→→→→→→→→→→→→→→→→→→→→→→→→→→→→→→→→→→→ot↓",
    );
    is_golden("timeline_tasks.txt", &text(&app));
}

#[test]
fn long_holds_of_mutexes_stand_under_their_threads() {
    let mut app = app(100, 24);
    press(&mut app, "9oo↓→→→→→→→→→→→→→→→→→→→→→→→→→→→→→→→→→→→→→");
    is_golden("timeline_holds.txt", &text(&app));
}

/// The screen after these keys without its tabs and empty lines, under them.
fn after(keys: &str, app: &mut App) -> String {
    app.message = None;
    let screen = text(app);
    let lines = screen.lines().skip(1).filter(|line| !line.is_empty());
    // Golden files hold no path of this machine.
    let is_path = |line: &&str| line.starts_with("Experiment: ");
    let lines: Vec<&str> = lines.filter(|line| !is_path(line)).collect();
    format!("{keys}\n{}\n\n", lines.join("\n"))
}

#[test]
fn experiments_beside_each_other() {
    let mut app = app_of(handmade::two(), (110, 24));
    let mut all = String::new();
    for keys in [
        "2c",
        "c",
        "c",
        "4cc",
        "7",
        "w",
        "8",
        "3",
        "5→↓",
        "9↓",
        "2g/bar⏎6",
        "d",
    ] {
        press(&mut app, keys);
        all.push_str(&after(keys, &mut app));
    }
    is_golden("compare.txt", &all);
}

#[test]
fn first_looks_and_headers_beside_each_other() {
    let mut app = app_of(handmade::two(), (100, 70));
    let mut all = String::new();
    for keys in ["1c", "c", "c", "0"] {
        press(&mut app, keys);
        all.push_str(&after(keys, &mut app));
    }
    is_golden("compare_about.txt", &all);
}

#[test]
fn without_colours_letters_tell_the_states() {
    let mut app = app(80, 24);
    press(&mut app, "9");
    is_golden(
        "timeline_letters.txt",
        &text_of(&cells(&app, Colours::None)),
    );
}

#[test]
fn the_keys_of_every_view_are_shown() {
    let mut app = app(80, 60);
    let mut all = String::new();
    for (digit, _) in VIEWS {
        press(&mut app, &digit.to_string());
        press(&mut app, "?");
        let screen = text(&app);
        let lines = screen.lines().filter_map(|line| {
            let (_, rest) = line.split_once('│')?;
            rest.split_once('│')
                .map(|(inside, _)| inside.trim().to_owned())
        });
        all.push_str(&lines.collect::<Vec<_>>().join("\n"));
        all.push_str("\n\n");
        press(&mut app, "⎋");
    }
    is_golden("keys.txt", &all);
}

#[test]
fn several_experiments_say_what_they_are_shown_as() {
    let mut app = app_of(handmade::two(), (60, 16));
    let mut lines = String::new();
    for _ in 0..4 {
        for key in ["2", "9", "d", "0"] {
            press(&mut app, key);
            let screen = text(&app);
            lines.push_str(&format!("{key} {}\n", screen.lines().nth(2).unwrap()));
        }
        press(&mut app, "c");
    }
    press(&mut app, "9");
    lines.push_str(&text(&app));
    is_golden("together.txt", &lines);
}
