//! Other names in an experiment that is recorded already.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use crate::folder::Folder;
use crate::frame::{FILE_MARK, Found, Kind};
use crate::reader::record_file;
use crate::store::Reading;
use crate::symbols::SymbolTable;
use crate::tables::Tables;
use crate::{ExperimentError, OpenError, RECORDS, Writer};

/// Why names could not be replaced. The experiment is as it was.
#[derive(Debug, thiserror::Error)]
pub enum ReplaceError {
    /// It is being recorded.
    #[error("{} is being recorded: wait for the end of `collect`", .0.display())]
    Live(PathBuf),
    /// A record is damaged, or of a newer version: what stands behind it would be lost.
    #[error("`{RECORDS}` of {} is damaged at byte {offset}: restore it from a copy, or keep it as it is", path.display())]
    Damaged {
        /// The experiment.
        path: PathBuf,
        /// Where.
        offset: u64,
    },
    /// There are more names than a record holds.
    #[error("there are too many names to store in {}", .0.display())]
    TooMany(PathBuf),
    /// It cannot be read.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// It cannot be written.
    #[error(transparent)]
    Write(#[from] ExperimentError),
}

/// Replaces the names of all frames; `tables` may have more frames than the `frames` that are in the
/// file. The records are written into another file, which takes the place of the old one when it is
/// whole and on the disk.
///
/// # Errors
/// If something is in the way.
pub fn replace_symbols(
    experiment: &Path,
    frames: u32,
    tables: &Tables,
    symbols: &SymbolTable,
) -> Result<(), ReplaceError> {
    let records = experiment.join(RECORDS);
    let refused = |cause| {
        let path = records.clone();
        ExperimentError::Io { path, cause }
    };
    let lock = match crate::lock(experiment) {
        Some(Err(crate::Live)) => return Err(ReplaceError::Live(experiment.to_owned())),
        lock => lock,
    };
    let fresh = PathBuf::from(format!("{RECORDS}.new"));
    let folder = Folder::open(experiment).map_err(refused)?;
    let file = folder.create_anew(&fresh).map_err(refused)?;
    let copied = copy(experiment, &file)?;
    let mut writer =
        Writer::continued(folder, file, copied.length, frames, tables).map_err(refused)?;
    writer.append(tables, &crate::Batch::default())?;
    let before = writer.bytes();
    writer.symbols(symbols)?;
    if writer.bytes() == before {
        let _ = writer.folder().remove(&fresh);
        return Err(ReplaceError::TooMany(experiment.to_owned()));
    }
    let file = writer.close(copied.is_finished)?;
    file.sync_all().map_err(refused)?;
    let renamed = writer.folder().rename(&fresh, Path::new(RECORDS));
    renamed.map_err(refused)?;
    drop(lock);
    Ok(())
}

/// What was copied.
struct Copied {
    length: u64,
    is_finished: bool,
}

/// Copies all whole frames but those with names, and the end mark.
fn copy(experiment: &Path, to: &File) -> Result<Copied, ReplaceError> {
    let mut from = Reading::new(record_file(experiment)?).map_err(|cause| OpenError::Io {
        path: experiment.join(RECORDS),
        cause,
    })?;
    let reading = |cause: io::Error| OpenError::Io {
        path: experiment.join(RECORDS),
        cause,
    };
    let writing = |cause: io::Error| ExperimentError::Io {
        path: experiment.join(RECORDS),
        cause,
    };
    let mark = from.at(0, FILE_MARK as u64).map_err(reading)?;
    to.write_all_at(mark, 0).map_err(writing)?;
    let mut at = FILE_MARK as u64;
    let mut copied = Copied {
        length: at,
        is_finished: false,
    };
    while at < from.length() {
        let end = match from.frame(at).map_err(reading)?.found {
            Found::Frame(Kind::Symbols, range) => {
                at = range.end;
                continue;
            }
            Found::Frame(Kind::End, range) => {
                copied.is_finished = true;
                at = range.end;
                continue;
            }
            Found::Frame(_, range) => range.end,
            Found::Skippable(_, end) => end,
            // The recording was killed while it wrote this one.
            Found::Cut => break,
            Found::Damaged | Found::Unknown(_) => {
                let path = experiment.to_owned();
                return Err(ReplaceError::Damaged { path, offset: at });
            }
        };
        let bytes = from.at(at, end - at).map_err(reading)?;
        to.write_all_at(bytes, copied.length).map_err(writing)?;
        copied.length += end - at;
        at = end;
    }
    Ok(copied)
}
