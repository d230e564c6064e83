//! Commands that are shown before they run.

use std::process::{Command, Stdio};

use crate::Outcome;

/// The cargo that runs this task.
pub(crate) fn cargo() -> Command {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.current_dir(crate::root());
    cargo
}

/// The command as a user would type it.
pub(crate) fn typed(command: &Command) -> String {
    let name = std::path::Path::new(command.get_program())
        .file_name()
        .unwrap_or_default();
    let words = std::iter::once(name).chain(command.get_args());
    words
        .map(|w| quoted(&w.to_string_lossy()))
        .collect::<Vec<_>>()
        .join(" ")
}

/// A word, quoted where a shell would split or expand it.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=+,:@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// Shows a command and runs it.
pub(crate) fn run(command: &mut Command) -> Outcome {
    println!("\n$ {}", typed(command));
    let status = command.status().map_err(|e| cannot_start(command, &e))?;
    if status.success() {
        Ok(())
    } else {
        Err(format!("`{}`: {status}", typed(command)))
    }
}

/// Whether a command can be started and succeeds; shows nothing.
pub(crate) fn works(command: &mut Command) -> bool {
    command
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|s| s.success())
}

/// The standard output of a command.
pub(crate) fn stdout_of(command: &mut Command) -> Outcome<String> {
    let output = command.output().map_err(|e| cannot_start(command, &e))?;
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    } else {
        Err(format!("`{}`: {}", typed(command), output.status))
    }
}

/// The error message for a command that could not be started.
pub(crate) fn cannot_start(command: &Command, error: &std::io::Error) -> String {
    format!("`{}` cannot be started: {error}", typed(command))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_shown_as_one_would_type_it() {
        let mut command = Command::new("/usr/bin/er_print");
        command.args(["-viewmode", "machine", "-filters", "THRID==2", "it's", ""]);
        let expected = r"er_print -viewmode machine -filters THRID==2 'it'\''s' ''";
        assert_eq!(typed(&command), expected);
    }
}
