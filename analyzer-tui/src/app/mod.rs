//! What the user has chosen and where he is: events in, state out, nothing else.

mod bindings;
mod code;
mod filter;
mod find;
pub mod keys;
mod live;
pub mod overlay;
mod pointer;
mod rows;
mod select;
pub mod timeline;
mod turn;
mod view;

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use omp_model::ids::ThreadId;
use omp_model::profile::ViewMode;
use omp_model::symbols::FunctionId;
use ratatui::crossterm::event::{KeyCode, KeyEvent};
use rustc_hash::{FxHashMap, FxHashSet};
use symbolize::disassembly::Code;

use crate::data::{Data, Settings};
use crate::disasm;
use crate::export::{self, Form};
use crate::layout::{self, Parts};
use crate::recording::Recording;
use crate::report::{RowOrder, Table};
use crate::source::Text;

use keys::Action;
use overlay::{Asked, Overlay};
use timeline::TimelineState;

pub use live::Live;
pub use turn::{Job, Made};
pub use view::View;

/// Where a list is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cursor {
    /// The selected row.
    pub selected: usize,
    /// The first row in sight.
    pub top: usize,
}

impl Cursor {
    /// Keeps the selection on a row, and in sight.
    fn settle(&mut self, rows: usize, height: usize) {
        self.selected = self.selected.min(rows.saturating_sub(1));
        self.top = self.top.min(self.selected);
        if height > 0 && self.selected >= self.top + height {
            self.top = self.selected + 1 - height;
        }
        self.top = self.top.min(rows.saturating_sub(height.max(1)));
    }
}

/// What the world must do after an event.
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

/// The state of the call tree and the flame graph.
#[derive(Clone, Debug, Default)]
pub struct TreeState {
    /// Keys of rows that show what is below them.
    pub open: FxHashSet<u64>,
    /// The selected row of [`crate::data::Tree`].
    pub selected: usize,
    /// The row that the flame graph begins with.
    pub zoom: usize,
    /// The first depth of the flame graph in sight.
    pub flame_top: usize,
    /// The rows in sight of the call tree.
    pub shown: Vec<usize>,
    /// The selected row and the flame graph's first one by their names, until they are looked up
    /// in the tree of new settings: a tree is made when it is shown.
    moved: Option<[Vec<String>; 2]>,
}

/// What a cursor is on.
#[derive(Debug, PartialEq, Eq)]
enum Spot {
    /// The row of a name.
    Row(String),
    /// A moment of a thread.
    Moment(ThreadId, u64),
}

/// The program's state.
#[derive(Debug)]
pub struct App {
    /// What is looked at.
    pub recording: Arc<Recording>,
    /// What was chosen.
    pub settings: Settings,
    /// The views under these settings.
    pub data: Arc<Data>,
    /// The view in sight.
    pub view: View,
    /// Its rows, if it is made of rows.
    pub table: Arc<Table>,
    /// The tree's state.
    pub tree: TreeState,
    /// The timeline's state.
    pub timeline: TimelineState,
    /// The function that callers and callees are shown of.
    pub centre: String,
    /// What stands over the view.
    pub overlay: Overlay,
    /// What was answered last.
    pub message: Option<Message>,
    /// The text that is searched for.
    pub wanted: String,
    /// The order of regions and tasks; `None`: by what they could save.
    pub order_of_directives: Option<RowOrder>,
    /// How the recording stands while it is being made.
    pub live: Option<Live>,
    /// The source line of each row of the source view.
    source_lines: Vec<u32>,
    /// Where each row of the disassembly came from.
    instructions: Vec<disasm::At>,
    /// The instructions of functions, as the world has found them.
    codes: FxHashMap<FunctionId, Code>,
    /// The line of the function's source that the user was at.
    line: Option<u32>,
    /// Source files by their recorded paths, as the world has found them.
    sources: FxHashMap<String, Text>,
    cursors: [Cursor; View::ALL.len()],
    history: Vec<String>,
    /// What the cursor was on when the view in sight came.
    came: Option<Spot>,
    size: (u16, u16),
    /// What the user wants to see, while it is being made.
    turn: Option<turn::Turn>,
    /// The number of the last one.
    turns: Arc<AtomicU64>,
}

impl App {
    /// Shows the overview on a screen of a size.
    pub fn new(recording: Arc<Recording>, size: (u16, u16)) -> App {
        let mut app = App::opening(recording, size);
        app.work();
        app
    }

