//! The documents of all views under the current settings. Each is built on first use;
//! [`Documents::prepare`] builds them on a background thread.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use experiment::ids::ThreadId;
use omp_model::metrics::{Column, Flavour, Metric, Quantity, SortKey};
use omp_model::profile::Profile;
use omp_model::views::TOTAL;
use omp_model::views::notices::{self, Notice};
use report::disasm::compared;
use report::document::{Block, Line, Role, Table};
use report::find::Named;
use report::functions::Kind;
use report::query::{Query, Source, Subset};
use report::reports::Report;
use report::source::source;
use report::timeline::MOST_REFINED;
use report::{Document, Error};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::experiments::Experiments;
use crate::settings::Settings;
use crate::tree::Tree;
use crate::view::View;

/// The documents, each built at most once.
#[derive(Debug)]
pub struct Documents {
    /// The settings that they are built for.
    pub settings: Settings,
    /// The columns of lists.
    pub columns: Vec<Column>,
    /// The order.
    pub sort: SortKey,
    /// Whether there are none, because the experiments are still being read.
    is_blank: bool,
    /// The filtered samples of all experiments together.
    all: Subset,
    /// The filtered samples of each experiment.
    each: Vec<Subset>,
    views: [OnceLock<Arc<Document>>; View::ALL.len()],
    /// The documents of views with a subject, by its name: a function, or a report.
    by_subject: Mutex<FxHashMap<(View, String), Arc<Document>>>,
    tree: OnceLock<Tree>,
    notices: OnceLock<Vec<String>>,
    /// [`Documents::function_of_code`] of no function.
    hottest: OnceLock<String>,
}

impl Documents {
    /// No document is built yet.
    pub fn new(experiments: &Experiments, settings: &Settings) -> Documents {
        let mut settings = settings.clone();
        let columns = settings.columns(experiments.metric_sets(), experiments.available());
        settings.report.columns = Some(columns.clone());
        let parts = experiments.parts().iter();
        Documents {
            sort: settings.sort(&columns),
            columns,
            is_blank: false,
            each: parts.map(|_| Subset::default()).collect(),
            ..Documents::blank(&settings)
        }
    }

    /// No documents, while the experiments are still being read.
    pub fn blank(settings: &Settings) -> Documents {
        Documents {
            settings: settings.clone(),
            columns: Vec::new(),
            sort: SortKey {
                quantity: Quantity::Time(Flavour::Exclusive, Metric::Total),
                reversed: false,
            },
            is_blank: true,
            all: Subset::default(),
            each: Vec::new(),
            views: Default::default(),
            by_subject: Mutex::default(),
            tree: OnceLock::new(),
            notices: OnceLock::new(),
            hottest: OnceLock::new(),
        }
    }

    /// Whether there are none, because the experiments are still being read.
    pub fn is_blank(&self) -> bool {
        self.is_blank
    }

    /// The query of all documents.
    pub fn query<'a>(&'a self, experiments: &'a Experiments) -> Query<'a> {
        self.query_of(experiments, self.columns.clone(), self.sort)
    }

