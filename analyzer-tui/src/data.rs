//! The views under the settings in force, each computed when it is first asked for: beside the
//! loop that answers keys, where that may take long ([`Data::prepare`]).

use std::sync::{Arc, OnceLock};

use omp_model::filter::{Filter, Filtered};
use omp_model::ids::ThreadId;
use omp_model::metrics::{Column, Flavour, Metric, Quantity, SortKey};
use omp_model::profile::{Profile, ViewMode};
use omp_model::views::annotated::{FileTimes, file_times};
use omp_model::views::compare::join::Joined;
use omp_model::views::functions::{self, List};
use omp_model::views::names::NameStyle;
use omp_model::views::neighbours::{self, Neighbours};
use omp_model::views::notices::{inferred_seconds, notices};
use omp_model::views::overview::{Overview, overview};
use omp_model::views::threads::{ThreadRow, threads};
use omp_model::views::{Request, calltree};
use rustc_hash::FxHashSet;

use crate::about;
use crate::app::View;
use crate::compare::{self, Beside, Compare};
use crate::recording::Recording;
use crate::regions::{self, Directives};
use crate::report::Table;
use crate::source::{self, Side, Times};
use crate::tables;
use crate::tree::Tree;
use report::timeline::MOST_REFINED;

/// How many functions the overview shows.
pub(crate) const LARGEST: usize = 10;

/// What the user chose.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Settings {
    /// The viewpoint.
    pub mode: ViewMode,
    /// What is looked at; `None`: everything.
    pub filter: Option<Filter>,
    /// The order; `None`: that of the columns.
    pub sort: Option<SortKey>,
    /// Which of [`Recording::metric_sets`] is shown.
    pub set: usize,
    /// How several experiments stand beside each other; `None`: they are added up.
    pub compare: Option<Compare>,
}

/// The columns of one of [`Recording::metric_sets`].
fn columns_of(recording: &Recording, set: usize) -> Vec<Column> {
    let sets = recording.metric_sets();
    let spec = sets.get(set).unwrap_or(&sets[0]);
    Column::parse_list(spec, recording.available())
        .expect("the lists are made of the metrics that the recording has")
}

/// The views, computed at most once each.
#[derive(Debug)]
pub struct Data {
    /// The settings that it was made for.
    pub settings: Settings,
    /// The columns of lists.
    pub columns: Vec<Column>,
    /// The metrics of the columns and of the order, and that order.
    pub request: Request,
    filtered: Option<Filtered>,
    /// Whether it is of a recording that is still being read, and has nothing.
    is_blank: bool,
    tables: [OnceLock<Arc<Table>>; View::ALL.len()],
    times: Times,
    /// What the filter leaves of each experiment.
    sides: OnceLock<Vec<Filtered>>,
    joined: OnceLock<Vec<Joined<Neighbours>>>,
    overview: OnceLock<Overview>,
    functions: OnceLock<List>,
    blocks: OnceLock<Vec<Neighbours>>,
    tree: OnceLock<Tree>,
    threads: OnceLock<Vec<ThreadRow>>,
    directives: OnceLock<Directives>,
    notices: OnceLock<Vec<String>>,
}

impl Data {
    /// For settings; only the filter is applied at once.
    pub fn new(recording: &Recording, settings: &Settings) -> Data {
        let columns = columns_of(recording, settings.set);
        let sort = settings.sort.unwrap_or_else(|| SortKey::of_list(&columns));
        let mut metrics: Vec<Metric> = Vec::new();
        let quantities = columns.iter().map(|column| column.quantity);
        for quantity in quantities.chain([sort.quantity]) {
            if let Quantity::Time(_, metric) = quantity
                && !metrics.contains(&metric)
            {
                metrics.push(metric);
            }
        }
        if !metrics.contains(&Metric::Total) {
            metrics.push(Metric::Total);
        }
        let filter = settings.filter.as_ref();
        Data {
            settings: settings.clone(),
            columns,
            request: Request { metrics, sort },
            filtered: filter.map(|filter| recording.filtered(settings.mode, filter)),
            is_blank: false,
            ..Data::blank(settings)
        }
    }

    /// Nothing yet, of a recording that is still being read.
    pub fn blank(settings: &Settings) -> Data {
        Data {
            settings: settings.clone(),
            columns: Vec::new(),
            request: Request {
                metrics: vec![Metric::Total],
                sort: SortKey {
                    quantity: Quantity::Time(Flavour::Exclusive, Metric::Total),
                    reversed: false,
                },
            },
            filtered: None,
            is_blank: true,
            tables: Default::default(),
            times: Times::default(),
            sides: OnceLock::new(),
            joined: OnceLock::new(),
            overview: OnceLock::new(),
            functions: OnceLock::new(),
            blocks: OnceLock::new(),
            tree: OnceLock::new(),
            threads: OnceLock::new(),
            directives: OnceLock::new(),
            notices: OnceLock::new(),
        }
    }

