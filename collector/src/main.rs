//! `collect`: runs a program and records an experiment.

use std::ffi::OsString;
use std::io::Write;
use std::process::exit;

use recording::launcher::{self, Launch};
use recording::record::RecordError;
use recording::say::say;
use recording::{checks, cli, rank, record};

/// The exit status after a usage error, as of other tools.
const USAGE: i32 = 2;

fn main() {
    let words: Vec<OsString> = std::env::args_os().collect();
    let mut request = match cli::parse(words.clone()) {
        Ok(cli::Invocation::Record(request)) => *request,
        Ok(cli::Invocation::Print(text)) => {
            // An error means that the reader has closed the pipe.
            let _ = writeln!(std::io::stdout(), "{}", text.trim_end());
            return;
        }
        Ok(cli::Invocation::ListCounters) => {
            let _ = write!(std::io::stdout(), "{}", record::list_counters());
            return;
        }
        Err(sentence) => {
            say(sentence);
            exit(USAGE);
        }
    };
    let placed = rank::own();
    request.target.rank = placed.as_ref().map(|placed| placed.rank.clone());
    request.target.is_in_job = placed.as_ref().is_some_and(|placed| placed.has_job);
    let local_ranks = placed.map_or(1, |placed| placed.local);
    if let Some(pid) = request.attach {
        finish(record::attach(&request, pid));
    }
    if let Some(checks) = request.checks {
        finish(checks::record(&request, checks));
    }
    let result = match launcher::become_launcher(&request, &words) {
        Ok(Launch::NoLauncher) if request.dry_run => {
            record::dry_run(&request, local_ranks).map(|()| 0)
        }
        Ok(Launch::NoLauncher) => record::record(&request, local_ranks),
        Ok(Launch::DryRun) => Ok(0),
        Err(error) => Err(error),
    };
    finish(result);
}

/// Exits with the status of the recording.
fn finish(result: Result<i32, RecordError>) -> ! {
    match result {
        Ok(status) => exit(status),
        Err(error) => {
            say(&error);
            exit(error.status());
        }
    }
}
