//! Help, choices and prompts over a view.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::style::Style;

use super::theme::Theme;
use super::{from, put};
use crate::app::overlay::{Choice, Overlay, Prompt};
use crate::app::{App, keys};

/// Draws what stands over the view; the place of the terminal's cursor, if a line is edited.
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

/// A box in the middle of the screen, for so many lines.
fn place(area: Rect, lines: usize, widest: usize) -> Rect {
    let width = (widest as u16 + 4).min(area.width);
    let height = (lines as u16 + 2).min(area.height);
    let left = area.x + (area.width - width) / 2;
    let top = area.y + (area.height - height) / 2;
    Rect::new(left, top, width, height)
}

/// What is inside of a box's border.
fn inside(place: Rect) -> Rect {
    Rect::new(
        place.x + 2,
        place.y + 1,
        place.width.saturating_sub(4),
        place.height.saturating_sub(2),
    )
}

/// An empty box in the middle of the screen, for so many lines; its inside.
fn frame(area: Rect, lines: usize, widest: usize, theme: &Theme, cells: &mut Buffer) -> Rect {
    let whole = place(area, lines, widest);
    let (left, top, width, height) = (whole.x, whole.y, whole.width, whole.height);
    let inner = usize::from(width.saturating_sub(2));
    for line in 0..height {
        let text = match line {
            0 => format!("┌{}┐", "─".repeat(inner)),
            line if line + 1 == height => format!("└{}┘", "─".repeat(inner)),
            _ => format!("│{}│", " ".repeat(inner)),
        };
        let place = Rect::new(left, top + line, width, 1);
        cells.set_style(place, Style::reset());
        put(cells, place, &text, theme.faint());
    }
    inside(whole)
}

fn help(app: &App, theme: &Theme, area: Rect, top: usize, cells: &mut Buffer) {
    let bindings: Vec<_> = keys::bindings(app.view)
        .filter(|known| !known.label.is_empty())
        .collect();
    let label = bindings
        .iter()
        .map(|known| known.label.chars().count())
        .max()
        .unwrap_or(0);
    let widest = bindings
        .iter()
        .map(|known| label + 2 + known.help.chars().count())
        .max();
    let inside = frame(area, bindings.len() + 1, widest.unwrap_or(0), theme, cells);
    let room = usize::from(inside.height.saturating_sub(1));
    let top = top.min(bindings.len().saturating_sub(room));
    let more = if bindings.len() > room {
        "  (Down for more)"
    } else {
        ""
    };
    let title = format!("Keys of {}{more}", app.view.title());
    put(cells, inside, &title, theme.strong());
    for (at, binding) in bindings.iter().skip(top).take(room).enumerate() {
        let line = Rect::new(inside.x, inside.y + 1 + at as u16, inside.width, 1);
        put(cells, line, binding.label, theme.key());
        put(
            cells,
            from(line, label as u16 + 2),
            binding.help,
            Style::reset(),
        );
    }
}

/// The cells that the widest line of a choice takes.
fn widest(choice: &Choice) -> usize {
    let words = choice
        .options
        .iter()
        .map(|(words, _)| words.chars().count());
    words.max().unwrap_or(0).max(choice.title.len()).max(26)
}

/// The first option in sight.
fn first(choice: &Choice, inside: Rect) -> usize {
    (choice.selected + 1).saturating_sub(usize::from(inside.height.saturating_sub(1)))
}

/// The option of a choice that is drawn at a cell of a screen.
pub(crate) fn option_at(overlay: &Overlay, size: (u16, u16), at: (u16, u16)) -> Option<usize> {
    let Overlay::Choice(choice) = overlay else {
        return None;
    };
    let screen = Rect::new(0, 0, size.0, size.1);
    let inside = inside(place(screen, choice.options.len() + 1, widest(choice)));
    let line = at.1.checked_sub(inside.y + 1)?;
    let option = first(choice, inside) + usize::from(line);
    (inside.contains(at.into()) && option < choice.options.len()).then_some(option)
}

fn draw_choice(choice: &Choice, theme: &Theme, area: Rect, cells: &mut Buffer) {
    let inside = frame(area, choice.options.len() + 1, widest(choice), theme, cells);
    put(cells, inside, choice.title, theme.strong());
    let room = usize::from(inside.height.saturating_sub(1));
    let top = first(choice, inside);
    for (at, (words, _)) in choice.options.iter().enumerate().skip(top).take(room) {
        let line = Rect::new(inside.x, inside.y + 1 + (at - top) as u16, inside.width, 1);
        put(cells, line, words, Style::reset());
        if at == choice.selected {
            cells.set_style(line, theme.selected());
        }
    }
}

fn draw_prompt(prompt: &Prompt, theme: &Theme, area: Rect, cells: &mut Buffer) -> Option<Position> {
    let several = prompt.suggestions.len() > 1;
    let hint = match (prompt.suggestions.is_empty(), several) {
        (true, _) => "Enter takes it, Esc leaves it",
        (false, false) => "Enter takes it, Esc leaves it, Ctrl-Y copies it",
        (false, true) => "Enter takes it, Esc leaves it, Tab suggests another, Ctrl-Y copies it",
    };
    let below = prompt.error.as_ref().map_or(hint, |error| &error.text);
    let width = usize::from(area.width).saturating_sub(8);
    let lines = wrapped(below, width);
    let inside = frame(area, 2 + lines.len(), width, theme, cells);
    if inside.height < 2 {
        return None;
    }
    put(cells, inside, prompt.title, theme.strong());
    if let Some(words) = prompt.is() {
        let at = prompt.title.chars().count() as u16;
        put(
            cells,
            from(inside, at),
            &format!(": {words}"),
            theme.faint(),
        );
    }
    let line = Rect::new(inside.x, inside.y + 1, inside.width, 1);
    // A long line is shown from where the cursor still has room.
    let skip = (prompt.at + 1).saturating_sub(usize::from(line.width));
    let text: String = prompt.text.chars().skip(skip).collect();
    put(cells, line, &text, Style::reset());
    let style = match &prompt.error {
        Some(error) => {
            let shown = |at: usize| (at.saturating_sub(skip) as u16).min(line.width);
            let (start, end) = (shown(error.at.start), shown(error.at.end));
            let place = Rect {
                width: end - start,
                ..from(line, start)
            };
            cells.set_style(place, theme.mistake());
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
    Some(Position::new(inside.x + (prompt.at - skip) as u16, line.y))
}

/// A text in lines of a width, cut between words.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = vec![String::new()];
    for word in text.split_whitespace() {
        let last = lines.last_mut().expect("there is always a line");
        if !last.is_empty() && last.chars().count() + 1 + word.chars().count() > width {
            lines.push(word.to_owned());
        } else {
            if !last.is_empty() {
                last.push(' ');
            }
            last.push_str(word);
        }
    }
    lines
}