    /// Whether it has nothing, because its recording is still being read.
    pub fn is_blank(&self) -> bool {
        self.is_blank
    }

    /// Makes all that a view needs; `centre` is the function that views of one function are of.
    pub fn prepare(&self, recording: &Recording, view: View, centre: &str) {
        if view == View::Timeline {
            recording.timeline();
        }
        if self.is_blank {
            return;
        }
        self.notices(recording);
        match view {
            View::Callers => {
                self.functions(recording);
                match self.settings.compare {
                    Some(_) => drop(self.joined(recording)),
                    None => drop(self.blocks(recording)),
                }
            }
            View::Tree => {
                self.functions(recording);
                self.tree(recording);
            }
            View::Functions => {
                self.functions(recording);
                self.table(recording, view);
            }
            View::Flame => {
                self.tree(recording);
                self.overview(recording);
            }
            View::Source | View::Disassembly => {
                if let Some(place) = source::written(recording, centre) {
                    self.times(recording, (None, place.file));
                    if self.settings.compare.is_some() {
                        source::sides(self, recording, place.file);
                    }
                }
            }
            View::Timeline => {
                recording.directives();
                recording.moments(ViewMode::User);
                recording.moments(self.settings.mode);
            }
            View::Regions => {
                self.directives(recording);
                self.table(recording, view);
            }
            _ => drop(self.table(recording, view)),
        }
    }

    /// Whether a view can be shown at once.
    pub fn has(&self, recording: &Recording, view: View, centre: &str) -> bool {
        if self.is_blank {
            return view == View::Timeline && recording.has_timeline();
        }
        let compared = self.settings.compare.is_some();
        let has_functions = self.functions.get().is_some();
        let has = match view {
            View::Callers if compared => has_functions && self.joined.get().is_some(),
            View::Callers => has_functions && self.blocks.get().is_some(),
            View::Tree => has_functions && self.tree.get().is_some(),
            View::Flame => self.tree.get().is_some() && self.overview.get().is_some(),
            View::Source | View::Disassembly => {
                recording.has_functions()
                    && source::written(recording, centre)
                        .is_none_or(|place| self.times.has((None, place.file)))
            }
            View::Timeline => recording.has_timeline() && recording.has_moments(self.settings.mode),
            _ => self.tables[view as usize].get().is_some(),
        };
        has && self.notices.get().is_some()
    }

    /// The rows of a view that is a list and hangs on nothing but the settings.
    pub fn table(&self, recording: &Recording, view: View) -> Arc<Table> {
        let make = || {
            Arc::new(match view {
                View::Overview => about::overview(self, recording),
                View::Functions => tables::functions(self, recording),
                View::Regions => regions::table(self, recording),
                View::Threads => tables::threads(self, recording),
                View::Experiment => about::experiment(self, recording),
                _ => Table::default(),
            })
        };
        Arc::clone(self.tables[view as usize].get_or_init(make))
    }

    /// The time of a source file's lines.
    pub(crate) fn times(&self, recording: &Recording, file: Side) -> Arc<FileTimes> {
        self.times.of(file, || match file {
            (None, file) => {
                let profile = self.profile(recording);
                file_times(profile, &recording.names(), &self.request.metrics, file)
            }
            (Some(side), file) => {
                let profile = self.side(recording, side);
                let names = recording.parts()[side].names(NameStyle::default());
                file_times(profile, &names, &self.request.metrics, file)
            }
        })
    }

    /// The time that is looked at.
    pub fn profile<'a>(&'a self, recording: &'a Recording) -> &'a Profile {
        match &self.filtered {
            Some(filtered) => &filtered.profile,
            None => recording.profile(self.settings.mode),
        }
    }

    /// The time of one experiment that is looked at.
    pub(crate) fn side<'a>(&'a self, recording: &'a Recording, side: usize) -> &'a Profile {
        let mode = self.settings.mode;
        let Some(filter) = &self.settings.filter else {
            return recording.parts()[side].profile(mode);
        };
        let sides = self.sides.get_or_init(|| {
            let parts = recording.parts().iter();
            parts.map(|part| part.filtered(mode, filter)).collect()
        });
        &sides[side].profile
    }

    /// The regions and tasks of one experiment.
    pub(crate) fn side_directives(&self, recording: &Recording, side: usize) -> Directives {
        regions::of_filter(&recording.parts()[side], self.settings.filter.as_ref())
    }

    /// Every function between its callers and callees, by experiment; `None` if they are added up.
    pub fn joined(&self, recording: &Recording) -> Option<&[Joined<Neighbours>]> {
        let beside = Beside::of(self, recording)?;
        Some(self.joined.get_or_init(|| compare::blocks(&beside)))
    }

    /// The first look.
    pub fn overview(&self, recording: &Recording) -> &Overview {
        self.overview.get_or_init(|| {
            let profile = self.profile(recording);
            overview(profile, &recording.names(), recording.available(), LARGEST)
        })
    }

