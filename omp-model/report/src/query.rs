//! A query: the experiments that a document is about, as the settings show them.

use std::borrow::Cow;
use std::sync::OnceLock;

use experiment::header::Header;
use experiment::losses::Stretches;
use omp_model::analysis::Analysis;
use omp_model::filter::{Filter, Filtered, Word};
use omp_model::metrics::{Column, Flavour, Metric, Quantity, SortKey};
use omp_model::profile::{Inline, Item, Profile, ViewMode};
use omp_model::views::Request;
use omp_model::views::caveats::Caveat;
use omp_model::views::compare::Shared;
use omp_model::views::compare::groups::Groups;
use omp_model::views::compare::join::{Rank, Ranking};
use omp_model::views::names::{NameStyle, Names};
use omp_model::views::notices::{inferred_seconds, notices, of_counters, ownerless};
use omp_model::views::visibility;

use crate::caveats::RunCaveats;
use crate::document::{About, Document};
use crate::error::Error;
use crate::settings::{Compare, Objects, Settings};

/// The part of an experiment that filters and hidden load objects leave, made when it is first
/// needed. It belongs to one filter and one choice of objects.
#[derive(Debug, Default)]
pub struct Subset {
    whole: [OnceLock<Filtered>; 4],
    by_second: [OnceLock<Filtered>; 4],
}

/// One experiment, or several added up, as the settings show it.
#[derive(Clone, Copy)]
pub struct Source<'a> {
    /// The experiment.
    pub analysis: &'a Analysis,
    /// The part of it that the settings leave.
    pub subset: &'a Subset,
    /// The user's choices.
    pub settings: &'a Settings,
}

impl<'a> Source<'a> {
    /// Names in the chosen style.
    pub fn names(&self) -> Names<'a> {
        self.analysis.names(self.settings.style)
    }

    /// The time in the chosen mode.
    pub fn profile(&self) -> &'a Profile {
        self.profile_in(self.settings.mode).0
    }

    /// The time in a mode, and how many seconds of it are estimated.
    pub fn profile_in(&self, mode: ViewMode) -> (&'a Profile, f64) {
        let Settings {
            filter,
            objects,
            inline,
            ..
        } = self.settings;
        let whole = || self.analysis.profile(mode, *inline);
        if filter.is_none() && shows_all(mode, objects) {
            return (whole(), 0.0);
        }
        let filtered = self.subset.whole[index(mode, *inline)].get_or_init(|| match filter {
            Some(filter) => self.hide(self.analysis.filtered(mode, *inline, filter), mode),
            None => visible(self.analysis, whole(), objects),
        });
        (&filtered.profile, filtered.estimated)
    }

    /// The time with each second by itself, for views that divide time.
    pub fn by_second(&self) -> &'a Profile {
        let &Settings {
            mode,
            inline,
            ref filter,
            ref objects,
            ..
        } = self.settings;
        let whole = || self.analysis.by_second(mode, inline);
        if filter.is_none() && shows_all(mode, objects) {
            return whole();
        }
        let filtered = self.subset.by_second[index(mode, inline)].get_or_init(|| match filter {
            Some(filter) => self.hide(self.analysis.filtered_by_second(mode, inline, filter), mode),
            None => visible(self.analysis, whole(), objects),
        });
        &filtered.profile
    }

    /// Hides load objects in the time that a filter kept.
    fn hide(&self, kept: Filtered, mode: ViewMode) -> Filtered {
        let objects = &self.settings.objects;
        if shows_all(mode, objects) {
            return kept;
        }
        Filtered {
            estimated: kept.estimated,
            ..visible(self.analysis, &kept.profile, objects)
        }
    }

    /// Inferred seconds, and all seconds, of what a filter keeps.
    pub fn inferred(&self) -> (f64, f64) {
        match self.settings.filter {
            None => self.analysis.inferred(self.settings.mode),
            Some(_) => inferred_seconds(self.profile()),
        }
    }

    /// The header without the losses of times that the filter leaves out.
    fn kept_header(&self) -> Cow<'a, Header> {
        let header = &self.analysis.experiment.header;
        let filter = self.settings.filter.as_ref();
        let Some(filter) = filter.filter(|filter| filter.has(Word::Time)) else {
            return Cow::Borrowed(header);
        };
        let is_kept = |stretches: &Stretches| {
            let mut stretches = stretches.iter();
            stretches.any(|it| !filter.leaves_out(it.from_ns, it.to_ns))
        };
        let mut header = header.clone();
        header.losses.lost.retain(|loss| is_kept(&loss.stretches));
        for counter in &mut header.counters {
            if !is_kept(&counter.lost) {
                counter.lost = Stretches::default();
            }
        }
        Cow::Owned(header)
    }

    /// The notices under a document of its time.
    pub fn notices(&self, metrics: &[Metric]) -> Vec<String> {
        let header = self.kept_header();
        let mut said: Vec<String> = notices(&header, self.inferred())
            .iter()
            .map(ToString::to_string)
            .collect();
        let counters = of_counters(&header, metrics);
        said.extend(counters.iter().map(ToString::to_string));
        let missing = |metric: &&Metric| !self.analysis.available().has(**metric);
        let missing: Vec<&str> = metrics.iter().filter(missing).map(|it| it.id()).collect();
        if !missing.is_empty() {
            said.push(format!(
                "this recording has no data for {}: metric_list shows the metrics that it has",
                missing.join(", ")
            ));
        }
        if metrics.contains(&Metric::Blame) {
            let Settings { mode, inline, .. } = *self.settings;
            let whole = self.analysis.profile(mode, inline);
            let ownerless = ownerless(whole, &self.analysis.experiment.blames);
            said.extend(ownerless.iter().map(ToString::to_string));
        }
        said.extend(
            self.settings
                .filter
                .as_ref()
                .map(|filter| self.kept(filter)),
        );
        said
    }

    /// The notice about a filter.
    fn kept(&self, filter: &Filter) -> String {
        let (profile, estimated) = self.profile_in(self.settings.mode);
        if !profile.items.iter().any(Item::is_some) {
            let mut said = vec![format!("the filter {} keeps nothing", filter.text())];
            said.extend(filter.hints(self.names().tables));
            return said.join("; ");
        }
        let mut words = format!("only what the filter keeps ({})", filter.text());
        if estimated > 0.0 {
            words.push_str(&format!(
                "; {estimated:.3} s of what is shown are estimated, because the filter divides \
                 seconds or asks for the CPU"
            ));
        }
        words
    }
}

