//! The filter that is offered to edit.

use super::{App, View};

impl App {
    /// The filter in force, or the one that the selection suggests.
    pub(super) fn filter_to_edit(&self) -> String {
        if let Some(filter) = &self.settings.filter {
            return filter.text().to_owned();
        }
        let row = self.table.rows.get(self.cursor().selected);
        match self.view {
            View::Threads => {
                let rows = self.data.threads(&self.recording);
                let row = rows.get(self.cursor().selected);
                row.map_or_else(String::new, |row| format!("LWPID=={}", row.tid))
            }
            View::Functions | View::Callers | View::Regions => match row {
                Some(row) if row.name != omp_model::views::TOTAL => {
                    format!("\"{}\" IN STACK", row.name)
                }
                _ => String::new(),
            },
            View::Tree | View::Flame => {
                let tree = self.data.tree(&self.recording);
                match tree.rows.get(self.tree.selected) {
                    Some(row) if row.depth > 0 => format!("\"{}\" IN STACK", row.name),
                    _ => String::new(),
                }
            }
            View::Timeline => match self.selection() {
                Some(part) => self.filter_of(&part),
                None => {
                    let range = &self.timeline.range;
                    format!("TSTAMP>={} && TSTAMP<{}", range.start, range.end)
                }
            },
            View::Source | View::Disassembly => format!("\"{}\" IN STACK", self.centre),
            View::Overview | View::Experiment => String::new(),
        }
    }
}
