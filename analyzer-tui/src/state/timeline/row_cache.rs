//! The cached cells of the rows, so that moving the cursor does not compute them again.

use std::rc::Rc;

use experiment::ids::{ContextId, ThreadId};
use report::Document;
use report::document::{Block, Line};
use report::timeline::{Slot, TimelineRow, document};

use crate::state::app::App;

impl App {
    /// The cells of a thread's row.
    pub fn slots(&self, thread: ThreadId) -> Rc<[Slot]> {
        let (state, columns) = (&self.timeline, self.timeline_parts().columns());
        let mut cache = state.cache.borrow_mut();
        cache.keep_for(&state.range, columns);
        let make = || {
            let timeline = self.experiments.timeline();
            let slots = timeline.slots(thread, &state.range, columns, &state.window);
            slots.into()
        };
        Rc::clone(cache.slots.entry(thread).or_insert_with(make))
    }

    /// The task or nested region of most of each column's time.
    pub fn contexts(&self, thread: ThreadId) -> Rc<[Option<ContextId>]> {
        let (state, columns) = (&self.timeline, self.timeline_parts().columns());
        let mut cache = state.cache.borrow_mut();
        cache.keep_for(&state.range, columns);
        let make = || {
            let timeline = self.experiments.timeline();
            let contexts = timeline.contexts(thread, &state.range, columns, &state.window);
            let inner = contexts.into_iter();
            inner
                .map(|context| self.inner_construct(context?))
                .collect()
        };
        Rc::clone(cache.contexts.entry(thread).or_insert_with(make))
    }

    /// The timeline as a document, with details at the cursor.
    pub(crate) fn timeline_document(&self) -> Document {
        let order = self.thread_order();
        let rows = order
            .threads
            .iter()
            .enumerate()
            .map(|(row, &thread)| TimelineRow {
                thread,
                name: self.thread_label(thread),
                group: order.group(row).map(|group| group.label.clone()),
                columns: self.slots(thread).iter().collect(),
                more: serde_json::Map::new(),
            });
        let query = self.documents.query(&self.experiments);
        let timeline = self.experiments.timeline();
        let size = (&self.timeline.range, self.timeline_parts().columns());
        let mut document = document(&query, timeline, size, rows.collect());
        if let Some(at_cursor) = self.at_cursor() {
            let time = self.timeline.time as f64 / 1e9;
            let label = self.thread_label(at_cursor.thread);
            let mut details = self.cursor_lines(&at_cursor);
            details.extend(self.callstack(&at_cursor));
            let mut lines = vec![Line::plain(format!("{label} at {time:.6} s"))];
            let indented = |text| Line::plain(format!("  {text}"));
            lines.extend(details.into_iter().map(indented));
            document.blocks.push(Block::Lines(lines));
        }
        document
    }
}
