//! What keys and the mouse do.

use analyzer::state::app::{App, Effect};
use analyzer::view::View;
use omp_model::profile::ViewMode;
use ratatui::crossterm::event::{
    KeyCode, KeyEvent, KeyModifiers, MouseButton, MouseEvent, MouseEventKind,
};

use report::document::Block;
use report::reports::{Build, REPORTS, Report};
use report::timeline::{Activity, Slot};

use super::{app, app_of, handmade, press, text};

pub(crate) fn selected(app: &App) -> String {
    app.list.text(app.cursor().selected).to_owned()
}

pub(crate) fn mouse(app: &mut App, kind: MouseEventKind, column: u16, row: u16) {
    app.mouse(MouseEvent {
        kind,
        column,
        row,
        modifiers: KeyModifiers::NONE,
    });
    app.finish_jobs();
}

const REGION: &str = "foo -- OMP parallel region from line 9 [foo.omp_outlined]";

#[test]
fn a_mode_switch_keeps_the_selection_where_it_has_a_counterpart() {
    let mut app = app(80, 24);
    press(&mut app, "2/parallel⏎");
    assert_eq!(selected(&app), REGION);
    press(&mut app, "m");
    assert_eq!(
        (app.settings.report.mode, selected(&app).as_str()),
        (ViewMode::Expert, REGION)
    );
    press(&mut app, "m");
    assert_eq!(
        (app.settings.report.mode, selected(&app).as_str()),
        (ViewMode::Machine, REGION)
    );
    // A barrier has no function of its own in machine mode: the nearest caller that has stands in.
    press(&mut app, "m4/implicit⏎");
    assert_eq!(selected(&app), "<OMP implicit barrier>");
    press(&mut app, "m");
    press(&mut app, "m");
    assert_ne!(selected(&app), "<OMP implicit barrier>");
}

#[test]
fn the_tree_folds_and_unfolds() {
    let mut app = app(80, 24);
    press(&mut app, "4-");
    assert_eq!(app.list.lines().len(), 1);
    press(&mut app, "→");
    let shown: Vec<&str> = (0..app.list.lines().len())
        .map(|at| app.list.text(at))
        .collect();
    assert_eq!(shown, ["<Total>", "_start", "<OMP idle>"]);
    press(&mut app, "x");
    assert_eq!(
        selected(&app),
        "bar",
        "the hot path ends where most of the work is"
    );
    press(&mut app, "←");
    assert_eq!(selected(&app), REGION);
    press(&mut app, "←");
    assert!((0..app.list.lines().len()).all(|at| app.list.text(at) != "bar"));
    press(&mut app, "+");
    assert_eq!(
        app.list.lines().len(),
        app.documents.tree(&app.experiments).rows().len()
    );
}

#[test]
fn callers_lead_to_callers_and_back() {
    let mut app = app(80, 24);
    press(&mut app, "2/bar⏎⏎");
    assert_eq!((app.view, app.function.as_str()), (View::Callers, "bar"));
    press(&mut app, "g⏎");
    assert_eq!(app.function, REGION);
    press(&mut app, "⌫");
    assert_eq!(app.function, "bar");
}

#[test]
fn an_order_is_chosen_and_turned_round() {
    let mut app = app(80, 24);
    press(&mut app, "2s↓↓⏎");
    assert_eq!(
        app.list.title(),
        "Functions sorted by metric: Exclusive OMP Wait Time"
    );
    assert_eq!(app.list.text(1), "<OMP implicit barrier>");
    press(&mut app, "s↓↓⏎");
    assert_eq!(app.list.title(), "Functions sorted by metric: Name");
    assert_eq!(app.list.text(1), "<OMP critical section wait>");
}

#[test]
fn a_filter_holds_in_every_view_until_it_is_taken_off() {
    let mut app = app(80, 24);
    press(&mut app, "8↓↓f⏎");
    assert_eq!(app.settings.filter().unwrap(), "LWPID==101");
    assert_eq!(app.list.lines().len(), 3, "the sum and both threads");
    press(&mut app, "1");
    assert!((super::instances::seconds(&app) - 2.2).abs() < 1e-9);
    press(&mut app, "9");
    assert_eq!(app.threads().len(), 1);
    press(&mut app, "F1");
    assert!((super::instances::seconds(&app) - 4.4).abs() < 1e-9);
}

