//! `analyzer`: shows an experiment in a terminal.

use std::fmt::Display;
use std::io::{self, Write};
use std::process::ExitCode;

use analyzer::args::{self, Invocation};
use analyzer::terminal;
use report::text::colours;

fn main() -> ExitCode {
    let (source, colours) = match args::parse(std::env::args_os().skip(1)) {
        Ok(Invocation::Show { source, colours }) => (source, colours),
        Ok(Invocation::Print(text)) => {
            print!("{text}");
            return ExitCode::SUCCESS;
        }
        Err(sentence) => {
            say(&sentence);
            return ExitCode::from(2);
        }
    };
    let colours = colours.unwrap_or_else(|| colours::of_terminal(|name| std::env::var(name).ok()));
    match terminal::show(source, colours) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            say(&failure);
            ExitCode::from(1)
        }
    }
}

/// Prints a line on standard error. The terminal may be gone, and `eprintln` would panic. Names in it may be
/// those of files that another user made.
fn say(message: impl Display) {
    let line = format!("analyzer: {message}");
    let _ = writeln!(io::stderr(), "{}", untrusted::printable(&line));
}
