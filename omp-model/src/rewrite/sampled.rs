//! What a stack is rewritten by.

use experiment::ids::{StackId, TagId};
use experiment::tables::ThreadKind;

/// A measured stack with what was known of its thread at that moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SampledStack {
    /// The machine stack.
    pub stack: StackId,
    /// The recorded state, context and place.
    pub tag: TagId,
    /// What the thread is to OpenMP.
    pub thread: ThreadKind,
}
