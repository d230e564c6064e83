//! The table of reports. `er_print` makes its commands of it, and `analyzer` its list of reports.

use experiment::findings::{Deadlock, Divergence, Race, Uninitialised};

use crate::calltree::calltree;
use crate::causes::causes;
use crate::critical::critical;
use crate::disasm::disasm;
use crate::experiments::{experiment_list, sample_list};
use crate::find::Named;
use crate::functions::{Kind, list};
use crate::header::header;
use crate::locks::locks;
use crate::loops::loops;
use crate::metrics::{cmetric_list, indx_metric_list, metric_list};
use crate::mpi::{memory, mpi, pairs, pgas};
use crate::neighbours::callers_callees;
use crate::objects::{object_list, objects};
use crate::overview::overview;
use crate::phases::phases;
use crate::ranks::ranks;
use crate::regions::regions;
use crate::resources::{cpu_list, sample_detail, statistics};
use crate::settings::Compare;
use crate::source::source;
use crate::tasks::tasks;
use crate::threads::{lwp_list, thread_list, threads};
use crate::waits::waits;
use crate::{Document, Error, Query, details, index, races, scaling};

/// A report.
#[derive(Clone, Copy, Debug)]
pub struct Report {
    /// Its name in the command language.
    pub name: &'static str,
    /// Further names.
    pub aliases: &'static [&'static str],
    /// What it shows, in the imperative.
    pub help: &'static str,
    /// The group that help lists it in.
    pub group: Group,
    /// Whether `compare` applies to it; a single experiment is then refused.
    pub is_compared: bool,
    /// Makes its document.
    pub build: Build,
    /// Makes its document under `compare scaling`; `None` if it cannot show how it scales.
    pub scaling: Option<MayFail>,
}