/// Whether no load object is hidden: by default only those are that user stacks do not have.
fn shows_all(mode: ViewMode, objects: &Objects) -> bool {
    mode != ViewMode::Machine && objects.is_default()
}

/// A profile without hidden load objects.
fn visible(experiment: &Analysis, profile: &Profile, objects: &Objects) -> Filtered {
    let names = experiment.names(NameStyle::default());
    let visible = |module| objects.visibility(&names, module);
    Filtered {
        profile: visibility::apply(profile, &names, visible),
        estimated: 0.0,
    }
}

/// The index of a mode in [`Subset`].
const fn index(mode: ViewMode, inline: Inline) -> usize {
    let mode = match mode {
        ViewMode::User | ViewMode::Expert => 0,
        ViewMode::Machine => 1,
    };
    2 * mode + inline as usize
}

/// How to find the code that others waited for.
const BLAME: &str = "the metric blame tells which code other threads waited for: metrics e.%blame:i.%blame, then \
     functions";

/// The experiments, metrics and order that a document is about.
#[derive(Clone)]
pub struct Query<'a> {
    /// The user's choices.
    pub settings: &'a Settings,
    /// The experiment, or all of them added up.
    pub all: Source<'a>,
    /// Each experiment by itself.
    pub each: Vec<Source<'a>>,
    /// Their sides: each has its own, unless [`Query::grouped`] says otherwise.
    groups: Groups,
    /// How they are compared; [`Compare::Off`]: added up.
    pub compare: Compare,
    /// Columns of lists of functions and lines.
    pub columns: Vec<Column>,
    /// The metrics of the columns and of the order, and that order.
    pub request: Request,
}

