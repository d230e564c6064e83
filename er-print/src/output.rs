//! The destination of reports: standard output, or the file of `outfile`.

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write};

use crate::stop::Stop;

/// Standard output, and the file that replaces it.
pub(crate) struct Output {
    sink: Box<dyn Write>,
    file: Option<BufWriter<File>>,
}

impl Output {
    /// Standard output.
    pub(crate) fn stdout() -> Output {
        Output::to(BufWriter::new(io::stdout()))
    }

    /// Any sink.
    pub(crate) fn to(sink: impl Write + 'static) -> Output {
        Output {
            sink: Box::new(sink),
            file: None,
        }
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
