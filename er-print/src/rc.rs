//! Defaults from `/etc/parallax.rc`, `~/.parallax.rc` and `./.parallax.rc`; later files override
//! earlier ones.
//!
//! A line is a command that sets something and prints nothing. A mistake is a warning, so that it
//! does not prevent every report.

use std::path::Path;

use omp_model::defaults;

use crate::commands::{self, Group};
use crate::output::say;
use crate::session::Session;
use crate::stop::Stop;

/// Commands of the analyzer, which reads the same files.
const ANALYZERS: [&str; 3] = ["tabs", "tlmode", "tldata"];

/// Reads the files that exist; `home` is the user's home folder.
pub(crate) fn read(session: &mut Session<'_>, home: Option<&Path>) {
    for (path, text) in defaults::read(home) {
        match text {
            Ok(text) => lines(session, &path, &text),
            Err(why) => say(format!("warning: {} is ignored: {why}", path.display())),
        }
    }
    session.settings.compare_is_default = true;
}

fn lines(session: &mut Session<'_>, path: &Path, text: &str) {
    for (line, number) in text.lines().zip(1..) {
        if let Err(stop) = one_line(session, line) {
            say(format!(
                "warning: {}, line {number}: {stop}",
                path.display()
            ));
        }
    }
}

fn one_line(session: &mut Session<'_>, line: &str) -> Result<(), Stop> {
    let words = defaults::words(line).map_err(|why| Stop::Usage(why.to_string()))?;
    let Some((name, arguments)) = words.split_first() else {
        return Ok(());
    };
    let command = commands::find(name)?;
    if ANALYZERS.contains(&command.name) {
        return Ok(());
    }
    let is_default = matches!(command.group, Group::Defaults | Group::CODE | Group::Output)
        && !command.needs_experiment
        && !matches!(command.name, "outfile" | "appendfile");
    if !is_default {
        return Err(Stop::Usage(format!(
            "{} is no default: put it in a script",
            command.name
        )));
    }
    let action = command.action_for(arguments)?;
    action.perform(session, arguments)
}
