//! Draws help, choices and prompts over a view.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::style::Style;

use super::theme::Theme;
use super::{from, put};
use crate::boxes::{centred, first_in_sight, interior, widest_line};
use crate::input::bindings::bindings;
use crate::state::app::App;
use crate::state::overlay::{Choice, Overlay, Prompt};
use crate::text_fit::{fit, width, wrap};

/// Draws the overlay. Returns the position of the terminal's cursor if a prompt is open.
pub(super) fn draw(app: &App, theme: &Theme, area: Rect, cells: &mut Buffer) -> Option<Position> {
    match &app.overlay {
        Overlay::None => None,
        Overlay::Help { top } => {
            help(app, theme, area, *top, cells);
            None
        }
        Overlay::Choice(choice) => {
            draw_choice(choice, theme, area, cells);
            None
        }
        Overlay::Prompt(prompt) => draw_prompt(prompt, theme, area, cells),
    }
}

/// Draws an empty centred box for this many lines. Returns its interior.
fn frame(area: Rect, lines: usize, widest: usize, theme: &Theme, cells: &mut Buffer) -> Rect {
    let outer = centred(area, lines, widest);
    let inner = usize::from(outer.width.saturating_sub(2));
    for (number, line) in outer.rows().enumerate() {
        let text = match number {
            0 => format!("┌{}┐", "─".repeat(inner)),
            _ if line.bottom() == outer.bottom() => format!("└{}┘", "─".repeat(inner)),
            _ => format!("│{}│", " ".repeat(inner)),
        };
        cells.set_style(line, Style::reset());
        put(cells, line, &text, theme.faint());
    }
    interior(outer)
}

fn help(app: &App, theme: &Theme, area: Rect, top: usize, cells: &mut Buffer) {
    let bindings: Vec<_> = bindings(app.view)
        .filter(|known| !known.label.is_empty())
        .collect();
    let label = bindings
        .iter()
        .map(|known| width(known.label))
        .max()
        .unwrap_or(0);
    let widest = bindings
        .iter()
        .map(|known| label + 2 + width(known.help))
        .max();
    let most = usize::from(area.width).saturating_sub(4);
    let widest = widest.unwrap_or(0).min(most);
    let lines: Vec<(&str, String)> = bindings
        .iter()
        .flat_map(|binding| {
            let pieces = wrap(binding.help, widest.saturating_sub(label + 2)).into_iter();
            let labels = std::iter::once(binding.label).chain(std::iter::repeat(""));
            labels.zip(pieces)
        })
        .collect();
    let inside = frame(area, lines.len() + 1, widest, theme, cells);
    let room = usize::from(inside.height.saturating_sub(1));
    let top = top.min(lines.len().saturating_sub(room));
    let more = if lines.len() > room {
        "  (Down for more)"
    } else {
        ""
    };
    let title = format!("Keys of {}{more}", app.view.title());
    put(cells, inside, &title, theme.strong());
    for (at, (key, help)) in lines.iter().skip(top).take(room).enumerate() {
        let line = Rect::new(inside.x, inside.y + 1 + at as u16, inside.width, 1);
        put(cells, line, key, theme.key());
        put(cells, from(line, label as u16 + 2), help, Style::reset());
    }
}

fn draw_choice(choice: &Choice, theme: &Theme, area: Rect, cells: &mut Buffer) {
    let count = choice.options.len();
    let inside = frame(area, count + 1, widest_line(choice), theme, cells);
    put(cells, inside, choice.title, theme.strong());
    let room = usize::from(inside.height.saturating_sub(1));
    let top = first_in_sight(choice, inside);
    for (at, (words, _)) in choice.options.iter().enumerate().skip(top).take(room) {
        let line = Rect::new(inside.x, inside.y + 1 + (at - top) as u16, inside.width, 1);
        let words = fit(words, usize::from(line.width));
        put(cells, line, &words, Style::reset());
        if at == choice.selected {
            cells.set_style(line, theme.selected());
        }
    }
}

fn draw_prompt(prompt: &Prompt, theme: &Theme, area: Rect, cells: &mut Buffer) -> Option<Position> {
    let hint = match prompt.suggestions.len() {
        0 => "Enter takes it, Esc leaves it",
        1 => "Enter takes it, Esc leaves it, Ctrl-Y copies it",
        _ => "Enter takes it, Esc leaves it, Tab suggests another, Ctrl-Y copies it",
    };
    let below = prompt.error.as_ref().map_or(hint, |error| &error.text);
    let room = usize::from(area.width).saturating_sub(8);
    let lines = wrap(below, room);
    let inside = frame(area, 2 + lines.len(), room, theme, cells);
    if inside.height < 2 {
        return None;
    }
    put(cells, inside, prompt.title, theme.strong());
    if let Some(words) = prompt.suggestion_label() {
        let at = width(prompt.title) as u16;
        put(
            cells,
            from(inside, at),
            &format!(": {words}"),
            theme.faint(),
        );
    }
    let line = Rect::new(inside.x, inside.y + 1, inside.width, 1);
    // A long line is scrolled so that the cursor is in sight.
    let count = prompt.text.chars().count();
    let before = |at: usize| {
        let text: String = prompt.text.chars().take(at).collect();
        width(&text) + at.saturating_sub(count)
    };
    let room = usize::from(line.width);
    let skip = (0..=prompt.at).find(|&skip| before(prompt.at) - before(skip) < room);
    let skip = skip.unwrap_or(prompt.at);
    let text: String = prompt.text.chars().skip(skip).collect();
    put(cells, line, &text, Style::reset());
    let style = match &prompt.error {
        Some(error) => {
            let shown = |at: usize| before(at).saturating_sub(before(skip)).min(room) as u16;
            let (start, end) = (shown(error.at.start), shown(error.at.end));
            let wrong = Rect {
                width: end - start,
                ..from(line, start)
            };
            cells.set_style(wrong, theme.mistake());
            theme.warning()
        }
        None => theme.faint(),
    };
    for (at, text) in lines.iter().enumerate() {
        let y = inside.y + 2 + at as u16;
        if y < inside.bottom() {
            put(cells, Rect::new(inside.x, y, inside.width, 1), text, style);
        }
    }
    Some(Position::new(
        inside.x + (before(prompt.at) - before(skip)) as u16,
        line.y,
    ))
}
