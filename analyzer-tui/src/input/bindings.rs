//! The table of keys, for dispatch, hints and help.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::keys::{Action, Binding, Motion};
use crate::view::View;

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

/// A row for the mouse, shown in the help only.
const fn mouse(help: &'static str) -> Binding {
    key(&[], "mouse", help, "", Action::Help)
}

/// What a mark says, shown in the help only.
const INFERRED: Binding = key(
    &[],
    "~",
    "no sample shows where half or more of the row's time stands",
    "",
    Action::Help,
);

use KeyCode::{
    BackTab, Backspace, Char, Down, End, Enter, Esc, F, Home, Left, PageDown, PageUp, Right, Tab,
    Up,
};

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
        View::Report => &[TIMES, SEARCH, ROWS],
        view if view.order().is_some() => &[INTO_SOURCE, ORDER, SEARCH, ROWS],
        _ => &[SEARCH, ROWS],
    };
    own.iter().copied().chain([EVERYWHERE]).flatten()
}

/// The action of a key in a view.
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

/// The keys of every view.
#[rustfmt::skip]
const EVERYWHERE: &[Binding] = &[
    key(&[Char('?'), F(1)], "? F1", "these keys", "keys", Action::Help),
    key(&[Esc, Backspace], "Esc Bksp", "back to the place before; cancels what is being computed", "back", Action::Back),
    key(&[Char('q'), F(10)], "q F10", "quit", "quit", Action::Quit),
    key(&[Tab], "Tab", "next view; the keys in the first line go to one", "", Action::NextView),
    key(&[BackTab], "Shift-Tab", "previous view", "", Action::PreviousView),
    key(&[Char('r')], "r", "any report of er_print", "", Action::Go(View::Report)),
    key(&[Char('m')], "m", "user, expert, machine mode", "mode", Action::Mode),
    key(&[Char('I')], "I", "inlined functions as frames of their own, or not", "", Action::Inline),
    key(&[Char('K')], "K", "machine mode: functions of the kernel and collector, or not", "", Action::Hidden),
    key(&[Char('c')], "c", "compare experiments: delta, ratio, values, added up", "", Action::Compare),
    key(&[Char('f'), F(4)], "f F4", "filter: edit the expression", "filter", Action::Filter),
    key(&[Char('F')], "F", "take the filter off", "", Action::Unfilter),
    key(&[Char('y')], "y", "copy the filter, or what stands for the selection", "", Action::Copy),
    key(&[Char('e')], "e", "write this view to a file", "write", Action::Export),
];

#[rustfmt::skip]
const SEARCH: &[Binding] = &[
    key(&[Char('/'), F(3)], "/ F3", "find a name", "find", Action::Search),
    key(&[Char('n')], "n", "find it further down", "", Action::FindNext),
    key(&[Char('N')], "N", "find it further up", "", Action::FindPrevious),
];

#[rustfmt::skip]
const ROWS: &[Binding] = &[
    key(&[Up, Char('k')], "Up k", "row above", "", Action::Move(Motion::Up)),
    key(&[Down, Char('j')], "Down j", "row below", "", Action::Move(Motion::Down)),
    key(&[PageUp], "PgUp", "screen above", "", Action::Move(Motion::PageUp)),
    key(&[PageDown, Char(' ')], "PgDn Space", "screen below", "", Action::Move(Motion::PageDown)),
    key(&[Home, Char('g')], "Home g", "first row", "", Action::Move(Motion::First)),
    key(&[End, Char('G')], "End G", "last row", "", Action::Move(Motion::Last)),
    mouse("a click selects, a second one is Enter; the wheel moves"),
];

#[rustfmt::skip]
const TIMES: &[Binding] = &[
    key(&[Char('s'), F(6)], "s F6", "choose the order", "sort", Action::Sort),
    key(&[Char('v')], "v", "other metrics", "metrics", Action::Metrics),
    INFERRED,
];

#[rustfmt::skip]
const INTO_TIMELINE: &[Binding] = &[
    key(&[Enter], "Enter", "its row of the timeline", "timeline", Action::Enter),
];

/// In views with metrics of their own.
#[rustfmt::skip]
const ORDER: &[Binding] = &[
    key(&[Char('s'), F(6)], "s F6", "choose the order", "sort", Action::Sort),
];

#[rustfmt::skip]
const INTO_CALLERS: &[Binding] = &[
    key(&[Enter], "Enter", "its callers and callees", "callers", Action::Enter),
];

#[rustfmt::skip]
const INTO_SOURCE: &[Binding] = &[
    key(&[Enter], "Enter", "its source line", "source", Action::Enter),
];

#[rustfmt::skip]
const CALLERS: &[Binding] = &[
    key(&[Enter], "Enter", "make it the function in the middle", "centre", Action::Enter),
];

