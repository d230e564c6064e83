//! The keys: one table, from which dispatch, the hints and the help are made. A key that is not
//! in it does nothing, and what is in it works.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::View;

/// What a key does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Ends the program.
    Quit,
    /// Shows the keys.
    Help,
    /// Goes to a view.
    Go(View),
    /// Goes to the next view.
    NextView,
    /// Goes to the view before.
    PreviousView,
    /// Goes round the modes.
    Mode,
    /// Goes round the lists of metrics.
    Metrics,
    /// Asks for the order.
    Sort,
    /// Asks for a text to find.
    Search,
    /// Finds it again, further down.
    FindNext,
    /// Finds it again, further up.
    FindPrevious,
    /// Asks for a filter.
    Filter,
    /// Takes the filter off.
    Unfilter,
    /// Asks how to write the view to a file.
    Export,
    /// Selects.
    Move(Motion),
    /// Goes into what is selected.
    Enter,
    /// Goes back out.
    Back,
    /// Unfolds the way to where most of the time is.
    HotPath,
    /// Unfolds everything.
    UnfoldAll,
    /// Folds everything.
    FoldAll,
    /// Zooms in at the cursor.
    ZoomIn,
    /// Zooms out around the cursor.
    ZoomOut,
    /// Shows all of the time.
    Whole,
    /// Moves the window by half of its width, later or earlier.
    Pan(bool),
    /// Goes to the next (or previous) sample or border of an interval.
    Step(bool),
    /// Goes round what the machine's line shows.
    MachineLine,
}

/// A movement of the selection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Motion {
    /// Up by one.
    Up,
    /// Down by one.
    Down,
    /// To the left; in the call tree: folds, or goes to the caller.
    Left,
    /// To the right; in the call tree: unfolds, or goes to the first callee.
    Right,
    /// Up by a screen.
    PageUp,
    /// Down by a screen.
    PageDown,
    /// To the first.
    First,
    /// To the last.
    Last,
}

/// A key, or several that do the same.
#[derive(Clone, Copy, Debug)]
pub struct Binding {
    /// The keys.
    pub keys: &'static [KeyCode],
    /// Whether Shift must be held (for keys that have no other form with it).
    pub shift: bool,
    /// Their names in the help.
    pub label: &'static str,
    /// What they do, in half a line.
    pub help: &'static str,
    /// A word for the line of hints; empty: not shown there.
    pub hint: &'static str,
    /// What they do.
    pub action: Action,
}

const fn key(
    keys: &'static [KeyCode],
    label: &'static str,
    help: &'static str,
    hint: &'static str,
    action: Action,
) -> Binding {
    Binding {
        keys,
        shift: false,
        label,
        help,
        hint,
        action,
    }
}

const fn shifted(mut binding: Binding) -> Binding {
    binding.shift = true;
    binding
}

use KeyCode::{
    BackTab, Backspace, Char, Down, End, Enter, Home, Left, PageDown, PageUp, Right, Tab, Up,
};

/// The keys of every view.
const EVERYWHERE: &[Binding] = &[
    key(&[Char('?')], "?", "these keys", "keys", Action::Help),
    key(&[Char('q')], "q", "quit", "quit", Action::Quit),
    key(
        &[Tab],
        "Tab",
        "next view; 1 to 9 go to one",
        "",
        Action::NextView,
    ),
    key(
        &[BackTab],
        "Shift-Tab",
        "previous view",
        "",
        Action::PreviousView,
    ),
    key(
        &[Char('m')],
        "m",
        "user, expert, machine mode",
        "mode",
        Action::Mode,
    ),
    key(
        &[Char('f')],
        "f",
        "filter: edit the expression",
        "filter",
        Action::Filter,
    ),
    key(
        &[Char('F')],
        "F",
        "take the filter off",
        "",
        Action::Unfilter,
    ),
    key(
        &[Char('e')],
        "e",
        "write this view to a file",
        "write",
        Action::Export,
    ),
];

