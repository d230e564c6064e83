//! Screens of a hand-made experiment, and what keys and the mouse do to them.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod back;
mod files;
mod findings;
mod golden;
mod handmade;
mod hidden;
mod instances;
mod live;
mod marks;
mod moves;
mod narrow;
mod notes;
mod pointing;
mod styles;
mod turns;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use analyzer::draw::draw;
use analyzer::draw::theme::Theme;
use analyzer::experiments::Experiments;
use analyzer::settings::Settings;
use analyzer::state::app::{App, Effect};
use expect_test::expect_file;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::buffer::Buffer;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use report::text::colours::Colours;

/// The app on a screen of a size.
fn app(width: u16, height: u16) -> App {
    app_of(handmade::recording(|_| {}), (width, height))
}

/// The app with experiments, whose sources are found among the tests'.
fn app_of(experiments: Arc<Experiments>, size: (u16, u16)) -> App {
    let mut settings = Settings::default();
    settings.report.annotation.search.set("tests/sources");
    let mut app = App::opening(experiments, settings, size);
    app.finish_jobs();
    app
}

/// Presses keys; each character is one, `⏎` is Enter, arrows are arrows, `⌫` and `⎋` are
/// Backspace and Escape.
fn press(app: &mut App, keys: &str) -> Effect {
    let mut effect = Effect::None;
    for letter in keys.chars() {
        let code = match letter {
            '⏎' => KeyCode::Enter,
            '↑' => KeyCode::Up,
            '↓' => KeyCode::Down,
            '←' => KeyCode::Left,
            '→' => KeyCode::Right,
            '⌫' => KeyCode::Backspace,
            '⎋' => KeyCode::Esc,
            '⇥' => KeyCode::Tab,
            letter => KeyCode::Char(letter),
        };
        effect = app.key(KeyEvent::new(code, KeyModifiers::NONE));
        app.finish_jobs();
    }
    effect
}

/// The cells of the screen.
fn cells(app: &App, colours: Colours) -> Buffer {
    let (width, height) = app.size();
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal
        .draw(|frame| draw(app, &Theme { colours }, frame))
        .unwrap();
    terminal.backend().buffer().clone()
}

/// The letters of the screen, without spaces at the ends of lines.
fn text(app: &App) -> String {
    text_of(&cells(app, Colours::Many))
}

fn text_of(cells: &Buffer) -> String {
    let area = cells.area;
    let line = |y| -> String { (0..area.width).map(|x| cells[(x, y)].symbol()).collect() };
    let lines = (0..area.height).map(|y| line(y).trim_end().to_owned() + "\n");
    lines.collect()
}

/// The styles of the screen: a letter for each, a point where there is none, and what they are.
fn styles_of(cells: &Buffer) -> String {
    let area = cells.area;
    let mut known: Vec<String> = Vec::new();
    let mut text = String::new();
    for y in 0..area.height {
        let mut line = String::new();
        for x in 0..area.width {
            let cell = &cells[(x, y)];
            let style = format!("{:?} on {:?} {:?}", cell.fg, cell.bg, cell.modifier);
            if style == "Reset on Reset NONE" {
                line.push('.');
                continue;
            }
            let at = known
                .iter()
                .position(|one| *one == style)
                .unwrap_or_else(|| {
                    known.push(style);
                    known.len() - 1
                });
            line.push(char::from(b'a' + at as u8));
        }
        text.push_str(&format!("{}\n", line.trim_end_matches('.')));
    }
    for (at, style) in known.iter().enumerate() {
        text.push_str(&format!("{} {style}\n", char::from(b'a' + at as u8)));
    }
    text
}

fn golden_path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/golden")
        .join(name)
}

/// Holds a text against a golden file that a person has read; `UPDATE_EXPECT=1` writes it anew.
fn is_golden(name: &str, text: &str) {
    expect_file![golden_path(name)].assert_eq(text);
}
