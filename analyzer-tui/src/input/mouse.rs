//! Mouse input.

use omp_model::metrics::{Quantity, SortKey};
use ratatui::crossterm::event::{
    KeyCode, KeyEvent, KeyModifiers, MouseButton, MouseEvent, MouseEventKind,
};

use super::keys::{Action, Motion};
use crate::flame::flames;
use crate::layout::Parts;
use crate::row_order::RowOrder;
use crate::state::app::{App, Effect};
use crate::state::overlay::Overlay;
use crate::view::{View, has_own_order};
use crate::{bars, boxes, columns};

/// The number of rows that the wheel moves by.
const WHEEL: usize = 3;

impl App {
    /// The mouse moved or was pressed.
    pub fn mouse(&mut self, event: MouseEvent) -> Effect {
        let (column, line) = (event.column, event.row);
        if !matches!(self.overlay, Overlay::None) {
            return self.mouse_on_overlay(event);
        }
        let on_body = self.parts().body.contains((column, line).into());
        match event.kind {
            MouseEventKind::Down(MouseButton::Left) => {
                return self.press(column, line);
            }
            MouseEventKind::Drag(MouseButton::Left) if self.view == View::Timeline => {
                self.drag_on_timeline(column);
            }
            MouseEventKind::ScrollUp | MouseEventKind::ScrollDown if on_body => {
                self.wheel((column, line), event.kind == MouseEventKind::ScrollUp);
            }
            _ => {}
        }
        Effect::None
    }

    /// The wheel scrolls help and choices. A click on an option takes it; another click closes the
    /// overlay.
    fn mouse_on_overlay(&mut self, event: MouseEvent) -> Effect {
        let key = match event.kind {
            MouseEventKind::ScrollUp => KeyCode::Up,
            MouseEventKind::ScrollDown => KeyCode::Down,
            MouseEventKind::Down(MouseButton::Left) => {
                let at = (event.column, event.row);
                let hit = boxes::option_at(&self.overlay, self.size(), at);
                let (Overlay::Choice(choice), Some(option)) = (&mut self.overlay, hit) else {
                    self.overlay = Overlay::None;
                    return Effect::None;
                };
                choice.selected = option;
                KeyCode::Enter
            }
            _ => return Effect::None,
        };
        // A prompt has nothing to scroll.
        match self.overlay {
            Overlay::Prompt(_) => Effect::None,
            _ => self.key(KeyEvent::new(key, KeyModifiers::NONE)),
        }
    }

    fn wheel(&mut self, (column, line): (u16, u16), up: bool) {
        match self.view {
            View::Timeline => self.wheel_on_timeline((column, line), up),
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

    fn press(&mut self, column: u16, line: u16) -> Effect {
        let parts = self.parts();
        if parts.tabs.contains((column, line).into()) {
            self.message = None;
            return match bars::tab_at(self, column) {
                Some(view) => self.perform(Action::Go(view)),
                None => Effect::None,
            };
        }
        let hint = bars::hint_at(self, column);
        self.message = None;
        if parts.hints.contains((column, line).into()) {
            return hint.map_or(Effect::None, |action| self.perform(action));
        }
        self.press_on_body(parts, (column, line));
        Effect::None
    }

    fn press_on_body(&mut self, parts: Parts, (column, line): (u16, u16)) {
        match self.view {
            View::Timeline => self.press_on_timeline(column, line),
            View::Flame if parts.body.contains((column, line).into()) => {
                self.press_on_flame(column, usize::from(line - parts.body.y));
            }
            View::Flame => {}
            _ => {
                let list = self.list_parts();
                if list.head.contains((column, line).into()) {
                    self.press_on_heading(column);
                }
                let rows = list.rows;
                if rows.contains((column, line).into()) {
                    let row = usize::from(line - rows.y) + self.cursor().top;
                    if row < self.list.lines().len() {
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

    /// Sorts by a column, or reverses the order if it is sorted by that column already.
    fn press_on_heading(&mut self, x: u16) {
        let Some(heading) = columns::heading_at(self, x) else {
            return;
        };
        let column = heading
            .column
            .and_then(|at| self.list.table(heading.block)?.columns.get(at));
        let quantity = match column {
            None => Some(Quantity::Name),
            Some(column) => column.quantity,
        };
        match (self.view, quantity) {
            (view, _) if has_own_order(view) => {
                let id = column.map_or(RowOrder::NAME, |column| column.id.as_str());
                let by = RowOrder {
                    side: heading.side,
                    ..RowOrder::by(id)
                };
                let now = self.row_orders.get(&view);
                let reversed = now.is_some_and(|now| now.is_by(&by) && !now.reversed);
                self.order_rows(Some(RowOrder { reversed, ..by }));
            }
            (View::Functions | View::Callers | View::Tree, Some(quantity)) => {
                let now = self.documents.sort;
                let reversed = now.quantity == quantity && !now.reversed;
                let key = SortKey { quantity, reversed };
                self.change(|settings| settings.report.sort = Some(key));
            }
            _ => {}
        }
    }

    fn press_on_flame(&mut self, column: u16, line: usize) {
        let width = self.size().0;
        let time = self.tree_column();
        let tree = self.documents.tree(&self.experiments);
        let boxes = flames(tree, self.tree.zoom, time, 0.5 / f64::from(width.max(1)));
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
