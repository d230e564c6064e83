//! Draws details of the moment at the cursor.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use report::timeline::Activity;

use super::super::theme::Theme;
use super::super::{from, put};
use crate::state::app::App;
use crate::text_fit::{fit_name, wrap};

/// Draws the thread's state at the cursor, and its callstack.
pub(super) fn draw(app: &App, theme: &Theme, area: Rect, cells: &mut Buffer) {
    let Some(at_cursor) = app.at_cursor() else {
        return;
    };
    let beside = area.x > 0;
    let area = if beside {
        for y in area.top()..area.bottom() {
            put(cells, Rect::new(area.x, y, 1, 1), "│", theme.faint());
        }
        from(area, 2)
    } else {
        area
    };
    let width = usize::from(area.width);
    let mut lines = app
        .cursor_lines(&at_cursor)
        .into_iter()
        .flat_map(|text| wrap(&text, width))
        .map(|text| (text, theme.strong()))
        .collect::<Vec<_>>();
    lines.extend(app.callstack(&at_cursor).into_iter().map(|name| {
        let tint = Activity::of_name(&name);
        let style = tint.map_or(Style::new(), |activity| {
            theme.text_colour(activity.family())
        });
        (name, style)
    }));
    for (at, (text, style)) in lines.iter().take(usize::from(area.height)).enumerate() {
        let line = Rect::new(area.x, area.y + at as u16, area.width, 1);
        let last = at + 1 == usize::from(area.height) && lines.len() > at + 1;
        let text = if last {
            format!("… {} more", lines.len() - at)
        } else {
            fit_name(text, width)
        };
        put(cells, line, &text, *style);
    }
}
