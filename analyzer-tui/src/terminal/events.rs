//! The events of the loop, and the threads that send them.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::thread;

use ratatui::crossterm::event;
use report::header::duration;

use crate::experiments::Experiments;
use crate::jobs::{Job, JobResult};
use crate::live::{Follower, Progress};
use crate::state::timeline::samples::{Unpacked, Unpacking};

/// An event.
#[derive(Debug)]
pub(super) enum Event {
    /// A key, the mouse, a new size.
    Input(event::Event),
    /// The terminal is gone, or a signal asks the program to end.
    End,
    /// The experiments were opened, or could not be.
    Opened(Result<Arc<Experiments>, String>),
    /// The data that views share is computed.
    Ready,
    /// A view was computed.
    JobResult(JobResult),
    /// Samples were unpacked.
    Unpacked(Unpacked),
    /// An experiment has grown.
    Grown(Arc<Experiments>, Progress),
}

/// Reads keys and the mouse.
pub(super) fn watch_input(sender: Sender<Event>) {
    thread::spawn(move || {
        while let Ok(event) = event::read() {
            if sender.send(Event::Input(event)).is_err() {
                return;
            }
        }
        // The receiver is gone if the program is ending.
        let _ = sender.send(Event::End);
    });
}

/// Waits for the signals that ask a program to end.
pub(super) fn watch_signals(sender: Sender<Event>) -> io::Result<()> {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    let mut signals = signal_hook::iterator::Signals::new([SIGHUP, SIGINT, SIGTERM])?;
    thread::spawn(move || {
        for _ in signals.forever() {
            if sender.send(Event::End).is_err() {
                return;
            }
        }
    });
    Ok(())
}

/// The nice increment of background threads. The event loop gets three quarters of a CPU that both
/// want, and views still progress beside a program that keeps the machine busy.
const NICE: i32 = 5;

/// Runs work on a thread with a lower priority than the event loop's.
fn in_background(work: impl FnOnce() + Send + 'static) {
    thread::spawn(move || {
        lower_priority();
        work();
    });
}

/// Lowers the priority of this thread and those that it starts.
fn lower_priority() {
    // If this is not permitted, keys are answered later.
    let _ = rustix::process::nice(NICE);
}

/// Computes a view.
pub(super) fn run_job(job: Job, sender: Sender<Event>) {
    in_background(move || {
        if let Some(made) = job.run() {
            // The receiver is gone if the program is ending.
            let _ = sender.send(Event::JobResult(made));
        }
    });
}

/// Unpacks samples.
pub(super) fn unpack(samples: Unpacking, sender: Sender<Event>) {
    in_background(move || {
        if let Some(unpacked) = samples.unpack() {
            let _ = sender.send(Event::Unpacked(unpacked));
        }
    });
}

/// Opens experiments, then computes the data that views share.
pub(super) fn open(experiments: &[PathBuf], sender: Sender<Event>) {
    let paths = experiments.to_owned();
    thread::spawn(move || match Experiments::open(&paths) {
        Ok(opened) => {
            let experiments = Arc::new(opened);
            let opened = Event::Opened(Ok(Arc::clone(&experiments)));
            // The receiver is gone if the user has quit.
            if sender.send(opened).is_ok() {
                lower_priority();
                experiments.work_ahead();
                let _ = sender.send(Event::Ready);
            }
        }
        Err(why) => {
            let _ = sender.send(Event::Opened(Err(why)));
        }
    });
}

/// Reads a growing experiment up to its end.
pub(super) fn follow(path: &Path, sender: Sender<Event>) {
    let mut follower = Follower::new(path);
    in_background(move || {
        loop {
            let (event, is_last) = match follower.poll() {
                Ok(None) => continue,
                Ok(Some((experiments, progress))) => {
                    let grown = Event::Grown(Arc::new(experiments), progress);
                    (grown, progress.finished)
                }
                Err(why) => (Event::Opened(Err(why)), true),
            };
            // The receiver is gone if the user has quit.
            if sender.send(event).is_err() || is_last {
                return;
            }
        }
    });
}

/// Describes the experiments that are being read, by their headers.
pub(super) fn announce(experiments: &[PathBuf], recorded: bool) -> String {
    let mut text = String::new();
    for path in experiments {
        let path = path.as_path();
        text.push_str(&if recorded {
            format!("Recording {} … (q ends the program)\n", path.display())
        } else {
            format!("Reading {} … (q quits)\n", path.display())
        });
        if let Some(header) = experiment::read_header(path) {
            text.push_str(&format!(
                "\n  Command    {}\n  Host       {} ({} CPUs)\n",
                header.command_line(),
                header.host,
                header.cpus,
            ));
            // Of a recording that has just begun they are not known.
            if !recorded {
                text.push_str(&format!(
                    "  Samples    {}\n  Duration   {}\n",
                    header.sampling.samples,
                    duration(&header, None)
                ));
            }
            text.push('\n');
        }
    }
    text
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
mod tests {
    use experiment::header::Header;

    use super::*;

    /// The header file of a recording whose program was killed says 0, and must not be believed.
    #[test]
    fn the_first_screen_shows_no_duration_of_0_s() {
        let folder = tempfile::tempdir().unwrap();
        let announced = |duration_ns: u64| {
            let header = Header {
                command: vec!["./app".to_owned()],
                duration_ns,
                ..Header::default()
            };
            let path = folder.path().join(experiment::HEADER);
            std::fs::write(path, serde_json::to_vec(&header).unwrap()).unwrap();
            let text = announce(&[folder.path().to_owned()], false);
            let line = text.lines().find(|line| line.contains("Duration"));
            line.unwrap().trim().to_owned()
        };
        assert_eq!(announced(2_200_000_000), "Duration   2.200 seconds");
        assert_eq!(
            announced(0),
            "Duration   not known before it is read (it was not finished)"
        );
    }
}
