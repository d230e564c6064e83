//! The input of rewriting.

use experiment::ids::{StackId, ThreadStateId};
use experiment::tables::ThreadKind;

/// A machine stack with the state of its thread at the time of the sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SampledStack {
    /// The machine stack.
    pub stack: StackId,
    /// The recorded state, context and call site.
    pub thread_state: ThreadStateId,
    /// The thread's role in OpenMP.
    pub thread: ThreadKind,
}
