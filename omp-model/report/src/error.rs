//! Why a document cannot be made.

/// A reason, as one sentence that says what to do: the words of a request are wrong, or ask for what
/// there is not.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Error(pub String);

impl Error {
    /// The reason of this sentence.
    pub fn new(message: impl Into<String>) -> Error {
        Error(message.into())
    }
}