#[test]
fn a_wrong_filter_is_told_and_can_be_mended() {
    let mut app = app(80, 24);
    press(&mut app, "1fLWPID==");
    press(&mut app, "⏎");
    assert!(text(&app).contains("at character"), "{}", text(&app));
    press(&mut app, "101⏎");
    assert_eq!(app.settings.filter().unwrap(), "LWPID==101");
    press(&mut app, "f");
    for _ in 0..20 {
        press(&mut app, "⌫");
    }
    press(&mut app, "⏎");
    assert!(app.settings.filter().is_none());
}

#[test]
fn steps_lead_to_single_samples_and_borders() {
    let mut app = app(80, 24);
    press(&mut app, "9.");
    assert_eq!(app.timeline.time, 50_000_000, "the first sample");
    let at_cursor = app.at_cursor().unwrap();
    assert_eq!(at_cursor.sample.unwrap().time.0, 50_000_000);
    assert_eq!(at_cursor.sample.unwrap().cpu, 2);
    press(&mut app, ".....");
    assert_eq!(
        app.timeline.time, 500_000_000,
        "five samples of 100 ms, then the region begins"
    );
    press(&mut app, ",");
    assert_eq!(app.timeline.time, 450_000_000);
    for _ in 0..20 {
        press(&mut app, "+");
    }
    let range = &app.timeline.range;
    assert!(range.contains(&450_000_000));
    assert!(range.end - range.start <= 40_000, "{range:?}");
    assert!(
        text(&app).contains("sample at 0.450000 s on CPU 2: serial"),
        "{}",
        text(&app)
    );
    press(&mut app, "a");
    assert_eq!(app.timeline.range, 0..2_200_000_000);
}

#[test]
fn the_stack_at_the_cursor_is_rewritten_when_the_mode_switches() {
    let mut app = app(160, 40);
    press(&mut app, "9↓");
    // To 1.5 s, where the worker begins to wait.
    while app.timeline.time < 1_500_000_000 {
        press(&mut app, ".");
    }
    let screen = text(&app);
    assert!(
        screen.contains("implicit barrier for 700 ms from 1.500000 s, asleep"),
        "{screen}"
    );
    assert!(screen.contains("│ <OMP implicit barrier>"), "{screen}");
    assert!(screen.contains("│ main:20"), "{screen}");
    press(&mut app, "mm");
    let screen = text(&app);
    assert!(screen.contains("│ __kmp_hyper_barrier_release"), "{screen}");
    assert!(screen.contains("│ clone3"), "{screen}");
    assert!(!screen.contains("│ main"), "{screen}");
}

#[test]
fn the_slots_of_a_row_hold_its_whole_life() {
    let mut app = app(80, 24);
    press(&mut app, "9");
    for zoom in ["", "++", "+++"] {
        press(&mut app, zoom);
        let range = app.timeline.range.clone();
        for &thread in app.threads() {
            let slots = app.slots(thread);
            let sum: f64 = slots.iter().flat_map(|slot| slot.times()).sum();
            let on_and_off: f64 = slots.iter().flat_map(|slot| slot.scheduling).sum();
            let length = (range.end - range.start) as f64;
            assert!((sum - length).abs() < 10.0, "{sum} of {length}");
            assert!(
                (on_and_off - length).abs() < 10.0,
                "{on_and_off} of {length}"
            );
        }
    }
}

/// However many columns a second is cut into, they have together what the tables have of it.
#[test]
fn the_columns_of_a_second_add_up_to_its_sums() {
    let mut app = app(80, 24);
    press(&mut app, "9");
    let timeline = app.experiments.timeline();
    let end = timeline.end.0;
    let by_kind = |slots: &[Slot]| -> Vec<f64> {
        let kinds = 0..Activity::COUNT;
        let of = |at: usize| {
            let sums = slots.iter().map(|slot| (slot.on_cpu[at], slot.off_cpu[at]));
            sums.fold([0.0, 0.0], |sum, (on, off)| [sum[0] + on, sum[1] + off])
        };
        kinds.flat_map(of).collect()
    };
    for &thread in app.threads() {
        // One column of whole seconds has their sums.
        let whole = timeline.slots(thread, &(0..end), 1, &app.timeline.window);
        let whole = by_kind(&whole);
        for columns in [7, 65, 400] {
            let slots = timeline.slots(thread, &(0..end), columns, &app.timeline.window);
            for (found, expected) in by_kind(&slots).iter().zip(&whole) {
                let differ = (found - expected).abs();
                assert!(differ < 0.002 * end as f64, "{columns}: {found} {expected}");
            }
        }
    }
}

