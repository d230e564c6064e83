//! The tabs and the hints as they fit a screen, for drawing and for clicks.

use crate::input::bindings::bindings;
use crate::input::keys::{Action, Binding};
use crate::state::app::App;
use crate::text_fit::width;
use crate::view::{Recorded, View};

/// A view's tab on the screen.
#[derive(Clone, Debug)]
pub struct Tab {
    /// The view.
    pub view: View,
    /// The tab's first column.
    pub column: u16,
    /// The key and the view's name.
    pub text: String,
}

impl Tab {
    /// The column after the tab.
    fn end(&self) -> u16 {
        self.column + width(&self.text) as u16
    }
}

/// The tabs of all views that there are: with long names if they fit, else with short names, at last without
/// spaces before them, else the keys alone.
pub fn tabs(room: u16, recorded: Recorded) -> Vec<Tab> {
    let tabs_named = |name, space, gap| tabs_named(recorded, name, space, gap);
    let fits = |tabs: &Vec<Tab>| tabs.last().is_some_and(|last| last.end() <= room);
    let named = [
        tabs_named(View::title as fn(View) -> &'static str, " ", 2),
        tabs_named(View::short, " ", 2),
        tabs_named(View::short, " ", 1),
        tabs_named(View::short, "", 1),
    ];
    let fitting = named.into_iter().find(fits);
    fitting.unwrap_or_else(|| tabs_named(|_| "", "", 1))
}

fn tabs_named(
    recorded: Recorded,
    name: fn(View) -> &'static str,
    space: &str,
    gap: u16,
) -> Vec<Tab> {
    let mut column = 0;
    let tab = |view: View| {
        let tab = Tab {
            view,
            column,
            text: format!("{}{space}{}", view.key().unwrap_or(' '), name(view)),
        };
        column = tab.end() + gap;
        tab
    };
    View::tabs(recorded).map(tab).collect()
}

/// The view with the tab that covers a column.
pub fn tab_at(app: &App, column: u16) -> Option<View> {
    let mut tabs = tabs(app.size().0, app.recorded()).into_iter();
    let hit = tabs.find(|tab| (tab.column..tab.end()).contains(&column));
    hit.map(|tab| tab.view)
}

/// A key and its purpose on the last line of the screen.
#[derive(Clone, Copy, Debug)]
pub struct Hint {
    /// The hint's first column.
    pub column: u16,
    /// The first of the binding's keys.
    pub key: &'static str,
    /// The binding.
    pub binding: &'static Binding,
}

/// The hints of the current view that fit a width. The way to the other keys and the way back are
/// first, where every screen shows them.
pub fn hints(app: &App, room: u16) -> Vec<Hint> {
    let mut column = 0;
    let mut hints = Vec::new();
    let told = || bindings(app.view).filter(|binding| !binding.hint.is_empty());
    let is_first = |binding: &&Binding| matches!(binding.action, Action::Help | Action::Back);
    let first = told().filter(is_first);
    for binding in first.chain(told().filter(|binding| !is_first(binding))) {
        let key = binding.label.split(' ').next().unwrap_or_default();
        let length = (width(key) + width(binding.hint) + 3) as u16;
        if column + length > room + 2 {
            break;
        }
        hints.push(Hint {
            column,
            key,
            binding,
        });
        column += length;
    }
    hints
}

/// The action of the hint at a column.
pub fn hint_at(app: &App, column: u16) -> Option<Action> {
    // A message covers the hints.
    if app.message.is_some() {
        return None;
    }
    let hints = hints(app, app.parts().hints.width);
    let hit = hints.iter().rev().find(|hint| hint.column <= column);
    hit.map(|hint| hint.binding.action)
}
