//! The mouse.

use ratatui::crossterm::event::{MouseButton, MouseEvent, MouseEventKind};

use super::keys::{Action, Motion};
use super::overlay::Overlay;
use super::{App, Effect, View};
use crate::draw;
use crate::flame::flames;
use crate::layout;

/// Rows that a turn of the wheel moves by.
const WHEEL: usize = 3;

impl App {
    /// The mouse moved or was pressed.
    pub fn mouse(&mut self, event: MouseEvent) -> Effect {
        let (column, line) = (event.column, event.row);
        if !matches!(self.overlay, Overlay::None) {
            if event.kind == MouseEventKind::Down(MouseButton::Left) {
                self.overlay = Overlay::None;
            }
            return Effect::None;
        }
        let on_body = self.parts().body.contains((column, line).into());
        match event.kind {
            MouseEventKind::Down(MouseButton::Left) => {
                self.message = None;
                self.press(column, line);
            }
            MouseEventKind::Drag(MouseButton::Left) if self.view == View::Timeline => {
                self.drag_on_timeline(column);
            }
            MouseEventKind::ScrollUp | MouseEventKind::ScrollDown if on_body => {
                self.wheel(column, event.kind == MouseEventKind::ScrollUp);
            }
            _ => {}
        }
        Effect::None
    }

    fn wheel(&mut self, column: u16, up: bool) {
        match self.view {
            View::Timeline => self.wheel_on_timeline(column, up),
            View::Flame => self.move_selection(if up { Motion::Up } else { Motion::Down }),
            _ => {
                let at = self.cursor().selected;
                self.select_row(if up {
                    at.saturating_sub(WHEEL)
                } else {
                    at + WHEEL
                });
            }
        }
    }

    fn press(&mut self, column: u16, line: u16) {
        let parts = self.parts();
        if parts.tabs.contains((column, line).into()) {
            if let Some(view) = draw::tab_at(self.size().0, column) {
                self.perform(Action::Go(view));
            }
            return;
        }
        match self.view {
            View::Timeline => self.press_on_timeline(column, line),
            View::Flame if parts.body.contains((column, line).into()) => {
                self.press_on_flame(column, usize::from(line - parts.body.y));
            }
            View::Flame => {}
            _ => {
                let rows = layout::list(parts.body, !self.table.columns.is_empty()).rows;
                if rows.contains((column, line).into()) {
                    let row = usize::from(line - rows.y) + self.cursor().top;
                    if row < self.table.rows.len() {
                        let again = row == self.cursor().selected;
                        self.select_row(row);
                        if again {
                            self.enter();
                        }
                    }
                }
            }
        }
    }

    fn press_on_flame(&mut self, column: u16, line: usize) {
        let width = self.size().0;
        let (_, metric) = self.data.flame_metric();
        let tree = self.data.tree(&self.recording);
        let boxes = flames(tree, self.tree.zoom, metric, 0.5 / f64::from(width.max(1)));
        let depth = line + self.tree.flame_top;
        let hit = boxes
            .iter()
            .find(|flame| flame.depth == depth && flame.cells(width).contains(&column));
        if let Some(row) = hit.map(|flame| flame.row) {
            let again = row == self.tree.selected;
            self.tree.selected = row;
            if again {
                self.enter();
            }
        }
    }
}
