//! `er_print`: reports of an experiment, as text or JSON.

mod args;
mod commands;
mod complete;
#[cfg(test)]
mod completions;
#[cfg(test)]
mod man;
mod open_experiment;
mod output;
mod prompt;
mod rc;
mod session;
mod stop;

#[cfg(test)]
mod tests;

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use output::{Output, say};
use stop::Stop;

fn main() -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    let mut output = Output::stdout();
    let home = std::env::var_os("HOME").map(PathBuf::from);
    let ended = args::run(&arguments, home.as_deref(), &mut output);
    // What was printed before a failure must not be lost, nor come after its message.
    let ended = ended.and(output.flush().map_err(Stop::from));
    match ended {
        Ok(()) | Err(Stop::Quit | Stop::PipeClosed) => ExitCode::SUCCESS,
        Err(stop @ (Stop::CheckFailed | Stop::NotChecked)) => stop.code(),
        Err(stop) => {
            say(&stop);
            stop.code()
        }
    }
}
