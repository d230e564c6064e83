//! What the user has chosen and where he is.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use experiment::ids::{Nanos, ThreadId};
use rustc_hash::{FxHashMap, FxHashSet};

use super::overlay::Overlay;
use super::timeline::state::TimelineState;
use crate::documents::Documents;
use crate::experiments::Experiments;
use crate::layout::{self, ListParts, Parts};
use crate::list::List;
use crate::live::Progress;
use crate::row_order::RowOrder;
use crate::settings::Settings;
use crate::view::View;

/// Where a list is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cursor {
    /// The selected line.
    pub selected: usize,
    /// The first line in sight.
    pub top: usize,
}

impl Cursor {
    /// Keeps the selection on a line, and in sight.
    pub(super) fn settle(&mut self, lines: usize, height: usize) {
        self.selected = self.selected.min(lines.saturating_sub(1));
        self.top = self.top.min(self.selected);
        if height > 0 && self.selected >= self.top + height {
            self.top = self.selected + 1 - height;
        }
        self.top = self.top.min(lines.saturating_sub(height.max(1)));
    }
}

/// What must be done after an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Draw again.
    None,
    /// End.
    Quit,
    /// End the program that is recorded, then end.
    Stop,
    /// Put a text into the clipboard, then tell [`App::copied`].
    Copy(String),
    /// Write a file, then tell [`App::wrote`].
    Write {
        /// Its name without the ending; a free one like it is to be taken.
        stem: String,
        /// Its ending.
        ending: &'static str,
        /// What to write.
        contents: String,
    },
}

/// What was answered to the last event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Message {
    /// One line.
    pub text: String,
    /// Whether something did not go well.
    pub is_warning: bool,
}

/// How a recording stands while it is being made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Live {
    /// Up to where it is read.
    pub until: Nanos,
    /// Whether this program has started it, so that it can end it.
    pub program: bool,
}

/// The state of the call tree and the flame graph.
#[derive(Clone, Debug, Default)]
pub struct TreeState {
    /// Keys of rows that show what is below them.
    pub open: FxHashSet<u64>,
    /// The selected row of [`crate::tree::Tree`].
    pub selected: usize,
    /// The row that the flame graph begins with.
    pub zoom: usize,
    /// The first depth of the flame graph in sight.
    pub flame_top: usize,
    /// The rows in sight of the call tree.
    pub shown: Vec<usize>,
    /// The selected row and the flame graph's first one by their names, until they are looked up
    /// in the tree of new settings: a tree is made when it is shown.
    pub(crate) moved: Option<[Vec<String>; 2]>,
}

/// What a cursor is on.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Selected {
    /// The line of a text.
    Line(String),
    /// A moment of a thread.
    Moment(ThreadId, u64),
}

/// What the user wants to see, while it is being made.
#[derive(Clone, Debug)]
pub(crate) struct Wanted {
    pub(crate) number: u64,
    pub(crate) experiments: Arc<Experiments>,
    /// How the experiment stands if it is still being recorded.
    pub(crate) progress: Option<Progress>,
    pub(crate) settings: Settings,
    pub(crate) view: View,
    /// Whether its making has begun.
    pub(crate) begun: bool,
}

/// The program's state.
#[derive(Debug)]
pub struct App {
    /// What is looked at.
    pub experiments: Arc<Experiments>,
    /// What was chosen.
    pub settings: Settings,
    /// The documents under these settings.
    pub documents: Arc<Documents>,
    /// The view in sight.
    pub view: View,
    /// Its lines, if it is a list.
    pub list: Arc<List>,
    /// The tree's state.
    pub tree: TreeState,
    /// The timeline's state.
    pub timeline: TimelineState,
    /// The function that views of one function are of.
    pub function: String,
    /// What stands over the view.
    pub overlay: Overlay,
    /// What was answered last.
    pub message: Option<Message>,
    /// The text that is searched for.
    pub searched: String,
    /// The orders of views whose rows are not made in an order that was chosen.
    pub row_orders: FxHashMap<View, RowOrder>,
    /// How the recording stands while it is being made.
    pub live: Option<Live>,
    /// The line of the function's source that the user was at.
    pub(crate) line: Option<u32>,
    pub(crate) cursors: [Cursor; View::ALL.len()],
    /// The functions before [`App::function`].
    pub(crate) history: Vec<String>,
    /// What the cursor was on when the view in sight came.
    pub(crate) on_arrival: Option<Selected>,
    pub(crate) size: (u16, u16),
    pub(crate) wanted: Option<Wanted>,
    /// The number of the last [`Wanted`].
    pub(crate) newest: Arc<AtomicU64>,
}

impl App {
    /// The state at the beginning, of a screen of a size. Nothing is shown yet.
    pub(crate) fn start(
        experiments: Arc<Experiments>,
        settings: Settings,
        size: (u16, u16),
    ) -> App {
        App {
            timeline: TimelineState::new(&experiments),
            experiments,
            documents: Arc::new(Documents::blank(&settings)),
            settings,
            view: View::default(),
            list: Arc::default(),
            tree: TreeState {
                moved: Some(Default::default()),
                ..TreeState::default()
            },
            function: omp_model::views::TOTAL.to_owned(),
            overlay: Overlay::None,
            message: None,
            searched: String::new(),
            row_orders: FxHashMap::default(),
            live: None,
            line: None,
            cursors: [Cursor::default(); View::ALL.len()],
            history: Vec::new(),
            on_arrival: None,
            size,
            wanted: None,
            newest: Arc::default(),
        }
    }

    /// The screen's parts.
    pub fn parts(&self) -> Parts {
        layout::parts(self.size, self.notice().is_some())
    }

    /// The parts of the list in sight.
    pub fn list_parts(&self) -> ListParts {
        layout::list(self.parts().body, self.list.head())
    }

    /// Where the list in sight is.
    pub fn cursor(&self) -> Cursor {
        self.cursors[self.view as usize]
    }

    /// The screen's size.
    pub fn size(&self) -> (u16, u16) {
        self.size
    }

    /// What is being made, in words.
    pub fn making(&self) -> Option<&'static str> {
        self.wanted.as_ref().map(|wanted| wanted.view.title())
    }

    /// The loss or warning that must be told under every view, and how many more there are.
    pub fn notice(&self) -> Option<(&str, usize)> {
        let early = if self.documents.is_blank() {
            self.experiments.warnings.as_slice()
        } else {
            &[]
        };
        let mut all = early.iter().chain(self.documents.known_notices());
        let first = all.next()?;
        Some((first, all.count()))
    }

    pub(crate) fn tell(&mut self, text: impl Into<String>) {
        self.message = Some(Message {
            text: text.into(),
            is_warning: false,
        });
    }
}