    fn query_of<'a>(
        &'a self,
        experiments: &'a Experiments,
        columns: Vec<Column>,
        sort: SortKey,
    ) -> Query<'a> {
        let settings = &self.settings.report;
        let source = |experiment, subset| Source {
            analysis: experiment,
            subset,
            settings,
        };
        let parts = experiments.parts().iter().zip(&self.each);
        let mut each: Vec<_> = parts.map(|(part, subset)| source(part, subset)).collect();
        let all = source(experiments.all(), &self.all);
        if each.is_empty() {
            each.push(all);
        }
        Query::new(settings, all, &each, columns, sort)
    }

    /// The profile that the filter leaves.
    pub fn profile<'a>(&'a self, experiments: &'a Experiments) -> &'a Profile {
        let source = Source {
            analysis: experiments.all(),
            subset: &self.all,
            settings: &self.settings.report,
        };
        source.profile()
    }

    /// Builds everything that a view needs. `subject` is the function or the report that it is about.
    pub fn prepare(&self, experiments: &Experiments, view: View, subject: &str) {
        if view == View::Timeline {
            experiments.timeline();
        }
        if self.is_blank {
            return;
        }
        self.notices(experiments);
        experiments.function(subject);
        match view {
            View::Timeline => {
                experiments.name_constructs();
                experiments.stacks(&report::Settings::default());
                experiments.stacks(&self.settings.report);
            }
            View::Tree | View::Flame => drop(self.tree(experiments)),
            view => drop(self.document(experiments, view, subject)),
        }
    }

    /// Whether a view can be shown at once.
    pub fn has(&self, experiments: &Experiments, view: View, subject: &str) -> bool {
        if self.is_blank {
            return view == View::Timeline && experiments.has_timeline();
        }
        let has = match view {
            View::Tree | View::Flame => self.tree.get().is_some(),
            View::Timeline => {
                experiments.has_timeline() && experiments.has_stacks(&self.settings.report)
            }
            View::Source | View::Disassembly if subject == TOTAL => {
                let hottest = self.hottest.get();
                hottest.is_some_and(|name| self.has_about(view, name))
            }
            View::Source | View::Disassembly | View::Report => self.has_about(view, subject),
            view => self.views[view as usize].get().is_some(),
        };
        has && self.notices.get().is_some() && experiments.has_functions()
    }

    fn has_about(&self, view: View, subject: &str) -> bool {
        self.by_subject().contains_key(&(view, subject.to_owned()))
    }

    /// The function whose code is shown: the selected one; if none is selected, the one with the most
    /// time in the metric that lists begin with, of those with a known source if there are any.
    pub fn function_of_code<'a>(
        &'a self,
        experiments: &'a Experiments,
        selected: &'a str,
    ) -> &'a str {
        if selected != TOTAL {
            return selected;
        }
        self.hottest.get_or_init(|| {
            let available = experiments.available();
            let columns = Column::parse_list(&available.default_spec(), available);
            let columns = columns.expect("the default is made of the metrics that there are");
            let sort = SortKey::of_list(&columns);
            let query = self.query_of(experiments, columns, sort);
            let list = report::functions::list(&query, Kind::Functions);
            let tables = list.blocks.into_iter().filter_map(|block| match block {
                Block::Table(table) => Some(table.rows),
                Block::Lines(_) => None,
            });
            let names = tables.flatten().map(|row| row.name);
            let known: Vec<(String, bool)> = names
                .filter_map(|name| {
                    let id = experiments.function(&name)?;
                    let function = experiments.symbols.functions.get(id.0 as usize)?;
                    Some((name, function.source.is_some()))
                })
                .collect();
            let with_source = known.iter().find(|(_, has_source)| *has_source);
            let hottest = with_source.or(known.first());
            hottest.map_or(TOTAL, |(name, _)| name).to_owned()
        })
    }

    /// The document of a view.
    pub fn document(&self, experiments: &Experiments, view: View, subject: &str) -> Arc<Document> {
        match view {
            View::Tree | View::Flame => Arc::clone(self.tree(experiments).document()),
            View::Callers => {
                let query = self.query(experiments);
                let make = || Arc::new(build(&query, view));
                let all = self.views[view as usize].get_or_init(make);
                Arc::new(centred_on(all, subject))
            }
            View::Source | View::Disassembly | View::Report => {
                let subject = match view {
                    View::Report => subject,
                    _ => self.function_of_code(experiments, subject),
                };
                let key = (view, subject.to_owned());
                if let Some(known) = self.by_subject().get(&key) {
                    return Arc::clone(known);
                }
                // Built without the lock, so that `has` does not wait.
                let query = self.query(experiments);
                let made = Arc::new(about(&query, view, subject));
                Arc::clone(self.by_subject().entry(key).or_insert(made))
            }
            view => {
                let query = self.query(experiments);
                let make = || Arc::new(build(&query, view));
                Arc::clone(self.views[view as usize].get_or_init(make))
            }
        }
    }

    fn by_subject(&self) -> std::sync::MutexGuard<'_, FxHashMap<(View, String), Arc<Document>>> {
        self.by_subject
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// The call tree, with a column for [`Documents::flame_metric`].
    pub fn tree(&self, experiments: &Experiments) -> &Tree {
        self.tree.get_or_init(|| {
            let mut query = self.query(experiments);
            let metric = self.flame_metric();
            if !query.request.metrics.contains(&metric) {
                query.request.metrics.push(metric);
            }
            let document = build(&query, View::Tree);
            Tree::new(Arc::new(document))
        })
    }

    /// The warnings and notices for every view, if they are computed already; how much time is
    /// inferred is not among them.
    pub fn known_notices(&self) -> &[String] {
        self.notices.get().map_or(&[], Vec::as_slice)
    }

    fn notices(&self, experiments: &Experiments) -> &[String] {
        self.notices.get_or_init(|| {
            let query = self.query(experiments);
            let head = query.document("");
            let mut notices = head.first_lines();
            notices.extend(head.warnings);
            // How much is inferred is no loss: the overview tells it once.
            let is_inferred = |notice: &Notice| matches!(notice, Notice::Inferred { .. });
            let inferred = query.sides().iter().flat_map(|side| {
                let header = &side.analysis.experiment.header;
                notices::notices(header, side.inferred())
            });
            let inferred: Vec<String> = inferred
                .filter(is_inferred)
                .map(|notice| notice.to_string())
                .collect();
            let is_loss = |text: &String| !inferred.iter().any(|known| text.ends_with(known));
            notices.extend(head.notices.into_iter().filter(is_loss));
            if experiments.experiment.samples.len() > MOST_REFINED {
                notices.push(
                    "the timeline's colours go by events alone, for so many samples: waits that \
                     only stacks tell (pools beside OpenMP, spins on a flag) look like work there"
                        .to_owned(),
                );
            }
            notices
        })
    }

    /// The threads with time that the filter keeps; `None` without a filter.
    pub fn kept_threads(&self, experiments: &Experiments) -> Option<FxHashSet<ThreadId>> {
        self.settings.report.filter.as_ref()?;
        let items = self.profile(experiments).items.iter();
        Some(items.map(|item| item.thread).collect())
    }

    /// The metric of the flame graph's widths: all thread time, unless the user chose another.
    pub fn flame_metric(&self) -> Metric {
        match self.settings.report.sort {
            Some(_) => self.metric(),
            None => Metric::Total,
        }
    }

    /// The metric that the call tree is sorted by.
    pub fn metric(&self) -> Metric {
        let of_order = [self.sort.quantity];
        let columns = self.columns.iter().map(|column| column.quantity);
        let mut metrics = of_order
            .into_iter()
            .chain(columns)
            .filter_map(|it| match it {
                Quantity::Time(_, metric) => Some(metric),
                _ => None,
            });
        metrics.next().unwrap_or(Metric::Total)
    }
}

