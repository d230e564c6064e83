//! The rows as they are drawn: a cursor that moves draws them again from what was made once.

use std::ops::Range;
use std::rc::Rc;

use omp_model::ids::{ContextId, ThreadId};
use rustc_hash::FxHashMap;

use super::super::App;
use report::timeline::Slot;

/// Rows that were made of one range of time, cut into one number of columns.
#[derive(Debug, Default)]
pub(super) struct Picture {
    range: Range<u64>,
    columns: usize,
    slots: FxHashMap<ThreadId, Rc<[Slot]>>,
    contexts: FxHashMap<ThreadId, Rc<[Option<ContextId>]>>,
}

impl Picture {
    /// Forgets what is of another range or width.
    fn turn_to(&mut self, range: &Range<u64>, columns: usize) {
        if self.range != *range || self.columns != columns {
            *self = Picture {
                range: range.clone(),
                columns,
                ..Picture::default()
            };
        }
    }
}

impl App {
    /// A thread's row.
    pub fn slots(&self, thread: ThreadId) -> Rc<[Slot]> {
        let (state, columns) = (&self.timeline, self.timeline_parts().columns());
        let mut picture = state.picture.borrow_mut();
        picture.turn_to(&state.range, columns);
        let make = || {
            let timeline = self.recording.timeline();
            let slots = timeline.slots(thread, &state.range, columns, &state.window);
            slots.into()
        };
        Rc::clone(picture.slots.entry(thread).or_insert_with(make))
    }

    /// The task or nested region that a thread was in for most of each column.
    pub fn contexts(&self, thread: ThreadId) -> Rc<[Option<ContextId>]> {
        let (state, columns) = (&self.timeline, self.timeline_parts().columns());
        let mut picture = state.picture.borrow_mut();
        picture.turn_to(&state.range, columns);
        let make = || {
            let timeline = self.recording.timeline();
            let contexts = timeline.contexts(thread, &state.range, columns, &state.window);
            let inner = contexts.into_iter();
            inner
                .map(|context| self.inner_construct(context?))
                .collect()
        };
        Rc::clone(picture.contexts.entry(thread).or_insert_with(make))
    }
}
