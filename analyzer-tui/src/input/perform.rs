//! Performs the actions of keys and the answers to questions.

use omp_model::filter::Filter;
use omp_model::profile::{Inline, ViewMode};
use omp_model::views::visibility::Visibility;
use ratatui::crossterm::event::{KeyCode, KeyEvent};
use report::reports::Report;
use report::settings::{Compare, Objects};

use super::bindings;
use super::keys::Action;
use crate::export;
use crate::row_order::RowOrder;
use crate::settings::next_compare;
use crate::state::app::{App, Effect};
use crate::state::overlay::{Answer, Overlay};
use crate::view::{Form, View, neighbour};

impl App {
    /// The screen has another size.
    pub fn resize(&mut self, width: u16, height: u16) {
        self.size = (width, height);
        self.refresh();
    }

    /// A key was pressed.
    pub fn key(&mut self, event: KeyEvent) -> Effect {
        self.message = None;
        if !matches!(self.overlay, Overlay::None) {
            return match self.overlay.key(event) {
                Some(Answer::Copy(text)) => Effect::Copy(text),
                Some(answer) => self.answer(answer),
                None => Effect::None,
            };
        }
        match bindings::action(self.view, event) {
            Some(action) => return self.perform(action),
            None => {
                if let KeyCode::Char(key) = event.code {
                    let view = self.view.title();
                    self.tell(format!("{key} does nothing in {view}: ? tells its keys"));
                }
            }
        }
        Effect::None
    }

    pub(crate) fn perform(&mut self, action: Action) -> Effect {
        let needs_views = matches!(action, Action::Metrics | Action::Export | Action::Sort);
        if needs_views && self.documents.is_blank() {
            self.tell("samples are still being read");
            return Effect::None;
        }
        match action {
            Action::Quit if self.live.is_some_and(|live| live.started_here) => {
                self.overlay = Overlay::quit();
            }
            Action::Quit => return Effect::Quit,
            Action::Help => self.overlay = Overlay::Help { top: 0 },
            Action::Go(View::Report) => self.overlay = self.ask_report(),
            Action::Go(View::Races) if !self.has_findings() => {
                self.tell("the experiment has no data on races: record it with collect -r race");
            }
            Action::Go(View::Ranks) if !self.recorded().mpi => {
                self.tell("the experiment has no calls of MPI: ranks are recorded with mpirun -n 4 collect PROGRAM");
            }
            Action::Go(view) => self.go(view),
            Action::NextView => self.go(neighbour(self.view, true, self.recorded())),
            Action::PreviousView => self.go(neighbour(self.view, false, self.recorded())),
            Action::Mode => self.next_mode(),
            Action::Inline => self.turn_inline(),
            Action::Hidden => self.turn_hidden(),
            Action::Metrics => self.next_metrics(),
            Action::Compare => self.compare(),
            Action::Sort => self.overlay = self.ask_order(),
            Action::Search => self.overlay = Overlay::search(),
            Action::FindNext => self.find(true, false),
            Action::FindPrevious => self.find(false, false),
            Action::Filter => self.overlay = Overlay::filter(self.suggestions()),
            Action::Copy => match self.expression() {
                Some(text) => return Effect::Copy(text),
                None => self.tell("nothing is selected that a filter could be made of"),
            },
            Action::Unfilter => self.set_filter(None),
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
            Action::ZoomOut if self.view == View::Flame => self.zoom_out_of_flame(),
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

    fn next_mode(&mut self) {
        let (mode, words) = match self.wanted_settings().report.mode {
            ViewMode::User => (
                ViewMode::Expert,
                "expert mode: the same as user mode for OpenMP",
            ),
            ViewMode::Expert => (
                ViewMode::Machine,
                "machine mode: stacks as they were measured",
            ),
            ViewMode::Machine => (
                ViewMode::User,
                "user mode: stacks as their author wrote them",
            ),
        };
        self.change(|settings| settings.report.mode = mode);
        self.tell(words);
    }

    fn turn_inline(&mut self) {
        let (inline, words) = match self.wanted_settings().report.inline {
            Inline::On => (
                Inline::Off,
                "inlined functions are part of those that they were inlined into",
            ),
            Inline::Off => (Inline::On, "inlined functions have frames of their own"),
        };
        self.change(|settings| settings.report.inline = inline);
        self.tell(words);
    }

    fn turn_hidden(&mut self) {
        let now = &self.wanted_settings().report;
        if now.mode != ViewMode::Machine {
            self.tell("only stacks of machine mode have frames of the kernel and the collector");
            return;
        }
        let is_hidden = now.objects.is_default();
        let mut objects = Objects::default();
        if is_hidden {
            objects.set("all", Visibility::Show);
        }
        self.change(|settings| settings.report.objects = objects);
        self.tell(if is_hidden {
            "the kernel and the collector are shown with all their functions; K hides them again"
        } else {
            "the kernel is one function for each reason of entry, and the collector is one"
        });
    }

    fn next_metrics(&mut self) {
        let sets = self.experiments.metric_sets();
        let set = (self.wanted_settings().set + 1) % sets.len();
        let message = format!("metrics {}", sets[set]);
        self.change(|settings| {
            settings.set = set;
            settings.report.sort = None;
        });
        self.tell(message);
    }

    fn compare(&mut self) {
        if self.experiments.parts().len() < 2 {
            self.tell("comparing needs two experiments: analyzer FIRST SECOND");
            return;
        }
        let compare = next_compare(self.wanted_settings().report.compare);
        self.change(|settings| settings.report.compare = compare);
        self.tell(match compare {
            Compare::Off | Compare::Scaling => "the experiments added up",
            Compare::On => "the experiments compared by their values",
            Compare::Delta => "the first experiment, and what the others have more or less",
            Compare::Ratio => "the first experiment, and how many times as much others have",
        });
    }

    fn answer(&mut self, answer: Answer) -> Effect {
        self.overlay = Overlay::None;
        match answer {
            Answer::Nothing | Answer::Copy(_) => {}
            Answer::Stop => return Effect::Stop,
            Answer::Quit => return Effect::Quit,
            Answer::Sort(key) => self.change(|settings| settings.report.sort = Some(key)),
            Answer::Order(order) => self.order_rows(order),
            Answer::Search(text) => {
                // An empty line repeats the last search.
                if !text.is_empty() {
                    self.searched = text;
                }
                self.find(true, true);
            }
            Answer::Filter(filter) => self.set_filter(filter),
            Answer::Export(form) => return self.export(form),
            Answer::Report(name) => {
                if let Some(report) = Report::by_name(name) {
                    self.go_to_report(report);
                }
            }
        }
        Effect::None
    }

    fn set_filter(&mut self, filter: Option<Filter>) {
        self.leave();
        self.change(|settings| settings.report.filter = filter);
    }

    /// Sorts the rows; the selected row stays selected.
    pub(super) fn order_rows(&mut self, order: Option<RowOrder>) {
        let row = self.list.row(self.cursor().selected);
        let name = row.map(|row| row.name.clone());
        match order {
            Some(order) => self.row_orders.insert(self.view, order),
            None => self.row_orders.remove(&self.view),
        };
        self.refresh();
        if let Some(at) = name.and_then(|name| self.position(&name)) {
            self.select_row(at);
        }
    }

    fn export(&self, form: Form) -> Effect {
        Effect::Write {
            stem: format!("{}-{}", self.experiments.experiment.name, self.file_name()),
            ending: form.ending(),
            contents: export::contents(self, form),
        }
    }
}
