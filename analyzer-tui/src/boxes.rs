//! Where the boxes over a view stand: shared by what draws and what a mouse points at.

use ratatui::layout::Rect;

use crate::state::overlay::{Choice, Overlay};
use crate::text_fit::width;

/// A box in the middle of the screen, for so many lines.
pub fn place(area: Rect, lines: usize, widest: usize) -> Rect {
    let width = (widest as u16 + 4).min(area.width);
    let height = (lines as u16 + 2).min(area.height);
    let left = area.x + (area.width - width) / 2;
    let top = area.y + (area.height - height) / 2;
    Rect::new(left, top, width, height)
}

/// What is inside of a box's border.
pub fn inside(place: Rect) -> Rect {
    Rect::new(
        place.x + 2,
        place.y + 1,
        place.width.saturating_sub(4),
        place.height.saturating_sub(2),
    )
}

/// The cells that the widest line of a choice takes.
pub fn widest(choice: &Choice) -> usize {
    let words = choice.options.iter().map(|(words, _)| width(words));
    words.max().unwrap_or(0).max(width(choice.title)).max(26)
}

/// The first option in sight.
pub fn first(choice: &Choice, inside: Rect) -> usize {
    (choice.selected + 1).saturating_sub(usize::from(inside.height.saturating_sub(1)))
}

/// The option of a choice that is drawn at a cell of a screen.
pub fn option_at(overlay: &Overlay, size: (u16, u16), at: (u16, u16)) -> Option<usize> {
    let Overlay::Choice(choice) = overlay else {
        return None;
    };
    let screen = Rect::new(0, 0, size.0, size.1);
    let inside = inside(place(screen, choice.options.len() + 1, widest(choice)));
    let line = at.1.checked_sub(inside.y + 1)?;
    let option = first(choice, inside) + usize::from(line);
    (inside.contains(at.into()) && option < choice.options.len()).then_some(option)
}
