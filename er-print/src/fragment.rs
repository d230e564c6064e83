//! The stack fragment: a piece of a stack whose callers and callees `csingle` shows.

/// Functions that call each other directly, callers first: each as it was named, and the number
/// of the one that is meant among several of that name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Fragment {
    /// The functions.
    pub(crate) functions: Vec<(String, Option<usize>)>,
}
