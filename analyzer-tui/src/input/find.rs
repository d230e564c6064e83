//! Search for names.

use crate::state::app::App;
use crate::view::View;

impl App {
    /// Selects the next line that contains the searched text, whatever the case of its letters.
    /// With `from_here`, the search begins with the selected line.
    pub(crate) fn find(&mut self, forward: bool, from_here: bool) {
        if self.searched.is_empty() {
            self.tell("/ asks what to find");
            return;
        }
        let wanted = self.searched.to_lowercase();
        let (names, at): (Vec<String>, usize) = match self.view {
            View::Tree | View::Flame => {
                let tree = self.documents.tree(&self.experiments);
                let names = tree.rows().iter().map(|row| row.name.clone());
                (names.collect(), self.tree.selected)
            }
            View::Timeline => (self.thread_names(), self.timeline.row),
            _ => {
                let lines = 0..self.list.lines().len();
                let texts = lines.map(|line| self.list.text(line).to_owned());
                (texts.collect(), self.cursor().selected)
            }
        };
        let count = names.len();
        let from = usize::from(!from_here);
        let order = (from..count + from).map(|step| {
            if forward {
                (at + step) % count
            } else {
                (at + count - step % count) % count
            }
        });
        let mut order = order.filter(|&row| names[row].to_lowercase().contains(&wanted));
        match order.next() {
            Some(row) => self.select_found(row),
            None => {
                let text = format!("\"{}\" is in no name here", self.searched);
                self.tell(text);
            }
        }
    }

    fn select_found(&mut self, row: usize) {
        match self.view {
            View::Tree | View::Flame => {
                self.tree.selected = row;
                self.reveal(row);
                self.follow_flame();
                self.refresh();
            }
            View::Timeline => self.select_thread(row),
            _ => self.select_row(row),
        }
    }
}
