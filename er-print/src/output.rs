//! The destination of reports: standard output, or the file of `outfile`; and files and folders written whole.

use std::ffi::OsString;
use std::fmt::Display;
use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, BufWriter, IsTerminal, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use report::text::colours::{self, Colours};

use crate::stop::Stop;

/// Prints a line on standard error, if it can be written: reports do not need it. Names in it may be those
/// of files that another user made.
pub(crate) fn say(message: impl Display) {
    let line = format!("er_print: {message}");
    let _ = writeln!(io::stderr(), "{}", untrusted::printable(&line));
}

/// Whether the terminal has the colours of bars.
pub(crate) fn has_colours() -> bool {
    colours::of_terminal(|name| std::env::var(name).ok()) == Colours::Many
}

/// Standard output, and the file that replaces it.
pub(crate) struct Output {
    sink: Box<dyn Write>,
    is_stdout: bool,
    file: Option<BufWriter<File>>,
}

impl Output {
    /// Standard output.
    pub(crate) fn stdout() -> Output {
        Output {
            is_stdout: true,
            ..Output::to(BufWriter::new(io::stdout()))
        }
    }

    /// Any sink.
    pub(crate) fn to(sink: impl Write + 'static) -> Output {
        Output {
            sink: Box::new(sink),
            is_stdout: false,
            file: None,
        }
    }

    /// The cells of a line, if the output is a terminal.
    pub(crate) fn width(&self) -> Option<usize> {
        if !self.is_stdout || self.file.is_some() || !io::stdout().is_terminal() {
            return None;
        }
        let size = rustix::termios::tcgetwinsize(io::stdout()).ok()?;
        (size.ws_col > 0).then_some(usize::from(size.ws_col))
    }

    /// Sends later output to a file, truncated unless `append`; `-` is standard output.
    pub(crate) fn redirect(&mut self, name: &str, append: bool) -> Result<(), Stop> {
        self.flush()?;
        self.file = match name {
            "-" => None,
            name => {
                let opened = OpenOptions::new()
                    .create(true)
                    .write(true)
                    .append(append)
                    .truncate(!append)
                    .open(name);
                let file = opened.map_err(|error| {
                    Stop::Data(format!(
                        "cannot write {name}: {error}; name a file elsewhere"
                    ))
                })?;
                Some(BufWriter::new(file))
            }
        };
        Ok(())
    }

    /// Writes.
    pub(crate) fn print(&mut self, text: &str) -> Result<(), Stop> {
        match &mut self.file {
            Some(file) => file.write_all(text.as_bytes())?,
            None => self.sink.write_all(text.as_bytes())?,
        }
        Ok(())
    }

    /// Flushes.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        if let Some(file) = &mut self.file {
            file.flush()?;
        }
        self.sink.flush()
    }
}

/// Writes a file whole or not at all; `-` is standard output. An error names it.
pub(crate) fn write_whole(
    file: &str,
    fill: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), Stop> {
    if file == "-" {
        let mut out = BufWriter::new(io::stdout().lock());
        fill(&mut out)?;
        return Ok(out.flush()?);
    }
    replace(Path::new(file), fill).map_err(|error| {
        Stop::Data(format!(
            "cannot write {file}: {error}; name a file elsewhere"
        ))
    })
}

/// Writes a file beside its place and puts it there when it is whole. What is no regular file, such as a
/// pipe, is written in place.
fn replace(path: &Path, fill: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    if fs::metadata(path).is_ok_and(|known| !known.is_file()) {
        return fill_file(OpenOptions::new().write(true).open(path)?, fill).map(drop);
    }
    // A symbolic link stays one.
    let place = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let folder = place.parent().filter(|it| !it.as_os_str().is_empty());
    let folder = folder.map_or_else(|| PathBuf::from("."), Path::to_owned);
    let fresh = tempfile::Builder::new()
        .permissions(Permissions::from_mode(0o666))
        .tempfile_in(folder)?;
    let (file, fresh) = fresh.into_parts();
    fill_file(file, fill)?;
    Ok(fresh.persist(place)?)
}

fn fill_file(file: File, fill: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<File> {
    let mut out = BufWriter::with_capacity(1 << 16, file);
    fill(&mut out)?;
    Ok(out.into_inner()?)
}

/// Writes a folder whole or not at all, with a function that is given an empty one. One that is there must be
/// empty or have some of `files` alone, among them the last one: it was written in this way. An error names
/// it.
pub(crate) fn write_folder(
    name: &str,
    files: &[&str],
    fill: impl FnOnce(&Path) -> io::Result<()>,
) -> Result<(), Stop> {
    replace_folder(Path::new(name), files, fill).map_err(|error| {
        Stop::Data(format!(
            "cannot write {name}: {error}; name a folder elsewhere"
        ))
    })
}

fn replace_folder(
    path: &Path,
    files: &[&str],
    fill: impl FnOnce(&Path) -> io::Result<()>,
) -> io::Result<()> {
    // A symbolic link stays one.
    let place = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let is_there = match fs::metadata(&place) {
        Ok(known) if known.is_dir() => {
            check_ours(&place, files)?;
            true
        }
        Ok(_) => return Err(io::Error::other("it is there and is no folder")),
        Err(_) => false,
    };
    let parent = place.parent().filter(|it| !it.as_os_str().is_empty());
    let parent = parent.unwrap_or(Path::new("."));
    // With what is in it, it is gone in the end.
    let beside = tempfile::Builder::new().tempdir_in(parent)?;
    let [fresh, old] = ["new", "old"].map(|name| beside.path().join(name));
    fs::create_dir(&fresh)?;
    fill(&fresh)?;
    if !is_there {
        return fs::rename(&fresh, &place);
    }
    fs::rename(&place, &old)?;
    fs::rename(&fresh, &place).inspect_err(|_| {
        let _ = fs::rename(&old, &place);
    })
}

/// Refuses a folder that others have written.
fn check_ours(folder: &Path, files: &[&str]) -> io::Result<()> {
    let names = fs::read_dir(folder)?.map(|entry| Ok(entry?.file_name()));
    let names: Vec<OsString> = names.collect::<io::Result<_>>()?;
    let is_known = |name: &OsString| files.iter().any(|known| name == known);
    let is_whole = files
        .last()
        .is_some_and(|last| names.iter().any(|it| it == last));
    if let Some(other) = names.iter().find(|name| !is_known(name)) {
        return Err(io::Error::other(format!(
            "it has other files, such as {}",
            other.to_string_lossy()
        )));
    }
    if !names.is_empty() && !is_whole {
        return Err(io::Error::other("it has files that were not exported"));
    }
    Ok(())
}
