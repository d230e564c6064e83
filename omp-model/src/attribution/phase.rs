//! What of a program's life a stack is from: the loader, `main`, or in between.

use experiment::ids::{FrameId, ModuleId, StackId, ThreadId};
use experiment::symbols::SymbolTable;
use experiment::tables::{StackEntry, Tables};

/// The part of a program's life that a stack is from, the one that says most about other time last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Phase {
    /// The loader's, before the executable's first function: relocations, constructors of shared
    /// libraries.
    Loading,
    /// Neither of the others: constructors of the executable, what runs after `main`, and all stacks
    /// of other threads than the first.
    Other,
    /// In `main`.
    Main,
}

impl Phase {
    pub(super) fn of(
        tables: &Tables,
        symbols: &SymbolTable,
        thread: ThreadId,
        stack: StackId,
    ) -> Phase {
        if is_loading(tables, thread, stack) {
            return Phase::Loading;
        }
        match main_of(tables, symbols, stack) {
            Some(_) if is_first(tables, thread) => Phase::Main,
            _ => Phase::Other,
        }
    }
}

/// The part of a stack from `main` outward.
pub(super) fn main_of(tables: &Tables, symbols: &SymbolTable, stack: StackId) -> Option<StackId> {
    let is_main = |frame| {
        let function = symbols.function_of(frame);
        function.is_some_and(|(_, function)| function.linkage == "main")
    };
    from_frame(tables, stack, is_main)
}

/// The stack from the innermost frame that `is` one outward.
pub(super) fn from_frame(
    tables: &Tables,
    stack: StackId,
    is: impl Fn(FrameId) -> bool,
) -> Option<StackId> {
    let mut at = stack;
    while at != StackId::EMPTY {
        let row = tables.stacks.get(at.0)?;
        if matches!(row.entry, StackEntry::Frame(frame) if is(frame)) {
            return Some(at);
        }
        at = row.callers;
    }
    None
}

/// Whether a thread is the first of its process.
pub(super) fn is_first(tables: &Tables, thread: ThreadId) -> bool {
    let thread = tables.threads.get(thread.index());
    let process = thread.and_then(|row| tables.processes.get(row.process.index()));
    thread
        .zip(process)
        .is_some_and(|(thread, process)| thread.tid == process.pid)
}

/// Whether a stack is the loader's: the kernel starts the first thread of a process in the loader,
/// which jumps to the executable's first function when it is done.
pub(super) fn is_loading(tables: &Tables, thread: ThreadId, stack: StackId) -> bool {
    if !is_first(tables, thread) {
        return false;
    }
    let Some(StackEntry::Frame(outermost)) = tables.walk(stack).last() else {
        return false;
    };
    let module = tables.frames.get(outermost.0).map(|frame| frame.module);
    let module = module.filter(|&module| module != ModuleId::NONE && module != ModuleId::KERNEL);
    let Some(module) = module.and_then(|module| tables.modules.get(module.0)) else {
        return false;
    };
    let process = &tables.processes[tables.threads[thread.index()].process.index()];
    !process.executable.is_empty() && module.path != process.executable
}
