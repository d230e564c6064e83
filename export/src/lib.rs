//! Profiles in the formats of other tools.
//!
//! A format is a function that writes what a [`Query`] asks for to a sink, or into a folder: its view mode, filter and load
//! objects are obeyed. Two kinds of format are told apart: those of sums, which are made of the attributed
//! profile (folded, speedscope, pprof, Hatchet), and those of time, to which the samples are passed as they
//! are unpacked (Firefox, Perfetto, Parquet). The sums of the first kind, of Firefox's and of Parquet's are
//! `er_print`'s.
//!
//! SARIF is for what `collect -r` found, and has no times.
//!
//! `docs/export.md` says what each format holds, and what it cannot.

mod firefox;
mod folded;
mod functions;
mod hatchet;
mod parquet;
mod perfetto;
mod places;
mod pprof;
mod rounding;
mod sarif;
mod speedscope;
mod subject;
mod tree;

#[cfg(test)]
mod tests;

use std::io::{self, Write};
use std::path::Path;

use report::Query;

/// A format of another tool.
#[derive(Clone, Copy, Debug)]
pub struct Format {
    /// Its word in the command language.
    pub name: &'static str,
    /// Writes a profile.
    pub write: Writer,
}

/// How a profile is written. Errors are only those of the sink or of the folder's files.
#[derive(Clone, Copy, Debug)]
pub enum Writer {
    /// To a file.
    File(fn(&Query<'_>, &mut dyn Write) -> io::Result<()>),
    /// Into a folder, which is empty.
    Folder {
        /// Writes its files.
        write: fn(&Query<'_>, &Path) -> io::Result<()>,
        /// The names of all of them.
        files: &'static [&'static str],
    },
}

impl Format {
    /// Refuses a query that has nothing for it.
    ///
    /// # Errors
    /// One sentence, for findings of experiments without any.
    pub fn refuse_empty(&self, query: &Query<'_>) -> Result<(), report::Error> {
        if self.name == "sarif" && !report::races::has_findings(query) {
            return Err(report::Error::new(
                "export sarif writes findings, and the experiment has none; record it with \
                 `collect -r race`",
            ));
        }
        Ok(())
    }

    /// The format of a word.
    pub fn by_name(name: &str) -> Option<&'static Format> {
        FORMATS.iter().find(|format| format.name == name)
    }
}

/// Every format, in the order of lists.
pub static FORMATS: &[Format] = &[
    Format {
        name: "folded",
        write: Writer::File(folded::write),
    },
    Format {
        name: "speedscope",
        write: Writer::File(speedscope::write),
    },
    Format {
        name: "pprof",
        write: Writer::File(pprof::write),
    },
    Format {
        name: "hatchet",
        write: Writer::File(hatchet::write),
    },
    Format {
        name: "firefox",
        write: Writer::File(firefox::write),
    },
    Format {
        name: "perfetto",
        write: Writer::File(perfetto::write),
    },
    Format {
        name: "sarif",
        write: Writer::File(sarif::write),
    },
    Format {
        name: "parquet",
        write: Writer::Folder {
            write: parquet::write,
            files: parquet::FILES,
        },
    },
];
