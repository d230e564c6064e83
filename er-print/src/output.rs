//! The destination of reports: standard output, or the file of `outfile`.

use std::fmt::Display;
use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, IsTerminal, Write};

use crate::stop::Stop;

/// Prints a line on standard error, if it can be written: reports do not need it. Names in it may be those
/// of files that another user made.
pub(crate) fn say(message: impl Display) {
    let line = format!("er_print: {message}");
    let _ = writeln!(io::stderr(), "{}", untrusted::printable(&line));
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