/// Each report is built once, and shown again without a job.
#[test]
fn every_report_of_the_table_is_shown() {
    let mut app = app(120, 40);
    let whole = |report: &&Report| matches!(report.build, Build::Whole(_));
    for (at, report) in REPORTS.iter().filter(whole).enumerate() {
        let choose = format!("2r{}⏎", "j".repeat(at));
        for _ in 0..2 {
            press(&mut app, &choose);
            assert_eq!((app.view, app.report.name), (View::Report, report.name));
            let documents = &app.documents;
            let document = documents.document(&app.experiments, View::Report, report.name);
            let title = app.list.title();
            let own = document.title.lines().last().unwrap_or_default();
            assert!(title.starts_with(own), "{title}");
            let is_empty = |block: &Block| match block {
                Block::Table(table) => table.rows.is_empty() && table.empty.is_empty(),
                Block::Lines(lines) => lines.is_empty(),
            };
            let nothing = document.blocks.iter().all(is_empty);
            assert_eq!(app.list.lines().is_empty(), nothing, "{}", report.name);
        }
    }
    press(&mut app, "⇥");
    assert_eq!(app.view, View::Overview);
}

#[test]
fn flames_are_zoomed_and_left_again() {
    let mut app = app(80, 24);
    press(&mut app, "5g↓↓↓⏎");
    let tree = app.documents.tree(&app.experiments);
    assert_eq!(tree.name(app.tree.zoom), "foo");
    press(&mut app, "-");
    let tree = app.documents.tree(&app.experiments);
    assert_eq!(tree.name(app.tree.zoom), "main");
}

#[test]
fn the_mouse_selects_views_rows_boxes_and_moments() {
    let mut app = app(80, 24);
    let press_left = MouseEventKind::Down(MouseButton::Left);
    let tab = text(&app).lines().next().unwrap().find("2F").unwrap() as u16;
    mouse(&mut app, press_left, tab, 0);
    assert_eq!(app.view, View::Functions);
    mouse(&mut app, press_left, 10, 7);
    assert_eq!(app.cursor().selected, 2);
    mouse(&mut app, press_left, 10, 7);
    assert_eq!(app.view, View::Callers, "a second press goes in");
    press(&mut app, "9");
    mouse(&mut app, press_left, 47, 9);
    assert_eq!(app.timeline.row, 1);
    assert!(
        (1_080_000_000..1_120_000_000).contains(&app.timeline.time),
        "{}",
        app.timeline.time
    );
    mouse(&mut app, MouseEventKind::ScrollUp, 47, 9);
    let range = app.timeline.range.clone();
    assert_eq!(range.end - range.start, 1_100_000_000);
    mouse(&mut app, MouseEventKind::Drag(MouseButton::Left), 37, 9);
    mouse(&mut app, press_left, 47, 9);
    mouse(&mut app, MouseEventKind::Drag(MouseButton::Left), 37, 9);
    assert!(
        app.timeline.range.start > range.start,
        "a drag to the left shows later times"
    );
}

#[test]
fn without_calls_of_mpi_there_is_no_tab_of_ranks() {
    let mut app = app(120, 24);
    press(&mut app, "p");
    assert_eq!(app.view, View::Overview);
    let screen = text(&app);
    assert!(screen.contains("has no calls of MPI"), "{screen}");
    assert!(!screen.contains("Rank"), "{screen}");
}

