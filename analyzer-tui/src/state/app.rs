//! The state of the program: the chosen view and settings, cursors, and the pending request.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use experiment::ids::{Nanos, ThreadId};
use omp_model::analysis::Analysis;
use omp_model::views::names::base_name;
use report::reports::{REPORTS, Report};
use report::settings::Compare;
use rustc_hash::{FxHashMap, FxHashSet};

use super::history::Place;
use super::overlay::Overlay;
use super::timeline::state::TimelineState;
use crate::documents::Documents;
use crate::experiments::Experiments;
use crate::layout::{self, ListParts, Parts};
use crate::list::List;
use crate::live::Progress;
use crate::row_order::RowOrder;
use crate::settings::Settings;
use crate::view::{Recorded, View};

/// The position in a list.
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

/// What the caller must do after an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Draw again.
    None,
    /// Quit.
    Quit,
    /// Stop the recorded program, then quit.
    Stop,
    /// Copy a text to the clipboard, then call [`App::copied`].
    Copy(String),
    /// Write a file, then call [`App::wrote`].
    Write {
        /// Its name without the ending. If the name is taken, a number is added.
        stem: String,
        /// Its ending.
        ending: &'static str,
        /// What to write.
        contents: String,
    },
}

/// The message on the last line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Message {
    /// One line.
    pub text: String,
    /// Whether it reports a failure.
    pub is_warning: bool,
}

/// A recording in progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Live {
    /// The time up to which it is read.
    pub until: Nanos,
    /// Whether analyzer has started it, and can stop it.
    pub started_here: bool,
}

/// The state of the call tree and the flame graph.
#[derive(Clone, Debug, Default)]
pub struct TreeState {
    /// The keys of unfolded rows.
    pub open: FxHashSet<u64>,
    /// The selected row of [`crate::tree::Tree`].
    pub selected: usize,
    /// The root row of the flame graph.
    pub zoom: usize,
    /// The first depth of the flame graph in sight.
    pub flame_top: usize,
    /// The rows of the call tree with all their callers unfolded.
    pub shown: Vec<usize>,
    /// The paths of `selected` and `zoom` in the old tree, until they are looked up in the tree of
    /// new settings, which is built when it is shown.
    pub(crate) moved: Option<[Vec<String>; 2]>,
}

/// What the cursor is on.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum UnderCursor {
    /// The line of a text.
    Line(String),
    /// A moment of a thread.
    Moment(ThreadId, u64),
}

/// The request for a view that is not computed yet.
#[derive(Clone, Debug)]
pub(crate) struct Wanted {
    pub(crate) number: u64,
    pub(crate) experiments: Arc<Experiments>,
    /// The progress of the recording, if the experiment is still growing.
    pub(crate) progress: Option<Progress>,
    pub(crate) settings: Settings,
    pub(crate) view: View,
    /// The report of [`View::Report`].
    pub(crate) report: &'static Report,
    /// The place to go back to, if it is one.
    pub(crate) place: Option<Place>,
    /// Whether its job has started.
    pub(crate) begun: bool,
}

/// The program's state.
#[derive(Debug)]
pub struct App {
    /// The open experiments.
    pub experiments: Arc<Experiments>,
    /// The settings in force.
    pub settings: Settings,
    /// The documents under these settings.
    pub documents: Arc<Documents>,
    /// The current view.
    pub view: View,
    /// Its lines; empty for the timeline.
    pub list: Arc<List>,
    /// The tree's state.
    pub tree: TreeState,
    /// The timeline's state.
    pub timeline: TimelineState,
    /// The subject of views of one function.
    pub function: String,
    /// The report of [`View::Report`].
    pub report: &'static Report,
    /// The box over the view.
    pub overlay: Overlay,
    /// The message on the last line.
    pub message: Option<Message>,
    /// The text of the last search.
    pub searched: String,
    /// The chosen orders of views with an order of their own.
    pub row_orders: FxHashMap<View, RowOrder>,
    /// The recording, while it is in progress.
    pub live: Option<Live>,
    /// The last selected line of the function's source.
    pub(crate) line: Option<u32>,
    pub(crate) cursors: [Cursor; View::ALL.len()],
    /// The places that were left, the last one at the end.
    pub(crate) history: Vec<Place>,
    /// What the cursor was on when the current view was entered.
    pub(crate) on_arrival: Option<UnderCursor>,
    pub(crate) size: (u16, u16),
    pub(crate) wanted: Option<Wanted>,
    /// The number of the last [`Wanted`].
    pub(crate) newest: Arc<AtomicU64>,
}

