//! Finds the frames of a machine stack that belong to the innermost construct.

use std::ops::Range;

use experiment::ids::{ContextId, FrameId, StackId};
use experiment::symbols::Construct;
use experiment::tables::ContextKind;

use super::frames::{Facts, Role};
use super::walk::{Walk, WalkFrame};

/// The position of a construct's outlined function on the stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Body {
    /// At this node.
    Frame(usize),
    /// Not on the stack: already left (a join barrier), left by a tail call, not entered yet, or
    /// inlined into the function with the directive. If inlined, this is an address in its code.
    Missing(FrameId),
}

/// A stack, cut at its innermost construct.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Split {
    /// The nodes from the leaf to the construct's outlined function. Runtime nodes among them are
    /// not the user's.
    pub(super) segment: Range<usize>,
    /// The construct's outlined function.
    pub(super) body: Body,
    /// The user's stack outward of the construct, on this thread.
    pub(super) rest: Option<StackId>,
    /// Whether only the thread's first function ended the construct.
    pub(super) to_root: bool,
}

/// Whether a context is a task: tasks and other constructs have different kinds of bodies.
fn is_task(kind: ContextKind) -> bool {
    kind.is_task()
}

/// Cuts a stack at the construct of its context, which is not the root.
///
/// Outward from the leaf, the construct ends at the first of: the frame that its fork point's
/// stack begins with (the region is serialized, or the thread that forked waits at its end), a
/// frame that the runtime called as a body, the thread's first function.
pub(super) fn split(facts: &Facts<'_>, walk: &Walk, context: ContextId) -> Split {
    let row = facts.context(context);
    let task = is_task(row.kind);
    let fork = facts.top(row.stack);
    let in_task = is_task(facts.context(row.parent).kind);
    let nodes = &walk.nodes;
    let cutter = Cutter {
        facts,
        walk,
        task,
        own: row.body,
        in_task,
    };
    let mut start = 0;
    for (at, node) in nodes.iter().enumerate() {
        if let Some((frame, callers)) = fork
            && facts.same_function(node.frame, frame)
            && (node.callers == callers || (in_task && walk.leads_on(facts, at + 1, callers)))
            && !cutter.is_own_call(at)
        {
            return cutter.at_fork(start, at, frame);
        }
        let Some(caller) = nodes.get(at + 1) else {
            continue;
        };
        // The runtime calls the body of a target region, but no context is that region's.
        if node.role == Role::Code && facts.is_target(node.function) {
            continue;
        }
        let alien = facts.can_be_body(node.function, task) == Some(false);
        if node.role == Role::Code && caller.role == Role::Runtime {
            if !alien {
                return cutter.closed(start, at + 1);
            }
            if task {
                // The task is about to be entered or was just left.
                return cutter.nothing(at);
            }
            // The implicit task of the region waits while it runs an explicit task, whose events
            // are slightly earlier or later than the sample.
            start = at + 1;
        } else if node.role == Role::Runtime && caller.microtask {
            // The body's last act was a tail call into the runtime.
            return if task {
                cutter.nothing(at)
            } else {
                cutter.closed(start, at + 1)
            };
        } else if task
            && node.role == Role::Code
            && facts
                .construct(node.function)
                .is_some_and(Construct::is_task)
            && !walk.is_inner_part(facts, at)
        {
            // An undeferred task, called by the construct's own code.
            return cutter.closed(start, at + 1);
        }
    }
    cutter.at_root(start, row.stack)
}

struct Cutter<'a, 'f> {
    facts: &'a Facts<'f>,
    walk: &'a Walk,
    task: bool,
    /// The construct's body, as its event names it.
    own: FrameId,
    /// Whether a task encountered it.
    in_task: bool,
}

impl Cutter<'_, '_> {
    /// The construct's frames are `start..end`, with its body outermost if present.
    fn closed(&self, start: usize, end: usize) -> Split {
        self.with_missing(start, end, FrameId::NONE)
    }