const SEARCH: &[Binding] = &[
    key(&[Char('/')], "/", "find a name", "find", Action::Search),
    key(
        &[Char('n')],
        "n",
        "find it further down",
        "",
        Action::FindNext,
    ),
    key(
        &[Char('N')],
        "N",
        "find it further up",
        "",
        Action::FindPrevious,
    ),
];

const ROWS: &[Binding] = &[
    key(
        &[Up, Char('k')],
        "Up k",
        "row above",
        "",
        Action::Move(Motion::Up),
    ),
    key(
        &[Down, Char('j')],
        "Down j",
        "row below",
        "",
        Action::Move(Motion::Down),
    ),
    key(
        &[PageUp],
        "PgUp",
        "screen above",
        "",
        Action::Move(Motion::PageUp),
    ),
    key(
        &[PageDown, Char(' ')],
        "PgDn Space",
        "screen below",
        "",
        Action::Move(Motion::PageDown),
    ),
    key(
        &[Home, Char('g')],
        "Home g",
        "first row",
        "",
        Action::Move(Motion::First),
    ),
    key(
        &[End, Char('G')],
        "End G",
        "last row",
        "",
        Action::Move(Motion::Last),
    ),
];

const TIMES: &[Binding] = &[
    key(&[Char('s')], "s", "choose the order", "sort", Action::Sort),
    key(
        &[Char('v')],
        "v",
        "other metrics",
        "metrics",
        Action::Metrics,
    ),
];

const INTO_CALLERS: &[Binding] = &[key(
    &[Enter],
    "Enter",
    "its callers and callees",
    "callers",
    Action::Enter,
)];

const CALLERS: &[Binding] = &[
    key(
        &[Enter],
        "Enter",
        "make it the function in the middle",
        "centre",
        Action::Enter,
    ),
    key(
        &[Backspace, Char('b')],
        "Backspace b",
        "the function before",
        "back",
        Action::Back,
    ),
];

const TREE: &[Binding] = &[
    key(
        &[Right, Char('l')],
        "Right l",
        "unfold, then the first callee",
        "",
        Action::Move(Motion::Right),
    ),
    key(
        &[Left, Char('h')],
        "Left h",
        "fold, then the caller",
        "",
        Action::Move(Motion::Left),
    ),
    key(&[Enter], "Enter", "unfold or fold", "fold", Action::Enter),
    key(
        &[Char('x')],
        "x",
        "unfold the hot path from here",
        "hot path",
        Action::HotPath,
    ),
    key(&[Char('+')], "+", "unfold all", "", Action::UnfoldAll),
    key(&[Char('-')], "-", "fold all", "", Action::FoldAll),
];

const FLAME: &[Binding] = &[
    key(
        &[Up, Char('k')],
        "Up k",
        "caller",
        "",
        Action::Move(Motion::Up),
    ),
    key(
        &[Down, Char('j')],
        "Down j",
        "largest callee",
        "",
        Action::Move(Motion::Down),
    ),
    key(
        &[Left, Char('h')],
        "Left h",
        "neighbour to the left",
        "",
        Action::Move(Motion::Left),
    ),
    key(
        &[Right, Char('l')],
        "Right l",
        "neighbour to the right",
        "",
        Action::Move(Motion::Right),
    ),
    key(
        &[Home, Char('g')],
        "Home g",
        "the root",
        "",
        Action::Move(Motion::First),
    ),
    key(&[Enter], "Enter", "zoom into it", "zoom", Action::Enter),
    key(
        &[Backspace, Char('b')],
        "Backspace b",
        "zoom out",
        "out",
        Action::Back,
    ),
    key(
        &[Char('x')],
        "x",
        "go down the hot path",
        "hot path",
        Action::HotPath,
    ),
];