#[test]
fn keys_that_no_help_lists_do_nothing_but_say_so() {
    let mut app = app(80, 24);
    let above = |app: &App| {
        let screen = text(app);
        let (above, hints) = screen.trim_end().rsplit_once('\n').unwrap();
        (above.to_owned(), hints.to_owned())
    };
    let (before, _) = above(&app);
    for letter in "itzZ@%".chars() {
        press(&mut app, &letter.to_string());
        let (after, said) = above(&app);
        assert_eq!(after, before, "{letter}");
        assert_eq!(
            said,
            format!("{letter} does nothing in Overview: ? tells its keys")
        );
    }
    press(&mut app, "2");
    assert!(!text(&app).contains("does nothing"));
}

#[test]
fn the_source_of_the_selected_function_is_shown_at_its_line() {
    let mut app = app(80, 24);
    press(&mut app, "2/bar⏎6");
    assert_eq!(selected(&app), "  4. {   busy(600);");
}

#[test]
fn without_a_selection_the_hottest_function_is_shown() {
    for (key, title) in [("6", "Source of bar"), ("d", "Disassembly of bar")] {
        let mut app = app(80, 24);
        press(&mut app, key);
        assert!(text(&app).contains(title), "{}", text(&app));
        assert!(app.list.lines().len() > 5, "{}", text(&app));
        // The first row is the sum, which is no selection either, whatever the metrics.
        press(&mut app, "v2g");
        press(&mut app, key);
        assert!(text(&app).contains(title), "{}", text(&app));
    }
}

#[test]
fn what_is_selected_in_regions_or_on_the_timeline_is_the_function_of_other_views() {
    let mut app = app(100, 30);
    press(&mut app, "2/bar⏎");
    // A look alone changes nothing.
    press(&mut app, "7");
    press(&mut app, "9");
    press(&mut app, "2");
    assert_eq!(selected(&app), "bar");
    press(&mut app, "7/task from⏎");
    assert!(selected(&app).contains("task"));
    press(&mut app, "2");
    assert!(selected(&app).contains("task"), "{}", selected(&app));
    press(&mut app, "7");
    assert!(selected(&app).contains("task"), "{}", selected(&app));
    // At 1.5 s the worker begins to wait in the region.
    press(&mut app, "9j");
    while app.timeline.time < 1_500_000_000 {
        press(&mut app, ".");
    }
    press(&mut app, "2");
    assert_eq!(selected(&app), REGION);
    // Rows that another order moves are no move of the user's.
    press(&mut app, "2g/bar⏎");
    press(&mut app, "7");
    press(&mut app, "s↓⏎s");
    press(&mut app, &"↓".repeat(20));
    press(&mut app, "⏎2");
    assert_eq!(selected(&app), "bar");
}

#[test]
fn enter_leads_on_from_regions_and_threads() {
    let mut app = app(100, 30);
    press(&mut app, "7↓⏎");
    assert_eq!((app.view, app.function.as_str()), (View::Callers, REGION));
    press(&mut app, "8↓↓⏎");
    assert_eq!((app.view, app.timeline.row), (View::Timeline, 1));
}

#[test]
fn a_loop_leads_to_its_line_and_back() {
    let mut app = app(100, 30);
    press(&mut app, "w⏎");
    assert_eq!((app.view, app.function.as_str()), (View::Source, "foo"));
    assert!(selected(&app).starts_with(" 11."), "{}", selected(&app));
    press(&mut app, "⎋");
    assert_eq!(app.view, View::Loops);
    assert_eq!(selected(&app), "foo -- OMP loop from line 11");
    press(&mut app, "f");
    assert!(text(&app).contains("\"foo\" IN STACK"), "{}", text(&app));
    press(&mut app, "⏎");
    assert!(text(&app).contains("No loop: loops are counted for the whole run"));
    press(&mut app, "⏎");
    assert!(text(&app).contains("leads to no source"), "{}", text(&app));
}

#[test]
fn instructions_and_lines_lead_to_each_other() {
    let mut app = app(100, 24);
    press(&mut app, "2/bar⏎d");
    assert!(selected(&app).contains("1408"), "the hot one");
    press(&mut app, "⏎");
    assert_eq!(app.view, View::Source);
    assert_eq!(selected(&app), "  4. {   busy(600);");
    press(&mut app, "⏎");
    assert_eq!(app.view, View::Disassembly);
    assert!(selected(&app).contains("1408"));
}

