//! The outermost frames that all stacks of a thread have in common.

use std::cmp::Ordering;

use rustc_hash::{FxHashMap, FxHashSet};

use experiment::ids::{ContextId, StackId, ThreadId};
use experiment::symbols::SymbolTable;
use experiment::tables::{RuntimeKind, StackEntry, Tables, ThreadKind};

use super::group::{Sampled, kind_of};
use super::phase::{Phase, main_of};

/// The outermost frames of each thread that the program made itself, as far as all its samples and
/// the fork points of its regions agree; nothing for a thread that has neither. Stacks from before
/// `main` and from after it count only for a thread that has no others.
#[derive(Debug)]
pub(super) struct Roots<'a> {
    tables: &'a Tables,
    symbols: &'a SymbolTable,
    common: FxHashMap<ThreadId, (Phase, StackId)>,
    mains: FxHashMap<ThreadId, StackId>,
    /// Results by stack and by context.
    outside: FxHashMap<StackId, StackId>,
    known: FxHashSet<(ThreadId, ContextId)>,
}

impl<'a> Roots<'a> {
    pub(super) fn new(tables: &'a Tables, symbols: &'a SymbolTable) -> Roots<'a> {
        Roots {
            tables,
            symbols,
            common: FxHashMap::default(),
            mains: FxHashMap::default(),
            outside: FxHashMap::default(),
            known: FxHashSet::default(),
        }
    }

    /// Adds a stack that the thread was seen at.
    pub(super) fn add(&mut self, thread: ThreadId, stack: StackId) {
        if kind_of(self.tables, thread) == ThreadKind::Worker {
            return;
        }
        let tables = self.tables;
        let outside = self.outside.entry(stack);
        let stack = *outside.or_insert_with(|| outside_of_runtime(tables, stack));
        if stack == StackId::EMPTY {
            return;
        }
        let phase = Phase::of(tables, self.symbols, thread, stack);
        if phase == Phase::Main
            && let Some(main) = main_of(tables, self.symbols, stack)
        {
            self.mains.entry(thread).or_insert(main);
        }
        let known = self.common.entry(thread).or_insert((phase, stack));
        match phase.cmp(&known.0) {
            Ordering::Less => {}
            Ordering::Equal if known.1 == stack => {}
            Ordering::Equal => known.1 = shared(tables, known.1, stack),
            Ordering::Greater => *known = (phase, stack),
        }
    }

    /// Adds the outermost fork point of a context that the thread was in.
    pub(super) fn add_context(&mut self, thread: ThreadId, context: ContextId) {
        if !self.known.insert((thread, context)) {
            return;
        }
        let (mut context, mut outermost) = (context, StackId::EMPTY);
        while context != ContextId::ROOT
            && let Some(row) = self.tables.contexts.get(context.0)
        {
            outermost = row.stack;
            context = row.parent;
        }
        self.add(thread, outermost);
    }

    /// The stacks of each thread's frames.
    pub(super) fn finish(self) -> FxHashMap<ThreadId, Root> {
        let once = |stack| [Sampled::plain(stack, false, 1)];
        let common = self.common.into_iter();
        common
            .map(|(thread, (_, common))| {
                let main = self.mains.get(&thread).copied();
                let root = Root {
                    common: once(common),
                    main: once(main.unwrap_or(common)),
                };
                (thread, root)
            })
            .filter(|(_, root)| root.main[0].stack != StackId::EMPTY)
            .collect()
    }
}

/// A thread's outermost frames, as if it had been sampled there once.
#[derive(Debug)]
pub(super) struct Root {
    /// What all stacks have in common.
    pub(super) common: [Sampled; 1],
    /// From `main` outward, at some line of `main`; of a thread that does not run it, as `common`.
    pub(super) main: [Sampled; 1],
}

/// The stack's frames outward of the outermost one in the runtime; all if there is none.
fn outside_of_runtime(tables: &Tables, stack: StackId) -> StackId {
    let mut kept = stack;
    let mut at = stack;
    while at != StackId::EMPTY
        && let Some(row) = tables.stacks.get(at.0)
    {
        let StackEntry::Frame(frame) = row.entry else {
            return StackId::EMPTY;
        };
        let module = tables
            .frames
            .get(frame.0)
            .and_then(|f| tables.modules.get(f.module.0));
        if module.is_some_and(|module| module.runtime != RuntimeKind::None) {
            kept = row.callers;
        }
        at = row.callers;
    }
    kept
}

/// The outermost frames that two stacks share.
fn shared(tables: &Tables, left: StackId, right: StackId) -> StackId {
    let depth = |stack| tables.walk(stack).count();
    let callers = |stack: StackId| {
        tables
            .stacks
            .get(stack.0)
            .map_or(StackId::EMPTY, |s| s.callers)
    };
    let (mut left, mut right) = (left, right);
    let (mut deep, mut other) = (depth(left), depth(right));
    while left != right {
        if deep >= other {
            left = callers(left);
            deep = deep.saturating_sub(1);
        } else {
            right = callers(right);
            other -= 1;
        }
    }
    left
}
