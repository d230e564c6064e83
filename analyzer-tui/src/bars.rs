//! The names of the views and the hints, as they fit a screen: shared by what draws and what a
//! mouse points at.

use crate::input::bindings::bindings;
use crate::input::keys::{Action, Binding};
use crate::state::app::App;
use crate::text_fit::width;
use crate::view::View;

/// The tabs as they fit a width: their words, and where each begins.
pub fn tab_words(room: u16) -> Vec<(View, u16, String)> {
    let words = |short: bool, apart: u16| {
        let mut at = 0;
        let mut all = Vec::new();
        for view in View::ALL {
            let name = if short { view.short() } else { view.title() };
            let word = format!("{} {name}", view.key());
            let length = width(&word) as u16;
            all.push((view, at, word));
            at += length + apart;
        }
        (all, at)
    };
    let fits = |(_, length): &(Vec<_>, u16)| *length <= room;
    let wide = Some(words(false, 2)).filter(|(_, length)| *length + 10 <= room);
    let narrow = || Some(words(true, 2)).filter(fits);
    wide.or_else(narrow).unwrap_or_else(|| words(true, 1)).0
}

/// The view whose tab is at a column.
pub fn tab_at(room: u16, column: u16) -> Option<View> {
    let words = tab_words(room);
    let hit = words
        .iter()
        .find(|(_, at, word)| (*at..*at + width(word) as u16).contains(&column));
    hit.map(|(view, _, _)| *view)
}

/// The hints that have room: where each begins, its key and what it is of.
pub fn hint_words(app: &App, room: u16) -> Vec<(u16, &'static str, &'static Binding)> {
    let mut at = 0;
    let mut all = Vec::new();
    for binding in bindings(app.view).filter(|binding| !binding.hint.is_empty()) {
        let label = binding.label.split(' ').next().unwrap_or_default();
        let length = (width(label) + width(binding.hint) + 3) as u16;
        if at + length > room + 2 {
            break;
        }
        all.push((at, label, binding));
        at += length;
    }
    all
}

/// What the hint at a column stands for.
pub fn hint_at(app: &App, column: u16) -> Option<Action> {
    // An answer stands there instead.
    if app.message.is_some() {
        return None;
    }
    let words = hint_words(app, app.parts().hints.width);
    let hit = words.iter().rev().find(|(at, ..)| *at <= column);
    hit.map(|(.., binding)| binding.action)
}
