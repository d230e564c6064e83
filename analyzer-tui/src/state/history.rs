//! The way back: the places that were left, with their selection and scroll position.

use std::ops::Range;

use experiment::ids::ThreadId;
use omp_model::filter::Filter;
use report::reports::Report;

use super::app::{App, Cursor};
use crate::view::View;

/// A place to go back to.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Place {
    view: View,
    /// The name of the report of [`View::Report`].
    report: &'static str,
    filter: Option<Filter>,
    pub(crate) function: String,
    line: Option<u32>,
    cursor: Cursor,
    /// The text of the selected line, which other documents may have elsewhere.
    text: String,
    position: Position,
}

/// The position in a view that is no list.
#[derive(Clone, Debug, PartialEq)]
enum Position {
    List,
    /// The paths of the selected row and of the flame graph's root.
    Tree([Vec<String>; 2]),
    Timeline {
        thread: Option<ThreadId>,
        top: usize,
        time: u64,
        range: Range<u64>,
    },
}

impl App {
    /// Adds the current place to those that [`App::back`] returns to.
    pub(crate) fn leave(&mut self) {
        let place = self.place();
        if self.history.last() != Some(&place) {
            self.history.push(place);
        }
    }

    fn place(&self) -> Place {
        let cursor = self.cursor();
        let position = match self.view {
            View::Tree | View::Flame if !self.documents.is_blank() => {
                let tree = self.documents.tree(&self.experiments);
                Position::Tree([self.tree.selected, self.tree.zoom].map(|row| tree.names(row)))
            }
            View::Timeline => Position::Timeline {
                thread: self.threads().get(self.timeline.row).copied(),
                top: self.timeline.top,
                time: self.timeline.time,
                range: self.timeline.range.clone(),
            },
            _ => Position::List,
        };
        Place {
            view: self.view,
            report: self.report.name,
            filter: self.settings.report.filter.clone(),
            function: self.function.clone(),
            line: self.line,
            cursor,
            text: self.list.text(cursor.selected).to_owned(),
            position,
        }
    }

    /// Returns to the place before; first cancels what is being computed, then drops a box.
    pub(crate) fn back(&mut self) {
        if self.cancel() || self.drop_box() {
            return;
        }
        let here = self.place();
        let before = loop {
            match self.history.pop() {
                // What was asked for there and cancelled did not leave it.
                Some(place) if place == here => {}
                other => break other,
            }
        };
        let Some(place) = before else {
            return self.tell("there is nothing before this to go back to");
        };
        let report = Report::by_name(place.report).unwrap_or(self.report);
        let subject = App::subject(place.view, report, &place.function);
        let is_made = self.wanted.is_none()
            && self.settings.report.filter == place.filter
            && self.documents.has(&self.experiments, place.view, subject);
        if is_made {
            self.take_subject(&place);
            self.set_report(report);
            self.show(place.view);
            return self.settle_at(place);
        }
        self.want(|wanted| {
            wanted.view = place.view;
            wanted.report = report;
            wanted.settings.report.filter.clone_from(&place.filter);
            wanted.place = Some(place);
        });
    }

    /// Makes the function of a place the subject of views of one function.
    pub(crate) fn take_subject(&mut self, place: &Place) {
        self.function.clone_from(&place.function);
        self.line = place.line;
    }

    /// Selects and scrolls to what was selected in a place whose view is shown.
    pub(crate) fn settle_at(&mut self, place: Place) {
        match place.position {
            Position::List => {
                let mut cursor = place.cursor;
                if self.list.text(cursor.selected) != place.text {
                    let found = self.position(&place.text);
                    cursor.selected = found.unwrap_or(cursor.selected);
                }
                self.cursors[self.view as usize] = cursor;
            }
            Position::Tree(paths) => {
                self.tree.moved = Some(paths);
                self.cursors[View::Tree as usize].top = place.cursor.top;
                self.refresh();
            }
            Position::Timeline {
                thread,
                top,
                time,
                range,
            } => {
                let mut rows = self.threads().iter();
                let row = rows.position(|other| Some(*other) == thread);
                self.timeline.row = row.unwrap_or(self.timeline.row);
                self.timeline.top = top;
                self.timeline.time = time;
                self.timeline.show(range.start, range.end - range.start);
            }
        }
        self.settle();
        self.on_arrival = self.under_cursor();
    }
}
