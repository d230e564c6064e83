//! The lines of the current view, and the selection among them.

use std::sync::Arc;

use report::Document;
use report::document::{Block, Line, Role, Target};

use super::app::App;
use crate::documents::without_symbol;
use crate::list::List;
use crate::view::View;

impl App {
    /// Rebuilds the lines of the current view.
    pub(crate) fn refresh(&mut self) {
        self.list = Arc::new(self.make_list());
        self.settle();
    }

    fn make_list(&mut self) -> List {
        let (experiments, documents) = (Arc::clone(&self.experiments), Arc::clone(&self.documents));
        let width = usize::from(self.size.0);
        if documents.is_blank() {
            return List::new(Arc::new(report::header::early(&experiments)), width, false);
        }
        match self.view {
            View::Tree | View::Flame => {
                self.settle_tree();
                let tree = documents.tree(&experiments);
                self.tree.shown = tree.visible(&self.tree.open);
                let at = self.tree.shown.binary_search(&self.tree.selected);
                self.cursors[View::Tree as usize].selected =
                    at.unwrap_or_else(|before| before.saturating_sub(1));
                List::of_rows(Arc::clone(tree.document()), &self.tree.shown)
            }
            View::Timeline => List::default(),
            view => {
                let document = self.shown_document();
                let has_head = !matches!(view, View::Overview | View::Experiment);
                let mut document = in_one(document);
                if view == View::Overview {
                    add_notices(Arc::make_mut(&mut document));
                }
                List::new(document, width, has_head)
            }
        }
    }

    /// The document of the current view, with its rows in the chosen order.
    pub(crate) fn shown_document(&self) -> Arc<Document> {
        let document = self.documents.document(
            &self.experiments,
            self.view,
            App::subject(self.view, self.report, &self.function),
        );
        match self.row_orders.get(&self.view) {
            Some(order) => order.apply(&document),
            None => document,
        }
    }

    /// The line of a name, with or without its symbol.
    pub(crate) fn position(&self, name: &str) -> Option<usize> {
        let same = self.list.position(|row| row.name == name);
        same.or_else(|| {
            let plain = without_symbol(name);
            self.list.position(|row| without_symbol(&row.name) == plain)
        })
    }

    /// Selects a line of the current list.
    pub(crate) fn select_row(&mut self, line: usize) {
        let line = line.min(self.list.lines().len().saturating_sub(1));
        self.cursors[self.view as usize].selected = line;
        if self.view == View::Tree
            && let Some(&at) = self.tree.shown.get(line)
        {
            self.tree.selected = at;
        }
        self.settle();
    }

    /// Selects a line and scrolls so that lines around it are in sight.
    pub(crate) fn select_with_room(&mut self, line: usize) {
        let height = usize::from(self.list_parts().rows.height);
        self.cursors[self.view as usize].top = line.saturating_sub(height / 4);
        self.select_row(line);
    }

    /// Selects the function between its callers and callees.
    pub(crate) fn select_centre(&mut self) {
        let own = self.list.position(|row| row.role == Role::Centre);
        self.select_row(own.unwrap_or(0));
    }

    /// The source line of a line of code, or of a construct's directive.
    pub(crate) fn line_of(&self, line: usize) -> Option<u32> {
        match self.list.target(line)? {
            Target::Construct(construct) => construct.location.line,
            Target::Line(location) => Some(location.line),
            Target::Instruction { locations, .. } => Some(locations.last()?.line),
            _ => None,
        }
    }

    /// Selects the remembered source line, else the function's first, else the first hot line.
    pub(crate) fn select_code(&mut self) {
        let lines = 0..self.list.lines().len();
        let of_line = |wanted: u32| {
            let mut lines = lines.clone();
            lines.find(|&at| self.list.is_row(at) && self.line_of(at) == Some(wanted))
        };
        let wanted = self.line.or_else(|| self.first_line());
        let found = wanted.and_then(of_line);
        let found = found.or_else(|| self.hot_lines().first().copied());
        self.select_with_room(found.unwrap_or(0));
    }

    /// The first source line of the function.
    fn first_line(&self) -> Option<u32> {
        if self.view != View::Source {
            return None;
        }
        let function = self.experiments.function(self.function_of_code())?;
        let row = self
            .experiments
            .symbols
            .functions
            .get(function.0 as usize)?;
        Some(row.source?.line)
    }

    /// The lines that have much of the time.
    pub(crate) fn hot_lines(&self) -> Vec<usize> {
        let lines = 0..self.list.lines().len();
        lines.filter(|&at| self.list.is_hot(at)).collect()
    }

    /// Keeps selections in sight.
    pub(crate) fn settle(&mut self) {
        let height = usize::from(self.list_parts().rows.height);
        let lines = self.list.lines().len();
        self.cursors[self.view as usize].settle(lines, height);
        self.settle_timeline();
        self.follow_flame();
    }
}

/// Appends a document's notices as lines.
fn add_notices(document: &mut Document) {
    let notices = document.notices.iter();
    let lines: Vec<_> = notices
        .map(|notice| Line::plain(format!("Note: {notice}")))
        .collect();
    if !lines.is_empty() {
        document.blocks.push(Block::Lines(lines));
    }
}

/// Appends the documents of further experiments to a document.
fn in_one(document: Arc<Document>) -> Arc<Document> {
    if document.others.is_empty() {
        return document;
    }
    let mut all = Document::clone(&document);
    for other in std::mem::take(&mut all.others) {
        all.blocks.extend(other.blocks);
    }
    Arc::new(all)
}
