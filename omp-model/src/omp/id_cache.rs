//! A cache of the ids of recent thread states and contexts.

use experiment::ids::{ContextId, FrameId, StackId, ThreadStateId};
use experiment::state::{STATES, State};
use experiment::tables::{Context, ContextKind, Tables, ThreadState};

const BITS: u32 = 10;

/// Caches [`Tables::thread_state`] and [`Tables::context`]. Thread states without a call are looked
/// up by context and state, the others and the contexts in direct-mapped caches: a program repeats
/// few constructs, so that nearly every id was looked up shortly before.
#[derive(Debug)]
pub(super) struct IdCache {
    /// By context; [`ThreadStateId::OUTSIDE`] where there is none yet.
    without_call: Vec<[ThreadStateId; STATES.len()]>,
    thread_states: Box<[(ThreadState, ThreadStateId)]>,
    contexts: Box<[(Context, ContextId)]>,
}

impl IdCache {
    pub(super) fn new() -> Self {
        // Both tables begin with the entry that fills the caches.
        let outside = ThreadState {
            state: State::Outside,
            context: ContextId::ROOT,
            call: FrameId::NONE,
        };
        let root = Context {
            parent: ContextId::ROOT,
            kind: ContextKind::Root,
            stack: StackId::EMPTY,
            python: StackId::EMPTY,
            body: FrameId::NONE,
        };
        IdCache {
            without_call: Vec::new(),
            thread_states: vec![(outside, ThreadStateId::OUTSIDE); 1 << BITS].into(),
            contexts: vec![(root, ContextId::ROOT); 1 << BITS].into(),
        }
    }

    /// The thread state without a call.
    #[inline]
    pub(super) fn without_call(
        &mut self,
        tables: &mut Tables,
        state: State,
        context: ContextId,
    ) -> ThreadStateId {
        let known = self.without_call.get(context.index());
        match known.map(|thread_states| thread_states[state as usize]) {
            Some(thread_state) if thread_state != ThreadStateId::OUTSIDE => thread_state,
            _ => self.new_without_call(tables, state, context),
        }
    }

    #[cold]
    fn new_without_call(
        &mut self,
        tables: &mut Tables,
        state: State,
        context: ContextId,
    ) -> ThreadStateId {
        let thread_state = tables.thread_state(ThreadState {
            state,
            context,
            call: FrameId::NONE,
        });
        if self.without_call.len() <= context.index() {
            let none = [ThreadStateId::OUTSIDE; STATES.len()];
            self.without_call.resize(context.index() + 1, none);
        }
        self.without_call[context.index()][state as usize] = thread_state;
        thread_state
    }

    /// The thread state, with or without a call.
    #[inline]
    pub(super) fn thread_state(
        &mut self,
        tables: &mut Tables,
        thread_state: ThreadState,
    ) -> ThreadStateId {
        if thread_state.call == FrameId::NONE {
            return self.without_call(tables, thread_state.state, thread_state.context);
        }
        let slot = slot(
            u64::from(thread_state.context.0) << 32 | u64::from(thread_state.call.0),
            thread_state.state as u64,
        );
        let known = &mut self.thread_states[slot];
        if known.0 != thread_state {
            *known = (thread_state, tables.thread_state(thread_state));
        }
        known.1
    }

    #[inline]
    pub(super) fn context(&mut self, tables: &mut Tables, context: Context) -> ContextId {
        let slot = slot(
            u64::from(context.parent.0) << 32 | u64::from(context.stack.0),
            context.kind as u64,
        );
        let known = &mut self.contexts[slot];
        if known.0 != context {
            let folded = recursion(tables, context);
            *known = (context, folded.unwrap_or_else(|| tables.context(context)));
        }
        known.1
    }
}

/// The context of a task that was created, directly or indirectly, by a task of the same construct:
/// the context of that one. Without this, a program that creates a task in each call of a recursion
/// would have nearly as many contexts as tasks.
fn recursion(tables: &Tables, context: Context) -> Option<ContextId> {
    if !context.kind.is_task() {
        return None;
    }
    let mut at = context.parent;
    loop {
        let row = tables.contexts.get(at.0)?;
        if !row.kind.is_task() {
            return None;
        }
        if (row.stack, row.body) == (context.stack, context.body) {
            return Some(at);
        }
        at = row.parent;
    }
}

#[inline]
fn slot(ids: u64, kind: u64) -> usize {
    let mixed = (ids ^ kind << 24).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed >> (64 - BITS)) as usize
}
