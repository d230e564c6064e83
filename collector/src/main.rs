//! `collect`: runs a program and records an experiment.

use std::io::Write;
use std::process::exit;

use recording::say::say;
use recording::{cli, record};

/// The exit status after a usage error, as of other tools.
const USAGE: i32 = 2;

fn main() {
    let request = match cli::parse(std::env::args_os()) {
        Ok(cli::Invocation::Record(request)) => request,
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
    let result = if request.dry_run {
        record::dry_run(&request).map(|()| 0)
    } else {
        record::record(&request)
    };
    match result {
        Ok(status) => exit(status),
        Err(error) => {
            say(&error);
            exit(error.status());
        }
    }
}
