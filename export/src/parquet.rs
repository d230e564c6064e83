//! A folder of Apache Parquet files: tables for SQL and data frames.
//!
//! Every row of `samples` carries the time or the events that it stands for ([`crate::places`]), and what has
//! no sample of its own is a row, too: sums over rows are `er_print`'s. The other files are what its rows refer
//! to, and what was measured beside it. `docs/parquet.md` describes each column.

mod code;
mod intervals;
mod recordings;
mod regions;
mod samples;
pub(crate) mod schema;
mod table;

use std::io;
use std::path::Path;

use report::Query;

use crate::subject::Subject;
use code::Code;
use regions::Regions;

/// The files of a folder; nothing else is in it.
pub(crate) static FILES: &[&str] = &[
    "samples.parquet",
    "intervals.parquet",
    "stacks.parquet",
    "frames.parquet",
    "regions.parquet",
    "threads.parquet",
    "recording.parquet",
];

/// Writes the files into an empty folder.
pub(crate) fn write(query: &Query<'_>, folder: &Path) -> io::Result<()> {
    let subject = Subject::new(query);
    let regions = Regions::new(&subject);
    regions.write(&subject, folder)?;
    intervals::write(&subject, &regions, folder)?;
    let mut code = Code::new(&subject);
    samples::write(&subject, &regions, &mut code, folder)?;
    code.write(&subject, folder)?;
    recordings::write_threads(&subject, folder)?;
    recordings::write_recordings(&subject, folder)
}
