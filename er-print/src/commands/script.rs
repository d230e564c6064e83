//! Lines of commands: a script's, and those of standard input.

use std::io::{self, BufRead};

use omp_model::defaults::words;

use super::find;
use crate::session::Session;
use crate::stop::Stop;

/// The largest depth of nested scripts, so that a script that calls itself ends with a message.
const DEEPEST: usize = 16;

/// An expression without the quotation marks that a shell would remove.
fn unquoted(text: &str) -> &str {
    let inner = |mark| {
        let inside: &str = text.strip_prefix(mark)?.strip_suffix(mark)?;
        (!inside.contains(mark)).then_some(inside)
    };
    inner('\'').or_else(|| inner('"')).unwrap_or(text)
}

/// Runs one line.
pub(crate) fn run_line(session: &mut Session<'_>, line: &str) -> Result<(), Stop> {
    let line = line.trim();
    let (first, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    // An expression has quotation marks of its own.
    if let Ok(command) = find(first.strip_prefix('-').unwrap_or(first))
        && command.takes_expression()
        && !rest.trim().is_empty()
    {
        let arguments = [unquoted(rest.trim()).to_owned()];
        let action = command.action_for(&arguments)?;
        return action.perform(session, &arguments);
    }
    let words = words(line).map_err(|why| Stop::Usage(why.to_string()))?;
    let Some((name, arguments)) = words.split_first() else {
        return Ok(());
    };
    let name = name.strip_prefix('-').unwrap_or(name);
    let types = &session.settings.index_types;
    let defined = types
        .iter()
        .any(|(known, _)| known.eq_ignore_ascii_case(name));
    let (command, arguments) = match find(name) {
        Err(_) if defined && arguments.is_empty() => (find("indxobj")?, vec![name.to_owned()]),
        found => (found?, arguments.to_vec()),
    };
    let action = command.action_for(&arguments)?;
    action.perform(session, &arguments)
}

/// Runs the commands of a file.
pub(crate) fn script(session: &mut Session<'_>, arguments: &[String]) -> Result<(), Stop> {
    run_file(session, &arguments[0])
}

/// Runs a file of commands, up to the first that fails; its message names the line.
pub(crate) fn run_file(session: &mut Session<'_>, name: &str) -> Result<(), Stop> {
    if session.script_depth >= DEEPEST {
        let message = format!("{name}: scripts call each other more than {DEEPEST} deep");
        return Err(Stop::Usage(message));
    }
    let text = std::fs::read(name).map_err(|error| {
        Stop::Data(format!(
            "cannot read the script {name}: {error}; check the name"
        ))
    })?;
    session.script_depth += 1;
    let ended = String::from_utf8_lossy(&text)
        .lines()
        .enumerate()
        .try_for_each(|(at, line)| {
            run_line(session, line).map_err(|stop| at_line(stop, name, at + 1))
        });
    session.script_depth -= 1;
    ended
}

fn at_line(stop: Stop, name: &str, line: usize) -> Stop {
    match stop {
        Stop::Usage(message) => Stop::Usage(format!("{name}, line {line}: {message}")),
        other => other,
    }
}

/// Runs the commands on standard input, up to the first that fails. Returns how many lines had any.
pub(crate) fn run_stdin(session: &mut Session<'_>) -> Result<usize, Stop> {
    let mut input = io::stdin().lock();
    let mut line = Vec::new();
    let mut count = 0;
    for number in 1.. {
        line.clear();
        let read = input
            .read_until(b'\n', &mut line)
            .map_err(|error| Stop::Data(format!("cannot read commands: {error}")))?;
        if read == 0 {
            break;
        }
        let line = String::from_utf8_lossy(&line);
        count += usize::from(!line.trim().is_empty());
        run_line(session, &line).map_err(|stop| at_line(stop, "standard input", number))?;
    }
    Ok(count)
}