    /// Shows what is known of a recording while the views are being made.
    pub fn opening(recording: Arc<Recording>, size: (u16, u16)) -> App {
        let settings = Settings::default();
        let data = Arc::new(Data::blank(&settings));
        let mut app = App {
            timeline: TimelineState::new(&recording),
            recording,
            data,
            settings,
            view: View::default(),
            table: Arc::default(),
            tree: TreeState {
                moved: Some(Default::default()),
                ..TreeState::default()
            },
            centre: omp_model::views::TOTAL.to_owned(),
            overlay: Overlay::None,
            message: None,
            wanted: String::new(),
            order_of_directives: None,
            live: None,
            source_lines: Vec::new(),
            instructions: Vec::new(),
            codes: FxHashMap::default(),
            line: None,
            sources: FxHashMap::default(),
            cursors: [Cursor::default(); View::ALL.len()],
            history: Vec::new(),
            came: None,
            size,
            turn: None,
            turns: Arc::default(),
        };
        app.refresh();
        app.turn_to(|_| {});
        app
    }

    /// The screen's parts.
    pub fn parts(&self) -> Parts {
        layout::parts(self.size, self.notice().is_some())
    }

    /// Where the list in sight is.
    pub fn cursor(&self) -> Cursor {
        self.cursors[self.view as usize]
    }

    /// The screen's size.
    pub fn size(&self) -> (u16, u16) {
        self.size
    }

    /// The loss or warning that must be told under every view, and how many more there are.
    pub fn notice(&self) -> Option<(String, usize)> {
        let warnings = self.recording.warnings.iter().cloned();
        let notices = self.data.known_notices().iter().cloned();
        let mut all = warnings.chain(notices);
        let first = all.next()?;
        Some((first, all.count()))
    }

    /// The screen has another size.
    pub fn resize(&mut self, width: u16, height: u16) {
        self.size = (width, height);
        self.settle();
    }

    /// A key was pressed.
    pub fn key(&mut self, event: KeyEvent) -> Effect {
        self.message = None;
        if !matches!(self.overlay, Overlay::None) {
            return match self.overlay.key(event) {
                Some(Asked::Copy(text)) => Effect::Copy(text),
                Some(asked) => self.answer(asked),
                None => Effect::None,
            };
        }
        match keys::action(self.view, event) {
            Some(action) => return self.perform(action),
            None if event.code == KeyCode::Esc => self.stay(),
            None => {
                if let KeyCode::Char(key) = event.code {
                    let view = self.view.title();
                    self.tell(format!("{key} does nothing in {view}: ? tells its keys"));
                }
            }
        }
        Effect::None
    }

    /// A file was written, or could not be: in words.
    pub fn wrote(&mut self, result: Result<String, String>) {
        self.message = Some(match result {
            Ok(text) => Message {
                text,
                is_warning: false,
            },
            Err(why) => Message {
                text: why,
                is_warning: true,
            },
        });
    }

    fn tell(&mut self, text: impl Into<String>) {
        self.message = Some(Message {
            text: text.into(),
            is_warning: false,
        });
    }

    pub(crate) fn perform(&mut self, action: Action) -> Effect {
        let needs_views = matches!(action, Action::Metrics | Action::Export | Action::Sort);
        if needs_views && self.data.is_blank() {
            self.tell("samples are still being read");
            return Effect::None;
        }
        match action {
            Action::Quit if self.live.is_some_and(|live| live.program) => {
                self.overlay = Overlay::end();
            }
            Action::Quit => return Effect::Quit,
            Action::Help => self.overlay = Overlay::Help { top: 0 },
            Action::Go(view) => self.go(view),
            Action::NextView => self.go(self.view.neighbour(1)),
            Action::PreviousView => self.go(self.view.neighbour(View::ALL.len() - 1)),
            Action::Mode => {
                let mode = match self.wanted_settings().mode {
                    ViewMode::User => ViewMode::Expert,
                    ViewMode::Expert => ViewMode::Machine,
                    ViewMode::Machine => ViewMode::User,
                };
                self.change(|settings| settings.mode = mode);
                self.tell(match mode {
                    ViewMode::User => "user mode: stacks as their author wrote them",
                    ViewMode::Expert => "expert mode: the same as user mode for OpenMP",
                    ViewMode::Machine => "machine mode: stacks as they were measured",
                });
            }
            Action::Metrics => {
                let sets = self.recording.metric_sets();
                let set = (self.wanted_settings().set + 1) % sets.len();
                let told = format!("metrics {}", sets[set]);
                self.change(|settings| {
                    settings.set = set;
                    settings.sort = None;
                });
                self.tell(told);
            }
            Action::Compare => self.compare(),
            Action::Sort => self.overlay = Overlay::sort(self),
            Action::Search => self.overlay = Overlay::search(),
            Action::FindNext => self.find(true, false),
            Action::FindPrevious => self.find(false, false),
            Action::Filter => {
                self.overlay = Overlay::filter(self.suggestions());
            }
            Action::Copy => match self.expression() {
                Some(text) => return Effect::Copy(text),
                None => self.tell("nothing is selected that a filter could be made of"),
            },
            Action::Unfilter => self.change(|settings| settings.filter = None),
            Action::Export => self.overlay = Overlay::export(self.view),
            Action::Move(motion) => self.move_selection(motion),
            Action::Enter => self.enter(),
            Action::Back => self.back(),
            Action::HotPath => {
                self.unfold_hot_path(self.tree.selected);
                self.refresh();
            }
            Action::Hottest => self.select_hot_line(),
            Action::UnfoldAll => self.fold_all(false),
            Action::FoldAll => self.fold_all(true),
            Action::ZoomIn
            | Action::ZoomOut
            | Action::Whole
            | Action::Pan(_)
            | Action::Step(_)
            | Action::SecondLine
            | Action::Group
            | Action::Instance
            | Action::Box => self.on_timeline(action),
        }
        Effect::None
    }

