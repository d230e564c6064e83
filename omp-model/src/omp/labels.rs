//! Tags and contexts by what they are made of, without a visit to the tables for recent ones.

use experiment::ids::{ContextId, FrameId, StackId, TagId};
use experiment::state::{STATES, State};
use experiment::tables::{Context, ContextKind, Tables, Tag};

const BITS: u32 = 10;

/// Memories in front of [`Tables::tag`] and [`Tables::context`]. Labels of no place are looked up
/// by context and state; the others and the contexts in direct-mapped memories: a program goes
/// round few constructs, so that nearly every label was made a moment ago.
#[derive(Debug)]
pub(super) struct Labels {
    /// By context; [`TagId::OUTSIDE`] where there is none yet.
    placeless: Vec<[TagId; STATES.len()]>,
    tags: Box<[(Tag, TagId)]>,
    contexts: Box<[(Context, ContextId)]>,
}

impl Labels {
    pub(super) fn new() -> Self {
        // Both tables begin with the entry that the memories are filled with.
        let outside = Tag {
            state: State::Outside,
            context: ContextId::ROOT,
            place: FrameId::NONE,
        };
        let root = Context {
            parent: ContextId::ROOT,
            kind: ContextKind::Root,
            stack: StackId::EMPTY,
            body: FrameId::NONE,
        };
        Labels {
            placeless: Vec::new(),
            tags: vec![(outside, TagId::OUTSIDE); 1 << BITS].into(),
            contexts: vec![(root, ContextId::ROOT); 1 << BITS].into(),
        }
    }

    /// The label of a state in a context, of no place.
    #[inline]
    pub(super) fn placeless(
        &mut self,
        tables: &mut Tables,
        state: State,
        context: ContextId,
    ) -> TagId {
        let known = self.placeless.get(context.index());
        match known.map(|tags| tags[state as usize]) {
            Some(tag) if tag != TagId::OUTSIDE => tag,
            _ => self.new_placeless(tables, state, context),
        }
    }

    #[cold]
    fn new_placeless(&mut self, tables: &mut Tables, state: State, context: ContextId) -> TagId {
        let tag = tables.tag(Tag {
            state,
            context,
            place: FrameId::NONE,
        });
        if self.placeless.len() <= context.index() {
            let none = [TagId::OUTSIDE; STATES.len()];
            self.placeless.resize(context.index() + 1, none);
        }
        self.placeless[context.index()][state as usize] = tag;
        tag
    }

    /// The label of a state in a context at a place.
    #[inline]
    pub(super) fn tag(&mut self, tables: &mut Tables, tag: Tag) -> TagId {
        if tag.place == FrameId::NONE {
            return self.placeless(tables, tag.state, tag.context);
        }
        let slot = slot(
            u64::from(tag.context.0) << 32 | u64::from(tag.place.0),
            tag.state as u64,
        );
        let known = &mut self.tags[slot];
        if known.0 != tag {
            *known = (tag, tables.tag(tag));
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

/// Where a task stands that a task of its own construct has created, at first hand or by way of
/// others: where that one does. A program that makes a task of each call of a recursion would have
/// nearly as many contexts as tasks.
fn recursion(tables: &Tables, context: Context) -> Option<ContextId> {
    if context.kind != ContextKind::Task {
        return None;
    }
    let mut at = context.parent;
    loop {
        let row = tables.contexts.get(at.0)?;
        if row.kind != ContextKind::Task {
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
