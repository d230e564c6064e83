//! The outermost frames that all stacks of a thread have in common.

use rustc_hash::{FxHashMap, FxHashSet};

use experiment::ids::{ContextId, StackId, ThreadId};
use experiment::tables::{RuntimeKind, StackEntry, Tables, ThreadKind};

use super::group::{Sampled, kind_of};

/// The outermost frames of each thread that the program made itself, as far as all its samples and
/// the fork points of its regions agree; nothing for a thread that has neither.
#[derive(Debug)]
pub(super) struct Roots<'a> {
    tables: &'a Tables,
    common: FxHashMap<ThreadId, StackId>,
    /// Results by stack and by context.
    outside: FxHashMap<StackId, StackId>,
    known: FxHashSet<(ThreadId, ContextId)>,
}

impl<'a> Roots<'a> {
    pub(super) fn new(tables: &'a Tables) -> Roots<'a> {
        Roots {
            tables,
            common: FxHashMap::default(),
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
        if stack != StackId::EMPTY {
            let known = self.common.entry(thread).or_insert(stack);
            if *known != stack {
                *known = shared(tables, *known, stack);
            }
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

    /// The stack of each thread's frames, as if it had been sampled there once.
    pub(super) fn finish(self) -> FxHashMap<ThreadId, [Sampled; 1]> {
        let common = self.common.into_iter();
        common
            .filter(|(_, stack)| *stack != StackId::EMPTY)
            .map(|(thread, stack)| (thread, [Sampled::plain(stack, false, 1)]))
            .collect()
    }
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
