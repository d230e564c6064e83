//! Attributed time: a part of a group's time at one stack.

use experiment::ids::{ContextId, FrameId, StackId, TagId, ThreadId};
use experiment::state::{Presence, State};
use experiment::tables::Tag;

use crate::profile::{Item, PathId, Shown, ViewMode};

use super::group::Group;

/// A part of a group's time at one stack, or of all groups that differ by their slices alone.
#[derive(Clone, Copy, Debug)]
pub(super) struct Share {
    pub(super) thread: ThreadId,
    pub(super) tag: TagId,
    /// 0 if the slices are folded.
    pub(super) slice: u32,
    pub(super) presence: Presence,
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
            tag: group.tag,
            slice: group.slice,
            presence: group.presence,
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
            (self.thread, self.tag, self.slice, self.presence),
            self.origin != Origin::Own,
            (self.stack, self.kernel, self.origin),
        )
    }

    /// Whether its stack counts as inferred in a mode.
    pub(super) fn is_inferred(&self, tag: Tag, mode: ViewMode) -> bool {
        let is_placed = mode != ViewMode::Machine && is_placed(tag);
        matches!(self.origin, Origin::Inferred | Origin::Construct) && !is_placed
    }

    /// The item of a mode, at its display stack there.
    pub(super) fn item(&self, tag: Tag, mode: ViewMode, (path, shown): (PathId, Shown)) -> Item {
        let running = self.presence == Presence::Running;
        Item {
            path,
            thread: self.thread,
            slice: self.slice,
            tag: self.tag,
            context: match tag.state {
                State::Unknown => ContextId::ROOT,
                _ => tag.context,
            },
            stack: self.stack,
            shown,
            presence: self.presence,
            kernel: running && self.kernel,
            inferred: self.is_inferred(tag, mode),
            seconds: self.nanos as f64 / 1e9,
            blame: self.blame,
            samples: match self.origin {
                Origin::Own if running => self.count,
                _ => 0,
            },
        }
    }
}

/// Whether the event alone says where user mode shows time: idleness stands nowhere, and the join
/// barrier at its region.
fn is_placed(tag: Tag) -> bool {
    match tag.state {
        State::Idle => true,
        State::ImplicitBarrier | State::TeamsBarrier => {
            tag.place == FrameId::NONE && tag.context != ContextId::ROOT
        }
        _ => false,
    }
}
