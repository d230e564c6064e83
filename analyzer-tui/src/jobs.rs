//! What the user wants to see and what it takes to make it: views are made beside the loop that
//! answers keys, and the old screen goes on answering them until the new one is there.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::documents::Documents;
use crate::experiments::Experiments;
use crate::live::Progress;
use crate::settings::Settings;
use crate::state::app::{App, Live, Message, Selected, Wanted};
use crate::view::View;

/// A view to be made, on any thread.
#[derive(Debug)]
pub struct Job {
    number: u64,
    experiments: Arc<Experiments>,
    settings: Settings,
    view: View,
    function: String,
    /// The documents under the same settings that are made already.
    documents: Option<Arc<Documents>>,
    /// The number of what is wanted by now.
    newest: Arc<AtomicU64>,
}

/// A view that was made.
#[derive(Debug)]
pub struct JobResult {
    number: u64,
    documents: Arc<Documents>,
}

impl Job {
    /// Makes it; `None` if that took so long that something else is wanted by now.
    pub fn run(self) -> Option<JobResult> {
        let documents = match &self.documents {
            Some(documents) => Arc::clone(documents),
            None => {
                // All of the samples may have to be read first.
                self.experiments.available();
                self.is_wanted()
                    .then(|| Arc::new(Documents::new(&self.experiments, &self.settings)))?
            }
        };
        if self.is_wanted() {
            documents.prepare(&self.experiments, self.view, &self.function);
        }
        self.is_wanted().then_some(JobResult {
            number: self.number,
            documents,
        })
    }

    fn is_wanted(&self) -> bool {
        self.newest.load(Ordering::Relaxed) == self.number
    }
}

impl App {
    /// Shows the overview on a screen of a size.
    pub fn new(experiments: Arc<Experiments>, size: (u16, u16)) -> App {
        let mut app = App::opening(experiments, Settings::default(), size);
        app.finish_jobs();
        app
    }

    /// Shows what is known of experiments while the views are being made.
    pub fn opening(experiments: Arc<Experiments>, settings: Settings, size: (u16, u16)) -> App {
        let mut app = App::start(experiments, settings, size);
        app.refresh();
        app.want(|_| {});
        app
    }

    /// Changes what is wanted, from what is in sight or wanted already.
    pub(crate) fn want(&mut self, change: impl FnOnce(&mut Wanted)) {
        let mut wanted = self.wanted.take().unwrap_or_else(|| Wanted {
            number: 0,
            experiments: Arc::clone(&self.experiments),
            progress: None,
            settings: self.settings.clone(),
            view: self.view,
            begun: false,
        });
        change(&mut wanted);
        wanted.number = self.newest.fetch_add(1, Ordering::Relaxed) + 1;
        wanted.begun = false;
        let is_here =
            self.is_in_force(&wanted) && wanted.view == self.view && !self.documents.is_blank();
        self.wanted = Some(wanted).filter(|_| !is_here);
    }

    /// Takes over new settings as soon as the view under them is made.
    pub(crate) fn change(&mut self, change: impl FnOnce(&mut Settings)) {
        self.want(|wanted| change(&mut wanted.settings));
    }

    /// Whether what is wanted leaves experiments and settings as they are.
    fn is_in_force(&self, wanted: &Wanted) -> bool {
        Arc::ptr_eq(&wanted.experiments, &self.experiments) && wanted.settings == self.settings
    }

    /// The settings that are wanted.
    pub(crate) fn wanted_settings(&self) -> &Settings {
        let wanted = self.wanted.as_ref();
        wanted.map_or(&self.settings, |wanted| &wanted.settings)
    }

