//! The state of a run: experiments, settings, output.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::ops::{Deref, DerefMut};

use omp_model::filter::{Filter, Word};
use omp_model::metrics::{Available, Column, Quantity, SortKey};
use omp_model::views::compare::groups::Groups;
use omp_model::views::names::NameForm;
use report::averages::average;
use report::find::Named;
use report::prune::{Least, prune};
use report::query::Source;
use report::settings::{Compare, Objects};
use report::text::{Layout, Screen};
use report::{Document, Query};

use crate::open_experiment::OpenExperiment;
use crate::output::{self, Output};
use crate::stop::Stop;

/// The most columns of numbers that a comparison shows at first.
const MOST_COMPARED: usize = 6;

/// The output format.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum PrintMode {
    /// For people.
    #[default]
    Text,
    /// One object a command.
    Json,
}

/// The settings that commands change.
#[derive(Clone, Debug, Default)]
pub(crate) struct Settings {
    /// The settings of the crate `report`. Its filter is the conjunction of [`Settings::written`]
    /// and [`Settings::selected`].
    pub(crate) shown: report::Settings,
    /// Text or JSON.
    pub(crate) print: PrintMode,
    /// What pages for browsers hold.
    pub(crate) page: report::page::Choice,
    /// The layout of tables in text.
    pub(crate) layout: Layout,
    /// The filter of `filters`.
    pub(crate) written: Option<Filter>,
    /// The types of `indxobj_define`: names and expressions.
    pub(crate) index_types: Vec<(String, Filter)>,
    /// The filters of `thread_select` and its like.
    pub(crate) selected: Vec<(Word, Filter)>,
    /// Whether rows that are too short for a digit are printed, too: `limit 0`.
    pub(crate) shows_all: bool,
    /// The stack fragment of `cprepend` and its like: functions that call each other directly,
    /// callers first.
    pub(crate) fragment: Vec<Named>,
    /// The initial metrics, of `dmetrics`.
    pub(crate) default_metrics: Option<String>,
    /// The initial order, of `dsort`.
    pub(crate) default_sort: Option<String>,
    /// Whether `compare` was chosen in a file of defaults, where it means nothing for a single
    /// experiment.
    pub(crate) compare_is_default: bool,
}

/// Whether an experiment has data for a quantity.
fn is_known(quantity: Quantity, available: &Available) -> bool {
    match quantity {
        Quantity::Time(_, metric) => available.has(metric),
        Quantity::Size | Quantity::Address | Quantity::Name => true,
    }
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
    /// A condition about findings held, but not all of the program was checked.
    pub(crate) is_unchecked: bool,
    experiments: Vec<OpenExperiment>,
    united: OnceCell<OpenExperiment>,
    output: &'a mut Output,
}

impl<'a> Session<'a> {
    /// Starts with default settings.
    pub(crate) fn new(experiments: Vec<OpenExperiment>, output: &'a mut Output) -> Session<'a> {
        let settings = Settings {
            shown: report::Settings::at_first(experiments.iter().map(|it| &**it)),
            ..Settings::default()
        };
        Session {
            settings,
            script_depth: 0,
            failed_checks: 0,
            is_unchecked: false,
            experiments,
            united: OnceCell::new(),
            output,
        }
    }

    /// Flushes the output.
    pub(crate) fn flush(&mut self) -> Result<(), Stop> {
        Ok(self.output.flush()?)
    }

    /// Sends later output to a file.
    pub(crate) fn redirect(&mut self, name: &str, append: bool) -> Result<(), Stop> {
        self.output.redirect(name, append)
    }

    /// The experiments, one by one.
    pub(crate) fn experiments(&self) -> &[OpenExperiment] {
        &self.experiments
    }

    /// The sides of the experiments.
    pub(crate) fn groups(&self) -> Groups {
        Groups::new(self.experiments.iter().map(|it| it.side))
    }

    /// Replaces the experiments.
    pub(crate) fn set_experiments(&mut self, experiments: Vec<OpenExperiment>) {
        self.experiments = experiments;
        self.united = OnceCell::new();
    }

    /// Removes and returns the experiments.
    pub(crate) fn take_experiments(&mut self) -> Vec<OpenExperiment> {
        self.united = OnceCell::new();
        std::mem::take(&mut self.experiments)
    }

    /// The experiment, or several added up.
    pub(crate) fn all(&self) -> Result<&OpenExperiment, Stop> {
        match self.experiments.as_slice() {
            [] => Err(Stop::usage(
                "this command needs an experiment: name its directory last",
            )),
            [only] => Ok(only),
            several => Ok(self.united.get_or_init(|| OpenExperiment::unite(several))),
        }
    }

    /// Sets the filter.
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
        all.for_each(OpenExperiment::forget);
    }

