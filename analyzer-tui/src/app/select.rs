//! Moving the selection about in lists, the call tree and the flame graph.

use rustc_hash::FxHashSet;

use super::keys::Motion;
use super::{App, View};
use crate::flame::flames;
use crate::layout;
use crate::tree::Tree;

/// The rows of a tree that are in sight: those whose callers are all open.
pub(super) fn visible(tree: &Tree, open: &FxHashSet<u64>) -> Vec<usize> {
    let mut shown = Vec::new();
    let mut at = 0;
    while at < tree.rows.len() {
        shown.push(at);
        at = match open.contains(&tree.keys[at]) {
            true => at + 1,
            false => tree.ends[at],
        };
    }
    shown
}

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
        let body = self.parts().body;
        let height = layout::list(body, !self.table.columns.is_empty())
            .rows
            .height;
        let page = usize::from(height).saturating_sub(1).max(1);
        let last = self.table.rows.len().saturating_sub(1);
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

    /// Selects a row of the list in sight.
    pub(super) fn select_row(&mut self, row: usize) {
        let row = row.min(self.table.rows.len().saturating_sub(1));
        self.cursors[self.view as usize].selected = row;
        if self.view == View::Tree
            && let Some(&at) = self.tree.shown.get(row)
        {
            self.tree.selected = at;
        }
        self.settle();
    }

    pub(super) fn enter(&mut self) {
        match self.view {
            View::Overview => {
                let row = self.table.rows.get(self.cursor().selected);
                match row.and_then(|row| row.link.clone()) {
                    Some(link) => self.centre_on(link),
                    None => self.tell("this line leads to no function"),
                }
            }
            View::Functions | View::Callers | View::Regions => {
                let row = self.table.rows.get(self.cursor().selected);
                if let Some(name) = row.map(|row| row.name.clone()) {
                    self.centre_on(name);
                }
            }
            View::Tree => {
                let tree = self.data.tree(&self.recording);
                let is_open = tree
                    .keys
                    .get(self.tree.selected)
                    .is_some_and(|key| self.tree.open.contains(key));
                self.set_open(self.tree.selected, !is_open);
                self.refresh();
            }
            View::Flame => {
                self.tree.zoom = self.tree.selected;
                self.tree.flame_top = 0;
                self.follow_flame();
            }
            View::Timeline => self.zoom_to_interval(),
            View::Source => self.go(View::Disassembly),
            View::Disassembly => self.go(View::Source),
            View::Threads => self.show_thread(),
            View::Experiment => {}
        }
    }

    /// Shows the selected thread's row of the timeline.
    fn show_thread(&mut self) {
        let rows = match self.is_compared() {
            true => &[],
            false => self.data.threads(&self.recording),
        };
        let Some(thread) = rows.get(self.cursor().selected).map(|row| row.thread) else {
            return self.tell("beside other experiments a row is of several threads");
        };
        let mut threads = self.threads().iter();
        if let Some(row) = threads.position(|other| *other == thread) {
            self.timeline.row = row;
        }
        self.go(View::Timeline);
    }

    /// Shows the callers and callees of a function.
    fn centre_on(&mut self, name: String) {
        if name != self.centre {
            self.line = None;
        }
        if self.view == View::Callers && name != self.centre {
            self.history.push(std::mem::replace(&mut self.centre, name));
        } else {
            self.centre = name;
        }
        match self.view {
            View::Callers => {
                self.refresh();
                self.select_centre();
            }
            _ => self.turn_or_show(View::Callers),
        }
    }

    pub(super) fn select_centre(&mut self) {
        let own = self.table.rows.iter().position(|row| row.lead == "* ");
        self.select_row(own.unwrap_or(0));
    }

    pub(super) fn back(&mut self) {
        match self.view {
            View::Callers => match self.history.pop() {
                Some(name) => {
                    self.centre = name;
                    self.line = None;
                    self.refresh();
                    self.select_centre();
                }
                None => self.tell("this was the first function"),
            },
            View::Flame => {
                let tree = self.data.tree(&self.recording);
                self.tree.zoom = tree.parents.get(self.tree.zoom).copied().unwrap_or(0);
                self.follow_flame();
            }
            _ => {}
        }
    }

    fn set_open(&mut self, row: usize, open: bool) {
        let tree = self.data.tree(&self.recording);
        if let Some(&key) = tree.keys.get(row) {
            match open && tree.ends[row] > row + 1 {
                true => self.tree.open.insert(key),
                false => self.tree.open.remove(&key),
            };
        }
    }

    /// Folds the selected row or goes to its caller; unfolds it or goes to its first callee.
    fn fold(&mut self, fold: bool) {
        let at = self.tree.selected;
        let tree = self.data.tree(&self.recording);
        let Some(key) = tree.keys.get(at) else {
            return;
        };
        let is_open = self.tree.open.contains(key);
        let has_more = tree.ends[at] > at + 1;
        match (fold, is_open) {
            (true, true) => self.set_open(at, false),
            (true, false) => self.tree.selected = tree.parents[at],
            (false, false) if has_more => self.set_open(at, true),
            (false, true) if has_more => self.tree.selected = at + 1,
            (false, _) => {}
        }
        self.refresh();
    }

    pub(super) fn fold_all(&mut self, fold: bool) {
        let tree = self.data.tree(&self.recording);
        self.tree.open.clear();
        if fold {
            self.tree.selected = 0;
        } else {
            self.tree.open.extend(&tree.keys);
        }
        self.refresh();
    }

    /// Unfolds all callers of a row.
    pub(super) fn reveal(&mut self, row: usize) {
        let tree = self.data.tree(&self.recording);
        let mut at = row;
        while at != 0 {
            at = tree.parents[at];
            self.tree.open.insert(tree.keys[at]);
        }
    }

    /// Follows the largest callee from a row down until a row has more time of its own, unfolding
    /// the way and selecting its end.
    pub(super) fn unfold_hot_path(&mut self, from: usize) {
        let (_, metric) = match self.view {
            View::Flame => self.data.flame_metric(),
            _ => self.data.metric(),
        };
        let tree = self.data.tree(&self.recording);
        let time = |row: usize| {
            tree.rows[row]
                .attributed
                .get(metric)
                .copied()
                .unwrap_or(0.0)
        };
        let mut at = from;
        while at < tree.rows.len() {
            let largest = tree
                .children(at)
                .max_by(|&left, &right| time(left).total_cmp(&time(right)).then(right.cmp(&left)));
            let Some(child) = largest.filter(|&child| time(child) > 0.0) else {
                break;
            };
            if tree.rows[at].exclusive.get(metric).copied().unwrap_or(0.0) > time(child) {
                break;
            }
            self.tree.open.insert(tree.keys[at]);
            at = child;
        }
        self.tree.selected = at;
        self.follow_flame();
    }

    fn move_in_flame(&mut self, motion: Motion) {
        let (_, metric) = self.data.flame_metric();
        let tree = self.data.tree(&self.recording);
        let at = self.tree.selected;
        let width = f64::from(self.size.0.max(1));
        let next = match motion {
            Motion::Up if at != self.tree.zoom => tree.parents.get(at).copied(),
            Motion::First => Some(self.tree.zoom),
            Motion::Down => {
                let time = |row: usize| tree.rows[row].attributed[metric];
                let callees = tree.children(at).filter(|&row| time(row) > 0.0);
                callees.max_by(|&left, &right| {
                    time(left).total_cmp(&time(right)).then(right.cmp(&left))
                })
            }
            Motion::Left | Motion::Right => {
                let boxes = flames(tree, self.tree.zoom, metric, 0.5 / width);
                let own = boxes.iter().find(|flame| flame.row == at);
                let depth = own.map_or(0, |flame| flame.depth);
                let row: Vec<usize> = boxes
                    .iter()
                    .filter(|flame| flame.depth == depth)
                    .map(|flame| flame.row)
                    .collect();
                let place = row.iter().position(|&row| row == at);
                place.and_then(|place| match motion {
                    Motion::Left => row.get(place.checked_sub(1)?).copied(),
                    _ => row.get(place + 1).copied(),
                })
            }
            _ => None,
        };
        if let Some(next) = next {
            self.tree.selected = next;
        }
        self.follow_flame();
    }

    /// Looks up what is selected in the tree of the settings in force. At first that is the root,
    /// with the hot path unfolded.
    pub(super) fn settle_tree(&mut self) {
        let Some([selected, zoom]) = self.tree.moved.take() else {
            return;
        };
        let (_, metric) = self.data.metric();
        let tree = self.data.tree(&self.recording);
        self.tree.selected = tree.counterpart(&selected, metric);
        self.tree.zoom = tree.counterpart(&zoom, metric);
        if self.tree.open.is_empty() {
            self.tree.open.extend(tree.keys.first());
            self.unfold_hot_path(0);
            self.tree.selected = 0;
        }
        self.reveal(self.tree.selected);
        self.follow_flame();
    }

    /// Keeps the selected box below the graph's root, and in sight.
    pub(super) fn follow_flame(&mut self) {
        if self.view != View::Flame {
            return;
        }
        let height = usize::from(self.parts().body.height.saturating_sub(1)).max(1);
        let tree = self.data.tree(&self.recording);
        self.tree.selected = self.tree.selected.min(tree.rows.len().saturating_sub(1));
        self.tree.zoom = self.tree.zoom.min(tree.rows.len().saturating_sub(1));
        let mut at = self.tree.selected;
        while at != 0 && at != self.tree.zoom {
            at = tree.parents[at];
        }
        if at != self.tree.zoom {
            self.tree.zoom = 0;
        }
        let depth = |row: usize| tree.rows.get(row).map_or(0, |row| row.depth as usize);
        let own = depth(self.tree.selected) - depth(self.tree.zoom).min(depth(self.tree.selected));
        self.tree.flame_top = self.tree.flame_top.min(own);
        if own >= self.tree.flame_top + height {
            self.tree.flame_top = own + 1 - height;
        }
    }
}
