//! An experiment while it is recorded: the program under `collect`, and the records as they come.

use std::ffi::{OsStr, OsString};
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use experiment::ids::Nanos;
use experiment::symbols::SymbolTable;
use experiment::tables::Tables;
use experiment::{Growing, OpenError, Warning};

use crate::experiments::Experiments;

/// How often a recording is looked at: `collect` appends twice a second.
const POLL_INTERVAL: Duration = Duration::from_millis(250);

/// Reading takes at most one part of so many of the time.
const SHARE: u32 = 4;

/// What `collect` says before the name of the experiment that it makes.
const CREATING: &str = "Creating experiment directory ";
/// And after it.
const AFTER: &[u8] = b" (Process ID:";

/// `collect`, and under it the program.
#[derive(Debug)]
pub struct Recorder {
    child: Child,
    /// What both of them print, which would disturb the screen.
    printed: File,
}

impl Recorder {
    /// Starts `collect` with these words; what it prints is kept.
    ///
    /// # Errors
    /// One sentence, if it cannot be started.
    pub fn start(words: &[OsString]) -> Result<Recorder, String> {
        let beside = std::env::current_exe().ok();
        let beside = beside.map(|path| path.with_file_name("collect"));
        let collect = beside.filter(|path| path.is_file());
        let collect = collect.unwrap_or_else(|| PathBuf::from("collect"));
        let refused = |error: io::Error| {
            format!(
                "cannot run {}: {error}; install collect beside analyzer",
                collect.display()
            )
        };
        let printed = unnamed_file().map_err(refused)?;
        let copy = || printed.try_clone();
        let child = Command::new(&collect)
            .args(words)
            .stdin(Stdio::null())
            .stdout(copy().map_err(refused)?)
            .stderr(copy().map_err(refused)?)
            // What ends the terminal's programs does not end the recording.
            .process_group(0)
            .spawn()
            .map_err(refused)?;
        Ok(Recorder { child, printed })
    }

    /// The experiment's directory, once `collect` has told it.
    pub fn directory(&mut self) -> Option<PathBuf> {
        let printed = self.bytes().ok()?;
        let mut lines = printed.split(|byte| *byte == b'\n');
        let line = lines.find_map(|line| line.strip_prefix(CREATING.as_bytes()))?;
        let end = line.windows(AFTER.len()).rposition(|part| part == AFTER)?;
        Some(PathBuf::from(OsStr::from_bytes(&line[..end])))
    }

    /// Whether it still runs.
    pub fn runs(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// Ends the program as an interrupt from the keyboard would, and waits until the experiment
    /// is complete.
    pub fn stop(&mut self) {
        let id = self.child.id().to_string();
        // The shell's own: small systems have no such program.
        let told = Command::new("sh")
            .args(["-c", "kill -s INT $0", &id])
            .status();
        if told.is_ok_and(|status| status.success()) {
            // It cannot be waited for only if it was waited for before.
            let _ = self.child.wait();
        }
    }

    /// What the program and `collect` have printed so far.
    pub fn printed(&mut self) -> String {
        match self.bytes() {
            Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
            Err(error) => format!("(what was printed cannot be read: {error})\n"),
        }
    }

    fn bytes(&mut self) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.printed.rewind()?;
        self.printed.read_to_end(&mut bytes)?;
        Ok(bytes)
    }
}

/// A file for both to write to, at whose end each write goes.
fn unnamed_file() -> io::Result<File> {
    for number in 0.. {
        let name = format!("parallax-live-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        let opened = OpenOptions::new()
            .read(true)
            .append(true)
            .create_new(true)
            .open(&path);
        match opened {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
            Ok(file) => {
                std::fs::remove_file(&path)?;
                return Ok(file);
            }
        }
    }
    Err(io::Error::from(io::ErrorKind::AlreadyExists))
}

/// How a recording stands.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress {
    /// Up to where it is read.
    pub until: Nanos,
    /// Whether it is at its end.
    pub finished: bool,
}

/// Reads an experiment while it grows: at each look what was appended since the one before.
#[derive(Debug)]
pub struct Follower {
    path: PathBuf,
    records: Option<Growing>,
    /// The names of the first frames, as many as there were when they were last resolved.
    symbols: SymbolTable,
    thread_states: usize,
    wait: Duration,
}

impl Follower {
    /// Of an experiment that is there, or will be.
    pub fn new(path: &Path) -> Follower {
        Follower {
            path: path.to_owned(),
            records: None,
            symbols: SymbolTable::default(),
            thread_states: 0,
            wait: Duration::ZERO,
        }
    }

    /// Waits for more, and reads up to the last whole frame; `None` if nothing was added.
    ///
    /// # Errors
    /// One sentence, if nothing can be read, which may change.
    pub fn poll(&mut self) -> Result<Option<(Experiments, Progress)>, String> {
        std::thread::sleep(self.wait);
        self.wait = POLL_INTERVAL;
        let start = Instant::now();
        let refused = |why: OpenError| why.to_string();
        let records = match &mut self.records {
            Some(records) => records,
            none => match Growing::open(&self.path) {
                Ok(records) => none.insert(records),
                // It may be there at the next look.
                Err(OpenError::NoRecords(_) | OpenError::Empty(_)) => return Ok(None),
                Err(why) => return Err(refused(why)),
            },
        };
        if !records.read().map_err(refused)? {
            return Ok(None);
        }
        let mut experiment = records.experiment();
        let progress = Progress {
            until: experiment.last,
            finished: experiment.finished,
        };
        if !experiment.finished {
            // That it is not at its end is no damage.
            let is_damage = |warning: &Warning| {
                !matches!(warning, Warning::Unfinished { .. } | Warning::Cut { .. })
            };
            experiment.warnings.retain(is_damage);
            experiment.symbols = Some(self.symbols(&experiment.tables));
        }
        let experiments = Experiments::of(experiment);
        // What else the view in sight needs is made when it is.
        experiments.available();
        self.wait = POLL_INTERVAL.max(start.elapsed() * (SHARE - 1));
        Ok(Some((experiments, progress)))
    }

    /// The names of what was seen, resolved again only if more of the program was: most programs
    /// show all of themselves early.
    fn symbols(&mut self, tables: &Tables) -> SymbolTable {
        let (frames, thread_states) = (tables.frames.len(), tables.thread_states.len());
        if (self.symbols.frames.len(), self.thread_states) != (frames, thread_states) {
            self.symbols = symbolize::from_files(tables);
            self.thread_states = thread_states;
        }
        self.symbols.clone()
    }
}
