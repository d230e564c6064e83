//! The result in three lines, at the end of a run at a terminal.

use std::io::IsTerminal;
use std::path::Path;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use experiment::{Experiment, job};
use omp_model::analysis::Analysis;
use report::closing;

use crate::after::After;
use crate::cli::Request;
use crate::say::print_line;
use crate::signals::Signals;

/// The time between two looks for signals.
const LOOK: Duration = Duration::from_millis(5);

/// Says what the run was and what to do next, if anybody reads it. Of the ranks of a job the first one does.
/// A signal ends it.
pub(crate) fn say_result(request: &Request, directory: &Path, signals: &mut Signals) {
    let rank = request.target.rank.as_ref();
    let is_further_rank = rank.is_some_and(|rank| rank.number != 0);
    if request.is_quiet || is_further_rank || !std::io::stderr().is_terminal() {
        return;
    }
    let (sender, receiver) = mpsc::channel();
    let path = directory.to_owned();
    // A thread of its own: the sums of a long run take time, in which signals must be seen.
    thread::spawn(move || sender.send(lines(&path)));
    let mut after = After::new(signals, None);
    let lines = loop {
        match receiver.recv_timeout(LOOK) {
            Ok(lines) => break lines,
            Err(RecvTimeoutError::Timeout) if after.goes_on(|| "adding times up".to_owned()) => {}
            // A signal; or a panic, which has printed its message.
            Err(_) => return,
        }
    };
    drop(after);
    let printed = lines
        .iter()
        .map(|line| untrusted::printable(line).into_owned());
    printed.for_each(|line| print_line(line.into_bytes()));
    let name = directory.to_string_lossy();
    let name = quoted(job::of_rank(&name).unwrap_or(&name));
    print_line(format!("Next: er_print {name}, or analyzer {name}").into_bytes());
}

/// What is said of an experiment; nothing if it has no names, which a signal has ended.
fn lines(directory: &Path) -> Vec<String> {
    match Experiment::open(directory) {
        Ok(experiment) if experiment.symbols.is_some() || experiment.findings.is_some() => {
            closing::lines(&Analysis::of(experiment, 1))
        }
        _ => Vec::new(),
    }
}

/// A name as a shell reads it.
fn quoted(name: &str) -> String {
    let is_plain = |letter: char| letter.is_alphanumeric() || "/._-+=:,@%".contains(letter);
    let name = untrusted::printable(name);
    if name.chars().all(is_plain) {
        name.into_owned()
    } else {
        format!("'{}'", name.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn names_are_as_a_shell_reads_them() {
        assert_eq!(quoted("test.1.er"), "test.1.er");
        assert_eq!(quoted("my run.er"), "'my run.er'");
        assert_eq!(quoted("it's.er"), r"'it'\''s.er'");
    }
}
