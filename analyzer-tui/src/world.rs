//! What the program does beside drawing: it reads experiments, sources and load objects, each on
//! a thread of its own, and writes files.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::thread;

use omp_model::defaults;
use omp_model::header::Header;
use omp_model::profile::ViewMode;
use omp_model::symbols::{FileId, FunctionId};
use ratatui::crossterm::event::{self, Event};
use report::header::duration;
use symbolize::disassembly::Code;
use symbolize::search::SearchPath;

use crate::app::timeline::{Unpacked, Unpacking};
use crate::app::{Job, Made};
use crate::live::{Follower, Progress};
use crate::recording::Recording;

/// What has happened in the world.
#[derive(Debug)]
pub enum Happening {
    /// A key, the mouse, another size.
    Input(Event),
    /// The terminal is gone, or a signal asks the program to end.
    End,
    /// An experiment was opened, or cannot be.
    Opened(Result<Arc<Recording>, String>),
    /// All that its views start from is made.
    Ready,
    /// A view was made.
    Made(Made),
    /// Samples were unpacked.
    Unpacked(Unpacked),
    /// An experiment has grown.
    Grown(Arc<Recording>, Progress),
    /// A source file of a recording was read, or cannot be.
    Source(Arc<Recording>, FileId, Result<String, String>),
    /// The instructions of a recording's function were read.
    Code(Arc<Recording>, FunctionId, Code),
}

/// Reads keys and the mouse.
pub(crate) fn watch_input(sender: Sender<Happening>) {
    thread::spawn(move || {
        while let Ok(event) = event::read() {
            if sender.send(Happening::Input(event)).is_err() {
                return;
            }
        }
        // Nobody is left to tell if the program ends just now.
        let _ = sender.send(Happening::End);
    });
}

/// Waits for the signals that ask a program to end.
pub(crate) fn watch_signals(sender: Sender<Happening>) -> io::Result<()> {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    let mut signals = signal_hook::iterator::Signals::new([SIGHUP, SIGINT, SIGTERM])?;
    thread::spawn(move || {
        for _ in signals.forever() {
            if sender.send(Happening::End).is_err() {
                return;
            }
        }
    });
    Ok(())
}

/// By how much work beside the loop that answers keys is less urgent than that: the loop gets
/// three quarters of a CPU that both want, work alone on a CPU all of it, and beside a program that
/// keeps the machine busy views still come about.
const LESS_URGENT: i32 = 5;

/// Works on a thread of its own, behind the loop that answers keys.
fn beside(work: impl FnOnce() + Send + 'static) {
    thread::spawn(move || {
        give_way();
        work();
    });
}

/// Lets the loop that answers keys go before this thread and those that it starts.
fn give_way() {
    // A system that does not permit it is only less prompt.
    let _ = rustix::process::nice(LESS_URGENT);
}

/// Makes a view.
pub(crate) fn make(job: Job, sender: Sender<Happening>) {
    beside(move || {
        if let Some(made) = job.make() {
            // The receiver is gone if the program ends just now.
            let _ = sender.send(Happening::Made(made));
        }
    });
}

/// Unpacks samples.
pub(crate) fn unpack(samples: Unpacking, sender: Sender<Happening>) {
    beside(move || {
        if let Some(unpacked) = samples.unpack() {
            let _ = sender.send(Happening::Unpacked(unpacked));
        }
    });
}

/// Opens an experiment, and goes on with what later keys may ask for.
pub(crate) fn open(experiments: &[PathBuf], sender: Sender<Happening>) {
    let paths = experiments.to_owned();
    thread::spawn(move || match Recording::open(&paths) {
        Ok(recording) => {
            let recording = Arc::new(recording);
            let opened = Happening::Opened(Ok(Arc::clone(&recording)));
            // The receiver is gone if the user did not wait.
            if sender.send(opened).is_ok() {
                give_way();
                recording.work_ahead();
                let _ = sender.send(Happening::Ready);
            }
        }
        Err(why) => {
            let _ = sender.send(Happening::Opened(Err(why)));
        }
    });
}

/// Reads an experiment again and again, up to its end.
pub(crate) fn follow(path: &Path, sender: Sender<Happening>) {
    let mut follower = Follower::new(path);
    beside(move || {
        loop {
            // What cannot be read yet may be whole at the next look.
            let Ok(Some((recording, progress))) = follower.look() else {
                continue;
            };
            let grown = Happening::Grown(Arc::new(recording), progress);
            if sender.send(grown).is_err() || progress.finished {
                return;
            }
        }
    });
}

