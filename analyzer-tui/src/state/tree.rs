//! The selection in the call tree and the flame graph.

use super::app::App;
use crate::view::View;

impl App {
    /// The column of the call tree for the current view's metric.
    pub(crate) fn tree_column(&self) -> usize {
        let metric = match self.view {
            View::Flame => self.documents.flame_metric(),
            _ => self.documents.metric(),
        };
        self.documents.tree(&self.experiments).column(metric)
    }

    /// Unfolds all callers of a row.
    pub(crate) fn reveal(&mut self, row: usize) {
        let tree = self.documents.tree(&self.experiments);
        let mut at = row;
        while at != 0 {
            at = tree.parents[at];
            self.tree.open.insert(tree.keys[at]);
        }
    }

    /// Follows the largest callees down until a row has more time of its own. Unfolds the rows on
    /// the way and selects the last.
    pub(crate) fn unfold_hot_path(&mut self, from: usize) {
        let column = self.tree_column();
        let tree = self.documents.tree(&self.experiments);
        let mut at = from;
        while let Some(child) = tree.largest_child(at, column) {
            if tree.own_time(at, column) > tree.time(child, column) {
                break;
            }
            self.tree.open.insert(tree.keys[at]);
            at = child;
        }
        self.tree.selected = at;
        self.follow_flame();
    }

    /// Looks up the selection in a new tree. At first, selects the root and unfolds the hot path.
    pub(super) fn settle_tree(&mut self) {
        let Some([selected, zoom]) = self.tree.moved.take() else {
            return;
        };
        let tree = self.documents.tree(&self.experiments);
        let column = tree.column(self.documents.metric());
        self.tree.selected = tree.counterpart(&selected, column);
        self.tree.zoom = tree.counterpart(&zoom, column);
        if self.tree.open.is_empty() {
            self.tree.open.extend(tree.keys.first());
            self.unfold_hot_path(0);
            self.tree.selected = 0;
        }
        self.reveal(self.tree.selected);
        self.follow_flame();
    }

    /// Keeps the selected box below the graph's root, and in sight.
    pub(crate) fn follow_flame(&mut self) {
        if self.view != View::Flame {
            return;
        }
        let height = usize::from(self.parts().body.height.saturating_sub(1)).max(1);
        let tree = self.documents.tree(&self.experiments);
        let last = tree.keys.len().saturating_sub(1);
        self.tree.selected = self.tree.selected.min(last);
        self.tree.zoom = self.tree.zoom.min(last);
        let mut at = self.tree.selected;
        while at != 0 && at != self.tree.zoom {
            at = tree.parents[at];
        }
        if at != self.tree.zoom {
            self.tree.zoom = 0;
        }
        let depth = |row: usize| tree.depth(row);
        let own = depth(self.tree.selected).saturating_sub(depth(self.tree.zoom));
        self.tree.flame_top = self.tree.flame_top.min(own);
        if own >= self.tree.flame_top + height {
            self.tree.flame_top = own + 1 - height;
        }
    }
}
