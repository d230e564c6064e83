//! Completes truncated stacks by the fork point of their region.
//!
//! The library records the stack of a region's fork point where the region begins, and the
//! encountering thread cannot leave that stack before the region ends. So the stack of a sample of
//! that thread has the fork point's frames outside of the fork point's own. Outer frames that were
//! inferred ([`crate::completion`]) are corrected in the same way.

use experiment::ids::{ContextId, FrameId, StackId};
use experiment::tables::{ContextKind, Cut, RuntimeKind, Stack, StackEntry, Tables};
use rustc_hash::FxHashMap;

/// Completes stacks, and caches the result for each distinct stack and context.
#[derive(Default)]
pub struct ForkPoints {
    known: FxHashMap<(StackId, ContextId), Option<StackId>>,
}

impl ForkPoints {
    /// The complete stack for one that is truncated, or whose outer frames were inferred, in a context.
    /// `None` if the fork points of the context tell no other stack.
    pub fn whole(
        &mut self,
        tables: &mut Tables,
        stack: StackId,
        context: ContextId,
    ) -> Option<StackId> {
        if context == ContextId::ROOT {
            return None;
        }
        *self
            .known
            .entry((stack, context))
            .or_insert_with(|| under_fork_point(tables, stack, context))
    }
}

/// The frames of a stack, leaf first, and why it is truncated, if it is.
fn frames(tables: &Tables, stack: StackId) -> (Vec<FrameId>, Option<Cut>) {
    let mut frames = Vec::new();
    for entry in tables.walk(stack) {
        match entry {
            StackEntry::Frame(frame) => frames.push(frame),
            StackEntry::Cut(reason) => return (frames, Some(reason)),
        }
    }
    (frames, None)
}

fn under_fork_point(tables: &mut Tables, stack: StackId, context: ContextId) -> Option<StackId> {
    let (frames, reason) = frames(tables, stack);
    match reason {
        None => {
            let region = *tables.contexts.get(context.0)?;
            if region.kind != ContextKind::Region {
                return None;
            }
            let inner = frames_in_region(tables, &frames, region.stack)?;
            Some(on_fork_point(tables, &frames[..inner], region.stack))
        }
        Some(Cut::DumpTooSmall) => {
            let mut at = context;
            while at != ContextId::ROOT {
                let site = *tables.contexts.get(at.0)?;
                if let Some(inner) = inner_frames(tables, &frames, site.stack) {
                    return Some(on_fork_point(tables, &frames[..inner], site.stack));
                }
                at = site.parent;
            }
            None
        }
        Some(_) => None,
    }
}

fn on_fork_point(tables: &mut Tables, inner: &[FrameId], site: StackId) -> StackId {
    let inner: Vec<StackEntry> = inner
        .iter()
        .map(|&frame| StackEntry::Frame(frame))
        .collect();
    with_callers(tables, &inner, site)
}

/// The stack of the entries `inner`, leaf first, called by `callers`.
pub fn with_callers(tables: &mut Tables, inner: &[StackEntry], callers: StackId) -> StackId {
    inner.iter().rev().fold(callers, |callers, &entry| {
        tables.stack(Stack { callers, entry })
    })
}

/// Whether a frame is in an OpenMP runtime, or in our library between the runtime and the program.
pub fn is_runtime(tables: &Tables, entry: StackEntry) -> bool {
    let StackEntry::Frame(frame) = entry else {
        return false;
    };
    let frame = tables.frames.get(frame.0);
    frame.is_some_and(|frame| tables.runtime(frame.module) != RuntimeKind::None)
}

/// The number of frames of a complete stack inside of the region that was forked at `site`, if the
/// stack is that of the thread which forked it and its other frames are not the fork point's.
fn frames_in_region(tables: &Tables, stack: &[FrameId], site: StackId) -> Option<usize> {
    let (fork, None) = frames(tables, site) else {
        return None;
    };
    if stack.last() != fork.last() {
        return None;
    }
    let module = |frame: &FrameId| tables.frames.get(frame.0).map(|frame| frame.module);
    let program = module(fork.first()?)?;
    let is_runtime = |frame: &FrameId| is_runtime(tables, StackEntry::Frame(*frame));
    // Where the program called a runtime, innermost first.
    let calls = |frames: &[FrameId]| -> Vec<usize> {
        let into = |pair: &[FrameId]| is_runtime(&pair[0]) && module(&pair[1]) == Some(program);
        let pairs = frames.windows(2).enumerate();
        pairs
            .filter(|(_, pair)| into(pair))
            .map(|(at, _)| at + 1)
            .collect()
    };
    let of_stack = calls(stack);
    let inner = of_stack[of_stack.len().checked_sub(calls(&fork).len() + 1)?];
    (stack[inner..] != fork[..]).then_some(inner)
}

/// The number of frames of the cut stack inside of the fork point, if the others are the fork
/// point's.
fn inner_frames(tables: &Tables, cut: &[FrameId], site: StackId) -> Option<usize> {
    let (fork, reason) = frames(tables, site);
    let (first, last) = (*fork.first()?, *fork.last()?);
    // The stack of a fork point in an explicit task ends where the runtime ran the task.
    if reason.is_some() || is_runtime(tables, StackEntry::Frame(last)) {
        return None;
    }
    let inner = cut.iter().rposition(|frame| *frame == first)?;
    let outward = &cut[inner..];
    fork.starts_with(outward).then_some(inner)
}

#[cfg(test)]
mod tests;