impl App {
    /// The initial state, for a screen of this size.
    pub(crate) fn start(
        experiments: Arc<Experiments>,
        settings: Settings,
        size: (u16, u16),
    ) -> App {
        App {
            timeline: TimelineState::new(&experiments),
            // An experiment of collect -r has nothing else to show.
            view: if experiments.has_findings() && experiments.experiment.samples.is_empty() {
                View::Races
            } else {
                View::default()
            },
            experiments,
            documents: Arc::new(Documents::blank(&settings)),
            settings,
            list: Arc::default(),
            tree: TreeState {
                moved: Some(Default::default()),
                ..TreeState::default()
            },
            function: omp_model::views::TOTAL.to_owned(),
            report: &REPORTS[0],
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
        let together = self.experiments.parts().len() > 1;
        layout::parts(self.size, together, self.notice().is_some())
    }

    /// Whether `collect -r` recorded any of the experiments.
    pub fn has_findings(&self) -> bool {
        self.experiments.has_findings()
    }

    /// What decides which views there are.
    pub fn recorded(&self) -> Recorded {
        self.experiments.recorded()
    }

    /// The parts of the current list.
    pub fn list_parts(&self) -> ListParts {
        let (body, head) = (self.parts().body, self.list.head());
        let details = self.detail_lines().len();
        match self.view {
            View::Races => layout::list_of_findings(body, head, details),
            _ => layout::list(body, head, details),
        }
    }

    /// The position in the current list.
    pub fn cursor(&self) -> Cursor {
        self.cursors[self.view as usize]
    }

    /// The subject of a view: the report's name, else the function.
    pub(crate) fn subject<'a>(view: View, report: &'static Report, function: &'a str) -> &'a str {
        match view {
            View::Report => report.name,
            _ => function,
        }
    }

    /// The function whose code Source and Disassembly show.
    pub(crate) fn function_of_code(&self) -> &str {
        self.documents
            .function_of_code(&self.experiments, &self.function)
    }

    /// The name of the current view in files.
    pub(crate) fn file_name(&self) -> &'static str {
        match self.view {
            View::Report => self.report.name,
            view => view.name(),
        }
    }

    /// The screen's size.
    pub fn size(&self) -> (u16, u16) {
        self.size
    }

    /// The title of the view that is being computed.
    pub fn making(&self) -> Option<&'static str> {
        self.wanted.as_ref().map(|wanted| wanted.view.title())
    }

    /// What several experiments are shown as, and which is which; `None` of a single one.
    pub fn together(&self) -> Option<String> {
        let parts = self.experiments.parts();
        let base = |part: &Analysis| base_name(part.name.trim_end_matches('/')).to_owned();
        let bases: FxHashSet<String> = parts.iter().map(base).collect();
        let named = |(number, part): (usize, &Analysis)| {
            let is_unique = bases.len() == parts.len();
            let name = if is_unique {
                base(part)
            } else {
                part.name.clone()
            };
            format!("({number}) {name}")
        };
        let names: Vec<String> = (1..).zip(parts).map(named).collect();
        let (first, others) = names
            .split_first()
            .filter(|(_, others)| !others.is_empty())?;
        let others = others.join(" ");
        let is_below = match self.view {
            View::Timeline => true,
            View::Disassembly | View::Experiment => self.is_compared(),
            _ => false,
        };
        if is_below {
            return Some(format!("One below the other: {first} {others}"));
        }
        // A report may have no comparison of the chosen kind.
        let compare = self.list.compare();
        Some(match compare.unwrap_or(self.settings.report.compare) {
            Compare::Off => format!("Sum of {first} {others}"),
            Compare::On => format!("Side by side: {first} {others}"),
            Compare::Delta => format!("Differences from {first}: {others}"),
            Compare::Ratio => format!("Ratios to {first}: {others}"),
            Compare::Scaling => format!("By number of threads: {first} {others}"),
        })
    }

    /// The first notice that every view shows, and the number of further ones.
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