#[rustfmt::skip]
const TREE: &[Binding] = &[
    key(&[Right, Char('l')], "Right l", "unfold, then the first callee", "", Action::Move(Motion::Right)),
    key(&[Left, Char('h')], "Left h", "fold, then the caller", "", Action::Move(Motion::Left)),
    key(&[Enter], "Enter", "unfold or fold", "fold", Action::Enter),
    key(&[Char('x')], "x", "unfold the hot path from here", "hot path", Action::HotPath),
    key(&[Char('+')], "+", "unfold all", "", Action::UnfoldAll),
    key(&[Char('-')], "-", "fold all", "", Action::FoldAll),
];

#[rustfmt::skip]
const FLAME: &[Binding] = &[
    key(&[Up, Char('k')], "Up k", "caller", "", Action::Move(Motion::Up)),
    key(&[Down, Char('j')], "Down j", "largest callee", "", Action::Move(Motion::Down)),
    key(&[Left, Char('h')], "Left h", "neighbour to the left", "", Action::Move(Motion::Left)),
    key(&[Right, Char('l')], "Right l", "neighbour to the right", "", Action::Move(Motion::Right)),
    key(&[Home, Char('g')], "Home g", "the root", "", Action::Move(Motion::First)),
    key(&[Enter], "Enter", "zoom into it", "zoom", Action::Enter),
    key(&[Char('-')], "-", "zoom out, to the caller", "out", Action::ZoomOut),
    key(&[Char('x')], "x", "go down the hot path", "hot path", Action::HotPath),
    mouse("a click selects, a second one zooms"),
];

#[rustfmt::skip]
const TIMELINE: &[Binding] = &[
    key(&[Up, Char('k')], "Up k", "thread above", "", Action::Move(Motion::Up)),
    key(&[Down, Char('j')], "Down j", "thread below", "", Action::Move(Motion::Down)),
    shifted(key(&[Left], "Shift-Left H", "earlier by half a screen", "", Action::Pan(false))),
    shifted(key(&[Right], "Shift-Right L", "later by half a screen", "", Action::Pan(true))),
    key(&[Char('H')], "", "", "", Action::Pan(false)),
    key(&[Char('L')], "", "", "", Action::Pan(true)),
    key(&[Left, Char('h')], "Left h", "earlier by a column", "", Action::Move(Motion::Left)),
    key(&[Right, Char('l')], "Right l", "later by a column", "", Action::Move(Motion::Right)),
    key(&[PageUp], "PgUp", "screen of threads above", "", Action::Move(Motion::PageUp)),
    key(&[PageDown], "PgDn", "screen of threads below", "", Action::Move(Motion::PageDown)),
    key(&[Home, Char('g')], "Home g", "first thread", "", Action::Move(Motion::First)),
    key(&[End, Char('G')], "End G", "last thread", "", Action::Move(Motion::Last)),
    key(&[Char('+'), Char('=')], "+", "zoom in at the cursor", "zoom", Action::ZoomIn),
    key(&[Char('-')], "-", "zoom out", "out", Action::ZoomOut),
    key(&[Char('a')], "a", "all of the time", "all", Action::Whole),
    key(&[Enter], "Enter", "zoom to the box, or the interval at the cursor", "", Action::Enter),
    key(&[Char('.')], ".", "next sample or interval of the thread", "step", Action::Step(true)),
    key(&[Char(',')], ",", "previous sample or interval", "", Action::Step(false)),
    key(&[Char('o')], "o", "second line: on a CPU, tasks, mutexes held, which CPU, none", "line", Action::SecondLine),
    key(&[Char('t')], "t", "group threads by process, team at the cursor, pool", "group", Action::Group),
    key(&[Char('i')], "i", "select the instance at the cursor, then the next one", "", Action::Instance),
    key(&[Char('b')], "b", "begin a box of threads and time; b again drops it", "box", Action::Box),
    mouse("wheel zooms, drag moves, click selects: moment or band"),
    mouse("wheel on the bands, or a click on their label: further ones"),
];

#[rustfmt::skip]
const FIND_THREAD: &[Binding] = &[
    key(&[Char('/'), F(3)], "/ F3", "find a thread by its number or kind", "find", Action::Search),
    key(&[Char('n')], "n", "find it further down", "", Action::FindNext),
    key(&[Char('N')], "N", "find it further up", "", Action::FindPrevious),
];

/// From a line to its instructions.
#[rustfmt::skip]
const INSTRUCTIONS: &[Binding] = &[
    key(&[Enter], "Enter", "the instructions of this line", "instructions", Action::Enter),
];

/// From an instruction to its line.
#[rustfmt::skip]
const LINES: &[Binding] = &[
    key(&[Enter], "Enter", "the source line of this instruction", "source", Action::Enter),
];

/// In views of code.
#[rustfmt::skip]
const HOTTEST: &[Binding] = &[
    key(&[Char('x')], "x", "the next hot line", "hot line", Action::Hottest),
];

/// In views that cannot be sorted.
#[rustfmt::skip]
const OTHER_TIMES: &[Binding] = &[
    key(&[Char('v')], "v", "other metrics", "metrics", Action::Metrics),
    INFERRED,
];
