//! The app's state as cells.

mod flame;
mod list;
mod over;
pub mod theme;
mod timeline;
mod words;

use ratatui::Frame;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use crate::app::keys::{Action, Binding};
use crate::app::{App, View, keys};
use crate::compare::Beside;
use crate::tables::mode_name;

use theme::Theme;
use words::{fit, wrap};

pub(crate) use list::column_at;
pub(crate) use over::option_at;
pub(crate) use words::fit_name;

pub(crate) use timeline::{facts as timeline_facts, stack as timeline_stack};

/// Draws a screen.
pub fn draw(app: &App, theme: &Theme, frame: &mut Frame<'_>) {
    let area = frame.area();
    let cells = frame.buffer_mut();
    screen(app, theme, area, cells);
    if let Some(at) = over::draw(app, theme, area, cells) {
        frame.set_cursor_position(at);
    }
}

fn screen(app: &App, theme: &Theme, area: Rect, cells: &mut Buffer) {
    if area.width < 20 || area.height < 5 {
        put(cells, area, "too small", theme.warning());
        return;
    }
    let parts = app.parts();
    tabs(app, theme, parts.tabs, cells);
    title(app, theme, parts.title, cells);
    match app.view {
        View::Timeline => timeline::draw(app, theme, cells),
        View::Flame => flame::draw(app, theme, parts.body, cells),
        _ => list::draw(app, theme, parts.body, cells),
    }
    if let Some((notice, more)) = app.notice() {
        let width = usize::from(parts.notice.width);
        let more = match more {
            0 if notice.chars().count() + 2 <= width => String::new(),
            0 => " (all of it: 0)".to_owned(),
            more => format!(" (and {more} more: 0)"),
        };
        let room = width.saturating_sub(more.len());
        let line = format!("! {}{more}", fit(&notice, room.saturating_sub(2)));
        put(cells, parts.notice, &line, theme.warning());
    }
    hints(app, theme, parts.hints, cells);
}

/// The tabs as they fit a width: their words, and where each begins.
fn tab_words(width: u16) -> Vec<(View, u16, String)> {
    let words = |short: bool, apart: u16| {
        let mut at = 0;
        let mut all = Vec::new();
        for view in View::ALL {
            let name = if short { view.short() } else { view.title() };
            let word = format!("{} {name}", view.key());
            let length = word.chars().count() as u16;
            all.push((view, at, word));
            at += length + apart;
        }
        (all, at)
    };
    let fits = |(_, length): &(Vec<_>, u16)| *length <= width;
    let wide = Some(words(false, 2)).filter(|(_, length)| *length + 10 <= width);
    let narrow = || Some(words(true, 2)).filter(fits);
    wide.or_else(narrow).unwrap_or_else(|| words(true, 1)).0
}

/// The view whose tab is at a column.
pub fn tab_at(width: u16, column: u16) -> Option<View> {
    let words = tab_words(width);
    let hit = words
        .iter()
        .find(|(_, at, word)| (*at..*at + word.chars().count() as u16).contains(&column));
    hit.map(|(view, _, _)| *view)
}

fn tabs(app: &App, theme: &Theme, area: Rect, cells: &mut Buffer) {
    for (view, at, word) in tab_words(area.width) {
        let style = match view == app.view {
            true => theme.tab(),
            false => theme.faint(),
        };
        put(cells, from(area, at), &word, style);
    }
}

fn title(app: &App, theme: &Theme, area: Rect, cells: &mut Buffer) {
    let what = match app.view {
        View::Flame => {
            let tree = app.data.tree(&app.recording);
            let root = tree.rows.get(app.tree.zoom);
            let below = root.filter(|row| row.depth > 0);
            let below = below.map_or_else(String::new, |row| format!(" below {}", row.name));
            let what = format!("Attributed {}{below}", app.data.flame_metric().0.label());
            match Beside::of(&app.data, &app.recording) {
                Some(beside) => beside.title(&format!("{what}, < less than (1), > more")),
                None => what,
            }
        }
        View::Timeline => timeline::title(app),
        _ => app.table.title.clone(),
    };
    let live = app.live.map_or_else(String::new, |live| {
        format!("recording: {:.1} s, ", live.until.seconds())
    });
    let making = app
        .making()
        .map_or_else(String::new, |what| format!("making {what} …, "));
    let mode = format!(" {making}{live}{} mode ", mode_name(app.settings.mode));
    let filter = app.settings.filter.as_ref();
    let filter = filter.map_or_else(String::new, |filter| format!("  [{}]", filter.text()));
    let room = usize::from(area.width).saturating_sub(mode.len() + 1);
    put(
        cells,
        area,
        &fit(&format!("{what}{filter}"), room),
        theme.strong(),
    );
    let at = area.width.saturating_sub(mode.len() as u16);
    put(cells, from(area, at), &mode, theme.selected());
}

fn hints(app: &App, theme: &Theme, area: Rect, cells: &mut Buffer) {
    if let Some(message) = &app.message {
        let style = match message.is_warning {
            true => theme.warning(),
            false => Style::new(),
        };
        put(cells, area, &message.text, style);
        return;
    }
    for (at, label, binding) in hint_words(app, area.width) {
        put(cells, from(area, at), label, theme.key());
        let after = at + label.chars().count() as u16 + 1;
        put(cells, from(area, after), binding.hint, theme.faint());
    }
}

/// The hints that have room: where each begins, its key and what it is of.
fn hint_words(app: &App, width: u16) -> Vec<(u16, &'static str, &'static Binding)> {
    let mut at = 0;
    let mut all = Vec::new();
    for binding in keys::bindings(app.view).filter(|binding| !binding.hint.is_empty()) {
        let label = binding.label.split(' ').next().unwrap_or_default();
        let length = (label.chars().count() + binding.hint.chars().count() + 3) as u16;
        if at + length > width + 2 {
            break;
        }
        all.push((at, label, binding));
        at += length;
    }
    all
}

/// What the hint at a column stands for.
pub(crate) fn hint_at(app: &App, column: u16) -> Option<Action> {
    // An answer stands there instead.
    if app.message.is_some() {
        return None;
    }
    let words = hint_words(app, app.parts().hints.width);
    let hit = words.iter().rev().find(|(at, ..)| *at <= column);
    hit.map(|(.., binding)| binding.action)
}

/// The rest of a line from a column on.
fn from(area: Rect, column: u16) -> Rect {
    let column = column.min(area.width);
    Rect::new(area.x + column, area.y, area.width - column, area.height)
}

/// Writes a line of text where there is room for it.
fn put(cells: &mut Buffer, area: Rect, text: &str, style: Style) {
    if area.width > 0 && area.height > 0 {
        cells.set_stringn(area.x, area.y, text, usize::from(area.width), style);
    }
}
