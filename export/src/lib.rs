//! Profiles in the formats of other tools.
//!
//! A format is a function that writes what a [`Query`] asks for to a sink: its view mode, filter and load
//! objects are obeyed. Two kinds of format are told apart: those of sums, which are made of the attributed
//! profile (folded, speedscope, pprof, Hatchet), and those of time, to which the samples are passed as they
//! are unpacked (Firefox, Perfetto). The sums of the first kind and of Firefox's are `er_print`'s.
//!
//! `docs/export.md` says what each format holds, and what it cannot.

mod firefox;
mod folded;
mod functions;
mod hatchet;
mod perfetto;
mod places;
mod pprof;
mod rounding;
mod speedscope;
mod subject;
mod tree;

#[cfg(test)]
mod tests;

use std::io::{self, Write};

use report::Query;

/// A format of another tool.
#[derive(Clone, Copy, Debug)]
pub struct Format {
    /// Its word in the command language.
    pub name: &'static str,
    /// Writes a profile.
    ///
    /// # Errors
    /// Only those of the sink.
    pub write: fn(&Query<'_>, &mut dyn Write) -> io::Result<()>,
}

impl Format {
    /// The format of a word.
    pub fn by_name(name: &str) -> Option<&'static Format> {
        FORMATS.iter().find(|format| format.name == name)
    }
}

/// Every format, in the order of lists.
pub static FORMATS: &[Format] = &[
    Format {
        name: "folded",
        write: folded::write,
    },
    Format {
        name: "speedscope",
        write: speedscope::write,
    },
    Format {
        name: "pprof",
        write: pprof::write,
    },
    Format {
        name: "hatchet",
        write: hatchet::write,
    },
    Format {
        name: "firefox",
        write: firefox::write,
    },
    Format {
        name: "perfetto",
        write: perfetto::write,
    },
];