    fn with_missing(&self, start: usize, end: usize, missing: FrameId) -> Split {
        let nodes = &self.walk.nodes;
        let outermost = (start..end).rev().find(|&i| nodes[i].role == Role::Code);
        let body = outermost.filter(|&i| self.is_body(i, end));
        Split {
            segment: start..body.unwrap_or(end),
            body: body.map_or(Body::Missing(missing), Body::Frame),
            rest: self.rest(end),
            to_root: false,
        }
    }

    /// Whether node `at`, the outermost of the construct's frames, which end at `end`, is its body.
    /// A function without a symbol is the body if the runtime called it directly.
    fn is_body(&self, at: usize, end: usize) -> bool {
        let nodes = &self.walk.nodes;
        let function = nodes[at].function;
        let called = || {
            let caller = nodes.get(end).filter(|_| at + 1 == end);
            caller.is_some_and(|caller| caller.role == Role::Runtime)
        };
        match self.facts.can_be_body(function, self.task) {
            Some(fits) => fits,
            None => function.is_some_and(|f| !self.facts.is_named(f)) && called(),
        }
    }

    fn rest(&self, end: usize) -> Option<StackId> {
        self.walk.code_from(end).map(|node| node.stack)
    }

    /// No frame of the stack belongs to the construct.
    fn nothing(&self, end: usize) -> Split {
        Split {
            segment: end..end,
            body: Body::Missing(FrameId::NONE),
            rest: self.rest(end),
            to_root: false,
        }
    }

    /// Whether the frames from node `at` outward may have been called by the task itself, though they look like those
    /// that created it: it calls what its creator called.
    fn is_own_call(&self, at: usize) -> bool {
        if !(self.task && self.in_task) {
            return false;
        }
        let nodes = &self.walk.nodes;
        let run = nodes[at..].iter().take_while(|it| it.role == Role::Code);
        let end = at + run.count();
        let Some(outermost) = nodes[at..end].last() else {
            return false;
        };
        let has_left =
            end < nodes.len() && self.facts.can_be_body(outermost.function, true).is_none();
        let is_own = self.facts.same_function(outermost.frame, self.own);
        (has_left || is_own) && !self.facts.is_in_inlined_body(nodes[at].frame)
    }

    /// WalkFrame `at` is in the function of the fork point `fork`, under the same callers.
    fn at_fork(&self, start: usize, at: usize, fork: FrameId) -> Split {
        let node: &WalkFrame = &self.walk.nodes[at];
        // An address other than the fork call is in the inlined body.
        let inlined = node.role == Role::Code && node.frame != fork;
        let missing = if inlined { node.frame } else { FrameId::NONE };
        self.with_missing(start, at, missing)
    }

    /// The thread's first function was reached (or the stack's cut end).
    fn at_root(&self, start: usize, fork: StackId) -> Split {
        Split {
            to_root: true,
            ..self.of_root(start, fork)
        }
    }

    fn of_root(&self, start: usize, fork: StackId) -> Split {
        let nodes = &self.walk.nodes;
        if let Some(at) = (start..nodes.len()).find(|&at| self.is_like(at, fork)) {
            return self.with_missing(start, at, FrameId::NONE);
        }
        if self.walk.cut.is_some() {
            return self.closed(start, nodes.len());
        }
        self.nothing(start)
    }

    /// Whether the stack from node `at` outward has the same functions as the fork point's stack,
    /// as far as both reach: they were unwound by different means, and either may end early.
    fn is_like(&self, at: usize, fork: StackId) -> bool {
        let mut fork = fork;
        let mut alike = 0;
        let mut same_address = false;
        for node in &self.walk.nodes[at..] {
            let Some((frame, callers)) = self.facts.top(fork) else {
                break;
            };
            if !self.facts.same_function(node.frame, frame) {
                return false;
            }
            same_address |= node.frame == frame;
            alike += 1;
            fork = callers;
        }
        // One matching function alone could be due to recursion.
        alike > 1 || same_address
    }
}
