//! Layout of the boxes over a view, for drawing and for clicks.

use ratatui::layout::Rect;

use crate::state::overlay::{Choice, Overlay};
use crate::text_fit::width;

/// A centred box, border included, for this many lines of this width.
pub fn centred(area: Rect, lines: usize, widest: usize) -> Rect {
    let width = (widest as u16 + 4).min(area.width);
    let height = (lines as u16 + 2).min(area.height);
    let left = area.x + (area.width - width) / 2;
    let top = area.y + (area.height - height) / 2;
    Rect::new(left, top, width, height)
}

/// The area inside a box's border.
pub fn interior(outer: Rect) -> Rect {
    Rect::new(
        outer.x + 2,
        outer.y + 1,
        outer.width.saturating_sub(4),
        outer.height.saturating_sub(2),
    )
}

/// The width of a choice's widest line, in cells.
pub fn widest_line(choice: &Choice) -> usize {
    let words = choice.options.iter().map(|(words, _)| width(words));
    words.max().unwrap_or(0).max(width(choice.title)).max(26)
}

/// The first option in sight.
pub fn first_in_sight(choice: &Choice, interior: Rect) -> usize {
    (choice.selected + 1).saturating_sub(usize::from(interior.height.saturating_sub(1)))
}

/// The option of a choice at a cell of the screen.
pub fn option_at(overlay: &Overlay, size: (u16, u16), at: (u16, u16)) -> Option<usize> {
    let Overlay::Choice(choice) = overlay else {
        return None;
    };
    let screen = Rect::new(0, 0, size.0, size.1);
    let outer = centred(screen, choice.options.len() + 1, widest_line(choice));
    let interior = interior(outer);
    let line = at.1.checked_sub(interior.y + 1)?;
    let option = first_in_sight(choice, interior) + usize::from(line);
    (interior.contains(at.into()) && option < choice.options.len()).then_some(option)
}
