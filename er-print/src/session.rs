//! What commands work on: the experiments, the settings, the output.

use std::cell::OnceCell;
use std::ops::{Deref, DerefMut};

use omp_model::filter::{Filter, Word};
use omp_model::metrics::{Column, SortKey};
use report::find::Named;
use report::query::Source;
use report::settings::Objects;
use report::text::Layout;
use report::{Document, Query};

use crate::failure::Stop;
use crate::opened::Opened;
use crate::output::Output;

/// How tables are printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum PrintMode {
    /// For people.
    #[default]
    Text,
    /// One object a command.
    Json,
}

/// What commands set.
#[derive(Clone, Debug, Default)]
pub(crate) struct Settings {
    /// What builders of reports obey. Its filter is [`Settings::written`] and
    /// [`Settings::selected`] together.
    pub(crate) shown: report::Settings,
    /// Text or JSON.
    pub(crate) print: PrintMode,
    /// How tables of a text stand.
    pub(crate) layout: Layout,
    /// What `filters` has set.
    pub(crate) written: Option<Filter>,
    /// The types of index object that `indxobj_define` has made: a name and its expression.
    pub(crate) index_types: Vec<(String, Filter)>,
    /// What `thread_select` and its like have set.
    pub(crate) selected: Vec<(Word, Filter)>,
    /// The stack fragment of `cprepend` and its like: functions that call each other directly,
    /// callers first.
    pub(crate) fragment: Vec<Named>,
    /// `dmetrics`: columns to start with.
    pub(crate) default_metrics: Option<String>,
    /// `dsort`: the order to start with.
    pub(crate) default_sort: Option<String>,
}

impl Deref for Settings {
    type Target = report::Settings;

    fn deref(&self) -> &report::Settings {
        &self.shown
    }
}

impl DerefMut for Settings {
    fn deref_mut(&mut self) -> &mut report::Settings {
        &mut self.shown
    }
}

/// A run of commands.
pub(crate) struct Session<'a> {
    /// What commands set.
    pub(crate) settings: Settings,
    /// Scripts that are being read.
    pub(crate) script_depth: usize,
    /// Conditions of `check` that did not hold.
    pub(crate) failed_checks: u32,
    experiments: Vec<Opened>,
    united: OnceCell<Opened>,
    output: &'a mut Output,
}

impl<'a> Session<'a> {
    /// Starts with default settings.
    pub(crate) fn new(experiments: Vec<Opened>, output: &'a mut Output) -> Session<'a> {
        Session {
            settings: Settings::default(),
            script_depth: 0,
            failed_checks: 0,
            experiments,
            united: OnceCell::new(),
            output,
        }
    }

    /// Hands on what is buffered.
    pub(crate) fn flush(&mut self) -> Result<(), Stop> {
        Ok(self.output.flush()?)
    }

    /// Sends what follows to a file.
    pub(crate) fn redirect(&mut self, name: &str, append: bool) -> Result<(), Stop> {
        self.output.redirect(name, append)
    }

    /// The experiments, one by one.
    pub(crate) fn experiments(&self) -> &[Opened] {
        &self.experiments
    }

    /// Replaces the experiments.
    pub(crate) fn set_experiments(&mut self, experiments: Vec<Opened>) {
        self.experiments = experiments;
        self.united = OnceCell::new();
    }

    /// Takes the experiments out, to put others or more in.
    pub(crate) fn take_experiments(&mut self) -> Vec<Opened> {
        self.united = OnceCell::new();
        std::mem::take(&mut self.experiments)
    }

    /// The recording: the experiment, or several as one.
    pub(crate) fn all(&self) -> Result<&Opened, Stop> {
        match self.experiments.as_slice() {
            [] => Err(Stop::words(
                "this command needs an experiment: name its directory last",
            )),
            [only] => Ok(only),
            several => Ok(self.united.get_or_init(|| Opened::unite(several))),
        }
    }

    /// Sets which part of the time reports are about.
    pub(crate) fn set_filter(&mut self, filter: Option<Filter>) {
        self.settings.filter = filter;
        self.forget();
    }

    /// Sets which load objects are shown.
    pub(crate) fn set_objects(&mut self, change: impl FnOnce(&mut Objects)) {
        change(&mut self.settings.objects);
        self.forget();
    }

    fn forget(&mut self) {
        let all = self.experiments.iter_mut().chain(self.united.get_mut());
        all.for_each(Opened::forget);
    }

    /// The columns in force.
    pub(crate) fn columns(&self) -> Result<Vec<Column>, Stop> {
        if let Some(columns) = &self.settings.columns {
            return Ok(columns.clone());
        }
        let available = self.all()?.available();
        // A default of another program's experiments may name what this one has not.
        let wanted = self.settings.default_metrics.as_deref();
        if let Some(columns) = wanted.and_then(|spec| Column::parse_list(spec, available).ok()) {
            return Ok(columns);
        }
        let parsed = Column::parse_list(&available.default_spec(), available);
        parsed.map_err(|error| Stop::Words(error.to_string()))
    }

    /// The order in force: the one asked for, else that of the columns.
    pub(crate) fn sort_key(&self) -> Result<SortKey, Stop> {
        if let Some(key) = self.settings.sort {
            return Ok(key);
        }
        let available = self.all()?.available();
        let wanted = self.settings.default_sort.as_deref();
        let wanted = wanted.and_then(|spec| SortKey::parse(spec, available).ok());
        Ok(match wanted {
            Some(key) => key,
            None => SortKey::of_list(&self.columns()?),
        })
    }

    /// What a report that compares experiments is asked about.
    pub(crate) fn comparison(&self) -> Result<Query<'_>, Stop> {
        let query = self.query()?;
        query.refuse_single()?;
        Ok(query)
    }

    /// What a report is asked about.
    pub(crate) fn query(&self) -> Result<Query<'_>, Stop> {
        let settings = &self.settings.shown;
        let each: Vec<Source<'_>> = self
            .experiments
            .iter()
            .map(|it| it.source(settings))
            .collect();
        let all = self.all()?.source(settings);
        let (columns, sort) = (self.columns()?, self.sort_key()?);
        Ok(Query::new(settings, all, &each, columns, sort))
    }

    /// Prints a document in the form in force.
    pub(crate) fn show(&mut self, document: &Document) -> Result<(), Stop> {
        let report = match self.settings.print {
            PrintMode::Text => report::text::render(document, self.settings.layout),
            PrintMode::Json => report::json::render(document),
        };
        self.output.print(&report)
    }
}