const TIMELINE: &[Binding] = &[
    key(
        &[Up, Char('k')],
        "Up k",
        "thread above",
        "",
        Action::Move(Motion::Up),
    ),
    key(
        &[Down, Char('j')],
        "Down j",
        "thread below",
        "",
        Action::Move(Motion::Down),
    ),
    shifted(key(
        &[Left],
        "Shift-Left H",
        "earlier by half a screen",
        "",
        Action::Pan(false),
    )),
    shifted(key(
        &[Right],
        "Shift-Right L",
        "later by half a screen",
        "",
        Action::Pan(true),
    )),
    key(&[Char('H')], "", "", "", Action::Pan(false)),
    key(&[Char('L')], "", "", "", Action::Pan(true)),
    key(
        &[Left, Char('h')],
        "Left h",
        "earlier by a column",
        "",
        Action::Move(Motion::Left),
    ),
    key(
        &[Right, Char('l')],
        "Right l",
        "later by a column",
        "",
        Action::Move(Motion::Right),
    ),
    key(
        &[PageUp],
        "PgUp",
        "screen of threads above",
        "",
        Action::Move(Motion::PageUp),
    ),
    key(
        &[PageDown],
        "PgDn",
        "screen of threads below",
        "",
        Action::Move(Motion::PageDown),
    ),
    key(
        &[Home, Char('g')],
        "Home g",
        "first thread",
        "",
        Action::Move(Motion::First),
    ),
    key(
        &[End, Char('G')],
        "End G",
        "last thread",
        "",
        Action::Move(Motion::Last),
    ),
    key(
        &[Char('+'), Char('=')],
        "+",
        "zoom in at the cursor",
        "zoom",
        Action::ZoomIn,
    ),
    key(&[Char('-')], "-", "zoom out", "out", Action::ZoomOut),
    key(&[Char('0')], "0", "all of the time", "all", Action::Whole),
    key(
        &[Enter],
        "Enter",
        "zoom to the interval at the cursor",
        "",
        Action::Enter,
    ),
    key(
        &[Char('.')],
        ".",
        "next sample or interval of the thread",
        "step",
        Action::Step(true),
    ),
    key(
        &[Char(',')],
        ",",
        "previous sample or interval",
        "",
        Action::Step(false),
    ),
    key(
        &[Char('o')],
        "o",
        "the machine's line: share on a CPU, CPU, none",
        "",
        Action::MachineLine,
    ),
];

const FIND_THREAD: &[Binding] = &[
    key(
        &[Char('/')],
        "/",
        "find a thread by its number or kind",
        "find",
        Action::Search,
    ),
    key(
        &[Char('n')],
        "n",
        "find it further down",
        "",
        Action::FindNext,
    ),
    key(
        &[Char('N')],
        "N",
        "find it further up",
        "",
        Action::FindPrevious,
    ),
];

/// The keys of a view, its own first.
pub fn bindings(view: View) -> impl Iterator<Item = &'static Binding> {
    let own: &[&[Binding]] = match view {
        View::Overview => &[INTO_CALLERS, ROWS, SEARCH],
        View::Functions => &[INTO_CALLERS, TIMES, SEARCH, ROWS],
        View::Callers => &[CALLERS, TIMES, SEARCH, ROWS],
        View::Tree => &[TREE, TIMES, SEARCH, ROWS],
        View::Flame => &[FLAME, TIMES, SEARCH],
        View::Regions => &[TIMES_OF_REGIONS, SEARCH, ROWS],
        View::Threads => &[TIMES, SEARCH, ROWS],
        View::Timeline => &[TIMELINE, FIND_THREAD],
        View::Experiment => &[SEARCH, ROWS],
    };
    own.iter().copied().chain([EVERYWHERE]).flatten()
}

/// Regions stand in the order of the time inside them.
const TIMES_OF_REGIONS: &[Binding] = &[key(
    &[Char('v')],
    "v",
    "other metrics",
    "metrics",
    Action::Metrics,
)];

/// What a key does in a view.
pub fn action(view: View, event: KeyEvent) -> Option<Action> {
    if event.modifiers.contains(KeyModifiers::CONTROL) {
        return (event.code == Char('c')).then_some(Action::Quit);
    }
    if let Char(digit) = event.code
        && let Some(view) = View::by_digit(digit)
    {
        return Some(Action::Go(view));
    }
    let shift = event.modifiers.contains(KeyModifiers::SHIFT);
    let fits = |binding: &&Binding| binding.keys.contains(&event.code) && (!binding.shift || shift);
    bindings(view).find(fits).map(|binding| binding.action)
}
