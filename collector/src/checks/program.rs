//! Whether a program can be checked, by its file.

use std::ffi::OsStr;

use race_stream::record::Checks;

/// Says what is missing before the program runs.
///
/// # Errors
/// One sentence with the flags for its compiler.
pub(super) fn check(_command: &OsStr, _checks: Checks) -> Result<(), String> {
    Ok(())
}
