//! What is known of a thread's stack whatever it does: the frames that all its stacks begin with.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use crate::ids::{ContextId, StackId, ThreadId};
use crate::tables::{RuntimeKind, StackEntry, Tables, ThreadKind};

use super::{Group, Seen, kind_of, tag_of};

/// The outermost frames of each thread that the program made itself, as far as all its samples and
/// the fork points of its regions agree; nothing for a thread that has neither.
pub(super) fn roots<'g>(
    tables: &Tables,
    groups: impl Iterator<Item = &'g Group>,
    seen: &BTreeMap<Group, Vec<Seen>>,
) -> FxHashMap<ThreadId, [Seen; 1]> {
    let mut common = FxHashMap::<ThreadId, StackId>::default();
    let mut add = |thread: ThreadId, stack: StackId| {
        let stack = outside_of_runtime(tables, stack);
        if stack != StackId::EMPTY && kind_of(tables, thread) != ThreadKind::Worker {
            let known = common.entry(thread).or_insert(stack);
            *known = shared(tables, *known, stack);
        }
    };
    for (group, stacks) in seen {
        stacks.iter().for_each(|seen| add(group.thread, seen.stack));
    }
    for group in groups {
        let mut context = tag_of(tables, group.tag).context;
        let mut outermost = StackId::EMPTY;
        while context != ContextId::ROOT
            && let Some(row) = tables.contexts.get(context.0)
        {
            outermost = row.stack;
            context = row.parent;
        }
        add(group.thread, outermost);
    }
    let alone = |stack| Seen {
        stack,
        kernel: false,
        count: 1,
        plain: 1,
        nanos: 0,
    };
    common.retain(|_, stack| *stack != StackId::EMPTY);
    common
        .into_iter()
        .map(|(thread, stack)| (thread, [alone(stack)]))
        .collect()
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
