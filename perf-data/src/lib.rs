//! Recordings of `perf record` as experiments.
//!
//! A `perf.data` file is converted by the steps that `collect` takes with the kernel's rings: the side band becomes
//! processes, threads and address spaces, samples are unwound and interned, time goes into the same accounting.
//! What comes out is an experiment, written by the same writer into a folder that is gone once it is open. It has no
//! OpenMP records, as one of a program whose runtime sends no events: what threads did is read from their stacks.
//!
//! Files are of others. Sizes are checked before memory is reserved, records are read one by one, and a
//! damaged file is shown up to the damage.
//!
//! The format is read here and not by a crate: linux-perf-data 0.13 reserves what sizes in the file say, unpacks
//! without a limit, panics at a build id that is too long, and mistakes PERF_SAMPLE_READ.

mod convert;
mod event;
mod file;
mod sample;
mod sort;
#[cfg(test)]
mod tests;

use std::io;
use std::path::{Path, PathBuf};

use experiment::{Experiment, ExperimentError, OpenError, job};
use omp_model::analysis::Analysis;

/// Why a file could not be shown, and what to do.
#[derive(Debug, thiserror::Error)]
pub enum PerfDataError {
    /// The file system refused.
    #[error("cannot read {}: {}", .0.display(), .1)]
    Io(PathBuf, io::Error),
    /// A kind of file that cannot be shown.
    #[error("{} cannot be shown: {}", .0.display(), .1)]
    Refused(PathBuf, String),
    /// The folder for temporary files is full, or may not be written.
    #[error("cannot convert {}: {}; set TMPDIR to a folder with more room", .0.display(), .1)]
    Temporary(PathBuf, String),
    /// It is an experiment, which cannot be opened.
    #[error(transparent)]
    Experiment(#[from] OpenError),
}

/// Whether a path leads to a file that begins as those of `perf record` do.
#[must_use]
pub fn is_perf_data(path: &Path) -> bool {
    let mut magic = [0; 8];
    let read =
        untrusted::open(path).and_then(|mut file| io::Read::read_exact(&mut file, &mut magic));
    let magics = [*file::MAGIC, *b"2ELIFREP", *b"PERFFILE"];
    read.is_ok() && magics.contains(&magic)
}

/// Reads a file of `perf record`.
///
/// # Errors
/// If nothing of it can be shown.
pub fn open(path: &Path) -> Result<Experiment, PerfDataError> {
    let temporary = |why: String| PerfDataError::Temporary(path.to_owned(), why);
    let folder = tempfile::Builder::new().prefix("parallax-").tempdir();
    let folder = folder.map_err(|error| temporary(error.to_string()))?;
    let directory = folder.path().join("perf.er");
    convert::convert(path, &directory)?;
    let mut experiment = Experiment::open(&directory)?;
    // Its record file stays open, and goes with the folder's end.
    experiment.path = path.to_owned();
    experiment.name = path
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    Ok(experiment)
}

/// Why a path that may lead to a recording of perf's is not opened, and what to do; `None` if it is something
/// else.
fn unreadable(path: &Path) -> Option<&'static str> {
    if path.is_dir() {
        return is_perf_data(&path.join("data")).then_some(
            "it is a folder of `perf record --threads`, whose files are not read: record without --threads",
        );
    }
    let mut magic = [0; 4];
    let mut file = untrusted::open(path).ok()?;
    io::Read::read_exact(&mut file, &mut magic).ok()?;
    match magic {
        [0x1f, 0x8b, ..] => Some("it is compressed: unpack it by gunzip"),
        [0x28, 0xb5, 0x2f, 0xfd] => Some("it is compressed: unpack it by unzstd"),
        [0xfd, b'7', b'z', b'X'] => Some("it is compressed: unpack it by unxz"),
        _ => None,
    }
}

/// Opens what each name stands for: an experiment of `collect`, all ranks of a job, or a file of `perf record`; each with the
/// place of its name. They are numbered from 1.
///
/// Of a job, ranks that cannot be read are left out, as those of a full disk: the warnings of the first other one tell them.
///
/// # Errors
/// If nothing of a name can be read.
pub fn analyses(names: &[impl AsRef<Path>]) -> Result<Vec<(usize, Analysis)>, PerfDataError> {
    let mut opened: Vec<(usize, Analysis)> = Vec::new();
    for (place, name) in names.iter().enumerate() {
        let first = opened.len();
        let mut failed = Vec::new();
        for path in job::experiments(name.as_ref()) {
            match analysis(&path, opened.len() as u32 + 1) {
                Ok(analysis) => opened.push((place, analysis)),
                Err(error) => failed.push(error),
            }
        }
        match opened.get_mut(first) {
            Some((_, first)) => {
                let left_out = failed.iter().map(|why| format!("left out: {why}"));
                first.warnings.extend(left_out);
            }
            None => return failed.into_iter().next().map_or(Ok(opened), Err),
        }
    }
    Ok(opened)
}

/// Opens an experiment of `collect`, or a file of `perf record`: the `number`-th of those opened, from 1.
fn analysis(path: &Path, number: u32) -> Result<Analysis, PerfDataError> {
    if is_perf_data(path) {
        Ok(Analysis::of(open(path)?, number))
    } else if let Some(why) = unreadable(path) {
        Err(PerfDataError::Refused(path.to_owned(), why.to_owned()))
    } else {
        Ok(Analysis::open(path, number, symbolize::from_files)?)
    }
}

impl PerfDataError {
    fn writing(path: &Path, error: &ExperimentError) -> PerfDataError {
        PerfDataError::Temporary(path.to_owned(), error.to_string())
    }
}
