//! The keys: one table, from which dispatch, the hints and the help are made. A key that is not
//! in it does nothing, and what is in it works.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::View;
use super::bindings::{
    CALLERS, EVERYWHERE, FIND_THREAD, FLAME, HOTTEST, INSTRUCTIONS, INTO_CALLERS, INTO_TIMELINE,
    LINES, ORDER, OTHER_TIMES, ROWS, SEARCH, TIMELINE, TIMES, TREE,
};

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
    /// Goes round how experiments stand beside each other.
    Compare,
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
    /// Copies the filter's expression.
    Copy,
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
    /// Selects the next hot line.
    Hottest,
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
    /// Goes round what a thread's second line shows.
    SecondLine,
    /// Goes round how threads are grouped.
    Group,
    /// Selects an instance of a region or task at the cursor.
    Instance,
    /// Begins a box, or drops it.
    Box,
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

/// The keys of a view, its own first.
pub fn bindings(view: View) -> impl Iterator<Item = &'static Binding> {
    let own: &[&[Binding]] = match view {
        View::Overview => &[INTO_CALLERS, ROWS, SEARCH],
        View::Functions => &[INTO_CALLERS, TIMES, SEARCH, ROWS],
        View::Callers => &[CALLERS, TIMES, SEARCH, ROWS],
        View::Tree => &[TREE, TIMES, SEARCH, ROWS],
        View::Flame => &[FLAME, TIMES, SEARCH],
        View::Source => &[INSTRUCTIONS, HOTTEST, OTHER_TIMES, SEARCH, ROWS],
        View::Disassembly => &[LINES, HOTTEST, OTHER_TIMES, SEARCH, ROWS],
        View::Regions => &[INTO_CALLERS, ORDER, SEARCH, ROWS],
        View::Threads => &[INTO_TIMELINE, TIMES, SEARCH, ROWS],
        View::Timeline => &[TIMELINE, FIND_THREAD],
        View::Experiment => &[SEARCH, ROWS],
    };
    own.iter().copied().chain([EVERYWHERE]).flatten()
}

/// What a key does in a view.
pub fn action(view: View, event: KeyEvent) -> Option<Action> {
    if event.modifiers.contains(KeyModifiers::CONTROL) {
        return (event.code == KeyCode::Char('c')).then_some(Action::Quit);
    }
    if let KeyCode::Char(key) = event.code
        && let Some(view) = View::by_key(key)
    {
        return Some(Action::Go(view));
    }
    let shift = event.modifiers.contains(KeyModifiers::SHIFT);
    let fits = |binding: &&Binding| binding.keys.contains(&event.code) && (!binding.shift || shift);
    bindings(view).find(fits).map(|binding| binding.action)
}