#[test]
fn filters_are_suggested_copied_and_their_mistakes_underlined() {
    let mut app = app(100, 24);
    press(&mut app, "7↓f");
    assert!(
        text(&app).contains("all under the selected construct"),
        "{}",
        text(&app)
    );
    press(&mut app, "⇥");
    assert!(text(&app).contains("REGION==1"), "{}", text(&app));
    let event = KeyEvent::new(KeyCode::Char('y'), KeyModifiers::CONTROL);
    assert_eq!(app.key(event), Effect::Copy("REGION==1".to_owned()));
    press(&mut app, "⏎");
    assert_eq!(app.settings.filter().unwrap(), "REGION==1");
    assert_eq!(press(&mut app, "y"), Effect::Copy("REGION==1".to_owned()));
    // The filter in force is offered first, then with what is selected.
    press(&mut app, "8↓↓f⇥");
    assert!(
        text(&app).contains("(REGION==1) && (LWPID==101)"),
        "{}",
        text(&app)
    );
    press(&mut app, "⎋Ff");
    press(&mut app, " && LWPID");
    for _ in 0..5 {
        press(&mut app, "⌫");
    }
    press(&mut app, "WPIT==3⏎");
    let cells = super::cells(&app, report::text::colours::Colours::Many);
    let underlined: String = cells
        .content()
        .iter()
        .filter(|cell| cell.modifier.contains(ratatui::style::Modifier::UNDERLINED))
        .map(|cell| cell.symbol())
        .collect();
    assert!(underlined.ends_with("WPIT"), "{underlined}");
}

#[test]
fn a_box_becomes_a_filter() {
    let mut app = app(80, 24);
    press(&mut app, "9......b");
    press(&mut app, "→→→→→→→→→→");
    let part = app.selected_box().unwrap();
    assert_eq!(
        (part.rows.clone(), part.time.start < 500_000_000),
        (0..1, true)
    );
    assert!(part.time.end > 800_000_000 && part.time.end < 900_000_000);
    press(&mut app, "f⏎");
    let filter = app.settings.filter().unwrap().to_owned();
    assert!(filter.ends_with(" && THRID IN (1)"), "{filter}");
    assert_eq!(app.threads().len(), 1);
    // Three samples of 100 ms lie in it: a filter on time goes by them.
    let total = super::instances::seconds(&app);
    assert!((total - 0.3).abs() < 1e-9, "{total}");
}

#[test]
fn a_box_is_zoomed_to_and_dropped() {
    let mut app = app(80, 24);
    press(&mut app, "9......b→→→→→→→→→→");
    let part = app.selected_box().unwrap();
    press(&mut app, "⏎");
    assert_eq!(app.timeline.range, part.time);
    assert_eq!(app.selected_box(), None);
    press(&mut app, "b");
    assert!(app.selected_box().is_some());
    press(&mut app, "b");
    assert_eq!(app.selected_box(), None);
}

#[test]
fn q_and_control_c_quit() {
    let mut app = app(80, 24);
    assert_eq!(press(&mut app, "q"), Effect::Quit);
    let event = KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL);
    assert_eq!(app.key(event), Effect::Quit);
}

#[test]
fn every_size_is_drawn_in_every_view() {
    let mut app = app(80, 24);
    for digit in "1234567890d".chars() {
        press(&mut app, &digit.to_string());
        for (width, height) in [(1, 1), (20, 5), (21, 6), (40, 10), (80, 24), (300, 100)] {
            app.resize(width, height);
            press(&mut app, "↓↓↑→←");
            assert!(!text(&app).is_empty());
        }
    }
}

#[test]
fn of_a_damaged_experiment_the_whole_part_is_shown_with_a_warning() {
    let recording = handmade::recording(|records| {
        let bytes = std::fs::read(records).unwrap();
        std::fs::write(records, &bytes[..bytes.len() - 30]).unwrap();
    });
    let mut app = app_of(recording, (100, 24));
    let screen = text(&app);
    assert!(
        screen.contains("! The run was recorded in part"),
        "{screen}"
    );
    press(&mut app, "0");
    assert!(
        text(&app).contains("Warning: the recording was not finished"),
        "{}",
        text(&app)
    );
}
