//! What is exported: an experiment, or several added up, with what is said about it.

use std::ops::Range;

use experiment::header::Header;
use experiment::ids::{ContextId, ThreadId};
use experiment::state::Scheduling;
use experiment::tables::ThreadKind;
use omp_model::analysis::Analysis;
use omp_model::metrics::{Metric, Quantity};
use omp_model::profile::Profile;
use omp_model::views::names::Names;
use report::Query;
use report::lost;
use report::query::Source;
use report::timeline::construct_names;
use rustc_hash::FxHashMap;
use untrusted::printable;

/// The name of the program that wrote a file.
pub(crate) const EXPORTER: &str = concat!("Parallax ", env!("CARGO_PKG_VERSION"));

/// The experiment of a query, or its experiments added up.
pub(crate) struct Subject<'a> {
    pub(crate) query: &'a Query<'a>,
    pub(crate) source: Source<'a>,
    pub(crate) names: Names<'a>,
}

impl<'a> Subject<'a> {
    pub(crate) fn new(query: &'a Query<'_>) -> Subject<'a> {
        Subject {
            query,
            source: query.all,
            names: query.all.names(),
        }
    }

    pub(crate) fn analysis(&self) -> &'a Analysis {
        self.source.analysis
    }

    pub(crate) fn profile(&self) -> &'a Profile {
        self.source.profile()
    }

    /// Its name and the command that was recorded.
    pub(crate) fn title(&self) -> String {
        let analysis = self.analysis();
        let command = analysis.experiment.header.command_line();
        match command.as_str() {
            "" => analysis.name.clone(),
            command => format!("{}: {command}", analysis.name),
        }
    }

    /// What limits its accuracy, a sentence each: what was lost, what is inferred, what a filter left out.
    pub(crate) fn notes(&self, metrics: &[Metric]) -> Vec<String> {
        let analysis = self.analysis();
        let header = &analysis.experiment.header;
        let mut notes = analysis.warnings.clone();
        notes.extend(self.source.notices(metrics));
        notes.extend(header.losses.lost.iter().map(lost::line));
        let notes = notes.iter().map(|note| printable(note).into_owned());
        notes.collect()
    }

    /// The metric of a format that holds one: that of `sort` or else of `metrics`, if the user set them; else
    /// all thread time.
    pub(crate) fn metric(&self) -> Metric {
        let settings = self.query.settings;
        let sorted = settings.sort.and_then(|key| time_of(key.quantity));
        let mut columns = settings.columns.iter().flatten();
        let shown = || columns.find_map(|column| time_of(column.quantity));
        sorted.or_else(shown).unwrap_or(Metric::Total)
    }

    /// The metrics of a format that holds several: those of `metrics`, if the user set them; else all thread
    /// time, its two parts, and the counters.
    pub(crate) fn metrics(&self) -> Vec<Metric> {
        let available = self.analysis().available();
        let mut metrics = Vec::new();
        let mut add = |metric| {
            if !metrics.contains(&metric) {
                metrics.push(metric);
            }
        };
        if let Some(columns) = &self.query.settings.columns {
            let columns = columns.iter();
            columns
                .filter_map(|it| time_of(it.quantity))
                .for_each(&mut add);
        }
        if metrics.is_empty() {
            let parts = if available.openmp() {
                [Metric::Total, Metric::OmpWork, Metric::OmpWait]
            } else {
                [Metric::Total, Metric::TotalCpu, Metric::OffCpu]
            };
            metrics.extend(parts.into_iter().filter(|metric| available.has(*metric)));
            metrics.extend(available.counters());
        }
        metrics
    }

    /// A thread's name: `Thread 101 (worker)`, after its process if there are several.
    pub(crate) fn thread_name(&self, thread: ThreadId) -> String {
        let tables = self.names.tables;
        let Some(row) = tables.threads.get(thread.index()) else {
            return format!("Thread {}", thread.0 + 1);
        };
        let own = tables.names.get(row.name.0).map(String::as_str);
        let own = own.filter(|name| !name.is_empty());
        let kind = match row.kind {
            ThreadKind::Outside => None,
            ThreadKind::Initial => Some("initial"),
            ThreadKind::Worker => Some("worker"),
            ThreadKind::Other => Some("helper of the runtime"),
        };
        let about: Vec<&str> = own.into_iter().chain(kind).collect();
        let about = match about.as_slice() {
            [] => String::new(),
            about => format!(" ({})", about.join(", ")),
        };
        let process = tables.processes.get(row.process.index());
        let process = process.filter(|_| tables.processes.len() > 1);
        let process = process.map_or(String::new(), |it| format!("Process {}, ", it.pid));
        printable(&format!("{process}Thread {}{about}", row.tid)).into_owned()
    }

    /// The number of a thread's experiment, from 1.
    pub(crate) fn recording_of(&self, thread: ThreadId) -> u32 {
        let origin = self.analysis().origins.get(thread.index());
        match self.query.each.len() {
            // One of several that are open has the number that it has among those.
            1 => 1,
            _ => origin.copied().unwrap_or(1),
        }
    }

    /// The header of an experiment by its number.
    pub(crate) fn header_of(&self, recording: u32) -> &'a Header {
        let own = self.query.each.get(recording as usize - 1);
        &own.unwrap_or(&self.source).analysis.experiment.header
    }

    /// When a thread lived, in nanoseconds.
    pub(crate) fn life(&self, thread: ThreadId) -> Range<u64> {
        let experiment = &self.analysis().experiment;
        let end = experiment.duration().max(experiment.last);
        let row = experiment.tables.threads.get(thread.index());
        row.map_or(0..0, |row| {
            row.birth.0..row.death.unwrap_or(end).0.max(row.birth.0)
        })
    }

    /// Whether a filter leaves out all that happened from one time to another, in nanoseconds.
    pub(crate) fn leaves_out(&self, range: &Range<u64>) -> bool {
        let filter = self.source.settings.filter.as_ref();
        filter.is_some_and(|filter| filter.leaves_out(range.start, range.end))
    }

    /// The threads that have any of the time that is kept, in the order of processes.
    pub(crate) fn threads(&self, profile: &Profile) -> Vec<ThreadId> {
        let table = &self.names.tables.threads;
        let mut kept = vec![false; table.len()];
        for item in profile.items.iter().filter(|item| item.is_some()) {
            if let Some(kept) = kept.get_mut(item.thread.index()) {
                *kept = true;
            }
        }
        let ids = (0..table.len() as u32).map(ThreadId);
        let mut threads: Vec<ThreadId> = ids.filter(|id| kept[id.index()]).collect();
        threads.sort_by_key(|id| table[id.index()].process);
        threads
    }

    /// The name of each construct.
    pub(crate) fn constructs(&self) -> Constructs {
        Constructs {
            names: construct_names(self.analysis()),
        }
    }
}

/// The names of regions and tasks.
pub(crate) struct Constructs {
    names: FxHashMap<ContextId, String>,
}

impl Constructs {
    /// The name of a region or task; `None` outside of all.
    pub(crate) fn name(&self, context: ContextId) -> Option<&str> {
        match self.names.get(&context) {
            _ if context == ContextId::ROOT => None,
            Some(name) => Some(name),
            None => Some("<Unknown>"),
        }
    }
}

/// Where a thread was, for people.
pub(crate) const fn scheduling(scheduling: Scheduling) -> &'static str {
    match scheduling {
        Scheduling::Running => "on a CPU",
        Scheduling::Preempted => "preempted",
        Scheduling::Blocked => "asleep",
        Scheduling::Stolen => "its CPU taken by the hypervisor",
    }
}

fn time_of(quantity: Quantity) -> Option<Metric> {
    match quantity {
        Quantity::Time(_, metric) => Some(metric),
        _ => None,
    }
}
