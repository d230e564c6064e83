//! Which frames' machine code is read, and for what.

use std::collections::BTreeSet;

use experiment::ids::{FrameId, ModuleId};
use experiment::state::State;
use experiment::tables::{Module, RuntimeKind, StackEntry, Tables};

/// The frames of user code on the stacks, by their relation to the runtime.
#[derive(Debug, Default)]
pub(crate) struct UserFrames {
    /// Frames that called the runtime, and the calls of locks and critical sections.
    calls: BTreeSet<FrameId>,
    /// Frames that the runtime called.
    called: BTreeSet<FrameId>,
    /// Frames that created a region or task.
    forks: BTreeSet<FrameId>,
}

impl UserFrames {
    /// The frames of an experiment; none if no OpenMP runtime is on any stack.
    pub(crate) fn of(tables: &Tables) -> UserFrames {
        let runtime = |frame: FrameId| -> Option<bool> {
            let module = tables.frames.get(frame.0)?.module;
            if module == ModuleId::NONE || module == ModuleId::KERNEL {
                return None;
            }
            let row = tables.modules.get(module.0)?;
            Some(row.runtime != RuntimeKind::None)
        };
        let mut user = UserFrames::default();
        for row in tables.stacks.rows() {
            let caller = tables.stacks.get(row.callers.0);
            if let StackEntry::Frame(inner) = row.entry
                && let Some(StackEntry::Frame(outer)) = caller.map(|caller| caller.entry)
            {
                match (runtime(inner), runtime(outer)) {
                    (Some(true), Some(false)) => user.calls.insert(outer),
                    (Some(false), Some(true)) => user.called.insert(inner),
                    _ => false,
                };
            }
        }
        for context in tables.contexts.rows() {
            if let Some(StackEntry::Frame(fork)) = tables.walk(context.stack).next()
                && runtime(fork) == Some(false)
            {
                user.forks.insert(fork);
            }
            if runtime(context.body) == Some(false) {
                user.called.insert(context.body);
            }
        }
        let thread_states = tables.thread_states.rows().iter();
        let locks = thread_states.filter(|thread_state| {
            matches!(
                thread_state.state,
                State::Lock | State::NestLock | State::Critical
            )
        });
        let calls = locks.map(|thread_state| thread_state.call);
        user.calls
            .extend(calls.filter(|&call| call != FrameId::NONE));
        user
    }

    /// Whether the code of a load object is to be read: it called a runtime or was called by one, or
    /// it is a program of an experiment with one. `frames` are all of its frames.
    pub(crate) fn concerns(&self, tables: &Tables, module: &Module, frames: &[FrameId]) -> bool {
        let none = self.calls.is_empty() && self.called.is_empty() && self.forks.is_empty();
        if none || module.runtime != RuntimeKind::None {
            return false;
        }
        let program = tables
            .processes
            .iter()
            .any(|row| row.executable == module.path);
        let touched = |frame| {
            let mut sets = [&self.calls, &self.called, &self.forks].into_iter();
            sets.any(|set| set.contains(frame))
        };
        program || frames.iter().any(touched)
    }

    /// Whether a frame called the runtime, or asked for a lock.
    pub(crate) fn is_call(&self, frame: FrameId) -> bool {
        self.calls.contains(&frame)
    }

    /// Whether a frame created a region or task.
    pub(crate) fn is_fork(&self, frame: FrameId) -> bool {
        self.forks.contains(&frame)
    }

    /// Whether the runtime called a frame's code.
    pub(crate) fn is_called(&self, frame: FrameId) -> bool {
        self.called.contains(&frame)
    }
}
