//! Reasons to stop running commands.

use std::fmt;
use std::io;
use std::process::ExitCode;

/// Why no further command is run.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// A usage error or an unsupported command: exit status 2.
    Usage(String),
    /// Data cannot be read or written: exit status 1.
    Data(String),
    /// A condition of `check` does not hold: exit status 1. The verdict is already printed.
    CheckFailed,
    /// No condition of `check` fails, but not all of the program was checked: exit status 2. That is already
    /// printed.
    NotChecked,
    /// The reader of the output is gone: exit status 0, no message.
    PipeClosed,
    /// `quit`.
    Quit,
}

impl Stop {
    /// A usage error.
    pub(crate) fn usage(message: impl Into<String>) -> Stop {
        Stop::Usage(message.into())
    }

    /// The exit status.
    pub(crate) fn code(&self) -> ExitCode {
        match self {
            Stop::Usage(_) | Stop::NotChecked => ExitCode::from(2),
            Stop::Data(_) | Stop::CheckFailed => ExitCode::from(1),
            Stop::PipeClosed | Stop::Quit => ExitCode::SUCCESS,
        }
    }
}

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Stop::Usage(message) | Stop::Data(message) => f.write_str(message),
            Stop::CheckFailed => f.write_str("a condition of check does not hold"),
            Stop::NotChecked => f.write_str("not all of the program was checked"),
            Stop::PipeClosed => f.write_str("the output was closed"),
            Stop::Quit => f.write_str("quit"),
        }
    }
}

impl From<report::Error> for Stop {
    fn from(error: report::Error) -> Stop {
        Stop::Usage(error.0)
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
