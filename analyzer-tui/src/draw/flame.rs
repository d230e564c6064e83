//! The flame graph: the root at the top, callees under their callers.

use std::hash::{Hash, Hasher};

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Modifier;
use rustc_hash::FxHasher;

use super::theme::Theme;
use super::{fit_name, put};
use crate::app::App;
use crate::change::Change;
use crate::compare::Beside;
use crate::flame::{change, flames, sides};
use report::timeline::Activity;

/// Draws the boxes below the graph's root.
pub(super) fn draw(app: &App, theme: &Theme, body: Rect, cells: &mut Buffer) {
    let tree = app.data.tree(&app.recording);
    let (metric, at) = app.data.flame_metric();
    let height = usize::from(body.height.saturating_sub(1));
    let least = 0.5 / f64::from(body.width.max(1));
    let boxes = flames(tree, app.tree.zoom, at, least);
    if boxes.is_empty() {
        let text = format!(
            "there is no {} here: s chooses another metric",
            metric.label()
        );
        put(cells, body, &text, theme.faint());
        return;
    }
    let wanted = app.wanted.to_lowercase();
    let beside = Beside::of(&app.data, &app.recording);
    for flame in &boxes {
        let Some(line) = flame.depth.checked_sub(app.tree.flame_top) else {
            continue;
        };
        let range = flame.cells(body.width);
        if line >= height || range.is_empty() {
            continue;
        }
        let area = Rect::new(
            body.x + range.start,
            body.y + line as u16,
            range.len() as u16,
            1,
        );
        let name = &tree.rows[flame.row].name;
        let change = beside.is_some().then(|| change(tree, flame.row, at));
        let mut style = match (change, Activity::of_name(name)) {
            (Some(change), _) => theme.change(change),
            (None, Some(activity)) => theme.activity(activity),
            (None, None) => theme.flame(number(name)),
        };
        if !wanted.is_empty() && name.to_lowercase().contains(&wanted) {
            style = style.patch(theme.found());
        }
        if flame.row == app.tree.selected {
            style = style.add_modifier(Modifier::REVERSED | Modifier::BOLD);
        }
        // A mark at its beginning parts a box from its neighbour where there is no colour.
        let width = usize::from(area.width);
        let mark = change.map_or('▏', Change::mark);
        let text = format!("{mark}{}", fit_name(name, width.saturating_sub(1)));
        let filled = format!("{text:<width$}");
        put(cells, area, &filled, style);
    }
    detail(app, theme, body, cells);
}

/// A number by which boxes of one name have one colour.
fn number(name: &str) -> u64 {
    let mut hasher = FxHasher::default();
    name.hash(&mut hasher);
    hasher.finish() >> 32
}

fn detail(app: &App, theme: &Theme, body: Rect, cells: &mut Buffer) {
    let tree = app.data.tree(&app.recording);
    let (_, at) = app.data.flame_metric();
    let Some(row) = tree.rows.get(app.tree.selected) else {
        return;
    };
    let total = tree.rows[0].attributed[at];
    let percent = if total > 0.0 {
        100.0 * row.attributed[at] / total
    } else {
        0.0
    };
    let line = Rect::new(body.x, body.bottom().saturating_sub(1), body.width, 1);
    let text = match Beside::of(&app.data, &app.recording) {
        Some(beside) => beside.sentence(&sides(tree, app.tree.selected, at), &row.name),
        None => format!(
            "{:.3} s  {percent:.2} %  (own {:.3} s)  {}",
            row.attributed[at], row.exclusive[at], row.name
        ),
    };
    put(cells, line, &text, theme.faint());
}
