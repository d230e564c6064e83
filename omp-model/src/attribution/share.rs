//! Attributed time: a part of a group's time at one stack.

use experiment::ids::{ContextId, FrameId, StackId, ThreadId, ThreadStateId};
use experiment::state::{Scheduling, State};
use experiment::tables::ThreadState;

use crate::profile::{Item, PathId, RefinedState, ViewMode};

use super::group::Group;

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
    pub(super) fn is_inferred(&self, thread_state: ThreadState, mode: ViewMode) -> bool {
        let is_placed = mode != ViewMode::Machine && is_placed(thread_state);
        matches!(self.origin, Origin::Inferred | Origin::Construct) && !is_placed
    }

    /// The item of a mode, at its display stack there.
    pub(super) fn item(
        &self,
        thread_state: ThreadState,
        mode: ViewMode,
        (path, state): (PathId, RefinedState),
    ) -> Item {
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
            inferred: self.is_inferred(thread_state, mode),
            seconds: self.nanos as f64 / 1e9,
            blame: self.blame,
            samples: match self.origin {
                Origin::Own if running => self.count,
                _ => 0,
            },
        }
    }
}

/// Whether user mode needs no stack to place time: idleness has none, and the join barrier is at its
/// region.
fn is_placed(thread_state: ThreadState) -> bool {
    match thread_state.state {
        State::Idle => true,
        State::ImplicitBarrier | State::TeamsBarrier => {
            thread_state.call == FrameId::NONE && thread_state.context != ContextId::ROOT
        }
        _ => false,
    }
}
