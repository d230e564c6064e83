//! Draws the app's state into the cells of a screen.

mod flame;
mod list;
mod overlay;
pub mod theme;
mod timeline;

use ratatui::Frame;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use report::json::mode_name;

use crate::bars;
use crate::state::app::App;
use crate::text_fit::{fit, fit_name, width, wrap};
use crate::view::View;

use theme::Theme;

/// Draws a screen.
pub fn draw(app: &App, theme: &Theme, frame: &mut Frame<'_>) {
    let area = frame.area();
    let cells = frame.buffer_mut();
    screen(app, theme, area, cells);
    if let Some(at) = overlay::draw(app, theme, area, cells) {
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
    if let Some(text) = app.together() {
        let room = usize::from(parts.together.width);
        put(cells, parts.together, &fit(&text, room), Style::new());
    }
    match app.view {
        View::Timeline => timeline::draw(app, theme, cells),
        View::Flame => flame::draw(app, theme, parts.body, cells),
        _ => list::draw(app, theme, cells),
    }
    if let Some((notice, more)) = app.notice() {
        let room = usize::from(parts.notice.width);
        let more = match more {
            0 if width(notice) + 2 <= room => String::new(),
            0 => " (all of it: 0)".to_owned(),
            more => format!(" (and {more} more: 0)"),
        };
        let room = room.saturating_sub(more.len());
        let line = format!("! {}{more}", fit(notice, room.saturating_sub(2)));
        put(cells, parts.notice, &line, theme.warning());
    }
    hints(app, theme, parts.hints, cells);
}

fn tabs(app: &App, theme: &Theme, area: Rect, cells: &mut Buffer) {
    for tab in bars::tabs(area.width, app.recorded()) {
        let style = if tab.view == app.view {
            theme.tab()
        } else {
            theme.faint()
        };
        let at = from(area, tab.column);
        put(cells, at, &tab.text, style);
        // The key stands out: on a narrow screen the name follows without a space.
        if tab.view != app.view
            && let Some(key) = tab.view.key()
        {
            put(cells, at, &key.to_string(), theme.key());
        }
    }
}

fn title(app: &App, theme: &Theme, area: Rect, cells: &mut Buffer) {
    let what = match app.view {
        View::Flame => flame::title(app),
        View::Timeline => timeline::title(app),
        View::Overview => "Where the time went".to_owned(),
        View::Experiment if app.experiments.parts().len() > 1 => "Experiments".to_owned(),
        View::Experiment => format!("Experiment {}", app.experiments.name),
        View::Callers => "Callers and callees of ".to_owned(),
        View::Source | View::Disassembly => format!("{} of ", app.view.title()),
        _ => app.list.title().to_owned(),
    };
    let live = app.live.map_or_else(String::new, |live| {
        format!("recording: {:.1} s, ", live.until.seconds())
    });
    let making = app
        .making()
        .map_or_else(String::new, |what| format!("making {what} …, "));
    let mode = format!(
        " {making}{live}{} mode ",
        mode_name(app.settings.report.mode)
    );
    let filter = app.settings.filter();
    let filter = filter.map_or_else(String::new, |filter| format!("  [{filter}]"));
    let room = usize::from(area.width).saturating_sub(mode.len() + 1);
    let name = match app.view {
        View::Callers => &app.function,
        View::Source | View::Disassembly => app.function_of_code(),
        _ => "",
    };
    let name = fit_name(name, room.saturating_sub(width(&what) + width(&filter)));
    let text = fit(&format!("{what}{name}{filter}"), room);
    put(cells, area, &text, theme.strong());
    let at = area.width.saturating_sub(mode.len() as u16);
    put(cells, from(area, at), &mode, theme.selected());
}

fn hints(app: &App, theme: &Theme, area: Rect, cells: &mut Buffer) {
    if let Some(message) = &app.message {
        let style = if message.is_warning {
            theme.warning()
        } else {
            Style::new()
        };
        // A long message covers the lines above for as long as it stands.
        let lines = wrap(&message.text, usize::from(area.width));
        let top = area.bottom().saturating_sub(lines.len() as u16);
        for (y, text) in (top..area.bottom()).zip(&lines) {
            let line = Rect { y, ..area };
            put(cells, line, &" ".repeat(usize::from(line.width)), style);
            cells.set_style(line, Style::reset());
            put(cells, line, text, style);
        }
        return;
    }
    for hint in bars::hints(app, area.width) {
        put(cells, from(area, hint.column), hint.key, theme.key());
        let after = hint.column + width(hint.key) as u16 + 1;
        put(cells, from(area, after), hint.binding.hint, theme.faint());
    }
}

/// The part of a line from a column to its end.
fn from(area: Rect, column: u16) -> Rect {
    let column = column.min(area.width);
    Rect::new(area.x + column, area.y, area.width - column, area.height)
}

/// Writes a text on the first line of an area, cut to the area's width.
fn put(cells: &mut Buffer, area: Rect, text: &str, style: Style) {
    if area.width > 0 && area.height > 0 {
        cells.set_stringn(area.x, area.y, text, usize::from(area.width), style);
    }
}
