//! Colours, and their absence.

use analyzer::draw::theme::Theme;
use omp_model::states::RefinedState;
use ratatui::buffer::{Buffer, Cell};
use ratatui::style::{Color, Modifier};
use report::text::colours::Colours;
use report::timeline::Activity;

use super::{app, cells, press, text_of};

/// The cell where a line that begins with a label has its column.
fn cell_of<'a>(cells: &'a Buffer, label: &str, column: u16) -> &'a Cell {
    let text = text_of(cells);
    let line = text
        .lines()
        .position(|line| line.starts_with(label))
        .unwrap();
    &cells[(column, line as u16)]
}

#[test]
fn a_state_has_its_familys_colour_where_it_was() {
    let mut app = app(80, 24);
    press(&mut app, "9");
    // 65 columns of 2.2 s after a label of 15: 1.0 s is column 44, 1.85 s column 69.
    for colours in [Colours::Many, Colours::Sixteen] {
        let theme = Theme { colours };
        let cells = cells(&app, colours);
        let serial = Activity::State(RefinedState::Serial);
        let work = Activity::State(RefinedState::Work);
        let critical = Activity::State(RefinedState::Critical);
        let barrier = Activity::State(RefinedState::ImplicitBarrier);
        let idle = Activity::State(RefinedState::Idle);
        for (label, column, activity, is_on_cpu) in [
            ("100 initial", 20, serial, true),
            ("100 initial", 44, work, true),
            ("100 initial", 69, critical, false),
            ("100 initial", 77, barrier, true),
            ("101 worker", 20, idle, false),
            ("101 worker", 69, barrier, false),
        ] {
            let cell = cell_of(&cells, label, column);
            let place = format!("{label} at {column}");
            if is_on_cpu {
                assert_eq!(Some(cell.bg), theme.activity(activity).bg, "{place}");
            } else {
                // Off CPUs it has no ground.
                let colour = theme.text_colour(activity.family()).fg;
                assert_eq!((Some(cell.fg), cell.bg), (colour, Color::Reset), "{place}");
                assert_eq!(cell.symbol(), activity.letter().to_string(), "{place}");
            }
        }
    }
}

#[test]
fn a_thread_without_a_cpu_does_not_look_at_work() {
    let mut app = app(80, 24);
    press(&mut app, "9");
    for colours in [Colours::Many, Colours::Sixteen] {
        let theme = Theme { colours };
        let cells = cells(&app, colours);
        let cell = cell_of(&cells, "101 worker", 58);
        let work = theme.activity(Activity::State(RefinedState::Work));
        assert_eq!(cell.symbol(), "░");
        assert_eq!(cell.bg, Color::Reset);
        assert_ne!(Some(cell.fg), work.bg);
    }
}

#[test]
fn without_colours_no_cell_has_any() {
    let mut app = app(80, 24);
    for digit in "1234567890d".chars() {
        press(&mut app, &digit.to_string());
        for overlay in ["", "?", "⎋e", "⎋f", "⎋"] {
            press(&mut app, overlay);
            let cells = cells(&app, Colours::None);
            for cell in cells.content() {
                assert_eq!(
                    (cell.fg, cell.bg),
                    (Color::Reset, Color::Reset),
                    "view {digit}"
                );
            }
        }
    }
}

#[test]
fn the_selected_row_is_reversed_and_follows_the_keys() {
    let mut app = app(80, 24);
    press(&mut app, "2↓↓");
    let cells = cells(&app, Colours::Many);
    let text = text_of(&cells);
    let reversed: Vec<&str> = text
        .lines()
        .enumerate()
        .filter(|(y, _)| (4..20).contains(y))
        .filter(|(y, _)| cells[(40, *y as u16)].modifier.contains(Modifier::REVERSED))
        .map(|(_, line)| line)
        .collect();
    assert_eq!(reversed.len(), 1, "{text}");
    assert!(reversed[0].contains("foo… region line 9"), "{reversed:?}");
}

#[test]
fn families_differ_on_terminals_of_sixteen_and_of_many_colours() {
    for colours in [Colours::Sixteen, Colours::Many] {
        let theme = Theme { colours };
        let mut families = Vec::new();
        for activity in Activity::ALL {
            let known = (activity.family(), theme.activity(activity).bg);
            if !families.contains(&known) {
                families.push(known);
            }
        }
        let mut grounds: Vec<_> = families
            .iter()
            .map(|(_, ground)| format!("{ground:?}"))
            .collect();
        grounds.sort();
        grounds.dedup();
        assert_eq!(grounds.len(), families.len(), "{colours:?}");
    }
}
