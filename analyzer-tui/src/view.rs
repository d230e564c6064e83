//! The views: their order, keys and names.

use report::query::Query;
use report::{Document, locks, loops, regions, tasks};

/// The views, in the order of their tabs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum View {
    /// Where the time went.
    #[default]
    Overview,
    /// The list of functions.
    Functions,
    /// One function between its callers and callees.
    Callers,
    /// The call tree.
    Tree,
    /// The call tree as boxes.
    Flame,
    /// The source file of a function.
    Source,
    /// The instructions of a function.
    Disassembly,
    /// Regions and tasks.
    Regions,
    /// Worksharing loops.
    Loops,
    /// Locks, critical sections and other mutexes.
    Locks,
    /// What `collect -r` found; only of experiments that it recorded.
    Races,
    /// The threads.
    Threads,
    /// Who did what when.
    Timeline,
    /// How the recording was made, and what it is short of.
    Experiment,
    /// Any report of `er_print`.
    Report,
}

impl View {
    /// Every view, in the order of their tabs.
    pub const ALL: [View; 15] = [
        View::Overview,
        View::Functions,
        View::Callers,
        View::Tree,
        View::Flame,
        View::Source,
        View::Disassembly,
        View::Regions,
        View::Loops,
        View::Locks,
        View::Races,
        View::Threads,
        View::Timeline,
        View::Experiment,
        View::Report,
    ];

    /// The view that a key goes to.
    pub fn by_key(key: char) -> Option<View> {
        View::ALL.into_iter().find(|view| view.key() == key)
    }

    /// Its key: a digit, or a letter that no view has for anything else.
    pub const fn key(self) -> char {
        self.row().key
    }

    /// Its name.
    pub const fn title(self) -> &'static str {
        self.row().title
    }

    /// Its name where there is little room.
    pub const fn short(self) -> &'static str {
        self.row().short
    }

    /// Its name in files; that of `er_print`'s command where there is one.
    pub const fn file_name(self) -> &'static str {
        self.row().file_name
    }

    /// What it is called. Not formatted, to be read as a table.
    #[rustfmt::skip]
    const fn row(self) -> Row {
        match self {
            View::Overview => row('1', "Overview", "Over", "overview"),
            View::Functions => row('2', "Functions", "Func", "functions"),
            View::Callers => row('3', "Callers-Callees", "Call", "callers-callees"),
            View::Tree => row('4', "Call Tree", "Tree", "calltree"),
            View::Flame => row('5', "Flame Graph", "Flame", "flamegraph"),
            View::Source => row('6', "Source", "Src", "source"),
            View::Disassembly => row('d', "Disassembly", "Asm", "disasm"),
            View::Regions => row('7', "Regions", "Reg", "regions"),
            View::Loops => row('w', "Loops", "Loop", "loops"),
            View::Locks => row('u', "Locks", "Lock", "locks"),
            View::Races => row('R', "Races", "Race", "races"),
            View::Threads => row('8', "Threads", "Thr", "threads"),
            View::Timeline => row('9', "Timeline", "Time", "timeline"),
            View::Experiment => row('0', "Experiment", "Exp", "header"),
            View::Report => row('r', "Reports", "Rep", "report"),
        }
    }

    /// The views that there are, with or without findings of `collect -r`.
    pub(crate) fn shown(has_findings: bool) -> impl DoubleEndedIterator<Item = View> {
        let all = View::ALL.into_iter();
        all.filter(move |view| has_findings || *view != View::Races)
    }

    /// The view so many steps further, of those that there are.
    pub(crate) fn neighbour(self, forward: bool, has_findings: bool) -> View {
        let shown: Vec<View> = View::shown(has_findings).collect();
        let step = if forward { 1 } else { shown.len() - 1 };
        let at = shown.iter().position(|view| *view == self).unwrap_or(0);
        shown[(at + step) % shown.len()]
    }

    /// Whether its rows have an order of their own, independent of the metrics.
    pub(crate) const fn has_own_order(self) -> bool {
        self.constructs().is_some() || matches!(self, View::Threads)
    }

    /// What it shows, if its rows are constructs.
    pub(crate) const fn constructs(self) -> Option<Constructs> {
        match self {
            View::Regions => Some(Constructs {
                reports: &[regions::regions, tasks::tasks],
                order: "What they could save, then tasks",
            }),
            View::Loops => Some(Constructs {
                reports: &[loops::loops],
                order: "What they could save",
            }),
            View::Locks => Some(Constructs {
                reports: &[locks::locks],
                order: "How long threads waited",
            }),
            _ => None,
        }
    }

    /// The file formats that it can be written in.
    pub const fn forms(self) -> &'static [Form] {
        match self {
            View::Flame | View::Timeline => &[Form::Svg, Form::Text, Form::Json, Form::Page],
            _ => &[Form::Text, Form::Json, Form::Page],
        }
    }
}

/// What a view is called.
struct Row {
    key: char,
    title: &'static str,
    short: &'static str,
    file_name: &'static str,
}

const fn row(key: char, title: &'static str, short: &'static str, file_name: &'static str) -> Row {
    Row {
        key,
        title,
        short,
        file_name,
    }
}

/// A view with constructs as rows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Constructs {
    /// The builders of its documents, which stand one below the other.
    pub reports: &'static [fn(&Query<'_>) -> Document],
    /// The order of their rows, for the choice of another.
    pub order: &'static str,
}

/// A file format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// For people.
    Text,
    /// As `er_print`'s `printmode json` has it.
    Json,
    /// A picture.
    Svg,
    /// Every view, for a browser.
    Page,
}

impl Form {
    /// Its name in a choice.
    pub const fn label(self) -> &'static str {
        match self {
            Form::Text => "text",
            Form::Json => "JSON",
            Form::Svg => "a picture (SVG)",
            Form::Page => "a page of every view (HTML)",
        }
    }

    /// The extension of its files.
    pub const fn ending(self) -> &'static str {
        match self {
            Form::Text => "txt",
            Form::Json => "json",
            Form::Svg => "svg",
            Form::Page => "html",
        }
    }
}
