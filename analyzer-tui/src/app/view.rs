//! The views' names.

/// The views, in the order of their digits.
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
    /// Regions and tasks.
    Regions,
    /// The threads.
    Threads,
    /// Who did what when.
    Timeline,
    /// How the recording was made, and what it is short of.
    Experiment,
}

impl View {
    /// Every view, in the order of their digits.
    pub const ALL: [View; 10] = [
        View::Overview,
        View::Functions,
        View::Callers,
        View::Tree,
        View::Flame,
        View::Source,
        View::Regions,
        View::Threads,
        View::Timeline,
        View::Experiment,
    ];

    /// The view of a digit: 1 is the first, 0 the tenth.
    pub fn by_digit(digit: char) -> Option<View> {
        let number = digit.to_digit(10)? as usize;
        View::ALL.get((number + 9) % 10).copied()
    }

    /// Its digit.
    pub const fn digit(self) -> usize {
        (self as usize + 1) % 10
    }

    /// Its name.
    pub const fn title(self) -> &'static str {
        match self {
            View::Overview => "Overview",
            View::Functions => "Functions",
            View::Callers => "Callers-Callees",
            View::Tree => "Call Tree",
            View::Flame => "Flame Graph",
            View::Source => "Source",
            View::Regions => "Regions",
            View::Threads => "Threads",
            View::Timeline => "Timeline",
            View::Experiment => "Experiment",
        }
    }

    /// Its name where there is little room.
    pub const fn short(self) -> &'static str {
        match self {
            View::Overview => "Over",
            View::Functions => "Func",
            View::Callers => "Call",
            View::Tree => "Tree",
            View::Flame => "Flame",
            View::Source => "Src",
            View::Regions => "Reg",
            View::Threads => "Thr",
            View::Timeline => "Time",
            View::Experiment => "Exper",
        }
    }

    /// Its name in files, as the command of er_print that prints it.
    pub const fn file_name(self) -> &'static str {
        match self {
            View::Overview => "overview",
            View::Functions => "functions",
            View::Callers => "callers-callees",
            View::Tree => "calltree",
            View::Flame => "flamegraph",
            View::Source => "source",
            View::Regions => "regions",
            View::Threads => "threads",
            View::Timeline => "timeline",
            View::Experiment => "header",
        }
    }

    pub(super) fn neighbour(self, step: usize) -> View {
        View::ALL[(self as usize + step) % View::ALL.len()]
    }
}