    fn answer(&mut self, asked: Asked) -> Effect {
        self.overlay = Overlay::None;
        match asked {
            Asked::Nothing | Asked::Copy(_) => {}
            Asked::End { program: true } => return Effect::Stop,
            Asked::End { program: false } => return Effect::Quit,
            Asked::Sort(key) => self.change(|settings| settings.sort = Some(key)),
            Asked::Order(order) => self.order_directives(order),
            Asked::Search(text) => {
                // Nothing typed: the same again.
                if !text.is_empty() {
                    self.wanted = text;
                }
                self.find(true, true);
            }
            Asked::Filter(filter) => self.change(|settings| settings.filter = filter),
            Asked::Export(form) => return self.export(form),
        }
        Effect::None
    }

    fn export(&self, form: Form) -> Effect {
        Effect::Write {
            stem: format!(
                "{}-{}",
                self.recording.experiment.name,
                self.view.file_name()
            ),
            ending: form.ending(),
            contents: export::contents(self, form),
        }
    }

    /// Shows a view as soon as it is made.
    pub(crate) fn go(&mut self, view: View) {
        self.remember();
        self.turn_or_show(view);
    }

    fn turn_or_show(&mut self, view: View) {
        if self.turn.is_none() && self.data.has(&self.recording, view, &self.centre) {
            self.show(view);
        } else {
            self.turn_to(|turn| turn.view = view);
        }
    }

    fn show(&mut self, view: View) {
        self.view = view;
        self.refresh();
        match view {
            View::Source => self.select_source_line(),
            View::Disassembly => self.select_instruction(),
            View::Callers => self.select_centre(),
            // In Regions the selection stays where the function is no construct.
            View::Functions | View::Regions => {
                if let Some(at) = self.position(&self.centre) {
                    self.select_row(at);
                }
            }
            _ => {}
        }
        self.came = self.place();
    }

    /// What the cursor of the view in sight is on: rows that move under it do not count.
    fn place(&self) -> Option<Spot> {
        match self.view {
            View::Timeline => {
                let thread = self.threads().get(self.timeline.row)?;
                Some(Spot::Moment(*thread, self.timeline.time))
            }
            _ => {
                let row = self.table.rows.get(self.cursor().selected)?;
                Some(Spot::Row(row.name.clone()))
            }
        }
    }

    /// Takes over new settings as soon as the view under them is made.
    fn change(&mut self, change: impl FnOnce(&mut Settings)) {
        self.turn_to(|turn| change(&mut turn.settings));
    }

    /// Takes over views that were made for other settings or more of a recording, of which
    /// `before` was looked at; what is selected stays where it has a counterpart.
    fn look_anew(&mut self, before: &Arc<Recording>, data: Arc<Data>, view: View) {
        let old = std::mem::replace(&mut self.data, data);
        if self.tree.moved.is_none() && !old.is_blank() {
            let tree = old.tree(before);
            self.tree.moved = Some([self.tree.selected, self.tree.zoom].map(|row| tree.names(row)));
        }
        self.reorder();
        if view != self.view {
            return self.show(view);
        }
        let rows = self.table.rows.get(self.cursor().selected);
        let name = rows.map(|row| row.name.clone());
        self.refresh();
        let by_name = match self.view {
            View::Tree | View::Flame | View::Timeline | View::Source | View::Disassembly => None,
            _ => name.and_then(|name| self.position(&name)),
        };
        if let Some(at) = by_name {
            self.cursors[self.view as usize].selected = at;
        }
        self.settle();
    }

    /// The function that is selected is the one that callers and callees are shown of.
    fn remember(&mut self) {
        let row = self.table.rows.get(self.cursor().selected);
        let name = match (self.view, row) {
            (View::Functions, Some(row)) => Some(row.name.clone()),
            (View::Overview, Some(row)) => row.link.clone(),
            (View::Tree | View::Flame, _) => {
                let tree = self.data.tree(&self.recording);
                tree.rows
                    .get(self.tree.selected)
                    .map(|row| row.name.clone())
            }
            // A look at these views alone, without moving in them, means nothing.
            (View::Regions, Some(row)) if self.place() != self.came => Some(row.name.clone()),
            (View::Timeline, _) if self.place() != self.came => self.pointed_function(),
            _ => None,
        };
        if let Some(name) = name.filter(|name| *name != self.centre) {
            self.centre = name;
            self.line = None;
        }
        self.remember_line();
    }
}
