//! Attributed time: a part of a group's time at one stack.

use experiment::ids::{ContextId, FrameId, StackId, ThreadId, ThreadStateId};
use experiment::state::{Scheduling, State};
use experiment::symbols::Construct;
use experiment::tables::{StackEntry, Tables, ThreadState};

use super::group::{Group, thread_state_of};
use super::source::Source;
use crate::profile::{Item, PathId, ViewMode};
use crate::states::RefinedState;

/// A part of a group's time at one stack, or of all groups that differ by their slices alone.
#[derive(Clone, Copy, Debug)]
pub(super) struct Share {
    pub(super) thread: ThreadId,
    pub(super) thread_state: ThreadStateId,
    /// 0 if the slices are folded.
    pub(super) slice: u32,
    pub(super) scheduling: Scheduling,
    pub(super) origin: Origin,
    /// [`StackId::EMPTY`] at the construct itself.
    pub(super) stack: StackId,
    pub(super) kernel: bool,
    /// Samples of groups that have time.
    pub(super) count: u32,
    pub(super) nanos: u64,
    /// Seconds that other threads waited because of it.
    pub(super) blame: f64,
}

/// Whose samples gave a share its stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Origin {
    /// Those of its own group.
    Own,
    /// Those of another group that tell as much.
    Alike,
    /// Those of another group.
    Inferred,
    /// Those of another group, from the function outward that made the call which the thread state
    /// names.
    AtCall,
    /// Nobody's: it stands at the construct itself.
    Construct,
}

impl Share {
    /// No time yet, at a stack.
    pub(super) const fn none(group: Group, origin: Origin, stack: StackId, kernel: bool) -> Share {
        Share {
            thread: group.thread,
            thread_state: group.thread_state,
            slice: group.slice,
            scheduling: group.scheduling,
            origin,
            stack,
            kernel,
            count: 0,
            nanos: 0,
            blame: 0.0,
        }
    }

    /// The order of shares: by group, its own samples' first.
    pub(super) fn key(&self) -> impl Ord + use<> {
        (
            (self.thread, self.thread_state, self.slice, self.scheduling),
            self.origin != Origin::Own,
            (self.stack, self.kernel, self.origin),
        )
    }

    /// Whether its stack counts as inferred in a mode.
    pub(super) fn is_inferred(&self, source: &Source<'_>, mode: ViewMode) -> bool {
        let is_own = matches!(self.origin, Origin::Own | Origin::Alike);
        let thread_state = thread_state_of(source.tables, self.thread_state);
        !is_own && (mode == ViewMode::Machine || !is_placed(source, thread_state))
    }

    /// The item of a mode, at its display stack there.
    pub(super) fn item(
        &self,
        source: &Source<'_>,
        mode: ViewMode,
        (path, state): (PathId, RefinedState),
    ) -> Item {
        let thread_state = thread_state_of(source.tables, self.thread_state);
        let running = self.scheduling == Scheduling::Running;
        Item {
            path,
            thread: self.thread,
            slice: self.slice,
            thread_state: self.thread_state,
            context: match thread_state.state {
                State::Unknown => ContextId::ROOT,
                _ => thread_state.context,
            },
            stack: self.stack,
            state,
            scheduling: self.scheduling,
            kernel: running && self.kernel,
            inferred: self.is_inferred(source, mode),
            seconds: self.nanos as f64 / 1e9,
            blame: self.blame,
            samples: match self.origin {
                Origin::Own if running => self.count,
                _ => 0,
            },
            counter: None,
            events: 0.0,
        }
    }
}

/// Whether user mode needs no stack to place time. Idleness has none, the join barrier is at its
/// region, and a call made by a construct's own code is at that construct.
fn is_placed(source: &Source<'_>, thread_state: ThreadState) -> bool {
    let ThreadState {
        state,
        context,
        call,
    } = thread_state;
    if state == State::Idle {
        return true;
    }
    if context == ContextId::ROOT || !state.is_in_call() {
        return false;
    }
    let function = |frame| source.symbols.function_of(frame);
    match function(call) {
        None => {
            let may_join = matches!(state, State::ImplicitBarrier | State::TeamsBarrier);
            call == FrameId::NONE && may_join
        }
        Some((id, holder)) => {
            let body = holder.outlined.as_ref().map(|outlined| outlined.construct);
            let fork = fork_of(source.tables, context).and_then(function);
            body.is_some_and(|construct| construct != Construct::Reduction)
                || fork.is_some_and(|(fork, _)| fork == id)
        }
    }
}

/// The call that made a construct.
fn fork_of(tables: &Tables, context: ContextId) -> Option<FrameId> {
    let stack = tables.contexts.get(context.0)?.stack;
    match tables.walk(stack).next()? {
        StackEntry::Frame(frame) => Some(frame),
        StackEntry::Cut(_) => None,
    }
}