    /// Leaves what is in sight; what is being made is forgotten. An experiment that is being read
    /// goes on to be.
    pub(crate) fn cancel(&mut self) {
        let is_reading = |wanted: &Wanted| wanted.progress.is_some();
        if !self.documents.is_blank() && !self.wanted.as_ref().is_none_or(is_reading) {
            self.wanted = None;
            self.newest.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// What must be made now, to be handed back by [`App::take_result`].
    pub fn job(&mut self) -> Option<Job> {
        let mut wanted = self.wanted.take()?;
        let begun = std::mem::replace(&mut wanted.begun, true);
        // Of experiments that are being read only the timeline can be there.
        let early = wanted.view == View::Timeline && self.view != wanted.view;
        let same = self.is_in_force(&wanted) && (early || !self.documents.is_blank());
        let job = (!begun).then(|| Job {
            number: wanted.number,
            experiments: Arc::clone(&wanted.experiments),
            settings: wanted.settings.clone(),
            view: wanted.view,
            function: self.function.clone(),
            documents: same.then(|| Arc::clone(&self.documents)),
            newest: Arc::clone(&self.newest),
        });
        self.wanted = Some(wanted);
        job
    }

    /// Shows what was made, if it is still wanted.
    pub fn take_result(&mut self, made: JobResult) {
        let Some(wanted) = self.wanted.take_if(|wanted| wanted.number == made.number) else {
            return;
        };
        if wanted.view == self.view {
            self.remember();
        }
        let before = Arc::clone(&self.experiments);
        let grown = !Arc::ptr_eq(&before, &wanted.experiments);
        if grown {
            self.grow(wanted.experiments, wanted.progress);
        }
        if grown || !Arc::ptr_eq(&self.documents, &made.documents) {
            self.settings = wanted.settings;
            self.replace_documents(&before, made.documents, wanted.view);
        } else if wanted.view != self.view {
            self.show(wanted.view);
        }
        if self.documents.is_blank() {
            self.want(|_| {});
        }
    }

    /// Makes all that is wanted at once, for who has nothing else to do meanwhile.
    pub fn finish_jobs(&mut self) {
        loop {
            if let Some(job) = self.job() {
                if let Some(made) = job.run() {
                    self.take_result(made);
                }
            } else if let Some(unpacking) = self.unpacking() {
                if let Some(unpacked) = unpacking.unpack() {
                    self.take_samples(unpacked);
                }
            } else {
                return;
            }
        }
    }

    /// Shows a view as soon as it is made.
    pub(crate) fn go(&mut self, view: View) {
        self.remember();
        self.show_or_want(view);
    }

    pub(crate) fn show_or_want(&mut self, view: View) {
        let documents = &self.documents;
        if self.wanted.is_none() && documents.has(&self.experiments, view, &self.function) {
            self.show(view);
        } else {
            self.want(|wanted| wanted.view = view);
        }
    }

    fn show(&mut self, view: View) {
        self.view = view;
        self.refresh();
        match view {
            View::Source | View::Disassembly => self.select_code(),
            View::Callers => self.select_centre(),
            // In Regions the selection stays where the function is no construct.
            View::Functions | View::Regions => {
                if let Some(at) = self.position(&self.function) {
                    self.select_row(at);
                }
            }
            _ => {}
        }
        self.on_arrival = self.selected();
    }

    /// What the cursor of the view in sight is on: lines that move under it do not count.
    fn selected(&self) -> Option<Selected> {
        if self.view == View::Timeline {
            let thread = self.threads().get(self.timeline.row)?;
            return Some(Selected::Moment(*thread, self.timeline.time));
        }
        let line = self.cursor().selected;
        Some(Selected::Line(self.list.text(line).to_owned()))
    }

    /// Takes over views that were made for other settings or more of an experiment, of which
    /// `before` was looked at; what is selected stays where it has a counterpart.
    fn replace_documents(
        &mut self,
        before: &Arc<Experiments>,
        documents: Arc<Documents>,
        view: View,
    ) {
        let old = std::mem::replace(&mut self.documents, documents);
        if self.tree.moved.is_none() && !old.is_blank() {
            let tree = old.tree(before);
            self.tree.moved = Some([self.tree.selected, self.tree.zoom].map(|row| tree.names(row)));
        }
        self.reorder();
        if view != self.view {
            return self.show(view);
        }
        let row = self.list.row(self.cursor().selected);
        let name = row.map(|row| row.name.clone());
        self.refresh();
        let by_name = match self.view {
            View::Tree | View::Flame | View::Timeline => None,
            View::Source | View::Disassembly => return self.select_code(),
            _ => name.and_then(|name| self.position(&name)),
        };
        if let Some(at) = by_name {
            self.cursors[self.view as usize].selected = at;
        }
        self.settle();
    }

    /// The function that is selected is the one that views of one function are of.
    pub(crate) fn remember(&mut self) {
        let line = self.cursor().selected;
        let has_moved = || self.selected() != self.on_arrival;
        let name = match self.view {
            View::Functions | View::Overview => self.list.function(line).map(str::to_owned),
            View::Tree | View::Flame if !self.documents.is_blank() => {
                let tree = self.documents.tree(&self.experiments);
                Some(tree.name(self.tree.selected).to_owned())
            }
            // A look at these views alone, without moving in them, means nothing.
            View::Regions if has_moved() => self.list.function(line).map(str::to_owned),
            View::Timeline if has_moved() => self.function_at_cursor(),
            _ => None,
        };
        if let Some(name) = name.filter(|name| *name != self.function) {
            self.function = name;
            self.line = None;
        }
        self.remember_line();
    }

    /// The recording is being made, so far; `program`: this program has started it.
    pub fn set_progress(&mut self, progress: Progress, program: bool) {
        let live = Live {
            until: progress.until,
            program,
        };
        self.live = Some(live).filter(|_| !progress.finished);
        if progress.finished {
            let name = &self.experiments.name;
            let text = match self.experiments.experiment.header.exit_status {
                None | Some(0) => format!("the recording is complete: {name}"),
                Some(status) => {
                    format!("the recording is complete: {name}; the program ended with {status}")
                }
            };
            self.tell(text);
        }
    }

    /// The experiment has grown, and is shown as soon as the view in sight is made of it.
    pub fn want_experiments(&mut self, experiments: Arc<Experiments>, progress: Progress) {
        self.want(|wanted| {
            wanted.experiments = experiments;
            wanted.progress = Some(progress);
        });
    }

    /// Looks at more of the experiment. A timeline that shows all time, or the latest, goes on to
    /// do so.
    fn grow(&mut self, experiments: Arc<Experiments>, progress: Option<Progress>) {
        self.experiments = experiments;
        if let Some(progress) = progress {
            let program = self.live.is_some_and(|live| live.program);
            self.set_progress(progress, program);
        }
        self.timeline.grow(&self.experiments);
    }

    /// A file was written, or could not be: in words.
    pub fn wrote(&mut self, result: Result<String, String>) {
        let is_warning = result.is_err();
        let (Ok(text) | Err(text)) = result;
        self.message = Some(Message { text, is_warning });
    }

    /// A text was put into the clipboard, or could not be.
    pub fn copied(&mut self, result: Result<(), String>) {
        self.wrote(
            result.map(|()| {
                "wrote to the clipboard, if the terminal lets programs do that".to_owned()
            }),
        );
    }
}
