//! Moves the selection in lists, the call tree and the flame graph.

use report::document::Target;

use super::keys::Motion;
use crate::flame::flames;
use crate::state::app::App;
use crate::view::View;

impl App {
    pub(super) fn move_selection(&mut self, motion: Motion) {
        match self.view {
            View::Timeline => return self.move_on_timeline(motion),
            View::Flame => return self.move_in_flame(motion),
            View::Tree if matches!(motion, Motion::Left | Motion::Right) => {
                self.fold(motion == Motion::Left);
                return;
            }
            _ => {}
        }
        let height = self.list_parts().rows.height;
        let page = usize::from(height).saturating_sub(1).max(1);
        let last = self.list.lines().len().saturating_sub(1);
        let at = self.cursor().selected;
        self.select_row(match motion {
            Motion::Up | Motion::Left => at.saturating_sub(1),
            Motion::Down | Motion::Right => at + 1,
            Motion::PageUp => at.saturating_sub(page),
            Motion::PageDown => at + page,
            Motion::First => 0,
            Motion::Last => last,
        });
    }

    pub(super) fn enter(&mut self) {
        match self.view {
            View::Overview if self.has_line() => self.show_directive(),
            View::Overview | View::Functions | View::Callers | View::Regions => {
                let function = self.list.function(self.cursor().selected);
                match function.map(str::to_owned) {
                    Some(name) => self.centre_on(name),
                    None => self.tell("this line leads to no function"),
                }
            }
            View::Tree => {
                let tree = self.documents.tree(&self.experiments);
                let is_open = tree
                    .keys
                    .get(self.tree.selected)
                    .is_some_and(|key| self.tree.open.contains(key));
                self.set_open(self.tree.selected, !is_open);
                self.refresh();
            }
            View::Flame if self.tree.zoom == self.tree.selected => {}
            View::Flame => {
                self.leave();
                self.tree.zoom = self.tree.selected;
                self.tree.flame_top = 0;
                self.follow_flame();
            }
            View::Timeline => self.zoom_to_interval(),
            View::Source => self.go(View::Disassembly),
            View::Disassembly => self.go(View::Source),
            View::Threads => self.show_thread(),
            View::Races => self.tell("r shows all of it: rdetail, ddetail, udetail, vdetail"),
            view if view.order().is_some() => self.show_directive(),
            _ => {}
        }
    }

    /// Shows the selected thread's row of the timeline.
    fn show_thread(&mut self) {
        let target = self.list.target(self.cursor().selected);
        let Some(&Target::Thread(thread)) = target else {
            return self.tell("a row of a comparison is of several threads");
        };
        let mut threads = self.threads().iter();
        if let Some(row) = threads.position(|other| *other == thread) {
            self.timeline.row = row;
        }
        self.go(View::Timeline);
    }

    /// Whether the selected line is about a line of source.
    fn has_line(&self) -> bool {
        let target = self.list.target(self.cursor().selected);
        matches!(target, Some(Target::Line(_)))
    }

    /// Shows the source of the selected construct's directive, or of the selected advice.
    fn show_directive(&mut self) {
        let at = self.cursor().selected;
        let function = match self.list.target(at) {
            Some(Target::Line(place)) => place.function.as_deref(),
            _ => self.list.function(at),
        };
        let Some(function) = function.map(str::to_owned) else {
            return self.tell("this line leads to no source");
        };
        self.leave();
        self.function = function;
        self.line = self.line_of(at);
        self.show_or_want(View::Source);
    }

    /// Shows the callers and callees of a function.
    fn centre_on(&mut self, name: String) {
        if self.view == View::Callers && name == self.function {
            return;
        }
        self.leave();
        if name != self.function {
            self.function = name;
            self.line = None;
        }
        match self.view {
            View::Callers => {
                self.refresh();
                self.select_centre();
            }
            _ => self.show_or_want(View::Callers),
        }
    }

    /// Makes the caller of the flame graph's root the root.
    pub(super) fn zoom_out_of_flame(&mut self) {
        let tree = self.documents.tree(&self.experiments);
        self.tree.zoom = tree.parents.get(self.tree.zoom).copied().unwrap_or(0);
        self.follow_flame();
    }

    fn set_open(&mut self, row: usize, open: bool) {
        let tree = self.documents.tree(&self.experiments);
        if let Some(&key) = tree.keys.get(row) {
            if open && tree.has_children(row) {
                self.tree.open.insert(key)
            } else {
                self.tree.open.remove(&key)
            };
        }
    }

    /// Folds the selected row or goes to its caller; unfolds it or goes to its first callee.
    fn fold(&mut self, fold: bool) {
        let at = self.tree.selected;
        let tree = self.documents.tree(&self.experiments);
        let Some(key) = tree.keys.get(at) else {
            return;
        };
        let is_open = self.tree.open.contains(key);
        let has_more = tree.has_children(at);
        if fold && is_open {
            self.set_open(at, false);
        } else if fold {
            self.tree.selected = tree.parents[at];
        } else if has_more && is_open {
            self.tree.selected = at + 1;
        } else if has_more {
            self.set_open(at, true);
        }
        self.refresh();
    }

    pub(super) fn fold_all(&mut self, fold: bool) {
        let tree = self.documents.tree(&self.experiments);
        self.tree.open.clear();
        if fold {
            self.tree.selected = 0;
        } else {
            self.tree.open.extend(&tree.keys);
        }
        self.refresh();
    }

    fn move_in_flame(&mut self, motion: Motion) {
        let column = self.tree_column();
        let tree = self.documents.tree(&self.experiments);
        let at = self.tree.selected;
        let width = f64::from(self.size.0.max(1));
        let next = match motion {
            Motion::Up if at != self.tree.zoom => tree.parents.get(at).copied(),
            Motion::First => Some(self.tree.zoom),
            Motion::Down => tree.largest_child(at, column),
            Motion::Left | Motion::Right => {
                let boxes = flames(tree, self.tree.zoom, column, 0.5 / width);
                let own = boxes.iter().find(|flame| flame.row == at);
                let depth = own.map_or(0, |flame| flame.depth);
                let row: Vec<usize> = boxes
                    .iter()
                    .filter(|flame| flame.depth == depth)
                    .map(|flame| flame.row)
                    .collect();
                let own = row.iter().position(|&row| row == at);
                own.and_then(|own| match motion {
                    Motion::Left => row.get(own.checked_sub(1)?).copied(),
                    _ => row.get(own + 1).copied(),
                })
            }
            _ => None,
        };
        if let Some(next) = next {
            self.tree.selected = next;
        }
        self.follow_flame();
    }

    /// Selects the next hot line; after the last one, the first.
    pub(super) fn select_hot_line(&mut self) {
        let hot = self.hot_lines();
        let here = self.cursor().selected;
        let next = hot.iter().find(|&&at| at > here).or(hot.first());
        match next {
            Some(&at) => self.select_with_room(at),
            None => self.tell("no line here has any of this time"),
        }
    }
}
