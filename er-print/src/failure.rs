//! How a run of commands ends before its end.

use std::fmt;
use std::io;
use std::process::ExitCode;

/// Why no further command is run.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// The words of a command are wrong, or not supported: exit status 2.
    Words(String),
    /// Data cannot be read or written: exit status 1.
    Data(String),
    /// A condition of `check` does not hold: exit status 1; the verdict was printed.
    Unmet,
    /// Who reads the output has left: exit status 0, no message.
    PipeClosed,
    /// `quit`.
    Quit,
}

impl Stop {
    /// Wrong words.
    pub(crate) fn words(message: impl Into<String>) -> Stop {
        Stop::Words(message.into())
    }

    /// The exit status that tells a script.
    pub(crate) fn code(&self) -> ExitCode {
        match self {
            Stop::Words(_) => ExitCode::from(2),
            Stop::Data(_) | Stop::Unmet => ExitCode::from(1),
            Stop::PipeClosed | Stop::Quit => ExitCode::SUCCESS,
        }
    }
}

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            // One line, whatever a name in it holds.
            Stop::Words(message) | Stop::Data(message) => {
                f.write_str(&message.replace(['\n', '\r'], " "))
            }
            Stop::Unmet => f.write_str("a condition of check does not hold"),
            Stop::PipeClosed => f.write_str("the output was closed"),
            Stop::Quit => f.write_str("quit"),
        }
    }
}

impl From<report::Error> for Stop {
    fn from(error: report::Error) -> Stop {
        match error {
            report::Error::Usage(message) => Stop::Words(message),
            report::Error::Data(message) => Stop::Data(message),
        }
    }
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Stop {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Stop::PipeClosed,
            _ => Stop::Data(format!("cannot write the output: {error}")),
        }
    }
}
