//! Why a document cannot be made.

/// A reason, as one sentence that says what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The words of a request are wrong, or ask for what there is not.
    #[error("{0}")]
    Usage(String),
    /// Data cannot be read.
    #[error("{0}")]
    Data(String),
}

impl Error {
    /// Wrong words.
    pub fn usage(message: impl Into<String>) -> Error {
        Error::Usage(message.into())
    }
}