    /// The columns in force.
    pub(crate) fn columns(&self) -> Result<Vec<Column>, Stop> {
        if let Some(columns) = &self.settings.columns {
            return Ok(columns.clone());
        }
        let available = self.all()?.available();
        // The defaults may name metrics that this experiment lacks: the others serve.
        let wanted = self.settings.default_metrics.as_deref();
        if let Some(mut columns) = wanted.and_then(|spec| Column::parse_list(spec, available).ok())
        {
            columns.retain(|column| is_known(column.quantity, available));
            if columns.iter().any(|it| it.quantity != Quantity::Name) {
                return Ok(columns);
            }
        }
        let parsed = Column::parse_list(&available.default_spec(), available);
        let columns = parsed.map_err(|error| Stop::Usage(error.to_string()))?;
        Ok(self.few_enough(columns))
    }

    /// The first of these columns, as many as a comparison has room for, with the name. One metric is always
    /// shown.
    fn few_enough(&self, mut columns: Vec<Column>) -> Vec<Column> {
        let sides = self.groups().len();
        if sides > 1 && self.settings.compare != Compare::Off {
            let mut left = (MOST_COMPARED / sides).max(1);
            columns.retain(|column| {
                let is_name = column.quantity == Quantity::Name;
                let fits = is_name || left > 0;
                left -= usize::from(fits && !is_name);
                fits
            });
        }
        columns
    }

    /// The order in force: the one asked for, else that of the columns.
    pub(crate) fn sort_key(&self) -> Result<SortKey, Stop> {
        if let Some(key) = self.settings.sort {
            return Ok(key);
        }
        let available = self.all()?.available();
        let wanted = self.settings.default_sort.as_deref();
        let wanted = wanted.and_then(|spec| SortKey::parse(spec, available).ok());
        Ok(
            match wanted.filter(|key| is_known(key.quantity, available)) {
                Some(key) => key,
                None => SortKey::of_list(&self.columns()?),
            },
        )
    }

    /// The query of a report that compares experiments. An error if `compare` is on and there is
    /// only one.
    pub(crate) fn comparison(&self) -> Result<Query<'_>, Stop> {
        let query = self.query()?;
        if !self.settings.compare_is_default {
            query.refuse_single()?;
        }
        Ok(query)
    }

    /// The query of a report.
    pub(crate) fn query(&self) -> Result<Query<'_>, Stop> {
        let settings = &self.settings.shown;
        let each: Vec<Source<'_>> = self
            .experiments
            .iter()
            .map(|it| it.source(settings))
            .collect();
        let all = self.all()?.source(settings);
        let (columns, sort) = (self.columns()?, self.sort_key()?);
        Ok(Query::new(settings, all, &each, columns, sort).grouped(self.groups()))
    }

    /// The terminal that tables have to fit.
    fn screen(&self) -> Option<Screen> {
        let cuts_names = self.settings.style.form == NameForm::Short;
        let width = self.output.width()?;
        Some(Screen {
            width,
            cuts_names,
            has_colours: output::has_colours(),
        })
    }

    /// What rows of a document must have to be printed; `None`: all are. Programs that read a report want all,
    /// and so do people of what they named.
    fn least(&self, document: &Document) -> Option<Least> {
        const LONG: [&str; 4] = ["functions", "lines", "pcs", "calltree"];
        let settings = &self.settings;
        let is_for_people = settings.print == PrintMode::Text
            && !matches!(settings.layout, Layout::Delimited(_))
            && !settings.shows_all;
        match settings.least_percent {
            percent if percent > 0.0 => Some(Least::Percent(percent)),
            _ if is_for_people && LONG.contains(&document.view.as_str()) => Some(Least::Digit),
            _ => None,
        }
    }

    /// Prints a document in the current format.
    pub(crate) fn show(&mut self, document: &Document) -> Result<(), Stop> {
        // A call tree is large: it is copied only to be changed.
        let mut document = Cow::Borrowed(document);
        if self.groups().have_several() {
            average(document.to_mut());
        }
        if let Some(least) = self.least(&document) {
            prune(document.to_mut(), least);
        }
        let report = match self.settings.print {
            PrintMode::Text => match (self.settings.layout, self.screen()) {
                (Layout::Aligned, Some(screen)) => report::text::fitted(&document, screen),
                (layout, _) => report::text::render(&document, layout),
            },
            PrintMode::Json => report::json::render(&document),
        };
        self.output.print(&report)
    }
}