/// A builder of documents that refuses some queries.
type MayFail = fn(&Query<'_>) -> Result<Document, Error>;

/// How a document is made.
#[derive(Clone, Copy, Debug)]
pub enum Build {
    /// Of the whole query.
    Whole(fn(&Query<'_>) -> Document),
    /// Of the whole query, if the experiment has data on it.
    IfRecorded(MayFail),
    /// Of all findings, or of the one with a number.
    Numbered(fn(&Query<'_>, Option<usize>) -> Result<Document, Error>),
    /// Of the code with a name.
    Named(fn(&Query<'_>, &Named) -> Result<Document, Error>),
}

/// What reports are about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    /// The function list.
    Functions,
    /// Callers and callees, the call tree.
    Tree,
    /// Source lines and instructions.
    Code,
    /// Index objects.
    Index,
    /// MPI.
    Ranks,
    /// Lists of what the experiment holds.
    Lists,
    /// Metrics.
    Metrics,
    /// What `collect -r` found.
    Findings,
    /// The run.
    Run,
}

impl Report {
    /// The report of a name.
    pub fn by_name(name: &str) -> Option<&'static Report> {
        REPORTS.iter().find(|report| report.name == name)
    }

    /// Its document. `subject` is the code that it is about, if it is about one.
    ///
    /// # Errors
    /// If the subject is missing or not found, or it is asked how the report scales and it cannot.
    pub fn document(&self, query: &Query<'_>, subject: Option<&Named>) -> Result<Document, Error> {
        match self.scaling {
            Some(build) if query.compare == Compare::Scaling => return build(query),
            None if self.is_compared => query.refuse_scaling(self.name)?,
            _ => {}
        }
        match (self.build, subject) {
            (Build::Whole(build), _) => Ok(build(query)),
            (Build::IfRecorded(build), _) => build(query),
            (Build::Numbered(build), subject) => build(query, subject.and_then(|it| it.number)),
            (Build::Named(build), Some(subject)) => build(query, subject),
            (Build::Named(_), None) => Err(Error(format!(
                "{} is about one function: see the views of functions",
                self.name
            ))),
        }
    }

    const fn alias(self, aliases: &'static [&'static str]) -> Report {
        Report { aliases, ..self }
    }

    const fn scaling(self, build: MayFail) -> Report {
        Report {
            scaling: Some(build),
            ..self
        }
    }

    /// The same report, to which `compare` does not apply.
    const fn uncompared(self) -> Report {
        Report {
            is_compared: false,
            ..self
        }
    }
}

const fn report(group: Group, name: &'static str, help: &'static str, build: Build) -> Report {
    Report {
        name,
        aliases: &[],
        help,
        group,
        is_compared: true,
        build,
        scaling: None,
    }
}

use Build::{IfRecorded, Named as Of, Numbered, Whole};
use Group::{Code, Findings, Functions, Index, Lists, Metrics, Ranks, Run, Tree};

/// Every report, in the order of help.
#[rustfmt::skip]
pub static REPORTS: &[Report] = &[
    report(Functions, "functions", "list functions by the current metrics", Whole(|query| list(query, Kind::Functions))).scaling(scaling::functions),
    report(Functions, "fsummary", "show every function in detail", Whole(|query| details::summary(query, Kind::Functions))),
    report(Functions, "fsingle", "show one function in detail, the N-th of that name", Of(details::single)),

    report(Tree, "callers-callees", "show each function between its callers and callees", Whole(callers_callees)).alias(&["gprof"]),
    report(Tree, "calltree", "show the tree of calls", Whole(calltree)).alias(&["ctree"]),

    report(Code, "lines", "list source lines by the current metrics", Whole(|query| list(query, Kind::Lines))),
    report(Code, "lsummary", "show every line in detail", Whole(|query| details::summary(query, Kind::Lines))),
    report(Code, "pcs", "list instructions by the current metrics", Whole(|query| list(query, Kind::Instructions))),
    report(Code, "psummary", "show every instruction in detail", Whole(|query| details::summary(query, Kind::Instructions))),
    report(Code, "source", "show annotated source", Of(source)),
    report(Code, "disasm", "show annotated instructions", Of(disasm)).uncompared(),

    report(Index, "Threads", "list threads by the current metrics", Whole(threads)),
    report(Index, "CPUs", "list CPUs by the current metrics", Whole(index::cpus)),
    report(Index, "Samples", "list sample points by the current metrics", Whole(index::samples)),
    report(Index, "Phases", "list the phases that the program named, with their work and wait", Whole(phases)),
    report(Index, "Seconds", "list seconds by the current metrics", Whole(index::seconds)),
    report(Index, "Processes", "list processes by the current metrics", Whole(index::processes)),
    report(Index, "Experiment_IDs", "list experiments by the current metrics", Whole(index::experiments)).uncompared(),
    report(Index, "Rank_IDs", "list ranks of MPI by the current metrics", Whole(index::ranks)),
    report(Index, "Hosts", "list hosts by the current metrics", Whole(index::hosts)),
    report(Index, "OMP_preg", "list parallel regions with what they could save, and why", Whole(regions)).scaling(scaling::regions),
    report(Index, "OMP_task", "list task constructs with their tasks' times", Whole(tasks)),
    report(Index, "OMP_loop", "list worksharing loops with their schedules, and which would serve", Whole(loops)),
    report(Index, "OMP_lock", "list locks, critical sections and other mutexes: who waited for whom", Whole(locks)),

    report(Ranks, "ranks", "list the ranks of an MPI program: work, time in MPI, and how even they are", Whole(ranks)).uncompared(),
    report(Ranks, "mpi", "list the functions of MPI by their time, with calls and bytes", Whole(mpi)),
    report(Ranks, "waits", "list the waits of MPI by cause and call: which rank waited for which", Whole(waits)).uncompared(),
    report(Ranks, "causes", "list what ranks waited for in MPI in the end: the rank, and what it did in which function", Whole(causes)).uncompared(),
    report(Ranks, "critical", "list what the critical path through the ranks consists of", Whole(critical)).uncompared(),
    report(Ranks, "pgas", "list one-sided operations by interface and class, with calls and bytes", Whole(pgas)),
    report(Ranks, "pairs", "list accesses to other ranks' memory, and messages, by pair of ranks and their bytes", Whole(pairs)).uncompared(),
    report(Ranks, "memory", "list the memory that other ranks access: symmetric variables, allocations and coarrays", Whole(memory)),

    report(Lists, "experiment_list", "list the experiments", Whole(experiment_list)).uncompared().alias(&["exp_list"]),
    report(Lists, "sample_list", "list the sample points", Whole(sample_list)).uncompared(),
    report(Lists, "thread_list", "list the threads and their lifetimes", Whole(thread_list)),
    report(Lists, "lwp_list", "list the kernel threads", Whole(lwp_list)),
    report(Lists, "cpu_list", "list the CPUs", Whole(cpu_list)),
    report(Lists, "object_list", "list the load objects", Whole(object_list)),

    report(Metrics, "metric_list", "list the metrics of this experiment, and those in force", Whole(metric_list)).uncompared(),
    report(Metrics, "cmetric_list", "list the metrics of callers and callees", Whole(cmetric_list)).uncompared().alias(&["gmetric_list"]),
    report(Metrics, "indx_metric_list", "list the metrics of index objects", Whole(indx_metric_list)).uncompared(),

    report(Findings, "races", "list data races", IfRecorded(races::list::<Race>)),
    report(Findings, "rdetail", "show data races in detail: all, or the one with a number", Numbered(races::details::<Race>)),
    report(Findings, "rsummary", "count data races by class, function and variable, and tell what was checked", IfRecorded(races::summary::<Race>)).uncompared(),
    report(Findings, "deadlocks", "list deadlocks that happened or may", IfRecorded(races::list::<Deadlock>)),
    report(Findings, "ddetail", "show deadlocks in detail: all, or the one with a number", Numbered(races::details::<Deadlock>)),
    report(Findings, "dsummary", "count deadlocks by function and lock, and tell what was checked", IfRecorded(races::summary::<Deadlock>)).uncompared(),
    report(Findings, "misuse", "list what the OpenMP specification forbids", IfRecorded(races::misuse)),
    report(Findings, "uninit", "list reads of memory that nothing has written", IfRecorded(races::list::<Uninitialised>)),
    report(Findings, "udetail", "show such reads in detail: all, or the one with a number", Numbered(races::details::<Uninitialised>)),
    report(Findings, "divergence", "list memory that a parallel region leaves different with one thread", IfRecorded(races::list::<Divergence>)),
    report(Findings, "vdetail", "show such differences in detail: all, or the one with a number", Numbered(races::details::<Divergence>)),
    report(Findings, "vsummary", "count such differences by class, function and variable, and tell what was compared", IfRecorded(races::summary::<Divergence>)).uncompared(),

    report(Run, "header", "tell how the recording was made, and what it is short of", Whole(|query| header(&query.added_up()))).uncompared(),
    report(Run, "overview", "tell where the time went", Whole(overview)),
    report(Run, "statistics", "show resource use", Whole(statistics)),
    report(Run, "objects", "list load objects without all their symbols", Whole(objects)).uncompared(),
    report(Run, "sample_detail", "show resource use by sample point", Whole(sample_detail)),
];
