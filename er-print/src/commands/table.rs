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
use report::{Document, Error, Query, details};

use super::{
    Action, Command, Group, annotation, check, defaults, experiments, filters, fragment, index,
    named, program, settings,
};
use crate::session::Session;
use crate::stop::Stop;

/// A command that shows a document. Under `compare`, the document compares experiments.
const fn report(
    group: Group,
    name: &'static str,
    arguments: &'static str,
    help: &'static str,
    make: fn(&Query<'_>, &[String]) -> Result<Document, Error>,
) -> Command {
    Command {
        action: Some(Action::Compare(make)),
        ..unsupported(group, name, arguments, help)
    }
    .of_experiments()
}

/// The same command, not affected by `compare`.
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
const fn on_experiments(
    group: Group,
    name: &'static str,
    arguments: &'static str,
    help: &'static str,
    run: fn(&mut Session<'_>, &[String]) -> Result<(), Stop>,
) -> Command {
    on_session(group, name, arguments, help, run).of_experiments()
}

/// A command that works without an experiment.
const fn on_session(
    group: Group,
    name: &'static str,
    arguments: &'static str,
    help: &'static str,
    run: fn(&mut Session<'_>, &[String]) -> Result<(), Stop>,
) -> Command {
    Command {
        action: Some(Action::Run(run)),
        ..unsupported(group, name, arguments, help)
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

/// A command of the language that is not supported.
const fn unsupported(
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

/// The same command with further names.
const fn alias(names: &'static [&'static str], command: Command) -> Command {
    Command {
        aliases: names,
        ..command
    }
}

/// Every command of the language, a row for each.
#[rustfmt::skip]
pub(crate) const COMMANDS: &[Command] = &[
    report(Group::Functions, "functions", "", "list functions by the current metrics", |query, _| list(query, Kind::Functions)),
    on_experiments(Group::Functions, "metrics", "SPEC", "choose metrics: e.%ompwork:i.%ompwait:name, default, all", settings::metrics),
    on_experiments(Group::Functions, "sort", "SPEC", "sort tables by a metric or by name; - before it turns the order round", settings::sort),
    report(Group::Functions, "fsummary", "", "show every function in detail", |query, _| details::summary(query, Kind::Functions)),
    report(Group::Functions, "fsingle", "NAME [N]", "show one function in detail, the N-th of that name", |query, words| details::single(query, &named("fsingle", words)?)),

    alias(&["gprof"], report(Group::Tree, "callers-callees", "", "show each function between its callers and callees", |query, _| callers_callees(query))),
    on_experiments(Group::Tree, "csingle", "NAME [N]", "show callers and callees of one function", fragment::csingle),
    on_experiments(Group::Tree, "cprepend", "NAME [N]", "put a function before the stack fragment", fragment::cprepend),
    on_experiments(Group::Tree, "cappend", "NAME [N]", "put a function behind the stack fragment", fragment::cappend),
    on_experiments(Group::Tree, "crmfirst", "", "take the first function off the stack fragment", fragment::crmfirst),
    on_experiments(Group::Tree, "crmlast", "", "take the last function off the stack fragment", fragment::crmlast),
    alias(&["ctree"], report(Group::Tree, "calltree", "", "show the tree of calls", |query, _| calltree(query))),

    report(Group::Code, "lines", "", "list source lines by the current metrics", |query, _| list(query, Kind::Lines)),
    report(Group::Code, "lsummary", "", "show every line in detail", |query, _| details::summary(query, Kind::Lines)),
    report(Group::Code, "pcs", "", "list instructions by the current metrics", |query, _| list(query, Kind::Instructions)),
    report(Group::Code, "psummary", "", "show every instruction in detail", |query, _| details::summary(query, Kind::Instructions)),
    report(Group::Code, "source", "NAME [N]", "show annotated source", |query, words| source(query, &named("source", words)?)),
    uncompared(report(Group::Code, "disasm", "NAME [N]", "show annotated instructions", |query, words| disasm(query, &named("disasm", words)?))),
    on_session(Group::Code, "sthresh", "PERCENT", "mark source lines from this share on", annotation::sthresh),
    on_session(Group::Code, "dthresh", "PERCENT", "mark instructions from this share on", annotation::dthresh),
    on_session(Group::Code, "setpath", "PATHS", "set where sources are looked for", annotation::setpath),
    on_session(Group::Code, "addpath", "PATHS", "add to where sources are looked for", annotation::addpath),
    on_session(Group::Code, "pathmap", "OLD NEW", "replace the beginning of source paths", annotation::pathmap),
    on_session(Group::Code, "scc", "CLASSES", "choose comments in annotated source", annotation::scc),
    on_session(Group::Code, "dcc", "CLASSES", "choose comments in annotated instructions", annotation::dcc),
    on_session(Group::Code, "cc", "CLASSES", "choose comments in both", annotation::cc),

    on_experiments(Group::Index, "indxobj", "TYPE", "list index objects of a type", index::indxobj),
    on_session(Group::Index, "indxobj_list", "", "list the types of index objects", index::indxobj_list),
    on_session(Group::Index, "indxobj_define", "TYPE EXPR", "define a type of index object by a filter's expression", index::indxobj_define),
    report(Group::Index, "Threads", "", "list threads by the current metrics", |query, _| threads(query)),
    report(Group::Index, "CPUs", "", "list CPUs by the current metrics", |query, _| report::index::cpus(query)),
    report(Group::Index, "Samples", "", "list sample points by the current metrics", |query, _| report::index::samples(query)),
    report(Group::Index, "Seconds", "", "list seconds by the current metrics", |query, _| report::index::seconds(query)),
    report(Group::Index, "Processes", "", "list processes by the current metrics", |query, _| report::index::processes(query)),
    uncompared(report(Group::Index, "Experiment_IDs", "", "list experiments by the current metrics", |query, _| report::index::experiments(query))),
    report(Group::Index, "OMP_preg", "", "list parallel regions with what they could save, and why", |query, _| regions(query)),
    report(Group::Index, "OMP_task", "", "list task constructs with their tasks' times", |query, _| tasks(query)),

    alias(&["exp_list"], uncompared(report(Group::Lists, "experiment_list", "", "list the experiments", |query, _| experiment_list(query)))),
    uncompared(report(Group::Lists, "sample_list", "", "list the sample points", |query, _| sample_list(query))),
    report(Group::Lists, "thread_list", "", "list the threads and their lifetimes", |query, _| thread_list(query)),
    report(Group::Lists, "lwp_list", "", "list the kernel threads", |query, _| lwp_list(query)),
    report(Group::Lists, "cpu_list", "", "list the CPUs", |query, _| cpu_list(query)),
    report(Group::Lists, "object_list", "", "list the load objects", |query, _| object_list(query)),

    on_experiments(Group::Filters, "filters", "EXPR", "keep only the data for which an expression is true", filters::filters),
    on_session(Group::Filters, "describe", "", "list the words of filters", filters::describe),
    on_experiments(Group::Filters, "thread_select", "LIST", "keep only these threads", filters::thread_select),
    on_experiments(Group::Filters, "lwp_select", "LIST", "keep only these kernel threads", filters::lwp_select),
    on_experiments(Group::Filters, "cpu_select", "LIST", "keep only these CPUs", filters::cpu_select),
    on_experiments(Group::Filters, "sample_select", "LIST", "keep only these sample points", filters::sample_select),
    on_experiments(Group::Filters, "object_select", "LIST", "show functions of these load objects only", filters::object_select),
    on_experiments(Group::Filters, "object_show", "LIST", "show all functions of load objects", filters::object_show),
    on_experiments(Group::Filters, "object_hide", "LIST", "show load objects as one function each", filters::object_hide),
    on_experiments(Group::Filters, "object_api", "LIST", "show only the entry points of load objects", filters::object_api),
    on_experiments(Group::Filters, "objects_default", "", "show load objects as at the start", filters::objects_default),

    uncompared(report(Group::Metrics, "metric_list", "", "list the metrics of this experiment, and those in force", |query, _| metric_list(query))),
    alias(&["gmetric_list"], uncompared(report(Group::Metrics, "cmetric_list", "", "list the metrics of callers and callees", |query, _| cmetric_list(query)))),
    uncompared(report(Group::Metrics, "indx_metric_list", "", "list the metrics of index objects", |query, _| indx_metric_list(query))),

    on_session(Group::Output, "outfile", "FILE", "send what follows to a file, emptied first; - is standard output", settings::outfile),
    on_session(Group::Output, "appendfile", "FILE", "send what follows to the end of a file", settings::appendfile),
    on_session(Group::Output, "limit", "N", "show at most N rows; 0: all", settings::limit),
    on_session(Group::Output, "name", "FORM", "name functions long, short or mangled, with :soname or :nosoname", settings::name),
    on_session(Group::Output, "viewmode", "MODE", "show stacks as written (user, expert) or as measured (machine)", settings::viewmode),
    on_session(Group::Output, "compare", "MODE", "set experiments side by side: on, delta, ratio; scaling shows what threads lose", experiments::compare),
    on_session(Group::Output, "printmode", "MODE", "print text, json or html, or a sign such as , between cells", settings::printmode),

    uncompared(report(Group::About, "header", "", "tell how the recording was made, and what it is short of", |query, _| header(&query.added_up()))),
    report(Group::About, "overview", "", "tell where the time went", |query, _| overview(query)),
    report(Group::About, "statistics", "", "show resource use", |query, _| statistics(query)),
    uncompared(report(Group::About, "objects", "", "list load objects without all their symbols", |query, _| objects_without_symbols(query))),
    on_experiments(Group::About, "check", "EXPR", "test a condition: ompwait < 10%, e.total(main) < 1.05 * base", check::check),
    unsupported(Group::About, "ifreq", "", "show how often instructions ran"),
    report(Group::About, "sample_detail", "", "show resource use by sample point", |query, _| sample_detail(query)),
    on_session(Group::About, "procstats", "", "show what er_print itself has used", program::procstats),
    on_session(Group::About, "script", "FILE", "read commands from a file", settings::script),
    on_session(Group::About, "version", "", "print the version", program::version),
    on_session(Group::About, "help", "", "list the commands", program::help),
    alias(&["exit"], on_session(Group::About, "quit", "", "end", settings::quit)),

    on_session(Group::Experiments, "open_exp", "EXPERIMENT", "open an experiment instead of all others", experiments::open_exp),
    on_session(Group::Experiments, "add_exp", "EXPERIMENT", "add an experiment", experiments::add_exp),
    on_session(Group::Experiments, "drop_exp", "EXPERIMENT", "drop an experiment", experiments::drop_exp),

    on_session(Group::Defaults, "dmetrics", "SPEC", "set the metrics to start with", defaults::dmetrics),
    on_session(Group::Defaults, "dsort", "SPEC", "set the order to start with", defaults::dsort),
    on_session(Group::Defaults, "en_desc", "CHOICE", "read descendants too", defaults::en_desc),
    on_session(Group::Defaults, "tabs", "LIST", "choose the analyzer's tabs", defaults::analyzers),
    on_session(Group::Defaults, "tlmode", "MODE", "choose the analyzer's timeline", defaults::analyzers),
    on_session(Group::Defaults, "tldata", "LIST", "choose the analyzer's timeline data", defaults::analyzers),

    unsupported(Group::NotRecorded, "leaks", "", "list memory leaks"),
    unsupported(Group::NotRecorded, "allocs", "", "list allocations"),
    unsupported(Group::NotRecorded, "heap", "", "list allocations and leaks"),
    unsupported(Group::NotRecorded, "heapstat", "", "show heap use"),
    unsupported(Group::NotRecorded, "ioactivity", "", "show input and output by file"),
    unsupported(Group::NotRecorded, "iodetail", "", "show input and output by descriptor"),
    unsupported(Group::NotRecorded, "iocallstack", "", "show input and output by stack"),
    unsupported(Group::NotRecorded, "iostat", "", "show input and output in sum"),
    unsupported(Group::NotRecorded, "races", "", "list data races"),
    unsupported(Group::NotRecorded, "rsummary", "ID", "show a data race"),
    unsupported(Group::NotRecorded, "rdetail", "ID", "show a data race in detail"),
    unsupported(Group::NotRecorded, "deadlocks", "", "list deadlocks"),
    unsupported(Group::NotRecorded, "dsummary", "ID", "show a deadlock"),
    unsupported(Group::NotRecorded, "ddetail", "ID", "show a deadlock in detail"),
];
