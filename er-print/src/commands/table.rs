//! The table of commands, in the order of help.

use std::sync::LazyLock;

use report::reports::{self, Build, REPORTS, Report};

use super::{
    Action, Command, Group, annotation, check, defaults, experiments, export, filters, fragment,
    index, page, program, resymbolize, script, settings,
};
use crate::session::Session;
use crate::stop::Stop;

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

/// Every command of the language: in each group reports, then the others.
pub(crate) static COMMANDS: LazyLock<Vec<Command>> = LazyLock::new(|| {
    let of_group = |group: Group| {
        let reports = REPORTS.iter().map(of_report);
        let all = reports.chain(OTHERS.iter().copied());
        all.filter(move |command| command.group == group)
    };
    Group::ALL.into_iter().flat_map(of_group).collect()
});

/// The command that shows a report.
fn of_report(report: &'static Report) -> Command {
    Command {
        name: report.name,
        aliases: report.aliases,
        arguments: match report.build {
            Build::Whole(_) | Build::IfRecorded(_) => "",
            Build::Numbered(_) => "[all|N]",
            Build::Named(_) => "NAME [N]",
        },
        help: report.help,
        group: Group::Reports(report.group),
        needs_experiment: true,
        action: Some(Action::Show(report)),
    }
}

const FUNCTIONS: Group = Group::Reports(reports::Group::Functions);
const TREE: Group = Group::Reports(reports::Group::Tree);
const INDEX: Group = Group::Reports(reports::Group::Index);
const FINDINGS: Group = Group::Reports(reports::Group::Findings);
const RUN: Group = Group::Reports(reports::Group::Run);

/// The commands that are no reports.
#[rustfmt::skip]
const OTHERS: &[Command] = &[
    on_experiments(FUNCTIONS, "metrics", "SPEC", "choose metrics: e.%ompwork:i.%ompwait:name, default, all; e.%blame: who made others wait", settings::metrics),
    on_experiments(FUNCTIONS, "sort", "SPEC", "sort tables by a metric or by name; - before it turns the order round", settings::sort),

    on_experiments(TREE, "csingle", "NAME [N]", "show callers and callees of one function", fragment::csingle),
    on_experiments(TREE, "cprepend", "NAME [N]", "put a function before the stack fragment", fragment::cprepend),
    on_experiments(TREE, "cappend", "NAME [N]", "put a function behind the stack fragment", fragment::cappend),
    on_experiments(TREE, "crmfirst", "", "take the first function off the stack fragment", fragment::crmfirst),
    on_experiments(TREE, "crmlast", "", "take the last function off the stack fragment", fragment::crmlast),

    on_session(Group::CODE, "sthresh", "PERCENT", "mark source lines from this share on", annotation::sthresh),
    on_session(Group::CODE, "dthresh", "PERCENT", "mark instructions from this share on", annotation::dthresh),
    on_session(Group::CODE, "setpath", "PATHS", "set where sources are looked for", annotation::setpath),
    on_session(Group::CODE, "addpath", "PATHS", "add to where sources are looked for", annotation::addpath),
    on_session(Group::CODE, "pathmap", "OLD NEW", "replace the beginning of source paths", annotation::pathmap),
    on_session(Group::CODE, "scc", "CLASSES", "choose comments in annotated source", annotation::scc),
    on_session(Group::CODE, "dcc", "CLASSES", "choose comments in annotated instructions", annotation::dcc),
    on_session(Group::CODE, "cc", "CLASSES", "choose comments in both", annotation::cc),

    on_experiments(INDEX, "indxobj", "TYPE", "list index objects of a type", index::indxobj),
    on_session(INDEX, "indxobj_list", "", "list the types of index objects", index::indxobj_list),
    on_session(INDEX, "indxobj_define", "TYPE EXPR", "define a type of index object by a filter's expression", index::indxobj_define),

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

    on_session(Group::Output, "outfile", "FILE", "send what follows to a file, emptied first; - is standard output", settings::outfile),
    on_session(Group::Output, "appendfile", "FILE", "send what follows to the end of a file", settings::appendfile),
    on_experiments(Group::Output, "export", "FORMAT FILE", "write the profile in a format of other tools: folded, speedscope, pprof, hatchet, firefox, perfetto; sarif, of findings; - is standard output; parquet, into a folder", export::export),
    on_session(Group::Output, "limit", "N", "show at most N rows, or with N% rows of that part of the whole; 0: all", settings::limit),
    on_session(Group::Output, "name", "FORM", "name functions long, short or mangled, with :soname or :nosoname", settings::name),
    on_session(Group::Output, "viewmode", "MODE", "show stacks as written (user, expert) or as measured (machine)", settings::viewmode),
    on_session(Group::Output, "inline", "CHOICE", "give inlined functions frames of their own (on) or not (off)", settings::inline),
    on_session(Group::Output, "compare", "[MODE]", "set experiments side by side: on, delta, ratio, and with -- several recordings of each side; scaling shows what threads lose; without MODE, functions by delta", experiments::compare),
    on_session(Group::Output, "printmode", "MODE", "print text, json, html, markdown, or a sign such as , between cells", settings::printmode),

    on_session(FINDINGS, "suppressions", "FILE", "count the findings that a file names, and show them no more: race variable:x # why", settings::suppressions),

    on_experiments(RUN, "report", "FILE", "write a page for a browser with every view, in one file; - is standard output", page::report),
    on_session(RUN, "no_source", "", "leave source text out of report's page", page::no_source),
    on_session(RUN, "redact", "", "leave the folders of paths out of report's page", page::redact),
    on_experiments(RUN, "check", "[EXPR]", "test a condition: ompwait < 10%, e.total(main) < 1.05 * base, e.total(each line) < 1.05 * base, races(new) == 0; without EXPR, races == 0", check::check),
    on_experiments(RUN, "budgets", "FILE", "test the conditions of a file, one a line", check::budgets),
    unsupported(RUN, "ifreq", "", "show how often instructions ran"),
    on_session(RUN, "procstats", "", "show what er_print itself has used", program::procstats),
    on_session(RUN, "script", "FILE", "read commands from a file", script::script),
    on_session(RUN, "version", "", "print the version", program::version),
    on_session(RUN, "help", "", "list the commands", program::help),
    alias(&["exit"], on_session(RUN, "quit", "", "end", settings::quit)),

    on_session(Group::Experiments, "open_exp", "EXPERIMENT", "open an experiment instead of all others", experiments::open_exp),
    on_session(Group::Experiments, "add_exp", "EXPERIMENT", "add an experiment", experiments::add_exp),
    on_session(Group::Experiments, "drop_exp", "EXPERIMENT", "drop an experiment", experiments::drop_exp),
    on_experiments(Group::Experiments, "resymbolize", "", "name functions anew by the files that are here now, and store the names; with DEBUGINFOD_URLS set, debuginfod is asked for others", resymbolize::resymbolize),

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
];
