//! The rows of the view in sight, under the settings in force.

use std::sync::Arc;

use omp_model::symbols::FileId;

use super::{App, View, select};
use crate::compare::{self, Beside, Compare};
use crate::report::{RowOrder, Table};
use crate::{about, disasm, layout, regions, source, tables};

impl App {
    /// The row of a name, or of what it is called beside other experiments.
    pub(super) fn position(&self, name: &str) -> Option<usize> {
        let rows = || self.table.rows.iter();
        let same = rows().position(|row| row.name == name);
        same.or_else(|| rows().position(|row| plain(&row.name) == plain(name)))
    }

    /// Makes the rows of the view in sight.
    pub(super) fn refresh(&mut self) {
        if matches!(self.view, View::Tree | View::Flame) {
            self.settle_tree();
        }
        let (recording, data) = (Arc::clone(&self.recording), Arc::clone(&self.data));
        let (data, recording) = (&*data, &*recording);
        if !data.has(recording, self.view, &self.centre) && data.is_blank() {
            self.table = Arc::new(about::reading(recording));
            self.settle();
            return;
        }
        self.table = match self.view {
            View::Callers => Arc::new(self.block_table()),
            View::Tree => {
                let tree = data.tree(recording);
                let open = &self.tree.open;
                let shown = select::visible(tree, open);
                let is_open = |at: usize| open.contains(&tree.keys[at]);
                let table = tables::calltree(data, recording, &shown, is_open);
                self.tree.shown = shown;
                Arc::new(table)
            }
            View::Source => {
                let place = source::written(recording, &self.centre);
                let text = place.and_then(|place| self.source(place.file));
                let (table, lines) = source::table(data, recording, (&self.centre, place), text);
                self.source_lines = lines;
                Arc::new(table)
            }
            View::Disassembly => {
                let function = recording.function(&self.centre);
                let code = function.and_then(|function| self.codes.get(&function));
                let line = |file: FileId, line: u32| {
                    let text = self.source(file)?;
                    let line = text.lines.get((line as usize).checked_sub(1)?)?;
                    Some(line.as_str())
                };
                let named = (self.centre.as_str(), function);
                let (table, places) = disasm::table(data, recording, named, code, line);
                self.instructions = places;
                Arc::new(table)
            }
            View::Regions => {
                let table = data.table(recording, View::Regions);
                match &self.order_of_directives {
                    Some(order) => Arc::new(regions::ordered(&table, order)),
                    None => table,
                }
            }
            view => data.table(recording, view),
        };
        if self.view == View::Tree {
            let at = self.tree.shown.binary_search(&self.tree.selected);
            self.cursors[View::Tree as usize].selected =
                at.unwrap_or_else(|before| before.saturating_sub(1));
        }
        self.settle();
    }

    /// Puts regions and tasks in another order; what is selected stays selected.
    pub(super) fn order_directives(&mut self, order: Option<RowOrder>) {
        let row = self.table.rows.get(self.cursor().selected);
        let name = row.map(|row| row.name.clone());
        self.order_of_directives = order;
        self.refresh();
        if let Some(at) = name.and_then(|name| self.position(&name)) {
            self.select_row(at);
        }
    }

    /// Goes round: added up, then beside each other in one way after the other.
    pub(super) fn compare(&mut self) {
        if self.recording.parts().len() < 2 {
            self.tell("comparing needs two experiments: analyzer FIRST SECOND");
            return;
        }
        let compare = Compare::next(self.wanted_settings().compare);
        self.change(|settings| settings.compare = compare);
        self.tell(match compare {
            None => "the experiments added up",
            Some(Compare::On) => "the experiments beside each other",
            Some(Compare::Delta) => "the first experiment, and what the others have more or less",
            Some(Compare::Ratio) => "the first experiment, and how many times as much others have",
        });
    }

    fn block_table(&self) -> Table {
        if let Some(beside) = Beside::of(&self.data, &self.recording) {
            let blocks = self.data.joined(&self.recording).unwrap_or_default();
            let centre = plain(&self.centre);
            let block = blocks.iter().find(|block| plain(&block.name) == centre);
            let block = block.or(blocks.first());
            return block.map_or_else(Table::default, |block| compare::neighbours(&beside, block));
        }
        let blocks = self.data.blocks(&self.recording);
        let centre = plain(&self.centre);
        let same = blocks.iter().find(|block| block.row.name == self.centre);
        let block = same.or_else(|| blocks.iter().find(|block| plain(&block.row.name) == centre));
        match block.or(blocks.first()) {
            Some(block) => tables::neighbours(&self.data, block),
            None => Table::default(),
        }
    }

    /// Keeps selections in sight.
    pub(super) fn settle(&mut self) {
        let body = self.parts().body;
        let height = layout::list(body, !self.table.columns.is_empty())
            .rows
            .height;
        let rows = self.table.rows.len();
        self.cursors[self.view as usize].settle(rows, usize::from(height));
        self.settle_timeline();
        self.follow_flame();
    }
}

/// A construct's name without its symbol, by which experiments differ.
fn plain(name: &str) -> &str {
    name.split_once(" [").map_or(name, |(words, _)| words)
}
