//! Computes views on background threads. Until a view is ready, the current screen stays and
//! answers keys.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use report::reports::Report;

use crate::documents::Documents;
use crate::experiments::Experiments;
use crate::live::Progress;
use crate::settings::Settings;
use crate::state::app::{App, Cursor, Live, Message, UnderCursor, Wanted};
use crate::view::View;

/// A view to compute, on any thread.
#[derive(Debug)]
pub struct Job {
    number: u64,
    experiments: Arc<Experiments>,
    settings: Settings,
    view: View,
    subject: String,
    /// The documents under the same settings, if there are any.
    documents: Option<Arc<Documents>>,
    /// The number of the latest request.
    newest: Arc<AtomicU64>,
}

/// A computed view.
#[derive(Debug)]
pub struct JobResult {
    number: u64,
    documents: Arc<Documents>,
}

impl Job {
    /// Computes it; `None` if the user has asked for something else meanwhile.
    pub fn run(self) -> Option<JobResult> {
        let documents = match &self.documents {
            Some(documents) => Arc::clone(documents),
            None => {
                // This may read all samples.
                self.experiments.available();
                self.is_wanted()
                    .then(|| Arc::new(Documents::new(&self.experiments, &self.settings)))?
            }
        };
        if self.is_wanted() {
            documents.prepare(&self.experiments, self.view, &self.subject);
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
    /// Shows the overview, once it is computed, on a screen of this size.
    pub fn new(experiments: Arc<Experiments>, size: (u16, u16)) -> App {
        let mut app = App::opening(experiments, Settings::default(), size);
        app.finish_jobs();
        app
    }

    /// Shows the experiments' headers, and asks for the overview.
    pub fn opening(experiments: Arc<Experiments>, settings: Settings, size: (u16, u16)) -> App {
        let mut app = App::start(experiments, settings, size);
        app.refresh();
        app.want(|_| {});
        app
    }

    /// Changes the requested view and settings; those in sight if nothing was requested.
    pub(crate) fn want(&mut self, change: impl FnOnce(&mut Wanted)) {
        let mut wanted = self.wanted.take().unwrap_or_else(|| Wanted {
            number: 0,
            experiments: Arc::clone(&self.experiments),
            progress: None,
            settings: self.settings.clone(),
            view: self.view,
            report: self.report,
            place: None,
            begun: false,
        });
        change(&mut wanted);
        wanted.number = self.newest.fetch_add(1, Ordering::Relaxed) + 1;
        wanted.begun = false;
        let is_in_sight = self.has_inputs_of(&wanted)
            && wanted.view == self.view
            && wanted.report.name == self.report.name
            && wanted.place.is_none()
            && !self.documents.is_blank();
        self.wanted = Some(wanted).filter(|_| !is_in_sight);
    }

    /// Requests other settings.
    pub(crate) fn change(&mut self, change: impl FnOnce(&mut Settings)) {
        self.want(|wanted| change(&mut wanted.settings));
    }

    /// Whether a request is for the current experiments and settings.
    fn has_inputs_of(&self, wanted: &Wanted) -> bool {
        Arc::ptr_eq(&wanted.experiments, &self.experiments) && wanted.settings == self.settings
    }

    /// The requested settings.
    pub(crate) fn wanted_settings(&self) -> &Settings {
        let wanted = self.wanted.as_ref();
        wanted.map_or(&self.settings, |wanted| &wanted.settings)
    }

    /// Drops the requested view and stays in the current one; `false` if none was requested. Does
    /// not stop reading an experiment.
    pub(crate) fn cancel(&mut self) -> bool {
        let is_reading = |wanted: &Wanted| wanted.progress.is_some();
        let cancels = !self.documents.is_blank() && !self.wanted.as_ref().is_none_or(is_reading);
        if cancels {
            self.wanted = None;
            self.newest.fetch_add(1, Ordering::Relaxed);
        }
        cancels
    }

    /// The job to start now, if there is one. Its result goes to [`App::take_result`].
    pub fn job(&mut self) -> Option<Job> {
        let mut wanted = self.wanted.take()?;
        let begun = std::mem::replace(&mut wanted.begun, true);
        // Before the samples are read, there is a timeline and no documents.
        let early = wanted.view == View::Timeline && self.view != wanted.view;
        let same = self.has_inputs_of(&wanted) && (early || !self.documents.is_blank());
        let function = match &wanted.place {
            Some(place) => &place.function,
            None => &self.function,
        };
        let job = (!begun).then(|| Job {
            number: wanted.number,
            experiments: Arc::clone(&wanted.experiments),
            settings: wanted.settings.clone(),
            view: wanted.view,
            subject: App::subject(wanted.view, wanted.report, function).to_owned(),
            documents: same.then(|| Arc::clone(&self.documents)),
            newest: Arc::clone(&self.newest),
        });
        self.wanted = Some(wanted);
        job
    }

    /// Shows the result of a job, if it is still wanted.
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
        let is_other = wanted.view != self.view
            || wanted.report.name != self.report.name
            || wanted.place.is_some();
        if let Some(place) = &wanted.place {
            self.take_subject(place);
        }
        self.set_report(wanted.report);
        if grown || !Arc::ptr_eq(&self.documents, &made.documents) {
            self.settings = wanted.settings;
            self.replace_documents(&before, made.documents, wanted.view);
        } else if is_other {
            self.show(wanted.view);
        }
        if let Some(place) = wanted.place {
            self.settle_at(place);
        }
        if self.documents.is_blank() {
            self.want(|_| {});
        }
    }

    /// Runs all jobs on this thread. For tests.
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

    /// Goes to a view, and remembers the function and line of the current one.
    pub(crate) fn go(&mut self, view: View) {
        self.remember();
        if view != self.view {
            self.leave();
        }
        self.show_or_want(view);
    }

    pub(crate) fn show_or_want(&mut self, view: View) {
        let subject = App::subject(view, self.report, &self.function);
        if self.wanted.is_none() && self.documents.has(&self.experiments, view, subject) {
            self.show(view);
        } else {
            self.want(|wanted| {
                wanted.view = view;
                wanted.place = None;
            });
        }
    }

    /// Goes to a report.
    pub(crate) fn go_to_report(&mut self, report: &'static Report) {
        self.remember();
        self.leave();
        self.want(|wanted| {
            wanted.view = View::Report;
            wanted.report = report;
            wanted.place = None;
        });
    }

    /// Makes a report that of [`View::Report`]; another one begins at its first line.
    pub(crate) fn set_report(&mut self, report: &'static Report) {
        if report.name != self.report.name {
            self.report = report;
            self.cursors[View::Report as usize] = Cursor::default();
        }
    }

    pub(crate) fn show(&mut self, view: View) {
        self.view = view;
        self.refresh();
        match view {
            View::Source | View::Disassembly => self.select_code(),
            View::Callers => self.select_centre(),
            // The selection among constructs stays if the function is none.
            view if view == View::Functions || view.order().is_some() => {
                if let Some(at) = self.position(&self.function) {
                    self.select_row(at);
                }
            }
            _ => {}
        }
        self.on_arrival = self.under_cursor();
    }

    /// What the cursor of the current view is on, independent of the order of rows.
    pub(crate) fn under_cursor(&self) -> Option<UnderCursor> {
        if self.view == View::Timeline {
            let thread = self.threads().get(self.timeline.row)?;
            return Some(UnderCursor::Moment(*thread, self.timeline.time));
        }
        let line = self.cursor().selected;
        Some(UnderCursor::Line(self.list.text(line).to_owned()))
    }

    /// Shows documents of other settings, or of a grown experiment; `before` are the experiments
    /// of the old documents. The selection moves to its counterpart.
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

    /// Makes the selected function the subject of views of one function.
    pub(crate) fn remember(&mut self) {
        let line = self.cursor().selected;
        let has_moved = || self.under_cursor() != self.on_arrival;
        let name = match self.view {
            View::Functions | View::Overview => self.list.function(line).map(str::to_owned),
            View::Tree | View::Flame if !self.documents.is_blank() => {
                let tree = self.documents.tree(&self.experiments);
                Some(tree.name(self.tree.selected).to_owned())
            }
            // In these views a function counts as selected only after the cursor has moved.
            view if view.order().is_some() && has_moved() => {
                self.list.function(line).map(str::to_owned)
            }
            View::Timeline if has_moved() => self.function_at_cursor(),
            _ => None,
        };
        let is_code = matches!(self.view, View::Source | View::Disassembly);
        let has_line = is_code || name.is_some();
        if let Some(name) = name.filter(|name| *name != self.function) {
            self.function = name;
            self.line = None;
        }
        if let Some(line) = self.line_of(line).filter(|_| has_line) {
            self.line = Some(line);
        }
    }

    /// Sets the progress of a recording; `started_here` if analyzer has started it.
    pub fn set_progress(&mut self, progress: Progress, started_here: bool) {
        let live = Live {
            until: progress.until,
            started_here,
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

    /// Requests the current view of an experiment that has grown.
    pub fn want_experiments(&mut self, experiments: Arc<Experiments>, progress: Progress) {
        self.want(|wanted| {
            wanted.experiments = experiments;
            wanted.progress = Some(progress);
        });
    }

    /// Replaces the experiment by a longer one. A timeline that shows all time, or the latest,
    /// continues to.
    fn grow(&mut self, experiments: Arc<Experiments>, progress: Option<Progress>) {
        self.experiments = experiments;
        if let Some(progress) = progress {
            let started_here = self.live.is_some_and(|live| live.started_here);
            self.set_progress(progress, started_here);
        }
        self.timeline.grow(&self.experiments);
    }

    /// Shows the result of writing a file.
    pub fn wrote(&mut self, result: Result<String, String>) {
        let is_warning = result.is_err();
        let (Ok(text) | Err(text)) = result;
        self.message = Some(Message { text, is_warning });
    }

    /// Shows the result of copying to the clipboard.
    pub fn copied(&mut self, result: Result<(), String>) {
        self.wrote(
            result.map(|()| {
                "wrote to the clipboard, if the terminal lets programs do that".to_owned()
            }),
        );
    }
}
