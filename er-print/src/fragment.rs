//! The stack fragment: a piece of a stack whose callers and callees `csingle` shows.

/// Functions that call each other, callers first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Fragment {
    /// Their names as they are shown.
    pub(crate) functions: Vec<String>,
}