impl<'a> Query<'a> {
    /// A query under settings. `all` is the one experiment, or all of them added up; `each` has
    /// them one by one: two or more are compared where the settings say so.
    pub fn new(
        settings: &'a Settings,
        all: Source<'a>,
        each: &[Source<'a>],
        columns: Vec<Column>,
        sort: SortKey,
    ) -> Query<'a> {
        let mut metrics = Vec::new();
        let shown = columns.iter().map(|column| column.quantity);
        for quantity in shown.chain([sort.quantity]) {
            if let Quantity::Time(_, metric) = quantity
                && !metrics.contains(&metric)
            {
                metrics.push(metric);
            }
        }
        Query {
            settings,
            all,
            each: each.to_vec(),
            groups: Groups::alone(each.len()),
            compare: match each {
                [_, _, ..] => settings.compare,
                _ => Compare::Off,
            },
            columns,
            request: Request { metrics, sort },
        }
    }

    /// A query of one experiment with the metrics and the order that lists have at first.
    pub fn plain(settings: &'a Settings, source: Source<'a>) -> Query<'a> {
        let available = source.analysis.available();
        let columns = Column::parse_list(&available.default_spec(), available);
        let columns = columns.expect("the default is made of the metrics that there are");
        let sort = SortKey::of_list(&columns);
        Query::new(settings, source, &[source], columns, sort)
    }

    /// The same with several recordings of a side; one side is compared with nothing.
    #[must_use]
    pub fn grouped(self, groups: Groups) -> Self {
        Query {
            compare: if groups.len() > 1 {
                self.compare
            } else {
                Compare::Off
            },
            groups,
            ..self
        }
    }

    /// The sides of the experiments.
    pub fn groups(&self) -> &Groups {
        &self.groups
    }

    /// Refuses to compare a single side.
    ///
    /// # Errors
    /// [`Error`] if a comparison is asked of fewer than two sides.
    pub fn refuse_single(&self) -> Result<(), Error> {
        if self.settings.compare != Compare::Off && !self.is_comparison() {
            return Err(Error::new(
                "compare needs two experiments or more: name them last, or compare off",
            ));
        }
        Ok(())
    }

    /// The same with every metric that the experiments have.
    #[must_use]
    pub fn with_all_metrics(mut self) -> Self {
        self.request.metrics = self.all.analysis.available().metrics().to_vec();
        self
    }

    /// The same about all experiments added up, which are not compared.
    pub fn added_up(&self) -> Query<'a> {
        Query {
            compare: Compare::Off,
            ..self.clone()
        }
    }

    /// Whether experiments are compared.
    pub fn is_comparison(&self) -> bool {
        self.compare != Compare::Off
    }

    /// What rows are sorted by: their values, or how far they changed where that is shown.
    pub(crate) fn rank(&self) -> Rank {
        match self.compare {
            Compare::Delta | Compare::Ratio => Rank::Change,
            Compare::Off | Compare::On | Compare::Scaling => Rank::Largest,
        }
    }

    /// The rank of the means of sides.
    pub(crate) fn ranking(&self) -> Ranking<'_> {
        Ranking {
            rank: self.rank(),
            groups: &self.groups,
        }
    }

    /// `metric: Exclusive OMP Work Time`, for titles.
    pub(crate) fn by(&self, label: &str) -> String {
        match self.rank() {
            Rank::Largest => format!("metric: {label}"),
            Rank::Change => format!("change of metric: {label}"),
        }
    }

    /// The experiments that are compared, or the one: rows have values of each.
    pub fn sides(&self) -> &[Source<'a>] {
        if self.is_comparison() {
            &self.each
        } else {
            std::slice::from_ref(&self.all)
        }
    }

    /// The names that compared experiments share.
    pub fn shared(&self) -> Shared<'a> {
        let sides: Vec<_> = self
            .sides()
            .iter()
            .map(|side| (side.profile(), side.names()))
            .collect();
        Shared::new(&sides)
    }

    /// The data of each side: under the experiment's own names, or those that compared ones share.
    pub(crate) fn by_side<T>(
        &self,
        own: impl Fn(&Source<'a>) -> T,
        shared: impl Fn(&Shared<'a>, usize) -> T,
    ) -> Vec<T> {
        if !self.is_comparison() {
            return vec![own(&self.all)];
        }
        let names = self.shared();
        let sides = 0..self.each.len();
        sides.map(|side| shared(&names, side)).collect()
    }

    /// A document without blocks, with its warnings and notices.
    pub fn document(&self, view: &str) -> Document {
        Document {
            notices: self.said(|side| side.notices(&self.request.metrics)),
            ..self.document_without_time(view)
        }
    }

    /// The same of a report on what threads lose: with how to find the code that they waited for.
    pub(crate) fn document_with_blame(&self, view: &str) -> Document {
        let mut document = self.document(view);
        let is_shown = self.is_comparison() || self.request.metrics.contains(&Metric::Blame);
        if !is_shown && self.all.profile().items.iter().any(|it| it.blame > 0.0) {
            document.notices.push(BLAME.to_owned());
        }
        document
    }

    /// The same of a report that shows no time: without notices.
    pub fn document_without_time(&self, view: &str) -> Document {
        let experiments = if self.is_comparison() {
            let names = self.each.iter().map(|side| side.analysis.name.clone());
            names.collect()
        } else {
            self.all.analysis.names.clone()
        };
        Document {
            view: view.to_owned(),
            about: Some(self.about(experiments)),
            caveats: self.caveats(),
            warnings: self.said(|side| side.analysis.warnings.clone()),
            ..Document::default()
        }
    }

    /// Those of all runs.
    pub(crate) fn caveats(&self) -> Vec<RunCaveats> {
        let sides = self.groups().sides().iter();
        let each = self.each.iter().zip(sides);
        let of = each.filter_map(|(source, side)| {
            let side = self.is_comparison().then_some(side + 1);
            RunCaveats::of(source.analysis, side)
        });
        of.collect()
    }

    /// The document of a report on findings. Such a report itself says what was not checked.
    pub(crate) fn document_of_findings(&self, view: &str) -> Document {
        let mut document = self.document_without_time(view);
        for run in &mut document.caveats {
            run.caveats
                .retain(|it| !matches!(it, Caveat::Checked { .. }));
        }
        document.caveats.retain(|run| !run.caveats.is_empty());
        document
    }

    /// What a document is about.
    pub(crate) fn about(&self, experiments: Vec<String>) -> About {
        let about = About::new(self.settings.mode, experiments, self.compare);
        if !self.is_comparison() || !self.groups.have_several() {
            return about;
        }
        let periods = self.each.iter().map(|it| {
            let header = &it.analysis.experiment.header;
            header.sampling.period_us / 1e6
        });
        about.grouped(&self.groups, periods.fold(0.0, f64::max))
    }

    /// Sentences about each experiment, with the number of its side if experiments are compared.
    fn said(&self, of: impl Fn(&Source<'a>) -> Vec<String>) -> Vec<String> {
        if !self.is_comparison() {
            return of(&self.all);
        }
        let mut all = Vec::new();
        for (source, side) in self.each.iter().zip(self.groups.sides()) {
            for text in of(source) {
                let text = format!("({}) {text}", side + 1);
                if !all.contains(&text) {
                    all.push(text);
                }
            }
        }
        all
    }

    /// How many of `rows` rows the limit leaves.
    pub fn limited(&self, rows: usize) -> usize {
        match self.settings.limit {
            0 => rows,
            limit => rows.min(limit),
        }
    }

    /// Each metric of the columns once, attributed: the columns of a call tree.
    pub fn attributed(&self) -> Vec<Column> {
        let mut columns: Vec<Column> = Vec::new();
        for column in &self.columns {
            let quantity = match column.quantity {
                Quantity::Time(_, metric) => Quantity::Time(Flavour::Attributed, metric),
                other => other,
            };
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

    /// The order as a call tree or a list of callers has it.
    pub fn attributed_sort(&self) -> SortKey {
        let quantity = match self.request.sort.quantity {
            Quantity::Time(_, metric) => Quantity::Time(Flavour::Attributed, metric),
            other => other,
        };
        SortKey {
            quantity,
            ..self.request.sort
        }
    }

    /// The error of a view that does not scale.
    ///
    /// # Errors
    /// [`Error`] where `compare scaling` is in force.
    pub fn refuse_scaling(&self, view: &str) -> Result<(), Error> {
        if self.compare == Compare::Scaling {
            return Err(Error(format!(
                "compare scaling is for functions and OMP_preg: for {view} choose compare on, \
                 delta or ratio"
            )));
        }
        Ok(())
    }
}