/// Where sources and load objects are looked for: what the files of defaults say, as far as it
/// concerns this program, and the viewpoint to begin with.
#[derive(Clone, Debug, Default)]
pub struct Defaults {
    /// How files are found.
    pub search: SearchPath,
    /// The viewpoint.
    pub mode: ViewMode,
}

impl Defaults {
    /// Of the files of defaults that there are.
    pub fn read() -> Defaults {
        let home = std::env::var_os("HOME").map(PathBuf::from);
        let mut found = Defaults::default();
        for path in defaults::files(home.as_deref()) {
            // A file that is not there is the usual case.
            if let Ok(bytes) = std::fs::read(&path) {
                found.take(&String::from_utf8_lossy(&bytes));
            }
        }
        found
    }

    /// Takes what a file says. The rest of it is `er_print`'s, which tells of mistakes.
    fn take(&mut self, text: &str) {
        for line in text.lines() {
            let words = defaults::words(line).unwrap_or_default();
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            let command = words.first().map(|name| name.to_lowercase());
            match (command.as_deref(), words.get(1..).unwrap_or_default()) {
                (Some("setpath"), [list]) => self.search.set(list),
                (Some("addpath"), [list]) => self.search.add(list),
                (Some("pathmap"), [old, new]) if !old.is_empty() => self.search.map(old, new),
                (Some("viewmode"), [mode]) => match mode.to_lowercase().as_str() {
                    "user" => self.mode = ViewMode::User,
                    "expert" => self.mode = ViewMode::Expert,
                    "machine" => self.mode = ViewMode::Machine,
                    _ => {}
                },
                _ => {}
            }
        }
    }
}

/// Reads a source file, wherever it is found.
pub(crate) fn read_source(
    file: FileId,
    path: String,
    (search, recording): (&SearchPath, &Arc<Recording>),
    sender: Sender<Happening>,
) {
    let (search, recording) = (search.clone(), Arc::clone(recording));
    beside(move || {
        let text = match search.find(&path, &recording.names) {
            Some(found) => match std::fs::read(&found) {
                Ok(bytes) => Ok(String::from_utf8_lossy(&bytes).into_owned()),
                Err(error) => Err(format!("{} cannot be read: {error}", found.display())),
            },
            None => Err(format!(
                "{path} is not here: setpath, addpath or pathmap in ~/.parallax.rc tell where it is"
            )),
        };
        let _ = sender.send(Happening::Source(recording, file, text));
    });
}

/// Reads a function's instructions from its load object, wherever that is found.
pub(crate) fn read_code(
    function: FunctionId,
    object: String,
    (search, recording): (&SearchPath, &Arc<Recording>),
    sender: Sender<Happening>,
) {
    let (search, recording) = (search.clone(), Arc::clone(recording));
    beside(move || {
        let found = search.find(&object, &recording.names);
        let code = Code::read(
            &recording.experiment.tables,
            &recording.symbols,
            function,
            found.as_deref(),
        );
        let _ = sender.send(Happening::Code(recording, function, code));
    });
}

/// What is being read, by the small files beside the large ones.
pub(crate) fn announce(experiments: &[PathBuf], recorded: bool) -> String {
    let mut text = String::new();
    for path in experiments {
        let path = path.as_path();
        text.push_str(&match recorded {
            true => format!("Recording {} … (q ends the program)\n", path.display()),
            false => format!("Reading {} … (q quits)\n", path.display()),
        });
        let header = std::fs::read(path.join(omp_model::experiment::HEADER)).ok();
        let header = header.and_then(|bytes| serde_json::from_slice::<Header>(&bytes).ok());
        if let Some(header) = header {
            text.push_str(&format!(
                "\n  Command    {}\n  Host       {} ({} CPUs)\n  Samples    {}\n  Duration   {}\n\n",
                header.command.join(" "),
                header.host,
                header.cpus,
                header.sampling.samples,
                duration(&header, None)
            ));
        }
    }
    text
}

/// Puts a text into the terminal's clipboard, as far as it lets programs do that (OSC 52).
pub(crate) fn copy(text: &str) -> io::Result<()> {
    let mut out = io::stdout();
    write!(out, "\x1b]52;c;{}\x07", base64(text.as_bytes()))?;
    out.flush()
}