/// Builds the document of a view that is not about one function.
fn build(query: &Query<'_>, view: View) -> Document {
    let mut document = view.document(query).unwrap_or_default();
    if view == View::Threads {
        set_heading(&mut document, "kind", "Kind");
    }
    document
}

/// Builds the document of a view about a function, or of a report.
fn about(query: &Query<'_>, view: View, subject: &str) -> Document {
    let named = Named {
        name: subject.to_owned(),
        number: None,
    };
    let made = match view {
        View::Source => source(query, &named),
        View::Report => match Report::by_name(subject) {
            Some(report) => report.document(query, None),
            None => Err(Error(format!("there is no report {subject}"))),
        },
        _ => compared(query, &named),
    };
    // The document, or one with the reason why there is none.
    made.unwrap_or_else(|why| Document {
        blocks: vec![Block::Lines(vec![Line::warning(why.to_string())])],
        ..query.document(view.name())
    })
}

/// Shows a column that `er_print`'s text leaves out, under a heading.
fn set_heading(document: &mut Document, id: &str, heading: &str) {
    for block in &mut document.blocks {
        if let Block::Table(table) = block {
            let mut columns = table.columns.iter_mut();
            if let Some(column) = columns.find(|column| column.id == id) {
                column.heading = vec![heading.to_owned()];
                column.value = true;
            }
        }
    }
}

/// The block of the callers and callees of one function; the first block if it has none.
fn centred_on(all: &Document, function: &str) -> Document {
    let centre = |table: &Table| {
        let row = table.rows.iter().find(|row| row.role == Role::Centre);
        row.map(|row| row.name.clone())
    };
    let named = |fits: &dyn Fn(&str) -> bool| {
        let mut blocks = all.blocks.iter();
        blocks.find(|block| match block {
            Block::Table(table) => centre(table).is_some_and(|name| fits(&name)),
            Block::Lines(_) => false,
        })
    };
    let found = named(&|name| name == function);
    // A comparison shows names without symbols.
    let found = found.or_else(|| named(&|name| without_symbol(name) == without_symbol(function)));
    Document {
        view: all.view.clone(),
        title: all.title.clone(),
        about: all.about.clone(),
        facts: all.facts.clone(),
        blocks: found.or(all.blocks.first()).cloned().into_iter().collect(),
        warnings: all.warnings.clone(),
        notices: all.notices.clone(),
        ..Document::default()
    }
}

/// A construct's name without its symbol, which differs between builds.
pub(crate) fn without_symbol(name: &str) -> &str {
    name.split_once(" [").map_or(name, |(words, _)| words)
}
