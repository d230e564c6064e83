//! The table of commands, in the order of help.

use report::calltree::calltree;
use report::disasm::disasm;
use report::experiments::{experiment_list, sample_list};
use report::functions::{Kind, list};
use report::header::header;
use report::metrics::{cmetric_list, indx_metric_list, metric_list};
use report::neighbours::callers_callees;
use report::objects::{object_list, objects as objects_without_symbols};
use report::overview::overview;
use report::regions::regions;
use report::resources::{cpu_list, sample_detail, statistics};
use report::source::source;
use report::tasks::tasks;
use report::threads::{lwp_list, thread_list, threads};
use report::{Document, Error, Query, details, index as objects};

use super::{
    Action, Command, Group, check, defaults, experiments, filters, fragment, index, named, places,
    program, settings,
};
use crate::failure::Stop;
use crate::session::Session;

/// A command that shows a document, which compares experiments where `compare` says so.
const fn report(
    group: Group,
    name: &'static str,
    arguments: &'static str,
    help: &'static str,
    make: fn(&Query<'_>, &[String]) -> Result<Document, Error>,
) -> Command {
    Command {
        action: Some(Action::Compare(make)),
        ..later(group, name, arguments, help)
    }
    .of_experiments()
}

/// The same command where one experiment is shown under `compare`, too.
const fn uncompared(command: Command) -> Command {
    match command.action {
        Some(Action::Compare(make)) => Command {
            action: Some(Action::Show(make)),
            ..command
        },
        _ => command,
    }
}

/// A command that works on the session and needs experiments.
const fn view(
    group: Group,
    name: &'static str,
    arguments: &'static str,
    help: &'static str,
    run: fn(&mut Session<'_>, &[String]) -> Result<(), Stop>,
) -> Command {
    general(group, name, arguments, help, run).of_experiments()
}

/// A command that works without an experiment.
const fn general(
    group: Group,
    name: &'static str,
    arguments: &'static str,
    help: &'static str,
    run: fn(&mut Session<'_>, &[String]) -> Result<(), Stop>,
) -> Command {
    Command {
        action: Some(Action::Run(run)),
        ..later(group, name, arguments, help)
    }
}

impl Command {
    /// The same command, which needs experiments.
    const fn of_experiments(self) -> Command {
        Command {
            needs_experiment: true,
            ..self
        }
    }
}

/// A word of the language that is not supported yet.
const fn later(
    group: Group,
    name: &'static str,
    arguments: &'static str,
    help: &'static str,
) -> Command {
    let (aliases, needs_experiment, action): (&[&str], _, _) = (&[], false, None);
    Command {
        name,
        aliases,
        arguments,
        help,
        group,
        needs_experiment,
        action,
    }
}

/// The same command by another name too.
const fn alias(names: &'static [&'static str], command: Command) -> Command {
    Command {
        aliases: names,
        ..command
    }
}

/// Every command of the language, one row a line: it is read as a table.
#[rustfmt::skip]
pub(crate) const COMMANDS: &[Command] = &[
    report(Group::Functions, "functions", "", "list functions by the current metrics", |query, _| list(query, Kind::Functions)),
    view(Group::Functions, "metrics", "SPEC", "choose metrics: e.%ompwork:i.%ompwait:name, default, all", settings::metrics),
    view(Group::Functions, "sort", "SPEC", "sort tables by a metric or by name; - before it turns the order round", settings::sort),
    report(Group::Functions, "fsummary", "", "show every function in detail", |query, _| details::summary(query, Kind::Functions)),
    report(Group::Functions, "fsingle", "NAME [N]", "show one function in detail, the N-th of that name", |query, words| details::single(query, &named("fsingle", words)?)),

    alias(&["gprof"], report(Group::Tree, "callers-callees", "", "show each function between its callers and callees", |query, _| callers_callees(query))),
    view(Group::Tree, "csingle", "NAME [N]", "show callers and callees of one function", fragment::csingle),
    view(Group::Tree, "cprepend", "NAME [N]", "put a function before the stack fragment", fragment::cprepend),
    view(Group::Tree, "cappend", "NAME [N]", "put a function behind the stack fragment", fragment::cappend),
    view(Group::Tree, "crmfirst", "", "take the first function off the stack fragment", fragment::crmfirst),
    view(Group::Tree, "crmlast", "", "take the last function off the stack fragment", fragment::crmlast),
    alias(&["ctree"], report(Group::Tree, "calltree", "", "show the tree of calls", |query, _| calltree(query))),

    report(Group::Places, "lines", "", "list source lines by the current metrics", |query, _| list(query, Kind::Lines)),
    report(Group::Places, "lsummary", "", "show every line in detail", |query, _| details::summary(query, Kind::Lines)),
    report(Group::Places, "pcs", "", "list instructions by the current metrics", |query, _| list(query, Kind::Instructions)),
    report(Group::Places, "psummary", "", "show every instruction in detail", |query, _| details::summary(query, Kind::Instructions)),
    report(Group::Places, "source", "NAME [N]", "show annotated source", |query, words| source(query, &named("source", words)?)),
    uncompared(report(Group::Places, "disasm", "NAME [N]", "show annotated instructions", |query, words| disasm(query, &named("disasm", words)?))),
    general(Group::Places, "sthresh", "PERCENT", "mark source lines from this share on", places::sthresh),
    general(Group::Places, "dthresh", "PERCENT", "mark instructions from this share on", places::dthresh),
    general(Group::Places, "setpath", "PATHS", "set where sources are looked for", places::setpath),
    general(Group::Places, "addpath", "PATHS", "add to where sources are looked for", places::addpath),
    general(Group::Places, "pathmap", "OLD NEW", "replace the beginning of source paths", places::pathmap),
    general(Group::Places, "scc", "CLASSES", "choose comments in annotated source", places::scc),
    general(Group::Places, "dcc", "CLASSES", "choose comments in annotated instructions", places::dcc),
    general(Group::Places, "cc", "CLASSES", "choose comments in both", places::cc),

    view(Group::Index, "indxobj", "TYPE", "list index objects of a type", index::indxobj),
    general(Group::Index, "indxobj_list", "", "list the types of index objects", index::indxobj_list),
    general(Group::Index, "indxobj_define", "TYPE EXPR", "define a type of index object by a filter's expression", index::indxobj_define),
    report(Group::Index, "Threads", "", "list threads by the current metrics", |query, _| threads(query)),
    report(Group::Index, "CPUs", "", "list CPUs by the current metrics", |query, _| objects::cpus(query)),
    report(Group::Index, "Samples", "", "list sample points by the current metrics", |query, _| objects::samples(query)),
    report(Group::Index, "Seconds", "", "list seconds by the current metrics", |query, _| objects::seconds(query)),
    report(Group::Index, "Processes", "", "list processes by the current metrics", |query, _| objects::processes(query)),
    uncompared(report(Group::Index, "Experiment_IDs", "", "list experiments by the current metrics", |query, _| objects::experiments(query))),
    report(Group::Index, "OMP_preg", "", "list parallel regions with what they could save, and why", |query, _| regions(query)),
    report(Group::Index, "OMP_task", "", "list task constructs with their tasks' times", |query, _| tasks(query)),

    alias(&["exp_list"], uncompared(report(Group::Lists, "experiment_list", "", "list the experiments", |query, _| experiment_list(query)))),
    uncompared(report(Group::Lists, "sample_list", "", "list the sample points", |query, _| sample_list(query))),
    report(Group::Lists, "thread_list", "", "list the threads and their lifetimes", |query, _| thread_list(query)),
    report(Group::Lists, "lwp_list", "", "list the kernel threads", |query, _| lwp_list(query)),
    report(Group::Lists, "cpu_list", "", "list the CPUs", |query, _| cpu_list(query)),
    report(Group::Lists, "object_list", "", "list the load objects", |query, _| object_list(query)),

    view(Group::Filters, "filters", "EXPR", "keep only the data for which an expression is true", filters::filters),
    general(Group::Filters, "describe", "", "list the words of filters", filters::describe),
    view(Group::Filters, "thread_select", "LIST", "keep only these threads", filters::thread_select),
    view(Group::Filters, "lwp_select", "LIST", "keep only these kernel threads", filters::lwp_select),
    view(Group::Filters, "cpu_select", "LIST", "keep only these CPUs", filters::cpu_select),
    view(Group::Filters, "sample_select", "LIST", "keep only these sample points", filters::sample_select),
    view(Group::Filters, "object_select", "LIST", "show functions of these load objects only", filters::object_select),
    view(Group::Filters, "object_show", "LIST", "show all functions of load objects", filters::object_show),
    view(Group::Filters, "object_hide", "LIST", "show load objects as one function each", filters::object_hide),
    view(Group::Filters, "object_api", "LIST", "show only the entry points of load objects", filters::object_api),
    view(Group::Filters, "objects_default", "", "show load objects as at the start", filters::objects_default),

    uncompared(report(Group::Metrics, "metric_list", "", "list the metrics of this experiment, and those in force", |query, _| metric_list(query))),
    alias(&["gmetric_list"], uncompared(report(Group::Metrics, "cmetric_list", "", "list the metrics of callers and callees", |query, _| cmetric_list(query)))),
    uncompared(report(Group::Metrics, "indx_metric_list", "", "list the metrics of index objects", |query, _| indx_metric_list(query))),

    general(Group::Output, "outfile", "FILE", "send what follows to a file, emptied first; - is standard output", settings::outfile),
    general(Group::Output, "appendfile", "FILE", "send what follows to the end of a file", settings::appendfile),
    general(Group::Output, "limit", "N", "show at most N rows; 0: all", settings::limit),
    general(Group::Output, "name", "FORM", "name functions long, short or mangled, with :soname or :nosoname", settings::name),
    general(Group::Output, "viewmode", "MODE", "show stacks as written (user, expert) or as measured (machine)", settings::viewmode),
    general(Group::Output, "compare", "MODE", "set experiments side by side: on, delta, ratio; scaling shows what threads lose", experiments::compare),
    general(Group::Output, "printmode", "MODE", "print text, json or html, or a sign such as , between cells", settings::printmode),

    uncompared(report(Group::About, "header", "", "tell how the recording was made, and what it is short of", |query, _| header(&query.added_up()))),
    report(Group::About, "overview", "", "tell where the time went", |query, _| overview(query)),
    report(Group::About, "statistics", "", "show resource use", |query, _| statistics(query)),
    uncompared(report(Group::About, "objects", "", "list load objects without all their symbols", |query, _| objects_without_symbols(query))),
    view(Group::About, "check", "EXPR", "test a condition: ompwait < 10%, e.total(main) < 1.05 * base", check::check),
    later(Group::About, "ifreq", "", "show how often instructions ran"),
    report(Group::About, "sample_detail", "", "show resource use by sample point", |query, _| sample_detail(query)),
    general(Group::About, "procstats", "", "show what er_print itself has used", program::procstats),
    general(Group::About, "script", "FILE", "read commands from a file", settings::script),
    general(Group::About, "version", "", "print the version", program::version),
    general(Group::About, "help", "", "list the commands", program::help),
    alias(&["exit"], general(Group::About, "quit", "", "end", settings::quit)),

    general(Group::Experiments, "open_exp", "EXPERIMENT", "open an experiment instead of all others", experiments::open_exp),
    general(Group::Experiments, "add_exp", "EXPERIMENT", "add an experiment", experiments::add_exp),
    general(Group::Experiments, "drop_exp", "EXPERIMENT", "drop an experiment", experiments::drop_exp),

    general(Group::Defaults, "dmetrics", "SPEC", "set the metrics to start with", defaults::dmetrics),
    general(Group::Defaults, "dsort", "SPEC", "set the order to start with", defaults::dsort),
    general(Group::Defaults, "en_desc", "CHOICE", "read descendants too", defaults::en_desc),
    general(Group::Defaults, "tabs", "LIST", "choose the analyzer's tabs", defaults::analyzers),
    general(Group::Defaults, "tlmode", "MODE", "choose the analyzer's timeline", defaults::analyzers),
    general(Group::Defaults, "tldata", "LIST", "choose the analyzer's timeline data", defaults::analyzers),

    later(Group::NotRecorded, "leaks", "", "list memory leaks"),
    later(Group::NotRecorded, "allocs", "", "list allocations"),
    later(Group::NotRecorded, "heap", "", "list allocations and leaks"),
    later(Group::NotRecorded, "heapstat", "", "show heap use"),
    later(Group::NotRecorded, "ioactivity", "", "show input and output by file"),
    later(Group::NotRecorded, "iodetail", "", "show input and output by descriptor"),
    later(Group::NotRecorded, "iocallstack", "", "show input and output by stack"),
    later(Group::NotRecorded, "iostat", "", "show input and output in sum"),
    later(Group::NotRecorded, "races", "", "list data races"),
    later(Group::NotRecorded, "rsummary", "ID", "show a data race"),
    later(Group::NotRecorded, "rdetail", "ID", "show a data race in detail"),
    later(Group::NotRecorded, "deadlocks", "", "list deadlocks"),
    later(Group::NotRecorded, "dsummary", "ID", "show a deadlock"),
    later(Group::NotRecorded, "ddetail", "ID", "show a deadlock in detail"),
];