/// RFC 4648, with padding.
fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for part in bytes.chunks(3) {
        let at = |place: usize| u32::from(part.get(place).copied().unwrap_or(0));
        let bits = at(0) << 16 | at(1) << 8 | at(2);
        for place in 0..4 {
            let letter = LETTERS[(bits >> (18 - 6 * place)) as usize & 63];
            text.push(if place <= part.len() {
                letter as char
            } else {
                '='
            });
        }
    }
    text
}

/// Writes a file of a name that is free, here, unless one of its names has the same contents
/// already: a key that is held or pressed twice makes one file. What was done, in words.
pub(crate) fn write_file(stem: &str, ending: &str, contents: &str) -> Result<String, String> {
    write_into(Path::new(""), stem, ending, contents)
}

fn write_into(folder: &Path, stem: &str, ending: &str, contents: &str) -> Result<String, String> {
    for number in 1.. {
        let name = match number {
            1 => format!("{stem}.{ending}"),
            number => format!("{stem}-{number}.{ending}"),
        };
        let path = folder.join(&name);
        let opened = OpenOptions::new().write(true).create_new(true).open(&path);
        match opened {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                if has(&path, contents) {
                    return Ok(format!("{name} has just that already"));
                }
            }
            Err(error) => {
                return Err(format!(
                    "cannot write {name}: {error}; run analyzer in another folder"
                ));
            }
            Ok(mut file) => {
                let written = file.write_all(contents.as_bytes());
                return match written {
                    Ok(()) => Ok(format!("wrote {name}")),
                    Err(error) => Err(format!("cannot write {name}: {error}")),
                };
            }
        }
    }
    Err(format!("every name like {stem}.{ending} is taken"))
}

/// Whether a file holds a text and nothing else; a file that cannot be read does not.
fn has(path: &Path, contents: &str) -> bool {
    let length = std::fs::metadata(path).map(|about| about.len());
    length.is_ok_and(|length| length == contents.len() as u64)
        && std::fs::read(path).is_ok_and(|bytes| bytes == contents.as_bytes())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
mod tests {
    use super::*;

    #[test]
    fn base64_pads_what_is_no_multiple_of_three() {
        // RFC 4648, section 10.
        let of = |text: &str| base64(text.as_bytes());
        assert_eq!(of(""), "");
        assert_eq!(of("f"), "Zg==");
        assert_eq!(of("fo"), "Zm8=");
        assert_eq!(of("foobar"), "Zm9vYmFy");
    }

    #[test]
    fn the_same_view_written_again_is_one_file() {
        let folder = std::env::temp_dir().join(format!("parallax-write-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let write = |contents: &str| write_into(&folder, "a", "txt", contents).unwrap();
        assert_eq!(write("one"), "wrote a.txt");
        assert_eq!(write("one"), "a.txt has just that already");
        assert_eq!(write("two"), "wrote a-2.txt");
        assert_eq!(write("two"), "a-2.txt has just that already");
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 2);
        std::fs::remove_dir_all(&folder).unwrap();
    }

    /// The header file of a recording whose program was killed says 0, and must not be believed.
    #[test]
    fn the_first_screen_shows_no_duration_of_0_s() {
        let folder = std::env::temp_dir().join(format!("parallax-announce-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let announced = |duration_ns: u64| {
            let header = Header {
                command: vec!["./app".to_owned()],
                duration_ns,
                ..Header::default()
            };
            let path = folder.join(omp_model::experiment::HEADER);
            std::fs::write(path, serde_json::to_vec(&header).unwrap()).unwrap();
            let text = announce(std::slice::from_ref(&folder), false);
            let line = text.lines().find(|line| line.contains("Duration"));
            line.unwrap().trim().to_owned()
        };
        assert_eq!(announced(2_200_000_000), "Duration   2.200 seconds");
        assert_eq!(
            announced(0),
            "Duration   not known before it is read (it was not finished)"
        );
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn files_of_defaults_tell_where_sources_are() {
        let mut defaults = Defaults::default();
        defaults.take("viewmode machine\n# a comment\npathmap /build \"/my src\"\nsort e.user\n");
        assert_eq!(defaults.mode, ViewMode::Machine);
        let mut expected = SearchPath::default();
        expected.map("/build", "/my src");
        assert_eq!(defaults.search, expected);
    }
}
