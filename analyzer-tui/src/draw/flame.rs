//! Draws the flame graph: the root at the top, callees under their callers.

use std::hash::{Hash, Hasher};

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Modifier;
use rustc_hash::FxHasher;

use report::change::Change;
use report::timeline::Activity;

use super::put;
use super::theme::Theme;
use crate::flame::{change, flames, found, label, sentence};
use crate::state::app::App;
use crate::text_fit::{fit, fit_name, width};

/// Draws the boxes below the graph's root.
pub(super) fn draw(app: &App, theme: &Theme, body: Rect, cells: &mut Buffer) {
    let tree = app.documents.tree(&app.experiments);
    let metric = app.documents.flame_metric();
    let at = tree.column(metric);
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
    let searched = app.searched.to_lowercase();
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
        let name = tree.name(flame.row);
        let change = app.is_compared().then(|| change(tree, flame.row, at));
        let mut style = match (change, Activity::of_name(name)) {
            (Some(change), _) => theme.change(change),
            (None, Some(activity)) => theme.activity(activity),
            (None, None) => theme.flame(number(name)),
        };
        if !searched.is_empty() && name.to_lowercase().contains(&searched) {
            style = style.patch(theme.search_hit());
        }
        if flame.row == app.tree.selected {
            style = style.add_modifier(Modifier::REVERSED | Modifier::BOLD);
        }
        // A mark at the beginning separates boxes also without colours.
        let room = usize::from(area.width);
        let mark = change.map_or('▏', Change::mark);
        let text = format!(
            "{mark}{}",
            fit_name(&label(tree, flame.row, at), room.saturating_sub(1))
        );
        let filled = format!("{text}{:1$}", "", room.saturating_sub(width(&text)));
        put(cells, area, &filled, style);
    }
    detail(app, theme, body, cells);
}

/// A hash of a name, for its colour.
fn number(name: &str) -> u64 {
    let mut hasher = FxHasher::default();
    name.hash(&mut hasher);
    hasher.finish() >> 32
}

/// The title of the view.
pub(super) fn title(app: &App) -> String {
    let tree = app.documents.tree(&app.experiments);
    let metric = app.documents.flame_metric();
    let column = tree.column(metric);
    let below = match tree.depth(app.tree.zoom) {
        0 => String::new(),
        _ => format!(" below {}", tree.name(app.tree.zoom)),
    };
    let compared = if app.is_compared() {
        ", < less than (1), > more, - gone, + new"
    } else {
        ""
    };
    let searched = if app.searched.is_empty() {
        String::new()
    } else {
        let sums = found(tree, column, &app.searched).into_iter();
        let parts = sums.zip(tree.sides(0, column)).map(|(sum, whole)| {
            let percent = report::text::percent(sum, whole);
            format!("{}, {percent:.2} %", tree.amount(column, sum))
        });
        let parts: Vec<String> = parts.collect();
        format!(", \"{}\" {}", app.searched, parts.join(" and "))
    };
    format!("Attributed {}{below}{searched}{compared}", metric.label())
}

fn detail(app: &App, theme: &Theme, body: Rect, cells: &mut Buffer) {
    let tree = app.documents.tree(&app.experiments);
    let column = app.tree_column();
    let (row, name) = (app.tree.selected, tree.label(app.tree.selected));
    let line = Rect::new(body.x, body.bottom().saturating_sub(1), body.width, 1);
    let text = if app.is_compared() {
        sentence(tree, row, column)
    } else {
        let all = tree.time(row, column);
        let percent = report::text::percent(all, tree.time(0, column));
        let own = tree.amount(column, tree.own_time(row, column));
        let all = tree.amount(column, all);
        format!("{all}  {percent:.2} %  (own {own})  {name}")
    };
    let text = fit(&text, usize::from(line.width));
    put(cells, line, &text, theme.faint());
}
