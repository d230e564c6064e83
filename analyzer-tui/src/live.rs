//! An experiment while it is recorded: starts `collect`, and reads the experiment as it grows.

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

/// The interval between reads. `collect` appends twice a second.
const POLL_INTERVAL: Duration = Duration::from_millis(250);

/// The time of a recording before which it is not shown: what starts, and the parts of the first
/// records, do not add up yet.
const FIRST: Nanos = Nanos(500_000_000);

/// Reading takes at most a quarter of the time.
const READING_SHARE: u32 = 4;

/// The text that `collect` prints before the experiment's name.
const CREATING: &str = "Creating experiment directory ";
/// The text after the name.
const AFTER: &[u8] = b" (Process ID:";

/// A running `collect`.
#[derive(Debug)]
pub struct Recorder {
    child: Child,
    /// The output of `collect` and the program, which must not reach the screen.
    printed: File,
}

impl Recorder {
    /// Starts `collect` with these arguments.
    ///
    /// # Errors
    /// One sentence, if it cannot be started.
    pub fn start(words: &[OsString]) -> Result<Recorder, String> {
        let collect = collect_program();
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
            // Signals from the terminal must not end the recording.
            .process_group(0)
            .spawn()
            .map_err(refused)?;
        Ok(Recorder { child, printed })
    }

    /// The experiment's directory, once `collect` has printed it.
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

    /// Interrupts the program as Ctrl-C would, and waits until the experiment is complete.
    pub fn stop(&mut self) {
        let id = self.child.id().to_string();
        // The shell's builtin, as small systems have no program `kill`.
        let sent = Command::new("sh")
            .args(["-c", "kill -s INT $0", &id])
            .status();
        if sent.is_ok_and(|status| status.success()) {
            // This fails only if the child was waited for before.
            let _ = self.child.wait();
        }
    }

    /// The output of the program and `collect` so far.
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

/// `collect` beside this executable, else the one in `PATH`.
fn collect_program() -> PathBuf {
    let sibling = std::env::current_exe().map(|path| path.with_file_name("collect"));
    match sibling {
        Ok(path) if path.is_file() => path,
        _ => PathBuf::from("collect"),
    }
}

/// A deleted temporary file in append mode.
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

/// The progress of a recording.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress {
    /// The time up to which it is read.
    pub until: Nanos,
    /// Whether it has ended.
    pub finished: bool,
}

/// Reads an experiment while it grows. Each poll reads what was appended since the last.
#[derive(Debug)]
pub struct Follower {
    path: PathBuf,
    records: Option<Growing>,
    /// The names of the frames that were known when names were last resolved.
    symbols: SymbolTable,
    thread_states: usize,
    wait: Duration,
}

impl Follower {
    /// Follows an experiment that exists or will be created.
    pub fn new(path: &Path) -> Follower {
        Follower {
            path: path.to_owned(),
            records: None,
            symbols: SymbolTable::default(),
            thread_states: 0,
            wait: Duration::ZERO,
        }
    }

    /// Waits for the interval, and reads up to the last whole frame; `None` if nothing was added, or
    /// what there is is shorter than [`FIRST`].
    ///
    /// # Errors
    /// One sentence, if it is nothing that can be followed: no experiment, or one of another format.
    pub fn poll(&mut self) -> Result<Option<(Experiments, Progress)>, String> {
        std::thread::sleep(self.wait);
        self.wait = POLL_INTERVAL;
        let start = Instant::now();
        let records = match &mut self.records {
            Some(records) => records,
            none => match Growing::open(&self.path) {
                Ok(records) => none.insert(records),
                Err(
                    why @ (OpenError::NotADirectory(_)
                    | OpenError::Gprofng(_)
                    | OpenError::Newer { .. }
                    | OpenError::Older { .. }),
                ) => return Err(why.to_string()),
                // `collect` has not written it yet.
                Err(_) => return Ok(None),
            },
        };
        // What cannot be read yet may be complete at the next poll.
        if !records.read().unwrap_or(false) {
            return Ok(None);
        }
        let mut experiment = records.experiment();
        let progress = Progress {
            until: experiment.last,
            finished: experiment.finished,
        };
        if !progress.finished && progress.until < FIRST {
            return Ok(None);
        }
        if !experiment.finished {
            // An incomplete end is normal here.
            let is_damage = |warning: &Warning| {
                !matches!(warning, Warning::Unfinished { .. } | Warning::Cut { .. })
            };
            experiment.warnings.retain(is_damage);
            experiment.symbols = Some(self.symbols(&experiment.tables));
        }
        let experiments = Experiments::of(experiment);
        experiments.available();
        self.wait = POLL_INTERVAL.max(start.elapsed() * (READING_SHARE - 1));
        Ok(Some((experiments, progress)))
    }

    /// The names of all frames, resolved again only if there are new ones: most programs reach
    /// all of their code early.
    fn symbols(&mut self, tables: &Tables) -> SymbolTable {
        let (frames, thread_states) = (tables.frames.len(), tables.thread_states.len());
        if (self.symbols.frames.len(), self.thread_states) != (frames, thread_states) {
            self.symbols = symbolize::from_files(tables);
            self.thread_states = thread_states;
        }
        self.symbols.clone()
    }
}
