//! Actions, and their bindings to keys.

use ratatui::crossterm::event::KeyCode;

use crate::view::View;

/// The action of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Quits.
    Quit,
    /// Shows the keys.
    Help,
    /// Goes to a view.
    Go(View),
    /// Goes to the next view.
    NextView,
    /// Goes to the view before.
    PreviousView,
    /// Goes to the next mode.
    Mode,
    /// Gives inlined functions frames of their own, or not.
    Inline,
    /// Shows the functions of the kernel and of the collector, or one for all of them.
    Hidden,
    /// Goes to the next list of metrics.
    Metrics,
    /// Goes to the next way to compare experiments.
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
    /// Removes the filter.
    Unfilter,
    /// Asks how to write the view to a file.
    Export,
    /// Moves the selection.
    Move(Motion),
    /// Goes into what is selected.
    Enter,
    /// Cancels what is being computed, else goes back to the place before.
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
    /// Zooms out, of the timeline around the cursor.
    ZoomOut,
    /// Shows all of the time.
    Whole,
    /// Moves the window by half of its width, later or earlier.
    Pan(bool),
    /// Goes to the next (or previous) sample or border of an interval.
    Step(bool),
    /// Changes what a thread's second line shows.
    SecondLine,
    /// Changes how threads are grouped.
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
    /// Whether Shift must be held; for keys that it does not change, such as arrows.
    pub shift: bool,
    /// Their names in the help.
    pub label: &'static str,
    /// Their description in the help.
    pub help: &'static str,
    /// A word for the line of hints; empty if not shown there.
    pub hint: &'static str,
    /// Their action.
    pub action: Action,
}