    /// The list of functions.
    pub fn functions(&self, recording: &Recording) -> &List {
        self.functions.get_or_init(|| {
            functions::functions(self.profile(recording), &recording.names(), &self.request)
        })
    }

    /// Every function between its callers and callees.
    pub fn blocks(&self, recording: &Recording) -> &[Neighbours] {
        self.blocks.get_or_init(|| {
            let profile = self.profile(recording);
            neighbours::callers_callees(profile, &recording.names(), &self.request)
        })
    }

    /// The call tree.
    pub fn tree(&self, recording: &Recording) -> &Tree {
        self.tree.get_or_init(|| {
            if let Some(beside) = Beside::of(self, recording) {
                return compare::tree(&beside);
            }
            let profile = self.profile(recording);
            Tree::new(calltree::calltree(
                profile,
                &recording.names(),
                &self.request,
            ))
        })
    }

    /// The threads.
    pub fn threads(&self, recording: &Recording) -> &[ThreadRow] {
        self.threads.get_or_init(|| {
            let tables = &recording.experiment.tables;
            let mut rows = threads(self.profile(recording), tables, &self.request.metrics);
            if let Some(kept) = self.kept_threads() {
                rows.retain(|row| kept.contains(&row.thread));
            }
            if let Some(SortKey {
                quantity: Quantity::Time(_, metric),
                reversed,
            }) = self.settings.sort
                && let Some(at) = self.request.index(metric)
            {
                rows.sort_by(|left, right| right.seconds[at].total_cmp(&left.seconds[at]));
                if reversed {
                    rows.reverse();
                }
            }
            rows
        })
    }

    /// The regions and tasks, and what they could save.
    pub fn directives<'a>(&'a self, recording: &'a Recording) -> &'a Directives {
        match &self.settings.filter {
            None => recording.directives(),
            Some(filter) => self.directives.get_or_init(|| match &self.filtered {
                Some(kept) if self.settings.mode != ViewMode::Machine => {
                    Directives::new(recording, &kept.profile, false)
                }
                _ => regions::of_filter(recording, Some(filter)),
            }),
        }
    }

    /// What must be said under every view, once it is known.
    pub fn known_notices(&self) -> &[String] {
        self.notices.get().map_or(&[], Vec::as_slice)
    }

    /// What must be said under every view.
    pub fn notices(&self, recording: &Recording) -> &[String] {
        let header = &recording.experiment.header;
        self.notices.get_or_init(|| {
            let mut said: Vec<String> = Vec::new();
            if let Some(filtered) = &self.filtered
                && filtered.estimated > 0.0
            {
                said.push(format!(
                    "{:.3} s of what is shown are estimated, because the filter divides seconds \
                     or asks for the CPU",
                    filtered.estimated
                ));
            }
            if recording.experiment.samples.len() > MOST_REFINED {
                said.push(
                    "the timeline's colours go by events alone, for so many samples: waits that \
                     only stacks tell (pools beside OpenMP, spins on a flag) look like work there"
                        .to_owned(),
                );
            }
            let notices = notices(header, inferred_seconds(self.profile(recording)));
            said.extend(notices.iter().map(ToString::to_string));
            said
        })
    }

    /// The threads that a filter leaves any time of; `None` without a filter.
    pub fn kept_threads(&self) -> Option<FxHashSet<ThreadId>> {
        let items = self.filtered.as_ref()?.profile.items.iter();
        Some(items.map(|item| item.thread).collect())
    }

    /// The metric that flames are as wide as, and where it stands in the tree's values: all
    /// thread time, unless an order was chosen.
    pub fn flame_metric(&self) -> (Metric, usize) {
        match self.settings.sort {
            Some(_) => self.metric(),
            None => {
                let at = self.request.index(Metric::Total);
                (Metric::Total, at.unwrap_or(0))
            }
        }
    }

    /// The metric that the tree is in the order of, and where it stands in its values.
    pub fn metric(&self) -> (Metric, usize) {
        let metric = match self.request.sort.quantity {
            Quantity::Time(_, metric) => Some(metric),
            _ => None,
        };
        let metric = metric.or(self.request.metrics.first().copied());
        let metric = metric.unwrap_or(Metric::Total);
        (metric, self.request.index(metric).unwrap_or(0))
    }

    /// Each metric of the columns once, attributed: the columns of a call tree.
    pub fn attributed(&self) -> Vec<Column> {
        let mut columns: Vec<Column> = Vec::new();
        for column in &self.columns {
            let Quantity::Time(_, metric) = column.quantity else {
                continue;
            };
            let quantity = Quantity::Time(Flavour::Attributed, metric);
            match columns.iter_mut().find(|known| known.quantity == quantity) {
                Some(known) => {
                    known.value |= column.value;
                    known.percent |= column.percent;
                }
                None => columns.push(Column {
                    quantity,
                    ..*column
                }),
            }
        }
        columns
    }
}
